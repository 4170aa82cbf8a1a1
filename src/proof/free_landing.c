/* free_landing.c: bounds on the free domain where rewards on landing are not separable; see free_landing.h. */
#include "proof/free_landing.h"

#include "core/round.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "proof/free_bounds.h"

#include <math.h>
#include <string.h>

/* Relative error of q-norms and of W, as in free_bounds.c. */
#define NORM_SLACK 2e-14
/* Kernels may lie outside their set by this share (membership.h), or a little more. */
#define EXCESS 2e-9

static nadir_certify effort_of(const nadir_problem *problem, nadir_certify certify)
{
    return problem->states <= NADIR_LANDING_STATES ? NADIR_CERTIFY_STRICT : certify;
}

/* --------------------------------------------------------------------------------------- a kernel */

nadir_status nadir_landing_pair_make(nadir_context *context, const nadir_problem *problem,
                                     nadir_landing_pair *pair)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    pair->own = problem->sign > 0 ? 0 : 1;
    NADIR_NEW_ZERO(context, pair->owned, 3 * n);
    for (int64_t s = 0; s < n; s++) {
        pair->owned[n + s] = problem->sign * problem->v[s];
        pair->owned[2 * n + s] = problem->sign * problem->R[s];
    }
    nadir_problem *own = &pair->problem[pair->own];
    *own = *problem;
    own->sign = 1;
    own->landing = fabs(problem->landing);
    own->rewards = problem->model->shaped;
    own->v = pair->owned + n;
    own->R = pair->owned + 2 * n;
    own->J = problem->sign * problem->J;
    nadir_problem *none = &pair->problem[1 - pair->own];
    *none = *own;
    none->mu = pair->owned;
    none->d = pair->owned;
    none->J = none->J_error = none->d_error = 0;
cleanup:
    return status;
}

/* The kernel, its value and its operator are in the witness. */
static nadir_status check_witness(nadir_context *context, const nadir_landing_pair *pair,
                                  nadir_certify certify, const nadir_difference_witness *witness,
                                  nadir_landing_answer *answer)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *own = &pair->problem[pair->own];
    const nadir_uncertainty *set = own->uncertainty;
    const bool two = set->set == NADIR_SET_NONRECT && set->p == 2;
    nadir_difference_facts facts = {0};
    nadir_lmo_row_costs costs = {0};
    double low = 0;
    const bool columns = nadir_breakdown_may_form_columns(own, certify);
    if (two) { /* by all proofs that may be asked for */
        NADIR_CHECK(nadir_breakdown_low(context, own,
                                        columns ? NADIR_BREAKDOWN_CHOLESKY : NADIR_BREAKDOWN_PRODUCTS, false,
                                        set->radius, &low));
    }
    for (int i = 0; i < 2; i++) {
        nadir_perturbation_bound *bound = &facts.perturbation[i];
        NADIR_CHECK(nadir_perturbation_bound_make(context, &pair->problem[i], NADIR_CERTIFY_AUTO, bound));
        bound->kappa = fmin(bound->kappa, nadir_round_up(set->radius * (1 + EXCESS) / low, 4));
    }
    NADIR_CHECK(nadir_difference_check(context, pair->problem, witness, columns, &facts));
    const nadir_value_check *check = &facts.check[pair->own]; /* mu of the other is 0 */
    facts.lower = answer->lower = pair->own == 0 ? check->lower : -check->upper;
    facts.upper = answer->upper = pair->own == 0 ? check->upper : -check->lower;
    answer->minimum = facts.minimum;
    if (two && witness->tau > 0) {
        NADIR_CHECK(nadir_lmo_row_costs_make(context, own->model, set, &costs));
        NADIR_CHECK(nadir_difference_second_order(context, pair->problem, witness, &facts, &costs,
                                                  &answer->bound, &answer->kappa));
    }
cleanup:
    nadir_lmo_row_costs_clear(context, &costs);
    return status;
}

