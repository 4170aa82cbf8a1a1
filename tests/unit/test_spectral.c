/* The worst kernel of the non-rectangular L_2 ball on the free domain. */
#include "support/support.h"

#include "adversary/free/spectral.h"
#include "linalg/vector.h"
#include "support/families.h"
#include "support/free_reference.h"
#include "support/generated.h"
#include "support/golden.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/scarce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED      20240
#define TOLERANCE 1e-11
#define LIMIT     20000

static const nadir_spectral_method methods[] = {NADIR_SPECTRAL_NEWTON, NADIR_SPECTRAL_BISECT,
                                                NADIR_SPECTRAL_BEST_RESPONSE};
static const char *const method_names[] = {"newton", "bisect", "best-response"};

static test_problem make_problem(nadir_context *context, nadir_model *model, nadir_policy *policy,
                                 const double *scales, const char *backend, double sign)
{
    const double radius = 1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, scales);
    return test_problem_make(context, model, policy, &ball, backend, sign);
}

/* A family with a random policy. */
static test_problem make_family(nadir_context *context, int family, nadir_random *random,
                                const double *scales, double sign)
{
    nadir_model *model = test_families[family].make(context, random);
    return make_problem(context, model, test_policy(context, model, TEST_RANDOM, random), scales, NULL, sign);
}

/* The attack at one radius; the penalty is relative to nothing. */
static nadir_attack solve(nadir_context *context, const nadir_problem *problem, nadir_spectral_method method,
                          double beta)
{
    nadir_attack attack = {0};
    assert_ok(context, nadir_spectral_solve(context, problem, method, TOLERANCE, LIMIT, 1, &beta, &attack));
    assert_true(attack.converged);
    assert_string_equal(attack.method, method_names[method]);
    return attack;
}

static double penalty(nadir_context *context, const nadir_problem *problem, nadir_spectral_method method,
                      double beta)
{
    nadir_attack attack = solve(context, problem, method, beta);
    const double lambda = attack.lambda;
    nadir_attack_clear(context, &attack);
    return lambda;
}

/* |a - b| <= tolerance |b| */
#define assert_relative(a, b, tolerance)                                                                     \
    assert_that(fabs((a) - (b)) <= (tolerance)*fabs(b), "%s is %.17g, expected %.17g (%g off)", #a,          \
                (double)(a), (double)(b), (double)((a) - (b)) / fabs(b))

