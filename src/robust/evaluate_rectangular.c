/*
 * evaluate_rectangular.c: robust evaluation of rectangular sets on the domains simplex and support: policy
 * iteration, then the check of the kernel from its rows and the lower bound by weak duality.
 */
#include "core/context.h"
#include "proof/bellman_bound.h"
#include "proof/membership.h"
#include "robust/evaluation.h"
#include "search/rectangular_policy_iteration.h"

#include <math.h>
#include <string.h>

static nadir_status evaluate_one(nadir_context *context, const nadir_problem *problem,
                                 const nadir_robust_settings *settings, double factor,
                                 nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    const double begun = nadir_clock_seconds();
    NADIR_CHECK(nadir_rectangular_policy_iteration(context, problem, factor, settings->tolerance,
                                                   settings->iterations_limit, &evaluation->candidate));
    const double found = nadir_clock_seconds();
    evaluation->robust_time = found - begun;
    evaluation->breakdown = NAN;
    evaluation->kappa = NAN;
    NADIR_CHECK(nadir_evaluation_check_valid(context, problem, factor, evaluation));
    if (settings->certify != NADIR_CERTIFY_OFF) {
        double lower;
        NADIR_CHECK(nadir_rectangular_check(context, problem, factor, evaluation->candidate.v, &lower));
        nadir_evaluation_take_bound(evaluation, lower, NADIR_PROOF_RIGOROUS, "bellman");
    }
    evaluation->certify_time = nadir_clock_seconds() - found;
cleanup:
    return status;
}

nadir_status nadir_rectangular_evaluate(nadir_context *context, const nadir_problem *problem,
                                        const nadir_robust_settings *settings, int64_t count,
                                        const double *factors, nadir_evaluation *evaluations)
{
    nadir_status status = NADIR_OK;
    if (settings->method != NULL && strcmp(settings->method, "auto") != 0) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "method %s is for the free domain; leave the method to auto here",
                          settings->method);
    }
    for (int64_t i = 0; i < count; i++) {
        NADIR_CHECK(evaluate_one(context, problem, settings, factors[i], &evaluations[i]));
    }
cleanup:
    return status;
}
