/*
 * rank_one_candidate.h: from a pair (c, k) of rank_one_states.h to a candidate for the worst kernel of the
 * non-rectangular ball on the free domain.
 *
 *     E_lambda = gamma Phi (v d^T - lambda D) W,    F(lambda) = max over |c|_p <= beta of sigma_q(E_lambda c)
 *
 * The penalty is the root of F(lambda) = lambda; for one pair (c, k) it is, with g = D W c,
 *
 *     lambda(c, k) = gamma (d . W c) (k . v) / (1 + gamma k . g).
 */
#ifndef NADIR_SEARCH_RANK_ONE_CANDIDATE_H
#define NADIR_SEARCH_RANK_ONE_CANDIDATE_H

#include "proof/candidate.h"
#include "sets/uncertainty.h"

/* Fills attack->kernel, J, lambda, c, k and, where solves are iterations, g from c and k, [states] each, of
 * one kernel: an accurate solve for v_b; v is the problem's. |c|_p is scaled down where rounding put it above
 * the radius `beta`, and k made zero-sum with |k|_p <= 1 exactly up to rounding. The other members are the
 * caller's to set, and attack has nothing of these yet. A failure clears it. NADIR_ERROR_ILL_POSED when 1 +
 * gamma k . g is not positive. */
nadir_status nadir_rank_one_candidate(nadir_context *context, const nadir_problem *problem, double beta,
                                      const double *c, const double *k, nadir_candidate *candidate);

/* The same without a solve, for those who have g = D W c, [states], as accurately, and without a kernel. */
nadir_status nadir_rank_one_candidate_known(nadir_context *context, const nadir_problem *problem, double beta,
                                            const double *c, const double *k, const double *g,
                                            nadir_candidate *candidate);

/* attack->kernel from its c and k, unless there is one. */
nadir_status nadir_rank_one_candidate_kernel(nadir_context *context, const nadir_problem *problem,
                                             nadir_candidate *candidate);

#endif
