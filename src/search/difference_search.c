/*
 * difference_search.c: descent on f(P) = J^A_P - J^B_P; see difference_search.h.
 *
 * Full steps to the X of the linear step, as long as f falls by a small share of the gap: where the ball is
 * curved these converge fast. But the minimum of f need not be at a vertex of a polytope, even on rectangular
 * sets, and steps to vertices then make little progress. So when the first full step fails, spectral
 * projected gradient steps take over: to the X of the proximal step, with the curvature of the last step
 * (Barzilai and Borwein), shortened by the minimum of a parabola until f falls. The gap of the linear step
 * still measures how far from stationary the point is. f has several minima where the ball is large: hence
 * several starts.
 */
#include "search/difference_search.h"

#include "core/round.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "proof/difference_bound.h"
#include "search/kernel_solver.h"

#include <math.h>

/* two policies under one kernel; see difference_search.h. */

nadir_status nadir_difference_search_make(nadir_context *context, const nadir_problem *a,
                                          const nadir_problem *b, nadir_difference_search *search)
{
    nadir_status status = NADIR_OK;
    search->problem[0] = a;
    search->problem[1] = b;
    search->operators[0].problem = a;
    search->operators[1].problem = b;
    NADIR_NEW(context, search->products, 2 * a->rows);
    NADIR_CHECK(nadir_lmo_row_costs_make(context, a->model, a->uncertainty, &search->costs));
cleanup:
    return status;
}

void nadir_difference_search_clear(nadir_context *context, nadir_difference_search *search)
{
    nadir_kernel_solver_clear(context, &search->operators[0]);
    nadir_kernel_solver_clear(context, &search->operators[1]);
    nadir_lmo_row_costs_clear(context, &search->costs);
    nadir_release(context, search->products);
    *search = (nadir_difference_search){0};
}

nadir_status nadir_difference_point_make(nadir_context *context, const nadir_difference_search *search,
                                         nadir_difference_point *point)
{
    nadir_status status = NADIR_OK;
    for (int i = 0; i < 2; i++) {
        NADIR_NEW(context, point->v[i], search->problem[0]->states);
        NADIR_NEW(context, point->d[i], search->problem[0]->states);
    }
cleanup:
    return status;
}

void nadir_difference_point_clear(nadir_context *context, nadir_difference_point *point)
{
    nadir_kernel_free(point->kernel);
    for (int i = 0; i < 2; i++) {
        nadir_release(context, point->v[i]);
        nadir_release(context, point->d[i]);
    }
    *point = (nadir_difference_point){0};
}

nadir_status nadir_difference_point_evaluate(nadir_context *context, nadir_difference_search *search,
                                             nadir_difference_point *point)
{
    double error;
    for (int i = 0; i < 2; i++) {
        const nadir_problem *problem = search->problem[i];
        NADIR_TRY(nadir_kernel_solver_set(context, &search->operators[i], point->kernel));
        NADIR_TRY(nadir_kernel_solver_value(context, &search->operators[i], point->v[i], point->d[i]));
        point->J[i] = nadir_vector_dot(problem->states, problem->mu, point->v[i], &error);
    }
    point->f = point->J[0] - point->J[1];
    return NADIR_OK;
}

/* sum G . (to - from), G of the last linear step. */
static double cost_slope(const nadir_context *context, const nadir_difference_search *search,
                         const nadir_kernel *from, const nadir_kernel *to)
{
    const nadir_lmo_row_costs *costs = &search->costs;
    const int64_t rows = costs->model->rows;
    double total = 0;
    for (int i = 0; i < 2; i++) {
        const double *weights = i == 0 ? costs->a : costs->b;
        const double *x = i == 0 ? costs->x : costs->y;
        double sum = 0;
        nadir_kernel_multiply(context, to, x, search->products);
        nadir_kernel_multiply(context, from, x, search->products + rows);
        for (int64_t row = 0; row < rows; row++) {
            sum += weights[row] * (search->products[row] - search->products[rows + row]);
        }
        total += i == 0 ? sum : -sum;
    }
    for (int64_t row = 0; costs->landing != 0 && row < rows; row++) {
        total += (costs->a[row] - costs->b[row]) * costs->landing *
                 (nadir_kernel_landing(to, row) - nadir_kernel_landing(from, row));
    }
    return total * costs->scale;
}

/* The linear step from a point: search->costs get G and its solution X. *gap: sum G . (P - X), 0 or more. */
static nadir_status linear_step(nadir_context *context, nadir_difference_search *search,
                                const nadir_difference_point *point, double *gap)
{
    const nadir_problem *const *problem = search->problem;
    NADIR_TRY(nadir_lmo_row_costs_set(context, &search->costs, problem[0]->gamma, problem[0]->landing,
                                      point->d[0], problem[0]->policy->probabilities, point->v[0],
                                      point->d[1], problem[1]->policy->probabilities, point->v[1]));
    NADIR_TRY(nadir_lmo_row_costs_solve(context, &search->costs));
    const double moved = cost_slope(context, search, problem[0]->kernel, point->kernel);
    *gap = fmax(0, moved + search->costs.gain);
    return NADIR_OK;
}

