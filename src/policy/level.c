/*
 * level.c: the best mixture of actions against one budget; see level.h.
 *
 * The gains lie below their tangents. With the tangents in their place the level is a scalar equation, whose
 * root x lies at or below the level that is looked for; the radii of that root are within the budget, so that
 * the level to which they really bring the actions lies at or above it. The gains there have new tangents,
 * and so on: Newton's method, the two levels meet after a few rounds. Below the level that the best action
 * keeps when all of beta is spent on it alone there is nothing to look for.
 */
#include "policy/level.h"

#include "linalg/norm.h"
#include "linalg/root.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

enum { ROUNDS = 100, STEPS = 200 };

#define ROUNDING (4 * DBL_EPSILON)
#define CLOSE    1e-9

/* A new tangent, in place of the one that touches farthest from there if need be. */
static void keep_tangent(nadir_level_action *at)
{
    int place = at->tangents;
    if (!(at->now.slope > 0)) {
        return;
    }
    if (at->tangents == NADIR_LEVEL_TANGENTS) {
        place = 0;
        for (int i = 1; i < NADIR_LEVEL_TANGENTS; i++) {
            place = fabs(at->touch[i] - at->now.norm) > fabs(at->touch[place] - at->now.norm) ? i : place;
        }
    } else {
        at->tangents++;
    }
    at->touch[place] = at->now.norm;
    at->slope[place] = at->now.slope;
    at->start[place] = at->now.gain - at->now.slope * at->now.norm;
}

static void ask(const nadir_level *of, int64_t action, double radius)
{
    nadir_level_action *at = &of->actions[action];
    at->now = of->ask(of->user, action, radius);
    keep_tangent(at);
}

/* A tangent from closer to radius 0, for a gain so small that all of them reach it there: at the chord from 0
 * to the nearest one, which lies below the gain. */
static void probe(const nadir_level *of, int64_t action, double wanted)
{
    const nadir_level_action *at = &of->actions[action];
    int nearest = 0;
    for (int i = 1; i < at->tangents; i++) {
        nearest = at->touch[i] < at->touch[nearest] ? i : nearest;
    }
    const double gain = at->start[nearest] + at->slope[nearest] * at->touch[nearest];
    ask(of, action, at->touch[nearest] * (wanted / gain));
}

/* Whether bringing an action down to x takes all that beta can do, but for rounding. */
static bool takes_all(const nadir_level *of, int64_t action, double x)
{
    const double rounding = ROUNDING * (fabs(of->q[action]) + fabs(x));
    return of->q[action] - x >= of->gamma * of->actions[action].most.gain - rounding;
}

/* c_a(x) by the tangents, and -gamma times its derivative. */
static double radius_at(const nadir_level *of, int64_t action, double x, double *derivative)
{
    const nadir_level_action *at = &of->actions[action];
    const double wanted = (of->q[action] - x) / of->gamma;
    double radius = 0;
    *derivative = 0;
    if (!(wanted > 0)) {
        return 0;
    }
    for (int i = 0; i < at->tangents; i++) {
        const double there = (wanted - at->start[i]) / at->slope[i];
        if (there > radius) {
            radius = there;
            *derivative = 1 / at->slope[i];
        }
    }
    if (takes_all(of, action, x)) {
        radius = fmax(radius, at->most.norm);
    }
    return radius;
}

/* |c(x)|_p by the tangents, and -gamma times its derivative. */
static double spend(const nadir_level *of, double x, double *derivative)
{
    double largest = 0;
    double sum = 0;
    double slope = 0;
    double part;
    for (int64_t a = 0; a < of->count; a++) {
        largest = fmax(largest, radius_at(of, a, x, &part));
    }
    for (int64_t a = 0; a < of->count && largest > 0; a++) {
        const double share = radius_at(of, a, x, &part) / largest;
        if (share > 0) {
            const double power = nadir_power(share, of->p - 1);
            sum += power * share;
            slope += power * part;
        }
    }
    *derivative = largest > 0 ? slope * nadir_power(sum, 1 / of->p - 1) : 0;
    return largest > 0 ? largest * nadir_power(sum, 1 / of->p) : 0;
}

/* The least x from `low` on at which the tangents spend beta; at `high` they spend nothing. */
static double root(const nadir_level *of, double low, double high)
{
    nadir_bracket bracket = {low, high};
    double x = low;
    for (int i = 0; i < STEPS; i++) {
        double derivative;
        const double over = spend(of, x, &derivative) - of->beta;
        if ((x == bracket.low && over <= ROUNDING * of->beta) || fabs(over) <= DBL_EPSILON * of->beta) {
            break;
        }
        nadir_bracket_narrow(&bracket, x, over > 0);
        if (!nadir_bracket_step(&bracket, x + of->gamma * over / derivative, &x)) {
            return bracket.high; /* within the budget */
        }
    }
    return x;
}

