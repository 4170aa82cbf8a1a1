/*
 * rectangular_optimum.c: the best policy against a rectangular set; see rectangular_optimum.h.
 *
 * Simplex and support: v* = T v*. With the answers of T at v, a policy pi and rows X of all actions, the
 * value of pi under X is the next v (Newton's method on both players' choices): a few steps, but nothing
 * promises that they come closer. Where they do not, v is from then on the worst value of pi, found by the
 * adversary's own iteration: it never falls from step to step. Any v proves with pi and X
 *
 *     worst return of pi >= mu . v - c,    c (1 - gamma) >= max (v - T^pi v), weak duality for the rows;
 *     worst return of any policy <= the optimum under X <= mu . v + c,    c (1 - gamma) >= max (T_X v - v).
 *
 * Free domain: v is the fixed point of T^pi, of which there is one below breakdown, pi the best mixture at
 * the last v, and the best policy that was met is the answer. Its lower bound is that of its own evaluation.
 * The free set is larger than that of the simplex, whose optimum is therefore an upper bound.
 */
#include "policy/rectangular_optimum.h"

#include "adversary/check/membership.h"
#include "adversary/proof/free_bounds.h"
#include "adversary/proof/rectangular_check.h"
#include "adversary/question.h"
#include "adversary/search/free_search.h"
#include "adversary/search/rectangular_policy_iteration.h"
#include "linalg/distributed.h"
#include "nominal/bellman.h"
#include "nominal/value_check.h"
#include "policy/robust_bellman.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT        (DBL_EPSILON / 2)
#define SOLVE_ERROR 1e-9  /* no solve is worse, relative to the largest value */
#define EVALUATION  1e-13 /* tolerance of the worst value of a policy, relative to its penalty */

enum {
    NEWTON_PATIENCE = 8, /* steps that need not come closer, before the sure way is taken */
    FREE_PATIENCE = 50   /* and after which there is no hope on the free domain */
};

typedef struct optimum {
    nadir_context *context;
    nadir_model *model;
    const nadir_ball *ball;
    const nadir_rectangular_optimum_settings *settings;
    nadir_rectangular_state state;
    nadir_kernel *nominal;
    nadir_policy *policy; /* of the last application of T; free domain: the best one that was met */
    nadir_uncertainty set;
    nadir_robust_bellman bellman;
    nadir_kernel *worst; /* of the answers */
    double *v;           /* [states] */
    double *R;           /* [states] work */
    double residual;     /* max |Tv - v| */
    double size;         /* the largest |v| */
    double *best;        /* [states] free domain: the value of the best policy */
} optimum;

static void clear(optimum *at)
{
    nadir_context *context = at->context;
    nadir_robust_bellman_clear(context, &at->bellman);
    nadir_uncertainty_clear(context, &at->set);
    nadir_policy_free(at->policy);
    nadir_kernel_free(at->worst);
    nadir_kernel_free(at->nominal);
    nadir_release(context, at->v);
    nadir_release(context, at->R);
    nadir_release(context, at->best);
}

static nadir_status start(optimum *at)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = at->context;
    nadir_model *model = at->model;
    NADIR_CHECK(nadir_value_check_model(context, model));
    NADIR_CHECK(nadir_policy_create_uniform(context, model, &at->policy));
    NADIR_CHECK(nadir_uncertainty_make(context, model, at->policy, at->ball, &at->set));
    if (at->set.set == NADIR_SET_NONRECT) {
        status =
            nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                       "the set is not rectangular, and has no robust Bellman equation; expected set s or "
                       "sa, or norm inf");
        goto cleanup;
    }
    if (at->set.domain == NADIR_DOMAIN_FREE) { /* its upper bound is one of domain simplex */
        NADIR_CHECK(nadir_model_check_one_process(context, model, "method bellman on domain free"));
    }
    NADIR_CHECK(nadir_kernel_create(context, model, &at->nominal));
    NADIR_CHECK(nadir_robust_bellman_make(context, model, at->nominal, &at->set, &at->bellman));
    NADIR_NEW_ZERO(context, at->v, model->states);
    NADIR_NEW(context, at->R, model->states);
    NADIR_NEW_ZERO(context, at->best, model->states);
    at->state.J = -INFINITY;
    at->state.least = INFINITY;
cleanup:
    return status;
}

/* The policy that T has chosen. */
static nadir_status take_policy(const optimum *at, nadir_policy **policy)
{
    nadir_policy *made = NULL;
    const nadir_status status = nadir_policy_create(at->context, at->model, at->bellman.policy, &made);
    if (status == NADIR_OK) {
        nadir_policy_free(*policy);
        *policy = made;
    }
    return status;
}

