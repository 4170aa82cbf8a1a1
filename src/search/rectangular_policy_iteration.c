/*
 * rectangular_policy_iteration.c: policy iteration of the adversary on rectangular sets; see
 * rectangular_policy_iteration.h.
 *
 * With the minimising rows X for v, Tv = R_X^pi + gamma X^pi v, so that the value under X is
 *
 *     v + (I - gamma X^pi)^-1 (Tv - v),      Tv - v = R^pi + gamma Phat^pi v - v - gamma gain,
 *
 * where the gain of a row is (Phat - X) . (v + e / gamma), for rewards e on landing (model/landing.h).
 *
 * Values fall from step to step, and v* >= v - max (v - Tv)_+ / (1 - gamma) bounds how far they can still
 * fall. Norms whose minimisers are vertices end exactly; for the others a step squares the error.
 */
#include "search/rectangular_policy_iteration.h"

#include "linalg/distributed.h"
#include "model/kernel_device.h"
#include "search/kernel_solver.h"
#include "sets/lmo_by_state.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ENDS        1e-4 /* share of the nominal kernel in one that never ends */
#define SOLVE_ERROR 1e-9 /* no solve is worse, relative to the largest value */
enum { IDLE = 20 };      /* steps without progress that end it; policy iteration needs a few in all */

typedef struct search {
    const nadir_problem *problem;
    nadir_lmo_rectangular worst;
    nadir_kernel_solver solver; /* of the last answers */
    double *v;                  /* [states] */
    double *fall;               /* [states] v - Tv */
    double most;                /* its largest entry */
    double size;                /* the largest |v| */
    double J;                   /* mu . v */
} search;

static nadir_status start(nadir_context *context, const nadir_problem *problem, double factor, search *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    self->problem = problem;
    self->solver.problem = problem;
    NADIR_CHECK(nadir_lmo_rectangular_make_on_device(context, problem, factor, &self->worst));
    NADIR_NEW(context, self->v, n);
    NADIR_NEW(context, self->fall, n);
    memcpy(self->v, problem->v, (size_t)n * sizeof *self->v);
    self->J = problem->J;
cleanup:
    return status;
}

static void finish(nadir_context *context, search *self)
{
    nadir_lmo_rectangular_clear(context, &self->worst);
    nadir_kernel_solver_clear(context, &self->solver);
    nadir_release(context, self->v);
    nadir_release(context, self->fall);
}

/* The answers to v, and v - Tv. */
static nadir_status respond(nadir_context *context, search *self)
{
    const nadir_problem *problem = self->problem;
    NADIR_TRY(nadir_lmo_rectangular_solve(context, &self->worst, self->v));
    nadir_average_multiply(context, nadir_occupancy_average(problem->occupancy), 1, self->v, self->fall);
    self->most = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const double next = problem->R[s] + problem->gamma * (self->fall[s] - self->worst.gain[s]);
        self->fall[s] = self->v[s] - next;
        self->most = self->fall[s] <= self->most ? self->most : self->fall[s]; /* NaN stays */
    }
    self->most = nadir_allreduce_maximum(context, self->most);
    self->size = nadir_global_largest(context, problem->states, self->v);
    return NADIR_OK;
}

/* The kernel of the minimising rows, on the processor where the device has no memory for it. */
static nadir_status make_kernel(nadir_context *context, search *self, nadir_kernel **kernel)
{
    nadir_status status = nadir_lmo_rectangular_kernel(context, &self->worst, kernel);
    if (status == NADIR_ERROR_MEMORY && self->worst.device_lmo.step != NULL) {
        NADIR_CHECK(nadir_lmo_rectangular_leave_device(context, &self->worst, self->v));
        NADIR_CHECK(nadir_lmo_rectangular_kernel(context, &self->worst, kernel));
    }
cleanup:
    return status;
}

/* The kernel of the minimising rows, and its value. */
static nadir_status evaluate(nadir_context *context, search *self, nadir_kernel **kernel)
{
    const nadir_problem *problem = self->problem;
    double error;
    NADIR_TRY(make_kernel(context, self, kernel));
    nadir_status status = nadir_kernel_solver_set(context, &self->solver, *kernel);
    if (status == NADIR_ERROR_ILL_POSED &&
        problem->gamma == 1) { /* never ends: with a share of the nominal one it does */
        nadir_kernel *ends = NULL;
        NADIR_TRY(nadir_kernel_mix(context, problem->model, *kernel, problem->kernel, ENDS, &ends));
        nadir_kernel_free(*kernel);
        *kernel = ends;
        status = nadir_kernel_solver_set(context, &self->solver, *kernel);
    }
    NADIR_TRY(status);
    NADIR_TRY(nadir_kernel_solver_value(context, &self->solver, self->v, NULL));
    self->J = nadir_global_dot(context, problem->states, problem->mu, self->v, &error);
    return NADIR_OK;
}

/* The reason to stop. before: self->most of the step before. Rounding and errors of the solves
 * keep max (v - Tv) from vanishing: it is stable where it is of their size and no longer falls. */
static nadir_stop reason_to_stop(const search *self, double before, double tolerance)
{
    const nadir_problem *problem = self->problem;
    const double still = self->most / problem->rest;
    const double lost = problem->J - self->J;
    /* of a probability few digits may be left: those count */
    const double scale = problem->model->reaches ? fmin(lost, fabs(self->J)) : lost;
    if (still <= tolerance * scale) {
        return NADIR_STOP_TOLERANCE;
    }
    const bool small = self->most <= 16 * DBL_EPSILON * self->size;
    const bool stays = self->most <= SOLVE_ERROR * self->size && self->most >= before / 2;
    return small || stays ? NADIR_STOP_STABLE : NADIR_STOP_NONE;
}

nadir_status nadir_rectangular_policy_iteration(nadir_context *context, const nadir_problem *problem,
                                                double factor, double tolerance, int64_t iterations_limit,
                                                nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    search self = {0};
    nadir_stop reason = NADIR_STOP_NONE;
    double before = INFINITY;
    double least = INFINITY;
    int idle = 0;
    NADIR_CHECK(start(context, problem, factor, &self));
    NADIR_CHECK(respond(context, &self));
    while (reason == NADIR_STOP_NONE) {
        NADIR_CHECK(nadir_progress(context, "searching the worst kernel", -1));
        NADIR_CHECK(evaluate(context, &self, &candidate->kernel));
        candidate->iterations++;
        NADIR_CHECK(respond(context, &self));
        reason = reason_to_stop(&self, before, tolerance);
        before = self.most;
        idle = self.most < 0.9 * least ? 0 : idle + 1;
        least = fmin(least, self.most);
        if (reason == NADIR_STOP_NONE && idle >= IDLE) {
            reason = NADIR_STOP_STABLE;
        }
        if (reason == NADIR_STOP_NONE && candidate->iterations >= iterations_limit) {
            break;
        }
    }
    NADIR_CHECK(nadir_kernel_device_fetch(context, candidate->kernel));
    candidate->converged = reason != NADIR_STOP_NONE;
    candidate->stop = reason != NADIR_STOP_NONE ? reason : NADIR_STOP_ITERATIONS;
    candidate->method = "policy-iteration";
    candidate->J = self.J;
    candidate->gap = self.most / problem->rest;
    candidate->v = self.v;
    self.v = NULL;
cleanup:
    finish(context, &self);
    if (status != NADIR_OK) {
        nadir_candidate_clear(context, candidate);
    }
    return status;
}
