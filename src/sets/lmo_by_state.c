/*
 * lmo_by_state.c: linear minimisation state by state, threaded: over the rows of a rectangular set, and with
 * a penalty on the change of rows; see lmo_by_state.h.
 */
#include "sets/lmo_by_state.h"

#include "core/round.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* Numbers that the bound of a row takes, and its solution. */
#define BOUND_SIZE    ((int64_t)(sizeof(nadir_lmo_row_bound) / sizeof(double)))
#define SOLUTION_SIZE ((int64_t)(sizeof(nadir_lmo_solution) / sizeof(double)))
_Static_assert(sizeof(nadir_lmo_solution) % sizeof(double) == 0, "solutions are put into arrays of numbers");

/* Working space for the rows of any state: that of their problems, and `each` more for every row. */
static int64_t most_work(const nadir_lmo *rows, int64_t each)
{
    const nadir_model *model = rows->model;
    int64_t most = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t end = model->state_rows[s + 1];
        const int64_t work = nadir_lmo_work_size(rows, first, end) + (end - first) * each;
        most = work > most ? work : most;
    }
    return most;
}

/* ---------------------------------------------------------------------------- rectangular balls */

static double radius_of(const nadir_lmo_rectangular *lmo, int64_t state, int64_t row)
{
    return lmo->factor * nadir_uncertainty_radius(lmo->problem->uncertainty, state, row);
}

/* All fields that need no memory. */
static void describe(const nadir_problem *problem, double factor, nadir_lmo_rectangular *lmo)
{
    const nadir_model *model = problem->model;
    const nadir_uncertainty *set = problem->uncertainty;
    *lmo = (nadir_lmo_rectangular){.problem = problem, .factor = factor, .order.exchange = model->exchange};
    lmo->rows = nadir_lmo_make(problem->model, &lmo->order, set, problem->landing);
    lmo->order.unsorted = !nadir_lmo_sorts(&lmo->rows);
}

nadir_status nadir_lmo_rectangular_make(nadir_context *context, const nadir_problem *problem, double factor,
                                        nadir_lmo_rectangular *lmo)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    describe(problem, factor, lmo);
    lmo->threads = nadir_threads_for(context, 4 * entries);
    lmo->work_each = most_work(&lmo->rows, BOUND_SIZE);
    NADIR_NEW_ZERO(context, lmo->solutions, model->rows);
    NADIR_NEW_ZERO(context, lmo->gain, model->states);
    NADIR_NEW(context, lmo->work, lmo->threads * lmo->work_each);
cleanup:
    if (status != NADIR_OK) {
        nadir_lmo_rectangular_clear(context, lmo);
    }
    return status;
}

/* The device's alphas are radii, alpha times that of the row or the state, and its beta is one. p = infinity:
 * it does not matter who shares. */
static nadir_status open_on_device(nadir_context *context, nadir_lmo_rectangular *lmo)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = lmo->problem;
    const nadir_model *model = problem->model;
    double *reach = NULL;
    NADIR_NEW(context, reach, model->rows);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            reach[row] = nadir_uncertainty_scale(problem->uncertainty, row) * radius_of(lmo, s, row);
        }
    }
    nadir_lmo rows = lmo->rows;
    rows.scales = reach;
    const bool share = problem->uncertainty->set == NADIR_SET_S && !isinf(rows.p);
    NADIR_CHECK(nadir_lmo_device_open(context, &rows, share ? NADIR_DEVICE_STATES : NADIR_DEVICE_ROWS,
                                      problem->gamma, problem->policy->probabilities, &lmo->device_lmo));
cleanup:
    nadir_release(context, reach);
    return status;
}

