/*
 * trap.h: without a discount, the cheapest kernel that never ends.
 *
 * A kernel never ends from some state exactly if it stays in a set C of states that do not end. With m the nominal
 * probability of leaving C and n the successors in C that a row may have, the nearest row that stays costs
 *
 *     c_sa(C) = (sum over t outside C of Phat(t)^p + m^p n^(1 - p)) / alpha^p,
 *
 * infinitely much where n = 0 or alpha = 0 < m. Costs fall as C grows. So the least radius of rectangular sets, min over
 * C of the largest cost in C, is found by peeling: take the dearest state out, again and again, and keep the smallest
 * largest cost. In any order the least cost that a state has when it is taken out is a lower bound: the first state of C to
 * be taken out costs at least as much in C alone. It bounds the radius of the non-rectangular ball from below, and the sums of the sets met bound it from
 * above; no two states spend more than half of beta^p, so that 2^(1/p) times a bound where one state counts half holds
 * as well.
 */
#ifndef NADIR_PROOF_TRAP_H
#define NADIR_PROOF_TRAP_H

#include "sets/uncertainty.h"

/* Every kernel of a ball of radius below `low` ends; one of a ball of radius `high` does not. Both NaN: not looked for
 * (a discount; domain free; several radii). */
typedef struct nadir_trap {
    double low, high;
    char states[256]; /* the first of the states that the latter does not leave */
} nadir_trap;

nadir_status nadir_trap_find(nadir_context *context, const nadir_problem *problem, nadir_trap *trap);

/* Why kernels of the set with all radii times `factor` may never end, in words. */
nadir_status nadir_trap_describe(nadir_context *context, const nadir_problem *problem, double factor,
                                 char *text, size_t size);

/* What a row leaves to C and what it has elsewhere sum to one up to this. */
double nadir_trap_row_off(const nadir_row *row);

/* trap_cut.c: every kernel of a ball of radius below `least` ends, up to rounding; 0 where that is not above `above`. open:
 * [states] that do not end and that kernels reach; cheapest: the radius of a trap. */
nadir_status nadir_trap_cut(nadir_context *context, const nadir_problem *problem, const bool *open,
                            double above, double cheapest, double *least);

#endif
