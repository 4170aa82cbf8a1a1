/* ascent_step.c: metric, acceleration and trial policies of the ascent; see ascent.h. */
#include "policy/ascent.h"

#include "linalg/distributed.h"

#include <math.h>
#include <string.h>

/* Power of occupancies in the metric. 1 is the natural gradient. On dense models the adversary's response to
 * a change of the policy curves the return like d(s)^2. On sparse models a power between was fastest. */
#define METRIC       1.5
#define METRIC_DENSE 2.0
/* Least occupancy, relative to the average: the policy of a state that is hardly visited matters as soon as
 * another policy or kernel leads there. */
#define LEAST_OCCUPANCY 1e-6
/* First steps without acceleration, and the largest coefficient of the others. */
#define PLAIN_STEPS         2
#define LARGEST_COEFFICIENT 1.0
/* Smaller probabilities become zero. */
#define SMALLEST_PROBABILITY 1e-12

/*
 * On dense models the worst kernel is about that of the free domain, whose penalty is c |x|_2 with x = alpha
 * d pi. Its curvature along pi is c / |x| = penalty / |x|^2 times d^2, and the step is its inverse. 0: not
 * known.
 */
static double alpha_from_curvature(const nadir_ascent *self)
{
    const nadir_model *model = self->minmax.model;
    const nadir_response *current = self->current;
    const nadir_uncertainty *set = current->setup.problem.uncertainty;
    const double penalty = current->penalty;
    double square = 0;
    if (model->dense == NULL || set->set != NADIR_SET_NONRECT || set->p != 2 || !(penalty > 0)) {
        return 0;
    }
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double x =
                nadir_uncertainty_scale(set, row) * current->d[s] * current->policy->probabilities[row];
            square += x * x;
        }
    }
    return nadir_allreduce_sum(self->context, square) / penalty;
}

void nadir_ascent_measure(nadir_ascent *self)
{
    const nadir_model *model = self->minmax.model;
    const nadir_response *current = self->current;
    const double least = LEAST_OCCUPANCY / ((1 - model->discount) * (double)nadir_model_total(model));
    const double power = model->dense != NULL ? METRIC_DENSE : METRIC;
    double widest = 0;
    self->gradient = (nadir_policy_gradient){current->d, current->q, current->v, least};
    for (int64_t s = 0; s < model->states; s++) {
        double low = INFINITY;
        double high = -INFINITY;
        self->metric[s] = pow(fabs(nadir_policy_gradient_occupancy(&self->gradient, s)), power);
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double slope = nadir_policy_gradient_entry(&self->gradient, s, row);
            low = slope < low ? slope : low;
            high = slope > high ? slope : high;
        }
        widest = fmax(widest, (high - low) / self->metric[s]);
    }
    widest = nadir_allreduce_maximum(self->context, widest);
    if (!(self->state.alpha > 0)) {
        self->state.alpha = alpha_from_curvature(self);
    }
    if (!(self->state.alpha > 0 && isfinite(self->state.alpha))) {
        self->state.alpha = widest > 0 ? 1 / widest : 1;
    }
}

/* The coefficient t of nadir_ascent_anderson. */
static double anderson_coefficient(const nadir_ascent *self, const double *before)
{
    const nadir_model *model = self->minmax.model;
    double along = 0;
    double square = 0;
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double change = self->direction[row] - before[row];
            along += self->metric[s] * change * self->direction[row];
            square += self->metric[s] * change * change;
        }
    }
    return square > 0 ? fmin(fmax(along / square, -LARGEST_COEFFICIENT), LARGEST_COEFFICIENT) : 0;
}

/* Makes the last pair that of this policy, and the one before that of the previous policy. It is so already
 * where the last step was proposed and not taken. */
