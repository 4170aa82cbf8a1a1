/*
 * Worst cases of small models at radii where second order around the kernel found does not prove them: boxes of
 * occupancies do, with --certify strict, for FrozenLake also with auto; frozen rewards and rewards on landing. Every
 * witness is verified. Sweeps prove what one evaluation proves.
 */
#include "support/support.h"

#include "support/generated.h"
#include "support/robust.h"
#include "support/valid.h"
#include "support/verified.h"

#include <math.h>
#include <string.h>

static nadir_model *make_model(nadir_context *context, const char *kind, double discount)
{
    nadir_generate_settings shape = test_generate_settings();
    shape.states = strcmp(kind, "forest") == 0 ? 50 : shape.states;
    return strcmp(kind, "lake") == 0        ? test_lake(context, true, discount)
           : strcmp(kind, "even lake") == 0 ? test_lake(context, false, discount)
                                            : test_generate(context, kind, &shape);
}

typedef struct frontier_case {
    const char *kind;
    double discount; /* of lakes */
    bool optimal;
    nadir_domain domain;
    double radius;
    bool slow; /* above a second */
} frontier_case;

static const frontier_case cases[] = {
    {"lake", 0.95, true, NADIR_DOMAIN_SIMPLEX, 0.1, false},
    {"lake", 0.99, true, NADIR_DOMAIN_SIMPLEX, 0.1, false},
    {"lake", 0.95, true, NADIR_DOMAIN_SUPPORT, 0.3, true},
    {"lake", 0.99, true, NADIR_DOMAIN_SUPPORT, 0.3, true},
    {"lake", 0.95, true, NADIR_DOMAIN_SIMPLEX, 0.6, false},
    {"lake", 0.99, true, NADIR_DOMAIN_SIMPLEX, 0.6, false},
    {"lake", 0.99, true, NADIR_DOMAIN_SUPPORT, 0.6, false},
    {"even lake", 0.95, true, NADIR_DOMAIN_SIMPLEX, 0.3, false},
    {"riverswim", 0, true, NADIR_DOMAIN_SUPPORT, 0.3, false},
    {"riverswim", 0, true, NADIR_DOMAIN_SIMPLEX, 0.3, false},
    {"riverswim", 0, false, NADIR_DOMAIN_SIMPLEX, 0.1, false},
    {"riverswim", 0, false, NADIR_DOMAIN_SIMPLEX, 0.3, false},
    {"riverswim", 0, false, NADIR_DOMAIN_SIMPLEX, 1, false},
    {"machine", 0, true, NADIR_DOMAIN_SIMPLEX, 0.4, false},
    {"machine", 0, true, NADIR_DOMAIN_SIMPLEX, 0.6, false},
    {"machine", 0, true, NADIR_DOMAIN_SIMPLEX, 1, true},
    {"machine", 0, true, NADIR_DOMAIN_SUPPORT, 0.6, false},
    {"machine", 0, true, NADIR_DOMAIN_SUPPORT, 1, false},
    {"machine", 0, true, NADIR_DOMAIN_SUPPORT, 2, false},
    {"machine", 0, false, NADIR_DOMAIN_SIMPLEX, 0.5, false},
    {"machine", 0, false, NADIR_DOMAIN_SIMPLEX, 1, true},
    {"forest", 0, true, NADIR_DOMAIN_SIMPLEX, 0.3,
     true}, /* full steps do not make its worst kernel stationary */
};

static void prove_case(const frontier_case *given, bool frozen, nadir_certify effort, double width)
{
    test_instance instance = {.context = test_context()};
    nadir_robust_settings settings = test_robust_settings();
    nadir_verify_result result = {.size = sizeof result};
    nadir_verification *made = NULL;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, given->domain, 2, &given->radius, NULL);
    settings.certify = effort;
    settings.time_limit = 100;
    settings.width = width;
    instance.model = make_model(instance.context, given->kind, given->discount);
    instance.model = frozen ? test_frozen(instance.context, instance.model) : instance.model;
    instance.policy = given->optimal ? test_optimal_policy(instance.context, instance.model)
                                     : test_uniform_policy(instance.context, instance.model);
    instance.solver = test_solver(instance.context, instance.model, instance.policy);
    test_note("%s, discount %g, %s policy, %s, %s rewards", given->kind, given->discount,
              given->optimal ? "optimal" : "uniform", test_ball_name(&ball), frozen ? "frozen" : "landing");
    const nadir_robust robust = test_verified_evaluate(&instance, &ball, &settings);
    assert_that(robust.certified, "bounds %.17g and %.17g, penalty %g, by %s", robust.lower_bound,
                robust.upper_bound, robust.penalty, robust.bound);
    assert_ok(instance.context, test_verified_verify(&instance, "worst.npz", "worst.json", &result, &made));
    assert_true(result.verified);
    nadir_verification_free(made);
    test_note_clear();
    test_instance_clear(&instance);
}

