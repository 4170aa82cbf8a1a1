/*
 * The worst case of the difference of two policies: identities, limits, refusals, files, memory that runs
 * out.
 */
#include "support/support.h"

#include "support/families.h"
#include "support/generated.h"
#include "support/golden.h"
#include "support/miniature.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One golden model with two policies. */
typedef struct duel {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy[2];
    nadir_solver *solver[2];
} duel;

static nadir_policy *optimal(nadir_context *context, nadir_model *model)
{
    nadir_policy *policy = NULL;
    nadir_optimum_result result = {.size = sizeof result};
    assert_ok(context, nadir_optimum(context, model, NULL, &policy, &result));
    return policy;
}

static duel duel_of(nadir_context *context, nadir_model *model)
{
    duel made = {.context = context, .model = model};
    assert_ok(context, nadir_policy_create_uniform(context, model, &made.policy[1]));
    made.policy[0] = optimal(context, model);
    made.solver[0] = test_solver(context, model, made.policy[0]);
    made.solver[1] = test_solver(context, model, made.policy[1]);
    return made;
}

static duel duel_make(int golden, bool csr)
{
    nadir_context *context = test_context();
    return duel_of(context, test_golden_model(context, &test_goldens[golden], csr));
}

static void duel_clear(duel *made)
{
    for (int i = 0; i < 2; i++) {
        nadir_solver_free(made->solver[i]);
        nadir_policy_free(made->policy[i]);
    }
    nadir_model_free(made->model);
}

static nadir_difference difference(const duel *at, int a, int b, const nadir_ball *ball,
                                   const nadir_robust_settings *settings, nadir_worst **worst)
{
    nadir_difference result = {.size = sizeof result};
    assert_ok(at->context, nadir_solver_difference(at->context, at->solver[a], at->solver[b], ball, settings,
                                                   &result, worst));
    assert_that(result.lower_bound <= result.worst && result.worst <= result.upper_bound,
                "%.17g is not between %.17g and %.17g", result.worst, result.lower_bound, result.upper_bound);
    return result;
}

/* Rows of the explanation add up to what the kernel does to the difference. */
static void check_explained(const duel *at, const nadir_difference *result, nadir_worst *worst)
{
    enum { MOST = 4096 };
    nadir_damage *damages = test_new(MOST, sizeof *damages);
    int64_t found;
    int64_t changed;
    double all;
    double sum = 0;
    for (int i = 0; i < MOST; i++) {
        damages[i].size = sizeof *damages;
    }
    assert_ok(at->context, nadir_worst_explain(at->context, worst, MOST, damages, &found, &changed, &all));
    assert_true(changed > 0 && found == changed);
    for (int64_t i = 0; i < found; i++) {
        sum += damages[i].penalty;
    }
    assert_close(all, result->nominal - result->worst, 1e-10);
    assert_close(sum, all, 1e-10);
    free(damages);
    nadir_worst_free(worst);
}

/* The same numbers however rows are stored; the best of A - B is the worst of B - A. */
static void test_identities(void **state)
{
    (void)state;
    static const nadir_domain domains[] = {NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT, NADIR_DOMAIN_FREE};
    nadir_robust_settings best = test_robust_settings();
    best.optimistic = true;
    duel dense = duel_make(0, false);
    duel listed = duel_make(0, true);
    for (int i = 0; i < 3; i++) {
        const double radius = 0.02;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domains[i], 2, &radius, NULL);
        test_note("%s", test_ball_name(&ball));
        nadir_worst *worst[3] = {NULL, NULL, NULL};
        const nadir_difference a = difference(&dense, 0, 1, &ball, NULL, &worst[0]);
        const nadir_difference b = difference(&listed, 0, 1, &ball, NULL, &worst[1]);
        const nadir_difference turned = difference(&dense, 1, 0, &ball, &best, &worst[2]);
        check_explained(&dense, &a, worst[0]);
        check_explained(&listed, &b, worst[1]);
        check_explained(&dense, &turned, worst[2]);
        assert_true(a.certified && b.certified && turned.certified);
        assert_string_equal(a.certificate, "rigorous");
        assert_string_equal(a.bound, "second-order");
        assert_that(a.kappa > 0 && a.kappa <= 0.5, "kappa is %g", a.kappa);
        assert_close(a.worst, b.worst, 1e-11);
        assert_close(a.worst, -turned.worst, 1e-11);
        assert_close(a.nominal, -turned.nominal, 1e-13);
        assert_close(a.lower_bound, -turned.upper_bound, 1e-8);
        assert_true(a.worst < a.nominal);
        assert_true(a.decoupled_bound < a.lower_bound);
    }
    test_note_clear();
    duel_clear(&dense);
    nadir_context_free(dense.context);
    duel_clear(&listed);
    nadir_context_free(listed.context);
}

