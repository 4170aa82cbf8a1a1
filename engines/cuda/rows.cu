/* rows.cu: the rows of a model on the device. */
#include "engine.h"
#include "reduce.h"

#include <math_constants.h>

#include <cmath>

enum { THREADS = CUDA_REDUCE_THREADS, BLOCKS = CUDA_PARTIALS };

void cuda_rows_clear(cuda_rows *rows)
{
    cuda_pool_free(&rows->memory);
    *rows = cuda_rows{};
}

/* Refuses what does not fit before anything is taken. */
static nadir_status check_memory(const nadir_device_rows *from, nadir_context *context, int64_t entries,
                                 cuda_pool *pool)
{
    const double starts = from->dense != NULL ? 0 : (double)(from->rows + 1) * sizeof(int64_t);
    const double entry = sizeof(double) + (from->dense != NULL ? 0 : sizeof(int32_t));
    const double state_rows = from->state_rows != NULL ? (double)(from->states + 1) * sizeof(int64_t) : 0;
    void *whole = NULL;
    const nadir_status status =
        cuda_take(pool, context, (double)entries * entry + starts + state_rows, &whole);
    cuda_pool_free(pool);
    return status;
}

template <typename ITEM>
static nadir_status copy(cuda_pool *pool, nadir_context *context, int64_t count, const ITEM *from, ITEM **to)
{
    const nadir_status status = cuda_new(pool, context, count, to);
    return status != NADIR_OK ? status : cuda_copy(pool->engine, context, count, from, *to);
}

nadir_status cuda_rows_copy(cuda_engine *engine, nadir_context *context, const nadir_device_rows *from,
                            cuda_rows *to)
{
    nadir_status status = NADIR_OK;
    *to = cuda_rows{};
    to->engine = engine;
    to->states = from->states;
    to->rows = from->rows;
    to->entries = from->dense != NULL ? from->rows * from->states : from->starts[from->rows];
    to->memory = {engine, from->state_rows != NULL ? "the model" : "the matrix of the policy"};
    CUDA_CHECK(check_memory(from, context, to->entries, &to->memory));
    if (from->state_rows != NULL) {
        CUDA_CHECK(copy(&to->memory, context, from->states + 1, from->state_rows, &to->state_rows));
    }
    if (from->dense != NULL) {
        CUDA_CHECK(copy(&to->memory, context, to->entries, from->dense, &to->dense));
        goto cleanup;
    }
    CUDA_CHECK(copy(&to->memory, context, from->rows + 1, from->starts, &to->starts));
    CUDA_CHECK(copy(&to->memory, context, to->entries, from->columns, &to->columns));
    CUDA_CHECK(copy(&to->memory, context, to->entries, from->values, &to->values));
cleanup:
    if (status != NADIR_OK) {
        cuda_rows_clear(to);
    }
    return status;
}

static void free_rows(void *rows)
{
    if (rows != NULL) {
        cuda_rows_clear((cuda_rows *)rows);
        free(rows);
    }
}

static nadir_status upload(void *self, nadir_context *context, const nadir_device_rows *from, void **rows)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    cuda_rows *made = NULL;
    CUDA_CHECK(cuda_object(engine, context, &made));
    CUDA_CHECK(cuda_rows_copy(engine, context, from, made));
    *rows = made;
    made = NULL;
cleanup:
    free_rows(made);
    return status;
}

static nadir_status multiply(void *self, nadir_context *context, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = (const cuda_rows *)self;
    cuda_engine *engine = rows->engine;
    CUDA_CHECK(cuda_reserve(engine, context, rows->states + rows->rows));
    CUDA_CHECK(cuda_copy(engine, context, rows->states, x, engine->workspace));
    CUDA_CHECK(cuda_rows_apply(rows, context, 0, 1, engine->workspace, engine->workspace + rows->states));
    CUDA_CHECK(cuda_copy(engine, context, rows->rows, engine->workspace + rows->states, y));
cleanup:
    return status;
}

/* result[block] <- the largest of b k^T - P in its rows. */
static __global__ void __launch_bounds__(THREADS)
    find_smallest(int64_t rows, int64_t states, const double *dense, const double *b, const double *k,
                  double *result)
{
    double largest = -CUDART_INF;
    for (int64_t row = blockIdx.x; row < rows; row += BLOCKS) {
        const double *values = dense + row * states;
        for (int64_t t = threadIdx.x; t < states; t += THREADS) {
            largest = fmax(largest, __dsub_rn(__dmul_rn(b[row], k[t]), values[t]));
        }
    }
    cuda_leave(true, largest, result);
}

static nadir_status minimum(void *self, nadir_context *context, const double *b, const double *k,
                            double *smallest)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = (const cuda_rows *)self;
    cuda_engine *engine = rows->engine;
    double found[BLOCKS];
    CUDA_CHECK(cuda_reserve(engine, context, rows->rows + rows->states));
    CUDA_CHECK(cuda_copy(engine, context, rows->rows, b, engine->workspace));
    CUDA_CHECK(cuda_copy(engine, context, rows->states, k, engine->workspace + rows->rows));
    find_smallest<<<BLOCKS, THREADS>>>(rows->rows, rows->states, rows->dense, engine->workspace,
                                       engine->workspace + rows->rows, engine->partials);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_copy(engine, context, BLOCKS, engine->partials, found));
    *smallest = INFINITY;
    for (int i = 0; i < BLOCKS; i++) {
        *smallest = fmin(*smallest, -found[i]);
    }
cleanup:
    return status;
}

void cuda_rows_enter(nadir_device *table)
{
    table->rows_upload = upload;
    table->rows_free = free_rows;
    table->rows_multiply = multiply;
    table->rows_minimum = minimum;
}