/* -------------------------------------------------------------------------------------- descent */

/* f must fall by this share of what the slope predicts. */
#define ARMIJO 1e-4
/* Steps shorter than this are not tried. */
#define SHORTEST 1e-9
/* After so many steps f must have fallen by a share of the tolerance. */
#define PATIENCE 30
/* Full steps of a polish. */
#define POLISH_STEPS 100
/* Searches from random kernels, and rows times states up to which they are made. */
#define RANDOM_STARTS  6
#define RANDOM_ENTRIES 20000

static void swap_points(nadir_difference_point *a, nadir_difference_point *b)
{
    const nadir_difference_point kept = *a;
    *a = *b;
    *b = kept;
}

/* next <- the X of the last linear or proximal step. */
static nadir_status take_full_step(nadir_context *context, nadir_difference_search *search,
                                   nadir_difference_point *next)
{
    nadir_kernel_free(next->kernel);
    next->kernel = NULL;
    NADIR_TRY(nadir_kernel_create_changed(context, search->problem[0]->model, &search->costs.changed.made,
                                          &next->kernel));
    return nadir_difference_point_evaluate(context, search, next);
}

/* One descent. */
typedef struct descent {
    nadir_difference_search *search;
    nadir_difference_point *current;
    nadir_difference_point next;
    bool proximal;    /* a full linear step has failed */
    double curvature; /* of f along the last step; 0: not known */
    double tau;       /* multiplier of the step that led to the current point */
} descent;

/* Shortens the step to `target`, self->next at first, until f falls enough. slope: of f along all of it,
 * below 0. *moved: the part of the way; 0: no step helps. */
static nadir_status shorten(nadir_context *context, descent *self, const nadir_kernel *target, double slope,
                            double *moved)
{
    nadir_difference_point *current = self->current;
    nadir_difference_point *next = &self->next;
    double t = 1;
    while (!(next->f <= current->f + ARMIJO * t * slope) && t > SHORTEST) {
        const double curved = next->f - current->f - t * slope; /* above 0, or f would have fallen enough */
        const double minimum = -slope * t * t / (2 * curved);
        t = fmax(fmin(minimum, 0.5 * t), 0.1 * t);
        nadir_kernel_free(next->kernel);
        next->kernel = NULL;
        NADIR_TRY(nadir_kernel_mix(context, self->search->problem[0]->model, current->kernel, target, t,
                                   &next->kernel));
        NADIR_TRY(nadir_difference_point_evaluate(context, self->search, next));
    }
    *moved = next->f <= current->f + ARMIJO * t * slope ? t : 0;
    return NADIR_OK;
}

/* A step of the spectral projected gradient method. */
static nadir_status proximal_step(nadir_context *context, descent *self, double gap, double *moved)
{
    nadir_status status = NADIR_OK;
    nadir_difference_search *search = self->search;
    nadir_kernel *target = NULL;
    double length;
    *moved = 0;
    const double radius = search->costs.set->radius;
    const double first = gap / (radius * radius); /* a step of the length of the radius uses up the gap */
    /* where f is concave or linear this is nearly the linear step */
    const double curvature = self->curvature > 0 ? fmax(self->curvature, 1e-3 * first) : first;
    NADIR_CHECK(
        nadir_lmo_row_costs_proximal(context, &search->costs, self->current->kernel, curvature, &length));
    self->tau = search->costs.tau;
    NADIR_CHECK(take_full_step(context, search, &self->next));
    const double slope = cost_slope(context, search, self->current->kernel, self->next.kernel);
    if (!(slope < 0) || !(length > 0)) {
        goto cleanup;
    }
    NADIR_CHECK(nadir_kernel_mix(context, search->problem[0]->model, self->next.kernel, self->next.kernel, 0,
                                 &target));
    NADIR_CHECK(shorten(context, self, target, slope, moved));
    if (*moved > 0) {
        NADIR_CHECK(linear_step(context, search, &self->next, &gap));
        const double after = cost_slope(context, search, self->current->kernel, target);
        const double measured = (after - slope) / (*moved * length);
        /* f may be concave: then a longer step, but not by much at once */
        self->curvature = fmin(fmax(measured, 0.05 * curvature), 1e6 * curvature);
        swap_points(self->current, &self->next);
    }
cleanup:
    nadir_kernel_free(target);
    return status;
}

