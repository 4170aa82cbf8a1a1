/*
 * conservative.h: what both forms of method conservative share.
 *
 *     P <- (1 - t) P + t X,    X the linear step at P,    t = (1 - gamma)^3 gap / (4 gamma^2 range),
 *
 * gap = <G, P - X> >= 0, G_sa = gamma d_P(s) pi(a|s) v_P: what the step promises; t is the lowest point of a
 * quadratic that the return stays below for rewards in [0, 1], and of others measured by their range.
 */
#ifndef NADIR_PAPER_CONSERVATIVE_H
#define NADIR_PAPER_CONSERVATIVE_H

#include "methods/methods.h"

/* The largest less the smallest reward. */
double nadir_conservative_range(const nadir_problem *problem);

/* t, at most 1. */
double nadir_conservative_step(const nadir_problem *problem, double range, double gap);

/* Domains simplex and support. */
nadir_search nadir_conservative_valid;

#endif
