/*
 * test_verify_forged.c: forged proofs. A witness claims a bound that the kernel beside it is already below, by
 * a proof that is right for another set: for a smaller ball, another norm, another domain, rewards of another
 * kind. The claim is false each time, and has to be refused. So is a rigorous certificate for a proof that is
 * numerical, and one for no bound at all.
 */
#include "support/support.h"

#include "support/golden.h"
#include "support/landing.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/verified.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATES = 30 };

/* What is claimed: the bound of this name, and where the numbers of its proof come from. */
typedef struct forgery {
    nadir_set set;
    nadir_domain domain;
    double norm, radius;
    const char *bound;
    nadir_set other_set; /* an evaluation that has these numbers */
    nadir_domain other_domain;
    double other_norm;
} forgery;

static const forgery forgeries[] = {
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 0.05, "nominal", NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2},
    {NADIR_SET_SA, NADIR_DOMAIN_SUPPORT, 2, 0.05, "nominal", NADIR_SET_SA, NADIR_DOMAIN_SUPPORT, 2},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.05, "nominal", NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2},
    /* the ball of norm 2 lies in that of norm 3, with room to spare */
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 3, 0.02, "spectral", NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2},
    {NADIR_SET_SA, NADIR_DOMAIN_FREE, 2, 0.002, "spectral", NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 3, 0.02, "free-domain", NADIR_SET_NONRECT, NADIR_DOMAIN_FREE,
     2},
    {NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, 2, 0.02, "free-domain", NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.05, "enumeration", NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1},
    {NADIR_SET_SA, NADIR_DOMAIN_FREE, 1, 0.002, "enumeration", NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1},
    {NADIR_SET_SA, NADIR_DOMAIN_FREE, 2, 0.002, "enclosing-ball", NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 3, 0.02, "enclosing-ball", NADIR_SET_NONRECT, NADIR_DOMAIN_FREE,
     2},
    {NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, 2, 0.02, "second-order", NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2},
    {NADIR_SET_S, NADIR_DOMAIN_SUPPORT, 2, 0.02, "lagrangian", NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2},
    {NADIR_SET_S, NADIR_DOMAIN_SUPPORT, 1.5, 0.02, "lagrangian", NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT,
     1.5},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.05, "second-order", NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT,
     2},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.05, "bellman", NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, 2},
};

/* The numbers of a proof for the other set join the witness, each in every place where a proof looks for it. */
static void copy_proof(const nadir_witness *from, nadir_witness *to)
{
    to->c = to->c2 = from->c != NULL ? from->c : from->c2;
    to->k = to->k2 = from->k != NULL ? from->k : from->k2;
    to->v = from->v;
    to->tau = isnan(from->tau) ? 1 : from->tau;
    to->steps = from->steps;
    to->steps_count = from->steps_count;
    to->lambda = NAN;
    to->kappa = NAN;
    to->d_bar = NULL;
    to->breakdown_low = NAN;
    to->breakdown_proof = NULL;
}

static void test_other_sets(void **state)
{
    (void)state;
    test_instance here = test_instance_make(2);
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        const forgery *of = &forgeries[i];
        const nadir_ball ball = test_ball(of->set, of->domain, of->norm, &of->radius, NULL);
        const nadir_ball other =
            test_ball(of->other_set, of->other_domain, of->other_norm, &of->radius, NULL);
        nadir_witness proven;
        nadir_witness witness;
        test_note("%s, as if %s", test_ball_name(&ball), of->bound);
        const nadir_robust smaller = test_verified_evaluate(&here, &other, NULL);
        assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &proven));
        const nadir_robust robust = test_verified_evaluate(&here, &ball, NULL);
        assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
        /* the kernel returns less than the bound that is claimed */
        witness.lower_bound = robust.robust_return + 1e-3 * robust.penalty;
        witness.bound = of->bound;
        witness.certificate = "rigorous";
        copy_proof(&proven, &witness);
        assert_true(strcmp(of->bound, "nominal") == 0 || strcmp(of->bound, "bellman") == 0 ||
                    strcmp(of->bound, "second-order") == 0 || smaller.robust_return > witness.lower_bound);
        assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
        assert_check_fails(&here, "worst.npz", "lie.json", "lower_bound");
        nadir_witness_clear(here.context, &witness);
        nadir_witness_clear(here.context, &proven);
    }
    test_instance_clear(&here);
}

/* Two states with one row each; the second one is pinned. */
static test_instance make_two_states(double first, double second)
{
    static const double P[] = {0.5, 0.5, 0.5, 0.5};
    static const int64_t state_rows[] = {0, 1, 2};
    static const double scales[] = {1, 0};
    const double rewards[] = {first, second};
    test_instance made = {.context = test_context()};
    nadir_model_data data = test_model_data();
    data.states = 2;
    data.rows = 2;
    data.discount = 0.9;
    data.state_rows = state_rows;
    data.dense = P;
    data.rewards = rewards;
    data.scales = scales;
    made.model = test_create_model(made.context, &data);
    made.policy = test_uniform_policy(made.context, made.model);
    made.solver = test_solver(made.context, made.model, made.policy);
    return made;
}

