/*
 * wide.h: the full 128-bit product of two 64-bit words, the one piece of wide arithmetic that number
 * conversion and bounded random integers need.
 */
#ifndef NADIR_BASE_WIDE_H
#define NADIR_BASE_WIDE_H

#include <stdint.h>

/* a b = 2⁶⁴ × result + *low */
static inline uint64_t nadir_wide_multiply(uint64_t a, uint64_t b, uint64_t *low)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
#else
    uint64_t a_low = a & 0xffffffffU, a_high = a >> 32;
    uint64_t b_low = b & 0xffffffffU, b_high = b >> 32;
    uint64_t bottom = a_low * b_low;
    uint64_t middle = a_high * b_low + (bottom >> 32);
    uint64_t other = a_low * b_high + (middle & 0xffffffffU);
    *low = (other << 32) | (bottom & 0xffffffffU);
    return a_high * b_high + (middle >> 32) + (other >> 32);
#endif
}

#endif
