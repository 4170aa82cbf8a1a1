/*
 * srect_update.c: the best mixture of actions against one budget; see srect_update.h.
 *
 * The gains lie below their tangents. With the tangents in their place the level is a scalar equation, whose
 * root x lies at or below the level that is looked for; the radii of that root are within the budget, so that
 * the level to which they really bring the actions lies at or above it. The gains there have new tangents,
 * and so on: Newton's method, the two levels meet after a few rounds. Below the level that the best action
 * keeps when all of beta is spent on it alone there is nothing to look for.
 */
#include "policy/rectangular_optimum.h"

#include "linalg/root.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

enum { ROUNDS = 100, STEPS = 200 };

#define ROUNDING (4 * DBL_EPSILON)
#define CLOSE    1e-9

/* A new tangent, in place of the one that touches farthest from there if need be. */
static void keep_tangent(nadir_srect_action *self)
{
    int place = self->tangents;
    if (!(self->now.slope > 0)) {
        return;
    }
    if (self->tangents == NADIR_SRECT_TANGENTS) {
        place = 0;
        for (int i = 1; i < NADIR_SRECT_TANGENTS; i++) {
            place =
                fabs(self->touch[i] - self->now.norm) > fabs(self->touch[place] - self->now.norm) ? i : place;
        }
    } else {
        self->tangents++;
    }
    self->touch[place] = self->now.norm;
    self->slope[place] = self->now.slope;
    self->start[place] = self->now.gain - self->now.slope * self->now.norm;
}

static void ask(const nadir_srect_update *own, int64_t action, double radius)
{
    nadir_srect_action *self = &own->actions[action];
    self->now = own->ask(own->user, action, radius);
    keep_tangent(self);
}

/* A tangent from closer to radius 0, for a gain so small that all of them reach it there: at the chord from 0
 * to the nearest one, which lies below the gain. */
static void probe(const nadir_srect_update *own, int64_t action, double wanted)
{
    const nadir_srect_action *self = &own->actions[action];
    int nearest = 0;
    for (int i = 1; i < self->tangents; i++) {
        nearest = self->touch[i] < self->touch[nearest] ? i : nearest;
    }
    const double gain = self->start[nearest] + self->slope[nearest] * self->touch[nearest];
    ask(own, action, self->touch[nearest] * (wanted / gain));
}

/* Whether bringing an action down to x takes all that beta can do, but for rounding. */
static bool takes_all(const nadir_srect_update *self, int64_t action, double x)
{
    const double rounding = ROUNDING * (fabs(self->q[action]) + fabs(x));
    return self->q[action] - x >= self->gamma * self->actions[action].most.gain - rounding;
}

/* c_a(x) by the tangents, and -gamma times its derivative. */
static double radius_at(const nadir_srect_update *own, int64_t action, double x, double *derivative)
{
    const nadir_srect_action *self = &own->actions[action];
    const double wanted = (own->q[action] - x) / own->gamma;
    double radius = 0;
    *derivative = 0;
    if (!(wanted > 0)) {
        return 0;
    }
    for (int i = 0; i < self->tangents; i++) {
        const double next = (wanted - self->start[i]) / self->slope[i];
        if (next > radius) {
            radius = next;
            *derivative = 1 / self->slope[i];
        }
    }
    if (takes_all(own, action, x)) {
        radius = fmax(radius, self->most.norm);
    }
    return radius;
}

/* |c(x)|_p by the tangents, and -gamma times its derivative. */
static double spend(const nadir_srect_update *self, double x, double *derivative)
{
    double largest = 0;
    double sum = 0;
    double slope = 0;
    double part;
    for (int64_t a = 0; a < self->count; a++) {
        largest = fmax(largest, radius_at(self, a, x, &part));
    }
    for (int64_t a = 0; a < self->count && largest > 0; a++) {
        const double share = radius_at(self, a, x, &part) / largest;
        if (share > 0) {
            const double power = nadir_power(share, self->p - 1);
            sum += power * share;
            slope += power * part;
        }
    }
    *derivative = largest > 0 ? slope * nadir_power(sum, 1 / self->p - 1) : 0;
    return largest > 0 ? largest * nadir_power(sum, 1 / self->p) : 0;
}

/* The least x from `low` on at which the tangents spend beta; at `high` they spend nothing. */
static double root(const nadir_srect_update *self, double low, double high)
{
    nadir_bracket bracket = {low, high};
    double x = low;
    for (int i = 0; i < STEPS; i++) {
        double derivative;
        const double over = spend(self, x, &derivative) - self->beta;
        if ((x == bracket.low && over <= ROUNDING * self->beta) || fabs(over) <= DBL_EPSILON * self->beta) {
            break;
        }
        nadir_bracket_narrow(&bracket, x, over > 0);
        if (!nadir_bracket_step(&bracket, x + self->gamma * over / derivative, &x)) {
            return bracket.high; /* within the budget */
        }
    }
    return x;
}

