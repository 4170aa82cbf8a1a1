/*
 * proper_optimum.c: the optimum of a decision process that ends, without a discount.
 *
 * Policy iteration from the uniform policy, which ends. An action is taken only where it is better by more than
 * rounding: a new class of states that is never left then earns something for ever, and the optimum is infinite;
 * otherwise the next policy ends as well. Ties must not be broken: they may lead round in circles.
 *
 * With v >= R + P_sa v - excess for all rows, and w >= 1 + P_sa w, V* <= v + excess w: all policies end then. Where they
 * do not, rewards of at most -c in every step prove V* <= (1 - excess / c) v; probabilities are bounded in probability_bound.c.
 */
#include "core/round.h"
#include "linalg/distributed.h"
#include "model/landing.h"
#include "model/terminal.h"
#include "solve/nominal_optimum.h"
#include "solve/value.h"

#include <math.h>
#include <string.h>

/* What is gained by less than this share of the largest value is a tie. */
#define TIE 1e-12

typedef struct proper_search {
    nadir_context *context;
    const nadir_kernel *kernel;
    const nadir_model *model;
    const nadir_optimum_settings *settings;
    bool steps; /* the reward is 1 in every step: the longest duration */
    nadir_policy *policy;
    nadir_occupancy *occupancy;
    double *R, *v; /* [states] */
    double *q;     /* [rows] */
    double excess; /* max over rows of q - v, as computed */
    int64_t iterations;
    bool stable;
} proper_search;

static double reward_of(const proper_search *self, int64_t row)
{
    return self->steps ? 1 : nadir_kernel_reward(self->kernel, row);
}

static nadir_status prepare(proper_search *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->model->states;
    NADIR_NEW(self->context, self->R, 2 * n);
    self->v = self->R + n;
    NADIR_NEW(self->context, self->q, self->model->rows);
    NADIR_CHECK(nadir_policy_create_uniform(self->context, self->model, &self->policy));
    NADIR_CHECK(nadir_terminal_check_policy(self->context, self->model, self->policy->probabilities));
cleanup:
    return status;
}

static void finish(proper_search *self)
{
    NADIR_RELEASE(self->context, self->R, self->q);
    nadir_occupancy_free(self->context, self->occupancy);
    nadir_policy_free(self->policy);
}

/* v and q of the policy. */
static nadir_status evaluate(proper_search *self)
{
    const nadir_model *model = self->model;
    const double *pi = self->policy->probabilities;
    if (self->occupancy == NULL) {
        NADIR_TRY(nadir_occupancy_create(self->context, self->kernel, self->policy, 1,
                                         self->settings->backend, 0, &self->occupancy));
    } else {
        NADIR_TRY(nadir_occupancy_update(self->context, self->occupancy, self->kernel, self->policy));
    }
    for (int64_t s = 0; s < model->states; s++) {
        self->R[s] = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            self->R[s] += pi[row] * reward_of(self, row);
        }
    }
    NADIR_TRY(nadir_occupancy_solve(self->context, self->occupancy, 1, self->R, self->v, NULL));
    nadir_kernel_multiply(self->context, self->kernel, self->v, self->q);
    for (int64_t row = 0; row < model->rows; row++) {
        self->q[row] += reward_of(self, row);
    }
    self->iterations++;
    return nadir_progress(self->context, "improving the policy", -1);
}

/* Takes what is better; returns in how many states. */
static int64_t improve(proper_search *self)
{
    const nadir_model *model = self->model;
    double largest = 0;
    int64_t changed = 0;
    self->excess = -INFINITY;
    for (int64_t s = 0; s < model->states; s++) {
        largest = fmax(largest, fabs(self->v[s]));
    }
    for (int64_t s = 0; s < model->states; s++) {
        int64_t best = model->state_rows[s];
        for (int64_t row = best; row < model->state_rows[s + 1]; row++) {
            best = self->q[row] > self->q[best] ? row : best;
        }
        const double gain = self->q[best] - self->v[s];
        self->excess = fmax(self->excess, gain);
        if (gain > TIE * largest) {
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                self->policy->probabilities[row] = row == best;
            }
            changed++;
        }
    }
    return changed;
}

/* After a failure with NADIR_ERROR_ILL_POSED the optimum is infinite. */
static nadir_status iterate(proper_search *self)
{
    NADIR_TRY(prepare(self));
    while (!self->stable && self->iterations < self->settings->iterations_limit) {
        NADIR_TRY(evaluate(self));
        for (int64_t s = 0; self->steps && s < self->model->states; s++) {
            if (!(self->v[s] > 0)) {
                return nadir_fail(self->context, NADIR_ERROR_ILL_POSED, "some policy never ends");
            }
        }
        self->stable = improve(self) == 0;
    }
    return NADIR_OK;
}

