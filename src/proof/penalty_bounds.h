/*
 * penalty_bounds.h: an upper bound on the penalty over an L_2 ball on the free domain. Every such bound rests
 * on a breakdown radius: proofs of it are tried, cheapest first, until the bound is good enough.
 */
#ifndef NADIR_PROOF_PENALTY_BOUNDS_H
#define NADIR_PROOF_PENALTY_BOUNDS_H

#include "proof/breakdown.h"
#include "proof/certificate.h"
#include "proof/free_bounds.h"

/* The bound of one radius. */
typedef struct nadir_penalty_bound {
    nadir_spectral_question question; /* radius, and the pair of the kernel found there */
    double wanted;                    /* a bound this small is enough */
    double lambda_high;               /* infinity: none */
    nadir_proof proof;
} nadir_penalty_bound;

/* By isolation with the proven breakdown radius; then with dearer proofs of it; then with its estimate, which
 * makes the bound a numerical one. All radii are below breakdown. */
nadir_status nadir_penalty_bounds(nadir_context *context, const nadir_problem *problem, nadir_certify certify,
                                  int64_t count, nadir_penalty_bound *bounds, nadir_known_breakdown *known);

#endif
