/* rowwise.h: passes over the rows of a sparse model, a thread for each, as linear steps make them. */
#ifndef NADIR_ENGINES_CUDA_ROWWISE_H
#define NADIR_ENGINES_CUDA_ROWWISE_H

#include "parts.h"

enum {
    THREADS = 256,
    BLOCKS = CUDA_PARTIALS,
    SHORT = 8 /* entries of a row that are kept in registers */
};

/* A row's numbers: x is measured from the smallest that is allowed; all: every state is, and that is 0. */
struct short_row {
    int count;
    double p[SHORT], x[SHORT];
    __device__ short_row(const cuda_rows &of, int64_t row, const double *x_of, bool all = false)
    {
        const int64_t start = of.starts[row];
        double base = all ? 0 : 1;
        count = (int)(of.starts[row + 1] - start);
#pragma unroll
        for (int i = 0; i < SHORT; i++) {
            p[i] = i < count ? of.values[start + i] : 0;
            x[i] = i < count ? __ldg(x_of + of.columns[start + i]) : 0;
            base = i < count && p[i] > 0 ? fmin(base, x[i]) : base;
        }
#pragma unroll
        for (int i = 0; i < SHORT; i++) {
            x[i] -= base;
        }
    }
    template <typename VISIT> __device__ void each(VISIT visit) const
    {
#pragma unroll
        for (int i = 0; i < SHORT; i++) {
            if (i < count) {
                visit(p[i], x[i], i);
            }
        }
    }
};

struct long_row {
    int64_t start, count;
    const double *p, *x;
    const int32_t *columns;
    double base;
    __device__ long_row(const cuda_rows &of, int64_t row, const double *x_of, bool all = false)
        : start(of.starts[row]), count(of.starts[row + 1] - of.starts[row]), p(of.values + start), x(x_of),
          columns(of.columns + start), base(all ? 0 : 1)
    {
        for (int64_t i = 0; i < count && !all; i++) {
            base = p[i] > 0 ? fmin(base, x[columns[i]]) : base;
        }
    }
    template <typename VISIT> __device__ void each(VISIT visit) const
    {
        for (int64_t i = 0; i < count; i++) {
            visit(p[i], x[columns[i]] - base, i);
        }
    }
};

/* The sum of a block, thread 0's. */
static __device__ inline double2 over_block(double2 mine)
{
    __shared__ double2 parts[THREADS];
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) {
            parts[threadIdx.x].x += parts[threadIdx.x + half].x;
            parts[threadIdx.x].y += parts[threadIdx.x + half].y;
        }
        __syncthreads();
    }
    return parts[0];
}

/* The largest of a block, everybody's; a NaN stays. */
static __device__ inline double block_largest(double mine)
{
    __shared__ double parts[THREADS];
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) {
            const double other = parts[threadIdx.x + half];
            parts[threadIdx.x] = other > parts[threadIdx.x] || isnan(other) ? other : parts[threadIdx.x];
        }
        __syncthreads();
    }
    const double all = parts[0];
    __syncthreads();
    return all;
}

/* p = 1: what of an entry moves at a key. */
static __device__ inline double threshold_part(double key, double x, double threshold, double share)
{
    return key > threshold ? 1 : x > 0 && key == threshold ? share : 0;
}

/* A row that stays as it is. */
static __device__ inline void copy_row(const cuda_rows &of, int64_t row, double *values)
{
    for (int64_t i = of.starts[row]; i < of.starts[row + 1]; i++) {
        values[i] = of.values[i];
    }
}

static __device__ inline double scale_of(const double *scales, int64_t row)
{
    return scales != NULL ? scales[row] : 1;
}

#endif
