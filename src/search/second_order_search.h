/*
 * second_order_search.h: which steps of a derivation (proof/derivation.h) prove that P* is the worst kernel
 * of the ball, p = 2, from the columns of D.
 */
#ifndef NADIR_SEARCH_SECOND_ORDER_SEARCH_H
#define NADIR_SEARCH_SECOND_ORDER_SEARCH_H

#include "proof/derivation.h"

/* tau > 0. Takes steps until the certificate's lower bound is `wanted` or nothing better is to be expected.
 * Strict takes no short cuts, so that kappa is the least that can be proven, and tries for longer. */
nadir_status nadir_second_order_search(nadir_context *context, nadir_derivation *derivation,
                                       nadir_certify effort, double wanted);

/* Leaves what it finds in matrix->proven: at most 1/2 if that can be proven; with `sharp` to a percent of the
 * least. Infinity: nothing was found. */
void nadir_kappa_bisect(const nadir_context *context, nadir_kappa_matrix *matrix, bool sharp);

/* *hopeless: kappa is far above 1/2, as far as value and occupancy of an attack tell, for norms to prove
 * anything. Nothing is proven by it. */
nadir_status nadir_kappa_foresee(nadir_context *context, const nadir_problem *problem, double beta,
                                 const nadir_candidate *candidate, bool *hopeless);

#endif
