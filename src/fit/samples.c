/*
 * samples.c: from lines of posterior samples to kernels on a common support; see data.h.
 *
 * Rows are the pairs (state, action) that occur; every outcome must have all of them, so that there are at
 * least outcomes * rows lines: what the numbers of outcomes ask for is bounded by what the file holds.
 */
#include "fit/data.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>

void nadir_samples_free(nadir_context *context, nadir_samples *samples)
{
    if (samples == NULL) {
        return;
    }
    NADIR_RELEASE(context, samples->state_rows, samples->row_actions, samples->row_starts, samples->columns,
                  samples->probabilities, samples->reward_sums, samples);
}

/* What is needed while the samples are made. */
typedef struct workspace {
    const nadir_data_collector *collector;
    nadir_samples *made;
    nadir_data_table rows; /* (state, 0, action) */
    int64_t *entry_rows;   /* [transitions in the table] row of each */
    int64_t *places; /* [transitions in the table] place among the nonzeros; -1: probability 0 everywhere */
    double *sums;    /* [outcomes * rows] of the probabilities */
} workspace;

static nadir_status check_sizes(const nadir_data_collector *collector)
{
    if (collector->settings.states == 0) {
        NADIR_TRY(nadir_data_check_gaps(collector, "state", collector->states - 1, collector->states, 0));
    }
    if (collector->settings.actions == 0) {
        NADIR_TRY(nadir_data_check_gaps(collector, "action", collector->actions - 1, collector->actions,
                                        collector->states));
    }
    return NADIR_OK;
}

/* The rows in order, and the row of each transition. */
static nadir_status make_rows(workspace *work)
{
    nadir_status status = NADIR_OK;
    const nadir_data_collector *collector = work->collector;
    nadir_context *context = collector->context;
    const nadir_data_table *table = &collector->table;
    nadir_samples *made = work->made;
    int64_t *row_states = NULL;
    int64_t *order = NULL;
    int64_t *numbers = NULL;
    NADIR_NEW(context, work->entry_rows, table->count);
    for (int64_t i = 0; i < table->count; i++) {
        const nadir_data_entry *entry = &table->entries[i];
        int64_t *row = &work->entry_rows[i];
        NADIR_CHECK(nadir_data_table_find(context, &work->rows, entry->state, 0, entry->action, row));
        work->rows.entries[*row].count = 1;
    }
    made->rows = work->rows.count;
    NADIR_NEW(context, row_states, made->rows);
    NADIR_NEW(context, order, made->rows);
    NADIR_NEW(context, numbers, made->rows);
    NADIR_NEW(context, made->state_rows, made->states + 1);
    NADIR_NEW(context, made->row_actions, made->rows);
    for (int64_t i = 0; i < made->rows; i++) {
        row_states[i] = work->rows.entries[i].state;
    }
    NADIR_CHECK(nadir_data_table_order(context, &work->rows, collector->actions, made->states, row_states,
                                       order, made->state_rows));
    for (int64_t row = 0; row < made->rows; row++) {
        numbers[order[row]] = row;
        made->row_actions[row] = work->rows.entries[order[row]].successor;
    }
    for (int64_t i = 0; i < table->count; i++) {
        work->entry_rows[i] = numbers[work->entry_rows[i]];
    }
cleanup:
    NADIR_RELEASE(context, row_states, order, numbers);
    return status;
}

/* The common support. */
static nadir_status make_support(workspace *work)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = work->collector->context;
    const nadir_data_table *table = &work->collector->table;
    nadir_samples *made = work->made;
    int64_t *order = NULL;
    NADIR_NEW(context, order, table->count);
    NADIR_NEW(context, work->places, table->count);
    NADIR_NEW(context, made->row_starts, made->rows + 1);
    NADIR_CHECK(nadir_data_table_order(context, table, made->states, made->rows, work->entry_rows, order,
                                       made->row_starts));
    made->nonzeros = made->row_starts[made->rows];
    NADIR_NEW(context, made->columns, made->nonzeros);
    for (int64_t i = 0; i < table->count; i++) {
        work->places[i] = -1;
    }
    for (int64_t i = 0; i < made->nonzeros; i++) {
        work->places[order[i]] = i;
        made->columns[i] = table->entries[order[i]].successor;
    }
cleanup:
    nadir_release(context, order);
    return status;
}

/* Row `row` of outcome `outcome` is wrong. */
static nadir_status row_fail(const workspace *work, int64_t row, int64_t outcome, const char *what)
{
    const nadir_data_collector *collector = work->collector;
    int64_t state = 0;
    while (work->made->state_rows[state + 1] <= row) {
        state++;
    }
    for (int64_t i = 0; i < collector->sample_count; i++) {
        const nadir_data_sample *sample = &collector->samples[i];
        if (sample->outcome == outcome && work->entry_rows[sample->entry] == row) {
            return nadir_data_fail(collector, sample->line, "state %lld, action %d, outcome %lld: %s",
                                   (long long)state, work->made->row_actions[row], (long long)outcome, what);
        }
    }
    return nadir_fail(collector->context, NADIR_ERROR_FORMAT,
                      "%s: state %lld, action %d: no outcome %lld; every outcome must have every row",
                      collector->path, (long long)state, work->made->row_actions[row], (long long)outcome);
}

