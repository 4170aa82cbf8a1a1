/*
 * gstd.h: vectors to try the GSTD on, and the proof that it is right. Include support/support.h first.
 *
 * A zero-sum u with |u|_p = 1 and u . x = |x - omega|_q proves that omega is a minimiser and u a maximiser.
 */
#ifndef NADIR_TESTS_GSTD_H
#define NADIR_TESTS_GSTD_H

#include "linalg/gstd.h"

/* Relative, everywhere. */
#define TEST_TOLERANCE 1e-12L

/* Vectors of every shape: none is constant from two entries on. */
enum {
    TEST_UNIFORM,
    TEST_HEAVY,       /* cubes of normal numbers */
    TEST_TIES,        /* four values */
    TEST_MOSTLY_ZERO, /* the median and most other entries are equal */
    TEST_OUTLIER,     /* ten orders of magnitude away from the others */
    TEST_WIDE,        /* every order of magnitude from 1e-9 to 1e9 */
    TEST_DEEP,        /* about zero, with a neighbourhood at every order of magnitude down to 1e-130 */
    TEST_SHAPES
};
void test_gstd_fill(int shape, int64_t count, uint64_t seed, double *x);

long double test_smallest(int64_t count, const double *x);

/* Alone, or fails the test. u may be NULL. */
nadir_gstd test_gstd_compute(nadir_context *context, int64_t count, const double *x, double q, double *u);

/* Fails unless u is a zero-sum vector with |u|_p = 1 and u . x = sigma. */
void test_gstd_check(int64_t count, const double *x, double q, const double *u, double sigma);

#endif
