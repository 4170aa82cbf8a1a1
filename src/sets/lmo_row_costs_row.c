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
#include "linalg/root.h"
#include "linalg/vector.h"
#include "model/kernel.h"
#include "sets/lmo_row_costs.h"

#include <float.h>
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
    nadir_bracket bracket = {0, row->largest};
    double below = sum_at(row, p, step, bracket.low);
    double above = sum_at(row, p, step, bracket.high);
    double weight_low = below; /* halved when its end stays */
    double weight_high = above;
    for (int i = 0; i < 200 && bracket.high - bracket.low > nadir_round_error(2) * bracket.high &&
                    above > NADIR_ROUND_UNIT && below < -NADIR_ROUND_UNIT;
         i++) {
        const double middle = nadir_bracket_false_position(&bracket, weight_low, weight_high, i % 6 == 5);
        const double sum = sum_at(row, p, step, middle);
        nadir_bracket_narrow(&bracket, middle, sum <= 0);
        if (sum <= 0) {
            below = weight_low = sum;
            weight_high /= 2;
        } else {
            above = weight_high = sum;
            weight_low /= 2;
        }
    }
    const double share = above - below > 0 ? -below / (above - below) : 0;
    for (int64_t i = 0; i < row->count; i++) {
        const double moved = (1 - share) * displacement_at(row, p, step, bracket.low, i) +
                             (share > 0 ? share * displacement_at(row, p, step, bracket.high, i) : 0);
        X[i] = fmax(0, row->phat[i] + moved);
    }
    return bracket.low + share * (bracket.high - bracket.low);
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

/* ---------------------------------------------------------------------------------------- any p */

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

/* ----------------------------------------------------------------------------------- proximal step
 *
 * The proximal step.
 *
 * With z = X - Phat, z0 = from - Phat, l = curvature / alpha^2 and a multiplier k of the ball, an entry that
 * is not clipped has
 *
 *     l z + k sign(z) |z|^(p-1) / alpha^p = h,    h = l z0 + omega - c
 *     (p = inf: l z = h with |z| <= alpha radius)
 *
 * whose solution is monotone in h: by a formula for p = 1, 2, inf, otherwise by Newton's method from above in
 * z, or in z^(p-1) where that makes it convex. Sums are monotone in omega, norms in k; both are found by
 * false position.
 */

/* A norm within this of the radius, relatively, is good enough. */
#define TOLERANCE 1e-12

/* What all rows share. */
typedef struct proximal {
    const nadir_lmo_row_costs *costs;
    nadir_lmo_cost_work *work;
    nadir_explicit *from;
    double *dense;    /* [states] a row of `from` */
    double curvature; /* in units of the costs */
} proximal;

/* z >= 0 with l z + k z^(p-1) = h, h > 0. */
static double solve_entry(double p, double l, double k, double h)
{
    if (p == 1) {
        return fmax(0, (h - k) / l);
    }
    if (p == 2 || k == 0) {
        return h / (l + k);
    }
    if (isinf(k)) {
        return 0;
    }
    /* in y = z (p > 2) or y = z^(p-1) (p < 2): linear y + power y^r = h with r >= 1, convex */
    const double r = p > 2 ? p - 1 : 1 / (p - 1);
    const double linear = p > 2 ? l : k;
    const double power = p > 2 ? k : l;
    double y = fmin(h / linear, pow(h / power, 1 / r));
    for (int i = 0; i < 60 && y > 0; i++) {
        const double raised = power * pow(y, r - 1);
        const double step = (linear * y + raised * y - h) / (linear + r * raised);
        y -= step;
        if (!(step > nadir_round_error(4) * y)) {
            break;
        }
    }
    return p > 2 ? y : pow(fmax(y, 0), r);
}

/* One entry of X. */
static double entry_at(const proximal *self, int64_t i, double k, double radius, double omega)
{
    const nadir_lmo_cost_row *row = &self->work->row;
    const nadir_uncertainty *set = self->costs->set;
    const double l = self->curvature / row->alpha / row->alpha;
    const double h = l * self->work->second[i] + (omega - row->cost[i]);
    const double z = isinf(set->p) ? fmin(fabs(h) / l, radius)
                     : h == 0      ? 0
                                   : solve_entry(set->p, l, k, fabs(h));
    const double x = row->phat[i] + (h < 0 ? -z : z);
    return set->domain == NADIR_DOMAIN_FREE ? x : fmax(0, x);
}

static double proximal_sum(const proximal *self, double k, double radius, double omega)
{
    double sum = 0;
    for (int64_t i = 0; i < self->work->row.count; i++) {
        sum += entry_at(self, i, k, radius, omega) - self->work->row.phat[i];
    }
    return sum;
}

/* work->X for one k: omega by false position (Illinois). */
static void solve_row(const proximal *self, double k, double radius)
{
    const nadir_lmo_cost_row *row = &self->work->row;
    const double l = self->curvature / row->alpha / row->alpha;
    nadir_bracket bracket = {INFINITY, -INFINITY};
    for (int64_t i = 0; i < row->count; i++) { /* levels at which all entries fall, or rise */
        bracket.low = fmin(bracket.low, row->cost[i] - l * self->work->second[i]);
        bracket.high = fmax(bracket.high, row->cost[i] - l * self->work->second[i]);
    }
    double below = proximal_sum(self, k, radius, bracket.low);
    double above = proximal_sum(self, k, radius, bracket.high);
    for (int i = 0; i < 100 && below < -NADIR_ROUND_UNIT && above > NADIR_ROUND_UNIT; i++) {
        const bool halve = i % 6 == 5;
        const double middle = nadir_bracket_false_position(&bracket, below, above, halve);
        if (!nadir_bracket_contains(&bracket, middle)) {
            break;
        }
        const double sum = proximal_sum(self, k, radius, middle);
        nadir_bracket_narrow(&bracket, middle, sum <= 0);
        if (sum <= 0) {
            below = sum;
            above /= halve ? 1 : 2;
        } else {
            above = sum;
            below /= halve ? 1 : 2;
        }
    }
    const double omega = -below < above ? bracket.low : bracket.high;
    double sum = 0;
    for (int64_t i = 0; i < row->count; i++) {
        self->work->X[i] = entry_at(self, i, k, radius, omega);
        sum += self->work->X[i];
    }
    for (int64_t i = 0; i < row->count; i++) { /* removes the rounding of the sum */
        self->work->X[i] = self->costs->set->domain == NADIR_DOMAIN_FREE
                               ? self->work->X[i] - (sum - 1) / (double)row->count
                               : self->work->X[i] / sum;
    }
}

