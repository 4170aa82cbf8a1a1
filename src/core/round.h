/*
 * round.h: rounding errors of double arithmetic, and bounds that include them.
 *
 * Every operation +, -, *, / and sqrt on doubles satisfies fl(x op y) = (x op y) (1 + e) with |e| <= u, where
 * u = 2^-53. After n operations the relative error of a product, or of a sum of terms of one sign, is at most
 * n u / (1 - n u). The counts given to the functions below are rounded up generously, so that they also pay
 * for the second-order terms and for the rounding of the correction itself. No function changes the rounding
 * mode of the processor.
 *
 * Use:
 *     a norm, a mass or another number >= 0     nadir_round_up, nadir_round_down
 *     a number of any sign                      nadir_round_above, nadir_round_below
 *     the error of a number beside the number   nadir_estimate
 */
#ifndef NADIR_CORE_ROUND_H
#define NADIR_CORE_ROUND_H

#include <float.h>
#include <math.h>

/* u, the unit roundoff: half the distance between 1 and the next double. */
#define NADIR_ROUND_UNIT (DBL_EPSILON / 2)

/* The relative error of a result of this many operations: operations * u. */
static inline double nadir_round_error(double operations)
{
    return NADIR_ROUND_UNIT * operations;
}

/* At least the exact number, where x >= 0 is that number after `operations` roundings. */
static inline double nadir_round_up(double x, double operations)
{
    return x * (1 + operations * NADIR_ROUND_UNIT);
}

/* At most the exact number, where x >= 0 is that number after `operations` roundings. */
static inline double nadir_round_down(double x, double operations)
{
    return x * (1 - operations * NADIR_ROUND_UNIT);
}

/* At least the exact number for x of any sign; `size` bounds every intermediate result. */
static inline double nadir_round_above(double x, double size, double operations)
{
    return x + operations * NADIR_ROUND_UNIT * size;
}

/* At most the exact number for x of any sign; `size` bounds every intermediate result. */
static inline double nadir_round_below(double x, double size, double operations)
{
    return x - operations * NADIR_ROUND_UNIT * size;
}

/* A computed number and a bound on its error: |value - exact| <= error. */
typedef struct nadir_estimate {
    double value;
    double error; /* >= 0; infinity: nothing is known */
} nadir_estimate;

/* At most the exact number. Two roundings, each at most u (|value| + error), and that of the correction. */
static inline double nadir_estimate_low(nadir_estimate x)
{
    return x.value - x.error - 3 * NADIR_ROUND_UNIT * (fabs(x.value) + x.error);
}

/* At least the exact number. */
static inline double nadir_estimate_high(nadir_estimate x)
{
    return x.value + x.error + 3 * NADIR_ROUND_UNIT * (fabs(x.value) + x.error);
}

/* At least |exact|. */
static inline double nadir_estimate_size(nadir_estimate x)
{
    return nadir_round_up(fabs(x.value) + x.error, 2);
}

static inline nadir_estimate nadir_estimate_add(nadir_estimate x, nadir_estimate y)
{
    const double sum = x.value + y.value;
    return (nadir_estimate){sum, nadir_round_up(x.error + y.error + NADIR_ROUND_UNIT * fabs(sum), 4)};
}

static inline nadir_estimate nadir_estimate_subtract(nadir_estimate x, nadir_estimate y)
{
    return nadir_estimate_add(x, (nadir_estimate){-y.value, y.error});
}

/* The last term of the error pays for a product below the range of normal numbers. */
static inline nadir_estimate nadir_estimate_multiply(nadir_estimate x, nadir_estimate y)
{
    const double product = x.value * y.value;
    const double error = fabs(x.value) * y.error + (fabs(y.value) + y.error) * x.error;
    return (nadir_estimate){product, nadir_round_up(error + NADIR_ROUND_UNIT * fabs(product), 8) + DBL_MIN};
}

#endif
