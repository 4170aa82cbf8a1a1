/*
 * test_landing_policy.c: policies where rewards are paid on landing: gradients, optima and differences of two
 * policies, against the definitions, brute force and the transition model.
 */
#include "support/support.h"

#include "proof/certificate.h"
#include "proof/difference_bound.h"
#include "support/families.h"
#include "support/landing.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
static const nadir_domain domains[] = {NADIR_DOMAIN_SUPPORT, NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_FREE};
static const double norms[] = {1, 1.5, 2, INFINITY};

/* ----------------------------------------------------------------------------------------- optima */

typedef struct answer {
    nadir_policy *policy;
    nadir_robust_optimum_result result;
    nadir_robust evaluation;
    nadir_worst *worst;
} answer;

/* What watch functions see last. */
static int watch(void *user, const nadir_robust_optimum_step *step)
{
    *(nadir_robust_optimum_step *)user = *step;
    return 0;
}

/* Returns of all kinds are those of the model: each is what other functions say of the same policies. */
static void check_returns(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                          const answer *made)
{
    const nadir_robust_optimum_result *result = &made->result;
    nadir_policy *best = NULL;
    nadir_optimum_result optimum = {.size = sizeof optimum};
    assert_ok(context, nadir_optimum(context, model, NULL, &best, &optimum));
    const double scale = fmax(fabs(result->nominal_optimum), fabs(result->robust_return));
    const double close = 1e-7 * scale + 1e-10;
    nadir_solver *solver = test_solver(context, model, made->policy);
    nadir_nominal nominal = {.size = sizeof nominal};
    assert_ok(context, nadir_solver_nominal(context, solver, &nominal));
    assert_that(fabs(result->nominal_optimum - optimum.nominal_optimum) <= close,
                "nominal optimum %.17g, %.17g", result->nominal_optimum, optimum.nominal_optimum);
    assert_that(fabs(result->nominal_return - nominal.nominal_return) <= close, "nominal return %.17g, %.17g",
                result->nominal_return, nominal.nominal_return);
    const double initial = test_robust_return(context, model, best, ball);
    const double penalty = fabs(optimum.nominal_optimum - initial);
    assert_that(fabs(result->initial_robust_return - initial) <= close + 2e-6 * penalty,
                "the first policy's worst return is %.17g, %.17g", result->initial_robust_return, initial);
    assert_that(result->lower_bound <= result->robust_return &&
                    result->robust_return <= result->optimality_upper_bound,
                "%.17g is not between %.17g and %.17g", result->robust_return, result->lower_bound,
                result->optimality_upper_bound);
    nadir_solver_free(solver);
    nadir_policy_free(best);
}

static answer optimise(nadir_context *context, nadir_model *model, const nadir_ball *ball, const char *method,
                       nadir_robust_optimum_step *last)
{
    answer made = {.result = {.size = sizeof made.result}, .evaluation = {.size = sizeof made.evaluation}};
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    settings.method = method;
    settings.watch = last != NULL ? watch : NULL;
    settings.watch_user = last;
    const nadir_status status = nadir_robust_optimum(context, model, ball, &settings, &made.policy,
                                                     &made.result, &made.evaluation, &made.worst);
    assert_ok(context, status == NADIR_ERROR_NOT_CONVERGED ? NADIR_OK : status);
    check_returns(context, model, ball, &made);
    return made;
}

static void clear(answer *made)
{
    nadir_worst_free(made->worst);
    nadir_policy_free(made->policy);
}

/* Numbers of craam2, for the model of the generator `machine`. */
static void test_machine(void **state)
{
    static const char *const methods[] = {"auto", "quasi-newton", "spectral"};
    nadir_context *context = *state;
    nadir_model *model = test_landing_golden_model(context, TEST_MACHINE, false);
    const double radius = 0.2;
    const nadir_ball ball = test_ball(NADIR_SET_SA, NADIR_DOMAIN_SUPPORT, 1, &radius, NULL);
    for (int i = 0; i < 3; i++) {
        nadir_robust_optimum_step last = {0};
        test_note("method %s", methods[i]);
        answer made = optimise(context, model, &ball, methods[i], &last);
        assert_close(made.result.robust_return, -15.187529526078, 1e-10);
        assert_close(made.result.nominal_optimum, -9.66788312962, 1e-10);
        assert_true(made.result.certified);
        assert_that(fabs(last.robust_return - made.result.robust_return) <= 0.5, "progress ends with %.17g",
                    last.robust_return);
        clear(&made);
    }
    nadir_model_free(model);
}

