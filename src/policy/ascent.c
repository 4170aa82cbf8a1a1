/* ascent.c: the robust policy by projected gradients; see ascent.h. */
#include "policy/ascent.h"

#include "base/context.h"
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
    const double J = ascent->here->J;
    return fmax(fabs(ascent->nominal_optimum), fabs(J));
}

void nadir_ascent_clear(nadir_ascent *ascent)
{
    nadir_context *context = ascent->context;
    nadir_response *responses[] = {ascent->here, ascent->there};
    for (int i = 0; i < 2; i++) {
        if (responses[i] != NULL) {
            nadir_response_clear(context, responses[i]);
            nadir_release(context, responses[i]);
        }
    }
    nadir_duel_clear(context, &ascent->duel);
    nadir_ceiling_clear(context, &ascent->ceiling);
    nadir_secants_clear(context, &ascent->secants);
    nadir_policy_free(ascent->best);
    double *arrays[] = {ascent->near_v, ascent->near_d, ascent->direction, ascent->metric};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        nadir_release(context, arrays[i]);
    }
}

void nadir_ascent_rest(nadir_ascent *ascent)
{
    nadir_context *context = ascent->context;
    nadir_secants_forget(context, &ascent->secants);
    nadir_release(context, ascent->direction);
    ascent->direction = NULL;
    if (ascent->there != NULL) {
        nadir_response_clear(context, ascent->there);
    }
    if (ascent->here != NULL) {
        nadir_release(context, ascent->here->q);
        ascent->here->q = NULL;
    }
    for (int i = 0; i < 2; i++) {
        nadir_kernel_free(ascent->duel.spare[i]);
        ascent->duel.spare[i] = NULL;
    }
}

static nadir_status make(nadir_ascent *at)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = at->context;
    const nadir_model *model = at->duel.model;
    const double room = PAIR_NUMBERS / nadir_allreduce_maximum(context, (double)model->rows);
    const int pairs = (int)fmin(fmax(room, 3), NADIR_SECANTS_MOST);
    NADIR_NEW_ZERO(context, at->here, 1);
    NADIR_NEW_ZERO(context, at->there, 1);
    NADIR_NEW_ZERO(context, at->near_v, model->states);
    NADIR_NEW_ZERO(context, at->near_d, model->states);
    NADIR_NEW(context, at->metric, model->states);
    NADIR_CHECK(
        nadir_secants_make(context, model, at->kind == NADIR_ASCENT_QUASI_NEWTON ? pairs : 0, &at->secants));
    at->ceiling = (nadir_ceiling){.model = at->duel.model,
                                  .backend = at->duel.backend,
                                  .tolerance = fmax(0.01 * at->settings->gap, 1e-13),
                                  .upper = INFINITY};
cleanup:
    return status;
}

static double penalty(const nadir_ascent *at)
{
    return fmax(at->nominal_optimum - at->here->J, 0);
}

/* Half of what is asked for: the evaluation with proof, which comes after, has its own share. */
static double wanted_gap(const nadir_ascent *at)
{
    return 0.5 * at->settings->gap * nadir_ascent_scale(at);
}

/* Of the next response; infinity: a glance will do. */
static double next_tolerance(const nadir_ascent *at)
{
    if (at->kind == NADIR_ASCENT_PAPER) {
        return fmax(pow(at->duel.model->discount, (double)at->state.iterations + 1), TIGHT);
    }
    if (at->state.glances != 0) {
        return INFINITY;
    }
    const double least = 0.3 * wanted_gap(at);
    const double share = fmax(at->advantage, least) / fmax(penalty(at), least);
    return fmin(LOOSE, fmax(SQUARE * share * share, TIGHT));
}

/* Counts steps that brought nothing. */
static void watch_progress(nadir_ascent *at)
{
    nadir_ascent_state *state = &at->state;
    const bool first = state->iterations == 0;
    const bool risen = at->here->J > state->risen + 0.01 * wanted_gap(at);
    const bool smaller = at->advantage < 0.9 * state->least;
    state->idle = first || risen || smaller ? 0 : state->idle + 1;
    state->risen = first || risen ? at->here->J : state->risen;
    state->least = first || smaller ? at->advantage : state->least;
    state->offered = first ? at->advantage : state->offered;
}

