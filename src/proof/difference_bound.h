/*
 * difference_bound.h: how far the kernels of a set can move the return of one policy, by norms alone: on
 * every domain, also where entries are negative.
 *
 * Rows of Delta = P - Phat are zero-sum, so that Delta^pi x depends on x up to a constant only, and
 *
 *     v_P - v = gamma D Delta^pi v_P,      J_P - J = gamma d . Delta^pi v_P.
 *
 * Where rewards are paid on landing, a row answers to v + e / gamma with its own e (model/landing.h): wherever
 * Delta^pi v or Delta^pi v_P is written here, it is sum_a pi Delta_sa . (v + e_sa / gamma), and s(v) is the
 * largest s(v + e_sa / gamma) of all rows. Differences of values have no e.
 *
 * Let s be a seminorm that is 0 for constants: s(x) = |Phi x|_2 for non-rectangular balls, after these are
 * enclosed in the L_2 ball of radius beta_2 = beta n^max(0, 1/2 - 1/p), where Delta^pi = W M with
 * |M|_2 <= beta_2; s(x) = sigma_q(x) for rectangular sets, where |Delta^pi x| <= b^pi s(x) in every state,
 * b^pi as in free_bounds.h. In both cases
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
#ifndef NADIR_PROOF_DIFFERENCE_BOUND_H
#define NADIR_PROOF_DIFFERENCE_BOUND_H

#include "proof/occupancy_bounds.h"
#include "sets/lmo_row_costs.h"
#include "sets/uncertainty.h"
#include "solve/value.h"

/* Up to this many states D is formed where rewards on landing are not separable and rows of kernels are written out,
 * unless certify is strict: columns of D cost less than the search. */
#define NADIR_LANDING_STATES 2000

typedef struct nadir_perturbation_bound {
    double reach, kappa;    /* rounded up; infinite where nothing is known */
    double seminorm_v;      /* at least s(v) of the nominal value */
    double seminorm_factor; /* s(x) <= factor max |x| */
    double largest_W;       /* non-rectangular: of W at p = 2 */
} nadir_perturbation_bound;

nadir_status nadir_perturbation_bound_make(nadir_context *context, const nadir_problem *problem,
                                           nadir_certify effort, nadir_perturbation_bound *bound);

/* At least s(x), or s(x + landing e) of all rows that can move, x: [states]. work: [3 * states] */
nadir_status nadir_perturbation_seminorm(nadir_context *context, const nadir_problem *problem, double landing,
                                         const double *x, double *work, double *seminorm);

/*
 * Bounds low <= d_P <= high on the occupancies of a policy over all kernels of the set;
 * every set and norm, domains simplex and support.
 *
 * A row changes the mean of x by at most |Delta_sa|_p sigma_sa(x), sigma_sa the generalised standard
 * deviation of x over the allowed successors of the row. The rows of a state together change it by at most
 * |Delta_s / alpha|_p response(s, x), where
 *
 *     response(s, x) = |alpha_sa pi(a|s) sigma_sa(x)|_q over a
 *                      (set sa: sum_a pi alpha beta_sa sigma_sa, the radius included).
 *
 * With d_P(t) - d(t) = gamma sum_s d_P(s) Delta^pi_s . D e_t, d_P <= high and sum d_P = T = 1 / (1 - gamma):
 *
 *     |d_P(t) - d(t)| <= gamma max over 0 <= y <= high, sum y <= T, of
 *                        beta |y_s response(s, De_t)|_q           (non-rectangular), or
 *                        sum_s beta_s y_s response(s, De_t)       (rectangular),
 *
 * which is a fractional knapsack, since y_s^q <= y_s high_s^(q-1). Every pass lowers `high`, and may be the
 * last.
 */

/* Forms D: O(states) solves and states * states numbers. */
nadir_status nadir_occupancy_range_make(nadir_context *context, const nadir_problem *problem,
                                        nadir_occupancy_bounds *range);

/* response(s, x) for every s, rounded up, where x is known to `error`; rows have x + landing e. work:
 * [3 * states]; response: [states]. */
nadir_status nadir_row_response(nadir_context *context, const nadir_problem *problem, double landing,
                                const double *x, double error, double *work, double *response);

/* At least beta |weight_s response_s|_q, or sum_s beta_s weight_s response_s: the most that kernels of the
 * set change a sum with these weights. work: [states] */