/* The derivatives of c_a^p, in proportion; false: there are none. */
static bool mix(const nadir_srect_update *self, double *pi)
{
    double largest = 0;
    double sum = 0;
    double least = INFINITY; /* slopes may be too small for their inverses */
    for (int64_t a = 0; a < self->count; a++) {
        const nadir_srect_response *now = &self->actions[a].now;
        largest = fmax(largest, now->norm);
        least = now->slope > 0 && now->norm > 0 ? fmin(least, now->slope) : least;
    }
    for (int64_t a = 0; a < self->count; a++) {
        const nadir_srect_response *now = &self->actions[a].now;
        pi[a] = now->slope > 0 && now->norm > 0
                    ? nadir_power(now->norm / largest, self->p - 1) * (least / now->slope)
                    : 0;
        sum += pi[a];
    }
    for (int64_t a = 0; a < self->count; a++) {
        pi[a] = sum > 0 ? pi[a] / sum : 0;
    }
    return sum > 0;
}

/* Asks an action for what the tangents say, and returns the level where it is then. */
static double answer(const nadir_srect_update *self, int64_t action, double x)
{
    double derivative;
    const double radius = radius_at(self, action, x, &derivative);
    ask(self, action, radius > 0 && takes_all(self, action, x) ? self->beta : radius);
    const double level = self->q[action] - self->gamma * self->actions[action].now.gain;
    if (radius == 0 && level > x && self->actions[action].tangents > 0) {
        probe(self, action, (self->q[action] - x) / self->gamma);
    }
    return level;
}

/* Whatever happened, the radii are within the budget. */
static void stay_within(const nadir_srect_update *self)
{
    double largest = 0;
    double sum = 0;
    for (int64_t a = 0; a < self->count; a++) {
        largest = fmax(largest, self->actions[a].now.norm);
    }
    for (int64_t a = 0; a < self->count && largest > 0; a++) {
        sum += nadir_power(self->actions[a].now.norm / largest, self->p);
    }
    const double spent = largest * nadir_power(sum, 1 / self->p);
    for (int64_t a = 0; a < self->count && spent > self->beta * (1 + ROUNDING); a++) {
        ask(self, a, self->actions[a].now.norm * (self->beta / spent));
    }
}

/* The level from `low` on, which an action keeps whatever happens. Rounding keeps the two levels from
 * meeting: where they are close, and do not come closer any more, that is all there is. */
static double meet(const nadir_srect_update *self, double low, double high)
{
    double size = fabs(low) + fabs(high);
    double before = INFINITY;
    double x = low;
    for (int64_t a = 0; a < self->count; a++) {
        const nadir_srect_response *most = &self->actions[a].most;
        size = fmax(size, fabs(self->q[a]) + self->gamma * most->gain);
        if (self->q[a] > low && self->actions[a].tangents == 0) { /* more than is needed: no slope there */
            ask(self, a, most->norm / 2);
        }
    }
    for (int i = 0; i < ROUNDS; i++) {
        double reached = low;
        x = root(self, x, high);
        for (int64_t a = 0; a < self->count; a++) {
            reached = fmax(reached, answer(self, a, x));
        }
        const double apart = reached - x;
        if (apart <= ROUNDING * size || (apart <= CLOSE * size && apart >= before / 2)) {
            break;
        }
        before = apart;
    }
    stay_within(self);
    return x;
}

double nadir_srect_update_solve(const nadir_srect_update *self, double *pi)
{
    int64_t best = 0;
    double low = -INFINITY;
    double high = -INFINITY;
    for (int64_t a = 0; a < self->count; a++) {
        self->actions[a].tangents = 0;
        ask(self, a, self->beta);
        self->actions[a].most = self->actions[a].now;
        const double left = self->q[a] - self->gamma * self->actions[a].now.gain;
        best = left > low ? a : best;
        low = fmax(low, left);
        high = fmax(high, self->q[a]);
        pi[a] = 0;
    }
    double x = low;
    if (isfinite(self->p) && self->gamma > 0) {
        x = meet(self, low, high);
    } else if (isfinite(self->p)) {
        for (int64_t a = 0; a < self->count; a++) {
            ask(self, a, 0);
        }
    }
    if (!(x > low) || !mix(self, pi)) {
        pi[best] = 1;
    }
    return x;
}
