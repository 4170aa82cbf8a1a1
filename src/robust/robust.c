/* robust.c: robust evaluation: reads the settings, sets up the problem, has it evaluated (evaluate_*.c, sweep.c)
 * and turns evaluations into results. */
#include "robust/robust.h"
#include "core/context.h"
#include "core/round.h"
#include "model/landing.h"
#include "model/terminal.h"
#include "proof/certificate.h"
#include "proof/termination.h"
#include "proof/trap.h"
#include "robust/strategy.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* --------------------------------------------------------------------------------------- methods */

static const nadir_method own[] = {
    {"auto", "the default: exact where that is known to be possible", NULL},
    {"newton", "the root of F(lambda) = lambda by Newton steps on a growing subspace", NULL},
    {"bisect", "bisection on F(lambda), which is computed exactly", NULL},
    {"best-response", "b and k in turn, each the best answer to the other", NULL},
};

enum { OWN = sizeof own / sizeof *own };

/* NULL: past the last. */
static const nadir_method *method_at(int64_t index)
{
    if (index < OWN) {
        return index >= 0 ? &own[index] : NULL;
    }
    int64_t count = OWN;
    while (count < index && nadir_further_methods[count - OWN] != NULL) {
        count++;
    }
    return nadir_further_methods[count - OWN];
}

const nadir_method *nadir_method_find(const char *name)
{
    const nadir_method *method;
    for (int64_t i = 0; (method = method_at(i)) != NULL; i++) {
        if (strcmp(method->name, name) == 0) {
            return method;
        }
    }
    return NULL;
}

const char *nadir_method_name(int64_t index)
{
    const nadir_method *method = method_at(index);
    return method != NULL ? method->name : NULL;
}

const char *nadir_method_summary(int64_t index)
{
    const nadir_method *method = method_at(index);
    return method != NULL ? method->summary : NULL;
}

/* -------------------------------------------------------------------------------------- settings */

void nadir_robust_settings_fill(nadir_robust_settings *settings, size_t size)
{
    const nadir_robust_settings made = {.certify = NADIR_CERTIFY_AUTO,
                                        .tolerance = 1e-9,
                                        .width = 1e-6,
                                        .iterations_limit = 10000,
                                        .time_limit = NADIR_PROOF_SECONDS};
    nadir_settings_give(settings, size, &made, sizeof made);
}

nadir_status nadir_robust_settle(nadir_context *context, const nadir_robust_settings *settings,
                                 nadir_robust_settings *use, nadir_evaluator **evaluator)
{
    *evaluator = NULL;
    nadir_robust_settings_default(use);
    if (settings != NULL && !nadir_settings_copy(use, sizeof *use, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the robust settings is not set");
    }
    if (!(use->tolerance > 0) || !(use->width > 0)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the tolerance is %g and the width %g; expected more than 0", use->tolerance,
                          use->width);
    }
    if (!(use->time_limit >= 0)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the limit of time is %g; expected 0 or more",
                          use->time_limit);
    }
    if (use->iterations_limit < 1) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the limit of iterations is %lld; expected 1 or more",
                          (long long)use->iterations_limit);
    }
    if (use->certify < NADIR_CERTIFY_OFF || use->certify > NADIR_CERTIFY_STRICT) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "certify is %d; expected off, auto or strict",
                          (int)use->certify);
    }
    const nadir_method *method = use->method != NULL ? nadir_method_find(use->method) : NULL;
    if (use->method != NULL && method == NULL) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "there is no method %s; expected auto, newton, bisect or best-response",
                          use->method);
    }
    *evaluator = method != NULL ? method->evaluate : NULL;
    return NADIR_OK;
}

nadir_status nadir_robust_check_distributed(nadir_context *context, const nadir_model *model,
                                            const nadir_uncertainty *set)
{
    if (nadir_landing_is_general(model) && !set->idle && set->domain != NADIR_DOMAIN_SUPPORT) {
        return nadir_model_check_one_process(context, model,
                                             "rewards paid on landing that are not of the form R(s, a) + "
                                             "g(s'), on other domains than support");
    }
    const bool rectangular = set->set != NADIR_SET_NONRECT && set->domain != NADIR_DOMAIN_SIMPLEX;
    const bool dual = set->p > 1 && set->domain == NADIR_DOMAIN_FREE;
    const bool valid = set->p == 2 && set->domain == NADIR_DOMAIN_SUPPORT;
    return set->idle || rectangular || dual || valid
               ? NADIR_OK
               : nadir_model_check_one_process(
                     context, model,
                     "domain simplex, and the non-rectangular ball of norm 1 on domain "
                     "free or of a norm other than 2 and inf on domain support");
}

