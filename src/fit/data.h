/*
 * data.h: logged data as counts, posterior samples as kernels. Their columns tell what they are:
 *
 *     transitions    idstatefrom, idaction, idstateto [, reward]             a line for each observation
 *     counts         the same and count                                      a line for many observations
 *     trajectories   episode [, step], state, action [, next_state] [, reward]  a line for each step
 *     samples        idoutcome, idstatefrom, idaction, idstateto, probability [, reward]
 *
 * Transitions, counts and trajectories may have a column `done`: such a line leads to one terminal state, the last
 * one of the model, which stays and pays nothing. After `truncated` the episode ends, and the state goes on.
 * States and actions are whole numbers from 0, or names, which are numbered as they appear.
 *
 * Readers of files (io/log_file.c) give them row by row: memory grows with the number of
 * different transitions alone.
 */
#ifndef NADIR_FIT_DATA_H
#define NADIR_FIT_DATA_H

#include "core/context.h"
#include "model/model.h"

/* ---- Counts and samples ------------------------------------------------------------------------------ */

/*
 * How often each transition was observed: N(s, a, s') as a matrix of rows in CSR form, laid out as the rows of a model are. Counts are doubles: whole
 * numbers where observations were counted (exact up to 2^53), but a column `count` may also hold weights or
 * pseudo-counts of an expert, for which a Dirichlet posterior is defined as well.
 */
typedef struct nadir_counts {
    int64_t states;
    int64_t rows;         /* all (state, action), visited or not; every state has at least one */
    int64_t nonzeros;     /* different transitions seen */
    int64_t visited;      /* rows with at least one of them */
    int64_t observations; /* lines of the data that hold a transition */
    int64_t dropped;      /* lines with an action whose next state is not known */
    bool
        terminal; /* the last state is: it has one row, without counts, which is known and counts as visited */
    double total; /* sum of the counts */
    int64_t
        *state_rows; /* [states + 1] first row of each state: action a of state s is row state_rows[s] + a */
    int64_t *row_starts; /* [rows + 1] first transition of each row */
    int32_t *columns;    /* [nonzeros] successors, rising within a row */
    double *counts;      /* [nonzeros] > 0 */
    double *
        reward_sums; /* [nonzeros] sum of count * reward of each transition; NULL: the data have no rewards */
    double *reward_squares; /* [nonzeros] sum of count * (reward - mean)^2; NULL: likewise */
    int64_t episodes;       /* 0: the data are no trajectories */
    double *initial; /* [states] how many episodes began in each state; NULL: the data are no trajectories */
} nadir_counts;

void nadir_counts_free(nadir_context *context, nadir_counts *counts);

/*
 * Kernels drawn from a posterior, on a common support. Every outcome is a kernel of the same rows; probabilities[k * nonzeros + i] is that of transition i in
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
    double
        *reward_sums; /* [nonzeros] mean over the outcomes of probability * reward; NULL: the file has none */
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
    int64_t states;      /* 0: one more than the largest seen; a larger number in the data is an error */
    int64_t actions;     /* of every state; 0: one more than the largest seen in any state */
    bool ragged;         /* actions of a state: one more than the largest seen there, at least one */
    const char *columns; /* "state=NAME,action=NAME,...": what columns are called; NULL: by common names */
    const char *const
        *names[2]; /* [names_count] of states and of actions, which are numbered first; or NULL */
    int64_t names_count[2];
    const struct nadir_data
        *alike; /* names of states and actions, and the terminal state, are those of these data */
} nadir_data_settings;

/* What a file of data holds. */
typedef struct nadir_data {
    nadir_data_kind kind;
    nadir_counts *counts;   /* NULL for samples */
    nadir_samples *samples; /* NULL for anything else */
    nadir_names names[2];   /* of states and of actions; empty: they are numbers */
} nadir_data;

void nadir_data_clear(nadir_context *context, nadir_data *data);

/* ---- Transition table -------------------------------------------------------------------------------- */

/*
 * Sums over transitions, found by (state, action, successor).
 *
 * The transitions stand in the order in which they first came, 40 bytes each; beside them an open-addressing
 * table of their numbers, at most half full, so that a look-up takes two memory accesses.
 */

typedef struct nadir_data_entry {
    int32_t state, action, successor;
    uint32_t mark; /* part of the hash: rejects most other entries, and gives the slot when the table grows */
    double count;
    double reward; /* sum of count * reward */
    double square; /* sum of count * (reward - mean)^2 */
} nadir_data_entry;

/* All zero is empty. */
typedef struct nadir_data_table {
    nadir_data_entry *entries; /* [count] */
    int64_t count;
    size_t capacity; /* of entries */
    int64_t *slots;  /* [slot_count], a power of two: number of an entry, -1: none */
    size_t slot_count;
} nadir_data_table;

