/*
 * products.cu: products with rows and matrices on the device.
 *
 * Dense ones are cuBLAS's. Of many CSR rows a warp takes 32: it reads their entries in one stretch, leaves
 * the products in shared memory, and then each thread adds up those of its row, in their order. What bounds
 * them is the number of requests to the cache, one for each 128 bytes that the threads of a warp ask for
 * together: entries are read from multiples of 32 on. Few rows are taken by 2 to 32 threads each, about as
 * many as they have entries. Entries pass by the cache, which is left to x; where x is larger than that the
 * matrix is taken by blocks of columns (column_blocks.cu). Numbers of x and y are double, or double2: two
 * vectors side by side, for which everything else is read once.
 */
#include "engine.h"
#include "offsupport_tail.h"
#include "reduce.h"

enum {
    THREADS = 256,
    MANY_ROWS = 1 << 17,   /* that give every processor enough warps */
    MOST_STATES = 1 << 26, /* for which places in 32 rows are 32 bits */
    WORTH_BLOCKS = 3       /* products with a matrix after which it is taken apart */
};

static __device__ double from_other(double mine, int step)
{
    return __shfl_xor_sync(0xffffffffu, mine, step);
}

static __device__ double2 from_other(double2 mine, int step)
{
    return make_double2(from_other(mine.x, step), from_other(mine.y, step));
}

