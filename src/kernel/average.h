/*
 * average.h: a kernel averaged over a policy, P^pi(s, t) = sum over a of pi(a|s) P(t|s, a).
 *
 * It is an explicit matrix M, dense or CSR as the model is, less a product of two vectors where the kernel
 * has one:
 *
 *     P^pi = M - b k^T,       b(s) = sum over a of pi(a|s) b(s, a)
 *
 * so that a change of rank one never fills a sparse matrix.
 */
#ifndef NADIR_KERNEL_AVERAGE_H
#define NADIR_KERNEL_AVERAGE_H

#include "kernel/kernel.h"
#include "linalg/matrix.h"
#include "model/policy.h"

typedef struct nadir_average {
    int64_t states;
    nadir_matrix matrix;          /* M */
    const double *b;              /* [states], NULL: P^pi is M */
    const double *k;              /* [states] */
    double norm;                  /* max_s sum_t |P^pi(s, t)|, up to rounding: 1 for a kernel that is one */
    struct nadir_average *lender; /* M is this one's; NULL: our own */
    /* owned */
    double *dense;
    nadir_entries entries;
    nadir_entries transpose; /* of M when it is CSR; made when first asked for */
    double *correction;      /* b and k */
    bool changed;            /* some rows are not the model's, and so may have another pattern */
    bool *active;            /* [rows] rows of positive probability: the pattern depends on nothing else */
} nadir_average;

/* A struct of zeros is empty. Threaded, one pass over the rows of positive probability. */
nadir_status nadir_average_make(nadir_context *context, const nadir_kernel *kernel,
                                const nadir_policy *policy, nadir_average *average);
/* New numbers for another policy or kernel of the same model. *same_pattern: the pattern of M is the same and
 * only its values changed, in place. On failure the average is empty. */
nadir_status nadir_average_remake(nadir_context *context, const nadir_kernel *kernel,
                                  const nadir_policy *policy, nadir_average *average, bool *same_pattern);
void nadir_average_clear(nadir_context *context, nadir_average *average);

/* The average of another kernel over the same policy, with the matrix of `lender`, which must outlive it.
 * False when the explicit parts of the kernels may differ; nothing is made then. */
nadir_status nadir_average_borrow(nadir_context *context, nadir_average *lender, const nadir_kernel *kernel,
                                  const nadir_policy *policy, nadir_average *average, bool *borrowed);

/* Y = P^pi X and Y = (P^pi)^T X for `count` vectors of [states]; x and y do not overlap. The transposed
 * product of a sparse average keeps a transposed copy from the first call on, and so can fail. */
void nadir_average_multiply(const nadir_context *context, const nadir_average *average, int64_t count,
                            const double *x, double *y);
nadir_status nadir_average_multiply_transposed(nadir_context *context, nadir_average *average, int64_t count,
                                               const double *x, double *y);

/* Y = shift X + scale M X, or with M^T, in one pass: for solving with I - gamma M. Only the transposed one
 * can fail. */
nadir_status nadir_average_combine(nadir_context *context, nadir_average *average, bool transposed,
                                   int64_t count, double shift, double scale, const double *x, double *y);

/* R^pi(s) = sum over a of pi(a|s) R(s, a); result: [states]. The model has rewards. */
void nadir_average_rewards(const nadir_model *model, const nadir_policy *policy, double *result);

#endif
