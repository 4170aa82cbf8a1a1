/*
 * number_exact.c: exact comparison of a decimal of any length with a point half-way between two doubles, by
 * integers of fixed size.
 *
 * Such a point has at most 767 significant digits, so the digits of the text after the first 768 matter only
 * through whether one of them is nonzero; they are replaced by a single digit 1. What remains is
 *     D 10^q  against  odd 2^e,
 * where D 5^q (q ≥ 0) and odd 5^−q (q < 0) stay below 2²⁶²⁰: D < 10^769, and the decimal lies above 2⁻¹⁰⁷⁶,
 * so q > −1093. Both sides are within a factor 4, hence aligning their powers of two adds at most three bits.
 */
#include <string.h>

#include "base/number_parts.h"
#include "base/wide.h"

#define KEPT_DIGITS 768
#define WORDS       48

/* Σ word[k] 2^(64 k), 0 ≤ k < count, without leading zero words. */
typedef struct natural {
    int count;
    uint64_t word[WORDS];
} natural;

static void natural_multiply_add(natural *n, uint64_t factor, uint64_t carry)
{
    for (int k = 0; k < n->count; ++k) {
        uint64_t low;
        uint64_t high = nadir_wide_multiply(n->word[k], factor, &low);
        low += carry;
        carry = high + (low < carry);
        n->word[k] = low;
    }
    if (carry != 0) {
        n->word[n->count++] = carry;
    }
}

/* n ← n 5^power */
static void natural_scale_five(natural *n, int64_t power)
{
    const uint64_t five_27 = UINT64_C(7450580596923828125);
    for (; power >= 27; power -= 27) {
        natural_multiply_add(n, five_27, 0);
    }
    for (; power > 0; --power) {
        natural_multiply_add(n, 5, 0);
    }
}

/* n ← n 2^bits */
static void natural_shift(natural *n, int64_t bits)
{
    size_t words = (size_t)(bits / 64);
    natural_multiply_add(n, UINT64_C(1) << (bits % 64), 0);
    memmove(n->word + words, n->word, (size_t)n->count * sizeof n->word[0]);
    memset(n->word, 0, words * sizeof n->word[0]);
    n->count += (int)words;
}

static int natural_compare(const natural *a, const natural *b)
{
    if (a->count != b->count) {
        return a->count > b->count ? 1 : -1;
    }
    for (int k = a->count - 1; k >= 0; --k) {
        if (a->word[k] != b->word[k]) {
            return a->word[k] > b->word[k] ? 1 : -1;
        }
    }
    return 0;
}

/* D and q of the file's head; *q comes from the exponent of the last of the first 19 digits, each digit taken
 * beyond those lowers it by one. */
static void natural_read(const nadir_number_decimal *decimal, natural *n, int64_t *q)
{
    int taken = 0;
    bool rest = false;
    n->count = 0;
    for (const char *at = decimal->first; at < decimal->last; ++at) {
        if (*at == '.' || (taken == 0 && *at == '0')) {
            continue;
        }
        if (taken < KEPT_DIGITS) {
            natural_multiply_add(n, 10, (uint64_t)(*at - '0'));
            ++taken;
        } else {
            rest = rest || *at != '0';
        }
    }
    if (rest) {
        natural_multiply_add(n, 10, 1);
        ++taken;
    }
    *q = decimal->exponent - (taken > 19 ? taken - 19 : 0);
}

int nadir_number_compare_exact(const nadir_number_decimal *decimal, uint64_t odd, int exponent)
{
    natural left, right = {1, {odd}};
    int64_t q;

    natural_read(decimal, &left, &q);
    if (q >= 0) {
        natural_scale_five(&left, q);
    } else {
        natural_scale_five(&right, -q);
    }

    /* D 5^q 2^q against odd 2^e: shift the side whose power of two is larger. */
    if (q >= exponent) {
        natural_shift(&left, q - exponent);
    } else {
        natural_shift(&right, exponent - q);
    }
    return natural_compare(&left, &right);
}
