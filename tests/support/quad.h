/*
 * quad.h: exact answers for tiny problems, to check bounds against: returns, worst kernels of sets that allow
 * an exact one, and kernels that lie in a set for certain, in quadruple precision (unit 1e-34, numbers up to
 * 1e4932: nothing of double overflows or drowns here). Include support/support.h first.
 *
 * What test_oracle holds is taken as it stands, so rows should sum to one exactly (multiples of 2^-20, say).
 */
#ifndef NADIR_TESTS_QUAD_H
#define NADIR_TESTS_QUAD_H

#include "support/oracle.h"

__extension__ typedef __float128 test_quad;

test_quad test_quad_absolute(test_quad x);
test_quad test_quad_root(test_quad x);

/* The nominal kernel, [rows * states]. To be freed. */
test_quad *test_quad_nominal(const test_oracle *oracle);

/* The return of a kernel [rows * states]; false: I - gamma P^pi is singular. v, d: [states] value and
 * occupancy, NULL: not wanted. */
bool test_quad_return(const test_oracle *oracle, const test_quad *kernel, test_quad *v, test_quad *d,
                      test_quad *J);

/* D = (I - gamma P^pi)^-1 of the nominal kernel: [states * states] row after row; false: singular. */
bool test_quad_inverse(const test_oracle *oracle, test_quad *D);

/* A kernel of the set near the given one [rows * states]: rows become distributions (free domain: sum to
 * one), then every ball shrinks its change to no more than 1 - 1e-12 of its radius. */
void test_quad_pull(const test_oracle *oracle, const double *kernel, test_quad *pulled);

/* How the worst return over the set was found. */
typedef enum test_quad_known {
    TEST_QUAD_UNKNOWN,
    TEST_QUAD_FIXED,       /* nothing can move */
    TEST_QUAD_RECTANGULAR, /* valid domains: rows, or states with p = 1, apart from each other */
    TEST_QUAD_SATURATED,   /* valid domains: the ball holds the whole domain */
    TEST_QUAD_FREE         /* one ball on the free domain, p = 1 or 2 */
} test_quad_known;

#define TEST_QUAD_KNOWN 5
extern const char *const test_quad_names[TEST_QUAD_KNOWN];

/* The worst return, to about 25 digits of the largest value; on the free domain the radius must be below
 * breakdown. */
test_quad_known test_quad_worst(const test_oracle *oracle, test_quad *J);

/* The breakdown radius of one ball on the free domain, p = 1 or 2; 0: not known. */
double test_quad_breakdown(const test_oracle *oracle);

#endif
