/*
 * test_landing_search.c: searches where rewards are paid on landing: starts, many radii, the radius of a target,
 * and who does the damage: terms are what their definition says when computed naively in long double, add up to
 * the penalty, and are finite differences at small radii.
 */
#include "support/support.h"

#include "model/landing.h"
#include "proof/certificate.h"
#include "robust/strategy.h"
#include "support/landing.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 314159

/* v of a kernel [rows * states] that pays `paid` [rows * states]: [states]. To be freed. */
static long double *value_of(const nadir_model *model, const double *policy, const double *paid,
                             const double *kernel)
{
    const nadir_model_data view = test_view(model);
    const int64_t n = view.states;
    double *R = test_new(n, sizeof *R);
    long double *v = test_new(n, sizeof *v);
    long double *average = test_dense_average(model, kernel, policy);
    test_system system = test_system_make(n, average, view.discount);
    for (int64_t s = 0; s < n; s++) {
        long double sum = 0;
        for (int64_t i = view.state_rows[s] * n; i < view.state_rows[s + 1] * n; i++) {
            sum += kernel[i] != 0 ? (long double)policy[i / n] * kernel[i] * paid[i] : 0;
        }
        R[s] = (double)sum;
    }
    test_system_solve(&system, false, R, v);
    test_system_clear(&system);
    free(average);
    free(R);
    return v;
}

static double return_of(const nadir_model *model, const double *policy, const double *paid,
                        const double *kernel)
{
    const nadir_model_data view = test_view(model);
    long double *v = value_of(model, policy, paid, kernel);
    long double J = 0;
    for (int64_t s = 0; s < view.states; s++) {
        J += view.initial[s] * v[s];
    }
    free(v);
    return (double)J;
}

/* d of the nominal kernel: [states]. To be freed. */
static long double *nominal_visits(const nadir_model *model, const double *policy)
{
    const nadir_model_data view = test_view(model);
    double *kernel = test_dense_kernel(model);
    long double *d = test_new(view.states, sizeof *d);
    long double *average = test_dense_average(model, kernel, policy);
    test_system system = test_system_make(view.states, average, view.discount);
    test_system_solve(&system, true, view.initial, d);
    test_system_clear(&system);
    free(average);
    free(kernel);
    return d;
}

/* d(s) pi(a|s) (Phat - P) . (r + gamma v_P) of a row. */
static double term_of(const nadir_model *model, const double *policy, const double *paid,
                      const double *kernel, int64_t state, int64_t row)
{
    const nadir_model_data view = test_view(model);
    const int64_t n = view.states;
    double *nominal = test_dense_kernel(model);
    long double *v = value_of(model, policy, paid, kernel);
    long double *d = nominal_visits(model, policy);
    long double sum = 0;
    for (int64_t t = 0; t < n; t++) {
        const int64_t i = row * n + t;
        sum += nominal[i] != kernel[i]
                   ? ((long double)nominal[i] - kernel[i]) * (paid[i] + view.discount * v[t])
                   : 0;
    }
    sum *= d[state] * policy[row];
    free(nominal);
    free(v);
    free(d);
    return (double)sum;
}

static nadir_damage *explain(nadir_context *context, const nadir_worst *worst, int64_t rows, int64_t *changed,
                             double *penalty)
{
    nadir_damage *damages = test_new(rows, sizeof *damages);
    int64_t found;
    for (int64_t i = 0; i < rows; i++) {
        damages[i].size = sizeof *damages;
    }
    assert_ok(context, nadir_worst_explain(context, worst, rows, damages, &found, changed, penalty));
    assert_int_equal(found, *changed);
    return damages;
}

