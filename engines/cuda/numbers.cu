/* numbers.cu: kernels that have other numbers than the model, and the same successors, on the device. */
#include "parts.h"

#include <cstdlib>

enum { THREADS = 256 };

nadir_status cuda_numbers_make(const cuda_rows *rows, nadir_context *context, cuda_numbers **numbers)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    cuda_numbers *made = (cuda_numbers *)calloc(1, sizeof *made);
    if (made == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    made->engine = engine;
    made->rows = rows->rows;
    made->entries = rows->entries;
    CUDA_CHECK(cuda_take(engine, context, "the numbers of a kernel", (double)rows->entries * sizeof(double),
                         (void **)&made->values));
    CUDA_CHECK(cuda_take(engine, context, "the numbers of a kernel", (double)rows->rows * sizeof(bool),
                         (void **)&made->nominal));
    *numbers = made;
    made = NULL;
cleanup:
    cuda_forget(made);
    return status;
}

void cuda_forget(void *numbers)
{
    cuda_numbers *of = (cuda_numbers *)numbers;
    if (of != NULL) {
        cuda_give(of->engine, (double)of->entries * sizeof(double), of->values);
        cuda_give(of->engine, (double)of->rows * sizeof(bool), of->nominal);
        free(of);
    }
}

nadir_status cuda_bring(const void *numbers, nadir_context *context, double *values, bool *nominal)
{
    nadir_status status = NADIR_OK;
    const cuda_numbers *of = (const cuda_numbers *)numbers;
    CUDA_TRY(of->engine, context,
             cudaMemcpy(values, of->values, (size_t)of->entries * sizeof *values, cudaMemcpyDeviceToHost));
    CUDA_TRY(of->engine, context,
             cudaMemcpy(nominal, of->nominal, (size_t)of->rows * sizeof *nominal, cudaMemcpyDeviceToHost));
cleanup:
    return status;
}

/* Rows that are nominal have the model's numbers. */
static __global__ void restore(cuda_rows of, const bool *nominal, double *values)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row < of.rows && nominal[row]) {
        const int64_t start = of.dense != NULL ? row * of.states : of.starts[row];
        const int64_t end = of.dense != NULL ? start + of.states : of.starts[row + 1];
        for (int64_t i = start; i < end; i++) {
            values[i] = of.dense != NULL ? of.dense[i] : of.values[i];
        }
    }
}

nadir_status cuda_put(void *kept, nadir_context *context, const double *values, const bool *nominal,
                      void **numbers)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = (const cuda_rows *)kept;
    cuda_engine *engine = rows->engine;
    cuda_numbers *made = NULL;
    CUDA_CHECK(cuda_numbers_make(rows, context, &made));
    CUDA_TRY(
        engine, context,
        cudaMemcpy(made->values, values, (size_t)rows->entries * sizeof *values, cudaMemcpyHostToDevice));
    CUDA_TRY(
        engine, context,
        cudaMemcpy(made->nominal, nominal, (size_t)rows->rows * sizeof *nominal, cudaMemcpyHostToDevice));
    restore<<<cuda_blocks(rows->rows, THREADS), THREADS>>>(*rows, made->nominal, made->values);
    CUDA_LAUNCHED(engine, context);
    *numbers = made;
    made = NULL;
cleanup:
    cuda_forget(made);
    return status;
}
