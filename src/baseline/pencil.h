/*
 * pencil.h: quotients c^T G c / c^T M c of quadratic forms in three dimensions.
 */
#ifndef NADIR_BASELINE_PENCIL_H
#define NADIR_BASELINE_PENCIL_H

#include <stdbool.h>

/* Whether some c has c^T G c > level c^T M c: level M - G is not positive definite. */
bool nadir_pencil_reaches(const double G[9], const double M[9], double level);

/* c <- where the quotient is at its best, with c^T M c = 1, and *mu <- the quotient there: the leading
 * eigenvector of G c = mu M c. False: M is singular, or nearly. */
bool nadir_pencil_top(const double G[9], const double M[9], double c[3], double *mu);

#endif
