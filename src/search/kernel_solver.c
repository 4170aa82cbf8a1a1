/*
 * kernel_solver.c: v = D_P R_P^pi, d = D_P^T mu and J = mu . v under one kernel P after another, and convex
 * combinations of kernels; see kernel_solver.h.
 */
#include "search/kernel_solver.h"

#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "model/kernel.h"
#include "model/landing.h"

#include <math.h>
#include <string.h>

/* Relative error of iterative solves, or this multiple of the nominal one where that is smaller: rounding is more.
 * Rows of norm 3 move with the root of a change of v: with 1e-13 kernels depended on the backend by 3e-7, with 1e-11
 * by 3e-6 (tests/unit/test_agreement.c). */
#define TOLERANCE 1e-15
#define TIMES     10
/* Residual that a few steps aim at, relative to the first, and above which their result is discarded. */
#define APPROACHED 3e-2
#define REMOTE     0.3

void nadir_kernel_solver_clear(nadir_context *context, nadir_kernel_solver *solver)
{
    nadir_occupancy_free(context, solver->occupancy);
    nadir_release(context, solver->R);
    solver->occupancy = NULL;
    solver->kernel = NULL;
    solver->R = NULL;
}

/* Whether solves do without the nominal operator: nested iterations cost more than plain ones. */
static bool goes_alone(const nadir_problem *problem)
{
    const nadir_occupancy *nominal = problem->occupancy;
    return !nadir_occupancy_has(nominal, NADIR_BACKEND_DIRECT) &&
           !(nadir_occupancy_has(nominal, NADIR_BACKEND_FACTORS_DENSE) && problem->model->dense != NULL);
}

/* An operator of the kernel's own. */
static nadir_status set_alone(nadir_context *context, nadir_kernel_solver *solver, const nadir_kernel *kernel)
{
    const nadir_problem *problem = solver->problem;
    const double tolerance = fmin(TOLERANCE, TIMES * nadir_occupancy_tolerance(problem->occupancy));
    return solver->occupancy != NULL
               ? nadir_occupancy_update(context, solver->occupancy, kernel, problem->policy)
               : nadir_occupancy_create_like(context, problem->occupancy, kernel, problem->policy, tolerance,
                                             &solver->occupancy);
}

/* What the kernel pays. */
static nadir_status set_rewards(nadir_context *context, nadir_kernel_solver *solver,
                                const nadir_kernel *kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = solver->problem;
    if (solver->R == NULL) {
        NADIR_NEW(context, solver->R, 2 * problem->states);
    }
    double *more = solver->R + problem->states;
    nadir_kernel_landings(context, kernel, problem->policy, problem->sign, more);
    for (int64_t s = 0; s < problem->states; s++) {
        solver->R[s] = problem->R[s] + more[s];
    }
cleanup:
    return status;
}

static nadir_status set_operator(nadir_context *context, nadir_kernel_solver *solver,
                                 const nadir_kernel *kernel)
{
    const nadir_problem *problem = solver->problem;
    solver->kernel = NULL;
    if (!goes_alone(problem)) {
        bool done = false;
        if (solver->occupancy != NULL) {
            NADIR_TRY(
                nadir_occupancy_perturb_again(context, solver->occupancy, kernel, problem->policy, &done));
        }
        if (!done) {
            nadir_kernel_solver_clear(context, solver);
            NADIR_TRY(nadir_occupancy_perturb(context, problem->occupancy, kernel, problem->policy,
                                              &solver->occupancy));
        }
        solver->kernel = kernel;
        return NADIR_OK;
    }
    nadir_status status = set_alone(context, solver, kernel);
    if (status == NADIR_ERROR_MEMORY && solver->occupancy != NULL &&
        nadir_occupancy_has(solver->occupancy,
                            NADIR_BACKEND_DEVICE)) { /* an update that does not fit there */
        nadir_kernel_solver_clear(context, solver);
        status = set_alone(context, solver, kernel);
    }
    NADIR_TRY(status);
    solver->kernel = kernel;
    return NADIR_OK;
}

