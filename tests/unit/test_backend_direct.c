/* test_backend_direct.c: backends lapack and klu, against plain elimination. */
#include "support/support.h"

#include "core/random.h"
#include "model/average.h"
#include "solve/backend.h"
#include "support/generated.h"
#include "support/scarce.h"
#include "support/setting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SIDES 9

#define DIRECT 2
static const nadir_backend *const direct[DIRECT] = {&nadir_backend_lapack, &nadir_backend_klu};

static const double gammas[] = {0, 0.5, 0.99, 0.9999};
#define GAMMAS (sizeof gammas / sizeof *gammas)

/* A = I - gamma P^pi, row after row, from the rows of the model. */
static double *make_system(const test_setting *from, double gamma)
{
    const nadir_model_data view = test_view(from->model);
    const double *policy = nadir_policy_probabilities(from->policy);
    const int64_t n = view.states;
    double *a = test_calloc((size_t)(n * n), sizeof *a);
    for (int64_t s = 0; s < n; s++) {
        a[s * n + s] = 1;
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            for (int64_t t = 0; t < n; t++) {
                a[s * n + t] -= gamma * policy[row] * test_probability(from->model, row, t);
            }
        }
    }
    return a;
}

/* Elimination with row pivoting, as in a textbook; a is transposed first if asked for and overwritten. */
static void eliminate(int64_t n, double *a, bool transposed, double *x)
{
    for (int64_t i = 0; transposed && i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            const double swap = a[i * n + j];
            a[i * n + j] = a[j * n + i];
            a[j * n + i] = swap;
        }
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++) {
            pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
        }
        for (int64_t j = 0; j < n; j++) {
            const double swap = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = swap;
        }
        const double right = x[k];
        x[k] = x[pivot];
        x[pivot] = right;
        for (int64_t i = k + 1; i < n; i++) {
            const double factor = a[i * n + k] / a[k * n + k];
            for (int64_t j = k; j < n; j++) {
                a[i * n + j] -= factor * a[k * n + j];
            }
            x[i] -= factor * x[k];
        }
    }
    for (int64_t k = n - 1; k >= 0; k--) {
        for (int64_t j = k + 1; j < n; j++) {
            x[k] -= a[k * n + j] * x[j];
        }
        x[k] /= a[k * n + k];
    }
}

static void fill_random(uint64_t seed, int64_t count, double *x)
{
    nadir_random random = test_random(seed);
    for (int64_t i = 0; i < count; i++) {
        x[i] = nadir_random_uniform(&random) - 0.5;
    }
}

/* Within 1e-10 of the largest entry of `right`. */
static void compare(int64_t n, const double *x, const double *right, const char *what, double gamma)
{
    double scale = 0;
    for (int64_t i = 0; i < n; i++) {
        scale = fmax(scale, fabs(right[i]));
    }
    for (int64_t i = 0; i < n; i++) {
        if (!(fabs(x[i] - right[i]) <= 1e-10 * scale)) {
            print_error("%s, gamma %g: entry %lld is %.17g, expected %.17g\n", what, gamma, (long long)i,
                        x[i], right[i]);
            fail();
        }
    }
}

/* A solver's products with `count` right-hand sides against elimination with `system` (not changed). */
static void check_solves(nadir_context *context, const nadir_backend *backend, void *self, int64_t n,
                         const double *system, double gamma, int64_t count)
{
    double *b = test_calloc((size_t)(n * count), sizeof *b);
    double *kept = test_calloc((size_t)(n * count), sizeof *kept);
    double *x = test_calloc((size_t)(n * count), sizeof *x);
    double *a = test_calloc((size_t)(n * n), sizeof *a);
    double *right = test_calloc((size_t)n, sizeof *right);
    fill_random(11, n * count, b);
    memcpy(kept, b, (size_t)(n * count) * sizeof *b);
    for (int transposed = 0; transposed < 2; transposed++) {
        fill_random(12, n * count, x); /* a guess that must not matter */
        assert_ok(context, backend->solve(context, self, transposed, count, b, 0, x));
        assert_memory_equal(b, kept, (size_t)(n * count) * sizeof *b);
        for (int64_t j = 0; j < count; j++) {
            memcpy(a, system, (size_t)(n * n) * sizeof *a);
            memcpy(right, b + j * n, (size_t)n * sizeof *right);
            eliminate(n, a, transposed, right);
            compare(n, x + j * n, right, backend->name, gamma);
        }
    }
    test_free(b);
    test_free(kept);
    test_free(x);
    test_free(a);
    test_free(right);
}

