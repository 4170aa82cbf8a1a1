/*
 * test_returns.c: returns of many policies at once, against one solver for each and against Gaussian
 * elimination in long double; their errors are bounds; what is refused is named. On a device, too: with a
 * table of the test's own, which does what an engine does, and with NADIR_TEST_ENGINE on a real one.
 */
#include "support/support.h"

#include "base/context.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/small_model.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 31415

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Policies of a model, and what they return. */
typedef struct batch {
    nadir_model *model;
    nadir_model_data view;
    int64_t count;
    double *probabilities; /* [count * rows] */
    double *returns;       /* [count] */
    double *errors;        /* [count] */
} batch;

/* The same model with another discount. */
static nadir_model *discounted(nadir_context *context, nadir_model *model, double gamma)
{
    nadir_model *made = NULL;
    nadir_model_data data = test_view(model);
    data.discount = gamma;
    assert_ok(context, nadir_model_create(context, &data, &made));
    nadir_model_free(model);
    return made;
}

/* Every kind of policy in turn. Takes the model over. */
static batch batch_make(nadir_context *context, nadir_model *model, int64_t count, nadir_random *random)
{
    batch made = {.model = model, .view = test_view(model), .count = count};
    made.probabilities = test_new(count * made.view.rows, sizeof *made.probabilities);
    made.returns = test_new(count, sizeof *made.returns);
    made.errors = test_new(count, sizeof *made.errors);
    for (int64_t i = 0; i < count; i++) {
        nadir_policy *policy = test_policy(context, model, (test_choice)(i % TEST_CHOICES), random);
        memcpy(made.probabilities + i * made.view.rows, nadir_policy_probabilities(policy),
               (size_t)made.view.rows * sizeof *made.probabilities);
        nadir_policy_free(policy);
    }
    return made;
}

static void batch_clear(batch *at)
{
    free(at->probabilities);
    free(at->returns);
    free(at->errors);
    nadir_model_free(at->model);
}

static nadir_status ask(nadir_context *context, const batch *at, const char *backend)
{
    nadir_solver_settings settings;
    nadir_solver_settings_default(&settings);
    settings.backend = backend;
    memset(at->returns, 0x55, (size_t)at->count * sizeof *at->returns);
    memset(at->errors, 0x55, (size_t)at->count * sizeof *at->errors);
    return nadir_returns(context, at->model, at->count, at->probabilities, &settings, at->returns,
                         at->errors);
}

static nadir_context *context_of(int32_t threads)
{
    nadir_context_settings settings;
    nadir_context *context = NULL;
    nadir_context_settings_default(&settings);
    settings.threads = threads;
    assert_int_equal(nadir_context_create(&settings, &context), NADIR_OK);
    return context;
}

/* mu . v of policy i, and the largest |v|. */
static double truth(const batch *at, int64_t i, const double *kernel, double *scale)
{
    const nadir_model_data *view = &at->view;
    const int64_t n = view->states;
    const double *policy = at->probabilities + i * view->rows;
    long double *average = test_dense_average(at->model, kernel, policy);
    test_system system = test_system_make(n, average, view->discount);
    double *rewards = test_new(2 * n, sizeof *rewards); /* and what is left of them */
    long double *v = test_new(2 * n, sizeof *v);
    long double sum = 0;
    *scale = 0;
    for (int64_t s = 0; s < n; s++) {
        long double reward = 0;
        for (int64_t row = view->state_rows[s]; row < view->state_rows[s + 1]; row++) {
            reward += (long double)policy[row] * view->rewards[row];
        }
        rewards[s] = (double)reward;
        rewards[n + s] = (double)(reward - rewards[s]);
    }
    test_system_solve(&system, false, rewards, v);
    test_system_solve(&system, false, rewards + n, v + n);
    for (int64_t s = 0; s < n; s++) {
        sum += view->initial[s] * (v[s] + v[n + s]);
        *scale = fmax(*scale, fabs((double)v[s]));
    }
    test_system_clear(&system);
    free(average);
    free(rewards);
    free(v);
    return (double)sum;
}

