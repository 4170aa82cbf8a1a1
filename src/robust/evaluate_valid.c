/*
 * evaluate_valid.c: robust evaluation of one radius, non-rectangular ball on the domains simplex and support:
 * the search, then the proofs of strategy.c in one loop.
 *
 * The free domain comes first where it can help: its worst kernel is found and proven at the cost of a few
 * solves. If that kernel lies in the domain it is the worst here too, since this set is a part of the free
 * one; if not, its return is still a lower bound.
 *
 * No number of the search is trusted: bounds follow from the kernel and a witness by the steps of
 * proof/derivation.h. All proofs of a candidate add steps to one derivation. A proof that fails may show a
 * better start for the search.
 */
#include "core/context.h"
#include "linalg/distributed.h"
#include "proof/free_bounds.h"
#include "proof/membership.h"
#include "robust/strategy.h"
#include "search/frank_wolfe.h"
#include "search/free_search.h"
#include "search/lagrangian_search.h"
#include "search/occupancy_search.h"
#include "search/second_order_search.h"

#include <float.h>
#include <math.h>
#include <string.h>

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

/* ------------------------------------------------------------------- the free domain, where it helps */

/* Whether the worst kernel of the free domain may lie in this domain and is cheap to prove. At p = 2 it
 * changes every entry of a row, so that the model must be full. */
static bool free_may_help(const nadir_context *context, const nadir_problem *problem)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_model *model = problem->model;
    if (model->exchange != NULL ||
        problem->gamma == 1 ||   /* kernels of rank one have no rows to check there */
        problem->landing != 0 || /* the worst kernel is not of rank one */
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
    nadir_uncertainty_free(&set);
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
    NADIR_TRY(nadir_rank_one_candidate_kernel(run->context, run->problem, &free->candidate));
    NADIR_TRY(nadir_membership_measure(run->context, free->candidate.kernel, run->problem->uncertainty,
                                       run->factor, &membership));
    *done =
        run->problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX ||
        (membership.off_support == 0 && membership.outside <= NADIR_MEMBERSHIP_OUTSIDE &&
         (run->problem->uncertainty->weights == NULL || membership.excess <= 1e-9)); /* its ball is smaller */
    if (*done) {
        *evaluation = *free;
        *free = (nadir_evaluation){.refused = true};
        evaluation->breakdown = NAN;
        evaluation->breakdown_proof = NADIR_BREAKDOWN_NONE;
    }
    return NADIR_OK;
}

/* ----------------------------------------------------------------------------------------- needs */

/* The lower bound that certifies the candidate; of a penalty that rounding hides (nadir_evaluation_is_narrow) less is enough. */
static double wanted_lower(const nadir_valid_run *run)
{
    const nadir_problem *problem = run->problem;
    const double J = run->evaluation->candidate.J;
    const double lost = problem->J - J;
    const double hidden = 8 * problem->J_error + 64 * DBL_EPSILON * fabs(problem->J);
    const double width = run->settings->width;
    return J - fmax(0.5 * width * lost,
                    fabs(lost) <= hidden ? fmin(3 * hidden, 0.5 * width * problem->at_stake) : 0);
}

static bool is_iterative(const nadir_valid_run *run)
{
    return nadir_occupancy_iterates(run->problem->occupancy);
}

static bool has_second_order(const nadir_valid_run *run)
{
    const double tau = run->evaluation->candidate.tau;
    return run->problem->uncertainty->p == 2 && tau > 0 && isfinite(tau);
}

/* Whether the free domain, which is cheap, has proven the candidate. */
static bool is_proven_free(const nadir_valid_run *run)
{
    const nadir_evaluation *free = &run->free;
    return run->free_is_known && !free->refused && free->proof == NADIR_PROOF_RIGOROUS &&
           free->lower >= run->wanted;
}

/* A witness takes tau, whatever the proof. */
static bool is_below_2(const nadir_valid_run *run)
{
    const double tau = run->evaluation->candidate.tau;
    return run->problem->uncertainty->p < 2 && tau >= 0 && isfinite(tau) && !is_proven_free(run);
}

