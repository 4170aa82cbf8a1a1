/*
 * test_returns.c: returns of many policies at once, against one solver for each and against Gaussian
 * elimination in long double; their errors are bounds; what is refused is named.
 */
#include "support/support.h"

#include "core/context.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/returns.h"
#include "support/scarce.h"
#include "support/small_model.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED TEST_RETURNS_SEED

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Families of models, absorbing states and chains among them, every discount, backend and number of
 * threads. */
static void test_families_of_models(void **state)
{
    static const double gammas[] = {0, 0.5, 0.99, 0.9999};
    static const char *const backends[] = {NULL, "lapack", "klu", "krylov"};
    (void)state;
    nadir_context *contexts[] = {test_context(), test_context_of(3)};
    nadir_random random = test_random(SEED);
    for (size_t f = 0; f < TEST_FAMILIES; f++) {
        for (size_t g = 0; g < LENGTH(gammas); g++) {
            nadir_model *model = test_families[f].make(contexts[0], &random);
            test_batch at =
                test_batch_make(contexts[0], test_discounted(contexts[0], model, gammas[g]), 7, &random);
            for (size_t b = 0; b < 2 * LENGTH(backends); b++) {
                const char *backend = backends[b / 2];
                nadir_context *context = contexts[b % 2];
                test_note("%s, gamma %g, backend %s, threads %d, seed %d", test_families[f].name, gammas[g],
                          backend != NULL ? backend : "auto", (int)context->threads, SEED);
                const nadir_status status = test_batch_ask(context, &at, backend);
                if (status == NADIR_ERROR_UNSUPPORTED) { /* klu, of a dense kernel */
                    continue;
                }
                assert_ok(context, status);
                test_batch_check(&at, "families", 1e-10);
                if (b % 2 == 0) {
                    test_batch_compare(context, &at, backend, 1e-10);
                }
            }
            test_batch_clear(&at);
        }
    }
    test_note_clear();
    nadir_context_free(contexts[0]);
    nadir_context_free(contexts[1]);
}

/* A model that is solved on all threads, one policy after another; iterations start from the last one. */
static void test_large_model(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    nadir_generate_settings shape = test_generate_settings();
    shape.states = test_memcheck() ? 1100 : 3000;
    shape.seed = 4;
    test_batch at = test_batch_make(context, test_generate(context, "garnet", &shape), 5, &random);
    const char *krylov = context->device != NULL ? "device-krylov" : "krylov";
    for (int i = test_memcheck() ? 1 : 0; i < 2; i++) { /* factors of such a model take long there */
        const char *backend = i == 0 ? NULL : krylov;
        assert_ok(context, test_batch_ask(context, &at, backend));
        test_batch_compare(context, &at, backend, 1e-10);
    }
    test_batch_clear(&at);
}

/* The same bits again and, where every policy is factored from nothing, whatever the number of threads. */
static void test_same_bits(void **state)
{
    static const char *const backends[] = {"lapack", "klu"};
    (void)state;
    for (size_t b = 0; b < LENGTH(backends); b++) {
        double *first = NULL;
        for (int run = 0; run < 4; run++) {
            nadir_context *context = test_context_of(run < 2 || b == 1 ? 2 : 5 - run);
            nadir_random random = test_random(SEED);
            nadir_model *model = test_families[TEST_FAMILIES > 1].make(context, &random);
            test_batch at = test_batch_make(context, model, 23, &random);
            assert_ok(context, test_batch_ask(context, &at, backends[b]));
            if (first == NULL) {
                first = test_new(2 * at.count, sizeof *first);
                memcpy(first, at.returns, (size_t)at.count * sizeof *first);
                memcpy(first + at.count, at.errors, (size_t)at.count * sizeof *first);
            }
            assert_memory_equal(first, at.returns, (size_t)at.count * sizeof *first);
            assert_memory_equal(first + at.count, at.errors, (size_t)at.count * sizeof *first);
            test_batch_clear(&at);
            nadir_context_free(context);
        }
        free(first);
    }
}

