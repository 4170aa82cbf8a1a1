/* simplex_projection.h: the nearest distribution. */
#ifndef NADIR_LINALG_SIMPLEX_PROJECTION_H
#define NADIR_LINALG_SIMPLEX_PROJECTION_H

#include <stdint.h>

/* x: [count], finite; becomes the point of {x >= 0, sum x = 1} nearest to it in the Euclidean norm:
 * max(x - theta, 0). room: [count]. */
void nadir_simplex_project(int64_t count, double *x, double *room);

#endif
