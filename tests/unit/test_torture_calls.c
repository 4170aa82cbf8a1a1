/*
 * test_torture_calls.c: the other questions at the edges of what numbers can say: files of an evaluation that
 * verify, the best policy, the radius of a target, many radii at once. Every number is one or said to be
 * unknown, bounds hold against exact values, and nothing fails but by a clear refusal.
 *
 * NADIR_ATTACKS=N: N times as many problems; NADIR_TORTURE=N: so many; NADIR_TORTURE_FIRST=K: from this one
 * on.
 */
#include "support/support.h"

#include "support/generated.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/torture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tally {
    int64_t verified, unclear, policies, radii, curves, refusals;
} tally;

static void check_refusal(nadir_context *context, nadir_status status, tally *count)
{
    count->refusals++;
    test_torture_refused(context, status);
}

/* The first check that does not hold. */
static const char *broken_promise(const nadir_verification *verification)
{
    for (int64_t i = 0;; i++) {
        const nadir_verify_check *check = nadir_verification_check(verification, i);
        if (check == NULL) {
            return "";
        }
        if (!check->holds) {
            return check->detail;
        }
    }
}

/* What an evaluation writes holds when it is read again. */
static void verify(nadir_context *context, test_torture *made, nadir_solver *solver,
                   const nadir_robust_settings *settings, tally *count)
{
    nadir_robust result = {.size = sizeof result};
    nadir_worst *worst = NULL;
    nadir_verification *verification = NULL;
    nadir_status status = nadir_solver_robust(context, solver, &made->ball, settings, &result, &worst);
    if (status != NADIR_OK) {
        check_refusal(context, status, count);
        nadir_worst_free(worst);
        return;
    }
    assert_ok(context, nadir_worst_write(context, worst, "kernel.npz"));
    assert_ok(context, nadir_worst_write_witness(context, worst, "witness.json"));
    nadir_verify_settings asked;
    nadir_verify_settings_default(&asked);
    asked.kernel = "kernel.npz";
    asked.witness = "witness.json";
    nadir_verify_result found = {.size = sizeof found};
    status = nadir_verify(context, made->model, made->policy, &asked, &found, &verification);
    /* where the return of the kernel itself is hardly known nothing can be promised again */
    const double known = found.return_high - found.return_low;
    const bool sharp = isfinite(known) && known <= 1e-9 * fabs(found.return_low);
    assert_that(status == NADIR_OK || (status == NADIR_ERROR_VERIFICATION && !sharp && !result.certified),
                "%s: %s (bound %s, %.17g to %.17g)", nadir_status_name(status),
                verification != NULL ? broken_promise(verification) : nadir_context_error(context),
                result.bound, result.lower_bound, result.upper_bound);
    count->verified += status == NADIR_OK;
    count->unclear += status != NADIR_OK;
    nadir_verification_free(verification);
    nadir_worst_free(worst);
}

/* No better than its bound says, and no worse. */
static void optimise(nadir_context *context, test_torture *made, tally *count)
{
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    settings.evaluations_limit = 15;
    nadir_robust_optimum_result result = {.size = sizeof result};
    nadir_policy *policy = NULL;
    const nadir_status status =
        nadir_robust_optimum(context, made->model, &made->ball, &settings, &policy, &result, NULL, NULL);
    if (policy == NULL) {
        check_refusal(context, status, count);
        return;
    }
    const nadir_policy *const policies[] = {policy, made->policy};
    count->policies++;
    assert_that(!isnan(result.lower_bound) && !isnan(result.optimality_upper_bound) &&
                    isfinite(result.robust_return) && isfinite(result.nominal_return) &&
                    isfinite(result.nominal_optimum),
                "returns %g, %g and %g, bounds %g and %g", result.robust_return, result.nominal_return,
                result.nominal_optimum, result.lower_bound, result.optimality_upper_bound);
    assert_true(result.lower_bound <= result.optimality_upper_bound);
    for (int i = 0; i < 2; i++) {
        test_oracle oracle = test_oracle_make(made->model, policies[i], &made->ball);
        test_quad J = 0;
        if (test_quad_worst(&oracle, &J) != TEST_QUAD_UNKNOWN) {
            const test_quad slack = test_torture_rounding(&oracle);
            assert_that(J - slack <= result.optimality_upper_bound,
                        "policy %d has a worst return of %.20Lg, and none should be above %.17g", i,
                        (long double)J, result.optimality_upper_bound);
            assert_that(i > 0 || result.lower_bound <= J + slack,
                        "the policy's worst return is %.20Lg, not %.17g or more", (long double)J,
                        result.lower_bound);
        }
        test_oracle_clear(&oracle);
    }
    nadir_policy_free(policy);
}

/* The worst return at radii times a factor, where it is known. */
static bool worst_at(const test_torture *made, double radius, test_quad *J, test_quad *slack)
{
    nadir_ball ball = made->ball;
    ball.radius = &radius;
    ball.radius_count = 1;
    test_oracle oracle = test_oracle_make(made->model, made->policy, &ball);
    const bool known = radius <= 1e100 && test_quad_worst(&oracle, J) != TEST_QUAD_UNKNOWN;
    *slack = test_torture_rounding(&oracle);
    test_oracle_clear(&oracle);
    return known;
}

