/*
 * evaluate_free.c: robust evaluation on the free domain: which search and which proof for which set and norm.
 *
 *                       search                         proofs
 *     non-rectangular
 *         p = 2         nadir_spectral_solve           rank_one_check.h, free_bounds.h by free_bounds.h
 *         p = 1         nadir_l1_enumeration_solve     rank_one_check.h, nadir_l1_bound
 *         other         nadir_best_response_solve      rank_one_check.h, and the proof of p = 2 on an L_2
 *                                                      ball that contains the set
 *     rectangular       nadir_rectangular_free_solve   rank_one_check.h, nadir_rectangular_free_bound
 *
 * Many radii share the search and the breakdown radius, and their linear systems are solved together.
 */
#include "robust/strategy.h"

#include "core/context.h"
#include "linalg/distributed.h"
#include "proof/breakdown.h"
#include "proof/free_bounds.h"
#include "proof/rank_one_check.h"
#include "search/free_search.h"
#include "search/spectral.h"

#include <math.h>
#include <string.h>

static double largest_of(int64_t count, const double *numbers)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, numbers[i]);
    }
    return largest;
}

/* In the problem's own norm: the estimate under NADIR_CERTIFY_STRICT, else the proven radius. */
static void set_breakdown(const nadir_free_run *run, const nadir_problem *problem,
                          const nadir_known_breakdown *known, nadir_evaluation *evaluation)
{
    static const char *const names[] = {"products", "columns", "cholesky"};
    const bool exact = run->settings->certify == NADIR_CERTIFY_STRICT && !isnan(known->estimate);
    evaluation->breakdown = nadir_breakdown_for_norm(problem, exact ? known->estimate : known->low);
    const bool iterated =
        known->proof == NADIR_BREAKDOWN_PRODUCTS && nadir_occupancy_iterates(problem->occupancy);
    const double shown =
        (iterated ? NADIR_BREAKDOWN_SHOWN_ITERATED : NADIR_BREAKDOWN_SHOWN) * evaluation->breakdown;
    if (!exact && shown > largest_of(run->count, run->radii)) {
        evaluation->breakdown = shown;
    }
    evaluation->breakdown_proof = exact ? "lanczos" : names[known->proof];
}

/* ------------------------------------------------------------------------------------------ all p */

static void hand_over(nadir_candidate *candidate, nadir_evaluation *evaluation)
{
    evaluation->candidate = *candidate;
    *candidate = (nadir_candidate){0};
}

/* The candidates become those of the verdicts. Proves that their kernels lie in the set, and bounds their
 * returns. */
static nadir_status check_kernels(nadir_free_run *run, nadir_candidate *candidates)
{
    nadir_status status = NADIR_OK;
    nadir_rank_one_check *checks = NULL;
    nadir_rank_one_question *questions = NULL;
    const bool refactor = run->settings->certify == NADIR_CERTIFY_STRICT;
    NADIR_NEW(run->context, checks, run->count);
    NADIR_NEW(run->context, questions, run->count);
    for (int64_t i = 0; i < run->count; i++) {
        hand_over(&candidates[i], &run->evaluations[i]);
        nadir_candidate *candidate = &run->evaluations[i].candidate;
        if (refactor || run->problem->model->exchange != NULL) {
            NADIR_CHECK(nadir_rank_one_candidate_kernel(run->context, run->problem, candidate));
        }
        questions[i] = (nadir_rank_one_question){
            .kernel = candidate->kernel,
            .factor = run->factors[i],
            .c = candidate->c,
            .k = candidate->k,
            .guess = candidate->g,
            .product = run->products != NULL ? run->products + i * run->problem->states : NULL,
        };
    }
    NADIR_CHECK(
        nadir_rank_one_check_kernels(run->context, run->problem, run->count, questions, refactor, checks));
    for (int64_t i = 0; i < run->count; i++) {
        nadir_evaluation *evaluation = &run->evaluations[i];
        evaluation->upper = checks[i].upper;
        nadir_evaluation_clamp_return(evaluation, checks[i].lower, checks[i].upper);
        evaluation->vague = !isfinite(evaluation->upper);
        if (evaluation->vague) {
            nadir_value_check check;
            NADIR_CHECK(nadir_evaluation_check_nominal(run->context, run->problem, &check));
            evaluation->upper = run->problem->sign > 0 ? check.upper : -check.lower;
        }
        evaluation->minimum = checks[i].minimum;
        evaluation->lower = -INFINITY;
        evaluation->proof = NADIR_PROOF_NONE;
        evaluation->bound = "none";
        evaluation->kappa = NAN;
        if (run->products != NULL) {
            run->products_off[i] = checks[i].product_off;
        }
    }
cleanup:
    nadir_release(run->context, checks);
    nadir_release(run->context, questions);
    return status;
}

