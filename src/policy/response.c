/*
 * response.c: worst kernels of policies, exact and inexact; see minmax.h.
 *
 * While the policy still moves, its exact worst kernel is not needed: an inexact response is one Frank-Wolfe
 * step from the value and occupancy of the response before. The factors of the first kernel under the first
 * policy precondition all solves, so that nothing is factored again.
 */
#include "policy/minmax.h"

#include "linalg/distributed.h"
#include "model/landing.h"
#include "proof/trap.h"
#include "robust/robust.h"
#include "search/frank_wolfe.h"
#include "search/kernel_solver.h"

#include <math.h>
#include <string.h>

/* Tolerance of searches that converge so fast that stopping early saves nothing. */
#define FINE 1e-10

struct nadir_inexact_response {
    nadir_solver *solver; /* of the first policy, with its factors */
    nadir_uncertainty uncertainty;
    double *R; /* [states] */
    nadir_problem problem;
    nadir_frank_wolfe *frank_wolfe;
};

static void inexact_free(nadir_context *context, nadir_inexact_response *inexact)
{
    if (inexact != NULL) {
        nadir_frank_wolfe_free(context, inexact->frank_wolfe);
        nadir_uncertainty_clear(context, &inexact->uncertainty);
        nadir_solver_free(inexact->solver);
        nadir_release(context, inexact->R);
        nadir_release(context, inexact);
    }
}

void nadir_response_clear(nadir_context *context, nadir_response *response)
{
    nadir_evaluation_clear(context, &response->evaluation);
    nadir_setup_clear(context, &response->setup);
    nadir_solver_free(response->solver);
    nadir_policy_free(response->policy);
    nadir_release(context, response->v);
    nadir_release(context, response->d);
    nadir_release(context, response->q);
    *response = (nadir_response){0};
}

void nadir_response_recycle(nadir_context *context, nadir_minmax *minmax, nadir_response *response)
{
    for (int i = 0; i < 2 && response->evaluation.candidate.kernel != NULL; i++) {
        if (minmax->spare[i] == NULL) {
            minmax->spare[i] = response->evaluation.candidate.kernel;
            response->evaluation.candidate.kernel = NULL;
        }
    }
    nadir_response_clear(context, response);
}

void nadir_minmax_clear(nadir_context *context, nadir_minmax *minmax)
{
    inexact_free(context, minmax->inexact);
    minmax->inexact = NULL;
    nadir_occupancy_free(context, minmax->occupancy);
    minmax->occupancy = NULL;
    for (int i = 0; i < 2; i++) {
        nadir_kernel_free(minmax->spare[i]);
        minmax->spare[i] = NULL;
    }
}

/* Whether the search for a worst kernel can start warm. */
static bool can_start_warm(const nadir_uncertainty *set)
{
    return !set->idle && set->set == NADIR_SET_NONRECT && set->domain != NADIR_DOMAIN_FREE;
}

static nadir_status search(nadir_context *context, nadir_minmax *minmax, const double *warm_v,
                           const double *warm_d, double tolerance, nadir_response *response)
{
    const nadir_problem *problem = &response->setup.problem;
    nadir_candidate *candidate = &response->evaluation.candidate;
    if (can_start_warm(problem->uncertainty) && warm_v != NULL) {
        NADIR_TRY(nadir_frank_wolfe_warm(context, problem, problem->uncertainty->radius, warm_v, warm_d,
                                         tolerance, minmax->iterations_limit, minmax->spare, candidate));
    } else if (can_start_warm(problem->uncertainty)) {
        const double beta = problem->uncertainty->radius;
        NADIR_TRY(nadir_frank_wolfe_run(context, problem, beta, NULL, tolerance, minmax->iterations_limit,
                                        candidate));
        NADIR_TRY(
            nadir_multistart_missed(context, problem, beta, tolerance, minmax->iterations_limit, candidate));
    } else {
        nadir_robust_settings settings;
        nadir_robust_settings_default(&settings);
        settings.certify = NADIR_CERTIFY_OFF;
        settings.tolerance = FINE;
        settings.iterations_limit = minmax->iterations_limit;
        nadir_radius_evaluator *evaluate = nadir_evaluator_for(problem->uncertainty, 1);
        NADIR_TRY(evaluate(context, problem, &settings, 1, NULL, &response->evaluation));
        return response->evaluation.refused ? NADIR_ERROR_ILL_POSED : NADIR_OK;
    }
    return NADIR_OK;
}

