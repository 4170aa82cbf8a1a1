/* test_rank_one_check.c: kernels Phat - b k^T: norm, row sums, smallest entry, and bounds on their return. */
#include "support/support.h"

#include "model/kernel.h"
#include "proof/rank_one_check.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/norms.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The kernel of a pair, in a ball that holds any. */
static nadir_status check_pair(nadir_context *context, const nadir_problem *problem, const double *c,
                               const double *k, nadir_rank_one_check *check)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *kernel = NULL;
    double *b = NULL;
    NADIR_NEW(context, b, problem->rows);
    nadir_rank_one_states_expand(problem, c, b);
    NADIR_CHECK(nadir_kernel_create_rank_one(context, problem->model, b, k, &kernel));
    const nadir_rank_one_question question = {.kernel = kernel, .factor = 1e300};
    NADIR_CHECK(nadir_rank_one_check_kernel(context, problem, &question, check));
cleanup:
    nadir_release(context, b);
    nadir_kernel_free(kernel);
    return status;
}

#define SEED 31337

/* A problem with a pair (c, k), and the kernel written out. */
typedef struct instance {
    nadir_context *context;
    test_problem made;
    const nadir_problem *problem;
    double *scales; /* [rows] */
    double *c, *k;  /* [states] */
    double *b;      /* [rows] */
} instance;

/* beta: |c|_p; plain: without scales. */
static void instance_make_as(instance *at, bool plain, nadir_context *context, nadir_model *model,
                             nadir_policy *policy, double p, double beta, nadir_random *random)
{
    const int64_t n = model->states;
    *at = (instance){.context = context};
    at->scales = test_new(model->rows, sizeof *at->scales);
    for (int64_t row = 0; row < model->rows; row++) {
        at->scales[row] = plain                                ? 1
                          : nadir_random_below(random, 4) == 0 ? 0
                                                               : 0.1 + nadir_random_uniform(random);
    }
    const nadir_ball ball =
        test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, p, &beta, plain ? NULL : at->scales);
    at->made = test_problem_make(context, model, policy, &ball, NULL, 1);
    at->problem = test_problem_view(&at->made);
    at->c = test_new(n, sizeof *at->c);
    at->k = test_new(n, sizeof *at->k);
    at->b = test_new(model->rows, sizeof *at->b);
    double mean = 0;
    for (int64_t s = 0; s < n; s++) {
        at->c[s] = nadir_random_normal(random);
        at->k[s] = nadir_random_normal(random);
        mean += at->k[s] / (double)n;
    }
    const long double c_size = test_norm(n, at->c, 0, p);
    const long double k_size = test_norm(n, at->k, mean, p);
    for (int64_t s = 0; s < n; s++) {
        at->c[s] = (double)(beta * at->c[s] / c_size);
        at->k[s] = k_size > 0 ? (double)((at->k[s] - mean) / k_size) : 0;
    }
    nadir_rank_one_states_expand(at->problem, at->c, at->b);
}

static void instance_make(instance *at, nadir_context *context, nadir_model *model, nadir_policy *policy,
                          double p, double beta, nadir_random *random)
{
    instance_make_as(at, false, context, model, policy, p, beta, random);
}

static void instance_clear(instance *at)
{
    free(at->scales);
    free(at->c);
    free(at->k);
    free(at->b);
    test_problem_clear(&at->made);
}

/* sum of pi (Phat - b k^T), in long double; [states * states]. To be freed. */
static long double *average_of(const instance *at)
{
    const nadir_problem *problem = at->problem;
    const int64_t n = problem->states;
    double *nominal = test_dense_kernel(problem->model);
    long double *average = test_dense_average(problem->model, nominal, problem->policy->probabilities);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            const long double weight = problem->policy->probabilities[row];
            for (int64_t t = 0; t < n; t++) {
                average[s * n + t] -= weight * (long double)at->b[row] * (long double)at->k[t];
            }
        }
    }
    free(nominal);
    return average;
}

/* The return of the kernel in long double, and the condition of its system. */
static long double return_of(const instance *at, double *condition)
{
    const nadir_problem *problem = at->problem;
    const int64_t n = problem->states;
    long double *average = average_of(at);
    test_system system = test_system_make(n, average, problem->gamma);
    double *side = test_new(n, sizeof *side);
    long double *column = test_new(n, sizeof *column);
    long double J = 0;
    for (int64_t s = 0; s < n; s++) {
        long double R = 0;
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            R += (long double)problem->policy->probabilities[row] * (long double)problem->rewards[row];
        }
        side[s] = 1;
        test_system_solve(&system, false, side, column);
        side[s] = 0;
        for (int64_t t = 0; t < n; t++) {
            J += (long double)problem->mu[t] * column[t] * R;
        }
    }
    *condition = test_system_condition(&system);
    free(column);
    free(side);
    test_system_clear(&system);
    free(average);
    return J;
}

