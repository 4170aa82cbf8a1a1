/*
 * Lower bounds of the non-rectangular ball, domains simplex and support, are never worse than those of larger
 * sets: of the s-rectangular ball of the same radius, and for p < 2 of the L_2 ball of the same radius. On
 * garnets of 5 to 20 states. Some of the witnesses are verified.
 */
#include "support/support.h"

#include "robust/strategy.h"
#include "support/generated.h"
#include "support/robust.h"
#include "support/valid.h"
#include "support/verified.h"

#include <math.h>

enum { SEED = 300, MODELS = 150 };

/* Reported bounds have room (robust/strategy.h), which the bound that they are compared with need not have. That may be
 * proven about a kernel with other last digits, and multipliers that are found with it; and where it is certified, either
 * proof ends anywhere within the width that this takes, 1e-6 of its penalty. */
static void assert_above(const nadir_robust *own, const nadir_robust *larger, const char *what)
{
    const double room = NADIR_ROOM_TIGHT * own->penalty +
                        (NADIR_ROOM_WIDE + 1e-6) * (own->upper_bound - own->lower_bound) +
                        (larger->certified ? 1e-6 * larger->penalty : 0) + 1e-12 * fabs(own->nominal_return);
    assert_that(own->lower_bound >= larger->lower_bound - room,
                "%.17g by %s, %.17g by that of %s; gap %.3g, penalty %.3g", own->lower_bound, own->bound,
                larger->lower_bound, what, own->upper_bound - own->lower_bound, own->penalty);
}

static void verify(const test_instance *instance, const nadir_ball *ball)
{
    nadir_verify_result result = {.size = sizeof result};
    nadir_verification *made = NULL;
    (void)test_verified_evaluate(instance, ball, NULL);
    assert_ok(instance->context, test_verified_verify(instance, "worst.npz", "worst.json", &result, &made));
    assert_true(result.verified);
    nadir_verification_free(made);
}

/* better[0], better[1]: how often the bound of the other set, or almost that, is what is reported. */
static void compare(const test_instance *instance, int seed, nadir_domain domain, double p, double radius,
                    bool verified, int *better)
{
    nadir_context *context = instance->context;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, p, &radius, NULL);
    const nadir_ball states = test_ball(NADIR_SET_S, domain, p, &radius, NULL);
    const nadir_ball two = test_ball(NADIR_SET_NONRECT, domain, 2, &radius, NULL);
    test_note("garnet, seed %d, %s", seed, test_ball_name(&ball));
    const nadir_robust own = test_robust(context, instance->solver, &ball, NULL, NULL);
    const nadir_robust rectangular = test_robust(context, instance->solver, &states, NULL, NULL);
    assert_above(&own, &rectangular, "states");
    better[0] += own.lower_bound <= rectangular.lower_bound + 1e-4 * own.penalty;
    if (p < 2) {
        const nadir_robust enclosing = test_robust(context, instance->solver, &two, NULL, NULL);
        assert_above(&own, &enclosing, "norm 2");
        assert_true(isnan(own.kappa));
        better[1] += own.lower_bound <= enclosing.lower_bound + 1e-4 * own.penalty;
    }
    if (verified) {
        verify(instance, &ball);
    }
    test_note_clear();
}

static void test_larger_sets(void **state)
{
    (void)state;
    static const double norms[] = {1, 1.5, 2, 3, 1.2};
    static const double radii[] = {0.02, 0.1, 0.3, 1, 3};
    int better[2] = {0, 0};
    const int models = (int)test_often(MODELS);
    for (int i = 0; i < models; i++) {
        test_instance instance = {.context = test_context()};
        nadir_generate_settings shape = test_generate_settings();
        shape.states = 5 + i % 16;
        shape.actions = 1 + i % 3;
        shape.branch = 2 + i % 4;
        shape.seed = (uint64_t)(SEED + i);
        instance.model = test_generate(instance.context, "garnet", &shape);
        instance.policy = i % 2 == 0 ? test_uniform_policy(instance.context, instance.model)
                                     : test_optimal_policy(instance.context, instance.model);
        instance.solver = test_solver(instance.context, instance.model, instance.policy);
        compare(&instance, SEED + i, i % 4 < 2 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT, norms[i % 5],
                radii[i / 5 % 5], i % 10 == 1, better);
        test_note_clear();
        test_instance_clear(&instance);
    }
    assert_that(test_memcheck() || models < MODELS || (better[0] > models / 30 && better[1] > models / 100),
                "%d and %d bounds of larger sets", better[0], better[1]);
}

