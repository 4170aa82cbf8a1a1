/*
 * scan.h: running sums along an order of pieces that can be joined, whose joins depend on the length of the
 * order alone: the same bits every time.
 *
 * Threads add up SCAN_ITEMS pieces, blocks their threads, and one block the totals of all blocks; the reader
 * joins what a block has with what lies before it (scan_whole). A source has `count`, item(i), which is empty
 * from `count` on, and leave(i, sum); join(before, after) is found by the type of the piece.
 */
#ifndef NADIR_ENGINES_CUDA_SCAN_H
#define NADIR_ENGINES_CUDA_SCAN_H

#include "engine.h"

enum { SCAN_THREADS = 256, SCAN_DOUBLINGS = 8, SCAN_ITEMS = 4, SCAN_PIECE = SCAN_THREADS * SCAN_ITEMS };

/* parts[i] <- all up to and with it, over the threads of a block. */
template <typename PIECE> static __device__ void scan_block(PIECE *parts)
{
    __syncthreads();
    for (int step = 1; step < SCAN_THREADS; step *= 2) {
        const bool has = (int)threadIdx.x >= step;
        PIECE mine = parts[threadIdx.x];
        if (has) {
            mine = join(parts[threadIdx.x - step], mine);
        }
        __syncthreads();
        parts[threadIdx.x] = mine;
        __syncthreads();
    }
}

/* One block for SCAN_PIECE items: each is left added up within the block. */
template <typename PIECE, typename SOURCE>
static __global__ void __launch_bounds__(SCAN_THREADS) scan_pieces(SOURCE from, PIECE *totals)
{
    __shared__ PIECE parts[SCAN_THREADS];
    const int64_t first = ((int64_t)blockIdx.x * SCAN_THREADS + threadIdx.x) * SCAN_ITEMS;
    PIECE mine[SCAN_ITEMS];
#pragma unroll
    for (int i = 0; i < SCAN_ITEMS; i++) {
        const PIECE item = from.item(first + i);
        mine[i] = i == 0 ? item : join(mine[i > 0 ? i - 1 : 0], item);
    }
    parts[threadIdx.x] = mine[SCAN_ITEMS - 1];
    scan_block(parts);
    if (threadIdx.x == SCAN_THREADS - 1) {
        totals[blockIdx.x] = parts[threadIdx.x];
    }
#pragma unroll
    for (int i = 0; i < SCAN_ITEMS; i++) {
        if (first + i < from.count) {
            from.leave(first + i, threadIdx.x > 0 ? join(parts[threadIdx.x - 1], mine[i]) : mine[i]);
        }
    }
}

/* totals[i] <- all up to and with it; one block. */
template <typename PIECE>
static __global__ void __launch_bounds__(SCAN_THREADS) scan_totals(int64_t count, PIECE *totals)
{
    __shared__ PIECE parts[SCAN_THREADS];
    const int64_t each = (count + SCAN_THREADS - 1) / SCAN_THREADS;
    const int64_t first = each * threadIdx.x;
    const int64_t end = first + each < count ? first + each : count;
    PIECE sum = first < count ? totals[first] : totals[count - 1].emptied();
    for (int64_t i = first + 1; i < end; i++) {
        sum = join(sum, totals[i]);
    }
    parts[threadIdx.x] = sum;
    scan_block(parts);
    for (int64_t i = first; i < end; i++) {
        sum = i == first ? totals[i] : join(sum, totals[i]);
        totals[i] = threadIdx.x > 0 ? join(parts[threadIdx.x - 1], sum) : sum;
    }
}

/* A sum that was left at place `at`, with what lies before its piece. */
template <typename PIECE>
static __device__ PIECE scan_whole(const PIECE &mine, int64_t at, const PIECE *totals)
{
    return at >= SCAN_PIECE ? join(totals[at / SCAN_PIECE - 1], mine) : mine;
}

/* totals: [cuda_blocks(from.count, SCAN_PIECE)]. */
template <typename PIECE, typename SOURCE>
static nadir_status scan(const cuda_engine *engine, nadir_context *context, const SOURCE &from, PIECE *totals)
{
    nadir_status status = NADIR_OK;
    const unsigned pieces = cuda_blocks(from.count, SCAN_PIECE);
    scan_pieces<PIECE, SOURCE><<<pieces, SCAN_THREADS>>>(from, totals);
    if (pieces > 1) {
        scan_totals<PIECE><<<1, SCAN_THREADS>>>(pieces, totals);
    }
    CUDA_LAUNCHED(engine, context);
cleanup:
    return status;
}

#endif
