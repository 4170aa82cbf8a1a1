/*
 * lagrangian_bound.c: the Lagrangian bound from any v and tau; see lagrangian_bound.h.
 *
 * For w = v - c <= Tw, T of lagrangian_bound.h, and every P of the set
 *
 *     mu . w <= J_P + tau sum_s d_P(s) / d_bar(s) x_s <= J_P + tau beta^p,
 *
 * since P is among the rows that T minimises over; states that are not entered, d_bar = 0, add nothing.
 * Solutions of row problems are used as multipliers of weak duality alone.
 */
#include "proof/bellman_bound.h"

#include "core/round.h"
#include "proof/bellman_bound.h"
#include "sets/lmo_by_state.h"

#include <float.h>
#include <math.h>

static nadir_status check_prices(nadir_context *context, int64_t states, const double *d_bar, double tau)
{
    if (!(tau >= 0 && tau <= DBL_MAX)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "tau is %g; expected a finite number, 0 or more",
                          tau);
    }
    for (int64_t s = 0; s < states; s++) {
        if (!(d_bar[s] >= 0)) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT, "d_bar is %g in state %lld; expected 0 or more",
                              d_bar[s], (long long)s);
        }
    }
    return NADIR_OK;
}

nadir_status nadir_lagrangian_bound(nadir_context *context, const nadir_problem *problem, double beta,
                                    const double *d_bar, double tau, const double *v, double *lower)
{
    nadir_status status = NADIR_OK;
    nadir_lmo_penalized lmo = {0};
    double *taken = NULL;
    double bound;
    NADIR_CHECK(check_prices(context, problem->states, d_bar, tau));
    NADIR_NEW(context, taken, problem->states);
    NADIR_CHECK(nadir_lmo_penalized_make(context, problem, beta, d_bar, &lmo));
    NADIR_CHECK(nadir_lmo_penalized_solve(context, &lmo, tau, v));
    nadir_lmo_penalized_bound(&lmo, tau, taken);
    NADIR_CHECK(nadir_bellman_bound(context, problem, v, taken, &bound));
    /* a power and two products, which may underflow */
    const double power = nadir_round_up(pow(beta, problem->uncertainty->p), 8);
    double charge = 0;
    if (tau > 0 && beta > 0) {
        charge = nadir_round_up(tau * (power + 4 * DBL_TRUE_MIN), 8) + DBL_MIN;
    }
    /* the difference is rounded down */
    bound = nadir_round_below(bound - charge, fabs(bound) + charge, 2);
    *lower = isfinite(bound) ? bound : -INFINITY;
cleanup:
    nadir_lmo_penalized_clear(context, &lmo);
    nadir_release(context, taken);
    return status;
}
