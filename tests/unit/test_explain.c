/*
 * test_explain.c: who does the damage: shares add up to the penalty, every term is what its definition says
 * when computed naively in long double, and at small radii it is what the row alone does to the return.
 */
#include "support/support.h"

#include "support/golden.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All rows that changed; to be freed. */
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

/* D x or D^T x of a kernel [rows * states] under the policy. */
static void solve(const nadir_model *model, const double *policy, const double *kernel, bool transposed,
                  const double *b, long double *x)
{
    const nadir_model_data view = test_view(model);
    long double *average = test_dense_average(model, kernel, policy);
    test_system system = test_system_make(view.states, average, view.discount);
    test_system_solve(&system, transposed, b, x);
    test_system_clear(&system);
    free(average);
}

static double *average_rewards(const nadir_model_data *view, const double *policy)
{
    double *R = test_new(view->states, sizeof *R);
    for (int64_t s = 0; s < view->states; s++) {
        for (int64_t row = view->state_rows[s]; row < view->state_rows[s + 1]; row++) {
            R[s] += policy[row] * view->rewards[row];
        }
    }
    return R;
}

/* mu . v of a kernel. */
static double return_of(const nadir_model *model, const double *policy, const double *kernel)
{
    const nadir_model_data view = test_view(model);
    double *R = average_rewards(&view, policy);
    long double *v = test_new(view.states, sizeof *v);
    long double J = 0;
    solve(model, policy, kernel, false, R, v);
    for (int64_t s = 0; s < view.states; s++) {
        J += view.initial[s] * v[s];
    }
    free(R);
    free(v);
    return (double)J;
}

static int compare_doubles(const void *first, const void *second)
{
    const double a = *(const double *)first;
    const double b = *(const double *)second;
    return (a > b) - (a < b);
}

/* Moves of a row, as the pieces into which the sums of what is lost and of what is gained, both from the largest on, cut
 * its mass: how many are at least so large. */
static int64_t count_pieces(int64_t n, const double *from, const double *to, double least)
{
    double *cuts = test_new(2 * n, sizeof *cuts);
    double *changes = test_new(n, sizeof *changes);
    int64_t count = 0;
    int64_t pieces = 0;
    for (int side = -1; side <= 1; side += 2) {
        double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            changes[t] = -side * (to[t] - from[t]);
        }
        qsort(changes, (size_t)n, sizeof *changes, compare_doubles);
        for (int64_t t = 0; t < n && changes[t] < 0; t++) {
            cuts[count++] = sum -= changes[t];
        }
    }
    qsort(cuts, (size_t)count, sizeof *cuts, compare_doubles);
    for (int64_t i = 0; i < count; i++) {
        pieces += cuts[i] - (i > 0 ? cuts[i - 1] : 0) >= least;
    }
    free(changes);
    free(cuts);
    return pieces;
}

/* gamma d(s) pi(a|s) (Phat - P) . v_P, mass, and what moves, of every row. */
static void check_terms(const nadir_model *model, const double *policy, const double *kernel,
                        const nadir_damage *damages, int64_t changed, double scale)
{
    const nadir_model_data view = test_view(model);
    const int64_t n = view.states;
    double *nominal = test_dense_kernel(model);
    double *R = average_rewards(&view, policy);
    long double *v = test_new(n, sizeof *v);
    long double *d = test_new(n, sizeof *d);
    double most = 0;
    double dearest = 0;
    solve(model, policy, kernel, false, R, v);
    solve(model, policy, nominal, true, view.initial, d);
    for (int64_t i = 0; i < changed; i++) {
        most = fmax(most, damages[i].mass);
        dearest = fmax(dearest, fabs(damages[i].penalty));
    }
    for (int64_t i = 0; i < changed; i++) {
        const nadir_damage *damage = &damages[i];
        assert_that(damage->mass > 1e-12 * most || fabs(damage->penalty) > 1e-12 * dearest,
                    "row %lld moved by rounding: %.3g", (long long)damage->row, damage->mass);
        const double *to = kernel + damage->row * n;
        const double *from = nominal + damage->row * n;
        long double term = 0;
        double mass = 0;
        for (int64_t t = 0; t < n; t++) {
            term += ((long double)from[t] - to[t]) * v[t];
            mass += fabs(from[t] - to[t]) / 2;
            assert_true(to[t] - from[t] <= damage->gained + 1e-12);
            assert_true(from[t] - to[t] <= damage->lost + 1e-12);
        }
        term *= view.discount * d[damage->state] * policy[damage->row];
        assert_that(fabs((double)term - damage->penalty) <= 1e-9 * scale, "row %lld: %.17g, expected %.17g",
                    (long long)damage->row, damage->penalty, (double)term);
        assert_close(damage->mass, mass, 1e-9);
        assert_close(to[damage->to] - from[damage->to], damage->gained, 1e-9);
        assert_close(from[damage->from] - to[damage->from], damage->lost, 1e-9);
        assert_close(damage->moved, fmin(damage->lost, damage->gained), 1e-15);
        assert_int_equal(damage->moves, count_pieces(n, from, to, 1e-3 * damage->mass));
        assert_in_range(damage->row, view.state_rows[damage->state], view.state_rows[damage->state + 1] - 1);
        assert_true(i == 0 || damages[i - 1].share >= damage->share);
    }
    free(nominal);
    free(R);
    free(v);
    free(d);
}

