/*
 * lagrangian_solve.c: v_tau = T v_tau of the Lagrangian bound for one tau; see lagrangian_tau.h.
 *
 * Policy iteration: the rows X that attain Tv, with their cost c(s) = tau / d_bar(s) x_s, have the value
 *
 *     v <- (I - gamma X^pi)^-1 (R^pi + c),
 *
 * which falls from step to step, and v_tau >= v - max (v - Tv)_+ / (1 - gamma) bounds how far it can still
 * fall. The minimisers are smooth in v (p > 1) or vertices (p = 1): 3 to 6 steps. By the envelope theorem
 * `used` is the derivative of mu . v_tau by tau.
 */
#include "search/lagrangian_search.h"

#include "linalg/norm.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Policy iteration ends when v can fall by no more than this share of J - mu . v. */
#define TOLERANCE 1e-11
/* On models of more states than this steps are expensive and the bound is some per cent of the penalty wide:
 * that share, and the accuracy of intermediate values, which start from the one before. The last value of a
 * tau is solved to full accuracy: its residual enters the bound. */
#define LARGE              20000
#define TOLERANCE_ROUGHLY  1e-3
#define TOLERANCE_OF_VALUE 1e-9
/* The limit of kernels there, for all tau together; the bound is valid wherever it stops. */
#define KERNELS_ROUGHLY 24
/* Never met: a step squares the error. */
#define ITERATIONS_LIMIT 200

void nadir_lagrangian_clear(nadir_context *context, nadir_lagrangian *lagrangian)
{
    nadir_release(context, lagrangian->v);
    nadir_release(context, lagrangian->answered);
    nadir_kernel_free(lagrangian->kernel);
    *lagrangian = (nadir_lagrangian){0};
}

nadir_status nadir_lagrangian_search_make(nadir_context *context, const nadir_problem *problem, double beta,
                                          const double *d_bar, nadir_lagrangian_search *search)
{
    nadir_status status = NADIR_OK;
    *search = (nadir_lagrangian_search){.problem = problem,
                                        .beta = beta,
                                        .solver = {.problem = problem},
                                        .roughly = nadir_model_total(problem->model) > LARGE};
    NADIR_CHECK(nadir_lmo_penalized_make(context, problem, beta, d_bar, &search->lmo));
    NADIR_NEW_ZERO(context, search->norms, problem->states);
    NADIR_NEW(context, search->charged, problem->states);
    NADIR_NEW(context, search->work, problem->states);
cleanup:
    if (status != NADIR_OK) {
        nadir_lagrangian_search_clear(context, search);
    }
    return status;
}

void nadir_lagrangian_search_clear(nadir_context *context, nadir_lagrangian_search *search)
{
    nadir_lmo_penalized_clear(context, &search->lmo);
    nadir_kernel_solver_clear(context, &search->solver);
    nadir_release(context, search->norms);
    nadir_release(context, search->charged);
    nadir_release(context, search->work);
    *search = (nadir_lagrangian_search){0};
}

bool nadir_lagrangian_search_is_spent(const nadir_lagrangian_search *search)
{
    return search->roughly && search->iterations >= KERNELS_ROUGHLY;
}

/* The kernel of the minimising rows, its cost and its value. */
static nadir_status evaluate(nadir_context *context, nadir_lagrangian_search *search, double tau,
                             nadir_lagrangian *lagrangian)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = search->problem;
    nadir_lmo_penalized *lmo = &search->lmo;
    for (int64_t s = 0; s < problem->states; s++) {
        search->norms[s] = lmo->norms[s];
        search->charged[s] = problem->R[s] + nadir_lmo_penalized_cost(lmo, tau, s, search->norms[s]);
    }
    memcpy(lagrangian->answered, lagrangian->v, (size_t)problem->states * sizeof *lagrangian->v);
    NADIR_CHECK(nadir_lmo_penalized_kernel(context, lmo, tau, &lagrangian->kernel));
    NADIR_CHECK(nadir_kernel_solver_set(context, &search->solver, lagrangian->kernel));
    NADIR_CHECK(search->roughly
                    ? nadir_occupancy_improve(context, search->solver.occupancy, false, 1, search->charged,
                                              TOLERANCE_OF_VALUE, lagrangian->v, NULL)
                    : nadir_occupancy_solve(context, search->solver.occupancy, 1, search->charged,
                                            lagrangian->v, NULL));
    search->iterations++;
