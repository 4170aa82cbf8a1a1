/*
 * methods.h: the paper's method, and those that the paper compares it with. Each searches the non-rectangular
 * L_2 ball for a kernel with a low return, and proves nothing.
 *
 *     paper                     bisection on F(lambda), F by the spectral heuristic on rows x rows matrices
 *     paper-reduced             the same on states x states matrices, with the score squared
 *     slsqp                     sequential quadratic programming over (b, k), by NLopt
 *     slsqp-scaled              the same over (b / beta, k)
 *     random-rank-one           the best of random kernels Phat - b k^T
 *     random-kernel             the best of random kernels of the ball
 *     random-kernel-projected   the same, each row projected onto the simplex
 *     conservative              small steps towards the minimiser of the linearised return
 */
#ifndef NADIR_PAPER_METHODS_H
#define NADIR_PAPER_METHODS_H

#include "inside.h"
#include "trajectory.h"

/* Searches for the worst kernel within the budget of the trajectory.
 * problem: of a non-rectangular ball with p = 2. beta: the radius, > 0, below breakdown on the free domain.
 * attack: zeros, or with a guess of tau. The search fills in kernel, J, stop, converged, iterations
 * and, unless the kernel is Phat - b k^T, v and d. The same seed of the context gives the same kernel. */
typedef nadir_status nadir_search(nadir_context *context, const nadir_problem *problem, double beta,
                                  nadir_trajectory *trajectory, nadir_candidate *candidate);

#define NADIR_SEARCH_TASK "worst kernel"

nadir_search nadir_search_paper;
nadir_search nadir_search_paper_reduced;
nadir_search nadir_search_slsqp;
nadir_search nadir_search_slsqp_scaled;
nadir_search nadir_search_random_rank_one;
nadir_search nadir_search_random_kernel;
nadir_search nadir_search_random_kernel_projected;
nadir_search nadir_search_conservative;

/* A search as a method by name. */
typedef struct nadir_search_method {
    nadir_method method;
    nadir_search *search;
    bool simplex; /* it works on domain simplex; all work on free */
    bool support; /* ... on support */
} nadir_search_method;

/* NULL: there is none of this name. */
const nadir_search_method *nadir_search_method_find(const char *name);

/* NADIR_ERROR_UNSUPPORTED unless the method works on this set. */
nadir_status nadir_search_method_check(nadir_context *context, const nadir_search_method *method,
                                       const nadir_problem *problem);

/* Robust evaluation by the method that settings->method names, with settings->iterations_limit samples. The
 * upper bound is the return of the kernel it finds. The lower bound is proven as for method auto. */
nadir_evaluator nadir_search_method_evaluate;

#endif
