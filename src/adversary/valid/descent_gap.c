/* descent_gap.c: what the linear step of a descent promises; see descent_parts.h. */
#include "adversary/valid/descent_parts.h"

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
static double measure_roughly(nadir_context *context, nadir_descent *find)
{
    const nadir_problem *problem = find->problem;
    const nadir_descent_point *here = &find->here;
    double *nominal = find->product; /* [rows], and so [states] */
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
static double measure_rows(nadir_context *context, nadir_descent *find, const nadir_kernel *kernel)
{
    const nadir_problem *problem = find->problem;
    double *own = find->product;
    double *nominal = find->product + problem->rows;
    nadir_kernel_multiply_where(context, kernel, find->weights, find->order.x, own);
    nadir_kernel_multiply_where(context, problem->kernel, find->weights, find->order.x, nominal);
    double gap = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        const double moved = (own[row] - nominal[row]) * find->order.range;
        gap += find->weights[row] * (moved + find->answers[row].gain);
    }
    return nadir_join_sum(context, gap);
}

void nadir_descent_measure(nadir_context *context, nadir_descent *find, const nadir_kernel *kernel)
{
    const double roughly = find->rough ? measure_roughly(context, find) : 0;
    const double gap = roughly > 0 ? roughly : measure_rows(context, find, kernel);
    find->gap = gap > 0 ? gap : 0;
}
