/* optimum.c: the public search for the robust policy: settles what is asked, chooses the method, evaluates
 * the policy found with proof, and puts the bounds together. */
#include "adversary/robust.h"
#include "adversary/worst.h"
#include "base/context.h"
#include "linalg/distributed.h"
#include "nominal/nominal_optimum.h"
#include "policy/ascent.h"
#include "policy/bellman_search.h"
#include "policy/checkpoint.h"

#include <math.h>
#include <string.h>

/* Of each search for a worst kernel. */
#define SEARCH_ITERATIONS 10000
/* No evaluation is asked to be better. */
#define FINEST 1e-12
/* How often a worst kernel found from nothing may send the search back. */
enum { AGAIN = 3 };

typedef struct quest {
    nadir_context *context;
    nadir_model *model;
    const nadir_ball *ball;
    nadir_robust_optimum_settings settings;
    nadir_policy *start; /* owned */
    nadir_occupancy
        *occupancy;      /* of the nominal optimum, if it is there; the duel's from when there is one */
    nadir_policy *found; /* owned */
    nadir_uncertainty uncertainty;
    nadir_ascent ascent;
    bool bellman;
    double upper;                /* no policy's worst return is above */
    double known;                /* worst return of the policy found, as far as the search knows */
    double known_nominal;        /* its nominal return; NaN: not known */
    nadir_solver *solver;        /* of the policy found */
    nadir_warm_start warm_start; /* of its evaluation: what the ascent found last */
    nadir_robust evaluation;
    nadir_worst *worst;
    nadir_robust_optimum_result result;
} quest;

void nadir_robust_optimum_settings_fill(nadir_robust_optimum_settings *settings, size_t size)
{
    const nadir_robust_optimum_settings made = {.gap = 1e-6,
                                                .evaluations_limit = 1000,
                                                .time_limit = INFINITY,
                                                .certify = NADIR_CERTIFY_AUTO,
                                                .checkpoint_seconds = 1};
    nadir_settings_give(settings, size, &made, sizeof made);
}

/* ---------------------------------------------------------------------------------------- the question */

static nadir_status check_settings(const quest *at)
{
    const nadir_robust_optimum_settings *use = &at->settings;
    if (!(use->gap > 0) || use->evaluations_limit < 1 || !(use->time_limit >= 0)) {
        return nadir_fail(at->context, NADIR_ERROR_ARGUMENT,
                          "the gap is %g, the limit of evaluations %lld and that of time %g; expected more "
                          "than 0",
                          use->gap, (long long)use->evaluations_limit, use->time_limit);
    }
    if (!(use->step >= 0) || isinf(use->step) || !(use->checkpoint_seconds >= 0)) {
        return nadir_fail(at->context, NADIR_ERROR_ARGUMENT,
                          "the step is %g and the time between checkpoints %g; expected 0 or more", use->step,
                          use->checkpoint_seconds);
    }
    if (use->certify < NADIR_CERTIFY_OFF || use->certify > NADIR_CERTIFY_STRICT) {
        return nadir_fail(at->context, NADIR_ERROR_ARGUMENT, "certify is %d; expected off, auto or strict",
                          (int)use->certify);
    }
    return NADIR_OK;
}

/* The method: robust policy iteration where the set allows it. */
static nadir_status choose_method(quest *at)
{
    nadir_robust_optimum_settings *use = &at->settings;
    const bool rectangular = at->uncertainty.set != NADIR_SET_NONRECT;
    const char *method = use->method != NULL ? use->method : "auto";
    if (strcmp(method, "auto") == 0) {
        const bool bellman =
            rectangular && !at->uncertainty.idle && at->uncertainty.domain != NADIR_DOMAIN_FREE;
        method = bellman ? "bellman" : "quasi-newton";
    }
    at->bellman = strcmp(method, "bellman") == 0;
    if (at->bellman && !rectangular) {
        return nadir_fail(at->context, NADIR_ERROR_UNSUPPORTED,
                          "method bellman is for rectangular sets; expected set s or sa, or another method");
    }
    static const char *const names[] = {"quasi-newton", "spectral", "paper"};
    bool known = at->bellman;
    for (int i = 0; i < 3; i++) {
        if (strcmp(method, names[i]) == 0) {
            at->ascent.kind = (nadir_ascent_kind)i;
            method = names[i];
            known = true;
        }
    }
    if (!known) {
        return nadir_fail(at->context, NADIR_ERROR_ARGUMENT,
                          "there is no method %s; expected auto, quasi-newton, spectral, paper or bellman",
                          method);
    }
    at->result.method = at->bellman ? "bellman" : method;
    return NADIR_OK;
}

