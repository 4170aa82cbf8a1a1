/* The L_2 ball on the free domain: sizes, tolerances, degenerate cases, work and memory. */
#include "search/free_search.h"
#include "support/support.h"

#include "support/families.h"
#include "support/free_reference.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/spectral.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The same rewards times 1e+-150 and 1e+-9, and with a large offset. */
static void test_reward_sizes(void **state)
{
    (void)state;
    static const double factors[] = {1, 1e9, 1e-9, 1e150, 1e-150};
    double expected = 0;
    for (int i = 0; i < 5; i++) {
        nadir_context *context = test_context();
        nadir_random random = test_random(TEST_SPECTRAL_SEED);
        nadir_model *model = test_families[1].make(context, &random);
        nadir_policy *policy = test_policy(context, model, TEST_RANDOM, &random);
        test_note("factor %g", factors[i]);
        for (int64_t row = 0; row < model->rows; row++) {
            model->rewards[row] *= factors[i];
        }
        test_problem made = test_spectral_problem(context, model, policy, NULL, NULL, 1);
        for (int m = 0; m < 3; m++) {
            const double lambda =
                test_spectral_penalty(context, test_problem_view(&made), test_spectral_methods[m], 0.2) /
                factors[i];
            expected = i == 0 && m == 0 ? lambda : expected;
            assert_relative(lambda, expected, 1e-10);
        }
        test_problem_clear(&made);
        nadir_context_free(context);
    }
    test_note_clear();
}

/* The best case: what negated rewards lose. */
static void test_best_case(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(TEST_SPECTRAL_SEED);
    test_problem best = test_spectral_family(context, 1, &random, NULL, -1);
    nadir_random_seed(&random, TEST_SPECTRAL_SEED);
    nadir_model *model = test_families[1].make(context, &random);
    nadir_policy *policy = test_policy(context, model, TEST_RANDOM, &random);
    for (int64_t row = 0; row < model->rows; row++) {
        model->rewards[row] = -model->rewards[row];
    }
    test_problem negated = test_spectral_problem(context, model, policy, NULL, NULL, 1);
    nadir_candidate a = test_spectral_solve(context, test_problem_view(&best), NADIR_SPECTRAL_NEWTON, 0.2);
    nadir_candidate b = test_spectral_solve(context, test_problem_view(&negated), NADIR_SPECTRAL_NEWTON, 0.2);
    assert_relative(a.lambda, b.lambda, 1e-12);
    assert_relative(a.J, b.J, 1e-12);
    assert_true(a.lambda > 0);
    nadir_candidate_clear(context, &a);
    nadir_candidate_clear(context, &b);
    test_problem_clear(&best);
    test_problem_clear(&negated);
}

/* The worst kernel is the nominal one, and the answer is defined. */
static void assert_idle(nadir_context *context, test_problem *made, double beta)
{
    const nadir_problem *problem = test_problem_view(made);
    double *x = test_new(problem->states, sizeof *x);
    double *y = test_new(problem->rows, sizeof *y);
    double *z = test_new(problem->rows, sizeof *z);
    for (int64_t s = 0; s < problem->states; s++) {
        x[s] = 1 / (double)(s + 3);
    }
    nadir_kernel_multiply(context, problem->kernel, x, z);
    for (int m = 0; m < 3; m++) {
        nadir_candidate attack = test_spectral_solve(context, problem, test_spectral_methods[m], beta);
        assert_true(attack.lambda == 0 && attack.J == problem->J && attack.iterations == 0);
        nadir_kernel_multiply(context, attack.kernel, x, y);
        assert_memory_equal(y, z, (size_t)problem->rows * sizeof *y);
        for (int64_t s = 0; s < problem->states; s++) {
            assert_true(attack.c[s] == 0 && attack.k[s] == 0);
        }
        nadir_candidate_clear(context, &attack);
    }
    test_problem_clear(made);
    free(x);
    free(y);
    free(z);
}

static void test_degenerate(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        nadir_context *context = test_context();
        nadir_random random = test_random(TEST_SPECTRAL_SEED);
        test_note("kind %d", kind);
        nadir_model *model = test_families[kind == 0 ? 9 : 1].make(context, &random);
        nadir_policy *policy = test_policy(context, model, TEST_RANDOM, &random);
        double *scales = test_new(model->rows, sizeof *scales);
        for (int64_t row = 0; row < model->rows && kind == 1; row++) {
            model->rewards[row] = 0; /* v is constant */
        }
        model->discount = kind == 2 ? 0 : model->discount;
        test_problem made = test_spectral_problem(context, model, policy, kind == 3 ? scales : NULL, NULL, 1);
        assert_idle(context, &made, kind == 4 ? 0 : 0.1);
        free(scales);
        nadir_context_free(context);
    }
    test_note_clear();
}

