/*
 * evaluate.c: robust evaluation of one radius: the nominal kernel alone, rectangular sets, and the
 * non-rectangular ball on the domains simplex and support; evaluate_free.c has the free domain.
 *
 * For the non-rectangular ball the free domain comes first where it can help: its worst kernel is found and
 * proven at the cost of a few solves. If that kernel lies in the domain it is the worst here too, since this
 * set is a part of the free one; if not, its return is still a lower bound.
 */
#include "robust/evaluate.h"

#include "core/context.h"
#include "linalg/distributed.h"
#include "proof/bellman_bound.h"
#include "proof/free_bounds.h"
#include "proof/membership.h"
#include "robust/strategy.h"
#include "search/frank_wolfe.h"
#include "search/free_search.h"
#include "search/rectangular_policy_iteration.h"
#include "solve/value.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Sets that hold the nominal kernel alone: radius 0, nothing that can move, one state. */
static nadir_status evaluate_nominal(nadir_context *context, const nadir_problem *problem,
                                     const nadir_robust_settings *settings, nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    nadir_value_check check;
    const double begun = nadir_clock_seconds();
    NADIR_CHECK(nadir_evaluation_check_nominal(context, problem, &check));
    NADIR_CHECK(nadir_kernel_create(context, problem->model, &evaluation->candidate.kernel));
    evaluation->candidate.J = problem->J;
    evaluation->candidate.method = "nominal";
    evaluation->candidate.stop_reason = "solved";
    evaluation->candidate.converged = true;
    evaluation->candidate.gap = NAN;
    evaluation->lower = problem->sign > 0 ? check.lower : -check.upper;
    evaluation->upper = problem->sign > 0 ? check.upper : -check.lower;
    evaluation->scale = nadir_global_largest(context, problem->states, problem->v);
    evaluation->bound = NADIR_BOUND_NOMINAL;
    evaluation->proof =
        nadir_evaluation_is_close(problem, settings, evaluation) ? NADIR_PROOF_RIGOROUS : NADIR_PROOF_NONE;
    evaluation->breakdown = NAN;
    evaluation->kappa = NAN;
    evaluation->minimum = check.minimum;
    evaluation->certify_time = nadir_clock_seconds() - begun;
cleanup:
    return status;
}

/* Policy iteration, then the check of the kernel from its rows and the lower bound by weak duality. */
static nadir_status evaluate_rectangular(nadir_context *context, const nadir_problem *problem,
                                         const nadir_robust_settings *settings, double factor,
                                         nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    const double begun = nadir_clock_seconds();
    NADIR_CHECK(nadir_rectangular_policy_iteration(context, problem, factor, settings->tolerance,
                                                   settings->iterations_limit, &evaluation->candidate));
    const double found = nadir_clock_seconds();
    evaluation->robust_time = found - begun;
    evaluation->breakdown = NAN;
    evaluation->kappa = NAN;
    NADIR_CHECK(nadir_evaluation_check_valid(context, problem, factor, evaluation));
    if (settings->certify != NADIR_CERTIFY_OFF) {
        double lower;
        NADIR_CHECK(nadir_rectangular_check(context, problem, factor, evaluation->candidate.v, &lower));
        nadir_evaluation_take_bound(evaluation, lower, NADIR_PROOF_RIGOROUS, NADIR_BOUND_BELLMAN);
    }
    evaluation->certify_time = nadir_clock_seconds() - found;
cleanup:
    return status;
}

/* ------------------------------------------------------------------- the free domain, where it helps */

/* Whether the worst kernel of the free domain may lie in this domain and is cheap to prove. At p = 2 it
 * changes every entry of a row, so that the model must be full. */
static bool free_may_help(const nadir_context *context, const nadir_problem *problem)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_model *model = problem->model;
    if (model->exchange != NULL || /* kernels of rank one have no rows to check there */
        !nadir_free_rewards_fit(context, problem)) {
        return false;
    }
    return set->p == 1 || (set->p == 2 && model->nonzeros == model->rows * model->states);
}

