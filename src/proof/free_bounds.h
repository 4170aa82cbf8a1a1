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

/* Whether the rewards are far enough from underflow and overflow for the bounds to hold. */
bool nadir_free_rewards_fit(const nadir_context *context, const nadir_problem *problem);

/* The largest reward for which that holds. */
double nadir_free_reward_most(const nadir_context *context, const nadir_problem *problem);

/* J - lambda_high, rounded down. */
double nadir_free_lower(const nadir_problem *problem, double lambda_high);

/* The same problem with an L_2 ball that contains the set: U_p(beta) in U_2(beta n^max(0, 1/2 - 1/p)). *wider
 * is that factor, rounded up. *enclosing points to *two, which the caller clears after success. */
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
 * *breakdown: a proven factor up to which no kernel is singular, 1 / (gamma |v_b|_q) with v_b at factor 1;
 * at least `factor` where *exact is true.
 */
nadir_status nadir_rectangular_free_bound(nadir_context *context, const nadir_problem *problem, double factor,
                                          const double *v, bool *exact, double *lower, double *breakdown);

/*
 * An upper bound on the penalty of every kernel of an L_2 ball on the free domain, from one
 * pair (c, k); see spectral_check.c for the proof.
 */

/*
 * p = 2: an upper bound on the penalty of every kernel of the ball of radius beta, from the pair (c, k):
 * theta and the residual rho of (c / |c|, k) at lambda, isolation of theta by breakdown_low, which is proven
 * and above beta. *lambda_high: at worst gamma beta |Phi v| |W d| / (1 - beta / breakdown_low), which holds
 * for any pair; infinity when beta is not below breakdown_low. The pair need not lie in any ball:
 * other norms are bounded through an enclosing L_2 ball. The problem is one of p = 2.
 */
nadir_status nadir_spectral_check(nadir_context *context, const nadir_problem *problem, double beta,
                                  const double *c, const double *k, double breakdown_low,
                                  double *lambda_high);

/* One pair of many. */
typedef struct nadir_spectral_question {
    double beta;
    const double *c, *k; /* [states] each */
    const double *guess; /* [states] about D W c, perhaps up to a constant; NULL: none */
    /* [states] about D W c, and at least |W c - (I - gamma Phat^pi) product|, maximum norm; NULL: not known
     */
    const double *product;
    double product_off;
} nadir_spectral_question;

/* The same for `count` pairs, their systems solved together. lambda_high: [count]. */
nadir_status nadir_spectral_check_many(nadir_context *context, const nadir_problem *problem, int64_t count,
                                       const nadir_spectral_question *questions, double breakdown_low,
                                       double *lambda_high);

/* One pair without isolation from above: Cholesky tests of theta^2 (1 + eps) I - E^T E (D formed). */
nadir_status nadir_spectral_check_dense(nadir_context *context, const nadir_problem *problem, double beta,
                                        const double *c, const double *k, double breakdown_low,
                                        double *lambda_high);

/*
 * An upper bound on the penalty over an L_2 ball on the free domain. Every such bound rests
 * on a breakdown radius: proofs of it are tried, cheapest first, until the bound is good enough.
 */

/* The bound of one radius. */
typedef struct nadir_penalty_bound {
    nadir_spectral_question question; /* radius, and the pair of the kernel found there */
    double wanted;                    /* a bound this small is enough */
    double lambda_high;               /* infinity: none */
    nadir_proof proof;
} nadir_penalty_bound;

/* By isolation with the proven breakdown radius; then with dearer proofs of it; then with its estimate, which
 * makes the bound a numerical one. All radii are below breakdown. */
nadir_status nadir_penalty_bounds(nadir_context *context, const nadir_problem *problem, nadir_certify certify,
                                  int64_t count, nadir_penalty_bound *bounds, nadir_known_breakdown *known);

#endif
