/*
 * certify.c: bounds around the worst kernel that a search found for one radius, non-rectangular ball on the
 * domains simplex and support: one loop over the proofs of strategy.c.
 *
 * No number of the search is trusted: bounds follow from the kernel and a witness by the steps of
 * proof/derivation.h. All proofs of a candidate add steps to one derivation. A proof that fails may show a
 * better start for the search.
 */
#include "core/context.h"
#include "linalg/distributed.h"
#include "robust/strategy.h"
#include "search/frank_wolfe.h"
#include "search/lagrangian_search.h"
#include "search/second_order_search.h"

#include <math.h>
#include <string.h>

static void clear_proofs(nadir_valid_run *run)
{
    nadir_derivation_clear(run->context, &run->derivation);
    nadir_certificate_clear(run->context, &run->proof);
    run->proof = (nadir_certificate){.lower = -INFINITY, .kappa = NAN};
}

void nadir_valid_run_clear(nadir_valid_run *run)
{
    clear_proofs(run);
    nadir_evaluation_clear(run->context, &run->free);
}

/* The lower bound that certifies the candidate. */
static double wanted_lower(const nadir_valid_run *run)
{
    const double J = run->evaluation->candidate.J;
    return J - 0.5 * run->settings->width * (run->problem->J - J);
}

static bool is_iterative(const nadir_valid_run *run)
{
    return nadir_occupancy_iterates(run->problem->occupancy);
}

/* ----------------------------------------------------------------------------------------- needs */

static bool has_second_order(const nadir_valid_run *run)
{
    const double tau = run->evaluation->candidate.tau;
    return run->problem->uncertainty->p == 2 && tau > 0 && isfinite(tau);
}

static bool has_columns(const nadir_valid_run *run)
{
    const bool few = run->problem->states <= NADIR_PROOF_STATES;
    return run->problem->model->exchange == NULL && (few || run->settings->certify == NADIR_CERTIFY_STRICT);
}

static bool is_sparse(const nadir_problem *problem)
{
    return problem->uncertainty->domain == NADIR_DOMAIN_SUPPORT && problem->model->dense == NULL;
}

static bool can_list_rows(const nadir_valid_run *run)
{
    const double dense = (double)run->problem->rows * (double)run->problem->states;
    return is_sparse(run->problem) || nadir_allreduce_maximum(run->context, dense) <= NADIR_PROOF_ENTRIES;
}

static bool has_needs(const nadir_valid_run *run, int needs)
{
    return (!(needs & NADIR_NEEDS_AUTO) || run->settings->certify == NADIR_CERTIFY_AUTO) &&
           (!(needs & NADIR_NEEDS_SECOND_ORDER) || has_second_order(run)) &&
           (!(needs & NADIR_NEEDS_COLUMNS) || has_columns(run)) &&
           (!(needs & NADIR_NEEDS_LARGE) || !has_columns(run)) &&
           (!(needs & NADIR_NEEDS_LISTED_ROWS) || can_list_rows(run)) &&
           (!(needs & NADIR_NEEDS_ONE_PROCESS) || run->problem->model->exchange == NULL) &&
           (!(needs & NADIR_NEEDS_KAPPA_PATH) || run->kappa_path != NULL) &&
           (!(needs & NADIR_NEEDS_HOPE) || !run->proof.hopeless) &&
           (!(needs & NADIR_NEEDS_NO_HOPE) || run->proof.hopeless);
}

nadir_status nadir_valid_try(nadir_valid_run *run, int stage)
{
    nadir_status status = NADIR_OK;
    for (const nadir_proof_row *row = nadir_proof_table; row->name != NULL; row++) {
        if ((row->stages & stage) && has_needs(run, row->needs)) {
            NADIR_CHECK(row->prove(run));
            if (run->proof.lower >= run->wanted) {
                break;
            }
        }
    }
cleanup:
    return status;
}

/* ---------------------------------------------------------------------------------------- proofs */

static nadir_status begin_derivation(nadir_valid_run *run)
{
    if (run->derivation.problem != NULL) {
        return NADIR_OK;
    }
    nadir_certificate_clear(run->context, &run->proof);
    return nadir_derivation_make(run->context, run->problem, run->beta, &run->evaluation->candidate,
                                 run->kappa_path != NULL ? &run->kappa_path->bounds : NULL, &run->proof,
                                 &run->derivation);
}

nadir_status nadir_prove_free(nadir_valid_run *run)
{
    return run->free_is_known ? NADIR_OK : nadir_valid_ask_free(1, run);
}

nadir_status nadir_prove_kappa_path(nadir_valid_run *run)
{
    nadir_certificate_clear(run->context, &run->proof);
    return nadir_kappa_path_search(run->context, run->kappa_path, run->beta, &run->evaluation->candidate,
                                   &run->proof);
}

nadir_status nadir_prove_by_norms(nadir_valid_run *run)
{
    const nadir_status status = begin_derivation(run);
    return status != NADIR_OK ? status : nadir_derivation_by_norms(run->context, &run->derivation);
}

