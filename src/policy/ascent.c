/* ascent.c: the robust policy by projected gradients; see ascent.h. */
#include "policy/ascent.h"

#include "core/context.h"
#include "linalg/distributed.h"

#include <math.h>
#include <string.h>

/* The share of its promise that a step must keep, and the shortest step. */
#define ARMIJO   1e-4
#define SHORTEST 1e-7
/* Responses are found to this share of the penalty while much is to be gained; later to the square of the
 * advantage, since the error of the gradient is the root of that of the return. */
#define LOOSE  1e-3
#define SQUARE 1e-2
#define TIGHT  1e-11
/* An advantage of this share of the gap that is wanted is none. */
#define HARDLY 1e-3
/* After so many steps that brought neither a smaller advantage nor a higher return, the return has a kink
 * here, and no gradient leads on. */
#define IDLE 40
/* So many of them at a glance, and it takes a closer look. */
#define ASTRAY 3
/* The same where steps at a glance, after that many, leave more than this share of the advantage on average.
 */
#define SLOW 0.6
/* Quasi-Newton pairs are kept as long as they have at most so many numbers. */
#define PAIR_NUMBERS 20000000.0

double nadir_ascent_scale(const nadir_ascent *ascent)
{
    const double J = ascent->current->J;
    return fmax(fabs(ascent->nominal_optimum), fabs(J));
}

void nadir_ascent_clear(nadir_ascent *ascent)
{
    nadir_context *context = ascent->context;
    nadir_response *responses[] = {ascent->current, ascent->next};
    for (int i = 0; i < 2; i++) {
        if (responses[i] != NULL) {
            nadir_response_clear(context, responses[i]);
            nadir_release(context, responses[i]);
        }
    }
    nadir_minmax_clear(context, &ascent->minmax);
    nadir_dual_bound_clear(context, &ascent->dual_bound);
    nadir_lbfgs_clear(context, &ascent->lbfgs);
    nadir_policy_free(ascent->best);
    double *arrays[] = {ascent->warm_v, ascent->warm_d, ascent->direction, ascent->metric};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        nadir_release(context, arrays[i]);
    }
}

void nadir_ascent_release_work(nadir_ascent *ascent)
{
    nadir_context *context = ascent->context;
    nadir_lbfgs_forget(context, &ascent->lbfgs);
    nadir_release(context, ascent->direction);
    ascent->direction = NULL;
    if (ascent->next != NULL) {
        nadir_response_clear(context, ascent->next);
    }
    if (ascent->current != NULL) {
        nadir_release(context, ascent->current->q);
        ascent->current->q = NULL;
    }
    for (int i = 0; i < 2; i++) {
        nadir_kernel_free(ascent->minmax.spare[i]);
        ascent->minmax.spare[i] = NULL;
    }
}

static nadir_status make(nadir_ascent *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_model *model = self->minmax.model;
    const double room = PAIR_NUMBERS / nadir_allreduce_maximum(context, (double)model->rows);
    const int pairs = (int)fmin(fmax(room, 3), NADIR_LBFGS_PAIRS);
    NADIR_NEW_ZERO(context, self->current, 1);
    NADIR_NEW_ZERO(context, self->next, 1);
    NADIR_NEW_ZERO(context, self->warm_v, model->states);
    NADIR_NEW_ZERO(context, self->warm_d, model->states);
    NADIR_NEW(context, self->metric, model->states);
    NADIR_CHECK(
        nadir_lbfgs_make(context, model, self->kind == NADIR_ASCENT_QUASI_NEWTON ? pairs : 0, &self->lbfgs));
    self->dual_bound = (nadir_dual_bound){.model = self->minmax.model,
                                          .backend = self->minmax.backend,
                                          .tolerance = fmax(0.01 * self->settings->gap, 1e-13),
                                          .upper = INFINITY};
cleanup:
    return status;
}

static double penalty(const nadir_ascent *self)
{
    return fmax(self->nominal_optimum - self->current->J, 0);
}

