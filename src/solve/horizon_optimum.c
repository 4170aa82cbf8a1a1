/* horizon_optimum.c: the best policies for H steps on the nominal kernel, by backward induction:
 *
 *     q_n(s, a) = R(s, a) + gamma Phat_sa . v_{n+1},    v_n(s) = max_a q_n(s, a),    v_H = 0.
 *
 * Rounding moves v_n by at most e_n = gamma e_{n+1} + what one step rounds: so far the optimum, and the return of the
 * policies found, are from mu . v_0. */
#include "core/round.h"
#include "linalg/vector.h"
#include "model/kernel.h"
#include "model/policy.h"
#include "model/terminal.h"
#include "solve/solver.h"

#include <math.h>

/* Policies of all steps are kept up to this many probabilities. */
#define NUMBERS_LIMIT 200000000

/* The best action of every state, the first among equals, as a policy. */
static void choose(const nadir_model *model, const double *q, double *v, double *probabilities)
{
    for (int64_t s = 0; s < model->states; s++) {
        int64_t best = model->state_rows[s];
        for (int64_t row = best + 1; row < model->state_rows[s + 1]; row++) {
            best = q[row] > q[best] ? row : best;
        }
        v[s] = q[best];
        probabilities[best] = 1;
    }
}

/* Of one product, and of rewards that are means over successors. */
static double step_roundings(const nadir_model *model)
{
    int64_t longest = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const int64_t count = nadir_model_row(model, row).count;
        longest = count > longest ? count : longest;
    }
    return 4 * (2 * (double)longest + 32);
}

static nadir_status induce(nadir_context *context, nadir_model *model, int64_t horizon,
                           nadir_policy **policies, nadir_optimum_result *made)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *kernel = NULL;
    double *v = NULL;
    double *q = NULL;
    const double roundings = step_roundings(model);
    double low = 0;
    double high = 0;
    double rounding;
    nadir_model_reward_range(model, &low, &high);
    const double largest =
        fmax(fmax(fabs(low), fabs(high)), nadir_vector_largest(model->rows, model->rewards));
    double error = 0;
    NADIR_NEW_ZERO(context, v, model->states);
    NADIR_NEW(context, q, model->rows);
    NADIR_CHECK(nadir_kernel_create(context, model, &kernel));
    for (int64_t step = horizon; step-- > 0;) {
        NADIR_CHECK(nadir_progress(context, "backward induction", 1 - (double)step / (double)horizon));
        const double size = largest + model->discount * nadir_vector_largest(model->states, v);
        error = nadir_round_up(model->discount * error + nadir_round_error(roundings) * size + DBL_MIN,
                               roundings);
        nadir_kernel_multiply(context, kernel, v, q);
        for (int64_t row = 0; row < model->rows; row++) {
            q[row] = model->rewards[row] + model->discount * q[row];
        }
        NADIR_CHECK(nadir_policy_create_blank(context, model, &policies[step]));
        choose(model, q, v, policies[step]->probabilities);
    }
    made->nominal_optimum = nadir_vector_dot(model->states, model->initial, v, &rounding);
    rounding += nadir_round_error(2 * (double)(model->states + 16)) * nadir_vector_largest(model->states, v);
    made->lower_bound = made->nominal_optimum - nadir_round_up(error + rounding, 8);
    made->upper_bound = made->nominal_optimum + nadir_round_up(error + rounding, 8);
cleanup:
    nadir_kernel_free(kernel);
    NADIR_RELEASE(context, v, q);
    return status;
}

nadir_status nadir_horizon_optimum(nadir_context *context, nadir_model *model, int64_t horizon,
                                   nadir_policy **policies, nadir_optimum_result *result)
{
    const double begun = nadir_clock_seconds();
    nadir_optimum_result made = {
        .size = sizeof made, .iterations = 1, .sweeps = horizon, .products = horizon};
    if (horizon < 1) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the horizon is %lld; expected 1 or more",
                          (long long)horizon);
    }
    if (horizon > NUMBERS_LIMIT / model->rows) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "policies of %lld rows for %lld steps are more than %d numbers; take a shorter horizon",
            (long long)model->rows, (long long)horizon, NUMBERS_LIMIT);
    }
    for (int64_t step = 0; step < horizon; step++) {
        policies[step] = NULL;
    }
    nadir_status status = nadir_value_check_given(context, model);
    if (status == NADIR_OK) {
        status = nadir_model_check_one_process(context, model, "a horizon");
    }
    if (status == NADIR_OK) {
        status = nadir_terminal_refuse(context, model, "a horizon");
    }
    if (status == NADIR_OK) {
        status = induce(context, model, horizon, policies, &made);
    }
    if (status == NADIR_OK && !isfinite(made.nominal_optimum)) {
        status =
            nadir_fail(context, NADIR_ERROR_ILL_POSED,
                       "the return of %lld steps is beyond the range of numbers; multiply all rewards by "
                       "a small number, and divide the returns by it",
                       (long long)horizon);
    }
    made.stop_reason = nadir_stop_name(NADIR_STOP_SOLVED);
    made.seconds = nadir_clock_seconds() - begun;
    if (status == NADIR_OK && !nadir_result_copy(result, &made, sizeof made)) {
        status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the result is not set");
    }
    for (int64_t step = 0; status != NADIR_OK && step < horizon; step++) {
        nadir_policy_free(policies[step]);
        policies[step] = NULL;
    }
    return status;
}
