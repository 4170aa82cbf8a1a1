/*
 * volumes.c: volumes of balls and of products of balls; see volumes.h.
 *
 * Uniform in a ball of m dimensions: the first m of m + 2 normal variates, divided by the length of all. Rows
 * are centred, which leaves S - 1 normal dimensions of each. The samples are whole kernels and their distance
 * is measured directly, so that the count does not use the formulas.
 */
#include "volumes.h"

#include <math.h>

enum { BLOCK = 1 << 13, MOST_ENTRIES = 256 };

double volumes_log_ball(int64_t dimension)
{
    const double half = 0.5 * (double)dimension;
    int sign;
    return half * log(acos(-1.0)) - lgamma_r(half + 1, &sign);
}

double volumes_log_ratio(nadir_set set, int64_t states, int64_t actions)
{
    const int64_t balls = set == NADIR_SET_S ? states : states * actions;
    const int64_t dimension = states * actions * (states - 1);
    return volumes_log_ball(dimension) - (double)balls * volumes_log_ball(dimension / balls);
}

/* A uniform point of the unit ball of `rows` rows that sum to zero. change: [rows * states]. */
static void draw_ball(nadir_random *random, int64_t rows, int64_t states, double *change)
{
    const double first = nadir_random_normal(random);
    const double second = nadir_random_normal(random);
    double squares = first * first + second * second;
    for (int64_t row = 0; row < rows; row++) {
        double *entries = change + row * states;
        double mean = 0;
        for (int64_t t = 0; t < states; t++) {
            entries[t] = nadir_random_normal(random);
            mean += entries[t] / (double)states;
        }
        for (int64_t t = 0; t < states; t++) {
            entries[t] -= mean;
            squares += entries[t] * entries[t];
        }
    }
    for (int64_t i = 0; i < rows * states; i++) {
        change[i] /= sqrt(squares);
    }
}

/* How many of a block's kernels lie in the ball over all rows. */
static int64_t count_block(nadir_random *random, int64_t balls, int64_t rows, int64_t states, int64_t length)
{
    double change[MOST_ENTRIES] = {0};
    int64_t inside = 0;
    for (int64_t n = 0; n < length; n++) {
        double squares = 0;
        for (int64_t ball = 0; ball < balls; ball++) {
            draw_ball(random, rows, states, change + ball * rows * states);
        }
        for (int64_t i = 0; i < balls * rows * states; i++) {
            squares += change[i] * change[i];
        }
        inside += squares <= 1;
    }
    return inside;
}

nadir_status volumes_count(nadir_context *context, nadir_set set, int64_t states, int64_t actions,
                           uint64_t seed, int64_t samples, int64_t *inside)
{
    const int64_t balls = set == NADIR_SET_S ? states : states * actions;
    const int64_t entries = states * actions * states;
    const int64_t blocks = (samples + BLOCK - 1) / BLOCK;
    nadir_status stopped = NADIR_OK;
    nadir_random key;
    int64_t sum = 0;
    if (entries > MOST_ENTRIES) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "%lld entries are too many to draw kernels of",
                          (long long)entries);
    }
    nadir_random_seed(&key, seed);
    const uint64_t first = nadir_random_next(&key);
    const int threads = nadir_threads_for(context, samples * entries);
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(+ : sum)
    for (int64_t block = 0; block < blocks; block++) {
        const double share = (double)block / (double)blocks;
        const int64_t left = samples - block * BLOCK;
        if (nadir_progress_team(context, "volumes by random kernels", share, &stopped)) {
            nadir_random random;
            nadir_random_seed(&random, first + (uint64_t)block);
            sum += count_block(&random, balls, states * actions / balls, states, left < BLOCK ? left : BLOCK);
        }
    }
    *inside = sum;
    return stopped;
}
