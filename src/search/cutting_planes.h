/*
 * cutting_planes.h: a step of a cutting-plane method for a concave function of a few numbers: the largest value of the
 * least of several affine functions in a box, solved loosely by an interior point, so that the next cut is made at a
 * point well inside.
 */
#ifndef NADIR_SEARCH_CUTTING_PLANES_H
#define NADIR_SEARCH_CUTTING_PLANES_H

#include "core/context.h"

enum { NADIR_CUTS_MOST = 48 };

/* A struct of zeros holds nothing. */
typedef struct nadir_cutting_planes {
    int64_t size;         /* of y */
    int64_t count;        /* of cuts */
    double *slopes;       /* [NADIR_CUTS_MOST * size] */
    double *values;       /* [NADIR_CUTS_MOST] at y = 0 */
    double *left, *right; /* [size] -left <= y <= right, both 0 or more */
    double *y;            /* [size] the answer */
    double *weights;      /* [NADIR_CUTS_MOST] of the cuts there; their sum is about 1 */
    double *work;
} nadir_cutting_planes;

nadir_status nadir_cutting_planes_make(nadir_context *context, int64_t size, nadir_cutting_planes *self);
void nadir_cutting_planes_clear(nadir_context *context, nadir_cutting_planes *self);

/* y with a large least value, which is returned. It is off the largest by at most `share` of what it is more than
 * `from`, or by `least`. There is a cut. */
double nadir_cutting_planes_solve(nadir_cutting_planes *self, double from, double share, double least);

#endif
