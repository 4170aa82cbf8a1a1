/*
 * cone_bounds.c: proven upper bounds on max |B x| over x >= 0, |x| <= 1 from the leading eigenvectors; see
 * cone.h.
 *
 * With c_i = max(|v_i+|^2, |v_i-|^2) every x >= 0, |x| = 1 has <v_i, x>^2 <= c_i. The paper's first-order
 * bound gives the leading lambda_i as much weight <v_i, x>^2 as c_i allows, 1 in total. Since c_i >= 1/2 two
 * eigenvalues suffice:
 *
 *     |B x|^2 <= c_1 lambda_1 + (1 - c_1) lambda_2.
 *
 * Proof for computed numbers: if tau I + delta v v^T - K is positive semidefinite, then x^T K x <= tau +
 * delta <v, x>^2 <= tau + delta c, for any v. tau = lambda_2 and delta = lambda_1 - lambda_2 make it so in
 * exact arithmetic; tau is raised by the rounding. c = |v|^2 gives the zero-order bound, lambda_1.
 */
#include "cone/cone.h"

#include <float.h>
#include <math.h>

#define UNIT          (DBL_EPSILON / 2)
#define SLACK_GROWTH  8   /* of the slack, where it was too small */
#define LARGEST_SLACK 0.5 /* relative to the trace */
#define ROUNDED_UP    (1 + 1e-15)

/* cone->work <- tau I + delta v v^T - K - N, lower triangle. */
static void make_matrix(const nadir_cone *cone, double tau, double delta, const double *v, const double *N)
{
    const int64_t n = cone->columns;
    for (int64_t j = 0; j < n; j++) {
        const double vj = v != NULL ? delta * v[j] : 0;
        for (int64_t i = j; i < n; i++) {
            const int64_t k = j * n + i;
            const double vv = v != NULL ? vj * v[i] : 0;
            cone->work[k] = (i == j ? tau : 0) + vv - cone->K[k] - (N != NULL ? N[k] : 0);
        }
    }
}

/* |N|_F from its lower triangle. */
static double frobenius(int64_t n, const double *N)
{
    double sum = 0;
    for (int64_t j = 0; j < n && N != NULL; j++) {
        for (int64_t i = j; i < n; i++) {
            sum += (i == j ? 1 : 2) * N[j * n + i] * N[j * n + i];
        }
    }
    return sqrt(sum) * (1 + 2 * (double)n * (double)n * UNIT);
}

/* Each entry of the matrix is a sum of four terms, the second a product of three. Its rounding is at most 6
 * units of the sum of their absolute values; in Frobenius norms (|K|_F <= trace) this is added to the error
 * of K. nadir_symmetric_is_positive adds the rounding of the Cholesky factorisation. The slack is twice all
 * of it. */
double nadir_cone_prove(const nadir_context *context, const nadir_cone *cone, double tau, double delta,
                        const double *v, const double *N)
{
    const int64_t n = cone->columns;
    const double m = (double)n;
    double length = 0;
    for (int64_t i = 0; i < n && v != NULL; i++) {
        length += v[i] * v[i];
    }
    const double sizes = 2 * sqrt(m) * tau + delta * length + cone->trace + frobenius(n, N);
    const double error = cone->error + 7 * UNIT * sizes;
    double slack = 2 * error + 2 * (m + 8) * UNIT * (m * tau + delta * length);
    while (slack <= LARGEST_SLACK * cone->trace) {
        make_matrix(cone, tau + slack, delta, v, N);
        if (nadir_symmetric_is_positive(context, n, cone->work, error)) {
            return (tau + slack) * ROUNDED_UP;
        }
        slack *= SLACK_GROWTH;
    }
    return INFINITY;
}

void nadir_cone_spectral_bounds(const nadir_context *context, const nadir_cone *cone,
                                const nadir_spectrum *spectrum, double *zero, double *first)
{
    const int64_t n = cone->columns;
    const double *v = spectrum->vectors;
    const double second = n > 1 && spectrum->values[1] > 0 ? spectrum->values[1] : 0;
    const double delta = spectrum->values[0] > second ? spectrum->values[0] - second : 0;
    double square[2] = {0};
    for (int64_t i = 0; i < n; i++) {
        square[v[i] < 0] += v[i] * v[i];
    }
    const double longer = fmax(square[0], square[1]);
    const double tau = nadir_cone_prove(context, cone, second, delta, v, NULL);
    const double up = 1 + 2 * ((double)n + 8) * UNIT;
    *zero = sqrt(fmin(tau + delta * (square[0] + square[1]) * up, cone->trace)) * ROUNDED_UP;
    *first = fmin(*zero, sqrt(tau + delta * longer * up) * ROUNDED_UP);
}