nadir_status nadir_lmo_rectangular_make_on_device(nadir_context *context, const nadir_problem *problem,
                                                  double factor, nadir_lmo_rectangular *lmo)
{
    nadir_status status = NADIR_OK;
    describe(problem, factor, lmo);
    if (context->device != NULL && (lmo->rows.domain == NADIR_DOMAIN_SUPPORT || isinf(lmo->rows.p))) {
        NADIR_CHECK(open_on_device(context, lmo));
    }
    if (lmo->device_lmo.step == NULL) {
        return nadir_lmo_rectangular_make(context, problem, factor, lmo);
    }
    lmo->order.unsorted = true;
    NADIR_NEW_ZERO(context, lmo->gain, problem->states);
cleanup:
    if (status != NADIR_OK) {
        nadir_lmo_rectangular_clear(context, lmo);
    }
    return status;
}

void nadir_lmo_rectangular_clear(nadir_context *context, nadir_lmo_rectangular *lmo)
{
    nadir_lmo_device_close(&lmo->device_lmo);
    nadir_value_order_clear(context, &lmo->order);
    nadir_release(context, lmo->solutions);
    nadir_release(context, lmo->gain);
    nadir_release(context, lmo->work);
    *lmo = (nadir_lmo_rectangular){0};
}

/* Neighbouring rows have similar solutions: a state without one starts from that of the state before. */
static void lend_solutions(nadir_lmo_rectangular *lmo, int64_t state)
{
    const int64_t *state_rows = lmo->rows.model->state_rows;
    const int64_t before = state_rows[state] - state_rows[state - 1];
    for (int64_t row = state_rows[state]; row < state_rows[state + 1]; row++) {
        const int64_t place = row - state_rows[state];
        if (!(lmo->solutions[row].step > 0)) {
            lmo->solutions[row] =
                lmo->solutions[state_rows[state - 1] + (place < before ? place : before - 1)];
        }
    }
}

/* One state: its rows share a budget (s), or each has its own. */
static double solve_state(nadir_lmo_rectangular *lmo, int64_t state, double *work)
{
    const nadir_model *model = lmo->rows.model;
    const double *pi = lmo->problem->policy->probabilities;
    const int64_t first = model->state_rows[state];
    const int64_t end = model->state_rows[state + 1];
    nadir_lmo_budget budget;
    if (lmo->problem->uncertainty->set == NADIR_SET_S) {
        nadir_lmo_solve(&lmo->rows, first, end, pi + first, radius_of(lmo, state, first), work,
                        lmo->solutions + first, &budget);
        return budget.gain;
    }
    double gain = 0;
    for (int64_t row = first; row < end; row++) {
        const double weight = pi[row] > 0 ? 1 : 0; /* rows that are never used stay as they are */
        nadir_lmo_solve(&lmo->rows, row, row + 1, &weight, radius_of(lmo, state, row), work,
                        lmo->solutions + row, &budget);
        gain += pi[row] * lmo->solutions[row].gain;
    }
    return gain;
}

static bool goes_on(nadir_context *context, nadir_status *stopped)
{
    return nadir_progress_team(context, "solving row problems", -1, stopped);
}

/* On the device. Where all rows stay nominal the gains are zero. */
static nadir_status solve_on_device(nadir_context *context, nadir_lmo_rectangular *lmo)
{
    nadir_lmo_budget budget;
    NADIR_TRY(nadir_lmo_device_solve(context, &lmo->device_lmo, &lmo->order, NULL, 1, &budget, &lmo->moves));
    if (lmo->moves) {
        NADIR_TRY(nadir_lmo_device_gains(context, &lmo->device_lmo, &lmo->order, lmo->gain));
    } else {
        memset(lmo->gain, 0, (size_t)lmo->problem->states * sizeof *lmo->gain);
    }
    return NADIR_OK;
}

nadir_status nadir_lmo_rectangular_kernel(nadir_context *context, const nadir_lmo_rectangular *lmo,
                                          nadir_kernel **kernel)
{
    if (lmo->device_lmo.step == NULL) {
        return nadir_lmo_kernel(context, &lmo->rows, lmo->solutions, kernel);
    }
    if (lmo->moves) {
        return nadir_lmo_device_kernel(context, &lmo->device_lmo, kernel);
    }
    nadir_kernel_free(*kernel);
    *kernel = NULL;
    return nadir_kernel_create(context, lmo->problem->model, kernel);
}

