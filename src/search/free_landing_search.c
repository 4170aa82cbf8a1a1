/*
 * free_landing_search.c: worst kernels on the free domain where rewards on landing are not separable, and the number t
 * of a bound on their penalty; see free_search.h.
 *
 * The return is a difference of returns with nothing on the other side (proof/free_landing.h): difference_search.h
 * looks for the worst kernel of a ball. Rectangular sets: rows answer to v + landing e_sa, v is solved for again.
 */
#include "search/free_search.h"

#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "proof/free_landing.h"
#include "search/difference_search.h"

#include <math.h>
#include <string.h>

enum { STEPS = 400, SHAPED_STEPS = 40, ROWS_AT_ONE = 64, ROWS_BELOW_TWO = 8 };
/* Of the penalty: what gap and slack of the kernel may be. */
#define STATIONARY 1e-12
/* Of the penalty: a kernel this close to its bound needs no further starts. */
#define PROVEN 1e-7
/* Of t, relative, and of the first term there. */
#define SHAPED_TOLERANCE 1e-8
/* Values that differ by less, relative to their size, are equal. */
#define NOISE 1e-15
/* The last steps of policy iteration are rounding: those below this that no longer become shorter. */
#define SMALL 1e-9

/* *kernel <- the answer of one row (-1: of all) to v: [states], all states alike. */
static nadir_status answer(nadir_context *context, const nadir_landing_pair *pair, const double *v,
                           int64_t row, nadir_lmo_row_costs *costs, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *own = &pair->problem[pair->own];
    double *numbers = NULL;
    NADIR_NEW_ZERO(context, numbers, own->states + own->rows);
    double *pi = numbers + own->states;
    for (int64_t s = 0; s < own->states; s++) {
        numbers[s] = 1;
    }
    for (int64_t i = 0; i < own->rows; i++) {
        pi[i] = row < 0 || row == i ? own->policy->probabilities[i] : 0;
    }
    const double *const d[2] = {pair->own == 0 ? numbers : pair->owned,
                                pair->own == 0 ? pair->owned : numbers};
    NADIR_CHECK(nadir_lmo_row_costs_set(context, costs, own->gamma, own->landing, d[0], pi, v, d[1], pi, v));
    NADIR_CHECK(nadir_lmo_row_costs_solve(context, costs));
    nadir_kernel_free(*kernel);
    *kernel = NULL;
    NADIR_CHECK(nadir_kernel_create_changed(context, own->model, &costs->changed.made, kernel));
cleanup:
    nadir_release(context, numbers);
    return status;
}

/* Rectangular sets: rows answer to v, and v is that of the answer, until it stays. */
static nadir_status iterate(nadir_context *context, const nadir_landing_pair *pair, int64_t limit,
                            nadir_difference_search *search, nadir_candidate *made)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *own = &pair->problem[pair->own];
    const int64_t n = own->states;
    double before = INFINITY;
    double *last = NULL;
    NADIR_NEW(context, last, n);
    memcpy(made->v, own->v, (size_t)n * sizeof *made->v);
    while (!made->converged && made->iterations++ < limit) {
        double change = 0;
        NADIR_CHECK(nadir_progress(context, "searching worst kernels", -1));
        NADIR_CHECK(answer(context, pair, made->v, -1, &search->costs, &made->kernel));
        memcpy(last, made->v, (size_t)n * sizeof *last);
        NADIR_CHECK(nadir_kernel_solver_set(context, &search->operators[0], made->kernel));
        NADIR_CHECK(nadir_kernel_solver_value(context, &search->operators[0], made->v, NULL));
        for (int64_t s = 0; s < n; s++) {
            change = fmax(change, fabs(made->v[s] - last[s]));
        }
        made->converged =
            change <= NOISE * own->largest || (change < SMALL * own->largest && change >= before / 2);
        before = change;
    }
cleanup:
    nadir_release(context, last);
    return status;
}

