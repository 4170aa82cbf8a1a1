/*
 * spread.cu: linear steps of sparse models on the domain simplex, where states that a row does not have get
 * something, too: p = 2, 1 and infinity; see row_spread.h. A thread takes a row, as in steps.cu; p = 1 shares
 * all but the rows with thresholds.cu. The rows are those of spread numbers: a line over the first states in
 * the order of x, and one more state.
 */
#include "rowwise.h"
#include "spread.h"

#include <math_constants.h>

#include <cmath>
#include <cstdlib>

static double levels_bytes(const cuda_step *step)
{
    return (double)step->rows->rows * sizeof(double);
}

nadir_status cuda_spread_open(cuda_step *step, nadir_context *context)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = step->rows->engine;
    step->spread = (cuda_spread *)calloc(1, sizeof *step->spread);
    if (step->spread == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    if (step->p == 2) {
        CUDA_CHECK(cuda_take(engine, context, "the rows of linear steps", levels_bytes(step),
                             (void **)&step->spread->levels));
    }
    CUDA_CHECK(cuda_sorted_open(engine, context, step->rows->states, step->p, step->spread));
cleanup:
    return status;
}

void cuda_spread_close(cuda_step *step)
{
    if (step->spread != NULL) {
        cuda_give(step->rows->engine, levels_bytes(step), step->spread->levels);
        cuda_sorted_close(step->rows->engine, step->spread);
        free(step->spread);
        step->spread = NULL;
    }
}

nadir_status cuda_spread_look(const cuda_step *step, nadir_context *context)
{
    return cuda_sorted_make(step->rows->engine, context, step->x, step->spread);
}

static __global__ void __launch_bounds__(THREADS)
    pass_rows(cuda_rows of, spread_order in, quadratic_pass what, const double *weights, const double *scales,
              const double *x, double unit, double kappa, double *levels, double *partials)
{
    const double lowest = what == SETTLE ? spread_lowest(in) : 0;
    double2 all = {0, 0};
    for (int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x; row < of.rows;
         row += (int64_t)BLOCKS * THREADS) {
        const double alpha = scale_of(scales, row);
        const double weight = weights[row];
        const double share = alpha * weight / unit;
        if (!(share > 0)) {
            continue;
        }
        const double2 part = of.starts[row + 1] - of.starts[row] <= SHORT
                                 ? spread_pass(in, short_row(of, row, x, true), what, weight, alpha, share,
                                               kappa, lowest, levels + row)
                                 : spread_pass(in, long_row(of, row, x, true), what, weight, alpha, share,
                                               kappa, lowest, levels + row);
        all.x += part.x;
        all.y += part.y;
    }
    all = over_block(all);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = all.x;
        partials[CUDA_PARTIALS + blockIdx.x] = all.y;
    }
}

void cuda_spread_pass(const cuda_step *step, int what, double kappa)
{
    pass_rows<<<BLOCKS, THREADS>>>(*step->rows, step->spread->in, (quadratic_pass)what, step->weights,
                                   step->scales, step->x, step->answer.unit, kappa, step->spread->levels,
                                   step->rows->engine->partials);
}

/* A row of p = infinity with the places of its entries: calls visit(row, rank). */
template <typename VISIT>
static __device__ void with_places(const cuda_rows &of, const spread_order &in, int64_t row, const double *x,
                                   VISIT visit)
{
    const int64_t start = of.starts[row];
    const int64_t count = of.starts[row + 1] - start;
    if (count > SHORT) {
        const int32_t *columns = of.columns + start;
        visit(long_row(of, row, x, true), [&](int64_t i) { return (int64_t)in.rank[columns[i]]; });
        return;
    }
    int32_t places[SHORT];
#pragma unroll
    for (int i = 0; i < SHORT; i++) {
        places[i] = i < count ? __ldg(in.rank + of.columns[start + i]) : 0;
    }
    visit(short_row(of, row, x, true), [&](int64_t i) { return (int64_t)places[i]; });
}

/* As solve_rows of capped.cu. */
static __global__ void __launch_bounds__(THREADS)
    solve_rows(cuda_rows of, spread_order in, const double *weights, const double *scales, const double *x,
               double unit, double beta, double *gains, double *partials)
{
    double2 all = {0, 0};
    double largest = 0;
    for (int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x; row < of.rows;
         row += (int64_t)BLOCKS * THREADS) {
        const double alpha = scale_of(scales, row);
        const double u = alpha * weights[row] / unit;
        capped_part part = {};
        if (u > 0) {
            with_places(of, in, row, x, [&](const auto &at, const auto &rank) {
                part = spread_capped(in, at, alpha * beta, spread_pivot(in, at, alpha * beta, rank), rank);
            });
            all.x += weights[row] * part.gain;
            all.y += u * part.size;
            largest = fmax(largest, part.largest / alpha);
        }
        gains[row] = part.gain;
    }
    all = over_block(all);
    largest = block_largest(largest);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = all.x;
        partials[CUDA_PARTIALS + blockIdx.x] = all.y;
        partials[2 * CUDA_PARTIALS + blockIdx.x] = largest;
    }
}

void cuda_spread_capped(const cuda_step *step, double beta)
{
    solve_rows<<<BLOCKS, THREADS>>>(*step->rows, step->spread->in, step->weights, step->scales, step->x,
                                    step->answer.unit, beta, step->norms, step->rows->engine->partials);
}

/* What is written of each row. */
struct rests {
    double *omega, *slope;
    int32_t *length, *extra;
    double *amount;
    __device__ void put(int64_t row, const spread_rest &rest) const
    {
        omega[row] = rest.omega;
        slope[row] = rest.slope;
        length[row] = rest.length;
        extra[row] = rest.extra;
        amount[row] = rest.amount;
    }
};

