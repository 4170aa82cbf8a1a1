/*
 * spectral_check_dense.c: the check of a pair (c, k) at p = 2 with E_lambda written out, whose norm is proven
 * by a Cholesky factorisation (eigen.h): theta need not be isolated. See spectral_check.c.
 */
#include "proof/free_bounds.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/eigen.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <math.h>

/* D, [states * states] column after column and known to a residual, becomes E_lambda; *off: in the Frobenius
 * norm. */
static void fill(const nadir_context *context, const nadir_spectral_pair *pair, double residual, double *D,
                 double *off)
{
    const nadir_problem *problem = pair->problem;
    const int64_t n = problem->states;
    const double *W = problem->uncertainty->W;
    const double lambda = pair->lambda;
    const double D_size = nadir_vector_largest(n * n, D);
    const int threads = nadir_threads_for(context, n * n);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < n; t++) {
        double *column = D + t * n;
        const double mean = nadir_vector_sum(n, column) / (double)n;
        for (int64_t s = 0; s < n; s++) {
            column[s] = problem->gamma * W[t] * (pair->v[s] * problem->d[t] - lambda * (column[s] - mean));
        }
    }
    /* a matrix with columns below a number has, times W, a Frobenius norm of at most that times |W|_2 */
    const double column =
        nadir_spectral_pair_image_norm(pair, residual) + nadir_round_error(16) * sqrt((double)n) * D_size;
    *off =
        nadir_round_up(problem->gamma * (pair->v_off * pair->Wd_size +
                                         (pair->v_size + pair->v_off) * pair->W_largest * problem->d_error +
                                         lambda * nadir_up_norm_2(context, n, W) * column +
                                         nadir_round_error(16) * pair->v_size * pair->Wd_size),
                       8);
}

/* At least sigma_max(E_lambda). */
static nadir_status prove(nadir_context *context, const nadir_spectral_pair *pair, double *sigma)
{
    nadir_status status = NADIR_OK;
    const int64_t n = pair->problem->states;
    double *E = NULL;
    double residual;
    double off;
    double norm;
    NADIR_NEW(context, E, n * n);
    NADIR_CHECK(nadir_verified_solve_columns(context, pair->problem, &pair->solver, n, NULL, E, &residual));
    fill(context, pair, residual, E, &off);
    /* a power of two: scaling rounds nothing but what underflows */
    const double scale = nadir_scale_for(nadir_vector_largest(n * n, E));
    for (int64_t i = 0; i < n * n; i++) {
        E[i] *= scale;
    }
    NADIR_CHECK(nadir_spectral_norm_prove(context, n, E, 0, &norm));
    *sigma = nadir_round_up(norm / scale + off, 4);
cleanup:
    nadir_release(context, E);
    return status;
}

nadir_status nadir_spectral_check_dense(nadir_context *context, const nadir_problem *problem, double beta,
                                        const double *c, const double *k, double breakdown_low,
                                        double *lambda_high)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral_question question = {.beta = beta, .c = c, .k = k};
    nadir_spectral_pairs made;
    double sigma = INFINITY;
    NADIR_CHECK(nadir_spectral_pairs_make(context, problem, 1, &question, breakdown_low, &made));
    if (made.pairs->usable) {
        NADIR_CHECK(prove(context, made.pairs, &sigma));
    }
    *lambda_high = nadir_spectral_pair_bound(made.pairs, sigma);
cleanup:
    nadir_spectral_pairs_clear(context, &made);
    return status;
}
