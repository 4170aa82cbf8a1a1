/* counts.c: from the table of transitions to counts in rows; see data.h. */
#include "fit/data.h"

#include <math.h>

void nadir_counts_free(nadir_context *context, nadir_counts *counts)
{
    if (counts == NULL) {
        return;
    }
    NADIR_RELEASE(context, counts->state_rows, counts->row_starts, counts->columns, counts->counts,
                  counts->reward_sums, counts->reward_squares, counts->initial, counts);
}

/* The first row of each state. */
static nadir_status lay_out_states(const nadir_data_collector *collector, nadir_counts *counts)
{
    nadir_status status = NADIR_OK;
    const nadir_data_settings *settings = &collector->settings;
    int64_t *starts = NULL;
    NADIR_NEW_ZERO(collector->context, starts, counts->states + 1);
    counts->state_rows = starts;
    for (int64_t i = 0; settings->ragged && i < collector->table.count; i++) {
        const nadir_data_entry *entry = &collector->table.entries[i];
        const int64_t actions = (int64_t)entry->action + 1;
        starts[entry->state + 1] = actions > starts[entry->state + 1] ? actions : starts[entry->state + 1];
    }
    const int64_t actions = settings->actions > 0 ? settings->actions : collector->actions;
    for (int64_t s = 0; s < counts->states; s++) {
        const int64_t here = starts[s + 1] > 0 ? starts[s + 1] : 1;
        starts[s + 1] = starts[s] + (settings->ragged ? here : actions);
    }
    if (counts->terminal) {
        starts[counts->states] = starts[counts->states - 1] + 1;
    }
    counts->rows = starts[counts->states];
    const bool given = settings->actions > 0 && !settings->ragged;
    if (!given) {
        NADIR_CHECK(
            nadir_data_check_gaps(collector, "action", collector->actions - 1, counts->rows, counts->states));
    }
cleanup:
    return status;
}

static nadir_status fill_rows(const nadir_data_collector *collector, nadir_counts *counts)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = collector->context;
    const nadir_data_table *table = &collector->table;
    int64_t *entry_rows = NULL;
    int64_t *order = NULL;
    NADIR_NEW(context, entry_rows, table->count);
    NADIR_NEW(context, order, table->count);
    NADIR_NEW(context, counts->row_starts, counts->rows + 1);
    for (int64_t i = 0; i < table->count; i++) {
        entry_rows[i] = counts->state_rows[table->entries[i].state] + table->entries[i].action;
    }
    NADIR_CHECK(nadir_data_table_order(context, table, counts->states, counts->rows, entry_rows, order,
                                       counts->row_starts));
    counts->nonzeros = counts->row_starts[counts->rows];
    NADIR_NEW(context, counts->columns, counts->nonzeros);
    NADIR_NEW(context, counts->counts, counts->nonzeros);
    if (NADIR_DATA_HAS(collector->columns, NADIR_DATA_REWARD)) {
        NADIR_NEW(context, counts->reward_sums, counts->nonzeros);
        NADIR_NEW(context, counts->reward_squares, counts->nonzeros);
    }
    double rewards = 0;
    for (int64_t i = 0; i < counts->nonzeros; i++) {
        const nadir_data_entry *entry = &table->entries[order[i]];
        counts->columns[i] = entry->successor;
        counts->counts[i] = entry->count;
        counts->total += entry->count;
        rewards += fabs(entry->reward);
        if (counts->reward_sums != NULL) {
            counts->reward_sums[i] = entry->reward;
            counts->reward_squares[i] = fmax(entry->square, 0);
        }
    }
    if (!isfinite(counts->total) || !isfinite(rewards)) {
        status = nadir_fail(context, NADIR_ERROR_FORMAT, "%s: the sum of the %s is larger than any number",
                            collector->path, isfinite(counts->total) ? "rewards" : "counts");
    }
cleanup:
    NADIR_RELEASE(context, entry_rows, order);
    return status;
}

static nadir_status fill_initial(const nadir_data_collector *collector, nadir_counts *counts)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW_ZERO(collector->context, counts->initial, counts->states);
    for (int64_t i = 0; i < collector->starts.count; i++) {
        counts->initial[collector->starts.entries[i].state] = collector->starts.entries[i].count;
    }
    counts->episodes = collector->episodes;
cleanup:
    return status;
}

nadir_status nadir_counts_make(nadir_data_collector *collector, nadir_counts **counts)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = collector->context;
    nadir_counts *made = NULL;
    NADIR_NEW_ZERO(context, made, 1);
    made->states = collector->states;
    made->terminal = collector->terminal;
    made->observations = collector->observations;
    made->dropped = collector->dropped;
    if (collector->settings.states == 0) {
        NADIR_CHECK(nadir_data_check_gaps(collector, "state", made->states - 1, made->states, 0));
    }
    NADIR_CHECK(lay_out_states(collector, made));
    NADIR_CHECK(fill_rows(collector, made));
    if (!(made->total > 0)) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_FORMAT, "%s: all counts are 0", collector->path));
    }
    for (int64_t row = 0; row < made->rows; row++) {
        made->visited += made->row_starts[row + 1] > made->row_starts[row];
    }
    made->visited += made->terminal ? 1 : 0;
    if (collector->kind == NADIR_DATA_TRAJECTORIES) {
        NADIR_CHECK(fill_initial(collector, made));
    }
    *counts = made;
    made = NULL;
cleanup:
    nadir_counts_free(context, made);
    return status;
}
