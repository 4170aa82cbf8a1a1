/*
 * penalty.h: how much a kernel of the non-rectangular L_2 ball on the free domain can cost at most, proven
 * from a pair (c, k) that somebody found: isolation of its singular value by what is proven of the breakdown
 * radius (check/check_rank_one.h), by dearer and dearer proofs until the bound is good enough.
 */
#ifndef NADIR_ADVERSARY_PENALTY_H
#define NADIR_ADVERSARY_PENALTY_H

#include "adversary/free/breakdown.h"
#include "adversary/verdict.h"

/* Up to so many states D is formed without being asked: its columns cost about as much as the factors. */
#define NADIR_COLUMNS_STATES 400

/* A radius this close to an estimate of breakdown counts as past it. */
#define NADIR_BREAKDOWN_CLOSE (1 - 1e-9)

/* What is known of the breakdown radius at p = 2, and how. Nothing: low 0, estimate NaN. */
typedef struct nadir_breakdown_known {
    double low; /* proven */
    nadir_breakdown_proof proof;
    double estimate; /* by Lanczos; NaN: not made */
} nadir_breakdown_known;

/* One proof more; beta as in nadir_breakdown_low. */
nadir_status nadir_breakdown_raise(nadir_context *context, const nadir_problem *problem,
                                   nadir_breakdown_proof proof, double beta, nadir_breakdown_known *known);
/* The estimate, unless it is there. */
nadir_status nadir_breakdown_estimate(nadir_context *context, const nadir_problem *problem,
                                      nadir_breakdown_known *known);

/* *lambda_high: no kernel of the ball of radius beta costs more; infinity: nothing is known. columns: proofs
 * may form D. wanted: a bound this good is enough. Last comes the estimate of breakdown instead of a proof:
 * *proof tells. The problem is one of p = 2. */
nadir_status nadir_penalty_bound(nadir_context *context, const nadir_problem *problem, double beta,
                                 const double *c, const double *k, bool columns, double wanted,
                                 nadir_breakdown_known *known, double *lambda_high, nadir_proof *proof);

/* J - lambda_high, rounded down. */
double nadir_penalty_lower(const nadir_problem *problem, double lambda_high);

/* The same problem with an L_2 ball that holds the set: U_p(beta) in U_2(beta n^max(0, 1/2 - 1/p)). *wider is
 * that factor, rounded up; two is to be cleared after success, and *enclosing points to it. */
nadir_status nadir_enclosing_ball(nadir_context *context, const nadir_problem *problem,
                                  nadir_uncertainty *two, nadir_problem *enclosing, double *wider);

#endif
