/*
 * test_nominal.c: value, occupancy, return and Q of policies, against Gaussian elimination in long double, on
 * every backend, kind of kernel and family of models; the bounds hold the truth.
 */
#include "support/support.h"

#include "solve/value.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/golden.h"
#include "support/reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 27182

static const char *const backends[] = {"lapack", "klu", "krylov"};
static const double gammas[] = {0, 0.5, 0.99, 0.9999};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* What is asked about, and the truth. */
typedef struct instance {
    nadir_context *context;
    nadir_model *model;
    nadir_model_data view;
    nadir_kernel *kernel;
    nadir_policy *policy;
    double gamma;
    double *dense;  /* [rows * states] the kernel */
    long double *v; /* [states] */
    long double *d; /* [states] */
    long double J;
} instance;

/* The truth, with rewards averaged in long double: R^pi as double, and what that leaves out. */
static void find_truth(instance *at)
{
    const int64_t n = at->view.states;
    const double *policy = nadir_policy_probabilities(at->policy);
    double *rewards = test_new(n, sizeof *rewards);
    double *rest = test_new(n, sizeof *rest);
    long double *correction = test_new(n, sizeof *correction);
    for (int64_t s = 0; s < n; s++) {
        long double sum = 0;
        for (int64_t row = at->view.state_rows[s]; row < at->view.state_rows[s + 1]; row++) {
            sum += (long double)policy[row] * at->view.rewards[row];
        }
        rewards[s] = (double)sum;
        rest[s] = (double)(sum - rewards[s]);
    }
    long double *average = test_dense_average(at->model, at->dense, policy);
    test_system system = test_system_make(n, average, at->gamma);
    assert_false(system.singular);
    at->v = test_new(n, sizeof *at->v);
    at->d = test_new(n, sizeof *at->d);
    test_system_solve(&system, false, rewards, at->v);
    test_system_solve(&system, false, rest, correction);
    test_system_solve(&system, true, at->view.initial, at->d);
    at->J = 0;
    for (int64_t s = 0; s < n; s++) {
        at->v[s] += correction[s];
        at->J += at->v[s] * at->view.initial[s];
    }
    test_system_clear(&system);
    free(average);
    free(rewards);
    free(rest);
    free(correction);
}

static void clear(instance *at)
{
    free(at->dense);
    free(at->v);
    free(at->d);
    nadir_kernel_free(at->kernel);
    nadir_policy_free(at->policy);
    nadir_model_free(at->model);
}

static double scale_of(const instance *at)
{
    double scale = 0;
    for (int64_t s = 0; s < at->view.states; s++) {
        scale = fmax(scale, fabs((double)at->v[s]));
    }
    return scale;
}

/* The numbers themselves, to 1e-10 of their scale. */
static void compare_numbers(const instance *at, const nadir_value *value, const char *backend)
{
    const int64_t n = at->view.states;
    const double scale = scale_of(at);
    const double time = 1 / (1 - at->gamma);
    double *q = test_new(at->view.rows, sizeof *q);
    double mass = 0;
    nadir_value_q(at->context, at->kernel, at->gamma, value->v, q);
    for (int64_t s = 0; s < n; s++) {
        assert_that(fabs(value->v[s] - (double)at->v[s]) <= 1e-10 * scale, "v(%lld) is %.17g, expected %.17g",
                    (long long)s, value->v[s], (double)at->v[s]);
        assert_that(fabs(value->d[s] - (double)at->d[s]) <= 1e-10 * time, "d(%lld) is %.17g, expected %.17g",
                    (long long)s, value->d[s], (double)at->d[s]);
        mass += value->d[s];
        double average = 0; /* v = R^pi + gamma P^pi v */
        for (int64_t row = at->view.state_rows[s]; row < at->view.state_rows[s + 1]; row++) {
            long double product = 0;
            for (int64_t t = 0; t < n; t++) {
                product += (long double)at->dense[row * n + t] * value->v[t];
            }
            const double expected = at->view.rewards[row] + at->gamma * (double)product;
            assert_that(fabs(q[row] - expected) <= 1e-12 * (scale + fabs(expected)), "q(%lld) with %s",
                        (long long)row, backend);
            average += nadir_policy_probabilities(at->policy)[row] * q[row];
        }
        assert_that(fabs(average - value->v[s]) <= 1e-10 * scale, "v(%lld) is no fixed point with %s",
                    (long long)s, backend);
    }
    assert_that(fabs(mass - time) <= 1e-10 * time, "d sums to %.17g, expected %.17g", mass, time);
    assert_that(fabs(value->J - (double)at->J) <= 1e-10 * scale, "J is %.17g, expected %.17g", value->J,
                (double)at->J);
    assert_that(fabs(value->J_dual - value->J) <= 1e-10 * scale, "J is %.17g and %.17g", value->J,
                value->J_dual);
    free(q);
}

