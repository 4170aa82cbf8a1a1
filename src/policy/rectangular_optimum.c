/*
 * rectangular_optimum.c: the best policy against a rectangular set; see rectangular_optimum.h.
 *
 * Simplex and support: v* = T v*. T at v gives a policy pi and worst rows X of all actions; the next v is the
 * value of pi under X (Newton's method on both players' choices). This takes a few steps, but need not
 * converge. Where it does not, v is from then on the worst value of pi by the adversary's own policy
 * iteration, which never falls from step to step. The optimum under X is an upper bound (minmax.h).
 *
 * Free domain: v is the fixed point of T^pi, unique below breakdown, pi the best mixture at the last v, and
 * the best policy met is the result. The free set contains that of the simplex, whose optimum is therefore an
 * upper bound.
 *
 * Without a discount every policy met must end under all kernels, and so v begins as the worst value of a policy that does.
 * T is followed only in states where it gains more than rounding: a class of states that a kernel never leaves under the
 * next policy then has a positive mean reward, or consists of states that the policy before did not leave either. So
 * probabilities and costs have none; where other rewards have one, the iteration stops at the policy before.
 *
 * Rewards paid on landing: kernels pay R_P, and rows answer to v + e / gamma, each to its own
 * (model/landing.h).
 */
#include "policy/rectangular_optimum.h"

#include "core/context.h"
#include "linalg/distributed.h"
#include "model/landing.h"
#include "model/terminal.h"
#include "policy/minmax.h"
#include "solve/value.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SOLVE_ERROR 1e-9  /* no solve is worse, relative to the largest value */
#define EVALUATION  1e-13 /* tolerance of the worst value of a policy, relative to its penalty */
#define TIE         1e-9 /* without a discount: gains of less than this share of the largest value are none */

enum {
    NEWTON_PATIENCE = 8, /* steps without a smaller residual, before the monotone iteration is used */
    FREE_PATIENCE = 50,  /* the same before the iteration on the free domain stops */
    EVALUATION_STEPS = 1000
};

/* All numbers, besides v, best and policy, that it takes to resume. Written to checkpoints as it is. */
typedef struct rectangular_state {
    int64_t iterations;
    int64_t evaluations;
    int64_t waited;   /* steps since the residual was halved */
    int64_t monotone; /* 1: values of policies by the adversary's own iteration */
    double least;     /* smallest residual */
    double J;         /* free domain: mu . v of the best policy */
} rectangular_state;

typedef struct optimum {
    nadir_context *context;
    nadir_model *model;
    const nadir_ball *ball;
    const nadir_rectangular_optimum_settings *settings;
    rectangular_state state;
    nadir_kernel *nominal;
    nadir_policy *policy; /* of the last application of T; free domain: the best one */
    nadir_uncertainty set;
    nadir_robust_bellman bellman;
    nadir_kernel *worst; /* of the row solutions */
    double *v;           /* [states] */
    double *R;           /* [states] work */
    double residual;     /* max |Tv - v| */
    double size;         /* the largest |v| */
    double rest;         /* 1 - discount, or 1 over the duration under the last policy */
    bool settled;        /* without a discount: no policy is better */
    double *best;        /* [states] free domain: the value of the best policy */
} optimum;

static void clear(optimum *self)
{
    nadir_context *context = self->context;
    nadir_robust_bellman_clear(context, &self->bellman);
    nadir_uncertainty_clear(context, &self->set);
    nadir_policy_free(self->policy);
    nadir_kernel_free(self->worst);
    nadir_kernel_free(self->nominal);
    nadir_release(context, self->v);
    nadir_release(context, self->R);
    nadir_release(context, self->best);
}

/* The policy of the last application of T. */
static nadir_status take_policy(const optimum *self, nadir_policy **policy)
{
    nadir_policy *made = NULL;
    const nadir_status status = nadir_policy_create(self->context, self->model, self->bellman.policy, &made);
    if (status == NADIR_OK) {
        nadir_policy_free(*policy);
        *policy = made;
    }
    return status;
}

