/*
 * test_number_format.c: numbers are printed with 15 to 17 digits, the fewest that read back to the same bits.
 */
#include "support/support.h"

#include "support/number_support.h"

#include <fenv.h>
#include <float.h>
#include <locale.h>
#include <stdio.h>

static void assert_format(double value, const char *expected)
{
    char text[NADIR_NUMBER_LENGTH];
    memset(text, '#', sizeof text);
    assert_int_equal(nadir_format_double(value, text), strlen(expected));
    assert_string_equal(text, expected);
}

static void printed_forms(void **state)
{
    (void)state;
    assert_format(0.0, "0");
    assert_format(-0.0, "-0");
    assert_format(5.0, "5");
    assert_format(-3.0, "-3");
    assert_format(100.0, "100");
    assert_format(123456789012345.0, "123456789012345");
    assert_format(1e15, "1e15");
    assert_format(9007199254740993.0, "9007199254740992");
    assert_format(1e16, "1e16");
    assert_format(1.5e16, "1.5e16");
    assert_format(0.1, "0.1");
    assert_format(0.1 + 0.2, "0.30000000000000004");
    assert_format(-1.0 / 3.0, "-0.3333333333333333");
    assert_format(123.25, "123.25");
    assert_format(0.0001, "0.0001");
    assert_format(0.00001, "1e-5");
    assert_format(1e-9, "1e-9");
    assert_format(1.25e-9, "1.25e-9");
    assert_format(1e23, "1e23");
    assert_format(2.5e300, "2.5e300");
    assert_format(DBL_MAX, "1.7976931348623157e308");
    assert_format(-DBL_MIN, "-2.2250738585072014e-308");
    assert_format(0x1p-1074, "4.94065645841247e-324");
    assert_format(0x1p-1073, "9.88131291682493e-324");
    assert_format(9.5367431640625e-07, "9.5367431640625e-7");
    assert_format(INFINITY, "inf");
    assert_format(-INFINITY, "-inf");
    assert_format(NAN, "nan");
    assert_format(-NAN, "nan");
}

/* The significant digits of a text, without leading and trailing zeros. */
static void collect_digits(const char *text, char digits[40])
{
    size_t count = 0;
    for (; *text != '\0' && *text != 'e'; ++text) {
        if (*text >= '0' && *text <= '9' && (count > 0 || *text != '0')) {
            digits[count++] = *text;
        }
    }
    while (count > 0 && digits[count - 1] == '0') {
        --count;
    }
    digits[count] = '\0';
}

/* Reads back to the same bits, here and with strtod, and has the digits of the shortest %.14e to %.16e that
 * does. */
static void assert_shortest(double value, uint64_t seed)
{
    char text[NADIR_NUMBER_LENGTH], other[64], digits[40], other_digits[40];
    double back = 0.0;
    ptrdiff_t size = nadir_format_double(value, text);
    int precision = 14;

    if (parse(text, &back) != size || !same_bits(back, value) || !same_bits(strtod(text, NULL), value)) {
        fail_msg("%a is printed as %s (seed %llu)", value, text, (unsigned long long)seed);
    }
    do {
        snprintf(other, sizeof other, "%.*e", precision, value);
    } while (!same_bits(strtod(other, NULL), value) && ++precision < 17);
    collect_digits(text, digits);
    collect_digits(other, other_digits);
    if (strcmp(digits, other_digits) != 0) {
        fail_msg("%a is printed as %s, %s is better (seed %llu)", value, text, other,
                 (unsigned long long)seed);
    }
}

static void random_doubles_read_back(void **state)
{
    const uint64_t seed = 5;
    (void)state;
    nadir_random random = test_random(seed);
    for (int k = 0; k < test_often(40000); ++k) {
        assert_shortest(random_double(&random), seed);
        assert_shortest((double)nadir_random_below(&random, 1000000) / 1000.0, seed);
        assert_shortest(nadir_random_uniform(&random), seed);
    }
    for (int exponent = -1074; exponent < 1024; exponent += test_memcheck() ? 10 : 1) {
        double power = ldexp(1.0, exponent);
        assert_shortest(power, seed);
        assert_shortest(nextafter(power, 0.0), seed);
        assert_shortest(nextafter(power, INFINITY), seed);
    }
}

static void locale_does_not_matter(void **state)
{
    (void)state;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "de_DE") == NULL) {
        skip();
    }
    assert_format(1.5, "1.5");
    assert_format(1234567.25, "1234567.25");
    setlocale(LC_ALL, "C");
}

static void rounding_mode_does_not_matter(void **state)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    (void)state;
    for (size_t k = 0; k < sizeof modes / sizeof modes[0]; ++k) {
        char text[NADIR_NUMBER_LENGTH];
        fesetround(modes[k]);
        nadir_format_double(0x1.3333333333334p-2, text);
        fesetround(FE_TONEAREST);
        assert_string_equal(text, "0.30000000000000004");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printed_forms),
        cmocka_unit_test(random_doubles_read_back),
        cmocka_unit_test(locale_does_not_matter),
        cmocka_unit_test(rounding_mode_does_not_matter),
    };
    return cmocka_run_group_tests_name("number_format", tests, NULL, NULL);
}
