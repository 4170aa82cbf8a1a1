/*
 * Certified bounds, attacked: over tiny models of every shape, each set, domain and norm, kernels of the set
 * are looked for that cost more than the bound allows, at random, by the gradient, entry by entry and by a
 * general-purpose optimiser, from random kernels and from the worst one that was reported. There is none.
 *
 * NADIR_ATTACKS=100 attacks a hundred times as many problems: 9000, one of each of the 45 kinds of ball after
 * another.
 */
#include "support/support.h"

#include "support/kernel_descent.h"
#include "support/miniature.h"
#include "support/reference.h"
#include "support/robust.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED test_attack_seed(57721)

static const double norms[] = {1, 1.5, 2, 3, INFINITY};
enum { NORMS = sizeof norms / sizeof *norms, KINDS = 9 * NORMS, STATES = 6 };

typedef struct tally {
    int problems, bounded, certified, optimistic;
    double closest; /* how little a kernel was above a bound, in what rounding may do */
} tally;

/* A share of the breakdown radius where there is one; in one of eight problems next to it. */
static double draw_radius(nadir_context *context, nadir_random *random, nadir_solver *solver, nadir_ball ball)
{
    static const double radii[] = {0.003, 0.03, 0.1, 0.3, 1, 2};
    if (ball.domain != NADIR_DOMAIN_FREE) {
        return radii[nadir_random_below(random, 6)];
    }
    static const double small = 1e-7;
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_STRICT;
    ball.radius = &small;
    const nadir_robust found = test_robust(context, solver, &ball, &settings, NULL);
    const double share = nadir_random_below(random, 8) == 0 ? 0.99 : 0.9 * nadir_random_uniform(random);
    return fmin(2, found.breakdown_radius) * share;
}

/* A kernel that was found, and the lowest one so far. */
static void keep(const test_oracle *oracle, double found, const double *start, double *lowest, double *kernel)
{
    assert_that(!isnan(found), "a kernel of the ball is past breakdown");
    if (found < *lowest) {
        *lowest = found;
        memcpy(kernel, start, (size_t)(oracle->rows * oracle->states) * sizeof *kernel);
    }
}

/* The lowest return that anybody finds. kernel: [rows * states], the worst reported, and then that of it. */
static double attack(const test_oracle *oracle, nadir_random *random, double *kernel)
{
    const int64_t count = oracle->rows * oracle->states;
    double *start = test_new(count, sizeof *start);
    double lowest = test_kernel_descent(oracle, random, kernel);
    for (int i = 0; i < 3; i++) { /* near the worst one, and far from it */
        test_oracle_random(oracle, random, start);
        for (int64_t j = 0; j < count; j++) {
            start[j] = kernel[j] + (i == 0 ? 0.05 : i == 1 ? 0.5 : 1) * (start[j] - kernel[j]);
        }
        test_oracle_pull(oracle, start);
        keep(oracle, test_kernel_descent(oracle, random, start), start, &lowest, kernel);
    }
    for (int i = 0; i < 40; i++) {
        test_oracle_random(oracle, random, start);
        keep(oracle, test_oracle_return(oracle, start, NULL), start, &lowest, kernel);
    }
    test_kernel_descent_count += 40;
    keep(oracle, test_oracle_worst(oracle, random, 1, start), start, &lowest, kernel);
    free(start);
    return lowest;
}

/* What a kernel of doubles can be outside of its set by: a rounding of each entry, at what that is worth. */
static double rounding_of(const test_oracle *oracle, const double *kernel)
{
    const int64_t count = oracle->rows * oracle->states;
    double *gradient = test_new(count, sizeof *gradient);
    double sum = 0;
    (void)test_oracle_gradient(oracle, kernel, gradient);
    for (int64_t i = 0; i < count; i++) {
        sum += fabs(gradient[i]);
    }
    free(gradient);
    return 2 * DBL_EPSILON * sum;
}

/* The best case for rewards R is the worst for -R. */
static void mirror(test_oracle *oracle)
{
    for (int64_t row = 0; row < oracle->rows; row++) {
        oracle->rewards[row] = -oracle->rewards[row];
    }
}

static void fight(nadir_context *context, nadir_random *random, int number, tally *sums)
{
    const int kind = number % KINDS;
    double radius = 0;
    const nadir_ball ball = test_ball((nadir_set)(kind % 3 + 1), (nadir_domain)(kind / 3 % 3 + 1),
                                      norms[kind / 9], &radius, NULL);
    nadir_worst *worst = NULL;
    test_miniature tiny = test_miniature_make(context, random, STATES);
    nadir_solver *solver = test_solver(context, tiny.model, tiny.policy);
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = nadir_random_below(random, 2) == 0 ? NADIR_CERTIFY_AUTO : NADIR_CERTIFY_STRICT;
    settings.optimistic = nadir_random_below(random, 4) == 0;
    test_note("seed %d, problem %d, %s", SEED, number, tiny.name);
    radius = draw_radius(context, random, solver, ball);
    test_note("seed %d, problem %d, %s; %s", SEED, number, tiny.name, test_ball_name(&ball));
    const nadir_robust result = test_robust(context, solver, &ball, &settings, &worst);
    test_oracle oracle = test_oracle_make(tiny.model, tiny.policy, &ball);
    double *kernel = test_worst_kernel(context, tiny.model, worst);
    const double bound = settings.optimistic ? -result.upper_bound : result.lower_bound;
    const double scale = test_robust_scale(tiny.model, &result);
    if (settings.optimistic) {
        mirror(&oracle);
    }
    const double lowest = attack(&oracle, random, kernel);
    const double above = (lowest - bound) / (1e-13 * scale + rounding_of(&oracle, kernel));
    assert_that(above >= -1, "a kernel returns %.17g; the bound is %.17g (%s, %s): %g roundings above",
                lowest, bound, result.certificate, result.bound != NULL ? result.bound : "", above);
    sums->problems++;
    sums->bounded += isfinite(bound);
    sums->certified += result.certified;
    sums->optimistic += settings.optimistic;
    sums->closest = fmin(sums->closest, above);
    free(kernel);
    test_oracle_clear(&oracle);
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    test_miniature_clear(&tiny);
}

static void no_kernel_is_below_the_bound(void **state)
{
    nadir_context *context = *state;
    nadir_random random;
    tally sums = {.closest = INFINITY};
    const int problems = test_attack_count(2 * KINDS);
    for (int i = 0; i < problems; i++) {
        nadir_random_seed(&random, (uint64_t)SEED + (uint64_t)i); /* so that each can be had by itself */
        fight(context, &random, i, &sums);
    }
    test_note_clear();
    print_message("%d problems attacked, %d of them the best case; %d have a bound, %d are certified; %lld "
                  "kernels, none past a bound; the closest is %.2g roundings above one\n",
                  sums.problems, sums.optimistic, sums.bounded, sums.certified,
                  (long long)test_kernel_descent_count, sums.closest);
    assert_true(5 * sums.bounded >= 3 * sums.problems && 3 * sums.certified >= sums.problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(no_kernel_is_below_the_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
