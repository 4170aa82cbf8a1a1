/*
 * Tests of the L_1 ball on the free domain: the enumeration against golden values, all columns by brute force and
 * random kernels of the ball; its bounds, the breakdown radius, and how few columns it takes.
 */
#include "support/support.h"

#include "proof/free_bounds.h"
#include "search/free_search.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/golden.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/standard.h"
#include "support/tiny.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 161803

static test_problem golden_problem(nadir_context *context, int instance, bool csr, double radius)
{
    nadir_model *model = test_golden_model(context, &test_goldens[instance], csr);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1, &radius, NULL);
    return test_problem_make(context, model, test_golden_policy(context, model), &ball, NULL, 1);
}

static void test_golden_values(void **state)
{
    const double radii[] = {0.077, 0.099, 0.079};
    const double values[] = {5.29884806619, 9.98924440776, 4.97573291374};
    nadir_context *context = *state;
    for (int i = 0; i < 6; i++) {
        const int golden = i / 2;
        test_problem made = golden_problem(context, golden, i % 2 == 1, radii[golden]);
        nadir_candidate attack = {0};
        nadir_l1_enumeration_bounds facts;
        double high;
        test_note("%s", test_goldens[golden].name);
        assert_ok(context, nadir_l1_enumeration_solve(context, test_problem_view(&made), false, 1,
                                                      &radii[golden], &attack, &facts));
        assert_close(attack.J, values[golden], 1e-11);
        assert_true(attack.converged);
        assert_ok(context, nadir_l1_bound(context, &made.problem, radii[golden], attack.lambda, &high));
        assert_true(high >= attack.lambda);
        assert_close(high / attack.lambda, 1, 1e-9);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

/* Everything by its definition, in long double. */
typedef struct truth {
    int64_t states;
    long double *D;     /* [states * states] column after column */
    long double *v;     /* [states] */
    long double *d;     /* [states] */
    double *weight;     /* [states] gamma W */
    long double widest; /* max_s gamma W_s halfrange(D e_s) */
} truth;

static truth find_truth(const nadir_problem *problem)
{
    const int64_t n = problem->states;
    const double *pi = problem->policy->probabilities;
    double *dense = test_dense_kernel(problem->model);
    long double *average = test_dense_average(problem->model, dense, pi);
    test_system system = test_system_make(n, average, problem->gamma);
    truth found = {n,
                   test_new(n * n, sizeof *found.D),
                   test_new(n, sizeof *found.v),
                   test_new(n, sizeof *found.d),
                   test_new(n, sizeof *found.weight),
                   0};
    double *unit = test_new(n, sizeof *unit);
    test_system_solve(&system, false, problem->R, found.v);
    test_system_solve(&system, true, problem->mu, found.d);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            const double scale = nadir_uncertainty_scale(problem->uncertainty, row);
            found.weight[s] = fmax(found.weight[s], problem->gamma * scale * pi[row]);
        }
        unit[s] = 1;
        test_system_solve(&system, false, unit, found.D + s * n);
        unit[s] = 0;
        long double high = -INFINITY;
        long double low = INFINITY;
        for (int64_t t = 0; t < n; t++) {
            high = fmaxl(high, found.D[s * n + t]);
            low = fminl(low, found.D[s * n + t]);
        }
        found.widest = fmaxl(found.widest, found.weight[s] * (high - low) / 2);
    }
    test_system_clear(&system);
    free(dense);
    free(average);
    free(unit);
    return found;
}

static void clear_truth(truth *found)
{
    free(found->D);
    free(found->v);
    free(found->d);
    free(found->weight);
}

/* F(lambda) */
static long double largest_push(const truth *of, double radius, long double lambda)
{
    const int64_t n = of->states;
    long double most = 0;
    for (int64_t s = 0; s < n; s++) {
        long double high = -INFINITY;
        long double low = INFINITY;
        for (int64_t t = 0; t < n; t++) {
            const long double z = of->d[s] * of->v[t] - lambda * of->D[s * n + t];
            high = fmaxl(high, z);
            low = fminl(low, z);
        }
        most = fmaxl(most, radius * of->weight[s] * (high - low) / 2);
    }
    return most;
}

