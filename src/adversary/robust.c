/* robust.c: robust evaluation: settles the question, asks the family of sets that answers it, and turns
 * verdicts into results. */
#include "adversary/robust.h"
#include "adversary/method.h"
#include "adversary/question.h"
#include "adversary/verdict.h"
#include "adversary/worst.h"
#include "base/context.h"
#include "linalg/distributed.h"
#include "nominal/value_check.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define SLIGHT 1e-6 /* what is open of a return, of the largest value: rounding */

void nadir_robust_settings_fill(nadir_robust_settings *settings, size_t size)
{
    const nadir_robust_settings made = {
        .certify = NADIR_CERTIFY_AUTO, .tolerance = 1e-9, .width = 1e-6, .iterations_limit = 10000};
    nadir_settings_give(settings, size, &made, sizeof made);
}

static nadir_status settle_settings(nadir_context *context, const nadir_robust_settings *settings,
                                    nadir_family *family, nadir_robust_settings *use)
{
    nadir_robust_settings_default(use);
    if (settings != NULL && !nadir_settings_copy(use, sizeof *use, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the robust settings is not set");
    }
    if (!(use->tolerance > 0) || !(use->width > 0)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the tolerance is %g and the width %g; expected more than 0", use->tolerance,
                          use->width);
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
    const bool own = method != NULL && method->evaluate == NULL;
    if (use->method != NULL && family == NULL && !own) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "there is no method %s; expected auto, newton, bisect or best-response",
                          use->method);
    }
    return NADIR_OK;
}