/* ------------------------------------------------------------------------------------- what is refused */

/* Entry `place` of the policies is `value` while they are refused. */
static void refused(nadir_context *context, test_batch *at, int64_t place, double value, const char *words)
{
    const double before = at->probabilities[place];
    at->probabilities[place] = value;
    test_note("number %lld is %g", (long long)place, value);
    assert_fails(context, test_batch_ask(context, at, NULL), NADIR_ERROR_POLICY, words);
    at->probabilities[place] = before;
}

static void test_wrong_policies(void **state)
{
    (void)state;
    nadir_random random = test_random(SEED);
    for (int threads = 1; threads <= 3; threads += 2) {
        nadir_context *context = test_context_of(threads);
        nadir_generate_settings shape = test_generate_settings();
        shape.states = 6;
        shape.actions = 2;
        test_batch at = test_batch_make(context, test_generate(context, "random", &shape), 20001, &random);
        const int64_t rows = at.view.rows;
        assert_int_equal(rows, 12);
        refused(context, &at, 5, -0.25, "policy 0: state 2, action 1: the probability is -0.25");
        refused(context, &at, 17 * rows + 5, NAN, "policy 17: state 2, action 1: the probability is");
        refused(context, &at, 20000 * rows, INFINITY,
                "policy 20000: state 0, action 0: the probability is inf");
        refused(context, &at, 9000 * rows + 11, 1.5,
                "policy 9000: state 5: the probabilities of the actions sum to 2; expected 1");
        /* the first of several, whoever finds it */
        at.probabilities[19000 * rows] = 7;
        refused(context, &at, 12345 * rows + 2, -1, "policy 12345: state 1, action 0: the probability is -1");
        test_note_clear();
        test_batch_clear(&at);
        nadir_context_free(context);
    }
}

static void test_wrong_arguments(void **state)
{
    nadir_context *context = *state;
    test_small_model small;
    const double policies[] = {1, 1, 1, 1};
    double returns[2] = {-7, -7};
    nadir_solver_settings settings;
    test_small_set(&small);
    nadir_model *model = test_small_accept(context, &small);
    assert_fails(context, nadir_returns(context, model, -1, policies, NULL, returns, NULL),
                 NADIR_ERROR_ARGUMENT, "there are -1 policies");
    assert_fails(context, nadir_returns(context, model, INT64_MAX / 8, policies, NULL, returns, NULL),
                 NADIR_ERROR_ARGUMENT, "policies; expected");
    nadir_solver_settings_default(&settings);
    settings.tolerance = 0;
    assert_fails(context, nadir_returns(context, model, 2, policies, &settings, returns, NULL),
                 NADIR_ERROR_ARGUMENT, "tolerance");
    settings.size = 0;
    assert_fails(context, nadir_returns(context, model, 2, policies, &settings, returns, NULL),
                 NADIR_ERROR_ARGUMENT, "size");
    nadir_solver_settings_default(&settings);
    settings.backend = "abacus";
    assert_fails(context, nadir_returns(context, model, 2, policies, &settings, returns, NULL),
                 NADIR_ERROR_ARGUMENT, "no backend 'abacus'");
    assert_ok(context, nadir_returns(context, model, 0, NULL, NULL, NULL, NULL));
    assert_true(returns[0] == -7 && returns[1] == -7);
    assert_ok(context, nadir_returns(context, model, 1, policies, NULL, returns, NULL));
    assert_true(returns[0] > 0 && returns[1] == -7);
    assert_ok(context, nadir_returns(context, model, 2, policies, NULL, returns, NULL));
    assert_true(returns[0] == returns[1]);
    nadir_model_free(model);
    small.data.discount = NAN;
    model = test_small_accept(context, &small);
    assert_fails(context, nadir_returns(context, model, 2, policies, NULL, returns, NULL), NADIR_ERROR_MODEL,
                 "no discount");
    nadir_model_free(model);
    test_small_set(&small);
    small.data.rewards = NULL;
    model = test_small_accept(context, &small);
    assert_fails(context, nadir_returns(context, model, 2, policies, NULL, returns, NULL), NADIR_ERROR_MODEL,
                 "no rewards");
    nadir_model_free(model);
}

