/*
 * test_valid_traps.c: models on which a search over valid kernels, or a proof, is easily fooled: states that
 * nobody visits until the adversary sends them there.
 */
#include "support/support.h"

#include "support/robust.h"

#include <math.h>

/* One action in each state; P: [states * states]. */
static nadir_model *make_model(nadir_context *context, int64_t states, const double *P, const double *rewards,
                               double discount)
{
    nadir_model *model = NULL;
    int64_t state_rows[8];
    double initial[8] = {1};
    nadir_model_data data = test_model_data();
    for (int64_t s = 0; s <= states; s++) {
        state_rows[s] = s;
    }
    data.states = states;
    data.rows = states;
    data.discount = discount;
    data.state_rows = state_rows;
    data.dense = P;
    data.rewards = rewards;
    data.initial = initial;
    assert_ok(context, nadir_model_create(context, &data, &model));
    return model;
}

static nadir_robust evaluate(nadir_context *context, nadir_model *model, nadir_domain domain, double radius)
{
    nadir_policy *policy = test_uniform_policy(context, model);
    nadir_solver *solver = test_solver(context, model, policy);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, &radius, NULL);
    const nadir_robust result = test_robust(context, solver, &ball, NULL, NULL);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    return result;
}

/* The policy stays in state 0 for ever at a small cost; state 1 costs most, 2 and 3 less than 0 in the long
 * run. To first order nothing is gained by leaving 0: d = 0 elsewhere, and all states but 0 look better. Once
 * it is sent away, though, the adversary can keep it in state 1. */
static void test_unvisited_states(void **state)
{
    const double P[16] = {1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0};
    const double rewards[4] = {-0.09, -3, -0.05, -0.05};
    const double radii[3] = {0.3, 0.6, 1};
    const double attained[3] = {-40.22, -73.24, -121.46};
    nadir_context *context = *state;
    nadir_model *model = make_model(context, 4, P, rewards, 0.99);
    for (int i = 0; i < 3; i++) {
        const nadir_robust result = evaluate(context, model, NADIR_DOMAIN_SIMPLEX, radii[i]);
        assert_close(result.nominal_return, -9, 1e-12);
        assert_that(result.robust_return <= attained[i] + 0.01, "radius %g: %.10g, but %g is attained",
                    radii[i], result.robust_return, attained[i]);
        assert_that(result.lower_bound <= result.robust_return, "radius %g", radii[i]);
    }
    nadir_model_free(model);
}

/* Taking all of 0's way to 1 away is stationary: then nobody visits 1, whose own row could do far worse. */
static void test_abandoned_states(void **state)
{
    const double P[25] = {0.6, 0.1, 0, 0, 0.3, 0, 0, 0.55, 0.45, 0, 0, 0, 1,
                          0,   0,   0, 0, 0,   1, 0, 1,    0,    0, 0, 0};
    const double rewards[5] = {0, 0, 50, -50, -0.1};
    const double radii[4] = {0.2, 0.25, 0.3, 0.4};
    const double attained[4] = {-1.035884, -1.592, -2.238, -3.786};
    nadir_context *context = *state;
    nadir_model *model = make_model(context, 5, P, rewards, 0.5);
    for (int i = 0; i < 4; i++) {
        const nadir_robust result = evaluate(context, model, NADIR_DOMAIN_SUPPORT, radii[i]);
        assert_that(result.robust_return <= attained[i] + 1e-3, "radius %g: %.10g, but %g is attained",
                    radii[i], result.robust_return, attained[i]);
        assert_that(result.lower_bound <= attained[i] + 1e-3, "radius %g: proven %.10g, but %g is attained",
                    radii[i], result.lower_bound, attained[i]);
    }
    nadir_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_unvisited_states),
        test_with_context(test_abandoned_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
