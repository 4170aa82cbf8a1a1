/* fit.c: a fit: its settings, the evidence of every row, and the nominal model. */
#include "fit/fit.h"
#include "model/landing.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Settings ---------------------------------------------------------------------------------------- */

static const char *const methods[] = {"posterior", "bootstrap", "distribution-free"};
static const char *const scales[] = {"ones", "deviation", "occupancy", "sensitivity", "auto"};
static const char *const unvisited[] = {"uniform", "pin", "absorb"};
static const char *const promises[] = {"return", "kernel", "posterior"};

const char *nadir_fit_method_name(nadir_fit_method method)
{
    return methods[method];
}

const char *nadir_scales_name(int choice)
{
    return scales[choice];
}

bool nadir_fit_names_file(const nadir_fit_settings *settings)
{
    const char *successors = settings->successors;
    return successors != NULL && strcmp(successors, "all") != 0 && strcmp(successors, "seen") != 0;
}

void nadir_fit_settings_fill(nadir_fit_settings *settings, size_t size)
{
    const nadir_fit_settings made = {.confidence = 0.95,
                                     .prior = NAN,
                                     .concentration = NAN,
                                     .norm = 2,
                                     .set = NADIR_SET_NONRECT,
                                     .discount = NAN};
    nadir_settings_give(settings, size, &made, sizeof made);
}

/* *place: the index of the word among `words`; `unsaid` if it is NULL. */
static nadir_status find_word(nadir_context *context, const char *what, const char *word, int count,
                              const char *const words[], int unsaid, int *place)
{
    char expected[128] = "";
    size_t length = 0;
    *place = word == NULL ? unsaid : 0;
    while (word != NULL && *place < count && strcmp(word, words[*place]) != 0) {
        const int added = snprintf(&expected[length], sizeof expected - length, "%s%s",
                                   *place > 0 ? ", " : "", words[*place]);
        length += (size_t)added;
        (*place)++;
    }
    return *place < count ? NADIR_OK
                          : nadir_fail(context, NADIR_ERROR_ARGUMENT, "%s: '%s' given, expected one of %s",
                                       what, word, expected);
}

static nadir_status check_numbers(nadir_context *context, const nadir_fit_settings *settings,
                                  const nadir_fit_options *options, nadir_data_kind data_kind)
{
    if (!(settings->confidence > 0) || !(settings->confidence < 1)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the confidence is %g; expected more than 0 and less than 1", settings->confidence);
    }
    if (!(settings->norm >= 1)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the norm is %g; expected 1 to infinity",
                          settings->norm);
    }
    if (!isnan(settings->prior) && !isnan(settings->concentration)) {
        return nadir_fail(
            context, NADIR_ERROR_ARGUMENT,
            "prior and concentration cannot both be given: one is that of a row, the other that "
            "of each of its successors");
    }
    const double weight = isnan(options->concentration) ? options->prior : options->concentration;
    const bool needed = options->method != NADIR_FIT_FREE && data_kind != NADIR_DATA_SAMPLES;
    if (!(weight >= 0) || isinf(weight) || (needed && weight == 0)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the weight of the prior is %g; expected a finite number%s", weight,
                          needed ? " above 0: a posterior needs one" : ", 0 or more");
    }
    if (settings->states < 0 || settings->actions < 0 || settings->samples < 0) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "states, actions and samples cannot be negative");
    }
    if (data_kind == NADIR_DATA_SAMPLES && options->method != NADIR_FIT_POSTERIOR) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the data are posterior samples: method %s needs observations",
                          methods[options->method]);
    }
    if (data_kind == NADIR_DATA_SAMPLES && nadir_fit_names_file(settings)) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the data are posterior samples, which say themselves what is possible: "
                          "successors are all or seen, not a file");
    }
    return NADIR_OK;
}

