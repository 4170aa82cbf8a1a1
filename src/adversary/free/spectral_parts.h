/* spectral_parts.h: what the methods of the L_2 ball share; see spectral.h. */
#ifndef NADIR_ADVERSARY_SPECTRAL_PARTS_H
#define NADIR_ADVERSARY_SPECTRAL_PARTS_H

#include "adversary/search/rank_one_candidate.h"
#include "adversary/search/spectral_subspace.h"

/* One call of nadir_spectral_solve. */
typedef struct nadir_spectral {
    nadir_context *context;
    const nadir_problem *problem;
    const char *method;
    double tolerance;
    int64_t iterations_limit;
    nadir_spectral_subspace *subspace; /* not idle */
} nadir_spectral;

/* What is asked for, or what rounding allows. */
double nadir_spectral_tolerance(double tolerance);

/* Fills the attack, but for its kernel, with x, k and g = D W x up to a constant, [states] each, x a unit
 * vector; x and g are overwritten. */
nadir_status nadir_spectral_finish(const nadir_spectral *run, double beta, double *x, const double *k,
                                   double *g, const char *stop_reason, int64_t iterations,
                                   nadir_attack *attack);

/* About D^T y for `count` vectors y, as accurately as a search for directions needs. */
nadir_status nadir_spectral_transposed(const nadir_spectral *run, int64_t count, const double *y, double *w);

/* All radii at once whose attacks have no c yet. radii, attacks: [count]. */
nadir_status nadir_spectral_newton(const nadir_spectral *run, int64_t count, const double *radii,
                                   nadir_attack *attacks);
/* One radius, not zero. */
nadir_status nadir_spectral_bisect(const nadir_spectral *run, double beta, nadir_attack *attack);
nadir_status nadir_spectral_alternate(const nadir_spectral *run, double beta, nadir_attack *attack);

#endif
