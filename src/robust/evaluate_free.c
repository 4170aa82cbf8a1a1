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
 * Rewards on landing that are not separable: nadir_free_landing_solve takes what these searches find for one of its
 * starts, and free_landing.h has the proofs.
 *
 * Many radii share the search and the breakdown radius.
 */
#include "robust/strategy.h"

#include "core/context.h"
#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "proof/breakdown.h"
#include "proof/free_bounds.h"
#include "proof/free_landing.h"
#include "proof/rank_one_check.h"
#include "search/free_search.h"

#include <math.h>
#include <string.h>

/* Radii whose linear systems are solved together. */
typedef struct free_run {
    nadir_context *context;
    const nadir_problem *problem;
    const nadir_robust_settings *settings;
    nadir_spectral_method method; /* of spectral searches */
    int64_t count;
    const double *factors; /* [count] */
    double *radii;         /* [count] */
    nadir_evaluation *evaluations;
    nadir_candidate *candidates;               /* [count] of the search */
    nadir_known_breakdown known;               /* p > 1: of the ball, or of the L_2 ball that contains it */
    nadir_uncertainty two;                     /* that ball, */
    nadir_problem enclosing;                   /* its problem, */
    double wider;                              /* and by which factor it is wider */
    nadir_l1_enumeration_bounds enumerated;    /* p = 1 */
    nadir_solve_basis basis, basis_transposed; /* of the right-hand sides of all radii */
    double limit; /* where breakdown is, once a radius was refused; infinity: not known */
} free_run;

/* In the problem's own norm: the estimate under NADIR_CERTIFY_STRICT, else the proven radius. */
static void set_breakdown(const free_run *run, nadir_evaluation *evaluation)
{
    const nadir_problem *problem = run->problem;
    const nadir_known_breakdown *known = &run->known;
    const double largest = nadir_vector_largest(run->count, run->radii);
    const double gap = problem->gamma < 1 ? 1 - problem->gamma : nadir_occupancy_gap(problem->occupancy);
    const double room =
        NADIR_BREAKDOWN_SHOWN - nadir_round_error(64) / (gap * gap); /* errors of columns of D */
    if (problem->uncertainty->p == 1) {
        const double low = run->enumerated.breakdown_low;
        const bool strict = run->settings->certify == NADIR_CERTIFY_STRICT;
        evaluation->breakdown = !strict && room * low > largest ? room * low : low;
        evaluation->breakdown_proof = NADIR_BREAKDOWN_ENUMERATION;
        return;
    }
    const bool exact = run->settings->certify == NADIR_CERTIFY_STRICT && !isnan(known->estimate);
    evaluation->breakdown = nadir_breakdown_for_norm(problem, exact ? known->estimate : known->low);
    const bool iterated =
        known->proof == NADIR_BREAKDOWN_PRODUCTS && nadir_occupancy_iterates(problem->occupancy);
    const double shown =
        (iterated ? fmin(room, NADIR_BREAKDOWN_SHOWN_ITERATED) : room) * evaluation->breakdown;
    if (!exact && (shown > largest || evaluation->breakdown <= largest)) {
        evaluation->breakdown = fmax(shown, 0);
    }
    evaluation->breakdown_proof = exact ? NADIR_BREAKDOWN_LANCZOS : known->proof;
}

/* Bounds on the return of the kernel are known; nothing of other kernels so far. */
static nadir_status begin_bounds(const free_run *run, double low, double high, double minimum,
                                 nadir_evaluation *evaluation)
{
    evaluation->upper = high;
    nadir_evaluation_clamp_return(evaluation, low, high);
    evaluation->vague = !isfinite(evaluation->upper);
    if (evaluation->vague) {
        nadir_value_check nominal;
        NADIR_TRY(nadir_evaluation_check_nominal(run->context, run->problem, &nominal));
        evaluation->upper = run->problem->sign > 0 ? nominal.upper : -nominal.lower;
    }
    evaluation->minimum = minimum;
    evaluation->lower = -INFINITY;
    evaluation->proof = NADIR_PROOF_NONE;
    evaluation->bound = NADIR_BOUND_NONE;
    evaluation->kappa = NAN;
    return NADIR_OK;
}

