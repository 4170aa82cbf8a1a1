/*
 * number.c: numbers as text, by the C library in its "C" locale, rounding to nearest; see number.h.
 *
 * What is a number is decided here, since strtod also takes blanks, hexadecimal digits and nan(...), and needs
 * a terminating zero.
 */
#include "base/number.h"

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

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at)) {
        at++;
    }
    return at;
}

/* Where digits[.digits] ends; NULL where there is no digit. */
static const char *find_digits_end(const char *at, const char *end)
{
    const char *whole = skip_digits(at, end);
    const char *fraction = whole;
    if (whole < end && *whole == '.') {
        fraction = skip_digits(whole + 1, end);
    }
    return fraction - at > (whole < end && *whole == '.') ? fraction : NULL;
}

/* Where e[+-]digits ends; at itself where there is no complete exponent. */
static const char *find_exponent_end(const char *at, const char *end)
{
    if (at == end || (*at != 'e' && *at != 'E')) {
        return at;
    }
    const char *first = at + 1;
    first += first < end && (*first == '-' || *first == '+');
    const char *last = skip_digits(first, end);
    return last > first ? last : at;
}

/* e[+-]digits, capped; 0 where [at, end) is empty. */
static int64_t read_exponent(const char *at, const char *end)
{
    int64_t sum = 0;
    const bool negative = end - at > 1 && at[1] == '-';
    for (; at < end; at++) {
        if (is_digit(*at) && sum < EXPONENT_CAP) {
            sum = 10 * sum + (*at - '0');
        }
    }
    return negative ? -sum : sum;
}

/* The decimal with digits [at, last) and exponent [last, end) as an equal one, or one that rounds likewise, of
 * at most COPY_LENGTH characters: the significant digits kept, as an integer, and its exponent. */
static void shorten(const char *at, const char *last, const char *end, char copy[COPY_LENGTH])
{
    int64_t exponent = read_exponent(last, end);
    int kept = 0;
    bool fraction = false;
    bool rest = false;
    for (; at < last; at++) {
        if (*at == '.') {
            fraction = true;
            continue;
        }
        if (kept < DIGITS_KEPT) {
            copy[kept] = *at;
            kept += kept > 0 || *at != '0';
            exponent -= fraction;
        } else {
            rest = rest || *at != '0';
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

/* The decimal in [at, end), without sign, whose digits end at last. */
static double convert(const char *at, const char *last, const char *end)
{
    char copy[COPY_LENGTH];
    const size_t length = (size_t)(end - at);
    const surroundings before = enter();
    if (length < COPY_LENGTH) {
        memcpy(copy, at, length);
        copy[length] = '\0';
    } else {
        shorten(at, last, end, copy);
    }
    const double value = strtod_l(copy, NULL, c_locale());
    leave(before);
    return value;
}

/* Whether [at, end) begins with the lower-case word, in any case. */
static bool begins_with(const char *at, const char *end, const char *word)
{
    for (; *word != '\0'; ++at, ++word) {
        if (at == end || (*at | 0x20) != *word) {
            return false;
        }
    }
    return true;
}

static const char *parse_special(const char *at, const char *end, double *value)
{
    if (begins_with(at, end, "nan")) {
        *value = (double)NAN;
        return at + 3;
    }
    if (begins_with(at, end, "inf")) {
        *value = (double)INFINITY;
        return at + (begins_with(at, end, "infinity") ? 8 : 3);
    }
    return NULL;
}

const char *nadir_number_parse_double(const char *at, const char *end, double *value)
{
    double size;
    const bool negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    const char *last = find_digits_end(at, end);
    const char *next;
    if (last != NULL) {
        next = find_exponent_end(last, end);
        size = convert(at, last, next);
    } else {
        next = parse_special(at, end, &size);
    }
    if (next != NULL) {
        *value = negative ? -size : size;
    }
    return next;
}

const char *nadir_number_parse_int64(const char *at, const char *end, int64_t *value)
{
    uint64_t sum = 0;
    const bool negative = at < end && *at == '-';
    const uint64_t limit = (uint64_t)INT64_MAX + negative;
    at += at < end && (*at == '-' || *at == '+');
    const char *first = at;
    for (; at < end && is_digit(*at); at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        if (sum > (limit - digit) / 10) {
            return NULL;
        }
        sum = 10 * sum + digit;
    }
    if (at == first) {
        return NULL;
    }
    /* −2⁶³ has no positive counterpart: −1 − (sum − 1) stays in range. */
    *value = negative && sum > 0 ? -1 - (int64_t)(sum - 1) : (int64_t)sum;
    return at;
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

int nadir_number_format(double value, char text[NADIR_NUMBER_LENGTH])
{
    if (isnan(value)) {
        memcpy(text, "nan", 4);
        return 3;
    }
    if (isinf(value)) {
        return snprintf(text, NADIR_NUMBER_LENGTH, "%s", value < 0 ? "-inf" : "inf");
    }
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