nadir_status nadir_landing_check(nadir_context *context, const nadir_problem *problem, nadir_certify certify,
                                 const nadir_kernel *kernel, const double *v, double tau,
                                 nadir_landing_answer *answer)
{
    nadir_status status = NADIR_OK;
    nadir_landing_pair pair = {0};
    nadir_occupancy *occupancy = NULL;
    double rounding;
    *answer = (nadir_landing_answer){.bound = -INFINITY, .kappa = NAN};
    NADIR_CHECK(nadir_landing_pair_make(context, problem, &pair));
    NADIR_CHECK(nadir_occupancy_create_like(context, problem->occupancy, kernel, problem->policy,
                                            nadir_occupancy_tolerance(problem->occupancy), &occupancy));
    nadir_difference_witness witness = {
        .kernel = kernel, .occupancy = {occupancy, occupancy}, .v = {v, v}, .tau = tau};
    witness.J[pair.own] = nadir_vector_dot(problem->states, problem->mu, v, &rounding);
    NADIR_CHECK(check_witness(context, &pair, effort_of(problem, certify), &witness, answer));
cleanup:
    nadir_release(context, pair.owned);
    nadir_occupancy_free(context, occupancy);
    return status;
}

/* ------------------------------------------------------------------------------------ closed bound */

/* W: [states], rounded up. */
static void fill_W(nadir_context *context, const nadir_problem *problem, double *W)
{
    const double off = nadir_verified_solver_make(context, problem).averaging + NORM_SLACK;
    for (int64_t s = 0; s < problem->states; s++) {
        W[s] = problem->uncertainty->W[s] * (1 + off);
    }
}

/* |d o w|_q, rounded up; w: [states], 0 or more; work: [states] */
static nadir_status bound_weighted(nadir_context *context, const nadir_problem *problem, const double *w,
                                   double *work, double *norm)
{
    for (int64_t s = 0; s < problem->states; s++) {
        work[s] = problem->d[s] * w[s];
    }
    NADIR_TRY(nadir_norm_p(context, problem->states, work, problem->uncertainty->q, norm));
    const double largest = nadir_vector_largest(problem->states, w);
    *norm = nadir_round_up(*norm * (1 + NORM_SLACK) + problem->d_error * largest, 8);
    return NADIR_OK;
}

/* M(w), rounded up; w: [states], 0 or more. p = 1: infinity where D is not formed. */
static nadir_status bound_product(nadir_context *context, const nadir_problem *problem, nadir_certify certify,
                                  const double *w, double *M)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const nadir_verified_solver solver = nadir_verified_solver_make(context, problem);
    double *D = NULL;
    double residual;
    if (problem->uncertainty->p == 2) {
        return nadir_weighted_norm(context, problem, w, certify, M);
    }
    *M = INFINITY;
    if (!nadir_breakdown_may_form_columns(problem, certify)) {
        return NADIR_OK;
    }
    NADIR_NEW(context, D, n * n);
    NADIR_CHECK(nadir_verified_solve_columns(context, problem, &solver, n, NULL, D, &residual));
    *M = 0;
    for (int64_t s = 0; s < n; s++) {
        double low = INFINITY;
        double high = -INFINITY;
        for (int64_t t = 0; t < n; t++) {
            low = fmin(low, D[s * n + t]);
            high = fmax(high, D[s * n + t]);
        }
        const double halfrange = (high - low) / 2 + nadir_verified_solve_error(&solver, residual);
        *M = w[s] > 0 ? fmax(*M, nadir_round_up(w[s] * halfrange, 8)) : *M;
    }
cleanup:
    nadir_release(context, D);
    return status;
}

/* p = 1 or 2. */
static nadir_status bound_penalty(nadir_context *context, const nadir_problem *problem, double beta,
                                  nadir_certify certify, double *lambda_high)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    double *N = NULL;
    double first;
    double Wd;
    double M;
    double M_W;
    NADIR_NEW(context, N, 3 * n);
    double *W = N + n;
    fill_W(context, problem, W);
    NADIR_CHECK(nadir_free_taken(context, problem, 1, problem->v, problem->v_error, N));
    NADIR_CHECK(bound_weighted(context, problem, N, W + n, &first));
    NADIR_CHECK(bound_weighted(context, problem, W, W + n, &Wd));
    NADIR_CHECK(bound_product(context, problem, certify, N, &M));
    NADIR_CHECK(bound_product(context, problem, certify, W, &M_W));
    const double rest = nadir_round_below(1 - nadir_round_up(problem->gamma * beta * M_W, 4), 1, 4);
    const double second = Wd * M == 0 ? 0 : problem->gamma * beta * Wd * M / rest;
    *lambda_high = rest > 0 ? nadir_round_up(beta * (first + second), 16) : INFINITY;
cleanup:
    nadir_release(context, N);
    return status;
}

