/*
 * test_arguments.c: what every question of the adversary refuses: settings, balls and results whose size is
 * not set, and numbers that mean nothing. Nothing is made, nothing leaks.
 */
#include "support/support.h"

#include "support/golden.h"
#include "support/instance.h"
#include "support/robust.h"

#include <math.h>
#include <string.h>

static const double radius = 0.05;

static nadir_robust_settings settings_now(void)
{
    nadir_robust_settings made = test_robust_settings();
    return made;
}

static nadir_ball ball_now(void)
{
    return test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
}

static void refuse_evaluation(const test_instance *here, const nadir_ball *ball,
                              const nadir_robust_settings *settings, const char *words)
{
    nadir_robust result = {.size = sizeof result};
    nadir_worst *worst = NULL;
    assert_fails(here->context,
                 nadir_solver_robust(here->context, here->solver, ball, settings, &result, &worst),
                 NADIR_ERROR_ARGUMENT, words);
    assert_null(worst);
}

static void evaluation(void **state)
{
    (void)state;
    test_instance here = test_instance_make(0);
    const nadir_ball ball = ball_now();
    nadir_robust_settings settings = settings_now();
    settings.size = 0;
    refuse_evaluation(&here, &ball, &settings, "the size of the robust settings is not set");
    settings = settings_now();
    settings.tolerance = 0;
    refuse_evaluation(&here, &ball, &settings, "the tolerance is 0");
    settings = settings_now();
    settings.width = NAN;
    refuse_evaluation(&here, &ball, &settings, "and the width nan");
    settings = settings_now();
    settings.iterations_limit = 0;
    refuse_evaluation(&here, &ball, &settings, "the limit of iterations is 0");
    settings = settings_now();
    settings.certify = (nadir_certify)99;
    refuse_evaluation(&here, &ball, &settings, "certify is 99");
    settings = settings_now();
    settings.method = "hearsay";
    refuse_evaluation(&here, &ball, &settings, "there is no method hearsay");
    nadir_robust result = {.size = 0};
    assert_fails(here.context, nadir_solver_robust(here.context, here.solver, &ball, NULL, &result, NULL),
                 NADIR_ERROR_ARGUMENT, "the size of the robust result is not set");
    test_instance_clear(&here);
}

static void balls(void **state)
{
    (void)state;
    test_instance here = test_instance_make(0);
    static const double wrong[] = {-1, NAN, INFINITY};
    for (size_t i = 0; i < 3; i++) {
        nadir_ball ball = ball_now();
        ball.radius = &wrong[i];
        refuse_evaluation(&here, &ball, NULL, "radius");
    }
    nadir_ball ball = ball_now();
    ball.size = 0;
    refuse_evaluation(&here, &ball, NULL, "the size of the ball is not set");
    ball = ball_now();
    ball.norm = 0.5;
    refuse_evaluation(&here, &ball, NULL, "the norm is 0.5");
    ball = ball_now();
    ball.set = (nadir_set)17;
    refuse_evaluation(&here, &ball, NULL, "the set or the domain of the ball is none of the known ones");
    ball = ball_now();
    ball.domain = (nadir_domain)17;
    refuse_evaluation(&here, &ball, NULL, "the set or the domain of the ball is none of the known ones");
    test_instance_clear(&here);
}

static void refuse_radius(const test_instance *here, const nadir_ball *ball,
                          const nadir_robust_settings *settings, double target, size_t size,
                          const char *words)
{
    nadir_radius result = {.size = size};
    assert_fails(here->context,
                 nadir_solver_radius(here->context, here->solver, ball, settings, target, &result),
                 NADIR_ERROR_ARGUMENT, words);
}

static void radii(void **state)
{
    (void)state;
    test_instance here = test_instance_make(0);
    nadir_ball ball = ball_now();
    nadir_robust_settings settings = settings_now();
    const double target = test_robust_return(here.context, here.model, here.policy, &ball);
    refuse_radius(&here, &ball, NULL, NAN, sizeof(nadir_radius), "the target nan");
    refuse_radius(&here, &ball, NULL, target, 0, "the size of the radius result is not set");
    settings.tolerance = -1;
    refuse_radius(&here, &ball, &settings, target, sizeof(nadir_radius), "the tolerance is -1");
    settings.size = 0;
    refuse_radius(&here, &ball, &settings, target, sizeof(nadir_radius), "the size of the robust settings");
    ball.size = 0;
    refuse_radius(&here, &ball, NULL, target, sizeof(nadir_radius), "the size of the ball is not set");
    test_instance_clear(&here);
}

static void differences(void **state)
{
    (void)state;
    test_instance here = test_instance_make(0);
    const nadir_ball ball = ball_now();
    nadir_robust_settings settings = settings_now();
    nadir_difference result = {.size = sizeof result};
    settings.size = 0;
    assert_fails(
        here.context,
        nadir_solver_difference(here.context, here.solver, here.solver, &ball, &settings, &result, NULL),
        NADIR_ERROR_ARGUMENT, "the size of the robust settings is not set");
    test_instance_clear(&here);
}

static void refuse_optimum(const test_instance *here, const nadir_robust_optimum_settings *settings,
                           size_t size, const char *words)
{
    const nadir_ball ball = ball_now();
    nadir_robust_optimum_result result = {.size = size};
    nadir_policy *policy = NULL;
    assert_fails(
        here->context,
        nadir_robust_optimum(here->context, here->model, &ball, settings, &policy, &result, NULL, NULL),
        NADIR_ERROR_ARGUMENT, words);
    nadir_policy_free(policy);
}

static void optima(void **state)
{
    (void)state;
    test_instance here = test_instance_make(0);
    const size_t size = sizeof(nadir_robust_optimum_result);
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    settings.certify = (nadir_certify)99;
    refuse_optimum(&here, &settings, size, "certify is 99");
    settings.certify = NADIR_CERTIFY_OFF;
    settings.step = NAN;
    refuse_optimum(&here, &settings, size, "the step is nan");
    settings.gap = 0;
    refuse_optimum(&here, &settings, size, "the gap is 0");
    settings.size = 0;
    refuse_optimum(&here, &settings, size, "the size of the settings of the robust optimum is not set");
    refuse_optimum(&here, NULL, 0, "the size of a result is not set");
    test_instance_clear(&here);
}

static void verification(void **state)
{
    (void)state;
    test_instance here = test_instance_make(0);
    const nadir_ball ball = ball_now();
    nadir_worst *worst = NULL;
    nadir_verification *made = NULL;
    (void)test_robust(here.context, here.solver, &ball, NULL, &worst);
    assert_ok(here.context, nadir_worst_write(here.context, worst, "worst.npz"));
    nadir_worst_free(worst);
    nadir_verify_settings settings;
    nadir_verify_settings_default(&settings);
    settings.kernel = "worst.npz";
    nadir_verify_result result = {.size = 0};
    assert_fails(here.context, nadir_verify(here.context, here.model, here.policy, &settings, &result, &made),
                 NADIR_ERROR_ARGUMENT, "the size of the result is not set");
    nadir_verification_free(made);
    test_instance_clear(&here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluation),  cmocka_unit_test(balls),  cmocka_unit_test(radii),
        cmocka_unit_test(differences), cmocka_unit_test(optima), cmocka_unit_test(verification),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