/* A kernel of the free domain can return less than distributions can, whatever the rewards. */
static void test_rewards_of_free_kernels(void **state)
{
    (void)state;
    test_instance here = make_two_states(1, 1.01);
    const double radius = 0.9;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    nadir_witness witness;
    const nadir_robust robust = test_verified_evaluate(&here, &ball, NULL);
    assert_true(robust.robust_return < 10 - 1e-3); /* less than 1 / (1 - 0.9) */
    assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
    witness.bound = "rewards";
    witness.lower_bound = 10 - 1e-6;
    witness.certificate = "rigorous";
    assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
    assert_check_fails(&here, "worst.npz", "lie.json", "lower_bound");
    nadir_witness_clear(here.context, &witness);
    test_instance_clear(&here);
}

/* Where one row moves, the ball of norm 1 reaches the border of the ball of norm 2 around it. */
static void test_enclosing_ball_is_reached(void **state)
{
    (void)state;
    test_instance here = make_two_states(0, 1);
    const double radius = 0.2;
    const nadir_ball two = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    const nadir_ball one = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1, &radius, NULL);
    nadir_witness proven;
    nadir_witness witness;
    (void)test_verified_evaluate(&here, &two, NULL);
    assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &proven));
    const nadir_robust robust = test_verified_evaluate(&here, &one, NULL);
    assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
    witness.lower_bound = robust.robust_return + 1e-3 * robust.penalty;
    witness.bound = "enclosing-ball";
    copy_proof(&proven, &witness);
    assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
    assert_check_fails(&here, "worst.npz", "lie.json", "lower_bound");
    nadir_witness_clear(here.context, &witness);
    nadir_witness_clear(here.context, &proven);
    test_instance_clear(&here);
}

/* Values are flat and landing hurts: proofs by a pair of v see nothing of it. */
static void test_landing_flat(void **state)
{
    (void)state;
    enum { COUNT = 4 };
    test_instance here = {.context = test_context()};
    test_landing draft = test_landing_start(COUNT, 1, 0.9);
    const double radius = 0.1;
    double pair[COUNT] = {1, -1, 2, -2};
    for (int64_t s = 0; s < COUNT; s++) {
        for (int64_t t = 0; t < COUNT; t++) { /* rows of mean 0 that are not alike */
            draft.kernel[s * COUNT + t] = 0.25;
            draft.paid[s * COUNT + t] = (s + t) % 2 == 0 ? 1 : -1;
        }
        draft.mu[s] = 0.25;
    }
    here.model = test_landing_model(here.context, &draft, false, NADIR_UNSEEN_ROW, 0);
    here.policy = test_uniform_policy(here.context, here.model);
    here.solver = test_solver(here.context, here.model, here.policy);
    for (int norm = 1; norm <= 2; norm++) {
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, norm, &radius, NULL);
        nadir_witness witness;
        const nadir_robust robust = test_verified_evaluate(&here, &ball, NULL);
        assert_true(robust.penalty > 0.01);
        assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
        witness.bound = norm == 1 ? "enumeration" : "spectral";
        witness.certificate = "rigorous";
        witness.lower_bound = robust.robust_return + 0.1 * robust.penalty;
        witness.c = witness.c2 = witness.k = witness.k2 = pair;
        witness.lambda = NAN;
        assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
        assert_check_fails(&here, "worst.npz", "lie.json", "lower_bound");
        nadir_witness_clear(here.context, &witness);
    }
    test_landing_clear(&draft);
    test_instance_clear(&here);
}

/* No bound, but a certificate. */
static void test_certificate_alone(void **state)
{
    (void)state;
    test_instance here = test_instance_make(0);
    const double radius = 0.05;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    nadir_witness witness;
    (void)test_verified_evaluate(&here, &ball, NULL);
    assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
    witness.lower_bound = NAN;
    assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
    assert_check_fails(&here, "worst.npz", "lie.json", "certificate");
    nadir_witness_clear(here.context, &witness);
    test_instance_clear(&here);
}

/* Where columns of D are too many for a proof, breakdown is where an iteration says: the bound is numerical, and
 * is not to be called anything better, by the evaluation or by a witness. */
static void test_numerical(void **state)
{
    (void)state;
    test_instance here = {.context = test_context()};
    nadir_generate_settings shape = test_generate_settings();
    nadir_robust_settings settings = test_robust_settings();
    nadir_witness witness;
    double radius = 1e-6;
    shape.states = 450; /* above NADIR_COLUMNS_STATES */
    shape.actions = 2;
    assert_ok(here.context, nadir_model_generate(here.context, "garnet", &shape, &here.model));
    here.policy = test_uniform_policy(here.context, here.model);
    here.solver = test_solver(here.context, here.model, here.policy);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    settings.certify = NADIR_CERTIFY_STRICT;
    const double breakdown = test_verified_evaluate(&here, &ball, &settings).breakdown_radius;
    radius = 0.9 * breakdown;
    settings.certify = NADIR_CERTIFY_AUTO;
    const nadir_robust robust = test_verified_evaluate(&here, &ball, &settings);
    assert_string_equal(robust.certificate, "numerical");
    assert_ok(here.context, nadir_witness_read(here.context, here.model, "worst.json", &witness));
    witness.certificate = "rigorous";
    assert_ok(here.context, nadir_witness_write(here.context, here.model, &witness, "lie.json"));
    assert_check_fails(&here, "worst.npz", "lie.json", "certificate");
    nadir_witness_clear(here.context, &witness);
    test_instance_clear(&here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_sets),
        cmocka_unit_test(test_rewards_of_free_kernels),
        cmocka_unit_test(test_enclosing_ball_is_reached),
        cmocka_unit_test(test_landing_flat),
        cmocka_unit_test(test_certificate_alone),
        cmocka_unit_test(test_numerical),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