/* current <- X, or a point on the way to it. *moved: 0 when no step helps. */
static nadir_status take_step(nadir_context *context, descent *self, double gap, double *moved)
{
    *moved = 0;
    if (!self->proximal) {
        self->tau = self->search->costs.tau;
        NADIR_TRY(take_full_step(context, self->search, &self->next));
        *moved = self->next.f <= self->current->f - ARMIJO * gap;
        self->proximal = *moved == 0;
        if (*moved > 0) {
            swap_points(self->current, &self->next);
        }
    }
    return *moved == 0 ? proximal_step(context, self, gap, moved) : NADIR_OK;
}

/* point <- a copy of start (NULL: the nominal kernel), evaluated. */
static nadir_status begin(nadir_context *context, nadir_difference_search *search, const nadir_kernel *start,
                          nadir_difference_point *point)
{
    const nadir_problem *problem = search->problem[0];
    NADIR_TRY(nadir_difference_point_make(context, search, point));
    if (start == NULL) {
        NADIR_TRY(nadir_kernel_create(context, problem->model, &point->kernel));
    } else {
        NADIR_TRY(nadir_kernel_mix(context, problem->model, start, start, 0, &point->kernel));
    }
    return nadir_difference_point_evaluate(context, search, point);
}

/* Rounding level of f: smaller differences are noise. */
static double rounding_level(const nadir_difference_search *search, const nadir_difference_point *point)
{
    const nadir_problem *problem = search->problem[0];
    const double largest = nadir_vector_largest(problem->states, point->v[0]) +
                           nadir_vector_largest(problem->states, point->v[1]);
    return nadir_round_error(32) * largest / problem->rest;
}

/* Descent from `start`, a kernel of the set (NULL: the nominal one; not kept). found: of zeros. A limit
 * reached is not an error. */
static nadir_status descend(nadir_context *context, nadir_difference_search *search,
                            const nadir_kernel *start, double tolerance, int64_t iterations_limit,
                            nadir_difference_found *found)
{
    nadir_status status = NADIR_OK;
    descent self = {.search = search, .current = &found->point};
    const double nominal = search->problem[0]->J - search->problem[1]->J;
    double last_f = INFINITY; /* PATIENCE steps ago */
    double moved = 1;
    NADIR_CHECK(nadir_difference_point_make(context, search, &self.next));
    NADIR_CHECK(begin(context, search, start, self.current));
    NADIR_CHECK(linear_step(context, search, self.current, &found->gap));
    while (found->stop == NADIR_STOP_NONE && found->iterations < iterations_limit) {
        const double enough = tolerance * fabs(nominal - self.current->f);
        if (found->gap <= fmax(enough, rounding_level(search, self.current))) {
            found->stop = found->gap <= enough ? NADIR_STOP_TOLERANCE : NADIR_STOP_STABLE;
        } else if (found->iterations % PATIENCE == 0) {
            /* the longer it takes, the more progress is asked for */
            const double asked = enough * fmax(0.1, 0.01 * (double)found->iterations);
            found->stop = last_f - self.current->f <= asked ? NADIR_STOP_STALLED : NADIR_STOP_NONE;
            last_f = self.current->f;
        }
        if (found->stop != NADIR_STOP_NONE) {
            break;
        }
        NADIR_CHECK(nadir_progress(context, "worst kernel of the difference", -1));
        NADIR_CHECK(take_step(context, &self, found->gap, &moved));
        found->iterations++;
        if (moved == 0) {
            found->stop = NADIR_STOP_STABLE;
            break;
        }
        found->tau = self.tau;
        NADIR_CHECK(linear_step(context, search, self.current, &found->gap));
    }
    found->converged = found->stop != NADIR_STOP_NONE;
    found->stop = found->converged ? found->stop : NADIR_STOP_ITERATIONS;
cleanup:
    nadir_difference_point_clear(context, &self.next);
    return status;
}