nadir_status nadir_robust_check_spread(nadir_context *context, const nadir_model *model,
                                       const nadir_uncertainty *set)
{
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

/* The same for one question, and for a further method (family not NULL). */
static nadir_status check_spread(nadir_context *context, const nadir_problem *problem, nadir_family *family)
{
    return family != NULL
               ? nadir_model_check_one_process(context, problem->model, "methods of the literature")
               : nadir_robust_check_spread(context, problem->model, problem->uncertainty);
}

/* ---------------------------------------------------------------------------------------- nominal */

/* Sets that hold the nominal kernel alone: radius 0, nothing that can move, one state. */
static nadir_status evaluate_nominal(nadir_context *context, const nadir_problem *problem,
                                     const nadir_robust_settings *settings, int64_t count,
                                     const double *factors, nadir_verdict *verdicts)
{
    nadir_status status = NADIR_OK;
    nadir_value_check check;
    double *v = NULL;
    (void)factors;
    const double begun = nadir_clock_seconds();
    NADIR_NEW(context, v, problem->states);
    for (int64_t s = 0; s < problem->states; s++) {
        v[s] = problem->sign * problem->v[s];
    }
    NADIR_CHECK(nadir_value_check_rows(context, problem->kernel, problem->policy, problem->gamma, v, &check));
    for (int64_t i = 0; i < count; i++) {
        nadir_verdict *verdict = &verdicts[i];
        NADIR_CHECK(nadir_kernel_create(context, problem->model, &verdict->attack.kernel));
        verdict->attack.J = problem->J;
        verdict->attack.method = "nominal";
        verdict->attack.stop_reason = "solved";
        verdict->attack.converged = true;
        verdict->attack.gap = NAN;
        verdict->lower = problem->sign > 0 ? check.lower : -check.upper;
        verdict->upper = problem->sign > 0 ? check.upper : -check.lower;
        verdict->scale = nadir_global_largest(context, problem->states, problem->v);
        verdict->proof = NADIR_PROOF_RIGOROUS;
        verdict->bound = "nominal";
        if (!nadir_verdict_is_close(problem, settings, verdict)) {
            verdict->proof = NADIR_PROOF_NONE;
        }
        verdict->breakdown = NAN;
        verdict->kappa = NAN;
        verdict->minimum = check.minimum;
        verdict->certify_time = (nadir_clock_seconds() - begun) / (double)count;
    }
cleanup:
    nadir_release(context, v);
    return status;
}

nadir_family *nadir_robust_family(const nadir_uncertainty *set)
{
    if (set->idle) {
        return evaluate_nominal;
    }
    if (set->domain == NADIR_DOMAIN_FREE) {
        return nadir_free_evaluate;
    }
    return set->set == NADIR_SET_NONRECT ? nadir_valid_evaluate : nadir_rectangular_evaluate;
}

/* Whether nothing but refusals came out; the context's error is that of the last. */
static nadir_status check_refusals(int64_t count, const nadir_verdict *verdicts)
{
    for (int64_t i = 0; i < count; i++) {
        if (!verdicts[i].refused) {
            return NADIR_OK;
        }
    }
    return count > 0 ? NADIR_ERROR_ILL_POSED : NADIR_OK;
}

/* The family (NULL: that of the set) for all factors but 0, which is the nominal kernel alone whatever the
 * set. */
static nadir_status evaluate(nadir_context *context, nadir_family *family, const nadir_problem *problem,
                             const nadir_robust_settings *settings, int64_t count, const double *factors,
                             nadir_verdict *verdicts)
{
    nadir_status status = NADIR_OK;
    nadir_verdict *others = NULL;
    double *positive = NULL;
    int64_t *places = NULL;
    int64_t many = 0;
    family = family != NULL ? family : nadir_robust_family(problem->uncertainty);
    for (int64_t i = 0; i < count; i++) {
        many += factors[i] > 0;
    }
    if (many == count) {
        return count > 0 ? family(context, problem, settings, count, factors, verdicts) : NADIR_OK;
    }
    many = 0;
    NADIR_NEW_ZERO(context, others, count);
    NADIR_NEW(context, positive, count);
    NADIR_NEW(context, places, count);
    for (int64_t i = 0; i < count; i++) {
        if (factors[i] > 0) {
            positive[many] = factors[i];
            places[many++] = i;
        } else {
            NADIR_CHECK(evaluate_nominal(context, problem, settings, 1, &factors[i], &verdicts[i]));
        }
    }
    if (many > 0) {
        NADIR_CHECK(family(context, problem, settings, many, positive, others));
    }
    for (int64_t j = 0; j < many; j++) {
        verdicts[places[j]] = others[j];
        others[j] = (nadir_verdict){0};
    }
cleanup:
    for (int64_t j = 0; others != NULL && j < many; j++) {
        nadir_verdict_clear(context, &others[j]);
    }
    nadir_release(context, others);
    nadir_release(context, positive);
    nadir_release(context, places);
    return status;
}

/* ---------------------------------------------------------------------------------------- results */

static const char *proof_name(nadir_proof proof)
{
    static const char *const names[] = {"none", "numerical", "rigorous"};
    return names[proof];
}

/* Of a radius at or past breakdown: the return is unbounded. */
static nadir_robust make_refusal(const nadir_question *asked, double factor, const nadir_verdict *verdict)
{
    const nadir_uncertainty *set = &asked->uncertainty;
    return (nadir_robust){
        .size = sizeof(nadir_robust),
        .nominal_return = asked->problem.sign * asked->problem.J,
        .robust_return = NAN,
        .penalty = NAN,
        .lower_bound = -INFINITY,
        .upper_bound = INFINITY,
        .certificate = proof_name(NADIR_PROOF_NONE),
        .bound = "none",
        .kappa = NAN,
        .stationarity_gap = NAN,
        .set = set->asked,
        .domain = set->domain,
        .norm = set->p,
        .radius = factor * set->radius,
        .method = "none",
        .stop_reason = "breakdown",
        .breakdown_radius = verdict->breakdown,
        .kernel_minimum = NAN,
    };
}

/* How far below and above what is proven bounds are told: room for a check that knows returns a little less
 * well, with another backend's solves, as long as what is certified stays as narrow as that says. */
typedef struct room {
    double below, above;
} room;

static room room_of(const nadir_problem *problem, const nadir_robust_settings *settings,
                    const nadir_verdict *verdict)
{
    const double open = verdict->upper - verdict->attack.J;
    const bool rounding = !verdict->vague && open > 0 && open <= SLIGHT * problem->largest;
    const bool exact = strcmp(verdict->bound, "rewards") == 0 || !isfinite(problem->J_error);
    room is = {.below = exact ? 0 : problem->J_error, .above = rounding ? open / 2 : 0};
    const double both = is.below + is.above;
    if (both > 0 && nadir_verdict_is_close(problem, settings, verdict)) {
        const double width = fmax(verdict->upper, verdict->attack.J) - verdict->lower;
        const double spare = fmax(0, nadir_verdict_allowed(problem, settings, verdict) - width) / 2;
        is.below *= fmin(1, spare / both);
        is.above *= fmin(1, spare / both);
    }
    return is;
}

/* The result as the user sees it: signs turned back. */
static nadir_robust make_result(const nadir_solver *solver, const nadir_question *asked, double factor,
                                const nadir_robust_settings *settings, const nadir_verdict *verdict)
{
    const nadir_problem *problem = &asked->problem;
    const nadir_uncertainty *set = &asked->uncertainty;
    const nadir_attack *attack = &verdict->attack;
    const double sign = problem->sign;
    /* The return as the search knows it may be a rounding outside the bounds made anew. */
    const room beyond = room_of(problem, settings, verdict);
    const double lower = fmin(verdict->lower, attack->J) - beyond.below;
    const double upper = fmax(verdict->upper, attack->J) + beyond.above;
    nadir_backend_statistics statistics;
    nadir_occupancy_statistics(solver->occupancy, &statistics);
    return (nadir_robust){
        .size = sizeof(nadir_robust),
        .nominal_return = sign * problem->J,
        .robust_return = sign * attack->J,
        .penalty = sign * (problem->J - attack->J),
        .lower_bound = sign > 0 ? lower : -upper,
        .upper_bound = sign > 0 ? upper : -lower,
        .certified = settings->certify != NADIR_CERTIFY_OFF && verdict->proof != NADIR_PROOF_NONE &&
                     nadir_verdict_is_close(problem, settings, verdict),
        .certificate = proof_name(verdict->proof),
        .bound = verdict->bound,
        .kappa = verdict->kappa,
        .stationarity_gap = set->domain == NADIR_DOMAIN_FREE ? NAN : attack->gap, /* no linear steps there */
        .set = set->asked,
        .domain = set->domain,
        .norm = set->p,
        .radius = factor * set->radius,
        .method = attack->method,
        .stop_reason = attack->stop_reason,
        .iterations = attack->iterations,
        .solves = statistics.solves,
        .breakdown_radius = verdict->breakdown,
        .kernel_minimum = verdict->minimum,
        .kernel_valid = verdict->minimum >= 0,
        .residual = solver->value.residual,
        .return_difference = fabs(solver->value.J - solver->value.J_dual),
        .backend = nadir_occupancy_backend(solver->occupancy),
        .backend_memory = statistics.bytes,
        .seconds_nominal = solver->factor_seconds + solver->nominal.seconds_solve,
        .seconds_robust = verdict->robust_time,
        .seconds_certify = verdict->certify_time,
    };
}

static nadir_status give_results(nadir_context *context, const nadir_solver *solver,
                                 const nadir_question *asked, const nadir_robust_settings *settings,
                                 int64_t count, const double *factors, const nadir_verdict *verdicts,
                                 nadir_robust *results)
{
    nadir_status status = NADIR_OK;
    double valid_radius;
    const char *short_of = NULL; /* why a search stopped before its tolerance; NULL: none did */
    NADIR_CHECK(nadir_model_valid_radius_scaled(context, solver->model, asked->uncertainty.scales,
                                                asked->uncertainty.p, &valid_radius));
    for (int64_t i = 0; i < count; i++) {
        if (!verdicts[i].refused && !isfinite(asked->problem.J - verdicts[i].attack.J)) {
            return nadir_fail(
                context, NADIR_ERROR_ILL_POSED,
                "the worst return at radius %g, or the penalty, is beyond the range of numbers; multiply all "
                "rewards by a small number, and divide the returns by it",
                factors[i] * asked->uncertainty.radius);
        }
        nadir_robust made = verdicts[i].refused
                                ? make_refusal(asked, factors[i], &verdicts[i])
                                : make_result(solver, asked, factors[i], settings, &verdicts[i]);
        made.valid_radius = valid_radius;
        short_of = verdicts[i].attack.converged || verdicts[i].refused ? short_of : made.stop_reason;
        if (!nadir_result_copy(&results[i], &made, sizeof made)) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the robust result is not set");
        }
    }
    if (short_of != NULL) {
        status =
            nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                       "the search for the worst kernel stopped %s before the tolerance of %g was "
                       "reached; the best kernel so far is reported, with bounds that hold for it",
                       strcmp(short_of, "slow") == 0 ? "where steps gain next to nothing," : "at its limit",
                       settings->tolerance);
    }
