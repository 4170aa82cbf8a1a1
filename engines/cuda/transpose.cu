/*
 * transpose.cu: what is sorted on the device: vectors, and the entries of a CSR matrix for its transpose.
 *
 * The places of all entries are sorted by column, entries of the same column staying in the order of their
 * rows; then rows and values follow their places.
 */
#include "parts.h"

#include <cstring>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

enum { THREADS = 256 };

nadir_status cuda_starts(cuda_engine *engine, nadir_context *context, int64_t count, const int32_t *counts,
                         int64_t *starts)
{
    nadir_status status = NADIR_OK;
    size_t bytes = 0;
    void *room = NULL;
    const int64_t zero = 0;
    const cuda::std::plus<> plus;
    CUDA_TRY(engine, context, cudaMemset(starts, 0, sizeof *starts));
    CUDA_TRY(engine, context,
             cub::DeviceScan::InclusiveScanInit(room, bytes, counts, starts + 1, plus, zero, count));
    CUDA_CHECK(cuda_take(engine, context, "adding up the lengths of rows", (double)bytes, &room));
    CUDA_TRY(engine, context,
             cub::DeviceScan::InclusiveScanInit(room, bytes, counts, starts + 1, plus, zero, count));
cleanup:
    cuda_give(engine, (double)bytes, room);
    return status;
}

/* places[i] <- i; row_of[i] <- its row; counts of columns. One warp for each row. */
static __global__ void list_entries(cuda_rows of, uint32_t *places, int32_t *row_of, int32_t *counts)
{
    const int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / 32;
    if (row < of.rows) {
        for (int64_t i = of.starts[row] + threadIdx.x % 32; i < of.starts[row + 1]; i += 32) {
            places[i] = (uint32_t)i;
            row_of[i] = (int32_t)row;
            atomicAdd(counts + of.columns[i], 1);
        }
    }
}

static __global__ void follow(int64_t entries, const uint32_t *places, const int32_t *row_of,
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
typedef struct turning {
    double bytes;
    uint32_t *places, *sorted; /* [entries] */
    int32_t *row_of;           /* [entries] */
    int32_t *keys;             /* [entries] columns in order */
    int32_t *counts;           /* [states + 1], one more for the largest of them */
    void *room;
    size_t room_bytes;
} turning;

static nadir_status begin(const cuda_rows *of, nadir_context *context, turning *at)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = of->engine;
    void *block = NULL;
    size_t largest_bytes = 0;
    at->bytes = 4.0 * (double)of->entries * sizeof(int32_t) + (double)(of->states + 1) * sizeof(int32_t);
    CUDA_CHECK(cuda_take(engine, context, "transposing the matrix of the policy", at->bytes, &block));
    at->places = (uint32_t *)block;
    at->sorted = at->places + of->entries;
    at->row_of = (int32_t *)(at->sorted + of->entries);
    at->keys = at->row_of + of->entries;
    at->counts = at->keys + of->entries;
    CUDA_TRY(engine, context,
             cub::DeviceRadixSort::SortPairs(NULL, at->room_bytes, of->columns, at->keys, at->places,
                                             at->sorted, of->entries));
    CUDA_TRY(engine, context,
             cub::DeviceReduce::Max(NULL, largest_bytes, at->counts, at->counts + of->states, of->states));
    at->room_bytes = largest_bytes > at->room_bytes ? largest_bytes : at->room_bytes;
    CUDA_CHECK(cuda_take(engine, context, "transposing the matrix of the policy", (double)at->room_bytes,
                         &at->room));
cleanup:
    return status;
}

static void end(cuda_engine *engine, turning *at)
{
    cuda_give(engine, at->bytes, at->places);
    cuda_give(engine, (double)at->room_bytes, at->room);
}

static nadir_status take(cuda_rows *made, nadir_context *context, double bytes, void **block)
{
    const nadir_status status =
        cuda_take(made->engine, context, "the transpose of the matrix of the policy", bytes, block);
    made->bytes += status == NADIR_OK ? bytes : 0;
    return status;
}

