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

/* Y = shift X + scale M^T X. */
static nadir_status combine_transposed(nadir_context *context, nadir_average *average, int64_t count,
                                       double shift, double scale, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    nadir_average *owner = average->lender != NULL ? average->lender : average;
    const nadir_entries *entries = &owner->transpose;
    if (owner->dense != NULL) {
        nadir_matrix_combine_transposed(context, &owner->matrix, count, shift, scale, x, y);
        return NADIR_OK;
    }
    if (entries->starts == NULL) {
        NADIR_CHECK(nadir_matrix_transpose(context, &owner->matrix, &owner->transpose));
    }
    const nadir_matrix transpose = {owner->states, NULL, entries->starts, entries->columns, entries->values};
    nadir_matrix_combine(context, &transpose, count, shift, scale, x, y);
cleanup:
    return status;
}

nadir_status nadir_average_combine(nadir_context *context, nadir_average *average, bool transposed,
                                   int64_t count, double shift, double scale, const double *x, double *y)
{
    if (!transposed) {
        nadir_matrix_combine(context, &average->matrix, count, shift, scale, x, y);
        nadir_lines_add(context, &average->lines, count, scale, x, y);
        return NADIR_OK;
    }
    const nadir_status status = combine_transposed(context, average, count, shift, scale, x, y);
    return status != NADIR_OK ? status
                              : nadir_lines_add_transposed(context, &average->lines, count, scale, x, y);
}

void nadir_average_multiply(const nadir_context *context, const nadir_average *average, int64_t count,
                            const double *x, double *y)
{
    nadir_matrix_multiply(context, &average->matrix, count, x, y);
    nadir_lines_add(context, &average->lines, count, 1, x, y);
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

double nadir_average_roundings(const nadir_average *average, bool transposed)
{
    const nadir_average *owner = average->lender != NULL ? average->lender : average;
    const nadir_matrix transpose = {.size = owner->states, .starts = owner->transpose.starts};
    const int64_t longest = !transposed                ? nadir_matrix_row_length(&average->matrix)
                            : transpose.starts != NULL ? nadir_matrix_row_length(&transpose)
                                                       : average->states;
    const int64_t corrected = average->b != NULL ? average->states : 0; /* a sum over all states */
    return (double)(longest + corrected + 4) + nadir_lines_roundings(&average->lines, transposed);
}

double nadir_average_terms(const nadir_average *average)
{
    if (average->lines.states > 0) {
        return average->lines.terms;
    }
    return average->norm + (average->b != NULL ? 2 : 0); /* beside a nominal M, |b k^T| is at most |P| + 1 */
}
