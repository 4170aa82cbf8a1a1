/*
 * row_lp.h: one row of 1 < p < infinity, p != 2, and the step that rows share; see sets/lmo_lp.c,
 * whose formulas these are. Rows are as in row.h.
 */
#ifndef NADIR_ENGINES_CUDA_ROW_LP_H
#define NADIR_ENGINES_CUDA_ROW_LP_H

#include "row.h"

#include "sets/lmo_lp_formulas.h"

/* The level of a row: to start from, and to write. share < 0: all mass is at the smallest x. */
struct lp_level {
    double omega, upper, share;
};

/* What a row adds up to; gain in units of x, norm is |Delta|_p / alpha. */
struct lp_part {
    double gain, norm;
};

struct lp_sums : nadir_lp_sums {
    ROW_PART void join(const lp_sums &other)
    {
        plus += other.plus;
        minus += other.minus;
        plus_rate += other.plus_rate;
        minus_rate += other.minus_rate;
        unclipped += other.unclipped;
        clipped += other.clipped;
        largest = fmax(largest, other.largest);
    }
};

template <typename ROW>
ROW_CODE lp_sums lp_sum_at(double p, const ROW &row, double alpha, double step, double omega)
{
    lp_sums sums = {};
    row.each([&](double phat, double x, int64_t) {
        if (x < omega) {
            nadir_lp_add_below(p, step, omega - x, &sums);
        } else if (x > omega) {
            nadir_lp_add_above(p, step, x - omega, phat / alpha, &sums);
        }
    });
    return row.total(sums);
}

/* omega, upper and share for the step. True: omega is enough, and `sums` are those there. */
template <typename ROW>
ROW_CODE bool lp_find_level(double p, const ROW &row, double alpha, double step, double highest,
                            lp_level *level, lp_sums *sums)
{
    nadir_lp_levels tried = {0, highest, -INFINITY, INFINITY, INFINITY};
    double omega = level->omega > 0 && level->omega < highest ? level->omega : highest / 2;
    for (int i = 0; i < NADIR_LP_LEVEL_LIMIT; i++) {
        *sums = lp_sum_at(p, row, alpha, step, omega);
        const double excess = sums->plus - sums->minus;
        if (std::isfinite(excess) && fabs(excess) <= NADIR_LP_MASS_ROUNDING * sums->plus) {
            *level = {omega, omega, 0};
            return true;
        }
        if (!nadir_lp_next_level(p, i, sums, &tried, &omega)) {
            break;
        }
    }
    if (std::isinf(tried.low_excess)) { /* an end that was never tried */
        const lp_sums end = lp_sum_at(p, row, alpha, step, tried.low);
        tried.low_excess = end.plus - end.minus;
    }
    if (std::isinf(tried.high_excess)) {
        const lp_sums end = lp_sum_at(p, row, alpha, step, tried.high);
        tried.high_excess = end.plus - end.minus;
    }
    const double low = tried.low_excess;
    *level = std::isinf(tried.high_excess) /* a step beyond all bounds */
                 ? lp_level{0, 0, -1}
                 : lp_level{tried.low, tried.high, low < 0 ? low / (low - tried.high_excess) : 0};
    return false;
}

/* Delta / alpha of an entry. */
ROW_CODE double lp_delta(double p, const lp_level &level, double step, double alpha, double phat, double x)
{
    const double low = nadir_lp_delta(p, step, phat / alpha, level.omega - x);
    if (!(level.share > 0)) {
        return low;
    }
    return (1 - level.share) * low + level.share * nadir_lp_delta(p, step, phat / alpha, level.upper - x);
}

/* What goes to the smallest x where all does. */
struct lp_moves {
    double count, moved, gain, largest; /* entries there, what others lose, and the largest of these */
    ROW_PART void join(const lp_moves &other)
    {
        count += other.count;
        moved += other.moved;
        gain += other.gain;
        largest = fmax(largest, other.largest);
    }
};

template <typename ROW> ROW_CODE lp_moves lp_settle(const ROW &row)
{
    lp_moves all = {};
    row.each([&](double phat, double x, int64_t) {
        all.count += x <= 0 ? 1 : 0;
        all.moved += x <= 0 ? 0 : phat;
        all.gain += phat * x;
        all.largest = x <= 0 ? all.largest : fmax(all.largest, phat);
    });
    return row.total(all);
}

template <typename ROW> ROW_CODE lp_part lp_settled(double p, const ROW &row, double alpha)
{
    const lp_moves all = lp_settle(row);
    if (!(all.moved > 0)) {
        return {all.gain, 0};
    }
    const double lift = all.moved / all.count;
    const double largest = fmax(all.largest, lift);
    row_sum powers = {};
    row.each(
        [&](double phat, double x, int64_t) { powers.sum += x <= 0 ? 0 : nadir_power(phat / largest, p); });
    powers = row.total(powers);
    const double sum = all.count * nadir_power(lift / largest, p) + powers.sum;
    return {all.gain, largest * nadir_power(sum, 1 / p) / alpha};
}

