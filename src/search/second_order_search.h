/*
 * second_order_search.h: which steps of a derivation (proof/derivation.h) prove that P* is the worst kernel
 * of the ball, p = 2, from the columns of D: that no P of the set has J_P < J* - error.
 */
#ifndef NADIR_SEARCH_SECOND_ORDER_SEARCH_H
#define NADIR_SEARCH_SECOND_ORDER_SEARCH_H

#include "proof/derivation.h"
#include "proof/second_order.h"

/* tau > 0. Takes steps until the certificate's lower bound is `wanted` or nothing better is to be expected.
 * Strict takes no short cuts, so that kappa is the least that can be proven, and tries for longer. */
nadir_status nadir_second_order_search(nadir_context *context, nadir_derivation *derivation,
                                       nadir_certify effort, double wanted);

/* Goes on from derivation->below once steps of other kinds have narrowed it: passes, radius and kappa again. To be
 * called after a search. */
nadir_status nadir_second_order_continue(nadir_context *context, nadir_derivation *derivation);

/* Leaves what it finds in matrix->proven: at most 1/2 if that can be proven; with `sharp` to a percent of the
 * least. Infinity: nothing was found. */
void nadir_kappa_bisect(const nadir_context *context, nadir_kappa_matrix *matrix, bool sharp);

/* *hopeless: kappa is far above 1/2, as far as value and occupancy of a candidate tell, for norms to prove
 * anything. Nothing is proven by it. */
nadir_status nadir_kappa_foresee(nadir_context *context, const nadir_problem *problem, double beta,
                                 const nadir_candidate *candidate, bool *hopeless);

/* ------------------------------------------------------------------- witness for one of many radii
 *
 * The witness of a proof for one of many radii (proof/second_order.h): vectors y that
 * majorize b + A y.
 */

/* As nadir_valid_prove, for a candidate of tau > 0 at a radius up to the largest; proves much less: lower may
 * be -infinity. */
nadir_status nadir_kappa_path_search(nadir_context *context, const nadir_kappa_path *kappa_path, double beta,
                                     const nadir_candidate *candidate, nadir_certificate *proof);

#endif
