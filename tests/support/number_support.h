/*
 * number_support.h: what the tests of number parsing and printing share.
 */
#ifndef NADIR_TESTS_NUMBER_SUPPORT_H
#define NADIR_TESTS_NUMBER_SUPPORT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/number.h"
#include "core/random.h"

static inline bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Parses a copy that ends where its memory ends, so that a sanitizer sees every read past it. Returns the
 * number of characters taken, −1 for none. */
static inline ptrdiff_t parse(const char *text, double *value)
{
    size_t size = strlen(text);
    char *copy = malloc(size > 0 ? size : 1);
    const char *begin, *next;
    ptrdiff_t taken;
    assert_non_null(copy);
    memcpy(copy, text, size);
    begin = size > 0 ? copy : copy + 1;
    next = nadir_number_parse_double(begin, begin + size, value);
    taken = next != NULL ? next - begin : -1;
    free(copy);
    return taken;
}

/* Any finite double; more often than by chance small, tiny, or a power of two. */
static inline double random_double(nadir_random *random)
{
    const uint64_t fraction = (UINT64_C(1) << 52) - 1;
    double value;
    do {
        uint64_t bits = nadir_random_next(random);
        uint64_t kind = nadir_random_below(random, 16);
        if (kind == 0) {
            bits &= fraction | UINT64_C(1) << 63;
        } else if (kind == 1) {
            bits &= ~fraction;
        } else if (kind < 6) {
            bits = (bits & ~(UINT64_C(0x7ff) << 52)) | (uint64_t)(1003 + bits % 41) << 52;
        }
        memcpy(&value, &bits, sizeof value);
    } while (!isfinite(value));
    return value;
}

#endif
