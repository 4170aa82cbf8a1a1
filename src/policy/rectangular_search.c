/* rectangular_search.c: robust policy iteration as long work; see rectangular_search.h. */
#include "policy/rectangular_optimum.h"

#include "core/context.h"
#include "linalg/distributed.h"
#include "model/model.h"

#include <math.h>

/* The steps go on until this share of the gap that is wanted is left. */
#define SHARE 0.1

static nadir_checkpoint list_parts(const nadir_bellman_search *self, nadir_rectangular_pause *pause)
{
    const size_t states = (size_t)self->model->states * sizeof(double);
    const size_t rows = (size_t)self->model->rows * sizeof(double);
    return (nadir_checkpoint){.identity = self->identity,
                              .fixed = 4,
                              .parts = {{pause->state, sizeof *pause->state},
                                        {pause->v, states},
                                        {pause->best, states},
                                        {pause->policy, rows}}};
}

/* Whether an iteration can be where the checkpoint says. */
static bool is_plausible(const nadir_bellman_search *self, const nadir_rectangular_pause *pause)
{
    const nadir_rectangular_state *state = pause->state;
    return nadir_checkpoint_is_count(state->iterations) && nadir_checkpoint_is_count(state->evaluations) &&
           nadir_checkpoint_is_count(state->waited) && state->least >= 0 && !isnan(state->J) &&
           nadir_checkpoint_are_finite(self->model->states, pause->v) &&
           nadir_checkpoint_are_finite(self->model->states, pause->best) &&
           nadir_checkpoint_are_finite(self->model->rows, pause->policy);
}

static nadir_status begin(void *user, nadir_rectangular_pause *pause)
{
    nadir_status status = NADIR_OK;
    nadir_bellman_search *self = user;
    if (self->store->read == NULL) {
        return NADIR_OK;
    }
    nadir_checkpoint checkpoint = list_parts(self, pause);
    NADIR_CHECK(self->store->read(self->store->user, self->context, &checkpoint));
    NADIR_CHECK(is_plausible(self, pause) ? NADIR_OK : nadir_checkpoint_refuse(self->context, self->store));
cleanup:
    return status;
}

static nadir_status save(nadir_bellman_search *self, nadir_rectangular_pause *pause, bool now)
{
    if (self->store->write == NULL) {
        return NADIR_OK;
    }
    const double passed = nadir_allreduce_maximum(self->context, nadir_clock_seconds() - self->saved);
    if (!now && passed < self->settings->checkpoint_seconds) {
        return NADIR_OK;
    }
    const nadir_checkpoint checkpoint = list_parts(self, pause);
    const nadir_status status = self->store->write(self->store->user, self->context, &checkpoint);
    self->saved = nadir_clock_seconds();
    return status;
}

/* Checkpoint, progress and the time. */
static nadir_status pause_here(void *user, nadir_rectangular_pause *pause)
{
    nadir_status status = NADIR_OK;
    nadir_bellman_search *self = user;
    const nadir_robust_optimum_settings *settings = self->settings;
    const double seconds =
        nadir_allreduce_maximum(self->context, nadir_clock_seconds() - self->begun); /* all alike */
    pause->is_over = seconds >= settings->time_limit;
    if (pause->state->iterations == 0) { /* there is nothing to tell yet */
        return NADIR_OK;
    }
    const bool is_last = pause->is_over || pause->state->iterations >= settings->evaluations_limit;
    NADIR_CHECK(save(self, pause, is_last || pause->is_cut));
    if (settings->watch != NULL && !pause->is_cut) {
        const nadir_robust_optimum_step step = {
            .size = sizeof step,
            .iteration = pause->state->iterations,
            .evaluations = pause->state->evaluations,
            .robust_return = pause->J,
            .gap = pause->gap / fmax(fabs(self->nominal_optimum), fabs(pause->J)),
            .seconds = seconds,
        };
        if (settings->watch(settings->watch_user, &step) != 0) {
            return nadir_fail(self->context, NADIR_ERROR_INTERRUPTED, "interrupted");
        }
    }
cleanup:
    return status;
}

nadir_status nadir_bellman_search_run(nadir_bellman_search *search, nadir_policy **policy,
                                      nadir_rectangular_optimum_result *result)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = search->context;
    const nadir_rectangular_optimum_settings settings = {
        .backend = search->settings->backend,
        .tolerance = SHARE * search->settings->gap,
        .iterations_limit = search->settings->evaluations_limit,
        .begin = begin,
        .pause = pause_here,
        .user = search,
    };
    double *value = NULL;
    search->begun = nadir_clock_seconds();
    NADIR_NEW(context, value, search->model->states);
    NADIR_CHECK(
        nadir_rectangular_optimum(context, search->model, search->ball, &settings, value, policy, result));
cleanup:
    nadir_release(context, value);
    return status;
}
