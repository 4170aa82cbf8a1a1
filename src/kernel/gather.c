/* gather.c: a row of a sparse matrix in the making; see gather.h. */
#include "kernel/gather.h"

#include <stdlib.h>

/* Rows with more than one entry in this many states are put in order by looking at all states. */
#define CROWDED 16

nadir_status nadir_gather_make(nadir_context *context, int64_t states, nadir_gather *gather)
{
    nadir_status status = NADIR_OK;
    nadir_gather made = {.states = states};
    NADIR_NEW_ZERO(context, made.sums, states);
    NADIR_NEW_ZERO(context, made.present, states);
    NADIR_NEW(context, made.found, states);
    *gather = made;
    made = (nadir_gather){0};
cleanup:
    nadir_gather_clear(context, &made);
    return status;
}

void nadir_gather_clear(nadir_context *context, nadir_gather *gather)
{
    nadir_release(context, gather->sums);
    nadir_release(context, gather->present);
    nadir_release(context, gather->found);
    *gather = (nadir_gather){0};
}

static int by_number(const void *left, const void *right)
{
    const int32_t a = *(const int32_t *)left;
    const int32_t b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

/* Puts the states found in rising order. */
static void sort(const nadir_gather *gather)
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

int64_t nadir_gather_take(nadir_gather *gather, int32_t *columns, double *values)
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
