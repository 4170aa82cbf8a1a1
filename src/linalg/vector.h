/* vector.h: kernels on plain vectors. None allocates. */
#ifndef NADIR_LINALG_VECTOR_H
#define NADIR_LINALG_VECTOR_H

#include "core/context.h"
#include "linalg/formulas.h"

#include <stdbool.h>
#include <stdint.h>

/* Sum of x[0..count) with Neumaier's compensation: off by about one rounding of the result, whatever the
 * count, as long as the terms have one sign. */
double nadir_vector_sum(int64_t count, const double *x);

/* The largest |x[i]|; NaN where one is. */
double nadir_vector_largest(int64_t count, const double *x);

/* The smallest of at least one number that is no NaN. */
double nadir_vector_smallest(int64_t count, const double *x);

/* x . y with the same compensation; *error: at least how far it is off. */
double nadir_vector_dot(int64_t count, const double *x, const double *y, double *error);

/* |x|_1, in eight partial sums. */
double nadir_vector_norm_1(int64_t count, const double *x);

/* sum <- weight x where it is the first, else sum + weight x; not overlapping. */
void nadir_vector_add(int64_t count, double weight, const double *x, bool first, double *restrict sum);

/* x <- x / divisor. */
void nadir_vector_divide(int64_t count, double divisor, double *x);

/* The first of `count` rising numbers that is not below the wanted one, or `count`. O(log count) */
static inline int64_t nadir_find_place(int64_t count, const int64_t *rising, int64_t wanted)
{
    int64_t low = 0;
    int64_t high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const bool before = rising[middle] < wanted;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}
static inline int64_t nadir_find_column(int64_t count, const int32_t *rising, int64_t wanted)
{
    int64_t low = 0;
    int64_t high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const bool before = rising[middle] < wanted;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}

/*
 * p-norms of distributed vectors, p in [1, infinity], and the vectors where Hölder's inequality is an
 * equality.
 *
 * A process holds `count` of the entries, the first at global place `first`; every process makes the same
 * call. Sizes from the smallest to the largest double are safe; a norm beyond the largest is infinity. An
 * exponent below 1 or an entry that is not finite is NADIR_ERROR_ARGUMENT.
 */

/* The q with 1/p + 1/q = 1: infinity at 1, 2 at 2, 1 at infinity, NaN where p is not in [1, infinity]. */
double nadir_holder_conjugate(double p);

/* sigma_q(e_1) among `states` entries, 1/p + 1/q = 1, p in [1, infinity]: (1 + (S - 1)^(1 - p))^(-1/p); 1/2
 * at p = 1, 1 at p = infinity, 0 when S = 1. Its inverse is the p-norm of the shortest zero-sum change that
 * changes an entry by 1. */
double nadir_gstd_unit(int64_t states, double p);

/* |x|_2, off by less than 40 roundings, and one for each process; a NaN where one is. x[count] */
double nadir_global_norm_2(const nadir_context *context, int64_t count, const double *x);
/* |x|_p. x[count] */
nadir_status nadir_norm_p(nadir_context *context, int64_t count, const double *x, double p, double *norm);

/* |x|_p of a short vector that this process holds alone, such as the actions of a state; p >= 1 and finite
 * entries. x[count] */
double nadir_norm_short(int64_t count, const double *x, double p);

/* norm = |x|_q and u with |u|_p = 1, u . x = |x|_q: u = sign(x) (|x| / |x|_q)^(q - 1); signs at q = 1, where
 * a zero stays zero; at q = infinity all weight on one largest entry, the lowest place among equals. Zero
 * vectors give u = 0, norm 0. x[count]; u[count], which may be x. */
nadir_status nadir_norm_dual(nadir_context *context, int64_t first, int64_t count, const double *x, double q,
                             double *u, double *norm);

/* The nearest distribution. */

/* x: [count], finite; becomes the point of {x >= 0, sum x = 1} nearest to it in the Euclidean norm:
 * max(x - theta, 0). room: [count]. */
void nadir_simplex_project(int64_t count, double *x, double *room);

#endif