/* Half of what is asked for: the evaluation with proof, which comes after, has its own share. */
static double wanted_gap(const nadir_ascent *self)
{
    return 0.5 * self->settings->gap * nadir_ascent_scale(self);
}

/* Of the next response; infinity: a glance will do. */
static double next_tolerance(const nadir_ascent *self)
{
    if (self->kind == NADIR_ASCENT_PAPER) {
        return fmax(pow(self->minmax.model->discount, (double)self->state.iterations + 1), TIGHT);
    }
    if (self->state.inexact_steps != 0) {
        return INFINITY;
    }
    const double least = 0.3 * wanted_gap(self);
    const double share = fmax(self->advantage, least) / fmax(penalty(self), least);
    return fmin(LOOSE, fmax(SQUARE * share * share, TIGHT));
}

/* Counts steps that brought nothing. */
static void watch_progress(nadir_ascent *self)
{
    nadir_ascent_state *state = &self->state;
    const bool first = state->iterations == 0;
    const bool risen = self->current->J > state->risen + 0.01 * wanted_gap(self);
    const bool smaller = self->advantage < 0.9 * state->least;
    state->idle = first || risen || smaller ? 0 : state->idle + 1;
    state->risen = first || risen ? self->current->J : state->risen;
    state->least = first || smaller ? self->advantage : state->least;
    state->offered = first ? self->advantage : state->offered;
}

/* The policy at hand is the best. */
static void keep_best(nadir_ascent *self)
{
    nadir_policy *before = self->best;
    self->best = nadir_policy_retain(self->current->policy);
    nadir_policy_free(before);
    self->state.best = self->current->J - self->current->error;
    self->state.best_nominal = self->current->asked.problem.J;
}

/* What is known of the policy at hand, once its response is there. */
static void take_stock(nadir_ascent *self)
{
    const nadir_response *current = self->current;
    self->advantage = nadir_response_advantage(self->context, current);
    watch_progress(self);
    self->state.evaluations = self->minmax.evaluations;
    self->state.history[self->state.iterations % NADIR_ASCENT_HISTORY] = current->J;
    if (self->state.iterations == 0 || current->J - current->error > self->state.best) {
        keep_best(self);
    }
}

/* The response to the first policy, or to that of a checkpoint. */
static nadir_status begin(nadir_ascent *self, nadir_policy *start)
{
    nadir_status status = NADIR_OK;
    const bool resumed = self->store.read != NULL;
    if (resumed) {
        NADIR_CHECK(nadir_ascent_resume(self, start));
    } else {
        self->state.tolerance = NADIR_ASCENT_FIRST_TOLERANCE;
        NADIR_CHECK(nadir_ascent_respond(self, start, self->current));
    }
    if (resumed) { /* stock was taken before */
        self->advantage = nadir_response_advantage(self->context, self->current);
    } else {
        self->state.initial = self->current->J;
        self->state.inexact_steps =
            self->kind == NADIR_ASCENT_QUASI_NEWTON && nadir_response_allows_inexact(self->current);
        self->state.asked = INFINITY;
        take_stock(self);
    }
cleanup:
    return status;
}

/* ------------------------------------------------------------------------------------------- stops */

/* Progress, checkpoint and limits. */
static nadir_status report(nadir_ascent *self)
{
    nadir_status status = NADIR_OK;
    const nadir_robust_optimum_settings *settings = self->settings;
    /* clocks differ, decisions must not */
    const double seconds = nadir_allreduce_maximum(self->context, nadir_clock_seconds() - self->begun);
    NADIR_CHECK(nadir_ascent_save(self, false));
    if (settings->watch != NULL) {
        const nadir_robust_optimum_step step = {
            .size = sizeof step,
            .iteration = self->state.iterations,
            .evaluations = self->state.evaluations,
            .robust_return = self->current->J,
            .gap = self->advantage / nadir_ascent_scale(self),
            .seconds = seconds,
        };
        if (settings->watch(settings->watch_user, &step) != 0) {
            return nadir_fail(self->context, NADIR_ERROR_INTERRUPTED, "interrupted");
        }
    }
    NADIR_CHECK(nadir_progress(self->context, "improving the policy", -1));
    if (self->state.evaluations >= settings->evaluations_limit) {
        self->stop_reason = "evaluations";
    } else if (seconds >= settings->time_limit) {
        self->stop_reason = "time";
    } else if (self->state.idle > IDLE && self->kind != NADIR_ASCENT_PAPER) {
        self->stop_reason = "stationary";
    }
cleanup:
    return status;
}

