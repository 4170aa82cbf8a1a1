/* Methods by name: what each of them finds lies in the ball and costs what it says; nothing of it is worse
 * than the worst. */
#include "support/support.h"

#include "support/generated.h"
#include "support/miniature.h"
#include "support/oracle.h"
#include "support/robust.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 27182

static const char *const searches[] = {
    "paper",         "paper-reduced",           "slsqp",       "slsqp-scaled", "random-rank-one",
    "random-kernel", "random-kernel-projected", "conservative"};
enum { SEARCHES = sizeof searches / sizeof *searches };

/* Whether a method knows a domain. */
static bool knows(const char *method, nadir_domain domain)
{
    const bool projected = strcmp(method, "random-kernel-projected") == 0;
    const bool conservative = strcmp(method, "conservative") == 0;
    return domain == NADIR_DOMAIN_FREE || conservative || (projected && domain == NADIR_DOMAIN_SIMPLEX);
}

/* The random model of these sizes, uniform policy. */
typedef struct instance {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_solver *solver;
} instance;

static instance make_instance(nadir_context *context, int64_t states, int64_t actions, uint64_t seed)
{
    instance made = {.context = context};
    nadir_generate_settings settings = test_generate_settings();
    settings.states = states;
    settings.actions = actions;
    settings.seed = seed;
    made.model = test_generate(context, "random", &settings);
    assert_ok(context, nadir_policy_create_uniform(context, made.model, &made.policy));
    made.solver = test_solver(context, made.model, made.policy);
    return made;
}

static void clear_instance(instance *made)
{
    nadir_solver_free(made->solver);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
}

static nadir_baseline run(const instance *at, double radius, const char *method, int64_t samples)
{
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    nadir_baseline result = {.size = sizeof result};
    nadir_baseline_settings settings;
    nadir_baseline_settings_default(&settings);
    settings.method = method;
    settings.samples = samples;
    assert_ok(at->context,
              nadir_solver_baseline(at->context, at->solver, &ball, &settings, &result, NULL, NULL));
    return result;
}

/* ------------------------------------------------------------------------------------ what is found */

/* One method on one ball: the kernel is of the ball, its return is what is said, and the bounds hold. */
static void check_method(nadir_context *context, const test_miniature *tiny, nadir_solver *solver,
                         const nadir_ball *ball, const char *method, bool optimistic)
{
    nadir_robust_settings settings = test_robust_settings();
    settings.optimistic = optimistic;
    const nadir_robust exact = test_robust(context, solver, ball, &settings, NULL);
    nadir_robust result = {.size = sizeof result};
    nadir_worst *worst = NULL;
    settings.method = method;
    settings.iterations_limit = 50;
    const nadir_status status = nadir_solver_robust(context, solver, ball, &settings, &result, &worst);
    assert_that(status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED, "%s",
                nadir_context_error(context));
    assert_string_equal(result.method, method);
    test_oracle oracle = test_oracle_make(tiny->model, tiny->policy, ball);
    double *kernel = test_worst_kernel(context, tiny->model, worst);
    const double scale = test_robust_scale(tiny->model, &result);
    assert_that(test_oracle_excess(&oracle, kernel) <= 1e-9, "outside of the set by %g",
                test_oracle_excess(&oracle, kernel));
    const double attained = test_oracle_return(&oracle, kernel, NULL);
    assert_that(fabs(attained - result.robust_return) <= 1e-9 * scale, "%.17g, but the kernel has %.17g",
                result.robust_return, attained);
    assert_that(result.lower_bound <= attained + 1e-9 * scale &&
                    attained <= result.upper_bound + 1e-9 * scale,
                "%.17g is not between %.17g and %.17g", attained, result.lower_bound, result.upper_bound);
    if (exact.certified) {
        assert_that(fabs(result.penalty) <= fabs(exact.penalty) + 2e-6 * fabs(exact.penalty) + 1e-9 * scale,
                    "a penalty of %.17g; the largest is %.17g", result.penalty, exact.penalty);
        assert_that(optimistic ? result.upper_bound >= exact.robust_return - 1e-9 * scale
                               : result.lower_bound <= exact.robust_return + 1e-9 * scale,
                    "the bound %.17g excludes %.17g", result.lower_bound, exact.robust_return);
    }
    if (result.certified) {
        assert_string_not_equal(result.certificate, "none");
    } else {
        assert_string_equal(result.certificate, "none");
    }
    free(kernel);
    test_oracle_clear(&oracle);
    nadir_worst_free(worst);
}

