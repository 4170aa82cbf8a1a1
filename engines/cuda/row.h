/*
 * row.h: one row of the linear minimisation oracle, as row_l2.h, row_linf.h and row_lp.h solve it.
 *
 * A row is one thread's, or several threads share it: all of them run the same code, each with entries of its
 * own. It is anything with
 *
 *     each(visit)          calls visit(Phat, x, place) for the successors that are allowed, of this thread;
 *                          x is measured from the smallest of the row
 *     total(sums)          what the threads have added up, everybody's: `join` adds that of one more
 *     mean()               of x
 *     write(to, number)    to[place] <- number(Phat, x, place), 0 where a successor is not allowed
 *     FEW                  whether it has so few entries that each can be gone through for each
 *
 * Plain C++, so that it can be run on a processor, too.
 */
#ifndef NADIR_ENGINES_CUDA_ROW_H
#define NADIR_ENGINES_CUDA_ROW_H

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define ROW_PART      __device__
#define NADIR_FORMULA static __host__ __device__ inline
#else
#define ROW_PART
#define NADIR_FORMULA static inline
#endif
#define ROW_CODE static ROW_PART inline

struct row_sum {
    double sum;
    ROW_PART void join(const row_sum &other)
    {
        sum += other.sum;
    }
};

struct row_largest {
    double largest;
    ROW_PART void join(const row_largest &other)
    {
        largest = fmax(largest, other.largest);
    }
};

/* The double of such bits; those of numbers from 0 on are in the order of the numbers. */
NADIR_FORMULA double double_of_bits(int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

NADIR_FORMULA int64_t bits_of_double(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* p = 1: the key of an entry, rounded, never fused; and the share of it that moves at a threshold. */
ROW_CODE double l1_key(double u, double x)
{
#ifdef __CUDA_ARCH__
    return __dmul_rn(u, x);
#else
    return u * x;
#endif
}

ROW_CODE double l1_part(double key, double x, double threshold, double share)
{
    return key > threshold ? 1 : x > 0 && key == threshold ? share : 0;
}

/* What moves, and the place of the first entry of the smallest x, which takes it; INT64_MAX: none. */
struct l1_moves {
    double moved;
    int64_t taker;
    ROW_PART void join(const l1_moves &other)
    {
        moved += other.moved;
        taker = other.taker < taker ? other.taker : taker;
    }
};

template <typename ROW>
ROW_CODE l1_moves l1_write(const ROW &row, double u, double threshold, double share, double *to)
{
    l1_moves all = {0, INT64_MAX};
    row.each([&](double phat, double x, int64_t i) {
        all.join({l1_part(l1_key(u, x), x, threshold, share) * phat, x == 0 ? i : INT64_MAX});
    });
    all = row.total(all);
    row.write(to, [&](double phat, double x, int64_t i) {
        const double left = phat - l1_part(l1_key(u, x), x, threshold, share) * phat;
        return i == all.taker ? left + all.moved : left;
    });
    return all;
}

#endif