nadir_status nadir_kernel_solver_set(nadir_context *context, nadir_kernel_solver *solver,
                                     const nadir_kernel *kernel)
{
    const nadir_status status = set_operator(context, solver, kernel);
    return status == NADIR_OK && solver->problem->landing != 0 ? set_rewards(context, solver, kernel)
                                                               : status;
}

nadir_status nadir_kernel_solver_value(nadir_context *context, nadir_kernel_solver *solver, double *v,
                                       double *d)
{
    const nadir_problem *problem = solver->problem;
    const double *R = nadir_kernel_solver_rewards(solver);
    NADIR_TRY(nadir_occupancy_solve(context, solver->occupancy, 1, R, v, NULL));
    return d != NULL ? nadir_occupancy_solve_transposed(context, solver->occupancy, 1, problem->mu, d, NULL)
                     : NADIR_OK;
}

nadir_status nadir_kernel_solver_improve(nadir_context *context, nadir_kernel_solver *solver, double *v,
                                         double *d)
{
    const nadir_problem *problem = solver->problem;
    const double *R = nadir_kernel_solver_rewards(solver);
    NADIR_TRY(nadir_occupancy_improve(context, solver->occupancy, false, 1, R, 0, v, NULL));
    return nadir_occupancy_improve(context, solver->occupancy, true, 1, problem->mu, 0, d, NULL);
}

nadir_status nadir_kernel_solver_approach(nadir_context *context, nadir_kernel_solver *solver, double *v,
                                          double *d, double *J)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = solver->problem;
    const int64_t states = problem->states;
    double left_v;
    double left_d;
    double error;
    double *r = NULL;
    const double *R = nadir_kernel_solver_rewards(solver);
    NADIR_NEW(context, r, 2 * states);
    NADIR_CHECK(
        nadir_occupancy_solve_partial(context, solver->occupancy, false, R, APPROACHED, v, r, &left_v));
    NADIR_CHECK(nadir_occupancy_solve_partial(context, solver->occupancy, true, problem->mu, APPROACHED, d,
                                              r + states, &left_d));
    if (!(left_v <= REMOTE && left_d <= REMOTE)) {
        NADIR_CHECK(nadir_kernel_solver_value(context, solver, v, d));
        memset(r, 0, (size_t)states * sizeof *r);
    }
    /* mu . (v* - v) = d* . r */
    *J = nadir_global_dot(context, states, problem->mu, v, &error) +
         nadir_global_dot(context, states, d, r, &error);
cleanup:
    nadir_release(context, r);
    return status;
}

/* ----------------------------------------------------------- convex combinations of two kernels */

typedef struct mixture {
    double t;
    nadir_explicit from, to;
    int64_t *rows;
    int64_t *starts;
    int32_t *columns;
    double *values;
    size_t capacity; /* of columns and values, each */
    size_t values_capacity;
    int64_t count, entries;
} mixture;

/* Appends a + t (b - a), both by rising column. In this form equal rows stay exactly equal, pinned ones among
 * them, and nothing becomes negative. */
static void add_rows(mixture *mix, const nadir_row *a, const nadir_row *b)
{
    int64_t i = 0;
    int64_t j = 0;
    while (i < a->count || j < b->count) {
        const bool from = j == b->count || (i < a->count && a->columns[i] <= b->columns[j]);
        const bool to = i == a->count || (j < b->count && b->columns[j] <= a->columns[i]);
        mix->columns[mix->entries] = from ? a->columns[i] : b->columns[j];
        const double before = from ? a->values[i] : 0;
        mix->values[mix->entries] = before + mix->t * ((to ? b->values[j] : 0) - before);
        mix->entries += mix->values[mix->entries] != 0;
        i += from;
        j += to;
    }
}

/* Roundings of many mixtures add up: rows sum to one again where they show. */
static void normalise(const mixture *mix, int64_t first)
{
    const double sum = nadir_vector_sum(mix->entries - first, mix->values + first);
    for (int64_t i = first; fabs(sum - 1) > 4 * NADIR_SUM_ROUNDING && i < mix->entries; i++) {
        mix->values[i] /= sum;
    }
}

