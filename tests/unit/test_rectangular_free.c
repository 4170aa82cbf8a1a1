/*
 * Tests of s- and sa-rectangular balls on the free domain: the scalar equation against golden values, plain
 * robust Bellman iteration and the kernel's own solve; bounds against random kernels of the set.
 */
#include "support/support.h"

#include "proof/free_bounds.h"
#include "search/free_search.h"
#include "support/families.h"
#include "support/golden.h"
#include "support/norms.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/standard.h"
#include "support/tiny.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 314159

static const double norms[] = {1, 1.5, 2, 3, INFINITY};
enum { NORMS = 5 };

/* Of sa and s, for each of `norms`. */
typedef struct golden_values {
    int instance;
    double radius;
    double sa[NORMS];
    double s[NORMS];
} golden_values;

static const golden_values goldens[] = {
    {0,
     0.01925,
     {5.27242333713, 5.25943566583, 5.24680021111, 5.22783416432, 5.16133171343},
     {5.29014884305, 5.28108065362, 5.26960337329, 5.24981157083, 5.16133171343}},
    {1,
     0.02475,
     {9.90405055925, 9.81319569889, 9.69088412932, 9.46857962983, 8.34208095829},
     {9.96286999438, 9.91966470251, 9.84326574768, 9.66877945846, 8.34208095829}},
    {2,
     0.01975,
     {4.93911613398, 4.90848135604, 4.86867244287, 4.79977877266, 4.48127891708},
     {4.96352537873, 4.94655299181, 4.91878043457, 4.86054895885, 4.48127891708}},
};

static void test_golden_values(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < 3 * 2 * NORMS; i++) {
        const golden_values *golden = &goldens[i / (2 * NORMS)];
        const int norm = i % NORMS;
        const bool by_state = i / NORMS % 2 == 1;
        nadir_model *model = test_golden_model(context, &test_goldens[golden->instance], i % 2 == 1);
        const nadir_ball ball = test_ball(by_state ? NADIR_SET_S : NADIR_SET_SA, NADIR_DOMAIN_FREE,
                                          norms[norm], &golden->radius, NULL);
        test_problem made =
            test_problem_make(context, model, test_golden_policy(context, model), &ball, NULL, 1);
        nadir_candidate attack = {0};
        const double one = 1;
        test_note("%s, set %s, p = %g", test_goldens[golden->instance].name, by_state ? "s" : "sa",
                  norms[norm]);
        assert_ok(context, nadir_rectangular_free_solve(context, test_problem_view(&made), 1, &one, &attack));
        assert_close(attack.J, by_state ? golden->s[norm] : golden->sa[norm], 1e-11);
        assert_null(attack.c);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

/* sigma_q by its definition: a golden section search for the centre. */
static long double gstd(int64_t count, const double *x, long double q)
{
    const long double golden = (sqrtl(5) - 1) / 2;
    long double low = INFINITY;
    long double high = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        low = fminl(low, x[i]);
        high = fmaxl(high, x[i]);
    }
    long double best = test_norm(count, x, (low + high) / 2, q);
    for (int step = 0; step < 80; step++) {
        const long double left = high - golden * (high - low);
        const long double right = low + golden * (high - low);
        const long double at_left = test_norm(count, x, left, q);
        const long double at_right = test_norm(count, x, right, q);
        best = fminl(best, fminl(at_left, at_right));
        if (at_left < at_right) {
            high = right;
        } else {
            low = left;
        }
    }
    return best;
}

/* b^pi by its definition. */
static void fill_change(const nadir_problem *problem, double factor, double *b)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t *state_rows = problem->model->state_rows;
    double *shape = test_new(problem->rows, sizeof *shape);
    for (int64_t s = 0; s < problem->states; s++) {
        b[s] = 0;
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            shape[row] = nadir_uncertainty_scale(set, row) * problem->policy->probabilities[row];
            b[s] += factor * shape[row] * nadir_uncertainty_radius(set, s, row);
        }
        if (set->set == NADIR_SET_S) {
            b[s] = factor * nadir_uncertainty_radius(set, s, state_rows[s]) *
                   (double)test_norm(state_rows[s + 1] - state_rows[s], shape + state_rows[s], 0, set->q);
        }
    }
    free(shape);
}

