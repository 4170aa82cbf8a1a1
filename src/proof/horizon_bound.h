/*
 * horizon_bound.h: proven lower bounds on the return of H steps over the kernels of a set, one kernel for all steps
 * (sets/horizon.h). Domains simplex and support.
 *
 * Occupancies. For a kernel Q of the set, and any other P,
 *
 *     d^P_n(t) - d^Q_n(t) = sum over m < n of sum_s d^P_m(s) (P - Q)^{pi_m}_s . y,    y = Q^{pi_{m+1}} ... Q^{pi_{n-1}} e_t.
 *
 * P - Q lies within the radius times `reach`: 1 where Q is nominal, else 2. With response(s, y) of difference_bound.h and
 * d^P_m <= high_m, step after step
 *
 *     high_n(t) = d^Q_n(t) + reach sum over m < n of max over y_s <= high_m(s), sum y_s <= 1, of beta |y_s response(s, y)|_q.
 *
 * Lagrangian. Let d_bar = sum_n gamma^n high_n. Every P of the non-rectangular ball has sum_n gamma^n sum_s d^P_n(s) /
 * d_bar(s) x_s <= beta^p, x_s = sum_a (|Delta_sa|_p / alpha_sa)^p, so that for every tau >= 0
 *
 *     J_P >= mu . v_0 - tau beta^p,
 *     v_n(s) = min over the rows of s, x_s <= beta^p, of sum_a pi_n P_sa . (r_sa + gamma v_{n+1}) + tau / d_bar(s) x_s.
 *
 * The minimum may choose another kernel in every step: the bound is not tight in general. tau = 0, and rectangular sets:
 * the robust dynamic programme, which bounds the return under one kernel from below.
 *
 * Second order, around a stationary kernel P*, p = 2, non-rectangular. With delta = P - P* and norms over 1 / alpha,
 *
 *     J_P - J* = <G, delta> + sum_n gamma^n sum_t (d^P_n - d*_n)(t) rho_n(t),    rho_n(t) = sum_a pi_n delta_ta . c*_{n,ta},
 *     |rho_n(t)| <= response(t, c*_n) |delta_t|,
 *     |d^P_n - d*_n|(t) <= sum over m < n of sum_s high_m(s) response(s, y) |delta_s|,
 *
 * so that the last sum is at most L |delta|^2, L the largest eigenvalue of the symmetric part of
 *
 *     M(t, s) = sum_n gamma^n response(t, c*_n) sum over m < n of high_m(s) response(s, y).
 *
 * Rows of P* that are optimal for G + 2 tau Delta* / alpha^2 up to a slack e have <G, delta> >= -e - 2 tau <Delta*, delta>,
 * and -2 <Delta*, delta> >= |delta|^2 - (beta^2 - |Delta*|^2), since P lies in the ball. So
 *
 *     J_P >= J* - e - tau (beta^2 - |Delta*|^2)_+ - 4 beta^2 (L - tau)_+,
 *
 * and L <= tau proves that P* is the worst kernel. States that P* does not visit need no care: nothing is divided by d*.
 */
#ifndef NADIR_PROOF_HORIZON_BOUND_H
#define NADIR_PROOF_HORIZON_BOUND_H

#include "sets/horizon.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_horizon_bounds {
    double *high;  /* [steps * states] d_n <= high_n for every kernel of the set */
    double *d_bar; /* [states] sum_n gamma^n high_n */
} nadir_horizon_bounds;

/* high = 1, and mu in the first step. */
nadir_status nadir_horizon_bounds_make(nadir_context *context, const nadir_horizon *horizon,
                                       nadir_horizon_bounds *bounds);
void nadir_horizon_bounds_clear(nadir_context *context, nadir_horizon_bounds *bounds);

/* Products with entries of the kernel, and numbers, that nadir_horizon_bounds_tighten takes. */
double nadir_horizon_bounds_work(const nadir_horizon *horizon);
double nadir_horizon_bounds_memory(const nadir_horizon *horizon);

/* Lowers high and d_bar by the occupancies of a kernel of the set; nominal: it is the nominal one. curvature, unless
 * NULL (p = 2, non-rectangular): at least L. */
nadir_status nadir_horizon_bounds_tighten(nadir_context *context, const nadir_horizon *horizon,
                                          const nadir_horizon_point *point, bool nominal,
                                          nadir_horizon_bounds *bounds, double *curvature);

/* The dynamic programme. Non-rectangular: the Lagrangian bound of tau, which is 0 or more; rectangular: tau is not used.
 * Rounding is included, as in all bounds here. */
nadir_status nadir_horizon_bellman(nadir_context *context, const nadir_horizon *horizon, const double *d_bar,
                                   double tau, double *lower);

/* The second-order bound of a kernel that nadir_horizon_check has checked, for any tau >= 0. curvature: at least L. */
nadir_status nadir_horizon_second_order(nadir_context *context, const nadir_horizon *horizon,
                                        const nadir_horizon_point *point, double tau, double curvature,
                                        double *lower);

/* The kernel point->P lies in the set (NADIR_ERROR_VERIFICATION otherwise); values and occupancies are made anew, and the
 * return lies between lower and upper. minimum: its smallest entry. *kernel: the caller's. */
nadir_status nadir_horizon_check(nadir_context *context, const nadir_horizon *horizon,
                                 nadir_horizon_point *point, double *lower, double *upper, double *minimum,
                                 nadir_kernel **kernel);

#endif