/* Value and occupancy under the kernel, unless the search computed them. */
static nadir_status solve(nadir_context *context, nadir_response *response)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = &response->setup.problem;
    nadir_candidate *candidate = &response->evaluation.candidate;
    nadir_kernel_solver operator= {.problem = problem};
    if (candidate->v != NULL && candidate->d != NULL) {
        response->v = candidate->v;
        response->d = candidate->d;
        candidate->v = NULL;
        candidate->d = NULL;
        goto cleanup;
    }
    NADIR_NEW(context, response->v, problem->states);
    NADIR_NEW(context, response->d, problem->states);
    NADIR_CHECK(nadir_kernel_solver_set(context, &operator, candidate->kernel));
    NADIR_CHECK(nadir_kernel_solver_value(context, &operator, response->v, response->d));
cleanup:
    nadir_kernel_solver_clear(context, &operator);
    return status;
}

/* Without a discount, policies some of whose kernels may never end are not compared: their worst returns are unbounded or
 * not known. cold: not one of many steps, so that it is worth the search for the reason. */
static nadir_status check_ends(nadir_context *context, const nadir_problem *problem, bool cold)
{
    char text[512] = "some kernel of the ball may never end";
    if (problem->gamma != 1 || problem->gap > 0 || problem->uncertainty->idle) {
        return NADIR_OK;
    }
    if (problem->uncertainty->domain == NADIR_DOMAIN_FREE) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "without a discount policies are optimised on the domains simplex and support");
    }
    NADIR_TRY(cold ? nadir_trap_describe(context, problem, 1, text, sizeof text) : NADIR_OK);
    return nadir_fail(
        context, NADIR_ERROR_ILL_POSED,
        "%s; take a smaller radius, a discount below 1, or --start with a policy under which all "
        "kernels of the ball end",
        text);
}

nadir_status nadir_response_find(nadir_context *context, nadir_minmax *minmax, nadir_policy *policy,
                                 const double *warm_v, const double *warm_d, double tolerance,
                                 nadir_response *response)
{
    nadir_status status = NADIR_OK;
    nadir_solver_settings settings;
    nadir_solver_settings_default(&settings);
    settings.backend = minmax->backend;
    minmax->evaluations++;
    response->policy = nadir_policy_retain(policy);
    const bool same = minmax->occupancy != NULL && memcmp(minmax->known->probabilities, policy->probabilities,
                                                          (size_t)minmax->model->rows * sizeof(double)) == 0;
    nadir_occupancy *none = NULL;
    NADIR_CHECK(nadir_solver_create_from(context, minmax->model, response->policy, &settings,
                                         same ? &minmax->occupancy : &none, &response->solver));
    NADIR_CHECK(nadir_setup_make(context, response->solver, minmax->ball, false, &response->setup));
    NADIR_CHECK(check_ends(context, &response->setup.problem, warm_v == NULL));
    NADIR_CHECK(search(context, minmax, warm_v, warm_d, tolerance, response));
    NADIR_CHECK(solve(context, response));
    NADIR_NEW(context, response->q, minmax->model->rows);
    nadir_value_q(context, response->evaluation.candidate.kernel, minmax->model->discount, response->v,
                  response->q);
    response->J = response->evaluation.candidate.J;
    response->penalty = response->setup.problem.J - response->J;
    const double gap = response->evaluation.candidate.gap; /* NaN: the search met the tolerance */
    response->error = gap >= 0 ? gap : tolerance * fabs(response->penalty);
cleanup:
    if (status != NADIR_OK) {
        nadir_response_clear(context, response);
    }
    return status;
}

