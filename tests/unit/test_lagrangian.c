/* The occupancy-weighted Lagrangian of the non-rectangular ball: fixed points, the best tau, starts. */
#include "support/support.h"

#include "proof/bellman_bound.h"
#include "search/frank_wolfe.h"
#include "search/lagrangian_search.h"
#include "support/families.h"
#include "support/golden.h"
#include "support/penalized.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/tiny.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 2718 };

static const double norms[] = {1, 1.1, 1.5, 2, 3};
enum { NORMS = sizeof norms / sizeof *norms };

/* What rounding is measured against. */
static double scale_of(const nadir_problem *problem)
{
    double largest = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        largest = fmax(largest, fabs(problem->rewards[row]));
    }
    return largest / (1 - problem->gamma);
}

/* A tau that matters, between what moves everything and what moves nothing; sometimes 0. */
static double draw_tau(test_penalized *penalized, nadir_random *random)
{
    const nadir_problem *problem = test_penalized_view(penalized);
    const double sizes[] = {0, 1e-4, 0.01, 0.1, 1, 10};
    return sizes[nadir_random_below(random, 6)] * scale_of(problem) * (0.5 + nadir_random_uniform(random));
}

static void each_case(int rounds, void (*test)(test_penalized *, nadir_random *))
{
    nadir_context *context = test_context();
    nadir_random random = test_random(SEED);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < NORMS; i++) {
            test_penalized penalized = test_penalized_make(context, &random, norms[i], 5);
            test_note("seed %d, round %d, %s", SEED, round, penalized.name);
            test(&penalized, &random);
            test_penalized_clear(&penalized);
        }
    }
    test_note_clear();
    nadir_context_free(context);
}

/* v is the fixed point, the kernel attains it, and what is said of the kernel is so. */
static void check_solution(test_penalized *penalized, const nadir_lagrangian *found)
{
    const nadir_problem *problem = test_penalized_view(penalized);
    const double scale = scale_of(problem);
    double *kernel = test_kernel_entries(penalized->context, found->kernel);
    const double room = pow(penalized->radius, problem->uncertainty->p);
    const double price = fmax(found->tau, 1e-3);
    const long double J = test_penalized_return(penalized, 0, kernel, NULL);
    const long double cost = test_penalized_return(penalized, price, kernel, NULL) - J;
    /* entries are known to a rounding, differences of them to that over their size */
    const double off = 1e-15 * problem->uncertainty->p * (1 + 1 / fmax(1e-6, penalized->radius));
    for (int64_t s = 0; s < problem->states; s++) {
        assert_close(found->v[s] / scale, test_penalized_bellman(penalized, found->tau, found->v, s) / scale,
                     1e-10);
    }
    assert_close(found->used * price / scale, (double)(cost / scale), 1e-10 + off * (double)(cost / scale));
    assert_close(found->value / scale, (double)((J + found->tau * (cost / price - room)) / scale),
                 1e-10 + off * (double)(cost / scale));
    free(kernel);
}

static void solve_test(test_penalized *penalized, nadir_random *random)
{
    const nadir_problem *problem = test_penalized_view(penalized);
    nadir_lagrangian found = {0};
    const double tau = draw_tau(penalized, random);
    for (int64_t s = 0; s < problem->states; s++) { /* any d_bar will do here */
        penalized->d_bar[s] *= nadir_random_uniform(random);
    }
    assert_ok(penalized->context, nadir_lagrangian_solve(penalized->context, problem, penalized->radius,
                                                         penalized->d_bar, tau, &found));
    assert_that(found.iterations <= 12, "%d iterations", (int)found.iterations);
    check_solution(penalized, &found);
    /* from there to another tau and back */
    const double value = found.value;
    assert_ok(penalized->context,
              nadir_lagrangian_solve(penalized->context, problem, penalized->radius, penalized->d_bar,
                                     draw_tau(penalized, random), &found));
    check_solution(penalized, &found);
    assert_ok(penalized->context, nadir_lagrangian_solve(penalized->context, problem, penalized->radius,
                                                         penalized->d_bar, tau, &found));
    assert_close(found.value / scale_of(problem), value / scale_of(problem), 1e-10);
    nadir_lagrangian_clear(penalized->context, &found);
}

static void test_solve(void **state)
{
    (void)state;
    each_case(4, solve_test);
}

