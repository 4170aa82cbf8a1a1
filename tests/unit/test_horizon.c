/*
 * The return of H steps under one kernel: values of the slippery lake that another program found, closed forms, the
 * gradient by differences, one step, long horizons with a discount, policies by step and their files, refusals.
 */
#include "support/support.h"

#include "model/policy.h"
#include "sets/horizon.h"
#include "support/families.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* FrozenLake 4 x 4 of Gymnasium: 1 for reaching the goal; holes and goal are terminal. */
static nadir_model *make_lake(nadir_context *context)
{
    static const char map[] = "SFFFFHFHFFFHHFFG";
    static const int moves[4][2] = {{0, -1}, {1, 0}, {0, 1}, {-1, 0}};
    double P[64 * 16] = {0};
    double rewards[64 * 16] = {0};
    double initial[16] = {1};
    double scales[64];
    int64_t state_rows[17];
    nadir_model *model = NULL;
    for (int s = 0; s <= 16; s++) {
        state_rows[s] = 4 * (int64_t)s;
    }
    for (int row = 0; row < 64; row++) {
        const int s = row / 4;
        const bool ends = map[s] == 'H' || map[s] == 'G';
        scales[row] = ends ? 0 : 1;
        for (int side = 3; side <= 5; side++) {
            const int *move = moves[(row + side) % 4];
            const int r = s / 4 + move[0];
            const int c = s % 4 + move[1];
            const int t = ends ? s : 4 * (r < 0 ? 0 : r > 3 ? 3 : r) + (c < 0 ? 0 : c > 3 ? 3 : c);
            P[row * 16 + t] += 1.0 / 3;
            rewards[row * 16 + t] = !ends && t == 15 ? 1 : 0;
        }
    }
    nadir_model_data data;
    nadir_model_data_default(&data);
    data.states = 16;
    data.rows = 64;
    data.discount = 1;
    data.state_rows = state_rows;
    data.dense = P;
    data.transition_rewards = rewards;
    data.initial = initial;
    data.scales = scales;
    assert_ok(context, nadir_model_create(context, &data, &model));
    return model;
}

/* The best for the infinite horizon. */
static nadir_policy *make_lake_policy(nadir_context *context, const nadir_model *model)
{
    static const int actions[16] = {0, 3, 3, 3, 0, 0, 0, 0, 3, 1, 0, 0, 0, 2, 1, 0};
    double probabilities[64] = {0};
    nadir_policy *policy = NULL;
    for (int s = 0; s < 16; s++) {
        probabilities[4 * s + actions[s]] = 1;
    }
    assert_ok(context, nadir_policy_create(context, model, probabilities, &policy));
    return policy;
}

static nadir_robust ask(nadir_context *context, nadir_model *model, int64_t steps, int64_t count,
                        nadir_policy *const *policies, const nadir_ball *ball, bool optimistic)
{
    const double whole = 1;
    nadir_robust_settings settings;
    nadir_robust result = {.size = sizeof result};
    nadir_robust_settings_default(&settings);
    settings.optimistic = optimistic;
    assert_ok(context,
              nadir_horizon_robust(context, model, steps, count, (const nadir_policy *const *)policies, ball,
                                   &settings, 1, &whole, &result, NULL));
    return result;
}

static void test_lake(void **state)
{
    static const struct {
        bool optimal;
        int64_t steps;
        double nominal, radius, worst;
        bool proven;
    } cases[] = {
        {false, 10, 0.0054759979248, 0.02, 0.00521842492423, true},
        {false, 10, 0.0054759979248, 0.1, 0.00428114556542, true},
        {true, 10, 0.037307998442, 0.02, 0.0340555441982, true},
        {true, 50, 0.535552171755, 0.02, 0.509156113961, true},
        {true, 50, 0.535552171755, 0.1, 0.402249502882, false},
    };
    nadir_context *context = *state;
    nadir_model *model = make_lake(context);
    nadir_policy *policies[2] = {NULL, make_lake_policy(context, model)};
    assert_ok(context, nadir_policy_create_uniform(context, model, &policies[0]));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &cases[i].radius, NULL);
        test_note("case %d", (int)i);
        const nadir_robust result =
            ask(context, model, cases[i].steps, 1, &policies[cases[i].optimal], &ball, false);
        assert_close(result.nominal_return, cases[i].nominal, 1e-12);
        assert_close(result.robust_return, cases[i].worst, 1e-12);
        assert_true(result.certified == cases[i].proven);
        assert_true(!cases[i].proven || (strcmp(result.bound, "second-order") == 0 && result.kappa <= 0.5));
        assert_that(result.lower_bound > 0.3 * cases[i].worst, "lower bound %g", result.lower_bound);
    }
    nadir_policy_free(policies[0]);
    nadir_policy_free(policies[1]);
    nadir_model_free(model);
}

