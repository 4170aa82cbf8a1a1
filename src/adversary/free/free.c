/*
 * free.c: robust evaluation on the free domain: which search and which proof for which set and norm.
 *
 *     non-rectangular   p = 2   spectral search, spectral proof
 *                       p = 1   enumeration, which is its own proof (made a second time by other code)
 *                       other   best response; bound by the enclosing L_2 ball,
 *                               U_p(beta) in U_2(beta n^max(0, 1/2 - 1/p)), n the number of entries
 *     rectangular               scalar equation; exact where all occupancies stay positive
 */
#include "adversary/check/check_rank_one.h"
#include "adversary/free/best_response.h"
#include "adversary/free/penalty.h"
#include "adversary/free/rectangular_free.h"
#include "adversary/free/spectral.h"
#include "adversary/free/strike.h"
#include "adversary/verdict.h"
#include "base/clock.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* One evaluation: what all its steps share. */
typedef struct free_run {
    nadir_context *context;
    const nadir_problem *problem;
    const nadir_robust_settings *settings;
    int64_t count;
    double *radii; /* [count] */
    nadir_verdict *verdicts;
} free_run;

static double largest_of(int64_t count, const double *numbers)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, numbers[i]);
    }
    return largest;
}

static bool may_form_columns(const free_run *run)
{
    return run->settings->certify == NADIR_CERTIFY_STRICT || run->problem->states <= NADIR_COLUMNS_STATES;
}

/* For the problem's own norm: exactly where that was asked, proven otherwise. */
static void set_breakdown(const free_run *run, const nadir_problem *problem,
                          const nadir_breakdown_known *known, nadir_verdict *verdict)
{
    static const char *const names[] = {"products", "columns", "cholesky"};
    const bool exact = run->settings->certify == NADIR_CERTIFY_STRICT && !isnan(known->estimate);
    verdict->breakdown = nadir_breakdown_for_norm(problem, exact ? known->estimate : known->low);
    verdict->breakdown_proof = exact ? "lanczos" : names[known->proof];
}

static nadir_status refuse(nadir_context *context, double radius, double limit)
{
    return nadir_fail(
        context, NADIR_ERROR_ILL_POSED,
        "the radius is %.17g, but breakdown is at %.17g: there some kernel of the ball makes I - gamma P "
        "singular and the return is unbounded; take a smaller radius, or domain simplex or support",
        radius, limit);
}

/* Whether the ball of radius `beta` at p = 2 stays below breakdown: proven cheaply if possible. *inside:
 * false when it does not, as far as can be told. */
static nadir_status settle_breakdown(free_run *run, const nadir_problem *problem, double beta,
                                     nadir_breakdown_known *known, bool *inside)
{
    nadir_status status = NADIR_OK;
    *known = (nadir_breakdown_known){.estimate = NAN};
    NADIR_CHECK(nadir_breakdown_raise(run->context, problem, NADIR_BREAKDOWN_PRODUCTS, beta, known));
    if (beta >= known->low && may_form_columns(run)) {
        NADIR_CHECK(nadir_breakdown_raise(run->context, problem, NADIR_BREAKDOWN_COLUMNS, beta, known));
    }
    if (run->settings->certify == NADIR_CERTIFY_STRICT || beta >= known->low) {
        NADIR_CHECK(nadir_breakdown_estimate(run->context, problem, known));
    }
    *inside =
        beta < known->low || (!isnan(known->estimate) && beta < NADIR_BREAKDOWN_CLOSE * known->estimate);
cleanup:
    return status;
}

/* ------------------------------------------------------------------------------------------ all p */

/* The kernel found, recomputed by other code: it lies in the set, and this is its return. */
static nadir_status check_kernel(free_run *run, double factor, nadir_verdict *verdict)
{
    nadir_status status = NADIR_OK;
    nadir_rank_one_check check;
    const bool refactor = run->settings->certify == NADIR_CERTIFY_STRICT;
    NADIR_CHECK(nadir_rank_one_check_kernel(run->context, run->problem, factor, verdict->attack.kernel,
                                            refactor, &check));
    verdict->upper = check.upper;
    verdict->minimum = check.minimum;
    verdict->lower = -INFINITY;
    verdict->proof = NADIR_PROOF_NONE;
    verdict->bound = "none";
    verdict->kappa = NAN;
cleanup:
    return status;
}

