/* evaluate_horizon.c: robust evaluation over H steps with one kernel for all of them (sets/horizon.h): the search, then
 * proofs until the bounds are close, and the public call. */
#include "core/context.h"
#include "core/round.h"
#include "linalg/vector.h"
#include "model/terminal.h"
#include "robust/robust.h"
#include "search/horizon_search.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Products with entries, and numbers kept, that bounds on occupancies may take: some seconds, 400 MB. */
#define WORK_MOST        1e9
#define WORK_MOST_STRICT 1e11
#define MEMORY_MOST      5e7

typedef struct evaluation {
    nadir_horizon horizon;
    const nadir_robust_settings *settings;
    nadir_horizon_found found;
    nadir_kernel *kernel;
    double nominal;               /* return of the nominal kernel, with the signs of the search */
    double J_lower, lower, upper; /* of the kernel found; of the worst return */
    double minimum;
    nadir_bound bound;
    double kappa;
    double robust_time, certify_time;
} evaluation;

static void clear(nadir_context *context, evaluation *self)
{
    nadir_horizon_clear(context, &self->horizon);
    nadir_horizon_found_clear(context, &self->found);
    nadir_kernel_free(self->kernel);
}

static void take_bound(evaluation *self, double lower, nadir_bound bound)
{
    if (lower > self->lower) {
        self->lower = lower;
        self->bound = bound;
    }
}

/* Whether the bounds are within the width that was asked for; where no kernel changes anything, within rounding. */
static bool is_narrow(const evaluation *self)
{
    const double penalty = self->nominal - self->found.point.J;
    const double width = self->upper - self->lower;
    const double rounding = 8 * (self->upper - self->J_lower) + 64 * DBL_EPSILON * fabs(self->nominal);
    const double at_stake = self->horizon.reward_size * (double)self->horizon.steps;
    return width <= self->settings->width * penalty ||
           (penalty <= rounding && width <= 4 * rounding && width <= self->settings->width * at_stake);
}

/* Second order where p = 2; d_bar as tight as both kernels make it. */
static nadir_status prove_second_order(nadir_context *context, evaluation *self, nadir_horizon_bounds *bounds)
{
    const nadir_horizon *horizon = &self->horizon;
    const double tau = self->found.tau;
    double curvature;
    double lower;
    NADIR_TRY(nadir_horizon_bounds_tighten(context, horizon, &self->found.point, false, bounds, &curvature));
    NADIR_TRY(nadir_horizon_second_order(context, horizon, &self->found.point, tau, curvature, &lower));
    self->kappa = tau > 0 ? curvature / (2 * tau) : NAN;
    take_bound(self, lower, NADIR_BOUND_SECOND_ORDER);
    return NADIR_OK;
}

static nadir_status prove_lagrangian(nadir_context *context, evaluation *self, const double *d_bar)
{
    const nadir_uncertainty *set = self->horizon.set;
    const double penalty = self->nominal - self->found.point.J;
    const double start = penalty / pow(set->radius, set->p);
    double tau;
    double lower;
    if (!(start > 0 && isfinite(start))) {
        return NADIR_OK;
    }
    NADIR_TRY(nadir_horizon_tau_best(context, &self->horizon, d_bar, start, &tau));
    NADIR_TRY(nadir_horizon_bellman(context, &self->horizon, d_bar, tau, &lower));
    take_bound(self, lower, NADIR_BOUND_LAGRANGIAN);
    return NADIR_OK;
}

static nadir_status certify(nadir_context *context, evaluation *self)
{
    nadir_status status = NADIR_OK;
    const nadir_horizon *horizon = &self->horizon;
    const nadir_uncertainty *set = horizon->set;
    const double work_most = self->settings->certify == NADIR_CERTIFY_STRICT ? WORK_MOST_STRICT : WORK_MOST;
    nadir_horizon_bounds bounds = {0};
    nadir_horizon_point nominal = {0};
    double lower;
    NADIR_CHECK(nadir_horizon_bounds_make(context, horizon, &bounds));
    NADIR_CHECK(nadir_horizon_bellman(context, horizon, bounds.d_bar, 0, &lower));
    take_bound(self, lower, NADIR_BOUND_BELLMAN);
    if (self->settings->certify == NADIR_CERTIFY_OFF || set->set != NADIR_SET_NONRECT || is_narrow(self)) {
        goto cleanup;
    }
    if (nadir_horizon_bounds_work(horizon) <= work_most &&
        nadir_horizon_bounds_memory(horizon) <= MEMORY_MOST) {
        NADIR_CHECK(nadir_horizon_point_make(context, horizon, &nominal));
        NADIR_CHECK(nadir_horizon_bounds_tighten(context, horizon, &nominal, true, &bounds, NULL));
        if (set->p == 2) {
            NADIR_CHECK(prove_second_order(context, self, &bounds));
        }
    }
    if (!is_narrow(self)) {
        NADIR_CHECK(prove_lagrangian(context, self, bounds.d_bar));
    }
cleanup:
    nadir_horizon_bounds_clear(context, &bounds);
    nadir_horizon_point_clear(context, &nominal);
    return status;
}