/* A search that stops at once, at a limit or as a wide gap allows: its policy is not the best one, and the bound is above the best one nevertheless. */
static void test_limits(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_landing_golden_model(context, TEST_MACHINE, false);
    for (int i = 0; i < 3; i++) {
        const double radius = 0.1;
        const nadir_ball ball = test_ball(sets[i], NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
        test_note("%s", test_ball_name(&ball));
        answer best = optimise(context, model, &ball, NULL, NULL);
        assert_true(best.result.certified);
        assert_true(i > 0 || fabs(best.result.robust_return + 17.8436243) < 1e-5);
        nadir_robust_optimum_settings settings = test_robust_optimum_settings();
        nadir_robust_optimum_result early = {.size = sizeof early};
        nadir_policy *policy = NULL;
        for (int wide = 0; wide < 2; wide++) {
            settings.evaluations_limit = wide ? 1000 : 1;
            settings.gap = wide ? 0.4 : 1e-6;
            const nadir_status status =
                nadir_robust_optimum(context, model, &ball, &settings, &policy, &early, NULL, NULL);
            assert_int_equal(status, wide ? NADIR_OK : NADIR_ERROR_NOT_CONVERGED);
            assert_that(i > 0 || early.robust_return < best.result.robust_return - 0.1, "%.17g at once",
                        early.robust_return);
            assert_that(early.optimality_upper_bound >= best.result.robust_return,
                        "at most %.17g, the best is %.17g", early.optimality_upper_bound,
                        best.result.robust_return);
            nadir_policy_free(policy);
        }
        clear(&best);
    }
    nadir_model_free(model);
}

/* The model, whose rewards are frozen, of its transitions; on domain support alone. */
static double optimum_of_transitions(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                     double *upper)
{
    nadir_policy *uniform = test_uniform_policy(context, model);
    test_transitions other = test_transitions_make(context, model, uniform, ball);
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    nadir_robust_optimum_result result = {.size = sizeof result};
    nadir_policy *policy = NULL;
    settings.gap = 1e-8;
    const nadir_status status =
        nadir_robust_optimum(context, other.model, &other.ball, &settings, &policy, &result, NULL, NULL);
    assert_true(status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED);
    *upper = result.optimality_upper_bound;
    nadir_policy_free(policy);
    nadir_policy_free(uniform);
    test_transitions_clear(&other);
    return result.robust_return;
}

/* The way to a goal, far from which the return is small beside what the goal pays. */
static void test_gridworld(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = NULL;
    nadir_generate_settings shape = test_generate_settings();
    shape.width = 7;
    shape.height = 6;
    assert_ok(context, nadir_model_generate(context, "gridworld", &shape, &model));
    for (int i = 0; i < 6; i++) {
        const double radius = i < 3 ? 0.05 : 0.15;
        const nadir_ball ball = test_ball(sets[i % 3], NADIR_DOMAIN_SUPPORT, i < 3 ? 2 : 1, &radius, NULL);
        double upper;
        test_note("%s", test_ball_name(&ball));
        answer made = optimise(context, model, &ball, NULL, NULL);
        const double expected = optimum_of_transitions(context, model, &ball, &upper);
        assert_that(made.result.robust_return <= upper + 1e-9 &&
                        made.result.optimality_upper_bound >= expected - 1e-9,
                    "%.17g below %.17g, the model of transitions has %.17g below %.17g",
                    made.result.robust_return, made.result.optimality_upper_bound, expected, upper);
        const double scale = fmax(fabs(made.result.nominal_optimum), fabs(made.result.robust_return));
        assert_true(!made.result.certified || made.result.optimality_gap <= 1e-6 * scale * (1 + 1e-8));
        assert_that(made.result.certified || sets[i % 3] == NADIR_SET_NONRECT, "not certified, the gap is %g",
                    made.result.optimality_gap);
        clear(&made);
    }
    nadir_model_free(model);
}

/* No other action in one state makes a deterministic policy better. */
static void check_changes(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                          const nadir_policy *policy, double J)
{
    const nadir_model_data view = test_view(model);
    double *pi = test_new(view.rows, sizeof *pi);
    for (int64_t s = 0; s < view.states; s++) {
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            nadir_policy *other = NULL;
            memcpy(pi, nadir_policy_probabilities(policy), (size_t)view.rows * sizeof *pi);
            for (int64_t own = view.state_rows[s]; own < view.state_rows[s + 1]; own++) {
                pi[own] = own == row;
            }
            assert_ok(context, nadir_policy_create(context, model, pi, &other));
            const double changed = test_robust_return(context, model, other, ball);
            assert_that(changed <= J + 1e-9, "with row %d it is %.17g, more than %.17g", (int)row, changed,
                        J);
            nadir_policy_free(other);
        }
    }
    free(pi);
}

