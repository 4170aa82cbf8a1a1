/*
 * horizon_search.h: looks for the worst kernel over H steps (sets/horizon.h), and for the multiplier of its Lagrangian
 * bound (proof/horizon_bound.h). Frank-Wolfe: full linear steps, shortened where the return does not fall.
 */
#ifndef NADIR_SEARCH_HORIZON_SEARCH_H
#define NADIR_SEARCH_HORIZON_SEARCH_H

#include "proof/horizon_bound.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_horizon_found {
    nadir_horizon_point point; /* the worst kernel found */
    double gap;                /* what a linear step from there promises */
    double tau;                /* non-rectangular, p = 2: multiplier of that step; 0: none */
    int64_t iterations;
    bool converged;
    nadir_stop stop;
} nadir_horizon_found;

/* Searches from the nominal kernel, from rows that all answer, also where they are not visited, from larger balls and, on
 * small models, from random kernels. *found is a struct of zeros. */
nadir_status nadir_horizon_search(nadir_context *context, const nadir_horizon *horizon, double tolerance,
                                  int64_t iterations_limit, nadir_horizon_found *found);
void nadir_horizon_found_clear(nadir_context *context, nadir_horizon_found *found);

/* The tau of the best Lagrangian bound, which is concave in it. start: its size, more than 0. Non-rectangular. */
nadir_status nadir_horizon_tau_best(nadir_context *context, const nadir_horizon *horizon, const double *d_bar,
                                    double start, double *tau);

#endif