/* Every return is right, its error is a bound, and not a wide one. tolerance: of the largest value. */
static void compare_with_truth(const batch *at, const char *what, double tolerance)
{
    const double gap = 1 - at->view.discount;
    double *kernel = test_dense_kernel(at->model);
    for (int64_t i = 0; i < at->count; i++) {
        double scale;
        const double J = truth(at, i, kernel, &scale);
        const double off = fabs(at->returns[i] - J);
        const double slack = 4 * test_long_unit() * scale / gap * (double)at->view.states +
                             DBL_EPSILON * fabs(J); /* of the truth itself */
        assert_that(off <= tolerance * scale, "%s: policy %lld returns %.17g, expected %.17g", what,
                    (long long)i, at->returns[i], J);
        assert_that(off <= at->errors[i] + slack, "%s: policy %lld is off by %g, more than %g", what,
                    (long long)i, off, at->errors[i]);
        assert_that(at->errors[i] <= 2e-11 * scale / gap + 1e-300, "%s: the error of policy %lld is %g", what,
                    (long long)i, at->errors[i]);
    }
    free(kernel);
}

/* The same as a solver for each. */
static void compare_with_solvers(nadir_context *context, const batch *at, const char *backend,
                                 double tolerance)
{
    for (int64_t i = 0; i < at->count; i++) {
        nadir_policy *policy = NULL;
        nadir_solver *solver = NULL;
        nadir_solver_settings settings;
        nadir_nominal nominal = {.size = sizeof nominal};
        nadir_solver_settings_default(&settings);
        settings.backend = backend;
        assert_ok(context,
                  nadir_policy_create(context, at->model, at->probabilities + i * at->view.rows, &policy));
        assert_ok(context, nadir_solver_create(context, at->model, policy, &settings, &solver));
        assert_ok(context, nadir_solver_nominal(context, solver, &nominal));
        assert_that(
            fabs(at->returns[i] - nominal.nominal_return) <= tolerance * (1 + fabs(nominal.nominal_return)),
            "policy %lld returns %.17g, alone %.17g", (long long)i, at->returns[i], nominal.nominal_return);
        assert_true(at->returns[i] + at->errors[i] >= nominal.lower_bound);
        assert_true(at->returns[i] - at->errors[i] <= nominal.upper_bound);
        nadir_solver_free(solver);
        nadir_policy_free(policy);
    }
}

/* Families of models, absorbing states and chains among them, every discount, backend and number of
 * threads. */
static void test_families_of_models(void **state)
{
    static const double gammas[] = {0, 0.5, 0.99, 0.9999};
    static const char *const backends[] = {NULL, "lapack", "klu", "krylov"};
    (void)state;
    nadir_context *contexts[] = {test_context(), context_of(3)};
    nadir_random random;
    nadir_random_seed(&random, SEED);
    for (size_t f = 0; f < TEST_FAMILIES; f++) {
        for (size_t g = 0; g < LENGTH(gammas); g++) {
            nadir_model *model = test_families[f].make(contexts[0], &random);
            batch at = batch_make(contexts[0], discounted(contexts[0], model, gammas[g]), 7, &random);
            for (size_t b = 0; b < 2 * LENGTH(backends); b++) {
                const char *backend = backends[b / 2];
                nadir_context *context = contexts[b % 2];
                test_note("%s, gamma %g, backend %s, threads %d, seed %d", test_families[f].name, gammas[g],
                          backend != NULL ? backend : "auto", (int)context->threads, SEED);
                const nadir_status status = ask(context, &at, backend);
                if (status == NADIR_ERROR_UNSUPPORTED) { /* klu, of a dense kernel */
                    continue;
                }
                assert_ok(context, status);
                compare_with_truth(&at, "families", 1e-10);
                if (b % 2 == 0) {
                    compare_with_solvers(context, &at, backend, 1e-10);
                }
            }
            batch_clear(&at);
        }
    }
    test_note_clear();
    nadir_context_free(contexts[0]);
    nadir_context_free(contexts[1]);
}

