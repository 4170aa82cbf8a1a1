/* response.c: a policy and what the adversary makes of it; see response.h. */
#include "policy/response.h"

#include "adversary/robust.h"
#include "adversary/search/kernel_solver.h"
#include "adversary/search/multistart.h"
#include "linalg/distributed.h"

#include <math.h>
#include <string.h>

/* Of searches that converge so fast that there is nothing to be saved by stopping early. */
#define FINE 1e-10

void nadir_response_clear(nadir_context *context, nadir_response *response)
{
    nadir_verdict_clear(context, &response->verdict);
    nadir_question_clear(context, &response->asked);
    nadir_solver_free(response->solver);
    nadir_policy_free(response->policy);
    nadir_release(context, response->v);
    nadir_release(context, response->d);
    nadir_release(context, response->q);
    *response = (nadir_response){0};
}

void nadir_response_recycle(nadir_context *context, nadir_duel *duel, nadir_response *response)
{
    for (int i = 0; i < 2 && response->verdict.attack.kernel != NULL; i++) {
        if (duel->spare[i] == NULL) {
            duel->spare[i] = response->verdict.attack.kernel;
            response->verdict.attack.kernel = NULL;
        }
    }
    nadir_response_clear(context, response);
}

void nadir_duel_clear(nadir_context *context, nadir_duel *duel)
{
    nadir_glance_free(context, duel->glance);
    duel->glance = NULL;
    nadir_occupancy_free(context, duel->occupancy);
    duel->occupancy = NULL;
    for (int i = 0; i < 2; i++) {
        nadir_kernel_free(duel->spare[i]);
        duel->spare[i] = NULL;
    }
}

/* Whether the search can start from the response to another policy. */
static bool can_follow(const nadir_uncertainty *set)
{
    return !set->idle && set->set == NADIR_SET_NONRECT && set->domain != NADIR_DOMAIN_FREE;
}

static nadir_status search(nadir_context *context, nadir_duel *duel, const double *near_v,
                           const double *near_d, double tolerance, nadir_response *response)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = &response->asked.problem;
    nadir_attack *attack = &response->verdict.attack;
    const double factor = 1;
    if (can_follow(problem->uncertainty) && near_v != NULL) {
        NADIR_CHECK(nadir_frank_wolfe_warm(context, problem, problem->uncertainty->radius, near_v, near_d,
                                           tolerance, duel->iterations_limit, duel->spare, attack));
    } else if (can_follow(problem->uncertainty)) {
        NADIR_CHECK(nadir_multistart_run(context, problem, problem->uncertainty->radius, NULL, tolerance,
                                         duel->iterations_limit, attack));
    } else {
        nadir_robust_settings settings;
        nadir_robust_settings_default(&settings);
        settings.certify = NADIR_CERTIFY_OFF;
        settings.tolerance = FINE;
        settings.iterations_limit = duel->iterations_limit;
        NADIR_CHECK(nadir_robust_family(problem->uncertainty)(context, problem, &settings, 1, &factor,
                                                              &response->verdict));
        status = response->verdict.refused ? NADIR_ERROR_ILL_POSED : NADIR_OK;
    }
cleanup:
    return status;
}

/* Value and occupancy under the kernel, where the search has not left them behind. */
static nadir_status solve(nadir_context *context, nadir_response *response)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = &response->asked.problem;
    nadir_attack *attack = &response->verdict.attack;
    nadir_kernel_solver operator= {.problem = problem};
    if (attack->v != NULL && attack->d != NULL) {
        response->v = attack->v;
        response->d = attack->d;
        attack->v = NULL;
        attack->d = NULL;
        goto cleanup;
    }
    NADIR_NEW(context, response->v, problem->states);
    NADIR_NEW(context, response->d, problem->states);
    NADIR_CHECK(nadir_kernel_solver_set(context, &operator, attack->kernel));
    NADIR_CHECK(nadir_kernel_solver_value(context, &operator, response->v, response->d));
cleanup:
    nadir_kernel_solver_clear(context, &operator);
    return status;
}

nadir_status nadir_response_find(nadir_context *context, nadir_duel *duel, nadir_policy *policy,
                                 const double *near_v, const double *near_d, double tolerance,
                                 nadir_response *response)
{
    nadir_status status = NADIR_OK;
    nadir_solver_settings settings;
    nadir_solver_settings_default(&settings);
    settings.backend = duel->backend;
    duel->evaluations++;
    response->policy = nadir_policy_retain(policy);
    const bool same = duel->occupancy != NULL && memcmp(duel->known->probabilities, policy->probabilities,
                                                        (size_t)duel->model->rows * sizeof(double)) == 0;
    nadir_occupancy *none = NULL;
    NADIR_CHECK(nadir_solver_create_from(context, duel->model, response->policy, &settings,
                                         same ? &duel->occupancy : &none, &response->solver));
    NADIR_CHECK(nadir_question_pose(context, response->solver, duel->ball, false, &response->asked));
    NADIR_CHECK(search(context, duel, near_v, near_d, tolerance, response));
    NADIR_CHECK(solve(context, response));
    NADIR_NEW(context, response->q, duel->model->rows);
    nadir_value_q(context, response->verdict.attack.kernel, duel->model->discount, response->v, response->q);
    response->J = response->verdict.attack.J;
    response->lost = response->asked.problem.J - response->J;
    const double penalty = fabs(response->lost);
    const double gap = response->verdict.attack.gap;
    response->error =
        gap >= 0 ? gap : tolerance * penalty; /* NaN: the search tells none, but was asked for */
cleanup:
    if (status != NADIR_OK) {
        nadir_response_clear(context, response);
    }
    return status;
}

nadir_status nadir_response_find_first(nadir_context *context, nadir_duel *duel, nadir_policy *policy,
                                       bool any, double tolerance, nadir_response *response)
{
    nadir_policy *uniform = NULL;
    nadir_status status = nadir_response_find(context, duel, policy, NULL, NULL, tolerance, response);
    if (status == NADIR_ERROR_ILL_POSED && any) {
        NADIR_CHECK(nadir_policy_create_uniform(context, duel->model, &uniform));
        NADIR_CHECK(nadir_response_find(context, duel, uniform, NULL, NULL, tolerance, response));
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