static bool takes(const nadir_backend *backend, const nadir_average *average)
{
    const unsigned needed = average->dense != NULL ? NADIR_BACKEND_DENSE : NADIR_BACKEND_SPARSE;
    return (backend->capabilities & needed) != 0;
}

/* Every direct backend, every gamma; frees the model. */
static void check_model(nadir_context *context, nadir_model *model)
{
    static const int64_t counts[] = {1, 2, 5, MOST_SIDES};
    test_setting made = test_setting_make(context, model);
    for (size_t i = 0; i < DIRECT * GAMMAS; i++) {
        const nadir_backend *backend = direct[i / GAMMAS];
        const double gamma = gammas[i % GAMMAS];
        if (!takes(backend, &made.average)) {
            continue;
        }
        double *system = make_system(&made, gamma);
        void *self = NULL;
        assert_ok(context, backend->setup(context, &made.average, gamma, &self));
        int64_t solves = 0;
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
            check_solves(context, backend, self, made.average.states, system, gamma, counts[j]);
            solves += 2 * counts[j];
        }
        nadir_backend_statistics statistics;
        backend->statistics(self, &statistics);
        assert_int_equal(statistics.factorings, 1);
        assert_int_equal(statistics.solves, solves);
        assert_int_equal(statistics.iterations, 0);
        assert_true(statistics.bytes > made.average.states * (int64_t)sizeof(double));
        assert_true(statistics.factor_seconds >= 0);
        backend->destroy(context, self);
        test_free(system);
    }
    test_setting_clear(&made);
}

static void test_against_elimination(void **state)
{
    nadir_context *context = *state;
    check_model(context, test_generate_states(context, "random", 1));
    check_model(context, test_generate_states(context, "random", 32));
    check_model(context, test_generate_states(context, "garnet", 40));
    check_model(context, test_generate_states(context, "riverswim", 50));
    check_model(context, test_generate_states(context, "gridworld", 6));
    check_model(context, test_sparse_model(context, 33, test_row_hub));
    check_model(context, test_sparse_model(context, 31, test_row_absorbing));
    check_model(context, test_sparse_model(context, 1, test_row_absorbing));
    check_model(context, test_rich_model(context));
}

/* Uneven, all positive. */
static nadir_policy *other_policy(nadir_context *context, const nadir_model *model)
{
    const nadir_model_data view = test_view(model);
    double *p = test_calloc((size_t)view.rows, sizeof *p);
    for (int64_t s = 0; s < view.states; s++) {
        const int64_t count = view.state_rows[s + 1] - view.state_rows[s];
        for (int64_t i = 0; i < count; i++) {
            p[view.state_rows[s] + i] = 2.0 * (double)(i + 1) / (double)(count * (count + 1));
        }
    }
    nadir_policy *policy = NULL;
    assert_ok(context, nadir_policy_create(context, model, p, &policy));
    test_free(p);
    return policy;
}

static void test_refactor(void **state)
{
    nadir_context *context = *state;
    static const char *const kinds[] = {"random", "garnet"};
    for (size_t i = 0; i < 2 * DIRECT; i++) {
        test_setting made = test_setting_make(context, test_generate_states(context, kinds[i % 2], 30));
        const nadir_backend *backend = direct[i / 2];
        if (takes(backend, &made.average)) {
            void *self = NULL;
            assert_ok(context, backend->setup(context, &made.average, 0.99, &self));
            nadir_policy_free(made.policy);
            made.policy = other_policy(context, made.model);
            bool same_pattern = false;
            assert_ok(context,
                      nadir_average_remake(context, made.kernel, made.policy, &made.average, &same_pattern));
            assert_true(same_pattern);
            assert_ok(context, backend->refactor(context, self));
            double *system = make_system(&made, 0.99);
            check_solves(context, backend, self, made.average.states, system, 0.99, 3);
            nadir_backend_statistics statistics;
            backend->statistics(self, &statistics);
            assert_int_equal(statistics.factorings, 2);
            backend->destroy(context, self);
            test_free(system);
        }
        test_setting_clear(&made);
    }
}

/* The entry (s, t) of a sparse average. */
static double *entry(nadir_average *average, int64_t s, int64_t t)
{
    for (int64_t i = average->entries.starts[s]; i < average->entries.starts[s + 1]; i++) {
        if (average->entries.columns[i] == t) {
            return &average->entries.values[i];
        }
    }
    fail_msg("no entry (%lld, %lld)", (long long)s, (long long)t);
    return NULL;
}

