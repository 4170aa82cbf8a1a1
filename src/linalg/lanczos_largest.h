/*
 * lanczos_largest.h: the largest eigenvalue of a symmetric positive semidefinite operator that is known by
 * its products alone, without its vector: four vectors of room, whatever the number of steps.
 */
#ifndef NADIR_LINALG_LANCZOS_LARGEST_H
#define NADIR_LINALG_LANCZOS_LARGEST_H

#include "linalg/lanczos.h"
#include "linalg/vec.h"

/* The most products of one search. */
enum { NADIR_LARGEST_PRODUCTS = 64 };

typedef struct nadir_largest {
    double value; /* a lower bound, up to the errors of products */
    double upper; /* an upper bound, but for an unlucky start: once in 10^9; infinity after a few products */
    int64_t products; /* that were made */
} nadir_largest;

/*
 * From a start of normal variates. Stops as soon as upper <= enough, or value > hopeless, or upper is within
 * `tolerance` of value, relatively, or nothing is left to find, or the limit is reached: a number of products
 * up to NADIR_LARGEST_PRODUCTS. apply: y <- A x; an error of its own of relative size e moves value and upper
 * by about e.
 */
nadir_status nadir_lanczos_largest(const nadir_vec *vec, int64_t size, nadir_apply *apply, void *user,
                                   nadir_random *random, double enough, double hopeless, double tolerance,
                                   int64_t limit, nadir_largest *largest);

#endif
