/* test_gstd.c: the generalised standard deviation against its definition: golden section, enumeration, closed
 * forms, limits. */
#include "support/support.h"

#include "core/random.h"
#include "linalg/gstd.h"
#include "linalg/vector.h"
#include "support/gstd.h"
#include "support/norms.h"

#include <float.h>
#include <math.h>

/* min |x - omega|_q by golden section, with nothing but the definition. */
static long double golden(int64_t count, const double *x, double q)
{
    enum { STEPS = 85 }; /* to 1e-18 of the range: |x - omega|_q is a broken line at q = 1 */
    const long double share = (sqrtl(5) - 1) / 2;
    long double low = test_smallest(count, x);
    long double high = low;
    for (int64_t i = 0; i < count; i++) {
        high = fmaxl(high, x[i]);
    }
    long double left = high - share * (high - low);
    long double right = low + share * (high - low);
    long double left_value = test_norm(count, x, left, q);
    long double right_value = test_norm(count, x, right, q);
    for (int step = 0; step < STEPS; step++) {
        if (left_value <= right_value) {
            high = right;
            right = left;
            right_value = left_value;
            left = high - share * (high - low);
            left_value = test_norm(count, x, left, q);
        } else {
            low = left;
            left = right;
            left_value = right_value;
            right = low + share * (high - low);
            right_value = test_norm(count, x, right, q);
        }
    }
    return fminl(left_value, right_value);
}

static void test_against_golden_section(void **state)
{
    enum { LONGEST = 20 };
    static const int64_t counts[] = {2, 3, 4, 7, LONGEST};
    double x[LONGEST];
    double u[LONGEST];
    nadir_context *context = *state;
    for (int shape = 0; shape < TEST_SHAPES; shape++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            test_gstd_fill(shape, counts[c], c, x);
            for (int e = 0; e < TEST_EXPONENTS; e++) {
                const double q = test_exponents[e];
                test_note("shape %d, count %lld, seed %zu, q = %.17g", shape, (long long)counts[c], c, q);
                const nadir_gstd found = test_gstd_compute(context, counts[c], x, q, u);
                const long double right = golden(counts[c], x, q);
                assert_precise(fabsl(found.sigma - right) <= TEST_TOLERANCE * right,
                               "sigma %.17g, not %.17Lg", found.sigma, right);
                const long double attained = test_norm(counts[c], x, found.omega, q);
                assert_precise(attained <= right * (1 + TEST_TOLERANCE), "omega %.17g gives %.17Lg",
                               found.omega, attained);
                test_gstd_check(counts[c], x, q, u, found.sigma);
                const nadir_gstd again = test_gstd_compute(context, counts[c], x, q, NULL);
                assert_true(again.sigma == found.sigma && again.omega == found.omega);
            }
        }
    }
}

/* sigma_q(x + c) = sigma_q(x) where the additions are exact; sigma_q(t x) = |t| sigma_q(x) at every size. */
static void test_shifts_and_scales(void **state)
{
    enum { COUNT = 41 };
    static const double scales[] = {1e-310, 1e-300, 1e-150, 1e150, 1e300, -1e300, 1.4e308};
    double x[COUNT];
    double y[COUNT];
    double u[COUNT];
    nadir_context *context = *state;
    test_gstd_fill(TEST_UNIFORM, COUNT, 5, x);
    for (int i = 0; i < COUNT; i++) {
        x[i] = floor(x[i] * 0x1p20) * 0x1p-20;
    }
    for (int e = 0; e < TEST_EXPONENTS; e++) {
        const double q = test_exponents[e];
        const nadir_gstd plain = test_gstd_compute(context, COUNT, x, q, u);
        for (int i = 0; i < COUNT; i++) {
            y[i] = x[i] + 0x1p30;
        }
        test_note("q = %.17g, shifted", q);
        const nadir_gstd shifted = test_gstd_compute(context, COUNT, y, q, u);
        assert_close(shifted.sigma, plain.sigma, 1e-14);
        assert_close(shifted.omega - 0x1p30, plain.omega, 0x1p-22);
        test_gstd_check(COUNT, y, q, u, shifted.sigma);
        for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
            for (int i = 0; i < COUNT; i++) {
                y[i] = x[i] * scales[s];
            }
            test_note("q = %.17g, scale %g", q, scales[s]);
            const nadir_gstd scaled = test_gstd_compute(context, COUNT, y, q, u);
            const long double right = fabsl((long double)scales[s]) * plain.sigma;
            const double tolerance = fabs(scales[s]) < 1e-308 ? 1e-12 : 1e-14; /* entries are rounded */
            if (right < DBL_MAX) {
                assert_precise(fabsl(scaled.sigma / right - 1) <= tolerance, "%.17g", scaled.sigma);
                test_gstd_check(COUNT, y, q, u, scaled.sigma);
            } else {
                assert_true(scaled.sigma == INFINITY);
            }
            assert_precise(fabsl(scaled.omega / (long double)scales[s] - plain.omega) <= tolerance, "omega");
        }
    }
}

