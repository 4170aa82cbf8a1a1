/*
 * rectangular_optimum.h: the best policy against a rectangular set, where the robust Bellman operator
 *
 *     (Tv)(s) = max over pi_s of min over the rows of s, within ball and domain, of
 *               sum_a pi(a|s) (R(s, a) + gamma P_sa . v)
 *
 * is a contraction (domains simplex and support; on the free domain below breakdown of every policy that is
 * met). Set sa: the best action alone, so that the policy is deterministic; set s: a mixture of the actions
 * above a threshold.
 */
#ifndef NADIR_POLICY_RECTANGULAR_OPTIMUM_H
#define NADIR_POLICY_RECTANGULAR_OPTIMUM_H

#include "adversary/uncertainty.h"

typedef struct nadir_rectangular_optimum_result {
    double lower, upper; /* the best worst return lies between them, rounding included; infinite: not known */
    int64_t evaluations; /* policies whose worst kernel was looked for */
    int64_t iterations;
    const char *stop_reason; /* "tolerance", "stable", "iterations" */
} nadir_rectangular_optimum_result;

/* To `tolerance`, relative to the largest value. value: [states], out; policy: a new one. The ball's set,
 * once settled, is s or sa (also the non-rectangular one of p = infinity). NADIR_ERROR_NOT_CONVERGED: the
 * best so far is there. */
nadir_status nadir_rectangular_optimum(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                       const char *backend, double tolerance, int64_t iterations_limit,
                                       double *value, nadir_policy **policy,
                                       nadir_rectangular_optimum_result *result);

#endif