/* Evaluates the free domain; NADIR_ERROR_NOT_CONVERGED where that cannot help. */
static nadir_status evaluate_free(const nadir_valid_run *first, int64_t count, const double *factors,
                                  nadir_evaluation *evaluations)
{
    nadir_uncertainty set = *first->problem->uncertainty;
    nadir_problem problem = *first->problem;
    nadir_robust_settings settings = *first->settings;
    set.domain = NADIR_DOMAIN_FREE;
    problem.uncertainty = &set;
    settings.certify = NADIR_CERTIFY_AUTO;
    return free_may_help(first->context, first->problem)
               ? nadir_free_evaluate(first->context, &problem, &settings, count, factors, evaluations)
               : NADIR_ERROR_NOT_CONVERGED;
}

nadir_status nadir_valid_ask_free(int64_t count, nadir_valid_run *runs)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = runs->context;
    nadir_evaluation *evaluations = NULL;
    double *factors = NULL;
    NADIR_NEW_ZERO(context, evaluations, count);
    NADIR_NEW(context, factors, count);
    for (int64_t i = 0; i < count; i++) {
        factors[i] = runs[i].factor;
    }
    const nadir_status made = evaluate_free(runs, count, factors, evaluations);
    for (int64_t i = 0; i < count; i++) {
        runs[i].free = evaluations[i];
        runs[i].free.refused = evaluations[i].refused || made != NADIR_OK;
        runs[i].free_is_known = true;
    }
    status = made == NADIR_ERROR_NOT_CONVERGED ? NADIR_OK : made;
cleanup:
    nadir_release(context, evaluations);
    nadir_release(context, factors);
    return status;
}

nadir_status nadir_valid_take_free(nadir_valid_run *run, bool *done)
{
    nadir_status status = NADIR_OK;
    nadir_evaluation *free = &run->free;
    nadir_evaluation *evaluation = run->evaluation;
    nadir_membership membership;
    *done = false;
    evaluation->robust_time += free->robust_time;
    evaluation->certify_time += free->certify_time;
    if (free->refused || free->candidate.c == NULL || !(free->minimum >= 0) ||
        !nadir_evaluation_is_close(run->problem, run->settings, free)) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_rank_one_candidate_kernel(run->context, run->problem, &free->candidate));
    NADIR_CHECK(nadir_membership_measure(run->context, free->candidate.kernel, run->problem->uncertainty,
                                         run->factor, &membership));
    *done = run->problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX || membership.off_support == 0;
    if (*done) {
        *evaluation = *free;
        *free = (nadir_evaluation){.refused = true};
        evaluation->breakdown = NAN;
        evaluation->breakdown_proof = NADIR_BREAKDOWN_NONE;
    }
cleanup:
    return status;
}

/* -------------------------------------------- non-rectangular ball on the domains simplex and support */

nadir_valid_run nadir_valid_run_make(nadir_context *context, const nadir_problem *problem,
                                     const nadir_robust_settings *settings, double factor,
                                     nadir_evaluation *evaluation)
{
    return (nadir_valid_run){
        .context = context,
        .problem = problem,
        .settings = settings,
        .beta = factor * problem->uncertainty->radius,
        .factor = factor,
        .evaluation = evaluation,
        .free = {.refused = true},
    };
}

nadir_status nadir_valid_search_cold(const nadir_valid_run *run, nadir_candidate *candidate)
{
    return nadir_multistart_run(run->context, run->problem, run->beta, run->settings->tolerance,
                                run->settings->iterations_limit, candidate);
}

bool nadir_valid_is_worse(const nadir_valid_run *run, const nadir_candidate *candidate,
                          const nadir_candidate *than)
{
    const double rounding = 64 * DBL_EPSILON * (fabs(candidate->J) + fabs(run->problem->J));
    return candidate->J < than->J - run->settings->tolerance * fabs(run->problem->J - than->J) - rounding;
}

nadir_status nadir_valid_take_worse(nadir_valid_run *run, nadir_candidate *candidate)
{
    const nadir_candidate before = run->evaluation->candidate;
    run->evaluation->candidate = *candidate;
    *candidate = before;
    return nadir_valid_certify(run);
}

void nadir_valid_drop_transpose(const nadir_valid_run *run)
{
    nadir_occupancy *occupancy = run->problem->occupancy;
    const bool large = nadir_model_total(run->problem->model) > NADIR_PROOF_STATES;
    if (large && nadir_occupancy_iterates(occupancy)) {
        nadir_average_forget_transpose(run->context, nadir_occupancy_average(occupancy));
    }
}

