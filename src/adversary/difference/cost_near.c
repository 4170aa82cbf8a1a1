/*
 * cost_near.c: the linear step with a price on the way; see nadir_lmo_row_costs_proximal.
 *
 * With z = X - Phat, z0 = from - Phat, l = bend / alpha^2 and a multiplier k of the ball, an entry that is
 * not at its border has
 *
 *     l z + k sign(z) |z|^(p-1) / alpha^p = h,    h = l z0 + omega - c    (p = inf: |z| <= alpha radius
 * instead)
 *
 * whose solution is monotone in h: by a formula for p = 1, 2, inf, otherwise by Newton's method from above in
 * z, or in z^(p-1) where that makes it convex. Sums are monotone in omega, norms in k; both are found by
 * false position.
 */
#include "adversary/difference/cost_parts.h"
#include "kernel/explicit.h"
#include "linalg/norm.h"

#include <float.h>
#include <math.h>

#define UNIT   (DBL_EPSILON / 2)
#define INSIDE (1 - 32 * DBL_EPSILON)
#define CLOSE  1e-12

/* What all rows share. */
typedef struct near_run {
    const nadir_lmo_row_costs *costs;
    nadir_cost_room *room;
    nadir_explicit *from;
    double *dense; /* [states] a row of `from` */
    double bend;   /* in units of the costs */
} near_run;

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
        if (!(step > 4 * UNIT * y)) {
            break;
        }
    }
    return p > 2 ? y : pow(fmax(y, 0), r);
}

/* One entry of X. */
static double entry_at(const near_run *run, int64_t i, double k, double radius, double omega)
{
    const nadir_cost_row *row = &run->room->row;
    const nadir_uncertainty *set = run->costs->set;
    const double l = run->bend / row->alpha / row->alpha;
    const double h = l * run->room->other[i] + (omega - row->cost[i]);
    const double z = isinf(set->p) ? fmin(fabs(h) / l, radius)
                     : h == 0      ? 0
                                   : solve_entry(set->p, l, k, fabs(h));
    const double x = row->phat[i] + (h < 0 ? -z : z);
    return set->domain == NADIR_DOMAIN_FREE ? x : fmax(0, x);
}

static double sum_at(const near_run *run, double k, double radius, double omega)
{
    double sum = 0;
    for (int64_t i = 0; i < run->room->row.count; i++) {
        sum += entry_at(run, i, k, radius, omega) - run->room->row.phat[i];
    }
    return sum;
}

/* X of a row, room->X, for one k: omega by false position (Illinois). */
static void answer_row(const near_run *run, double k, double radius)
{
    const nadir_cost_row *row = &run->room->row;
    const double l = run->bend / row->alpha / row->alpha;
    double low = INFINITY;
    double high = -INFINITY;
    for (int64_t i = 0; i < row->count; i++) { /* all entries fall, all rise */
        low = fmin(low, row->cost[i] - l * run->room->other[i]);
        high = fmax(high, row->cost[i] - l * run->room->other[i]);
    }
    double below = sum_at(run, k, radius, low);
    double above = sum_at(run, k, radius, high);
    for (int i = 0; i < 100 && below < -UNIT && above > UNIT; i++) {
        double middle = low + (high - low) * (below / (below - above));
        if (i % 6 == 5 || !(middle > low && middle < high)) {
            middle = low + (high - low) / 2;
        }
        if (!(middle > low && middle < high)) {
            break;
        }
        const double sum = sum_at(run, k, radius, middle);
        if (sum <= 0) {
            low = middle;
            below = sum;
            above /= i % 6 == 5 ? 1 : 2;
        } else {
            high = middle;
            above = sum;
            below /= i % 6 == 5 ? 1 : 2;
        }
    }
    const double omega = -below < above ? low : high;
    double sum = 0;
    for (int64_t i = 0; i < row->count; i++) {
        run->room->X[i] = entry_at(run, i, k, radius, omega);
        sum += run->room->X[i];
    }
    for (int64_t i = 0; i < row->count; i++) { /* rounding must not make or lose mass */
        run->room->X[i] = run->costs->set->domain == NADIR_DOMAIN_FREE
                              ? run->room->X[i] - (sum - 1) / (double)row->count
                              : run->room->X[i] / sum;
    }
}

