/* cone_norm.c: max |A x|_2 over x >= 0, |x|_2 <= 1, by the method asked for, with bounds; see nadir.h. */
#include "cone/cone.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LEADING = 8 }; /* eigenvectors that the power iterations start from */

typedef enum order {
    ORDER_POWER,
    ORDER_ZERO,
    ORDER_FIRST,
    ORDER_SECOND,
    ORDER_THIRD,
    ORDER_PAPER,
    ORDER_RANDOM,
    ORDER_SLSQP
} order;
static const char *const names[] = {"power", "0", "1", "2", "3", "paper", "random", "slsqp"};
enum { ORDERS = sizeof names / sizeof names[0] };

/* How many eigenvectors an order needs, at most n; at least two, for the bounds. */
static int64_t vectors_for(order which, int64_t n)
{
    int64_t count = 2;
    if (which == ORDER_FIRST || which == ORDER_PAPER) {
        count = n;
    } else if (which == ORDER_POWER) {
        count = LEADING;
    } else if (which == ORDER_THIRD) {
        count = 3;
    }
    return count < n ? count : n;
}

/* Orders random and slsqp, which need no eigenvectors and have a budget. */
static nadir_status search_in_budget(nadir_context *context, const nadir_cone *cone, order which,
                                     const nadir_cone_norm_settings *use, double *x,
                                     nadir_cone_norm_result *found)
{
    nadir_status status = NADIR_OK;
    nadir_trajectory trajectory;
    const nadir_budget budget = {use->seconds, use->samples, use->tolerance};
    nadir_trajectory_start(which == ORDER_RANDOM ? "random points" : "slsqp", &budget, &trajectory);
    if (which == ORDER_RANDOM) {
        NADIR_CHECK(nadir_cone_random(context, cone, &trajectory, x));
    } else {
        NADIR_CHECK(nadir_cone_slsqp(context, cone, &trajectory, x));
    }
    found->samples = trajectory.samples;
    if (use->record) {
        found->points = trajectory.points;
        found->points_count = trajectory.count;
        trajectory.points = NULL;
    }
cleanup:
    nadir_trajectory_clear(context, &trajectory);
    return status;
}

static nadir_status search(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                           order which, double *x)
{
    switch (which) {
    case ORDER_ZERO:
        nadir_cone_zero(cone, spectrum, x);
        return NADIR_OK;
    case ORDER_FIRST:
        return nadir_cone_first(context, cone, spectrum, x);
    case ORDER_SECOND:
        return nadir_cone_circle(context, cone, spectrum, x);
    case ORDER_THIRD:
        return nadir_cone_sphere(context, cone, spectrum, x);
    case ORDER_PAPER:
        nadir_cone_scored(cone, spectrum, NADIR_CONE_SCORE_PRINTED, x);
        return NADIR_OK;
    case ORDER_POWER:
    case ORDER_RANDOM:
    case ORDER_SLSQP:
        break;
    }
    return nadir_cone_power(context, cone, spectrum, x);
}

/* A bound for A from one for B; rounded up where it underflows. */
static double unscale_up(const nadir_cone *cone, double bound)
{
    const double unscaled = ldexp(bound, cone->exponent);
    return bound > 0 && unscaled < DBL_MIN ? nextafter(unscaled, INFINITY) : unscaled;
}

static nadir_status unscale_value(nadir_context *context, const nadir_cone *cone, const double *x,
                                  double *value)
{
    nadir_status status = NADIR_OK;
    double *product = NULL;
    NADIR_NEW(context, product, cone->rows);
    *value = ldexp(nadir_cone_value(context, cone, x, product), cone->exponent);
    if (!isfinite(*value)) {
        status = nadir_fail(context, NADIR_ERROR_ILL_POSED,
                            "the norm is beyond the largest double, %g: divide the matrix by some number",
                            DBL_MAX);
    }
cleanup:
    nadir_release(context, product);
    return status;
}

static nadir_status find_value(nadir_context *context, const nadir_cone *cone, order which,
                               const nadir_cone_norm_settings *use, nadir_spectrum *spectrum, double *x,
                               nadir_cone_norm_result *found)
{
    nadir_status status = NADIR_OK;
    const double begun = nadir_clock_seconds();
    if (which == ORDER_RANDOM || which == ORDER_SLSQP) {
        NADIR_CHECK(search_in_budget(context, cone, which, use, x, found));
    } else {
        NADIR_CHECK(nadir_cone_spectrum(context, cone, vectors_for(which, cone->columns), spectrum));
        NADIR_CHECK(search(context, cone, spectrum, which, x));
    }
    NADIR_CHECK(unscale_value(context, cone, x, &found->value));
    for (int64_t i = 0; i < cone->columns; i++) {
        found->support += x[i] > 0;
    }
    found->seconds_value += nadir_clock_seconds() - begun;
cleanup:
    return status;
}

