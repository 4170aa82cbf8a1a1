/*
 * test_rectangular_optimum.c: the best policy against rectangular sets: brute force over deterministic and
 * search over stochastic policies with the evaluation as oracle, and what is known where everything is
 * degenerate.
 */
#include "support/support.h"

#include "policy/rectangular_optimum.h"
#include "support/generated.h"
#include "support/golden.h"
#include "support/miniature.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/scarce.h"
#include "support/tiny.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const nadir_domain domains[] = {NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT, NADIR_DOMAIN_FREE};
static const nadir_set sets[] = {NADIR_SET_S, NADIR_SET_SA};
static const double norms[] = {1, 1.5, 2, 3, INFINITY};

typedef struct answer {
    nadir_status status;
    nadir_policy *policy;
    double lower; /* proven bound on its worst return */
    nadir_rectangular_optimum_result result;
} answer;

/* The proven lower bound on the worst return of a policy. */
static double bound_below(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                          const nadir_ball *ball)
{
    nadir_robust_settings settings = test_robust_settings();
    settings.tolerance = 1e-14;
    nadir_robust result = {.size = sizeof result};
    nadir_solver *solver = test_solver(context, model, policy);
    assert_ok(context, nadir_solver_robust(context, solver, ball, &settings, &result, NULL));
    nadir_solver_free(solver);
    return result.lower_bound;
}

static answer solve_to(nadir_context *context, nadir_model *model, const nadir_ball *ball, double tolerance,
                       int64_t limit)
{
    answer made = {.lower = -INFINITY};
    const nadir_rectangular_optimum_settings settings = {.tolerance = tolerance, .iterations_limit = limit};
    made.status = nadir_rectangular_optimum(context, model, ball, &settings, &made.policy, &made.result);
    if (made.policy != NULL) {
        made.lower = bound_below(context, model, made.policy, ball);
    }
    return made;
}

static void clear(answer *made)
{
    nadir_policy_free(made->policy);
}

/* The worst return of a policy; NaN where it breaks down. */
static double evaluate(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                       const nadir_ball *ball)
{
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_OFF;
    settings.tolerance = 1e-14;
    nadir_robust result = {.size = sizeof result};
    nadir_solver *solver = test_solver(context, model, policy);
    const nadir_status status = nadir_solver_robust(context, solver, ball, &settings, &result, NULL);
    nadir_solver_free(solver);
    if (status == NADIR_ERROR_ILL_POSED) {
        return NAN;
    }
    assert_ok(context, status);
    return result.robust_return;
}

static double scale_of(const nadir_model *model)
{
    const nadir_model_data view = test_view(model);
    double largest = 0;
    for (int64_t row = 0; row < view.rows; row++) {
        largest = fmax(largest, fabs(view.rewards[row]));
    }
    return fmax(1, largest / (1 - view.discount));
}

/* The best of all deterministic policies. */
static double brute_force(nadir_context *context, nadir_model *model, const nadir_ball *ball)
{
    const nadir_model_data view = test_view(model);
    double *pi = test_new(view.rows, sizeof *pi);
    int64_t *chosen = test_new(view.states, sizeof *chosen);
    double best = -INFINITY;
    for (bool more = true; more;) {
        nadir_policy *policy = NULL;
        memset(pi, 0, (size_t)view.rows * sizeof *pi);
        for (int64_t s = 0; s < view.states; s++) {
            pi[view.state_rows[s] + chosen[s]] = 1;
        }
        assert_ok(context, nadir_policy_create(context, model, pi, &policy));
        best = fmax(best, evaluate(context, model, policy, ball));
        nadir_policy_free(policy);
        more = false;
        for (int64_t s = 0; s < view.states && !more; s++) {
            more = ++chosen[s] < view.state_rows[s + 1] - view.state_rows[s];
            chosen[s] = more ? chosen[s] : 0;
        }
    }
    free(pi);
    free(chosen);
    return best;
}

/* A policy near another, or anywhere. */
static nadir_policy *draw_policy(nadir_context *context, nadir_random *random, const nadir_model *model,
                                 const double *near, double step)
{
    const nadir_model_data view = test_view(model);
    double *pi = test_new(view.rows, sizeof *pi);
    nadir_policy *policy = NULL;
    for (int64_t s = 0; s < view.states; s++) {
        double sum = 0;
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            pi[row] = fmax(0, near[row] + step * nadir_random_normal(random));
            pi[row] += step * 1e-3;
            sum += pi[row];
        }
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            pi[row] /= sum;
        }
    }
    assert_ok(context, nadir_policy_create(context, model, pi, &policy));
    free(pi);
    return policy;
}

