/*
 * evaluate.c: robust evaluation of the non-rectangular ball on the domains simplex and support: search,
 * proof, and the checks of the kernel.
 *
 * The free domain comes first where it can help: its worst kernel is found and proven at the cost of a few
 * solves. If it is a kernel of the domain it is the answer here too, since the set here is a part of that
 * one; if not, its return is still a lower bound.
 */
#include "adversary/check/membership.h"
#include "adversary/valid/proof.h"
#include "adversary/valid/search.h"
#include "adversary/verdict.h"
#include "base/clock.h"

#include <math.h>
#include <string.h>

/* A proof gets this many attempts: each failure may show a better start for the search. */
#define ATTEMPTS 3

typedef struct valid_run {
    nadir_context *context;
    const nadir_problem *problem;
    const nadir_robust_settings *settings;
    double beta, factor;
    nadir_verdict *verdict;
} valid_run;

/* Whether the worst kernel of the free domain has a chance to be one of this domain, and is cheaply proven:
 * at p = 2 it changes every entry of a row. */
static bool free_may_help(const nadir_problem *problem)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_model *model = problem->model;
    return set->p == 1 || (set->p == 2 && model->nonzeros == model->rows * model->states);
}

/* *done: the verdict is complete. *lower: a bound in any case, with its proof. */
static nadir_status try_free(valid_run *run, bool *done, double *lower, nadir_proof *proof)
{
    nadir_status status = NADIR_OK;
    nadir_uncertainty set = *run->problem->uncertainty;
    nadir_problem problem = *run->problem;
    nadir_robust_settings settings = *run->settings;
    nadir_verdict verdict = {0};
    nadir_membership membership;
    *done = false;
    *lower = -INFINITY;
    *proof = NADIR_PROOF_NONE;
    set.domain = NADIR_DOMAIN_FREE;
    problem.uncertainty = &set;
    settings.certify = NADIR_CERTIFY_AUTO;
    status = nadir_free_evaluate(run->context, &problem, &settings, 1, &run->factor, &verdict);
    if (status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED) {
        status = NADIR_OK; /* past breakdown there is nothing to learn from it */
        goto cleanup;
    }
    NADIR_CHECK(status);
    *lower = verdict.lower;
    *proof = verdict.proof;
    run->verdict->robust_time += verdict.robust_time;
    run->verdict->certify_time += verdict.certify_time;
    if (verdict.minimum < 0 || !nadir_verdict_is_close(&problem, &settings, &verdict)) {
        goto cleanup;
    }
    NADIR_CHECK(nadir_membership_measure(run->context, verdict.attack.kernel, run->problem->uncertainty,
                                         run->factor, &membership));
    *done = run->problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX || membership.off_support == 0;
    if (*done) {
        const double robust = run->verdict->robust_time;
        const double certify = run->verdict->certify_time;
        *run->verdict = verdict;
        verdict = (nadir_verdict){0};
        run->verdict->robust_time = robust;
        run->verdict->certify_time = certify;
        run->verdict->breakdown = NAN;
        run->verdict->breakdown_proof = NULL;
    }
cleanup:
    nadir_verdict_clear(run->context, &verdict);
    return status;
}

/* The lower bound that would do for `certified`. */
static double wanted_lower(const valid_run *run)
{
    const double J = run->verdict->attack.J;
    return J - 0.5 * run->settings->width * (run->problem->J - J);
}

static void take_bound(nadir_verdict *verdict, double lower, nadir_proof proof, const char *bound)
{
    if (lower > verdict->lower) {
        verdict->lower = lower;
        verdict->proof = proof;
        verdict->bound = bound;
    }
}

/* First-order stationarity to well below the width, where the proof will form columns. */
static nadir_status polish(valid_run *run)
{
    const bool small = run->problem->states <= NADIR_PROOF_STATES;
    if (!small && run->settings->certify != NADIR_CERTIFY_STRICT) {
        return NADIR_OK;
    }
    const double penalty = run->problem->J - run->verdict->attack.J;
    return nadir_descent_polish(run->context, run->problem, run->beta, 1e-3 * run->settings->width * penalty,
                                &run->verdict->attack);
}

