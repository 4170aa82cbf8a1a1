/* Linear steps of sparse models on a device against those on the host, and evaluations with them. Without a
 * device: that there are none. */
#include "support/support.h"

#include "core/random.h"
#include "linalg/vector.h"
#include "model/average.h"
#include "model/kernel_device.h"
#include "sets/lmo.h"
#include "support/generated.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 1914, STATES = 5000, MOST = 14, FEWER = 900 };
#define GAMMA 0.9

/* Rows of a sparse model, some of them pinned, some states not visited; values of which some are the same. */
typedef struct fixture {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_value_order order;
    nadir_lmo rows;
    nadir_lmo_device remote;
    int64_t states, count; /* count: of rows */
    double *scales, *weights, *d, *v;
} fixture;

/* A row for each of FEWER states, of lengths next to those at which rows are taken or kept in another way. */
static nadir_model *edges_model(nadir_context *context, nadir_random *random)
{
    static const int64_t lengths[] = {8, 9, 254, 255, 256, 257};
    const int64_t kinds = sizeof lengths / sizeof *lengths;
    nadir_model *model = NULL;
    nadir_model_data data;
    int64_t *state_rows = test_new(FEWER + 1, sizeof *state_rows);
    int64_t *starts = test_new(FEWER + 1, sizeof *starts);
    int32_t *columns = test_new(FEWER * lengths[kinds - 1], sizeof *columns);
    double *values = test_new(FEWER * lengths[kinds - 1], sizeof *values);
    starts[0] = 0;
    for (int64_t row = 0; row < FEWER; row++) {
        const int64_t count = lengths[row % kinds];
        const int64_t apart = FEWER / count;
        double sum = 0;
        for (int64_t i = 0; i < count; i++) {
            columns[starts[row] + i] = (int32_t)(apart * i + row % apart);
            values[starts[row] + i] = pow(nadir_random_uniform(random), 3) + 1e-9;
            sum += values[starts[row] + i];
        }
        for (int64_t i = 0; i < count; i++) {
            values[starts[row] + i] /= sum;
        }
        state_rows[row] = row;
        starts[row + 1] = starts[row] + count;
    }
    state_rows[FEWER] = FEWER;
    nadir_model_data_default(&data);
    data.states = FEWER;
    data.rows = FEWER;
    data.state_rows = state_rows;
    data.row_starts = starts;
    data.columns = columns;
    data.probabilities = values;
    data.discount = GAMMA;
    assert_ok(context, nadir_model_create(context, &data, &model));
    assert_null(model->dense);
    free(state_rows);
    free(starts);
    free(columns);
    free(values);
    return model;
}

/* A ragged model with rows of 1 to MOST successors, or that of edges. */
static void setup(double p, bool edges, fixture *made)
{
    nadir_random random = test_random(SEED);
    made->context = test_context();
    made->model = edges ? edges_model(made->context, &random)
                        : test_ragged_model(made->context, &random, STATES, MOST, 40, GAMMA);
    made->states = made->model->states;
    made->count = made->model->rows;
    assert_ok(made->context, nadir_policy_create_uniform(made->context, made->model, &made->policy));
    made->scales = test_new(made->count, sizeof *made->scales);
    made->weights = test_new(made->count, sizeof *made->weights);
    made->d = test_new(made->states, sizeof *made->d);
    made->v = test_new(made->states, sizeof *made->v);
    for (int64_t row = 0; row < made->count; row++) {
        made->scales[row] = row % 11 == 0 ? 0 : 0.2 + 3 * nadir_random_uniform(&random);
    }
    for (int64_t s = 0; s < made->states; s++) {
        const double u = nadir_random_uniform(&random);
        made->v[s] = 100 + 5 * (s % 3 == 0 ? floor(8 * u) / 8 : u);
        made->d[s] = s % 13 == 0 ? -1e-18 : pow(nadir_random_uniform(&random), 4) / (double)made->states;
        for (int64_t row = made->model->state_rows[s]; row < made->model->state_rows[s + 1]; row++) {
            made->weights[row] = GAMMA * fmax(made->d[s], 0) * made->policy->probabilities[row];
        }
    }
    made->order.unsorted = !isinf(p); /* the processor's rows of p = infinity want it sorted */
    assert_ok(made->context, nadir_value_order_make(made->context, made->states, made->v, &made->order));
    made->rows = (nadir_lmo){.model = made->model,
                             .order = &made->order,
                             .scales = made->scales,
                             .domain = NADIR_DOMAIN_SUPPORT,
                             .p = p,
                             .q = nadir_holder_conjugate(p)};
    assert_ok(made->context, nadir_lmo_device_open(made->context, &made->rows, NADIR_DEVICE_ALL_ROWS, GAMMA,
                                                   made->policy->probabilities, &made->remote));
}

