/*
 * test_box_attack.c: balls within a box. Kernels that random steps find are never below the lower bound, the worst
 * kernel lies in the ball and in the box and has the return that is said, and no return is below those of the ball and of
 * the box alone.
 */
#include "support/support.h"

#include "support/box.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/valid.h"

#include "search/frank_wolfe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED test_attack_seed(90210)

enum { INSTANCES = 2000 };

static const double norms[] = {1, 1.5, 2, 2, 2, 3, INFINITY};
static const double radii[] = {0.01, 0.05, 0.2, 0.6, 2};

typedef struct fight {
    nadir_context *context;
    nadir_random *random;
    test_box box;
    nadir_ball ball;
    double radius;
} fight;

static double distance(const fight *made, int64_t first, int64_t end, const double *kernel)
{
    const double p = made->ball.norm;
    const int64_t n = made->box.states;
    double sum = 0;
    for (int64_t i = first * n; i < end * n; i++) {
        const double change = fabs(kernel[i] - made->box.nominal[i]);
        sum = isinf(p) ? fmax(sum, change) : sum + pow(change, p);
    }
    return isinf(p) ? sum : pow(sum, 1 / p);
}

/* Rows first .. end - 1 are moved towards the nominal ones until they lie within the radius. */
static void shrink(const fight *made, int64_t first, int64_t end, double *kernel)
{
    const double far = distance(made, first, end, kernel);
    const double share = far > made->radius ? made->radius / far : 1;
    for (int64_t i = first * made->box.states; i < end * made->box.states; i++) {
        kernel[i] = made->box.nominal[i] + share * (kernel[i] - made->box.nominal[i]);
    }
}

static void pull_back(const fight *made, double *kernel)
{
    const int64_t actions = made->box.actions;
    const int64_t step = isinf(made->ball.norm) || made->ball.set == NADIR_SET_SA ? 1
                         : made->ball.set == NADIR_SET_S                          ? actions
                                                                                  : made->box.rows;
    for (int64_t row = 0; row < made->box.rows; row += step) {
        shrink(made, row, row + step, kernel);
    }
}

/* The least return of random kernels of the set, and of random steps from the worst kernel that was found. */
static double attack(const fight *made, const double *worst)
{
    const test_box *box = &made->box;
    const int64_t size = box->rows * box->states;
    double *best = test_new(size, sizeof *best);
    double *kernel = test_new(size, sizeof *kernel);
    memcpy(best, worst, (size_t)size * sizeof *best);
    double lowest = INFINITY;
    for (int i = 0; i < 60; i++) {
        const double length = i < 20 ? 1 : pow(10, -4 * nadir_random_uniform(made->random));
        for (int64_t row = 0; row < box->rows; row++) {
            for (int64_t t = 0; t < box->states; t++) {
                const double from =
                    i < 20 ? box->nominal[row * box->states + t] : best[row * box->states + t];
                kernel[row * box->states + t] = from + length * (2 * nadir_random_uniform(made->random) - 1);
            }
            test_box_project(box, row, kernel + row * box->states);
        }
        pull_back(made, kernel);
        const double found = test_box_return(box, kernel);
        if (found < lowest) {
            lowest = found;
            memcpy(best, kernel, (size_t)size * sizeof *best);
        }
    }
    free(best);
    free(kernel);
    return lowest;
}

static void check_kernel(const fight *made, const double *kernel, const nadir_robust *result)
{
    const test_box *box = &made->box;
    for (int64_t i = 0; i < box->rows * box->states; i++) {
        assert_that(kernel[i] >= box->lower[i] - 1e-12 && kernel[i] <= box->upper[i] + 1e-12,
                    "entry %lld of the worst kernel is %.17g, outside of [%.17g, %.17g]", (long long)i,
                    kernel[i], box->lower[i], box->upper[i]);
    }
    double *pulled = test_new(box->rows * box->states, sizeof *pulled);
    memcpy(pulled, kernel, (size_t)(box->rows * box->states) * sizeof *pulled);
    pull_back(made, pulled);
    for (int64_t i = 0; i < box->rows * box->states; i++) {
        assert_that(fabs(pulled[i] - kernel[i]) <= 1e-10, "the worst kernel lies outside of the ball");
    }
    free(pulled);
    assert_close(test_box_return(box, kernel), result->robust_return, 1e-9);
}

/* The ball on domain support, and the box alone. */
static nadir_robust of_part(const fight *made, nadir_solver *solver, bool ball)
{
    static const double all = INFINITY;
    nadir_ball part = made->ball;
    part.domain = ball ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_BOX;
    part.radius = ball ? &made->radius : &all;
    bool stopped;
    return test_robust_limited(made->context, solver, &part, NULL, NULL, &stopped);
}

