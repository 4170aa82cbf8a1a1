/* test_box_values.c: the box alone, against interval value iteration. */
#include "support/support.h"

#include "support/box.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/valid.h"

#include "proof/membership.h"
#include "sets/lmo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MODELS = 500 };
#define SEED 4711

static void assert_agrees(double found, double expected, const char *what, int trial)
{
    assert_that(fabs(found - expected) <= 1e-10 * fmax(1, fabs(expected)),
                "seed %d, trial %d: the %s is %.17g, by value iteration %.17g", SEED, trial, what, found,
                expected);
}

/* Worst and best case of a policy, and the best policy in the worst case. */
static void compare(nadir_context *context, const test_box *box, int trial)
{
    nadir_robust_settings settings;
    nadir_robust_settings_default(&settings);
    nadir_solver *solver = test_solver(context, box->model, box->policy);
    const double expected = test_box_iterate(box, false, false);
    const nadir_robust worst = test_robust(context, solver, NULL, &settings, NULL);
    assert_agrees(worst.robust_return, expected, "worst return", trial);
    assert_agrees(worst.lower_bound, expected, "lower bound", trial);
    assert_true(worst.lower_bound <= expected + 1e-14 && worst.certified);
    assert_int_equal(worst.domain, NADIR_DOMAIN_BOX);
    settings.optimistic = true;
    const nadir_robust best = test_robust(context, solver, NULL, &settings, NULL);
    assert_agrees(best.robust_return, test_box_iterate(box, true, false), "best return", trial);
    nadir_solver_free(solver);
    nadir_robust_optimum_result result = {.size = sizeof result};
    nadir_robust_optimum_settings optimising;
    nadir_robust_optimum_settings_default(&optimising);
    optimising.gap = 1e-12;
    nadir_policy *policy = NULL;
    assert_int_equal(
        nadir_robust_optimum(context, box->model, NULL, &optimising, &policy, &result, NULL, NULL), NADIR_OK);
    const double optimum = test_box_iterate(box, false, true);
    assert_true(result.lower_bound <= optimum + 1e-12 && result.optimality_upper_bound >= optimum - 1e-12);
    assert_agrees(result.robust_return, optimum, "optimum", trial);
    nadir_policy_free(policy);
}

static void test_discounted(void **state)
{
    nadir_random random = test_random(SEED);
    for (int trial = 0; trial < MODELS; trial++) {
        test_box box = test_box_make(*state, &random, false);
        compare(*state, &box, trial);
        test_box_clear(&box);
    }
}

static void test_reachability(void **state)
{
    nadir_random random = test_random(SEED + 1);
    for (int trial = 0; trial < MODELS; trial++) {
        test_box box = test_box_make(*state, &random, true);
        compare(*state, &box, trial);
        test_box_clear(&box);
    }
}