/* The row of the costs, and z0 in room->other; false: it is pinned. */
static bool read_row(const near_run *run, int64_t row)
{
    nadir_cost_room *room = run->room;
    if (!nadir_cost_row_fill(run->costs, row, room)) {
        return false;
    }
    const nadir_row own = nadir_explicit_row(run->from, row);
    for (int64_t i = 0; i < room->row.count; i++) {
        run->dense[room->row.columns[i]] = 0;
    }
    for (int64_t i = 0; i < own.count; i++) {
        run->dense[own.columns[i]] = own.values[i];
    }
    for (int64_t i = 0; i < room->row.count; i++) {
        room->other[i] = run->dense[room->row.columns[i]] - room->row.phat[i];
    }
    return true;
}

/* k of a row from that of its group. */
static double price_of(const near_run *run, double k)
{
    const double p = run->costs->set->p;
    return isinf(p) || k == 0 ? 0 : k / pow(run->room->row.alpha, p);
}

static double norm_of(const near_run *run, const nadir_cost_group *group, double k)
{
    for (int64_t row = group->first; row < group->end; row++) {
        run->costs->norms[row] = 0;
        if (read_row(run, row)) {
            answer_row(run, price_of(run, k), group->radius * run->room->row.alpha);
            run->costs->norms[row] =
                nadir_cost_row_norm(&run->room->row, run->costs->set->p, run->room->X, run->room->work);
        }
    }
    return nadir_norm_short(group->end - group->first, run->costs->norms + group->first, run->costs->set->p);
}

/* The smallest k whose X lie in the ball. */
static double find_price(const near_run *run, const nadir_cost_group *group)
{
    const double radius = group->radius * INSIDE;
    if (isinf(run->costs->set->p) || norm_of(run, group, 0) <= radius) {
        return 0;
    }
    double low = run->bend;
    double high = run->bend;
    double outside = norm_of(run, group, low);
    double inside = outside;
    while (outside <= radius && low > 0) {
        high = low;
        inside = outside;
        low /= 64;
        outside = norm_of(run, group, low);
    }
    while (inside > radius && isfinite(high)) {
        low = high;
        outside = inside;
        high *= 64;
        inside = norm_of(run, group, high);
    }
    for (int i = 0; i < 100 && inside < radius * (1 - CLOSE) && high > low * (1 + DBL_EPSILON); i++) {
        const double share = log(outside / radius) / log(outside / inside);
        double middle = i % 3 == 2 || !(inside > 0) ? sqrt(low) * sqrt(high) : low * pow(high / low, share);
        if (!(middle > low && middle < high)) {
            middle = sqrt(low) * sqrt(high);
        }
        if (!(middle > low && middle < high)) {
            break;
        }
        const double found = norm_of(run, group, middle);
        if (found <= radius) {
            high = middle;
            inside = found;
        } else {
            low = middle;
            outside = found;
        }
    }
    return high;
}

nadir_status nadir_lmo_row_costs_proximal(nadir_context *context, nadir_lmo_row_costs *costs,
                                          const nadir_kernel *from, double bend, double *length)
{
    nadir_status status = NADIR_OK;
    nadir_explicit rows = {0};
    near_run run = {.costs = costs, .from = &rows};
    *length = 0;
    nadir_lmo_row_costs_begin(costs);
    NADIR_NEW_ZERO(context, run.dense, costs->model->states);
    NADIR_CHECK(nadir_explicit_make(context, from, &rows));
    run.room = &costs->rooms->rooms[0];
    run.bend = bend / costs->scale;
    for (int64_t next = 0; next < costs->model->rows && run.bend > 0 && isfinite(run.bend);) {
        const nadir_cost_group group = nadir_cost_group_at(costs, next);
        const double k = group.radius > 0 ? find_price(&run, &group) : 0;
        next = group.end;
        for (int64_t row = group.first; row < group.end && group.radius > 0; row++) {
            if (!read_row(&run, row)) {
                continue;
            }
            answer_row(&run, price_of(&run, k), group.radius * run.room->row.alpha);
            for (int64_t i = 0; i < run.room->row.count; i++) {
                const double moved = run.room->X[i] - run.room->row.phat[i] - run.room->other[i];
                *length += moved / run.room->row.alpha * (moved / run.room->row.alpha);
            }
            NADIR_CHECK(nadir_lmo_row_costs_append(context, costs, row, run.room));
        }
        if (costs->set->set == NADIR_SET_NONRECT && costs->set->p == 2) {
            costs->tau = k * costs->scale / 2;
        }
    }
cleanup:
    nadir_explicit_clear(context, &rows);
    nadir_release(context, run.dense);
    return status;
}