/* lower <- J - lambda_high, rounded down. */
static void set_lower(const nadir_problem *problem, double lambda_high, nadir_proof proof, const char *bound,
                      nadir_evaluation *evaluation)
{
    if (!isinf(lambda_high)) {
        evaluation->lower = nadir_free_lower(problem, lambda_high);
        evaluation->proof = proof;
        evaluation->bound = bound;
    }
}

static void clear_candidates(const nadir_free_run *run, nadir_candidate *candidates)
{
    for (int64_t i = 0; candidates != NULL && i < run->count; i++) {
        nadir_candidate_clear(run->context, &candidates[i]);
    }
    nadir_release(run->context, candidates);
}

static void share_time(nadir_free_run *run, double robust, double certify)
{
    for (int64_t i = 0; i < run->count; i++) {
        run->evaluations[i].robust_time += robust / (double)run->count;
        run->evaluations[i].certify_time += certify / (double)run->count;
    }
}

/* ------------------------------------------------------------------------- non-rectangular, p = 2 */

static nadir_status search_spectral(nadir_free_run *run, const nadir_problem *problem, int64_t count,
                                    const double *radii, nadir_candidate *candidates)
{
    const nadir_robust_settings *settings = run->settings;
    return nadir_spectral_solve(run->context, problem, run->method, settings->tolerance,
                                settings->iterations_limit, count, radii, candidates);
}

/* Lower bounds of all verdicts from the pairs (c, k) found. A bound within half of the allowed width is good
 * enough. */
static nadir_status bound_spectral(nadir_free_run *run, nadir_known_breakdown *known)
{
    nadir_status status = NADIR_OK;
    nadir_penalty_bound *bounds = NULL;
    NADIR_NEW(run->context, bounds, run->count);
    for (int64_t i = 0; i < run->count; i++) {
        const nadir_candidate *candidate = &run->evaluations[i].candidate;
        bounds[i] = (nadir_penalty_bound){
            .question = {.beta = run->radii[i], .c = candidate->c, .k = candidate->k, .guess = candidate->g},
            .wanted = candidate->lambda * (1 + 0.5 * run->settings->width)};
        if (run->products != NULL) {
            bounds[i].question.product = run->products + i * run->problem->states;
            bounds[i].question.product_off = run->products_off[i];
        }
    }
    NADIR_CHECK(
        nadir_penalty_bounds(run->context, run->problem, run->settings->certify, run->count, bounds, known));
    for (int64_t i = 0; i < run->count; i++) {
        set_lower(run->problem, bounds[i].lambda_high, bounds[i].proof, "spectral", &run->evaluations[i]);
    }
cleanup:
    nadir_release(run->context, bounds);
    return status;
}

/* Searches and proves for radii that are below breakdown. */
static nadir_status search_and_prove(nadir_free_run *run, nadir_known_breakdown *known)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = run->problem;
    nadir_candidate *candidates = NULL;
    const double begun = nadir_clock_seconds();
    NADIR_NEW_ZERO(run->context, candidates, run->count);
    NADIR_CHECK(search_spectral(run, problem, run->count, run->radii, candidates));
    const double found = nadir_clock_seconds();
    if (run->settings->certify != NADIR_CERTIFY_OFF &&
        (run->count <= 1 || nadir_model_share(problem->model) <= NADIR_PRODUCTS_LIMIT / run->count)) {
        NADIR_NEW(run->context, run->products, run->count * (problem->states + 1));
        run->products_off = run->products + run->count * problem->states;
    }
    NADIR_CHECK(check_kernels(run, candidates));
    if (run->settings->certify != NADIR_CERTIFY_OFF) {
        NADIR_CHECK(bound_spectral(run, known));
    }
    share_time(run, found - begun, nadir_clock_seconds() - found);