/* The derivatives of c_a^p, in proportion; false: there are none. */
static bool mix(const nadir_level *of, double *pi)
{
    double largest = 0;
    double sum = 0;
    double least = INFINITY; /* slopes may be too small for their inverses */
    for (int64_t a = 0; a < of->count; a++) {
        const nadir_level_answer *now = &of->actions[a].now;
        largest = fmax(largest, now->norm);
        least = now->slope > 0 && now->norm > 0 ? fmin(least, now->slope) : least;
    }
    for (int64_t a = 0; a < of->count; a++) {
        const nadir_level_answer *now = &of->actions[a].now;
        pi[a] = now->slope > 0 && now->norm > 0
                    ? nadir_power(now->norm / largest, of->p - 1) * (least / now->slope)
                    : 0;
        sum += pi[a];
    }
    for (int64_t a = 0; a < of->count; a++) {
        pi[a] = sum > 0 ? pi[a] / sum : 0;
    }
    return sum > 0;
}

/* Asks an action for what the tangents say, and returns the level where it is then. */
static double answer(const nadir_level *of, int64_t action, double x)
{
    double derivative;
    const double radius = radius_at(of, action, x, &derivative);
    ask(of, action, radius > 0 && takes_all(of, action, x) ? of->beta : radius);
    const double level = of->q[action] - of->gamma * of->actions[action].now.gain;
    if (radius == 0 && level > x && of->actions[action].tangents > 0) {
        probe(of, action, (of->q[action] - x) / of->gamma);
    }
    return level;
}

/* Whatever happened, the radii are within the budget. */
static void stay_within(const nadir_level *of)
{
    double largest = 0;
    double sum = 0;
    for (int64_t a = 0; a < of->count; a++) {
        largest = fmax(largest, of->actions[a].now.norm);
    }
    for (int64_t a = 0; a < of->count && largest > 0; a++) {
        sum += nadir_power(of->actions[a].now.norm / largest, of->p);
    }
    const double spent = largest * nadir_power(sum, 1 / of->p);
    for (int64_t a = 0; a < of->count && spent > of->beta * (1 + ROUNDING); a++) {
        ask(of, a, of->actions[a].now.norm * (of->beta / spent));
    }
}

/* The level from `low` on, which an action keeps whatever happens. Rounding keeps the two levels from
 * meeting: where they are close, and do not come closer any more, that is all there is. */
static double meet(const nadir_level *of, double low, double high)
{
    double size = fabs(low) + fabs(high);
    double before = INFINITY;
    double x = low;
    for (int64_t a = 0; a < of->count; a++) {
        const nadir_level_answer *most = &of->actions[a].most;
        size = fmax(size, fabs(of->q[a]) + of->gamma * most->gain);
        if (of->q[a] > low && of->actions[a].tangents == 0) { /* more than is needed: no slope there */
            ask(of, a, most->norm / 2);
        }
    }
    for (int i = 0; i < ROUNDS; i++) {
        double reached = low;
        x = root(of, x, high);
        for (int64_t a = 0; a < of->count; a++) {
            reached = fmax(reached, answer(of, a, x));
        }
        const double apart = reached - x;
        if (apart <= ROUNDING * size || (apart <= CLOSE * size && apart >= before / 2)) {
            break;
        }
        before = apart;
    }
    stay_within(of);
    return x;
}

double nadir_level_solve(const nadir_level *of, double *pi)
{
    int64_t best = 0;
    double low = -INFINITY;
    double high = -INFINITY;
    for (int64_t a = 0; a < of->count; a++) {
        of->actions[a].tangents = 0;
        ask(of, a, of->beta);
        of->actions[a].most = of->actions[a].now;
        const double left = of->q[a] - of->gamma * of->actions[a].now.gain;
        best = left > low ? a : best;
        low = fmax(low, left);
        high = fmax(high, of->q[a]);
        pi[a] = 0;
    }
    double x = low;
    if (isfinite(of->p) && of->gamma > 0) {
        x = meet(of, low, high);
    } else if (isfinite(of->p)) {
        for (int64_t a = 0; a < of->count; a++) {
            ask(of, a, 0);
        }
    }
    if (!(x > low) || !mix(of, pi)) {
        pi[best] = 1;
    }
    return x;
}
