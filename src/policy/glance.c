/*
 * glance.c: responses at a glance; see response.h.
 *
 * While policy and kernel both move, each step of one wants no more of the other than a step: one answer of
 * the rows to the values and occupancies before it. The factors of one kernel under one policy, near both of
 * which all others stay, serve as preconditioner for all of them, so that nothing is factored.
 */
#include "adversary/search/frank_wolfe.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "nominal/bellman.h"
#include "policy/response.h"

#include <math.h>
#include <string.h>

struct nadir_glance {
    nadir_solver *solver; /* of the first policy: the nominal kernel, and its factors */
    nadir_uncertainty uncertainty;
    double *R;             /* [states] */
    double largest_reward; /* of all rows */
    nadir_problem problem;
    nadir_frank_wolfe *descent;
};

void nadir_glance_free(nadir_context *context, nadir_glance *glance)
{
    if (glance != NULL) {
        nadir_frank_wolfe_free(context, glance->descent);
        nadir_uncertainty_clear(context, &glance->uncertainty);
        nadir_solver_free(glance->solver);
        nadir_release(context, glance->R);
        nadir_release(context, glance);
    }
}

nadir_occupancy *nadir_duel_base(const nadir_duel *duel)
{
    return duel->glance != NULL ? duel->glance->solver->occupancy : NULL;
}

const struct nadir_frank_wolfe *nadir_duel_descent(const nadir_duel *duel)
{
    return duel->glance != NULL ? duel->glance->descent : NULL;
}

bool nadir_response_can_glance(const nadir_response *response)
{
    const nadir_problem *problem = &response->asked.problem;
    const nadir_uncertainty *set = problem->uncertainty;
    return problem->model->dense != NULL && problem->model->exchange == NULL && !set->idle &&
           set->set == NADIR_SET_NONRECT && set->domain != NADIR_DOMAIN_FREE && set->p == 2 &&
           (response->solver == NULL || !nadir_occupancy_iterates(response->solver->occupancy));
}

nadir_status nadir_duel_ready(nadir_context *context, nadir_duel *duel, nadir_response *first)
{
    nadir_status status = NADIR_OK;
    if (duel->glance != NULL) {
        return NADIR_OK;
    }
    nadir_model *model = duel->model;
    nadir_glance *made = NULL;
    NADIR_NEW_ZERO(context, made, 1);
    NADIR_CHECK(nadir_uncertainty_make(context, model, first->policy, duel->ball, &made->uncertainty));
    NADIR_NEW(context, made->R, model->states);
    made->largest_reward = nadir_vector_largest(model->rows, model->rewards);
    made->problem = (nadir_problem){
        .model = model,
        .kernel = first->solver->kernel,
        .policy = first->policy,
        .occupancy = first->solver->occupancy,
        .uncertainty = &made->uncertainty,
        .states = model->states,
        .rows = model->rows,
        .gamma = model->discount,
        .sign = 1,
        .rewards = model->rewards,
        .R = made->R,
        .mu = model->initial,
        .J = NAN,
    };
    NADIR_CHECK(nadir_frank_wolfe_create(context, &made->problem, NULL, &made->descent));
    made->solver = first->solver;
    first->solver = NULL;
    duel->glance = made;
    made = NULL;
cleanup:
    nadir_glance_free(context, made);
    return status;
}

/* What is common to the rows that are measured. */
typedef struct measuring {
    const nadir_response *before;
    const nadir_kernel *kernel;
    nadir_kernel_vector vector;
    double rise; /* gamma max (v - v before), and what products with both are off by */
} measuring;

static double measure_row(const measuring *at, const nadir_response *response, int64_t row)
{
    const nadir_model *model = response->asked.problem.model;
    double product;
    nadir_kernel_multiply_rows(at->kernel, &at->vector, row, row + 1, &product);
    return model->rewards[row] + model->discount * product;
}

/* Of one state. A row that is not chosen, nor was, has risen by at most gamma max (v - v before): if it is
 * below all that are chosen even so, that will do, since no step of the policy leads to it. */
static void measure_state(const measuring *at, nadir_response *response, int64_t s)
{
    const int64_t *bounds = response->asked.problem.model->state_rows;
    const double *pi = response->policy->probabilities;
    const double *before = at->before->policy->probabilities;
    double least = INFINITY;
    for (int64_t row = bounds[s]; row < bounds[s + 1]; row++) {
        if (pi[row] > 0) {
            response->q[row] = measure_row(at, response, row);
            least = fmin(least, response->q[row]);
        }
    }
    for (int64_t row = bounds[s]; row < bounds[s + 1]; row++) {
        if (!(pi[row] > 0)) {
            const double most = at->before->q[row] + at->rise;
            response->q[row] = before[row] > 0 || !(most < least) ? measure_row(at, response, row) : most;
        }
    }
}

/* Of products with nominal rows, by which rows that are not chosen are told. */
static double rise_between(const nadir_glance *glance, const nadir_response *before,
                           const nadir_response *response)
{
    const nadir_model *model = response->asked.problem.model;
    const nadir_row_limits *limits = &model->limits;
    const nadir_kernel_size size = {limits->sum_low, limits->sum_high, limits->sum_high, limits->rounding};
    const double largest = fmax(nadir_vector_largest(model->states, response->v),
                                nadir_vector_largest(model->states, before->v));
    double most = -INFINITY;
    for (int64_t s = 0; s < model->states; s++) {
        most = fmax(most, response->v[s] - before->v[s]);
    }
    return model->discount * most * (most > 0 ? size.sum_high : size.sum_low) +
           4 * nadir_bellman_rounding(&size, model->discount, 1, glance->largest_reward, largest);
}

static void measure_rows(nadir_context *context, const nadir_glance *glance, const nadir_response *before,
                         nadir_response *response)
{
    const nadir_model *model = response->asked.problem.model;
    const nadir_kernel *kernel = response->verdict.attack.kernel;
    const int threads = nadir_threads_for(context, model->rows * model->states);
    const measuring at = {before, kernel, nadir_kernel_prepare(context, kernel, response->v),
                          rise_between(glance, before, response)};
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t s = 0; s < model->states; s++) {
        measure_state(&at, response, s);
    }
}

nadir_status nadir_response_glance(nadir_context *context, nadir_duel *duel, nadir_policy *policy,
                                   const double *near_v, const double *near_d, const nadir_response *before,
                                   nadir_response *response)
{
    nadir_status status = NADIR_OK;
    nadir_glance *glance = duel->glance;
    nadir_attack *attack = &response->verdict.attack;
    duel->evaluations++;
    response->policy = nadir_policy_retain(policy);
    glance->problem.policy = response->policy;
    nadir_average_rewards(duel->model, response->policy, glance->R);
    nadir_frank_wolfe_exchange_kernels(glance->descent, duel->spare);
    status = nadir_frank_wolfe_inexact(context, glance->descent, glance->uncertainty.radius, near_v, near_d,
                                       attack);
    nadir_frank_wolfe_exchange_kernels(glance->descent, duel->spare);
    NADIR_CHECK(status);
    response->asked.problem = glance->problem;
    response->v = attack->v;
    response->d = attack->d;
    attack->v = NULL;
    attack->d = NULL;
    response->J = attack->J;
    response->lost = attack->lambda;
    response->error = attack->gap;
    NADIR_NEW(context, response->q, duel->model->rows);
    if (before != NULL) {
        measure_rows(context, glance, before, response);
    } else {
        nadir_value_q(context, attack->kernel, duel->model->discount, response->v, response->q);
    }
cleanup:
    if (status != NADIR_OK) {
        nadir_response_clear(context, response);
    }
    return status;
}
