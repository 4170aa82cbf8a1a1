/*
 * frank_wolfe.c: Frank-Wolfe over the kernels of a non-rectangular ball; see frank_wolfe.h.
 *
 *     min over P of the set of J_P,      X = argmin over the set of <G, X>,      P <- P + t (X - P)
 *
 * At a kernel P with value v and occupancy d the return falls to first order by <G, P - X> for a step to X,
 *
 *     G_sa = d(s) pi(a|s) (gamma v + e_sa),      e: rewards on landing (model/landing.h),
 *
 * and the X of the set where that is largest is computed exactly (sets/lmo.h). The largest value is the
 * stationarity gap: zero exactly where no direction is a descent direction. Steps are full ones, P <- X.
 * Where the return does not fall by a small share of the gap, the step is halved until it does.
 *
 * At p = 1 the set is a polytope. The worst kernel need not be a vertex: rows share the ball, and one that leads
 * to another is worth the more the more the other moves. Steps to vertices then zigzag. When the first of them fails, proximal steps with the curvature of the
 * last one take over (spectral projected gradients, as in difference_search.c).
 */
#include "search/frank_wolfe.h"

#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "model/kernel_device.h"
#include "model/landing.h"
#include "search/kernel_solver.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Armijo: the share of the gap by which the return must fall. */
#define ARMIJO 1e-4
/* With a tolerance of at least this, dense systems are solved with low accuracy. */
#define ROUGH 1e-6
/* Steps shorter than this are not tried. */
#define SHORTEST 1e-9
/* Occupancies and probabilities are known to this where kernels may never end. */
#define NEGLIGIBLE 1e-6
/* Least curvature of a proximal step, as a share of that with which a step of the length of the radius uses up
 * the gap: where the return is concave or linear it is nearly the linear step. */
#define LEAST_CURVATURE 1e-3
/* Entries of rows that proximal steps write out, at most. */
#define WRITTEN_OUT 2e7
enum {
    IDLE = 16,    /* steps that lower neither the return nor the gap: the end */
    STRETCH = 500 /* steps that are worth looking back at: most searches take ten */
};
/* The search is slow where the least gap shrinks by less than this factor in a stretch, */
#define SHRUNK 0.9
/* and the return falls by less than the tolerance, or so little that all steps allowed would lower it by less than this share
 * of the penalty. */
#define NOTHING 1e-7

static nadir_status point_make(nadir_context *context, int64_t states, nadir_frank_wolfe_point *made)
{
    nadir_status status = NADIR_OK;
    double *d = NULL;
    NADIR_NEW(context, d, states);
    NADIR_NEW(context, made->v, states);
    made->d = d;
    d = NULL;
cleanup:
    nadir_release(context, d);
    return status;
}

static void point_clear(nadir_context *context, nadir_frank_wolfe_point *made)
{
    nadir_kernel_free(made->kernel);
    nadir_release(context, made->v);
    nadir_release(context, made->d);
    *made = (nadir_frank_wolfe_point){0};
}

nadir_status nadir_frank_wolfe_create(nadir_context *context, const nadir_problem *problem,
                                      nadir_frank_wolfe **frank_wolfe)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    nadir_frank_wolfe *self = NULL;
    NADIR_NEW_ZERO(context, self, 1);
    self->problem = problem;
    self->order.exchange = problem->model->exchange;
    self->order.unsorted =
        problem->model->exchange != NULL ||
        (set->domain == NADIR_DOMAIN_SUPPORT && (set->p == 2 || problem->model->dense == NULL));
    self->solver = (nadir_kernel_solver){.problem = problem};
    self->rows = nadir_lmo_make(problem->model, &self->order, set, problem->landing);
    NADIR_CHECK(point_make(context, problem->states, &self->current));
    NADIR_CHECK(point_make(context, problem->states, &self->next));
    NADIR_CHECK(nadir_lmo_device_open(context, &self->rows, NADIR_DEVICE_ALL_ROWS, problem->gamma,
                                      problem->policy->probabilities, &self->device_lmo));
    /* the device sorts for itself: see nadir_frank_wolfe_lmo */
    self->order.unsorted =
        self->order.unsorted || (self->device_lmo.step != NULL && self->device_lmo.off_support);
    NADIR_NEW(context, self->work, 2 * problem->states);
    *frank_wolfe = self;
    self = NULL;
