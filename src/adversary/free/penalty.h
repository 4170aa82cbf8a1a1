/*
 * penalty.h: what no kernel of an L_2 ball on the free domain costs more than, with as much work on the
 * breakdown radius, which every such bound rests on, as it takes.
 */
#ifndef NADIR_ADVERSARY_PENALTY_H
#define NADIR_ADVERSARY_PENALTY_H

#include "adversary/proof/breakdown.h"
#include "adversary/proof/rank_one_check.h"
#include "adversary/verdict.h"

/* Up to so many states D is formed without being asked: its columns cost about as much as the factors. */
#define NADIR_COLUMNS_STATES 400

/* A radius this close to an estimate of breakdown counts as past it. */
#define NADIR_BREAKDOWN_CLOSE (1 - 1e-9)

/* What is known of the breakdown radius at p = 2, and how. */
typedef struct nadir_known_breakdown {
    double low; /* proven */
    nadir_breakdown_proof proof;
    double estimate; /* by Lanczos; NaN: not made */
} nadir_known_breakdown;

/* Whether the ball of radius `beta` stays below breakdown: proven cheaply if possible. *inside: false when it
 * does not, as far as can be told. The problem is one of p = 2, here and below. */
nadir_status nadir_breakdown_settle(nadir_context *context, const nadir_problem *problem,
                                    nadir_certify certify, double beta, nadir_known_breakdown *known,
                                    bool *inside);

/* NADIR_ERROR_ILL_POSED for a radius that is not inside, saying what is known. */
nadir_status nadir_breakdown_refuse(nadir_context *context, double radius,
                                    const nadir_known_breakdown *known);

/* A bound that is asked for one radius, and given. */
typedef struct nadir_penalty_bound {
    nadir_spectral_question asked; /* radius, and the pair of the kernel found there */
    double wanted;                 /* a bound this small is enough */
    double lambda_high;            /* infinity: none */
    nadir_proof proof;
} nadir_penalty_bound;

/* By isolation with what is proven of breakdown; then with dearer proofs; then with the estimate. All radii
 * are below breakdown. */
nadir_status nadir_penalty_bounds(nadir_context *context, const nadir_problem *problem, nadir_certify certify,
                                  int64_t count, nadir_penalty_bound *bounds, nadir_known_breakdown *known);

/* J - lambda_high, rounded down. */
double nadir_free_lower(const nadir_problem *problem, double lambda_high);

/* The same problem with an L_2 ball that holds the set: U_p(beta) in U_2(beta n^max(0, 1/2 - 1/p)). *wider is
 * that factor, rounded up; two is to be cleared after success, and *enclosing points to it. */
nadir_status nadir_free_enclosing_ball(nadir_context *context, const nadir_problem *problem,
                                       nadir_uncertainty *two, nadir_problem *enclosing, double *wider);

#endif
