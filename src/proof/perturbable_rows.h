/*
 * perturbable_rows.h: the rows that the adversary can change, with all successors that the domain allows
 * them, as a sparse matrix by rows.
 *
 * A row can be changed if its scale and its probability under the policy are positive and it has more than
 * one allowed successor. All others count as nominal in every kernel of the set.
 */
#ifndef NADIR_PROOF_PERTURBABLE_ROWS_H
#define NADIR_PROOF_PERTURBABLE_ROWS_H

#include "sets/uncertainty.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_perturbable_rows {
    int64_t states, count, entries; /* count: of perturbable rows */
    int64_t total;                  /* states of all processes */
    const nadir_exchange *exchange; /* of the model */
    const int64_t *rows;            /* [count] of the model, rising; NULL: all of them */
    const int64_t *first;           /* [states + 1] rows of a state: first[s] .. first[s + 1] - 1 */
    const int64_t *starts;          /* [count + 1] entries of a row */
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
} nadir_perturbable_rows;

nadir_status nadir_perturbable_rows_make(nadir_context *context, const nadir_problem *problem,
                                         nadir_perturbable_rows *perturbable);
void nadir_perturbable_rows_clear(nadir_context *context, nadir_perturbable_rows *perturbable);

/* The row of the model, and its scale. */
static inline int64_t nadir_perturbable_rows_row(const nadir_perturbable_rows *perturbable, int64_t i)
{
    return perturbable->rows != NULL ? perturbable->rows[i] : i;
}

static inline double nadir_perturbable_rows_alpha(const nadir_perturbable_rows *perturbable, int64_t i)
{
    return perturbable->alpha != NULL ? perturbable->alpha[i] : 1;
}

/* The successor of an entry of a row, counted from the start of the row. */
static inline int64_t nadir_perturbable_rows_column(const nadir_perturbable_rows *perturbable, int64_t i,
                                                    int64_t entry)
{
    return perturbable->columns != NULL ? perturbable->columns[perturbable->starts[i] + entry] : entry;
}

static inline int64_t nadir_perturbable_rows_length(const nadir_perturbable_rows *perturbable, int64_t i)
{
    return perturbable->starts[i + 1] - perturbable->starts[i];
}

/* Whether a row has a positive scale and a positive probability under the policy. */
bool nadir_perturbable_rows_can_move(const nadir_problem *problem, int64_t row);

/* States that some kernel of the set visits: reach[states]. With several processes on domain support. */
nadir_status nadir_reachable_states(nadir_context *context, const nadir_problem *problem, bool *reach);

#endif
