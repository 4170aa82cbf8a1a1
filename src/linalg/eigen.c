/* eigen.c: eigenpairs of small symmetric matrices by LAPACK, and bounds on 2-norms; see eigen.h. */
#include "linalg/eigen.h"

#include "core/round.h"
#include "linalg/lanczos.h"
#include "linalg/threads.h"

#include <cblas.h>
#include <float.h>
#include <lapack.h>
#include <math.h>

bool nadir_symmetric_eigen(int size, double *matrix, double *values, double *work)
{
    const lapack_int n = size;
    const lapack_int length = NADIR_SYMMETRIC_WORK(n);
    lapack_int info = 0;
    double sum = 0;
    for (int i = 0; i < size * size; i++) {
        sum += matrix[i];
    }
    if (!isfinite(sum)) {
        return false;
    }
    const int before = nadir_blas_threads(1);
    LAPACK_dsyev("V", "L", &n, matrix, &n, values, work, &length, &info);
    nadir_blas_restore(before);
    return info == 0;
}

/*
 * Proven upper bounds on the 2-norm of a dense matrix; see eigen.h.
 *
 * Cholesky: G = fl(N^T N) is off by at most gamma_n |N|^T |N|, in 2-norm gamma_n |N|_F^2. If the factors of T
 * = fl(tau I - G) exist in floating point then T + dT is positive semidefinite with |dT|_ij <= gamma_{n+1} /
 * (1 - gamma_{n+1}) sqrt(T_ii T_jj) (Demmel), so |dT|_2 <= that times trace(T) (Rump 2006, for sums in any
 * order). Hence, with gamma_m = m u / (1 - m u) and n tau >= trace(T),
 *
 *     |N|_2^2 <= tau + u (tau + |G|_max) + gamma_{n+2} n tau + gamma_n |N|_F^2.
 *
 * tau starts at what Lanczos iterations say and rises until the factors exist.
 *
 * Fourth powers: |N|_2^2 <= |N^T N|_F, for which single precision does: what is lost to it is a few n u of
 * |N|_F^2.
 *
 * Quotient: for N >= 0 and x > 0, |N|_2^2 = rho(N^T N) <= max_i (N^T N x)_i / x_i (Collatz and Wielandt),
 * which power steps on x only lower. All terms are positive: sums of n are off by n roundings, relatively.
 */

#define UNIT_SINGLE ((double)FLT_EPSILON / 2)

enum { STEPS = 8 };       /* of the quotient */
#define WORTH       0.999 /* another step lowers the bound below this share of it, or is the last */
#define SMALLEST    1e-6  /* entry of x, relative to the largest */
#define TOLERANCE   1e-11 /* of the Lanczos iterations */
#define PRODUCTS    2000
#define FIRST_TRIAL 1e-11 /* tau above the estimate, relatively; the next ones */
#define LATER_TRIAL 1e3   /* ... times this */
#define LAST_TRIAL  0.2

/* m u / (1 - m u), rounded up. */
static double rounding_of(double m)
{
    return m * NADIR_ROUND_UNIT / (1 - m * NADIR_ROUND_UNIT) * (1 + 4 * NADIR_ROUND_UNIT);
}

typedef struct gram {
    int64_t n;
    const double *G; /* lower triangle of N^T N */
} gram;

static nadir_status apply_gram(nadir_context *context, void *user, const double *x, double *y)
{
    const gram *self = user;
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, self->n * self->n));
    cblas_dsymv(CblasColMajor, CblasLower, (blasint)self->n, 1, self->G, (blasint)self->n, x, 1, 0, y, 1);
    nadir_blas_restore(before);
    return NADIR_OK;
}

/* About the largest eigenvalue of G, from below. */
static nadir_status estimate(nadir_context *context, int64_t n, const double *G, double *largest)
{
    nadir_status status = NADIR_OK;
    gram user = {n, G};
    const nadir_linear_map run = {n, n, apply_gram, apply_gram, &user};
    const nadir_vec host = nadir_vec_host(context);
    nadir_random random = context->random;
    nadir_singular_triple triple;
    double *vectors = NULL;
    NADIR_NEW(context, vectors, 2 * n);
    NADIR_CHECK(
        nadir_lanczos_top(&host, &run, NULL, &random, TOLERANCE, PRODUCTS, vectors, vectors + n, &triple));
    *largest = triple.sigma;
cleanup:
    nadir_release(context, vectors);
    return status;
}

/* Whether the factors of tau I - G exist. The upper triangle of G holds the factors, its diagonal the
 * diagonal of G: [n]. */
static bool is_above(const nadir_context *context, int64_t n, double tau, const double *diagonal, double *G)
{
    const lapack_int size = (lapack_int)n;
    lapack_int info = 0;
    for (int64_t j = 0; j < n; j++) {
        G[j * n + j] = tau - diagonal[j];
        for (int64_t i = j + 1; i < n; i++) {
            G[i * n + j] = -G[j * n + i];
        }
    }
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n * n));
    LAPACK_dpotrf("U", &size, G, &size, &info);
    nadir_blas_restore(before);
    return info == 0;
}

/* The square of the bound when tau I - G has factors. */
static double square_bound(int64_t n, double tau, double largest, double frobenius)
{
    const double m = (double)n;
    return (tau + NADIR_ROUND_UNIT * (tau + largest) + rounding_of(m + 2) * m * tau +
            rounding_of(m) * frobenius * frobenius) *
           (1 + 8 * NADIR_ROUND_UNIT);
}

