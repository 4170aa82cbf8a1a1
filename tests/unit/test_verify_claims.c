/*
 * test_verify_claims.c: witnesses that claim what is not so, written as any others, digest and all. Whatever a
 * witness says is checked: bounds, returns and certificates, and the numbers beside them.
 */
#include "support/support.h"

#include "support/golden.h"
#include "support/robust.h"
#include "support/verified.h"

#include <math.h>
#include <string.h>

/* Claims that are written as any others, digest and all. */
typedef enum lie {
    LOWER,
    UPPER,
    RETURN,
    NOMINAL,
    RADIUS,
    DOMAIN,
    CASE,
    KERNEL,
    MODEL,
    POLICY,
    BOUND_NAME,
    OTHER_BOUND,
    PAIR,
    LIES
} lie;

static const char *const lie_checks[LIES] = {
    "lower_bound", "upper_bound", "robust_return",     "nominal_return", "ball",
    "ball",        "ball",        "kernel_of_witness", "model",          "policy",
    "lower_bound", "lower_bound", "lower_bound",
};

static void tell(lie which, const nadir_robust *robust, nadir_witness *witness)
{
    static const double zeros[64] = {0};
    static const double other_radius = 0.123;
    const double penalty = robust->penalty;
    switch (which) {
    case LOWER:
        witness->lower_bound += 1e-5 * penalty;
        break;
    case UPPER:
        witness->upper_bound -= 1e-7 * penalty;
        break;
    case RETURN:
        witness->robust_return += 1e-6 * penalty;
        break;
    case NOMINAL:
        witness->nominal_return *= 1 + 1e-7;
        break;
    case RADIUS:
        witness->radius = &other_radius;
        break;
    case DOMAIN:
        witness->domain = witness->domain == NADIR_DOMAIN_FREE ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_FREE;
        break;
    case CASE:
        witness->optimistic = true;
        break;
    case KERNEL:
        witness->kernel_sha256[3] = witness->kernel_sha256[3] == '0' ? '1' : '0';
        break;
    case MODEL:
        witness->model_sha256[3] = witness->model_sha256[3] == '0' ? '1' : '0';
        break;
    case POLICY:
        witness->policy_sha256[3] = witness->policy_sha256[3] == '0' ? '1' : '0';
        break;
    case BOUND_NAME:
        witness->bound = "hearsay";
        break;
    case OTHER_BOUND: /* a proof that is not for this set */
        witness->bound = witness->set == NADIR_SET_NONRECT ? "bellman" : "spectral";
        break;
    case PAIR:
        witness->v = witness->v != NULL ? zeros : NULL;
        witness->c = witness->c != NULL ? zeros : NULL;
        witness->lower_bound = robust->robust_return;
        break;
    case LIES:
        break;
    }
}

static void false_claims_fail(void **state)
{
    (void)state;
    static const struct {
        nadir_set set;
        nadir_domain domain;
    } kinds[] = {{NADIR_SET_NONRECT, NADIR_DOMAIN_FREE}, {NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX}};
    test_instance here = test_instance_make(0);
    const double radius = 0.05;
    for (int i = 0; i < 2 * LIES; i++) {
        const nadir_ball ball = test_ball(kinds[i % 2].set, kinds[i % 2].domain, 2, &radius, NULL);
        nadir_witness witness;
        const nadir_robust robust = test_verified_evaluate(&here, &ball, NULL);
        assert_true(robust.certified);
        assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
        test_note("%s, lie %d", test_ball_name(&ball), i / 2);
        tell((lie)(i / 2), &robust, &witness);
        assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
        nadir_witness_clear(here.context, &witness);
        assert_check_fails(&here, "worst.npz", "lie.json", lie_checks[i / 2]);
    }
    test_note_clear();
    test_instance_clear(&here);
}

