/*
 * test_response_inexact.c: inexact responses: their kernel, its gap and Q against exact solves, the systems they
 * solve with another operator as preconditioner, and the optimum found with and without them.
 */
#include "support/support.h"

#include "policy/minmax.h"
#include "search/frank_wolfe.h"
#include "solve/nominal_optimum.h"
#include "solve/value.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 81 };

static nadir_model *generate(nadir_context *context, int64_t states, int64_t actions, uint64_t seed)
{
    nadir_model *model = NULL;
    nadir_generate_settings shape = test_generate_settings();
    shape.states = states;
    shape.actions = actions;
    shape.discount = 0.9;
    shape.seed = seed;
    assert_ok(context, nadir_model_generate(context, "random", &shape, &model));
    return model;
}

/* A policy that prefers some action of each state, and tries others. */
static nadir_policy *make_policy(nadir_context *context, nadir_model *model, nadir_random *random,
                                 double share)
{
    double *chances = test_new(model->rows, sizeof *chances);
    nadir_policy *policy = NULL;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t count = model->state_rows[s + 1] - first;
        memset(chances + first, 0, (size_t)count * sizeof *chances);
        chances[first] = 1 - share;
        chances[first + (int64_t)(nadir_random_uniform(random) * (double)count)] += share;
    }
    assert_ok(context, nadir_policy_create(context, model, chances, &policy));
    free(chances);
    return policy;
}

static double largest_difference(int64_t count, const double *a, const double *b)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(a[i] - b[i]));
    }
    return largest;
}

/* A few steps through the factors of another policy: each call does what it says, and many end where a solve
 * does. */