/* The root of F(lambda) = lambda by bisection. */
static double find_penalty(const truth *of, double radius)
{
    long double low = 0;
    long double high = 1;
    while (largest_push(of, radius, high) > high) {
        high *= 2;
    }
    for (int step = 0; step < 120; step++) {
        const long double middle = (low + high) / 2;
        if (largest_push(of, radius, middle) > middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (double)low;
}

static test_problem random_problem(nadir_context *context, nadir_random *random, int i)
{
    const double discounts[] = {0.5, 0.9, 0.99};
    nadir_model *model;
    if (i % 4 == 0) {
        model = test_families[(i / 4) % TEST_FAMILIES].make(context, random);
    } else {
        const int64_t states = 2 + (int64_t)nadir_random_below(random, 5);
        model = test_tiny_model(context, random, states, discounts[i % 3], 0.6);
    }
    double *scales = test_tiny_scales(random, model);
    const double radius = 1;
    const nadir_ball ball =
        test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1, &radius, i % 3 == 0 ? NULL : scales);
    nadir_policy *policy = test_policy(context, model, (test_choice)(i % TEST_CHOICES), random);
    test_problem made = test_problem_make(context, model, policy, &ball, NULL, i % 5 == 0 ? -1 : 1);
    free(scales);
    return made;
}

enum { RADII = 4 };

static void compare_with_truth(nadir_context *context, const nadir_problem *problem, const truth *of,
                               const double *radii, bool exact)
{
    nadir_candidate attacks[RADII] = {{0}};
    nadir_l1_enumeration_bounds facts;
    const double breakdown = (double)(1 / of->widest);
    assert_ok(context, nadir_l1_enumeration_solve(context, problem, exact, RADII, radii, attacks, &facts));
    for (int i = 0; i < RADII; i++) {
        const double penalty = find_penalty(of, radii[i]);
        double *entries = test_kernel_entries(context, attacks[i].kernel);
        nadir_uncertainty set = *problem->uncertainty;
        nadir_problem ball = *problem;
        double high;
        set.radius = radii[i];
        ball.uncertainty = &set;
        assert_close(attacks[i].lambda, penalty, 1e-10);
        assert_close(attacks[i].J, (double)test_return(problem, entries), 1e-10);
        test_assert_in_set(&ball, entries, 1);
        assert_true(facts.breakdown_low <= breakdown * (1 + 1e-15));
        assert_that(!exact || facts.breakdown_low >= breakdown * (1 - 1e-10), "breakdown is %.17g, not %.17g",
                    facts.breakdown_low, breakdown);
        for (int wrong = 0; wrong < 2; wrong++) { /* what was found is proven again, a wrong claim is not */
            double low;
            const double claimed = wrong ? 1.5 * breakdown : facts.breakdown_low;
            assert_ok(context, nadir_l1_breakdown_low(context, problem, claimed, &low));
            assert_that(low <= breakdown * (1 + 1e-15) && (wrong || low >= claimed * (1 - 1e-10)),
                        "breakdown is %.17g, proven %.17g, claimed %.17g", breakdown, low, claimed);
        }
        assert_ok(context, nadir_l1_bound(context, problem, radii[i], attacks[i].lambda, &high));
        assert_that(high >= penalty * (1 - 1e-15), "the bound is %.17g, the penalty %.17g", high, penalty);
        assert_close(high, penalty, 1e-8);
        assert_ok(context, nadir_l1_bound(context, problem, radii[i], attacks[i].lambda / 2, &high));
        assert_true(high >= penalty * (1 - 1e-15)); /* a claim that is wrong is not confirmed */
        free(entries);
        nadir_candidate_clear(context, &attacks[i]);
    }
}

static void test_brute_force(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < test_often(60); i++) {
        test_problem made = random_problem(context, &random, i);
        const nadir_problem *problem = test_problem_view(&made);
        truth of = find_truth(problem);
        const double breakdown = of.widest > 0 ? (double)(1 / of.widest) : 100;
        const double radii[RADII] = {0.01 * breakdown, 0.9 * breakdown, 0, 0.3 * breakdown};
        test_note("case %d, %lld states, seed %d", i, (long long)problem->states, SEED);
        compare_with_truth(context, problem, &of, radii, i % 2 == 0);
        clear_truth(&of);
        test_problem_clear(&made);
    }
}

