/*
 * test_total_optimum.c: the best policy in the worst case, and the difference of two policies, without a discount, attacked on small
 * random processes that end: every set, domain and norm, rewards of rows, paid on landing, or a goal. No policy is proven to
 * do better than the upper bound, none of the kernels that chance finds returns less under the policy found than its
 * lower bound, and none has a smaller difference. Probabilities on sa-rectangular sets of norm 1 are those of value
 * iteration, with rows solved by hand.
 */
#include "support/support.h"

#include "solve/nominal_optimum.h"
#include "solve/solver.h"
#include "solve/value.h"
#include "support/ending.h"

#include <math.h>
#include <string.h>

#define SEED 141421

static void draw_policy(nadir_random *random, const test_ending *of, bool deterministic, double *pi)
{
    for (int s = 0; s < of->n; s++) {
        const int count = (int)(of->first[s + 1] - of->first[s]);
        const int chosen = (int)(nadir_random_uniform(random) * count);
        double sum = 0;
        for (int64_t row = of->first[s]; row < of->first[s + 1]; row++) {
            pi[row] = deterministic ? row == of->first[s] + chosen : 0.01 + nadir_random_uniform(random);
            sum += pi[row];
        }
        for (int64_t row = of->first[s]; row < of->first[s + 1]; row++) {
            pi[row] /= sum;
        }
    }
}

/* What other policies are proven to return in the worst case. */
static void try_policies(nadir_context *context, nadir_random *random, const test_ending *made,
                         const test_ending_asked *by, double upper)
{
    for (int k = 0; k < 6; k++) {
        double pi[TEST_ENDING_ROWS];
        nadir_policy *policy = NULL;
        nadir_solver *solver = NULL;
        nadir_robust result = {.size = sizeof result};
        draw_policy(random, made, k % 2 == 0, pi);
        assert_ok(context, nadir_policy_create(context, by->model, pi, &policy));
        assert_ok(context, nadir_solver_create(context, by->model, policy, NULL, &solver));
        if (nadir_solver_robust(context, solver, &by->ball, NULL, &result, NULL) == NADIR_OK) {
            assert_that(result.lower_bound <= upper + 1e-9 * (1 + fabs(upper)), "%.17g is above %.17g",
                        result.lower_bound, upper);
        }
        nadir_solver_free(solver);
        nadir_policy_free(policy);
    }
}

static void test_optima(void **state)
{
    nadir_context *context = *state;
    nadir_random random;
    int found = 0;
    int certified = 0;
    const int seed = test_attack_seed(SEED);
    nadir_random_seed(&random, (uint64_t)seed);
    for (int i = 0; i < test_attack_count(200); i++) {
        test_ending made;
        test_ending_asked by;
        nadir_policy *policy = NULL;
        nadir_robust_optimum_settings settings;
        nadir_robust_optimum_result result = {.size = sizeof result};
        nadir_robust evaluation = {.size = sizeof evaluation};
        bool ends;
        test_ending_draw(&random, (test_ending_kind)(int)(nadir_random_uniform(&random) * 3), &made);
        made.radius *= 0.5;
        test_note("process %d of seed %d", i, seed);
        test_ending_ask(context, &made, &by);
        nadir_robust_optimum_settings_default(&settings);
        const nadir_status status =
            nadir_robust_optimum(context, by.model, &by.ball, &settings, &policy, &result, &evaluation, NULL);
        if (status == NADIR_OK) {
            const double scale = 1e-9 * (1 + fabs(result.lower_bound));
            found++;
            certified += result.certified;
            memcpy(made.pi, nadir_policy_probabilities(policy), (size_t)made.rows * sizeof *made.pi);
            assert_true(isfinite(evaluation.duration_bound));
            assert_true(test_ending_attack(&random, &made, false, &ends) >= result.lower_bound - scale);
            assert_true(ends && result.lower_bound <= result.optimality_upper_bound);
            assert_true(test_ending_attack(&random, &made, true, &ends) <=
                        evaluation.duration_bound * (1 + 1e-9));
            try_policies(context, &random, &made, &by, result.optimality_upper_bound);
        } else {
            assert_that(status == NADIR_ERROR_ILL_POSED, "%s", nadir_context_error(context));
        }
        nadir_policy_free(policy);
        test_ending_forget(&by);
    }
    print_message("%d optima, %d of them certified\n", found, certified);
    assert_true(test_attack_count(200) < 100 || certified > test_attack_count(200) / 2);
}

