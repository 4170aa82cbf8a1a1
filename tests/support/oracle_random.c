/* oracle_random.c: random kernels of a set; see oracle.h. */
#include "support/support.h"

#include "support/oracle.h"

#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

/* What the changes of the rows look like. */
typedef enum change {
    CHANGE_SPREAD,   /* every entry at random */
    CHANGE_PAIR,     /* from one state to another */
    CHANGE_VALUES,   /* with the values, or against them: each row has its own sign */
    CHANGE_RANK_ONE, /* one direction for all rows, each with its own size and sign */
    CHANGES
} change;

static double sign(nadir_random *random)
{
    return nadir_random_below(random, 2) == 0 ? 1 : -1;
}

/* A direction [states] that need not sum to zero yet. */
static void draw_direction(int64_t n, change kind, const double *value, nadir_random *random,
                           double *direction)
{
    for (int64_t t = 0; t < n; t++) {
        direction[t] = kind == CHANGE_PAIR     ? 0
                       : kind == CHANGE_VALUES ? -value[t]
                                               : nadir_random_normal(random);
    }
    if (kind == CHANGE_PAIR) {
        direction[nadir_random_below(random, (uint64_t)n)] += 1;
        direction[nadir_random_below(random, (uint64_t)n)] -= 1;
    }
}

/* Zero-sum over the entries that may change, and up where down is forbidden. */
static void fit_direction(const test_oracle *oracle, const double *nominal, double *direction)
{
    const int64_t n = oracle->states;
    const bool free_signs = oracle->domain == NADIR_DOMAIN_FREE;
    double up = 0;
    double down = 0;
    double sum = 0;
    for (int64_t t = 0; t < n; t++) {
        sum += direction[t];
    }
    for (int64_t t = 0; t < n; t++) {
        direction[t] -= sum / (double)n;
        if (!free_signs && nominal[t] == 0) {
            direction[t] = oracle->domain == NADIR_DOMAIN_SUPPORT ? 0 : fabs(direction[t]);
        }
        up += fmax(0, direction[t]);
        down += fmax(0, -direction[t]);
    }
    for (int64_t t = 0; t < n && !free_signs; t++) {
        direction[t] *= up == 0 || down == 0 ? 0 : direction[t] > 0 ? down : up;
    }
}

/* The most of a direction that leaves all entries 0 or more. */
static double room(const test_oracle *oracle, const double *nominal, const double *direction)
{
    double most = INFINITY;
    for (int64_t t = 0; t < oracle->states && oracle->domain != NADIR_DOMAIN_FREE; t++) {
        if (direction[t] < 0) {
            most = fmin(most, -nominal[t] / direction[t]);
        }
    }
    return most;
}

void test_oracle_random(const test_oracle *oracle, nadir_random *random, double *kernel)
{
    const int64_t n = oracle->states;
    const change kind = (change)nadir_random_below(random, CHANGES);
    const double rows_changed = nadir_random_below(random, 2) == 0 ? 1 : nadir_random_uniform(random);
    const double depth = nadir_random_below(random, 2) == 0 ? 1 : nadir_random_uniform(random);
    double *value = test_new(3 * n, sizeof *value);
    double *common = value + n;
    double *direction = value + 2 * n;
    test_oracle_return(oracle, oracle->nominal, value);
    draw_direction(n, kind, value, random, common);
    for (int64_t row = 0; row < oracle->rows; row++) {
        const double *nominal = oracle->nominal + row * n;
        const double size =
            sign(random) * (nadir_random_below(random, 2) == 0 ? 1 : nadir_random_uniform(random));
        if (kind == CHANGE_RANK_ONE || kind == CHANGE_VALUES) {
            for (int64_t t = 0; t < n; t++) {
                direction[t] = size * common[t];
            }
        } else {
            draw_direction(n, kind, value, random, direction);
        }
        fit_direction(oracle, nominal, direction);
        double norm = 0;
        for (int64_t t = 0; t < n; t++) {
            norm = fmax(norm, fabs(direction[t]));
        }
        /* Longer than any ball allows; pulling it in brings it to the border, as a whole. */
        const int64_t ball = oracle->row_balls[row];
        const bool moves = ball >= 0 && norm > 0 && nadir_random_uniform(random) < rows_changed;
        const double length = moves ? 2 * fabs(size) * oracle->scales[row] * oracle->radii[ball] / norm : 0;
        const double factor = fmin(length, room(oracle, nominal, direction));
        for (int64_t t = 0; t < n; t++) {
            kernel[row * n + t] = nominal[t] + factor * direction[t];
        }
    }
    test_oracle_pull(oracle, kernel);
    for (int64_t i = 0; i < oracle->rows * n && depth < 1; i++) {
        kernel[i] = oracle->nominal[i] + depth * (kernel[i] - oracle->nominal[i]);
    }
    free(value);
}