static double brute_minimum(const instance *at)
{
    const int64_t n = at->problem->states;
    double *nominal = test_dense_kernel(at->problem->model);
    double smallest = INFINITY;
    for (int64_t i = 0; i < at->problem->rows * n; i++) {
        smallest = fmin(smallest, nominal[i] - at->b[i / n] * at->k[i % n]);
    }
    free(nominal);
    return smallest;
}

static void check_measures(const instance *at, double beta, const nadir_rank_one_check *check)
{
    const nadir_problem *problem = at->problem;
    const long double p = problem->uncertainty->p;
    long double power = 0;
    long double sum = 0;
    long double largest = 0;
    for (int64_t t = 0; t < problem->states; t++) {
        sum += (long double)at->k[t];
    }
    for (int64_t row = 0; row < problem->rows; row++) {
        const long double b = fabsl((long double)at->b[row]);
        const long double scaled = b > 0 ? b / (long double)at->scales[row] : 0;
        power = isinf(p) ? fmaxl(power, scaled) : power + powl(scaled, p);
        largest = fmaxl(largest, b);
    }
    const long double norm =
        (isinf(p) ? power : powl(power, 1 / p)) * test_norm(problem->states, at->k, 0, p);
    assert_precise((long double)check->norm >= norm, "norm %.17g below %.17Lg", check->norm, norm);
    assert_that(check->norm <= (double)norm * (1 + 1e-13) && check->norm <= beta * (1 + 1e-12), "norm %.17g",
                check->norm);
    assert_precise((long double)check->row_sum >= largest * fabsl(sum), "row sum %g", check->row_sum);
    assert_that(check->row_sum <= (double)largest * 1e-14 * (1 + (double)problem->states), "row sum %g",
                check->row_sum);
    assert_that(check->minimum == brute_minimum(at), "minimum %.17g instead of %.17g", check->minimum,
                brute_minimum(at));
}

static void check_return(const instance *at, const nadir_rank_one_check *check)
{
    double condition;
    const long double J = return_of(at, &condition);
    assert_precise((long double)check->lower <= J && J <= (long double)check->upper,
                   "%.17Lg outside of [%.17g, %.17g]", J, check->lower, check->upper);
    const double size = fmax(fabs(check->lower), (double)fabsl(J));
    assert_that(check->upper - check->lower <= 1e-11 * fmax(size, 1) * fmax(condition, 1), "width %g",
                check->upper - check->lower);
}

static void check_instance(const instance *at, double beta)
{
    nadir_rank_one_check check;
    assert_ok(at->context, check_pair(at->context, at->problem, at->c, at->k, &check));
    check_measures(at, beta, &check);
    check_return(at, &check);
}

/* Kernels given by c, with scales and without: the same answers. */
static void test_pairs(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < TEST_FAMILIES * TEST_CHOICES * 2; i++) {
        const int family = i / (2 * TEST_CHOICES);
        const double beta = i % 3 == 0 ? 0.01 : 0.3;
        instance at;
        nadir_random random = test_random(SEED + (uint64_t)i);
        nadir_model *model = test_families[family].make(context, &random);
        nadir_policy *policy = test_policy(context, model, (test_choice)(i / 2 % TEST_CHOICES), &random);
        instance_make_as(&at, i % 2 == 0, context, model, policy, 2, beta, &random);
        test_note("%s, beta %g, seed %d", test_families[family].name, beta, SEED + i);
        const nadir_rank_one_question question = {.c = at.c, .k = at.k, .factor = 1 + 1e-12};
        nadir_rank_one_check check;
        assert_ok(context, nadir_rank_one_check_kernel(context, at.problem, &question, &check));
        nadir_rank_one_states_expand(at.problem, at.c, at.b);
        check_measures(&at, beta, &check);
        check_return(&at, &check);
        instance_clear(&at);
    }
}

static void test_every_family(void **state)
{
    static const double exponents[] = {2, 1, 1.5, 3, INFINITY};
    nadir_context *context = *state;
    for (int i = 0; i < TEST_FAMILIES * TEST_CHOICES * 2; i++) {
        const int family = i / (2 * TEST_CHOICES);
        const double p = exponents[i % 5];
        const double beta = i % 2 == 0 ? 0.01 : 0.3;
        instance at;
        nadir_random random = test_random(SEED + (uint64_t)i);
        nadir_model *model = test_families[family].make(context, &random);
        nadir_policy *policy = test_policy(context, model, (test_choice)(i / 2 % TEST_CHOICES), &random);
        instance_make(&at, context, model, policy, p, beta, &random);
        test_note("%s, p=%g, beta %g, seed %d", test_families[family].name, p, beta, SEED + i);
        check_instance(&at, beta);
        instance_clear(&at);
    }
}