static nadir_status find_bounds(nadir_context *context, const nadir_cone *cone, nadir_spectrum *spectrum,
                                const nadir_cone_norm_settings *use, const double *x,
                                nadir_cone_norm_result *found)
{
    nadir_status status = NADIR_OK;
    const double begun = nadir_clock_seconds();
    double zero;
    double first;
    if (spectrum->count == 0) { /* the search needed none */
        NADIR_CHECK(nadir_cone_spectrum(context, cone, vectors_for(ORDER_RANDOM, cone->columns), spectrum));
    }
    nadir_cone_spectral_bounds(context, cone, spectrum, &zero, &first);
    found->zero_bound = fmax(unscale_up(cone, zero), found->value);
    found->first_bound = fmax(unscale_up(cone, first), found->value);
    found->upper_bound = found->first_bound;
    if (use->bounds) {
        nadir_cone_dual_result dual;
        NADIR_CHECK(nadir_cone_dual(context, cone, x, use->tolerance, use->iterations_limit, &dual));
        found->dual_bound = fmax(unscale_up(cone, dual.bound), found->value);
        found->upper_bound = fmin(found->upper_bound, found->dual_bound);
        found->iterations = dual.iterations;
    }
    found->seconds_bounds = nadir_clock_seconds() - begun;
cleanup:
    return status;
}

/* The zero matrix: every x is a maximiser. */
static void give_zero(bool bounds, double *x, nadir_cone_norm_result *found)
{
    x[0] = 1;
    found->dual_bound = bounds ? 0 : NAN;
    found->support = 1;
}

static nadir_status read_settings(nadir_context *context, const nadir_cone_norm_settings *settings,
                                  nadir_cone_norm_settings *use, order *which)
{
    nadir_cone_norm_settings_default(use);
    if (settings != NULL && !nadir_settings_copy(use, sizeof *use, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the cone norm settings is not set");
    }
    int place = 0;
    while (use->order != NULL && place < ORDERS && strcmp(names[place], use->order) != 0) {
        place++;
    }
    if (place == ORDERS) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "order '%s'; expected 0, 1, 2, 3, paper, power, random or slsqp", use->order);
    }
    if (!(use->tolerance > 0) || use->iterations_limit < 0) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the tolerance is %g and the limit of iterations %lld; expected more than 0, and 0 "
                          "or more",
                          use->tolerance, (long long)use->iterations_limit);
    }
    if (use->samples < 1 || !(use->seconds > 0)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the budget is %g seconds and %lld samples; expected more than 0", use->seconds,
                          (long long)use->samples);
    }
    *which = (order)place;
    return NADIR_OK;
}

void nadir_cone_norm_settings_fill(nadir_cone_norm_settings *settings, size_t size)
{
    const nadir_cone_norm_settings made = {
        .tolerance = 1e-6, .iterations_limit = 1000, .samples = 10000, .seconds = INFINITY};
    nadir_settings_give(settings, size, &made, sizeof made);
}

nadir_status nadir_cone_norm(nadir_context *context, int64_t rows, int64_t columns, const double *matrix,
                             const nadir_cone_norm_settings *settings, double *x,
                             nadir_cone_norm_result *result)
{
    nadir_status status = NADIR_OK;
    nadir_cone_norm_settings use;
    nadir_cone_norm_result found = {.size = sizeof found, .dual_bound = NAN};
    nadir_cone cone = {0};
    nadir_spectrum spectrum = {0};
    double *point = NULL;
    order which = ORDER_POWER;
    if (!nadir_result_copy(result, &found, sizeof found)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the cone norm result is not set");
    }
    NADIR_CHECK(read_settings(context, settings, &use, &which));
    found.order = names[which];
    if (which == ORDER_SLSQP) {
        NADIR_CHECK(nadir_cone_slsqp_check(context, columns));
    }
    const double begun = nadir_clock_seconds();
    NADIR_CHECK(nadir_cone_open(context, rows, columns, matrix, &cone));
    NADIR_NEW_ZERO(context, point, columns);
    found.seconds_value = nadir_clock_seconds() - begun;
    if (cone.trace == 0) {
        give_zero(use.bounds, point, &found);
    } else {
        NADIR_CHECK(find_value(context, &cone, which, &use, &spectrum, point, &found));
        NADIR_CHECK(find_bounds(context, &cone, &spectrum, &use, point, &found));
    }
    if (x != NULL) {
        memcpy(x, point, (size_t)columns * sizeof *x);
    }
    (void)nadir_result_copy(result, &found, sizeof found);
    if (result->size >= sizeof found) { /* they are the caller's now */
        found.points = NULL;
    }
cleanup:
    nadir_trajectory_free(context, found.points);
    nadir_release(context, point);
    nadir_spectrum_close(context, &spectrum);
    nadir_cone_close(context, &cone);
    return status;
}

nadir_status nadir_cone_norm_scored(nadir_context *context, int64_t rows, int64_t columns,
                                    const double *matrix, nadir_cone_score score, double *x, double *value)
{
    nadir_status status = NADIR_OK;
    nadir_cone cone = {0};
    nadir_spectrum spectrum = {0};
    NADIR_CHECK(nadir_cone_open(context, rows, columns, matrix, &cone));
    NADIR_CHECK(nadir_cone_spectrum(context, &cone, columns, &spectrum));
    nadir_cone_scored(&cone, &spectrum, score, x);
    NADIR_CHECK(unscale_value(context, &cone, x, value));
cleanup:
    nadir_spectrum_close(context, &spectrum);
    nadir_cone_close(context, &cone);
    return status;
}
