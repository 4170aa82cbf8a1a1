/*
 * solve_partial.c: a few steps towards a product with D, for those who come closer on their own; see
 * occupancy.h.
 *
 * Generalised conjugate residuals with the base's solves as preconditioner K: from r = b - A x each step
 * makes
 *
 *     z = K^-1 r,    q = A z, orthogonal to the q before (and z likewise),    x <- x + t z,    r <- r - t q
 *
 * with the t that makes |r|_2 least: what GMRES does, with the residual at hand all the time.
 */
#include "linalg/matrix.h"
#include "solve/occupancy_internal.h"

#include <math.h>

/* r <- b - A x, or with A^T. */
static nadir_status compute_residual(nadir_context *context, nadir_occupancy *occupancy, bool transposed,
                                     const double *b, const double *x, double *r)
{
    nadir_status status = NADIR_OK;
    nadir_average *average = &occupancy->average;
    if (transposed) {
        NADIR_CHECK(nadir_average_multiply_transposed(context, average, 1, x, r));
    } else {
        nadir_average_multiply(context, average, 1, x, r);
    }
    for (int64_t s = 0; s < average->states; s++) {
        r[s] = (b[s] - x[s]) + occupancy->gamma * r[s];
    }
cleanup:
    return status;
}

/* q <- A z. */
static nadir_status apply(nadir_context *context, nadir_occupancy *occupancy, bool transposed,
                          const double *z, double *q)
{
    nadir_status status = NADIR_OK;
    nadir_average *average = &occupancy->average;
    if (transposed) {
        NADIR_CHECK(nadir_average_multiply_transposed(context, average, 1, z, q));
    } else {
        nadir_average_multiply(context, average, 1, z, q);
    }
    for (int64_t s = 0; s < average->states; s++) {
        q[s] = z[s] - occupancy->gamma * q[s];
    }
cleanup:
    return status;
}

nadir_status nadir_occupancy_solve_partial(nadir_context *context, nadir_occupancy *occupancy,
                                           bool transposed, const double *b, double share, double *x,
                                           double *r, double *left)
{
    enum { STEPS = NADIR_OCCUPANCY_PARTIAL_STEPS };
    nadir_status status = NADIR_OK;
    const int64_t n = occupancy->average.states;
    nadir_occupancy *base = occupancy->base != NULL ? occupancy->base : occupancy;
    double squares[STEPS];
    NADIR_CHECK(nadir_occupancy_check_ready(context, occupancy));
    NADIR_RESERVE(context, occupancy->work, 2 * STEPS * n, occupancy->capacity);
    NADIR_CHECK(compute_residual(context, occupancy, transposed, b, x, r));
    const double first = sqrt(nadir_blocks_dot(context, n, r, r));
    double now = first;
    for (int i = 0; i < STEPS && now > share * first; i++) {
        double *z = occupancy->work + 2 * i * n;
        double *q = z + n;
        NADIR_CHECK(nadir_occupancy_solve_once(context, base, transposed, 1, r, share, z));
        NADIR_CHECK(apply(context, occupancy, transposed, z, q));
        for (int j = 0; j < i; j++) {
            const double *before = occupancy->work + 2 * j * n;
            const double sorted = nadir_blocks_dot(context, n, before + n, q) / squares[j];
            nadir_blocks_add(context, n, -sorted, before, z);
            nadir_blocks_add(context, n, -sorted, before + n, q);
        }
        squares[i] = nadir_blocks_dot(context, n, q, q);
        if (!(squares[i] > 0)) {
            break;
        }
        const double t = nadir_blocks_dot(context, n, q, r) / squares[i];
        nadir_blocks_add(context, n, t, z, x);
        nadir_blocks_add(context, n, -t, q, r);
        now = sqrt(nadir_blocks_dot(context, n, r, r));
    }
    *left = first == 0 ? 0 : now / first;
cleanup:
    return status;
}