/* The fixed point by plain value iteration from the nominal value. */
static void iteration_test(test_penalized *penalized, nadir_random *random)
{
    const nadir_problem *problem = test_penalized_view(penalized);
    const int64_t n = problem->states;
    nadir_lagrangian found = {0};
    if (problem->gamma > 0.6 || n > 3) { /* for the time it takes */
        return;
    }
    double *v = test_new(2 * n, sizeof *v);
    for (int64_t s = 0; s < n; s++) {
        v[s] = problem->v[s];
    }
    const double tau = draw_tau(penalized, random);
    for (int i = 0; i < 36; i++) {
        for (int64_t s = 0; s < n; s++) {
            v[n + s] = test_penalized_bellman(penalized, tau, v, s);
        }
        for (int64_t s = 0; s < n; s++) {
            v[s] = v[n + s];
        }
    }
    assert_ok(penalized->context, nadir_lagrangian_solve(penalized->context, problem, penalized->radius,
                                                         penalized->d_bar, tau, &found));
    for (int64_t s = 0; s < n; s++) {
        assert_close(found.v[s], v[s], 1e-9);
    }
    nadir_lagrangian_clear(penalized->context, &found);
    free(v);
}

static void test_value_iteration(void **state)
{
    (void)state;
    each_case(3, iteration_test);
}

/* Concave in tau: below the tangent of every other tau; and the best is as good as the best of a grid. */
static void concave_test(test_penalized *penalized, nadir_random *random)
{
    enum { TAUS = 9 };
    (void)random;
    nadir_context *context = penalized->context;
    const nadir_problem *problem = test_penalized_view(penalized);
    const double scale = scale_of(problem);
    const double room = pow(penalized->radius, problem->uncertainty->p);
    nadir_lagrangian found = {0};
    double tau[TAUS];
    double value[TAUS];
    double slope[TAUS];
    nadir_lagrangian best = {0};
    assert_ok(context,
              nadir_lagrangian_tau_best(context, problem, penalized->radius, penalized->d_bar, 0, 60, &best));
    for (int i = 0; i < TAUS; i++) {
        tau[i] = i == 0 ? 0 : best.tau < 1e100 ? best.tau * (0.2 * i) : scale * pow(10, i - 3);
        assert_ok(context, nadir_lagrangian_solve(context, problem, penalized->radius, penalized->d_bar,
                                                  tau[i], &found));
        value[i] = found.value;
        slope[i] = found.used - room;
        assert_that(found.value <= best.value + 1e-4 * (problem->J - best.value) + 1e-11 * scale,
                    "%.17g at tau %g, %.17g at the best, %g", found.value, tau[i], best.value, best.tau);
    }
    for (int i = 0; i < TAUS; i++) {
        for (int j = 0; j < TAUS; j++) {
            const double line = value[i] + slope[i] * (tau[j] - tau[i]);
            assert_that(value[j] <= line + 1e-9 * (scale + fabs(line)),
                        "%.17g at tau %g, tangent of %g: %.17g", value[j], tau[j], tau[i], line);
        }
    }
    assert_that(best.evaluations <= 30, "%d evaluations", (int)best.evaluations);
    check_solution(penalized, &best);
    nadir_lagrangian_clear(context, &best);
    nadir_lagrangian_clear(context, &found);
}

static void test_best_tau(void **state)
{
    (void)state;
    each_case(4, concave_test);
}

/* The start lies in the set, on the way from the nominal kernel to that of the bound. */
static void start_test(test_penalized *penalized, nadir_random *random)
{
    nadir_context *context = penalized->context;
    const nadir_problem *problem = test_penalized_view(penalized);
    const int64_t n = problem->states;
    nadir_lagrangian found = {0};
    nadir_kernel *start = NULL;
    const double tau = draw_tau(penalized, random);
    assert_ok(context,
              nadir_lagrangian_solve(context, problem, penalized->radius, penalized->d_bar, tau, &found));
    assert_ok(context, nadir_lagrangian_kernel_in_ball(context, problem, penalized->radius, &found, &start));
    double *kernel = test_kernel_entries(context, start);
    double *far = test_kernel_entries(context, found.kernel);
    double *nominal = test_dense_kernel(problem->model);
    const double t = fmin(1, penalized->radius / found.distance);
    test_assert_in_set(problem, kernel, 1);
    assert_that(test_kernel_minimum(context, start) >= 0, "an entry is negative");
    for (int64_t i = 0; i < problem->rows * n; i++) {
        const double wanted = found.distance > 0 ? nominal[i] + t * (far[i] - nominal[i]) : nominal[i];
        assert_close(kernel[i], wanted, 1e-13);
        assert_that(problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX || nominal[i] > 0 || kernel[i] == 0,
                    "an entry off the support");
    }
    free(kernel);
    free(far);
    free(nominal);
    nadir_kernel_free(start);
    nadir_lagrangian_clear(context, &found);
}

