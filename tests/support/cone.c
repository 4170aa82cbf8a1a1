/* cone.c: see cone.h. */
#include "support/support.h"

#include "support/cone.h"
#include "support/scarce.h"
#include "support/singular.h"
#include "support/spectral.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const test_cone_orders[TEST_CONE_ORDERS] = {"0", "1", "2", "3", "paper", "power"};

nadir_cone_norm_result test_cone_find(nadir_context *context, int64_t m, int64_t n, const double *A,
                                      const char *order, bool bounds, double *x)
{
    nadir_cone_norm_settings settings;
    nadir_cone_norm_result result = {.size = sizeof result};
    nadir_cone_norm_settings_default(&settings);
    settings.order = order;
    settings.bounds = bounds;
    assert_ok(context, nadir_cone_norm(context, m, n, A, &settings, x, &result));
    return result;
}

double test_cone_value(nadir_context *context, int64_t m, int64_t n, const double *A, const char *order)
{
    return test_cone_find(context, m, n, A, order, false, NULL).value;
}

double test_cone_brute(int64_t m, int64_t n, const double *A)
{
    double best = 0;
    for (unsigned support = 1; support < 1U << n; support++) {
        long double part[TEST_CONE_LARGEST * TEST_CONE_LARGEST * 2];
        int64_t count = 0;
        for (int64_t j = 0; j < n; j++) {
            for (int64_t i = 0; i < m && (support >> j & 1U) != 0; i++) {
                part[count * m + i] = A[i * n + j];
            }
            count += support >> j & 1U;
        }
        test_singular made = test_singular_make(m, count, part);
        bool positive = true;
        for (int64_t j = 0; j < count; j++) {
            positive = positive && made.right[j] * made.right[0] >= -1e-15L;
        }
        best = positive ? fmax(best, (double)made.values[0]) : best;
        test_singular_clear(&made);
    }
    return best;
}

void test_cone_check_point(int64_t m, int64_t n, const double *A, const double *x, double expected)
{
    long double square = 0;
    long double length = 0;
    for (int64_t j = 0; j < n; j++) {
        assert_that(x[j] >= 0, "x[%d] is %g", (int)j, x[j]);
        length += (long double)x[j] * x[j];
    }
    for (int64_t i = 0; i < m; i++) {
        long double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            sum += (long double)A[i * n + j] * x[j];
        }
        square += sum * sum;
    }
    assert_relative((double)length, 1, 1e-14);
    assert_relative((double)sqrtl(square), expected, 1e-13);
}

void test_cone_check(nadir_context *context, int64_t m, int64_t n, const double *A, double truth)
{
    for (int i = 0; i < TEST_CONE_ORDERS; i++) {
        double x[TEST_CONE_LARGEST];
        const nadir_cone_norm_result result = test_cone_find(context, m, n, A, test_cone_orders[i], true, x);
        test_cone_check_point(m, n, A, x, result.value);
        assert_that(result.value <= truth * (1 + 1e-13), "order %s: %.17g of %.17g", test_cone_orders[i],
                    result.value, truth);
        assert_that(result.dual_bound >= truth * (1 - 1e-15), "order %s: dual bound %.17g below %.17g",
                    test_cone_orders[i], result.dual_bound, truth);
        assert_that(result.first_bound >= truth * (1 - 1e-15), "first bound %.17g below %.17g",
                    result.first_bound, truth);
        assert_true(result.zero_bound >= result.first_bound);
        assert_true(result.upper_bound >= result.value);
        assert_true(result.upper_bound <= fmin(result.first_bound, result.dual_bound));
        assert_string_equal(result.order, test_cone_orders[i]);
        assert_that(2 * result.value * result.value >= result.zero_bound * result.zero_bound * (1 - 1e-9),
                    "order %s: %.17g is less than half of %.17g", test_cone_orders[i], result.value,
                    result.zero_bound);
    }
}

void test_cone_check_points(const nadir_cone_norm_result *result)
{
    const nadir_trajectory_point *points = result->points;
    assert_true(result->points_count > 1);
    for (int64_t i = 1; i < result->points_count; i++) {
        assert_true(points[i].seconds >= points[i - 1].seconds);
        assert_true(points[i].samples > points[i - 1].samples);
        assert_true(points[i].value > points[i - 1].value);
    }
    assert_relative(points[result->points_count - 1].value, result->value, 1e-12);
}

static nadir_status attempt(nadir_context *context, const void *of)
{
    static const double A[] = {1, -2, 3, 4, 5, -6, 7, 8, 10, 1, -1, 2};
    nadir_cone_norm_settings settings = *(const nadir_cone_norm_settings *)of;
    nadir_cone_norm_result result = {.size = sizeof result};
    settings.record = true;
    const nadir_status status = nadir_cone_norm(context, 3, 4, A, &settings, NULL, &result);
    nadir_trajectory_free(context, result.points);
    return status;
}

void test_cone_run_out(const nadir_cone_norm_settings *settings)
{
    test_run_out(attempt, settings, NULL, settings->order);
}

static int stop(void *user, const char *task, double share)
{
    (void)share;
    return strcmp(task, user) == 0;
}

void test_cone_interrupt(int64_t m, int64_t n, const double *A, const nadir_cone_norm_settings *settings,
                         const char *task)
{
    char name[64];
    nadir_cone_norm_settings recorded = *settings;
    nadir_cone_norm_result result = {.size = sizeof result};
    (void)snprintf(name, sizeof name, "%s", task);
    nadir_context *context = test_context_progress(stop, name);
    recorded.record = true;
    assert_int_equal(nadir_cone_norm(context, m, n, A, &recorded, NULL, &result), NADIR_ERROR_INTERRUPTED);
    assert_null(result.points);
    nadir_context_free(context);
}

void test_cone_fill(nadir_random *random, int64_t count, double *A)
{
    for (int64_t i = 0; i < count; i++) {
        A[i] = nadir_random_normal(random);
    }
}
