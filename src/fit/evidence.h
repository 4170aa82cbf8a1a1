/*
 * evidence.h: the evidence for every row: its counts or samples, its prior, its allowed successors.
 *
 * A row that was visited N times, n_t of them with successor t, and may have K successors, has the posterior
 *
 *     P_sa ~ Dirichlet(a + n_t),   mean m_t = (a + n_t) / (N + A),   A = K a,
 *
 * a the concentration of its prior. Successors that are allowed and were not seen are all alike: they are
 * counted, not listed.
 */
#ifndef NADIR_FIT_EVIDENCE_H
#define NADIR_FIT_EVIDENCE_H

#include "fit/data.h"

typedef enum nadir_row_kind {
    NADIR_ROW_KNOWN,  /* certain: it has one successor, or the user declared it known */
    NADIR_ROW_UNSEEN, /* no data: any distribution over its successors */
    NADIR_ROW_DRAWN   /* has a posterior */
} nadir_row_kind;

/* How rows without data are treated. */
typedef enum nadir_unvisited {
    NADIR_UNVISITED_UNIFORM, /* uniform, and uncertain: any distribution is possible */
    NADIR_UNVISITED_PIN,     /* uniform, taken as known */
    NADIR_UNVISITED_ABSORB   /* stays in its state with the lowest reward seen, taken as known */
} nadir_unvisited;

/* A struct of zeros holds nothing. Points into the data, which must outlive it. */
typedef struct nadir_evidence {
    int64_t states, rows;
    const int64_t *state_rows;    /* [states + 1] */
    const int32_t *row_actions;   /* [rows]; NULL: 0, 1, ... */
    const int64_t *row_starts;    /* [rows + 1] first seen transition of each row */
    const int32_t *columns;       /* seen successors */
    const double *counts;         /* [row_starts[rows]] n; NULL: there are samples */
    const nadir_samples *samples; /* of a posterior; NULL: there are counts */
    const nadir_counts *listed;   /* the allowed successors of each row; NULL: all states or those seen */
    bool terminal;                /* the last state is: its row, the last one, stays and pays nothing */
    unsigned char *kinds;         /* [rows] nadir_row_kind */
    int64_t *allowed;             /* [rows] K, the number of successors that are allowed */
    double *visits;               /* [rows] N */
    double *each;                 /* [rows] a */
    double *mean;                 /* samples: [row_starts[rows]] the mean of all; counts: NULL */
    int64_t
        *own_state_rows; /* samples: the arrays above with a row added for each terminal state; owned, as */
    int64_t *own_row_starts; /* all from `kinds` on are */
    int32_t *own_row_actions;
} nadir_evidence;

typedef struct nadir_evidence_settings {
    bool all;                   /* every state is an allowed successor; else those seen, or listed */
    const nadir_counts *listed; /* transitions that are allowed; NULL: see above */
    double prior;               /* A of every row */
    double concentration;       /* a of every successor instead; NaN: A counts */
    nadir_unvisited unvisited;
} nadir_evidence_settings;

/* NADIR_ERROR_MODEL: a transition was seen that is not allowed. */
nadir_status nadir_evidence_make(nadir_context *context, const nadir_data *data,
                                 const nadir_evidence_settings *settings, nadir_evidence *evidence);
void nadir_evidence_clear(nadir_context *context, nadir_evidence *evidence);

/* max over p of |p - u|_norm, u uniform over `allowed` successors: attained where p is certain. */
double nadir_evidence_reach(int64_t allowed, double norm);

/* How many rows have a posterior, and how many states have such a row. */
void nadir_evidence_count_drawn(const nadir_evidence *evidence, int64_t *rows, int64_t *states);

/* Seen successors of a row, and those allowed but not seen. */
static inline int64_t nadir_evidence_seen(const nadir_evidence *evidence, int64_t row)
{
    return evidence->row_starts[row + 1] - evidence->row_starts[row];
}
static inline int64_t nadir_evidence_unseen(const nadir_evidence *evidence, int64_t row)
{
    return evidence->allowed[row] - nadir_evidence_seen(evidence, row);
}

#endif
