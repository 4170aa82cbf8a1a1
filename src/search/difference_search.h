/*
 * difference_search.h: the search for the kernel of a set that makes the difference of two policies A and B
 * smallest:
 *
 *     f(P) = J^A_P - J^B_P,    df = sum_sa G_sa . dP_sa,    G_sa = gamma (d_A pi_A v_A - d_B pi_B v_B),
 *
 * with value v and occupancy d of each policy under P; each v with e / gamma of the row besides, where rewards
 * are paid on landing (model/landing.h).
 */
#ifndef NADIR_SEARCH_DIFFERENCE_SEARCH_H
#define NADIR_SEARCH_DIFFERENCE_SEARCH_H

#include "search/kernel_solver.h"
#include "sets/lmo_row_costs.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_difference_search {
    const nadir_problem *problem[2]; /* A and B; signs as the model has them */
    nadir_kernel_solver operators[2];
    nadir_lmo_row_costs costs; /* G of the last linear step */
    double *products;          /* [2 * rows] */
} nadir_difference_search;

nadir_status nadir_difference_search_make(nadir_context *context, const nadir_problem *a,
                                          const nadir_problem *b, nadir_difference_search *search);
void nadir_difference_search_clear(nadir_context *context, nadir_difference_search *search);

/* A kernel with value, occupancy and return of both policies. A struct of zeros holds nothing. */
typedef struct nadir_difference_point {
    nadir_kernel *kernel;
    double *v[2], *d[2]; /* [states] */
    double J[2];
    double f;
} nadir_difference_point;

nadir_status nadir_difference_point_make(nadir_context *context, const nadir_difference_search *search,
                                         nadir_difference_point *point);
void nadir_difference_point_clear(nadir_context *context, nadir_difference_point *point);

/* Fills in all but the kernel. */
nadir_status nadir_difference_point_evaluate(nadir_context *context, nadir_difference_search *search,
                                             nadir_difference_point *point);

/* What a search found. */
typedef struct nadir_difference_found {
    nadir_difference_point point; /* owned */
    double gap;
    double tau; /* non-rectangular, p = 2: multiplier of the step that led to the kernel; 0: none */
    int64_t iterations;
    bool converged;
    nadir_stop stop;
} nadir_difference_found;

/* Descends from one more kernel of the set, NULL: the nominal one; keeps the better result in *found. */
nadir_status nadir_difference_search_from(nadir_context *context, nadir_difference_search *search,
                                          const nadir_kernel *start, double tolerance,
                                          int64_t iterations_limit, nadir_difference_found *found);

/* Searches from the nominal kernel, from worst_a and best_b, kernels of the set that are bad for A and good
 * for B, from their mean and, on small models, from random kernels; keeps the best result, and what *found had
 * where that is better. */
nadir_status nadir_difference_search_run(nadir_context *context, nadir_difference_search *search,
                                         const nadir_kernel *worst_a, const nadir_kernel *best_b,
                                         double tolerance, int64_t iterations_limit,
                                         nadir_difference_found *found);

/* Full linear steps until the kernel is stationary enough for the second-order bound: its slack
 * (nadir_difference_slack) at most `wanted`, or no longer falling. Non-rectangular, p = 2; does nothing
 * otherwise. */
nadir_status nadir_difference_polish(nadir_context *context, nadir_difference_search *search, double wanted,
                                     nadir_difference_found *found);

#endif
