/*
 * spectral.c: the worst kernel of the L_2 ball on the free domain, by one of three methods; see spectral.h.
 *
 *     newton          spectral_newton.c: the root of f on a subspace that grows by residuals
 *     bisect          spectral_plain.c: Algorithm 1 of the paper, with sigma_max from the same subspace
 *     best response   spectral_plain.c: b and k in turn
 */
#include "search/spectral.h"

#include <math.h>

/* Rounding of the solves leaves no more than this of the penalty. */
#define LEAST_TOLERANCE 1e-13

nadir_status nadir_spectral_finish(const nadir_spectral *run, double beta, double *x, const double *k,
                                   double *g, nadir_spectral_stop stop, int64_t iterations,
                                   nadir_candidate *candidate)
{
    static const char *const reasons[] = {"tolerance", "stable", "iterations"};
    for (int64_t s = 0; s < run->problem->states; s++) {
        x[s] *= beta;
        g[s] *= beta;
    }
    candidate->method = run->method;
    candidate->stop_reason = reasons[stop];
    candidate->converged = stop != NADIR_SPECTRAL_STOP_ITERATIONS;
    candidate->iterations = iterations;
    return nadir_rank_one_candidate_known(run->context, run->problem, beta, x, k, g, candidate);
}

nadir_status nadir_spectral_transposed(const nadir_spectral *run, int64_t count, const double *y, double *w)
{
    /* The error of the penalty is the square of a residual: the root of the tolerance, and less. */
    return nadir_occupancy_solve_roughly(run->context, run->problem->occupancy, true, count, y,
                                         0.01 * sqrt(run->tolerance), w);
}

/* The nominal kernel: nothing changes the return. */
static nadir_status finish_idle(const nadir_spectral *run, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    double *zeros = NULL;
    const int64_t n = run->problem->states;
    NADIR_NEW_ZERO(run->context, zeros, 3 * n);
    NADIR_CHECK(nadir_spectral_finish(run, 0, zeros, zeros + n, zeros + 2 * n, NADIR_SPECTRAL_STOP_TOLERANCE,
                                      0, candidate));
cleanup:
    nadir_release(run->context, zeros);
    return status;
}

static nadir_status solve_each(const nadir_spectral *run, nadir_spectral_method method, int64_t count,
                               const double *radii, nadir_candidate *candidates)
{
    nadir_status status = NADIR_OK;
    for (int64_t i = 0; i < count; i++) {
        if (candidates[i].c == NULL) {
            NADIR_CHECK(method == NADIR_SPECTRAL_BISECT
                            ? nadir_spectral_bisect(run, radii[i], &candidates[i])
                            : nadir_spectral_alternate(run, radii[i], &candidates[i]));
        }
    }
cleanup:
    return status;
}

double nadir_spectral_tolerance(double tolerance)
{
    return tolerance > LEAST_TOLERANCE ? tolerance : LEAST_TOLERANCE;
}

nadir_status nadir_spectral_solve(nadir_context *context, const nadir_problem *problem,
                                  nadir_spectral_method method, double tolerance, int64_t iterations_limit,
                                  int64_t count, const double *radii, nadir_candidate *candidates)
{
    static const char *const names[] = {"newton", "bisect", "best-response"};
    nadir_status status = NADIR_OK;
    nadir_spectral run = {.context = context,
                          .problem = problem,
                          .method = names[method],
                          .tolerance = nadir_spectral_tolerance(tolerance),
                          .iterations_limit = iterations_limit};
    NADIR_CHECK(nadir_spectral_subspace_create(context, problem, &run.subspace));
    for (int64_t i = 0; i < count; i++) {
        if (run.subspace->idle || radii[i] == 0) {
            NADIR_CHECK(finish_idle(&run, &candidates[i]));
        }
    }
    if (!run.subspace->idle) {
        NADIR_CHECK(method == NADIR_SPECTRAL_NEWTON ? nadir_spectral_newton(&run, count, radii, candidates)
                                                    : solve_each(&run, method, count, radii, candidates));
    }
    if (count == 1) {
        NADIR_CHECK(nadir_rank_one_candidate_kernel(context, problem, candidates));
    }
cleanup:
    for (int64_t i = 0; status != NADIR_OK && i < count; i++) {
        nadir_candidate_clear(context, &candidates[i]);
    }
    nadir_spectral_subspace_free(context, run.subspace);
    return status;
}
