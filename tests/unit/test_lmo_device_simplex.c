/* Linear steps of sparse models on domain simplex, on a device against those on the host. Without a device:
 * that there are none. */
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
#include <string.h>

enum { SEED = 1415, STATES = 9000, MANY = 300000, MOST = 14, FEW = 3 };
#define GAMMA 0.9

/* How values lie: anyhow, at nine places, almost all together. */
typedef enum spacing { ANYHOW, TIED, CROWDED } spacing;

/* A ragged model with rows of 1 to MOST successors, some of them pinned, some states not visited. */
typedef struct fixture {
    nadir_context *context;
    nadir_random random;
    nadir_model *model;
    nadir_policy *policy;
    nadir_value_order order;
    nadir_lmo rows;
    nadir_lmo_device remote;
    int64_t states, count; /* count: of rows */
    double *scales, *weights, *d, *v, *z;
} fixture;

static void set_values(fixture *made, spacing how)
{
    for (int64_t s = 0; s < made->states; s++) {
        const double u = nadir_random_uniform(&made->random);
        made->v[s] = 100 + 5 * (how == ANYHOW ? u : how == TIED ? floor(9 * u) : pow(u, 30));
    }
    assert_ok(made->context, nadir_value_order_make(made->context, made->states, made->v, &made->order));
}

static void setup(double p, int64_t states, int64_t most, fixture *made)
{
    nadir_random_seed(&made->random, SEED);
    made->context = test_context();
    made->model = test_ragged_model(made->context, &made->random, states, most, 40, GAMMA);
    made->states = states;
    made->count = made->model->rows;
    assert_ok(made->context, nadir_policy_create_uniform(made->context, made->model, &made->policy));
    made->scales = test_new(made->count, sizeof *made->scales);
    made->weights = test_new(made->count, sizeof *made->weights);
    made->d = test_new(states, sizeof *made->d);
    made->v = test_new(states, sizeof *made->v);
    made->z = test_new(states, sizeof *made->z);
    for (int64_t row = 0; row < made->count; row++) {
        made->scales[row] = row % 11 == 0 ? 0 : 0.2 + 3 * nadir_random_uniform(&made->random);
    }
    for (int64_t s = 0; s < states; s++) {
        made->z[s] = nadir_random_uniform(&made->random) - 0.5;
        made->d[s] = s % 13 == 0 ? -1e-18 : pow(nadir_random_uniform(&made->random), 4) / (double)states;
        for (int64_t row = made->model->state_rows[s]; row < made->model->state_rows[s + 1]; row++) {
            made->weights[row] = GAMMA * fmax(made->d[s], 0) * made->policy->probabilities[row];
        }
    }
    set_values(made, ANYHOW);
    made->rows = (nadir_lmo){.model = made->model,
                             .order = &made->order,
                             .scales = made->scales,
                             .domain = NADIR_DOMAIN_SIMPLEX,
                             .p = p,
                             .q = nadir_holder_conjugate(p)};
    assert_ok(made->context, nadir_lmo_device_open(made->context, &made->rows, NADIR_DEVICE_ALL_ROWS, GAMMA,
                                                   made->policy->probabilities, &made->remote));
}

static void teardown(fixture *made)
{
    nadir_lmo_device_close(&made->remote);
    nadir_value_order_clear(made->context, &made->order);
    free(made->scales);
    free(made->weights);
    free(made->d);
    free(made->v);
    free(made->z);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
}

/* Products of all rows with v, and with a vector that has nothing to do with it. */
static void compare_kernels(const fixture *made, const nadir_kernel *here, const nadir_kernel *there)
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

/* Its average, made on the device. */
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
        assert_that(fabs(y[s] - sum) <= 1e-10, "state %lld: %.17g, not %.17g", (long long)s, y[s], sum);
    }
    nadir_average_clear(made->context, &average);
    free(y);
}