nadir_status nadir_fit_check_settings(nadir_context *context, const nadir_fit_settings *settings,
                                      nadir_data_kind data_kind, nadir_fit_options *options)
{
    int method = 0;
    int place = 0;
    NADIR_TRY(find_word(context, "method", settings->method, 3, methods, NADIR_FIT_POSTERIOR, &method));
    NADIR_TRY(
        find_word(context, "scales", settings->scales, 5, scales, NADIR_SCALES_COUNT, &options->scales));
    NADIR_TRY(
        find_word(context, "unvisited", settings->unvisited, 3, unvisited, NADIR_UNVISITED_UNIFORM, &place));
    options->unvisited = (nadir_unvisited)place;
    const bool of_ball = settings->method != NULL || settings->scales != NULL ||
                         settings->set > NADIR_SET_NONRECT || data_kind == NADIR_DATA_SAMPLES ||
                         isnan(settings->discount);
    NADIR_TRY(find_word(context, "guarantee", settings->guarantee, 3, promises,
                        of_ball ? NADIR_PROMISE_KERNEL : NADIR_PROMISE_RETURN, &options->guarantee));
    if (options->guarantee != NADIR_PROMISE_KERNEL && settings->unvisited == NULL) {
        options->unvisited = NADIR_UNVISITED_ABSORB;
    }
    options->method = (nadir_fit_method)method;
    options->confidence = settings->confidence;
    options->norm = settings->norm;
    options->set = settings->set == NADIR_SET_UNSAID ? NADIR_SET_NONRECT : settings->set;
    options->samples = settings->samples;
    options->concentration = settings->concentration;
    options->prior = !isnan(settings->prior) ? settings->prior : method == NADIR_FIT_FREE ? 0 : 2;
    const bool all = settings->successors == NULL ? data_kind != NADIR_DATA_SAMPLES
                                                  : strcmp(settings->successors, "all") == 0;
    options->domain = all ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
    return check_numbers(context, settings, options, data_kind);
}

/* ---- Nominal model ----------------------------------------------------------------------------------- */

/*
 * The nominal model: posterior means, mean rewards, and how episodes began.
 *
 * A transition pays the mean of the rewards that were seen with it. The others of its row pay what the model
 * is told to assume, from those that were seen: R(s, a) + g(s') by default. Where rewards belong to rows, or are
 * frozen, a row pays their mean.
 *
 * A row without data is uniform over its allowed successors, or stays (unvisited absorb). Its reward is the
 * lowest mean reward of any transition, or row, so that guarantees hold as long as its true reward is no lower.
 */

/* The arrays of the nominal model. */
typedef struct parts {
    int64_t *row_starts;
    int32_t *columns;
    double *probabilities;
    double *rewards;
    double *transition_rewards; /* NULL: rewards are those of rows */
    double *initial;
    double *scales;
} parts;

static void clear_parts(nadir_context *context, parts *made)
{
    NADIR_RELEASE(context, made->row_starts, made->columns, made->probabilities, made->rewards,
                  made->transition_rewards, made->initial, made->scales);
}

/* The model of these arrays; frame: all else. */
static nadir_status make_model(nadir_context *context, const nadir_model_data *frame, const parts *made,
                               nadir_model **model)
{
    nadir_model_data data = *frame;
    data.row_starts = made->row_starts;
    data.columns = made->columns;
    data.probabilities = made->probabilities;
    data.rewards = made->rewards;
    data.transition_rewards = made->transition_rewards;
    data.initial = made->initial;
    data.scales = made->scales;
    return nadir_model_create(context, &data, model);
}

static bool stays(const nadir_fit *fit, int64_t row)
{
    return nadir_evidence_seen(&fit->evidence, row) == 0 &&
           (fit->evidence.samples != NULL || fit->options.unvisited == NADIR_UNVISITED_ABSORB);
}

/* The number of successors of a row that have a positive mean. *columns: which, rising; NULL: all states. */
static int64_t list_successors(const nadir_fit *fit, int64_t row, const int32_t **columns)
{
    const nadir_evidence *evidence = &fit->evidence;
    const nadir_counts *listed = evidence->listed;
    const int64_t seen = nadir_evidence_seen(evidence, row);
    const bool only_seen = evidence->samples != NULL || (seen > 0 && evidence->each[row] == 0) ||
                           (listed == NULL && evidence->allowed[row] < evidence->states);
    *columns = NULL;
    if (only_seen) {
        *columns = &evidence->columns[evidence->row_starts[row]];
    } else if (listed != NULL && listed->row_starts[row + 1] > listed->row_starts[row]) {
        *columns = &listed->columns[listed->row_starts[row]];
    }
    return only_seen ? seen : evidence->allowed[row];
}

