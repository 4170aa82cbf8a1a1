/*
 * test_number.c: numbers read from text agree with the C library's strtod to the last bit, and nothing past
 * the end of the text is read.
 */
#include <fenv.h>
#include <float.h>
#include <locale.h>
#include <stdio.h>

#include "support/number_support.h"

#define LONGEST 4000

static void assert_parse(const char *text, double expected, ptrdiff_t expected_taken)
{
    double value = -7.25;
    ptrdiff_t taken = parse(text, &value);
    if (taken != expected_taken || !same_bits(value, expected)) {
        fail_msg("\"%.60s\" gives %a from %td characters, expected %a from %td", text, value, taken, expected,
                 expected_taken);
    }
}

static void assert_whole(const char *text, double expected)
{
    assert_parse(text, expected, (ptrdiff_t)strlen(text));
}

static void assert_like_strtod(const char *text, uint64_t seed)
{
    double value = -7.25;
    char *end;
    double expected = strtod(text, &end);
    if (parse(text, &value) != end - text || !same_bits(value, expected)) {
        fail_msg("\"%.60s…\" (%zu characters) gives %a, strtod %a (seed %llu)", text, strlen(text), value,
                 expected, (unsigned long long)seed);
    }
}

static void grammar(void **state)
{
    (void)state;
    assert_parse("5", 5.0, 1);
    assert_parse("5.", 5.0, 2);
    assert_parse(".5", 0.5, 2);
    assert_parse("+5.5", 5.5, 4);
    assert_parse("-0", -0.0, 2);
    assert_parse("-0.0e7", -0.0, 6);
    assert_parse("000", 0.0, 3);
    assert_parse("0001.5000", 1.5, 9);
    assert_parse("1e", 1.0, 1);
    assert_parse("1e+", 1.0, 1);
    assert_parse("1e-x", 1.0, 1);
    assert_parse("1E5", 1e5, 3);
    assert_parse("1e+05,", 1e5, 5);
    assert_parse("1.5.5", 1.5, 3);
    assert_parse("1,5", 1.0, 1);
    assert_parse("1 ", 1.0, 1);
    assert_parse("0x10", 0.0, 1);
    assert_parse("1e5e5", 1e5, 3);
    assert_parse("1d5", 1.0, 1);
}

static void not_numbers(void **state)
{
    static const char *const texts[] = {"",  "+", "-",  ".",  "+.", "+.e3", "e3", "-e", "--1", "+-1", " 1",
                                        "x", "i", "in", "na", "n",  "\t1",  "/",  ":",  "-.e", "..5", "\xff"};
    (void)state;
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; ++k) {
        assert_parse(texts[k], -7.25, -1);
    }
}

static void infinities_and_nan(void **state)
{
    double value;
    (void)state;
    assert_parse("inf", INFINITY, 3);
    assert_parse("-Inf", -INFINITY, 4);
    assert_parse("+INFINITY", INFINITY, 9);
    assert_parse("infinit", INFINITY, 3);
    assert_parse("-iNfInItYx", -INFINITY, 9);
    assert_int_equal(parse("nan", &value), 3);
    assert_true(isnan(value));
    assert_int_equal(parse("NaN(1)", &value), 3);
    assert_true(isnan(value));
}

static void overflow(void **state)
{
    /* The middle between DBL_MAX and 2¹⁰²⁴, less its last digit, which is a 2. */
    static const char middle[] = "179769313486231580793728971405303415079934132710037826936173778980444968292"
                                 "76475094664901797758720709633"
                                 "028641669288791094655554785194040263065748867150582068190890200070838367627"
                                 "38548458177115317644757302700"
                                 "698555713669596228429148198608349364752927190741684443655107043427115596995"
                                 "0809304288017790417449779";
    char text[sizeof middle + 8];
    (void)state;
    assert_whole("1e400", INFINITY);
    assert_whole("-1e400", -INFINITY);
    assert_whole("1e99999999999999999999999", INFINITY);
    assert_whole("0e99999999999999999999999", 0.0);
    assert_whole("1.7976931348623157e308", DBL_MAX);
    assert_whole("1.7976931348623158e308", DBL_MAX);
    assert_whole("1.7976931348623159e308", INFINITY);
    snprintf(text, sizeof text, "%s1.999", middle);
    assert_whole(text, DBL_MAX);
    snprintf(text, sizeof text, "%s2", middle);
    assert_whole(text, INFINITY);
}