/* The nominal optimum, which is also where the search begins unless the caller knows better. */
static nadir_status solve_nominal(quest *at)
{
    nadir_status status = NADIR_OK;
    nadir_optimum_settings settings;
    nadir_optimum_result found = {.size = sizeof found};
    const double begun = nadir_clock_seconds();
    nadir_optimum_settings_default(&settings);
    settings.backend = at->settings.backend;
    NADIR_CHECK(
        nadir_optimum_with_operator(at->context, at->model, &settings, &at->start, &found, &at->occupancy));
    at->result.nominal_optimum = found.nominal_optimum;
    at->upper = found.upper_bound;
    at->result.seconds_nominal = nadir_clock_seconds() - begun;
    if (at->settings.start != NULL) {
        nadir_occupancy_free(at->context, at->occupancy);
        at->occupancy = NULL;
        nadir_policy_free(at->start);
        at->start = NULL;
        NADIR_CHECK(nadir_policy_share(at->context, at->model, at->settings.start, &at->start));
    }
cleanup:
    return status;
}

/* ---------------------------------------------------------------------------------------- the search */

/* The worst return of the policy that the user would have begun with, which this search has no use for. */
static nadir_status measure_start(quest *at)
{
    nadir_status status = NADIR_OK;
    nadir_response first = {0};
    nadir_duel *duel = &at->ascent.duel;
    status = nadir_response_find(at->context, duel, at->start, NULL, NULL, 1e-9, &first);
    duel->evaluations = 0;
    if (status == NADIR_ERROR_ILL_POSED) { /* it breaks down; others may not */
        at->result.initial_robust_return = NAN;
        return NADIR_OK;
    }
    NADIR_CHECK(status);
    at->result.initial_robust_return = first.J;
cleanup:
    nadir_response_clear(at->context, &first);
    return status;
}

static nadir_status search_bellman(quest *at)
{
    nadir_status status = NADIR_OK;
    nadir_rectangular_optimum_result found = {0};
    nadir_bellman_search search = {.context = at->context,
                                   .model = at->model,
                                   .ball = at->ball,
                                   .settings = &at->settings,
                                   .identity = at->ascent.identity,
                                   .store = &at->ascent.store,
                                   .nominal_optimum = at->result.nominal_optimum};
    NADIR_CHECK(measure_start(at));
    status = nadir_bellman_search_run(&search, &at->found, &found);
    if (at->found == NULL) {
        goto cleanup;
    }
    at->upper = fmin(at->upper, found.upper);
    at->known = found.J;
    at->known_nominal = NAN;
    at->result.iterations = found.iterations;
    at->result.evaluations = found.evaluations;
    at->result.stop_reason =
        strcmp(found.stop_reason, "iterations") == 0 ? "evaluations"
        : strcmp(found.stop_reason, "tolerance") == 0 || strcmp(found.stop_reason, "stable") == 0
            ? "gap"
            : found.stop_reason;
    if (status == NADIR_ERROR_NOT_CONVERGED) { /* the evaluation is still to come */
        status = NADIR_OK;
    } else if (status == NADIR_ERROR_INTERRUPTED) {
        at->result.stop_reason = "interrupted";
    }
cleanup:
    return status;
}