/* Each successor with (a + n) / (N + A), or the mean of the samples; where nothing is known all are alike. */
static void write_row(const nadir_fit *fit, int64_t row, int32_t *columns, double *probabilities)
{
    const nadir_evidence *evidence = &fit->evidence;
    const double total = evidence->visits[row] + evidence->each[row] * (double)evidence->allowed[row];
    const int64_t end = evidence->row_starts[row + 1];
    const int32_t *listed;
    const int64_t count = list_successors(fit, row, &listed);
    int64_t index = evidence->row_starts[row];
    for (int64_t i = 0; i < count; i++) {
        columns[i] = listed != NULL ? listed[i] : (int32_t)i;
        const bool seen = index < end && evidence->columns[index] == columns[i];
        if (evidence->samples != NULL) {
            probabilities[i] = evidence->mean[index];
        } else {
            const double weight = evidence->each[row] + (seen ? evidence->counts[index] : 0);
            probabilities[i] = total > 0 ? weight / total : 1 / (double)count;
        }
        index += seen ? 1 : 0;
    }
}

static nadir_status write_rows(nadir_context *context, const nadir_fit *fit, parts *made)
{
    nadir_status status = NADIR_OK;
    const nadir_evidence *evidence = &fit->evidence;
    NADIR_NEW(context, made->row_starts, evidence->rows + 1);
    made->row_starts[0] = 0;
    for (int64_t row = 0; row < evidence->rows; row++) {
        const int32_t *columns;
        made->row_starts[row + 1] =
            made->row_starts[row] + (stays(fit, row) ? 1 : list_successors(fit, row, &columns));
    }
    NADIR_NEW(context, made->columns, made->row_starts[evidence->rows]);
    NADIR_NEW(context, made->probabilities, made->row_starts[evidence->rows]);
    for (int64_t state = 0; state < evidence->states; state++) {
        for (int64_t row = evidence->state_rows[state]; row < evidence->state_rows[state + 1]; row++) {
            const int64_t start = made->row_starts[row];
            if (stays(fit, row)) {
                made->columns[start] = (int32_t)state;
                made->probabilities[start] = 1;
            } else {
                write_row(fit, row, &made->columns[start], &made->probabilities[start]);
            }
        }
    }
cleanup:
    return status;
}

/* What was seen of rewards. */
typedef struct seen_rewards {
    double *means;     /* [seen transitions] */
    double *rows;      /* [rows]; NaN: without data */
    double lowest;     /* of the transitions */
    double lowest_row; /* of the rows */
} seen_rewards;

/* Means that differ by the rounding of their sums alone are those of the row. */
static void even_out(int64_t count, double weight, double mean, double *means)
{
    const double rounding = 4 * DBL_EPSILON * (weight + 4) * fabs(mean);
    bool same = true;
    for (int64_t i = 0; i < count; i++) {
        same = same && fabs(means[i] - mean) <= fmin(rounding, 1e-9 * fabs(mean));
    }
    for (int64_t i = 0; same && i < count; i++) {
        means[i] = mean;
    }
}

static nadir_status find_means(nadir_context *context, const nadir_fit *fit, const double *sums, double sign,
                               seen_rewards *seen)
{
    nadir_status status = NADIR_OK;
    const nadir_evidence *evidence = &fit->evidence;
    const double *weights = evidence->samples != NULL ? evidence->mean : evidence->counts;
    NADIR_NEW(context, seen->means, evidence->row_starts[evidence->rows]);
    NADIR_NEW(context, seen->rows, evidence->rows);
    seen->lowest = INFINITY;
    seen->lowest_row = INFINITY;
    for (int64_t row = 0; row < evidence->rows; row++) {
        const int64_t start = evidence->row_starts[row];
        double sum = 0;
        double weight = 0;
        for (int64_t i = start; i < evidence->row_starts[row + 1]; i++) {
            seen->means[i] = sign * sums[i] / weights[i];
            sum += sign * sums[i];
            weight += weights[i];
        }
        seen->rows[row] = weight > 0 ? sum / weight : NAN;
        even_out(evidence->row_starts[row + 1] - start, weight, seen->rows[row], seen->means + start);
        for (int64_t i = start; i < evidence->row_starts[row + 1]; i++) {
            seen->lowest = fmin(seen->lowest, seen->means[i]);
        }
        seen->lowest_row = fmin(seen->lowest_row, seen->rows[row]); /* fmin passes over NaN */
    }
cleanup:
    return status;
}

/* The model of what was seen alone, for what the other successors pay, whatever the discount. Rows without data stay,
 * pinned. */
