/*
 * perturbation_bound.h: how far the kernels of a set can move the return of one policy, by norms alone: on
 * every domain, also where entries are negative.
 *
 * Rows of Delta = P - Phat are zero-sum, so that Delta^pi x depends on x up to a constant only, and
 *
 *     v_P - v = gamma D Delta^pi v_P,      J_P - J = gamma d . Delta^pi v_P.
 *
 * Let s be a seminorm that is 0 for constants: s(x) = |Phi x|_2 for non-rectangular balls, after these are
 * enclosed in the L_2 ball of radius beta_2 = beta n^max(0, 1/2 - 1/p), where Delta^pi = W M with
 * |M|_2 <= beta_2; s(x) = sigma_q(x) for rectangular sets, where |Delta^pi x| <= b^pi s(x) in every state,
 * b^pi as in rectangular_free.h. In both cases
 *
 *     |gamma d . Delta^pi x| <= reach s(x),    reach = gamma beta_2 |W d|_2,    or gamma d . b^pi
 *     s(gamma D Delta^pi x)  <= kappa s(x),    kappa = beta_2 gamma |Phi D W|_2, or gamma |D b^pi|_q
 *
 * If kappa < 1 no kernel of the set is singular; s(v_P - v) <= kappa / (1 - kappa) s(v), so that the return
 * is linear in Delta up to
 *
 *     |J_P - J - gamma d . Delta^pi v| <= reach kappa / (1 - kappa) s(v).
 *
 * If w solves (I - gamma P^pi) w = R^pi up to a residual r, e = v_P - w has e = D r + gamma D Delta^pi e, so
 * that s(e) <= s(D r) / (1 - kappa), and mu . e = d . r + gamma d . Delta^pi e gives
 *
 *     |mu . e| <= |D r|_max + reach s(e),    |D r|_max <= |r|_max / (1 - gamma),    s(x) <= factor |x|_max,
 *
 * with factor = sqrt(S) or S^(1/q).
 */
#ifndef NADIR_PROOF_PERTURBATION_BOUND_H
#define NADIR_PROOF_PERTURBATION_BOUND_H

#include "sets/uncertainty.h"

typedef struct nadir_perturbation_bound {
    double reach, kappa;    /* rounded up; infinite where nothing is known */
    double seminorm_v;      /* at least s(v) of the nominal value */
    double seminorm_factor; /* s(x) <= factor max |x| */
    double largest_W;       /* non-rectangular: of W at p = 2 */
} nadir_perturbation_bound;

nadir_status nadir_perturbation_bound_make(nadir_context *context, const nadir_problem *problem,
                                           nadir_certify effort, nadir_perturbation_bound *bound);

/* At least |J_P - J - gamma d . Delta^pi v| of every kernel of the set; infinity: nothing is known. */
double nadir_perturbation_bound_remainder(const nadir_perturbation_bound *bound);

/* At least |mu . (v_P - w)| of a kernel of the set, where |R^pi + gamma P^pi w - w|_max <= residual. */
double nadir_perturbation_bound_error(const nadir_context *context, const nadir_problem *problem,
                                      const nadir_perturbation_bound *bound, double residual);

/* At least s(x), x: [states]. work: [2 * states] */
nadir_status nadir_perturbation_seminorm(nadir_context *context, const nadir_problem *problem,
                                         const double *x, double *work, double *seminorm);

/* At least |D_P|_inf = max over s of sum_t |D_P(s, t)|, `occupancy` being that of P, of any signs. Forms D:
 * if X holds the computed columns and I - (I - gamma P^pi) X has entries of at most r,
 * |D_P|_inf <= |X|_inf / (1 - S r). Infinity: nothing is known. */
nadir_status nadir_inverse_norm_bound(nadir_context *context, const nadir_problem *problem,
                                      nadir_occupancy *occupancy, double *norm);

#endif
