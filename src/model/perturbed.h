/*
 * perturbed.h: sums along an order of the states, for kernels that give states an amount that is a line in
 * x.
 *
 * An amount of last + slope (x_i - x_j) for the states at places j = 0 .. i of the order, where x_0 <= x_1 <=
 * ..., has with y the product
 *
 *     last plain_i + slope weighted_i,    plain_i = sum over j <= i of y_j,
 *                                         weighted_i = sum over j <= i of (x_i - x_j) y_j
 *                                                    = weighted_(i-1) + (x_i - x_(i-1)) plain_(i-1).
 *
 * Nothing cancels here where last and slope have one sign, wherever the origin of x is. Sums run within
 * pieces of the order, which depend on its length alone, and then over the pieces: the same bits for any
 * number of threads, and roundings as for sums of far fewer terms.
 */
#ifndef NADIR_MODEL_PERTURBED_H
#define NADIR_MODEL_PERTURBED_H

#include "core/context.h"
#include "core/device.h"
#include "linalg/matrix.h"
#include "model/kernel.h"
#include "model/policy.h"

typedef struct nadir_sorted_states {
    int64_t states;
    int32_t *order; /* [states] */
    double *x;      /* [states] x_i, rising */
} nadir_sorted_states;

/* A struct of zeros holds nothing. */
nadir_status nadir_sorted_states_reserve(nadir_context *context, int64_t states, nadir_sorted_states *sorted);
void nadir_sorted_states_release(nadir_memory *memory, nadir_sorted_states *sorted);

/* order: [states] all states; x: [states] rising along it. No allocation. */
void nadir_sorted_states_fill(const nadir_sorted_states *sorted, const int32_t *order, const double *x);

/* Side by side, as both are asked for. */
typedef struct nadir_prefix_sum {
    double plain;
    double weighted;
} nadir_prefix_sum;

/* y: [states], NULL: all one; sums: [states]. */
void nadir_prefix_sums_compute(const nadir_context *context, const nadir_sorted_states *sorted,
                               const double *y, nadir_prefix_sum *sums);

/* The transpose: y[state at j] += sum over i >= j of plain_i + weighted_i (x_i - x_j). sums: [states],
 * destroyed. */
void nadir_prefix_sums_transposed(const nadir_context *context, const nadir_sorted_states *sorted,
                                  nadir_prefix_sum *sums, double *y);

/* Every number above is computed with an error of at most this many units of rounding (DBL_EPSILON / 2) of
 * what it would be with all terms positive. */
double nadir_prefix_sums_roundings(int64_t states);

/*
 * The part of an average that tails give to states without an entry; see kernel.h.
 *
 * Averaged over a policy, the tails of the rows of a state are a few (length, last, slope), the weights of
 * pi(a|s) included, and the extra states a few (state, amount). With `plain` and `weighted` the sums along
 * the order (above),
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
