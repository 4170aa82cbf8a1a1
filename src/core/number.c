/*
 * number.c: numbers as text; see number.h.
 *
 * Reading is done by the C library in its "C" locale, rounding to nearest. What is a number is decided here,
 * since strtod also takes blanks, hexadecimal digits and nan(...), and needs a terminating zero. Printing by
 * the library takes up to three tries of 400 ns each: numbers of usual size are printed here, in 70 ns.
 */
#include "core/number.h"

#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A point half-way between two doubles has at most 767 significant digits: of digits after the first 768 it
 * only matters whether one of them is nonzero. */
#define DIGITS_KEPT 768

/* Room for sign, digits, one more digit, exponent and zero. */
#define COPY_LENGTH (DIGITS_KEPT + 32)

/* Exponents in texts are capped here: no text is long enough to bring such a number back into range. */
#define EXPONENT_CAP INT64_C(100000000000000000)

/* What the C library would take from the process and the thread. */
typedef struct surroundings {
    int rounding;
    int error;
} surroundings;

static surroundings enter(void)
{
    const surroundings before = {fegetround(), errno};
    if (before.rounding != FE_TONEAREST) {
        (void)fesetround(FE_TONEAREST);
    }
    return before;
}

static void leave(surroundings before)
{
    if (before.rounding != FE_TONEAREST) {
        (void)fesetround(before.rounding);
    }
    errno = before.error;
}

/* The locale "C" is a constant of the C library, which newlocale finds without allocating; the search is kept
 * out of every number. */
static locale_t c_locale(void)
{
    static _Atomic(locale_t) found;
    locale_t locale = atomic_load_explicit(&found, memory_order_relaxed);
    if (locale == (locale_t)0) {
        locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        atomic_store_explicit(&found, locale, memory_order_relaxed);
    }
    return locale;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *self, const char *end)
{
    while (self < end && is_digit(*self)) {
        self++;
    }
    return self;
}

/* Where digits[.digits] ends; NULL where there is no digit. */
static const char *find_digits_end(const char *self, const char *end)
{
    const char *whole = skip_digits(self, end);
    const char *fraction = whole;
    if (whole < end && *whole == '.') {
        fraction = skip_digits(whole + 1, end);
    }
    return fraction - self > (whole < end && *whole == '.') ? fraction : NULL;
}

/* Where e[+-]digits ends; at itself where there is no complete exponent. */
static const char *find_exponent_end(const char *self, const char *end)
{
    if (self == end || (*self != 'e' && *self != 'E')) {
        return self;
    }
    const char *first = self + 1;
    first += first < end && (*first == '-' || *first == '+');
    const char *last = skip_digits(first, end);
    return last > first ? last : self;
}

/* e[+-]digits, capped; 0 where [at, end) is empty. */
static int64_t read_exponent(const char *self, const char *end)
{
    int64_t sum = 0;
    const bool negative = end - self > 1 && self[1] == '-';
    for (; self < end; self++) {
        if (is_digit(*self) && sum < EXPONENT_CAP) {
            sum = 10 * sum + (*self - '0');
        }
    }
    return negative ? -sum : sum;
}

/* The decimal with digits [at, last) and exponent [last, end) as an equal one, or one that rounds likewise, of
 * at most COPY_LENGTH characters: the significant digits kept, as an integer, and its exponent. */
static void shorten(const char *self, const char *last, const char *end, char copy[COPY_LENGTH])
{
    int64_t exponent = read_exponent(last, end);
    int kept = 0;
    bool fraction = false;
    bool rest = false;
    for (; self < last; self++) {
        if (*self == '.') {
            fraction = true;
            continue;
        }
        if (kept < DIGITS_KEPT) {
            copy[kept] = *self;
            kept += kept > 0 || *self != '0';
            exponent -= fraction;
        } else {
            rest = rest || *self != '0';
            exponent += !fraction;
        }
    }
    exponent = exponent > 100000 ? 100000 : exponent < -100000 ? -100000 : exponent;
    (void)snprintf(copy + kept, (size_t)(COPY_LENGTH - kept), "%se%lld",
                   rest       ? "1"
                   : kept > 0 ? ""
                              : "0",
                   (long long)(exponent - rest));
}

