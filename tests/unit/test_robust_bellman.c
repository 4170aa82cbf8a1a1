/*
 * test_robust_bellman.c: the robust Bellman operator over rows and policies: no mixture of actions is worth
 * more against the answers of the adversary to it, and value iteration with mixtures found by golden section
 * leads where the optimum is.
 */
#include "support/support.h"

#include "policy/rectangular_optimum.h"
#include "support/generated.h"
#include "support/miniature.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const nadir_domain domains[] = {NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT, NADIR_DOMAIN_FREE};
static const nadir_set sets[] = {NADIR_SET_S, NADIR_SET_SA};
static const double norms[] = {1, 1.5, 2, 3, INFINITY};

static double scale_of(const nadir_model *model)
{
    const nadir_model_data view = test_view(model);
    double largest = 0;
    for (int64_t row = 0; row < view.rows; row++) {
        largest = fmax(largest, fabs(view.rewards[row]));
    }
    return fmax(1, largest / (1 - view.discount));
}

/* What pi_s is worth in a state against the answers of the adversary to it. */
static double worth(const nadir_robust_bellman *bellman, int64_t state, const double *pi, double *room)
{
    const int64_t first = bellman->model->state_rows[state];
    const int64_t end = bellman->model->state_rows[state + 1];
    const nadir_uncertainty *set = bellman->set;
    double sum = 0;
    double norm = 0;
    double largest = 0;
    for (int64_t row = first; row < end; row++) {
        const double weight = pi[row - first];
        const double reach = weight * nadir_uncertainty_scale(set, row);
        sum += weight * bellman->q[row];
        largest = fmax(largest, reach);
        norm += isinf(set->q) ? 0 : pow(reach, set->q);
        if (set->set == NADIR_SET_SA) {
            const double radius = nadir_uncertainty_radius(set, state, row);
            const double one = 1;
            nadir_lmo_solution alone = {0};
            nadir_lmo_budget budget = {.gain = nadir_uncertainty_scale(set, row) * radius * bellman->sigma};
            if (set->domain != NADIR_DOMAIN_FREE) {
                nadir_lmo_solve(&bellman->rows, row, row + 1, &one, radius, room, &alone, &budget);
            }
            sum -= bellman->gamma * weight * budget.gain;
        }
    }
    if (set->set == NADIR_SET_S) {
        const double radius = nadir_uncertainty_radius(set, state, first);
        nadir_lmo_solution answers[8] = {{0}};
        nadir_lmo_budget budget = {0};
        if (set->domain == NADIR_DOMAIN_FREE) {
            budget.gain = radius * bellman->sigma * (isinf(set->q) ? largest : pow(norm, 1 / set->q));
        } else {
            nadir_lmo_solve(&bellman->rows, first, end, pi, radius, room, answers, &budget);
        }
        sum -= bellman->gamma * budget.gain;
    }
    return sum;
}

/* The mixture is worth what T says, and no other is worth more. */
static void check_operator(nadir_random *random, const nadir_robust_bellman *bellman, double scale)
{
    double *room = test_new(1000, sizeof *room);
    for (int64_t s = 0; s < bellman->model->states; s++) {
        const int64_t first = bellman->model->state_rows[s];
        const int64_t count = bellman->model->state_rows[s + 1] - first;
        const double mine = worth(bellman, s, bellman->policy + first, room);
        assert_that(fabs(mine - bellman->value[s]) <= 1e-12 * scale,
                    "state %lld: T says %.17g, the mixture is worth %.17g", (long long)s, bellman->value[s],
                    mine);
        for (int i = 0; i < 20; i++) {
            double pi[8];
            double sum = 0;
            for (int64_t a = 0; a < count; a++) {
                const double near = i < 10 ? bellman->policy[first + a] : 0;
                pi[a] = near + pow(10, -(i % 10)) * nadir_random_uniform(random);
                sum += pi[a];
            }
            for (int64_t a = 0; a < count; a++) {
                pi[a] /= sum;
            }
            const double other = worth(bellman, s, pi, room);
            assert_that(other <= bellman->value[s] + 1e-12 * scale,
                        "state %lld: T says %.17g, another mixture is worth %.17g", (long long)s,
                        bellman->value[s], other);
        }
    }
    free(room);
}

static void no_mixture_is_worth_more(void **state)
{
    nadir_context *context = *state;
    for (uint64_t seed = 1; seed <= (uint64_t)test_often(60); seed++) {
        nadir_random random = test_random(seed);
        test_miniature tiny = test_miniature_make(context, &random, 6);
        const double radius = pow(10, -3 + 3 * nadir_random_uniform(&random));
        double v[6];
        double scale = scale_of(tiny.model);
        for (int s = 0; s < 6; s++) {
            v[s] = scale * nadir_random_normal(&random);
        }
        for (int i = 0; i < 2 * 3 * 5; i++) {
            const nadir_ball ball = test_ball(sets[i % 2], domains[i / 2 % 3], norms[i / 6], &radius, NULL);
            nadir_uncertainty set = {0};
            nadir_kernel *kernel = NULL;
            nadir_robust_bellman bellman = {0};
            test_note("seed %llu, %s, %s", (unsigned long long)seed, tiny.name, test_ball_name(&ball));
            assert_ok(context, nadir_uncertainty_make(context, tiny.model, tiny.policy, &ball, &set));
            assert_ok(context, nadir_kernel_create(context, tiny.model, &kernel));
            assert_ok(context, nadir_robust_bellman_make(context, tiny.model, kernel, &set, &bellman));
            assert_ok(context, nadir_robust_bellman_apply(context, &bellman, v));
            check_operator(&random, &bellman, 4 * scale);
            nadir_robust_bellman_clear(context, &bellman);
            nadir_kernel_free(kernel);
            nadir_uncertainty_clear(context, &set);
        }
        test_miniature_clear(&tiny);
    }
}

