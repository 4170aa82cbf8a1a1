/*
 * random.h: the random numbers of nadir's own generators, xoshiro256++ (Blackman and Vigna, 2021).
 *
 * The same seed gives the same bits on every platform, for the normal and exponential variates too: they use
 * only operations that IEEE 754 defines exactly. A stream is plain data; copy it to repeat it. Not for
 * cryptography, and not safe to share between threads: give each thread its own by jumping.
 */
#ifndef NADIR_CORE_RANDOM_H
#define NADIR_CORE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct nadir_random {
    uint64_t state[4];
    double spare; /* the second normal variate of a pair, while has_spare */
    bool has_spare;
} nadir_random;

/* Starts the stream of this seed; any seed is as good as any other. */
static inline void nadir_random_seed(nadir_random *random, uint64_t seed)
{
    /* splitmix64 (Steele, Lea and Flood, 2014): spreads similar seeds apart and never gives four zeros. */
    for (int k = 0; k < 4; ++k) {
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        random->state[k] = z ^ z >> 31;
    }
    random->spare = 0.0;
    random->has_spare = false;
}

/* Moves 2¹²⁸ draws ahead: streams that are k jumps apart never meet in practice. Drops the spare variate. */
void nadir_random_jump(nadir_random *random);

/* 64 random bits. */
static inline uint64_t nadir_random_next(nadir_random *random)
{
    uint64_t *s = random->state;
    const uint64_t sum = s[0] + s[3];
    const uint64_t result = (sum << 23 | sum >> 41) + s[0];
    const uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = s[3] << 45 | s[3] >> 19;
    return result;
}

/* Uniform in [0, 1), a multiple of 2⁻⁵³. */
static inline double nadir_random_uniform(nadir_random *random)
{
    return (double)(nadir_random_next(random) >> 11) * 0x1p-53;
}

/* Uniform in 0, …, bound − 1 without bias; 0 for bound 0. */
uint64_t nadir_random_below(nadir_random *random, uint64_t bound);

/* Standard normal. */
double nadir_random_normal(nadir_random *random);

/* Exponential with mean 1; never negative, always finite. */
double nadir_random_exponential(nadir_random *random);

/* All 128 bits of a product: a b = 2⁶⁴ × result + *low. */
static inline uint64_t nadir_multiply_wide(uint64_t a, uint64_t b, uint64_t *low)
{
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
}

#endif
