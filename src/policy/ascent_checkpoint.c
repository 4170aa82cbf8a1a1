/* ascent_checkpoint.c: checkpoints of an ascent; see ascent.h and checkpoint.h. */
#include "policy/ascent.h"

#include "core/context.h"
#include "linalg/distributed.h"

#include <math.h>

/* policy, best: [rows] the policy at hand, and the best one. */
static nadir_checkpoint list_parts(nadir_ascent *ascent, double *policy, double *best)
{
    const size_t states = (size_t)ascent->minmax.model->states * sizeof(double);
    const size_t rows = (size_t)ascent->minmax.model->rows * sizeof(double);
    nadir_checkpoint made = {.identity = ascent->identity,
                             .pairs = ascent->lbfgs.count,
                             .pairs_most = ascent->lbfgs.most,
                             .fixed = 5,
                             .parts = {{&ascent->state, sizeof ascent->state},
                                       {policy, rows},
                                       {ascent->warm_v, states},
                                       {ascent->warm_d, states},
                                       {best, rows}}};
    for (int i = 0; i < ascent->lbfgs.most; i++) {
        made.parts[made.fixed + 2 * i] = (nadir_checkpoint_part){ascent->lbfgs.s[i], rows};
        made.parts[made.fixed + 2 * i + 1] = (nadir_checkpoint_part){ascent->lbfgs.y[i], rows};
    }
    return made;
}

nadir_status nadir_ascent_save(nadir_ascent *ascent, bool now)
{
    const nadir_checkpoint_store *store = &ascent->store;
    if (store->write == NULL) {
        return NADIR_OK;
    }
    const double passed = nadir_allreduce_maximum(ascent->context, nadir_clock_seconds() - ascent->saved);
    if (!now && passed < ascent->settings->checkpoint_seconds) {
        return NADIR_OK;
    }
    const nadir_checkpoint checkpoint =
        list_parts(ascent, ascent->current->policy->probabilities, ascent->best->probabilities);
    const nadir_status status = store->write(store->user, ascent->context, &checkpoint);
    ascent->saved = nadir_clock_seconds();
    return status;
}

/* Whether a search can be where the checkpoint says. Policies are checked when they are made. */
static bool is_plausible(const nadir_ascent *ascent)
{
    const nadir_ascent_state *state = &ascent->state;
    const int64_t states = ascent->minmax.model->states;
    const int64_t rows = ascent->minmax.model->rows;
    const double numbers[] = {state->alpha,   state->initial, state->best,
                              state->offered, state->least,   state->risen};
    bool good = nadir_checkpoint_is_count(state->iterations) &&
                nadir_checkpoint_is_count(state->evaluations) && nadir_checkpoint_is_count(state->idle) &&
                state->alpha >= 0 && state->tolerance > 0 && !isnan(state->asked) &&
                !isinf(state->best_nominal) && /* NaN after a look in passing, which does not tell */
                nadir_checkpoint_are_finite(sizeof numbers / sizeof *numbers, numbers) &&
                nadir_checkpoint_are_finite(NADIR_ASCENT_HISTORY, state->history) &&
                nadir_checkpoint_are_finite(states, ascent->warm_v) &&
                nadir_checkpoint_are_finite(states, ascent->warm_d);
    for (int i = 0; i < ascent->lbfgs.count && good; i++) {
        good = nadir_checkpoint_are_finite(rows, ascent->lbfgs.s[i]) &&
               nadir_checkpoint_are_finite(rows, ascent->lbfgs.y[i]);
    }
    return good;
}

/* Fills state, near_v, near_d, best, secants and the policy at hand. */
static nadir_status restore(nadir_ascent *ascent, nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = ascent->context;
    const nadir_model *model = ascent->minmax.model;
    double *read = NULL;
    NADIR_NEW(context, read, 2 * model->rows);
    NADIR_CHECK(nadir_lbfgs_reserve(context, &ascent->lbfgs, ascent->lbfgs.most));
    nadir_checkpoint checkpoint = list_parts(ascent, read, read + model->rows);
    NADIR_CHECK(ascent->store.read(ascent->store.user, context, &checkpoint));
    ascent->lbfgs.count = (int)checkpoint.pairs;
    NADIR_CHECK(is_plausible(ascent) ? NADIR_OK : nadir_checkpoint_refuse(context, &ascent->store));
    NADIR_CHECK(nadir_policy_create(context, model, read, policy));
    NADIR_CHECK(nadir_policy_create(context, model, read + model->rows, &ascent->best));
cleanup:
    nadir_release(context, read);
    return status;
}

nadir_status nadir_ascent_respond(nadir_ascent *self, nadir_policy *start, nadir_response *response)
{
    return nadir_response_find_first(self->context, &self->minmax, start, self->settings->start == NULL,
                                     NADIR_ASCENT_FIRST_TOLERANCE, response);
}

nadir_status nadir_ascent_resume(nadir_ascent *self, nadir_policy *start)
{
    nadir_status status = NADIR_OK;
    nadir_policy *policy = NULL;
    NADIR_CHECK(restore(self, &policy));
    const bool inexact_taken = isinf(self->state.tolerance);
    if (inexact_taken) { /* what glances are made of */
        NADIR_CHECK(nadir_ascent_respond(self, start, self->next));
        NADIR_CHECK(nadir_response_allows_inexact(self->next)
                        ? NADIR_OK
                        : nadir_checkpoint_refuse(self->context, &self->store));
        NADIR_CHECK(nadir_minmax_prepare(self->context, &self->minmax, self->next));
        nadir_response_recycle(self->context, &self->minmax, self->next);
    }
    self->minmax.evaluations = self->state.evaluations - 1;
    NADIR_CHECK(inexact_taken ? nadir_response_find_inexact(self->context, &self->minmax, policy,
                                                            self->warm_v, self->warm_d, NULL, self->current)
                              : nadir_response_find(self->context, &self->minmax, policy,
                                                    self->state.followed != 0 ? self->warm_v : NULL,
                                                    self->warm_d, self->state.tolerance, self->current));
cleanup:
    nadir_policy_free(policy);
    return status;
}
