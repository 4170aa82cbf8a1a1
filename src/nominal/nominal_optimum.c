/* nominal_optimum.c: the optimum of an ordinary decision process, by policy iteration; see nominal_optimum.h. */
#include "nominal/nominal_optimum.h"

#include "base/clock.h"
#include "linalg/distributed.h"
#include "nominal/bellman.h"
#include "nominal/value.h"
#include "nominal/value_check.h"
#include "occupancy/occupancy.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

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
} search;

/* The row of each state that may be the best. */
static void choose_known(search *at)
{
    const nadir_model *model = at->model;
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            at->choice[s] = at->known[row] > at->known[at->choice[s]] ? row : at->choice[s];
        }
    }
}

static nadir_status begin(search *at)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = at->model;
    const double minimum = nadir_kernel_minimum(at->context, at->kernel);
    if (minimum < 0) {
        return nadir_fail(at->context, NADIR_ERROR_ARGUMENT,
                          "the kernel has an entry of %g: it is no decision process and has no optimum",
                          minimum);
    }
    nadir_kernel_measure(at->context, at->kernel, &at->size);
    at->largest_reward = nadir_global_largest(at->context, model->rows, model->rewards);
    at->inner = INNER_TOLERANCE;
    at->smallest_range = INFINITY;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    at->sweep_work = (double)nadir_global_count(at->context, entries);
    at->share = (double)nadir_model_total(model) / (double)nadir_global_count(at->context, model->rows);
    at->work_left = at->from == NULL ? FIRST_SWEEPS * at->sweep_work : 0;
    NADIR_NEW_ZERO(at->context, at->v, model->states);
    NADIR_NEW(at->context, at->value, model->states);
    NADIR_NEW(at->context, at->correction, model->states);
    NADIR_NEW(at->context, at->choice, model->states);
    memcpy(at->choice, model->state_rows, (size_t)model->states * sizeof *at->choice);
    if (at->from != NULL) {
        memcpy(at->v, at->from, (size_t)model->states * sizeof *at->v);
    }
    if (at->known != NULL) {
        choose_known(at);
    }
    NADIR_CHECK(nadir_policy_create_uniform(at->context, model, &at->policy));
cleanup:
    return status;
}

static void finish(search *at)
{
    nadir_release(at->context, at->v);
    nadir_release(at->context, at->value);
    nadir_release(at->context, at->correction);
    nadir_release(at->context, at->choice);
    nadir_occupancy_free(at->context, at->occupancy);
    nadir_policy_free(at->policy);
}

/* gamma rho c for the rho that makes it largest. */
static double discounted(const search *at, double c)
{
    return at->gamma * c * (c > 0 ? at->size.sum_high : at->size.sum_low);
}

/* max - min of Tv - v. */
static double range(const search *at)
{
    return at->pass.highest - at->pass.lowest;
}

static nadir_status not_finite(const search *at)
{
    return nadir_fail(at->context, NADIR_ERROR_NOT_CONVERGED,
                      "the values are not finite: rewards of size %g with discount %.10g are too much",
                      at->largest_reward, at->gamma);
}

/* By how much q of a row can be above what is known of it: by gamma rho max (v - from), and roundings of
 * both. */
static double rise_of(const search *at)
{
    double most = -INFINITY;
    if (at->known == NULL) {
        return 0;
    }
    for (int64_t s = 0; s < at->model->states; s++) {
        most = fmax(most, at->v[s] - at->from[s]);
    }
    most = nadir_allreduce_maximum(at->context, most);
    const double largest = nadir_global_largest(at->context, at->model->states, at->from);
    const double before = nadir_bellman_rounding(&at->size, at->gamma, 1, at->largest_reward, largest);
    return discounted(at, most) + 2 * (at->rounding + before);
}

/* One pass, and what it proves. */
static nadir_status sweep(search *at)
{
    const double largest_v = nadir_global_largest(at->context, at->model->states, at->v);
    at->rounding = nadir_bellman_rounding(&at->size, at->gamma, 1, at->largest_reward, largest_v);
    at->tie = 2 * at->rounding;
    nadir_bellman_maximise(at->context, at->kernel, at->gamma, at->v, at->tie, at->known, rise_of(at),
                           at->choice, at->value, &at->pass);
    at->result.sweeps++;
    at->changed += at->pass.changed;
    if (!at->pass.finite) {
        return not_finite(at);
    }
    const double rho_low = at->size.sum_low;
    const double rho_high = at->size.sum_high;
    const double above = nadir_check_offset(at->pass.highest + at->rounding, at->gamma, rho_low, rho_high);
    const double below = nadir_check_offset(at->rounding - at->pass.lowest, at->gamma, rho_low, rho_high);
    at->high = discounted(at, above) + at->tie + at->rounding;
    at->low = -discounted(at, below) - at->rounding;
    at->middle = at->gamma / (1 - at->gamma) * (at->pass.lowest + range(at) / 2);
    return nadir_progress(at->context, "improving the policy", -1);
}

