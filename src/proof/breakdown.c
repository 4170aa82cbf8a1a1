/* breakdown.c: lower bounds on the breakdown radius of the free domain; see breakdown.h. */
#include "proof/breakdown.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/vector.h"

#include <math.h>

void nadir_breakdown_operator_clear(nadir_context *context, nadir_breakdown_operator *self)
{
    nadir_release(context, self->W);
}

nadir_status nadir_breakdown_operator_make(nadir_context *context, const nadir_problem *problem,
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

bool nadir_breakdown_operator_is_zero(const nadir_breakdown_operator *self)
{
    return nadir_model_total(self->problem->model) == 1 || self->problem->gamma == 0 || self->W_largest == 0;
}

double nadir_breakdown_radius(const nadir_problem *problem, double norm)
{
    return norm == 0 ? INFINITY : nadir_round_down(1 / (problem->gamma * norm), 4);
}

/* All proofs from `first` to `last`. */
static nadir_status lower_norm(nadir_context *context, const nadir_problem *problem,
                               nadir_breakdown_proof first, nadir_breakdown_proof last, double beta,
                               double *norm)
{
    nadir_status status = NADIR_OK;
    nadir_breakdown_operator made = {0};
    NADIR_CHECK(nadir_breakdown_operator_make(context, problem, &made));
    if (nadir_breakdown_operator_is_zero(&made)) {
        *norm = 0;
        goto cleanup;
    }
    if (first == NADIR_BREAKDOWN_PRODUCTS) {
        NADIR_CHECK(nadir_breakdown_by_products(context, &made, norm));
    }
    if (last != NADIR_BREAKDOWN_PRODUCTS) {
        NADIR_CHECK(nadir_breakdown_by_columns(context, &made, first <= NADIR_BREAKDOWN_COLUMNS,
                                               last == NADIR_BREAKDOWN_CHOLESKY, beta, norm));
    }
cleanup:
    nadir_breakdown_operator_clear(context, &made);
    return status;
}

nadir_status nadir_breakdown_lower_norm(nadir_context *context, const nadir_problem *problem,
                                        nadir_breakdown_proof proof, double beta, double *norm)
{
    return lower_norm(context, problem, proof, proof, beta, norm);
}

nadir_status nadir_breakdown_low(nadir_context *context, const nadir_problem *problem,
                                 nadir_breakdown_proof proof, double beta, double *radius)
{
    double norm = INFINITY;
    const nadir_status status = lower_norm(context, problem, NADIR_BREAKDOWN_PRODUCTS, proof, beta, &norm);
    *radius = nadir_breakdown_radius(problem, norm);
    return status;
}

nadir_status nadir_breakdown_low_thoroughly(nadir_context *context, const nadir_problem *problem,
                                            double *radius)
{
    nadir_status status = NADIR_OK;
    nadir_breakdown_operator made = {0};
    double norm = INFINITY;
    NADIR_CHECK(nadir_breakdown_operator_make(context, problem, &made));
    made.thorough = true;
    if (nadir_breakdown_operator_is_zero(&made)) {
        norm = 0;
    } else {
        NADIR_CHECK(nadir_breakdown_by_products(context, &made, &norm));
    }
    *radius = nadir_breakdown_radius(problem, norm);
cleanup:
    nadir_breakdown_operator_clear(context, &made);
    return status;
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
