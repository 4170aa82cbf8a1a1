/*
 * capped.cu: the linear step over all rows, p = infinity; see steps.cu and row_capped.h. Each row has a ball
 * of its own, |Delta| <= alpha beta, so that all that rows share is what is added up of them.
 */
#include "row_capped.h"
#include "rowwise.h"

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
            const capped_part part = capped_add(at, r, capped_find(at, r));
            if (on.is_first()) {
                gains[row] = part.gain;
                all.x += rows.weights[row] * part.gain;
                all.y += u * part.size;
                largest = fmax(largest, part.largest / alpha);
            }
        });
    });
    largest = block_largest(largest);
    if (threadIdx.x == 0) {
        partials[2 * CUDA_PARTIALS + blockIdx.x] = largest;
    }
    leave_sums(all, partials);
}

nadir_status cuda_capped_answer(cuda_step *step, nadir_context *context, double beta)
{
    nadir_status status = NADIR_OK;
    const cuda_engine *engine = step->rows->engine;
    double sum[2];
    double found[CUDA_PARTIALS];
    if (step->spread != NULL) {
        cuda_spread_capped(step, beta);
    } else {
        over_rows(step, [&](const auto &rows) {
            solve_rows<<<BLOCKS, THREADS>>>(rows, beta, step->norms, engine->partials);
        });
    }
    CUDA_CHECK(cuda_collect(engine, context, false, sum));
    CUDA_TRY(engine, context,
             cudaMemcpy(found, engine->partials + 2 * CUDA_PARTIALS, sizeof found, cudaMemcpyDeviceToHost));
    step->answer.norm = 0;
    for (int i = 0; i < BLOCKS; i++) {
        step->answer.norm = fmax(step->answer.norm, found[i]);
    }
    step->answer.found = true;
    step->answer.step = beta;
    step->answer.gain = sum[0];
    step->answer.tau = sum[1];
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
                  [&](const auto &at, double *to) { capped_write(at, r, to); });
    });
}

void cuda_capped_write(const cuda_step *step, double *values, bool *nominal)
{
    over_rows(step, [&](const auto &rows) {
        write_rows<<<BLOCKS, THREADS>>>(rows, step->answer.step, values, nominal);
    });
}

/* gains(s) <- sum over a of pi gain. */
static __global__ void add_gains(int64_t states, const int64_t *state_rows, const double *probabilities,
                                 const double *row_gains, double *gains)
{
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s < states) {
        double gain = 0;
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            gain += probabilities[row] * row_gains[row];
        }
        gains[s] = gain;
    }
}

nadir_status cuda_step_gains(void *self, nadir_context *context, double *gains)
{
    nadir_status status = NADIR_OK;
    const cuda_step *step = (const cuda_step *)self;
    const cuda_rows *rows = step->rows;
    cuda_engine *engine = rows->engine;
    const double *from = step->gains;
    if (from == NULL) {
        CUDA_CHECK(cuda_reserve(engine, context, rows->states));
        add_gains<<<cuda_blocks(rows->states, THREADS), THREADS>>>(
            rows->states, rows->state_rows, step->probabilities, step->norms, engine->vectors);
        CUDA_LAUNCHED(engine, context);
        from = engine->vectors;
    }
    CUDA_TRY(engine, context,
             cudaMemcpy(gains, from, (size_t)rows->states * sizeof *gains, cudaMemcpyDeviceToHost));
cleanup:
    return status;
}
