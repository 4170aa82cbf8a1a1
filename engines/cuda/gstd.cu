/* gstd.cu: long vectors for generalised standard deviations, with the sums of linalg/gstd.c. */
#include "engine.h"
#include "reduce.h"

#include <cfloat>
#include <cmath>
#include <cub/device/device_radix_sort.cuh>

enum {
    THREADS = CUDA_REDUCE_THREADS,
    KINDS = (int)NADIR_DEVICE_POWER_SUMS,
    BLOCKS = (int)CUDA_SUMS * (int)CUDA_PARTIALS / (int)NADIR_DEVICE_POWER_SUMS
};
#define NEAR_ONE 0x1p-6 /* as there */
#define LEAST    1e-290

typedef struct sample {
    cuda_engine *engine;
    int64_t count;
    double *x;    /* [count] */
    double *work; /* [count] */
    cuda_pool memory;
} sample;

static void free_sample(void *self)
{
    if (self != NULL) {
        cuda_pool_free(&((sample *)self)->memory);
        free(self);
    }
}

static nadir_status upload(void *self, nadir_context *context, int64_t count, const double *x, void **vector)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    sample *made = NULL;
    CUDA_CHECK(cuda_object(engine, context, &made));
    made->engine = engine;
    made->count = count;
    made->memory = {engine, "a vector"};
    if (!cuda_new_spare(&made->memory, count, &made->x) ||
        !cuda_new_spare(&made->memory, count, &made->work)) {
        status =
            engine->host->fail(context, NADIR_ERROR_MEMORY, "the device has no room to spare for a vector");
        goto cleanup;
    }
    CUDA_CHECK(cuda_copy(engine, context, count, x, made->x));
    *vector = made;
    made = NULL;
cleanup:
    free_sample(made);
    return status;
}

static nadir_status order_statistics(void *self, nadir_context *context, int64_t count, const int64_t *ranks,
                                     double *values)
{
    nadir_status status = NADIR_OK;
    const sample *vector = (const sample *)self;
    CUDA_CHECK(cuda_with_work(vector->engine, context, "room to sort", [&](void *work, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(work, bytes, vector->x, vector->work, vector->count);
    }));
    for (int64_t i = 0; i < count; i++) {
        CUDA_CHECK(cuda_copy(vector->engine, context, 1, vector->work + ranks[i], &values[i]));
    }
cleanup:
    return status;
}

static __device__ double power_of(double r, double a)
{
    return a == 1 ? r : a == 2 ? r * r : a == 0.5 ? sqrt(r) : pow(r, a);
}

/* Each block leaves its sums, kind after kind; powers NULL: not wanted. */
static __global__ void __launch_bounds__(THREADS)
    add_powers(int64_t count, const double *x, nadir_device_power_terms terms, double *powers,
               double *partials)
{
    double sums[KINDS] = {};
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (int64_t)BLOCKS * THREADS) {
        const double d = (x[i] * terms.scale - terms.base) - terms.shift;
        const bool above = d > 0;
        const double r = fabs(d) / terms.divisor[above ? 0 : 1];
        const double term = d == 0 ? 0 : terms.a < NEAR_ONE ? expm1(terms.a * log(r)) : power_of(r, terms.a);
        const double power = d == 0 ? 0 : terms.a < NEAR_ONE ? 1 + term : term;
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
        cuda_leave(false, sums[kind], partials + kind * BLOCKS);
    }
}

static nadir_status power_sums(void *self, nadir_context *context, const nadir_device_power_terms *terms,
                               double *sums, double *powers)
{
    nadir_status status = NADIR_OK;
    const sample *vector = (const sample *)self;
    cuda_engine *engine = vector->engine;
    double found[KINDS * BLOCKS];
    add_powers<<<BLOCKS, THREADS>>>(vector->count, vector->x, *terms, powers != NULL ? vector->work : NULL,
                                    engine->partials);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_copy(engine, context, KINDS * BLOCKS, engine->partials, found));
    for (int kind = 0; kind < KINDS; kind++) {
        sums[kind] = 0;
        for (int i = 0; i < BLOCKS; i++) {
            sums[kind] += found[kind * BLOCKS + i];
        }
    }
    if (powers != NULL) {
        CUDA_CHECK(cuda_copy(engine, context, vector->count, vector->work, powers));
    }
cleanup:
    return status;
}

void cuda_gstd_enter(nadir_device *table)
{
    table->gstd_upload = upload;
    table->gstd_free = free_sample;
    table->gstd_ranks = order_statistics;
    table->gstd_powers = power_sums;
}