/* Whether the ball has a price, and boxes of occupancies are worth trying: multipliers of all states are kept. */
static bool has_price(const nadir_valid_run *run)
{
    const nadir_candidate *candidate = &run->evaluation->candidate;
    const double tau = candidate->tau;
    return candidate->v != NULL && candidate->d != NULL &&
           (run->problem->gamma < 1 || run->problem->gap > 0) &&
           run->problem->states <= NADIR_PROOF_STATES_AFTER && tau > 0 && isfinite(tau) &&
           pow(run->beta, run->problem->uncertainty->p) > 0 && !is_proven_free(run);
}

/* Strict takes any number of states for which there is memory. */
static bool has_columns(const nadir_valid_run *run)
{
    const nadir_memory *memory = run->context->memory;
    const double n = (double)run->problem->states;
    const bool few = run->problem->states <= NADIR_PROOF_STATES;
    const bool fits = 4 * 8 * n * n <= (double)nadir_memory_limit(memory) - (double)nadir_memory_used(memory);
    return run->problem->model->exchange == NULL &&
           (few || (fits && run->settings->certify == NADIR_CERTIFY_STRICT));
}

static bool has_few_states(const nadir_valid_run *run)
{
    return run->alone && run->problem->model->exchange == NULL &&
           run->problem->states <= NADIR_PROOF_STATES_AFTER;
}

static bool is_sparse(const nadir_problem *problem)
{
    return problem->uncertainty->domain == NADIR_DOMAIN_SUPPORT && problem->model->dense == NULL;
}

/* On a device columns that all rows lead to are summed by few threads, which takes minutes at 10^6 states. */
static bool can_have_open_rows(const nadir_problem *problem)
{
    return nadir_perturbable_rows_must_be_open(problem) &&
           nadir_occupancy_average(problem->occupancy)->device_matrix == NULL;
}

static bool can_list_rows(const nadir_valid_run *run)
{
    const double dense = (double)run->problem->rows * (double)run->problem->states;
    return is_sparse(run->problem) || can_have_open_rows(run->problem) ||
           nadir_allreduce_maximum(run->context, dense) <= NADIR_LISTED_ENTRIES;
}

static bool has_needs(const nadir_valid_run *run, int needs)
{
    return (!(needs & NADIR_NEEDS_AUTO) || run->settings->certify == NADIR_CERTIFY_AUTO) &&
           (!((needs & NADIR_NEEDS_SECOND_ORDER) || run->inside != NULL) || has_second_order(run)) &&
           (!(needs & NADIR_NEEDS_COLUMNS) || has_columns(run)) &&
           (!(needs & NADIR_NEEDS_LARGE) || !has_columns(run)) &&
           (!(needs & NADIR_NEEDS_LISTED_ROWS) || can_list_rows(run)) &&
           (!(needs & NADIR_NEEDS_ONE_PROCESS) || run->problem->model->exchange == NULL) &&
           (!(needs & NADIR_NEEDS_KAPPA_PATH) || run->kappa_path != NULL) &&
           (!(needs & NADIR_NEEDS_BELOW_2) || is_below_2(run)) &&
           (!(needs & NADIR_NEEDS_PRICE) || has_price(run)) &&
           (!(needs & NADIR_NEEDS_FEW) || has_few_states(run)) &&
           (!(needs & NADIR_NEEDS_HOPE) || !run->proof.hopeless) &&
           (!(needs & NADIR_NEEDS_NO_HOPE) || run->proof.hopeless);
}

/* ---------------------------------------------------------------------------------------- proofs */

/* Without a discount searches, also for what proofs take, may meet kernels that never end: then they have found nothing. */
static nadir_status unless_endless(const nadir_valid_run *run, nadir_status status)
{
    const bool endless = status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED;
    return run->problem->gamma == 1 && endless ? NADIR_OK : status;
}