/* The policy at hand is the best. */
static void keep_best(nadir_ascent *at)
{
    nadir_policy *before = at->best;
    at->best = nadir_policy_retain(at->here->policy);
    nadir_policy_free(before);
    at->state.best = at->here->J - at->here->error;
    at->state.best_nominal = at->here->asked.problem.J;
}

/* What is known of the policy at hand, once its response is there. */
static void take_stock(nadir_ascent *at)
{
    const nadir_response *here = at->here;
    at->advantage = nadir_response_advantage(at->context, here);
    watch_progress(at);
    at->state.evaluations = at->duel.evaluations;
    at->state.history[at->state.iterations % NADIR_ASCENT_HISTORY] = here->J;
    if (at->state.iterations == 0 || here->J - here->error > at->state.best) {
        keep_best(at);
    }
}

/* The response to the first policy, or to that of a checkpoint. */
static nadir_status begin(nadir_ascent *at, nadir_policy *start)
{
    nadir_status status = NADIR_OK;
    const bool resumed = at->store.read != NULL;
    if (resumed) {
        NADIR_CHECK(nadir_ascent_resume(at, start));
    } else {
        at->state.tolerance = NADIR_ASCENT_FIRST;
        NADIR_CHECK(nadir_ascent_respond(at, start, at->here));
    }
    if (resumed) { /* stock was taken before */
        at->advantage = nadir_response_advantage(at->context, at->here);
    } else {
        at->state.initial = at->here->J;
        at->state.glances = at->kind == NADIR_ASCENT_QUASI_NEWTON && nadir_response_can_glance(at->here);
        at->state.asked = INFINITY;
        take_stock(at);
    }
cleanup:
    return status;
}

/* ------------------------------------------------------------------------------------------- stops */

/* Progress, checkpoint and limits. */
static nadir_status report(nadir_ascent *at)
{
    nadir_status status = NADIR_OK;
    const nadir_robust_optimum_settings *settings = at->settings;
    /* clocks differ, decisions must not */
    const double seconds = nadir_allreduce_maximum(at->context, nadir_clock_seconds() - at->begun);
    NADIR_CHECK(nadir_ascent_save(at, false));
    if (settings->watch != NULL) {
        const nadir_robust_optimum_step step = {
            .size = sizeof step,
            .iteration = at->state.iterations,
            .evaluations = at->state.evaluations,
            .robust_return = at->here->J,
            .gap = at->advantage / nadir_ascent_scale(at),
            .seconds = seconds,
        };
        if (settings->watch(settings->watch_user, &step) != 0) {
            return nadir_fail(at->context, NADIR_ERROR_INTERRUPTED, "interrupted");
        }
    }
    NADIR_CHECK(nadir_progress(at->context, "improving the policy", -1));
    if (at->state.evaluations >= settings->evaluations_limit) {
        at->stop_reason = "evaluations";
    } else if (seconds >= settings->time_limit) {
        at->stop_reason = "time";
    } else if (at->state.idle > IDLE && at->kind != NADIR_ASCENT_PAPER) {
        at->stop_reason = "stationary";
    }
cleanup:
    return status;
}

static void stop_here(nadir_ascent *at, const char *reason)
{
    at->stop_reason = reason;
    keep_best(at);
}

/* Once the advantage is small, whether the bounds have met; where they never will (the worst kernel is no
 * decision process, or one of several), whether there is anything left to improve. */
static nadir_status ask_ceiling(nadir_ascent *at)
{
    nadir_status status = NADIR_OK;
    const double wanted = wanted_gap(at);
    if (at->advantage > fmin(0.5 * wanted, at->state.asked) || at->here->error > 0.5 * wanted) {
        return NADIR_OK;
    }
    at->ceiling.base = nadir_duel_base(&at->duel);
    if (at->here->verdict.attack.kernel != NULL) { /* else it was tried already */
        NADIR_CHECK(nadir_ceiling_try(at->context, &at->ceiling, &at->here->verdict.attack.kernel,
                                      at->here->v, at->here->q));
    }
    if (at->ceiling.upper - (at->here->J - at->here->error) <= wanted) {
        stop_here(at, "gap");
    } else if (at->advantage <= HARDLY * wanted) {
        stop_here(at, "stationary");
    }
    at->state.asked = 0.25 * at->advantage;
cleanup:
    return status;
}