/* Below p = 2 the worst kernel keeps to few rows: starts in which one row answers, those first that matter most. */
static nadir_status descend_from_rows(nadir_context *context, const nadir_landing_pair *pair, int64_t limit,
                                      nadir_difference_search *search, nadir_kernel **start,
                                      nadir_difference_found *found)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *own = &pair->problem[pair->own];
    const double p = own->uncertainty->p;
    const int64_t starts = p == 1 ? ROWS_AT_ONE : p < 2 ? ROWS_BELOW_TWO : 0;
    double *weights = NULL;
    NADIR_NEW(context, weights, own->rows);
    for (int64_t row = 0; row < own->rows; row++) {
        weights[row] = search->costs.weights[row] * fabs(own->d[nadir_model_row_state(own->model, row)]) *
                       nadir_uncertainty_scale(own->uncertainty, row);
    }
    for (int64_t i = 0; i < starts; i++) {
        int64_t row = 0;
        for (int64_t j = 1; j < own->rows; j++) {
            row = weights[j] > weights[row] ? j : row;
        }
        if (!(weights[row] > 0)) {
            break;
        }
        weights[row] = 0;
        NADIR_CHECK(answer(context, pair, own->v, row, &search->costs, start));
        NADIR_CHECK(nadir_difference_search_from(context, search, *start, STATIONARY, limit, found));
    }
cleanup:
    nadir_release(context, weights);
    return status;
}

static nadir_status polish(nadir_context *context, const nadir_landing_pair *pair,
                           nadir_difference_search *search, nadir_difference_found *found)
{
    const double penalty = fabs(pair->problem[pair->own].J - found->point.J[pair->own]);
    return nadir_difference_polish(context, search, STATIONARY * penalty, found);
}

/* Descends from the nominal kernel. *proven: by the second-order bound, so that no other start finds a worse one. */
static nadir_status descend_once(nadir_context *context, const nadir_problem *problem,
                                 const nadir_landing_pair *pair, int64_t limit,
                                 nadir_difference_search *search, nadir_difference_found *found, bool *proven)
{
    nadir_landing_answer check = {.bound = -INFINITY};
    NADIR_TRY(nadir_difference_search_from(context, search, NULL, STATIONARY, limit, found));
    NADIR_TRY(polish(context, pair, search, found));
    if (problem->uncertainty->p == 2 && found->tau > 0) {
        NADIR_TRY(nadir_landing_check(context, problem, NADIR_CERTIFY_AUTO, found->point.kernel,
                                      found->point.v[pair->own], found->tau, &check));
    }
    const double J = problem->sign * found->point.J[pair->own];
    *proven = check.bound >= J - PROVEN * (problem->J - J);
    return NADIR_OK;
}

/* The non-rectangular ball. frozen: a kernel of the set. */
static nadir_status descend(nadir_context *context, const nadir_problem *problem,
                            const nadir_landing_pair *pair, const nadir_kernel *frozen, int64_t limit,
                            nadir_difference_search *search, nadir_candidate *made)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *own = &pair->problem[pair->own];
    nadir_difference_found found = {0};
    nadir_kernel *start = NULL;
    bool proven;
    NADIR_CHECK(descend_once(context, problem, pair, limit, search, &found, &proven));
    if (!proven) {
        NADIR_CHECK(answer(context, pair, own->v, -1, &search->costs, &start));
        NADIR_CHECK(nadir_difference_search_run(context, search, frozen, start, STATIONARY, limit, &found));
        NADIR_CHECK(answer(context, pair, own->v, -1, &search->costs, &start));
        NADIR_CHECK(descend_from_rows(context, pair, limit, search, &start, &found));
        NADIR_CHECK(polish(context, pair, search, &found));
    }
    made->kernel = found.point.kernel;
    found.point.kernel = NULL;
    made->tau = found.tau;
    made->iterations = found.iterations;
    made->converged = found.converged;
    memcpy(made->v, found.point.v[pair->own], (size_t)own->states * sizeof *made->v);
