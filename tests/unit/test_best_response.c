/*
 * Tests of best responses in the L_p ball of the free domain: golden values, the spectral value at p = 2, the
 * strike near p = 1, a search of many random starts on tiny problems, first-order conditions everywhere.
 */
#include "support/support.h"

#include "linalg/vector.h"
#include "search/free_search.h"
#include "support/families.h"
#include "support/golden.h"
#include "support/norms.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/standard.h"
#include "support/tiny.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED      57721
#define TOLERANCE 1e-12
#define LIMIT     10000

static test_problem golden_problem(nadir_context *context, int instance, double p, const char *backend)
{
    const double radius = 1;
    nadir_model *model = test_golden_model(context, &test_goldens[instance], false);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, p, &radius, NULL);
    return test_problem_make(context, model, test_golden_policy(context, model), &ball, backend, 1);
}

static void test_golden_values(void **state)
{
    const double radii[] = {0.077, 0.099, 0.079};
    const double norms[] = {1.5, 2, 3};
    const double values[3][3] = {{5.28095011946, 5.25282632122, 5.18953703421},
                                 {9.96743357103, 9.89791906878, 9.6103483823},
                                 {4.96402143446, 4.93195106133, 4.81955613388}};
    nadir_context *context = *state;
    for (int i = 0; i < 9; i++) {
        const int golden = i / 3;
        test_problem made = golden_problem(context, golden, norms[i % 3], NULL);
        nadir_candidate attack = {0};
        test_note("%s, p = %g", test_goldens[golden].name, norms[i % 3]);
        assert_ok(context, nadir_best_response_solve(context, test_problem_view(&made), TOLERANCE, LIMIT, 1,
                                                     &radii[golden], &attack));
        assert_close(attack.J, values[golden][i % 3], 1e-11);
        assert_true(attack.converged);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

/* At p = 2 the spectral value, up to close to breakdown. */
static void test_spectral_value(void **state)
{
    const double breakdowns[] = {1.53500784234, 1.98824642726, 1.58430934582};
    const double shares[] = {0.01, 0.3, 0.8, 0.95, 0.99};
    nadir_context *context = *state;
    for (int i = 0; i < TEST_GOLDEN; i++) {
        test_problem made = golden_problem(context, i, 2, NULL);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attacks[5] = {{0}};
        nadir_candidate expected[5] = {{0}};
        double radii[5];
        for (int j = 0; j < 5; j++) {
            radii[j] = shares[j] * breakdowns[i];
        }
        assert_ok(context, nadir_best_response_solve(context, problem, TOLERANCE, LIMIT, 5, radii, attacks));
        assert_ok(context, nadir_spectral_solve(context, problem, NADIR_SPECTRAL_NEWTON, TOLERANCE, LIMIT, 5,
                                                radii, expected));
        for (int j = 0; j < 5; j++) {
            test_note("%s at %g of breakdown", test_goldens[i].name, shares[j]);
            assert_close(attacks[j].lambda / expected[j].lambda, 1, 1e-10);
            assert_true(attacks[j].converged);
            nadir_candidate_clear(context, &attacks[j]);
            nadir_candidate_clear(context, &expected[j]);
        }
        test_problem_clear(&made);
    }
}

/* A tiny problem whose own radius is 1. */
static test_problem random_problem(nadir_context *context, nadir_random *random, double p, int i)
{
    const double discounts[] = {0.5, 0.9, 0.97};
    const double radius = 1;
    const int64_t states = 2 + (int64_t)nadir_random_below(random, 5);
    nadir_model *model = test_tiny_model(context, random, states, discounts[i % 3], 0.7);
    double *scales = test_tiny_scales(random, model);
    const nadir_ball ball =
        test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, p, &radius, i % 2 == 0 ? NULL : scales);
    nadir_policy *policy = test_policy(context, model, (test_choice)(i % TEST_CHOICES), random);
    test_problem made = test_problem_make(context, model, policy, &ball, NULL, i % 5 == 0 ? -1 : 1);
    free(scales);
    return made;
}

/* Below the breakdown radius: gamma |D W| <= gamma max W n^(1/q) / (1 - gamma) in any of these norms. */
static double safe_radius(const nadir_problem *problem)
{
    double most = 1e-3;
    for (int64_t s = 0; s < problem->states; s++) {
        most = fmax(most, problem->uncertainty->W[s]);
    }
    return (1 - problem->gamma) / (problem->gamma * most * (double)problem->states);
}

/* lambda(c, k) by its definition, where c and k are given; the dense D is made by unit vectors. */
typedef struct dense_dual {
    int64_t states;
    double gamma;
    double *D;  /* [states * states] D(s, t) at s + t * states */
    double *Wd; /* [states] */
    const double *W, *v;
} dense_dual;

static dense_dual make_dense(nadir_context *context, const nadir_problem *problem)
{
    const int64_t n = problem->states;
    dense_dual made = {n,
                       problem->gamma,
                       test_new(n * n, sizeof *made.D),
                       test_new(n, sizeof *made.Wd),
                       problem->uncertainty->W,
                       problem->v};
    for (int64_t s = 0; s < n; s++) {
        made.D[s * n + s] = 1;
        made.Wd[s] = made.W[s] * problem->d[s];
    }
    assert_ok(context, nadir_occupancy_solve(context, problem->occupancy, n, made.D, made.D, NULL));
    return made;
}

static double penalty_of(const dense_dual *of, const double *c, const double *k)
{
    const int64_t n = of->states;
    double strength = 0;
    double loss = 0;
    double feedback = 0;
    for (int64_t s = 0; s < n; s++) {
        strength += of->Wd[s] * c[s];
        loss += k[s] * of->v[s];
        for (int64_t t = 0; t < n; t++) {
            feedback += k[t] * of->D[s * n + t] * of->W[s] * c[s];
        }
    }
    const double denominator = 1 + of->gamma * feedback;
    assert_true(denominator > 0);
    return of->gamma * strength * loss / denominator;
}

/* x <- x scaled to |x|_p = norm, its mean taken off first if `zero_sum`. */
static void normalise(int64_t n, double p, double norm, bool zero_sum, double *x)
{
    double mean = 0;
    for (int64_t s = 0; s < n && zero_sum; s++) {
        mean += x[s] / (double)n;
    }
    for (int64_t s = 0; s < n; s++) {
        x[s] -= mean;
    }
    const double size = (double)test_norm(n, x, 0, p);
    for (int64_t s = 0; s < n; s++) {
        x[s] *= size > 0 ? norm / size : 0;
    }
}

/* Random walks uphill in (c, k) from a start: nothing of the search but the formula of lambda. */
static double climb(const dense_dual *of, nadir_random *random, double p, double radius, double *c, double *k)
{
    const int64_t n = of->states;
    double *c_next = test_new(n, sizeof *c_next);
    double *k_next = test_new(n, sizeof *k_next);
    double best = penalty_of(of, c, k);
    double size = 1;
    for (int step = 0; step < 400; step++) {
        for (int64_t s = 0; s < n; s++) {
            c_next[s] = c[s] + size * radius * nadir_random_normal(random);
            k_next[s] = k[s] + size * nadir_random_normal(random);
        }
        normalise(n, p, radius, false, c_next);
        normalise(n, p, 1, true, k_next);
        const double found = penalty_of(of, c_next, k_next);
        size = found > best ? size * 1.5 : size * 0.9;
        size = size < 1e-6 ? 1 : size;
        if (found > best) {
            memcpy(c, c_next, (size_t)n * sizeof *c);
            memcpy(k, k_next, (size_t)n * sizeof *k);
            best = found;
        }
    }
    free(c_next);
    free(k_next);
    return best;
}

/* Neither random walks, some from the pair found, nor random kernels of the ball do better. */
static void attack_pair(nadir_context *context, const nadir_problem *problem, nadir_random *random,
                        double radius, const nadir_candidate *attack)
{
    const int64_t n = problem->states;
    const double p = problem->uncertainty->p;
    dense_dual of = make_dense(context, problem);
    double *c = test_new(n, sizeof *c);
    double *k = test_new(n, sizeof *k);
    double *kernel = test_new(problem->rows * n, sizeof *kernel);
    for (int start = 0; start < 8; start++) {
        for (int64_t s = 0; s < n; s++) {
            c[s] = start % 4 == 0 ? attack->c[s] : nadir_random_normal(random);
            k[s] = start % 4 == 0 ? attack->k[s] : nadir_random_normal(random);
        }
        normalise(n, p, radius, false, c);
        normalise(n, p, 1, true, k);
        const double found = climb(&of, random, p, radius, c, k);
        assert_that(found <= attack->lambda * (1 + 1e-9) + 1e-13, "start %d: %.17g is worse than %.17g",
                    start, found, attack->lambda);
    }
    for (int trial = 0; trial < 30; trial++) {
        test_random_kernel(problem, random, radius, kernel); /* the problem's own radius is 1 */
        const double J = (double)test_return(problem, kernel);
        assert_that(J >= attack->J - 1e-12, "a kernel returns %.17g, less than %.17g", J, attack->J);
    }
    free(c);
    free(k);
    free(kernel);
    free(of.D);
    free(of.Wd);
}

static void test_tiny_problems(void **state)
{
    const double norms[] = {1.001, 1.1, 1.5, 1.9, 2, 2.5, 3, 6, 50};
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < 54; i++) {
        test_problem made = random_problem(context, &random, norms[i % 9], i);
        const nadir_problem *problem = test_problem_view(&made);
        const double share = i % 2 == 0 ? 0.3 : 0.9;
        const double radius = share * safe_radius(problem);
        nadir_candidate attack = {0};
        test_note("case %d, p = %g, %lld states, seed %d", i, norms[i % 9], (long long)problem->states, SEED);
        assert_ok(context,
                  nadir_best_response_solve(context, problem, TOLERANCE, LIMIT, 1, &radius, &attack));
        assert_that(attack.converged, "not converged after %lld sweeps, penalty %.17g",
                    (long long)attack.iterations, attack.lambda);
        double *entries = test_kernel_entries(context, attack.kernel);
        nadir_uncertainty set = *problem->uncertainty;
        nadir_problem ball = *problem;
        set.radius = radius;
        ball.uncertainty = &set;
        test_assert_in_set(&ball, entries, 1);
        assert_close(attack.J, (double)test_return(problem, entries), 1e-12);
        attack_pair(context, problem, &random, radius, &attack);
        free(entries);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

/* p -> 1: the strike; p -> 2 from both sides: the spectral value; larger balls cost more. */
static void test_limits(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < TEST_GOLDEN; i++) {
        const double norms[] = {1, 1 + 1e-8, 1.2, 1.6, 2 - 1e-9, 2, 2 + 1e-9, 4, 1e3, 1e8};
        double penalties[10];
        for (int j = 0; j < 10; j++) {
            const double radius = 0.003;
            test_problem made = golden_problem(context, i, norms[j], NULL);
            const nadir_problem *problem = test_problem_view(&made);
            nadir_candidate attack = {0};
            nadir_l1_enumeration_bounds facts;
            assert_ok(
                context,
                j == 0 ? nadir_l1_enumeration_solve(context, problem, false, 1, &radius, &attack, &facts)
                       : nadir_best_response_solve(context, problem, TOLERANCE, LIMIT, 1, &radius, &attack));
            penalties[j] = attack.lambda;
            nadir_candidate_clear(context, &attack);
            test_problem_clear(&made);
        }
        assert_close(penalties[1] / penalties[0], 1, 1e-6);
        assert_close(penalties[4] / penalties[5], 1, 1e-7);
        assert_close(penalties[6] / penalties[5], 1, 1e-7);
        for (int j = 1; j < 10; j++) { /* U_p grows with p */
            assert_true(penalties[j] >= penalties[j - 1] * (1 - 1e-10));
        }
    }
}

/* The ball of p = 1 lies in every other, and is solved exactly: a start that ends at a lesser state shows. */
static void test_not_below_strike(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    for (int i = 0; i < test_often(300); i++) {
        const int64_t states = 3 + (int64_t)nadir_random_below(&random, 8);
        nadir_model *model = test_tiny_model(context, &random, states, 0.97, i % 2 == 0 ? 0.3 : 0.8);
        const double radius = 0.06 * nadir_random_uniform(&random); /* breakdown is past 2 (1 - gamma) */
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1.01, &radius, NULL);
        nadir_policy *policy = test_policy(context, model, TEST_RANDOM, &random);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_uncertainty one = {0};
        const nadir_ball inner = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1, &radius, NULL);
        nadir_problem inside = *problem;
        nadir_candidate attack = {0};
        nadir_candidate strike = {0};
        nadir_l1_enumeration_bounds facts;
        test_note("case %d, seed %d", i, SEED + 1);
        assert_ok(context, nadir_uncertainty_make(context, model, policy, &inner, &one));
        inside.uncertainty = &one;
        assert_ok(context, nadir_l1_enumeration_solve(context, &inside, false, 1, &radius, &strike, &facts));
        assert_ok(context,
                  nadir_best_response_solve(context, problem, TOLERANCE, LIMIT, 1, &radius, &attack));
        assert_that(attack.lambda >= strike.lambda * (1 - 1e-12), "the penalty is %.17g, less than %.17g",
                    attack.lambda, strike.lambda);
        nadir_candidate_clear(context, &attack);
        nadir_candidate_clear(context, &strike);
        nadir_uncertainty_clear(context, &one);
        test_problem_clear(&made);
    }
}