nadir_status nadir_lmo_rectangular_solve(nadir_context *context, nadir_lmo_rectangular *lmo, const double *v)
{
    enum {
        STATES = 8
    }; /* a block within which solutions are handed on: results do not depend on the number of threads */
    nadir_status status = NADIR_OK;
    const int64_t states = lmo->problem->states;
    NADIR_TRY(nadir_value_order_make(context, states, v, &lmo->order));
    if (lmo->device_lmo.step != NULL) {
        return solve_on_device(context, lmo);
    }
#pragma omp parallel num_threads(lmo->threads)
    {
        double *work = lmo->work + lmo->work_each * omp_get_thread_num();
#pragma omp for schedule(dynamic)
        for (int64_t first = 0; first < states; first += STATES) {
            const int64_t end = first + STATES < states ? first + STATES : states;
            for (int64_t s = first; s < end && goes_on(context, &status); s++) {
                if (s > first) {
                    lend_solutions(lmo, s);
                }
                lmo->gain[s] = solve_state(lmo, s, work);
            }
        }
    }
    return status;
}

nadir_status nadir_lmo_rectangular_leave_device(nadir_context *context, nadir_lmo_rectangular *lmo,
                                                const double *v)
{
    const nadir_problem *problem = lmo->problem;
    const double factor = lmo->factor;
    nadir_lmo_rectangular_clear(context, lmo);
    NADIR_TRY(nadir_lmo_rectangular_make(context, problem, factor, lmo));
    return nadir_lmo_rectangular_solve(context, lmo, v);
}

static double bound_state(const nadir_lmo_rectangular *lmo, int64_t state, double *work)
{
    const nadir_model *model = lmo->rows.model;
    const double *pi = lmo->problem->policy->probabilities;
    const int64_t first = model->state_rows[state];
    const int64_t end = model->state_rows[state + 1];
    nadir_lmo_row_bound *bounds = (nadir_lmo_row_bound *)work;
    double *rest = work + (end - first) * BOUND_SIZE;
    double gain = 0;
    for (int64_t row = first; row < end; row++) {
        bounds[row - first] = nadir_lmo_bound(&lmo->rows, row, &lmo->solutions[row], rest);
        const double radius =
            nadir_uncertainty_scale(lmo->problem->uncertainty, row) * radius_of(lmo, state, row);
        gain += pi[row] * nadir_lmo_bound_radius(&bounds[row - first], radius);
    }
    if (lmo->problem->uncertainty->set == NADIR_SET_S) {
        /* factor times radius */
        const double beta = nadir_round_up(radius_of(lmo, state, first), 2);
        gain = nadir_lmo_bound_shared(&lmo->rows, first, end, pi + first, beta, 0, bounds);
    }
    /* a sum over the actions of a state */
    return nadir_round_up(gain, 2 * (double)(end - first + 4));
}

nadir_status nadir_lmo_rectangular_bound(nadir_context *context, const nadir_lmo_rectangular *lmo,
                                         double *gain)
{
    nadir_status status = NADIR_OK;
    const int64_t states = lmo->problem->states;
#pragma omp parallel num_threads(lmo->threads)
    {
        double *work = lmo->work + lmo->work_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (int64_t s = 0; s < states; s++) {
            if (nadir_progress_team(context, "bounding row problems", -1, &status)) {
                gain[s] = bound_state(lmo, s, work);
            }
        }
    }
    return status;
}

/* ------------------------------------------------------------------------------------ penalised */

nadir_status nadir_lmo_penalized_make(nadir_context *context, const nadir_problem *problem, double beta,
                                      const double *d_bar, nadir_lmo_penalized *lmo)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    *lmo = (nadir_lmo_penalized){.problem = problem, .beta = beta, .d_bar = d_bar};
    lmo->rows = nadir_lmo_make(problem->model, &lmo->order, set, problem->landing);
    lmo->order.unsorted = !nadir_lmo_sorts(&lmo->rows);
    lmo->threads = nadir_threads_for(context, 4 * entries);
    /* a weight, a norm, a bound and a solution for each row */
    lmo->work_each = most_work(&lmo->rows, BOUND_SIZE + SOLUTION_SIZE + 2);
    if (!nadir_lmo_streamed_applies(&lmo->rows)) {
        NADIR_NEW_ZERO(context, lmo->solutions, model->rows);
    }
    NADIR_NEW_ZERO(context, lmo->taken, model->states);
    NADIR_NEW_ZERO(context, lmo->norms, model->states);
    NADIR_NEW(context, lmo->work, lmo->threads * lmo->work_each);
