/* baseline.c: nadir_solver_baseline: runs one method within a budget, and reports its best value over time.
 */
#include "methods/methods.h"

#include <math.h>

void nadir_baseline_settings_fill(nadir_baseline_settings *settings, size_t size)
{
    const nadir_baseline_settings made = {.seconds = INFINITY, .samples = 10000, .tolerance = 1e-9};
    nadir_settings_give(settings, size, &made, sizeof made);
}

static nadir_status settle_settings(nadir_context *context, const nadir_baseline_settings *settings,
                                    nadir_baseline_settings *use)
{
    nadir_baseline_settings_default(use);
    if (settings != NULL && !nadir_settings_copy(use, sizeof *use, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the baseline settings is not set");
    }
    use->method = use->method != NULL ? use->method : "auto";
    if (!(use->seconds > 0) || use->samples < 1 || !(use->tolerance > 0)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the budget is %g seconds, %lld samples and tolerance %g; expected more than 0",
                          use->seconds, (long long)use->samples, use->tolerance);
    }
    if (nadir_method_find(use->method) == NULL) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "there is no method %s; docs/methods.md lists them",
                          use->method);
    }
    return NADIR_OK;
}

/* A method of the library: its trajectory is one point, the result. */
static nadir_status run_library_method(nadir_context *context, const nadir_problem *problem,
                                       const nadir_baseline_settings *use, nadir_trajectory *trajectory,
                                       nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    nadir_robust_settings settings;
    nadir_robust_settings_default(&settings);
    settings.method = use->method;
    settings.certify = NADIR_CERTIFY_OFF;
    settings.tolerance = use->tolerance;
    settings.iterations_limit = use->samples;
    nadir_radius_evaluator *evaluate = nadir_evaluator_for(problem->uncertainty, 1);
    NADIR_CHECK(evaluate(context, problem, &settings, 1, NULL, evaluation));
    if (evaluation->refused) { /* at or past breakdown; the context holds the error */
        status = NADIR_ERROR_ILL_POSED;
        goto cleanup;
    }
    NADIR_CHECK(nadir_trajectory_record(context, trajectory, evaluation->candidate.iterations,
                                        problem->J - evaluation->candidate.J));
    if (trajectory->count > 0) { /* without the time for proofs and breakdown */
        trajectory->points[0].seconds = evaluation->robust_time;
    }
cleanup:
    return status;
}

/* A method of this folder. */
static nadir_status run_search(nadir_context *context, const nadir_problem *problem,
                               const nadir_baseline_settings *use, nadir_trajectory *trajectory,
                               nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    const nadir_search_method *method = nadir_search_method_find(use->method);
    const nadir_uncertainty *set = problem->uncertainty;
    nadir_baseline_settings usual = *use;
    usual.method = NULL;
    NADIR_CHECK(nadir_search_method_check(context, method, problem));
    /* On the free domain this fails unless the radius is below breakdown. */
    if (set->idle || set->domain == NADIR_DOMAIN_FREE) {
        NADIR_CHECK(run_library_method(context, problem, &usual, trajectory, evaluation));
    }
    if (set->idle) {
        goto cleanup;
    }
    const nadir_budget budget = trajectory->budget;
    nadir_trajectory_clear(context, trajectory);
    nadir_evaluation_clear(context, evaluation);
    nadir_trajectory_start(NADIR_SEARCH_TASK, &budget, trajectory);
    NADIR_CHECK(method->search(context, problem, set->radius, trajectory, &evaluation->candidate));
    evaluation->candidate.method = method->method.name;
    evaluation->robust_time = nadir_trajectory_seconds(trajectory);
    NADIR_CHECK(nadir_trajectory_record(context, trajectory, trajectory->samples,
                                        problem->J - evaluation->candidate.J));
    NADIR_CHECK(nadir_trajectory_finish(context, trajectory));
cleanup:
    return status;
}

static void give_points(nadir_trajectory *trajectory, nadir_trajectory_point **points, int64_t *count)
{
    if (points != NULL && count != NULL) {
        *points = trajectory->points;
        *count = trajectory->count;
        trajectory->points = NULL;
    }
}

nadir_status nadir_solver_baseline(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                                   const nadir_baseline_settings *settings, nadir_baseline *result,
                                   nadir_trajectory_point **points, int64_t *count)
{
    nadir_status status = NADIR_OK;
    nadir_setup asked = {0};
    nadir_trajectory trajectory = {0};
    nadir_evaluation evaluation = {0};
    nadir_baseline_settings use;
    NADIR_CHECK(nadir_model_check_one_process(context, solver->model, "methods by name"));
    NADIR_CHECK(settle_settings(context, settings, &use));
    NADIR_CHECK(nadir_setup_make(context, solver, ball, use.optimistic, &asked));
    const nadir_problem *problem = &asked.problem;
    const nadir_budget budget = {use.seconds, use.samples, use.tolerance};
    nadir_trajectory_start(NADIR_SEARCH_TASK, &budget, &trajectory);
    NADIR_CHECK(nadir_method_find(use.method)->evaluate == NULL
                    ? run_library_method(context, problem, &use, &trajectory, &evaluation)
                    : run_search(context, problem, &use, &trajectory, &evaluation));
    const nadir_candidate *candidate = &evaluation.candidate;
    const nadir_baseline made = {
        .size = sizeof made,
        .nominal_return = problem->sign * problem->J,
        .robust_return = problem->sign * candidate->J,
        .penalty = problem->sign * (problem->J - candidate->J),
        .method = candidate->method,
        .stop_reason = nadir_stop_name(candidate->stop),
        .converged = candidate->converged,
        .samples = candidate->iterations,
        .seconds = evaluation.robust_time,
    };
    if (!nadir_result_copy(result, &made, sizeof made)) {
        status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the baseline result is not set");
        goto cleanup;
    }
    give_points(&trajectory, points, count);
cleanup:
    nadir_evaluation_clear(context, &evaluation);
    nadir_trajectory_clear(context, &trajectory);
    nadir_setup_clear(context, &asked);
    return status;
}
