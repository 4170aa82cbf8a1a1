/*
 * difference_bound.c: bounds by norms, the check of a kernel, and the first-order bound on a difference of
 * returns; see difference_bound.h.
 */
#include "proof/difference_bound.h"

#include "core/round.h"
#include "linalg/gstd.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "proof/breakdown.h"
#include "proof/free_bounds.h"
#include "proof/membership.h"
#include "proof/verified_solve.h"
#include "sets/lmo_row_costs.h"

#include <math.h>

/* Up to so many states D is formed at effort auto, as for the free domain. */
#define COLUMNS_STATES 400

/* Roundings of a norm, a product or a sum over all states of numbers >= 0. */
static double state_roundings(const nadir_problem *problem)
{
    return 8 * (double)(problem->states + 32);
}

/* s(x), rounding of x by `error` included. work: [2 * states] */
static nadir_status seminorm_of(nadir_context *context, const nadir_problem *problem, const double *x,
                                double error, double *work, double *seminorm)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const double q = set->set == NADIR_SET_NONRECT ? 2 : set->q;
    const double difference_rounding =
        nadir_round_error(2) * nadir_vector_largest(problem->states, x) + error;
    nadir_gstd gstd;
    NADIR_TRY(nadir_gstd_compute(context, 0, problem->states, x, q, work, NULL, &gstd));
    /* every omega gives a bound: the norm about this one is computed here */
    for (int64_t s = 0; s < problem->states; s++) {
        work[s] = fabs(x[s] - gstd.omega) + difference_rounding;
    }
    *seminorm = nadir_round_up(nadir_norm_short(problem->states, work, q), state_roundings(problem));
    return NADIR_OK;
}

nadir_status nadir_perturbation_seminorm(nadir_context *context, const nadir_problem *problem, double landing,
                                         const double *x, double *work, double *seminorm)
{
    double *costs = work + 2 * problem->states;
    if (landing == 0) {
        return seminorm_of(context, problem, x, 0, work, seminorm);
    }
    /* the factor, its product with e and the sum */
    const double error = nadir_round_error(8) * (nadir_vector_largest(problem->states, x) +
                                                 fabs(landing) * nadir_landing_largest(problem->model));
    *seminorm = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        if (nadir_uncertainty_scale(problem->uncertainty, row) * problem->policy->probabilities[row] > 0) {
            double own;
            nadir_landing_costs(problem->model, row, landing, x, costs);
            NADIR_TRY(seminorm_of(context, problem, costs, error, work, &own));
            *seminorm = fmax(*seminorm, own);
        }
    }
    return NADIR_OK;
}

/* At least |W d|_2 with W at p = 2, and the largest W. */
static double norm_W_d(const nadir_problem *problem, double *work, double *largest_W)
{
    const nadir_model *model = problem->model;
    *largest_W = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        double sum = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double shape =
                nadir_uncertainty_scale(problem->uncertainty, row) * problem->policy->probabilities[row];
            sum += shape * shape;
        }
        *largest_W = fmax(*largest_W, sqrt(sum));
        work[s] = sqrt(sum) * fabs(problem->d[s]);
    }
    *largest_W = nadir_round_up(*largest_W, state_roundings(problem));
    const double norm = nadir_norm_short(problem->states, work, 2) + *largest_W * problem->d_error;
    return nadir_round_up(norm, state_roundings(problem));
}

static nadir_status bound_ball(nadir_context *context, const nadir_problem *problem, nadir_certify effort,
                               double *work, nadir_perturbation_bound *bound)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const bool columns = problem->states <= COLUMNS_STATES || effort == NADIR_CERTIFY_STRICT;
    const double wider = set->p > 2 ? pow((double)set->entries, 0.5 - 1 / set->p) : 1;
    const double beta = nadir_round_up(set->radius * wider, 16); /* the power and the product */
    double breakdown = 0;
    NADIR_TRY(nadir_breakdown_low(context, problem,
                                  effort == NADIR_CERTIFY_STRICT ? NADIR_BREAKDOWN_CHOLESKY
                                  : columns                      ? NADIR_BREAKDOWN_COLUMNS
                                                                 : NADIR_BREAKDOWN_PRODUCTS,
                                  false, beta, &breakdown));
    bound->kappa = nadir_round_up(beta / breakdown, 4);
    bound->reach = nadir_round_up(problem->gamma * beta * norm_W_d(problem, work, &bound->largest_W),
                                  state_roundings(problem));
    bound->seminorm_factor = nadir_round_up(sqrt((double)problem->states), 4);
    return NADIR_OK;
}

