/*
 * average.h: a kernel averaged over a policy, P^pi(s, t) = sum over a of pi(a|s) P(t|s, a).
 *
 * It is an explicit matrix M, dense or CSR as the model is, less a product of two vectors where the kernel
 * has one, or with tails where it is a perturbed kernel with a tail (perturbed.h):
 *
 *     P^pi = M - b k^T,       b(s) = sum over a of pi(a|s) b(s, a),       or       P^pi = M + L
 *
 * so that neither a change of rank one nor a perturbed kernel ever fills a sparse matrix. Products with an
 * average that has tails use work space of the average: one at a time.
 *
 * With a device (core/device.h) M is made there where the model has its rows, and `matrix` has a size and no
 * numbers until nadir_average_fetch was called; nor have tails.
 */
#ifndef NADIR_MODEL_AVERAGE_H
#define NADIR_MODEL_AVERAGE_H

#include "core/device.h"
#include "linalg/matrix.h"
#include "model/kernel.h"
#include "model/perturbed.h"
#include "model/policy.h"

typedef struct nadir_average {
    int64_t states;
    nadir_matrix matrix;            /* M */
    const double *b;                /* [states], NULL: P^pi is M */
    const double *k;                /* [states] and ghosts */
    const nadir_exchange *exchange; /* of the model */
    nadir_offsupport_tail tail;     /* L; states 0: none */
    double norm; /* max_s sum_t |P^pi(s, t)|, up to rounding: 1 for a kernel that is one; with
                    tails and negative entries it may be larger */
    struct nadir_average *lender; /* M is this one's; NULL: our own */
    /* owned */
    double *dense;
    nadir_entries entries;
    nadir_entries transpose; /* of M when it is CSR; made when asked for */
    int64_t transposed_row;  /* once it was given back, one more than the most entries in a row of it; or 0 */
    double *correction;      /* b and k */
    bool changed;            /* M may have another pattern than the model's rows */
    bool nominal;            /* M has the numbers of the model */
    bool *active;            /* [rows] rows of positive probability: the pattern depends on nothing else */
    /* On a device; remote NULL: not so. */
    const nadir_device *device;
    void *device_matrix; /* M; the lender's if there is one */
    bool sparse;
    nadir_device_facts facts;
} nadir_average;

/* A struct of zeros is empty. One pass over the rows of positive probability. */
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

/* Brings the numbers of M, and tails, here from a device; does nothing where they are here. */
nadir_status nadir_average_fetch(nadir_context *context, nadir_average *average);
bool nadir_average_is_dense(const nadir_average *average);
/* The most entries of a row of M. */
int64_t nadir_average_row_length(const nadir_average *average);

/* Y = shift X + scale A X and Y = shift X + scale A^T X for `count` vectors of [states]; x and y do not overlap.
 * A is P^pi if `whole`, which wants shift 0 and scale 1, else M + L. The transposed product of a sparse average
 * keeps a transposed copy from the first call on, and so can fail; the other one can only where a device does, and Y
 * is then of NaN. */
nadir_status nadir_average_product(const nadir_context *context, const nadir_average *average, bool whole,
                                   int64_t count, double shift, double scale, const double *x, double *y);
nadir_status nadir_average_product_transposed(nadir_context *context, nadir_average *average, bool whole,
                                              int64_t count, double shift, double scale, const double *x,
                                              double *y);

/* Y = P^pi X and Y = (P^pi)^T X. */
static inline void nadir_average_multiply(const nadir_context *context, const nadir_average *average,
                                          int64_t count, const double *x, double *y)
{
    (void)nadir_average_product(context, average, true, count, 0, 1, x, y);
}
static inline nadir_status nadir_average_multiply_transposed(nadir_context *context, nadir_average *average,
                                                             int64_t count, const double *x, double *y)
{
    return nadir_average_product_transposed(context, average, true, count, 0, 1, x, y);
}

/* Y = shift X + scale (M + L) X, or transposed: for solving with I - gamma (M + L). */
static inline nadir_status nadir_average_combine(nadir_context *context, nadir_average *average,
                                                 bool transposed, int64_t count, double shift, double scale,
                                                 const double *x, double *y)
{
    return transposed ? nadir_average_product_transposed(context, average, false, count, shift, scale, x, y)
                      : nadir_average_product(context, average, false, count, shift, scale, x, y);
}

/* Before many products: makes the transposed copy now where these are faster with it as well, as they are
 * with models distributed over processes, unless it was given back. */
nadir_status nadir_average_prepare(nadir_context *context, nadir_average *average);

/* Gives the memory of the transposed copy back; the next transposed product makes it anew. */
void nadir_average_forget_transpose(nadir_context *context, nadir_average *average);

/* Writes the tails out: M becomes the whole of P^pi and L nothing. Takes memory for
 * nadir_offsupport_tail_entries more entries at most. On failure the average is as it was. */
nadir_status nadir_average_expand(nadir_context *context, nadir_average *average);

/* An average's products are computed with an error of at most unit * roundings * terms * |x|, in the maximum
 * norm, or the 1-norm if transposed; unit = DBL_EPSILON / 2. The transposed one tells only once there was a
 * transposed product. O(states). */
double nadir_average_roundings(const nadir_context *context, const nadir_average *average, bool transposed);
double nadir_average_terms(const nadir_average *average);

/* R^pi(s) = sum over a of pi(a|s) R(s, a); result: [states]. The model has rewards. */
void nadir_average_rewards(const nadir_model *model, const nadir_policy *policy, double *result);

#endif
