/* difference_bound.c: the check of a kernel, and the first-order bound; see difference_bound.h. */
#include "proof/difference_bound.h"

#include "core/round.h"
#include "linalg/vector.h"
#include "proof/membership.h"

#include <math.h>

/* ------------------------------------------------------------------------------------------ check */

/* On the free domain the rows of P* may give no bound on the error of v; the norms of perturbation_bound.h
 * do, or D at P*. */
static nadir_status bound_error_by_norms(nadir_context *context, const nadir_problem *problem,
                                         const nadir_difference_witness *witness, bool form_inverse, int i,
                                         nadir_difference_facts *facts)
{
    nadir_status status = NADIR_OK;
    nadir_value_check *check = &facts->check[i];
    if (form_inverse) {
        NADIR_CHECK(nadir_inverse_norm_bound(context, problem, witness->occupancy[i], &facts->inverse[i]));
    }
    const double v_error = nadir_round_up(facts->inverse[i] * check->residual, 4);
    const double J_error = fmin(
        v_error, nadir_perturbation_bound_error(context, problem, &facts->perturbation[i], check->residual));
    /* and the rounding of mu . v */
    const double error = nadir_round_above(J_error, nadir_vector_largest(problem->states, witness->v[i]),
                                           8 * (double)(problem->states + 8));
    check->high = v_error;
    check->low = -v_error;
    check->lower = witness->J[i] - error;
    check->upper = witness->J[i] + error;
cleanup:
    return status;
}

nadir_status nadir_difference_check(nadir_context *context, const nadir_problem problem[2],
                                    const nadir_difference_witness *witness, bool form_inverse,
                                    nadir_difference_facts *facts)
{
    nadir_status status = NADIR_OK;
    nadir_membership membership;
    NADIR_CHECK(nadir_membership_check(context, witness->kernel, problem[0].uncertainty, 1, &membership));
    for (int i = 0; i < 2; i++) {
        nadir_value_check *check = &facts->check[i];
        NADIR_CHECK(nadir_value_check_rows(context, witness->kernel, problem[i].policy, problem[i].gamma,
                                           witness->v[i], check));
        facts->inverse[i] = INFINITY;
        if (!isfinite(check->lower) || !isfinite(check->upper)) {
            NADIR_CHECK(bound_error_by_norms(context, &problem[i], witness, form_inverse, i, facts));
        }
    }
    facts->distance = membership.distance;
    facts->row_sum = nadir_round_above(membership.row_sum, 1, 4 * (double)(problem[0].states + 16));
    facts->minimum = membership.minimum;
    const double high = facts->check[0].upper;
    const double low = facts->check[1].lower;
    facts->upper = nadir_round_above(high - low, fabs(high) + fabs(low), 4);
    facts->lower = facts->check[0].lower - facts->check[1].upper;
cleanup:
    return status;
}

/* ------------------------------------------------------------------------------------ first order */

/* At least |J_P - J - gamma d . Delta^pi v| of one policy and every kernel of the set. */
static nadir_status bound_remainder(nadir_context *context, const nadir_problem *problem,
                                    const nadir_perturbation_bound *perturbation,
                                    const nadir_occupancy_range *range, double *most)
{
    nadir_status status = NADIR_OK;
    double *work = NULL;
    *most = nadir_perturbation_bound_remainder(perturbation);
    if (range->high != NULL) {
        const int64_t n = problem->states;
        NADIR_NEW(context, work, 5 * n);
        double *width = work + 3 * n;
        double *response = work + 4 * n;
        nadir_occupancy_range_width(problem, range, width);
        NADIR_CHECK(nadir_row_response(context, problem, problem->v, problem->v_error, work, response));
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
    const double largest = nadir_vector_largest(problem->states, problem->v) + problem->v_error;
    return nadir_round_up(problem->gamma * widest * (problem->d_error * largest + mass * problem->v_error),
                          8 * (double)(problem->states + 16));
}

nadir_status nadir_difference_first_order(nadir_context *context, const nadir_problem problem[2],
                                          const nadir_difference_facts *facts, nadir_lmo_row_costs *costs,
                                          double *lower)
{
    nadir_status status = NADIR_OK;
    double gain;
    double lost = 0;
    NADIR_CHECK(nadir_lmo_row_costs_set(context, costs, problem[0].gamma, problem[0].d,
                                        problem[0].policy->probabilities, problem[0].v, problem[1].d,
                                        problem[1].policy->probabilities, problem[1].v));
    NADIR_CHECK(nadir_lmo_row_costs_bound(context, costs, &gain));
    for (int i = 0; i < 2; i++) {
        double remainder;
        NADIR_CHECK(
            bound_remainder(context, &problem[i], &facts->perturbation[i], &facts->range[i], &remainder));
        lost += remainder + slope_error(&problem[i]) + problem[i].J_error;
    }
    lost = nadir_round_up(lost + gain, 16);
    *lower = nadir_round_below(problem[0].J - problem[1].J - lost,
                               fabs(problem[0].J) + fabs(problem[1].J) + lost, 4);
cleanup:
    return status;
}
