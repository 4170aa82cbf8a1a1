/*
 * test_optimum.c: the nominal optimum, against every deterministic policy of small models, against value
 * iteration on larger ones, on every backend; degenerate models.
 */
#include "support/support.h"

#include "solve/nominal_optimum.h"
#include "solve/value.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/golden.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 57721

static const char *const backends[] = {"lapack", "klu", "krylov", NULL};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static nadir_optimum_settings settings_with(const char *backend)
{
    nadir_optimum_settings settings = test_optimum_settings();
    settings.backend = backend;
    return settings;
}

/* mu . v and v of a policy that takes row choice[s] in state s, by elimination. */
static double value_of(const nadir_model_data *view, const double *dense, double gamma, const int64_t *choice,
                       long double *v)
{
    const int64_t n = view->states;
    long double *average = test_new(n * n, sizeof *average);
    double *rewards = test_new(n, sizeof *rewards);
    for (int64_t s = 0; s < n; s++) {
        rewards[s] = view->rewards[choice[s]];
        for (int64_t t = 0; t < n; t++) {
            average[s * n + t] = dense[choice[s] * n + t];
        }
    }
    test_system system = test_system_make(n, average, gamma);
    test_system_solve(&system, false, rewards, v);
    long double sum = 0;
    for (int64_t s = 0; s < n; s++) {
        sum += v[s] * view->initial[s];
    }
    test_system_clear(&system);
    free(average);
    free(rewards);
    return (double)sum;
}

/* The best of all deterministic policies; best_v: [states] of the largest values found in each state. */
static double best_of_all(const nadir_model_data *view, const double *dense, double gamma, double *best_v)
{
    const int64_t n = view->states;
    int64_t *choice = test_new(n, sizeof *choice);
    long double *v = test_new(n, sizeof *v);
    double best = -INFINITY;
    memcpy(choice, view->state_rows, (size_t)n * sizeof *choice);
    for (int64_t s = 0; s < n; s++) {
        best_v[s] = -INFINITY;
    }
    int64_t s = 0;
    while (s < n) {
        best = fmax(best, value_of(view, dense, gamma, choice, v));
        for (int64_t t = 0; t < n; t++) {
            best_v[t] = fmax(best_v[t], (double)v[t]);
        }
        for (s = 0; s < n && ++choice[s] == view->state_rows[s + 1]; s++) { /* an odometer */
            choice[s] = view->state_rows[s];
        }
    }
    free(choice);
    free(v);
    return best;
}

/* The policy is deterministic, and its return within the bounds. */
static void check_policy(const nadir_policy *policy, const nadir_model_data *view, const double *dense,
                         double gamma, const nadir_optimum_result *result)
{
    int64_t *choice = test_new(view->states, sizeof *choice);
    long double *v = test_new(view->states, sizeof *v);
    const double *probabilities = nadir_policy_probabilities(policy);
    for (int64_t s = 0; s < view->states; s++) {
        double sum = 0;
        for (int64_t row = view->state_rows[s]; row < view->state_rows[s + 1]; row++) {
            assert_true(probabilities[row] == 0 || probabilities[row] == 1);
            choice[s] = probabilities[row] == 1 ? row : choice[s];
            sum += probabilities[row];
        }
        assert_true(sum == 1);
    }
    const double attained = value_of(view, dense, gamma, choice, v);
    assert_that(attained >= result->lower_bound - 1e-13 * fabs(attained) && attained <= result->upper_bound,
                "the policy attains %.17g, bounds %.17g and %.17g", attained, result->lower_bound,
                result->upper_bound);
    free(choice);
    free(v);
}

