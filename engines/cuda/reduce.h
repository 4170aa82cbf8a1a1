/*
 * reduce.h: sums and extrema over the threads of a warp or a block, and over blocks, always in the same
 * order; and pairs of numbers, double2: two vectors side by side.
 */
#ifndef NADIR_ENGINES_CUDA_REDUCE_H
#define NADIR_ENGINES_CUDA_REDUCE_H

#include <cstdint>
#include <cuda_runtime.h>

enum { CUDA_REDUCE_THREADS = 256 }; /* of every block that uses these */

static __device__ inline double2 operator*(double a, double2 b)
{
    return make_double2(a * b.x, a * b.y);
}

static __device__ inline double2 operator+(double2 a, double2 b)
{
    return make_double2(a.x + b.x, a.y + b.y);
}

/* A NaN stays. */
static __host__ __device__ inline double cuda_larger(double a, double b)
{
    return b > a || b != b ? b : a;
}

static __device__ inline double cuda_join(bool maximum, double a, double b)
{
    return maximum ? cuda_larger(a, b) : a + b;
}

/* Of the numbers that the threads of a block have, or those of every `apart`-th thread: 1, 2, 4, .... */
static __device__ inline double cuda_over_block(bool maximum, double mine, int apart = 1)
{
    __shared__ double parts[CUDA_REDUCE_THREADS];
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (int half = CUDA_REDUCE_THREADS / 2; half >= apart; half /= 2) {
        if ((int)threadIdx.x < half) {
            parts[threadIdx.x] = cuda_join(maximum, parts[threadIdx.x], parts[threadIdx.x + half]);
        }
        __syncthreads();
    }
    const double all = parts[(int)threadIdx.x % apart];
    __syncthreads();
    return all;
}

/* The same, left in partials[block]. */
static __device__ inline void cuda_leave(bool maximum, double mine, double *partials)
{
    const double all = cuda_over_block(maximum, mine);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = all;
    }
}

/* Of what `blocks` blocks left, by one block. */
static __device__ inline double cuda_over_blocks(bool maximum, int blocks, const double *partials)
{
    double mine = 0;
    for (int i = (int)threadIdx.x; i < blocks; i += CUDA_REDUCE_THREADS) {
        mine = cuda_join(maximum, mine, partials[i]);
    }
    return cuda_over_block(maximum, mine);
}

/* The sum over the threads of a warp, everybody's. */
static __device__ inline double cuda_over_warp(double sum)
{
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    return sum;
}

/* The sum over the threads of a warp, up to and with this one. */
static __device__ inline uint32_t cuda_running_sum(uint32_t mine)
{
    const int lane = (int)(threadIdx.x % 32);
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t before = __shfl_up_sync(0xffffffffu, mine, step);
        mine += lane >= step ? before : 0;
    }
    return mine;
}

#endif
