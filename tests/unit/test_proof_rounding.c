/*
 * Bounds that have to hold to the last digit, against quadruple precision: sums that lose digits by cancellation, gaps
 * 1 - gamma that are as small as rounding, averages over thousands of actions. Each would be wrong about every second
 * time without the roundings that it pays for.
 */
#include "support/support.h"

#include "linalg/vector.h"
#include "model/landing.h"
#include "proof/bellman_bound.h"
#include "proof/occupancy_bounds.h"
#include "proof/perturbable_rows.h"
#include "proof/verified_solve.h"
#include "support/landing.h"
#include "support/problem.h"
#include "support/quad.h"
#include "support/reference.h"
#include "support/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 7071

enum { CASES = 400, MOST = 8 };

/* A model of n states with `actions` rows each, random numbers that need all digits, and the policy: [rows]. */
static nadir_model *draw_model(nadir_context *context, nadir_random *random, int64_t n, int64_t actions,
                               double gamma, nadir_policy **policy)
{
    nadir_model_data data = test_model_data();
    const int64_t rows = n * actions;
    int64_t *state_rows = test_new(n + 1, sizeof *state_rows);
    double *P = test_new(rows * n, sizeof *P);
    double *rewards = test_new(2 * rows, sizeof *rewards);
    double *pi = rewards + rows;
    for (int64_t s = 0; s <= n; s++) {
        state_rows[s] = s * actions;
    }
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            P[row * n + t] = 0.1 + nadir_random_uniform(random);
            sum += P[row * n + t];
        }
        for (int64_t t = 0; t < n; t++) {
            P[row * n + t] /= sum;
        }
        rewards[row] = nadir_random_normal(random);
        pi[row] = 1 / (double)actions;
    }
    data.states = n;
    data.rows = rows;
    data.discount = gamma;
    data.state_rows = state_rows;
    data.dense = P;
    data.rewards = rewards;
    nadir_model *model = test_create_model(context, &data);
    assert_ok(context, nadir_policy_create(context, model, pi, policy));
    free(state_rows);
    free(P);
    free(rewards);
    return model;
}

/* The sum of pi over the actions of a state, which is one but for rounding. */
static test_quad sum_of_policy(const nadir_problem *problem, int64_t s)
{
    test_quad rho = 0;
    for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
        rho += problem->policy->probabilities[row];
    }
    return rho;
}

/* sum of d_P <= mu . 1 / (1 - gamma max rho). */
static void check_total(nadir_context *context, const nadir_problem *problem, const test_oracle *oracle)
{
    const double total = nadir_expansion_point_total(context, problem);
    test_quad high = 0;
    test_quad mass = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const test_quad rho = sum_of_policy(problem, s);
        high = rho > high ? rho : high;
        mass += oracle->mu[s];
    }
    assert_that((test_quad)total * (1 - problem->gamma * high) >= mass, "occupancies sum to %.17g at most",
                total);
}

/* One state: D 1 = 1 / (1 - gamma sum of pi P), from the averages. */
static void check_constant(nadir_context *context, const nadir_problem *problem, const test_oracle *oracle)
{
    const nadir_verified_solver known = nadir_verified_solver_make(context, problem);
    const double one = 1;
    double x;
    test_quad stay = 0;
    nadir_solve_error error;
    assert_ok(context, nadir_verified_solve(context, problem, &known, false, &one, 0, NULL, 0, &x, &error));
    for (int64_t row = 0; row < oracle->rows; row++) {
        stay += (test_quad)oracle->policy[row] * oracle->nominal[row];
    }
    const test_quad off = test_quad_absolute(x - 1 / (1 - problem->gamma * stay));
    assert_that(off <= error.error, "D 1 is off by %g, known to %g", (double)off, error.error);
}

/* v, d, solves and bounds from rows, of averages over many actions, next to gamma = 1 or not. */
static void test_averages(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < CASES; i++) {
        static const int64_t actions[] = {1, 3, 30, 3000};
        const int64_t n = 1 + i / 4 % 2;
        const double gamma = 1 - pow(10, -1 - 6 * nadir_random_uniform(&random));
        const double radius = 0.01;
        nadir_policy *policy = NULL;
        nadir_model *model =
            draw_model(context, &random, n, i % 16 == 15 ? actions[3] : actions[i % 3], gamma, &policy);
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
        test_oracle oracle = test_oracle_make(model, policy, &ball);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        test_quad *nominal = test_quad_nominal(&oracle);
        test_quad v[2];
        test_quad d[2];
        test_quad J;
        test_note("seed %d, case %d, %d states, %d rows, 1 - gamma = %g", SEED, i, (int)n, (int)model->rows,
                  1 - gamma);
        assert_true(test_quad_return(&oracle, nominal, v, d, &J));
        for (int64_t s = 0; s < n; s++) {
            assert_that(test_quad_absolute(problem->v[s] - v[s]) <= problem->v_error,
                        "v is off by %g, known to %g", (double)test_quad_absolute(problem->v[s] - v[s]),
                        problem->v_error);
            assert_that(test_quad_absolute(problem->d[s] - d[s]) <= problem->d_error,
                        "d is off by %g, known to %g", (double)test_quad_absolute(problem->d[s] - d[s]),
                        problem->d_error);
        }
        assert_that(test_quad_absolute(problem->J - J) <= problem->J_error, "J is off by %g, known to %g",
                    (double)test_quad_absolute(problem->J - J), problem->J_error);
        check_total(context, problem, &oracle);
        if (n == 1) {
            check_constant(context, problem, &oracle);
        }
        free(nominal);
        test_oracle_clear(&oracle);
        test_problem_clear(&made);
    }
}

