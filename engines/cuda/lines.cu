/*
 * lines.cu: products with lines, by sums along an order; see kernel/prefix_sums.h.
 *
 * What stands at z, z rising, comes as pieces (plain, weighted, z at the end), plain = sum of y and weighted
 * = sum of (z - z_j) y_j; of one after another
 *
 *     plain = plain_a + plain_b,      weighted = weighted_b + (weighted_a + (z_b - z_a) plain_a),
 *
 * in which nothing cancels. Threads add up ITEMS numbers, blocks their threads, and one block the totals of
 * all blocks; the reader joins what a block has with what lies before it. All this depends on the length
 * alone: the same bits every time.
 *
 * The transposed product gives y(state at j) the sum over lines that end at i >= j of last + slope (x_i -
 * x_j). Lines are taken by falling place i: with z = -x, `slope` for plain and `last` for weighted these are
 * the same sums. They run over lines, not places, since all of them may end at one place.
 */
#include "lines.h"

#include "pairs.h"

enum { THREADS = 256, DOUBLINGS = 8, ITEMS = 4, PIECE = THREADS * ITEMS };

template <typename NUMBER> struct piece {
    NUMBER plain, weighted;
    double z;
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

/* parts[i] <- all up to and with it, over the threads of a block. */
template <typename NUMBER> static __device__ void scan_block(piece<NUMBER> *parts)
{
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        const bool has = (int)threadIdx.x >= step;
        piece<NUMBER> mine = parts[threadIdx.x];
        if (has) {
            mine = join(parts[threadIdx.x - step], mine);
        }
        __syncthreads();
        parts[threadIdx.x] = mine;
        __syncthreads();
    }
}

/* Numbers in order, one block for PIECE of them: what `from` has at each is left there added up within the
 * block. */
template <typename NUMBER, typename SOURCE>
static __global__ void __launch_bounds__(THREADS) scan_pieces(SOURCE from, piece<NUMBER> *totals)
{
    __shared__ piece<NUMBER> parts[THREADS];
    const int64_t first = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * ITEMS;
    piece<NUMBER> mine[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const bool here = first + i < from.count;
        piece<NUMBER> item = from.item(here ? first + i : from.count - 1);
        if (!here) { /* nothing, where the last one stands */
            item.plain = NUMBER{};
            item.weighted = NUMBER{};
        }
        mine[i] = i == 0 ? item : join(mine[i > 0 ? i - 1 : 0], item);
    }
    parts[threadIdx.x] = mine[ITEMS - 1];
    scan_block(parts);
    if (threadIdx.x == THREADS - 1) {
        totals[blockIdx.x] = parts[threadIdx.x];
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        if (first + i < from.count) {
            from.leave(first + i, threadIdx.x > 0 ? join(parts[threadIdx.x - 1], mine[i]) : mine[i]);
        }
    }
}

/* totals[i] <- all up to and with it; one block. */
template <typename NUMBER>
static __global__ void __launch_bounds__(THREADS) scan_totals(int64_t count, piece<NUMBER> *totals)
{
    __shared__ piece<NUMBER> parts[THREADS];
    const int64_t each = (count + THREADS - 1) / THREADS;
    const int64_t first = each * threadIdx.x;
    const int64_t end = first + each < count ? first + each : count;
    piece<NUMBER> sum = totals[first < count ? first : count - 1];
    if (first >= count) {
        sum.plain = NUMBER{};
        sum.weighted = NUMBER{};
    }
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

/* A sum that scan_pieces has left at place `at` of its order, z there, with what lies before its piece. */
template <typename NUMBER>
static __device__ piece<NUMBER> whole_sum(const along_sum<NUMBER> &sum, double z, int64_t at,
                                          const piece<NUMBER> *totals)
{
    const piece<NUMBER> mine = {sum.plain, sum.weighted, z};
    return at >= PIECE ? join(totals[at / PIECE - 1], mine) : mine;
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
        return {__ldg(y + order[i]), NUMBER{}, x[i]};
    }
    __device__ void leave(int64_t i, const piece<NUMBER> &sum) const
    {
        sums[i] = {sum.plain, sum.weighted};
    }
};