/* Whether there are lines enough for every row of every outcome, and how many numbers that makes. */
static nadir_status check_outcomes(const workspace *work)
{
    const nadir_data_collector *collector = work->collector;
    const nadir_samples *made = work->made;
    int64_t all;
    if (__builtin_mul_overflow(made->outcomes, made->rows, &all) || all > collector->sample_count) {
        return nadir_fail(
            collector->context, NADIR_ERROR_FORMAT,
            "%s: %lld lines for %lld outcomes of %lld rows; outcomes are numbered from 0, and every "
            "outcome must have every row",
            collector->path, (long long)collector->sample_count, (long long)made->outcomes,
            (long long)made->rows);
    }
    if (__builtin_mul_overflow(made->outcomes, made->nonzeros, &all) ||
        all / 64 > collector->sample_count + 65536) {
        return nadir_fail(
            collector->context, NADIR_ERROR_FORMAT,
            "%s: %lld outcomes have %lld different transitions, but only %lld lines: hardly any in "
            "common",
            collector->path, (long long)made->outcomes, (long long)made->nonzeros,
            (long long)collector->sample_count);
    }
    return NADIR_OK;
}

/* Adds the probabilities up and divides them by the sums of their rows, which must be 1 but for rounding. */
static nadir_status check_sums(workspace *work)
{
    nadir_status status = NADIR_OK;
    const nadir_data_collector *collector = work->collector;
    const nadir_samples *made = work->made;
    NADIR_NEW_ZERO(collector->context, work->sums, made->outcomes * made->rows);
    for (int64_t i = 0; i < collector->sample_count; i++) {
        const nadir_data_sample *sample = &collector->samples[i];
        work->sums[sample->outcome * made->rows + work->entry_rows[sample->entry]] += sample->probability;
    }
    double worst = 0;
    for (int64_t outcome = 0; outcome < made->outcomes; outcome++) {
        for (int64_t row = 0; row < made->rows; row++) {
            double *sum = &work->sums[outcome * made->rows + row];
            const double off = fabs(*sum - 1);
            if (!(off <= NADIR_SUM_TOLERANCE)) {
                char what[96];
                (void)snprintf(what, sizeof what, "the probabilities sum to %.9g; expected 1", *sum);
                return row_fail(work, row, outcome, what);
            }
            worst = off > worst ? off : worst;
            *sum = off <= NADIR_SUM_ROUNDING ? 1 : *sum;
        }
    }
    if (worst > NADIR_SUM_UNSAID) {
        nadir_log(collector->context, NADIR_LOG_NOTICE,
                  "%s: rows of outcomes normalised; their sums were off by up to %.2g", collector->path,
                  worst);
    }
cleanup:
    return status;
}

static nadir_status fill(const workspace *work)
{
    nadir_status status = NADIR_OK;
    const nadir_data_collector *collector = work->collector;
    nadir_samples *made = work->made;
    NADIR_NEW_ZERO(collector->context, made->probabilities, made->outcomes * made->nonzeros);
    if (NADIR_DATA_HAS(collector->columns, NADIR_DATA_REWARD)) {
        NADIR_NEW_ZERO(collector->context, made->reward_sums, made->nonzeros);
    }
    for (int64_t i = 0; i < collector->sample_count; i++) {
        const nadir_data_sample *sample = &collector->samples[i];
        if (!(sample->probability > 0)) {
            continue;
        }
        const int64_t row = work->entry_rows[sample->entry];
        const double probability = sample->probability / work->sums[sample->outcome * made->rows + row];
        const int64_t place = work->places[sample->entry];
        made->probabilities[sample->outcome * made->nonzeros + place] += probability;
        if (made->reward_sums != NULL) {
            made->reward_sums[place] += probability / (double)made->outcomes * sample->reward;
        }
    }
    for (int64_t i = 0; made->reward_sums != NULL && i < made->nonzeros; i++) {
        if (!isfinite(made->reward_sums[i])) {
            return nadir_fail(collector->context, NADIR_ERROR_FORMAT,
                              "%s: the mean of the rewards is larger than any number", collector->path);
        }
    }
cleanup:
    return status;
}

nadir_status nadir_samples_make(nadir_data_collector *collector, nadir_samples **samples)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = collector->context;
    workspace work = {.collector = collector};
    NADIR_CHECK(check_sizes(collector));
    NADIR_NEW_ZERO(context, work.made, 1);
    work.made->states = collector->states;
    work.made->outcomes = collector->outcomes;
    NADIR_CHECK(make_rows(&work));
    NADIR_CHECK(make_support(&work));
    NADIR_CHECK(check_outcomes(&work));
    NADIR_CHECK(check_sums(&work));
    NADIR_CHECK(fill(&work));
    *samples = work.made;
    work.made = NULL;
cleanup:
    nadir_data_table_clear(context, &work.rows);
    NADIR_RELEASE(context, work.entry_rows, work.places, work.sums);
    nadir_samples_free(context, work.made);
    return status;
}
