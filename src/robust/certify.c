/*
 * certify.c: bounds around the worst kernel of one radius; see certify.h.
 *
 * In this order: kappa by norms, with a kernel that is as stationary as that needs; the shared proof of many
 * radii, where there is one; all proofs of prove.h. A proof that fails may show a better start for the
 * search.
 */
#include "proof/free_bounds.h"
#include "robust/evaluate.h"

#include "core/context.h"
#include "proof/membership.h"
#include "robust/evaluate.h"
#include "search/frank_wolfe.h"
#include "search/free_search.h"
#include "search/second_order_search.h"

#include <math.h>
#include <string.h>

/* A proof gets this many attempts: each failure may show a better start for the search. */
#define ATTEMPTS 3

/* Stationarity before proofs: the sum over rows of what each lacks of optimality, as a share of the width. */
#define STATIONARY         1e-3
#define STATIONARY_ROUGHLY 0.15
/* The least of it that iterative solves can show, as a share of the return. */
#define VISIBLE 2e-13
/* From so many states on a proof that fails costs more than another step with iterative solves. */
#define LARGE 20000

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

nadir_status nadir_valid_ask_free(nadir_context *context, const nadir_problem *own,
                                  const nadir_robust_settings *own_settings, int64_t count,
                                  const double *factors, nadir_evaluation *evaluations)
{
    nadir_uncertainty set = *own->uncertainty;
    nadir_problem problem = *own;
    nadir_robust_settings settings = *own_settings;
    set.domain = NADIR_DOMAIN_FREE;
    problem.uncertainty = &set;
    settings.certify = NADIR_CERTIFY_AUTO;
    nadir_status status = NADIR_ERROR_NOT_CONVERGED;
    if (free_may_help(context, own)) {
        status = nadir_free_evaluate(context, &problem, &settings, count, factors, evaluations);
    }
    for (int64_t i = 0; i < count && status == NADIR_ERROR_NOT_CONVERGED; i++) {
        evaluations[i].refused = true;
    }
    return status == NADIR_ERROR_NOT_CONVERGED ? NADIR_OK : status;
}

nadir_status nadir_valid_take_free(nadir_valid_run *run, nadir_evaluation *evaluation, bool *done)
{
    nadir_status status = NADIR_OK;
    nadir_membership membership;
    *done = false;
    run->evaluation->robust_time += evaluation->robust_time;
    run->evaluation->certify_time += evaluation->certify_time;
    if (evaluation->refused || evaluation->candidate.c == NULL) {
        goto cleanup;
    }
    if (evaluation->minimum >= 0 && nadir_evaluation_is_close(run->problem, run->settings, evaluation)) {
        NADIR_CHECK(nadir_rank_one_candidate_kernel(run->context, run->problem, &evaluation->candidate));
        NADIR_CHECK(nadir_membership_measure(run->context, evaluation->candidate.kernel,
                                             run->problem->uncertainty, run->factor, &membership));
        *done = run->problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX || membership.off_support == 0;
    }
    if (*done) {
        const double robust = run->evaluation->robust_time;
        const double certify = run->evaluation->certify_time;
        *run->evaluation = *evaluation;
        *evaluation = (nadir_evaluation){0};
        run->evaluation->robust_time = robust;
        run->evaluation->certify_time = certify;
        run->evaluation->breakdown = NAN;
        run->evaluation->breakdown_proof = NULL;
    } else if (run->problem->uncertainty->p == 2) { /* what the bound is made of */
        NADIR_CHECK(nadir_evaluation_keep_pair(run->context, run->problem->states, evaluation->candidate.c,
                                               evaluation->candidate.k, run->evaluation));
    }
cleanup:
    return status;
}

/* The lower bound that certifies. */
static double wanted_lower(const nadir_valid_run *run)
{
    const double J = run->evaluation->candidate.J;
    return J - 0.5 * run->settings->width * (run->problem->J - J);
}

static bool is_iterative(const nadir_valid_run *run)
{
    return nadir_occupancy_iterates(run->problem->occupancy);
}