static nadir_status apply(optimum *self)
{
    NADIR_TRY(nadir_robust_bellman_apply(self->context, &self->bellman, self->v));
    self->residual = 0;
    self->size = 0;
    for (int64_t s = 0; s < self->model->states; s++) {
        self->residual = fmax(self->residual, fabs(self->bellman.value[s] - self->v[s]));
        self->size = fmax(self->size, fmax(fabs(self->v[s]), fabs(self->bellman.value[s])));
    }
    self->residual = nadir_allreduce_maximum(self->context, self->residual);
    self->size = nadir_allreduce_maximum(self->context, self->size);
    return NADIR_OK;
}

/* v <- the value of the policy under the row solutions of T. */
static nadir_status solve_solutions(optimum *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    nadir_occupancy *occupancy = NULL;
    NADIR_CHECK(nadir_lmo_kernel(context, &self->bellman.rows, self->bellman.solutions, &self->worst));
    NADIR_CHECK(nadir_occupancy_create(context, self->worst, self->policy, self->model->discount,
                                       self->settings->backend, 0, &occupancy));
    nadir_kernel_rewards(context, self->worst, self->policy, 1, self->R);
    NADIR_CHECK(nadir_occupancy_solve(context, occupancy, 1, self->R, self->v, NULL));
cleanup:
    nadir_occupancy_free(context, occupancy);
    return status;
}

/* The worst value of the policy. */
static nadir_status solve_policy(optimum *self, nadir_policy *policy, double *v, double *J)
{
    nadir_status status = NADIR_OK;
    nadir_minmax minmax = {.model = self->model,
                           .ball = self->ball,
                           .backend = self->settings->backend,
                           .iterations_limit = EVALUATION_STEPS};
    nadir_response response = {0};
    NADIR_CHECK(nadir_response_find(self->context, &minmax, policy, NULL, NULL, EVALUATION, &response));
    memcpy(v, response.v, (size_t)self->model->states * sizeof *v);
    *J = response.J;
    self->rest = self->model->discount == 1 ? response.setup.problem.rest : self->rest;
cleanup:
    nadir_response_clear(self->context, &response);
    return status;
}

/* v <- the fixed point of T^pi at the policy of T; the best policy is kept. */
static nadir_status step_free(optimum *self)
{
    nadir_status status = NADIR_OK;
    nadir_policy *policy = NULL;
    double J;
    NADIR_CHECK(take_policy(self, &policy));
    NADIR_CHECK(solve_policy(self, policy, self->v, &J));
    if (J > self->state.J) {
        self->state.J = J;
        memcpy(self->best, self->v, (size_t)self->model->states * sizeof *self->best);
        nadir_policy_free(self->policy);
        self->policy = policy;
        policy = NULL;
    }
cleanup:
    nadir_policy_free(policy);
    return status;
}

/* Without a discount: v of the first policy. */
static nadir_status begin_ending(optimum *self)
{
    nadir_status status = NADIR_OK;
    nadir_policy *first = NULL;
    double J;
    NADIR_CHECK(
        nadir_policy_create(self->context, self->model, self->settings->start->probabilities, &first));
    status = solve_policy(self, first, self->v, &J);
    if (status == NADIR_ERROR_ILL_POSED &&
        !self->settings->start_given) { /* self->policy is the uniform one */
        status = solve_policy(self, self->policy, self->v, &J);
        goto cleanup;
    }
    NADIR_CHECK(status);
    nadir_policy_free(self->policy);
    self->policy = first;
    first = NULL;
cleanup:
    nadir_policy_free(first);
    return status;
}

