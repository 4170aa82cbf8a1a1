/*
 * return_price.c: ranks of draws, normal tails, and which rows cannot be told from those that a policy takes; see
 * returns.h.
 */
#include "fit/returns.h"
#include "model/policy.h"

#include <math.h>

/* Rows that differ by less, in standard deviations of the difference, count as tied. */
static const double tied_within = 3;

int64_t nadir_return_rank(int64_t count, double level, double risk)
{
    const double n = (double)count;
    double below = 0; /* P(Bin <= k - 1) */
    int64_t k = 0;
    while (k < count) {
        const double next = (double)k;
        below += exp(lgamma(n + 1) - lgamma(next + 1) - lgamma(n - next + 1) + next * log(level) +
                     (n - next) * log1p(-level));
        if (below > risk) {
            break;
        }
        k++;
    }
    return k;
}

double nadir_normal_tail(double z)
{
    return 0.5 * erfc(z / sqrt(2));
}

double nadir_normal_quantile(double tail)
{
    double low = -40;
    double high = 40;
    while (high - low > 1e-13 * (1 + fabs(low))) {
        const double middle = (low + high) / 2;
        low = nadir_normal_tail(middle) > tail ? middle : low;
        high = nadir_normal_tail(middle) > tail ? high : middle;
        if (middle == low && middle == high) {
            break;
        }
    }
    return (low + high) / 2;
}

int64_t nadir_return_ties(const nadir_return_problem *problem, const nadir_policy *policy,
                          const nadir_return_measure *measure, double z, int32_t *tied, bool *rivals)
{
    const nadir_model *model = problem->model;
    const double *pi = policy->probabilities;
    const double weight = measure->f > 0 ? z / (2 * sqrt(measure->f)) : 0;
    int64_t ties = 0;
    for (int64_t state = 0; state < model->states; state++) {
        const double d = measure->d[state];
        double own = 0;
        double variance = 0;
        double squares = 0;
        int32_t count = 0;
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            own += pi[row] * (measure->Q[row] - weight * d * measure->U[row]);
            variance += pi[row] * pi[row] * measure->U[row];
            squares += pi[row] * pi[row];
        }
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            const double score = measure->Q[row] - weight * d * measure->U[row];
            const bool near = fabs(score - own) <= tied_within * sqrt(measure->U[row] + variance);
            rivals[row] = problem->taken[row] && (pi[row] > 0 || near);
            count += rivals[row] ? 1 : 0;
        }
        ties += count - 1;
        tied[state] = count + 1 - (int32_t)fmin(floor(1 / squares + 1e-9), count);
    }
    return ties;
}