/* ------------------------------------------------------------------------------------------- steps */

/* The paper's own: the gradient with the step given, in the plain metric. */
static nadir_status propose_paper(nadir_ascent *at)
{
    const nadir_model *model = at->duel.model;
    for (int64_t s = 0; s < model->states; s++) {
        at->metric[s] = 1;
    }
    at->slope = (nadir_slope){.d = at->here->d, .q = at->here->q, .least = -INFINITY};
    nadir_secants_prepare(at->context, &at->secants, at->metric, at->settings->step);
    return nadir_secants_step(at->context, &at->secants, at->here->policy->probabilities, &at->slope,
                              at->direction);
}

/* The direction, and in *slope what it promises at first order. */
static nadir_status propose(nadir_ascent *at, double *slope)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = at->duel.model;
    if (at->direction == NULL) {
        NADIR_NEW(at->context, at->direction, model->rows);
    }
    if (at->kind == NADIR_ASCENT_PAPER) {
        NADIR_CHECK(propose_paper(at));
    } else {
        const bool glances = at->state.glances != 0;
        const int pairs = at->secants.count;
        if (glances) { /* no step has taught anything: the curvature is that of the rows */
            at->state.alpha = 0;
            at->secants.count = 0;
        }
        nadir_ascent_measure(at);
        nadir_secants_prepare(at->context, &at->secants, at->metric, at->state.alpha);
        status = nadir_secants_step(at->context, &at->secants, at->here->policy->probabilities, &at->slope,
                                    at->direction);
        at->secants.count = pairs;
        NADIR_CHECK(status);
        NADIR_CHECK(glances ? nadir_ascent_mix(at) : NADIR_OK);
    }
    *slope = 0;
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            *slope += at->here->d[s] * at->direction[row] * (at->here->q[row] - at->here->v[s]);
        }
    }
    *slope = nadir_allreduce_sum(at->context, *slope);
cleanup:
    return status;
}

/* What a step must not fall below: the worst of the last few returns, less what is not known of the present
 * one. */
static double reference(const nadir_ascent *at)
{
    const int64_t count =
        at->state.iterations < NADIR_ASCENT_HISTORY ? at->state.iterations + 1 : NADIR_ASCENT_HISTORY;
    double least = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        least = fmin(least, at->state.history[i]);
    }
    return least - 2 * at->here->error - 1e-13 * nadir_ascent_scale(at);
}

/* The whole step, or the part of it that keeps a share of its promise. *moved: false if none does. A policy
 * that breaks down (free domain) keeps nothing. */
static nadir_status advance(nadir_ascent *at, double slope, bool *moved)
{
    nadir_status status = NADIR_OK;
    const double least = reference(at);
    double t = 1;
    *moved = false;
    while (!*moved && t > SHORTEST) {
        status = nadir_ascent_look(at, t);
        const bool broken = status == NADIR_ERROR_ILL_POSED;
        NADIR_CHECK(broken ? NADIR_OK : status);
        const double gained = broken ? -INFINITY : at->there->J - at->here->J;
        *moved = !broken && (at->kind == NADIR_ASCENT_PAPER || at->there->J >= least + ARMIJO * t * slope);
        const double bend = t * slope - gained; /* J ~ J + t slope - bend: highest at slope t^2 / (2 bend) */
        t = fmin(fmax(slope * t * t / (2 * bend), 0.1 * t), 0.5 * t);
        if (!*moved && at->state.glances != 0) { /* it takes more than that to tell what is better */
            break;
        }
        if (!*moved && at->duel.evaluations >= at->settings->evaluations_limit) {
            break;
        }
    }
cleanup:
    return status;
}

/* The policy tried becomes the one at hand. */
static void arrive(nadir_ascent *at)
{
    const size_t bytes = (size_t)at->duel.model->states * sizeof(double);
    nadir_response *kept = at->here;
    memcpy(at->near_v, at->here->v, bytes);
    memcpy(at->near_d, at->here->d, bytes);
    at->state.followed = 1;
    at->here = at->there;
    at->there = kept;
    at->state.iterations++;
    take_stock(at);
}

/* No step helps: different kernels are bad for the policy and for those beside it, and mixtures of them may
 * be bad for all. */