/* The tolerance asked for is kept, with far less work than a small one takes. */
static void test_tolerances(void **state)
{
    (void)state;
    for (int family = 0; family < TEST_FAMILIES - 1; family++) {
        nadir_context *context = test_context();
        nadir_random random = test_random(TEST_SPECTRAL_SEED + 3);
        test_problem made = test_spectral_family(context, family, &random, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        test_free reference = test_free_make(problem);
        const double breakdown = test_free_breakdown(&reference);
        for (int share = 1; share < 10; share++) {
            const double beta = share * breakdown / 10;
            const double exact = test_spectral_penalty(context, problem, NADIR_SPECTRAL_NEWTON, beta);
            for (int m = 0; m < 3; m++) {
                for (int digits = 3; digits < 9; digits += 2) {
                    const double tolerance = pow(10, -digits);
                    nadir_candidate attack = {0};
                    test_note("family %s, seed %d, %d tenths of breakdown, tolerance %g, %s",
                              test_families[family].name, TEST_SPECTRAL_SEED + 3, share, tolerance,
                              test_spectral_names[m]);
                    assert_ok(context,
                              nadir_spectral_solve(context, problem, test_spectral_methods[m], tolerance,
                                                   TEST_SPECTRAL_LIMIT, 1, &beta, &attack));
                    assert_true(attack.converged);
                    assert_relative(attack.lambda, exact, tolerance);
                    nadir_candidate_clear(context, &attack);
                }
            }
        }
        test_free_clear(&reference);
        test_problem_clear(&made);
        nadir_context_free(context);
    }
    test_note_clear();
}

/* Three solves are enough for a small radius, and a limit is no error. */
static void test_work(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(TEST_SPECTRAL_SEED);
    test_problem made = test_spectral_family(context, 0, &random, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    nadir_backend_statistics before;
    nadir_backend_statistics after;
    const double small = 0.01;
    nadir_candidate attack = {0};
    nadir_occupancy_statistics(problem->occupancy, &before);
    assert_ok(context, nadir_spectral_solve(context, problem, NADIR_SPECTRAL_NEWTON, 1e-9,
                                            TEST_SPECTRAL_LIMIT, 1, &small, &attack));
    nadir_occupancy_statistics(problem->occupancy, &after);
    assert_int_equal(after.solves - before.solves, 3);
    nadir_candidate_clear(context, &attack);
    const double large = 0.9;
    for (int m = 0; m < 3; m++) {
        assert_ok(context, nadir_spectral_solve(context, problem, test_spectral_methods[m], 1e-9, 2, 1,
                                                &large, &attack));
        assert_false(attack.converged);
        assert_int_equal(attack.stop, NADIR_STOP_ITERATIONS);
        assert_int_equal(attack.iterations, 2);
        test_spectral_check(context, problem, large, &attack);
        assert_true(attack.lambda <=
                    test_spectral_penalty(context, problem, NADIR_SPECTRAL_NEWTON, large) * (1 + 1e-10));
        nadir_candidate_clear(context, &attack);
    }
    test_problem_clear(&made);
}

/* An iterative backend, whose solves are as good as they are asked to be and no better. */
static void test_krylov(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(TEST_SPECTRAL_SEED);
    test_problem direct = test_spectral_family(context, TEST_FAMILIES - 9, &random, NULL, 1);
    nadir_random_seed(&random, TEST_SPECTRAL_SEED);
    nadir_model *model = test_families[TEST_FAMILIES - 9].make(context, &random);
    nadir_policy *policy = test_policy(context, model, TEST_RANDOM, &random);
    test_problem krylov = test_spectral_problem(context, model, policy, NULL, "krylov", 1);
    for (int m = 0; m < 3; m++) {
        for (int i = 1; i < 5; i++) {
            const double beta = 0.15 * i;
            test_note("%s, radius %g", test_spectral_names[m], beta);
            assert_relative(
                test_spectral_penalty(context, test_problem_view(&krylov), test_spectral_methods[m], beta),
                test_spectral_penalty(context, test_problem_view(&direct), NADIR_SPECTRAL_NEWTON, beta),
                1e-10);
        }
    }
    test_problem_clear(&direct);
    test_problem_clear(&krylov);
}

static void test_scarce_memory(void **state)
{
    (void)state;
    for (int m = 0; m < 3; m++) {
        test_scarce scarce;
        nadir_context *context = test_scarce_context(&scarce);
        nadir_random random = test_random(TEST_SPECTRAL_SEED);
        test_problem made = test_spectral_family(context, 0, &random, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        const double radii[3] = {0, 0.2, 0.7};
        nadir_candidate attacks[3];
        memset(attacks, 0, sizeof attacks);
        const int64_t held = scarce.blocks;
        nadir_status status = NADIR_ERROR_MEMORY;
        while (test_scarce_again(&scarce, status)) {
            status = nadir_spectral_solve(context, problem, test_spectral_methods[m], 1e-9,
                                          TEST_SPECTRAL_LIMIT, 3, radii, attacks);
            assert_true(status == NADIR_OK || attacks[1].kernel == NULL);
            /* the operator keeps what it has got */
            assert_true(status == NADIR_OK || scarce.blocks <= held + 2);
        }
        assert_true(scarce.tries > 10);
        for (int i = 0; i < 3; i++) {
            nadir_candidate_clear(context, &attacks[i]);
        }
        test_problem_clear(&made);
        test_scarce_end(&scarce, context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reward_sizes),  test_with_context(test_best_case),
        cmocka_unit_test(test_degenerate),    cmocka_unit_test(test_tolerances),
        test_with_context(test_work),         test_with_context(test_krylov),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
