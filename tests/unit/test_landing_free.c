/*
 * The free domain where rewards on landing are not separable: every bound by itself against kernels of the set that
 * brute force finds (support/oracle.h), around kernels that are not the worst, too; stationarity by differences; at
 * p = 1 one row is not enough; files that verify; what is refused. Golden values: test_landing_golden.c.
 */
#include "support/support.h"

#include "model/landing.h"
#include "proof/free_landing.h"
#include "search/free_search.h"
#include "support/kernel_descent.h"
#include "support/landing.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 314159

enum { PROBLEMS = 40, KERNELS = 60 };

/* One problem of the free domain. */
typedef struct posed {
    test_landing_random drawn;
    nadir_solver *solver;
    nadir_setup setup;
    test_oracle oracle;
    double radius;
    nadir_ball ball;
} posed;

/* A share of the breakdown radius at p = 2, which is not above that at p = 1. False: rewards are separable. */
static bool pose(nadir_context *context, nadir_random *random, int i, posed *made)
{
    static const test_rewards kinds[] = {TEST_REWARDS_NOISY, TEST_REWARDS_GENERAL, TEST_REWARDS_FEW,
                                         TEST_REWARDS_FLAT};
    static const double shares[] = {0.02, 0.2, 0.5, 0.9};
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_STRICT;
    *made = (posed){.drawn = test_landing_draw(context, random, 5, kinds[i % 4])};
    made->ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, i % 3 == 0 ? 1 : 2, &made->radius,
                           made->drawn.draft.scales);
    made->solver = test_solver(context, made->drawn.model, made->drawn.policy);
    made->radius = 1e-7;
    const double breakdown =
        test_robust(context, made->solver, &made->ball, &settings, NULL).breakdown_radius;
    made->radius = shares[i / 4 % 4] * fmin(breakdown, 2);
    assert_ok(context, nadir_setup_make(context, made->solver, &made->ball, i % 5 == 0, &made->setup));
    made->oracle = test_landing_oracle(&made->drawn.draft, made->drawn.model, made->drawn.policy, &made->ball,
                                       made->setup.problem.sign);
    test_note("problem %d, %s; %s", i, made->drawn.name, test_ball_name(&made->ball));
    return made->setup.problem.landing != 0 && !made->setup.uncertainty.idle;
}

static void posed_clear(nadir_context *context, posed *made)
{
    test_note_clear();
    test_oracle_clear(&made->oracle);
    nadir_setup_clear(context, &made->setup);
    nadir_solver_free(made->solver);
    test_landing_random_clear(&made->drawn);
}

/* The lowest return that is found, as the problem has it, from random kernels and from `start`. */
static double lowest_of(const posed *made, nadir_random *random, const double *start)
{
    const test_oracle *oracle = &made->oracle;
    const int64_t count = oracle->rows * oracle->states;
    double *kernel = test_new(count, sizeof *kernel);
    double lowest = INFINITY;
    for (int i = 0; i < KERNELS; i++) {
        test_oracle_random(oracle, random, kernel);
        lowest = fmin(lowest, test_oracle_return(oracle, kernel, NULL));
    }
    memcpy(kernel, start, (size_t)count * sizeof *kernel);
    test_oracle_pull(oracle, kernel);
    lowest = fmin(lowest, test_kernel_descent(oracle, random, kernel));
    free(kernel);
    const nadir_problem *problem = &made->setup.problem;
    return problem->sign * nadir_landing_shaped_return(problem->model, problem->sign * lowest);
}

/* What returns are known to, in long double and in the decomposition of rewards. */
static double noise_of(const posed *made)
{
    const nadir_problem *problem = &made->setup.problem;
    return 1e-11 * fmax(problem->largest, 1e-300) / (1 - problem->gamma) + 2 * problem->model->landing.slack;
}

static void hold(const posed *made, const char *name, double lower, double lowest)
{
    assert_that(lower <= lowest + noise_of(made), "%s proves %.17g; a kernel returns %.17g", name, lower,
                lowest);
}

/* ----------------------------------------------------------------------------- every bound by itself */

