/*
 * test_gradient.c: the gradient of the robust return: both ways of computing it against finite differences of
 * the return that the evaluation finds, against each other, and where everything is degenerate.
 */
#include "support/support.h"

#include "support/generated.h"
#include "support/golden.h"
#include "support/miniature.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/scarce.h"
#include "support/small_model.h"
#include "support/tiny.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
static const nadir_domain domains[] = {NADIR_DOMAIN_FREE, NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT};
static const double norms[] = {1, 1.5, 2, INFINITY};

/* Every action has a chance that is not small. [rows], to be freed. */
static double *draw_policy(nadir_random *random, const nadir_model_data *view)
{
    double *pi = test_new(view->rows, sizeof *pi);
    for (int64_t s = 0; s < view->states; s++) {
        double sum = 0;
        for (int64_t row = view->state_rows[s]; row < view->state_rows[s + 1]; row++) {
            pi[row] = 0.3 + nadir_random_uniform(random);
            sum += pi[row];
        }
        for (int64_t row = view->state_rows[s]; row < view->state_rows[s + 1]; row++) {
            pi[row] /= sum;
        }
    }
    return pi;
}

/* As accurate as it gets: an error of the kernel that hardly shows in the return shows in the gradient. */
static nadir_robust_settings accurate(bool optimistic)
{
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_OFF;
    settings.tolerance = 1e-15;
    settings.optimistic = optimistic;
    return settings;
}

static double return_of(nadir_context *context, nadir_model *model, const double *pi, const nadir_ball *ball,
                        bool optimistic, nadir_worst **worst)
{
    const nadir_robust_settings settings = accurate(optimistic);
    nadir_policy *policy = NULL;
    assert_ok(context, nadir_policy_create(context, model, pi, &policy));
    nadir_solver *solver = test_solver(context, model, policy);
    const nadir_robust result = test_robust(context, solver, ball, &settings, worst);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    return result.robust_return;
}

static double largest(int64_t count, const double *x)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        most = fmax(most, fabs(x[i]));
    }
    return most;
}

/* (J(pi + h t) - J(pi - h t)) / 2 h for t from the first action of a state to another. */
static void check_differences(nadir_context *context, nadir_model *model, double *pi, const nadir_ball *ball,
                              bool optimistic, const double *gradient)
{
    const nadir_model_data view = test_view(model);
    const double scale = largest(view.rows, gradient);
    const double h = 2e-5;
    for (int64_t s = 0; s < view.states; s++) {
        const int64_t first = view.state_rows[s];
        for (int64_t row = first + 1; row < view.state_rows[s + 1]; row++) {
            const double kept[2] = {pi[first], pi[row]};
            pi[first] = kept[0] - h;
            pi[row] = kept[1] + h;
            const double there = return_of(context, model, pi, ball, optimistic, NULL);
            pi[first] = kept[0] + h;
            pi[row] = kept[1] - h;
            const double back = return_of(context, model, pi, ball, optimistic, NULL);
            pi[first] = kept[0];
            pi[row] = kept[1];
            const double difference = (there - back) / (2 * h);
            const double expected = gradient[row] - gradient[first];
            assert_that(fabs(difference - expected) <= 1e-6 * scale,
                        "row %lld: a difference of %.12g, the gradient has %.12g", (long long)row, difference,
                        expected);
        }
    }
}

static void check_ball(nadir_context *context, nadir_model *model, double *pi, const nadir_ball *ball,
                       bool optimistic)
{
    const nadir_model_data view = test_view(model);
    double *gradient = test_new(view.rows, sizeof *gradient);
    double *nominal = test_new(view.rows, sizeof *nominal);
    nadir_worst *worst = NULL;
    (void)return_of(context, model, pi, ball, optimistic, &worst);
    assert_ok(context, nadir_worst_gradient(context, worst, gradient));
    check_differences(context, model, pi, ball, optimistic, gradient);
    const nadir_status status = nadir_worst_gradient_nominal(context, worst, nominal);
    if (ball->domain == NADIR_DOMAIN_FREE || status == NADIR_OK) {
        assert_ok(context, status);
        const double scale = largest(view.rows, gradient);
        for (int64_t row = 0; row < view.rows; row++) {
            assert_that(fabs(gradient[row] - nominal[row]) <= 1e-10 * scale,
                        "row %lld: %.17g, in nominal terms %.17g", (long long)row, gradient[row],
                        nominal[row]);
        }
    } else {
        assert_fails(context, status, NADIR_ERROR_UNSUPPORTED, "not of the form Phat - b k^T");
    }
    nadir_worst_free(worst);
    free(gradient);
    free(nominal);
}

