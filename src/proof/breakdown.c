/*
 * breakdown.c: lower bounds on the breakdown radius of the free domain (docs/theory.md, "The free set: rank
 * one is enough": F(lambda) - lambda falls strictly below breakdown); see breakdown.h.
 */
#include "proof/breakdown.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/eigen.h"
#include "linalg/lanczos.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void operator_clear(nadir_context *context, nadir_breakdown_operator *self)
{
    nadir_release(context, self->W);
}

static nadir_status operator_make(nadir_context *context, const nadir_problem *problem,
                                  nadir_breakdown_operator *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    double *shape = NULL;
    *self = (nadir_breakdown_operator){.problem = problem,
                                       .solver = nadir_verified_solver_make(context, problem)};
    NADIR_NEW(context, self->W, problem->states);
    NADIR_NEW(context, shape, problem->rows);
    for (int64_t s = 0; s < problem->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t actions = model->state_rows[s + 1] - first;
        for (int64_t a = 0; a < actions; a++) {
            shape[a] = nadir_uncertainty_scale(problem->uncertainty, first + a) *
                       problem->policy->probabilities[first + a];
        }
        self->W[s] = nadir_round_up(nadir_norm_short(actions, shape, 2), (double)actions + 8);
    }
    self->W_largest = nadir_global_largest(context, problem->states, self->W);
cleanup:
    nadir_release(context, shape);
    return status;
}

/* Whether Phi D W = 0: no kernel of any ball is singular. */
static bool operator_is_zero(const nadir_breakdown_operator *self)
{
    return nadir_model_total(self->problem->model) == 1 || self->problem->gamma == 0 || self->W_largest == 0;
}

/* 1 / (gamma norm), rounded down; infinity for norm = 0. */
static double radius_of_norm(const nadir_problem *problem, double norm)
{
    return norm == 0 ? INFINITY : nadir_round_down(1 / (problem->gamma * norm), 4);
}

/*
 * A bound on |Phi D W|_2 from all columns of D.
 *
 * Quotient: Phi D W = Phi (D - 1 r^T) W whatever r, and |D - 1 r^T| <= |Dhat - 1 r^T| + error entry by entry:
 * the quotient bound of eigen.h on the latter, times W, with r the column minima (best where columns
 * have few large entries) and with r the column means (best where entries scatter about them).
 *
 * Cholesky: the norm of Phi Dhat W itself, plus the most that the error of Dhat adds.
 */

/* The radius of interest is tried with this much more, relatively. */
#define BEYOND 1e-6

typedef enum centre { CENTRE_MINIMUM, CENTRE_MEAN } centre;

static double centre_of(centre kind, int64_t n, const double *column)
{
    if (kind == CENTRE_MEAN) {
        return nadir_vector_sum(n, column) / (double)n;
    }
    double smallest = column[0];
    for (int64_t s = 1; s < n; s++) {
        smallest = column[s] < smallest ? column[s] : smallest;
    }
    return smallest;
}

/* N = (|D - 1 r^T| + error) W, rounded up. */
static void fill_sizes(const nadir_context *context, const nadir_breakdown_operator *self, centre kind,
                       const double *D, double error, double *N)
{
    const int64_t n = self->problem->states;
    const int threads = nadir_threads_for(context, n * n);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < n; t++) {
        const double r = centre_of(kind, n, D + t * n);
        for (int64_t s = 0; s < n; s++) {
            N[t * n + s] = nadir_round_up((fabs(D[t * n + s] - r) + error) * self->W[t], 4);
        }
    }
}

/* N = Phi D W, the columns of D known to a residual; norm >= |Phi D W|. *error: of N in the Frobenius norm.
 * |Phi D r|_2 is at most sqrt(S) times that of |D r|_max, and at most |Phi D W| |r / W|_2. */