/* The answer of a radius, made here and there. */
static void compare_answers(fixture *made, double radius, nadir_lmo_solution *answers, nadir_kernel **here,
                            nadir_kernel **there)
{
    nadir_lmo_budget wanted = {0};
    nadir_lmo_budget budget = {0};
    bool found;
    assert_ok(made->context,
              nadir_lmo_solve_all(made->context, &made->rows, made->weights, radius, answers, &wanted));
    assert_ok(made->context, nadir_lmo_device_solve(made->context, &made->remote, &made->order, made->d,
                                                    radius, &budget, &found));
    assert_true(found);
    assert_true(wanted.tau > 0);
    assert_close(budget.tau / wanted.tau, 1, 1e-11);
    assert_close(budget.step / wanted.step, 1, 1e-11);
    assert_close(budget.gain / wanted.gain, 1, 1e-12);
    assert_close(budget.norm / wanted.norm, 1, 1e-12);
    assert_that(budget.norm <= radius, "outside: %.17g", budget.norm);
    assert_ok(made->context, nadir_lmo_kernel(made->context, &made->rows, answers, here));
    assert_ok(made->context, nadir_lmo_device_kernel(made->context, &made->remote, there));
    compare_average(made, *here, *there); /* before it is brought here */
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
        fixture made = {0};
        setup(norms[norm], STATES, MOST, &made);
        if (made.remote.step == NULL) {
            assert_null(made.context->device);
            teardown(&made);
            skip();
            return;
        }
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
        teardown(&made);
    }
}

/* The order of many states is summed in many pieces. */
static void test_many_states(void **state)
{
    fixture made = {0};
    nadir_kernel *here = NULL;
    nadir_kernel *there = NULL;
    (void)state;
    setup(2, MANY, FEW, &made);
    if (made.remote.step == NULL) {
        assert_null(made.context->device);
        teardown(&made);
        skip();
        return;
    }
    nadir_lmo_solution *answers = test_new(made.count, sizeof *answers);
    compare_answers(&made, 0.5, answers, &here, &there);
    nadir_kernel_free(here);
    nadir_kernel_free(there);
    free(answers);
    teardown(&made);
}

