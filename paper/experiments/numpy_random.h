/*
 * numpy_random.h: NumPy's legacy generator, bit for bit.
 *
 * np.random.seed(n), np.random.rand() and np.random.randn() as NumPy has frozen them, for experiments that
 * repeat published numbers; everything else uses nadir_random. Uniform variates agree on every platform.
 * Normal variates agree where NumPy's own do, since both call the C library's log.
 */
#ifndef NADIR_PAPER_NUMPY_RANDOM_H
#define NADIR_PAPER_NUMPY_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#define NADIR_NUMPY_RANDOM_WORDS 624

/* The Mersenne twister MT19937 of Matsumoto and Nishimura (1998). */
typedef struct nadir_numpy_random {
    uint32_t state[NADIR_NUMPY_RANDOM_WORDS];
    int position; /* of the next unused word; NADIR_NUMPY_RANDOM_WORDS when all are used */
    double spare; /* the second normal variate of a pair, while has_spare */
    bool has_spare;
} nadir_numpy_random;

/* np.random.seed(seed) */
void nadir_numpy_random_seed(nadir_numpy_random *random, uint32_t seed);

/* np.random.rand(): uniform in [0, 1) with 53 bits. */
double nadir_numpy_random_uniform(nadir_numpy_random *random);

/* np.random.randn(): standard normal. */
double nadir_numpy_random_normal(nadir_numpy_random *random);

#endif
