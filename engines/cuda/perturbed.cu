/* perturbed.cu: kernels that have other values than the model, and perhaps an off-support tail. */
#include "engine.h"

enum { THREADS = 256, ARRAYS = 9 };

/* An array of a perturbed kernel, on the device and in the caller's memory. */
typedef struct array {
    void **on_device;
    void *here;
    int64_t bytes;
} array;

/* host: NULL, or where the caller's arrays are. Returns how many there are. */
static int list(cuda_perturbed *kernel, bool tail, const nadir_device_perturbed *host, array arrays[ARRAYS])
{
    const nadir_device_perturbed none = {};
    const nadir_device_perturbed *to = host != NULL ? host : &none;
    const int64_t states = kernel->states;
    const int64_t rows = kernel->rows;
    const array all[ARRAYS] = {
        {(void **)&kernel->values, to->values, kernel->entries * (int64_t)sizeof(double)},
        {(void **)&kernel->nominal, to->nominal, rows * (int64_t)sizeof(bool)},
        {(void **)&kernel->x, to->x, states * (int64_t)sizeof(double)},
        {(void **)&kernel->order, to->order, states * (int64_t)sizeof(int32_t)},
        {(void **)&kernel->omega, to->omega, rows * (int64_t)sizeof(double)},
        {(void **)&kernel->slope, to->slope, rows * (int64_t)sizeof(double)},
        {(void **)&kernel->length, to->length, rows * (int64_t)sizeof(int32_t)},
        {(void **)&kernel->extra, to->extra, rows * (int64_t)sizeof(int32_t)},
        {(void **)&kernel->amount, to->amount, rows * (int64_t)sizeof(double)},
    };
    for (int i = 0; i < ARRAYS; i++) {
        arrays[i] = all[i];
    }
    return tail ? ARRAYS : 2;
}

void cuda_perturbed_free(void *perturbed)
{
    if (perturbed != NULL) {
        cuda_pool_free(&((cuda_perturbed *)perturbed)->memory);
        free(perturbed);
    }
}

nadir_status cuda_perturbed_make(const cuda_rows *rows, nadir_context *context, bool tail,
                                 cuda_perturbed **result)
{
    nadir_status status = NADIR_OK;
    array arrays[ARRAYS];
    int count;
    cuda_perturbed *made = NULL;
    CUDA_CHECK(cuda_object(rows->engine, context, &made));
    made->memory = {rows->engine, "the numbers of a kernel"};
    made->states = rows->states;
    made->rows = rows->rows;
    made->entries = rows->entries;
    count = list(made, tail, NULL, arrays);
    for (int i = 0; i < count; i++) {
        CUDA_CHECK(cuda_take(&made->memory, context, (double)arrays[i].bytes, arrays[i].on_device));
    }
    *result = made;
    made = NULL;
cleanup:
    cuda_perturbed_free(made);
    return status;
}

static nadir_status download(const void *perturbed, nadir_context *context, const nadir_device_perturbed *to)
{
    nadir_status status = NADIR_OK;
    cuda_perturbed kernel = *(const cuda_perturbed *)perturbed; /* a view, which owns nothing */
    array arrays[ARRAYS];
    const int count = list(&kernel, kernel.omega != NULL, to, arrays);
    for (int i = 0; i < count; i++) {
        CUDA_CHECK(cuda_copy(kernel.memory.engine, context, arrays[i].bytes,
                             (const char *)*arrays[i].on_device, (char *)arrays[i].here));
    }
cleanup:
    return status;
}

/* Rows that are nominal have the model's values. */
static __global__ void restore(cuda_rows rows, const bool *nominal, double *values)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row < rows.rows && nominal[row]) {
        const int64_t start = rows.dense != NULL ? row * rows.states : rows.starts[row];
        const int64_t end = rows.dense != NULL ? start + rows.states : rows.starts[row + 1];
        for (int64_t i = start; i < end; i++) {
            values[i] = rows.dense != NULL ? rows.dense[i] : rows.values[i];
        }
    }
}

static nadir_status upload(void *self, nadir_context *context, const nadir_device_perturbed *from,
                           void **perturbed)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = (const cuda_rows *)self;
    const bool tail = from->x != NULL;
    cuda_perturbed *made = NULL;
    array arrays[ARRAYS];
    int count;
    CUDA_CHECK(cuda_perturbed_make(rows, context, tail, &made));
    count = list(made, tail, from, arrays);
    for (int i = 0; i < count; i++) {
        CUDA_CHECK(cuda_copy(rows->engine, context, arrays[i].bytes, (const char *)arrays[i].here,
                             (char *)*arrays[i].on_device));
    }
    restore<<<cuda_blocks(rows->rows, THREADS), THREADS>>>(*rows, made->nominal, made->values);
    CUDA_LAUNCHED(rows->engine, context);
    *perturbed = made;
    made = NULL;
cleanup:
    cuda_perturbed_free(made);
    return status;
}

void cuda_perturbed_enter(nadir_device *table)
{
    table->perturbed_upload = upload;
    table->perturbed_download = download;
    table->perturbed_free = cuda_perturbed_free;
}
