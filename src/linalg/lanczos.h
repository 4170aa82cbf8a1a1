/*
 * lanczos.h: the largest singular value of a linear map that is known by its products alone, with its
 * vectors, and the largest eigenvalue of a symmetric one without.
 */
#ifndef NADIR_LINALG_LANCZOS_H
#define NADIR_LINALG_LANCZOS_H

#include "linalg/vec.h"

/* y <- A x, or y <- A^T x; x and y do not overlap, and are of the space where the iteration has its vectors.
 */
typedef nadir_status nadir_apply(nadir_context *context, void *user, const double *x, double *y);

typedef struct nadir_linear_map {
    int64_t rows, columns;
    nadir_apply *apply;            /* x: [columns], y: [rows] */
    nadir_apply *apply_transposed; /* x: [rows], y: [columns] */
    void *user;
} nadir_linear_map;

/* A x = sigma y up to rounding, with unit x and y; a lower bound on the norm of A whatever the residual. */
typedef struct nadir_singular_triple {
    double sigma;
    double residual;  /* |A^T y - sigma x| as the recurrence has it: some singular value is this near */
    int64_t products; /* with A and with A^T */
    bool converged;   /* residual <= tolerance * sigma, or no direction is left */
} nadir_singular_triple;

/*
 * start: [columns], of any length but zero, or NULL: normal variates from *random. A start has to have a part
 * along the vector that is looked for: a random one has. tolerance: of the residual, relative to sigma, no
 * less than 1e-13. A limit on the products that is reached is not an error: `converged` tells. x: [columns],
 * y: [rows]; of a zero operator x is the start and y = 0. x may be `start`. These three are in memory,
 * whatever the space.
 */
nadir_status nadir_lanczos_top(const nadir_vec *vec, const nadir_linear_map *map, const double *start,
                               nadir_random *random, double tolerance, int64_t products_limit, double *x,
                               double *y, nadir_singular_triple *triple);

/* The largest eigenvalue of a symmetric positive semidefinite map, without its vector: four vectors of
 * memory, whatever the number of steps. */

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