/* The same of at most 15 digits and a power of ten up to 10^22, which are exact: their product or quotient is then
 * rounded once. False for any other decimal, and where rounding is not to nearest. */
static bool convert_short(const char *self, const char *last, const char *end, double *value)
{
    static const double powers[] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int64_t digits = 0;
    int64_t exponent = 0;
    if (last - self > 16 || end - last > 5) { /* one may be the point */
        return false;
    }
    for (bool fraction = false; self < last; self++) {
        digits = *self == '.' ? digits : 10 * digits + (*self - '0');
        exponent -= fraction;
        fraction = fraction || *self == '.';
    }
    exponent += read_exponent(last, end);
    if (digits > INT64_C(999999999999999) || exponent < -22 || exponent > 22 ||
        fegetround() != FE_TONEAREST) {
        return false;
    }
    *value = exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
    return true;
}

/* The decimal in [at, end), without sign, whose digits end at last. */
static double convert(const char *self, const char *last, const char *end)
{
    char copy[COPY_LENGTH];
    const size_t length = (size_t)(end - self);
    const surroundings before = enter();
    if (length < COPY_LENGTH) {
        memcpy(copy, self, length);
        copy[length] = '\0';
    } else {
        shorten(self, last, end, copy);
    }
    const double value = strtod_l(copy, NULL, c_locale());
    leave(before);
    return value;
}

/* Whether [at, end) begins with the lower-case word, in any case. */
static bool begins_with(const char *self, const char *end, const char *word)
{
    for (; *word != '\0'; ++self, ++word) {
        if (self == end || (*self | 0x20) != *word) {
            return false;
        }
    }
    return true;
}

static const char *parse_special(const char *self, const char *end, double *value)
{
    if (begins_with(self, end, "nan")) {
        *value = (double)NAN;
        return self + 3;
    }
    if (begins_with(self, end, "inf")) {
        *value = (double)INFINITY;
        return self + (begins_with(self, end, "infinity") ? 8 : 3);
    }
    return NULL;
}

const char *nadir_number_parse_double(const char *self, const char *end, double *value)
{
    double size;
    const bool negative = self < end && *self == '-';
    self += self < end && (*self == '-' || *self == '+');
    const char *last = find_digits_end(self, end);
    const char *next;
    if (last != NULL) {
        next = find_exponent_end(last, end);
        if (!convert_short(self, last, next, &size)) {
            size = convert(self, last, next);
        }
    } else {
        next = parse_special(self, end, &size);
    }
    if (next != NULL) {
        *value = negative ? -size : size;
    }
    return next;
}

const char *nadir_number_parse_int64(const char *self, const char *end, int64_t *value)
{
    uint64_t sum = 0;
    const bool negative = self < end && *self == '-';
    const uint64_t limit = (uint64_t)INT64_MAX + negative;
    self += self < end && (*self == '-' || *self == '+');
    const char *first = self;
    for (; self < end && is_digit(*self); self++) {
        const uint64_t digit = (uint64_t)(*self - '0');
        if (sum > (limit - digit) / 10) {
            return NULL;
        }
        sum = 10 * sum + digit;
    }
    if (self == first) {
        return NULL;
    }
    /* −2⁶³ has no positive counterpart: −1 − (sum − 1) stays in range. */
    *value = negative && sum > 0 ? -1 - (int64_t)(sum - 1) : (int64_t)sum;
    return self;
}

/* 1e-09 → 1e-9, 1e+16 → 1e16. Returns the new length. */
static int trim_exponent(char *text, int length)
{
    char *to = memchr(text, 'e', (size_t)length);
    if (to == NULL) {
        return length;
    }
    const char *from = ++to;
    if (*from == '-') {
        to++;
    }
    from++;
    from += *from == '0';
    const size_t digits = (size_t)(text + length - from);
    memmove(to, from, digits + 1);
    return (int)(to + digits - text);
}

/* |value| ≈ number · 10^(exponent + 1 − digits), and number has so many digits. */
typedef struct decimal {
    uint64_t number;
    int digits;
    int exponent;
} decimal;

