/* evidence.c: what the data say of every row; see evidence.h. */
#include "fit/evidence.h"

#include <math.h>

double nadir_evidence_reach(int64_t allowed, double norm)
{
    const double share = 1 / (double)allowed;
    const double others = (double)(allowed - 1); /* each at share = (1 - share) / others */
    return isinf(norm) || allowed <= 1 ? 1 - share
                                       : (1 - share) * pow(1 + others * pow(others, -norm), 1 / norm);
}

/* Whether all seen successors of the row are listed. Both lists are sorted. *stranger: the first that is not. */
static bool is_allowed(const nadir_evidence *evidence, int64_t row, int32_t *stranger)
{
    const nadir_counts *listed = evidence->listed;
    int64_t index = listed->row_starts[row];
    for (int64_t i = evidence->row_starts[row]; i < evidence->row_starts[row + 1]; i++) {
        while (index < listed->row_starts[row + 1] && listed->columns[index] < evidence->columns[i]) {
            index++;
        }
        if (index == listed->row_starts[row + 1] || listed->columns[index] != evidence->columns[i]) {
            *stranger = evidence->columns[i];
            return false;
        }
    }
    return true;
}

/* How many successors the row may have; a row without data, and of which nothing is listed, may go
 * anywhere. */
static int64_t count_allowed(const nadir_evidence *evidence, const nadir_evidence_settings *settings,
                             int64_t row)
{
    const int64_t seen = nadir_evidence_seen(evidence, row);
    const nadir_counts *listed = settings->listed;
    const int64_t named = listed != NULL ? listed->row_starts[row + 1] - listed->row_starts[row] : seen;
    return settings->all || named == 0 ? evidence->states : named;
}

static nadir_row_kind kind_of(const nadir_evidence *evidence, const nadir_evidence_settings *settings,
                              int64_t row)
{
    if (nadir_evidence_seen(evidence, row) == 0) {
        return settings->unvisited == NADIR_UNVISITED_UNIFORM && evidence->samples == NULL &&
                       evidence->allowed[row] > 1
                   ? NADIR_ROW_UNSEEN
                   : NADIR_ROW_KNOWN;
    }
    return evidence->allowed[row] > 1 ? NADIR_ROW_DRAWN : NADIR_ROW_KNOWN;
}

static void fill_row(nadir_evidence *evidence, const nadir_evidence_settings *settings, int64_t row)
{
    double visits = 0;
    for (int64_t i = evidence->row_starts[row]; evidence->counts != NULL && i < evidence->row_starts[row + 1];
         i++) {
        visits += evidence->counts[i];
    }
    evidence->allowed[row] = evidence->samples != NULL
                                 ? (int64_t)fmax((double)nadir_evidence_seen(evidence, row), 1)
                                 : count_allowed(evidence, settings, row);
    evidence->visits[row] = visits;
    evidence->each[row] = isnan(settings->concentration) ? settings->prior / (double)evidence->allowed[row]
                                                         : settings->concentration;
    evidence->kinds[row] = (unsigned char)kind_of(evidence, settings, row);
    if (evidence->terminal && row == evidence->rows - 1) {
        evidence->allowed[row] = 1;
        evidence->kinds[row] = NADIR_ROW_KNOWN;
    }
}

/* The mean over all outcomes; the outer loop is over outcomes, so that memory is read in order. */
static nadir_status average_samples(nadir_context *context, nadir_evidence *evidence)
{
    nadir_status status = NADIR_OK;
    const nadir_samples *samples = evidence->samples;
    NADIR_NEW_ZERO(context, evidence->mean, samples->nonzeros);
    for (int64_t k = 0; k < samples->outcomes; k++) {
        const double *outcome = &samples->probabilities[k * samples->nonzeros];
        for (int64_t i = 0; i < samples->nonzeros; i++) {
            evidence->mean[i] += outcome[i] / (double)samples->outcomes;
        }
    }
cleanup:
    return status;
}

