/*
 * torture.h: tiny problems at the edges of what numbers can say: rewards of 1e300 and of 5e-324, discounts up
 * to 1 - 1e-12, rows of one entry, chains that hardly ever leave their corner, probabilities of 1e-310, norms
 * of 1 + 1e-6 and 1e6, radii from 1e-300 to 1e50 and next to breakdown, scales of 1e-40 and 1e40. Include
 * support/support.h first.
 *
 * All probabilities are multiples of powers of two that add up to one exactly (but for those of 1e-310), so
 * that the problem is the same in every precision.
 */
#ifndef NADIR_TESTS_TORTURE_H
#define NADIR_TESTS_TORTURE_H

#include "support/quad.h"

enum { TEST_TORTURE_ROWS = 24 };

typedef struct test_torture {
    nadir_model *model;
    nadir_policy *policy;
    nadir_ball ball; /* points into the struct's own arrays */
    double radii[TEST_TORTURE_ROWS];
    double scales[TEST_TORTURE_ROWS];
    char name[200]; /* what is special about it */
} test_torture;

/* The struct must stay where it is. */
void test_torture_make(nadir_context *context, nadir_random *random, test_torture *made);
void test_torture_clear(test_torture *made);

/* The largest reward over 1 - gamma, and what rounding in quadruple precision can do to a return. */
test_quad test_torture_largest(const test_oracle *oracle);
test_quad test_torture_rounding(const test_oracle *oracle);

/* Fails unless the status is one of those that refuse a problem, with a reason; NADIR_TORTURE_REFUSALS=1
 * prints it. */
void test_torture_refused(nadir_context *context, nadir_status status);

/* Ends the process by SIGPROF when so many seconds of computing have passed; 0: no more. */
void test_torture_watch(int seconds);

/* Another radius. On the free domain often one next to breakdown. */
void test_torture_radius(nadir_random *random, test_torture *made);

#endif