/* Few evaluations: what responses and operators pay is what evaluations find. A dense model. */
static void test_effort(void **state)
{
    static const double radii[] = {0.03, 0.1, 0.3};
    nadir_context *context = *state;
    nadir_model *model = test_landing_golden_model(context, TEST_RND, false);
    for (int i = 0; i < 9; i++) {
        const nadir_ball ball = test_ball(sets[i % 3], NADIR_DOMAIN_SIMPLEX, 2, &radii[i / 3], NULL);
        test_note("%s", test_ball_name(&ball));
        answer made = optimise(context, model, &ball, NULL, NULL);
        const int most = sets[i % 3] == NADIR_SET_NONRECT ? 18 : 6;
        assert_that(made.result.evaluations <= most, "%d evaluations", (int)made.result.evaluations);
        assert_true(made.result.certified);
        clear(&made);
    }
    const nadir_ball ball = test_ball(NADIR_SET_SA, NADIR_DOMAIN_FREE, 2, &radii[1], NULL);
    test_note("%s", test_ball_name(&ball));
    answer bellman = optimise(context, model, &ball, "bellman", NULL);
    assert_true(bellman.result.evaluations <= 6);
    check_changes(context, model, &ball, bellman.policy, bellman.result.robust_return);
    clear(&bellman);
    nadir_model_free(model);
}

/* The best of all deterministic policies, each evaluated. */
static double best_of_all(nadir_context *context, nadir_model *model, const nadir_ball *ball)
{
    const nadir_model_data view = test_view(model);
    double *pi = test_new(view.rows, sizeof *pi);
    int64_t *choice = test_new(view.states, sizeof *choice);
    double best = -INFINITY;
    memcpy(choice, view.state_rows, (size_t)view.states * sizeof *choice);
    for (int64_t s = 0; s < view.states;) {
        nadir_policy *policy = NULL;
        memset(pi, 0, (size_t)view.rows * sizeof *pi);
        for (int64_t t = 0; t < view.states; t++) {
            pi[choice[t]] = 1;
        }
        assert_ok(context, nadir_policy_create(context, model, pi, &policy));
        best = fmax(best, test_robust_return(context, model, policy, ball));
        nadir_policy_free(policy);
        for (s = 0; s < view.states && ++choice[s] == view.state_rows[s + 1]; s++) { /* an odometer */
            choice[s] = view.state_rows[s];
        }
    }
    free(pi);
    free(choice);
    return best;
}

/* V*(P) of a kernel [rows * states] and what it pays, by value iteration. */
static double optimum_of_kernel(const test_oracle *oracle, const nadir_model_data *view, const double *kernel)
{
    const int64_t n = view->states;
    long double *v = test_new(2 * n, sizeof *v);
    long double J = 0;
    const int sweeps = (int)(40 / (1 - view->discount));
    for (int sweep = 0; sweep < sweeps; sweep++) {
        for (int64_t s = 0; s < n; s++) {
            v[n + s] = -INFINITY;
            for (int64_t row = view->state_rows[s]; row < view->state_rows[s + 1]; row++) {
                long double q = 0;
                for (int64_t t = 0; t < n; t++) {
                    q += kernel[row * n + t] * (oracle->paid[row * n + t] + view->discount * v[t]);
                }
                v[n + s] = q > v[n + s] ? q : v[n + s];
            }
        }
        memcpy(v, v + n, (size_t)n * sizeof *v);
    }
    for (int64_t s = 0; s < n; s++) {
        J += view->initial[s] * v[s];
    }
    free(v);
    return (double)J;
}

/* Set sa: the best deterministic policy. All sets: no random policy is above the bound, and the optimum of the
 * worst kernel of any policy is no lower than the best worst return. */