cleanup:
    nadir_frank_wolfe_free(context, self);
    return status;
}

void nadir_frank_wolfe_free(nadir_context *context, nadir_frank_wolfe *self)
{
    if (self == NULL) {
        return;
    }
    nadir_lmo_device_close(&self->device_lmo);
    nadir_kernel_solver_clear(context, &self->solver);
    point_clear(context, &self->current);
    point_clear(context, &self->next);
    nadir_value_order_clear(context, &self->order);
    nadir_lmo_row_costs_clear(context, &self->costs);
    nadir_release(context, self->solutions);
    nadir_release(context, self->work);
    nadir_release(context, self);
}

nadir_status nadir_frank_wolfe_place(nadir_context *context, nadir_frank_wolfe_point *point, int64_t states,
                                     const double *v, const double *d)
{
    if (point->v == NULL) { /* handed over */
        NADIR_TRY(point_make(context, states, point));
    }
    memcpy(point->v, v, (size_t)states * sizeof *v);
    memcpy(point->d, d, (size_t)states * sizeof *d);
    return NADIR_OK;
}

static nadir_status evaluate(nadir_context *context, nadir_frank_wolfe *self,
                             const nadir_frank_wolfe_point *warm_start, nadir_frank_wolfe_point *point)
{
    double error;
    self->evaluations++;
    NADIR_TRY(nadir_kernel_solver_set(context, &self->solver, point->kernel));
    if (warm_start != NULL) {
        NADIR_TRY(
            nadir_frank_wolfe_place(context, point, self->problem->states, warm_start->v, warm_start->d));
        if (self->rough) {
            return nadir_kernel_solver_approach(context, &self->solver, point->v, point->d, &point->J);
        }
        NADIR_TRY(nadir_kernel_solver_improve(context, &self->solver, point->v, point->d));
    } else {
        NADIR_TRY(nadir_kernel_solver_value(context, &self->solver, point->v, point->d));
    }
    point->J = nadir_global_dot(context, self->problem->states, self->problem->mu, point->v, &error);
    return NADIR_OK;
}

/* Whether the point, as solved, is that of a kernel that ends: occupancies are not negative, probabilities as such. */
static bool seems_to_end(const nadir_frank_wolfe *self, const nadir_frank_wolfe_point *point)
{
    bool ends = true;
    for (int64_t s = 0; s < self->problem->states; s++) {
        const double chance = self->problem->sign * point->v[s];
        ends = ends && point->d[s] >= -NEGLIGIBLE && isfinite(point->d[s]) &&
               (!self->problem->model->reaches || (chance >= -NEGLIGIBLE && chance <= 1 + NEGLIGIBLE));
    }
    return ends;
}

/* Where some kernels may never end, those that do not return no less than any other: a step to them is none, and kernels
 * on the way to them end. */
nadir_status nadir_frank_wolfe_evaluate(nadir_context *context, nadir_frank_wolfe *self,
                                        const nadir_frank_wolfe_point *warm_start,
                                        nadir_frank_wolfe_point *point)
{
    const nadir_problem *problem = self->problem;
    const nadir_status status = evaluate(context, self, warm_start, point);
    if (problem->gamma != 1 || problem->gap > 0) {
        return status;
    }
    if (status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED) {
        NADIR_TRY(nadir_frank_wolfe_place(context, point, problem->states, problem->v, problem->d));
        point->J = INFINITY;
        return NADIR_OK;
    }
    if (status == NADIR_OK && !seems_to_end(self, point)) {
        point->J = INFINITY;
    }
    return status;
}

/* The linear step, and the gap. */
static nadir_status find_gap(nadir_context *context, nadir_frank_wolfe *self)
{
    const nadir_status status = nadir_frank_wolfe_lmo(context, self, false);
    return status == NADIR_OK ? nadir_frank_wolfe_gap(context, self, self->current.kernel) : status;
}