static void underflow(void **state)
{
    (void)state;
    assert_whole("1e-400", 0.0);
    assert_whole("-1e-400", -0.0);
    assert_whole("1e-99999999999999999999999", 0.0);
    assert_whole("2.2250738585072014e-308", DBL_MIN);
    assert_whole("2.2250738585072011e-308", 0x0.fffffffffffffp-1022);
    assert_whole("6.631236846766476e-316", 0x0.0000008p-1022);
    assert_whole("4.9406564584124654e-324", 0x1p-1074);
    /* 2⁻¹⁰⁷⁵ = 2.4703282292062327208828439643411068618…e-324 */
    assert_whole("2.4703282292062327e-324", 0.0);
    assert_whole("2.4703282292062328e-324", 0x1p-1074);
    assert_whole("2.47032822920623272e-324", 0.0);
    assert_whole("2.470328229206232720e-324", 0.0);
    assert_whole("2.470328229206232721e-324", 0x1p-1074);
    assert_whole("2.47032822920623273e-324", 0x1p-1074);
    assert_whole("2.47032822920623272088284396434110686e-324", 0.0);
    assert_whole("2.47032822920623272088284396434110687e-324", 0x1p-1074);
    assert_whole("1.48219693752373963e-323", 0x3p-1074);
}

static void ties_go_to_even(void **state)
{
    (void)state;
    assert_whole("9007199254740991", 9007199254740991.0);
    assert_whole("9007199254740993", 9007199254740992.0);
    assert_whole("9007199254740993.0", 9007199254740992.0);
    assert_whole("9007199254740993.00000000000000000000000000000000000001", 9007199254740994.0);
    assert_whole("9007199254740992999999999999999999e-18", 9007199254740992.0);
    assert_whole("9007199254740995", 9007199254740996.0);
    assert_whole("900719925474099300e-2", 9007199254740992.0);
    assert_whole("9.007199254740993e15", 9007199254740992.0);
    /* 1 + 2⁻⁵³ and its neighbours */
    assert_whole("1.00000000000000011102230246251565404236316680908203125", 1.0);
    assert_whole("1.00000000000000011102230246251565404236316680908203124", 1.0);
    assert_whole("1.00000000000000011102230246251565404236316680908203126", 0x1.0000000000001p0);
    assert_whole("0.1", 0x1.999999999999ap-4);
    assert_whole("0.10000000000000001", 0x1.999999999999ap-4);
    assert_whole("0.10000000000000002", 0x1.999999999999bp-4);
}

/* A long text: lead, then count times c, then tail. */
static void assert_repeated(const char *lead, char c, size_t count, const char *tail, double expected)
{
    static char text[LONGEST + 200];
    size_t size = strlen(lead);
    assert_true(count <= LONGEST);
    memcpy(text, lead, size);
    memset(text + size, c, count);
    memcpy(text + size + count, tail, strlen(tail) + 1);
    assert_whole(text, expected);
}

static void thousands_of_digits(void **state)
{
    (void)state;
    assert_repeated("0.", '0', 3000, "1e3001", 1.0);
    assert_repeated("1", '0', 3000, "e-3000", 1.0);
    assert_repeated("", '0', 3000, "1.5", 1.5);
    assert_repeated("1.", '0', 3000, "1", 1.0);
    assert_repeated("9007199254740993.", '0', 3000, "", 9007199254740992.0);
    assert_repeated("9007199254740993.", '0', 3000, "1", 9007199254740994.0);
    assert_repeated("9007199254740992.", '9', 3000, "", 9007199254740992.0);
    assert_repeated("0.", '3', 3000, "", 1.0 / 3.0);
    assert_repeated("", '9', 308, "", 1e308);
    assert_repeated("", '9', 309, "", INFINITY);
    assert_repeated("0.", '0', 3000, "1", 0.0);
}

/* The exact middles of neighbouring doubles, to the last of their up to 767 digits, and just beside them. */
static void middles_of_neighbours(void **state)
{
    static char text[LONGEST];
    const uint64_t seed = 2024;
    nadir_random random;
    (void)state;
    if (LDBL_MANT_DIG < 64) {
        skip();
    }
    nadir_random_seed(&random, seed);
    for (int k = 0; k < 4000; ++k) {
        double value = fabs(random_double(&random));
        double next = nextafter(value, INFINITY);
        long double middle = ((long double)value + (long double)next) / 2;
        size_t zeros = nadir_random_below(&random, 900);
        char exponent[16], *e;
        if (!isfinite(next)) {
            continue;
        }
        snprintf(text, sizeof text, "%.766Le", middle);
        assert_like_strtod(text, seed);
        e = strchr(text, 'e');
        snprintf(exponent, sizeof exponent, "%s", e);
        memset(e, '0', zeros);
        snprintf(e + zeros, sizeof exponent + 1, "1%s", exponent);
        assert_like_strtod(text, seed);
        snprintf(text, sizeof text, "%.*Le", 15 + (int)(zeros % 60), middle);
        assert_like_strtod(text, seed);
    }
}

