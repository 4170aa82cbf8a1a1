/* occupancy_range.c: bounds on the occupancies of all kernels of a set; see occupancy_range.h. */
#include "adversary/difference/occupancy_range.h"

#include "adversary/enclosure.h"
#include "linalg/gstd.h"
#include "linalg/norm.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define UNIT   (DBL_EPSILON / 2)
#define PASSES 6

enum { BLOCK = 64 }; /* columns at once */

/* A norm, a power or a sum of n numbers that are not negative, from above. */
static double up(const nadir_problem *problem)
{
    return 1 + 8 * UNIT * (double)(problem->states + 32);
}

/* ------------------------------------------------------------------------------------------- pull */

/* sigma_q of x[count], from above: any omega gives a bound. work: [2 * count] */
static nadir_status spread(nadir_context *context, int64_t count, const double *x, double q, double error,
                           double *work, double *sigma)
{
    nadir_status status = NADIR_OK;
    nadir_gstd gstd;
    const double rounding = error + 4 * UNIT * nadir_vector_largest(count, x);
    NADIR_CHECK(nadir_gstd_compute(context, 0, count, x, q, work, NULL, &gstd));
    for (int64_t i = 0; i < count; i++) {
        work[i] = fabs(x[i] - gstd.omega) + rounding;
    }
    *sigma = count > 1 ? nadir_norm_short(count, work, q) * (1 + 4 * UNIT * (double)(count + 32)) : 0;
cleanup:
    return status;
}

/* sigma_sa(x) of a row on domain support; `whole`: that over all states. work: [3 * states] */
static nadir_status row_spread(nadir_context *context, const nadir_problem *problem, int64_t row,
                               const double *x, double error, double whole, double *work, double *sigma)
{
    const nadir_row nominal = nadir_model_row(problem->model, row);
    int64_t count = 0;
    for (int64_t i = 0; i < nominal.count; i++) {
        work[count] = x[nadir_row_column(&nominal, i)];
        count += nominal.values[i] > 0;
    }
    *sigma = whole;
    return count == problem->states
               ? NADIR_OK
               : spread(context, count, work, problem->uncertainty->q, error, work + problem->states, sigma);
}

nadir_status nadir_pull(nadir_context *context, const nadir_problem *problem, const double *x, double error,
                        double *work, double *pull)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_model *model = problem->model;
    const bool support = set->domain == NADIR_DOMAIN_SUPPORT;
    double whole;
    NADIR_CHECK(spread(context, problem->states, x, set->q, error, work, &whole));
    for (int64_t s = 0; s < problem->states; s++) {
        double most = 0;
        double sum = 0;    /* of radii times terms */
        double powers = 0; /* of terms over `most` */
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double shape = nadir_uncertainty_scale(set, row) * problem->policy->probabilities[row];
            double sigma = whole;
            if (support && shape > 0) {
                NADIR_CHECK(row_spread(context, problem, row, x, error, whole, work, &sigma));
            }
            const double term = shape * sigma;
            sum += term * nadir_uncertainty_radius(set, s, row);
            if (term > most) {
                powers = 1 + (isinf(set->q) ? 0 : powers * pow(most / term, set->q));
                most = term;
            } else if (term > 0 && !isinf(set->q)) {
                powers += pow(term / most, set->q);
            }
        }
        const double together = most > 0 ? most * pow(powers, 1 / set->q) : 0;
        pull[s] = (set->set == NADIR_SET_SA ? sum : together) *
                  (1 + 8 * UNIT * (double)(model->state_rows[s + 1] - model->state_rows[s] + 32));
    }
cleanup:
    return status;
}

double nadir_pull_total(const nadir_problem *problem, const double *weight, const double *pull, double *work)
{
    const nadir_uncertainty *set = problem->uncertainty;
    double sum = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        work[s] = weight[s] * pull[s];
        sum += set->set == NADIR_SET_S
                   ? work[s] * nadir_uncertainty_radius(set, s, problem->model->state_rows[s])
                   : work[s];
    }
    return up(problem) * (set->set == NADIR_SET_NONRECT
                              ? set->radius * nadir_norm_short(problem->states, work, set->q)
                              : sum);
}

nadir_status nadir_pull_columns(nadir_context *context, const nadir_problem *problem,
                                nadir_occupancy *occupancy, double *pulls)
{
    nadir_status status = NADIR_OK;
    nadir_problem own = *problem;
    const int64_t n = problem->states;
    double *columns = NULL;
    double *work = NULL;
    int64_t which[BLOCK];
    double residual;
    own.occupancy = occupancy;
    const nadir_enclosure known = nadir_enclosure_make(context, &own);
    NADIR_NEW(context, columns, n * (n < BLOCK ? n : BLOCK));
    NADIR_NEW(context, work, 3 * n);
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t many = first + BLOCK < n ? BLOCK : n - first;
        for (int64_t i = 0; i < many; i++) {
            which[i] = first + i;
        }
        NADIR_CHECK(nadir_enclosure_columns(context, &own, &known, many, which, columns, &residual));
        const double error = nadir_enclosure_error(&known, residual);
        for (int64_t i = 0; i < many; i++) {
            NADIR_CHECK(nadir_pull(context, problem, columns + i * n, error, work, pulls + (first + i) * n));
        }
    }
