/*
 * response_inexact.c: responses at a glance; see response.h.
 *
 * While policy and kernel both move, each step of one wants no more of the other than a step: one answer of
 * the rows to the values and occupancies before it. The factors of one kernel under one policy, near both of
 * which all others stay, serve as preconditioner for all of them, so that nothing is factored.
 */
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "policy/minmax.h"
#include "search/frank_wolfe.h"
#include "solve/bellman.h"

#include <math.h>
#include <string.h>

struct nadir_inexact_response {
    nadir_solver *solver; /* of the first policy: the nominal kernel, and its factors */
    nadir_uncertainty uncertainty;
    double *R;             /* [states] */
    double largest_reward; /* of all rows */
    nadir_problem problem;
    nadir_frank_wolfe *descent;
};

void nadir_inexact_response_free(nadir_context *context, nadir_inexact_response *inexact)
{
    if (inexact != NULL) {
        nadir_frank_wolfe_free(context, inexact->descent);
        nadir_uncertainty_clear(context, &inexact->uncertainty);
        nadir_solver_free(inexact->solver);
        nadir_release(context, inexact->R);
        nadir_release(context, inexact);
    }
}

nadir_occupancy *nadir_minmax_base(const nadir_minmax *minmax)
{
    return minmax->inexact != NULL ? minmax->inexact->solver->occupancy : NULL;
}

const struct nadir_frank_wolfe *nadir_minmax_frank_wolfe(const nadir_minmax *minmax)
{
    return minmax->inexact != NULL ? minmax->inexact->descent : NULL;
}

bool nadir_response_allows_inexact(const nadir_response *response)
{
    const nadir_problem *problem = &response->asked.problem;
    const nadir_uncertainty *set = problem->uncertainty;
    return problem->model->dense != NULL && problem->model->exchange == NULL && !set->idle &&
           set->set == NADIR_SET_NONRECT && set->domain != NADIR_DOMAIN_FREE && set->p == 2 &&
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
    minmax->inexact = made;
    made = NULL;
cleanup:
    nadir_inexact_response_free(context, made);
    return status;
}

/* What is common to the rows that are measured. */
typedef struct measuring {
    const nadir_response *before;
    const nadir_kernel *kernel;
    nadir_kernel_vector vector;
    double rise; /* gamma max (v - v before), and what products with both are off by */
} measuring;

static double measure_row(const measuring *self, const nadir_response *response, int64_t row)
{
    const nadir_model *model = response->asked.problem.model;
    double product;
    nadir_kernel_multiply_rows(self->kernel, &self->vector, row, row + 1, &product);
    return model->rewards[row] + model->discount * product;
}

/* Of one state. A row that is not chosen, nor was, has risen by at most gamma max (v - v before): if it is
 * below all that are chosen even so, that will do, since no step of the policy leads to it. */
static void measure_state(const measuring *self, nadir_response *response, int64_t s)
{
    const int64_t *bounds = response->asked.problem.model->state_rows;
    const double *pi = response->policy->probabilities;
    const double *before = self->before->policy->probabilities;
    double least = INFINITY;
    for (int64_t row = bounds[s]; row < bounds[s + 1]; row++) {
        if (pi[row] > 0) {
            response->q[row] = measure_row(self, response, row);
            least = fmin(least, response->q[row]);
        }
    }
    for (int64_t row = bounds[s]; row < bounds[s + 1]; row++) {
        if (!(pi[row] > 0)) {
            const double most = self->before->q[row] + self->rise;
            response->q[row] = before[row] > 0 || !(most < least) ? measure_row(self, response, row) : most;
        }
    }
}

/* Of products with nominal rows, by which rows that are not chosen are told. */
static double rise_between(const nadir_inexact_response *inexact, const nadir_response *before,
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
           4 * nadir_bellman_rounding(&size, model->discount, 1, inexact->largest_reward, largest);
}

static void measure_rows(nadir_context *context, const nadir_inexact_response *inexact,
                         const nadir_response *before, nadir_response *response)
{
    const nadir_model *model = response->asked.problem.model;
    const nadir_kernel *kernel = response->evaluation.candidate.kernel;
    const int threads = nadir_threads_for(context, model->rows * model->states);
    const measuring run = {before, kernel, nadir_kernel_prepare(context, kernel, response->v),
                           rise_between(inexact, before, response)};
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t s = 0; s < model->states; s++) {
        measure_state(&run, response, s);
    }
}

nadir_status nadir_response_find_inexact(nadir_context *context, nadir_minmax *minmax, nadir_policy *policy,
                                         const double *warm_v, const double *warm_d,
                                         const nadir_response *before, nadir_response *response)
{
    nadir_status status = NADIR_OK;
    nadir_inexact_response *inexact = minmax->inexact;
    nadir_candidate *candidate = &response->evaluation.candidate;
    minmax->evaluations++;
    response->policy = nadir_policy_retain(policy);
    inexact->problem.policy = response->policy;
    nadir_average_rewards(minmax->model, response->policy, inexact->R);
    nadir_frank_wolfe_exchange_kernels(inexact->descent, minmax->spare);
    status = nadir_frank_wolfe_inexact(context, inexact->descent, inexact->uncertainty.radius, warm_v, warm_d,
                                       candidate);
    nadir_frank_wolfe_exchange_kernels(inexact->descent, minmax->spare);
    NADIR_CHECK(status);
    response->asked.problem = inexact->problem;
    response->v = candidate->v;
    response->d = candidate->d;
    candidate->v = NULL;
    candidate->d = NULL;
    response->J = candidate->J;
    response->lost = candidate->lambda;
    response->error = candidate->gap;
    NADIR_NEW(context, response->q, minmax->model->rows);
    if (before != NULL) {
        measure_rows(context, inexact, before, response);
    } else {
        nadir_value_q(context, candidate->kernel, minmax->model->discount, response->v, response->q);
    }
cleanup:
    if (status != NADIR_OK) {
        nadir_response_clear(context, response);
    }
    return status;
}
