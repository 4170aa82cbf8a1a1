/* test_solver.c: the nominal solution through the public header: known values, degenerate models, errors. */
#include "support/support.h"

#include "support/generated.h"
#include "support/golden.h"
#include "support/reference.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const backends[] = {"lapack", "klu", "krylov", "auto", NULL};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static nadir_nominal solve(nadir_context *context, nadir_model *model, const nadir_policy *policy)
{
    nadir_solver *solver = NULL;
    nadir_nominal result = {.size = sizeof result};
    assert_ok(context, nadir_solver_create(context, model, policy, NULL, &solver));
    assert_ok(context, nadir_solver_nominal(context, solver, &result));
    nadir_solver_free(solver);
    return result;
}

static nadir_nominal solve_uniform(nadir_context *context, nadir_model *model)
{
    nadir_policy *policy = test_uniform_policy(context, model);
    const nadir_nominal result = solve(context, model, policy);
    nadir_policy_free(policy);
    return result;
}

static nadir_optimum_result optimise(nadir_context *context, nadir_model *model)
{
    nadir_policy *policy = NULL;
    nadir_optimum_result result = {.size = sizeof result};
    assert_ok(context, nadir_optimum(context, model, NULL, &policy, &result));
    assert_non_null(policy);
    nadir_policy_free(policy);
    return result;
}

static void test_golden_returns(void **state)
{
    nadir_context *context = *state;
    for (size_t i = 0; i < 2 * TEST_GOLDEN; i++) {
        const test_golden *golden = &test_goldens[i / 2];
        nadir_model *model = test_golden_model(context, golden, i % 2 == 0);
        nadir_policy *policy = test_golden_policy(context, model);
        for (size_t b = 0; b < LENGTH(backends); b++) {
            nadir_solver_settings settings = test_solver_settings();
            settings.backend = backends[b];
            nadir_solver *solver = NULL;
            nadir_nominal result = {.size = sizeof result};
            const nadir_status status = nadir_solver_create(context, model, policy, &settings, &solver);
            if (status == NADIR_ERROR_UNSUPPORTED) {
                continue;
            }
            assert_ok(context, status);
            assert_ok(context, nadir_solver_nominal(context, solver, &result));
            assert_close(result.nominal_return, golden->nominal_return, 1e-9);
            assert_true(result.lower_bound <= result.nominal_return);
            assert_true(result.nominal_return <= result.upper_bound);
            assert_true(result.upper_bound - result.lower_bound < 1e-9 && result.certified);
            assert_true(result.return_difference < 1e-10 && result.residual < 1e-10);
            assert_true(result.solves >= 2);
            assert_true(strcmp(result.backend, b < 3 ? backends[b] : result.backend) == 0);
            nadir_solver_free(solver);
        }
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
}

static void test_generated(void **state)
{
    nadir_context *context = *state;
    nadir_model *river = test_generate(context, "riverswim", NULL);
    nadir_model *machine = test_generate(context, "machine", NULL);
    assert_close(solve_uniform(context, river).nominal_return, 536.031320562, 1e-9);
    assert_close(optimise(context, river).nominal_optimum, 10577.7677937, 1e-9);
    assert_close(solve_uniform(context, machine).nominal_return, -27.7660212278, 1e-9);
    assert_close(optimise(context, machine).nominal_optimum, -9.66788312962, 1e-9);
    nadir_model_free(river);
    nadir_model_free(machine);
}

/* v, d and Q fit together, and are there without asking for the return first. */
static void test_arrays(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    nadir_model *model = test_golden_model(context, &test_goldens[2], true);
    nadir_policy *policy = test_golden_policy(context, model);
    const nadir_model_data view = test_view(model);
    double *v = test_new(view.states, sizeof *v);
    double *d = test_new(view.states, sizeof *d);
    double *q = test_new(view.rows, sizeof *q);
    nadir_solver *solver = NULL;
    nadir_nominal result = {.size = sizeof result};
    assert_ok(context, nadir_solver_create(context, model, policy, NULL, &solver));
    nadir_model_free(model); /* the solver keeps what it needs */
    assert_ok(context, nadir_solver_value(context, solver, v));
    assert_ok(context, nadir_solver_occupancy(context, solver, d));
    assert_ok(context, nadir_solver_q(context, solver, q));
    assert_ok(context, nadir_solver_nominal(context, solver, &result));
    double J = 0;
    double dual = 0;
    for (int64_t s = 0; s < view.states; s++) {
        double average = 0;
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            average += nadir_policy_probabilities(policy)[row] * q[row];
            dual += d[s] * nadir_policy_probabilities(policy)[row] * view.rewards[row];
        }
        assert_close(average, v[s], 1e-12);
        J += view.initial[s] * v[s];
    }
    assert_close(J, result.nominal_return, 1e-12);
    assert_close(dual, result.nominal_return, 1e-12);
    const nadir_nominal before = result;
    assert_ok(context, nadir_solver_nominal(context, solver, &result));
    assert_memory_equal(&before, &result, sizeof result);
    nadir_policy_free(policy);
    nadir_context_free(context);
    nadir_solver_free(solver); /* and outlives its context */
    nadir_solver_free(NULL);
    free(v);
    free(d);
    free(q);
}

