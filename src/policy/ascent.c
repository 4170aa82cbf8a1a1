/* ascent.c: the loop of the projected-gradient ascent; see ascent.h. */
#include "policy/ascent.h"

#include "core/context.h"
#include "linalg/distributed.h"
#include "model/landing.h"

#include <math.h>
#include <string.h>

/* Line search: the share of the predicted gain that a step must reach, and the shortest step. */
#define ARMIJO        1e-4
#define SHORTEST_STEP 1e-7
/* Tolerance of responses, relative to the penalty: at most LOOSEST, and SQUARED times the square of the
 * relative advantage, since the error of the gradient is the root of that of the return. */
#define LOOSEST  1e-3
#define SQUARED  1e-2
#define TIGHTEST 1e-11
/* An advantage of this share of the wanted gap counts as zero. */
#define ZERO_ADVANTAGE 1e-3
/* After so many steps with neither a smaller advantage nor a higher return, the return has a kink at this
 * policy, and gradients do not help. */
#define IDLE_STEPS 40
/* After so many such inexact steps, responses become exact. */
#define IDLE_INEXACT_STEPS 3
/* The same if inexact steps after these leave more than this share of the advantage on average. */
#define SLOW_RATE 0.6
/* Most numbers in quasi-Newton pairs. */
#define PAIR_NUMBERS 20000000.0

/* The current worst return, as the user sees it. */
static double current_return(const nadir_ascent *ascent)
{
    return nadir_landing_return(ascent->minmax.model, ascent->current->J);
}

/* The scale of the relative gap. */
static double gap_scale(const nadir_ascent *ascent)
{
    return fmax(fabs(ascent->search.nominal_optimum), fabs(current_return(ascent)));
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
    double *arrays[] = {ascent->warm_v, ascent->warm_d, ascent->gradient, ascent->direction, ascent->metric};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        nadir_release(context, arrays[i]);
    }
}

void nadir_ascent_release_work(nadir_ascent *ascent)
{
    nadir_context *context = ascent->context;
    nadir_lbfgs_forget(context, &ascent->lbfgs);
    nadir_release(context, ascent->gradient);
    nadir_release(context, ascent->direction);
    ascent->gradient = NULL;
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
    const double allowed = PAIR_NUMBERS / nadir_allreduce_maximum(context, (double)model->rows);
    const int pairs = (int)fmin(fmax(allowed, 3), NADIR_LBFGS_PAIRS);
    NADIR_NEW_ZERO(context, self->current, 1);
    NADIR_NEW_ZERO(context, self->next, 1);
    NADIR_NEW_ZERO(context, self->warm_v, model->states);
    NADIR_NEW_ZERO(context, self->warm_d, model->states);
    NADIR_NEW(context, self->metric, model->states);
    NADIR_CHECK(
        nadir_lbfgs_make(context, model, self->kind == NADIR_ASCENT_QUASI_NEWTON ? pairs : 0, &self->lbfgs));
    self->dual_bound = (nadir_dual_bound){.model = self->minmax.model,
                                          .backend = self->minmax.backend,
                                          .tolerance = fmax(0.01 * self->search.settings->gap, 1e-13),
                                          .upper = INFINITY};
cleanup:
    return status;
}

static double penalty(const nadir_ascent *self)
{
    return fmax(self->search.nominal_optimum - current_return(self), 0);
}

/* Half of the gap of the settings: the final evaluation with its proof takes the rest. */
static double wanted_gap(const nadir_ascent *self)
{
    return 0.5 * self->search.settings->gap * gap_scale(self);
}

/* Tolerance of the next response; infinity: inexact. */
static double next_tolerance(const nadir_ascent *self)
{
    if (self->kind == NADIR_ASCENT_PAPER) {
        return fmax(pow(self->minmax.model->discount, (double)self->state.iterations + 1), TIGHTEST);
    }
    if (self->state.inexact_steps != 0) {
        return INFINITY;
    }
    const double least = 0.3 * wanted_gap(self);
    const double share = fmax(self->advantage, least) / fmax(penalty(self), least);
    return fmin(LOOSEST, fmax(SQUARED * share * share, TIGHTEST));
}