/* What the answer is: p = 2: kappa; p = 1: the threshold, and what moves at it; p = infinity: beta. */
struct answered {
    double p, unit, step, key, share;
    const double *levels;
};

/* The numbers of a row that moves. */
static __device__ spread_rest write_row(const cuda_rows &of, const spread_order &in, const answered &as,
                                        int64_t row, double alpha, double u, const double *x, double *to)
{
    spread_rest rest;
    if (as.p == 2) {
        const double slope = alpha * as.step * u;
        const auto write = [&](const auto &at) {
            double omega = as.levels[row];
            (void)spread_solve(in, at, slope, &omega);
            rest = spread_write(in, at, slope, omega, to);
        };
        if (of.starts[row + 1] - of.starts[row] <= SHORT) {
            write(short_row(of, row, x, true));
        } else {
            write(long_row(of, row, x, true));
        }
    } else if (as.p == 1) {
        rest = spread_threshold_write(
            in, long_row(of, row, x, true),
            [&](double at) { return threshold_part(__dmul_rn(u, at), at, as.key, as.share); }, to);
    } else {
        with_places(of, in, row, x, [&](const auto &at, const auto &rank) {
            const double r = alpha * as.step;
            const int64_t pivot = spread_pivot(in, at, r, rank);
            const double share = spread_capped(in, at, r, pivot, rank).share;
            rest = spread_capped_write(in, at, r, pivot, share, rank, to);
        });
    }
    return rest;
}

static __global__ void __launch_bounds__(THREADS)
    write_rows(cuda_rows of, spread_order in, answered as, const double *weights, const double *scales,
               const double *x, double *values, bool *nominal, rests all)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= of.rows) {
        return;
    }
    const double alpha = scale_of(scales, row);
    const double u = alpha * weights[row] / as.unit;
    const bool moves = as.p == 2 ? alpha * as.step * u > 0 : u > 0;
    spread_rest rest = {0, 0, 0, -1, 0};
    nominal[row] = !moves;
    if (moves) {
        rest = write_row(of, in, as, row, alpha, u, x, values + of.starts[row]);
    } else {
        copy_row(of, row, values);
    }
    all.put(row, rest);
}

nadir_status cuda_spread_write(const cuda_step *step, nadir_context *context, const cuda_numbers *to)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = step->rows;
    const spread_order *in = &step->spread->in;
    const answered as = {step->p,   step->answer.unit, step->answer.step,
                         step->key, step->share,       step->spread->levels};
    const rests all = {to->omega, to->slope, to->length, to->extra, to->amount};
    CUDA_TRY(rows->engine, context,
             cudaMemcpy(to->x, step->x, (size_t)rows->states * sizeof *to->x, cudaMemcpyDeviceToDevice));
    CUDA_TRY(
        rows->engine, context,
        cudaMemcpy(to->order, in->order, (size_t)rows->states * sizeof *to->order, cudaMemcpyDeviceToDevice));
    write_rows<<<cuda_blocks(rows->rows, THREADS), THREADS>>>(*rows, *in, as, step->weights, step->scales,
                                                              step->x, to->values, to->nominal, all);
    CUDA_LAUNCHED(rows->engine, context);
cleanup:
    return status;
}

/* Where a row has a state; -1: nowhere. */
static __device__ int64_t entry_of(const cuda_rows &of, int64_t row, int32_t state)
{
    int64_t low = of.starts[row];
    int64_t high = of.starts[row + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (of.columns[middle] < state) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < of.starts[row + 1] && of.columns[low] == state ? low : -1;
}

/* P . g - min g of each row, over all states: a block takes a row. x is of the last answer, that of `own` of
 * the one that it was made of. */
static __global__ void __launch_bounds__(THREADS)
    slack_rows(cuda_rows of, cuda_numbers own, const double *weights, const double *scales, const double *x,
               double range, double tau, double *partials)
{
    double total = 0;
    for (int64_t row = blockIdx.x; row < of.rows; row += BLOCKS) {
        const double alpha = scale_of(scales, row);
        const double weight = weights[row] * range;
        if (!(alpha > 0) || weights[row] == 0) {
            continue;
        }
        const double pull = 2 * tau / (alpha * alpha);
        const int64_t length = own.omega != NULL ? own.length[row] : 0;
        const int32_t extra = own.omega != NULL ? own.extra[row] : -1;
        const double slope = length > 0 ? own.slope[row] : 0;
        const double x_last = length > 0 ? own.x[own.order[length - 1]] : 0;
        const double last = length > 0 ? own.omega[row] - slope * x_last : 0;
        double2 mean = {0, 0};
        double least = CUDART_INF;
        for (int64_t i = threadIdx.x; i < of.states; i += THREADS) {
            const int32_t t = own.omega != NULL ? own.order[i] : (int32_t)i;
            const int64_t entry = entry_of(of, row, t);
            const double line = i < length ? last + slope * (x_last - own.x[t]) : 0;
            const double elsewhere = t == extra ? line + own.amount[row] : line;
            const double p = entry >= 0 ? own.values[entry] : elsewhere;
            const double g = weight * x[t] + pull * (entry >= 0 ? p - of.values[entry] : p);
            mean.x += p * g;
            least = fmin(least, g);
        }
        mean = over_block(mean);
        total += mean.x + block_largest(-least);
    }
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = total;
        partials[CUDA_PARTIALS + blockIdx.x] = 0;
    }
}

void cuda_spread_slack(const cuda_step *step, const cuda_numbers *numbers, double range, double tau)
{
    slack_rows<<<BLOCKS, THREADS>>>(*step->rows, *numbers, step->weights, step->scales, step->x, range, tau,
                                    step->rows->engine->partials);
}