cleanup:
    nadir_release(context, columns);
    nadir_release(context, work);
    return status;
}

/* -------------------------------------------------------------------------------------- knapsack */

static int compare_values(const void *a, const void *b, void *values)
{
    const double *value = values;
    const double x = value[*(const int32_t *)a];
    const double y = value[*(const int32_t *)b];
    return x > y ? -1 : x < y;
}

/* max sum y_s value_s over 0 <= y <= high, sum y <= total. places: [states] */
static double fill_knapsack(const nadir_problem *problem, const nadir_occupancy_range *range, double *value,
                            int32_t *places)
{
    double left = range->total;
    double sum = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        places[s] = (int32_t)s;
    }
    qsort_r(places, (size_t)problem->states, sizeof *places, compare_values, value);
    for (int64_t i = 0; i < problem->states && left > 0; i++) {
        const double taken = fmin(left, range->high[places[i]]);
        sum += taken * value[places[i]];
        left -= taken;
    }
    return sum * up(problem);
}

/* The right-hand side of the inequality of occupancy_range.h, less gamma. */
static double reach(const nadir_problem *problem, const nadir_occupancy_range *range, const double *pull,
                    double *value, int32_t *places)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t n = problem->states;
    const bool ball = set->set == NADIR_SET_NONRECT;
    const double largest = nadir_vector_largest(n, pull);
    if (largest == 0) {
        return 0;
    }
    if (ball && isinf(set->q)) {
        double most = 0;
        for (int64_t s = 0; s < n; s++) {
            most = fmax(most, range->high[s] * pull[s]);
        }
        return most * set->radius * up(problem);
    }
    for (int64_t s = 0; s < n; s++) {
        const double radius =
            set->set == NADIR_SET_S ? nadir_uncertainty_radius(set, s, problem->model->state_rows[s]) : 1;
        value[s] = ball ? pow(range->high[s] / range->total, set->q - 1) * pow(pull[s] / largest, set->q)
                        : radius * pull[s];
    }
    const double sum = fill_knapsack(problem, range, value, places);
    return ball ? set->radius * largest * pow(range->total, 1 - 1 / set->q) * pow(sum, 1 / set->q) *
                      up(problem)
                : sum;
}

static nadir_status narrow(nadir_context *context, const nadir_problem *problem, const double *pulls,
                           nadir_occupancy_range *range)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    double *value = NULL;
    double *next = NULL;
    int32_t *places = NULL;
    double moved = 1;
    NADIR_NEW(context, value, n);
    NADIR_NEW(context, next, n);
    NADIR_NEW(context, places, n);
    for (int pass = 0; pass < PASSES && moved > 0.01; pass++) {
        NADIR_CHECK(nadir_progress(context, "bounds on occupancies", (double)pass / PASSES));
        moved = 0;
        for (int64_t t = 0; t < n; t++) {
            const double far = problem->gamma * reach(problem, range, pulls + t * n, value, places);
            const double width = (far + problem->d_error) * (1 + 8 * UNIT);
            const double d = problem->d[t];
            next[t] = fmin(range->high[t], (d + width) * (1 + 4 * UNIT));
            range->low[t] = fmax(range->low[t], d - width - 4 * UNIT * (fabs(d) + width));
            moved = fmax(moved, (range->high[t] - next[t]) / range->high[t]);
        }
        for (int64_t t = 0; t < n; t++) {
            range->high[t] = fmax(next[t], 0);
        }
    }
cleanup:
    nadir_release(context, value);
    nadir_release(context, next);
    nadir_release(context, places);
    return status;
}

nadir_status nadir_occupancy_range_make(nadir_context *context, const nadir_problem *problem,
                                        nadir_occupancy_range *range)
{
    nadir_status status = NADIR_OK;
    double *pulls = NULL;
    const int64_t n = problem->states;
    const nadir_enclosure known = nadir_enclosure_make(context, problem);
    NADIR_NEW(context, pulls, n * n);
    NADIR_NEW(context, range->low, n);
    NADIR_NEW(context, range->high, n);
    /* rows of any kernel sum to 1 up to the rounding that the average has */
    range->total = nadir_enclosure_error(&known, 1) * up(problem);
    for (int64_t s = 0; s < n; s++) {
        range->low[s] = 0;
        range->high[s] = range->total;
    }
    NADIR_CHECK(nadir_pull_columns(context, problem, problem->occupancy, pulls));
    NADIR_CHECK(narrow(context, problem, pulls, range));
cleanup:
    nadir_release(context, pulls);
    return status;
}

void nadir_occupancy_range_clear(nadir_context *context, nadir_occupancy_range *range)
{
    nadir_release(context, range->low);
    nadir_release(context, range->high);
    *range = (nadir_occupancy_range){0};
}

void nadir_occupancy_range_width(const nadir_problem *problem, const nadir_occupancy_range *range,
                                 double *width)
{
    for (int64_t s = 0; s < problem->states; s++) {
        const double far = fmax(range->high[s] - problem->d[s], problem->d[s] - range->low[s]);
        width[s] = (far + problem->d_error) * (1 + 8 * UNIT) + 4 * UNIT * fabs(problem->d[s]);
    }
}
