/*
 * lmo_lp.cu: the oracle over all rows, 1 < p < infinity, p != 2; see lmo_l2.cu and sets/lmo_lp.c.
 *
 * Rows are solved by row_lp.h, a thread or a block each, from the levels that they had in the pass before.
 * Every kappa that is tried is a pass, and a sum of the norms that it left, measured by the largest of them.
 */
#include "lmo_rows.h"
#include "row_lp.h"

#include <cmath>

/* Levels and norms of rows at kappa; kappa infinite: all mass at the smallest x. In the partials the largest
 * norm, and the sum of w gain. */
template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    solve_rows(ROWS rows, double p, double kappa, lp_level *levels, double *norms, double *partials)
{
    double largest = 0;
    double gain = 0;
    rows.each([&](const auto &on, int64_t row, double alpha, double u) {
        const double step = lp_row_step(p, kappa, u);
        lp_part part = {0, 0};
        if (step > 0) {
            lp_level level = levels[row];
            on.open(row, [&](const auto &at) {
                part = isinf(kappa) ? lp_settled(p, at, alpha) : lp_solve(p, at, alpha, step, &level);
            });
            if (on.is_first()) {
                levels[row] = level;
            }
        }
        if (on.is_first()) {
            norms[row] = part.norm;
            largest = cuda_larger(largest, part.norm);
            gain += rows.weights[row] * part.gain;
        }
    });
    cuda_leave(true, largest, partials);
    cuda_leave(false, gain, partials + CUDA_PARTIALS);
}

/* Sum of (norm / largest)^p. */
static __global__ void add_norms(int64_t rows, double p, const double *norms, double largest,
                                 double *partials)
{
    double2 all = {0, 0};
    for (int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x; row < rows;
         row += (int64_t)BLOCKS * THREADS) {
        all.x += norms[row] > 0 ? nadir_power(norms[row] / largest, p) : 0;
    }
    leave_sums(all, partials);
}

/* The norm of all rows at kappa, which becomes the result's. */
static nadir_status norm_at(cuda_lmo *lmo, nadir_context *context, double kappa)
{
    nadir_status status = NADIR_OK;
    const cuda_engine *engine = lmo->rows->engine;
    double found[2];
    double sum[2];
    over_rows(lmo, [&](const auto &rows) {
        solve_rows<<<BLOCKS, THREADS>>>(rows, lmo->p, kappa, lmo->levels, lmo->norms, engine->partials);
    });
    CUDA_CHECK(cuda_collect(engine, context, true, found));
    lmo->result.gain = found[1];
    lmo->result.norm = found[0];
    if (found[0] > 0 && std::isfinite(found[0])) {
        add_norms<<<BLOCKS, THREADS>>>(lmo->rows->rows, lmo->p, lmo->norms, found[0], engine->partials);
        CUDA_CHECK(cuda_collect(engine, context, false, sum));
        lmo->result.norm = found[0] * pow(sum[0], 1 / lmo->p);
    }
    CUDA_CHECK(engine->host->progress(context, CUDA_TASK, -1));
cleanup:
    return status;
}

nadir_status cuda_lp_solve(cuda_lmo *lmo, nadir_context *context, double beta)
{
    nadir_status status = NADIR_OK;
    const double p = lmo->p;
    const double start = lmo->result.step; /* of the last result */
    double kappa = 0;
    const auto norm = [&](double tried) { /* NaN ends the search where the device failed */
                                          status = status != NADIR_OK ? status : norm_at(lmo, context, tried);
                                          return status == NADIR_OK ? lmo->result.norm : NAN;
    };
    lmo->result.step = 0;
    if (norm(INFINITY) > beta) {
        kappa = start > 0 ? lp_find_step(p, beta, start, norm) : 0;
        if (!(kappa > 0)) {
            kappa = lp_find_step(p, beta, p < 2 ? 2 * pow(beta, p - 1) : beta, norm);
        }
    }
    lmo->result.found = kappa > 0;
    lmo->result.step = kappa > 0 ? kappa : 0;
    lmo->result.tau = 1 / (p * (p < 2 ? lmo->result.step : pow(lmo->result.step, p - 1)));
    return status;
}

template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    write_rows(ROWS rows, double p, double kappa, const lp_level *levels, double *values, bool *nominal)
{
    rows.each([&](const auto &on, int64_t row, double alpha, double u) {
        const double step = lp_row_step(p, kappa, u);
        write_row(on, row, step > 0, values, nominal,
                  [&](const auto &at, double *to) { lp_write(p, at, alpha, step, levels[row], to); });
    });
}

void cuda_lp_write(const cuda_lmo *lmo, double *values, bool *nominal)
{
    over_rows(lmo, [&](const auto &rows) {
        write_rows<<<BLOCKS, THREADS>>>(rows, lmo->p, lmo->result.step, lmo->levels, values, nominal);
    });
}