static void try_kernel(nadir_context *context, nadir_model *model, const nadir_kernel *kernel,
                       const double *dense, double gamma, uint64_t seed)
{
    const nadir_model_data view = test_view(model);
    double *best_v = test_new(view.states, sizeof *best_v);
    double *value = test_new(view.states, sizeof *value);
    const double best = best_of_all(&view, dense, gamma, best_v);
    double scale = 0;
    for (int64_t s = 0; s < view.states; s++) {
        scale = fmax(scale, fabs(best_v[s]));
    }
    for (size_t i = 0; i < LENGTH(backends); i++) {
        const nadir_optimum_settings settings = settings_with(backends[i]);
        nadir_policy *policy = NULL;
        nadir_optimum_result result;
        test_note("seed %llu, gamma %g, backend %zu", (unsigned long long)seed, gamma, i);
        const nadir_status status = nadir_optimum_warm_started(context, kernel, gamma, &settings, NULL, NULL,
                                                               NULL, value, &policy, &result);
        if (status == NADIR_ERROR_UNSUPPORTED) {
            continue;
        }
        assert_ok(context, status);
        const double slack = 1e-14 * scale / (1 - gamma);
        assert_that(result.lower_bound <= best + slack && best - slack <= result.upper_bound,
                    "the best is %.17g, not in [%.17g, %.17g]", best, result.lower_bound, result.upper_bound);
        assert_that(result.upper_bound - result.lower_bound <= 1e-9 * scale, "the gap is %g",
                    result.upper_bound - result.lower_bound);
        for (int64_t s = 0; s < view.states; s++) {
            assert_that(fabs(value[s] - best_v[s]) <= 1e-9 * scale, "V*(%lld) is %.17g, expected %.17g",
                        (long long)s, value[s], best_v[s]);
        }
        check_policy(policy, &view, dense, gamma, &result);
        nadir_policy_free(policy);
    }
    free(best_v);
    free(value);
}

/* 3 or 4 states, up to 4 actions. */
static nadir_model *small_garnet(nadir_context *context, uint64_t seed, double discount)
{
    nadir_generate_settings settings = test_generate_settings();
    settings.states = 3 + (int64_t)(seed % 2);
    settings.actions = 2 + (int64_t)(seed % 3);
    settings.branch = 1 + (int64_t)(seed % 3);
    settings.discount = discount;
    settings.seed = seed;
    return test_generate(context, "garnet", &settings);
}

static void test_every_policy(void **state)
{
    static const double gammas[] = {0, 0.3, 0.9, 0.999};
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (uint64_t seed = 0; seed < 24; seed++) {
        const double gamma = gammas[seed % LENGTH(gammas)];
        nadir_model *model =
            seed == 0 ? test_frozen(context, test_rich_model(context)) : small_garnet(context, seed, gamma);
        for (int change = 0; change < TEST_CHANGES; change++) {
            double *dense = NULL;
            nadir_kernel *kernel = test_kernel(context, model, (test_change)change, gamma, &random, &dense);
            test_messages_clear();
            if (test_kernel_minimum(context, kernel) >= 0) {
                try_kernel(context, model, kernel, dense, gamma, seed);
            }
            nadir_kernel_free(kernel);
            free(dense);
        }
        nadir_model_free(model);
    }
}

/* Plain value iteration, until nothing moves. */
static void iterate_values(nadir_context *context, const nadir_kernel *kernel, double gamma, double *v)
{
    const nadir_model_data view = test_view(nadir_kernel_model(kernel));
    double *q = test_new(view.rows, sizeof *q);
    double moved = 1;
    double scale = 1;
    for (int sweep = 0; sweep < 100000 && moved > 1e-15 * scale; sweep++) {
        moved = 0;
        nadir_kernel_multiply(context, kernel, v, q);
        for (int64_t s = 0; s < view.states; s++) {
            double best = -INFINITY;
            for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
                best = fmax(best, view.rewards[row] + gamma * q[row]);
            }
            moved = fmax(moved, fabs(best - v[s]));
            scale = fmax(scale, fabs(best));
            v[s] = best;
        }
    }
    free(q);
}

typedef struct larger_model {
    const char *kind;
    int64_t states, actions, width;
    double discount;
} larger_model;

static const larger_model larger_models[] = {
    {"garnet", 500, 5, 0, 0.97},   {"random", 60, 4, 0, 0.95},  {"gridworld", 0, 0, 14, 0.97},
    {"riverswim", 40, 0, 0, 0.95}, {"forest", 50, 0, 0, 0.99},  {"machine", 30, 0, 0, 0.9},
    {"inventory", 0, 0, 0, 0.95},  {"gridworld", 0, 0, 6, 0.5}, {"garnet", 300, 1, 0, 0.9},
};

