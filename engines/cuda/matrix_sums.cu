/* matrix_sums.cu: sums of the rows and columns of a matrix on the device; see core/device.h. */
#include "engine.h"
#include "reduce.h"

#include <math_constants.h>

enum { THREADS = 256, CHUNKS = 64 };

/* sums, squares and minima of the stored entries of each row; one warp for each. NULL: not wanted. */
static __global__ void sum_rows(cuda_rows rows, double *sums, double *squares, double *minima)
{
    const int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows.rows) {
        return;
    }
    const int64_t start = rows.dense != NULL ? row * rows.states : rows.starts[row];
    const int64_t end = rows.dense != NULL ? start + rows.states : rows.starts[row + 1];
    const double *values = rows.dense != NULL ? rows.dense : rows.values;
    double sum = 0;
    double square = 0;
    double least = CUDART_INF;
    for (int64_t i = start + lane; i < end; i += 32) {
        sum += values[i];
        square += values[i] * values[i];
        least = fmin(least, values[i]);
    }
    sum = cuda_over_warp(sum);
    square = cuda_over_warp(square);
    for (int step = 16; step > 0; step /= 2) {
        least = fmin(least, __shfl_down_sync(0xffffffffu, least, step));
    }
    if (lane == 0) {
        sums[row] = sum;
        if (squares != NULL) {
            squares[row] = square;
        }
        if (minima != NULL) {
            minima[row] = end - start == rows.states ? least : 0;
        }
    }
}

/* Sums and minima of the columns of a dense matrix over the rows of a chunk: [CHUNKS * n] each. */
static __global__ void sum_columns(int64_t n, const double *dense, double *sums, double *minima)
{
    const int64_t t = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t first = n * blockIdx.y / CHUNKS;
    const int64_t end = n * (blockIdx.y + 1) / CHUNKS;
    if (t < n) {
        double sum = 0;
        double least = CUDART_INF;
        for (int64_t s = first; s < end; s++) {
            const double value = dense[s * n + t];
            sum += value;
            least = fmin(least, value);
        }
        sums[blockIdx.y * n + t] = sum;
        minima[blockIdx.y * n + t] = least;
    }
}

static __global__ void join_chunks(int64_t n, const double *sums, const double *minima, double *sum,
                                   double *least)
{
    const int64_t t = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (t < n) {
        double all = 0;
        double lowest = CUDART_INF;
        for (int64_t i = 0; i < CHUNKS; i++) {
            all += sums[i * n + t];
            lowest = fmin(lowest, minima[i * n + t]);
        }
        sum[t] = all;
        least[t] = lowest;
    }
}

static nadir_status sums(void *self, nadir_context *context, const nadir_device_matrix_sums *to)
{
    nadir_status status = NADIR_OK;
    cuda_matrix *matrix = (cuda_matrix *)self;
    cuda_engine *engine = matrix->rows.engine;
    const int64_t n = matrix->rows.states;
    const bool dense = matrix->rows.dense != NULL;
    const unsigned warps = cuda_blocks(n, THREADS / 32);
    double *const results[] = {to->sums, to->squares, to->columns, to->minima};
    double *found = NULL;
    if (!dense && matrix->transpose.starts == NULL) {
        CUDA_CHECK(cuda_transpose(matrix, context));
    }
    CUDA_CHECK(cuda_reserve(engine, context, (dense ? 4 + 2 * CHUNKS : 4) * n));
    found = engine->workspace;
    sum_rows<<<warps, THREADS>>>(matrix->rows, found, found + n, NULL);
    if (dense) {
        const dim3 grid(cuda_blocks(n, THREADS), CHUNKS);
        double *parts = found + 4 * n;
        sum_columns<<<grid, THREADS>>>(n, matrix->rows.dense, parts, parts + CHUNKS * n);
        join_chunks<<<grid.x, THREADS>>>(n, parts, parts + CHUNKS * n, found + 2 * n, found + 3 * n);
    } else {
        sum_rows<<<warps, THREADS>>>(matrix->transpose, found + 2 * n, NULL, found + 3 * n);
    }
    CUDA_LAUNCHED(engine, context);
    for (int i = 0; i < 4; i++) {
        CUDA_CHECK(cuda_copy(engine, context, n, found + i * n, results[i]));
    }
cleanup:
    return status;
}

void cuda_matrix_sums_enter(nadir_device *table)
{
    table->matrix_sums = sums;
}