/* At tau = 0 where the ball does not matter, which proves kernels inside the ball; then at the best tau; then at tau =
 * 0, the bound of the s-rectangular ball, unless the best tau is above the one that the search began with: the bound is
 * concave in tau. With
 * columns but without a second order, bounds on the occupancies around the nominal kernel come first; without
 * columns a kappa of at most 1/2 is better than this bound. */
static nadir_status prove_lagrangian(nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_lagrangian found = {0};
    double *d_bar = NULL;
    nadir_context *context = run->context;
    const nadir_problem *problem = run->problem;
    const double tau = run->evaluation->candidate.tau;
    if (has_columns(run) && !has_second_order(run)) {
        NADIR_CHECK(nadir_derivation_set_passes(context, &run->derivation, NADIR_OCCUPANCY_PASSES,
                                                NADIR_OCCUPANCY_SETTLED));
    }
    if ((!has_columns(run) && run->proof.kappa <= 0.5) || !isfinite(tau) ||
        !(pow(run->beta, problem->uncertainty->p) > 0)) { /* p so large that beta^p underflows */
        return NADIR_OK;
    }
    /* v of larger occupancies proves as much with any that are less: those of other backends, where they are mostly
     * the error of a solve */
    NADIR_NEW(context, d_bar, problem->states);
    for (int64_t s = 0; s < problem->states; s++) {
        d_bar[s] = run->proof.d_bar[s] > 0 ? run->proof.d_bar[s] + 4 * problem->d_error : 0;
    }
    if (!(tau > 0)) {
        NADIR_CHECK(nadir_lagrangian_solve(context, problem, run->beta, d_bar, 0, &found));
        NADIR_CHECK(nadir_derivation_lagrangian(context, &run->derivation, found.tau, found.v));
    }
    if (run->proof.lower < run->wanted) {
        NADIR_CHECK(nadir_lagrangian_tau_best(context, problem, run->beta, d_bar, tau,
                                              NADIR_PROOF_TAU_EVALUATIONS, &found));
        NADIR_CHECK(nadir_derivation_lagrangian(context, &run->derivation, found.tau, found.v));
    }
    if (run->proof.lower < run->wanted && found.tau <= tau) {
        NADIR_CHECK(nadir_lagrangian_solve(context, problem, run->beta, d_bar, 0, &found));
        NADIR_CHECK(nadir_derivation_lagrangian(context, &run->derivation, found.tau, found.v));
    }
cleanup:
    nadir_release(context, d_bar);
    nadir_lagrangian_clear(context, &found);
    return status;
}

/* How many processes auto may solve for one worst case: in proportion to the kernels of the search, or so many that they
 * answer a number of entries of rows. Radii that share them had searches from the radius before, which count for nothing. */
static int64_t brief_solves(const nadir_valid_run *run)
{
    const nadir_problem *problem = run->problem;
    const double few = nadir_proof_few(problem);
    const double many = run->solves_left != NULL
                            ? NADIR_PROOF_RADIUS * few
                            : NADIR_PROOF_TIMES * (double)run->evaluation->candidate.iterations;
    const double more = run->inside != NULL ? NADIR_PROOF_INSIDE : 1;
    const double solves = more * fmin(fmax(few, many), NADIR_PROOF_SOLVES);
    const double left = run->solves_left != NULL ? (double)*run->solves_left : INFINITY;
    return fmin(few, left) >= NADIR_PROOF_SOLVES_STATE * (double)problem->states ? (int64_t)fmin(solves, left)
                                                                                 : 0;
}

/* Occupancies of the kernels that matter, until they are proven or time runs out. Below p = 2 the enclosing ball comes
 * after this; it seldom proves the worst case, and has a fifth of the time. */
