/* Linear steps of sparse models on a device against those on the host, and evaluations with them. Without a
 * device: that there are none. */
#include "support/support.h"

#include "core/random.h"
#include "linalg/vector.h"
#include "model/kernel_device.h"
#include "sets/lmo.h"
#include "support/generated.h"
#include "support/lmo_device.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 1914, STATES = 5000, MOST = 14, FEWER = 900 };
#define GAMMA 0.9

/* A row for each of FEWER states, of lengths next to those at which rows are taken or kept in another way. */
static nadir_model *edges_model(nadir_context *context, nadir_random *random)
{
    static const int64_t lengths[] = {8, 9, 254, 255, 256, 257};
    const int64_t kinds = sizeof lengths / sizeof *lengths;
    nadir_model *model = NULL;
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
    nadir_model_data data = test_model_data();
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

/* Rows of a ragged model, of 1 to MOST successors, or that of edges; some states are not visited; some values
 * are the same. Skips the test if there is no device. */
static void setup(double p, bool edges, test_lmo_device *made)
{
    nadir_random random = test_random(SEED);
    nadir_context *context = test_context();
    nadir_model *model =
        edges ? edges_model(context, &random) : test_ragged_model(context, &random, STATES, MOST, 40, GAMMA);
    *made = test_lmo_device_make(context, &random, model);
    test_lmo_device_draw_scales(made);
    for (int64_t s = 0; s < made->states; s++) {
        const double u = nadir_random_uniform(&made->random);
        made->v[s] = 100 + 5 * (s % 3 == 0 ? floor(8 * u) / 8 : u);
        made->d[s] =
            s % 13 == 0 ? -1e-18 : pow(nadir_random_uniform(&made->random), 4) / (double)made->states;
    }
    test_lmo_device_weigh(made);
    made->order.unsorted = !isinf(p); /* the processor's rows of p = infinity want it sorted */
    test_lmo_device_sort(made);
    test_lmo_device_open(made, NADIR_DOMAIN_SUPPORT, p);
    test_lmo_device_need(made);
}

/* How many times as much as with p = 2 rounding does: powers a = 1 / (p - 1) and p of numbers lose digits. */
static double lost_digits(double p)
{
    return p == 1 || isinf(p) ? 1 : fmax(1, fmax(p / 10, 0.1 / (p - 1)));
}

/* Products of all rows with v. */
static void compare_kernels(const test_lmo_device *made, const nadir_kernel *here, nadir_kernel *there)
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

/* Sum over rows of P . g - min g. */
static double slack_of(const test_lmo_device *made, nadir_kernel *kernel, double tau)
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
static void compare_answers(test_lmo_device *made, double radius, nadir_lmo_solution *answers,
                            nadir_kernel **here, nadir_kernel **there)
{
    const double lost = lost_digits(made->rows.p);
    nadir_lmo_budget wanted = {0};
    nadir_lmo_budget budget = {0};
    bool found;
    bool done;
    double slack = 0;
    assert_ok(made->context,
              nadir_lmo_solve_all(made->context, &made->rows, made->weights, radius, answers, &wanted));
    assert_ok(made->context, nadir_lmo_device_solve(made->context, &made->device, &made->order, made->d,
                                                    radius, &budget, &found));
    assert_true(found);
    assert_close(budget.tau / wanted.tau, 1, 1e-11 * lost);
    assert_close(budget.step / wanted.step, 1, 1e-11 * lost);
    assert_close(budget.gain / wanted.gain, 1, 1e-12 * lost);
    assert_close(budget.norm / radius, 1, 1e-12 * lost);
    assert_that(budget.norm <= radius, "outside: %.17g", budget.norm);
    assert_ok(made->context, nadir_lmo_kernel(made->context, &made->rows, answers, here));
    assert_ok(made->context, nadir_lmo_device_kernel(made->context, &made->device, there));
    test_lmo_device_compare_averages(made, *here, *there, 1e-11 * lost); /* before it is brought here */
    if (made->rows.p == 2) {
        assert_ok(made->context, nadir_lmo_device_slack(made->context, &made->device, *there,
                                                        made->order.range, 1.5 * wanted.tau, &slack, &done));
        assert_true(done);
    }
    compare_kernels(made, *here, *there);
    if (made->rows.p == 2) {
        const double expected = slack_of(made, *there, 1.5 * wanted.tau); /* forgets what is there */
        assert_close(slack / expected, 1, 1e-10);
    }
    test_lmo_device_compare_averages(made, *here, *there, 1e-11 * lost); /* put there again */
}

/* Balls that matter, of a norm. */
static void compare_radii(double p, bool edges)
{
    static const double radii[] = {1e-6, 0.01, 0.1, 1, 5, 0.1};
    test_lmo_device made;
    setup(p, edges, &made);
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
    test_lmo_device_clear(&made);
}

static void test_answers(void **state)
{
    static const double norms[] = {2, 1, 1.001, 1.1, 1.5, 3, 12, 100, INFINITY};
    (void)state;
    for (size_t norm = 0; norm < sizeof norms / sizeof *norms; norm++) {
        compare_radii(norms[norm], false);
    }
}

static void test_edges(void **state)
{
    static const double norms[] = {1, 1.5, 2, 3, INFINITY};
    (void)state;
    for (size_t norm = 0; norm < sizeof norms / sizeof *norms; norm++) {
        compare_radii(norms[norm], true);
    }
}

/* p = infinity, rows of weight one: what states gain. */
static void test_gains(void **state)
{
    test_lmo_device made;
    (void)state;
    setup(INFINITY, false, &made);
    test_lmo_device_compare_gains(&made, &made.device, 0.03, 1e-13);
    test_lmo_device_clear(&made);
}

/* A ball in which every row can be settled, and values that are all the same. */
static void test_nothing_found(void **state)
{
    static const double norms[] = {1, 1.5, 2, 3};
    (void)state;
    for (size_t norm = 0; norm < sizeof norms / sizeof *norms; norm++) {
        test_lmo_device made;
        setup(norms[norm], false, &made);
        test_lmo_device_finds_nothing(&made);
        test_lmo_device_clear(&made);
    }
}

/* Rows are distributions however steep the step is: values in two heaps, one of them 1e-12 wide, so that the
 * level is found from far away. */
static void test_mass(void **state)
{
    static const double norms[] = {2, 1, 1.5, 3, INFINITY};
    (void)state;
    for (size_t norm = 0; norm < sizeof norms / sizeof *norms; norm++) {
        test_lmo_device made;
        int moved = 0;
        setup(norms[norm], false, &made);
        nadir_kernel *kernel = NULL;
        double *ones = test_new(made.states + made.count, sizeof *ones);
        double *sums = ones + made.states;
        for (int64_t s = 0; s < made.states; s++) {
            made.v[s] = s % 3 == 0 ? 0.9 + 1e-1 * made.v[s] / 200 : 1e-12 * (double)(s % 5);
            ones[s] = 1;
        }
        test_lmo_device_sort(&made);
        for (double radius = 0.1; radius < 300; radius *= 1.25) {
            nadir_lmo_budget budget;
            bool found;
            test_note("p %g, radius %g", norms[norm], radius);
            assert_ok(made.context, nadir_lmo_device_solve(made.context, &made.device, &made.order, made.d,
                                                           radius, &budget, &found));
            if (!found) {
                continue;
            }
            moved++;
            assert_ok(made.context, nadir_lmo_device_kernel(made.context, &made.device, &kernel));
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
        test_lmo_device_clear(&made);
    }
}

static void test_centred(void **state)
{
    test_lmo_device made;
    (void)state;
    setup(2, false, &made);
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
        assert_ok(made.context, nadir_lmo_device_centred(made.context, &made.device, made.v, made.d, sums));
        for (int64_t t = 0; t < STATES; t++) {
            assert_that(fabs(sums[t] - wanted[t]) <= 1e-13 * largest, "state %lld: %.17g, not %.17g",
                        (long long)t, sums[t], wanted[t]);
        }
    }
    free(sums);
    test_lmo_device_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),       cmocka_unit_test(test_edges), cmocka_unit_test(test_gains),
        cmocka_unit_test(test_nothing_found), cmocka_unit_test(test_mass),  cmocka_unit_test(test_centred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