/* lower <- J - lambda_high, rounded down. */
static void set_lower(const nadir_problem *problem, double lambda_high, nadir_proof proof, const char *bound,
                      nadir_verdict *verdict)
{
    if (!isinf(lambda_high)) {
        verdict->lower = nadir_penalty_lower(problem, lambda_high);
        verdict->proof = proof;
        verdict->bound = bound;
    }
}

/* The largest penalty that bounds may leave open for the result to be certified, less a little. */
static double wanted_penalty(const free_run *run, const nadir_attack *attack)
{
    return attack->lambda * (1 + 0.5 * run->settings->width);
}

static void hand_over(nadir_attack *attack, nadir_verdict *verdict)
{
    verdict->attack = *attack;
    *attack = (nadir_attack){0};
}

static void clear_attacks(const free_run *run, nadir_attack *attacks)
{
    for (int64_t i = 0; attacks != NULL && i < run->count; i++) {
        nadir_attack_clear(run->context, &attacks[i]);
    }
    nadir_release(run->context, attacks);
}

static void share_time(free_run *run, double robust, double certify)
{
    for (int64_t i = 0; i < run->count; i++) {
        run->verdicts[i].robust_time += robust / (double)run->count;
        run->verdicts[i].certify_time += certify / (double)run->count;
    }
}

/* ------------------------------------------------------------------------- non-rectangular, p = 2 */

static nadir_spectral_method spectral_method(const nadir_robust_settings *settings)
{
    const char *name = settings->method;
    if (name != NULL && strcmp(name, "bisect") == 0) {
        return NADIR_SPECTRAL_BISECT;
    }
    return name != NULL && strcmp(name, "best-response") == 0 ? NADIR_SPECTRAL_BEST_RESPONSE
                                                              : NADIR_SPECTRAL_NEWTON;
}

static nadir_status search_spectral(free_run *run, const nadir_problem *problem, int64_t count,
                                    const double *radii, nadir_attack *attacks)
{
    const nadir_robust_settings *settings = run->settings;
    return nadir_spectral_solve(run->context, problem, spectral_method(settings), settings->tolerance,
                                settings->iterations_limit, count, radii, attacks);
}

static nadir_status evaluate_spectral(free_run *run, const double *factors)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = run->problem;
    nadir_attack *attacks = NULL;
    nadir_breakdown_known known;
    bool inside;
    const double largest = largest_of(run->count, run->radii);
    const double begun = nadir_clock_seconds();
    NADIR_NEW_ZERO(run->context, attacks, run->count);
    NADIR_CHECK(settle_breakdown(run, problem, largest, &known, &inside));
    if (!inside) {
        status = refuse(run->context, largest, isnan(known.estimate) ? known.low : known.estimate);
        goto cleanup;
    }
    const double settled = nadir_clock_seconds();
    NADIR_CHECK(search_spectral(run, problem, run->count, run->radii, attacks));
    const double found = nadir_clock_seconds();
    for (int64_t i = 0; i < run->count; i++) {
        nadir_verdict *verdict = &run->verdicts[i];
        hand_over(&attacks[i], verdict);
        NADIR_CHECK(check_kernel(run, factors[i], verdict));
        if (run->settings->certify != NADIR_CERTIFY_OFF) {
            double lambda_high;
            nadir_proof proof;
            NADIR_CHECK(nadir_penalty_bound(
                run->context, problem, run->radii[i], verdict->attack.c, verdict->attack.k,
                may_form_columns(run), wanted_penalty(run, &verdict->attack), &known, &lambda_high, &proof));
            set_lower(problem, lambda_high, proof, "spectral", verdict);
        }
    }
    for (int64_t i = 0; i < run->count; i++) {
        set_breakdown(run, problem, &known, &run->verdicts[i]);
    }
    share_time(run, found - settled, nadir_clock_seconds() - found + settled - begun);
