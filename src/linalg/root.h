/*
 * root.h: safeguarded search for the root of a scalar function.
 *
 * The caller keeps a bracket around the root. At each point x it evaluates the function, narrows the bracket
 * by the sign of the value, and steps to the next point: where Newton's method, or any other, proposes if
 * that lies inside the bracket, and to the middle otherwise.
 *
 *     for (...) {
 *         value = f(x);
 *         ... stop if the value is small enough ...
 *         nadir_bracket_narrow(&bracket, x, value > 0);       f falls: the root is above x
 *         if (!nadir_bracket_step(&bracket, x - value / slope, &x)) {
 *             break;                                          no double lies between low and high
 *         }
 *     }
 */
#ifndef NADIR_LINALG_ROOT_H
#define NADIR_LINALG_ROOT_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* The root lies between. */
typedef struct nadir_bracket {
    double low, high;
} nadir_bracket;

static inline bool nadir_bracket_contains(const nadir_bracket *bracket, double x)
{
    return x > bracket->low && x < bracket->high;
}

static inline double nadir_bracket_middle(const nadir_bracket *bracket)
{
    return bracket->low + (bracket->high - bracket->low) / 2;
}

/* above: the root lies above x. */
static inline void nadir_bracket_narrow(nadir_bracket *bracket, double x, bool above)
{
    *(above ? &bracket->low : &bracket->high) = x;
}

/* *x <- `proposed` if it lies inside, which a NaN does not, otherwise the middle. False: neither does. */
static inline bool nadir_bracket_step(const nadir_bracket *bracket, double proposed, double *x)
{
    *x = nadir_bracket_contains(bracket, proposed) ? proposed : nadir_bracket_middle(bracket);
    return nadir_bracket_contains(bracket, *x);
}

/* Where the line through both ends, of values f_low < 0 < f_high, is zero; the middle where `halve`, or where
 * rounding puts that outside. */
static inline double nadir_bracket_false_position(const nadir_bracket *bracket, double f_low, double f_high,
                                                  bool halve)
{
    const double width = bracket->high - bracket->low;
    const double x = bracket->low + width * (f_low / (f_low - f_high));
    return !halve && nadir_bracket_contains(bracket, x) ? x : nadir_bracket_middle(bracket);
}

/* 0 < low: where a power of x through both ends, of values f_low and f_high > 0, is `target`; the geometric
 * mean where `halve`, or where that lies outside. */
static inline double nadir_bracket_power(const nadir_bracket *bracket, double f_low, double f_high,
                                         double target, bool halve)
{
    const double share = halve ? 0 : log(target / f_low) / log(f_high / f_low);
    const double x = bracket->low * pow(bracket->high / bracket->low, share);
    return nadir_bracket_contains(bracket, x) ? x : sqrt(bracket->low) * sqrt(bracket->high);
}

/* Newton's method where it rises to the root from the second point on. A struct with x alone set: the start. */
typedef struct nadir_newton {
    double x;
    double moved; /* by the last step */
    int steps;
} nadir_newton;

/* Takes the next point. False: it is the last one. A step that does not rise, the first apart, is rounding; and
 * the next one would be where steps shrink as fast as these did. */
static inline bool nadir_newton_take(nadir_newton *newton, double next)
{
    const double moved = fabs(next - newton->x);
    const bool ends = !isfinite(next) || moved * moved <= DBL_EPSILON * fabs(next) * newton->moved ||
                      moved <= 2 * DBL_EPSILON * fabs(next) || (newton->steps > 0 && next <= newton->x);
    *newton = (nadir_newton){next, moved, newton->steps + 1};
    return !ends;
}

#endif
