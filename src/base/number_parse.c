/*
 * number_parse.c: text to numbers.
 *
 * A decimal w 10^q (w its first 19 digits) is multiplied out to 128 bits with a bound on what was cut off,
 * which leaves a short interval that contains the value. If both its ends round to the same double, so does
 * the value; otherwise one point half-way between two doubles lies in the interval and an exact comparison
 * decides. This is the idea of Clinger (1990) and Lemire (2021, "Number parsing at a gigabyte per second"),
 * with the interval taking the place of their case distinctions.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/number.h"
#include "base/number_parts.h"
#include "base/wide.h"

#define INFINITE_BITS UINT64_C(0x7ff0000000000000)

/* The most digits that always fit in 64 bits. */
#define WORD_DIGITS 19

/* Exponents in texts are capped here: no text is long enough to bring such a number back into range. */
#define EXPONENT_CAP INT64_C(100000000000000000)

static unsigned digit_of(char c)
{
    return (unsigned)(unsigned char)c - (unsigned)'0';
}

/* Appends digits to *digits (modulo 2⁶⁴) and returns the first character that is not one. */
static const char *take_digits(const char *at, const char *end, uint64_t *digits)
{
    uint64_t sum = *digits;
    for (; at < end && digit_of(*at) <= 9; ++at) {
        sum = 10 * sum + digit_of(*at);
    }
    *digits = sum;
    return at;
}

/* Replaces digits, exponent and truncated when there are more digits than a word holds: leading zeros do not
 * count, and the digits after the 19th only raise the exponent. */
static void shorten(nadir_number_decimal *decimal)
{
    int taken = 0;
    decimal->digits = 0;
    for (const char *at = decimal->first; at < decimal->last; ++at) {
        if (*at == '.') {
            continue;
        }
        if (taken < WORD_DIGITS) {
            decimal->digits = 10 * decimal->digits + digit_of(*at);
            taken += decimal->digits != 0;
        } else {
            decimal->truncated = decimal->truncated || *at != '0';
            ++decimal->exponent;
        }
    }
}

/* Reads e[+-]digits, returns at itself where there is no complete exponent. */
static const char *scan_exponent(const char *at, const char *end, int64_t *exponent)
{
    const char *next = at;
    bool negative = false;
    int64_t sum = 0;

    if (next == end || (*next != 'e' && *next != 'E')) {
        return at;
    }
    ++next;
    if (next < end && (*next == '-' || *next == '+')) {
        negative = *next++ == '-';
    }
    if (next == end || digit_of(*next) > 9) {
        return at;
    }
    for (; next < end && digit_of(*next) <= 9; ++next) {
        if (sum < EXPONENT_CAP) {
            sum = 10 * sum + digit_of(*next);
        }
    }
    *exponent += negative ? -sum : sum;
    return next;
}

/* Reads digits[.digits][e[+-]digits], returns NULL where there is no digit. */
static const char *scan_decimal(const char *at, const char *end, nadir_number_decimal *decimal)
{
    ptrdiff_t count;

    *decimal = (nadir_number_decimal){.first = at};
    at = take_digits(at, end, &decimal->digits);
    count = at - decimal->first;
    if (at < end && *at == '.') {
        const char *fraction = at + 1;
        at = take_digits(fraction, end, &decimal->digits);
        decimal->exponent = fraction - at;
        count += at - fraction;
    }
    if (count == 0) {
        return NULL;
    }
    decimal->last = at;
    if (count > WORD_DIGITS) {
        shorten(decimal);
    }
    return scan_exponent(at, end, &decimal->exponent);
}

/* The bits of the double nearest to x 2^(exponent − 127), 2¹²⁷ ≤ x < 2¹²⁸, where a tie goes up or down as
 * told. */
static uint64_t round_to_double(nadir_number_wide x, int exponent, bool tie_up)
{
    int dropped = 11; /* of the upper word, to leave 53 bits; more below 2⁻¹⁰²² */
    uint64_t bits = (uint64_t)(exponent + 1022) << 52;
    uint64_t kept, rest, half;

    if (exponent > 1023) {
        return INFINITE_BITS;
    }
    if (exponent < -1022) {
        dropped += -1022 - exponent;
        bits = 0;
    }
    if (dropped > 64) {
        return 0;
    }
    kept = dropped == 64 ? 0 : x.high >> dropped;
    rest = dropped == 64 ? x.high : x.high & ((UINT64_C(1) << dropped) - 1);
    half = UINT64_C(1) << (dropped - 1);
    /* The leading one of kept, or a carry out of it, moves the exponent up by itself. */
    return bits + kept + (rest > half || (rest == half && (x.low != 0 || tie_up)));
}