static void test_approach(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = generate(context, 40, 4, SEED);
    const int64_t n = model->states;
    nadir_random random = test_random(SEED);
    nadir_policy *near = make_policy(context, model, &random, 0.2);
    nadir_policy *policy = make_policy(context, model, &random, 0.4);
    nadir_kernel *kernel = NULL;
    nadir_occupancy *base = NULL;
    nadir_occupancy *other = NULL;
    double *numbers = test_new(4 * n, sizeof *numbers);
    double *x = numbers;
    double *r = numbers + n;
    double *exact = numbers + 2 * n;
    double *image = numbers + 3 * n;
    assert_ok(context, nadir_kernel_create(context, model, &kernel));
    assert_ok(context, nadir_occupancy_create(context, kernel, near, 0.9, "lapack", 0, &base));
    assert_ok(context, nadir_occupancy_perturb(context, base, kernel, policy, &other));
    for (int transposed = 0; transposed < 2; transposed++) {
        double left = 1;
        memset(x, 0, (size_t)n * sizeof *x);
        assert_ok(context,
                  transposed != 0
                      ? nadir_occupancy_solve_transposed(context, other, 1, model->initial, exact, NULL)
                      : nadir_occupancy_solve(context, other, 1, model->initial, exact, NULL));
        for (int i = 0; i < 6; i++) {
            assert_ok(context, nadir_occupancy_solve_partial(context, other, transposed != 0, model->initial,
                                                             1e-3, x, r, &left));
            nadir_average *average = nadir_occupancy_average(other);
            if (transposed != 0) {
                assert_ok(context, nadir_average_multiply_transposed(context, average, 1, x, image));
            } else {
                nadir_average_multiply(context, average, 1, x, image);
            }
            for (int64_t s = 0; s < n; s++) {
                image[s] = model->initial[s] - x[s] + 0.9 * image[s];
            }
            assert_close(largest_difference(n, image, r), 0, 1e-15);
            assert_true(i > 3 || left <= 1e-3);
        }
        assert_close(largest_difference(n, x, exact), 0, 1e-14);
    }
    free(numbers);
    nadir_occupancy_free(context, other);
    nadir_occupancy_free(context, base);
    nadir_kernel_free(kernel);
    nadir_policy_free(near);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* J, v and the gap of an inexact response against those of its kernel, solved exactly; q of every row. */
static void check_inexact(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                          const nadir_response *inexact)
{
    nadir_policy *policy = NULL;
    nadir_candidate exact = {0};
    assert_ok(context, nadir_policy_create(context, model, inexact->policy->probabilities, &policy));
    test_problem made = test_problem_make(context, nadir_model_retain(model), policy, ball, "lapack", 1);
    const nadir_problem *problem = test_problem_view(&made);
    assert_ok(context, nadir_frank_wolfe_run(context, problem, *ball->radius,
                                             inexact->evaluation.candidate.kernel, 1e-9, 0, &exact));
    const double lost = problem->J - exact.J;
    assert_close(inexact->J, exact.J, 1e-4 * lost);
    assert_close(inexact->penalty, lost, 0.3 * lost);
    assert_that(exact.gap <= inexact->error * (1 + 1e-2) + 1e-10 * lost,
                "the gap is %g, its bound %g, the penalty %g", exact.gap, inexact->error, lost);
    assert_that(inexact->error <= 20 * exact.gap + 1e-8 * lost, "the gap is %g, its bound %g", exact.gap,
                inexact->error);
    double *q = test_new(model->rows, sizeof *q);
    nadir_value_q(context, inexact->evaluation.candidate.kernel, 0.9, inexact->v, q);
    for (int64_t row = 0; row < model->rows; row++) {
        assert_close(inexact->q[row], q[row], 1e-12);
    }
    free(q);
    nadir_candidate_clear(context, &exact);
    test_problem_clear(&made);
}

static void test_responses(void **state)
{
    (void)state;
    static const double radii[] = {0.02, 0.2, 0.6};
    for (int i = 0; i < 6; i++) {
        nadir_context *context = test_context();
        nadir_model *model = generate(context, 30, 4, SEED + (uint64_t)i);
        const nadir_domain domain = i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        double *scales = test_new(model->rows, sizeof *scales);
        nadir_random random = test_random(SEED + (uint64_t)i);
        for (int64_t row = 0; row < model->rows; row++) {
            scales[row] = row % 7 == 0 ? 0 : 0.5 + nadir_random_uniform(&random);
        }
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, &radii[i / 2], i < 3 ? scales : NULL);
        nadir_minmax minmax = {.model = model, .ball = &ball, .backend = "lapack", .iterations_limit = 1000};
        nadir_response first = {0};
        test_note("seed %d, %s", SEED + i, test_ball_name(&ball));
        nadir_policy *start = make_policy(context, model, &random, 0.1);
        assert_ok(context, nadir_response_find(context, &minmax, start, NULL, NULL, 1e-6, &first));
        assert_true(nadir_response_allows_inexact(&first));
        assert_null(nadir_minmax_base(&minmax));
        assert_ok(context, nadir_minmax_prepare(context, &minmax, &first));
        for (int step = 0; step < 4; step++) {
            nadir_response inexact = {0};
            nadir_policy *policy = make_policy(context, model, &random, 0.1 + 0.05 * step);
            assert_ok(context,
                      nadir_response_find_inexact(context, &minmax, policy, first.v, first.d, &inexact));
            check_inexact(context, model, &ball, &inexact);
            nadir_response_recycle(context, &minmax, &inexact);
            nadir_policy_free(policy);
        }
        assert_int_equal(minmax.evaluations, 5);
        nadir_response_clear(context, &first);
        nadir_minmax_clear(context, &minmax);
        nadir_policy_free(start);
        free(scales);
        nadir_model_free(model);
        nadir_context_free(context);
    }
    test_note_clear();
}

