/*
 * value_order.h: the states in rising order of a value, with sums along it.
 *
 * Linear problems over rows do not change when v is shifted or scaled, so they are solved for
 *
 *     x = (v - min v) / range in [0, 1],    range = max v - min v (constant v: x = 0, range = 0),
 *
 * which is safe for values of any size. A sum over all states below a level omega, the first i + 1 in the
 * order, comes from first_i = sum over j <= i of (x_i - x_j) and second_i, the same with squares: nothing
 * cancels, however close together the values are.
 */
#ifndef NADIR_SETS_VALUE_ORDER_H
#define NADIR_SETS_VALUE_ORDER_H

#include "linalg/exchange.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_value_order {
    /* Of a model distributed over processes, set by the caller: the order then holds own states and their
     * ghosts, which is enough for domain support alone. NULL: all states are here. */
    const nadir_exchange *exchange;
    bool unsorted; /* set by the caller: only x is wanted */
    int64_t states;
    double lowest, range;             /* min v, max v - min v */
    double *x;                        /* [states] of each state */
    int32_t *order;                   /* [states] rising in v, the lower state first among equals */
    int32_t *rank;                    /* [states] the place of a state in the order */
    double *sorted;                   /* [states] x along the order */
    double *first;                    /* [states] */
    double *second;                   /* [states] */
    struct nadir_placed_state *lists; /* [2 * states] work space */
} nadir_value_order;

/* Over the states below a level. */
typedef struct nadir_value_order_sums {
    int64_t count; /* of states with x < omega */
    double first;  /* sum of omega - x over them */
    double second; /* sum of (omega - x)^2 */
} nadir_value_order_sums;

/* v: [own] finite; own: all states, or those of this process. Made anew in place, without allocation, when
 * the number of states is the same. NADIR_ERROR_ARGUMENT when a value is not finite, or when their range
 * overflows. */
nadir_status nadir_value_order_make(nadir_context *context, int64_t own, const double *v,
                                    nadir_value_order *order);
void nadir_value_order_clear(nadir_context *context, nadir_value_order *order);

/* O(log S). Sums are computed to a relative error of 8 roundings. */
nadir_value_order_sums nadir_value_order_below(const nadir_value_order *order, double omega);

#endif
