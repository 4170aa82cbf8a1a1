/* robust_optimum.c: robust optimisation: checks the settings, chooses the method, evaluates the policy found
 * with its proof, and combines the bounds. Returns here are those of the model; searches and dual bounds have
 * those of shaped rewards (model/landing.h). */
#include "core/context.h"
#include "linalg/distributed.h"
#include "model/landing.h"
#include "policy/ascent.h"
#include "policy/rectangular_optimum.h"
#include "robust/robust.h"
#include "robust/strategy.h"
#include "solve/nominal_optimum.h"

#include <math.h>
#include <string.h>

/* Limit of each search for a worst kernel. */
#define SEARCH_ITERATIONS 10000
/* Smallest tolerance of the final evaluation. */
#define SMALLEST_TOLERANCE 1e-12
/* Tolerance of robust policy iteration, relative to the gap. */
#define BELLMAN_SHARE 0.1
/* Restarts of the ascent after a cold search found a worse kernel. */
enum { RESTARTS = 3 };

typedef struct optimization {
    nadir_context *context;
    nadir_model *model;
    const nadir_ball *ball;
    nadir_robust_optimum_settings settings;
    nadir_policy *start;        /* owned */
    nadir_occupancy *occupancy; /* of the nominal optimum, or NULL; ascent.minmax takes it */
    nadir_policy *found;        /* owned */
    nadir_uncertainty uncertainty;
    nadir_ascent ascent;
    bool bellman;
    double upper;                /* no policy has a worst return above */
    double known;                /* worst return of the policy found, by the search */
    double known_nominal;        /* its nominal return; NaN: not computed */
    nadir_solver *solver;        /* of the policy found */
    nadir_warm_start warm_start; /* of its evaluation: what the ascent found last; v NULL: nothing */
    nadir_robust evaluation;
    nadir_worst *worst;
    nadir_robust_optimum_result result;
    nadir_stop stop;
} optimization;

void nadir_robust_optimum_settings_fill(nadir_robust_optimum_settings *settings, size_t size)
{
    const nadir_robust_optimum_settings made = {.gap = 1e-6,
                                                .evaluations_limit = 1000,
                                                .time_limit = INFINITY,
                                                .certify = NADIR_CERTIFY_AUTO,
                                                .checkpoint_seconds = 1,
                                                .proof_time_limit = NADIR_PROOF_SECONDS};
    nadir_settings_give(settings, size, &made, sizeof made);
}

/* --------------------------------------------------------------------------------------------- set-up */

static nadir_status check_settings(const optimization *self)
{
    const nadir_robust_optimum_settings *use = &self->settings;
    if (!(use->gap > 0) || use->evaluations_limit < 1 || !(use->time_limit >= 0)) {
        return nadir_fail(self->context, NADIR_ERROR_ARGUMENT,
                          "the gap is %g, the limit of evaluations %lld and that of time %g; expected more "
                          "than 0",
                          use->gap, (long long)use->evaluations_limit, use->time_limit);
    }
    if (!(use->proof_time_limit >= 0)) {
        return nadir_fail(self->context, NADIR_ERROR_ARGUMENT,
                          "the time of the proof is %g seconds; expected 0 or more", use->proof_time_limit);
    }
    if (!(use->step >= 0) || isinf(use->step) || !(use->checkpoint_seconds >= 0)) {
        return nadir_fail(self->context, NADIR_ERROR_ARGUMENT,
                          "the step is %g and the time between checkpoints %g; expected 0 or more", use->step,
                          use->checkpoint_seconds);
    }
    if (use->certify < NADIR_CERTIFY_OFF || use->certify > NADIR_CERTIFY_STRICT) {
        return nadir_fail(self->context, NADIR_ERROR_ARGUMENT, "certify is %d; expected off, auto or strict",
                          (int)use->certify);
    }
    return NADIR_OK;
}

