/*
 * data.h: logged data read into counts, posterior samples into kernels.
 *
 * A file of data is a CSV table or a NumPy array of records, and its columns tell what it holds:
 *
 *     transitions    idstatefrom, idaction, idstateto [, reward]             a line for each observation
 *     counts         the same and count                                      a line for many observations
 *     trajectories   episode, step, state, action [, next_state] [, reward]  a line for each step
 *     samples        idoutcome, idstatefrom, idaction, idstateto, probability [, reward]
 *
 * Files are streamed: beside a fixed buffer, memory grows with the number of different transitions alone.
 */
#ifndef NADIR_DATA_DATA_H
#define NADIR_DATA_DATA_H

#include "data/counts.h"
#include "data/samples.h"

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

/* Reads a file; path "-": standard input, as CSV. settings NULL: all zero. Wrong data are NADIR_ERROR_FORMAT
 * with file and line. On failure *data is empty; nadir_data_clear is legal in any case. */
nadir_status nadir_data_read(nadir_context *context, const char *path, const nadir_data_settings *settings,
                             nadir_data *data);
void nadir_data_clear(nadir_context *context, nadir_data *data);

#endif
