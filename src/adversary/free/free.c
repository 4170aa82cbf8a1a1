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
#include "adversary/free/breakdown.h"
#include "adversary/free/rectangular_free.h"
#include "adversary/free/spectral.h"
#include "adversary/free/strike.h"
#include "adversary/verdict.h"
#include "base/clock.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Up to so many states D is formed without being asked: its columns cost about as much as the factors. */
#define COLUMNS_STATES 400

/* A radius this close to an estimate of breakdown counts as past it. */
#define BREAKDOWN_CLOSE (1 - 1e-9)

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
    return run->settings->certify == NADIR_CERTIFY_STRICT || run->problem->states <= COLUMNS_STATES;
}

/* What is known of the breakdown radius at p = 2, and how. */
typedef struct breakdown {
    double low; /* proven */
    nadir_breakdown_proof proof;
    double estimate; /* by Lanczos; NaN: not made */
} breakdown;

static nadir_status raise_breakdown(free_run *run, const nadir_problem *problem, nadir_breakdown_proof proof,
                                    double beta, breakdown *known)
{
    double low = 0;
    const nadir_status status = nadir_breakdown_low(run->context, problem, proof, beta, &low);
    known->low = fmax(known->low, low);
    known->proof = proof;
    return status;
}

/* The exact one, once. */
static nadir_status estimate_breakdown(free_run *run, const nadir_problem *problem, breakdown *known)
{
    nadir_status status = NADIR_OK;
    bool converged = false;
    if (!isnan(known->estimate)) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_breakdown_exact(run->context, problem, &known->estimate, &converged));
    if (!converged) {
        known->estimate = NAN;
    }
cleanup:
    return status;
}

/* For the problem's own norm: exactly where that was asked, proven otherwise. */
static void set_breakdown(const free_run *run, const nadir_problem *problem, const breakdown *known,
                          nadir_verdict *verdict)
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
                                     breakdown *known, bool *inside)
{
    nadir_status status = NADIR_OK;
    *known = (breakdown){.estimate = NAN};
    NADIR_CHECK(raise_breakdown(run, problem, NADIR_BREAKDOWN_PRODUCTS, beta, known));
    if (beta >= known->low && may_form_columns(run)) {
        NADIR_CHECK(raise_breakdown(run, problem, NADIR_BREAKDOWN_COLUMNS, beta, known));
    }
    if (run->settings->certify == NADIR_CERTIFY_STRICT || beta >= known->low) {
        NADIR_CHECK(estimate_breakdown(run, problem, known));
    }
    *inside = beta < known->low || (!isnan(known->estimate) && beta < BREAKDOWN_CLOSE * known->estimate);
cleanup:
    return status;
}

/* ------------------------------------------------------------------------------------------ p = 2 */

/* lambda_high of one pair, by isolation with what is proven of breakdown; then with dearer proofs; then with
 * the estimate. */
