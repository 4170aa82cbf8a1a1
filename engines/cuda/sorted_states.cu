/*
 * sorted_states.cu: the states in rising order of x, with the sums along it of sets/lmo.h. Of two
 * stretches a and b of the order, the second one after the first, with g = x at the end of b - x at the end
 * of a,
 *
 *     count = count_a + count_b,    first = first_b + (first_a + g count_a),
 *     second = second_b + (second_a + g (2 first_a + g count_a)).
 *
 * No term is negative, so that nothing cancels.
 */
#include "sorted_states.h"

#include "scan.h"

#include <cmath>
#include <cub/device/device_radix_sort.cuh>

enum { THREADS = 256 };

struct moments {
    double count, first, second, x;
    __device__ moments emptied() const
    {
        return {0, 0, 0, x};
    }
};

static __device__ moments join(const moments &a, const moments &b)
{
    const double gap = b.x - a.x;
    return {a.count + b.count, b.first + (a.first + gap * a.count),
            b.second + (a.second + gap * (2 * a.first + gap * a.count)), b.x};
}

struct moments_along {
    int64_t count;
    const double *x;
    double *first, *second;
    __device__ moments item(int64_t i) const
    {
        return {i < count ? 1.0 : 0.0, 0, 0, x[i < count ? i : count - 1]};
    }
    __device__ void leave(int64_t i, const moments &sum) const
    {
        first[i] = sum.first;
        if (second != NULL) {
            second[i] = sum.second;
        }
    }
};

static __global__ void add_totals(moments_along all, const moments *totals)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < all.count) {
        const moments mine = {(double)(i % SCAN_PIECE + 1), all.first[i],
                              all.second != NULL ? all.second[i] : 0, all.x[i]};
        all.leave(i, scan_whole(mine, i, totals));
    }
}

nadir_status cuda_moments(cuda_engine *engine, nadir_context *context, int64_t count, const double *x,
                          double *first, double *second)
{
    nadir_status status = NADIR_OK;
    const moments_along all = {count, x, first, second};
    moments *totals = NULL;
    cuda_pool work = {engine, "sums along an order"};
    CUDA_CHECK(cuda_new(&work, context, cuda_blocks(count, SCAN_PIECE), &totals));
    CUDA_CHECK(scan(engine, context, all, totals));
    add_totals<<<cuda_blocks(count, THREADS), THREADS>>>(all, totals);
    CUDA_LAUNCHED(engine, context);
cleanup:
    cuda_pool_free(&work);
    return status;
}

static __global__ void invert(int64_t count, const int32_t *order, int32_t *rank)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        rank[order[i]] = (int32_t)i;
    }
}

nadir_status cuda_sorted_open(cuda_pool *pool, nadir_context *context, int64_t states, double p,
                              sorted_states *made)
{
    nadir_status status = NADIR_OK;
    made->states = states;
    CUDA_CHECK(cuda_new(pool, context, states, &made->places));
    CUDA_CHECK(cuda_new(pool, context, states, &made->order));
    CUDA_CHECK(cuda_new(pool, context, states, &made->sorted));
    if (p != 1) {
        CUDA_CHECK(cuda_new(pool, context, states, &made->first));
    }
    if (p == 2) {
        CUDA_CHECK(cuda_new(pool, context, states, &made->second));
    }
    if (std::isinf(p)) {
        CUDA_CHECK(cuda_new(pool, context, states, &made->rank));
    }
    CUDA_CHECK(cuda_count_up(pool->engine, context, states, made->places));
cleanup:
    return status;
}

nadir_status cuda_sorted_make(cuda_engine *engine, nadir_context *context, const double *x, sorted_states *in)
{
    nadir_status status = NADIR_OK;
    CUDA_CHECK(cuda_with_work(engine, context, "the order of values", [&](void *work, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(work, bytes, x, in->sorted, in->places, in->order, in->states);
    }));
    if (in->rank != NULL) {
        invert<<<cuda_blocks(in->states, THREADS), THREADS>>>(in->states, in->order, in->rank);
        CUDA_LAUNCHED(engine, context);
    }
    if (in->first != NULL) {
        CUDA_CHECK(cuda_moments(engine, context, in->states, in->sorted, in->first, in->second));
    }
cleanup:
    return status;
}
