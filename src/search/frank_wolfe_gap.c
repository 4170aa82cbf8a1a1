/* frank_wolfe_gap.c: the stationarity gap of a kernel; see frank_wolfe_internal.h. */
#include "search/frank_wolfe.h"

#include "linalg/distributed.h"
#include "model/kernel_device.h"

#include <float.h>
#include <math.h>

/*
 * The gap where v is inexact, without the rows: for the residual r of v, gamma P^pi v = v - R^pi + r and
 * d . r = J - mu . v, so that
 *
 *     sum of w (P - Phat) . v = d . (v - R^pi - gamma Phat^pi v) + J - mu . v.
 *
 * Returns 0 where that is below its rounding error.
 */
static double gap_roughly(nadir_context *context, nadir_frank_wolfe *self)
{
    const nadir_problem *problem = self->problem;
    const nadir_frank_wolfe_point *current = &self->current;
    double *nominal = self->work;
    double gap = current->J + self->budget.gain;
    double size = fabs(current->J);
    nadir_average_multiply(context, nadir_occupancy_average(problem->occupancy), 1, current->v, nominal);
    for (int64_t s = 0; s < problem->states; s++) {
        const double d = fmax(current->d[s], 0);
        gap += d * (current->v[s] - problem->R[s] - problem->gamma * nominal[s]) -
               problem->mu[s] * current->v[s];
        size += d * (fabs(current->v[s]) + fabs(problem->R[s]) + fabs(nominal[s]));
    }
    return gap > 8 * DBL_EPSILON * size ? gap : 0;
}

/* Row by row, with the smallest value subtracted from all. */
static double gap_by_rows(nadir_context *context, const nadir_frank_wolfe *self, const nadir_kernel *kernel)
{
    const nadir_problem *problem = self->problem;
    const double moved = nadir_kernel_difference_product(context, problem->kernel, kernel, self->current.d,
                                                         problem->policy->probabilities, self->order.x);
    return problem->gamma * moved * self->order.range + self->budget.gain;
}

/* With answers on a device, by products with averages: sum over s of gamma d(s) (P^pi - Phat^pi) v, and what
 * the answers gain. *done: false where the operator is of another kernel. */
static nadir_status gap_by_averages(nadir_context *context, const nadir_frank_wolfe *self,
                                    const nadir_kernel *kernel, double *gap, bool *done)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const bool start = nadir_kernel_is_on_device(context, kernel); /* nominal */
    double *own = self->work;
    double *nominal = self->work + n;
    double moved = 0;
    *done = start || self->solver.kernel == kernel;
    if (*done && !start) {
        NADIR_CHECK(nadir_average_combine(context, nadir_occupancy_average(self->solver.occupancy), false, 1,
                                          0, 1, self->order.x, own));
        NADIR_CHECK(nadir_average_combine(context, nadir_occupancy_average(problem->occupancy), false, 1, 0,
                                          1, self->order.x, nominal));
        for (int64_t s = 0; s < n; s++) {
            moved += (self->current.d[s] > 0 ? self->current.d[s] : 0) * (own[s] - nominal[s]);
        }
    }
    *gap = problem->gamma * moved * self->order.range + self->budget.gain;
cleanup:
    return status;
}

nadir_status nadir_frank_wolfe_gap(nadir_context *context, nadir_frank_wolfe *self, nadir_kernel *kernel)
{
    nadir_status status = NADIR_OK;
    double gap = 0;
    bool done = false;
    if (self->on_device) {
        NADIR_CHECK(gap_by_averages(context, self, kernel, &gap, &done));
    }
    if (!done) {
        NADIR_CHECK(nadir_kernel_device_fetch(context, kernel));
        const double roughly = self->rough ? gap_roughly(context, self) : 0;
        gap = roughly > 0 ? roughly : gap_by_rows(context, self, kernel);
    }
    self->gap = gap > 0 ? gap : 0;
cleanup:
    return status;
}
