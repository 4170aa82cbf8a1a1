/*
 * random.c: xoshiro256++ and the distributions made from it.
 */
#include "core/random.h"

void nadir_random_seed(nadir_random *random, uint64_t seed)
{
    nadir_draw_seed(random, seed);
}

uint64_t nadir_random_next(nadir_random *random)
{
    return nadir_draw_next(random);
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

double nadir_random_uniform(nadir_random *random)
{
    return nadir_draw_uniform(random);
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

double nadir_random_normal(nadir_random *random)
{
    return nadir_draw_normal(random);
}

double nadir_random_exponential(nadir_random *random)
{
    /* 1 − u lies in (0, 1] without rounding; fabs makes −log 1 a plain zero. */
    return fabs(nadir_draw_log(1.0 - nadir_random_uniform(random)));
}
