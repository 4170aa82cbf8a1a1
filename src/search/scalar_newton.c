/* scalar_newton.c: Newton's method for x = size(s a - x t b); see scalar_newton.h. */
#include "search/free_search.h"

#include "linalg/blocks.h"
#include "linalg/gstd.h"
#include "linalg/norm.h"

#include <float.h>
#include <math.h>

/* Steps are 3 to 6 as a rule. With q near 1 or huge the right-hand side is nearly made of straight pieces, of
 * which each step leaves at least one behind. */
#define STEPS 200

/* u <- the direction at x; x <- s u . a / (1 + t u . b), written as x + (size - x) / (1 + t u . b): where a
 * and b are nearly constant, s a - x t b loses fewer digits than the products with u would. */
static nadir_status attain(nadir_context *context, const nadir_scalar_newton *equation, double *work,
                           double *u, double *x)
{
    nadir_status status = NADIR_OK;
    nadir_gstd gstd;
    double size;
    for (int64_t i = 0; i < equation->count; i++) {
        work[i] = equation->s * equation->a[i] - *x * equation->t * equation->b[i];
    }
    if (equation->centred) {
        NADIR_CHECK(
            nadir_gstd_compute(context, equation->first, equation->count, work, equation->q, u, u, &gstd));
        size = gstd.sigma;
    } else {
        NADIR_CHECK(nadir_norm_dual(context, equation->first, equation->count, work, equation->q, u, &size));
    }
    const double denominator = 1 + equation->t * nadir_blocks_dot(context, equation->count, u, equation->b);
    *x = denominator > 0 ? *x + (size - *x) / denominator : INFINITY;
cleanup:
    return status;
}

nadir_status nadir_scalar_newton_solve(nadir_context *context, const nadir_scalar_newton *equation,
                                       double start, double *work, double *u, double *x)
{
    nadir_status status = NADIR_OK;
    double current = start;
    double moved = 0;
    for (int step = 0; step < STEPS; step++) {
        const double before = current;
        const double moved_before = moved;
        NADIR_CHECK(attain(context, equation, work, u, &current));
        moved = fabs(current - before);
        /* A step that does not rise, the first apart, is rounding; and the next one would be where steps
         * shrink as fast as these did. */
        if (!isfinite(current) || moved * moved <= DBL_EPSILON * fabs(current) * moved_before ||
            moved <= 2 * DBL_EPSILON * fabs(current) || (step > 0 && current <= before)) {
            break;
        }
    }
    *x = current;
cleanup:
    return status;
}
