/*
 * policies.cu: many random policies of a model of three states, their moments and densities; see
 * base/device.h.
 *
 * One thread draws the policies of one stream and makes their points in registers, in the order of operations
 * of experiments/geometry.c and without fused ones: the same bits. For moments the threads of a block make a
 * point each, then each of them adds up one product over all points of the block. Sums of blocks are added
 * here, one after another: two runs give the same bits.
 */
#include "parts.h"

#define NADIR_DRAW static __device__ inline
#include "base/random_draw.h"

#include <cstdlib>
#include <cstring>

enum { S = NADIR_DEVICE_FEW, N = NADIR_DEVICE_POINT, SUMS = NADIR_DEVICE_SUMS, THREADS = 192 };
static_assert(THREADS >= SUMS, "a thread for each sum");

/* By value: it lies in constant memory. */
typedef struct drawing {
    double gamma;
    double kernel[2 * S][S];
    double centre[N];
    int64_t count, each;
    const uint64_t *streams;
} drawing;

static __device__ nadir_random stream_of(const drawing *at, int64_t index)
{
    nadir_random random;
    for (int k = 0; k < 4; k++) {
        random.state[k] = at->streams[4 * index + k];
    }
    random.spare = 0;
    random.has_spare = false;
    return random;
}

static __device__ void draw_policy(nadir_random *random, double chance[S])
{
#pragma unroll
    for (int s = 0; s < S; s++) {
        const double u = nadir_draw_uniform(random);
        const double w = nadir_draw_uniform(random);
        chance[s] = u + w > 0 ? u / (u + w) : 0.5;
    }
}

/* D <- (I - gamma P^pi)^-1 by Gauss and Jordan, then the point. */
static __device__ void make_point(const drawing *at, const double chance[S], double point[N])
{
    double D[S][2 * S];
#pragma unroll
    for (int s = 0; s < S; s++) {
#pragma unroll
        for (int t = 0; t < S; t++) {
            const double p = chance[s] * at->kernel[2 * s][t] + (1 - chance[s]) * at->kernel[2 * s + 1][t];
            D[s][t] = (s == t) - at->gamma * p;
            D[s][S + t] = s == t;
        }
    }
#pragma unroll
    for (int k = 0; k < S; k++) {
        const double scale = 1 / D[k][k];
#pragma unroll
        for (int t = k; t < 2 * S; t++) {
            D[k][t] *= scale;
        }
#pragma unroll
        for (int s = 0; s < S; s++) {
            const double factor = D[s][k];
#pragma unroll
            for (int t = k; t < 2 * S; t++) {
                D[s][t] = s != k ? D[s][t] - factor * D[k][t] : D[s][t];
            }
        }
    }
#pragma unroll
    for (int s = 0; s < S; s++) {
#pragma unroll
        for (int t = 0; t < S; t++) {
            point[s * 2 * S + 2 * t] = D[s][S + t] * chance[t];
            point[s * 2 * S + 2 * t + 1] = D[s][S + t] * (1 - chance[t]);
        }
    }
}

/* sums[block] <- those of its streams. */
static __global__ void __launch_bounds__(THREADS) add_moments(const drawing at, double *sums)
{
    __shared__ double points[THREADS][N + 1]; /* 1 behind each, so that sums of x are products too */
    const int64_t first = (int64_t)blockIdx.x * THREADS;
    const int64_t streams = (at.count + at.each - 1) / at.each;
    const int64_t mine = first + threadIdx.x;
    int row = N; /* of the product that this thread adds up */
    int column = (int)threadIdx.x;
    if (threadIdx.x >= N) {
        int left = (int)threadIdx.x - N;
        for (row = 0; left > row; row++) {
            left -= row + 1;
        }
        column = left;
    }
    double sum = 0;
    nadir_random random = stream_of(&at, mine < streams ? mine : streams - 1);
    for (int64_t j = 0; j < at.each; j++) {
        double chance[S];
        double point[N];
        draw_policy(&random, chance);
        make_point(&at, chance, point);
#pragma unroll
        for (int i = 0; i < N; i++) {
            points[threadIdx.x][i] = point[i] - at.centre[i];
        }
        points[threadIdx.x][N] = 1;
        __syncthreads();
        const int64_t there = (at.count - j + at.each - 1) / at.each - first; /* streams that have a j-th */
        const int end = there < 0 ? 0 : there < THREADS ? (int)there : THREADS;
        for (int i = 0; threadIdx.x < SUMS && i < end; i++) {
            sum += points[i][row] * points[i][column];
        }
        __syncthreads();
    }
    if (threadIdx.x < SUMS) {
        sums[(int64_t)blockIdx.x * SUMS + threadIdx.x] = sum;
    }
}

/* The bin of a coordinate; one past the range by rounding belongs to the last. */
static __device__ int64_t bin_of(double at, double low, double high, int64_t bins)
{
    const double share = high > low ? (at - low) / (high - low) : 0.5;
    const int64_t bin = (int)(share * (double)bins);
    return bin < 0 ? 0 : bin < bins ? bin : bins - 1;
}

