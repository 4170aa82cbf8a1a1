/*
 * breakdown_columns.c: a bound on |Phi D W|_2 from all columns of D.
 *
 * Quotient: Phi D W = Phi (D - 1 r^T) W whatever r, and |D - 1 r^T| <= |Dhat - 1 r^T| + error entry by entry:
 * the quotient bound of eigen.h on the latter, times W, with r the column minima (best where columns
 * have few large entries) and with r the column means (best where entries scatter about them).
 *
 * Cholesky: the norm of Phi Dhat W itself, plus the most that the error of Dhat adds.
 */
#include "proof/breakdown.h"

#include "core/round.h"
#include "linalg/eigen.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <math.h>

/* The radius of interest is tried with this much more, relatively. */
#define BEYOND 1e-6

typedef enum centre { CENTRE_MINIMUM, CENTRE_MEAN } centre;

static double centre_of(centre kind, int64_t n, const double *column)
{
    if (kind == CENTRE_MEAN) {
        return nadir_vector_sum(n, column) / (double)n;
    }
    double smallest = column[0];
    for (int64_t s = 1; s < n; s++) {
        smallest = column[s] < smallest ? column[s] : smallest;
    }
    return smallest;
}

/* N = (|D - 1 r^T| + error) W, rounded up. */
static void fill_sizes(const nadir_context *context, const nadir_breakdown_operator *self, centre kind,
                       const double *D, double error, double *N)
{
    const int64_t n = self->problem->states;
    const int threads = nadir_threads_for(context, n * n);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < n; t++) {
        const double r = centre_of(kind, n, D + t * n);
        for (int64_t s = 0; s < n; s++) {
            N[t * n + s] = nadir_round_up((fabs(D[t * n + s] - r) + error) * self->W[t], 4);
        }
    }
}

/* N = Phi D W, the columns of D known to a residual; norm >= |Phi D W|. *error: of N in the Frobenius norm.
 * |Phi D r|_2 is at most sqrt(S) times that of |D r|_max, and at most |Phi D W| |r / W|_2. */
static void fill_centred(const nadir_context *context, const nadir_breakdown_operator *self, double norm,
                         double residual, const double *D, double *N, double *error)
{
    const int64_t n = self->problem->states;
    const int threads = nadir_threads_for(context, n * n);
    const double largest = nadir_vector_largest(n * n, D);
    double W_smallest = INFINITY;
    for (int64_t s = 0; s < n; s++) {
        W_smallest = fmin(W_smallest, self->W[s]);
    }
    const double through = W_smallest > 0 ? residual * norm / W_smallest : INFINITY;
    const double off = fmin(nadir_verified_solve_error(&self->solver, residual), through);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < n; t++) {
        const double mean = centre_of(CENTRE_MEAN, n, D + t * n);
        for (int64_t s = 0; s < n; s++) {
            N[t * n + s] = (D[t * n + s] - mean) * self->W[t];
        }
    }
    /* the mean is off by 3 roundings, the difference by one of at most 2 |D|, the product by another */
    *error = nadir_round_up(
        sqrt((double)n) * nadir_up_norm_2(context, n, self->W) * (off + nadir_round_error(8) * largest), 8);
}

static double bound_by_quotients(const nadir_context *context, const nadir_breakdown_operator *self,
                                 const double *D, double error, double *N, double *work)
{
    double best = INFINITY;
    for (int kind = CENTRE_MINIMUM; kind <= CENTRE_MEAN; kind++) {
        fill_sizes(context, self, (centre)kind, D, error, N);
        best = fmin(best, nadir_spectral_norm_quotient(context, self->problem->states, N, work));
    }
    return best;
}

/* Tries the radius of interest alone where the norm itself could not be proven. */
static nadir_status bound_by_cholesky(nadir_context *context, const nadir_breakdown_operator *self,
                                      double beta, double residual, const double *D, double *N, double *norm)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    const double wanted = beta > 0 ? 1 / (self->problem->gamma * beta * (1 + BEYOND)) : INFINITY;
    double proven;
    double added;
    fill_centred(context, self, *norm, residual, D, N, &added);
    NADIR_CHECK(nadir_spectral_norm_prove(context, n, N, 0, &proven));
    *norm = fmin(*norm, nadir_round_up(proven + added, 2));
    if (wanted < *norm && wanted > added) {
        NADIR_CHECK(nadir_spectral_norm_prove(context, n, N, wanted - added, &proven));
        *norm = fmin(*norm, nadir_round_up(proven + added, 2));
    }
cleanup:
    return status;
}

nadir_status nadir_breakdown_by_columns(nadir_context *context, const nadir_breakdown_operator *self,
                                        bool quotients, bool cholesky, double beta, double *norm)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    double *D = NULL;
    double *N = NULL;
    double *work = NULL;
    double residual;
    NADIR_NEW(context, D, n * n);
    NADIR_NEW(context, N, n * n);
    NADIR_NEW(context, work, 3 * n);
    NADIR_CHECK(nadir_verified_solve_columns(context, self->problem, &self->solver, n, NULL, D, &residual));
    const double error = nadir_verified_solve_error(&self->solver, residual);
    if (isinf(error)) {
        goto cleanup;
    }
    if (quotients) {
        *norm = fmin(*norm, bound_by_quotients(context, self, D, error, N, work));
    }
    if (cholesky) {
        NADIR_CHECK(bound_by_cholesky(context, self, beta, residual, D, N, norm));
    }
cleanup:
    nadir_release(context, D);
    nadir_release(context, N);
    nadir_release(context, work);
    return status;
}