/* Makes the attack stationary to a share of the width, where entries can be checked one by one. */
static nadir_status polish(nadir_valid_run *run, double share)
{
    const nadir_problem *problem = run->problem;
    const bool small = problem->states <= NADIR_PROOF_STATES;
    const bool sparse = problem->uncertainty->domain == NADIR_DOMAIN_SUPPORT && problem->model->dense == NULL;
    if (!small && !sparse && run->settings->certify != NADIR_CERTIFY_STRICT) {
        return NADIR_OK;
    }
    if (run->stationary_to > 0 && run->stationary_to <= share) {
        return NADIR_OK;
    }
    nadir_candidate *candidate = &run->evaluation->candidate;
    const double wanted = fmax(share * run->settings->width * (run->problem->J - candidate->J),
                               is_iterative(run) ? VISIBLE * fabs(candidate->J) : 0);
    nadir_frank_wolfe *frank_wolfe = run->frank_wolfe;
    run->frank_wolfe = NULL;
    run->stationary_to = share;
    return frank_wolfe != NULL ? nadir_frank_wolfe_polish_on(run->context, frank_wolfe, wanted, candidate)
                               : nadir_frank_wolfe_polish(run->context, run->problem, run->beta,
                                                          problem->warm_start.search, wanted, candidate);
}

/* Searches from the kernel of the Lagrangian bound that the proof has found. */
static nadir_status search_again(nadir_valid_run *run, const nadir_certificate *proof, bool *better)
{
    nadir_status status = NADIR_OK;
    nadir_lagrangian lagrangian = {0};
    const nadir_robust_settings *settings = run->settings;
    NADIR_NEW(run->context, lagrangian.v, run->problem->states);
    memcpy(lagrangian.v, proof->v_tau, (size_t)run->problem->states * sizeof *lagrangian.v);
    NADIR_CHECK(
        nadir_lagrangian_solve(run->context, run->problem, run->beta, proof->d_bar, proof->tau, &lagrangian));
    NADIR_CHECK(nadir_multistart_again(run->context, run->problem, run->beta, run->problem->warm_start.search,
                                       &lagrangian, settings->tolerance, settings->iterations_limit,
                                       &run->evaluation->candidate, better));
cleanup:
    nadir_lagrangian_clear(run->context, &lagrangian);
    return status;
}

/* By the shared proof of many radii, or else by all proofs. */
static nadir_status prove_once(nadir_valid_run *run, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    const nadir_candidate *candidate = &run->evaluation->candidate;
    const double wanted = wanted_lower(run);
    nadir_certificate_clear(run->context, proof);
    if (run->kappa_path != NULL && candidate->tau > 0 && isfinite(candidate->tau)) {
        NADIR_CHECK(nadir_kappa_path_search(run->context, run->kappa_path, run->beta, candidate, proof));
        if (proof->lower >= wanted) {
            goto cleanup;
        }
        nadir_certificate_clear(run->context, proof);
    }
    NADIR_CHECK(nadir_valid_prove_within(run->context, run->problem, run->beta, candidate,
                                         run->settings->certify, wanted,
                                         run->kappa_path != NULL ? &run->kappa_path->bounds : NULL, proof));
cleanup:
    return status;
}

/* Evaluates the free domain after all, for its bound. */
static nadir_status ask_free_late(nadir_valid_run *run, nadir_evaluation *free)
{
    nadir_status status = NADIR_OK;
    run->free_is_postponed = false;
    nadir_evaluation_clear(run->context, free);
    NADIR_CHECK(nadir_valid_ask_free(run->context, run->problem, run->settings, 1, &run->factor, free));
    if (!free->refused && free->candidate.kernel != NULL && run->problem->uncertainty->p == 2) {
        NADIR_CHECK(nadir_evaluation_keep_pair(run->context, run->problem->states, free->candidate.c,
                                               free->candidate.k, run->evaluation));
    }
cleanup:
    return status;
}

/* By norms alone, if that does. */
static nadir_status prove_by_norms(nadir_valid_run *run, nadir_certificate *proof)
{
    nadir_certificate_clear(run->context, proof);
    return nadir_valid_prove_by_norms(run->context, run->problem, run->beta, &run->evaluation->candidate,
                                      proof);
}

/* Rough stationarity suffices for most shared proofs of many radii, and for proofs by norms within an
 * optimisation. Other proofs get more, so that bounds do not depend on the roundings of the search; large
 * models get it at once. */