struct ones_along {
    int64_t count;
    const double *x;
    along_sum<double> *sums; /* [count] */

    __device__ piece<double> item(int64_t i) const
    {
        return {1, 0, x[i]};
    }
    __device__ void leave(int64_t i, const piece<double> &sum) const
    {
        sums[i] = {sum.plain, sum.weighted};
    }
};

/* Lines by falling place of their end, with scale y; the sums are left where the first line of a place is
 * added, at that place. */
template <typename NUMBER> struct lines_back {
    int64_t count;
    const int64_t *starts;  /* [states + 1] lines by place */
    const int32_t *columns; /* [count] places */
    const int32_t *states;  /* [count] */
    const double *last, *slope;
    const double *x; /* [states] along the order */
    double scale;
    const NUMBER *y;
    along_sum<NUMBER> *sums; /* [states] */

    __device__ piece<NUMBER> item(int64_t i) const
    {
        const int64_t line = count - 1 - i;
        const NUMBER value = scale * __ldg(y + states[line]);
        return {slope[line] * value, last[line] * value, -x[columns[line]]};
    }
    __device__ void leave(int64_t i, const piece<NUMBER> &sum) const
    {
        const int64_t line = count - 1 - i;
        if (starts[columns[line]] == line) {
            sums[columns[line]] = {sum.plain, sum.weighted};
        }
    }
};

/* y(s) += scale times the sum over lines of last plain + slope weighted */
template <typename NUMBER> static __global__ void add_lines(cuda_lines of, double scale, NUMBER *y)
{
    const along_sum<NUMBER> *sums = (const along_sum<NUMBER> *)of.sums;
    const piece<NUMBER> *totals = (const piece<NUMBER> *)of.totals;
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s >= of.states || of.starts[s] == of.starts[s + 1]) {
        return;
    }
    NUMBER sum = {};
    for (int64_t i = of.starts[s]; i < of.starts[s + 1]; i++) {
        const int32_t at = of.columns[i];
        const piece<NUMBER> along = whole_sum(sums[at], of.x[at], at, totals);
        sum = sum + (of.last[i] * along.plain + of.slope[i] * along.weighted);
    }
    y[s] = y[s] + scale * sum;
}

/* y(state at j) += the sum over lines that end at j or later; the first of these has it. */
template <typename NUMBER> static __global__ void spread_lines(cuda_lines of, NUMBER *y)
{
    const along_sum<NUMBER> *sums = (const along_sum<NUMBER> *)of.sums;
    const piece<NUMBER> *totals = (const piece<NUMBER> *)of.totals;
    const int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (j >= of.states || of.turned.starts[j] >= of.count) {
        return;
    }
    const int64_t line = of.turned.starts[j];
    const int32_t at = of.turned_columns[line];
    const piece<NUMBER> sum = whole_sum(sums[at], -of.x[at], of.count - 1 - line, totals);
    const int32_t state = of.order[j];
    y[state] = y[state] + (sum.weighted + (of.x[at] - of.x[j]) * sum.plain);
}

/* moments[i] <- the weighted sum of ones there. */
static __global__ void write_moments(cuda_lines of, double *moments)
{
    const along_sum<double> *sums = (const along_sum<double> *)of.sums;
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < of.states) {
        moments[i] = whole_sum(sums[i], of.x[i], i, (const piece<double> *)of.totals).weighted;
    }
}

double cuda_lines_room(int64_t count)
{
    return (double)cuda_blocks(count, PIECE) * sizeof(piece<double2>);
}

