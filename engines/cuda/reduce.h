/* reduce.h: sums and maxima over the threads of a block, and over blocks: always in the same order. */
#ifndef NADIR_ENGINES_CUDA_REDUCE_H
#define NADIR_ENGINES_CUDA_REDUCE_H

enum { CUDA_REDUCE_THREADS = 256 }; /* of every block that uses these */

static __device__ inline double cuda_join(bool maximum, double a, double b)
{
    return maximum ? (b > a || isnan(b) ? b : a) : a + b; /* a NaN stays */
}

/* Of the numbers that the threads of a block have; the result is thread 0's. */
static __device__ inline double cuda_over_block(bool maximum, double mine)
{
    __shared__ double parts[CUDA_REDUCE_THREADS];
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (int half = CUDA_REDUCE_THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) {
            parts[threadIdx.x] = cuda_join(maximum, parts[threadIdx.x], parts[threadIdx.x + half]);
        }
        __syncthreads();
    }
    const double all = parts[0];
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

#endif