static void fill_centred(const nadir_context *context, const nadir_breakdown_operator *self, double norm,
                         double residual, const double *D, double *N, double *error)
{
    const int64_t n = self->problem->states;
    const int threads = nadir_threads_for(context, n * n);
    const double largest = nadir_vector_largest(n * n, D);
    double W_smallest = INFINITY;
    for (int64_t s = 0; s < n; s++) {
        W_smallest = fmin(W_smallest, self->W[s]);
    }
    const double through = W_smallest > 0 ? residual * norm / W_smallest : INFINITY;
    const double off = fmin(nadir_verified_solve_error(&self->solver, residual), through);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < n; t++) {
        const double mean = centre_of(CENTRE_MEAN, n, D + t * n);
        for (int64_t s = 0; s < n; s++) {
            N[t * n + s] = (D[t * n + s] - mean) * self->W[t];
        }
    }
    /* the mean is off by 3 roundings, the difference by one of at most 2 |D|, the product by another */
    *error = nadir_round_up(
        sqrt((double)n) * nadir_up_norm_2(context, n, self->W) * (off + nadir_round_error(8) * largest), 8);
}

static double bound_by_quotients(const nadir_context *context, const nadir_breakdown_operator *self,
                                 const double *D, double error, double *N, double *work)
{
    double best = INFINITY;
    for (int kind = CENTRE_MINIMUM; kind <= CENTRE_MEAN; kind++) {
        fill_sizes(context, self, (centre)kind, D, error, N);
        best = fmin(best, nadir_spectral_norm_quotient(context, self->problem->states, N, work));
    }
    return best;
}

/* Tries the radius of interest alone where the norm itself could not be proven. */
static nadir_status bound_by_cholesky(nadir_context *context, const nadir_breakdown_operator *self,
                                      double beta, double residual, const double *D, double *N, double *norm)
{
    const int64_t n = self->problem->states;
    const double wanted = beta > 0 ? 1 / (self->problem->gamma * beta * (1 + BEYOND)) : INFINITY;
    double proven;
    double added;
    fill_centred(context, self, *norm, residual, D, N, &added);
    NADIR_TRY(nadir_spectral_norm_prove(context, n, N, 0, &proven));
    *norm = fmin(*norm, nadir_round_up(proven + added, 2));
    if (wanted < *norm && wanted > added) {
        NADIR_TRY(nadir_spectral_norm_prove(context, n, N, wanted - added, &proven));
        *norm = fmin(*norm, nadir_round_up(proven + added, 2));
    }
    return NADIR_OK;
}

/* From all columns of D, by quotients, by a Cholesky factorisation, or by both. beta: a radius to try. */
static nadir_status lower_by_columns(nadir_context *context, const nadir_breakdown_operator *self,
                                     bool quotients, bool cholesky, double beta, double *norm)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    double *D = NULL;
    double *N = NULL;
    double *work = NULL;
    double residual;
    NADIR_NEW(context, D, n * n);
    NADIR_NEW(context, N, n * n);
    NADIR_NEW(context, work, 3 * n);
    NADIR_CHECK(nadir_verified_solve_columns(context, self->problem, &self->solver, n, NULL, D, &residual));
    const double error = nadir_verified_solve_error(&self->solver, residual);
    if (isinf(error)) {
        goto cleanup;
    }
    if (quotients) {
        *norm = fmin(*norm, bound_by_quotients(context, self, D, error, N, work));
    }
    if (cholesky) {
        NADIR_CHECK(bound_by_cholesky(context, self, beta, residual, D, N, norm));
    }
cleanup:
    nadir_release(context, D);
    nadir_release(context, N);
    nadir_release(context, work);
    return status;
}

/* Lowers *norm, a bound on |Phi D W|_2 (infinity: none yet), by all proofs from `first` to `last`, errors of
 * solves and rounding included. beta: the radius of interest, which the Cholesky test tries; 0: none. */
