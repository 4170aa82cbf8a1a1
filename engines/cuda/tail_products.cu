/*
 * tail_products.cu: products with an off-support tail, by sums along an order; see model/perturbed.h.
 *
 * What stands at z, z rising, comes as pieces (plain, weighted, z at the end), plain = sum of y and weighted
 * = sum of (z - z_j) y_j; of one after another
 *
 *     plain = plain_a + plain_b,      weighted = weighted_b + (weighted_a + (z_b - z_a) plain_a),
 *
 * in which nothing cancels.
 *
 * The transposed product gives y(state at j) the sum over segments that end at i >= j of last + slope (x_i -
 * x_j). Segments are taken by falling place i: with z = -x, `slope` for plain and `last` for weighted these
 * are the same sums. They run over segments, not places, since all of them may end at one place.
 */
#include "offsupport_tail.h"
#include "reduce.h"
#include "scan.h"

enum { THREADS = 256 };

template <typename NUMBER> struct piece {
    NUMBER plain, weighted;
    double z;
    __device__ piece emptied() const
    {
        return {NUMBER{}, NUMBER{}, z};
    }
};

template <typename NUMBER> struct along_sum {
    NUMBER plain, weighted;
};

template <typename NUMBER>
static __device__ piece<NUMBER> join(const piece<NUMBER> &before, const piece<NUMBER> &after)
{
    return {before.plain + after.plain,
            after.weighted + (before.weighted + (after.z - before.z) * before.plain), after.z};
}

/* A sum that was left at place `at` of its order, z there. */
template <typename NUMBER>
static __device__ piece<NUMBER> whole_sum(const along_sum<NUMBER> &sum, double z, int64_t at,
                                          const piece<NUMBER> *totals)
{
    const piece<NUMBER> mine = {sum.plain, sum.weighted, z};
    return scan_whole(mine, at, totals);
}

/* y along the order. */
template <typename NUMBER> struct values_along {
    int64_t count;
    const double *x;
    const int32_t *order;
    const NUMBER *y;
    along_sum<NUMBER> *sums; /* [count] */

    __device__ piece<NUMBER> item(int64_t i) const
    {
        const bool here = i < count;
        const int64_t place = here ? i : count - 1;
        return {here ? __ldg(y + order[place]) : NUMBER{}, NUMBER{}, x[place]};
    }
    __device__ void leave(int64_t i, const piece<NUMBER> &sum) const
    {
        sums[i] = {sum.plain, sum.weighted};
    }
};

/* Segments by falling place of their end, with scale y; the sums are left where the first segment of a place is
 * added, at that place. */
template <typename NUMBER> struct segments_back {
    int64_t count;
    const int64_t *starts;  /* [states + 1] segments by place */
    const int32_t *columns; /* [count] places */
    const int32_t *states;  /* [count] */
    const double *last, *slope;
    const double *x; /* [states] along the order */
    double scale;
    const NUMBER *y;
    along_sum<NUMBER> *sums; /* [states] */

    __device__ piece<NUMBER> item(int64_t i) const
    {
        const int64_t segment = i < count ? count - 1 - i : 0;
        const NUMBER value = i < count ? scale * __ldg(y + states[segment]) : NUMBER{};
        return {slope[segment] * value, last[segment] * value, -x[columns[segment]]};
    }
    __device__ void leave(int64_t i, const piece<NUMBER> &sum) const
    {
        const int64_t segment = count - 1 - i;
        if (starts[columns[segment]] == segment) {
            sums[columns[segment]] = {sum.plain, sum.weighted};
        }
    }
};

/* y(s) += scale times the sum over segments of last plain + slope weighted */
template <typename NUMBER> static __global__ void add_segments(cuda_tail tail, double scale, NUMBER *y)
{
    const along_sum<NUMBER> *sums = (const along_sum<NUMBER> *)tail.sums;
    const piece<NUMBER> *totals = (const piece<NUMBER> *)tail.totals;
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s >= tail.states || tail.starts[s] == tail.starts[s + 1]) {
        return;
    }
    NUMBER sum = {};
    for (int64_t i = tail.starts[s]; i < tail.starts[s + 1]; i++) {
        const int32_t at = tail.columns[i];
        const piece<NUMBER> along = whole_sum(sums[at], tail.x[at], at, totals);
        sum = sum + (tail.last[i] * along.plain + tail.slope[i] * along.weighted);
    }
    y[s] = y[s] + scale * sum;
}

