/*
 * fit_return.c: what the data promise of the return of one policy, the ball that explains it, and where more data help;
 * see returns.h and docs/fit.md.
 */
#include "fit/radii.h"
#include "fit/returns.h"
#include "model/policy.h"

#include <math.h>
#include <string.h>

/* Weights of the deviation that are tried, relative to the normal quantile of the confidence. */
static const double weights[] = {0, 0.5, 1, 1.5};
enum { WEIGHTS = 4, SELECTION_DRAWS = 2000 };
/* That a bound is above the quantile which the draws estimate. */
static const double draws_risk = 0.01;
/* Of returns, relative to the deviation. */
static const double draws_tolerance = 1e-4;
/* Draws that a quantile shall have below it. */
static const double tail_draws = 20;

typedef struct statement {
    nadir_fit *fit;
    nadir_return_problem problem;
    nadir_return_measure measure;
    nadir_policy *policy; /* owned */
    bool chosen;          /* on the data, not given */
    double level;
    double *returns; /* [draws] */
    nadir_fit_return_result result;
} statement;

static void clear(nadir_context *context, statement *self)
{
    nadir_return_measure_clear(context, &self->measure);
    nadir_return_problem_clear(context, &self->problem);
    nadir_policy_free(self->policy);
    nadir_release(context, self->returns);
}

static nadir_status check(nadir_context *context, const nadir_fit *fit)
{
    if (fit->data.counts == NULL || fit->options.method == NADIR_FIT_FREE) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "a guarantee of the return needs counted transitions and their posterior; take guarantee "
            "kernel");
    }
    if (fit->nominal->rewards == NULL || isnan(fit->nominal->discount)) {
        return nadir_fail(context, NADIR_ERROR_MODEL, "a guarantee of the return needs %s",
                          isnan(fit->nominal->discount) ? "a discount" : "data with rewards");
    }
    if (fit->options.unvisited == NADIR_UNVISITED_UNIFORM && fit->data.counts->visited < fit->evidence.rows) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "rows without data have no posterior to draw from: unvisited is absorb or pin, or guarantee "
            "is kernel");
    }
    return NADIR_OK;
}

/* Draws of the return; the measure is that of the policy. */
static nadir_status draw(nadir_context *context, const statement *self, const nadir_policy *policy,
                         int64_t count, uint64_t seed, bool cautious, double *returns)
{
    const nadir_return_draws draws = {
        .count = count, .seed = seed, .cautious = cautious, .tolerance = draws_tolerance};
    return nadir_return_draw(context, &self->problem, policy, &self->measure, &draws, returns);
}

/* ---- The policy -------------------------------------------------------------------------------------- */

static bool same_policy(const nadir_policy *a, const nadir_policy *b)
{
    return a != NULL &&
           memcmp(a->probabilities, b->probabilities, (size_t)a->rows * sizeof *a->probabilities) == 0;
}

/* The policy among those of all weights whose quantile is best on draws of their own. */
static nadir_status choose_policy(nadir_context *context, statement *self, uint64_t seed)
{
    nadir_status status = NADIR_OK;
    const double z = nadir_normal_quantile(self->level);
    const int64_t rank = (int64_t)fmax(floor(self->level * SELECTION_DRAWS), 1);
    nadir_policy *start = NULL;
    nadir_policy *tried = NULL;
    double best = -INFINITY;
    double *returns = NULL;
    NADIR_NEW(context, returns, SELECTION_DRAWS);
    NADIR_CHECK(nadir_return_nominal(context, &self->problem, &start));
    for (int i = 0; i < WEIGHTS; i++) {
        NADIR_CHECK(nadir_policy_create_blank(context, self->problem.model, &tried));
        memcpy(tried->probabilities, start->probabilities, (size_t)start->rows * sizeof(double));
        if (weights[i] > 0) {
            NADIR_CHECK(nadir_return_ascend(context, &self->problem, weights[i] * z, tried));
        }
        if (!same_policy(self->policy, tried)) {
            NADIR_CHECK(nadir_return_measure_take(context, &self->problem, tried, &self->measure));
            NADIR_CHECK(draw(context, self, tried, SELECTION_DRAWS, seed, false, returns));
            const double quantile = nadir_order_statistic(SELECTION_DRAWS, returns, rank);
            if (quantile > best) {
                best = quantile;
                self->result.weight = weights[i] * z;
                nadir_policy_free(self->policy);
                self->policy = tried;
                tried = NULL;
            }
        }
        nadir_policy_free(tried);
        tried = NULL;
    }
cleanup:
    nadir_policy_free(start);
    nadir_policy_free(tried);
    nadir_release(context, returns);
    return status;
}