static void test_value_iteration(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(larger_models); i++) {
        nadir_context *context = test_context();
        const larger_model *wanted = &larger_models[i];
        nadir_generate_settings generate = test_generate_settings();
        generate.states = wanted->states;
        generate.actions = wanted->actions;
        generate.width = wanted->width;
        generate.height = wanted->width;
        generate.discount = wanted->discount;
        nadir_model *model = test_frozen(context, test_generate(context, wanted->kind, &generate));
        const nadir_model_data view = test_view(model);
        nadir_kernel *kernel = NULL;
        assert_ok(context, nadir_kernel_create(context, model, &kernel));
        double *v = test_new(view.states, sizeof *v);
        double *value = test_new(view.states, sizeof *value);
        iterate_values(context, kernel, view.discount, v);
        double scale = 0;
        for (int64_t s = 0; s < view.states; s++) {
            scale = fmax(scale, fabs(v[s]));
        }
        for (size_t b = 0; b < LENGTH(backends); b++) {
            const nadir_optimum_settings settings = settings_with(backends[b]);
            nadir_policy *policy = NULL;
            nadir_optimum_result result;
            const nadir_status status = nadir_optimum_warm_started(context, kernel, view.discount, &settings,
                                                                   NULL, NULL, NULL, value, &policy, &result);
            if (status == NADIR_ERROR_UNSUPPORTED) {
                continue;
            }
            assert_ok(context, status);
            for (int64_t s = 0; s < view.states; s++) {
                assert_that(fabs(value[s] - v[s]) <= 1e-9 * scale,
                            "%s, backend %s: V*(%lld) is %.17g and %.17g", wanted->kind, result.backend,
                            (long long)s, value[s], v[s]);
            }
            nadir_policy_free(policy);
        }
        free(v);
        free(value);
        nadir_kernel_free(kernel);
        nadir_model_free(model);
        nadir_context_free(context);
    }
}

/* A pass over all rows gives the same bits with one thread and with several. */
static void test_threads(void **state)
{
    (void)state;
    enum { STATES = 6000 };
    double *values[2];
    int64_t *choices[2];
    nadir_bellman_pass passes[2];
    for (int i = 0; i < 2; i++) {
        nadir_context *context = test_context_threads(i == 0 ? 1 : 3);
        nadir_generate_settings generate = test_generate_settings();
        generate.states = STATES;
        generate.actions = 6;
        nadir_model *model = NULL;
        nadir_kernel *kernel = NULL;
        assert_ok(context, nadir_model_generate(context, "garnet", &generate, &model));
        assert_ok(context, nadir_kernel_create(context, model, &kernel));
        double *v = test_new(STATES, sizeof *v);
        values[i] = test_new(STATES, sizeof *values[i]);
        choices[i] = test_new(STATES, sizeof *choices[i]);
        for (int64_t s = 0; s < STATES; s++) {
            v[s] = sin((double)s);
            choices[i][s] = 6 * s + s % 6;
        }
        nadir_bellman_maximise(context, kernel, 0.9, v, 0.01, NULL, 0, choices[i], values[i], &passes[i]);
        free(v);
        nadir_kernel_free(kernel);
        nadir_model_free(model);
        nadir_context_free(context);
    }
    assert_memory_equal(values[0], values[1], STATES * sizeof *values[0]);
    assert_memory_equal(choices[0], choices[1], STATES * sizeof *choices[0]);
    assert_true(passes[0].lowest == passes[1].lowest && passes[0].highest == passes[1].highest);
    assert_true(passes[0].changed == passes[1].changed && passes[0].changed > STATES / 2);
    for (int i = 0; i < 2; i++) {
        free(values[i]);
        free(choices[i]);
    }
}

static void test_golden_optima(void **state)
{
    nadir_context *context = *state;
    for (size_t i = 0; i < 2 * TEST_GOLDEN; i++) {
        const test_golden *golden = &test_goldens[i / 2];
        nadir_model *model = test_golden_model(context, golden, i % 2 == 0);
        for (size_t b = 0; b < LENGTH(backends); b++) {
            const nadir_optimum_settings settings = settings_with(backends[b]);
            nadir_policy *policy = NULL;
            nadir_optimum_result result = {.size = sizeof result};
            const nadir_status status = nadir_optimum(context, model, &settings, &policy, &result);
            if (status == NADIR_ERROR_UNSUPPORTED) {
                continue;
            }
            assert_ok(context, status);
            assert_close(result.nominal_optimum, golden->nominal_optimum, 1e-9);
            assert_true(result.lower_bound <= result.nominal_optimum &&
                        result.nominal_optimum <= result.upper_bound);
            nadir_policy_free(policy);
        }
        nadir_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_every_policy),
        cmocka_unit_test(test_value_iteration),
        cmocka_unit_test(test_threads),
        test_with_context(test_golden_optima),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