static void stop_here(nadir_ascent *self, const char *reason)
{
    self->stop_reason = reason;
    keep_best(self);
}

/* Once the advantage is small, whether the bounds have met; where they never will (the worst kernel is no
 * decision process, or one of several), whether there is anything left to improve. */
static nadir_status ask_dual_bound(nadir_ascent *self)
{
    nadir_status status = NADIR_OK;
    const double wanted = wanted_gap(self);
    if (self->advantage > fmin(0.5 * wanted, self->state.asked) || self->current->error > 0.5 * wanted) {
        return NADIR_OK;
    }
    self->dual_bound.base = nadir_minmax_base(&self->minmax);
    if (self->current->evaluation.candidate.kernel != NULL) { /* else it was tried already */
        NADIR_CHECK(nadir_dual_bound_add_kernel(self->context, &self->dual_bound,
                                                &self->current->evaluation.candidate.kernel, self->current->v,
                                                self->current->q));
    }
    if (self->dual_bound.upper - (self->current->J - self->current->error) <= wanted) {
        stop_here(self, "gap");
    } else if (self->advantage <= HARDLY * wanted) {
        stop_here(self, "stationary");
    }
    self->state.asked = 0.25 * self->advantage;
cleanup:
    return status;
}

/* ------------------------------------------------------------------------------------------- steps */

/* The paper's own: the gradient with the step given, in the plain metric. */
static nadir_status propose_paper(nadir_ascent *self)
{
    const nadir_model *model = self->minmax.model;
    for (int64_t s = 0; s < model->states; s++) {
        self->metric[s] = 1;
    }
    self->slope = (nadir_policy_gradient){.d = self->current->d, .q = self->current->q, .least = -INFINITY};
    nadir_lbfgs_prepare(self->context, &self->lbfgs, self->metric, self->settings->step);
    return nadir_lbfgs_step(self->context, &self->lbfgs, self->current->policy->probabilities, &self->slope,
                            self->direction);
}

/* The direction, and in *slope what it promises at first order. */
static nadir_status propose(nadir_ascent *self, double *slope)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->minmax.model;
    if (self->direction == NULL) {
        NADIR_NEW(self->context, self->direction, model->rows);
    }
    if (self->kind == NADIR_ASCENT_PAPER) {
        NADIR_CHECK(propose_paper(self));
    } else {
        const bool inexact_steps = self->state.inexact_steps != 0;
        const int pairs = self->lbfgs.count;
        if (inexact_steps) { /* no step has taught anything: the curvature is that of the rows */
            self->state.alpha = 0;
            self->lbfgs.count = 0;
        }
        nadir_ascent_measure(self);
        nadir_lbfgs_prepare(self->context, &self->lbfgs, self->metric, self->state.alpha);
        status = nadir_lbfgs_step(self->context, &self->lbfgs, self->current->policy->probabilities,
                                  &self->slope, self->direction);
        self->lbfgs.count = pairs;
        NADIR_CHECK(status);
        NADIR_CHECK(inexact_steps ? nadir_ascent_anderson(self) : NADIR_OK);
    }
    *slope = 0;
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            *slope +=
                self->current->d[s] * self->direction[row] * (self->current->q[row] - self->current->v[s]);
        }
    }
    *slope = nadir_allreduce_sum(self->context, *slope);