/* *index: the number of the transition, which is added, with sums of 0, if it was not there. */
nadir_status nadir_data_table_find(nadir_context *context, nadir_data_table *table, int32_t state,
                                   int32_t action, int32_t successor, int64_t *index);
/* Prefetches the memory of a transition that will be looked up soon: a table larger than the cache is then
 * several times as fast. Call it far ahead with `near` false, then half as far ahead with true. */
void nadir_data_table_expect(const nadir_data_table *table, int64_t state, int64_t action, int64_t successor,
                             bool near);
/* After the last look-up: releases the slots, keeps the entries. */
void nadir_data_table_close(nadir_context *context, nadir_data_table *table);
void nadir_data_table_clear(nadir_context *context, nadir_data_table *table);

/* The numbers of the entries in the order of their rows and, within a row, of their successors, by two
 * counting sorts. entry_rows: [count] the row of each entry, below `rows`; successors are below `states`.
 * Entries whose count is 0 are left out. Fills row_starts, [rows + 1], and order, [row_starts[rows]]. */
nadir_status nadir_data_table_order(nadir_context *context, const nadir_data_table *table, int64_t states,
                                    int64_t rows, const int64_t *entry_rows, int64_t *order,
                                    int64_t *row_starts);

/* ---- Collecting rows of a data file ------------------------------------------------------------------ */

/* Readers give rows as they come; everything that does not depend on the format of the file is checked here. */

/* The columns that data may have. */
enum {
    NADIR_DATA_STATE,
    NADIR_DATA_ACTION,
    NADIR_DATA_SUCCESSOR,
    NADIR_DATA_REWARD,
    NADIR_DATA_COUNT,
    NADIR_DATA_EPISODE,
    NADIR_DATA_STEP,
    NADIR_DATA_TIME,
    NADIR_DATA_DONE,
    NADIR_DATA_TRUNCATED,
    NADIR_DATA_OUTCOME,
    NADIR_DATA_PROBABILITY,
    NADIR_DATA_COLUMNS
};

#define NADIR_DATA_HAS(columns, which) (((columns) >> (which)&1U) != 0)

/* One line of a CSV file or one record of an array. */
typedef struct nadir_data_row {
    int64_t line;   /* of the file from 1, or number of the record from 0 */
    unsigned there; /* bit i: column i has a value */
    int64_t state, action, successor, episode, step, done, truncated, outcome;
    double reward, count, time, probability;
} nadir_data_row;

/* The successor in the table of transitions that are done, until all lines are read. */
#define NADIR_DATA_TERMINAL INT32_MAX

enum { NADIR_WORDS_STATE, NADIR_WORDS_ACTION, NADIR_WORDS_EPISODE, NADIR_WORDS_END, NADIR_WORDS };

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
    bool dates;       /* times are dates, in seconds */
    nadir_data_kind kind;
    unsigned columns; /* bit i: the file has column i */
    nadir_data_settings settings;

    nadir_data_table table;
    int64_t states, actions; /* one more than the largest seen */
    int64_t observations;

    nadir_data_table starts; /* of episodes: (state, 0, 0) */
    nadir_data_row last;     /* the step before */
    int64_t episodes;
    int64_t dropped;                /* lines whose action has no known outcome: ends of episodes */
    int64_t done;                   /* lines that lead to the terminal state */
    bool terminal;                  /* there is one, the last of the states */
    nadir_words words[NADIR_WORDS]; /* of ends: next states of lines that are done, two at most */

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

/* A state, action or episode as the file calls it. */
#define NADIR_DATA_LABEL_LENGTH 80
const char *nadir_data_label(const nadir_data_collector *collector, int which, int64_t number,
                             char text[NADIR_DATA_LABEL_LENGTH]);

/* Once kind and columns are set. */
nadir_status nadir_data_collect(nadir_data_collector *collector, const nadir_data_row *row);

/* Once all rows are there. */
nadir_status nadir_data_collect_end(nadir_data_collector *collector);

/* Fails where `count` numbers, of states or of rows of this many states, are many more than the transitions:
 * numbers that no transition mentions cost memory all the same. name, largest: of the number in the file. */
nadir_status nadir_data_check_gaps(const nadir_data_collector *collector, const char *name, int64_t largest,
                                   int64_t count, int64_t states);

/* After nadir_data_collect_end. */
nadir_status nadir_counts_make(nadir_data_collector *collector, nadir_counts **counts);
nadir_status nadir_samples_make(nadir_data_collector *collector, nadir_samples **samples);

#endif