/* With inexact responses and without: one optimum, and each one's upper bound is above what the other attains. */
static void test_same_optimum(void **state)
{
    static const double radii[] = {0.01, 0.1, 0.3, 0.5, 1};
    nadir_context *context = *state;
    for (int i = 0; i < (test_memcheck() ? 2 : 10); i++) {
        nadir_model *model = generate(context, 25, 4, SEED + (uint64_t)i);
        const nadir_ball ball =
            test_ball(NADIR_SET_NONRECT, i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT, 2,
                      &radii[i % 5], NULL);
        nadir_robust_optimum_result found[2];
        test_note("seed %d, %s", SEED + i, test_ball_name(&ball));
        for (int j = 0; j < 2; j++) {
            nadir_policy *policy = NULL;
            nadir_robust_optimum_settings settings = test_robust_optimum_settings();
            settings.method = j == 0 ? "auto" : "spectral";
            found[j] = (nadir_robust_optimum_result){.size = sizeof *found};
            assert_ok(context,
                      nadir_robust_optimum(context, model, &ball, &settings, &policy, &found[j], NULL, NULL));
            nadir_policy_free(policy);
        }
        const double scale = fabs(found[1].nominal_optimum);
        assert_close(found[0].robust_return, found[1].robust_return, 1e-6 * scale);
        assert_close(found[0].initial_robust_return, found[1].initial_robust_return, 1e-6 * scale);
        for (int j = 0; j < 2; j++) {
            assert_string_equal(found[j].stop_reason, "gap");
            assert_true(found[j].optimality_upper_bound >= found[1 - j].robust_return);
            assert_true(found[j].optimality_upper_bound - found[j].robust_return <= 1e-6 * scale);
        }
        nadir_model_free(model);
    }
}

/* The optimum through the factors of another kernel, and the factors that the nominal optimum leaves. */
static void test_near_optimum(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = generate(context, 40, 4, SEED);
    nadir_random random = test_random(SEED);
    nadir_policy *near = make_policy(context, model, &random, 0.5);
    nadir_policy *policies[3] = {NULL};
    nadir_kernel *kernel = NULL;
    nadir_occupancy *base = NULL;
    nadir_occupancy *kept = NULL;
    nadir_optimum_result results[3];
    double *values = test_new(2 * model->states, sizeof *values);
    nadir_optimum_settings settings = test_optimum_settings();
    assert_ok(context, nadir_kernel_create(context, model, &kernel));
    assert_ok(context, nadir_occupancy_create(context, kernel, near, 0.9, "lapack", 0, &base));
    assert_ok(context, nadir_optimum_warm_started(context, kernel, 0.9, &settings, NULL, NULL, NULL, NULL,
                                                  &policies[0], &results[0]));
    assert_ok(context, nadir_optimum_warm_started(context, kernel, 0.9, &settings, base, NULL, NULL, values,
                                                  &policies[1], &results[1]));
    results[2] = (nadir_optimum_result){.size = sizeof *results};
    assert_ok(context,
              nadir_optimum_with_operator(context, model, &settings, &policies[2], &results[2], &kept));
    for (int i = 1; i < 3; i++) {
        assert_memory_equal(policies[i]->probabilities, policies[0]->probabilities,
                            (size_t)model->rows * sizeof(double));
        assert_true(results[i].lower_bound <= results[0].upper_bound &&
                    results[0].lower_bound <= results[i].upper_bound);
        assert_close(results[i].nominal_optimum, results[0].nominal_optimum,
                     1e-9 * fabs(results[0].nominal_optimum));
    }
    assert_non_null(kept);
    double *R = values + model->states;
    nadir_accuracy accuracy;
    nadir_average_rewards(model, policies[2], R);
    assert_ok(context, nadir_occupancy_solve(context, kept, 1, R, R, &accuracy));
    assert_close(largest_difference(model->states, R, values), 0, 1e-7);
    assert_true(accuracy.error_bound < 1e-11);
    free(values);
    for (int i = 0; i < 3; i++) {
        nadir_policy_free(policies[i]);
    }
    nadir_occupancy_free(context, kept);
    nadir_occupancy_free(context, base);
    nadir_kernel_free(kernel);
    nadir_policy_free(near);
    nadir_model_free(model);
}

