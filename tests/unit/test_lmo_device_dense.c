/*
 * Linear steps of dense models on a device against those on the host: solutions, kernels, averages and
 * slacks, of all norms, both domains; and evaluations with them. Without a device: that there are none.
 */
#include "support/support.h"

#include "core/random.h"
#include "linalg/vector.h"
#include "model/kernel_device.h"
#include "sets/lmo.h"
#include "support/lmo_device.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 1477, STATES = 727, ACTIONS = 2, ROWS = STATES * ACTIONS }; /* 2^20 entries and some more */
#define GAMMA 0.9

static const double norms[] = {1, 1.05, 1.5, 2, 3, 12, 40, INFINITY};
enum { NORMS = sizeof norms / sizeof *norms };

/* A third of the entries are zeros; a row in 17 has all of its mass on one state, another on few of them, the
 * lowest not always among these. */
static nadir_model *make_model(nadir_context *context, nadir_random *random)
{
    nadir_model *model = NULL;
    int64_t *state_rows = test_new(STATES + 1, sizeof *state_rows);
    double *dense = test_new((int64_t)ROWS * STATES, sizeof *dense);
    double *rewards = test_new(ROWS, sizeof *rewards);
    for (int64_t s = 0; s <= STATES; s++) {
        state_rows[s] = ACTIONS * s;
    }
    for (int64_t row = 0; row < ROWS; row++) {
        double *p = dense + row * STATES;
        double sum = 0;
        rewards[row] = nadir_random_uniform(random);
        for (int64_t t = 0; t < STATES; t++) {
            const double u = nadir_random_uniform(random);
            const bool none = row % 17 == 5   ? t != row % STATES
                              : row % 17 == 6 ? t % 37 != row % 37
                                              : u < 0.33;
            p[t] = none ? 0 : pow(u, 3) + 1e-9;
            sum += p[t];
        }
        for (int64_t t = 0; t < STATES; t++) {
            p[t] /= sum;
        }
    }
    nadir_model_data data = test_model_data();
    data.states = STATES;
    data.rows = ROWS;
    data.state_rows = state_rows;
    data.dense = dense;
    data.rewards = rewards;
    data.discount = GAMMA;
    assert_ok(context, nadir_model_create(context, &data, &model));
    assert_non_null(model->dense);
    free(state_rows);
    free(dense);
    free(rewards);
    return model;
}

/* Rows of all lengths, some of them pinned; most states are not visited; values of which many are the same,
 * the smallest and the largest among them. Skips the test if there is no device. */
static void setup(test_lmo_device *made)
{
    nadir_random random = test_random(SEED);
    nadir_context *context = test_context();
    nadir_model *model = make_model(context, &random);
    *made = test_lmo_device_make(context, &random, model);
    for (int64_t s = 0; s < STATES; s++) {
        const double u = nadir_random_uniform(&made->random);
        made->v[s] = 100 + 5 * (s % 3 == 0 ? floor(8 * u) / 8 + (u > 0.9 ? 0.125 : 0) : u);
        made->d[s] = s % 10 != 1 ? -1e-18 : pow(nadir_random_uniform(&made->random), 4) / STATES;
        for (int64_t row = ACTIONS * s; row < ACTIONS * (s + 1); row++) {
            made->scales[row] = row % 11 == 0 ? 0 : 0.2 + 3 * nadir_random_uniform(&made->random);
        }
    }
    test_lmo_device_weigh(made);
    test_lmo_device_sort(made);
    test_lmo_device_open(made, NADIR_DOMAIN_SIMPLEX, 2);
    test_lmo_device_need(made);
    nadir_lmo_device_close(&made->device);
}

/* Sum over rows of P . g - min g. */
static double slack_of(const test_lmo_device *made, nadir_kernel *kernel, double tau)
{
    const double *values = nadir_kernel_perturbed(kernel)->values;
    const bool *nominal = nadir_kernel_perturbed(kernel)->nominal;
    const bool every = made->rows.domain == NADIR_DOMAIN_SIMPLEX;
    double total = 0;
    for (int64_t row = 0; row < ROWS; row++) {
        double mean = 0;
        double least = INFINITY;
        for (int64_t t = 0; t < STATES; t++) {
            const double phat = made->model->dense[row * STATES + t];
            const double p = nominal[row] ? phat : values[row * STATES + t];
            const double g = made->weights[row] * made->order.range * made->order.x[t] +
                             2 * tau * (p - phat) / (made->scales[row] * made->scales[row]);
            mean += p * g;
            least = every || phat > 0 ? fmin(least, g) : least;
        }
        total += made->scales[row] > 0 && made->weights[row] > 0 ? mean - least : 0;
    }
    return total;
}

