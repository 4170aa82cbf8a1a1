/*
 * perturbed.h: numbers for perturbed kernels, and what they come to. Include support/support.h first.
 */
#ifndef NADIR_TESTS_TILTED_H
#define NADIR_TESTS_TILTED_H

#include "core/random.h"
#include "model/kernel.h"
#include "nadir.h"

/* Fills a perturbed kernel of `model`. Its rows become distributions near the model's: some stay as they are,
 * others get lines over none, some or all states, or an extra state, or both; values x with ties, far from
 * zero. signs: numbers of any sign instead, which sum to one only roughly. */
void test_perturbed_fill(const nadir_model *model, bool signs, nadir_random *random,
                         nadir_perturbed *perturbed);

/* A perturbed kernel with the numbers of the nominal one, none of whose rows is marked as nominal. */
nadir_status test_perturbed_create(nadir_context *context, nadir_model *model, bool with_tail,
                                   nadir_kernel **kernel);

/* The kernel as numbers, by the definition: [rows * states]. To be freed. */
double *test_perturbed_numbers(const nadir_model *model, const nadir_perturbed *perturbed);

/* A spread kernel of a family, its numbers, and a policy. */
typedef struct test_perturbed {
    nadir_context *context;
    nadir_random random;
    nadir_model *model;
    nadir_kernel *kernel;
    nadir_policy *policy;
    nadir_model_data view;
    double *dense;
} test_perturbed;

/* Takes the context over; family: a place in test_families. */
test_perturbed test_perturbed_make(nadir_context *context, int family, bool signs, uint64_t seed);
void test_perturbed_clear(test_perturbed *made);

#endif
