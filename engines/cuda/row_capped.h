/*
 * row_capped.h: one row of a linear step of p = infinity; see adversary/rows/capped.c.
 *
 * With r = alpha beta, entries before the pivot rise by r, those after it fall by min(r, Phat), and the pivot
 * takes what is left; it is the last entry, by x and then by place, with r (entries before) <= what falls at
 * and after it. Rows are as in row_power.h.
 */
#ifndef NADIR_ENGINES_CUDA_ROW_CAPPED_H
#define NADIR_ENGINES_CUDA_ROW_CAPPED_H

#include "row_power.h"

#include <cstring>

struct capped_pivot {
    double x;
    int64_t place;
};

ROW_CODE bool capped_before(double x, int64_t i, const capped_pivot &pivot)
{
    return x < pivot.x || (x == pivot.x && i < pivot.place);
}

/* Whether what rises before an entry is no more than what falls at and after it. */
template <typename ROW> ROW_CODE bool capped_holds(const ROW &row, double r, const capped_pivot &at)
{
    double up = 0;
    double down = 0;
    row.each([&](double phat, double x, int64_t i) {
        const bool rises = capped_before(x, i, at);
        up += rises ? 1 : 0;
        down += rises ? 0 : fmin(phat, r);
    });
    return r * up <= down;
}

/* The double of such bits; those of numbers from 0 on are in the order of the numbers. */
ROW_CODE double capped_number(int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Of rows that are short enough to try every entry. */
template <typename ROW> ROW_CODE capped_pivot capped_find_short(const ROW &row, double r)
{
    capped_pivot pivot = {-1, 0};
    row.each([&](double, double x, int64_t i) {
        const capped_pivot at = {x, i};
        if (!capped_before(x, i, pivot) && capped_holds(row, r, at)) {
            pivot = at;
        }
    });
    return pivot;
}

/* The x of the pivot bit by bit, then its place among equals in the same way. */
template <typename ROW> ROW_CODE capped_pivot capped_find_long(const ROW &row, double r)
{
    int64_t low = 0;
    int64_t high = 0x3ff0000000000001; /* above 1 */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (capped_holds(row, r, {capped_number(middle), -1})) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const double x = capped_number(low);
    low = 0; /* the last place that is not too far, and of its entries the last one */
    high = (int64_t)INT32_MAX + 1;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (capped_holds(row, r, {x, middle})) {
            low = middle;
        } else {
            high = middle;
        }
    }
    capped_pivot pivot = {x, 0};
    row.each(
        [&](double, double other, int64_t i) { pivot.place = other == x && i <= low ? i : pivot.place; });
    return pivot;
}

/* What a row gains, in units of x, and what the pivot changes by; size: |g1|_1 of bounds; largest: |Delta|.
 */
struct capped_part {
    double gain, share, size, largest;
};

template <typename ROW> ROW_CODE capped_part capped_add(const ROW &row, double r, const capped_pivot &pivot)
{
    double up = 0;
    double lifted = 0;
    double down = 0;
    double lowered = 0;
    double dropped = 0;
    double largest = 0;
    row.each([&](double phat, double x, int64_t i) {
        const double d = x - pivot.x;
        if (i == pivot.place) {
            return;
        }
        if (capped_before(x, i, pivot)) {
            up += 1;
            lifted -= d;
        } else {
            const double m = fmin(phat, r);
            down += m;
            lowered += m * d;
            dropped += phat < r ? 0 : d;
            largest = fmax(largest, m);
        }
    });
    const double share = down - r * up;
    return {r * lifted + lowered, share, lifted + dropped, fmax(fmax(largest, fabs(share)), up > 0 ? r : 0)};
}

template <typename ROW>
ROW_CODE void capped_write(const ROW &row, double r, const capped_pivot &pivot, double share, double *to)
{
    row.each([&](double phat, double x, int64_t i) {
        const double change = i == pivot.place ? share : capped_before(x, i, pivot) ? r : -r;
        to[i] = fmax(0.0, phat + change);
    });
}

#endif
