/*
 * lmo_simplex.cu: the oracle of sparse models on the domain simplex, where states that a row does not have
 * get something, too: p = 2, 1 and infinity; see row_simplex.h. A thread takes a row, as in lmo_l2.cu; p = 1
 * shares all but the rows with lmo_l1.cu. The rows have an off-support tail: a segment over the first states
 * in the order of x, and one more state.
 */
#include "lmo_rows.h"
#include "row_simplex.h"

#include <math_constants.h>

#include <cmath>

static thread_rows rows_of(const cuda_lmo *lmo)
{
    return {{*lmo->rows, lmo->weights, lmo->scales, lmo->x, lmo->result.unit, 0, true}};
}

static __global__ void __launch_bounds__(THREADS) pass_rows(thread_rows rows, sorted_states in, l2_what what,
                                                            double kappa, double *omegas, double *partials)
{
    const double lowest = what == SETTLE ? simplex_lowest(in) : 0;
    double2 all = {0, 0};
    rows.each([&](const auto &on, int64_t row, double alpha, double share) {
        if (share > 0) {
            on.open(row, [&](const auto &at) {
                all = all + simplex_pass(in, at, what, rows.weights[row], alpha, share, kappa, lowest,
                                         omegas + row);
            });
        }
    });
    leave_sums(all, partials);
}

void cuda_simplex_pass(const cuda_lmo *lmo, int what, double kappa)
{
    pass_rows<<<BLOCKS, THREADS>>>(rows_of(lmo), lmo->sorted, (l2_what)what, kappa, lmo->omegas,
                                   lmo->rows->engine->partials);
}

/* A row of p = infinity with the ranks of its entries: calls visit(row, rank). */
template <typename VISIT>
static __device__ void with_ranks(const thread_rows &rows, const sorted_states &in, int64_t row, VISIT visit)
{
    const int32_t *columns = rows.rows.columns + rows.rows.starts[row];
    rows.open(row, [&](const auto &at) {
        visit(at, [&](int64_t i) { return (int64_t)__ldg(in.rank + columns[i]); });
    });
}

/* As solve_rows of lmo_linf.cu. */
static __global__ void __launch_bounds__(THREADS)
    solve_rows(thread_rows rows, sorted_states in, double beta, double *gains, double *partials)
{
    double2 all = {0, 0};
    double largest = 0;
    rows.each([&](const auto &on, int64_t row, double alpha, double u) {
        linf_part part = {};
        if (u > 0) {
            with_ranks(on, in, row, [&](const auto &at, const auto &rank) {
                part = simplex_linf(in, at, alpha * beta, simplex_pivot(in, at, alpha * beta, rank), rank);
            });
            all = all + make_double2(rows.weights[row] * part.gain, u * part.size);
            largest = fmax(largest, part.largest / alpha);
        }
        gains[row] = part.gain;
    });
    leave_sums(all, partials);
    cuda_leave(true, largest, partials + 2 * CUDA_PARTIALS);
}

void cuda_simplex_linf(const cuda_lmo *lmo, double beta)
{
    solve_rows<<<BLOCKS, THREADS>>>(rows_of(lmo), lmo->sorted, beta, lmo->norms, lmo->rows->engine->partials);
}

/* The result: p = 2: kappa; p = 1: the threshold, and what moves at it; p = infinity: beta. */
struct solved {
    double p, step, key, share;
    const double *omegas;
};

/* The values of a row that moves; its tail. */
static __device__ row_tail write_row(const thread_rows &rows, const sorted_states &in, const solved &as,
                                     int64_t row, double alpha, double u, double *to)
{
    row_tail tail;
    if (as.p == 2) {
        rows.open(row, [&](const auto &at) {
            const double slope = alpha * as.step * u;
            double omega = as.omegas[row];
            (void)simplex_solve(in, at, slope, &omega);
            tail = simplex_write_l2(in, at, slope, omega, to);
        });
    } else if (as.p == 1) {
        const l1_moves moves = l1_write(long_row(rows.rows, row, rows.x, true), u, as.key, as.share, to);
        const bool own = moves.taker < INT64_MAX; /* otherwise the first state of x = 0 takes it */
        tail = {0, 0, 0, own ? -1 : in.order[0], own ? 0 : moves.moved};
    } else {
        with_ranks(rows, in, row, [&](const auto &at, const auto &rank) {
            const double r = alpha * as.step;
            const int64_t pivot = simplex_pivot(in, at, r, rank);
            const double share = simplex_linf(in, at, r, pivot, rank).share;
            tail = simplex_write_linf(in, at, r, pivot, share, rank, to);
        });
    }
    return tail;
}

