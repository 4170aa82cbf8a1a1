/* penalty_bounds.c: which proofs bound the penalty over an L_2 ball well enough; see penalty_bounds.h. */
#include "proof/free_bounds.h"

#include <math.h>

/* The bounds of one call, and the questions of those that are not good enough yet. */
typedef struct bounds_run {
    nadir_context *context;
    const nadir_problem *problem;
    int64_t count;
    nadir_penalty_bound *bounds;
    nadir_spectral_question *questions; /* [count] */
    double *high;                       /* [count] */
    int64_t *which;                     /* [count] */
} bounds_run;

static bool is_open(const nadir_penalty_bound *bound)
{
    return bound->lambda_high > bound->wanted;
}

/* The largest radius whose bound is not good enough yet; negative: there is none. */
static double largest_open(const bounds_run *self)
{
    double largest = -1;
    for (int64_t i = 0; i < self->count; i++) {
        largest = is_open(&self->bounds[i]) ? fmax(largest, self->bounds[i].question.beta) : largest;
    }
    return largest;
}

/* Improves what is open and below `limit`, a breakdown radius that is known with this proof. */
static nadir_status isolate(bounds_run *self, double limit, nadir_proof proof)
{
    nadir_status status = NADIR_OK;
    int64_t open = 0;
    for (int64_t i = 0; i < self->count; i++) {
        if (is_open(&self->bounds[i]) && self->bounds[i].question.beta < limit) {
            self->questions[open] = self->bounds[i].question;
            self->which[open++] = i;
        }
    }
    NADIR_CHECK(
        nadir_spectral_check_many(self->context, self->problem, open, self->questions, limit, self->high));
    for (int64_t j = 0; j < open; j++) {
        nadir_penalty_bound *bound = &self->bounds[self->which[j]];
        if (self->high[j] < bound->lambda_high) {
            bound->lambda_high = self->high[j];
            bound->proof = proof;
        }
    }
cleanup:
    return status;
}

/* The same without isolation, one after the other. */
static nadir_status factor(bounds_run *self, double limit)
{
    nadir_status status = NADIR_OK;
    for (int64_t i = 0; i < self->count; i++) {
        nadir_penalty_bound *bound = &self->bounds[i];
        const nadir_spectral_question *question = &bound->question;
        if (is_open(bound) && question->beta < limit) {
            double high;
            NADIR_CHECK(nadir_spectral_check_dense(self->context, self->problem, question->beta, question->c,
                                                   question->k, limit, &high));
            bound->lambda_high = fmin(bound->lambda_high, high);
        }
    }
cleanup:
    return status;
}

static nadir_status run(bounds_run *self, nadir_certify certify, nadir_known_breakdown *known)
{
    nadir_status status = NADIR_OK;
    const bool columns = nadir_breakdown_may_form_columns(self->problem, certify);
    const nadir_breakdown_proof last = columns ? NADIR_BREAKDOWN_CHOLESKY : NADIR_BREAKDOWN_PRODUCTS;
    NADIR_CHECK(isolate(self, known->low, NADIR_PROOF_RIGOROUS));
    while (largest_open(self) >= 0 && known->proof < last) {
        NADIR_CHECK(
            nadir_breakdown_prove(self->context, self->problem, known->proof + 1, largest_open(self), known));
        NADIR_CHECK(isolate(self, known->low, NADIR_PROOF_RIGOROUS));
    }
    if (columns) {
        NADIR_CHECK(factor(self, known->low));
    }
    if (largest_open(self) >= 0) {
        NADIR_CHECK(nadir_breakdown_estimate_once(self->context, self->problem, known));
        if (!isnan(known->estimate)) {
            NADIR_CHECK(isolate(self, NADIR_BREAKDOWN_CLOSE * known->estimate, NADIR_PROOF_NUMERICAL));
        }
    }
cleanup:
    return status;
}

nadir_status nadir_penalty_bounds(nadir_context *context, const nadir_problem *problem, nadir_certify certify,
                                  int64_t count, nadir_penalty_bound *bounds, nadir_known_breakdown *known)
{
    nadir_status status = NADIR_OK;
    bounds_run self = {.context = context, .problem = problem, .count = count, .bounds = bounds};
    NADIR_NEW(context, self.questions, count);
    NADIR_NEW(context, self.high, count);
    NADIR_NEW(context, self.which, count);
    for (int64_t i = 0; i < count; i++) {
        bounds[i].lambda_high = INFINITY;
        bounds[i].proof = NADIR_PROOF_RIGOROUS;
    }
    NADIR_CHECK(run(&self, certify, known));
cleanup:
    nadir_release(context, self.questions);
    nadir_release(context, self.high);
    nadir_release(context, self.which);
    return status;
}
