/*
 * test_rectangular_optimum.c: the best policy against rectangular sets: brute force over deterministic and
 * search over stochastic policies with the evaluation as oracle, robust value iteration from nothing, and
 * what is known where everything is degenerate.
 */
#include "support/support.h"

#include "policy/rectangular_optimum.h"
#include "policy/robust_bellman.h"
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
    double *value;
    nadir_rectangular_optimum_result result;
} answer;

static answer solve_to(nadir_context *context, nadir_model *model, const nadir_ball *ball, double tolerance,
                       int64_t limit)
{
    answer made = {.value = test_new(test_view(model).states, sizeof *made.value)};
    made.status = nadir_rectangular_optimum(context, model, ball, NULL, tolerance, limit, made.value,
                                            &made.policy, &made.result);
    return made;
}

static void clear(answer *made)
{
    nadir_policy_free(made->policy);
    free(made->value);
}

/* The worst return of a policy; NaN where it breaks down. */
static double evaluate(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                       const nadir_ball *ball)
{
    nadir_robust_settings settings;
    nadir_robust_settings_default(&settings);
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
    assert_that(found.result.lower <= J + 1e-12 * scale && J <= found.result.upper + 1e-12 * scale,
                "the policy is worth %.17g, the bounds are %.17g and %.17g", J, found.result.lower,
                found.result.upper);
    assert_that(found.result.upper - found.result.lower <= 2e-10 * scale, "%.17g and %.17g are apart",
                found.result.lower, found.result.upper);
    const double *pi = nadir_policy_probabilities(found.policy);
    double mean = 0;
    for (int64_t s = 0; s < test_view(model).states; s++) {
        mean += test_view(model).initial[s] * found.value[s];
    }
    assert_close(mean / scale, J / scale, 1e-11);
    for (int i = 0; i < tries; i++) {
        nadir_policy *other = draw_policy(context, random, model, pi, pow(10, -(i % 5)));
        const double there = evaluate(context, model, other, ball);
        assert_that(there <= found.result.upper + 1e-12 * scale,
                    "a policy is worth %.17g, the bound is %.17g", there, found.result.upper);
        nadir_policy_free(other);
    }
    clear(&found);
}

static void nothing_beats_the_optimum(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    for (uint64_t seed = 1; seed <= (uint64_t)test_often(60); seed++) {
        nadir_random random;
        nadir_random_seed(&random, seed);
        test_miniature tiny = test_miniature_make(context, &random, 5);
        const double radius = pow(10, -2.5 + 2.5 * nadir_random_uniform(&random));
        for (int i = 0; i < 2 * 2 * 5; i++) {
            const nadir_ball ball = test_ball(sets[i % 2], domains[i / 2 % 2], norms[i / 4], &radius, NULL);
            test_note("seed %llu, %s, %s", (unsigned long long)seed, tiny.name, test_ball_name(&ball));
            check_optimum(context, &random, tiny.model, &ball, 10);
        }
        test_miniature_clear(&tiny);
    }
    test_note_clear();
    nadir_context_free(context);
}

/* Set sa: a deterministic policy is best, and all of them can be tried. */
static void deterministic_policies_by_brute_force(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    for (uint64_t seed = 1; seed <= (uint64_t)test_often(30); seed++) {
        nadir_random random;
        nadir_random_seed(&random, seed);
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
            assert_that(fabs(best - found.result.lower) <= 1e-11 * scale &&
                            fabs(best - found.result.upper) <= 1e-11 * scale,
                        "brute force finds %.17g, the bounds are %.17g and %.17g", best, found.result.lower,
                        found.result.upper);
            clear(&found);
        }
        free(scales);
        nadir_model_free(model);
    }
    test_note_clear();
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_beats_the_optimum),
        cmocka_unit_test(deterministic_policies_by_brute_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