/* ---- The promise ------------------------------------------------------------------------------------- */

/* The lower quantile of `level` of the draws, but for draws_risk. Beyond them it goes on with a normal tail, whose
 * deviation is the largest that the lower half of the draws shows. Sorts part of returns. */
static double find_quantile(statement *self, double level)
{
    const int64_t count = self->result.draws;
    const double least = fmin(tail_draws / (double)count, self->level);
    const double use = fmax(level, least);
    const int64_t rank = nadir_return_rank(count, use, draws_risk);
    const double quantile = nadir_order_statistic(count, self->returns, rank > 0 ? rank : 1);
    if (level >= least && rank > 0) {
        return quantile;
    }
    const double median = nadir_order_statistic(count, self->returns, count / 2 + 1);
    const double z = nadir_normal_quantile(use);
    const double deviation = fmax((median - quantile) / z, sqrt(self->measure.f));
    self->result.extrapolated = true;
    return quantile - (nadir_normal_quantile(level) - z) * deviation;
}

/* Bounds are lowered by what each return may be off. */
static nadir_status promise(nadir_context *context, statement *self, const uint64_t seeds[3])
{
    nadir_status status = NADIR_OK;
    nadir_fit_return_result *result = &self->result;
    const double error = draws_tolerance * sqrt(self->measure.f);
    double z_used;
    NADIR_NEW(context, self->returns, result->draws);
    NADIR_CHECK(draw(context, self, self->policy, result->draws, seeds[0], false, self->returns));
    result->posterior_bound = find_quantile(self, self->level) - error;
    result->guaranteed = result->posterior_bound;
    result->level_used = self->level;
    if (self->chosen && self->fit->options.guarantee != NADIR_PROMISE_POSTERIOR) {
        NADIR_CHECK(nadir_return_price(context, &self->problem, self->policy, &self->measure, result->weight,
                                       self->level, seeds[1], &result->level_used, &z_used, &result->ties));
        NADIR_CHECK(draw(context, self, self->policy, result->draws, seeds[2], true, self->returns));
        result->guaranteed = fmin(result->guaranteed, find_quantile(self, result->level_used) - error);
    }
cleanup:
    return status;
}

static nadir_status describe(nadir_context *context, statement *self)
{
    nadir_status status = NADIR_OK;
    nadir_fit_return_result *result = &self->result;
    nadir_policy *behaviour = NULL;
    NADIR_CHECK(nadir_return_behaviour(context, &self->problem, &behaviour));
    NADIR_CHECK(nadir_return_measure_take(context, &self->problem, behaviour, &self->measure));
    result->behaviour_return = self->measure.J;
    result->reward_deviation = self->problem.reward_deviation;
    result->rows_barred = self->problem.barred;
    result->confidence = self->fit->options.confidence;
    result->guarantee = self->fit->options.guarantee == NADIR_PROMISE_POSTERIOR ? "posterior" : "return";
    result->monte_carlo_confidence = 1 - draws_risk;
cleanup:
    nadir_policy_free(behaviour);
    return status;
}

/* ---- The ball that explains it ------------------------------------------------------------------------- */