/* Every number of the same answer, twice. */
static void test_same_bits(void **state)
{
    static const double norms[] = {2, 1, INFINITY};
    static const double radii[] = {0.3, 1, 1e-4};
    (void)state;
    for (int norm = 0; norm < 3; norm++) {
        fixture made = {0};
        nadir_kernel *kernels[2] = {NULL, NULL};
        nadir_lmo_budget budgets[2];
        bool found;
        setup(norms[norm], STATES, MOST, &made);
        if (made.remote.step == NULL) {
            teardown(&made);
            skip();
            return;
        }
        test_note("p %g", norms[norm]);
        for (int i = 0; i < 2; i++) {
            memset(&budgets[i], 0, sizeof budgets[i]);
            assert_ok(made.context, nadir_lmo_device_solve(made.context, &made.remote, &made.order, made.d,
                                                           radii[norm], &budgets[i], &found));
            assert_ok(made.context, nadir_lmo_device_kernel(made.context, &made.remote, &kernels[i]));
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
        teardown(&made);
    }
}

/* P . g - min g of a row, from the numbers of a kernel; p: [states] room. */
static double row_slack(const fixture *made, const nadir_perturbed *perturbed, int64_t row, double range,
                        const double *x, double tau, double *p)
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
    fixture made = {0};
    nadir_kernel *kernel = NULL;
    nadir_lmo_budget budget = {0};
    double slack[2];
    double tau[2];
    double range[2];
    bool found;
    bool done;
    (void)state;
    setup(2, STATES, MOST, &made);
    if (made.remote.step == NULL) {
        teardown(&made);
        skip();
        return;
    }
    double *x = test_new(2 * STATES, sizeof *x);
    double *p = test_new(STATES, sizeof *p);
    for (int other = 0; other < 2; other++) {
        set_values(&made, other == 0 ? ANYHOW : TIED);
        assert_ok(made.context, nadir_lmo_device_solve(made.context, &made.remote, &made.order, made.d, 0.3,
                                                       &budget, &found));
        assert_true(found);
        if (other == 0) {
            assert_ok(made.context, nadir_lmo_device_kernel(made.context, &made.remote, &kernel));
        }
        tau[other] = 1.5 * budget.tau;
        range[other] = made.order.range;
        memcpy(x + other * STATES, made.order.x, STATES * sizeof *x);
        assert_ok(made.context, nadir_lmo_device_slack(made.context, &made.remote, kernel, range[other],
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
    teardown(&made);
}

/* Balls in which every row can be settled, and values that are all the same. */
static void test_nothing_found(void **state)
{
    static const double norms[] = {1, 2};
    (void)state;
    for (int norm = 0; norm < 2; norm++) {
        fixture made = {0};
        nadir_lmo_budget budget;
        bool found = true;
        setup(norms[norm], STATES, MOST, &made);
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

/* p = infinity in a ball that does not matter: all mass goes to the smallest value. */
static void test_capped_settled(void **state)
{
    fixture made = {0};
    nadir_lmo_budget budget;
    nadir_kernel *here = NULL;
    nadir_kernel *there = NULL;
    bool found;
    (void)state;
    setup(INFINITY, STATES, MOST, &made);
    if (made.remote.step == NULL) {
        teardown(&made);
        skip();
        return;
    }
    nadir_lmo_solution *answers = test_new(made.count, sizeof *answers);
    assert_ok(made.context,
              nadir_lmo_solve_all(made.context, &made.rows, made.weights, 1e3, answers, &budget));
    assert_ok(made.context, nadir_lmo_kernel(made.context, &made.rows, answers, &here));
    assert_ok(made.context,
              nadir_lmo_device_solve(made.context, &made.remote, &made.order, made.d, 1e3, &budget, &found));
    assert_true(found);
    assert_ok(made.context, nadir_lmo_device_kernel(made.context, &made.remote, &there));
    assert_ok(made.context, nadir_kernel_device_fetch(made.context, there));
    compare_kernels(&made, here, there);
    nadir_kernel_free(here);
    nadir_kernel_free(there);
    free(answers);
    teardown(&made);
}

/* p = infinity, rows of weight one, each with a ball of its own: what states gain. */
static void test_gains(void **state)
{
    fixture made = {0};
    nadir_lmo_device remote = {0};
    nadir_lmo_budget budget;
    bool found;
    (void)state;
    setup(INFINITY, STATES, MOST, &made);
    assert_ok(made.context, nadir_lmo_device_open(made.context, &made.rows, NADIR_DEVICE_ROWS, GAMMA,
                                                  made.policy->probabilities, &remote));
    if (remote.step == NULL) {
        assert_null(made.context->device);
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
              nadir_lmo_solve_all(made.context, &made.rows, made.weights, 0.001, answers, &budget));
    assert_ok(made.context,
              nadir_lmo_device_solve(made.context, &remote, &made.order, NULL, 0.001, &budget, &found));
    assert_true(found);
    assert_ok(made.context, nadir_lmo_device_gains(made.context, &remote, &made.order, gains));
    for (int64_t s = 0; s < STATES; s++) {
        double wanted = 0;
        for (int64_t row = made.model->state_rows[s]; row < made.model->state_rows[s + 1]; row++) {
            wanted += made.policy->probabilities[row] * answers[row].gain;
        }
        assert_that(fabs(gains[s] - wanted) <= 1e-13, "state %lld: %.17g, not %.17g", (long long)s, gains[s],
                    wanted);
    }
    nadir_lmo_device_close(&remote);
    free(gains);
    free(answers);
    teardown(&made);
}

/* Other norms stay here. */
static void test_other_norms(void **state)
{
    fixture made = {0};
    (void)state;
    setup(1.5, STATES, MOST, &made);
    assert_null(made.remote.step);
    teardown(&made);
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