static void test_kernels(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    static const nadir_domain domains[] = {NADIR_DOMAIN_FREE, NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT};
    int checked = 0;
    for (int i = 0; i < 60; i++) {
        test_miniature tiny = test_miniature_make(context, &random, 5);
        nadir_solver *solver = test_solver(context, tiny.model, tiny.policy);
        double radius = 1e-3;
        nadir_ball ball = test_ball(NADIR_SET_NONRECT, domains[i % 3], 2, &radius, NULL);
        const nadir_robust small = test_robust(context, solver, &ball, NULL, NULL);
        radius = isnan(small.breakdown_radius) ? 0.2 : fmin(0.3, 0.6 * small.breakdown_radius);
        for (int j = 0; j < SEARCHES; j++) {
            if (knows(searches[j], ball.domain)) {
                test_note("seed %d, case %d, %s, %s, %s", SEED, i, searches[j], tiny.name,
                          test_ball_name(&ball));
                check_method(context, &tiny, solver, &ball, searches[j], i % 2 == 1);
                checked++;
            }
        }
        nadir_solver_free(solver);
        test_miniature_clear(&tiny);
    }
    assert_int_equal(checked, 20 * (SEARCHES + 2 + 1));
}

/* Radius 0, nothing that can move, constant rewards: the nominal return. */
static void test_nothing_to_gain(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    const double zeros[64] = {0};
    for (int i = 0; i < 9; i++) {
        test_miniature tiny = test_miniature_make(context, &random, 5);
        nadir_model *model = i % 3 == 2 ? test_model_rewarded(context, tiny.model, 0, 1.5)
                                        : test_model_rewarded(context, tiny.model, 1, 0);
        nadir_solver *solver = test_solver(context, model, tiny.policy);
        const double radius = i % 3 == 0 ? 0 : 1e-3;
        nadir_ball ball =
            test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, i % 3 == 1 ? zeros : NULL);
        for (int j = 0; j < SEARCHES; j++) {
            nadir_robust_settings settings = test_robust_settings();
            settings.method = searches[j];
            settings.iterations_limit = 20;
            test_note("seed %d, case %d, %s, %s", SEED + 1, i, searches[j], tiny.name);
            const nadir_robust result = test_robust(context, solver, &ball, &settings, NULL);
            assert_that(fabs(result.penalty) <= 1e-9 * test_robust_scale(model, &result), "a penalty of %g",
                        result.penalty);
        }
        nadir_solver_free(solver);
        nadir_model_free(model);
        test_miniature_clear(&tiny);
    }
}

/* ------------------------------------------------------------------------------------ facts */

/* Far below breakdown all that converge agree with the exact penalty. */
static void test_agree_at_small_radius(void **state)
{
    nadir_context *context = *state;
    instance at = make_instance(context, 12, 4, 3);
    static const char *const converging[] = {"newton", "bisect",        "best-response",
                                             "paper",  "paper-reduced", "slsqp-scaled"};
    const nadir_baseline exact = run(&at, 0.05, "auto", 10000);
    assert_close(exact.penalty, 0.116097084670345, 1e-12);
    for (int i = 0; i < 6; i++) {
        test_note("%s", converging[i]);
        const nadir_baseline result = run(&at, 0.05, converging[i], 10000);
        assert_true(result.converged);
        assert_that(fabs(result.penalty / exact.penalty - 1) <= 1e-8, "%.17g instead of %.17g",
                    result.penalty, exact.penalty);
    }
    test_note_clear();
    clear_instance(&at);
}

/* Near breakdown b >= 0 keeps the paper's method from the worst kernel: by a third here. */
static void test_paper_understates(void **state)
{
    nadir_context *context = *state;
    instance at = make_instance(context, 6, 2, 1);
    const double radius = 1.2; /* breakdown is at 1.264 */
    const nadir_baseline exact = run(&at, radius, "auto", 10000);
    static const char *const papers[] = {"paper", "paper-reduced"};
    for (int i = 0; i < 2; i++) {
        const nadir_baseline result = run(&at, radius, papers[i], 10000);
        test_note("%s: %.17g of %.17g", papers[i], result.penalty, exact.penalty);
        assert_true(result.converged);
        assert_that(result.penalty < 0.7 * exact.penalty, "not below by 5 %%, let alone 30");
        assert_that(result.penalty > 0.6 * exact.penalty, "the method is not that bad");
    }
    test_note_clear();
    clear_instance(&at);
}

