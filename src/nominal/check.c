/* check.c: bounds on the value of a policy from the rows of the kernel alone; see check.h. */
#include "nominal/check.h"

#include "linalg/distributed.h"
#include "nominal/bellman.h"

#include <float.h>
#include <math.h>

#define UNIT (DBL_EPSILON / 2)

double nadir_check_offset(double r, double gamma, double rho_low, double rho_high)
{
    const double gap = 1 - gamma * (r > 0 ? rho_high : rho_low);
    if (!(1 - gamma * rho_high > 4 * UNIT)) {
        return INFINITY;
    }
    /* gap is off by two roundings of numbers near one */
    return r > 0 ? r / (gap - 4 * UNIT) * (1 + 4 * UNIT) : r / (gap + 4 * UNIT) * (1 - 4 * UNIT);
}

/* The range of sum over a of pi(a|s), rounding included, and the largest number of actions. */
static void measure_policy(const nadir_context *context, const nadir_model *model, const nadir_policy *policy,
                           double *low, double *high, int64_t *actions)
{
    *low = INFINITY;
    *high = 0;
    *actions = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t count = model->state_rows[s + 1] - first;
        double sum = 0;
        for (int64_t i = 0; i < count; i++) {
            sum += policy->probabilities[first + i];
        }
        *low = fmin(*low, sum);
        *high = fmax(*high, sum);
        *actions = count > *actions ? count : *actions;
    }
    *low = nadir_join_minimum(context, *low);
    *high = nadir_join_maximum(context, *high);
    *actions = (int64_t)nadir_join_maximum(context, (double)*actions);
    *low -= UNIT * (double)(*actions + 2) * *high;
    *high += UNIT * (double)(*actions + 2) * *high;
}

/* mu . (v + low) and mu . (v + high), outward. */
static void bound_return(const nadir_context *context, const nadir_model *model, const double *v,
                         nadir_value_check *check)
{
    double rounding;
    double mass = 0;
    for (int64_t s = 0; s < model->states; s++) {
        mass += model->initial[s];
    }
    mass = nadir_join_sum(context, mass);
    const double spread = mass * UNIT * (double)(nadir_model_total(model) + 4);
    const double mean = nadir_whole_dot(context, model->states, model->initial, v, &rounding);
    const double low = check->low * (check->low < 0 ? mass + spread : mass - spread);
    const double high = check->high * (check->high > 0 ? mass + spread : mass - spread);
    const double slack = rounding + 4 * UNIT * (fabs(mean) + fmax(fabs(low), fabs(high)));
    check->lower = mean + low - slack;
    check->upper = mean + high + slack;
}

nadir_status nadir_value_check_rows(nadir_context *context, const nadir_kernel *kernel,
                                    const nadir_policy *policy, double gamma, const double *v,
                                    nadir_value_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = nadir_kernel_model(kernel);
    double *value = NULL;
    double pi_low;
    double pi_high;
    int64_t actions;
    nadir_kernel_size size;
    nadir_bellman_pass pass;
    NADIR_NEW(context, value, model->states);
    measure_policy(context, model, policy, &pi_low, &pi_high, &actions);
    nadir_kernel_measure(context, kernel, &size);
    nadir_bellman_average(context, kernel, gamma, policy, v, value, &pass);
    if (!pass.finite) {
        status = nadir_fail(context, NADIR_ERROR_NOT_CONVERGED, "the value of the policy is not finite");
        goto cleanup;
    }
    const double rounding = nadir_bellman_rounding(&size, gamma, actions,
                                                   nadir_whole_largest(context, model->rows, model->rewards),
                                                   nadir_whole_largest(context, model->states, v));
    check->minimum = nadir_kernel_minimum(context, kernel);
    check->residual = fmax(pass.highest, -pass.lowest) + rounding;
    if (check->minimum >= 0) {
        const double low = pi_low * size.sum_low;
        const double high = pi_high * size.sum_high;
        check->high = nadir_check_offset(pass.highest + rounding, gamma, low, high);
        check->low = -nadir_check_offset(-(pass.lowest - rounding), gamma, low, high);
    } else {
        check->high = nadir_check_offset(check->residual, gamma, 0, pi_high * size.largest);
        check->low = -check->high;
    }
    bound_return(context, model, v, check);
cleanup:
    nadir_release(context, value);
    return status;
}