/* A model that is solved on all threads, one policy after another; iterations start from the last one. */
static void test_large_model(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    nadir_random random;
    nadir_random_seed(&random, SEED);
    nadir_generate_settings shape = test_generate_settings();
    shape.states = test_memcheck() ? 1100 : 3000;
    shape.seed = 4;
    batch at = batch_make(context, test_generate(context, "garnet", &shape), 5, &random);
    assert_ok(context, ask(context, &at, NULL));
    compare_with_solvers(context, &at, NULL, 1e-10);
    assert_ok(context, ask(context, &at, context->device != NULL ? "device-krylov" : "krylov"));
    compare_with_solvers(context, &at, NULL, 1e-10);
    batch_clear(&at);
    nadir_context_free(context);
}

/* The same bits again and, where every policy is factored from nothing, whatever the number of threads. */
static void test_same_bits(void **state)
{
    static const char *const backends[] = {"lapack", "klu"};
    (void)state;
    for (size_t b = 0; b < LENGTH(backends); b++) {
        double *first = NULL;
        for (int run = 0; run < 4; run++) {
            nadir_context *context = context_of(run < 2 || b == 1 ? 2 : 5 - run);
            nadir_random random;
            nadir_random_seed(&random, SEED);
            nadir_model *model = test_families[TEST_FAMILIES > 1].make(context, &random);
            batch at = batch_make(context, model, 23, &random);
            assert_ok(context, ask(context, &at, backends[b]));
            if (first == NULL) {
                first = test_new(2 * at.count, sizeof *first);
                memcpy(first, at.returns, (size_t)at.count * sizeof *first);
                memcpy(first + at.count, at.errors, (size_t)at.count * sizeof *first);
            }
            assert_memory_equal(first, at.returns, (size_t)at.count * sizeof *first);
            assert_memory_equal(first + at.count, at.errors, (size_t)at.count * sizeof *first);
            batch_clear(&at);
            nadir_context_free(context);
        }
        free(first);
    }
}

/* ------------------------------------------------------------------------------------- what is refused */

/* Entry `place` of the policies is `value` while they are refused. */
static void refused(nadir_context *context, batch *at, int64_t place, double value, const char *words)
{
    const double before = at->probabilities[place];
    at->probabilities[place] = value;
    test_note("number %lld is %g", (long long)place, value);
    assert_fails(context, ask(context, at, NULL), NADIR_ERROR_POLICY, words);
    at->probabilities[place] = before;
}

static void test_wrong_policies(void **state)
{
    (void)state;
    nadir_random random;
    nadir_random_seed(&random, SEED);
    for (int threads = 1; threads <= 3; threads += 2) {
        nadir_context *context = context_of(threads);
        nadir_generate_settings shape = test_generate_settings();
        shape.states = 6;
        shape.actions = 2;
        batch at = batch_make(context, test_generate(context, "random", &shape), 20001, &random);
        const int64_t rows = at.view.rows;
        assert_int_equal(rows, 12);
        refused(context, &at, 5, -0.25, "policy 0: state 2, action 1: the probability is -0.25");
        refused(context, &at, 17 * rows + 5, NAN, "policy 17: state 2, action 1: the probability is");
        refused(context, &at, 20000 * rows, INFINITY,
                "policy 20000: state 0, action 0: the probability is inf");
        refused(context, &at, 9000 * rows + 11, 1.5,
                "policy 9000: state 5: the probabilities of the actions sum to 2; expected 1");
        /* the first of several, whoever finds it */
        at.probabilities[19000 * rows] = 7;
        refused(context, &at, 12345 * rows + 2, -1, "policy 12345: state 1, action 0: the probability is -1");
        test_note_clear();
        batch_clear(&at);
        nadir_context_free(context);
    }
}