cleanup:
    clear_candidates(run, candidates);
    return status;
}

nadir_status nadir_free_spectral(nadir_free_run *run)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = run->problem;
    nadir_known_breakdown known;
    bool inside;
    const double largest = largest_of(run->count, run->radii);
    const double begun = nadir_clock_seconds();
    NADIR_CHECK(
        nadir_breakdown_settle(run->context, problem, run->settings->certify, largest, &known, &inside));
    if (!inside) {
        run->limit = isnan(known.estimate) ? known.low : known.estimate;
        status = nadir_breakdown_refuse(run->context, largest, &known);
        goto cleanup;
    }
    const double settled = nadir_clock_seconds();
    NADIR_CHECK(search_and_prove(run, &known));
    for (int64_t i = 0; i < run->count; i++) {
        set_breakdown(run, problem, &known, &run->evaluations[i]);
    }
    share_time(run, 0, settled - begun);
cleanup:
    return status;
}

/* ------------------------------------------------------------------------- non-rectangular, p = 1 */

nadir_status nadir_free_l1(nadir_free_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_candidate *candidates = NULL;
    nadir_l1_enumeration_bounds *bounds = NULL;
    const bool strict = run->settings->certify == NADIR_CERTIFY_STRICT;
    const double begun = nadir_clock_seconds();
    NADIR_NEW_ZERO(run->context, candidates, run->count);
    NADIR_NEW_ZERO(run->context, bounds, run->count);
    NADIR_CHECK(nadir_l1_enumeration_solve(run->context, run->problem, strict, run->count, run->radii,
                                           candidates, bounds));
    const double found = nadir_clock_seconds();
    NADIR_CHECK(check_kernels(run, candidates));
    for (int64_t i = 0; i < run->count; i++) {
        nadir_evaluation *evaluation = &run->evaluations[i];
        double lambda_high;
        evaluation->breakdown = bounds[i].breakdown_low;
        evaluation->breakdown_proof = "enumeration";
        if (run->settings->certify != NADIR_CERTIFY_OFF) {
            NADIR_CHECK(nadir_l1_bound(run->context, run->problem, run->radii[i],
                                       evaluation->candidate.lambda, &lambda_high));
            set_lower(run->problem, lambda_high, NADIR_PROOF_RIGOROUS, "enumeration", evaluation);
        }
    }
    share_time(run, found - begun, nadir_clock_seconds() - found);
cleanup:
    clear_candidates(run, candidates);
    nadir_release(run->context, bounds);
    return status;
}

/* --------------------------------------------------------------------- non-rectangular, other p */

/* Lower bounds from the L_2 ball that contains the set, for the `open` radii where that ball is below
 * breakdown. */
static nadir_status bound_open(nadir_free_run *run, const nadir_problem *enclosing, int64_t open,
                               const int64_t *which, const double *radii, nadir_candidate *candidates,
                               nadir_known_breakdown *known)
{
    nadir_status status = NADIR_OK;
    nadir_penalty_bound *bounds = NULL;
    NADIR_NEW(run->context, bounds, open);
    NADIR_CHECK(search_spectral(run, enclosing, open, radii, candidates));
    for (int64_t j = 0; j < open; j++) {
        bounds[j] = (nadir_penalty_bound){.question = {.beta = radii[j],
                                                       .c = candidates[j].c,
                                                       .k = candidates[j].k,
                                                       .guess = candidates[j].g},
                                          .wanted = candidates[j].lambda * (1 + run->settings->width)};
    }
    NADIR_CHECK(nadir_penalty_bounds(run->context, enclosing, run->settings->certify, open, bounds, known));
    for (int64_t j = 0; j < open; j++) {
        nadir_evaluation *evaluation = &run->evaluations[which[j]];
        set_lower(run->problem, bounds[j].lambda_high, bounds[j].proof, "enclosing-ball", evaluation);
        NADIR_CHECK(nadir_evaluation_keep_pair(run->context, enclosing->states, candidates[j].c,
                                               candidates[j].k, evaluation));
    }
cleanup:
    nadir_release(run->context, bounds);
    return status;
}

