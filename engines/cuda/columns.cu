/*
 * columns.cu: a CSR matrix taken apart by blocks of columns, for products with an x larger than the cache.
 *
 * Every entry of x that a product asks for comes with the 32 bytes around it; from the memory that takes
 * three times as long as from the cache. A block has so few columns that its part of x stays there while all
 * rows pass; y grows by one block after another, always in the same order. The entries of a row lie by
 * rising column, so that those of a block are a stretch of them: each row counts its own and copies them.
 * What a product reads besides entries counts, too: a start for 32 rows, and one byte a row. Counts that a
 * byte does not hold are put before the entries of their 32 rows.
 */
#include "parts.h"
#include "reduce.h"

enum {
    THREADS = 256,
    BLOCK = 2500000, /* columns: 20 MB of x */
    MOST_BLOCKS = 64
};

/* The row of a thread on its way through the blocks. Threads beyond the last row come along with an empty
 * one: whole warps add up. */
typedef struct walk {
    int64_t row, at, end;
} walk;

static __device__ walk begin_walk(const cuda_rows *of)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const bool here = row < of->rows;
    return {row, here ? of->starts[row] : 0, here ? of->starts[row + 1] : 0};
}

/* Entries of the row before the column, from where it is. */
static __device__ uint32_t count_before(const cuda_rows *of, const walk *on, int64_t column)
{
    int64_t at = on->at;
    while (at < on->end && of->columns[at] < column) {
        at++;
    }
    return (uint32_t)(at - on->at);
}

/* counts of rows, and sizes[block * groups + group] of what is kept of a group. */
static __global__ void count_entries(cuda_rows of, int64_t width, cuda_columns to, int32_t *sizes)
{
    walk on = begin_walk(&of);
    const int64_t group = on.row / 32;
    for (int64_t block = 0; block < to.count; block++) {
        const uint32_t count = count_before(&of, &on, (block + 1) * width);
        const bool is_long = __any_sync(0xffffffffu, count >= CUDA_LONG);
        const uint32_t sum = cuda_running_sum(count);
        on.at += count;
        if (group < to.groups) {
            to.counts[block * to.groups * 32 + on.row] = (uint8_t)(count < CUDA_LONG ? count : CUDA_LONG);
            if (on.row % 32 == 31) {
                sizes[block * to.groups + group] = (int32_t)(sum + (is_long ? 32 : 0));
            }
        }
    }
}

static __global__ void copy_entries(cuda_rows of, int64_t width, cuda_columns to)
{
    walk on = begin_walk(&of);
    const int64_t group = on.row / 32;
    for (int64_t block = 0; block < to.count; block++) {
        const uint32_t count = count_before(&of, &on, (block + 1) * width);
        const bool is_long = __any_sync(0xffffffffu, count >= CUDA_LONG);
        const uint32_t sum = cuda_running_sum(count);
        if (group < to.groups) {
            int64_t start = to.starts[block * to.groups + group];
            if (is_long) {
                to.values[start + on.row % 32] = count;
                start += 32;
            }
            for (uint32_t i = 0; i < count; i++) {
                to.columns[start + sum - count + i] = of.columns[on.at + i];
                to.values[start + sum - count + i] = of.values[on.at + i];
            }
        }
        on.at += count;
    }
}

static double start_bytes(const cuda_columns *blocks)
{
    return (double)(blocks->count * blocks->groups + 1) * sizeof *blocks->starts;
}

static double count_bytes(const cuda_columns *blocks)
{
    return (double)(blocks->count * blocks->groups * 32) * sizeof *blocks->counts;
}

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
    cuda_give(engine, count_bytes(blocks), blocks->counts);
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

/* Counts and starts; sizes: [count * groups]. */
static nadir_status measure(const cuda_rows *rows, nadir_context *context, int64_t width, int32_t *sizes,
                            cuda_columns *made)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    const int64_t all = made->count * made->groups;
    count_entries<<<cuda_blocks(rows->rows, THREADS), THREADS>>>(*rows, width, *made, sizes);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_starts(engine, context, all, sizes, made->starts));
    CUDA_TRY(engine, context,
             cudaMemcpy(&made->entries, made->starts + all, sizeof made->entries, cudaMemcpyDeviceToHost));
cleanup:
    return status;
}

/* Whether there is room for them: counts before entries are 32 of 255 of these at most. */
static bool fits(const cuda_rows *rows, const cuda_columns *made)
{
    const double each = sizeof *made->columns + sizeof *made->values;
    const double counted = 2 * start_bytes(made) + count_bytes(made);
    return cuda_fits(rows->engine, 1.01 * (counted + each * 1.125 * (double)rows->entries) + 1e8);
}

nadir_status cuda_columns_make(const cuda_rows *rows, nadir_context *context, cuda_columns *blocks)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    cuda_columns made = {};
    void *sizes = NULL;
    const int64_t most = engine->block > 0 ? engine->block : (int64_t)BLOCK;
    made.count = (rows->states - 1) / most + 1;
    made.groups = (rows->rows + 31) / 32;
    made.products = blocks->products;
    const int64_t width = (rows->states + made.count - 1) / made.count;
    const double size_bytes = (double)(made.count * made.groups) * sizeof(int32_t);
    if (made.count < 2 || made.count > MOST_BLOCKS || !fits(rows, &made)) {
        return NADIR_OK;
    }
    if (!cuda_take_spare(engine, start_bytes(&made), (void **)&made.starts) ||
        !cuda_take_spare(engine, count_bytes(&made), (void **)&made.counts) ||
        !cuda_take_spare(engine, size_bytes, &sizes)) {
        goto cleanup;
    }
    CUDA_CHECK(measure(rows, context, width, (int32_t *)sizes, &made));
    if (!cuda_take_spare(engine, (double)made.entries * sizeof *made.columns, (void **)&made.columns) ||
        !cuda_take_spare(engine, (double)made.entries * sizeof *made.values, (void **)&made.values)) {
        goto cleanup;
    }
    copy_entries<<<cuda_blocks(rows->rows, THREADS), THREADS>>>(*rows, width, made);
    CUDA_LAUNCHED(engine, context);
    *blocks = made;
    blocks->next = engine->made;
    engine->made = blocks;
    made = cuda_columns{};
cleanup:
    cuda_give(engine, size_bytes, sizes);
    cuda_columns_clear(engine, &made);
    return status;
}
