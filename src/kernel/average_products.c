/* average_products.c: products with an average; see average.h. */
#include "kernel/average.h"

#include "linalg/blocks.h"

/* y <- y - left (right . x), for each column. */
static void subtract_rank_one(const nadir_context *context, int64_t n, const double *left,
                              const double *right, int64_t count, const double *x, double *y)
{
    for (int64_t j = 0; j < count; j++) {
        const double dot = nadir_blocks_dot(context, n, right, x + j * n);
        nadir_blocks_add(context, n, -dot, left, y + j * n);
    }
}

nadir_status nadir_average_combine(nadir_context *context, nadir_average *average, bool transposed,
                                   int64_t count, double shift, double scale, const double *x, double *y)
{
    nadir_average *owner = average->lender != NULL ? average->lender : average;
    const nadir_entries *entries = &owner->transpose;
    if (!transposed) {
        nadir_matrix_combine(context, &owner->matrix, count, shift, scale, x, y);
        return NADIR_OK;
    }
    if (owner->dense != NULL) {
        nadir_matrix_combine_transposed(context, &owner->matrix, count, shift, scale, x, y);
        return NADIR_OK;
    }
    if (entries->starts == NULL) {
        const nadir_status status = nadir_matrix_transpose(context, &owner->matrix, &owner->transpose);
        if (status != NADIR_OK) {
            return status;
        }
    }
    const nadir_matrix transpose = {owner->states, NULL, entries->starts, entries->columns, entries->values};
    nadir_matrix_combine(context, &transpose, count, shift, scale, x, y);
    return NADIR_OK;
}

void nadir_average_multiply(const nadir_context *context, const nadir_average *average, int64_t count,
                            const double *x, double *y)
{
    nadir_matrix_multiply(context, &average->matrix, count, x, y);
    if (average->b != NULL) {
        subtract_rank_one(context, average->states, average->b, average->k, count, x, y);
    }
}

nadir_status nadir_average_multiply_transposed(nadir_context *context, nadir_average *average, int64_t count,
                                               const double *x, double *y)
{
    const nadir_status status = nadir_average_combine(context, average, true, count, 0, 1, x, y);
    if (status == NADIR_OK && average->b != NULL) {
        subtract_rank_one(context, average->states, average->k, average->b, count, x, y);
    }
    return status;
}