/* How many times as much as with p = 2 rounding does: powers a = 1 / (p - 1) and p of numbers lose digits. */
static double lost_digits(double p)
{
    return p == 1 || isinf(p) ? 1 : fmax(1, fmax(p / 10, 0.1 / (p - 1)));
}

static void teardown(fixture *made)
{
    nadir_lmo_device_close(&made->remote);
    nadir_value_order_clear(made->context, &made->order);
    free(made->scales);
    free(made->weights);
    free(made->d);
    free(made->v);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
}

/* Products of all rows with v. */
static void compare_kernels(const fixture *made, const nadir_kernel *here, nadir_kernel *there)
{
    double *y = test_new(2 * made->count, sizeof *y);
    assert_ok(made->context, nadir_kernel_device_fetch(made->context, there));
    nadir_kernel_multiply(made->context, here, made->v, y);
    nadir_kernel_multiply(made->context, there, made->v, y + made->count);
    for (int64_t row = 0; row < made->count; row++) {
        assert_that(fabs(y[row] - y[made->count + row]) <= 1e-11 * lost_digits(made->rows.p),
                    "row %lld: %.17g, not %.17g", (long long)row, y[made->count + row], y[row]);
        assert_int_equal(nadir_kernel_is_nominal(here, row), nadir_kernel_is_nominal(there, row));
    }
    assert_that(test_kernel_minimum(made->context, there) >= 0, "a negative entry");
    free(y);
}

/* The average that the device makes of its kernel. */
static void compare_average(const fixture *made, const nadir_kernel *here, const nadir_kernel *there)
{
    nadir_average average = {0};
    double *y = test_new(made->states + made->count, sizeof *y);
    double *rows = y + made->states;
    assert_ok(made->context, nadir_average_make(made->context, there, made->policy, &average));
    assert_non_null(average.device_matrix);
    nadir_average_multiply(made->context, &average, 1, made->v, y);
    nadir_kernel_multiply(made->context, here, made->v, rows);
    for (int64_t s = 0; s < made->states; s++) {
        double sum = 0;
        for (int64_t row = made->model->state_rows[s]; row < made->model->state_rows[s + 1]; row++) {
            sum += made->policy->probabilities[row] * rows[row];
        }
        assert_that(fabs(y[s] - sum) <= 1e-11 * lost_digits(made->rows.p), "state %lld: %.17g, not %.17g",
                    (long long)s, y[s], sum);
    }
    nadir_average_clear(made->context, &average);
    free(y);
}

/* Sum over rows of P . g - min g. */
static double slack_of(const fixture *made, nadir_kernel *kernel, double tau)
{
    const nadir_model *model = made->model;
    const double *values = nadir_kernel_perturbed(kernel)->values;
    const bool *nominal = nadir_kernel_perturbed(kernel)->nominal;
    double total = 0;
    for (int64_t row = 0; row < made->count; row++) {
        double mean = 0;
        double least = INFINITY;
        for (int64_t i = model->row_starts[row]; i < model->row_starts[row + 1]; i++) {
            const double phat = model->probabilities[i];
            const double p = nominal[row] ? phat : values[i];
            const double g = made->weights[row] * made->order.range * made->order.x[model->columns[i]] +
                             2 * tau * (p - phat) / (made->scales[row] * made->scales[row]);
            mean += p * g;
            least = fmin(least, g);
        }
        total += made->scales[row] > 0 && made->weights[row] > 0 ? mean - least : 0;
    }
    return total;
}

/* The answer of a radius, made here and there. */
static void compare_answers(fixture *made, double radius, nadir_lmo_solution *answers, nadir_kernel **here,
                            nadir_kernel **there)
{
    const double lost = lost_digits(made->rows.p);
    nadir_lmo_budget wanted = {0};
    nadir_lmo_budget budget = {0};
    bool found;
    bool done;
    double slack = 0;
    assert_ok(made->context,
              nadir_lmo_solve_all(made->context, &made->rows, made->weights, radius, answers, &wanted));
    assert_ok(made->context, nadir_lmo_device_solve(made->context, &made->remote, &made->order, made->d,
                                                    radius, &budget, &found));
    assert_true(found);
    assert_close(budget.tau / wanted.tau, 1, 1e-11 * lost);
    assert_close(budget.step / wanted.step, 1, 1e-11 * lost);
    assert_close(budget.gain / wanted.gain, 1, 1e-12 * lost);
    assert_close(budget.norm / radius, 1, 1e-12 * lost);
    assert_that(budget.norm <= radius, "outside: %.17g", budget.norm);
    assert_ok(made->context, nadir_lmo_kernel(made->context, &made->rows, answers, here));
    assert_ok(made->context, nadir_lmo_device_kernel(made->context, &made->remote, there));
    compare_average(made, *here, *there); /* before it is brought here */
    if (made->rows.p == 2) {
        assert_ok(made->context, nadir_lmo_device_slack(made->context, &made->remote, *there,
                                                        made->order.range, 1.5 * wanted.tau, &slack, &done));
        assert_true(done);
    }
    compare_kernels(made, *here, *there);
    if (made->rows.p == 2) {
        const double expected = slack_of(made, *there, 1.5 * wanted.tau); /* forgets what is there */
        assert_close(slack / expected, 1, 1e-10);
    }
    compare_average(made, *here, *there); /* put there again */
}

