/* setting.h: a model under a policy, for tests of backends. Include support.h first. */
#ifndef NADIR_TESTS_SETTING_H
#define NADIR_TESTS_SETTING_H

#include "model/average.h"

typedef struct test_setting {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_kernel *kernel;
    nadir_average average;
} test_setting;

/* Takes the model; the policy is uniform. */
test_setting test_setting_make(nadir_context *context, nadir_model *model);
void test_setting_clear(test_setting *made);

/* Successors of a state, rising, into columns [states + 1]; returns how many. */
typedef int64_t (*test_row)(int64_t states, int64_t state, int32_t *columns);

/* State 0 leads everywhere, and everything leads there. */
int64_t test_row_hub(int64_t states, int64_t state, int32_t *columns);
/* Every third state is never left, the others lead to two neighbours. */
int64_t test_row_absorbing(int64_t states, int64_t state, int32_t *columns);
/* Layers of 500 states; each leads to the next one. */
int64_t test_row_layered(int64_t states, int64_t state, int32_t *columns);

/* One action in each state; all successors of a state are as likely. To be freed. */
nadir_model *test_sparse_model(nadir_context *context, int64_t states, test_row rule);

/* A generated model; `states` is the side of a gridworld. To be freed. */
nadir_model *test_generate_states(nadir_context *context, const char *kind, int64_t states);

#endif
