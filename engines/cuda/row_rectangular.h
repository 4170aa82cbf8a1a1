/*
 * row_rectangular.h: rows that share a budget, 1 <= p < infinity, solved to the end by one thread: those of a
 * state (s-rectangular sets), or one alone (sa); see adversary/rows/, whose numbers these are up to rounding.
 *
 *     min sum over rows of w X . x    with    sum of (|Delta|_p / alpha)^p <= beta^p,
 *
 * alpha being the radius of the row, so that beta is next to one. A group is anything with each(visit), which
 * calls visit(row, solution, alpha, u), u = alpha w / unit in (0, 1], for every row that moves, always in the
 * same order; rows are as in row_power.h.
 */
#ifndef NADIR_ENGINES_CUDA_ROW_RECTANGULAR_H
#define NADIR_ENGINES_CUDA_ROW_RECTANGULAR_H

#include "bracket.h"
#include "row_power.h"

#include <cstring>

/* Long code, called from many places. */
#ifdef __CUDACC__
#define ROW_CALL static __device__ __noinline__
#else
#define ROW_CALL static inline
#endif

/* The answer of a row. Zeros: it is as it was. */
struct row_solution {
    double omega, upper; /* p = 1: the key from which on entries move; see power_level */
    double share;        /* p = 1: of entries of this key */
    double step;         /* p = 1: u; infinity (p > 1): all mass is at the smallest x */
    double gain;         /* (Phat - X) . x */
};

/* (sum of norm^p)^(1/p) of what is added, whatever the size of the powers. */
struct shared_norm {
    double p, largest, sum;
};

ROW_CODE void shared_add(shared_norm *of, double norm)
{
    if (norm > of->largest || std::isnan(norm)) {
        of->sum = 1 + (of->largest > 0 ? of->sum * row_power(of->largest / norm, of->p) : 0);
        of->largest = norm;
    } else if (norm > 0) {
        of->sum += row_power(norm / of->largest, of->p);
    }
}

ROW_CODE double shared_total(const shared_norm &of)
{
    return of.largest > 0 && std::isfinite(of.largest) ? of.largest * row_power(of.sum, 1 / of.p)
                                                       : of.largest;
}

/* All mass of every row at its smallest x; the norm of that. */
template <typename GROUP> ROW_CODE double shared_settle(const power_norm &of, const GROUP &group)
{
    shared_norm norm = {of.p, 0, 0};
    group.each([&](const auto &row, row_solution &to, double alpha, double) {
        const power_part part = power_settled(of, row, alpha);
        to = {0, 0, 0, INFINITY, part.gain};
        shared_add(&norm, part.norm);
    });
    return shared_total(norm);
}

/* p = 1 (threshold.c): entries of the largest keys go to the smallest x of their rows. */

ROW_CODE double shared_key(double u, double x)
{
#ifdef __CUDA_ARCH__
    return __dmul_rn(u, x);
#else
    return u * x;
#endif
}

/* What of an entry moves. */
ROW_CODE double shared_part(double key, double x, double threshold, double share)
{
    return key > threshold ? 1 : x > 0 && key == threshold ? share : 0;
}

/* A key, the mass / alpha of larger ones, and its own. */
struct shared_keys {
    double key, above, at;
};

/* The largest key that is smaller than this one; 0: none. */
template <typename GROUP> ROW_CODE shared_keys shared_next(const GROUP &group, const shared_keys &last)
{
    shared_keys next = {0, last.above + last.at, 0};
    group.each([&](const auto &row, row_solution &, double alpha, double u) {
        row.each([&](double phat, double x, int64_t) {
            const double key = shared_key(u, x);
            if (key < last.key && key > 0 && key >= next.key) {
                next.at = (key == next.key ? next.at : 0) + phat / alpha;
                next.key = key;
            }
        });
    });
    return next;
}

