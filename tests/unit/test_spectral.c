/* The worst kernel of the non-rectangular L_2 ball on the free domain. */
#include "support/support.h"

#include "search/free_search.h"

#include "support/families.h"
#include "support/free_reference.h"
#include "support/golden.h"
#include "support/reference.h"
#include "support/spectral.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_golden_values(void **state)
{
    (void)state;
    static const struct {
        int golden;
        double beta, value;
    } rows[] = {
        {0, 0.077, 5.25282632122}, {0, 0.46, 4.95783325532}, {0, 1.2, 4.09773269422},
        {1, 0.099, 9.89791906878}, {1, 0.6, 9.3967921216},   {1, 1.6, 7.66880827239},
        {2, 0.079, 4.93195106133}, {2, 0.48, 4.68059127506}, {2, 1.3, 3.85565518553},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        nadir_context *context = test_context();
        const test_golden *golden = &test_goldens[rows[i].golden];
        nadir_model *model = test_golden_model(context, golden, false);
        test_problem made =
            test_spectral_problem(context, model, test_golden_policy(context, model), NULL, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        for (int m = 0; m < 3; m++) {
            test_note("%s, radius %g, %s", golden->name, rows[i].beta, test_spectral_names[m]);
            nadir_candidate attack =
                test_spectral_solve(context, problem, test_spectral_methods[m], rows[i].beta);
            assert_relative(attack.J, rows[i].value, 1e-11); /* the table has 12 digits */
            test_spectral_check(context, problem, rows[i].beta, &attack);
            nadir_candidate_clear(context, &attack);
        }
        test_problem_clear(&made);
        nadir_context_free(context);
    }
    test_note_clear();
}

/* Every family, random scales with pinned rows, both signs, up to near breakdown: against brute force. */
static void test_brute_force(void **state)
{
    (void)state;
    static const double shares[] = {1e-3, 0.1, 0.5, 0.9};
    for (int family = 0; family < TEST_FAMILIES; family++) {
        for (int turn = 0; turn < 2; turn++) {
            nadir_context *context = test_context();
            nadir_random random = test_random(TEST_SPECTRAL_SEED + (uint64_t)family);
            nadir_model *model = test_families[family].make(context, &random);
            double *scales = test_new(model->rows, sizeof *scales);
            for (int64_t row = 0; row < model->rows; row++) {
                scales[row] = nadir_random_below(&random, 4) == 0 ? 0 : nadir_random_exponential(&random);
            }
            test_problem made =
                test_spectral_problem(context, model, test_policy(context, model, TEST_RANDOM, &random),
                                      turn == 1 ? scales : NULL, NULL, turn == 1 ? -1 : 1);
            const nadir_problem *problem = test_problem_view(&made);
            test_free reference = test_free_make(problem);
            const double breakdown = problem->states > 1 ? test_free_breakdown(&reference) : 1;
            const double share = shares[(family + 2 * turn) % 4];
            const double beta = share * breakdown;
            const double expected = test_free_penalty(&reference, beta);
            for (int m = 0; m < 3; m++) {
                test_note("family %s, turn %d, seed %d, %g of breakdown, %s", test_families[family].name,
                          turn, TEST_SPECTRAL_SEED + family, share, test_spectral_names[m]);
                nadir_candidate attack =
                    test_spectral_solve(context, problem, test_spectral_methods[m], beta);
                assert_relative(attack.lambda, expected, 1e-10);
                test_spectral_check(context, problem, beta, &attack);
                nadir_candidate_clear(context, &attack);
            }
            test_free_clear(&reference);
            test_problem_clear(&made);
            free(scales);
            nadir_context_free(context);
        }
    }
    test_note_clear();
}

/* Next to breakdown: 0.999 and 0.999999 of it; at it and past it a refusal. */
static void test_near_breakdown(void **state)
{
    (void)state;
    static const int families[] = {0, 1, 2, 3};
    for (int i = 0; i < 4; i++) {
        nadir_context *context = test_context();
        nadir_random random = test_random(TEST_SPECTRAL_SEED);
        test_problem made = test_spectral_family(context, families[i], &random, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        test_free reference = test_free_make(problem);
        const double breakdown = test_free_breakdown(&reference);
        test_note("family %s, breakdown %.17g", test_families[families[i]].name, breakdown);
        nadir_candidate attack =
            test_spectral_solve(context, problem, NADIR_SPECTRAL_NEWTON, 0.999 * breakdown);
        assert_relative(attack.lambda, test_free_penalty(&reference, 0.999 * breakdown), 1e-9);
        nadir_candidate_clear(context, &attack);
        attack = test_spectral_solve(context, problem, NADIR_SPECTRAL_NEWTON, 0.999999 * breakdown);
        assert_relative(attack.lambda, test_free_penalty(&reference, 0.999999 * breakdown), 1e-7);
        nadir_candidate_clear(context, &attack);
        for (int m = 0; m < 2; m++) { /* f may have a root a little past breakdown, which is not the answer */
            const double past = (m == 0 ? 1.001 : 10) * breakdown;
            assert_fails(context,
                         nadir_spectral_solve(context, problem, test_spectral_methods[m],
                                              TEST_SPECTRAL_TOLERANCE, TEST_SPECTRAL_LIMIT, 1, &past,
                                              &attack),
                         NADIR_ERROR_ILL_POSED, "at or past breakdown");
            assert_null(attack.kernel);
        }
        test_free_clear(&reference);
        test_problem_clear(&made);
        nadir_context_free(context);
    }
    test_note_clear();
}

/* Many radii at once are the same as one by one, and rise. */
static void test_many_radii(void **state)
{
    (void)state;
    enum { COUNT = 70 };
    for (int family = 0; family < 4; family++) {
        nadir_context *context = test_context();
        nadir_random random = test_random(TEST_SPECTRAL_SEED + 7);
        test_problem made = test_spectral_family(context, family, &random, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        test_free reference = test_free_make(problem);
        const double breakdown = test_free_breakdown(&reference);
        double radii[COUNT];
        nadir_candidate attacks[COUNT];
        memset(attacks, 0, sizeof attacks);
        for (int i = 0; i < COUNT; i++) {
            radii[i] = 0.95 * breakdown * i / (COUNT - 1);
        }
        assert_ok(context,
                  nadir_spectral_solve(context, problem, NADIR_SPECTRAL_NEWTON, TEST_SPECTRAL_TOLERANCE,
                                       TEST_SPECTRAL_LIMIT, COUNT, radii, attacks));
        for (int i = 0; i < COUNT; i++) {
            test_note("family %s, seed %d, radius %d", test_families[family].name, TEST_SPECTRAL_SEED + 7, i);
            assert_true(attacks[i].converged);
            assert_relative(attacks[i].lambda,
                            test_spectral_penalty(context, problem, NADIR_SPECTRAL_NEWTON, radii[i]), 1e-10);
            assert_true(i == 0 || attacks[i].lambda > attacks[i - 1].lambda);
        }
        assert_ok(context, nadir_rank_one_candidate_kernel(context, problem, &attacks[COUNT - 1]));
        test_spectral_check(context, problem, radii[COUNT - 1], &attacks[COUNT - 1]);
        for (int i = 0; i < COUNT; i++) {
            nadir_candidate_clear(context, &attacks[i]);
        }
        test_free_clear(&reference);
        test_problem_clear(&made);
        nadir_context_free(context);
    }
    test_note_clear();
}

#define RING_DISCOUNT 0.5

/* States in a ring, random rewards. The singular values of D are 1 / |1 - gamma exp(2 pi i j / S)|: close to
 * each other at the top. */
static nadir_model *make_ring(nadir_context *context, int64_t states)
{
    int64_t *starts = test_new(states + 1, sizeof *starts);
    int32_t *columns = test_new(states, sizeof *columns);
    double *numbers = test_new(2 * states, sizeof *numbers);
    nadir_random random = test_random(TEST_SPECTRAL_SEED);
    for (int64_t s = 0; s < states; s++) {
        starts[s + 1] = s + 1;
        columns[s] = (int32_t)((s + 1) % states);
        numbers[s] = 1;
        numbers[states + s] = nadir_random_normal(&random);
    }
    nadir_model_data data = test_model_data();
    data.states = states;
    data.rows = states;
    data.discount = RING_DISCOUNT;
    data.state_rows = starts;
    data.row_starts = starts;
    data.columns = columns;
    data.probabilities = numbers;
    data.rewards = numbers + states;
    nadir_model *model = test_create_model(context, &data);
    free(starts);
    free(columns);
    free(numbers);
    return model;
}

/* More directions than the subspace has room for: many radii next to breakdown, many values next to the top.
 */
static void test_restarts(void **state)
{
    enum { STATES = 300, COUNT = 4 };
    static const double shares[COUNT] = {0.999, 0.5, 0.99, 0.95};
    nadir_context *context = *state;
    nadir_model *model = make_ring(context, STATES);
    nadir_policy *policy = test_uniform_policy(context, model);
    test_problem made = test_spectral_problem(context, model, policy, NULL, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    const double angle = 2 * acos(-1) / STATES;
    const double breakdown =
        hypot(1 - RING_DISCOUNT * cos(angle), RING_DISCOUNT * sin(angle)) / RING_DISCOUNT;
    double radii[COUNT];
    nadir_candidate attacks[COUNT];
    memset(attacks, 0, sizeof attacks);
    for (int i = 0; i < COUNT; i++) {
        radii[i] = shares[i] * breakdown;
    }
    assert_ok(context, nadir_spectral_solve(context, problem, NADIR_SPECTRAL_NEWTON, TEST_SPECTRAL_TOLERANCE,
                                            TEST_SPECTRAL_LIMIT, COUNT, radii, attacks));
    assert_true(attacks[0].iterations > NADIR_SPECTRAL_SUBSPACE_LIMIT); /* there was no room for them all */
    for (int i = 0; i < COUNT; i++) {
        test_note("%g of breakdown", shares[i]);
        assert_true(attacks[i].converged);
        assert_relative(attacks[i].lambda,
                        test_spectral_penalty(context, problem, NADIR_SPECTRAL_BEST_RESPONSE, radii[i]),
                        1e-9);
        nadir_candidate_clear(context, &attacks[i]);
    }
    test_problem_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_values),  cmocka_unit_test(test_brute_force),
        cmocka_unit_test(test_near_breakdown), cmocka_unit_test(test_many_radii),
        test_with_context(test_restarts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
