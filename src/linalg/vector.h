/* vector.h: kernels on plain vectors. None allocates. */
#ifndef NADIR_LINALG_VECTOR_H
#define NADIR_LINALG_VECTOR_H

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

/* |x|_2, off by less than 32 roundings whatever the count; a NaN where one is. */
double nadir_vector_norm_2(int64_t count, const double *x);

/* |x|_1, in eight partial sums. */
double nadir_vector_norm_1(int64_t count, const double *x);

/* sum <- weight x where it is the first, else sum + weight x; not overlapping. */
void nadir_vector_add(int64_t count, double weight, const double *x, bool first, double *restrict sum);

/* x <- x / divisor. */
void nadir_vector_divide(int64_t count, double divisor, double *x);

#endif
