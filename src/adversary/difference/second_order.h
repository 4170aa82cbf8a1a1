/*
 * second_order.h: a lower bound on f(P) = J^A_P - J^B_P around a stationary kernel P*, non-rectangular ball,
 * p = 2.
 *
 * With delta = P - P*, v and d at P*, rho_i(s) = gamma delta^i_s . v_i for the policies i = A, B,
 *
 *     f(P) - f(P*) = sum_s d^A_P rho_A - d^B_P rho_B = <G, delta> + sum_s (d^A_P - d_A) rho_A - (d^B_P - d_B)
 * rho_B
 *
 * exactly. Rows of P* that are optimal for G + 2 tau Delta* / alpha^2 up to a slack e have <G, delta> >= -e -
 * 2 tau <Delta*, delta>, and -2 <Delta*, delta> >= |delta|^2 - (beta^2 - |Delta*|^2) since P lies in the ball
 * (norms over 1 / alpha). d^i_P - d_i = gamma D_i^T (delta^i)^T d^i_P at P*, so that the second sum is a
 * quadratic form in delta,
 *
 *     |sum| <= C |delta|^2,     f(P) >= f(P*) - e - tau (beta^2 - |Delta*|^2)_+ - 4 beta^2 (C - tau)_+.
 *
 * C <= tau proves that P* is the worst kernel of all; kappa = C / (2 tau). C is the smaller of
 *
 *     sum_i gamma |W d_i| / (1 - kappa_i) * gamma |Phi D W| / (1 - kappa_i) * |Phi v_i|      (influence.h,
 * any domain) the largest eigenvalue of the symmetric part of the matrix with entries sum_i gamma^2 pull(t,
 * v_i) high_i(s) pull(s, D_i e_t)                   (occupancy_range.h, simplex and support).
 */
#ifndef NADIR_ADVERSARY_SECOND_ORDER_H
#define NADIR_ADVERSARY_SECOND_ORDER_H

#include "adversary/difference/influence.h"
#include "adversary/difference/occupancy_range.h"
#include "adversary/difference/pair.h"
#include "nominal/value_check.h"

/* e for this tau, from above; pair->costs are those of the point. */
nadir_status nadir_pair_slack(nadir_context *context, const nadir_pair *pair, const nadir_pair_point *point,
                              double tau, double *slack);

/* What is known by then. */
typedef struct nadir_pair_facts {
    nadir_influence influence[2];
    nadir_occupancy_range range[2]; /* high NULL: not made */
    nadir_value_check check[2];     /* of both values at P* */
    double inverse[2];              /* at least |D_i|_inf at P* */
    double distance;                /* |Delta*| */
    double row_sum;                 /* by how much a row of P* is not 1 */
} nadir_pair_facts;

/* *lower: all rounding included; -infinity: nothing is proven. *kappa: NaN where there is none. d of the
 * point is made anew, and pair->costs. */
nadir_status nadir_pair_second_order(nadir_context *context, nadir_pair *pair, nadir_pair_found *found,
                                     const nadir_pair_facts *facts, double *lower, double *kappa);

#endif
