/* robust_bellman.c: the robust Bellman operator over rows and policies; see robust_bellman.h. */
#include "policy/rectangular_optimum.h"

#include "linalg/gstd.h"
#include "linalg/threads.h"
#include "solve/value.h"

#include <math.h>
#include <omp.h>

static void measure(nadir_robust_bellman *bellman)
{
    const nadir_model *model = bellman->model;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t actions = model->state_rows[s + 1] - model->state_rows[s];
        bellman->actions_each = actions > bellman->actions_each ? actions : bellman->actions_each;
    }
    bellman->room_each = 1;
    for (int64_t row = 0; bellman->set->domain != NADIR_DOMAIN_FREE && row < model->rows; row++) {
        const int64_t room = nadir_lmo_work_size(&bellman->rows, row, row + 1);
        bellman->room_each = room > bellman->room_each ? room : bellman->room_each;
    }
}

nadir_status nadir_robust_bellman_make(nadir_context *context, nadir_model *model, const nadir_kernel *kernel,
                                       const nadir_uncertainty *set, nadir_robust_bellman *bellman)
{
    nadir_status status = NADIR_OK;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    *bellman = (nadir_robust_bellman){.kernel = kernel, .set = set, .model = model, .gamma = model->discount};
    bellman->rows = (nadir_lmo){
        .model = model,
        .order = &bellman->order,
        .scales = set->scales,
        .domain = set->domain,
        .p = set->p,
        .q = set->q,
    };
    bellman->order.exchange = model->exchange;
    bellman->order.unsorted = model->exchange != NULL && !isinf(set->p);
    measure(bellman);
    bellman->threads = nadir_threads_for(context, 4 * entries);
    NADIR_NEW_ZERO(context, bellman->answers, model->rows);
    NADIR_NEW(context, bellman->q, model->rows);
    NADIR_NEW(context, bellman->policy, model->rows);
    NADIR_NEW(context, bellman->value, model->states);
    NADIR_NEW(context, bellman->room, bellman->threads * bellman->room_each);
    NADIR_NEW(context, bellman->actions, bellman->threads * bellman->actions_each);
cleanup:
    if (status != NADIR_OK) {
        nadir_robust_bellman_clear(context, bellman);
    }
    return status;
}

void nadir_robust_bellman_clear(nadir_context *context, nadir_robust_bellman *bellman)
{
    nadir_value_order_clear(context, &bellman->order);
    nadir_release(context, bellman->answers);
    nadir_release(context, bellman->q);
    nadir_release(context, bellman->policy);
    nadir_release(context, bellman->value);
    nadir_release(context, bellman->room);
    nadir_release(context, bellman->actions);
    *bellman = (nadir_robust_bellman){0};
}

/* The rows of a state, as srect_update.h asks about them. */
typedef struct state_rows {
    nadir_robust_bellman *bellman;
    int64_t first;
    double *room;
} state_rows;

static nadir_srect_response ask_free(void *user, int64_t action, double radius)
{
    const state_rows *self = user;
    const double slope =
        nadir_uncertainty_scale(self->bellman->set, self->first + action) * self->bellman->sigma;
    return (nadir_srect_response){radius * slope, slope, slope > 0 ? radius : 0};
}

/* Rows beside each other have similar answers: one without any starts from that of the row before. */
static nadir_srect_response ask_valid(void *user, int64_t action, double radius)
{
    const state_rows *self = user;
    const nadir_lmo *rows = &self->bellman->rows;
    const int64_t row = self->first + action;
    const double weight = 1;
    nadir_lmo_solution *answer = &self->bellman->answers[row];
    nadir_lmo_budget budget;
    if (action > 0 && !(answer->step > 0)) {
        *answer = answer[-1];
    }
    nadir_lmo_solve(rows, row, row + 1, &weight, radius, self->room, answer, &budget);
    if (!(answer->gain > 0) || self->bellman->set->set != NADIR_SET_S) { /* no slope is wanted */
        return (nadir_srect_response){.gain = answer->gain};
    }
    const nadir_lmo_row_bound bound = nadir_lmo_bound(rows, row, answer, self->room);
    const double alpha = nadir_uncertainty_scale(self->bellman->set, row);
    return (nadir_srect_response){answer->gain, isinf(answer->step) ? 0 : alpha * bound.slope, answer->norm};
}

/* Every row has a budget of its own: the best action in its own worst case. */
static double choose(const nadir_robust_bellman *bellman, int64_t state, nadir_srect_oracle ask,
                     state_rows *user)
{
    const int64_t *bounds = bellman->model->state_rows;
    int64_t best = bounds[state];
    double most = -INFINITY;
    for (int64_t row = bounds[state]; row < bounds[state + 1]; row++) {
        const double radius = nadir_uncertainty_radius(bellman->set, state, row);
        const double left = bellman->q[row] - bellman->gamma * ask(user, row - user->first, radius).gain;
        best = left > most ? row : best;
        most = fmax(most, left);
        bellman->policy[row] = 0;
    }
    bellman->policy[best] = 1;
    return most;
}

static double solve_state(nadir_robust_bellman *bellman, int64_t state, double *room,
                          nadir_srect_action *actions)
{
    const int64_t first = bellman->model->state_rows[state];
    state_rows user = {bellman, first, room};
    const nadir_srect_oracle ask = bellman->set->domain == NADIR_DOMAIN_FREE ? ask_free : ask_valid;
    if (bellman->set->set != NADIR_SET_S) {
        return choose(bellman, state, ask, &user);
    }
    const nadir_srect_update level = {
        .count = bellman->model->state_rows[state + 1] - first,
        .q = bellman->q + first,
        .gamma = bellman->gamma,
        .beta = nadir_uncertainty_radius(bellman->set, state, first),
        .p = bellman->set->p,
        .ask = ask,
        .user = &user,
        .actions = actions,
    };
    return nadir_srect_update_solve(&level, bellman->policy + first);
}

nadir_status nadir_robust_bellman_apply(nadir_context *context, nadir_robust_bellman *bellman,
                                        const double *v)
{
    nadir_status status = NADIR_OK;
    const int64_t states = bellman->model->states;
    nadir_value_q(context, bellman->kernel, bellman->gamma, v, bellman->q);
    if (bellman->set->domain == NADIR_DOMAIN_FREE) {
        nadir_gstd gstd;
        NADIR_CHECK(nadir_gstd_compute(context, nadir_model_first(bellman->model), states, v, bellman->set->q,
                                       bellman->value, NULL, &gstd));
        bellman->sigma = gstd.sigma;
    } else {
        NADIR_CHECK(nadir_value_order_make(context, states, v, &bellman->order));
    }
#pragma omp parallel num_threads(bellman->threads)
    {
        double *room = bellman->room + bellman->room_each * omp_get_thread_num();
        nadir_srect_action *actions = bellman->actions + bellman->actions_each * omp_get_thread_num();
#pragma omp for schedule(dynamic)
        for (int64_t s = 0; s < states; s++) {
            if (nadir_progress_team(context, "robust policy iteration", -1, &status)) {
                bellman->value[s] = solve_state(bellman, s, room, actions);
            }
        }
    }
cleanup:
    return status;
}
