/* setup.c: the problem of one solver and one ball; see setup.h. */
#include "proof/setup.h"

#include "linalg/distributed.h"
#include "proof/bellman_bound.h"

#include <math.h>

void nadir_setup_clear(nadir_context *context, nadir_setup *asked)
{
    nadir_uncertainty_clear(context, &asked->uncertainty);
    nadir_release(context, asked->owned);
    asked->owned = NULL;
}

static double *negated(int64_t count, const double *from, double *into)
{
    for (int64_t i = 0; i < count; i++) {
        into[i] = -from[i];
    }
    return into;
}

/* The nominal kernel has distributions for rows: J lies where its rewards allow, which next to gamma = 1 may
 * say more than the solve. The error of J does not grow by that. */
static void place_return(const nadir_context *context, nadir_problem *problem)
{
    double lower;
    double upper;
    nadir_reward_bounds(context, problem, 0, &lower, &upper);
    if (isfinite(problem->J)) {
        problem->J = fmin(fmax(problem->J, lower), upper);
    }
}

nadir_status nadir_setup_make(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                              bool optimistic, nadir_setup *asked)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = solver->model;
    const int64_t states = model->states;
    NADIR_CHECK(nadir_uncertainty_make(context, model, solver->policy, ball, &asked->uncertainty));
    NADIR_CHECK(nadir_solver_solve(context, solver));
    NADIR_NEW(context, asked->owned, states + (optimistic ? states + model->rows : 0));
    nadir_average_rewards(model, solver->policy, asked->owned);
    const double sign = optimistic ? -1 : 1;
    asked->problem = (nadir_problem){
        .model = model,
        .kernel = solver->kernel,
        .policy = solver->policy,
        .occupancy = solver->occupancy,
        .uncertainty = &asked->uncertainty,
        .states = states,
        .rows = model->rows,
        .gamma = model->discount,
        .sign = sign,
        .rewards = model->rewards,
        .R = asked->owned,
        .mu = model->initial,
        .v = solver->value.v,
        .d = solver->value.d,
        .J = sign * solver->value.J,
        .v_error = solver->value.v_error,
        .d_error = solver->value.d_error,
        .J_error = solver->value.J_error,
        .largest = fmax(nadir_global_largest(context, states, solver->value.v),
                        nadir_global_largest(context, model->rows, model->rewards)),
    };
    if (optimistic) {
        negated(states, asked->owned, asked->owned);
        asked->problem.v = negated(states, solver->value.v, asked->owned + states);
        asked->problem.rewards = negated(model->rows, model->rewards, asked->owned + 2 * states);
    }
    place_return(context, &asked->problem);
cleanup:
    return status;
}
