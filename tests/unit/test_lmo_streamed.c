/* The oracle that stores nothing for a row, against the one that does and against its optimality conditions;
 * averages of its kernels, and of their mixtures. */
#include "support/support.h"

#include "core/random.h"
#include "model/landing.h"
#include "model/policy.h"
#include "search/kernel_solver.h"
#include "sets/lmo.h"
#include "support/generated.h"
#include "support/lmo.h"
#include "support/reference.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 2711, STATES = 700, MOST = 23 };
#define GAMMA 0.9

/* A ragged model with rows of 1 to MOST successors, some of them pinned, some states not visited. */
typedef struct fixture {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_value_order order;
    nadir_lmo rows;
    nadir_lmo_weights weights;
    int64_t count; /* of rows */
    double *scales, *each, *d, *v;
} fixture;

/* context: taken over. lands: with rewards on landing. */
static void setup_landing(nadir_context *context, bool lands, fixture *made)
{
    nadir_random random = test_random(SEED);
    *made =
        (fixture){.context = context, .model = test_ragged_model(context, &random, STATES, MOST, 20, GAMMA)};
    if (lands) {
        made->model = test_add_landing(context, &random, made->model);
        assert_true(nadir_landing_is_general(made->model));
    }
    made->count = made->model->rows;
    assert_ok(context, nadir_policy_create_uniform(context, made->model, &made->policy));
    made->scales = test_new(made->count, sizeof *made->scales);
    made->each = test_new(made->count, sizeof *made->each);
    made->d = test_new(STATES, sizeof *made->d);
    made->v = test_new(STATES, sizeof *made->v);
    for (int64_t row = 0; row < made->count; row++) {
        made->scales[row] = row % 11 == 0 ? 0 : 0.2 + 3 * nadir_random_uniform(&random);
    }
    made->weights = (nadir_lmo_weights){GAMMA, made->d, made->policy->probabilities};
    for (int64_t s = 0; s < STATES; s++) {
        made->v[s] = 100 + 5 * nadir_random_uniform(&random);
        made->d[s] = s % 13 == 0 ? -1e-18 : pow(nadir_random_uniform(&random), 4);
        for (int64_t row = made->model->state_rows[s]; row < made->model->state_rows[s + 1]; row++) {
            made->each[row] = nadir_lmo_weight(&made->weights, s, row);
        }
    }
    const double landing = lands ? 1 / GAMMA : 0;
    made->order.unsorted = true;
    made->order.spread = landing * (made->model->landing.e_high - made->model->landing.e_low);
    assert_ok(context, nadir_value_order_make(context, STATES, made->v, &made->order));
    made->rows = (nadir_lmo){.model = made->model,
                             .order = &made->order,
                             .scales = made->scales,
                             .domain = NADIR_DOMAIN_SUPPORT,
                             .p = 2,
                             .q = 2,
                             .landing = landing};
}

static void setup(nadir_context *context, fixture *made)
{
    setup_landing(context, false, made);
}

static void teardown(fixture *made)
{
    nadir_value_order_clear(made->context, &made->order);
    free(made->scales);
    free(made->each);
    free(made->d);
    free(made->v);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
}

static const double *row_of(const fixture *made, const nadir_kernel *kernel, int64_t row)
{
    const double *values = nadir_kernel_on_support(kernel, row);
    assert_non_null(values);
    assert_true(nadir_model_row(made->model, row).count > 0);
    return values;
}

/* Entry by entry. */
static void compare_kernels(const fixture *made, const nadir_kernel *here, const nadir_kernel *there)
{
    for (int64_t row = 0; row < made->count; row++) {
        const double *a = row_of(made, here, row);
        const double *b = row_of(made, there, row);
        for (int64_t i = 0; i < nadir_model_row(made->model, row).count; i++) {
            assert_that(fabs(a[i] - b[i]) <= 1e-12, "row %lld: %.17g, not %.17g", (long long)row, b[i], a[i]);
        }
        assert_int_equal(nadir_kernel_is_nominal(here, row), nadir_kernel_is_nominal(there, row));
    }
}

/* What makes it the answer: rows are distributions, the ball is used up, and P . g = min g in every row, g =
 * w (v + landing e) + 2 tau Delta / alpha^2. */