/* The method: robust policy iteration where the set allows it. */
static nadir_status choose_method(optimization *self)
{
    nadir_robust_optimum_settings *use = &self->settings;
    const bool rectangular = self->uncertainty.set != NADIR_SET_NONRECT;
    const char *method = use->method != NULL ? use->method : "auto";
    if (strcmp(method, "auto") == 0) {
        const bool bellman =
            rectangular && !self->uncertainty.idle && self->uncertainty.domain != NADIR_DOMAIN_FREE;
        method = bellman ? "bellman" : "quasi-newton";
    }
    self->bellman = strcmp(method, "bellman") == 0;
    if (self->bellman && !rectangular) {
        return nadir_fail(self->context, NADIR_ERROR_UNSUPPORTED,
                          "method bellman is for rectangular sets; expected set s or sa, or another method");
    }
    static const char *const names[] = {"quasi-newton", "spectral", "paper"};
    bool known = self->bellman;
    for (int i = 0; i < 3; i++) {
        if (strcmp(method, names[i]) == 0) {
            self->ascent.kind = (nadir_ascent_kind)i;
            method = names[i];
            known = true;
        }
    }
    if (!known) {
        return nadir_fail(self->context, NADIR_ERROR_ARGUMENT,
                          "there is no method %s; expected auto, quasi-newton, spectral, paper or bellman",
                          method);
    }
    if (self->model->discount == 1 && !self->bellman && self->ascent.kind == NADIR_ASCENT_PAPER) {
        return nadir_fail(self->context, NADIR_ERROR_UNSUPPORTED, "method paper needs a discount below 1");
    }
    self->result.method = self->bellman ? "bellman" : method;
    return NADIR_OK;
}

/* The nominal optimum, also the first policy unless the settings name one. */
static nadir_status solve_nominal(optimization *self)
{
    nadir_optimum_settings settings;
    nadir_optimum_result found = {.size = sizeof found};
    const double begun = nadir_clock_seconds();
    nadir_optimum_settings_default(&settings);
    settings.backend = self->settings.backend;
    NADIR_TRY(nadir_optimum_with_operator(self->context, self->model, &settings, &self->start, &found,
                                          &self->occupancy));
    self->result.nominal_optimum = found.nominal_optimum;
    self->upper = found.upper_bound;
    self->result.seconds_nominal = nadir_clock_seconds() - begun;
    if (self->settings.start != NULL) {
        nadir_occupancy_free(self->context, self->occupancy);
        self->occupancy = NULL;
        nadir_policy_free(self->start);
        self->start = NULL;
        NADIR_TRY(nadir_policy_share(self->context, self->model, self->settings.start, &self->start));
    }
    return NADIR_OK;
}

/* ---------------------------------------------------------------------------------------- the search */

/* The worst return of the first policy, for the report; robust policy iteration does not need it. */
static nadir_status measure_start(optimization *self)
{
    nadir_status status = NADIR_OK;
    nadir_response first = {0};
    nadir_minmax *minmax = &self->ascent.minmax;
    status = nadir_response_find(self->context, minmax, self->start, NULL, NULL, 1e-9, &first);
    minmax->evaluations = 0;
    if (status == NADIR_ERROR_ILL_POSED) { /* this policy breaks down; others may not */
        self->result.initial_robust_return = NAN;
        return NADIR_OK;
    }
    NADIR_CHECK(status);
    self->result.initial_robust_return = nadir_landing_return(self->model, first.J);
cleanup:
    nadir_response_clear(self->context, &first);
    return status;
}

static nadir_status search_bellman(optimization *self)
{
    nadir_rectangular_optimum_result found = {0};
    const nadir_rectangular_optimum_settings settings = {
        .backend = self->settings.backend,
        .tolerance = BELLMAN_SHARE * self->settings.gap,
        .iterations_limit = self->settings.evaluations_limit,
        .search = &self->ascent.search,
        .start = self->start,
        .start_given = self->settings.start != NULL,
    };
    NADIR_TRY(measure_start(self));
    const nadir_status status =
        nadir_rectangular_optimum(self->context, self->model, self->ball, &settings, &self->found, &found);
    if (self->found == NULL) {
        return status;
    }
    self->upper = fmin(self->upper, nadir_landing_upper(self->model, found.upper));
    self->known = nadir_landing_return(self->model, found.J);
    self->known_nominal = NAN;
    self->result.iterations = found.iterations;
    self->result.evaluations = found.evaluations;
    self->stop = found.stop;
    return status == NADIR_ERROR_NOT_CONVERGED ? NADIR_OK : status; /* the evaluation follows */
}