/* State 0 pays 1 and stays with probability q; else all is over. The worst kernel takes beta / sqrt(2) from q, also in
 * every other norm: 2^(1/p) times the change is beta. */
static nadir_model *make_chain(nadir_context *context, double q, double discount)
{
    const double P[] = {q, 1 - q, 0, 1};
    const double rewards[] = {1, 0};
    const double initial[] = {1, 0};
    const double scales[] = {1, 0};
    const int64_t state_rows[] = {0, 1, 2};
    nadir_model *model = NULL;
    nadir_model_data data;
    nadir_model_data_default(&data);
    data.states = 2;
    data.rows = 2;
    data.discount = discount;
    data.state_rows = state_rows;
    data.dense = P;
    data.rewards = rewards;
    data.initial = initial;
    data.scales = scales;
    assert_ok(context, nadir_model_create(context, &data, &model));
    return model;
}

static void test_chain(void **state)
{
    static const double norms[] = {1, 1.5, 2, 3, INFINITY};
    static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
    nadir_context *context = *state;
    for (int i = 0; i < 5 * 3 * 2 * 2 * 2; i++) {
        const double p = norms[i % 5];
        const nadir_set set = sets[i / 5 % 3];
        const nadir_domain domain = i / 15 % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const double gamma = i / 30 % 2 == 0 ? 1 : 0.7;
        const bool best = i / 60 == 1;
        const int64_t steps = 1 + 7 * (i % 4);
        const double radius = 0.1;
        nadir_model *model = make_chain(context, 0.6, gamma);
        nadir_policy *policy = NULL;
        assert_ok(context, nadir_policy_create_uniform(context, model, &policy));
        const nadir_ball ball = test_ball(set, domain, p, &radius, NULL);
        const nadir_robust result = ask(context, model, steps, 1, &policy, &ball, best);
        const double change = radius * pow(2, isinf(p) ? 0 : -1 / p);
        double worst = 0;
        for (int64_t n = 0; n < steps; n++) {
            worst += pow(gamma * (0.6 + (best ? change : -change)), (double)n);
        }
        test_note("case %d: %s, %d steps", i, test_ball_name(&ball), (int)steps);
        assert_close(result.robust_return, worst, 1e-13);
        assert_that(result.certified && result.lower_bound <= worst && worst <= result.upper_bound,
                    "bounds %.17g and %.17g, worst %.17g", result.lower_bound, result.upper_bound, worst);
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
}

static void test_gradient(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = make_lake(context);
    const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    enum { STEPS = 6 };
    nadir_random random = test_random(7);
    nadir_policy *policies[STEPS];
    nadir_uncertainty set = {0};
    nadir_horizon horizon = {0};
    nadir_horizon_point point = {0};
    for (int i = 0; i < STEPS; i++) {
        policies[i] = test_policy(context, model, TEST_RANDOM, &random);
    }
    assert_ok(context, nadir_uncertainty_make(context, model, policies[0], &ball, &set));
    assert_ok(context, nadir_horizon_make(context, model, &set, STEPS, STEPS,
                                          (const nadir_policy *const *)policies, false, &horizon));
    assert_ok(context, nadir_horizon_point_make(context, &horizon, &point));
    double *G = test_new(horizon.entries, sizeof *G);
    nadir_horizon_gradient(&horizon, &point, false, G);
    for (int i = 0; i < 300; i++) { /* mass from one successor to another: J is a polynomial */
        const int64_t row = (int64_t)nadir_random_below(&random, 64);
        const int64_t from = horizon.starts[row] + (int64_t)nadir_random_below(&random, 16);
        const int64_t to = horizon.starts[row] + (int64_t)nadir_random_below(&random, 16);
        const double step = 1e-4;
        const double kept[2] = {point.P[from], point.P[to]};
        double J[2];
        for (int side = 0; side < 2; side++) {
            point.P[from] = kept[0];
            point.P[to] = kept[1];
            point.P[from] -= side == 0 ? step : -step;
            point.P[to] += side == 0 ? step : -step;
            nadir_horizon_values(&horizon, &point);
            J[side] = point.J;
        }
        point.P[from] = kept[0];
        point.P[to] = kept[1];
        assert_close((J[0] - J[1]) / (2 * step), G[to] - G[from], 1e-7);
    }
    free(G);
    nadir_horizon_point_clear(context, &point);
    nadir_horizon_clear(context, &horizon);
    nadir_uncertainty_clear(context, &set);
    for (int i = 0; i < STEPS; i++) {
        nadir_policy_free(policies[i]);
    }
    nadir_model_free(model);
}

/* Far steps do not count: the worst return without a horizon. */
static void test_long(void **state)
{
    nadir_context *context = *state;
    const double radius = 0.05;
    for (int i = 0; i < test_often(4); i++) {
        nadir_model *model = NULL;
        nadir_policy *policy = NULL;
        nadir_solver *solver = NULL;
        nadir_generate_settings shape;
        nadir_generate_settings_default(&shape);
        shape.discount = 0.9;
        assert_ok(context, nadir_model_generate(context, i < 2 ? "riverswim" : "machine", &shape, &model));
        assert_ok(context, nadir_policy_create_uniform(context, model, &policy));
        solver = test_solver(context, model, policy);
        const nadir_ball ball = test_ball(
            NADIR_SET_NONRECT, i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
        const nadir_robust infinite = test_robust(context, solver, &ball, NULL, NULL);
        const nadir_robust finite = ask(context, model, 400, 1, &policy, &ball, false);
        const double scale = fabs(infinite.nominal_return);
        test_note("case %d", i);
        assert_close(finite.nominal_return / scale, infinite.nominal_return / scale, 1e-12);
        assert_close(finite.robust_return / scale, infinite.robust_return / scale, 1e-10);
        nadir_solver_free(solver);
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
}

/* One policy, or the same one for each step; the best policies by brute force; and their file. */
static void test_steps(void **state)
{
    enum { STEPS = 8 };
    nadir_context *context = *state;
    const double radius = 0.05;
    const double none = 0;
    nadir_model *model = make_lake(context);
    nadir_policy *same[STEPS];
    nadir_policy *best[STEPS];
    nadir_policy *read[STEPS];
    int64_t count;
    nadir_optimum_result optimum = {.size = sizeof optimum};
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
    const nadir_ball point = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &none, NULL);
    for (int i = 0; i < STEPS; i++) {
        same[i] = make_lake_policy(context, model);
    }
    const nadir_robust one = ask(context, model, STEPS, 1, same, &ball, false);
    const nadir_robust each = ask(context, model, STEPS, STEPS, same, &ball, false);
    assert_close(one.robust_return, each.robust_return, 1e-15);
    assert_close(one.lower_bound, each.lower_bound, 1e-14);
    assert_ok(context, nadir_horizon_optimum(context, model, STEPS, best, &optimum));
    assert_ok(context,
              nadir_policy_write_steps(context, model, STEPS, (const nadir_policy *const *)best, "best.npy"));
    assert_ok(context, nadir_policy_read_steps(context, model, "best.npy", STEPS, read, &count));
    assert_int_equal(count, STEPS);
    const nadir_robust again = ask(context, model, STEPS, STEPS, read, &point, false);
    assert_close(again.nominal_return, optimum.nominal_optimum, 1e-14);
    assert_true(again.certified && strcmp(again.bound, "nominal") == 0);
    assert_true(optimum.lower_bound <= optimum.nominal_optimum &&
                optimum.nominal_optimum <= optimum.upper_bound);
    assert_true(again.nominal_return > one.nominal_return);
    for (int i = 0; i < STEPS; i++) {
        nadir_policy_free(same[i]);
        nadir_policy_free(best[i]);
        nadir_policy_free(read[i]);
    }
    nadir_model_free(model);
}

/* All deterministic policies by step of a tiny model. */
static void test_optimum(void **state)
{
    enum { STEPS = 3, POLICIES = 1 << (2 * STEPS) };
    nadir_context *context = *state;
    nadir_random random = test_random(11);
    const double none = 0;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &none, NULL);
    const int64_t state_rows[] = {0, 2, 4};
    for (int round = 0; round < test_often(5); round++) {
        double P[8];
        double rewards[4];
        double highest = -INFINITY;
        nadir_model *model = NULL;
        nadir_policy *policies[STEPS];
        nadir_optimum_result optimum = {.size = sizeof optimum};
        nadir_model_data data;
        for (int row = 0; row < 4; row++) {
            P[2 * row] = nadir_random_uniform(&random);
            P[2 * row + 1] = 1 - P[2 * row];
            rewards[row] = nadir_random_normal(&random);
        }
        nadir_model_data_default(&data);
        data.states = 2;
        data.rows = 4;
        data.discount = round % 2 == 0 ? 1 : 0.8;
        data.state_rows = state_rows;
        data.dense = P;
        data.rewards = rewards;
        assert_ok(context, nadir_model_create(context, &data, &model));
        for (int choice = 0; choice < POLICIES; choice++) {
            for (int i = 0; i < STEPS; i++) {
                const int a = choice >> (2 * i) & 1;
                const int b = choice >> (2 * i + 1) & 1;
                const double probabilities[] = {1 - a, a, 1 - b, b};
                assert_ok(context, nadir_policy_create(context, model, probabilities, &policies[i]));
            }
            highest = fmax(highest, ask(context, model, STEPS, STEPS, policies, &ball, false).nominal_return);
            for (int i = 0; i < STEPS; i++) {
                nadir_policy_free(policies[i]);
            }
        }
        assert_ok(context, nadir_horizon_optimum(context, model, STEPS, policies, &optimum));
        assert_close(optimum.nominal_optimum, highest, 1e-14);
        for (int i = 0; i < STEPS; i++) {
            nadir_policy_free(policies[i]);
        }
        nadir_model_free(model);
    }
}

static void test_refusals(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = make_lake(context);
    nadir_policy *policy = make_lake_policy(context, model);
    nadir_policy *none[2];
    nadir_solver *solver = NULL;
    int64_t count;
    const double radius = 0.1;
    const double whole = 1;
    const nadir_policy *const policies[] = {policy, policy};
    nadir_robust result = {.size = sizeof result};
    nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    assert_fails(context,
                 nadir_horizon_robust(context, model, 5, 1, policies, &ball, NULL, 1, &whole, &result, NULL),
                 NADIR_ERROR_UNSUPPORTED, "domains simplex and support");
    ball.domain = NADIR_DOMAIN_SUPPORT;
    assert_fails(context,
                 nadir_horizon_robust(context, model, 5, 2, policies, &ball, NULL, 1, &whole, &result, NULL),
                 NADIR_ERROR_POLICY, "one for each of 5");
    assert_fails(context,
                 nadir_horizon_robust(context, model, 0, 1, policies, &ball, NULL, 1, &whole, &result, NULL),
                 NADIR_ERROR_ARGUMENT, "the horizon is 0");
    assert_fails(
        context,
        nadir_horizon_robust(context, model, INT64_MAX, 1, policies, &ball, NULL, 1, &whole, &result, NULL),
        NADIR_ERROR_UNSUPPORTED, "shorter horizon");
    assert_fails(context, nadir_horizon_optimum(context, model, INT64_MAX, NULL, NULL),
                 NADIR_ERROR_UNSUPPORTED, "shorter horizon");
    assert_fails(context, nadir_solver_create(context, model, policy, NULL, &solver), NADIR_ERROR_ILL_POSED,
                 "the discount is 1");
    assert_fails(context, nadir_policy_write_steps(context, model, 2, policies, "steps.csv"),
                 NADIR_ERROR_ARGUMENT, ".npy");
    assert_ok(context, nadir_policy_write_steps(context, model, 2, policies, "steps.npy"));
    assert_fails(context, nadir_policy_read_steps(context, model, "steps.npy", 1, none, &count),
                 NADIR_ERROR_POLICY, "shape (2, 16, 4)");
    nadir_policy_free(policy);
    nadir_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_lake),     test_with_context(test_chain), test_with_context(test_gradient),
        test_with_context(test_long),     test_with_context(test_steps), test_with_context(test_optimum),
        test_with_context(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