static nadir_status bound_rectangular(nadir_context *context, const nadir_problem *problem, double *work,
                                      nadir_perturbation_bound *bound)
{
    double mass;
    double norm;
    NADIR_TRY(nadir_rectangular_reach(context, problem, work, &mass, &norm));
    bound->kappa = nadir_round_up(problem->gamma * norm, 2);
    bound->reach = nadir_round_up(problem->gamma * mass, 2);
    bound->seminorm_factor = nadir_round_up(pow((double)problem->states, 1 / problem->uncertainty->q), 8);
    return NADIR_OK;
}

nadir_status nadir_perturbation_bound_make(nadir_context *context, const nadir_problem *problem,
                                           nadir_certify effort, nadir_perturbation_bound *bound)
{
    nadir_status status = NADIR_OK;
    double *work = NULL;
    *bound = (nadir_perturbation_bound){.reach = INFINITY, .kappa = INFINITY};
    NADIR_NEW(context, work, 3 * problem->states);
    if (problem->uncertainty->set == NADIR_SET_NONRECT) {
        NADIR_CHECK(bound_ball(context, problem, effort, work, bound));
    } else {
        NADIR_CHECK(bound_rectangular(context, problem, work, bound));
    }
    NADIR_CHECK(nadir_perturbation_seminorm(context, problem, problem->landing, problem->v, work,
                                            &bound->seminorm_v));
    bound->seminorm_v += bound->seminorm_factor * problem->v_error;
cleanup:
    nadir_release(context, work);
    return status;
}

/* At least |J_P - J - gamma d . Delta^pi v| of every kernel of the set; infinity: nothing is known. */
static double remainder_by_norms(const nadir_perturbation_bound *bound)
{
    const double kappa = bound->kappa;
    if (!(kappa < 1)) {
        return INFINITY;
    }
    /* 1 - kappa is off by a rounding, which is 1 / (1 - kappa) of them relatively */
    return nadir_round_up(bound->reach * kappa / (1 - kappa) * bound->seminorm_v, 16 / (1 - kappa));
}

/* At least |mu . (v_P - w)| of a kernel of the set, where |R^pi + gamma P^pi w - w|_max <= residual. */
static double bound_value_error(nadir_context *context, const nadir_problem *problem,
                                const nadir_perturbation_bound *bound, double residual)
{
    const nadir_verified_solver known = nadir_verified_solver_make(context, problem);
    const double kappa = bound->kappa;
    const double error = nadir_verified_solve_error(&known, residual);
    if (!(kappa < 1)) {
        return INFINITY;
    }
    return error *
           (1 + nadir_round_up(bound->reach * bound->seminorm_factor / (1 - kappa), 16 / (1 - kappa)));
}

/* At least |D_P|_inf = max over s of sum_t |D_P(s, t)|, `occupancy` being that of P, of any signs. Forms D:
 * if X holds the computed columns and I - (I - gamma P^pi) X has entries of at most r,
 * |D_P|_inf <= |X|_inf / (1 - S r). Infinity: nothing is known. */
static nadir_status bound_inverse_norm(nadir_context *context, const nadir_problem *problem,
                                       nadir_occupancy *occupancy, double *norm)
{
    nadir_status status = NADIR_OK;
    nadir_problem own = *problem;
    const int64_t n = problem->states;
    double *columns = NULL;
    double residual;
    own.occupancy = occupancy;
    const nadir_verified_solver known = nadir_verified_solver_make(context, &own);
    *norm = INFINITY;
    NADIR_NEW(context, columns, n * n);
    NADIR_CHECK(nadir_verified_solve_columns(context, &own, &known, n, NULL, columns, &residual));
    const double rest = nadir_round_below(1 - nadir_round_up((double)n * residual, 4), 1, 4);
    double largest = 0;
    for (int64_t s = 0; s < n; s++) {
        double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            sum += fabs(columns[t * n + s]);
        }
        largest = fmax(largest, sum);
    }
    *norm = rest > 0 ? nadir_round_up(largest, state_roundings(problem)) / rest : INFINITY;
cleanup:
    nadir_release(context, columns);
    return status;
}

/* The check of a kernel, and the first-order bound. */

/* ------------------------------------------------------------------------------------------ check */

