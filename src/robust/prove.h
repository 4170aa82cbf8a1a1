/*
 * prove.h: lower bounds for a candidate P* of the non-rectangular ball, simplex or support: which proofs are
 * tried, in which order.
 *
 * No number of the search is trusted: bounds follow from the kernel and tau by the steps of
 * proof/derivation.h.
 */
#ifndef NADIR_ROBUST_PROVE_H
#define NADIR_ROBUST_PROVE_H

#include "proof/certificate.h"
#include "proof/occupancy_bounds.h"

/* Up to so many states columns of D are computed unless effort is strict, which has no limit. */
#define NADIR_PROOF_STATES 500

/* wanted: a lower bound this good is enough. effort: of the settings' certify; auto costs a fixed number of
 * solves in proportion to the search. certificate: made here. */
nadir_status nadir_valid_prove(nadir_context *context, const nadir_problem *problem, double beta,
                               const nadir_candidate *candidate, nadir_certify effort, double wanted,
                               nadir_certificate *certificate);
/* The same with known bounds on the occupancies of all kernels of the set; NULL: none. */
nadir_status nadir_valid_prove_within(nadir_context *context, const nadir_problem *problem, double beta,
                                      const nadir_candidate *candidate, nadir_certify effort, double wanted,
                                      const nadir_occupancy_bounds *known, nadir_certificate *certificate);

/* The same by norms alone (second_order.h), which takes little time; p = 2, models of few states. Where
 * that fails nothing is proven, and kappa is NaN. */
nadir_status nadir_valid_prove_by_norms(nadir_context *context, const nadir_problem *problem, double beta,
                                        const nadir_candidate *candidate, nadir_certificate *certificate);

#endif
