/*
 * equation.h: what remains of the penalty when one of c and k is held fast: an equation in one number.
 *
 *     x = size(s a - x t b),    size = sigma_q: the best k for given c;    size = |.|_q: the best c for given
 * k
 *
 * The right-hand side is convex in x and changes more slowly than x while t size(b) < 1. With u the direction
 * of size at x (u . z = size(z)) Newton's method reads
 *
 *     x <- s u . a / (1 + t u . b),
 *
 * what u itself attains; so it is at or below the root after one step, and rises from there.
 */
#ifndef NADIR_SEARCH_SCALAR_NEWTON_H
#define NADIR_SEARCH_SCALAR_NEWTON_H

#include "base/context.h"

typedef struct nadir_scalar_newton {
    int64_t first; /* global place of the first entry of this process */
    int64_t count;
    const double *a; /* [count] */
    const double *b; /* [count] */
    double s, t;
    double q;
    bool centred; /* size is sigma_q rather than |.|_q */
} nadir_scalar_newton;

/* start: where to begin; the nearer to the root from below the better, 0 will always do. work: [count]; u:
 * [count], the direction at the root: x is what it attains. *x: infinity when there is no root, t size(b)
 * being 1 or more (which may go unnoticed: that some root is found does not show that there is one for every
 * a). */
nadir_status nadir_scalar_newton_solve(nadir_context *context, const nadir_scalar_newton *equation,
                                       double start, double *work, double *u, double *x);

#endif