static void test_optima(void **state)
{
    nadir_context *context = *state;
    for (uint64_t seed = 1; seed <= (uint64_t)test_attack_count(60); seed++) {
        nadir_random random = test_random(seed);
        test_landing_random drawn =
            test_landing_draw(context, &random, 4, (test_rewards)(seed % TEST_REWARD_KINDS));
        const double radius = 0.02 + 0.4 * nadir_random_uniform(&random);
        const nadir_domain domain = seed % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const nadir_set set = sets[seed / 2 % 3];
        const nadir_ball ball = test_ball(set, domain, norms[seed / 6 % 4], &radius, NULL);
        test_note("seed %d, %s, %s", (int)seed, test_ball_name(&ball), drawn.name);
        answer made = optimise(context, drawn.model, &ball, NULL, NULL);
        const double upper = made.result.optimality_upper_bound;
        const double close = 1e-9 * drawn.size / (1 - drawn.draft.discount);
        if (set == NADIR_SET_SA || isinf(ball.norm)) {
            const double best = best_of_all(context, drawn.model, &ball);
            assert_that(fabs(best - made.result.robust_return) <= 1e-6 * fabs(best) + close,
                        "the optimum is %.17g, the best of all policies %.17g", made.result.robust_return,
                        best);
        }
        for (int i = 0; i < 3; i++) {
            nadir_policy *policy = test_policy(context, drawn.model, TEST_RANDOM, &random);
            const double J = test_robust_return(context, drawn.model, policy, &ball);
            assert_that(J <= upper + close, "a policy returns %.17g, above %.17g", J, upper);
            nadir_policy_free(policy);
        }
        const nadir_model_data view = test_view(drawn.model);
        test_oracle oracle = test_landing_oracle(&drawn.draft, drawn.model, made.policy, &ball, 1);
        double *kernel = test_worst_kernel(context, drawn.model, made.worst);
        const double above = optimum_of_kernel(&oracle, &view, kernel);
        assert_that(above >= made.result.robust_return - close, "V*(P) is %.17g, the worst return %.17g",
                    above, made.result.robust_return);
        assert_that(fabs(test_oracle_return(&oracle, kernel, NULL) - made.result.robust_return) <= close,
                    "the worst return is %.17g, that of the kernel %.17g", made.result.robust_return,
                    test_oracle_return(&oracle, kernel, NULL));
        free(kernel);
        test_oracle_clear(&oracle);
        clear(&made);
        test_landing_random_clear(&drawn);
    }
}

/* --------------------------------------------------------------------------------------- gradients */

static double return_of(nadir_context *context, nadir_model *model, const double *pi, const nadir_ball *ball,
                        bool optimistic, nadir_worst **worst)
{
    nadir_robust_settings settings = test_robust_settings();
    nadir_policy *policy = NULL;
    settings.certify = NADIR_CERTIFY_OFF;
    settings.tolerance = 1e-15;
    settings.optimistic = optimistic;
    assert_ok(context, nadir_policy_create(context, model, pi, &policy));
    nadir_solver *solver = test_solver(context, model, policy);
    const nadir_robust result = test_robust(context, solver, ball, &settings, worst);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    return result.robust_return;
}

/* d(s) P_sa . (r_sa + gamma v) of the worst kernel, from the definitions. */
static void naive_gradient(nadir_context *context, const test_landing_random *drawn,
                           const nadir_policy *policy, const nadir_ball *ball, const nadir_worst *worst,
                           double *gradient)
{
    const nadir_model_data view = test_view(drawn->model);
    const int64_t n = view.states;
    test_oracle oracle = test_landing_oracle(&drawn->draft, drawn->model, policy, ball, 1);
    double *kernel = test_worst_kernel(context, drawn->model, worst);
    double *v = test_new(n, sizeof *v);
    long double *d = test_new(n, sizeof *d);
    (void)test_oracle_return(&oracle, kernel, v);
    long double *average = test_dense_average(drawn->model, kernel, nadir_policy_probabilities(policy));
    test_system system = test_system_make(n, average, view.discount);
    test_system_solve(&system, true, view.initial, d);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            long double q = 0;
            for (int64_t t = 0; t < n; t++) {
                q += kernel[row * n + t] * (oracle.paid[row * n + t] + (long double)view.discount * v[t]);
            }
            gradient[row] = (double)(d[s] * q);
        }
    }
    test_system_clear(&system);
    test_oracle_clear(&oracle);
    free(average);
    free(kernel);
    free(v);
    free(d);
}

