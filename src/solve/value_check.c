/* value_check.c: bounds on the value of a policy from the rows of the kernel alone; see value_check.h. */
#include "solve/value.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "solve/bellman.h"

#include <math.h>

double nadir_check_offset(double r, double gamma, double rho_low, double rho_high)
{
    const double gap = 1 - gamma * (r > 0 ? rho_high : rho_low);
    if (!(1 - gamma * rho_high > 4 * NADIR_ROUND_UNIT)) {
        return INFINITY;
    }
    /* gap is off by two roundings of numbers near one */
    return r > 0 ? nadir_round_up(r / (gap - 4 * NADIR_ROUND_UNIT), 4)
                 : r / (gap + 4 * NADIR_ROUND_UNIT) * (1 - 4 * NADIR_ROUND_UNIT);
}

/* The range of sum over a of pi(a|s), rounding included, and the largest number of actions. */
static void measure_policy(const nadir_context *context, const nadir_model *model,
                           const double *probabilities, double *low, double *high, int64_t *actions)
{
    *low = INFINITY;
    *high = 0;
    *actions = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t count = model->state_rows[s + 1] - first;
        double sum = 0;
        for (int64_t i = 0; i < count; i++) {
            sum += probabilities[first + i];
        }
        *low = fmin(*low, sum);
        *high = fmax(*high, sum);
        *actions = count > *actions ? count : *actions;
    }
    *low = nadir_allreduce_minimum(context, *low);
    *high = nadir_allreduce_maximum(context, *high);
    *actions = (int64_t)nadir_allreduce_maximum(context, (double)*actions);
    *low -= NADIR_ROUND_UNIT * (double)(*actions + 2) * *high;
    *high += NADIR_ROUND_UNIT * (double)(*actions + 2) * *high;
}

void nadir_value_terms_compute(const nadir_context *context, const nadir_kernel *kernel,
                               nadir_value_terms *terms)
{
    const nadir_model *model = nadir_kernel_model(kernel);
    double mass = 0;
    for (int64_t s = 0; s < model->states; s++) {
        mass += model->initial[s];
    }
    terms->mass = nadir_allreduce_sum(context, mass);
    terms->reward = nadir_global_largest(context, model->rows, model->rewards);
    terms->minimum = nadir_kernel_minimum(context, kernel);
    nadir_kernel_measure(context, kernel, &terms->size);
}

nadir_status nadir_value_residual_compute(nadir_context *context, const nadir_kernel *kernel,
                                          const nadir_policy *policy, double gamma, const double *v,
                                          double *work, nadir_value_residual *seen)
{
    const nadir_model *model = nadir_kernel_model(kernel);
    nadir_bellman_pass pass;
    nadir_bellman_average(context, kernel, gamma, policy, v, work, &pass);
    if (!pass.finite) {
        return nadir_fail(context, NADIR_ERROR_NOT_CONVERGED, "the value of the policy is not finite");
    }
    seen->lowest = pass.lowest;
    seen->highest = pass.highest;
    seen->largest = nadir_global_largest(context, model->states, v);
    seen->mean = nadir_global_dot(context, model->states, model->initial, v, &seen->rounding);
    return NADIR_OK;
}

/* mu . (v + low) and mu . (v + high), outward. */
static void bound_return(const nadir_model *model, double mass, const nadir_value_residual *seen,
                         nadir_value_check *check)
{
    const double mass_error = mass * NADIR_ROUND_UNIT * (double)(nadir_model_total(model) + 4);
    const double low = check->low * (check->low < 0 ? mass + mass_error : mass - mass_error);
    const double high = check->high * (check->high > 0 ? mass + mass_error : mass - mass_error);
    const double slack =
        seen->rounding + 4 * NADIR_ROUND_UNIT * (fabs(seen->mean) + fmax(fabs(low), fabs(high)));
    check->lower = seen->mean + low - slack;
    check->upper = seen->mean + high + slack;
}

void nadir_value_bounds(const nadir_context *context, const nadir_model *model,
                        const nadir_value_terms *terms, const double *probabilities, double gamma,
                        const nadir_value_residual *seen, nadir_value_check *check)
{
    const nadir_kernel_size *size = &terms->size;
    double pi_low;
    double pi_high;
    int64_t actions;
    measure_policy(context, model, probabilities, &pi_low, &pi_high, &actions);
    const double rounding = nadir_bellman_rounding(size, gamma, actions, terms->reward, seen->largest);
    check->minimum = terms->minimum;
    check->residual = fmax(seen->highest, -seen->lowest) + rounding;
    if (check->minimum >= 0) {
        const double low = pi_low * size->sum_low;
        const double high = pi_high * size->sum_high;
        check->high = nadir_check_offset(seen->highest + rounding, gamma, low, high);
        check->low = -nadir_check_offset(-(seen->lowest - rounding), gamma, low, high);
    } else {
        check->high = nadir_check_offset(check->residual, gamma, 0, pi_high * size->largest);
        check->low = -check->high;
    }
    bound_return(model, terms->mass, seen, check);
}

nadir_status nadir_value_check_rows(nadir_context *context, const nadir_kernel *kernel,
                                    const nadir_policy *policy, double gamma, const double *v,
                                    nadir_value_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = nadir_kernel_model(kernel);
    double *work = NULL;
    nadir_value_terms terms;
    nadir_value_residual seen = {0};
    NADIR_NEW(context, work, model->states);
    NADIR_CHECK(nadir_value_residual_compute(context, kernel, policy, gamma, v, work, &seen));
    nadir_value_terms_compute(context, kernel, &terms);
    nadir_value_bounds(context, model, &terms, policy->probabilities, gamma, &seen, check);
cleanup:
    nadir_release(context, work);
    return status;
}