/* The candidate becomes that of the evaluation. Proves that its kernel lies in the set, and bounds its return.
 */
static nadir_status check_kernel(free_run *run, int64_t i)
{
    nadir_evaluation *evaluation = &run->evaluations[i];
    nadir_candidate *candidate = &evaluation->candidate;
    nadir_rank_one_check check;
    *candidate = run->candidates[i];
    run->candidates[i] = (nadir_candidate){0};
    if (run->problem->model->exchange != NULL) {
        NADIR_TRY(nadir_rank_one_candidate_kernel(run->context, run->problem, candidate));
    }
    nadir_rank_one_question question = {.kernel = candidate->kernel,
                                        .factor = run->factors[i],
                                        .c = candidate->c,
                                        .k = candidate->k,
                                        .guess = candidate->g,
                                        .basis = &run->basis};
    NADIR_TRY(nadir_rank_one_check_kernel(run->context, run->problem, &question, &check));
    if (!(check.upper - check.lower <= NADIR_RETURN_KNOWN * fabs(run->problem->J))) {
        question.guess = NULL; /* close to breakdown the errors of guesses show */
        question.basis = NULL;
        NADIR_TRY(nadir_rank_one_check_kernel(run->context, run->problem, &question, &check));
        if (isfinite(check.upper - check.lower)) {
            candidate->J = check.lower + (check.upper - check.lower) / 2;
            candidate->lambda = run->problem->J - candidate->J;
        }
    }
    return begin_bounds(run, check.lower, check.upper, check.minimum, evaluation);
}

/* The bound on the penalty of an L_2 ball from the pair of a candidate. wanted: how far above its lambda the
 * bound may be, as a share. */
static nadir_status bound_by_pair(free_run *run, const nadir_problem *problem, double beta,
                                  const nadir_candidate *candidate, double wanted, nadir_bound name,
                                  nadir_evaluation *evaluation)
{
    const nadir_spectral_question question = {.beta = beta,
                                              .c = candidate->c,
                                              .k = candidate->k,
                                              .guess = candidate->g,
                                              .basis = &run->basis,
                                              .basis_transposed = &run->basis_transposed};
    double lambda_high;
    nadir_proof proof;
    NADIR_TRY(nadir_progress(run->context, "bounds on the penalty", -1));
    NADIR_TRY(nadir_penalty_bound(run->context, problem, run->settings->certify, &question,
                                  candidate->lambda * (1 + wanted), &run->known, &lambda_high, &proof));
    nadir_evaluation_take_bound(evaluation, nadir_free_lower(run->problem, lambda_high), proof, name);
    return NADIR_OK;
}

/* ------------------------------------------------------------------------- non-rectangular, p = 2 */

static nadir_status settle_spectral(free_run *run)
{
    const double largest = nadir_vector_largest(run->count, run->radii);
    nadir_known_breakdown *known = &run->known;
    bool inside;
    NADIR_TRY(
        nadir_breakdown_settle(run->context, run->problem, run->settings->certify, largest, known, &inside));
    if (!inside) {
        run->limit = isnan(known->estimate) ? known->low : known->estimate;
        return nadir_breakdown_refuse(run->context, largest, known);
    }
    return NADIR_OK;
}

/* An L_2 ball. */
static nadir_status search_ball(free_run *run, const nadir_problem *problem, int64_t count,
                                const double *radii, nadir_candidate *candidates)
{
    const nadir_robust_settings *settings = run->settings;
    return nadir_spectral_solve(run->context, problem, run->method, settings->tolerance,
                                settings->iterations_limit, count, radii, candidates);
}

static nadir_status search_spectral(free_run *run)
{
    return search_ball(run, run->problem, run->count, run->radii, run->candidates);
}

/* Lower bounds from the pairs (c, k) found. A bound within half of the allowed width is good enough. The
 * largest radius, which is the last, needs the best proof of the breakdown radius: it goes first. */
