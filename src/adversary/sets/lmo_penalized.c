/* lmo_penalized.c: the answers of all rows to a value where every change has its price; see lmo_penalized.h. */
#include "adversary/sets/lmo_penalized.h"

#include "base/round.h"
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
                                      const double *d_bar, nadir_lmo_penalized *priced)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    *priced = (nadir_lmo_penalized){.problem = problem, .beta = beta, .d_bar = d_bar};
    priced->rows = (nadir_lmo){
        .model = problem->model,
        .order = &priced->order,
        .scales = set->scales,
        .domain = set->domain,
        .p = set->p,
        .q = set->q,
    };
    priced->threads = nadir_threads_for(context, 4 * entries);
    priced->room_each = most_room(&priced->rows);
    if (!nadir_lmo_streamed_applies(&priced->rows)) {
        NADIR_NEW_ZERO(context, priced->answers, model->rows);
    }
    NADIR_NEW_ZERO(context, priced->taken, model->states);
    NADIR_NEW_ZERO(context, priced->norms, model->states);
    NADIR_NEW(context, priced->room, priced->threads * priced->room_each);
cleanup:
    if (status != NADIR_OK) {
        nadir_lmo_penalized_clear(context, priced);
    }
    return status;
}

void nadir_lmo_penalized_clear(nadir_context *context, nadir_lmo_penalized *priced)
{
    nadir_value_order_clear(context, &priced->order);
    nadir_release(context, priced->answers);
    nadir_release(context, priced->taken);
    nadir_release(context, priced->norms);
    nadir_release(context, priced->room);
    *priced = (nadir_lmo_penalized){0};
}

double nadir_lmo_penalized_cost(const nadir_lmo_penalized *priced, double tau, int64_t state, double norm)
{
    const double p = priced->rows.p;
    /* the price goes in before the power: norms of rows with small scales have none */
    return norm > 0 ? nadir_power(nadir_power(tau / priced->d_bar[state], 1 / p) * norm, p) : 0;
}

/* Where the answers of a state go, and what is left of the room. */
static nadir_lmo_solution *answers_of(const nadir_lmo_penalized *priced, int64_t state, double **room)
{
    const nadir_model *model = priced->rows.model;
    const int64_t first = model->state_rows[state];
    const int64_t count = model->state_rows[state + 1] - first;
    nadir_lmo_solution *own = (nadir_lmo_solution *)*room;
    if (priced->answers != NULL) {
        return priced->answers + first;
    }
    memset(own, 0, (size_t)count * sizeof *own);
    *room += count * ANSWER_ROOM;
    return own;
}

/* Each row by itself; where they use more than beta together, they share it: the cost is that of beta^p then,
 * whichever way. */
static double answer_state(const nadir_lmo_penalized *priced, double tau, int64_t state,
                           nadir_lmo_solution *answers, double *room, double *norm)
{
    const nadir_lmo *rows = &priced->rows;
    const int64_t first = rows->model->state_rows[state];
    const int64_t count = rows->model->state_rows[state + 1] - first;
    const bool entered = priced->d_bar[state] > 0;
    const double price = tau / priced->d_bar[state];
    double *weights = room;
    double *norms = room + count;
    double *rest = room + 2 * count;
    double taken = 0;
    for (int64_t i = 0; i < count; i++) {
        weights[i] = entered ? priced->problem->gamma * priced->problem->policy->probabilities[first + i] : 0;
        if (weights[i] > 0) {
            nadir_lmo_penalized(rows, first + i, weights[i], price, rest, &answers[i]);
        } else {
            answers[i] = (nadir_lmo_solution){0};
        }
        norms[i] = answers[i].norm;
        taken += weights[i] * answers[i].gain - nadir_lmo_penalized_cost(priced, tau, state, norms[i]);
    }
    *norm = nadir_norm_short(count, norms, rows->p);
    if (*norm > priced->beta) {
        nadir_lmo_budget budget;
        nadir_lmo_solve(rows, first, first + count, weights, priced->beta, rest, answers, &budget);
        taken = budget.gain - nadir_lmo_penalized_cost(priced, tau, state, budget.norm);
        *norm = budget.norm;
    }
    return taken > 0 ? taken : 0;
}