static bool is_nominal(const nadir_row *nominal, const mixture *mix, int64_t first)
{
    int64_t index = first;
    for (int64_t i = 0; i < nominal->count; i++) {
        if (nominal->values[i] != 0) {
            if (index == mix->entries || mix->columns[index] != nadir_row_column(nominal, i) ||
                mix->values[index] != nominal->values[i]) {
                return false;
            }
            index++;
        }
    }
    return index == mix->entries;
}

static nadir_status mix_rows(nadir_context *context, const nadir_model *model, mixture *mix)
{
    nadir_status status = NADIR_OK;
    mix->starts[0] = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row a = nadir_explicit_row(&mix->from, row);
        const nadir_row b = nadir_explicit_row(&mix->to, row);
        const nadir_row nominal = nadir_model_row(model, row);
        const int64_t first = mix->entries;
        NADIR_RESERVE(context, mix->columns, mix->entries + a.count + b.count, mix->capacity);
        NADIR_RESERVE(context, mix->values, mix->entries + a.count + b.count, mix->values_capacity);
        add_rows(mix, &a, &b);
        if (is_nominal(&nominal, mix, first)) {
            mix->entries = first;
            continue;
        }
        normalise(mix, first);
        mix->rows[mix->count++] = row;
        mix->starts[mix->count] = mix->entries;
    }
cleanup:
    return status;
}

static bool are_on_support(const nadir_model *model, const nadir_kernel *from, const nadir_kernel *to)
{
    bool are = model->dense == NULL;
    for (int64_t row = 0; row < model->rows && are; row++) {
        are = nadir_kernel_on_support(from, row) != NULL && nadir_kernel_on_support(to, row) != NULL;
    }
    return are;
}

/* The same for kernels with the successors of the model. */
static nadir_status mix_on_support(nadir_context *context, nadir_model *model, const nadir_kernel *from,
                                   const nadir_kernel *to, double t, nadir_kernel **mixed)
{
    NADIR_TRY(nadir_kernel_create_blank(context, model, false, mixed));
    const nadir_perturbed *perturbed = nadir_kernel_perturbed(*mixed);
    const int threads = nadir_threads_for(context, 2 * model->nonzeros);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row nominal = nadir_model_row(model, row);
        const double *a = nadir_kernel_on_support(from, row);
        const double *b = nadir_kernel_on_support(to, row);
        double *values = perturbed->values + model->row_starts[row];
        bool same = true;
        for (int64_t i = 0; i < nominal.count; i++) {
            values[i] = a[i] + t * (b[i] - a[i]);
            same = same && values[i] == nominal.values[i];
        }
        perturbed->nominal[row] = same;
    }
    return NADIR_OK;
}

nadir_status nadir_kernel_mix(nadir_context *context, nadir_model *model, const nadir_kernel *from,
                              const nadir_kernel *to, double t, nadir_kernel **mixed)
{
    nadir_status status = NADIR_OK;
    mixture mix = {.t = t};
    if (are_on_support(model, from, to)) {
        return mix_on_support(context, model, from, to, t, mixed);
    }
    NADIR_NEW(context, mix.rows, model->rows);
    NADIR_NEW(context, mix.starts, model->rows + 1);
    NADIR_CHECK(nadir_explicit_make(context, from, &mix.from));
    NADIR_CHECK(nadir_explicit_make(context, to, &mix.to));
    NADIR_CHECK(mix_rows(context, model, &mix));
    const nadir_changed_rows changed = {mix.count, mix.rows, mix.starts, mix.columns, mix.values};
    NADIR_CHECK(nadir_kernel_create_changed(context, model, &changed, mixed));
cleanup:
    nadir_explicit_clear(context, &mix.from);
    nadir_explicit_clear(context, &mix.to);
    nadir_release(context, mix.rows);
    nadir_release(context, mix.starts);
    nadir_release(context, mix.columns);
    nadir_release(context, mix.values);
    return status;
}