nadir_status nadir_prove_second_order(nadir_valid_run *run)
{
    const nadir_status status = begin_derivation(run);
    return status != NADIR_OK ? status
                              : nadir_second_order_search(run->context, &run->derivation,
                                                          run->settings->certify, run->wanted);
}

nadir_status nadir_prove_large(nadir_valid_run *run)
{
    const nadir_status status = begin_derivation(run);
    return status != NADIR_OK ? status : nadir_derivation_large(run->context, &run->derivation);
}

/* At tau = 0 where the ball does not matter, which proves kernels inside the ball; then at the best tau. */
static nadir_status prove_lagrangian(nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_lagrangian found = {0};
    nadir_context *context = run->context;
    const nadir_problem *problem = run->problem;
    const double tau = run->evaluation->candidate.tau;
    if (!isfinite(tau) || !(pow(run->beta, problem->uncertainty->p) > 0)) {
        return NADIR_OK; /* p so large that beta^p underflows */
    }
    if (!(tau > 0)) {
        NADIR_CHECK(nadir_lagrangian_solve(context, problem, run->beta, run->proof.d_bar, 0, &found));
        NADIR_CHECK(nadir_derivation_lagrangian(context, &run->derivation, found.tau, found.v));
        nadir_lagrangian_clear(context, &found);
    }
    if (run->proof.lower < run->wanted) {
        NADIR_CHECK(nadir_lagrangian_tau_best(context, problem, run->beta, run->proof.d_bar, tau,
                                              NADIR_PROOF_TAU_EVALUATIONS, &found));
        NADIR_CHECK(nadir_derivation_lagrangian(context, &run->derivation, found.tau, found.v));
    }
cleanup:
    nadir_lagrangian_clear(context, &found);
    return status;
}

/* Without columns a kappa of at most 1/2 is better than this bound. With columns but without a second order,
 * bounds on the occupancies around the nominal kernel come first. */
nadir_status nadir_prove_lagrangian(nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    const bool columns = has_columns(run);
    NADIR_CHECK(begin_derivation(run));
    if (columns && !has_second_order(run)) {
        NADIR_CHECK(nadir_derivation_set_passes(run->context, &run->derivation, NADIR_OCCUPANCY_PASSES,
                                                NADIR_OCCUPANCY_SETTLED));
    }
    if (columns || !(run->proof.kappa <= 0.5)) {
        NADIR_CHECK(prove_lagrangian(run));
    }
cleanup:
    return status;
}

nadir_status nadir_valid_prove(nadir_context *context, const nadir_problem *problem, double beta,
                               const nadir_candidate *candidate, nadir_certify effort, double wanted,
                               nadir_certificate *certificate)
{
    nadir_evaluation evaluation = {.candidate = *candidate}; /* owns nothing */
    const nadir_robust_settings settings = {.certify = effort};
    nadir_valid_run run = {.context = context,
                           .problem = problem,
                           .settings = &settings,
                           .beta = beta,
                           .evaluation = &evaluation,
                           .wanted = wanted};
    clear_proofs(&run);
    const nadir_status status = nadir_valid_try(&run, NADIR_STAGE_FINE);
    *certificate = (nadir_certificate){0};
    if (status == NADIR_OK) {
        *certificate = run.proof;
        run.proof = (nadir_certificate){0};
    }
    nadir_valid_run_clear(&run);
    return status;
}

/* ------------------------------------------------------------------------------------ one candidate */

/* Makes the candidate stationary to a share of the width, where entries can be checked one by one. */
static nadir_status polish(nadir_valid_run *run, double share)
{
    const nadir_problem *problem = run->problem;
    nadir_candidate *candidate = &run->evaluation->candidate;
    const bool small = problem->states <= NADIR_PROOF_STATES;
    clear_proofs(run);
    if (!small && !is_sparse(problem) && run->settings->certify != NADIR_CERTIFY_STRICT) {
        return NADIR_OK;
    }
    const double wanted = fmax(share * run->settings->width * (problem->J - candidate->J),
                               is_iterative(run) ? NADIR_STATIONARY_VISIBLE * fabs(candidate->J) : 0);
    nadir_frank_wolfe *frank_wolfe = run->frank_wolfe;
    run->frank_wolfe = NULL;
    return frank_wolfe != NULL
               ? nadir_frank_wolfe_polish_on(run->context, frank_wolfe, wanted, candidate)
               : nadir_frank_wolfe_polish(run->context, problem, run->beta, wanted, candidate);
}

/* With a warm start norms may prove a rough candidate at once. Where they are far from that, the bound of the
 * free domain is the best there is. */
static nadir_status prove_warm(nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    bool hopeless = false;
    const bool large =
        is_iterative(run) && nadir_model_total(run->problem->model) > NADIR_POLISH_AT_ONCE_STATES;
    clear_proofs(run);
    NADIR_CHECK(
        nadir_kappa_foresee(run->context, run->problem, run->beta, &run->evaluation->candidate, &hopeless));
    if (!hopeless && !large) {
        NADIR_CHECK(polish(run, NADIR_STATIONARY_ROUGHLY));
    }
    run->proof.hopeless = hopeless;
    run->wanted = wanted_lower(run);
    NADIR_CHECK(nadir_valid_try(run, NADIR_STAGE_ROUGH_WARM));
cleanup:
    return status;
}

