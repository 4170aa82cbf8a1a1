/* sparse_accumulator.c: a row of a sparse matrix in the making; see sparse_accumulator.h. */
#include "model/kernel.h"

#include <stdlib.h>

/* Rows with more than one entry in this many states are put in order by looking at all states. */
#define CROWDED 16

nadir_status nadir_sparse_accumulator_make(nadir_context *context, int64_t states,
                                           nadir_sparse_accumulator *accumulator)
{
    nadir_status status = NADIR_OK;
    nadir_sparse_accumulator made = {.states = states};
    NADIR_NEW_ZERO(context, made.sums, states);
    NADIR_NEW_ZERO(context, made.present, states);
    NADIR_NEW(context, made.found, states);
    *accumulator = made;
    made = (nadir_sparse_accumulator){0};
cleanup:
    nadir_sparse_accumulator_clear(context, &made);
    return status;
}

void nadir_sparse_accumulator_clear(nadir_context *context, nadir_sparse_accumulator *accumulator)
{
    nadir_release(context, accumulator->sums);
    nadir_release(context, accumulator->present);
    nadir_release(context, accumulator->found);
    *accumulator = (nadir_sparse_accumulator){0};
}

static int by_number(const void *left, const void *right)
{
    const int32_t a = *(const int32_t *)left;
    const int32_t b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

/* Puts the states found in rising order. */
static void sort(const nadir_sparse_accumulator *accumulator)
{
    if (accumulator->count <= accumulator->states / CROWDED) {
        qsort(accumulator->found, (size_t)accumulator->count, sizeof *accumulator->found, by_number);
        return;
    }
    int64_t to = 0;
    for (int64_t t = 0; to < accumulator->count; t++) {
        if (accumulator->present[t]) {
            accumulator->found[to++] = (int32_t)t;
        }
    }
}

int64_t nadir_sparse_accumulator_take(nadir_sparse_accumulator *accumulator, int32_t *columns, double *values)
{
    const int64_t count = accumulator->count;
    if (columns != NULL) {
        sort(accumulator);
    }
    for (int64_t i = 0; i < count; i++) {
        const int32_t t = accumulator->found[i];
        values[columns != NULL ? i : t] = accumulator->sums[t];
        if (columns != NULL) {
            columns[i] = t;
        }
        accumulator->sums[t] = 0;
        accumulator->present[t] = false;
    }
    accumulator->count = 0;
    return count;
}
