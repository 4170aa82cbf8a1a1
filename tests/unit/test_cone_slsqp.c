/* test_cone_slsqp.c: max |A x| over x >= 0, |x| <= 1 by sequential quadratic programming: where it ends, its
 * budget and record. */
#include "support/support.h"

#include "experiments/numpy_random.h"
#include "support/cone.h"
#include "support/spectral.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 2718 };

static nadir_cone_norm_settings slsqp_settings(double tolerance)
{
    nadir_cone_norm_settings settings;
    nadir_cone_norm_settings_default(&settings);
    settings.order = "slsqp";
    settings.tolerance = tolerance;
    return settings;
}

/* |x - (A^T A x)_+ / |.||_2: zero where nothing can be gained at first order. */
static double stationarity(int64_t m, int64_t n, const double *A, const double *x)
{
    double g[TEST_CONE_LARGEST] = {0};
    double length = 0;
    double sum = 0;
    for (int64_t i = 0; i < m; i++) {
        double product = 0;
        for (int64_t j = 0; j < n; j++) {
            product += A[i * n + j] * x[j];
        }
        for (int64_t j = 0; j < n; j++) {
            g[j] += A[i * n + j] * product;
        }
    }
    for (int64_t j = 0; j < n; j++) {
        g[j] = fmax(0, g[j]);
        length += g[j] * g[j];
    }
    for (int64_t j = 0; j < n; j++) {
        sum += (x[j] - g[j] / sqrt(length)) * (x[j] - g[j] / sqrt(length));
    }
    return sqrt(sum);
}

/* Never above the maximum over all supports; at a stationary point; mostly the maximum. */
static void test_small(void **state)
{
    nadir_context *context = *state;
    int reached = 0;
    int all = 0;
    for (int64_t n = 1; n <= TEST_CONE_LARGEST; n++) {
        for (int turn = 0; turn < 10; turn++) {
            double A[2 * TEST_CONE_LARGEST * TEST_CONE_LARGEST];
            double x[TEST_CONE_LARGEST];
            nadir_random random = test_random(SEED + (uint64_t)(100 * n + turn));
            const int64_t m = 1 + (int64_t)nadir_random_below(&random, 2 * TEST_CONE_LARGEST);
            test_cone_fill(&random, m * n, A);
            test_note("%d x %d, turn %d, seed %d", (int)m, (int)n, turn, SEED);
            const double truth = test_cone_brute(m, n, A);
            const nadir_cone_norm_settings settings = slsqp_settings(1e-14);
            nadir_cone_norm_result result = {.size = sizeof result};
            assert_ok(context, nadir_cone_norm(context, m, n, A, &settings, x, &result));
            assert_string_equal(result.order, "slsqp");
            assert_true(result.samples > 0 && result.samples < 10000);
            test_cone_check_point(m, n, A, x, result.value);
            assert_that(result.value <= truth * (1 + 1e-13), "%.17g of %.17g", result.value, truth);
            assert_true(result.upper_bound >= truth * (1 - 1e-13));
            const double left = stationarity(m, n, A, x);
            assert_that(left < 1e-4, "a first-order gain of %g is left", left);
            reached += result.value >= truth * (1 - 1e-9);
            all++;
        }
    }
    test_note_clear();
    assert_that(reached >= all * 3 / 4, "the maximum in %d of %d", reached, all);
}

/* The paper's own kind of matrix: NumPy's legacy generator, seed 42, randn(n, n). The values are projected
 * power's, which the dual bound proves to 1e-6. */
static void test_table(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        double maximum;
    } cases[] = {{10, 5.022800691191443}, {100, 16.742420794246556}};
    for (int i = 0; i < (getenv("NADIR_VALGRIND") != NULL ? 1 : 2); i++) {
        const int64_t n = cases[i].n;
        double *A = calloc((size_t)(n * n), sizeof *A);
        nadir_context *context = test_context();
        nadir_numpy_random random;
        assert_non_null(A);
        nadir_numpy_random_seed(&random, 42);
        for (int64_t j = 0; j < n * n; j++) {
            A[j] = nadir_numpy_random_normal(&random);
        }
        const nadir_cone_norm_settings settings = slsqp_settings(1e-6);
        nadir_cone_norm_result result = {.size = sizeof result};
        assert_ok(context, nadir_cone_norm(context, n, n, A, &settings, NULL, &result));
        assert_relative(result.value, cases[i].maximum, 1e-5);
        nadir_context_free(context);
        free(A);
    }
}

/* What was known when rises to the value; points and time are kept to. */
static void test_budget(void **state)
{
    enum { N = 40 };
    double A[N * N];
    double x[N];
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1000);
    test_cone_fill(&random, (int64_t)N * N, A);
    for (int limited = 0; limited < 2; limited++) {
        nadir_cone_norm_settings settings = slsqp_settings(1e-6);
        nadir_cone_norm_result result = {.size = sizeof result};
        settings.record = true;
        settings.samples = limited ? 4 : 10000;
        assert_ok(context, nadir_cone_norm(context, N, N, A, &settings, x, &result));
        test_cone_check_point(N, N, A, x, result.value);
        test_cone_check_points(&result);
        assert_that(limited ? result.samples == 4 : result.samples > 4, "%d points", (int)result.samples);
        nadir_trajectory_free(context, result.points);
    }
    nadir_cone_norm_settings settings = slsqp_settings(1e-300);
    nadir_cone_norm_result result = {.size = sizeof result};
    settings.samples = INT64_MAX;
    settings.seconds = 1e-300;
    assert_ok(context, nadir_cone_norm(context, N, N, A, &settings, x, &result));
    assert_true(result.samples > 0);
}

static void test_too_large(void **state)
{
    enum { N = 8001 };
    nadir_context *context = *state;
    double *A = calloc(N, sizeof *A);
    const nadir_cone_norm_settings settings = slsqp_settings(1e-6);
    nadir_cone_norm_result result = {.size = sizeof result};
    assert_non_null(A);
    A[0] = 1;
    assert_fails(context, nadir_cone_norm(context, 1, N, A, &settings, NULL, &result),
                 NADIR_ERROR_UNSUPPORTED, "leave the order to power");
    free(A);
}

static void test_scarce_memory(void **state)
{
    (void)state;
    const nadir_cone_norm_settings settings = slsqp_settings(1e-6);
    test_cone_run_out(&settings);
}

static void test_interrupted(void **state)
{
    (void)state;
    static const double A[] = {1, -2, 3, 4};
    const nadir_cone_norm_settings settings = slsqp_settings(1e-6);
    test_cone_interrupt(2, 2, A, &settings, "slsqp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_small),        cmocka_unit_test(test_table),
        test_with_context(test_budget),       test_with_context(test_too_large),
        cmocka_unit_test(test_scarce_memory), cmocka_unit_test(test_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