/* On the free domain the rows of P* may give no bound on the error of v; the norms of difference_bound.h
 * do, or D at P*. */
static nadir_status bound_error_by_norms(nadir_context *context, const nadir_problem *problem,
                                         const nadir_difference_witness *witness, bool form_inverse, int i,
                                         nadir_difference_facts *facts)
{
    nadir_value_check *check = &facts->check[i];
    if (form_inverse) {
        NADIR_TRY(bound_inverse_norm(context, problem, witness->occupancy[i], &facts->inverse[i]));
    }
    const double v_error = nadir_round_up(facts->inverse[i] * check->residual, 4);
    const double J_error =
        fmin(v_error, bound_value_error(context, problem, &facts->perturbation[i], check->residual));
    /* and the rounding of mu . v */
    const double error = nadir_round_above(J_error, nadir_vector_largest(problem->states, witness->v[i]),
                                           8 * (double)(problem->states + 8));
    check->high = v_error;
    check->low = -v_error;
    check->lower = witness->J[i] - error;
    check->upper = witness->J[i] + error;
    return NADIR_OK;
}

nadir_status nadir_difference_check(nadir_context *context, const nadir_problem problem[2],
                                    const nadir_difference_witness *witness, bool form_inverse,
                                    nadir_difference_facts *facts)
{
    nadir_membership membership;
    NADIR_TRY(nadir_membership_measure(context, witness->kernel, problem[0].uncertainty, 1, &membership));
    NADIR_TRY(nadir_membership_check(context, problem[0].model, problem[0].uncertainty, &membership));
    for (int i = 0; i < 2; i++) {
        nadir_value_check *check = &facts->check[i];
        NADIR_TRY(nadir_value_check_rows(context, witness->kernel, problem[i].policy, problem[i].gamma,
                                         witness->v[i], check));
        facts->inverse[i] = INFINITY;
        if (!isfinite(check->lower) || !isfinite(check->upper)) {
            NADIR_TRY(bound_error_by_norms(context, &problem[i], witness, form_inverse, i, facts));
        }
    }
    facts->distance = membership.distance;
    facts->row_sum = nadir_round_above(membership.row_sum, 1, 4 * (double)(problem[0].states + 16));
    facts->minimum = membership.minimum;
    const double high = facts->check[0].upper;
    const double low = facts->check[1].lower;
    facts->upper = nadir_round_above(high - low, fabs(high) + fabs(low), 4);
    facts->lower = facts->check[0].lower - facts->check[1].upper;
    return NADIR_OK;
}

/* ------------------------------------------------------------------------------------ first order */

/* At least |J_P - J - gamma d . Delta^pi v| of one policy and every kernel of the set. */
static nadir_status bound_remainder(nadir_context *context, const nadir_problem *problem,
                                    const nadir_perturbation_bound *perturbation,
                                    const nadir_occupancy_bounds *range, double *most)
{
    nadir_status status = NADIR_OK;
    double *work = NULL;
    *most = remainder_by_norms(perturbation);
    if (range->high != NULL) {
        const int64_t n = problem->states;
        NADIR_NEW(context, work, 5 * n);
        double *width = work + 3 * n;
        double *response = work + 4 * n;
        for (int64_t s = 0; s < n; s++) { /* at least |d_P - d| of every kernel of the set */
            const double change = fmax(range->high[s] - problem->d[s], problem->d[s] - range->low[s]);
            width[s] =
                nadir_round_above(nadir_round_up(change + problem->d_error, 8), fabs(problem->d[s]), 4);
        }
        NADIR_CHECK(nadir_row_response(context, problem, problem->landing, problem->v, problem->v_error, work,
                                       response));
        const double total = nadir_row_response_total(problem, width, response, work);
        *most = fmin(*most, nadir_round_up(problem->gamma * total, 4));
    }
cleanup:
    nadir_release(context, work);
    return status;
}

/* At least the change of <G, Delta> by the errors of v and d: |Delta^pi_s . x| <= |Delta_sa|_1 max |x|, where
 * |Delta_sa|_1 is at most 2, or S^(1/q) alpha beta on the free domain. */