/* (J(pi + h t) - J(pi - h t)) / 2 h for t from the first action of a state to another. */
static void check_differences(nadir_context *context, nadir_model *model, double *pi, const nadir_ball *ball,
                              bool optimistic, const double *gradient, double scale)
{
    const nadir_model_data view = test_view(model);
    const double h = 2e-5;
    for (int64_t s = 0; s < view.states; s++) {
        const int64_t first = view.state_rows[s];
        for (int64_t row = first + 1; row < view.state_rows[s + 1]; row++) {
            const double kept[2] = {pi[first], pi[row]};
            double J[2];
            for (int i = 0; i < 2; i++) {
                pi[first] = kept[0] + (i == 0 ? -h : h);
                pi[row] = kept[1] + (i == 0 ? h : -h);
                J[i] = return_of(context, model, pi, ball, optimistic, NULL);
            }
            pi[first] = kept[0];
            pi[row] = kept[1];
            const double difference = (J[0] - J[1]) / (2 * h);
            const double expected = gradient[row] - gradient[first];
            assert_that(fabs(difference - expected) <= 1e-6 * scale,
                        "row %d: a difference of %.12g, the gradient has %.12g", (int)row, difference,
                        expected);
        }
    }
}

static void check_gradient(nadir_context *context, const test_landing_random *drawn, const nadir_ball *ball,
                           bool optimistic)
{
    const nadir_model_data view = test_view(drawn->model);
    nadir_policy *policy = test_uniform_policy(context, drawn->model);
    double *pi = test_new(3 * view.rows, sizeof *pi);
    double *gradient = pi + view.rows;
    double *expected = pi + 2 * view.rows;
    nadir_worst *worst = NULL;
    double scale = 0;
    memcpy(pi, nadir_policy_probabilities(policy), (size_t)view.rows * sizeof *pi);
    (void)return_of(context, drawn->model, pi, ball, optimistic, &worst);
    assert_ok(context, nadir_worst_gradient(context, worst, gradient));
    naive_gradient(context, drawn, policy, ball, worst, expected);
    for (int64_t row = 0; row < view.rows; row++) {
        scale = fmax(scale, fabs(expected[row]));
    }
    scale = fmax(scale, drawn->size);
    for (int64_t row = 0; row < view.rows; row++) {
        assert_that(fabs(gradient[row] - expected[row]) <= 1e-10 * scale,
                    "row %d: %.17g, by definition %.17g", (int)row, gradient[row], expected[row]);
    }
    check_differences(context, drawn->model, pi, ball, optimistic, gradient, scale);
    const nadir_status status = nadir_worst_gradient_nominal(context, worst, pi);
    for (int64_t row = 0; row < view.rows && status == NADIR_OK; row++) {
        assert_that(fabs(pi[row] - expected[row]) <= 1e-9 * scale, "row %d: in nominal terms %.17g, %.17g",
                    (int)row, pi[row], expected[row]);
    }
    assert_true(status == NADIR_OK || status == NADIR_ERROR_UNSUPPORTED);
    nadir_worst_free(worst);
    nadir_policy_free(policy);
    free(pi);
}

static void test_gradients(void **state)
{
    nadir_context *context = *state;
    for (uint64_t seed = 1; seed <= (uint64_t)test_attack_count(40); seed++) {
        nadir_random random = test_random(100 + seed);
        test_landing_random drawn =
            test_landing_draw(context, &random, 5, (test_rewards)(seed % TEST_REWARD_KINDS));
        const nadir_domain domain = domains[seed % 3];
        const double radius = domain == NADIR_DOMAIN_FREE ? 0.2 * (1 - drawn.draft.discount) : 0.04;
        const nadir_ball ball = test_ball(sets[seed / 3 % 3], domain, seed % 2 == 0 ? 2 : 1.5, &radius, NULL);
        test_note("seed %d, %s, %s", (int)seed, test_ball_name(&ball), drawn.name);
        check_gradient(context, &drawn, &ball, seed % 4 == 0);
        test_landing_random_clear(&drawn);
    }
}

/* ------------------------------------------------------------------------------------- differences */

static nadir_difference difference(nadir_context *context, nadir_model *model, nadir_policy *const policy[2],
                                   const nadir_ball *ball, bool optimistic, nadir_worst **worst)
{
    nadir_difference result = {.size = sizeof result};
    nadir_robust_settings settings = test_robust_settings();
    nadir_solver *a = test_solver(context, model, policy[0]);
    nadir_solver *b = test_solver(context, model, policy[1]);
    settings.optimistic = optimistic;
    const nadir_status status = nadir_solver_difference(context, a, b, ball, &settings, &result, worst);
    assert_ok(context, status == NADIR_ERROR_NOT_CONVERGED ? NADIR_OK : status);
    assert_that(result.lower_bound <= result.worst && result.worst <= result.upper_bound,
                "%.17g is not between %.17g and %.17g", result.worst, result.lower_bound, result.upper_bound);
    nadir_solver_free(a);
    nadir_solver_free(b);
    return result;
}

