/* average_expand.c: an average with its tails written out, for those who need a matrix; see average.h. */
#include "model/average.h"
#include "model/kernel.h"

/* The entries of one state: M, then its tails over their stretches, then the extra states. */
static void gather_state(const nadir_average *average, int64_t state, nadir_sparse_accumulator *accumulator)
{
    const nadir_offsupport_tail *tail = &average->tail;
    const nadir_sorted_states *sorted = &tail->sorted;
    const nadir_matrix *matrix = &average->matrix;
    for (int64_t i = matrix->starts[state]; i < matrix->starts[state + 1]; i++) {
        nadir_sparse_accumulator_add(accumulator, matrix->columns[i], matrix->values[i]);
    }
    for (int64_t i = tail->last.starts[state]; i < tail->last.starts[state + 1]; i++) {
        const int64_t end = tail->last.columns[i];
        for (int64_t j = 0; j <= end; j++) {
            const double amount = tail->last.values[i] + tail->slope[i] * (sorted->x[end] - sorted->x[j]);
            nadir_sparse_accumulator_add(accumulator, sorted->order[j], amount);
        }
    }
    for (int64_t i = tail->extra.starts[state]; i < tail->extra.starts[state + 1]; i++) {
        nadir_sparse_accumulator_add(accumulator, tail->extra.columns[i], tail->extra.values[i]);
    }
}

static nadir_status write_out(nadir_context *context, const nadir_average *average, nadir_entries *entries)
{
    nadir_status status = NADIR_OK;
    const int64_t n = average->states;
    const int64_t most = average->matrix.starts[n] + nadir_offsupport_tail_entries(&average->tail);
    nadir_sparse_accumulator accumulator = {0};
    NADIR_CHECK(nadir_sparse_accumulator_make(context, n, &accumulator));
    NADIR_NEW(context, entries->starts, n + 1);
    NADIR_NEW(context, entries->columns, most);
    NADIR_NEW(context, entries->values, most);
    entries->starts[0] = 0;
    for (int64_t s = 0; s < n; s++) {
        const int64_t start = entries->starts[s];
        gather_state(average, s, &accumulator);
        entries->starts[s + 1] = start + nadir_sparse_accumulator_take(&accumulator, entries->columns + start,
                                                                       entries->values + start);
        NADIR_CHECK(s % 1024 == 0 ? nadir_progress(context, "writing out the kernel", (double)s / (double)n)
                                  : NADIR_OK);
    }
    NADIR_RESIZE(context, entries->columns, entries->starts[n]);
    NADIR_RESIZE(context, entries->values, entries->starts[n]);
cleanup:
    nadir_sparse_accumulator_clear(context, &accumulator);
    return status;
}

nadir_status nadir_average_expand(nadir_context *context, nadir_average *average)
{
    nadir_status status = NADIR_OK;
    nadir_entries entries = {0};
    if (average->tail.states == 0) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_average_fetch(context, average));
    NADIR_CHECK(write_out(context, average, &entries));
    if (average->device_matrix != NULL) {
        average->device->matrix_free(average->device_matrix);
        average->device_matrix = NULL;
    }
    nadir_entries_clear(context, &average->transpose);
    average->transposed_row = 0;
    nadir_entries_clear(context, &average->entries);
    nadir_offsupport_tail_clear(context, &average->tail);
    average->entries = entries;
    average->changed = true;
    average->matrix.starts = entries.starts;
    average->matrix.columns = entries.columns;
    average->matrix.values = entries.values;
    average->norm = nadir_matrix_norm(context, &average->matrix);
    entries = (nadir_entries){0};
cleanup:
    nadir_entries_clear(context, &entries);
    return status;
}
