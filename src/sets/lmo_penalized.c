/* lmo_penalized.c: linear minimisation with a penalty on the change of rows; see lmo_by_state.h. */
#include "sets/lmo_by_state.h"

#include "core/round.h"
#include "linalg/norm.h"
#include "linalg/threads.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* Numbers that the bound of a row takes, and its answer. */
#define BOUND_ROOM  ((int64_t)(sizeof(nadir_lmo_row_bound) / sizeof(double)))
#define ANSWER_ROOM ((int64_t)(sizeof(nadir_lmo_solution) / sizeof(double)))
_Static_assert(sizeof(nadir_lmo_solution) % sizeof(double) == 0, "answers are put into arrays of numbers");

/* Working space for the rows of any state: a weight, a norm, a bound and an answer for each, and that of the
 * problems themselves. */
static int64_t most_room(const nadir_lmo *rows)
{
    const nadir_model *model = rows->model;
    int64_t most = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t end = model->state_rows[s + 1];
        const int64_t room =
            nadir_lmo_work_size(rows, first, end) + (end - first) * (BOUND_ROOM + ANSWER_ROOM + 2);
        most = room > most ? room : most;
    }
    return most;
}

nadir_status nadir_lmo_penalized_make(nadir_context *context, const nadir_problem *problem, double beta,
                                      const double *d_bar, nadir_lmo_penalized *lmo)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    *lmo = (nadir_lmo_penalized){.problem = problem, .beta = beta, .d_bar = d_bar};
    lmo->rows = (nadir_lmo){
        .model = problem->model,
        .order = &lmo->order,
        .scales = set->scales,
        .domain = set->domain,
        .p = set->p,
        .q = set->q,
    };
    lmo->threads = nadir_threads_for(context, 4 * entries);
    lmo->room_each = most_room(&lmo->rows);
    if (!nadir_lmo_streamed_applies(&lmo->rows)) {
        NADIR_NEW_ZERO(context, lmo->answers, model->rows);
    }
    NADIR_NEW_ZERO(context, lmo->taken, model->states);
    NADIR_NEW_ZERO(context, lmo->norms, model->states);
    NADIR_NEW(context, lmo->room, lmo->threads * lmo->room_each);
cleanup:
    if (status != NADIR_OK) {
        nadir_lmo_penalized_clear(context, lmo);
    }
    return status;
}

void nadir_lmo_penalized_clear(nadir_context *context, nadir_lmo_penalized *lmo)
{
    nadir_value_order_clear(context, &lmo->order);
    nadir_release(context, lmo->answers);
    nadir_release(context, lmo->taken);
    nadir_release(context, lmo->norms);
    nadir_release(context, lmo->room);
    *lmo = (nadir_lmo_penalized){0};
}

double nadir_lmo_penalized_cost(const nadir_lmo_penalized *lmo, double tau, int64_t state, double norm)
{
    const double p = lmo->rows.p;
    /* the penalty enters before the power: norms of rows with small scales have powers beyond the numbers */
    return norm > 0 ? nadir_power(nadir_power(tau / lmo->d_bar[state], 1 / p) * norm, p) : 0;
}

/* Where the answers of a state are stored; *room: the work space left. */
static nadir_lmo_solution *answers_of(const nadir_lmo_penalized *lmo, int64_t state, double **room)
{
    const nadir_model *model = lmo->rows.model;
    const int64_t first = model->state_rows[state];
    const int64_t count = model->state_rows[state + 1] - first;
    nadir_lmo_solution *own = (nadir_lmo_solution *)*room;
    if (lmo->answers != NULL) {
        return lmo->answers + first;
    }
    memset(own, 0, (size_t)count * sizeof *own);
    *room += count * ANSWER_ROOM;
    return own;
}

