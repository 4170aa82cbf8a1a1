/* ascent_measure.c: by what steps of an ascent are measured, and what they teach; see ascent.h. */
#include "policy/ascent.h"

#include "linalg/distributed.h"

#include <math.h>
#include <string.h>

/* Occupancies take part in the metric with this power. 1 is the natural gradient; the adversary's answer to a
 * change of the policy curves the return as d(s)^2, where nothing else keeps it from answering; what is
 * between is best measured on models of few successors. */
#define METRIC       1.5
#define METRIC_DENSE 2.0
/* States that are visited less than this share of the average count as if they were: what their policy does
 * matters as soon as some other policy, or kernel, leads there. */
#define UNVISITED 1e-6
/* Steps that are not mixed, since they are far from each other yet, and the most that others are. */
#define UNMIXED 2
#define MIXED   1.0

/*
 * Where rows have all successors, the worst kernel is about that of the free domain, which takes c |x|_2, x =
 * alpha d pi, from the return: along pi that bends with c / |x| = penalty / |x|^2 times d^2, and the step
 * that fits is one over it. 0: nothing is known.
 */
static double curved_alpha(const nadir_ascent *self)
{
    const nadir_model *model = self->minmax.model;
    const nadir_response *current = self->current;
    const nadir_uncertainty *set = current->asked.problem.uncertainty;
    const double lost = current->lost;
    double square = 0;
    if (model->dense == NULL || set->set != NADIR_SET_NONRECT || set->p != 2 || !(lost > 0)) {
        return 0;
    }
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double x =
                nadir_uncertainty_scale(set, row) * current->d[s] * current->policy->probabilities[row];
            square += x * x;
        }
    }
    return nadir_allreduce_sum(self->context, square) / lost;
}

void nadir_ascent_measure(nadir_ascent *self)
{
    const nadir_model *model = self->minmax.model;
    const nadir_response *current = self->current;
    const double least = UNVISITED / ((1 - model->discount) * (double)nadir_model_total(model));
    const double power = model->dense != NULL ? METRIC_DENSE : METRIC;
    double widest = 0;
    self->slope = (nadir_policy_gradient){current->d, current->q, current->v, least};
    for (int64_t s = 0; s < model->states; s++) {
        double low = INFINITY;
        double high = -INFINITY;
        self->metric[s] = pow(fabs(nadir_policy_gradient_occupancy(&self->slope, s)), power);
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double slope = nadir_policy_gradient_entry(&self->slope, s, row);
            low = slope < low ? slope : low;
            high = slope > high ? slope : high;
        }
        widest = fmax(widest, (high - low) / self->metric[s]);
    }
    widest = nadir_allreduce_maximum(self->context, widest);
    if (!(self->state.alpha > 0)) {
        self->state.alpha = curved_alpha(self);
    }
    if (!(self->state.alpha > 0 && isfinite(self->state.alpha))) {
        self->state.alpha = widest > 0 ? 1 / widest : 1;
    }
}

/* The share of the change since the step before that makes the step least, in the metric. */
static double mixing_share(const nadir_ascent *self, const double *before)
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
    return square > 0 ? fmin(fmax(along / square, -MIXED), MIXED) : 0;
}

/* Makes the last pair that of this policy, the one before it that of the policy before; it is there already
 * where the last step was proposed and not taken. */
static nadir_status turn_pairs(nadir_context *context, const double *pi, nadir_lbfgs *pairs)
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
    if (self->state.iterations < UNMIXED) {
        return NADIR_OK;
    }
    NADIR_CHECK(turn_pairs(self->context, pi, pairs));
    const int last = pairs->count - 1;
    double *step = pairs->y[last];
    memcpy(pairs->s[last], pi, (size_t)pairs->rows * sizeof *pi);
    memcpy(step, self->direction, (size_t)pairs->rows * sizeof *step);
    if (last == 0) {
        return NADIR_OK;
    }
    const double *policy_before = pairs->s[last - 1];
    const double *step_before = pairs->y[last - 1];
    const double share = mixing_share(self, step_before);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            self->direction[row] -= share * (pi[row] - policy_before[row] + step[row] - step_before[row]);
            slope += nadir_policy_gradient_entry(&self->slope, s, row) * self->direction[row];
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
    double *fall = NULL;
    if (self->lbfgs.most > 0) {
        NADIR_CHECK(nadir_lbfgs_push(self->context, &self->lbfgs));
        step = self->lbfgs.s[self->lbfgs.count - 1];
        fall = self->lbfgs.y[self->lbfgs.count - 1];
    }
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double moved = next->policy->probabilities[row] - current->policy->probabilities[row];
            s_s += self->metric[s] * moved * moved;
            s_y -= current->d[s] * moved * (next->q[row] - current->q[row]);
            if (step != NULL) {
                step[row] = moved;
                fall[row] = current->d[s] * (current->q[row] - current->v[s]) -
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
