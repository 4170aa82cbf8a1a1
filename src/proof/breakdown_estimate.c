/*
 * breakdown_estimate.c: |Phi D W|_2 by Lanczos iterations, and the cheapest proof that a radius is below breakdown;
 * see breakdown.h. The estimate proves nothing: bounds that rest on it are numerical, not rigorous.
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
    nadir_vec place;
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
    NADIR_CHECK(nadir_vec_dot(&self->place, self->states, self->ones, x, &sum));
    const double mean = sum / (double)nadir_global_count(self->place.context, self->states);
    NADIR_CHECK(nadir_vec_add(&self->place, self->states, -mean, self->ones, x));
cleanup:
    return status;
}

static nadir_status apply(nadir_context *context, void *user, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const centred_operator *self = user;
    (void)context;
    NADIR_CHECK(nadir_vec_multiply(&self->place, self->states, self->W, x, self->work));
    NADIR_CHECK(
        nadir_occupancy_solve_vec(&self->place, self->occupancy, false, self->work, SOLVE_TOLERANCE, y));
    NADIR_CHECK(subtract_mean(self, y));
cleanup:
    return status;
}

static nadir_status apply_transposed(nadir_context *context, void *user, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const centred_operator *self = user;
    (void)context;
    NADIR_CHECK(nadir_vec_copy(&self->place, self->states, x, self->work));
    NADIR_CHECK(subtract_mean(self, self->work));
    NADIR_CHECK(
        nadir_occupancy_solve_vec(&self->place, self->occupancy, true, self->work, SOLVE_TOLERANCE, y));
    NADIR_CHECK(nadir_vec_multiply(&self->place, self->states, self->W, y, y));
cleanup:
    return status;
}

/* |Phi D W|_2 from two starts, with all vectors of the iterations in one memory. */
static nadir_status iterate(const nadir_breakdown_operator *made, nadir_vec place,
                            nadir_singular_triple found[2])
{
    nadir_status status = NADIR_OK;
    nadir_context *context = place.context;
    const int64_t n = made->problem->states;
    nadir_random random = context->random;
    double *vectors = NULL;
    double *device_vectors = NULL;
    NADIR_NEW(context, vectors, 2 * n);
    NADIR_CHECK(nadir_vec_allocate(&place, 3 * n, &device_vectors));
    centred_operator user = {place,          made->problem->occupancy, n,
                             device_vectors, device_vectors + n,       device_vectors + 2 * n};
    const nadir_linear_map centred = {n, n, apply, apply_transposed, &user};
    NADIR_CHECK(nadir_vec_copy(&place, n, made->W, user.W));
    for (int64_t s = 0; s < n; s++) {
        vectors[s] = 1;
    }
    NADIR_CHECK(nadir_vec_copy(&place, n, vectors, user.ones));
    for (int i = 0; i < 2; i++) {
        NADIR_CHECK(nadir_lanczos_top(&place, &centred, NULL, &random, RESIDUAL_TOLERANCE, PRODUCTS_LIMIT,
                                      vectors, vectors + n, &found[i]));
    }
cleanup:
    nadir_vec_release(&place, 3 * n, device_vectors);
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
    const nadir_vec place =
        problem->states >= LEAST_STATES ? nadir_occupancy_vec(context, problem->occupancy) : host;
    status = iterate(&made, place, found);
    if (status == NADIR_ERROR_MEMORY && place.device != NULL) {
        status = iterate(&made, host, found);
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

bool nadir_breakdown_may_form_columns(const nadir_problem *problem, nadir_certify certify)
{
    return problem->model->exchange == NULL && /* factors of D are of one process */
           (certify == NADIR_CERTIFY_STRICT || problem->states <= NADIR_COLUMNS_STATES);
}

nadir_status nadir_breakdown_prove(nadir_context *context, const nadir_problem *problem,
                                   nadir_breakdown_proof proof, double beta, nadir_known_breakdown *known)
{
    const nadir_status status = nadir_breakdown_lower_norm(context, problem, proof, beta, &known->norm);
    known->low = fmax(known->low, nadir_breakdown_radius(problem, known->norm));
    known->proof = proof;
    return status;
}

nadir_status nadir_breakdown_estimate_once(nadir_context *context, const nadir_problem *problem,
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
    NADIR_CHECK(nadir_breakdown_prove(context, problem, NADIR_BREAKDOWN_PRODUCTS, beta, known));
    if (beta >= known->low && nadir_breakdown_may_form_columns(problem, certify)) {
        NADIR_CHECK(nadir_breakdown_prove(context, problem, NADIR_BREAKDOWN_COLUMNS, beta, known));
    }
    if (certify == NADIR_CERTIFY_STRICT || beta >= known->low) {
        NADIR_CHECK(nadir_breakdown_estimate_once(context, problem, known));
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