/* Half a range of rewards over the effective horizon: a step that changes policies, and not at once. */
static double default_step(const nadir_context *context, const nadir_model *model)
{
    double low = INFINITY;
    double high = -INFINITY;
    for (int64_t row = 0; row < model->rows; row++) {
        low = fmin(low, model->rewards[row]);
        high = fmax(high, model->rewards[row]);
    }
    low = nadir_allreduce_minimum(context, low);
    high = nadir_allreduce_maximum(context, high);
    return high > low ? (1 - model->discount) / (high - low) : 1;
}

static nadir_status search_ascent(quest *at)
{
    nadir_status status = NADIR_OK;
    nadir_ascent *ascent = &at->ascent;
    ascent->settings = &at->settings;
    ascent->nominal_optimum = at->result.nominal_optimum;
    if (at->settings.step == 0) {
        at->settings.step = default_step(at->context, at->model);
    }
    status = nadir_ascent_run(ascent, at->start);
    if (ascent->stop_reason != NULL) {
        const nadir_status taken = nadir_ascent_take_best(&at->ascent, &at->found);
        status = status == NADIR_OK ? taken : status;
    }
    at->result.initial_robust_return = ascent->state.initial;
    at->known = ascent->state.best;
    at->known_nominal = ascent->state.best_nominal;
    return status;
}

/* ---------------------------------------------------------------------------------------- the answer */

/* The solver of the policy found: that of the search, if it has one. */
static nadir_status take_solver(quest *at)
{
    nadir_status status = NADIR_OK;
    nadir_response *here = at->ascent.here;
    nadir_solver_settings settings;
    nadir_solver_settings_default(&settings);
    settings.backend = at->settings.backend;
    nadir_solver_free(at->solver);
    at->solver = NULL;
    const bool same = here != NULL && here->solver != NULL &&
                      memcmp(here->policy->probabilities, at->found->probabilities,
                             (size_t)at->model->rows * sizeof *at->found->probabilities) == 0;
    if (nadir_allreduce_and(at->context, same) && same) {
        at->solver = here->solver;
        here->solver = NULL;
    } else {
        NADIR_CHECK(nadir_solver_create(at->context, at->model, at->found, &settings, &at->solver));
    }
    if (here != NULL && at->solver != NULL) {
        at->warm_start = (nadir_warm_start){here->v, here->d, nadir_duel_descent(&at->ascent.duel)};
        at->solver->warm_start = &at->warm_start;
    }
cleanup:
    return status;
}

static nadir_status evaluate(quest *at)
{
    nadir_status status = NADIR_OK;
    nadir_robust_settings settings;
    nadir_robust_settings_default(&settings);
    settings.certify = at->settings.certify;
    settings.width = fmin(settings.width, at->settings.gap);
    settings.tolerance = fmin(settings.tolerance, fmax(0.1 * at->settings.gap, FINEST));
    nadir_worst_free(at->worst);
    at->worst = NULL;
    NADIR_CHECK(take_solver(at));
    nadir_ascent_rest(&at->ascent);
    at->evaluation = (nadir_robust){.size = sizeof at->evaluation};
    NADIR_CHECK(
        nadir_robust_run(at->context, at->solver, at->ball, &settings, NULL, &at->evaluation, &at->worst));
cleanup:
    return status;
}

static double scale(const quest *at)
{
    return fmax(fabs(at->result.nominal_optimum), fabs(at->evaluation.robust_return));
}

/* Where the search from nothing found a worse kernel than the ascent had followed, the ascent goes on. */
static nadir_status evaluate_again(quest *at)
{
    nadir_status status = NADIR_OK;
    const double wanted = 0.5 * at->settings.gap * scale(at);
    for (int i = 0; i < AGAIN && !at->bellman && strcmp(at->ascent.stop_reason, "gap") == 0 &&
                    at->evaluation.robust_return < at->ascent.state.best - wanted;
         i++) {
        NADIR_CHECK(nadir_ascent_again(&at->ascent));
        NADIR_CHECK(nadir_ascent_take_best(&at->ascent, &at->found));
        at->known = at->ascent.state.best;
        at->known_nominal = at->ascent.state.best_nominal;
        NADIR_CHECK(evaluate(at));
    }
cleanup:
    return status;
}