/* No kernel of the ball does worse. */
static void test_random_kernels(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    for (int i = 1; i < 30; i += 1 + (i % 4 == 3)) { /* the tiny ones */
        test_problem made = random_problem(context, &random, i);
        const nadir_problem *problem = test_problem_view(&made);
        truth of = find_truth(problem);
        const double radius = 0.6 / fmax((double)of.widest, 1e-3);
        double *kernel = test_new(problem->rows * problem->states, sizeof *kernel);
        nadir_candidate attack = {0};
        nadir_l1_enumeration_bounds facts;
        double high;
        assert_ok(context, nadir_l1_enumeration_solve(context, problem, false, 1, &radius, &attack, &facts));
        assert_ok(context, nadir_l1_bound(context, problem, radius, attack.lambda, &high));
        for (int trial = 0; trial < test_often(100); trial++) {
            test_random_kernel(problem, &random, radius, kernel); /* the problem's own radius is 1 */
            const double J = (double)test_return(problem, kernel);
            assert_that(J >= problem->J - high, "J is %.17g, below %.17g (case %d, seed %d)", J,
                        problem->J - high, i, SEED + 1);
        }
        free(kernel);
        nadir_candidate_clear(context, &attack);
        clear_truth(&of);
        test_problem_clear(&made);
    }
}

static void test_breakdown(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < TEST_GOLDEN; i++) {
        test_problem made = golden_problem(context, i, false, 1);
        const nadir_problem *problem = test_problem_view(&made);
        truth of = find_truth(problem);
        const double breakdown = (double)(1 / of.widest);
        const double factors[] = {1 - 1e-9, 1, 1 + 1e-9, 5};
        for (int j = 0; j < 4; j++) {
            const double radius = breakdown * factors[j];
            nadir_candidate attack = {0};
            nadir_l1_enumeration_bounds facts;
            double high;
            const nadir_status status =
                nadir_l1_enumeration_solve(context, problem, false, 1, &radius, &attack, &facts);
            test_note("%s, breakdown times 1 + %g", test_goldens[i].name, factors[j] - 1);
            if (j == 0) {
                assert_ok(context, status);
                assert_true(attack.lambda > 0);
            } else {
                assert_fails(context, status, NADIR_ERROR_ILL_POSED, "at or past breakdown, ");
                const char *number = strstr(nadir_context_error(context), "breakdown, ");
                assert_close(strtod(number + strlen("breakdown, "), NULL) / breakdown, 1, 1e-9);
                assert_null(attack.kernel);
            }
            assert_ok(context, nadir_l1_bound(context, problem, radius, 1, &high));
            assert_true(isinf(high) == (j > 0));
            nadir_candidate_clear(context, &attack);
        }
        clear_truth(&of);
        test_problem_clear(&made);
    }
}

/* A generated model under the uniform policy. */
static test_problem generated_problem(nadir_context *context, const char *kind, double radius)
{
    nadir_generate_settings settings = test_generate_settings();
    const bool grid = strcmp(kind, "gridworld") == 0;
    settings.states = grid ? 0 : 2000;
    settings.width = grid ? 40 : 0;
    settings.height = grid ? 30 : 0;
    nadir_model *drawn = test_generate(context, kind, &settings);
    nadir_model_data data = test_view(drawn);
    data.transition_rewards = NULL;
    data.scales = NULL; /* rows of the goal may move, too: its column is the one to find */
    nadir_model *model = test_create_model(context, &data);
    nadir_model_free(drawn);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1, &radius, NULL);
    nadir_policy *policy = test_uniform_policy(context, model);
    return test_problem_make(context, model, policy, &ball, grid ? "klu" : "krylov", 1);
}

static int64_t solves_of(const test_problem *made)
{
    nadir_backend_statistics statistics;
    nadir_occupancy_statistics(made->occupancy, &statistics);
    return statistics.solves;
}