/* Old pivots next to nothing: a refactorisation that kept them would lose all digits. */
static void test_refactor_seeks_new_pivots(void **state)
{
    nadir_context *context = *state;
    const double gamma = 0.5;
    for (size_t i = 0; i < DIRECT; i++) {
        test_setting made = test_setting_make(context, test_generate_states(context, "riverswim", 20));
        double *system = make_system(&made, gamma);
        void *self = NULL;
        assert_ok(context, direct[i]->setup(context, &made.average, gamma, &self));
        for (int64_t s = 0; s < 20; s++) {
            const double tiny = 1e-14 * (double)(s + 1);
            *entry(&made.average, s, s) = (1 - tiny) / gamma;
            system[s * 20 + s] = 1 - gamma * *entry(&made.average, s, s);
        }
        assert_ok(context, direct[i]->refactor(context, self));
        check_solves(context, direct[i], self, 20, system, gamma, 1);
        direct[i]->destroy(context, self);
        test_free(system);
        test_setting_clear(&made);
    }
}

/* All rows scaled by 1 / gamma, so that A 1 = 0 up to rounding. */
static void test_singular(void **state)
{
    nadir_context *context = *state;
    const double gamma = 0.9;
    for (size_t i = 0; i < DIRECT; i++) {
        test_setting made = test_setting_make(context, test_generate_states(context, "garnet", 25));
        const nadir_model_data view = test_view(made.model);
        int64_t *rows = test_calloc((size_t)view.rows, sizeof *rows);
        double *values = test_calloc((size_t)view.nonzeros, sizeof *values);
        for (int64_t row = 0; row < view.rows; row++) {
            rows[row] = row;
        }
        for (int64_t k = 0; k < view.nonzeros; k++) {
            values[k] = view.probabilities[k] / gamma;
        }
        const nadir_changed_rows changed = {view.rows, rows, view.row_starts, view.columns, values};
        nadir_kernel *kernel = NULL;
        nadir_average average = {0};
        void *self = NULL;
        assert_ok(context, nadir_kernel_create_changed(context, made.model, &changed, &kernel));
        assert_ok(context, nadir_average_make(context, kernel, made.policy, &average));
        assert_fails(context, direct[i]->setup(context, &average, gamma, &self), NADIR_ERROR_ILL_POSED,
                     "I - gamma P is singular");
        assert_null(self);
        nadir_average_clear(context, &average);
        nadir_kernel_free(kernel);
        test_free(rows);
        test_free(values);
        test_setting_clear(&made);
    }
}

/* A row of A that is zero is named. After a failed refactorisation nothing is solved until one succeeds. */
static void test_singular_row(void **state)
{
    nadir_context *context = *state;
    for (size_t i = 0; i < DIRECT; i++) {
        test_setting made = test_setting_make(context, test_sparse_model(context, 12, test_row_absorbing));
        void *self = NULL;
        double b[12] = {1};
        double x[12];
        assert_ok(context, direct[i]->setup(context, &made.average, 0.5, &self));
        *entry(&made.average, 6, 6) = 2;
        assert_fails(context, direct[i]->refactor(context, self), NADIR_ERROR_ILL_POSED,
                     "singular: the row of state 6");
        assert_fails(context, direct[i]->solve(context, self, false, 1, b, 0, x), NADIR_ERROR_ILL_POSED,
                     "the last factorisation failed");
        *entry(&made.average, 6, 6) = NAN;
        assert_fails(context, direct[i]->refactor(context, self), NADIR_ERROR_ILL_POSED,
                     "not finite in the row of state 6");
        *entry(&made.average, 6, 6) = INFINITY;
        assert_fails(context, direct[i]->refactor(context, self), NADIR_ERROR_ILL_POSED,
                     "not finite in the row of state 6");
        void *fresh = NULL;
        assert_fails(context, direct[i]->setup(context, &made.average, 0.5, &fresh), NADIR_ERROR_ILL_POSED,
                     "not finite in the row of state 6");
        *entry(&made.average, 6, 6) = 1;
        assert_ok(context, direct[i]->refactor(context, self));
        double *system = make_system(&made, 0.5);
        check_solves(context, direct[i], self, 12, system, 0.5, 2);
        direct[i]->destroy(context, self);
        test_free(system);
        test_setting_clear(&made);
    }
}

