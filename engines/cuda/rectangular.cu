/*
 * rectangular.cu: linear steps of rectangular sets, 1 <= p < infinity, sparse models, domain support; see
 * row_rectangular.h. Budgets have nothing to do with each other: a thread takes one, that of a row or that of
 * the rows of a state, and solves it to the end. Of each row a few numbers are kept, of which its entries are
 * written when they are wanted.
 */
#include "row_rectangular.h"
#include "rowwise.h"

#include <type_traits>

/* Of a smaller radius nothing would be left of products with it. */
#define LEAST (DBL_MIN / DBL_EPSILON)

/* All budgets. */
struct budgets {
    cuda_rows of;
    power_norm norm;
    const double *weights, *scales, *x;
    double beta;
    row_solution *solutions;
};

static budgets budgets_of(const cuda_step *step, double beta)
{
    return {*step->rows,    {step->p, 1 / (step->p - 1)}, step->weights, step->scales, step->x, beta,
            step->solutions};
}

/* A row as short_row is, for code that is too long to be written out for every entry. */
struct kept_row : thread_row<kept_row> {
    static constexpr bool FEW = true;
    int count;
    double p[SHORT], x[SHORT];
    __device__ kept_row(const cuda_rows &of, int64_t row, const double *x_of)
    {
        const int64_t start = of.starts[row];
        double base = 1;
        count = (int)(of.starts[row + 1] - start);
#pragma unroll 1
        for (int i = 0; i < count; i++) {
            p[i] = of.values[start + i];
            x[i] = __ldg(x_of + of.columns[start + i]);
            base = p[i] > 0 ? fmin(base, x[i]) : base;
        }
#pragma unroll 1
        for (int i = 0; i < count; i++) {
            x[i] -= base;
        }
    }
    template <typename VISIT> __device__ void each(VISIT visit) const
    {
#pragma unroll 1
        for (int i = 0; i < count; i++) {
            visit(p[i], x[i], i);
        }
    }
};

template <shared_kind KIND> using few = std::conditional_t<KIND == POWER, kept_row, short_row>;

/* A row alone. */
template <typename ROW> struct row_alone {
    const ROW row;
    row_solution *solution;
    double alpha;
    template <typename VISIT> __device__ void each(VISIT visit) const
    {
        visit(row, *solution, alpha, 1.0);
    }
};

/* The rows of a state. */
template <shared_kind KIND> struct state_group {
    const budgets &all;
    int64_t first, end;
    double unit; /* the largest alpha w */
    template <typename VISIT> __device__ void each(VISIT visit) const
    {
        for (int64_t row = first; row < end; row++) {
            const double alpha = scale_of(all.scales, row);
            const double u = alpha * all.weights[row] / unit;
            const int64_t count = all.of.starts[row + 1] - all.of.starts[row];
            if (!(u > 0) || count == 0) {
                continue;
            }
            if (count <= SHORT) {
                visit(few<KIND>(all.of, row, all.x), all.solutions[row], alpha, u);
            } else {
                visit(long_row(all.of, row, all.x), all.solutions[row], alpha, u);
            }
        }
    }
};

template <shared_kind KIND> static __global__ void __launch_bounds__(THREADS) solve_rows(budgets all)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= all.of.rows) {
        return;
    }
    const double alpha = scale_of(all.scales, row);
    const int64_t count = all.of.starts[row + 1] - all.of.starts[row];
    row_solution solution = {};
    if (alpha * all.weights[row] > 0 && all.beta * alpha > LEAST && count > 0) {
        solution = all.solutions[row];
        if (count <= SHORT) {
            const row_alone<few<KIND>> group = {few<KIND>(all.of, row, all.x), &solution, alpha};
            shared_solve<KIND>(all.norm, group, all.beta);
        } else {
            const row_alone<long_row> group = {long_row(all.of, row, all.x), &solution, alpha};
            shared_solve<KIND>(all.norm, group, all.beta);
        }
    }
    all.solutions[row] = solution;
}

template <shared_kind KIND> static __global__ void __launch_bounds__(THREADS) solve_states(budgets all)
{
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s >= all.of.states) {
        return;
    }
    state_group<KIND> group = {all, all.of.state_rows[s], all.of.state_rows[s + 1], 0};
    double largest = 0;
    for (int64_t row = group.first; row < group.end; row++) {
        const double alpha = scale_of(all.scales, row);
        const double reach = alpha * all.weights[row];
        largest = reach > 0 ? fmax(largest, alpha) : largest;
        group.unit = fmax(group.unit, reach);
    }
    const bool moves = group.unit > 0 && all.beta * largest > LEAST;
    for (int64_t row = group.first; row < group.end; row++) {
        if (!moves || !(scale_of(all.scales, row) * all.weights[row] / group.unit > 0)) {
            all.solutions[row] = {};
        }
    }
    if (moves) {
        shared_solve<KIND>(all.norm, group, all.beta);
    }
}

/* gains(s) <- sum over a of pi (Phat - X) . x */
static __global__ void add_gains(int64_t states, const int64_t *state_rows, const double *probabilities,
                                 const row_solution *solutions, double *gains)
{
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s < states) {
        double gain = 0;
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            gain += probabilities[row] * solutions[row].gain;
        }
        gains[s] = gain;
    }
}

template <shared_kind KIND> static void solve(const cuda_step *step, double beta)
{
    const budgets all = budgets_of(step, beta);
    if (step->shares == NADIR_DEVICE_STATES) {
        solve_states<KIND><<<cuda_blocks(step->rows->states, THREADS), THREADS>>>(all);
    } else {
        solve_rows<KIND><<<cuda_blocks(step->rows->rows, THREADS), THREADS>>>(all);
    }
}

nadir_status cuda_rectangular_answer(cuda_step *step, nadir_context *context, double beta)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = step->rows;
    (step->p == 1 ? solve<THRESHOLD> : step->p == 2 ? solve<QUADRATIC> : solve<POWER>)(step, beta);
    CUDA_LAUNCHED(rows->engine, context);
    add_gains<<<cuda_blocks(rows->states, THREADS), THREADS>>>(
        rows->states, rows->state_rows, step->probabilities, step->solutions, step->gains);
    CUDA_LAUNCHED(rows->engine, context);
    step->answer.found = true;
    step->answer.step = 0;
cleanup:
    return status;
}

template <shared_kind KIND> static __global__ void write_rows(budgets all, double *values, bool *nominal)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= all.of.rows) {
        return;
    }
    const row_solution solution = all.solutions[row];
    const double alpha = scale_of(all.scales, row);
    const int64_t start = all.of.starts[row];
    nominal[row] = !(solution.step > 0);
    if (!(solution.step > 0)) {
        copy_row(all.of, row, values);
    } else if (all.of.starts[row + 1] - start <= SHORT) {
        shared_write<KIND>(all.norm, few<KIND>(all.of, row, all.x), alpha, solution, values + start);
    } else {
        shared_write<KIND>(all.norm, long_row(all.of, row, all.x), alpha, solution, values + start);
    }
}

template <shared_kind KIND> static void write(const cuda_step *step, double *values, bool *nominal)
{
    write_rows<KIND>
        <<<cuda_blocks(step->rows->rows, THREADS), THREADS>>>(budgets_of(step, 0), values, nominal);
}

void cuda_rectangular_write(const cuda_step *step, double *values, bool *nominal)
{
    (step->p == 1 ? write<THRESHOLD> : step->p == 2 ? write<QUADRATIC> : write<POWER>)(step, values, nominal);
}
