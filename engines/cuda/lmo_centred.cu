/*
 * lmo_centred.cu: rows by column, for
 *
 *     sums(t) = sum over rows with t of q^2 (z(t) - mean),    q = gamma y(s) alpha pi,
 *
 * which is what second_order.c multiplies by: the means row by row, then the sums column by column,
 * for which the rows of each column are listed once.
 */
#include "lmo.h"

#include <cub/device/device_radix_sort.cuh>

enum { THREADS = 256, WIDTH = 8 };

/* The row of each entry, and how many there are of each column. */
static __global__ void list_rows(cuda_rows rows, int32_t *row_of, int32_t *counts)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row < rows.rows) {
        for (int64_t i = rows.starts[row]; i < rows.starts[row + 1]; i++) {
            row_of[i] = rows.values[i] > 0 ? (int32_t)row : ~(int32_t)row;
            atomicAdd(counts + rows.columns[i], 1);
        }
    }
}

static nadir_status list_columns(cuda_lmo *lmo, nadir_context *context)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = lmo->rows;
    cuda_engine *engine = rows->engine;
    cuda_pool work = {engine, lmo->memory.what};
    int32_t *row_of = NULL;
    int32_t *keys = NULL;
    int32_t *counts = NULL;
    int bits = 1;
    while (bits < 31 && ((int64_t)1 << bits) < rows->states) {
        bits++;
    }
    CUDA_CHECK(cuda_new(&work, context, rows->entries, &row_of));
    CUDA_CHECK(cuda_new(&work, context, rows->entries, &keys));
    CUDA_CHECK(cuda_new(&work, context, rows->states, &counts));
    CUDA_CHECK(cuda_new(&lmo->column_memory, context, rows->rows, &lmo->row_factors));
    CUDA_CHECK(cuda_new(&lmo->column_memory, context, rows->states + 1, &lmo->column_starts));
    CUDA_CHECK(cuda_new(&lmo->column_memory, context, rows->entries, &lmo->column_rows));
    CUDA_TRY(engine, context, cudaMemset(counts, 0, (size_t)rows->states * sizeof *counts));
    list_rows<<<cuda_blocks(rows->rows, THREADS), THREADS>>>(*rows, row_of, counts);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_starts(engine, context, rows->states, counts, lmo->column_starts));
    CUDA_CHECK(cuda_with_work(engine, context, work.what, [&](void *room, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(room, bytes, rows->columns, keys, row_of, lmo->column_rows,
                                               rows->entries, 0, bits);
    }));
cleanup:
    cuda_pool_free(&work);
    if (status != NADIR_OK) { /* the next call begins anew */
        cuda_pool_free(&lmo->column_memory);
        lmo->column_rows = NULL;
    }
    return status;
}

/* factors(row) <- q, 0 */
static __global__ void weigh_rows(int64_t states, const int64_t *state_rows, double gamma,
                                  const double *probabilities, const double *scales, const double *y,
                                  double2 *factors)
{
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s < states) {
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            const double alpha = scales != NULL ? scales[row] : 1;
            factors[row] = make_double2(gamma * y[s] * alpha * probabilities[row], 0);
        }
    }
}

/* factors(row) <- q^2, q^2 mean; a row of one successor cannot move. */
static __global__ void take_means(cuda_rows rows, const double *z, double2 *factors)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows.rows) {
        return;
    }
    double sum = 0;
    double count = 0;
    for (int64_t i = rows.starts[row]; i < rows.starts[row + 1]; i++) {
        const bool allowed = rows.values[i] > 0;
        sum += allowed ? __ldg(z + rows.columns[i]) : 0;
        count += allowed ? 1 : 0;
    }
    const double q = factors[row].x;
    const double square = count > 1 ? q * q : 0;
    factors[row] = make_double2(square, count > 1 ? square * (sum / count) : 0);
}

static __global__ void add_columns(int64_t states, const int64_t *starts, const int32_t *rows,
                                   const double2 *factors, const double *z, double *sums)
{
    const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t t = thread / WIDTH;
    double sum = 0;
    if (t < states) {
        for (int64_t i = starts[t] + thread % WIDTH; i < starts[t + 1]; i += WIDTH) {
            const int32_t row = __ldcs(rows + i);
            if (row >= 0) {
                const double2 factor = __ldg(factors + row);
                sum += factor.x * z[t] - factor.y;
            }
        }
    }
    for (int step = WIDTH / 2; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, step, WIDTH);
    }
    if (t < states && thread % WIDTH == 0) {
        sums[t] = sum;
    }
}

nadir_status cuda_lmo_centred_product(void *self, nadir_context *context, const double *y, const double *z,
                                      double *sums)
{
    nadir_status status = NADIR_OK;
    cuda_lmo *lmo = (cuda_lmo *)self;
    const cuda_rows *rows = lmo->rows;
    cuda_engine *engine = rows->engine;
    const int64_t n = rows->states;
    double *vectors = NULL;
    if (rows->rows > INT32_MAX || rows->entries > UINT32_MAX) {
        return engine->host->fail(context, NADIR_ERROR_UNSUPPORTED,
                                  "the device lists the columns of up to 2^31 rows and 2^32 entries");
    }
    if (lmo->simplex || rows->dense != NULL) {
        return engine->host->fail(context, NADIR_ERROR_UNSUPPORTED,
                                  "the device centres rows of sparse models on the domain support");
    }
    if (lmo->column_rows == NULL) {
        CUDA_CHECK(list_columns(lmo, context));
    }
    CUDA_CHECK(cuda_reserve(engine, context, 3 * n));
    vectors = engine->workspace;
    CUDA_CHECK(cuda_copy(engine, context, n, y, vectors));
    CUDA_CHECK(cuda_copy(engine, context, n, z, vectors + n));
    weigh_rows<<<cuda_blocks(n, THREADS), THREADS>>>(n, rows->state_rows, lmo->gamma, lmo->probabilities,
                                                     lmo->scales, vectors, lmo->row_factors);
    take_means<<<cuda_blocks(rows->rows, THREADS), THREADS>>>(*rows, vectors + n, lmo->row_factors);
    add_columns<<<cuda_blocks(n * WIDTH, THREADS), THREADS>>>(n, lmo->column_starts, lmo->column_rows,
                                                              lmo->row_factors, vectors + n, vectors + 2 * n);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_copy(engine, context, n, vectors + 2 * n, sums));
cleanup:
    return status;
}