static void test_start(void **state)
{
    (void)state;
    each_case(test_often(40), start_test);
}

/* Aimed at a level the answer's own return is about that, and kernels below the level are as close to it as
 * strong convexity says. */
static void aim_test(test_penalized *penalized, nadir_random *random)
{
    nadir_context *context = penalized->context;
    const nadir_problem *problem = test_penalized_view(penalized);
    const int64_t n = problem->states;
    const double room = penalized->radius * penalized->radius;
    nadir_lagrangian found = {0};
    if (problem->uncertainty->p != 2 || !(penalized->radius > 0)) {
        return;
    }
    assert_ok(context, nadir_lagrangian_tau_best(context, problem, penalized->radius, penalized->d_bar, 0, 20,
                                                 &found));
    const double level = problem->J - (problem->J - found.value) * (0.2 + 0.6 * nadir_random_uniform(random));
    if (!(problem->J - found.value > 1e-6 * scale_of(problem))) {
        nadir_lagrangian_clear(context, &found);
        return;
    }
    assert_ok(context,
              nadir_lagrangian_tau_for_level(context, problem, penalized->radius, penalized->d_bar, level,
                                             fmax(found.tau, 1e-3 * scale_of(problem)), 40, &found));
    const double width = level - found.value;
    double *answer = test_kernel_entries(context, found.kernel);
    const double J = (double)test_penalized_return(penalized, 0, answer, NULL);
    assert_that(fabs(J - level) <= 0.03 * width + 1e-9 * scale_of(problem), "return %.10g, level %.10g", J,
                level);
    test_oracle oracle = test_oracle_make(problem->model, problem->policy, &penalized->ball);
    double *kernel = test_new(problem->rows * n, sizeof *kernel);
    double *d = test_new(n, sizeof *d);
    for (int i = 0; i < 60; i++) {
        test_oracle_random(&oracle, random, kernel);
        if (test_penalized_return(penalized, 0, kernel, d) < level) {
            double sum = 0;
            for (int64_t row = 0; row < problem->rows; row++) {
                const double alpha = nadir_uncertainty_scale(problem->uncertainty, row);
                const int64_t s = nadir_model_row_state(problem->model, row);
                for (int64_t t = 0; t < n && alpha > 0 && penalized->d_bar[s] > 0; t++) {
                    const bool chosen = problem->policy->probabilities[row] > 0;
                    const double far = (kernel[row * n + t] - answer[row * n + t]) / alpha;
                    sum += chosen ? d[s] / penalized->d_bar[s] * far * far : 0;
                }
            }
            assert_that(sum <= width / found.tau * (1 + 1e-9) + 1e-12, "%g away, at most %g, beta^2 %g", sum,
                        width / found.tau, room);
        }
    }
    free(answer);
    free(kernel);
    free(d);
    test_oracle_clear(&oracle);
    nadir_lagrangian_clear(context, &found);
}

static void test_aim(void **state)
{
    (void)state;
    each_case(test_often(60), aim_test);
}

/* Larger models, with lists of transitions and dense, all domains: few evaluations, few iterations; and the
 * same from iterative solves. */
static void test_golden_models(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < 24; i++) {
        const double radius = i % 2 == 0 ? 0.03 : 0.3;
        const nadir_domain domain = i / 2 % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const double p = (double[]){1, 1.5, 2}[i / 4 % 3];
        const test_golden *golden = &test_goldens[i / 12 % 2 == 0 ? 0 : 2];
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, p, &radius, NULL);
        double value[2];
        test_note("%s, radius %g, domain %d, p %g", golden->name, radius, (int)domain, p);
        for (int krylov = 0; krylov < 2; krylov++) {
            nadir_model *model = test_golden_model(context, golden, true);
            test_problem made = test_problem_make(context, model, test_golden_policy(context, model), &ball,
                                                  krylov == 1 ? "krylov" : NULL, 1);
            const nadir_problem *problem = test_problem_view(&made);
            double *d_bar = test_new(problem->states, sizeof *d_bar);
            for (int64_t s = 0; s < problem->states; s++) {
                d_bar[s] = 1.5 * problem->d[s];
            }
            nadir_lagrangian found = {0};
            assert_ok(context, nadir_lagrangian_tau_best(context, problem, radius, d_bar, 0, 40, &found));
            assert_that(found.evaluations <= (p == 1 ? 10 : 7), "%d evaluations", (int)found.evaluations);
            assert_that(found.iterations <= 5 * found.evaluations, "%d evaluations, %d iterations",
                        (int)found.evaluations, (int)found.iterations);
            value[krylov] = found.value;
            nadir_lagrangian_clear(context, &found);
            free(d_bar);
            test_problem_clear(&made);
        }
        assert_close(value[1] / value[0], 1, 1e-9);
    }
}