/* Sparse and dense, ragged, with and without scales. */
static void gradients_are_finite_differences(void **state)
{
    nadir_context *context = *state;
    for (uint64_t seed = 1; seed <= (uint64_t)test_often(40); seed++) {
        nadir_random random = test_random(seed);
        nadir_model *model = test_tiny_model(context, &random, 6, seed % 2 ? 0.9 : 0.7, seed % 2 ? 0.6 : 1);
        const nadir_model_data view = test_view(model);
        double *pi = draw_policy(&random, &view);
        double *scales = seed % 4 < 2 ? NULL : test_tiny_scales(&random, model);
        const double radius = 0.04;
        for (int i = 0; i < 3 * 3 * 4; i++) {
            const nadir_ball ball = test_ball(sets[i % 3], domains[i / 3 % 3], norms[i / 9], &radius, scales);
            const bool optimistic = (seed + (uint64_t)i) % 3 == 0;
            test_note("seed %llu, %s%s", (unsigned long long)seed, test_ball_name(&ball),
                      optimistic ? ", best case" : "");
            check_ball(context, model, pi, &ball, optimistic);
        }
        free(scales);
        free(pi);
        nadir_model_free(model);
    }
}

/* d_P(s) (R(s, a) + gamma P_sa . v_P) of a kernel [rows * states], naively: [rows]. To be freed. */
static double *naive(const nadir_model *model, const double *pi, const double *kernel)
{
    const nadir_model_data view = test_view(model);
    const int64_t n = view.states;
    double *gradient = test_new(view.rows, sizeof *gradient);
    double *R = test_new(n, sizeof *R);
    long double *v = test_new(n, sizeof *v);
    long double *d = test_new(n, sizeof *d);
    long double *average = test_dense_average(model, kernel, pi);
    test_system system = test_system_make(n, average, view.discount);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            R[s] += pi[row] * view.rewards[row];
        }
    }
    test_system_solve(&system, false, R, v);
    test_system_solve(&system, true, view.initial, d);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            long double next = 0;
            for (int64_t t = 0; t < n; t++) {
                next += kernel[row * n + t] * v[t];
            }
            gradient[row] = (double)(d[s] * (view.rewards[row] + view.discount * next));
        }
    }
    test_system_clear(&system);
    free(average);
    free(R);
    free(v);
    free(d);
    return gradient;
}

/* Both ways, where there are two, are what the definition says of the kernel found. */
static void check_definition(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                             const nadir_ball *ball)
{
    const nadir_model_data view = test_view(model);
    const nadir_robust_settings settings = accurate(false);
    nadir_solver *solver = test_solver(context, model, policy);
    nadir_robust result = {.size = sizeof result};
    nadir_worst *worst = NULL;
    const nadir_status status = nadir_solver_robust(context, solver, ball, &settings, &result, &worst);
    if (status == NADIR_OK) {
        double *kernel = test_worst_kernel(context, model, worst);
        double *expected = naive(model, nadir_policy_probabilities(policy), kernel);
        double *gradient = test_new(view.rows, sizeof *gradient);
        const double tolerance = 1e-10 * fmax(largest(view.rows, expected), 1);
        for (int way = 0; way < 2; way++) {
            const nadir_status done = way == 0 ? nadir_worst_gradient(context, worst, gradient)
                                               : nadir_worst_gradient_nominal(context, worst, gradient);
            if (way == 1 && ball->domain != NADIR_DOMAIN_FREE && done == NADIR_ERROR_UNSUPPORTED) {
                continue;
            }
            assert_ok(context, done);
            for (int64_t row = 0; row < view.rows; row++) {
                assert_that(fabs(gradient[row] - expected[row]) <= tolerance,
                            "way %d, row %lld: %.17g, expected %.17g", way, (long long)row, gradient[row],
                            expected[row]);
            }
        }
        free(gradient);
        free(expected);
        free(kernel);
    } else {
        assert_int_equal(status, NADIR_ERROR_ILL_POSED); /* past breakdown */
        assert_int_equal(ball->domain, NADIR_DOMAIN_FREE);
    }
    nadir_worst_free(worst);
    nadir_solver_free(solver);
}

/* Absorbing, chains, hubs, discounts from 0 to 0.99, deterministic policies, pinned rows, one state to reach.
 */
static void gradients_are_what_their_definition_says(void **state)
{
    nadir_context *context = *state;
    for (uint64_t seed = 1; seed <= (uint64_t)test_often(60); seed++) {
        nadir_random random = test_random(seed);
        test_miniature tiny = test_miniature_make(context, &random, 6);
        const double radius = 0.002 + 0.1 * nadir_random_uniform(&random);
        for (int i = 0; i < 3 * 3 * 4; i++) {
            const nadir_ball ball = test_ball(sets[i % 3], domains[i / 3 % 3], norms[i / 9], &radius, NULL);
            test_note("seed %llu, %s, %s", (unsigned long long)seed, tiny.name, test_ball_name(&ball));
            check_definition(context, tiny.model, tiny.policy, &ball);
        }
        test_miniature_clear(&tiny);
    }
}

