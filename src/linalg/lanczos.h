/*
 * lanczos.h: the largest singular value of an operator that is known by its products alone, with its vectors.
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

#endif