static void fight_one(fight *made, int instance, int64_t *certified)
{
    nadir_worst *worst = NULL;
    bool stopped;
    nadir_robust_settings settings;
    nadir_robust_settings_default(&settings);
    settings.certify = instance % 4 == 0 ? NADIR_CERTIFY_STRICT : NADIR_CERTIFY_AUTO;
    settings.time_limit = 0;
    nadir_solver *solver = test_solver(made->context, made->box.model, made->box.policy);
    test_note("seed %d, instance %d: %s", SEED, instance, test_ball_name(&made->ball));
    const nadir_robust result =
        test_robust_limited(made->context, solver, &made->ball, &settings, &worst, &stopped);
    double *kernel = test_worst_kernel(made->context, made->box.model, worst);
    check_kernel(made, kernel, &result);
    const double lowest = attack(made, kernel);
    assert_that(lowest >= result.lower_bound - 1e-11, "%.15g is below the lower bound %.15g (%s)", lowest,
                result.lower_bound, result.bound != NULL ? result.bound : "");
    const nadir_robust ball = of_part(made, solver, true);
    const nadir_robust box = of_part(made, solver, false);
    assert_that(result.robust_return >= ball.lower_bound - 1e-10 &&
                    result.robust_return >= box.lower_bound - 1e-10,
                "the return %.15g is below that of the ball, %.15g, or of the box, %.15g",
                result.robust_return, ball.lower_bound, box.lower_bound);
    *certified += result.certified;
    free(kernel);
    nadir_worst_free(worst);
    nadir_solver_free(solver);
}

static void test_attacks(void **state)
{
    nadir_random random = test_random((uint64_t)SEED);
    int64_t certified = 0;
    const int count = test_attack_count(INSTANCES);
    for (int i = 0; i < count; i++) {
        fight made = {.context = *state, .random = &random, .box = test_box_make(*state, &random, false)};
        made.radius = radii[nadir_random_below(&random, sizeof radii / sizeof *radii)];
        nadir_ball_default(&made.ball);
        made.ball.norm = norms[nadir_random_below(&random, sizeof norms / sizeof *norms)];
        made.ball.set = (nadir_set)(NADIR_SET_NONRECT + (int)nadir_random_below(&random, 3));
        made.ball.radius = &made.radius;
        made.ball.radius_count = 1;
        made.ball.domain = NADIR_DOMAIN_BOX;
        fight_one(&made, i, &certified);
        test_box_clear(&made.box);
    }
    assert_that(certified >= count * 8 / 10, "%lld of %d are certified", (long long)certified, count);
}

/* Proofs around kernels that are not the worst, with multipliers that are not theirs. */
static void test_false_optima(void **state)
{
    enum { STARTS = 6 };
    nadir_random random = test_random((uint64_t)SEED + 1);
    int informative = 0;
    const int count = test_attack_count(400);
    for (int i = 0; i < count; i++) {
        test_box box = test_box_make(*state, &random, false);
        const double radius = radii[nadir_random_below(&random, sizeof radii / sizeof *radii)];
        const double p = i % 4 == 3 ? norms[nadir_random_below(&random, 6)] : 2;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_BOX, p, &radius, NULL);
        test_problem made =
            test_problem_make(*state, nadir_model_retain(box.model), box.policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attacks[STARTS] = {{0}};
        double lowest = INFINITY;
        test_note("seed %d, instance %d: p %g, radius %g", SEED, i, p, radius);
        attacks[0] = test_descend(*state, problem, radius);
        for (int k = 0; k < STARTS; k++) {
            if (k > 0) {
                assert_ok(*state,
                          nadir_frank_wolfe_run(*state, problem, radius, NULL, 1e-12, k, &attacks[k]));
                attacks[k].tau *= k % 2 == 0 ? exp(nadir_random_normal(&random)) : 1;
            }
            lowest = fmin(lowest, attacks[k].J);
        }
        for (int k = 0; k < STARTS; k++) {
            nadir_certificate proof = test_prove(*state, problem, radius, &attacks[k],
                                                 k % 2 == 0 ? NADIR_CERTIFY_STRICT : NADIR_CERTIFY_AUTO);
            assert_that(proof.lower <= lowest + 1e-12, "start %d: %.17g is below the lower bound %.17g", k,
                        lowest, proof.lower);
            informative += proof.lower > lowest - 1e-3 * (problem->J - lowest);
            nadir_certificate_clear(*state, &proof);
        }
        for (int k = 0; k < STARTS; k++) {
            nadir_candidate_clear(*state, &attacks[k]);
        }
        box.policy = NULL; /* the problem's */
        test_problem_clear(&made);
        test_box_clear(&box);
    }
    assert_that(informative >= count, "%d bounds of %d are close", informative, STARTS * count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(test_attacks), test_with_context(test_false_optima)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
