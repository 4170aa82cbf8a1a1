/* test_breakdown.c: the breakdown radius: proven bounds below the truth, and the truth itself. */
#include "support/support.h"

#include "adversary/free/breakdown.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/golden.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/singular.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SEED 4242

static const char *const proof_names[] = {"products", "columns", "cholesky"};

/* Every proof is below the truth, and more expensive ones are no worse. ratios: [3] proven / true. */
static void check_proofs(nadir_context *context, const nadir_problem *problem, long double truth,
                         double ratios[3])
{
    double before = 0;
    for (int proof = NADIR_BREAKDOWN_PRODUCTS; proof <= NADIR_BREAKDOWN_CHOLESKY; proof++) {
        double low = NAN;
        assert_ok(context, nadir_breakdown_low(context, problem, (nadir_breakdown_proof)proof, 0, &low));
        assert_that((long double)low <= truth, "%s proves %.17g, the truth is %.17Lg", proof_names[proof],
                    low, truth);
        assert_that(low >= before, "%s proves %g, cheaper ones %g", proof_names[proof], low, before);
        ratios[proof] = isinf(low) ? 1 : (double)((long double)low / truth);
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
    test_free of = test_free_make(problem);
    const long double truth = test_free_breakdown(&of);
    double exact = NAN;
    bool converged = false;
    check_proofs(context, problem, truth, ratios);
    assert_ok(context, nadir_breakdown_exact(context, problem, &exact, &converged));
    assert_true(converged);
    assert_that(isinf(exact) ? isinf(truth) : fabsl((long double)exact / truth - 1) < 1e-9L,
                "exact %.17g, the truth is %.17Lg", exact, truth);
    test_free_clear(&of);
    test_problem_clear(&made);
}

static void test_golden_radii(void **state)
{
    static const double radii[TEST_GOLDEN] = {1.53500784234, 1.98824642726, 1.58430934582};
    nadir_context *context = test_context();
    (void)state;
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
        assert_ok(context, nadir_breakdown_exact(context, test_problem_view(&made), &exact, &converged));
        assert_true(converged);
        assert_that(fabs(exact / radii[i] - 1) < 1e-9, "%.17g instead of %.12g", exact, radii[i]);
        assert_ok(context, nadir_breakdown_low(context, &made.problem, NADIR_BREAKDOWN_CHOLESKY, 0, &low));
        assert_that(low <= radii[i] * (1 + 1e-11) && low > radii[i] * (1 - 1e-9), "cholesky: %.17g", low);
        test_problem_clear(&made);
    }
    test_note_clear();
    nadir_context_free(context);
}

static void test_every_family(void **state)
{
    nadir_context *context = test_context();
    (void)state;
    for (int family = 0; family < TEST_FAMILIES; family++) {
        for (int choice = 0; choice < TEST_CHOICES; choice++) {
            nadir_random random;
            double ratios[3];
            nadir_random_seed(&random, SEED + (uint64_t)family);
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
            assert_that(ratios[2] > 1 - 1e-9, "cholesky: 1 - %g", 1 - ratios[2]);
            free(scales);
        }
    }
    test_note_clear();
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_radii),
        cmocka_unit_test(test_every_family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
