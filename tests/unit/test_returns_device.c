/*
 * test_returns_device.c: returns of many policies on a device: with a table of the test's own, which does
 * what an engine does, and with NADIR_TEST_ENGINE on a real one.
 */
#include "support/support.h"

#include "core/context.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/returns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED TEST_RETURNS_SEED

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* What the device was asked. */
static struct {
    const nadir_device *real; /* NULL: this test is the device */
    const nadir_model *model;
    int64_t calls, policies, averages;
    int64_t spoiled; /* every so many policies is given up; 0: none */
    nadir_status status;
} asked;

static nadir_status keep(void *self, nadir_context *context, const nadir_device_rows *rows, void **kept)
{
    (void)self;
    (void)context;
    assert_int_equal(rows->states, test_view(asked.model).states);
    *kept = &asked;
    return NADIR_OK;
}

static void drop(void *kept)
{
    assert_ptr_equal(kept, &asked);
}

/* One policy, as core/device.h says, by Gaussian elimination. */
static nadir_device_return evaluate(const nadir_model_data *view, const nadir_device_returns *of,
                                    const double *kernel, const double *pi)
{
    const int64_t n = view->states;
    nadir_device_return found = {0, INFINITY, -INFINITY, 0};
    long double *average = test_dense_average(asked.model, kernel, pi);
    test_system system = test_system_make(n, average, of->gamma);
    double *rewards = test_new(n, sizeof *rewards);
    long double *v = test_new(n, sizeof *v);
    for (int64_t row = 0, s = 0; row < view->rows; row++) {
        s += row >= view->state_rows[s + 1];
        rewards[s] += pi[row] * of->rewards[row];
    }
    test_system_solve(&system, false, rewards, v);
    for (int64_t s = 0; s < n; s++) {
        double value = 0;
        for (int64_t row = view->state_rows[s]; row < view->state_rows[s + 1]; row++) {
            double product = 0;
            for (int64_t t = n - 1; t >= 0; t--) {
                product += kernel[row * n + t] * (double)v[t];
            }
            value += pi[row] * (of->rewards[row] + of->gamma * product);
        }
        found.mean += of->initial[s] * (double)v[s];
        found.lowest = fmin(found.lowest, value - (double)v[s]);
        found.highest = fmax(found.highest, value - (double)v[s]);
        found.largest = fmax(found.largest, fabs((double)v[s]));
    }
    test_system_clear(&system);
    free(average);
    free(rewards);
    free(v);
    return found;
}

static nadir_status returns(void *kept, nadir_context *context, const nadir_device_returns *of, int64_t count,
                            const double *probabilities, nadir_device_return *found)
{
    const nadir_model_data view = test_view(asked.model);
    asked.calls++;
    asked.policies += count;
    if (asked.status != NADIR_OK) {
        return nadir_fail(context, asked.status, "the device has no room");
    }
    if (asked.real != NULL) {
        return asked.real->policy_returns(kept, context, of, count, probabilities, found);
    }
    double *kernel = test_dense_kernel(asked.model);
    for (int64_t i = 0; i < count; i++) {
        found[i] = evaluate(&view, of, kernel, probabilities + i * view.rows);
        if (asked.spoiled > 0 && i % asked.spoiled == 0) {
            found[i] = i % 2 == 0 ? (nadir_device_return){NAN, NAN, NAN, NAN}
                                  : (nadir_device_return){found[i].mean, -INFINITY, 1, found[i].largest};
        }
    }
    free(kernel);
    return NADIR_OK;
}

static nadir_status average(void *kept, nadir_context *context, const double *probabilities, void **matrix,
                            nadir_device_facts *facts)
{
    asked.averages++;
    return asked.real->average(kept, context, probabilities, matrix, facts);
}

/* A context with a device whose returns are counted: the real one if there is one. */
static nadir_context *counting_context(void)
{
    static nadir_device table;
    nadir_context *context = test_context();
    asked.real = context->device;
    table = asked.real != NULL ? *asked.real : (nadir_device){.rows_upload = keep, .rows_free = drop};
    table.policy_returns = returns;
    table.average = average;
    context->device = &table;
    asked.calls = 0;
    asked.policies = 0;
    asked.averages = 0;
    asked.spoiled = 0;
    asked.status = NADIR_OK;
    return context;
}

