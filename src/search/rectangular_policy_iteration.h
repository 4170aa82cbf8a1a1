/*
 * rectangular_policy_iteration.h: the worst kernel of s- and sa-rectangular balls on the domains simplex and
 * support (and of the non-rectangular ball of p = infinity): the robust Bellman operator
 *
 *     (Tv)(s) = R^pi(s) + gamma min over the rows of s, within ball and domain, of sum_a pi(a|s) P_sa . v
 *
 * is a contraction; policy iteration of the adversary finds its fixed point in a few steps.
 */
#ifndef NADIR_SEARCH_RECTANGULAR_POLICY_ITERATION_H
#define NADIR_SEARCH_RECTANGULAR_POLICY_ITERATION_H

#include "proof/certificate.h"
#include "sets/uncertainty.h"

/* All radii times `factor`. candidate: of zeros; all fields but c, k and lambda are set. tolerance: relative to
 * the penalty. */
nadir_status nadir_rectangular_policy_iteration(nadir_context *context, const nadir_problem *problem,
                                                double factor, double tolerance, int64_t iterations_limit,
                                                nadir_candidate *candidate);

#endif
