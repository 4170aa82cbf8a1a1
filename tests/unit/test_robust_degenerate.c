/* Robust evaluation where the answer is known without a computation, and every case of it is defined. */
#include "support/support.h"

#include "support/generated.h"
#include "support/miniature.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>

#define SEED 14142

static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
static const nadir_domain domains[] = {NADIR_DOMAIN_FREE, NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT};
static const double norms[] = {1, 1.5, 2, 3, INFINITY};
enum { BALLS = 45 };

static nadir_ball ball_number(int i, const double *radius)
{
    return test_ball(sets[i % 3], domains[i / 3 % 3], norms[i / 9 % 5], radius, NULL);
}

/* The adversary can do nothing: return and bounds are the nominal ones; idle: with the nominal kernel alone.
 */
static void expect_nominal(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                           const nadir_ball *ball, bool idle)
{
    nadir_solver *solver = test_solver(context, model, policy);
    nadir_nominal nominal = {.size = sizeof nominal};
    assert_ok(context, nadir_solver_nominal(context, solver, &nominal));
    const double slack = 1e-12 * (1 + fabs(nominal.nominal_return)) / (1 - test_view(model).discount);
    for (int optimistic = 0; optimistic < 2; optimistic++) {
        nadir_robust_settings settings = test_robust_settings();
        settings.optimistic = optimistic == 1;
        nadir_worst *worst = NULL;
        const nadir_robust result = test_robust(context, solver, ball, &settings, &worst);
        assert_that(fabs(result.robust_return - nominal.nominal_return) <= slack, "%.17g instead of %.17g",
                    result.robust_return, nominal.nominal_return);
        const bool proven = result.certified || ball->set != NADIR_SET_NONRECT ||
                            ball->domain == NADIR_DOMAIN_FREE || isinf(ball->norm);
        assert_that(!proven || result.upper_bound - result.lower_bound <= 100 * slack,
                    "bounds %.17g and %.17g", result.lower_bound, result.upper_bound);
        assert_that(result.certified || !idle, "not certified");
        test_oracle oracle = test_oracle_make(model, policy, ball);
        double *kernel = test_worst_kernel(context, model, worst);
        assert_that(test_oracle_excess(&oracle, kernel) <= 1e-10, "a kernel outside of the set");
        free(kernel);
        test_oracle_clear(&oracle);
        nadir_worst_free(worst);
    }
    nadir_solver_free(solver);
}

static void test_radius_zero(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    const double radius = 0;
    for (int i = 0; i < BALLS; i++) {
        test_miniature tiny = test_miniature_make(context, &random, 5);
        nadir_ball ball = ball_number(i, &radius);
        test_note("seed %d, case %d, %s, %s", SEED, i, tiny.name, test_ball_name(&ball));
        expect_nominal(context, tiny.model, tiny.policy, &ball, true);
        test_miniature_clear(&tiny);
    }
}

/* Every scale 0: no radius moves anything, and nothing can break down. */
static void test_all_pinned(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    const double radius = 1e6;
    const double zeros[64] = {0};
    for (int i = 0; i < BALLS; i++) {
        test_miniature tiny = test_miniature_make(context, &random, 5);
        nadir_ball ball = ball_number(i, &radius);
        ball.scales = zeros;
        test_note("seed %d, case %d, %s, %s", SEED + 1, i, tiny.name, test_ball_name(&ball));
        expect_nominal(context, tiny.model, tiny.policy, &ball, true);
        test_miniature_clear(&tiny);
    }
}

/* The same reward everywhere: all kernels are worth the same. */
static void test_constant_rewards(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 2);
    static const double rewards[] = {0, 1, -2.5, 1e9, 1e-9};
    const double radius = 1e-4;
    for (int i = 0; i < BALLS; i++) {
        test_miniature tiny = test_miniature_make(context, &random, 5);
        nadir_model *constant = test_model_rewarded(context, tiny.model, 0, rewards[i % 5]);
        nadir_ball ball = ball_number(i, &radius);
        test_note("seed %d, case %d, %s, %s", SEED + 2, i, tiny.name, test_ball_name(&ball));
        expect_nominal(context, constant, tiny.policy, &ball, false);
        nadir_model_free(constant);
        test_miniature_clear(&tiny);
    }
}

