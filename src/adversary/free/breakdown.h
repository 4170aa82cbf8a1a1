/*
 * breakdown.h: the breakdown radius of the free domain, the smallest at which some kernel of the ball makes
 * I - gamma P^pi singular. p = 2: 1 / (gamma |Phi D W|_2); p = 1: 1 / (gamma max_s W_s halfrange(D e_s)).
 */
#ifndef NADIR_ADVERSARY_BREAKDOWN_H
#define NADIR_ADVERSARY_BREAKDOWN_H

#include "adversary/problem.h"

/* How a bound on |Phi D W|_2 was made, cheapest first. */
typedef enum nadir_breakdown_proof {
    NADIR_BREAKDOWN_PRODUCTS, /* a pass over P^pi and a few solves */
    NADIR_BREAKDOWN_COLUMNS,  /* D formed, quotient bound on (D - 1 r^T) W with r its column minima */
    NADIR_BREAKDOWN_CHOLESKY  /* D formed, I / beta^2 - N^T N factored, N = gamma Phi D W */
} nadir_breakdown_proof;

/* A proven lower bound on the breakdown radius at p = 2, rounding and errors of solves included. More
 * expensive proofs do the cheaper ones too. beta: the radius of interest (the Cholesky test tries it and a
 * little more); 0: none. */
nadir_status nadir_breakdown_low(nadir_context *context, const nadir_problem *problem,
                                 nadir_breakdown_proof proof, double beta, double *radius);

/* By products, in a way that is the same for all backends and about as good as that of any. */
nadir_status nadir_breakdown_low_thoroughly(nadir_context *context, const nadir_problem *problem,
                                            double *radius);

/* The breakdown radius at p = 2 to about 1e-9, by Lanczos iterations that converged from two starts: an
 * estimate, not a bound. *converged: false when they did not. */
nadir_status nadir_breakdown_estimate(nadir_context *context, const nadir_problem *problem, double *radius,
                                      bool *converged);

/* From a lower bound on the radius at p = 2, or from the exact one, a lower bound for the problem's own p:
 * 1 <= p <= 2: the same; p > 2: over (number of entries)^(1/2 - 1/p). */
double nadir_breakdown_for_norm(const nadir_problem *problem, double radius);

#endif