/* To first order in the radius f falls by |G|: from below beta |G| is what the free ball takes. */
static void test_small_radius(void **state)
{
    (void)state;
    duel at = duel_make(1, false);
    nadir_model_data view = test_view(at.model);
    double *numbers = test_new(4 * view.states, sizeof *numbers);
    const double *pi[2];
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        assert_ok(at.context, nadir_solver_value(at.context, at.solver[i], numbers + 2 * i * view.states));
        assert_ok(at.context,
                  nadir_solver_occupancy(at.context, at.solver[i], numbers + (2 * i + 1) * view.states));
        pi[i] = nadir_policy_probabilities(at.policy[i]);
    }
    for (int64_t s = 0; s < view.states; s++) {
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            double mean = 0;
            double square = 0;
            for (int64_t t = 0; t < view.states; t++) {
                const double g = view.discount *
                                 (numbers[view.states + s] * pi[0][row] * numbers[t] -
                                  numbers[3 * view.states + s] * pi[1][row] * numbers[2 * view.states + t]);
                mean += g / (double)view.states;
                square += g * g;
            }
            sum += square - (double)view.states * mean * mean;
        }
    }
    const double radius = 1e-6;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    const nadir_difference result = difference(&at, 0, 1, &ball, NULL, NULL);
    assert_close((result.nominal - result.worst) / radius / sqrt(sum), 1, 1e-4);
    free(numbers);
    duel_clear(&at);
    nadir_context_free(at.context);
}

/* Sets of one kernel, and policies that are the same. */
static void test_nothing_to_do(void **state)
{
    (void)state;
    duel at = duel_make(2, true);
    double radius = 0;
    nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    nadir_difference result = difference(&at, 0, 1, &ball, NULL, NULL);
    assert_true(result.worst == result.nominal || fabs(result.worst - result.nominal) < 1e-12);
    assert_true(result.certified);
    assert_string_equal(result.bound, "nominal");
    radius = 0.3;
    result = difference(&at, 1, 1, &ball, NULL, NULL);
    assert_true(result.worst == 0 && result.lower_bound == 0 && result.upper_bound == 0);
    assert_string_equal(result.bound, "identical");
    assert_true(result.certified);
    nadir_model_data view = test_view(at.model);
    double *pinned = test_new(view.rows, sizeof *pinned);
    ball.scales = pinned;
    result = difference(&at, 0, 1, &ball, NULL, NULL);
    assert_true(result.certified);
    assert_close(result.worst, result.nominal, 1e-13);
    free(pinned);
    duel_clear(&at);
    nadir_context_free(at.context);
}

