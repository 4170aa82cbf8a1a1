/*
 * offsupport_tail.h: the part of an average that tails give to states without an entry; see kernel.h.
 *
 * Averaged over a policy, the tails of the rows of a state are a few (length, last, slope), the weights of
 * pi(a|s) included, and the extra states a few (state, amount). With `plain` and `weighted` the sums along
 * the order (prefix_sums.h),
 *
 *     (L y)(s) = sum over its tails of last plain(length - 1) + slope weighted(length - 1)
 *              + sum over its extra states of amount y(state).
 *
 * Tails run over all states of their stretch: where the row has an entry of its own, the explicit matrix of
 * the average is less by that much (average.c).
 *
 * With a device (core/device.h) they may be there, beside the matrix of the average, whose products are then
 * with both and which has the extra states as entries: the arrays are NULL until nadir_average_fetch was
 * called.
 */
#ifndef NADIR_MODEL_OFFSUPPORT_TAIL_H
#define NADIR_MODEL_OFFSUPPORT_TAIL_H

#include "core/device.h"
#include "linalg/matrix.h"
#include "model/kernel.h"
#include "model/perturbed.h"
#include "model/policy.h"

typedef struct nadir_offsupport_tail {
    int64_t states; /* 0: there is no such part */
    nadir_sorted_states sorted;
    nadir_entries last;  /* of each state: at column length - 1 */
    double *slope;       /* in the same columns */
    nadir_entries extra; /* of each state: amounts */
    /* the same turned round, made when first asked for: tails by their columns, extra states by state */
    nadir_entries last_turned, slope_turned, extra_turned;
    int32_t *turned_columns; /* in `last` of each line of last_turned */
    nadir_prefix_sum *sums;  /* [states] */
    double norm; /* at least max_s sum_t |P^pi(s, t)| of the whole average; that, where nothing is negative */
    double terms; /* at least the sum of the sizes of all terms of a product with a row of it */
    /* On a device; remote NULL: not so. */
    const nadir_device *device;
    void *device_matrix; /* the average's */
    nadir_device_tail_facts facts;
} nadir_offsupport_tail;

/* A struct of zeros holds nothing, and so does that of a kernel without a tail. nadir_perturbed_update was
 * called. On failure nothing is left. */
nadir_status nadir_offsupport_tail_make(nadir_context *context, const nadir_kernel *kernel,
                                        const nadir_policy *policy, nadir_offsupport_tail *tail);
void nadir_offsupport_tail_clear(nadir_context *context, nadir_offsupport_tail *tail);

/* Y += scale L X, or L^T X, for `count` vectors; nothing where a device has done so. Only the transposed one
 * can fail, and only the first time. */
void nadir_offsupport_tail_add(const nadir_context *context, const nadir_offsupport_tail *tail, int64_t count,
                               double scale, const double *x, double *y);
nadir_status nadir_offsupport_tail_add_transposed(nadir_context *context, nadir_offsupport_tail *tail,
                                                  int64_t count, double scale, const double *x, double *y);

/* How many entries of the average it takes to write the tails out, at most. */
int64_t nadir_offsupport_tail_entries(const nadir_offsupport_tail *tail);

/* Roundings of a product, in units, beyond those of the explicit matrix. */
double nadir_offsupport_tail_roundings(const nadir_offsupport_tail *tail, bool transposed);

#endif