/* The ball, with scales made for the policy, whose worst return is the guarantee. */
static nadir_status find_ball(nadir_context *context, statement *self, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    const nadir_evidence *evidence = &self->fit->evidence;
    nadir_solver *solver = NULL;
    nadir_radius found = {.size = sizeof found};
    nadir_robust robust = {.size = sizeof robust};
    nadir_ball ball;
    nadir_model_data data;
    double *deviation = NULL;
    double *x = NULL;
    double *alpha = NULL;
    const double norm = self->fit->options.norm;
    NADIR_NEW(context, deviation, evidence->rows);
    NADIR_NEW(context, x, evidence->rows);
    NADIR_NEW(context, alpha, evidence->rows);
    NADIR_CHECK(nadir_solver_create(context, self->fit->nominal, self->policy, NULL, &solver));
    nadir_scales_deviation(evidence, norm, deviation);
    NADIR_CHECK(nadir_scales_exposure(context, evidence, solver, self->policy, norm, true, x));
    nadir_scales_make(evidence, norm, deviation, x, alpha);
    nadir_ball_default(&ball);
    ball.set = NADIR_SET_NONRECT;
    ball.domain = self->fit->options.domain;
    ball.norm = norm;
    ball.scales = alpha;
    status = nadir_solver_radius(context, solver, &ball, NULL, self->result.guaranteed, &found);
    if (status != NADIR_OK && status != NADIR_ERROR_NOT_CONVERGED) {
        goto cleanup;
    }
    status = NADIR_OK;
    const double radius = found.radius_lower > 0 ? found.radius_lower : found.radius;
    nadir_model_data_default(&data);
    nadir_model_view(self->fit->nominal, &data);
    data.domain = ball.domain;
    data.norm = norm;
    data.set = ball.set;
    data.scales = alpha;
    if (isfinite(radius) && radius > 0) {
        data.radius = ball.radius = &radius;
        data.radius_count = ball.radius_count = 1;
        NADIR_CHECK(nadir_solver_robust(context, solver, &ball, NULL, &robust, NULL));
        self->result.radius = radius;
        self->result.radius_lower_bound = robust.lower_bound;
        self->result.radius_certified = robust.certified;
    }
    NADIR_CHECK(nadir_model_create(context, &data, model));
cleanup:
    nadir_solver_free(solver);
    NADIR_RELEASE(context, deviation, x, alpha);
    return status;
}

static nadir_status give_policy(nadir_context *context, statement *self, const nadir_policy *policy)
{
    if (policy->rows != self->problem.model->rows || policy->states != self->problem.model->states) {
        return nadir_fail(context, NADIR_ERROR_POLICY, "the policy is for %lld rows; the data have %lld",
                          (long long)policy->rows, (long long)self->problem.model->rows);
    }
    NADIR_TRY(nadir_policy_create_blank(context, self->problem.model, &self->policy));
    memcpy(self->policy->probabilities, policy->probabilities, (size_t)policy->rows * sizeof(double));
    return NADIR_OK;
}

static nadir_status prepare(nadir_context *context, const nadir_policy *policy, uint64_t seed,
                            statement *self)
{
    NADIR_TRY(check(context, self->fit));
    NADIR_TRY(nadir_return_problem_make(context, self->fit, &self->problem));
    NADIR_TRY(nadir_return_measure_make(context, &self->problem, &self->measure));
    NADIR_TRY(policy != NULL ? give_policy(context, self, policy) : choose_policy(context, self, seed));
    return nadir_return_measure_take(context, &self->problem, self->policy, &self->measure);
}