/* Two states, each action leads to one of them for sure; rewards as given. */
static nadir_model *make_pair(nadir_context *context, double discount, const double rewards[4])
{
    static const int64_t state_rows[] = {0, 2, 4};
    static const int64_t row_starts[] = {0, 1, 2, 3, 4};
    static const int32_t columns[] = {0, 1, 1, 0};
    static const double probabilities[] = {1, 1, 1, 1};
    static const double initial[] = {1, 0};
    nadir_model_data data = test_model_data();
    data.states = 2;
    data.rows = 4;
    data.discount = discount;
    data.state_rows = state_rows;
    data.row_starts = row_starts;
    data.columns = columns;
    data.probabilities = probabilities;
    data.rewards = rewards;
    data.initial = initial;
    nadir_model *model = test_create_model(context, &data);
    return model;
}

static void test_degenerate(void **state)
{
    nadir_context *context = *state;
    /* gamma 0: the immediate reward, exactly */
    nadir_model *model = make_pair(context, 0, (const double[]){1, 2, 5, 3});
    assert_true(solve_uniform(context, model).nominal_return == 1.5);
    nadir_optimum_result best = optimise(context, model);
    assert_close(best.nominal_optimum, 2, 1e-15);
    assert_null(best.backend);
    nadir_model_free(model);
    /* all rewards the same: c / (1 - gamma), whatever is done */
    model = make_pair(context, 0.75, (const double[]){-3, -3, -3, -3});
    nadir_nominal result = solve_uniform(context, model);
    assert_close(result.nominal_return, -12, 1e-14);
    assert_true(result.certified && result.lower_bound <= -12 && -12 <= result.upper_bound);
    best = optimise(context, model);
    assert_true(best.lower_bound <= -12 && -12 <= best.upper_bound);
    nadir_model_free(model);
    /* no rewards to speak of: bounds of zero width are certified, too */
    model = make_pair(context, 0.9, (const double[]){0, 0, 0, 0});
    result = solve_uniform(context, model);
    assert_true(result.nominal_return == 0 && result.lower_bound == 0 && result.upper_bound == 0);
    assert_true(result.certified);
    assert_true(optimise(context, model).upper_bound == 0);
    nadir_model_free(model);
    /* go to state 1 and stay: 0 + gamma 1 / (1 - gamma); and a state that the policy never reaches */
    model = make_pair(context, 0.9, (const double[]){0.5, 0, 1, 0});
    assert_close(optimise(context, model).nominal_optimum, 9, 1e-14);
    nadir_policy *stay = NULL;
    assert_ok(context, nadir_policy_create_deterministic(context, model, (const int64_t[]){0, 0}, &stay));
    assert_close(solve(context, model, stay).nominal_return, 5, 1e-14);
    nadir_policy_free(stay);
    nadir_model_free(model);
}

/* Rounding alone makes the bounds wide here, and they say so; but nothing cancels nor cycles. */
static void test_discount_near_one(void **state)
{
    nadir_context *context = *state;
    nadir_generate_settings generate = test_generate_settings();
    generate.states = 40;
    generate.discount = 1 - 1e-10;
    nadir_model *model = test_generate(context, "riverswim", &generate);
    const nadir_nominal result = solve_uniform(context, model);
    assert_true(result.lower_bound <= result.nominal_return && result.nominal_return <= result.upper_bound);
    for (size_t b = 0; b < LENGTH(backends); b++) {
        nadir_optimum_settings settings = test_optimum_settings();
        settings.backend = backends[b];
        nadir_policy *policy = NULL;
        nadir_optimum_result best = {.size = sizeof best};
        assert_ok(context, nadir_optimum(context, model, &settings, &policy, &best));
        assert_true(best.lower_bound <= best.nominal_optimum && best.nominal_optimum <= best.upper_bound);
        assert_true(best.upper_bound - best.lower_bound < 1e-3 * best.nominal_optimum);
        assert_string_equal(best.stop_reason, "stable");
        assert_true(best.iterations < 30 && result.nominal_return < best.upper_bound);
        nadir_policy_free(policy);
    }
    nadir_model_free(model);
}