/* Over (b, k) as they are, about half of all starts end at b = 0, where nothing is gained; over (b / beta, k)
 * none does. */
static void test_slsqp_stops_at_zero(void **state)
{
    (void)state;
    int stopped = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        nadir_context *context = test_context_seed(seed, 1);
        instance at = make_instance(context, 6, 2, 1);
        const nadir_baseline exact = run(&at, 0.01, "auto", 10000);
        const nadir_baseline plain = run(&at, 0.01, "slsqp", 10000);
        const nadir_baseline scaled = run(&at, 0.01, "slsqp-scaled", 10000);
        test_note("seed %d: %.17g and %.17g of %.17g", (int)seed, plain.penalty, scaled.penalty,
                  exact.penalty);
        const double share = plain.penalty / exact.penalty;
        assert_that(share < 1e-3 || share > 1 - 1e-6, "neither of both ends");
        assert_that(fabs(scaled.penalty / exact.penalty - 1) < 1e-6, "the scaled one stopped early");
        assert_true(plain.converged);
        stopped += share < 1e-3;
        clear_instance(&at);
        nadir_context_free(context);
    }
    assert_that(stopped >= 5 && stopped <= 15, "%d of 20 starts stop at zero", stopped);
    test_note_clear();
}

/* Tens of thousands of random kernels, none beyond the exact penalty; the same ones for any threads. */
static void test_sampling(void **state)
{
    (void)state;
    static const char *const sampling[] = {"random-rank-one", "random-kernel", "random-kernel-projected"};
    nadir_baseline found[2][3];
    for (int threads = 1; threads <= 2; threads++) {
        nadir_context *context = test_context_seed(7, threads);
        instance at = make_instance(context, 4, 2, 5);
        const nadir_baseline exact = run(&at, 0.1, "auto", 10000);
        for (int i = 0; i < 3; i++) {
            const nadir_baseline result = run(&at, 0.1, sampling[i], 20000);
            test_note("%s: %.17g of %.17g", sampling[i], result.penalty, exact.penalty);
            assert_int_equal(result.samples, 20000);
            assert_string_equal(result.stop_reason, "samples");
            assert_that(result.penalty <= exact.penalty * (1 + 1e-12), "beyond the exact penalty");
            assert_that(result.penalty > 0.3 * exact.penalty, "that is not what 20000 samples find");
            found[threads - 1][i] = result;
        }
        clear_instance(&at);
        nadir_context_free(context);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(found[0][i].penalty == found[1][i].penalty);
    }
    test_note_clear();
}

/* ------------------------------------------------------------------------------------ budgets */

static void test_trajectories(void **state)
{
    nadir_context *context = *state;
    instance at = make_instance(context, 8, 3, 2);
    const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    const char *method;
    for (int64_t i = 0; (method = nadir_method_name(i)) != NULL; i++) {
        test_note("%s", method);
        nadir_baseline result = {.size = sizeof result};
        nadir_trajectory_point *points = NULL;
        int64_t count = 0;
        nadir_baseline_settings settings;
        nadir_baseline_settings_default(&settings);
        settings.method = method;
        settings.seconds = 0.05;
        settings.samples = INT64_MAX;
        assert_ok(context,
                  nadir_solver_baseline(context, at.solver, &ball, &settings, &result, &points, &count));
        assert_non_null(nadir_method_summary(i));
        assert_true(count > 0 || result.penalty == 0);
        for (int64_t j = 1; j < count; j++) {
            assert_true(points[j].seconds >= points[j - 1].seconds);
            assert_true(points[j].samples >= points[j - 1].samples);
            assert_true(points[j].value > points[j - 1].value);
        }
        if (count > 0) {
            assert_that(fabs(points[count - 1].value / result.penalty - 1) <= 1e-9, "%.17g and %.17g",
                        points[count - 1].value, result.penalty);
        }
        nadir_trajectory_free(context, points);
    }
    test_note_clear();
    assert_null(nadir_method_name(-1));
    clear_instance(&at);
}

