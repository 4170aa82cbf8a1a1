/* reward_bound.h: what kernels of distributions return at least and at most, whatever the ball. */
#ifndef NADIR_PROOF_REWARD_BOUND_H
#define NADIR_PROOF_REWARD_BOUND_H

#include "sets/uncertainty.h"

/* lower: at most min over s of R^pi(s) / (1 - gamma); upper: at least the maximum; all rounding included,
 * infinite where that is no double. For the domains simplex and support. */
void nadir_reward_bounds(const nadir_context *context, const nadir_problem *problem, double *lower,
                         double *upper);

/* The least that the largest reward may be where proofs are made, unless it is 0: what is lost by underflow
 * is then lost in the rounding of it, too. */
#define NADIR_REWARD_LEAST 1e-300

/* Whether the rewards are smaller than that. What "rewards" and "bellman" say holds all the same. */
bool nadir_rewards_underflow(const nadir_context *context, const nadir_problem *problem);

#endif
