/*
 * radius_path.h: worst kernels of growing balls, each found from those before.
 *
 * Value and occupancy under the worst kernel are smooth functions of the radius, but where a row meets the
 * border of its domain. So they are known, to fifth order in the step, from the last five radii; the answer
 * of the rows to them is a kernel whose return lacks the square of that, and which is as good as stationary.
 */
#ifndef NADIR_SEARCH_RADIUS_PATH_H
#define NADIR_SEARCH_RADIUS_PATH_H

#include "adversary/search/frank_wolfe.h"

enum { NADIR_RADIUS_PATH_POINTS = 5 };

/* A struct of zeros with the problem set is empty. */
typedef struct nadir_radius_path {
    const nadir_problem *problem;
    int count;
    double beta[NADIR_RADIUS_PATH_POINTS]; /* rising */
    double *v[NADIR_RADIUS_PATH_POINTS];   /* [states] each */
    double *d[NADIR_RADIUS_PATH_POINTS];
    nadir_frank_wolfe *frank_wolfe; /* along the path; NULL: none yet */
} nadir_radius_path;

void nadir_radius_path_clear(nadir_context *context, nadir_radius_path *path);

/* One more point; the oldest one is forgotten. One of the same radius takes the place of the last; one of a
 * smaller radius is not taken in. */
nadir_status nadir_radius_path_add(nadir_context *context, nadir_radius_path *path, double beta,
                                   const double *v, const double *d);

/* A descent from what the path says of the radius beta; there is a point at least. attack: of zeros. */
nadir_status nadir_radius_path_follow(nadir_context *context, nadir_radius_path *path, double beta,
                                      double tolerance, int64_t iterations_limit, nadir_attack *attack);

#endif