static void test_wrong_arguments(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    test_small_model small;
    const double policies[] = {1, 1, 1, 1};
    double returns[2] = {-7, -7};
    nadir_solver_settings settings;
    test_small_set(&small);
    nadir_model *model = test_small_accept(context, &small);
    assert_fails(context, nadir_returns(context, model, -1, policies, NULL, returns, NULL),
                 NADIR_ERROR_ARGUMENT, "there are -1 policies");
    assert_fails(context, nadir_returns(context, model, INT64_MAX / 8, policies, NULL, returns, NULL),
                 NADIR_ERROR_ARGUMENT, "policies; expected");
    nadir_solver_settings_default(&settings);
    settings.tolerance = 0;
    assert_fails(context, nadir_returns(context, model, 2, policies, &settings, returns, NULL),
                 NADIR_ERROR_ARGUMENT, "tolerance");
    settings.size = 0;
    assert_fails(context, nadir_returns(context, model, 2, policies, &settings, returns, NULL),
                 NADIR_ERROR_ARGUMENT, "size");
    nadir_solver_settings_default(&settings);
    settings.backend = "abacus";
    assert_fails(context, nadir_returns(context, model, 2, policies, &settings, returns, NULL),
                 NADIR_ERROR_ARGUMENT, "no backend 'abacus'");
    assert_ok(context, nadir_returns(context, model, 0, NULL, NULL, NULL, NULL));
    assert_true(returns[0] == -7 && returns[1] == -7);
    assert_ok(context, nadir_returns(context, model, 1, policies, NULL, returns, NULL));
    assert_true(returns[0] > 0 && returns[1] == -7);
    assert_ok(context, nadir_returns(context, model, 2, policies, NULL, returns, NULL));
    assert_true(returns[0] == returns[1]);
    nadir_model_free(model);
    small.data.discount = NAN;
    model = test_small_accept(context, &small);
    assert_fails(context, nadir_returns(context, model, 2, policies, NULL, returns, NULL), NADIR_ERROR_MODEL,
                 "no discount");
    nadir_model_free(model);
    test_small_set(&small);
    small.data.rewards = NULL;
    model = test_small_accept(context, &small);
    assert_fails(context, nadir_returns(context, model, 2, policies, NULL, returns, NULL), NADIR_ERROR_MODEL,
                 "no rewards");
    nadir_model_free(model);
    nadir_context_free(context);
}

/* Next to a discount of one the solvers refuse, and so does this, by the policy's number. */
static void test_next_to_one(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    test_small_model small;
    const double policies[] = {1, 1, 1, 1};
    double returns[2];
    test_small_set(&small);
    small.data.discount = 1 - DBL_EPSILON;
    nadir_model *model = test_small_accept(context, &small);
    assert_fails(context, nadir_returns(context, model, 2, policies, NULL, returns, NULL),
                 NADIR_ERROR_ILL_POSED, "policy 0: I - gamma P is singular to working precision");
    nadir_model_free(model);
    nadir_context_free(context);
}

/* States that pay 1 and -1, with the actions stay and go, next to a discount of one: who stays has a value
 * that double cannot tell, who goes has not. The first who stays is named, whoever finds it. */
static void test_first_failure(void **state)
{
    enum { COUNT = 40 };
    static const double kernel[] = {1, 0, 0, 1, 0, 1, 1, 0};
    static const double rewards[] = {1, 1, -1, -1};
    static const int64_t state_rows[] = {0, 2, 4};
    static const int64_t stays[][2] = {{11, 30}, {39, 39}, {26, 27}};
    double policies[COUNT * 4];
    double returns[COUNT];
    double errors[COUNT];
    nadir_model_data data;
    nadir_model *model = NULL;
    (void)state;
    nadir_model_data_default(&data);
    data.states = 2;
    data.rows = 4;
    data.discount = 1 - 2e-14;
    data.state_rows = state_rows;
    data.dense = kernel;
    data.rewards = rewards;
    data.initial = (const double[]){1, 0};
    for (int k = 0; k < 9; k++) {
        nadir_context *context = k / 3 == 0 ? test_context() : context_of(k / 3 == 1 ? 1 : 3);
        char words[64];
        for (int i = 0; i < COUNT * 4; i++) {
            policies[i] = i % 2; /* go */
        }
        assert_ok(context, nadir_model_create(context, &data, &model));
        assert_ok(context, nadir_returns(context, model, COUNT, policies, NULL, returns, errors));
        for (int i = 0; i < COUNT; i++) {
            assert_that(fabs(returns[i] - 0.5) <= fmin(errors[i], 1e-2), "%.17g", returns[i]);
        }
        for (int j = 0; j < 2; j++) {
            double *pi = policies + 4 * stays[k % 3][j];
            pi[0] = pi[2] = 1;
            pi[1] = pi[3] = 0;
        }
        (void)snprintf(words, sizeof words, "policy %d: I - gamma P is singular", (int)stays[k % 3][0]);
        assert_fails(context, nadir_returns(context, model, COUNT, policies, NULL, returns, errors),
                     NADIR_ERROR_ILL_POSED, words);
        nadir_model_free(model);
        nadir_context_free(context);
    }
}