/* Counts idle steps. */
static void update_progress(nadir_ascent *self)
{
    nadir_ascent_state *state = &self->state;
    const bool first = state->iterations == 0;
    const bool risen = self->current->J > state->risen + 0.01 * wanted_gap(self);
    const bool smaller = self->advantage < 0.9 * state->least;
    state->idle = first || risen || smaller ? 0 : state->idle + 1;
    state->risen = first || risen ? self->current->J : state->risen;
    state->least = first || smaller ? self->advantage : state->least;
    state->first_advantage = first ? self->advantage : state->first_advantage;
}

static void keep_best(nadir_ascent *self)
{
    nadir_policy *before = self->best;
    self->best = nadir_policy_retain(self->current->policy);
    nadir_policy_free(before);
    self->state.best = self->current->J - self->current->error;
    self->state.best_nominal = self->current->setup.problem.J;
}

/* Updates the state from the current response. */
static void update_state(nadir_ascent *self)
{
    const nadir_response *current = self->current;
    self->advantage = nadir_response_advantage(self->context, current);
    update_progress(self);
    self->state.evaluations = self->minmax.evaluations;
    self->state.history[self->state.iterations % NADIR_ASCENT_HISTORY] = current->J;
    if (self->state.iterations == 0 || current->J - current->error > self->state.best) {
        keep_best(self);
    }
}

/* The first response, or that of a checkpoint. */
static nadir_status begin(nadir_ascent *self, nadir_policy *start)
{
    if (self->search.store.read != NULL) {
        NADIR_TRY(nadir_ascent_resume(self, start));
        self->advantage = nadir_response_advantage(self->context, self->current);
    } else {
        self->state.tolerance = NADIR_ASCENT_FIRST_TOLERANCE;
        NADIR_TRY(nadir_ascent_respond(self, start, self->current));
        self->state.initial = self->current->J;
        self->state.inexact_steps =
            self->kind == NADIR_ASCENT_QUASI_NEWTON && nadir_response_allows_inexact(self->current);
        self->state.dual_advantage = INFINITY;
        update_state(self);
    }
    return NADIR_OK;
}

/* ------------------------------------------------------------------------------------------- stopping */

/* Checkpoint, progress and limits. */
static nadir_status report(nadir_ascent *self)
{
    const nadir_checkpoint checkpoint = nadir_ascent_checkpoint(self);
    NADIR_TRY(nadir_search_report(&self->search, &checkpoint, self->state.iterations, self->state.evaluations,
                                  current_return(self), self->advantage, &self->stop));
    NADIR_TRY(nadir_progress(self->context, "improving the policy", -1));
    if (self->stop == NADIR_STOP_NONE && self->state.idle > IDLE_STEPS && self->kind != NADIR_ASCENT_PAPER) {
        self->stop = NADIR_STOP_STATIONARY;
    }
    return NADIR_OK;
}

static void stop(nadir_ascent *self, nadir_stop reason)
{
    self->stop = reason;
    keep_best(self);
}

/* Once the advantage is small: stops if the bounds have met. They may never meet if the worst kernel is not a
 * decision process or not unique; then it stops where the advantage is zero. */
static nadir_status try_dual_bound(nadir_ascent *self)
{
    const double wanted = wanted_gap(self);
    if (self->advantage > fmin(0.5 * wanted, self->state.dual_advantage) ||
        self->current->error > 0.5 * wanted) {
        return NADIR_OK;
    }
    self->dual_bound.base = nadir_minmax_base(&self->minmax);
    if (self->current->evaluation.candidate.kernel != NULL) { /* else it was tried before */
        NADIR_TRY(nadir_dual_bound_add_kernel(self->context, &self->dual_bound,
                                              &self->current->evaluation.candidate.kernel, self->current->v,
                                              self->current->q));
    }
    if (self->dual_bound.upper - (self->current->J - self->current->error) <= wanted) {
        stop(self, NADIR_STOP_GAP);
    } else if (self->advantage <= ZERO_ADVANTAGE * wanted) {
        stop(self, NADIR_STOP_STATIONARY);
    }
    self->state.dual_advantage = 0.25 * self->advantage;
    return NADIR_OK;
}

/* ---------------------------------------------------------------------------------------------- steps */