static nadir_status bound_spectral(free_run *run)
{
    for (int64_t i = run->count - 1; i >= 0 && run->settings->certify != NADIR_CERTIFY_OFF; i--) {
        nadir_evaluation *evaluation = &run->evaluations[i];
        NADIR_TRY(bound_by_pair(run, run->problem, run->radii[i], &evaluation->candidate,
                                0.5 * run->settings->width, NADIR_BOUND_SPECTRAL, evaluation));
    }
    for (int64_t i = 0; i < run->count; i++) {
        set_breakdown(run, &run->evaluations[i]);
    }
    return NADIR_OK;
}

/* ------------------------------------------------------------------------- non-rectangular, p = 1 */

static nadir_status search_l1(free_run *run)
{
    const bool strict = run->settings->certify == NADIR_CERTIFY_STRICT;
    return nadir_l1_enumeration_solve(run->context, run->problem, strict, run->count, run->radii,
                                      run->candidates, &run->enumerated);
}

static nadir_status bound_l1(free_run *run)
{
    for (int64_t i = 0; i < run->count; i++) {
        nadir_evaluation *evaluation = &run->evaluations[i];
        double lambda_high;
        set_breakdown(run, evaluation);
        if (run->settings->certify != NADIR_CERTIFY_OFF) {
            NADIR_TRY(nadir_l1_bound(run->context, run->problem, run->radii[i], evaluation->candidate.lambda,
                                     &lambda_high));
            nadir_evaluation_take_bound(evaluation, nadir_free_lower(run->problem, lambda_high),
                                        NADIR_PROOF_RIGOROUS, NADIR_BOUND_ENUMERATION);
        }
    }
    return NADIR_OK;
}

/* --------------------------------------------------------------------- non-rectangular, other p */

static nadir_status settle_enclosing(free_run *run)
{
    bool inside;
    NADIR_TRY(nadir_free_enclosing_ball(run->context, run->problem, &run->two, &run->enclosing, &run->wider));
    return nadir_breakdown_settle(run->context, &run->enclosing, run->settings->certify,
                                  run->wider * nadir_vector_largest(run->count, run->radii), &run->known,
                                  &inside);
}

static nadir_status search_best_response(free_run *run)
{
    return nadir_best_response_solve(run->context, run->problem, run->settings->tolerance,
                                     run->settings->iterations_limit, run->count, run->radii,
                                     run->candidates);
}

/* Lower bounds from the L_2 ball that contains the set, for `open` radii: which[j] has radii[j] there. */
static nadir_status bound_open(free_run *run, int64_t open, const int64_t *which, const double *radii,
                               nadir_candidate *candidates)
{
    NADIR_TRY(search_ball(run, &run->enclosing, open, radii, candidates));
    for (int64_t j = open - 1; j >= 0; j--) {
        nadir_evaluation *evaluation = &run->evaluations[which[j]];
        NADIR_TRY(bound_by_pair(run, &run->enclosing, radii[j], &candidates[j], run->settings->width,
                                NADIR_BOUND_ENCLOSING_BALL, evaluation));
        NADIR_TRY(nadir_evaluation_keep_pair(run->context, run->problem->states, candidates[j].c,
                                             candidates[j].k, evaluation));
    }
    return NADIR_OK;
}

/* Radii where the enclosing ball is below breakdown have a bound. */
static nadir_status bound_enclosing(free_run *run)
{
    nadir_status status = NADIR_OK;
    double *radii = NULL;
    int64_t *which = NULL;
    int64_t open = 0;
    const nadir_known_breakdown *known = &run->known;
    const double limit =
        fmax(known->low, isnan(known->estimate) ? 0 : NADIR_BREAKDOWN_CLOSE * known->estimate);
    NADIR_NEW(run->context, radii, run->count);
    NADIR_NEW(run->context, which, run->count);
    for (int64_t i = 0; i < run->count; i++) {
        const double beta = run->radii[i] * run->wider;
        set_breakdown(run, &run->evaluations[i]);
        if (beta < limit && run->settings->certify != NADIR_CERTIFY_OFF) {
            radii[open] = beta;
            which[open++] = i;
        }
    }
    if (open > 0) {
        NADIR_CHECK(bound_open(run, open, which, radii, run->candidates));
    }
cleanup:
    nadir_release(run->context, radii);
    nadir_release(run->context, which);
    return status;
}