/* Without a discount: the policy of T where it gains something, and its worst value. */
static nadir_status step_ending(optimum *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    nadir_policy *next = NULL;
    double *v = NULL;
    double J;
    int64_t changed = 0;
    NADIR_NEW(self->context, v, model->states);
    NADIR_CHECK(nadir_policy_create(self->context, model, self->policy->probabilities, &next));
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        if (self->bellman.value[s] - self->v[s] > TIE * self->size) {
            memcpy(next->probabilities + first, self->bellman.policy + first,
                   (size_t)(model->state_rows[s + 1] - first) * sizeof *next->probabilities);
            changed++;
        }
    }
    status = changed > 0 ? solve_policy(self, next, v, &J) : NADIR_OK;
    self->settled = changed == 0 || status == NADIR_ERROR_ILL_POSED;
    if (self->settled) {
        status = NADIR_OK;
        goto cleanup;
    }
    NADIR_CHECK(status);
    memcpy(self->v, v, (size_t)model->states * sizeof *v);
    nadir_policy_free(self->policy);
    self->policy = next;
    next = NULL;
cleanup:
    nadir_policy_free(next);
    nadir_release(self->context, v);
    return status;
}

static nadir_status step(optimum *self)
{
    double J;
    self->state.evaluations++;
    if (self->model->discount == 1) {
        return step_ending(self);
    }
    if (self->set.domain == NADIR_DOMAIN_FREE) {
        return step_free(self);
    }
    NADIR_TRY(take_policy(self, &self->policy));
    return self->state.monotone != 0 ? solve_policy(self, self->policy, self->v, &J) : solve_solutions(self);
}

static nadir_status start(optimum *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    nadir_model *model = self->model;
    NADIR_CHECK(nadir_value_check_model(context, model));
    NADIR_CHECK(nadir_policy_create_uniform(context, model, &self->policy));
    NADIR_CHECK(nadir_uncertainty_make(context, model, self->policy, self->ball, &self->set));
    if (self->set.set == NADIR_SET_NONRECT) {
        status =
            nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                       "the set is not rectangular, and has no robust Bellman equation; expected set s or "
                       "sa, or norm inf");
        goto cleanup;
    }
    if (self->set.domain == NADIR_DOMAIN_FREE) {
        NADIR_CHECK(nadir_model_check_one_process(context, model, "method bellman on domain free"));
    }
    NADIR_CHECK(nadir_kernel_create(context, model, &self->nominal));
    NADIR_CHECK(nadir_robust_bellman_make(context, model, self->nominal, &self->set, &self->bellman));
    NADIR_NEW_ZERO(context, self->v, model->states);
    NADIR_NEW(context, self->R, model->states);
    NADIR_NEW_ZERO(context, self->best, model->states);
    self->state.J = -INFINITY;
    self->state.least = INFINITY;
    self->rest = 1 - model->discount;
    if (model->discount == 1) {
        NADIR_CHECK(self->set.domain == NADIR_DOMAIN_FREE
                        ? nadir_terminal_refuse(context, model, "policies for domain free")
                        : begin_ending(self));
    }
cleanup:
    return status;
}

/* Whether the iteration has converged. before: the previous residual. Rounding and errors of the solves keep
 * the residual from vanishing: it has converged as well once it is that small and no longer decreases. */
static bool has_converged(const optimum *self, double before)
{
    const double wanted = self->model->landing.g == NULL
                              ? self->size
                              : nadir_landing_value_size(self->context, self->model, self->bellman.value, 0);
    const bool small = self->residual <= self->settings->tolerance * self->rest * wanted ||
                       self->residual <= 16 * DBL_EPSILON * self->size;
    return small || self->settled ||
           (self->residual <= SOLVE_ERROR * self->size && self->residual >= before / 2);
}

static double return_of(const optimum *self, const double *v)
{
    double error;
    return nadir_global_dot(self->context, self->model->states, self->model->initial, v, &error);
}

/* ------------------------------------------------------------------------- checkpoints and progress */