/* A kernel of the set that is not the worst: between this one and the nominal one. */
static nadir_kernel *between(nadir_context *context, const posed *made, const double *kernel, double share)
{
    const test_oracle *oracle = &made->oracle;
    const int64_t n = oracle->states;
    nadir_changed_rows changed = {.count = oracle->rows};
    int64_t *rows = test_new(2 * oracle->rows + 1, sizeof *rows);
    int32_t *columns = test_new(oracle->rows * n, sizeof *columns);
    double *values = test_new(oracle->rows * n, sizeof *values);
    nadir_kernel *mixed = NULL;
    for (int64_t i = 0; i < oracle->rows * n; i++) {
        rows[i / n] = i / n;
        rows[oracle->rows + i / n] = i / n * n;
        columns[i] = (int32_t)(i % n);
        values[i] = oracle->nominal[i] + share * (kernel[i] - oracle->nominal[i]);
    }
    rows[2 * oracle->rows] = oracle->rows * n;
    changed.rows = rows;
    changed.starts = rows + oracle->rows;
    changed.columns = columns;
    changed.values = values;
    assert_ok(context, nadir_kernel_create_changed(context, made->drawn.model, &changed, &mixed));
    free(rows);
    free(columns);
    free(values);
    return mixed;
}

/* The second-order bound around a kernel, whatever tau. Returns kappa. */
static double attack_second_order(nadir_context *context, const posed *made, const nadir_kernel *kernel,
                                  double tau, double lowest)
{
    const nadir_problem *problem = &made->setup.problem;
    nadir_occupancy *occupancy = NULL;
    nadir_value value = {0};
    nadir_landing_answer found;
    assert_ok(context,
              nadir_occupancy_create(context, kernel, problem->policy, problem->gamma, NULL, 0, &occupancy));
    assert_ok(context, nadir_value_solve(context, kernel, problem->policy, occupancy, &value));
    assert_ok(context,
              nadir_landing_check(context, problem, NADIR_CERTIFY_AUTO, kernel, value.v, tau, &found));
    const double J = problem->sign * value.J;
    assert_that(found.lower <= J + noise_of(made) && J - noise_of(made) <= found.upper,
                "the kernel returns %.17g, not %.17g to %.17g", J, found.lower, found.upper);
    hold(made, "second-order", found.bound, lowest);
    nadir_value_clear(context, &value);
    nadir_occupancy_free(context, occupancy);
    return found.kappa;
}

static void attack_shaped(nadir_context *context, const posed *made, nadir_random *random, double lowest)
{
    const nadir_problem *problem = &made->setup.problem;
    const int64_t n = problem->states;
    double *pair = test_new(2 * n, sizeof *pair);
    double lower;
    double best;
    assert_ok(context, nadir_landing_shaped_search(context, problem, &best, pair, pair + n));
    for (int i = -4; i < 5; i++) { /* any t and, for the last ones, any pair */
        const double t = (best > 0 ? best : problem->largest) * pow(8, i);
        for (int64_t s = 0; s < 2 * n && i > 2; s++) {
            pair[s] = nadir_random_normal(random);
        }
        assert_ok(context, nadir_landing_shaped_bound(context, problem, t, pair, pair + n, NADIR_CERTIFY_AUTO,
                                                      &lower));
        hold(made, "shaped", lower, lowest);
    }
    free(pair);
}