/* 1e9 plus or minus 1e-3: sigma and u are those of the entries as stored; omega is rounded to 1.2e-7. */
static void test_offset(void **state)
{
    enum { COUNT = 50 };
    double x[COUNT];
    double u[COUNT];
    nadir_context *context = *state;
    test_gstd_fill(TEST_UNIFORM, COUNT, 6, x);
    for (int i = 0; i < COUNT; i++) {
        x[i] = 1e9 + 1e-3 * x[i];
    }
    for (int e = 0; e < TEST_EXPONENTS; e++) {
        const double q = test_exponents[e];
        test_note("q = %.17g", q);
        const nadir_gstd found = test_gstd_compute(context, COUNT, x, q, u);
        const long double right = golden(COUNT, x, q);
        assert_precise(fabsl(found.sigma / right - 1) <= TEST_TOLERANCE, "sigma %.17g, not %.17Lg",
                       found.sigma, right);
        test_gstd_check(COUNT, x, q, u, found.sigma);
    }
}

/* u = sign(d) |d|^(q-1) / sigma^(q-1), omega by bisection. u inherits about q roundings. */
static void test_direction_by_formula(void **state)
{
    enum { COUNT = 40 };
    static const double exponents[] = {1 + 1e-12, 1.001, 1.1, 1.5, 2 - 1e-9, 2, 3, 10, 100, 1e4};
    double x[COUNT];
    double u[COUNT];
    nadir_context *context = *state;
    test_gstd_fill(TEST_HEAVY, COUNT, 7, x);
    for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
        const double q = exponents[e];
        const nadir_gstd found = test_gstd_compute(context, COUNT, x, q, u);
        long double low = -200;
        long double high = 200;
        for (int step = 0; step < 100; step++) {
            const long double middle = (low + high) / 2;
            long double sum = 0; /* of sign(d) |d|^(q-1) / 16^(q-1) */
            for (int i = 0; i < COUNT; i++) {
                const long double d = (x[i] - middle) / 16;
                sum += copysignl(powl(fabsl(d), q - 1), d);
            }
            *(sum > 0 ? &low : &high) = middle;
        }
        const long double sigma = test_norm(COUNT, x, low, q);
        test_note("q = %.17g", q);
        /* at 1 + 1e-12 the long double sum is off by 1e-19, and its slope is 1e-12 */
        assert_precise(fabsl(found.omega - low) <= (q < 1.0001 ? 1e-6L : TEST_TOLERANCE),
                       "omega %.17g, not %.17Lg", found.omega, low);
        for (int i = 0; i < COUNT; i++) {
            const long double d = x[i] - low;
            const long double right = copysignl(powl(fabsl(d) / sigma, q - 1), d);
            assert_precise(fabsl(u[i] - right) <= 1e-14L * fmaxl(10, q), "u[%d] %.17g, not %.17Lg", i, u[i],
                           right);
        }
    }
}

