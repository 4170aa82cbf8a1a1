/* Proofs that a kernel is the worst of its ball: known values, all that has to be proven, and limits. */
#include "support/support.h"

#include "support/generated.h"
#include "support/golden.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A kernel that can be proven to be the worst, with the value known from elsewhere, and the kappa that a
 * program of its own finds. */
typedef struct known_proof {
    const char *model; /* a generator, or a closed-form instance */
    bool optimal;      /* the best policy instead of the uniform one */
    nadir_domain domain;
    double radius;
    double value;
    double kappa;
} known_proof;

static const known_proof known_proofs[] = {
    {"machine", false, NADIR_DOMAIN_SUPPORT, 0.3, -32.39098445771358, 0.173},
    {"machine", false, NADIR_DOMAIN_SIMPLEX, 0.1, -35.262249736748075, 0.031},
    {"machine", true, NADIR_DOMAIN_SUPPORT, 0.3, -11.987745672393137, 0.288},
    {"machine", true, NADIR_DOMAIN_SIMPLEX, 0.1, -12.943983590330934, 0.054},
    {"riverswim", false, NADIR_DOMAIN_SUPPORT, 0.1, 468.1674739771301, 0.039},
    {"riverswim", false, NADIR_DOMAIN_SIMPLEX, 0.01, 526.9344631278764, 0.004},
    {"riverswim", true, NADIR_DOMAIN_SUPPORT, 0.1, 7252.1133574288415, 0.076},
    {"riverswim", true, NADIR_DOMAIN_SIMPLEX, 0.01, 9816.684573606268, 0.006},
    {"dense(8,3)", false, NADIR_DOMAIN_SIMPLEX, 0.077, 5.25282632122, NAN},
    {"dense(8,3)", false, NADIR_DOMAIN_SIMPLEX, 0.1, 5.235774647094838, 0.033},
    {"dense(8,3)", false, NADIR_DOMAIN_SIMPLEX, 0.3, 5.085236119632116, 0.173},
    {"dense(8,3)", false, NADIR_DOMAIN_SUPPORT, 0.46, 4.96086135669, NAN},
    {"dense(40,5)", false, NADIR_DOMAIN_SUPPORT, 0.099, 9.89791920132, NAN},
    {"dense(40,5)", false, NADIR_DOMAIN_SIMPLEX, 0.1, 9.89696404620516, 0.025},
    {"sparse(30,4)", false, NADIR_DOMAIN_SUPPORT, 0.1, 4.95357334076017, 0.020},
    {"sparse(30,4)", false, NADIR_DOMAIN_SIMPLEX, 0.05, 4.961217568889867, 0.014},
    /* as far as the proof goes */
    {"machine", false, NADIR_DOMAIN_SUPPORT, 0.5, -35.9927478289, NAN},
    {"machine", false, NADIR_DOMAIN_SIMPLEX, 0.4, -54.4887775914, NAN},
    {"riverswim", false, NADIR_DOMAIN_SUPPORT, 0.36, 320.455483395, NAN},
    {"riverswim", false, NADIR_DOMAIN_SIMPLEX, 0.08, 469.133750625, NAN},
    {"riverswim", true, NADIR_DOMAIN_SIMPLEX, 0.1, 5324.72483362, NAN},
};

/* A problem of a generator or a closed-form instance. csr: of the latter. */
static test_problem make_problem(nadir_context *context, const char *name, bool optimal, bool csr,
                                 const nadir_ball *ball)
{
    for (int i = 0; i < TEST_GOLDEN; i++) {
        if (strcmp(test_goldens[i].name, name) == 0) {
            nadir_model *model = test_golden_model(context, &test_goldens[i], csr);
            return test_problem_make(context, model, test_golden_policy(context, model), ball, NULL, 1);
        }
    }
    const nadir_generate_settings settings = test_generate_settings();
    nadir_model *model = test_frozen(context, test_generate(context, name, &settings));
    nadir_policy *policy = NULL;
    if (optimal) {
        policy = test_optimal_policy(context, model);
    } else {
        assert_ok(context, nadir_policy_create_uniform(context, model, &policy));
    }
    return test_problem_make(context, model, policy, ball, NULL, 1);
}

