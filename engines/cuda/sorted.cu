/*
 * sorted.cu: the states in rising order of x, with the sums along it of adversary/rows/value_order.h:
 *
 *     first_i = first_(i-1) + i g,    second_i = second_(i-1) + g (2 first_(i-1) + i g),    g = x_i -
 * x_(i-1).
 *
 * All terms are positive. Sums run within pieces of the order, and then over the pieces, always in the same
 * order.
 */
#include "spread.h"

#include <cmath>
#include <cstdlib>
#include <cub/device/device_radix_sort.cuh>

enum { THREADS = 256, EACH = 4, PIECE = THREADS * EACH };

static __global__ void number(int64_t count, int32_t *places)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        places[i] = (int32_t)i;
    }
}

static __global__ void invert(int64_t count, const int32_t *order, int32_t *rank)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        rank[order[i]] = (int32_t)i;
    }
}

struct first_term {
    const double *sorted;
    __device__ double operator()(int64_t i) const
    {
        return i > 0 ? (double)i * (sorted[i] - sorted[i - 1]) : 0;
    }
};

struct second_term {
    const double *sorted, *first;
    __device__ double operator()(int64_t i) const
    {
        const double gap = i > 0 ? sorted[i] - sorted[i - 1] : 0;
        return i > 0 ? gap * (2 * first[i - 1] + (double)i * gap) : 0;
    }
};

/* The sums over the threads of the block, before this one (x) and with it (y); everybody calls. */
static __device__ double2 running_sums(double mine)
{
    __shared__ double parts[THREADS];
    const int thread = (int)threadIdx.x;
    parts[thread] = mine;
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        const double before = thread >= step ? parts[thread - step] : 0;
        __syncthreads();
        parts[thread] += before;
        __syncthreads();
    }
    const double2 sums = make_double2(thread > 0 ? parts[thread - 1] : 0, parts[thread]);
    __syncthreads();
    return sums;
}

/* Sums as if the order began with each piece, and what the piece comes to. */
template <typename TERM>
static __global__ void __launch_bounds__(THREADS)
    sum_pieces(int64_t count, TERM term, double *sums, double *totals)
{
    const int64_t start = (int64_t)blockIdx.x * PIECE + (int64_t)threadIdx.x * EACH;
    double own[EACH];
    double sum = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        sum += start + i < count ? term(start + i) : 0;
        own[i] = sum;
    }
    const double2 all = running_sums(sum);
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (start + i < count) {
            sums[start + i] = all.x + own[i];
        }
    }
    if (threadIdx.x == THREADS - 1) {
        totals[blockIdx.x] = all.y;
    }
}

/* totals(i) <- those of pieces 0 .. i; one block. */
static __global__ void __launch_bounds__(THREADS) sum_totals(int64_t count, double *totals)
{
    __shared__ double carried;
    double before = 0;
    for (int64_t first = 0; first < count; first += THREADS) {
        const int64_t i = first + threadIdx.x;
        const double2 all = running_sums(i < count ? totals[i] : 0);
        if (i < count) {
            totals[i] = before + all.y;
        }
        if (threadIdx.x == THREADS - 1) {
            carried = before + all.y;
        }
        __syncthreads();
        before = carried;
        __syncthreads();
    }
}

static __global__ void add_totals(int64_t count, const double *totals, double *sums)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count && i >= PIECE) {
        sums[i] += totals[i / PIECE - 1];
    }
}

template <typename TERM> static void sum_along(int64_t count, const TERM &term, double *sums, double *totals)
{
    const unsigned pieces = cuda_blocks(count, PIECE);
    sum_pieces<<<pieces, THREADS>>>(count, term, sums, totals);
    sum_totals<<<1, THREADS>>>(pieces, totals);
    add_totals<<<cuda_blocks(count, THREADS), THREADS>>>(count, totals, sums);
}

static double totals_bytes(int64_t states)
{
    return (double)cuda_blocks(states, PIECE) * sizeof(double);
}

static cudaError_t sort(cuda_spread *of, const double *x)
{
    return cub::DeviceRadixSort::SortPairs(of->room, of->room_bytes, x, of->in.sorted, of->places,
                                           of->in.order, of->in.states);
}

nadir_status cuda_sorted_open(cuda_engine *engine, nadir_context *context, int64_t states, double p,
                              cuda_spread *of)
{
    nadir_status status = NADIR_OK;
    const char *what = "the order of values";
    const double numbers = (double)states * sizeof(double);
    const double places = (double)states * sizeof(int32_t);
    of->in.states = states;
    CUDA_CHECK(cuda_take(engine, context, what, places, (void **)&of->places));
    CUDA_CHECK(cuda_take(engine, context, what, places, (void **)&of->in.order));
    CUDA_CHECK(cuda_take(engine, context, what, numbers, (void **)&of->in.sorted));
    if (p != 1) {
        CUDA_CHECK(cuda_take(engine, context, what, numbers, (void **)&of->in.first));
        CUDA_CHECK(cuda_take(engine, context, what, totals_bytes(states), (void **)&of->totals));
    }
    if (p == 2) {
        CUDA_CHECK(cuda_take(engine, context, what, numbers, (void **)&of->in.second));
    }
    if (std::isinf(p)) {
        CUDA_CHECK(cuda_take(engine, context, what, places, (void **)&of->in.rank));
    }
    CUDA_TRY(engine, context, sort(of, of->in.sorted)); /* tells how much room it wants */
    CUDA_CHECK(cuda_take(engine, context, what, (double)of->room_bytes, &of->room));
    number<<<cuda_blocks(states, THREADS), THREADS>>>(states, of->places);
    CUDA_LAUNCHED(engine, context);
cleanup:
    return status;
}

void cuda_sorted_close(cuda_engine *engine, cuda_spread *of)
{
    const double numbers = (double)of->in.states * sizeof(double);
    const double places = (double)of->in.states * sizeof(int32_t);
    cuda_give(engine, places, of->places);
    cuda_give(engine, places, of->in.order);
    cuda_give(engine, places, of->in.rank);
    cuda_give(engine, numbers, of->in.sorted);
    cuda_give(engine, numbers, of->in.first);
    cuda_give(engine, numbers, of->in.second);
    cuda_give(engine, totals_bytes(of->in.states), of->totals);
    cuda_give(engine, (double)of->room_bytes, of->room);
}

nadir_status cuda_sorted_make(cuda_engine *engine, nadir_context *context, const double *x, cuda_spread *of)
{
    nadir_status status = NADIR_OK;
    const spread_order *in = &of->in;
    CUDA_TRY(engine, context, sort(of, x));
    if (in->rank != NULL) {
        invert<<<cuda_blocks(in->states, THREADS), THREADS>>>(in->states, in->order, in->rank);
    }
    if (in->first != NULL) {
        sum_along(in->states, first_term{in->sorted}, in->first, of->totals);
    }
    if (in->second != NULL) {
        sum_along(in->states, second_term{in->sorted, in->first}, in->second, of->totals);
    }
    CUDA_LAUNCHED(engine, context);
cleanup:
    return status;
}
