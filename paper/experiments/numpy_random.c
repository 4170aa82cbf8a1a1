/*
 * numpy_random.c: the Mersenne twister and the polar normal variates of NumPy's RandomState.
 */
#include "numpy_random.h"

#include <math.h>

#define WORDS  NADIR_NUMPY_RANDOM_WORDS
#define MIDDLE 397

void nadir_numpy_random_seed(nadir_numpy_random *random, uint32_t seed)
{
    random->state[0] = seed;
    for (uint32_t k = 1; k < WORDS; ++k) {
        uint32_t last = random->state[k - 1];
        random->state[k] = UINT32_C(1812433253) * (last ^ last >> 30) + k;
    }
    random->position = WORDS;
    random->spare = 0.0;
    random->has_spare = false;
}

static uint32_t twist(uint32_t upper, uint32_t lower)
{
    uint32_t mixed = (upper & UINT32_C(0x80000000)) | (lower & UINT32_C(0x7fffffff));
    return mixed >> 1 ^ ((lower & 1) != 0 ? UINT32_C(0x9908b0df) : 0);
}

/* Replaces all words: x[k + 624] = x[k + 397] ⊕ twist(x[k], x[k + 1]), indices modulo 624. */
static void refill(nadir_numpy_random *random)
{
    uint32_t *x = random->state;
    int k = 0;

    for (; k < WORDS - MIDDLE; ++k) {
        x[k] = x[k + MIDDLE] ^ twist(x[k], x[k + 1]);
    }
    for (; k < WORDS - 1; ++k) {
        x[k] = x[k + MIDDLE - WORDS] ^ twist(x[k], x[k + 1]);
    }
    x[k] = x[MIDDLE - 1] ^ twist(x[k], x[0]);
    random->position = 0;
}

static uint32_t next_word(nadir_numpy_random *random)
{
    uint32_t y;

    if (random->position == WORDS) {
        refill(random);
    }
    y = random->state[random->position++];
    y ^= y >> 11;
    y ^= y << 7 & UINT32_C(0x9d2c5680);
    y ^= y << 15 & UINT32_C(0xefc60000);
    return y ^ y >> 18;
}

double nadir_numpy_random_uniform(nadir_numpy_random *random)
{
    /* The order of the two draws matters: the upper 27 bits come first. */
    uint32_t upper = next_word(random) >> 5;
    uint32_t lower = next_word(random) >> 6;
    return (upper * 67108864.0 + lower) / 9007199254740992.0;
}

double nadir_numpy_random_normal(nadir_numpy_random *random)
{
    double x, y, square, factor;

    if (random->has_spare) {
        random->has_spare = false;
        return random->spare;
    }
    do {
        x = 2.0 * nadir_numpy_random_uniform(random) - 1.0;
        y = 2.0 * nadir_numpy_random_uniform(random) - 1.0;
        square = x * x + y * y;
    } while (square >= 1.0 || square == 0.0);
    /* NumPy hands out the second variate first. */
    factor = sqrt(-2.0 * log(square) / square);
    random->spare = factor * x;
    random->has_spare = true;
    return factor * y;
}
