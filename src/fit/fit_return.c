/*
 * fit_return.c: what the data promise of the return of one policy, and the ball that explains it; see returns.h and
 * docs/fit.md.
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
static const double draws_tolerance = 1e-3;
/* Draws that the quantile shall have below it. */
static const double tail_draws = 100;

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

nadir_status nadir_return_check(nadir_context *context, const nadir_fit *fit, const nadir_policy *policy)
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
            "rows without data have no posterior to draw from: unvisited uniform goes with guarantee kernel; "
            "absorb, the default, and pin go with all");
    }
    if (policy != NULL && (policy->rows != fit->nominal->rows || policy->states != fit->nominal->states)) {
        return nadir_fail(context, NADIR_ERROR_POLICY, "the policy is for %lld rows; the data have %lld",
                          (long long)policy->rows, (long long)fit->nominal->rows);
    }
    return NADIR_OK;
}

/* Draws of the return; the measure is that of the policy. */
static nadir_status draw(nadir_context *context, const statement *self, const nadir_policy *policy,
                         int64_t count, uint64_t seed, const int32_t *worst_of, const bool *tied,
                         double *returns)
{
    const nadir_return_draws draws = {
        .count = count, .seed = seed, .worst_of = worst_of, .tied = tied, .tolerance = draws_tolerance};
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
            NADIR_CHECK(draw(context, self, tried, SELECTION_DRAWS, seed, NULL, NULL, returns));
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

/* The lower quantile of the level of the draws, but for draws_risk. Puts returns in another order. */
static double find_quantile(const statement *self, double *returns)
{
    return nadir_order_statistic(self->result.draws, returns,
                                 nadir_return_rank(self->result.draws, self->level, draws_risk));
}

/* The guarantee of a policy that was chosen on the data, from cautious draws, and its level in the posterior. */
static nadir_status charge_choice(nadir_context *context, statement *self, uint64_t seed, double error)
{
    nadir_status status = NADIR_OK;
    nadir_fit_return_result *result = &self->result;
    int32_t *tied = NULL;
    bool *rivals = NULL;
    double *returns = NULL;
    int64_t below = 0;
    NADIR_NEW(context, tied, self->problem.model->states);
    NADIR_NEW(context, rivals, self->problem.model->rows);
    NADIR_NEW(context, returns, result->draws);
    result->ties =
        nadir_return_ties(&self->problem, self->policy, &self->measure, result->weight, tied, rivals);
    NADIR_CHECK(draw(context, self, self->policy, result->draws, seed, tied, rivals, returns));
    const double bound = find_quantile(self, returns) - error;
    if (bound < result->guaranteed) {
        result->guaranteed = bound;
        for (int64_t k = 0; k < result->draws; k++) {
            below += self->returns[k] < bound ? 1 : 0;
        }
        result->level_used = fmin((double)below / (double)result->draws, self->level);
    }
cleanup:
    NADIR_RELEASE(context, tied, rivals, returns);
    return status;
}

/* Bounds are lowered by what each return may be off. */
static nadir_status promise(nadir_context *context, statement *self, const uint64_t seeds[2])
{
    nadir_status status = NADIR_OK;
    nadir_fit_return_result *result = &self->result;
    const double error = draws_tolerance * sqrt(self->measure.f);
    NADIR_NEW(context, self->returns, result->draws);
    NADIR_CHECK(draw(context, self, self->policy, result->draws, seeds[0], NULL, NULL, self->returns));
    result->posterior_bound = find_quantile(self, self->returns) - error;
    result->guaranteed = result->posterior_bound;
    result->level_used = self->level;
    if (self->chosen && self->fit->options.guarantee != NADIR_PROMISE_POSTERIOR) {
        NADIR_CHECK(charge_choice(context, self, seeds[1], error));
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
        data.promise = NADIR_BALL_OF_RETURN;
        data.confidence = self->fit->options.confidence;
        NADIR_CHECK(nadir_solver_robust(context, solver, &ball, NULL, &robust, NULL));
        self->result.radius = radius;
        self->result.radius_lower_bound = robust.lower_bound;
        self->result.radius_certified = robust.certified;
    }
    NADIR_CHECK(nadir_fit_named_model(context, self->fit, &data, model));
cleanup:
    nadir_solver_free(solver);
    NADIR_RELEASE(context, deviation, x, alpha);
    return status;
}

static nadir_status give_policy(nadir_context *context, statement *self, const nadir_policy *policy)
{
    NADIR_TRY(nadir_policy_create_blank(context, self->problem.model, &self->policy));
    memcpy(self->policy->probabilities, policy->probabilities, (size_t)policy->rows * sizeof(double));
    return NADIR_OK;
}

static nadir_status prepare(nadir_context *context, const nadir_policy *policy, uint64_t seed,
                            statement *self)
{
    NADIR_TRY(nadir_return_check(context, self->fit, policy));
    NADIR_TRY(nadir_return_problem_make(context, self->fit, &self->problem));
    NADIR_TRY(nadir_return_measure_make(context, &self->problem, &self->measure));
    NADIR_TRY(policy != NULL ? give_policy(context, self, policy) : choose_policy(context, self, seed));
    return nadir_return_measure_take(context, &self->problem, self->policy, &self->measure);
}

int64_t nadir_fit_draws(const nadir_fit *fit, int64_t policies)
{
    const double level = (1 - fit->options.confidence) / (double)policies;
    return fit->options.samples > 0 ? fit->options.samples
                                    : (int64_t)fmin(fmax(10000, tail_draws / level), 1e7);
}

/* Whether the draws are enough for so many statements to hold together. seeds: three of the context's, whatever is needed. */
static nadir_status start(nadir_context *context, const nadir_fit *fit, int64_t statements, uint64_t seeds[3])
{
    const double level = (1 - fit->options.confidence) / (double)statements;
    const double risk = draws_risk / (double)statements;
    const int64_t draws = nadir_fit_draws(fit, statements);
    for (int i = 0; i < 3; i++) {
        seeds[i] = nadir_random_next(&context->random);
    }
    if (nadir_return_rank(draws, level, risk) < 1) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "%lld draws are too few for a confidence of %g: at least %.0f are needed",
                          (long long)draws, 1 - level, ceil(log(risk) / log1p(-level)));
    }
    return NADIR_OK;
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
    uint64_t seeds[3];
    nadir_model *made = NULL;
    const double begun = nadir_clock_seconds();
    NADIR_TRY(start(context, fit, 1, seeds));
    run.result.draws = nadir_fit_draws(fit, 1);
    NADIR_CHECK(prepare(context, policy, seeds[2], &run));
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

