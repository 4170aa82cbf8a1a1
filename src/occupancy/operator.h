/*
 * operator.h: a linear operator seen through its products, for the iterative solvers of this folder.
 */
#ifndef NADIR_OCCUPANCY_OPERATOR_H
#define NADIR_OCCUPANCY_OPERATOR_H

#include "linalg/blocks.h"

#include <math.h>

typedef struct nadir_operator {
    int64_t size;  /* n, of this process */
    int64_t first; /* the global place of its first entry */

    /* Y = A X, or A^T X, for `count` vectors one after another; x and y do not overlap. A failure, such as an
     * interruption, ends the solve that asked. */
    nadir_status (*apply)(nadir_context *context, void *user, bool transposed, int64_t count, const double *x,
                          double *y);

    /* Z = K^-1 R, or K^-T R, for some K close to A; NULL: none. It need not be exact, nor the same each time.
     */
    nadir_status (*precondition)(nadir_context *context, void *user, bool transposed, int64_t count,
                                 const double *r, double *z);
    void *user;
} nadir_operator;

/* The norm in which the residual of A x = b, or A^T x = b, is measured: see backend.h. */
static inline nadir_norm nadir_operator_norm(bool transposed)
{
    return transposed ? NADIR_NORM_ONE : NADIR_NORM_MAXIMUM;
}

/* Tells the progress of a residual that fell from `start` to `now` on its way to `goal`. */
static inline nadir_status nadir_operator_progress(nadir_context *context, double start, double now,
                                                   double goal)
{
    const double share = log(start / now) / log(start / goal);
    return nadir_progress(context, "solving", share > 0 && share < 1 ? share : 0);
}

#endif