/* The same of the model of transitions, whose bounds and kernels are those of frozen rewards. */
static nadir_difference difference_of_transitions(nadir_context *context, nadir_model *model,
                                                  nadir_policy *const policy[2], const nadir_ball *ball,
                                                  bool optimistic)
{
    test_transitions other[2];
    for (int i = 0; i < 2; i++) {
        other[i] = test_transitions_make(context, model, policy[i], ball);
    }
    nadir_policy *second = NULL;
    assert_ok(context, nadir_policy_create(context, other[0].model,
                                           nadir_policy_probabilities(other[1].policy), &second));
    nadir_policy *const both[] = {other[0].policy, second};
    const nadir_difference result =
        difference(context, other[0].model, both, &other[0].ball, optimistic, NULL);
    nadir_policy_free(second);
    test_transitions_clear(&other[0]);
    test_transitions_clear(&other[1]);
    return result;
}

/* No kernel of the set is outside the bounds, and the kernel found has the difference that is reported. */
static void attack(nadir_context *context, nadir_random *random, const test_landing_random *drawn,
                   nadir_policy *const policy[2], const nadir_ball *ball, bool optimistic,
                   const nadir_difference *found, const nadir_worst *worst)
{
    test_oracle of_b = test_landing_oracle(&drawn->draft, drawn->model, policy[1], ball, 1);
    test_oracle oracle = test_landing_oracle(&drawn->draft, drawn->model, policy[0], ball, 1);
    const double sign = optimistic ? -1 : 1;
    oracle.less = &of_b;
    double *kernel = test_worst_kernel(context, drawn->model, worst);
    const double rounding = 1e-13 * drawn->size / (1 - drawn->draft.discount) / (1 - drawn->draft.discount);
    const double attained = test_oracle_return(&oracle, kernel, NULL);
    assert_that(fabs(attained - found->worst) <= 1e4 * rounding, "found %.17g, the kernel attains %.17g",
                found->worst, attained);
    const double bound = sign > 0 ? found->lower_bound : -found->upper_bound;
    for (int i = 0; i < 100; i++) {
        test_oracle_random(&oracle, random, kernel);
        const double f = sign * test_oracle_return(&oracle, kernel, NULL);
        assert_that(isnan(f) || f >= bound - rounding, "a kernel has %.17g, below %.17g", f, bound);
    }
    free(kernel);
    test_oracle_clear(&oracle);
    test_oracle_clear(&of_b);
}

/* Bounds around the nominal kernel, which need not be stationary, and whatever the multiplier: none is above a
 * difference that some kernel attains. */
static void check_bounds(nadir_context *context, nadir_model *model, nadir_policy *const policy[2],
                         const nadir_ball *ball, double attained, double rounding)
{
    nadir_setup setup[2] = {0};
    nadir_problem problem[2];
    nadir_solver *solver[2];
    nadir_difference_facts facts = {0};
    nadir_difference_witness witness = {0};
    nadir_lmo_row_costs costs = {0};
    nadir_kernel *kernel = NULL;
    double lower;
    double kappa;
    assert_ok(context, nadir_kernel_create(context, model, &kernel));
    for (int i = 0; i < 2; i++) {
        solver[i] = test_solver(context, model, policy[i]);
        assert_ok(context, nadir_setup_make(context, solver[i], ball, false, &setup[i]));
        problem[i] = setup[i].problem;
        witness.occupancy[i] = problem[i].occupancy;
        witness.v[i] = problem[i].v;
        witness.J[i] = problem[i].J;
        assert_ok(context, nadir_perturbation_bound_make(context, &problem[i], NADIR_CERTIFY_STRICT,
                                                         &facts.perturbation[i]));
        if (ball->domain != NADIR_DOMAIN_FREE) {
            assert_ok(context, nadir_occupancy_range_make(context, &problem[i], &facts.range[i]));
        }
    }
    witness.kernel = kernel;
    assert_ok(context, nadir_difference_check(context, problem, &witness, true, &facts));
    assert_ok(context, nadir_lmo_row_costs_make(context, model, problem[0].uncertainty, &costs));
    assert_ok(context, nadir_difference_first_order(context, problem, &facts, &costs, &lower));
    assert_that(lower <= attained + rounding, "to first order at least %.17g, but %.17g is attained", lower,
                attained);
    for (int i = 0; i < 4 && ball->set == NADIR_SET_NONRECT && ball->norm == 2; i++) {
        witness.tau = i == 0 ? 0 : problem[0].largest * pow(0.01, i);
        assert_ok(context,
                  nadir_difference_second_order(context, problem, &witness, &facts, &costs, &lower, &kappa));
        assert_that(lower <= attained + rounding, "to second order at least %.17g, but %.17g is attained",
                    lower, attained);
    }
    nadir_lmo_row_costs_clear(context, &costs);
    nadir_kernel_free(kernel);
    for (int i = 0; i < 2; i++) {
        nadir_setup_clear(context, &setup[i]);
        nadir_occupancy_bounds_clear(context, &facts.range[i]);
        nadir_solver_free(solver[i]);
    }
}