static nadir_status prove(nadir_valid_run *run, nadir_evaluation *free, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    const bool brief = run->settings->certify == NADIR_CERTIFY_AUTO && run->kappa_path == NULL;
    bool hopeless = false;
    if (brief && run->free_is_postponed) {
        NADIR_CHECK(nadir_kappa_foresee(run->context, run->problem, run->beta, &run->evaluation->candidate,
                                        &hopeless));
    }
    const bool large = is_iterative(run) && nadir_model_total(run->problem->model) > LARGE;
    const bool at_once = large || !run->free_is_postponed;
    for (int i = at_once ? 1 : 0; i < 2 && brief && !hopeless; i++) {
        NADIR_CHECK(polish(run, i == 0 ? STATIONARY_ROUGHLY : STATIONARY));
        NADIR_CHECK(prove_by_norms(run, proof));
        if (proof->lower >= wanted_lower(run)) {
            goto cleanup;
        }
        if (!(proof->kappa <= 0.5)) {
            break;
        }
    }
    if (brief && run->free_is_postponed && (hopeless || proof->hopeless)) {
        NADIR_CHECK(ask_free_late(run, free));
        if (!free->refused) { /* nothing better will come of it */
            goto cleanup;
        }
    }
    NADIR_CHECK(polish(run, run->kappa_path != NULL ? STATIONARY_ROUGHLY : STATIONARY));
    NADIR_CHECK(prove_once(run, proof));
    if (run->kappa_path != NULL && proof->lower < wanted_lower(run) && proof->kappa <= 0.5) {
        NADIR_CHECK(polish(run, STATIONARY));
        NADIR_CHECK(prove_once(run, proof));
    }
cleanup:
    return status;
}

/* Proofs, and further searches from where they fail. */
static nadir_status certify(nadir_valid_run *run, nadir_evaluation *free)
{
    nadir_status status = NADIR_OK;
    nadir_certificate proof = {.lower = -INFINITY, .bound = "none", .kappa = NAN};
    nadir_evaluation *evaluation = run->evaluation;
    const int attempts = nadir_rewards_underflow(run->context, run->problem) ? 0 : ATTEMPTS;
    for (int attempt = 0; attempt < attempts; attempt++) {
        bool better = false;
        run->stationary_to = 0;
        NADIR_CHECK(prove(run, free, &proof));
        if (proof.lower < wanted_lower(run) && proof.v_tau != NULL) {
            NADIR_CHECK(search_again(run, &proof, &better));
        }
        if (!better) {
            break;
        }
    }
    NADIR_CHECK(nadir_evaluation_check_valid(run->context, run->problem, run->factor, evaluation));
    nadir_evaluation_take_bound(evaluation, proof.lower, proof.proof, proof.bound);
    if (nadir_evaluation_is_close(run->problem, run->settings, evaluation)) { /* rewards alone may prove it */
        evaluation->proof = evaluation->proof == NADIR_PROOF_NONE ? NADIR_PROOF_RIGOROUS : evaluation->proof;
    }
    nadir_evaluation_take_certificate(run->context, &proof, evaluation);
cleanup:
    nadir_certificate_clear(run->context, &proof);
    return status;
}

nadir_status nadir_valid_certify(nadir_valid_run *run, nadir_evaluation *free)
{
    nadir_status status = NADIR_OK;
    nadir_evaluation *evaluation = run->evaluation;
    const double begun = nadir_clock_seconds();
    evaluation->breakdown = NAN;
    evaluation->kappa = NAN;
    if (run->settings->certify != NADIR_CERTIFY_OFF) {
        NADIR_CHECK(certify(run, free));
    } else {
        NADIR_CHECK(nadir_evaluation_check_valid(run->context, run->problem, run->factor, evaluation));
    }
    if (run->free_is_postponed && !nadir_evaluation_is_close(run->problem, run->settings, evaluation)) {
        NADIR_CHECK(ask_free_late(run, free));
    }
    if (!free->refused) {
        nadir_evaluation_take_bound(evaluation, free->lower, free->proof, "free-domain");
    }
    evaluation->certify_time += nadir_clock_seconds() - begun;
cleanup:
    return status;
}
