/*
 * counts.h: how often each transition was observed.
 *
 * N(s, a, s') as a matrix of rows in CSR form, laid out as the rows of a model are. Counts are doubles: whole
 * numbers where observations were counted (exact up to 2^53), but a column `count` may also hold weights or
 * pseudo-counts of an expert, for which a Dirichlet posterior is defined as well.
 */
#ifndef NADIR_DATA_COUNTS_H
#define NADIR_DATA_COUNTS_H

#include "base/context.h"

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

#endif