/* Many radii at once are the same as one after the other, and rise. */
static void test_many_radii(void **state)
{
    enum { RADII = 17 };
    nadir_context *context = *state;
    test_problem made = golden_problem(context, 2, 3, "klu");
    const nadir_problem *problem = test_problem_view(&made);
    nadir_candidate attacks[RADII] = {{0}};
    double radii[RADII];
    double before = -1;
    for (int i = 0; i < RADII; i++) {
        radii[i] = 0.02 * i;
    }
    assert_ok(context, nadir_best_response_solve(context, problem, TOLERANCE, LIMIT, RADII, radii, attacks));
    for (int i = 0; i < RADII; i++) {
        nadir_candidate alone = {0};
        assert_ok(context,
                  nadir_best_response_solve(context, problem, TOLERANCE, LIMIT, 1, &radii[i], &alone));
        assert_close(attacks[i].lambda, alone.lambda, 1e-12);
        assert_true(attacks[i].lambda > before && attacks[i].converged);
        before = attacks[i].lambda;
        nadir_candidate_clear(context, &alone);
        nadir_candidate_clear(context, &attacks[i]);
    }
    test_problem_clear(&made);
}

/* The iterative backend, which solves only as sharply as is asked. */
static void test_krylov(void **state)
{
    nadir_context *context = *state;
    const double norms[] = {1.5, 3};
    const double values[] = {4.96402143446, 4.81955613388};
    for (int i = 0; i < 2; i++) {
        test_problem made = golden_problem(context, 2, norms[i], "krylov");
        const double radius = 0.079;
        nadir_candidate attack = {0};
        assert_ok(context, nadir_best_response_solve(context, test_problem_view(&made), 1e-9, LIMIT, 1,
                                                     &radius, &attack));
        assert_close(attack.J, values[i], 1e-11);
        assert_true(attack.converged);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

/* Far past breakdown there is no answer; a limit is no error. */
static void test_breakdown_and_limit(void **state)
{
    nadir_context *context = *state;
    const double norms[] = {1.5, 2, 3};
    for (int i = 0; i < 3; i++) {
        test_problem made = golden_problem(context, 0, norms[i], NULL);
        const nadir_problem *problem = test_problem_view(&made);
        double radii[2] = {0.1, 30};
        nadir_candidate attacks[2] = {{0}};
        assert_fails(context,
                     nadir_best_response_solve(context, problem, TOLERANCE, LIMIT, 2, radii, attacks),
                     NADIR_ERROR_ILL_POSED, "at or past breakdown");
        assert_null(attacks[0].kernel);
        radii[1] = 0.2;
        assert_ok(context, nadir_best_response_solve(context, problem, TOLERANCE, 1, 2, radii, attacks));
        for (int j = 0; j < 2; j++) {
            assert_true(!attacks[j].converged && attacks[j].stop == NADIR_STOP_ITERATIONS);
            assert_true(attacks[j].lambda > 0);
            nadir_candidate_clear(context, &attacks[j]);
        }
        test_problem_clear(&made);
    }
}

static void test_degenerate(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 3);
    const double norms[] = {1.5, 3};
    for (int i = 0; i < 2 * TEST_IDLE; i++) {
        test_problem made = test_problem_idle(context, &random, i / 2, NADIR_SET_NONRECT, norms[i % 2]);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attack = {0};
        test_note("case %d, p = %g", i / 2, norms[i % 2]);
        assert_ok(context, nadir_best_response_solve(context, problem, 1e-9, LIMIT, 1,
                                                     &made.uncertainty.radius, &attack));
        assert_true(fabs(attack.lambda) <= 1e-13 * fabs(problem->J) && attack.converged);
        assert_true(attack.iterations < 100);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

static void test_scaled_rewards(void **state)
{
    nadir_context *context = *state;
    const double norms[] = {1.5, 3};
    for (int n = 0; n < 2; n++) {
        double expected = 0;
        for (int i = 0; i < TEST_REWARD_SIZES; i++) {
            const double radius = 0.5;
            test_problem made = test_problem_scaled(context, 0, i, NADIR_SET_NONRECT, norms[n], radius);
            nadir_candidate attack = {0};
            assert_ok(context, nadir_best_response_solve(context, test_problem_view(&made), TOLERANCE, LIMIT,
                                                         1, &radius, &attack));
            expected = i == 0 ? attack.lambda : expected;
            assert_close(attack.lambda / test_reward_sizes[i] / expected, 1, 1e-11);
            nadir_candidate_clear(context, &attack);
            test_problem_clear(&made);
        }
    }
}

static void test_scarce_memory(void **state)
{
    (void)state;
    test_scarce scarce;
    nadir_context *context = test_scarce_context(&scarce);
    test_problem made = golden_problem(context, 0, 3, NULL);
    const nadir_problem *problem = test_problem_view(&made);
    const double radii[2] = {0.1, 0.2};
    nadir_candidate attacks[2] = {{0}};
    nadir_status status = NADIR_ERROR_MEMORY;
    while (test_scarce_again(&scarce, status)) {
        status = nadir_best_response_solve(context, problem, TOLERANCE, LIMIT, 2, radii, attacks);
        assert_true(status == NADIR_OK || attacks[0].kernel == NULL);
    }
    assert_true(scarce.tries > 10);
    nadir_candidate_clear(context, &attacks[0]);
    nadir_candidate_clear(context, &attacks[1]);
    test_problem_clear(&made);
    test_scarce_end(&scarce, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_golden_values),    test_with_context(test_spectral_value),
        test_with_context(test_tiny_problems),    test_with_context(test_limits),
        test_with_context(test_not_below_strike), test_with_context(test_many_radii),
        test_with_context(test_krylov),           test_with_context(test_breakdown_and_limit),
        test_with_context(test_degenerate),       test_with_context(test_scaled_rewards),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
