/*
 * columns.cu: a CSR matrix taken apart by blocks of columns, for products with an x larger than the cache.
 *
 * Every entry of x that a product asks for comes with the 32 bytes around it; from the memory that takes
 * three times as long as from the cache. A block has so few columns that its part of x stays there while all
 * rows pass; y grows by one block after another, always in the same order. The entries of a row lie by
 * rising column, so that those of a block are a stretch of them: each row counts its own and copies them.
 */
#include "parts.h"

#include <cub/device/device_scan.cuh>

enum {
    THREADS = 256,
    BLOCK = 2500000, /* columns: 20 MB of x */
    LEAST = 3500000, /* states below which one block is as good */
    MOST_BLOCKS = 64
};

/* counts[block * rows + row] <- entries of the row in the block. */
static __global__ void count_entries(cuda_rows of, int64_t width, int64_t blocks, uint32_t *counts)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= of.rows) {
        return;
    }
    int64_t at = of.starts[row];
    const int64_t end = of.starts[row + 1];
    for (int64_t block = 0; block < blocks; block++) {
        const int64_t begun = at;
        while (at < end && of.columns[at] < (block + 1) * width) {
            at++;
        }
        counts[block * of.rows + row] = (uint32_t)(at - begun);
    }
}

static __global__ void copy_entries(cuda_rows of, int64_t width, int64_t blocks, const uint32_t *starts,
                                    int32_t *columns, double *values)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= of.rows) {
        return;
    }
    int64_t at = of.starts[row];
    const int64_t end = of.starts[row + 1];
    for (int64_t block = 0; block < blocks; block++) {
        uint32_t to = starts[block * of.rows + row];
        while (at < end && of.columns[at] < (block + 1) * width) {
            columns[to] = of.columns[at];
            values[to] = of.values[at];
            to++;
            at++;
        }
    }
}

static double start_bytes(const cuda_columns *blocks)
{
    return (double)(blocks->count * blocks->rows + 1) * sizeof *blocks->starts;
}

/* Places in blocks are 32 bits, and a warp counts on by CUDA_STAGED beyond the last. */
static const int64_t most_entries = (int64_t)UINT32_MAX - CUDA_STAGED;

void cuda_columns_clear(cuda_engine *engine, cuda_columns *blocks)
{
    if (blocks->count == 0) {
        return;
    }
    cuda_columns **at = &engine->made;
    while (*at != NULL && *at != blocks) {
        at = &(*at)->next;
    }
    *at = *at != NULL ? blocks->next : NULL;
    cuda_give(engine, start_bytes(blocks), blocks->starts);
    cuda_give(engine, (double)blocks->entries * sizeof *blocks->columns, blocks->columns);
    cuda_give(engine, (double)blocks->entries * sizeof *blocks->values, blocks->values);
    *blocks = cuda_columns{};
}

void cuda_columns_drop(cuda_engine *engine, cuda_columns *blocks)
{
    const int64_t products = blocks->products; /* more than those after which they are made */
    cuda_columns_clear(engine, blocks);
    blocks->products = products;
}

/* The entries, by block. room: [room_bytes] of the scan, counts: [count * rows + 1]. */
static nadir_status fill(const cuda_rows *rows, nadir_context *context, uint32_t *counts, void *room,
                         size_t room_bytes, cuda_columns *made)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    const int64_t width = (rows->states + made->count - 1) / made->count;
    const unsigned grid = cuda_blocks(rows->rows, THREADS);
    CUDA_TRY(engine, context, cudaMemset(counts, 0, (size_t)start_bytes(made)));
    count_entries<<<grid, THREADS>>>(*rows, width, made->count, counts);
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(
        engine, context,
        cub::DeviceScan::ExclusiveSum(room, room_bytes, counts, made->starts, made->count * made->rows + 1));
    copy_entries<<<grid, THREADS>>>(*rows, width, made->count, made->starts, made->columns, made->values);
    CUDA_LAUNCHED(engine, context);
cleanup:
    return status;
}

nadir_status cuda_columns_make(const cuda_rows *rows, nadir_context *context, cuda_columns *blocks)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    cuda_columns made = {};
    void *counts = NULL;
    void *room = NULL;
    size_t room_bytes = 0;
    const int64_t width = engine->block > 0 ? engine->block : (int64_t)BLOCK;
    const int64_t least = engine->block > 0 ? engine->block + 1 : (int64_t)LEAST;
    double count_bytes = 0;
    made.count = (rows->states - 1) / width + 1;
    made.rows = rows->rows;
    made.entries = rows->entries;
    made.products = blocks->products;
    if (rows->states < least || made.count > MOST_BLOCKS || rows->entries > most_entries) {
        return NADIR_OK;
    }
    CUDA_TRY(engine, context,
             cub::DeviceScan::ExclusiveSum(NULL, room_bytes, (uint32_t *)NULL, (uint32_t *)NULL,
                                           made.count * made.rows + 1));
    if (!cuda_fits(engine,
                   1.01 * (2 * start_bytes(&made) + 12.0 * (double)made.entries + (double)room_bytes) +
                       1e8)) {
        return NADIR_OK;
    }
    count_bytes = start_bytes(&made);
    if (!cuda_take_spare(engine, start_bytes(&made), (void **)&made.starts) ||
        !cuda_take_spare(engine, (double)made.entries * sizeof *made.columns, (void **)&made.columns) ||
        !cuda_take_spare(engine, (double)made.entries * sizeof *made.values, (void **)&made.values) ||
        !cuda_take_spare(engine, count_bytes, &counts) ||
        !cuda_take_spare(engine, (double)room_bytes, &room)) {
        goto cleanup;
    }
    CUDA_CHECK(fill(rows, context, (uint32_t *)counts, room, room_bytes, &made));
    *blocks = made;
    blocks->next = engine->made;
    engine->made = blocks;
    made = cuda_columns{};
cleanup:
    cuda_give(engine, count_bytes, counts);
    cuda_give(engine, (double)room_bytes, room);
    cuda_columns_clear(engine, &made);
    return status;
}
