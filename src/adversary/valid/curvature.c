/*
 * curvature.c: a proven kappa from a quadratic form; see curvature.h.
 *
 * With y_s = d_P(s) / high(s) in [L_s, 1], L = low / high, q_i = gamma high alpha pi of row i, x_t = <u_t,
 * delta_t> for the unit vector u_t of Delta_t and p the rest of delta, the sum is x^T C Y x + x^T E Y p with
 *
 *     K_t,i = w_t q_i De_t, centred in row i,    C_ts = <K_t,s, u_s>,    E E^T = K K^T - C C^T.
 *
 * 2 ab <= a^2 / c + c b^2 for p and for Y = M +- H, M = (1 + L) / 2, H = (1 - L) / 2, leaves a matrix: kappa
 * = k holds if for some theta > 0
 *
 *     k I - theta I - sym(C M) - E E^T / (4 k) - C H^2 C^T / (4 theta)  >= 0.
 *
 * Unvisited states N have x_t = |delta_t|; their rows are not in C and E but enter as K_N K_N^T / (4
 * theta_N), and theta_N stands for theta on their diagonal.
 *
 * Shared: where all rows allow all states |K^T Y x|^2 <= x^T G x, since occupancies have one sum. Of this p
 * gets what is left of C Y: with z = y C^T x, z x - z^2 / (4 k) and (z - L C^T x) (C^T x - z) >= 0 for every
 * s,
 *
 *     k I - theta I - eta sym(C M) - G / (4 k) - eta / (4 theta) C (eta M^2 - L) C^T  >= 0,  eta = 1 - theta
 * / k,
 *
 * and simply kappa^2 = |G| if G has the rows of all states.
 */
#include "adversary/proof/kappa_cholesky.h"

#include "adversary/proof/kappa_matrix.h"
#include "linalg/eigen.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

enum { TRIALS = 4, TRIALS_UNVISITED = 3, HALVINGS = 7, HALVINGS_FEW = 3, DOUBLINGS = 40 };

/* Shares of a norm that theta is tried at. */
static const double shares[TRIALS] = {0.35, 0.5, 0.25, 0.15};
static const double shares_unvisited[TRIALS_UNVISITED] = {0.5, 0.25, 0.8};

typedef struct search {
    const nadir_context *context;
    const nadir_kappa_matrix *form;
    double *trial;              /* [states * states] */
    int theta, theta_unvisited; /* the shares that did last */
} search;

/* Whether k^2 I - G is positive: every row is in G. */
static bool is_above_norm(const search *of, double k)
{
    const nadir_kappa_matrix *form = of->form;
    const int64_t n = form->states;
    for (int64_t i = 0; i < n * n; i++) {
        of->trial[i] = -form->rest[i];
    }
    for (int64_t s = 0; s < n; s++) {
        of->trial[s * n + s] += k * k;
    }
    return nadir_symmetric_is_positive(of->context, n, of->trial, form->rest_off + 8 * UNIT * k * k);
}

/* Whether the matrix is positive for these numbers. */
static bool is_positive(const search *of, double k, double theta, double theta_unvisited)
{
    const nadir_kappa_matrix *form = of->form;
    const int64_t n = form->states;
    const double eta = form->shared ? 1 - theta / k : 1;
    const double rest = 1 / (4 * k);
    const double spread = theta > 0 ? eta * eta / (4 * theta) : 0;
    const double low = theta > 0 && form->shared ? eta / (4 * theta) : 0;
    const double unvisited = theta_unvisited > 0 ? 1 / (4 * theta_unvisited) : 0;
    for (int64_t s = 0; s < n; s++) {
        double *column = of->trial + s * n;
        for (int64_t t = s; t < n; t++) {
            const int64_t at = s * n + t;
            column[t] = -eta * form->middle[at] - rest * form->rest[at] - spread * form->spread[at] +
                        (form->low != NULL ? low * form->low[at] : 0) -
                        (form->unvisited != NULL ? unvisited * form->unvisited[at] : 0);
        }
        column[s] += k - (form->is_unvisited[s] ? theta_unvisited : theta);
    }
    const double off = form->middle_off + rest * form->rest_off + spread * form->spread_off +
                       low * form->low_off + unvisited * form->unvisited_off;
    /* twice, since the sum of these terms is rounded too */
    return nadir_symmetric_is_positive(of->context, n, of->trial, 2 * off + 16 * UNIT * k);
}

/* For any of the shares. */
static bool holds(search *of, double k)
{
    const nadir_kappa_matrix *form = of->form;
    const bool spread = form->spread_norm > 0;
    const bool unvisited = form->unvisited_norm > 0;
    if (form->shared && form->unvisited == NULL && is_above_norm(of, k)) {
        return true;
    }
    for (int a = 0; a < (spread ? TRIALS : 1); a++) {
        for (int b = 0; b < (unvisited ? TRIALS_UNVISITED : 1); b++) {
            const int first = (a + of->theta) % TRIALS;
            const int second = (b + of->theta_unvisited) % TRIALS_UNVISITED;
            const double theta = spread ? fmin(form->spread_norm * shares[first], 0.9 * k) : 0;
            const double other = unvisited ? form->unvisited_norm * shares_unvisited[second] : 0;
            if (is_positive(of, k, theta, other)) {
                of->theta = first;
                of->theta_unvisited = second;
                return true;
            }
        }
    }
    return false;
}

/* Where it is at most 1/2, a rough number does unless a sharp one is asked for. */
static double find_kappa(search *of, bool sharp)
{
    double high = 0.5;
    for (int step = 0; !holds(of, high); step++) {
        if (step == DOUBLINGS) {
            return INFINITY;
        }
        high *= 2;
    }
    double low = high > 0.5 ? high / 2 : 0;
    const int halvings = sharp || high > 0.5 ? HALVINGS : HALVINGS_FEW;
    for (int step = 0; step < halvings; step++) {
        const double k = (low + high) / 2;
        if (holds(of, k)) {
            high = k;
        } else {
            low = k;
        }
    }
    return high;
}

nadir_status nadir_kappa_cholesky_find(nadir_context *context, const nadir_kkt *standing,
                                       const nadir_occupancy_bounds *visits, const nadir_pull *pull,
                                       const double *inverse, bool shared, bool sharp, double *kappa)
{
    nadir_status status = NADIR_OK;
    nadir_kappa_matrix form = {0};
    search of = {.context = context, .form = &form};
    NADIR_CHECK(nadir_kappa_matrix_make(context, standing, visits, pull, inverse, shared, &form));
    NADIR_NEW(context, of.trial, form.states * form.states);
    *kappa = find_kappa(&of, sharp);
cleanup:
    nadir_release(context, of.trial);
    nadir_kappa_matrix_clear(context, &form);
    return status;
}
