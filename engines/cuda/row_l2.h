/* row_l2.h: one row of p = 2, and the step that rows share; see lmo_l2.cu. Rows are as in row.h. */
#ifndef NADIR_ENGINES_CUDA_ROW_L2_H
#define NADIR_ENGINES_CUDA_ROW_L2_H

#include "row.h"

enum { L2_TURNS = 200 };           /* of one row */
#define L2_MASS (16 * DBL_EPSILON) /* by which a row may be off */

/* Of a row at its omega, d = x - omega: as nadir_lmo_l2_sums in sets/lmo_internal.h. */
struct l2_sums {
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
    ROW_PART void join(const l2_sums &other)
    {
        n += other.n;
        first += other.first;
        second += other.second;
        moved += other.moved;
        squares += other.squares;
        lost += other.lost;
    }
};

template <typename ROW> ROW_CODE l2_sums l2_add(const ROW &row, double omega, double slope)
{
    l2_sums all = {};
    row.each([&](double p, double x, int64_t) { all.add(p, x - omega, slope); });
    return row.total(all);
}

/* omega, and the sums there; slope 0: of all entries. Levels fall to it; from far away the last one but for
 * roundings of that distance, so that the mass is looked at, too. */
template <typename ROW> ROW_CODE l2_sums l2_solve(const ROW &row, double slope, double *omega)
{
    *omega = row.mean();
    l2_sums all = l2_add(row, *omega, slope);
    for (int turn = 0; turn < L2_TURNS && slope > 0 && all.n > 0; turn++) {
        const double count = all.n;
        const double before = *omega;
        *omega += all.first / all.n + all.moved / (all.n * slope);
        all = l2_add(row, *omega, slope);
        const bool exact = all.n == count && fabs(slope * all.first + all.moved) <= L2_MASS;
        if (exact || (turn > 1 && !(*omega < before))) {
            break;
        }
    }
    return all;
}

template <typename ROW> ROW_CODE void l2_write(const ROW &row, double slope, double *to)
{
    double omega;
    (void)l2_solve(row, slope, &omega);
    row.write(to, [&](double p, double x, int64_t) {
        const double value = p + slope * (omega - x);
        return value > 0 ? value : 0.0;
    });
}

/* What a pass over the rows is for: kappa from the sets that rows have at the last one; whether all mass at
 * the smallest x is within the ball; gain and norm. */
enum l2_what { FIT, SETTLE, TOTAL };

/* Two numbers that are summed over all rows. */
ROW_CODE double2 l2_part(const l2_sums &all, l2_what what, double weight, double alpha, double share,
                         double slope)
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
ROW_CODE double2 l2_pass(const ROW &row, l2_what what, double weight, double alpha, double share,
                         double kappa)
{
    double omega;
    const double slope = alpha * kappa * share;
    l2_sums all = {};
    if (what == SETTLE) {
        row.each([&](double p, double x, int64_t) { all.settle(p, x); });
        all = row.total(all);
    } else {
        all = l2_solve(row, slope, &omega);
    }
    return l2_part(all, what, weight, alpha, share, slope);
}

/* The kappa that spends the budget, with the gain and the norm there; kappa 0: none. */
struct l2_step {
    double kappa, gain, norm;
};

/* pass(what, kappa): the sums of l2_part over all rows that share the budget. With the set of positive entries
 * at a smaller kappa the norm at a larger one is overestimated, so that kappa rises to the answer. */
#ifdef __CUDACC__
#pragma nv_exec_check_disable
#endif
template <typename PASS> NADIR_FORMULA l2_step l2_find_step(double beta, PASS pass)
{
    enum { PASSES = 200, CORRECTIONS = 4 };
    l2_step step = {0, 0, 0};
    for (int i = 0; i < PASSES; i++) {
        const double2 fit = pass(FIT, step.kappa);
        const double next = sqrt((beta * beta - fit.y) / fit.x);
        if (!(next > step.kappa) || std::isinf(next)) { /* but for rounding it rises */
            break;
        }
        const bool still = next - step.kappa <= 16 * DBL_EPSILON * next;
        step.kappa = next;
        if (still) {
            break;
        }
    }
    for (int i = 0; step.kappa > 0 && i <= CORRECTIONS; i++) { /* rounding must not leave the ball */
        const double2 total = pass(TOTAL, step.kappa);
        step.gain = total.x;
        step.norm = sqrt(total.y);
        if (!(step.norm > beta) || i == CORRECTIONS) {
            break;
        }
        step.kappa *= beta / step.norm * (1 - DBL_EPSILON);
    }
    return step;
}

#endif
