/* returns.c: many policies of a model and what they return; see returns.h. */
#include "support/support.h"

#include "support/families.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/returns.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

nadir_model *test_discounted(nadir_context *context, nadir_model *model, double gamma)
{
    nadir_model_data data = test_view(model);
    data.discount = gamma;
    nadir_model *made = test_create_model(context, &data);
    nadir_model_free(model);
    return made;
}

test_batch test_batch_make(nadir_context *context, nadir_model *model, int64_t count, nadir_random *random)
{
    test_batch made = {.model = model, .view = test_view(model), .count = count};
    made.probabilities = test_new(count * made.view.rows, sizeof *made.probabilities);
    made.returns = test_new(count, sizeof *made.returns);
    made.errors = test_new(count, sizeof *made.errors);
    for (int64_t i = 0; i < count; i++) {
        nadir_policy *policy = test_policy(context, model, (test_choice)(i % TEST_CHOICES), random);
        memcpy(made.probabilities + i * made.view.rows, nadir_policy_probabilities(policy),
               (size_t)made.view.rows * sizeof *made.probabilities);
        nadir_policy_free(policy);
    }
    return made;
}

void test_batch_clear(test_batch *at)
{
    free(at->probabilities);
    free(at->returns);
    free(at->errors);
    nadir_model_free(at->model);
}

nadir_status test_batch_ask(nadir_context *context, const test_batch *at, const char *backend)
{
    nadir_solver_settings settings = test_solver_settings();
    settings.backend = backend;
    memset(at->returns, 0x55, (size_t)at->count * sizeof *at->returns);
    memset(at->errors, 0x55, (size_t)at->count * sizeof *at->errors);
    return nadir_returns(context, at->model, at->count, at->probabilities, &settings, at->returns,
                         at->errors);
}

nadir_context *test_context_of(int32_t threads)
{
    return test_context_threads(threads);
}

/* mu . v of policy i, and the largest |v|. */
static double truth(const test_batch *at, int64_t i, const double *kernel, double *scale)
{
    const nadir_model_data *view = &at->view;
    const int64_t n = view->states;
    const double *policy = at->probabilities + i * view->rows;
    long double *average = test_dense_average(at->model, kernel, policy);
    test_system system = test_system_make(n, average, view->discount);
    double *rewards = test_new(2 * n, sizeof *rewards); /* and what is left of them */
    long double *v = test_new(2 * n, sizeof *v);
    long double sum = 0;
    *scale = 0;
    for (int64_t s = 0; s < n; s++) {
        long double reward = 0;
        for (int64_t row = view->state_rows[s]; row < view->state_rows[s + 1]; row++) {
            reward += (long double)policy[row] * view->rewards[row];
        }
        rewards[s] = (double)reward;
        rewards[n + s] = (double)(reward - rewards[s]);
    }
    test_system_solve(&system, false, rewards, v);
    test_system_solve(&system, false, rewards + n, v + n);
    for (int64_t s = 0; s < n; s++) {
        sum += view->initial[s] * (v[s] + v[n + s]);
        *scale = fmax(*scale, fabs((double)v[s]));
    }
    test_system_clear(&system);
    free(average);
    free(rewards);
    free(v);
    return (double)sum;
}

void test_batch_check(const test_batch *at, const char *what, double tolerance)
{
    const double gap = 1 - at->view.discount;
    double *kernel = test_dense_kernel(at->model);
    for (int64_t i = 0; i < at->count; i++) {
        double scale;
        const double J = truth(at, i, kernel, &scale);
        const double off = fabs(at->returns[i] - J);
        const double slack = 4 * test_long_unit() * scale / gap * (double)at->view.states +
                             DBL_EPSILON * fabs(J); /* of the truth itself */
        assert_that(off <= tolerance * scale, "%s: policy %lld returns %.17g, expected %.17g", what,
                    (long long)i, at->returns[i], J);
        assert_that(off <= at->errors[i] + slack, "%s: policy %lld is off by %g, more than %g", what,
                    (long long)i, off, at->errors[i]);
        assert_that(at->errors[i] <= 2e-11 * scale / gap + 1e-300, "%s: the error of policy %lld is %g", what,
                    (long long)i, at->errors[i]);
    }
    free(kernel);
}

void test_batch_compare(nadir_context *context, const test_batch *at, const char *backend, double tolerance)
{
    for (int64_t i = 0; i < at->count; i++) {
        nadir_policy *policy = NULL;
        nadir_solver *solver = NULL;
        nadir_nominal nominal = {.size = sizeof nominal};
        nadir_solver_settings settings = test_solver_settings();
        settings.backend = backend;
        assert_ok(context,
                  nadir_policy_create(context, at->model, at->probabilities + i * at->view.rows, &policy));
        assert_ok(context, nadir_solver_create(context, at->model, policy, &settings, &solver));
        assert_ok(context, nadir_solver_nominal(context, solver, &nominal));
        assert_that(
            fabs(at->returns[i] - nominal.nominal_return) <= tolerance * (1 + fabs(nominal.nominal_return)),
            "policy %lld returns %.17g, alone %.17g", (long long)i, at->returns[i], nominal.nominal_return);
        assert_true(at->returns[i] + at->errors[i] >= nominal.lower_bound);
        assert_true(at->returns[i] - at->errors[i] <= nominal.upper_bound);
        nadir_solver_free(solver);
        nadir_policy_free(policy);
    }
}
