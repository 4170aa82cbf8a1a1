/* lmo_rectangular.c: linear minimisation over the rows of a rectangular set; see lmo_rectangular.h. */
#include "sets/lmo_by_state.h"

#include "core/round.h"
#include "linalg/threads.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* The most actions of a state. */
static int64_t most_actions(const nadir_model *model)
{
    int64_t most = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t actions = model->state_rows[s + 1] - model->state_rows[s];
        most = actions > most ? actions : most;
    }
    return most;
}

/* Working space for the rows of any state. */
static int64_t most_room(const nadir_lmo *rows)
{
    const nadir_model *model = rows->model;
    int64_t most = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t room = nadir_lmo_work_size(rows, model->state_rows[s], model->state_rows[s + 1]);
        most = room > most ? room : most;
    }
    return most;
}

static double radius_of(const nadir_lmo_rectangular *lmo, int64_t state, int64_t row)
{
    return lmo->factor * nadir_uncertainty_radius(lmo->problem->uncertainty, state, row);
}

/* All fields that need no memory. */
static void describe(const nadir_problem *problem, double factor, nadir_lmo_rectangular *lmo)
{
    const nadir_model *model = problem->model;
    const nadir_uncertainty *set = problem->uncertainty;
    *lmo = (nadir_lmo_rectangular){.problem = problem,
                                   .factor = factor,
                                   .order.exchange = model->exchange,
                                   .order.unsorted = model->exchange != NULL && !isinf(set->p)};
    lmo->rows = (nadir_lmo){
        .model = problem->model,
        .order = &lmo->order,
        .scales = set->scales,
        .domain = set->domain,
        .p = set->p,
        .q = set->q,
    };
}

nadir_status nadir_lmo_rectangular_make(nadir_context *context, const nadir_problem *problem, double factor,
                                        nadir_lmo_rectangular *lmo)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    describe(problem, factor, lmo);
    lmo->threads = nadir_threads_for(context, 4 * entries);
    lmo->room_each = most_room(&lmo->rows) + most_actions(model) * NADIR_LMO_BOUND_ROOM;
    NADIR_NEW_ZERO(context, lmo->answers, model->rows);
    NADIR_NEW_ZERO(context, lmo->gain, model->states);
    NADIR_NEW(context, lmo->room, lmo->threads * lmo->room_each);
cleanup:
    if (status != NADIR_OK) {
        nadir_lmo_rectangular_clear(context, lmo);
    }
    return status;
}

/* The device's alphas are radii, alpha times that of the row or the state, and its beta is one. p = infinity:
 * it does not matter who shares. */
static nadir_status open_remote(nadir_context *context, nadir_lmo_rectangular *lmo)
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
                                      problem->gamma, problem->policy->probabilities, &lmo->remote));
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
        NADIR_CHECK(open_remote(context, lmo));
    }
    if (lmo->remote.step == NULL) {
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
    nadir_lmo_device_close(&lmo->remote);
    nadir_value_order_clear(context, &lmo->order);
    nadir_release(context, lmo->answers);
    nadir_release(context, lmo->gain);
    nadir_release(context, lmo->room);
    *lmo = (nadir_lmo_rectangular){0};
}

/* Neighbouring rows have similar solutions: a state without one starts from that of the state before. */
static void lend_answers(nadir_lmo_rectangular *lmo, int64_t state)
{
    const int64_t *state_rows = lmo->rows.model->state_rows;
    const int64_t before = state_rows[state] - state_rows[state - 1];
    for (int64_t row = state_rows[state]; row < state_rows[state + 1]; row++) {
        const int64_t place = row - state_rows[state];
        if (!(lmo->answers[row].step > 0)) {
            lmo->answers[row] = lmo->answers[state_rows[state - 1] + (place < before ? place : before - 1)];
        }
    }
}

/* One state: its rows share a budget (s), or each has its own. */
static double answer_state(nadir_lmo_rectangular *lmo, int64_t state, double *room)
{
    const nadir_model *model = lmo->rows.model;
    const double *pi = lmo->problem->policy->probabilities;
    const int64_t first = model->state_rows[state];
    const int64_t end = model->state_rows[state + 1];
    nadir_lmo_budget budget;
    if (lmo->problem->uncertainty->set == NADIR_SET_S) {
        nadir_lmo_solve(&lmo->rows, first, end, pi + first, radius_of(lmo, state, first), room,
                        lmo->answers + first, &budget);
        return budget.gain;
    }
    double gain = 0;
    for (int64_t row = first; row < end; row++) {
        const double weight = pi[row] > 0 ? 1 : 0; /* rows that are never used stay as they are */
        nadir_lmo_solve(&lmo->rows, row, row + 1, &weight, radius_of(lmo, state, row), room,
                        lmo->answers + row, &budget);
        gain += pi[row] * lmo->answers[row].gain;
    }
    return gain;
}