/* Policies that are off by less than 1e-5 are normalised, and that is said once. */
static void test_normalised(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    nadir_random random;
    nadir_random_seed(&random, SEED);
    nadir_generate_settings shape = test_generate_settings();
    shape.states = 9;
    batch at = batch_make(context, test_generate(context, "random", &shape), 400, &random);
    const int64_t rows = at.view.rows;
    double *expected = test_new(at.count, sizeof *expected);
    double *kept = test_new(rows, sizeof *kept);
    assert_ok(context, ask(context, &at, NULL));
    memcpy(expected, at.returns, (size_t)at.count * sizeof *expected);
    test_messages_clear();
    for (int64_t j = 0; j < rows; j++) {
        at.probabilities[77 * rows + j] *= 1 + 3e-6;
        at.probabilities[301 * rows + j] *= 1 - 2e-6;
    }
    memcpy(kept, at.probabilities + 77 * rows, (size_t)rows * sizeof *kept);
    assert_ok(context, ask(context, &at, NULL));
    for (int64_t i = 0; i < at.count; i++) {
        assert_close(at.returns[i], expected[i], 1e-13);
    }
    assert_non_null(strstr(test_messages(), "policies: 18 states were normalised; the farthest from 1: "
                                            "policy 77, state"));
    assert_null(strchr(strchr(test_messages(), '\n') + 1, '\n'));
    assert_memory_equal(kept, at.probabilities + 77 * rows, (size_t)rows * sizeof *kept);
    free(kept);
    free(expected);
    batch_clear(&at);
    nadir_context_free(context);
}

/* ---------------------------------------------------------------------------------- memory and interrupts */

static nadir_status ask_scarce(nadir_context *context, const void *user)
{
    return ask(context, user, NULL);
}

/* Every allocation fails once; then, with threads that share the policies, every limit. */
static void test_scarce_memory(void **state)
{
    (void)state;
    nadir_random random;
    nadir_random_seed(&random, SEED);
    nadir_context *context = test_context();
    for (int sparse = 0; sparse < 2; sparse++) {
        nadir_generate_settings shape = test_generate_settings();
        shape.states = 12;
        nadir_model *model = test_generate(context, sparse ? "garnet" : "random", &shape);
        batch at = batch_make(context, model, 3, &random);
        at.probabilities[1] *= 1 + 1e-6; /* something is to be normalised */
        test_run_out(ask_scarce, &at, NULL, "returns");
        int refusals = 0;
        nadir_status status = NADIR_ERROR_MEMORY;
        for (size_t limit = 1024; status != NADIR_OK; limit += 256) {
            nadir_context_settings settings;
            nadir_context *limited = NULL;
            nadir_context_settings_default(&settings);
            settings.threads = 3;
            settings.memory_limit = limit;
            if (nadir_context_create(&settings, &limited) != NADIR_OK) {
                continue;
            }
            const size_t before = nadir_context_memory(limited);
            status = ask(limited, &at, NULL);
            refusals += status == NADIR_ERROR_MEMORY;
            assert_true(status == NADIR_OK || status == NADIR_ERROR_MEMORY);
            assert_int_equal(nadir_context_memory(limited), before);
            assert_true(limit < (1 << 24));
            nadir_context_free(limited);
        }
        assert_true(refusals > 3);
        batch_clear(&at);
    }
    nadir_context_free(context);
}

/* Stops at the n-th question, which is asked at once every time. */
typedef struct patience {
    nadir_context *context;
    int left;
} patience;

static int refuse(void *user, const char *task, double share)
{
    patience *of = user;
    assert_true(share < 0 || (share >= 0 && share <= 1));
    assert_true(strlen(task) > 0);
    of->context->progress_time = -1;
    return of->left-- <= 0;
}