void nadir_frank_wolfe_point_swap(nadir_frank_wolfe_point *a, nadir_frank_wolfe_point *b)
{
    const nadir_frank_wolfe_point kept = *a;
    *a = *b;
    *b = kept;
}

/* next <- current + t (full - current). */
static nadir_status step_partially(nadir_context *context, nadir_frank_wolfe *self, const nadir_kernel *full,
                                   double t)
{
    nadir_kernel_free(self->next.kernel);
    self->next.kernel = NULL;
    NADIR_TRY(
        nadir_kernel_mix(context, self->problem->model, self->current.kernel, full, t, &self->next.kernel));
    return nadir_frank_wolfe_evaluate(context, self, &self->current, &self->next);
}

static bool is_lower(const nadir_frank_wolfe *self, double promised)
{
    return self->next.J < self->current.J && self->next.J <= self->current.J - ARMIJO * promised;
}

/* Rounding level of J: smaller differences are noise. */
static double noise(const nadir_context *context, const nadir_frank_wolfe *self)
{
    return 4 * DBL_EPSILON * nadir_global_largest(context, self->problem->states, self->current.v);
}

/* Whether proximal steps take over from those to vertices. Rows are written out for them. */
static bool has_proximal(const nadir_problem *problem)
{
    const nadir_model *model = problem->model;
    const bool sparse = model->dense == NULL && problem->uncertainty->domain == NADIR_DOMAIN_SUPPORT;
    return problem->uncertainty->p == 1 && model->exchange == NULL &&
           (sparse || (double)model->rows * (double)model->states <= WRITTEN_OUT);
}

/* argmin over the set of <G, X> + curvature / 2 |X - P|^2. *length: |X - P|^2, over 1 / alpha. */
static nadir_status find_proximal(nadir_context *context, nadir_frank_wolfe *self, nadir_kernel **target,
                                  double *length)
{
    const nadir_problem *problem = self->problem;
    const nadir_frank_wolfe_point *current = &self->current;
    const double *pi = problem->policy->probabilities;
    if (self->costs.model == NULL) {
        self->ball = *problem->uncertainty;
        NADIR_TRY(nadir_lmo_row_costs_make(context, problem->model, &self->ball, &self->costs));
    }
    const double first = self->gap / (self->beta * self->beta); /* a step of length beta uses up the gap */
    self->curvature = self->proximal ? fmax(self->curvature, LEAST_CURVATURE * first) : first;
    self->proximal = true;
    self->ball.radius = self->beta;
    memset(self->work, 0, (size_t)problem->states * sizeof *self->work);
    NADIR_TRY(nadir_lmo_row_costs_set(context, &self->costs, problem->gamma, problem->landing, current->d, pi,
                                      current->v, self->work, pi, current->v));
    NADIR_TRY(nadir_lmo_row_costs_proximal(context, &self->costs, current->kernel, self->curvature, length));
    return nadir_kernel_create_changed(context, problem->model, &self->costs.changed.made, target);
}

static double gap_by_rows(nadir_context *context, const nadir_frank_wolfe *self, const nadir_kernel *kernel);

/* P <- X of the proximal step, or a partial step. */
static nadir_status step_proximally(nadir_context *context, nadir_frank_wolfe *self, bool *moved)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *target = NULL;
    double length;
    NADIR_CHECK(find_proximal(context, self, &target, &length));
    const double promised = self->gap - gap_by_rows(context, self, target);
    double t = 4;
    *moved = false;
    while (!*moved && promised > 0 && length > 0 && t > 4 * SHORTEST) {
        t /= 4;
        NADIR_CHECK(step_partially(context, self, target, t));
        *moved = is_lower(self, t * promised);
        if (*moved) {
            const double curved = self->next.J - self->current.J + t * promised;
            self->curvature *= fmin(fmax(2 * curved / (t * t * length * self->curvature), 0.1), 10);
        }
    }
    if (*moved) {
        nadir_frank_wolfe_point_swap(&self->current, &self->next);
    }
cleanup:
    nadir_kernel_free(target);
    return status;
}

/* P <- X, or a partial step. *moved: false when no step lowers the return. A full step may change the return
 * by less than the rounding level, since near the end full steps contract all the same; a partial step must
 * lower it. */