static void check_conditions(const fixture *made, const nadir_kernel *kernel, double beta,
                             const nadir_lmo_budget *budget)
{
    long double norm = 0;
    long double gain = 0;
    for (int64_t row = 0; row < made->count; row++) {
        const nadir_row nominal = nadir_model_row(made->model, row);
        const double *p = row_of(made, kernel, row);
        const double alpha = made->scales[row];
        long double sum = 0;
        long double mean = 0;
        long double least = INFINITY;
        for (int64_t i = 0; i < nominal.count; i++) {
            const long double change = (long double)p[i] - nominal.values[i];
            const int64_t entry = nadir_landing_entry(made->model, row) + i;
            const double e =
                made->rows.landing != 0 ? nadir_landing_e(made->model, row, entry, nominal.columns[i]) : 0;
            const long double v = made->v[nominal.columns[i]] + (long double)made->rows.landing * e;
            assert_true(p[i] >= 0);
            sum += p[i];
            gain -= made->each[row] * change * v;
            if (alpha > 0) {
                const long double g = made->each[row] * v + 2 * budget->tau * change / alpha / alpha;
                norm += change * change / alpha / alpha;
                mean += p[i] * g;
                least = fminl(least, g);
            } else {
                assert_true(change == 0);
            }
        }
        assert_close((double)sum, 1, 1e-14);
        if (alpha > 0) {
            const double size = made->each[row] * 105 + budget->tau / alpha / alpha;
            assert_that(mean - least <= 1e-13 * size, "row %lld lacks %Lg", (long long)row, mean - least);
        }
    }
    /* entries are rounded when they are written */
    assert_close((double)sqrtl(norm) / beta, 1, made->rows.landing != 0 ? 1e-12 + 1e-17 / beta : 1e-12);
    assert_that(sqrtl(norm) <= beta * (1 + 1e-15) + 1e-17, "outside: %Lg", sqrtl(norm) / beta - 1);
    assert_close(budget->norm / beta, 1, 1e-12);
    assert_close(budget->gain / (double)gain, 1, 1e-12 + 1e-15 / beta);
}

static void check_answers(bool lands)
{
    static const double radii[] = {1e-6, 0.01, 0.1, 1, 5, 12};
    fixture made;
    nadir_kernel *here = NULL;
    nadir_kernel *there = NULL;
    setup_landing(test_context(), lands, &made);
    assert_true(nadir_lmo_streamed_applies(&made.rows));
    for (size_t i = 0; i < sizeof radii / sizeof *radii; i++) {
        nadir_lmo_solution *answers = test_new(made.count, sizeof *answers);
        nadir_lmo_budget wanted = {0};
        nadir_lmo_budget budget = {0};
        nadir_lmo_streamed step;
        bool found;
        assert_ok(made.context,
                  nadir_lmo_solve_all(made.context, &made.rows, made.each, radii[i], answers, &wanted));
        assert_ok(made.context, nadir_lmo_kernel(made.context, &made.rows, answers, &here));
        for (int start = 0; start < 4; start++) { /* nothing, the answer, below and above it */
            const double starts[] = {0, wanted.step, 0.3 * wanted.step, 4 * wanted.step};
            test_note("radius %g, start %d, landing %d", radii[i], start, lands);
            assert_ok(made.context,
                      nadir_lmo_streamed_solve(made.context, &made.rows, &made.weights, radii[i],
                                               starts[start], &step, &budget, &found));
            assert_true(found);
            assert_close(budget.tau / wanted.tau, 1, 1e-11);
            assert_close(budget.step / wanted.step, 1, 1e-11);
            assert_close(budget.gain / wanted.gain, 1, 1e-12);
            assert_ok(made.context, nadir_lmo_streamed_kernel(made.context, &made.rows, &made.weights, &step,
                                                              &there)); /* over the last one */
            compare_kernels(&made, here, there);
            check_conditions(&made, there, radii[i], &budget);
        }
        free(answers);
    }
    test_note_clear();
    nadir_kernel_free(here);
    nadir_kernel_free(there);
    teardown(&made);
}

static void test_answers(void **state)
{
    (void)state;
    check_answers(false);
    check_answers(true);
}

/* The same bits with any number of threads. */
static void test_threads(void **state)
{
    nadir_lmo_budget budgets[2] = {{0}};
    double moved[2] = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture made;
        nadir_kernel *nominal = NULL;
        nadir_kernel *kernel = NULL;
        nadir_lmo_streamed step;
        bool found;
        setup(test_context_threads(i == 0 ? 1 : 3), &made);
        assert_ok(made.context, nadir_lmo_streamed_solve(made.context, &made.rows, &made.weights, 0.7, 0,
                                                         &step, &budgets[i], &found));
        assert_true(found);
        assert_ok(made.context,
                  nadir_lmo_streamed_kernel(made.context, &made.rows, &made.weights, &step, &kernel));
        assert_ok(made.context, nadir_kernel_create(made.context, made.model, &nominal));
        moved[i] = nadir_kernel_difference_product(made.context, nominal, kernel, made.d,
                                                   made.policy->probabilities, made.v);
        nadir_kernel_free(nominal);
        nadir_kernel_free(kernel);
        teardown(&made);
    }
    assert_memory_equal(&budgets[0], &budgets[1], sizeof budgets[0]);
    assert_true(moved[0] == moved[1]);
}

/* A ball in which every row can be settled, values that are all the same, no visits, a ball without a square,
 * and rows of other kinds. */
