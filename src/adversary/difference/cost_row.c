/*
 * cost_row.c: the answer of one row to costs of its own; see costs.h.
 *
 * Where the row's share of the ball costs (|Delta|_p / alpha)^p / (p step), the answer is stationary when
 * |Delta / alpha|^(p-1) = step alpha |omega - c| in every entry that is not 0: the formulas of costs.h. Its
 * sum rises with omega, which so is the root of a monotone function. p = 2: the root over the entries that
 * are positive is a mean; entries that it makes negative leave, and as omega only falls they stay away.
 */
#include "adversary/difference/cost_row.h"

#include "linalg/norm.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

double nadir_cost_row_norm(const nadir_cost_row *row, double p, const double *X, double *work)
{
    for (int64_t i = 0; i < row->count; i++) {
        work[i] = X[i] - row->phat[i];
    }
    return nadir_norm_short(row->count, work, p) / row->alpha;
}

/* X <- X / sum of X: rounding must not make or lose mass. */
static void normalise(int64_t count, double *X)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += X[i];
    }
    for (int64_t i = 0; i < count; i++) {
        X[i] /= sum;
    }
}

/* ------------------------------------------------------------------------------------------ p = 1 */

static void answer_threshold(const nadir_cost_row *row, double step, double *X)
{
    const double level = 1 / (row->alpha * step);
    double moved = 0;
    int64_t cheapest = 0;
    for (int64_t i = 0; i < row->count; i++) {
        const bool moves = row->cost[i] > level;
        X[i] = moves ? 0 : row->phat[i];
        moved += moves ? row->phat[i] : 0;
        cheapest = row->cost[i] < row->cost[cheapest] ? i : cheapest;
    }
    X[cheapest] += moved;
}

/* ------------------------------------------------------------------------------------------ p = 2 */

static double answer_quadratic(const nadir_cost_row *row, double step, double *X)
{
    const double k = row->alpha * row->alpha * step;
    double omega = INFINITY;
    int64_t many = row->count + 1;
    int64_t before;
    do {
        double cost = 0;
        double rest = 0;
        before = many;
        many = 0;
        for (int64_t i = 0; i < row->count; i++) {
            const bool in = isinf(omega) || row->phat[i] + k * (omega - row->cost[i]) > 0;
            many += in;
            cost += in ? row->cost[i] : 0;
            rest += in ? 0 : row->phat[i]; /* 1 - sum of the others */
        }
        omega = many > 0 ? (cost + rest / k) / (double)many : 0;
    } while (many > 0 && many < before);
    bool some = false;
    for (int64_t i = 0; i < row->count; i++) {
        X[i] = fmax(0, row->phat[i] + k * (omega - row->cost[i]));
        some = some || X[i] > 0;
    }
    for (int64_t i = 0; i < row->count && !some; i++) {
        X[i] = row->cost[i] == 0; /* all lost to rounding: the step is as good as infinite */
    }
    return omega;
}

/* --------------------------------------------------------------------------------------- other p */

/* alpha change(alpha g) for g >= 0. Nothing moves by more than 1, so that more need not be told apart. */
static double change(const nadir_cost_row *row, double p, double step, double g)
{
    const double size = row->alpha * g;
    const double made = p <= 2 ? pow(step * size, 1 / (p - 1)) : step * pow(size, 1 / (p - 1));
    return fmin(row->alpha * made, 2);
}

static double moved_at(const nadir_cost_row *row, double p, double step, double omega, int64_t i)
{
    const double g = omega - row->cost[i];
    const double moved = g >= 0 ? change(row, p, step, g) : -change(row, p, step, -g);
    return fmax(moved, -row->phat[i]);
}

/* The sum of X at omega, less 1. */
static double sum_at(const nadir_cost_row *row, double p, double step, double omega)
{
    double sum = 0;
    for (int64_t i = 0; i < row->count; i++) {
        sum += moved_at(row, p, step, omega, i);
    }
    return sum;
}

/* The root by false position (Illinois), which keeps a bracket; where omega runs out of digits the answer is
 * the mixture of both ends whose sum is 1. */