/* Nothing is farther from the truth than it says, `slack` for what the truth itself is off. */
static void compare_bounds(const instance *at, const nadir_value *value, const nadir_value_check *check,
                           double slack)
{
    const int64_t n = at->view.states;
    double d_error = 0;
    for (int64_t s = 0; s < n; s++) {
        const double error = (double)(at->v[s] - value->v[s]);
        assert_that(fabs(error) <= value->v_error + slack, "v(%lld) is off by %g, more than %g", (long long)s,
                    error, value->v_error);
        assert_that(check->low - slack <= error && error <= check->high + slack,
                    "v(%lld) is off by %g, not in [%g, %g]", (long long)s, error, check->low, check->high);
        d_error += fabs((double)(at->d[s] - value->d[s]));
    }
    assert_that(d_error <= value->d_error + slack / (1 - at->gamma), "d is off by %g, more than %g", d_error,
                value->d_error);
    const double J = (double)at->J;
    assert_that(fabs(value->J - J) <= value->J_error + slack, "J is off by %g, more than %g", value->J - J,
                value->J_error);
    assert_that(check->lower <= J + slack && J - slack <= check->upper, "J %.17g is not in [%.17g, %.17g]", J,
                check->lower, check->upper);
}

static void try_backends(const instance *at, bool exact)
{
    const double scale = scale_of(at);
    const double slack = (exact ? 4 * test_long_unit() : 4 * DBL_EPSILON) * (1 + scale) / (1 - at->gamma) *
                         (double)at->view.states;
    for (size_t i = 0; i < LENGTH(backends); i++) {
        nadir_occupancy *occupancy = NULL;
        const nadir_status status = nadir_occupancy_create(at->context, at->kernel, at->policy, at->gamma,
                                                           backends[i], 0, &occupancy);
        if (status == NADIR_ERROR_UNSUPPORTED) {
            continue;
        }
        assert_ok(at->context, status);
        nadir_value value = {0};
        nadir_value_check check;
        assert_ok(at->context, nadir_value_solve(at->context, at->kernel, at->policy, occupancy, &value));
        assert_ok(at->context,
                  nadir_value_check_rows(at->context, at->kernel, at->policy, at->gamma, value.v, &check));
        compare_numbers(at, &value, backends[i]);
        compare_bounds(at, &value, &check, slack);
        if (exact) { /* and the bounds are close, too */
            const double width = 2e-11 * scale / (1 - at->gamma) + 1e-300;
            assert_that(check.upper - check.lower <= width, "the gap is %g with %s",
                        check.upper - check.lower, backends[i]);
        }
        nadir_value_clear(at->context, &value);
        nadir_occupancy_free(at->context, occupancy);
    }
}

static void test_families_of_models(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (size_t f = 0; f < TEST_FAMILIES; f++) {
        for (int change = 0; change < TEST_CHANGES; change++) {
            for (size_t g = 0; g < LENGTH(gammas) && change != TEST_RANK_ONE_STRONG; g++) {
                instance at = {.context = context, .gamma = gammas[g]};
                at.model = test_families[f].make(context, &random);
                at.view = test_view(at.model);
                at.kernel = test_kernel(context, at.model, (test_change)change, at.gamma, &random, &at.dense);
                at.policy = test_policy(context, at.model, (test_choice)((f + g) % TEST_CHOICES), &random);
                find_truth(&at);
                test_note("%s, %s, gamma %g, seed %d", test_families[f].name, test_change_names[change],
                          at.gamma, SEED);
                try_backends(&at, change != TEST_RANK_ONE);
                clear(&at);
            }
        }
    }
}

/* Rows of mixed signs and gamma |P| > 1: there is no bound, and none is claimed. */
static void test_no_false_bounds(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    instance at = {.context = context, .gamma = 0.9};
    at.model = test_families[0].make(context, &random);
    at.view = test_view(at.model);
    at.kernel = test_kernel(context, at.model, TEST_RANK_ONE_STRONG, at.gamma, &random, &at.dense);
    at.policy = test_policy(context, at.model, TEST_DETERMINISTIC, &random);
    nadir_occupancy *occupancy = NULL;
    nadir_value value = {0};
    nadir_value_check check;
    assert_true(test_kernel_minimum(at.context, at.kernel) < 0);
    assert_ok(context,
              nadir_occupancy_create(context, at.kernel, at.policy, at.gamma, "lapack", 0, &occupancy));
    assert_ok(context, nadir_value_solve(context, at.kernel, at.policy, occupancy, &value));
    assert_ok(context, nadir_value_check_rows(context, at.kernel, at.policy, at.gamma, value.v, &check));
    assert_true(isinf(value.J_error) && isinf(check.upper) && isinf(check.lower));
    assert_true(check.lower < check.upper && check.minimum < 0);
    nadir_value_clear(context, &value);
    nadir_occupancy_free(context, occupancy);
    clear(&at);
}