static void test_interrupted(void **state)
{
    (void)state;
    nadir_random random;
    nadir_random_seed(&random, SEED);
    nadir_context *context = test_context();
    nadir_generate_settings shape = test_generate_settings();
    shape.states = 10;
    batch at = batch_make(context, test_generate(context, "random", &shape), 40, &random);
    for (int threads = 1; threads <= 2; threads++) {
        for (int left = 0; left < 45; left += 6) {
            nadir_context *hasty = context_of(threads);
            patience of = {hasty, left};
            hasty->progress = refuse;
            hasty->progress_user = &of;
            hasty->progress_time = -1;
            hasty->device = context->device;
            hasty->device_self = context->device_self;
            const nadir_status status = ask(hasty, &at, NULL);
            if (status != NADIR_OK || left < 40) {
                assert_fails(hasty, status, NADIR_ERROR_INTERRUPTED, "interrupted while");
            }
            nadir_context_free(hasty);
        }
    }
    batch_clear(&at);
    nadir_context_free(context);
}

/* ----------------------------------------------------------------------------------------------- a device */

/* What the device was asked. */
static struct {
    const nadir_device *real; /* NULL: this test is the device */
    const nadir_model *model;
    int64_t calls, policies;
    int64_t spoiled; /* every so many policies is given up; 0: none */
    nadir_status status;
} asked;

static nadir_status keep(void *self, nadir_context *context, const nadir_device_rows *rows, void **kept)
{
    (void)self;
    (void)context;
    assert_int_equal(rows->states, test_view(asked.model).states);
    *kept = &asked;
    return NADIR_OK;
}

static void drop(void *kept)
{
    assert_ptr_equal(kept, &asked);
}

/* One policy, as base/device.h says, by Gaussian elimination. */
static nadir_device_return evaluate(const nadir_model_data *view, const nadir_device_returns *of,
                                    const double *kernel, const double *pi)
{
    const int64_t n = view->states;
    nadir_device_return found = {0, INFINITY, -INFINITY, 0};
    long double *average = test_dense_average(asked.model, kernel, pi);
    test_system system = test_system_make(n, average, of->gamma);
    double *rewards = test_new(n, sizeof *rewards);
    long double *v = test_new(n, sizeof *v);
    for (int64_t row = 0, s = 0; row < view->rows; row++) {
        s += row >= view->state_rows[s + 1];
        rewards[s] += pi[row] * of->rewards[row];
    }
    test_system_solve(&system, false, rewards, v);
    for (int64_t s = 0; s < n; s++) {
        double value = 0;
        for (int64_t row = view->state_rows[s]; row < view->state_rows[s + 1]; row++) {
            double product = 0;
            for (int64_t t = n - 1; t >= 0; t--) {
                product += kernel[row * n + t] * (double)v[t];
            }
            value += pi[row] * (of->rewards[row] + of->gamma * product);
        }
        found.mean += of->initial[s] * (double)v[s];
        found.lowest = fmin(found.lowest, value - (double)v[s]);
        found.highest = fmax(found.highest, value - (double)v[s]);
        found.largest = fmax(found.largest, fabs((double)v[s]));
    }
    test_system_clear(&system);
    free(average);
    free(rewards);
    free(v);
    return found;
}

static nadir_status returns(void *kept, nadir_context *context, const nadir_device_returns *of, int64_t count,
                            const double *probabilities, nadir_device_return *found)
{
    const nadir_model_data view = test_view(asked.model);
    asked.calls++;
    asked.policies += count;
    if (asked.status != NADIR_OK) {
        return nadir_fail(context, asked.status, "the device has no room");
    }
    if (asked.real != NULL) {
        return asked.real->returns(kept, context, of, count, probabilities, found);
    }
    double *kernel = test_dense_kernel(asked.model);
    for (int64_t i = 0; i < count; i++) {
        found[i] = evaluate(&view, of, kernel, probabilities + i * view.rows);
        if (asked.spoiled > 0 && i % asked.spoiled == 0) {
            found[i] = i % 2 == 0 ? (nadir_device_return){NAN, NAN, NAN, NAN}
                                  : (nadir_device_return){found[i].mean, -INFINITY, 1, found[i].largest};
        }
    }
    free(kernel);
    return NADIR_OK;
}

