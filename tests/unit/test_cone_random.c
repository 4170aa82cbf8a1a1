/* test_cone_random.c: max |A x| over x >= 0, |x| <= 1 by brute force: random points, their budget and record.
 */
#include "support/support.h"

#include "support/cone.h"
#include "support/spectral.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 31415 };

static nadir_cone_norm_settings random_settings(int64_t samples)
{
    nadir_cone_norm_settings settings;
    nadir_cone_norm_settings_default(&settings);
    assert_int_equal(settings.samples, 10000);
    settings.order = "random";
    settings.samples = samples;
    return settings;
}

/* Never above the maximum over all supports; near it in two and three dimensions. */
static void test_below_the_maximum(void **state)
{
    nadir_context *context = *state;
    const int64_t samples = getenv("NADIR_VALGRIND") != NULL ? 200 : 20000;
    for (int64_t n = 1; n <= TEST_CONE_LARGEST; n++) {
        for (int turn = 0; turn < 4; turn++) {
            double A[2 * TEST_CONE_LARGEST * TEST_CONE_LARGEST];
            double x[TEST_CONE_LARGEST];
            nadir_random random = test_random(SEED + (uint64_t)(10 * n + turn));
            const int64_t m = 1 + (int64_t)nadir_random_below(&random, 2 * TEST_CONE_LARGEST);
            test_cone_fill(&random, m * n, A);
            test_note("%d x %d, turn %d, seed %d", (int)m, (int)n, turn, SEED);
            const double truth = test_cone_brute(m, n, A);
            const nadir_cone_norm_settings settings = random_settings(samples);
            nadir_cone_norm_result result = {.size = sizeof result};
            assert_ok(context, nadir_cone_norm(context, m, n, A, &settings, x, &result));
            assert_string_equal(result.order, "random");
            assert_int_equal(result.samples, samples);
            assert_null(result.points);
            test_cone_check_point(m, n, A, x, result.value);
            assert_that(result.value <= truth * (1 + 1e-13), "%.17g of %.17g", result.value, truth);
            assert_true(result.upper_bound >= truth * (1 - 1e-13));
            assert_that(n > 3 || samples < 20000 || result.value >= truth * (1 - 1e-2), "%.17g of %.17g",
                        result.value, truth);
        }
    }
}

/* In the plane the angle is uniform: a quarter of all single points lies within pi/8 of an axis. */
static void test_uniform(void **state)
{
    (void)state;
    static const double A[] = {1, 0};
    const nadir_cone_norm_settings settings = random_settings(1);
    const int points = getenv("NADIR_VALGRIND") != NULL ? 10 : 2000;
    int near = 0;
    for (int i = 0; i < points; i++) {
        nadir_context *context = test_context_seed(SEED + (uint64_t)i, 1);
        nadir_cone_norm_result result = {.size = sizeof result};
        assert_ok(context, nadir_cone_norm(context, 1, 2, A, &settings, NULL, &result));
        near += result.value > cos(M_PI / 8);
        nadir_context_free(context);
    }
    /* three standard deviations of 2000 are 58 */
    assert_that(points < 2000 || abs(near - points / 4) <= 58, "%d of %d", near, points);
}

/* The same points for any number of threads; what was known when rises to the value. */
static void test_record(void **state)
{
    (void)state;
    enum { N = 40 };
    double A[N * N];
    double x[2][N];
    nadir_random random = test_random(SEED + 1000);
    test_cone_fill(&random, (int64_t)N * N, A);
    for (int threads = 1; threads <= 2; threads++) {
        nadir_context *context = test_context_seed(SEED, threads);
        nadir_cone_norm_settings settings = random_settings(5000);
        nadir_cone_norm_result result = {.size = sizeof result};
        settings.record = true;
        assert_ok(context, nadir_cone_norm(context, N, N, A, &settings, x[threads - 1], &result));
        test_cone_check_points(&result);
        assert_true(result.points[result.points_count - 1].samples <= 5000 && result.samples == 5000);
        nadir_trajectory_free(context, result.points);
        nadir_context_free(context);
    }
    assert_memory_equal(x[0], x[1], sizeof x[0]);
}

/* Time ends it, however many points are asked for; one block there always is. */
static void test_time(void **state)
{
    double A[400];
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 2000);
    test_cone_fill(&random, 400, A);
    static const double times[] = {1e-300, 0.02};
    for (int i = 0; i < 2; i++) {
        nadir_cone_norm_settings settings = random_settings(INT64_MAX);
        nadir_cone_norm_result result = {.size = sizeof result};
        double x[20];
        settings.seconds = times[i];
        assert_ok(context, nadir_cone_norm(context, 20, 20, A, &settings, x, &result));
        assert_true(result.samples > 0 && result.samples < INT64_MAX);
        test_cone_check_point(20, 20, A, x, result.value);
    }
}

static void test_wrong(void **state)
{
    static const double A[] = {1, -2, 3, 4};
    nadir_context *context = *state;
    nadir_cone_norm_result result = {.size = sizeof result};
    nadir_cone_norm_settings settings = random_settings(0);
    assert_fails(context, nadir_cone_norm(context, 2, 2, A, &settings, NULL, &result), NADIR_ERROR_ARGUMENT,
                 "0 samples");
    settings.samples = 5;
    settings.seconds = 0;
    assert_fails(context, nadir_cone_norm(context, 2, 2, A, &settings, NULL, &result), NADIR_ERROR_ARGUMENT,
                 "0 seconds");
}

static void test_scarce_memory(void **state)
{
    (void)state;
    nadir_cone_norm_settings settings = random_settings(100);
    settings.bounds = true;
    test_cone_run_out(&settings);
}

static void test_interrupted(void **state)
{
    (void)state;
    double A[2500];
    nadir_random random = test_random(SEED + 3000);
    const nadir_cone_norm_settings settings = random_settings(INT64_MAX);
    test_cone_fill(&random, 2500, A);
    test_cone_interrupt(50, 50, A, &settings, "random points");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_below_the_maximum),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_record),
        test_with_context(test_time),
        test_with_context(test_wrong),
        cmocka_unit_test(test_scarce_memory),
        cmocka_unit_test(test_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