/* What is known of the rows at the start saves looks at them, and changes nothing: neither a pass nor the
 * optimum, however much more than q it is in rows that are not the best. */
static void check_known_rows(nadir_context *context, int run)
{
    nadir_model *model = generate(context, 30, 5, SEED + (uint64_t)run);
    nadir_policy *policies[2] = {NULL};
    nadir_kernel *kernel = NULL;
    nadir_optimum_result results[2];
    nadir_bellman_pass passes[2];
    const int64_t states = model->states;
    double *values = test_new(4 * states, sizeof *values);
    double *q = test_new(model->rows, sizeof *q);
    int64_t *choices = test_new(2 * states, sizeof *choices);
    nadir_optimum_settings settings = test_optimum_settings();
    assert_ok(context, nadir_kernel_create(context, model, &kernel));
    assert_ok(context, nadir_optimum_warm_started(context, kernel, 0.9, &settings, NULL, NULL, NULL, values,
                                                  &policies[0], &results[0]));
    for (int64_t s = 0; s < states; s++) {
        values[s] += 0.01 * (run % 4) * sin((double)(s * (run + 1)));
    }
    nadir_value_q(context, kernel, 0.9, values, q);
    for (int64_t s = 0; s < states; s++) {
        double best = -INFINITY;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            best = fmax(best, q[row]);
        }
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            q[row] += 0.5 * (best - q[row]);
        }
        choices[s] = model->state_rows[s] + s % 5;
        choices[states + s] = choices[s];
    }
    for (int i = 0; i < 2; i++) {
        nadir_bellman_maximise(context, kernel, 0.9, values, 0, i == 0 ? NULL : q, 1e-12,
                               choices + i * states, values + (2 + i) * states, &passes[i]);
    }
    assert_memory_equal(choices, choices + states, (size_t)states * sizeof *choices);
    assert_memory_equal(values + 2 * states, values + 3 * states, (size_t)states * sizeof *values);
    assert_true(passes[0].highest == passes[1].highest && passes[0].lowest == passes[1].lowest);
    assert_ok(context, nadir_optimum_warm_started(context, kernel, 0.9, &settings, NULL, values, q, values,
                                                  &policies[1], &results[1]));
    assert_memory_equal(policies[1]->probabilities, policies[0]->probabilities,
                        (size_t)model->rows * sizeof(double));
    assert_close(results[1].nominal_optimum, results[0].nominal_optimum,
                 1e-9 * fabs(results[0].nominal_optimum));
    assert_true(results[1].upper_bound >= results[0].lower_bound);
    nadir_policy_free(policies[0]);
    nadir_policy_free(policies[1]);
    free(values);
    free(q);
    free(choices);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
}

static void test_known_rows(void **state)
{
    nadir_context *context = *state;
    for (int run = 0; run < 20; run++) {
        test_note("seed %d", (int)SEED + run);
        check_known_rows(context, run);
    }
}

static nadir_status attempt(nadir_context *context, const void *of)
{
    (void)of;
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_robust_optimum_result result = {.size = sizeof result};
    const double radius = 0.3;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    nadir_generate_settings shape = test_generate_settings();
    shape.states = 5;
    shape.actions = 2;
    shape.discount = 0.9;
    nadir_status status = nadir_model_generate(context, "random", &shape, &model);
    if (status == NADIR_OK) {
        status = nadir_robust_optimum(context, model, &ball, NULL, &policy, &result, NULL, NULL);
    }
    nadir_policy_free(policy);
    nadir_model_free(model);
    return status;
}

static void test_scarce_memory(void **state)
{
    (void)state;
    if (!test_memcheck()) {
        test_run_out(attempt, NULL, NULL, "the robust optimum");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_approach),     cmocka_unit_test(test_responses),
        test_with_context(test_same_optimum), test_with_context(test_near_optimum),
        test_with_context(test_known_rows),   cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