static void test_refused(void **state)
{
    nadir_context *context = *state;
    instance at = make_instance(context, 5, 2, 2);
    double radius = 0.1;
    nadir_baseline result = {.size = sizeof result};
    nadir_baseline_settings settings;
    nadir_baseline_settings_default(&settings);
    nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    settings.method = "newtron";
    assert_fails(context, nadir_solver_baseline(context, at.solver, &ball, &settings, &result, NULL, NULL),
                 NADIR_ERROR_ARGUMENT, "no method newtron");
    settings.method = "paper";
    settings.samples = 0;
    assert_fails(context, nadir_solver_baseline(context, at.solver, &ball, &settings, &result, NULL, NULL),
                 NADIR_ERROR_ARGUMENT, "0 samples");
    settings.samples = 10;
    settings.size = 0;
    assert_fails(context, nadir_solver_baseline(context, at.solver, &ball, &settings, &result, NULL, NULL),
                 NADIR_ERROR_ARGUMENT, "size");
    settings.size = sizeof settings;
    nadir_baseline unsized = {0};
    assert_fails(context, nadir_solver_baseline(context, at.solver, &ball, &settings, &unsized, NULL, NULL),
                 NADIR_ERROR_ARGUMENT, "size");
    for (int i = 0; i < SEARCHES; i++) {
        settings.method = searches[i];
        test_note("%s", searches[i]);
        ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1, &radius, NULL);
        assert_fails(context,
                     nadir_solver_baseline(context, at.solver, &ball, &settings, &result, NULL, NULL),
                     NADIR_ERROR_UNSUPPORTED, searches[i]);
        ball = test_ball(NADIR_SET_SA, NADIR_DOMAIN_FREE, 2, &radius, NULL);
        assert_fails(context,
                     nadir_solver_baseline(context, at.solver, &ball, &settings, &result, NULL, NULL),
                     NADIR_ERROR_UNSUPPORTED, "norm 2");
        ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
        const nadir_status status =
            nadir_solver_baseline(context, at.solver, &ball, &settings, &result, NULL, NULL);
        assert_int_equal(status,
                         knows(searches[i], NADIR_DOMAIN_SUPPORT) ? NADIR_OK : NADIR_ERROR_UNSUPPORTED);
        ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
        radius = 100;
        assert_fails(context,
                     nadir_solver_baseline(context, at.solver, &ball, &settings, &result, NULL, NULL),
                     NADIR_ERROR_ILL_POSED, "breakdown");
        radius = 0.1;
    }
    test_note_clear();
    clear_instance(&at);
}

/* Several radii, one of them past breakdown. */
static void test_many_radii(void **state)
{
    nadir_context *context = *state;
    instance at = make_instance(context, 5, 2, 2);
    const double radius = 0.1;
    const double factors[] = {0, 0.5, 1, 1000};
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    nadir_robust results[4];
    nadir_robust_settings settings = test_robust_settings();
    settings.method = "paper-reduced";
    for (int i = 0; i < 4; i++) {
        results[i] = (nadir_robust){.size = sizeof results[i]};
    }
    assert_ok(context, nadir_solver_robust_many(context, at.solver, &ball, &settings, 4, factors, results));
    assert_true(results[0].penalty == 0);
    assert_close(results[1].penalty, run(&at, 0.05, "newton", 10000).penalty, 1e-9);
    assert_close(results[2].penalty, run(&at, 0.1, "newton", 10000).penalty, 1e-9);
    assert_string_equal(results[2].method, "paper-reduced");
    assert_string_equal(results[3].stop_reason, "breakdown");
    clear_instance(&at);
}

/* ------------------------------------------------------------------------------------ memory */

static nadir_status search(nadir_context *context, nadir_solver *solver, const void *of)
{
    nadir_trajectory_point *points = NULL;
    int64_t count;
    const double radius = 0.05;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    nadir_baseline result = {.size = sizeof result};
    nadir_baseline_settings settings;
    nadir_baseline_settings_default(&settings);
    settings.method = of;
    settings.samples = 3;
    const nadir_status status =
        nadir_solver_baseline(context, solver, &ball, &settings, &result, &points, &count);
    nadir_trajectory_free(context, points);
    return status;
}

static nadir_status attempt(nadir_context *context, const void *of)
{
    nadir_generate_settings shape = test_generate_settings();
    shape.states = 3;
    shape.actions = 2;
    return test_generate_and_ask(context, "random", &shape, search, of);
}

static void test_memory(void **state)
{
    (void)state;
    for (int i = 0; i < SEARCHES; i++) {
        test_run_out(attempt, searches[i], NULL, searches[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_kernels),
        test_with_context(test_nothing_to_gain),
        test_with_context(test_agree_at_small_radius),
        test_with_context(test_paper_understates),
        cmocka_unit_test(test_slsqp_stops_at_zero),
        cmocka_unit_test(test_sampling),
        test_with_context(test_trajectories),
        test_with_context(test_refused),
        test_with_context(test_many_radii),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