/* Starts from v and d of the warm start. check_cold_start restarts cold unless the result is certified. */
static nadir_status search_warm(nadir_valid_run *run, nadir_frank_wolfe **frank_wolfe)
{
    nadir_status status = NADIR_OK;
    const nadir_warm_start *warm_start = run->warm_start;
    NADIR_CHECK(nadir_frank_wolfe_create(run->context, run->problem, frank_wolfe));
    NADIR_CHECK(nadir_frank_wolfe_from(run->context, *frank_wolfe, run->beta, warm_start->v, warm_start->d,
                                       run->settings->tolerance, run->settings->iterations_limit,
                                       &run->evaluation->candidate));
    run->frank_wolfe = *frank_wolfe;
cleanup:
    return status;
}

/* Where a result from a warm start is not certified, a cold start may find a worse kernel. */
static nadir_status check_cold_start(nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_candidate other = {0};
    if (nadir_evaluation_is_close(run->problem, run->settings, run->evaluation)) {
        return NADIR_OK;
    }
    const double begun = nadir_clock_seconds();
    NADIR_CHECK(nadir_valid_search_cold(run, &other));
    run->evaluation->robust_time += nadir_clock_seconds() - begun;
    if (nadir_valid_is_worse(run, &other, &run->evaluation->candidate)) {
        run->frank_wolfe = NULL;
        NADIR_CHECK(nadir_valid_take_worse(run, &other));
    }
cleanup:
    nadir_candidate_clear(run->context, &other);
    return status;
}

/* Search and proofs, where the free domain has not settled it. */
static nadir_status search_and_certify(nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_frank_wolfe *frank_wolfe = NULL;
    const double begun = nadir_clock_seconds();
    nadir_valid_drop_transpose(run);
    NADIR_CHECK(run->warm_start != NULL ? search_warm(run, &frank_wolfe)
                                        : nadir_valid_search_cold(run, &run->evaluation->candidate));
    run->evaluation->robust_time += nadir_clock_seconds() - begun;
    NADIR_CHECK(nadir_valid_certify(run));
    NADIR_CHECK(run->warm_start != NULL ? check_cold_start(run) : NADIR_OK);
cleanup:
    nadir_frank_wolfe_free(run->context, frank_wolfe);
    return status;
}

static nadir_status evaluate_valid(nadir_context *context, const nadir_problem *problem,
                                   const nadir_robust_settings *settings, double factor,
                                   const nadir_warm_start *warm_start, nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    nadir_valid_run run = nadir_valid_run_make(context, problem, settings, factor, evaluation);
    bool done = false;
    run.warm_start = warm_start;
    NADIR_CHECK(nadir_progress(context, "worst kernels", 0));
    if (warm_start == NULL) { /* else the worst kernel is known, or nearly so */
        NADIR_CHECK(nadir_valid_try(&run, NADIR_STAGE_BEFORE));
        NADIR_CHECK(nadir_valid_take_free(&run, &done));
    }
    NADIR_CHECK(done ? NADIR_OK : search_and_certify(&run));
cleanup:
    nadir_valid_run_clear(&run);
    return status;
}

/* ------------------------------------------------------------------------------------------------ */

nadir_status nadir_evaluate_check_method(nadir_context *context, const nadir_robust_settings *settings)
{
    return settings->method == NULL || strcmp(settings->method, "auto") == 0
               ? NADIR_OK
               : nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                            "method %s is for the free domain; leave the method to auto here",
                            settings->method);
}

nadir_status nadir_evaluate(nadir_context *context, const nadir_problem *problem,
                            const nadir_robust_settings *settings, double factor,
                            const nadir_warm_start *warm_start, nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    if (set->idle || factor == 0) {
        return evaluate_nominal(context, problem, settings, evaluation);
    }
    if (set->domain == NADIR_DOMAIN_FREE) {
        return nadir_free_evaluate(context, problem, settings, 1, &factor, evaluation);
    }
    NADIR_CHECK(nadir_evaluate_check_method(context, settings));
    NADIR_CHECK(set->set == NADIR_SET_NONRECT
                    ? evaluate_valid(context, problem, settings, factor, warm_start, evaluation)
                    : evaluate_rectangular(context, problem, settings, factor, evaluation));
cleanup:
    return status;
}
