/* nominal_optimum.c: the optimum of an ordinary decision process, by policy iteration; see
 * nominal_optimum.h. */
#include "solve/nominal_optimum.h"

#include "core/context.h"
#include "core/round.h"
#include "linalg/distributed.h"
#include "model/landing.h"
#include "solve/occupancy.h"
#include "solve/value.h"

#include <math.h>
#include <string.h>

/* Sweeps v <- Tv before the first solve. They carry news of a better action to the states around it, as
 * solves do, and nobody knows beforehand which of both is cheaper: afterwards the work is shared equally. */
#define FIRST_SWEEPS 8

/* Accuracy of corrections from iterative backends: at first, and how it is tightened when the range of
 * Tv - v has not fallen below PROGRESS of its smallest for PATIENCE solves. Direct ones are tight anyway. */
#define INNER_TOLERANCE 1e-1
#define INNER_TIGHTER   1e-3
#define INNER_TIGHTEST  1e-12
#define INNER_NEAR      1e-4 /* of solves through those of a near kernel */
#define PROGRESS        0.9
#define PATIENCE        5

typedef struct search {
    nadir_context *context;
    const nadir_kernel *kernel;
    const nadir_model *model;
    double gamma;
    nadir_optimum_settings settings;
    nadir_kernel_size size;
    double largest_reward;
    double *v;          /* [states] */
    double *value;      /* [states] q of the chosen row */
    double *correction; /* [states] */
    int64_t *choice;    /* [states] the row of the policy */
    nadir_policy *policy;
    nadir_occupancy *base;      /* through which to solve; NULL: none */
    const double *from, *known; /* [states] the first v, and [rows] about the most that q is there; or NULL */
    nadir_occupancy *occupancy; /* of an earlier choice; NULL before the first solve */
    int64_t changed;            /* states whose choice is not that of `occupancy` */
    double inner;
    double smallest_range;
    int stalls;
    double sweep_work; /* entries read by a sweep */
    double share;      /* of them that P^pi has: one row of each state */
    double work_left;  /* for sweeps before the next solve */
    nadir_bellman_pass pass;
    double rounding;  /* of the pass */
    double tie;       /* `value` may be this far below Tv */
    double low, high; /* value + low <= V^pi, V* <= value + high, in every state */
    double middle;    /* value + middle: V*, as near as can be told; between low and high */
    nadir_optimum_result result;
    nadir_stop stop;
} search;

/* The row of each state that may be the best. */
static void choose_known(search *self)
{
    const nadir_model *model = self->model;
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            self->choice[s] = self->known[row] > self->known[self->choice[s]] ? row : self->choice[s];
        }
    }
}

static nadir_status begin(search *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    double minimum;
    NADIR_CHECK(nadir_kernel_minimum(self->context, self->kernel, &minimum));
    if (minimum < 0) {
        return nadir_fail(self->context, NADIR_ERROR_ARGUMENT,
                          "the kernel has an entry of %g: it is no decision process and has no optimum",
                          minimum);
    }
    nadir_kernel_measure(self->context, self->kernel, &self->size);
    self->largest_reward = nadir_landing_reward_size(self->context, model, self->size.largest);
    self->inner = INNER_TOLERANCE;
    self->smallest_range = INFINITY;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    self->sweep_work = (double)nadir_global_count(self->context, entries);
    self->share = (double)nadir_model_total(model) / (double)nadir_global_count(self->context, model->rows);
    self->work_left = self->from == NULL ? FIRST_SWEEPS * self->sweep_work : 0;
    NADIR_NEW_ZERO(self->context, self->v, model->states);
    NADIR_NEW(self->context, self->value, model->states);
    NADIR_NEW(self->context, self->correction, model->states);
    NADIR_NEW(self->context, self->choice, model->states);
    memcpy(self->choice, model->state_rows, (size_t)model->states * sizeof *self->choice);
    if (self->from != NULL) {
        memcpy(self->v, self->from, (size_t)model->states * sizeof *self->v);
    }
    if (self->known != NULL) {
        choose_known(self);
    }
    NADIR_CHECK(nadir_policy_create_uniform(self->context, model, &self->policy));
cleanup:
    return status;
}

static void finish(search *self)
{
    NADIR_RELEASE(self->context, self->v, self->value, self->correction, self->choice);
    nadir_occupancy_free(self->context, self->occupancy);
    nadir_policy_free(self->policy);
}

/* gamma rho c for the rho that makes it largest. */
static double discounted(const search *self, double c)
{
    return self->gamma * c * (c > 0 ? self->size.sum_high : self->size.sum_low);
}

