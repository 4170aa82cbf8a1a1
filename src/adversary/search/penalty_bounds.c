/* penalty_bounds.c: which proofs bound the penalty over an L_2 ball well enough; see penalty_bounds.h. */
#include "adversary/search/penalty_bounds.h"

#include <math.h>

/* Bounds in the making, and room for the questions of those that are still open. */
typedef struct bounding {
    nadir_context *context;
    const nadir_problem *problem;
    int64_t count;
    nadir_penalty_bound *bounds;
    nadir_spectral_question *asked; /* [count] */
    double *high;                   /* [count] */
    int64_t *which;                 /* [count] */
} bounding;

static bool is_open(const nadir_penalty_bound *bound)
{
    return bound->lambda_high > bound->wanted;
}

/* The largest radius whose bound is not good enough yet; negative: there is none. */
static double largest_open(const bounding *at)
{
    double largest = -1;
    for (int64_t i = 0; i < at->count; i++) {
        largest = is_open(&at->bounds[i]) ? fmax(largest, at->bounds[i].asked.beta) : largest;
    }
    return largest;
}

/* Improves what is open and below `limit`, a breakdown radius that is known with this proof. */
static nadir_status isolate(bounding *at, double limit, nadir_proof proof)
{
    nadir_status status = NADIR_OK;
    int64_t open = 0;
    for (int64_t i = 0; i < at->count; i++) {
        if (is_open(&at->bounds[i]) && at->bounds[i].asked.beta < limit) {
            at->asked[open] = at->bounds[i].asked;
            at->which[open++] = i;
        }
    }
    NADIR_CHECK(nadir_spectral_check_many(at->context, at->problem, open, at->asked, limit, at->high));
    for (int64_t j = 0; j < open; j++) {
        nadir_penalty_bound *bound = &at->bounds[at->which[j]];
        if (at->high[j] < bound->lambda_high) {
            bound->lambda_high = at->high[j];
            bound->proof = proof;
        }
    }
cleanup:
    return status;
}

/* The same without isolation, one after the other. */
static nadir_status factor(bounding *at, double limit)
{
    nadir_status status = NADIR_OK;
    for (int64_t i = 0; i < at->count; i++) {
        nadir_penalty_bound *bound = &at->bounds[i];
        const nadir_spectral_question *asked = &bound->asked;
        if (is_open(bound) && asked->beta < limit) {
            double high;
            NADIR_CHECK(nadir_spectral_check_dense(at->context, at->problem, asked->beta, asked->c, asked->k,
                                                   limit, &high));
            bound->lambda_high = fmin(bound->lambda_high, high);
        }
    }
cleanup:
    return status;
}

static nadir_status run(bounding *at, nadir_certify certify, nadir_known_breakdown *known)
{
    nadir_status status = NADIR_OK;
    const bool columns = nadir_breakdown_may_form_columns(at->problem, certify);
    const nadir_breakdown_proof last = columns ? NADIR_BREAKDOWN_CHOLESKY : NADIR_BREAKDOWN_PRODUCTS;
    NADIR_CHECK(isolate(at, known->low, NADIR_PROOF_RIGOROUS));
    while (largest_open(at) >= 0 && known->proof < last) {
        NADIR_CHECK(
            nadir_breakdown_prove(at->context, at->problem, known->proof + 1, largest_open(at), known));
        NADIR_CHECK(isolate(at, known->low, NADIR_PROOF_RIGOROUS));
    }
    if (columns) {
        NADIR_CHECK(factor(at, known->low));
    }
    if (largest_open(at) >= 0) {
        NADIR_CHECK(nadir_breakdown_estimate_once(at->context, at->problem, known));
        if (!isnan(known->estimate)) {
            NADIR_CHECK(isolate(at, NADIR_BREAKDOWN_CLOSE * known->estimate, NADIR_PROOF_NUMERICAL));
        }
    }
cleanup:
    return status;
}

nadir_status nadir_penalty_bounds(nadir_context *context, const nadir_problem *problem, nadir_certify certify,
                                  int64_t count, nadir_penalty_bound *bounds, nadir_known_breakdown *known)
{
    nadir_status status = NADIR_OK;
    bounding at = {.context = context, .problem = problem, .count = count, .bounds = bounds};
    NADIR_NEW(context, at.asked, count);
    NADIR_NEW(context, at.high, count);
    NADIR_NEW(context, at.which, count);
    for (int64_t i = 0; i < count; i++) {
        bounds[i].lambda_high = INFINITY;
        bounds[i].proof = NADIR_PROOF_RIGOROUS;
    }
    NADIR_CHECK(run(&at, certify, known));
cleanup:
    nadir_release(context, at.asked);
    nadir_release(context, at.high);
    nadir_release(context, at.which);
    return status;
}
