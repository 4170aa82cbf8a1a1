/* ascent_policy.c: the policies that an ascent makes: those it tries, and the one it ends with; see ascent.h.
 */
#include "policy/ascent.h"

#include <math.h>

/* A chance, or none. */
static double clean(double chance)
{
    return chance > NADIR_ASCENT_SMALLEST_PROBABILITY ? chance : 0;
}

static void normalise(const nadir_model *model, double *chances)
{
    for (int64_t s = 0; s < model->states; s++) {
        double sum = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            sum += chances[row];
        }
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            chances[row] /= sum;
        }
    }
}

/* The policy t of the way along the direction. */
static nadir_status make_trial(nadir_ascent *self, double t, nadir_policy **trial)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->minmax.model;
    const double *pi = self->current->policy->probabilities;
    NADIR_CHECK(nadir_policy_create_blank(self->context, model, trial));
    double *chances = (*trial)->probabilities;
    for (int64_t row = 0; row < model->rows; row++) {
        chances[row] = clean(t > 0 ? pi[row] + t * self->direction[row] : pi[row]);
    }
    normalise(model, chances);
cleanup:
    return status;
}

nadir_status nadir_ascent_try_step(nadir_ascent *self, double t)
{
    nadir_status status = NADIR_OK;
    nadir_policy *trial = NULL;
    nadir_response_recycle(self->context, &self->minmax, self->next);
    NADIR_CHECK(make_trial(self, t, &trial));
    if (isinf(self->state.tolerance)) {
        NADIR_CHECK(nadir_minmax_prepare(self->context, &self->minmax, self->current));
        NADIR_CHECK(nadir_response_find_inexact(self->context, &self->minmax, trial, self->current->v,
                                                self->current->d, self->current, self->next));
    } else {
        NADIR_CHECK(nadir_response_find(self->context, &self->minmax, trial, self->current->v,
                                        self->current->d, self->state.tolerance, self->next));
    }
cleanup:
    nadir_policy_free(trial);
    return status;
}

nadir_status nadir_ascent_take_best(const nadir_ascent *ascent, nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = ascent->minmax.model;
    const double *best = ascent->best->probabilities;
    bool is_clean = true;
    nadir_policy_free(*policy);
    *policy = NULL;
    for (int64_t row = 0; row < model->rows && is_clean; row++) {
        is_clean = clean(best[row]) == best[row];
    }
    if (is_clean) {
        *policy = nadir_policy_retain(ascent->best);
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_policy_create_blank(ascent->context, model, policy));
    for (int64_t row = 0; row < model->rows; row++) {
        (*policy)->probabilities[row] = clean(best[row]);
    }
    normalise(model, (*policy)->probabilities);
cleanup:
    return status;
}
