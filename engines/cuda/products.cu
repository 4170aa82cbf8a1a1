/*
 * products.cu: products with rows and matrices on the device.
 *
 * Dense ones are cuBLAS's. Of many CSR rows a warp takes 32: it reads their entries in one stretch, leaves
 * the products in shared memory, and then each thread adds up those of its row, in their order. So all reads
 * of x are under way at once, whatever the lengths of the rows. Little shared memory is used, since the rest
 * is the cache through which they pass. Few rows are taken by 2 to 32 threads each, about as many as they
 * have entries. Entries are read once and pass by the cache, which is left to x; where x is larger than that
 * the matrix is taken by blocks of columns (columns.cu). (cuSPARSE plans each product anew for rows of all
 * lengths; rows of 5 to 20 entries need no plan.)
 */
#include "parts.h"

enum {
    THREADS = 256,
    STAGED = CUDA_STAGED,
    MANY_ROWS = 1 << 17, /* that give every processor enough warps */
    WORTH_BLOCKS = 3     /* products with a matrix after which it is taken apart */
};

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

/* Lets the next launch begin, and waits for the last one to end: on devices of compute capability 9.0 and
 * later. On others, launches always follow one another. */
static __device__ void launch_next(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

static __device__ void wait_for_last(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/*
 * y <- shift x + scale M x of the rows, or with `more` y <- y + scale M x. A launch that follows another one
 * may begin before that one has ended, and waits before it looks at y.
 */
template <typename INDEX>
static __global__ void __launch_bounds__(THREADS)
    multiply_staged(int64_t rows, const INDEX *starts, const int32_t *columns, const double *values,
                    bool more, double shift, double scale, const double *x, double *y)
{
    enum { EACH = STAGED / 32 };
    __shared__ double products[THREADS / 32][STAGED];
    double *mine = products[threadIdx.x / 32];
    const int lane = threadIdx.x % 32;
    const int64_t first = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / 32 * 32;
    const int64_t row = first + lane;
    const bool here = row < rows;
    launch_next();
    if (first >= rows) {
        return;
    }
    const INDEX end = starts[first + 32 < rows ? first + 32 : rows];
    const INDEX start = here ? starts[row] : end;
    INDEX stop = __shfl_down_sync(0xffffffffu, start, 1);
    stop = lane == 31 ? end : stop;
    wait_for_last();
    const double before = !here ? 0 : more ? __ldcs(y + row) : shift != 0 ? shift * x[row] : 0;
    double sum = 0;
    INDEX next = start;
    for (INDEX from = __shfl_sync(0xffffffffu, start, 0); from < end; from += STAGED) {
        int32_t column[EACH];
        double value[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const INDEX at = from + (INDEX)(lane + 32 * i);
            if (at < end) {
                column[i] = __ldcs(columns + at);
                value[i] = __ldcs(values + at);
            }
        }
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            if (from + (INDEX)(lane + 32 * i) < end) {
                mine[lane + 32 * i] = value[i] * __ldg(x + column[i]);
            }
        }
        __syncwarp();
        const bool whole = start <= from && stop >= from + STAGED; /* a long row has all of these */
        if (__any_sync(0xffffffffu, whole)) {
            double part = 0;
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                part += mine[lane + 32 * i];
            }
            for (int step = 16; step > 0; step /= 2) {
                part += __shfl_xor_sync(0xffffffffu, part, step);
            }
            sum += whole ? part : 0;
            next = whole ? from + STAGED : next;
        } else {
            const INDEX limit = stop < from + STAGED ? stop : from + STAGED;
            for (; next < limit; next++) {
                sum += mine[next - from];
            }
        }
        __syncwarp();
    }
    if (here) {
        __stcs(y + row, before + scale * sum);
    }
}

template <typename INDEX>
static cudaError_t launch_staged(int64_t rows, const INDEX *starts, const int32_t *columns,
                                 const double *values, bool more, double shift, double scale, const double *x,
                                 double *y)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t how = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    how.gridDim = dim3(cuda_blocks(rows, THREADS));
    how.blockDim = dim3(THREADS);
    how.attrs = &attribute;
    how.numAttrs = more && NADIR_CUDA_ARCHITECTURE >= 90 ? 1 : 0;
    return cudaLaunchKernelEx(&how, multiply_staged<INDEX>, rows, starts, columns, values, more, shift, scale,
                              x, y);
}

/* Threads for a row of this many entries, as measured on rows of equal lengths. */
static int width_for(const cuda_rows *rows)
{
    const int64_t mean = rows->entries / (rows->rows > 0 ? rows->rows : 1);
    return mean <= 3 ? 2 : mean <= 8 ? 4 : mean <= 24 ? 8 : mean <= 64 ? 16 : 32;
}

static nadir_status apply_many(const cuda_rows *rows, nadir_context *context, double shift, double scale,
                               const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    CUDA_TRY(rows->engine, context,
             launch_staged(rows->rows, rows->starts, rows->columns, rows->values, false, shift, scale, x, y));
cleanup:
    return status;
}

static nadir_status apply_few(const cuda_rows *rows, nadir_context *context, double shift, double scale,
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

static nadir_status apply_csr(const cuda_rows *rows, nadir_context *context, double shift, double scale,
                              const double *x, double *y)
{
    const bool many = rows->rows >= MANY_ROWS || rows->engine->block > 0;
    return (many ? apply_many : apply_few)(rows, context, shift, scale, x, y);
}

/* Block after block, each adding to what is in y. */
static nadir_status apply_blocks(const cuda_rows *rows, nadir_context *context, const cuda_columns *blocks,
                                 double shift, double scale, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    for (int64_t i = 0; i < blocks->count; i++) {
        CUDA_TRY(rows->engine, context,
                 launch_staged(rows->rows, blocks->starts + i * rows->rows, blocks->columns, blocks->values,
                               i > 0, shift, scale, x, y));
    }
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
    {
        const cuda_rows *rows = transposed ? &matrix->transpose : &matrix->of;
        cuda_columns *blocks = &matrix->blocks[transposed];
        for (int64_t j = 0; j < count; j++) {
            if (blocks->products++ == WORTH_BLOCKS) {
                CUDA_CHECK(cuda_columns_make(rows, context, blocks));
            }
            CUDA_CHECK(blocks->count > 0
                           ? apply_blocks(rows, context, blocks, shift, scale, x + j * n, y + j * n)
                           : apply_csr(rows, context, shift, scale, x + j * n, y + j * n));
        }
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
