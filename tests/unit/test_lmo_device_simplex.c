/* Linear steps of sparse models on domain simplex, on a device against those on the host. Without a device:
 * that there are none. */
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
#include <string.h>

enum { SEED = 1415, STATES = 9000, MANY = 300000, MOST = 14, FEW = 3 };
#define GAMMA 0.9

/* How values lie: anyhow, at nine places, almost all together. */
typedef enum spacing { ANYHOW, TIED, CROWDED } spacing;

static void set_values(test_lmo_device *made, spacing how)
{
    for (int64_t s = 0; s < made->states; s++) {
        const double u = nadir_random_uniform(&made->random);
        made->v[s] = 100 + 5 * (how == ANYHOW ? u : how == TIED ? floor(9 * u) : pow(u, 30));
    }
    test_lmo_device_sort(made);
}

/* A ragged model with rows of 1 to `most` successors, some of them pinned, some states not visited. */
static void make(double p, int64_t states, int64_t most, test_lmo_device *made)
{
    nadir_random random = test_random(SEED);
    nadir_context *context = test_context();
    nadir_model *model = test_ragged_model(context, &random, states, most, 40, GAMMA);
    *made = test_lmo_device_make(context, &random, model);
    test_lmo_device_draw_scales(made);
    for (int64_t s = 0; s < states; s++) {
        made->z[s] = nadir_random_uniform(&made->random) - 0.5;
        made->d[s] = s % 13 == 0 ? -1e-18 : pow(nadir_random_uniform(&made->random), 4) / (double)states;
    }
    test_lmo_device_weigh(made);
    set_values(made, ANYHOW);
    test_lmo_device_open(made, NADIR_DOMAIN_SIMPLEX, p);
}

/* Skips the test if there is no device. */
static void setup(double p, int64_t states, int64_t most, test_lmo_device *made)
{
    make(p, states, most, made);
    test_lmo_device_need(made);
}

/* Products of all rows with v, and with a vector that has nothing to do with it. */
static void compare_kernels(const test_lmo_device *made, const nadir_kernel *here, const nadir_kernel *there)
{
    double *y = test_new(2 * made->count, sizeof *y);
    for (int vector = 0; vector < 2; vector++) {
        nadir_kernel_multiply(made->context, here, vector == 0 ? made->v : made->z, y);
        nadir_kernel_multiply(made->context, there, vector == 0 ? made->v : made->z, y + made->count);
        for (int64_t row = 0; row < made->count; row++) {
            assert_that(fabs(y[row] - y[made->count + row]) <= (vector == 0 ? 1e-10 : 1e-11),
                        "vector %d, row %lld: %.17g, not %.17g", vector, (long long)row, y[made->count + row],
                        y[row]);
            assert_int_equal(nadir_kernel_is_nominal(here, row), nadir_kernel_is_nominal(there, row));
        }
    }
    assert_that(test_kernel_minimum(made->context, there) >= 0, "a negative entry");
    free(y);
}

/* The answer of a radius, made here and there. */
static void compare_answers(test_lmo_device *made, double radius, nadir_lmo_solution *answers,
                            nadir_kernel **here, nadir_kernel **there)
{
    nadir_lmo_budget wanted = {0};
    nadir_lmo_budget budget = {0};
    bool found;
    assert_ok(made->context,
              nadir_lmo_solve_all(made->context, &made->rows, made->weights, radius, answers, &wanted));
    assert_ok(made->context, nadir_lmo_device_solve(made->context, &made->device, &made->order, made->d,
                                                    radius, &budget, &found));
    assert_true(found);
    assert_true(wanted.tau > 0);
    assert_close(budget.tau / wanted.tau, 1, 1e-11);
    assert_close(budget.step / wanted.step, 1, 1e-11);
    assert_close(budget.gain / wanted.gain, 1, 1e-12);
    assert_close(budget.norm / wanted.norm, 1, 1e-12);
    assert_that(budget.norm <= radius, "outside: %.17g", budget.norm);
    assert_ok(made->context, nadir_lmo_kernel(made->context, &made->rows, answers, here));
    assert_ok(made->context, nadir_lmo_device_kernel(made->context, &made->device, there));
    test_lmo_device_compare_averages(made, *here, *there, 1e-10); /* before it is brought here */
    assert_ok(made->context, nadir_kernel_device_fetch(made->context, *there));
    compare_kernels(made, *here, *there);
}

