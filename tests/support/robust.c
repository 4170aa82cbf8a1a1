/* robust.c: robust evaluation with what every result must satisfy; see robust.h. */
#include "support/support.h"

#include "support/robust.h"

#include "solve/solver.h"
#include "support/generated.h"
#include "support/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *test_ball_name(const nadir_ball *ball)
{
    static char name[96];
    snprintf(name, sizeof name, "%s, %s, norm %.10g, %s %.10g", nadir_set_name(ball->set),
             nadir_domain_name(ball->domain), ball->norm, ball->radius_count > 1 ? "radii" : "radius",
             ball->radius[0]);
    return name;
}

nadir_solver *test_solver(nadir_context *context, nadir_model *model, const nadir_policy *policy)
{
    nadir_solver *solver = NULL;
    assert_ok(context, nadir_solver_create(context, model, policy, NULL, &solver));
    return solver;
}

/* What holds of every result, for an adversary that makes the return small. */
static void check_result(const nadir_solver *solver, const nadir_robust *result, double width,
                         bool optimistic)
{
    /* returns of shaped rewards may be far larger */
    const double slack = 1e-9 * (fabs(result->robust_return) + fabs(result->nominal_return)) +
                         1e3 * solver->model->landing.slack;
    assert_that(isfinite(result->robust_return), "the return is %g", result->robust_return);
    assert_that(!isnan(result->lower_bound) && !isnan(result->upper_bound), "the bounds are %g and %g",
                result->lower_bound, result->upper_bound);
    assert_that(result->lower_bound <= result->upper_bound, "the lower bound %.17g is above the upper, %.17g",
                result->lower_bound, result->upper_bound);
    assert_that(result->lower_bound <= result->robust_return + slack &&
                    result->robust_return <= result->upper_bound + slack,
                "%.17g is not between its bounds %.17g and %.17g", result->robust_return, result->lower_bound,
                result->upper_bound);
    assert_that(fabs(result->nominal_return - result->robust_return - result->penalty) <= 1e-3 * slack,
                "the penalty %.17g is not the difference of %.17g and %.17g", result->penalty,
                result->nominal_return, result->robust_return);
    assert_that((optimistic ? -result->penalty : result->penalty) >= -slack, "the penalty is %g",
                result->penalty);
    assert_non_null(result->stop_reason);
    assert_non_null(result->method);
    assert_non_null(result->certificate);
    if (result->certified) {
        const double wide = result->upper_bound - result->lower_bound;
        /* in rounding, of the return or of larger values that it is made of: then nothing can be narrower */
        const bool lost =
            fabs(result->penalty) <= fmax(1e-3 * slack, 8 * solver->value.J_error + 1e-4 * slack);
        assert_that(lost || wide <= width * fabs(result->penalty) * (1 + 1e-9),
                    "certified with a width of %g; the penalty is %g", wide, result->penalty);
        assert_string_not_equal(result->certificate, "none");
    }
}

nadir_status test_generate_and_ask(nadir_context *context, const char *kind,
                                   const nadir_generate_settings *shape, test_ask ask, const void *of)
{
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    nadir_status status = nadir_model_generate(context, kind, shape, &model);
    if (status == NADIR_OK) {
        status = nadir_policy_create_uniform(context, model, &policy);
    }
    if (status == NADIR_OK) {
        status = nadir_solver_create(context, model, policy, NULL, &solver);
    }
    if (status == NADIR_OK) {
        status = ask(context, solver, of);
    }
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    return status;
}

nadir_robust test_robust_limited(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                                 const nadir_robust_settings *settings, nadir_worst **worst, bool *stopped)
{
    nadir_robust_settings use = test_robust_settings();
    use = settings != NULL ? *settings : use;
    nadir_robust result = {.size = sizeof result};
    const nadir_status status = nadir_solver_robust(context, solver, ball, settings, &result, worst);
    *stopped = status == NADIR_ERROR_NOT_CONVERGED;
    if (!*stopped) {
        assert_ok(context, status);
    }
    check_result(solver, &result, use.width, use.optimistic);
    return result;
}

nadir_robust test_robust(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                         const nadir_robust_settings *settings, nadir_worst **worst)
{
    bool stopped;
    const nadir_robust result = test_robust_limited(context, solver, ball, settings, worst, &stopped);
    if (stopped) {
        assert_ok(context, NADIR_ERROR_NOT_CONVERGED);
    }
    return result;
}

double test_robust_return(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                          const nadir_ball *ball)
{
    nadir_solver *solver = test_solver(context, model, policy);
    const nadir_robust result = test_robust(context, solver, ball, NULL, NULL);
    nadir_solver_free(solver);
    return result.robust_return;
}

double *test_worst_kernel(nadir_context *context, const nadir_model *model, const nadir_worst *worst)
{
    const nadir_model_data view = test_view(model);
    double *kernel = test_new(view.rows * view.states, sizeof *kernel);
    double *unit = test_new(view.states, sizeof *unit);
    double *column = test_new(view.rows, sizeof *column);
    for (int64_t t = 0; t < view.states; t++) {
        unit[t] = 1;
        nadir_worst_multiply(context, worst, unit, column);
        unit[t] = 0;
        for (int64_t row = 0; row < view.rows; row++) {
            kernel[row * view.states + t] = column[row];
        }
    }
    free(unit);
    free(column);
    return kernel;
}

double test_robust_scale(const nadir_model *model, const nadir_robust *result)
{
    const nadir_model_data view = test_view(model);
    double largest = 0;
    for (int64_t row = 0; row < view.rows; row++) {
        largest = fmax(largest, fabs(view.rewards[row]));
    }
    const int64_t paid = view.transition_rewards == NULL ? 0
                         : view.dense != NULL            ? view.rows * view.states
                                                         : view.row_starts[view.rows];
    for (int64_t i = 0; i < paid; i++) {
        largest = fmax(largest, fabs(view.transition_rewards[i])); /* fmax passes over NaN */
    }
    return fmax(largest / (1 - view.discount), fabs(result->robust_return));
}
