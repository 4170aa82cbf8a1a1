/*
 * difference_bound.h: proven bounds on the smallest f(P) = J^A_P - J^B_P over the kernels P of a set, for two
 * policies A and B under the same kernel.
 *
 * First order, around the nominal kernel: J_P is linear in Delta = P - Phat but for the remainder
 *
 *     gamma sum_s (d_P - d) Delta^pi_s . v = J_P - J - <G_pi, Delta>,
 *
 * bounded by perturbation_bound.h on every domain or, on simplex and support, by the range of d_P
 * (occupancy_range.h). So
 *
 *     f(P) >= J^A - J^B + min <G, Delta> - remainders,
 *
 * where the minimum is bounded by weak duality (nadir_lmo_row_costs_bound).
 *
 * Second order, around a stationary kernel P*, non-rectangular ball, p = 2. With delta = P - P*, v and d at
 * P*, rho_i(s) = gamma delta^i_s . v_i for the policies i = A, B,
 *
 *     f(P) - f(P*) = sum_s d^A_P rho_A - d^B_P rho_B
 *                  = <G, delta> + sum_s (d^A_P - d_A) rho_A - (d^B_P - d_B) rho_B
 *
 * exactly. Rows of P* that are optimal for G + 2 tau Delta* / alpha^2 up to a slack e have
 * <G, delta> >= -e - 2 tau <Delta*, delta>, and -2 <Delta*, delta> >= |delta|^2 - (beta^2 - |Delta*|^2) since
 * P lies in the ball (norms over 1 / alpha). d^i_P - d_i = gamma D_i^T (delta^i)^T d^i_P at P*, so that the
 * second sum is a quadratic form in delta,
 *
 *     |sum| <= C |delta|^2,     f(P) >= f(P*) - e - tau (beta^2 - |Delta*|^2)_+ - 4 beta^2 (C - tau)_+.
 *
 * C <= tau proves that P* is the worst kernel of all; kappa = C / (2 tau). C is the smaller of
 *
 *     sum_i gamma |W d_i| / (1 - kappa_i) * gamma |Phi D W| / (1 - kappa_i) * |Phi v_i|
 *                                                        (perturbation_bound.h, every domain),
 *     the largest eigenvalue of the symmetric part of the matrix with entries
 *     sum_i gamma^2 response(t, v_i) high_i(s) response(s, D_i e_t)
 *                                                        (occupancy_range.h, simplex and support).
 */
#ifndef NADIR_PROOF_DIFFERENCE_BOUND_H
#define NADIR_PROOF_DIFFERENCE_BOUND_H

#include "proof/difference_bound.h"
#include "sets/lmo_row_costs.h"
#include "solve/value.h"

/* The kernel P* with what is needed to check it. Nothing is owned. */
typedef struct nadir_difference_witness {
    const nadir_kernel *kernel;
    nadir_occupancy *occupancy[2]; /* D of both policies at P* */
    const double *v[2];            /* [states] their values there */
    double J[2];                   /* mu . v */
    double tau;                    /* non-rectangular, p = 2: multiplier of the ball; 0: none */
} nadir_difference_witness;

/* What is known about both policies: filled by nadir_difference_check, ranges and perturbations by the
 * caller. */
typedef struct nadir_difference_facts {
    nadir_perturbation_bound perturbation[2];
    nadir_occupancy_range range[2]; /* high NULL: not made */
    nadir_value_check check[2];     /* of both values at P* */
    double inverse[2];              /* at least |D_i|_inf at P*; infinity: not known */
    double distance;                /* |Delta*| */
    double row_sum;                 /* at least |sum of a row of P* - 1| */
    double minimum;                 /* smallest entry of P* */
    double lower, upper;            /* of f(P*) */
} nadir_difference_facts;

/* P* lies in the set (NADIR_ERROR_VERIFICATION otherwise), and f(P*) between facts->lower and upper. problem:
 * of A and B. form_inverse: D may be formed where the rows of P* have no bound. */
nadir_status nadir_difference_check(nadir_context *context, const nadir_problem problem[2],
                                    const nadir_difference_witness *witness, bool form_inverse,
                                    nadir_difference_facts *facts);

/* At least the gain sum_r c_r . (Phat_r - X_r) of every kernel X of the set, in units of the return, by weak
 * duality; costs->omega and step are the witness and may be any numbers. Rounding is included. */
nadir_status nadir_lmo_row_costs_bound(nadir_context *context, const nadir_lmo_row_costs *costs,
                                       double *gain);

/* The first-order bound, rounding included. costs: of the set, with omega and step as a witness; its other
 * numbers are set here. */
nadir_status nadir_difference_first_order(nadir_context *context, const nadir_problem problem[2],
                                          const nadir_difference_facts *facts, nadir_lmo_row_costs *costs,
                                          double *lower);

/* At least the slack e for this kernel and tau; costs: G. Non-rectangular, p = 2. */
nadir_status nadir_difference_slack(nadir_context *context, const nadir_lmo_row_costs *costs,
                                    const nadir_kernel *kernel, double tau, double *slack);

/* The second-order bound, rounding included; -infinity: nothing is proven. *kappa: NaN where there is none.
 * costs: of the set; set here. */
nadir_status nadir_difference_second_order(nadir_context *context, const nadir_problem problem[2],
                                           const nadir_difference_witness *witness,
                                           const nadir_difference_facts *facts, nadir_lmo_row_costs *costs,
                                           double *lower, double *kappa);

#endif