/* max over pi in [0, 1] of a concave function, by golden section. */
static double best_of_two(const nadir_robust_bellman *bellman, int64_t state, double *room)
{
    const double ratio = (sqrt(5) - 1) / 2;
    double low = 0;
    double high = 1;
    double best = -INFINITY;
    for (int i = 0; i < 40; i++) {
        const double left = high - ratio * (high - low);
        const double right = low + ratio * (high - low);
        const double at_left = worth(bellman, state, (const double[]){left, 1 - left}, room);
        const double at_right = worth(bellman, state, (const double[]){right, 1 - right}, room);
        best = fmax(best, fmax(at_left, at_right));
        *(at_left > at_right ? &high : &low) = at_left > at_right ? right : left;
    }
    return fmax(best, fmax(worth(bellman, state, (const double[]){0, 1}, room),
                           worth(bellman, state, (const double[]){1, 0}, room)));
}

/* v <- Tv from zero, with mixtures of two actions found by golden section. */
static void value_iteration_from_nothing(void **state)
{
    enum { STATES = 4, SWEEPS = 40 };
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    settings.states = STATES;
    settings.actions = 2;
    settings.branch = 3;
    settings.discount = 0.5;
    for (settings.seed = 1; settings.seed <= (uint64_t)test_often(2); settings.seed++) {
        nadir_model *model = test_generate(context, "garnet", &settings);
        nadir_kernel *kernel = NULL;
        double *room = test_new(1000, sizeof *room);
        const double radius = 0.4;
        nadir_policy *policy = test_uniform_policy(context, model);
        assert_ok(context, nadir_kernel_create(context, model, &kernel));
        for (int i = 0; i < 2 * 5; i += test_memcheck() ? 4 : 1) {
            const nadir_ball ball = test_ball(NADIR_SET_S, domains[i % 2], norms[i / 2], &radius, NULL);
            double v[STATES] = {0};
            nadir_uncertainty set = {0};
            nadir_robust_bellman bellman = {0};
            test_note("seed %llu, %s", (unsigned long long)settings.seed, test_ball_name(&ball));
            assert_ok(context, nadir_uncertainty_make(context, model, policy, &ball, &set));
            assert_ok(context, nadir_robust_bellman_make(context, model, kernel, &set, &bellman));
            for (int sweep = 0; sweep < SWEEPS; sweep++) { /* q of v, and its order */
                assert_ok(context, nadir_robust_bellman_apply(context, &bellman, v));
                for (int64_t s = 0; s < STATES; s++) {
                    v[s] = best_of_two(&bellman, s, room);
                }
            }
            nadir_policy *best = NULL;
            nadir_rectangular_optimum_result result;
            const nadir_rectangular_optimum_settings search = {.tolerance = 1e-12, .iterations_limit = 1000};
            assert_ok(context, nadir_rectangular_optimum(context, model, &ball, &search, &best, &result));
            assert_ok(context, nadir_robust_bellman_apply(context, &bellman, v));
            double J = 0;
            for (int64_t s = 0; s < STATES; s++) {
                assert_close(bellman.value[s], v[s], 1e-10);
                J += model->initial[s] * v[s];
            }
            assert_close(result.J, J, 1e-10);
            nadir_policy_free(best);
            nadir_robust_bellman_clear(context, &bellman);
            nadir_uncertainty_clear(context, &set);
        }
        free(room);
        nadir_kernel_free(kernel);
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
}

/* T has the same bits with any number of threads. */
static void threads_change_nothing(void **state)
{
    (void)state;
    double *first = NULL;
    for (int threads = 1; threads <= 3; threads += 2) {
        nadir_context *context = test_context_threads(threads);
        nadir_generate_settings generate = test_generate_settings();
        generate.states = 60;
        generate.actions = 20;
        nadir_model *model = NULL;
        nadir_kernel *kernel = NULL;
        nadir_uncertainty set = {0};
        nadir_robust_bellman bellman = {0};
        const double radius = 0.2;
        const nadir_ball ball = test_ball(NADIR_SET_S, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
        double v[60];
        for (int s = 0; s < 60; s++) {
            v[s] = sin(s);
        }
        assert_ok(context, nadir_model_generate(context, "random", &generate, &model));
        nadir_policy *policy = test_uniform_policy(context, model);
        assert_ok(context, nadir_kernel_create(context, model, &kernel));
        assert_ok(context, nadir_uncertainty_make(context, model, policy, &ball, &set));
        assert_ok(context, nadir_robust_bellman_make(context, model, kernel, &set, &bellman));
        assert_int_equal(bellman.threads, threads);
        assert_ok(context, nadir_robust_bellman_apply(context, &bellman, v));
        if (first == NULL) {
            first = test_new(60 + 1200, sizeof *first);
            memcpy(first, bellman.value, 60 * sizeof *first);
            memcpy(first + 60, bellman.policy, 1200 * sizeof *first);
        }
        assert_memory_equal(bellman.value, first, 60 * sizeof *first);
        assert_memory_equal(bellman.policy, first + 60, 1200 * sizeof *first);
        nadir_robust_bellman_clear(context, &bellman);
        nadir_uncertainty_clear(context, &set);
        nadir_kernel_free(kernel);
        nadir_policy_free(policy);
        nadir_model_free(model);
        nadir_context_free(context);
    }
    free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(no_mixture_is_worth_more),
        test_with_context(value_iteration_from_nothing),
        cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
