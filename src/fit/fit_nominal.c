/*
 * fit_nominal.c: the nominal model: posterior means, mean rewards, and how episodes began.
 *
 * A transition pays the mean of the rewards that were seen with it. The others of its row pay what the model
 * is told to assume, from those that were seen: R(s, a) + g(s') by default. Where rewards belong to rows, or are
 * frozen, a row pays their mean.
 *
 * A row without data is uniform over its allowed successors, or stays (unvisited absorb). Its reward is the
 * lowest mean reward of any transition, or row, so that guarantees hold as long as its true reward is no lower.
 */
#include "fit/fit.h"
#include "model/landing.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <string.h>

nadir_status nadir_fit_named_model(nadir_context *context, const nadir_fit *fit, const nadir_model_data *data,
                                   nadir_model **model)
{
    NADIR_TRY(nadir_model_create(context, data, model));
    const nadir_status status =
        nadir_model_add_names(context, &fit->data.names[0], &fit->data.names[1], *model);
    if (status != NADIR_OK) {
        nadir_model_free(*model);
        *model = NULL;
    }
    return status;
}

/* The arrays of the nominal model. */
typedef struct parts {
    int64_t *row_starts;
    int32_t *columns;
    double *probabilities;
    double *rewards;
    double *transition_rewards; /* NULL: rewards are those of rows */
    double *initial;
    double *scales;
    double *unobserved;
} parts;

static void clear_parts(nadir_context *context, parts *made)
{
    NADIR_RELEASE(context, made->row_starts, made->columns, made->probabilities, made->rewards,
                  made->transition_rewards, made->initial, made->scales, made->unobserved);
}

/* The model of these arrays; frame: all else. */
static nadir_status make_model(nadir_context *context, const nadir_model_data *frame, const parts *made,
                               const nadir_fit *fit, nadir_model **model)
{
    nadir_model_data data = *frame;
    data.row_starts = made->row_starts;
    data.columns = made->columns;
    data.probabilities = made->probabilities;
    data.rewards = made->rewards;
    data.transition_rewards = made->transition_rewards;
    data.initial = made->initial;
    data.scales = made->scales;
    data.unobserved = made->unobserved;
    return nadir_fit_named_model(context, fit, &data, model);
}

static bool is_terminal(const nadir_fit *fit, int64_t row)
{
    return fit->evidence.terminal && row == fit->evidence.rows - 1;
}

static bool stays(const nadir_fit *fit, int64_t row)
{
    return nadir_evidence_seen(&fit->evidence, row) == 0 &&
           (fit->evidence.samples != NULL || fit->options.unvisited == NADIR_UNVISITED_ABSORB ||
            is_terminal(fit, row));
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
                made.transition_rewards[to++] = is_terminal(fit, row) ? 0 : seen->lowest;
            }
            made.row_starts[row + 1] = to;
        }
    }
    data.discount = NAN; /* next to 0 there would be no g */
    NADIR_CHECK(make_model(context, &data, &made, fit, model));
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
        const double none = evidence->samples != NULL || is_terminal(fit, row) ? 0 : seen->lowest;
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

/* a / (N + A), and a little for rounding: what each successor has that was allowed and not seen. */
static nadir_status write_unobserved(nadir_context *context, const nadir_fit *fit, parts *made)
{
    nadir_status status = NADIR_OK;
    const nadir_evidence *evidence = &fit->evidence;
    if (evidence->samples != NULL) {
        return NADIR_OK;
    }
    NADIR_NEW(context, made->unobserved, evidence->rows);
    for (int64_t row = 0; row < evidence->rows; row++) {
        const double total = evidence->visits[row] + evidence->each[row] * (double)evidence->allowed[row];
        made->unobserved[row] = is_terminal(fit, row)       ? 0
                                : evidence->visits[row] > 0 ? evidence->each[row] / total * (1 + 1e-9)
                                                            : 1;
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
            const double none = samples != NULL || is_terminal(fit, row) ? 0 : seen.lowest_row;
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

/* How often episodes began in each state; where that is not known, alike in all but the terminal one. */
static nadir_status write_initial(nadir_context *context, const nadir_fit *fit, parts *made)
{
    nadir_status status = NADIR_OK;
    const nadir_counts *counts = fit->data.counts;
    const bool known = counts != NULL && counts->initial != NULL && counts->episodes > 0;
    if (!known && !(counts != NULL && counts->terminal)) {
        return NADIR_OK;
    }
    NADIR_NEW(context, made->initial, counts->states);
    for (int64_t state = 0; state < counts->states; state++) {
        made->initial[state] = known ? counts->initial[state] / (double)counts->episodes
                               : state < counts->states - 1 ? 1 / (double)(counts->states - 1)
                                                            : 0;
    }
cleanup:
    return status;
}

nadir_status nadir_fit_make_nominal(nadir_context *context, nadir_fit *fit,
                                    const nadir_fit_settings *settings)
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
    NADIR_CHECK(write_unobserved(context, fit, &made));
    NADIR_CHECK(make_model(context, &data, &made, fit, &fit->nominal));
cleanup:
    clear_parts(context, &made);
    return status;
}
