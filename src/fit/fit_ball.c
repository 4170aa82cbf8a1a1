/*
 * fit_ball.c: the ball of a fit: radii of the asked confidence, and the scales whose guarantee is best.
 *
 * Posterior and bootstrap: for every choice of scales the ball is a set B_i that the data determine and that
 * holds the asked share of the posterior given the data. So does the one chosen, whichever way the choice
 * depends on the data: P(P in B_chosen | data) >= confidence, and on average over the data too.
 * Distribution-free: a radius of scales that depend on the data must come from radii of rows that hold all at
 * once; those of `ones` and `deviation`, which depend on the numbers of visits alone, may be joint bounds. To
 * choose among them the risk is shared by these three statements.
 */
#include "core/context.h"
#include "fit/fit.h"
#include "fit/radii.h"
#include "linalg/vector.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* The state of a computation. */
typedef struct search {
    nadir_fit *fit;
    nadir_policy *own_policy;   /* the nominal optimum, where none was given */
    const nadir_policy *policy; /* NULL: without rewards or discount there are no guarantees */
    nadir_solver *solver;
    double *deviation;  /* [rows] */
    double *x;          /* [rows] */
    double *row_scales; /* [rows] of the sa-rectangular set: 1, or 0 for known rows */
    nadir_scales_choice choices[NADIR_FIT_SCALES];
    nadir_draw_radii ball; /* scales and radii, owned */
    nadir_fit_result result;
} search;

static void clear(nadir_context *context, search *self)
{
    nadir_solver_free(self->solver);
    nadir_policy_free(self->own_policy);
    for (int i = 0; i < NADIR_FIT_SCALES; i++) {
        nadir_release(context, self->ball.scales[i]);
    }
    NADIR_RELEASE(context, self->deviation, self->x, self->row_scales, self->ball.state_scales,
                  self->ball.state_radii, self->ball.row_radii);
}

/* ------------------------------------------------------------------------------------------ policy */

static nadir_status solve(nadir_context *context, const nadir_policy *policy, search *self)
{
    nadir_model *model = self->fit->nominal;
    nadir_nominal nominal = {.size = sizeof nominal};
    self->result.nominal_return = NAN;
    if (model->rewards == NULL || isnan(model->discount)) {
        const int choice = self->fit->options.scales;
        return choice == NADIR_SCALES_OCCUPANCY || choice == NADIR_SCALES_SENSITIVITY
                   ? nadir_fail(context, NADIR_ERROR_MODEL,
                                "scales %s need a discount and data with rewards; give a discount, or take "
                                "deviation",
                                nadir_scales_name(choice))
                   : NADIR_OK;
    }
    if (policy == NULL) {
        nadir_optimum_result optimum = {.size = sizeof optimum};
        NADIR_TRY(nadir_optimum(context, model, NULL, &self->own_policy, &optimum));
    }
    self->policy = policy != NULL ? policy : self->own_policy;
    NADIR_TRY(nadir_solver_create(context, model, self->policy, NULL, &self->solver));
    NADIR_TRY(nadir_solver_nominal(context, self->solver, &nominal));
    self->result.nominal_return = nominal.nominal_return;
    return NADIR_OK;
}

/* ------------------------------------------------------------------------------------------ scales */

/* The choices of scales that are compared. */
static void list_candidates(search *self)
{
    const int asked = self->fit->options.scales;
    nadir_fit_result *result = &self->result;
    for (int choice = 0; choice < NADIR_SCALES_COUNT; choice++) {
        const bool possible = self->solver != NULL || choice == NADIR_SCALES_DEVIATION;
        if (asked == NADIR_SCALES_COUNT ? possible : choice == asked) {
            self->choices[result->candidates_count] = (nadir_scales_choice)choice;
            result->candidates[result->candidates_count++].scales = nadir_scales_name(choice);
        }
    }
}