/* A model with a single action in each state, of the rows that a policy gives [states]. */
static nadir_model *chosen_rows(nadir_context *context, const nadir_model *model, const int64_t *rows)
{
    nadir_model_data data = test_view(model);
    const int64_t n = data.states;
    double *kernel = test_dense_kernel(model);
    double *dense = test_new(n * n + n, sizeof *dense);
    double *rewards = dense + n * n;
    int64_t *state_rows = test_new(n + 1, sizeof *state_rows);
    for (int64_t s = 0; s < n; s++) {
        state_rows[s + 1] = s + 1;
        rewards[s] = data.rewards[rows[s]];
        for (int64_t t = 0; t < n; t++) {
            dense[s * n + t] = kernel[rows[s] * n + t];
        }
    }
    nadir_model_data chosen = test_model_data();
    chosen.states = n;
    chosen.rows = n;
    chosen.discount = data.discount;
    chosen.state_rows = state_rows;
    chosen.dense = dense;
    chosen.rewards = rewards;
    chosen.initial = data.initial;
    nadir_model *made = test_create_model(context, &chosen);
    free(kernel);
    free(dense);
    free(state_rows);
    return made;
}

/* A deterministic policy never sees the other rows: as if they were not there. With one action in each state
 * the sets s and sa are the same. */
static void test_deterministic(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 3);
    const double radius = 1e-3;
    const double ones[64] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (int i = 0; i < BALLS; i++) {
        test_miniature tiny = test_miniature_make(context, &random, 5);
        const nadir_model_data view = test_view(tiny.model);
        int64_t rows[8] = {0};
        int64_t actions[8] = {0};
        for (int64_t s = 0; s < view.states; s++) {
            const int64_t count = view.state_rows[s + 1] - view.state_rows[s];
            actions[s] = (int64_t)nadir_random_below(&random, (uint64_t)count);
            rows[s] = view.state_rows[s] + actions[s];
        }
        nadir_policy *policy = NULL;
        nadir_model *chosen = chosen_rows(context, tiny.model, rows);
        assert_ok(context, nadir_policy_create_deterministic(context, tiny.model, actions, &policy));
        nadir_policy *only = test_uniform_policy(context, chosen);
        nadir_ball ball = ball_number(i, &radius);
        ball.scales = ones;
        test_note("seed %d, case %d, %s, %s", SEED + 3, i, tiny.name, test_ball_name(&ball));
        const double found = test_robust_return(context, tiny.model, policy, &ball);
        const double expected = test_robust_return(context, chosen, only, &ball);
        assert_close(found, expected, 1e-9);
        if (ball.set == NADIR_SET_S) {
            ball.set = NADIR_SET_SA;
            assert_close(test_robust_return(context, chosen, only, &ball), expected, 1e-11);
        }
        nadir_policy_free(policy);
        nadir_policy_free(only);
        nadir_model_free(chosen);
        test_miniature_clear(&tiny);
    }
}