static nadir_checkpoint list_parts(optimum *self)
{
    const size_t states = (size_t)self->model->states * sizeof(double);
    const size_t rows = (size_t)self->model->rows * sizeof(double);
    return (nadir_checkpoint){.identity = self->settings->search->identity,
                              .fixed = 4,
                              .parts = {{&self->state, sizeof self->state},
                                        {self->v, states},
                                        {self->best, states},
                                        {self->policy->probabilities, rows}}};
}

/* Whether an iteration can produce these numbers. */
static bool is_plausible(const optimum *self)
{
    const rectangular_state *state = &self->state;
    return nadir_checkpoint_is_count(state->iterations) && nadir_checkpoint_is_count(state->evaluations) &&
           nadir_checkpoint_is_count(state->waited) && state->least >= 0 && !isnan(state->J) &&
           nadir_checkpoint_are_finite(self->model->states, self->v) &&
           nadir_checkpoint_are_finite(self->model->states, self->best) &&
           nadir_checkpoint_are_finite(self->model->rows, self->policy->probabilities);
}

static nadir_status resume(optimum *self)
{
    const nadir_search *search = self->settings->search;
    if (search == NULL || search->store.read == NULL) {
        return NADIR_OK;
    }
    nadir_checkpoint checkpoint = list_parts(self);
    NADIR_TRY(search->store.read(search->store.user, self->context, &checkpoint));
    return is_plausible(self) ? NADIR_OK : nadir_checkpoint_refuse(search);
}

/* Checkpoint, progress and limits. */
static nadir_status report(optimum *self, nadir_stop *reason)
{
    NADIR_TRY(nadir_progress(self->context, "robust policy iteration", -1));
    if (self->state.iterations == 0) {
        return NADIR_OK;
    }
    if (self->settings->search != NULL) {
        const nadir_checkpoint checkpoint = list_parts(self);
        NADIR_TRY(nadir_search_report(self->settings->search, &checkpoint, self->state.iterations,
                                      self->state.evaluations,
                                      nadir_landing_return(self->model, return_of(self, self->v)),
                                      self->residual / self->rest, reason));
    }
    if (self->state.iterations >= self->settings->iterations_limit) {
        *reason = NADIR_STOP_EVALUATIONS;
    }
    return NADIR_OK;
}

/* The checkpoint of an iteration that was interrupted or reached a limit. */
static nadir_status save_unfinished(optimum *self, nadir_stop reason)
{
    /* other processes may not be interrupted: the last checkpoint stays */
    const bool alone = reason == NADIR_STOP_INTERRUPTED && self->model->exchange != NULL;
    if (self->settings->search == NULL || self->state.iterations == 0 || alone || reason == NADIR_STOP_GAP) {
        return NADIR_OK;
    }
    const nadir_checkpoint checkpoint = list_parts(self);
    return nadir_search_save(self->settings->search, &checkpoint, true);
}

/* ------------------------------------------------------------------------------------- the iteration */

/* Steps until convergence or a limit. */
static nadir_status iterate(optimum *self, nadir_stop *reason)
{
    nadir_status status = NADIR_OK;
    rectangular_state *state = &self->state;
    const bool is_free = self->set.domain == NADIR_DOMAIN_FREE;
    const int patience = is_free ? FREE_PATIENCE : NEWTON_PATIENCE;
    *reason = NADIR_STOP_NONE;
    NADIR_CHECK(resume(self));
    NADIR_CHECK(apply(self));
    for (;;) {
        const double before = state->iterations > 0 ? self->residual : INFINITY;
        NADIR_CHECK(report(self, reason));
        if (*reason != NADIR_STOP_NONE) {
            break;
        }
        NADIR_CHECK(step(self));
        NADIR_CHECK(apply(self));
        state->iterations++;
        *reason = has_converged(self, before) ? NADIR_STOP_GAP : NADIR_STOP_NONE;
        state->waited = self->residual < state->least / 2 ? 0 : state->waited + 1;
        state->least = fmin(state->least, self->residual);
        state->monotone = state->monotone != 0 || state->waited >= patience;
        if (*reason == NADIR_STOP_NONE && is_free && state->waited >= patience) {
            *reason = NADIR_STOP_EVALUATIONS;
        }
        if (*reason != NADIR_STOP_NONE) {
            break;
        }
    }
cleanup:
    if (status == NADIR_ERROR_INTERRUPTED) {
        *reason = NADIR_STOP_INTERRUPTED;
    }
    const nadir_status saved = *reason != NADIR_STOP_NONE ? save_unfinished(self, *reason) : NADIR_OK;
    return saved != NADIR_OK ? saved : status;
}