cleanup:
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

nadir_status nadir_robust_run_many(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                                   const nadir_robust_settings *settings, nadir_family *family, int64_t count,
                                   const double *factors, nadir_robust *results)
{
    nadir_status status = NADIR_OK;
    nadir_verdict *verdicts = NULL;
    nadir_question asked = {0};
    nadir_robust_settings use;
    NADIR_CHECK(settle_settings(context, settings, family, &use));
    NADIR_CHECK(nadir_question_pose(context, solver, ball, use.optimistic, &asked));
    NADIR_CHECK(check_spread(context, &asked.problem, family));
    NADIR_CHECK(check_factors(context, asked.uncertainty.radius, count, factors));
    NADIR_NEW_ZERO(context, verdicts, count);
    NADIR_CHECK(evaluate(context, family, &asked.problem, &use, count, factors, verdicts));
    NADIR_CHECK(check_refusals(count, verdicts));
    NADIR_CHECK(give_results(context, solver, &asked, &use, count, factors, verdicts, results));
cleanup:
    for (int64_t i = 0; verdicts != NULL && i < count; i++) {
        nadir_verdict_clear(context, &verdicts[i]);
    }
    nadir_release(context, verdicts);
    nadir_question_clear(context, &asked);
    return status;
}

nadir_status nadir_robust_run(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                              const nadir_robust_settings *settings, nadir_family *family,
                              nadir_robust *result, nadir_worst **worst)
{
    nadir_status status = NADIR_OK;
    nadir_verdict verdict = {0};
    nadir_question asked = {0};
    nadir_robust_settings use;
    const double factor = 1;
    NADIR_CHECK(settle_settings(context, settings, family, &use));
    NADIR_CHECK(nadir_question_pose(context, solver, ball, use.optimistic, &asked));
    NADIR_CHECK(check_spread(context, &asked.problem, family));
    family = family != NULL ? family : nadir_robust_family(&asked.uncertainty);
    NADIR_CHECK(family(context, &asked.problem, &use, 1, &factor, &verdict));
    NADIR_CHECK(check_refusals(1, &verdict));
    status = give_results(context, solver, &asked, &use, 1, &factor, &verdict, result);
    if (worst != NULL && (status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED)) {
        const nadir_status made = nadir_worst_make(context, &asked.problem, result, &verdict, worst);
        status = made != NADIR_OK ? made : status;
    }
cleanup:
    nadir_verdict_clear(context, &verdict);
    nadir_question_clear(context, &asked);
    return status;
}

/* ---------------------------------------------------------------------------------------- public */

/* Of a further method that the settings name; NULL: the family of the set. */
static nadir_family *family_of(const nadir_robust_settings *settings)
{
    const size_t needed = offsetof(nadir_robust_settings, method) + sizeof settings->method;
    const bool named = settings != NULL && settings->size >= needed && settings->method != NULL;
    const nadir_method *method = named ? nadir_method_find(settings->method) : NULL;
    return method != NULL ? method->evaluate : NULL;
}

nadir_status nadir_solver_robust(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                                 const nadir_robust_settings *settings, nadir_robust *result,
                                 nadir_worst **worst)
{
    return nadir_robust_run(context, solver, ball, settings, family_of(settings), result, worst);
}

nadir_status nadir_solver_robust_many(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                                      const nadir_robust_settings *settings, int64_t count,
                                      const double *factors, nadir_robust *results)
{
    return nadir_robust_run_many(context, solver, ball, settings, family_of(settings), count, factors,
                                 results);
}
