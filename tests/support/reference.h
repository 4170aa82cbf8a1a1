/*
 * reference.h: the objects of the engine computed naively, from what the public header shows of a model:
 * dense, by the definitions, in long double. Include support/support.h first.
 *
 * A platform, or valgrind, may compute long double with no more digits than double: test_long_unit tells.
 */
#ifndef NADIR_TESTS_REFERENCE_H
#define NADIR_TESTS_REFERENCE_H

#include "model/average.h"
#include "nadir.h"

/* calloc that cannot fail; to be freed with free(). */
void *test_new(int64_t count, size_t size);

/* The unit of rounding of long double as this process really computes it. */
double test_long_unit(void);

/* P(t|row) for all rows: [rows * states]. To be freed. */
double *test_dense_kernel(const nadir_model *model);

/* nadir_kernel_minimum, which must not fail. */
double test_kernel_minimum(nadir_context *context, const nadir_kernel *kernel);

/* P^pi(s, t) = sum over a of pi(a|s) P(t|s, a) of a kernel [rows * states] and a policy [rows]: [states *
 * states]. To be freed. */
long double *test_dense_average(const nadir_model *model, const double *kernel, const double *policy);

/* P^pi as an average has it, M - b k^T or M + L, once its view was checked: [states * states]. To be freed.
 */
long double *test_average_numbers(const nadir_average *average);

/* I - gamma P, with its LU factors. */
typedef struct test_system {
    int64_t size;
    long double *matrix; /* [size * size] */
    long double *factor; /* [size * size] L below the diagonal, U on it and above; rows swapped */
    int64_t *swaps;      /* [size] row i was swapped with this one before step i */
    bool singular;       /* a pivot is exactly zero: no solutions */
} test_system;

/* average: [size * size]. Gaussian elimination with partial pivoting. */
test_system test_system_make(int64_t size, const long double *average, double gamma);
void test_system_clear(test_system *system);

/* The solution of A x = b, or of A^T x = b: [size]. */
void test_system_solve(const test_system *system, bool transposed, const double *b, long double *x);

/* |b - A x| in the maximum norm, or |b - A^T x| in the 1-norm. */
long double test_system_residual(const test_system *system, bool transposed, const double *b,
                                 const long double *x);

/* |A| |A^-1| in the maximum norm. */
double test_system_condition(const test_system *system);

#endif