/* Settles a decimal that lies between the doubles with these bits and the next ones, close to the middle. */
static uint64_t choose_neighbour(const nadir_number_decimal *decimal, uint64_t bits)
{
    uint64_t significand = bits & ((UINT64_C(1) << 52) - 1);
    int exponent = (int)(bits >> 52);
    int sign;

    if (exponent > 0) {
        significand |= UINT64_C(1) << 52;
    } else {
        exponent = 1;
    }
    /* The middle of c 2^e and (c + 1) 2^e is (2 c + 1) 2^(e − 1). */
    sign = nadir_number_compare_exact(decimal, 2 * significand + 1, exponent - 1076);
    return bits + (sign > 0 || (sign == 0 && (bits & 1) != 0));
}

static int leading_zeros(uint64_t x)
{
    return __builtin_clzll(x);
}

/* The bits of w 10^q, w ≠ 0, with NADIR_NUMBER_SMALLEST ≤ q ≤ NADIR_NUMBER_LARGEST. */
static uint64_t multiply_out(const nadir_number_decimal *decimal)
{
    int q = (int)decimal->exponent;
    int shift = leading_zeros(decimal->digits);
    int exponent = nadir_number_log2_power(q) + 64 - shift;
    nadir_number_wide power = nadir_number_power(q), x, y;
    /* w 2^shift is off by less than 2^shift when digits were cut off, power by less than 1: in units of the
     * last place of x below, the product lies in [x, x + 2⁶⁴ 2^shift + 3]. */
    uint64_t error = decimal->truncated ? UINT64_C(1) << shift : 0;
    uint64_t significand = decimal->digits << shift;
    uint64_t lowest, middle, error_low = 3;
    uint64_t carry = nadir_wide_multiply(significand, power.low, &lowest);
    uint64_t low_bits;
    int y_exponent;

    x.high = nadir_wide_multiply(significand, power.high, &middle);
    x.low = middle + carry;
    x.high += x.low < carry;
    if (x.high >> 63 == 0) {
        x.high = x.high << 1 | x.low >> 63;
        x.low <<= 1;
        error <<= 1;
        error_low = 2 * error_low + 1;
        --exponent;
    }
    y.low = x.low + error_low;
    y.high = x.high + error + (y.low < x.low);
    y_exponent = exponent;
    if (y.high < x.high) { /* past 2¹²⁸, by so little that what it exceeds does not matter */
        y = (nadir_number_wide){UINT64_C(1) << 63, 0};
        ++y_exponent;
    }

    low_bits = round_to_double(x, exponent, false);
    if (low_bits == round_to_double(y, y_exponent, true)) {
        return low_bits;
    }
    return choose_neighbour(decimal, low_bits);
}

static uint64_t decimal_bits(const nadir_number_decimal *decimal)
{
    /* 10^(q + n − 1) ≤ value < 10^(q + n) for n digits, 1 ≤ n ≤ 19; the limits are 2⁻¹⁰⁷⁵ ≈ 2.5e-324, below
     * which everything is 0, and 2¹⁰²⁴ ≈ 1.8e308. */
    if (decimal->digits == 0 || decimal->exponent < -342) {
        return 0;
    }
    if (decimal->exponent > 308) {
        return INFINITE_BITS;
    }
    return multiply_out(decimal);
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

static const char *scan_special(const char *at, const char *end, uint64_t *bits)
{
    const uint64_t quiet_nan = INFINITE_BITS | UINT64_C(1) << 51;

    if (begins_with(at, end, "nan")) {
        *bits = quiet_nan;
        return at + 3;
    }
    if (begins_with(at, end, "inf")) {
        *bits = INFINITE_BITS;
        return at + (begins_with(at, end, "infinity") ? 8 : 3);
    }
    return NULL;
}

const char *nadir_number_parse_double(const char *at, const char *end, double *value)
{
    nadir_number_decimal decimal;
    bool negative = false;
    uint64_t bits;
    const char *next;

    if (at < end && (*at == '-' || *at == '+')) {
        negative = *at++ == '-';
    }
    next = scan_decimal(at, end, &decimal);
    if (next != NULL) {
        bits = decimal_bits(&decimal);
    } else {
        next = scan_special(at, end, &bits);
    }
    if (next != NULL) {
        bits |= (uint64_t)negative << 63;
        memcpy(value, &bits, sizeof bits);
    }
    return next;
}

const char *nadir_number_parse_int64(const char *at, const char *end, int64_t *value)
{
    uint64_t sum = 0, limit = INT64_MAX;
    bool negative = false;
    const char *first;

    if (at < end && (*at == '-' || *at == '+')) {
        negative = *at++ == '-';
    }
    limit += negative;
    for (first = at; at < end && digit_of(*at) <= 9; ++at) {
        unsigned digit = digit_of(*at);
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
