/*
 * breakdown.h: the breakdown radius of the free domain, the smallest at which some kernel of the ball makes
 * I - gamma P^pi singular. p = 2: 1 / (gamma |Phi D W|_2); p = 1: 1 / (gamma max_s W_s halfrange(D e_s)).
 */
#ifndef NADIR_PROOF_BREAKDOWN_H
#define NADIR_PROOF_BREAKDOWN_H

#include "proof/verified_solve.h"

/* How a bound on |Phi D W|_2 was made, cheapest first. */
typedef enum nadir_breakdown_proof {
    NADIR_BREAKDOWN_PRODUCTS, /* a pass over P^pi and a few solves */
    NADIR_BREAKDOWN_COLUMNS,  /* D formed, quotient bound on (D - 1 r^T) W with r its column minima */
    NADIR_BREAKDOWN_CHOLESKY  /* D formed, I / beta^2 - N^T N factored, N = gamma Phi D W */
} nadir_breakdown_proof;

/* Lowers *norm, a bound on |Phi D W|_2 at p = 2 (infinity: none yet), by this proof, errors of solves and
 * rounding included. A dearer proof starts from what the cheaper ones have left in *norm. beta: the radius of
 * interest (the Cholesky test tries it and a little more); 0: none. */
nadir_status nadir_breakdown_lower_norm(nadir_context *context, const nadir_problem *problem,
                                        nadir_breakdown_proof proof, double beta, double *norm);

/* 1 / (gamma norm), rounded down; infinity for norm = 0. */
double nadir_breakdown_radius(const nadir_problem *problem, double norm);

/* The breakdown radius from this proof and all cheaper ones. */
nadir_status nadir_breakdown_low(nadir_context *context, const nadir_problem *problem,
                                 nadir_breakdown_proof proof, double beta, double *radius);

/* By products, with the same steps for every backend; the bound is about as good as that of any of them. */
nadir_status nadir_breakdown_low_thoroughly(nadir_context *context, const nadir_problem *problem,
                                            double *radius);

/* From a lower bound on the radius at p = 2, or from the exact one, a lower bound for the problem's own p:
 * 1 <= p <= 2: the same; p > 2: over (number of entries)^(1/2 - 1/p). */
double nadir_breakdown_for_norm(const nadir_problem *problem, double radius);

/* --------------------------------------------------------------------- the operator Phi D W, and its norm */

/* Phi D W at p = 2. A struct of zeros holds nothing. */
typedef struct nadir_breakdown_operator {
    const nadir_problem *problem;
    nadir_verified_solver solver;
    double *W; /* [states] |alpha_s pi_s|_2 rounded up, whatever the problem's own norm */
    double W_largest;
    bool thorough; /* the same power steps for every backend, with accurate solves */
} nadir_breakdown_operator;

nadir_status nadir_breakdown_operator_make(nadir_context *context, const nadir_problem *problem,
                                           nadir_breakdown_operator *self);
void nadir_breakdown_operator_clear(nadir_context *context, nadir_breakdown_operator *self);

/* Whether Phi D W = 0: no kernel of any ball is singular. */
bool nadir_breakdown_operator_is_zero(const nadir_breakdown_operator *self);

/* Each lowers *norm where it can. From a pass over P^pi and a few solves: */
nadir_status nadir_breakdown_by_products(nadir_context *context, const nadir_breakdown_operator *self,
                                         double *norm);

/* From all columns of D, by quotients, by a Cholesky factorisation, or by both. beta: a radius to try. */
nadir_status nadir_breakdown_by_columns(nadir_context *context, const nadir_breakdown_operator *self,
                                        bool quotients, bool cholesky, double beta, double *norm);

#endif