static nadir_status step(nadir_context *context, nadir_frank_wolfe *self, bool *moved)
{
    nadir_status status = NADIR_OK;
    nadir_frank_wolfe_point *next = &self->next;
    nadir_kernel *full = NULL;
    double t = 1;
    if (self->proximal) {
        return step_proximally(context, self, moved);
    }
    NADIR_CHECK(nadir_frank_wolfe_write(context, self, &next->kernel));
    NADIR_CHECK(nadir_frank_wolfe_evaluate(context, self, &self->current, next));
    *moved = next->J <= self->current.J - ARMIJO * self->gap + noise(context, self);
    if (!*moved && !self->vertices && has_proximal(self->problem)) {
        return step_proximally(context, self, moved);
    }
    if (!*moved) {
        NADIR_CHECK(nadir_kernel_device_fetch(context, self->current.kernel));
        NADIR_CHECK(nadir_kernel_device_fetch(context, next->kernel));
        full = next->kernel;
        next->kernel = NULL;
    }
    while (!*moved && t > SHORTEST) {
        t /= 2;
        NADIR_CHECK(step_partially(context, self, full, t));
        *moved = is_lower(self, t * self->gap);
    }
    if (*moved) {
        nadir_frank_wolfe_point_swap(&self->current, &self->next);
    }
cleanup:
    nadir_kernel_free(full);
    return status;
}

/* The reason to stop. */
static nadir_stop reason_to_stop(const nadir_context *context, const nadir_frank_wolfe *self,
                                 double tolerance)
{
    const nadir_problem *problem = self->problem;
    const double penalty = problem->J - self->current.J;
    if (self->gap <= tolerance * penalty) {
        return NADIR_STOP_TOLERANCE;
    }
    const double largest = nadir_global_largest(context, problem->states, self->current.v);
    return self->gap <= 16 * DBL_EPSILON * (largest + fabs(penalty) / problem->rest) ? NADIR_STOP_STABLE
                                                                                     : NADIR_STOP_NONE;
}

/* Where a stretch of steps began. */
typedef struct stretch {
    int64_t iterations;
    double J, gap;
} stretch;

/*
 * Whether a whole stretch of steps hardly lowered the return, and the least gap, `least`: small steps that zigzag between
 * vertices of the set do not stop by themselves.
 */
static bool is_slow(const nadir_frank_wolfe *self, int64_t iterations, int64_t iterations_limit, double least,
                    double tolerance, stretch *begun)
{
    const double J = self->current.J;
    const double share = fmax(tolerance, NOTHING * STRETCH / (double)iterations_limit);
    if (iterations < begun->iterations + STRETCH) {
        return false;
    }
    const bool little = begun->J - J <= share * (self->problem->J - J) && least > SHRUNK * begun->gap;
    *begun = (stretch){iterations, J, least};
    return little;
}

static void hand_over(nadir_frank_wolfe *self, nadir_candidate *candidate)
{
    candidate->kernel = self->current.kernel;
    candidate->v = self->current.v;
    candidate->d = self->current.d;
    candidate->J = self->current.J;
    candidate->tau = self->budget.tau;
    candidate->gap = self->gap;
    self->current.kernel = NULL;
    self->current.v = NULL;
    self->current.d = NULL;
}

