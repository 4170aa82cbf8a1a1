/*
 * termination.h: without a discount, whether every kernel of a set ends, and how long kernels last at most.
 *
 * If w >= 0 has w >= 1 + P^pi w for all kernels P of a set, all of them end, and D_P 1 <= w: I - P^pi is an M-matrix. The
 * least such w is the longest duration over a rectangular set. The non-rectangular ball lies in the s-rectangular set
 * whose states have the whole radius each, and in the union over s of those in which s has the radius and other states
 * have 2^(-1/p) of it: no two states spend more than half of beta^p each.
 */
#ifndef NADIR_PROOF_TERMINATION_H
#define NADIR_PROOF_TERMINATION_H

#include "sets/uncertainty.h"

/* Sets gap, longest and most of the problem for the set with all radii times `factor`; gap 0: some kernel may not end.
 * Does nothing for models with a discount. On domain free, where D_P 1 may be anything, they are for kernels without
 * negative entries in rectangular sets, and nothing is known of the non-rectangular ball. */
nadir_status nadir_termination_prove(nadir_context *context, nadir_problem *problem, double factor);

/* Releases `most`. */
void nadir_termination_clear(nadir_context *context, nadir_problem *problem);

/* Improves gap and sets most for the non-rectangular ball, p < infinity, if it can (duration_cap.c). */
nadir_status nadir_duration_cap(nadir_context *context, nadir_problem *problem, double factor);

#endif
