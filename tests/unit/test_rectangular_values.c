/* Values of rectangular sets on the domains simplex and support: known ones, sets in each other, and limits.
 */
#include "support/support.h"

#include "proof/bellman_bound.h"
#include "search/rectangular_policy_iteration.h"
#include "support/golden.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/small_model.h"

#include <math.h>
#include <stdlib.h>

#define TOLERANCE 1e-12

/* Reference values of sets sa, every radius alike. */
typedef struct golden_row {
    int instance; /* of test_goldens */
    nadir_domain domain;
    double radius, p, value;
} golden_row;

static const golden_row golden_rows[] = {
    {0, NADIR_DOMAIN_SIMPLEX, 0.01925, 1, 5.27242333713},
    {0, NADIR_DOMAIN_SUPPORT, 0.01925, 1, 5.27242333713},
    {0, NADIR_DOMAIN_SIMPLEX, 0.01925, 2, 5.24680021111},
    {0, NADIR_DOMAIN_SUPPORT, 0.01925, 2, 5.24680021111},
    {0, NADIR_DOMAIN_SIMPLEX, 0.01925, INFINITY, 5.16212391637},
    {0, NADIR_DOMAIN_SUPPORT, 0.01925, INFINITY, 5.16212391637},
    {1, NADIR_DOMAIN_SIMPLEX, 0.02475, 1, 9.90426295711},
    {1, NADIR_DOMAIN_SUPPORT, 0.02475, 1, 9.90426295711},
    {1, NADIR_DOMAIN_SIMPLEX, 0.02475, 2, 9.69173868421},
    {1, NADIR_DOMAIN_SUPPORT, 0.02475, 2, 9.69173868421},
    {1, NADIR_DOMAIN_SIMPLEX, 0.02475, INFINITY, 8.5416583551},
    {1, NADIR_DOMAIN_SUPPORT, 0.02475, INFINITY, 8.5416583551},
    {2, NADIR_DOMAIN_SIMPLEX, 0.01975, 1, 4.94739101239},
    {2, NADIR_DOMAIN_SUPPORT, 0.01975, 1, 4.95181435423},
    {2, NADIR_DOMAIN_SIMPLEX, 0.01975, 2, 4.91251826728},
    {2, NADIR_DOMAIN_SUPPORT, 0.01975, 2, 4.93199339521},
    {2, NADIR_DOMAIN_SIMPLEX, 0.01975, INFINITY, 4.7976450558},
    {2, NADIR_DOMAIN_SUPPORT, 0.01975, INFINITY, 4.87987481382},
};

static test_problem golden_problem(nadir_context *context, int instance, bool csr, const nadir_ball *ball)
{
    nadir_model *model = test_golden_model(context, &test_goldens[instance], csr);
    return test_problem_make(context, model, test_golden_policy(context, model), ball, NULL, 1);
}

static void test_golden_values(void **state)
{
    nadir_context *context = *state;
    for (size_t i = 0; i < sizeof golden_rows / sizeof *golden_rows; i++) {
        for (int csr = 0; csr < 2; csr++) {
            const golden_row *row = &golden_rows[i];
            test_note("%s, domain %d, p %g, csr %d", test_goldens[row->instance].name, (int)row->domain,
                      row->p, csr);
            const nadir_ball ball = test_ball(NADIR_SET_SA, row->domain, row->p, &row->radius, NULL);
            test_problem made = golden_problem(context, row->instance, csr, &ball);
            const nadir_problem *problem = test_problem_view(&made);
            nadir_candidate attack = {0};
            double lower;
            assert_ok(context,
                      nadir_rectangular_policy_iteration(context, problem, 1, TOLERANCE, 50, &attack));
            assert_close(attack.J / row->value, 1, 1e-11);
            assert_true(attack.converged);
            assert_that(attack.iterations <= 6, "%d iterations", (int)attack.iterations);
            assert_that(attack.gap <= 1e-11, "gap %g", attack.gap);
            assert_ok(context, nadir_rectangular_check(context, problem, 1, attack.v, &lower));
            assert_that(lower <= attack.J && lower >= attack.J - 1e-11 * fabs(attack.J),
                        "lower bound %.17g of %.17g", lower, attack.J);
            nadir_candidate_clear(context, &attack);
            test_problem_clear(&made);
        }
    }
}