/* What the search knows to be an upper bound already, if it is low enough. */
static nadir_status take_ceiling(quest *at, double wanted, bool *enough)
{
    nadir_status status = NADIR_OK;
    nadir_ceiling *ceiling = &at->ascent.ceiling;
    *enough = false;
    if (ceiling->kernel != NULL && ceiling->upper <= wanted) {
        NADIR_CHECK(nadir_ceiling_check(at->context, ceiling, &at->uncertainty));
        *enough = ceiling->upper <= wanted;
    }
    if (*enough) {
        at->upper = fmin(at->upper, ceiling->upper);
        at->result.mixed_kernels = ceiling->mixed;
    }
cleanup:
    return status;
}

/* The upper bound: the optimum of the worst kernel, which has been found to be in the set; if that is not low
 * enough, of those that the search has met, and mixtures of them. */
static nadir_status bound(quest *at)
{
    nadir_status status = NADIR_OK;
    nadir_ceiling *ceiling = &at->ascent.ceiling;
    const double wanted = 0.5 * at->settings.gap * scale(at);
    const double lower = at->evaluation.robust_return;
    double *value = NULL;
    double upper;
    bool enough;
    NADIR_CHECK(take_ceiling(at, lower + wanted, &enough));
    if (enough) {
        goto cleanup;
    }
    NADIR_NEW(at->context, value, at->model->states);
    memcpy(value, at->ascent.here->v, (size_t)at->model->states * sizeof *value);
    NADIR_CHECK(nadir_ceiling_of(at->context, ceiling, nadir_worst_kernel(at->worst), NULL, value, &upper));
    at->upper = fmin(at->upper, upper);
    at->result.mixed_kernels = 1;
    if (at->upper - lower > wanted && ceiling->kernel != NULL) {
        if (ceiling->upper - lower > wanted) {
            NADIR_CHECK(nadir_ceiling_mix(at->context, ceiling, 0.1 * wanted));
        }
        NADIR_CHECK(nadir_ceiling_check(at->context, ceiling, &at->uncertainty));
        at->result.mixed_kernels = ceiling->upper < at->upper ? ceiling->mixed : 1;
        at->upper = fmin(at->upper, ceiling->upper);
    }
cleanup:
    nadir_release(at->context, value);
    return status;
}

static int64_t count_stochastic(const nadir_model *model, const nadir_policy *policy)
{
    int64_t count = 0;
    for (int64_t s = 0; s < model->states; s++) {
        int64_t chances = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            chances += policy->probabilities[row] > 0;
        }
        count += chances > 1;
    }
    return count;
}

static void conclude(quest *at)
{
    nadir_robust_optimum_result *result = &at->result;
    const nadir_robust *evaluation = &at->evaluation;
    const bool evaluated = evaluation->stop_reason != NULL;
    const bool process = evaluation->domain != NADIR_DOMAIN_FREE || evaluation->kernel_valid;
    result->robust_return = evaluated ? evaluation->robust_return : at->known;
    const bool solved = at->solver != NULL && at->solver->value.v != NULL;
    result->nominal_return = evaluated ? evaluation->nominal_return
                             : solved  ? at->solver->value.J
                                       : at->known_nominal;
    result->lower_bound = evaluated ? evaluation->lower_bound : -INFINITY;
    result->optimality_upper_bound = fmax(at->upper, result->robust_return);
    result->optimality_gap = result->optimality_upper_bound - result->lower_bound;
    result->certified = evaluated && evaluation->certified && process &&
                        result->optimality_gap <= at->settings.gap * scale(at) * (1 + 1e-9);
    result->certificate = evaluated && process ? evaluation->certificate : "none";
    result->stochastic_states = nadir_global_count(at->context, count_stochastic(at->model, at->found));
    if (!at->bellman) {
        result->stop_reason = at->ascent.stop_reason;
        result->iterations = at->ascent.state.iterations;
        result->evaluations = at->ascent.duel.evaluations;
    }
    /* Only the last evaluation, and the mixtures after it, tell whether the bounds have met. */
    const bool is_met =
        result->optimality_upper_bound - result->robust_return <= at->settings.gap * scale(at);
    const bool is_done =
        strcmp(result->stop_reason, "gap") == 0 || strcmp(result->stop_reason, "stationary") == 0;
    if (evaluated && is_done) {
        result->stop_reason = is_met ? "gap" : "stationary";
    }
}