/* Products of all rows with v; no mass where none is allowed; p <= 2 and infinity: entry by entry. For other
 * p those at omega change by |x - omega|^(1 / (p - 1)), of which digits say nothing, but for their sum. */
static void compare_kernels(const test_lmo_device *made, nadir_kernel *here, nadir_kernel *there)
{
    const bool every = made->rows.domain == NADIR_DOMAIN_SIMPLEX;
    const bool each = made->rows.p <= 2 || isinf(made->rows.p);
    double *y = test_new(2 * ROWS, sizeof *y);
    assert_ok(made->context, nadir_kernel_device_fetch(made->context, there));
    nadir_kernel_multiply(made->context, here, made->v, y);
    nadir_kernel_multiply(made->context, there, made->v, y + ROWS);
    for (int64_t row = 0; row < ROWS; row++) {
        assert_that(fabs(y[row] - y[ROWS + row]) <= 1e-10, "row %lld: %.17g, not %.17g", (long long)row,
                    y[ROWS + row], y[row]);
        assert_int_equal(nadir_kernel_is_nominal(here, row), nadir_kernel_is_nominal(there, row));
        double sum = 0;
        for (int64_t t = 0; t < STATES && !nadir_kernel_is_nominal(here, row); t++) {
            const double wanted = nadir_kernel_perturbed(here)->values[row * STATES + t];
            const double found = nadir_kernel_perturbed(there)->values[row * STATES + t];
            assert_that(!each || fabs(found - wanted) <= 1e-11, "row %lld, state %lld: %.17g, not %.17g",
                        (long long)row, (long long)t, found, wanted);
            assert_true(found >= 0 && (every || made->model->dense[row * STATES + t] > 0 || found == 0));
            sum += found;
        }
        assert_that(sum == 0 || fabs(sum - 1) <= 1e-12, "row %lld: %.17g", (long long)row, sum);
    }
    free(y);
}

/* The answer of a radius, made here and there. Whether there was one. */
static bool compare_answers(test_lmo_device *made, double radius, nadir_lmo_solution *answers,
                            nadir_kernel **here, nadir_kernel **there)
{
    const double p = made->rows.p;
    const double digits = fmax(1, fmax(isinf(p) ? 1 : p / 10, 0.1 / (p - 1))); /* powers lose some */
    nadir_lmo_budget wanted = {0};
    nadir_lmo_budget budget = {0};
    double slack = 0;
    bool found;
    bool done;
    assert_ok(made->context,
              nadir_lmo_solve_all(made->context, &made->rows, made->weights, radius, answers, &wanted));
    assert_ok(made->context, nadir_lmo_device_solve(made->context, &made->device, &made->order, made->d,
                                                    radius, &budget, &found));
    assert_int_equal(found, wanted.tau > 0 || isinf(p));
    if (!found) {
        return false;
    }
    assert_that(fabs(budget.tau - wanted.tau) <= 1e-11 * (p == 1 ? 1 : digits) * wanted.tau,
                "tau %.17g, not %.17g", budget.tau, wanted.tau);
    assert_that(fabs(budget.step - wanted.step) <= 1e-11 * (p == 1 ? 1 : digits) * wanted.step,
                "step %.17g, not %.17g", budget.step, wanted.step);
    assert_that(fabs(budget.gain - wanted.gain) <= 1e-12 * (p == 1 ? 1 : digits) * wanted.gain,
                "gain %.17g, not %.17g", budget.gain, wanted.gain);
    assert_that(fabs(budget.norm - wanted.norm) <= 1e-12 * (p == 1 ? 1 : digits) * radius &&
                    budget.norm <= radius,
                "norm %.17g, not %.17g", budget.norm, wanted.norm);
    assert_ok(made->context, nadir_lmo_kernel(made->context, &made->rows, answers, here));
    assert_ok(made->context, nadir_lmo_device_kernel(made->context, &made->device, there));
    test_lmo_device_compare_averages(made, *here, *there, 1e-10); /* before it is brought here */
    assert_ok(made->context, nadir_lmo_device_slack(made->context, &made->device, *there, made->order.range,
                                                    1.5 * wanted.tau, &slack, &done));
    assert_int_equal(done, p == 2);
    compare_kernels(made, *here, *there);
    if (done) {
        assert_close(slack / slack_of(made, *there, 1.5 * wanted.tau), 1, 1e-10);
    }
    return true;
}

