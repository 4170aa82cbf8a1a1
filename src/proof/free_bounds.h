/*
 * free_bounds.h: lower bounds on the return over balls of the free domain: p = 1, p = 2 and the L_2 ball that
 * contains other balls, rectangular sets.
 */
#ifndef NADIR_PROOF_FREE_BOUNDS_H
#define NADIR_PROOF_FREE_BOUNDS_H

#include "proof/breakdown.h"
#include "proof/certificate.h"
#include "proof/verified_solve.h"
#include "sets/uncertainty.h"

/* J - lambda_high, rounded down. */
double nadir_free_lower(const nadir_problem *problem, double lambda_high);

/* The same problem with an L_2 ball that contains the set: U_p(beta) in U_2(beta n^max(0, 1/2 - 1/p)), and
 * U_1(beta) in U_2(beta / sqrt 2). *wider is that factor, rounded up. *enclosing points to *two, which the caller clears after success. */
nadir_status nadir_free_enclosing_ball(nadir_context *context, const nadir_problem *problem,
                                       nadir_uncertainty *two, nadir_problem *enclosing, double *wider);

/* Non-rectangular, p = 1: no kernel of the ball of radius beta has a penalty above *lambda_high, which is
 * `lambda`, or a little more where errors of solves and rounding need it; infinity where the ball is not
 * proven to be below breakdown. */
nadir_status nadir_l1_bound(nadir_context *context, const nadir_problem *problem, double beta, double lambda,
                            double *lambda_high);

/* The same: *low is a proven lower bound on the breakdown radius 1 / (gamma max_s W_s halfrange(D e_s)), at
 * least `claimed` where that is one, up to errors of solves. A column of D is formed only for states where a
 * cheaper bound on halfrange(D e_s) does not show the claim. */
nadir_status nadir_l1_breakdown_low(nadir_context *context, const nadir_problem *problem, double claimed,
                                    double *low);

/* Bounds from the entries of P^pi alone, for all states s: reach[s] >= halfrange(D e_s), and
 * share[s] >= 1 - min_t D_ts / D_ss. share, reach: [states]; work: [4 * states]. */
nadir_status nadir_l1_reach(nadir_context *context, const nadir_problem *problem, double *work, double *share,
                            double *reach);

/* Rectangular sets: b: [states] <- b^pi, rounded up, with |Delta^pi_s x| <= b^pi(s) sigma_q(x) for every
 * change Delta of the set; *mass >= d . b^pi, *norm >= |D b^pi|_q, or infinite where nothing is known. */
nadir_status nadir_rectangular_reach(nadir_context *context, const nadir_problem *problem, double *b,
                                     double *mass, double *norm);

/* taken: [states] at least what rows take from any v within v_error of this one: sum_a pi beta_sa sigma_q(c_sa)
 * or beta_s |alpha pi sigma_q(c_sa)|_q, times `factor`, where each row has costs c_sa of its own. Not
 * rectangular: as if beta_s were 1. */
nadir_status nadir_free_taken(nadir_context *context, const nadir_problem *problem, double factor,
                              const double *v, double v_error, double *taken);

/*
 * s- and sa-rectangular: *lower bounds the return over the set times `factor`. v: [states], any vector; the
 * closer to the value under the worst kernel, the better the bound. T is the robust Bellman operator,
 * T v = R^pi + gamma Phat^pi v - gamma b^pi sigma_q(v), and v_b = D b^pi (free_bounds.c).
 *
 * - Where Phat^pi(s, t) >= b^pi(s) sigma_q(e_1) for all s and t, T is monotone. Then *exact is true and
 *
 *       J_U >= mu . v - max (v - T v)_+ / (1 - gamma).
 *
 * - Otherwise |v_P - v| <= gamma sigma_q(v_P) v_b for the nominal v gives a weaker bound,
 *
 *       J_U >= J - gamma (d . b^pi) sigma_q(v) / (1 - gamma |v_b|_q),
 *
 *   where the denominator is positive; else -infinity.
 *
 * Rewards on landing that are not separable: T takes B(s) = sum_a pi beta_sa sigma_q(c_sa), or beta_s |alpha pi
 * sigma_q(c_sa)|_q, in place of gamma b^pi sigma_q(v), and the weaker bound is, with B of the nominal v,
 *
 *       J_U >= J - d . B - gamma (d . b^pi) |D B|_q / (1 - gamma |v_b|_q).
 *
 * *breakdown: a proven factor up to which no kernel is singular, 1 / (gamma |v_b|_q) with v_b at factor 1;
 * at least `factor` where *exact is true.
 */
nadir_status nadir_rectangular_free_bound(nadir_context *context, const nadir_problem *problem, double factor,
                                          const double *v, bool *exact, double *lower, double *breakdown);

/* A pair (c, k) for the L_2 ball of radius beta. */
typedef struct nadir_spectral_question {
    double beta;
    const double *c, *k; /* [states] each */
    const double *guess; /* [states] about D W c, perhaps up to a constant; NULL: none */
    nadir_solve_basis *basis, *basis_transposed; /* shared by many questions; NULL: none */
} nadir_spectral_question;

/*
 * p = 2: an upper bound on the penalty of every kernel of the ball of radius beta, from the pair (c, k):
 * theta and the residual rho of (c / |c|, k) at lambda, isolation of theta by breakdown_low, which is proven
 * and above beta (spectral_check.c has the proof). *lambda_high: at worst
 * gamma beta |Phi v| |W d| / (1 - beta / breakdown_low), which holds for any pair; infinity when beta is not
 * below breakdown_low. The pair need not lie in any ball: other norms are bounded through an enclosing L_2
 * ball. The problem is one of p = 2.
 */
nadir_status nadir_spectral_check(nadir_context *context, const nadir_problem *problem,
                                  const nadir_spectral_question *question, double breakdown_low,
                                  double *lambda_high);

/*
 * An upper bound on the penalty over an L_2 ball on the free domain, below breakdown. Every such bound rests
 * on a breakdown radius: by isolation with the proven one; then, until the bound is at most `wanted`, with
 * dearer proofs of it; then with its estimate, which makes the bound a numerical one.
 */
nadir_status nadir_penalty_bound(nadir_context *context, const nadir_problem *problem, nadir_certify certify,
                                 const nadir_spectral_question *question, double wanted,
                                 nadir_known_breakdown *known, double *lambda_high, nadir_proof *proof);

#endif
