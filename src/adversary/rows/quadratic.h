/* quadratic.h: what row problems of p = 2 are made of: the sums of a row about a level. For this folder
 * alone.
 */
#ifndef NADIR_ADVERSARY_ROWS_QUADRATIC_H
#define NADIR_ADVERSARY_ROWS_QUADRATIC_H

#include "adversary/rows/lmo_internal.h"

/* Changes of a level, and of the mass of a row, that are none. */
#define NADIR_LMO_LEVEL_ROUNDING (4 * DBL_EPSILON)
#define NADIR_LMO_MASS_ROUNDING  (16 * DBL_EPSILON)

/* What a pass over the entries of a row finds. */
typedef struct nadir_lmo_l2_sums {
    double n;       /* positive entries */
    double first;   /* sum of d over them */
    double second;  /* sum of d^2 */
    double moved;   /* m: sum of Phat over the others */
    double squares; /* Q */
    double lost;    /* sum of Phat d over the others */
    double margin;  /* no entry is nearer than this to where it becomes positive, or ceases to be */
} nadir_lmo_l2_sums;

/* Of the entries that a row has itself, d = x - omega. An entry is positive, or at the edge of it, where Phat
 * - slope d >= 0. */
nadir_lmo_l2_sums nadir_lmo_l2_sum_row(const nadir_lmo_row_view *view, double omega, double slope);

#endif
