/*
 * fit_nominal.c: the nominal model: posterior means, mean rewards, and how episodes began.
 *
 * A row without data is uniform over what it may do, or stays (unvisited absorb). Its reward is the lowest
 * mean reward of any row: nothing is known of it, and then what is promised of a policy holds as long as no
 * reward is lower.
 */
#include "fit/fit.h"

#include <math.h>

/* The arrays of a model in the making. */
typedef struct parts {
    int64_t *row_starts;
    int32_t *columns;
    double *probabilities;
    double *rewards;
    double *initial;
} parts;

static void clear_parts(nadir_context *context, parts *made)
{
    nadir_release(context, made->row_starts);
    nadir_release(context, made->columns);
    nadir_release(context, made->probabilities);
    nadir_release(context, made->rewards);
    nadir_release(context, made->initial);
}

static bool stays(const nadir_fit *fit, int64_t row)
{
    return nadir_evidence_seen(&fit->evidence, row) == 0 &&
           (fit->evidence.samples != NULL || fit->question.unvisited == NADIR_UNVISITED_ABSORB);
}

/* Transitions of the row that have a positive mean. */
static int64_t count_row(const nadir_fit *fit, int64_t row)
{
    const nadir_evidence *evidence = &fit->evidence;
    const int64_t seen = nadir_evidence_seen(evidence, row);
    return stays(fit, row)                                                       ? 1
           : evidence->samples != NULL || (seen > 0 && evidence->each[row] == 0) ? seen
                                                                                 : evidence->allowed[row];
}

/* The allowed successors, each with (a + n) / (N + A); where neither is known all are alike. */
static void write_allowed(const nadir_evidence *evidence, int64_t row, int32_t *columns,
                          double *probabilities)
{
    const nadir_counts *listed = evidence->listed;
    const int64_t allowed = evidence->allowed[row];
    const double total = evidence->visits[row] + evidence->each[row] * (double)allowed;
    const int64_t end = evidence->row_starts[row + 1];
    const bool named = allowed < evidence->states || listed != NULL;
    const int32_t *names = !named ? NULL
                           : listed != NULL && listed->row_starts[row + 1] > listed->row_starts[row]
                               ? &listed->columns[listed->row_starts[row]]
                           : listed == NULL ? &evidence->columns[evidence->row_starts[row]]
                                            : NULL;
    int64_t index = evidence->row_starts[row];
    for (int64_t i = 0; i < allowed; i++) {
        columns[i] = names != NULL ? names[i] : (int32_t)i;
        const bool seen = index < end && evidence->columns[index] == columns[i];
        const double weight = evidence->each[row] + (seen ? evidence->counts[index] : 0);
        probabilities[i] = total > 0 ? weight / total : 1 / (double)allowed;
        index += seen ? 1 : 0;
    }
}

static void write_row(const nadir_fit *fit, int64_t state, int64_t row, int64_t count, int32_t *columns,
                      double *probabilities)
{
    const nadir_evidence *evidence = &fit->evidence;
    const int64_t start = evidence->row_starts[row];
    if (stays(fit, row)) {
        columns[0] = (int32_t)state;
        probabilities[0] = 1;
    } else if (count == evidence->allowed[row] && evidence->samples == NULL) {
        write_allowed(evidence, row, columns, probabilities);
    } else {
        for (int64_t i = 0; i < count; i++) {
            columns[i] = evidence->columns[start + i];
            probabilities[i] = evidence->samples != NULL
                                   ? evidence->mean[start + i]
                                   : evidence->counts[start + i] / evidence->visits[row];
        }
    }
}

static nadir_status write_rows(nadir_context *context, const nadir_fit *fit, parts *made)
{
    nadir_status status = NADIR_OK;
    const nadir_evidence *evidence = &fit->evidence;
    NADIR_NEW(context, made->row_starts, evidence->rows + 1);
    made->row_starts[0] = 0;
    for (int64_t row = 0; row < evidence->rows; row++) {
        made->row_starts[row + 1] = made->row_starts[row] + count_row(fit, row);
    }
    NADIR_NEW(context, made->columns, made->row_starts[evidence->rows]);
    NADIR_NEW(context, made->probabilities, made->row_starts[evidence->rows]);
    for (int64_t state = 0; state < evidence->states; state++) {
        for (int64_t row = evidence->state_rows[state]; row < evidence->state_rows[state + 1]; row++) {
            const int64_t start = made->row_starts[row];
            write_row(fit, state, row, made->row_starts[row + 1] - start, &made->columns[start],
                      &made->probabilities[start]);
        }
    }
cleanup:
    return status;
}

/* Mean rewards of rows that have any; the lowest for the others. */
static nadir_status write_rewards(nadir_context *context, const nadir_fit *fit, bool costs, parts *made)
{
    nadir_status status = NADIR_OK;
    const nadir_evidence *evidence = &fit->evidence;
    const nadir_samples *samples = evidence->samples;
    const double *sums = samples == NULL ? fit->data.counts->reward_sums : NULL;
    const double sign = costs ? -1 : 1;
    double lowest = INFINITY;
    int64_t given = 0;
    if (samples != NULL ? samples->rewards == NULL : sums == NULL) {
        return NADIR_OK;
    }
    NADIR_NEW(context, made->rewards, evidence->rows);
    for (int64_t row = 0; row < evidence->rows; row++) {
        double sum = 0;
        made->rewards[row] = NAN;
        if (nadir_evidence_seen(evidence, row) > 0) {
            for (int64_t i = evidence->row_starts[row]; sums != NULL && i < evidence->row_starts[row + 1];
                 i++) {
                sum += sums[i];
            }
            made->rewards[row] =
                sign * (samples != NULL ? samples->rewards[given++] : sum / evidence->visits[row]);
            lowest = fmin(lowest, made->rewards[row]);
        }
    }
    for (int64_t row = 0; row < evidence->rows; row++) {
        made->rewards[row] = !isnan(made->rewards[row]) ? made->rewards[row] : samples != NULL ? 0 : lowest;
    }
cleanup:
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

nadir_status nadir_fit_make_nominal(nadir_context *context, nadir_fit *fit,
                                    const nadir_fit_settings *settings)
{
    nadir_status status = NADIR_OK;
    parts made = {0};
    nadir_model_data data;
    nadir_model_data_default(&data);
    NADIR_CHECK(write_rows(context, fit, &made));
    NADIR_CHECK(write_rewards(context, fit, settings->costs, &made));
    NADIR_CHECK(write_initial(context, fit, &made));
    data.states = fit->evidence.states;
    data.rows = fit->evidence.rows;
    data.discount = settings->discount;
    data.state_rows = fit->evidence.state_rows;
    data.row_actions = fit->evidence.row_actions;
    data.row_starts = made.row_starts;
    data.columns = made.columns;
    data.probabilities = made.probabilities;
    data.rewards = made.rewards;
    data.initial = made.initial;
    NADIR_CHECK(nadir_model_create(context, &data, &fit->nominal));
cleanup:
    clear_parts(context, &made);
    return status;
}