static void check_ball(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                       const nadir_ball *ball, bool optimistic)
{
    const nadir_model_data view = test_view(model);
    nadir_robust_settings settings = test_robust_settings();
    settings.optimistic = optimistic;
    settings.certify = NADIR_CERTIFY_OFF;
    nadir_solver *solver = test_solver(context, model, policy);
    nadir_worst *worst = NULL;
    test_note("%s%s", test_ball_name(ball), optimistic ? ", best case" : "");
    const nadir_robust result = test_robust(context, solver, ball, &settings, &worst);
    int64_t changed;
    double penalty;
    nadir_damage *damages = explain(context, worst, view.rows, &changed, &penalty);
    double sum = 0;
    double shares = 0;
    for (int64_t i = 0; i < changed; i++) {
        sum += damages[i].penalty;
        shares += damages[i].share;
    }
    const double scale = fabs(result.penalty);
    assert_true(changed > 0 && scale > 0);
    assert_that(fabs(sum - result.penalty) <= 1e-9 * scale, "terms add up to %.17g; the penalty is %.17g",
                sum, result.penalty);
    assert_that(fabs(penalty - result.penalty) <= 1e-9 * scale, "the sum is %.17g; the penalty is %.17g",
                penalty, result.penalty);
    assert_close(shares, 1, 1e-12);
    double *kernel = test_worst_kernel(context, model, worst);
    check_terms(model, nadir_policy_probabilities(policy), kernel, damages, changed, scale);
    free(kernel);
    free(damages);
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    test_note_clear();
}