/* Where the adversary has no choice: the gradient of the nominal return. */
static void check_nominal(nadir_context *context, nadir_model *model, const double *scales, double radius)
{
    const nadir_model_data view = test_view(model);
    nadir_policy *policy = test_uniform_policy(context, model);
    double *kernel = test_dense_kernel(model);
    double *expected = naive(model, nadir_policy_probabilities(policy), kernel);
    double *gradient = test_new(view.rows, sizeof *gradient);
    const double tolerance = 1e-12 * largest(view.rows, expected);
    for (int i = 0; i < 3 * 3 * 4; i++) {
        const nadir_ball ball = test_ball(sets[i % 3], domains[i / 3 % 3], norms[i / 9], &radius, scales);
        nadir_solver *solver = test_solver(context, model, policy);
        nadir_worst *worst = NULL;
        test_note("%s", test_ball_name(&ball));
        (void)test_robust(context, solver, &ball, NULL, &worst);
        for (int way = 0; way < 2; way++) {
            assert_ok(context, way == 0 ? nadir_worst_gradient(context, worst, gradient)
                                        : nadir_worst_gradient_nominal(context, worst, gradient));
            for (int64_t row = 0; row < view.rows; row++) {
                assert_that(fabs(gradient[row] - expected[row]) <= tolerance,
                            "way %d, row %lld: %.17g, expected %.17g", way, (long long)row, gradient[row],
                            expected[row]);
            }
        }
        nadir_worst_free(worst);
        nadir_solver_free(solver);
    }
    test_note_clear();
    free(gradient);
    free(expected);
    free(kernel);
    nadir_policy_free(policy);
}

static void an_idle_adversary_leaves_the_nominal_gradient(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_golden_model(context, &test_goldens[0], false);
    double *zeros = test_new(24, sizeof *zeros);
    check_nominal(context, model, NULL, 0);
    check_nominal(context, model, zeros, 0.3);
    free(zeros);
    nadir_model_free(model);
    nadir_random random = test_random(3);
    model = test_tiny_model(context, &random, 1, 0.9, 1); /* one state */
    check_nominal(context, model, NULL, 0.3);
    nadir_model_free(model);
}

/* One action a state: pi . gradient = sum over s of d(s) v(s) is all there is. */
static void one_action_has_a_gradient_too(void **state)
{
    nadir_context *context = *state;
    test_small_model small;
    test_small_set(&small);
    nadir_model *model = test_small_accept(context, &small);
    nadir_policy *policy = test_uniform_policy(context, model);
    const double radius = 0.05;
    for (int i = 0; i < 3 * 3 * 4; i++) {
        const nadir_ball ball = test_ball(sets[i % 3], domains[i / 3 % 3], norms[i / 9], &radius, NULL);
        test_note("%s", test_ball_name(&ball));
        check_definition(context, model, policy, &ball);
    }
    test_note_clear();
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* of: the domain. */
static nadir_status evaluate_and_differentiate(nadir_context *context, nadir_solver *solver, const void *of)
{
    const nadir_domain domain = *(const nadir_domain *)of;
    nadir_worst *worst = NULL;
    nadir_robust result = {.size = sizeof result};
    const nadir_robust_settings settings = accurate(false);
    const double radius = 0.01;
    const nadir_ball ball = test_ball(NADIR_SET_SA, domain, 2, &radius, NULL);
    double gradient[20]; /* rows of the model */
    nadir_status status = nadir_solver_robust(context, solver, &ball, &settings, &result, &worst);
    if (status == NADIR_OK) {
        status = nadir_worst_gradient(context, worst, gradient);
    }
    if (status == NADIR_OK && domain == NADIR_DOMAIN_FREE) {
        status = nadir_worst_gradient_nominal(context, worst, gradient);
    }
    nadir_worst_free(worst);
    return status;
}

static nadir_status attempt(nadir_context *context, const void *of)
{
    return test_generate_and_ask(context, "machine", NULL, evaluate_and_differentiate, of);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    test_run_out(attempt, &(nadir_domain){NADIR_DOMAIN_FREE}, NULL, "free");
    test_run_out(attempt, &(nadir_domain){NADIR_DOMAIN_SIMPLEX}, NULL, "simplex");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(gradients_are_finite_differences),
        test_with_context(gradients_are_what_their_definition_says),
        test_with_context(an_idle_adversary_leaves_the_nominal_gradient),
        test_with_context(one_action_has_a_gradient_too),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