static nadir_status make_seen_model(nadir_context *context, const nadir_fit *fit, const seen_rewards *seen,
                                    const nadir_model_data *frame, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    const nadir_evidence *evidence = &fit->evidence;
    const double *weights = evidence->samples != NULL ? evidence->mean : evidence->counts;
    const int64_t room = evidence->row_starts[evidence->rows] + evidence->rows;
    nadir_model_data data = *frame;
    parts made = {0};
    int64_t to = 0;
    NADIR_NEW(context, made.row_starts, evidence->rows + 1);
    NADIR_NEW(context, made.columns, room);
    NADIR_NEW(context, made.probabilities, room);
    NADIR_NEW(context, made.transition_rewards, room);
    NADIR_NEW(context, made.scales, evidence->rows);
    made.row_starts[0] = 0;
    for (int64_t state = 0; state < evidence->states; state++) {
        for (int64_t row = evidence->state_rows[state]; row < evidence->state_rows[state + 1]; row++) {
            double sum = 0;
            for (int64_t i = evidence->row_starts[row]; i < evidence->row_starts[row + 1]; i++) {
                sum += weights[i];
            }
            for (int64_t i = evidence->row_starts[row]; i < evidence->row_starts[row + 1]; i++, to++) {
                made.columns[to] = evidence->columns[i];
                made.probabilities[to] = weights[i] / sum;
                made.transition_rewards[to] = seen->means[i];
            }
            made.scales[row] = sum > 0 ? 1 : 0;
            if (!(sum > 0)) {
                made.columns[to] = (int32_t)state;
                made.probabilities[to] = 1;
                made.transition_rewards[to++] = seen->lowest;
            }
            made.row_starts[row + 1] = to;
        }
    }
    data.discount = NAN; /* next to 0 there would be no g */
    NADIR_CHECK(make_model(context, &data, &made, model));
cleanup:
    clear_parts(context, &made);
    return status;
}

/* Rewards of all transitions of the model that `made` is to become. */
static nadir_status write_landing(nadir_context *context, const nadir_fit *fit, const seen_rewards *seen,
                                  const nadir_model *known, parts *made)
{
    nadir_status status = NADIR_OK;
    const nadir_evidence *evidence = &fit->evidence;
    NADIR_NEW(context, made->transition_rewards, made->row_starts[evidence->rows]);
    for (int64_t row = 0; row < evidence->rows; row++) {
        int64_t index = evidence->row_starts[row];
        const int64_t end = evidence->row_starts[row + 1];
        const double none = evidence->samples != NULL ? 0 : seen->lowest;
        for (int64_t i = made->row_starts[row]; i < made->row_starts[row + 1]; i++) {
            const int32_t t = made->columns[i];
            const bool was_seen = index < end && evidence->columns[index] == t;
            made->transition_rewards[i] = isnan(seen->rows[row]) ? none
                                          : was_seen             ? seen->means[index]
                                                                 : nadir_landing_unseen(known, row, t);
            index += was_seen ? 1 : 0;
        }
    }
cleanup:
    return status;
}

/* Rewards of transitions, or of rows where these say as much or rewards are frozen. */
static nadir_status write_rewards(nadir_context *context, const nadir_fit *fit,
                                  const nadir_fit_settings *settings, const nadir_model_data *frame,
                                  parts *made)
{
    nadir_status status = NADIR_OK;
    const nadir_evidence *evidence = &fit->evidence;
    const nadir_samples *samples = evidence->samples;
    const double *sums = samples != NULL ? samples->reward_sums : fit->data.counts->reward_sums;
    seen_rewards seen = {0};
    nadir_model *known = NULL;
    if (sums == NULL) {
        return NADIR_OK;
    }
    NADIR_CHECK(find_means(context, fit, sums, settings->costs ? -1 : 1, &seen));
    if (!settings->frozen_rewards) {
        NADIR_CHECK(make_seen_model(context, fit, &seen, frame, &known));
    }
    if (known != NULL && known->transition_rewards != NULL) {
        NADIR_CHECK(write_landing(context, fit, &seen, known, made));
    } else {
        for (int64_t row = 0; row < evidence->rows; row++) {
            const double none = samples != NULL ? 0 : seen.lowest_row;
            seen.rows[row] = isnan(seen.rows[row]) ? none : seen.rows[row];
        }
        made->rewards = seen.rows;
        seen.rows = NULL;
    }
cleanup:
    nadir_model_free(known);
    NADIR_RELEASE(context, seen.means, seen.rows);
    return status;
}