/* The bounds leave few columns to form, in the search as in the check. */
static void test_few_columns(void **state)
{
    const struct {
        const char *kind;
        double radius;
        double share, check_share;
    } cases[] = {{"garnet", 0.05, 0.02, 0.02}, {"garnet", 0.3, 0.02, 0.1}, {"gridworld", 0.05, 0.02, 0.02}};
    nadir_context *context = *state;
    for (size_t i = 0; i < 3; i++) {
        const double radius = cases[i].radius;
        test_problem made = generated_problem(context, cases[i].kind, radius);
        const nadir_problem *problem = test_problem_view(&made);
        const double states = (double)problem->states;
        nadir_candidate attack = {0};
        nadir_l1_enumeration_bounds facts;
        double high;
        test_note("%s, radius %g", cases[i].kind, radius);
        assert_ok(context, nadir_l1_enumeration_solve(context, problem, false, 1, &radius, &attack, &facts));
        assert_that((double)facts.columns <= cases[i].share * states, "%lld columns of %lld",
                    (long long)facts.columns, (long long)problem->states);
        assert_true(facts.breakdown_low > radius);
        const int64_t before = solves_of(&made);
        assert_ok(context, nadir_l1_bound(context, problem, radius, attack.lambda, &high));
        const int64_t solves = solves_of(&made) - before;
        assert_that((double)solves <= cases[i].check_share * states, "the check made %lld solves",
                    (long long)solves);
        assert_close(high / attack.lambda, 1, 1e-6);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

/* Columns that were skipped would have changed nothing: all of them, by a bound that skips none. */
static void test_skipped_columns(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 2);
    nadir_model *model = test_families[1].make(context, &random); /* 40 states */
    const double radius = 1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1, &radius, NULL);
    nadir_policy *policy = test_policy(context, model, TEST_RANDOM, &random);
    test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    nadir_candidate attacks[60] = {{0}};
    nadir_l1_enumeration_bounds facts;
    double radii[60];
    double previous = INFINITY;
    truth of = find_truth(problem);
    for (int i = 0; i < 60; i++) {
        radii[i] = 0.016 * (60 - i) / (double)of.widest;
    }
    assert_ok(context, nadir_l1_enumeration_solve(context, problem, false, 60, radii, attacks, &facts));
    for (int i = 0; i < 60; i++) {
        nadir_candidate alone = {0};
        nadir_l1_enumeration_bounds alone_facts;
        assert_ok(context,
                  nadir_l1_enumeration_solve(context, problem, true, 1, &radii[i], &alone, &alone_facts));
        assert_close(attacks[i].lambda / alone.lambda, 1, 1e-13);
        assert_close(attacks[i].lambda / find_penalty(&of, radii[i]), 1, 1e-11);
        assert_true(attacks[i].lambda < previous);
        previous = attacks[i].lambda;
        nadir_candidate_clear(context, &alone);
        nadir_candidate_clear(context, &attacks[i]);
    }
    assert_that(facts.columns < 40, "%lld columns", (long long)facts.columns);
    clear_truth(&of);
    test_problem_clear(&made);
}

/* Where bounds from P alone leave too many columns, groups of states sharpen them: still nothing is lost. */
static void test_groups(void **state)
{
    nadir_context *context = *state;
    const char *const kinds[] = {"garnet", "gridworld"};
    for (int i = 0; i < 2; i++) {
        nadir_generate_settings settings = test_generate_settings();
        settings.states = i == 0 ? 150 : 0;
        settings.width = i == 0 ? 0 : 15;
        settings.height = i == 0 ? 0 : 10;
        nadir_model *model = test_generate(context, kinds[i], &settings);
        const double one = 1;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1, &one, NULL);
        nadir_policy *policy = test_uniform_policy(context, model);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        truth of = find_truth(problem);
        const double radius = (double)(0.7 / of.widest);
        nadir_candidate attack = {0};
        nadir_l1_enumeration_bounds facts;
        test_note("%s", kinds[i]);
        assert_ok(context, nadir_l1_enumeration_solve(context, problem, true, 1, &radius, &attack, &facts));
        assert_close(attack.lambda, find_penalty(&of, radius), 1e-11);
        double high;
        assert_ok(context, nadir_l1_bound(context, problem, radius, attack.lambda, &high));
        assert_true(high >= find_penalty(&of, radius));
        assert_close(facts.breakdown_low * (double)of.widest, 1, 1e-9);
        assert_true(facts.breakdown_low * (double)of.widest <= 1);
        nadir_candidate_clear(context, &attack);
        clear_truth(&of);
        test_problem_clear(&made);
    }
}