/* Rewards of any size scale everything; no discount leaves nothing to change. */
static void test_sizes(void **state)
{
    static const double sizes[] = {1e-150, 1e-9, 1, 1e150};
    nadir_context *context = *state;
    const double radius = 0.05;
    double first = 0;
    for (int i = 0; i < 4; i++) {
        nadir_model *plain = test_golden_model(context, &test_goldens[0], false);
        duel at = duel_of(context, test_model_rewarded(context, plain, sizes[i], 0));
        static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
        for (int j = 0; j < 3; j++) {
            const nadir_ball ball = test_ball(sets[j], NADIR_DOMAIN_SIMPLEX, j == 1 ? 1 : 2, &radius, NULL);
            test_note("rewards of %g, %s", sizes[i], test_ball_name(&ball));
            const nadir_difference result = difference(&at, 0, 1, &ball, NULL, NULL);
            assert_true(isfinite(result.lower_bound) && isfinite(result.upper_bound));
            if (j == 0) {
                first = i == 0 ? result.worst / sizes[i] : first;
                assert_close(result.worst / sizes[i], first, 1e-9);
            }
        }
        duel_clear(&at);
        nadir_model_free(plain);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    duel at = duel_make(0, false);
    duel other = duel_of(at.context, test_golden_model(at.context, &test_goldens[0], false));
    nadir_difference result = {.size = sizeof result};
    double radius = 50;
    nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    assert_fails(at.context,
                 nadir_solver_difference(at.context, at.solver[0], at.solver[1], &ball, NULL, &result, NULL),
                 NADIR_ERROR_ILL_POSED, "breakdown is at");
    assert_fails(
        at.context,
        nadir_solver_difference(at.context, at.solver[0], other.solver[1], &ball, NULL, &result, NULL),
        NADIR_ERROR_ARGUMENT, "two models");
    assert_null(result.stop_reason);
    result.size = 0;
    radius = 0.01;
    assert_fails(at.context,
                 nadir_solver_difference(at.context, at.solver[0], at.solver[1], &ball, NULL, &result, NULL),
                 NADIR_ERROR_ARGUMENT, "size");
    duel_clear(&at);
    duel_clear(&other);
    nadir_context_free(other.context);
}

/* Rectangular, any sign: between where the contraction holds and where an equation has no root nothing is
 * known. */
static void test_unproven(void **state)
{
    (void)state;
    duel at = duel_make(0, false);
    nadir_robust_settings settings = test_robust_settings();
    int refused = 0;
    double radius = 0.01;
    for (int i = 0; i < 10; i++) {
        radius *= 1.5;
        const nadir_ball ball = test_ball(NADIR_SET_SA, NADIR_DOMAIN_FREE, 2, &radius, NULL);
        nadir_difference result = {.size = sizeof result};
        const nadir_status status =
            nadir_solver_difference(at.context, at.solver[0], at.solver[1], &ball, &settings, &result, NULL);
        if (status == NADIR_ERROR_UNSUPPORTED) {
            refused++;
            assert_fails(at.context, status, NADIR_ERROR_UNSUPPORTED, "nothing finite can be proven");
            assert_null(result.stop_reason);
        } else if (status != NADIR_ERROR_ILL_POSED) {
            assert_ok(at.context, status);
            assert_true(isfinite(result.lower_bound));
        }
    }
    assert_true(refused > 0);
    duel_clear(&at);
    nadir_context_free(at.context);
}

static void test_certify_off_and_files(void **state)
{
    (void)state;
    duel at = duel_make(2, true);
    nadir_worst *worst = NULL;
    nadir_model *model = NULL;
    const double radius = 0.1;
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_OFF;
    const nadir_ball ball = test_ball(NADIR_SET_S, NADIR_DOMAIN_SUPPORT, 1, &radius, NULL);
    const nadir_difference result = difference(&at, 0, 1, &ball, &settings, &worst);
    assert_false(result.certified);
    assert_string_equal(result.certificate, "none");
    assert_true(isinf(result.lower_bound));
    assert_true(isfinite(result.upper_bound));
    assert_ok(at.context, nadir_worst_write(at.context, worst, "kernel.npz"));
    assert_fails(at.context, nadir_worst_write_witness(at.context, worst, "witness.json"),
                 NADIR_ERROR_UNSUPPORTED, "no witness");
    assert_ok(at.context, nadir_worst_model(at.context, worst, &model));
    double J[2];
    for (int i = 0; i < 2; i++) { /* other code: the nominal solution of the model with that kernel */
        nadir_solver *solver = test_solver(at.context, model, at.policy[i]);
        nadir_nominal nominal = {.size = sizeof nominal};
        assert_ok(at.context, nadir_solver_nominal(at.context, solver, &nominal));
        J[i] = nominal.nominal_return;
        nadir_solver_free(solver);
    }
    assert_close(J[0] - J[1], result.worst, 1e-11);
    nadir_model_free(model);
    nadir_worst_free(worst);
    duel_clear(&at);
    nadir_context_free(at.context);
}

static nadir_status run_out(nadir_context *context, const void *of)
{
    const nadir_domain *domain = of;
    nadir_model *model = NULL;
    nadir_policy *policy[2] = {NULL, NULL};
    nadir_solver *solver[2] = {NULL, NULL};
    nadir_worst *worst = NULL;
    nadir_difference result = {.size = sizeof result};
    nadir_optimum_result optimum = {.size = sizeof optimum};
    nadir_robust_settings settings = test_robust_settings();
    settings.tolerance = 0.3; /* few steps */
    const double radius = 0.05;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, *domain, 2, &radius, NULL);
    nadir_status status = nadir_model_generate(context, "forest", NULL, &model);
    if (status == NADIR_OK) {
        status = nadir_policy_create_uniform(context, model, &policy[0]);
    }
    if (status == NADIR_OK) {
        status = nadir_optimum(context, model, NULL, &policy[1], &optimum);
    }
    for (int i = 0; i < 2 && status == NADIR_OK; i++) {
        status = nadir_solver_create(context, model, policy[i], NULL, &solver[i]);
    }
    if (status == NADIR_OK) {
        status = nadir_solver_difference(context, solver[0], solver[1], &ball, &settings, &result, &worst);
    }
    nadir_worst_free(worst);
    for (int i = 0; i < 2; i++) {
        nadir_solver_free(solver[i]);
        nadir_policy_free(policy[i]);
    }
    nadir_model_free(model);
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    test_run_out(run_out, &(nadir_domain){NADIR_DOMAIN_SIMPLEX}, NULL, "difference");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_small_radius),
        cmocka_unit_test(test_nothing_to_do),
        test_with_context(test_sizes),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_unproven),
        cmocka_unit_test(test_certify_off_and_files),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