__extension__ typedef unsigned __int128 wide;

static wide power_of_ten(int exponent)
{
    static const double powers[] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}; /* all exact */
    return exponent <= 18 ? (wide)powers[exponent] : (wide)powers[18] * (wide)powers[exponent - 18];
}

/* The shortest of 15 to 17 digits that reads back to size > 0, by exact integer arithmetic: size = m / 2^shift
 * times 10^(digits − 1 − exponent), rounded to nearest, ties to even. It reads back when its error is below half
 * a unit of m. False where that does not fit 128 bits (below 1e-6, from 1e15 on), or is not decided. */
static bool round_to_decimal(double size, decimal *result)
{
    int binary;
    const uint64_t m = (uint64_t)(frexp(size, &binary) * 0x1p53);
    const int shift = 53 - binary;
    int exponent = ((binary + 4095) * 1233 >> 12) - 1233; /* of ten, from that of two; or one too low */
    if (exponent < -6 || shift < 1) {
        return false;
    }
    exponent += m * power_of_ten(16 - exponent) >> shift >= power_of_ten(17);
    for (int digits = 15; digits <= 17 && exponent < 15; digits++) {
        const wide unit = power_of_ten(digits - 1 - exponent);
        const wide product = m * unit;
        const wide rest = product & (((wide)1 << shift) - 1);
        const wide half = (wide)1 << (shift - 1);
        uint64_t number = (uint64_t)(product >> shift);
        const bool up = rest > half || (rest == half && (number & 1) != 0);
        const wide error = up ? 2 * half - rest : rest;
        if (m == (uint64_t)1 << 52 && 4 * error >= unit) { /* the doubles below a power of two lie closer */
            return false;
        }
        if (digits == 17 || 2 * error < unit || (2 * error == unit && (m & 1) == 0)) {
            *result = (decimal){number + up, digits, exponent};
            return true;
        }
    }
    return false;
}

/* As %.17g prints it, without trailing zeros. Returns the length. */
static int print_decimal(decimal from, char *text)
{
    char digits[24] = "";
    if (from.number == (uint64_t)power_of_ten(from.digits)) { /* rounded up to one more digit */
        from.number /= 10;
        from.exponent++;
    }
    for (; from.number % 10 == 0; from.digits--) {
        from.number /= 10;
    }
    for (int i = from.digits - 1; i >= 0; i--) {
        digits[i] = (char)('0' + from.number % 10);
        from.number /= 10;
    }
    char *to = text;
    const bool scientific = from.exponent < -4;
    const int whole = scientific ? 1 : from.exponent + 1; /* digits before the point */
    if (whole <= 0) {
        memcpy(to, "0.0000", 6);
        to += 2 - whole;
    }
    for (int i = 0; i < from.digits || i < whole; i++) {
        if (i == whole && i > 0) {
            *to++ = '.';
        }
        *to++ = (char)(i < from.digits ? digits[i] : '0');
    }
    if (scientific) {
        memcpy(to, "e-", 2);
        to[2] = (char)('0' - from.exponent);
        to += 3;
    }
    *to = '\0';
    return (int)(to - text);
}

/* The same of any number, by the C library: slower. */
static int print_by_library(double value, char text[NADIR_NUMBER_LENGTH])
{
    const surroundings before = enter();
    const locale_t locale = uselocale(c_locale());
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(text, NADIR_NUMBER_LENGTH, "%.*g", digits, value);
        if (digits < 17 && strtod(text, NULL) == value) {
            break;
        }
    }
    (void)uselocale(locale);
    leave(before);
    return trim_exponent(text, length);
}

int nadir_format_double(double value, char text[NADIR_NUMBER_LENGTH])
{
    decimal rounded;
    if (isnan(value)) {
        memcpy(text, "nan", 4);
        return 3;
    }
    if (isinf(value)) {
        return snprintf(text, NADIR_NUMBER_LENGTH, "%s", value < 0 ? "-inf" : "inf");
    }
    if (value == 0 || !round_to_decimal(fabs(value), &rounded)) {
        return print_by_library(value, text);
    }
    text[0] = '-';
    return print_decimal(rounded, text + (value < 0)) + (value < 0);
}
