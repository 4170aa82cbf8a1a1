/*
 * return_price.c: ranks of draws, normal tails, and what it costs to choose a policy on the data that judge it; see
 * returns.h.
 *
 * Rows whose worth cannot be told from that of the policy's are tied. With xi normal for every row, a choice by luck
 * takes a* = argmax sigma xi of each state's ties, and what the data then say of its return is too good by
 *
 *     t = sum of d sigma xi(a*) / sqrt(sum of d^2 sigma^2(a*))
 *
 * standard deviations. A quantile of level Phi(-z'), z' that of t, makes up for it: first order, measured, no theorem.
 */
#include "core/random.h"
#include "fit/radii.h"
#include "fit/returns.h"
#include "model/policy.h"

#include <math.h>

/* Rows that differ by less, in standard deviations of the difference, count as tied. */
static const double tied_within = 3;
enum { PRICE_DRAWS = 20000 };

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

/* Ties of all states: rows, and the sigma of each times d; starts: [states + 1]. Returns how many there are. */
static int64_t find_ties(const nadir_return_problem *problem, const nadir_policy *policy,
                         const nadir_return_measure *measure, double z, int64_t *starts, double *sigma)
{
    const nadir_model *model = problem->model;
    const double *pi = policy->probabilities;
    const double weight = measure->f > 0 ? z / (2 * sqrt(measure->f)) : 0;
    int64_t count = 0;
    for (int64_t state = 0; state < model->states; state++) {
        const double d = measure->d[state];
        double own = 0;
        double variance = 0;
        starts[state] = count;
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            own += pi[row] * (measure->Q[row] - weight * d * measure->U[row]);
            variance += pi[row] * pi[row] * measure->U[row];
        }
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            const double score = measure->Q[row] - weight * d * measure->U[row];
            const bool near = fabs(score - own) <= tied_within * sqrt(measure->U[row] + variance);
            if (problem->taken[row] && (pi[row] > 0 || near)) {
                sigma[count++] = d * sqrt(measure->U[row]);
            }
        }
    }
    starts[model->states] = count;
    return count;
}

nadir_status nadir_return_price(nadir_context *context, const nadir_return_problem *problem,
                                const nadir_policy *policy, const nadir_return_measure *measure, double z,
                                double level, uint64_t seed, double *level_used, double *z_used,
                                int64_t *ties)
{
    nadir_status status = NADIR_OK;
    const int64_t states = problem->model->states;
    int64_t *starts = NULL;
    double *sigma = NULL;
    double *t = NULL;
    nadir_random random;
    NADIR_NEW(context, starts, states + 1);
    NADIR_NEW(context, sigma, problem->model->rows);
    NADIR_NEW(context, t, PRICE_DRAWS);
    const int64_t tied = find_ties(problem, policy, measure, z, starts, sigma);
    const double usual = nadir_normal_quantile(level);
    *ties = tied - states;
    *level_used = level;
    *z_used = usual;
    nadir_random_seed(&random, seed);
    for (int64_t k = 0; *ties > 0 && k < PRICE_DRAWS; k++) {
        double sum = 0;
        double squares = 0;
        for (int64_t state = 0; state < states; state++) {
            double best = -INFINITY;
            double size = 0;
            for (int64_t i = starts[state]; i < starts[state + 1]; i++) {
                const double luck = sigma[i] * nadir_random_normal(&random);
                size = luck > best ? sigma[i] : size;
                best = luck > best ? luck : best;
            }
            sum += best;
            squares += size * size;
        }
        t[k] = squares > 0 ? sum / sqrt(squares) : 0;
    }
    if (*ties > 0) {
        const int64_t rank = (int64_t)ceil((1 - level) * PRICE_DRAWS);
        *z_used = fmax(nadir_order_statistic(PRICE_DRAWS, t, rank), usual);
        *level_used = fmin(level, nadir_normal_tail(*z_used));
    }
cleanup:
    NADIR_RELEASE(context, starts, sigma, t);
    return status;
}