/* Of a mixture, entry by entry. */
template <typename ROW>
ROW_CODE lp_part lp_mixed(double p, const ROW &row, double alpha, double step, const lp_level &level)
{
    row_sum gain = {};
    row_sum powers = {};
    row_largest most = {};
    row.each([&](double phat, double x, int64_t) {
        const double delta = lp_delta(p, level, step, alpha, phat, x);
        gain.sum += delta * (level.omega - x);
        most.largest = fmax(most.largest, fabs(delta));
    });
    gain = row.total(gain);
    most = row.total(most);
    if (!(most.largest > 0)) {
        return {0, 0};
    }
    row.each([&](double phat, double x, int64_t) {
        const double delta = lp_delta(p, level, step, alpha, phat, x);
        powers.sum += nadir_power(fabs(delta) / most.largest, p);
    });
    powers = row.total(powers);
    return {alpha * fmax(0.0, gain.sum), most.largest * nadir_power(powers.sum, 1 / p)};
}

/* The answer of a row at its step, from the level that it has on. */
template <typename ROW>
ROW_CODE lp_part lp_solve(double p, const ROW &row, double alpha, double step, lp_level *level)
{
    row_largest highest = {};
    row_sum clipped = {};
    lp_sums sums;
    row.each([&](double, double x, int64_t) { highest.largest = fmax(highest.largest, x); });
    highest = row.total(highest);
    if (!(highest.largest > 0)) {
        *level = {0, 0, 0};
        return {0, 0};
    }
    if (!lp_find_level(p, row, alpha, step, highest.largest, level, &sums)) {
        return level->share < 0 ? lp_settled(p, row, alpha) : lp_mixed(p, row, alpha, step, *level);
    }
    const double most = sums.largest;
    if (!(most > 0)) {
        return {0, 0};
    }
    const double g = p < 2 ? pow(most, p - 1) / step : pow(most / step, p - 1);
    if (sums.clipped > 0) {
        row.each([&](double phat, double x, int64_t) {
            const double d = x - level->omega;
            const double size = phat / alpha;
            if (d > 0 && size > 0 && size <= nadir_lp_change(p, step, d)) {
                clipped.sum += pow(size / most, p);
            }
        });
        clipped = row.total(clipped);
    }
    const double sum = (sums.unclipped > 0 ? sums.unclipped / most / g : 0) + clipped.sum;
    return {alpha * (sums.unclipped + sums.clipped), most * pow(sum, 1 / p)};
}

/* to(place) <- X. */
template <typename ROW>
ROW_CODE void lp_write(double p, const ROW &row, double alpha, double step, const lp_level &level, double *to)
{
    if (level.share < 0) {
        const lp_moves all = lp_settle(row);
        const double lift = all.moved / all.count;
        row.write(to, [&](double phat, double x, int64_t) { return x <= 0 ? phat + lift : 0.0; });
        return;
    }
    row.write(to, [&](double phat, double x, int64_t) {
        return fmax(0.0, phat + alpha * lp_delta(p, level, step, alpha, phat, x));
    });
}

/* The step of a row of u = alpha w / unit: kappa u (p < 2) or kappa u^a (p > 2), a = 1 / (p - 1). */
ROW_CODE double lp_row_step(double p, double kappa, double u)
{
    return u > 0 ? kappa * (p < 2 ? u : nadir_power(u, 1 / (p - 1))) : 0;
}

/* The kappa of norm beta from below, norm_at(kappa) having been called with it last, by the method of false
 * position in t = log kappa, times a for p < 2. NaN: the norm does not get there. 0: digits do not suffice. */
#ifdef __CUDACC__
#pragma nv_exec_check_disable
#endif
template <typename NORM> NADIR_FORMULA double lp_find_step(double p, double beta, double base, NORM norm_at)
{
    const double a = fmax(1.0, 1 / (p - 1));
    const double tolerance = 4 * DBL_EPSILON * a;
    nadir_lp_bracket bracket = {-INFINITY, INFINITY, 0, 0, 0, INFINITY};
    double t = 0;
    for (int i = 0; i < NADIR_LP_STEP_LIMIT; i++) {
        const double excess = log(norm_at(nadir_lp_kappa(p, base, t)) / beta);
        if (std::isnan(excess)) {
            return NAN;
        }
        nadir_lp_narrow(&bracket, t, excess);
        if ((excess <= 0 && excess >= -tolerance) ||
            bracket.high - bracket.low <= tolerance + 2 * DBL_EPSILON * fabs(t)) {
            break;
        }
        if (std::isinf(bracket.high) && i == NADIR_LP_BRACKET_LIMIT) {
            return NAN;
        }
        t = nadir_lp_next_t(&bracket, i, tolerance, NADIR_LP_FAR * a);
    }
    const double kappa = nadir_lp_kappa(p, base, bracket.low);
    /* Where digits do not suffice the same t may answer otherwise, from another start. Nothing moves at 0. */
    if (t != bracket.low && log(norm_at(kappa) / beta) > tolerance) {
        (void)norm_at(0.0);
        return 0;
    }
    return kappa;
}

#endif
