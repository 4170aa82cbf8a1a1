/*
 * lmo_linf.cu: the oracle over all rows, p = infinity; see lmo_l2.cu and row_linf.h. Each row has a ball
 * of its own, |Delta| <= alpha beta, so that all that rows share is what is added up of them.
 */
#include "lmo_rows.h"
#include "row_linf.h"

/* gains(row) <- (Phat - X) . x. In the partials sums of w gain and of u |g1|, and the largest |Delta| /
 * alpha. */
template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    solve_rows(ROWS rows, double beta, double *gains, double *partials)
{
    double2 all = {0, 0};
    double largest = 0;
    rows.each([&](const auto &on, int64_t row, double alpha, double u) {
        const double r = alpha * beta;
        if (!(u > 0 && r > 0)) {
            if (on.is_first()) {
                gains[row] = 0;
            }
            return;
        }
        on.open(row, [&](const auto &at) {
            const linf_part part = linf_add(at, r, linf_find(at, r));
            if (on.is_first()) {
                gains[row] = part.gain;
                all.x += rows.weights[row] * part.gain;
                all.y += u * part.size;
                largest = fmax(largest, part.largest / alpha);
            }
        });
    });
    cuda_leave(true, largest, partials + 2 * CUDA_PARTIALS);
    leave_sums(all, partials);
}

nadir_status cuda_linf_solve(cuda_lmo *lmo, nadir_context *context, double beta)
{
    nadir_status status = NADIR_OK;
    const cuda_engine *engine = lmo->rows->engine;
    double sum[2];
    double found[CUDA_PARTIALS];
    if (lmo->sorted.states > 0) {
        cuda_simplex_linf(lmo, beta);
    } else {
        over_rows(lmo, [&](const auto &rows) {
            solve_rows<<<BLOCKS, THREADS>>>(rows, beta, lmo->norms, engine->partials);
        });
    }
    CUDA_CHECK(cuda_collect(engine, context, false, sum));
    CUDA_CHECK(cuda_copy(engine, context, CUDA_PARTIALS, engine->partials + 2 * CUDA_PARTIALS, found));
    lmo->result.norm = 0;
    for (int i = 0; i < BLOCKS; i++) {
        lmo->result.norm = fmax(lmo->result.norm, found[i]);
    }
    lmo->result.found = true;
    lmo->result.step = beta;
    lmo->result.gain = sum[0];
    lmo->result.tau = sum[1];
cleanup:
    return status;
}

template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    write_rows(ROWS rows, double beta, double *values, bool *nominal)
{
    rows.each([&](const auto &on, int64_t row, double alpha, double u) {
        const double r = alpha * beta;
        write_row(on, row, u > 0 && r > 0, values, nominal,
                  [&](const auto &at, double *to) { linf_write(at, r, to); });
    });
}

void cuda_linf_write(const cuda_lmo *lmo, double *values, bool *nominal)
{
    over_rows(lmo, [&](const auto &rows) {
        write_rows<<<BLOCKS, THREADS>>>(rows, lmo->result.step, values, nominal);
    });
}