static void shares_add_up_to_the_penalty(void **state)
{
    static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
    static const nadir_domain domains[] = {NADIR_DOMAIN_FREE, NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT};
    static const double norms[] = {1, 1.5, 2, INFINITY};
    nadir_context *context = *state;
    for (int g = 0; g < TEST_GOLDEN; g += 2) { /* dense(8,3) and sparse(30,4) */
        nadir_model *model = test_golden_model(context, &test_goldens[g], false);
        nadir_policy *policy = test_golden_policy(context, model);
        for (int i = 0; i < 3 * 3 * 4; i++) {
            const double radius = domains[i / 3 % 3] == NADIR_DOMAIN_FREE ? 0.02 : 0.05; /* below breakdown */
            const nadir_ball ball = test_ball(sets[i % 3], domains[i / 3 % 3], norms[i / 9], &radius, NULL);
            check_ball(context, model, policy, &ball, i % 2 == 1);
        }
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
}

/* At a small radius the kernel found is a finite difference: a row's term is what the row alone takes. */
static void terms_are_finite_differences(void **state)
{
    static const nadir_domain domains[] = {NADIR_DOMAIN_FREE, NADIR_DOMAIN_SIMPLEX};
    nadir_context *context = *state;
    nadir_model *model = test_golden_model(context, &test_goldens[0], false);
    nadir_policy *policy = test_golden_policy(context, model);
    nadir_solver *solver = test_solver(context, model, policy);
    const double *pi = nadir_policy_probabilities(policy);
    const double radius = 1e-5;
    for (int i = 0; i < 2; i++) {
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domains[i], 2, &radius, NULL);
        nadir_worst *worst = NULL;
        int64_t changed;
        double penalty;
        (void)test_robust(context, solver, &ball, NULL, &worst);
        nadir_damage *damages = explain(context, worst, 24, &changed, &penalty);
        double *kernel = test_worst_kernel(context, model, worst);
        double *alone = test_dense_kernel(model);
        const double J = return_of(model, pi, alone);
        for (int64_t j = 0; j < changed; j++) {
            double kept[8];
            double *row = alone + damages[j].row * 8;
            memcpy(kept, row, sizeof kept);
            memcpy(row, kernel + damages[j].row * 8, sizeof kept);
            const double difference = J - return_of(model, pi, alone);
            memcpy(row, kept, sizeof kept);
            assert_that(fabs(difference - damages[j].penalty) <= 1e-4 * damages[0].penalty,
                        "row %lld alone takes %.12g; its term is %.12g", (long long)damages[j].row,
                        difference, damages[j].penalty);
        }
        free(alone);
        free(kernel);
        free(damages);
        nadir_worst_free(worst);
    }
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

static void only_the_largest_if_few_are_asked_for(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_golden_model(context, &test_goldens[0], false);
    nadir_policy *policy = test_golden_policy(context, model);
    nadir_solver *solver = test_solver(context, model, policy);
    double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    nadir_worst *worst = NULL;
    int64_t changed;
    int64_t found;
    double penalty;
    (void)test_robust(context, solver, &ball, NULL, &worst);
    nadir_damage *all = explain(context, worst, 24, &changed, &penalty);
    nadir_damage few[3] = {{.size = sizeof *few}, {.size = sizeof *few}, {.size = sizeof *few}};
    assert_ok(context, nadir_worst_explain(context, worst, 3, few, &found, &changed, &penalty));
    assert_int_equal(found, 3);
    assert_int_equal(changed, 24);
    assert_memory_equal(few, all, sizeof few);
    few[1].size = 0;
    assert_fails(context, nadir_worst_explain(context, worst, 3, few, &found, &changed, &penalty),
                 NADIR_ERROR_ARGUMENT, "the size of damage 1 is not set");
    free(all);
    nadir_worst_free(worst);
    radius = 0; /* nothing changes */
    (void)test_robust(context, solver, &ball, NULL, &worst);
    all = explain(context, worst, 24, &changed, &penalty);
    assert_int_equal(changed, 0);
    assert_true(penalty == 0);
    free(all);
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* of: the domain. */
static nadir_status evaluate_and_explain(nadir_context *context, nadir_solver *solver, const void *of)
{
    nadir_worst *worst = NULL;
    nadir_robust result = {.size = sizeof result};
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_OFF;
    const double radius = 0.01;
    const nadir_ball ball = test_ball(NADIR_SET_SA, *(const nadir_domain *)of, 2, &radius, NULL);
    nadir_damage damages[12];
    int64_t found;
    int64_t changed;
    double penalty;
    for (int i = 0; i < 12; i++) {
        damages[i] = (nadir_damage){.size = sizeof *damages};
    }
    nadir_status status = nadir_solver_robust(context, solver, &ball, &settings, &result, &worst);
    if (status == NADIR_OK) {
        status = nadir_worst_explain(context, worst, 12, damages, &found, &changed, &penalty);
    }
    nadir_worst_free(worst);
    return status;
}

static nadir_status attempt(nadir_context *context, const void *of)
{
    return test_generate_and_ask(context, "riverswim", NULL, evaluate_and_explain, of);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    test_run_out(attempt, &(nadir_domain){NADIR_DOMAIN_FREE}, NULL, "free");
    test_run_out(attempt, &(nadir_domain){NADIR_DOMAIN_SUPPORT}, NULL, "support");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(shares_add_up_to_the_penalty),
        test_with_context(terms_are_finite_differences),
        test_with_context(only_the_largest_if_few_are_asked_for),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