/* ---------------------------------------------------------------------------------------- results */

/* Of a radius at or past breakdown: the return is unbounded. */
static nadir_robust make_refusal(const nadir_setup *setup, double factor, const nadir_evaluation *evaluation)
{
    const nadir_uncertainty *set = &setup->uncertainty;
    return (nadir_robust){
        .size = sizeof(nadir_robust),
        .nominal_return = nadir_landing_return(setup->problem.model, setup->problem.sign * setup->problem.J),
        .robust_return = NAN,
        .penalty = NAN,
        .lower_bound = -INFINITY,
        .upper_bound = INFINITY,
        .certificate = nadir_proof_name(NADIR_PROOF_NONE),
        .bound = nadir_bound_name(NADIR_BOUND_NONE),
        .kappa = NAN,
        .stationarity_gap = NAN,
        .set = set->asked,
        .domain = set->asked_domain,
        .norm = nadir_uncertainty_norm(set),
        .radius = factor * set->radius,
        .method = "none",
        .stop_reason = nadir_stop_name(NADIR_STOP_BREAKDOWN),
        .breakdown_radius = evaluation->breakdown,
        .kernel_minimum = NAN,
        .duration = NAN,
        .duration_bound = NAN,
        .trap_radius_low = NAN,
        .trap_radius_high = NAN,
    };
}

/* The bounds that are reported lie beyond the proven ones: whoever proves them again, with solves of another backend,
 * has other roundings. The gap of a tight bound is made of roundings: as much again is room for others, but where that
 * would leave the bounds too wide to be certified, half of what they may be wider, and at least a quarter of the gap. Of
 * a wide one no more is taken than verification does not see (proof/verify.c), unless errors are all of it: where kappa <= 1/2,
 * by enumeration, and where the penalty is rounding. Bounds by rewards alone are the same for all. */
static double lower_of(const nadir_problem *problem, const nadir_robust_settings *settings,
                       const nadir_evaluation *evaluation)
{
    const double J = evaluation->candidate.J;
    const double lower = fmin(evaluation->lower, J);
    const double gap = J - lower;
    const double wider = settings->width * fabs(problem->J - J) - gap;
    const double room = fmax(gap / 4, fmin(gap, wider / 2));
    const double seen = NADIR_ROOM_TIGHT * fabs(problem->J - J) + NADIR_ROOM_WIDE * gap;
    const bool errors = (evaluation->bound == NADIR_BOUND_SECOND_ORDER && evaluation->kappa <= 0.5) ||
                        evaluation->bound == NADIR_BOUND_ENUMERATION ||
                        nadir_evaluation_is_close(problem, settings, evaluation);
    const bool exact = evaluation->bound == NADIR_BOUND_REWARDS || !isfinite(gap);
    return exact ? lower
                 : lower - (errors ? room : fmin(room, seen)) -
                       (isfinite(problem->J_error) ? problem->J_error : 0);
}

/* The nominal kernel lies in the set, too. */
static double upper_of(const nadir_problem *problem, const nadir_evaluation *evaluation)
{
    const double J = evaluation->candidate.J;
    const double upper = fmax(evaluation->upper, J);
    const double open = upper - J;
    /* with the rounding of this sum, and what underflows */
    const double nominal = problem->J + 2 * problem->J_error + nadir_round_error(4) * fabs(problem->J) +
                           64 * DBL_MIN / problem->rest;
    const double room = evaluation->vague ? 0 : open / 2;
    return isfinite(nominal) ? fmax(fmin(upper + room, nominal), J) : upper + room;
}

/* The result as the user sees it: signs turned back, and rewards as the model has them. larger: that of a larger ball, whose
 * bound holds for this one, too; NULL: none. */
