/*
 * rank_one_check.h: kernels Phat - b k^T of the non-rectangular ball on the free domain, given by one number
 * c_s for each state.
 *
 * The best b for given weights of the states has a fixed shape within each state,
 *
 *     b(s, a) = c_s alpha_sa (alpha_sa pi(a|s) / W_s)^(q - 1),    W_s = |alpha_s pi_s|_q,
 *
 * so that b^pi = W c and the scaled p-norm of b is |c|_p. (q = infinity: all on one largest alpha pi, the
 * first among equals; q = 1: the same for every action of positive alpha pi.)
 *
 * In the plain L_2 ball, without scales, b = f_s pi with f = c / W. Then no loop over rows is needed:
 *
 *     b^pi = f_s sum pi^2,    |b|_2 = |f_s (sum pi^2)^(1/2)|_2,    largest |b| = |f_s| max pi.
 */
#ifndef NADIR_PROOF_RANK_ONE_CHECK_H
#define NADIR_PROOF_RANK_ONE_CHECK_H

#include "model/kernel.h"
#include "sets/uncertainty.h"

/* b: [rows] from c: [states]. */
void nadir_rank_one_states_expand(const nadir_problem *problem, const double *c, double *b);

/*
 * Bounds around a kernel Phat - b k^T of the free domain, computed from model, policy,
 * kernel and the numbers of the witness alone.
 */

typedef struct nadir_rank_one_check {
    double norm;         /* scaled p-norm of b k^T, the largest of a group for rectangular sets; rounded up */
    double excess;       /* by what share it lies outside the set: rounding, or the kernel is none of it */
    double row_sum;      /* largest |1 . b k^T| of a row */
    double lower, upper; /* proven bounds on the return of this kernel */
    double minimum;      /* the smallest entry of the kernel */
    double product_off;  /* at least |W c - (I - gamma Phat^pi) product|, maximum norm, where `product` is */
} nadir_rank_one_check;

/* The kernel itself: how far it is from the nominal one, against the set times `factor`, and its return, by
 * Sherman-Morrison on fresh solves with the residual of the perturbed system; refactor: by a factorisation of
 * its own as well. NADIR_ERROR_VERIFICATION when two ways to compute the return disagree, or the kernel lies
 * outside the set by more than rounding. */
nadir_status nadir_rank_one_check_kernel(nadir_context *context, const nadir_problem *problem, double factor,
                                         const nadir_kernel *kernel, bool refactor,
                                         nadir_rank_one_check *check);

/* A kernel, and the factor of the set that it is to lie in. */
typedef struct nadir_rank_one_question {
    const nadir_kernel *kernel; /* NULL: that of c and k, [states] each */
    double factor;
    const double *c, *k;
    const double *guess; /* [states] about D b^pi, perhaps up to a constant; NULL: none */
    double *product;     /* [states] <- about D W c, known to product_off; NULL: not wanted; else p = 2 */
} nadir_rank_one_question;

/* The same for `count` kernels, their systems solved together. refactor, or a model in
 * parts: all are given as kernels. */
nadir_status nadir_rank_one_check_kernels(nadir_context *context, const nadir_problem *problem, int64_t count,
                                          const nadir_rank_one_question *questions, bool refactor,
                                          nadir_rank_one_check *checks);

#endif
