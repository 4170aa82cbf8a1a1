/* penalty.c: how much a kernel of the L_2 ball can cost at most; see penalty.h. */
#include "adversary/free/penalty.h"

#include "adversary/check/check_rank_one.h"

#include <float.h>
#include <math.h>

nadir_status nadir_breakdown_raise(nadir_context *context, const nadir_problem *problem,
                                   nadir_breakdown_proof proof, double beta, nadir_breakdown_known *known)
{
    double low = 0;
    const nadir_status status = nadir_breakdown_low(context, problem, proof, beta, &low);
    known->low = fmax(known->low, low);
    known->proof = proof;
    return status;
}

nadir_status nadir_breakdown_estimate(nadir_context *context, const nadir_problem *problem,
                                      nadir_breakdown_known *known)
{
    nadir_status status = NADIR_OK;
    bool converged = false;
    if (!isnan(known->estimate)) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_breakdown_exact(context, problem, &known->estimate, &converged));
    if (!converged) {
        known->estimate = NAN;
    }
cleanup:
    return status;
}

/* lambda_high by what is proven of breakdown, and then by dearer proofs; then with the estimate. */
nadir_status nadir_penalty_bound(nadir_context *context, const nadir_problem *problem, double beta,
                                 const double *c, const double *k, bool columns, double wanted,
                                 nadir_breakdown_known *known, double *lambda_high, nadir_proof *proof)
{
    nadir_status status = NADIR_OK;
    const nadir_breakdown_proof last = columns ? NADIR_BREAKDOWN_CHOLESKY : NADIR_BREAKDOWN_PRODUCTS;
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
        NADIR_CHECK(nadir_breakdown_raise(context, problem, known->proof + 1, beta, known));
    }
    if (*lambda_high > wanted && beta < known->low && columns) {
        NADIR_CHECK(nadir_spectral_check_dense(context, problem, beta, c, k, known->low, &high));
        *lambda_high = fmin(*lambda_high, high);
    }
    if (*lambda_high > wanted) {
        NADIR_CHECK(nadir_breakdown_estimate(context, problem, known));
        const double near = NADIR_BREAKDOWN_CLOSE * known->estimate;
        if (beta < near) {
            NADIR_CHECK(nadir_spectral_check(context, problem, beta, c, k, near, &high));
            if (high < *lambda_high) {
                *lambda_high = high;
                *proof = NADIR_PROOF_NUMERICAL;
            }
        }
    }
cleanup:
    return status;
}

double nadir_penalty_lower(const nadir_problem *problem, double lambda_high)
{
    const double rounding = 2 * DBL_EPSILON * (fabs(problem->J) + fabs(lambda_high));
    return problem->J - problem->J_error - lambda_high - rounding;
}

nadir_status nadir_enclosing_ball(nadir_context *context, const nadir_problem *problem,
                                  nadir_uncertainty *two, nadir_problem *enclosing, double *wider)
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
    const double factor = own->p > 2 ? pow((double)own->entries, 0.5 - 1 / own->p) : 1;
    *wider = factor * (1 + 4 * DBL_EPSILON);
    return status;
}