cleanup:
    return status;
}

/* What a step must not fall below: the worst of the last few returns, less what is not known of the present
 * one. */
static double reference(const nadir_ascent *self)
{
    const int64_t count =
        self->state.iterations < NADIR_ASCENT_HISTORY ? self->state.iterations + 1 : NADIR_ASCENT_HISTORY;
    double least = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        least = fmin(least, self->state.history[i]);
    }
    return least - 2 * self->current->error - 1e-13 * nadir_ascent_scale(self);
}

/* The whole step, or the part of it that keeps a share of its promise. *moved: false if none does. A policy
 * that breaks down (free domain) keeps nothing. */
static nadir_status advance(nadir_ascent *self, double slope, bool *moved)
{
    nadir_status status = NADIR_OK;
    const double least = reference(self);
    double t = 1;
    *moved = false;
    while (!*moved && t > SHORTEST) {
        status = nadir_ascent_try_step(self, t);
        const bool broken = status == NADIR_ERROR_ILL_POSED;
        NADIR_CHECK(broken ? NADIR_OK : status);
        const double gained = broken ? -INFINITY : self->next->J - self->current->J;
        *moved = !broken && (self->kind == NADIR_ASCENT_PAPER || self->next->J >= least + ARMIJO * t * slope);
        const double bend = t * slope - gained; /* J ~ J + t slope - bend: highest at slope t^2 / (2 bend) */
        t = fmin(fmax(slope * t * t / (2 * bend), 0.1 * t), 0.5 * t);
        if (!*moved && self->state.inexact_steps != 0) { /* it takes more than that to tell what is better */
            break;
        }
        if (!*moved && self->minmax.evaluations >= self->settings->evaluations_limit) {
            break;
        }
    }
cleanup:
    return status;
}

/* The policy tried becomes the one at hand. */
static void arrive(nadir_ascent *self)
{
    const size_t bytes = (size_t)self->minmax.model->states * sizeof(double);
    nadir_response *kept = self->current;
    memcpy(self->warm_v, self->current->v, bytes);
    memcpy(self->warm_d, self->current->d, bytes);
    self->state.followed = 1;
    self->current = self->next;
    self->next = kept;
    self->state.iterations++;
    take_stock(self);
}

/* No step helps: different kernels are bad for the policy and for those beside it, and mixtures of them may
 * be bad for all. */
static nadir_status keep_both(nadir_ascent *self)
{
    nadir_status status = NADIR_OK;
    nadir_response *both[] = {self->current, self->next};
    for (int i = 0; i < 2; i++) {
        if (both[i]->evaluation.candidate.kernel != NULL) {
            NADIR_CHECK(nadir_dual_bound_add_kernel(self->context, &self->dual_bound,
                                                    &both[i]->evaluation.candidate.kernel, both[i]->v,
                                                    both[i]->q));
        }
    }
cleanup:
    return status;
}

/* Nothing but a better response to the same policy can tell more. */
static bool is_rough(const nadir_ascent *self)
{
    const double wanted = wanted_gap(self);
    return self->kind != NADIR_ASCENT_PAPER && self->advantage <= 0.5 * wanted &&
           self->current->error > 0.5 * wanted;
}

/* Glances have led as far as they do: the response to the policy at hand for once, and from then on. */
static nadir_status look_closely(nadir_ascent *self)
{
    nadir_status status = NADIR_OK;
    self->state.inexact_steps = 0;
    self->state.alpha = 0;
    self->lbfgs.count = 0;
    self->state.tolerance = next_tolerance(self);
    NADIR_CHECK(nadir_ascent_try_step(self, 0));
    arrive(self);
    self->state.idle = 0;
cleanup:
    return status;
}

static bool is_astray(const nadir_ascent *self)
{
    const double steps = (double)(self->state.iterations - ASTRAY);
    /* the kernel may have gone to the ceiling, with nothing left to start glances from */
    const bool is_bare =
        nadir_minmax_base(&self->minmax) == NULL && self->current->evaluation.candidate.kernel == NULL;
    return is_bare || self->state.idle >= ASTRAY || self->advantage > self->state.offered * pow(SLOW, steps);
}