/* v <- R^pi + gamma Phat^pi v - gamma b^pi sigma_q(v), from zero; returns mu . v. */
static double iterate_bellman(const nadir_problem *problem, double factor)
{
    const int64_t n = problem->states;
    double *b = test_new(n, sizeof *b);
    double *v = test_new(n, sizeof *v);
    double *next = test_new(n, sizeof *next);
    double *dense = test_dense_kernel(problem->model);
    long double *average = test_dense_average(problem->model, dense, problem->policy->probabilities);
    fill_change(problem, factor, b);
    double moved = INFINITY;
    for (int step = 0; step < 4000 && moved > 1e-15; step++) {
        const long double sigma = gstd(n, v, problem->uncertainty->q);
        double largest = 0;
        moved = 0;
        for (int64_t s = 0; s < n; s++) {
            long double sum = 0;
            for (int64_t t = 0; t < n; t++) {
                sum += average[s * n + t] * v[t];
            }
            next[s] = (double)(problem->R[s] + problem->gamma * (sum - b[s] * sigma));
            moved = fmax(moved, fabs(next[s] - v[s]));
            largest = fmax(largest, fabs(next[s]));
        }
        moved /= largest;
        memcpy(v, next, (size_t)n * sizeof *v);
    }
    assert_that(moved <= 1e-14, "the iteration moves by %g", moved);
    const double J = (double)test_dot(n, v, 0, problem->mu);
    free(b);
    free(v);
    free(next);
    free(dense);
    free(average);
    return J;
}

/* A tiny problem with radii and scales of its own for every state or row. */
static test_problem random_problem(nadir_context *context, nadir_random *random, double density)
{
    const int64_t states = 2 + (int64_t)nadir_random_below(random, 4);
    nadir_model *model = test_tiny_model(context, random, states, 0.6, density);
    const bool by_state = nadir_random_below(random, 2) == 0;
    const int64_t count = by_state ? states : model->rows;
    double *radii = test_new(count, sizeof *radii);
    double *scales = test_tiny_scales(random, model);
    for (int64_t i = 0; i < count; i++) {
        radii[i] = 0.1 * nadir_random_uniform(random);
    }
    nadir_ball ball = test_ball(by_state ? NADIR_SET_S : NADIR_SET_SA, NADIR_DOMAIN_FREE,
                                norms[nadir_random_below(random, NORMS)], radii, scales);
    ball.radius_count = count;
    nadir_policy *policy = test_policy(context, model, TEST_RANDOM, random);
    const double sign = nadir_random_below(random, 2) == 0 ? 1 : -1;
    test_problem made = test_problem_make(context, model, policy, &ball, NULL, sign);
    free(radii);
    free(scales);
    return made;
}

/* The fixed point, its kernel, and the kernel's own return. */
static void test_bellman_iteration(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < test_often(60); i++) {
        test_problem made = random_problem(context, &random, 0.7);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attacks[3] = {{0}};
        const double factors[3] = {1, 0, 0.5};
        test_note("case %d, p = %g, set %s, seed %d", i, problem->uncertainty->p,
                  nadir_set_name(problem->uncertainty->set), SEED);
        assert_ok(context, nadir_rectangular_free_solve(context, problem, 3, factors, attacks));
        for (int j = 0; j < 3; j++) {
            double *entries = test_kernel_entries(context, attacks[j].kernel);
            const double own = (double)test_return(problem, entries);
            assert_close(attacks[j].J, iterate_bellman(problem, factors[j]), 1e-12);
            assert_close(attacks[j].J, own, 1e-12);
            assert_close(attacks[j].J + attacks[j].lambda, problem->J, 1e-14);
            assert_close((double)test_dot(problem->states, attacks[j].v, 0, problem->mu), own, 1e-12);
            test_assert_in_set(problem, entries, factors[j]);
            free(entries);
            nadir_candidate_clear(context, &attacks[j]);
        }
        test_problem_clear(&made);
    }
}

/* Random kernels of the set, the worst one, and those with the sign of b flipped in some rows. */
static void attack_bound(const nadir_problem *problem, nadir_context *context, nadir_random *random,
                         double factor, const nadir_kernel *worst, double lower)
{
    const int64_t n = problem->states;
    double *entries = test_kernel_entries(context, worst);
    double *nominal = test_dense_kernel(problem->model);
    double *kernel = test_new(problem->rows * n, sizeof *kernel);
    for (int trial = 0; trial < 40; trial++) {
        if (trial % 2 == 0) {
            test_random_kernel(problem, random, factor, kernel);
        } else {
            for (int64_t row = 0; row < problem->rows; row++) {
                const double sign = trial > 1 && nadir_random_below(random, 3) == 0 ? -1 : 1;
                for (int64_t t = row * n; t < (row + 1) * n; t++) {
                    kernel[t] = nominal[t] + sign * (entries[t] - nominal[t]);
                }
            }
        }
        const double J = (double)test_return(problem, kernel);
        assert_that(J >= lower, "a kernel returns %.17g, below the bound %.17g (trial %d)", J, lower, trial);
    }
    free(entries);
    free(nominal);
    free(kernel);
}

