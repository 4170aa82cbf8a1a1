/*
 * influence.h: how much the kernels of a set can do to one policy, by norms alone: on every domain, also
 * where entries are negative.
 *
 * Rows of Delta = P - Phat are zero-sum, so that Delta^pi x depends on x up to a constant only, and
 *
 *     v_P - v = gamma D Delta^pi v_P,      J_P - J = gamma d . Delta^pi v_P.
 *
 * Let s(x) measure x up to a constant: s(x) = |Phi x|_2 for non-rectangular balls, after these are enclosed
 * in the L_2 ball of radius beta_2 = beta n^max(0, 1/2 - 1/p), where Delta^pi = W M with |M|_2 <= beta_2;
 * s(x) = sigma_q(x) for rectangular sets, where |Delta^pi x| <= b^pi s(x) in every state, b^pi as in
 * rectangular_free.h. In both cases, for the kernels of the set and the ones below,
 *
 *     |gamma d . Delta^pi x| <= reach s(x),    reach = gamma beta_2 |W d|_2,    or gamma d . b^pi
 *     s(gamma D Delta^pi x)  <= kappa s(x),    kappa = beta_2 gamma |Phi D W|_2, or gamma |D b^pi|_q
 *
 * If kappa < 1 no kernel of the set is singular; s(v_P - v) <= kappa / (1 - kappa) s(v), so that the return
 * is linear in Delta up to
 *
 *     |J_P - J - gamma d . Delta^pi v| <= reach kappa / (1 - kappa) s(v);
 *
 * and if w solves (I - gamma P^pi) w = R^pi up to a residual, that tells how far mu . w is off (influence.c).
 */
#ifndef NADIR_ADVERSARY_INFLUENCE_H
#define NADIR_ADVERSARY_INFLUENCE_H

#include "adversary/problem.h"

typedef struct nadir_influence {
    double reach, kappa; /* rounded up; infinite where nothing is known */
    double spread;       /* at least s(v) of the nominal value */
    double widest;       /* s(x) <= widest max |x| */
    double largest_W;    /* non-rectangular: of W at p = 2 */
} nadir_influence;

nadir_status nadir_influence_make(nadir_context *context, const nadir_problem *problem, nadir_certify effort,
                                  nadir_influence *influence);

/* At least |J_P - J - gamma d . Delta^pi v| of every kernel of the set; infinity: nothing is known. */
double nadir_influence_remainder(const nadir_influence *influence);

/* At least |mu . (v_P - w)| of a kernel of the set, where R^pi + gamma P^pi w - w is at most `residual`. */
double nadir_influence_error(const nadir_context *context, const nadir_problem *problem,
                             const nadir_influence *influence, double residual);

/* At least |D_P|_inf = max over s of sum_t |D_P(s, t)|, `occupancy` being that of P, of any signs. It is
 * formed: if X is what the columns were found to be and I - (I - gamma P^pi) X has entries of at most r,
 * |D_P| <= |X| / (1 - S r). Infinity: nothing is known. */
nadir_status nadir_influence_inverse(nadir_context *context, const nadir_problem *problem,
                                     nadir_occupancy *occupancy, double *norm);

/* At least s(x), x: [states]. work: [2 * states] */
nadir_status nadir_influence_spread(nadir_context *context, const nadir_problem *problem, const double *x,
                                    double *work, double *spread);

#endif
