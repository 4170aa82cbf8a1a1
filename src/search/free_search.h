/*
 * free_search.h: searches for the worst kernel of balls on the free domain. Many radii are searched together. A
 * candidate that is found proves nothing.
 */
#ifndef NADIR_SEARCH_FREE_SEARCH_H
#define NADIR_SEARCH_FREE_SEARCH_H

#include "core/context.h"
#include "proof/certificate.h"
#include "sets/uncertainty.h"

/* ------------------------------------------------------------------------- non-rectangular, p = 2
 *
 * F(lambda) = beta sigma_max(E_lambda), exactly solvable: see spectral.c. Many radii share one subspace.
 */

typedef enum nadir_spectral_method {
    NADIR_SPECTRAL_NEWTON,       /* the default: the root of f on a growing subspace, in closed form there */
    NADIR_SPECTRAL_BISECT,       /* bisection on f(lambda) = F(lambda) - lambda */
    NADIR_SPECTRAL_BEST_RESPONSE /* nadir_best_response_solve */
} nadir_spectral_method;

enum { NADIR_SPECTRAL_SUBSPACE_LIMIT = 40 }; /* the most dimensions of the subspace */

/* candidates: [count] of zeros; filled with c, k, lambda, J, method, stop, converged, iterations, and
 * with the kernel where there is one radius only: nadir_rank_one_candidate_kernel makes those of many that
 * are wanted. radii: [count], each below breakdown. tolerance: of the penalty, relative. A limit that is
 * reached is not an error: `converged` is false. */
nadir_status nadir_spectral_solve(nadir_context *context, const nadir_problem *problem,
                                  nadir_spectral_method method, double tolerance, int64_t iterations_limit,
                                  int64_t count, const double *radii, nadir_candidate *candidates);

/* ------------------------------------------------------------------------- non-rectangular, p = 1
 *
 * The adversary changes one row (s, a): it moves beta alpha_sa / 2 from its best successor to its worst. The
 * penalty is the largest, over states, of the roots of gamma beta W_s halfrange(d_s v - lambda D e_s) =
 * lambda. States whose bound is below the best root found so far are skipped; columns of D come in blocks.
 */

typedef struct nadir_l1_enumeration_bounds {
    double breakdown_low; /* proven lower bound on the breakdown radius at p = 1; exact, but for
                             errors of solves, where `exact` */
    int64_t columns;      /* of D, and sums of columns, that were solved for so far */
} nadir_l1_enumeration_bounds;

/* exact: the breakdown radius to rounding, at the price of more columns. NADIR_ERROR_ILL_POSED, with the
 * number, when a radius is at or past breakdown. radii: [count], which share the columns; candidates: [count] of
 * zeros, filled with kernel, c, k, lambda, J and the rest but v. */
nadir_status nadir_l1_enumeration_solve(nadir_context *context, const nadir_problem *problem, bool exact,
                                        int64_t count, const double *radii, nadir_candidate *candidates,
                                        nadir_l1_enumeration_bounds *bounds);

/* ------------------------------------------------------------- non-rectangular, 1 < p < infinity
 *
 * c and k in turn, each the best answer to the other. Every step raises the penalty. Several starts.
 */

/* As nadir_spectral_solve; the best of the starts. NADIR_ERROR_ILL_POSED when the
 * search comes upon a kernel that shows a radius to be at or past breakdown; it does not look for one. */
nadir_status nadir_best_response_solve(nadir_context *context, const nadir_problem *problem, double tolerance,
                                       int64_t iterations_limit, int64_t count, const double *radii,
                                       nadir_candidate *candidates);

/* ------------------------------------------------------------------------------------ rectangular
 *
 * One solve and a scalar equation:
 *
 *     b^pi(s) = sum_a pi alpha_sa beta_sa (sa),  beta_s W_s (s);    v_b = D b^pi
 *     x = sigma_q(v_U) is the root of sigma_q(v - gamma x v_b) = x;    J_U = J - gamma x (d . b^pi)
 *
 * This is the fixed point of the robust Bellman operator T v = R^pi + gamma Phat^pi v - gamma b^pi
 * sigma_q(v). The kernel Phat - b k^T attains it, with k = u_q(v_U), and b(s, a) = alpha_sa beta_sa (sa), or
 * b of the shape of rank_one_check.h with c = beta_s (s).
 */

