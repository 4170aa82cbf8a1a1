/*
 * breakdown_search.c: the breakdown radius 1 / (gamma |Phi D W|_2) by Lanczos iterations, and which proof of it
 * is enough; see breakdown_search.h.
 */
#include "proof/breakdown.h"

#include "linalg/distributed.h"
#include "linalg/lanczos.h"

#include <math.h>

/* Of the Lanczos iterations. */
#define SOLVE_TOLERANCE    1e-12
#define RESIDUAL_TOLERANCE 1e-10
#define AGREEMENT          1e-9
#define PRODUCTS_LIMIT     4000
/* With fewer states the vectors stay on the host: a call to a device takes longer than the work. */
#define LEAST_STATES 16384

/* Phi D W with vectors in host or device memory. */
typedef struct centred_operator {
    nadir_vec vec;
    nadir_occupancy *occupancy;
    int64_t states;
    double *W;    /* [states] */
    double *ones; /* [states] */
    double *work; /* [states] */
} centred_operator;

/* x <- Phi x */
static nadir_status subtract_mean(const centred_operator *self, double *x)
{
    nadir_status status = NADIR_OK;
    double sum;
    NADIR_CHECK(nadir_vec_dot(&self->vec, self->states, self->ones, x, &sum));
    const double mean = sum / (double)nadir_global_count(self->vec.context, self->states);
    NADIR_CHECK(nadir_vec_add(&self->vec, self->states, -mean, self->ones, x));
cleanup:
    return status;
}

static nadir_status apply(nadir_context *context, void *user, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const centred_operator *self = user;
    (void)context;
    NADIR_CHECK(nadir_vec_multiply(&self->vec, self->states, self->W, x, self->work));
    NADIR_CHECK(
        nadir_occupancy_solve_vec(&self->vec, self->occupancy, false, self->work, SOLVE_TOLERANCE, y));
    NADIR_CHECK(subtract_mean(self, y));
cleanup:
    return status;
}

static nadir_status apply_transposed(nadir_context *context, void *user, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const centred_operator *self = user;
    (void)context;
    NADIR_CHECK(nadir_vec_copy(&self->vec, self->states, x, self->work));
    NADIR_CHECK(subtract_mean(self, self->work));
    NADIR_CHECK(nadir_occupancy_solve_vec(&self->vec, self->occupancy, true, self->work, SOLVE_TOLERANCE, y));
    NADIR_CHECK(nadir_vec_multiply(&self->vec, self->states, self->W, y, y));
cleanup:
    return status;
}

/* |Phi D W|_2 from two starts, with all vectors of the iterations in one memory. */
static nadir_status search(const nadir_breakdown_operator *made, nadir_vec vec,
                           nadir_singular_triple found[2])
{
    nadir_status status = NADIR_OK;
    nadir_context *context = vec.context;
    const int64_t n = made->problem->states;
    nadir_random random = context->random;
    double *vectors = NULL;
    double *device_vectors = NULL;
    NADIR_NEW(context, vectors, 2 * n);
    NADIR_CHECK(nadir_vec_allocate(&vec, 3 * n, &device_vectors));
    centred_operator user = {
        vec, made->problem->occupancy, n, device_vectors, device_vectors + n, device_vectors + 2 * n};
    const nadir_linear_map centred = {n, n, apply, apply_transposed, &user};
    NADIR_CHECK(nadir_vec_copy(&vec, n, made->W, user.W));
    for (int64_t s = 0; s < n; s++) {
        vectors[s] = 1;
    }
    NADIR_CHECK(nadir_vec_copy(&vec, n, vectors, user.ones));
    for (int i = 0; i < 2; i++) {
        NADIR_CHECK(nadir_lanczos_top(&vec, &centred, NULL, &random, RESIDUAL_TOLERANCE, PRODUCTS_LIMIT,
                                      vectors, vectors + n, &found[i]));
    }
cleanup:
    nadir_vec_release(&vec, 3 * n, device_vectors);
    nadir_release(context, vectors);
    return status;
}

nadir_status nadir_breakdown_estimate(nadir_context *context, const nadir_problem *problem, double *radius,
                                      bool *converged)
{
    nadir_status status = NADIR_OK;
    nadir_breakdown_operator made = {0};
    nadir_singular_triple found[2];
    NADIR_CHECK(nadir_breakdown_operator_make(context, problem, &made));
    *radius = INFINITY;
    *converged = true;
    if (nadir_breakdown_operator_is_zero(&made)) {
        goto cleanup;
    }
    const nadir_vec host = nadir_vec_host(context);
    const nadir_vec vec =
        problem->states >= LEAST_STATES ? nadir_occupancy_vec(context, problem->occupancy) : host;
    status = search(&made, vec, found);
    if (status == NADIR_ERROR_MEMORY && vec.device != NULL) {
        status = search(&made, host, found);
    }
    NADIR_CHECK(status);
    const double norm = fmax(found[0].sigma, found[1].sigma);
    *radius = 1 / (problem->gamma * norm);
    *converged =
        found[0].converged && found[1].converged && fabs(found[0].sigma - found[1].sigma) <= AGREEMENT * norm;
cleanup:
    nadir_breakdown_operator_clear(context, &made);
    return status;
}

/* Whether D may be formed: its factors are of one process, and it is small, or all proofs are wanted. */
static bool may_form_columns(const nadir_problem *problem, nadir_certify certify)
{
    return problem->model->exchange == NULL && /* factors of D are of one process */
           (certify == NADIR_CERTIFY_STRICT || problem->states <= NADIR_COLUMNS_STATES);
}

/* Raises known->low by this proof. beta: the radius of interest. */
static nadir_status prove_breakdown(nadir_context *context, const nadir_problem *problem,
                                    nadir_breakdown_proof proof, double beta, nadir_known_breakdown *known)
{
    const nadir_status status = nadir_breakdown_lower_norm(context, problem, proof, beta, &known->norm);
    known->low = fmax(known->low, nadir_breakdown_radius(problem, known->norm));
    known->proof = proof;
    return status;
}

/* Makes known->estimate, unless it is there; NaN where the iteration does not converge. */
static nadir_status estimate_once(nadir_context *context, const nadir_problem *problem,
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
    *known = (nadir_known_breakdown){.norm = INFINITY, .estimate = NAN};
    NADIR_CHECK(prove_breakdown(context, problem, NADIR_BREAKDOWN_PRODUCTS, beta, known));
    if (beta >= known->low && may_form_columns(problem, certify)) {
        NADIR_CHECK(prove_breakdown(context, problem, NADIR_BREAKDOWN_COLUMNS, beta, known));
    }
    if (certify == NADIR_CERTIFY_STRICT || beta >= known->low) {
        NADIR_CHECK(estimate_once(context, problem, known));
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

/* ------------------------------------------------------------------------ bounds on the penalty */

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
    const bool columns = may_form_columns(self->problem, certify);
    const nadir_breakdown_proof last = columns ? NADIR_BREAKDOWN_CHOLESKY : NADIR_BREAKDOWN_PRODUCTS;
    NADIR_CHECK(isolate(self, known->low, NADIR_PROOF_RIGOROUS));
    while (largest_open(self) >= 0 && known->proof < last) {
        NADIR_CHECK(
            prove_breakdown(self->context, self->problem, known->proof + 1, largest_open(self), known));
        NADIR_CHECK(isolate(self, known->low, NADIR_PROOF_RIGOROUS));
    }
    if (columns) {
        NADIR_CHECK(factor(self, known->low));
    }
    if (largest_open(self) >= 0) {
        NADIR_CHECK(estimate_once(self->context, self->problem, known));
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
