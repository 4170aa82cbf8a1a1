/*
 * Garnets of 600 states, more than columns of D are computed for at once: small balls are certified by Lanczos
 * iterations, on simplex too, whose rows a search must leave as stationary as the proof needs; larger balls by
 * columns, rigorously. The bounds agree with those of `strict`.
 */
#include "support/support.h"

#include "support/generated.h"
#include "support/robust.h"
#include "support/valid.h"

#include <math.h>

enum { STATES = 600, SEED = 5 };

typedef struct expected {
    nadir_domain domain;
    double radius;
    const char *certificate;
} expected;

static void certify(const expected *which, bool compare)
{
    nadir_context *context = test_context();
    nadir_generate_settings shape = test_generate_settings();
    shape.states = STATES;
    shape.seed = SEED;
    nadir_model *model = test_generate(context, "garnet", &shape);
    nadir_policy *policy = test_optimal_policy(context, model);
    nadir_solver *solver = test_solver(context, model, policy);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, which->domain, 2, &which->radius, NULL);
    test_note("garnet of %d states, seed %d, %s", STATES, SEED, test_ball_name(&ball));
    const nadir_robust result = test_robust(context, solver, &ball, NULL, NULL);
    assert_that(result.certified, "the gap is %.3g of the penalty",
                (result.upper_bound - result.lower_bound) / result.penalty);
    assert_string_equal(result.certificate, which->certificate);
    assert_true(result.kappa <= 0.5);
    if (compare) {
        nadir_robust_settings strict = test_robust_settings();
        strict.certify = NADIR_CERTIFY_STRICT;
        const nadir_robust proven = test_robust(context, solver, &ball, &strict, NULL);
        assert_true(proven.certified);
        assert_string_equal(proven.certificate, "rigorous");
        assert_that(fabs(proven.lower_bound - result.lower_bound) <= 1e-6 * result.penalty,
                    "%.17g, and %.17g by strict", result.lower_bound, proven.lower_bound);
    }
    test_note_clear();
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void test_lanczos(void **state)
{
    (void)state;
    certify(&(expected){NADIR_DOMAIN_SIMPLEX, 0.04, "numerical"}, !test_memcheck());
    certify(&(expected){NADIR_DOMAIN_SUPPORT, 0.03, "numerical"}, !test_memcheck());
}

static void test_columns(void **state)
{
    (void)state;
    certify(&(expected){NADIR_DOMAIN_SUPPORT, 0.3, "rigorous"}, !test_memcheck());
    if (!test_memcheck()) {
        certify(&(expected){NADIR_DOMAIN_SIMPLEX, 0.1, "rigorous"}, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanczos),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