/* (1 - gamma) / (range of rewards). */
static double default_step(const nadir_context *context, const nadir_model *model)
{
    double low = INFINITY;
    double high = -INFINITY;
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        const bool lands = model->transition_rewards != NULL;
        const double *rewards = lands ? entries.rewards : model->rewards + row;
        for (int64_t i = 0; i < (lands ? entries.count : 1); i++) {
            low = fmin(low, rewards[i]); /* fmin passes over NaN */
            high = fmax(high, rewards[i]);
        }
    }
    low = nadir_allreduce_minimum(context, low);
    high = nadir_allreduce_maximum(context, high);
    return high > low ? (1 - model->discount) / (high - low) : 1;
}

/* The best policy of the ascent. */
static void take_best(optimization *self)
{
    nadir_policy_free(self->found);
    self->found = nadir_policy_retain(self->ascent.best);
    self->known = nadir_landing_return(self->model, self->ascent.state.best);
    self->known_nominal = nadir_landing_return(self->model, self->ascent.state.best_nominal);
}

static nadir_status search_ascent(optimization *self)
{
    nadir_status status = NADIR_OK;
    nadir_ascent *ascent = &self->ascent;
    if (self->settings.step == 0) {
        self->settings.step = default_step(self->context, self->model);
    }
    status = nadir_ascent_run(ascent, self->start);
    if (ascent->stop != NADIR_STOP_NONE) {
        take_best(self);
    }
    self->result.initial_robust_return = nadir_landing_return(self->model, ascent->state.initial);
    return status;
}

/* --------------------------------------------------------------------------------- evaluation, bounds */

/* The solver of the policy found, taken from the last response if that has the same policy. */
static nadir_status take_solver(optimization *self)
{
    nadir_response *current = self->ascent.current;
    nadir_solver_settings settings;
    nadir_solver_settings_default(&settings);
    settings.backend = self->settings.backend;
    nadir_solver_free(self->solver);
    self->solver = NULL;
    self->warm_start = (nadir_warm_start){0};
    const bool same = current != NULL && current->solver != NULL &&
                      memcmp(current->policy->probabilities, self->found->probabilities,
                             (size_t)self->model->rows * sizeof *self->found->probabilities) == 0;
    if (nadir_allreduce_and(self->context, same) && same) {
        self->solver = current->solver;
        current->solver = NULL;
    } else {
        NADIR_TRY(nadir_solver_create(self->context, self->model, self->found, &settings, &self->solver));
    }
    if (current != NULL) {
        self->warm_start = (nadir_warm_start){current->v, current->d};
    }
    return NADIR_OK;
}

static void evaluation_settings(const optimization *self, nadir_robust_settings *settings)
{
    nadir_robust_settings_default(settings);
    settings->certify = self->settings.certify;
    settings->time_limit =
        fmin(self->settings.proof_time_limit,
             fmax(self->settings.time_limit - (nadir_clock_seconds() - self->ascent.search.begun), 0));
    settings->width = fmin(settings->width, self->settings.gap);
    settings->tolerance = fmin(settings->tolerance, fmax(0.1 * self->settings.gap, SMALLEST_TOLERANCE));
}

static nadir_status evaluate(optimization *self)
{
    nadir_robust_settings settings;
    evaluation_settings(self, &settings);
    nadir_worst_free(self->worst);
    self->worst = NULL;
    NADIR_TRY(take_solver(self));
    nadir_ascent_release_work(&self->ascent);
    const nadir_warm_start *warm_start = self->warm_start.v != NULL ? &self->warm_start : NULL;
    self->evaluation = (nadir_robust){.size = sizeof self->evaluation};
    return nadir_robust_warm(self->context, self->solver, self->ball, &settings, warm_start,
                             &self->evaluation, &self->worst);
}

