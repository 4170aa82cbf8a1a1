/* path.c: worst kernels of growing balls, each found from those before; see path.h. */
#include "adversary/valid/path.h"

#include <string.h>

void nadir_valid_path_clear(nadir_context *context, nadir_valid_path *path)
{
    for (int i = 0; i < path->count; i++) {
        nadir_release(context, path->v[i]);
        nadir_release(context, path->d[i]);
    }
    nadir_descent_free(context, path->descent);
    path->descent = NULL;
    path->count = 0;
}

/* The arrays of the oldest point become those of the newest. */
static void rotate(nadir_valid_path *path)
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

nadir_status nadir_valid_path_add(nadir_context *context, nadir_valid_path *path, double beta,
                                  const double *v, const double *d)
{
    nadir_status status = NADIR_OK;
    const int64_t states = path->problem->states;
    double *more_v = NULL;
    double *more_d = NULL;
    if (path->count > 0 && !(beta > path->beta[path->count - 1])) {
        return NADIR_OK;
    }
    if (path->count == NADIR_PATH_POINTS) {
        rotate(path);
    } else {
        NADIR_NEW(context, more_v, states);
        NADIR_NEW(context, more_d, states);
        path->v[path->count] = more_v;
        path->d[path->count++] = more_d;
        more_v = NULL;
        more_d = NULL;
    }
    path->beta[path->count - 1] = beta;
    memcpy(path->v[path->count - 1], v, (size_t)states * sizeof *v);
    memcpy(path->d[path->count - 1], d, (size_t)states * sizeof *d);
cleanup:
    nadir_release(context, more_v);
    nadir_release(context, more_d);
    return status;
}

/* The polynomial through all points, at beta (Lagrange). */
static void extrapolate(const nadir_valid_path *path, double beta, double *v, double *d)
{
    const int64_t states = path->problem->states;
    memset(v, 0, (size_t)states * sizeof *v);
    memset(d, 0, (size_t)states * sizeof *d);
    for (int i = 0; i < path->count; i++) {
        double weight = 1;
        for (int j = 0; j < path->count; j++) {
            weight *= j == i ? 1 : (beta - path->beta[j]) / (path->beta[i] - path->beta[j]);
        }
        for (int64_t s = 0; s < states; s++) {
            v[s] += weight * path->v[i][s];
            d[s] += weight * path->d[i][s];
        }
    }
}

nadir_status nadir_valid_path_follow(nadir_context *context, nadir_valid_path *path, double beta,
                                     double tolerance, int64_t iterations_limit, nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    double *v = NULL;
    double *d = NULL;
    NADIR_NEW(context, v, path->problem->states);
    NADIR_NEW(context, d, path->problem->states);
    if (path->descent == NULL) {
        NADIR_CHECK(nadir_descent_create(context, path->problem, &path->descent));
    }
    extrapolate(path, beta, v, d);
    NADIR_CHECK(
        nadir_descent_follow(context, path->descent, beta, v, d, tolerance, iterations_limit, attack));
cleanup:
    nadir_release(context, v);
    nadir_release(context, d);
    return status;
}
