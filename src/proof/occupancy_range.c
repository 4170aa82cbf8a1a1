/* occupancy_range.c: bounds on the occupancies of all kernels of a set; see occupancy_range.h. */
#include "proof/difference_bound.h"

#include "core/round.h"
#include "linalg/gstd.h"
#include "linalg/vector.h"
#include "proof/verified_solve.h"

#include <math.h>
#include <stdlib.h>

enum { PASSES = 6, BLOCK = 64 }; /* over all states; columns of D at once */

/* Roundings of a norm, a power or a sum over all states of numbers >= 0. */
static double state_roundings(const nadir_problem *problem)
{
    return 8 * (double)(problem->states + 32);
}

/* --------------------------------------------------------------------------------------- response */

/* At least sigma_q of x[count], where x is known to `error`: every omega gives a bound. work: [2 * count] */
static nadir_status sigma_of(nadir_context *context, int64_t count, const double *x, double q, double error,
                             double *work, double *sigma)
{
    nadir_status status = NADIR_OK;
    nadir_gstd gstd;
    /* x - omega is off by the error of x and by rounding */
    const double each = nadir_round_above(error, nadir_vector_largest(count, x), 4);
    NADIR_CHECK(nadir_gstd_compute(context, 0, count, x, q, work, NULL, &gstd));
    for (int64_t i = 0; i < count; i++) {
        work[i] = fabs(x[i] - gstd.omega) + each;
    }
    *sigma = count > 1 ? nadir_round_up(nadir_norm_short(count, work, q), 4 * (double)(count + 32)) : 0;
cleanup:
    return status;
}

/* sigma_sa(x) of a row on domain support; all: that over all states. work: [3 * states] */
static nadir_status row_sigma(nadir_context *context, const nadir_problem *problem, int64_t row,
                              const double *x, double error, double all, double *work, double *sigma)
{
    const nadir_row nominal = nadir_model_row(problem->model, row);
    int64_t count = 0;
    for (int64_t i = 0; i < nominal.count; i++) {
        work[count] = x[nadir_row_column(&nominal, i)];
        count += nominal.values[i] > 0;
    }
    *sigma = all;
    return count == problem->states ? NADIR_OK
                                    : sigma_of(context, count, work, problem->uncertainty->q, error,
                                               work + problem->states, sigma);
}

nadir_status nadir_row_response(nadir_context *context, const nadir_problem *problem, const double *x,
                                double error, double *work, double *response)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_model *model = problem->model;
    const bool support = set->domain == NADIR_DOMAIN_SUPPORT;
    double all;
    NADIR_CHECK(sigma_of(context, problem->states, x, set->q, error, work, &all));
    for (int64_t s = 0; s < problem->states; s++) {
        double largest = 0; /* of the terms alpha pi sigma */
        double sum = 0;     /* of radii times terms */
        double powers = 0;  /* of (term / largest)^q */
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double shape = nadir_uncertainty_scale(set, row) * problem->policy->probabilities[row];
            double sigma = all;
            if (support && shape > 0) {
                NADIR_CHECK(row_sigma(context, problem, row, x, error, all, work, &sigma));
            }
            const double term = shape * sigma;
            sum += term * nadir_uncertainty_radius(set, s, row);
            if (term > largest) {
                powers = 1 + (isinf(set->q) ? 0 : powers * pow(largest / term, set->q));
                largest = term;
            } else if (term > 0 && !isinf(set->q)) {
                powers += pow(term / largest, set->q);
            }
        }
        const double norm = largest > 0 ? largest * pow(powers, 1 / set->q) : 0;
        response[s] = nadir_round_up(set->set == NADIR_SET_SA ? sum : norm,
                                     8 * (double)(model->state_rows[s + 1] - model->state_rows[s] + 32));
    }
cleanup:
    return status;
}

double nadir_row_response_total(const nadir_problem *problem, const double *weight, const double *response,
                                double *work)
{
    const nadir_uncertainty *set = problem->uncertainty;
    double sum = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        work[s] = weight[s] * response[s];
        sum += set->set == NADIR_SET_S
                   ? work[s] * nadir_uncertainty_radius(set, s, problem->model->state_rows[s])
                   : work[s];
    }
    return nadir_round_up(
        set->set == NADIR_SET_NONRECT ? set->radius * nadir_norm_short(problem->states, work, set->q) : sum,
        state_roundings(problem));
}

