/*
 * steps.cu: the linear step over all rows of a model, domain support, or of a dense one, simplex too; see
 * base/device.h. Here is p = 2; thresholds.cu has p = 1, capped.cu p = infinity, and powers.cu all others;
 * spread.cu has sparse models on the domain simplex, and rectangular.cu rectangular sets.
 *
 * What a row does at a given step is what adversary/rows/lmo_l2.c says: with I its positive entries,
 *
 *     X = max(0, Phat - alpha s (x - omega)),    omega = mean_I + m / (n alpha s),    s = kappa u,
 *
 * found from the set of all entries on, which only shrinks; and kappa comes from the budget in closed form,
 * kappa^2 sum u^2 V + sum (m^2 / n + Q) / alpha^2 = beta^2, from rows that are solved to the end. With I of
 * a smaller kappa the norm at a larger one is overestimated, so that kappa rises to the answer. A thread, or
 * a block, takes a row; nothing is kept of it from one pass to the next.
 */
#include "quadratic.h"
#include "rowwise.h"

#include <math_constants.h>

#include <cfloat>
#include <cmath>
#include <cstring>

enum {
    PASSES = 200,   /* of all rows */
    CORRECTIONS = 4 /* of a step that rounding has left outside the ball */
};
#define STILL (16 * DBL_EPSILON)

template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    pass_rows(ROWS rows, quadratic_pass what, double kappa, double *partials)
{
    double2 all = {0, 0};
    rows.each([&](const auto &on, int64_t row, double alpha, double share) {
        if (!(share > 0)) {
            return;
        }
        on.open(row, [&](const auto &at) {
            const double2 part = quadratic_look(at, what, rows.weights[row], alpha, share, kappa);
            if (on.is_first()) {
                all.x += part.x;
                all.y += part.y;
            }
        });
    });
    leave_sums(all, partials);
}

/* w, and in the partials the largest alpha w of each block. shared: without d, w is pi. */
static __global__ void weigh_rows(int64_t states, const int64_t *state_rows, double gamma, bool shared,
                                  const double *probabilities, const double *scales, const double *d,
                                  double *weights, double *partials)
{
    double largest = 0;
    for (int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x; s < states;
         s += (int64_t)BLOCKS * THREADS) {
        const double visits = d == NULL ? 0 : gamma * (d[s] > 0 ? d[s] : 0);
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            const double used = shared ? probabilities[row] : probabilities[row] > 0 ? 1 : 0;
            const double weight = d == NULL ? used : visits * probabilities[row];
            weights[row] = weight;
            largest = fmax(largest, scale_of(scales, row) * weight);
        }
    }
    largest = block_largest(largest);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = largest;
    }
}

template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    write_rows(ROWS rows, double kappa, double *values, bool *nominal)
{
    rows.each([&](const auto &on, int64_t row, double alpha, double share) {
        const double slope = alpha * kappa * share;
        write_row(on, row, slope > 0, values, nominal,
                  [&](const auto &at, double *to) { quadratic_write(at, slope, to); });
    });
}

/* P . g, and the smallest g, of a row. */
struct slack_sums {
    double mean, least;
    __device__ void join(const slack_sums &other)
    {
        mean += other.mean;
        least = fmin(least, other.least);
    }
};

/* P . g - min g of each row. */
template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    slack_rows(ROWS rows, const double *own, double range, double tau, double *partials)
{
    double2 all = {0, 0};
    rows.each([&](const auto &on, int64_t row, double alpha, double share) {
        if (!(share > 0)) {
            return;
        }
        const double weight = rows.weights[row] * range;
        const double pull = 2 * tau / (alpha * alpha);
        on.open(row, [&](const auto &at) {
            const double *values = own + at.start;
            slack_sums sums = {0, CUDART_INF};
            at.each([&](double phat, double x, int64_t i) {
                const double g = weight * x + pull * (values[i] - phat);
                sums.join({values[i] * g, g});
            });
            sums = at.total(sums);
            all.x += on.is_first() ? sums.mean - sums.least : 0;
        });
    });
    leave_sums(all, partials);
}

nadir_status cuda_collect(const cuda_engine *engine, nadir_context *context, bool largest, double sum[2])
{
    nadir_status status = NADIR_OK;
    double found[2 * CUDA_PARTIALS];
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(engine, context, cudaMemcpy(found, engine->partials, sizeof found, cudaMemcpyDeviceToHost));
    sum[0] = 0;
    sum[1] = 0;
    for (int i = 0; i < BLOCKS; i++) {
        const bool more = found[i] > sum[0] || std::isnan(found[i]);
        sum[0] = !largest ? sum[0] + found[i] : more ? found[i] : sum[0];
        sum[1] += found[CUDA_PARTIALS + i];
    }
cleanup:
    return status;
}

