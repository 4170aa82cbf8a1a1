/*
 * place.cu: vectors of a caller who leaves them on the device, and what an iteration does with them; see
 * linalg/vec.h. Addresses of the device and of the caller are told apart by what they are: copies with
 * cudaMemcpyDefault go either way.
 */
#include "place.h"

#include "parts.h"
#include "reduce.h"

enum {
    THREADS = CUDA_REDUCE_THREADS,
    BLOCKS = 512,
    FEW = (int)CUDA_SUMS - 1, /* vectors of one pass of dots; the last partials are for the results */
    MANY = (int)NADIR_DEVICE_MOST_VECTORS,
    ROTATED = 64 /* threads of a block, each with a number of all vectors: 32 KiB */
};
static_assert((int)BLOCKS <= (int)CUDA_PARTIALS && (int)MANY <= (int)CUDA_PARTIALS,
              "sums of blocks have room");
static_assert((int)MANY * (int)MANY <= (int)CUDA_SUMS * (int)CUDA_PARTIALS, "matrices have room");

#define EACH(i, n)                                                                                           \
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;                                                 \
    i < (n);                                                                                                 \
    i += (int64_t)BLOCKS * THREADS

bool cuda_is_there(const double *x)
{
    cudaPointerAttributes of;
    const bool known = cudaPointerGetAttributes(&of, x) == cudaSuccess;
    (void)cudaGetLastError();
    return known && of.type == cudaMemoryTypeDevice;
}

nadir_status cuda_room_take(void *self, nadir_context *context, int64_t numbers, double **vectors)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    const double bytes = (double)numbers * sizeof(double);
    double *made = NULL;
    if (!cuda_take_spare(engine, bytes, (void **)&made)) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY,
                                  "the device has no room to spare for vectors of %.0f bytes", bytes);
    }
    CUDA_TRY(engine, context, cudaMemset(made, 0, (size_t)bytes));
    *vectors = made;
    made = NULL;
cleanup:
    cuda_give(engine, bytes, made);
    return status;
}

void cuda_room_give(void *self, int64_t numbers, double *vectors)
{
    cuda_give((cuda_engine *)self, (double)numbers * sizeof(double), vectors);
}

nadir_status cuda_room_copy(void *self, nadir_context *context, int64_t count, const double *from, double *to)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    CUDA_TRY(engine, context, cudaMemcpy(to, from, (size_t)count * sizeof *to, cudaMemcpyDefault));
cleanup:
    return status;
}

/* Of the first `few` vectors, each with partials of its own. */
static __global__ void __launch_bounds__(THREADS)
    take_few(int64_t n, int few, const double *vectors, const double *x, double *partials)
{
    double sums[FEW] = {};
    for (EACH(i, n)) {
        const double value = x[i];
#pragma unroll
        for (int j = 0; j < FEW; j++) {
            sums[j] += j < few ? vectors[j * n + i] * value : 0;
        }
    }
#pragma unroll
    for (int j = 0; j < FEW; j++) {
        const double sum = cuda_over_block(false, sums[j]);
        if (threadIdx.x == 0) {
            partials[j * CUDA_PARTIALS + blockIdx.x] = sum;
        }
    }
}

static __global__ void __launch_bounds__(THREADS) end_few(int few, const double *partials, double *dots)
{
    for (int j = 0; j < few; j++) {
        const double dot = cuda_over_blocks(false, BLOCKS, partials + j * CUDA_PARTIALS);
        if (threadIdx.x == 0) {
            dots[j] = dot;
        }
    }
}

nadir_status cuda_room_dots(void *self, nadir_context *context, int64_t count, int many,
                            const double *vectors, const double *x, double *dots)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    double *found = engine->partials + FEW * CUDA_PARTIALS;
    for (int first = 0; first < many; first += FEW) {
        const int few = many - first < FEW ? many - first : FEW;
        take_few<<<BLOCKS, THREADS>>>(count, few, vectors + first * count, x, engine->partials);
        end_few<<<1, THREADS>>>(few, engine->partials, found + first);
    }
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(engine, context, cudaMemcpy(dots, found, (size_t)many * sizeof *dots, cudaMemcpyDeviceToHost));
cleanup:
    return status;
}

typedef struct row_of_factors {
    double of[MANY];
} row_of_factors;

static __global__ void __launch_bounds__(THREADS)
    add_vectors(int64_t n, int many, const double *vectors, row_of_factors factors, double *y)
{
    for (EACH(i, n)) {
        double sum = y[i];
        for (int j = 0; j < many; j++) {
            sum += factors.of[j] * vectors[j * n + i];
        }
        y[i] = sum;
    }
}

nadir_status cuda_room_add(void *self, nadir_context *context, int64_t count, int many, const double *vectors,
                           const double *factors, double *y)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    row_of_factors row = {};
    for (int j = 0; j < many; j++) {
        row.of[j] = factors[j];
    }
    add_vectors<<<BLOCKS, THREADS>>>(count, many, vectors, row, y);
    CUDA_LAUNCHED(engine, context);
cleanup:
    return status;
}

/* y <- w x entry by entry; w NULL: y <- a x. */
static __global__ void __launch_bounds__(THREADS)
    take_multiple(int64_t n, double a, const double *w, const double *x, double *y)
{
    for (EACH(i, n)) {
        y[i] = (w != NULL ? w[i] : a) * x[i];
    }
}

nadir_status cuda_room_scale(void *self, nadir_context *context, int64_t count, double a, const double *x,
                             double *y)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    take_multiple<<<BLOCKS, THREADS>>>(count, a, NULL, x, y);
    CUDA_LAUNCHED(engine, context);
cleanup:
    return status;
}

nadir_status cuda_room_weigh(void *self, nadir_context *context, int64_t count, const double *w,
                             const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    take_multiple<<<BLOCKS, THREADS>>>(count, 1, w, x, y);
    CUDA_LAUNCHED(engine, context);
cleanup:
    return status;
}

static __global__ void __launch_bounds__(ROTATED)
    rotate_vectors(int64_t n, int many, int kept, const double *matrix, double *vectors)
{
    __shared__ double numbers[MANY][ROTATED]; /* a thread has a column of its own */
    const int64_t i = (int64_t)blockIdx.x * ROTATED + threadIdx.x;
    if (i >= n) {
        return;
    }
    for (int k = 0; k < many; k++) {
        numbers[k][threadIdx.x] = vectors[k * n + i];
    }
    for (int j = 0; j < kept; j++) {
        double sum = 0;
        for (int k = 0; k < many; k++) {
            sum += __ldg(matrix + j * many + k) * numbers[k][threadIdx.x];
        }
        vectors[j * n + i] = sum;
    }
}

nadir_status cuda_room_rotate(void *self, nadir_context *context, int64_t count, int many, int kept,
                              const double *matrix, double *vectors)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    CUDA_TRY(engine, context,
             cudaMemcpy(engine->partials, matrix, (size_t)many * (size_t)kept * sizeof *matrix,
                        cudaMemcpyHostToDevice));
    rotate_vectors<<<cuda_blocks(count, ROTATED), ROTATED>>>(count, many, kept, engine->partials, vectors);
    CUDA_LAUNCHED(engine, context);
cleanup:
    return status;
}