static double slope_error(const nadir_problem *problem)
{
    const nadir_uncertainty *set = problem->uncertainty;
    double widest = 0;
    double mass = problem->d_error;
    for (int64_t row = 0; row < problem->rows; row++) {
        widest = fmax(widest, nadir_uncertainty_scale(set, row));
    }
    widest *= nadir_round_up(set->radius * pow((double)problem->states, 1 / set->q), 16);
    widest = set->domain == NADIR_DOMAIN_FREE ? widest : fmin(widest, 2);
    for (int64_t s = 0; s < problem->states; s++) {
        mass += fabs(problem->d[s]);
    }
    const double largest = nadir_vector_largest(problem->states, problem->v) + problem->v_error +
                           fabs(problem->landing) * nadir_landing_largest(problem->model);
    return nadir_round_up(problem->gamma * widest * (problem->d_error * largest + mass * problem->v_error),
                          8 * (double)(problem->states + 16));
}

nadir_status nadir_difference_first_order(nadir_context *context, const nadir_problem problem[2],
                                          const nadir_difference_facts *facts, nadir_lmo_row_costs *costs,
                                          double *lower)
{
    double gain;
    double lost = 0;
    NADIR_TRY(nadir_lmo_row_costs_set(context, costs, problem[0].gamma, problem[0].landing, problem[0].d,
                                      problem[0].policy->probabilities, problem[0].v, problem[1].d,
                                      problem[1].policy->probabilities, problem[1].v));
    NADIR_TRY(nadir_lmo_row_costs_bound(context, costs, &gain));
    for (int i = 0; i < 2; i++) {
        double remainder;
        NADIR_TRY(
            bound_remainder(context, &problem[i], &facts->perturbation[i], &facts->range[i], &remainder));
        lost += remainder + slope_error(&problem[i]) + problem[i].J_error;
    }
    lost = nadir_round_up(lost + gain, 16);
    *lower = nadir_round_below(problem[0].J - problem[1].J - lost,
                               fabs(problem[0].J) + fabs(problem[1].J) + lost, 4);
    return NADIR_OK;
}

/* At least the change of c . Delta by the rounding of the costs of a row: each has 4 roundings of its terms,
 * x and y one each besides, and 2 where it is scaled; a term with e, as large as both others at most, has 6 of
 * its own, and adds one to theirs. length: at least |Delta|_1. */
static double cost_rounding(const nadir_lmo_row_costs *costs, int64_t row, double length)
{
    return nadir_round_error(costs->landing != 0 ? 20 : 10) * (fabs(costs->a[row]) + fabs(costs->b[row])) *
           length;
}

/* By weak duality over the rows that share a radius (lmo.h). On the free domain, where X may be negative, all
 * of x - omega has to be in g1: no step, or for p = 1, where omega = 1 / step, one that clips nothing of x <= 1. */
nadir_status nadir_lmo_row_costs_bound(nadir_context *context, const nadir_lmo_row_costs *costs, double *gain)
{
    nadir_status status = NADIR_OK;
    nadir_lmo_row_bound *bounds = NULL;
    const nadir_uncertainty *set = costs->set;
    const nadir_lmo oracle = nadir_lmo_row_costs_oracle(costs);
    const bool free_domain = set->domain == NADIR_DOMAIN_FREE;
    double sum = 0;
    NADIR_NEW_ZERO(context, bounds, costs->model->rows);
    for (int64_t next = 0; next < costs->model->rows;) {
        const nadir_lmo_cost_group group = nadir_lmo_cost_group_from(costs, next);
        next = group.end;
        for (int64_t row = group.first; row < group.end; row++) {
            const double alpha = nadir_uncertainty_scale(set, row);
            /* |Delta|_1 <= S^(1/q) |Delta|_p, and at most 2 between distributions */
            const double length = pow((double)costs->model->states, 1 / set->q) * alpha * group.radius;
            nadir_lmo_solution witness = costs->solutions[row];
            witness.step = !free_domain ? witness.step : set->p == 1 ? 2 : 0;
            if (alpha > 0) {
                sum += cost_rounding(costs, row, free_domain ? length : fmin(2, length)) * costs->scale;
            }
            if (costs->weights[row] > 0) {
                bounds[row] = nadir_lmo_bound(&oracle, row, &witness, costs->work);
            }
        }
        sum += nadir_lmo_bound_shared(&oracle, group.first, group.end, costs->weights + group.first,
                                      group.radius, 0, bounds + group.first);
    }
    /* sums over rows of numbers >= 0; radii of kernels that the membership check tolerates */
    *gain = nadir_round_up(sum, 4 * (double)(costs->model->rows + 32));
cleanup:
    nadir_release(context, bounds);
    return status;
}