static nadir_robust make_result(const nadir_solver *solver, const nadir_setup *setup, double factor,
                                const nadir_robust_settings *settings, const nadir_evaluation *evaluation,
                                const nadir_robust *larger)
{
    const nadir_problem *problem = &setup->problem;
    const nadir_uncertainty *set = &setup->uncertainty;
    const nadir_candidate *candidate = &evaluation->candidate;
    const nadir_model *model = problem->model;
    const double sign = problem->sign;
    /* The return of the search may be outside the bounds by rounding. */
    const double drift = problem->gamma == 1 ? nadir_landing_drift(model, evaluation->lasts + 1) : 0;
    const double lower = lower_of(problem, settings, evaluation) - drift;
    const double upper = upper_of(problem, evaluation) + drift;
    nadir_backend_statistics statistics;
    nadir_occupancy_statistics(solver->occupancy, &statistics);
    const double own_lowest = nadir_landing_lower(model, sign > 0 ? lower : -upper);
    const double own_highest = nadir_landing_upper(model, sign > 0 ? upper : -lower);
    const double attained = nadir_landing_return(model, sign * candidate->J);
    const bool shared = larger != NULL && (sign > 0 ? fmin(larger->lower_bound, attained) > own_lowest
                                                    : fmax(larger->upper_bound, attained) < own_highest);
    const double lowest = shared && sign > 0 ? fmin(larger->lower_bound, attained) : own_lowest;
    const double highest = shared && sign < 0 ? fmax(larger->upper_bound, attained) : own_highest;
    const bool proven = shared || evaluation->proof != NADIR_PROOF_NONE;
    return (nadir_robust){
        .size = sizeof(nadir_robust),
        .nominal_return = nadir_landing_return(model, sign * problem->J),
        .robust_return = attained,
        .penalty = sign * nadir_evaluation_penalty(problem, evaluation),
        .lower_bound = lowest,
        .upper_bound = highest,
        .certified = settings->certify != NADIR_CERTIFY_OFF && proven && !evaluation->vague &&
                     nadir_evaluation_is_narrow(problem, settings, evaluation, model->landing.slack + drift,
                                                highest - lowest),
        .certificate = shared && larger != NULL ? larger->certificate : nadir_proof_name(evaluation->proof),
        .bound = shared && larger != NULL ? larger->bound : nadir_bound_name(evaluation->bound),
        .kappa = evaluation->kappa,
        .stationarity_gap =
            set->domain == NADIR_DOMAIN_FREE ? NAN : candidate->gap, /* no linear steps there */
        .set = set->asked,
        .domain = set->asked_domain,
        .norm = nadir_uncertainty_norm(set),
        .radius = factor * set->radius,
        .method = candidate->method,
        .stop_reason = nadir_stop_name(candidate->stop),
        .iterations = candidate->iterations,
        .solves = statistics.solves,
        .breakdown_radius = evaluation->breakdown,
        .kernel_minimum = evaluation->minimum,
        .kernel_valid = evaluation->minimum >= 0,
        .residual = solver->value.residual,
        .return_difference = fabs(solver->value.J - solver->value.J_dual),
        .backend = nadir_occupancy_backend(solver->occupancy),
        .backend_memory = statistics.bytes,
        .seconds_nominal = solver->factor_seconds + solver->nominal.seconds_solve,
        .seconds_robust = evaluation->robust_time,
        .seconds_certify = evaluation->certify_time,
        .time_ran_out = evaluation->time_ran_out,
        .duration = problem->gamma == 1 ? 1 / problem->rest - 1 : NAN,
        .duration_bound = problem->gamma == 1 ? evaluation->lasts : NAN,
    };
}