/* No zero-sum direction of unit p-norm does better, and sigma_q(x) <= |x|_q. */
static void test_bounds(void **state)
{
    enum { COUNT = 9, TRIALS = 300 };
    double x[COUNT];
    double k[COUNT];
    nadir_context *context = *state;
    nadir_random random = test_random(11);
    for (int shape = 0; shape < TEST_SHAPES; shape++) {
        test_gstd_fill(shape, COUNT, 12, x);
        for (int e = 0; e < TEST_EXPONENTS; e++) {
            const double q = test_exponents[e];
            const nadir_gstd found = test_gstd_compute(context, COUNT, x, q, NULL);
            test_note("seed 11, shape %d, q = %.17g", shape, q);
            assert_precise(found.sigma <= test_norm(COUNT, x, 0, q) * (1 + TEST_TOLERANCE), "over |x|_q");
            for (int trial = 0; trial < TRIALS; trial++) {
                double mean = 0;
                for (int i = 0; i < COUNT; i++) {
                    k[i] = nadir_random_normal(&random);
                    k[i] = trial % 2 ? k[i] : copysign(1, k[i]);
                    mean += k[i] / COUNT;
                }
                for (int i = 0; i < COUNT; i++) {
                    k[i] -= mean;
                }
                const long double norm = test_norm(COUNT, k, 0, test_conjugate(q));
                const long double product = norm > 1e-6L ? test_dot(COUNT, x, 0, k) / norm : 0;
                assert_precise(product <= found.sigma * (1 + TEST_TOLERANCE), "trial %d: %.17Lg, over %.17g",
                               trial, product, found.sigma);
            }
        }
    }
}

/* The middle of q = 1 has ties of every number, on either side and at the ends. u takes values in {-1, 0, 1},
 * equally many of 1 and -1, and no direction does better (linear programming: sorted top minus bottom). */
static void test_ties_about_the_median(void **state)
{
    enum { LONGEST = 8, VALUES = 3 };
    nadir_context *context = *state;
    for (int count = 2; count <= LONGEST; count++) {
        int codes = 1;
        for (int i = 0; i < count; i++) {
            codes *= VALUES;
        }
        for (int code = 0; code < codes; code++) {
            double x[LONGEST];
            double u[LONGEST];
            int numbers[VALUES] = {0};
            for (int i = 0, rest = code; i < count; i++, rest /= VALUES) {
                x[i] = rest % VALUES;
                numbers[rest % VALUES]++;
            }
            double sigma = 0; /* rank by rank from both ends */
            for (int rank = 0; rank < count / 2; rank++) {
                const int low = (rank >= numbers[0]) + (rank >= numbers[0] + numbers[1]);
                const int high = 2 - (rank >= numbers[2]) - (rank >= numbers[2] + numbers[1]);
                sigma += high - low;
            }
            const nadir_gstd found = test_gstd_compute(context, count, x, 1, u);
            double sum = 0;
            double product = 0;
            double largest = 0;
            for (int i = 0; i < count; i++) {
                assert_true(u[i] == 0 || fabs(u[i]) == 1);
                sum += u[i];
                product += u[i] * x[i];
                largest = fmax(largest, fabs(u[i]));
            }
            test_note("count %d, code %d", count, code);
            assert_that(found.sigma == sigma && product == sigma && sum == 0 && largest == (sigma > 0),
                        "sigma %g, not %g; u . x = %g, sum %g", found.sigma, sigma, product, sum);
        }
    }
}

static void test_half_range_places(void **state)
{
    const double x[] = {1, -2, 5, -2, 5, 0};
    const double right[] = {0, -0.5, 0.5, 0, 0, 0};
    double u[6];
    nadir_gstd found;
    nadir_context *context = *state;
    assert_ok(context, nadir_gstd_compute(context, 1000, 6, x, INFINITY, NULL, u, &found));
    assert_true(found.sigma == 3.5 && found.omega == 1.5);
    assert_memory_equal(u, right, sizeof u);
}

