/*
 * row_simplex.h: one row on the domain simplex of a sparse model, where every state is
 * allowed; see sets/lmo_l2.c and lmo_linf.c, which say why each line is what it is. The states
 * that the row does not have are counted along the order of all x; rows are as in row.h, x from 0 on.
 */
#ifndef NADIR_ENGINES_CUDA_ROW_SIMPLEX_H
#define NADIR_ENGINES_CUDA_ROW_SIMPLEX_H

#include "row_l2.h"
#include "row_linf.h"
#include "sorted_states.h"

/* How many states have x < omega. */
ROW_CODE int64_t simplex_count(const sorted_states &in, double omega)
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
ROW_CODE double simplex_lowest(const sorted_states &in)
{
    return (double)simplex_count(in, DBL_TRUE_MIN);
}

/* The mean of x: above omega of every row. */
ROW_CODE double simplex_mean(const sorted_states &in)
{
    const int64_t last = in.states - 1;
    return in.sorted[last] - in.first[last] / (double)in.states;
}

/* p = 2: the sums about omega of all states below it, and of the entries that the row has above. */
template <typename ROW>
ROW_CODE l2_sums simplex_sums(const sorted_states &in, const ROW &row, double omega, double slope)
{
    l2_sums all = {};
    const int64_t count = simplex_count(in, omega);
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
ROW_CODE l2_sums simplex_solve(const sorted_states &in, const ROW &row, double slope, double *omega)
{
    l2_sums all = simplex_sums(in, row, *omega, slope);
    if (!(all.n > 0)) {
        *omega = simplex_mean(in);
        all = simplex_sums(in, row, *omega, 0.0);
    }
    for (int turn = 0; turn < L2_TURNS && all.n > 0; turn++) {
        const l2_sums before = all;
        const double next = *omega + (all.first / all.n + (all.moved > 0 ? all.moved / (all.n * slope) : 0));
        const bool falls = next < *omega;
        *omega = next;
        all = simplex_sums(in, row, *omega, slope);
        const bool same = all.n == before.n && all.moved == before.moved && all.squares == before.squares;
        if ((same && fabs(slope * all.first + all.moved) <= L2_MASS) || (turn > 1 && !falls)) {
            break;
        }
    }
    return all;
}

/* Two numbers that are summed over all rows. level: omega of the row at a smaller kappa, and then at this
 * one; kappa 0: none yet. lowest: see above. */
template <typename ROW>
ROW_CODE double2 simplex_pass(const sorted_states &in, const ROW &row, l2_what what, double weight,
                              double alpha, double share, double kappa, double lowest, double *level)
{
    const double slope = alpha * kappa * share;
    l2_sums all = {};
    if (what == SETTLE) {
        row.each([&](double p, double x, int64_t) { all.settle(p, x); });
        all.n = lowest;
    } else {
        double omega = kappa > 0 ? *level : simplex_mean(in);
        all = simplex_solve(in, row, slope, &omega);
        *level = omega;
    }
    return l2_part(all, what, weight, alpha, share, slope);
}

/* What a row that does not have them gives to states: a segment over the first of the order, and a number for
 * one more; see model/kernel.h. */
struct row_tail {
    double omega, slope;
    int32_t length, extra; /* extra -1: none */
    double amount;
};

template <typename ROW>
ROW_CODE row_tail simplex_write_l2(const sorted_states &in, const ROW &row, double slope, double omega,
                                   double *to)
{
    row.each([&](double p, double x, int64_t i) {
        const double value = p + slope * (omega - x);
        to[i] = value > 0 ? value : 0;
    });
    return {slope * omega, slope, (int32_t)simplex_count(in, omega), -1, 0};
}

/* p = infinity: the last place of the order at which what rises before it, r each, is no more than what falls
 * at and after it. rank(i): the place of the row's entry i. */
template <typename ROW, typename RANK>
ROW_CODE int64_t simplex_pivot(const sorted_states &in, const ROW &row, double r, RANK rank)
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
ROW_CODE linf_part simplex_linf(const sorted_states &in, const ROW &row, double r, int64_t pivot, RANK rank)
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
ROW_CODE row_tail simplex_write_linf(const sorted_states &in, const ROW &row, double r, int64_t pivot,
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