/* The bounds meet around what the policy found is worth, and no other policy is above. */
static void check_optimum(nadir_context *context, nadir_random *random, nadir_model *model,
                          const nadir_ball *ball, int tries)
{
    answer found = solve_to(context, model, ball, 1e-12, 1000);
    const double scale = scale_of(model);
    assert_ok(context, found.status);
    const double J = evaluate(context, model, found.policy, ball);
    assert_that(found.lower <= J + 1e-12 * scale && J <= found.result.upper + 1e-12 * scale,
                "the policy is worth %.17g, the bounds are %.17g and %.17g", J, found.lower,
                found.result.upper);
    assert_that(found.result.upper - found.lower <= 2e-10 * scale, "%.17g and %.17g are apart", found.lower,
                found.result.upper);
    const double *pi = nadir_policy_probabilities(found.policy);
    assert_close(found.result.J / scale, J / scale, 1e-11);
    for (int i = 0; i < tries; i++) {
        nadir_policy *other = draw_policy(context, random, model, pi, pow(10, -(i % 5)));
        const double there = evaluate(context, model, other, ball);
        assert_that(there <= found.result.upper + 1e-12 * scale,
                    "a policy is worth %.17g, the bound is %.17g", there, found.result.upper);
        nadir_policy_free(other);
    }
    for (int64_t limit = 1; limit <= 2; limit++) { /* bounds hold wherever the search stops */
        answer early = solve_to(context, model, ball, 1e-12, limit);
        assert_true(early.status == NADIR_OK || early.status == NADIR_ERROR_NOT_CONVERGED);
        assert_that(early.lower <= J + 1e-12 * scale && J <= early.result.upper + 1e-12 * scale,
                    "after %lld steps the bounds are %.17g and %.17g, the optimum is %.17g", (long long)limit,
                    early.lower, early.result.upper, J);
        clear(&early);
    }
    clear(&found);
}

static void nothing_beats_the_optimum(void **state)
{
    nadir_context *context = *state;
    for (uint64_t seed = 1; seed <= (uint64_t)test_often(60); seed++) {
        nadir_random random = test_random(seed);
        test_miniature tiny = test_miniature_make(context, &random, 5);
        const double radius = pow(10, -2.5 + 2.5 * nadir_random_uniform(&random));
        for (int i = 0; i < 2 * 2 * 5; i++) {
            const nadir_ball ball = test_ball(sets[i % 2], domains[i / 2 % 2], norms[i / 4], &radius, NULL);
            test_note("seed %llu, %s, %s", (unsigned long long)seed, tiny.name, test_ball_name(&ball));
            check_optimum(context, &random, tiny.model, &ball, 10);
        }
        test_miniature_clear(&tiny);
    }
}

/* Set sa: a deterministic policy is best, and all of them can be tried. */
static void deterministic_policies_by_brute_force(void **state)
{
    nadir_context *context = *state;
    for (uint64_t seed = 1; seed <= (uint64_t)test_often(30); seed++) {
        nadir_random random = test_random(seed);
        nadir_model *model = test_tiny_model(context, &random, 3, seed % 2 ? 0.9 : 0.6, seed % 3 ? 0.6 : 1);
        double *scales = seed % 4 < 2 ? NULL : test_tiny_scales(&random, model);
        const double radius = 0.3 * nadir_random_uniform(&random);
        const double scale = scale_of(model);
        for (int i = 0; i < 2 * 5; i++) {
            const nadir_ball ball = test_ball(NADIR_SET_SA, domains[i % 2], norms[i / 2], &radius, scales);
            test_note("seed %llu, %s", (unsigned long long)seed, test_ball_name(&ball));
            answer found = solve_to(context, model, &ball, 1e-12, 1000);
            assert_ok(context, found.status);
            const double best = brute_force(context, model, &ball);
            assert_that(fabs(best - found.lower) <= 1e-11 * scale &&
                            fabs(best - found.result.upper) <= 1e-11 * scale,
                        "brute force finds %.17g, the bounds are %.17g and %.17g", best, found.lower,
                        found.result.upper);
            clear(&found);
        }
        free(scales);
        nadir_model_free(model);
    }
}