static bool goes_on(nadir_context *context, nadir_status *stopped)
{
    return nadir_progress_team(context, "solving row problems", -1, stopped);
}

/* On the device. Where all rows stay nominal the gains are zero. */
static nadir_status answer_remotely(nadir_context *context, nadir_lmo_rectangular *lmo)
{
    nadir_status status = NADIR_OK;
    nadir_lmo_budget budget;
    NADIR_CHECK(nadir_lmo_device_solve(context, &lmo->remote, &lmo->order, NULL, 1, &budget, &lmo->moves));
    if (lmo->moves) {
        NADIR_CHECK(nadir_lmo_device_gains(context, &lmo->remote, &lmo->order, lmo->gain));
    } else {
        memset(lmo->gain, 0, (size_t)lmo->problem->states * sizeof *lmo->gain);
    }
cleanup:
    return status;
}

nadir_status nadir_lmo_rectangular_kernel(nadir_context *context, const nadir_lmo_rectangular *lmo,
                                          nadir_kernel **kernel)
{
    if (lmo->remote.step == NULL) {
        return nadir_lmo_kernel(context, &lmo->rows, lmo->answers, kernel);
    }
    if (lmo->moves) {
        return nadir_lmo_device_kernel(context, &lmo->remote, kernel);
    }
    nadir_kernel_free(*kernel);
    *kernel = NULL;
    return nadir_kernel_create(context, lmo->problem->model, kernel);
}

nadir_status nadir_lmo_rectangular_solve(nadir_context *context, nadir_lmo_rectangular *lmo, const double *v)
{
    enum {
        STATES = 8
    }; /* a block within which answers are handed on: results do not depend on the number of threads */
    nadir_status status = NADIR_OK;
    const int64_t states = lmo->problem->states;
    NADIR_CHECK(nadir_value_order_make(context, states, v, &lmo->order));
    if (lmo->remote.step != NULL) {
        return answer_remotely(context, lmo);
    }
#pragma omp parallel num_threads(lmo->threads)
    {
        double *room = lmo->room + lmo->room_each * omp_get_thread_num();
#pragma omp for schedule(dynamic)
        for (int64_t first = 0; first < states; first += STATES) {
            const int64_t end = first + STATES < states ? first + STATES : states;
            for (int64_t s = first; s < end && goes_on(context, &status); s++) {
                if (s > first) {
                    lend_answers(lmo, s);
                }
                lmo->gain[s] = answer_state(lmo, s, room);
            }
        }
    }
cleanup:
    return status;
}

nadir_status nadir_lmo_rectangular_leave_device(nadir_context *context, nadir_lmo_rectangular *lmo,
                                                const double *v)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = lmo->problem;
    const double factor = lmo->factor;
    nadir_lmo_rectangular_clear(context, lmo);
    NADIR_CHECK(nadir_lmo_rectangular_make(context, problem, factor, lmo));
    NADIR_CHECK(nadir_lmo_rectangular_solve(context, lmo, v));
cleanup:
    return status;
}

static double bound_state(const nadir_lmo_rectangular *lmo, int64_t state, double *room)
{
    const nadir_model *model = lmo->rows.model;
    const double *pi = lmo->problem->policy->probabilities;
    const int64_t first = model->state_rows[state];
    const int64_t end = model->state_rows[state + 1];
    nadir_lmo_row_bound *bounds = (nadir_lmo_row_bound *)room;
    double *rest = room + (end - first) * NADIR_LMO_BOUND_ROOM;
    double gain = 0;
    for (int64_t row = first; row < end; row++) {
        bounds[row - first] = nadir_lmo_bound(&lmo->rows, row, &lmo->answers[row], rest);
        const double radius =
            nadir_uncertainty_scale(lmo->problem->uncertainty, row) * radius_of(lmo, state, row);
        gain += pi[row] * nadir_lmo_bound_radius(&bounds[row - first], radius);
    }
    if (lmo->problem->uncertainty->set == NADIR_SET_S) {
        /* factor times radius */
        const double beta = nadir_round_up(radius_of(lmo, state, first), 2);
        gain = nadir_lmo_bound_shared(&lmo->rows, first, end, pi + first, beta, bounds);
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
        double *room = lmo->room + lmo->room_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (int64_t s = 0; s < states; s++) {
            if (nadir_progress_team(context, "bounding row problems", -1, &status)) {
                gain[s] = bound_state(lmo, s, room);
            }
        }
    }
    return status;
}
