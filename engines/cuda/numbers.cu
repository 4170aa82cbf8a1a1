/* numbers.cu: kernels that have other numbers than the model on the device, on the same successors and, if
 * they are spread, on others too. */
#include "parts.h"

#include <cstdlib>

enum { THREADS = 256, ARRAYS = 9 };

/* The arrays of numbers, on the device and in the caller's memory. */
typedef struct array {
    void **on_device;
    void *here;
    size_t bytes;
} array;

/* to: NULL, or where the caller's are. Returns how many there are if they are spread or not. */
static int list(cuda_numbers *of, bool spread, const nadir_device_perturbed *to, array arrays[ARRAYS])
{
    const nadir_device_perturbed none = {};
    const nadir_device_perturbed *at = to != NULL ? to : &none;
    const size_t states = (size_t)of->states;
    const size_t rows = (size_t)of->rows;
    const array all[ARRAYS] = {
        {(void **)&of->values, at->values, (size_t)of->entries * sizeof(double)},
        {(void **)&of->nominal, at->nominal, rows * sizeof(bool)},
        {(void **)&of->x, at->x, states * sizeof(double)},
        {(void **)&of->order, at->order, states * sizeof(int32_t)},
        {(void **)&of->omega, at->omega, rows * sizeof(double)},
        {(void **)&of->slope, at->slope, rows * sizeof(double)},
        {(void **)&of->length, at->length, rows * sizeof(int32_t)},
        {(void **)&of->extra, at->extra, rows * sizeof(int32_t)},
        {(void **)&of->amount, at->amount, rows * sizeof(double)},
    };
    for (int i = 0; i < ARRAYS; i++) {
        arrays[i] = all[i];
    }
    return spread ? ARRAYS : 2;
}

nadir_status cuda_numbers_make(const cuda_rows *rows, nadir_context *context, bool spread,
                               cuda_numbers **numbers)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    array arrays[ARRAYS];
    cuda_numbers *made = (cuda_numbers *)calloc(1, sizeof *made);
    if (made == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    made->engine = engine;
    made->states = rows->states;
    made->rows = rows->rows;
    made->entries = rows->entries;
    {
        const int count = list(made, spread, NULL, arrays);
        for (int i = 0; i < count; i++) {
            CUDA_CHECK(cuda_take(engine, context, "the numbers of a kernel", (double)arrays[i].bytes,
                                 arrays[i].on_device));
        }
    }
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
        array arrays[ARRAYS];
        const int count = list(of, true, NULL, arrays);
        for (int i = 0; i < count; i++) {
            cuda_give(of->engine, (double)arrays[i].bytes, *arrays[i].on_device);
        }
        free(of);
    }
}

nadir_status cuda_bring(const void *numbers, nadir_context *context, const nadir_device_perturbed *to)
{
    nadir_status status = NADIR_OK;
    cuda_numbers of = *(const cuda_numbers *)numbers; /* a view, which owns nothing */
    array arrays[ARRAYS];
    const int count = list(&of, of.omega != NULL, to, arrays);
    for (int i = 0; i < count; i++) {
        CUDA_TRY(of.engine, context,
                 cudaMemcpy(arrays[i].here, *arrays[i].on_device, arrays[i].bytes, cudaMemcpyDeviceToHost));
    }
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

nadir_status cuda_put(void *kept, nadir_context *context, const nadir_device_perturbed *from, void **numbers)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = (const cuda_rows *)kept;
    cuda_engine *engine = rows->engine;
    const bool spread = from->x != NULL;
    cuda_numbers *made = NULL;
    array arrays[ARRAYS];
    CUDA_CHECK(cuda_numbers_make(rows, context, spread, &made));
    {
        const int count = list(made, spread, from, arrays);
        for (int i = 0; i < count; i++) {
            CUDA_TRY(
                engine, context,
                cudaMemcpy(*arrays[i].on_device, arrays[i].here, arrays[i].bytes, cudaMemcpyHostToDevice));
        }
    }
    restore<<<cuda_blocks(rows->rows, THREADS), THREADS>>>(*rows, made->nominal, made->values);
    CUDA_LAUNCHED(engine, context);
    *numbers = made;
    made = NULL;
cleanup:
    cuda_forget(made);
    return status;
}