/* NADIR_ERROR_ILL_POSED where nothing but refusals came out; the context's error is that of the last. */
static nadir_status give_results(nadir_context *context, const nadir_solver *solver, const nadir_setup *setup,
                                 const nadir_robust_settings *settings, int64_t count, const double *factors,
                                 const nadir_evaluation *evaluations, nadir_robust *results)
{
    nadir_status status = NADIR_OK;
    nadir_placed *rising = NULL;
    const nadir_robust *larger = NULL; /* with a bound */
    nadir_robust kept;
    double valid_radius;
    nadir_trap trap;
    int64_t refusals = 0;
    nadir_stop short_of = NADIR_STOP_NONE; /* why a search stopped before its tolerance; NULL: none did */
    for (int64_t i = 0; i < count; i++) {
        refusals += evaluations[i].refused;
    }
    if (refusals > 0 && refusals == count) {
        return NADIR_ERROR_ILL_POSED;
    }
    NADIR_NEW(context, rising, count);
    nadir_radii_sort(count, factors, rising);
    NADIR_CHECK(nadir_model_valid_radius_scaled(context, solver->model, setup->uncertainty.scales,
                                                setup->uncertainty.p, &valid_radius));
    NADIR_CHECK(nadir_trap_find(context, &setup->problem, &trap));
    for (int64_t j = count - 1; j >= 0; j--) {
        const int64_t i = rising[j].place;
        if (!evaluations[i].refused && !isfinite(setup->problem.J - evaluations[i].candidate.J)) {
            status = nadir_fail(
                context, NADIR_ERROR_ILL_POSED,
                "the worst return at radius %g, or the penalty, is beyond the range of numbers; multiply all "
                "rewards by a small number, and divide the returns by it",
                factors[i] * setup->uncertainty.radius);
            goto cleanup;
        }
        nadir_robust made = evaluations[i].refused
                                ? make_refusal(setup, factors[i], &evaluations[i])
                                : make_result(solver, setup, factors[i], settings, &evaluations[i], larger);
        made.valid_radius = valid_radius;
        made.trap_radius_low = setup->uncertainty.radii == NULL && isfinite(made.duration_bound)
                                   ? fmax(trap.low, fmin(made.radius, trap.high))
                                   : trap.low;
        made.trap_radius_high = trap.high;
        short_of = evaluations[i].candidate.converged || evaluations[i].refused
                       ? short_of
                       : evaluations[i].candidate.stop;
        if (!nadir_result_copy(&results[i], &made, sizeof made)) {
            status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the robust result is not set");
            goto cleanup;
        }
        if (!evaluations[i].refused && strcmp(made.certificate, nadir_proof_name(NADIR_PROOF_NONE)) != 0) {
            kept = made;
            larger = &kept;
        }
    }
    if (short_of != NADIR_STOP_NONE) {
        status =
            nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                       "the search for the worst kernel stopped %s before the tolerance of %g was "
                       "reached; the best kernel so far is reported, with bounds that hold for it",
                       short_of == NADIR_STOP_SLOW ? "where steps gain next to nothing," : "at its limit",
                       settings->tolerance);
    }
cleanup:
    nadir_release(context, rising);
    return status;
}

static nadir_status check_factors(nadir_context *context, double radius, int64_t count, const double *factors)
{
    if (count < 0) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "there are %lld factors; expected 0 or more",
                          (long long)count);
    }
    for (int64_t i = 0; i < count; i++) {
        if (!(factors[i] >= 0 && factors[i] * radius <= NADIR_RADIUS_MOST) || isinf(factors[i])) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "factor %lld of the radius is %g; expected a finite number, 0 or more, for a "
                              "radius of up to %g",
                              (long long)i, factors[i], NADIR_RADIUS_MOST);
        }
    }
    return NADIR_OK;
}

/* ----------------------------------------------------------------------------------- evaluations */

static nadir_status evaluate_free(nadir_context *context, const nadir_problem *problem,
                                  const nadir_robust_settings *settings, double factor,
                                  const nadir_warm_start *warm_start, nadir_evaluation *evaluation)
{
    (void)warm_start;
    return nadir_free_evaluate(context, problem, settings, 1, &factor, evaluation);
}

nadir_radius_evaluator *nadir_evaluator_for(const nadir_uncertainty *set, double factor)
{
    return set->idle || factor == 0           ? nadir_evaluate_nominal
           : set->domain == NADIR_DOMAIN_FREE ? evaluate_free
           : set->set == NADIR_SET_NONRECT    ? nadir_evaluate_valid
                                              : nadir_evaluate_rectangular;
}