/* The least mean of v over a row of the ball of norm 1: half of the radius moves to the lowest value, from the highest on. */
static double least_mean(const test_ending *of, int64_t row, const double *v)
{
    double P[TEST_ENDING_STATES];
    double moved = fmin(1, of->radius * of->alpha[row] / 2);
    double mean = 0;
    int to = -1;
    memcpy(P, of->P[row], sizeof P);
    for (int t = 0; t < of->n; t++) {
        const bool allowed = of->domain == NADIR_DOMAIN_SIMPLEX || P[t] > 0;
        to = allowed && (to < 0 || v[t] < v[to]) ? t : to;
    }
    while (moved > 0) {
        int from = -1;
        for (int t = 0; t < of->n; t++) {
            from = t != to && P[t] > 0 && (from < 0 || v[t] > v[from]) ? t : from;
        }
        const double part = from >= 0 ? fmin(moved, P[from]) : 0;
        if (part == 0) {
            break;
        }
        P[from] -= part;
        P[to] += part;
        moved -= part;
    }
    for (int t = 0; t < of->n; t++) {
        mean += P[t] * v[t];
    }
    return mean;
}

static double iterate_values(const test_ending *of)
{
    double v[TEST_ENDING_STATES] = {0};
    double J = 0;
    v[of->n - 1] = 1;
    for (int step = 0; step < 100000; step++) {
        double rise = 0;
        for (int s = 0; s < of->m; s++) {
            double best = 0;
            for (int64_t row = of->first[s]; row < of->first[s + 1]; row++) {
                best = fmax(best, least_mean(of, row, v));
            }
            rise = fmax(rise, best - v[s]);
            v[s] = fmax(v[s], best);
        }
        if (rise < 1e-15) {
            break;
        }
    }
    for (int s = 0; s < of->n; s++) {
        J += of->mu[s] * v[s];
    }
    return J;
}

static void test_value_iteration(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    int certified = 0;
    for (int i = 0; i < test_attack_count(100); i++) {
        test_ending made;
        test_ending_asked by;
        nadir_policy *policy = NULL;
        nadir_robust_optimum_settings settings;
        nadir_robust_optimum_result result = {.size = sizeof result};
        test_ending_draw(&random, TEST_ENDING_REACH, &made);
        made.set = NADIR_SET_SA;
        made.norm = 1;
        made.radius *= 0.5;
        test_note("process %d of seed %d", i, SEED + 1);
        test_ending_ask(context, &made, &by);
        nadir_robust_optimum_settings_default(&settings);
        if (nadir_robust_optimum(context, by.model, &by.ball, &settings, &policy, &result, NULL, NULL) ==
            NADIR_OK) {
            const double wanted = iterate_values(&made);
            certified += result.certified;
            assert_that(!result.certified || fabs(result.robust_return - wanted) < 1e-6, "%.12g, not %.12g",
                        result.robust_return, wanted);
            assert_that(result.lower_bound <= wanted + 1e-12 &&
                            result.optimality_upper_bound >= wanted - 1e-12,
                        "%.17g is not between %.17g and %.17g", wanted, result.lower_bound,
                        result.optimality_upper_bound);
        }
        nadir_policy_free(policy);
        test_ending_forget(&by);
    }
    print_message("%d certified\n", certified);
    assert_true(test_attack_count(100) < 50 || certified > test_attack_count(100) / 2);
}