/* Each row by itself. Where together they use more than beta, they share it, at the cost of beta^p. */
static double answer_state(const nadir_lmo_penalized *lmo, double tau, int64_t state,
                           nadir_lmo_solution *answers, double *room, double *norm)
{
    const nadir_lmo *rows = &lmo->rows;
    const int64_t first = rows->model->state_rows[state];
    const int64_t count = rows->model->state_rows[state + 1] - first;
    const bool entered = lmo->d_bar[state] > 0;
    const double price = tau / lmo->d_bar[state];
    double *weights = room;
    double *norms = room + count;
    double *rest = room + 2 * count;
    double taken = 0;
    for (int64_t i = 0; i < count; i++) {
        weights[i] = entered ? lmo->problem->gamma * lmo->problem->policy->probabilities[first + i] : 0;
        if (weights[i] > 0) {
            nadir_lmo_solve_penalized(rows, first + i, weights[i], price, rest, &answers[i]);
        } else {
            answers[i] = (nadir_lmo_solution){0};
        }
        norms[i] = answers[i].norm;
        taken += weights[i] * answers[i].gain - nadir_lmo_penalized_cost(lmo, tau, state, norms[i]);
    }
    *norm = nadir_norm_short(count, norms, rows->p);
    if (*norm > lmo->beta) {
        nadir_lmo_budget budget;
        nadir_lmo_solve(rows, first, first + count, weights, lmo->beta, rest, answers, &budget);
        taken = budget.gain - nadir_lmo_penalized_cost(lmo, tau, state, budget.norm);
        *norm = budget.norm;
    }
    return taken > 0 ? taken : 0;
}

nadir_status nadir_lmo_penalized_solve(nadir_context *context, nadir_lmo_penalized *lmo, double tau,
                                       const double *v)
{
    nadir_status status = NADIR_OK;
    const int64_t states = lmo->problem->states;
    NADIR_CHECK(nadir_value_order_make(context, states, v, &lmo->order));
#pragma omp parallel num_threads(lmo->threads)
    {
        double *room = lmo->room + lmo->room_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (int64_t s = 0; s < states; s++) {
            double *rest = room;
            nadir_lmo_solution *answers = answers_of(lmo, s, &rest);
            lmo->taken[s] = answer_state(lmo, tau, s, answers, rest, &lmo->norms[s]);
        }
    }
cleanup:
    return status;
}

nadir_status nadir_lmo_penalized_kernel(nadir_context *context, nadir_lmo_penalized *lmo, double tau,
                                        nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = lmo->rows.model;
    nadir_perturbed *perturbed;
    if (lmo->answers != NULL) {
        return nadir_lmo_kernel(context, &lmo->rows, lmo->answers, kernel);
    }
    NADIR_CHECK(nadir_lmo_kernel_blank(context, &lmo->rows, kernel, &perturbed));
#pragma omp parallel num_threads(lmo->threads)
    {
        double *room = lmo->room + lmo->room_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (int64_t s = 0; s < model->states; s++) {
            double norm;
            double *rest = room;
            nadir_lmo_solution *answers = answers_of(lmo, s, &rest);
            (void)answer_state(lmo, tau, s, answers, rest, &norm);
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                nadir_lmo_kernel_fill(&lmo->rows, row, &answers[row - model->state_rows[s]], perturbed);
            }
        }
    }
cleanup:
    return status;
}

/* At least what the rows of a state can take: weights are rounded up and the penalty down. Underflow costs
 * less than the least normal number. */
static double bound_state(const nadir_lmo_penalized *lmo, double tau, int64_t state, double *room)
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
    nadir_lmo_solution *answers = answers_of(lmo, state, &room);
    if (lmo->answers == NULL) {
        double norm;
        (void)answer_state(lmo, tau, state, answers, room, &norm);
    }
    double *weights = room;
    nadir_lmo_row_bound *bounds = (nadir_lmo_row_bound *)(room + count);
    double *rest = room + count * (BOUND_ROOM + 1);
    for (int64_t i = 0; i < count; i++) {
        weights[i] = pi[i] > 0 ? nadir_round_up(lmo->problem->gamma * pi[i], 4) + DBL_MIN : 0;
        nadir_lmo_solution hint = answers[i];
        if (rows->p ==
            1) { /* at 2 / step = range nothing moves; a larger multiplier only loosens the bound */
            hint.step = fmax(hint.step, 2);
        }
        bounds[i] = nadir_lmo_bound(rows, first + i, &hint, rest);
        taken += nadir_lmo_bound_penalized(rows, first + i, weights[i], price, &bounds[i]);
    }
    const double capped = nadir_lmo_bound_charged(rows, first, first + count, weights,
                                                  nadir_round_up(lmo->beta, 2), price, bounds);
    return fmin(nadir_round_up(taken, 2 * (double)(count + 4)), capped);
}

void nadir_lmo_penalized_bound(const nadir_lmo_penalized *lmo, double tau, double *taken)
{
    const int64_t states = lmo->problem->states;
#pragma omp parallel num_threads(lmo->threads)
    {
        double *room = lmo->room + lmo->room_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (int64_t s = 0; s < states; s++) {
            taken[s] = bound_state(lmo, tau, s, room);
        }
    }
}
