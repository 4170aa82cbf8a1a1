/*
 * step.h: the linear step of all rows at p = 2 on domain support of a sparse model, of which nothing is kept
 * for a row: weights follow from occupancies and the policy, and the answer of a row from the one step that
 * all rows share.
 */
#ifndef NADIR_ADVERSARY_ROWS_STEP_H
#define NADIR_ADVERSARY_ROWS_STEP_H

#include "adversary/rows/rows.h"

/* w_sa = gamma max(d(s), 0) pi(a|s). Plain data, nothing is owned. */
typedef struct nadir_row_weights {
    double gamma;
    const double *d;  /* [states] */
    const double *pi; /* [rows] */
} nadir_row_weights;

static inline double nadir_row_weight(const nadir_row_weights *weights, int64_t state, int64_t row)
{
    const double d = weights->d[state];
    return weights->gamma * (d > 0 ? d : 0) * weights->pi[row];
}

/* Answers of all rows: in units of x, row r has the step kappa alpha w / unit. */
typedef struct nadir_rows_step {
    double kappa;
    double unit; /* the largest alpha w */
} nadir_rows_step;

/* Whether the rows are of this kind. */
bool nadir_rows_step_suits(const nadir_rows *rows);

/* All rows share beta, threaded. start: budget->step of a similar problem, or 0. *found: false where the ball
 * does not matter, nothing moves, or beta is beyond what squares can tell: nadir_rows_share_all tells. */
nadir_status nadir_rows_step_find(nadir_context *context, const nadir_rows *rows,
                                  const nadir_row_weights *weights, double beta, double start,
                                  nadir_rows_step *step, nadir_row_budget *budget, bool *found);

/* The kernel of a step that was found, with the same rows and weights; otherwise as nadir_rows_kernel. */
nadir_status nadir_rows_step_kernel(nadir_context *context, const nadir_rows *rows,
                                    const nadir_row_weights *weights, const nadir_rows_step *step,
                                    nadir_kernel **kernel);

#endif