double nadir_row_response_total(const nadir_problem *problem, const double *weight, const double *response,
                                double *work);

/* response(s, D e_t) of all columns at [t * states + s], where `occupancy` is that of any kernel of the set;
 * responses: [states * states]. */
nadir_status nadir_row_response_columns(nadir_context *context, const nadir_problem *problem,
                                        nadir_occupancy *occupancy, double *responses);

/*
 * Proven bounds on the smallest f(P) = J^A_P - J^B_P over the kernels P of a set, for two
 * policies A and B under the same kernel.
 *
 * First order, around the nominal kernel: J_P is linear in Delta = P - Phat but for the remainder
 *
 *     gamma sum_s (d_P - d) Delta^pi_s . v = J_P - J - <G_pi, Delta>,
 *
 * bounded by norms on every domain or, on simplex and support, by the range of d_P. So
 *
 *     f(P) >= J^A - J^B + min <G, Delta> - remainders,
 *
 * where the minimum is bounded by weak duality (nadir_lmo_row_costs_bound).
 *
 * Second order, around a stationary kernel P*, non-rectangular ball, p = 2. With delta = P - P*, v and d at
 * P*, rho_i(s) = gamma delta^i_s . v_i (v_i + e / gamma, row by row) for the policies i = A, B,
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
 *                                                        (difference_bound.h, every domain),
 *     the same with |Phi D_i diag(response(., v_i))|, D_i at P*, for the last two factors (rewards on landing),
 *     the largest eigenvalue of the symmetric part of the matrix with entries
 *     sum_i gamma^2 response(t, v_i) high_i(s) response(s, D_i e_t)
 *                                                        (difference_bound.h, simplex and support).
 */

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
    nadir_occupancy_bounds range[2]; /* high NULL: not made */
    nadir_value_check check[2];      /* of both values at P* */
    double inverse[2];               /* at least |D_i|_inf at P*; infinity: not known */
    double distance;                 /* |Delta*| */
    double row_sum;                  /* at least |sum of a row of P* - 1| */
    double minimum;                  /* smallest entry of P* */
    double lower, upper;             /* of f(P*) */
} nadir_difference_facts;

/* P* lies in the set (NADIR_ERROR_VERIFICATION otherwise), and f(P*) between facts->lower and upper. problem:
 * of A and B. form_inverse: D may be formed where the rows of P* have no bound. */
nadir_status nadir_difference_check(nadir_context *context, const nadir_problem problem[2],
                                    const nadir_difference_witness *witness, bool form_inverse,
                                    nadir_difference_facts *facts);

/* At least the gain sum_r c_r . (Phat_r - X_r) of every kernel X of the set, in units of the return, by weak
 * duality; costs->solutions are the witness and may be any numbers. Rounding is included. */
nadir_status nadir_lmo_row_costs_bound(nadir_context *context, const nadir_lmo_row_costs *costs,
                                       double *gain);

/* The first-order bound, rounding included. costs: of the set, with solutions as a witness; its other
 * numbers are set here. */
nadir_status nadir_difference_first_order(nadir_context *context, const nadir_problem problem[2],
                                          const nadir_difference_facts *facts, nadir_lmo_row_costs *costs,
                                          double *lower);

/* At least the slack e for this kernel and tau; costs: G. Non-rectangular, p = 2. */
nadir_status nadir_difference_slack(nadir_context *context, const nadir_lmo_row_costs *costs,
                                    const nadir_kernel *kernel, double tau, double *slack);

/* At least the largest eigenvalue of (M + M^T) / 2, M >= 0 of order n: for every z > 0 the largest quotient
 * of (M + M^T) z / 2 and z bounds it (Collatz, Wielandt). z, next: [n] */
double nadir_symmetric_part_bound(int64_t n, const double *matrix, double *z, double *next);

/* The second-order bound, rounding included; -infinity: nothing is proven. *kappa: NaN where there is none.
 * costs: of the set; set here. */
nadir_status nadir_difference_second_order(nadir_context *context, const nadir_problem problem[2],
                                           const nadir_difference_witness *witness,
                                           const nadir_difference_facts *facts, nadir_lmo_row_costs *costs,
                                           double *lower, double *kappa);

#endif