static double scale(const optimization *self)
{
    return fmax(fabs(self->result.nominal_optimum), fabs(self->evaluation.robust_return));
}

/* Where the cold search of the evaluation found a worse kernel than the ascent, the ascent restarts. */
static nadir_status evaluate_again(optimization *self)
{
    const double wanted = 0.5 * self->settings.gap * scale(self);
    for (int i = 0; i < RESTARTS && !self->bellman && self->ascent.stop == NADIR_STOP_GAP &&
                    self->evaluation.robust_return < self->known - wanted;
         i++) {
        NADIR_TRY(nadir_ascent_restart(&self->ascent));
        take_best(self);
        NADIR_TRY(evaluate(self));
    }
    return NADIR_OK;
}

/* Whether two policies are the same on all processes. */
static bool are_same(const optimization *self, const nadir_policy *a, const nadir_policy *b)
{
    return nadir_allreduce_and(self->context,
                               memcmp(a->probabilities, b->probabilities,
                                      (size_t)self->model->rows * sizeof *a->probabilities) == 0);
}

/* Where the worst kernel is not known for certain, searches of the ascent may have missed one for the first policy:
 * its worst return is that of an evaluation, too. It is the policy found if that is better. */
static nadir_status evaluate_start(optimization *self)
{
    nadir_status status = NADIR_OK;
    nadir_solver_settings settings;
    nadir_robust_settings use;
    nadir_solver *solver = NULL;
    nadir_worst *worst = NULL;
    nadir_robust first = {.size = sizeof first};
    if (self->evaluation.certified || self->uncertainty.domain == NADIR_DOMAIN_FREE || self->bellman) {
        return NADIR_OK;
    }
    if (are_same(self, self->found, self->start)) {
        self->result.initial_robust_return = self->evaluation.robust_return;
        return NADIR_OK;
    }
    nadir_solver_settings_default(&settings);
    settings.backend = self->settings.backend;
    evaluation_settings(self, &use);
    NADIR_CHECK(nadir_solver_create(self->context, self->model, self->start, &settings, &solver));
    status = nadir_robust_warm(self->context, solver, self->ball, &use, NULL, &first, &worst);
    if (status == NADIR_ERROR_ILL_POSED && self->model->discount == 1) { /* its kernels may never end */
        self->result.initial_robust_return = NAN;
        status = NADIR_OK;
        goto cleanup;
    }
    NADIR_CHECK(status);
    self->result.initial_robust_return = first.robust_return;
    if (first.robust_return > self->evaluation.robust_return) {
        nadir_policy_free(self->found);
        nadir_solver_free(self->solver);
        nadir_worst_free(self->worst);
        self->found = nadir_policy_retain(self->start);
        self->solver = solver;
        self->worst = worst;
        self->evaluation = first;
        solver = NULL;
        worst = NULL;
    }
cleanup:
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    return status;
}

/* The dual bound of the ascent. */
static double dual_upper(const optimization *self)
{
    return nadir_landing_upper(self->model, self->ascent.dual_bound.upper);
}

/* Takes the dual bound of the ascent if it is at most `wanted`. */
static nadir_status take_dual_bound(optimization *self, double wanted, bool *enough)
{
    nadir_dual_bound *dual_bound = &self->ascent.dual_bound;
    *enough = false;
    if (dual_bound->kernel != NULL && dual_upper(self) <= wanted) {
        NADIR_TRY(nadir_dual_bound_check_kernel(self->context, dual_bound, &self->uncertainty));
        *enough = dual_upper(self) <= wanted;
    }
    if (*enough) {
        self->upper = fmin(self->upper, dual_upper(self));
        self->result.mixed_kernels = dual_bound->mixed;
    }
    return NADIR_OK;
}

