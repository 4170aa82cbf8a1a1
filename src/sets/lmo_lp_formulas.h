/*
 * lmo_lp_formulas.h: the formulas of row problems of 1 < p < infinity, p != 2, which lmo_lp.c shares with the
 * engine cuda; lmo_lp.c derives them. Plain C that compiles as C++; NADIR_FORMULA as in
 * linalg/formulas.h.
 */
#ifndef NADIR_SETS_LMO_LP_FORMULAS_H
#define NADIR_SETS_LMO_LP_FORMULAS_H

#include "linalg/formulas.h"

#include <float.h>
#include <stdbool.h>

enum { NADIR_LP_LEVEL_LIMIT = 300, NADIR_LP_STEP_LIMIT = 200, NADIR_LP_BRACKET_LIMIT = 60 };
#define NADIR_LP_MASS_ROUNDING (16 * DBL_EPSILON) /* of what moves */
#define NADIR_LP_FAR           50.0               /* the farthest that t moves at once without a bracket */

/* change(g) of lmo.h for g >= 0. */
NADIR_FORMULA double nadir_lp_change(double p, double step, double g)
{
    if (!(g > 0)) {
        return 0;
    }
    return p <= 2 ? nadir_power(step * g, 1 / (p - 1)) : step * nadir_power(g, 1 / (p - 1));
}

/* Sums at a level omega. */
typedef struct nadir_lp_sums {
    double plus, minus;           /* of |Delta| / alpha */
    double plus_rate, minus_rate; /* of change / |d|, without those that are clipped */
    double unclipped;             /* of change |d|, without those that are clipped */
    double clipped;               /* of Phat / alpha |d|, of those */
    double largest;               /* |Delta| / alpha */
} nadir_lp_sums;

/* An entry at g = omega - x > 0. */
NADIR_FORMULA void nadir_lp_add_below(double p, double step, double g, nadir_lp_sums *sums)
{
    const double change = nadir_lp_change(p, step, g);
    sums->plus += change;
    sums->plus_rate += change / g;
    sums->unclipped += change * g;
    sums->largest = change > sums->largest ? change : sums->largest;
}

/* An entry at g = x - omega > 0; most: Phat / alpha. */
NADIR_FORMULA void nadir_lp_add_above(double p, double step, double g, double most, nadir_lp_sums *sums)
{
    const double change = nadir_lp_change(p, step, g);
    const double size = change < most ? change : most;
    sums->minus += size;
    sums->minus_rate += change < most ? change / g : 0;
    sums->unclipped += change < most ? change * g : 0;
    sums->clipped += change < most ? 0 : most * g;
    sums->largest = size > sums->largest ? size : sums->largest;
}

/* By how much Newton would raise omega. */
NADIR_FORMULA double nadir_lp_newton(double p, const nadir_lp_sums *sums)
{
    const double a = 1 / (p - 1);
    if (p > 2) {
        return (sums->minus - sums->plus) / (a * (sums->plus_rate + sums->minus_rate));
    }
    const double plus = pow(sums->plus, p - 1);
    const double minus = pow(sums->minus, p - 1);
    const double rate = (sums->plus > 0 ? plus / sums->plus * sums->plus_rate : 0) +
                        (sums->minus > 0 ? minus / sums->minus * sums->minus_rate : 0);
    return (minus - plus) / rate;
}

/* A bracket of omega, and plus - minus at its ends. */
typedef struct nadir_lp_levels {
    double low, high;
    double low_excess, high_excess;
    double width; /* some tries ago */
} nadir_lp_levels;

/* Narrows the bracket by a try at omega; false when it cannot be narrowed any more, otherwise *omega is the
 * next level to try: Newton's, or the middle when that leaves the bracket or the bracket shrinks slowly; just
 * across the root when Newton's is next to it already. */
NADIR_FORMULA bool nadir_lp_next_level(double p, int try_number, const nadir_lp_sums *sums,
                                       nadir_lp_levels *levels, double *omega)
{
    const double excess = sums->plus - sums->minus;
    if (excess < 0) {
        levels->low = *omega;
        levels->low_excess = excess;
    } else {
        levels->high = *omega;
        levels->high_excess = excess;
    }
    const double least = DBL_EPSILON / 4 * levels->high;
    const double width = levels->high - levels->low;
    const double middle = levels->low + width / 2;
    if (width <= 4 * least || middle <= levels->low || middle >= levels->high) {
        return false;
    }
    bool slow = false;
    if (try_number % 3 == 2) {
        slow = width > levels->width / 2;
        levels->width = width;
    }
    const double newton = nadir_lp_newton(p, sums);
    const double next = fabs(newton) < least ? *omega + (newton > 0 ? 2 : -2) * least : *omega + newton;
    *omega = slow || !(next > levels->low && next < levels->high) ? middle : next;
    return true;
}

/* Delta / alpha at a level, g = omega - x. */
NADIR_FORMULA double nadir_lp_delta(double p, double step, double most, double g)
{
    const double change = nadir_lp_change(p, step, fabs(g));
    return g >= 0 ? change : -fmin(most, change);
}

/* The step kappa of a row of u = 1 at t: base exp(t), or base exp(t / a) for p < 2: small t are near the
 * root, and have many digits. */
NADIR_FORMULA double nadir_lp_kappa(double p, double base, double t)
{
    return base * exp(p < 2 ? t * (p - 1) : t);
}

/* A bracket of t, log(norm / beta) at its ends, and which end stayed the last time: its excess counts half,
 * or it would stay for ever. */
typedef struct nadir_lp_bracket {
    double low, high;
    double low_excess, high_excess;
    int stayed;
    double width; /* some steps ago */
} nadir_lp_bracket;

NADIR_FORMULA void nadir_lp_narrow(nadir_lp_bracket *bracket, double t, double excess)
{
    if (excess <= 0) {
        bracket->high_excess *= bracket->stayed > 0 ? 0.5 : 1;
        bracket->stayed = 1;
        bracket->low = t;
        bracket->low_excess = excess;
    } else {
        bracket->low_excess *= bracket->stayed < 0 ? 0.5 : 1;
        bracket->stayed = -1;
        bracket->high = t;
        bracket->high_excess = excess;
    }
}

/* The next t. Without a bracket steps double, since slopes are at most 1 but may be much smaller. */
NADIR_FORMULA double nadir_lp_next_t(nadir_lp_bracket *bracket, int i, double tolerance, double far)
{
    if (isinf(bracket->low)) {
        return bracket->high - fmin(fmax(ldexp(bracket->high_excess, i), tolerance), far);
    }
    if (isinf(bracket->high)) {
        return bracket->low + fmin(fmax(ldexp(-bracket->low_excess, i), tolerance), far);
    }
    const double width = bracket->high - bracket->low;
    const double t =
        bracket->low - bracket->low_excess * (width / (bracket->high_excess - bracket->low_excess));
    bool slow = false;
    if (i % 4 == 3) {
        slow = width > bracket->width / 2;
        bracket->width = width;
    }
    return !slow && t > bracket->low && t < bracket->high ? t : bracket->low + width / 2;
}

#endif