/* A value that is wrong is found out: the bounds still hold the truth, and are wide. */
static void test_check_of_wrong_value(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_golden_model(context, &test_goldens[1], false);
    nadir_policy *policy = test_golden_policy(context, model);
    nadir_kernel *kernel = NULL;
    nadir_value_check check;
    double *v = test_new(40, sizeof *v);
    assert_ok(context, nadir_kernel_create(context, model, &kernel));
    for (int64_t s = 0; s < 40; s++) {
        v[s] = 10 + 0.5 * sin((double)s);
    }
    assert_ok(context, nadir_value_check_rows(context, kernel, policy, 0.95, v, &check));
    assert_true(check.lower < test_goldens[1].nominal_return && test_goldens[1].nominal_return < check.upper);
    assert_true(check.upper - check.lower > 1 && check.residual > 0.1);
    v[3] = NAN;
    assert_fails(context, nadir_value_check_rows(context, kernel, policy, 0.95, v, &check),
                 NADIR_ERROR_NOT_CONVERGED, "not finite");
    free(v);
    nadir_kernel_free(kernel);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* c (1 - gamma rho) on the safe side of r, for both signs and both ends of rho. */
static void test_offset(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        const double r = 3e-7 * sign;
        const double c = nadir_check_offset(r, 0.9, 1 - 1e-15, 1 + 1e-15, 0);
        for (int end = -1; end <= 1; end++) {
            assert_true((long double)c * (1 - 0.9L * (1 + end * 1e-15L)) >= (long double)r);
        }
        assert_close(c, r / 0.1, 1e-12);
    }
    assert_true(nadir_check_offset(0, 0.9, 1, 1, 0) == 0);
    assert_true(isinf(nadir_check_offset(1, 0.9, 1, 1.2, 0)));
    assert_true(isinf(nadir_check_offset(-1, 0.9, 1, 1.2, 0)));
}

/* What is said of all rows of a kernel holds for each, and products by ranges of rows are the same bits. */
static void test_measure(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (size_t i = 0; i < (size_t)TEST_FAMILIES * TEST_CHANGES; i++) {
        const test_change change = (test_change)(i % TEST_CHANGES);
        nadir_model *model = test_families[i / TEST_CHANGES].make(context, &random);
        const nadir_model_data view = test_view(model);
        const int64_t n = view.states;
        double *dense = NULL;
        nadir_kernel *kernel = test_kernel(context, model, change, 0.9, &random, &dense);
        double *x = test_new(n, sizeof *x);
        double *y = test_new(view.rows, sizeof *y);
        nadir_kernel_size size;
        test_note("%s, %s", test_families[i / TEST_CHANGES].name, test_change_names[change]);
        for (int64_t t = 0; t < n; t++) {
            x[t] = 2 * nadir_random_uniform(&random) - 1;
        }
        nadir_kernel_measure(context, kernel, &size);
        nadir_kernel_multiply(context, kernel, x, y);
        const double slack = 4 * DBL_EPSILON; /* of `dense` */
        for (int64_t row = 0; row < view.rows; row++) {
            long double sum = 0;
            long double all = 0;
            long double product = 0;
            double alone;
            for (int64_t t = 0; t < n; t++) {
                sum += dense[row * n + t];
                all += fabs(dense[row * n + t]);
                product += (long double)dense[row * n + t] * x[t];
            }
            assert_true(size.sum_low <= (double)sum + slack && (double)sum - slack <= size.sum_high);
            assert_true((double)all <= size.largest + slack);
            assert_true(fabs((double)product - y[row]) <= size.rounding + slack);
            const nadir_kernel_vector vector = nadir_kernel_prepare(context, kernel, x);
            nadir_kernel_multiply_rows(kernel, &vector, row, row + 1, &alone);
            assert_true(alone == y[row]);
        }
        assert_true(size.sum_high - size.sum_low < 1e-12 && size.rounding < 1e-12);
        free(dense);
        free(x);
        free(y);
        nadir_kernel_free(kernel);
        nadir_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_families_of_models),
        test_with_context(test_no_false_bounds),
        test_with_context(test_check_of_wrong_value),
        cmocka_unit_test(test_offset),
        test_with_context(test_measure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
