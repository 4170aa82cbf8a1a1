/* response.c: a policy and what the adversary makes of it; see response.h. */
#include "policy/minmax.h"

#include "linalg/distributed.h"
#include "robust/robust.h"
#include "search/frank_wolfe.h"
#include "search/kernel_solver.h"

#include <math.h>
#include <string.h>

/* Of searches that converge so fast that there is nothing to be saved by stopping early. */
#define FINE 1e-10

void nadir_response_clear(nadir_context *context, nadir_response *response)
{
    nadir_evaluation_clear(context, &response->evaluation);
    nadir_setup_clear(context, &response->asked);
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
    nadir_inexact_response_free(context, minmax->inexact);
    minmax->inexact = NULL;
    nadir_occupancy_free(context, minmax->occupancy);
    minmax->occupancy = NULL;
    for (int i = 0; i < 2; i++) {
        nadir_kernel_free(minmax->spare[i]);
        minmax->spare[i] = NULL;
    }
}

/* Whether the search can start from the response to another policy. */
static bool can_follow(const nadir_uncertainty *set)
{
    return !set->idle && set->set == NADIR_SET_NONRECT && set->domain != NADIR_DOMAIN_FREE;
}

static nadir_status search(nadir_context *context, nadir_minmax *minmax, const double *warm_v,
                           const double *warm_d, double tolerance, nadir_response *response)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = &response->asked.problem;
    nadir_candidate *candidate = &response->evaluation.candidate;
    const double factor = 1;
    if (can_follow(problem->uncertainty) && warm_v != NULL) {
        NADIR_CHECK(nadir_frank_wolfe_warm(context, problem, problem->uncertainty->radius, warm_v, warm_d,
                                           tolerance, minmax->iterations_limit, minmax->spare, candidate));
    } else if (can_follow(problem->uncertainty)) {
        NADIR_CHECK(nadir_multistart_run(context, problem, problem->uncertainty->radius, NULL, tolerance,
                                         minmax->iterations_limit, candidate));
    } else {
        nadir_robust_settings settings;
        nadir_robust_settings_default(&settings);
        settings.certify = NADIR_CERTIFY_OFF;
        settings.tolerance = FINE;
        settings.iterations_limit = minmax->iterations_limit;
        NADIR_CHECK(nadir_robust_evaluator(problem->uncertainty)(context, problem, &settings, 1, &factor,
                                                                 &response->evaluation));
        status = response->evaluation.refused ? NADIR_ERROR_ILL_POSED : NADIR_OK;
    }
cleanup:
    return status;
}

/* Value and occupancy under the kernel, where the search has not left them behind. */
static nadir_status solve(nadir_context *context, nadir_response *response)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = &response->asked.problem;
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
    NADIR_CHECK(nadir_setup_make(context, response->solver, minmax->ball, false, &response->asked));
    NADIR_CHECK(search(context, minmax, warm_v, warm_d, tolerance, response));
    NADIR_CHECK(solve(context, response));
    NADIR_NEW(context, response->q, minmax->model->rows);
    nadir_value_q(context, response->evaluation.candidate.kernel, minmax->model->discount, response->v,
                  response->q);
    response->J = response->evaluation.candidate.J;
    response->lost = response->asked.problem.J - response->J;
    const double penalty = fabs(response->lost);
    const double gap = response->evaluation.candidate.gap;
    response->error =
        gap >= 0 ? gap : tolerance * penalty; /* NaN: the search tells none, but was asked for */
cleanup:
    if (status != NADIR_OK) {
        nadir_response_clear(context, response);
    }
    return status;
}

nadir_status nadir_response_find_first(nadir_context *context, nadir_minmax *minmax, nadir_policy *policy,
                                       bool any, double tolerance, nadir_response *response)
{
    nadir_policy *uniform = NULL;
    nadir_status status = nadir_response_find(context, minmax, policy, NULL, NULL, tolerance, response);
    if (status == NADIR_ERROR_ILL_POSED && any) {
        NADIR_CHECK(nadir_policy_create_uniform(context, minmax->model, &uniform));
        NADIR_CHECK(nadir_response_find(context, minmax, uniform, NULL, NULL, tolerance, response));
    }
cleanup:
    nadir_policy_free(uniform);
    return status;
}

double nadir_response_advantage(const nadir_context *context, const nadir_response *response)
{
    const nadir_model *model = response->asked.problem.model;
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
