/* perturbed_solve.c: solving with one kernel through the solves of another; see occupancy_internal.h. */
#include "linalg/distributed.h"
#include "linalg/iterative.h"
#include "linalg/matrix.h"
#include "solve/occupancy_internal.h"

#include <math.h>
#include <string.h>

/* How well an iterative base solves for a preconditioner: its operator need not be exact. */
#define PRECONDITION_RESIDUAL 1e-3

/* Products, each with a solve of the base, after which a backend of one's own would have been cheaper. */
#define PRODUCTS_LIMIT (5 * NADIR_GMRES_RESTART)

/* Y = A X = X - gamma P^pi X, or transposed. */
static nadir_status apply(nadir_context *context, void *user, bool transposed, int64_t count, const double *x,
                          double *y)
{
    nadir_occupancy *occupancy = user;
    const nadir_status status = nadir_occupancy_multiply(context, occupancy, transposed, count, x, y);
    for (int64_t i = 0; i < count * occupancy->average.states; i++) {
        y[i] = x[i] - occupancy->gamma * y[i];
    }
    return status;
}

/* One solve of the base, without refinement. One that did not quite converge still is a preconditioner. */
static nadir_status precondition(nadir_context *context, void *user, bool transposed, int64_t count,
                                 const double *r, double *z)
{
    const nadir_occupancy *occupancy = user;
    const nadir_status status =
        nadir_occupancy_solve_once(context, occupancy->base, transposed, count, r, PRECONDITION_RESIDUAL, z);
    return status == NADIR_ERROR_NOT_CONVERGED ? NADIR_OK : status;
}

nadir_status nadir_occupancy_solve_preconditioned(nadir_context *context, nadir_occupancy *occupancy,
                                                  bool transposed, int64_t count, const double *b,
                                                  double residual, double *x)
{
    nadir_status status = NADIR_OK;
    const int64_t n = occupancy->average.states;
    const nadir_linear_system system = {
        .size = n, .apply = apply, .precondition = precondition, .user = occupancy};
    int64_t products;
    NADIR_RESERVE(context, occupancy->gmres_work, nadir_gmres_work(&system), occupancy->gmres_capacity);
    memset(x, 0, (size_t)(count * n) * sizeof *x);
    const nadir_gmres settings = {.transposed = transposed,
                                  .residual = residual,
                                  .limit = PRODUCTS_LIMIT,
                                  .work = occupancy->gmres_work};
    NADIR_CHECK(nadir_gmres_solve(context, &system, &settings, count, b, x, &products));
cleanup:
    return status;
}

nadir_status nadir_sherman_morrison_start(nadir_context *context, nadir_sherman_morrison *update)
{
    double sum = 0;
    double size = 0;
    for (int64_t s = 0; s < update->states; s++) {
        const double term = update->gamma * update->k[s] * update->z[s];
        sum += term;
        size += fabs(term);
    }
    sum = nadir_allreduce_sum(context, sum);
    size = 1 + nadir_allreduce_sum(context, size);
    update->denominator = 1 + sum;
    if (!(fabs(update->denominator) > NADIR_DENOMINATOR_LIMIT * size)) {
        return nadir_fail(
            context, NADIR_ERROR_ILL_POSED,
            "the kernel makes I - gamma P singular: 1 + gamma k.Db is %g, which is zero to working "
            "precision; a smaller radius keeps away from it",
            update->denominator);
    }
    return NADIR_OK;
}

void nadir_sherman_morrison_apply(const nadir_context *context, const nadir_sherman_morrison *update,
                                  bool transposed, int64_t count, double *x)
{
    const int64_t n = update->states;
    const double *right = transposed ? update->b : update->k;
    const double *left = transposed ? update->w : update->z;
    for (int64_t j = 0; j < count; j++) {
        double *xj = x + j * n;
        const double factor = update->gamma * nadir_blocks_dot(context, n, right, xj) / update->denominator;
        nadir_blocks_add(context, n, -factor, left, xj);
    }
}

/*
 * A few steps towards a product with D, for callers that iterate on their own: see occupancy.h. Generalised conjugate residuals with the base's solves as preconditioner K: from r = b - A x each step
 * makes
 *
 *     z = K^-1 r,    q = A z, orthogonal to the q before (and z likewise),    x <- x + t z,    r <- r - t q
 *
 * with the t that makes |r|_2 least: what GMRES does, with the residual at hand all the time.
 */

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
    NADIR_CHECK(nadir_occupancy_residuals(context, occupancy, transposed, 1, b, x, r));
    const double first = sqrt(nadir_blocks_dot(context, n, r, r));
    double now = first;
    for (int i = 0; i < STEPS && now > share * first; i++) {
        double *z = occupancy->work + 2 * i * n;
        double *q = z + n;
        NADIR_CHECK(nadir_occupancy_solve_once(context, base, transposed, 1, r, share, z));
        NADIR_CHECK(apply(context, occupancy, transposed, 1, z, q));
        for (int j = 0; j < i; j++) {
            const double *before = occupancy->work + 2 * j * n;
            const double share_of_q = nadir_blocks_dot(context, n, before + n, q) / squares[j];
            nadir_blocks_add(context, n, -share_of_q, before, z);
            nadir_blocks_add(context, n, -share_of_q, before + n, q);
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
