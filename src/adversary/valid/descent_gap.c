/* descent_gap.c: what the linear step of a descent promises; see descent_parts.h. */
#include "adversary/search/frank_wolfe_internal.h"

#include "kernel/kernel_device.h"
#include "linalg/distributed.h"

#include <float.h>
#include <math.h>

/*
 * The gap of a rough step without a look at its rows: with r what v lacks, gamma P^pi v = v - R^pi + r and d
 * . r = J - mu . v, so that
 *
 *     sum of w (P - Phat) . v = d . (v - R^pi - gamma Phat^pi v) + J - mu . v.
 *
 * 0: it is lost in rounding.
 */
static double measure_roughly(nadir_context *context, nadir_frank_wolfe *find)
{
    const nadir_problem *problem = find->problem;
    const nadir_frank_wolfe_point *here = &find->here;
    double *nominal = find->work;
    double gap = here->J + find->budget.gain;
    double size = fabs(here->J);
    nadir_average_multiply(context, nadir_occupancy_average(problem->occupancy), 1, here->v, nominal);
    for (int64_t s = 0; s < problem->states; s++) {
        const double d = fmax(here->d[s], 0);
        gap += d * (here->v[s] - problem->R[s] - problem->gamma * nominal[s]) - problem->mu[s] * here->v[s];
        size += d * (fabs(here->v[s]) + fabs(problem->R[s]) + fabs(nominal[s]));
    }
    return gap > 8 * DBL_EPSILON * size ? gap : 0;
}

/* Row by row, with values from their smallest on. */
static double measure_rows(nadir_context *context, const nadir_frank_wolfe *find, const nadir_kernel *kernel)
{
    const nadir_problem *problem = find->problem;
    const double moved = nadir_kernel_difference_product(context, problem->kernel, kernel, find->here.d,
                                                         problem->policy->probabilities, find->order.x);
    return problem->gamma * moved * find->order.range + find->budget.gain;
}

/* With answers on a device, by products with averages: sum over s of gamma d(s) (P^pi - Phat^pi) v, and what
 * the answers gain. *done: false where the operator is of another kernel. */
static nadir_status measure_averages(nadir_context *context, const nadir_frank_wolfe *find,
                                     const nadir_kernel *kernel, double *gap, bool *done)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = find->problem;
    const int64_t n = problem->states;
    const bool start = nadir_kernel_is_on_device(context, kernel); /* nominal */
    double *own = find->work;
    double *nominal = find->work + n;
    double moved = 0;
    *done = start || find->operator.kernel == kernel;
    if (*done && !start) {
        NADIR_CHECK(nadir_average_combine(context, nadir_occupancy_average(find->operator.occupancy), false,
                                          1, 0, 1, find->order.x, own));
        NADIR_CHECK(nadir_average_combine(context, nadir_occupancy_average(problem->occupancy), false, 1, 0,
                                          1, find->order.x, nominal));
        for (int64_t s = 0; s < n; s++) {
            moved += (find->here.d[s] > 0 ? find->here.d[s] : 0) * (own[s] - nominal[s]);
        }
    }
    *gap = problem->gamma * moved * find->order.range + find->budget.gain;
cleanup:
    return status;
}

nadir_status nadir_frank_wolfe_measure(nadir_context *context, nadir_frank_wolfe *find, nadir_kernel *kernel)
{
    nadir_status status = NADIR_OK;
    double gap = 0;
    bool done = false;
    if (find->remotely) {
        NADIR_CHECK(measure_averages(context, find, kernel, &gap, &done));
    }
    if (!done) {
        NADIR_CHECK(nadir_kernel_device_fetch(context, kernel));
        const double roughly = find->rough ? measure_roughly(context, find) : 0;
        gap = roughly > 0 ? roughly : measure_rows(context, find, kernel);
    }
    find->gap = gap > 0 ? gap : 0;
cleanup:
    return status;
}
