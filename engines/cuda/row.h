/*
 * row.h: what one row of a linear step is to those who solve it: quadratic.h, row_capped.h and row_power.h.
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

#ifdef __CUDACC__
#define ROW_PART __device__
#else
#define ROW_PART
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

#endif
