/* random.c: xoshiro256++ and the distributions made from it. The compiler may not fuse multiplications and
 * additions: normal variates would change. */
#include "core/random.h"

#include <math.h>
#include <stddef.h>

/* log x for 0 < x ≤ 1, to a unit or two in the last place. The C library's log differs between platforms in
 * its last bit; this one consists of operations that IEEE 754 defines exactly (as long as the compiler does
 * not fuse them):
 *     x = m 2^e, √½ ≤ m < √2,  s = (m − 1)/(m + 1),  log m = 2 artanh s = 2 (s + s³/3 + s⁵/5 + …),
 * where |s| < 0.172, so that the terms from s²³ on are below 2⁻⁵⁸ of the sum. */
static double portable_log(double x)
{
    static const double ln2_high = 0x1.62e42fefa0000p-1, ln2_low = 0x1.cf79abc9e3b3ap-40;
    static const double reciprocals[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                                         1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
    int exponent;
    double m = frexp(x, &exponent);
    double s, square, tail = 0.0;

    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2.0;
        --exponent;
    }
    s = (m - 1.0) / (m + 1.0);
    square = s * s;
    for (size_t k = 0; k < sizeof reciprocals / sizeof reciprocals[0]; ++k) {
        tail = square * (tail + reciprocals[k]);
    }
    /* ln2_high has trailing zeros enough for exponent × ln2_high to be exact. */
    return exponent * ln2_high + (2.0 * s + (2.0 * s * tail + exponent * ln2_low));
}

double nadir_random_normal(nadir_random *random)
{
    double x, y, square, factor;

    if (random->has_spare) {
        random->has_spare = false;
        return random->spare;
    }
    /* Marsaglia's polar method: (x, y) uniform in the unit disc, r² = x² + y²; then x √(−2 log r² / r²) and
     * y √(−2 log r² / r²) are independent standard normals. */
    do {
        x = 2.0 * nadir_random_uniform(random) - 1.0;
        y = 2.0 * nadir_random_uniform(random) - 1.0;
        square = x * x + y * y;
    } while (square >= 1.0 || square == 0.0);
    factor = sqrt(-2.0 * portable_log(square) / square);
    random->spare = factor * y;
    random->has_spare = true;
    return factor * x;
}

void nadir_random_jump(nadir_random *random)
{
    /* The coefficients of x^(2¹²⁸) modulo the characteristic polynomial of the step. */
    static const uint64_t polynomial[4] = {UINT64_C(0x180ec6d33cfd0aba), UINT64_C(0xd5a61266f0c9392c),
                                           UINT64_C(0xa9582618e03fc9aa), UINT64_C(0x39abdc4529b1661c)};
    uint64_t sum[4] = {0, 0, 0, 0};

    for (int bit = 0; bit < 256; ++bit) {
        if ((polynomial[bit / 64] >> (bit % 64) & 1) != 0) {
            for (int k = 0; k < 4; ++k) {
                sum[k] ^= random->state[k];
            }
        }
        nadir_random_next(random);
    }
    for (int k = 0; k < 4; ++k) {
        random->state[k] = sum[k];
    }
    random->has_spare = false;
}

uint64_t nadir_random_below(nadir_random *random, uint64_t bound)
{
    uint64_t low, result;

    if (bound == 0) {
        return 0;
    }
    /* ⌊x bound / 2⁶⁴⌋ for uniform x, where the first 2⁶⁴ mod bound values of the low word are drawn again so
     * that every result has equally many x (Lemire, 2019). */
    result = nadir_multiply_wide(nadir_random_next(random), bound, &low);
    if (low < bound) {
        uint64_t surplus = (0 - bound) % bound;
        while (low < surplus) {
            result = nadir_multiply_wide(nadir_random_next(random), bound, &low);
        }
    }
    return result;
}

double nadir_random_exponential(nadir_random *random)
{
    /* 1 − u lies in (0, 1] without rounding; fabs makes −log 1 a plain zero. */
    return fabs(portable_log(1.0 - nadir_random_uniform(random)));
}
