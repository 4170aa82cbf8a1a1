/*
 * Robust evaluation against brute force on tiny models of every shape: no kernel that anybody finds may be
 * below the lower bound, and the kernel reported must be one of the set, with the return reported.
 */
#include "support/support.h"

#include "support/miniature.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>

#define SEED test_attack_seed(31415)

static const double norms[] = {1, 1.5, 2, 3, INFINITY};
enum { NORMS = sizeof norms / sizeof *norms };

/* One tiny model with one set, and what was asked. */
typedef struct fight {
    nadir_context *context;
    nadir_random *random;
    test_miniature tiny;
    nadir_solver *solver;
    nadir_ball ball;
    double *radii; /* [rows] of the ball */
    nadir_robust_settings settings;
    int64_t compared; /* sets where the search need not be exact, */
    int64_t missed;   /* and where the oracle found worse */
} fight;

/* Where the value is the worst there is by theory, whether or not it is proven. */
static bool is_exact(const nadir_ball *ball)
{
    if (ball->domain == NADIR_DOMAIN_FREE) {
        return ball->set == NADIR_SET_NONRECT && (ball->norm == 1 || ball->norm == 2);
    }
    return ball->set != NADIR_SET_NONRECT || isinf(ball->norm);
}

/* Where it is the fixed point of an operator that flips no signs, though the adversary may. */
static bool is_bellman(const nadir_ball *ball)
{
    return ball->domain == NADIR_DOMAIN_FREE && (ball->set != NADIR_SET_NONRECT || isinf(ball->norm));
}

/* A share of the breakdown radius where there is one. */
static double draw_size(fight *made)
{
    static const double shares[] = {0.05, 0.3, 0.7, 0.9};
    static const double radii[] = {0.01, 0.1, 0.4, 1.5};
    const uint64_t which = nadir_random_below(made->random, 4);
    if (made->ball.domain != NADIR_DOMAIN_FREE) {
        return radii[which];
    }
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_STRICT;
    const double small = 1e-7;
    made->ball.radius = &small;
    made->ball.radius_count = 1;
    const nadir_robust result = test_robust(made->context, made->solver, &made->ball, &settings, NULL);
    assert_that(!(result.breakdown_radius <= 0), "the breakdown radius is %g", result.breakdown_radius);
    return fmin(1, result.breakdown_radius) * shares[which];
}

static fight fight_make(nadir_context *context, nadir_random *random, nadir_set set, nadir_domain domain,
                        double norm)
{
    fight made = {.context = context, .random = random};
    made.tiny = test_miniature_make(context, random, 5);
    made.solver = test_solver(context, made.tiny.model, made.tiny.policy);
    made.radii = test_new(64, sizeof *made.radii);
    made.ball = test_ball(set, domain, norm, made.radii, NULL);
    test_note("seed %d, %s; %s", SEED, made.tiny.name, test_ball_name(&made.ball));
    test_draw_radii(made.random, made.tiny.model, draw_size(&made), &made.ball, made.radii);
    test_note("seed %d, %s; %s", SEED, made.tiny.name, test_ball_name(&made.ball));
    nadir_robust_settings_default(&made.settings);
    made.settings.time_limit = 0;
    made.settings.certify = nadir_random_below(random, 2) == 0 ? NADIR_CERTIFY_AUTO : NADIR_CERTIFY_STRICT;
    return made;
}

static void fight_clear(fight *made)
{
    nadir_solver_free(made->solver);
    test_miniature_clear(&made->tiny);
    free(made->radii);
}

/* The kernel reported lies in the set and has the return reported. */
static void check_attained(const fight *made, const test_oracle *oracle, const nadir_worst *worst,
                           const nadir_robust *result)
{
    const double scale = test_robust_scale(made->tiny.model, result);
    double *kernel = test_worst_kernel(made->context, made->tiny.model, worst);
    const double excess = test_oracle_excess(oracle, kernel);
    assert_that(excess <= 1e-10, "the worst kernel is outside of the set by %g", excess);
    const double found = test_oracle_return(oracle, kernel, NULL);
    assert_that(fabs(found - result->robust_return) <= 1e-9 * scale,
                "the worst kernel has the return %.15g, said is %.15g", found, result->robust_return);
    double minimum = INFINITY;
    for (int64_t i = 0; i < oracle->rows * oracle->states; i++) {
        minimum = fmin(minimum, kernel[i]);
    }
    assert_close(result->kernel_minimum, minimum, 1e-12);
    assert_int_equal(result->kernel_valid, result->kernel_minimum >= 0);
    free(kernel);
}

/* Random kernels and the search of the oracle stay above the lower bound; returns the lowest found. */
static double check_bounds(const fight *made, const test_oracle *oracle, const nadir_robust *result)
{
    const double slack = 1e-11 * test_robust_scale(made->tiny.model, result);
    double *kernel = test_new(oracle->rows * oracle->states, sizeof *kernel);
    double lowest = test_oracle_worst(oracle, made->random, 3, kernel);
    for (int i = 0; i < 100; i++) {
        test_oracle_random(oracle, made->random, kernel);
        const double found = test_oracle_return(oracle, kernel, NULL);
        assert_that(!isnan(found), "a kernel of the ball is past breakdown");
        lowest = fmin(lowest, found);
    }
    assert_that(lowest >= result->lower_bound - slack, "%.15g is below the lower bound %.15g (%s, %s)",
                lowest, result->lower_bound, result->certificate, result->bound != NULL ? result->bound : "");
    free(kernel);
    return lowest;
}

