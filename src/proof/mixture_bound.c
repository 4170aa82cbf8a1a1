/* mixture_bound.c: a bound for all policies from a mixture of kernels; see mixture_bound.h. */
#include "proof/mixture_bound.h"

#include "core/round.h"
#include "model/policy.h"
#include "solve/nominal_optimum.h"

#include <math.h>
#include <string.h>

void nadir_mixture_clear(nadir_context *context, nadir_mixture *mixture)
{
    nadir_release(context, mixture->rewards);
    nadir_release(context, mixture->low);
    nadir_release(context, mixture->high);
    nadir_release(context, mixture->slack);
    *mixture = (nadir_mixture){0};
}

/* The optimum of a model's kernel with these rewards of rows. policy, visits: [rows] what the optimal one takes, or NULL. */
static nadir_status optimum(nadir_context *context, const nadir_model *model, const double *rewards,
                            double *upper, double *visits)
{
    nadir_status status = NADIR_OK;
    nadir_model *paid = NULL;
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    nadir_optimum_result result = {.size = sizeof result};
    nadir_model_data data;
    nadir_model_data_default(&data);
    nadir_model_view(model, &data);
    data.rewards = rewards;
    data.transition_rewards = NULL;
    data.lower = data.upper = NULL;
    data.state_names = NULL;
    data.action_names = NULL;
    NADIR_CHECK(nadir_model_borrow(context, &data, NULL, NULL, &paid)); /* the kernel outlives it */
    status = nadir_optimum(context, paid, NULL, &policy, &result);
    if (status == NADIR_ERROR_NOT_CONVERGED && policy != NULL) { /* the bounds hold nevertheless */
        status = NADIR_OK;
    }
    NADIR_CHECK(status);
    *upper = result.upper_bound;
    if (visits != NULL) {
        NADIR_CHECK(nadir_solver_create(context, paid, policy, NULL, &solver));
        NADIR_CHECK(nadir_solver_occupancy(context, solver, visits)); /* [states], spread from the last on */
        for (int64_t s = paid->states; s-- > 0;) {
            const double d = visits[s];
            for (int64_t row = paid->state_rows[s + 1]; row-- > paid->state_rows[s];) {
                visits[row] = d * policy->probabilities[row];
            }
        }
    }
cleanup:
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(paid);
    return status;
}

/* Occupancies of one kernel: the best and the worst of a reward of 1 in one state. */
static nadir_status find_range(nadir_context *context, const nadir_model *model, double *paid, double *low,
                               double *high)
{
    for (int64_t s = 0; s < model->states; s++) {
        for (int sign = 1; sign >= -1; sign -= 2) {
            double upper;
            memset(paid, 0, (size_t)model->rows * sizeof *paid);
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                paid[row] = sign;
            }
            NADIR_TRY(optimum(context, model, paid, &upper, NULL));
            *(sign > 0 ? &high[s] : &low[s]) = fmax(sign * upper, 0);
        }
        NADIR_TRY(nadir_progress(context, "mixing members", -1));
    }
    return NADIR_OK;
}

/* Means over rows of rewards of transitions, and these themselves, are sums of so many terms. */
static double slack_of(const nadir_model *model)
{
    double largest = 0;
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    if (view.transition_rewards == NULL) {
        return 0;
    }
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        for (int64_t i = 0; i < entries.count; i++) {
            const double paid = entries.rewards != NULL ? entries.rewards[i] : view.rewards[row];
            largest = fmax(largest, isnan(paid) ? 0 : fabs(paid));
        }
    }
    return 2 * nadir_round_error((double)model->states + 32) * largest / (1 - model->discount);
}

nadir_status nadir_mixture_make(nadir_context *context, int64_t count, nadir_model *const *models,
                                nadir_mixture *mixture)
{
    nadir_status status = NADIR_OK;
    double *paid = NULL;
    *mixture = (nadir_mixture){
        .count = count, .states = models[0]->states, .rows = models[0]->rows, .models = models};
    NADIR_NEW(context, mixture->rewards, count);
    NADIR_NEW(context, mixture->low, count * mixture->states);
    NADIR_NEW(context, mixture->high, count * mixture->states);
    NADIR_NEW(context, mixture->slack, count);
    NADIR_NEW(context, paid, mixture->rows);
    for (int64_t k = 0; k < count; k++) {
        nadir_model_data view;
        nadir_model_data_default(&view);
        nadir_model_view(models[k], &view);
        mixture->rewards[k] = view.rewards;
        mixture->slack[k] = slack_of(models[k]);
        NADIR_CHECK(find_range(context, models[k], paid, mixture->low + k * mixture->states,
                               mixture->high + k * mixture->states));
    }
cleanup:
    nadir_release(context, paid);
    if (status != NADIR_OK) {
        nadir_mixture_clear(context, mixture);
    }
    return status;
}

/* sum over s of max over a of the worst costs; *size: of absolute values. */
static double tie(const nadir_mixture *mixture, const double *costs, int64_t *best, double *size)
{
    const nadir_model *model = mixture->models[0];
    double sum = 0;
    *size = 0;
    for (int64_t s = 0; s < mixture->states; s++) {
        double highest = -INFINITY;
        double most = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            double total = 0;
            double all = 0;
            for (int64_t k = 0; k < mixture->count; k++) {
                const double c = costs[k * mixture->rows + row];
                const double d = (c > 0 ? mixture->high : mixture->low)[k * mixture->states + s];
                total += d * c;
                all += fabs(d * c);
            }
            most = fmax(most, all);
            if (total > highest) {
                highest = total;
                if (best != NULL) {
                    best[s] = row;
                }
            }
        }
        sum += highest;
        *size += most;
    }
    return sum;
}

nadir_status nadir_mixture_bound(nadir_context *context, const nadir_mixture *mixture, const double *weights,
                                 const double *costs, double *upper, double *visits, int64_t *best)
{
    nadir_status status = NADIR_OK;
    double *paid = NULL;
    double size;
    double total = 0;
    double sum = 0;
    double bound = tie(mixture, costs, best, &size);
    NADIR_NEW(context, paid, mixture->rows);
    for (int64_t k = 0; k < mixture->count; k++) {
        const double *r = mixture->rewards[k];
        const double *c = costs + k * mixture->rows;
        double largest = 0;
        double value;
        for (int64_t row = 0; row < mixture->rows; row++) {
            paid[row] = weights[k] * r[row] - c[row];
            largest = fmax(largest, fabs(weights[k] * r[row]) + fabs(paid[row]));
        }
        NADIR_CHECK(optimum(context, mixture->models[k], paid, &value,
                            visits != NULL ? visits + k * mixture->rows : NULL));
        /* the two operations of `paid` in each row, where one is 1 / (1 - gamma) times at most */
        total += value + weights[k] * mixture->slack[k] +
                 2 * nadir_round_error(4) * largest / (1 - mixture->models[k]->discount);
        size += fabs(value) + fabs(total);
        sum += weights[k];
    }
    bound += total;
    bound = nadir_round_above(bound, size, (double)(mixture->states + 4 * mixture->count) + 16);
    /* weights that sum to 1 + e bound (1 + e) times the least return */
    *upper = sum > 0 ? bound / sum : INFINITY;
    *upper = nadir_round_above(*upper, fabs(*upper), (double)mixture->count + 8);
cleanup:
    nadir_release(context, paid);
    return status;
}
