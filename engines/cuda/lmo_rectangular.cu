/*
 * lmo_rectangular.cu: the oracle of rectangular sets, 1 <= p < infinity, sparse models, domain support; see
 * row_group.h. Budgets have nothing to do with each other: a thread takes one, that of a row or that of
 * the rows of a state, and solves it to the end. Of each row a few numbers are kept, of which its entries are
 * written when they are wanted.
 */
#include "lmo_rows.h"
#include "row_group.h"

#include <type_traits>

/* Of a smaller radius nothing would be left of products with it. */
#define LEAST (DBL_MIN / DBL_EPSILON)

/* All budgets. */
struct budgets {
    cuda_rows rows;
    double p;
    const double *weights, *scales, *x;
    double beta;
    row_solution *solutions;
};

static budgets budgets_of(const cuda_lmo *lmo, double beta)
{
    return {*lmo->rows, lmo->p, lmo->weights, lmo->scales, lmo->x, beta, lmo->solutions};
}

/* A row as short_row is, for code that is too long to be written out for every entry. */
struct kept_row : thread_row<kept_row> {
    static constexpr bool FEW = true;
    int count;
    double p[SHORT], x[SHORT];
    __device__ kept_row(const cuda_rows &rows, int64_t row, const double *x_of)
    {
        const int64_t start = rows.starts[row];
        double base = 1;
        count = (int)(rows.starts[row + 1] - start);
#pragma unroll 1
        for (int i = 0; i < count; i++) {
            p[i] = rows.values[start + i];
            x[i] = __ldg(x_of + rows.columns[start + i]);
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

template <group_norm KIND> using few = std::conditional_t<KIND == LP, kept_row, short_row>;

/* The rows of a budget. */
template <group_norm KIND> struct budget_rows {
    const budgets &all;
    int64_t first, end;
    double unit; /* the largest alpha w */
    template <typename VISIT> __device__ void each(VISIT visit) const
    {
        for (int64_t row = first; row < end; row++) {
            const double alpha = scale_of(all.scales, row);
            const double u = alpha * all.weights[row] / unit;
            const int64_t count = all.rows.starts[row + 1] - all.rows.starts[row];
            if (!(u > 0) || count == 0) {
                continue;
            }
            if (count <= SHORT) {
                visit(few<KIND>(all.rows, row, all.x), all.solutions[row], alpha, u);
            } else {
                visit(long_row(all.rows, row, all.x), all.solutions[row], alpha, u);
            }
        }
    }
};

/* A budget for each state, or for each row. */
template <group_norm KIND>
static __global__ void __launch_bounds__(THREADS) solve_budgets(budgets all, bool states)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= (states ? all.rows.states : all.rows.rows)) {
        return;
    }
    budget_rows<KIND> group = {all, states ? all.rows.state_rows[i] : i,
                               states ? all.rows.state_rows[i + 1] : i + 1, 0};
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
        group_solve<KIND>(all.p, group, all.beta);
    }
}

template <group_norm KIND> static void solve(const cuda_lmo *lmo, double beta)
{
    const bool states = lmo->budget == NADIR_DEVICE_STATES;
    const int64_t count = states ? lmo->rows->states : lmo->rows->rows;
    solve_budgets<KIND><<<cuda_blocks(count, THREADS), THREADS>>>(budgets_of(lmo, beta), states);
}

nadir_status cuda_rectangular_solve(cuda_lmo *lmo, nadir_context *context, double beta)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = lmo->rows;
    (lmo->p == 1 ? solve<L1> : lmo->p == 2 ? solve<L2> : solve<LP>)(lmo, beta);
    CUDA_LAUNCHED(rows->engine, context);
    lmo->result.found = true;
    lmo->result.step = 0;
cleanup:
    return status;
}

template <group_norm KIND> static __global__ void write_rows(budgets all, double *values, bool *nominal)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= all.rows.rows) {
        return;
    }
    const row_solution solution = all.solutions[row];
    const double alpha = scale_of(all.scales, row);
    const int64_t start = all.rows.starts[row];
    nominal[row] = !(solution.step > 0);
    if (!(solution.step > 0)) {
        copy_row(all.rows, row, values);
    } else if (all.rows.starts[row + 1] - start <= SHORT) {
        group_write<KIND>(all.p, few<KIND>(all.rows, row, all.x), alpha, solution, values + start);
    } else {
        group_write<KIND>(all.p, long_row(all.rows, row, all.x), alpha, solution, values + start);
    }
}

template <group_norm KIND> static void write(const cuda_lmo *lmo, double *values, bool *nominal)
{
    write_rows<KIND><<<cuda_blocks(lmo->rows->rows, THREADS), THREADS>>>(budgets_of(lmo, 0), values, nominal);
}

void cuda_rectangular_write(const cuda_lmo *lmo, double *values, bool *nominal)
{
    (lmo->p == 1 ? write<L1> : lmo->p == 2 ? write<L2> : write<LP>)(lmo, values, nominal);
}