/* Adds a row for each terminal state: samples have none, a model has one that stays. */
static nadir_status add_terminals(nadir_context *context, nadir_evidence *evidence)
{
    nadir_status status = NADIR_OK;
    const nadir_samples *samples = evidence->samples;
    int64_t rows = 0;
    NADIR_NEW(context, evidence->own_state_rows, samples->states + 1);
    NADIR_NEW(context, evidence->own_row_starts, samples->rows + samples->states + 1);
    NADIR_NEW(context, evidence->own_row_actions, samples->rows + samples->states);
    for (int64_t state = 0; state < samples->states; state++) {
        const int64_t first = samples->state_rows[state];
        const int64_t end = samples->state_rows[state + 1];
        evidence->own_state_rows[state] = rows;
        for (int64_t row = first; row < end; row++) {
            evidence->own_row_actions[rows] = samples->row_actions[row];
            evidence->own_row_starts[rows++] = samples->row_starts[row];
        }
        if (first == end) {
            evidence->own_row_actions[rows] = 0;
            evidence->own_row_starts[rows++] = samples->row_starts[first];
        }
    }
    evidence->own_state_rows[samples->states] = rows;
    evidence->own_row_starts[rows] = samples->nonzeros;
    evidence->rows = rows;
    evidence->state_rows = evidence->own_state_rows;
    evidence->row_starts = evidence->own_row_starts;
    evidence->row_actions = evidence->own_row_actions;
cleanup:
    return status;
}

static void set_pointers(const nadir_data *data, nadir_evidence *evidence)
{
    const nadir_counts *counts = data->counts;
    const nadir_samples *samples = data->samples;
    if (samples != NULL) {
        *evidence =
            (nadir_evidence){.states = samples->states, .columns = samples->columns, .samples = samples};
    } else {
        *evidence = (nadir_evidence){.states = counts->states,
                                     .rows = counts->rows,
                                     .state_rows = counts->state_rows,
                                     .row_starts = counts->row_starts,
                                     .columns = counts->columns,
                                     .counts = counts->counts,
                                     .terminal = counts->terminal};
    }
}

nadir_status nadir_evidence_make(nadir_context *context, const nadir_data *data,
                                 const nadir_evidence_settings *settings, nadir_evidence *evidence)
{
    nadir_status status = NADIR_OK;
    set_pointers(data, evidence);
    evidence->listed = settings->listed;
    if (evidence->samples != NULL) {
        NADIR_CHECK(add_terminals(context, evidence));
    }
    NADIR_NEW(context, evidence->kinds, evidence->rows);
    NADIR_NEW(context, evidence->allowed, evidence->rows);
    NADIR_NEW(context, evidence->visits, evidence->rows);
    NADIR_NEW(context, evidence->each, evidence->rows);
    for (int64_t state = 0; state < evidence->states; state++) {
        for (int64_t row = evidence->state_rows[state]; row < evidence->state_rows[state + 1]; row++) {
            int32_t stranger;
            fill_row(evidence, settings, row);
            if (evidence->listed != NULL && !is_allowed(evidence, row, &stranger)) {
                NADIR_CHECK(nadir_fail(
                    context, NADIR_ERROR_MODEL,
                    "state %lld, action %lld: the data have successor %ld, which is not among those "
                    "allowed; list it too, or allow all",
                    (long long)state, (long long)(row - evidence->state_rows[state]), (long)stranger));
            }
        }
    }
    if (evidence->samples != NULL) {
        NADIR_CHECK(average_samples(context, evidence));
    }
cleanup:
    if (status != NADIR_OK) {
        nadir_evidence_clear(context, evidence);
    }
    return status;
}

void nadir_evidence_clear(nadir_context *context, nadir_evidence *evidence)
{
    NADIR_RELEASE(context, evidence->kinds, evidence->allowed, evidence->visits, evidence->each,
                  evidence->mean, evidence->own_state_rows, evidence->own_row_starts,
                  evidence->own_row_actions);
    *evidence = (nadir_evidence){0};
}

void nadir_evidence_count_drawn(const nadir_evidence *evidence, int64_t *rows, int64_t *states)
{
    *rows = 0;
    *states = 0;
    for (int64_t state = 0; state < evidence->states; state++) {
        const int64_t before = *rows;
        for (int64_t row = evidence->state_rows[state]; row < evidence->state_rows[state + 1]; row++) {
            *rows += evidence->kinds[row] == NADIR_ROW_DRAWN ? 1 : 0;
        }
        *states += *rows > before ? 1 : 0;
    }
}