/* c = 0 or k = 0: the nominal kernel. */
static void test_nominal_kernel(void **state)
{
    nadir_context *context = *state;
    instance at;
    nadir_random random = test_random(SEED);
    nadir_model *model = test_families[1].make(context, &random);
    instance_make(&at, context, model, test_policy(context, model, TEST_UNIFORM, &random), 2, 0.1, &random);
    for (int i = 0; i < 3; i++) {
        nadir_rank_one_check check;
        memset(at.c, 0, (size_t)(i != 1) * (size_t)model->states * sizeof *at.c);
        memset(at.k, 0, (size_t)(i != 0) * (size_t)model->states * sizeof *at.k);
        assert_ok(context, check_pair(context, at.problem, at.c, at.k, &check));
        assert_true(check.norm == 0 && check.row_sum == 0 && check.minimum == 0);
        assert_true(check.lower <= at.problem->J && at.problem->J <= check.upper);
        assert_that(check.upper - check.lower < 1e-12 * (1 + fabs(at.problem->J)), "width %g",
                    check.upper - check.lower);
    }
    instance_clear(&at);
}

/* Towards 1 + gamma k . v_b = 0 the bounds widen, and past it there are none. */
static void test_towards_breakdown(void **state)
{
    nadir_context *context = *state;
    instance at;
    nadir_random random = test_random(SEED);
    nadir_model *model = test_families[0].make(context, &random);
    instance_make(&at, context, model, test_policy(context, model, TEST_UNIFORM, &random), 2, 1, &random);
    const int64_t n = model->states;
    const nadir_problem *problem = at.problem;
    double *g = test_new(n, sizeof *g);
    for (int64_t s = 0; s < n; s++) {
        g[s] = problem->uncertainty->W[s] * at.c[s];
    }
    assert_ok(context, nadir_occupancy_solve(context, problem->occupancy, 1, g, g, NULL));
    double feedback = 0;
    for (int64_t s = 0; s < n; s++) {
        feedback += problem->gamma * at.k[s] * g[s];
    }
    double *c = test_new(n, sizeof *c);
    memcpy(c, at.c, (size_t)n * sizeof *c);
    for (int i = 0; i < 6; i++) {
        const double short_of = i == 5 ? -0.1 : pow(10, -2 * i);
        nadir_rank_one_check check;
        double condition;
        test_note("denominator %g", short_of);
        for (int64_t s = 0; s < n; s++) {
            at.c[s] = -c[s] / feedback * (1 - short_of);
        }
        nadir_rank_one_states_expand(problem, at.c, at.b);
        assert_ok(context, check_pair(context, problem, at.c, at.k, &check));
        const long double J = return_of(&at, &condition);
        assert_precise((long double)check.lower <= J && J <= (long double)check.upper,
                       "%.17Lg outside of [%.17g, %.17g]", J, check.lower, check.upper);
        assert_true(i == 5 ? isinf(check.lower) && isinf(check.upper)
                           : check.upper - check.lower < 1e-11 / pow(short_of, 3));
    }
    test_note_clear();
    free(c);
    free(g);
    instance_clear(&at);
}

static void test_extremes(void **state)
{
    static const double sizes[] = {1e-150, 1e-9, 1e9, 1e150};
    nadir_context *context = *state;
    for (int i = 0; i < 4; i++) {
        instance at;
        nadir_random random = test_random(SEED);
        nadir_model *base = test_families[0].make(context, &random);
        nadir_model_data data = test_view(base);
        double *rewards = test_new(data.rows, sizeof *rewards);
        for (int64_t row = 0; row < data.rows; row++) {
            rewards[row] = sizes[i] * data.rewards[row];
        }
        data.rewards = rewards;
        data.discount = i % 2 == 0 ? 0.9999 : 0;
        nadir_model *model = test_create_model(context, &data);
        test_note("rewards of %g", sizes[i]);
        instance_make(&at, context, model, test_policy(context, model, TEST_UNIFORM, &random), 2, 1e-3,
                      &random);
        nadir_rank_one_check check;
        double condition;
        assert_ok(context, check_pair(context, at.problem, at.c, at.k, &check));
        const long double J = return_of(&at, &condition);
        assert_precise((long double)check.lower <= J && J <= (long double)check.upper,
                       "%.17Lg outside of [%.17g, %.17g]", J, check.lower, check.upper);
        assert_that(check.upper - check.lower <= 1e-12 * sizes[i] * pow(1 - data.discount, -2), "width %g",
                    check.upper - check.lower);
        instance_clear(&at);
        free(rewards);
        nadir_model_free(base);
    }
}

