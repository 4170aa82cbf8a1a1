/*
 * prove.c: which proofs are tried on a kernel of the non-rectangular ball, and in which order; see prove.h.
 *
 * Up to NADIR_PROOF_STATES states, or more when asked for, with columns of D:
 *
 *     p = 2, tau > 0     second order (second_order_search.h), which proves the value attained where it
 *                        succeeds; then the Lagrangian bound
 *     otherwise          bounds on occupancies around the nominal kernel, and with them the Lagrangian bound;
 *                        at tau = 0 it proves kernels inside the ball
 *
 * Larger models: second order without columns (second_order.h) where p = 2, then the Lagrangian bound.
 */
#include "robust/evaluate.h"

#include "linalg/distributed.h"
#include "search/lagrangian_search.h"
#include "search/second_order_search.h"

#include <math.h>
#include <string.h>

enum { EVALUATIONS = 12 };
#define ENTRIES 2e7 /* the most entries of dense rows that are listed where columns of D are too many */

static bool has_second_order(const nadir_problem *problem, const nadir_candidate *candidate)
{
    return problem->uncertainty->p == 2 && candidate->tau > 0 && isfinite(candidate->tau);
}

/* At tau = 0 where the ball does not matter; then at the best tau. */
static nadir_status prove_lagrangian(nadir_context *context, nadir_derivation *derivation, double wanted)
{
    nadir_status status = NADIR_OK;
    nadir_lagrangian found = {0};
    const nadir_problem *problem = derivation->problem;
    const double beta = derivation->beta;
    const double tau = derivation->candidate->tau;
    const nadir_certificate *certificate = derivation->certificate;
    if (!isfinite(tau) || !(pow(beta, problem->uncertainty->p) > 0)) {
        return NADIR_OK; /* p so large that beta^p underflows */
    }
    if (!(tau > 0)) {
        NADIR_CHECK(nadir_lagrangian_solve(context, problem, beta, certificate->d_bar, 0, &found));
        NADIR_CHECK(nadir_derivation_lagrangian(context, derivation, found.tau, found.v));
        nadir_lagrangian_clear(context, &found);
    }
    if (certificate->lower < wanted) {
        NADIR_CHECK(
            nadir_lagrangian_tau_best(context, problem, beta, certificate->d_bar, tau, EVALUATIONS, &found));
        NADIR_CHECK(nadir_derivation_lagrangian(context, derivation, found.tau, found.v));
    }
cleanup:
    nadir_lagrangian_clear(context, &found);
    return status;
}

/* Whether all allowed entries of all rows can be listed. */
static bool can_list(const nadir_context *context, const nadir_problem *problem)
{
    const nadir_model *model = problem->model;
    const double dense = (double)problem->rows * (double)problem->states;
    const bool few = problem->uncertainty->domain == NADIR_DOMAIN_SUPPORT && model->dense == NULL;
    return few || nadir_allreduce_maximum(context, dense) <= ENTRIES;
}

/* With columns of D. */
static nadir_status prove_small(nadir_context *context, nadir_derivation *derivation, nadir_certify effort,
                                double wanted)
{
    nadir_status status = NADIR_OK;
    if (has_second_order(derivation->problem, derivation->candidate)) {
        NADIR_CHECK(nadir_second_order_search(context, derivation, effort, wanted));
    } else {
        NADIR_CHECK(nadir_derivation_set_passes(context, derivation, NADIR_OCCUPANCY_PASSES,
                                                NADIR_OCCUPANCY_SETTLED));
    }
    if (derivation->certificate->lower < wanted) {
        NADIR_CHECK(prove_lagrangian(context, derivation, wanted));
    }
cleanup:
    return status;
}

/* Without columns. The second order comes first: it costs less, and where it succeeds the Lagrangian bound is
 * not better. */
static nadir_status prove_large(nadir_context *context, nadir_derivation *derivation, double wanted)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = derivation->problem;
    const nadir_certificate *certificate = derivation->certificate;
    if (has_second_order(problem, derivation->candidate) && can_list(context, problem)) {
        NADIR_CHECK(nadir_derivation_large(context, derivation));
    }
    const bool spread =
        problem->model->exchange != NULL; /* the Lagrangian bound needs the whole model in one process */
    if (certificate->lower < wanted && !(certificate->kappa <= 0.5) && !spread) {
        NADIR_CHECK(prove_lagrangian(context, derivation, wanted));
    }
cleanup:
    return status;
}

nadir_status nadir_valid_prove_by_norms(nadir_context *context, const nadir_problem *problem, double beta,
                                        const nadir_candidate *candidate, nadir_certificate *certificate)
{
    nadir_status status = NADIR_OK;
    nadir_derivation derivation = {0};
    if (!has_second_order(problem, candidate) || problem->states > NADIR_PROOF_STATES ||
        problem->model->exchange != NULL) {
        return nadir_certificate_make(context, problem->states, certificate);
    }
    NADIR_CHECK(nadir_derivation_make(context, problem, beta, candidate, NULL, certificate, &derivation));
    NADIR_CHECK(nadir_derivation_by_norms(context, &derivation));
cleanup:
    nadir_derivation_clear(context, &derivation);
    if (status != NADIR_OK) {
        nadir_certificate_clear(context, certificate);
    }
    return status;
}

nadir_status nadir_valid_prove_within(nadir_context *context, const nadir_problem *problem, double beta,
                                      const nadir_candidate *candidate, nadir_certify effort, double wanted,
                                      const nadir_occupancy_bounds *known, nadir_certificate *certificate)
{
    nadir_status status = NADIR_OK;
    nadir_derivation derivation = {0};
    const bool small = effort == NADIR_CERTIFY_STRICT || problem->states <= NADIR_PROOF_STATES;
    NADIR_CHECK(nadir_derivation_make(context, problem, beta, candidate, known, certificate, &derivation));
    if (small && problem->model->exchange == NULL) {
        NADIR_CHECK(prove_small(context, &derivation, effort, wanted));
    } else {
        NADIR_CHECK(prove_large(context, &derivation, wanted));
    }
cleanup:
    nadir_derivation_clear(context, &derivation);
    if (status != NADIR_OK) {
        nadir_certificate_clear(context, certificate);
    }
    return status;
}

nadir_status nadir_valid_prove(nadir_context *context, const nadir_problem *problem, double beta,
                               const nadir_candidate *candidate, nadir_certify effort, double wanted,
                               nadir_certificate *certificate)
{
    return nadir_valid_prove_within(context, problem, beta, candidate, effort, wanted, NULL, certificate);
}