static nadir_status apply(optimum *at)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(nadir_robust_bellman_apply(at->context, &at->bellman, at->v));
    at->residual = 0;
    at->size = 0;
    for (int64_t s = 0; s < at->model->states; s++) {
        at->residual = fmax(at->residual, fabs(at->bellman.value[s] - at->v[s]));
        at->size = fmax(at->size, fmax(fabs(at->v[s]), fabs(at->bellman.value[s])));
    }
    at->residual = nadir_allreduce_maximum(at->context, at->residual);
    at->size = nadir_allreduce_maximum(at->context, at->size);
cleanup:
    return status;
}

/* v of the last policy and answers. */
static nadir_status solve_answers(optimum *at)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = at->context;
    nadir_occupancy *occupancy = NULL;
    NADIR_CHECK(nadir_lmo_kernel(context, &at->bellman.rows, at->bellman.answers, &at->worst));
    NADIR_CHECK(nadir_occupancy_create(context, at->worst, at->policy, at->model->discount,
                                       at->settings->backend, 0, &occupancy));
    nadir_average_rewards(at->model, at->policy, at->R);
    NADIR_CHECK(nadir_occupancy_solve(context, occupancy, 1, at->R, at->v, NULL));
cleanup:
    nadir_occupancy_free(context, occupancy);
    return status;
}

/* A policy, made into a question of the adversary. */
typedef struct posed {
    nadir_solver *solver;
    nadir_question asked;
} posed;

static nadir_status pose(const optimum *at, const nadir_policy *policy, posed *question)
{
    nadir_status status = NADIR_OK;
    nadir_solver_settings settings;
    nadir_solver_settings_default(&settings);
    settings.backend = at->settings->backend;
    NADIR_CHECK(nadir_solver_create(at->context, at->model, policy, &settings, &question->solver));
    NADIR_CHECK(nadir_question_pose(at->context, question->solver, at->ball, false, &question->asked));
cleanup:
    return status;
}

static void unpose(const optimum *at, posed *question)
{
    nadir_question_clear(at->context, &question->asked);
    nadir_solver_free(question->solver);
}

/* The worst value of the policy, on any domain. */
static nadir_status solve_policy(optimum *at, const nadir_policy *policy, double *v, double *J)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = at->context;
    posed question = {0};
    nadir_attack attack = {0};
    const double factor = 1;
    NADIR_CHECK(pose(at, policy, &question));
    const nadir_problem *problem = &question.asked.problem;
    if (at->set.idle) {
        memcpy(v, problem->v, (size_t)problem->states * sizeof *v);
        *J = problem->J;
        goto cleanup;
    }
    if (at->set.domain == NADIR_DOMAIN_FREE) {
        NADIR_CHECK(nadir_rectangular_free_solve(context, problem, 1, &factor, &attack));
    } else {
        NADIR_CHECK(nadir_rectangular_policy_iteration(context, problem, factor, EVALUATION, 1000, &attack));
    }
    memcpy(v, attack.v, (size_t)problem->states * sizeof *v);
    *J = attack.J;
cleanup:
    nadir_attack_clear(context, &attack);
    unpose(at, &question);
    return status;
}

/* The fixed point of T^pi at the policy that T has chosen; the best one is kept. */
static nadir_status step_free(optimum *at)
{
    nadir_status status = NADIR_OK;
    nadir_policy *policy = NULL;
    double J;
    NADIR_CHECK(take_policy(at, &policy));
    NADIR_CHECK(solve_policy(at, policy, at->v, &J));
    if (J > at->state.J) {
        at->state.J = J;
        memcpy(at->best, at->v, (size_t)at->model->states * sizeof *at->best);
        nadir_policy_free(at->policy);
        at->policy = policy;
        policy = NULL;
    }
cleanup:
    nadir_policy_free(policy);
    return status;
}

static nadir_status step(optimum *at)
{
    nadir_status status = NADIR_OK;
    double J;
    at->state.evaluations++;
    if (at->set.domain == NADIR_DOMAIN_FREE) {
        return step_free(at);
    }
    NADIR_CHECK(take_policy(at, &at->policy));
    NADIR_CHECK(at->state.sure != 0 ? solve_policy(at, at->policy, at->v, &J) : solve_answers(at));
cleanup:
    return status;
}

/* Whether v is as good as it gets, and why; before: the residual of the step before. Rounding, and errors of
 * the solves, keep the residual from vanishing: where it is as small as these can be, and does not get
 * smaller any more, that is all there is. */
static const char *reason_to_stop(const optimum *at, double before, double tolerance)
{
    if (at->residual <= tolerance * (1 - at->model->discount) * at->size) {
        return "tolerance";
    }
    const bool small = at->residual <= 16 * DBL_EPSILON * at->size;
    const bool stays = at->residual <= SOLVE_ERROR * at->size && at->residual >= before / 2;
    return small || stays ? "stable" : NULL;
}