static void test_device(void **state)
{
    static const double gammas[] = {0, 0.9, 0.9999};
    double largest = 0;
    (void)state;
    nadir_random random = test_random(SEED);
    nadir_context *context = counting_context();
    nadir_context *here = test_context_of(2);
    for (size_t f = 0; f < TEST_FAMILIES; f++) {
        for (size_t g = 0; g < LENGTH(gammas); g++) {
            nadir_model *model = test_families[f].make(here, &random);
            test_batch at = test_batch_make(here, test_discounted(here, model, gammas[g]), 40, &random);
            double *expected = test_new(at.count, sizeof *expected);
            assert_ok(here, test_batch_ask(here, &at, NULL));
            memcpy(expected, at.returns, (size_t)at.count * sizeof *expected);
            for (int64_t j = 0; j < at.view.rows && g == 1; j++) { /* that is to be normalised */
                at.probabilities[5 * at.view.rows + j] *= 1 + 1e-7;
            }
            asked.model = at.model;
            asked.policies = 0;
            asked.spoiled = asked.real == NULL && g == 2 ? 7 : 0;
            test_note("%s, gamma %g, seed %d", test_families[f].name, gammas[g], SEED);
            assert_ok(context, test_batch_ask(context, &at, f % 2 == 0 ? NULL : "device-lu"));
            assert_int_equal(asked.policies, at.count);
            if (g != 1) {
                test_batch_check(&at, "device", 1e-10);
            }
            for (int64_t i = 0; i < at.count; i++) {
                assert_close(at.returns[i], expected[i], 1e-10);
                largest = fmax(largest, fabs(at.returns[i] - expected[i]) / (1 + fabs(expected[i])));
            }
            /* a backend of the processor is not the device */
            asked.calls = 0;
            assert_ok(context, test_batch_ask(context, &at, "lapack"));
            assert_int_equal(asked.calls, 0);
            free(expected);
            test_batch_clear(&at);
        }
    }
    print_message("returns of a batch differ by %.2g of themselves\n", largest);
    test_note_clear();
    nadir_context_free(here);
    nadir_context_free(context);
}

/* More policies than go there at once, in models up to the largest that are taken; more threads than here
 * would do. */
static void test_device_many(void **state)
{
    static const struct {
        const char *kind;
        int64_t states, count;
    } models[] = {{"random", 3, 30000}, {"random", 64, 3000}, {"garnet", 100, 2000},
                  {"random", 257, 300}, {"random", 512, 40},  {"garnet", 512, 40}};
    (void)state;
    nadir_random random = test_random(SEED);
    nadir_context *context = counting_context();
    nadir_context *here = test_context_of(0);
    if (asked.real == NULL) {
        print_message("skipped: NADIR_TEST_ENGINE names no engine with a device\n");
        nadir_context_free(context);
        nadir_context_free(here);
        skip();
    }
    for (size_t m = 0; m < LENGTH(models); m++) {
        nadir_generate_settings shape = test_generate_settings();
        shape.states = models[m].states;
        shape.seed = 9;
        test_batch at =
            test_batch_make(here, test_generate(here, models[m].kind, &shape), models[m].count, &random);
        double *found = test_new(2 * at.count, sizeof *found);
        asked.model = at.model;
        asked.policies = 0;
        test_note("%s, %lld states, seed %d", models[m].kind, (long long)models[m].states, SEED);
        assert_ok(context, test_batch_ask(context, &at, NULL));
        assert_int_equal(asked.policies, at.count);
        memcpy(found, at.returns, (size_t)at.count * sizeof *found);
        memcpy(found + at.count, at.errors, (size_t)at.count * sizeof *found);
        assert_ok(context, test_batch_ask(context, &at, NULL));
        assert_memory_equal(found, at.returns, (size_t)at.count * sizeof *found);
        assert_memory_equal(found + at.count, at.errors, (size_t)at.count * sizeof *found);
        assert_ok(here, test_batch_ask(here, &at, NULL));
        for (int64_t i = 0; i < at.count; i++) {
            assert_close(found[i], at.returns[i], 1e-10);
            assert_true(fabs(found[i] - at.returns[i]) <= found[at.count + i] + at.errors[i]);
        }
        free(found);
        test_batch_clear(&at);
    }
    test_note_clear();
    nadir_context_free(here);
    nadir_context_free(context);
}

/* A device with room for three policies at a time, for none, and not even for the model. Engines are opened
 * for each: before any other test keeps one open. */
