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
 */
#ifndef NADIR_PROOF_RANK_ONE_CHECK_H
#define NADIR_PROOF_RANK_ONE_CHECK_H

#include "model/kernel.h"
#include "proof/verified_solve.h"
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
} nadir_rank_one_check;

/* A kernel, and the factor of the set that it is to lie in. */
typedef struct nadir_rank_one_question {
    const nadir_kernel *kernel; /* NULL: that of c and k, [states] each */
    double factor;
    const double *c, *k;
    const double *guess;      /* [states] about D b^pi, perhaps up to a constant; NULL: none */
    nadir_solve_basis *basis; /* of D, shared by many questions; NULL: none */
} nadir_rank_one_question;

/* The kernel itself: how far it is from the nominal one, against the set times the factor, and its return, by
 * Sherman-Morrison on a fresh solve with the residual of the perturbed system. NADIR_ERROR_VERIFICATION when
 * the kernel lies outside the set by more than rounding. */
nadir_status nadir_rank_one_check_kernel(nadir_context *context, const nadir_problem *problem,
                                         const nadir_rank_one_question *question,
                                         nadir_rank_one_check *check);

#endif
