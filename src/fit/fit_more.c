/*
 * fit_more.c: where more data help the guarantee of a policy; see docs/fit.md.
 *
 * The penalty is about z sqrt(f), f the sum of w^2 / (N + A + 1), w^2 = x^2 U (N + A + 1). B visits more are best where
 * N + A + 1 + m is proportional to w in all rows that get any.
 */
#include "fit/returns.h"
#include "model/policy.h"

#include <math.h>

/* Visits of each row at a level of (N + A + 1 + m) / w; the sum. more: [rows] */
static double fill_to(const nadir_return_problem *problem, const double *w, double level, double *more)
{
    double sum = 0;
    for (int64_t row = 0; row < problem->model->rows; row++) {
        more[row] = problem->shrink[row] > 0 ? fmax(level * w[row] - 1 / problem->shrink[row], 0) : 0;
        sum += more[row];
    }
    return sum;
}

/* f with so many more visits. */
static double variance_after(const nadir_return_problem *problem, const double *w, const double *more)
{
    double f = 0;
    for (int64_t row = 0; row < problem->model->rows; row++) {
        f += problem->shrink[row] > 0 ? w[row] * w[row] / (1 / problem->shrink[row] + more[row]) : 0;
    }
    return f;
}

/* Whether a level shares out `visits`, or, where that is NaN, lowers f to `wanted`. */
static bool is_enough(const nadir_return_problem *problem, const double *w, double level, double visits,
                      double wanted, double *more)
{
    const double sum = fill_to(problem, w, level, more);
    return isnan(visits) ? variance_after(problem, w, more) <= wanted : sum >= visits;
}

/* The visits of each row at the least level that is enough. */
static void share_out(const nadir_return_problem *problem, const double *w, double visits, double wanted,
                      double *more)
{
    double low = 0;
    double high = 1;
    while (high < 1e300 && !is_enough(problem, w, high, visits, wanted, more)) {
        low = high;
        high *= 4;
    }
    while (high > 1e-300 && is_enough(problem, w, high / 4, visits, wanted, more)) {
        high /= 4;
    }
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        const bool enough = is_enough(problem, w, middle, visits, wanted, more);
        high = enough ? middle : high;
        low = enough ? low : middle;
    }
    (void)fill_to(problem, w, high, more);
}

/* Predictions for as many visits of every row with data, and for more of the same. more: scratch. */
static void compare_sharing(const nadir_return_problem *problem, const double *w, double f, double *more,
                            nadir_fit_more_result *result)
{
    const double *visits = problem->fit->evidence.visits;
    double rows = 0;
    double total = 0;
    for (int64_t row = 0; row < problem->model->rows; row++) {
        rows += problem->shrink[row] > 0 ? 1 : 0;
        total += problem->shrink[row] > 0 ? visits[row] : 0;
    }
    for (int64_t row = 0; row < problem->model->rows; row++) {
        more[row] = result->visits / fmax(rows, 1);
    }
    result->penalty_even = result->penalty * sqrt(variance_after(problem, w, more) / f);
    for (int64_t row = 0; row < problem->model->rows; row++) {
        more[row] = result->visits * visits[row] / total;
    }
    result->penalty_as_before = result->penalty * sqrt(variance_after(problem, w, more) / f);
}

/* w of every row, and its share of f. */
static void weigh(const nadir_return_problem *problem, const nadir_return_measure *measure,
                  const nadir_policy *policy, double *w, double *share)
{
    const nadir_model *model = problem->model;
    for (int64_t state = 0; state < model->states; state++) {
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            const double x = measure->d[state] * policy->probabilities[row];
            const double shrink = problem->shrink[row];
            w[row] = shrink > 0 ? x * sqrt(measure->U[row] / shrink) : 0;
            share[row] = x * x * measure->U[row] / measure->f;
        }
    }
}

nadir_status nadir_fit_more(nadir_context *context, nadir_fit *fit, const nadir_policy *policy,
                            const nadir_fit_return_result *found, double visits, double penalty,
                            nadir_fit_more_result *result, double *more, double *share)
{
    nadir_status status = NADIR_OK;
    nadir_return_problem problem = {0};
    nadir_return_measure measure = {0};
    nadir_fit_more_result made = {.size = sizeof made, .penalty = found->nominal_return - found->guaranteed};
    double *w = NULL;
    double *scratch = NULL;
    if (!(isnan(visits) ? penalty > 0 && isfinite(penalty) : visits >= 0 && isfinite(visits))) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "more data: expected a number of visits, 0 or more, or a penalty above 0");
    }
    NADIR_TRY(nadir_return_check(context, fit, policy));
    NADIR_CHECK(nadir_return_problem_make(context, fit, &problem));
    NADIR_CHECK(nadir_return_measure_make(context, &problem, &measure));
    NADIR_CHECK(nadir_return_measure_take(context, &problem, policy, &measure));
    NADIR_NEW(context, w, problem.model->rows);
    NADIR_NEW(context, scratch, problem.model->rows);
    if (!(measure.f > 0)) {
        NADIR_CHECK(
            nadir_fail(context, NADIR_ERROR_ILL_POSED, "the return is known: no data make it better known"));
    }
    weigh(&problem, &measure, policy, w, share);
    const double ratio = penalty / made.penalty;
    share_out(&problem, w, visits, measure.f * ratio * ratio, more);
    for (int64_t row = 0; row < problem.model->rows; row++) {
        made.visits += more[row];
    }
    made.penalty_told = made.penalty * sqrt(variance_after(&problem, w, more) / measure.f);
    compare_sharing(&problem, w, measure.f, scratch, &made);
    if (!nadir_result_copy(result, &made, sizeof made)) {
        status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the result is not set");
    }
cleanup:
    NADIR_RELEASE(context, w, scratch);
    nadir_return_measure_clear(context, &measure);
    nadir_return_problem_clear(context, &problem);
    return status;
}
