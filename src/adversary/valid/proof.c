/*
 * proof.c: the proof that a kernel is the worst one of the non-rectangular ball; see proof.h.
 *
 * Occupancies of all kernels of the ball are bounded around the nominal one (visits.h): well where the
 * columns of D can be had, up to NADIR_PROOF_STATES states, or more when asked for. From there
 *
 *     p = 2, tau > 0     second order (second_order.h), which proves the value attained where it succeeds
 *     every p            the Lagrangian bound (lagrangian.h); at tau = 0 it proves kernels inside the ball
 *
 * L_p balls of p <= 2 lie in the L_2 ball of the same radius, others in one of radius beta n^(1/2 - 1/p), n
 * the number of entries that can change: bounds on occupancies there are bounds here.
 */
#include "adversary/valid/prove.h"

#include "adversary/proof/second_order.h"
#include "adversary/search/lagrangian_tau.h"
#include "adversary/search/second_order_search.h"
#include "linalg/distributed.h"

#include <math.h>
#include <string.h>

enum { EVALUATIONS = 12 };
#define ENTRIES 2e7 /* of dense rows that are looked at one by one, at most, where columns are too many */

void nadir_certificate_clear(nadir_context *context, nadir_certificate *proof)
{
    nadir_release(context, proof->d_bar);
    nadir_release(context, proof->v_tau);
    *proof = (nadir_certificate){0};
}

void nadir_certificate_offer(nadir_certificate *proof, double lower, nadir_proof how, const char *bound)
{
    if (lower > proof->lower) {
        proof->lower = lower;
        proof->proof = how;
        proof->bound = bound;
    }
}

static bool has_second_order(const nadir_problem *problem, const nadir_attack *attack)
{
    return problem->uncertainty->p == 2 && attack->tau > 0 && isfinite(attack->tau);
}

/* The radius of an L_2 ball that holds the set. */
static double radius_2(const nadir_problem *problem, double beta)
{
    const double p = problem->uncertainty->p;
    const double n = (double)problem->uncertainty->entries;
    return p <= 2 ? beta : beta * pow(n, 0.5 - 1 / p) * (1 + 1e-12);
}

/* The Lagrangian bound, if it is better than what there is. */
static nadir_status offer_lagrangian(nadir_context *context, const nadir_problem *problem, double beta,
                                     nadir_lagrangian *found, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    double lower;
    NADIR_CHECK(nadir_lagrangian_bound(context, problem, beta, proof->d_bar, found->tau, found->v, &lower));
    if (lower > proof->lower) {
        nadir_release(context, proof->v_tau);
        proof->v_tau = found->v;
        found->v = NULL;
        proof->tau = found->tau;
        nadir_certificate_offer(proof, lower, NADIR_PROOF_RIGOROUS, "lagrangian");
    }
cleanup:
    return status;
}

/* At tau = 0 where the ball does not matter; then at the best tau. */
static nadir_status prove_lagrangian(nadir_context *context, const nadir_problem *problem, double beta,
                                     const nadir_attack *attack, double wanted, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    nadir_lagrangian found = {0};
    if (!isfinite(attack->tau) || !(pow(beta, problem->uncertainty->p) > 0)) {
        return NADIR_OK; /* p so large that beta^p is beyond the numbers */
    }
    if (!(attack->tau > 0)) {
        NADIR_CHECK(nadir_lagrangian_solve(context, problem, beta, proof->d_bar, 0, &found));
        NADIR_CHECK(offer_lagrangian(context, problem, beta, &found, proof));
        nadir_lagrangian_clear(context, &found);
    }
    if (proof->lower < wanted) {
        NADIR_CHECK(nadir_lagrangian_tau_best(context, problem, beta, proof->d_bar, attack->tau, EVALUATIONS,
                                              &found));
        NADIR_CHECK(offer_lagrangian(context, problem, beta, &found, proof));
    }
cleanup:
    nadir_lagrangian_clear(context, &found);
    return status;
}

/* Whether all allowed entries of all rows can be looked at one by one. */
static bool can_list(const nadir_context *context, const nadir_problem *problem)
{
    const nadir_model *model = problem->model;
    const double dense = (double)problem->rows * (double)problem->states;
    const bool few = problem->uncertainty->domain == NADIR_DOMAIN_SUPPORT && model->dense == NULL;
    return few || nadir_allreduce_maximum(context, dense) <= ENTRIES;
}

