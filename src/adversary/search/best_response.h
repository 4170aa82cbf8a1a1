/*
 * best_response.h: non-rectangular L_p ball on the free domain, 1 < p < infinity: b and k in turn, each the
 * best answer to the other; every step raises the penalty. From several starts at once.
 */
#ifndef NADIR_SEARCH_BEST_RESPONSE_H
#define NADIR_SEARCH_BEST_RESPONSE_H

#include "adversary/search/rank_one_candidate.h"

/* As nadir_spectral_solve, for any 1 < p < infinity; the best of the starts. NADIR_ERROR_ILL_POSED when the
 * search comes upon a kernel that shows a radius to be at or past breakdown; it does not look for one. */
nadir_status nadir_best_response_solve(nadir_context *context, const nadir_problem *problem, double tolerance,
                                       int64_t iterations_limit, int64_t count, const double *radii,
                                       nadir_attack *attacks);

#endif
