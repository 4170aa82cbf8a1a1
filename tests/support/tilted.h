/*
 * tilted.h: numbers for tilted kernels, and what they come to. Include support/support.h first.
 */
#ifndef NADIR_TESTS_TILTED_H
#define NADIR_TESTS_TILTED_H

#include "base/random.h"
#include "kernel/kernel.h"
#include "nadir.h"

/* Fills a tilt of `model`. Its rows become distributions near the model's: some stay as they are, others get
 * lines over none, some or all states, or an extra state, or both; values x with ties, far from zero. signs:
 * numbers of any sign instead, which sum to one only roughly. */
void test_tilt_fill(const nadir_model *model, bool signs, nadir_random *random, nadir_tilt *tilt);

/* The kernel as numbers, by the definition: [rows * states]. To be freed. */
double *test_tilt_numbers(const nadir_model *model, const nadir_tilt *tilt);

/* A spread kernel of a family, its numbers, and a policy. */
typedef struct test_tilted {
    nadir_context *context;
    nadir_random random;
    nadir_model *model;
    nadir_kernel *kernel;
    nadir_policy *policy;
    nadir_model_data view;
    double *dense;
} test_tilted;

/* Takes the context over; family: a place in test_families. */
test_tilted test_tilted_make(nadir_context *context, int family, bool signs, uint64_t seed);
void test_tilted_clear(test_tilted *made);

#endif
