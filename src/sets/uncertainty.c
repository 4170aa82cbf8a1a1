/* uncertainty.c: what the user asked for, what the model says, and the defaults, settled into one set. */
#include "sets/uncertainty.h"

#include "core/round.h"
#include "model/box.h"
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
    made->chi2 = made->p == NADIR_NORM_CHI2;
    made->p = made->chi2 ? 2 : made->p;
    made->q = nadir_holder_conjugate(made->p);
    made->set = made->asked == NADIR_SET_NONRECT && isinf(made->p) ? NADIR_SET_SA : made->asked;
    if (!(made->p >= 1)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the norm is %g; expected 1 to inf, or chi2",
                          made->p);
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

/* Phat below this counts as it: the ball is that much larger. */
#define LEAST_CHI2 1e-100

/* Whether entries have weights, and nothing that these are not for. */
static nadir_status check_weighted(nadir_context *context, const nadir_model *model, const double *weights,
                                   nadir_uncertainty *made)
{
    const char *what = made->chi2 ? "norm chi2" : "a model with weights of entries";
    if (weights == NULL && !made->chi2) {
        return NADIR_OK;
    }
    if (made->p != 2) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "the model has weights of entries, which are for norm 2, and the norm is %g: take norm 2, "
            "or chi2, or a model without weights",
            made->p);
    }
    if (made->domain == NADIR_DOMAIN_FREE) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "%s is for domain support: entries without a nominal probability do not move",
                          what);
    }
    if (made->lower != NULL) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "%s is not there for domain box, which bounds entries by its intervals: take domain "
            "support",
            what);
    }
    made->domain = NADIR_DOMAIN_SUPPORT;
    made->asked_domain = NADIR_DOMAIN_SUPPORT;
    return nadir_model_check_one_process(context, model, what);
}

/* The weight of an entry as it is given: of the model, or of the chi^2 ball. */
static double given_weight(const nadir_uncertainty *made, const double *weights, int64_t entry, double phat)
{
    if (!made->chi2) {
        return phat > 0 ? weights[entry] : 0;
    }
    return phat > NADIR_LEAST_PROBABILITY ? sqrt(fmax(phat, LEAST_CHI2)) : 0;
}

/* Weights, the largest of each row 1, which its scale takes: rounded up, so that the set has all kernels. */
static void fill_entry_weights(const nadir_model *model, const double *given, const nadir_uncertainty *made,
                               double *scales, double *weights)
{
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        const int64_t start = model->dense != NULL ? row * model->states : model->row_starts[row];
        double largest = 0;
        for (int64_t i = 0; i < entries.count; i++) {
            weights[start + i] = given_weight(made, given, start + i, entries.values[i]);
            largest = fmax(largest, weights[start + i]);
        }
        for (int64_t i = 0; i < entries.count; i++) {
            const double share = largest > 0 ? weights[start + i] / largest : 0;
            weights[start + i] = share < 1 ? fmin(1, nadir_round_up(share, 4)) : share;
        }
        scales[row] = nadir_round_up(scales[row] * largest, 4);
    }
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

static nadir_status make(nadir_context *context, const nadir_model *model, const nadir_policy *policy,
                         const nadir_ball *ball, const double *weights, nadir_uncertainty *uncertainty)
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
    const bool alone = made.lower != NULL && !made.chi2 &&
                       (radius == NULL || radii == 0 || (radii == 1 && isinf(radius[0]) && radius[0] > 0));
    if (alone) {
        settle_alone(&made);
        radius = &farthest;
        radii = 1;
    } else {
        NADIR_CHECK(check_weighted(context, model, weights, &made));
    }
    const bool weighted = !alone && (made.chi2 || weights != NULL);
    const int64_t entries =
        model->dense != NULL ? model->rows * model->states : model->row_starts[model->rows];
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
    made.owned_count = model->states + (radii > 1 ? own : 0) + (scales != NULL ? model->rows : 0) +
                       (weighted ? model->rows + entries : 0);
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
        next += model->rows;
    }
    made.asked_scales = made.scales;
    if (weighted) {
        for (int64_t row = 0; row < model->rows; row++) {
            next[row] = made.scales != NULL ? made.scales[row] : 1;
        }
        fill_entry_weights(model, weights, &made, next, next + model->rows);
        made.scales = next;
        made.weights = next + model->rows;
        NADIR_CHECK(check_numbers(context, model, "scale times largest weight", NADIR_SCALE_MOST, model->rows,
                                  made.scales));
        NADIR_CHECK(check_small_scales(context, model, made.scales));
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

nadir_status nadir_uncertainty_make(nadir_context *context, const nadir_model *model,
                                    const nadir_policy *policy, const nadir_ball *ball,
                                    nadir_uncertainty *uncertainty)
{
    return make(context, model, policy, ball, model->weights, uncertainty);
}

nadir_status nadir_uncertainty_make_unweighted(nadir_context *context, const nadir_model *model,
                                               const nadir_policy *policy, const nadir_ball *ball,
                                               nadir_uncertainty *uncertainty)
{
    return make(context, model, policy, ball, NULL, uncertainty);
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
    to->asked_scales = from->asked_scales != NULL ? owned + (from->asked_scales - from->owned) : NULL;
    to->weights = from->weights != NULL ? owned + (from->weights - from->owned) : NULL;
cleanup:
    return status;
}

void nadir_uncertainty_clear(nadir_context *context, nadir_uncertainty *uncertainty)
{
    nadir_release(context, uncertainty->owned);
    *uncertainty = (nadir_uncertainty){0};
}