template <typename GROUP> ROW_CODE shared_keys shared_weigh(const GROUP &group, double key)
{
    shared_keys all = {key, 0, 0};
    group.each([&](const auto &row, row_solution &, double alpha, double u) {
        row.each([&](double phat, double x, int64_t) {
            const double other = shared_key(u, x);
            all.above += other > key ? phat / alpha : 0;
            all.at += other == key ? phat / alpha : 0;
        });
    });
    return all;
}

ROW_CODE double shared_number(int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

ROW_CODE int64_t shared_bits(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The key with which the budget is spent, and without which it is not; 0: there is none. One after another
 * from the largest on where they are few, otherwise bit by bit. */
template <typename GROUP> ROW_CODE shared_keys shared_threshold(const GROUP &group, double budget)
{
    enum { FEW = 24 };
    shared_keys at = {INFINITY, 0, 0};
    for (int i = 0; i < FEW; i++) {
        at = shared_next(group, at);
        if (!(at.key > 0) || at.above + at.at > budget) {
            return at;
        }
    }
    int64_t low = 0;
    int64_t high = shared_bits(at.key);
    if (!(shared_weigh(group, 0).above > budget)) {
        return {0, 0, 0};
    }
    while (high - low > 1) { /* less lies above `high`, and more above `low` */
        const int64_t middle = low + (high - low) / 2;
        if (shared_weigh(group, shared_number(middle)).above > budget) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return shared_weigh(group, shared_number(high));
}

/* Answers at a threshold; the mass / alpha that moves. */
template <typename GROUP> ROW_CODE double shared_move(const GROUP &group, double threshold, double share)
{
    double all = 0;
    group.each([&](const auto &row, row_solution &to, double alpha, double u) {
        double moved = 0;
        double gain = 0;
        row.each([&](double phat, double x, int64_t) {
            const double part = shared_part(shared_key(u, x), x, threshold, share) * phat;
            moved += part;
            gain += part * x;
        });
        to = {threshold, threshold, share, u, gain};
        all += moved / alpha;
    });
    return all;
}

template <typename GROUP> ROW_CODE void shared_solve_threshold(const GROUP &group, double beta)
{
    const double budget = beta / 2;
    const shared_keys at = shared_threshold(group, budget);
    double share = at.key > 0 && at.at > 0 ? fmin(fmax((budget - at.above) / at.at, 0.0), 1.0) : 0;
    for (int i = 0; i < 4; i++) { /* rounding must not leave the ball */
        const double moved = shared_move(group, at.key, share);
        if (!(at.key > 0) || !(moved > budget)) {
            break;
        }
        share = fmax(share - 2 * (moved - budget) / at.at, 0.0);
    }
}

/* p = 2 (quadratic.c): with I the entries that stay positive, n of them, of mean and squares V about it,
 *
 *     omega = mean + m / (n alpha s),    kappa^2 sum u^2 V + sum (m^2 / n + Q) / alpha^2 = beta^2,
 *
 * s = kappa u, m and Q being the sums of Phat and its squares outside. From the set of all entries on I only
 * shrinks, and kappa rises to the answer. */

ROW_CODE bool shared_keeps(double phat, double d, double slope)
{
    return phat >= slope * d;
}

/* omega at a slope, alpha s; the mean of I. */
template <typename ROW> ROW_CODE double shared_level(const ROW &row, double slope, double *mean)
{
    enum { TURNS = 200 };
    double before = 0;
    double omega = 0;
    row.each([&](double, double x, int64_t) {
        omega += x;
        before += 1;
    });
    omega /= before;
    *mean = omega;
    for (int turn = 0; turn < TURNS && slope > 0; turn++) {
        double n = 0;
        double first = 0;
        double moved = 0;
        row.each([&](double phat, double x, int64_t) {
            const double d = x - omega;
            const bool kept = shared_keeps(phat, d, slope);
            n += kept ? 1 : 0;
            first += kept ? d : 0;
            moved += kept ? 0 : phat;
        });
        if (!(n > 0)) {
            break;
        }
        *mean = omega + first / n; /* measured from close by in the end, so that digits suffice */
        omega = *mean + moved / (n * slope);
        if (turn > 0 && n == before) {
            break;
        }
        before = n;
    }
    return omega;
}

/* sum u^2 V, and the rest of the equation of kappa. */
template <typename GROUP>
ROW_CODE void shared_fit(const GROUP &group, double kappa, double *variance, double *spent)
{
    double all = 0;
    double rest = 0;
    group.each([&](const auto &row, row_solution &, double alpha, double u) {
        const double slope = alpha * (kappa * u);
        double mean;
        const double omega = shared_level(row, slope, &mean);
        double n = 0;
        double second = 0;
        double moved = 0;
        double squares = 0;
        row.each([&](double phat, double x, int64_t) {
            const bool kept = shared_keeps(phat, x - omega, slope);
            const double d = x - mean;
            const double lost = kept ? 0 : phat / alpha;
            n += kept ? 1 : 0;
            second += kept ? d * d : 0;
            moved += lost;
            squares += lost * lost;
        });
        all += u * u * second;
        rest += (n > 0 ? moved * (moved / n) : 0) + squares;
    });
    *variance = all;
    *spent = rest;
}

/* Answers at kappa; their norm. */
template <typename GROUP> ROW_CODE double shared_fall(const GROUP &group, double kappa)
{
    double norm = 0;
    group.each([&](const auto &row, row_solution &to, double alpha, double u) {
        const double step = kappa * u;
        const double slope = alpha * step;
        double mean;
        double gain = 0;
        const double omega = shared_level(row, slope, &mean);
        row.each([&](double phat, double x, int64_t) {
            const double d = x - omega;
            const bool kept = shared_keeps(phat, d, slope);
            const double fall = kept ? step * d : phat / alpha;
            gain += (kept ? slope * d : phat) * d;
            norm += fall * fall;
        });
        to = {omega, omega, 0, step, gain};
    });
    return sqrt(norm);
}

template <typename GROUP> ROW_CODE void shared_solve_quadratic(const GROUP &group, double beta)
{
    enum { PASSES = 200 };
    double kappa = 0;
    if (shared_settle({2, 1}, group) <= beta) {
        return;
    }
    for (int i = 0; i < PASSES; i++) {
        double variance;
        double spent;
        shared_fit(group, kappa, &variance, &spent);
        const double next = sqrt((beta * beta - spent) / variance);
        if (!(next > kappa) || !std::isfinite(next)) { /* but for rounding it rises */
            break;
        }
        const bool still = next - kappa <= 16 * DBL_EPSILON * next;
        kappa = next;
        if (still) {
            break;
        }
    }
    for (int i = 0; i < 4; i++) { /* rounding must not leave the ball */
        const double norm = shared_fall(group, kappa);
        if (!(norm > beta)) {
            break;
        }
        kappa *= beta / norm * (1 - DBL_EPSILON);
    }
}

/* Other p (power.c): rows at a step that they have in common, which is looked for. */

/* Answers at kappa, from the last ones on; their norm. */
template <typename GROUP> ROW_CALL double shared_rise(const power_norm &of, const GROUP &group, double kappa)
{
    shared_norm norm = {of.p, 0, 0};
    group.each([&](const auto &row, row_solution &to, double alpha, double u) {
        const double step = kappa * (of.p < 2 ? u : row_power(u, of.a));
        power_level level = {to.omega, to.upper, to.share};
        const power_part part = power_solve(of, row, alpha, step, &level);
        to = {level.omega, level.upper, level.share, level.share < 0 ? INFINITY : step, part.gain};
        shared_add(&norm, part.norm);
    });
    return shared_total(norm);
}

ROW_CODE double shared_kappa(const power_norm &of, double base, double t)
{
    return base * exp(of.p < 2 ? t * (of.p - 1) : t);
}

/* The answers of norm beta, from below. False: the norm does not get there. */
template <typename GROUP>
ROW_CALL bool shared_find_step(const power_norm &of, const GROUP &group, double beta, double base)
{
    const double a = fmax(1.0, of.a);
    const double tolerance = 4 * DBL_EPSILON * a;
    bracket at = {-INFINITY, INFINITY, 0, 0, 0, INFINITY};
    double t = 0;
    for (int i = 0; i < STEP_LIMIT; i++) {
        const double excess = log(shared_rise(of, group, shared_kappa(of, base, t)) / beta);
        if (std::isnan(excess)) {
            return false;
        }
        narrow(&at, t, excess);
        if ((excess <= 0 && excess >= -tolerance) ||
            at.high - at.low <= tolerance + 2 * DBL_EPSILON * fabs(t)) {
            break;
        }
        if (std::isinf(at.high) && i == BRACKET_LIMIT) {
            return false;
        }
        t = next_t(&at, i, tolerance, FAR * a);
    }
    /* Where digits do not suffice the same t may answer otherwise, from another start. Nothing moves at 0. */
    if (t != at.low && log(shared_rise(of, group, shared_kappa(of, base, at.low)) / beta) > tolerance) {
        (void)shared_rise(of, group, 0);
    }
    return true;
}

template <typename GROUP>
ROW_CODE void shared_solve_power(const power_norm &of, const GROUP &group, double beta)
{
    double start = 0; /* the last step of a row of u = 1 */
    bool matters = false;
    group.each([&](const auto &, row_solution &to, double, double u) { start = u == 1 ? to.step : start; });
    {
        shared_norm norm = {of.p, 0, 0};
        group.each([&](const auto &row, row_solution &, double alpha, double) {
            shared_add(&norm, power_settled(of, row, alpha).norm);
        });
        matters = shared_total(norm) > beta;
    }
    if (matters && start > 0 && std::isfinite(start) && shared_find_step(of, group, beta, start)) {
        return;
    }
    if (!matters || !shared_find_step(of, group, beta, of.p < 2 ? 2 * pow(beta, of.p - 1) : beta)) {
        (void)shared_settle(of, group);
    }
}

/* Which of them. */
enum shared_kind { THRESHOLD, QUADRATIC, POWER };

template <shared_kind KIND, typename GROUP>
ROW_CODE void shared_solve(const power_norm &of, const GROUP &group, double beta)
{
    if constexpr (KIND == THRESHOLD) {
        shared_solve_threshold(group, beta);
    } else if constexpr (KIND == QUADRATIC) {
        shared_solve_quadratic(group, beta);
    } else {
        shared_solve_power(of, group, beta);
    }
}

/* to(place) <- X of a row that moves. */
template <shared_kind KIND, typename ROW>
ROW_CODE void shared_write(const power_norm &of, const ROW &row, double alpha, const row_solution &at,
                           double *to)
{
    int64_t taker = -1;
    double moved = 0;
    if (KIND == THRESHOLD) { /* the first of the smallest x takes what moves */
        row.each([&](double phat, double x, int64_t i) {
            const double part = shared_part(shared_key(at.step, x), x, at.omega, at.share) * phat;
            to[i] = phat - part;
            moved += part;
            taker = taker < 0 && x == 0 ? i : taker;
        });
        if (taker >= 0) {
            to[taker] += moved;
        }
    } else if (KIND == QUADRATIC && std::isfinite(at.step)) {
        const double slope = alpha * at.step;
        row.each([&](double phat, double x, int64_t i) { to[i] = fmax(0.0, phat + slope * (at.omega - x)); });
    } else {
        power_write(of, row, alpha, at.step, {at.omega, at.upper, std::isinf(at.step) ? -1 : at.share}, to);
    }
}

#endif