static double solved(nadir_context *context, const nadir_problem *problem, double factor)
{
    nadir_candidate attack = {0};
    double lower;
    assert_ok(context, nadir_rectangular_policy_iteration(context, problem, factor, TOLERANCE, 100, &attack));
    assert_ok(context, nadir_rectangular_check(context, problem, factor, attack.v, &lower));
    const double size = fabs(attack.J) + fabs(problem->J);
    assert_that(lower <= attack.J && attack.J - lower <= 1e-9 * size, "%.17g <= %.17g", lower, attack.J);
    const double J = attack.J;
    nadir_candidate_clear(context, &attack);
    return J;
}

/* The sets in each other: larger radii, s in sa, support in simplex, p in a larger p; at p = infinity s and
 * sa and the ball over all rows are the same. */
static void test_nested(void **state)
{
    nadir_context *context = *state;
    const double norms[] = {1, 1.4, 2, 5, INFINITY};
    const double radius = 0.05;
    double smaller_p = INFINITY;
    for (int i = 0; i < 5; i++) {
        double J[2][2]; /* by set, domain */
        test_note("p %g", norms[i]);
        for (int set = 0; set < 2; set++) {
            for (int domain = 0; domain < 2; domain++) {
                const nadir_ball ball = test_ball(set == 0 ? NADIR_SET_S : NADIR_SET_SA,
                                                  domain == 0 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX,
                                                  norms[i], &radius, NULL);
                test_problem made = golden_problem(context, 2, true, &ball);
                const nadir_problem *problem = test_problem_view(&made);
                J[set][domain] = solved(context, problem, 1);
                assert_true(solved(context, problem, 2) < J[set][domain]);
                assert_close(solved(context, problem, 0), problem->J, 1e-14);
                test_problem_clear(&made);
            }
            assert_true(J[set][1] < J[set][0]);
        }
        for (int domain = 0; domain < 2; domain++) {
            if (isinf(norms[i])) {
                assert_close(J[1][domain] / J[0][domain], 1, 1e-12);
            } else {
                assert_true(J[1][domain] < J[0][domain]);
            }
        }
        assert_true(J[1][1] < smaller_p);
        smaller_p = J[1][1];
    }
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, INFINITY, &radius, NULL);
    test_problem made = golden_problem(context, 2, true, &ball);
    assert_close(solved(context, test_problem_view(&made), 1), smaller_p, 1e-12);
    test_problem_clear(&made);
}

/* Rewards of any size give the same kernels; a limit of iterations is no error. */
static void test_limits(void **state)
{
    nadir_context *context = *state;
    const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    test_problem made = golden_problem(context, 2, true, &ball);
    nadir_problem problem = *test_problem_view(&made);
    nadir_candidate attack = {0};
    assert_ok(context, nadir_rectangular_policy_iteration(context, &problem, 1, 0, 1, &attack));
    assert_false(attack.converged);
    assert_int_equal(attack.stop, NADIR_STOP_ITERATIONS);
    assert_int_equal(attack.iterations, 1);
    nadir_candidate_clear(context, &attack);
    assert_ok(context, nadir_rectangular_policy_iteration(context, &problem, 1, 0, 100, &attack));
    assert_true(attack.converged);
    assert_int_equal(attack.stop, NADIR_STOP_STABLE);
    nadir_candidate_clear(context, &attack);
    const double J = solved(context, &problem, 1);
    const double sizes[] = {1e-150, 1e-9, 1e9, 1e150};
    double *numbers = test_new(problem.rows + 2 * problem.states, sizeof *numbers);
    for (int i = 0; i < 4; i++) {
        test_note("rewards of %g", sizes[i]);
        nadir_problem other = problem;
        for (int64_t row = 0; row < problem.rows; row++) {
            numbers[row] = problem.rewards[row] * sizes[i];
        }
        for (int64_t s = 0; s < problem.states; s++) {
            numbers[problem.rows + s] = problem.R[s] * sizes[i];
            numbers[problem.rows + problem.states + s] = problem.v[s] * sizes[i];
        }
        other.rewards = numbers;
        other.R = numbers + problem.rows;
        other.v = other.R + problem.states;
        other.J = problem.J * sizes[i];
        assert_close(solved(context, &other, 1) / sizes[i], J, 1e-12);
    }
    test_note_clear();
    free(numbers);
    test_problem_clear(&made);
}

