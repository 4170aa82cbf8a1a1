/*
 * spectral.h: the worst kernel of the non-rectangular L_2 ball on the free domain: F(lambda) = beta
 * sigma_max(E_lambda), exactly solvable.
 *
 * See spectral.c for the method. Many radii share one subspace, and their systems are solved together.
 */
#ifndef NADIR_SEARCH_SPECTRAL_H
#define NADIR_SEARCH_SPECTRAL_H

#include "search/free_search.h"
#include "search/spectral.h"

typedef enum nadir_spectral_method {
    NADIR_SPECTRAL_NEWTON,       /* the default: the root of f on a growing subspace, in closed form there */
    NADIR_SPECTRAL_BISECT,       /* bisection on f(lambda) = F(lambda) - lambda */
    NADIR_SPECTRAL_BEST_RESPONSE /* b and k in turn */
} nadir_spectral_method;

/* attacks: [count] of zeros; filled with c, k, lambda, J, method, stop_reason, converged, iterations, and
 * with the kernel where there is one radius only: nadir_rank_one_candidate_kernel makes those of many that
 * are wanted. radii: [count], each below breakdown. tolerance: of the penalty, relative. A limit that is
 * reached is not an error: `converged` is false. */
nadir_status nadir_spectral_solve(nadir_context *context, const nadir_problem *problem,
                                  nadir_spectral_method method, double tolerance, int64_t iterations_limit,
                                  int64_t count, const double *radii, nadir_candidate *candidates);

/* --------------------------------------------------------------------------- what the methods share */

/* Why a search stopped. */
typedef enum nadir_spectral_stop {
    NADIR_SPECTRAL_STOP_TOLERANCE,
    NADIR_SPECTRAL_STOP_STABLE, /* what is left is rounding */
    NADIR_SPECTRAL_STOP_ITERATIONS
} nadir_spectral_stop;

/* One call of nadir_spectral_solve. */
typedef struct nadir_spectral {
    nadir_context *context;
    const nadir_problem *problem;
    const char *method;
    double tolerance;
    int64_t iterations_limit;
    nadir_spectral_subspace *subspace; /* not idle */
} nadir_spectral;

/* The larger of `tolerance` and what rounding allows. */
double nadir_spectral_tolerance(double tolerance);

/* Fills the attack, but for its kernel, with x, k and g = D W x up to a constant, [states] each, x a unit
 * vector; x and g are overwritten. */
nadir_status nadir_spectral_finish(const nadir_spectral *run, double beta, double *x, const double *k,
                                   double *g, nadir_spectral_stop stop, int64_t iterations,
                                   nadir_candidate *candidate);

/* About D^T y for `count` vectors y, as accurately as a search for directions needs. */
nadir_status nadir_spectral_transposed(const nadir_spectral *run, int64_t count, const double *y, double *w);

/* All radii at once whose attacks have no c yet. radii, attacks: [count]. */
nadir_status nadir_spectral_newton(const nadir_spectral *run, int64_t count, const double *radii,
                                   nadir_candidate *candidates);
/* One radius, not zero. */
nadir_status nadir_spectral_bisect(const nadir_spectral *run, double beta, nadir_candidate *candidate);
nadir_status nadir_spectral_alternate(const nadir_spectral *run, double beta, nadir_candidate *candidate);

#endif
