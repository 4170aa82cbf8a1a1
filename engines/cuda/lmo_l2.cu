/*
 * lmo_l2.cu: the linear minimisation oracle over all rows of a model, p = 2, domain support, or of a dense
 * model, simplex too; lmo_simplex.cu has sparse models on the domain simplex.
 *
 * What a row does at a given step is what sets/lmo_l2.c says: with I its positive entries,
 *
 *     X = max(0, Phat - alpha s (x - omega)),    omega = mean_I + m / (n alpha s),    s = kappa u,
 *
 * found from the set of all entries on, which only shrinks; and kappa comes from the budget in closed form,
 * kappa^2 sum u^2 V + sum (m^2 / n + Q) / alpha^2 = beta^2, from rows that are solved to the end. A thread, or
 * a block, takes a row; nothing is kept of it from one pass to the next.
 */
#include "lmo_rows.h"
#include "row_l2.h"

#include <math_constants.h>

#include <cmath>

template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    pass_rows(ROWS rows, l2_what what, double kappa, double *partials)
{
    double2 all = {0, 0};
    rows.each([&](const auto &on, int64_t row, double alpha, double share) {
        if (!(share > 0)) {
            return;
        }
        on.open(row, [&](const auto &at) {
            const double2 part = l2_pass(at, what, rows.weights[row], alpha, share, kappa);
            if (on.is_first()) {
                all.x += part.x;
                all.y += part.y;
            }
        });
    });
    leave_sums(all, partials);
}

template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    write_rows(ROWS rows, double kappa, double *values, bool *nominal)
{
    rows.each([&](const auto &on, int64_t row, double alpha, double share) {
        const double slope = alpha * kappa * share;
        write_row(on, row, slope > 0, values, nominal,
                  [&](const auto &at, double *to) { l2_write(at, slope, to); });
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
    CUDA_CHECK(cuda_copy(engine, context, 2 * CUDA_PARTIALS, engine->partials, found));
    sum[0] = 0;
    sum[1] = 0;
    for (int i = 0; i < BLOCKS; i++) {
        sum[0] = largest ? cuda_larger(sum[0], found[i]) : sum[0] + found[i];
        sum[1] += found[CUDA_PARTIALS + i];
    }
cleanup:
    return status;
}

nadir_status cuda_l2_solve(cuda_lmo *lmo, nadir_context *context, double beta)
{
    nadir_status status = NADIR_OK;
    const cuda_engine *engine = lmo->rows->engine;
    l2_step found = {0, 0, 0};
    const auto pass =
        [&](l2_what what,
            double kappa) { /* NaN ends the search where the device failed */
                            double sum[2] = {NAN, NAN};
                            if (lmo->sorted.states > 0) {
                                cuda_simplex_pass(lmo, (int)what, kappa);
                            } else {
                                over_rows(lmo, [&](const auto &rows) {
                                    pass_rows<<<BLOCKS, THREADS>>>(rows, what, kappa, engine->partials);
                                });
                            }
                            status = status != NADIR_OK ? status : cuda_collect(engine, context, false, sum);
                            return make_double2(sum[0], sum[1]);
        };
    if (pass(SETTLE, 0).x > beta * beta) {
        found = l2_find_step(beta, pass);
    }
    lmo->result.found = found.kappa > 0;
    lmo->result.step = found.kappa;
    lmo->result.gain = found.gain;
    lmo->result.norm = found.norm;
    lmo->result.tau = 1 / (2 * found.kappa);
    return status;
}

void cuda_l2_write(const cuda_lmo *lmo, double *values, bool *nominal)
{
    over_rows(lmo, [&](const auto &rows) {
        write_rows<<<BLOCKS, THREADS>>>(rows, lmo->result.step, values, nominal);
    });
}

void cuda_l2_slack(const cuda_lmo *lmo, const cuda_perturbed *perturbed, double range, double tau)
{
    over_rows(lmo, [&](const auto &rows) {
        slack_rows<<<BLOCKS, THREADS>>>(rows, perturbed->values, range, tau, lmo->rows->engine->partials);
    });
}
