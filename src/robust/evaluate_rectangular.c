/* evaluate_rectangular.c: robust evaluation of one radius, where every state is on its own: rectangular sets on the
 * domains simplex and support, and sets that hold the nominal kernel alone. */
#include "core/context.h"
#include "robust/evaluate.h"
#include "search/rectangular_policy_iteration.h"

#include <math.h>

nadir_status nadir_evaluate_nominal(nadir_context *context, const nadir_problem *problem,
                                    const nadir_robust_settings *settings, double factor,
                                    const nadir_warm_start *warm_start, nadir_evaluation *evaluation)
{
    (void)factor;
    (void)warm_start;
    nadir_value_check check;
    const double begun = nadir_clock_seconds();
    NADIR_TRY(nadir_evaluation_check_nominal(context, problem, &check));
    NADIR_TRY(nadir_kernel_create(context, problem->model, &evaluation->candidate.kernel));
    evaluation->candidate.J = problem->J;
    evaluation->candidate.method = "nominal";
    evaluation->candidate.stop = NADIR_STOP_SOLVED;
    evaluation->candidate.converged = true;
    evaluation->candidate.gap = NAN;
    evaluation->lower = problem->sign > 0 ? check.lower : -check.upper;
    evaluation->upper = problem->sign > 0 ? check.upper : -check.lower;
    evaluation->bound = NADIR_BOUND_NOMINAL;
    evaluation->proof =
        nadir_evaluation_is_close(problem, settings, evaluation) ? NADIR_PROOF_RIGOROUS : NADIR_PROOF_NONE;
    evaluation->breakdown = NAN;
    evaluation->kappa = NAN;
    evaluation->minimum = check.minimum;
    evaluation->certify_time = nadir_clock_seconds() - begun;
    return NADIR_OK;
}

/* Policy iteration, then the check of the kernel from its rows and the lower bound by weak duality. */
nadir_status nadir_evaluate_rectangular(nadir_context *context, const nadir_problem *problem,
                                        const nadir_robust_settings *settings, double factor,
                                        const nadir_warm_start *warm_start, nadir_evaluation *evaluation)
{
    (void)warm_start;
    const double begun = nadir_clock_seconds();
    NADIR_TRY(nadir_evaluate_check_method(context, settings));
    NADIR_TRY(nadir_rectangular_policy_iteration(context, problem, factor, settings->tolerance,
                                                 settings->iterations_limit, &evaluation->candidate));
    const double found = nadir_clock_seconds();
    evaluation->robust_time = found - begun;
    evaluation->breakdown = NAN;
    evaluation->kappa = NAN;
    NADIR_TRY(nadir_evaluation_check_valid(context, problem, factor, evaluation));
    if (settings->certify != NADIR_CERTIFY_OFF) {
        double lower;
        NADIR_TRY(nadir_rectangular_check(context, problem, factor, evaluation->candidate.v, &lower));
        nadir_evaluation_take_bound(evaluation, lower, NADIR_PROOF_RIGOROUS, NADIR_BOUND_BELLMAN);
    }
    evaluation->certify_time = nadir_clock_seconds() - found;
    return NADIR_OK;
}
