/*
 * Rewards paid on landing against the transition model (support/landing.h), which has a state for each
 * transition and pays there: its ball of the domain support with rewards for each row is the same set of
 * returns. Random models, policies, sets, norms, worst and best case: what is found agrees, and no bound of one
 * excludes what the other attains.
 */
#include "support/support.h"

#include "model/landing.h"
#include "support/landing.h"
#include "support/miniature.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 141421

static const double norms[] = {1, 2, 3, INFINITY};
static const double sizes[] = {0.01, 0.1, 0.4, 1.5};
enum { NORMS = sizeof norms / sizeof *norms, MOST_ROWS = 64 };

typedef struct tally {
    int problems, both, missed, general;
    double apart; /* the largest relative difference of two certified values */
} tally;

/* The worst case, with everything turned around for the best. */
typedef struct answer {
    double found, bound;
    bool certified;
} answer;

static answer ask(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                  const nadir_ball *ball, const nadir_robust_settings *settings)
{
    nadir_solver *solver = test_solver(context, model, policy);
    bool stopped;
    const nadir_robust result = test_robust_limited(context, solver, ball, settings, NULL, &stopped);
    nadir_solver_free(solver);
    return settings->optimistic ? (answer){-result.robust_return, -result.upper_bound, result.certified}
                                : (answer){result.robust_return, result.lower_bound, result.certified};
}

static double scale_of(const test_landing *draft, double size, double found)
{
    double largest = fmax(1e-3 * size, fabs(found));
    for (int64_t i = 0; i < draft->rows * draft->states; i++) {
        largest = draft->kernel[i] > 0 ? fmax(largest, fabs(draft->paid[i])) : largest;
    }
    return largest;
}

static void compare(nadir_context *context, test_rewards kind, nadir_set set, int number, tally *sums)
{
    nadir_random random = test_random(SEED + (uint64_t)number);
    test_landing_random drawn = test_landing_draw(context, &random, 5, kind);
    double radii[MOST_ROWS];
    nadir_ball ball = test_ball(set, NADIR_DOMAIN_SUPPORT, norms[number % NORMS], radii, NULL);
    nadir_robust_settings settings = test_robust_settings();
    settings.optimistic = number / NORMS % 3 == 2;
    settings.certify = number / NORMS % 2 == 0 ? NADIR_CERTIFY_AUTO : NADIR_CERTIFY_STRICT;
    test_draw_radii(&random, drawn.model, sizes[nadir_random_below(&random, 4)], &ball, radii);
    test_note("seed %d, problem %d, %s; %s%s", SEED, number, drawn.name, test_ball_name(&ball),
              settings.optimistic ? ", best case" : "");
    test_transitions other = test_transitions_make(context, drawn.model, drawn.policy, &ball);
    const answer landing = ask(context, drawn.model, drawn.policy, &ball, &settings);
    const answer frozen = ask(context, other.model, other.policy, &other.ball, &settings);
    const double scale = scale_of(&drawn.draft, drawn.size, frozen.found);
    const double apart = fabs(landing.found - frozen.found) / scale;
    assert_that(landing.bound <= frozen.found + 1e-11 * scale, "the bound is %.15g, but %.15g is attained",
                landing.bound, frozen.found);
    assert_that(frozen.bound <= landing.found + 1e-11 * scale,
                "%.15g is found, but nothing is below %.15g on the transition model", landing.found,
                frozen.bound);
    if (landing.certified && frozen.certified) {
        assert_that(apart <= 1e-8, "found %.15g, on the transition model %.15g", landing.found, frozen.found);
        sums->apart = fmax(sums->apart, apart);
        sums->both++;
    }
    if (landing.found > frozen.found + 1e-8 * scale) {
        print_message("missed: problem %d, %s; %s: %.12g, but %.12g is attained\n", number, drawn.name,
                      test_ball_name(&ball), landing.found, frozen.found);
        sums->missed++;
    }
    sums->problems++;
    sums->general += drawn.model->landing.general;
    test_transitions_clear(&other);
    test_landing_random_clear(&drawn);
}

/* `rounds` problems for each norm. */
static void compare_all(nadir_context *context, nadir_set set, bool separable, int rounds)
{
    tally sums = {0};
    for (int i = 0; i < test_attack_count(rounds) * NORMS; i++) {
        const test_rewards kind =
            separable ? TEST_REWARDS_SEPARABLE : (test_rewards)(TEST_REWARDS_NOISY + i / NORMS % 4);
        compare(context, kind, set, i, &sums);
    }
    test_note_clear();
    print_message("%s: %d problems, %d of them with e; %d certified on both models, %.2g apart; %d missed\n",
                  nadir_set_name(set), sums.problems, sums.general, sums.both, sums.apart, sums.missed);
    assert_true(2 * sums.both >= sums.problems);
    assert_that(20 * sums.missed <= sums.problems, "the worst kernel was missed %d times", sums.missed);
    assert_true(separable || 2 * sums.general >= sums.problems);
}

static void test_separable(void **state)
{
    for (nadir_set set = NADIR_SET_NONRECT; set <= NADIR_SET_SA; set++) {
        compare_all(*state, set, true, 15);
    }
}

static void test_nonrect(void **state)
{
    compare_all(*state, NADIR_SET_NONRECT, false, 40);
}

static void test_rectangular(void **state)
{
    compare_all(*state, NADIR_SET_S, false, 30);
    compare_all(*state, NADIR_SET_SA, false, 30);
}

/* The transition model itself: returns of the nominal kernel and of random ones are the same. */
static void test_transition_model(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < 100; i++) {
        nadir_random random = test_random(SEED + (uint64_t)i);
        test_landing_random drawn =
            test_landing_draw(context, &random, 5, (test_rewards)(i % TEST_REWARD_KINDS));
        static const double radius = 0.3;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
        test_note("seed %d, model %d: %s", SEED, i, drawn.name);
        test_transitions other = test_transitions_make(context, drawn.model, drawn.policy, &ball);
        test_oracle landing = test_landing_oracle(&drawn.draft, drawn.model, drawn.policy, &ball, 1);
        test_oracle frozen = test_oracle_make(other.model, other.policy, &other.ball);
        double *kernel = test_new(landing.rows * landing.states, sizeof *kernel);
        for (int j = 0; j < 3; j++) {
            if (j == 0) {
                memcpy(kernel, landing.nominal, (size_t)(landing.rows * landing.states) * sizeof *kernel);
            } else {
                test_oracle_random(&landing, &random, kernel);
            }
            double *same = test_new(frozen.rows * frozen.states, sizeof *same);
            memcpy(same, frozen.nominal, (size_t)(frozen.rows * frozen.states) * sizeof *same);
            int64_t to = landing.states;
            for (int64_t k = 0; k < landing.rows * landing.states; k++) {
                if (landing.nominal[k] > 0) {
                    same[k / landing.states * frozen.states + to++] = kernel[k];
                }
            }
            const double left = test_oracle_return(&landing, kernel, NULL);
            const double right = test_oracle_return(&frozen, same, NULL);
            assert_that(fabs(left - right) <= 1e-13 * drawn.size * 10 / (1 - drawn.draft.discount),
                        "the returns are %.17g and %.17g", left, right);
            assert_true(test_oracle_excess(&frozen, same) <= 1e-12);
            free(same);
        }
        free(kernel);
        test_oracle_clear(&landing);
        test_oracle_clear(&frozen);
        test_transitions_clear(&other);
        test_landing_random_clear(&drawn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_transition_model),
        test_with_context(test_separable),
        test_with_context(test_nonrect),
        test_with_context(test_rectangular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