/* The upper bound: the optimum of the worst kernel, which the evaluation checked to be in the set; if that is
 * not low enough, of the kernels of the ascent and mixtures of them. */
static nadir_status bound(optimization *self)
{
    nadir_status status = NADIR_OK;
    nadir_dual_bound *dual_bound = &self->ascent.dual_bound;
    const double wanted = 0.5 * self->settings.gap * scale(self);
    const double lower = self->evaluation.robust_return;
    double *value = NULL;
    double upper;
    bool enough;
    NADIR_CHECK(take_dual_bound(self, lower + wanted, &enough));
    if (enough) {
        goto cleanup;
    }
    NADIR_NEW(self->context, value, self->model->states);
    memcpy(value, self->ascent.current->v, (size_t)self->model->states * sizeof *value);
    NADIR_CHECK(nadir_dual_bound_of_kernel(self->context, dual_bound, nadir_worst_kernel(self->worst), NULL,
                                           value, &upper));
    self->upper = fmin(self->upper, nadir_landing_upper(self->model, upper));
    self->result.mixed_kernels = 1;
    if (self->upper - lower > wanted && dual_bound->kernel != NULL) {
        if (dual_upper(self) - lower > wanted) {
            NADIR_CHECK(nadir_dual_bound_mix_kernels(self->context, dual_bound, 0.1 * wanted));
        }
        NADIR_CHECK(nadir_dual_bound_check_kernel(self->context, dual_bound, &self->uncertainty));
        self->result.mixed_kernels = dual_upper(self) < self->upper ? dual_bound->mixed : 1;
        self->upper = fmin(self->upper, dual_upper(self));
    }
cleanup:
    nadir_release(self->context, value);
    return status;
}

static int64_t count_stochastic(const nadir_model *model, const nadir_policy *policy)
{
    int64_t count = 0;
    for (int64_t s = 0; s < model->states; s++) {
        int64_t chosen = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            chosen += policy->probabilities[row] > 0;
        }
        count += chosen > 1;
    }
    return count;
}

static void conclude(optimization *self)
{
    nadir_robust_optimum_result *result = &self->result;
    const nadir_robust *evaluation = &self->evaluation;
    const bool evaluated = evaluation->stop_reason != NULL;
    const bool valid = evaluation->domain != NADIR_DOMAIN_FREE || evaluation->kernel_valid;
    result->robust_return = evaluated ? evaluation->robust_return : self->known;
    const bool solved = self->solver != NULL && self->solver->value.v != NULL;
    result->nominal_return = evaluated ? evaluation->nominal_return
                             : solved  ? nadir_landing_return(self->model, self->solver->value.J)
                                       : self->known_nominal;
    result->lower_bound = evaluated ? evaluation->lower_bound : -INFINITY;
    result->optimality_upper_bound = fmax(self->upper, result->robust_return);
    result->optimality_gap = result->optimality_upper_bound - result->lower_bound;
    result->certified = evaluated && evaluation->certified && valid &&
                        result->optimality_gap <= self->settings.gap * scale(self) * (1 + 1e-9);
    result->certificate = evaluated && valid ? evaluation->certificate : "none";
    result->stochastic_states = nadir_global_count(self->context, count_stochastic(self->model, self->found));
    if (!self->bellman) {
        self->stop = self->ascent.stop;
        result->iterations = self->ascent.state.iterations;
        result->evaluations = self->ascent.minmax.evaluations;
    }
    /* the final bounds decide whether the gap is closed */
    const bool is_met =
        result->optimality_upper_bound - result->robust_return <= self->settings.gap * scale(self);
    if (evaluated && (self->stop == NADIR_STOP_GAP || self->stop == NADIR_STOP_STATIONARY)) {
        self->stop = is_met ? NADIR_STOP_GAP : NADIR_STOP_STATIONARY;
    }
    result->stop_reason = nadir_stop_name(self->stop);
}

