/* quadratic.h: one row of a linear step of p = 2; see steps.cu. Rows are as in row.h. */
#ifndef NADIR_ENGINES_CUDA_QUADRATIC_H
#define NADIR_ENGINES_CUDA_QUADRATIC_H

#include "row.h"

enum { QUADRATIC_TURNS = 200 };           /* of one row */
#define QUADRATIC_MASS (16 * DBL_EPSILON) /* by which a row may be off */

/* Of a row at its omega, d = x - omega: as nadir_lmo_l2_sums in adversary/rows/lmo_internal.h. */
struct quadratic_sums {
    double n, first, second, moved, squares, lost;
    ROW_PART void add(double p, double d, double slope)
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
    ROW_PART void settle(double p, double x)
    {
        n += x <= 0 ? 1 : 0;
        moved += x <= 0 ? 0 : p;
        squares += x <= 0 ? 0 : p * p;
    }
    ROW_PART void join(const quadratic_sums &other)
    {
        n += other.n;
        first += other.first;
        second += other.second;
        moved += other.moved;
        squares += other.squares;
        lost += other.lost;
    }
};

template <typename ROW> ROW_CODE quadratic_sums quadratic_add(const ROW &row, double omega, double slope)
{
    quadratic_sums all = {};
    row.each([&](double p, double x, int64_t) { all.add(p, x - omega, slope); });
    return row.total(all);
}

/* omega, and the sums there; slope 0: of all entries. Levels fall to it; from far away the last one but for
 * roundings of that distance, so that the mass is looked at, too. */
template <typename ROW> ROW_CODE quadratic_sums quadratic_solve(const ROW &row, double slope, double *omega)
{
    *omega = row.mean();
    quadratic_sums all = quadratic_add(row, *omega, slope);
    for (int turn = 0; turn < QUADRATIC_TURNS && slope > 0 && all.n > 0; turn++) {
        const double count = all.n;
        const double before = *omega;
        *omega += all.first / all.n + all.moved / (all.n * slope);
        all = quadratic_add(row, *omega, slope);
        const bool exact = all.n == count && fabs(slope * all.first + all.moved) <= QUADRATIC_MASS;
        if (exact || (turn > 1 && !(*omega < before))) {
            break;
        }
    }
    return all;
}

template <typename ROW> ROW_CODE quadratic_sums quadratic_settle(const ROW &row)
{
    quadratic_sums all = {};
    row.each([&](double p, double x, int64_t) { all.settle(p, x); });
    return row.total(all);
}

template <typename ROW> ROW_CODE void quadratic_write(const ROW &row, double slope, double *to)
{
    double omega;
    (void)quadratic_solve(row, slope, &omega);
    row.write(to, [&](double p, double x, int64_t) {
        const double value = p + slope * (omega - x);
        return value > 0 ? value : 0.0;
    });
}

/* What a pass over the rows is for: kappa from the sets that rows have at the last one; whether all mass at
 * the smallest x is within the ball; gain and norm. */
enum quadratic_pass { FIT, SETTLE, TOTAL };

/* Two numbers that are summed over all rows. */
ROW_CODE double2 quadratic_part(const quadratic_sums &all, quadratic_pass what, double weight, double alpha,
                                double share, double slope)
{
    const double spent = all.n > 0 ? (all.moved * all.moved / all.n + all.squares) / (alpha * alpha) : 0;
    if (what == SETTLE) { /* |Delta / alpha|^2 */
        return {spent, 0};
    }
    if (what == FIT) {
        const double variance = all.n > 0 ? all.second - all.first * (all.first / all.n) : 0;
        return {share * share * fmax(variance, 4 * DBL_EPSILON * all.second), spent};
    }
    return {weight * (slope * all.second + all.lost),
            (slope * slope * all.second + all.squares) / (alpha * alpha)};
}

template <typename ROW>
ROW_CODE double2 quadratic_look(const ROW &row, quadratic_pass what, double weight, double alpha,
                                double share, double kappa)
{
    double omega;
    const double slope = alpha * kappa * share;
    const quadratic_sums all = what == SETTLE ? quadratic_settle(row) : quadratic_solve(row, slope, &omega);
    return quadratic_part(all, what, weight, alpha, share, slope);
}

#endif