static void fight_one(fight *made)
{
    nadir_worst *worst = NULL;
    const nadir_robust result =
        test_robust(made->context, made->solver, &made->ball, &made->settings, &worst);
    assert_non_null(worst);
    test_oracle oracle = test_oracle_make(made->tiny.model, made->tiny.policy, &made->ball);
    const double scale = test_robust_scale(made->tiny.model, &result);
    const double nominal = test_oracle_return(&oracle, oracle.nominal, NULL);
    assert_that(fabs(result.nominal_return - nominal) <= 1e-11 * scale,
                "the nominal return is %.15g, not %.15g", nominal, result.nominal_return);
    check_attained(made, &oracle, worst, &result);
    const double lowest = check_bounds(made, &oracle, &result);
    const bool above = result.robust_return > lowest + 1e-7 * (nominal - lowest) + 1e-10 * scale;
    if (is_exact(&made->ball)) {
        assert_that(!above, "%.15g is found, but %.15g is attained; nominal is %.15g", result.robust_return,
                    lowest, nominal);
    } else if (!is_bellman(&made->ball)) {
        made->compared++;
        made->missed += above;
        if (above) {
            print_message("missed: %s; %s: %.12g, but %.12g is attained\n", made->tiny.name,
                          test_ball_name(&made->ball), result.robust_return, lowest);
        }
    }
    nadir_worst_free(worst);
    test_oracle_clear(&oracle);
}

/* The best case for rewards R is the worst for -R. */
static void check_mirror(const fight *made)
{
    nadir_robust_settings settings = made->settings;
    nadir_model *negated = test_model_rewarded(made->context, made->tiny.model, -1, 0);
    nadir_solver *solver = test_solver(made->context, negated, made->tiny.policy);
    settings.optimistic = true;
    const nadir_robust best = test_robust(made->context, made->solver, &made->ball, &settings, NULL);
    settings.optimistic = false;
    const nadir_robust worst = test_robust(made->context, solver, &made->ball, &settings, NULL);
    const double scale = test_robust_scale(made->tiny.model, &best);
    assert_that(fabs(best.robust_return + worst.robust_return) <= 1e-10 * scale,
                "best %.15g, worst of -R %.15g", best.robust_return, worst.robust_return);
    assert_that(fabs(best.lower_bound + worst.upper_bound) <= 1e-10 * scale, "bounds %.15g and %.15g",
                best.lower_bound, worst.upper_bound);
    assert_that(best.certified == worst.certified, "only one is certified");
    assert_that(fabs(best.penalty + worst.penalty) <= 1e-10 * scale, "penalties %.15g and %.15g",
                best.penalty, worst.penalty);
    nadir_solver_free(solver);
    nadir_model_free(negated);
}

/* `rounds` tiny models for each norm, a few under memcheck. Where the search need not be exact it may miss
 * the worst, seldom. */
static void fight_all(nadir_set set, nadir_domain domain, int rounds)
{
    nadir_context *context = test_context();
    nadir_random random = test_random((uint64_t)SEED + 10 * (uint64_t)set + (uint64_t)domain);
    int64_t compared = 0;
    int64_t missed = 0;
    rounds = test_memcheck() ? 1 : test_attack_count(rounds);
    for (int i = 0; i < rounds * NORMS; i++) {
        fight made = fight_make(context, &random, set, domain, norms[i % NORMS]);
        fight_one(&made);
        if (i / NORMS % 4 == 0) {
            check_mirror(&made);
        }
        compared += made.compared;
        missed += made.missed;
        fight_clear(&made);
    }
    test_note_clear();
    print_message("%s, %s: %d problems, %d of %d searches that may miss the worst did\n", nadir_set_name(set),
                  nadir_domain_name(domain), rounds * NORMS, (int)missed, (int)compared);
    assert_that(20 * missed <= compared, "the worst kernel was missed %d times of %d", (int)missed,
                (int)compared);
    nadir_context_free(context);
}

static void test_nonrect_free(void **state)
{
    (void)state;
    fight_all(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 24);
}

static void test_nonrect_simplex(void **state)
{
    (void)state;
    fight_all(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 24);
}

static void test_nonrect_support(void **state)
{
    (void)state;
    fight_all(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 24);
}

static void test_rectangular_free(void **state)
{
    (void)state;
    fight_all(NADIR_SET_S, NADIR_DOMAIN_FREE, 16);
    fight_all(NADIR_SET_SA, NADIR_DOMAIN_FREE, 16);
}

static void test_rectangular_simplex(void **state)
{
    (void)state;
    fight_all(NADIR_SET_S, NADIR_DOMAIN_SIMPLEX, 16);
    fight_all(NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, 16);
}

static void test_rectangular_support(void **state)
{
    (void)state;
    fight_all(NADIR_SET_S, NADIR_DOMAIN_SUPPORT, 16);
    fight_all(NADIR_SET_SA, NADIR_DOMAIN_SUPPORT, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nonrect_free),        cmocka_unit_test(test_nonrect_simplex),
        cmocka_unit_test(test_nonrect_support),     cmocka_unit_test(test_rectangular_free),
        cmocka_unit_test(test_rectangular_simplex), cmocka_unit_test(test_rectangular_support),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
