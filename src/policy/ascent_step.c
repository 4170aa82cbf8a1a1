/* ascent_step.c: gradient, metric and trial policies of the ascent; see ascent.h. */
#include "policy/ascent.h"

#include "linalg/distributed.h"

#include <math.h>

/* Power of occupancies in the metric. 1 is the natural gradient. On dense models the adversary's response to
 * a change of the policy curves the return like d(s)^2. On sparse models a power between was fastest. */
#define METRIC       1.5
#define METRIC_DENSE 2.0
/* Least occupancy, relative to the average: the policy of a state that is hardly visited matters as soon as
 * another policy or kernel leads there. */
#define LEAST_OCCUPANCY 1e-6
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
    const bool paper = self->kind == NADIR_ASCENT_PAPER;
    const double least = LEAST_OCCUPANCY / (current->setup.problem.rest * (double)nadir_model_total(model));
    const double power = model->dense != NULL ? METRIC_DENSE : METRIC;
    double widest = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const double d = paper || fabs(current->d[s]) > least ? current->d[s] : least;
        const double v = paper ? 0 : current->v[s];
        double low = INFINITY;
        double high = -INFINITY;
        self->metric[s] = paper ? 1 : pow(fabs(d), power);
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double slope = d * (current->q[row] - v);
            self->gradient[row] = slope;
            low = slope < low ? slope : low;
            high = slope > high ? slope : high;
        }
        widest = fmax(widest, (high - low) / self->metric[s]);
    }
    widest = nadir_allreduce_maximum(self->context, widest);
    if (paper) {
        self->state.alpha = self->search.settings->step;
        return;
    }
    if (!(self->state.alpha > 0)) {
        self->state.alpha = alpha_from_curvature(self);
    }
    if (!(self->state.alpha > 0 && isfinite(self->state.alpha))) {
        self->state.alpha = widest > 0 ? 1 / widest : 1;
    }
}

nadir_status nadir_ascent_update_model(nadir_ascent *self)
{
    const nadir_model *model = self->minmax.model;
    const nadir_response *current = self->current;
    const nadir_response *next = self->next;
    double s_s = 0;
    double s_y = 0;
    double *step = NULL;
    double *decrease = NULL;
    if (self->lbfgs.most > 0) {
        NADIR_TRY(nadir_lbfgs_push(self->context, &self->lbfgs));
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
    return NADIR_OK;
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
    const nadir_model *model = self->minmax.model;
    const double *pi = self->current->policy->probabilities;
    NADIR_TRY(nadir_policy_create_blank(self->context, model, trial));
    double *probabilities = (*trial)->probabilities;
    for (int64_t row = 0; row < model->rows; row++) {
        const double moved = t > 0 ? pi[row] + t * self->direction[row] : pi[row];
        probabilities[row] = moved > SMALLEST_PROBABILITY ? moved : 0;
    }
    normalise(model, probabilities);
    return NADIR_OK;
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
                                                self->current->d, self->next));
    } else {
        NADIR_CHECK(nadir_response_find(self->context, &self->minmax, trial, self->current->v,
                                        self->current->d, self->state.tolerance, self->next));
    }
cleanup:
    nadir_policy_free(trial);
    return status;
}
