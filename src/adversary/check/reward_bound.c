/*
 * reward_bound.c: what kernels of distributions return at least and at most; see reward_bound.h.
 *
 * J_P = sum over s of d_P(s) R^pi(s) with d_P >= 0. Where the actions of every state have the probability rho
 * in all, sum d_P = |mu|_1 / (1 - gamma rho); rho is one but for rounding.
 */
#include "adversary/check/reward_bound.h"

#include "linalg/distributed.h"
#include "nominal/check.h"

#include <float.h>
#include <math.h>

#define UNIT (DBL_EPSILON / 2)

/* Of the states of this process, rounded outwards. */
typedef struct reward_range {
    double lowest, highest;   /* of R^pi */
    double rho_low, rho_high; /* of the sums of pi */
} reward_range;

static void take_state(const nadir_problem *problem, int64_t s, reward_range *range)
{
    const nadir_model *model = problem->model;
    const double *pi = problem->policy->probabilities;
    const double terms = (double)(model->state_rows[s + 1] - model->state_rows[s] + 2);
    double sum = 0;
    double size = 0;
    double rho = 0;
    for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
        const double term = pi[row] * problem->rewards[row];
        sum += term;
        size += fabs(term);
        rho += pi[row];
    }
    /* what underflows is off by less than the least number */
    const double error = terms * (UNIT * size * (1 + 4 * terms * UNIT) + DBL_TRUE_MIN) + UNIT * fabs(sum);
    range->lowest = fmin(range->lowest, sum - 2 * error);
    range->highest = fmax(range->highest, sum + 2 * error);
    range->rho_low = fmin(range->rho_low, rho * (1 - terms * UNIT));
    range->rho_high = fmax(range->rho_high, rho * (1 + terms * UNIT));
}

/* mass / (1 - gamma rho) times r, from above. */
static double sum_up(const nadir_problem *problem, double r, double low, double high, double mass)
{
    const double spread = UNIT * (double)(nadir_model_total(problem->model) + 4);
    const double rise = nadir_check_offset(r, problem->gamma, low, high);
    const double product = rise * mass * (rise > 0 ? 1 + spread : 1 - spread);
    const double upper = fmax(product, -DBL_MAX); /* what is below all numbers is below the least */
    return isnan(product) ? INFINITY : upper + 8 * UNIT * fabs(upper) + DBL_TRUE_MIN;
}

void nadir_reward_bounds(const nadir_context *context, const nadir_problem *problem, double *lower,
                         double *upper)
{
    reward_range range = {.lowest = INFINITY, .highest = -INFINITY, .rho_low = INFINITY};
    double mass = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        take_state(problem, s, &range);
        mass += problem->mu[s];
    }
    const double lowest = nadir_join_minimum(context, range.lowest);
    const double highest = nadir_join_maximum(context, range.highest);
    const double low = nadir_join_minimum(context, range.rho_low);
    const double high = nadir_join_maximum(context, range.rho_high);
    mass = nadir_join_sum(context, mass);
    *lower = -sum_up(problem, -lowest, low, high, mass);
    *upper = sum_up(problem, highest, low, high, mass);
}
