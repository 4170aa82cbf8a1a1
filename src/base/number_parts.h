/*
 * number_parts.h: what parsing and printing of numbers share: powers of ten to 128 bits, and the exact
 * comparison behind the rare roundings that 128 bits cannot settle.
 */
#ifndef NADIR_BASE_NUMBER_PARTS_H
#define NADIR_BASE_NUMBER_PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* The exponents q for which 10^q is available; 10^q is exact in 128 bits for 0 ≤ q ≤ NADIR_NUMBER_EXACT. */
#define NADIR_NUMBER_SMALLEST (-351)
#define NADIR_NUMBER_LARGEST  350
#define NADIR_NUMBER_EXACT    55

/* An unsigned number of 128 bits, 2⁶⁴ high + low. */
typedef struct nadir_number_wide {
    uint64_t high;
    uint64_t low;
} nadir_number_wide;

/* A decimal digits × 10^exponent as it stands in a text. */
typedef struct nadir_number_decimal {
    uint64_t digits;   /* the first 19 significant digits at most */
    int64_t exponent;  /* of the last of these digits */
    bool truncated;    /* whether nonzero digits follow them */
    const char *first; /* the digits in the text, with at most one point among them */
    const char *last;
} nadir_number_decimal;

/* ⌊log₂ 10^q⌋ for |q| ≤ 1233. */
static inline int nadir_number_log2_power(int q)
{
    return (int)(((int64_t)q * 1741647 + ((int64_t)4096 << 19)) >> 19) - 4096;
}

/* The leading 128 bits of 10^q, cut off: g = ⌊10^q 2^(127 − ⌊log₂ 10^q⌋)⌋, 2¹²⁷ ≤ g < 2¹²⁸. */
nadir_number_wide nadir_number_power(int q);

/* The sign of decimal − odd × 2^exponent, exactly. odd < 2⁵⁴, both sides within a factor 4 of each other and
 * between 2⁻¹⁰⁷⁶ and 2¹⁰²⁵, and odd × 2^exponent must lie half-way between two doubles. */
int nadir_number_compare_exact(const nadir_number_decimal *decimal, uint64_t odd, int exponent);

#endif
