/*
 * verify_witness.c: what a witness says besides bounds, made anew: the breakdown radius, by the proof that it
 * names; kappa and the bounds of occupancies, which the proof of the lower bound has found. See verify.h.
 */
#include "proof/breakdown.h"
#include "proof/free_bounds.h"
#include "proof/verify.h"

#include <math.h>
#include <string.h>

/* Proofs from the same numbers differ by rounding; kappa is found by halving, and may miss a step by it. */
#define AGREEMENT   1e-9
#define OCCUPANCIES 1e-6
#define ESTIMATE    1e-6       /* of Lanczos iterations */
#define KAPPA_STEP  (1.0 / 64) /* of kappa, and half of it more */

/* ------------------------------------------------------------------------------------- breakdown */

/* By a proof at p = 2, or by the estimate. What products show hangs on the backend, which may have been
 * another one in the evaluation. */
static nadir_status find_by_norm(nadir_verify_run *run, const char *how, double claimed, double *found)
{
    nadir_status status = NADIR_OK;
    static const char *const names[] = {"products", "columns", "cholesky"};
    const nadir_problem *problem = &run->asked.problem;
    const double radius = problem->uncertainty->radius;
    nadir_uncertainty two = {0};
    nadir_problem enclosing;
    double wider;
    double low = 0;
    bool converged = false;
    NADIR_CHECK(nadir_free_enclosing_ball(run->context, problem, &two, &enclosing, &wider));
    for (int proof = 0; proof < 3; proof++) {
        if (strcmp(how, names[proof]) == 0) {
            NADIR_CHECK(nadir_breakdown_low(run->context, &enclosing, (nadir_breakdown_proof)proof,
                                            wider * radius, &low));
        }
    }
    if (strcmp(how, "lanczos") == 0) {
        NADIR_CHECK(nadir_breakdown_estimate(run->context, &enclosing, &low, &converged));
        low = converged ? low * (1 + ESTIMATE) : 0;
    }
    *found = nadir_breakdown_for_norm(problem, low);
    if (strcmp(how, names[NADIR_BREAKDOWN_PRODUCTS]) == 0 && *found < claimed * (1 - AGREEMENT)) {
        NADIR_CHECK(nadir_breakdown_low_thoroughly(run->context, &enclosing, &low));
        *found = fmax(*found, nadir_breakdown_for_norm(problem, low));
    }
cleanup:
    nadir_uncertainty_clear(run->context, &two);
    return status;
}

static nadir_status find_breakdown(nadir_verify_run *run, const char *how, double claimed, double *found)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = &run->asked.problem;
    const nadir_uncertainty *set = problem->uncertainty;
    bool exact;
    double lower;
    *found = 0;
    if (set->domain != NADIR_DOMAIN_FREE) {
        return NADIR_OK; /* there is none */
    }
    if (set->set != NADIR_SET_NONRECT) {
        if (strcmp(how, "contraction") == 0 && run->witness.v != NULL) {
            NADIR_CHECK(nadir_rectangular_free_bound(run->context, problem, 1, run->witness.v, &exact, &lower,
                                                     found));
            *found *= set->radius;
        }
    } else if (strcmp(how, "enumeration") == 0) {
        NADIR_CHECK(set->p == 1 ? nadir_l1_breakdown_low(run->context, problem, claimed, found) : NADIR_OK);
    } else {
        NADIR_CHECK(find_by_norm(run, how, claimed, found));
    }
cleanup:
    return status;
}

nadir_status nadir_verify_breakdown(nadir_verify_run *run)
{
    const double claimed = run->witness.breakdown_low;
    const char *how = run->witness.breakdown_proof != NULL ? run->witness.breakdown_proof : "none";
    double found = 0;
    if (isnan(claimed)) {
        return NADIR_OK;
    }
    const nadir_status status = find_breakdown(run, how, claimed, &found);
    if (status != NADIR_OK && !nadir_verify_is_finding(status)) {
        return status;
    }
    const bool holds = status == NADIR_OK && found >= claimed * (1 - AGREEMENT);
    nadir_verify_add(run, "breakdown_low", holds,
                     "breakdown is claimed to be beyond radius %.17g (%s); found %.17g", claimed, how, found);
    return NADIR_OK;
}

/* ----------------------------------------------------------------------------------- occupancies */

static bool has_kappa(const nadir_verify_run *run)
{
    const double claimed = run->witness.kappa;
    return isnan(claimed) || run->kappa <= claimed + KAPPA_STEP * (fabs(claimed) + 0.5);
}

/* The first state whose occupancy may be larger than is claimed; `states`: there is none. */
static int64_t find_larger(const nadir_verify_run *run)
{
    const double most = 1 / (1 - run->model->discount); /* visits of all states */
    int64_t s = 0;
    while (s < run->model->states && run->d_bar != NULL &&
           run->d_bar[s] <= run->witness.d_bar[s] * (1 + OCCUPANCIES) + AGREEMENT * most) {
        s++;
    }
    return s;
}

void nadir_verify_occupancies(nadir_verify_run *run)
{
    if (!isnan(run->witness.kappa)) {
        nadir_verify_add(run, "kappa", has_kappa(run), "kappa is claimed to be %.6g; found %.6g",
                         run->witness.kappa, run->kappa);
    }
    if (run->witness.d_bar != NULL) {
        const int64_t s = find_larger(run);
        const bool holds = s == run->model->states;
        nadir_verify_add(run, "d_bar", holds,
                         holds ? "no kernel of the ball visits a state more often than is claimed"
                               : "state %lld may be visited more often than is claimed",
                         (long long)s);
    }
}
