/* uncertainty.c: what the user asked for, what the model says, and the defaults, settled into one set. */
#include "sets/uncertainty.h"

#include "model/terminal.h"

#include "linalg/distributed.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

void nadir_ball_fill(nadir_ball *ball, size_t size)
{
    const nadir_ball made = {.norm = NAN};
    nadir_settings_give(ball, size, &made, sizeof made);
}

/* Every number 0 or more, and at most `most`. */
static nadir_status check_numbers(nadir_context *context, const nadir_model *model, const char *what,
                                  double most, int64_t count, const double *numbers)
{
    char label[NADIR_LABEL_LENGTH];
    for (int64_t i = 0; i < count; i++) {
        if (!(numbers[i] >= 0 && numbers[i] <= most)) {
            const bool one = count == 1 || model->exchange != NULL;
            const bool row = count == model->rows && count != model->states;
            const int64_t state = row ? nadir_model_row_state(model, i) : i;
            return nadir_fail(
                context, NADIR_ERROR_ARGUMENT, "the %s%s%s is %g; expected 0 to %g", what, one ? "" : " of ",
                one ? "" : nadir_model_label(model, state, row ? i : -1, label), numbers[i], most);
        }
    }
    return NADIR_OK;
}

/* Squares of what can move must not vanish: it could not be bounded. */
static nadir_status check_small_scales(nadir_context *context, const nadir_model *model, const double *scales)
{
    char label[NADIR_LABEL_LENGTH];
    for (int64_t row = 0; row < model->rows; row++) {
        if (scales[row] > 0 && scales[row] < NADIR_SCALE_LEAST) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "the scale of %s is %g; expected 0, or %g or more: multiply all scales by a "
                              "number, and divide the radius by it",
                              nadir_model_label(model, nadir_model_row_state(model, row), row, label),
                              scales[row], NADIR_SCALE_LEAST);
        }
    }
    return NADIR_OK;
}

static nadir_status settle_shape(nadir_context *context, const nadir_model *model, const nadir_ball *ball,
                                 nadir_uncertainty *made)
{
    made->asked = ball->set != NADIR_SET_UNSAID ? ball->set : model->set;
    made->asked = made->asked != NADIR_SET_UNSAID ? made->asked : NADIR_SET_NONRECT;
    made->domain = ball->domain != NADIR_DOMAIN_UNSAID ? ball->domain : model->domain;
    const nadir_domain usual = model->lower != NULL ? NADIR_DOMAIN_BOX : NADIR_DOMAIN_SIMPLEX;
    made->domain = made->domain != NADIR_DOMAIN_UNSAID ? made->domain : usual;
    made->p = !isnan(ball->norm) ? ball->norm : isnan(model->norm) ? 2 : model->norm;
    made->q = nadir_holder_conjugate(made->p);
    made->set = made->asked == NADIR_SET_NONRECT && isinf(made->p) ? NADIR_SET_SA : made->asked;
    if (!(made->p >= 1)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the norm is %g; expected 1 to inf", made->p);
    }
    if (nadir_set_name(made->asked)[0] == '\0' || nadir_domain_name(made->domain)[0] == '\0') {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the set or the domain of the ball is none of the "
                          "known ones");
    }
    made->asked_domain = made->domain;
    if (made->domain == NADIR_DOMAIN_BOX) {
        if (model->lower == NULL) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "domain box is for models with intervals, which this one has not: take domain "
                              "simplex or support");
        }
        made->domain = NADIR_DOMAIN_SUPPORT;
        made->lower = model->lower;
        made->upper = model->upper;
    }
    return NADIR_OK;
}

/* The box alone: every kernel of it is this near. */
static void settle_alone(nadir_uncertainty *made)
{
    made->asked = NADIR_SET_SA;
    made->set = NADIR_SET_SA;
    made->p = INFINITY;
    made->q = 1;
}

static nadir_status check_radius_count(nadir_context *context, const nadir_model *model,
                                       const nadir_uncertainty *made, int64_t count)
{
    const bool by_state = made->asked == NADIR_SET_S;
    const int64_t places = by_state ? nadir_model_total(model) : nadir_global_count(context, model->rows);
    if (count == 1 || (made->asked != NADIR_SET_NONRECT && count == places)) {
        return NADIR_OK;
    }
    if (made->asked == NADIR_SET_NONRECT) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "there are %lld radii, but the non-rectangular ball has one; give one, or another "
                          "set, or scales",
                          (long long)count);
    }
    return nadir_fail(
        context, NADIR_ERROR_ARGUMENT, "there are %lld radii; set %s takes 1, or one for each of the %lld %s",
        (long long)count, nadir_set_name(made->asked), (long long)places, by_state ? "states" : "rows");
}

/* W_s = |alpha_s pi_s|_q */
static nadir_status fill_weights(nadir_context *context, const nadir_model *model, const nadir_policy *policy,
                                 const nadir_uncertainty *made, double *W)
{
    nadir_status status = NADIR_OK;
    double *shape = NULL;
    NADIR_NEW(context, shape, nadir_model_most_actions(model));
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t actions = model->state_rows[s + 1] - first;
        for (int64_t a = 0; a < actions; a++) {
            shape[a] = nadir_uncertainty_scale(made, first + a) * policy->probabilities[first + a];
        }
        W[s] = nadir_norm_short(actions, shape, made->q);
    }
cleanup:
    nadir_release(context, shape);
    return status;
}