static nadir_status run(optimization *self)
{
    NADIR_TRY(check_settings(self));
    NADIR_TRY(nadir_value_check_model(self->context, self->model));
    NADIR_TRY(solve_nominal(self));
    NADIR_TRY(
        nadir_uncertainty_make(self->context, self->model, self->start, self->ball, &self->uncertainty));
    NADIR_TRY(choose_method(self));
    NADIR_TRY(nadir_robust_check_distributed(self->context, self->model, &self->uncertainty));
    self->ascent.context = self->context;
    self->ascent.minmax = (nadir_minmax){.model = self->model,
                                         .ball = self->ball,
                                         .backend = self->settings.backend,
                                         .iterations_limit = SEARCH_ITERATIONS,
                                         .known = self->start,
                                         .occupancy = self->occupancy};
    self->occupancy = NULL;
    nadir_search *search = &self->ascent.search;
    search->nominal_optimum = self->result.nominal_optimum;
    if (search->store.write != NULL || search->store.read != NULL) {
        nadir_search_identify(search, self->model, &self->uncertainty,
                              self->bellman ? -1 : (int64_t)self->ascent.kind);
    }
    search->begun = nadir_clock_seconds();
    const nadir_status status = self->bellman ? search_bellman(self) : search_ascent(self);
    self->result.seconds_search = nadir_clock_seconds() - search->begun;
    NADIR_TRY(status);
    const double begun = nadir_clock_seconds();
    NADIR_TRY(evaluate(self));
    NADIR_TRY(evaluate_again(self));
    NADIR_TRY(evaluate_start(self));
    NADIR_TRY(self->bellman ? NADIR_OK : bound(self));
    self->result.seconds_certify = nadir_clock_seconds() - begun;
    return NADIR_OK;
}

/* A limit is an error to the caller. */
static nadir_status status_of_limits(const optimization *self)
{
    if (self->stop == NADIR_STOP_EVALUATIONS || self->stop == NADIR_STOP_TIME) {
        return nadir_fail(self->context, NADIR_ERROR_NOT_CONVERGED,
                          "the search for the robust policy stopped at its limit of %s before the gap of %g "
                          "was reached; the best policy so far is reported, with bounds that hold for it",
                          nadir_stop_name(self->stop), self->settings.gap);
    }
    return NADIR_OK;
}

nadir_status nadir_robust_optimum_run(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                      const nadir_robust_optimum_settings *settings,
                                      const nadir_checkpoint_store *store, nadir_policy **policy,
                                      nadir_robust_optimum_result *result, nadir_robust *evaluation,
                                      nadir_worst **worst)
{
    optimization work = {.context = context,
                         .model = model,
                         .ball = ball,
                         .settings = *settings,
                         .upper = INFINITY,
                         .ascent = {.context = context, .search = {.context = context, .store = *store}},
                         .result = {.size = sizeof work.result, .mixed_kernels = 1}};
    *policy = NULL;
    work.ascent.search.settings = &work.settings;
    nadir_status status = run(&work);
    if (work.found != NULL &&
        (status == NADIR_OK || status == NADIR_ERROR_INTERRUPTED || status == NADIR_ERROR_NOT_CONVERGED)) {
        conclude(&work);
        status = status == NADIR_OK ? status_of_limits(&work) : status;
        *policy = work.found;
        work.found = NULL;
        if (!nadir_result_copy(result, &work.result, sizeof work.result) ||
            (evaluation != NULL &&
             !nadir_result_copy(evaluation, &work.evaluation, sizeof work.evaluation))) {
            status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of a result is not set");
        } else if (worst != NULL) {
            *worst = work.worst;
            work.worst = NULL;
        }
    }
    nadir_ascent_clear(&work.ascent);
    nadir_occupancy_free(context, work.occupancy);
    nadir_uncertainty_clear(context, &work.uncertainty);
    nadir_solver_free(work.solver);
    nadir_worst_free(work.worst);
    nadir_policy_free(work.start);
    nadir_policy_free(work.found);
    return status;
}
