/*
 * scalar_newton.h: with c or k held fixed the penalty is the root of an equation in one number,
 *
 *     x = size(s a - x t b),
 *
 * with size = sigma_q for the best k against a given c, and size = |.|_q for the best c against a given k.
 * The right-hand side is convex in x and changes more slowly than x while t size(b) < 1. With u the direction
 * of size at x (u . z = size(z)) Newton's method reads
 *
 *     x <- s u . a / (1 + t u . b),
 *
 * which is what u attains. So x is at or below the root after one step, and rises from there.
 */
#ifndef NADIR_SEARCH_SCALAR_NEWTON_H
#define NADIR_SEARCH_SCALAR_NEWTON_H

#include "core/context.h"

typedef struct nadir_scalar_newton {
    int64_t first; /* global place of the first entry of this process */
    int64_t count;
    const double *a; /* [count] */
    const double *b; /* [count] */
    double s, t;
    double q;
    bool centred; /* size is sigma_q rather than |.|_q */
} nadir_scalar_newton;

/* start: the first x, best just below the root; 0 always works. work: [count]. u: [count] <- the direction at
 * the root, which attains *x. *x: infinity where t size(b) >= 1 was noticed, so that there is no root. A root
 * that is found does not prove that t size(b) < 1. */
nadir_status nadir_scalar_newton_solve(nadir_context *context, const nadir_scalar_newton *equation,
                                       double start, double *work, double *u, double *x);

#endif