static void attack(nadir_context *context, const posed *made, nadir_random *random, int *proven)
{
    const nadir_problem *problem = &made->setup.problem;
    nadir_candidate start = {0};
    double lower;
    double *rows = test_new(made->oracle.rows * made->oracle.states, sizeof *rows);
    assert_ok(context, nadir_kernel_create(context, problem->model, &start.kernel));
    assert_ok(context, nadir_free_landing_solve(context, problem, 1000, &start));
    nadir_explicit entries = {0};
    assert_ok(context, nadir_explicit_make(context, start.kernel, &entries));
    for (int64_t row = 0; row < made->oracle.rows; row++) {
        const nadir_row own = nadir_explicit_row(&entries, row);
        memset(rows + row * problem->states, 0, (size_t)problem->states * sizeof *rows);
        for (int64_t i = 0; i < own.count; i++) {
            rows[row * problem->states + own.columns[i]] = own.values[i];
        }
    }
    nadir_explicit_clear(context, &entries);
    const double lowest = fmin(lowest_of(made, random, rows), start.J);
    assert_ok(context, nadir_landing_closed_bound(context, problem, NADIR_CERTIFY_AUTO, &lower));
    hold(made, "closed", lower, lowest);
    attack_shaped(context, made, random, lowest);
    if (problem->uncertainty->p == 2) {
        const double kappa = attack_second_order(context, made, start.kernel, start.tau, lowest);
        *proven += kappa <= 0.5;
        for (int i = 0; i < 4; i++) { /* false optima, and any tau */
            nadir_kernel *other = between(context, made, rows, nadir_random_uniform(random) * 1.9 - 0.95);
            const double tau = start.tau * pow(10, 2 * nadir_random_uniform(random) - 1);
            (void)attack_second_order(context, made, other, tau, lowest);
            nadir_kernel_free(other);
        }
    }
    nadir_candidate_clear(context, &start);
    free(rows);
}

static void test_every_bound_holds(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    const int count = test_attack_count(PROBLEMS);
    int attacked = 0;
    int proven = 0;
    for (int i = 0; i < count; i++) {
        posed made;
        if (pose(context, &random, i, &made)) {
            attack(context, &made, &random, &proven);
            attacked++;
        }
        posed_clear(context, &made);
    }
    assert_that(attacked > count / 3 && proven > attacked / 8, "%d attacked, %d proven", attacked, proven);
}

/* -------------------------------------------------------------------------------------- stationarity */

/* Differences of the return along the way to other kernels of the set. */
static void test_kernels_are_stationary(void **state)
{
    nadir_context *context = *state;
    static const double radii[] = {0.05, 0.5, 1.5};
    static const double norms[] = {1.5, 2, 3};
    nadir_model *model = test_landing_golden_model(context, TEST_RND, false);
    nadir_policy *policy = test_landing_golden_policy(context, model, TEST_RND, false);
    nadir_solver *solver = test_solver(context, model, policy);
    nadir_random random = test_random(SEED);
    for (int i = 0; i < 9; i++) {
        const double radius = norms[i / 3] == 3 ? radii[i % 3] / 4 : radii[i % 3];
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, norms[i / 3], &radius, NULL);
        test_oracle oracle = test_oracle_make(model, policy, &ball);
        const int64_t count = oracle.rows * oracle.states;
        nadir_worst *worst = NULL;
        test_note("%s", test_ball_name(&ball));
        const nadir_robust found = test_robust(context, solver, &ball, NULL, &worst);
        double *kernel = test_worst_kernel(context, model, worst);
        double *other = test_new(count, sizeof *other);
        const double J = test_oracle_return(&oracle, kernel, NULL);
        assert_close(J, found.robust_return, 1e-11);
        for (int j = 0; j < KERNELS; j++) {
            const double h = 1e-5;
            test_oracle_random(&oracle, &random, other);
            for (int64_t k = 0; k < count; k++) {
                other[k] = kernel[k] + h * (other[k] - kernel[k]);
            }
            const double slope = (test_oracle_return(&oracle, other, NULL) - J) / h;
            assert_that(slope >= -1e-4 * found.penalty, "the return falls with a slope of %g", slope);
        }
        free(kernel);
        free(other);
        nadir_worst_free(worst);
        test_oracle_clear(&oracle);
    }
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* ---------------------------------------------------------------------------------------- two rows */

/* 0 leads to 1 and 2, 1 to 3 and 4, by halves; landing on 3 costs 1. With x of the radius in row 0 and the rest in
 * row 1: J = -(1/2 + x/2) gamma (1/2 + (beta - x)/2), least in the middle. */