/* A bound without a proof that holds is no certificate. */
static void certificates_must_be_earned(void **state)
{
    (void)state;
    test_instance here = test_instance_make(2);
    static const double radii[] = {0.19, 0.001}; /* without a bound, and with one that is not tight */
    for (int i = 0; i < 2; i++) {
        const nadir_ball ball = test_ball(NADIR_SET_SA, NADIR_DOMAIN_FREE, 2, &radii[i], NULL);
        nadir_witness witness;
        const nadir_robust robust = test_verified_evaluate(&here, &ball, NULL);
        assert_string_equal(robust.certificate, "none");
        assert_string_equal(robust.bound, i == 0 ? "none" : "contraction");
        assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
        witness.certificate = "rigorous";
        assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
        nadir_witness_clear(here.context, &witness);
        assert_check_fails(&here, "worst.npz", "lie.json", "certificate");
    }
    test_instance_clear(&here);
}

/* What the rewards alone say is found again by other code than the evaluation's: a bound that is better by a
 * hundred-thousandth of its distance is noticed, as is one of a ball that may have negative entries. */
static void bounds_by_rewards(void **state)
{
    (void)state;
    test_instance here = test_instance_make(2);
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_OFF;
    for (int i = 0; i < 4; i++) {
        const double radius = 0.05;
        const nadir_ball ball =
            test_ball(i % 2 == 0 ? NADIR_SET_NONRECT : NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
        nadir_verify_result result;
        nadir_verification *made = NULL;
        nadir_witness witness;
        settings.optimistic = i > 1;
        const nadir_robust robust = test_verified_evaluate(&here, &ball, &settings);
        test_note("%s, optimistic: %d", test_ball_name(&ball), i / 2);
        assert_string_equal(robust.bound, "rewards");
        assert_ok(here.context, test_verified_verify(&here, "worst.npz", "worst.json", &result, &made));
        nadir_verification_free(made);
        assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
        if (settings.optimistic) {
            witness.upper_bound -= 1e-5 * (witness.upper_bound - robust.robust_return);
        } else {
            witness.lower_bound += 1e-5 * (robust.robust_return - witness.lower_bound);
        }
        assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
        nadir_witness_clear(here.context, &witness);
        assert_check_fails(&here, "worst.npz", "lie.json",
                           settings.optimistic ? "upper_bound" : "lower_bound");
    }
    const double radius = 0.001;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    nadir_witness witness;
    (void)test_verified_evaluate(&here, &ball, NULL);
    assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
    witness.bound = "rewards";
    assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
    nadir_witness_clear(here.context, &witness);
    assert_check_fails(&here, "worst.npz", "lie.json", "lower_bound");
    test_note_clear();
    test_instance_clear(&here);
}

/* The numbers beside the bounds: a claim that is weaker than what was found holds, one that is stronger does
 * not. */
typedef struct beside {
    nadir_set set;
    nadir_domain domain;
    double norm, radius;
    nadir_certify certify;
    const char *name;        /* of the check */
    size_t offset;           /* of the number */
    double weaker, stronger; /* times the number */
} beside;

#define OF(member) #member, offsetof(nadir_witness, member)

static const beside besides[] = {
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, 0.05, NADIR_CERTIFY_AUTO, OF(kappa), 1.5, -1},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, 0.4, NADIR_CERTIFY_AUTO, OF(kappa), 1.5, -1},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, 0.4, NADIR_CERTIFY_STRICT, OF(kappa), 1.5, -1},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.05, NADIR_CERTIFY_AUTO, OF(lambda), 1, 1 + 1e-6},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.05, NADIR_CERTIFY_AUTO, OF(lambda), 1, 1 - 1e-6},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.05, NADIR_CERTIFY_AUTO, OF(breakdown_low), 0.9, 1 + 1e-6},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.4, NADIR_CERTIFY_AUTO, OF(breakdown_low), 0.9, 1 + 1e-6},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.4, NADIR_CERTIFY_STRICT, OF(breakdown_low), 0.9, 1 + 1e-5},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1, 0.05, NADIR_CERTIFY_AUTO, OF(breakdown_low), 0.9, 100},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1, 0.05, NADIR_CERTIFY_STRICT, OF(breakdown_low), 0.9, 1 + 1e-6},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 3, 0.01, NADIR_CERTIFY_AUTO, OF(breakdown_low), 0.9, 1 + 1e-6},
    {NADIR_SET_SA, NADIR_DOMAIN_FREE, 2, 0.01, NADIR_CERTIFY_AUTO, OF(breakdown_low), 0.9, 1 + 1e-6},
    {NADIR_SET_SA, NADIR_DOMAIN_FREE, INFINITY, 0.001, NADIR_CERTIFY_AUTO, OF(lambda), 1, 1.001},
};