static nadir_status turn(cuda_matrix *matrix, nadir_context *context, turning *at, cuda_rows *made)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *of = &matrix->of;
    cuda_engine *engine = of->engine;
    int bits = 1;
    int32_t longest = 0;
    while (bits < 31 && ((int64_t)1 << bits) < of->states) {
        bits++;
    }
    CUDA_TRY(engine, context, cudaMemset(at->counts, 0, (size_t)(of->states + 1) * sizeof *at->counts));
    list_entries<<<cuda_blocks(of->rows, THREADS / 32), THREADS>>>(*of, at->places, at->row_of, at->counts);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_starts(engine, context, of->states, at->counts, made->starts));
    CUDA_TRY(
        engine, context,
        cub::DeviceReduce::Max(at->room, at->room_bytes, at->counts, at->counts + of->states, of->states));
    CUDA_TRY(engine, context,
             cudaMemcpy(&longest, at->counts + of->states, sizeof longest, cudaMemcpyDeviceToHost));
    CUDA_TRY(engine, context,
             cub::DeviceRadixSort::SortPairs(at->room, at->room_bytes, of->columns, at->keys, at->places,
                                             at->sorted, of->entries, 0, bits));
    follow<<<cuda_blocks(of->entries, THREADS), THREADS>>>(of->entries, at->sorted, at->row_of, of->values,
                                                           made->columns, made->values);
    CUDA_LAUNCHED(engine, context);
    matrix->longest_transposed = longest;
cleanup:
    return status;
}

nadir_status cuda_transpose(cuda_matrix *matrix, nadir_context *context)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *of = &matrix->of;
    cuda_engine *engine = of->engine;
    turning at;
    cuda_rows made;
    memset(&at, 0, sizeof at);
    memset(&made, 0, sizeof made);
    if (of->entries > UINT32_MAX) {
        return engine->host->fail(context, NADIR_ERROR_UNSUPPORTED,
                                  "the device transposes matrices of up to 2^32 entries; this one has %lld",
                                  (long long)of->entries);
    }
    made.engine = engine;
    made.states = of->states;
    made.rows = of->states;
    made.entries = of->entries;
    CUDA_CHECK(take(&made, context, (double)(of->states + 1) * sizeof(int64_t), (void **)&made.starts));
    CUDA_CHECK(take(&made, context, (double)of->entries * sizeof(int32_t), (void **)&made.columns));
    CUDA_CHECK(take(&made, context, (double)of->entries * sizeof(double), (void **)&made.values));
    CUDA_CHECK(begin(of, context, &at));
    CUDA_CHECK(turn(matrix, context, &at, &made));
    matrix->transpose = made;
    memset(&made, 0, sizeof made);
cleanup:
    end(engine, &at);
    cuda_rows_clear(&made);
    return status;
}

static __global__ void number(int64_t count, int32_t *places)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        places[i] = (int32_t)i;
    }
}

nadir_status cuda_order(void *self, nadir_context *context, int64_t count, const double *x, int32_t *order)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    size_t room_bytes = 0;
    void *room = NULL;
    CUDA_CHECK(cuda_reserve(engine, context, 3 * count));
    {
        double *keys = engine->vectors;
        double *sorted = keys + count;
        int32_t *places = (int32_t *)(sorted + count);
        int32_t *found = places + count;
        CUDA_TRY(engine, context, cudaMemcpy(keys, x, (size_t)count * sizeof *x, cudaMemcpyHostToDevice));
        number<<<cuda_blocks(count, THREADS), THREADS>>>(count, places);
        CUDA_LAUNCHED(engine, context);
        CUDA_TRY(
            engine, context,
            cub::DeviceRadixSort::SortPairsDescending(NULL, room_bytes, keys, sorted, places, found, count));
        CUDA_CHECK(cuda_take(engine, context, "sorting", (double)room_bytes, &room));
        CUDA_TRY(
            engine, context,
            cub::DeviceRadixSort::SortPairsDescending(room, room_bytes, keys, sorted, places, found, count));
        CUDA_TRY(engine, context,
                 cudaMemcpy(order, found, (size_t)count * sizeof *order, cudaMemcpyDeviceToHost));
    }
cleanup:
    cuda_give(engine, (double)room_bytes, room);
    return status;
}