cleanup:
    nadir_kernel_free(start);
    nadir_difference_point_clear(context, &found.point);
    return status;
}

nadir_status nadir_free_landing_solve(nadir_context *context, const nadir_problem *problem,
                                      int64_t iterations_limit, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    nadir_difference_search search = {0};
    nadir_landing_pair pair = {0};
    nadir_candidate made = {.method = "best-response", .gap = NAN};
    double rounding;
    NADIR_CHECK(nadir_landing_pair_make(context, problem, &pair));
    NADIR_CHECK(nadir_difference_search_make(context, &pair.problem[0], &pair.problem[1], &search));
    NADIR_NEW(context, made.v, problem->states);
    if (problem->uncertainty->set == NADIR_SET_NONRECT) {
        NADIR_CHECK(nadir_rank_one_candidate_kernel(context, problem, candidate));
        NADIR_CHECK(descend(context, problem, &pair, candidate->kernel, iterations_limit, &search, &made));
    } else {
        NADIR_CHECK(iterate(context, &pair, iterations_limit, &search, &made));
    }
    made.stop = made.converged ? NADIR_STOP_TOLERANCE : NADIR_STOP_ITERATIONS;
    for (int64_t s = 0; s < problem->states; s++) {
        made.v[s] *= problem->sign;
    }
    made.J = nadir_vector_dot(problem->states, problem->mu, made.v, &rounding);
    made.lambda = problem->J - made.J;
    nadir_candidate_clear(context, candidate);
    *candidate = made;
    made = (nadir_candidate){0};
cleanup:
    nadir_candidate_clear(context, &made);
    nadir_difference_search_clear(context, &search);
    nadir_release(context, pair.owned);
    return status;
}

/* The pair of the first term at t. *below: the first term is not above the second, nor past breakdown. */
static nadir_status shaped_pair(nadir_context *context, const nadir_problem *problem, double t,
                                nadir_candidate *found, bool *below)
{
    nadir_landing_shaped shaped = {0};
    nadir_status status = nadir_landing_shape(context, problem, t, &shaped);
    *below = false;
    if (status == NADIR_OK) {
        status = nadir_spectral_solve(context, &shaped.problem, NADIR_SPECTRAL_NEWTON, SHAPED_TOLERANCE,
                                      STEPS, 1, &shaped.beta, found);
        *below = status == NADIR_OK && found->lambda > 0 && found->lambda <= shaped.other;
        status = status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED ? NADIR_OK : status;
    }
    nadir_landing_shaped_clear(context, &shaped);
    return status;
}

/* Of the two terms of the bound the first falls in t and the second rises: best where they meet. */
nadir_status nadir_landing_shaped_search(nadir_context *context, const nadir_problem *problem, double *t,
                                         double *c, double *k)
{
    const size_t bytes = (size_t)problem->states * sizeof *c;
    double at = nadir_global_norm_2(context, problem->states, problem->v) +
                fabs(problem->landing) * nadir_landing_largest(problem->model);
    double low = 0;
    double high = INFINITY;
    *t = 0;
    memset(c, 0, bytes);
    memset(k, 0, bytes);
    for (int i = 0; i < SHAPED_STEPS && low < high * (1 - SHAPED_TOLERANCE); i++) {
        nadir_candidate found = {0};
        bool below;
        NADIR_TRY(nadir_progress(context, "bounds on the penalty", -1));
        NADIR_TRY(shaped_pair(context, problem, at, &found, &below));
        *(below ? &high : &low) = at;
        if (below) {
            *t = at;
            memcpy(c, found.c, bytes);
            memcpy(k, found.k, bytes);
        }
        nadir_candidate_clear(context, &found);
        at = low == 0 ? high / 4 : isinf(high) ? 4 * low : sqrt(low) * sqrt(high);
    }
    return NADIR_OK;
}