nadir_status nadir_fit_ties(nadir_context *context, nadir_fit *fit, const nadir_policy *policy, double weight,
                            unsigned char *tied)
{
    nadir_status status = NADIR_OK;
    statement run = {.fit = fit};
    const nadir_model *model = fit->nominal;
    int32_t *of_states = NULL;
    bool *rivals = NULL;
    NADIR_TRY(nadir_return_check(context, fit, policy));
    NADIR_CHECK(nadir_return_problem_make(context, fit, &run.problem));
    NADIR_CHECK(nadir_return_measure_make(context, &run.problem, &run.measure));
    NADIR_CHECK(nadir_return_measure_take(context, &run.problem, policy, &run.measure));
    NADIR_NEW(context, of_states, model->states);
    NADIR_NEW(context, rivals, model->rows);
    (void)nadir_return_ties(&run.problem, policy, &run.measure, weight, of_states, rivals);
    for (int64_t state = 0; state < model->states; state++) {
        int64_t most = model->state_rows[state];
        for (int64_t row = most; row < model->state_rows[state + 1]; row++) {
            most = policy->probabilities[row] > policy->probabilities[most] ? row : most;
            tied[row] = rivals[row];
        }
        tied[most] = 0;
    }
cleanup:
    NADIR_RELEASE(context, of_states, rivals);
    clear(context, &run);
    return status;
}

/* ---- Several policies -------------------------------------------------------------------------------- */

typedef struct comparison {
    statement run; /* of one policy after the other */
    int64_t count;
    const nadir_policy *const *policies;
    double *returns; /* [count * draws] */
    double *error;   /* [count] of each return */
    double *scratch; /* [draws] */
} comparison;

/* A lower bound on the return of policy i, less that of j unless j < 0, that holds together with `statements` - 1
 * others: the quantile of its draws, less what these may be off. */
static double bound(const comparison *self, int64_t i, int64_t j, int64_t statements)
{
    const int64_t draws = self->run.result.draws;
    const double level = self->run.level / (double)statements;
    const double risk = draws_risk / (double)statements;
    if (j >= 0 && same_policy(self->policies[i], self->policies[j])) {
        return 0;
    }
    for (int64_t k = 0; k < draws; k++) {
        self->scratch[k] = self->returns[i * draws + k] - (j < 0 ? 0 : self->returns[j * draws + k]);
    }
    return nadir_order_statistic(draws, self->scratch, nadir_return_rank(draws, level, risk)) -
           self->error[i] - (j < 0 ? 0 : self->error[j]);
}

