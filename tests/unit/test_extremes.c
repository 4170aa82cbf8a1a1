/*
 * test_extremes.c: rewards at both ends of the range of numbers. Underflow does not make bounds that are
 * none, and what overflows is no result.
 */
#include "support/support.h"

#include "support/small_model.h"

#include <float.h>
#include <math.h>

static const char *const backends[] = {"lapack", "krylov", NULL};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Two states that change places, rewards 3 and 1 times `unit`; the value of the first is
 * (3 + gamma) unit / (1 - gamma^2). */
static nadir_model *make(nadir_context *context, double unit, double gamma, test_small_model *small)
{
    test_small_set(small);
    small->probabilities[0] = 0;
    small->probabilities[1] = 1;
    small->probabilities[2] = 1;
    small->probabilities[3] = 0;
    small->rewards[0] = 3 * unit;
    small->rewards[1] = unit;
    small->initial[0] = 1;
    small->initial[1] = 0;
    small->data.discount = gamma;
    return test_small_accept(context, small);
}

static void assert_within(long double truth, double lower, double upper)
{
    assert_that((long double)lower <= truth && truth <= (long double)upper,
                "%.17Lg is not between %.17g and %.17g", truth, lower, upper);
}

/* Rewards so small that products are rounded to multiples of 2^-1074. */
static void test_underflow(void **state)
{
    static const double units[] = {5e-324, 1e-321, 1.7e-315, 3e-308, 1e-290};
    nadir_context *context = *state;
    nadir_policy *uniform = NULL;
    for (size_t i = 0; i < LENGTH(units) * LENGTH(backends); i++) {
        const double gamma = 0.9;
        const double unit = units[i / LENGTH(backends)];
        const char *backend = backends[i % LENGTH(backends)];
        test_small_model small;
        nadir_model *model = make(context, unit, gamma, &small);
        const long double truth = (3.0L + gamma) * unit / (1 - (long double)gamma * gamma);
        nadir_solver_settings solving = test_solver_settings();
        solving.backend = backend;
        nadir_solver *solver = NULL;
        nadir_nominal nominal = {.size = sizeof nominal};
        nadir_optimum_settings settings = test_optimum_settings();
        settings.backend = backend;
        nadir_optimum_result optimum = {.size = sizeof optimum};
        nadir_policy *policy = NULL;
        test_note("rewards of %g, backend %s", unit, backend != NULL ? backend : "auto");
        assert_ok(context, nadir_policy_create_uniform(context, model, &uniform));
        assert_ok(context, nadir_solver_create(context, model, uniform, &solving, &solver));
        assert_ok(context, nadir_solver_nominal(context, solver, &nominal));
        assert_within(truth, nominal.lower_bound, nominal.upper_bound);
        assert_true(nominal.certified == (unit > 1e-300));
        assert_ok(context, nadir_optimum(context, model, &settings, &policy, &optimum));
        assert_within(truth, optimum.lower_bound, optimum.upper_bound);
        nadir_policy_free(policy);
        nadir_solver_free(solver);
        nadir_policy_free(uniform);
        nadir_model_free(model);
    }
}

/* No rewards, no error: nothing is spoiled by the allowance for underflow. */
static void test_zero(void **state)
{
    nadir_context *context = *state;
    test_small_model small;
    nadir_model *model = make(context, 0, 0.99, &small);
    nadir_solver *solver = NULL;
    nadir_nominal nominal = {.size = sizeof nominal};
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_solver_create(context, model, policy, NULL, &solver));
    assert_ok(context, nadir_solver_nominal(context, solver, &nominal));
    assert_true(nominal.certified && nominal.lower_bound == 0 && nominal.upper_bound == 0);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* A reward of 1e300 in the first state and none in the second; bounds that are both infinite are not close
 * together, neither at once nor at the end. */
static void test_overflow(void **state)
{
    nadir_context *context = *state;
    for (size_t i = 0; i < 2 * LENGTH(backends); i++) {
        const bool again = i % 2 == 0; /* the first state is visited again and again: 5e308 */
        test_small_model small;
        nadir_model_free(make(context, 1e300, 1 - 1e-9, &small));
        small.rewards[1] = 0;
        small.probabilities[2] = again;
        small.probabilities[3] = !again;
        nadir_model *model = test_small_accept(context, &small);
        nadir_optimum_settings settings = test_optimum_settings();
        settings.backend = backends[i / 2];
        nadir_optimum_result optimum = {.size = sizeof optimum};
        nadir_policy *policy = NULL;
        const nadir_status status = nadir_optimum(context, model, &settings, &policy, &optimum);
        if (again) {
            assert_int_equal(status, NADIR_ERROR_NOT_CONVERGED);
            assert_null(policy);
        } else {
            assert_ok(context, status);
            assert_within(3e300L, optimum.lower_bound, optimum.upper_bound);
            assert_close(optimum.nominal_optimum, 3e300, 1e-5);
        }
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_underflow),
        test_with_context(test_zero),
        test_with_context(test_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
