/*
 * frank_wolfe.h: where the searches for min over P of the set of J_P start: from several kernels, or
 * from the worst kernels of smaller radii.
 */
#ifndef NADIR_SEARCH_FRANK_WOLFE_STARTS_H
#define NADIR_SEARCH_FRANK_WOLFE_STARTS_H

#include "search/frank_wolfe.h"
#include "search/lagrangian_search.h"

/* ------------------------------------------------------------------------------------------------ */

/*
 * Frank-Wolfe from several starts.
 *
 * A state that the current kernel does not visit has no gradient, so that a search from the nominal kernel
 * can stop at a local optimum. The rows of the Lagrangian bound are minimisers in every state, visited or
 * not; a search from there, moved into the ball, finds what the other one misses.
 */

/* From the nominal kernel and, where the result does not visit a state that some kernel of the set reaches,
 * from kernels of Lagrangian bounds. attack: of zeros. warm_start: as nadir_frank_wolfe_run, for all of them. */
nadir_status nadir_multistart_run(nadir_context *context, const nadir_problem *problem, double beta,
                                  const nadir_frank_wolfe *warm_start, double tolerance,
                                  int64_t iterations_limit, nadir_candidate *candidate);

/* From the kernel of a Lagrangian bound. The attack becomes the result if that is worse for the policy by
 * more than the tolerance; *better says so. */
nadir_status nadir_multistart_again(nadir_context *context, const nadir_problem *problem, double beta,
                                    const nadir_frank_wolfe *warm_start, const nadir_lagrangian *lagrangian,
                                    double tolerance, int64_t iterations_limit, nadir_candidate *candidate,
                                    bool *better);

/* ------------------------------------------------------------------------------------------------ */

/*
 * worst kernels of growing balls, each searched for from those of the radii before.
 *
 * Value and occupancy under the worst kernel are smooth functions of the radius, except where a row meets the
 * boundary of its domain. Extrapolation from the last five radii has an error of fifth order in the step; the
 * kernel that solves the linear problem there has a return with the square of that error, and is nearly
 * stationary.
 */

enum { NADIR_RADIUS_PATH_POINTS = 5 };

/* A struct of zeros with the problem set is empty. */
typedef struct nadir_radius_path {
    const nadir_problem *problem;
    int count;
    double beta[NADIR_RADIUS_PATH_POINTS]; /* rising */
    double *v[NADIR_RADIUS_PATH_POINTS];   /* [states] each */
    double *d[NADIR_RADIUS_PATH_POINTS];
    nadir_frank_wolfe *frank_wolfe;      /* along the path; NULL: none yet */
    const nadir_frank_wolfe *warm_start; /* of that; or NULL */
} nadir_radius_path;

void nadir_radius_path_clear(nadir_context *context, nadir_radius_path *path);

/* Adds a point and drops the oldest one. A point of the same radius replaces the last; one of a smaller
 * radius is ignored. v, d: [states], copied. */
nadir_status nadir_radius_path_add(nadir_context *context, nadir_radius_path *path, double beta,
                                   const double *v, const double *d);

/* A search from the extrapolation to the radius beta; the path is not empty. attack: of zeros. */
nadir_status nadir_radius_path_follow(nadir_context *context, nadir_radius_path *path, double beta,
                                      double tolerance, int64_t iterations_limit, nadir_candidate *candidate);

#endif
