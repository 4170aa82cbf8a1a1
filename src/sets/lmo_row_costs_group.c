/*
 * lmo_row_costs_group.c: the common step of rows that share a radius; see lmo_row_costs.h.
 *
 * The distance N(step) = (sum over the rows of (|Delta| / alpha)^p)^(1/p) rises with the step, from 0 to
 * where all mass is cheapest; the step sought has N = radius. N is about a power of the step as long as
 * nothing is at its border: false position in logarithms. Where N jumps (p = 1) both sides of the jump are
 * mixed, which by convexity of norms does not leave the ball.
 */
#include "linalg/norm.h"
#include "sets/lmo_row_costs.h"

#include <float.h>
#include <math.h>

/* N within this of the radius, relatively, is good enough. */
#define TOLERANCE 1e-14

static double distance_at(const nadir_lmo_row_costs *costs, const nadir_lmo_cost_group *group, double step)
{
    const nadir_lmo_cost_works *works = costs->works;
    const int threads = group->end - group->first > 1 ? works->threads : 1;
    const int64_t count = group->end - group->first;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; part++) {
        nadir_lmo_cost_work *work = &works->each[part];
        const int64_t end = group->first + (part + 1) * count / threads;
        for (int64_t row = group->first + part * count / threads; row < end; row++) {
            double omega;
            costs->norms[row] = !nadir_lmo_cost_row_read_active(costs, row, work)
                                    ? 0
                                    : nadir_lmo_cost_row_solve(&work->row, costs->set->p, step, work->indices,
                                                               work->X, work->work, &omega);
        }
    }
    return nadir_norm_short(count, costs->norms + group->first, costs->set->p);
}

/* The largest alpha cost of the group: 1 / step is of this size. */
static double largest_cost(const nadir_lmo_row_costs *costs, const nadir_lmo_cost_group *group)
{
    nadir_lmo_cost_work *work = &costs->works->each[0];
    double largest = 0;
    for (int64_t row = group->first; row < group->end; row++) {
        if (nadir_lmo_cost_row_read_active(costs, row, work)) {
            largest = fmax(largest, work->row.alpha * work->row.largest);
        }
    }
    return largest;
}

/* Where the line through both ends, in logarithms, meets the radius. */
static double interpolate(double low, double below, double high, double above, double radius)
{
    const double share = log(radius / below) / log(above / below);
    const double middle = low * pow(high / low, share);
    return middle > low && middle < high ? middle : sqrt(low) * sqrt(high);
}

nadir_lmo_cost_step nadir_lmo_cost_group_solve(const nadir_lmo_row_costs *costs,
                                               const nadir_lmo_cost_group *group)
{
    const double radius = group->radius * NADIR_LMO_COST_INSIDE;
    const double largest = largest_cost(costs, group);
    if (!(largest > 0) || !(radius > 0)) {
        return (nadir_lmo_cost_step){0};
    }
    double high = 1 / largest;
    double low = 0;
    double below = 0;
    double above = distance_at(costs, group, high);
    for (int unchanged = 0; above < radius && unchanged < 3;) {
        low = high;
        below = above;
        high *= 64;
        above = isfinite(high) ? distance_at(costs, group, high) : below;
        unchanged = above > below * (1 + TOLERANCE) ? 0 : unchanged + 1;
    }
    if (above <= radius) { /* the constraint is inactive: take a multiplier of nearly 0 */
        const double far = high * 1e12;
        const bool fits = isfinite(far) && distance_at(costs, group, far) <= radius;
        return (nadir_lmo_cost_step){.low = fits             ? far
                                            : isfinite(high) ? high
                                                             : low,
                                     .high = far,
                                     .active = false};
    }
    if (low == 0) {
        low = high;
        while ((below = distance_at(costs, group, low)) > radius && low > 0) {
            high = low;
            above = below;
            low /= 64;
        }
    }
    for (int i = 0; i < 200 && below < radius * (1 - TOLERANCE) && high > nadir_round_up(low, 2); i++) {
        const bool halve = i % 3 == 2 || !(below > 0);
        const double middle = halve ? sqrt(low) * sqrt(high) : interpolate(low, below, high, above, radius);
        if (!(middle > low && middle < high)) {
            break;
        }
        const double distance = distance_at(costs, group, middle);
        if (distance <= radius) {
            low = middle;
            below = distance;
        } else {
            high = middle;
            above = distance;
        }
    }
    const double share = below < radius * (1 - TOLERANCE) ? (radius - below) / (above - below) : 0;
    return (nadir_lmo_cost_step){.low = low, .high = high, .share = share, .active = true};
}
