/*
 * transpose.cu: the entries of a CSR matrix sorted on the device for its transpose.
 * The places of all entries are sorted by column, stably; then rows and values follow their places.
 */
#include "engine.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

enum { THREADS = 256 };

nadir_status cuda_starts(cuda_engine *engine, nadir_context *context, int64_t count, const int32_t *counts,
                         int64_t *starts)
{
    nadir_status status = NADIR_OK;
    const int64_t zero = 0;
    const cuda::std::plus<> plus;
    CUDA_TRY(engine, context, cudaMemset(starts, 0, sizeof *starts));
    CUDA_CHECK(
        cuda_with_work(engine, context, "adding up the lengths of rows", [&](void *work, size_t &bytes) {
            return cub::DeviceScan::InclusiveScanInit(work, bytes, counts, starts + 1, plus, zero, count);
        }));
cleanup:
    return status;
}

static __global__ void count_up(int64_t count, int32_t *numbers)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        numbers[i] = (int32_t)i;
    }
}

nadir_status cuda_count_up(cuda_engine *engine, nadir_context *context, int64_t count, int32_t *numbers)
{
    nadir_status status = NADIR_OK;
    count_up<<<cuda_blocks(count, THREADS), THREADS>>>(count, numbers);
    CUDA_LAUNCHED(engine, context);
cleanup:
    return status;
}

/* places[i] <- i; row_of[i] <- its row; counts of columns. One warp for each row. */
static __global__ void list_entries(cuda_rows rows, uint32_t *places, int32_t *row_of, int32_t *counts)
{
    const int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / 32;
    if (row < rows.rows) {
        for (int64_t i = rows.starts[row] + threadIdx.x % 32; i < rows.starts[row + 1]; i += 32) {
            places[i] = (uint32_t)i;
            row_of[i] = (int32_t)row;
            atomicAdd(counts + rows.columns[i], 1);
        }
    }
}

static __global__ void gather(int64_t entries, const uint32_t *places, const int32_t *row_of,
                              const double *values, int32_t *columns, double *to)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < entries) {
        const uint32_t place = places[i];
        columns[i] = row_of[place];
        to[i] = values[place];
    }
}

/* Work space of a transposition. */
typedef struct transposition {
    cuda_pool memory;
    uint32_t *places, *sorted; /* [entries] */
    int32_t *row_of;           /* [entries] */
    int32_t *keys;             /* [entries] columns in order */
    int32_t *counts;           /* [states + 1], one more for the largest of them */
} transposition;

static nadir_status sort_entries(cuda_matrix *matrix, nadir_context *context, const transposition *work,
                                 cuda_rows *made)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = &matrix->rows;
    cuda_engine *engine = rows->engine;
    const char *what = work->memory.what;
    int bits = 1;
    int32_t longest = 0;
    while (bits < 31 && ((int64_t)1 << bits) < rows->states) {
        bits++;
    }
    CUDA_TRY(engine, context, cudaMemset(work->counts, 0, (size_t)(rows->states + 1) * sizeof *work->counts));
    list_entries<<<cuda_blocks(rows->rows, THREADS / 32), THREADS>>>(*rows, work->places, work->row_of,
                                                                     work->counts);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_starts(engine, context, rows->states, work->counts, made->starts));
    CUDA_CHECK(cuda_with_work(engine, context, what, [&](void *room, size_t &bytes) {
        return cub::DeviceReduce::Max(room, bytes, work->counts, work->counts + rows->states, rows->states);
    }));
    CUDA_CHECK(cuda_copy(engine, context, 1, work->counts + rows->states, &longest));
    CUDA_CHECK(cuda_with_work(engine, context, what, [&](void *room, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(room, bytes, rows->columns, work->keys, work->places,
                                               work->sorted, rows->entries, 0, bits);
    }));
    gather<<<cuda_blocks(rows->entries, THREADS), THREADS>>>(rows->entries, work->sorted, work->row_of,
                                                             rows->values, made->columns, made->values);
    CUDA_LAUNCHED(engine, context);
    matrix->longest_column = longest;
cleanup:
    return status;
}

nadir_status cuda_transpose(cuda_matrix *matrix, nadir_context *context)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = &matrix->rows;
    cuda_engine *engine = rows->engine;
    transposition work = {};
    cuda_rows made = {};
    work.memory = {engine, "transposing the matrix of the policy"};
    made.engine = engine;
    made.states = rows->states;
    made.rows = rows->states;
    made.entries = rows->entries;
    made.memory = {engine, "the transpose of the matrix of the policy"};
    if (rows->entries > UINT32_MAX) {
        return engine->host->fail(context, NADIR_ERROR_UNSUPPORTED,
                                  "the device transposes matrices of up to 2^32 entries; this one has %lld",
                                  (long long)rows->entries);
    }
    CUDA_CHECK(cuda_new(&made.memory, context, rows->states + 1, &made.starts));
    CUDA_CHECK(cuda_new(&made.memory, context, rows->entries, &made.columns));
    CUDA_CHECK(cuda_new(&made.memory, context, rows->entries, &made.values));
    CUDA_CHECK(cuda_new(&work.memory, context, 4 * rows->entries + rows->states + 1, &work.keys));
    work.row_of = work.keys + rows->entries;
    work.places = (uint32_t *)(work.row_of + rows->entries);
    work.sorted = work.places + rows->entries;
    work.counts = (int32_t *)(work.sorted + rows->entries);
    CUDA_CHECK(sort_entries(matrix, context, &work, &made));
    matrix->transpose = made;
    made = cuda_rows{};
cleanup:
    cuda_pool_free(&work.memory);
    cuda_rows_clear(&made);
    return status;
}