/* The direction, and in *slope its first-order gain. */
static nadir_status propose(nadir_ascent *self, double *slope)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->minmax.model;
    if (self->direction == NULL) {
        NADIR_NEW(self->context, self->direction, model->rows);
        NADIR_NEW(self->context, self->gradient, model->rows);
    }
    if (self->state.inexact_steps != 0) {
        self->state.alpha = 0;
    }
    nadir_ascent_measure(self);
    nadir_lbfgs_prepare(self->context, &self->lbfgs, self->metric, self->state.alpha);
    NADIR_CHECK(nadir_lbfgs_step(self->context, &self->lbfgs, self->current->policy->probabilities,
                                 self->gradient, self->direction));
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

/* The nonmonotone line search compares with the lowest of the last returns, less the error of the current
 * one. */
static double line_search_reference(const nadir_ascent *self)
{
    const int64_t count =
        self->state.iterations < NADIR_ASCENT_HISTORY ? self->state.iterations + 1 : NADIR_ASCENT_HISTORY;
    double least = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        least = fmin(least, self->state.history[i]);
    }
    return least - 2 * self->current->error - 1e-13 * fmax(gap_scale(self), fabs(self->current->J));
}

/* Backtracking line search. *moved: false if no step is accepted. A policy that breaks down (free domain) is
 * not. */
static nadir_status advance(nadir_ascent *self, double slope, bool *moved)
{
    const double least = line_search_reference(self);
    double t = 1;
    *moved = false;
    while (!*moved && t > SHORTEST_STEP) {
        const nadir_status status = nadir_ascent_try_step(self, t);
        const bool broken = status == NADIR_ERROR_ILL_POSED;
        NADIR_TRY(broken ? NADIR_OK : status);
        const double gained = broken ? -INFINITY : self->next->J - self->current->J;
        *moved = !broken && (self->kind == NADIR_ASCENT_PAPER || self->next->J >= least + ARMIJO * t * slope);
        const double curved =
            t * slope - gained; /* J + t slope - curved: maximal at slope t^2 / (2 curved) */
        t = fmin(fmax(slope * t * t / (2 * curved), 0.1 * t), 0.5 * t);
        /* inexact returns are too rough to compare shorter steps */
        if (!*moved && (self->state.inexact_steps != 0 ||
                        self->minmax.evaluations >= self->search.settings->evaluations_limit)) {
            break;
        }
    }
    return NADIR_OK;
}

/* The policy tried becomes the current one. */
static void accept(nadir_ascent *self)
{
    const size_t bytes = (size_t)self->minmax.model->states * sizeof(double);
    nadir_response *kept = self->current;
    memcpy(self->warm_v, self->current->v, bytes);
    memcpy(self->warm_d, self->current->d, bytes);
    self->state.warm_started = 1;
    self->current = self->next;
    self->next = kept;
    self->state.iterations++;
    update_state(self);
}

/* No step helps: the worst kernels of the policy and of those around it differ. Mixtures of them may be bad
 * for all these policies. */
static nadir_status add_both_kernels(nadir_ascent *self)
{
    nadir_response *both[] = {self->current, self->next};
    for (int i = 0; i < 2; i++) {
        if (both[i]->evaluation.candidate.kernel != NULL) {
            NADIR_TRY(nadir_dual_bound_add_kernel(self->context, &self->dual_bound,
                                                  &both[i]->evaluation.candidate.kernel, both[i]->v,
                                                  both[i]->q));
        }
    }
    return NADIR_OK;
}

/* Whether only a more accurate response to the same policy can decide. */
static bool needs_accuracy(const nadir_ascent *self)
{
    const double wanted = wanted_gap(self);
    return self->kind != NADIR_ASCENT_PAPER && self->advantage <= 0.5 * wanted &&
           self->current->error > 0.5 * wanted;
}

/* From now on responses are exact, first that of the current policy. */
static nadir_status switch_to_exact(nadir_ascent *self)
{
    self->state.inexact_steps = 0;
    self->state.alpha = 0;
    self->state.tolerance = next_tolerance(self);
    NADIR_TRY(nadir_ascent_try_step(self, 0));
    accept(self);
    self->state.idle = 0;
    return NADIR_OK;
}

