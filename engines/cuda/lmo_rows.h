/*
 * lmo_rows.h: passes over the rows of a model: a thread takes a row of a sparse model, a block one of a dense
 * model. Rows are those of row.h.
 */
#ifndef NADIR_ENGINES_CUDA_LMO_ROWS_H
#define NADIR_ENGINES_CUDA_LMO_ROWS_H

#include "lmo.h"
#include "reduce.h"
#include "row.h"

enum {
    THREADS = CUDA_REDUCE_THREADS,
    WARPS = THREADS / 32,
    BLOCKS = CUDA_PARTIALS,
    SHORT = 8 /* entries of a row that are kept in registers */
};

/* What a block leaves of two sums. */
static __device__ inline void leave_sums(double2 mine, double *partials)
{
    cuda_leave(false, mine.x, partials);
    cuda_leave(false, mine.y, partials + CUDA_PARTIALS);
}

/* Sums of the threads of a block, everybody's. */
template <typename SUMS> static __device__ SUMS total_of_block(SUMS mine)
{
    enum { KINDS = sizeof(SUMS) / sizeof(double) };
    __shared__ SUMS parts[WARPS];
    for (int step = 16; step > 0; step /= 2) {
        double numbers[KINDS];
        SUMS other;
        memcpy(numbers, &mine, sizeof mine);
#pragma unroll
        for (int kind = 0; kind < KINDS; kind++) {
            numbers[kind] = __shfl_down_sync(0xffffffffu, numbers[kind], step);
        }
        memcpy(&other, numbers, sizeof other);
        mine.join(other);
    }
    if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    SUMS all = parts[0];
#pragma unroll
    for (int warp = 1; warp < WARPS; warp++) {
        all.join(parts[warp]);
    }
    __syncthreads();
    return all;
}

/* What a row of one thread has besides `each`. */
template <typename ROW> struct thread_row {
    template <typename SUMS> __device__ SUMS total(const SUMS &mine) const
    {
        return mine;
    }
    __device__ double mean() const
    {
        double sum = 0;
        double count = 0;
        own().each([&](double, double x, int64_t) {
            sum += x;
            count += 1;
        });
        return sum / count;
    }
    template <typename NUMBER> __device__ void write(double *to, NUMBER number) const
    {
        own().each([&](double phat, double x, int64_t i) { to[i] = number(phat, x, i); });
    }
    __device__ const ROW &own() const
    {
        return *static_cast<const ROW *>(this);
    }
};

