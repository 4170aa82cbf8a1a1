/* look.cu: sums of the rows and columns of a matrix on the device; see base/device.h. */
#include "parts.h"

#include <math_constants.h>

enum { THREADS = 256, CHUNKS = 64 };

/* sums, squares and minima of the stored entries of each row; one warp for each. NULL: not wanted. */
static __global__ void sum_rows(cuda_rows of, double *sums, double *squares, double *minima)
{
    const int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (row >= of.rows) {
        return;
    }
    const int64_t start = of.dense != NULL ? row * of.states : of.starts[row];
    const int64_t end = of.dense != NULL ? start + of.states : of.starts[row + 1];
    const double *values = of.dense != NULL ? of.dense : of.values;
    double sum = 0;
    double square = 0;
    double least = CUDART_INF;
    for (int64_t i = start + lane; i < end; i += 32) {
        sum += values[i];
        square += values[i] * values[i];
        least = fmin(least, values[i]);
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, step);
        square += __shfl_down_sync(0xffffffffu, square, step);
        least = fmin(least, __shfl_down_sync(0xffffffffu, least, step));
    }
    if (lane == 0) {
        sums[row] = sum;
        if (squares != NULL) {
            squares[row] = square;
        }
        if (minima != NULL) {
            minima[row] = end - start == of.states ? least : 0;
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

nadir_status cuda_look(void *matrix, nadir_context *context, const nadir_device_matrix_sums *look)
{
    nadir_status status = NADIR_OK;
    cuda_matrix *of = (cuda_matrix *)matrix;
    cuda_engine *engine = of->of.engine;
    const int64_t n = of->of.states;
    const size_t bytes = (size_t)n * sizeof(double);
    const bool dense = of->of.dense != NULL;
    const unsigned blocks = cuda_blocks(n, THREADS);
    if (!dense && of->transpose.starts == NULL) {
        CUDA_CHECK(cuda_transpose(of, context));
    }
    CUDA_CHECK(cuda_reserve(engine, context, (dense ? 4 + 2 * CHUNKS : 4) * n));
    {
        double *found = engine->vectors;
        sum_rows<<<cuda_blocks(n, THREADS / 32), THREADS>>>(of->of, found, found + n, NULL);
        if (dense) {
            const dim3 grid(blocks, CHUNKS);
            double *parts = found + 4 * n;
            sum_columns<<<grid, THREADS>>>(n, of->of.dense, parts, parts + CHUNKS * n);
            join_chunks<<<blocks, THREADS>>>(n, parts, parts + CHUNKS * n, found + 2 * n, found + 3 * n);
        } else {
            sum_rows<<<cuda_blocks(n, THREADS / 32), THREADS>>>(of->transpose, found + 2 * n, NULL,
                                                                found + 3 * n);
        }
        CUDA_LAUNCHED(engine, context);
        double *const to[] = {look->sums, look->squares, look->columns, look->minima};
        for (int i = 0; i < 4; i++) {
            CUDA_TRY(engine, context, cudaMemcpy(to[i], found + i * n, bytes, cudaMemcpyDeviceToHost));
        }
    }
cleanup:
    return status;
}
