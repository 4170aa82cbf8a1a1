/*
 * row_linf.h: one row of p = infinity; see sets/lmo_l1_linf.c. Rows are as in row.h.
 *
 * With r = alpha beta > 0, entries before the pivot rise by r, those after it fall by min(r, Phat), and the
 * pivot takes what is left; it is the last entry, by x and then by place, with r (entries before) <= what
 * falls at and after it.
 */
#ifndef NADIR_ENGINES_CUDA_ROW_LINF_H
#define NADIR_ENGINES_CUDA_ROW_LINF_H

#include "row.h"

struct linf_pivot {
    double x;
    int64_t place;
};

ROW_CODE bool linf_before(double x, int64_t i, const linf_pivot &pivot)
{
    return x < pivot.x || (x == pivot.x && i < pivot.place);
}

/* What lies before an entry, and what at and after it. */
struct linf_sides {
    double up, down;     /* how many rise, and what falls */
    double below, above; /* the largest x of the former, the smallest of the latter */
    ROW_PART void join(const linf_sides &other)
    {
        up += other.up;
        down += other.down;
        below = fmax(below, other.below);
        above = fmin(above, other.above);
    }
    /* Whether what rises is no more than what falls. */
    ROW_PART bool holds(double r) const
    {
        return r * up <= down;
    }
};

template <typename ROW> ROW_CODE linf_sides linf_weigh(const ROW &row, double r, const linf_pivot &at)
{
    linf_sides sides = {0, 0, 0, 2};
    row.each([&](double phat, double x, int64_t i) {
        const bool rises = linf_before(x, i, at);
        sides.up += rises ? 1 : 0;
        sides.down += rises ? 0 : fmin(phat, r);
        sides.below = rises ? fmax(sides.below, x) : sides.below;
        sides.above = rises ? sides.above : fmin(sides.above, x);
    });
    return row.total(sides);
}

/* Of rows that are short enough to try every entry. */
template <typename ROW> ROW_CODE linf_pivot linf_find_short(const ROW &row, double r)
{
    linf_pivot pivot = {-1, 0};
    row.each([&](double, double x, int64_t i) {
        const linf_pivot at = {x, i};
        if (!linf_before(x, i, pivot) && linf_weigh(row, r, at).holds(r)) {
            pivot = at;
        }
    });
    return pivot;
}

/* The first and the last place of some entries. */
struct linf_places {
    int64_t first, last;
    ROW_PART void add(int64_t place)
    {
        first = place < first ? place : first;
        last = place > last ? place : last;
    }
    ROW_PART void join(const linf_places &other)
    {
        first = other.first < first ? other.first : first;
        last = other.last > last ? other.last : last;
    }
};

/* Those of entries at x, up to a place. */
template <typename ROW> ROW_CODE linf_places linf_among(const ROW &row, double x, int64_t most)
{
    linf_places places = {INT64_MAX, -1};
    row.each([&](double, double other, int64_t i) {
        if (other == x && i <= most) {
            places.add(i);
        }
    });
    return row.total(places);
}

/* The x of the pivot by halves of the bits that it can have, between entries that there are; then its place
 * among equals in the same way. */
template <typename ROW> ROW_CODE linf_pivot linf_find_long(const ROW &row, double r)
{
    int64_t low = 0;                        /* of an entry; it holds */
    int64_t high = bits_of_double(1.0) + 1; /* it does not hold */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        const linf_sides sides = linf_weigh(row, r, {double_of_bits(middle), -1});
        if (sides.holds(r)) {
            low = bits_of_double(sides.above);
        } else {
            high = bits_of_double(sides.below) + 1;
        }
    }
    const double x = double_of_bits(low);
    const linf_places equals = linf_among(row, x, INT64_MAX);
    low = equals.first;
    high = equals.last + 1;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (linf_weigh(row, r, {x, middle}).holds(r)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return {x, equals.first < equals.last ? linf_among(row, x, low).last : low};
}

template <typename ROW> ROW_CODE linf_pivot linf_find(const ROW &row, double r)
{
    if constexpr (ROW::FEW) {
        return linf_find_short(row, r);
    } else {
        return linf_find_long(row, r);
    }
}

/* What an answer is made of; see sets/lmo_l1_linf.c. */
struct linf_shifts {
    double up, lifted, down, lowered, dropped, largest;
    ROW_PART void join(const linf_shifts &other)
    {
        up += other.up;
        lifted += other.lifted;
        down += other.down;
        lowered += other.lowered;
        dropped += other.dropped;
        largest = fmax(largest, other.largest);
    }
};

/* Gain in units of x, change of the pivot; size: |g1|_1 of bounds; largest: |Delta|. */
struct linf_part {
    double gain, share, size, largest;
};

template <typename ROW> ROW_CODE linf_part linf_add(const ROW &row, double r, const linf_pivot &pivot)
{
    linf_shifts sums = {};
    row.each([&](double phat, double x, int64_t i) {
        const double d = x - pivot.x;
        if (i == pivot.place) {
            return;
        }
        if (linf_before(x, i, pivot)) {
            sums.up += 1;
            sums.lifted -= d;
        } else {
            const double m = fmin(phat, r);
            sums.down += m;
            sums.lowered += m * d;
            sums.dropped += phat < r ? 0 : d;
            sums.largest = fmax(sums.largest, m);
        }
    });
    sums = row.total(sums);
    const double share = fmin(fmax(sums.down - r * sums.up, -r), r); /* rounding must not leave the ball */
    return {r * sums.lifted + sums.lowered, share, sums.lifted + sums.dropped,
            fmax(fmax(sums.largest, fabs(share)), sums.up > 0 ? r : 0)};
}

template <typename ROW> ROW_CODE void linf_write(const ROW &row, double r, double *to)
{
    const linf_pivot pivot = linf_find(row, r);
    const double share = linf_add(row, r, pivot).share;
    row.write(to, [&](double phat, double x, int64_t i) {
        const double change = i == pivot.place ? share : linf_before(x, i, pivot) ? r : -r;
        return fmax(0.0, phat + change);
    });
}

#endif