/* Radii from next to nothing to nearly all that can be moved. */
static void test_answers(void **state)
{
    static const double norms[] = {2, 1, INFINITY};
    static const double radii[3][5] = {
        {1e-6, 0.01, 0.3, 5, 30}, {1e-6, 0.01, 1, 50, 500}, {1e-9, 1e-6, 1e-4, 0.01, 0.5}};
    static const spacing ways[] = {ANYHOW, TIED, CROWDED};
    (void)state;
    for (int norm = 0; norm < 3; norm++) {
        test_lmo_device made;
        setup(norms[norm], STATES, MOST, &made);
        nadir_lmo_solution *answers = test_new(made.count, sizeof *answers);
        nadir_kernel *here = NULL;
        nadir_kernel *there = NULL;
        for (int i = 0; i < 15; i++) {
            set_values(&made, ways[i / 5]);
            memset(answers, 0, (size_t)made.count * sizeof *answers);
            test_note("p %g, radius %g, spacing %d", norms[norm], radii[norm][i % 5], i / 5);
            compare_answers(&made, radii[norm][i % 5], answers, &here, &there);
        }
        test_note_clear();
        nadir_kernel_free(here);
        nadir_kernel_free(there);
        free(answers);
        test_lmo_device_clear(&made);
    }
}

/* The order of many states is summed in many pieces. */
static void test_many_states(void **state)
{
    test_lmo_device made;
    nadir_kernel *here = NULL;
    nadir_kernel *there = NULL;
    (void)state;
    setup(2, MANY, FEW, &made);
    nadir_lmo_solution *answers = test_new(made.count, sizeof *answers);
    compare_answers(&made, 0.5, answers, &here, &there);
    nadir_kernel_free(here);
    nadir_kernel_free(there);
    free(answers);
    test_lmo_device_clear(&made);
}

/* Every number of the same answer, twice. */
static void test_same_bits(void **state)
{
    static const double norms[] = {2, 1, INFINITY};
    static const double radii[] = {0.3, 1, 1e-4};
    (void)state;
    for (int norm = 0; norm < 3; norm++) {
        test_lmo_device made;
        nadir_kernel *kernels[2] = {NULL, NULL};
        nadir_lmo_budget budgets[2];
        bool found;
        setup(norms[norm], STATES, MOST, &made);
        test_note("p %g", norms[norm]);
        for (int i = 0; i < 2; i++) {
            memset(&budgets[i], 0, sizeof budgets[i]);
            assert_ok(made.context, nadir_lmo_device_solve(made.context, &made.device, &made.order, made.d,
                                                           radii[norm], &budgets[i], &found));
            assert_ok(made.context, nadir_lmo_device_kernel(made.context, &made.device, &kernels[i]));
            assert_ok(made.context, nadir_kernel_device_fetch(made.context, kernels[i]));
        }
        const nadir_perturbed *a = nadir_kernel_perturbed(kernels[0]);
        const nadir_perturbed *b = nadir_kernel_perturbed(kernels[1]);
        const size_t rows = (size_t)made.count;
        assert_memory_equal(&budgets[0], &budgets[1], sizeof budgets[0]);
        assert_memory_equal(a->values, b->values, (size_t)made.model->nonzeros * sizeof *a->values);
        assert_memory_equal(a->omega, b->omega, rows * sizeof *a->omega);
        assert_memory_equal(a->slope, b->slope, rows * sizeof *a->slope);
        assert_memory_equal(a->length, b->length, rows * sizeof *a->length);
        assert_memory_equal(a->extra, b->extra, rows * sizeof *a->extra);
        assert_memory_equal(a->amount, b->amount, rows * sizeof *a->amount);
        assert_memory_equal(a->order, made.order.order, STATES * sizeof *a->order);
        assert_memory_equal(a->x, made.order.x, STATES * sizeof *a->x);
        test_note_clear();
        nadir_kernel_free(kernels[0]);
        nadir_kernel_free(kernels[1]);
        test_lmo_device_clear(&made);
    }
}

/* P . g - min g of a row, from the numbers of a kernel; p: [states] room. */
static double row_slack(const test_lmo_device *made, const nadir_perturbed *perturbed, int64_t row,
                        double range, const double *x, double tau, double *p)
{
    const nadir_model *model = made->model;
    const double pull = 2 * tau / (made->scales[row] * made->scales[row]);
    const double force = made->weights[row] * range;
    double mean = 0;
    double least = INFINITY;
    memset(p, 0, (size_t)made->states * sizeof *p);
    for (int32_t i = 0; i < perturbed->length[row]; i++) {
        p[perturbed->order[i]] =
            perturbed->omega[row] - perturbed->slope[row] * perturbed->x[perturbed->order[i]];
    }
    if (perturbed->extra[row] >= 0) {
        p[perturbed->extra[row]] += perturbed->amount[row];
    }
    for (int64_t i = model->row_starts[row]; i < model->row_starts[row + 1]; i++) {
        const int32_t t = model->columns[i];
        const double phat = model->probabilities[i];
        p[t] = perturbed->nominal[row] ? phat : perturbed->values[i];
        mean -= p[t] * pull * phat;
    }
    for (int64_t t = 0; t < made->states; t++) {
        mean += p[t] * (force * x[t] + pull * p[t]);
    }
    for (int64_t i = model->row_starts[row]; i < model->row_starts[row + 1]; i++) {
        p[model->columns[i]] -= model->probabilities[i]; /* Delta */
    }
    for (int64_t t = 0; t < made->states; t++) {
        least = fmin(least, force * x[t] + pull * p[t]);
    }
    return mean - least;
}

