/*
 * powers.cu: the linear step over all rows, 1 < p < infinity, p != 2; see steps.cu and
 * adversary/rows/lmo_lp.c.
 *
 * Rows are solved by row_power.h, a thread or a block each, from the levels that they had in the pass before.
 * The common kappa, of which a row's step is kappa u (p < 2) or kappa u^a (p > 2), is looked for here, by the
 * method of false position in t = log kappa, times a for p < 2; every t is a pass, and a sum of the norms
 * that it left, measured by the largest of them.
 */
#include "bracket.h"
#include "row_power.h"
#include "rowwise.h"

#include <cfloat>
#include <cmath>

/* kappa u or kappa u^a, 0 of a row that stays as it is. */
static __device__ double step_of(const power_norm &norm, double kappa, double u)
{
    return u > 0 ? kappa * (norm.p < 2 ? u : row_power(u, norm.a)) : 0;
}

/* Levels and norms of rows at kappa; kappa infinite: all mass at the smallest x. In the partials the largest
 * norm, and the sum of w gain. */
template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    solve_rows(ROWS rows, power_norm norm, double kappa, power_level *levels, double *norms, double *partials)
{
    double largest = 0;
    double2 all = {0, 0};
    rows.each([&](const auto &on, int64_t row, double alpha, double u) {
        const double step = step_of(norm, kappa, u);
        power_part part = {0, 0};
        if (step > 0) {
            power_level level = levels[row];
            on.open(row, [&](const auto &at) {
                part = isinf(kappa) ? power_settled(norm, at, alpha)
                                    : power_solve(norm, at, alpha, step, &level);
            });
            if (on.is_first()) {
                levels[row] = level;
            }
        }
        if (on.is_first()) {
            norms[row] = part.norm;
            largest = part.norm > largest || isnan(part.norm) ? part.norm : largest;
            all.x += rows.weights[row] * part.gain;
        }
    });
    all = over_block(all);
    largest = block_largest(largest);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = largest;
        partials[CUDA_PARTIALS + blockIdx.x] = all.x;
    }
}

/* Sum of (norm / largest)^p. */
static __global__ void add_norms(int64_t rows, double p, const double *norms, double largest,
                                 double *partials)
{
    double2 all = {0, 0};
    for (int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x; row < rows;
         row += (int64_t)BLOCKS * THREADS) {
        all.x += norms[row] > 0 ? row_power(norms[row] / largest, p) : 0;
    }
    leave_sums(all, partials);
}

/* The norm of all rows at kappa, which becomes the answer's. */
static nadir_status norm_at(cuda_step *step, nadir_context *context, double kappa)
{
    nadir_status status = NADIR_OK;
    const cuda_engine *engine = step->rows->engine;
    const power_norm norm = {step->p, 1 / (step->p - 1)};
    double found[2];
    double sum[2];
    over_rows(step, [&](const auto &rows) {
        solve_rows<<<BLOCKS, THREADS>>>(rows, norm, kappa, step->levels, step->norms, engine->partials);
    });
    CUDA_CHECK(cuda_collect(engine, context, true, found));
    step->answer.gain = found[1];
    step->answer.norm = found[0];
    if (found[0] > 0 && std::isfinite(found[0])) {
        add_norms<<<BLOCKS, THREADS>>>(step->rows->rows, step->p, step->norms, found[0], engine->partials);
        CUDA_CHECK(cuda_collect(engine, context, false, sum));
        step->answer.norm = found[0] * pow(sum[0], 1 / step->p);
    }
    CUDA_CHECK(engine->host->progress(context, CUDA_TASK, -1));
cleanup:
    return status;
}

static double kappa_of(const cuda_step *step, double base, double t)
{
    return base * exp(step->p < 2 ? t * (step->p - 1) : t);
}

/* kappa from below, levels and norm being those of it. *found: false when the norm does not get to beta. */
static nadir_status find_step(cuda_step *step, nadir_context *context, double beta, double base, bool *found)
{
    nadir_status status = NADIR_OK;
    const double a = fmax(1, 1 / (step->p - 1));
    const double tolerance = 4 * DBL_EPSILON * a;
    bracket at = {-INFINITY, INFINITY, 0, 0, 0, INFINITY};
    double t = 0;
    *found = false;
    for (int i = 0; i < STEP_LIMIT; i++) {
        CUDA_CHECK(norm_at(step, context, kappa_of(step, base, t)));
        const double excess = log(step->answer.norm / beta);
        if (std::isnan(excess)) {
            goto cleanup;
        }
        narrow(&at, t, excess);
        if ((excess <= 0 && excess >= -tolerance) ||
            at.high - at.low <= tolerance + 2 * DBL_EPSILON * fabs(t)) {
            break;
        }
        if (std::isinf(at.high) && i == BRACKET_LIMIT) {
            goto cleanup;
        }
        t = next_t(&at, i, tolerance, FAR * a);
    }
    if (t != at.low) { /* from another start the same t may answer otherwise, where digits do not suffice */
        CUDA_CHECK(norm_at(step, context, kappa_of(step, base, at.low)));
    }
    *found = log(step->answer.norm / beta) <= tolerance && std::isfinite(at.low);
    step->answer.step = kappa_of(step, base, at.low);
cleanup:
    return status;
}

nadir_status cuda_power_answer(cuda_step *step, nadir_context *context, double beta)
{
    nadir_status status = NADIR_OK;
    const double start = step->answer.step; /* of the last answer */
    bool found = false;
    bool matters;
    step->answer.step = 0;
    CUDA_CHECK(norm_at(step, context, INFINITY));
    matters = step->answer.norm > beta;
    if (matters && start > 0) {
        CUDA_CHECK(find_step(step, context, beta, start, &found));
    }
    if (matters && !found) {
        CUDA_CHECK(find_step(step, context, beta, step->p < 2 ? 2 * pow(beta, step->p - 1) : beta, &found));
    }
    step->answer.found = found && step->answer.step > 0;
    step->answer.step = step->answer.found ? step->answer.step : 0;
    step->answer.tau =
        1 / (step->p * (step->p < 2 ? step->answer.step : pow(step->answer.step, step->p - 1)));
cleanup:
    return status;
}

template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    write_rows(ROWS rows, power_norm norm, double kappa, const power_level *levels, double *values,
               bool *nominal)
{
    rows.each([&](const auto &on, int64_t row, double alpha, double u) {
        const double step = step_of(norm, kappa, u);
        write_row(on, row, step > 0, values, nominal,
                  [&](const auto &at, double *to) { power_write(norm, at, alpha, step, levels[row], to); });
    });
}

void cuda_power_write(const cuda_step *step, double *values, bool *nominal)
{
    const power_norm norm = {step->p, 1 / (step->p - 1)};
    over_rows(step, [&](const auto &rows) {
        write_rows<<<BLOCKS, THREADS>>>(rows, norm, step->answer.step, step->levels, values, nominal);
    });
}
