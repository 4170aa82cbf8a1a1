/* penalty.c: bounds on the penalty of every kernel of an L_2 ball on the free domain; see penalty.h. */
#include "adversary/search/penalty_bounds.h"

#include <float.h>
#include <math.h>

static bool may_form_columns(const nadir_problem *problem, nadir_certify certify)
{
    return problem->model->exchange == NULL && /* factors of D are of one process */
           (certify == NADIR_CERTIFY_STRICT || problem->states <= NADIR_COLUMNS_STATES);
}

static nadir_status raise_low(nadir_context *context, const nadir_problem *problem,
                              nadir_breakdown_proof proof, double beta, nadir_known_breakdown *known)
{
    double low = 0;
    const nadir_status status = nadir_breakdown_low(context, problem, proof, beta, &low);
    known->low = fmax(known->low, low);
    known->proof = proof;
    return status;
}

/* The exact one, once. */
static nadir_status estimate(nadir_context *context, const nadir_problem *problem,
                             nadir_known_breakdown *known)
{
    nadir_status status = NADIR_OK;
    bool converged = false;
    if (!isnan(known->estimate)) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_breakdown_estimate(context, problem, &known->estimate, &converged));
    if (!converged) {
        known->estimate = NAN;
    }
cleanup:
    return status;
}

nadir_status nadir_breakdown_settle(nadir_context *context, const nadir_problem *problem,
                                    nadir_certify certify, double beta, nadir_known_breakdown *known,
                                    bool *inside)
{
    nadir_status status = NADIR_OK;
    *known = (nadir_known_breakdown){.estimate = NAN};
    NADIR_CHECK(raise_low(context, problem, NADIR_BREAKDOWN_PRODUCTS, beta, known));
    if (beta >= known->low && may_form_columns(problem, certify)) {
        NADIR_CHECK(raise_low(context, problem, NADIR_BREAKDOWN_COLUMNS, beta, known));
    }
    if (certify == NADIR_CERTIFY_STRICT || beta >= known->low) {
        NADIR_CHECK(estimate(context, problem, known));
    }
    *inside =
        beta < known->low || (!isnan(known->estimate) && beta < NADIR_BREAKDOWN_CLOSE * known->estimate);
cleanup:
    return status;
}

/* Breakdown is where the estimate says; without one nothing is known past the proven radius. */
nadir_status nadir_breakdown_refuse(nadir_context *context, double radius, const nadir_known_breakdown *known)
{
    if (isnan(known->estimate)) {
        return nadir_fail(
            context, NADIR_ERROR_ILL_POSED,
            "the radius is %.17g, but breakdown is only proven to be beyond %.17g, and the iteration that "
            "would "
            "tell where it is did not converge; take a smaller radius, or domain simplex or support",
            radius, known->low);
    }
    return nadir_fail(
        context, NADIR_ERROR_ILL_POSED,
        "the radius is %.17g, but breakdown is at %.17g: there some kernel of the ball makes I - gamma P "
        "singular and the return is unbounded; take a smaller radius, or domain simplex or support",
        radius, known->estimate);
}

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
    const bool columns = may_form_columns(at->problem, certify);
    const nadir_breakdown_proof last = columns ? NADIR_BREAKDOWN_CHOLESKY : NADIR_BREAKDOWN_PRODUCTS;
    NADIR_CHECK(isolate(at, known->low, NADIR_PROOF_RIGOROUS));
    while (largest_open(at) >= 0 && known->proof < last) {
        NADIR_CHECK(raise_low(at->context, at->problem, known->proof + 1, largest_open(at), known));
        NADIR_CHECK(isolate(at, known->low, NADIR_PROOF_RIGOROUS));
    }
    if (columns) {
        NADIR_CHECK(factor(at, known->low));
    }
    if (largest_open(at) >= 0) {
        NADIR_CHECK(estimate(at->context, at->problem, known));
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

double nadir_free_lower(const nadir_problem *problem, double lambda_high)
{
    const double rounding = 2 * DBL_EPSILON * (fabs(problem->J) + fabs(lambda_high));
    return problem->J - problem->J_error - lambda_high - rounding;
}

nadir_status nadir_free_enclosing_ball(nadir_context *context, const nadir_problem *problem,
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