/* ------------------------------------------------------------------------------------ rectangular */

static nadir_status search_rectangular(free_run *run)
{
    return nadir_rectangular_free_solve(run->context, run->problem, run->count, run->factors,
                                        run->candidates);
}

static nadir_status bound_rectangular(free_run *run)
{
    for (int64_t i = 0; i < run->count; i++) {
        nadir_evaluation *evaluation = &run->evaluations[i];
        bool exact;
        double lower;
        double breakdown_factor;
        NADIR_TRY(nadir_rectangular_free_bound(run->context, run->problem, run->factors[i],
                                               evaluation->candidate.v, &exact, &lower, &breakdown_factor));
        evaluation->breakdown = breakdown_factor * run->problem->uncertainty->radius;
        evaluation->breakdown_proof = NADIR_BREAKDOWN_CONTRACTION;
        if (run->settings->certify != NADIR_CERTIFY_OFF) {
            evaluation->lower = lower;
            evaluation->proof = exact ? NADIR_PROOF_RIGOROUS : NADIR_PROOF_NONE;
            evaluation->bound = exact          ? NADIR_BOUND_BELLMAN
                                : isinf(lower) ? NADIR_BOUND_NONE
                                               : NADIR_BOUND_CONTRACTION;
        }
    }
    return NADIR_OK;
}

/* -------------------------------------------------- rewards on landing that are not separable */

/* Bounds on the penalty of all kernels of the non-rectangular ball. */
static nadir_status bound_landing(free_run *run, const nadir_problem *problem, nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = run->context;
    const int64_t n = problem->states;
    double lower;
    double t;
    double *pair = NULL;
    NADIR_CHECK(nadir_landing_closed_bound(context, problem, run->settings->certify, &lower));
    nadir_evaluation_take_bound(evaluation, lower, NADIR_PROOF_RIGOROUS, NADIR_BOUND_CONTRACTION);
    NADIR_NEW(context, pair, 2 * n);
    NADIR_CHECK(nadir_landing_shaped_search(context, problem, &t, pair, pair + n));
    NADIR_CHECK(
        nadir_landing_shaped_bound(context, problem, t, pair, pair + n, run->settings->certify, &lower));
    if (lower > evaluation->lower) {
        nadir_evaluation_take_bound(evaluation, lower, NADIR_PROOF_RIGOROUS, NADIR_BOUND_SHAPED);
        evaluation->candidate.tau = t;
        NADIR_CHECK(nadir_evaluation_keep_pair(context, n, pair, pair + n, evaluation));
    }
cleanup:
    nadir_release(context, pair);
    return status;
}

/* problem: with radii times the factor. Bounds of rectangular sets are those of bound_rectangular. */
static nadir_status prove_landing(free_run *run, const nadir_problem *problem, nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    const nadir_candidate *candidate = &evaluation->candidate;
    const nadir_certify certify = run->settings->certify;
    nadir_landing_answer found;
    double *v = NULL; /* with the signs of the model */
    NADIR_NEW(run->context, v, problem->states);
    for (int64_t s = 0; s < problem->states; s++) {
        v[s] = problem->sign * candidate->v[s];
    }
    NADIR_CHECK(nadir_landing_check(run->context, problem, certify, candidate->kernel, v,
                                    certify != NADIR_CERTIFY_OFF ? candidate->tau : 0, &found));
    NADIR_CHECK(begin_bounds(run, found.lower, found.upper, found.minimum, evaluation));
    if (problem->uncertainty->set != NADIR_SET_NONRECT) {
        goto cleanup;
    }
    set_breakdown(run, evaluation);
    evaluation->kappa = found.kappa;
    nadir_evaluation_take_bound(evaluation, found.bound, NADIR_PROOF_RIGOROUS, NADIR_BOUND_SECOND_ORDER);
    if (certify != NADIR_CERTIFY_OFF && !nadir_evaluation_is_close(problem, run->settings, evaluation)) {
        NADIR_CHECK(bound_landing(run, problem, evaluation));
    }
cleanup:
    nadir_release(run->context, v);
    return status;
}

