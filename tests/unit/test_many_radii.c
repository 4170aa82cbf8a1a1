/*
 * Many radii at once against one after the other: the same answers where they are exact, none that is less
 * bad where they are searched for, and what happens at breakdown and at radius 0.
 */
#include "support/support.h"

#include "support/generated.h"
#include "support/golden.h"
#include "support/instance.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/scarce.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 5772

enum { RADII = 12 };

/* Out of order, some twice, one of them 0. */
static void fill_factors(double factors[RADII], nadir_robust results[RADII])
{
    static const double given[RADII] = {0.5, 0.1, 1, 0.2, 0.2, 0, 0.9, 0.8, 0.3, 0.05, 0.7, 0.4};
    for (int i = 0; i < RADII; i++) {
        factors[i] = given[i];
        results[i] = (nadir_robust){.size = sizeof results[i]};
    }
}

/* exact: the answers are the same; otherwise many radii find kernels that are as bad, or worse. */
static void compare(const test_instance *here, const nadir_ball *ball, bool exact)
{
    nadir_robust many[RADII];
    double factors[RADII];
    fill_factors(factors, many);
    assert_ok(here->context,
              nadir_solver_robust_many(here->context, here->solver, ball, NULL, RADII, factors, many));
    for (int i = 0; i < RADII; i++) {
        const double radius = factors[i] * ball->radius[0];
        nadir_ball own = *ball;
        own.radius = &radius;
        test_note("%s", test_ball_name(&own));
        const nadir_robust one = test_robust(here->context, here->solver, &own, NULL, NULL);
        const double slack = 1e-8 * one.penalty + 1e-12 * fabs(one.nominal_return);
        assert_that(fabs(many[i].radius - radius) <= DBL_EPSILON * radius, "%.17g", many[i].radius);
        assert_that(many[i].robust_return <= one.robust_return + slack, "%.12g among many, %.12g alone",
                    many[i].robust_return, one.robust_return);
        assert_that(!exact || many[i].robust_return >= one.robust_return - slack,
                    "%.12g among many, %.12g alone", many[i].robust_return, one.robust_return);
        assert_that(!exact || many[i].certified == one.certified, "%d among many, %d alone",
                    many[i].certified, one.certified);
        /* all of these are bounds on one number */
        assert_true(many[i].lower_bound <= one.upper_bound && one.lower_bound <= many[i].upper_bound);
        assert_true(many[i].lower_bound <= many[i].robust_return &&
                    many[i].robust_return <= many[i].upper_bound);
    }
    test_note_clear();
}

static void test_same_answers(void **state)
{
    static const double norms[] = {1, 1.5, 2, 3, INFINITY};
    static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
    (void)state;
    test_instance here = test_instance_make(0);
    for (int i = 0; i < 15; i++) {
        const double radius = sets[i % 3] == NADIR_SET_NONRECT ? 0.1 : 0.02;
        const nadir_ball ball = test_ball(sets[i % 3], NADIR_DOMAIN_FREE, norms[i / 3], &radius, NULL);
        compare(&here, &ball, true);
    }
    test_instance_clear(&here);
}

static void test_valid_domains(void **state)
{
    static const double norms[] = {2, 1, 3};
    (void)state;
    for (int i = 0; i < 8; i++) {
        test_instance here = test_instance_make(i < 6 ? 0 : 2);
        const double radius = i < 4 ? 0.6 : 0.2;
        const nadir_domain domain = i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, norms[i < 6 ? i / 2 : 0], &radius, NULL);
        compare(&here, &ball, false);
        test_instance_clear(&here);
    }
}

/* On a straight path a prediction is nearly all: one step, where a search from nothing takes several. */
static void test_path(void **state)
{
    enum { COUNT = 20 };
    (void)state;
    test_instance here = test_instance_make(2);
    nadir_robust many[COUNT];
    double factors[COUNT];
    int64_t steps = 0;
    const double radius = 0.2;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_OFF;
    for (int i = 0; i < COUNT; i++) {
        factors[i] = (i + 1.0) / COUNT;
        many[i] = (nadir_robust){.size = sizeof many[i]};
    }
    assert_ok(here.context,
              nadir_solver_robust_many(here.context, here.solver, &ball, &settings, COUNT, factors, many));
    for (int i = 4; i < COUNT; i++) {
        steps += many[i].iterations;
    }
    assert_that(steps <= COUNT, "%d steps at %d radii", (int)steps, COUNT - 4);
    test_instance_clear(&here);
}

