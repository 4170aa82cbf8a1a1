/* free_bounds.c: what all bounds on the free domain share; see free_bounds.h. */
#include "proof/free_bounds.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "proof/bellman_bound.h"

#include <math.h>

/* The largest product of values and occupancies. */
#define PRODUCT_MOST 1e290

/* |v d^T W| <= (largest reward) (max W) / (1 - gamma)^2. */
double nadir_free_reward_most(const nadir_context *context, const nadir_problem *problem)
{
    const double gap = 1 - problem->gamma;
    const double W = nadir_global_largest(context, problem->states, problem->uncertainty->W);
    return PRODUCT_MOST * gap * gap / fmax(1, W);
}

bool nadir_free_rewards_fit(const nadir_context *context, const nadir_problem *problem)
{
    return !nadir_rewards_underflow(context, problem) &&
           nadir_global_largest(context, problem->rows, problem->rewards) <=
               nadir_free_reward_most(context, problem);
}

double nadir_free_lower(const nadir_problem *problem, double lambda_high)
{
    return nadir_round_below(problem->J - problem->J_error - lambda_high,
                             fabs(problem->J) + fabs(lambda_high), 4);
}

nadir_status nadir_free_enclosing_ball(nadir_context *context, const nadir_problem *problem,
                                       nadir_uncertainty *two, nadir_problem *enclosing, double *wider)
{
    const nadir_uncertainty *own = problem->uncertainty;
    const nadir_ball ball = {
        .size = sizeof ball,
        .set = NADIR_SET_NONRECT,
        .domain = own->domain,
        .norm = 2,
        .radius = &own->radius,
        .radius_count = 1,
        .scales = own->scales,
    };
    const nadir_status status = nadir_uncertainty_make(context, problem->model, problem->policy, &ball, two);
    *enclosing = *problem;
    enclosing->uncertainty = two;
    const double factor = own->p > 2 ? pow((double)own->entries, 0.5 - 1 / own->p) : 1;
    *wider = nadir_round_up(factor, 8);
    return status;
}
