/*
 * Worst cases of small models at radii where second order around the kernel found does not prove them: boxes of
 * occupancies do, with --certify strict, for FrozenLake also with auto; frozen rewards and rewards on landing. Every
 * witness is verified.
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
    const nadir_generate_settings shape = test_generate_settings();
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
};

static void prove_case(const frontier_case *given, bool frozen, nadir_certify effort)
{
    test_instance instance = {.context = test_context()};
    nadir_robust_settings settings = test_robust_settings();
    nadir_verify_result result = {.size = sizeof result};
    nadir_verification *made = NULL;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, given->domain, 2, &given->radius, NULL);
    settings.certify = effort;
    settings.time_limit = 100;
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
            prove_case(&cases[i], frozen, NADIR_CERTIFY_STRICT);
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

static void auto_proves_lakes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        prove_case(&cases[i], true, NADIR_CERTIFY_AUTO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_proves_frozen_rewards),
        cmocka_unit_test(strict_proves_rewards_on_landing),
        cmocka_unit_test(auto_proves_lakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
