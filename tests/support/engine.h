/*
 * engine.h: a model with its nominal kernel and a policy, for tests of single points of the occupancy
 * operator on each backend. Include support/support.h first.
 */
#ifndef NADIR_TESTS_ENGINE_H
#define NADIR_TESTS_ENGINE_H

#include "support/families.h"

#define TEST_ENGINE_SEED 2718

#define TEST_BACKENDS 5
extern const char *const test_backends[TEST_BACKENDS];

/* Places in test_families: stored dense, sparse, sparse. */
enum { TEST_DENSE = 0, TEST_GARNET = 1, TEST_CHAIN = 2 };

/* Whether a backend says that it takes such a model. */
bool test_backend_takes(const char *backend, int family);

/* Runs the test on each backend with each of the three families that it takes, with a note that says so. */
void test_each_backend(void (*test)(const char *backend, int family));

typedef struct test_engine {
    nadir_context *context;
    nadir_random random;
    nadir_model *model;
    nadir_kernel *kernel; /* nominal */
    nadir_policy *policy;
    int64_t states, rows;
    double *b; /* [states] random */
    double *x; /* [states] zeros */
} test_engine;

/* Takes the context over. */
test_engine test_engine_make(nadir_context *context, int family);
void test_engine_clear(test_engine *engine);

/* The kernel with all rows of a state replaced by `row`, [states]. To be freed. */
nadir_kernel *test_engine_with_state(test_engine *engine, int64_t state, const double *row);

#endif