/* What an attack says about itself is so. */
static void check_attack(nadir_context *context, const nadir_problem *problem, double beta,
                         const nadir_attack *attack)
{
    const test_found found = test_found_measure(context, problem, attack->kernel);
    const double size = nadir_vector_largest(problem->states, problem->v) + fabs(attack->lambda);
    assert_that(fabs(found.J - attack->J) <= 1e-11 * size, "J %.17g, of the kernel %.17g", attack->J,
                found.J);
    assert_that(found.norm <= beta * (1 + 1e-13) + 1e-14, "norm %.17g of radius %.17g", found.norm, beta);
    assert_that(found.row_sum <= 1e-13 * (1 + beta), "row sum off by %g", found.row_sum);
    assert_true(attack->J == problem->J - attack->lambda);
}

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
        test_problem made = make_problem(context, model, test_golden_policy(context, model), NULL, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        for (int m = 0; m < 3; m++) {
            test_note("%s, radius %g, %s", golden->name, rows[i].beta, method_names[m]);
            nadir_attack attack = solve(context, problem, methods[m], rows[i].beta);
            assert_relative(attack.J, rows[i].value, 1e-11); /* the table has 12 digits */
            check_attack(context, problem, rows[i].beta, &attack);
            nadir_attack_clear(context, &attack);
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
            nadir_random random;
            nadir_random_seed(&random, SEED + (uint64_t)family);
            nadir_model *model = test_families[family].make(context, &random);
            double *scales = test_new(model->rows, sizeof *scales);
            for (int64_t row = 0; row < model->rows; row++) {
                scales[row] = nadir_random_below(&random, 4) == 0 ? 0 : nadir_random_exponential(&random);
            }
            test_problem made =
                make_problem(context, model, test_policy(context, model, TEST_RANDOM, &random),
                             turn == 1 ? scales : NULL, NULL, turn == 1 ? -1 : 1);
            const nadir_problem *problem = test_problem_view(&made);
            test_free reference = test_free_make(problem);
            const double breakdown = problem->states > 1 ? test_free_breakdown(&reference) : 1;
            const double share = shares[(family + 2 * turn) % 4];
            const double beta = share * breakdown;
            const double expected = test_free_penalty(&reference, beta);
            for (int m = 0; m < 3; m++) {
                test_note("family %s, turn %d, seed %d, %g of breakdown, %s", test_families[family].name,
                          turn, SEED + family, share, method_names[m]);
                nadir_attack attack = solve(context, problem, methods[m], beta);
                assert_relative(attack.lambda, expected, 1e-10);
                check_attack(context, problem, beta, &attack);
                nadir_attack_clear(context, &attack);
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
        nadir_random random;
        nadir_random_seed(&random, SEED);
        test_problem made = make_family(context, families[i], &random, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        test_free reference = test_free_make(problem);
        const double breakdown = test_free_breakdown(&reference);
        test_note("family %s, breakdown %.17g", test_families[families[i]].name, breakdown);
        nadir_attack attack = solve(context, problem, NADIR_SPECTRAL_NEWTON, 0.999 * breakdown);
        assert_relative(attack.lambda, test_free_penalty(&reference, 0.999 * breakdown), 1e-9);
        nadir_attack_clear(context, &attack);
        attack = solve(context, problem, NADIR_SPECTRAL_NEWTON, 0.999999 * breakdown);
        assert_relative(attack.lambda, test_free_penalty(&reference, 0.999999 * breakdown), 1e-7);
        nadir_attack_clear(context, &attack);
        const double past = 1.001 * breakdown;
        assert_fails(context,
                     nadir_spectral_solve(context, problem, NADIR_SPECTRAL_NEWTON, TOLERANCE, LIMIT, 1, &past,
                                          &attack),
                     NADIR_ERROR_ILL_POSED, "at or past breakdown");
        assert_null(attack.kernel);
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
        nadir_random random;
        nadir_random_seed(&random, SEED + 7);
        test_problem made = make_family(context, family, &random, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        test_free reference = test_free_make(problem);
        const double breakdown = test_free_breakdown(&reference);
        double radii[COUNT];
        nadir_attack attacks[COUNT];
        memset(attacks, 0, sizeof attacks);
        for (int i = 0; i < COUNT; i++) {
            radii[i] = 0.95 * breakdown * i / (COUNT - 1);
        }
        assert_ok(context, nadir_spectral_solve(context, problem, NADIR_SPECTRAL_NEWTON, TOLERANCE, LIMIT,
                                                COUNT, radii, attacks));
        for (int i = 0; i < COUNT; i++) {
            test_note("family %s, seed %d, radius %d", test_families[family].name, SEED + 7, i);
            assert_true(attacks[i].converged);
            assert_relative(attacks[i].lambda, penalty(context, problem, NADIR_SPECTRAL_NEWTON, radii[i]),
                            1e-10);
            assert_true(i == 0 || attacks[i].lambda > attacks[i - 1].lambda);
        }
        check_attack(context, problem, radii[COUNT - 1], &attacks[COUNT - 1]);
        for (int i = 0; i < COUNT; i++) {
            nadir_attack_clear(context, &attacks[i]);
        }
        test_free_clear(&reference);
        test_problem_clear(&made);
        nadir_context_free(context);
    }
    test_note_clear();
}

/* On a model with more states than the subspace has room for, near breakdown, with many radii. */
static void test_restarts(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    nadir_generate_settings settings = test_generate_settings();
    settings.states = 300;
    settings.actions = 2;
    settings.branch = 2;
    settings.seed = 3;
    nadir_model *model = test_generate(context, "garnet", &settings);
    nadir_policy *policy = NULL;
    assert_ok(context, nadir_policy_create_uniform(context, model, &policy));
    test_problem made = make_problem(context, model, policy, NULL, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    /* Where the refusal begins is where breakdown is. */
    double low = 0;
    double high = 10;
    while (high - low > 1e-6 * high) {
        const double middle = (low + high) / 2;
        nadir_attack attack = {0};
        const bool refused = nadir_spectral_solve(context, problem, NADIR_SPECTRAL_NEWTON, 1e-6, LIMIT, 1,
                                                  &middle, &attack) != NADIR_OK;
        nadir_attack_clear(context, &attack);
        low = refused ? low : middle;
        high = refused ? middle : high;
    }
    const double radii[3] = {0.9999 * low, 0.99 * low, 0.5 * low};
    nadir_attack attacks[3];
    memset(attacks, 0, sizeof attacks);
    assert_ok(context, nadir_spectral_solve(context, problem, NADIR_SPECTRAL_NEWTON, TOLERANCE, LIMIT, 3,
                                            radii, attacks));
    for (int i = 0; i < 3; i++) {
        test_note("radius %.17g of %.17g: %lld rounds", radii[i], low, (long long)attacks[i].iterations);
        assert_true(attacks[i].converged);
        if (i > 0) {
            assert_relative(attacks[i].lambda,
                            penalty(context, problem, NADIR_SPECTRAL_BEST_RESPONSE, radii[i]), 1e-9);
        }
        nadir_attack_clear(context, &attacks[i]);
    }
    test_problem_clear(&made);
    nadir_context_free(context);
    test_note_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_values),  cmocka_unit_test(test_brute_force),
        cmocka_unit_test(test_near_breakdown), cmocka_unit_test(test_many_radii),
        cmocka_unit_test(test_restarts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