static void test_device_scarce(void **state)
{
    enum { STATES = 64, ROWS = 4 * STATES, EACH = STATES * STATES + STATES + ROWS + 39 };
    static const double fits[] = {3.5, 0.5, -3};
    const char *name = getenv("NADIR_TEST_ENGINE");
    const double model_bytes = 8.0 * ROWS * STATES + 8 * (STATES + 1);
    const double engine_bytes = 8.0 * 4 * 1024;
    (void)state;
    if (name == NULL || *name == '\0') {
        print_message("skipped: NADIR_TEST_ENGINE names no engine with a device\n");
        skip();
    }
    nadir_context *here = test_context_of(2);
    nadir_random random = test_random(SEED);
    for (int k = 0; k < 3; k++) {
        nadir_context *context = test_context_of(2);
        nadir_engine *engine = NULL;
        char bytes[32];
        test_batch at = test_batch_make(here, test_generate_dense(here, STATES, 0.95, 3), 20, &random);
        (void)snprintf(bytes, sizeof bytes, "%.0f",
                       model_bytes + engine_bytes + 8 * (ROWS + STATES) + 8 * fits[k] * EACH);
        assert_int_equal(setenv("NADIR_DEVICE_MEMORY", bytes, 1), 0);
        assert_ok(context, nadir_engine_open(context, name, NULL, false, &engine));
        assert_int_equal(unsetenv("NADIR_DEVICE_MEMORY"), 0);
        const nadir_status status = test_batch_ask(context, &at, NULL);
        if (k == 0) {
            assert_ok(context, status);
            test_batch_check(&at, "a scarce device", 1e-10);
        } else {
            assert_fails(context, status, NADIR_ERROR_MEMORY, "of the device's memory");
        }
        test_batch_clear(&at);
        nadir_engine_close(engine, 0, "");
        nadir_context_free(context);
    }
    nadir_context_free(here);
}

/* Larger models: each policy is averaged and solved there, one after another. */
static void test_device_large(void **state)
{
    static const char *const kinds[] = {"random", "garnet"};
    (void)state;
    nadir_random random = test_random(SEED);
    nadir_context *context = counting_context();
    nadir_context *here = test_context_of(0);
    if (asked.real == NULL) {
        print_message("skipped: NADIR_TEST_ENGINE names no engine with a device\n");
        nadir_context_free(context);
        nadir_context_free(here);
        skip();
    }
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        nadir_generate_settings shape = test_generate_settings();
        shape.states = 600;
        shape.seed = 2;
        test_batch at = test_batch_make(here, test_generate(here, kinds[k], &shape), 6, &random);
        double expected[6];
        assert_ok(here, test_batch_ask(here, &at, NULL));
        memcpy(expected, at.returns, sizeof expected);
        asked.averages = 0;
        assert_ok(context, test_batch_ask(context, &at, NULL));
        assert_int_equal(asked.averages, at.count);
        assert_int_equal(asked.calls, 0);
        for (int64_t i = 0; i < at.count; i++) {
            assert_close(at.returns[i], expected[i], 1e-10);
            assert_true(at.errors[i] <= 1e-9 * fabs(expected[i]));
        }
        test_batch_clear(&at);
    }
    nadir_context_free(here);
    nadir_context_free(context);
}

/* What the device refuses is refused, with its sentence, and nothing is lost. */
static void test_device_refuses(void **state)
{
    (void)state;
    nadir_random random = test_random(SEED);
    nadir_context *context = counting_context();
    nadir_context *here = test_context_of(1);
    nadir_generate_settings shape = test_generate_settings();
    shape.states = 5;
    test_batch at = test_batch_make(here, test_generate(here, "random", &shape), 8, &random);
    asked.model = at.model;
    asked.status = NADIR_ERROR_MEMORY;
    const size_t before = nadir_context_memory(context);
    assert_fails(context, test_batch_ask(context, &at, NULL), NADIR_ERROR_MEMORY, "the device has no room");
    assert_int_equal(nadir_context_memory(context), before);
    asked.status = NADIR_OK;
    assert_ok(context, test_batch_ask(context, &at, NULL));
    test_batch_check(&at, "after a refusal", 1e-10);
    test_batch_clear(&at);
    nadir_context_free(here);
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_scarce),  cmocka_unit_test(test_device),
        cmocka_unit_test(test_device_many),    cmocka_unit_test(test_device_large),
        cmocka_unit_test(test_device_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
