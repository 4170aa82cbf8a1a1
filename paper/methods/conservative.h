/*
 * conservative.h: what the two forms of method conservative share.
 *
 *     P <- (1 - t) P + t X,    t = (1 - gamma)^3 gap / (4 gamma^2 range)
 *
 * X minimises the return linearised at P over the ball. gap = <G, P - X> >= 0 with G_sa = gamma d_P(s)
 * pi(a|s) v_P is the decrease that the linearisation promises. For rewards in [0, 1] the return along the
 * step stays below a quadratic in t, and t minimises that; other rewards are divided by their range.
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
