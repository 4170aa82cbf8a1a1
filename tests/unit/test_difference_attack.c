/*
 * The worst case of the difference of two policies against brute force on tiny models of every shape: no
 * kernel that anybody finds may be below the lower bound, and the kernel reported must be one of the set,
 * with the difference reported.
 */
#include "support/support.h"

#include "support/families.h"
#include "support/miniature.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef ROUNDS
#define ROUNDS 3
#endif
#define SEED test_attack_seed(27182)

static const double norms[] = {1, 1.5, 2, 2, 3, INFINITY};
enum { NORMS = sizeof norms / sizeof *norms };

/* One tiny model with two policies and one set. */
typedef struct fight {
    nadir_context *context;
    nadir_random *random;
    test_miniature tiny;
    nadir_policy *other;
    nadir_solver *solver[2];
    nadir_ball ball;
    double radii[64];
    test_oracle oracle[2];
} fight;

/* What all fights of a kind have seen. */
typedef struct tally {
    int64_t fights, refused, certified, missed, tighter;
    int64_t first, second;
} tally;

/* The second policy is drawn anew, or differs from the first in few states. */
static nadir_policy *draw_other(nadir_context *context, const test_miniature *tiny, nadir_random *random)
{
    if (nadir_random_below(random, 3) > 0) {
        return test_policy(context, tiny->model, (test_choice)nadir_random_below(random, TEST_CHOICES),
                           random);
    }
    return test_policy_same_support(context, tiny->model, tiny->policy, random);
}

static double breakdown_of(const fight *made, int i)
{
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_STRICT;
    const double small = 1e-7;
    nadir_ball ball = made->ball;
    ball.radius = &small;
    ball.radius_count = 1;
    return test_robust(made->context, made->solver[i], &ball, &settings, NULL).breakdown_radius;
}

/* A share of the breakdown radius where there is one. */
static double draw_size(const fight *made)
{
    static const double shares[] = {0.01, 0.1, 0.4, 0.9};
    static const double radii[] = {0.003, 0.03, 0.2, 1.5};
    const uint64_t which = nadir_random_below(made->random, 4);
    if (made->ball.domain != NADIR_DOMAIN_FREE) {
        return radii[which];
    }
    return shares[which] * fmin(1, fmin(breakdown_of(made, 0), breakdown_of(made, 1)));
}

static void fight_make(fight *made, nadir_set set, nadir_domain domain, double norm)
{
    made->tiny = test_miniature_make(made->context, made->random, 5);
    made->other = draw_other(made->context, &made->tiny, made->random);
    made->solver[0] = test_solver(made->context, made->tiny.model, made->tiny.policy);
    made->solver[1] = test_solver(made->context, made->tiny.model, made->other);
    made->ball = test_ball(set, domain, norm, made->radii, NULL);
    test_draw_radii(made->random, made->tiny.model, draw_size(made), &made->ball, made->radii);
    test_note("seed %d, %s; %s", SEED, made->tiny.name, test_ball_name(&made->ball));
    made->oracle[0] = test_oracle_make(made->tiny.model, made->tiny.policy, &made->ball);
    made->oracle[1] = test_oracle_make(made->tiny.model, made->other, &made->ball);
    made->oracle[0].less = &made->oracle[1];
}

static void fight_clear(fight *made)
{
    test_oracle_clear(&made->oracle[0]);
    test_oracle_clear(&made->oracle[1]);
    nadir_solver_free(made->solver[0]);
    nadir_solver_free(made->solver[1]);
    nadir_policy_free(made->other);
    test_miniature_clear(&made->tiny);
}

/* What rounding is measured against. */
static double scale_of(const fight *made)
{
    double largest = 0;
    for (int64_t row = 0; row < made->oracle[0].rows; row++) {
        largest = fmax(largest, fabs(made->oracle[0].rewards[row]));
    }
    return largest / (1 - made->oracle[0].gamma);
}

static void check_attained(const fight *made, const nadir_worst *worst, const nadir_difference *result)
{
    const double scale = fmax(scale_of(made), fabs(result->worst));
    double *kernel = test_worst_kernel(made->context, made->tiny.model, worst);
    const double excess = test_oracle_excess(&made->oracle[0], kernel);
    assert_that(excess <= 1e-10, "the worst kernel is outside of the set by %g", excess);
    const double found = test_oracle_return(&made->oracle[0], kernel, NULL);
    assert_that(fabs(found - result->worst) <= 1e-9 * scale,
                "the worst kernel has the difference %.15g, said is %.15g", found, result->worst);
    assert_that(result->lower_bound <= result->worst && result->worst <= result->upper_bound,
                "%.17g is not between its bounds %.17g and %.17g", result->worst, result->lower_bound,
                result->upper_bound);
    assert_that(result->upper_bound - result->worst <= 1e-8 * scale, "the upper bound is %g above",
                result->upper_bound - result->worst);
    assert_that(found <= result->upper_bound + 1e-13 * scale, "%.17g is above the upper bound %.17g", found,
                result->upper_bound);
    free(kernel);
}