/* The radius is that of the farthest changes of rows that sum to zero: one entry to another for p < 2, all by the
 * same amount for p > 2. */
static void test_radius(void **state)
{
    (void)state;
    static const double norms[] = {1, 1.5, 3};
    const double beta = 0.1;
    nadir_context *context = test_context();
    nadir_generate_settings shape = test_generate_settings();
    shape.states = 12;
    for (int i = 0; i < 3; i++) {
        const double p = norms[i];
        nadir_model *model = test_generate(context, "garnet", &shape);
        nadir_policy *policy = test_uniform_policy(context, model);
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, p, &beta, NULL);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_uncertainty two = {0};
        nadir_problem enclosing;
        double radius;
        const double n = (double)problem->uncertainty->entries;
        const double farthest = p == 1 ? beta / sqrt(2) : p < 2 ? beta : beta * pow(n, 0.5 - 1 / p);
        assert_ok(context, nadir_derivation_enclosing(context, problem, beta, &two, &enclosing, &radius));
        assert_true(enclosing.uncertainty == &two && two.p == 2 && two.domain == NADIR_DOMAIN_SIMPLEX);
        assert_that(radius >= farthest && radius <= farthest * (1 + 1e-12), "p %g: %.17g, not %.17g", p,
                    radius, farthest);
        nadir_uncertainty_clear(context, &two);
        for (int k = 0; k < 200; k++) { /* to the last digit: two entries that change alike, or all of them */
            const double other = beta * (1 + k / 97.0);
            const long double far = p == 1  ? (long double)other / sqrtl(2)
                                    : p < 2 ? (long double)other
                                            : other * powl(n, 0.5L - 1 / (long double)p);
            assert_ok(context,
                      nadir_derivation_enclosing(context, problem, other, &two, &enclosing, &radius));
            assert_that(radius >= far, "p %g, radius %.17g: %.17g, not %.21Lg", p, other, radius, far);
            nadir_uncertainty_clear(context, &two);
        }
        test_problem_clear(&made);
    }
    nadir_context_free(context);
}

/* Numbers of which the larger ball makes a kernel that does not lie in it: proofs know how far the kernels of the ball are
 * from that, one on the other side above all. */
static void test_outside(void **state)
{
    (void)state;
    const double beta = 0.02;
    nadir_context *context = test_context();
    nadir_generate_settings shape = test_generate_settings();
    shape.states = 12;
    nadir_model *model = test_generate(context, "garnet", &shape);
    nadir_policy *policy = test_uniform_policy(context, model);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 1.5, &beta, NULL);
    test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    nadir_candidate worst = test_descend(context, problem, beta);
    for (int i = 0; i < 6; i++) {
        nadir_certificate proof = {0};
        nadir_derivation by = {0};
        long double far = 0;
        assert_ok(context, nadir_derivation_make(context, problem, beta, &worst, NULL, &proof, &by));
        assert_ok(context, nadir_derivation_enclose(context, &by, pow(10, -i) * worst.tau, worst.v, worst.d));
        assert_ok(context, nadir_derivation_expand(context, &by));
        assert_ok(context, nadir_derivation_tabulate(context, &by, false));
        assert_ok(context, nadir_derivation_begin(context, &by, INFINITY));
        for (int64_t e = 0; e < by.perturbable.entries; e++) {
            far = hypotl(far, (long double)by.star.point.X[e] - by.perturbable.phat[e]);
        }
        assert_that(by.radius >= by.beta + far,
                    "P* is %.9Lg from the centre of a ball of radius %.9g, its "
                    "kernels within %.9g of it",
                    far, by.beta, by.radius);
        assert_true(i < 5 || far > 1.5L * by.beta);
        nadir_derivation_clear(context, &by);
        nadir_certificate_clear(context, &proof);
    }
    nadir_candidate_clear(context, &worst);
    test_problem_clear(&made);
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_larger_sets),
        cmocka_unit_test(test_radius),
        cmocka_unit_test(test_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
