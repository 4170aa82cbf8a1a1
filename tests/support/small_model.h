/* small_model.h: a model small enough to be spoiled entry by entry. Include support/support.h first. */
#ifndef NADIR_TESTS_SMALL_MODEL_H
#define NADIR_TESTS_SMALL_MODEL_H

#include "nadir.h"

/* Two states with one action each, to be spoiled by the tests. */
typedef struct test_small_model {
    int64_t state_rows[3];
    int64_t row_starts[3];
    int32_t columns[4];
    double probabilities[4];
    double rewards[2];
    double initial[2];
    double scales[2];
    nadir_model_data data;
} test_small_model;

/* Rows (0.25, 0.75) and (0.5, 0.5), rewards 1 and 2, discount 0.9. `data` points into the struct itself. */
void test_small_set(test_small_model *small);

/* The model made of it; fails the test where it is refused. To be freed. */
nadir_model *test_small_accept(nadir_context *context, const test_small_model *small);

#endif