nadir_status nadir_landing_closed_bound(nadir_context *context, const nadir_problem *problem,
                                        nadir_certify certify, double *lower)
{
    nadir_status status = NADIR_OK;
    const double radius = problem->uncertainty->radius;
    const nadir_certify effort = effort_of(problem, certify);
    nadir_uncertainty two = {0};
    nadir_problem enclosing;
    double wider;
    double lambda;
    double own = INFINITY;
    NADIR_CHECK(nadir_free_enclosing_ball(context, problem, &two, &enclosing, &wider));
    NADIR_CHECK(bound_penalty(context, &enclosing, nadir_round_up(wider * radius, 1), effort, &lambda));
    NADIR_CHECK(problem->uncertainty->p == 1 ? bound_penalty(context, problem, radius, effort, &own)
                                             : NADIR_OK);
    *lower = nadir_free_lower(problem, fmin(lambda, own));
cleanup:
    nadir_uncertainty_clear(context, &two);
    return status;
}

/* ------------------------------------------------------------------------------------ shaped bound */

/* z: [states] <- landing g for the g that is nearest to all e_sa, with weights (alpha pi)^2, up to constants. */
static void fit_shift(const nadir_problem *problem, double *z)
{
    double total = 0;
    memset(z, 0, (size_t)problem->states * sizeof *z);
    for (int64_t row = 0; row < problem->rows; row++) {
        const double shape =
            nadir_uncertainty_scale(problem->uncertainty, row) * problem->policy->probabilities[row];
        total += shape * shape;
        if (shape > 0) {
            nadir_landing_costs(problem->model, row, shape * shape * problem->landing, z, z);
        }
    }
    for (int64_t s = 0; s < problem->states; s++) {
        z[s] = total > 0 ? z[s] / total : 0;
    }
}

void nadir_landing_shaped_clear(nadir_context *context, nadir_landing_shaped *made)
{
    nadir_uncertainty_clear(context, &made->set);
    nadir_release(context, made->owned);
}

nadir_status nadir_landing_shape(nadir_context *context, const nadir_problem *problem, double t,
                                 nadir_landing_shaped *made)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    NADIR_CHECK(nadir_free_enclosing_ball(context, problem, &made->set, &made->problem, &made->beta));
    made->beta = nadir_round_up(made->beta * problem->uncertainty->radius, 1);
    NADIR_NEW(context, made->owned, 4 * n);
    double *W = made->owned;
    double *v = W + n;
    double *work = v + n; /* -z, then for sums */
    fit_shift(&made->problem, v);
    for (int64_t s = 0; s < n; s++) {
        work[s] = -v[s];
        v[s] += problem->v[s];
    }
    NADIR_CHECK(nadir_free_taken(context, &made->problem, 1, work, 0, W + 3 * n));
    fill_W(context, &made->problem, W);
    for (int64_t s = 0; s < n; s++) {
        W[s] = nadir_round_up(W[s] + W[3 * n + s] / (problem->gamma * t), 8);
    }
    made->set.W = W;
    made->problem.v = v;
    made->problem.v_error = nadir_round_above(problem->v_error, nadir_vector_largest(n, v), 2);
    NADIR_CHECK(bound_weighted(context, &made->problem, W, work, &made->other));
    made->other = nadir_round_up(problem->gamma * t * made->beta * made->other, 8);
cleanup:
    return status;
}

nadir_status nadir_landing_shaped_bound(nadir_context *context, const nadir_problem *problem, double t,
                                        const double *c, const double *k, nadir_certify certify,
                                        double *lower)
{
    nadir_status status = NADIR_OK;
    nadir_landing_shaped shaped = {0};
    double norm;
    double root;
    *lower = -INFINITY;
    if (!(t > 0) || !isfinite(t) || c == NULL || k == NULL) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_landing_shape(context, problem, t, &shaped));
    const nadir_spectral_question question = {.beta = shaped.beta, .c = c, .k = k};
    NADIR_CHECK(
        nadir_weighted_norm(context, &shaped.problem, shaped.set.W, effort_of(problem, certify), &norm));
    const double low = norm == 0 ? INFINITY : nadir_round_down(1 / (problem->gamma * norm), 4);
    NADIR_CHECK(nadir_spectral_check(context, &shaped.problem, &question, low, &root));
    *lower = nadir_free_lower(problem, fmax(root, shaped.other));
cleanup:
    nadir_landing_shaped_clear(context, &shaped);
    return status;
}