nadir_status nadir_row_response_columns(nadir_context *context, const nadir_problem *problem,
                                        nadir_occupancy *occupancy, double *responses)
{
    nadir_status status = NADIR_OK;
    nadir_problem own = *problem;
    const int64_t n = problem->states;
    double *columns = NULL;
    double *work = NULL;
    int64_t which[BLOCK];
    double residual;
    own.occupancy = occupancy;
    const nadir_verified_solver known = nadir_verified_solver_make(context, &own);
    NADIR_NEW(context, columns, n * (n < BLOCK ? n : BLOCK));
    NADIR_NEW(context, work, 3 * n);
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t count = first + BLOCK < n ? BLOCK : n - first;
        for (int64_t i = 0; i < count; i++) {
            which[i] = first + i;
        }
        NADIR_CHECK(nadir_verified_solve_columns(context, &own, &known, count, which, columns, &residual));
        const double error = nadir_verified_solve_error(&known, residual);
        for (int64_t i = 0; i < count; i++) {
            NADIR_CHECK(nadir_row_response(context, problem, columns + i * n, error, work,
                                           responses + (first + i) * n));
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

/* At least max sum y_s value_s over 0 <= y <= high, sum y <= total. value, indices: [states],
 * the latter working space. */
static double solve_knapsack(const nadir_problem *problem, const nadir_occupancy_range *range, double *value,
                             int32_t *indices)
{
    double left = range->total;
    double sum = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        indices[s] = (int32_t)s;
    }
    qsort_r(indices, (size_t)problem->states, sizeof *indices, compare_values, value);
    for (int64_t i = 0; i < problem->states && left > 0; i++) {
        const double taken = fmin(left, range->high[indices[i]]);
        sum += taken * value[indices[i]];
        left -= taken;
    }
    return nadir_round_up(sum, state_roundings(problem));
}

/* The right-hand side of the inequality of occupancy_range.h, without gamma. */
static double largest_change(const nadir_problem *problem, const nadir_occupancy_range *range,
                             const double *response, double *value, int32_t *indices)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t n = problem->states;
    const bool ball = set->set == NADIR_SET_NONRECT;
    const double largest = nadir_vector_largest(n, response);
    if (largest == 0) {
        return 0;
    }
    if (ball && isinf(set->q)) {
        double most = 0;
        for (int64_t s = 0; s < n; s++) {
            most = fmax(most, range->high[s] * response[s]);
        }
        return nadir_round_up(most * set->radius, state_roundings(problem));
    }
    for (int64_t s = 0; s < n; s++) {
        const double radius =
            set->set == NADIR_SET_S ? nadir_uncertainty_radius(set, s, problem->model->state_rows[s]) : 1;
        value[s] = ball ? pow(range->high[s] / range->total, set->q - 1) * pow(response[s] / largest, set->q)
                        : radius * response[s];
    }
    const double sum = solve_knapsack(problem, range, value, indices);
    return ball ? nadir_round_up(set->radius * largest * pow(range->total, 1 - 1 / set->q) *
                                     pow(sum, 1 / set->q),
                                 state_roundings(problem))
                : sum;
}

/* responses: [states * states] of the columns of D. */
static nadir_status narrow(nadir_context *context, const nadir_problem *problem, const double *responses,
                           nadir_occupancy_range *range)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    double *value = NULL;
    double *next = NULL;
    int32_t *indices = NULL;
    double moved = 1;
    NADIR_NEW(context, value, n);
    NADIR_NEW(context, next, n);
    NADIR_NEW(context, indices, n);
    for (int pass = 0; pass < PASSES && moved > 0.01; pass++) {
        NADIR_CHECK(nadir_progress(context, "bounds on occupancies", (double)pass / PASSES));
        moved = 0;
        for (int64_t t = 0; t < n; t++) {
            const double change =
                problem->gamma * largest_change(problem, range, responses + t * n, value, indices);
            const double width = nadir_round_up(change + problem->d_error, 8);
            const double d = problem->d[t];
            next[t] = fmin(range->high[t], nadir_round_up(d + width, 4));
            range->low[t] = fmax(range->low[t], nadir_round_below(d - width, fabs(d) + width, 4));
            moved = fmax(moved, (range->high[t] - next[t]) / range->high[t]);
        }
        for (int64_t t = 0; t < n; t++) {
            range->high[t] = fmax(next[t], 0);
        }
    }
cleanup:
    nadir_release(context, value);
    nadir_release(context, next);
    nadir_release(context, indices);
    return status;
}

nadir_status nadir_occupancy_range_make(nadir_context *context, const nadir_problem *problem,
                                        nadir_occupancy_range *range)
{
    nadir_status status = NADIR_OK;
    double *responses = NULL;
    const int64_t n = problem->states;
    const nadir_verified_solver known = nadir_verified_solver_make(context, problem);
    NADIR_NEW(context, responses, n * n);
    NADIR_NEW(context, range->low, n);
    NADIR_NEW(context, range->high, n);
    /* rows of every kernel sum to 1 up to the rounding of the average */
    range->total = nadir_round_up(nadir_verified_solve_error(&known, 1), state_roundings(problem));
    for (int64_t s = 0; s < n; s++) {
        range->low[s] = 0;
        range->high[s] = range->total;
    }
    NADIR_CHECK(nadir_row_response_columns(context, problem, problem->occupancy, responses));
    NADIR_CHECK(narrow(context, problem, responses, range));
cleanup:
    nadir_release(context, responses);
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
        const double change = fmax(range->high[s] - problem->d[s], problem->d[s] - range->low[s]);
        width[s] = nadir_round_above(nadir_round_up(change + problem->d_error, 8), fabs(problem->d[s]), 4);
    }
}