/* The value attained is the lower bound, to a millionth of the penalty. */
static void assert_proven(const nadir_problem *problem, const nadir_candidate *attack,
                          const nadir_certificate *proof)
{
    const double penalty = problem->J - attack->J;
    assert_that(proof->lower <= attack->J + 1e-11 * fabs(attack->J), "lower bound %.17g of %.17g",
                proof->lower, attack->J);
    assert_that(proof->lower >= attack->J - 1e-6 * penalty,
                "lower bound %.17g of %.17g, penalty %g: %s, kappa %g", proof->lower, attack->J, penalty,
                nadir_bound_name(proof->bound), proof->kappa);
    assert_int_equal(proof->proof, NADIR_PROOF_RIGOROUS);
}

static void test_known_proofs(void **state)
{
    nadir_context *context = *state;
    for (size_t i = 0; i < sizeof known_proofs / sizeof *known_proofs; i++) {
        const known_proof *known = &known_proofs[i];
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, known->domain, 2, &known->radius, NULL);
        test_note("%s, %s policy, %s, %g", known->model, known->optimal ? "best" : "given",
                  nadir_domain_name(known->domain), known->radius);
        test_problem made = make_problem(context, known->model, known->optimal, i % 2 == 0, &ball);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attack = test_descend(context, problem, known->radius);
        nadir_certificate proof = test_prove(context, problem, known->radius, &attack, NADIR_CERTIFY_AUTO);
        assert_close(attack.J / known->value, 1, 1e-9);
        assert_proven(problem, &attack, &proof);
        assert_int_equal(proof.bound, NADIR_BOUND_SECOND_ORDER);
        assert_true(proof.kappa <= 0.5);
        nadir_certificate_clear(context, &proof);
        proof = test_prove(context, problem, known->radius, &attack, NADIR_CERTIFY_STRICT);
        assert_proven(problem, &attack, &proof);
        if (!isnan(known->kappa)) { /* it is found to 1/256 */
            assert_that(fabs(proof.kappa - known->kappa) <= 0.03 * known->kappa + 0.005, "kappa %g, not %g",
                        proof.kappa, known->kappa);
        }
        nadir_certificate_clear(context, &proof);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

/* Random dense models; rewards of any size, and the best case, change nothing. */
static void test_dense(void **state)
{
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    settings.states = 60;
    settings.actions = 8;
    const double radius = 0.1;
    for (int i = 0; i < 4; i++) {
        const nadir_ball ball = test_ball(
            NADIR_SET_NONRECT, i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
        settings.seed = i < 2 ? 10 : 11;
        nadir_model *model = test_generate(context, "random", &settings);
        nadir_policy *policy = test_uniform_policy(context, model);
        test_note("seed %d, case %d", 10 + i / 2, i);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, i == 2 ? -1 : 1);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attack = test_descend(context, problem, radius);
        nadir_certificate proof = test_prove(context, problem, radius, &attack, NADIR_CERTIFY_AUTO);
        assert_proven(problem, &attack, &proof);
        nadir_certificate_clear(context, &proof);
        proof = test_prove(context, problem, radius, &attack, NADIR_CERTIFY_STRICT);
        assert_proven(problem, &attack, &proof);
        assert_true(proof.kappa < 0.05);
        nadir_certificate_clear(context, &proof);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

/* Where kappa is above 1/2 boxes of occupancies prove RiverSwim. */
static void test_boxes(void **state)
{
    nadir_context *context = *state;
    const double radii[] = {0.5, 0.6};
    for (int i = 0; i < 2; i++) {
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radii[i], NULL);
        test_problem made = make_problem(context, "riverswim", false, false, &ball);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attack = test_descend(context, problem, radii[i]);
        nadir_certificate proof = test_prove(context, problem, radii[i], &attack, NADIR_CERTIFY_AUTO);
        assert_proven(problem, &attack, &proof);
        assert_non_null(proof.v_tau);
        nadir_certificate_clear(context, &proof);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

/* Balls that hold everything: tau = 0, proven by the Lagrangian bound at tau = 0. */
static void test_inactive(void **state)
{
    nadir_context *context = *state;
    const double radius = 50;
    for (int domain = 0; domain < 2; domain++) {
        const nadir_ball ball = test_ball(
            NADIR_SET_NONRECT, domain == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
        test_problem made = make_problem(context, "sparse(30,4)", false, false, &ball);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attack = test_descend(context, problem, radius);
        nadir_certificate proof = test_prove(context, problem, radius, &attack, NADIR_CERTIFY_AUTO);
        assert_true(attack.tau == 0);
        assert_proven(problem, &attack, &proof);
        assert_int_equal(proof.bound, NADIR_BOUND_LAGRANGIAN);
        assert_true(isnan(proof.kappa));
        nadir_certificate_clear(context, &proof);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

/* More states than columns are formed for: an estimate of kappa, and the proof when asked for. */
static void test_many_states(void **state)
{
    if (test_memcheck()) {
        skip(); /* 520 states take minutes there */
    }
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    settings.states = 520;
    settings.actions = 2;
    const double radii[] = {0.01, 0.05, 1.5};
    for (int i = 0; i < 3; i++) {
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radii[i], NULL);
        nadir_model *model = test_generate(context, "garnet", &settings);
        test_note("radius %g", radii[i]);
        nadir_policy *policy = test_uniform_policy(context, model);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attack = test_descend(context, problem, radii[i]);
        nadir_certificate proof = test_prove(context, problem, radii[i], &attack, NADIR_CERTIFY_AUTO);
        const double estimate = proof.kappa;
        if (i == 2) { /* too far for an estimate: a bound all the same */
            assert_int_equal(proof.bound, NADIR_BOUND_LAGRANGIAN);
            assert_int_equal(proof.proof, NADIR_PROOF_RIGOROUS);
        } else {
            assert_that(proof.lower >= attack.J - 1e-6 * (problem->J - attack.J),
                        "lower bound %.17g of %.17g", proof.lower, attack.J);
            assert_int_equal(proof.proof, NADIR_PROOF_NUMERICAL);
            assert_true(estimate <= 0.5);
        }
        assert_true(proof.lower <= attack.J);
        nadir_certificate_clear(context, &proof);
        if (i == 1) {
            proof = test_prove(context, problem, radii[i], &attack, NADIR_CERTIFY_STRICT);
            assert_proven(problem, &attack, &proof);
            assert_true(proof.kappa <= estimate); /* occupancies are bounded better */
            nadir_certificate_clear(context, &proof);
        }
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

/* A problem that stays, with its attack. */
typedef struct prepared {
    const nadir_problem *problem;
    const nadir_candidate *attack;
    double radius;
} prepared;

static nadir_status prove_once(nadir_context *context, const void *of)
{
    const prepared *at = of;
    nadir_certificate proof;
    const nadir_status status =
        nadir_valid_prove(context, at->problem, at->radius, at->attack, NADIR_CERTIFY_AUTO, INFINITY, &proof);
    nadir_certificate_clear(context, &proof);
    return status;
}

static void test_scarce_memory(void **state)
{
    nadir_context *context = *state;
    const double P[] = {0.5, 0.5, 0, 0.2, 0.3, 0.5, 0.9, 0.1, 0};
    const double rewards[] = {1, -2, 3};
    const double radius = 0.3;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    nadir_model *model = test_plain_model(context, 3, 0.9, P, rewards, NULL);
    nadir_policy *policy = test_uniform_policy(context, model);
    test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    nadir_candidate attack = test_descend(context, problem, radius);
    const prepared of = {problem, &attack, radius};
    assert_ok(context, prove_once(context, &of)); /* what is made once and kept is there then */
    test_run_out_sampled(prove_once, &of, NULL, "proof",
                         500); /* with everything tried, as too much is wanted */
    nadir_candidate_clear(context, &attack);
    test_problem_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_known_proofs), test_with_context(test_dense),
        test_with_context(test_boxes),        test_with_context(test_inactive),
        test_with_context(test_many_states),  test_with_context(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