/* On these Newton's method on both players' choices goes round in circles. */
static void circles_are_left(void **state)
{
    static const uint64_t seeds[] = {483, 493, 1251};
    nadir_context *context = *state;
    int64_t most = 0;
    for (int j = 0; j < test_often(3); j++) {
        nadir_random random = test_random(seeds[j]);
        test_miniature tiny = test_miniature_make(context, &random, 5);
        const double radius = pow(10, -2.5 + 2.5 * nadir_random_uniform(&random));
        for (int i = 0; i < 2 * 2 * 5; i++) {
            const nadir_ball ball = test_ball(sets[i % 2], domains[i / 2 % 2], norms[i / 4], &radius, NULL);
            test_note("seed %llu, %s, %s", (unsigned long long)seeds[j], tiny.name, test_ball_name(&ball));
            answer found = solve_to(context, tiny.model, &ball, 1e-12, 1000);
            assert_ok(context, found.status);
            most = found.result.iterations > most ? found.result.iterations : most;
            clear(&found);
            check_optimum(context, &random, tiny.model, &ball, 1);
        }
        test_miniature_clear(&tiny);
    }
    test_note_clear();
    assert_true(most > 10 && most < 20); /* left after 8 steps */
}

/* Where the ball holds valid kernels alone the free domain has the same optimum; past it that of the simplex
 * is above. */
static void free_domain(void **state)
{
    nadir_context *context = *state;
    for (uint64_t seed = 1; seed <= (uint64_t)test_often(20); seed++) {
        nadir_random random = test_random(seed);
        nadir_model *model = test_tiny_model(context, &random, 4, 0.9, seed % 4 == 0 ? 0.5 : 1);
        const double scale = scale_of(model);
        for (int i = 0; i < 2 * 2 * 5; i++) {
            double valid;
            assert_ok(context, nadir_model_valid_radius(context, model, norms[i / 4], &valid));
            const double radius = i / 2 % 2 ? 0.9 * valid : fmin(fmax(4 * valid, 0.001), 0.03);
            nadir_ball ball = test_ball(sets[i % 2], NADIR_DOMAIN_FREE, norms[i / 4], &radius, NULL);
            test_note("seed %llu, %s", (unsigned long long)seed, test_ball_name(&ball));
            answer found = solve_to(context, model, &ball, 1e-12, 1000);
            assert_ok(context, found.status);
            const double J = evaluate(context, model, found.policy, &ball);
            ball.domain = NADIR_DOMAIN_SIMPLEX;
            answer valid_kernels = solve_to(context, model, &ball, 1e-12, 1000);
            ball.domain = NADIR_DOMAIN_FREE;
            assert_close(found.result.upper, valid_kernels.result.upper, 1e-12);
            clear(&valid_kernels);
            assert_true(found.lower <= J + 1e-12 * scale);
            assert_true(J <= found.result.upper + 1e-12 * scale);
            if (radius < valid) {
                assert_that(found.result.upper - found.lower <= 2e-10 * scale, "%.17g and %.17g", found.lower,
                            found.result.upper);
            }
            for (int j = 0; j < 10; j++) {
                nadir_policy *other = draw_policy(context, &random, model,
                                                  nadir_policy_probabilities(found.policy), pow(10, -j % 4));
                const double there = evaluate(context, model, other, &ball);
                assert_that(!(there > found.result.upper + 1e-12 * scale), "%.17g is above %.17g", there,
                            found.result.upper);
                nadir_policy_free(other);
            }
            clear(&found);
        }
        const double radii[4] = {10, 0, 0, 20};
        nadir_ball ball = test_ball(NADIR_SET_S, NADIR_DOMAIN_FREE, 2, radii, NULL);
        ball.radius_count = 4;
        answer refused = solve_to(context, model, &ball, 1e-12, 1000);
        assert_fails(context, refused.status, NADIR_ERROR_ILL_POSED, "breakdown");
        clear(&refused);
        nadir_model_free(model);
    }
}

/* Nothing can change: the optimum of the nominal kernel. */
static void check_nominal(nadir_context *context, nadir_model *model, double radius, const double *scales)
{
    nadir_policy *policy = NULL;
    nadir_optimum_settings settings = test_optimum_settings();
    settings.tolerance = 1e-13;
    nadir_optimum_result nominal = {.size = sizeof nominal};
    assert_ok(context, nadir_optimum(context, model, &settings, &policy, &nominal));
    nadir_policy_free(policy);
    for (int i = 0; i < 2 * 3 * 5; i++) {
        const nadir_ball ball = test_ball(sets[i % 2], domains[i / 2 % 3], norms[i / 6], &radius, scales);
        test_note("%s", test_ball_name(&ball));
        answer found = solve_to(context, model, &ball, 1e-12, 1000);
        assert_ok(context, found.status);
        assert_close(found.lower, nominal.nominal_optimum, 1e-11);
        assert_close(found.result.upper, nominal.nominal_optimum, 1e-11);
        clear(&found);
    }
    test_note_clear();
}