/* Entries of unpinned rows, and whether nothing can move at all. */
static void count_entries(const nadir_context *context, const nadir_model *model, nadir_uncertainty *made)
{
    bool idle = made->radius == 0;
    bool all_pinned = true;
    for (int64_t row = 0; row < model->rows; row++) {
        const bool pinned = nadir_uncertainty_scale(made, row) == 0;
        made->entries += pinned ? 0 : nadir_model_total(model);
        all_pinned = all_pinned && pinned;
    }
    made->entries = nadir_global_count(context, made->entries);
    made->idle = nadir_allreduce_and(context, all_pinned) || idle || nadir_model_total(model) == 1;
}

/* What landing pays must be known of all rows that the ball lets change. */
static nadir_status check_unpinned(nadir_context *context, const nadir_model *model, const double *scales)
{
    for (int64_t row = 0; model->pinned_zeros && row < model->rows; row++) {
        if (model->scales[row] == 0 && scales[row] > 0) {
            char label[NADIR_LABEL_LENGTH];
            return nadir_fail(
                context, NADIR_ERROR_UNSUPPORTED,
                "the model itself pins %s, and its rewards of successors of probability 0 were not "
                "kept: take domain support, or give the model these scales",
                nadir_model_label(model, nadir_model_row_state(model, row), row, label));
        }
    }
    return NADIR_OK;
}

nadir_status nadir_uncertainty_make(nadir_context *context, const nadir_model *model,
                                    const nadir_policy *policy, const nadir_ball *ball,
                                    nadir_uncertainty *uncertainty)
{
    nadir_status status = NADIR_OK;
    nadir_uncertainty made = {0};
    nadir_ball use;
    nadir_ball_default(&use);
    if (ball != NULL && !nadir_settings_copy(&use, sizeof use, ball)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the ball is not set");
    }
    NADIR_CHECK(settle_shape(context, model, &use, &made));
    const double *radius = use.radius != NULL ? use.radius : model->radius;
    int64_t radii = use.radius != NULL ? use.radius_count : model->radius_count;
    const double *scales = use.scales != NULL ? use.scales : model->scales;
    const double farthest = 1; /* probabilities are not farther from each other */
    const bool alone = made.lower != NULL &&
                       (radius == NULL || radii == 0 || (radii == 1 && isinf(radius[0]) && radius[0] > 0));
    if (alone) {
        settle_alone(&made);
        radius = &farthest;
        radii = 1;
    }
    if (radius == NULL || radii == 0) {
        status =
            nadir_fail(context, NADIR_ERROR_ARGUMENT, "a radius is needed: the model has none of its own");
        goto cleanup;
    }
    NADIR_CHECK(check_radius_count(context, model, &made, radii));
    NADIR_CHECK(check_numbers(context, model, "radius", NADIR_RADIUS_MOST, radii, radius));
    if (scales != NULL) {
        NADIR_CHECK(check_numbers(context, model, "scale", NADIR_SCALE_MOST, model->rows, scales));
        NADIR_CHECK(check_small_scales(context, model, scales));
    }
    if (model->lower != NULL && model->pinned_zeros && made.domain != NADIR_DOMAIN_SUPPORT) {
        status = nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "the model has intervals, and its rewards of successors whose upper bound is 0 were not "
            "kept: take domain box or support");
        goto cleanup;
    }
    if (use.scales != NULL && made.domain != NADIR_DOMAIN_SUPPORT) {
        NADIR_CHECK(check_unpinned(context, model, use.scales));
    }
    /* Radii are those of all processes: the own ones are kept. */
    const bool by_state = made.asked == NADIR_SET_S;
    const int64_t own = by_state ? model->states : model->rows;
    const int64_t first = by_state ? nadir_model_first(model) : nadir_global_first(context, model->rows);
    made.owned_count = model->states + (radii > 1 ? own : 0) + (scales != NULL ? model->rows : 0);
    NADIR_NEW(context, made.owned, made.owned_count);
    double *next = made.owned + model->states;
    for (int64_t i = 0; i < radii; i++) {
        made.radius = radius[i] > made.radius ? radius[i] : made.radius;
    }
    if (radii > 1) {
        made.radii = memcpy(next, radius + first, (size_t)own * sizeof *radius);
        next += own;
    }
    if (scales != NULL) {
        made.scales = memcpy(next, scales, (size_t)model->rows * sizeof *scales);
        for (int64_t row = 0; alone && row < model->rows; row++) {
            next[row] = scales[row] > 0 ? 1 : 0;
        }
        for (int64_t s = 0; s < model->states; s++) { /* the end is known, whatever the ball says */
            for (int64_t row = model->state_rows[s];
                 nadir_model_ends(model, s) && row < model->state_rows[s + 1]; row++) {
                next[row] = 0;
            }
        }
    }
    NADIR_CHECK(fill_weights(context, model, policy, &made, made.owned));
    made.W = made.owned;
    count_entries(context, model, &made);
    *uncertainty = made;
    made.owned = NULL;
cleanup:
    nadir_release(context, made.owned);
    return status;
}

nadir_status nadir_uncertainty_copy(nadir_context *context, const nadir_uncertainty *from,
                                    nadir_uncertainty *to)
{
    nadir_status status = NADIR_OK;
    double *owned = NULL;
    NADIR_NEW(context, owned, from->owned_count);
    memcpy(owned, from->owned, (size_t)from->owned_count * sizeof *owned);
    *to = *from;
    to->owned = owned;
    to->W = owned;
    to->radii = from->radii != NULL ? owned + (from->radii - from->owned) : NULL;
    to->scales = from->scales != NULL ? owned + (from->scales - from->owned) : NULL;
cleanup:
    return status;
}

void nadir_uncertainty_clear(nadir_context *context, nadir_uncertainty *uncertainty)
{
    nadir_release(context, uncertainty->owned);
    *uncertainty = (nadir_uncertainty){0};
}
