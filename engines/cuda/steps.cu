/*
 * steps.cu: the linear step over all rows of a sparse model, p = 2, domain support; see base/device.h.
 *
 * What a row does at a given step is what adversary/rows/quadratic.c says: with I its positive entries,
 *
 *     X = max(0, Phat - alpha s (x - omega)),    omega = mean_I + m / (n alpha s),    s = kappa u,
 *
 * found from the set of all entries on, which only shrinks; and kappa comes from the budget in closed form,
 * kappa^2 sum u^2 V + sum (m^2 / n + Q) / alpha^2 = beta^2, from rows that are solved to the end. With I of
 * a smaller kappa the norm at a larger one is overestimated, so that kappa rises to the answer. A thread
 * takes a row; nothing is kept of it from one pass to the next.
 */
#include "parts.h"

#include <math_constants.h>

#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <cstring>

enum {
    THREADS = 256,
    BLOCKS = 1024,
    SHORT = 8,    /* entries of a row that are kept in registers */
    PASSES = 200, /* of all rows */
    TURNS = 200   /* of one row */
};
#define STILL (16 * DBL_EPSILON)

/* A row's numbers: x is measured from the smallest that is allowed. */
struct short_row {
    int count;
    double p[SHORT], x[SHORT];
    __device__ short_row(const cuda_rows &of, int64_t row, const double *x_of)
    {
        const int64_t start = of.starts[row];
        double base = 1;
        count = (int)(of.starts[row + 1] - start);
#pragma unroll
        for (int i = 0; i < SHORT; i++) {
            p[i] = i < count ? of.values[start + i] : 0;
            x[i] = i < count ? __ldg(x_of + of.columns[start + i]) : 0;
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

struct long_row {
    int64_t start, count;
    const double *p, *x;
    const int32_t *columns;
    double base;
    __device__ long_row(const cuda_rows &of, int64_t row, const double *x_of)
        : start(of.starts[row]), count(of.starts[row + 1] - of.starts[row]), p(of.values + start), x(x_of),
          columns(of.columns + start), base(1)
    {
        for (int64_t i = 0; i < count; i++) {
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

/* Of a row at its omega, d = x - omega: as quadratic_sums in adversary/rows/quadratic.c. */
struct sums {
    double n, first, second, moved, squares, lost;
};

template <typename ROW> static __device__ sums add_up(const ROW &row, double omega, double slope)
{
    sums all = {};
    row.each([&](double p, double x, int64_t) {
        const double d = x - omega;
        const bool kept = p >= slope * d;
        all.n += kept ? 1 : 0;
        all.first += kept ? d : 0;
        all.second += kept ? d * d : 0;
        all.moved += kept ? 0 : p;
        all.squares += kept ? 0 : p * p;
        all.lost += kept ? 0 : p * d;
    });
    return all;
}

/* omega, and the sums there; slope 0: of all entries. */
template <typename ROW> static __device__ sums solve_row(const ROW &row, double slope, double *omega)
{
    double mean = 0;
    double n = 0;
    row.each([&](double, double x, int64_t) {
        mean += x;
        n += 1;
    });
    *omega = mean / n;
    sums all = add_up(row, *omega, slope);
    for (int turn = 0; turn < TURNS && slope > 0 && all.n > 0; turn++) {
        const double before = all.n;
        *omega += all.first / all.n + all.moved / (all.n * slope);
        all = add_up(row, *omega, slope);
        if (all.n == before) {
            break;
        }
    }
    return all;
}

/* What a pass over the rows is for. */
enum purpose { FIT, SETTLE, TOTAL };

/* Two numbers that are summed over all rows. */
template <typename ROW>
static __device__ double2 row_part(const ROW &row, purpose what, double weight, double alpha, double share,
                                   double kappa)
{
    double omega;
    double2 part = {0, 0};
    if (what == SETTLE) { /* |Delta / alpha|^2 of all mass at the smallest x */
        double lowest = 0;
        double moved = 0;
        double squares = 0;
        row.each([&](double p, double x, int64_t) {
            lowest += x <= 0 ? 1 : 0;
            moved += x <= 0 ? 0 : p;
            squares += x <= 0 ? 0 : p * p;
        });
        part.x = lowest > 0 ? (moved * moved / lowest + squares) / (alpha * alpha) : 0;
        return part;
    }
    const double slope = alpha * kappa * share;
    const sums all = solve_row(row, slope, &omega);
    if (what == FIT) {
        const double variance = all.n > 0 ? all.second - all.first * (all.first / all.n) : 0;
        part.x = share * share * fmax(variance, 4 * DBL_EPSILON * all.second);
        part.y = all.n > 0 ? (all.moved * all.moved / all.n + all.squares) / (alpha * alpha) : 0;
    } else {
        part.x = weight * (slope * all.second + all.lost);
        part.y = (slope * slope * all.second + all.squares) / (alpha * alpha);
    }
    return part;
}

/* The sum of a block, thread 0's. */
static __device__ double2 over_block(double2 mine)
{
    __shared__ double2 parts[THREADS];
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) {
            parts[threadIdx.x].x += parts[threadIdx.x + half].x;
            parts[threadIdx.x].y += parts[threadIdx.x + half].y;
        }
        __syncthreads();
    }
    return parts[0];
}

static __device__ double scale_of(const double *scales, int64_t row)
{
    return scales != NULL ? scales[row] : 1;
}

static __global__ void __launch_bounds__(THREADS)
    pass_rows(cuda_rows of, purpose what, const double *weights, const double *scales, const double *x,
              double unit, double kappa, double *partials)
{
    double2 all = {0, 0};
    for (int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x; row < of.rows;
         row += (int64_t)BLOCKS * THREADS) {
        const double alpha = scale_of(scales, row);
        const double weight = weights[row];
        const double share = alpha * weight / unit;
        const int64_t count = of.starts[row + 1] - of.starts[row];
        if (!(share > 0) || count == 0) {
            continue;
        }
        const double2 part = count <= SHORT
                                 ? row_part(short_row(of, row, x), what, weight, alpha, share, kappa)
                                 : row_part(long_row(of, row, x), what, weight, alpha, share, kappa);
        all.x += part.x;
        all.y += part.y;
    }
    all = over_block(all);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = all.x;
        partials[CUDA_PARTIALS + blockIdx.x] = all.y;
    }
}

/* w, and in the partials the largest alpha w of each block. */
static __global__ void weigh_rows(int64_t states, const int64_t *state_rows, double gamma,
                                  const double *probabilities, const double *scales, const double *d,
                                  double *weights, double *partials)
{
    __shared__ double most[THREADS];
    double largest = 0;
    for (int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x; s < states;
         s += (int64_t)BLOCKS * THREADS) {
        const double visits = gamma * (d[s] > 0 ? d[s] : 0);
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            const double weight = visits * probabilities[row];
            weights[row] = weight;
            largest = fmax(largest, scale_of(scales, row) * weight);
        }
    }
    most[threadIdx.x] = largest;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) {
            most[threadIdx.x] = fmax(most[threadIdx.x], most[threadIdx.x + half]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = most[0];
    }
}

template <typename ROW> static __device__ void write_row(const ROW &row, double slope, double *to)
{
    double omega;
    (void)solve_row(row, slope, &omega);
    row.each([&](double p, double x, int64_t i) {
        const double value = p + slope * (omega - x);
        to[i] = value > 0 ? value : 0;
    });
}

static __global__ void write_rows(cuda_rows of, const double *weights, const double *scales, const double *x,
                                  double unit, double kappa, double *values, bool *nominal)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= of.rows) {
        return;
    }
    const double alpha = scale_of(scales, row);
    const double slope = alpha * kappa * (alpha * weights[row] / unit);
    const int64_t start = of.starts[row];
    const int64_t count = of.starts[row + 1] - start;
    const bool moves = slope > 0 && count > 0;
    nominal[row] = !moves;
    if (!moves) {
        for (int64_t i = start; i < start + count; i++) {
            values[i] = of.values[i];
        }
    } else if (count <= SHORT) {
        write_row(short_row(of, row, x), slope, values + start);
    } else {
        write_row(long_row(of, row, x), slope, values + start);
    }
}

