/* frank_wolfe_path.c: Frank-Wolfe searches along growing radii, each from the worst kernels of smaller ones; see
 * frank_wolfe.h. */
#include "search/frank_wolfe.h"

#include "linalg/distributed.h"

#include <math.h>
#include <string.h>

void nadir_radius_path_clear(nadir_context *context, nadir_radius_path *path)
{
    for (int i = 0; i < path->count; i++) {
        nadir_release(context, path->points[i].v);
        nadir_release(context, path->points[i].d);
    }
    nadir_frank_wolfe_free(context, path->frank_wolfe);
    *path = (nadir_radius_path){.problem = path->problem};
}

nadir_status nadir_radius_path_add(nadir_context *context, nadir_radius_path *path, double beta,
                                   const double *v, const double *d)
{
    const double newest = path->count > 0 ? path->beta[path->count - 1] : -INFINITY;
    const int last = NADIR_RADIUS_PATH_POINTS - 1;
    if (beta < newest) {
        return NADIR_OK;
    }
    if (beta > newest && path->count <= last) {
        path->count++;
    } else if (beta > newest) { /* the arrays of the oldest point become those of the newest */
        const nadir_frank_wolfe_point oldest = path->points[0];
        memmove(path->points, path->points + 1, (size_t)last * sizeof oldest);
        memmove(path->beta, path->beta + 1, (size_t)last * sizeof beta);
        path->points[last] = oldest;
    }
    path->beta[path->count - 1] = beta;
    return nadir_frank_wolfe_place(context, &path->points[path->count - 1], path->problem->states, v, d);
}

/*
 * Extrapolates v, or d, to beta by Newton's form from the newest point on. Terms are added as long as they get
 * smaller: across a kink, or at the rounding level, older points are of no use. table: [count * states] work
 * space.
 */
static void extrapolate(const nadir_context *context, const nadir_radius_path *path, bool occupancy,
                        double beta, double *table, double *guess)
{
    const int64_t states = path->problem->states;
    const int last = path->count - 1;
    double product = 1;
    double before = INFINITY;
    for (int i = 0; i <= last; i++) {
        const nadir_frank_wolfe_point *point = &path->points[last - i];
        memcpy(table + i * states, occupancy ? point->d : point->v, (size_t)states * sizeof *table);
    }
    memcpy(guess, table, (size_t)states * sizeof *guess);
    for (int k = 1; k <= last; k++) {
        for (int i = 0; i + k <= last; i++) { /* differences of order k */
            const double width = path->beta[last - i] - path->beta[last - i - k];
            double *upper = table + i * states;
            for (int64_t s = 0; s < states; s++) {
                upper[s] = (upper[s] - upper[states + s]) / width;
            }
        }
        product *= beta - path->beta[last - k + 1];
        const double size = fabs(product) * nadir_global_largest(context, states, table);
        if (!(size < before)) {
            return;
        }
        for (int64_t s = 0; s < states; s++) {
            guess[s] += product * table[s];
        }
        before = size;
    }
}

nadir_status nadir_radius_path_follow(nadir_context *context, nadir_radius_path *path, double beta,
                                      double tolerance, int64_t iterations_limit, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    const int64_t states = path->problem->states;
    double *work = NULL;
    NADIR_NEW(context, work, (path->count + 2) * states);
    double *v = work;
    double *d = work + states;
    if (path->frank_wolfe == NULL) {
        NADIR_CHECK(nadir_frank_wolfe_create(context, path->problem, &path->frank_wolfe));
    }
    extrapolate(context, path, false, beta, work + 2 * states, v);
    extrapolate(context, path, true, beta, work + 2 * states, d);
    NADIR_CHECK(nadir_frank_wolfe_from(context, path->frank_wolfe, beta, v, d, tolerance, iterations_limit,
                                       candidate));
cleanup:
    nadir_release(context, work);
    return status;
}