/* axes: [views * 2 * N], then ranges: [views * 4]. */
static __global__ void __launch_bounds__(THREADS)
    count_cells(const drawing at, int64_t views, int64_t bins, const double *axes, unsigned long long *counts)
{
    extern __shared__ double seen[];
    for (int64_t i = threadIdx.x; i < views * (2 * N + 4); i += THREADS) {
        seen[i] = axes[i];
    }
    __syncthreads();
    const int64_t mine = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (mine * at.each >= at.count) {
        return;
    }
    const int64_t left = at.count - mine * at.each;
    const int64_t end = left < at.each ? left : at.each;
    const double *ranges = seen + views * 2 * N;
    nadir_random random = stream_of(&at, mine);
    for (int64_t j = 0; j < end; j++) {
        double chance[S];
        double point[N];
        draw_policy(&random, chance);
        make_point(&at, chance, point);
#pragma unroll
        for (int i = 0; i < N; i++) {
            point[i] -= at.centre[i];
        }
        for (int64_t v = 0; v < views; v++) {
            int64_t bin[2];
            for (int axis = 0; axis < 2; axis++) {
                const double *along = seen + (2 * v + axis) * N;
                double sum = 0;
#pragma unroll
                for (int i = 0; i < N; i++) {
                    sum += point[i] * along[i];
                }
                bin[axis] = bin_of(sum, ranges[4 * v + 2 * axis], ranges[4 * v + 2 * axis + 1], bins);
            }
            atomicAdd(&counts[(v * bins + bin[0]) * bins + bin[1]], 1ull);
        }
    }
}

static nadir_status find_sums(cuda_engine *engine, nadir_context *context, const drawing *at, unsigned blocks,
                              double *room, double *sums)
{
    nadir_status status = NADIR_OK;
    const size_t numbers = (size_t)blocks * SUMS;
    double *parts = (double *)malloc(numbers * sizeof *parts);
    if (parts == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    add_moments<<<blocks, THREADS>>>(*at, room);
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(engine, context, cudaMemcpy(parts, room, numbers * sizeof *parts, cudaMemcpyDeviceToHost));
    memset(sums, 0, SUMS * sizeof *sums);
    for (size_t i = 0; i < numbers; i++) {
        sums[i % SUMS] += parts[i];
    }
cleanup:
    free(parts);
    return status;
}

static nadir_status find_counts(cuda_engine *engine, nadir_context *context, const drawing *at,
                                unsigned blocks, double *room, const nadir_device_policies *policies)
{
    nadir_status status = NADIR_OK;
    const int64_t cells = policies->views * policies->bins * policies->bins;
    const size_t axes = (size_t)policies->views * 2 * N * sizeof(double);
    const size_t ranges = (size_t)policies->views * 4 * sizeof(double);
    double *views = room + cells;
    CUDA_TRY(engine, context, cudaMemset(room, 0, (size_t)cells * sizeof(int64_t)));
    CUDA_TRY(engine, context, cudaMemcpy(views, policies->axes, axes, cudaMemcpyHostToDevice));
    CUDA_TRY(engine, context,
             cudaMemcpy(views + policies->views * 2 * N, policies->ranges, ranges, cudaMemcpyHostToDevice));
    count_cells<<<blocks, THREADS, axes + ranges>>>(*at, policies->views, policies->bins, views,
                                                    (unsigned long long *)room);
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(engine, context,
             cudaMemcpy(policies->counts, room, (size_t)cells * sizeof(int64_t), cudaMemcpyDeviceToHost));
cleanup:
    return status;
}

nadir_status cuda_policies(void *self, nadir_context *context, const nadir_device_policies *policies)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    const int64_t streams = (policies->count + policies->each - 1) / policies->each;
    const unsigned blocks = cuda_blocks(streams, THREADS);
    const int64_t cells = policies->views * (policies->bins * policies->bins + 2 * N + 4);
    const int64_t sums = (int64_t)blocks * SUMS;
    drawing at;
    memset(&at, 0, sizeof at);
    at.gamma = policies->gamma;
    memcpy(at.kernel, policies->kernel, sizeof at.kernel);
    memcpy(at.centre, policies->centre, sizeof at.centre);
    at.count = policies->count;
    at.each = policies->each;
    CUDA_CHECK(cuda_reserve(engine, context, 4 * streams + (cells > sums ? cells : sums)));
    {
        double *room = engine->vectors + 4 * streams;
        at.streams = (const uint64_t *)engine->vectors;
        CUDA_TRY(engine, context,
                 cudaMemcpy(engine->vectors, policies->streams, (size_t)(4 * streams) * sizeof(uint64_t),
                            cudaMemcpyHostToDevice));
        if (policies->sums != NULL) {
            CUDA_CHECK(find_sums(engine, context, &at, blocks, room, policies->sums));
        }
        if (policies->counts != NULL) {
            CUDA_CHECK(find_counts(engine, context, &at, blocks, room, policies));
        }
    }
cleanup:
    return status;
}
