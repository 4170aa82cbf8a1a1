/* cone_sphere.c: orders 2 and 3: all combinations of the leading eigenvectors; see cone_walk.c for how. */
#include "baseline/cone_walk.h"
#include "linalg/threads.h"

#include <string.h>

enum { BATCH = 64 }; /* circles between two looks at the best so far: a fixed number, whatever the threads */

/* x <- (V c)_+ as a unit vector. */
static void combine(const nadir_walk_space *of, const double *c, double *x)
{
    for (int64_t j = 0; j < of->cone->columns; j++) {
        x[j] = 0;
        for (int a = 0; a < of->d; a++) {
            x[j] += of->V[j * of->d + a] * c[a];
        }
    }
    (void)nadir_cone_positive(of->cone->columns, 1, x, x);
}

/* The leading vector itself, of either sign. */
static void try_leading(nadir_walker *walker)
{
    nadir_walker_try(walker, (const double[NADIR_WALK_DIMENSIONS]){1});
    nadir_walker_try(walker, (const double[NADIR_WALK_DIMENSIONS]){-1});
}

nadir_status nadir_cone_circle(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                               double *x)
{
    nadir_status status = NADIR_OK;
    nadir_walk_space space = {0};
    nadir_walker walker = {0};
    if (spectrum->count < 2) {
        nadir_cone_zero(cone, spectrum, x);
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_walk_space_open(context, cone, spectrum, 2, &space));
    NADIR_CHECK(nadir_walker_open(context, &space, &walker));
    try_leading(&walker);
    nadir_walker_around(&walker, -1);
    combine(&space, walker.best.c, x);
cleanup:
    nadir_walker_close(context, &walker);
    nadir_walk_space_close(context, &space);
    return status;
}

/* All circles, walkers[threads] sharing them; *best: in: the point to beat. */
static nadir_status go_around_all(nadir_context *context, const nadir_walk_space *space, int threads,
                                  nadir_walker *walkers, nadir_walk_best *best)
{
    nadir_status status = NADIR_OK;
    const int64_t n = space->cone->columns;
    nadir_walk_best found[BATCH];
    for (int64_t first = 0; first < n; first += BATCH) {
        const int64_t count = first + BATCH < n ? BATCH : n - first;
        NADIR_CHECK(nadir_progress(context, "order 3", (double)first / (double)n));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int part = 0; part < threads; part++) {
            for (int64_t i = part; i < count; i += threads) {
                walkers[part].best = *best;
                nadir_walker_around(&walkers[part], first + i);
                found[i] = walkers[part].best;
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
    nadir_walk_space space = {0};
    nadir_walker *walkers = NULL;
    if (spectrum->count < 3) {
        return nadir_cone_circle(context, cone, spectrum, x);
    }
    NADIR_NEW_ZERO(context, walkers, threads);
    NADIR_CHECK(nadir_walk_space_open(context, cone, spectrum, 3, &space));
    for (int part = 0; part < threads; part++) {
        NADIR_CHECK(nadir_walker_open(context, &space, &walkers[part]));
    }
    try_leading(&walkers[0]);
    nadir_walk_best best = walkers[0].best;
    NADIR_CHECK(go_around_all(context, &space, threads, walkers, &best));
    combine(&space, best.c, x);
cleanup:
    for (int part = 0; part < threads && walkers != NULL; part++) {
        nadir_walker_close(context, &walkers[part]);
    }
    nadir_release(context, walkers);
    nadir_walk_space_close(context, &space);
    return status;
}
