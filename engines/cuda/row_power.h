/*
 * row_power.h: one row of a linear step of 1 < p < infinity, p != 2; see adversary/rows/lmo_lp.c, which says
 * why each line is what it is, and the same numbers up to rounding. Rows are as in row.h.
 */
#ifndef NADIR_ENGINES_CUDA_ROW_POWER_H
#define NADIR_ENGINES_CUDA_ROW_POWER_H

#include "row.h"

/* What rows of one pass have in common. */
struct power_norm {
    double p, a; /* a = 1 / (p - 1) */
};

/* The answer of a row that keeps it: to start from, and to write. share < 0: all mass is at the smallest x.
 */
struct power_level {
    double omega, upper, share;
};

/* What a row adds up to; gain in units of x, norm is |Delta|_p / alpha. */
struct power_part {
    double gain, norm;
};

ROW_CODE double row_power(double r, double exponent)
{
    return exponent == 1 ? r : exponent == 2 ? r * r : exponent == 0.5 ? sqrt(r) : pow(r, exponent);
}

/* change(g) of adversary/rows/lmo.h, g >= 0. */
ROW_CODE double row_change(const power_norm &of, double step, double g)
{
    return !(g > 0) ? 0 : of.p <= 2 ? row_power(step * g, of.a) : step * row_power(g, of.a);
}

struct power_sums {
    double plus, minus, plus_rate, minus_rate, whole, clipped, largest;
    ROW_PART void join(const power_sums &other)
    {
        plus += other.plus;
        minus += other.minus;
        plus_rate += other.plus_rate;
        minus_rate += other.minus_rate;
        whole += other.whole;
        clipped += other.clipped;
        largest = fmax(largest, other.largest);
    }
};

template <typename ROW>
ROW_CODE power_sums power_sum_at(const power_norm &of, const ROW &row, double alpha, double step,
                                 double omega)
{
    power_sums sums = {};
    row.each([&](double phat, double x, int64_t) {
        const double g = fabs(x - omega);
        if (!(g > 0)) {
            return;
        }
        const double change = row_change(of, step, g);
        if (x < omega) {
            sums.plus += change;
            sums.plus_rate += change / g;
            sums.whole += change * g;
            sums.largest = fmax(sums.largest, change);
            return;
        }
        const double most = phat / alpha;
        const bool free = change < most;
        const double size = free ? change : most;
        sums.minus += size;
        sums.minus_rate += free ? change / g : 0;
        sums.whole += free ? change * g : 0;
        sums.clipped += free ? 0 : most * g;
        sums.largest = fmax(sums.largest, size);
    });
    return row.total(sums);
}

/* By how much Newton would raise omega. */
ROW_CODE double power_newton(const power_norm &of, const power_sums &sums)
{
    if (of.p > 2) {
        return (sums.minus - sums.plus) / (of.a * (sums.plus_rate + sums.minus_rate));
    }
    const double plus = pow(sums.plus, of.p - 1);
    const double minus = pow(sums.minus, of.p - 1);
    const double rate = (sums.plus > 0 ? plus / sums.plus * sums.plus_rate : 0) +
                        (sums.minus > 0 ? minus / sums.minus * sums.minus_rate : 0);
    return (minus - plus) / rate;
}

/* omega, upper and share for the step. True: omega is enough, and `sums` are those there. */
template <typename ROW>
ROW_CODE bool power_find_level(const power_norm &of, const ROW &row, double alpha, double step,
                               double highest, power_level *level, power_sums *sums)
{
    enum { LIMIT = 300 };
    double low = 0;
    double high = highest;
    double low_excess = -INFINITY;
    double high_excess = INFINITY;
    double width = INFINITY;
    double omega = level->omega > 0 && level->omega < highest ? level->omega : highest / 2;
    for (int i = 0; i < LIMIT; i++) {
        *sums = power_sum_at(of, row, alpha, step, omega);
        const double excess = sums->plus - sums->minus;
        if (std::isfinite(excess) && fabs(excess) <= 16 * DBL_EPSILON * sums->plus) {
            *level = {omega, omega, 0};
            return true;
        }
        if (excess < 0) {
            low = omega;
            low_excess = excess;
        } else {
            high = omega;
            high_excess = excess;
        }
        const double least = DBL_EPSILON / 4 * high;
        const double middle = low + (high - low) / 2;
        if (high - low <= 4 * least || middle <= low || middle >= high) {
            break;
        }
        bool slow = false;
        if (i % 3 == 2) {
            slow = high - low > width / 2;
            width = high - low;
        }
        const double newton = power_newton(of, *sums);
        omega = fabs(newton) < least ? omega + (newton > 0 ? 2 : -2) * least : omega + newton;
        if (slow || !(omega > low && omega < high)) {
            omega = middle;
        }
    }
    if (std::isinf(low_excess)) { /* an end that was never tried */
        const power_sums at = power_sum_at(of, row, alpha, step, low);
        low_excess = at.plus - at.minus;
    }
    if (std::isinf(high_excess)) {
        const power_sums at = power_sum_at(of, row, alpha, step, high);
        high_excess = at.plus - at.minus;
    }
    *level = std::isinf(high_excess) /* a step beyond all bounds */
                 ? power_level{0, 0, -1}
                 : power_level{low, high, low_excess < 0 ? low_excess / (low_excess - high_excess) : 0};
    return false;
}

