/* frank_wolfe_inexact.c: one inexact response, for an optimisation of the policy; see frank_wolfe.h. */
#include "search/frank_wolfe.h"

#include "model/kernel_device.h"

#include <math.h>
#include <string.h>

/* (x - mean x) . (y - mean y). */
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

/* Sum over rows of alpha^2 |w' v' - w v|^2 / (4 tau), all values centred, from w' v' - w v = (w' - w) v' +
 * w (v' - v), which avoids cancellation. */
static double bound_gap(const nadir_frank_wolfe *self)
{
    const nadir_problem *problem = self->problem;
    const nadir_model *model = problem->model;
    const double *before = self->current.v;
    const double *after = self->next.v;
    double *change = self->work;
    for (int64_t s = 0; s < problem->states; s++) {
        change[s] = after[s] - before[s];
    }
    const double v_v = centred_dot(problem->states, after, after);
    const double v_c = centred_dot(problem->states, after, change);
    const double c_c = centred_dot(problem->states, change, change);
    double sum = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const double d = fmax(self->current.d[s], 0);
        const double moved = fmax(self->next.d[s], 0) - d;
        const double state = moved * moved * v_v + 2 * moved * d * v_c + d * d * c_c;
        double square = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double share = nadir_uncertainty_scale(problem->uncertainty, row) * problem->gamma *
                                 problem->policy->probabilities[row];
            square += share * share;
        }
        sum += square * fmax(state, 0);
    }
    return self->budget.tau > 0 ? sum / (4 * self->budget.tau) : INFINITY;
}

nadir_status nadir_frank_wolfe_inexact(nadir_context *context, nadir_frank_wolfe *frank_wolfe, double beta,
                                       const double *v, const double *d, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    const size_t bytes = (size_t)frank_wolfe->problem->states * sizeof *v;
    nadir_frank_wolfe_point *current = &frank_wolfe->current;
    nadir_frank_wolfe_point *next = &frank_wolfe->next;
    frank_wolfe->beta = beta;
    if (next->v == NULL) { /* handed over */
        NADIR_CHECK(nadir_frank_wolfe_point_make(context, frank_wolfe->problem->states, next));
    }
    memcpy(current->v, v, bytes);
    memcpy(current->d, d, bytes);
    memcpy(next->v, v, bytes);
    memcpy(next->d, d, bytes);
    NADIR_CHECK(nadir_frank_wolfe_lmo(context, frank_wolfe));
    NADIR_CHECK(nadir_frank_wolfe_write(context, frank_wolfe, &next->kernel));
    NADIR_CHECK(nadir_kernel_solver_set(context, &frank_wolfe->solver, next->kernel));
    NADIR_CHECK(nadir_kernel_device_fetch(context, next->kernel));
    NADIR_CHECK(nadir_kernel_solver_approach(context, &frank_wolfe->solver, next->v, next->d, &next->J));
    *candidate = (nadir_candidate){
        .kernel = next->kernel,
        .J = next->J,
        .method = "conditional-gradient",
        .stop_reason = "glance",
        .iterations = 1,
        .v = next->v,
        .d = next->d,
        .tau = frank_wolfe->budget.tau,
        .gap = bound_gap(frank_wolfe),
        .lambda = frank_wolfe->budget.gain,
    };
    next->kernel = NULL;
    next->v = NULL;
    next->d = NULL;
cleanup:
    return status;
}