/* One state, one action, nothing to lose, no discount, all rows pinned. */
static void test_degenerate(void **state)
{
    nadir_context *context = *state;
    const double norms[] = {1, 2, INFINITY, 3};
    for (int i = 0; i < 4; i++) {
        for (int kind = 0; kind < 4; kind++) {
            test_note("p %g, kind %d", norms[i], kind);
            test_small_model small;
            test_small_set(&small);
            const double radius = 0.2;
            const double pinned[] = {0, 0};
            if (kind == 0) { /* one state */
                small.data.states = 1;
                small.data.rows = 1;
                small.row_starts[1] = 1;
                small.columns[0] = 0;
                small.probabilities[0] = 1;
                small.initial[0] = 1;
            }
            small.data.discount = kind == 1 ? 0 : 0.9999;
            small.rewards[0] = kind == 2 ? 2 : 1; /* the same everywhere: values are constant */
            nadir_model *model = test_small_accept(context, &small);
            nadir_policy *policy = test_uniform_policy(context, model);
            const nadir_ball ball = test_ball(i % 2 == 0 ? NADIR_SET_S : NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX,
                                              norms[i], &radius, kind == 3 ? pinned : NULL);
            test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
            const nadir_problem *problem = test_problem_view(&made);
            assert_close(solved(context, problem, 1) / problem->J, 1, 1e-12);
            test_problem_clear(&made);
        }
    }
}

static void test_scarce_memory(void **state)
{
    (void)state;
    const double radius = 0.1;
    for (int i = 0; i < 2; i++) {
        const nadir_ball ball = test_ball(i == 0 ? NADIR_SET_SA : NADIR_SET_S, NADIR_DOMAIN_SIMPLEX,
                                          i == 0 ? 2 : 3, &radius, NULL);
        nadir_status status = NADIR_ERROR_MEMORY;
        for (int64_t limit = 0; status != NADIR_OK; limit++) {
            test_note("set %d, %d allocations", i, (int)limit);
            test_scarce scarce;
            nadir_context *context = test_scarce_context(&scarce);
            test_problem made = golden_problem(context, 2, true, &ball);
            nadir_candidate attack = {0};
            double lower;
            scarce.left = limit;
            status =
                nadir_rectangular_policy_iteration(context, test_problem_view(&made), 1, 1e-6, 100, &attack);
            if (status == NADIR_OK) {
                status = nadir_rectangular_check(context, test_problem_view(&made), 1, attack.v, &lower);
            }
            assert_that(status == NADIR_OK || status == NADIR_ERROR_MEMORY, "status %d: %s", (int)status,
                        nadir_context_error(context));
            assert_true(limit < 2000);
            scarce.left = INT64_MAX;
            nadir_candidate_clear(context, &attack);
            test_problem_clear(&made);
            test_scarce_end(&scarce, context);
        }
    }
    test_note_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_golden_values), test_with_context(test_nested),
        test_with_context(test_limits),        test_with_context(test_degenerate),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