/* Delta / alpha at a level. */
ROW_CODE double power_at(const power_norm &of, double step, double most, double g)
{
    const double change = row_change(of, step, fabs(g));
    return g >= 0 ? change : -fmin(most, change);
}

/* Delta / alpha of an entry. */
ROW_CODE double power_delta(const power_norm &of, const power_level &level, double step, double alpha,
                            double phat, double x)
{
    const double low = power_at(of, step, phat / alpha, level.omega - x);
    if (!(level.share > 0)) {
        return low;
    }
    return (1 - level.share) * low + level.share * power_at(of, step, phat / alpha, level.upper - x);
}

/* What goes to the smallest x where all does. */
struct power_moves {
    double count, moved, gain, largest; /* entries there, what others lose, and the largest of these */
    ROW_PART void join(const power_moves &other)
    {
        count += other.count;
        moved += other.moved;
        gain += other.gain;
        largest = fmax(largest, other.largest);
    }
};

template <typename ROW> ROW_CODE power_moves power_settle(const ROW &row)
{
    power_moves all = {};
    row.each([&](double phat, double x, int64_t) {
        all.count += x <= 0 ? 1 : 0;
        all.moved += x <= 0 ? 0 : phat;
        all.gain += phat * x;
        all.largest = x <= 0 ? all.largest : fmax(all.largest, phat);
    });
    return row.total(all);
}

template <typename ROW> ROW_CODE power_part power_settled(const power_norm &of, const ROW &row, double alpha)
{
    const power_moves all = power_settle(row);
    if (!(all.moved > 0)) {
        return {all.gain, 0};
    }
    const double lift = all.moved / all.count;
    const double largest = fmax(all.largest, lift);
    row_sum powers = {};
    row.each(
        [&](double phat, double x, int64_t) { powers.sum += x <= 0 ? 0 : row_power(phat / largest, of.p); });
    powers = row.total(powers);
    const double sum = all.count * row_power(lift / largest, of.p) + powers.sum;
    return {all.gain, largest * row_power(sum, 1 / of.p) / alpha};
}

/* Of a mixture, entry by entry. */
template <typename ROW>
ROW_CODE power_part power_mixed(const power_norm &of, const ROW &row, double alpha, double step,
                                const power_level &level)
{
    row_sum gain = {};
    row_sum powers = {};
    row_largest most = {};
    row.each([&](double phat, double x, int64_t) {
        const double delta = power_delta(of, level, step, alpha, phat, x);
        gain.sum += delta * (level.omega - x);
        most.largest = fmax(most.largest, fabs(delta));
    });
    gain = row.total(gain);
    most = row.total(most);
    if (!(most.largest > 0)) {
        return {0, 0};
    }
    row.each([&](double phat, double x, int64_t) {
        const double delta = power_delta(of, level, step, alpha, phat, x);
        powers.sum += row_power(fabs(delta) / most.largest, of.p);
    });
    powers = row.total(powers);
    return {alpha * fmax(0.0, gain.sum), most.largest * row_power(powers.sum, 1 / of.p)};
}

/* The answer of a row at its step, from the level that it has on. */
template <typename ROW>
ROW_CODE power_part power_solve(const power_norm &of, const ROW &row, double alpha, double step,
                                power_level *level)
{
    row_largest highest = {};
    row_sum clipped = {};
    power_sums sums;
    row.each([&](double, double x, int64_t) { highest.largest = fmax(highest.largest, x); });
    highest = row.total(highest);
    if (!(highest.largest > 0)) {
        *level = {0, 0, 0};
        return {0, 0};
    }
    if (!power_find_level(of, row, alpha, step, highest.largest, level, &sums)) {
        return level->share < 0 ? power_settled(of, row, alpha) : power_mixed(of, row, alpha, step, *level);
    }
    const double most = sums.largest;
    if (!(most > 0)) {
        return {0, 0};
    }
    const double g = of.p < 2 ? pow(most, of.p - 1) / step : pow(most / step, of.p - 1);
    if (sums.clipped > 0) {
        row.each([&](double phat, double x, int64_t) {
            const double d = x - level->omega;
            const double size = phat / alpha;
            if (d > 0 && size > 0 && size <= row_change(of, step, d)) {
                clipped.sum += pow(size / most, of.p);
            }
        });
        clipped = row.total(clipped);
    }
    const double sum = (sums.whole > 0 ? sums.whole / most / g : 0) + clipped.sum;
    return {alpha * (sums.whole + sums.clipped), most * pow(sum, 1 / of.p)};
}

/* to(place) <- X. */
template <typename ROW>
ROW_CODE void power_write(const power_norm &of, const ROW &row, double alpha, double step,
                          const power_level &level, double *to)
{
    if (level.share < 0) {
        const power_moves all = power_settle(row);
        const double lift = all.moved / all.count;
        row.write(to, [&](double phat, double x, int64_t) { return x <= 0 ? phat + lift : 0.0; });
        return;
    }
    row.write(to, [&](double phat, double x, int64_t) {
        return fmax(0.0, phat + alpha * power_delta(of, level, step, alpha, phat, x));
    });
}

#endif