static nadir_status prove_occupancies(nadir_valid_run *run)
{
    const bool strict = run->settings->certify == NADIR_CERTIFY_STRICT;
    const double limit = strict ? run->settings->time_limit : 0;
    const double now = nadir_clock_seconds();
    const double share = run->problem->uncertainty->p < 2 ? 0.8 : 1;
    nadir_occupancy_effort effort = {.until = limit > 0 ? now + share * (run->until - now) : INFINITY,
                                     .solves = limit > 0 ? INT64_MAX
                                               : strict  ? NADIR_PROOF_SOLVES
                                                         : brief_solves(run),
                                     .tree = limit > 0,
                                     .near = strict || run->inside != NULL ? INFINITY : NADIR_PROOF_NEAR,
                                     .brief = !strict && run->inside == NULL};
    if (effort.solves == 0) {
        return NADIR_OK;
    }
    NADIR_TRY(nadir_occupancy_search(run->context, &run->derivation, run->wanted, &effort));
    if (run->solves_left != NULL) {
        *run->solves_left -= effort.solved;
    }
    run->evaluation->time_ran_out = run->evaluation->time_ran_out || (effort.spent && limit > 0);
    return NADIR_OK;
}

static nadir_status prove_repeatedly(nadir_valid_run *run);

/* The same search and the same proofs for the L_2 ball that holds the ball, whose steps begin with those of the ball. The
 * better proof is kept. */
static nadir_status prove_enclosing(nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_evaluation evaluation = {0};
    nadir_uncertainty two = {0};
    nadir_problem enclosing;
    nadir_valid_run inner = {.context = run->context,
                             .problem = &enclosing,
                             .settings = run->settings,
                             .evaluation = &evaluation,
                             .inside = run,
                             .alone = run->alone,
                             .solves_left = run->solves_left,
                             .until = run->until,
                             .free = {.refused = true},
                             .free_is_known = true};
    clear_proofs(&inner);
    NADIR_CHECK(
        nadir_derivation_enclosing(run->context, run->problem, run->beta, &two, &enclosing, &inner.beta));
    NADIR_CHECK(nadir_valid_search_cold(&inner, &evaluation.candidate));
    if (evaluation.candidate.J > run->proof.lower) { /* else this ball has nothing better */
        NADIR_CHECK(prove_repeatedly(&inner));
        run->evaluation->time_ran_out = run->evaluation->time_ran_out || evaluation.time_ran_out;
    }
    if (inner.proof.lower > run->proof.lower) {
        const nadir_certificate proof = run->proof;
        run->proof = inner.proof;
        run->proof.kappa = NAN; /* that of another kernel */
        inner.proof = proof;
    }
cleanup:
    nadir_valid_run_clear(&inner);
    nadir_candidate_clear(run->context, &evaluation.candidate);
    nadir_uncertainty_clear(run->context, &two);
    return status;
}

/* Begins the steps about the candidate. */
static nadir_status begin_derivation(nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    double *d = NULL;
    const nadir_valid_run *from = run->inside != NULL ? run->inside : run;
    const nadir_candidate *candidate = &run->evaluation->candidate;
    nadir_certificate_clear(run->context, &run->proof);
    NADIR_CHECK(nadir_derivation_make(run->context, from->problem, from->beta, &from->evaluation->candidate,
                                      run->kappa_path != NULL ? &run->kappa_path->bounds : NULL, &run->proof,
                                      &run->derivation));
    if (run->inside != NULL) {
        NADIR_NEW(run->context, d, run->problem->states);
        for (int64_t s = 0; s < run->problem->states; s++) {
            d[s] = fmax(candidate->d[s], 0); /* solves may be below 0 by rounding; verify takes no such d */
        }
        NADIR_CHECK(
            nadir_derivation_enclose(run->context, &run->derivation, candidate->tau, candidate->v, d));
    }
cleanup:
    nadir_release(run->context, d);
    return status;
}

