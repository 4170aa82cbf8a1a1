/*
 * test_torture_size.c: many actions in one state, and systems that are nearly singular, against exact values
 * in quadruple precision.
 */
#include "support/support.h"

#include "support/reference.h"
#include "support/robust.h"
#include "support/torture.h"

#include <math.h>
#include <stdlib.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* State 0 with so many actions that all do the same, and state 1, which is pinned and never left. */
static nadir_model *make_wide(nadir_context *context, int64_t actions, const double *row, double reward,
                              double discount, double scale)
{
    int64_t state_rows[] = {0, actions, actions + 1};
    double *dense = test_new(2 * (actions + 1), sizeof *dense);
    double *rewards = test_new(actions + 1, sizeof *rewards);
    double *scales = test_new(actions + 1, sizeof *scales);
    const double initial[] = {1, 0};
    nadir_model *model = NULL;
    for (int64_t a = 0; a < actions; a++) {
        dense[2 * a] = row[0];
        dense[2 * a + 1] = row[1];
        rewards[a] = reward;
        scales[a] = scale;
    }
    dense[2 * actions + 1] = 1;
    nadir_model_data data = test_model_data();
    data.states = 2;
    data.rows = actions + 1;
    data.discount = discount;
    data.state_rows = state_rows;
    data.dense = dense;
    data.rewards = rewards;
    data.initial = initial;
    data.scales = scales;
    assert_ok(context, nadir_model_create(context, &data, &model));
    free(scales);
    free(rewards);
    free(dense);
    return model;
}

/* The worst return of the same with one action: as against the ball of radius W beta, W = |pi|_q, where the
 * actions share a budget; by symmetry and convexity they all change alike. */
static test_quad worst_of_one(nadir_context *context, const nadir_ball *ball, const double *row, double W)
{
    nadir_model *model = make_wide(context, 1, row, 1, 0.99, W);
    test_quad J = 0;
    nadir_policy *policy = test_uniform_policy(context, model);
    test_oracle oracle = test_oracle_make(model, policy, ball);
    oracle.balls = 1; /* the only row that can move */
    oracle.row_balls[0] = 0;
    assert_true(test_quad_worst(&oracle, &J) != TEST_QUAD_UNKNOWN);
    test_oracle_clear(&oracle);
    nadir_policy_free(policy);
    nadir_model_free(model);
    return J;
}

