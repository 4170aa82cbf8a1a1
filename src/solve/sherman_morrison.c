/* sherman_morrison.c: solving with a matrix changed by a rank-one term; see sherman_morrison.h. */
#include "solve/occupancy_internal.h"

#include "linalg/distributed.h"
#include "linalg/matrix.h"

#include <math.h>

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