/* Adds to run->proof what one proof shows of the candidate. */
static nadir_status prove_by(nadir_valid_run *run, nadir_proof_method method)
{
    nadir_context *context = run->context;
    const nadir_candidate *candidate = &run->evaluation->candidate;
    const nadir_kappa_path *path = run->kappa_path;
    const bool derives = method != NADIR_PROVE_FREE && method != NADIR_PROVE_KAPPA_PATH;
    if (derives && run->derivation.problem == NULL) {
        NADIR_TRY(begin_derivation(run));
    }
    switch (method) {
    case NADIR_PROVE_FREE:
        return run->free_is_known ? NADIR_OK : nadir_valid_ask_free(1, run);
    case NADIR_PROVE_KAPPA_PATH:
        nadir_certificate_clear(context, &run->proof);
        return nadir_kappa_path_search(context, path, run->beta, candidate, &run->proof);
    case NADIR_PROVE_BY_NORMS:
        return nadir_derivation_by_norms(context, &run->derivation);
    case NADIR_PROVE_SECOND_ORDER:
        return nadir_second_order_search(context, &run->derivation, run->settings->certify, run->wanted);
    case NADIR_PROVE_LARGE:
        return nadir_derivation_large(context, &run->derivation);
    case NADIR_PROVE_LAGRANGIAN:
        return prove_lagrangian(run);
    case NADIR_PROVE_OCCUPANCIES:
        return prove_occupancies(run);
    case NADIR_PROVE_ENCLOSING:
        return prove_enclosing(run);
    }
    return NADIR_OK;
}

/* Tries the proofs of one stage or more (strategy.h) until the bound is as good as wanted. */
static nadir_status try_stage(nadir_valid_run *run, int stages)
{
    for (const nadir_proof_row *row = nadir_proof_table; row->name != NULL; row++) {
        if ((row->stages & stages) && has_needs(run, row->needs)) {
            NADIR_TRY(unless_endless(run, prove_by(run, row->method)));
            if (run->proof.lower >= run->wanted) {
                break;
            }
        }
    }
    return NADIR_OK;
}

nadir_status nadir_valid_prove(nadir_context *context, const nadir_problem *problem, double beta,
                               const nadir_candidate *candidate, nadir_certify effort, double wanted,
                               nadir_certificate *certificate)
{
    nadir_evaluation evaluation = {.candidate = *candidate}; /* owns nothing */
    nadir_robust_settings settings;
    nadir_robust_settings_default(&settings);
    settings.certify = effort;
    settings.time_limit = 0;
    nadir_valid_run run = {.context = context,
                           .problem = problem,
                           .settings = &settings,
                           .beta = beta,
                           .alone = true,
                           .evaluation = &evaluation,
                           .wanted = wanted};
    clear_proofs(&run);
    const nadir_status status = try_stage(&run, NADIR_STAGE_FINE | NADIR_STAGE_BOXES | NADIR_STAGE_ENCLOSE);
    *certificate = (nadir_certificate){0};
    if (status == NADIR_OK) {
        *certificate = run.proof;
        run.proof = (nadir_certificate){0};
    }
    nadir_valid_run_clear(&run);
    return status;
}

/* ------------------------------------------------------------------------------------ one candidate */

/* Makes the candidate stationary to a share of the width, where a second-order proof follows. */
static nadir_status polish(nadir_valid_run *run, double share)
{
    const nadir_problem *problem = run->problem;
    nadir_candidate *candidate = &run->evaluation->candidate;
    if (!has_columns(run) && !can_list_rows(run)) {
        return NADIR_OK;
    }
    const double wanted = fmax(share * run->settings->width * (problem->J - candidate->J),
                               is_iterative(run) ? NADIR_STATIONARY_VISIBLE * fabs(candidate->J) : 0);
    nadir_frank_wolfe *frank_wolfe = run->frank_wolfe;
    run->frank_wolfe = NULL;
    return nadir_frank_wolfe_polish(run->context, problem, run->beta, frank_wolfe, wanted, candidate);
}

/* Polishes the candidate, and tries the proofs of a stage. With a warm start norms may prove a rough candidate
 * at once. Where they are far from that, the bound of the free domain is the best there is. */
