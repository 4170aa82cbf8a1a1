/*
 * breakdown_search.h: where breakdown is at p = 2, that is 1 / (gamma |Phi D W|_2): an estimate of it, and the
 * cheapest proof that a radius is below it.
 */
#ifndef NADIR_SEARCH_BREAKDOWN_SEARCH_H
#define NADIR_SEARCH_BREAKDOWN_SEARCH_H

#include "proof/breakdown.h"
#include "proof/certificate.h"
#include "proof/free_bounds.h"

/* The breakdown radius at p = 2 to about 1e-9, by Lanczos iterations that converged from two starts: an
 * estimate, not a bound. *converged: false when they did not. */
nadir_status nadir_breakdown_estimate(nadir_context *context, const nadir_problem *problem, double *radius,
                                      bool *converged);

/* Up to this many states D may be formed by default: its columns cost about as much as the factors. */
#define NADIR_COLUMNS_STATES 400

/* A radius this close to an estimate of breakdown counts as past it. */
#define NADIR_BREAKDOWN_CLOSE (1 - 1e-9)

/* What is known of the breakdown radius at p = 2, and how. */
typedef struct nadir_known_breakdown {
    double norm; /* proven: at least |Phi D W|_2 */
    double low;  /* proven: breakdown is not below this radius */
    nadir_breakdown_proof proof;
    double estimate; /* by Lanczos; NaN: not made */
} nadir_known_breakdown;

/* Whether the ball of radius `beta` stays below breakdown: proven cheaply if possible. *inside: false when it
 * does not, or where that could not be found out. The problem is one of p = 2, here and below. */
nadir_status nadir_breakdown_settle(nadir_context *context, const nadir_problem *problem,
                                    nadir_certify certify, double beta, nadir_known_breakdown *known,
                                    bool *inside);

/* NADIR_ERROR_ILL_POSED for a radius that is not inside, saying what is known. */
nadir_status nadir_breakdown_refuse(nadir_context *context, double radius,
                                    const nadir_known_breakdown *known);

/* --------------------------------------------------------------------------- bounds on the penalty
 *
 * An upper bound on the penalty over an L_2 ball on the free domain. Every such bound rests
 * on a breakdown radius: proofs of it are tried, cheapest first, until the bound is good enough.
 */

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