/* P . g - min g of each row. */
static __global__ void slack_rows(cuda_rows of, const double *weights, const double *scales, const double *x,
                                  const double *own, double range, double tau, double *partials)
{
    double2 all = {0, 0};
    for (int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x; row < of.rows;
         row += (int64_t)BLOCKS * THREADS) {
        const double alpha = scale_of(scales, row);
        const double weight = weights[row] * range;
        if (!(alpha > 0) || weights[row] == 0) {
            continue;
        }
        const double pull = 2 * tau / (alpha * alpha);
        double mean = 0;
        double least = CUDART_INF;
        for (int64_t i = of.starts[row]; i < of.starts[row + 1]; i++) {
            const double g = weight * __ldg(x + of.columns[i]) + pull * (own[i] - of.values[i]);
            mean += own[i] * g;
            least = of.values[i] > 0 && g < least ? g : least;
        }
        all.x += least < CUDART_INF ? mean - least : 0;
    }
    all = over_block(all);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = all.x;
        partials[CUDA_PARTIALS + blockIdx.x] = 0;
    }
}

/* What the blocks left, added up here, in their order. */
static nadir_status collect(const cuda_engine *engine, nadir_context *context, double sum[2])
{
    nadir_status status = NADIR_OK;
    double found[2 * CUDA_PARTIALS];
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(engine, context, cudaMemcpy(found, engine->partials, sizeof found, cudaMemcpyDeviceToHost));
    sum[0] = 0;
    sum[1] = 0;
    for (int i = 0; i < BLOCKS; i++) {
        sum[0] += found[i];
        sum[1] += found[CUDA_PARTIALS + i];
    }
cleanup:
    return status;
}