static void random_texts_agree_with_strtod(void **state)
{
    char text[200];
    const uint64_t seed = 1;
    nadir_random random;
    (void)state;
    nadir_random_seed(&random, seed);
    for (int k = 0; k < 60000; ++k) {
        int size = 0, digits = 1 + (int)nadir_random_below(&random, 25);
        int point = (int)nadir_random_below(&random, 30);
        if (nadir_random_below(&random, 2) == 0) {
            text[size++] = '-';
        }
        for (int d = 0; d < digits; ++d) {
            if (d == point) {
                text[size++] = '.';
            }
            text[size++] = (char)('0' + nadir_random_below(&random, 10));
        }
        text[size] = '\0';
        if (nadir_random_below(&random, 2) == 0) {
            snprintf(text + size, sizeof text - (size_t)size, "e%d",
                     (int)nadir_random_below(&random, 700) - 350);
        }
        assert_like_strtod(text, seed);
        snprintf(text, sizeof text, "%.*e", (int)nadir_random_below(&random, 40), random_double(&random));
        assert_like_strtod(text, seed);
    }
}

/* Every way to cut a text gives a number or nothing, within the cut. */
static void any_cut_is_safe(void **state)
{
    static const char whole[] = "-123.456e-78 +infinity nan .5e+3";
    (void)state;
    for (size_t from = 0; from < sizeof whole; ++from) {
        for (size_t size = 0; from + size < sizeof whole; ++size) {
            char cut[sizeof whole];
            double value;
            memcpy(cut, whole + from, size);
            cut[size] = '\0';
            assert_true(parse(cut, &value) <= (ptrdiff_t)size);
        }
    }
}

/* Parses an exact copy, as parse does; nothing is expected to be taken where taken is −1. */
static void assert_integer(const char *text, int64_t expected, ptrdiff_t taken)
{
    size_t size = strlen(text);
    char *copy = malloc(size + 1);
    int64_t value = -7;
    const char *next;
    assert_non_null(copy);
    memcpy(copy + 1, text, size);
    next = nadir_number_parse_int64(copy + 1, copy + 1 + size, &value);
    if ((next != NULL ? next - copy - 1 : -1) != taken || value != expected) {
        fail_msg("\"%s\" gives %lld", text, (long long)value);
    }
    free(copy);
}

static void integers(void **state)
{
    static const char *const refused[] = {"9223372036854775808",
                                          "-9223372036854775809",
                                          "99999999999999999999",
                                          "18446744073709551617",
                                          "",
                                          "-",
                                          "+",
                                          " 1",
                                          "x",
                                          ".5",
                                          "--1"};
    (void)state;
    assert_integer("0", 0, 1);
    assert_integer("-0", 0, 2);
    assert_integer("+17,", 17, 3);
    assert_integer("-17", -17, 3);
    assert_integer("00012", 12, 5);
    assert_integer("12.5", 12, 2);
    assert_integer("9223372036854775807", INT64_MAX, 19);
    assert_integer("-9223372036854775808", INT64_MIN, 20);
    assert_integer("000000000000000000000000000001", 1, 30);
    for (size_t k = 0; k < sizeof refused / sizeof refused[0]; ++k) {
        assert_integer(refused[k], -7, -1);
    }
}

static void locale_does_not_matter(void **state)
{
    (void)state;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "de_DE") == NULL) {
        skip();
    }
    assert_parse("1.5", 1.5, 3);
    assert_parse("1,5", 1.0, 1);
    assert_whole("9007199254740993.00000000000000000000000000000000000001", 9007199254740994.0);
    setlocale(LC_ALL, "C");
}

static void rounding_mode_does_not_matter(void **state)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    (void)state;
    for (size_t k = 0; k < sizeof modes / sizeof modes[0]; ++k) {
        double tenth = -7.25, third = -7.25;
        fesetround(modes[k]);
        parse("0.1", &tenth);
        parse("0.33333333333333333", &third);
        fesetround(FE_TONEAREST);
        assert_true(same_bits(tenth, 0x1.999999999999ap-4));
        assert_true(same_bits(third, 0x1.5555555555555p-2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grammar),
        cmocka_unit_test(not_numbers),
        cmocka_unit_test(infinities_and_nan),
        cmocka_unit_test(overflow),
        cmocka_unit_test(underflow),
        cmocka_unit_test(ties_go_to_even),
        cmocka_unit_test(thousands_of_digits),
        cmocka_unit_test(middles_of_neighbours),
        cmocka_unit_test(random_texts_agree_with_strtod),
        cmocka_unit_test(any_cut_is_safe),
        cmocka_unit_test(integers),
        cmocka_unit_test(locale_does_not_matter),
        cmocka_unit_test(rounding_mode_does_not_matter),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