/* Reads a row, and z0 into work->second; false: it cannot move. */
static bool read_row(const proximal *self, int64_t row)
{
    nadir_lmo_cost_work *work = self->work;
    if (!nadir_lmo_cost_row_read(self->costs, row, work)) {
        return false;
    }
    const nadir_row own = nadir_explicit_row(self->from, row);
    for (int64_t i = 0; i < work->row.count; i++) {
        self->dense[work->row.columns[i]] = 0;
    }
    for (int64_t i = 0; i < own.count; i++) {
        self->dense[own.columns[i]] = own.values[i];
    }
    for (int64_t i = 0; i < work->row.count; i++) {
        work->second[i] = self->dense[work->row.columns[i]] - work->row.phat[i];
    }
    return true;
}

/* k / alpha^p of the row that was read. */
static double row_multiplier(const proximal *self, double k)
{
    const double p = self->costs->set->p;
    return isinf(p) || k == 0 ? 0 : k / pow(self->work->row.alpha, p);
}

static double norm_at(const proximal *self, const nadir_lmo_cost_group *group, double k)
{
    for (int64_t row = group->first; row < group->end; row++) {
        self->costs->norms[row] = 0;
        if (read_row(self, row)) {
            solve_row(self, row_multiplier(self, k), group->radius * self->work->row.alpha);
            self->costs->norms[row] = nadir_lmo_cost_row_norm(&self->work->row, self->costs->set->p,
                                                              self->work->X, self->work->work);
        }
    }
    return nadir_norm_short(group->end - group->first, self->costs->norms + group->first,
                            self->costs->set->p);
}

/* The smallest k whose X lie in the ball. */
static double find_multiplier(const proximal *self, const nadir_lmo_cost_group *group)
{
    const double radius = group->radius * NADIR_LMO_COST_INSIDE;
    if (isinf(self->costs->set->p) || norm_at(self, group, 0) <= radius) {
        return 0;
    }
    nadir_bracket bracket = {self->curvature, self->curvature};
    double outside = norm_at(self, group, bracket.low);
    double inside = outside;
    while (outside <= radius && bracket.low > 0) {
        bracket = (nadir_bracket){bracket.low / 64, bracket.low};
        inside = outside;
        outside = norm_at(self, group, bracket.low);
    }
    while (inside > radius && isfinite(bracket.high)) {
        bracket = (nadir_bracket){bracket.high, bracket.high * 64};
        outside = inside;
        inside = norm_at(self, group, bracket.high);
    }
    for (int i = 0;
         i < 100 && inside < radius * (1 - TOLERANCE) && bracket.high > nadir_round_up(bracket.low, 2); i++) {
        const bool halve = i % 3 == 2 || !(inside > 0);
        const double middle = nadir_bracket_power(&bracket, outside, inside, radius, halve);
        if (!nadir_bracket_contains(&bracket, middle)) {
            break;
        }
        const double norm = norm_at(self, group, middle);
        nadir_bracket_narrow(&bracket, middle, norm > radius);
        *(norm > radius ? &outside : &inside) = norm;
    }
    return bracket.high;
}

nadir_status nadir_lmo_row_costs_proximal(nadir_context *context, nadir_lmo_row_costs *costs,
                                          const nadir_kernel *from, double curvature, double *length)
{
    nadir_status status = NADIR_OK;
    nadir_explicit rows = {0};
    proximal self = {.costs = costs, .from = &rows};
    *length = 0;
    nadir_lmo_row_costs_begin(costs);
    NADIR_NEW_ZERO(context, self.dense, costs->model->states);
    NADIR_CHECK(nadir_explicit_make(context, from, &rows));
    self.work = &costs->works->each[0];
    self.curvature = curvature / costs->scale;
    for (int64_t next = 0; next < costs->model->rows && self.curvature > 0 && isfinite(self.curvature);) {
        const nadir_lmo_cost_group group = nadir_lmo_cost_group_from(costs, next);
        const double k = group.radius > 0 ? find_multiplier(&self, &group) : 0;
        next = group.end;
        for (int64_t row = group.first; row < group.end && group.radius > 0; row++) {
            if (!read_row(&self, row)) {
                continue;
            }
            solve_row(&self, row_multiplier(&self, k), group.radius * self.work->row.alpha);
            for (int64_t i = 0; i < self.work->row.count; i++) {
                const double moved = self.work->X[i] - self.work->row.phat[i] - self.work->second[i];
                *length += moved / self.work->row.alpha * (moved / self.work->row.alpha);
            }
            NADIR_CHECK(nadir_lmo_row_costs_append(context, costs, row, self.work));
        }
        if (costs->set->set == NADIR_SET_NONRECT && costs->set->p == 2) {
            costs->tau = k * costs->scale / 2;
        }
    }
cleanup:
    nadir_explicit_clear(context, &rows);
    nadir_release(context, self.dense);
    return status;
}