/* A ball in which all mass of every row can go to the smallest value, tiny ones, and some between. */
static void test_answers(void **state)
{
    static const double radii[] = {1e7, 1e-6, 0.02, 0.2, 0.1};
    test_lmo_device made;
    (void)state;
    setup(&made);
    nadir_lmo_solution *answers = test_new(ROWS, sizeof *answers);
    nadir_kernel *here = NULL;
    nadir_kernel *there = NULL;
    for (int i = 0; i < 2 * NORMS; i++) {
        const nadir_domain domain = i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const double p = norms[i / 2];
        int found = 0;
        test_lmo_device_open(&made, domain, p);
        assert_non_null(made.device.step);
        for (int64_t row = 0; row < ROWS; row++) {
            answers[row] = (nadir_lmo_solution){0};
        }
        for (size_t j = 0; j < sizeof radii / sizeof *radii; j++) {
            test_note("p %g, domain %d, radius %g", p, (int)domain, radii[j]);
            found += compare_answers(&made, radii[j], answers, &here, &there);
        }
        assert_int_equal(found, isinf(p) ? 5 : 4);
        nadir_lmo_device_close(&made.device);
    }
    test_note_clear();
    nadir_kernel_free(here);
    nadir_kernel_free(there);
    free(answers);
    test_lmo_device_clear(&made);
}

/* Values that are all the same: nothing moves. */
static void test_constant(void **state)
{
    test_lmo_device made;
    (void)state;
    setup(&made);
    for (int64_t s = 0; s < STATES; s++) {
        made.v[s] = 3;
    }
    test_lmo_device_sort(&made);
    for (int i = 0; i < NORMS; i++) {
        nadir_lmo_budget budget;
        bool found = true;
        test_lmo_device_open(&made, NADIR_DOMAIN_SIMPLEX, norms[i]);
        assert_ok(made.context, nadir_lmo_device_solve(made.context, &made.device, &made.order, made.d, 0.1,
                                                       &budget, &found));
        assert_false(found);
        nadir_lmo_device_close(&made.device);
    }
    test_lmo_device_clear(&made);
}

/* p = infinity, a ball for each row, weights of one: what states gain. */
static void test_gains(void **state)
{
    test_lmo_device made;
    (void)state;
    setup(&made);
    test_lmo_device_open(&made, NADIR_DOMAIN_SUPPORT, INFINITY);
    nadir_lmo_device_close(&made.device);
    assert_ok(made.context, nadir_lmo_device_open(made.context, &made.rows, NADIR_DEVICE_ROWS, GAMMA,
                                                  made.policy->probabilities, &made.device));
    assert_non_null(made.device.step);
    test_lmo_device_compare_gains(&made, &made.device, 0.003, 1e-12);
    test_lmo_device_clear(&made);
}

/* Searches for the worst kernel, with a device and without. */
static void test_evaluations(void **state)
{
    static const double some[] = {1, 1.5, 2, 3, INFINITY, INFINITY};
    test_lmo_device made;
    nadir_context *plain = NULL;
    (void)state;
    setup(&made);
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_OFF;
    settings.tolerance = 1e-13;
    assert_int_equal(nadir_context_create(NULL, &plain), NADIR_OK);
    nadir_solver *there = test_solver(made.context, made.model, made.policy);
    nadir_solver *here = test_solver(plain, made.model, made.policy);
    for (int i = 0; i < 12; i++) {
        const double radius = isinf(some[i / 2]) ? 1e-4 : some[i / 2] > 2 ? 3e-3 : 0.3;
        const nadir_ball ball =
            test_ball(i < 10 ? NADIR_SET_NONRECT : NADIR_SET_SA,
                      i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT, some[i / 2], &radius, NULL);
        const nadir_robust found = test_robust(made.context, there, &ball, &settings, NULL);
        const nadir_robust wanted = test_robust(plain, here, &ball, &settings, NULL);
        assert_that(fabs(found.robust_return - wanted.robust_return) <= 1e-10 * fabs(wanted.robust_return),
                    "%s: %.17g, not %.17g", test_ball_name(&ball), found.robust_return, wanted.robust_return);
        assert_that(wanted.robust_return < wanted.nominal_return, "%s: no penalty", test_ball_name(&ball));
    }
    nadir_solver_free(there);
    nadir_solver_free(here);
    test_lmo_device_clear(&made);
    nadir_context_free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_gains),
        cmocka_unit_test(test_evaluations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
