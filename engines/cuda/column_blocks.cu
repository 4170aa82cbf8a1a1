/*
 * column_blocks.cu: a CSR matrix split into blocks of columns, for products with an x larger than the cache.
 *
 * Every entry of x that a product asks for comes with the 32 bytes around it; from the memory that takes
 * three times as long as from the cache. A block has so few columns that its part of x stays there while all
 * rows pass; y grows by one block after another, always in the same order. The entries of a row lie by
 * rising column, so that those of a block are a stretch of them: each row counts its own and copies them.
 * There is a start for 32 rows, and one byte a row; counts that a byte does not hold are put before the entries
 * of their 32 rows.
 */
#include "engine.h"
#include "reduce.h"

enum {
    THREADS = 256,
    BLOCK = 2500000, /* columns: 20 MB of x */
    MOST_BLOCKS = 64
};

/* sizes not NULL: counts of rows, and sizes[block * groups + group] of what is kept of a group; otherwise the
 * entries are copied. */
static __global__ void split_rows(cuda_rows rows, int64_t width, cuda_column_blocks to, int32_t *sizes)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t group = row / 32;
    const bool here = row < rows.rows; /* threads beyond the last row have an empty one: whole warps add up */
    const int64_t end = here ? rows.starts[row + 1] : 0;
    int64_t at = here ? rows.starts[row] : 0;
    for (int64_t block = 0; block < to.count; block++) {
        const int64_t first = at;
        while (at < end && rows.columns[at] < (block + 1) * width) {
            at++;
        }
        const uint32_t count = (uint32_t)(at - first);
        const bool is_long = __any_sync(0xffffffffu, count >= CUDA_LONG);
        const uint32_t sum = cuda_running_sum(count);
        if (group >= to.groups) {
            continue;
        }
        if (sizes != NULL) {
            to.counts[block * to.groups * 32 + row] = (uint8_t)(count < CUDA_LONG ? count : CUDA_LONG);
            if (row % 32 == 31) {
                sizes[block * to.groups + group] = (int32_t)(sum + (is_long ? 32 : 0));
            }
            continue;
        }
        int64_t start = to.starts[block * to.groups + group];
        if (is_long) {
            to.values[start + row % 32] = count;
            start += 32;
        }
        for (uint32_t i = 0; i < count; i++) {
            to.columns[start + sum - count + i] = rows.columns[first + i];
            to.values[start + sum - count + i] = rows.values[first + i];
        }
    }
}

void cuda_column_blocks_clear(cuda_engine *engine, cuda_column_blocks *blocks)
{
    cuda_column_blocks **at = &engine->droppable;
    if (blocks->count == 0) {
        return;
    }
    while (*at != NULL && *at != blocks) {
        at = &(*at)->next;
    }
    *at = *at != NULL ? blocks->next : NULL;
    cuda_pool_free(&blocks->memory);
    *blocks = cuda_column_blocks{};
}

void cuda_column_blocks_drop(cuda_engine *engine, cuda_column_blocks *blocks)
{
    const int64_t products = blocks->products; /* more than those after which they are made */
    cuda_column_blocks_clear(engine, blocks);
    blocks->products = products;
}

/* Whether there is room for them: counts before entries are 32 of 255 of these at most. */
static bool fits(const cuda_rows *rows, const cuda_column_blocks *made)
{
    const double each = sizeof *made->columns + sizeof *made->values;
    const double counted = (double)(made->count * made->groups) * (2 * sizeof *made->starts + 32);
    return cuda_fits(rows->engine, 1.01 * (counted + each * 1.125 * (double)rows->entries) + 1e8);
}

/* *enough: false where there was no room after all. */
static nadir_status fill(const cuda_rows *rows, nadir_context *context, cuda_column_blocks *made,
                         bool *enough)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    cuda_pool work = {engine, "column blocks"};
    const int64_t groups = made->count * made->groups;
    const int64_t width = (rows->states + made->count - 1) / made->count;
    const unsigned blocks = cuda_blocks(rows->rows, THREADS);
    int32_t *sizes = NULL;
    *enough = cuda_new_spare(&made->memory, groups + 1, &made->starts) &&
              cuda_new_spare(&made->memory, groups * 32, &made->counts) &&
              cuda_new_spare(&work, groups, &sizes);
    if (!*enough) {
        goto cleanup;
    }
    split_rows<<<blocks, THREADS>>>(*rows, width, *made, sizes);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_starts(engine, context, groups, sizes, made->starts));
    CUDA_CHECK(cuda_copy(engine, context, 1, made->starts + groups, &made->entries));
    *enough = cuda_new_spare(&made->memory, made->entries, &made->columns) &&
              cuda_new_spare(&made->memory, made->entries, &made->values);
    if (*enough) {
        split_rows<<<blocks, THREADS>>>(*rows, width, *made, NULL);
        CUDA_LAUNCHED(engine, context);
    }
cleanup:
    cuda_pool_free(&work);
    return status;
}

nadir_status cuda_column_blocks_make(const cuda_rows *rows, nadir_context *context,
                                     cuda_column_blocks *blocks)
{
    cuda_engine *engine = rows->engine;
    cuda_column_blocks made = {};
    bool enough = false;
    const int64_t most = engine->block > 0 ? engine->block : (int64_t)BLOCK;
    made.memory = {engine, "column blocks"};
    made.count = (rows->states - 1) / most + 1;
    made.groups = (rows->rows + 31) / 32;
    made.products = blocks->products;
    if (made.count < 2 || made.count > MOST_BLOCKS || !fits(rows, &made)) {
        return NADIR_OK;
    }
    const nadir_status status = fill(rows, context, &made, &enough);
    if (status != NADIR_OK || !enough) {
        cuda_pool_free(&made.memory);
        return status;
    }
    *blocks = made;
    blocks->next = engine->droppable;
    engine->droppable = blocks;
    return NADIR_OK;
}