static nadir_status lower_norm(nadir_context *context, const nadir_problem *problem,
                               nadir_breakdown_proof first, nadir_breakdown_proof last, bool thorough,
                               double beta, double *norm)
{
    nadir_status status = NADIR_OK;
    nadir_breakdown_operator made = {0};
    NADIR_CHECK(operator_make(context, problem, &made));
    made.thorough = thorough;
    if (operator_is_zero(&made)) {
        *norm = 0;
        goto cleanup;
    }
    if (first == NADIR_BREAKDOWN_PRODUCTS) {
        NADIR_CHECK(nadir_breakdown_by_products(context, &made, norm));
    }
    if (last != NADIR_BREAKDOWN_PRODUCTS) {
        NADIR_CHECK(lower_by_columns(context, &made, first <= NADIR_BREAKDOWN_COLUMNS,
                                     last == NADIR_BREAKDOWN_CHOLESKY, beta, norm));
    }
cleanup:
    operator_clear(context, &made);
    return status;
}

nadir_status nadir_breakdown_low(nadir_context *context, const nadir_problem *problem,
                                 nadir_breakdown_proof proof, bool thorough, double beta, double *radius)
{
    double norm = INFINITY;
    const nadir_status status =
        lower_norm(context, problem, NADIR_BREAKDOWN_PRODUCTS, proof, thorough, beta, &norm);
    *radius = radius_of_norm(problem, norm);
    return status;
}

nadir_status nadir_weighted_norm(nadir_context *context, const nadir_problem *problem, const double *weights,
                                 nadir_certify certify, double *norm)
{
    nadir_status status = NADIR_OK;
    const double largest = nadir_vector_largest(problem->states, weights);
    nadir_breakdown_operator made = {.problem = problem,
                                     .solver = nadir_verified_solver_make(context, problem),
                                     .W_largest = 1,
                                     .thorough = true};
    *norm = 0;
    if (problem->states == 1 || largest == 0) {
        return NADIR_OK;
    }
    *norm = INFINITY;
    NADIR_NEW(context, made.W, problem->states);
    for (int64_t s = 0; s < problem->states; s++) { /* of largest weight one, whatever their unit */
        made.W[s] = fmin(1, nadir_round_up(weights[s] / largest, 2));
    }
    NADIR_CHECK(nadir_breakdown_by_products(context, &made, norm));
    if (nadir_breakdown_may_form_columns(problem, certify)) {
        NADIR_CHECK(lower_by_columns(context, &made, false, true, 0, norm));
    }
    *norm = nadir_round_up(*norm * largest, 2);
cleanup:
    operator_clear(context, &made);
    return status;
}

static const char *const proof_names[] = {
    [NADIR_BREAKDOWN_PRODUCTS] = "products",       [NADIR_BREAKDOWN_COLUMNS] = "columns",
    [NADIR_BREAKDOWN_CHOLESKY] = "cholesky",       [NADIR_BREAKDOWN_LANCZOS] = "lanczos",
    [NADIR_BREAKDOWN_ENUMERATION] = "enumeration", [NADIR_BREAKDOWN_CONTRACTION] = "contraction",
};

const char *nadir_breakdown_proof_name(nadir_breakdown_proof proof)
{
    return proof_names[proof];
}

nadir_breakdown_proof nadir_breakdown_proof_find(const char *name)
{
    int proof = NADIR_BREAKDOWN_CONTRACTION;
    while (proof > NADIR_BREAKDOWN_NONE && (name == NULL || strcmp(name, proof_names[proof]) != 0)) {
        proof--;
    }
    return (nadir_breakdown_proof)proof;
}

double nadir_breakdown_for_norm(const nadir_problem *problem, double radius)
{
    const nadir_uncertainty *set = problem->uncertainty;
    if (set->p <= 2) {
        return radius;
    }
    const double exponent = isinf(set->p) ? 0.5 : 0.5 - 1 / set->p;
    return nadir_round_down(radius / pow((double)set->entries, exponent), 8);
}

/*
 * |Phi D W|_2 by Lanczos iterations, and the cheapest proof that a radius is below breakdown. The estimate
 * proves nothing: bounds that rest on it are numerical, not rigorous.
 */

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
    double sum;
    NADIR_TRY(nadir_vec_dots(&self->place, self->states, 1, self->ones, x, &sum));
    const double less = -sum / (double)nadir_global_count(self->place.context, self->states);
    return nadir_vec_add_many(&self->place, self->states, 1, self->ones, &less, x);
}