/* Domain support never leaves what is given; the others pay as `additive` has it. */
static void check_terms(nadir_context *context, const test_landing_random *drawn, const nadir_ball *ball,
                        bool optimistic)
{
    nadir_model *model = drawn->model;
    const nadir_model_data view = test_view(model);
    const double *pi = nadir_policy_probabilities(drawn->policy);
    nadir_robust_settings settings = test_robust_settings();
    settings.optimistic = optimistic;
    settings.certify = NADIR_CERTIFY_OFF;
    nadir_solver *solver = test_solver(context, model, drawn->policy);
    nadir_worst *worst = NULL;
    int64_t changed;
    double penalty;
    test_note("%s, %s%s", drawn->name, test_ball_name(ball), optimistic ? ", best case" : "");
    const nadir_robust result = test_robust(context, solver, ball, &settings, &worst);
    nadir_damage *damages = explain(context, worst, view.rows, &changed, &penalty);
    double *kernel = test_worst_kernel(context, model, worst);
    double *paid = test_new(view.rows * view.states, sizeof *paid);
    test_landing_extend(&drawn->draft, NADIR_UNSEEN_ADDITIVE, 0, paid);
    const double scale = drawn->size / (1 - view.discount);
    double sum = 0;
    assert_that(fabs(return_of(model, pi, paid, kernel) - result.robust_return) <= 1e-9 * scale,
                "the kernel returns %.17g, not %.17g", return_of(model, pi, paid, kernel),
                result.robust_return);
    for (int64_t i = 0; i < changed; i++) {
        const double term = term_of(model, pi, paid, kernel, damages[i].state, damages[i].row);
        assert_that(fabs(term - damages[i].penalty) <= 1e-9 * scale, "row %lld: %.17g, expected %.17g",
                    (long long)damages[i].row, damages[i].penalty, term);
        sum += damages[i].penalty;
    }
    assert_that(fabs(sum - result.penalty) <= 1e-9 * scale && fabs(penalty - result.penalty) <= 1e-9 * scale,
                "terms add up to %.17g and %.17g; the penalty is %.17g", sum, penalty, result.penalty);
    free(paid);
    free(kernel);
    free(damages);
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    test_note_clear();
}

static void terms_add_up_to_the_penalty(void **state)
{
    static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
    static const nadir_domain domains[] = {NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT, NADIR_DOMAIN_FREE};
    static const double norms[] = {1, 2, 3, INFINITY};
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int number = 0; number < test_often(72); number++) {
        test_landing_random drawn =
            test_landing_draw(context, &random, 6, number % 2 ? TEST_REWARDS_GENERAL : TEST_REWARDS_FLAT);
        const nadir_domain domain = domains[number / 3 % 3];
        const double most = domain == NADIR_DOMAIN_FREE ? 1e-3 : 0.5; /* breakdown may be near */
        const double radius = most * (0.1 + 0.9 * nadir_random_uniform(&random));
        const nadir_ball ball = test_ball(sets[number % 3], domain, norms[number / 9 % 4], &radius, NULL);
        check_terms(context, &drawn, &ball, number % 5 == 0);
        test_landing_random_clear(&drawn);
    }
}

/* At a small radius the kernel found is a finite difference: a row's term is what the row alone takes. */
static void terms_are_finite_differences(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_landing_golden_model(context, TEST_RND, false);
    nadir_policy *policy = test_landing_golden_policy(context, model, TEST_RND, false);
    test_landing draft = test_landing_golden_draft(TEST_RND);
    nadir_solver *solver = test_solver(context, model, policy);
    const double *pi = nadir_policy_probabilities(policy);
    const double radius = 1e-5;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    nadir_worst *worst = NULL;
    int64_t changed;
    double penalty;
    (void)test_robust(context, solver, &ball, NULL, &worst);
    nadir_damage *damages = explain(context, worst, draft.rows, &changed, &penalty);
    double *kernel = test_worst_kernel(context, model, worst);
    double *alone = test_dense_kernel(model);
    const size_t bytes = (size_t)draft.states * sizeof *alone;
    const double J = return_of(model, pi, draft.paid, alone);
    double *kept = test_new(draft.states, sizeof *kept);
    assert_int_equal(changed, draft.rows);
    for (int64_t j = 0; j < changed; j++) {
        double *row = alone + damages[j].row * draft.states;
        memcpy(kept, row, bytes);
        memcpy(row, kernel + damages[j].row * draft.states, bytes);
        const double difference = J - return_of(model, pi, draft.paid, alone);
        memcpy(row, kept, bytes);
        assert_that(fabs(difference - damages[j].penalty) <= 1e-4 * damages[0].penalty,
                    "row %lld alone takes %.12g; its term is %.12g", (long long)damages[j].row, difference,
                    damages[j].penalty);
    }
    free(kept);
    free(alone);
    free(kernel);
    free(damages);
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    test_landing_clear(&draft);
    nadir_model_free(model);
}

/* 0 leads to 1 or 2, and 1 and 2 to 3 or 4; only from 1 to 3 something is paid, -1, so that rewards are not
 * separable. At p = 1 the best single row takes 0.9 * 0.5 * 0.7, two rows 0.9 * 0.6 * 0.6. */