/* p = 2: what a kernel lacks at the values that it was made of, and at others, in another order. */
static void test_slack(void **state)
{
    test_lmo_device made;
    nadir_kernel *kernel = NULL;
    nadir_lmo_budget budget = {0};
    double slack[2];
    double tau[2];
    double range[2];
    bool found;
    bool done;
    (void)state;
    setup(2, STATES, MOST, &made);
    double *x = test_new(2 * STATES, sizeof *x);
    double *p = test_new(STATES, sizeof *p);
    for (int other = 0; other < 2; other++) {
        set_values(&made, other == 0 ? ANYHOW : TIED);
        assert_ok(made.context, nadir_lmo_device_solve(made.context, &made.device, &made.order, made.d, 0.3,
                                                       &budget, &found));
        assert_true(found);
        if (other == 0) {
            assert_ok(made.context, nadir_lmo_device_kernel(made.context, &made.device, &kernel));
        }
        tau[other] = 1.5 * budget.tau;
        range[other] = made.order.range;
        memcpy(x + other * STATES, made.order.x, STATES * sizeof *x);
        assert_ok(made.context, nadir_lmo_device_slack(made.context, &made.device, kernel, range[other],
                                                       tau[other], &slack[other], &done));
        assert_true(done);
    }
    assert_ok(made.context, nadir_kernel_device_fetch(made.context, kernel));
    const nadir_perturbed *perturbed = nadir_kernel_perturbed(kernel); /* forgets what is there */
    for (int other = 0; other < 2; other++) {
        double wanted = 0;
        for (int64_t row = 0; row < made.count; row++) {
            if (made.scales[row] > 0 && made.weights[row] > 0) {
                wanted += row_slack(&made, perturbed, row, range[other], x + other * STATES, tau[other], p);
            }
        }
        assert_close(slack[other] / wanted, 1, 1e-10);
    }
    free(x);
    free(p);
    nadir_kernel_free(kernel);
    test_lmo_device_clear(&made);
}

/* Balls in which every row can be settled, and values that are all the same. */
static void test_nothing_found(void **state)
{
    static const double norms[] = {1, 2};
    (void)state;
    for (int norm = 0; norm < 2; norm++) {
        test_lmo_device made;
        setup(norms[norm], STATES, MOST, &made);
        test_lmo_device_finds_nothing(&made);
        test_lmo_device_clear(&made);
    }
}

/* p = infinity in a ball that does not matter: all mass goes to the smallest value. */
static void test_capped_settled(void **state)
{
    test_lmo_device made;
    nadir_lmo_budget budget;
    nadir_kernel *here = NULL;
    nadir_kernel *there = NULL;
    bool found;
    (void)state;
    setup(INFINITY, STATES, MOST, &made);
    nadir_lmo_solution *answers = test_new(made.count, sizeof *answers);
    assert_ok(made.context,
              nadir_lmo_solve_all(made.context, &made.rows, made.weights, 1e3, answers, &budget));
    assert_ok(made.context, nadir_lmo_kernel(made.context, &made.rows, answers, &here));
    assert_ok(made.context,
              nadir_lmo_device_solve(made.context, &made.device, &made.order, made.d, 1e3, &budget, &found));
    assert_true(found);
    assert_ok(made.context, nadir_lmo_device_kernel(made.context, &made.device, &there));
    assert_ok(made.context, nadir_kernel_device_fetch(made.context, there));
    compare_kernels(&made, here, there);
    nadir_kernel_free(here);
    nadir_kernel_free(there);
    free(answers);
    test_lmo_device_clear(&made);
}

/* p = infinity, rows of weight one, each with a ball of its own: what states gain. */
static void test_gains(void **state)
{
    test_lmo_device made;
    nadir_lmo_device device = {0};
    (void)state;
    setup(INFINITY, STATES, MOST, &made);
    assert_ok(made.context, nadir_lmo_device_open(made.context, &made.rows, NADIR_DEVICE_ROWS, GAMMA,
                                                  made.policy->probabilities, &device));
    assert_non_null(device.step);
    test_lmo_device_compare_gains(&made, &device, 0.001, 1e-13);
    nadir_lmo_device_close(&device);
    test_lmo_device_clear(&made);
}

/* Other norms stay here. */
static void test_other_norms(void **state)
{
    test_lmo_device made;
    (void)state;
    make(1.5, STATES, MOST, &made);
    assert_null(made.device.step);
    test_lmo_device_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),       cmocka_unit_test(test_many_states),
        cmocka_unit_test(test_same_bits),     cmocka_unit_test(test_slack),
        cmocka_unit_test(test_nothing_found), cmocka_unit_test(test_capped_settled),
        cmocka_unit_test(test_gains),         cmocka_unit_test(test_other_norms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
