/*
 * count_transitions.h: rows of a data file, checked and added up one by one; then counts or samples of them.
 *
 * Readers give rows as they come; everything that does not depend on how the file is written is checked here.
 */
#ifndef NADIR_FIT_COUNT_TRANSITIONS_H
#define NADIR_FIT_COUNT_TRANSITIONS_H

#include "fit/data.h"

/* The columns that data may have. */
enum {
    NADIR_DATA_STATE,
    NADIR_DATA_ACTION,
    NADIR_DATA_SUCCESSOR,
    NADIR_DATA_REWARD,
    NADIR_DATA_COUNT,
    NADIR_DATA_EPISODE,
    NADIR_DATA_STEP,
    NADIR_DATA_OUTCOME,
    NADIR_DATA_PROBABILITY,
    NADIR_DATA_COLUMNS
};

#define NADIR_DATA_HAS(columns, which) (((columns) >> (which)&1U) != 0)

/* One line of a CSV file or one record of an array. */
typedef struct nadir_data_row {
    int64_t line;   /* of the file from 1, or number of the record from 0 */
    unsigned there; /* bit i: column i has a value */
    int64_t state, action, successor, episode, step, outcome;
    double reward, count, probability;
} nadir_data_row;

/* One line of posterior samples. */
typedef struct nadir_data_sample {
    int64_t entry; /* number of the transition in the table */
    int32_t outcome;
    uint32_t line; /* for messages */
    double probability;
    double reward;
} nadir_data_sample;

typedef struct nadir_data_collector {
    nadir_context *context;
    const char *path; /* for messages */
    bool records;     /* places are records of an array, not lines of a text */
    nadir_data_kind kind;
    unsigned columns; /* bit i: the file has column i */
    nadir_data_settings settings;

    nadir_data_table table;
    int64_t states, actions; /* one more than the largest seen */
    int64_t observations;

    nadir_data_table starts; /* of episodes: (state, 0, 0) */
    nadir_data_row last;     /* the step before */
    int64_t episodes;
    int64_t open_ends; /* episodes whose last action has no known outcome */

    nadir_data_sample *samples; /* [sample_count] */
    int64_t sample_count;
    size_t sample_capacity;
    int64_t outcomes; /* one more than the largest seen */
} nadir_data_collector;

/* path is kept, not copied; settings NULL: all zero. To be cleared in any case. */
nadir_status nadir_data_collector_start(nadir_context *context, const char *path,
                                        const nadir_data_settings *settings, nadir_data_collector *collector);
void nadir_data_collector_clear(nadir_data_collector *collector);

/* "FILE:LINE: sentence" or "FILE: record NUMBER: sentence" as a NADIR_ERROR_FORMAT. */
nadir_status nadir_data_fail(const nadir_data_collector *collector, int64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Once kind and columns are set. */
nadir_status nadir_data_collect(nadir_data_collector *collector, const nadir_data_row *row);

/* Once all rows are there. */
nadir_status nadir_data_collect_end(nadir_data_collector *collector);

/* The most states, and the most actions in all of `states` states, that the numbers in a file may ask for:
 * numbers that no transition mentions cost memory all the same, so that a file may not skip many of them. */
int64_t nadir_data_states_limit(const nadir_data_collector *collector);
int64_t nadir_data_rows_limit(const nadir_data_collector *collector, int64_t states);

/* After nadir_data_collect_end. */
nadir_status nadir_counts_make(nadir_data_collector *collector, nadir_counts **counts);
nadir_status nadir_samples_make(nadir_data_collector *collector, nadir_samples **samples);

#endif
