/* free_bounds.h: lower bounds on the return over balls of the free domain; the bound at p = 2 is in
 * spectral_check.h. */
#ifndef NADIR_PROOF_FREE_BOUNDS_H
#define NADIR_PROOF_FREE_BOUNDS_H

#include "adversary/problem.h"

/* Whether the rewards are far enough from underflow and overflow, for bounds that hold. */
bool nadir_free_rewards_fit(const nadir_context *context, const nadir_problem *problem);

/* The largest reward for which that holds. */
double nadir_free_reward_most(const nadir_context *context, const nadir_problem *problem);

/* J - lambda_high, rounded down. */
double nadir_free_lower(const nadir_problem *problem, double lambda_high);

/* The same problem with an L_2 ball that holds the set: U_p(beta) in U_2(beta n^max(0, 1/2 - 1/p)). *wider is
 * that factor, rounded up; two is to be cleared after success, and *enclosing points to it. */
nadir_status nadir_free_enclosing_ball(nadir_context *context, const nadir_problem *problem,
                                       nadir_uncertainty *two, nadir_problem *enclosing, double *wider);

/* Non-rectangular, p = 1. */
/* Bounds alone, without a kernel: proves that no kernel of the ball costs more than `lambda`, or gives the
 * smallest number above it that it can prove (errors of solves and rounding usually ask for one); infinity
 * when the ball cannot be shown to end before breakdown. Shares no code with the search but the solves. */
nadir_status nadir_l1_bound(nadir_context *context, const nadir_problem *problem, double beta, double lambda,
                            double *lambda_high);

/*
 * Bounds for the set times `factor`, from v (the attack's), [states], made anew from the rows:
 *
 * - where Phat^pi(s, t) >= b^pi(s) sigma_q(e_1) for all s and t, T is monotone and J_U >= mu . v - max (v -
 *   Tv)_+ / (1 - gamma): *exact is true;
 * - otherwise the weaker J_U >= J - gamma (d . b^pi) sigma_q(v_nominal) / (1 - gamma |v_b|_q), from |v_P -
 *   v| <= gamma sigma_q(v_P) v_b, where that denominator is positive; else -infinity.
 *
 * *breakdown: a proven factor up to which no kernel is singular, 1 / (gamma |v_b|_q) with v_b at factor 1; no
 * less than `factor` where *exact is true.
 */
nadir_status nadir_rectangular_free_bound(nadir_context *context, const nadir_problem *problem, double factor,
                                          const double *v, bool *exact, double *lower, double *breakdown);

#endif
