/*
 * rectangular_evaluate.c: robust evaluation of rectangular sets on the domains simplex and support: policy
 * iteration, then the check of the kernel from its rows and the lower bound by weak duality.
 */
#include "adversary/check/membership.h"
#include "adversary/proof/rectangular_check.h"
#include "adversary/search/rectangular_policy_iteration.h"
#include "adversary/verdict.h"
#include "base/context.h"

#include <math.h>
#include <string.h>

static nadir_status evaluate_one(nadir_context *context, const nadir_problem *problem,
                                 const nadir_robust_settings *settings, double factor, nadir_verdict *verdict)
{
    nadir_status status = NADIR_OK;
    const double begun = nadir_clock_seconds();
    NADIR_CHECK(nadir_rectangular_policy_iteration(context, problem, factor, settings->tolerance,
                                                   settings->iterations_limit, &verdict->attack));
    const double found = nadir_clock_seconds();
    verdict->robust_time = found - begun;
    verdict->breakdown = NAN;
    verdict->kappa = NAN;
    NADIR_CHECK(nadir_verdict_check_valid(context, problem, factor, verdict));
    if (settings->certify != NADIR_CERTIFY_OFF) {
        double lower;
        NADIR_CHECK(nadir_rectangular_check(context, problem, factor, verdict->attack.v, &lower));
        nadir_verdict_take_bound(verdict, lower, NADIR_PROOF_RIGOROUS, "bellman");
    }
    verdict->certify_time = nadir_clock_seconds() - found;
cleanup:
    return status;
}

nadir_status nadir_rectangular_evaluate(nadir_context *context, const nadir_problem *problem,
                                        const nadir_robust_settings *settings, int64_t count,
                                        const double *factors, nadir_verdict *verdicts)
{
    nadir_status status = NADIR_OK;
    if (settings->method != NULL && strcmp(settings->method, "auto") != 0) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "method %s is for the free domain; leave the method to auto here",
                          settings->method);
    }
    for (int64_t i = 0; i < count; i++) {
        NADIR_CHECK(evaluate_one(context, problem, settings, factors[i], &verdicts[i]));
    }
cleanup:
    return status;
}
