/*
 * prefix_sums.h: sums along an order of the states, for kernels that give states an amount that is a line in
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
#ifndef NADIR_MODEL_PREFIX_SUMS_H
#define NADIR_MODEL_PREFIX_SUMS_H

#include "core/context.h"

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

#endif