/* Steps from `current`, whose kernel, v, d, J and gap are known. */
static nadir_status iterate(nadir_context *context, nadir_frank_wolfe *self, double tolerance,
                            int64_t iterations_limit, nadir_candidate *candidate)
{
    nadir_stop reason = NADIR_STOP_NONE;
    bool moved = true;
    bool slow = false;
    int idle = 0;
    double least = self->gap;
    stretch begun = {candidate->iterations, self->current.J, least};
    const double first = self->gap;
    const double started = nadir_clock_seconds();
    while ((reason = reason_to_stop(context, self, tolerance)) == NADIR_STOP_NONE && moved && !slow &&
           candidate->iterations < iterations_limit) {
        const double before = self->current.J;
        NADIR_TRY(nadir_progress(context, "worst kernel", -1));
        NADIR_TRY(step(context, self, &moved));
        candidate->iterations++;
        if (moved && (candidate->iterations < iterations_limit || !self->vertices)) {
            NADIR_TRY(find_gap(context, self));
            idle = self->current.J < before - noise(context, self) || self->gap < least ? 0 : idle + 1;
            least = fmin(least, self->gap);
            moved = idle < IDLE;
            slow = is_slow(self, candidate->iterations, iterations_limit, least, tolerance, &begun);
            /* gaps fall by about the same factor in each step */
            nadir_progress_estimate(context, "search for the worst kernel", started,
                                    log(first / least) /
                                        log(first / (tolerance * (self->problem->J - self->current.J))));
        }
    }
    nadir_progress_news(context, NULL, 0);
    candidate->converged = reason != NADIR_STOP_NONE || !moved;
    candidate->stop = reason != NADIR_STOP_NONE ? reason
                      : !moved                  ? NADIR_STOP_STABLE
                      : slow                    ? NADIR_STOP_SLOW
                                                : NADIR_STOP_ITERATIONS;
    candidate->method = "conditional-gradient";
    NADIR_TRY(nadir_kernel_device_fetch(context, self->current.kernel));
    hand_over(self, candidate);
    return NADIR_OK;
}

nadir_status nadir_frank_wolfe_run(nadir_context *context, const nadir_problem *problem, double beta,
                                   const nadir_kernel *start, double tolerance, int64_t iterations_limit,
                                   nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    nadir_frank_wolfe *self = NULL;
    NADIR_CHECK(nadir_frank_wolfe_create(context, problem, &self));
    self->beta = beta;
    self->rough = tolerance >= ROUGH && problem->model->dense != NULL;
    if (start != NULL) {
        NADIR_CHECK(nadir_kernel_mix(context, problem->model, start, start, 0, &self->current.kernel));
        NADIR_CHECK(nadir_frank_wolfe_evaluate(context, self, NULL, &self->current));
    } else {
        NADIR_CHECK(nadir_kernel_create(context, problem->model, &self->current.kernel));
        NADIR_CHECK(
            nadir_frank_wolfe_place(context, &self->current, problem->states, problem->v, problem->d));
        self->current.J = problem->J;
    }
    NADIR_CHECK(find_gap(context, self));
    NADIR_CHECK(iterate(context, self, tolerance, iterations_limit, candidate));
cleanup:
    nadir_frank_wolfe_free(context, self);
    if (status != NADIR_OK) {
        nadir_candidate_clear(context, candidate);
    }
    return status;
}

void nadir_frank_wolfe_exchange_kernels(nadir_frank_wolfe *frank_wolfe, nadir_kernel **spare)
{
    nadir_kernel **own[] = {&frank_wolfe->current.kernel, &frank_wolfe->next.kernel};
    for (int i = 0; i < 2; i++) {
        nadir_kernel *kept = *own[i];
        *own[i] = spare[i];
        spare[i] = kept;
    }
}

/* p = 2: row solutions are about proportional to the radius; those of the last one are scaled as a start. */
static void scale_steps(nadir_frank_wolfe *frank_wolfe, double beta)
{
    if (!(frank_wolfe->beta > 0) || frank_wolfe->rows.p != 2) {
        return;
    }
    frank_wolfe->budget.step *= beta / frank_wolfe->beta;
    if (frank_wolfe->solutions != NULL) {
        for (int64_t row = 0; row < frank_wolfe->problem->rows; row++) {
            frank_wolfe->solutions[row].step *= beta / frank_wolfe->beta;
        }
    }
}