/* The bound on V* holds for any values, also where equally good actions go round in circles. */
static void test_probability_bound(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 3);
    int close = 0;
    for (int i = 0; i < test_attack_count(400); i++) {
        test_ending made;
        test_ending_asked by;
        double upper = 1;
        test_ending_draw(&random, TEST_ENDING_REACH, &made);
        made.radius = 0;
        for (int s = 0; s < made.m && i % 2 == 0;
             s++) { /* the second action goes on to the next state, or stays */
            if (made.first[s + 1] - made.first[s] > 1) {
                const int64_t row = made.first[s] + 1;
                memset(made.P[row], 0, sizeof made.P[row]);
                made.P[row][i % 4 == 0 ? s : (s + 1) % made.m] = 1;
            }
        }
        draw_policy(&random, &made, false, made.pi);
        test_note("process %d of seed %d", i, SEED + 3);
        test_ending_ask(context, &made, &by);
        nadir_value value = {0};
        assert_ok(context,
                  nadir_value_solve(context, by.solver->kernel, by.policy, by.solver->occupancy, &value));
        assert_ok(context,
                  nadir_probability_bound(context, by.solver->kernel, by.solver->occupancy, value.v, &upper));
        const double wanted = iterate_values(&made);
        assert_that(upper >= wanted - 1e-14, "%.17g is below %.17g", upper, wanted);
        nadir_value_clear(context, &value);
        nadir_optimum_result result = {.size = sizeof result};
        nadir_policy *best = NULL;
        assert_ok(context, nadir_optimum(context, by.model, NULL, &best, &result));
        assert_that(result.upper_bound >= wanted - 1e-14 && result.lower_bound <= wanted + 1e-14,
                    "%.17g is not between %.17g and %.17g", wanted, result.lower_bound, result.upper_bound);
        close += result.upper_bound <= wanted + 1e-9;
        nadir_policy_free(best);
        test_ending_forget(&by);
    }
    print_message("%d bounds are close\n", close);
    assert_true(close > test_attack_count(400) * 9 / 10);
}

/* J^A_P - J^B_P; false: a policy never ends. */
static bool difference_of(const test_ending pair[2], double P[TEST_ENDING_ROWS][TEST_ENDING_STATES],
                          double *f)
{
    double J[2];
    double steps;
    for (int k = 0; k < 2; k++) {
        if (!test_ending_solve(&pair[k], P, true, &steps) || !test_ending_solve(&pair[k], P, false, &J[k])) {
            return false;
        }
    }
    *f = J[0] - J[1];
    return true;
}

static void test_differences(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 2);
    int found = 0;
    int certified = 0;
    for (int i = 0; i < test_attack_count(300); i++) {
        test_ending pair[2];
        test_ending_asked by;
        nadir_policy *other = NULL;
        nadir_solver *solver = NULL;
        nadir_difference result = {.size = sizeof result};
        test_ending_draw(&random, (test_ending_kind)(int)(nadir_random_uniform(&random) * 3), &pair[0]);
        pair[0].radius *= 0.5;
        pair[1] = pair[0];
        draw_policy(&random, &pair[1], false, pair[1].pi);
        test_note("difference %d of seed %d", i, SEED + 2);
        test_ending_ask(context, &pair[0], &by);
        assert_ok(context, nadir_policy_create(context, by.model, pair[1].pi, &other));
        assert_ok(context, nadir_solver_create(context, by.model, other, NULL, &solver));
        const nadir_status status =
            nadir_solver_difference(context, by.solver, solver, &by.ball, NULL, &result, NULL);
        if (status == NADIR_OK) {
            double best[TEST_ENDING_ROWS][TEST_ENDING_STATES];
            double least = NAN;
            found++;
            certified += result.certified;
            memcpy(best, pair[0].P, sizeof best);
            assert_true(difference_of(pair, best, &least));
            for (int k = 0; k < 400; k++) {
                double P[TEST_ENDING_ROWS][TEST_ENDING_STATES];
                double f = NAN;
                memcpy(P, best, sizeof P);
                test_ending_mutate(&random, &pair[0], P);
                assert_true(difference_of(pair, P, &f));
                if (f < least) {
                    least = f;
                    memcpy(best, P, sizeof best);
                }
            }
            assert_that(least >= result.lower_bound - 1e-9 * (1 + fabs(least)), "%.17g is below %.17g", least,
                        result.lower_bound);
        } else {
            assert_that(status == NADIR_ERROR_ILL_POSED, "%s", nadir_context_error(context));
        }
        nadir_solver_free(solver);
        nadir_policy_free(other);
        test_ending_forget(&by);
    }
    print_message("%d differences, %d certified\n", found, certified);
    assert_true(test_attack_count(300) < 100 || certified > test_attack_count(300) / 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_optima), test_with_context(test_value_iteration),
        test_with_context(test_probability_bound), test_with_context(test_differences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
