/*
 * dense.cu: the linear step over all rows of a dense model, p = 2, domain simplex; see steps.cu. All states
 * are allowed in every row, so that each of them is the projection of Phat - alpha s x onto the simplex. A
 * block takes a row.
 */
#include "quadratic.h"
#include "rowwise.h"

#include <math_constants.h>

enum { WARPS = THREADS / 32, KINDS = sizeof(quadratic_sums) / sizeof(double) };

/* Sums of the threads of a block, everybody's. */
static __device__ quadratic_sums over_row(const quadratic_sums &mine)
{
    __shared__ double parts[WARPS][KINDS];
    quadratic_sums all;
    const double *from = &mine.n;
    double *to = &all.n;
#pragma unroll
    for (int kind = 0; kind < KINDS; kind++) {
        double sum = from[kind];
        for (int step = 16; step > 0; step /= 2) {
            sum += __shfl_down_sync(0xffffffffu, sum, step);
        }
        if (threadIdx.x % 32 == 0) {
            parts[threadIdx.x / 32][kind] = sum;
        }
    }
    __syncthreads();
#pragma unroll
    for (int kind = 0; kind < KINDS; kind++) {
        to[kind] = 0;
        for (int warp = 0; warp < WARPS; warp++) {
            to[kind] += parts[warp][kind];
        }
    }
    __syncthreads();
    return all;
}

static __device__ quadratic_sums add_up(int64_t states, const double *p, const double *x, double omega,
                                        double slope)
{
    quadratic_sums mine = {};
    for (int64_t t = threadIdx.x; t < states; t += THREADS) {
        mine.add(p[t], x[t] - omega, slope);
    }
    return over_row(mine);
}

/* From the mean of x, the omega of all states, on. */
static __device__ quadratic_sums solve_row(int64_t states, const double *p, const double *x, double slope,
                                           double *omega)
{
    quadratic_sums all = add_up(states, p, x, *omega, slope);
    for (int turn = 0; turn < QUADRATIC_TURNS && slope > 0 && all.n > 0; turn++) {
        const double before = all.n;
        *omega += all.first / all.n + all.moved / (all.n * slope);
        all = add_up(states, p, x, *omega, slope);
        if (all.n == before) {
            break;
        }
    }
    return all;
}

static __device__ quadratic_sums settle_row(int64_t states, const double *p, const double *x)
{
    quadratic_sums mine = {};
    for (int64_t t = threadIdx.x; t < states; t += THREADS) {
        mine.settle(p[t], x[t]);
    }
    return over_row(mine);
}

static __global__ void __launch_bounds__(THREADS)
    pass_rows(cuda_rows of, quadratic_pass what, const double *weights, const double *scales, const double *x,
              double mean, double unit, double kappa, double *partials)
{
    double2 all = {0, 0}; /* the same in all threads */
    for (int64_t row = blockIdx.x; row < of.rows; row += BLOCKS) {
        const double alpha = scale_of(scales, row);
        const double share = alpha * weights[row] / unit;
        const double slope = alpha * kappa * share;
        const double *p = of.dense + row * of.states;
        double omega = mean;
        if (share > 0) {
            const double2 part = quadratic_part(what == SETTLE ? settle_row(of.states, p, x)
                                                               : solve_row(of.states, p, x, slope, &omega),
                                                what, weights[row], alpha, share, slope);
            all.x += part.x;
            all.y += part.y;
        }
    }
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = all.x;
        partials[CUDA_PARTIALS + blockIdx.x] = all.y;
    }
}

void cuda_dense_pass(const cuda_step *step, int what, double kappa)
{
    pass_rows<<<BLOCKS, THREADS>>>(*step->rows, (quadratic_pass)what, step->weights, step->scales, step->x,
                                   step->mean, step->answer.unit, kappa, step->rows->engine->partials);
}

static __global__ void __launch_bounds__(THREADS)
    write_rows(cuda_rows of, const double *weights, const double *scales, const double *x, double mean,
               double unit, double kappa, double *values, bool *nominal)
{
    for (int64_t row = blockIdx.x; row < of.rows; row += BLOCKS) {
        const double alpha = scale_of(scales, row);
        const double slope = alpha * kappa * (alpha * weights[row] / unit);
        const double *p = of.dense + row * of.states;
        double *to = values + row * of.states;
        double omega = mean;
        if (slope > 0) {
            (void)solve_row(of.states, p, x, slope, &omega);
        }
        for (int64_t t = threadIdx.x; t < of.states; t += THREADS) {
            const double value = slope > 0 ? p[t] + slope * (omega - x[t]) : p[t];
            to[t] = value > 0 ? value : 0;
        }
        if (threadIdx.x == 0) {
            nominal[row] = !(slope > 0);
        }
    }
}

void cuda_dense_write(const cuda_step *step, double *values, bool *nominal)
{
    write_rows<<<BLOCKS, THREADS>>>(*step->rows, step->weights, step->scales, step->x, step->mean,
                                    step->answer.unit, step->answer.step, values, nominal);
}

/* P . g - min g of each row. */
static __global__ void __launch_bounds__(THREADS)
    slack_rows(cuda_rows of, const double *weights, const double *scales, const double *x, const double *own,
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
        const int64_t start = row * of.states;
        double2 mean = {0, 0};
        double least = CUDART_INF;
        for (int64_t t = threadIdx.x; t < of.states; t += THREADS) {
            const double g = weight * x[t] + pull * (own[start + t] - of.dense[start + t]);
            mean.x += own[start + t] * g;
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

void cuda_dense_slack(const cuda_step *step, const cuda_numbers *numbers, double range, double tau)
{
    slack_rows<<<BLOCKS, THREADS>>>(*step->rows, step->weights, step->scales, step->x, numbers->values, range,
                                    tau, step->rows->engine->partials);
}