/* Rising tau, from `start`, until the factors exist. */
static double rise(const nadir_context *context, int64_t n, double start, double frobenius,
                   const double *diagonal, double *G)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = diagonal[i] > largest ? diagonal[i] : largest;
    }
    /* below this tau would drown in the bound's own slack */
    double above = FIRST_TRIAL + rounding_of((double)n);
    while (above < LAST_TRIAL) {
        const double tau = start * (1 + above);
        if (is_above(context, n, tau, diagonal, G)) {
            return sqrt(square_bound(n, tau, largest, frobenius));
        }
        above *= LATER_TRIAL;
    }
    return INFINITY;
}

/* The lower triangle of N^T N. */
static void fill_gram(const nadir_context *context, int64_t n, const double *N, double *G)
{
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n * n));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (blasint)n, (blasint)n, 1, N, (blasint)n, 0, G,
                (blasint)n);
    nadir_blas_restore(before);
}

/* The sum of the squares of all entries of a symmetric matrix whose lower triangle G is; a dsdot may add up
 * in single precision, of positive terms. */
static double sum_squares(int64_t n, const float *G)
{
    double square = 0;
    for (int64_t j = 0; j < n; j++) {
        const float *column = G + j * n;
        square += (double)column[j] * column[j] +
                  2 * cblas_dsdot((blasint)(n - j - 1), column + j + 1, 1, column + j + 1, 1);
    }
    return square;
}

nadir_status nadir_spectral_norm_fourth(nadir_context *context, int64_t n, const double *N, double *bound)
{
    nadir_status status = NADIR_OK;
    float *F = NULL;
    const double frobenius = cblas_dnrm2((blasint)(n * n), N, 1) * (1 + rounding_of((double)n * (double)n));
    const double half = rounding_of((double)n) * (UNIT_SINGLE / NADIR_ROUND_UNIT);
    int exponent;
    *bound = frobenius;
    if (frobenius == 0 || !isfinite(frobenius) || !(half < 0.1)) {
        return NADIR_OK;
    }
    NADIR_NEW(context, F, 2 * n * n);
    float *G = F + n * n;
    (void)frexp(frobenius, &exponent);
    const double scale = ldexp(1, -exponent); /* |scale N|_F is in [1/2, 1) */
    for (int64_t i = 0; i < n * n; i++) {
        F[i] = (float)(scale * N[i]);
    }
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n * n));
    cblas_ssyrk(CblasColMajor, CblasLower, CblasTrans, (blasint)n, (blasint)n, 1, F, (blasint)n, 0, G,
                (blasint)n);
    nadir_blas_restore(before);
    /* |F|_F <= 1 + 2 u, |G - F^T F|_F <= gamma_n |F|_F^2, |F - scale N|_F <= u, and what vanishes */
    const double square = sum_squares(n, G) * (1 + rounding_of((double)n * (double)n));
    const double fourth = sqrt(square) * (1 + half) + 1.01 * half + (double)n * (double)n * FLT_MIN;
    const double norm = sqrt(fourth) + 1.01 * UNIT_SINGLE + (double)n * FLT_MIN;
    *bound = fmin(frobenius, nadir_round_up(norm / scale, 8));
cleanup:
    nadir_release(context, F);
    return status;
}

nadir_status nadir_spectral_norm_prove(nadir_context *context, int64_t n, const double *N, double from,
                                       double *bound)
{
    nadir_status status = NADIR_OK;
    double *G = NULL;
    double *diagonal = NULL;
    double start = from * from;
    const double frobenius = cblas_dnrm2((blasint)(n * n), N, 1) * (1 + rounding_of((double)n * (double)n));
    *bound = frobenius;
    if (frobenius == 0 || !isfinite(frobenius) || n == 1) {
        return NADIR_OK;
    }
    NADIR_NEW_ZERO(context, G, n * n);
    NADIR_NEW(context, diagonal, n);
    fill_gram(context, n, N, G);
    for (int64_t i = 0; i < n; i++) {
        diagonal[i] = G[i * n + i];
    }
    if (from == 0) {
        NADIR_CHECK(estimate(context, n, G, &start));
    }
    const double proven = rise(context, n, start, frobenius, diagonal, G);
    *bound = proven < frobenius ? proven : frobenius;
cleanup:
    NADIR_RELEASE(context, G, diagonal);
    return status;
}

double nadir_spectral_norm_quotient(const nadir_context *context, int64_t n, const double *N, double *work)
{
    double *x = work;
    double *y = x + n;
    double *z = y + n;
    double best = INFINITY;
    const blasint size = (blasint)n;
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n));
    for (int64_t i = 0; i < n; i++) {
        x[i] = 1;
    }
    for (int step = 0; step < STEPS; step++) {
        double quotient = 0;
        double largest = 0;
        cblas_dgemv(CblasColMajor, CblasNoTrans, size, size, 1, N, size, x, 1, 0, y, 1);
        cblas_dgemv(CblasColMajor, CblasTrans, size, size, 1, N, size, y, 1, 0, z, 1);
        for (int64_t j = 0; j < n; j++) {
            quotient = z[j] / x[j] > quotient ? z[j] / x[j] : quotient;
            largest = z[j] > largest ? z[j] : largest;
        }
        const bool worth = quotient < WORTH * best;
        best = quotient < best ? quotient : best;
        for (int64_t j = 0; j < n; j++) {
            x[j] = largest > 0 ? fmax(z[j] / largest, SMALLEST) : 1;
        }
        if (!worth) {
            break;
        }
    }
    nadir_blas_restore(before);
    return nadir_round_up(sqrt(best * (1 + rounding_of(2 * (double)n + 4))), 2);
}