cleanup:
    return status;
}

/* The answers to v; *most: max v - Tv. */
static nadir_status respond(nadir_context *context, nadir_lagrangian_search *search, double tau,
                            const double *v, double *most)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = search->problem;
    NADIR_CHECK(nadir_lmo_penalized_solve(context, &search->lmo, tau, v));
    nadir_average_multiply(context, nadir_occupancy_average(problem->occupancy), 1, v, search->work);
    *most = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const double next = problem->R[s] + problem->gamma * search->work[s] - search->lmo.taken[s];
        *most = v[s] - next <= *most ? *most : v[s] - next; /* NaN, of all products or of none, stays */
    }
cleanup:
    return status;
}

/* sum over s of d_tau(s) / d_bar(s) sum_a norm^p. */
static nadir_status add_up_used(nadir_context *context, nadir_lagrangian_search *search, double *used)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = search->problem;
    double *d = search->work;
    NADIR_CHECK(nadir_occupancy_solve_transposed(context, search->solver.occupancy, 1, problem->mu, d, NULL));
    *used = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        *used += fmax(0, d[s]) * nadir_lmo_penalized_cost(&search->lmo, 1, s, search->norms[s]);
    }
cleanup:
    return status;
}

nadir_status nadir_lagrangian_search_run(nadir_context *context, nadir_lagrangian_search *search, double tau,
                                         nadir_lagrangian *lagrangian)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = search->problem;
    const int64_t n = problem->states;
    double J = 0;
    double most;
    double error;
    double before = INFINITY; /* sum of v: J alone does not see states that are not visited */
    bool done = false;
    if (lagrangian->v == NULL) {
        NADIR_NEW(context, lagrangian->v, n);
        memcpy(lagrangian->v, problem->v, (size_t)n * sizeof *lagrangian->v);
    }
    if (lagrangian->answered == NULL) {
        NADIR_NEW(context, lagrangian->answered, n);
    }
    NADIR_CHECK(respond(context, search, tau, lagrangian->v, &most));
    for (int i = 0; i < ITERATIONS_LIMIT && !done; i++) {
        NADIR_CHECK(nadir_progress(context, "Lagrangian bound", -1));
        NADIR_CHECK(evaluate(context, search, tau, lagrangian));
        NADIR_CHECK(respond(context, search, tau, lagrangian->v, &most));
        J = nadir_vector_dot(n, problem->mu, lagrangian->v, &error);
        const double sum = nadir_vector_sum(n, lagrangian->v);
        const double share = search->roughly ? TOLERANCE_ROUGHLY : TOLERANCE;
        done = most <= share * (1 - problem->gamma) * (problem->J - J) ||
               most <= 16 * DBL_EPSILON * nadir_vector_largest(n, lagrangian->v) || sum >= before ||
               nadir_lagrangian_search_is_spent(search);
        before = sum;
    }
    if (search->roughly) {
        NADIR_CHECK(nadir_occupancy_improve(context, search->solver.occupancy, false, 1, search->charged, 0,
                                            lagrangian->v, NULL));
        J = nadir_vector_dot(n, problem->mu, lagrangian->v, &error);
    }
    NADIR_CHECK(add_up_used(context, search, &lagrangian->used));
    const double charge = tau > 0 ? tau * nadir_power(search->beta, problem->uncertainty->p) : 0;
    lagrangian->tau = tau;
    lagrangian->value = J - charge;
    lagrangian->distance = nadir_norm_short(problem->states, search->norms, problem->uncertainty->p);
    lagrangian->iterations = search->iterations;
    lagrangian->evaluations = ++search->evaluations;
cleanup:
    return status;
}

nadir_status nadir_lagrangian_solve(nadir_context *context, const nadir_problem *problem, double beta,
                                    const double *d_bar, double tau, nadir_lagrangian *lagrangian)
{
    nadir_status status = NADIR_OK;
    nadir_lagrangian_search search = {0};
    NADIR_CHECK(nadir_lagrangian_search_make(context, problem, beta, d_bar, &search));
    NADIR_CHECK(nadir_lagrangian_search_run(context, &search, tau, lagrangian));
cleanup:
    nadir_lagrangian_search_clear(context, &search);
    if (status != NADIR_OK) {
        nadir_lagrangian_clear(context, lagrangian);
    }
    return status;
}
