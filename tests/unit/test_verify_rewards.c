/*
 * test_verify_rewards.c: the least and the most that rewards allow, against quadruple precision: past the
 * exact number by rounding alone, and always on the safe side of it.
 */
#include "support/support.h"

#include "proof/bellman_bound.h"
#include "support/torture.h"

#include <float.h>
#include <math.h>

/* What the sum of a row differs from one by, at most. */
static test_quad exact_stray(const test_oracle *oracle)
{
    test_quad stray = 0;
    for (int64_t row = 0; row < oracle->rows; row++) {
        test_quad sum = -1;
        for (int64_t t = 0; t < oracle->states; t++) {
            sum += oracle->nominal[row * oracle->states + t];
        }
        sum = sum < 0 ? -sum : sum;
        stray = sum > stray ? sum : stray;
    }
    return stray;
}

/* mu . 1 times the least R^pi / (1 - gamma rho sigma) of a state, rewards times sign, sigma from 1 - stray to
 * 1 + stray. */
static test_quad exact_least(const test_oracle *oracle, test_quad stray, double sign)
{
    test_quad least = 0;
    test_quad mass = 0;
    for (int64_t s = 0; s < oracle->states; s++) {
        test_quad reward = 0;
        test_quad rho = 0;
        for (int64_t row = 0; row < oracle->rows; row++) {
            const test_quad pi = oracle->row_states[row] == s ? oracle->policy[row] : 0;
            reward += pi * (test_quad)(sign * oracle->rewards[row]);
            rho += pi;
        }
        const test_quad sigma = reward < 0 ? 1 + stray : 1 - stray;
        const test_quad w = reward / (1 - (test_quad)oracle->gamma * rho * sigma);
        least = s == 0 || w < least ? w : least;
        mass += oracle->mu[s];
    }
    return mass * least;
}

/* lower: at most the exact number; that of rows whose sums are less well known, by `stray`, it misses by so
 * many roundings. */
static void check_side(const test_oracle *oracle, double stray, double sign, int roundings, double lower)
{
    const test_quad exact = exact_least(oracle, exact_stray(oracle), sign);
    const test_quad known = exact_least(oracle, stray, sign);
    const test_quad gap = 1 - (test_quad)oracle->gamma;
    const test_quad largest = test_torture_largest(oracle);
    const test_quad off = (test_quad)DBL_EPSILON * roundings * largest + 64 * (test_quad)DBL_TRUE_MIN / gap;
    const test_quad slack = (test_quad)1e-30 * largest;
    assert_that(!isnan(lower) && lower <= exact + slack, "%.17g is above %.20Lg", lower, (long double)exact);
    assert_that(lower >= known - off || largest > 1e307, "%.17g is far below %.20Lg", lower,
                (long double)known);
}

/* Numbers that sum to one but for rounding. */
static void share_roughly(nadir_random *random, int64_t count, double *weights)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        weights[i] = nadir_random_uniform(random);
        sum += weights[i];
    }
    for (int64_t i = 0; i < count; i++) {
        weights[i] /= sum;
    }
}

/* Policy and initial distribution of the model become such numbers. */
static void roughen(nadir_context *context, nadir_random *random, test_torture *made)
{
    double weights[TEST_TORTURE_ROWS];
    const int64_t *state_rows = made->model->state_rows;
    for (int64_t s = 0; s < made->model->states; s++) {
        share_roughly(random, state_rows[s + 1] - state_rows[s], weights + state_rows[s]);
    }
    share_roughly(random, made->model->states, made->model->initial);
    nadir_policy_free(made->policy);
    made->policy = NULL;
    assert_ok(context, nadir_policy_create(context, made->model, weights, &made->policy));
}

static void against_quadruple_precision(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < 1000; i++) {
        test_torture made;
        double lower;
        double upper;
        nadir_random random = test_random(90210 + (uint64_t)i);
        test_torture_make(context, &random, &made);
        if (i % 2 == 1) {
            roughen(context, &random, &made);
        }
        const nadir_problem problem = {
            .model = made.model,
            .policy = made.policy,
            .states = made.model->states,
            .rows = made.model->rows,
            .gamma = made.model->discount,
            .sign = 1,
            .rewards = made.model->rewards,
            .mu = made.model->initial,
        };
        test_oracle oracle = test_oracle_make(made.model, made.policy, &made.ball);
        test_note("problem %d: %s", i, made.name);
        const nadir_row_limits *limits = &made.model->limits;
        const double stray = fmax(1 - limits->sum_low, limits->sum_high - 1);
        nadir_reward_bounds(context, &problem, 0, &lower, &upper);
        check_side(&oracle, stray, 1, 32, lower);
        check_side(&oracle, stray, -1, 32, -upper);
        test_oracle_clear(&oracle);
        test_torture_clear(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(against_quadruple_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
