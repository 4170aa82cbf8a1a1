/*
 * bellman_bound.h: a lower bound on the return of every kernel of a set, from any v and from what the rows of
 * each state can take from it.
 *
 * With taken(s) at least gamma Phat^pi v less the smallest gamma P^pi v (and cost, if there is one) in s,
 *
 *     Lv = R^pi + gamma Phat^pi v - taken <= Tv.
 *
 * If v - Lv <= c (1 - gamma rho) for the row sums rho of every kernel, then w = v - c has w <= Tw, so that
 * mu . w is below the return of every kernel of the set (plus its cost).
 */
#ifndef NADIR_PROOF_BELLMAN_BOUND_H
#define NADIR_PROOF_BELLMAN_BOUND_H

#include "sets/uncertainty.h"

/* *lower: mu . w, all rounding included, but that of `taken`. Products are made anew from the nominal rows.
 * v: [states] finite; taken: [states], 0 or more. -infinity: nothing is known. */
nadir_status nadir_bellman_bound(nadir_context *context, const nadir_problem *problem, const double *v,
                                 const double *taken, double *lower);

#endif
