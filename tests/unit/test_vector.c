/* Kernels on plain vectors against long double, at every length around those that are taken several at once.
 */
#include "support/support.h"

#include "core/random.h"
#include "linalg/vector.h"
#include "support/norms.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const nadir_context alone = {.communication = &nadir_communication_alone};

#define SEED 1618

enum { LENGTHS = 40, LONGEST = 3000 };

static int64_t length_of(int i)
{
    return i < LENGTHS ? i : LONGEST - (i - LENGTHS);
}

static void test_sums(void **state)
{
    static double x[LONGEST];
    static double y[LONGEST];
    (void)state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < 2 * LENGTHS; i++) {
        const int64_t count = length_of(i);
        long double sum = 0;
        long double dot = 0;
        long double sizes = 0;
        long double ones = 0;
        long double squares = 0;
        for (int64_t j = 0; j < count; j++) {
            x[j] = nadir_random_normal(&random) * pow(10, (double)(j % 13) - 6);
            y[j] = nadir_random_normal(&random);
            sum += x[j];
            ones += fabsl(x[j]);
            dot += (long double)x[j] * y[j];
            sizes += fabsl((long double)x[j] * y[j]);
            squares += (long double)x[j] * x[j];
        }
        double error;
        const double product = nadir_vector_dot(count, x, y, &error);
        test_note("%d numbers, seed %d", (int)count, SEED);
        const double added = nadir_vector_sum(count, x);
        assert_precise(fabsl(added - sum) <= DBL_EPSILON * fabsl(sum) + 1e-17L * ones, "off by %Lg",
                       added - sum);
        assert_precise(fabsl(product - dot) <= error, "off by %Lg of %g", product - dot, error);
        assert_that(error <= 4 * DBL_EPSILON * (double)sizes, "%g", error);
        assert_close(nadir_vector_norm_1(count, x), (double)ones, 1e-13 * (double)ones);
        const double norm = nadir_global_norm_2(&alone, count, x);
        assert_precise(fabsl(norm - sqrtl(squares)) <= 16 * DBL_EPSILON * sqrtl(squares), "%.17g", norm);
    }
    test_note_clear();
}

static void test_extremes(void **state)
{
    static double x[LONGEST];
    (void)state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < 2 * LENGTHS; i++) {
        const int64_t count = length_of(i);
        double largest = 0;
        double smallest = INFINITY;
        for (int64_t j = 0; j < count; j++) {
            x[j] = nadir_random_normal(&random);
            largest = fmax(largest, fabs(x[j]));
            smallest = fmin(smallest, x[j]);
        }
        assert_true(nadir_vector_largest(count, x) == largest);
        if (count > 0) {
            assert_true(nadir_vector_smallest(count, x) == smallest);
            const int64_t place = (int64_t)nadir_random_below(&random, (uint64_t)count);
            x[place] = -INFINITY;
            assert_true(nadir_vector_largest(count, x) == INFINITY);
            assert_true(nadir_global_norm_2(&alone, count, x) == INFINITY);
            x[place] = NAN;
            assert_true(isnan(nadir_vector_largest(count, x)) &&
                        isnan(nadir_global_norm_2(&alone, count, x)));
        }
    }
}

/* Squares that overflow or vanish. */
static void test_sizes(void **state)
{
    static const double sizes[] = {1e-320, 1e-300, 1e-200, 1e-136, 1e136, 1e200, 1e300};
    double x[9];
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int j = 0; j < 9; j++) {
            x[j] = j % 2 == 0 ? sizes[i] : -sizes[i];
        }
        assert_close(nadir_global_norm_2(&alone, 9, x), 3 * sizes[i], 1e-15 * sizes[i] + DBL_TRUE_MIN);
    }
    assert_true(nadir_global_norm_2(&alone, 0, NULL) == 0);
    memset(x, 0, sizeof x);
    assert_true(nadir_global_norm_2(&alone, 9, x) == 0);
    x[0] = x[4] = DBL_MAX; /* the plain sum says more than a compensation that is none */
    assert_true(nadir_vector_sum(9, x) == INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums), cmocka_unit_test(test_extremes),
                                       cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
