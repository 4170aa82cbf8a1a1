/* cone_combinations.c: orders 2 and 3: all combinations of two or three leading eigenvectors, by
 * great_circle.h. */
#include "cone/great_circle.h"

enum { BATCH = 64 }; /* circles that start from the same best point; fixed, so that threads do not matter */

/* x <- (V c)_+ as a unit vector. */
static void combine(const nadir_circle_space *space, const double *c, double *x)
{
    for (int64_t j = 0; j < space->cone->columns; j++) {
        x[j] = 0;
        for (int a = 0; a < space->d; a++) {
            x[j] += space->V[j * space->d + a] * c[a];
        }
    }
    (void)nadir_cone_positive(space->cone->columns, 1, x, x);
}

/* The leading eigenvector with either sign. */
static void try_leading(nadir_circle_search *search)
{
    nadir_circle_search_try(search, (const double[NADIR_CIRCLE_DIMENSIONS]){1});
    nadir_circle_search_try(search, (const double[NADIR_CIRCLE_DIMENSIONS]){-1});
}

nadir_status nadir_cone_circle(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                               double *x)
{
    nadir_status status = NADIR_OK;
    nadir_circle_space space = {0};
    nadir_circle_search search = {0};
    if (spectrum->count < 2) {
        nadir_cone_zero(cone, spectrum, x);
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_circle_space_open(context, cone, spectrum, 2, &space));
    NADIR_CHECK(nadir_circle_search_open(context, &space, &search));
    try_leading(&search);
    nadir_circle_search_run(&search, -1);
    combine(&space, search.best.c, x);
cleanup:
    nadir_circle_search_close(context, &search);
    nadir_circle_space_close(context, &space);
    return status;
}

/* Searches all circles with searches[threads]. *best: the best point before, and after. */
static nadir_status search_circles(nadir_context *context, const nadir_circle_space *space, int threads,
                                   nadir_circle_search *searches, nadir_circle_point *best)
{
    nadir_status status = NADIR_OK;
    const int64_t n = space->cone->columns;
    nadir_circle_point found[BATCH];
    for (int64_t first = 0; first < n; first += BATCH) {
        const int64_t count = first + BATCH < n ? BATCH : n - first;
        NADIR_CHECK(nadir_progress(context, "order 3", (double)first / (double)n));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int part = 0; part < threads; part++) {
            for (int64_t i = part; i < count; i += threads) {
                searches[part].best = *best;
                nadir_circle_search_run(&searches[part], first + i);
                found[i] = searches[part].best;
            }
        }
        for (int64_t i = 0; i < count; i++) {
            *best = found[i].square > best->square ? found[i] : *best;
        }
    }
cleanup:
    return status;
}

nadir_status nadir_cone_sphere(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                               double *x)
{
    nadir_status status = NADIR_OK;
    const int64_t n = cone->columns;
    const int threads = nadir_threads_for(context, n * n * n);
    nadir_circle_space space = {0};
    nadir_circle_search *searches = NULL;
    if (spectrum->count < 3) {
        return nadir_cone_circle(context, cone, spectrum, x);
    }
    NADIR_NEW_ZERO(context, searches, threads);
    NADIR_CHECK(nadir_circle_space_open(context, cone, spectrum, 3, &space));
    for (int part = 0; part < threads; part++) {
        NADIR_CHECK(nadir_circle_search_open(context, &space, &searches[part]));
    }
    try_leading(&searches[0]);
    nadir_circle_point best = searches[0].best;
    NADIR_CHECK(search_circles(context, &space, threads, searches, &best));
    combine(&space, best.c, x);
cleanup:
    for (int part = 0; part < threads && searches != NULL; part++) {
        nadir_circle_search_close(context, &searches[part]);
    }
    nadir_release(context, searches);
    nadir_circle_space_close(context, &space);
    return status;
}