static void test_not_finite(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = make_pair(context, 0.99, (const double[]){1e308, 1e308, 1e308, 1e308});
    nadir_policy *best = NULL;
    nadir_solver *solver = NULL;
    nadir_nominal result = {.size = sizeof result};
    nadir_optimum_result optimum = {.size = sizeof optimum};
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_solver_create(context, model, policy, NULL, &solver));
    assert_int_equal(nadir_solver_nominal(context, solver, &result), NADIR_ERROR_NOT_CONVERGED);
    assert_int_equal(nadir_optimum(context, model, NULL, &best, &optimum), NADIR_ERROR_NOT_CONVERGED);
    assert_null(best);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

static void test_limit(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_generate(context, "riverswim", NULL);
    nadir_optimum_settings settings = test_optimum_settings();
    settings.iterations_limit = 1;
    settings.tolerance = 1e-16;
    nadir_policy *policy = NULL;
    nadir_optimum_result result = {.size = sizeof result};
    assert_fails(context, nadir_optimum(context, model, &settings, &policy, &result),
                 NADIR_ERROR_NOT_CONVERGED, "the limit");
    assert_non_null(policy);
    assert_string_equal(result.stop_reason, "iterations");
    assert_int_equal(result.iterations, 1);
    assert_true(result.lower_bound <= 10577.7677937 && 10577.7677937 <= result.upper_bound);
    assert_true(solve(context, model, policy).upper_bound >= result.lower_bound);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

static void test_wrong_models(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = make_pair(context, 0.9, (const double[]){1, 2, 3, 4});
    nadir_model *endless = make_pair(context, NAN, (const double[]){1, 2, 3, 4});
    nadir_model *unpaid = make_pair(context, 0.9, NULL);
    nadir_model *river = test_generate(context, "riverswim", NULL);
    nadir_policy *best = NULL;
    nadir_solver *solver = NULL;
    nadir_optimum_result optimum = {.size = sizeof optimum};
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_fails(context, nadir_solver_create(context, endless, policy, NULL, &solver), NADIR_ERROR_MODEL,
                 "no discount; give one, e.g. --discount 0.95");
    assert_fails(context, nadir_solver_create(context, unpaid, policy, NULL, &solver), NADIR_ERROR_MODEL,
                 "no rewards; PRISM and PETSc models take them from a file of their own, --rewards");
    assert_fails(context, nadir_optimum(context, endless, NULL, &best, &optimum), NADIR_ERROR_MODEL,
                 "--discount");
    assert_fails(context, nadir_optimum(context, unpaid, NULL, &best, &optimum), NADIR_ERROR_MODEL,
                 "--rewards");
    assert_fails(context, nadir_solver_create(context, river, policy, NULL, &solver), NADIR_ERROR_POLICY,
                 "the policy is for 2 states and 4 rows; the model has 6 and 12");
    assert_null(best);
    assert_null(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_model_free(endless);
    nadir_model_free(unpaid);
    nadir_model_free(river);
}

static void test_wrong_solver_settings(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    nadir_context *other = test_context();
    nadir_model *model = make_pair(context, 0.9, (const double[]){1, 2, 3, 4});
    nadir_solver *solver = NULL;
    nadir_nominal result = {.size = sizeof result};
    nadir_policy *policy = test_uniform_policy(context, model);
    nadir_solver_settings settings = test_solver_settings();
    settings.backend = "abacus";
    assert_fails(context, nadir_solver_create(context, model, policy, &settings, &solver),
                 NADIR_ERROR_ARGUMENT, "there is no backend 'abacus'");
    settings = (nadir_solver_settings){.size = sizeof settings, .tolerance = 0};
    assert_fails(context, nadir_solver_create(context, model, policy, &settings, &solver),
                 NADIR_ERROR_ARGUMENT, "the tolerance is 0");
    settings.size = 0;
    assert_fails(context, nadir_solver_create(context, model, policy, &settings, &solver),
                 NADIR_ERROR_ARGUMENT, "the size of the solver settings is not set");
    assert_null(solver);
    assert_ok(context, nadir_solver_create(context, model, policy, NULL, &solver));
    assert_fails(other, nadir_solver_nominal(other, solver, &result), NADIR_ERROR_ARGUMENT,
                 "another context");
    result.size = 0;
    assert_fails(context, nadir_solver_nominal(context, solver, &result), NADIR_ERROR_ARGUMENT,
                 "the size of the nominal result is not set");
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_context_free(other);
    nadir_context_free(context);
}

static void test_wrong_optimum_settings(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = make_pair(context, 0.9, (const double[]){1, 2, 3, 4});
    nadir_policy *best = NULL;
    nadir_optimum_result optimum = {.size = sizeof optimum};
    nadir_optimum_settings search;
    nadir_optimum_settings_default(&search);
    search.backend = "abacus";
    assert_fails(context, nadir_optimum(context, model, &search, &best, &optimum), NADIR_ERROR_ARGUMENT,
                 "there is no backend 'abacus'");
    nadir_optimum_settings_default(&search);
    search.tolerance = NAN;
    assert_fails(context, nadir_optimum(context, model, &search, &best, &optimum), NADIR_ERROR_ARGUMENT,
                 "the tolerance is nan");
    nadir_optimum_settings_default(&search);
    search.iterations_limit = 0;
    assert_fails(context, nadir_optimum(context, model, &search, &best, &optimum), NADIR_ERROR_ARGUMENT,
                 "the limit of iterations 0");
    search.size = 1;
    assert_fails(context, nadir_optimum(context, model, &search, &best, &optimum), NADIR_ERROR_ARGUMENT,
                 "the size of the optimum settings is not set");
    optimum.size = 0;
    assert_fails(context, nadir_optimum(context, model, NULL, &best, &optimum), NADIR_ERROR_ARGUMENT,
                 "the size of the optimum result is not set");
    assert_null(best);
    nadir_model_free(model);
}

/* A caller with an older, shorter struct gets what it has room for. */
static void test_shorter_result(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_generate(context, "riverswim", NULL);
    nadir_policy *policy = NULL;
    nadir_optimum_result result;
    memset(&result, 0x55, sizeof result);
    result.size = offsetof(nadir_optimum_result, lower_bound);
    const double untouched = result.lower_bound;
    assert_ok(context, nadir_optimum(context, model, NULL, &policy, &result));
    assert_close(result.nominal_optimum, 10577.7677937, 1e-9);
    assert_true(memcmp(&result.lower_bound, &untouched, sizeof untouched) == 0);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

static int refuse(void *user, const char *task, double share)
{
    (void)share;
    const char **seen = user;
    *seen = task;
    return 1;
}

static void test_interrupted(void **state)
{
    (void)state;
    const char *seen = NULL;
    nadir_context *patient = test_context();
    nadir_context *context = test_context_progress(refuse, &seen);
    nadir_model *model = make_pair(patient, 0.9, (const double[]){1, 2, 3, 4});
    nadir_context_free(patient);
    nadir_policy *policy = NULL;
    nadir_optimum_result result = {.size = sizeof result};
    assert_fails(context, nadir_optimum(context, model, NULL, &policy, &result), NADIR_ERROR_INTERRUPTED,
                 "interrupted while improving the policy");
    assert_string_equal(seen, "improving the policy");
    assert_null(policy);
    nadir_model_free(model);
    nadir_context_free(context);
}

/* Every allocation fails once: a clean status, nothing lost. */
static void test_scarce_memory(void **state)
{
    (void)state;
    for (size_t b = 0; b < 3; b++) {
        nadir_status status = NADIR_ERROR_MEMORY;
        for (int64_t allowed = 0; status != NADIR_OK; allowed++) {
            test_scarce scarce;
            nadir_context *context = test_scarce_context(&scarce);
            nadir_model *model = test_golden_model(context, &test_goldens[2], true);
            nadir_policy *policy = test_golden_policy(context, model);
            nadir_policy *best = NULL;
            nadir_solver *solver = NULL;
            nadir_nominal result = {.size = sizeof result};
            nadir_optimum_result optimum = {.size = sizeof optimum};
            nadir_solver_settings settings = test_solver_settings();
            nadir_optimum_settings search = test_optimum_settings();
            settings.backend = search.backend = backends[b];
            scarce.left = allowed;
            status = nadir_solver_create(context, model, policy, &settings, &solver);
            if (status == NADIR_OK) {
                status = nadir_solver_nominal(context, solver, &result);
            }
            if (status == NADIR_OK) {
                status = nadir_optimum(context, model, &search, &best, &optimum);
            }
            assert_true(status == NADIR_OK || status == NADIR_ERROR_MEMORY);
            assert_true(allowed < 1000);
            nadir_solver_free(solver);
            nadir_policy_free(best);
            nadir_policy_free(policy);
            nadir_model_free(model);
            test_scarce_end(&scarce, context);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_golden_returns),
        test_with_context(test_generated),
        cmocka_unit_test(test_arrays),
        test_with_context(test_degenerate),
        test_with_context(test_discount_near_one),
        test_with_context(test_not_finite),
        test_with_context(test_limit),
        test_with_context(test_wrong_models),
        cmocka_unit_test(test_wrong_solver_settings),
        test_with_context(test_wrong_optimum_settings),
        test_with_context(test_shorter_result),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
