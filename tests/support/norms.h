/* norms.h: norms by their definition, in long double, and exponents to try them with. Include
 * support/support.h first. */
#ifndef NADIR_TESTS_NORMS_H
#define NADIR_TESTS_NORMS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether long double has more digits than double; under valgrind it has not, and comparisons mean nothing.
 */
bool test_norms_precise(void);
#define assert_precise(condition, ...) assert_that(!test_norms_precise() || (condition), __VA_ARGS__)

/* From 1 to infinity, with the neighbourhoods of 1 and 2. */
enum { TEST_EXPONENTS = 16 };
extern const double test_exponents[TEST_EXPONENTS];

/* The q with 1/p + 1/q = 1. */
long double test_conjugate(long double p);

/* |x - centre|_p */
long double test_norm(int64_t count, const double *x, long double centre, long double p);

/* (x - centre) . y */
long double test_dot(int64_t count, const double *x, long double centre, const double *y);

#endif