static nadir_status bound_by_enclosing(nadir_free_run *run, const nadir_problem *enclosing, double wider,
                                       nadir_known_breakdown *known)
{
    nadir_status status = NADIR_OK;
    nadir_candidate *candidates = NULL;
    double *radii = NULL;
    int64_t *which = NULL;
    int64_t open = 0;
    const double limit =
        fmax(known->low, isnan(known->estimate) ? 0 : NADIR_BREAKDOWN_CLOSE * known->estimate);
    NADIR_NEW_ZERO(run->context, candidates, run->count);
    NADIR_NEW(run->context, radii, run->count);
    NADIR_NEW(run->context, which, run->count);
    for (int64_t i = 0; i < run->count; i++) {
        const double beta = run->radii[i] * wider;
        if (beta < limit) {
            radii[open] = beta;
            which[open++] = i;
        }
    }
    if (open > 0) {
        NADIR_CHECK(bound_open(run, enclosing, open, which, radii, candidates, known));
    }
cleanup:
    clear_candidates(run, candidates);
    nadir_release(run->context, radii);
    nadir_release(run->context, which);
    return status;
}

nadir_status nadir_free_best_response(nadir_free_run *run)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = run->problem;
    double wider;
    nadir_candidate *candidates = NULL;
    nadir_uncertainty two = {0};
    nadir_problem enclosing;
    nadir_known_breakdown known;
    bool inside;
    const double begun = nadir_clock_seconds();
    NADIR_NEW_ZERO(run->context, candidates, run->count);
    NADIR_CHECK(nadir_free_enclosing_ball(run->context, problem, &two, &enclosing, &wider));
    NADIR_CHECK(nadir_breakdown_settle(run->context, &enclosing, run->settings->certify,
                                       wider * largest_of(run->count, run->radii), &known, &inside));
    const double settled = nadir_clock_seconds();
    NADIR_CHECK(nadir_best_response_solve(run->context, problem, run->settings->tolerance,
                                          run->settings->iterations_limit, run->count, run->radii,
                                          candidates));
    const double found = nadir_clock_seconds();
    NADIR_CHECK(check_kernels(run, candidates));
    for (int64_t i = 0; i < run->count; i++) {
        set_breakdown(run, problem, &known, &run->evaluations[i]);
    }
    if (run->settings->certify != NADIR_CERTIFY_OFF) {
        NADIR_CHECK(bound_by_enclosing(run, &enclosing, wider, &known));
    }
    share_time(run, found - settled, nadir_clock_seconds() - found + settled - begun);
cleanup:
    clear_candidates(run, candidates);
    nadir_uncertainty_clear(run->context, &two);
    return status;
}

/* ------------------------------------------------------------------------------------ rectangular */

nadir_status nadir_free_rectangular(nadir_free_run *run)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = run->problem;
    nadir_candidate *candidates = NULL;
    const double begun = nadir_clock_seconds();
    NADIR_NEW_ZERO(run->context, candidates, run->count);
    NADIR_CHECK(nadir_rectangular_free_solve(run->context, problem, run->count, run->factors, candidates));
    const double found = nadir_clock_seconds();
    NADIR_CHECK(check_kernels(run, candidates));
    for (int64_t i = 0; i < run->count; i++) {
        nadir_evaluation *evaluation = &run->evaluations[i];
        bool exact;
        double lower;
        double breakdown_factor;
        NADIR_CHECK(nadir_rectangular_free_bound(run->context, problem, run->factors[i],
                                                 evaluation->candidate.v, &exact, &lower, &breakdown_factor));
        evaluation->breakdown = breakdown_factor * problem->uncertainty->radius;
        evaluation->breakdown_proof = "contraction";
        if (run->settings->certify != NADIR_CERTIFY_OFF) {
            evaluation->lower = lower;
            evaluation->proof = exact ? NADIR_PROOF_RIGOROUS : NADIR_PROOF_NONE;
            evaluation->bound = exact ? "bellman" : isinf(lower) ? "none" : "contraction";
        }
    }
    share_time(run, found - begun, nadir_clock_seconds() - found);
