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

#endif
