/*
 * rectangular_check.c: a lower bound on the return of every kernel of a rectangular set; see rectangular.h.
 *
 * With g(s) at least what the rows of s can take from v, Lv = R^pi + gamma Phat^pi v - gamma g <= Tv. If v -
 * Lv
 * <= c (1 - gamma rho) for the row sums rho of every kernel, then w = v - c has w <= Tw, so that w is below
 * the value of every kernel of the set. Products are made anew from the nominal rows.
 */
#include "adversary/rectangular/rectangular.h"

#include "adversary/rectangular/worst_rows.h"
#include "linalg/vector.h"
#include "nominal/bellman.h"
#include "nominal/check.h"

#include <float.h>
#include <math.h>

#define UNIT (DBL_EPSILON / 2)

/* The range of sum over a of pi(a|s), and the most actions. */
typedef struct policy_size {
    double low, high;
    int64_t actions;
} policy_size;

static policy_size measure_policy(const nadir_model *model, const nadir_policy *policy)
{
    policy_size size = {.low = INFINITY};
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t count = model->state_rows[s + 1] - first;
        const double sum = nadir_vector_sum(count, policy->probabilities + first);
        size.low = fmin(size.low, sum);
        size.high = fmax(size.high, sum);
        size.actions = count > size.actions ? count : size.actions;
    }
    size.low *= 1 - 4 * UNIT;
    size.high *= 1 + 4 * UNIT;
    return size;
}

/* max_s of v - Lv without rounding. products: [rows] Phat v. */
static double largest_fall(const nadir_problem *problem, const double *v, const double *products,
                           const double *gain)
{
    const nadir_model *model = problem->model;
    const double *pi = problem->policy->probabilities;
    double most = -INFINITY;
    for (int64_t s = 0; s < model->states; s++) {
        double next = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            next += pi[row] * (problem->rewards[row] + problem->gamma * products[row]);
        }
        most = fmax(most, v[s] - (next - problem->gamma * gain[s]));
    }
    return most;
}

nadir_status nadir_rectangular_check(nadir_context *context, const nadir_problem *problem, double factor,
                                     const double *v, double *lower)
{
    nadir_status status = NADIR_OK;
    nadir_worst_rows worst = {0};
    double *products = NULL;
    double *gain = NULL;
    double error;
    nadir_kernel_size size;
    NADIR_CHECK(nadir_worst_rows_make(context, problem, factor, &worst));
    NADIR_NEW(context, products, problem->rows);
    NADIR_NEW(context, gain, problem->states);
    NADIR_CHECK(nadir_worst_rows_answer(context, &worst, v));
    NADIR_CHECK(nadir_worst_rows_bound(context, &worst, gain));
    nadir_kernel_multiply(context, problem->kernel, v, products);
    nadir_kernel_measure(context, problem->kernel, &size);
    const policy_size pi = measure_policy(problem->model, problem->policy);
    const double largest = nadir_vector_largest(problem->states, v);
    const double rewards = nadir_vector_largest(problem->rows, problem->rewards);
    const double taken = nadir_vector_largest(problem->states, gain);
    /* products; differences; rows of the set that sum to one where the nominal ones do so up to rounding */
    const double off = fmax(fabs(1 - size.sum_low), fabs(size.sum_high - 1));
    const double rounding = nadir_bellman_rounding(&size, problem->gamma, pi.actions, rewards, largest) +
                            4 * UNIT * (taken + largest) + problem->gamma * off * largest;
    const double fall = largest_fall(problem, v, products, gain) + rounding;
    const double c = nadir_check_offset(fall, problem->gamma, pi.low * size.sum_low, pi.high * size.sum_high);
    const double mean = nadir_vector_dot(problem->states, problem->mu, v, &error);
    const double mass = nadir_vector_sum(problem->states, problem->mu);
    *lower = mean - c * mass - error - 8 * UNIT * (fabs(c) + fabs(mean));
cleanup:
    nadir_worst_rows_clear(context, &worst);
    nadir_release(context, products);
    nadir_release(context, gain);
    return status;
}