static test_instance generate(const char *kind)
{
    test_instance made = {.context = test_context()};
    made.model = test_generate(made.context, kind, NULL);
    assert_ok(made.context, nadir_policy_create_uniform(made.context, made.model, &made.policy));
    made.solver = test_solver(made.context, made.model, made.policy);
    return made;
}

/* Against one radius alone. */
static void compare_one(const char *kind, const nadir_robust *found)
{
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &found->radius, NULL);
    test_instance here = generate(kind);
    const nadir_robust one = test_robust(here.context, here.solver, &ball, NULL, NULL);
    assert_that(found->certified && one.certified, "%s: %s, alone %s", kind, found->bound, one.bound);
    assert_that(fabs(found->robust_return - one.robust_return) <= 1e-12 * fabs(one.robust_return),
                "%s, radius %g: %.17g, alone %.17g", kind, found->radius, found->robust_return,
                one.robust_return);
    test_instance_clear(&here);
}

/* Fifty radii of small models with their proofs take hardly more than a step each and at most three solves (counted,
 * since no clock can be trusted); each is proven, and known as well as alone. */
static void test_cheap(void **state)
{
    enum { COUNT = 50 };
    static const char *const kinds[] = {"machine", "riverswim"};
    const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
    (void)state;
    for (int k = 0; k < 2; k++) {
        nadir_robust many[COUNT];
        double factors[COUNT];
        int64_t steps = 0;
        for (int i = 0; i < COUNT; i++) {
            factors[i] = (i + 1.0) / COUNT;
            many[i] = (nadir_robust){.size = sizeof many[i]};
        }
        test_instance here = generate(kinds[k]);
        assert_ok(here.context,
                  nadir_solver_robust_many(here.context, here.solver, &ball, NULL, COUNT, factors, many));
        for (int i = 0; i < COUNT; i++) {
            compare_one(kinds[k], &many[i]);
            steps += many[i].iterations;
        }
        assert_that(steps <= COUNT + 15, "%s: %lld steps at %d radii", kinds[k], (long long)steps, COUNT);
        assert_that(many[0].solves <= 3 * COUNT, "%s: %lld solves at %d radii", kinds[k],
                    (long long)many[0].solves, COUNT);
        test_instance_clear(&here);
    }
}

static test_instance generate_sized(const char *kind, int64_t states)
{
    test_instance made = {.context = test_context()};
    nadir_generate_settings shape = test_generate_settings();
    shape.states = states > 0 ? states : shape.states;
    shape.actions = states > 0 ? 4 : shape.actions;
    /* rewards on landing that are not separable have no curve of their own on the free domain */
    made.model = test_frozen(made.context, test_generate(made.context, kind, &shape));
    assert_ok(made.context, nadir_policy_create_uniform(made.context, made.model, &made.policy));
    made.solver = test_solver(made.context, made.model, made.policy);
    return made;
}

/* A curve of the free domain takes few more solves than one evaluation, counted from the factors on; every
 * point of it is what an evaluation alone says, with bounds as close. */