/*
 * Nominal values are all 0, and so is g: nothing but landing hurts, and only in states that are not visited. The
 * first action of state 0 stays there, and can be moved; the second cannot. States 1 and 4 lead to 2 and 3, which
 * end it, and pay 1 and -1 there, or the other way round.
 */
static void test_flat_values(void **state)
{
    static const int64_t actions[] = {2, 1, 1, 1, 1};
    static const double choices[2][6] = {{1, 0, 1, 1, 1, 1}, {0, 1, 1, 1, 1, 1}};
    nadir_context *context = *state;
    test_landing draft = test_landing_start_ragged(5, actions, 0.9);
    for (int64_t row = 0; row < 6; row++) {
        const bool ends = row == 3 || row == 4;
        double *values = draft.kernel + 5 * row;
        double *paid = draft.paid + 5 * row;
        draft.mu[row < 5 ? row : 0] = row == 0 || row == 5;
        draft.scales[row] = row == 1 || ends ? 0 : 1;
        if (row < 2 || ends) {
            values[row < 2 ? 0 : row - 1] = 1;
            paid[row < 2 ? 0 : row - 1] = 0;
        } else {
            values[2] = values[3] = 0.5;
            paid[2] = row == 2 ? 1 : -1;
            paid[3] = -paid[2];
        }
    }
    nadir_model *model = test_landing_model(context, &draft, true, NADIR_UNSEEN_ADDITIVE, 0);
    nadir_policy *policy[2] = {NULL};
    for (int i = 0; i < 2; i++) {
        assert_ok(context, nadir_policy_create(context, model, choices[i], &policy[i]));
    }
    for (int i = 0; i < 18; i += test_memcheck() ? 5 : 1) {
        nadir_random random = test_random((uint64_t)i);
        const double radius = i < 9 ? 0.2 : 0.02;
        const nadir_ball ball = test_ball(sets[i % 3], NADIR_DOMAIN_SIMPLEX,
                                          i / 3 % 3 == 0   ? 2
                                          : i / 3 % 3 == 1 ? 1
                                                           : 1.5,
                                          &radius, NULL);
        test_note("%s", test_ball_name(&ball));
        test_oracle of_b = test_landing_oracle(&draft, model, policy[1], &ball, 1);
        test_oracle oracle = test_landing_oracle(&draft, model, policy[0], &ball, 1);
        oracle.less = &of_b;
        double *kernel = test_new(30, sizeof *kernel);
        const double other =
            test_oracle_worst(&oracle, &random, test_often(8), kernel); /* 0 where it stays */
        free(kernel);
        nadir_worst *worst = NULL;
        const nadir_difference found = difference(context, model, policy, &ball, false, &worst);
        kernel = test_worst_kernel(context, model, worst);
        const double attained = test_oracle_return(&oracle, kernel, NULL);
        assert_that(found.nominal == 0 && fabs(found.worst - attained) <= 1e-14,
                    "found %.17g, attained %.17g", found.worst, attained);
        assert_that(attained < -1e-5 && attained <= other * (1 - 1e-6), "%.17g, the oracle has %.17g",
                    attained, other);
        assert_true(found.lower_bound <= attained);
        check_bounds(context, model, policy, &ball, attained, 0);
        nadir_worst_free(worst);
        free(kernel);
        test_oracle_clear(&oracle);
        test_oracle_clear(&of_b);
    }
    nadir_policy_free(policy[0]);
    nadir_policy_free(policy[1]);
    nadir_model_free(model);
    test_landing_clear(&draft);
}

