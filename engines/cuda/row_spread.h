/*
 * row_spread.h: one row of a linear step on the domain simplex of a sparse model, where every state is
 * allowed; see adversary/rows/lmo_l2.c and lmo_linf.c, which say why each line is what it is. The states
 * that the row does not have are counted along the order of all x; rows are as in row_power.h, x from 0 on.
 */
#ifndef NADIR_ENGINES_CUDA_ROW_SPREAD_H
#define NADIR_ENGINES_CUDA_ROW_SPREAD_H

#include "quadratic.h"
#include "row_capped.h"

/* The states in rising order of x, the lower one first among equals; sums as in adversary/rows/value_order.h. */
struct spread_order {
    int64_t states;
    int32_t *order; /* [states] */
    int32_t *rank;  /* [states] the place of a state; p = infinity */
    double *sorted; /* [states] x along the order */
    double *first;  /* [states] sum over j <= i of x_i - x_j; p other than 1 */
    double *second; /* [states] the same with squares; p = 2 */
};

/* How many states have x < omega. */
ROW_CODE int64_t spread_count(const spread_order &in, double omega)
{
    int64_t low = 0;
    int64_t high = in.states;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (in.sorted[middle] < omega) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* How many have the smallest x, which is 0. */
ROW_CODE double spread_lowest(const spread_order &in)
{
    return (double)spread_count(in, DBL_TRUE_MIN);
}

/* The mean of x: above omega of every row. */
ROW_CODE double spread_mean(const spread_order &in)
{
    const int64_t last = in.states - 1;
    return in.sorted[last] - in.first[last] / (double)in.states;
}

/* p = 2: the sums about omega of all states below it, and of the entries that the row has above. */
template <typename ROW>
ROW_CODE quadratic_sums spread_add(const spread_order &in, const ROW &row, double omega, double slope)
{
    quadratic_sums all = {};
    const int64_t count = spread_count(in, omega);
    if (count > 0) {
        const double rest = omega - in.sorted[count - 1];
        const double whole = (double)count * rest;
        const double first = in.first[count - 1];
        all.n = (double)count;
        all.first = -(first + whole);
        all.second = in.second[count - 1] + rest * (2 * first + whole);
    }
    row.each([&](double p, double x, int64_t) {
        if (x >= omega) {
            all.add(p, x - omega, slope);
        }
    });
    return all;
}

/* omega of a row at its slope, and the sums there, from any omega on: the mass is convex in it, so that
 * levels fall to the root from the second on. slope 0: nothing is clipped. */
template <typename ROW>
ROW_CODE quadratic_sums spread_solve(const spread_order &in, const ROW &row, double slope, double *omega)
{
    quadratic_sums all = spread_add(in, row, *omega, slope);
    if (!(all.n > 0)) {
        *omega = spread_mean(in);
        all = spread_add(in, row, *omega, 0.0);
    }
    for (int turn = 0; turn < QUADRATIC_TURNS && all.n > 0; turn++) {
        const quadratic_sums before = all;
        const double next = *omega + (all.first / all.n + (all.moved > 0 ? all.moved / (all.n * slope) : 0));
        const bool falls = next < *omega;
        *omega = next;
        all = spread_add(in, row, *omega, slope);
        const bool same = all.n == before.n && all.moved == before.moved && all.squares == before.squares;
        if ((same && fabs(slope * all.first + all.moved) <= QUADRATIC_MASS) || (turn > 1 && !falls)) {
            break;
        }
    }
    return all;
}

/* Two numbers that are summed over all rows. level: omega of the row at a smaller kappa, and then at this
 * one; kappa 0: none yet. lowest: see above. */
template <typename ROW>
ROW_CODE double2 spread_pass(const spread_order &in, const ROW &row, quadratic_pass what, double weight,
                             double alpha, double share, double kappa, double lowest, double *level)
{
    const double slope = alpha * kappa * share;
    quadratic_sums all = {};
    if (what == SETTLE) {
        row.each([&](double p, double x, int64_t) { all.settle(p, x); });
        all.n = lowest;
    } else {
        double omega = kappa > 0 ? *level : spread_mean(in);
        all = spread_solve(in, row, slope, &omega);
        *level = omega;
    }
    return quadratic_part(all, what, weight, alpha, share, slope);
}

/* What a row that does not have them gives to states: a line over the first of the order, and a number for
 * one more; see kernel/kernel.h. */
struct spread_rest {
    double omega, slope;
    int32_t length, extra; /* extra -1: none */
    double amount;
};

template <typename ROW>
ROW_CODE spread_rest spread_write(const spread_order &in, const ROW &row, double slope, double omega,
                                  double *to)
{
    row.each([&](double p, double x, int64_t i) {
        const double value = p + slope * (omega - x);
        to[i] = value > 0 ? value : 0;
    });
    return {slope * omega, slope, (int32_t)spread_count(in, omega), -1, 0};
}

/* p = 1: of an entry at x the share part(x) goes to the first entry of x = 0, or without one to the first
 * such state. */
template <typename ROW, typename PART>
ROW_CODE spread_rest spread_threshold_write(const spread_order &in, const ROW &row, PART part, double *to)
{
    int64_t taker = -1;
    double moved = 0;
    row.each([&](double p, double x, int64_t i) {
        const double gone = part(x) * p;
        to[i] = p - gone;
        moved += gone;
        taker = taker < 0 && x == 0 ? i : taker;
    });
    if (taker >= 0) {
        to[taker] += moved;
    }
    return {0, 0, 0, taker >= 0 ? -1 : in.order[0], taker >= 0 ? 0 : moved};
}

/* p = infinity: the last place of the order at which what rises before it, r each, is no more than what falls
 * at and after it. rank(i): the place of the row's entry i. */
template <typename ROW, typename RANK>
ROW_CODE int64_t spread_pivot(const spread_order &in, const ROW &row, double r, RANK rank)
{
    const double most = 1.01; /* more than all that can fall */
    int64_t low = 0;
    int64_t high = r * (double)in.states > most ? (int64_t)(most / r) + 2 : in.states;
    high = high < in.states ? high : in.states;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        double down = 0;
        row.each([&](double p, double, int64_t i) { down += rank(i) < middle ? 0 : fmin(p, r); });
        if (r * (double)middle <= down) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

template <typename ROW, typename RANK>
ROW_CODE capped_part spread_capped(const spread_order &in, const ROW &row, double r, int64_t pivot, RANK rank)
{
    const double omega = in.sorted[pivot];
    const double lifted = in.first[pivot];
    double down = 0;
    double lowered = 0;
    double dropped = 0;
    double largest = 0;
    row.each([&](double p, double x, int64_t i) {
        if (rank(i) > pivot) {
            const double m = fmin(p, r);
            down += m;
            lowered += m * (x - omega);
            dropped += p < r ? 0 : x - omega;
            largest = fmax(largest, m);
        }
    });
    const double share = down - r * (double)pivot;
    return {r * lifted + lowered, share, lifted + dropped,
            fmax(fmax(largest, fabs(share)), pivot > 0 ? r : 0)};
}

template <typename ROW, typename RANK>
ROW_CODE spread_rest spread_capped_write(const spread_order &in, const ROW &row, double r, int64_t pivot,
                                         double share, RANK rank, double *to)
{
    bool own = false;
    row.each([&](double p, double, int64_t i) {
        const int64_t place = rank(i);
        to[i] = fmax(0.0, p + (place < pivot ? r : place > pivot ? -r : share));
        own = own || place == pivot;
    });
    const bool more = !own && share > 0;
    return {r, 0, (int32_t)pivot, more ? in.order[pivot] : -1, more ? share : 0};
}

#endif