nadir_status nadir_fit_return(nadir_context *context, nadir_fit *fit, const nadir_policy *policy,
                              nadir_fit_return_result *result, nadir_policy **chosen, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    statement run = {
        .fit = fit,
        .chosen = policy == NULL,
        .level = 1 - fit->options.confidence,
        .result = {.size = sizeof run.result, .weight = NAN, .radius = NAN, .radius_lower_bound = NAN}};
    uint64_t seeds[4];
    nadir_model *made = NULL;
    const double begun = nadir_clock_seconds();
    for (int i = 0; i < 4; i++) {
        seeds[i] = nadir_random_next(&context->random);
    }
    const double enough = fmin(fmax(10000, 5 * tail_draws / run.level), 1e7);
    run.result.draws = fit->options.samples > 0 ? fit->options.samples : (int64_t)enough;
    if (nadir_return_rank(run.result.draws, run.level, draws_risk) < 1) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "%lld draws are too few for a confidence of %g: at least %.0f are needed",
                          (long long)run.result.draws, fit->options.confidence,
                          ceil(log(draws_risk) / log1p(-run.level)));
    }
    NADIR_CHECK(prepare(context, policy, seeds[3], &run));
    run.result.nominal_return = run.measure.J;
    run.result.deviation = sqrt(run.measure.f);
    run.result.seconds_policy = nadir_clock_seconds() - begun;
    NADIR_CHECK(promise(context, &run, seeds));
    run.result.seconds_draws = nadir_clock_seconds() - begun - run.result.seconds_policy;
    NADIR_CHECK(describe(context, &run));
    if (model != NULL) {
        const double before = nadir_clock_seconds();
        NADIR_CHECK(find_ball(context, &run, &made));
        run.result.seconds_radius = nadir_clock_seconds() - before;
    }
    if (!nadir_result_copy(result, &run.result, sizeof run.result)) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the result is not set"));
    }
    if (model != NULL) {
        *model = made;
        made = NULL;
    }
    if (chosen != NULL) {
        *chosen = run.policy;
        run.policy = NULL;
    }
cleanup:
    nadir_model_free(made);
    clear(context, &run);
    return status;
}

/* ---- More data ----------------------------------------------------------------------------------------- */

/*
 * The penalty is about z sqrt(f), f the sum of w^2 / (N + A + 1), w^2 = x^2 U (N + A + 1). B visits more are best where
 * N + A + 1 + m is proportional to w in all rows that get any.
 */

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
static void weigh(const statement *self, double *w, double *share)
{
    const nadir_model *model = self->problem.model;
    for (int64_t state = 0; state < model->states; state++) {
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            const double x = self->measure.d[state] * self->policy->probabilities[row];
            const double shrink = self->problem.shrink[row];
            w[row] = shrink > 0 ? x * sqrt(self->measure.U[row] / shrink) : 0;
            share[row] = x * x * self->measure.U[row] / self->measure.f;
        }
    }
}

nadir_status nadir_fit_more(nadir_context *context, nadir_fit *fit, const nadir_policy *policy,
                            const nadir_fit_return_result *found, double visits, double penalty,
                            nadir_fit_more_result *result, double *more, double *share)
{
    nadir_status status = NADIR_OK;
    statement run = {.fit = fit};
    nadir_fit_more_result made = {.size = sizeof made, .penalty = found->nominal_return - found->guaranteed};
    double *w = NULL;
    double *scratch = NULL;
    if (!(isnan(visits) ? penalty > 0 && isfinite(penalty) : visits >= 0 && isfinite(visits))) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "more data: expected a number of visits, 0 or more, or a penalty above 0");
    }
    NADIR_CHECK(prepare(context, policy, 0, &run));
    NADIR_NEW(context, w, run.problem.model->rows);
    NADIR_NEW(context, scratch, run.problem.model->rows);
    if (!(run.measure.f > 0)) {
        NADIR_CHECK(
            nadir_fail(context, NADIR_ERROR_ILL_POSED, "the return is known: no data make it better known"));
    }
    weigh(&run, w, share);
    const double ratio = penalty / made.penalty;
    share_out(&run.problem, w, visits, run.measure.f * ratio * ratio, more);
    for (int64_t row = 0; row < run.problem.model->rows; row++) {
        made.visits += more[row];
    }
    made.penalty_told = made.penalty * sqrt(variance_after(&run.problem, w, more) / run.measure.f);
    compare_sharing(&run.problem, w, run.measure.f, scratch, &made);
    if (!nadir_result_copy(result, &made, sizeof made)) {
        status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the result is not set");
    }
cleanup:
    NADIR_RELEASE(context, w, scratch);
    clear(context, &run);
    return status;
}