nadir_status nadir_frank_wolfe_from(nadir_context *context, nadir_frank_wolfe *frank_wolfe, double beta,
                                    const double *v, const double *d, double tolerance,
                                    int64_t iterations_limit, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    scale_steps(frank_wolfe, beta);
    frank_wolfe->beta = beta;
    frank_wolfe->proximal = false;
    NADIR_CHECK(nadir_frank_wolfe_place(context, &frank_wolfe->current, frank_wolfe->problem->states, v, d));
    NADIR_CHECK(nadir_frank_wolfe_lmo(context, frank_wolfe, false));
    NADIR_CHECK(nadir_frank_wolfe_write(context, frank_wolfe, &frank_wolfe->next.kernel));
    NADIR_CHECK(nadir_frank_wolfe_evaluate(context, frank_wolfe, &frank_wolfe->current, &frank_wolfe->next));
    nadir_frank_wolfe_point_swap(&frank_wolfe->current, &frank_wolfe->next);
    candidate->iterations = 1;
    if (frank_wolfe->vertices && iterations_limit <= 1) {
        frank_wolfe->gap = INFINITY;
    } else {
        NADIR_CHECK(find_gap(context, frank_wolfe));
    }
    NADIR_CHECK(iterate(context, frank_wolfe, tolerance, iterations_limit, candidate));
cleanup:
    if (status != NADIR_OK) {
        nadir_candidate_clear(context, candidate);
    }
    return status;
}

nadir_status nadir_frank_wolfe_continue(nadir_context *context, nadir_frank_wolfe *frank_wolfe, double beta,
                                        double tolerance, int64_t iterations_limit,
                                        nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    frank_wolfe->beta = beta;
    frank_wolfe->proximal = false;
    point_clear(context, &frank_wolfe->current);
    frank_wolfe->current =
        (nadir_frank_wolfe_point){candidate->kernel, candidate->v, candidate->d, candidate->J};
    *candidate = (nadir_candidate){.iterations = candidate->iterations};
    NADIR_CHECK(find_gap(context, frank_wolfe));
    NADIR_CHECK(iterate(context, frank_wolfe, tolerance, iterations_limit, candidate));
cleanup:
    if (status != NADIR_OK) {
        nadir_candidate_clear(context, candidate);
    }
    return status;
}

nadir_status nadir_frank_wolfe_warm(nadir_context *context, const nadir_problem *problem, double beta,
                                    const double *v, const double *d, double tolerance,
                                    int64_t iterations_limit, nadir_kernel **spare,
                                    nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    nadir_frank_wolfe *frank_wolfe = NULL;
    NADIR_CHECK(nadir_frank_wolfe_create(context, problem, &frank_wolfe));
    nadir_frank_wolfe_exchange_kernels(frank_wolfe, spare);
    status = nadir_frank_wolfe_from(context, frank_wolfe, beta, v, d, tolerance, iterations_limit, candidate);
    nadir_frank_wolfe_exchange_kernels(frank_wolfe, spare);
cleanup:
    nadir_frank_wolfe_free(context, frank_wolfe);
    return status;
}

/* --------------------------------------------------------------------- linear problem of a step */

/* The smallest value is subtracted from all, so that their common part costs the gap no digits. */
nadir_status nadir_frank_wolfe_lmo(nadir_context *context, nadir_frank_wolfe *self, bool host)
{
    nadir_status status = NADIR_OK;
    const nadir_lmo_weights weights = nadir_frank_wolfe_weights(self);
    double *each = NULL;
    self->on_device = false;
    self->is_streamed = false;
    NADIR_CHECK(nadir_value_order_make(context, self->problem->states, self->current.v, &self->order));
    if (self->device_lmo.step != NULL && !host) {
        NADIR_CHECK(nadir_lmo_device_solve(context, &self->device_lmo, &self->order, self->current.d,
                                           self->beta, &self->budget, &self->on_device));
    }
    if (self->on_device) {
        goto cleanup;
    }
    if (self->device_lmo.step != NULL && self->device_lmo.off_support &&
        self->order.unsorted) { /* from now on sorted */
        nadir_value_order_clear(context, &self->order);
        NADIR_CHECK(nadir_value_order_make(context, self->problem->states, self->current.v, &self->order));
    }
    if (nadir_lmo_streamed_applies(&self->rows)) {
        NADIR_CHECK(nadir_lmo_streamed_solve(context, &self->rows, &weights, self->beta, self->budget.step,
                                             &self->streamed, &self->budget, &self->is_streamed));
    }
    if (!self->is_streamed) { /* row by row, from the last answer of each */
        if (self->solutions == NULL) {
            NADIR_NEW_ZERO(context, self->solutions, self->problem->rows);
        }
        NADIR_NEW(context, each, self->problem->rows);
        nadir_lmo_weights_fill(self->rows.model, &weights, each);
        NADIR_CHECK(
            nadir_lmo_solve_all(context, &self->rows, each, self->beta, self->solutions, &self->budget));
    }
cleanup:
    nadir_release(context, each);
    return status;
}