/* b and k of a kernel, or, from step 1 on, of one near the last one or of quite another. */
static void draw_pair(const nadir_model *model, int i, int step, nadir_random *random, double *b, double *k)
{
    const int power = i / 50 - 6;
    const double size = pow(10, power);
    for (int64_t row = 0; row < model->rows; row++) {
        const double drawn = size * nadir_random_normal(random) * (double)(row % 3 != 1);
        b[row] = i % 7 == 0 ? 0 : step % 3 != 0 ? b[row] * (1.3 + 0.01 * drawn / size) : drawn;
    }
    for (int64_t t = 0; t < model->states; t++) {
        const double drawn = nadir_random_normal(random);
        if (i % 3 == 0) {
            k[t] = (double)nadir_random_below(random, 3) - 1;
        } else {
            k[t] = step % 3 != 0 ? k[t] + 0.05 * drawn : drawn;
        }
    }
}

static double smallest_of(const nadir_model *model, const double *dense, const double *b, const double *k)
{
    const int64_t n = model->states;
    double smallest = INFINITY;
    for (int64_t j = 0; j < model->rows * n; j++) {
        smallest = fmin(smallest, dense[j] - b[j / n] * k[j % n]);
    }
    return smallest;
}

/* All entries positive, few or most of a row to be looked at, ties, b = 0, and rows that store everything; b
 * and k near the last ones or unlike them. */
static void test_minimum(void **state)
{
    enum { STEPS = 6 };
    nadir_context *context = *state;
    for (int i = 0; i < 400; i++) {
        nadir_random random = test_random(SEED + (uint64_t)i);
        nadir_model *model = test_families[i % TEST_FAMILIES].make(context, &random);
        double *dense = test_dense_kernel(model);
        double *b = test_new(model->rows, sizeof *b);
        double *k = test_new(model->states, sizeof *k);
        for (int step = 0; step < STEPS; step++) {
            draw_pair(model, i, step, &random, b, k);
            const double smallest = smallest_of(model, dense, b, k);
            test_note("%s, seed %d, kernel %d", test_families[i % TEST_FAMILIES].name, SEED + i, step);
            double found = NAN;
            assert_ok(context, nadir_rank_one_minimum(context, model, b, k, &found));
            assert_that(found == smallest, "%.17g instead of %.17g", found, smallest);
        }
        free(b);
        free(k);
        free(dense);
        nadir_model_free(model);
    }
}

/* Rows of equal entries, where no bound has anything to spare. */
static void test_minimum_of_equal_entries(void **state)
{
    enum { STEPS = 200 };
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    nadir_random random;
    settings.states = 6;
    settings.actions = 3;
    nadir_model *base = test_generate(context, "random", &settings);
    nadir_model_data data = test_view(base);
    double dense[6 * 18];
    for (int i = 0; i < 6 * 18; i++) {
        dense[i] = 1.0 / 6;
    }
    assert_non_null(data.dense);
    data.dense = dense;
    nadir_model *model = test_create_model(context, &data);
    nadir_random_seed(&random, SEED);
    double b[18];
    double k[6];
    for (int step = 0; step < STEPS; step++) {
        draw_pair(model, 301, step, &random, b, k);
        double found = NAN;
        assert_ok(context, nadir_rank_one_minimum(context, model, b, k, &found));
        const double smallest = smallest_of(model, dense, b, k);
        assert_that(found == smallest, "kernel %d: %.17g instead of %.17g", step, found, smallest);
    }
    nadir_model_free(base);
    nadir_model_free(model);
}

static void test_scarce_memory(void **state)
{
    test_scarce scarce;
    nadir_context *context = test_scarce_context(&scarce);
    instance at;
    (void)state;
    nadir_random random = test_random(SEED);
    nadir_model *model = test_families[0].make(context, &random);
    instance_make(&at, context, model, test_policy(context, model, TEST_UNIFORM, &random), 2, 0.1, &random);
    const int64_t before = scarce.blocks;
    nadir_status status = NADIR_ERROR_MEMORY;
    nadir_rank_one_check check;
    for (int64_t allowed = 0; status != NADIR_OK && allowed < 100; allowed++) {
        scarce.left = allowed;
        status = check_pair(context, at.problem, at.c, at.k, &check);
        assert_true(status == NADIR_OK || status == NADIR_ERROR_MEMORY);
        assert_that(scarce.blocks <= before + 2, "%d blocks", (int)(scarce.blocks - before)); /* work kept */
    }
    assert_int_equal(status, NADIR_OK);
    scarce.left = INT64_MAX;
    instance_clear(&at);
    test_scarce_end(&scarce, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_every_family),
        test_with_context(test_nominal_kernel),
        test_with_context(test_towards_breakdown),
        test_with_context(test_extremes),
        test_with_context(test_minimum),
        test_with_context(test_minimum_of_equal_entries),
        test_with_context(test_pairs),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