static void an_idle_adversary_leaves_the_nominal_optimum(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < test_often(TEST_GOLDEN); i++) {
        nadir_model *model = test_golden_model(context, &test_goldens[i], false);
        double *zeros = test_new(test_view(model).rows, sizeof *zeros);
        check_nominal(context, model, 0, NULL);
        check_nominal(context, model, 0.2, zeros);
        free(zeros);
        nadir_model_free(model);
    }
    nadir_random random = test_random(5);
    nadir_model *one = test_tiny_model(context, &random, 1, 0.9, 1); /* one state */
    check_nominal(context, one, 0.3, NULL);
    nadir_model_free(one);
    nadir_model *greedy = test_tiny_model(context, &random, 5, 0, 0.7); /* no future */
    check_nominal(context, greedy, 0.3, NULL);
    nadir_model_free(greedy);
}

/* Radii of states and rows; one action, where the optimum is the evaluation; the non-rectangular ball. */
static void other_balls(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(11);
    nadir_model *model = test_tiny_model(context, &random, 6, 0.9, 0.7);
    const nadir_model_data view = test_view(model);
    double *radii = test_new(view.rows, sizeof *radii);
    for (int64_t row = 0; row < view.rows; row++) {
        radii[row] = nadir_random_uniform(&random) < 0.2 ? 0 : 0.3 * nadir_random_uniform(&random);
    }
    for (int i = 0; i < 2 * 2 * 5; i++) {
        nadir_ball ball = test_ball(sets[i % 2], domains[i / 2 % 2], norms[i / 4], radii, NULL);
        ball.radius_count = sets[i % 2] == NADIR_SET_S ? view.states : view.rows;
        test_note("%s", test_ball_name(&ball));
        check_optimum(context, &random, model, &ball, 20);
    }
    const double radius = 0.1;
    nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, INFINITY, &radius, NULL);
    check_optimum(context, &random, model, &ball, 20);
    ball.norm = 2;
    answer refused = solve_to(context, model, &ball, 1e-12, 1000);
    assert_fails(context, refused.status, NADIR_ERROR_UNSUPPORTED, "expected set s or sa, or norm inf");
    assert_null(refused.policy);
    clear(&refused);
    free(radii);
    nadir_model_free(model);
}

/* The bounds hold at any limit. */
static void limits_leave_bounds_that_hold(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_golden_model(context, &test_goldens[1], false);
    const double radius = 0.2;
    for (int i = 0; i < 2 * 2; i++) {
        const nadir_ball ball = test_ball(sets[i % 2], domains[i / 2], 2, &radius, NULL);
        test_note("%s", test_ball_name(&ball));
        answer best = solve_to(context, model, &ball, 1e-12, 1000);
        assert_ok(context, best.status);
        assert_true(best.result.iterations <= 12);
        answer early = solve_to(context, model, &ball, 1e-12, 1);
        assert_fails(context, early.status, NADIR_ERROR_NOT_CONVERGED, "stopped after 1 steps");
        assert_int_equal(early.result.stop, NADIR_STOP_EVALUATIONS);
        assert_true(early.lower <= best.lower + 1e-12 && early.result.upper > best.result.upper);
        const double J = evaluate(context, model, early.policy, &ball);
        assert_true(early.lower <= J + 1e-12 && J <= best.result.upper + 1e-12);
        clear(&early);
        clear(&best);
    }
    test_note_clear();
    nadir_model_free(model);
}

/* of: the domain. */
static nadir_status optimise(nadir_context *context, const void *of)
{
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_rectangular_optimum_result result;
    const double radius = 0.01;
    const nadir_ball ball = test_ball(NADIR_SET_S, *(const nadir_domain *)of, 2, &radius, NULL);
    nadir_status status = nadir_model_generate(context, "riverswim", NULL, &model);
    if (status == NADIR_OK) {
        const nadir_rectangular_optimum_settings settings = {.tolerance = 1e-9, .iterations_limit = 100};
        status = nadir_rectangular_optimum(context, model, &ball, &settings, &policy, &result);
    }
    nadir_policy_free(policy);
    nadir_model_free(model);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    test_run_out(optimise, &(nadir_domain){NADIR_DOMAIN_SIMPLEX}, NULL, "simplex");
    test_run_out(optimise, &(nadir_domain){NADIR_DOMAIN_FREE}, NULL, "free");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(nothing_beats_the_optimum),
        test_with_context(deterministic_policies_by_brute_force),
        test_with_context(circles_are_left),
        test_with_context(free_domain),
        test_with_context(an_idle_adversary_leaves_the_nominal_optimum),
        test_with_context(other_balls),
        test_with_context(limits_leave_bounds_that_hold),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