/* The same on domain free, where breakdown takes the place of kernels that never end. */
static nadir_status check_endless_free(nadir_context *context, const nadir_model *model)
{
    if (model->landing.each > 0 ||
        nadir_landing_is_general(model)) { /* their rounding counts in each visit */
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "without a discount domain free is for rewards of states and actions, and those of "
            "the model are paid on landing: take domain simplex or support, or --frozen-rewards");
    }
    if (model->collapsed) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "on domain free kernels may lead to the goal from states that do not: name these "
                          "with --avoid, to pin them, or take domain support");
    }
    if (model->reaches) {
        nadir_log(
            context, NADIR_LOG_WARNING,
            "on domain free rows may have negative entries: what is reported is no probability, and may "
            "be below 0 or above 1");
    }
    return NADIR_OK;
}

/* Without a discount: what can be asked, and what of it can be proven; changes the settings. */
static nadir_status check_endless(nadir_context *context, const nadir_problem *problem, double factor,
                                  bool further, nadir_robust_settings *settings)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_model *model = problem->model;
    char text[512];
    if (problem->gamma != 1 || set->idle) {
        return NADIR_OK;
    }
    if (further) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "method %s needs a discount below 1; leave the method to auto", settings->method);
    }
    if (set->domain == NADIR_DOMAIN_FREE) {
        return check_endless_free(context, model);
    }
    if (settings->optimistic && model->collapsed && set->domain == NADIR_DOMAIN_SIMPLEX) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "on domain simplex kernels may lead to the goal from states that do not: the best case is "
            "there for domain support alone");
    }
    if (problem->gap > 0) {
        return NADIR_OK;
    }
    NADIR_TRY(nadir_trap_describe(context, problem, factor, text, sizeof text));
    if (!model->reaches) {
        return nadir_fail(
            context, NADIR_ERROR_ILL_POSED,
            "%s; the worst return is unbounded or not known: take a smaller radius, or a discount below 1",
            text);
    }
    nadir_log(context, NADIR_LOG_WARNING,
              "%s; the probability is attained, and bounded from below by that with a discount alone", text);
    settings->certify = NADIR_CERTIFY_OFF;
    return NADIR_OK;
}

/* Past the trap radius the probability of kernels that stay for ever is still at least what it is with a discount: J^gamma
 * <= J for every gamma. The best of some is taken. */
static nadir_status bound_by_discount(nadir_context *context, const nadir_solver *solver,
                                      const nadir_ball *ball, const nadir_robust_settings *settings,
                                      nadir_robust *result)
{
    /* times the nominal duration: until the discount counts */
    static const double durations[] = {4, 32, 256, 2048};
    nadir_status status = NADIR_OK;
    nadir_robust_settings use;
    nadir_evaluator *further;
    nadir_model *model = NULL;
    nadir_solver *with = NULL;
    NADIR_CHECK(nadir_robust_settle(context, settings, &use, &further));
    if (result->size < sizeof *result || solver->model->discount != 1 || !solver->model->reaches ||
        use.optimistic || use.certify == NADIR_CERTIFY_OFF || isfinite(result->duration_bound) ||
        result->domain == NADIR_DOMAIN_FREE) {
        return NADIR_OK;
    }
    for (int i = 0; i < (int)(sizeof durations / sizeof *durations); i++) {
        nadir_robust found = {.size = sizeof found};
        const double discount = 1 - 1 / (durations[i] * (1 + result->duration));
        NADIR_CHECK(nadir_terminal_discounted(context, solver->model, discount, &model));
        NADIR_CHECK(nadir_solver_create(context, model, solver->policy, NULL, &with));
        status = nadir_robust_warm(context, with, ball, &use, NULL, &found, NULL);
        if (status != NADIR_OK && status != NADIR_ERROR_NOT_CONVERGED &&
            status != NADIR_ERROR_VERIFICATION) { /* which proves nothing */
            goto cleanup;
        }
        status = NADIR_OK;
        if (found.certificate != NULL &&
            strcmp(found.certificate, nadir_proof_name(NADIR_PROOF_RIGOROUS)) == 0 &&
            found.lower_bound > result->lower_bound) {
            result->lower_bound = found.lower_bound;
            result->bound = "discounted";
        }
        nadir_solver_free(with);
        nadir_model_free(model);
        with = NULL;
        model = NULL;
    }
cleanup:
    nadir_solver_free(with);
    nadir_model_free(model);
    return status;
}