/* By how much q - v, as computed, may be off. */
static double rounding_of(const proper_search *self)
{
    nadir_kernel_size size;
    nadir_kernel_measure(self->context, self->kernel, &size);
    const double reward =
        self->steps ? 1 : nadir_landing_reward_size(self->context, self->model, size.largest);
    double largest = 0;
    for (int64_t s = 0; s < self->model->states; s++) {
        largest = fmax(largest, fabs(self->v[s]));
    }
    return nadir_bellman_rounding(&size, 1, 1, reward, largest) + nadir_landing_drift(self->model, 1);
}

/* At least max over all policies of mu . D 1; infinity: some policy may not end. */
static double bound_duration(nadir_context *context, const nadir_kernel *kernel,
                             const nadir_optimum_settings *settings)
{
    proper_search longest = {.context = context,
                             .kernel = kernel,
                             .model = nadir_kernel_model(kernel),
                             .settings = settings,
                             .steps = true};
    double found = INFINITY;
    if (iterate(&longest) == NADIR_OK && longest.stable) {
        const int64_t n = longest.model->states;
        const double lack = longest.excess + rounding_of(&longest);
        double rounding;
        const double mean = nadir_global_dot(context, n, longest.model->initial, longest.v, &rounding);
        found = lack < 0.5 ? nadir_round_up((mean + rounding) / (1 - fmax(lack, 0)), 8) : INFINITY;
    }
    finish(&longest);
    return found;
}

/* At least V* of mu. */
static nadir_status bound_above(nadir_context *context, const proper_search *self, double *upper)
{
    const nadir_model *model = self->model;
    const double excess = fmax(0, self->excess + rounding_of(self));
    double rounding;
    double least = INFINITY; /* what a step costs */
    const double mean = nadir_global_dot(context, model->states, model->initial, self->v, &rounding);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s];
             !nadir_model_ends(model, s) && row < model->state_rows[s + 1]; row++) {
            least = fmin(least, -nadir_kernel_reward(self->kernel, row));
        }
    }
    const double slack = rounding + nadir_round_error(8) * fabs(mean);
    *upper = model->reaches ? 1 : INFINITY;
    if (least > excess && !model->reaches) {
        *upper = fmin(*upper, mean + nadir_round_up(excess / least, 8) * fabs(mean) + slack);
    }
    if (model->reaches) {
        NADIR_TRY(nadir_probability_bound(context, self->kernel, self->occupancy, self->v, upper));
    }
    if (*upper > mean + slack && (!model->reaches || *upper == 1)) {
        *upper = fmin(
            *upper,
            mean + nadir_round_up(excess * bound_duration(context, self->kernel, self->settings), 8) + slack);
    }
    return NADIR_OK;
}

nadir_status nadir_proper_optimum(nadir_context *context, const nadir_kernel *kernel,
                                  const nadir_optimum_settings *settings, double *value,
                                  nadir_policy **policy, nadir_optimum_result *result)
{
    nadir_status status = NADIR_OK;
    const double begun = nadir_clock_seconds();
    nadir_value_check check;
    double rounding;
    proper_search run = {
        .context = context, .kernel = kernel, .model = nadir_kernel_model(kernel), .settings = settings};
    status = iterate(&run);
    if (status == NADIR_ERROR_ILL_POSED && run.iterations > 0) {
        status =
            nadir_fail(context, NADIR_ERROR_ILL_POSED,
                       "some policy earns rewards for ever and never ends: the optimum is infinite; give a "
                       "discount below 1");
    }
    NADIR_CHECK(status);
    NADIR_CHECK(nadir_value_check_rows(context, kernel, run.policy, 1, run.v, &check));
    const double mean = nadir_global_dot(context, run.model->states, run.model->initial, run.v, &rounding);
    result->nominal_optimum = fmin(fmax(mean, check.lower), check.upper);
    result->lower_bound = check.lower - nadir_landing_drift(run.model, 1 / check.gap);
    NADIR_CHECK(bound_above(context, &run, &result->upper_bound));
    result->upper_bound = fmax(result->upper_bound, check.lower);
    result->residual = fmax(0, run.excess);
    result->stop_reason = nadir_stop_name(run.stable ? NADIR_STOP_STABLE : NADIR_STOP_ITERATIONS);
    result->backend = nadir_occupancy_backend(run.occupancy);
    result->iterations = run.iterations;
    result->sweeps = run.iterations;
    result->solves = run.iterations;
    result->seconds = nadir_clock_seconds() - begun;
    if (value != NULL) {
        memcpy(value, run.v, (size_t)run.model->states * sizeof *value);
    }
    *policy = run.policy;
    run.policy = NULL;
    if (!run.stable) {
        status = nadir_fail(context, NADIR_ERROR_NOT_CONVERGED, "%lld policies, the limit, were tried",
                            (long long)run.iterations);
    }
cleanup:
    finish(&run);
    return status;
}