static nadir_status bound_penalty(free_run *run, const nadir_problem *problem, double beta, const double *c,
                                  const double *k, double wanted, breakdown *known, double *lambda_high,
                                  nadir_proof *proof)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = run->context;
    const nadir_breakdown_proof last =
        may_form_columns(run) ? NADIR_BREAKDOWN_CHOLESKY : NADIR_BREAKDOWN_PRODUCTS;
    double high = INFINITY;
    *lambda_high = INFINITY;
    *proof = NADIR_PROOF_RIGOROUS;
    for (;;) {
        if (beta < known->low) {
            NADIR_CHECK(nadir_spectral_check(context, problem, beta, c, k, known->low, &high));
            *lambda_high = fmin(*lambda_high, high);
        }
        if (*lambda_high <= wanted || known->proof >= last) {
            break;
        }
        NADIR_CHECK(raise_breakdown(run, problem, known->proof + 1, beta, known));
    }
    if (*lambda_high > wanted && beta < known->low && may_form_columns(run)) {
        NADIR_CHECK(nadir_spectral_check_dense(context, problem, beta, c, k, known->low, &high));
        *lambda_high = fmin(*lambda_high, high);
    }
    if (*lambda_high > wanted) {
        NADIR_CHECK(estimate_breakdown(run, problem, known));
        if (beta < BREAKDOWN_CLOSE * known->estimate) {
            NADIR_CHECK(
                nadir_spectral_check(context, problem, beta, c, k, BREAKDOWN_CLOSE * known->estimate, &high));
            if (high < *lambda_high) {
                *lambda_high = high;
                *proof = NADIR_PROOF_NUMERICAL;
            }
        }
    }
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
    if (isinf(lambda_high)) {
        return;
    }
    const double rounding = 2 * DBL_EPSILON * (fabs(problem->J) + fabs(lambda_high));
    verdict->lower = problem->J - problem->J_error - lambda_high - rounding;
    verdict->proof = proof;
    verdict->bound = bound;
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
    breakdown known;
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
            NADIR_CHECK(bound_penalty(run, problem, run->radii[i], verdict->attack.c, verdict->attack.k,
                                      wanted_penalty(run, &verdict->attack), &known, &lambda_high, &proof));
            set_lower(problem, lambda_high, proof, "spectral", verdict);
        }
    }
    for (int64_t i = 0; i < run->count; i++) {
        run->verdicts[i].breakdown = run->settings->certify == NADIR_CERTIFY_STRICT && !isnan(known.estimate)
                                         ? known.estimate
                                         : known.low;
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

/* The same problem with the L_2 ball instead. */
static nadir_status enclose(nadir_context *context, const nadir_problem *problem, nadir_uncertainty *two,
                            nadir_problem *enclosing)
{
    const nadir_uncertainty *own = problem->uncertainty;
    const nadir_ball ball = {
        .size = sizeof ball,
        .set = NADIR_SET_NONRECT,
        .domain = own->domain,
        .norm = 2,
        .radius = &own->radius,
        .radius_count = 1,
        .scales = own->scales,
    };
    const nadir_status status = nadir_uncertainty_make(context, problem->model, problem->policy, &ball, two);
    *enclosing = *problem;
    enclosing->uncertainty = two;
    return status;
}

/* Lower bounds for the radii through the enclosing ball, where it stays below breakdown. */
static nadir_status bound_by_enclosing(free_run *run, const nadir_problem *enclosing, double wider,
                                       breakdown *known)
{
    nadir_status status = NADIR_OK;
    nadir_attack attack = {0};
    const int64_t states = enclosing->states;
    for (int64_t i = 0; i < run->count; i++) {
        nadir_verdict *verdict = &run->verdicts[i];
        const double beta = run->radii[i] * wider * (1 + 4 * DBL_EPSILON);
        double lambda_high;
        nadir_proof proof;
        if (beta >= fmax(known->low, isnan(known->estimate) ? 0 : BREAKDOWN_CLOSE * known->estimate)) {
            continue;
        }
        NADIR_CHECK(search_spectral(run, enclosing, 1, &beta, &attack));
        NADIR_CHECK(bound_penalty(run, enclosing, beta, attack.c, attack.k,
                                  attack.lambda * (1 + run->settings->width), known, &lambda_high, &proof));
        set_lower(run->problem, lambda_high, proof, "enclosing-ball", verdict);
        NADIR_NEW(run->context, verdict->enclosing, 2 * states);
        memcpy(verdict->enclosing, attack.c, (size_t)states * sizeof *attack.c);
        memcpy(verdict->enclosing + states, attack.k, (size_t)states * sizeof *attack.k);
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
    const double p = problem->uncertainty->p;
    const double wider = p > 2 ? pow((double)problem->uncertainty->entries, 0.5 - 1 / p) : 1;
    nadir_attack *attacks = NULL;
    nadir_uncertainty two = {0};
    nadir_problem enclosing;
    breakdown known;
    bool inside;
    const double begun = nadir_clock_seconds();
    NADIR_NEW_ZERO(run->context, attacks, run->count);
    NADIR_CHECK(enclose(run->context, problem, &two, &enclosing));
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