/* Balls that matter, of a norm; false: there is no device. */
static bool compare_radii(double p, bool edges)
{
    static const double radii[] = {1e-6, 0.01, 0.1, 1, 5, 0.1};
    fixture made = {0};
    setup(p, edges, &made);
    if (made.remote.step == NULL) {
        assert_null(made.context->device);
        teardown(&made);
        return false;
    }
    nadir_lmo_solution *answers = test_new(made.count, sizeof *answers);
    nadir_kernel *here = NULL;
    nadir_kernel *there = NULL;
    for (size_t i = 0; i < sizeof radii / sizeof *radii; i++) {
        const bool settled = p > 2 && radii[i] > (edges ? 0.1 : 1); /* such balls hold every row's worst */
        const bool beyond = p == 100 && radii[i] < 0.01;            /* tau is no number then */
        test_note("p %g, radius %g%s", p, radii[i], edges ? ", edges" : "");
        if (!settled && !beyond) {
            compare_answers(&made, radii[i], answers, &here, &there);
        }
    }
    test_note_clear();
    nadir_kernel_free(here);
    nadir_kernel_free(there);
    free(answers);
    teardown(&made);
    return true;
}

static void test_answers(void **state)
{
    static const double norms[] = {2, 1, 1.001, 1.1, 1.5, 3, 12, 100, INFINITY};
    (void)state;
    for (size_t norm = 0; norm < sizeof norms / sizeof *norms; norm++) {
        if (!compare_radii(norms[norm], false)) {
            skip();
            return;
        }
    }
}

static void test_edges(void **state)
{
    static const double norms[] = {1, 1.5, 2, 3, INFINITY};
    (void)state;
    for (size_t norm = 0; norm < sizeof norms / sizeof *norms; norm++) {
        if (!compare_radii(norms[norm], true)) {
            skip();
            return;
        }
    }
}

/* p = infinity, rows of weight one: what states gain. */
static void test_gains(void **state)
{
    fixture made = {0};
    nadir_lmo_budget budget;
    bool found;
    (void)state;
    setup(INFINITY, false, &made);
    if (made.remote.step == NULL) {
        teardown(&made);
        skip();
        return;
    }
    nadir_lmo_solution *answers = test_new(made.count, sizeof *answers);
    double *gains = test_new(STATES, sizeof *gains);
    for (int64_t row = 0; row < made.count; row++) {
        made.weights[row] = 1;
    }
    assert_ok(made.context,
              nadir_lmo_solve_all(made.context, &made.rows, made.weights, 0.03, answers, &budget));
    assert_ok(made.context,
              nadir_lmo_device_solve(made.context, &made.remote, &made.order, NULL, 0.03, &budget, &found));
    assert_true(found);
    assert_ok(made.context, nadir_lmo_device_gains(made.context, &made.remote, &made.order, gains));
    for (int64_t s = 0; s < STATES; s++) {
        double wanted = 0;
        for (int64_t row = made.model->state_rows[s]; row < made.model->state_rows[s + 1]; row++) {
            wanted += made.policy->probabilities[row] * answers[row].gain;
        }
        assert_that(fabs(gains[s] - wanted) <= 1e-13, "state %lld: %.17g, not %.17g", (long long)s, gains[s],
                    wanted);
    }
    free(gains);
    free(answers);
    teardown(&made);
}