/* ---------------------------------------------------------------------------------------- the bounds */

/* The optimum under the worst rows, if these are in the set. */
static nadir_status bound_valid(optimum *self, double *upper)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    nadir_dual_bound dual_bound = {.model = self->model,
                                   .backend = self->settings->backend,
                                   .tolerance = self->settings->tolerance,
                                   .upper = INFINITY};
    if (self->model->discount != 1) {
        NADIR_CHECK(take_policy(self, &self->policy));
    }
    NADIR_CHECK(nadir_lmo_kernel(context, &self->bellman.rows, self->bellman.solutions, &self->worst));
    NADIR_CHECK(nadir_dual_bound_add_kernel(context, &dual_bound, &self->worst, self->v, NULL));
    NADIR_CHECK(nadir_dual_bound_check_kernel(context, &dual_bound, &self->set));
    *upper = dual_bound.upper;
cleanup:
    nadir_dual_bound_clear(context, &dual_bound);
    return status;
}

static nadir_status bound_free(const optimum *self, double *upper)
{
    nadir_rectangular_optimum_result above = {.upper = INFINITY};
    nadir_rectangular_optimum_settings settings = *self->settings;
    nadir_policy *policy = NULL;
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball = self->ball != NULL ? *self->ball : ball;
    ball.domain = NADIR_DOMAIN_SIMPLEX;
    settings.search = NULL;
    const nadir_status status =
        nadir_rectangular_optimum(self->context, self->model, &ball, &settings, &policy, &above);
    *upper = above.upper;
    nadir_policy_free(policy);
    return status == NADIR_ERROR_NOT_CONVERGED ? NADIR_OK : status; /* the bound holds nevertheless */
}

/* Hands the result to the caller. */
static void give(optimum *self, nadir_rectangular_optimum_result *made, nadir_policy **policy,
                 nadir_rectangular_optimum_result *result)
{
    made->J = return_of(self, self->set.domain == NADIR_DOMAIN_FREE ? self->best : self->v);
    made->evaluations = self->state.evaluations;
    made->iterations = self->state.iterations;
    *result = *made;
    *policy = self->policy;
    self->policy = NULL;
}

nadir_status nadir_rectangular_optimum(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                       const nadir_rectangular_optimum_settings *settings,
                                       nadir_policy **policy, nadir_rectangular_optimum_result *result)
{
    nadir_status status = NADIR_OK;
    nadir_rectangular_optimum_result made = {.upper = INFINITY};
    optimum run = {.context = context, .model = model, .ball = ball, .settings = settings};
    NADIR_CHECK(start(&run));
    status = iterate(&run, &made.stop);
    if (status == NADIR_OK) {
        status = run.set.domain == NADIR_DOMAIN_FREE ? bound_free(&run, &made.upper)
                                                     : bound_valid(&run, &made.upper);
    }
    const bool interrupted =
        status == NADIR_ERROR_INTERRUPTED && run.state.iterations > 0 && model->exchange == NULL;
    if (interrupted || status == NADIR_OK) {
        give(&run, &made, policy, result);
    }
    if (status == NADIR_OK && (made.stop == NADIR_STOP_EVALUATIONS || made.stop == NADIR_STOP_TIME)) {
        status =
            nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                       "robust policy iteration stopped after %lld steps, with a residual of %g; the best "
                       "policy so far is there, with bounds that hold for it",
                       (long long)made.iterations, run.residual);
    }
cleanup:
    clear(&run);
    return status;
}