static void test_free_curve(void **state)
{
    enum { COUNT = 50 };
    static const struct {
        const char *kind;
        int64_t states;
        double radius;
    } models[] = {{"random", 60, 0.1}, {"garnet", 40, 0.1}, {"machine", 0, 0.1}, {"riverswim", 0, 0.01}};
    (void)state;
    nadir_robust_settings settings = test_robust_settings();
    settings.tolerance = 1e-12; /* searches stop early otherwise, alone at another place than among many */
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        nadir_robust many[COUNT];
        double factors[COUNT];
        int64_t solves = 0;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &models[m].radius, NULL);
        test_instance here = generate_sized(models[m].kind, models[m].states);
        for (int i = 0; i < COUNT; i++) {
            factors[i] = (i + 1.0) / COUNT;
            many[i] = (nadir_robust){.size = sizeof many[i]};
        }
        assert_ok(here.context, nadir_solver_robust_many(here.context, here.solver, &ball, &settings, COUNT,
                                                         factors, many));
        for (int i = COUNT - 1; i >= 0; i -= 7) {
            test_instance alone = generate_sized(models[m].kind, models[m].states);
            const nadir_ball own = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &many[i].radius, NULL);
            const nadir_robust one = test_robust(alone.context, alone.solver, &own, &settings, NULL);
            test_note("%s, radius %g", models[m].kind, many[i].radius);
            assert_that(many[i].certified && one.certified, "%d, alone %d", many[i].certified, one.certified);
            assert_close(many[i].robust_return, one.robust_return, 1e-12 * fabs(one.robust_return));
            assert_close(many[i].lower_bound, one.lower_bound, 1e-9 * one.penalty);
            assert_close(many[i].upper_bound, one.upper_bound, 1e-9 * one.penalty);
            /* the return is flat in the kernel: known to the root of what the return is known to */
            assert_close(many[i].kernel_minimum, one.kernel_minimum, 1e-5 * fabs(one.kernel_minimum));
            solves = solves > one.solves ? solves : one.solves;
            test_instance_clear(&alone);
        }
        assert_that(many[0].solves <= 3 * solves, "%s: %lld solves, %lld alone", models[m].kind,
                    (long long)many[0].solves, (long long)solves);
        test_instance_clear(&here);
    }
    test_note_clear();
}

/* Radii in a series are proven as well as alone. */
static void test_proofs(void **state)
{
    enum { COUNT = 8 };
    (void)state;
    for (int i = 0; i < 2; i++) {
        test_instance here = test_instance_make(2);
        nadir_robust many[COUNT];
        double factors[COUNT];
        const double radius = i == 0 ? 0.1 : 0.03;
        const nadir_domain domain = i == 0 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, &radius, NULL);
        for (int j = 0; j < COUNT; j++) {
            factors[j] = (j + 1.0) / COUNT;
            many[j] = (nadir_robust){.size = sizeof many[j]};
        }
        assert_ok(here.context,
                  nadir_solver_robust_many(here.context, here.solver, &ball, NULL, COUNT, factors, many));
        for (int j = 0; j < COUNT; j++) {
            assert_that(many[j].certified && strcmp(many[j].bound, "second-order") == 0, "%s, radius %g: %s",
                        nadir_domain_name(domain), many[j].radius, many[j].bound);
            assert_that(many[j].kappa > 0 && many[j].kappa <= 0.5, "kappa is %g", many[j].kappa);
        }
        test_instance_clear(&here);
    }
}

/* What one radius proves alone is proven among others, and bounds of larger balls hold for smaller ones. */
static void test_as_alone(void **state)
{
    enum { COUNT = 13, STATES = 6 };
    (void)state;
    nadir_generate_settings shape = test_generate_settings();
    shape.states = STATES;
    test_instance here = {.context = test_context()};
    here.model = test_generate(here.context, "machine", &shape);
    here.policy = test_uniform_policy(here.context, here.model);
    here.solver = test_solver(here.context, here.model, here.policy);
    for (int i = 0; i < 2; i++) {
        nadir_robust many[COUNT];
        double factors[COUNT];
        const double radius = i == 0 ? 0.8 : 3;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
        for (int j = 0; j < COUNT; j++) {
            factors[j] = (j + 4.0) / (COUNT + 3);
            many[j] = (nadir_robust){.size = sizeof many[j]};
        }
        assert_ok(here.context,
                  nadir_solver_robust_many(here.context, here.solver, &ball, NULL, COUNT, factors, many));
        for (int j = 0; j < COUNT; j++) {
            const nadir_ball own =
                test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &many[j].radius, NULL);
            test_note("%s", test_ball_name(&own));
            assert_that(j == 0 || many[j].lower_bound <= many[j - 1].lower_bound, "%.17g, %.17g before",
                        many[j].lower_bound, many[j - 1].lower_bound);
            assert_true(i == 1 || many[j].certified ||
                        !test_robust(here.context, here.solver, &own, NULL, NULL).certified);
        }
        test_note_clear();
    }
    test_instance_clear(&here);
}