/* Row bounds hold for the row that was found and for others, whatever the multipliers; with its own they are close. */
static void test_row_bounds(void **state)
{
    static const double norms[] = {1, 1.3, 2, 3, INFINITY};
    nadir_random random = test_random(SEED + 3);
    int64_t close = 0;
    int64_t all = 0;
    for (int trial = 0; trial < 1500; trial++) {
        test_box box = test_box_make(*state, &random, false);
        const int64_t n = box.states;
        const double radius = pow(10, 0.5 - 3 * nadir_random_uniform(&random));
        const nadir_ball ball = test_ball(NADIR_SET_SA, NADIR_DOMAIN_BOX, norms[trial % 5], &radius, NULL);
        nadir_uncertainty set = {0};
        nadir_value_order order = {0};
        assert_ok(*state, nadir_uncertainty_make(*state, box.model, box.policy, &ball, &set));
        const nadir_lmo lmo = nadir_lmo_make(box.model, &order, &set, 0);
        order.unsorted = !nadir_lmo_sorts(&lmo);
        double v[TEST_BOX_STATES];
        double X[TEST_BOX_STATES];
        for (int64_t t = 0; t < n; t++) {
            v[t] = nadir_random_normal(&random);
        }
        assert_ok(*state, nadir_value_order_make(*state, n, v, &order));
        double *work = test_new(nadir_lmo_work_size(&lmo, 0, box.rows), sizeof *work);
        for (int64_t row = 0; row < box.rows; row++) {
            const double weight = 1;
            nadir_lmo_budget budget;
            nadir_lmo_solution solution = {0};
            nadir_lmo_solve(&lmo, row, row + 1, &weight, radius, work, &solution, &budget);
            const nadir_lmo_row_bound own = nadir_lmo_bound(&lmo, row, &solution, work);
            const double bound = nadir_lmo_bound_radius(&own, radius);
            assert_that(solution.gain <= bound, "seed %d, trial %d, row %lld, p %g: gain %.17g, bound %.17g",
                        SEED, trial, (long long)row, set.p, solution.gain, bound);
            close += bound <= solution.gain + 1e-7 * order.range;
            all++;
            for (int k = 0; k < 10; k++) {
                double gain = 0;
                double length = 0;
                for (int64_t t = 0; t < n; t++) {
                    X[t] = box.nominal[row * n + t] - (k < 5 ? 3 * v[t] : 0) + nadir_random_normal(&random);
                }
                test_box_project(&box, row, X);
                for (int64_t t = 0; t < n; t++) {
                    const double change = fabs(X[t] - box.nominal[row * n + t]);
                    length = isinf(set.p) ? fmax(length, change) : length + pow(change, set.p);
                    gain += (box.nominal[row * n + t] - X[t]) * v[t];
                }
                length = isinf(set.p) ? length : pow(length, 1 / set.p);
                gain *= length > radius ? radius / length : 1;
                nadir_lmo_solution other = solution;
                other.omega += k % 2 == 0 ? 0 : 0.3 * nadir_random_normal(&random);
                other.step *= k % 3 == 0 ? 1 : exp(2 * nadir_random_normal(&random));
                const nadir_lmo_row_bound loose = nadir_lmo_bound(&lmo, row, &other, work);
                assert_that(gain <= nadir_lmo_bound_radius(&loose, radius) + 1e-13,
                            "seed %d, trial %d, row %lld, p %g: gain %.17g above the bound %.17g", SEED,
                            trial, (long long)row, set.p, gain, nadir_lmo_bound_radius(&loose, radius));
            }
        }
        free(work);
        nadir_value_order_clear(*state, &order);
        nadir_uncertainty_clear(*state, &set);
        test_box_clear(&box);
    }
    assert_that(close >= all - all / 50, "%lld of %lld bounds are close", (long long)close, (long long)all);
}

/* Of small bounds in shares of 1e-3 of them. */
static double beyond(double off, double bound)
{
    return off <= 0 ? 0 : bound >= 1e-3 ? off : off / bound * 1e-3;
}