/* y(state at j) += the sum over segments that end at j or later; the first of these has it. */
template <typename NUMBER> static __global__ void add_transposed(cuda_tail tail, NUMBER *y)
{
    const along_sum<NUMBER> *sums = (const along_sum<NUMBER> *)tail.sums;
    const piece<NUMBER> *totals = (const piece<NUMBER> *)tail.totals;
    const int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (j >= tail.states || tail.transpose.starts[j] >= tail.count) {
        return;
    }
    const int64_t segment = tail.transpose.starts[j];
    const int32_t at = tail.transpose_columns[segment];
    const piece<NUMBER> sum = whole_sum(sums[at], -tail.x[at], tail.count - 1 - segment, totals);
    const int32_t state = tail.order[j];
    y[state] = y[state] + (sum.weighted + (tail.x[at] - tail.x[j]) * sum.plain);
}

nadir_status cuda_tail_make_room(cuda_tail *tail, nadir_context *context)
{
    nadir_status status = NADIR_OK;
    const int64_t longest = tail->states > tail->count ? tail->states : tail->count;
    CUDA_CHECK(cuda_new(&tail->memory, context, tail->states, (along_sum<double2> **)&tail->sums));
    CUDA_CHECK(
        cuda_new(&tail->memory, context, cuda_blocks(longest, SCAN_PIECE), (piece<double2> **)&tail->totals));
cleanup:
    return status;
}

template <typename NUMBER>
static nadir_status add(cuda_tail *tail, nadir_context *context, bool transposed, double scale,
                        const NUMBER *x, NUMBER *y)
{
    nadir_status status = NADIR_OK;
    const unsigned blocks = cuda_blocks(tail->states, THREADS);
    along_sum<NUMBER> *sums = (along_sum<NUMBER> *)tail->sums;
    piece<NUMBER> *totals = (piece<NUMBER> *)tail->totals;
    if (tail->count == 0) {
        return NADIR_OK;
    }
    if (!transposed) {
        const values_along<NUMBER> from = {tail->states, tail->x, tail->order, x, sums};
        CUDA_CHECK(scan(tail->engine, context, from, totals));
        add_segments<NUMBER><<<blocks, THREADS>>>(*tail, scale, y);
        CUDA_LAUNCHED(tail->engine, context);
        return NADIR_OK;
    }
    if (tail->transpose.starts == NULL) {
        CUDA_CHECK(cuda_tail_transpose(tail, context));
    }
    {
        const cuda_rows *transpose = &tail->transpose;
        const segments_back<NUMBER> from = {tail->count,
                                            transpose->starts,
                                            tail->transpose_columns,
                                            transpose->columns,
                                            transpose->values,
                                            tail->transpose_slope,
                                            tail->x,
                                            scale,
                                            x,
                                            sums};
        CUDA_CHECK(scan(tail->engine, context, from, totals));
        add_transposed<NUMBER><<<blocks, THREADS>>>(*tail, y);
        CUDA_LAUNCHED(tail->engine, context);
    }
cleanup:
    return status;
}

nadir_status cuda_tail_add(cuda_tail *tail, nadir_context *context, bool transposed, double scale,
                           const double *x, double *y)
{
    return add(tail, context, transposed, scale, x, y);
}

nadir_status cuda_tail_add(cuda_tail *tail, nadir_context *context, bool transposed, double scale,
                           const double2 *x, double2 *y)
{
    return add(tail, context, transposed, scale, x, y);
}

/*
 * Of a number that is joined L times `plain` has L roundings. `weighted` has two more with every join, or
 * those of `plain` before it with its difference, product and two sums: at most 2 L + 2. L is SCAN_ITEMS within a
 * thread, one for each doubling in a block and one for what lies before the thread; the same over the totals,
 * of which a thread has several; and one for the reader. Then last, slope and scale, and the sum over the
 * segments of a state or what is between a place and the next segment.
 */
double cuda_tail_roundings(const void *matrix, bool transposed)
{
    const cuda_tail *tail = ((const cuda_matrix *)matrix)->tail;
    if (tail == NULL) {
        return 0;
    }
    const int64_t pieces = cuda_blocks(transposed ? tail->count : tail->states, SCAN_PIECE);
    const int64_t each = (pieces + SCAN_THREADS - 1) / SCAN_THREADS;
    const int64_t joins = SCAN_ITEMS + each + 2 * (SCAN_DOUBLINGS + 1) + 1;
    return (double)(2 * joins + 2 + (transposed ? 0 : tail->most) + 12);
}