static nadir_status shift_pairs(nadir_context *context, const double *pi, nadir_lbfgs *pairs)
{
    const int last = pairs->count - 1;
    if (last >= 0 && memcmp(pairs->s[last], pi, (size_t)pairs->rows * sizeof *pi) == 0) {
        return NADIR_OK;
    }
    if (last < 1) {
        return nadir_lbfgs_push(context, pairs);
    }
    double *s = pairs->s[0];
    double *y = pairs->y[0];
    pairs->s[0] = pairs->s[1];
    pairs->y[0] = pairs->y[1];
    pairs->s[1] = s;
    pairs->y[1] = y;
    return NADIR_OK;
}

nadir_status nadir_ascent_anderson(nadir_ascent *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->minmax.model;
    nadir_lbfgs *pairs = &self->lbfgs;
    const double *pi = self->current->policy->probabilities;
    double slope = 0;
    if (self->state.iterations < PLAIN_STEPS) {
        return NADIR_OK;
    }
    NADIR_CHECK(shift_pairs(self->context, pi, pairs));
    const int last = pairs->count - 1;
    double *step = pairs->y[last];
    memcpy(pairs->s[last], pi, (size_t)pairs->rows * sizeof *pi);
    memcpy(step, self->direction, (size_t)pairs->rows * sizeof *step);
    if (last == 0) {
        return NADIR_OK;
    }
    const double *policy_before = pairs->s[last - 1];
    const double *step_before = pairs->y[last - 1];
    const double share = anderson_coefficient(self, step_before);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            self->direction[row] -= share * (pi[row] - policy_before[row] + step[row] - step_before[row]);
            slope += nadir_policy_gradient_entry(&self->gradient, s, row) * self->direction[row];
        }
    }
    if (!(slope > 0)) {
        memcpy(self->direction, step, (size_t)pairs->rows * sizeof *step);
    }
cleanup:
    return status;
}

nadir_status nadir_ascent_update_model(nadir_ascent *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->minmax.model;
    const nadir_response *current = self->current;
    const nadir_response *next = self->next;
    double s_s = 0;
    double s_y = 0;
    double *step = NULL;
    double *decrease = NULL;
    if (self->lbfgs.most > 0) {
        NADIR_CHECK(nadir_lbfgs_push(self->context, &self->lbfgs));
        step = self->lbfgs.s[self->lbfgs.count - 1];
        decrease = self->lbfgs.y[self->lbfgs.count - 1];
    }
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double moved = next->policy->probabilities[row] - current->policy->probabilities[row];
            s_s += self->metric[s] * moved * moved;
            s_y -= current->d[s] * moved * (next->q[row] - current->q[row]);
            if (step != NULL) {
                step[row] = moved;
                decrease[row] = current->d[s] * (current->q[row] - current->v[s]) -
                                next->d[s] * (next->q[row] - next->v[s]);
            }
        }
    }
    s_s = nadir_allreduce_sum(self->context, s_s);
    s_y = nadir_allreduce_sum(self->context, s_y);
    const double alpha = self->state.alpha;
    self->state.alpha = fmin(fmax(s_y > 0 ? s_s / s_y : 10 * alpha, 1e-3 * alpha), 1e3 * alpha);
cleanup:
    return status;
}

static double clean(double probability)
{
    return probability > SMALLEST_PROBABILITY ? probability : 0;
}

static void normalise(const nadir_model *model, double *probabilities)
{
    for (int64_t s = 0; s < model->states; s++) {
        double sum = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            sum += probabilities[row];
        }
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            probabilities[row] /= sum;
        }
    }
}

/* pi + t direction. */
static nadir_status make_trial(nadir_ascent *self, double t, nadir_policy **trial)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->minmax.model;
    const double *pi = self->current->policy->probabilities;
    NADIR_CHECK(nadir_policy_create_blank(self->context, model, trial));
    double *probabilities = (*trial)->probabilities;
    for (int64_t row = 0; row < model->rows; row++) {
        probabilities[row] = clean(t > 0 ? pi[row] + t * self->direction[row] : pi[row]);
    }
    normalise(model, probabilities);
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