/* A target a little below the nominal return: up to radius_lower it is met, at radius_upper it is not. */
static void find_radius(nadir_context *context, nadir_random *random, test_torture *made,
                        nadir_solver *solver, tally *count)
{
    nadir_nominal nominal = {.size = sizeof nominal};
    nadir_radius result = {.size = sizeof result};
    nadir_status status = nadir_solver_nominal(context, solver, &nominal);
    made->ball.radius_count = 1;
    const double target =
        nominal.nominal_return - nadir_random_uniform(random) * fabs(nominal.nominal_return) * 0.5;
    status = status == NADIR_OK ? nadir_solver_radius(context, solver, &made->ball, NULL, target, &result)
                                : status;
    if (status != NADIR_OK && result.stop_reason == NULL) {
        check_refusal(context, status, count);
        return;
    }
    test_quad J;
    test_quad slack;
    count->radii++;
    assert_that(result.radius_lower >= 0 && result.radius_lower <= result.radius_upper, "radii from %g to %g",
                result.radius_lower, result.radius_upper);
    if (strcmp(result.certificate, "none") != 0 && worst_at(made, result.radius_lower, &J, &slack)) {
        assert_that(J + slack >= target, "at radius %.17g the worst return is %.20Lg, below %.17g",
                    result.radius_lower, (long double)J, target);
    }
    if (isfinite(result.radius_upper) && worst_at(made, result.radius_upper, &J, &slack)) {
        assert_that(J - slack <= target, "at radius %.17g the worst return is %.20Lg, above %.17g",
                    result.radius_upper, (long double)J, target);
    }
}

/* Many radii: each between its bounds. */
static void draw_curve(nadir_context *context, test_torture *made, nadir_solver *solver, tally *count)
{
    enum { COUNT = 4 };
    static const double factors[COUNT] = {0, 0.25, 0.5, 1};
    nadir_robust results[COUNT];
    for (int i = 0; i < COUNT; i++) {
        results[i] = (nadir_robust){.size = sizeof results[i]};
    }
    made->ball.radius_count = 1;
    const nadir_status status =
        nadir_solver_robust_many(context, solver, &made->ball, NULL, COUNT, factors, results);
    if (status != NADIR_OK && results[0].stop_reason == NULL) {
        check_refusal(context, status, count);
        return;
    }
    count->curves++;
    for (int i = 0; i < COUNT; i++) {
        test_quad J;
        test_quad slack;
        assert_true(results[i].lower_bound <= results[i].upper_bound);
        if (worst_at(made, factors[i] * made->radii[0], &J, &slack)) {
            assert_that(results[i].lower_bound <= J + slack && J - slack <= results[i].upper_bound,
                        "at factor %g the worst return is %.20Lg, not between %.17g and %.17g (%s, %s)",
                        factors[i], (long double)J, results[i].lower_bound, results[i].upper_bound,
                        results[i].bound, results[i].stop_reason);
        }
    }
}

static void ask(nadir_context *context, nadir_random *random, test_torture *made, tally *count)
{
    nadir_solver *solver = NULL;
    nadir_robust_settings settings = test_robust_settings();
    settings.optimistic = nadir_random_below(random, 4) == 0;
    settings.certify = (nadir_certify)nadir_random_below(random, 3);
    const nadir_status status = nadir_solver_create(context, made->model, made->policy, NULL, &solver);
    if (status != NADIR_OK) {
        check_refusal(context, status, count);
        return;
    }
    verify(context, made, solver, &settings, count);
    optimise(context, made, count);
    if (made->ball.norm == 1 || made->ball.norm >= 1.5) { /* fifty searches, each slow at 1 + 1e-6 */
        find_radius(context, random, made, solver, count);
    }
    draw_curve(context, made, solver, count);
    nadir_solver_free(solver);
}

static void try_problem(int i, tally *count)
{
    nadir_context *context = test_context();
    test_torture made;
    nadir_random random = test_random(51115 + (uint64_t)i);
    test_torture_make(context, &random, &made);
    test_note("problem %d: %s; %s%s", i, made.name, test_ball_name(&made.ball),
              made.ball.scales != NULL ? ", scales" : "");
    test_torture_watch(60);
    ask(context, &random, &made, count);
    test_torture_clear(&made);
    nadir_context_free(context);
    test_torture_watch(0);
}

/* Problems that once were too much. */
static void test_found(void **state)
{
    static const int found[] = {655, 3661, 3862, 4188, 6645, 12177, 14130, 14361};
    tally ignored = {0};
    (void)state;
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        try_problem(found[i], &ignored);
    }
}

static void test_problems(void **state)
{
    const int count = test_variable("NADIR_TORTURE", 1, test_attack_count(70));
    const int first = test_variable("NADIR_TORTURE_FIRST", 0, 0);
    tally tallied = {0};
    (void)state;
    for (int i = first; i < first + count; i++) {
        try_problem(i, &tallied);
    }
    print_message("%lld evaluations verified, %lld too unclear for that, %lld policies, %lld radii, %lld "
                  "curves, %lld refusals\n",
                  (long long)tallied.verified, (long long)tallied.unclear, (long long)tallied.policies,
                  (long long)tallied.radii, (long long)tallied.curves, (long long)tallied.refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
