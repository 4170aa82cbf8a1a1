/*
 * multistart.h: Frank-Wolfe from several starts.
 *
 * A state that the current kernel does not visit has no gradient, so that a search from the nominal kernel
 * can stop at a local optimum. The rows of the Lagrangian bound are minimisers in every state, visited or
 * not; a search from there, moved into the ball, finds what the other one misses.
 */
#ifndef NADIR_SEARCH_MULTISTART_H
#define NADIR_SEARCH_MULTISTART_H

#include "search/frank_wolfe.h"
#include "search/lagrangian_search.h"

/* From the nominal kernel and, where the result does not visit a state that some kernel of the set reaches,
 * from kernels of Lagrangian bounds. attack: of zeros. warm_start: as nadir_frank_wolfe_run, for all of them. */
nadir_status nadir_multistart_run(nadir_context *context, const nadir_problem *problem, double beta,
                                  const nadir_frank_wolfe *warm_start, double tolerance,
                                  int64_t iterations_limit, nadir_candidate *candidate);

/* From the kernel of a Lagrangian bound. The attack becomes the result if that is worse for the policy by
 * more than the tolerance; *better says so. */
nadir_status nadir_multistart_again(nadir_context *context, const nadir_problem *problem, double beta,
                                    const nadir_frank_wolfe *warm_start, const nadir_lagrangian *lagrangian,
                                    double tolerance, int64_t iterations_limit, nadir_candidate *candidate,
                                    bool *better);

#endif
