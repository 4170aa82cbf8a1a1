/*
 * vec.cu: vectors that a caller leaves on the device, and what an iteration does with them; see
 * linalg/vec.h. Addresses of the device and of the caller are told apart by what they are: copies with
 * cudaMemcpyDefault go either way.
 */
#include "engine.h"
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

bool cuda_is_device_address(const double *x)
{
    cudaPointerAttributes attributes;
    const bool known = cudaPointerGetAttributes(&attributes, x) == cudaSuccess;
    (void)cudaGetLastError();
    return known && attributes.type == cudaMemoryTypeDevice;
}

static nadir_status alloc(void *self, nadir_context *context, int64_t numbers, double **vectors)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    const double bytes = (double)numbers * sizeof(double);
    double *made = NULL;
    if (!cuda_fits(engine, bytes) || cudaMalloc(&made, bytes > 0 ? (size_t)bytes : 1) != cudaSuccess) {
        (void)cudaGetLastError();
        return engine->host->fail(context, NADIR_ERROR_MEMORY,
                                  "the device has no room to spare for vectors of %.0f bytes", bytes);
    }
    CUDA_TRY(engine, context, cudaMemset(made, 0, (size_t)bytes));
    engine->used += bytes;
    *vectors = made;
    made = NULL;
cleanup:
    (void)cudaFree(made);
    return status;
}

static void free_vectors(void *self, int64_t numbers, double *vectors)
{
    (void)cudaFree(vectors);
    ((cuda_engine *)self)->used -= vectors != NULL ? (double)numbers * sizeof(double) : 0;
}

static nadir_status copy(void *self, nadir_context *context, int64_t count, const double *from, double *to)
{
    return cuda_copy((cuda_engine *)self, context, count, from, to);
}

/* Of the first `few` vectors, each with partials of its own. */
static __global__ void __launch_bounds__(THREADS)
    add_products(int64_t n, int few, const double *vectors, const double *x, double *partials)
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
        cuda_leave(false, sums[j], partials + j * CUDA_PARTIALS);
    }
}

static __global__ void __launch_bounds__(THREADS) end_products(int few, const double *partials, double *dots)
{
    for (int j = 0; j < few; j++) {
        const double dot = cuda_over_blocks(false, BLOCKS, partials + j * CUDA_PARTIALS);
        if (threadIdx.x == 0) {
            dots[j] = dot;
        }
    }
}

static nadir_status dots(void *self, nadir_context *context, int64_t count, int many, const double *vectors,
                         const double *x, double *result)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    double *found = engine->partials + (int)FEW * (int)CUDA_PARTIALS;
    for (int first = 0; first < many; first += FEW) {
        const int few = many - first < FEW ? many - first : FEW;
        add_products<<<BLOCKS, THREADS>>>(count, few, vectors + first * count, x, engine->partials);
        end_products<<<1, THREADS>>>(few, engine->partials, found + first);
    }
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_copy(engine, context, many, found, result));
cleanup:
    return status;
}

typedef struct factor_row {
    double values[MANY];
} factor_row;

static __global__ void __launch_bounds__(THREADS)
    add_vectors(int64_t n, int many, const double *vectors, factor_row factors, double *y)
{
    for (EACH(i, n)) {
        double sum = y[i];
        for (int j = 0; j < many; j++) {
            sum += factors.values[j] * vectors[j * n + i];
        }
        y[i] = sum;
    }
}

static nadir_status add(void *self, nadir_context *context, int64_t count, int many, const double *vectors,
                        const double *factors, double *y)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    factor_row row = {};
    for (int j = 0; j < many; j++) {
        row.values[j] = factors[j];
    }
    add_vectors<<<BLOCKS, THREADS>>>(count, many, vectors, row, y);
    CUDA_LAUNCHED(engine, context);
cleanup:
    return status;
}

/* y <- w x entry by entry; w NULL: y <- a x. */
static __global__ void __launch_bounds__(THREADS)
    multiply(int64_t n, double a, const double *w, const double *x, double *y)
{
    for (EACH(i, n)) {
        y[i] = (w != NULL ? w[i] : a) * x[i];
    }
}

static nadir_status weigh_or_scale(void *self, nadir_context *context, int64_t count, double a,
                                   const double *w, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    multiply<<<BLOCKS, THREADS>>>(count, a, w, x, y);
    CUDA_LAUNCHED((cuda_engine *)self, context);
cleanup:
    return status;
}

static nadir_status scale(void *self, nadir_context *context, int64_t count, double a, const double *x,
                          double *y)
{
    return weigh_or_scale(self, context, count, a, NULL, x, y);
}

static nadir_status weigh(void *self, nadir_context *context, int64_t count, const double *w, const double *x,
                          double *y)
{
    return weigh_or_scale(self, context, count, 1, w, x, y);
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

static nadir_status rotate(void *self, nadir_context *context, int64_t count, int many, int kept,
                           const double *matrix, double *vectors)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    CUDA_CHECK(cuda_copy(engine, context, (int64_t)many * kept, matrix, engine->partials));
    rotate_vectors<<<cuda_blocks(count, ROTATED), ROTATED>>>(count, many, kept, engine->partials, vectors);
    CUDA_LAUNCHED(engine, context);
cleanup:
    return status;
}

void cuda_vec_enter(nadir_device *table)
{
    table->vec_alloc = alloc;
    table->vec_free = free_vectors;
    table->vec_copy = copy;
    table->vec_dots = dots;
    table->vec_add = add;
    table->vec_scale = scale;
    table->vec_weigh = weigh;
    table->vec_rotate = rotate;
}