/* max - min of Tv - v. */
static double range(const search *self)
{
    return self->pass.highest - self->pass.lowest;
}

static nadir_status not_finite(const search *self)
{
    return nadir_fail(self->context, NADIR_ERROR_NOT_CONVERGED,
                      "the values are not finite: rewards of size %g with discount %.10g are too much",
                      self->largest_reward, self->gamma);
}

/* By how much q of a row can be above what is known of it: by gamma rho max (v - from), and roundings of
 * both. */
static double rise_of(const search *self)
{
    double most = -INFINITY;
    if (self->known == NULL) {
        return 0;
    }
    for (int64_t s = 0; s < self->model->states; s++) {
        most = fmax(most, self->v[s] - self->from[s]);
    }
    most = nadir_allreduce_maximum(self->context, most);
    const double largest = nadir_global_largest(self->context, self->model->states, self->from);
    const double before = nadir_bellman_rounding(&self->size, self->gamma, 1, self->largest_reward, largest);
    return discounted(self, most) + 2 * (self->rounding + before);
}

/* One pass, and what it proves. */
static nadir_status sweep(search *self)
{
    const double largest_v = nadir_global_largest(self->context, self->model->states, self->v);
    self->rounding = nadir_bellman_rounding(&self->size, self->gamma, 1, self->largest_reward, largest_v);
    self->tie = 2 * self->rounding;
    nadir_bellman_maximise(self->context, self->kernel, self->gamma, self->v, self->tie, self->known,
                           rise_of(self), self->choice, self->value, &self->pass);
    self->result.sweeps++;
    self->changed += self->pass.changed;
    if (!self->pass.finite) {
        return not_finite(self);
    }
    const double rho_low = self->size.sum_low;
    const double rho_high = self->size.sum_high;
    const double above =
        nadir_check_offset(self->pass.highest + self->rounding, self->gamma, rho_low, rho_high, 0);
    const double below =
        nadir_check_offset(self->rounding - self->pass.lowest, self->gamma, rho_low, rho_high, 0);
    self->high = discounted(self, above) + self->tie + self->rounding;
    self->low = -discounted(self, below) - self->rounding;
    self->middle = self->gamma / (1 - self->gamma) * (self->pass.lowest + range(self) / 2);
    return nadir_progress(self->context, "improving the policy", -1);
}

/* The largest |V*| of the model's rewards, near enough. */
static double scale(const search *self)
{
    if (self->model->landing.g != NULL) {
        return nadir_landing_value_size(self->context, self->model, self->value, self->middle);
    }
    return fmax(fabs(self->pass.smallest_value + self->middle),
                fabs(self->pass.largest_value + self->middle));
}

static nadir_stop reason_to_stop(const search *self)
{
    const bool stable = self->occupancy != NULL && self->changed == 0;
    if (stable && range(self) <= 8 * self->rounding) {
        return NADIR_STOP_STABLE;
    }
    const double width = self->high - self->low;
    if (isfinite(width) && width <= self->settings.tolerance * scale(self)) {
        return NADIR_STOP_TOLERANCE;
    }
    if (stable && self->stalls >= PATIENCE && self->inner <= INNER_TIGHTEST) {
        return NADIR_STOP_STABLE;
    }
    return self->result.iterations >= self->settings.iterations_limit ? NADIR_STOP_ITERATIONS
                                                                      : NADIR_STOP_NONE;
}

/* Counts solves that brought nothing, and asks for more accuracy after a few. */
static void watch_progress(search *self)
{
    self->stalls = range(self) > PROGRESS * self->smallest_range ? self->stalls + 1 : 0;
    self->smallest_range = fmin(self->smallest_range, range(self));
    if (self->stalls >= PATIENCE && self->inner > INNER_TIGHTEST) {
        self->inner = fmax(self->inner * INNER_TIGHTER, INNER_TIGHTEST);
        self->stalls = 0;
        nadir_occupancy_free(self->context, self->occupancy);
        self->occupancy = NULL;
    }
}

static void apply_choice(search *self)
{
    const nadir_model *model = self->model;
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            self->policy->probabilities[row] = row == self->choice[s];
        }
    }
}

