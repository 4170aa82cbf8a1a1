/*
 * test_round.c: bounds of core/round.h against arithmetic with twice the digits: on random sums, products and
 * expressions, and on the numbers where rounding is worst.
 */
#include "support/quad.h"
#include "support/support.h"

#include "core/random.h"
#include "core/round.h"

#include <math.h>

enum { SEED = 20, TRIALS = 20000, MOST_TERMS = 40 };

/* Positive, over many magnitudes, often a power of two or next to one. */
static double draw_positive(nadir_random *random, int most_exponent)
{
    const int exponent = (int)nadir_random_below(random, (uint64_t)(2 * most_exponent)) - most_exponent;
    const double power = ldexp(1, exponent);
    switch (nadir_random_below(random, 4)) {
    case 0:
        return power;
    case 1:
        return nadir_random_below(random, 2) == 0 ? nextafter(power, 0) : nextafter(power, INFINITY);
    default:
        return power * (1 + nadir_random_uniform(random));
    }
}

static double draw(nadir_random *random, int most_exponent)
{
    const double size = draw_positive(random, most_exponent);
    return nadir_random_below(random, 2) == 0 ? size : -size;
}

/* n - 1 additions or 2 n - 1 multiplications and divisions; two more roundings pay for the correction. */
static void sums_and_products_of_one_sign(void **state)
{
    (void)state;
    nadir_random random = test_random(SEED);
    for (int trial = 0; trial < TRIALS; trial++) {
        const int count = 1 + (int)nadir_random_below(&random, MOST_TERMS);
        const int most_exponent = trial % 2 == 0 ? 3 : 12;
        double sum = 0;
        double product = 1;
        test_quad exact_sum = 0;
        test_quad exact_product = 1;
        for (int i = 0; i < count; i++) {
            const double term = draw_positive(&random, most_exponent);
            const double divisor = draw_positive(&random, most_exponent);
            sum += term;
            exact_sum += term;
            product = product * term / divisor;
            exact_product = exact_product * term / divisor;
        }
        test_note("seed %d, trial %d: sum %a, product %a of %d terms", SEED, trial, sum, product, count);
        assert_true((test_quad)nadir_round_up(sum, count + 2) >= exact_sum);
        assert_true((test_quad)nadir_round_down(sum, count + 2) <= exact_sum);
        assert_true((test_quad)nadir_round_up(product, 2 * count + 2) >= exact_product);
        assert_true((test_quad)nadir_round_down(product, 2 * count + 2) <= exact_product);
    }
}

/* Every partial sum is at most the sum of the sizes. */
static void sums_of_both_signs(void **state)
{
    (void)state;
    nadir_random random = test_random(SEED + 1);
    for (int trial = 0; trial < TRIALS; trial++) {
        const int count = 1 + (int)nadir_random_below(&random, MOST_TERMS);
        double sum = 0;
        double size = 0;
        test_quad exact = 0;
        for (int i = 0; i < count; i++) {
            const double term = draw(&random, 12);
            sum += term;
            size += fabs(term);
            exact += term;
        }
        test_note("seed %d, trial %d: sum %a of %d terms", SEED + 1, trial, sum, count);
        assert_true((test_quad)nadir_round_above(sum, size, count + 3) >= exact);
        assert_true((test_quad)nadir_round_below(sum, size, count + 3) <= exact);
    }
}

static void assert_holds(nadir_estimate found, test_quad exact)
{
    const test_quad difference = found.value - exact;
    assert_true(difference <= found.error && -difference <= found.error);
    assert_true((test_quad)nadir_estimate_low(found) <= exact);
    assert_true((test_quad)nadir_estimate_high(found) >= exact);
    assert_true((test_quad)nadir_estimate_size(found) >= (exact < 0 ? -exact : exact));
}

/* A number with an error of many sizes, and one that it may stand for: often the farthest. */
static nadir_estimate draw_estimate(nadir_random *random, int most_exponent, test_quad *exact)
{
    static const double shares[] = {-1, 1, 0, 0.7};
    const double value = draw(random, most_exponent);
    const int digits = (int)nadir_random_below(random, 60);
    const double error = digits > 56 ? 0 : ldexp(fabs(value), -digits);
    *exact = (test_quad)value + (test_quad)error * shares[nadir_random_below(random, 4)];
    return (nadir_estimate){value, error};
}

static void expressions(void **state)
{
    (void)state;
    nadir_random random = test_random(SEED + 2);
    for (int trial = 0; trial < TRIALS; trial++) {
        const int most_exponent = trial % 3 == 0 ? 500 : 4;
        test_quad exact;
        nadir_estimate found = draw_estimate(&random, most_exponent, &exact);
        test_note("seed %d, trial %d: begins with %a, error %a", SEED + 2, trial, found.value, found.error);
        assert_holds(found, exact);
        for (int step = 0; step < 12 && fabs(found.value) + found.error < 1e150; step++) {
            test_quad exact_other;
            const nadir_estimate other = draw_estimate(&random, most_exponent, &exact_other);
            const uint64_t operation = nadir_random_below(&random, 3);
            test_note("seed %d, trial %d, step %d, operation %d: %a, error %a, and %a, error %a", SEED + 2,
                      trial, step, (int)operation, found.value, found.error, other.value, other.error);
            if (operation == 0) {
                found = nadir_estimate_add(found, other);
                exact += exact_other;
            } else if (operation == 1) {
                found = nadir_estimate_subtract(found, other);
                exact -= exact_other;
            } else {
                found = nadir_estimate_multiply(found, other);
                exact *= exact_other;
            }
            assert_holds(found, exact);
        }
    }
}

/* Powers of two, where half a unit in the last place is a tie, with errors that vanish in a sum. */
static void ties(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int digits = 50; digits < 60; digits++) {
            const nadir_estimate found = {sign, ldexp(1, -digits)};
            test_note("%g, error 2^-%d", found.value, digits);
            assert_holds(found, (test_quad)found.value + found.error);
            assert_holds(found, (test_quad)found.value - found.error);
        }
    }
}

/* Products below the range of normal numbers, and numbers of which nothing is known. */
static void extremes(void **state)
{
    (void)state;
    for (int exponent = -1074; exponent < -400; exponent++) {
        for (int other = -1074; other < -400; other += 13) {
            const double x = ldexp(1.5, exponent);
            const double y = ldexp(-1.75, other);
            test_note("1.5 2^%d, -1.75 2^%d", exponent, other);
            assert_holds(nadir_estimate_multiply((nadir_estimate){x, 0}, (nadir_estimate){y, 0}),
                         (test_quad)x * y);
        }
    }
    const nadir_estimate unknown = nadir_estimate_add((nadir_estimate){1, INFINITY}, (nadir_estimate){2, 0});
    assert_true(isinf(unknown.error));
    assert_true(nadir_estimate_low(unknown) < 0 && isinf(nadir_estimate_low(unknown)));
    assert_true(nadir_estimate_high(unknown) > 0 && isinf(nadir_estimate_high(unknown)));
    assert_true(isinf(nadir_estimate_size(unknown)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products_of_one_sign),
        cmocka_unit_test(sums_of_both_signs),
        cmocka_unit_test(expressions),
        cmocka_unit_test(ties),
        cmocka_unit_test(extremes),
    };
    return cmocka_run_group_tests_name("round", tests, NULL, NULL);
}
