/*
 * live.h: the rows that the adversary can use, with all successors that the domain allows them.
 *
 * A row is live if its scale and its probability under the policy are positive and it has more than one
 * allowed successor; all others are as good as nominal in every kernel of the set.
 */
#ifndef NADIR_ADVERSARY_LIVE_H
#define NADIR_ADVERSARY_LIVE_H

#include "adversary/problem.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_live {
    int64_t states, count, entries; /* count: of live rows */
    int64_t total;                  /* states of all processes */
    const nadir_exchange *exchange; /* of the model */
    const int64_t *rows;            /* [count] of the model, rising; NULL: all of them */
    const int64_t *first;           /* [states + 1] live rows of a state: first[s] .. first[s + 1] - 1 */
    const int64_t *starts;          /* [count + 1] entries of a live row */
    const int32_t *columns;         /* [entries]; NULL: all rows allow all states, in their order (never so
                                       where states are spread over processes) */
    const double *phat;             /* [entries] the nominal numbers */
    const double *alpha;            /* [count] scales; NULL: all one */
    const double *pi;               /* [count] probabilities */
    /* All NULL where all entries of the model are here: then the above are arrays of model, policy and set.
     */
    int64_t *own_rows, *own_first, *own_starts;
    int32_t *own_columns;
    double *own_phat, *own_alpha, *own_pi;
} nadir_live;

nadir_status nadir_live_make(nadir_context *context, const nadir_problem *problem, nadir_live *live);
void nadir_live_clear(nadir_context *context, nadir_live *live);

/* The row of the model, and its scale. */
static inline int64_t nadir_live_row(const nadir_live *live, int64_t i)
{
    return live->rows != NULL ? live->rows[i] : i;
}

static inline double nadir_live_alpha(const nadir_live *live, int64_t i)
{
    return live->alpha != NULL ? live->alpha[i] : 1;
}

/* The successor of an entry of a live row, counted from the start of the row. */
static inline int64_t nadir_live_column(const nadir_live *live, int64_t i, int64_t entry)
{
    return live->columns != NULL ? live->columns[live->starts[i] + entry] : entry;
}

static inline int64_t nadir_live_length(const nadir_live *live, int64_t i)
{
    return live->starts[i + 1] - live->starts[i];
}

/* States that some kernel of the set visits: reach[states]. */
nadir_status nadir_live_reach(nadir_context *context, const nadir_problem *problem, bool *reach);
/* The same with several processes, domain support. */
nadir_status nadir_live_reach_spread(nadir_context *context, const nadir_problem *problem, bool *reach);

#endif
