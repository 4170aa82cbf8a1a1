/*
 * sherman_morrison.h: solving with A + gamma b k^T through solves with A.
 *
 *     (A + gamma b k^T)^-1 y = x - z gamma (k . x) / den,     x = A^-1 y,  z = A^-1 b,  den = 1 + gamma k . z
 *     and transposed:          x - w gamma (b . x) / den,     x = A^-T y,  w = A^-T k
 *
 * This is the only place in nadir where these formulas stand.
 */
#ifndef NADIR_OCCUPANCY_SHERMAN_MORRISON_H
#define NADIR_OCCUPANCY_SHERMAN_MORRISON_H

#include "base/context.h"

/* den over what its terms add up to without their signs; below this the system is singular to working
 * precision. */
#define NADIR_DENOMINATOR_LIMIT 1e-12

typedef struct nadir_sherman_morrison {
    int64_t states;
    double gamma;
    const double *b, *k; /* [states] of the average */
    double *z, *w;       /* [states] owned */
    double denominator;
} nadir_sherman_morrison;

/* z and w are in place; computes the denominator. NADIR_ERROR_ILL_POSED when it is zero to working precision.
 */
nadir_status nadir_sherman_morrison_start(nadir_context *context, nadir_sherman_morrison *update);

/* Turns solutions with A, or its transpose, into solutions with A + gamma b k^T; x: [states * count]. */
void nadir_sherman_morrison_apply(const nadir_sherman_morrison *update, bool transposed, int64_t count,
                                  double *x);

#endif