/* From the answers of the Lagrangian bound that the proof has found. */
static nadir_status search_again(valid_run *run, const nadir_valid_proof *proof, bool *better)
{
    nadir_status status = NADIR_OK;
    nadir_lagrangian lagrangian = {0};
    const nadir_robust_settings *settings = run->settings;
    NADIR_CHECK(
        nadir_lagrangian_solve(run->context, run->problem, run->beta, proof->d_bar, proof->tau, &lagrangian));
    NADIR_CHECK(nadir_valid_search_again(run->context, run->problem, run->beta, &lagrangian,
                                         settings->tolerance, settings->iterations_limit,
                                         &run->verdict->attack, better));
cleanup:
    nadir_lagrangian_clear(run->context, &lagrangian);
    return status;
}

/* Proofs, and further searches from what they show. */
static nadir_status certify(valid_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_valid_proof proof = {0};
    nadir_verdict *verdict = run->verdict;
    const nadir_robust_settings *settings = run->settings;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        bool better = false;
        nadir_valid_proof_clear(run->context, &proof);
        NADIR_CHECK(polish(run));
        NADIR_CHECK(nadir_valid_prove(run->context, run->problem, run->beta, &verdict->attack,
                                      settings->certify, wanted_lower(run), &proof));
        if (proof.lower < wanted_lower(run) && proof.v_tau != NULL) {
            NADIR_CHECK(search_again(run, &proof, &better));
        }
        if (!better) {
            break;
        }
    }
    NADIR_CHECK(nadir_verdict_check_valid(run->context, run->problem, run->factor, verdict));
    take_bound(verdict, proof.lower, proof.proof, proof.bound);
    verdict->kappa = proof.kappa;
    verdict->d_bar = proof.d_bar;
    proof.d_bar = NULL;
cleanup:
    nadir_valid_proof_clear(run->context, &proof);
    return status;
}

static nadir_status evaluate_one(valid_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_verdict *verdict = run->verdict;
    const nadir_robust_settings *settings = run->settings;
    double lower = -INFINITY;
    nadir_proof proof = NADIR_PROOF_NONE;
    bool done = false;
    if (free_may_help(run->problem)) {
        NADIR_CHECK(try_free(run, &done, &lower, &proof));
    }
    if (done) {
        goto cleanup;
    }
    const double begun = nadir_clock_seconds();
    NADIR_CHECK(nadir_valid_search(run->context, run->problem, run->beta, settings->tolerance,
                                   settings->iterations_limit, &verdict->attack));
    const double found = nadir_clock_seconds();
    verdict->robust_time += found - begun;
    verdict->breakdown = NAN;
    verdict->kappa = NAN;
    NADIR_CHECK(nadir_verdict_check_valid(run->context, run->problem, run->factor, verdict));
    if (settings->certify != NADIR_CERTIFY_OFF) {
        NADIR_CHECK(certify(run));
    }
    take_bound(verdict, lower, proof, "free-domain");
    verdict->certify_time += nadir_clock_seconds() - found;
cleanup:
    return status;
}

nadir_status nadir_valid_evaluate(nadir_context *context, const nadir_problem *problem,
                                  const nadir_robust_settings *settings, int64_t count, const double *factors,
                                  nadir_verdict *verdicts)
{
    nadir_status status = NADIR_OK;
    if (settings->method != NULL && strcmp(settings->method, "auto") != 0) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "method %s is for the free domain; leave the method to auto here",
                          settings->method);
    }
    for (int64_t i = 0; i < count; i++) {
        valid_run run = {context,    problem,     settings, factors[i] * problem->uncertainty->radius,
                         factors[i], &verdicts[i]};
        NADIR_CHECK(evaluate_one(&run));
    }
cleanup:
    return status;
}
