/*
 * check_rank_one.h: bounds around a kernel Phat - b k^T of the free domain, made anew from model, policy,
 * kernel and the numbers of the witness, without searching.
 */
#ifndef NADIR_ADVERSARY_CHECK_RANK_ONE_H
#define NADIR_ADVERSARY_CHECK_RANK_ONE_H

#include "adversary/attack.h"
#include "adversary/problem.h"
#include "adversary/proof/breakdown.h"

typedef struct nadir_rank_one_check {
    double norm;         /* scaled p-norm of b k^T, the largest of a group for rectangular sets; rounded up */
    double excess;       /* by what share it lies outside the set: rounding, or the kernel is none of it */
    double row_sum;      /* largest |1 . b k^T| of a row */
    double lower, upper; /* proven bounds on the return of this kernel */
    double minimum;      /* the smallest entry of the kernel */
    double product_off; /* at least |W c - (I - gamma Phat^pi) product|, maximum norm, where that was asked */
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
    const nadir_kernel *kernel; /* NULL: that of c and k, [states] each; see dual.h */
    double factor;
    const double *c, *k;
    const double *guess; /* [states] about D b^pi, perhaps up to a constant; NULL: none */
    double *product;     /* [states] <- about D W c, known to product_off; NULL: not asked for; else p = 2 */
} nadir_rank_one_question;

/* The same for `count` kernels, their systems solved together. refactor, or a model in
 * parts: all are given as kernels. */
nadir_status nadir_rank_one_check_kernels(nadir_context *context, const nadir_problem *problem, int64_t count,
                                          const nadir_rank_one_question *asked, bool refactor,
                                          nadir_rank_one_check *checks);

/*
 * p = 2: an upper bound on the penalty of every kernel of the ball of radius beta, from the pair (c, k):
 * theta and the residual rho of (c / |c|, k) at lambda, isolation of theta by breakdown_low, which is proven
 * and above beta. *lambda_high: at worst gamma beta |Phi v| |W d| / (1 - beta / breakdown_low), which
 * asks nothing of the pair; infinity when beta is not below breakdown_low. The pair need not lie in any ball:
 * other norms are bounded through an enclosing L_2 ball. The problem is one of p = 2.
 */
nadir_status nadir_spectral_check(nadir_context *context, const nadir_problem *problem, double beta,
                                  const double *c, const double *k, double breakdown_low,
                                  double *lambda_high);

/* What is asked of each of many. */
typedef struct nadir_spectral_question {
    double beta;
    const double *c, *k; /* [states] each */
    const double *guess; /* [states] about D W c, perhaps up to a constant; NULL: none */
    /* [states] about D W c, and at least |W c - (I - gamma Phat^pi) product|, maximum norm; NULL: not known
     */
    const double *product;
    double product_off;
} nadir_spectral_question;

/* The same for `count` pairs, their systems solved together. lambda_high: [count]. */
nadir_status nadir_spectral_check_many(nadir_context *context, const nadir_problem *problem, int64_t count,
                                       const nadir_spectral_question *asked, double breakdown_low,
                                       double *lambda_high);

/* One pair without isolation from above: Cholesky tests of theta^2 (1 + eps) I - E^T E (D formed). */
nadir_status nadir_spectral_check_dense(nadir_context *context, const nadir_problem *problem, double beta,
                                        const double *c, const double *k, double breakdown_low,
                                        double *lambda_high);

#endif