/* The candidate, of the problem without e, is a start of the search. */
static nadir_status evaluate_landing(free_run *run, int64_t i)
{
    nadir_status status = NADIR_OK;
    nadir_evaluation *evaluation = &run->evaluations[i];
    nadir_uncertainty set = *run->problem->uncertainty;
    nadir_problem problem = *run->problem;
    const int64_t count = set.radii == NULL ? 0 : set.set == NADIR_SET_S ? problem.states : problem.rows;
    double *radii = NULL;
    const double begun = nadir_clock_seconds();
    evaluation->candidate = run->candidates[i];
    run->candidates[i] = (nadir_candidate){0};
    NADIR_NEW(run->context, radii, count);
    for (int64_t j = 0; j < count; j++) {
        radii[j] = run->factors[i] * set.radii[j];
    }
    set.radius *= run->factors[i];
    set.radii = count > 0 ? radii : NULL;
    problem.uncertainty = &set;
    NADIR_CHECK(nadir_free_landing_solve(run->context, &problem, run->settings->iterations_limit,
                                         &evaluation->candidate));
    const double searched = nadir_clock_seconds() - begun;
    evaluation->robust_time += searched;
    evaluation->certify_time -= searched; /* it is in the time of the proofs */
    NADIR_CHECK(prove_landing(run, &problem, evaluation));
    if (run->count > 1) { /* kernels of many radii need not be kept, and these have all their rows */
        nadir_kernel_free(evaluation->candidate.kernel);
        evaluation->candidate.kernel = NULL;
    }
cleanup:
    nadir_release(run->context, radii);
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

/* Rewards on landing that are not separable: rows of kernels are written out. */
static nadir_status check_size(nadir_context *context, const nadir_problem *problem)
{
    return problem->landing == 0 || problem->rows <= NADIR_LMO_ROW_COSTS_LIMIT / problem->states
               ? NADIR_OK
               : nadir_fail(
                     context, NADIR_ERROR_UNSUPPORTED,
                     "rewards paid on landing that are not of the form R(s, a) + g(s') write out the rows "
                     "of the kernel on domain free: %lld rows of %lld states are more than %d entries; take "
                     "domain support, or --frozen-rewards",
                     (long long)problem->rows, (long long)problem->states, NADIR_LMO_ROW_COSTS_LIMIT);
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
    if (problem->landing != 0) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "method %s is for rewards of the form R(s, a) + g(s'), and those of the model are not: "
            "leave the method to auto, or take --frozen-rewards",
            name);
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

static void clear_run(free_run *run)
{
    for (int64_t i = 0; run->candidates != NULL && i < run->count; i++) {
        nadir_candidate_clear(run->context, &run->candidates[i]);
    }
    nadir_release(run->context, run->candidates);
    nadir_release(run->context, run->radii);
    nadir_solve_basis_clear(run->context, &run->basis);
    nadir_solve_basis_clear(run->context, &run->basis_transposed);
    nadir_uncertainty_clear(run->context, &run->two);
}

/* Search and proof of one class of sets. */
typedef struct free_row {
    bool rectangular;
    double p;                              /* 0: any that no row above has */
    nadir_status (*settle)(free_run *run); /* breakdown, which may refuse radii; NULL: not needed */
    nadir_status (*search)(free_run *run);
    nadir_status (*bound)(free_run *run);
} free_row;

static const free_row table[] = {
    {true, 0, NULL, search_rectangular, bound_rectangular},
    {false, 1, NULL, search_l1, bound_l1},
    {false, 2, settle_spectral, search_spectral, bound_spectral},
    {false, 0, settle_enclosing, search_best_response, bound_enclosing},
};

/* Search, check of kernels and bounds, by the first row that fits; radii share the time. */
static nadir_status search_and_prove(free_run *run)
{
    const nadir_uncertainty *set = run->problem->uncertainty;
    const free_row *row = table;
    while (row->rectangular != (set->set != NADIR_SET_NONRECT) || (row->p != 0 && row->p != set->p)) {
        row++;
    }
    const double begun = nadir_clock_seconds();
    const bool landing = run->problem->landing != 0;
    NADIR_TRY(row->settle != NULL ? row->settle(run) : NADIR_OK);
    const double settled = nadir_clock_seconds();
    NADIR_TRY(row->search(run));
    const double found = nadir_clock_seconds();
    for (int64_t i = 0; i < run->count; i++) {
        NADIR_TRY(nadir_progress(run->context, "checking kernels", (double)i / (double)run->count));
        NADIR_TRY((landing ? evaluate_landing : check_kernel)(run, i));
    }
    NADIR_TRY(!landing || row->rectangular ? row->bound(run) : NADIR_OK);
    const double proven = nadir_clock_seconds();
    for (int64_t i = 0; i < run->count; i++) {
        run->evaluations[i].robust_time += (found - settled) / (double)run->count;
        run->evaluations[i].certify_time += (proven - found + settled - begun) / (double)run->count;
    }
    return NADIR_OK;
}

/* All `count` radii together; NADIR_ERROR_ILL_POSED when any of them is at or past breakdown. *limit: the
 * breakdown radius, where it was found; else infinity. */
static nadir_status evaluate_together(nadir_context *context, const nadir_problem *problem,
                                      const nadir_robust_settings *settings, int64_t count,
                                      const double *factors, nadir_evaluation *evaluations, double *limit)
{
    nadir_status status = NADIR_OK;
    free_run run = {.context = context,
                    .problem = problem,
                    .settings = settings,
                    .count = count,
                    .factors = factors,
                    .evaluations = evaluations,
                    .wider = 1,
                    .limit = INFINITY};
    NADIR_CHECK(read_method(context, problem, settings->method, &run.method));
    NADIR_CHECK(check_rewards(context, problem));
    NADIR_CHECK(check_size(context, problem));
    NADIR_NEW_ZERO(context, run.candidates, count);
    NADIR_NEW(context, run.radii, count);
    for (int64_t i = 0; i < count; i++) {
        run.radii[i] = factors[i] * problem->uncertainty->radius;
    }
    NADIR_CHECK(search_and_prove(&run));
cleanup:
    clear_run(&run);
    *limit = run.limit;
    return status;
}

/* How many radii, of the first `count`, are below the limit. */
static int64_t count_below(const nadir_problem *problem, int64_t count, const double *factors, double limit)
{
    int64_t below = 0;
    while (below < count && factors[below] * problem->uncertainty->radius < limit) {
        below++;
    }
    return below;
}

/* The first radii are below breakdown and the others are not. At p = 2 the breakdown radius tells how many are.
 * For other norms only the search itself notices that a radius is too large: the number is found by halving.
 * `refused` radii and more have no answer; the first `admissible` have one. The last refusal stays in the
 * context. */
nadir_status nadir_free_evaluate(nadir_context *context, const nadir_problem *problem,
                                 const nadir_robust_settings *settings, int64_t count, const double *factors,
                                 nadir_evaluation *evaluations)
{
    int64_t admissible = 0;
    int64_t refused = count + 1;
    int64_t many = count;
    double breakdown = INFINITY;
    for (;;) {
        double limit;
        const nadir_status status =
            evaluate_together(context, problem, settings, many, factors, evaluations, &limit);
        if (status == NADIR_OK) {
            admissible = many;
        } else if (status == NADIR_ERROR_ILL_POSED) {
            breakdown = fmin(limit, factors[many - 1] * problem->uncertainty->radius);
            const int64_t below = isinf(limit) ? many : count_below(problem, many, factors, breakdown);
            refused = below < many ? below + 1 : many;
        } else {
            return status;
        }
        if (admissible + 1 == refused && (status == NADIR_OK || refused == 1)) {
            break;
        }
        nadir_evaluations_clear(context, count, evaluations);
        many = isfinite(limit) || admissible + 1 == refused ? refused - 1
                                                            : admissible + (refused - admissible) / 2;
    }
    for (int64_t i = admissible; i < count; i++) {
        nadir_evaluation_clear(context, &evaluations[i]);
        evaluations[i] = (nadir_evaluation){.refused = true, .breakdown = breakdown};
    }
    return NADIR_OK;
}