/* One radius; self->horizon and settings are set. */
static nadir_status evaluate(nadir_context *context, evaluation *self)
{
    nadir_status status = NADIR_OK;
    const nadir_horizon *horizon = &self->horizon;
    nadir_horizon_point nominal = {0};
    const double begun = nadir_clock_seconds();
    NADIR_CHECK(nadir_horizon_point_make(context, horizon, &nominal));
    self->nominal = nominal.J;
    NADIR_CHECK(nadir_horizon_search(context, horizon, self->settings->tolerance,
                                     self->settings->iterations_limit, &self->found));
    const double found = nadir_clock_seconds();
    self->robust_time = found - begun;
    self->kappa = NAN;
    NADIR_CHECK(nadir_horizon_check(context, horizon, &self->found.point, &self->J_lower, &self->upper,
                                    &self->minimum, &self->kernel));
    self->lower = horizon->set->idle ? self->J_lower : -INFINITY;
    self->bound = horizon->set->idle ? NADIR_BOUND_NOMINAL : NADIR_BOUND_NONE;
    if (!horizon->set->idle) {
        NADIR_CHECK(certify(context, self));
    }
    self->certify_time = nadir_clock_seconds() - found;
cleanup:
    nadir_horizon_point_clear(context, &nominal);
    return status;
}

static nadir_robust make_result(const evaluation *self, double valid_radius)
{
    const nadir_uncertainty *set = self->horizon.set;
    const double sign = self->horizon.sign;
    const double J = self->found.point.J;
    const double lower = fmin(self->lower, J);
    const bool proven = self->settings->certify != NADIR_CERTIFY_OFF && isfinite(lower);
    return (nadir_robust){
        .size = sizeof(nadir_robust),
        .nominal_return = sign * self->nominal,
        .robust_return = sign * J,
        .penalty = sign * (self->nominal - J),
        .lower_bound = sign > 0 ? lower : -self->upper,
        .upper_bound = sign > 0 ? self->upper : -lower,
        .certified = proven && is_narrow(self),
        .certificate = nadir_proof_name(proven ? NADIR_PROOF_RIGOROUS : NADIR_PROOF_NONE),
        .bound = nadir_bound_name(self->bound),
        .kappa = self->kappa,
        .stationarity_gap = self->found.gap,
        .set = set->asked,
        .domain = set->asked_domain,
        .norm = set->p,
        .radius = set->radius,
        .method = set->idle ? "nominal" : "frank-wolfe",
        .stop_reason = nadir_stop_name(self->found.stop),
        .iterations = self->found.iterations,
        .breakdown_radius = NAN,
        .duration = NAN,
        .duration_bound = NAN,
        .trap_radius_low = NAN,
        .trap_radius_high = NAN,
        .valid_radius = valid_radius,
        .kernel_minimum = self->minimum,
        .kernel_valid = self->minimum >= 0,
        .residual = 0,
        .backend = "none",
        .seconds_robust = self->robust_time,
        .seconds_certify = self->certify_time,
    };
}

/* ------------------------------------------------------------------------------------ public call */

/* Positive where one of the policies is. */
static nadir_status average_policies(nadir_context *context, const nadir_model *model, int64_t count,
                                     const nadir_policy *const *policies, nadir_policy **average)
{
    for (int64_t i = 0; i < count; i++) {
        if (policies[i]->states != model->states || policies[i]->rows != model->rows) {
            return nadir_fail(context, NADIR_ERROR_POLICY,
                              "the policy of step %lld is for %lld states and %lld rows, the model has %lld "
                              "and %lld",
                              (long long)i, (long long)policies[i]->states, (long long)policies[i]->rows,
                              (long long)model->states, (long long)model->rows);
        }
    }
    NADIR_TRY(nadir_policy_create_blank(context, model, average));
    for (int64_t i = 0; i < count; i++) {
        nadir_vector_add(model->rows, 1 / (double)count, policies[i]->probabilities, i == 0,
                         (*average)->probabilities);
    }
    return NADIR_OK;
}

/* The set with radii times a factor. */
static nadir_status scale_set(nadir_context *context, const nadir_model *model, const nadir_uncertainty *set,
                              double factor, nadir_uncertainty *made)
{
    NADIR_TRY(nadir_uncertainty_copy(context, set, made));
    double *radii = set->radii != NULL ? made->owned + (set->radii - set->owned) : NULL;
    const int64_t count = set->set == NADIR_SET_S ? model->states : model->rows;
    for (int64_t i = 0; radii != NULL && i < count; i++) {
        radii[i] *= factor;
    }
    made->radius *= factor;
    made->idle = made->idle || factor == 0;
    return NADIR_OK;
}

