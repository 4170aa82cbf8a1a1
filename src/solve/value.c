/* value.c: value, occupancy and return of a policy; see value.h. */
#include "solve/value.h"

#include "core/round.h"
#include "linalg/distributed.h"

#include <math.h>

void nadir_value_clear(nadir_context *context, nadir_value *value)
{
    nadir_release(context, value->v);
    nadir_release(context, value->d);
    *value = (nadir_value){0};
}

nadir_status nadir_value_check_model(nadir_context *context, const nadir_model *model)
{
    if (isnan(model->discount)) {
        return nadir_fail(context, NADIR_ERROR_MODEL,
                          "the model has no discount; give one with --discount (nadir_read_settings)");
    }
    if (model->rewards == NULL) {
        return nadir_fail(context, NADIR_ERROR_MODEL,
                          "the model has no rewards; PRISM and PETSc models take them from a file of their "
                          "own, --rewards (nadir_read_settings)");
    }
    return NADIR_OK;
}

/* |x|_1, rounded up. */
static double norm_1(const nadir_context *context, int64_t count, const double *x)
{
    const double total = (double)nadir_global_count(context, count);
    return nadir_round_up(nadir_global_norm_1(context, count, x), total);
}

static int64_t most_actions(const nadir_context *context, const nadir_model *model)
{
    int64_t most = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t actions = model->state_rows[s + 1] - model->state_rows[s];
        most = actions > most ? actions : most;
    }
    return (int64_t)nadir_allreduce_maximum(context, (double)most);
}

/*
 * The solves are as good as they say for the averages as they were rounded. Averaging over A actions is off
 * by at most (A + 2) eps/2 of each entry, which is one more residual:
 *
 *     of v:  (|R^pi|_inf + gamma |P^pi| |v|_inf)     of d:  gamma |P^pi| |d|_1
 */
static void bound_errors(const nadir_context *context, const nadir_model *model, nadir_occupancy *occupancy,
                         const double *rewards, const nadir_accuracy *of_v, const nadir_accuracy *of_d,
                         nadir_value *value)
{
    const int64_t n = model->states;
    const double norm = nadir_occupancy_gamma(occupancy) * nadir_occupancy_average(occupancy)->norm;
    const double gap = 1 - norm;
    const double unit = NADIR_ROUND_UNIT * (double)(most_actions(context, model) + 2);
    const double v_size = nadir_global_largest(context, n, value->v);
    const double d_size = norm_1(context, n, value->d);
    const double reward = nadir_global_largest(context, model->rows, model->rewards);
    value->residual = of_v->residual;
    value->v_error = gap > 0 ? of_v->error_bound + unit * (reward + norm * v_size) / gap : INFINITY;
    value->d_error = gap > 0 ? of_d->error_bound + unit * norm * d_size / gap : INFINITY;
    double rounding;
    double dual_rounding;
    value->J = nadir_global_dot(context, n, model->initial, value->v, &rounding);
    value->J_dual = nadir_global_dot(context, n, value->d, rewards, &dual_rounding);
    /* |J - mu.v| <= |mu|_1 |error of v|_inf, |J - d.R| <= |error of d|_1 |R|_inf: the better of both */
    const double mu = norm_1(context, n, model->initial);
    const double primal = rounding + mu * value->v_error;
    const double dual = dual_rounding + value->d_error * reward + d_size * unit * reward +
                        fabs(value->J - value->J_dual) * (1 + 4 * NADIR_ROUND_UNIT);
    value->J_error = nadir_round_up(primal < dual ? primal : dual, 16);
}

nadir_status nadir_value_solve(nadir_context *context, const nadir_kernel *kernel, const nadir_policy *policy,
                               nadir_occupancy *occupancy, nadir_value *value)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = nadir_kernel_model(kernel);
    const int64_t n = model->states;
    nadir_accuracy of_v;
    nadir_accuracy of_d;
    double *rewards = NULL;
    nadir_value made = {0};
    NADIR_NEW(context, rewards, n);
    NADIR_NEW(context, made.v, n);
    NADIR_NEW(context, made.d, n);
    nadir_average_rewards(model, policy, rewards);
    NADIR_CHECK(nadir_occupancy_solve(context, occupancy, 1, rewards, made.v, &of_v));
    NADIR_CHECK(nadir_occupancy_solve_transposed(context, occupancy, 1, model->initial, made.d, &of_d));
    bound_errors(context, model, occupancy, rewards, &of_v, &of_d, &made);
    if (!isfinite(made.J)) {
        status = nadir_fail(context, NADIR_ERROR_NOT_CONVERGED, "the return is not finite: %g", made.J);
        goto cleanup;
    }
    *value = made;
    made = (nadir_value){0};
cleanup:
    nadir_release(context, rewards);
    nadir_value_clear(context, &made);
    return status;
}

void nadir_value_q(const nadir_context *context, const nadir_kernel *kernel, double gamma, const double *v,
                   double *q)
{
    const nadir_model *model = nadir_kernel_model(kernel);
    nadir_kernel_multiply(context, kernel, v, q);
    for (int64_t row = 0; row < model->rows; row++) {
        q[row] = model->rewards[row] + gamma * q[row];
    }
}
