/*
 * kappa_cholesky.c: a proven kappa from a quadratic form; see kappa_cholesky.h.
 *
 * Let y_s = d_P(s) / high(s) in [L_s, 1], L = low / high, Y = diag(y), q_i = gamma high alpha pi of row i,
 * x_t = <u_t, delta_t> for the unit vector u_t of Delta_t, and p the rest of delta. The sum of
 * kappa_cholesky.h is x^T C Y x + x^T E Y p with
 *
 *     K_t,i = w_t q_i De_t, centred in row i,    C_ts = <K_t,s, u_s>,    E E^T = K K^T - C C^T.
 *
 * By 2 ab <= a^2 / c + c b^2 for p, and for Y = M +- H with M = (1 + L) / 2, H = (1 - L) / 2, kappa <= k
 * holds if for some theta > 0
 *
 *     k I - theta I - sym(C M) - E E^T / (4 k) - C H^2 C^T / (4 theta)  >= 0.
 *
 * Unvisited states N have x_t = |delta_t|; their rows are not in C and E but enter as K_N K_N^T / (4
 * theta_N), and theta_N stands for theta on their diagonal.
 *
 * `shared`: where all rows allow all states, |K^T Y x|^2 <= x^T G x, since all occupancies have the same sum.
 * Of this p gets what is left of C Y: with z = y C^T x, z x - z^2 / (4 k) and (z - L C^T x) (C^T x - z) >= 0
 * for every s,
 *
 *     k I - theta I - eta sym(C M) - G / (4 k) - eta / (4 theta) C (eta M^2 - L) C^T  >= 0,
 *     eta = 1 - theta / k,
 *
 * and kappa^2 <= |G| if all states are visited, so that G has all rows.
 */
#include "proof/kappa_matrix.h"

#include "core/round.h"
#include "linalg/eigen.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Whether k^2 I - G is positive: every row is in G. */
static bool is_above_norm(const nadir_context *context, const nadir_kappa_matrix *matrix, double k)
{
    const int64_t n = matrix->states;
    for (int64_t i = 0; i < n * n; i++) {
        matrix->trial[i] = -matrix->rest[i];
    }
    for (int64_t s = 0; s < n; s++) {
        matrix->trial[s * n + s] += k * k;
    }
    return nadir_symmetric_is_positive(context, n, matrix->trial,
                                       matrix->rest_off + nadir_round_error(8) * k * k);
}

/* Whether the matrix is positive for these numbers. */
static bool is_positive(const nadir_context *context, const nadir_kappa_matrix *matrix, double k,
                        double theta, double theta_unvisited)
{
    const int64_t n = matrix->states;
    const double eta = matrix->shared ? 1 - theta / k : 1;
    const double rest = 1 / (4 * k);
    const double spread = theta > 0 ? eta * eta / (4 * theta) : 0;
    const double low = theta > 0 && matrix->shared ? eta / (4 * theta) : 0;
    const double unvisited = theta_unvisited > 0 ? 1 / (4 * theta_unvisited) : 0;
    for (int64_t s = 0; s < n; s++) {
        double *column = matrix->trial + s * n;
        for (int64_t t = s; t < n; t++) {
            const int64_t entry = s * n + t;
            column[t] = -eta * matrix->middle[entry] - rest * matrix->rest[entry] -
                        spread * matrix->spread[entry] +
                        (matrix->low != NULL ? low * matrix->low[entry] : 0) -
                        (matrix->unvisited != NULL ? unvisited * matrix->unvisited[entry] : 0);
        }
        column[s] += k - (matrix->is_unvisited[s] ? theta_unvisited : theta);
    }
    const double off = matrix->middle_off + rest * matrix->rest_off + spread * matrix->spread_off +
                       low * matrix->low_off + unvisited * matrix->unvisited_off;
    /* twice, since the sum of these terms is rounded too */
    return off <= DBL_MAX &&
           nadir_symmetric_is_positive(context, n, matrix->trial, 2 * off + nadir_round_error(16) * k);
}

/* Whether the numbers are such that the inequality means anything: terms that are there need their theta. */
static bool are_allowed(const nadir_kappa_matrix *matrix, double k, double theta, double theta_unvisited)
{
    const bool spread = matrix->spread_norm > 0;
    const bool unvisited = matrix->unvisited_norm > 0;
    return k > 0 && k <= DBL_MAX && (spread ? theta > 0 && theta < k : theta == 0) &&
           (unvisited ? theta_unvisited > 0 && theta_unvisited <= DBL_MAX : theta_unvisited == 0);
}

bool nadir_kappa_cholesky_holds(const nadir_context *context, nadir_kappa_matrix *matrix, double k,
                                double theta, double theta_unvisited)
{
    bool holds = false;
    if (theta == NADIR_KAPPA_BY_NORM) {
        holds = k > 0 && k <= DBL_MAX && matrix->shared && matrix->unvisited == NULL &&
                is_above_norm(context, matrix, k);
    } else if (are_allowed(matrix, k, theta, theta_unvisited)) {
        holds = is_positive(context, matrix, k, theta, theta_unvisited);
    }
    if (holds && k < matrix->proven) {
        matrix->proven = k;
        matrix->theta = theta;
        matrix->theta_unvisited = theta_unvisited;
    }
    return holds;
}
