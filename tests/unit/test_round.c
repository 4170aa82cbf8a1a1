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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products_of_one_sign),
        cmocka_unit_test(sums_of_both_signs),
    };
    return cmocka_run_group_tests_name("round", tests, NULL, NULL);
}