/* all: every state is allowed, so that the smallest x is 0. */
struct short_row : thread_row<short_row> {
    static constexpr bool FEW = true;
    int64_t start;
    int count;
    double p[SHORT], x[SHORT];
    __device__ short_row(const cuda_rows &rows, int64_t row, const double *x_of, bool all = false)
        : start(rows.starts[row])
    {
        double base = all ? 0 : 1;
        count = (int)(rows.starts[row + 1] - start);
#pragma unroll
        for (int i = 0; i < SHORT; i++) {
            p[i] = i < count ? rows.values[start + i] : 0;
            x[i] = i < count ? __ldg(x_of + rows.columns[start + i]) : 0;
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

struct long_row : thread_row<long_row> {
    static constexpr bool FEW = false;
    int64_t start, count;
    const double *p, *x;
    const int32_t *columns;
    double base;
    __device__ long_row(const cuda_rows &rows, int64_t row, const double *x_of, bool all = false)
        : start(rows.starts[row]), count(rows.starts[row + 1] - rows.starts[row]), p(rows.values + start),
          x(x_of), columns(rows.columns + start), base(all ? 0 : 1)
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

/* The smallest x, and what the mean is made of. */
struct row_extent {
    double least, sum, count;
    __device__ void join(const row_extent &other)
    {
        least = fmin(least, other.least);
        sum += other.sum;
        count += other.count;
    }
};

/* A dense row that the threads of a block share; every state is allowed, or those of positive Phat. */
template <bool EVERY> struct block_row {
    static constexpr bool FEW = false;
    int64_t start, count;
    const double *p, *x;
    double base, middle;
    /* mean: of x over all states. */
    __device__ block_row(const cuda_rows &rows, int64_t row, const double *x_of, double mean)
        : start(row * rows.states), count(rows.states), p(rows.dense + start), x(x_of), base(0), middle(mean)
    {
        if constexpr (!EVERY) {
            row_extent all = {1, 0, 0};
            each([&](double, double other, int64_t) { all.join({other, other, 1}); });
            all = total(all);
            base = all.least;
            middle = all.sum / all.count - all.least;
        }
    }
    template <typename VISIT> __device__ void each(VISIT visit) const
    {
        for (int64_t i = threadIdx.x; i < count; i += THREADS) {
            if (EVERY || p[i] > 0) {
                visit(p[i], x[i] - base, i);
            }
        }
    }
    template <typename SUMS> __device__ SUMS total(const SUMS &mine) const
    {
        return total_of_block(mine);
    }
    __device__ double mean() const
    {
        return middle;
    }
    template <typename NUMBER> __device__ void write(double *to, NUMBER number) const
    {
        for (int64_t i = threadIdx.x; i < count; i += THREADS) {
            to[i] = EVERY || p[i] > 0 ? number(p[i], x[i] - base, i) : 0;
        }
    }
};

static __device__ inline double scale_of(const double *scales, int64_t row)
{
    return scales != NULL ? scales[row] : 1;
}

/* A row of a sparse model that stays as it is. */
static __device__ inline void copy_row(const cuda_rows &rows, int64_t row, double *values)
{
    for (int64_t i = rows.starts[row]; i < rows.starts[row + 1]; i++) {
        values[i] = rows.values[i];
    }
}

/* What passes over rows have in common. */
struct row_pass {
    cuda_rows rows;
    const double *weights, *scales, *x;
    double unit; /* the largest alpha w */
    double mean; /* of x; dense models */
    bool all;    /* every state is allowed */
};

/*
 * Rows by thread, and rows by block: each(visit) calls visit(rows, row, alpha, u), u = alpha w / unit, for
 * every row that is the thread's, or its block's; rows.open(row, work) then calls work(row of row.h). One
 * thread of those that share a row is_first.
 */
struct thread_rows : row_pass {
    template <typename VISIT> __device__ void each(VISIT visit) const
    {
        for (int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x; row < rows.rows;
             row += (int64_t)BLOCKS * THREADS) {
            const double alpha = scale_of(scales, row);
            visit(*this, row, alpha, alpha * weights[row] / unit);
        }
    }
    template <typename WORK> __device__ void open(int64_t row, WORK work) const
    {
        if (rows.starts[row + 1] - rows.starts[row] <= SHORT) {
            work(short_row(rows, row, x, all));
        } else {
            work(long_row(rows, row, x, all));
        }
    }
    __device__ bool is_first() const
    {
        return true;
    }
    __device__ void copy(int64_t row, double *values) const
    {
        copy_row(rows, row, values);
    }
};

template <bool EVERY> struct block_rows : row_pass {
    template <typename VISIT> __device__ void each(VISIT visit) const
    {
        for (int64_t row = blockIdx.x; row < rows.rows; row += BLOCKS) {
            const double alpha = scale_of(scales, row);
            visit(*this, row, alpha, alpha * weights[row] / unit);
        }
    }
    template <typename WORK> __device__ void open(int64_t row, WORK work) const
    {
        work(block_row<EVERY>(rows, row, x, mean));
    }
    __device__ bool is_first() const
    {
        return threadIdx.x == 0;
    }
    __device__ void copy(int64_t row, double *values) const
    {
        for (int64_t i = row * rows.states + threadIdx.x; i < (row + 1) * rows.states; i += THREADS) {
            values[i] = rows.dense[i];
        }
    }
};

/* Calls launch(rows) with the rows of a step. */
template <typename LAUNCH> static void over_rows(const cuda_lmo *lmo, LAUNCH launch)
{
    const row_pass pass = {*lmo->rows,       lmo->weights, lmo->scales, lmo->x,
                           lmo->result.unit, lmo->mean,    lmo->simplex};
    if (lmo->rows->dense == NULL) {
        launch(thread_rows{pass});
    } else if (lmo->simplex) {
        launch(block_rows<true>{pass});
    } else {
        launch(block_rows<false>{pass});
    }
}

/* Writes a row, work(row of row.h, its values), or leaves it as it is. */
template <typename ROWS, typename WORK>
static __device__ void write_row(const ROWS &rows, int64_t row, bool moves, double *values, bool *nominal,
                                 WORK work)
{
    if (rows.is_first()) {
        nominal[row] = !moves;
    }
    if (moves) {
        rows.open(row, [&](const auto &at) { work(at, values + at.start); });
    } else {
        rows.copy(row, values);
    }
}

#endif
