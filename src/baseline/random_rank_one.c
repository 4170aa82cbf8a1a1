/*
 * random_rank_one.c: method random-rank-one: the best of random kernels Phat - b k^T, b >= 0.
 *
 * Samples come in blocks, whose systems D b^pi are solved together; threads share the samples of a block.
 */
#include "baseline/rank_one_pair.h"
#include "baseline/search.h"
#include "baseline/stream.h"
#include "linalg/threads.h"

/* Numbers of a block, and samples of one. */
#define BLOCK_NUMBERS (1 << 18)
enum { BLOCK_SAMPLES = 4096 };
/* What drawing a number costs, in multiplications. */
#define DRAW_WORK 32

typedef struct sampling {
    const nadir_problem *problem;
    double beta;
    uint64_t key;
    int64_t block;     /* samples at a time, at most */
    double *b;         /* [threads of the context * rows] */
    double *b_pi;      /* [block * states] */
    double *k;         /* [block * states] */
    double *g;         /* [block * states] D b^pi */
    double *penalties; /* [block] */
} sampling;

static nadir_status start(nadir_context *context, const nadir_problem *problem, double beta, sampling *at)
{
    nadir_status status = NADIR_OK;
    const int64_t fit = BLOCK_NUMBERS / problem->states + 1;
    at->problem = problem;
    at->beta = beta;
    at->key = nadir_stream_key(context);
    at->block = fit < BLOCK_SAMPLES ? fit : BLOCK_SAMPLES;
    NADIR_NEW(context, at->b, context->threads * problem->rows);
    NADIR_NEW(context, at->b_pi, at->block * problem->states);
    NADIR_NEW(context, at->k, at->block * problem->states);
    NADIR_NEW(context, at->g, at->block * problem->states);
    NADIR_NEW(context, at->penalties, at->block);
cleanup:
    return status;
}

/* Samples first .. first + count - 1. */
static nadir_status sample(nadir_context *context, sampling *at, int64_t first, int64_t count)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->problem;
    const int64_t n = problem->states;
    const int threads = nadir_threads_for(context, DRAW_WORK * count * problem->rows);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; part++) {
        double *b = at->b + part * problem->rows;
        for (int64_t i = part; i < count; i += threads) {
            nadir_random random = nadir_stream_of(at->key, first + i);
            nadir_pair_draw(problem, at->beta, &random, b, at->k + i * n);
            nadir_pair_average(problem, b, at->b_pi + i * n);
        }
    }
    NADIR_CHECK(
        nadir_occupancy_solve_roughly(context, problem->occupancy, false, count, at->b_pi, 1e-10, at->g));
#pragma omp parallel for num_threads(threads)
    for (int64_t i = 0; i < count; i++) {
        at->penalties[i] = nadir_pair_penalty(problem, at->b_pi + i * n, at->k + i * n, at->g + i * n);
    }
cleanup:
    return status;
}

nadir_status nadir_search_random_rank_one(nadir_context *context, const nadir_problem *problem, double beta,
                                          nadir_track *track, nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    sampling at = {0};
    int64_t best = 0;
    double highest = 0;
    NADIR_CHECK(start(context, problem, beta, &at));
    while ((attack->stop_reason = nadir_track_spent(track)) == NULL) {
        const int64_t first = track->samples;
        const int64_t count = nadir_track_block(track, at.block);
        NADIR_CHECK(sample(context, &at, first, count));
        for (int64_t i = 0; i < count; i++) {
            best = at.penalties[i] > highest ? first + i : best;
            highest = at.penalties[i] > highest ? at.penalties[i] : highest;
        }
        NADIR_CHECK(nadir_track_note(context, track, first + count, highest));
    }
    nadir_random random = nadir_stream_of(at.key, best);
    nadir_pair_draw(problem, highest > 0 ? beta : 0, &random, at.b, at.k);
    NADIR_CHECK(nadir_pair_attack(context, problem, beta, at.b, at.k, attack));
    attack->converged = true; /* it did what it promised */
    attack->iterations = track->samples;
cleanup:
    nadir_release(context, at.b);
    nadir_release(context, at.b_pi);
    nadir_release(context, at.k);
    nadir_release(context, at.g);
    nadir_release(context, at.penalties);
    return status;
}