/* With columns of D. */
static nadir_status prove_small(nadir_context *context, const nadir_problem *problem, double beta,
                                const nadir_attack *attack, nadir_certify effort, double wanted,
                                nadir_occupancy_bounds *visits, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    nadir_perturbable_rows live = {0};
    NADIR_CHECK(nadir_perturbable_rows_make(context, problem, &live));
    nadir_occupancy_bounds_limit(context, problem, radius_2(problem, beta), visits);
    if (has_second_order(problem, attack)) {
        NADIR_CHECK(
            nadir_second_order_search(context, problem, &live, visits, beta, attack, effort, wanted, proof));
    } else {
        NADIR_CHECK(nadir_occupancy_bounds_bound(context, problem, &live, radius_2(problem, beta), visits));
        memcpy(proof->d_bar, visits->high, (size_t)problem->states * sizeof *proof->d_bar);
    }
    if (proof->lower < wanted) {
        NADIR_CHECK(prove_lagrangian(context, problem, beta, attack, wanted, proof));
    }
cleanup:
    nadir_perturbable_rows_clear(context, &live);
    return status;
}

/* Without: the second order first, which where it succeeds leaves nothing to the Lagrangian bound but what
 * rows lack of stationarity, and costs less. */
static nadir_status prove_large(nadir_context *context, const nadir_problem *problem, double beta,
                                const nadir_attack *attack, double wanted, nadir_occupancy_bounds *visits,
                                nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    nadir_perturbable_rows live = {0};
    nadir_occupancy_bounds_limit(context, problem, radius_2(problem, beta), visits);
    memcpy(proof->d_bar, visits->high, (size_t)problem->states * sizeof *proof->d_bar);
    if (has_second_order(problem, attack) && can_list(context, problem)) {
        NADIR_CHECK(nadir_perturbable_rows_make(context, problem, &live));
        NADIR_CHECK(nadir_second_order_prove_large(context, problem, &live, visits, beta, attack, proof));
        nadir_perturbable_rows_clear(context, &live);
    }
    const bool spread = problem->model->exchange != NULL; /* there the Lagrangian bound is not to be had */
    if (proof->lower < wanted && !(proof->kappa <= 0.5) && !spread) {
        NADIR_CHECK(prove_lagrangian(context, problem, beta, attack, wanted, proof));
    }
cleanup:
    nadir_perturbable_rows_clear(context, &live);
    return status;
}

nadir_status nadir_valid_prove(nadir_context *context, const nadir_problem *problem, double beta,
                               const nadir_attack *attack, nadir_certify effort, double wanted,
                               nadir_certificate *proof)
{
    return nadir_valid_prove_within(context, problem, beta, attack, effort, wanted, NULL, proof);
}

/* No more than that nothing is proven; visits of all kernels. */
static nadir_status begin(nadir_context *context, const nadir_problem *problem,
                          const nadir_occupancy_bounds *known, nadir_occupancy_bounds *visits,
                          nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    *proof = (nadir_certificate){.lower = -INFINITY, .bound = "none", .kappa = NAN};
    NADIR_NEW(context, proof->d_bar, problem->states);
    NADIR_CHECK(known != NULL ? nadir_occupancy_bounds_copy(context, known, visits)
                              : nadir_occupancy_bounds_make(context, problem, visits));
cleanup:
    return status;
}

nadir_status nadir_valid_prove_by_norms(nadir_context *context, const nadir_problem *problem, double beta,
                                        const nadir_attack *attack, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy_bounds visits = {0};
    nadir_perturbable_rows live = {0};
    NADIR_CHECK(begin(context, problem, NULL, &visits, proof));
    if (has_second_order(problem, attack) && problem->states <= NADIR_PROOF_STATES &&
        problem->model->exchange == NULL) {
        NADIR_CHECK(nadir_perturbable_rows_make(context, problem, &live));
        nadir_occupancy_bounds_limit(context, problem, beta, &visits);
        memcpy(proof->d_bar, visits.high, (size_t)problem->states * sizeof *proof->d_bar);
        NADIR_CHECK(nadir_kappa_by_norms_prove(context, problem, &live, &visits, beta, attack, proof));
    }
cleanup:
    nadir_perturbable_rows_clear(context, &live);
    nadir_occupancy_bounds_clear(context, &visits);
    if (status != NADIR_OK) {
        nadir_certificate_clear(context, proof);
    }
    return status;
}

nadir_status nadir_valid_prove_within(nadir_context *context, const nadir_problem *problem, double beta,
                                      const nadir_attack *attack, nadir_certify effort, double wanted,
                                      const nadir_occupancy_bounds *known, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy_bounds visits = {0};
    NADIR_CHECK(begin(context, problem, known, &visits, proof));
    const bool small = effort == NADIR_CERTIFY_STRICT || problem->states <= NADIR_PROOF_STATES;
    if (small && problem->model->exchange == NULL) {
        NADIR_CHECK(prove_small(context, problem, beta, attack, effort, wanted, &visits, proof));
    } else {
        NADIR_CHECK(prove_large(context, problem, beta, attack, wanted, &visits, proof));
    }
cleanup:
    nadir_occupancy_bounds_clear(context, &visits);
    if (status != NADIR_OK) {
        nadir_certificate_clear(context, proof);
    }
    return status;
}