static nadir_status check_arguments(nadir_context *context, const nadir_model *model, int64_t horizon,
                                    int64_t policies_count, int64_t count, const double *factors,
                                    const nadir_model *const *worst)
{
    NADIR_TRY(nadir_value_check_given(context, model));
    if (horizon < 1 || count < 0 || (worst != NULL && count != 1)) {
        return nadir_fail(
            context, NADIR_ERROR_ARGUMENT,
            "the horizon is %lld, with %lld radii; expected 1 or more steps, and one radius where "
            "the kernel found is wanted",
            (long long)horizon, (long long)count);
    }
    if (policies_count != 1 && policies_count != horizon) {
        return nadir_fail(context, NADIR_ERROR_POLICY,
                          "there are policies for %lld steps; expected one for each of %lld, or one for all",
                          (long long)policies_count, (long long)horizon);
    }
    for (int64_t i = 0; i < count; i++) {
        if (!(factors[i] >= 0) || isinf(factors[i])) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "factor %lld of the radius is %g; expected a finite number, 0 or more",
                              (long long)i, factors[i]);
        }
    }
    return NADIR_OK;
}

/* One radius with its result. *converged: cleared where the search was not. */
static nadir_status answer(nadir_context *context, const nadir_horizon *horizon, double factor,
                           const nadir_robust_settings *settings, nadir_robust *result, nadir_model **worst,
                           bool *converged)
{
    nadir_status status = NADIR_OK;
    nadir_uncertainty set = {0};
    evaluation self = {.settings = settings};
    double valid_radius;
    NADIR_CHECK(scale_set(context, horizon->model, horizon->set, factor, &set));
    NADIR_CHECK(nadir_horizon_make(context, horizon->model, &set, horizon->steps,
                                   horizon->stationary ? 1 : horizon->steps, horizon->policies,
                                   settings->optimistic, &self.horizon));
    NADIR_CHECK(evaluate(context, &self));
    NADIR_CHECK(nadir_model_valid_radius_scaled(context, horizon->model, set.scales, set.p, &valid_radius));
    const nadir_robust made = make_result(&self, valid_radius);
    if (!nadir_result_copy(result, &made, sizeof made)) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the robust result is not set"));
    }
    if (worst != NULL) {
        NADIR_CHECK(nadir_kernel_to_model(context, self.kernel, worst));
    }
    *converged = *converged && self.found.converged;
cleanup:
    clear(context, &self);
    nadir_uncertainty_clear(context, &set);
    return status;
}

nadir_status nadir_horizon_robust(nadir_context *context, nadir_model *model, int64_t horizon,
                                  int64_t policies_count, const nadir_policy *const *policies,
                                  const nadir_ball *ball, const nadir_robust_settings *settings,
                                  int64_t count, const double *factors, nadir_robust *results,
                                  nadir_model **worst)
{
    nadir_status status = NADIR_OK;
    nadir_robust_settings use;
    nadir_evaluator *further;
    nadir_uncertainty set = {0};
    nadir_policy *average = NULL;
    bool converged = true;
    NADIR_CHECK(check_arguments(context, model, horizon, policies_count, count, factors,
                                (const nadir_model *const *)worst));
    NADIR_CHECK(nadir_robust_settle(context, settings, &use, &further));
    NADIR_CHECK(nadir_evaluate_check_method(context, &use));
    NADIR_CHECK(nadir_terminal_refuse(context, model, "a horizon"));
    NADIR_CHECK(average_policies(context, model, policies_count, policies, &average));
    NADIR_CHECK(nadir_uncertainty_make(context, model, average, ball, &set));
    if (model->landing.lacking && set.domain != NADIR_DOMAIN_SUPPORT) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                               "the discount of %g is too small for rewards of successors that the model has "
                               "not got: take domain support, or --unseen row, min or a number",
                               model->discount));
    }
    const nadir_horizon asked = {.model = model,
                                 .set = &set,
                                 .steps = horizon,
                                 .policies = policies,
                                 .stationary = policies_count == 1};
    for (int64_t i = 0; i < count; i++) {
        NADIR_CHECK(answer(context, &asked, factors[i], &use, &results[i], worst, &converged));
    }
    if (!converged) {
        status = nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                            "the search for the worst kernel stopped before the tolerance of %g was reached; "
                            "the best kernel so far is reported, with bounds that hold for it",
                            use.tolerance);
    }
cleanup:
    nadir_policy_free(average);
    nadir_uncertainty_clear(context, &set);
    return status;
}
