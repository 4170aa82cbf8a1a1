/*
 * capped.cu: the linear step over all rows, p = infinity; see steps.cu and row_capped.h. Each row has a ball
 * of its own, |Delta| <= alpha beta, so that all that rows share is what is added up of them.
 */
#include "row_capped.h"
#include "rowwise.h"

template <typename ROW>
static __device__ capped_part solve_row(const ROW &row, double r, bool few, capped_pivot *pivot)
{
    *pivot = few ? capped_find_short(row, r) : capped_find_long(row, r);
    return capped_add(row, r, *pivot);
}

/* gains(s) <- sum over a of pi (Phat - X) . x. In the partials sums of w gain and of u |g1|, and the largest
 * |Delta| / alpha. */
static __global__ void __launch_bounds__(THREADS)
    solve_states(cuda_rows of, const double *probabilities, const double *weights, const double *scales,
                 const double *x, double unit, double beta, double *gains, double *partials)
{
    double2 all = {0, 0};
    double largest = 0;
    for (int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x; s < of.states;
         s += (int64_t)BLOCKS * THREADS) {
        double gain = 0;
        for (int64_t row = of.state_rows[s]; row < of.state_rows[s + 1]; row++) {
            const double alpha = scale_of(scales, row);
            const double u = alpha * weights[row] / unit;
            if (!(u > 0)) {
                continue;
            }
            capped_pivot pivot;
            const capped_part part = of.starts[row + 1] - of.starts[row] <= SHORT
                                         ? solve_row(short_row(of, row, x), alpha * beta, true, &pivot)
                                         : solve_row(long_row(of, row, x), alpha * beta, false, &pivot);
            gain += probabilities[row] * part.gain;
            all.x += weights[row] * part.gain;
            all.y += u * part.size;
            largest = fmax(largest, part.largest / alpha);
        }
        gains[s] = gain;
    }
    all = over_block(all);
    largest = block_largest(largest);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = all.x;
        partials[CUDA_PARTIALS + blockIdx.x] = all.y;
        partials[2 * CUDA_PARTIALS + blockIdx.x] = largest;
    }
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
        solve_states<<<BLOCKS, THREADS>>>(*step->rows, step->probabilities, step->weights, step->scales,
                                          step->x, step->answer.unit, beta, step->norms, engine->partials);
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

template <typename ROW> static __device__ void write_row(const ROW &row, double r, bool few, double *to)
{
    capped_pivot pivot;
    const capped_part part = solve_row(row, r, few, &pivot);
    capped_write(row, r, pivot, part.share, to);
}

static __global__ void write_rows(cuda_rows of, const double *weights, const double *scales, const double *x,
                                  double beta, double *values, bool *nominal)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= of.rows) {
        return;
    }
    const double r = scale_of(scales, row) * beta;
    const bool moves = r > 0 && weights[row] > 0;
    const int64_t start = of.starts[row];
    nominal[row] = !moves;
    if (!moves) {
        copy_row(of, row, values);
    } else if (of.starts[row + 1] - start <= SHORT) {
        write_row(short_row(of, row, x), r, true, values + start);
    } else {
        write_row(long_row(of, row, x), r, false, values + start);
    }
}

void cuda_capped_write(const cuda_step *step, double *values, bool *nominal)
{
    write_rows<<<cuda_blocks(step->rows->rows, THREADS), THREADS>>>(
        *step->rows, step->weights, step->scales, step->x, step->answer.step, values, nominal);
}

nadir_status cuda_step_gains(void *self, nadir_context *context, double *gains)
{
    nadir_status status = NADIR_OK;
    const cuda_step *step = (const cuda_step *)self;
    CUDA_TRY(step->rows->engine, context,
             cudaMemcpy(gains, step->gains != NULL ? step->gains : step->norms,
                        (size_t)step->rows->states * sizeof *gains, cudaMemcpyDeviceToHost));
cleanup:
    return status;
}
