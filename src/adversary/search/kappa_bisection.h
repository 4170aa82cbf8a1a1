/*
 * kappa_bisection.h: the search for the least kappa, and its theta, that a Cholesky factorisation proves
 * (kappa_cholesky.h).
 */
#ifndef NADIR_SEARCH_KAPPA_BISECTION_H
#define NADIR_SEARCH_KAPPA_BISECTION_H

#include "adversary/proof/kappa_cholesky.h"

/* Leaves what it finds in matrix->proven: at most 1/2 if that can be proven; with `sharp` to a percent of the
 * least. Infinity: nothing was found. */
void nadir_kappa_bisect(const nadir_context *context, nadir_kappa_matrix *matrix, bool sharp);

#endif