/* The longest duration of kernels: the end itself is no step. On domain free it is not known. */
static double lasts_of(const nadir_problem *problem)
{
    return problem->uncertainty->domain == NADIR_DOMAIN_FREE ? NAN
           : problem->gap > 0                                ? nadir_round_up(1 / problem->gap, 4) - 1
                                                             : INFINITY;
}

/* The radii one after another, each with what it is known to last. */
static nadir_status evaluate_endless(nadir_context *context, const nadir_problem *problem,
                                     const nadir_robust_settings *settings, int64_t count,
                                     const double *factors, nadir_evaluation *evaluations)
{
    nadir_status status = NADIR_OK;
    nadir_problem each = *problem;
    each.most = NULL;
    for (int64_t i = 0; i < count; i++) {
        nadir_robust_settings use = *settings;
        NADIR_CHECK(nadir_termination_prove(context, &each, factors[i]));
        NADIR_CHECK(check_endless(context, &each, factors[i], false, &use));
        evaluations[i].lasts = lasts_of(&each);
        NADIR_CHECK(nadir_evaluator_for(each.uncertainty, factors[i])(context, &each, &use, factors[i], NULL,
                                                                      &evaluations[i]));
    }
cleanup:
    nadir_termination_clear(context, &each);
    return status;
}

/* Whether models that are spread over processes can be evaluated so; further: by a method of another table. */
static nadir_status check_spread(nadir_context *context, const nadir_problem *problem, bool further)
{
    return further ? nadir_model_check_one_process(context, problem->model, "methods of the literature")
                   : nadir_robust_check_distributed(context, problem->model, problem->uncertainty);
}

/* Those that were finished before an interruption. */
static void give_finished(nadir_context *context, const nadir_solver *solver, const nadir_setup *setup,
                          const nadir_robust_settings *settings, int64_t count, const double *factors,
                          const nadir_evaluation *evaluations, nadir_robust *results)
{
    for (int64_t i = 0; i < count; i++) {
        if (evaluations[i].finished) { /* one that is refused has no result */
            (void)give_results(context, solver, setup, settings, 1, &factors[i], &evaluations[i],
                               &results[i]);
        }
    }
}

/* The results that the caller can read while others are computed. */
typedef struct early_results {
    const nadir_solver *solver;
    const nadir_setup *setup;
    const nadir_robust_settings *settings;
    int64_t count;
    const double *factors; /* [count] */
    nadir_robust *results; /* [count] */
    double valid_radius;
} early_results;

static void give_early(void *user, double factor, const nadir_evaluation *evaluation)
{
    const early_results *self = user;
    for (int64_t i = 0; i < self->count; i++) {
        if (self->factors[i] == factor && !evaluation->refused) {
            nadir_robust made =
                make_result(self->solver, self->setup, factor, self->settings, evaluation, NULL);
            made.valid_radius = self->valid_radius;
            made.trap_radius_low = NAN;
            made.trap_radius_high = NAN;
            (void)nadir_result_copy(&self->results[i], &made, sizeof made);
        }
    }
}

/* A call that fails leaves no results. */
static void take_back_early(const early_results *self)
{
    const nadir_robust none = {.size = sizeof none};
    for (int64_t i = 0; i < self->count; i++) {
        (void)nadir_result_copy(&self->results[i], &none, sizeof none);
    }
}

