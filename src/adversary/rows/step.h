/*
 * step.h: the linear step of all rows at p = 2 on domain support of a sparse model, of which nothing is kept
 * for a row: weights follow from occupancies and the policy, and the answer of a row from the one step that
 * all rows share.
 */
#ifndef NADIR_ADVERSARY_ROWS_STEP_H
#define NADIR_ADVERSARY_ROWS_STEP_H

#include "adversary/rows/lmo.h"

/* w_sa = gamma max(d(s), 0) pi(a|s). Plain data, nothing is owned. */
typedef struct nadir_lmo_weights {
    double gamma;
    const double *d;  /* [states] */
    const double *pi; /* [rows] */
} nadir_lmo_weights;

static inline double nadir_lmo_weight(const nadir_lmo_weights *weights, int64_t state, int64_t row)
{
    const double d = weights->d[state];
    return weights->gamma * (d > 0 ? d : 0) * weights->pi[row];
}

/* Answers of all rows: in units of x, row r has the step kappa alpha w / unit. */
typedef struct nadir_lmo_streamed {
    double kappa;
    double unit; /* the largest alpha w */
} nadir_lmo_streamed;

/* Whether the rows are of this kind. */
bool nadir_lmo_streamed_applies(const nadir_lmo *rows);

/* All rows share beta, threaded. start: budget->step of a similar problem, or 0. *found: false where the ball
 * does not matter, nothing moves, or beta is beyond what squares can tell: nadir_lmo_solve_all tells. */
nadir_status nadir_lmo_streamed_solve(nadir_context *context, const nadir_lmo *rows,
                                      const nadir_lmo_weights *weights, double beta, double start,
                                      nadir_lmo_streamed *step, nadir_lmo_budget *budget, bool *found);

/* The kernel of a step that was found, with the same rows and weights; otherwise as nadir_lmo_kernel. */
nadir_status nadir_lmo_streamed_kernel(nadir_context *context, const nadir_lmo *rows,
                                       const nadir_lmo_weights *weights, const nadir_lmo_streamed *step,
                                       nadir_kernel **kernel);

#endif