cleanup:
    clear_attacks(run, attacks);
    return status;
}

/* ------------------------------------------------------------------------- non-rectangular, p = 1 */

static nadir_status evaluate_strike(free_run *run, const double *factors)
{
    nadir_status status = NADIR_OK;
    nadir_attack *attacks = NULL;
    nadir_strike_facts *facts = NULL;
    const bool strict = run->settings->certify == NADIR_CERTIFY_STRICT;
    const double begun = nadir_clock_seconds();
    NADIR_NEW_ZERO(run->context, attacks, run->count);
    NADIR_NEW_ZERO(run->context, facts, run->count);
    NADIR_CHECK(
        nadir_strike_solve(run->context, run->problem, strict, run->count, run->radii, attacks, facts));
    const double found = nadir_clock_seconds();
    for (int64_t i = 0; i < run->count; i++) {
        nadir_verdict *verdict = &run->verdicts[i];
        double lambda_high = facts[i].lambda_high;
        hand_over(&attacks[i], verdict);
        verdict->breakdown = facts[i].breakdown_low;
        verdict->breakdown_proof = "enumeration";
        NADIR_CHECK(check_kernel(run, factors[i], verdict));
        if (run->settings->certify != NADIR_CERTIFY_OFF) {
            NADIR_CHECK(nadir_strike_check(run->context, run->problem, run->radii[i], verdict->attack.lambda,
                                           &lambda_high));
            set_lower(run->problem, lambda_high, NADIR_PROOF_RIGOROUS, "enumeration", verdict);
        }
    }
    share_time(run, found - begun, nadir_clock_seconds() - found);
cleanup:
    clear_attacks(run, attacks);
    nadir_release(run->context, facts);
    return status;
}

/* --------------------------------------------------------------------- non-rectangular, other p */

/* Lower bounds for the radii through the enclosing ball, where it stays below breakdown. */
static nadir_status bound_by_enclosing(free_run *run, const nadir_problem *enclosing, double wider,
                                       nadir_breakdown_known *known)
{
    nadir_status status = NADIR_OK;
    nadir_attack attack = {0};
    for (int64_t i = 0; i < run->count; i++) {
        nadir_verdict *verdict = &run->verdicts[i];
        const double beta = run->radii[i] * wider;
        double lambda_high;
        nadir_proof proof;
        if (beta >= fmax(known->low, isnan(known->estimate) ? 0 : NADIR_BREAKDOWN_CLOSE * known->estimate)) {
            continue;
        }
        NADIR_CHECK(search_spectral(run, enclosing, 1, &beta, &attack));
        NADIR_CHECK(nadir_penalty_bound(run->context, enclosing, beta, attack.c, attack.k,
                                        may_form_columns(run), attack.lambda * (1 + run->settings->width),
                                        known, &lambda_high, &proof));
        set_lower(run->problem, lambda_high, proof, "enclosing-ball", verdict);
        NADIR_CHECK(nadir_verdict_keep_pair(run->context, enclosing->states, attack.c, attack.k, verdict));
        nadir_attack_clear(run->context, &attack);
    }
cleanup:
    nadir_attack_clear(run->context, &attack);
    return status;
}

static nadir_status evaluate_best_response(free_run *run, const double *factors)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = run->problem;
    nadir_attack *attacks = NULL;
    nadir_uncertainty two = {0};
    nadir_problem enclosing;
    nadir_breakdown_known known;
    double wider;
    bool inside;
    const double begun = nadir_clock_seconds();
    NADIR_NEW_ZERO(run->context, attacks, run->count);
    NADIR_CHECK(nadir_enclosing_ball(run->context, problem, &two, &enclosing, &wider));
    NADIR_CHECK(
        settle_breakdown(run, &enclosing, wider * largest_of(run->count, run->radii), &known, &inside));
    const double settled = nadir_clock_seconds();
    NADIR_CHECK(nadir_best_response_solve(run->context, problem, run->settings->tolerance,
                                          run->settings->iterations_limit, run->count, run->radii, attacks));
    const double found = nadir_clock_seconds();
    for (int64_t i = 0; i < run->count; i++) {
        hand_over(&attacks[i], &run->verdicts[i]);
        NADIR_CHECK(check_kernel(run, factors[i], &run->verdicts[i]));
        set_breakdown(run, problem, &known, &run->verdicts[i]);
    }
    if (run->settings->certify != NADIR_CERTIFY_OFF) {
        NADIR_CHECK(bound_by_enclosing(run, &enclosing, wider, &known));
    }
    share_time(run, found - settled, nadir_clock_seconds() - found + settled - begun);