static nadir_status prove_stage(nadir_valid_run *run, int stage)
{
    const bool warm = stage == NADIR_STAGE_ROUGH_WARM;
    const bool large =
        is_iterative(run) && nadir_model_total(run->problem->model) > NADIR_POLISH_AT_ONCE_STATES;
    bool hopeless = false;
    if (warm) {
        NADIR_TRY(nadir_kappa_foresee(run->context, run->problem, run->beta, &run->evaluation->candidate,
                                      &hopeless));
    }
    clear_proofs(run);
    if (!warm || (!hopeless && !large)) {
        NADIR_TRY(polish(run, stage == NADIR_STAGE_FINE ? NADIR_STATIONARY : NADIR_STATIONARY_ROUGHLY));
    }
    run->proof.hopeless = hopeless;
    run->wanted = wanted_lower(run);
    return try_stage(run, stage);
}

/* Rough stationarity suffices for most shared proofs of many radii, and for proofs by norms from a warm
 * start. Other proofs get more, so that bounds do not depend on the roundings of the search. */
static nadir_status prove(nadir_valid_run *run)
{
    const bool warm = !run->free_is_known && run->settings->certify == NADIR_CERTIFY_AUTO;
    int stage = run->kappa_path != NULL ? NADIR_STAGE_ROUGH_RADII
                : warm                  ? NADIR_STAGE_ROUGH_WARM
                                        : NADIR_STAGE_FINE;
    for (bool done = false; !done; stage = NADIR_STAGE_FINE) {
        NADIR_TRY(prove_stage(run, stage));
        done = stage == NADIR_STAGE_FINE || run->proof.lower >= run->wanted ||
               (stage == NADIR_STAGE_ROUGH_RADII ? !(run->proof.kappa <= 0.5) : !run->free.refused);
    }
    return NADIR_OK;
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

/* Searches from further starts. */
static nadir_status search_further(nadir_valid_run *run, bool *better)
{
    const nadir_robust_settings *settings = run->settings;
    const double begun = nadir_clock_seconds();
    *better = false;
    if (nadir_has_further_starts(run->problem)) {
        NADIR_TRY(unless_endless(
            run, nadir_multistart_further(run->context, run->problem, run->beta, settings->tolerance,
                                          settings->iterations_limit, &run->evaluation->candidate, better)));
    }
    run->evaluation->robust_time += nadir_clock_seconds() - begun;
    return NADIR_OK;
}

/* Proofs, and further searches from where they fail, while there is time; then the proof that takes most of it. */
static nadir_status prove_repeatedly(nadir_valid_run *run)
{
    const int attempts = nadir_rewards_underflow(run->context, run->problem) ? 0 : NADIR_PROOF_ATTEMPTS;
    bool better = true;
    for (int attempt = 0; attempt < attempts && better; attempt++) {
        better = false;
        NADIR_TRY(prove(run));
        if (run->proof.lower >= wanted_lower(run) || attempt + 1 == attempts ||
            nadir_time_is_up(run->context)) {
            break;
        }
        if (run->proof.v_tau != NULL && nadir_has_further_starts(run->problem)) {
            NADIR_TRY(unless_endless(run, search_again(run, &better)));
        }
        if (attempt == 0 && run->proof.lower < wanted_lower(run)) {
            bool found = false;
            NADIR_TRY(search_further(run, &found));
            better = better || found;
        }
    }
    return run->derivation.problem != NULL && run->proof.lower < wanted_lower(run)
               ? try_stage(run, NADIR_STAGE_BOXES)
               : NADIR_OK;
}

static nadir_status prove_and_search(nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_evaluation *evaluation = run->evaluation;
    NADIR_CHECK(prove_repeatedly(run));
    if (run->derivation.problem != NULL && run->proof.lower < wanted_lower(run) &&
        !nadir_time_is_up(run->context)) {
        NADIR_CHECK(try_stage(run, NADIR_STAGE_ENCLOSE));
    }
    evaluation->time_ran_out =
        evaluation->time_ran_out || (run->proof.lower < wanted_lower(run) && nadir_time_is_up(run->context));
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
    const nadir_evaluation *free = &run->free;
    if (free->refused) {
        return NADIR_OK;
    }
    nadir_evaluation_take_bound(run->evaluation, free->lower, free->proof, NADIR_BOUND_FREE_DOMAIN);
    if (run->problem->uncertainty->p == 2 && free->candidate.c != NULL &&
        run->evaluation->enclosing == NULL) {
        return nadir_evaluation_keep_pair(run->context, run->problem->states, free->candidate.c,
                                          free->candidate.k, run->evaluation);
    }
    return NADIR_OK;
}

/* The clock of strict proofs, which two candidates of one worst case share. With one radius an interruption is the end of
 * time. */
static void begin_time(nadir_valid_run *run, double now)
{
    const double limit = run->settings->time_limit;
    run->until = run->until > 0 ? run->until : limit > 0 ? now + limit : INFINITY;
    if (run->alone && run->problem->model->exchange == NULL) {
        nadir_deadline_set(run->context, run->until);
    }
}

nadir_status nadir_valid_certify(nadir_valid_run *run)
{
    nadir_evaluation *evaluation = run->evaluation;
    const double begun = nadir_clock_seconds();
    evaluation->breakdown = NAN;
    evaluation->kappa = NAN;
    clear_proofs(run);
    if (run->settings->certify == NADIR_CERTIFY_STRICT) {
        begin_time(run, begun);
    }
    if (run->settings->certify != NADIR_CERTIFY_OFF) {
        NADIR_TRY(prove_and_search(run));
    } else {
        bool better;
        NADIR_TRY(search_further(run, &better));
        NADIR_TRY(nadir_evaluation_check_valid(run->context, run->problem, run->factor, evaluation));
    }
    if (!nadir_evaluation_is_close(run->problem, run->settings, evaluation)) {
        NADIR_TRY(try_stage(run, NADIR_STAGE_AFTER));
    }
    NADIR_TRY(take_free_bound(run));
    evaluation->certify_time += nadir_clock_seconds() - begun;
    return NADIR_OK;
}

/* ------------------------------------------------------------------------------------ one radius */

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
    const nadir_warm_start *warm_start = run->warm_start;
    NADIR_TRY(nadir_frank_wolfe_create(run->context, run->problem, frank_wolfe));
    NADIR_TRY(nadir_frank_wolfe_from(run->context, *frank_wolfe, run->beta, warm_start->v, warm_start->d,
                                     run->settings->tolerance, run->settings->iterations_limit,
                                     &run->evaluation->candidate));
    run->frank_wolfe = *frank_wolfe;
    return NADIR_OK;
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

nadir_status nadir_evaluate_check_method(nadir_context *context, const nadir_robust_settings *settings)
{
    return settings->method == NULL || strcmp(settings->method, "auto") == 0
               ? NADIR_OK
               : nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                            "method %s is for the free domain; leave the method to auto here",
                            settings->method);
}

nadir_status nadir_evaluate_valid(nadir_context *context, const nadir_problem *problem,
                                  const nadir_robust_settings *settings, double factor,
                                  const nadir_warm_start *warm_start, nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    nadir_valid_run run = nadir_valid_run_make(context, problem, settings, factor, evaluation);
    bool done = false;
    run.alone = true;
    run.warm_start = warm_start;
    NADIR_CHECK(nadir_evaluate_check_method(context, settings));
    NADIR_CHECK(nadir_progress(context, "worst kernels", 0));
    if (warm_start == NULL) { /* else the worst kernel is known, or nearly so */
        NADIR_CHECK(try_stage(&run, NADIR_STAGE_BEFORE));
        NADIR_CHECK(nadir_valid_take_free(&run, &done));
    }
    NADIR_CHECK(done ? NADIR_OK : search_and_certify(&run));
cleanup:
    nadir_deadline_clear(context);
    nadir_valid_run_clear(&run);
    return status;
}
