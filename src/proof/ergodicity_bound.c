/*
 * ergodicity_bound.c: bounds on |Phi D|_2; see ergodicity_bound.h.
 *
 * D = I + gamma M D for M = P^pi, and y = Phi D x obeys, where M 1 = 1,
 *
 *     y = Phi x + gamma Phi M y,    so that    |Phi D|_2 <= 1 / (1 - gamma rho),    rho = |Phi M|_2.
 *
 * Phi M = Phi (M - 1 c^T) for every c: with about the means of the columns for c, |M - 1 c^T|_2 is a bound on
 * rho, and so are its Frobenius norm and |N^T N|_F^(1/2), N being that matrix. Where |M 1 - 1| <= e in each
 * state, gamma |mean(D x)| sqrt(n) e is added to |y|, and
 *
 *     |mean(D x)| <= |D|_2 |x| / sqrt(n) <= |x| / (1 - gamma |M|).
 */
#include "proof/occupancy_bounds.h"

#include "core/round.h"
#include "linalg/eigen.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Power steps for an estimate of the 2-norm, and the factor above it that is proven. */
enum { STEPS = 12 };
#define ABOVE 1.05

/* Means of the columns of M >= 0; returns at least |sum - 1| of all rows, with the error of averaging. */
static double find_means(const nadir_matrix *matrix, double averaging, double *means)
{
    const int64_t n = matrix->size;
    double off = 0;
    memset(means, 0, (size_t)n * sizeof *means);
    for (int64_t s = 0; s < n; s++) {
        const double *row = matrix->dense + s * n;
        for (int64_t t = 0; t < n; t++) {
            means[t] += row[t];
        }
        const double sum = cblas_dasum((blasint)n, row, 1);
        /* the sum of a row, and the error of its averages */
        off = fmax(off, fabs(sum - 1) + (averaging + nadir_round_error((double)(n + 4))) * sum);
    }
    for (int64_t t = 0; t < n; t++) {
        means[t] /= (double)n;
    }
    return off;
}

/* centred = M - 1 means^T; returns its Frobenius norm, rounded up. */
static double centre(const nadir_matrix *matrix, const double *means, double *centred)
{
    const int64_t n = matrix->size;
    double square = 0;
    for (int64_t s = 0; s < n; s++) {
        const double *row = matrix->dense + s * n;
        double *to = centred + s * n;
        for (int64_t t = 0; t < n; t++) {
            to[t] = row[t] - means[t];
        }
        square += cblas_ddot((blasint)n, to, 1, to, 1);
    }
    /* a difference and a sum over n^2 entries, in two stages */
    return nadir_round_up(sqrt(square), (double)(2 * n + 16));
}

/* An estimate of the 2-norm of a matrix, from below. x: [2 * n] work space. */
static double estimate(int64_t n, const double *matrix, double *x)
{
    const blasint size = (blasint)n;
    double *y = x + n;
    double norm = 0;
    for (int64_t i = 0; i < n; i++) {
        x[i] = 1 + sin((double)i); /* unlikely to be orthogonal to anything of a model */
    }
    for (int step = 0; step < STEPS; step++) {
        const double length = cblas_dnrm2(size, x, 1);
        if (!(length > 0)) {
            break;
        }
        cblas_dscal(size, 1 / length, x, 1);
        cblas_dgemv(CblasRowMajor, CblasNoTrans, size, size, 1, matrix, size, x, 1, 0, y, 1);
        norm = cblas_dnrm2(size, y, 1);
        cblas_dgemv(CblasRowMajor, CblasTrans, size, size, 1, matrix, size, y, 1, 0, x, 1);
    }
    return norm;
}

nadir_status nadir_ergodicity_bound(nadir_context *context, const nadir_problem *problem,
                                    const nadir_verified_solver *known, nadir_ergodicity_effort effort,
                                    double *bound)
{
    nadir_status status = NADIR_OK;
    nadir_average *average = nadir_occupancy_average(problem->occupancy);
    const nadir_matrix *matrix = &average->matrix;
    const int64_t n = matrix->size;
    double *means = NULL;
    double *centred = NULL;
    *bound = INFINITY;
    if (!nadir_average_is_dense(average) || average->b != NULL || average->tail.states > 0 ||
        !(known->gap > 0)) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_average_fetch(context, average));
    NADIR_NEW(context, means, 2 * n);
    NADIR_NEW(context, centred, n * n);
    const double off = find_means(matrix, known->averaging, means);
    double norm = centre(matrix, means, centred);
    if (effort == NADIR_ERGODICITY_FAIR) {
        NADIR_CHECK(nadir_spectral_norm_fourth(context, n, centred, &norm));
    } else if (effort == NADIR_ERGODICITY_HARD) {
        double near;
        const double about = ABOVE * estimate(n, centred, means);
        NADIR_CHECK(nadir_spectral_norm_prove(context, n, centred, about, &near));
        norm = fmin(norm, near);
    }
    /* averaging and centring round every entry of M, and |M|_F <= sqrt(n) (1 + off) */
    const double rho =
        norm + nadir_round_up((known->averaging + nadir_round_error(2)) * sqrt((double)n) * (1 + off), 8);
    /* 1 - gamma rho rounded down */
    const double left = 1 - nadir_round_up(problem->gamma * rho, 4) - nadir_round_error(2);
    const double more = problem->gamma * off * sqrt((double)n) / known->gap;
    *bound = left > 0 ? nadir_round_up((1 + more) / left, 8) : INFINITY;
cleanup:
    nadir_release(context, means);
    nadir_release(context, centred);
    return status;
}
