/* lmo_rectangular.c: the answers of all rows to a value; see lmo_rectangular.h. */
#include "adversary/sets/lmo_rectangular.h"

#include "base/round.h"
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

static double radius_of(const nadir_lmo_rectangular *worst, int64_t state, int64_t row)
{
    return worst->factor * nadir_uncertainty_radius(worst->problem->uncertainty, state, row);
}

/* What the struct says before anything is taken for it. */
static void describe(const nadir_problem *problem, double factor, nadir_lmo_rectangular *worst)
{
    const nadir_model *model = problem->model;
    const nadir_uncertainty *set = problem->uncertainty;
    *worst = (nadir_lmo_rectangular){.problem = problem,
                                     .factor = factor,
                                     .order.exchange = model->exchange,
                                     .order.unsorted = model->exchange != NULL && !isinf(set->p)};
    worst->rows = (nadir_lmo){
        .model = problem->model,
        .order = &worst->order,
        .scales = set->scales,
        .domain = set->domain,
        .p = set->p,
        .q = set->q,
    };
}

nadir_status nadir_lmo_rectangular_make(nadir_context *context, const nadir_problem *problem, double factor,
                                        nadir_lmo_rectangular *worst)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    describe(problem, factor, worst);
    worst->threads = nadir_threads_for(context, 4 * entries);
    worst->room_each = most_room(&worst->rows) + most_actions(model) * NADIR_LMO_BOUND_ROOM;
    NADIR_NEW_ZERO(context, worst->answers, model->rows);
    NADIR_NEW_ZERO(context, worst->gain, model->states);
    NADIR_NEW(context, worst->room, worst->threads * worst->room_each);
cleanup:
    if (status != NADIR_OK) {
        nadir_lmo_rectangular_clear(context, worst);
    }
    return status;
}

/* The device's alphas are radii, alpha times that of the row or the state, and its beta is one. p = infinity:
 * it does not matter who shares. */
static nadir_status open_remote(nadir_context *context, nadir_lmo_rectangular *worst)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = worst->problem;
    const nadir_model *model = problem->model;
    double *reach = NULL;
    NADIR_NEW(context, reach, model->rows);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            reach[row] = nadir_uncertainty_scale(problem->uncertainty, row) * radius_of(worst, s, row);
        }
    }
    nadir_lmo rows = worst->rows;
    rows.scales = reach;
    const bool share = problem->uncertainty->set == NADIR_SET_S && !isinf(rows.p);
    NADIR_CHECK(nadir_lmo_device_open(context, &rows, share ? NADIR_DEVICE_STATES : NADIR_DEVICE_ROWS,
                                      problem->gamma, problem->policy->probabilities, &worst->remote));
cleanup:
    nadir_release(context, reach);
    return status;
}

nadir_status nadir_lmo_rectangular_make_remote(nadir_context *context, const nadir_problem *problem,
                                               double factor, nadir_lmo_rectangular *worst)
{
    nadir_status status = NADIR_OK;
    describe(problem, factor, worst);
    if (context->device != NULL && (worst->rows.domain == NADIR_DOMAIN_SUPPORT || isinf(worst->rows.p))) {
        NADIR_CHECK(open_remote(context, worst));
    }
    if (worst->remote.step == NULL) {
        return nadir_lmo_rectangular_make(context, problem, factor, worst);
    }
    worst->order.unsorted = true;
    NADIR_NEW_ZERO(context, worst->gain, problem->states);
cleanup:
    if (status != NADIR_OK) {
        nadir_lmo_rectangular_clear(context, worst);
    }
    return status;
}

void nadir_lmo_rectangular_clear(nadir_context *context, nadir_lmo_rectangular *worst)
{
    nadir_lmo_device_close(&worst->remote);
    nadir_value_order_clear(context, &worst->order);
    nadir_release(context, worst->answers);
    nadir_release(context, worst->gain);
    nadir_release(context, worst->room);
    *worst = (nadir_lmo_rectangular){0};
}

/* Rows beside each other have similar answers: a state without any starts from those of the one before. */
static void lend_answers(nadir_lmo_rectangular *worst, int64_t state)
{
    const int64_t *state_rows = worst->rows.model->state_rows;
    const int64_t before = state_rows[state] - state_rows[state - 1];
    for (int64_t row = state_rows[state]; row < state_rows[state + 1]; row++) {
        const int64_t place = row - state_rows[state];
        if (!(worst->answers[row].step > 0)) {
            worst->answers[row] =
                worst->answers[state_rows[state - 1] + (place < before ? place : before - 1)];
        }
    }
}

/* One state: its rows share a budget (s), or each has its own. */
static double answer_state(nadir_lmo_rectangular *worst, int64_t state, double *room)
{
    const nadir_model *model = worst->rows.model;
    const double *pi = worst->problem->policy->probabilities;
    const int64_t first = model->state_rows[state];
    const int64_t end = model->state_rows[state + 1];
    nadir_lmo_budget budget;
    if (worst->problem->uncertainty->set == NADIR_SET_S) {
        nadir_lmo_solve(&worst->rows, first, end, pi + first, radius_of(worst, state, first), room,
                        worst->answers + first, &budget);
        return budget.gain;
    }
    double gain = 0;
    for (int64_t row = first; row < end; row++) {
        const double weight = pi[row] > 0 ? 1 : 0; /* rows that are never used stay as they are */
        nadir_lmo_solve(&worst->rows, row, row + 1, &weight, radius_of(worst, state, row), room,
                        worst->answers + row, &budget);
        gain += pi[row] * worst->answers[row].gain;
    }
    return gain;
}