static nadir_status climb(nadir_ascent *self)
{
    nadir_status status = NADIR_OK;
    for (;;) {
        double slope;
        bool moved = false;
        NADIR_CHECK(ask_dual_bound(self));
        if (self->stop_reason == NULL) {
            NADIR_CHECK(report(self));
        }
        if (self->stop_reason != NULL) {
            NADIR_CHECK(strcmp(self->stop_reason, "stationary") == 0 ? keep_both(self) : NADIR_OK);
            break;
        }
        self->state.tolerance = next_tolerance(self);
        if (is_rough(self)) {
            self->state.tolerance = fmin(self->state.tolerance, 0.1 * wanted_gap(self) / penalty(self));
            NADIR_CHECK(nadir_ascent_try_step(self, 0));
            arrive(self);
            continue;
        }
        if (self->state.inexact_steps != 0 && is_astray(self)) {
            NADIR_CHECK(look_closely(self));
            continue;
        }
        NADIR_CHECK(propose(self, &slope));
        if (slope > 0 || self->kind == NADIR_ASCENT_PAPER) {
            NADIR_CHECK(advance(self, slope, &moved));
        }
        if (moved) {
            if (self->state.inexact_steps == 0) {
                NADIR_CHECK(nadir_ascent_update_model(self));
            }
            arrive(self);
        } else if (self->minmax.evaluations >= self->settings->evaluations_limit) {
            self->stop_reason = "evaluations";
        } else if (self->state.inexact_steps != 0) {
            NADIR_CHECK(look_closely(self));
        } else {
            NADIR_CHECK(keep_both(self));
            if (self->lbfgs.count > 0) { /* the model was of no use; once more without it */
                self->lbfgs.count = 0;
                self->state.alpha = 0;
            } else {
                stop_here(self, "stationary");
            }
        }
    }
cleanup:
    return status;
}

nadir_status nadir_ascent_run(nadir_ascent *ascent, nadir_policy *start)
{
    nadir_status status = NADIR_OK;
    ascent->begun = nadir_clock_seconds();
    NADIR_CHECK(make(ascent));
    NADIR_CHECK(begin(ascent, start));
    status = climb(ascent);
    if (status == NADIR_ERROR_INTERRUPTED) {
        ascent->stop_reason = "interrupted";
    }
    /* a process that was interrupted alone must not wait for others: the last checkpoint stays */
    const bool alone = status == NADIR_ERROR_INTERRUPTED && ascent->context->communication->members > 1;
    if (ascent->stop_reason != NULL && strcmp(ascent->stop_reason, "gap") != 0 && !alone) {
        const nadir_status saved = nadir_ascent_save(ascent, true);
        status = saved != NADIR_OK ? saved : status;
    }
cleanup:
    return status;
}

nadir_status nadir_ascent_restart(nadir_ascent *ascent)
{
    nadir_status status = NADIR_OK;
    ascent->stop_reason = NULL;
    ascent->lbfgs.count = 0;
    ascent->state.iterations = 0;
    ascent->state.alpha = 0;
    ascent->state.asked = INFINITY;
    ascent->state.followed = 0;
    ascent->state.inexact_steps = 0;
    ascent->state.tolerance = next_tolerance(ascent);
    nadir_response_clear(ascent->context, ascent->current);
    NADIR_CHECK(nadir_response_find(ascent->context, &ascent->minmax, ascent->best, NULL, NULL,
                                    ascent->state.tolerance, ascent->current));
    take_stock(ascent);
    NADIR_CHECK(climb(ascent));
cleanup:
    if (status != NADIR_OK) { /* the best policy so far is still there */
        ascent->stop_reason = status == NADIR_ERROR_INTERRUPTED ? "interrupted" : "stationary";
    }
    return status;
}
