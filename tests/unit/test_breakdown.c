/* test_breakdown.c: the breakdown radius: proven bounds below the truth, and the truth itself. */
#include "support/support.h"

#include "proof/breakdown.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/golden.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/singular.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SEED 4242

/* Every proof is below the truth, and more expensive ones are no worse. ratios: [3] proven / true. */
static void check_proofs(nadir_context *context, const nadir_problem *problem, long double truth,
                         double ratios[3])
{
    double before = 0;
    for (int proof = NADIR_BREAKDOWN_PRODUCTS; proof <= NADIR_BREAKDOWN_CHOLESKY; proof++) {
        double low = NAN;
        assert_ok(context,
                  nadir_breakdown_low(context, problem, (nadir_breakdown_proof)proof, false, 0, &low));
        assert_that((long double)low <= truth, "%s proves %.17g, the truth is %.17Lg",
                    nadir_breakdown_proof_name((nadir_breakdown_proof)proof), low, truth);
        assert_that(low >= before, "%s proves %g, cheaper ones %g",
                    nadir_breakdown_proof_name((nadir_breakdown_proof)proof), low, before);
        ratios[proof - NADIR_BREAKDOWN_PRODUCTS] = isinf(low) ? 1 : (double)((long double)low / truth);
        before = low;
    }
}

static void check_model(nadir_context *context, nadir_model *model, nadir_policy *policy,
                        const double *scales, double ratios[3])
{
    const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, scales);
    test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    test_l2 of = test_l2_make(problem);
    const long double truth = test_l2_breakdown(&of);
    double exact = NAN;
    bool converged = false;
    check_proofs(context, problem, truth, ratios);
    assert_ok(context, nadir_breakdown_estimate(context, problem, &exact, &converged));
    assert_true(converged);
    assert_that(isinf(exact) ? truth > (long double)DBL_MAX : fabsl((long double)exact / truth - 1) < 1e-9L,
                "exact %.17g, the truth is %.17Lg", exact, truth);
    test_l2_clear(&of);
    test_problem_clear(&made);
}

static void test_golden_radii(void **state)
{
    static const double radii[TEST_GOLDEN] = {1.53500784234, 1.98824642726, 1.58430934582};
    nadir_context *context = *state;
    for (int i = 0; i < TEST_GOLDEN; i++) {
        const double radius = 0.1;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
        nadir_model *model = test_golden_model(context, &test_goldens[i], false);
        test_problem made =
            test_problem_make(context, model, test_golden_policy(context, model), &ball, NULL, 1);
        double exact = NAN;
        double low = NAN;
        bool converged = false;
        test_note("%s", test_goldens[i].name);
        assert_ok(context, nadir_breakdown_estimate(context, test_problem_view(&made), &exact, &converged));
        assert_true(converged);
        assert_that(fabs(exact / radii[i] - 1) < 1e-9, "%.17g instead of %.12g", exact, radii[i]);
        assert_ok(context,
                  nadir_breakdown_low(context, &made.problem, NADIR_BREAKDOWN_CHOLESKY, false, 0, &low));
        assert_that(low <= radii[i] * (1 + 1e-11) && low > radii[i] * (1 - 1e-9), "cholesky: %.17g", low);
        test_problem_clear(&made);
    }
}

static void test_every_family(void **state)
{
    nadir_context *context = *state;
    for (int family = 0; family < TEST_FAMILIES; family++) {
        for (int choice = 0; choice < TEST_CHOICES; choice++) {
            double ratios[3];
            nadir_random random = test_random(SEED + (uint64_t)family);
            nadir_model *model = test_families[family].make(context, &random);
            nadir_policy *policy = test_policy(context, model, (test_choice)choice, &random);
            double *scales = test_new(model->rows, sizeof *scales);
            for (int64_t row = 0; row < model->rows; row++) {
                scales[row] = choice == TEST_RANDOM ? (double)nadir_random_below(&random, 3) : 1;
            }
            test_note("%s, %s, seed %d", test_families[family].name, test_choice_names[choice], SEED);
            check_model(context, model, policy, scales, ratios);
            print_message("%-10s %-14s products %.3f, columns %.3f, cholesky 1 - %.1e\n",
                          test_families[family].name, test_choice_names[choice], ratios[0], ratios[1],
                          1 - ratios[2]);
            assert_that(ratios[0] > 0.1 && ratios[1] > 0.5, "products %g, columns %g", ratios[0], ratios[1]);
            assert_that(ratios[2] > 1 - 1e-9, "cholesky: 1 - %g", 1 - ratios[2]);
            free(scales);
        }
    }
}

static test_problem random_problem(nadir_context *context, int64_t states, int64_t actions, double discount,
                                   double p, const char *backend)
{
    static const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, p, &radius, NULL);
    nadir_generate_settings settings = test_generate_settings();
    settings.states = states;
    settings.actions = actions;
    settings.seed = SEED;
    settings.discount = discount;
    nadir_model *model = test_generate(context, "random", &settings);
    nadir_policy *policy = test_uniform_policy(context, model);
    return test_problem_make(context, model, policy, &ball, backend, 1);
}