/* Four states of which the nominal kernel visits one: nothing pulls it away from there, but the Lagrangian
 * has answers in all of them, and the descent from its start ends where the worst kernel is. */
static void test_unvisited_states(void **state)
{
    static const int64_t rows[] = {0, 1, 2, 3, 4};
    static const int32_t columns[] = {0, 2, 3, 2};
    static const double ones[] = {1, 1, 1, 1};
    static const double rewards[] = {-0.09, -3, -0.05, -0.05};
    static const double initial[] = {1, 0, 0, 0};
    static const double worst[][2] = {{0.3, -40.22}, {0.6, -73.24}, {1, -121.46}};
    nadir_context *context = *state;
    for (int i = 0; i < 3; i++) {
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &worst[i][0], NULL);
        nadir_model_data data = test_model_data();
        data.states = 4;
        data.rows = 4;
        data.discount = 0.99;
        data.state_rows = rows;
        data.row_starts = rows;
        data.columns = columns;
        data.probabilities = ones;
        data.rewards = rewards;
        data.initial = initial;
        nadir_model *model = test_create_model(context, &data);
        nadir_policy *policy = test_uniform_policy(context, model);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        const double d_bar[] = {100, 100, 100, 100};
        nadir_lagrangian found = {0};
        nadir_kernel *start = NULL;
        nadir_candidate naive = {0};
        nadir_candidate attack = {0};
        assert_ok(context, nadir_lagrangian_tau_best(context, problem, worst[i][0], d_bar, 0, 30, &found));
        assert_ok(context, nadir_lagrangian_kernel_in_ball(context, problem, worst[i][0], &found, &start));
        assert_ok(context, nadir_frank_wolfe_run(context, problem, worst[i][0], NULL, 1e-10, 200, &naive));
        assert_ok(context, nadir_frank_wolfe_run(context, problem, worst[i][0], start, 1e-10, 200, &attack));
        assert_close(naive.J, -9, 1e-12);
        assert_that(fabs(attack.J - worst[i][1]) < 0.005, "%.10g, not %g", attack.J, worst[i][1]);
        assert_that(found.value <= attack.J, "a bound of %g, attained is %g", found.value, attack.J);
        nadir_lagrangian_clear(context, &found);
        nadir_kernel_free(start);
        nadir_candidate_clear(context, &naive);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

/* Everything this part offers, once. */
static nadir_status call_all(nadir_context *context, const void *of)
{
    const test_problem *whole = of;
    const nadir_problem *problem = &whole->problem;
    const double d_bar[] = {20, 20, 20, 20, 20, 20, 20, 20};
    nadir_lagrangian found = {0};
    nadir_kernel *start = NULL;
    double lower;
    nadir_status status = nadir_lagrangian_tau_best(context, problem, 0.3, d_bar, 0, 3, &found);
    if (status == NADIR_OK) {
        status = nadir_lagrangian_solve(context, problem, 0.3, d_bar, found.tau / 2, &found);
    }
    if (status == NADIR_OK) {
        status = nadir_lagrangian_tau_for_level(context, problem, 0.3, d_bar, problem->J - 0.1, found.tau, 2,
                                                &found);
    }
    if (status == NADIR_OK) {
        status = nadir_lagrangian_kernel_in_ball(context, problem, 0.3, &found, &start);
    }
    if (status == NADIR_OK) {
        status = nadir_lagrangian_bound(context, problem, 0.3, d_bar, found.tau, found.v, &lower);
    }
    nadir_kernel_free(start);
    nadir_lagrangian_clear(context, &found);
    return status;
}

static void test_scarce_memory(void **state)
{
    (void)state;
    const double radius = 0.3;
    for (int i = 0; i < 4; i++) {
        nadir_context *context = test_context();
        const nadir_ball ball =
            test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, i % 2 == 0 ? 2 : 1.5, &radius, NULL);
        nadir_model *model = test_golden_model(context, &test_goldens[0], i < 2);
        test_problem made =
            test_problem_make(context, model, test_golden_policy(context, model), &ball, NULL, 1);
        test_problem_view(&made);
        test_run_out(call_all, &made, NULL, "Lagrangian");
        test_problem_clear(&made);
        nadir_context_free(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solve),
        cmocka_unit_test(test_value_iteration),
        cmocka_unit_test(test_best_tau),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_aim),
        test_with_context(test_golden_models),
        test_with_context(test_unvisited_states),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
