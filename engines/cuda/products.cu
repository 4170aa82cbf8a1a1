/*
 * products.cu: products with rows and matrices on the device.
 *
 * Dense ones are cuBLAS's. A CSR row is taken by 2 to 32 threads next to each other, about as many as it has
 * entries: rows that stand side by side are then read in one stretch. Entries are read once and pass by the
 * cache, which is left to x. (cuSPARSE plans each product anew for rows of all lengths; rows of 5 to 20
 * entries need no plan.)
 */
#include "parts.h"

enum { THREADS = 256 };

template <int WIDTH>
static __global__ void multiply_csr(int64_t rows, const int64_t *starts, const int32_t *columns,
                                    const double *values, double shift, double scale, const double *x,
                                    double *y)
{
    const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t row = thread / WIDTH;
    const int lane = (int)(thread % WIDTH);
    double sum = 0;
    if (row < rows) {
        const int64_t end = starts[row + 1];
        for (int64_t i = starts[row] + lane; i < end; i += WIDTH) {
            sum += __ldcs(values + i) * __ldg(x + __ldcs(columns + i));
        }
    }
    for (int step = WIDTH / 2; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, step, WIDTH);
    }
    if (row < rows && lane == 0) {
        y[row] = shift != 0 ? shift * x[row] + scale * sum : scale * sum;
    }
}

/* Threads for a row of this many entries, as measured on rows of equal lengths. */
static int width_for(const cuda_rows *rows)
{
    const int64_t mean = rows->entries / (rows->rows > 0 ? rows->rows : 1);
    return mean <= 3 ? 2 : mean <= 8 ? 4 : mean <= 24 ? 8 : mean <= 64 ? 16 : 32;
}

static nadir_status apply_csr(const cuda_rows *rows, nadir_context *context, double shift, double scale,
                              const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const int width = width_for(rows);
    const unsigned blocks = cuda_blocks(rows->rows * width, THREADS);
    const int64_t *starts = rows->starts;
    switch (width) {
    case 2:
        multiply_csr<2>
            <<<blocks, THREADS>>>(rows->rows, starts, rows->columns, rows->values, shift, scale, x, y);
        break;
    case 4:
        multiply_csr<4>
            <<<blocks, THREADS>>>(rows->rows, starts, rows->columns, rows->values, shift, scale, x, y);
        break;
    case 8:
        multiply_csr<8>
            <<<blocks, THREADS>>>(rows->rows, starts, rows->columns, rows->values, shift, scale, x, y);
        break;
    case 16:
        multiply_csr<16>
            <<<blocks, THREADS>>>(rows->rows, starts, rows->columns, rows->values, shift, scale, x, y);
        break;
    default:
        multiply_csr<32>
            <<<blocks, THREADS>>>(rows->rows, starts, rows->columns, rows->values, shift, scale, x, y);
    }
    CUDA_LAUNCHED(rows->engine, context);
cleanup:
    return status;
}

/* As cuBLAS reads them, rows one after another are the columns of the transpose. */
static nadir_status apply_dense(const cuda_rows *rows, nadir_context *context, bool transposed, int64_t count,
                                double shift, double scale, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    const int64_t m = rows->states;
    const int64_t n = rows->rows;
    const cublasOperation_t operation = transposed ? CUBLAS_OP_N : CUBLAS_OP_T;
    if (shift != 0) {
        CUDA_TRY(engine, context,
                 cudaMemcpyAsync(y, x, (size_t)(m * count) * sizeof *y, cudaMemcpyDeviceToDevice));
    }
    if (count == 1) {
        CUDA_LIBRARY(
            engine, context,
            cublasDgemv_64(engine->blas, operation, m, n, &scale, rows->dense, m, x, 1, &shift, y, 1));
    } else {
        CUDA_LIBRARY(engine, context,
                     cublasDgemm_64(engine->blas, operation, CUBLAS_OP_N, n, count, m, &scale, rows->dense, m,
                                    x, m, &shift, y, n));
    }
cleanup:
    return status;
}

nadir_status cuda_rows_apply(const cuda_rows *rows, nadir_context *context, double shift, double scale,
                             const double *x, double *y)
{
    return rows->dense != NULL ? apply_dense(rows, context, false, 1, shift, scale, x, y)
                               : apply_csr(rows, context, shift, scale, x, y);
}

nadir_status cuda_apply(cuda_matrix *matrix, nadir_context *context, bool transposed, int64_t count,
                        double shift, double scale, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const int64_t n = matrix->of.states;
    if (matrix->of.dense != NULL) {
        return apply_dense(&matrix->of, context, transposed, count, shift, scale, x, y);
    }
    if (transposed && matrix->transpose.starts == NULL) {
        CUDA_CHECK(cuda_transpose(matrix, context));
    }
    for (int64_t j = 0; j < count; j++) {
        CUDA_CHECK(apply_csr(transposed ? &matrix->transpose : &matrix->of, context, shift, scale, x + j * n,
                             y + j * n));
    }
cleanup:
    return status;
}

nadir_status cuda_combine(void *matrix, nadir_context *context, bool transposed, int64_t count, double shift,
                          double scale, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    cuda_matrix *of = (cuda_matrix *)matrix;
    cuda_engine *engine = of->of.engine;
    const int64_t n = of->of.states;
    const int64_t most = ((int64_t)1 << 27) / n + 1; /* columns at once: a gibibyte, or one */
    const int64_t some = count < most ? count : most;
    CUDA_CHECK(cuda_reserve(engine, context, 2 * n * some));
    for (int64_t j = 0; j < count; j += some) {
        const int64_t now = count - j < some ? count - j : some;
        const size_t bytes = (size_t)(n * now) * sizeof *x;
        double *from = engine->vectors;
        double *to = from + n * some;
        CUDA_TRY(engine, context, cudaMemcpy(from, x + j * n, bytes, cudaMemcpyHostToDevice));
        CUDA_CHECK(cuda_apply(of, context, transposed, now, shift, scale, from, to));
        CUDA_TRY(engine, context, cudaMemcpy(y + j * n, to, bytes, cudaMemcpyDeviceToHost));
    }
cleanup:
    return status;
}

bool cuda_longest_transposed(const void *matrix, int64_t *longest)
{
    const cuda_matrix *of = (const cuda_matrix *)matrix;
    *longest = of->of.dense != NULL ? of->of.states : of->longest_transposed;
    return of->of.dense != NULL || of->transpose.starts != NULL;
}