static void test_many_actions(void **state)
{
    static const struct {
        nadir_set set;
        nadir_domain domain;
        double p, radius;
    } cases[] = {
        {NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 1},
        {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 1},
        {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1, 0.5},
        {NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, INFINITY, 0.01},
        {NADIR_SET_S, NADIR_DOMAIN_SIMPLEX, 2, 10},
        {NADIR_SET_SA, NADIR_DOMAIN_SUPPORT, 1, 0.01},
    };
    static const double row[] = {0.75, 0.25};
    const int64_t actions = test_memcheck() ? 1 << 10 : 1 << 20; /* their probabilities are exact */
    nadir_context *context = *state;
    nadir_model *model = make_wide(context, actions, row, 1, 0.99, 1);
    nadir_policy *policy = test_uniform_policy(context, model);
    nadir_solver *solver = test_solver(context, model, policy);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const double p = cases[i].p;
        const nadir_ball ball = test_ball(cases[i].set, cases[i].domain, p, &cases[i].radius, NULL);
        const bool shared = cases[i].set != NADIR_SET_SA && isfinite(p);
        const double W = !shared ? 1 : p == 1 ? 1 / (double)actions : 1 / sqrt((double)actions);
        const test_quad J = worst_of_one(context, &ball, row, W);
        test_note("%lld actions, %s", (long long)actions, test_ball_name(&ball));
        nadir_robust_settings settings; /* a proof at second order looks at every row many times */
        nadir_robust_settings_default(&settings);
        settings.certify = i == 0 ? NADIR_CERTIFY_OFF : NADIR_CERTIFY_AUTO;
        const nadir_robust result = test_robust(context, solver, &ball, &settings, NULL);
        assert_that(result.lower_bound <= J + 1e-25 && J - 1e-25 <= result.upper_bound,
                    "%.20Lg is not between %.17g and %.17g (%s)", (long double)J, result.lower_bound,
                    result.upper_bound, result.bound);
        assert_that(fabs(result.robust_return - (double)J) <= 1e-8, "%.17g is not %.17Lg",
                    result.robust_return, (long double)J);
    }
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* Chains of which each state stays with a probability of 1 - leave and goes on to the next one otherwise. */
static nadir_model *make_chain(nadir_context *context, int64_t states, double leave, double discount)
{
    nadir_model *model = NULL;
    int64_t *starts = test_new(states + 1, sizeof *starts);
    int64_t *row_starts = test_new(states + 1, sizeof *row_starts);
    int32_t *columns = test_new(2 * states, sizeof *columns);
    double *probabilities = test_new(2 * states, sizeof *probabilities);
    double *rewards = test_new(states, sizeof *rewards);
    double *initial = test_new(states, sizeof *initial);
    for (int64_t s = 0; s < states; s++) {
        starts[s + 1] = s + 1;
        row_starts[s + 1] = 2 * (s + 1);
        columns[2 * s] = (int32_t)s;
        columns[2 * s + 1] = (int32_t)((s + 1) % states);
        probabilities[2 * s] = 1 - leave;
        probabilities[2 * s + 1] = leave;
        rewards[s] = s == 0 ? 1 : -0x1p-10 * (double)s;
    }
    initial[states / 2] = 1;
    nadir_model_data data = test_model_data();
    data.states = states;
    data.rows = states;
    data.discount = discount;
    data.state_rows = starts;
    data.row_starts = row_starts;
    data.columns = columns;
    data.probabilities = probabilities;
    data.rewards = rewards;
    data.initial = initial;
    assert_ok(context, nadir_model_create(context, &data, &model));
    void *const arrays[] = {starts, row_starts, columns, probabilities, rewards, initial};
    for (size_t i = 0; i < LENGTH(arrays); i++) {
        free(arrays[i]);
    }
    return model;
}

/* Conditions of 1e5 and more, every backend: bounds on the nominal return that hold, and are close up to
 * gamma = 0.99999. */
static void test_conditions(void **state)
{
    static const char *const backends[] = {"lapack", "klu", "krylov"};
    static const double leaves[] = {0.5, 0x1p-10, 0x1p-30, 0x1p-52};
    static const double discounts[] = {0.9999, 0.99999, 1 - 1e-7, 1 - 1e-9};
    const int64_t states = test_memcheck() ? 8 : 30;
    static const double none = 0;
    nadir_context *context = *state;
    for (size_t i = 0; i < LENGTH(leaves) * LENGTH(discounts); i++) {
        const double discount = discounts[i % LENGTH(discounts)];
        nadir_model *model = make_chain(context, states, leaves[i / LENGTH(discounts)], discount);
        test_quad J = 0;
        nadir_policy *policy = test_uniform_policy(context, model);
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &none, NULL);
        test_oracle oracle = test_oracle_make(model, policy, &ball);
        test_quad *kernel = test_quad_nominal(&oracle);
        assert_true(test_quad_return(&oracle, kernel, NULL, NULL, &J));
        for (size_t b = 0; b < LENGTH(backends); b++) {
            nadir_solver_settings settings = test_solver_settings();
            settings.backend = backends[b];
            nadir_solver *solver = NULL;
            nadir_nominal nominal = {.size = sizeof nominal};
            test_note("leave %g, gamma 1 - %g, %s", leaves[i / LENGTH(discounts)], 1 - discount, backends[b]);
            assert_ok(context, nadir_solver_create(context, model, policy, &settings, &solver));
            const nadir_status status = nadir_solver_nominal(context, solver, &nominal);
            assert_true(status == NADIR_OK || (status == NADIR_ERROR_NOT_CONVERGED && discount > 0.99999));
            assert_that(status != NADIR_OK || (nominal.lower_bound <= J && J <= nominal.upper_bound),
                        "%.20Lg is not between %.17g and %.17g", (long double)J, nominal.lower_bound,
                        nominal.upper_bound);
            assert_true(nominal.certified || discount > 0.99999);
            nadir_solver_free(solver);
        }
        free(kernel);
        test_oracle_clear(&oracle);
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_many_actions),
        test_with_context(test_conditions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
