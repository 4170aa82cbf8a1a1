/* rank_one.h: kernels nominal - b k^T, without making one. */
#ifndef NADIR_MODEL_RANK_ONE_H
#define NADIR_MODEL_RANK_ONE_H

#include "model/model.h"

/* A state and its k. */
typedef struct nadir_rank_one_entry {
    double k;
    int32_t state;
} nadir_rank_one_entry;

/* What was found of a state: no entry of its rows was below `bound` (but for rounding) when the largest
 * f_s k was `reach`, 0 or more. */
typedef struct nadir_rank_one_known {
    double bound, reach;
} nadir_rank_one_known;

/* The search for smallest entries: what it keeps from one kernel to the next. */
typedef struct nadir_rank_one_search {
    const nadir_model *model;
    nadir_rank_one_entry *order; /* [states] k falling, as it was last */
    int64_t row;                 /* that had the smallest entry then; -1: there was no kernel yet */
    int64_t read;                /* rows that were read for it; -1: likewise */
    double *least;               /* [rows] smallest nominal entries, 0: not known; NULL: one kernel only */
    nadir_rank_one_known *known; /* [states]; NULL: as above */
} nadir_rank_one_search;

/* For `count` kernels; the model must outlive the search. To be cleared after success. */
nadir_status nadir_rank_one_begin(nadir_context *context, const nadir_model *model, int64_t count,
                                  nadir_rank_one_search *search);
void nadir_rank_one_clear(nadir_context *context, nadir_rank_one_search *search);

/* The smallest entry of nominal - b k^T; b: [rows], k: [states]. Far below O(rows * states) on sparse models
 * and where entries are negative, and for kernels like the one before: see rank_one.c. */
nadir_status nadir_rank_one_minimum(nadir_context *context, nadir_rank_one_search *search, const double *b,
                                    const double *k, double *minimum);

/* The same for b = factors(s) shape(row), rounded, in the rows of state s; shape: [rows], never negative and
 * at most top(s), [states]. b: [rows] for work. Rows of most states are not looked at. One process. */
void nadir_rank_one_minimum_of_states(const nadir_context *context, nadir_rank_one_search *search,
                                      const double *factors, const double *shape, const double *top,
                                      double *b, const double *k, double *minimum);

#endif
