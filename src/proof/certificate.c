/* certificate.c: the problem of a proof, candidates, certificates and witnesses; see certificate.h. */
#include "proof/certificate.h"

#include "linalg/distributed.h"
#include "model/landing.h"
#include "proof/bellman_bound.h"
#include "proof/termination.h"

#include <math.h>
#include <string.h>

void nadir_setup_clear(nadir_context *context, nadir_setup *asked)
{
    nadir_uncertainty_clear(context, &asked->uncertainty);
    nadir_termination_clear(context, &asked->problem);
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
    nadir_reward_bounds_nominal(context, problem, &lower, &upper);
    if (isfinite(problem->J)) {
        problem->J = fmin(fmax(problem->J, lower), upper);
    }
}

/* d . |R^pi| of the nominal kernel. */
static double sum_at_stake(const nadir_context *context, const nadir_solver *solver)
{
    const nadir_model *model = solver->model;
    double sum = 0;
    for (int64_t s = 0; s < model->states; s++) {
        double R = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            R += solver->policy->probabilities[row] * model->rewards[row];
        }
        sum += fabs(solver->value.d[s] * R);
    }
    return nadir_allreduce_sum(context, sum);
}

static nadir_status check_landing(nadir_context *context, const nadir_model *model,
                                  const nadir_uncertainty *set)
{
    return !model->landing.lacking || set->domain == NADIR_DOMAIN_SUPPORT
               ? NADIR_OK
               : nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                            "the discount of %g is too small for rewards of successors that the model has "
                            "not got: take domain support, or --unseen row, min or a number",
                            model->discount);
}

nadir_status nadir_setup_make(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                              bool optimistic, nadir_setup *asked)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = solver->model;
    const int64_t states = model->states;
    NADIR_CHECK(nadir_uncertainty_make(context, model, solver->policy, ball, &asked->uncertainty));
    NADIR_CHECK(check_landing(context, model, &asked->uncertainty));
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
        .gamma = nadir_landing_discount(model),
        .sign = sign,
        .landing = sign * nadir_landing_factor(model),
        .rewards = model->shaped,
        .R = asked->owned,
        .mu = model->initial,
        .v = solver->value.v,
        .d = solver->value.d,
        .J = sign * solver->value.J,
        .v_error = solver->value.v_error,
        .d_error = solver->value.d_error,
        .J_error = solver->value.J_error,
        .largest = fmax(nadir_global_largest(context, states, solver->value.v),
                        nadir_landing_reward_size(context, model, 1)),
    };
    if (optimistic) {
        negated(states, asked->owned, asked->owned);
        asked->problem.v = negated(states, solver->value.v, asked->owned + states);
        asked->problem.rewards = negated(model->rows, model->shaped, asked->owned + 2 * states);
    }
    asked->problem.rest = 1 - asked->problem.gamma;
    if (asked->problem.gamma == 1) {
        asked->problem.rest = 1 / nadir_global_sum(context, states, solver->value.d);
    }
    NADIR_CHECK(nadir_termination_prove(context, &asked->problem, 1));
    asked->problem.at_stake = sum_at_stake(context, solver);
    place_return(context, &asked->problem);
cleanup:
    return status;
}

static const char *const bound_names[] = {
    [NADIR_BOUND_NONE] = "none",
    [NADIR_BOUND_NOMINAL] = "nominal",
    [NADIR_BOUND_REWARDS] = "rewards",
    [NADIR_BOUND_SPECTRAL] = "spectral",
    [NADIR_BOUND_ENUMERATION] = "enumeration",
    [NADIR_BOUND_ENCLOSING_BALL] = "enclosing-ball",
    [NADIR_BOUND_FREE_DOMAIN] = "free-domain",
    [NADIR_BOUND_BELLMAN] = "bellman",
    [NADIR_BOUND_CONTRACTION] = "contraction",
    [NADIR_BOUND_LAGRANGIAN] = "lagrangian",
    [NADIR_BOUND_SHAPED] = "shaped",
    [NADIR_BOUND_SECOND_ORDER] = "second-order",
};

const char *nadir_bound_name(nadir_bound bound)
{
    return bound_names[bound];
}

nadir_bound nadir_bound_find(const char *name)
{
    int bound = NADIR_BOUND_SECOND_ORDER;
    while (bound > NADIR_BOUND_NONE && (name == NULL || strcmp(name, bound_names[bound]) != 0)) {
        bound--;
    }
    return (nadir_bound)bound;
}

void nadir_candidate_clear(nadir_context *context, nadir_candidate *candidate)
{
    nadir_kernel_free(candidate->kernel);
    nadir_release(context, candidate->c);
    nadir_release(context, candidate->k);
    nadir_release(context, candidate->g);
    nadir_release(context, candidate->v);
    nadir_release(context, candidate->d);
    *candidate = (nadir_candidate){0};
}

nadir_status nadir_certificate_make(nadir_context *context, int64_t states, nadir_certificate *certificate)
{
    nadir_status status = NADIR_OK;
    *certificate = (nadir_certificate){.lower = -INFINITY, .kappa = NAN};
    NADIR_NEW(context, certificate->d_bar, states);
cleanup:
    return status;
}

void nadir_certificate_clear(nadir_context *context, nadir_certificate *certificate)
{
    nadir_release(context, certificate->d_bar);
    nadir_release(context, certificate->v_tau);
    nadir_release(context, certificate->point);
    nadir_release(context, certificate->steps);
    *certificate = (nadir_certificate){0};
}

void nadir_certificate_offer(nadir_certificate *certificate, double lower, nadir_proof how, nadir_bound bound)
{
    if (lower > certificate->lower) {
        certificate->lower = lower;
        certificate->proof = how;
        certificate->bound = bound;
    }
}

void nadir_witness_default(nadir_witness *witness)
{
    *witness = (nadir_witness){
        .norm = NAN,
        .nominal_return = NAN,
        .robust_return = NAN,
        .lower_bound = NAN,
        .upper_bound = NAN,
        .lambda = NAN,
        .breakdown_low = NAN,
        .kappa = NAN,
        .tau = NAN,
    };
}

void nadir_witness_clear(nadir_context *context, nadir_witness *witness)
{
    nadir_release(context, witness->owned);
    nadir_release(context, witness->owned_names);
    nadir_witness_default(witness);
}

void nadir_kernel_parameters_clear(nadir_context *context, nadir_kernel_parameters *parameters)
{
    nadir_release(context, parameters->owned);
    *parameters = (nadir_kernel_parameters){.norm = NAN, .gamma = NAN};
}