/* The operator of the present choice. */
static nadir_status factor(search *self)
{
    apply_choice(self);
    if (self->base != NULL) {
        nadir_occupancy_free(self->context, self->occupancy);
        self->occupancy = NULL;
        NADIR_TRY(
            nadir_occupancy_perturb(self->context, self->base, self->kernel, self->policy, &self->occupancy));
        nadir_occupancy_set_tolerance(self->occupancy, INNER_NEAR);
    } else if (self->occupancy == NULL) {
        NADIR_TRY(nadir_occupancy_create(self->context, self->kernel, self->policy, self->gamma,
                                         self->settings.backend, self->inner, &self->occupancy));
    } else if (self->changed > 0) {
        NADIR_TRY(nadir_occupancy_update(self->context, self->occupancy, self->kernel, self->policy));
    }
    self->changed = 0;
    self->inner = nadir_occupancy_has(self->occupancy, NADIR_BACKEND_DIRECT) ? INNER_TIGHTEST : self->inner;
    return NADIR_OK;
}

/*
 * About what a solve took, counted in entries read by sweeps, so that it is the same in every run: products
 * with P^pi, or factoring. Factors of f entries in n rows take about f^2 / n operations, which dense code
 * does some thirty times as fast as a sweep reads entries, and sparse code twice.
 */
static double work_of(const search *self, const nadir_backend_statistics *statistics, int64_t products)
{
    const double n = (double)self->model->states;
    const double bytes = (double)statistics->bytes;
    if (nadir_occupancy_has(self->occupancy, NADIR_BACKEND_DIRECT)) {
        const bool dense = self->model->dense != NULL;
        const double f = bytes / (double)(sizeof(double) + (dense ? 0 : sizeof(int32_t)));
        return f / n * f / (dense ? 30 : 2);
    }
    return (double)products * (self->sweep_work * self->share);
}

/* v <- v + D^pi (Tv - v), with what all states have in common apart: D^pi c 1 = c / (1 - gamma). Not more
 * than that: two large terms that cancel would leave nothing but rounding when gamma is close to 1. */
static nadir_status improve(search *self)
{
    const int64_t n = self->model->states;
    const double c = fmin(fmax(0, self->pass.lowest), self->pass.highest);
    nadir_backend_statistics before;
    nadir_backend_statistics after;
    watch_progress(self);
    NADIR_TRY(factor(self));
    for (int64_t s = 0; s < n; s++) {
        self->value[s] = self->value[s] - self->v[s] - c;
    }
    nadir_occupancy_statistics(self->occupancy, &before);
    NADIR_TRY(nadir_occupancy_solve(self->context, self->occupancy, 1, self->value, self->correction, NULL));
    nadir_occupancy_statistics(self->occupancy, &after);
    self->result.solves += after.solves - before.solves;
    self->result.products += after.iterations - before.iterations;
    self->result.iterations++;
    self->work_left = work_of(self, &after, after.iterations - before.iterations);
    for (int64_t s = 0; s < n; s++) {
        self->v[s] += self->correction[s] + c / (1 - self->gamma);
    }
    return NADIR_OK;
}

static nadir_status iterate(search *self)
{
    for (;;) {
        NADIR_TRY(sweep(self));
        self->stop = reason_to_stop(self);
        if (self->stop != NADIR_STOP_NONE) {
            break;
        }
        if (self->pass.changed > 0 && self->work_left >= self->sweep_work) {
            double *swap = self->v;
            self->v = self->value;
            self->value = swap;
            self->work_left -= self->sweep_work;
        } else {
            NADIR_TRY(improve(self));
        }
    }
    return NADIR_OK;
}

/* mu . (value + low) and mu . (value + high), outward, and the middle. */
static nadir_status conclude(search *self)
{
    const nadir_model *model = self->model;
    nadir_optimum_result *result = &self->result;
    double rounding;
    const double mean =
        nadir_global_dot(self->context, model->states, model->initial, self->value, &rounding);
    const double mass = nadir_global_sum(self->context, model->states, model->initial);
    const double farthest = fmax(fabs(self->low), fabs(self->high));
    const double slack =
        rounding + 8 * NADIR_ROUND_UNIT * (fabs(mean) + farthest) + fabs(mass - 1) * farthest;
    const bool known = isfinite(farthest); /* rounding overflows next to the largest double */
    result->lower_bound = known ? mean + self->low - slack : -INFINITY;
    result->upper_bound = known ? mean + self->high + slack : INFINITY;
    result->nominal_optimum = mean + self->middle;
    result->residual = range(self);
    if (self->occupancy != NULL) {
        result->backend = nadir_occupancy_backend(self->occupancy);
    }
    return isfinite(result->nominal_optimum) ? NADIR_OK : not_finite(self);
}