/* One state: bounds from a v that is next to right, and from rewards, are about as wide as rounding. */
static void test_one_state(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    for (int i = 0; i < 4 * CASES; i++) {
        const double gamma = 1 - pow(10, -1 - 8 * nadir_random_uniform(&random));
        const double radius = 0.01;
        nadir_policy *policy = NULL;
        nadir_model *model = draw_model(context, &random, 1, 1, gamma, &policy);
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        const test_quad J = (test_quad)problem->rewards[0] / (1 - (test_quad)gamma);
        const double v = (double)J * (1 + 1e-13 * nadir_random_normal(&random));
        const double none = 0;
        nadir_value_check check;
        double lower;
        test_note("seed %d, case %d, 1 - gamma = %g", SEED, i, 1 - gamma);
        assert_ok(context, nadir_value_check_rows(context, problem->kernel, policy, gamma, &v, &check));
        assert_that((test_quad)check.lower <= J && J <= (test_quad)check.upper,
                    "%.17g is not in [%.17g, %.17g]", (double)J, check.lower, check.upper);
        assert_ok(context, nadir_bellman_bound(context, problem, &v, &none, &lower));
        assert_that((test_quad)lower <= J, "%.17g is below %.17g", (double)J, lower);
        const test_quad total = 1 / (1 - (test_quad)gamma);
        assert_that((test_quad)nadir_expansion_point_total(context, problem) >= total, "%.17g is below %.17g",
                    nadir_expansion_point_total(context, problem), (double)total);
        test_problem_clear(&made);
    }
}

/* What is left of T beside the low ones goes to the one state that counts. */
static void test_knapsack(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 2);
    for (int i = 0; i < CASES; i++) {
        double low[MOST];
        double high[MOST];
        double value[MOST] = {0};
        double most;
        test_quad left = 0;
        nadir_occupancy_bounds bounds = {.states = MOST, .low = low, .high = high};
        low[0] = 0;
        value[0] = 1;
        for (int s = 1; s < MOST; s++) {
            low[s] = nadir_random_uniform(&random);
            bounds.total += low[s];
        }
        bounds.total *= 1 + pow(10, -15 + 6 * nadir_random_uniform(&random));
        for (int s = 0; s < MOST; s++) {
            high[s] = bounds.total;
            left -= low[s];
        }
        left += bounds.total;
        test_note("seed %d, case %d, %g left of %g", SEED, i, (double)left, bounds.total);
        assert_ok(context, nadir_occupancy_bounds_most(context, &bounds, value, &most));
        assert_that((test_quad)most >= left, "%.17g is below %.17g", most, (double)left);
    }
}

/* (alpha pi)^2 min over c of sum of (g - c)^2 / omega, where g is far from zero and nearly constant. */
static void check_weighted(nadir_context *context, nadir_random *random, const nadir_perturbable_rows *rows,
                           const double *g)
{
    const int64_t n = rows->states;
    double inverse[MOST * MOST];
    double both[MOST];
    for (int64_t e = 0; e < rows->entries; e++) {
        inverse[e] = 0.1 + 0.9 * nadir_random_uniform(random);
    }
    assert_ok(context, nadir_sensitivity_weighted(context, rows, inverse, 1, g, both));
    for (int64_t s = 0; s < n; s++) {
        test_quad mass = 0;
        test_quad mean = 0;
        test_quad square = 0;
        for (int64_t j = 0; j < n; j++) {
            mass += inverse[s * n + j];
            mean += (test_quad)inverse[s * n + j] * g[j];
        }
        for (int64_t j = 0; j < n; j++) {
            const test_quad far = g[j] - mean / mass;
            square += far * far * inverse[s * n + j];
        }
        assert_that((test_quad)both[s] >= square, "weighted: %.17g is below %.17g", both[s], (double)square);
    }
}

/* The least, over c, of the sum of (g - c)^2 where X > 0, and where it is 0 and g > c: a convex function of c. */
static test_quad one_sided(int64_t n, const double *X, const double *g, double sign)
{
    test_quad low = -1e6;
    test_quad high = 1e6;
    test_quad square = 0;
    for (int step = 0; step < 200; step++) {
        const test_quad c = (low + high) / 2;
        test_quad slope = 0;
        square = 0;
        for (int64_t j = 0; j < n; j++) {
            const test_quad far = sign * (test_quad)g[j] - c;
            if (X[j] > 0 || far > 0) {
                slope += far;
                square += far * far;
            }
        }
        if (slope > 0) {
            low = c;
        } else {
            high = c;
        }
    }
    return square;
}