static void test_not_finite_dense(void **state)
{
    nadir_context *context = *state;
    test_setting made = test_setting_make(context, test_generate_states(context, "random", 8));
    void *self = NULL;
    made.average.dense[5 * 8 + 2] = INFINITY;
    assert_fails(context, nadir_backend_lapack.setup(context, &made.average, 0.9, &self),
                 NADIR_ERROR_ILL_POSED, "not finite in the row of state 5");
    made.average.dense[4 * 8 + 4] = NAN;
    assert_fails(context, nadir_backend_lapack.setup(context, &made.average, 0.9, &self),
                 NADIR_ERROR_ILL_POSED, "not finite in the row of state 4");
    assert_null(self);
    test_setting_clear(&made);
}

/* One and two threads, on a size where both the factorisation and the solves use them. */
static void test_threads(void **state)
{
    (void)state;
    const int64_t n = 300;
    double *x[2];
    double *b = test_calloc((size_t)(n * MOST_SIDES), sizeof *b);
    fill_random(13, n * MOST_SIDES, b);
    for (int32_t threads = 1; threads <= 2; threads++) {
        test_messages_clear();
        nadir_context *context = test_context_threads(threads);
        test_setting made = test_setting_make(context, test_generate_states(context, "random", n));
        void *self = NULL;
        x[threads - 1] = test_calloc((size_t)(n * MOST_SIDES), sizeof **x);
        assert_ok(context, nadir_backend_lapack.setup(context, &made.average, 0.99, &self));
        assert_ok(context,
                  nadir_backend_lapack.solve(context, self, false, MOST_SIDES, b, 0, x[threads - 1]));
        nadir_backend_lapack.destroy(context, self);
        test_setting_clear(&made);
        nadir_context_free(context);
    }
    compare(n * MOST_SIDES, x[1], x[0], "two threads", 0.99);
    test_free(x[0]);
    test_free(x[1]);
    test_free(b);
}

static void test_refusals(void **state)
{
    (void)state;
    nadir_context *context = test_context_memory(8 << 20);
    test_setting large = test_setting_make(context, test_generate_states(context, "garnet", 1200));
    void *self = NULL;
    assert_fails(context, nadir_backend_lapack.setup(context, &large.average, 0.9, &self), NADIR_ERROR_MEMORY,
                 "backend lapack needs 0.0107 GiB");
    assert_fails(context, nadir_backend_klu.setup(context, &large.average, 0.9, &self), NADIR_ERROR_MEMORY,
                 "backend klu needs");
    test_setting_clear(&large);
    nadir_context_free(context);

    context = test_context();
    test_setting many = test_setting_make(context, test_generate_states(context, "riverswim", 46341));
    assert_fails(context, nadir_backend_lapack.setup(context, &many.average, 0.9, &self),
                 NADIR_ERROR_UNSUPPORTED, "at most 46340 states, this model has 46341");
    test_setting_clear(&many);
    test_setting dense = test_setting_make(context, test_generate_states(context, "random", 8));
    assert_fails(context, nadir_backend_klu.setup(context, &dense.average, 0.9, &self),
                 NADIR_ERROR_UNSUPPORTED, "backend klu takes sparse models only");
    assert_null(self);
    test_setting_clear(&dense);
    nadir_context_free(context);
}

/* Fails the k-th allocation for k = 1, 2, ... until the call succeeds. */
static void test_memory_runs_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < DIRECT; i++) {
        test_scarce scarce;
        nadir_context *context = test_scarce_context(&scarce);
        test_setting made = test_setting_make(context, test_generate_states(context, "garnet", 20));
        const int64_t blocks = scarce.blocks;
        nadir_status status = NADIR_ERROR_MEMORY;
        void *self = NULL;
        while (test_scarce_again(&scarce, status)) {
            status = direct[i]->setup(context, &made.average, 0.9, &self);
            assert_true(status == NADIR_OK || self == NULL);
            assert_true(status == NADIR_OK || scarce.blocks == blocks);
        }
        assert_true(scarce.tries > 3);
        /* a solve asks for no memory */
        scarce.left = 0;
        double b[40] = {1};
        double x[40];
        assert_ok(context, direct[i]->solve(context, self, true, 2, b, 0, x));
        scarce.left = INT64_MAX;
        direct[i]->destroy(context, self);
        direct[i]->destroy(context, NULL);
        test_setting_clear(&made);
        test_scarce_end(&scarce, context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_against_elimination),
        test_with_context(test_refactor),
        test_with_context(test_refactor_seeks_new_pivots),
        test_with_context(test_singular),
        test_with_context(test_singular_row),
        test_with_context(test_not_finite_dense),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