static nadir_status pass(const cuda_step *step, nadir_context *context, quadratic_pass what, double kappa,
                         double sum[2])
{
    const cuda_engine *engine = step->rows->engine;
    if (step->spread != NULL) {
        cuda_spread_pass(step, (int)what, kappa);
        return cuda_collect(engine, context, false, sum);
    }
    over_rows(step,
              [&](const auto &rows) { pass_rows<<<BLOCKS, THREADS>>>(rows, what, kappa, engine->partials); });
    return cuda_collect(engine, context, false, sum);
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
cleanup:
    step->answer.step = kappa;
    return status;
}

static nadir_status quadratic_answer(cuda_step *step, nadir_context *context, double beta)
{
    nadir_status status = NADIR_OK;
    double sum[2];
    CUDA_CHECK(find_step(step, context, beta, &step->answer.found));
    for (int i = 0; step->answer.found; i++) { /* rounding must not leave the ball */
        CUDA_CHECK(pass(step, context, TOTAL, step->answer.step, sum));
        step->answer.gain = sum[0];
        step->answer.norm = sqrt(sum[1]);
        if (step->answer.norm <= beta || i == CORRECTIONS) {
            break;
        }
        step->answer.step *= beta / step->answer.norm * (1 - DBL_EPSILON);
    }
    step->answer.tau = 1 / (2 * step->answer.step);
cleanup:
    return status;
}

nadir_status cuda_step_answer(void *self, nadir_context *context, double beta, const double *x,
                              const double *d, nadir_device_lmo_result *answer)
{
    nadir_status status = NADIR_OK;
    cuda_step *step = (cuda_step *)self;
    const cuda_rows *rows = step->rows;
    cuda_engine *engine = rows->engine;
    const size_t bytes = (size_t)rows->states * sizeof(double);
    const double before = step->answer.step;
    double found[CUDA_PARTIALS];
    memset(&step->answer, 0, sizeof step->answer);
    step->answer.step = before;
    step->mean = 0;
    for (int64_t t = 0; t < rows->states && rows->dense != NULL; t++) {
        step->mean += x[t] / (double)rows->states;
    }
    CUDA_TRY(engine, context, cudaMemcpy(step->x, x, bytes, cudaMemcpyHostToDevice));
    if (step->spread != NULL) {
        CUDA_CHECK(cuda_spread_look(step, context));
    }
    if (d != NULL) {
        CUDA_TRY(engine, context, cudaMemcpy(step->d, d, bytes, cudaMemcpyHostToDevice));
    }
    weigh_rows<<<BLOCKS, THREADS>>>(rows->states, rows->state_rows, step->gamma,
                                    step->shares == NADIR_DEVICE_STATES, step->probabilities, step->scales,
                                    d != NULL ? step->d : NULL, step->weights, engine->partials);
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(engine, context, cudaMemcpy(found, engine->partials, sizeof found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BLOCKS; i++) {
        step->answer.unit = fmax(step->answer.unit, found[i]);
    }
    if (step->answer.unit > 0 && beta > 0) {
        CUDA_CHECK((step->solutions != NULL ? cuda_rectangular_answer
                    : step->p == 2          ? quadratic_answer
                    : step->p == 1          ? cuda_threshold_answer
                    : std::isinf(step->p)   ? cuda_capped_answer
                                            : cuda_power_answer)(step, context, beta));
    }
    *answer = step->answer;
cleanup:
    return status;
}

static void write_quadratic(const cuda_step *step, double *values, bool *nominal)
{
    over_rows(step, [&](const auto &rows) {
        write_rows<<<BLOCKS, THREADS>>>(rows, step->answer.step, values, nominal);
    });
}

nadir_status cuda_step_values(void *self, nadir_context *context, void **numbers)
{
    nadir_status status = NADIR_OK;
    const cuda_step *step = (const cuda_step *)self;
    cuda_numbers *made = NULL;
    CUDA_CHECK(cuda_numbers_make(step->rows, context, step->spread != NULL, &made));
    if (step->spread != NULL) {
        CUDA_CHECK(cuda_spread_write(step, context, made));
    } else {
        (step->solutions != NULL ? cuda_rectangular_write
         : step->p == 2          ? write_quadratic
         : step->p == 1          ? cuda_threshold_write
         : std::isinf(step->p)   ? cuda_capped_write
                                 : cuda_power_write)(step, made->values, made->nominal);
    }
    CUDA_LAUNCHED(step->rows->engine, context);
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
    const cuda_numbers *own = (const cuda_numbers *)numbers;
    if (step->spread != NULL) {
        cuda_spread_slack(step, own, range, tau);
    } else {
        over_rows(step, [&](const auto &rows) {
            slack_rows<<<BLOCKS, THREADS>>>(rows, own->values, range, tau, engine->partials);
        });
    }
    const nadir_status status = cuda_collect(engine, context, false, sum);
    *slack = sum[0];
    return status;
}