static __global__ void __launch_bounds__(THREADS)
    write_rows(thread_rows rows, sorted_states in, solved as, cuda_perturbed to)
{
    rows.each([&](const auto &on, int64_t row, double alpha, double u) {
        const bool moves = as.p == 2 ? alpha * as.step * u > 0 : u > 0;
        row_tail tail = {0, 0, 0, -1, 0};
        to.nominal[row] = !moves;
        if (moves) {
            tail = write_row(on, in, as, row, alpha, u, to.values + rows.rows.starts[row]);
        } else {
            on.copy(row, to.values);
        }
        to.omega[row] = tail.omega;
        to.slope[row] = tail.slope;
        to.length[row] = tail.length;
        to.extra[row] = tail.extra;
        to.amount[row] = tail.amount;
    });
}

nadir_status cuda_simplex_write(const cuda_lmo *lmo, nadir_context *context, const cuda_perturbed *to)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = lmo->rows;
    const solved as = {lmo->p, lmo->result.step, lmo->key, lmo->share, lmo->omegas};
    CUDA_CHECK(cuda_copy(rows->engine, context, rows->states, lmo->x, to->x));
    CUDA_CHECK(cuda_copy(rows->engine, context, rows->states, lmo->sorted.order, to->order));
    write_rows<<<BLOCKS, THREADS>>>(rows_of(lmo), lmo->sorted, as, *to);
    CUDA_LAUNCHED(rows->engine, context);
cleanup:
    return status;
}

/* Where a row has a state; -1: nowhere. */
static __device__ int64_t entry_of(const cuda_rows &rows, int64_t row, int32_t state)
{
    int64_t low = rows.starts[row];
    int64_t high = rows.starts[row + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (rows.columns[middle] < state) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < rows.starts[row + 1] && rows.columns[low] == state ? low : -1;
}

/* P . g - min g of each row, over all states: a block takes a row. x is of the last answer, that of `own` of
 * the one that it was made of. */
static __global__ void __launch_bounds__(THREADS)
    slack_rows(cuda_rows rows, cuda_perturbed own, const double *weights, const double *scales,
               const double *x, double range, double tau, double *partials)
{
    double total = 0;
    for (int64_t row = blockIdx.x; row < rows.rows; row += BLOCKS) {
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
        double mean = 0;
        double least = CUDART_INF;
        for (int64_t i = threadIdx.x; i < rows.states; i += THREADS) {
            const int32_t t = own.omega != NULL ? own.order[i] : (int32_t)i;
            const int64_t entry = entry_of(rows, row, t);
            const double line = i < length ? last + slope * (x_last - own.x[t]) : 0;
            const double elsewhere = t == extra ? line + own.amount[row] : line;
            const double p = entry >= 0 ? own.values[entry] : elsewhere;
            const double g = weight * x[t] + pull * (entry >= 0 ? p - rows.values[entry] : p);
            mean += p * g;
            least = fmin(least, g);
        }
        total += cuda_over_block(false, mean) + cuda_over_block(true, -least);
    }
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = total;
        partials[CUDA_PARTIALS + blockIdx.x] = 0;
    }
}

void cuda_simplex_slack(const cuda_lmo *lmo, const cuda_perturbed *numbers, double range, double tau)
{
    slack_rows<<<BLOCKS, THREADS>>>(*lmo->rows, *numbers, lmo->weights, lmo->scales, lmo->x, range, tau,
                                    lmo->rows->engine->partials);
}