static double answer_power(const nadir_cost_row *row, double p, double step, double *X)
{
    double low = 0;
    double high = row->largest;
    double below = sum_at(row, p, step, low);
    double above = sum_at(row, p, step, high);
    double weight_low = below; /* halved when its end stays where it is */
    double weight_high = above;
    for (int i = 0; i < 200 && high - low > 2 * UNIT * high && above > UNIT && below < -UNIT; i++) {
        double middle = low + (high - low) * (weight_low / (weight_low - weight_high));
        if (i % 6 == 5 || !(middle > low && middle < high)) {
            middle = low + (high - low) / 2;
        }
        const double sum = sum_at(row, p, step, middle);
        if (sum <= 0) {
            low = middle;
            below = weight_low = sum;
            weight_high /= 2;
        } else {
            high = middle;
            above = weight_high = sum;
            weight_low /= 2;
        }
    }
    const double share = above - below > 0 ? -below / (above - below) : 0;
    for (int64_t i = 0; i < row->count; i++) {
        const double moved = (1 - share) * moved_at(row, p, step, low, i) +
                             (share > 0 ? share * moved_at(row, p, step, high, i) : 0);
        X[i] = fmax(0, row->phat[i] + moved);
    }
    return low + share * (high - low);
}

/* ---------------------------------------------------------------------------------------- p = inf */

static int compare_costs(const void *a, const void *b, void *costs)
{
    const int32_t i = *(const int32_t *)a;
    const int32_t j = *(const int32_t *)b;
    const double *cost = costs;
    return cost[i] < cost[j] ? -1 : cost[i] > cost[j] ? 1 : i < j ? -1 : i > j;
}

static double answer_capped(const nadir_cost_row *row, double radius, int32_t *places, double *X)
{
    double left = 0; /* mass to give away */
    double omega = 0;
    for (int64_t i = 0; i < row->count; i++) {
        places[i] = (int32_t)i;
        const double taken = fmin(row->phat[i], radius);
        X[i] = row->phat[i] - taken;
        left += taken;
    }
    qsort_r(places, (size_t)row->count, sizeof *places, compare_costs, row->cost);
    for (int64_t i = 0; i < row->count && left > 0; i++) {
        const int32_t at = places[i];
        const double given = fmin(left, row->phat[at] - X[at] + radius);
        X[at] += given;
        left -= given;
        omega = row->cost[at];
    }
    return omega;
}

/* ------------------------------------------------------------------------------------------------ */

double nadir_cost_row_answer(const nadir_cost_row *row, double p, double step, int32_t *places, double *X,
                             double *work, double *omega)
{
    if (p == 1) {
        answer_threshold(row, step, X);
        *omega = 0.5 / (row->alpha * step); /* in the middle: mass moves by twice that for a distance of 2 */
    } else if (isinf(p)) {
        *omega = answer_capped(row, step, places, X);
    } else {
        *omega = p == 2 ? answer_quadratic(row, step, X) : answer_power(row, p, step, X);
        normalise(row->count, X);
    }
    return nadir_cost_row_norm(row, p, X, work);
}

/* Costs above omega by more than this go with the mass that is there: e1 stops where Delta = -Phat. */
static double most_priced(const nadir_cost_row *row, double p, double step, double phat)
{
    const double alpha = row->alpha;
    if (p == 1) {
        return 0.5 / (alpha * step);
    }
    if (isinf(p)) {
        return phat < step ? 0 : INFINITY;
    }
    return p <= 2 ? pow(phat / alpha, p - 1) / (step * alpha) : pow(phat / (alpha * step), p - 1) / alpha;
}

void nadir_cost_row_bound(const nadir_cost_row *row, double p, double q, bool free_domain, double omega,
                          double step, double *work, double *fixed, double *slope)
{
    double sum = 0;
    for (int64_t i = 0; i < row->count; i++) {
        const double e = row->cost[i] - omega;
        const double most = free_domain ? INFINITY : most_priced(row, p, step, row->phat[i]);
        work[i] = e > most ? most : e;
        sum += e > most ? (e - most) * row->phat[i] : 0;
    }
    /* each term and each addition rounds; a norm of n terms and a power rounds n + 16 times at most */
    const double up = 1 + 4 * UNIT * (double)(row->count + 16);
    *fixed = sum * up;
    *slope = nadir_norm_short(row->count, work, q) * up;
}