cleanup:
    if (status != NADIR_OK) {
        nadir_lmo_penalized_clear(context, lmo);
    }
    return status;
}

void nadir_lmo_penalized_clear(nadir_context *context, nadir_lmo_penalized *lmo)
{
    nadir_value_order_clear(context, &lmo->order);
    nadir_release(context, lmo->solutions);
    nadir_release(context, lmo->taken);
    nadir_release(context, lmo->norms);
    nadir_release(context, lmo->work);
    *lmo = (nadir_lmo_penalized){0};
}

double nadir_lmo_penalized_cost(const nadir_lmo_penalized *lmo, double tau, int64_t state, double norm)
{
    const double p = lmo->rows.p;
    /* the penalty enters before the power: norms of rows with small scales have powers beyond the numbers */
    return norm > 0 ? nadir_power(nadir_power(tau / lmo->d_bar[state], 1 / p) * norm, p) : 0;
}

static double cap_of(const nadir_lmo_penalized *lmo, int64_t state)
{
    return lmo->caps != NULL ? fmin(lmo->beta, lmo->caps[state]) : lmo->beta;
}

/* Where the solutions of a state are stored; *work: the work space left. */
static nadir_lmo_solution *solutions_of(const nadir_lmo_penalized *lmo, int64_t state, double **work)
{
    const nadir_model *model = lmo->rows.model;
    const int64_t first = model->state_rows[state];
    const int64_t count = model->state_rows[state + 1] - first;
    nadir_lmo_solution *own = (nadir_lmo_solution *)*work;
    if (lmo->solutions != NULL) {
        return lmo->solutions + first;
    }
    memset(own, 0, (size_t)count * sizeof *own);
    *work += count * SOLUTION_SIZE;
    return own;
}

/* Each row by itself. Where together they use more than beta, or the cap, they share it, at its cost. */
static double solve_penalized_state(const nadir_lmo_penalized *lmo, double tau, int64_t state,
                                    nadir_lmo_solution *solutions, double *work, double *norm)
{
    const nadir_lmo *rows = &lmo->rows;
    const int64_t first = rows->model->state_rows[state];
    const int64_t count = rows->model->state_rows[state + 1] - first;
    const double cap = cap_of(lmo, state);
    const bool entered = lmo->d_bar[state] > 0 && cap > 0;
    const double price = tau / lmo->d_bar[state];
    double *weights = work;
    double *norms = work + count;
    double *rest = work + 2 * count;
    double taken = 0;
    for (int64_t i = 0; i < count; i++) {
        weights[i] = entered ? lmo->problem->gamma * lmo->problem->policy->probabilities[first + i] : 0;
        if (weights[i] > 0) {
            nadir_lmo_solve_penalized(rows, first + i, weights[i], price, rest, &solutions[i]);
        } else {
            solutions[i] = (nadir_lmo_solution){0};
        }
        norms[i] = solutions[i].norm;
        taken += weights[i] * solutions[i].gain - nadir_lmo_penalized_cost(lmo, tau, state, norms[i]);
    }
    *norm = nadir_norm_short(count, norms, rows->p);
    if (*norm > cap) {
        nadir_lmo_budget budget;
        nadir_lmo_solve(rows, first, first + count, weights, cap, rest, solutions, &budget);
        taken = budget.gain - nadir_lmo_penalized_cost(lmo, tau, state, budget.norm);
        *norm = budget.norm;
    }
    return taken > 0 ? taken : 0;
}