/* All radii of the set times factors[i], i < count. NADIR_ERROR_ILL_POSED when gamma
 * sigma_q(D e b^pi) >= 1 for signs e that are found: some kernel of the set is at or past breakdown. candidates: [count] of zeros; filled with kernel, J, k, v (the fixed
 * point), lambda and the rest but c, which stays NULL: b has other shapes than that of rank_one_check.h. */
nadir_status nadir_rectangular_free_solve(nadir_context *context, const nadir_problem *problem, int64_t count,
                                          const double *factors, nadir_candidate *candidates);

/* ------------------------------------------- rewards on landing that are not separable, any set
 *
 * Rows answer to costs of their own, and the worst kernel is not of rank one: its rows are written out.
 */

/* candidate: in: the one found for the problem without e; out: kernel, v, J, lambda, tau (p = 2) and the rest but c and
 * k. NADIR_ERROR_UNSUPPORTED where the rows are too many and too long. */
nadir_status nadir_free_landing_solve(nadir_context *context, const nadir_problem *problem,
                                      int64_t iterations_limit, nadir_candidate *candidate);

/* The t, and the pair c, k: [states] each, that make nadir_landing_shaped_bound about as good as it can be. */
nadir_status nadir_landing_shaped_search(nadir_context *context, const nadir_problem *problem, double *t,
                                         double *c, double *k);

/* ------------------------------------------------------------- kernel and penalty of a pair (c, k)
 *
 * From a pair (c, k) of rank_one_check.h to a candidate for the worst kernel of the
 * non-rectangular ball on the free domain.
 *
 *     E_lambda = gamma Phi (v d^T - lambda D) W,    F(lambda) = max over |c|_p <= beta of sigma_q(E_lambda c)
 *
 * The penalty is the root of F(lambda) = lambda; for one pair (c, k) it is, with g = D W c,
 *
 *     lambda(c, k) = gamma (d . W c) (k . v) / (1 + gamma k . g).
 */

/* Fills candidate->kernel, J, lambda, c, k and, where solves are iterations, g from c and k, [states] each, of
 * one kernel: an accurate solve for v_b; v is the problem's. |c|_p is scaled down where rounding put it above
 * the radius `beta`, and k made zero-sum with |k|_p <= 1 exactly up to rounding. The other members are the
 * caller's to set, and candidate has nothing of these yet. A failure clears it. NADIR_ERROR_ILL_POSED when 1 +
 * gamma k . g is not positive. */
nadir_status nadir_rank_one_candidate(nadir_context *context, const nadir_problem *problem, double beta,
                                      const double *c, const double *k, nadir_candidate *candidate);

/* The same without a solve, for those who have g = D W c, [states], as accurately, and without a kernel. */
nadir_status nadir_rank_one_candidate_known(nadir_context *context, const nadir_problem *problem, double beta,
                                            const double *c, const double *k, const double *g,
                                            nadir_candidate *candidate);

/* candidate->kernel from its c and k, unless there is one. */
nadir_status nadir_rank_one_candidate_kernel(nadir_context *context, const nadir_problem *problem,
                                             nadir_candidate *candidate);

/* ----------------------------------------------------------------------------------- scalar Newton
 *
 * With c or k held fixed the penalty is the root of an equation in one number,
 *
 *     x = size(s a - x t b),
 *
 * with size = sigma_q for the best k against a given c, and size = |.|_q for the best c against a given k.
 * The right-hand side is convex in x and changes more slowly than x while t size(b) < 1. With u the direction
 * of size at x (u . z = size(z)) Newton's method reads
 *
 *     x <- s u . a / (1 + t u . b),
 *
 * which is what u attains. So x is at or below the root after one step, and rises from there.
 */

typedef struct nadir_scalar_newton {
    int64_t first; /* global index of the first entry of this process */
    int64_t count;
    const double *a; /* [count] */
    const double *b; /* [count] */
    double s, t;
    double q;
    bool centred; /* size is sigma_q rather than |.|_q */
} nadir_scalar_newton;

/* start: the first x, best just below the root; 0 always works. work: [count]. u: [count] <- the direction at
 * the root, which attains *x. *x: infinity where t size(b) >= 1 was noticed, so that there is no root. A root
 * that is found does not prove that t size(b) < 1. */
nadir_status nadir_scalar_newton_solve(nadir_context *context, const nadir_scalar_newton *equation,
                                       double start, double *work, double *u, double *x);

#endif