static nadir_status pass(const cuda_step *step, nadir_context *context, purpose what, double kappa,
                         double sum[2])
{
    const cuda_engine *engine = step->rows->engine;
    pass_rows<<<BLOCKS, THREADS>>>(*step->rows, what, step->weights, step->scales, step->x, step->answer.unit,
                                   kappa, engine->partials);
    return collect(engine, context, sum);
}

/* kappa, from below. *found: false where there is none. */
static nadir_status find_step(cuda_step *step, nadir_context *context, double beta, bool *found)
{
    nadir_status status = NADIR_OK;
    double sum[2];
    double kappa = 0;
    *found = false;
    CUDA_CHECK(pass(step, context, SETTLE, 0, sum));
    if (sum[0] <= beta * beta) {
        goto cleanup;
    }
    for (int i = 0; i < PASSES; i++) {
        CUDA_CHECK(pass(step, context, FIT, kappa, sum));
        {
            const double left = beta * beta - sum[1];
            const double next = sqrt(left / sum[0]);
            if (!(left > 0) || !(sum[0] > 0) || !std::isfinite(next)) {
                goto cleanup;
            }
            const bool still = fabs(next - kappa) <= STILL * next;
            kappa = next;
            if (still) {
                break;
            }
        }
    }
    *found = kappa > 0;
    step->answer.step = kappa;
cleanup:
    return status;
}

nadir_status cuda_step_answer(void *self, nadir_context *context, double beta, const double *x,
                              const double *d, nadir_device_answer *answer)
{
    nadir_status status = NADIR_OK;
    cuda_step *step = (cuda_step *)self;
    const cuda_rows *rows = step->rows;
    cuda_engine *engine = rows->engine;
    const size_t bytes = (size_t)rows->states * sizeof(double);
    double found[CUDA_PARTIALS];
    double sum[2];
    memset(&step->answer, 0, sizeof step->answer);
    CUDA_TRY(engine, context, cudaMemcpy(step->x, x, bytes, cudaMemcpyHostToDevice));
    CUDA_TRY(engine, context, cudaMemcpy(step->d, d, bytes, cudaMemcpyHostToDevice));
    weigh_rows<<<BLOCKS, THREADS>>>(rows->states, rows->state_rows, step->gamma, step->probabilities,
                                    step->scales, step->d, step->weights, engine->partials);
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(engine, context, cudaMemcpy(found, engine->partials, sizeof found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BLOCKS; i++) {
        step->answer.unit = fmax(step->answer.unit, found[i]);
    }
    if (step->answer.unit > 0 && beta > 0) {
        CUDA_CHECK(find_step(step, context, beta, &step->answer.found));
    }
    for (int i = 0; i < 4 && step->answer.found; i++) { /* rounding must not leave the ball */
        CUDA_CHECK(pass(step, context, TOTAL, step->answer.step, sum));
        step->answer.gain = sum[0];
        step->answer.norm = sqrt(sum[1]);
        if (step->answer.norm <= beta) {
            break;
        }
        step->answer.step *= beta / step->answer.norm * (1 - DBL_EPSILON);
    }
    *answer = step->answer;
cleanup:
    return status;
}

nadir_status cuda_step_values(void *self, nadir_context *context, void **numbers)
{
    nadir_status status = NADIR_OK;
    const cuda_step *step = (const cuda_step *)self;
    const cuda_rows *rows = step->rows;
    cuda_numbers *made = NULL;
    CUDA_CHECK(cuda_numbers_make(rows, context, &made));
    write_rows<<<cuda_blocks(rows->rows, THREADS), THREADS>>>(*rows, step->weights, step->scales, step->x,
                                                              step->answer.unit, step->answer.step,
                                                              made->values, made->nominal);
    CUDA_LAUNCHED(rows->engine, context);
    *numbers = made;
    made = NULL;
cleanup:
    cuda_forget(made);
    return status;
}

nadir_status cuda_step_slack(void *self, nadir_context *context, const void *numbers, double range,
                             double tau, double *slack)
{
    const cuda_step *step = (const cuda_step *)self;
    const cuda_engine *engine = step->rows->engine;
    double sum[2] = {0, 0};
    slack_rows<<<BLOCKS, THREADS>>>(*step->rows, step->weights, step->scales, step->x,
                                    ((const cuda_numbers *)numbers)->values, range, tau, engine->partials);
    const nadir_status status = collect(engine, context, sum);
    *slack = sum[0];
    return status;
}
