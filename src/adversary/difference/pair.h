/*
 * pair.h: two policies A and B on one model with one ball, and what both are worth under a kernel:
 *
 *     f(P) = J^A_P - J^B_P,    df = sum_sa G_sa . dP_sa,    G_sa = gamma (d_A pi_A v_A - d_B pi_B v_B),
 *
 * value v and occupancy d of each under P.
 */
#ifndef NADIR_ADVERSARY_PAIR_H
#define NADIR_ADVERSARY_PAIR_H

#include "adversary/rows/lmo_row_costs.h"
#include "adversary/valid/operator.h"

typedef struct nadir_pair {
    const nadir_problem *problem[2]; /* A and B; signs as the model has them */
    nadir_valid_operator operators[2];
    nadir_lmo_row_costs costs; /* of the point that was looked at last */
    double *products;          /* [2 * rows] */
} nadir_pair;

/* A struct of zeros holds nothing. */
nadir_status nadir_pair_make(nadir_context *context, const nadir_problem *a, const nadir_problem *b,
                             nadir_pair *pair);
void nadir_pair_clear(nadir_context *context, nadir_pair *pair);

/* A kernel with what both policies make of it. A struct of zeros holds nothing. */
typedef struct nadir_pair_point {
    nadir_kernel *kernel;
    double *v[2], *d[2]; /* [states] */
    double J[2];
    double f;
} nadir_pair_point;

nadir_status nadir_pair_point_make(nadir_context *context, const nadir_pair *pair, nadir_pair_point *point);
void nadir_pair_point_clear(nadir_context *context, nadir_pair_point *point);

/* Fills in all but the kernel. */
nadir_status nadir_pair_evaluate(nadir_context *context, nadir_pair *pair, nadir_pair_point *point);

/* The linear step from a point. *gap: what it promises, sum G . (P - X), 0 or more. */
nadir_status nadir_pair_look(nadir_context *context, nadir_pair *pair, const nadir_pair_point *point,
                             double *gap);

/* sum G . (to - from), G of the point that was looked at last. */
double nadir_pair_slope(const nadir_context *context, const nadir_pair *pair, const nadir_kernel *from,
                        const nadir_kernel *to);

/* What a search found. */
typedef struct nadir_pair_found {
    nadir_pair_point point; /* owned */
    double gap;
    double tau; /* non-rectangular, p = 2: of the step that made the kernel; 0: none */
    int64_t iterations;
    bool converged;
    const char *stop_reason;
} nadir_pair_found;

/* Downhill from `start`, a kernel of the set (NULL: the nominal one; not kept). found: of zeros. A limit
 * reached is not an error. */
nadir_status nadir_pair_search(nadir_context *context, nadir_pair *pair, const nadir_kernel *start,
                               double tolerance, int64_t iterations_limit, nadir_pair_found *found);

/* Full steps until the kernel is stationary as the second-order bound wants it (non-rectangular, p = 2;
 * nothing is done otherwise): the slack of second_order.h at most `wanted`, or no longer falling. */
nadir_status nadir_pair_polish(nadir_context *context, nadir_pair *pair, double wanted,
                               nadir_pair_found *found);

#endif