/* Small ones first, whatever the order; what is left out says where breakdown is. */
static void test_breakdown(void **state)
{
    static const double norms[] = {2, 1, 1.5};
    (void)state;
    test_instance here = test_instance_make(0);
    for (int i = 0; i < 4; i++) {
        const nadir_set set = i < 3 ? NADIR_SET_NONRECT : NADIR_SET_S;
        const double radius = i < 3 ? 8 : 500;
        nadir_robust many[RADII];
        double factors[RADII];
        int refused = 0;
        const nadir_ball ball = test_ball(set, NADIR_DOMAIN_FREE, i < 3 ? norms[i] : 2, &radius, NULL);
        fill_factors(factors, many);
        test_note("%s", test_ball_name(&ball));
        assert_ok(here.context,
                  nadir_solver_robust_many(here.context, here.solver, &ball, NULL, RADII, factors, many));
        for (int j = 0; j < RADII; j++) {
            const double own = factors[j] * radius;
            const nadir_ball alone = test_ball(set, NADIR_DOMAIN_FREE, i < 3 ? norms[i] : 2, &own, NULL);
            nadir_robust one = {.size = sizeof one};
            const nadir_status status =
                nadir_solver_robust(here.context, here.solver, &alone, NULL, &one, NULL);
            const bool past = isnan(many[j].robust_return);
            assert_that((status == NADIR_ERROR_ILL_POSED) == past, "radius %g: status %d alone", own, status);
            assert_true(!past || strcmp(many[j].stop_reason, "breakdown") == 0);
            assert_true(!past || (own >= many[j].breakdown_radius && !many[j].certified));
            assert_true(past || fabs(many[j].penalty - one.penalty) <= 1e-8 * one.penalty + 1e-12);
            refused += past;
        }
        assert_that(refused > 0 && refused < RADII, "%d of %d refused", refused, RADII);
        const double factor[2] = {10, 20}; /* and without the nominal kernel nothing is left */
        assert_fails(here.context,
                     nadir_solver_robust_many(here.context, here.solver, &ball, NULL, 2, factor, many),
                     NADIR_ERROR_ILL_POSED, "breakdown");
    }
    test_note_clear();
    test_instance_clear(&here);
}

/* Three radii from nothing; on the free domain the last is past breakdown. */
static nadir_status sweep(nadir_context *context, nadir_solver *solver, const void *of)
{
    const nadir_domain domain = *(const nadir_domain *)of;
    const double radius = domain == NADIR_DOMAIN_FREE ? 8 : 0.3;
    enum { COUNT = 4 };
    const double factors[COUNT] = {0.02, 0.04, 0.06, 1};
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, &radius, NULL);
    nadir_robust many[COUNT];
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = domain == NADIR_DOMAIN_SIMPLEX ? NADIR_CERTIFY_OFF : NADIR_CERTIFY_AUTO;
    for (int i = 0; i < COUNT; i++) {
        many[i].size = sizeof many[i];
    }
    return nadir_solver_robust_many(context, solver, &ball, &settings, COUNT, factors, many);
}

static nadir_status attempt(nadir_context *context, const void *of)
{
    nadir_generate_settings shape = test_generate_settings();
    shape.states = 4;
    shape.actions = 2;
    return test_generate_and_ask(context, "random", &shape, sweep, of);
}

static void test_scarce_memory(void **state)
{
    (void)state;
    const nadir_domain domains[] = {NADIR_DOMAIN_FREE, NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT};
    for (int i = 0; i < 3; i++) {
        test_run_out(attempt, &domains[i], NULL, nadir_domain_name(domains[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_answers),  cmocka_unit_test(test_valid_domains),
        cmocka_unit_test(test_path),          cmocka_unit_test(test_proofs),
        cmocka_unit_test(test_cheap),         cmocka_unit_test(test_breakdown),
        cmocka_unit_test(test_scarce_memory), cmocka_unit_test(test_free_curve),
        cmocka_unit_test(test_as_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
