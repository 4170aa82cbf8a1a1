/* quadratic.h: what passes over rows add up for p = 2; see steps.cu. */
#ifndef NADIR_ENGINES_CUDA_QUADRATIC_H
#define NADIR_ENGINES_CUDA_QUADRATIC_H

#include <cfloat>

enum { QUADRATIC_TURNS = 200 }; /* of one row */

/* Of a row at its omega, d = x - omega: as quadratic_sums in adversary/rows/quadratic.c. */
struct quadratic_sums {
    double n, first, second, moved, squares, lost;
    __device__ void add(double p, double d, double slope)
    {
        const bool kept = p >= slope * d;
        n += kept ? 1 : 0;
        first += kept ? d : 0;
        second += kept ? d * d : 0;
        moved += kept ? 0 : p;
        squares += kept ? 0 : p * p;
        lost += kept ? 0 : p * d;
    }
    /* All mass goes to the smallest x. */
    __device__ void settle(double p, double x)
    {
        n += x <= 0 ? 1 : 0;
        moved += x <= 0 ? 0 : p;
        squares += x <= 0 ? 0 : p * p;
    }
};

/* What a pass over the rows is for: kappa from the sets that rows have at the last one; whether all mass at
 * the smallest x is within the ball; gain and norm. */
enum quadratic_pass { FIT, SETTLE, TOTAL };

/* Two numbers that are summed over all rows. */
static __device__ inline double2 quadratic_part(const quadratic_sums &all, quadratic_pass what, double weight,
                                                double alpha, double share, double slope)
{
    double2 part = {0, 0};
    const double spent = all.n > 0 ? (all.moved * all.moved / all.n + all.squares) / (alpha * alpha) : 0;
    if (what == SETTLE) { /* |Delta / alpha|^2 */
        part.x = spent;
    } else if (what == FIT) {
        const double variance = all.n > 0 ? all.second - all.first * (all.first / all.n) : 0;
        part.x = share * share * fmax(variance, 4 * DBL_EPSILON * all.second);
        part.y = spent;
    } else {
        part.x = weight * (slope * all.second + all.lost);
        part.y = (slope * slope * all.second + all.squares) / (alpha * alpha);
    }
    return part;
}

#endif
