/*
 * ergodicity_bound.h: how fast the chain of a policy forgets its start: a bound on |Phi D|_2, Phi x = x -
 * mean(x), from the entries of P^pi alone.
 */
#ifndef NADIR_PROOF_ERGODICITY_BOUND_H
#define NADIR_PROOF_ERGODICITY_BOUND_H

#include "proof/verified_solve.h"

/* Work: O(states^2), 1/3 states^3 more, or 2/3 states^3 for the sharpest bound. */
typedef enum nadir_ergodicity_effort {
    NADIR_ERGODICITY_EASY,
    NADIR_ERGODICITY_FAIR,
    NADIR_ERGODICITY_HARD
} nadir_ergodicity_effort;

/* *bound >= |Phi D|_2 for the D of the problem's operator, rounding included; infinity: nothing is known. */
nadir_status nadir_ergodicity_bound(nadir_context *context, const nadir_problem *problem,
                                    const nadir_verified_solver *known, nadir_ergodicity_effort effort,
                                    double *bound);

#endif