static nadir_status apply(nadir_context *context, void *user, const double *x, double *y)
{
    const centred_operator *self = user;
    (void)context;
    NADIR_TRY(nadir_vec_multiply(&self->place, self->states, self->W, x, self->work));
    NADIR_TRY(
        nadir_occupancy_solve_vec(&self->place, self->occupancy, false, self->work, SOLVE_TOLERANCE, y));
    return subtract_mean(self, y);
}

static nadir_status apply_transposed(nadir_context *context, void *user, const double *x, double *y)
{
    const centred_operator *self = user;
    (void)context;
    NADIR_TRY(nadir_vec_copy(&self->place, self->states, x, self->work));
    NADIR_TRY(subtract_mean(self, self->work));
    NADIR_TRY(nadir_occupancy_solve_vec(&self->place, self->occupancy, true, self->work, SOLVE_TOLERANCE, y));
    return nadir_vec_multiply(&self->place, self->states, self->W, y, y);
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
    NADIR_CHECK(operator_make(context, problem, &made));
    *radius = INFINITY;
    *converged = true;
    if (operator_is_zero(&made)) {
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
    operator_clear(context, &made);
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
    const nadir_status status = lower_norm(context, problem, proof, proof, false, beta, &known->norm);
    known->low = fmax(known->low, radius_of_norm(problem, known->norm));
    known->proof = proof;
    return status;
}

nadir_status nadir_breakdown_estimate_once(nadir_context *context, const nadir_problem *problem,
                                           nadir_known_breakdown *known)
{
    bool converged = false;
    if (!isnan(known->estimate)) {
        return NADIR_OK;
    }
    NADIR_TRY(nadir_breakdown_estimate(context, problem, &known->estimate, &converged));
    if (!converged) {
        known->estimate = NAN;
    }
    return NADIR_OK;
}

nadir_status nadir_breakdown_settle(nadir_context *context, const nadir_problem *problem,
                                    nadir_certify certify, double beta, nadir_known_breakdown *known,
                                    bool *inside)
{
    *known = (nadir_known_breakdown){.norm = INFINITY, .estimate = NAN};
    NADIR_TRY(nadir_breakdown_prove(context, problem, NADIR_BREAKDOWN_PRODUCTS, beta, known));
    if (beta >= known->low && nadir_breakdown_may_form_columns(problem, certify)) {
        NADIR_TRY(nadir_breakdown_prove(context, problem, NADIR_BREAKDOWN_COLUMNS, beta, known));
    }
    if (certify == NADIR_CERTIFY_STRICT || beta >= known->low) {
        NADIR_TRY(nadir_breakdown_estimate_once(context, problem, known));
    }
    *inside =
        beta < known->low || (!isnan(known->estimate) && beta < NADIR_BREAKDOWN_CLOSE * known->estimate);
    return NADIR_OK;
}

/* Five digits, rounded down: what is said to be beyond it still is. value > 0 */
static const char *shorten_down(double value, char text[32])
{
    const double unit = pow(10, floor(log10(value)) - 4);
    (void)snprintf(text, 32, "%.5g", value > 0 && isfinite(value) ? floor(value / unit) * unit : value);
    return text;
}

/* Breakdown is where the estimate says; without one nothing is known past the proven radius. */
nadir_status nadir_breakdown_refuse(nadir_context *context, double radius, const nadir_known_breakdown *known)
{
    char text[32];
    if (isnan(known->estimate)) {
        return nadir_fail(
            context, NADIR_ERROR_ILL_POSED,
            "the radius is %.17g, but breakdown is only proven to be beyond %s, and the iteration that "
            "would "
            "tell where it is did not converge; take a smaller radius, or domain simplex or support",
            radius, shorten_down(known->low, text));
    }
    return nadir_fail(
        context, NADIR_ERROR_ILL_POSED,
        "the radius is %.17g, but breakdown is at %s: there some kernel of the ball makes I - gamma P "
        "singular and the return is unbounded; take a smaller radius, or domain simplex or support",
        radius, shorten_down(known->estimate, text));
}
