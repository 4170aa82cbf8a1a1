/*
 * random_rank_one.c: method random-rank-one: the best of random kernels Phat - b k^T, b >= 0.
 *
 * Samples come in blocks, whose systems D b^pi are solved together; threads share the samples of a block.
 */
#include "methods/methods.h"
#include "methods/rank_one_pair.h"
#include "sample_stream.h"

/* Numbers of a block, and the largest block in samples. */
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

static nadir_status start(nadir_context *context, const nadir_problem *problem, double beta, sampling *self)
{
    nadir_status status = NADIR_OK;
    const int64_t fit = BLOCK_NUMBERS / problem->states + 1;
    self->problem = problem;
    self->beta = beta;
    self->key = nadir_sample_key(context);
    self->block = fit < BLOCK_SAMPLES ? fit : BLOCK_SAMPLES;
    NADIR_NEW(context, self->b, context->threads * problem->rows);
    NADIR_NEW(context, self->b_pi, self->block * problem->states);
    NADIR_NEW(context, self->k, self->block * problem->states);
    NADIR_NEW(context, self->g, self->block * problem->states);
    NADIR_NEW(context, self->penalties, self->block);
cleanup:
    return status;
}

/* The penalties of samples first .. first + count - 1. */
static nadir_status evaluate_samples(nadir_context *context, sampling *self, int64_t first, int64_t count)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const int threads = nadir_threads_for(context, DRAW_WORK * count * problem->rows);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; part++) {
        double *b = self->b + part * problem->rows;
        for (int64_t i = part; i < count; i += threads) {
            nadir_random random = nadir_sample_stream(self->key, first + i);
            nadir_rank_one_pair_draw(problem, self->beta, &random, b, self->k + i * n);
            nadir_rank_one_pair_average(problem, b, self->b_pi + i * n);
        }
    }
    NADIR_CHECK(
        nadir_occupancy_solve_roughly(context, problem->occupancy, false, count, self->b_pi, 1e-10, self->g));
#pragma omp parallel for num_threads(threads)
    for (int64_t i = 0; i < count; i++) {
        self->penalties[i] =
            nadir_rank_one_pair_penalty(problem, self->b_pi + i * n, self->k + i * n, self->g + i * n);
    }
cleanup:
    return status;
}

nadir_status nadir_search_random_rank_one(nadir_context *context, const nadir_problem *problem, double beta,
                                          nadir_trajectory *trajectory, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    sampling self = {0};
    int64_t best = 0;
    double highest = 0;
    NADIR_CHECK(start(context, problem, beta, &self));
    while ((candidate->stop = nadir_trajectory_stop(trajectory)) == NADIR_STOP_NONE) {
        const int64_t first = trajectory->samples;
        const int64_t count = nadir_trajectory_next_block(trajectory, self.block);
        NADIR_CHECK(evaluate_samples(context, &self, first, count));
        for (int64_t i = 0; i < count; i++) {
            best = self.penalties[i] > highest ? first + i : best;
            highest = self.penalties[i] > highest ? self.penalties[i] : highest;
        }
        NADIR_CHECK(nadir_trajectory_record(context, trajectory, first + count, highest));
    }
    nadir_random random = nadir_sample_stream(self.key, best);
    nadir_rank_one_pair_draw(problem, highest > 0 ? beta : 0, &random, self.b, self.k);
    NADIR_CHECK(nadir_rank_one_pair_attack(context, problem, beta, self.b, self.k, candidate));
    candidate->converged = true; /* a search that samples has no other end */
    candidate->iterations = trajectory->samples;
cleanup:
    nadir_release(context, self.b);
    nadir_release(context, self.b_pi);
    nadir_release(context, self.k);
    nadir_release(context, self.g);
    nadir_release(context, self.penalties);
    return status;
}
