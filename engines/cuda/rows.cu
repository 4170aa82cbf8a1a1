/* rows.cu: the rows of a model on the device. */
#include "parts.h"

#include <math_constants.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

void cuda_rows_clear(cuda_rows *rows)
{
    if (rows->engine != NULL) {
        (void)cudaFree(rows->state_rows);
        (void)cudaFree(rows->dense);
        (void)cudaFree(rows->starts);
        (void)cudaFree(rows->columns);
        (void)cudaFree(rows->values);
        rows->engine->used -= rows->bytes;
    }
    memset(rows, 0, sizeof *rows);
}

static double bytes_of(const nadir_device_rows *from)
{
    const double entries =
        from->dense != NULL ? (double)from->rows * (double)from->states : (double)from->starts[from->rows];
    const double entry = sizeof(double) + (from->dense != NULL ? 0 : sizeof(int32_t));
    const double starts = from->dense != NULL ? 0 : (double)(from->rows + 1) * sizeof(int64_t);
    return entries * entry + starts +
           (from->state_rows != NULL ? (double)(from->states + 1) * sizeof(int64_t) : 0);
}

/* A copy of `bytes`, which are not counted: the whole was. */
static cudaError_t copy(const void *from, double bytes, void **to)
{
    const cudaError_t code = cudaMalloc(to, bytes > 0 ? (size_t)bytes : 1);
    return code != cudaSuccess ? code : cudaMemcpy(*to, from, (size_t)bytes, cudaMemcpyHostToDevice);
}

/* Refuses what does not fit before anything is taken. */
static nadir_status check_room(cuda_engine *engine, nadir_context *context, const nadir_device_rows *from)
{
    void *block = NULL;
    const double bytes = bytes_of(from);
    const nadir_status status = cuda_take(
        engine, context, from->state_rows != NULL ? "the model" : "the matrix of the policy", bytes, &block);
    cuda_give(engine, bytes, block);
    return status;
}

nadir_status cuda_rows_copy(cuda_engine *engine, nadir_context *context, const nadir_device_rows *from,
                            cuda_rows *to)
{
    nadir_status status = NADIR_OK;
    memset(to, 0, sizeof *to);
    CUDA_CHECK(check_room(engine, context, from));
    to->engine = engine;
    to->states = from->states;
    to->rows = from->rows;
    to->entries = from->dense != NULL ? from->rows * from->states : from->starts[from->rows];
    to->bytes = bytes_of(from);
    engine->used += to->bytes;
    if (from->state_rows != NULL) {
        CUDA_TRY(
            engine, context,
            copy(from->state_rows, (double)(from->states + 1) * sizeof(int64_t), (void **)&to->state_rows));
    }
    if (from->dense != NULL) {
        CUDA_TRY(engine, context,
                 copy(from->dense, (double)to->entries * sizeof(double), (void **)&to->dense));
        goto cleanup;
    }
    CUDA_TRY(engine, context,
             copy(from->starts, (double)(from->rows + 1) * sizeof(int64_t), (void **)&to->starts));
    CUDA_TRY(engine, context,
             copy(from->columns, (double)to->entries * sizeof(int32_t), (void **)&to->columns));
    CUDA_TRY(engine, context, copy(from->values, (double)to->entries * sizeof(double), (void **)&to->values));
cleanup:
    if (status != NADIR_OK) {
        cuda_rows_clear(to);
    }
    return status;
}

nadir_status cuda_keep(void *self, nadir_context *context, const nadir_device_rows *from, void **kept)
{
    cuda_engine *engine = (cuda_engine *)self;
    cuda_rows *made = (cuda_rows *)calloc(1, sizeof *made);
    if (made == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    const nadir_status status = cuda_rows_copy(engine, context, from, made);
    if (status != NADIR_OK) {
        free(made);
        return status;
    }
    *kept = made;
    return NADIR_OK;
}

void cuda_drop(void *kept)
{
    cuda_rows_clear((cuda_rows *)kept);
    free(kept);
}

nadir_status cuda_multiply(void *kept, nadir_context *context, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = (const cuda_rows *)kept;
    cuda_engine *engine = rows->engine;
    CUDA_CHECK(cuda_reserve(engine, context, rows->states + rows->rows));
    CUDA_TRY(engine, context,
             cudaMemcpy(engine->vectors, x, (size_t)rows->states * sizeof *x, cudaMemcpyHostToDevice));
    CUDA_CHECK(cuda_rows_apply(rows, context, 0, 1, engine->vectors, engine->vectors + rows->states));
    CUDA_TRY(engine, context,
             cudaMemcpy(y, engine->vectors + rows->states, (size_t)rows->rows * sizeof *y,
                        cudaMemcpyDeviceToHost));
cleanup:
    return status;
}

enum { THREADS = 256, BLOCKS = 1024 };

/* result[block] <- the smallest of P - b k^T in its rows. */
static __global__ void find_smallest(int64_t rows, int64_t states, const double *dense, const double *b,
                                     const double *k, double *result)
{
    __shared__ double parts[THREADS];
    double least = CUDART_INF;
    for (int64_t row = blockIdx.x; row < rows; row += BLOCKS) {
        const double *values = dense + row * states;
        const double factor = b[row];
        for (int64_t t = threadIdx.x; t < states; t += THREADS) {
            least = fmin(least, __dsub_rn(values[t], __dmul_rn(factor, k[t])));
        }
    }
    parts[threadIdx.x] = least;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) {
            parts[threadIdx.x] = fmin(parts[threadIdx.x], parts[threadIdx.x + half]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        result[blockIdx.x] = parts[0];
    }
}

nadir_status cuda_minimum(void *kept, nadir_context *context, const double *b, const double *k,
                          double *minimum)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = (const cuda_rows *)kept;
    cuda_engine *engine = rows->engine;
    double found[BLOCKS];
    CUDA_CHECK(cuda_reserve(engine, context, rows->rows + rows->states));
    {
        double *to = engine->vectors;
        CUDA_TRY(engine, context, cudaMemcpy(to, b, (size_t)rows->rows * sizeof *b, cudaMemcpyHostToDevice));
        CUDA_TRY(engine, context,
                 cudaMemcpy(to + rows->rows, k, (size_t)rows->states * sizeof *k, cudaMemcpyHostToDevice));
        find_smallest<<<BLOCKS, THREADS>>>(rows->rows, rows->states, rows->dense, to, to + rows->rows,
                                           engine->partials);
    }
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(engine, context, cudaMemcpy(found, engine->partials, sizeof found, cudaMemcpyDeviceToHost));
    *minimum = INFINITY;
    for (int i = 0; i < BLOCKS; i++) {
        *minimum = found[i] < *minimum ? found[i] : *minimum;
    }
cleanup:
    return status;
}