/* The largest |V*|, near enough. */
static double scale(const search *at)
{
    return fmax(fabs(at->pass.smallest_value + at->middle), fabs(at->pass.largest_value + at->middle));
}

/* NULL: go on. */
static const char *stop_reason(const search *at)
{
    const bool stable = at->occupancy != NULL && at->changed == 0;
    if (stable && range(at) <= 8 * at->rounding) {
        return "stable";
    }
    const double width = at->high - at->low;
    if (isfinite(width) && width <= at->settings.tolerance * scale(at)) {
        return "tolerance";
    }
    if (stable && at->stalls >= PATIENCE && at->inner <= INNER_TIGHTEST) {
        return "stable";
    }
    return at->result.iterations >= at->settings.iterations_limit ? "iterations" : NULL;
}

/* Counts solves that brought nothing, and asks for more accuracy after a few. */
static void watch_progress(search *at)
{
    at->stalls = range(at) > PROGRESS * at->smallest_range ? at->stalls + 1 : 0;
    at->smallest_range = fmin(at->smallest_range, range(at));
    if (at->stalls >= PATIENCE && at->inner > INNER_TIGHTEST) {
        at->inner = fmax(at->inner * INNER_TIGHTER, INNER_TIGHTEST);
        at->stalls = 0;
        nadir_occupancy_free(at->context, at->occupancy);
        at->occupancy = NULL;
    }
}

static void apply_choice(search *at)
{
    const nadir_model *model = at->model;
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            at->policy->probabilities[row] = row == at->choice[s];
        }
    }
}

/* The operator of the present choice. */
static nadir_status factor(search *at)
{
    nadir_status status = NADIR_OK;
    apply_choice(at);
    if (at->base != NULL) {
        nadir_occupancy_free(at->context, at->occupancy);
        at->occupancy = NULL;
        NADIR_CHECK(nadir_occupancy_perturb(at->context, at->base, at->kernel, at->policy, &at->occupancy));
        nadir_occupancy_set_tolerance(at->occupancy, INNER_NEAR);
    } else if (at->occupancy == NULL) {
        NADIR_CHECK(nadir_occupancy_create(at->context, at->kernel, at->policy, at->gamma,
                                           at->settings.backend, at->inner, &at->occupancy));
    } else if (at->changed > 0) {
        NADIR_CHECK(nadir_occupancy_update(at->context, at->occupancy, at->kernel, at->policy));
    }
    at->changed = 0;
    at->inner = nadir_occupancy_has(at->occupancy, NADIR_BACKEND_DIRECT) ? INNER_TIGHTEST : at->inner;
cleanup:
    return status;
}

/*
 * About what a solve took, counted in entries read by sweeps, so that it is the same in every run: products
 * with P^pi, or factoring. Factors of f entries in n rows take about f^2 / n operations, which dense code
 * does some thirty times as fast as a sweep reads entries, and sparse code twice.
 */
static double work_of(const search *at, const nadir_backend_statistics *statistics, int64_t products)
{
    const double n = (double)at->model->states;
    const double bytes = (double)statistics->bytes;
    if (nadir_occupancy_has(at->occupancy, NADIR_BACKEND_DIRECT)) {
        const bool dense = at->model->dense != NULL;
        const double f = bytes / (double)(sizeof(double) + (dense ? 0 : sizeof(int32_t)));
        return f / n * f / (dense ? 30 : 2);
    }
    return (double)products * (at->sweep_work * at->share);
}

/* v <- v + D^pi (Tv - v), with what all states have in common apart: D^pi c 1 = c / (1 - gamma). Not more
 * than that: two large terms that cancel would leave nothing but rounding when gamma is close to 1. */