/* Dense, small balls: the bounds are tight. */
static void test_tight_differences(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_landing_golden_model(context, TEST_RND, false);
    nadir_policy *policy[] = {test_landing_golden_policy(context, model, TEST_RND, true),
                              test_landing_golden_policy(context, model, TEST_RND, false)};
    for (int i = 0; i < 12; i++) {
        const double radius = 0.01;
        const nadir_ball ball = test_ball(sets[i % 3], NADIR_DOMAIN_SIMPLEX, norms[i / 3], &radius, NULL);
        test_note("%s", test_ball_name(&ball));
        const nadir_difference found = difference(context, model, policy, &ball, false, NULL);
        const double wide = (found.upper_bound - found.lower_bound) / (found.nominal - found.worst);
        const bool exact = sets[i % 3] == NADIR_SET_NONRECT && ball.norm == 2;
        assert_true(!exact || (found.certified && strcmp(found.bound, "second-order") == 0));
        assert_that(wide <= 0.3, "as wide as %g of the penalty", wide);
    }
    nadir_policy_free(policy[0]);
    nadir_policy_free(policy[1]);
    nadir_model_free(model);
}

static void test_differences(void **state)
{
    nadir_context *context = *state;
    int missed = 0;
    int compared = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)test_attack_count(120); seed++) {
        nadir_random random = test_random(200 + seed);
        test_landing_random drawn =
            test_landing_draw(context, &random, 5, (test_rewards)(seed % TEST_REWARD_KINDS));
        const nadir_domain domain = seed % 6 == 0 ? NADIR_DOMAIN_FREE : domains[seed % 2];
        const double least = seed % 4 == 0 ? 0.3 : 0.03;
        const double radius = domain == NADIR_DOMAIN_FREE ? least / 4 * (1 - drawn.draft.discount) : least;
        const nadir_ball ball = test_ball(sets[seed / 3 % 3], domain, norms[seed / 9 % 4], &radius, NULL);
        nadir_policy *policy[] = {test_policy(context, drawn.model, TEST_RANDOM, &random),
                                  test_policy(context, drawn.model, TEST_DETERMINISTIC, &random)};
        const bool optimistic = seed % 5 == 0;
        nadir_worst *worst = NULL;
        test_note("seed %d, %s%s, %s", (int)seed, test_ball_name(&ball), optimistic ? ", best case" : "",
                  drawn.name);
        const nadir_difference found = difference(context, drawn.model, policy, &ball, optimistic, &worst);
        attack(context, &random, &drawn, policy, &ball, optimistic, &found, worst);
        if (!optimistic) {
            check_bounds(context, drawn.model, policy, &ball, found.worst,
                         1e-13 * drawn.size / (1 - drawn.draft.discount) / (1 - drawn.draft.discount));
        }
        if (domain == NADIR_DOMAIN_SUPPORT) {
            const nadir_difference other =
                difference_of_transitions(context, drawn.model, policy, &ball, optimistic);
            const double penalty = fabs(other.worst - other.nominal);
            const double close = 1e-11 * drawn.size / (1 - drawn.draft.discount);
            assert_that(fabs(found.nominal - other.nominal) <= close, "nominal %.17g and %.17g",
                        found.nominal, other.nominal);
            /* a search may end in another minimum, but not be proven right there */
            const double apart = fabs(found.worst - other.worst);
            const bool agree = apart <= 1e-7 * penalty + close;
            assert_that(agree || !(found.certified || other.certified), "%.17g, of transitions %.17g",
                        found.worst, other.worst);
            missed += !agree;
            compared++;
            assert_that(found.lower_bound <= other.upper_bound && other.lower_bound <= found.upper_bound,
                        "%.17g to %.17g, of transitions %.17g to %.17g", found.lower_bound, found.upper_bound,
                        other.lower_bound, other.upper_bound);
        }
        nadir_worst_free(worst);
        nadir_policy_free(policy[0]);
        nadir_policy_free(policy[1]);
        test_landing_random_clear(&drawn);
    }
    assert_that(missed <= compared / 100, "%d of %d searches end in another minimum", missed, compared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_machine),     test_with_context(test_gridworld),
        test_with_context(test_limits),      test_with_context(test_effort),
        test_with_context(test_optima),      test_with_context(test_gradients),
        test_with_context(test_flat_values), test_with_context(test_tight_differences),
        test_with_context(test_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