static void test_one_row_is_not_enough(void **state)
{
    nadir_context *context = *state;
    static const nadir_domain domains[] = {NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT, NADIR_DOMAIN_FREE};
    static const double radius = 0.4;
    test_landing draft = test_landing_start(5, 1, 0.9);
    memset(draft.mu, 0, 5 * sizeof *draft.mu);
    draft.mu[0] = 1;
    for (int64_t i = 0; i < 25; i++) {
        draft.paid[i] = i == 5 + 3 ? -1 : 0;
    }
    draft.kernel[1] = draft.kernel[2] = draft.kernel[5 + 3] = draft.kernel[5 + 4] = 0.5;
    for (int64_t s = 2; s < 5; s++) {
        draft.kernel[6 * s] = 1;
        draft.scales[s] = 0;
    }
    nadir_model *model = test_landing_model(context, &draft, false, NADIR_UNSEEN_ADDITIVE, NAN);
    nadir_policy *policy = test_uniform_policy(context, model);
    nadir_solver *solver = test_solver(context, model, policy);
    assert_true(nadir_landing_is_general(model));
    for (int i = 0; i < 3; i++) {
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domains[i], 1, &radius, draft.scales);
        test_note("%s", test_ball_name(&ball));
        const nadir_robust found = test_robust(context, solver, &ball, NULL, NULL);
        assert_close(found.robust_return, -0.324, 1e-9);
        assert_true(found.lower_bound <= -0.324 && found.lower_bound > -0.5);
    }
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    test_landing_clear(&draft);
}

/* ------------------------------------------------------------------------------------------- files */

static void verify_files(nadir_context *context, nadir_solver *solver, nadir_model *model,
                         const nadir_policy *policy, const nadir_ball *ball, bool optimistic)
{
    nadir_robust_settings settings = test_robust_settings();
    nadir_verify_settings verifying;
    nadir_verify_result result = {.size = sizeof result};
    nadir_verification *made = NULL;
    nadir_worst *worst = NULL;
    settings.optimistic = optimistic;
    const nadir_robust found = test_robust(context, solver, ball, &settings, &worst);
    assert_ok(context, nadir_worst_write(context, worst, "worst.npz"));
    assert_ok(context, nadir_worst_set_files(context, worst, NULL, NULL, "worst.npz"));
    assert_ok(context, nadir_worst_write_witness(context, worst, "worst.json"));
    nadir_verify_settings_default(&verifying);
    verifying.kernel = "worst.npz";
    verifying.witness = "worst.json";
    assert_ok(context, nadir_verify(context, model, policy, &verifying, &result, &made));
    assert_true(result.verified);
    assert_string_equal(result.certificate != NULL ? result.certificate : "none", found.certificate);
    nadir_verification_free(made);
    nadir_worst_free(worst);
}

static void test_files_verify(void **state)
{
    nadir_context *context = *state;
    static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
    static const double norms[] = {1, 1.5, 2, 3, INFINITY};
    static const double radii[] = {0.01, 0.08, 0.4};
    nadir_model *model = test_landing_golden_model(context, TEST_RND, false);
    for (int i = 0; i < 3 * 5 * 3; i++) {
        nadir_policy *policy = test_landing_golden_policy(context, model, TEST_RND, i % 2 == 0);
        nadir_solver *solver = test_solver(context, model, policy);
        const nadir_ball ball =
            test_ball(sets[i % 3], NADIR_DOMAIN_FREE, norms[i / 3 % 5], &radii[i / 15], NULL);
        test_note("%s", test_ball_name(&ball));
        /* all radii are below breakdown but for these */
        if (!(i / 15 == 2 && i % 3 > 0) && !(i / 15 == 2 && i / 3 % 5 > 2)) {
            verify_files(context, solver, model, policy, &ball, i % 4 == 1);
        }
        nadir_solver_free(solver);
        nadir_policy_free(policy);
    }
    nadir_model_free(model);
}

