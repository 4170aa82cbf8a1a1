/*
 * cone_random.c: brute force: the best of random points x >= 0, |x| = 1; see cone.h.
 *
 * x is a normal vector with the absolute value taken of each entry, scaled to length 1: its direction is
 * uniform over the cone. Points are drawn in blocks, by all threads, and each block is one matrix product. In
 * many dimensions |A x| is nearly the same for almost all x, so that the best sample is far below the
 * maximum.
 */
#include "cone/cone.h"

#include "sample_stream.h"

#include <cblas.h>
#include <math.h>

/* Numbers of a block, and the largest block in points. */
#define BLOCK_NUMBERS (1 << 18)
enum { BLOCK_POINTS = 4096 };
/* What drawing a number costs, in multiplications. */
#define DRAW_WORK 32

void nadir_cone_draw(uint64_t key, int64_t sample, int64_t n, double *x)
{
    nadir_random random = nadir_sample_stream(key, sample);
    for (int64_t i = 0; i < n; i++) {
        x[i] = fabs(nadir_random_normal(&random));
    }
    (void)nadir_cone_positive(n, 1, x, x);
}

nadir_status nadir_cone_random(nadir_context *context, const nadir_cone *cone, nadir_trajectory *trajectory,
                               double *x)
{
    nadir_status status = NADIR_OK;
    const int64_t n = cone->columns;
    const int64_t fit = BLOCK_NUMBERS / n + 1;
    const int64_t block = fit < BLOCK_POINTS ? fit : BLOCK_POINTS;
    const uint64_t key = nadir_sample_key(context);
    double *X = NULL;
    double *KX = NULL;
    int64_t best = 0;
    double highest = -1;
    NADIR_NEW(context, X, block * n);
    NADIR_NEW(context, KX, block * n);
    do {
        const int64_t first = trajectory->samples;
        const int64_t count = nadir_trajectory_next_block(trajectory, block);
        const int threads = nadir_threads_for(context, DRAW_WORK * count * n);
#pragma omp parallel for num_threads(threads)
        for (int64_t i = 0; i < count; i++) {
            nadir_cone_draw(key, first + i, n, X + i * n);
        }
        nadir_cone_multiply(context, cone, count, X, KX);
        for (int64_t i = 0; i < count; i++) {
            const double square = cblas_ddot((blasint)n, X + i * n, 1, KX + i * n, 1);
            best = square > highest ? first + i : best;
            highest = fmax(square, highest);
        }
        NADIR_CHECK(nadir_trajectory_record(context, trajectory, first + count,
                                            ldexp(sqrt(highest), cone->exponent)));
    } while (nadir_trajectory_stop(trajectory) == NADIR_STOP_NONE);
    NADIR_CHECK(nadir_trajectory_finish(context, trajectory));
    nadir_cone_draw(key, best, n, x);
cleanup:
    nadir_release(context, X);
    nadir_release(context, KX);
    return status;
}