static bool goes_on(nadir_context *context, nadir_status *stopped)
{
    return nadir_progress_team(context, "solving row problems", -1, stopped);
}

/* Where nothing moves there is nothing to gain. */
static nadir_status answer_remotely(nadir_context *context, nadir_lmo_rectangular *worst)
{
    nadir_status status = NADIR_OK;
    nadir_lmo_budget budget;
    NADIR_CHECK(
        nadir_lmo_device_solve(context, &worst->remote, &worst->order, NULL, 1, &budget, &worst->moves));
    if (worst->moves) {
        NADIR_CHECK(nadir_lmo_device_gains(context, &worst->remote, &worst->order, worst->gain));
    } else {
        memset(worst->gain, 0, (size_t)worst->problem->states * sizeof *worst->gain);
    }
cleanup:
    return status;
}

nadir_status nadir_lmo_rectangular_kernel(nadir_context *context, const nadir_lmo_rectangular *worst,
                                          nadir_kernel **kernel)
{
    if (worst->remote.step == NULL) {
        return nadir_lmo_kernel(context, &worst->rows, worst->answers, kernel);
    }
    if (worst->moves) {
        return nadir_lmo_device_kernel(context, &worst->remote, kernel);
    }
    nadir_kernel_free(*kernel);
    *kernel = NULL;
    return nadir_kernel_create(context, worst->problem->model, kernel);
}

nadir_status nadir_lmo_rectangular_answer(nadir_context *context, nadir_lmo_rectangular *worst,
                                          const double *v)
{
    enum { STATES = 8 }; /* that lend answers to each other: the same with any number of threads */
    nadir_status status = NADIR_OK;
    const int64_t states = worst->problem->states;
    NADIR_CHECK(nadir_value_order_make(context, states, v, &worst->order));
    if (worst->remote.step != NULL) {
        return answer_remotely(context, worst);
    }
#pragma omp parallel num_threads(worst->threads)
    {
        double *room = worst->room + worst->room_each * omp_get_thread_num();
#pragma omp for schedule(dynamic)
        for (int64_t first = 0; first < states; first += STATES) {
            const int64_t end = first + STATES < states ? first + STATES : states;
            for (int64_t s = first; s < end && goes_on(context, &status); s++) {
                if (s > first) {
                    lend_answers(worst, s);
                }
                worst->gain[s] = answer_state(worst, s, room);
            }
        }
    }
cleanup:
    return status;
}

nadir_status nadir_lmo_rectangular_recall(nadir_context *context, nadir_lmo_rectangular *worst,
                                          const double *v)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = worst->problem;
    const double factor = worst->factor;
    nadir_lmo_rectangular_clear(context, worst);
    NADIR_CHECK(nadir_lmo_rectangular_make(context, problem, factor, worst));
    NADIR_CHECK(nadir_lmo_rectangular_answer(context, worst, v));
cleanup:
    return status;
}

static double bound_state(const nadir_lmo_rectangular *worst, int64_t state, double *room)
{
    const nadir_model *model = worst->rows.model;
    const double *pi = worst->problem->policy->probabilities;
    const int64_t first = model->state_rows[state];
    const int64_t end = model->state_rows[state + 1];
    nadir_lmo_row_bound *bounds = (nadir_lmo_row_bound *)room;
    double *rest = room + (end - first) * NADIR_LMO_BOUND_ROOM;
    double gain = 0;
    for (int64_t row = first; row < end; row++) {
        bounds[row - first] = nadir_lmo_bound(&worst->rows, row, &worst->answers[row], rest);
        const double radius =
            nadir_uncertainty_scale(worst->problem->uncertainty, row) * radius_of(worst, state, row);
        gain += pi[row] * nadir_lmo_bound_radius(&bounds[row - first], radius);
    }
    if (worst->problem->uncertainty->set == NADIR_SET_S) {
        const double beta = nadir_round_up(radius_of(worst, state, first), 2);
        gain = nadir_lmo_bound_shared(&worst->rows, first, end, pi + first, beta, bounds);
    }
    return nadir_round_up(gain, 2 * (double)(end - first + 4));
}

nadir_status nadir_lmo_rectangular_bound(nadir_context *context, const nadir_lmo_rectangular *worst,
                                         double *gain)
{
    nadir_status status = NADIR_OK;
    const int64_t states = worst->problem->states;
#pragma omp parallel num_threads(worst->threads)
    {
        double *room = worst->room + worst->room_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (int64_t s = 0; s < states; s++) {
            if (nadir_progress_team(context, "bounding row problems", -1, &status)) {
                gain[s] = bound_state(worst, s, room);
            }
        }
    }
    return status;
}
