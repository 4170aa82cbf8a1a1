/* gather.c: a row of a sparse matrix in the making; see gather.h. */
#include "kernel/sparse_accumulator.h"

#include <stdlib.h>

/* Rows with more than one entry in this many states are put in order by looking at all states. */
#define CROWDED 16

nadir_status nadir_sparse_accumulator_make(nadir_context *context, int64_t states,
                                           nadir_sparse_accumulator *gather)
{
    nadir_status status = NADIR_OK;
    nadir_sparse_accumulator made = {.states = states};
    NADIR_NEW_ZERO(context, made.sums, states);
    NADIR_NEW_ZERO(context, made.present, states);
    NADIR_NEW(context, made.found, states);
    *gather = made;
    made = (nadir_sparse_accumulator){0};
cleanup:
    nadir_sparse_accumulator_clear(context, &made);
    return status;
}

void nadir_sparse_accumulator_clear(nadir_context *context, nadir_sparse_accumulator *gather)
{
    nadir_release(context, gather->sums);
    nadir_release(context, gather->present);
    nadir_release(context, gather->found);
    *gather = (nadir_sparse_accumulator){0};
}

static int by_number(const void *left, const void *right)
{
    const int32_t a = *(const int32_t *)left;
    const int32_t b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

/* Puts the states found in rising order. */
static void sort(const nadir_sparse_accumulator *gather)
{
    if (gather->count <= gather->states / CROWDED) {
        qsort(gather->found, (size_t)gather->count, sizeof *gather->found, by_number);
        return;
    }
    int64_t to = 0;
    for (int64_t t = 0; to < gather->count; t++) {
        if (gather->present[t]) {
            gather->found[to++] = (int32_t)t;
        }
    }
}

int64_t nadir_sparse_accumulator_take(nadir_sparse_accumulator *gather, int32_t *columns, double *values)
{
    const int64_t count = gather->count;
    if (columns != NULL) {
        sort(gather);
    }
    for (int64_t i = 0; i < count; i++) {
        const int32_t t = gather->found[i];
        values[columns != NULL ? i : t] = gather->sums[t];
        if (columns != NULL) {
            columns[i] = t;
        }
        gather->sums[t] = 0;
        gather->present[t] = false;
    }
    gather->count = 0;
    return count;
}
