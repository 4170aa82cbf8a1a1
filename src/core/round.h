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
 */
#ifndef NADIR_CORE_ROUND_H
#define NADIR_CORE_ROUND_H

#include <float.h>

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

#endif
