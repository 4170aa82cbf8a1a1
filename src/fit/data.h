/*
 * data.h: logged data as counts, posterior samples as kernels. Their columns tell what they are:
 *
 *     transitions    idstatefrom, idaction, idstateto [, reward]             a line for each observation
 *     counts         the same and count                                      a line for many observations
 *     trajectories   episode, step, state, action [, next_state] [, reward]  a line for each step
 *     samples        idoutcome, idstatefrom, idaction, idstateto, probability [, reward]
 *
 * Readers of files (io/log_file.h) give them row by row (count_transitions.h): memory grows with the number of
 * different transitions alone.
 */
#ifndef NADIR_FIT_DATA_H
#define NADIR_FIT_DATA_H

#include "core/context.h"

/*
 * How often each transition was observed.
 *
 * N(s, a, s') as a matrix of rows in CSR form, laid out as the rows of a model are. Counts are doubles: whole
 * numbers where observations were counted (exact up to 2^53), but a column `count` may also hold weights or
 * pseudo-counts of an expert, for which a Dirichlet posterior is defined as well.
 */
typedef struct nadir_counts {
    int64_t states;
    int64_t rows;         /* all (state, action), visited or not; every state has at least one */
    int64_t nonzeros;     /* different transitions seen */
    int64_t visited;      /* rows with at least one of them */
    int64_t observations; /* lines of the data that hold a transition */
    double total;         /* sum of the counts */
    int64_t
        *state_rows; /* [states + 1] first row of each state: action a of state s is row state_rows[s] + a */
    int64_t *row_starts; /* [rows + 1] first transition of each row */
    int32_t *columns;    /* [nonzeros] successors, rising within a row */
    double *counts;      /* [nonzeros] > 0 */
    double *
        reward_sums; /* [nonzeros] sum of count * reward of each transition; NULL: the data have no rewards */
    int64_t episodes; /* 0: the data are no trajectories */
    double *initial;  /* [states] how many episodes began in each state; NULL: the data are no trajectories */
} nadir_counts;

void nadir_counts_free(nadir_context *context, nadir_counts *counts);

/*
 * Kernels drawn from a posterior, on a common support.
 *
 * Every outcome is a kernel of the same rows; probabilities[k * nonzeros + i] is that of transition i in
 * outcome k, 0 where the outcome does not have it.
 */
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

typedef enum nadir_data_kind {
    NADIR_DATA_TRANSITIONS,
    NADIR_DATA_COUNTS,
    NADIR_DATA_TRAJECTORIES,
    NADIR_DATA_SAMPLES
} nadir_data_kind;

/* "transitions", "counts", "trajectories", "samples". */
const char *nadir_data_kind_name(nadir_data_kind kind);

/* All zero: everything from the data. */
typedef struct nadir_data_settings {
    int64_t states;  /* 0: one more than the largest seen; a larger number in the data is an error */
    int64_t actions; /* of every state; 0: one more than the largest seen in any state */
    bool ragged;     /* actions of a state: one more than the largest seen there, at least one */
} nadir_data_settings;

/* What a file of data holds. */
typedef struct nadir_data {
    nadir_data_kind kind;
    nadir_counts *counts;   /* NULL for samples */
    nadir_samples *samples; /* NULL for anything else */
} nadir_data;

void nadir_data_clear(nadir_context *context, nadir_data *data);

#endif
