/* perturbation_bound.c: bounds on returns by norms; see perturbation_bound.h. */
#include "proof/difference_bound.h"

#include "core/round.h"
#include "linalg/gstd.h"
#include "linalg/vector.h"
#include "proof/breakdown.h"
#include "proof/verified_solve.h"

#include <math.h>

/* Up to so many states D is formed at effort auto, as for the free domain. */
#define COLUMNS_STATES 400

/* Roundings of a norm, a product or a sum over all states of numbers >= 0. */
static double state_roundings(const nadir_problem *problem)
{
    return 8 * (double)(problem->states + 32);
}

nadir_status nadir_perturbation_seminorm(nadir_context *context, const nadir_problem *problem,
                                         const double *x, double *work, double *seminorm)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    const double q = set->set == NADIR_SET_NONRECT ? 2 : set->q;
    const double difference_rounding = nadir_round_error(2) * nadir_vector_largest(problem->states, x);
    nadir_gstd gstd;
    NADIR_CHECK(nadir_gstd_compute(context, 0, problem->states, x, q, work, NULL, &gstd));
    /* every omega gives a bound: the norm about this one is computed here */
    for (int64_t s = 0; s < problem->states; s++) {
        work[s] = fabs(x[s] - gstd.omega) + difference_rounding;
    }
    *seminorm = nadir_round_up(nadir_norm_short(problem->states, work, q), state_roundings(problem));
cleanup:
    return status;
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
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    const bool columns = problem->states <= COLUMNS_STATES || effort == NADIR_CERTIFY_STRICT;
    const double wider = set->p > 2 ? pow((double)set->entries, 0.5 - 1 / set->p) : 1;
    const double beta = nadir_round_up(set->radius * wider, 16); /* the power and the product */
    double breakdown = 0;
    NADIR_CHECK(nadir_breakdown_low(context, problem,
                                    effort == NADIR_CERTIFY_STRICT ? NADIR_BREAKDOWN_CHOLESKY
                                    : columns                      ? NADIR_BREAKDOWN_COLUMNS
                                                                   : NADIR_BREAKDOWN_PRODUCTS,
                                    beta, &breakdown));
    bound->kappa = nadir_round_up(beta / breakdown, 4);
    bound->reach = nadir_round_up(problem->gamma * beta * norm_W_d(problem, work, &bound->largest_W),
                                  state_roundings(problem));
    bound->seminorm_factor = nadir_round_up(sqrt((double)problem->states), 4);
cleanup:
    return status;
}

/* work: [2 * states] */
static nadir_status bound_rectangular(nadir_context *context, const nadir_problem *problem, double *work,
                                      nadir_perturbation_bound *bound)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_model *model = problem->model;
    const int64_t n = problem->states;
    const double roundings = state_roundings(problem);
    const nadir_verified_solver known = nadir_verified_solver_make(context, problem);
    nadir_solve_error enclosed;
    double *b = work;
    double *v_b = work + n; /* D b^pi */
    double reach = 0;
    for (int64_t s = 0; s < n; s++) {
        double sum = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            sum += nadir_uncertainty_scale(set, row) * problem->policy->probabilities[row] *
                   nadir_uncertainty_radius(set, s, row);
        }
        b[s] = nadir_round_up(set->set == NADIR_SET_S
                                  ? nadir_uncertainty_radius(set, s, model->state_rows[s]) * set->W[s]
                                  : sum,
                              roundings);
        reach += fabs(problem->d[s]) * b[s];
    }
    reach += problem->d_error * nadir_vector_largest(n, b);
    NADIR_CHECK(nadir_verified_solve(context, problem, &known, false, b, 0, v_b, &enclosed));
    for (int64_t s = 0; s < n; s++) {
        v_b[s] = fabs(v_b[s]) + enclosed.error;
    }
    bound->kappa = nadir_round_up(problem->gamma * nadir_norm_short(n, v_b, set->q), roundings);
    bound->reach = nadir_round_up(problem->gamma * reach, roundings);
    bound->seminorm_factor = nadir_round_up(pow((double)n, 1 / set->q), 8);
cleanup:
    return status;
}

nadir_status nadir_perturbation_bound_make(nadir_context *context, const nadir_problem *problem,
                                           nadir_certify effort, nadir_perturbation_bound *bound)
{
    nadir_status status = NADIR_OK;
    double *work = NULL;
    *bound = (nadir_perturbation_bound){.reach = INFINITY, .kappa = INFINITY};
    NADIR_NEW(context, work, 2 * problem->states);
    if (problem->uncertainty->set == NADIR_SET_NONRECT) {
        NADIR_CHECK(bound_ball(context, problem, effort, work, bound));
    } else {
        NADIR_CHECK(bound_rectangular(context, problem, work, bound));
    }
    NADIR_CHECK(nadir_perturbation_seminorm(context, problem, problem->v, work, &bound->seminorm_v));
    bound->seminorm_v += bound->seminorm_factor * problem->v_error;
cleanup:
    nadir_release(context, work);
    return status;
}

double nadir_perturbation_bound_remainder(const nadir_perturbation_bound *bound)
{
    const double kappa = bound->kappa;
    if (!(kappa < 1)) {
        return INFINITY;
    }
    /* 1 - kappa is off by a rounding, which is 1 / (1 - kappa) of them relatively */
    return nadir_round_up(bound->reach * kappa / (1 - kappa) * bound->seminorm_v, 16 / (1 - kappa));
}

double nadir_perturbation_bound_error(const nadir_context *context, const nadir_problem *problem,
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

nadir_status nadir_inverse_norm_bound(nadir_context *context, const nadir_problem *problem,
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