template <typename NUMBER, typename SOURCE>
static nadir_status scan(const cuda_lines *lines, nadir_context *context, const SOURCE &from)
{
    nadir_status status = NADIR_OK;
    const unsigned pieces = cuda_blocks(from.count, PIECE);
    piece<NUMBER> *totals = (piece<NUMBER> *)lines->totals;
    scan_pieces<NUMBER, SOURCE><<<pieces, THREADS>>>(from, totals);
    if (pieces > 1) {
        scan_totals<NUMBER><<<1, THREADS>>>(pieces, totals);
    }
    CUDA_LAUNCHED(lines->engine, context);
cleanup:
    return status;
}

template <typename NUMBER>
static nadir_status add(cuda_lines *lines, nadir_context *context, bool transposed, double scale,
                        const NUMBER *x, NUMBER *y)
{
    nadir_status status = NADIR_OK;
    const unsigned blocks = cuda_blocks(lines->states, THREADS);
    along_sum<NUMBER> *sums = (along_sum<NUMBER> *)lines->sums;
    if (lines->count == 0) {
        return NADIR_OK;
    }
    if (!transposed) {
        const values_along<NUMBER> from = {lines->states, lines->x, lines->order, x, sums};
        CUDA_CHECK(scan<NUMBER>(lines, context, from));
        add_lines<NUMBER><<<blocks, THREADS>>>(*lines, scale, y);
        CUDA_LAUNCHED(lines->engine, context);
        return NADIR_OK;
    }
    if (lines->turned.starts == NULL) {
        CUDA_CHECK(cuda_lines_turn(lines, context));
    }
    {
        const cuda_rows *turned = &lines->turned;
        const lines_back<NUMBER> from = {lines->count,
                                         turned->starts,
                                         lines->turned_columns,
                                         turned->columns,
                                         turned->values,
                                         lines->turned_slope,
                                         lines->x,
                                         scale,
                                         x,
                                         sums};
        CUDA_CHECK(scan<NUMBER>(lines, context, from));
        spread_lines<NUMBER><<<blocks, THREADS>>>(*lines, y);
        CUDA_LAUNCHED(lines->engine, context);
    }
cleanup:
    return status;
}

nadir_status cuda_lines_add(cuda_lines *lines, nadir_context *context, bool transposed, double scale,
                            const double *x, double *y)
{
    return add(lines, context, transposed, scale, x, y);
}

nadir_status cuda_lines_add_pair(cuda_lines *lines, nadir_context *context, bool transposed, double scale,
                                 const double2 *x, double2 *y)
{
    return add(lines, context, transposed, scale, x, y);
}

nadir_status cuda_lines_moments(const cuda_lines *lines, nadir_context *context, double *moments)
{
    nadir_status status = NADIR_OK;
    const ones_along from = {lines->states, lines->x, (along_sum<double> *)lines->sums};
    CUDA_CHECK(scan<double>(lines, context, from));
    write_moments<<<cuda_blocks(lines->states, THREADS), THREADS>>>(*lines, moments);
    CUDA_LAUNCHED(lines->engine, context);
cleanup:
    return status;
}

/*
 * Of a number that is joined L times `plain` has L roundings. `weighted` has two more with every join, or
 * those of `plain` before it with its difference, product and two sums: at most 2 L + 2. L is ITEMS within a
 * thread, one for each doubling in a block and one for what lies before the thread; the same over the totals,
 * of which a thread has several; and one for the reader. Then last, slope and scale, and the sum over the
 * lines of a state or what is between a place and the next line.
 */
double cuda_lines_roundings(const void *matrix, bool transposed)
{
    const cuda_lines *lines = ((const cuda_matrix *)matrix)->lines;
    if (lines == NULL) {
        return 0;
    }
    const int64_t pieces = cuda_blocks(transposed ? lines->count : lines->states, PIECE);
    const int64_t each = (pieces + THREADS - 1) / THREADS;
    const int64_t joins = ITEMS + each + 2 * (DOUBLINGS + 1) + 1;
    return (double)(2 * joins + 2 + (transposed ? 0 : lines->most) + 12);
}
