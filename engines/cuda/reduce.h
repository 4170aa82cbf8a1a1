/* reduce.h: sums and maxima over the threads of a warp or a block, and over blocks: always in the same order.
 */
#ifndef NADIR_ENGINES_CUDA_REDUCE_H
#define NADIR_ENGINES_CUDA_REDUCE_H

enum { CUDA_REDUCE_THREADS = 256 }; /* of every block that uses these */

static __device__ inline double cuda_join(bool maximum, double a, double b)
{
    return maximum ? (b > a || isnan(b) ? b : a) : a + b; /* a NaN stays */
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

/* Of what `blocks` blocks left, by one block. */
static __device__ inline double cuda_over_blocks(bool maximum, int blocks, const double *partials)
{
    double mine = 0;
    for (int i = (int)threadIdx.x; i < blocks; i += CUDA_REDUCE_THREADS) {
        mine = cuda_join(maximum, mine, partials[i]);
    }
    return cuda_over_block(maximum, mine);
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