/* Intervals far narrower than rounding of probabilities near 1: kernels outside are found, and those at their ends are not. */
static void test_narrow_intervals(void **state)
{
    static const int64_t state_rows[] = {0, 1, 2};
    static const double nominal[] = {1 - 1.5e-13, 1.5e-13, 0, 1};
    static const double lower[] = {0, 1e-13, 0, 1};
    static const double upper[] = {1, 2e-13, 0, 1};
    static const struct {
        double small;
        bool inside;
    } cases[] = {{1e-13, true},     {2e-13, true},     {1.5e-13, true}, {0, false},
                 {0.99e-13, false}, {2.01e-13, false}, {1e-12, false}};
    nadir_context *context = *state;
    nadir_model *model = NULL;
    nadir_model_data data;
    nadir_model_data_default(&data);
    data.states = 2;
    data.rows = 2;
    data.discount = 0.9;
    data.state_rows = state_rows;
    data.dense = nominal;
    data.lower = lower;
    data.upper = upper;
    assert_ok(context, nadir_model_create(context, &data, &model));
    nadir_policy *policy = test_uniform_policy(context, model);
    const double radius = 100;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_BOX, 2, &radius, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double entries[] = {1 - cases[i].small, cases[i].small, 0, 1};
        nadir_membership found;
        nadir_uncertainty set = {0};
        nadir_kernel *kernel = test_entries_kernel(context, model, entries);
        assert_ok(context, nadir_uncertainty_make(context, model, policy, &ball, &set));
        assert_ok(context, nadir_membership_measure(context, kernel, &set, 1, &found));
        assert_int_equal(nadir_membership_check(context, model, &set, &found),
                         cases[i].inside ? NADIR_OK : NADIR_ERROR_VERIFICATION);
        nadir_uncertainty_clear(context, &set);
        nadir_kernel_free(kernel);
    }
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* What landing pays where the box does not lead is not kept: sets that lead there are refused. */
static void test_rewards_outside(void **state)
{
    static const int64_t state_rows[] = {0, 1, 2};
    static const double nominal[] = {1, 0, 0, 1};
    static const double rewards[] = {1, -50, 0, 2};
    nadir_context *context = *state;
    nadir_model *model = NULL;
    nadir_model_data data;
    nadir_model_data_default(&data);
    data.states = 2;
    data.rows = 2;
    data.discount = 0.9;
    data.state_rows = state_rows;
    data.dense = nominal;
    data.transition_rewards = rewards;
    data.lower = nominal;
    data.upper = nominal;
    data.unseen = NADIR_UNSEEN_ROW;
    assert_ok(context, nadir_model_create(context, &data, &model));
    nadir_policy *policy = test_uniform_policy(context, model);
    for (nadir_domain domain = NADIR_DOMAIN_SIMPLEX; domain <= NADIR_DOMAIN_BOX; domain++) {
        const double radius = 0.1;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, &radius, NULL);
        nadir_uncertainty set = {0};
        const bool leads = domain == NADIR_DOMAIN_SIMPLEX || domain == NADIR_DOMAIN_FREE;
        assert_int_equal(nadir_uncertainty_make(context, model, policy, &ball, &set),
                         leads ? NADIR_ERROR_UNSUPPORTED : NADIR_OK);
        nadir_uncertainty_clear(context, &set);
    }
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* Random rows over the successors of the box: how far the farthest entry is outside. */
static void test_membership(void **state)
{
    nadir_random random = test_random(SEED + 2);
    for (int trial = 0; trial < 200; trial++) {
        test_box box = test_box_make(*state, &random, false);
        const int64_t n = box.states;
        double *entries = test_new(box.rows * n, sizeof *entries);
        double expected = 0;
        for (int64_t row = 0; row < box.rows; row++) {
            double sum = 0;
            for (int64_t t = 0; t < n; t++) {
                entries[row * n + t] = box.upper[row * n + t] > 0 ? nadir_random_uniform(&random) : 0;
                sum += entries[row * n + t];
            }
            for (int64_t t = 0; t < n; t++) {
                double *entry = &entries[row * n + t];
                *entry /= sum;
                expected = fmax(expected, beyond(box.lower[row * n + t] - *entry, box.lower[row * n + t]));
                expected = fmax(expected, beyond(*entry - box.upper[row * n + t], box.upper[row * n + t]));
            }
        }
        const double radius = 100;
        nadir_membership found;
        nadir_uncertainty set = {0};
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_BOX, 2, &radius, NULL);
        nadir_kernel *kernel = test_entries_kernel(*state, box.model, entries);
        assert_ok(*state, nadir_uncertainty_make(*state, box.model, box.policy, &ball, &set));
        assert_ok(*state, nadir_membership_measure(*state, kernel, &set, 1, &found));
        assert_close(found.outside, expected, 1e-15);
        assert_int_equal(nadir_membership_check(*state, box.model, &set, &found),
                         expected > 1e-12 ? NADIR_ERROR_VERIFICATION : NADIR_OK);
        nadir_uncertainty_clear(*state, &set);
        nadir_kernel_free(kernel);
        free(entries);
        test_box_clear(&box);
    }
}

/* The files of other projects, where there are any: the probability to reach a label, or rewards with a discount. */
static void test_files(void **state)
{
    static const char *const names[] = {"imdp_tiny-01", "imdp_tiny-02", "imdp_tiny-04", "imdp_brp"};
    const char *folder = getenv("NADIR_FOREIGN_MODELS");
    if (folder == NULL) {
        print_message("skipped: NADIR_FOREIGN_MODELS names no folder of models\n");
        skip();
    }
    for (int i = 0; i < 8; i++) {
        char path[1024];
        nadir_model *model;
        nadir_model *plain;
        nadir_read_settings settings;
        nadir_read_settings_default(&settings);
        (void)snprintf(path, sizeof path, "%s/%s.drn", folder, names[i % 4]);
        settings.discount = i < 4 ? NAN : 0.9;
        assert_int_equal(nadir_model_read(*state, path, &settings, &plain), NADIR_OK);
        settings.goal = i < 4 ? "target" : NULL;
        assert_int_equal(nadir_model_read(*state, path, &settings, &model), NADIR_OK);
        bool *goal = NULL;
        if (i < 4) { /* those that the reader has found pay 1 */
            nadir_model_data view;
            nadir_model_data_default(&view);
            nadir_model_view(model, &view);
            goal = test_new(view.states, sizeof *goal);
            for (int64_t s = 0; s < view.states; s++) {
                goal[s] = view.rewards[view.state_rows[s]] == 1;
            }
        } else if (i != 6) { /* the others have no rewards */
            nadir_model_free(model);
            nadir_model_free(plain);
            continue;
        }
        test_box box = test_box_of(*state, plain, goal);
        nadir_model_free(box.model);
        box.model = nadir_model_retain(model);
        compare(*state, &box, -1 - i);
        test_box_clear(&box);
        free(goal);
        nadir_model_free(model);
        nadir_model_free(plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_discounted),
        test_with_context(test_reachability),
        test_with_context(test_row_bounds),
        test_with_context(test_membership),
        test_with_context(test_narrow_intervals),
        test_with_context(test_rewards_outside),
        test_with_context(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