static double return_of(const optimum *at, const double *v)
{
    double error;
    return nadir_global_dot(at->context, at->model->states, at->model->initial, v, &error);
}

/* What those who watch may see and fill. */
static nadir_rectangular_pause show(optimum *at)
{
    return (nadir_rectangular_pause){
        .state = &at->state,
        .v = at->v,
        .best = at->best,
        .policy = at->policy->probabilities,
        .J = return_of(at, at->v),
        .gap = at->residual / (1 - at->model->discount),
    };
}

static nadir_status watch(optimum *at, const char **reason)
{
    nadir_status status = NADIR_OK;
    nadir_rectangular_pause pause = show(at);
    NADIR_CHECK(nadir_progress(at->context, "robust policy iteration", -1));
    if (at->settings->pause != NULL) {
        NADIR_CHECK(at->settings->pause(at->settings->user, &pause));
    }
    if (at->state.iterations >= at->settings->iterations_limit && at->state.iterations > 0) {
        *reason = "iterations";
    } else if (pause.is_over && at->state.iterations > 0) {
        *reason = "time";
    }
cleanup:
    return status;
}

/* Interrupted: the last moment to keep what there is. */
static nadir_status tell_cut(optimum *at)
{
    nadir_status status = NADIR_OK;
    if (at->model->exchange != NULL) { /* others may go on: the last checkpoint stays */
        return NADIR_ERROR_INTERRUPTED;
    }
    nadir_rectangular_pause pause = show(at);
    pause.is_cut = true;
    if (at->settings->pause != NULL) {
        status = at->settings->pause(at->settings->user, &pause);
    }
    return status != NADIR_OK ? status : NADIR_ERROR_INTERRUPTED;
}

/* Steps until v stays, or until a limit. */
static nadir_status iterate(optimum *at, const char **reason)
{
    nadir_status status = NADIR_OK;
    nadir_rectangular_state *state = &at->state;
    const bool is_free = at->set.domain == NADIR_DOMAIN_FREE;
    const int patience = is_free ? FREE_PATIENCE : NEWTON_PATIENCE;
    *reason = NULL;
    if (at->settings->begin != NULL) {
        nadir_rectangular_pause pause = show(at);
        NADIR_CHECK(at->settings->begin(at->settings->user, &pause));
    }
    NADIR_CHECK(apply(at));
    for (;;) {
        const double before = state->iterations > 0 ? at->residual : INFINITY;
        NADIR_CHECK(watch(at, reason));
        if (*reason != NULL) {
            break;
        }
        NADIR_CHECK(step(at));
        NADIR_CHECK(apply(at));
        state->iterations++;
        *reason = reason_to_stop(at, before, at->settings->tolerance);
        state->waited = at->residual < state->least / 2 ? 0 : state->waited + 1;
        state->least = fmin(state->least, at->residual);
        state->sure = state->sure != 0 || state->waited >= patience;
        if (*reason == NULL && is_free && state->waited >= patience) {
            *reason = "iterations";
        }
        if (*reason != NULL) {
            break;
        }
    }
cleanup:
    if (status == NADIR_ERROR_INTERRUPTED) {
        *reason = "interrupted";
        return tell_cut(at);
    }
    return status;
}

/* mu . v + c: no policy does better under the kernel, which lies in the set. */
static nadir_status bound_above(optimum *at, double *upper)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = at->context;
    const nadir_model *model = at->model;
    nadir_membership membership;
    nadir_kernel_size size;
    nadir_bellman_pass pass;
    int64_t *choice = NULL;
    double error;
    NADIR_NEW(context, choice, model->states);
    memcpy(choice, model->state_rows, (size_t)model->states * sizeof *choice);
    NADIR_CHECK(nadir_lmo_kernel(context, &at->bellman.rows, at->bellman.answers, &at->worst));
    NADIR_CHECK(nadir_membership_check(context, at->worst, &at->set, 1, &membership));
    nadir_kernel_measure(context, at->worst, &size);
    nadir_bellman_maximise(context, at->worst, model->discount, at->v, 0, NULL, 0, choice, at->R, &pass);
    const double rounding = nadir_bellman_rounding(&size, model->discount, 1,
                                                   nadir_global_largest(context, model->rows, model->rewards),
                                                   nadir_global_largest(context, model->states, at->v));
    const double c =
        nadir_check_offset(pass.highest + rounding, model->discount, size.sum_low, size.sum_high);
    const double mean = nadir_global_dot(context, model->states, model->initial, at->v, &error);
    const double mass = nadir_global_sum(context, model->states, model->initial);
    const double bound = mean + c * mass + error + 8 * UNIT * (fabs(c) + fabs(mean));
    *upper = pass.finite && isfinite(bound) ? bound : INFINITY;