/* A ball in which every row can be settled, and values that are all the same. */
static void test_nothing_found(void **state)
{
    static const double norms[] = {1, 1.5, 2, 3};
    (void)state;
    for (size_t norm = 0; norm < sizeof norms / sizeof *norms; norm++) {
        fixture made = {0};
        nadir_lmo_budget budget;
        bool found = true;
        setup(norms[norm], false, &made);
        if (made.remote.step == NULL) {
            teardown(&made);
            skip();
            return;
        }
        test_note("p %g", norms[norm]);
        assert_ok(made.context, nadir_lmo_device_solve(made.context, &made.remote, &made.order, made.d, 1e7,
                                                       &budget, &found));
        assert_false(found);
        found = true;
        for (int64_t s = 0; s < STATES; s++) {
            made.v[s] = 1;
        }
        assert_ok(made.context, nadir_value_order_make(made.context, STATES, made.v, &made.order));
        assert_ok(made.context, nadir_lmo_device_solve(made.context, &made.remote, &made.order, made.d, 0.1,
                                                       &budget, &found));
        assert_false(found);
        test_note_clear();
        teardown(&made);
    }
}

/* Rows are distributions however steep the step is: values in two heaps, one of them 1e-12 wide, so that the
 * level is found from far away. */
static void test_mass(void **state)
{
    static const double norms[] = {2, 1, 1.5, 3, INFINITY};
    (void)state;
    for (size_t norm = 0; norm < sizeof norms / sizeof *norms; norm++) {
        fixture made = {0};
        int moved = 0;
        setup(norms[norm], false, &made);
        if (made.remote.step == NULL) {
            assert_null(made.context->device);
            teardown(&made);
            skip();
            return;
        }
        nadir_kernel *kernel = NULL;
        double *ones = test_new(made.states + made.count, sizeof *ones);
        double *sums = ones + made.states;
        for (int64_t s = 0; s < made.states; s++) {
            made.v[s] = s % 3 == 0 ? 0.9 + 1e-1 * made.v[s] / 200 : 1e-12 * (double)(s % 5);
            ones[s] = 1;
        }
        assert_ok(made.context, nadir_value_order_make(made.context, made.states, made.v, &made.order));
        for (double radius = 0.1; radius < 300; radius *= 1.25) {
            nadir_lmo_budget budget;
            bool found;
            test_note("p %g, radius %g", norms[norm], radius);
            assert_ok(made.context, nadir_lmo_device_solve(made.context, &made.remote, &made.order, made.d,
                                                           radius, &budget, &found));
            if (!found) {
                continue;
            }
            moved++;
            assert_ok(made.context, nadir_lmo_device_kernel(made.context, &made.remote, &kernel));
            assert_ok(made.context, nadir_kernel_device_fetch(made.context, kernel));
            nadir_kernel_multiply(made.context, kernel, ones, sums);
            for (int64_t row = 0; row < made.count; row++) {
                assert_that(fabs(sums[row] - 1) <= 1e-13, "row %lld sums to 1 %+g", (long long)row,
                            sums[row] - 1);
            }
        }
        assert_true(moved > 5);
        test_note_clear();
        nadir_kernel_free(kernel);
        free(ones);
        teardown(&made);
    }
}

static void test_centred(void **state)
{
    fixture made = {0};
    (void)state;
    setup(2, false, &made);
    if (made.remote.step == NULL) {
        teardown(&made);
        skip();
        return;
    }
    const nadir_model *model = made.model;
    double *sums = test_new(2 * STATES, sizeof *sums);
    double *wanted = sums + STATES;
    double largest = 0;
    for (int64_t s = 0; s < STATES; s++) {
        wanted[s] = 0;
    }
    for (int64_t s = 0; s < STATES; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double q = GAMMA * made.v[s] * made.scales[row] * made.policy->probabilities[row];
            const int64_t length = model->row_starts[row + 1] - model->row_starts[row];
            double mean = 0;
            for (int64_t i = model->row_starts[row]; i < model->row_starts[row + 1]; i++) {
                mean += made.d[model->columns[i]] / (double)length;
            }
            for (int64_t i = model->row_starts[row]; i < model->row_starts[row + 1]; i++) {
                wanted[model->columns[i]] += q * q * (made.d[model->columns[i]] - mean);
            }
        }
    }
    for (int64_t t = 0; t < STATES; t++) {
        largest = fmax(largest, fabs(wanted[t]));
    }
    for (int again = 0; again < 2; again++) {
        assert_ok(made.context, nadir_lmo_device_centred(made.context, &made.remote, made.v, made.d, sums));
        for (int64_t t = 0; t < STATES; t++) {
            assert_that(fabs(sums[t] - wanted[t]) <= 1e-13 * largest, "state %lld: %.17g, not %.17g",
                        (long long)t, sums[t], wanted[t]);
        }
    }
    free(sums);
    teardown(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),       cmocka_unit_test(test_edges), cmocka_unit_test(test_gains),
        cmocka_unit_test(test_nothing_found), cmocka_unit_test(test_mass),  cmocka_unit_test(test_centred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