/* Many radii give what each gives alone. */
static void test_many_radii(void **state)
{
    nadir_context *context = *state;
    static const double factors[] = {0, 0.1, 0.5, 1, 1.5, 30};
    static const double norms[] = {1, 2, 2, 2};
    static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
    nadir_model *model = test_landing_golden_model(context, TEST_RND, false);
    nadir_policy *policy = test_landing_golden_policy(context, model, TEST_RND, false);
    nadir_solver *solver = test_solver(context, model, policy);
    for (int i = 0; i < 4; i++) {
        const double radius = i < 2 ? 0.3 : 0.02;
        const nadir_ball ball = test_ball(sets[i], NADIR_DOMAIN_FREE, norms[i], &radius, NULL);
        const nadir_robust_settings settings = test_robust_settings();
        nadir_robust results[6];
        const int64_t count = i == 1 ? 6 : 5; /* the last is past breakdown, at p = 2 */
        for (int j = 0; j < 6; j++) {
            results[j] = (nadir_robust){.size = sizeof results[j]};
        }
        test_note("%s", test_ball_name(&ball));
        assert_ok(context,
                  nadir_solver_robust_many(context, solver, &ball, &settings, count, factors, results));
        for (int j = 0; j < 5; j++) {
            const double own = factors[j] * radius;
            const nadir_ball alone = test_ball(sets[i], NADIR_DOMAIN_FREE, norms[i], &own, NULL);
            const nadir_robust found = test_robust(context, solver, &alone, &settings, NULL);
            assert_close(results[j].robust_return, found.robust_return, 1e-10);
            assert_close(results[j].lower_bound, found.lower_bound, 1e-6);
            assert_true(results[j].lower_bound <= results[j].robust_return);
        }
        assert_true(count == 5 || isinf(results[5].lower_bound));
    }
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* ---------------------------------------------------------------------------------------- refusals */

static void test_methods_are_refused(void **state)
{
    nadir_context *context = *state;
    static const char *const names[] = {"newton", "bisect", "best-response"};
    static const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    nadir_model *model = test_landing_golden_model(context, TEST_RND, false);
    nadir_policy *policy = test_landing_golden_policy(context, model, TEST_RND, false);
    nadir_solver *solver = test_solver(context, model, policy);
    for (int i = 0; i < 3; i++) {
        nadir_robust_settings settings = test_robust_settings();
        nadir_robust result = {.size = sizeof result};
        settings.method = names[i];
        assert_fails(context, nadir_solver_robust(context, solver, &ball, &settings, &result, NULL),
                     NADIR_ERROR_UNSUPPORTED, "--frozen-rewards");
    }
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* A ring where each step pays its own two numbers: rows of this many states are not written out. */
static void test_large_models_are_refused(void **state)
{
    nadir_context *context = *state;
    enum { STATES = 7200 };
    static const double radius = 1e-3;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    const nadir_robust_settings settings = test_robust_settings();
    nadir_robust result = {.size = sizeof result};
    nadir_model_data data = test_model_data();
    int64_t *starts = test_new(2 * (STATES + 1), sizeof *starts);
    int32_t *columns = test_new(3 * STATES, sizeof *columns);
    double *numbers = test_new(7 * STATES, sizeof *numbers);
    nadir_random random = test_random(SEED);
    for (int64_t s = 0; s <= STATES; s++) {
        starts[s] = s;
        starts[STATES + 1 + s] = 3 * s;
    }
    for (int64_t i = 0; i < 3 * STATES; i++) {
        const int64_t s = i / 3;
        columns[i] = (int32_t)(s == 0 ? i % 3 : s == STATES - 1 ? s - 2 + i % 3 : s - 1 + i % 3);
        numbers[i] = i % 3 == 0 ? 0.5 : 0.25;
        numbers[3 * STATES + i] = nadir_random_normal(&random);
        numbers[6 * STATES + s] = 1.0 / STATES;
    }
    data.states = STATES;
    data.rows = STATES;
    data.state_rows = starts;
    data.row_starts = starts + STATES + 1;
    data.columns = columns;
    data.probabilities = numbers;
    data.transition_rewards = numbers + 3 * STATES;
    data.initial = numbers + 6 * STATES;
    data.discount = 0.5;
    nadir_model *model = test_create_model(context, &data);
    nadir_policy *policy = test_uniform_policy(context, model);
    nadir_solver *solver = test_solver(context, model, policy);
    assert_true(nadir_landing_is_general(model));
    assert_fails(context, nadir_solver_robust(context, solver, &ball, &settings, &result, NULL),
                 NADIR_ERROR_UNSUPPORTED, "--frozen-rewards");
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    free(starts);
    free(columns);
    free(numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_every_bound_holds),
        test_with_context(test_kernels_are_stationary),
        test_with_context(test_one_row_is_not_enough),
        test_with_context(test_files_verify),
        test_with_context(test_many_radii),
        test_with_context(test_methods_are_refused),
        test_with_context(test_large_models_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