cleanup:
    nadir_release(context, choice);
    return status;
}

/* mu . v - c: no kernel of the set does worse to the policy. */
static nadir_status bound_below(const optimum *at, double *lower)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = at->context;
    nadir_uncertainty set = {0};
    NADIR_CHECK(nadir_uncertainty_make(context, at->model, at->policy, at->ball, &set));
    const nadir_problem problem = {
        .model = at->model,
        .kernel = at->nominal,
        .policy = at->policy,
        .uncertainty = &set,
        .states = at->model->states,
        .rows = at->model->rows,
        .gamma = at->model->discount,
        .sign = 1,
        .rewards = at->model->rewards,
        .mu = at->model->initial,
    };
    NADIR_CHECK(nadir_rectangular_check(context, &problem, 1, at->v, lower));
cleanup:
    nadir_uncertainty_clear(context, &set);
    return status;
}

static nadir_status bound_free(optimum *at, nadir_rectangular_optimum_result *result)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = at->context;
    nadir_rectangular_optimum_result above = {0};
    nadir_rectangular_optimum_settings settings = *at->settings;
    nadir_policy *policy = NULL;
    nadir_ball ball;
    posed question = {0};
    bool exact;
    double breakdown;
    NADIR_CHECK(pose(at, at->policy, &question));
    NADIR_CHECK(nadir_rectangular_free_bound(context, &question.asked.problem, 1, at->best, &exact,
                                             &result->lower, &breakdown));
    nadir_ball_default(&ball);
    ball = at->ball != NULL ? *at->ball : ball;
    ball.domain = NADIR_DOMAIN_SIMPLEX;
    settings.begin = NULL;
    settings.pause = NULL;
    status = nadir_rectangular_optimum(context, at->model, &ball, &settings, at->R, &policy, &above);
    result->upper = above.upper;
    if (status == NADIR_ERROR_NOT_CONVERGED) { /* a bound all the same */
        status = NADIR_OK;
    }
cleanup:
    nadir_policy_free(policy);
    unpose(at, &question);
    return status;
}

static nadir_status bound(optimum *at, nadir_rectangular_optimum_result *result)
{
    nadir_status status = NADIR_OK;
    if (at->set.domain == NADIR_DOMAIN_FREE) {
        NADIR_CHECK(bound_free(at, result));
    } else {
        NADIR_CHECK(take_policy(at, &at->policy));
        NADIR_CHECK(bound_below(at, &result->lower));
        NADIR_CHECK(bound_above(at, &result->upper));
    }
    /* the policy attains the lower bound: it is below every upper bound, but for a rounding of both */
    result->upper = fmax(result->upper, result->lower);
cleanup:
    return status;
}

/* What was found, to the caller. */
static void give(optimum *at, nadir_rectangular_optimum_result *made, double *value, nadir_policy **policy,
                 nadir_rectangular_optimum_result *result)
{
    const nadir_model *model = at->model;
    const double *v = at->set.domain == NADIR_DOMAIN_FREE ? at->best : at->v;
    memcpy(value, v, (size_t)model->states * sizeof *value);
    made->J = return_of(at, v);
    made->evaluations = at->state.evaluations;
    made->iterations = at->state.iterations;
    *result = *made;
    *policy = at->policy;
    at->policy = NULL;
}

nadir_status nadir_rectangular_optimum(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                       const nadir_rectangular_optimum_settings *settings, double *value,
                                       nadir_policy **policy, nadir_rectangular_optimum_result *result)
{
    nadir_status status = NADIR_OK;
    nadir_rectangular_optimum_result made = {.lower = -INFINITY, .upper = INFINITY};
    optimum at = {.context = context, .model = model, .ball = ball, .settings = settings};
    NADIR_CHECK(start(&at));
    status = iterate(&at, &made.stop_reason);
    if (status == NADIR_OK) {
        status = bound(&at, &made);
    }
    const bool is_cut =
        status == NADIR_ERROR_INTERRUPTED && at.state.iterations > 0 && model->exchange == NULL;
    if (is_cut || status == NADIR_OK) {
        give(&at, &made, value, policy, result);
    }
    if (status == NADIR_OK &&
        (strcmp(made.stop_reason, "iterations") == 0 || strcmp(made.stop_reason, "time") == 0)) {
        status =
            nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                       "robust policy iteration stopped after %lld steps, with a residual of %g; the best "
                       "policy so far is there, with bounds that hold for it",
                       (long long)made.iterations, at.residual);
    }
cleanup:
    clear(&at);
    return status;
}
