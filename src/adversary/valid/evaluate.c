/*
 * evaluate.c: robust evaluation of the non-rectangular ball on the domains simplex and support: search, proof,
 * and the checks of the kernel.
 */
#include "adversary/check/membership.h"
#include "adversary/valid/descent.h"
#include "adversary/verdict.h"
#include "base/clock.h"

#include <math.h>
#include <string.h>

static nadir_status evaluate_one(nadir_context *context, const nadir_problem *problem,
                                 const nadir_robust_settings *settings, double beta, double factor,
                                 nadir_verdict *verdict)
{
    nadir_status status = NADIR_OK;
    const double begun = nadir_clock_seconds();
    NADIR_CHECK(nadir_descent_run(context, problem, beta, NULL, settings->tolerance,
                                  settings->iterations_limit, &verdict->attack));
    const double found = nadir_clock_seconds();
    verdict->robust_time = found - begun;
    verdict->breakdown = NAN;
    verdict->kappa = NAN;
    NADIR_CHECK(nadir_verdict_check_valid(context, problem, factor, verdict));
    verdict->certify_time = nadir_clock_seconds() - found;
cleanup:
    return status;
}

nadir_status nadir_valid_evaluate(nadir_context *context, const nadir_problem *problem,
                                  const nadir_robust_settings *settings, int64_t count, const double *factors,
                                  nadir_verdict *verdicts)
{
    nadir_status status = NADIR_OK;
    if (settings->method != NULL && strcmp(settings->method, "auto") != 0) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "method %s is for the free domain; leave the method to auto here",
                          settings->method);
    }
    for (int64_t i = 0; i < count; i++) {
        NADIR_CHECK(evaluate_one(context, problem, settings, factors[i] * problem->uncertainty->radius,
                                 factors[i], &verdicts[i]));
    }
cleanup:
    return status;
}
