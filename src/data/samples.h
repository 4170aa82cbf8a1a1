/*
 * samples.h: kernels drawn from a posterior, on a common support.
 *
 * Every outcome is a kernel of the same rows; probabilities[k * nonzeros + i] is that of transition i in
 * outcome k, 0 where the outcome does not have it.
 */
#ifndef NADIR_DATA_SAMPLES_H
#define NADIR_DATA_SAMPLES_H

#include "base/context.h"

typedef struct nadir_samples {
    int64_t states;
    int64_t rows;
    int64_t nonzeros; /* transitions that some outcome has */
    int64_t outcomes;
    int64_t *state_rows;   /* [states + 1] first row of each state; a state without rows is terminal */
    int32_t *row_actions;  /* [rows] action numbers, rising within a state */
    int64_t *row_starts;   /* [rows + 1] */
    int32_t *columns;      /* [nonzeros] successors, rising within a row */
    double *probabilities; /* [outcomes * nonzeros] every row of every outcome sums to 1 */
    double *rewards;       /* [rows] expected reward, averaged over the outcomes; NULL: the file has none */
} nadir_samples;

void nadir_samples_free(nadir_context *context, nadir_samples *samples);

#endif