static void two_rows_are_worse_than_one(void **state)
{
    static const int64_t successors[5][2] = {{1, 2}, {3, 4}, {3, 4}, {3, 3}, {4, 4}};
    nadir_context *context = *state;
    test_landing draft = test_landing_start(5, 1, 0.9);
    for (int64_t s = 0; s < 5; s++) {
        draft.mu[s] = s == 0;
        for (int i = 0; i < 2; i++) {
            draft.kernel[s * 5 + successors[s][i]] += 0.5;
            draft.paid[s * 5 + successors[s][i]] = s == 1 && successors[s][i] == 3 ? -1 : 0;
        }
    }
    nadir_model *model = test_landing_model(context, &draft, true, NADIR_UNSEEN_ADDITIVE, 0);
    nadir_policy *policy = test_uniform_policy(context, model);
    const double radius = 0.4;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 1, &radius, NULL);
    assert_true(nadir_landing_is_general(model));
    assert_close(test_robust_return(context, model, policy, &ball), -0.324, 1e-9);
    nadir_policy_free(policy);
    nadir_model_free(model);
    test_landing_clear(&draft);
}

/* At p = 1 the search from the nominal kernel stops at a kernel that is not the worst; from further starts it finds
 * the golden value. */
static void further_starts_find_more(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_landing_golden_model(context, TEST_RND, false);
    nadir_policy *policy = test_landing_golden_policy(context, model, TEST_RND, true);
    nadir_solver *solver = test_solver(context, model, policy);
    const double radius = 0.3;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 1, &radius, NULL);
    nadir_setup setup = {0};
    nadir_candidate candidate = {0};
    bool better = false;
    assert_ok(context, nadir_setup_make(context, solver, &ball, false, &setup));
    assert_ok(context, nadir_frank_wolfe_run(context, &setup.problem, radius, NULL, 1e-9, 1000, &candidate));
    const double from_nominal = nadir_landing_return(model, candidate.J);
    assert_ok(context,
              nadir_multistart_further(context, &setup.problem, radius, 1e-9, 1000, &candidate, &better));
    assert_true(better && from_nominal > 3.2277 + 1e-3);
    assert_close(nadir_landing_return(model, candidate.J), 3.227699646, 1e-9);
    nadir_candidate_clear(context, &candidate);
    nadir_setup_clear(context, &setup);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* Many radii at once are as good as one by one, and the radius of a target is that of its return. */
static void radii_agree(void **state)
{
    enum { RADII = 6 };
    static const double norms[] = {1, 2, 3};
    nadir_context *context = *state;
    nadir_model *model = test_landing_golden_model(context, TEST_RND, false);
    nadir_policy *policy = test_landing_golden_policy(context, model, TEST_RND, false);
    nadir_solver *solver = test_solver(context, model, policy);
    const nadir_robust_settings settings = test_robust_settings();
    const double one = 1;
    double factors[RADII];
    for (int i = 0; i < RADII; i++) {
        factors[i] = 0.01 * pow(2, i);
    }
    for (int j = 0; j < 3; j++) {
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, norms[j], &one, NULL);
        nadir_robust many[RADII];
        nadir_radius inverse = {.size = sizeof inverse};
        for (int i = 0; i < RADII; i++) {
            many[i] = (nadir_robust){.size = sizeof *many};
        }
        assert_ok(context, nadir_solver_robust_many(context, solver, &ball, &settings, RADII, factors, many));
        for (int i = 0; i < RADII; i++) {
            const nadir_ball single =
                test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, norms[j], &factors[i], NULL);
            test_note("norm %g, radius %g", norms[j], factors[i]);
            assert_close(many[i].robust_return, test_robust_return(context, model, policy, &single), 1e-8);
            assert_true(many[i].certified || norms[j] != 2);
        }
        assert_ok(context,
                  nadir_solver_radius(context, solver, &ball, &settings, many[3].robust_return, &inverse));
        assert_close(inverse.radius, factors[3], 1e-7);
        assert_true(inverse.radius_lower <= factors[3] && factors[3] <= inverse.radius_upper);
    }
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* of: the norm. */
static nadir_status evaluate_riverswim(nadir_context *context, nadir_solver *solver, const void *of)
{
    const double radius = 0.3;
    const nadir_ball ball =
        test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, *(const double *)of, &radius, NULL);
    nadir_robust result = {.size = sizeof result};
    assert_true(nadir_landing_is_general(solver->model));
    return nadir_solver_robust(context, solver, &ball, NULL, &result, NULL);
}

static nadir_status attempt(nadir_context *context, const void *of)
{
    return test_generate_and_ask(context, "riverswim", NULL, evaluate_riverswim, of);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    assert_true(test_run_out_sampled(attempt, &(double){1}, NULL, "norm 1", 200) > 0);
    assert_true(test_run_out_sampled(attempt, &(double){3}, NULL, "norm 3", 200) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(terms_add_up_to_the_penalty),
        test_with_context(terms_are_finite_differences),
        test_with_context(two_rows_are_worse_than_one),
        test_with_context(further_starts_find_more),
        test_with_context(radii_agree),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