static nadir_status keep_both(nadir_ascent *at)
{
    nadir_status status = NADIR_OK;
    nadir_response *both[] = {at->here, at->there};
    for (int i = 0; i < 2; i++) {
        if (both[i]->verdict.attack.kernel != NULL) {
            NADIR_CHECK(nadir_ceiling_try(at->context, &at->ceiling, &both[i]->verdict.attack.kernel,
                                          both[i]->v, both[i]->q));
        }
    }
cleanup:
    return status;
}

/* Nothing but a better response to the same policy can tell more. */
static bool is_rough(const nadir_ascent *at)
{
    const double wanted = wanted_gap(at);
    return at->kind != NADIR_ASCENT_PAPER && at->advantage <= 0.5 * wanted && at->here->error > 0.5 * wanted;
}

/* Glances have led as far as they do: the response to the policy at hand for once, and from then on. */
static nadir_status look_closely(nadir_ascent *at)
{
    nadir_status status = NADIR_OK;
    at->state.glances = 0;
    at->state.alpha = 0;
    at->secants.count = 0;
    at->state.tolerance = next_tolerance(at);
    NADIR_CHECK(nadir_ascent_look(at, 0));
    arrive(at);
    at->state.idle = 0;
cleanup:
    return status;
}

static bool is_astray(const nadir_ascent *at)
{
    const double steps = (double)(at->state.iterations - ASTRAY);
    /* the kernel may have gone to the ceiling, with nothing left to start glances from */
    const bool is_bare = nadir_duel_base(&at->duel) == NULL && at->here->verdict.attack.kernel == NULL;
    return is_bare || at->state.idle >= ASTRAY || at->advantage > at->state.offered * pow(SLOW, steps);
}

static nadir_status climb(nadir_ascent *at)
{
    nadir_status status = NADIR_OK;
    for (;;) {
        double slope;
        bool moved = false;
        NADIR_CHECK(ask_ceiling(at));
        if (at->stop_reason == NULL) {
            NADIR_CHECK(report(at));
        }
        if (at->stop_reason != NULL) {
            NADIR_CHECK(strcmp(at->stop_reason, "stationary") == 0 ? keep_both(at) : NADIR_OK);
            break;
        }
        at->state.tolerance = next_tolerance(at);
        if (is_rough(at)) {
            at->state.tolerance = fmin(at->state.tolerance, 0.1 * wanted_gap(at) / penalty(at));
            NADIR_CHECK(nadir_ascent_look(at, 0));
            arrive(at);
            continue;
        }
        if (at->state.glances != 0 && is_astray(at)) {
            NADIR_CHECK(look_closely(at));
            continue;
        }
        NADIR_CHECK(propose(at, &slope));
        if (slope > 0 || at->kind == NADIR_ASCENT_PAPER) {
            NADIR_CHECK(advance(at, slope, &moved));
        }
        if (moved) {
            if (at->state.glances == 0) {
                NADIR_CHECK(nadir_ascent_learn(at));
            }
            arrive(at);
        } else if (at->duel.evaluations >= at->settings->evaluations_limit) {
            at->stop_reason = "evaluations";
        } else if (at->state.glances != 0) {
            NADIR_CHECK(look_closely(at));
        } else {
            NADIR_CHECK(keep_both(at));
            if (at->secants.count > 0) { /* the model was of no use; once more without it */
                at->secants.count = 0;
                at->state.alpha = 0;
            } else {
                stop_here(at, "stationary");
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

nadir_status nadir_ascent_again(nadir_ascent *ascent)
{
    nadir_status status = NADIR_OK;
    ascent->stop_reason = NULL;
    ascent->secants.count = 0;
    ascent->state.iterations = 0;
    ascent->state.alpha = 0;
    ascent->state.asked = INFINITY;
    ascent->state.followed = 0;
    ascent->state.glances = 0;
    ascent->state.tolerance = next_tolerance(ascent);
    nadir_response_clear(ascent->context, ascent->here);
    NADIR_CHECK(nadir_response_find(ascent->context, &ascent->duel, ascent->best, NULL, NULL,
                                    ascent->state.tolerance, ascent->here));
    take_stock(ascent);
    NADIR_CHECK(climb(ascent));
cleanup:
    if (status != NADIR_OK) { /* the best policy so far is still there */
        ascent->stop_reason = status == NADIR_ERROR_INTERRUPTED ? "interrupted" : "stationary";
    }
    return status;
}