template <int WIDTH, typename NUMBER>
static __global__ void multiply_csr(cuda_rows rows, double shift, double scale, const NUMBER *x, NUMBER *y)
{
    const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t row = thread / WIDTH;
    const int lane = (int)(thread % WIDTH);
    NUMBER sum = {};
    if (row < rows.rows) {
        const int64_t end = rows.starts[row + 1];
        for (int64_t i = rows.starts[row] + lane; i < end; i += WIDTH) {
            sum = sum + __ldcs(rows.values + i) * __ldg(x + __ldcs(rows.columns + i));
        }
    }
    for (int step = WIDTH / 2; step > 0; step /= 2) {
        sum = sum + from_other(sum, step);
    }
    if (row < rows.rows && lane == 0) {
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

/* Entries of a warp's 32 rows, by their places from `base` on, a multiple of 32: begun to end are those of
 * all rows, start to stop those of this thread's row. */
typedef struct stretch {
    int64_t base;
    uint32_t begun, start, stop, end;
} stretch;

/* Rows one after another, each with a start of its own. */
typedef struct plain_rows {
    const int64_t *starts; /* [rows + 1] */
    const int32_t *columns;
    const double *values;
} plain_rows;

static __device__ stretch find(const plain_rows *from, int64_t rows, int64_t row)
{
    const int64_t last = row | 31;
    const int64_t end = from->starts[last < rows ? last + 1 : rows];
    const int64_t start = row < rows ? from->starts[row] : end;
    const int64_t first = __shfl_sync(0xffffffffu, start, 0);
    const int64_t base = first / 32 * 32;
    stretch found = {base, (uint32_t)(first - base), (uint32_t)(start - base), 0, (uint32_t)(end - base)};
    found.stop = __shfl_down_sync(0xffffffffu, found.start, 1);
    found.stop = row == last ? found.end : found.stop;
    return found;
}

/* Those of a block of columns. */
typedef struct block_rows {
    const int64_t *starts; /* [groups] */
    const uint8_t *counts; /* [groups * 32] */
    const int32_t *columns;
    const double *values;
} block_rows;

static __device__ stretch find(const block_rows *from, int64_t, int64_t row)
{
    int64_t first = from->starts[row / 32];
    uint32_t count = __ldcs(from->counts + row);
    if (__any_sync(0xffffffffu, count == CUDA_LONG)) {
        count = (uint32_t)from->values[first + row % 32];
        first += 32;
    }
    const int64_t base = first / 32 * 32;
    const uint32_t begun = (uint32_t)(first - base);
    const uint32_t stop = begun + cuda_running_sum(count);
    return {base, begun, stop - count, stop, __shfl_sync(0xffffffffu, stop, 31)};
}

/* Products of a warp in shared memory, and blocks of threads that a processor has at least; as measured. */
template <typename NUMBER, typename ROWS> struct shape {
    enum { STAGED = 160, RESIDENT = 4 };
};
template <> struct shape<double, plain_rows> {
    enum { STAGED = 192, RESIDENT = 4 };
};
template <> struct shape<double, block_rows> {
    enum { STAGED = 96, RESIDENT = 6 };
};

/*
 * y <- shift x + scale M x of the rows, or with `more` y <- y + scale M x. A launch that follows another one
 * may begin before that one has ended, and waits before it looks at y.
 */
template <typename NUMBER, typename ROWS>
static __global__ void __launch_bounds__(THREADS, shape<NUMBER, ROWS>::RESIDENT)
    multiply_staged(int64_t rows, ROWS from, bool more, double shift, double scale, const NUMBER *x,
                    NUMBER *y)
{
    constexpr int STAGED = shape<NUMBER, ROWS>::STAGED;
    constexpr int EACH = STAGED / 32;
    __shared__ NUMBER products[THREADS / 32][STAGED];
    NUMBER *mine = products[threadIdx.x / 32];
    const uint32_t lane = threadIdx.x % 32;
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    launch_next();
    if (row - lane >= rows) {
        return;
    }
    const stretch all = find(&from, rows, row);
    const int32_t *columns = from.columns + all.base;
    const double *values = from.values + all.base;
    NUMBER sum = {};
    uint32_t next = all.start;
    for (uint32_t first = 0; first < all.end; first += STAGED) {
        int32_t column[EACH];
        double value[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const uint32_t at = first + lane + 32 * i;
            if (at >= all.begun && at < all.end) {
                column[i] = __ldcs(columns + at);
                value[i] = __ldcs(values + at);
            }
        }
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const uint32_t at = first + lane + 32 * i;
            if (at >= all.begun && at < all.end) {
                mine[lane + 32 * i] = value[i] * __ldg(x + column[i]);
            }
        }
        __syncwarp();
        const bool whole = all.start <= first && all.stop >= first + STAGED; /* a long row has all of these */
        if (__any_sync(0xffffffffu, whole)) {
            NUMBER part = mine[lane];
#pragma unroll
            for (int i = 1; i < EACH; i++) {
                part = part + mine[lane + 32 * i];
            }
            for (int step = 16; step > 0; step /= 2) {
                part = part + from_other(part, step);
            }
            sum = whole ? sum + part : sum;
            next = whole ? first + STAGED : next;
        } else {
            const uint32_t limit = all.stop < first + STAGED ? all.stop : first + STAGED;
            for (; next < limit; next++) {
                sum = sum + mine[next - first];
            }
        }
        __syncwarp();
    }
    wait_for_last();
    if (row < rows) {
        const NUMBER before = more ? __ldcs(y + row) : shift != 0 ? shift * x[row] : NUMBER{};
        __stcs(y + row, before + scale * sum);
    }
}

template <typename NUMBER, typename ROWS>
static cudaError_t launch_staged(int64_t rows, const ROWS &from, bool more, double shift, double scale,
                                 const NUMBER *x, NUMBER *y)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t how = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    how.gridDim = dim3(cuda_blocks(rows, THREADS));
    how.blockDim = dim3(THREADS);
    how.attrs = &attribute;
    how.numAttrs = more && NADIR_CUDA_ARCHITECTURE >= 90 ? 1 : 0;
    return cudaLaunchKernelEx(&how, multiply_staged<NUMBER, ROWS>, rows, from, more, shift, scale, x, y);
}

/* Threads for a row of this many entries, as measured on rows of equal lengths. */
static int width_for(const cuda_rows *rows)
{
    const int64_t mean = rows->entries / (rows->rows > 0 ? rows->rows : 1);
    return mean <= 3 ? 2 : mean <= 8 ? 4 : mean <= 24 ? 8 : mean <= 64 ? 16 : 32;
}

template <typename NUMBER>
static nadir_status apply_csr(const cuda_rows *rows, nadir_context *context, double shift, double scale,
                              const NUMBER *x, NUMBER *y)
{
    nadir_status status = NADIR_OK;
    const bool many = rows->rows >= MANY_ROWS || rows->engine->block > 0;
    const int width = width_for(rows);
    const auto multiply = width == 2    ? multiply_csr<2, NUMBER>
                          : width == 4  ? multiply_csr<4, NUMBER>
                          : width == 8  ? multiply_csr<8, NUMBER>
                          : width == 16 ? multiply_csr<16, NUMBER>
                                        : multiply_csr<32, NUMBER>;
    if (many && rows->states <= MOST_STATES) {
        const plain_rows from = {rows->starts, rows->columns, rows->values};
        CUDA_TRY(rows->engine, context, launch_staged(rows->rows, from, false, shift, scale, x, y));
    } else {
        multiply<<<cuda_blocks(rows->rows * width, THREADS), THREADS>>>(*rows, shift, scale, x, y);
        CUDA_LAUNCHED(rows->engine, context);
    }
cleanup:
    return status;
}