static void test_bounds(void **state)
{
    nadir_context *context = *state;
    int exacts = 0;
    int finite = 0;
    nadir_random random = test_random(SEED + 1);
    for (int i = 0; i < test_often(200); i++) {
        const double factor = pow(10, 2 * nadir_random_uniform(&random) - 1);
        test_problem made = random_problem(context, &random, i % 2 == 0 ? 1 : 0.6);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attack = {0};
        bool exact;
        double lower;
        double breakdown;
        test_note("case %d, p = %g, set %s, factor %g, seed %d", i, problem->uncertainty->p,
                  nadir_set_name(problem->uncertainty->set), factor, SEED + 1);
        const nadir_status status = nadir_rectangular_free_solve(context, problem, 1, &factor, &attack);
        if (status == NADIR_OK) {
            assert_ok(context, nadir_rectangular_free_bound(context, problem, factor, attack.v, &exact,
                                                            &lower, &breakdown));
            assert_true(lower <= attack.J && (isfinite(lower) == (breakdown >= factor)));
            if (isfinite(lower)) {
                attack_bound(problem, context, &random, factor, attack.kernel, lower);
            }
            if (exact) {
                assert_close(lower, attack.J, 1e-12);
            }
            exacts += exact;
            finite += isfinite(lower) && !exact;
        } else {
            assert_fails(context, status, NADIR_ERROR_ILL_POSED, "past breakdown");
        }
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
    test_note_clear();
    assert_that(exacts > test_often(20) && finite > test_often(20), "%d exact and %d finite bounds", exacts,
                finite);
}

/* Bounds hold for a value that is not the fixed point, and are wide. */
static void test_bound_of_wrong_value(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_golden_model(context, &test_goldens[0], false);
    const double radius = 0.01;
    const nadir_ball ball = test_ball(NADIR_SET_SA, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    test_problem made = test_problem_make(context, model, test_golden_policy(context, model), &ball, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    nadir_candidate attack = {0};
    const double one = 1;
    bool exact;
    double lower;
    double breakdown;
    assert_ok(context, nadir_rectangular_free_solve(context, problem, 1, &one, &attack));
    assert_ok(context,
              nadir_rectangular_free_bound(context, problem, 1, attack.v, &exact, &lower, &breakdown));
    assert_true(exact && lower <= attack.J);
    assert_close(lower, attack.J, 1e-12);
    attack.v[3] += 0.01; /* an error of 0.01 costs up to 0.01 / (1 - gamma) */
    assert_ok(context,
              nadir_rectangular_free_bound(context, problem, 1, attack.v, &exact, &lower, &breakdown));
    assert_that(lower < attack.J - 1e-4 && lower > attack.J - 0.11, "the bound is %.17g", lower);
    /* The nominal value is above the fixed point everywhere. */
    assert_ok(context,
              nadir_rectangular_free_bound(context, problem, 1, problem->v, &exact, &lower, &breakdown));
    assert_that(exact && lower < attack.J, "the bound is %.17g, the return %.17g", lower, attack.J);
    attack.v[3] = NAN;
    assert_int_not_equal(
        nadir_rectangular_free_bound(context, problem, 1, attack.v, &exact, &lower, &breakdown), NADIR_OK);
    nadir_candidate_clear(context, &attack);
    test_problem_clear(&made);
}

/* Refused from the factor on that the sentence names. */
static void test_breakdown(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < NORMS; i++) {
        nadir_model *model = test_golden_model(context, &test_goldens[2], false);
        const double radius = 0.1;
        const nadir_ball ball = test_ball(NADIR_SET_S, NADIR_DOMAIN_FREE, norms[i], &radius, NULL);
        test_problem made =
            test_problem_make(context, model, test_golden_policy(context, model), &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attacks[2] = {{0}};
        double factors[2] = {0.25, 1e6};
        test_note("p = %g", norms[i]);
        assert_fails(context, nadir_rectangular_free_solve(context, problem, 2, factors, attacks),
                     NADIR_ERROR_ILL_POSED, "1000000");
        assert_null(attacks[0].kernel);
        const char *below = strstr(nadir_context_error(context), "below ");
        assert_non_null(below);
        const double limit = strtod(below + strlen("below "), NULL);
        factors[1] = limit * (1 - 1e-6);
        assert_ok(context, nadir_rectangular_free_solve(context, problem, 2, factors, attacks));
        assert_true(isfinite(attacks[1].J) && attacks[1].J < attacks[0].J);
        nadir_candidate_clear(context, &attacks[0]);
        nadir_candidate_clear(context, &attacks[1]);
        factors[1] = limit * (1 + 1e-6);
        assert_fails(context, nadir_rectangular_free_solve(context, problem, 2, factors, attacks),
                     NADIR_ERROR_ILL_POSED, "past breakdown");
        test_problem_clear(&made);
    }
}

/* What becomes of a problem whose worst kernel costs nothing. */
static void assert_nothing_lost(test_problem *made)
{
    nadir_context *context = made->context;
    const nadir_problem *problem = test_problem_view(made);
    nadir_candidate attack = {0};
    const double one = 1;
    bool exact;
    double lower;
    double breakdown;
    assert_ok(context, nadir_rectangular_free_solve(context, problem, 1, &one, &attack));
    assert_true(fabs(attack.lambda) <= 1e-13 * fabs(problem->J));
    assert_ok(context,
              nadir_rectangular_free_bound(context, problem, 1, attack.v, &exact, &lower, &breakdown));
    assert_close(lower, attack.J, 1e-12);
    assert_true(lower <= attack.J && breakdown >= 1);
    nadir_candidate_clear(context, &attack);
    test_problem_clear(made);
}

static void test_degenerate(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 2);
    for (int i = 0; i < 5 * NORMS * 2; i++) {
        const nadir_set set = i % 2 == 0 ? NADIR_SET_S : NADIR_SET_SA;
        const int what = i / 2 % 5; /* S = 1, gamma = 0, beta = 0, all pinned, constant v */
        const double radius = what == 2 ? 0 : 0.005;
        nadir_model *model = test_tiny_model(context, &random, what == 0 ? 1 : 4, what == 1 ? 0 : 0.9, 1);
        double *scales = test_tiny_scales(&random, model);
        for (int64_t row = 0; row < model->rows && what == 3; row++) {
            scales[row] = 0;
        }
        for (int64_t row = 0; row < model->rows && what == 4; row++) {
            model->rewards[row] = 3;
        }
        const nadir_ball ball = test_ball(set, NADIR_DOMAIN_FREE, norms[i / 10], &radius, scales);
        nadir_policy *policy = test_policy(context, model, TEST_DETERMINISTIC, &random);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        test_note("case %d of set %s, p = %g", what, nadir_set_name(set), norms[i / 10]);
        assert_nothing_lost(&made);
        free(scales);
    }
}

/* Rewards times a power of two: everything is, to the last bit but few. */
static void test_scaled_rewards(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < NORMS; i++) {
        double expected = 0;
        for (int j = 0; j < TEST_REWARD_SIZES; j++) {
            test_problem made = test_problem_scaled(context, 0, j, NADIR_SET_SA, norms[i], 0.01);
            nadir_candidate attack = {0};
            const double one = 1;
            bool exact;
            double lower;
            double breakdown;
            assert_ok(context,
                      nadir_rectangular_free_solve(context, test_problem_view(&made), 1, &one, &attack));
            assert_ok(context, nadir_rectangular_free_bound(context, &made.problem, 1, attack.v, &exact,
                                                            &lower, &breakdown));
            expected = j == 0 ? attack.lambda : expected;
            assert_close(attack.lambda / test_reward_sizes[j], expected, 1e-13);
            assert_close((attack.J - lower) / test_reward_sizes[j], 0, 1e-10);
            nadir_candidate_clear(context, &attack);
            test_problem_clear(&made);
        }
    }
}

static void test_scarce_memory(void **state)
{
    (void)state;
    test_scarce scarce;
    nadir_context *context = test_scarce_context(&scarce);
    nadir_model *model = test_golden_model(context, &test_goldens[0], false);
    const double radius = 0.01;
    const nadir_ball ball = test_ball(NADIR_SET_S, NADIR_DOMAIN_FREE, 3, &radius, NULL);
    test_problem made = test_problem_make(context, model, test_golden_policy(context, model), &ball, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    const double one = 1;
    nadir_status status = NADIR_ERROR_MEMORY;
    nadir_candidate attack = {0};
    while (test_scarce_again(&scarce, status)) {
        status = nadir_rectangular_free_solve(context, problem, 1, &one, &attack);
        assert_true(status == NADIR_OK || attack.kernel == NULL);
    }
    assert_true(scarce.tries > 5);
    status = NADIR_ERROR_MEMORY;
    while (test_scarce_again(&scarce, status)) {
        bool exact;
        double lower;
        double breakdown;
        status = nadir_rectangular_free_bound(context, problem, 1, attack.v, &exact, &lower, &breakdown);
    }
    assert_true(scarce.tries > 2);
    nadir_candidate_clear(context, &attack);
    test_problem_clear(&made);
    test_scarce_end(&scarce, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_golden_values),  test_with_context(test_bellman_iteration),
        test_with_context(test_bounds),         test_with_context(test_bound_of_wrong_value),
        test_with_context(test_breakdown),      test_with_context(test_degenerate),
        test_with_context(test_scaled_rewards), cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
