/*
 * search.h: the methods that the paper compares with, and its own, as searches: each looks for a kernel of
 * the non-rectangular L_2 ball and proves nothing.
 *
 *     paper                     bisection on F(lambda), F by the spectral heuristic on rows x rows matrices
 *     paper-reduced             the same on states x states matrices, with the score squared
 *     slsqp                     sequential quadratic programming over (b, k), NLopt's
 *     slsqp-scaled              the same over (b / beta, k)
 *     random-rank-one           the best of random kernels Phat - b k^T
 *     random-kernel             the best of random kernels of the ball
 *     random-kernel-projected   the same, each row projected onto the simplex
 *     conservative              small steps towards the linear step
 */
#ifndef NADIR_BASELINE_SEARCH_H
#define NADIR_BASELINE_SEARCH_H

#include "adversary/attack.h"
#include "adversary/problem.h"
#include "baseline/track.h"

/* The best kernel within the budget. problem: of a non-rectangular ball with p = 2; beta > 0, below breakdown
 * on the free domain. attack: of zeros, or with a guess of tau, filled with kernel, J, stop_reason,
 * converged, iterations and, unless the kernel is Phat - b k^T, v and d. Random numbers: the same for the
 * same seed of the context. */
typedef nadir_status nadir_search(nadir_context *context, const nadir_problem *problem, double beta,
                                  nadir_track *track, nadir_attack *attack);

#define NADIR_SEARCH_TASK "worst kernel"

nadir_search nadir_search_paper;
nadir_search nadir_search_paper_reduced;
nadir_search nadir_search_slsqp;
nadir_search nadir_search_slsqp_scaled;
nadir_search nadir_search_random_rank_one;
nadir_search nadir_search_random_kernel;
nadir_search nadir_search_random_kernel_projected;
nadir_search nadir_search_conservative;

#endif