static void test_sensitivity(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 3);
    for (int i = 0; i < CASES; i++) {
        const double radius = 0.1;
        nadir_policy *policy = NULL;
        nadir_model *model = draw_model(context, &random, MOST, 1, 0.9, &policy);
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        nadir_perturbable_rows rows = {0};
        nadir_sensitivity sensitivity = {0};
        double X[MOST * MOST];
        double g[MOST];
        double up[MOST];
        double down[MOST];
        assert_ok(context, nadir_perturbable_rows_make(context, test_problem_view(&made), &rows));
        assert_true(rows.columns == NULL && rows.entries == MOST * MOST);
        test_note("seed %d, case %d", SEED, i);
        for (int64_t t = 0; t < MOST; t++) {
            g[t] = 1 + pow(10, -4 - 6 * nadir_random_uniform(&random)) * nadir_random_normal(&random);
        }
        check_weighted(context, &random, &rows, g);
        for (int64_t e = 0; e < MOST * MOST;
             e++) { /* few positive entries, next to each other in g; two far from them */
            const int64_t t = e % MOST;
            X[e] = t > 1 && t < 5 ? 1.0 / 3 : 0;
            g[t] = t == 0 ? -1 : t == 1 ? -0.7 : 1 + 0x1p-50 * (double)nadir_random_below(&random, 8);
        }
        assert_ok(context, nadir_sensitivity_make(context, &rows, X, &sensitivity));
        assert_ok(context, nadir_sensitivity_tables(context, &sensitivity, 1, g, up, down));
        for (int64_t s = 0; s < MOST; s++) {
            const test_quad above = one_sided(MOST, X + s * MOST, g, 1);
            const test_quad below = one_sided(MOST, X + s * MOST, g, -1);
            assert_that((test_quad)up[s] >= above, "up: %.17g is below %.17g", up[s], (double)above);
            assert_that((test_quad)down[s] >= below, "down: %.17g is below %.17g", down[s], (double)below);
        }
        nadir_sensitivity_clear(context, &sensitivity);
        nadir_perturbable_rows_clear(context, &rows);
        test_problem_clear(&made);
    }
}

/* Rewards on landing: a bound on returns with shaped rewards, as good as can be, is one on returns as the user has them. */
static void test_landing_bounds(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 4);
    for (int i = 0; i < CASES; i++) {
        const int64_t n = 2 + i % 3;
        test_landing draft = test_landing_start(n, 1, 1 - pow(10, -3 * nadir_random_uniform(&random)) / 2);
        const double radius = 0.1;
        double base[MOST];
        double g[MOST];
        for (int64_t s = 0; s < n; s++) {
            base[s] = nadir_random_normal(&random);
            g[s] = 100 * nadir_random_normal(&random);
            draft.mu[s] = 0;
        }
        draft.mu[0] = 1;
        for (int64_t e = 0; e < n * n; e++) { /* rows of 32nds, which sum to one */
            draft.kernel[e] = e % n == 0 ? 1 - (double)(n - 1) * 5 / 32 : 5.0 / 32;
            draft.paid[e] = base[e / n] + g[e % n];
        }
        nadir_model *model = test_landing_model(context, &draft, false, NADIR_UNSEEN_ROW, 0);
        nadir_policy *policy = test_uniform_policy(context, model);
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
        test_oracle oracle = test_oracle_make(model, policy, &ball);
        test_quad *nominal = test_quad_nominal(&oracle);
        test_quad J;
        test_quad shaped;
        test_note("seed %d, case %d, discount %.17g", SEED, i, draft.discount);
        assert_non_null(oracle.paid);
        assert_true(test_quad_return(&oracle, nominal, NULL, NULL, &J));
        test_oracle other = oracle;
        other.paid = NULL;
        other.rewards = model->shaped;
        assert_true(test_quad_return(&other, nominal, NULL, NULL, &shaped));
        const double near = (double)shaped;
        const double lower = (test_quad)near <= shaped ? near : nextafter(near, -INFINITY);
        const double upper = (test_quad)near >= shaped ? near : nextafter(near, INFINITY);
        assert_that((test_quad)nadir_landing_lower(model, lower) <= J, "%.17g is below %.17g", (double)J,
                    nadir_landing_lower(model, lower));
        assert_that((test_quad)nadir_landing_upper(model, upper) >= J, "%.17g is above %.17g", (double)J,
                    nadir_landing_upper(model, upper));
        free(nominal);
        test_oracle_clear(&oracle);
        nadir_policy_free(policy);
        nadir_model_free(model);
        test_landing_clear(&draft);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_averages),       test_with_context(test_one_state),
        test_with_context(test_knapsack),       test_with_context(test_sensitivity),
        test_with_context(test_landing_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