/* How often episodes began in each state; NULL: not known. */
static nadir_status write_initial(nadir_context *context, const nadir_fit *fit, parts *made)
{
    nadir_status status = NADIR_OK;
    const nadir_counts *counts = fit->data.counts;
    if (counts == NULL || counts->initial == NULL || counts->episodes == 0) {
        return NADIR_OK;
    }
    NADIR_NEW(context, made->initial, counts->states);
    for (int64_t state = 0; state < counts->states; state++) {
        made->initial[state] = counts->initial[state] / (double)counts->episodes;
    }
cleanup:
    return status;
}

static nadir_status make_nominal(nadir_context *context, nadir_fit *fit, const nadir_fit_settings *settings)
{
    nadir_status status = NADIR_OK;
    parts made = {0};
    nadir_model_data data;
    nadir_model_data_default(&data);
    data.states = fit->evidence.states;
    data.rows = fit->evidence.rows;
    data.discount = settings->discount;
    data.state_rows = fit->evidence.state_rows;
    data.row_actions = fit->evidence.row_actions;
    data.unseen = settings->unseen;
    data.unseen_value = settings->costs ? 0 - settings->unseen_value : settings->unseen_value;
    NADIR_CHECK(write_rows(context, fit, &made));
    NADIR_CHECK(write_rewards(context, fit, settings, &data, &made));
    NADIR_CHECK(write_initial(context, fit, &made));
    NADIR_CHECK(make_model(context, &data, &made, &fit->nominal));
cleanup:
    clear_parts(context, &made);
    return status;
}

/* ---- Fits -------------------------------------------------------------------------------------------- */

void nadir_fit_free(nadir_fit *fit)
{
    if (fit == NULL) {
        return;
    }
    nadir_memory *memory = fit->memory;
    /* The context it was created with may be gone; only its memory is needed. */
    nadir_context context = {.memory = memory};
    nadir_evidence_clear(&context, &fit->evidence);
    nadir_data_clear(&context, &fit->data);
    nadir_data_clear(&context, &fit->listed);
    nadir_model_free(fit->nominal);
    nadir_memory_release(memory, fit);
    nadir_memory_free(memory);
}

nadir_model *nadir_fit_nominal(const nadir_fit *fit)
{
    return fit->nominal;
}

const char *nadir_fit_promised(const nadir_fit *fit)
{
    return promises[fit->options.guarantee];
}

/* Without rewards there is no return to promise: unless asked for, the promise is of the kernel. */
static nadir_status check_settings(nadir_context *context, const nadir_fit_settings *settings,
                                   nadir_fit *made)
{
    nadir_fit_settings use = *settings;
    const nadir_counts *counts = made->data.counts;
    if (use.guarantee == NULL && counts != NULL && counts->reward_sums == NULL) {
        use.guarantee = promises[NADIR_PROMISE_KERNEL];
    }
    return nadir_fit_check_settings(context, &use, made->data.kind, &made->options);
}

nadir_status nadir_fit_create(nadir_context *context, nadir_data *data, nadir_data *listed,
                              const nadir_fit_settings *settings, nadir_fit **fit)
{
    nadir_status status = NADIR_OK;
    nadir_fit *made = NULL;
    NADIR_NEW_ZERO(context, made, 1);
    made->memory = nadir_memory_retain(context->memory);
    made->data = *data;
    made->listed = *listed;
    *data = (nadir_data){0};
    *listed = (nadir_data){0};
    NADIR_CHECK(check_settings(context, settings, made));
    const nadir_evidence_settings evidence = {.all = made->options.domain == NADIR_DOMAIN_SIMPLEX,
                                              .listed = made->listed.counts,
                                              .prior = made->options.prior,
                                              .concentration = made->options.concentration,
                                              .unvisited = made->options.unvisited};
    NADIR_CHECK(nadir_evidence_make(context, &made->data, &evidence, &made->evidence));
    NADIR_CHECK(make_nominal(context, made, settings));
    *fit = made;
    made = NULL;
cleanup:
    nadir_data_clear(context, data);
    nadir_data_clear(context, listed);
    nadir_fit_free(made);
    return status;
}
