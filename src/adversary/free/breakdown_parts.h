/* breakdown_parts.h: upper bounds on |Phi D W|_2, each in a file of its own; see breakdown.h. */
#ifndef NADIR_ADVERSARY_BREAKDOWN_PARTS_H
#define NADIR_ADVERSARY_BREAKDOWN_PARTS_H

#include "adversary/proof/breakdown.h"
#include "adversary/proof/verified_solve.h"

/* W: [states] |alpha_s pi_s|_2 rounded up, whatever the problem's own norm. */
typedef struct nadir_breakdown {
    const nadir_problem *problem;
    nadir_verified_solver known;
    double *W;
    double W_largest;
    bool thorough; /* power steps as of any backend, with accurate solves */
} nadir_breakdown;

/* Each lowers *norm, a bound or infinity, where it can. From a pass over P^pi and a few solves: */
nadir_status nadir_breakdown_by_products(nadir_context *context, const nadir_breakdown *of, double *norm);

/* From all columns of D; cholesky: about the norm itself, beta: a radius to try. */
nadir_status nadir_breakdown_by_columns(nadir_context *context, const nadir_breakdown *of, bool cholesky,
                                        double beta, double *norm);

#endif
