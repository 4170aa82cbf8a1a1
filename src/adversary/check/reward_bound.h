/* reward_bound.h: what kernels of distributions return at least and at most, whatever the ball. */
#ifndef NADIR_ADVERSARY_REWARD_BOUND_H
#define NADIR_ADVERSARY_REWARD_BOUND_H

#include "adversary/problem.h"

/* lower: at most min over s of R^pi(s) / (1 - gamma); upper: at least the maximum; all rounding included,
 * infinite where that is no double. For the domains simplex and support. */
void nadir_reward_bounds(const nadir_context *context, const nadir_problem *problem, double *lower,
                         double *upper);

#endif