static void prove_all(bool frozen)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!cases[i].slow || !test_brief()) {
            prove_case(&cases[i], frozen, NADIR_CERTIFY_STRICT, 1e-6);
        }
    }
}

static void strict_proves_frozen_rewards(void **state)
{
    (void)state;
    prove_all(true);
}

static void strict_proves_rewards_on_landing(void **state)
{
    (void)state;
    prove_all(false);
}

/* Next to nothing is left of the return: boxes are split by parts of the ball. Within a hundredth of the penalty. */
static void strict_bounds_lakes(void **state)
{
    (void)state;
    static const frontier_case lakes[] = {{"lake", 0.95, true, NADIR_DOMAIN_SIMPLEX, 0.3, true},
                                          {"lake", 0.99, true, NADIR_DOMAIN_SIMPLEX, 0.3, true}};
    for (int i = 0; i < 2 && !test_brief(); i++) {
        prove_case(&lakes[i], true, NADIR_CERTIFY_STRICT, 0.02);
    }
}

static void auto_proves_lakes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        prove_case(&cases[i], true, NADIR_CERTIFY_AUTO, 1e-6);
    }
}

enum { RADII = 8 };

/* Each radius of a sweep, and of a search for a target, is proven where one evaluation proves it. */
static void sweep_proves_as_much(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        double norm, first, step;
        int least; /* are certified, more than by proofs without boxes */
    } sweeps[] = {
        {"machine", 2, 0.35, 0.03, 4}, {"riverswim", 2, 0.05, 0.05, 4}, {"riverswim", 1.5, 0.05, 0.05, 4}};
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        test_instance instance = {.context = test_context()};
        const double unit = 1;
        const nadir_ball ball =
            test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, sweeps[i].norm, &unit, NULL);
        double factors[RADII];
        nadir_robust many[RADII];
        int certified = 0;
        instance.model = make_model(instance.context, sweeps[i].kind, 0);
        instance.policy = test_optimal_policy(instance.context, instance.model);
        instance.solver = test_solver(instance.context, instance.model, instance.policy);
        for (int j = 0; j < RADII; j++) {
            factors[j] = sweeps[i].first + j * sweeps[i].step;
            many[j] = (nadir_robust){.size = sizeof many[j]};
        }
        assert_ok(instance.context, nadir_solver_robust_many(instance.context, instance.solver, &ball, NULL,
                                                             RADII, factors, many));
        for (int j = 0; j < RADII; j++) {
            nadir_radius found = {.size = sizeof found};
            const nadir_ball one =
                test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, sweeps[i].norm, &factors[j], NULL);
            test_note("%s, %s", sweeps[i].kind, test_ball_name(&one));
            const nadir_robust alone = test_robust(instance.context, instance.solver, &one, NULL, NULL);
            assert_that(many[j].certified || !alone.certified, "bounds %.17g and %.17g, alone %.17g",
                        many[j].lower_bound, many[j].upper_bound, alone.lower_bound);
            certified += many[j].certified;
            assert_ok(instance.context, nadir_solver_radius(instance.context, instance.solver, &ball, NULL,
                                                            alone.upper_bound, &found));
            assert_that(!alone.certified || found.radius_lower >= (1 - 1e-3) * factors[j],
                        "radius %.17g, %.17g is proven", found.radius, found.radius_lower);
            test_note_clear();
        }
        assert_that(certified >= sweeps[i].least, "%s: %d radii are certified", sweeps[i].kind, certified);
        test_instance_clear(&instance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_proves_frozen_rewards), cmocka_unit_test(strict_proves_rewards_on_landing),
        cmocka_unit_test(strict_bounds_lakes),          cmocka_unit_test(auto_proves_lakes),
        cmocka_unit_test(sweep_proves_as_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
