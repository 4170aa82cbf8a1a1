/* frank_wolfe_path.c: Frank-Wolfe searches along growing radii, each from the worst kernels of smaller ones; see
 * frank_wolfe.h. */
#include "search/frank_wolfe.h"

#include "linalg/distributed.h"

#include <math.h>
#include <string.h>

void nadir_radius_path_clear(nadir_context *context, nadir_radius_path *path)
{
    for (int i = 0; i < path->count; i++) {
        nadir_release(context, path->v[i]);
        nadir_release(context, path->d[i]);
    }
    nadir_frank_wolfe_free(context, path->frank_wolfe);
    path->frank_wolfe = NULL;
    path->count = 0;
}

/* The arrays of the oldest point become those of the newest. */
static void rotate(nadir_radius_path *path)
{
    double *v = path->v[0];
    double *d = path->d[0];
    for (int i = 0; i + 1 < path->count; i++) {
        path->beta[i] = path->beta[i + 1];
        path->v[i] = path->v[i + 1];
        path->d[i] = path->d[i + 1];
    }
    path->v[path->count - 1] = v;
    path->d[path->count - 1] = d;
}

/* Makes room for one more point. */
static nadir_status extend(nadir_context *context, nadir_radius_path *path)
{
    nadir_status status = NADIR_OK;
    double *more_v = NULL;
    double *more_d = NULL;
    if (path->count == NADIR_RADIUS_PATH_POINTS) {
        rotate(path);
        return NADIR_OK;
    }
    NADIR_NEW(context, more_v, path->problem->states);
    NADIR_NEW(context, more_d, path->problem->states);
    path->v[path->count] = more_v;
    path->d[path->count++] = more_d;
    more_v = NULL;
    more_d = NULL;
cleanup:
    nadir_release(context, more_v);
    nadir_release(context, more_d);
    return status;
}

nadir_status nadir_radius_path_add(nadir_context *context, nadir_radius_path *path, double beta,
                                   const double *v, const double *d)
{
    nadir_status status = NADIR_OK;
    const size_t bytes = (size_t)path->problem->states * sizeof *v;
    const double newest = path->count > 0 ? path->beta[path->count - 1] : -INFINITY;
    if (beta < newest) {
        return NADIR_OK;
    }
    if (beta > newest) {
        NADIR_CHECK(extend(context, path));
    }
    path->beta[path->count - 1] = beta;
    memcpy(path->v[path->count - 1], v, bytes);
    memcpy(path->d[path->count - 1], d, bytes);
cleanup:
    return status;
}

/*
 * Extrapolates f to beta by Newton's form from the newest point on. Terms are added as long as they get
 * smaller: across a kink, or at the rounding level, older points are of no use. table: [count * states] work
 * space.
 */
static void extrapolate(const nadir_context *context, const nadir_radius_path *path, double *const *f,
                        double beta, double *table, double *guess)
{
    const int64_t states = path->problem->states;
    const int last = path->count - 1;
    double product = 1;
    double before = INFINITY;
    for (int i = 0; i <= last; i++) {
        memcpy(table + i * states, f[last - i], (size_t)states * sizeof *table);
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
    extrapolate(context, path, path->v, beta, work + 2 * states, v);
    extrapolate(context, path, path->d, beta, work + 2 * states, d);
    NADIR_CHECK(nadir_frank_wolfe_from(context, path->frank_wolfe, beta, v, d, tolerance, iterations_limit,
                                       candidate));
cleanup:
    nadir_release(context, work);
    return status;
}
