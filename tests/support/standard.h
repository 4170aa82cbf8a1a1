/* standard.h: problems of the free domain that every search must master. Include support.h first. */
#ifndef NADIR_TESTS_STANDARD_H
#define NADIR_TESTS_STANDARD_H

#include "core/random.h"
#include "support/problem.h"

/* Where no kernel costs anything. */
enum { TEST_ONE_STATE, TEST_NO_FUTURE, TEST_NO_RADIUS, TEST_ALL_PINNED, TEST_ALL_ALIKE, TEST_IDLE };
test_problem test_problem_idle(nadir_context *context, nadir_random *random, int which, nadir_set set,
                               double p);

/* A golden instance with its rewards times one of five powers of two, the first of them 1. */
enum { TEST_REWARD_SIZES = 5 };
extern const double test_reward_sizes[TEST_REWARD_SIZES];
test_problem test_problem_scaled(nadir_context *context, int golden, int size, nadir_set set, double p,
                                 double radius);

#endif