/* Kernels without structure, where the cheap proof is meant to do. */
static void test_random_dense(void **state)
{
    static const int64_t sizes[] = {7, 20, 60};
    static const double discounts[] = {0.3, 0.9, 0.9999};
    nadir_context *context = *state;
    for (int i = 0; i < 9; i++) {
        test_problem made = random_problem(context, sizes[i / 3], 8, discounts[i % 3], 2, NULL);
        const nadir_problem *problem = test_problem_view(&made);
        test_l2 of = test_l2_make(problem);
        double ratios[3];
        test_note("S=%d, discount %g, seed %d", (int)sizes[i / 3], discounts[i % 3], SEED);
        check_proofs(context, problem, test_l2_breakdown(&of), ratios);
        print_message("S=%-3d discount %-6g products %.3f, columns %.3f, cholesky 1 - %.1e\n",
                      (int)sizes[i / 3], discounts[i % 3], ratios[0], ratios[1], 1 - ratios[2]);
        assert_that(ratios[0] > 0.6 && ratios[1] > 0.75, "products %g, columns %g", ratios[0], ratios[1]);
        assert_that(ratios[2] > 1 - 1e-9, "cholesky: 1 - %g", 1 - ratios[2]);
        test_l2_clear(&of);
        test_problem_clear(&made);
    }
}

/* The radius at p = 2 does not depend on the problem's own norm, nor on the backend. */
static void test_norms_and_backends(void **state)
{
    static const char *const backends[] = {"lapack", "krylov"};
    static const double exponents[] = {1, 1.5, 2, 3, INFINITY};
    nadir_context *context = *state;
    double first = NAN;
    for (int i = 0; i < 10; i++) {
        const double p = exponents[i % 5];
        test_problem made = random_problem(context, 10, 3, 0.9, p, backends[i / 5]);
        const nadir_problem *problem = test_problem_view(&made);
        double low = NAN;
        double exact = NAN;
        bool converged = false;
        test_note("p=%g, %s", p, backends[i / 5]);
        assert_ok(context, nadir_breakdown_low(context, problem, NADIR_BREAKDOWN_CHOLESKY, false, 0, &low));
        assert_ok(context, nadir_breakdown_estimate(context, problem, &exact, &converged));
        first = i == 0 ? exact : first;
        assert_true(converged && low <= exact * (1 + 1e-9));
        assert_close(exact / first, 1, 1e-9);
        assert_close(low / first, 1, 1e-8);
        const double entries = 10 * 3 * 10;
        const double shrunk = p <= 2 ? low : low / pow(entries, isinf(p) ? 0.5 : 0.5 - 1 / p);
        assert_close(nadir_breakdown_for_norm(problem, low) / shrunk, 1, 1e-14);
        assert_true(nadir_breakdown_for_norm(problem, low) <= shrunk);
        test_problem_clear(&made);
    }
}

/* Where nothing can break down, and where everything is at the edge of what numbers can tell. */
static void test_extremes(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < 4; i++) {
        static const double zero[24] = {0};
        const double radius = 0.1;
        nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, i == 2 ? zero : NULL);
        nadir_generate_settings settings = test_generate_settings();
        settings.states = i == 0 ? 1 : 8;
        settings.actions = 3;
        settings.discount = i == 1 ? 0 : i == 3 ? 1 - 1e-12 : 0.9;
        nadir_model *model = test_generate(context, "random", &settings);
        double low = NAN;
        nadir_policy *policy = test_uniform_policy(context, model);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        test_note("case %d", i);
        for (int proof = NADIR_BREAKDOWN_PRODUCTS; proof <= NADIR_BREAKDOWN_CHOLESKY; proof++) {
            assert_ok(context,
                      nadir_breakdown_low(context, problem, (nadir_breakdown_proof)proof, false, 1, &low));
            assert_that(i == 3 ? low >= 0 && isfinite(low) : isinf(low), "%g", low);
        }
        if (i < 3) {
            double exact = NAN;
            bool converged = false;
            assert_ok(context, nadir_breakdown_estimate(context, problem, &exact, &converged));
            assert_true(isinf(exact) && converged);
        }
        test_problem_clear(&made);
    }
}

static void test_scarce_memory(void **state)
{
    test_scarce scarce;
    nadir_context *context = test_scarce_context(&scarce);
    (void)state;
    nadir_random random = test_random(SEED);
    nadir_model *model = test_families[2].make(context, &random);
    const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    test_problem made =
        test_problem_make(context, model, test_policy(context, model, TEST_UNIFORM, &random), &ball, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    const int64_t before = scarce.blocks;
    for (int kind = 0; kind < 2; kind++) {
        nadir_status status = NADIR_ERROR_MEMORY;
        for (int64_t allowed = 0; status != NADIR_OK && allowed < 200; allowed++) {
            double found;
            bool converged;
            scarce.left = allowed;
            status = kind == 0
                         ? nadir_breakdown_low(context, problem, NADIR_BREAKDOWN_CHOLESKY, false, 0, &found)
                         : nadir_breakdown_estimate(context, problem, &found, &converged);
            assert_true(status == NADIR_OK || status == NADIR_ERROR_MEMORY);
            /* the operator keeps room to work in */
            assert_that(scarce.blocks <= before + 8, "%d blocks", (int)(scarce.blocks - before));
        }
        assert_int_equal(status, NADIR_OK);
    }
    scarce.left = INT64_MAX;
    test_problem_clear(&made);
    test_scarce_end(&scarce, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_golden_radii), test_with_context(test_every_family),
        test_with_context(test_random_dense), test_with_context(test_norms_and_backends),
        test_with_context(test_extremes),     cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