/* A context with a device whose returns are counted: the real one if there is one. */
static nadir_context *counting_context(void)
{
    static nadir_device table;
    nadir_context *context = test_context();
    asked.real = context->device;
    table = asked.real != NULL ? *asked.real : (nadir_device){.keep = keep, .drop = drop};
    table.returns = returns;
    context->device = &table;
    asked.calls = 0;
    asked.policies = 0;
    asked.spoiled = 0;
    asked.status = NADIR_OK;
    return context;
}

static void test_device(void **state)
{
    static const double gammas[] = {0, 0.9, 0.9999};
    double largest = 0;
    (void)state;
    nadir_random random;
    nadir_random_seed(&random, SEED);
    nadir_context *context = counting_context();
    nadir_context *here = context_of(2);
    for (size_t f = 0; f < TEST_FAMILIES; f++) {
        for (size_t g = 0; g < LENGTH(gammas); g++) {
            nadir_model *model = test_families[f].make(here, &random);
            batch at = batch_make(here, discounted(here, model, gammas[g]), 40, &random);
            double *expected = test_new(at.count, sizeof *expected);
            assert_ok(here, ask(here, &at, NULL));
            memcpy(expected, at.returns, (size_t)at.count * sizeof *expected);
            for (int64_t j = 0; j < at.view.rows && g == 1; j++) { /* that is to be normalised */
                at.probabilities[5 * at.view.rows + j] *= 1 + 1e-7;
            }
            asked.model = at.model;
            asked.policies = 0;
            asked.spoiled = asked.real == NULL && g == 2 ? 7 : 0;
            test_note("%s, gamma %g, seed %d", test_families[f].name, gammas[g], SEED);
            assert_ok(context, ask(context, &at, f % 2 == 0 ? NULL : "device-lu"));
            assert_int_equal(asked.policies, at.count);
            if (g != 1) {
                compare_with_truth(&at, "device", 1e-10);
            }
            for (int64_t i = 0; i < at.count; i++) {
                assert_close(at.returns[i], expected[i], 1e-10);
                largest = fmax(largest, fabs(at.returns[i] - expected[i]) / (1 + fabs(expected[i])));
            }
            /* a backend of the processor is not the device */
            asked.calls = 0;
            assert_ok(context, ask(context, &at, "lapack"));
            assert_int_equal(asked.calls, 0);
            free(expected);
            batch_clear(&at);
        }
    }
    print_message("returns of a batch differ by %.2g of themselves\n", largest);
    test_note_clear();
    nadir_context_free(here);
    nadir_context_free(context);
}

/* More policies than go there at once, in models up to the largest that are taken; more threads than here
 * would do. */
static void test_device_many(void **state)
{
    static const struct {
        const char *kind;
        int64_t states, count;
    } models[] = {{"random", 3, 30000}, {"random", 64, 3000}, {"garnet", 100, 2000},
                  {"random", 257, 300}, {"random", 512, 40},  {"garnet", 512, 40}};
    (void)state;
    nadir_random random;
    nadir_random_seed(&random, SEED);
    nadir_context *context = counting_context();
    nadir_context *here = context_of(0);
    if (asked.real == NULL) {
        print_message("skipped: NADIR_TEST_ENGINE names no engine with a device\n");
        nadir_context_free(context);
        nadir_context_free(here);
        skip();
    }
    for (size_t m = 0; m < LENGTH(models); m++) {
        nadir_generate_settings shape = test_generate_settings();
        shape.states = models[m].states;
        shape.seed = 9;
        batch at = batch_make(here, test_generate(here, models[m].kind, &shape), models[m].count, &random);
        double *found = test_new(2 * at.count, sizeof *found);
        asked.model = at.model;
        asked.policies = 0;
        test_note("%s, %lld states, seed %d", models[m].kind, (long long)models[m].states, SEED);
        assert_ok(context, ask(context, &at, NULL));
        assert_int_equal(asked.policies, at.count);
        memcpy(found, at.returns, (size_t)at.count * sizeof *found);
        memcpy(found + at.count, at.errors, (size_t)at.count * sizeof *found);
        assert_ok(context, ask(context, &at, NULL));
        assert_memory_equal(found, at.returns, (size_t)at.count * sizeof *found);
        assert_memory_equal(found + at.count, at.errors, (size_t)at.count * sizeof *found);
        assert_ok(here, ask(here, &at, NULL));
        for (int64_t i = 0; i < at.count; i++) {
            assert_close(found[i], at.returns[i], 1e-10);
            assert_true(fabs(found[i] - at.returns[i]) <= found[at.count + i] + at.errors[i]);
        }
        free(found);
        batch_clear(&at);
    }
    test_note_clear();
    nadir_context_free(here);
    nadir_context_free(context);
}