/* Whether inexact steps have stopped making progress. */
static bool inexact_stalls(const nadir_ascent *self)
{
    const double steps = (double)(self->state.iterations - IDLE_INEXACT_STEPS);
    /* the dual bound may have taken the kernel that inexact responses start from */
    const bool no_kernel =
        nadir_minmax_base(&self->minmax) == NULL && self->current->evaluation.candidate.kernel == NULL;
    return no_kernel || self->state.idle >= IDLE_INEXACT_STEPS ||
           self->advantage > self->state.first_advantage * pow(SLOW_RATE, steps);
}

static nadir_status climb(nadir_ascent *self)
{
    for (;;) {
        double slope;
        bool moved = false;
        NADIR_TRY(try_dual_bound(self));
        if (self->stop == NADIR_STOP_NONE) {
            NADIR_TRY(report(self));
        }
        if (self->stop != NADIR_STOP_NONE) {
            NADIR_TRY(self->stop == NADIR_STOP_STATIONARY ? add_both_kernels(self) : NADIR_OK);
            break;
        }
        self->state.tolerance = next_tolerance(self);
        if (needs_accuracy(self)) {
            self->state.tolerance = fmin(self->state.tolerance, 0.1 * wanted_gap(self) / penalty(self));
            NADIR_TRY(nadir_ascent_try_step(self, 0));
            accept(self);
            continue;
        }
        if (self->state.inexact_steps != 0 && inexact_stalls(self)) {
            NADIR_TRY(switch_to_exact(self));
            continue;
        }
        NADIR_TRY(propose(self, &slope));
        if (slope > 0 || self->kind == NADIR_ASCENT_PAPER) {
            NADIR_TRY(advance(self, slope, &moved));
        }
        if (moved) {
            if (self->state.inexact_steps == 0) {
                NADIR_TRY(nadir_ascent_update_model(self));
            }
            accept(self);
        } else if (self->minmax.evaluations >= self->search.settings->evaluations_limit) {
            self->stop = NADIR_STOP_EVALUATIONS;
        } else if (self->state.inexact_steps != 0) {
            NADIR_TRY(switch_to_exact(self));
        } else {
            NADIR_TRY(add_both_kernels(self));
            if (self->lbfgs.count > 0) { /* once more without the model */
                self->lbfgs.count = 0;
                self->state.alpha = 0;
            } else {
                stop(self, NADIR_STOP_STATIONARY);
            }
        }
    }
    return NADIR_OK;
}

nadir_status nadir_ascent_run(nadir_ascent *ascent, nadir_policy *start)
{
    NADIR_TRY(make(ascent));
    NADIR_TRY(begin(ascent, start));
    nadir_status status = climb(ascent);
    if (status == NADIR_ERROR_INTERRUPTED) {
        ascent->stop = NADIR_STOP_INTERRUPTED;
    }
    /* an interrupted process must not wait for the others: the last checkpoint stays */
    const bool alone = status == NADIR_ERROR_INTERRUPTED && ascent->context->communication->members > 1;
    if (ascent->stop != NADIR_STOP_NONE && ascent->stop != NADIR_STOP_GAP && !alone) {
        const nadir_checkpoint checkpoint = nadir_ascent_checkpoint(ascent);
        const nadir_status saved = nadir_search_save(&ascent->search, &checkpoint, true);
        status = saved != NADIR_OK ? saved : status;
    }
    return status;
}

nadir_status nadir_ascent_restart(nadir_ascent *ascent)
{
    nadir_status status = NADIR_OK;
    ascent->stop = NADIR_STOP_NONE;
    ascent->lbfgs.count = 0;
    ascent->state.iterations = 0;
    ascent->state.alpha = 0;
    ascent->state.dual_advantage = INFINITY;
    ascent->state.warm_started = 0;
    ascent->state.inexact_steps = 0;
    ascent->state.tolerance = next_tolerance(ascent);
    nadir_response_clear(ascent->context, ascent->current);
    NADIR_CHECK(nadir_response_find(ascent->context, &ascent->minmax, ascent->best, NULL, NULL,
                                    ascent->state.tolerance, ascent->current));
    update_state(ascent);
    NADIR_CHECK(climb(ascent));
cleanup:
    if (status != NADIR_OK) { /* the best policy so far remains */
        ascent->stop = status == NADIR_ERROR_INTERRUPTED ? NADIR_STOP_INTERRUPTED : NADIR_STOP_STATIONARY;
    }
    return status;
}
