/* descent_glance.c: one answer of the rows, as a search asks that changes its question each time; see
 * descent.h. */
#include "adversary/search/frank_wolfe_internal.h"

#include "kernel/kernel_device.h"

#include <math.h>
#include <string.h>

/* x . y less what their means have in common, and the means themselves. */
static double centred_dot(int64_t count, const double *x, const double *y)
{
    double mean_x = 0;
    double mean_y = 0;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        mean_x += x[i];
        mean_y += y[i];
    }
    mean_x /= (double)count;
    mean_y /= (double)count;
    for (int64_t i = 0; i < count; i++) {
        sum += (x[i] - mean_x) * (y[i] - mean_y);
    }
    return sum;
}

/* Sum over rows of alpha^2 |w' v' - w v|^2 / (4 tau), all values centred: w' v' - w v = (w' - w) v' + w (v' -
 * v), in which nothing cancels that matters. */
static double bound_gap(const nadir_frank_wolfe *find)
{
    const nadir_problem *problem = find->problem;
    const nadir_model *model = problem->model;
    const double *before = find->here.v;
    const double *after = find->there.v;
    double *change = find->work;
    for (int64_t s = 0; s < problem->states; s++) {
        change[s] = after[s] - before[s];
    }
    const double v_v = centred_dot(problem->states, after, after);
    const double v_c = centred_dot(problem->states, after, change);
    const double c_c = centred_dot(problem->states, change, change);
    double sum = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const double d = fmax(find->here.d[s], 0);
        const double moved = fmax(find->there.d[s], 0) - d;
        const double state = moved * moved * v_v + 2 * moved * d * v_c + d * d * c_c;
        double square = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double share = nadir_uncertainty_scale(problem->uncertainty, row) * problem->gamma *
                                 problem->policy->probabilities[row];
            square += share * share;
        }
        sum += square * fmax(state, 0);
    }
    return find->budget.tau > 0 ? sum / (4 * find->budget.tau) : INFINITY;
}

nadir_status nadir_frank_wolfe_inexact(nadir_context *context, nadir_frank_wolfe *descent, double beta,
                                       const double *v, const double *d, nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    const size_t bytes = (size_t)descent->problem->states * sizeof *v;
    nadir_frank_wolfe_point *here = &descent->here;
    nadir_frank_wolfe_point *there = &descent->there;
    descent->beta = beta;
    if (there->v == NULL) { /* handed over */
        NADIR_CHECK(nadir_frank_wolfe_point_make(context, descent->problem->states, there));
    }
    memcpy(here->v, v, bytes);
    memcpy(here->d, d, bytes);
    memcpy(there->v, v, bytes);
    memcpy(there->d, d, bytes);
    NADIR_CHECK(nadir_frank_wolfe_answer(context, descent));
    NADIR_CHECK(nadir_frank_wolfe_write(context, descent, &there->kernel));
    NADIR_CHECK(nadir_kernel_solver_set(context, &descent->operator, there->kernel));
    NADIR_CHECK(nadir_kernel_device_fetch(context, there->kernel));
    NADIR_CHECK(nadir_kernel_solver_approach(context, &descent->operator, there->v, there->d, &there->J));
    *attack = (nadir_attack){
        .kernel = there->kernel,
        .J = there->J,
        .method = "conditional-gradient",
        .stop_reason = "glance",
        .iterations = 1,
        .v = there->v,
        .d = there->d,
        .tau = descent->budget.tau,
        .gap = bound_gap(descent),
        .lambda = descent->budget.gain,
    };
    there->kernel = NULL;
    there->v = NULL;
    there->d = NULL;
cleanup:
    return status;
}