static nadir_status make_scales(nadir_context *context, search *self)
{
    nadir_status status = NADIR_OK;
    const nadir_evidence *evidence = &self->fit->evidence;
    const double norm = self->fit->options.norm;
    NADIR_NEW(context, self->deviation, evidence->rows);
    NADIR_NEW(context, self->x, evidence->rows);
    NADIR_NEW(context, self->ball.state_scales, evidence->rows);
    NADIR_NEW(context, self->row_scales, evidence->rows);
    for (int64_t row = 0; row < evidence->rows; row++) {
        self->row_scales[row] = evidence->kinds[row] != NADIR_ROW_KNOWN ? 1 : 0;
    }
    if (self->fit->options.method == NADIR_FIT_FREE) {
        for (int64_t row = 0; row < evidence->rows; row++) {
            self->deviation[row] = nadir_concentration_deviation(evidence, norm, row);
        }
    } else {
        nadir_scales_deviation(evidence, norm, self->deviation);
    }
    nadir_scales_make(evidence, norm, self->deviation, NULL, self->ball.state_scales);
    for (int64_t i = 0; i < self->result.candidates_count; i++) {
        const nadir_scales_choice choice = self->choices[i];
        const bool exposed = choice == NADIR_SCALES_OCCUPANCY || choice == NADIR_SCALES_SENSITIVITY;
        NADIR_NEW(context, self->ball.scales[i], evidence->rows);
        if (choice == NADIR_SCALES_ONES) {
            memcpy(self->ball.scales[i], self->row_scales, (size_t)evidence->rows * sizeof(double));
            continue;
        }
        if (exposed) {
            NADIR_CHECK(nadir_scales_exposure(context, evidence, self->solver, self->policy, norm,
                                              choice == NADIR_SCALES_SENSITIVITY, self->x));
        }
        nadir_scales_make(evidence, norm, self->deviation, exposed ? self->x : NULL, self->ball.scales[i]);
    }
cleanup:
    return status;
}

/* ------------------------------------------------------------------------------------------- radii */

/* Enough for three digits of the quantile; fewer where rows are many and long, but at least 1000: the more
 * rows there are, the less the distance varies. More where the confidence needs them. */
static nadir_status choose_samples(nadir_context *context, const nadir_evidence *evidence, double confidence,
                                   int64_t *samples)
{
    const double least = fmax(1000, 2 * log(NADIR_DRAW_RADII_RISK) / log(confidence));
    const double affordable = 2e8; /* variates */
    const double most = 2e7;       /* draws: a gigabyte of sums for each thread */
    double each = 1;
    for (int64_t row = 0; row < evidence->rows; row++) {
        each += (double)nadir_evidence_seen(evidence, row) +
                fmin((double)nadir_evidence_unseen(evidence, row), 100);
    }
    if (least > most) {
        return nadir_fail(
            context, NADIR_ERROR_ARGUMENT,
            "a confidence of %.15g would need %.0f draws; take method distribution-free, or ask "
            "for less",
            confidence, least);
    }
    *samples = (int64_t)fmax(least, fmin(10000, affordable / each));
    return NADIR_OK;
}

/* All radii from the same draws. */
static nadir_status draw_radii(nadir_context *context, search *self)
{
    const nadir_fit_options *options = &self->fit->options;
    const nadir_evidence *evidence = &self->fit->evidence;
    int64_t own = evidence->samples != NULL ? evidence->samples->outcomes : options->samples;
    if (own == 0) {
        NADIR_TRY(choose_samples(context, evidence, options->confidence, &own));
    }
    const nadir_posterior_draws draws = {.evidence = evidence,
                                         .bootstrap = options->method == NADIR_FIT_BOOTSTRAP,
                                         .norm = options->norm,
                                         .count = own,
                                         .seed = nadir_random_next(&context->random)};
    self->ball.confidence = options->confidence;
    self->ball.candidates = (int)self->result.candidates_count;
    NADIR_TRY(nadir_draw_radii_compute(context, &draws, &self->ball));
    self->result.samples = draws.count;
    return NADIR_OK;
}