/* Next to a discount of one the solvers refuse, and so does this, by the policy's number. */
static void test_next_to_one(void **state)
{
    nadir_context *context = *state;
    test_small_model small;
    const double policies[] = {1, 1, 1, 1};
    double returns[2];
    test_small_set(&small);
    small.data.discount = 1 - DBL_EPSILON;
    nadir_model *model = test_small_accept(context, &small);
    assert_fails(context, nadir_returns(context, model, 2, policies, NULL, returns, NULL),
                 NADIR_ERROR_ILL_POSED, "policy 0: I - gamma P is singular to working precision");
    nadir_model_free(model);
}

/* States that pay 1 and -1, with the actions stay and go, next to a discount of one: who stays has a value
 * that double cannot tell, who goes has not. The first who stays is named, whoever finds it. */
static void test_first_failure(void **state)
{
    enum { COUNT = 40 };
    static const double kernel[] = {1, 0, 0, 1, 0, 1, 1, 0};
    static const double rewards[] = {1, 1, -1, -1};
    static const int64_t state_rows[] = {0, 2, 4};
    static const int64_t stays[][2] = {{11, 30}, {39, 39}, {26, 27}};
    double policies[COUNT * 4];
    double returns[COUNT];
    double errors[COUNT];
    nadir_model *model = NULL;
    (void)state;
    nadir_model_data data = test_model_data();
    data.states = 2;
    data.rows = 4;
    data.discount = 1 - 2e-14;
    data.state_rows = state_rows;
    data.dense = kernel;
    data.rewards = rewards;
    data.initial = (const double[]){1, 0};
    for (int k = 0; k < 9; k++) {
        nadir_context *context = k / 3 == 0 ? test_context() : test_context_of(k / 3 == 1 ? 1 : 3);
        char words[64];
        for (int i = 0; i < COUNT * 4; i++) {
            policies[i] = i % 2; /* go */
        }
        assert_ok(context, nadir_model_create(context, &data, &model));
        assert_ok(context, nadir_returns(context, model, COUNT, policies, NULL, returns, errors));
        for (int i = 0; i < COUNT; i++) {
            assert_that(fabs(returns[i] - 0.5) <= fmin(errors[i], 1e-2), "%.17g", returns[i]);
        }
        for (int j = 0; j < 2; j++) {
            double *pi = policies + 4 * stays[k % 3][j];
            pi[0] = pi[2] = 1;
            pi[1] = pi[3] = 0;
        }
        (void)snprintf(words, sizeof words, "policy %d: I - gamma P is singular", (int)stays[k % 3][0]);
        assert_fails(context, nadir_returns(context, model, COUNT, policies, NULL, returns, errors),
                     NADIR_ERROR_ILL_POSED, words);
        nadir_model_free(model);
        nadir_context_free(context);
    }
}

/* Policies that are off by less than 1e-5 are normalised, and that is said once. */
static void test_normalised(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    nadir_generate_settings shape = test_generate_settings();
    shape.states = 9;
    test_batch at = test_batch_make(context, test_generate(context, "random", &shape), 400, &random);
    const int64_t rows = at.view.rows;
    double *expected = test_new(at.count, sizeof *expected);
    double *kept = test_new(rows, sizeof *kept);
    assert_ok(context, test_batch_ask(context, &at, NULL));
    memcpy(expected, at.returns, (size_t)at.count * sizeof *expected);
    test_messages_clear();
    for (int64_t j = 0; j < rows; j++) {
        at.probabilities[77 * rows + j] *= 1 + 3e-6;
        at.probabilities[301 * rows + j] *= 1 - 2e-6;
    }
    memcpy(kept, at.probabilities + 77 * rows, (size_t)rows * sizeof *kept);
    assert_ok(context, test_batch_ask(context, &at, NULL));
    for (int64_t i = 0; i < at.count; i++) {
        assert_close(at.returns[i], expected[i], 1e-13);
    }
    assert_non_null(strstr(test_messages(), "policies: 18 states were normalised; the farthest from 1: "
                                            "policy 77, state"));
    assert_null(strchr(strchr(test_messages(), '\n') + 1, '\n'));
    assert_memory_equal(kept, at.probabilities + 77 * rows, (size_t)rows * sizeof *kept);
    free(kept);
    free(expected);
    test_batch_clear(&at);
}