/* Rough stationarity suffices for most shared proofs of many radii, and for proofs by norms from a warm
 * start. Other proofs get more, so that bounds do not depend on the roundings of the search. */
static nadir_status prove(nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    bool done = false;
    if (run->kappa_path != NULL) {
        NADIR_CHECK(polish(run, NADIR_STATIONARY_ROUGHLY));
        run->wanted = wanted_lower(run);
        NADIR_CHECK(nadir_valid_try(run, NADIR_STAGE_ROUGH_RADII));
        done = run->proof.lower >= run->wanted || !(run->proof.kappa <= 0.5);
    } else if (!run->free_is_known && run->settings->certify == NADIR_CERTIFY_AUTO) {
        NADIR_CHECK(prove_warm(run));
        done = run->proof.lower >= run->wanted || !run->free.refused;
    }
    if (!done) {
        NADIR_CHECK(polish(run, NADIR_STATIONARY));
        run->wanted = wanted_lower(run);
        NADIR_CHECK(nadir_valid_try(run, NADIR_STAGE_FINE));
    }
cleanup:
    return status;
}

/* Searches from the kernel of the Lagrangian bound that the proof has found. */
static nadir_status search_again(nadir_valid_run *run, bool *better)
{
    nadir_status status = NADIR_OK;
    nadir_lagrangian lagrangian = {0};
    const nadir_robust_settings *settings = run->settings;
    const nadir_certificate *proof = &run->proof;
    NADIR_NEW(run->context, lagrangian.v, run->problem->states);
    memcpy(lagrangian.v, proof->v_tau, (size_t)run->problem->states * sizeof *lagrangian.v);
    NADIR_CHECK(
        nadir_lagrangian_solve(run->context, run->problem, run->beta, proof->d_bar, proof->tau, &lagrangian));
    NADIR_CHECK(nadir_multistart_again(run->context, run->problem, run->beta, &lagrangian,
                                       settings->tolerance, settings->iterations_limit,
                                       &run->evaluation->candidate, better));
cleanup:
    nadir_lagrangian_clear(run->context, &lagrangian);
    return status;
}

/* Proofs, and further searches from where they fail. */
static nadir_status prove_and_search(nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_evaluation *evaluation = run->evaluation;
    const int attempts = nadir_rewards_underflow(run->context, run->problem) ? 0 : NADIR_PROOF_ATTEMPTS;
    bool better = true;
    for (int attempt = 0; attempt < attempts && better; attempt++) {
        better = false;
        NADIR_CHECK(prove(run));
        if (run->proof.lower < wanted_lower(run) && run->proof.v_tau != NULL) {
            NADIR_CHECK(search_again(run, &better));
        }
    }
    NADIR_CHECK(nadir_evaluation_check_valid(run->context, run->problem, run->factor, evaluation));
    nadir_evaluation_take_bound(evaluation, run->proof.lower, run->proof.proof, run->proof.bound);
    if (nadir_evaluation_is_close(run->problem, run->settings, evaluation)) { /* rewards alone may prove it */
        evaluation->proof = evaluation->proof == NADIR_PROOF_NONE ? NADIR_PROOF_RIGOROUS : evaluation->proof;
    }
    nadir_evaluation_take_certificate(run->context, &run->proof, evaluation);
cleanup:
    clear_proofs(run);
    return status;
}

/* The bound of the free domain, and the pair (c, k) that proves it at p = 2. */
static nadir_status take_free_bound(nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    const nadir_evaluation *free = &run->free;
    if (free->refused) {
        return NADIR_OK;
    }
    nadir_evaluation_take_bound(run->evaluation, free->lower, free->proof, NADIR_BOUND_FREE_DOMAIN);
    if (run->problem->uncertainty->p == 2 && free->candidate.c != NULL &&
        run->evaluation->enclosing == NULL) {
        NADIR_CHECK(nadir_evaluation_keep_pair(run->context, run->problem->states, free->candidate.c,
                                               free->candidate.k, run->evaluation));
    }
cleanup:
    return status;
}

nadir_status nadir_valid_certify(nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_evaluation *evaluation = run->evaluation;
    const double begun = nadir_clock_seconds();
    evaluation->breakdown = NAN;
    evaluation->kappa = NAN;
    clear_proofs(run);
    if (run->settings->certify != NADIR_CERTIFY_OFF) {
        NADIR_CHECK(prove_and_search(run));
    } else {
        NADIR_CHECK(nadir_evaluation_check_valid(run->context, run->problem, run->factor, evaluation));
    }
    if (!nadir_evaluation_is_close(run->problem, run->settings, evaluation)) {
        NADIR_CHECK(nadir_valid_try(run, NADIR_STAGE_AFTER));
    }
    NADIR_CHECK(take_free_bound(run));
    evaluation->certify_time += nadir_clock_seconds() - begun;
cleanup:
    return status;
}