nadir_status nadir_solver_robust_many(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                                      const nadir_robust_settings *settings, int64_t count,
                                      const double *factors, nadir_robust *results)
{
    nadir_status status = NADIR_OK;
    nadir_evaluation *evaluations = NULL;
    nadir_setup setup = {0};
    nadir_robust_settings use;
    nadir_evaluator *further;
    nadir_progress_whole(context, 0);
    NADIR_CHECK(nadir_robust_settle(context, settings, &use, &further));
    NADIR_CHECK(nadir_setup_make(context, solver, ball, use.optimistic, &setup));
    NADIR_CHECK(check_spread(context, &setup.problem, further != NULL));
    NADIR_CHECK(further != NULL ? check_endless(context, &setup.problem, 1, true, &use) : NADIR_OK);
    NADIR_CHECK(check_factors(context, setup.uncertainty.radius, count, factors));
    NADIR_NEW_ZERO(context, evaluations, count);
    nadir_evaluator *evaluate = further != NULL            ? further
                                : setup.problem.gamma == 1 ? evaluate_endless
                                                           : nadir_sweep;
    early_results early = {solver, &setup, &use, count, factors, results, NAN};
    NADIR_CHECK(nadir_model_valid_radius_scaled(context, solver->model, setup.uncertainty.scales,
                                                setup.uncertainty.p, &early.valid_radius));
    setup.problem.finished = give_early;
    setup.problem.finished_user = &early;
    status = evaluate(context, &setup.problem, &use, count, factors, evaluations);
    if (status == NADIR_ERROR_INTERRUPTED) {
        give_finished(context, solver, &setup, &use, count, factors, evaluations, results);
        (void)nadir_fail(context, status, "interrupted");
    } else if (status != NADIR_OK) {
        take_back_early(&early);
    }
    NADIR_CHECK(status);
    NADIR_CHECK(give_results(context, solver, &setup, &use, count, factors, evaluations, results));
cleanup:
    nadir_progress_whole(context, -1);
    nadir_evaluations_clear(context, count, evaluations);
    nadir_release(context, evaluations);
    nadir_setup_clear(context, &setup);
    return status;
}

/* The result of one evaluation and, unless worst is NULL, its kernel. */
static nadir_status give_result(nadir_context *context, const nadir_solver *solver, const nadir_setup *setup,
                                const nadir_robust_settings *settings, nadir_evaluation *evaluation,
                                nadir_robust *result, nadir_worst **worst)
{
    const double factor = 1;
    const nadir_status status =
        give_results(context, solver, setup, settings, 1, &factor, evaluation, result);
    if (worst == NULL || (status != NADIR_OK && status != NADIR_ERROR_NOT_CONVERGED)) {
        return status;
    }
    const nadir_status made = nadir_worst_make(context, &setup->problem, result, evaluation, worst);
    return made != NADIR_OK ? made : status;
}

nadir_status nadir_robust_warm(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                               const nadir_robust_settings *settings, const nadir_warm_start *warm_start,
                               nadir_robust *result, nadir_worst **worst)
{
    nadir_status status = NADIR_OK;
    nadir_evaluation evaluation = {0};
    nadir_setup setup = {0};
    nadir_robust_settings use;
    nadir_evaluator *further;
    const double factor = 1;
    bool interrupted;
    NADIR_CHECK(nadir_robust_settle(context, settings, &use, &further));
    NADIR_CHECK(nadir_setup_make(context, solver, ball, use.optimistic, &setup));
    NADIR_CHECK(check_spread(context, &setup.problem, further != NULL));
    NADIR_CHECK(check_endless(context, &setup.problem, factor, further != NULL, &use));
    nadir_radius_evaluator *evaluate = nadir_evaluator_for(&setup.uncertainty, factor);
    evaluation.lasts = lasts_of(&setup.problem);
    NADIR_CHECK(further != NULL ? further(context, &setup.problem, &use, 1, &factor, &evaluation)
                                : evaluate(context, &setup.problem, &use, factor, warm_start, &evaluation));
    interrupted = nadir_interrupt_take(context);
    evaluation.candidate.stop = interrupted ? NADIR_STOP_INTERRUPTED : evaluation.candidate.stop;
    NADIR_CHECK(give_result(context, solver, &setup, &use, &evaluation, result, worst));
    if (interrupted) {
        status = nadir_fail(context, NADIR_ERROR_INTERRUPTED, "interrupted: these are the bounds so far");
    }
cleanup:
    (void)nadir_interrupt_take(context);
    nadir_evaluation_clear(context, &evaluation);
    nadir_setup_clear(context, &setup);
    return status;
}

nadir_status nadir_solver_robust(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                                 const nadir_robust_settings *settings, nadir_robust *result,
                                 nadir_worst **worst)
{
    const nadir_status status = nadir_robust_warm(context, solver, ball, settings, NULL, result, worst);
    return status == NADIR_OK ? bound_by_discount(context, solver, ball, settings, result) : status;
}