double nadir_response_advantage(const nadir_context *context, const nadir_response *response)
{
    const nadir_model *model = response->setup.problem.model;
    double sum = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const double d = response->d[s];
        double best = -INFINITY;
        double mean = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double q = d * response->q[row];
            best = q > best ? q : best;
            mean += response->policy->probabilities[row] * response->q[row];
        }
        sum += best - d * mean;
    }
    return nadir_allreduce_sum(context, sum);
}

/* ------------------------------------------------------------------------------- inexact responses */

nadir_occupancy *nadir_minmax_base(const nadir_minmax *minmax)
{
    return minmax->inexact != NULL ? minmax->inexact->solver->occupancy : NULL;
}

bool nadir_response_allows_inexact(const nadir_response *response)
{
    const nadir_problem *problem = &response->setup.problem;
    const nadir_uncertainty *set = problem->uncertainty;
    return problem->model->dense != NULL && problem->model->exchange == NULL && !set->idle &&
           set->set == NADIR_SET_NONRECT && set->domain != NADIR_DOMAIN_FREE && set->p == 2 &&
           problem->gamma != 1 && /* every policy needs its own proof that kernels end */
           (response->solver == NULL || !nadir_occupancy_iterates(response->solver->occupancy));
}

nadir_status nadir_minmax_prepare(nadir_context *context, nadir_minmax *minmax, nadir_response *first)
{
    nadir_status status = NADIR_OK;
    if (minmax->inexact != NULL) {
        return NADIR_OK;
    }
    nadir_model *model = minmax->model;
    nadir_inexact_response *made = NULL;
    NADIR_NEW_ZERO(context, made, 1);
    NADIR_CHECK(nadir_uncertainty_make(context, model, first->policy, minmax->ball, &made->uncertainty));
    NADIR_NEW(context, made->R, model->states);
    made->problem = (nadir_problem){
        .model = model,
        .kernel = first->solver->kernel,
        .policy = first->policy,
        .occupancy = first->solver->occupancy,
        .uncertainty = &made->uncertainty,
        .states = model->states,
        .rows = model->rows,
        .gamma = nadir_landing_discount(model),
        .rest = 1 - nadir_landing_discount(model),
        .sign = 1,
        .landing = nadir_landing_factor(model),
        .rewards = model->shaped,
        .R = made->R,
        .mu = model->initial,
        .J = NAN,
    };
    NADIR_CHECK(nadir_frank_wolfe_create(context, &made->problem, &made->frank_wolfe));
    made->solver = first->solver;
    first->solver = NULL;
    minmax->inexact = made;
    made = NULL;
cleanup:
    inexact_free(context, made);
    return status;
}

nadir_status nadir_response_find_inexact(nadir_context *context, nadir_minmax *minmax, nadir_policy *policy,
                                         const double *warm_v, const double *warm_d, nadir_response *response)
{
    nadir_status status = NADIR_OK;
    nadir_inexact_response *inexact = minmax->inexact;
    nadir_candidate *candidate = &response->evaluation.candidate;
    minmax->evaluations++;
    response->policy = nadir_policy_retain(policy);
    inexact->problem.policy = response->policy;
    nadir_average_rewards(minmax->model, response->policy, inexact->R);
    nadir_frank_wolfe_exchange_kernels(inexact->frank_wolfe, minmax->spare);
    status = nadir_frank_wolfe_inexact(context, inexact->frank_wolfe, inexact->uncertainty.radius, warm_v,
                                       warm_d, candidate);
    nadir_frank_wolfe_exchange_kernels(inexact->frank_wolfe, minmax->spare);
    NADIR_CHECK(status);
    response->setup.problem = inexact->problem;
    response->v = candidate->v;
    response->d = candidate->d;
    candidate->v = NULL;
    candidate->d = NULL;
    response->J = candidate->J;
    response->penalty = candidate->lambda;
    response->error = candidate->gap;
    NADIR_NEW(context, response->q, minmax->model->rows);
    nadir_value_q(context, candidate->kernel, minmax->model->discount, response->v, response->q);
cleanup:
    if (status != NADIR_OK) {
        nadir_response_clear(context, response);
    }
    return status;
}
