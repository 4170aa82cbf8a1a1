/*
 * spectral.h: the worst kernel of the non-rectangular L_2 ball on the free domain: F(lambda) = beta
 * sigma_max(E_lambda), exactly solvable.
 *
 * See spectral.c for the method. Many radii share one subspace, and their systems are solved together.
 */
#ifndef NADIR_ADVERSARY_SPECTRAL_H
#define NADIR_ADVERSARY_SPECTRAL_H

#include "adversary/search/rank_one_candidate.h"

typedef enum nadir_spectral_method {
    NADIR_SPECTRAL_NEWTON,       /* the default: the root of f on a growing subspace, in closed form there */
    NADIR_SPECTRAL_BISECT,       /* bisection on f(lambda) = F(lambda) - lambda */
    NADIR_SPECTRAL_BEST_RESPONSE /* b and k in turn */
} nadir_spectral_method;

/* attacks: [count] of zeros; filled with c, k, lambda, J, method, stop_reason, converged, iterations, and
 * with the kernel where there is one radius only: nadir_rank_one_candidate_kernel makes those of many that are wanted.
 * radii: [count], each below breakdown. tolerance: of the penalty, relative. A limit reached is not an error:
 * `converged` tells. */
nadir_status nadir_spectral_solve(nadir_context *context, const nadir_problem *problem,
                                  nadir_spectral_method method, double tolerance, int64_t iterations_limit,
                                  int64_t count, const double *radii, nadir_attack *attacks);

#endif