cleanup:
    clear_attacks(run, attacks);
    nadir_uncertainty_clear(run->context, &two);
    return status;
}

/* ------------------------------------------------------------------------------------ rectangular */

static nadir_status evaluate_rectangular(free_run *run, const double *factors)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = run->problem;
    nadir_attack *attacks = NULL;
    const double begun = nadir_clock_seconds();
    NADIR_NEW_ZERO(run->context, attacks, run->count);
    NADIR_CHECK(nadir_rectangular_free_solve(run->context, problem, run->count, factors, attacks));
    const double found = nadir_clock_seconds();
    for (int64_t i = 0; i < run->count; i++) {
        nadir_verdict *verdict = &run->verdicts[i];
        bool exact;
        double lower;
        double breakdown_factor;
        hand_over(&attacks[i], verdict);
        NADIR_CHECK(check_kernel(run, factors[i], verdict));
        NADIR_CHECK(nadir_rectangular_free_check(run->context, problem, factors[i], verdict->attack.v, &exact,
                                                 &lower, &breakdown_factor));
        verdict->breakdown = breakdown_factor * problem->uncertainty->radius;
        verdict->breakdown_proof = "contraction";
        if (run->settings->certify != NADIR_CERTIFY_OFF) {
            verdict->lower = lower;
            verdict->proof = exact ? NADIR_PROOF_RIGOROUS : NADIR_PROOF_NONE;
            verdict->bound = exact ? "bellman" : isinf(lower) ? "none" : "contraction";
        }
    }
    share_time(run, found - begun, nadir_clock_seconds() - found);
cleanup:
    clear_attacks(run, attacks);
    return status;
}

/* ------------------------------------------------------------------------------------------------ */

static nadir_status check_method(nadir_context *context, const nadir_problem *problem, const char *method)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const bool spectral = set->set == NADIR_SET_NONRECT && set->p == 2;
    const bool alternates = set->set == NADIR_SET_NONRECT && set->p != 1;
    if (method == NULL || strcmp(method, "auto") == 0) {
        return NADIR_OK;
    }
    if (strcmp(method, "best-response") == 0 ? alternates : spectral) {
        return NADIR_OK;
    }
    return nadir_fail(
        context, NADIR_ERROR_UNSUPPORTED,
        "method %s is for the non-rectangular ball on the free domain with %s; leave the method "
        "to auto here",
        method, strcmp(method, "best-response") == 0 ? "a norm between 1 and inf" : "norm 2");
}

nadir_status nadir_free_evaluate(nadir_context *context, const nadir_problem *problem,
                                 const nadir_robust_settings *settings, int64_t count, const double *factors,
                                 nadir_verdict *verdicts)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    free_run run = {context, problem, settings, count, NULL, verdicts};
    NADIR_CHECK(check_method(context, problem, settings->method));
    NADIR_NEW(context, run.radii, count);
    for (int64_t i = 0; i < count; i++) {
        run.radii[i] = factors[i] * set->radius;
    }
    if (set->set != NADIR_SET_NONRECT) {
        status = evaluate_rectangular(&run, factors);
    } else if (set->p == 1) {
        status = evaluate_strike(&run, factors);
    } else if (set->p == 2) {
        status = evaluate_spectral(&run, factors);
    } else {
        status = evaluate_best_response(&run, factors);
    }
cleanup:
    nadir_release(context, run.radii);
    return status;
}
