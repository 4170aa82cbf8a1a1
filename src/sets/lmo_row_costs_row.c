/*
 * lmo_row_costs_row.c: the solution of one row with its own costs; see lmo_row_costs.h.
 *
 * With (|Delta|_p / alpha)^p / (p step) for the row's part of the ball, a solution is stationary when
 * |Delta / alpha|^(p-1) = step alpha |omega - c| in every entry that is not 0: the formulas of
 * lmo_row_costs.h. Its sum rises with omega, which is the root of a monotone function. p = 2: over the
 * positive entries the root is a mean; entries that become negative leave the set, and since omega only falls
 * they do not come back.
 */
#include "core/round.h"
#include "linalg/norm.h"
#include "sets/lmo_row_costs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double nadir_lmo_cost_row_norm(const nadir_lmo_cost_row *row, double p, const double *X, double *work)
{
    for (int64_t i = 0; i < row->count; i++) {
        work[i] = X[i] - row->phat[i];
    }
    return nadir_norm_short(row->count, work, p) / row->alpha;
}

/* X <- X / sum of X: removes the rounding of the sum. */
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

static void solve_l1(const nadir_lmo_cost_row *row, double step, double *X)
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

static double solve_l2(const nadir_lmo_cost_row *row, double step, double *X)
{
    const double k = row->alpha * row->alpha * step;
    double omega = INFINITY;
    int64_t positive = row->count + 1;
    int64_t last;
    do {
        double cost = 0;
        double clipped = 0; /* 1 - sum of Phat over the positive entries */
        last = positive;
        positive = 0;
        for (int64_t i = 0; i < row->count; i++) {
            const bool in = isinf(omega) || row->phat[i] + k * (omega - row->cost[i]) > 0;
            positive += in;
            cost += in ? row->cost[i] : 0;
            clipped += in ? 0 : row->phat[i];
        }
        omega = positive > 0 ? (cost + clipped / k) / (double)positive : 0;
    } while (positive > 0 && positive < last);
    bool any = false;
    for (int64_t i = 0; i < row->count; i++) {
        X[i] = fmax(0, row->phat[i] + k * (omega - row->cost[i]));
        any = any || X[i] > 0;
    }
    for (int64_t i = 0; i < row->count && !any; i++) {
        X[i] = row->cost[i] == 0; /* rounding leaves nothing: as for an infinite step */
    }
    return omega;
}

/* --------------------------------------------------------------------------------------- other p */

/* alpha change(alpha g) for g >= 0, cut off at 2: no entry moves by more than 1. */
static double change(const nadir_lmo_cost_row *row, double p, double step, double g)
{
    const double size = row->alpha * g;
    const double made = p <= 2 ? pow(step * size, 1 / (p - 1)) : step * pow(size, 1 / (p - 1));
    return fmin(row->alpha * made, 2);
}

static double displacement_at(const nadir_lmo_cost_row *row, double p, double step, double omega, int64_t i)
{
    const double g = omega - row->cost[i];
    const double moved = g >= 0 ? change(row, p, step, g) : -change(row, p, step, -g);
    return fmax(moved, -row->phat[i]);
}

/* The sum of X at omega, less 1. */
static double sum_at(const nadir_lmo_cost_row *row, double p, double step, double omega)
{
    double sum = 0;
    for (int64_t i = 0; i < row->count; i++) {
        sum += displacement_at(row, p, step, omega, i);
    }
    return sum;
}

/* The root omega by false position (Illinois), which keeps a bracket. Where omega runs out of digits, X is
 * the mixture of both ends whose sum is 1. */
static double solve_lp(const nadir_lmo_cost_row *row, double p, double step, double *X)
{
    double low = 0;
    double high = row->largest;
    double below = sum_at(row, p, step, low);
    double above = sum_at(row, p, step, high);
    double weight_low = below; /* halved when its end stays */
    double weight_high = above;
    for (int i = 0; i < 200 && high - low > nadir_round_error(2) * high && above > NADIR_ROUND_UNIT &&
                    below < -NADIR_ROUND_UNIT;
         i++) {
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
        const double moved = (1 - share) * displacement_at(row, p, step, low, i) +
                             (share > 0 ? share * displacement_at(row, p, step, high, i) : 0);
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

static double solve_linf(const nadir_lmo_cost_row *row, double radius, int32_t *indices, double *X)
{
    double left = 0; /* mass to give away */
    double omega = 0;
    for (int64_t i = 0; i < row->count; i++) {
        indices[i] = (int32_t)i;
        const double taken = fmin(row->phat[i], radius);
        X[i] = row->phat[i] - taken;
        left += taken;
    }
    qsort_r(indices, (size_t)row->count, sizeof *indices, compare_costs, row->cost);
    for (int64_t i = 0; i < row->count && left > 0; i++) {
        const int32_t t = indices[i];
        const double given = fmin(left, row->phat[t] - X[t] + radius);
        X[t] += given;
        left -= given;
        omega = row->cost[t];
    }
    return omega;
}

/* ------------------------------------------------------------------------------------------------ */

double nadir_lmo_cost_row_solve(const nadir_lmo_cost_row *row, double p, double step, int32_t *indices,
                                double *X, double *work, double *omega)
{
    if (p == 1) {
        solve_l1(row, step, X);
        *omega = 0.5 / (row->alpha * step); /* the middle: mass moves by twice that for |Delta|_1 = 2 */
    } else if (isinf(p)) {
        *omega = solve_linf(row, step, indices, X);
    } else {
        *omega = p == 2 ? solve_l2(row, step, X) : solve_lp(row, p, step, X);
        normalise(row->count, X);
    }
    return nadir_lmo_cost_row_norm(row, p, X, work);
}