/* One state; and no future: the kernel does not matter, however large the ball. */
static void test_kernel_unseen(void **state)
{
    nadir_context *context = *state;
    const int64_t state_rows[] = {0, 2, 3};
    const double dense[] = {0.25, 0.75, 1, 0, 0.5, 0.5};
    const double alone[] = {1, 1};
    const double rewards[] = {1, -3, 2};
    const double radius = 5;
    for (int i = 0; i < 2 * BALLS; i++) {
        const bool single = i >= BALLS;
        nadir_model_data data = test_model_data();
        data.states = single ? 1 : 2;
        data.rows = single ? 2 : 3;
        data.discount = single ? 0.9 : 0;
        data.state_rows = state_rows;
        data.dense = single ? alone : dense;
        data.rewards = rewards;
        nadir_model *model = test_create_model(context, &data);
        nadir_policy *policy = test_uniform_policy(context, model);
        nadir_ball ball = ball_number(i, &radius);
        test_note("%s, %s", single ? "one state" : "discount 0", test_ball_name(&ball));
        expect_nominal(context, model, policy, &ball, single);
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
}

/*
 * State 2 is never reached from state 0, where all begins. On the domain support nobody can go there, so that
 * neither its reward nor its rows matter; on the others the adversary may open the way, and takes the return
 * below what it was with a reward there that is worth avoiding.
 */
static void test_never_visited(void **state)
{
    nadir_context *context = *state;
    const int64_t state_rows[] = {0, 1, 2, 3};
    const double dense[] = {0.5, 0.5, 0, 0.25, 0.75, 0, 0.5, 0, 0.5};
    const double initial[] = {1, 0, 0};
    const double radius = 0.01;
    for (int i = 0; i < BALLS; i++) {
        nadir_ball ball = ball_number(i, &radius);
        double found[2];
        for (int j = 0; j < 2; j++) {
            const double rewards[] = {1, 2, j == 0 ? 1.5 : -50};
            nadir_model_data data = test_model_data();
            data.states = 3;
            data.rows = 3;
            data.discount = 0.9;
            data.state_rows = state_rows;
            data.dense = dense;
            data.rewards = rewards;
            data.initial = initial;
            nadir_model *model = test_create_model(context, &data);
            nadir_policy *policy = test_uniform_policy(context, model);
            test_note("%s, reward %g", test_ball_name(&ball), rewards[2]);
            found[j] = test_robust_return(context, model, policy, &ball);
            nadir_policy_free(policy);
            nadir_model_free(model);
        }
        if (ball.domain == NADIR_DOMAIN_SUPPORT) {
            assert_close(found[1], found[0], 1e-11);
        } else {
            assert_that(found[1] < found[0] - 0.1, "%g and %g", found[0], found[1]);
        }
    }
}

/* A ball stays what it is when its scales are multiplied and its radius divided, however far; beyond the
 * range in which powers stay finite both are refused, rather than bounded falsely. */
static void test_range_of_scales(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_generate(context, "riverswim", NULL);
    nadir_policy *policy = test_uniform_policy(context, model);
    nadir_solver *solver = test_solver(context, model, policy);
    const double factors[] = {1e-49, 1e-20, 1e20, 1e49};
    double scales[12];
    for (int i = 0; i < BALLS; i++) {
        double radius = 0.003;
        nadir_ball ball = ball_number(i, &radius);
        const double wanted = test_robust(context, solver, &ball, NULL, NULL).robust_return;
        ball.scales = scales;
        for (int j = 0; j < 4; j++) {
            radius = 0.003 / factors[j];
            for (int row = 0; row < 12; row++) {
                scales[row] = factors[j];
            }
            test_note("%s, scales %g", test_ball_name(&ball), factors[j]);
            const nadir_robust found = test_robust(context, solver, &ball, NULL, NULL);
            assert_close(found.robust_return, wanted, 1e-9);
            assert_that(found.lower_bound <= wanted + 1e-6, "a lower bound of %.17g", found.lower_bound);
        }
    }
    double radius = 1;
    nadir_ball ball = test_ball(NADIR_SET_S, NADIR_DOMAIN_SIMPLEX, 2, &radius, scales);
    nadir_robust result = {.size = sizeof result};
    scales[7] = 1e60;
    assert_fails(context, nadir_solver_robust(context, solver, &ball, NULL, &result, NULL),
                 NADIR_ERROR_ARGUMENT,
                 "the scale of state 3, action 1 (right) is 1e+60; expected 0 to 1e+50");
    scales[7] = 1e-60;
    assert_fails(context, nadir_solver_robust(context, solver, &ball, NULL, &result, NULL),
                 NADIR_ERROR_ARGUMENT,
                 "the scale of state 3, action 1 (right) is 1e-60; expected 0, or 1e-50");
    scales[7] = 1;
    radius = 1e101;
    assert_fails(context, nadir_solver_robust(context, solver, &ball, NULL, &result, NULL),
                 NADIR_ERROR_ARGUMENT, "the radius is 1e+101; expected 0 to 1e+100");
    radius = 1;
    const double factor = 1e101;
    assert_fails(context, nadir_solver_robust_many(context, solver, &ball, NULL, 1, &factor, &result),
                 NADIR_ERROR_ARGUMENT, "factor 0 of the radius is 1e+101");
    assert_fails(context, nadir_solver_robust_many(context, solver, &ball, NULL, -3, &factor, &result),
                 NADIR_ERROR_ARGUMENT, "there are -3 factors");
    test_note_clear();
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* Kernels far outside the simplex have systems of large norms; factored anew, they are solved to the rounding
 * of that. */
static void test_strict_far_away(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 8);
    const double radius = 1e5;
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_STRICT;
    for (int i = 0; i < 40; i++) {
        test_miniature tiny = test_miniature_make(context, &random, 6);
        nadir_solver *solver = test_solver(context, tiny.model, tiny.policy);
        double ones[18];
        for (int row = 0; row < 18; row++) {
            ones[row] = 1;
        }
        const nadir_ball ball = test_ball(NADIR_SET_SA, NADIR_DOMAIN_FREE, norms[i % 5], &radius, ones);
        test_note("seed %d, case %d, %s, %s", SEED + 8, i, tiny.name, test_ball_name(&ball));
        nadir_robust result = {.size = sizeof result};
        const nadir_status status = nadir_solver_robust(context, solver, &ball, &settings, &result, NULL);
        assert_that(status == NADIR_OK || status == NADIR_ERROR_ILL_POSED, "%s",
                    nadir_context_error(context));
        nadir_solver_free(solver);
        test_miniature_clear(&tiny);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_radius_zero),      test_with_context(test_all_pinned),
        test_with_context(test_constant_rewards), test_with_context(test_deterministic),
        test_with_context(test_kernel_unseen),    test_with_context(test_never_visited),
        test_with_context(test_range_of_scales),  test_with_context(test_strict_far_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