/* A device with room for three policies at a time, for none, and not even for the model. Engines are opened
 * for each: before any other test keeps one open. */
static void test_device_scarce(void **state)
{
    enum { STATES = 64, ROWS = 4 * STATES, EACH = STATES * STATES + STATES + ROWS + 39 };
    static const double fits[] = {3.5, 0.5, -3};
    const char *name = getenv("NADIR_TEST_ENGINE");
    const double model_bytes = 8.0 * ROWS * STATES + 8 * (STATES + 1);
    const double engine_bytes = 8.0 * 4 * 1024;
    nadir_random random;
    (void)state;
    if (name == NULL || *name == '\0') {
        print_message("skipped: NADIR_TEST_ENGINE names no engine with a device\n");
        skip();
    }
    nadir_context *here = context_of(2);
    nadir_random_seed(&random, SEED);
    for (int k = 0; k < 3; k++) {
        nadir_context *context = context_of(2);
        nadir_engine *engine = NULL;
        char bytes[32];
        batch at = batch_make(here, test_generate_dense(here, STATES, 0.95, 3), 20, &random);
        (void)snprintf(bytes, sizeof bytes, "%.0f",
                       model_bytes + engine_bytes + 8 * (ROWS + STATES) + 8 * fits[k] * EACH);
        assert_int_equal(setenv("NADIR_DEVICE_MEMORY", bytes, 1), 0);
        assert_ok(context, nadir_engine_open(context, name, NULL, false, &engine));
        assert_int_equal(unsetenv("NADIR_DEVICE_MEMORY"), 0);
        const nadir_status status = ask(context, &at, NULL);
        if (k == 0) {
            assert_ok(context, status);
            compare_with_truth(&at, "a scarce device", 1e-10);
        } else {
            assert_fails(context, status, NADIR_ERROR_MEMORY, "of the device's memory");
        }
        batch_clear(&at);
        nadir_engine_close(engine, 0, "");
        nadir_context_free(context);
    }
    nadir_context_free(here);
}

/* What the device refuses is refused, with its sentence, and nothing is lost. */
static void test_device_refuses(void **state)
{
    (void)state;
    nadir_random random;
    nadir_random_seed(&random, SEED);
    nadir_context *context = counting_context();
    nadir_context *here = context_of(1);
    nadir_generate_settings shape = test_generate_settings();
    shape.states = 5;
    batch at = batch_make(here, test_generate(here, "random", &shape), 8, &random);
    asked.model = at.model;
    asked.status = NADIR_ERROR_MEMORY;
    const size_t before = nadir_context_memory(context);
    assert_fails(context, ask(context, &at, NULL), NADIR_ERROR_MEMORY, "the device has no room");
    assert_int_equal(nadir_context_memory(context), before);
    asked.status = NADIR_OK;
    assert_ok(context, ask(context, &at, NULL));
    compare_with_truth(&at, "after a refusal", 1e-10);
    batch_clear(&at);
    nadir_context_free(here);
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_scarce),  cmocka_unit_test(test_families_of_models),
        cmocka_unit_test(test_large_model),    cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_wrong_policies), cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_next_to_one),    cmocka_unit_test(test_first_failure),
        cmocka_unit_test(test_normalised),     cmocka_unit_test(test_scarce_memory),
        cmocka_unit_test(test_interrupted),    cmocka_unit_test(test_device),
        cmocka_unit_test(test_device_many),    cmocka_unit_test(test_device_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