static void test_degenerate(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 3);
    for (int which = 0; which < TEST_IDLE; which++) {
        test_problem made = test_problem_idle(context, &random, which, NADIR_SET_NONRECT, 1);
        const nadir_problem *problem = test_problem_view(&made);
        const double radius = made.uncertainty.radius;
        nadir_candidate attack = {0};
        nadir_l1_enumeration_bounds facts;
        double high;
        test_note("case %d", which);
        assert_ok(context, nadir_l1_enumeration_solve(context, problem, true, 1, &radius, &attack, &facts));
        const double slack = 1e-13 * fabs(problem->J);
        assert_true(attack.lambda >= 0 && attack.lambda <= slack);
        assert_true(attack.J == problem->J - attack.lambda && facts.breakdown_low > radius);
        assert_true(isinf(facts.breakdown_low) ==
                    (which == TEST_ONE_STATE || which == TEST_NO_FUTURE || which == TEST_ALL_PINNED));
        assert_ok(context, nadir_l1_bound(context, problem, radius, attack.lambda, &high));
        assert_true(high >= attack.lambda && high <= slack);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

static void test_scaled_rewards(void **state)
{
    nadir_context *context = *state;
    double expected = 0;
    for (int i = 0; i < TEST_REWARD_SIZES; i++) {
        const double radius = 0.5;
        test_problem made = test_problem_scaled(context, 1, i, NADIR_SET_NONRECT, 1, radius);
        nadir_candidate attack = {0};
        nadir_l1_enumeration_bounds facts;
        double high;
        assert_ok(context, nadir_l1_enumeration_solve(context, test_problem_view(&made), false, 1, &radius,
                                                      &attack, &facts));
        assert_ok(context, nadir_l1_bound(context, &made.problem, radius, attack.lambda, &high));
        expected = i == 0 ? attack.lambda : expected;
        assert_close(attack.lambda / test_reward_sizes[i] / expected, 1, 1e-12);
        assert_close(high / test_reward_sizes[i] / expected, 1, 1e-9);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

static void test_scarce_memory(void **state)
{
    (void)state;
    test_scarce scarce;
    nadir_context *context = test_scarce_context(&scarce);
    test_problem made = golden_problem(context, 1, false, 0.1);
    const nadir_problem *problem = test_problem_view(&made);
    const double radii[2] = {0.1, 0.2};
    nadir_candidate attacks[2] = {{0}};
    nadir_l1_enumeration_bounds facts;
    nadir_status status = NADIR_ERROR_MEMORY;
    while (test_scarce_again(&scarce, status)) {
        status = nadir_l1_enumeration_solve(context, problem, false, 2, radii, attacks, &facts);
        assert_true(status == NADIR_OK || attacks[0].kernel == NULL);
    }
    assert_true(scarce.tries > 10);
    status = NADIR_ERROR_MEMORY;
    while (test_scarce_again(&scarce, status)) {
        double high;
        status = nadir_l1_bound(context, problem, 0.1, attacks[0].lambda, &high);
    }
    assert_true(scarce.tries > 2);
    nadir_candidate_clear(context, &attacks[0]);
    nadir_candidate_clear(context, &attacks[1]);
    test_problem_clear(&made);
    test_scarce_end(&scarce, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_golden_values),  test_with_context(test_brute_force),
        test_with_context(test_random_kernels), test_with_context(test_breakdown),
        test_with_context(test_few_columns),    test_with_context(test_skipped_columns),
        test_with_context(test_groups),         test_with_context(test_degenerate),
        test_with_context(test_scaled_rewards), cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
