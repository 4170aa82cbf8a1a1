/*
 * prove.h: the proof that a kernel P* of the non-rectangular ball, simplex or support, is the worst of it.
 *
 * Nothing of the search is believed: everything is made anew from the kernel and tau. See prove.c for the
 * theorem, occupancy_bounds.h for bounds on occupancies, kappa_cholesky.h for the quadratic form.
 */
#ifndef NADIR_VALID_PROVE_H
#define NADIR_VALID_PROVE_H

#include "adversary/proof/certificate.h"
#include "adversary/proof/occupancy_bounds.h"

/* Up to so many states columns of D are formed without being asked. */
#define NADIR_PROOF_STATES 500

/* wanted: a lower bound this good is enough. effort: of the settings' certify; auto costs a fixed number of
 * solves in proportion to the search. certificate: made here. */
nadir_status nadir_valid_prove(nadir_context *context, const nadir_problem *problem, double beta,
                               const nadir_attack *attack, nadir_certify effort, double wanted,
                               nadir_certificate *certificate);
/* The same with known bounds on the occupancies of all kernels of the set; NULL: none. */
nadir_status nadir_valid_prove_within(nadir_context *context, const nadir_problem *problem, double beta,
                                      const nadir_attack *attack, nadir_certify effort, double wanted,
                                      const nadir_occupancy_bounds *known, nadir_certificate *certificate);

/* The same by norms alone (second_order.h), which takes little time; p = 2, models of few states. Nothing is
 * proven, with kappa NaN, where they do not do. */
nadir_status nadir_valid_prove_by_norms(nadir_context *context, const nadir_problem *problem, double beta,
                                        const nadir_attack *attack, nadir_certificate *certificate);

#endif