/* ---------------------------------------------------------------------------------- memory and interrupts */

static nadir_status ask_scarce(nadir_context *context, const void *user)
{
    return test_batch_ask(context, user, NULL);
}

/* Every allocation fails once; then, with threads that share the policies, every limit. */
static void test_scarce_memory(void **state)
{
    (void)state;
    nadir_random random = test_random(SEED);
    nadir_context *context = test_context();
    for (int sparse = 0; sparse < 2; sparse++) {
        nadir_generate_settings shape = test_generate_settings();
        shape.states = 12;
        nadir_model *model = test_generate(context, sparse ? "garnet" : "random", &shape);
        test_batch at = test_batch_make(context, model, 3, &random);
        at.probabilities[1] *= 1 + 1e-6; /* something is to be normalised */
        test_run_out(ask_scarce, &at, NULL, "returns");
        int refusals = 0;
        nadir_status status = NADIR_ERROR_MEMORY;
        for (size_t limit = 1024; status != NADIR_OK; limit += 256) {
            nadir_context_settings settings;
            nadir_context *limited = NULL;
            nadir_context_settings_default(&settings);
            settings.threads = 3;
            settings.memory_limit = limit;
            if (nadir_context_create(&settings, &limited) != NADIR_OK) {
                continue;
            }
            const size_t before = nadir_context_memory(limited);
            status = test_batch_ask(limited, &at, NULL);
            refusals += status == NADIR_ERROR_MEMORY;
            assert_true(status == NADIR_OK || status == NADIR_ERROR_MEMORY);
            assert_int_equal(nadir_context_memory(limited), before);
            assert_true(limit < (1 << 24));
            nadir_context_free(limited);
        }
        assert_true(refusals > 3);
        test_batch_clear(&at);
    }
    nadir_context_free(context);
}

/* Stops at the n-th question, which is asked at once every time. */
typedef struct patience {
    nadir_context *context;
    int left;
} patience;

static int refuse(void *user, const char *task, double share)
{
    patience *of = user;
    assert_true(share < 0 || (share >= 0 && share <= 1));
    assert_true(strlen(task) > 0);
    of->context->progress_time = -1;
    return of->left-- <= 0;
}

static void test_interrupted(void **state)
{
    (void)state;
    nadir_random random = test_random(SEED);
    nadir_context *context = test_context();
    nadir_generate_settings shape = test_generate_settings();
    shape.states = 10;
    test_batch at = test_batch_make(context, test_generate(context, "random", &shape), 40, &random);
    for (int threads = 1; threads <= 2; threads++) {
        for (int left = 0; left < 45; left += 6) {
            nadir_context *hasty = test_context_of(threads);
            patience of = {hasty, left};
            hasty->progress = refuse;
            hasty->progress_user = &of;
            hasty->progress_time = -1;
            hasty->device = context->device;
            hasty->device_self = context->device_self;
            const nadir_status status = test_batch_ask(hasty, &at, NULL);
            if (status != NADIR_OK || left < 40) {
                assert_fails(hasty, status, NADIR_ERROR_INTERRUPTED, "interrupted while");
            }
            nadir_context_free(hasty);
        }
    }
    test_batch_clear(&at);
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families_of_models), test_with_context(test_large_model),
        cmocka_unit_test(test_same_bits),          cmocka_unit_test(test_wrong_policies),
        test_with_context(test_wrong_arguments),   test_with_context(test_next_to_one),
        cmocka_unit_test(test_first_failure),      test_with_context(test_normalised),
        cmocka_unit_test(test_scarce_memory),      cmocka_unit_test(test_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