static void numbers_beside_the_bounds(void **state)
{
    (void)state;
    test_instance here = test_instance_make(2);
    for (size_t i = 0; i < sizeof besides / sizeof *besides; i++) {
        const beside *of = &besides[i];
        const nadir_ball ball = test_ball(of->set, of->domain, of->norm, &of->radius, NULL);
        nadir_witness witness;
        nadir_verify_result result;
        nadir_verification *made = NULL;
        nadir_robust_settings settings = test_robust_settings();
        settings.certify = of->certify;
        (void)test_verified_evaluate(&here, &ball, &settings);
        test_note("%s, %s, number %d", test_ball_name(&ball), of->name, (int)i);
        assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
        double *number = (double *)(void *)((char *)&witness + of->offset);
        const double claimed = *number;
        assert_true(isfinite(claimed) && claimed > 0);
        *number = claimed * of->weaker;
        assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
        assert_ok(here.context, test_verified_verify(&here, "worst.npz", "lie.json", &result, &made));
        nadir_verification_free(made);
        *number = claimed * of->stronger;
        assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
        assert_check_fails(&here, "worst.npz", "lie.json", of->name);
        nadir_witness_clear(here.context, &witness);
    }
    test_note_clear();
    test_instance_clear(&here);
}

/* Numbers that are not of the kind of the ball; occupancies that are too small in one state. */
static void numbers_of_other_kinds(void **state)
{
    (void)state;
    test_instance here = test_instance_make(2);
    const double radius = 0.05;
    double d_bar[30];
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
    const nadir_ball other = test_ball(NADIR_SET_SA, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
    nadir_witness witness;
    (void)test_verified_evaluate(&here, &ball, NULL);
    assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
    assert_non_null(witness.d_bar);
    memcpy(d_bar, witness.d_bar, sizeof d_bar);
    d_bar[17] *= 0.5; /* less than the nominal kernel visits it */
    witness.d_bar = d_bar;
    assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
    assert_check_fails(&here, "worst.npz", "lie.json", "d_bar");
    witness.breakdown_low = 1;
    witness.breakdown_proof = "products";
    witness.certificate = "notarised";
    assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
    assert_check_fails(&here, "worst.npz", "lie.json", "breakdown_low");
    assert_check_fails(&here, "worst.npz", "lie.json", "certificate");
    nadir_witness_clear(here.context, &witness);
    (void)test_verified_evaluate(&here, &other, NULL);
    assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
    witness.kappa = 0.25;
    witness.d_bar = d_bar;
    assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
    assert_check_fails(&here, "worst.npz", "lie.json", "kappa");
    assert_check_fails(&here, "worst.npz", "lie.json", "d_bar");
    nadir_witness_clear(here.context, &witness);
    test_instance_clear(&here);
}

/* A kappa that is not small, and one that is too small for it. */
static void kappa_is_found_again(void **state)
{
    (void)state;
    test_instance here = {.context = test_context()};
    const double radius = 0.3;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
    nadir_witness witness;
    assert_ok(here.context, nadir_model_generate(here.context, "riverswim", NULL, &here.model));
    assert_ok(here.context, nadir_policy_create_uniform(here.context, here.model, &here.policy));
    here.solver = test_solver(here.context, here.model, here.policy);
    (void)test_verified_evaluate(&here, &ball, NULL);
    assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
    assert_true(witness.kappa > 0.25 && witness.kappa <= 0.5);
    witness.kappa = 0.05; /* more rounds than the bound takes show less than was claimed, but not that */
    assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
    assert_check_fails(&here, "worst.npz", "lie.json", "kappa");
    nadir_witness_clear(here.context, &witness);
    test_instance_clear(&here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(false_claims_fail),         cmocka_unit_test(certificates_must_be_earned),
        cmocka_unit_test(numbers_beside_the_bounds), cmocka_unit_test(numbers_of_other_kinds),
        cmocka_unit_test(kappa_is_found_again),      cmocka_unit_test(bounds_by_rewards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
