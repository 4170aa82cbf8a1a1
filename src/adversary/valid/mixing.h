/*
 * mixing.h: how soon a policy forgets where it began: a bound on |Phi D|_2, Phi x = x - mean(x), from the
 * numbers of P^pi alone.
 */
#ifndef NADIR_ADVERSARY_MIXING_H
#define NADIR_ADVERSARY_MIXING_H

#include "adversary/enclosure.h"

/* *bound >= |Phi D|_2 for the D of the problem's operator; infinity: nothing is known. O(states^2); hard: two
 * thirds of states^3 more, for a bound that is near. Rounding is included. */
nadir_status nadir_mixing_bound(nadir_context *context, const nadir_problem *problem,
                                const nadir_enclosure *known, bool hard, double *bound);

#endif
