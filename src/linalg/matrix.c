/* matrix.c: products with square matrices; see matrix.h. */
#include "linalg/matrix.h"

#include "linalg/threads.h"

#include <cblas.h>
#include <string.h>

void nadir_entries_clear(nadir_context *context, nadir_entries *entries)
{
    nadir_release(context, entries->starts);
    nadir_release(context, entries->columns);
    nadir_release(context, entries->values);
    *entries = (nadir_entries){0};
}

int64_t nadir_matrix_row_length(const nadir_matrix *matrix)
{
    if (matrix->dense != NULL) {
        return matrix->size;
    }
    int64_t longest = 0;
    for (int64_t s = 0; s < matrix->size; s++) {
        const int64_t length = matrix->starts[s + 1] - matrix->starts[s];
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* One or several right-hand sides; `transposed` as BLAS sees our rows: its matrix is column-major. */
static void multiply_dense(const nadir_context *context, const nadir_matrix *matrix,
                           CBLAS_TRANSPOSE transpose, int64_t count, const double *x, double *y)
{
    const blasint n = (blasint)matrix->size;
    const int before = nadir_blas_threads(nadir_threads_for(context, matrix->size * matrix->size * count));
    if (count == 1) {
        cblas_dgemv(CblasColMajor, transpose, n, n, 1, matrix->dense, n, x, 1, 0, y, 1);
    } else {
        cblas_dgemm(CblasColMajor, transpose, CblasNoTrans, n, (blasint)count, n, 1, matrix->dense, n, x, n,
                    0, y, n);
    }
    nadir_blas_restore(before);
}

/* Rows are handed out in equal shares of entries, so that a hub does not hold up one thread. */
static int64_t share_start(const nadir_matrix *matrix, int share, int shares)
{
    const int64_t wanted = matrix->starts[matrix->size] / shares * share;
    int64_t low = 0;
    int64_t high = share == shares ? (low = matrix->size) : matrix->size;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (matrix->starts[middle] < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void multiply_rows(const nadir_matrix *matrix, int64_t first, int64_t end, int64_t count,
                          const double *x, double *y)
{
    const int64_t n = matrix->size;
    for (int64_t j = 0; j < count; j++) {
        const double *xj = x + j * n;
        double *yj = y + j * n;
        for (int64_t s = first; s < end; s++) {
            double sum = 0;
            for (int64_t i = matrix->starts[s]; i < matrix->starts[s + 1]; i++) {
                sum += matrix->values[i] * xj[matrix->columns[i]];
            }
            yj[s] = sum;
        }
    }
}

void nadir_matrix_multiply(const nadir_context *context, const nadir_matrix *matrix, int64_t count,
                           const double *x, double *y)
{
    if (matrix->dense != NULL) {
        multiply_dense(context, matrix, CblasTrans, count, x, y);
        return;
    }
    const int shares = nadir_threads_for(context, matrix->starts[matrix->size] * count);
#pragma omp parallel for num_threads(shares) schedule(static, 1)
    for (int share = 0; share < shares; share++) {
        multiply_rows(matrix, share_start(matrix, share, shares), share_start(matrix, share + 1, shares),
                      count, x, y);
    }
}

void nadir_matrix_multiply_transposed(const nadir_context *context, const nadir_matrix *matrix, int64_t count,
                                      const double *x, double *y)
{
    multiply_dense(context, matrix, CblasNoTrans, count, x, y);
}

nadir_status nadir_matrix_transpose(nadir_context *context, const nadir_matrix *matrix,
                                    nadir_entries *transpose)
{
    nadir_status status = NADIR_OK;
    const int64_t n = matrix->size;
    const int64_t entries = matrix->starts[n];
    nadir_entries made = {0};
    NADIR_NEW_ZERO(context, made.starts, n + 1);
    NADIR_NEW(context, made.columns, entries);
    NADIR_NEW(context, made.values, entries);
    for (int64_t i = 0; i < entries; i++) {
        made.starts[matrix->columns[i] + 1]++;
    }
    for (int64_t t = 0; t < n; t++) {
        made.starts[t + 1] += made.starts[t];
    }
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = matrix->starts[s]; i < matrix->starts[s + 1]; i++) {
            const int64_t to = made.starts[matrix->columns[i]]++;
            made.columns[to] = (int32_t)s;
            made.values[to] = matrix->values[i];
        }
    }
    /* starts[t] is now where row t ends, that is where row t + 1 starts */
    memmove(made.starts + 1, made.starts, (size_t)n * sizeof *made.starts);
    made.starts[0] = 0;
    *transpose = made;
    made = (nadir_entries){0};
cleanup:
    nadir_entries_clear(context, &made);
    return status;
}