static void test_nothing_found(void **state)
{
    fixture made;
    nadir_lmo_budget budget = {0};
    nadir_lmo_streamed step;
    bool found = true;
    (void)state;
    setup(test_context(), &made);
    assert_ok(made.context, nadir_lmo_streamed_solve(made.context, &made.rows, &made.weights, 1e4, 0, &step,
                                                     &budget, &found));
    assert_false(found);
    found = true;
    assert_ok(made.context, nadir_lmo_streamed_solve(made.context, &made.rows, &made.weights, 1e-200, 1,
                                                     &step, &budget, &found));
    assert_false(found);
    for (int64_t s = 0; s < STATES; s++) {
        made.d[s] = 0;
    }
    found = true;
    assert_ok(made.context, nadir_lmo_streamed_solve(made.context, &made.rows, &made.weights, 0.1, 1, &step,
                                                     &budget, &found));
    assert_false(found);
    for (int64_t s = 0; s < STATES; s++) {
        made.d[s] = 1;
        made.v[s] = 1;
    }
    found = true;
    assert_ok(made.context, nadir_value_order_make(made.context, STATES, made.v, &made.order));
    assert_ok(made.context, nadir_lmo_streamed_solve(made.context, &made.rows, &made.weights, 0.1, 0, &step,
                                                     &budget, &found));
    assert_false(found);
    made.rows.domain = NADIR_DOMAIN_SIMPLEX;
    assert_false(nadir_lmo_streamed_applies(&made.rows));
    made.rows.domain = NADIR_DOMAIN_SUPPORT;
    made.rows.p = 3;
    assert_false(nadir_lmo_streamed_applies(&made.rows));
    teardown(&made);
}

/* Between and beyond the nominal kernel and that of a step: entries, and what averages move by. */
static void test_mixtures(void **state)
{
    static const double shares[] = {0, 0.25, 1, -0.01};
    fixture made;
    nadir_kernel *nominal = NULL;
    nadir_kernel *kernel = NULL;
    nadir_lmo_budget budget;
    nadir_lmo_streamed step;
    bool found;
    (void)state;
    setup(test_context(), &made);
    const double *pi = made.policy->probabilities;
    assert_ok(made.context, nadir_lmo_streamed_solve(made.context, &made.rows, &made.weights, 0.2, 0, &step,
                                                     &budget, &found));
    assert_ok(made.context,
              nadir_lmo_streamed_kernel(made.context, &made.rows, &made.weights, &step, &kernel));
    assert_ok(made.context, nadir_kernel_create(made.context, made.model, &nominal));
    for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
        nadir_kernel *mixed = NULL;
        long double sum = 0;
        long double size = 0;
        assert_ok(made.context,
                  nadir_kernel_mix(made.context, made.model, nominal, kernel, shares[k], &mixed));
        for (int64_t s = 0; s < STATES; s++) {
            for (int64_t row = made.model->state_rows[s]; row < made.model->state_rows[s + 1]; row++) {
                const nadir_row phat = nadir_model_row(made.model, row);
                const double *to = row_of(&made, kernel, row);
                const double *at = row_of(&made, mixed, row);
                for (int64_t i = 0; i < phat.count; i++) {
                    const double wanted = phat.values[i] + shares[k] * (to[i] - phat.values[i]);
                    const double v = made.v[phat.columns[i]];
                    assert_close(at[i], wanted, 1e-15);
                    sum += fmaxl(made.d[s], 0) * pi[row] * ((long double)at[i] - phat.values[i]) * v;
                    size += fmaxl(made.d[s], 0) * pi[row] * fabs(at[i] - phat.values[i]) * v;
                }
                assert_true(shares[k] != 0 || nadir_kernel_is_nominal(mixed, row));
            }
        }
        const double moved =
            nadir_kernel_difference_product(made.context, nominal, mixed, made.d, pi, made.v);
        assert_that(fabsl(moved - sum) <= 1e-14L * size, "%.17g, not %.17Lg", moved, sum);
        nadir_kernel_free(mixed);
    }
    nadir_kernel_free(nominal);
    nadir_kernel_free(kernel);
    teardown(&made);
}

static void test_scarce_memory(void **state)
{
    nadir_status status = NADIR_ERROR_MEMORY;
    (void)state;
    for (int64_t limit = 0; status != NADIR_OK; limit++) {
        test_scarce scarce;
        fixture made;
        nadir_kernel *kernel = NULL;
        nadir_lmo_budget budget;
        nadir_lmo_streamed step;
        bool found;
        setup(test_scarce_context(&scarce), &made);
        scarce.left = limit;
        status =
            nadir_lmo_streamed_solve(made.context, &made.rows, &made.weights, 0.3, 0, &step, &budget, &found);
        if (status == NADIR_OK) {
            status = nadir_lmo_streamed_kernel(made.context, &made.rows, &made.weights, &step, &kernel);
        }
        assert_that(status == NADIR_OK || status == NADIR_ERROR_MEMORY, "status %d", (int)status);
        assert_true(limit < 50);
        scarce.left = INT64_MAX;
        nadir_kernel_free(kernel);
        teardown(&made);
        assert_int_equal(scarce.blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),       cmocka_unit_test(test_threads),
        cmocka_unit_test(test_nothing_found), cmocka_unit_test(test_mixtures),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