/* S = 2: |x_1 - x_2| 2^(1/q - 1), u = 2^(-1/p) (1, -1); e_1 among S: nadir_gstd_unit. */
static void test_closed_forms(void **state)
{
    enum { S = 6 };
    const double two[] = {-3, 8};
    double u[S];
    nadir_context *context = *state;
    for (int e = 0; e < TEST_EXPONENTS; e++) {
        const double q = test_exponents[e];
        const double p = nadir_holder_conjugate(q);
        test_note("q = %.17g", q);
        const nadir_gstd found = test_gstd_compute(context, 2, two, q, u);
        assert_close(found.sigma, 11 * pow(2, 1 / q - 1), 1e-15);
        assert_close(found.omega, 2.5, 0);
        assert_close(u[1], pow(2, -1 / p), 1e-15);
        assert_true(u[0] == -u[1]);
        for (int states = 2; states <= S; states++) {
            const double unit[S] = {1};
            assert_close(test_gstd_compute(context, states, unit, q, u).sigma, nadir_gstd_unit(states, p),
                         1e-14);
        }
    }
    assert_true(nadir_gstd_unit(1, 1) == 0 && nadir_gstd_unit(1, INFINITY) == 0);
    assert_true(nadir_gstd_unit(9, 1) == 0.5 && nadir_gstd_unit(9, INFINITY) == 1);
    assert_close(nadir_gstd_unit(9, 2), sqrt(1 - 1.0 / 9), 1e-15);
    assert_close(nadir_gstd_unit(INT64_C(1) << 40, 1 + 1e-13), 0.5, 1e-11);
}

/* sigma_q as q tends to 1, 2 and infinity: within |q - limit| log S, or log S / q, of the limit. */
static void test_continuity(void **state)
{
    enum { COUNT = 101 };
    static const struct {
        double q, limit, tolerance;
    } cases[] = {
        {1 + 1e-15, 1, 2e-14}, {1 + 1e-12, 1, 1e-11}, {1 + 1e-6, 1, 1e-5},     {2 - 1e-9, 2, 1e-8},
        {2 + 1e-9, 2, 1e-8},   {1e9, INFINITY, 1e-8}, {1e12, INFINITY, 1e-11}, {1e300, INFINITY, 1e-15},
    };
    double x[COUNT];
    double u[COUNT];
    double limit[COUNT];
    nadir_context *context = *state;
    for (int shape = 0; shape < TEST_SHAPES; shape++) {
        for (int odd = 0; odd < 2; odd++) {
            test_gstd_fill(shape, COUNT - odd, 13, x);
            for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
                test_note("shape %d, odd %d, q = %.17g", shape, odd, cases[c].q);
                const nadir_gstd near = test_gstd_compute(context, COUNT - odd, x, cases[c].q, u);
                const nadir_gstd at = test_gstd_compute(context, COUNT - odd, x, cases[c].limit, limit);
                assert_that(fabs(near.sigma / at.sigma - 1) <= cases[c].tolerance, "%.17g, not %.17g",
                            near.sigma, at.sigma);
                for (int i = 0; cases[c].limit == 2 && i < COUNT - odd; i++) {
                    assert_close(u[i], limit[i], 1e-7);
                }
            }
        }
    }
}

static void test_equal_entries(void **state)
{
    enum { COUNT = 5 };
    static const double values[] = {0, -0.0, 3, -1e300, 5e-324, DBL_MAX};
    nadir_context *context = *state;
    for (int e = 0; e < TEST_EXPONENTS; e++) {
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            for (int count = 1; count <= COUNT; count += COUNT - 1) {
                double x[COUNT];
                double u[COUNT];
                for (int i = 0; i < COUNT; i++) {
                    x[i] = values[v];
                    u[i] = 7;
                }
                const nadir_gstd found = test_gstd_compute(context, count, x, test_exponents[e], u);
                assert_true(found.sigma == 0 && found.omega == values[v]);
                for (int i = 0; i < count; i++) {
                    assert_true(u[i] == 0);
                }
            }
        }
        double x[COUNT] = {1, 1, 1, 1, 1 + DBL_EPSILON}; /* the least that is not equal */
        double u[COUNT];
        const nadir_gstd found = test_gstd_compute(context, COUNT, x, test_exponents[e], u);
        test_note("q = %.17g", test_exponents[e]);
        test_gstd_check(COUNT, x, test_exponents[e], u, found.sigma);
        const nadir_gstd none = test_gstd_compute(context, 0, NULL, test_exponents[e], NULL);
        assert_true(none.sigma == 0 && none.omega == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_against_golden_section),
        test_with_context(test_shifts_and_scales),
        test_with_context(test_offset),
        test_with_context(test_direction_by_formula),
        test_with_context(test_bounds),
        test_with_context(test_ties_about_the_median),
        test_with_context(test_half_range_places),
        test_with_context(test_closed_forms),
        test_with_context(test_continuity),
        test_with_context(test_equal_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
