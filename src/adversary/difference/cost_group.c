/*
 * cost_group.c: the common step of rows that share a radius; see costs.h.
 *
 * The distance N(step) = (sum over the rows of (|Delta| / alpha)^p)^(1/p) rises with the step, from 0 to
 * where all mass is cheapest; the step sought has N = radius. N is about a power of the step as long as
 * nothing is at its border: false position in logarithms. Where N jumps (p = 1) both sides of the jump are
 * mixed, which by convexity of norms does not leave the ball.
 */
#include "adversary/difference/cost_parts.h"
#include "linalg/norm.h"

#include <float.h>
#include <math.h>

/* The ball is a little smaller: rounding must not leave it. */
#define INSIDE (1 - 32 * DBL_EPSILON)

/* How close N has to come to the radius. */
#define CLOSE 1e-14

static double distance_at(const nadir_lmo_row_costs *costs, const nadir_cost_group *group, double step)
{
    const nadir_cost_rooms *rooms = costs->rooms;
    const int threads = group->end - group->first > 1 ? rooms->threads : 1;
    const int64_t many = group->end - group->first;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; part++) {
        nadir_cost_room *room = &rooms->rooms[part];
        const int64_t end = group->first + (part + 1) * many / threads;
        for (int64_t row = group->first + part * many / threads; row < end; row++) {
            double omega;
            costs->norms[row] = !nadir_cost_row_read(costs, row, room)
                                    ? 0
                                    : nadir_cost_row_answer(&room->row, costs->set->p, step, room->places,
                                                            room->X, room->work, &omega);
        }
    }
    return nadir_norm_short(many, costs->norms + group->first, costs->set->p);
}

/* The largest alpha cost of the group: what a step is measured by. */
static double largest_cost(const nadir_lmo_row_costs *costs, const nadir_cost_group *group)
{
    nadir_cost_room *room = &costs->rooms->rooms[0];
    double largest = 0;
    for (int64_t row = group->first; row < group->end; row++) {
        if (nadir_cost_row_read(costs, row, room)) {
            largest = fmax(largest, room->row.alpha * room->row.largest);
        }
    }
    return largest;
}

/* Where the line through both ends, in logarithms, meets the radius. */
static double between(double low, double below, double high, double above, double radius)
{
    const double share = log(radius / below) / log(above / below);
    const double middle = low * pow(high / low, share);
    return middle > low && middle < high ? middle : sqrt(low) * sqrt(high);
}

nadir_cost_shared nadir_cost_group_solve(const nadir_lmo_row_costs *costs, const nadir_cost_group *group)
{
    const double radius = group->radius * INSIDE;
    const double largest = largest_cost(costs, group);
    if (!(largest > 0) || !(radius > 0)) {
        return (nadir_cost_shared){0};
    }
    double high = 1 / largest;
    double low = 0;
    double below = 0;
    double above = distance_at(costs, group, high);
    for (int still = 0; above < radius && still < 3;) {
        low = high;
        below = above;
        high *= 64;
        above = isfinite(high) ? distance_at(costs, group, high) : below;
        still = above > below * (1 + CLOSE) ? 0 : still + 1;
    }
    if (above <= radius) { /* as far as rows can go, nearly: the multiplier is to be nearly 0 */
        const double far = high * 1e12;
        const bool fits = isfinite(far) && distance_at(costs, group, far) <= radius;
        return (nadir_cost_shared){.low = fits             ? far
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
    for (int i = 0; i < 200 && below < radius * (1 - CLOSE) && high > low * (1 + DBL_EPSILON); i++) {
        const bool halve = i % 3 == 2 || !(below > 0);
        const double middle = halve ? sqrt(low) * sqrt(high) : between(low, below, high, above, radius);
        if (!(middle > low && middle < high)) {
            break;
        }
        const double found = distance_at(costs, group, middle);
        if (found <= radius) {
            low = middle;
            below = found;
        } else {
            high = middle;
            above = found;
        }
    }
    const double share = below < radius * (1 - CLOSE) ? (radius - below) / (above - below) : 0;
    return (nadir_cost_shared){.low = low, .high = high, .share = share, .active = true};
}