static nadir_status draw_each(nadir_context *context, comparison *self, uint64_t seed, double *nominal)
{
    statement *run = &self->run;
    for (int64_t i = 0; i < self->count; i++) {
        NADIR_TRY(nadir_return_check(context, run->fit, self->policies[i]));
        NADIR_TRY(nadir_return_measure_take(context, &run->problem, self->policies[i], &run->measure));
        nominal[i] = run->measure.J;
        self->error[i] = draws_tolerance * sqrt(run->measure.f);
        NADIR_TRY(draw(context, run, self->policies[i], run->result.draws, seed, NULL, NULL,
                       self->returns + i * run->result.draws));
    }
    return NADIR_OK;
}

/*
 * P(another than the best is called the best) <= the level: that needs one of count - 1 policies to be shown better than
 * the best, each with a probability of at most level / (count - 1).
 */
static void compare(const comparison *self, const double *nominal, nadir_fit_comparison *made,
                    double *guaranteed, double *together, double *lead, double *lower)
{
    const int64_t count = self->count;
    const int64_t others = count > 1 ? count - 1 : 1;
    for (int64_t i = 1; i < count; i++) {
        made->best = nominal[i] > nominal[made->best] ? i : made->best;
    }
    made->decided = count > 1;
    for (int64_t i = 0; i < count; i++) {
        const double ahead = bound(self, made->best, i, others);
        made->decided = made->decided && (i == made->best || ahead > 0);
        if (lead != NULL) {
            lead[i] = ahead;
        }
        if (guaranteed != NULL) {
            guaranteed[i] = bound(self, i, -1, 1);
        }
        if (together != NULL) {
            together[i] = bound(self, i, -1, count);
        }
        for (int64_t j = 0; lower != NULL && j < count; j++) {
            lower[i * count + j] = bound(self, i, j, 1);
        }
    }
}

nadir_status nadir_fit_compare(nadir_context *context, nadir_fit *fit, int64_t count,
                               const nadir_policy *const *policies, nadir_fit_comparison *result,
                               double *nominal, double *guaranteed, double *together, double *lead,
                               double *lower, double *returns)
{
    nadir_status status = NADIR_OK;
    comparison self = {.run = {.fit = fit, .level = 1 - fit->options.confidence},
                       .count = count,
                       .policies = policies,
                       .returns = returns};
    statement *run = &self.run;
    nadir_fit_comparison made = {.size = sizeof made};
    double *means = NULL;
    uint64_t seeds[3];
    if (count < 1 || policies == NULL) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "no policy is given to compare");
    }
    NADIR_TRY(nadir_return_check(context, fit, policies[0]));
    NADIR_TRY(start(context, fit, count, seeds));
    made.draws = run->result.draws = nadir_fit_draws(fit, count);
    NADIR_CHECK(nadir_return_problem_make(context, fit, &run->problem));
    NADIR_CHECK(nadir_return_measure_make(context, &run->problem, &run->measure));
    NADIR_NEW(context, means, count);
    NADIR_NEW(context, self.error, count);
    NADIR_NEW(context, self.scratch, made.draws);
    if (returns == NULL) {
        NADIR_NEW(context, run->returns, count * made.draws);
        self.returns = run->returns;
    }
    const double begun = nadir_clock_seconds();
    NADIR_CHECK(draw_each(context, &self, seeds[0], means));
    made.seconds_draws = nadir_clock_seconds() - begun;
    compare(&self, means, &made, guaranteed, together, lead, lower);
    if (nominal != NULL) {
        memcpy(nominal, means, (size_t)count * sizeof *means);
    }
    NADIR_CHECK(describe(context, run));
    made.confidence = run->result.confidence;
    made.monte_carlo_confidence = run->result.monte_carlo_confidence;
    made.behaviour_return = run->result.behaviour_return;
    made.reward_deviation = run->result.reward_deviation;
    if (!nadir_result_copy(result, &made, sizeof made)) {
        status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the result is not set");
    }
cleanup:
    NADIR_RELEASE(context, means, self.error, self.scratch);
    clear(context, run);
    return status;
}
