/*
 * bellman_bound.h: a lower bound on the return of every kernel of a set, from any v and from what the rows of
 * each state can take from it.
 *
 * With taken(s) at least gamma Phat^pi v less the smallest gamma P^pi v (and cost, if there is one) in s,
 *
 *     Lv = R^pi + gamma Phat^pi v - taken <= Tv.
 *
 * If v - Lv <= c (1 - gamma rho) for the row sums rho of every kernel, then w = v - c has w <= Tw, so that
 * mu . w is below the return of every kernel of the set (plus its cost).
 */
#ifndef NADIR_PROOF_BELLMAN_BOUND_H
#define NADIR_PROOF_BELLMAN_BOUND_H

#include "proof/occupancy_bounds.h"
#include "sets/uncertainty.h"

/* *lower: mu . w, all rounding included, but that of `taken`. Products are made anew from the nominal rows. T
 * is monotone. v: [states] finite; taken: [states], 0 or more. -infinity: nothing is known. */
nadir_status nadir_bellman_bound(nadir_context *context, const nadir_problem *problem, const double *v,
                                 const double *taken, double *lower);

/*
 * A lower bound on the return of every kernel of an s- or sa-rectangular ball on the
 * domains simplex and support (and of the non-rectangular ball of p = infinity), from any v. With
 *
 *     (Tv)(s) = R^pi(s) + gamma min over the rows of s, within ball and domain, of sum_a pi(a|s) P_sa . v,
 *
 * a contraction, J_U >= mu . v - max (v - Tv)_+ / (1 - gamma).
 */

/* v: [states]; all radii times `factor`. Every minimum is replaced by a lower bound on it by weak duality, so
 * that no solution of a row problem is trusted. */
nadir_status nadir_rectangular_check(nadir_context *context, const nadir_problem *problem, double factor,
                                     const double *v, double *lower);

/*
 * The occupancy-weighted Lagrangian bound on the non-rectangular ball, simplex and
 * support, 1 <= p < infinity: with d_bar(s) >= d_P(s) for every P of the set and any tau >= 0,
 *
 *     J_U >= mu . v_tau - tau beta^p,    v_tau = T v_tau,
 *     (Tv)(s) = R^pi(s) + min over the rows of s with x_s <= beta^p of
 *                   gamma sum_a pi P_sa . v + tau / d_bar(s) x_s,    x_s = sum_a (|Delta_sa|_p / alpha_sa)^p.
 *
 * The rows of one state have at most the whole ball: the bound holds without x_s <= beta^p too, but it is
 * much weaker on models with states that are seldom visited. States of d_bar = 0 keep their nominal rows at
 * no cost, since no kernel of the set enters them.
 */

/* Proves J_U >= *lower for any tau >= 0 and any v: [states]. Every minimum over rows is replaced by a lower
 * bound on it by weak duality; rounding is included. d_bar: [states], assumed to hold. */
nadir_status nadir_lagrangian_bound(nadir_context *context, const nadir_problem *problem, double beta,
                                    const double *d_bar, double tau, const double *v, double *lower);

/*
 * The two-sided Lagrangian bound, 1 <= p < infinity: for any tau, k >= 0 (k_s counts as 0 where low_s = 0), any
 * theta, 0 <= zeta <= 1, and every kernel P of the set with low <= d_P <= high,
 *
 *     zeta J_P + theta d_P(t) >= mu . v - tau beta^p + sum_s k_s,    v = Tv,
 *     (Tv)(s) = theta [s = t] + min over the rows of s with x_s <= beta^p of
 *                   zeta R_P^pi(s) + gamma sum_a pi P_sa . v + min((tau x_s - k_s) / high_s, (tau x_s - k_s) / low_s),
 *
 * since d_P(s) min(...) <= tau x_s - k_s, whatever its sign, and the sum of x_s is at most beta^p. k = 0 is the bound
 * above. The minimum is that of two row problems. With J_P < level it bounds the occupancy of state t.
 */
typedef struct nadir_two_sided {
    int64_t t;
    double theta, zeta, tau;
    const double *k; /* [states] */
    const double *v; /* [states] any numbers: they decide how good the bound is, not whether it holds */
} nadir_two_sided;

/* *lower: at most zeta J_P + theta d_P(t); -infinity: nothing is known. Rounding is included. */
nadir_status nadir_two_sided_bound(nadir_context *context, const nadir_problem *problem, double beta,
                                   const nadir_occupancy_bounds *bounds, const nadir_two_sided *by,
                                   double *lower);

/*
 * The sublevel radius: how far kernels can be from the answer X to the Lagrangian bound, if their return is
 * below a level.
 *
 * Row problems of the bound are strongly convex. For any X and v, every P of the set has
 *
 *     J_P + tau beta^2 >= mu . v - sum_s d_P(s) f_s + tau sum_s d_P(s) / high(s) |P_s - X_s|^2,
 *     f_s = v(s) - [R^pi(s) + gamma sum_a pi X_sa . v + tau / high(s) |X_s - Phat_s|^2] + e_s,
 *
 * e_s = sum_a [h . X - min h], h = gamma pi v + 2 tau / high(s) (X - Phat) / alpha^2, norms over 1 / alpha.
 * So J_P < level implies
 *
 *     sum_s d_P(s) / high(s) |P_s - X_s|^2 <= (level + tau beta^2 - mu . v + max d_P . f) / tau.
 *
 * *radius: at least the square root of the right-hand side; negative: no kernel within the bounds has a
 * return below the level. p = 2, tau > 0; v: [states].
 */
nadir_status nadir_sublevel_radius(nadir_context *context, const nadir_expansion_point *point,
                                   const nadir_occupancy_bounds *bounds, double beta, double tau,
                                   const double *v, double level, double *radius);

/* What kernels of distributions return at least and at most, whatever the ball. */

/* lower: at most min over s of R^pi(s) / (1 - gamma), where rows that pay on landing pay the least of their
 * allowed successors; upper: at least the maximum; all rounding included, infinite where that is no double. For
 * the domains simplex and support. stray: rows may sum to one but for this, or but for what those of the model
 * do. */
void nadir_reward_bounds(const nadir_context *context, const nadir_problem *problem, double stray,
                         double *lower, double *upper);

/* The same of the nominal kernel alone. */
void nadir_reward_bounds_nominal(const nadir_context *context, const nadir_problem *problem, double *lower,
                                 double *upper);

/* The least that the largest reward may be where proofs are made, unless it is 0: what is lost by underflow
 * is then lost in the rounding of it, too. */
#define NADIR_REWARD_LEAST 1e-300

/* Whether the rewards are smaller than that. What "rewards" and "bellman" say holds all the same. */
bool nadir_rewards_underflow(const nadir_context *context, const nadir_problem *problem);

/* Whether the rewards are far enough from underflow and overflow for the bounds of the free domain. */
bool nadir_free_rewards_fit(const nadir_context *context, const nadir_problem *problem);

/* The largest reward for which that holds. */
double nadir_free_reward_most(const nadir_context *context, const nadir_problem *problem);

#endif