static nadir_status run(quest *at)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(check_settings(at));
    NADIR_CHECK(nadir_value_check_model(at->context, at->model));
    NADIR_CHECK(solve_nominal(at));
    NADIR_CHECK(nadir_uncertainty_make(at->context, at->model, at->start, at->ball, &at->uncertainty));
    NADIR_CHECK(choose_method(at));
    NADIR_CHECK(nadir_robust_check_spread(at->context, at->model, &at->uncertainty));
    at->ascent.context = at->context;
    at->ascent.duel = (nadir_duel){.model = at->model,
                                   .ball = at->ball,
                                   .backend = at->settings.backend,
                                   .iterations_limit = SEARCH_ITERATIONS,
                                   .known = at->start,
                                   .occupancy = at->occupancy};
    at->occupancy = NULL;
    if (at->ascent.store.write != NULL || at->ascent.store.read != NULL) {
        NADIR_CHECK(nadir_search_identify(at->context, at->model, &at->uncertainty,
                                          at->bellman ? -1 : (int64_t)at->ascent.kind, at->ascent.identity));
    }
    double begun = nadir_clock_seconds();
    status = at->bellman ? search_bellman(at) : search_ascent(at);
    at->result.seconds_search = nadir_clock_seconds() - begun;
    if (status != NADIR_OK) {
        goto cleanup;
    }
    begun = nadir_clock_seconds();
    NADIR_CHECK(evaluate(at));
    NADIR_CHECK(evaluate_again(at));
    NADIR_CHECK(at->bellman ? NADIR_OK : bound(at));
    at->result.seconds_certify = nadir_clock_seconds() - begun;
cleanup:
    return status;
}

/* Limits are no failures of the search, but the caller must know. */
static nadir_status judge(const quest *at)
{
    const char *reason = at->result.stop_reason;
    if (strcmp(reason, "evaluations") == 0 || strcmp(reason, "time") == 0) {
        return nadir_fail(at->context, NADIR_ERROR_NOT_CONVERGED,
                          "the search for the robust policy stopped at its limit of %s before the gap of %g "
                          "was reached; the best policy so far is reported, with bounds that hold for it",
                          reason, at->settings.gap);
    }
    return NADIR_OK;
}

nadir_status nadir_robust_optimum_run(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                      const nadir_robust_optimum_settings *settings,
                                      const nadir_checkpoint_store *store, nadir_policy **policy,
                                      nadir_robust_optimum_result *result, nadir_robust *evaluation,
                                      nadir_worst **worst)
{
    quest at = {.context = context,
                .model = model,
                .ball = ball,
                .settings = *settings,
                .upper = INFINITY,
                .ascent = {.context = context, .store = *store},
                .result = {.size = sizeof at.result, .mixed_kernels = 1}};
    *policy = NULL;
    nadir_status status = run(&at);
    if (at.found != NULL &&
        (status == NADIR_OK || status == NADIR_ERROR_INTERRUPTED || status == NADIR_ERROR_NOT_CONVERGED)) {
        conclude(&at);
        status = status == NADIR_OK ? judge(&at) : status;
        *policy = at.found;
        at.found = NULL;
        if (!nadir_result_copy(result, &at.result, sizeof at.result) ||
            (evaluation != NULL && !nadir_result_copy(evaluation, &at.evaluation, sizeof at.evaluation))) {
            status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of a result is not set");
        } else if (worst != NULL) {
            *worst = at.worst;
            at.worst = NULL;
        }
    }
    nadir_ascent_clear(&at.ascent);
    nadir_occupancy_free(context, at.occupancy);
    nadir_uncertainty_clear(context, &at.uncertainty);
    nadir_solver_free(at.solver);
    nadir_worst_free(at.worst);
    nadir_policy_free(at.start);
    nadir_policy_free(at.found);
    return status;
}
