/*
 * l1_enumeration.h: the worst kernel of the non-rectangular L_1 ball on the free domain. The adversary changes
 * one row (s, a): it moves beta alpha_sa / 2 from its best successor to its worst. The penalty is the largest,
 * over states, of the roots of gamma beta W_s halfrange(d_s v - lambda D e_s) = lambda. States whose bound is
 * below the best root found so far are skipped; columns of D come in blocks.
 */
#ifndef NADIR_SEARCH_L1_ENUMERATION_H
#define NADIR_SEARCH_L1_ENUMERATION_H

#include "adversary/search/rank_one_candidate.h"

typedef struct nadir_l1_enumeration_bounds {
    double breakdown_low; /* proven lower bound on the breakdown radius at p = 1; exact, but for
                             errors of solves, where `exact` */
    int64_t columns;      /* of D, and sums of columns, that were solved for so far */
} nadir_l1_enumeration_bounds;

/* exact: the breakdown radius to rounding, at the price of more columns. NADIR_ERROR_ILL_POSED, with the
 * number, when a radius is at or past breakdown. radii: [count], which share the columns; attacks: [count] of
 * zeros, filled with kernel, c, k, lambda, J and the rest but v; bounds: [count]. */
nadir_status nadir_l1_enumeration_solve(nadir_context *context, const nadir_problem *problem, bool exact,
                                        int64_t count, const double *radii, nadir_attack *attacks,
                                        nadir_l1_enumeration_bounds *bounds);

#endif
