/*
 * returns.h: many policies of a model and what they return, for tests of nadir_returns. Include
 * support/support.h first.
 */
#ifndef NADIR_TESTS_RETURNS_H
#define NADIR_TESTS_RETURNS_H

#include "core/random.h"
#include "nadir.h"

#define TEST_RETURNS_SEED 31415

/* Policies of a model, and what they return. */
typedef struct test_batch {
    nadir_model *model;
    nadir_model_data view;
    int64_t count;
    double *probabilities; /* [count * rows] */
    double *returns;       /* [count] */
    double *errors;        /* [count] */
} test_batch;

/* The same model with another discount; the old one is freed. */
nadir_model *test_discounted(nadir_context *context, nadir_model *model, double gamma);

/* Every kind of policy in turn. Takes the model over. */
test_batch test_batch_make(nadir_context *context, nadir_model *model, int64_t count, nadir_random *random);
void test_batch_clear(test_batch *at);

/* nadir_returns of all of them. */
nadir_status test_batch_ask(nadir_context *context, const test_batch *at, const char *backend);

/* Every return is right to `tolerance` of the largest value, against Gaussian elimination in long double; its
 * error is a bound, and not a wide one. */
void test_batch_check(const test_batch *at, const char *what, double tolerance);

/* The same as with a solver for each. */
void test_batch_compare(nadir_context *context, const test_batch *at, const char *backend, double tolerance);

/* A context of so many threads, 0: all, without a device. */
nadir_context *test_context_of(int32_t threads);

#endif