/* Random kernels, mixtures of them with the best so far, and the search of the oracle. */
static double attack(const fight *made)
{
    const test_oracle *oracle = &made->oracle[0];
    const int64_t entries = oracle->rows * oracle->states;
    double *best = test_new(entries, sizeof *best);
    double *kernel = test_new(entries, sizeof *kernel);
    double lowest = test_oracle_worst(oracle, made->random, 3, best);
    for (int i = 0; i < 60; i++) {
        test_oracle_random(oracle, made->random, kernel);
        const double share = i % 2 == 0 ? 1 : pow(nadir_random_uniform(made->random), 3);
        for (int64_t j = 0; j < entries; j++) {
            kernel[j] = best[j] + share * (kernel[j] - best[j]);
        }
        const double found = test_oracle_return(oracle, kernel, NULL);
        assert_that(!isnan(found), "a kernel of the ball is past breakdown");
        if (found < lowest) {
            lowest = found;
            memcpy(best, kernel, (size_t)entries * sizeof *best);
        }
    }
    free(best);
    free(kernel);
    return lowest;
}

static void fight_one(fight *made, tally *seen)
{
    nadir_worst *worst = NULL;
    nadir_difference result = {.size = sizeof result};
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = nadir_random_below(made->random, 2) == 0 ? NADIR_CERTIFY_AUTO : NADIR_CERTIFY_STRICT;
    const nadir_status status = nadir_solver_difference(made->context, made->solver[0], made->solver[1],
                                                        &made->ball, &settings, &result, &worst);
    seen->fights++;
    if (made->ball.domain == NADIR_DOMAIN_FREE &&
        (status == NADIR_ERROR_UNSUPPORTED || status == NADIR_ERROR_ILL_POSED)) {
        seen->refused++;
        return;
    }
    assert_ok(made->context, status);
    const double scale = fmax(scale_of(made), fabs(result.worst));
    const double nominal = test_oracle_return(&made->oracle[0], made->oracle[0].nominal, NULL);
    assert_that(fabs(result.nominal - nominal) <= 1e-11 * scale, "nominal is %.15g, not %.15g", nominal,
                result.nominal);
    check_attained(made, worst, &result);
    const double lowest = attack(made);
    assert_that(lowest >= result.lower_bound - 1e-11 * scale,
                "%.15g is below the lower bound %.15g (%s, %s, kappa %g)", lowest, result.lower_bound,
                result.certificate, result.bound, result.kappa);
    assert_that(result.decoupled_bound <= result.lower_bound, "the decoupled bound %.15g is above %.15g",
                result.decoupled_bound, result.lower_bound);
    seen->certified += result.certified;
    seen->tighter += result.lower_bound > result.decoupled_bound;
    seen->first += strcmp(result.bound, "first-order") == 0;
    seen->second += strcmp(result.bound, "second-order") == 0;
    if (result.worst > lowest + 1e-6 * (nominal - lowest) + 1e-9 * scale) {
        seen->missed++;
        print_message("missed: %s; %s: %.12g, but %.12g is attained\n", made->tiny.name,
                      test_ball_name(&made->ball), result.worst, lowest);
    }
    nadir_worst_free(worst);
}

static void check_tally(const tally *seen)
{
    assert_that(10 * seen->missed <= seen->fights, "the worst kernel was missed %d times of %d",
                (int)seen->missed, (int)seen->fights);
    assert_that(seen->tighter * 5 >= seen->fights - seen->refused,
                "only %d of %d bounds are better than apart", (int)seen->tighter, (int)seen->fights);
}

static void fight_all(nadir_set set, nadir_domain domain, int rounds)
{
    nadir_context *context = test_context();
    tally seen = {0};
    nadir_random random = test_random((uint64_t)SEED + 10 * (uint64_t)set + (uint64_t)domain);
    for (int i = 0; i < (test_memcheck() ? 2 : test_attack_count(rounds * NORMS)); i++) {
        fight made = {.context = context, .random = &random};
        fight_make(&made, set, domain, norms[i % NORMS]);
        fight_one(&made, &seen);
        fight_clear(&made);
    }
    test_note_clear();
    print_message("%s, %s: %d fights, %d refused, %d certified, %d first-order, %d second-order, %d missed\n",
                  nadir_set_name(set), nadir_domain_name(domain), (int)seen.fights, (int)seen.refused,
                  (int)seen.certified, (int)seen.first, (int)seen.second, (int)seen.missed);
    if (seen.fights >= 10) { /* two fights are no sample */
        check_tally(&seen);
    }
    nadir_context_free(context);
}

static void test_nonrect(void **state)
{
    (void)state;
    fight_all(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, ROUNDS);
    fight_all(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, ROUNDS);
    fight_all(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, ROUNDS);
}

static void test_s(void **state)
{
    (void)state;
    fight_all(NADIR_SET_S, NADIR_DOMAIN_SIMPLEX, (ROUNDS + 1) / 2);
    fight_all(NADIR_SET_S, NADIR_DOMAIN_SUPPORT, (ROUNDS + 1) / 2);
    fight_all(NADIR_SET_S, NADIR_DOMAIN_FREE, (ROUNDS + 1) / 2);
}

static void test_sa(void **state)
{
    (void)state;
    fight_all(NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, (ROUNDS + 1) / 2);
    fight_all(NADIR_SET_SA, NADIR_DOMAIN_SUPPORT, (ROUNDS + 1) / 2);
    fight_all(NADIR_SET_SA, NADIR_DOMAIN_FREE, (ROUNDS + 1) / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nonrect),
        cmocka_unit_test(test_s),
        cmocka_unit_test(test_sa),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