static nadir_status check_settings(nadir_context *context, const nadir_optimum_settings *settings)
{
    const nadir_backend *backend;
    if (!(settings->tolerance > 0) || settings->iterations_limit < 1) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the tolerance is %g and the limit of iterations %lld; expected more than 0",
                          settings->tolerance, (long long)settings->iterations_limit);
    }
    return nadir_backend_named(context, settings->backend, &backend);
}

/* kept: see nadir_optimum_with_operator; NULL: nobody wants it. */
static nadir_status optimise(nadir_context *context, const nadir_kernel *kernel, double gamma,
                             const nadir_optimum_settings *settings, const double *start, const double *known,
                             double *value, nadir_policy **policy, nadir_optimum_result *result,
                             nadir_occupancy *base, nadir_occupancy **kept)
{
    nadir_status status = NADIR_OK;
    const double begun = nadir_clock_seconds();
    search run = {
        .context = context,
        .kernel = kernel,
        .model = nadir_kernel_model(kernel),
        .gamma = gamma,
        .settings = *settings,
        .base = base,
        .from = start,
        .known = known,
        .result = {.size = sizeof run.result},
    };
    NADIR_CHECK(check_settings(context, settings));
    if (gamma == 1) {
        return nadir_proper_optimum(context, kernel, settings, value, policy, result);
    }
    NADIR_CHECK(begin(&run));
    NADIR_CHECK(iterate(&run));
    NADIR_CHECK(conclude(&run));
    for (int64_t s = 0; s < run.model->states && value != NULL; s++) {
        value[s] = run.value[s] + run.middle;
    }
    apply_choice(&run);
    *policy = run.policy;
    run.policy = NULL;
    if (kept != NULL && run.occupancy != NULL && run.changed == 0 &&
        nadir_occupancy_has(run.occupancy, NADIR_BACKEND_DIRECT)) {
        nadir_occupancy_set_tolerance(run.occupancy, 0);
        *kept = run.occupancy;
        run.occupancy = NULL;
    }
    run.result.seconds = nadir_clock_seconds() - begun;
    run.result.stop_reason = nadir_stop_name(run.stop);
    *result = run.result;
    if (run.stop == NADIR_STOP_ITERATIONS) {
        status = nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                            "the optimum is between %.10g and %.10g, which is wider than %g of its size, and "
                            "%lld policies, the limit, were tried",
                            result->lower_bound, result->upper_bound, settings->tolerance,
                            (long long)result->iterations);
    }
cleanup:
    finish(&run);
    return status;
}

nadir_status nadir_optimum_warm_started(nadir_context *context, const nadir_kernel *kernel, double gamma,
                                        const nadir_optimum_settings *settings, nadir_occupancy *base,
                                        const double *start, const double *known, double *value,
                                        nadir_policy **policy, nadir_optimum_result *result)
{
    return optimise(context, kernel, gamma, settings, start, known, value, policy, result, base, NULL);
}

void nadir_optimum_settings_fill(nadir_optimum_settings *settings, size_t size)
{
    const nadir_optimum_settings made = {.tolerance = 1e-9, .iterations_limit = 10000};
    nadir_settings_give(settings, size, &made, sizeof made);
}

nadir_status nadir_optimum(nadir_context *context, nadir_model *model, const nadir_optimum_settings *settings,
                           nadir_policy **policy, nadir_optimum_result *result)
{
    return nadir_optimum_with_operator(context, model, settings, policy, result, NULL);
}

nadir_status nadir_optimum_with_operator(nadir_context *context, nadir_model *model,
                                         const nadir_optimum_settings *settings, nadir_policy **policy,
                                         nadir_optimum_result *result, nadir_occupancy **occupancy)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *kernel = NULL;
    nadir_optimum_settings use;
    nadir_optimum_result found = {.size = sizeof found};
    *policy = NULL;
    nadir_optimum_settings_default(&use);
    if (settings != NULL && !nadir_settings_copy(&use, sizeof use, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the optimum settings is not set");
    }
    if (!nadir_result_copy(result, &found, sizeof found)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the optimum result is not set");
    }
    NADIR_CHECK(nadir_value_check_model(context, model));
    NADIR_CHECK(nadir_kernel_create(context, model, &kernel));
    status =
        optimise(context, kernel, model->discount, &use, NULL, NULL, NULL, policy, &found, NULL, occupancy);
    if (*policy != NULL) {
        found.nominal_optimum = nadir_landing_return(model, found.nominal_optimum);
        found.lower_bound = nadir_landing_lower(model, found.lower_bound);
        found.upper_bound = nadir_landing_upper(model, found.upper_bound);
        (void)nadir_result_copy(result, &found, sizeof found);
    }
cleanup:
    nadir_kernel_free(kernel);
    return status;
}
