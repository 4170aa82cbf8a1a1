/* priced.c: the answers of all rows to a value where every change has its price; see priced.h. */
#include "adversary/valid/priced.h"

#include "linalg/norm.h"
#include "linalg/threads.h"

#include <float.h>
#include <omp.h>

/* Working space for any row. */
static int64_t most_room(const nadir_rows *rows)
{
    int64_t most = 0;
    for (int64_t row = 0; row < rows->model->rows; row++) {
        const int64_t room = nadir_rows_room(rows, row, row + 1);
        most = room > most ? room : most;
    }
    return most;
}

nadir_status nadir_priced_make(nadir_context *context, const nadir_problem *problem, const double *d_bar,
                               nadir_priced *priced)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    *priced = (nadir_priced){.problem = problem, .d_bar = d_bar};
    priced->rows = (nadir_rows){
        .model = problem->model,
        .order = &priced->order,
        .scales = set->scales,
        .domain = set->domain,
        .p = set->p,
        .q = set->q,
    };
    priced->threads = nadir_threads_for(context, 4 * entries);
    priced->room_each = most_room(&priced->rows);
    NADIR_NEW_ZERO(context, priced->answers, model->rows);
    NADIR_NEW_ZERO(context, priced->taken, model->states);
    NADIR_NEW(context, priced->room, priced->threads * priced->room_each);
cleanup:
    if (status != NADIR_OK) {
        nadir_priced_clear(context, priced);
    }
    return status;
}

void nadir_priced_clear(nadir_context *context, nadir_priced *priced)
{
    nadir_order_clear(context, &priced->order);
    nadir_release(context, priced->answers);
    nadir_release(context, priced->taken);
    nadir_release(context, priced->room);
    *priced = (nadir_priced){0};
}

double nadir_priced_cost(const nadir_priced *priced, double tau, int64_t state, double norm)
{
    const double p = priced->rows.p;
    /* the price goes in before the power: norms of rows with small scales have none */
    return norm > 0 ? nadir_power(nadir_power(tau / priced->d_bar[state], 1 / p) * norm, p) : 0;
}

static double answer_state(nadir_priced *priced, double tau, int64_t state, double *room)
{
    const nadir_problem *problem = priced->problem;
    const nadir_model *model = priced->rows.model;
    const double *pi = problem->policy->probabilities;
    const double price = tau / priced->d_bar[state];
    double taken = 0;
    for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
        nadir_row_answer *answer = &priced->answers[row];
        if (!(pi[row] > 0) || !(priced->d_bar[state] > 0)) {
            *answer = (nadir_row_answer){0};
            continue;
        }
        const double weight = problem->gamma * pi[row];
        nadir_rows_priced(&priced->rows, row, weight, price, room, answer);
        taken += weight * answer->gain - nadir_priced_cost(priced, tau, state, answer->norm);
    }
    return taken > 0 ? taken : 0;
}

nadir_status nadir_priced_answer(nadir_context *context, nadir_priced *priced, double tau, const double *v)
{
    nadir_status status = NADIR_OK;
    const int64_t states = priced->problem->states;
    NADIR_CHECK(nadir_order_make(context, states, v, &priced->order));
#pragma omp parallel num_threads(priced->threads)
    {
        double *room = priced->room + priced->room_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (int64_t s = 0; s < states; s++) {
            priced->taken[s] = answer_state(priced, tau, s, room);
        }
    }
cleanup:
    return status;
}

/* More weight and a lower price allow to take more; what underflows is below the least normal number. */
static double bound_state(const nadir_priced *priced, double tau, int64_t state, double *room)
{
    const nadir_rows *rows = &priced->rows;
    const int64_t first = rows->model->state_rows[state];
    const int64_t end = rows->model->state_rows[state + 1];
    const double *pi = priced->problem->policy->probabilities;
    const double price = fmin(DBL_MAX, tau / priced->d_bar[state]) * (1 - 2 * DBL_EPSILON) - DBL_MIN;
    double taken = 0;
    for (int64_t row = first; row < end && priced->d_bar[state] > 0; row++) {
        const double weight = priced->problem->gamma * pi[row] * (1 + 2 * DBL_EPSILON) + DBL_MIN;
        nadir_row_answer hint = priced->answers[row];
        if (rows->p == 1) { /* at 2 / step = range nothing moves, and a higher price only loosens the bound */
            hint.step = fmax(hint.step, 2);
        }
        if (pi[row] > 0) {
            const nadir_row_bound bound = nadir_rows_bound(rows, row, &hint, room);
            taken += nadir_rows_bound_priced(rows, row, weight, fmax(0, price), &bound);
        }
    }
    return taken * (1 + DBL_EPSILON * (double)(end - first + 4));
}

void nadir_priced_bound(const nadir_priced *priced, double tau, double *taken)
{
    const int64_t states = priced->problem->states;
#pragma omp parallel num_threads(priced->threads)
    {
        double *room = priced->room + priced->room_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (int64_t s = 0; s < states; s++) {
            taken[s] = bound_state(priced, tau, s, room);
        }
    }
}