/* Block after block, each adding to what is in y. */
template <typename NUMBER>
static nadir_status apply_blocks(const cuda_rows *rows, nadir_context *context,
                                 const cuda_column_blocks *blocks, double shift, double scale,
                                 const NUMBER *x, NUMBER *y)
{
    nadir_status status = NADIR_OK;
    for (int64_t i = 0; i < blocks->count; i++) {
        const int64_t first = i * blocks->groups;
        const block_rows from = {blocks->starts + first, blocks->counts + 32 * first, blocks->columns,
                                 blocks->values};
        CUDA_TRY(rows->engine, context, launch_staged(rows->rows, from, i > 0, shift, scale, x, y));
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

template <typename NUMBER>
static nadir_status apply_sparse(cuda_matrix *matrix, nadir_context *context, bool transposed, double shift,
                                 double scale, const NUMBER *x, NUMBER *y)
{
    nadir_status status = NADIR_OK;
    if (transposed && matrix->transpose.starts == NULL) {
        CUDA_CHECK(cuda_transpose(matrix, context));
    }
    {
        const cuda_rows *rows = transposed ? &matrix->transpose : &matrix->rows;
        cuda_column_blocks *blocks = &matrix->blocks[transposed];
        if (blocks->products++ == WORTH_BLOCKS) {
            CUDA_CHECK(cuda_column_blocks_make(rows, context, blocks));
        }
        CUDA_CHECK(blocks->count > 0 ? apply_blocks(rows, context, blocks, shift, scale, x, y)
                                     : apply_csr(rows, context, shift, scale, x, y));
    }
cleanup:
    return status;
}

nadir_status cuda_apply(cuda_matrix *matrix, nadir_context *context, bool transposed, int64_t count,
                        double shift, double scale, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const int64_t n = matrix->rows.states;
    if (matrix->rows.dense != NULL) {
        return apply_dense(&matrix->rows, context, transposed, count, shift, scale, x, y);
    }
    for (int64_t j = 0; j < count; j++) {
        CUDA_CHECK(apply_sparse(matrix, context, transposed, shift, scale, x + j * n, y + j * n));
        if (matrix->tail != NULL) {
            CUDA_CHECK(cuda_tail_add(matrix->tail, context, transposed, scale, x + j * n, y + j * n));
        }
    }
cleanup:
    return status;
}

nadir_status cuda_apply_pair(cuda_matrix *matrix, nadir_context *context, bool transposed, double shift,
                             double scale, const double2 *x, double2 *y)
{
    const nadir_status status = apply_sparse(matrix, context, transposed, shift, scale, x, y);
    return status != NADIR_OK || matrix->tail == NULL
               ? status
               : cuda_tail_add(matrix->tail, context, transposed, scale, x, y);
}

static nadir_status combine(void *self, nadir_context *context, bool transposed, int64_t count, double shift,
                            double scale, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    cuda_matrix *matrix = (cuda_matrix *)self;
    cuda_engine *engine = matrix->rows.engine;
    const int64_t n = matrix->rows.states;
    const int64_t most = ((int64_t)1 << 27) / n + 1; /* columns at once: a gibibyte, or one */
    const int64_t some = count < most ? count : most;
    CUDA_CHECK(cuda_reserve(engine, context, 2 * n * some));
    for (int64_t j = 0; j < count; j += some) {
        const int64_t now = count - j < some ? count - j : some;
        double *from = engine->workspace;
        double *to = from + n * some;
        CUDA_CHECK(cuda_copy(engine, context, n * now, x + j * n, from));
        CUDA_CHECK(cuda_apply(matrix, context, transposed, now, shift, scale, from, to));
        CUDA_CHECK(cuda_copy(engine, context, n * now, to, y + j * n));
    }
cleanup:
    return status;
}

static bool longest_column(const void *self, int64_t *longest)
{
    const cuda_matrix *matrix = (const cuda_matrix *)self;
    const bool dense = matrix->rows.dense != NULL;
    *longest = dense ? matrix->rows.states : matrix->longest_column;
    return dense || matrix->transpose.starts != NULL;
}

void cuda_products_enter(nadir_device *table)
{
    table->matrix_combine = combine;
    table->matrix_longest_column = longest_column;
}