/* Concentration bounds. The risk is divided equally among the rows, or the states, of a set. */
static void bound_radii(search *self)
{
    const nadir_evidence *evidence = &self->fit->evidence;
    const double norm = self->fit->options.norm;
    const double risk = 1 - self->fit->options.confidence;
    const double share = self->result.candidates_count > 1 ? risk / 3 : risk;
    int64_t rows;
    int64_t states;
    nadir_evidence_count_drawn(evidence, &rows, &states);
    const double unknown = fmax((double)rows, 1);
    for (int64_t row = 0; row < evidence->rows; row++) {
        self->ball.row_radii[row] =
            nadir_concentration_radius(evidence, norm, row, row + 1, NULL, share / unknown);
    }
    for (int i = 0; i < self->result.candidates_count; i++) {
        const bool fixed =
            self->choices[i] == NADIR_SCALES_ONES || self->choices[i] == NADIR_SCALES_DEVIATION;
        self->ball.radii[i] =
            fixed ? nadir_concentration_radius(evidence, norm, 0, evidence->rows, self->ball.scales[i], share)
                  : nadir_concentration_gather(evidence, norm, self->ball.scales[i], self->ball.row_radii);
    }
    for (int64_t row = 0; row < evidence->rows; row++) {
        self->ball.row_radii[row] =
            nadir_concentration_radius(evidence, norm, row, row + 1, NULL, risk / unknown);
    }
    for (int64_t state = 0; state < evidence->states; state++) {
        self->ball.state_radii[state] = nadir_concentration_radius(
            evidence, norm, evidence->state_rows[state], evidence->state_rows[state + 1],
            self->ball.state_scales, risk / fmax((double)states, 1));
    }
}

static nadir_status find_radii(nadir_context *context, search *self)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(context, self->ball.state_radii, self->fit->evidence.states);
    NADIR_NEW(context, self->ball.row_radii, self->fit->evidence.rows);
    if (self->fit->options.method == NADIR_FIT_FREE) {
        bound_radii(self);
    } else {
        NADIR_CHECK(draw_radii(context, self));
    }
cleanup:
    return status;
}

/* -------------------------------------------------------------------------------------- guarantees */

/* The ball of a set; candidate: of the non-rectangular one. */
static nadir_ball ball_of(const search *self, nadir_set set, int64_t candidate)
{
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.set = set;
    ball.domain = self->fit->options.domain;
    ball.norm = self->fit->options.norm;
    ball.radius = set == NADIR_SET_NONRECT ? &self->ball.radii[candidate]
                  : set == NADIR_SET_S     ? self->ball.state_radii
                                           : self->ball.row_radii;
    ball.radius_count = set == NADIR_SET_NONRECT ? 1
                        : set == NADIR_SET_S     ? self->fit->evidence.states
                                                 : self->fit->evidence.rows;
    ball.scales = set == NADIR_SET_NONRECT ? self->ball.scales[candidate]
                  : set == NADIR_SET_S     ? self->ball.state_scales
                                           : self->row_scales;
    return ball;
}

/* The worst return over a ball. The bounds also hold if the search has not converged. */
static nadir_status evaluate_ball(nadir_context *context, search *self, const nadir_ball *ball,
                                  nadir_fit_guarantee *guarantee)
{
    nadir_robust robust = {.size = sizeof robust};
    guarantee->set = ball->set;
    guarantee->radius = nadir_vector_largest(ball->radius_count, ball->radius);
    guarantee->robust_return = NAN;
    guarantee->lower_bound = NAN;
    if (self->solver == NULL) {
        return NADIR_OK;
    }
    const nadir_status status = nadir_solver_robust(context, self->solver, ball, NULL, &robust, NULL);
    if (status != NADIR_OK && (status != NADIR_ERROR_NOT_CONVERGED || robust.stop_reason == NULL)) {
        return status;
    }
    guarantee->robust_return = robust.robust_return;
    guarantee->lower_bound = robust.lower_bound;
    guarantee->certified = robust.certified;
    return NADIR_OK;
}

static nadir_status find_guarantees(nadir_context *context, search *self)
{
    nadir_fit_result *result = &self->result;
    for (int64_t i = 0; i < result->candidates_count; i++) {
        const nadir_ball ball = ball_of(self, NADIR_SET_NONRECT, i);
        NADIR_TRY(evaluate_ball(context, self, &ball, &result->candidates[i]));
        const double best = result->candidates[result->chosen].lower_bound;
        result->chosen = isnan(best) || result->candidates[i].lower_bound > best ? i : result->chosen;
    }
    result->sets[0] = result->candidates[result->chosen];
    for (int i = 1; i < 3; i++) {
        const nadir_ball ball = ball_of(self, (nadir_set)(NADIR_SET_NONRECT + i), 0);
        result->sets[i].scales = "";
        NADIR_TRY(evaluate_ball(context, self, &ball, &result->sets[i]));
    }
    return NADIR_OK;
}

/* ------------------------------------------------------------------------------------------ result */