nadir_status nadir_difference_polish(nadir_context *context, nadir_difference_search *search, double wanted,
                                     nadir_difference_found *found)
{
    nadir_status status = NADIR_OK;
    nadir_difference_point current = {0};
    nadir_difference_point next = {0};
    nadir_difference_point *best = &found->point;
    const nadir_uncertainty *set = search->problem[0]->uncertainty;
    double least;
    double slack;
    double gap;
    if (set->set != NADIR_SET_NONRECT || set->p != 2) {
        return NADIR_OK;
    }
    const double highest = best->f + wanted; /* a polish must not undo the search */
    NADIR_CHECK(nadir_difference_point_make(context, search, &next));
    NADIR_CHECK(begin(context, search, best->kernel, &current));
    NADIR_CHECK(linear_step(context, search, &current, &gap));
    NADIR_CHECK(nadir_difference_slack(context, &search->costs, current.kernel, found->tau, &least));
    for (int i = 0, worse = 0; i < POLISH_STEPS && worse < 3 && least > wanted; i++) {
        const double tau = search->costs.tau;
        NADIR_CHECK(nadir_progress(context, "worst kernel of the difference", -1));
        NADIR_CHECK(take_full_step(context, search, &next));
        swap_points(&current, &next);
        NADIR_CHECK(linear_step(context, search, &current, &gap));
        NADIR_CHECK(nadir_difference_slack(context, &search->costs, current.kernel, tau, &slack));
        const bool better = slack < least && current.f <= highest;
        worse = better ? 0 : worse + 1;
        if (better) {
            least = slack;
            nadir_kernel_free(best->kernel);
            best->kernel = NULL;
            NADIR_CHECK(nadir_kernel_mix(context, search->problem[0]->model, current.kernel, current.kernel,
                                         0, &best->kernel));
            found->tau = tau;
            found->gap = gap;
        }
        found->iterations++;
    }
    NADIR_CHECK(nadir_difference_point_evaluate(context, search, best));
    NADIR_CHECK(linear_step(context, search, best, &found->gap));
cleanup:
    nadir_difference_point_clear(context, &current);
    nadir_difference_point_clear(context, &next);
    return status;
}

/* ----------------------------------------------------------------------------------------- starts */

nadir_status nadir_difference_search_from(nadir_context *context, nadir_difference_search *search,
                                          const nadir_kernel *start, double tolerance,
                                          int64_t iterations_limit, nadir_difference_found *found)
{
    nadir_status status = NADIR_OK;
    nadir_difference_found other = {0};
    NADIR_CHECK(descend(context, search, start, tolerance, iterations_limit, &other));
    const int64_t iterations = found->iterations + other.iterations;
    const double penalty = fabs(search->problem[0]->J - search->problem[1]->J - found->point.f);
    if (found->point.kernel == NULL || other.point.f < found->point.f - tolerance * penalty) {
        const nadir_difference_found kept = *found;
        *found = other;
        other = kept;
    }
    found->iterations = iterations;
cleanup:
    nadir_difference_point_clear(context, &other.point);
    return status;
}

/* *start <- the X of the linear step for random values. */
static nadir_status draw_start(nadir_context *context, nadir_difference_search *search, nadir_random *random,
                               nadir_kernel **start)
{
    nadir_status status = NADIR_OK;
    nadir_lmo_row_costs *costs = &search->costs;
    const nadir_problem *const *problem = search->problem;
    const int64_t n = problem[0]->states;
    double *numbers = NULL;
    NADIR_NEW(context, numbers, 4 * n);
    for (int64_t i = 0; i < 4 * n; i++) {
        numbers[i] = i < 2 * n ? nadir_random_normal(random) : 1;
    }
    const double largest = nadir_landing_largest(problem[0]->model);
    const double landing = problem[0]->landing != 0 ? nadir_random_normal(random) / largest : 0;
    NADIR_CHECK(nadir_lmo_row_costs_set(context, costs, 1, landing, numbers + 2 * n,
                                        problem[0]->policy->probabilities, numbers, numbers + 3 * n,
                                        problem[1]->policy->probabilities, numbers + n));
    NADIR_CHECK(nadir_lmo_row_costs_solve(context, costs));
    NADIR_CHECK(nadir_kernel_create_changed(context, problem[0]->model, &costs->changed.made, start));
cleanup:
    nadir_release(context, numbers);
    return status;
}

/* worst_a and best_b also start where the nominal kernel does not visit states that matter. */
nadir_status nadir_difference_search_run(nadir_context *context, nadir_difference_search *search,
                                         const nadir_kernel *worst_a, const nadir_kernel *best_b,
                                         double tolerance, int64_t iterations_limit,
                                         nadir_difference_found *found)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = search->problem[0];
    nadir_kernel *start = NULL;
    nadir_random random = context->random;
    const int drawn = problem->rows <= RANDOM_ENTRIES / problem->states ? RANDOM_STARTS : 0;
    NADIR_CHECK(nadir_difference_search_from(context, search, NULL, tolerance, iterations_limit, found));
    NADIR_CHECK(nadir_difference_search_from(context, search, worst_a, tolerance, iterations_limit, found));
    NADIR_CHECK(nadir_difference_search_from(context, search, best_b, tolerance, iterations_limit, found));
    NADIR_CHECK(nadir_kernel_mix(context, problem->model, worst_a, best_b, 0.5, &start));
    NADIR_CHECK(nadir_difference_search_from(context, search, start, tolerance, iterations_limit, found));
    for (int i = 0; i < drawn; i++) {
        nadir_kernel_free(start);
        start = NULL;
        NADIR_CHECK(draw_start(context, search, &random, &start));
        NADIR_CHECK(nadir_difference_search_from(context, search, start, tolerance, iterations_limit, found));
    }
cleanup:
    nadir_kernel_free(start);
    return status;
}
