/*
 * level.c: the best mixture of actions against one budget; see level.h.
 *
 * |c(x)|_p is convex and falls. The best that an action alone keeps when all of beta is spent on it is a
 * level at or below the answer: Newton's method rises from there to the root. Each c_a(x) is the root of a
 * concave function, by tangents, which never go too far, and chords, which always go far enough.
 */
#include "policy/level.h"

#include "linalg/norm.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

enum { LEVELS = 200, RADII = 100 };

#define ROUNDING (4 * DBL_EPSILON)

static void ask(const nadir_level *of, int64_t action, double radius)
{
    nadir_level_action *at = &of->actions[action];
    at->now = of->ask(of->user, action, radius);
    at->radius = at->now.norm < radius ? at->now.norm : radius;
}

/* The radius that brings an action down to x. Where that is all that beta can do, but for rounding, beta is
 * asked for: next to the end of what can be gained rows are hard to solve. */
static void bring(const nadir_level *of, int64_t action, double x)
{
    nadir_level_action *at = &of->actions[action];
    const double wanted = (of->q[action] - x) / of->gamma;
    const double rounding = ROUNDING * (fabs(of->q[action]) + fabs(x)) / of->gamma;
    double low[2] = {0, 0}; /* radius and gain */
    double high[2] = {of->beta, at->most.gain};
    if (!(wanted > 0) || wanted >= at->most.gain - rounding) {
        ask(of, action, wanted > 0 ? of->beta : 0);
        return;
    }
    for (int i = 0; i < RADII && fabs(at->now.gain - wanted) > DBL_EPSILON * at->most.gain; i++) {
        double *end = at->now.gain > wanted ? high : low;
        end[0] = at->radius;
        end[1] = at->now.gain;
        double next = at->radius + (wanted - at->now.gain) / at->now.slope;
        if (!(next > low[0] && next < high[0])) {
            next = low[0] + (wanted - low[1]) / (high[1] - low[1]) * (high[0] - low[0]);
        }
        if (!(next > low[0] && next < high[0])) {
            next = low[0] + (high[0] - low[0]) / 2;
        }
        if (!(next > low[0] && next < high[0])) {
            break;
        }
        ask(of, action, next);
    }
}

/* |c(x)|_p and its derivative. */
static double spend(const nadir_level *of, double x, double *derivative)
{
    double largest = 0;
    double sum = 0;
    double slope = 0;
    for (int64_t a = 0; a < of->count; a++) {
        bring(of, a, x);
        largest = fmax(largest, of->actions[a].radius);
    }
    for (int64_t a = 0; a < of->count && largest > 0; a++) {
        const nadir_level_action *at = &of->actions[a];
        if (at->radius > 0) {
            const double power = nadir_power(at->radius / largest, of->p - 1);
            sum += power * (at->radius / largest);
            slope += power / (of->gamma * at->now.slope);
        }
    }
    *derivative = -slope * nadir_power(sum, 1 / of->p - 1);
    return largest * nadir_power(sum, 1 / of->p);
}

/* The derivatives of c_a^p, in proportion. An action that cannot be brought any lower is all there is. */
static void mix(const nadir_level *of, double *pi)
{
    double largest = 0;
    double sum = 0;
    for (int64_t a = 0; a < of->count; a++) {
        largest = fmax(largest, of->actions[a].radius);
    }
    for (int64_t a = 0; a < of->count; a++) {
        const nadir_level_action *at = &of->actions[a];
        pi[a] = at->radius > 0 ? nadir_power(at->radius / largest, of->p - 1) / at->now.slope : 0;
        sum += pi[a];
    }
    bool infinite = isinf(sum);
    for (int64_t a = 0; a < of->count; a++) {
        if (isinf(sum)) {
            const bool all = infinite && isinf(pi[a]);
            pi[a] = all ? 1 : 0;
            infinite = infinite && !all;
        } else {
            pi[a] /= sum;
        }
    }
}

/* The level between `low`, where the budget is overspent, and `high`. */
static double rise(const nadir_level *of, double low, double high, double over, double derivative)
{
    double x = low;
    for (int i = 0; i < LEVELS; i++) {
        double next = x - over / derivative;
        if (!(next > low && next < high)) {
            next = low + (high - low) / 2;
        }
        if (!(next > low && next < high)) {
            break;
        }
        x = next;
        over = spend(of, x, &derivative) - of->beta;
        if (fabs(over) <= ROUNDING * of->beta) {
            break;
        }
        *(over > 0 ? &low : &high) = x;
    }
    return x;
}

double nadir_level_solve(const nadir_level *of, double *pi)
{
    int64_t best = 0;
    double x = -INFINITY;
    double highest = -INFINITY;
    double derivative;
    for (int64_t a = 0; a < of->count; a++) {
        ask(of, a, of->beta);
        of->actions[a].most = of->actions[a].now;
        const double left = of->q[a] - of->gamma * of->actions[a].now.gain;
        best = left > x ? a : best;
        x = fmax(x, left);
        highest = fmax(highest, of->q[a]);
        pi[a] = 0;
    }
    if (isfinite(of->p) && of->gamma > 0 && highest > x) {
        const double over = spend(of, x, &derivative) - of->beta;
        if (over > ROUNDING * of->beta) {
            x = rise(of, x, highest, over, derivative);
            mix(of, pi);
            return x;
        }
    } else if (isfinite(of->p)) {
        for (int64_t a = 0; a < of->count; a++) {
            ask(of, a, 0);
        }
    }
    pi[best] = 1;
    return x;
}
