/* bellman_bound.c: a lower bound on the return of every kernel of a set; see bellman_bound.h. */
#include "proof/bellman_bound.h"

#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "solve/bellman.h"
#include "solve/value.h"

#include <float.h>
#include <math.h>

#define UNIT (DBL_EPSILON / 2)

/* The range of sum over a of pi(a|s), and the most actions. */
typedef struct policy_size {
    double low, high;
    int64_t actions;
} policy_size;

static policy_size measure_policy(const nadir_context *context, const nadir_model *model,
                                  const nadir_policy *policy)
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
    size.low = nadir_allreduce_minimum(context, size.low) * (1 - 4 * UNIT);
    size.high = nadir_allreduce_maximum(context, size.high) * (1 + 4 * UNIT);
    size.actions = (int64_t)nadir_allreduce_maximum(context, (double)size.actions);
    return size;
}

/* max_s of v - Lv without rounding; infinite where that is no number. products: [rows] Phat v, or NULL. */
static double largest_fall(const nadir_context *context, const nadir_problem *problem, const double *v,
                           const double *products, const double *taken)
{
    const nadir_model *model = problem->model;
    const double *pi = problem->policy->probabilities;
    const nadir_kernel_vector vector = nadir_kernel_prepare(context, problem->kernel, v);
    const int threads = nadir_threads_for(context, model->nonzeros);
    double most = -INFINITY;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : most)
    for (int64_t s = 0; s < model->states; s++) {
        double next = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            double product = 0;
            if (products != NULL) {
                product = products[row];
            } else {
                nadir_kernel_multiply_rows(problem->kernel, &vector, row, row + 1, &product);
            }
            next += pi[row] * (problem->rewards[row] + problem->gamma * product);
        }
        const double fall = v[s] - (next - taken[s]);
        most = fmax(most, isnan(fall) ? INFINITY : fall);
    }
    return nadir_allreduce_maximum(context, most);
}

nadir_status nadir_bellman_bound(nadir_context *context, const nadir_problem *problem, const double *v,
                                 const double *taken, double *lower)
{
    nadir_status status = NADIR_OK;
    double *products = NULL;
    double error;
    nadir_kernel_size size;
    if (nadir_kernel_is_on_device(context, problem->kernel)) { /* all at once, by a device */
        NADIR_NEW(context, products, problem->rows);
        nadir_kernel_multiply(context, problem->kernel, v, products);
    }
    nadir_kernel_measure(context, problem->kernel, &size);
    const policy_size pi = measure_policy(context, problem->model, problem->policy);
    const double largest = nadir_global_largest(context, problem->states, v);
    const double rewards = nadir_global_largest(context, problem->rows, problem->rewards);
    const double most = nadir_global_largest(context, problem->states, taken);
    /* products; differences; rows of the set that sum to one where the nominal ones do so up to rounding */
    const double off = fmax(fabs(1 - size.sum_low), fabs(size.sum_high - 1));
    const double rounding = nadir_bellman_rounding(&size, problem->gamma, pi.actions, rewards, largest) +
                            4 * UNIT * (most + largest + rewards) + problem->gamma * off * largest;
    const double fall = largest_fall(context, problem, v, products, taken) + rounding;
    const double c = nadir_check_offset(fall, problem->gamma, pi.low * fmin(1, size.sum_low),
                                        pi.high * fmax(1, size.sum_high));
    const double mean = nadir_global_dot(context, problem->states, problem->mu, v, &error);
    const double mass = nadir_global_sum(context, problem->states, problem->mu);
    const double bound = mean - c * mass - error - 8 * UNIT * (fabs(c) + fabs(mean));
    *lower = isfinite(bound) ? bound : -INFINITY;
cleanup:
    nadir_release(context, products);
    return status;
}
