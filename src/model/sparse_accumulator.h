/*
 * sparse_accumulator.h: a row of a sparse matrix in the making, from entries in any order.
 */
#ifndef NADIR_MODEL_SPARSE_ACCUMULATOR_H
#define NADIR_MODEL_SPARSE_ACCUMULATOR_H

#include "core/context.h"

typedef struct nadir_sparse_accumulator {
    int64_t states;
    double *sums;   /* [states] zero where there is no entry */
    bool *present;  /* [states] */
    int32_t *found; /* [states] in the order in which they came */
    int64_t count;
} nadir_sparse_accumulator;

/* A struct of zeros is empty. On failure nothing is left. */
nadir_status nadir_sparse_accumulator_make(nadir_context *context, int64_t states,
                                           nadir_sparse_accumulator *accumulator);
void nadir_sparse_accumulator_clear(nadir_context *context, nadir_sparse_accumulator *accumulator);

static inline void nadir_sparse_accumulator_add(nadir_sparse_accumulator *accumulator, int64_t state,
                                                double value)
{
    if (!accumulator->present[state]) {
        accumulator->present[state] = true;
        accumulator->found[accumulator->count++] = (int32_t)state;
    }
    accumulator->sums[state] += value;
}

/* Writes the row with rising columns and returns how many entries it has; none are left. columns NULL: each
 * entry goes to values[its state]. */
int64_t nadir_sparse_accumulator_take(nadir_sparse_accumulator *accumulator, int32_t *columns,
                                      double *values);

#endif
