/*
 * number_format.c: numbers to text: the shortest decimal that reads back to the same double, after
 *     R. Giulietti, The Schubfach way to render doubles, 2020.
 *
 * A double v = c 2^q is what every real in its rounding interval [v − 2^(q−1), v + 2^(q−1)] reads back as
 * (ends included for even c; the left half is shorter when c is a power of two). Let 10^k be the largest
 * power of ten not above the interval's length. Then the multiples of 10^k hit the interval at least once and
 * those of 10^(k+1) at most once; if the latter do, that is the shortest decimal (up to zeros at its end),
 * else the nearest multiple of 10^k is.
 */
#include <stdbool.h>
#include <string.h>

#include "base/number.h"
#include "base/number_parts.h"
#include "base/wide.h"

/* The largest decimal exponents printed without e, and the smallest. */
#define PLAIN_LARGEST  15
#define PLAIN_SMALLEST (-4)

/* digits × 10^exponent */
typedef struct decimal {
    uint64_t digits;
    int exponent;
} decimal;

/* ⌊g x / 2¹²⁸⌋, its last bit set when anything was cut off ("round to odd"), so that comparisons with
 * integers come out as for the exact product. A remainder of at most one unit stems from g having been
 * rounded up. */
static uint64_t multiply_round_odd(nadir_number_wide g, uint64_t x)
{
    uint64_t middle, lowest;
    uint64_t carry = nadir_wide_multiply(g.low, x, &lowest);
    uint64_t high = nadir_wide_multiply(g.high, x, &middle);
    middle += carry;
    high += middle < carry;
    return high | (middle > 1);
}

/* The shortest decimal in the rounding interval of c 2^q; narrow when the left half is shorter. */
static decimal shortest_in_interval(uint64_t c, int q, bool narrow)
{
    /* k = ⌊log₁₀ 2^q⌋, or ⌊log₁₀ (¾ 2^q)⌋ when narrow; the offset keeps the shifted number positive. */
    int64_t scaled_log = (int64_t)q * 1262611 - (narrow ? 524031 : 0);
    int k = (int)((scaled_log + ((int64_t)1024 << 22)) >> 22) - 1024;
    int shift = q + nadir_number_log2_power(-k) + 1;
    nadir_number_wide g = nadir_number_power(-k);
    uint64_t left, middle, right, s, tens;
    bool below, above;

    if (-k < 0 || -k > NADIR_NUMBER_EXACT) { /* round g up */
        ++g.low;
        g.high += g.low == 0;
    }
    /* 4 v 10^−k, and the ends of the interval on the same scale, moved inwards where they do not belong. */
    left = multiply_round_odd(g, (4 * c - (narrow ? 1 : 2)) << shift) + (c & 1);
    middle = multiply_round_odd(g, (4 * c) << shift);
    right = multiply_round_odd(g, (4 * c + 2) << shift) - (c & 1);

    s = middle / 4;
    tens = s / 10;
    below = left <= 40 * tens;
    above = 40 * tens + 40 <= right;
    if (tens > 0 && below != above) {
        return (decimal){tens + above, k + 1};
    }
    below = left <= 4 * s;
    above = 4 * s + 4 <= right;
    if (below == above) { /* both or neither: the nearer one, even on a tie */
        above = middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1) != 0);
    }
    return (decimal){s + above, k};
}

static decimal shortest_decimal(uint64_t bits)
{
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    int biased = (int)(bits >> 52 & 0x7ff);
    uint64_t c = biased > 0 ? fraction | UINT64_C(1) << 52 : fraction;
    int q = (biased > 0 ? biased : 1) - 1075;
    decimal d;

    if (q <= 0 && q > -53 && (c & ((UINT64_C(1) << -q) - 1)) == 0) {
        d = (decimal){c >> -q, 0}; /* an integer below 2⁵³ */
    } else {
        d = shortest_in_interval(c, q, fraction == 0 && biased > 1);
    }

    if (d.digits % 100000000 == 0) {
        d.digits /= 100000000;
        d.exponent += 8;
    }
    while (d.digits % 10 == 0) {
        d.digits /= 10;
        ++d.exponent;
    }
    return d;
}

static int count_digits(uint64_t x)
{
    int count = 1;
    for (; x >= 10000; x /= 10000) {
        count += 4;
    }
    return count + (x >= 10) + (x >= 100) + (x >= 1000);
}

/* Writes exactly count digits of x to text[count], with leading zeros. */
static char *put_digits(char *text, uint64_t x, int count)
{
    for (int k = count - 1; k >= 0; --k, x /= 10) {
        text[k] = (char)('0' + x % 10);
    }
    return text + count;
}

static char *put_zeros(char *text, int count)
{
    memset(text, '0', (size_t)count);
    return text + count;
}

/* d.ddd where the point stands after the first whole digits; no point after the last one. */
static char *put_split(char *text, uint64_t digits, int count, int whole)
{
    put_digits(text + 1, digits, count);
    memmove(text, text + 1, (size_t)whole);
    if (whole == count) {
        return text + count;
    }
    text[whole] = '.';
    return text + count + 1;
}

static char *put_decimal(char *text, decimal d)
{
    int count = count_digits(d.digits);
    int leading = d.exponent + count - 1; /* the decimal exponent of the first digit */

    if (leading < PLAIN_SMALLEST || leading > PLAIN_LARGEST) {
        unsigned size = (unsigned)(leading < 0 ? -leading : leading);
        text = put_split(text, d.digits, count, 1);
        *text++ = 'e';
        if (leading < 0) {
            *text++ = '-';
        }
        return put_digits(text, size, count_digits(size));
    }
    if (leading < 0) {
        *text++ = '0';
        *text++ = '.';
        text = put_zeros(text, -leading - 1);
        return put_digits(text, d.digits, count);
    }
    if (d.exponent >= 0) {
        return put_zeros(put_digits(text, d.digits, count), d.exponent);
    }
    return put_split(text, d.digits, count, leading + 1);
}

static char *put_word(char *text, const char word[3])
{
    memcpy(text, word, 3);
    return text + 3;
}

int nadir_number_format(double value, char text[NADIR_NUMBER_LENGTH])
{
    const uint64_t infinite = UINT64_C(0x7ff0000000000000);
    char *end = text;
    uint64_t bits, magnitude;

    memcpy(&bits, &value, sizeof bits);
    magnitude = bits & ~(UINT64_C(1) << 63);
    if (bits != magnitude && magnitude <= infinite) {
        *end++ = '-';
    }
    if (magnitude > infinite) {
        end = put_word(end, "nan");
    } else if (magnitude == infinite) {
        end = put_word(end, "inf");
    } else if (magnitude == 0) {
        *end++ = '0';
    } else {
        end = put_decimal(end, shortest_decimal(magnitude));
    }
    *end = '\0';
    return (int)(end - text);
}
