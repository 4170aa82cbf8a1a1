/*
 * vectors.cu: long vectors of the caller's on the device, for generalised standard deviations; see
 * linalg/gstd_power.c, whose sums these are.
 */
#include "vectors.h"

#include "parts.h"
#include "reduce.h"

#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <cub/device/device_radix_sort.cuh>

enum {
    THREADS = CUDA_REDUCE_THREADS,
    KINDS = (int)NADIR_DEVICE_POWER_SUMS,
    BLOCKS = (int)CUDA_SUMS * (int)CUDA_PARTIALS / (int)NADIR_DEVICE_POWER_SUMS
};
#define NEAR_ONE 0x1p-6 /* as there */
#define LEAST    1e-290

typedef struct cuda_vector {
    cuda_engine *engine;
    int64_t count;
    double *x;    /* [count] */
    double *work; /* [count] */
} cuda_vector;

void cuda_vector_drop(void *self)
{
    cuda_vector *vector = (cuda_vector *)self;
    if (vector != NULL) {
        cuda_give(vector->engine, (double)vector->count * sizeof(double), vector->x);
        cuda_give(vector->engine, (double)vector->count * sizeof(double), vector->work);
        free(vector);
    }
}

nadir_status cuda_vector_keep(void *self, nadir_context *context, int64_t count, const double *x,
                              void **vector)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    const size_t bytes = (size_t)count * sizeof *x;
    cuda_vector *made = (cuda_vector *)calloc(1, sizeof *made);
    if (made == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    made->engine = engine;
    made->count = count;
    if (!cuda_take_spare(engine, (double)bytes, (void **)&made->x) ||
        !cuda_take_spare(engine, (double)bytes, (void **)&made->work)) {
        status =
            engine->host->fail(context, NADIR_ERROR_MEMORY, "the device has no room to spare for a vector");
        goto cleanup;
    }
    CUDA_TRY(engine, context, cudaMemcpy(made->x, x, bytes, cudaMemcpyHostToDevice));
    *vector = made;
    made = NULL;
cleanup:
    cuda_vector_drop(made);
    return status;
}

nadir_status cuda_vector_ranks(void *self, nadir_context *context, int64_t count, const int64_t *ranks,
                               double *values)
{
    nadir_status status = NADIR_OK;
    cuda_vector *vector = (cuda_vector *)self;
    cuda_engine *engine = vector->engine;
    size_t bytes = 0;
    void *room = NULL;
    CUDA_TRY(engine, context,
             cub::DeviceRadixSort::SortKeys(NULL, bytes, vector->x, vector->work, vector->count));
    CUDA_CHECK(cuda_take(engine, context, "room to sort", (double)bytes, &room));
    CUDA_TRY(engine, context,
             cub::DeviceRadixSort::SortKeys(room, bytes, vector->x, vector->work, vector->count));
    for (int64_t i = 0; i < count; i++) {
        CUDA_TRY(engine, context,
                 cudaMemcpy(&values[i], vector->work + ranks[i], sizeof *values, cudaMemcpyDeviceToHost));
    }
cleanup:
    cuda_give(engine, (double)bytes, room);
    return status;
}

static __device__ double power_of(double r, double a)
{
    return a == 1 ? r : a == 2 ? r * r : a == 0.5 ? sqrt(r) : pow(r, a);
}

/* Each block leaves its sums, kind after kind; powers NULL: not wanted. */
static __global__ void __launch_bounds__(THREADS)
    add_powers(int64_t count, const double *x, nadir_device_power_terms at, double *powers, double *partials)
{
    double sums[KINDS] = {};
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (int64_t)BLOCKS * THREADS) {
        const double d = (x[i] * at.scale - at.base) - at.shift;
        const bool above = d > 0;
        const double r = fabs(d) / at.divisor[above ? 0 : 1];
        const double term = d == 0 ? 0 : at.a < NEAR_ONE ? expm1(at.a * log(r)) : power_of(r, at.a);
        const double power = d == 0 ? 0 : at.a < NEAR_ONE ? 1 + term : term;
        const double slope = power / fmax(r, LEAST);
#pragma unroll
        for (int side = 0; side < 2; side++) {
            const bool here = d != 0 && above == (side == 0);
            sums[4 * side] += here ? 1 : 0;
            sums[4 * side + 1] += here ? term : 0;
            sums[4 * side + 2] += here ? slope : 0;
            sums[4 * side + 3] += here ? power * r : 0;
        }
        if (powers != NULL) {
            powers[i] = above ? power : -power;
        }
    }
#pragma unroll
    for (int kind = 0; kind < KINDS; kind++) {
        const double sum = cuda_over_block(false, sums[kind]);
        if (threadIdx.x == 0) {
            partials[kind * BLOCKS + blockIdx.x] = sum;
        }
    }
}

nadir_status cuda_vector_powers(void *self, nadir_context *context, const nadir_device_power_terms *at,
                                double *sums, double *powers)
{
    nadir_status status = NADIR_OK;
    cuda_vector *vector = (cuda_vector *)self;
    cuda_engine *engine = vector->engine;
    double found[KINDS * BLOCKS];
    add_powers<<<BLOCKS, THREADS>>>(vector->count, vector->x, *at, powers != NULL ? vector->work : NULL,
                                    engine->partials);
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(engine, context, cudaMemcpy(found, engine->partials, sizeof found, cudaMemcpyDeviceToHost));
    for (int kind = 0; kind < KINDS; kind++) {
        sums[kind] = 0;
        for (int i = 0; i < BLOCKS; i++) {
            sums[kind] += found[kind * BLOCKS + i];
        }
    }
    if (powers != NULL) {
        CUDA_TRY(
            engine, context,
            cudaMemcpy(powers, vector->work, (size_t)vector->count * sizeof *powers, cudaMemcpyDeviceToHost));
    }
cleanup:
    return status;
}