nadir_status nadir_lmo_penalized_solve(nadir_context *context, nadir_lmo_penalized *lmo, double tau,
                                       const double *v)
{
    const int64_t states = lmo->problem->states;
    NADIR_TRY(nadir_value_order_make(context, states, v, &lmo->order));
#pragma omp parallel num_threads(lmo->threads)
    {
        double *work = lmo->work + lmo->work_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (int64_t s = 0; s < states; s++) {
            double *rest = work;
            nadir_lmo_solution *solutions = solutions_of(lmo, s, &rest);
            lmo->taken[s] = solve_penalized_state(lmo, tau, s, solutions, rest, &lmo->norms[s]);
        }
    }
    return NADIR_OK;
}

nadir_status nadir_lmo_penalized_kernel(nadir_context *context, nadir_lmo_penalized *lmo, double tau,
                                        nadir_kernel **kernel)
{
    const nadir_model *model = lmo->rows.model;
    nadir_perturbed *perturbed;
    if (lmo->solutions != NULL) {
        return nadir_lmo_kernel(context, &lmo->rows, lmo->solutions, kernel);
    }
    NADIR_TRY(nadir_lmo_kernel_blank(context, &lmo->rows, kernel, &perturbed));
#pragma omp parallel num_threads(lmo->threads)
    {
        double *work = lmo->work + lmo->work_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (int64_t s = 0; s < model->states; s++) {
            double norm;
            double *rest = work;
            nadir_lmo_solution *solutions = solutions_of(lmo, s, &rest);
            (void)solve_penalized_state(lmo, tau, s, solutions, rest, &norm);
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                nadir_lmo_kernel_fill(&lmo->rows, row, &solutions[row - model->state_rows[s]], perturbed);
            }
        }
    }
    return NADIR_OK;
}

/* At least what the rows of a state can take: weights are rounded up and the penalty down. Underflow costs
 * less than the least normal number. */
static double bound_penalized(const nadir_lmo_penalized *lmo, double tau, int64_t state, double *work)
{
    const nadir_lmo *rows = &lmo->rows;
    const int64_t first = rows->model->state_rows[state];
    const int64_t count = rows->model->state_rows[state + 1] - first;
    const double *pi = lmo->problem->policy->probabilities + first;
    /* rounded down, and 0 where it underflows */
    const double price = fmax(0, nadir_round_down(fmin(DBL_MAX, tau / lmo->d_bar[state]), 4) - DBL_MIN);
    double taken = 0;
    if (!(lmo->d_bar[state] > 0)) {
        return 0;
    }
    nadir_lmo_solution *solutions = solutions_of(lmo, state, &work);
    if (lmo->solutions == NULL) {
        double norm;
        (void)solve_penalized_state(lmo, tau, state, solutions, work, &norm);
    }
    double *weights = work;
    nadir_lmo_row_bound *bounds = (nadir_lmo_row_bound *)(work + count);
    double *rest = work + count * (BOUND_SIZE + 1);
    for (int64_t i = 0; i < count; i++) {
        weights[i] = pi[i] > 0 ? nadir_round_up(lmo->problem->gamma * pi[i], 4) + DBL_MIN : 0;
        nadir_lmo_solution hint = solutions[i];
        if (rows->p ==
            1) { /* at 2 / step = range nothing moves; a larger multiplier only loosens the bound */
            hint.step = fmax(hint.step, 2);
        }
        bounds[i] = nadir_lmo_bound(rows, first + i, &hint, rest);
        taken += nadir_lmo_bound_penalized(rows, first + i, weights[i], price, &bounds[i]);
    }
    const double capped = nadir_lmo_bound_shared(rows, first, first + count, weights,
                                                 nadir_round_up(cap_of(lmo, state), 2), price, bounds);
    return fmin(nadir_round_up(taken, 2 * (double)(count + 4)), capped);
}

void nadir_lmo_penalized_bound(const nadir_lmo_penalized *lmo, double tau, double *taken)
{
    const int64_t states = lmo->problem->states;
#pragma omp parallel num_threads(lmo->threads)
    {
        double *work = lmo->work + lmo->work_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (int64_t s = 0; s < states; s++) {
            taken[s] = bound_penalized(lmo, tau, s, work);
        }
    }
}