nadir_status nadir_lmo_penalized_answer(nadir_context *context, nadir_lmo_penalized *priced, double tau,
                                        const double *v)
{
    nadir_status status = NADIR_OK;
    const int64_t states = priced->problem->states;
    NADIR_CHECK(nadir_value_order_make(context, states, v, &priced->order));
#pragma omp parallel num_threads(priced->threads)
    {
        double *room = priced->room + priced->room_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (int64_t s = 0; s < states; s++) {
            double *rest = room;
            nadir_lmo_solution *answers = answers_of(priced, s, &rest);
            priced->taken[s] = answer_state(priced, tau, s, answers, rest, &priced->norms[s]);
        }
    }
cleanup:
    return status;
}

nadir_status nadir_lmo_penalized_kernel(nadir_context *context, nadir_lmo_penalized *priced, double tau,
                                        nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = priced->rows.model;
    nadir_perturbed *perturbed;
    if (priced->answers != NULL) {
        return nadir_lmo_kernel(context, &priced->rows, priced->answers, kernel);
    }
    NADIR_CHECK(nadir_lmo_kernel_blank(context, &priced->rows, kernel, &perturbed));
#pragma omp parallel num_threads(priced->threads)
    {
        double *room = priced->room + priced->room_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (int64_t s = 0; s < model->states; s++) {
            double norm;
            double *rest = room;
            nadir_lmo_solution *answers = answers_of(priced, s, &rest);
            (void)answer_state(priced, tau, s, answers, rest, &norm);
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                nadir_lmo_kernel_fill(&priced->rows, row, &answers[row - model->state_rows[s]], perturbed);
            }
        }
    }
cleanup:
    return status;
}

/* More weight and a lower price allow to take more; what underflows is below the least normal number. */
static double bound_state(const nadir_lmo_penalized *priced, double tau, int64_t state, double *room)
{
    const nadir_lmo *rows = &priced->rows;
    const int64_t first = rows->model->state_rows[state];
    const int64_t count = rows->model->state_rows[state + 1] - first;
    const double *pi = priced->problem->policy->probabilities + first;
    const double price = fmax(0, nadir_round_down(fmin(DBL_MAX, tau / priced->d_bar[state]), 4) - DBL_MIN);
    double taken = 0;
    if (!(priced->d_bar[state] > 0)) {
        return 0;
    }
    nadir_lmo_solution *answers = answers_of(priced, state, &room);
    if (priced->answers == NULL) {
        double norm;
        (void)answer_state(priced, tau, state, answers, room, &norm);
    }
    double *weights = room;
    nadir_lmo_row_bound *bounds = (nadir_lmo_row_bound *)(room + count);
    double *rest = room + count * (BOUND_ROOM + 1);
    for (int64_t i = 0; i < count; i++) {
        weights[i] = pi[i] > 0 ? nadir_round_up(priced->problem->gamma * pi[i], 4) + DBL_MIN : 0;
        nadir_lmo_solution hint = answers[i];
        if (rows->p == 1) { /* at 2 / step = range nothing moves, and a higher price only loosens the bound */
            hint.step = fmax(hint.step, 2);
        }
        bounds[i] = nadir_lmo_bound(rows, first + i, &hint, rest);
        taken += nadir_lmo_bound_penalized(rows, first + i, weights[i], price, &bounds[i]);
    }
    const double capped = nadir_lmo_bound_charged(rows, first, first + count, weights,
                                                  nadir_round_up(priced->beta, 2), price, bounds);
    return fmin(nadir_round_up(taken, 2 * (double)(count + 4)), capped);
}

void nadir_lmo_penalized_bound(const nadir_lmo_penalized *priced, double tau, double *taken)
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