/* Where the device has no memory for the kernel, the problem is solved again here. */
nadir_status nadir_frank_wolfe_write(nadir_context *context, nadir_frank_wolfe *self, nadir_kernel **kernel)
{
    const nadir_lmo_weights weights = nadir_frank_wolfe_weights(self);
    if (self->on_device) {
        const nadir_status status = nadir_lmo_device_kernel(context, &self->device_lmo, kernel);
        if (status != NADIR_ERROR_MEMORY) {
            return status;
        }
        NADIR_TRY(nadir_frank_wolfe_lmo(context, self, true));
    }
    return self->is_streamed
               ? nadir_lmo_streamed_kernel(context, &self->rows, &weights, &self->streamed, kernel)
               : nadir_lmo_kernel(context, &self->rows, self->solutions, kernel);
}

/* ----------------------------------------------------------------------------- stationarity gap */

/* sum over s of d(s) (P^pi - Phat^pi) . e: what the kernel pays more than the nominal one on landing. */
static double paid_more(const nadir_context *context, const nadir_frank_wolfe *self,
                        const nadir_kernel *kernel)
{
    const nadir_problem *problem = self->problem;
    const bool known = self->solver.R != NULL && self->solver.kernel == kernel;
    const double *more = known ? self->solver.R + problem->states : self->work;
    double sum = 0;
    if (problem->landing == 0) {
        return 0;
    }
    if (!known) {
        nadir_kernel_landings(context, kernel, problem->policy, problem->sign, self->work);
    }
    for (int64_t s = 0; s < problem->states; s++) {
        sum += self->current.d[s] > 0 ? self->current.d[s] * more[s] : 0;
    }
    return nadir_allreduce_sum(context, sum);
}

/* Row by row, with the smallest value subtracted from all. */
static double gap_by_rows(nadir_context *context, const nadir_frank_wolfe *self, const nadir_kernel *kernel)
{
    const nadir_problem *problem = self->problem;
    const double moved = nadir_kernel_difference_product(context, problem->kernel, kernel, self->current.d,
                                                         problem->policy->probabilities, self->order.x);
    return problem->gamma * moved * self->order.range + paid_more(context, self, kernel) + self->budget.gain;
}

/* With solutions on a device, by products with averages: sum over s of gamma d(s) (P^pi - Phat^pi) v, and what
 * the solutions gain. *done: false where the operator is of another kernel. */
static nadir_status gap_by_averages(nadir_context *context, const nadir_frank_wolfe *self,
                                    const nadir_kernel *kernel, double *gap, bool *done)
{
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const bool start = nadir_kernel_is_on_device(context, kernel); /* nominal */
    double *own = self->work;
    double *nominal = self->work + n;
    double moved = 0;
    *done = start || self->solver.kernel == kernel;
    if (*done && !start) {
        NADIR_TRY(nadir_average_combine(context, nadir_occupancy_average(self->solver.occupancy), false, 1, 0,
                                        1, self->order.x, own));
        NADIR_TRY(nadir_average_combine(context, nadir_occupancy_average(problem->occupancy), false, 1, 0, 1,
                                        self->order.x, nominal));
        for (int64_t s = 0; s < n; s++) {
            moved += (self->current.d[s] > 0 ? self->current.d[s] : 0) * (own[s] - nominal[s]);
        }
    }
    *gap = problem->gamma * moved * self->order.range + self->budget.gain;
    return NADIR_OK;
}

nadir_status nadir_frank_wolfe_gap(nadir_context *context, nadir_frank_wolfe *self, nadir_kernel *kernel)
{
    double gap = 0;
    bool done = false;
    if (self->on_device) {
        NADIR_TRY(gap_by_averages(context, self, kernel, &gap, &done));
    }
    if (!done) {
        NADIR_TRY(nadir_kernel_device_fetch(context, kernel));
        gap = gap_by_rows(context, self, kernel);
    }
    self->gap = gap > 0 ? gap : 0;
    return NADIR_OK;
}
