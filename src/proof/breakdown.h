/*
 * breakdown.h: the breakdown radius of the free domain, the smallest at which some kernel of the ball makes
 * I - gamma P^pi singular. p = 2: 1 / (gamma |Phi D W|_2); p = 1: 1 / (gamma max_s W_s halfrange(D e_s)).
 */
#ifndef NADIR_PROOF_BREAKDOWN_H
#define NADIR_PROOF_BREAKDOWN_H

#include "proof/verified_solve.h"

/* How a breakdown radius is known. Bounds on |Phi D W|_2 come first, the cheapest before the others. */
typedef enum nadir_breakdown_proof {
    NADIR_BREAKDOWN_NONE,
    NADIR_BREAKDOWN_PRODUCTS,    /* a pass over P^pi and a few solves */
    NADIR_BREAKDOWN_COLUMNS,     /* D formed, quotient bound on (D - 1 r^T) W with r its column minima */
    NADIR_BREAKDOWN_CHOLESKY,    /* D formed, I / beta^2 - N^T N factored, N = gamma Phi D W */
    NADIR_BREAKDOWN_LANCZOS,     /* an estimate */
    NADIR_BREAKDOWN_ENUMERATION, /* p = 1: halfrange of columns (nadir_l1_breakdown_low) */
    NADIR_BREAKDOWN_CONTRACTION  /* rectangular sets (nadir_rectangular_free_bound) */
} nadir_breakdown_proof;

/* Its name in files and reports, NULL: none; and back, NONE where there is no proof of this name. */
const char *nadir_breakdown_proof_name(nadir_breakdown_proof proof);
nadir_breakdown_proof nadir_breakdown_proof_find(const char *name);

/* The breakdown radius from this proof and all cheaper ones. thorough: products take the same steps for every
 * backend; the bound is about as good as that of any of them. */
nadir_status nadir_breakdown_low(nadir_context *context, const nadir_problem *problem,
                                 nadir_breakdown_proof proof, bool thorough, double beta, double *radius);

/* From a lower bound on the radius at p = 2, or from the exact one, a lower bound for the problem's own p:
 * 1 <= p <= 2: the same; p > 2: over (number of entries)^(1/2 - 1/p). */
double nadir_breakdown_for_norm(const nadir_problem *problem, double radius);

/* *norm >= |Phi D diag(weights)|_2, errors of solves and rounding included; infinity: nothing is known. weights:
 * [states], 0 or more. D is formed where nadir_breakdown_may_form_columns. Of one process. */
nadir_status nadir_weighted_norm(nadir_context *context, const nadir_problem *problem, const double *weights,
                                 nadir_certify certify, double *norm);

/* ------------------------------------------------------- the cheapest proof, or the estimate, at p = 2 */

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

/* Whether D may be formed: its factors are of one process, and it is small, or all proofs are wanted. */
bool nadir_breakdown_may_form_columns(const nadir_problem *problem, nadir_certify certify);

/* Raises known->low by this proof. beta: the radius of interest. */
nadir_status nadir_breakdown_prove(nadir_context *context, const nadir_problem *problem,
                                   nadir_breakdown_proof proof, double beta, nadir_known_breakdown *known);

/* Makes known->estimate, unless it is there; NaN where the iteration does not converge. */
nadir_status nadir_breakdown_estimate_once(nadir_context *context, const nadir_problem *problem,
                                           nadir_known_breakdown *known);

/* Whether the ball of radius `beta` at p = 2 stays below breakdown, by the cheapest proof that shows it, else
 * by the estimate. *inside: false where neither shows it. */
nadir_status nadir_breakdown_settle(nadir_context *context, const nadir_problem *problem,
                                    nadir_certify certify, double beta, nadir_known_breakdown *known,
                                    bool *inside);

/* NADIR_ERROR_ILL_POSED for a radius that is not inside, saying what is known. */
nadir_status nadir_breakdown_refuse(nadir_context *context, double radius,
                                    const nadir_known_breakdown *known);

/* --------------------------------------------------------------------- the operator Phi D W, and its norm */

/* Phi D W at p = 2. A struct of zeros holds nothing. */
typedef struct nadir_breakdown_operator {
    const nadir_problem *problem;
    nadir_verified_solver solver;
    double *W; /* [states] |alpha_s pi_s|_2 rounded up, whatever the problem's own norm */
    double W_largest;
    bool thorough; /* the same power steps for every backend, with accurate solves */
} nadir_breakdown_operator;

/* Each lowers *norm where it can. From a pass over P^pi and a few solves: */
nadir_status nadir_breakdown_by_products(nadir_context *context, const nadir_breakdown_operator *self,
                                         double *norm);

#endif