/* The description of the data. */
static nadir_status describe(nadir_context *context, const nadir_fit *fit, nadir_fit_result *result)
{
    nadir_status status = NADIR_OK;
    const nadir_counts *counts = fit->data.counts;
    double *visits = NULL;
    NADIR_NEW(context, visits, fit->evidence.rows);
    result->data = nadir_data_kind_name(fit->data.kind);
    result->states = fit->evidence.states;
    result->rows = fit->evidence.rows;
    for (int64_t row = 0; row < result->rows; row++) {
        result->rows_known += fit->evidence.kinds[row] == NADIR_ROW_KNOWN ? 1 : 0;
        if (nadir_evidence_seen(&fit->evidence, row) > 0) {
            visits[result->rows_visited++] = fit->evidence.visits[row];
        }
    }
    const int64_t middle = result->rows_visited / 2 + 1;
    result->visits_min = counts != NULL ? nadir_order_statistic(result->rows_visited, visits, 1) : NAN;
    result->visits_median =
        counts != NULL ? nadir_order_statistic(result->rows_visited, visits, middle) : NAN;
    result->observations = counts != NULL ? counts->observations : 0;
    result->total = counts != NULL ? counts->total : 0;
    result->episodes = counts != NULL ? counts->episodes : 0;
    result->dropped = counts != NULL ? counts->dropped : 0;
    result->terminal = fit->evidence.terminal;
    result->method = nadir_fit_method_name(fit->options.method);
    result->confidence = fit->options.confidence;
    result->prior = counts != NULL && isnan(fit->options.concentration) ? fit->options.prior : NAN;
    result->domain = fit->options.domain;
    result->norm = fit->options.norm;
cleanup:
    nadir_release(context, visits);
    return status;
}

nadir_status nadir_fit_describe(nadir_context *context, const nadir_fit *fit, nadir_fit_result *result)
{
    nadir_fit_result found = {.size = sizeof found};
    NADIR_TRY(describe(context, fit, &found));
    return nadir_result_copy(result, &found, sizeof found)
               ? NADIR_OK
               : nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the fit result is not set");
}

static nadir_status make_model(nadir_context *context, const search *self, nadir_set set, nadir_model **model)
{
    nadir_model_data data;
    const nadir_ball ball = ball_of(self, set, self->result.chosen);
    nadir_model_data_default(&data);
    nadir_model_view(self->fit->nominal, &data);
    data.scales = ball.scales;
    data.radius = ball.radius;
    data.radius_count = ball.radius_count;
    data.norm = ball.norm;
    data.set = ball.set;
    data.domain = ball.domain;
    data.promise = NADIR_BALL_OF_KERNEL;
    data.confidence = self->fit->options.confidence;
    return nadir_fit_named_model(context, self->fit, &data, model);
}

nadir_status nadir_fit_models(nadir_context *context, nadir_fit *fit, const nadir_policy *policy,
                              nadir_fit_result *result, int count, const nadir_set *sets,
                              nadir_model **models)
{
    nadir_status status = NADIR_OK;
    search run = {.fit = fit, .result = {.size = sizeof run.result}};
    int made = 0;
    NADIR_CHECK(solve(context, policy, &run));
    list_candidates(&run);
    const double begun = nadir_clock_seconds();
    NADIR_CHECK(make_scales(context, &run));
    NADIR_CHECK(find_radii(context, &run));
    run.result.seconds_radii = nadir_clock_seconds() - begun;
    NADIR_CHECK(find_guarantees(context, &run));
    run.result.seconds_guarantees = nadir_clock_seconds() - begun - run.result.seconds_radii;
    NADIR_CHECK(describe(context, fit, &run.result));
    if (!nadir_result_copy(result, &run.result, sizeof run.result)) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the fit result is not set"));
    }
    while (made < count) {
        NADIR_CHECK(make_model(context, &run, sets[made], &models[made]));
        made++;
    }
cleanup:
    while (status != NADIR_OK && made > 0) {
        nadir_model_free(models[--made]);
    }
    clear(context, &run);
    return status;
}

nadir_status nadir_fit_model(nadir_context *context, nadir_fit *fit, const nadir_policy *policy,
                             nadir_fit_result *result, nadir_model **model)
{
    return nadir_fit_models(context, fit, policy, result, 1, &fit->options.set, model);
}