cleanup:
    clear_candidates(run, candidates);
    return status;
}

/* ------------------------------------------------------------------------------------------------ */

static nadir_status check_rewards(nadir_context *context, const nadir_problem *problem)
{
    return nadir_free_rewards_fit(context, problem)
               ? NADIR_OK
               : nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                            "the largest reward is %g, which leaves too little room for bounds on the domain "
                            "free; expected %g to %g: multiply all rewards by a number, and divide the "
                            "returns by it",
                            nadir_global_largest(context, problem->rows, problem->rewards),
                            NADIR_REWARD_LEAST, nadir_free_reward_most(context, problem));
}

/* The method of the settings, where it suits the set. */
static nadir_status read_method(nadir_context *context, const nadir_problem *problem, const char *name,
                                nadir_spectral_method *method)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const bool spectral = set->set == NADIR_SET_NONRECT && set->p == 2;
    const bool alternates = set->set == NADIR_SET_NONRECT && set->p != 1;
    *method = NADIR_SPECTRAL_NEWTON;
    if (name == NULL || strcmp(name, "auto") == 0) {
        return NADIR_OK;
    }
    if (strcmp(name, "best-response") == 0) {
        *method = NADIR_SPECTRAL_BEST_RESPONSE;
    } else if (strcmp(name, "bisect") == 0) {
        *method = NADIR_SPECTRAL_BISECT;
    }
    const bool best_response = *method == NADIR_SPECTRAL_BEST_RESPONSE;
    if (best_response ? alternates : spectral) {
        return NADIR_OK;
    }
    return nadir_fail(
        context, NADIR_ERROR_UNSUPPORTED,
        "method %s is for the non-rectangular ball on the free domain with %s; leave the method "
        "to auto here",
        name, best_response ? "a norm between 1 and inf" : "norm 2");
}

nadir_status nadir_free_evaluate_together(nadir_context *context, const nadir_problem *problem,
                                          const nadir_robust_settings *settings, int64_t count,
                                          const double *factors, nadir_evaluation *evaluations, double *limit)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    nadir_free_run run = {.context = context,
                          .problem = problem,
                          .settings = settings,
                          .count = count,
                          .factors = factors,
                          .evaluations = evaluations,
                          .limit = INFINITY};
    NADIR_CHECK(read_method(context, problem, settings->method, &run.method));
    NADIR_CHECK(check_rewards(context, problem));
    NADIR_NEW(context, run.radii, count);
    for (int64_t i = 0; i < count; i++) {
        run.radii[i] = factors[i] * set->radius;
    }
    status = nadir_free_row_find(set)->evaluate(&run);
cleanup:
    nadir_release(context, run.radii);
    nadir_release(context, run.products);
    *limit = run.limit;
    return status;
}

/* One radius, which may be refused. */
static nadir_status evaluate_one(nadir_context *context, const nadir_problem *problem,
                                 const nadir_robust_settings *settings, double factor,
                                 nadir_evaluation *evaluation)
{
    double limit;
    nadir_status status =
        nadir_free_evaluate_together(context, problem, settings, 1, &factor, evaluation, &limit);
    if (status != NADIR_OK) {
        nadir_evaluation_clear(context, evaluation);
    }
    if (status == NADIR_ERROR_ILL_POSED) {
        *evaluation = (nadir_evaluation){.refused = true,
                                         .breakdown = fmin(limit, factor * problem->uncertainty->radius)};
        status = NADIR_OK;
    }
    return status;
}

nadir_status nadir_free_evaluate(nadir_context *context, const nadir_problem *problem,
                                 const nadir_robust_settings *settings, int64_t count, const double *factors,
                                 nadir_evaluation *evaluations)
{
    return count == 1 ? evaluate_one(context, problem, settings, *factors, evaluations)
                      : nadir_free_sweep(context, problem, settings, count, factors, evaluations);
}