static nadir_status improve(search *at)
{
    nadir_status status = NADIR_OK;
    const int64_t n = at->model->states;
    const double c = fmin(fmax(0, at->pass.lowest), at->pass.highest);
    nadir_backend_statistics before;
    nadir_backend_statistics after;
    watch_progress(at);
    NADIR_CHECK(factor(at));
    for (int64_t s = 0; s < n; s++) {
        at->value[s] = at->value[s] - at->v[s] - c;
    }
    nadir_occupancy_statistics(at->occupancy, &before);
    NADIR_CHECK(nadir_occupancy_solve(at->context, at->occupancy, 1, at->value, at->correction, NULL));
    nadir_occupancy_statistics(at->occupancy, &after);
    at->result.solves += after.solves - before.solves;
    at->result.products += after.iterations - before.iterations;
    at->result.iterations++;
    at->work_left = work_of(at, &after, after.iterations - before.iterations);
    for (int64_t s = 0; s < n; s++) {
        at->v[s] += at->correction[s] + c / (1 - at->gamma);
    }
cleanup:
    return status;
}

static nadir_status iterate(search *at)
{
    nadir_status status = NADIR_OK;
    for (;;) {
        NADIR_CHECK(sweep(at));
        at->result.stop_reason = stop_reason(at);
        if (at->result.stop_reason != NULL) {
            break;
        }
        if (at->pass.changed > 0 && at->work_left >= at->sweep_work) {
            double *swap = at->v;
            at->v = at->value;
            at->value = swap;
            at->work_left -= at->sweep_work;
        } else {
            NADIR_CHECK(improve(at));
        }
    }
cleanup:
    return status;
}

/* mu . (value + low) and mu . (value + high), outward, and the middle. */
static nadir_status conclude(search *at)
{
    const nadir_model *model = at->model;
    nadir_optimum_result *result = &at->result;
    double rounding;
    const double mean = nadir_global_dot(at->context, model->states, model->initial, at->value, &rounding);
    const double mass = nadir_global_sum(at->context, model->states, model->initial);
    const double spread = fmax(fabs(at->low), fabs(at->high));
    const double slack = rounding + 8 * UNIT * (fabs(mean) + spread) + fabs(mass - 1) * spread;
    const bool known = isfinite(spread); /* rounding overflows next to the largest double */
    result->lower_bound = known ? mean + at->low - slack : -INFINITY;
    result->upper_bound = known ? mean + at->high + slack : INFINITY;
    result->nominal_optimum = mean + at->middle;
    result->residual = range(at);
    if (at->occupancy != NULL) {
        result->backend = nadir_occupancy_backend(at->occupancy);
    }
    return isfinite(result->nominal_optimum) ? NADIR_OK : not_finite(at);
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
    search at = {
        .context = context,
        .kernel = kernel,
        .model = nadir_kernel_model(kernel),
        .gamma = gamma,
        .settings = *settings,
        .base = base,
        .from = start,
        .known = known,
        .result = {.size = sizeof at.result},
    };
    NADIR_CHECK(check_settings(context, settings));
    NADIR_CHECK(begin(&at));
    NADIR_CHECK(iterate(&at));
    NADIR_CHECK(conclude(&at));
    for (int64_t s = 0; s < at.model->states && value != NULL; s++) {
        value[s] = at.value[s] + at.middle;
    }
    apply_choice(&at);
    *policy = at.policy;
    at.policy = NULL;
    if (kept != NULL && at.occupancy != NULL && at.changed == 0 &&
        nadir_occupancy_has(at.occupancy, NADIR_BACKEND_DIRECT)) {
        nadir_occupancy_set_tolerance(at.occupancy, 0);
        *kept = at.occupancy;
        at.occupancy = NULL;
    }
    at.result.seconds = nadir_clock_seconds() - begun;
    *result = at.result;
    if (strcmp(result->stop_reason, "iterations") == 0) {
        status = nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                            "the optimum is between %.10g and %.10g, which is wider than %g of its size, and "
                            "%lld policies, the limit, were tried",
                            result->lower_bound, result->upper_bound, settings->tolerance,
                            (long long)result->iterations);
    }
cleanup:
    finish(&at);
    return status;
}

nadir_status nadir_optimum_of_kernel(nadir_context *context, const nadir_kernel *kernel, double gamma,
                                     const nadir_optimum_settings *settings, const double *start,
                                     double *value, nadir_policy **policy, nadir_optimum_result *result)
{
    return optimise(context, kernel, gamma, settings, start, NULL, value, policy, result, NULL, NULL);
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
        (void)nadir_result_copy(result, &found, sizeof found);
    }
cleanup:
    nadir_kernel_free(kernel);
    return status;
}
