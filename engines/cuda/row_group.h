/*
 * row_group.h: rows that share a budget, 1 <= p < infinity, solved to the end by one thread: those of a
 * state (s-rectangular sets), or one alone (sa); see adversary/rows/, whose numbers these are up to rounding.
 *
 *     min sum over rows of w X . x    with    sum of (|Delta|_p / alpha)^p <= beta^p,
 *
 * alpha being the radius of the row, so that beta is next to one. A group is anything with each(visit), which
 * calls visit(row, solution, alpha, u), u = alpha w / unit in (0, 1], for every row that moves, always in the
 * same order; rows are as in row.h.
 */
#ifndef NADIR_ENGINES_CUDA_ROW_GROUP_H
#define NADIR_ENGINES_CUDA_ROW_GROUP_H

#include "row_l2.h"
#include "row_lp.h"

/* Long code, called from many places. */
#ifdef __CUDACC__
#define ROW_CALL static __device__ __noinline__
#else
#define ROW_CALL static inline
#endif

/* The answer of a row. Zeros: it is as it was. */
struct row_solution {
    double omega, upper; /* p = 1: the key from which on entries move; see lp_level */
    double share;        /* p = 1: of entries of this key */
    double step;         /* p = 1: u; infinity (p > 1): all mass is at the smallest x */
    double gain;         /* (Phat - X) . x */
};

/* (sum of norm^p)^(1/p) of what is added, whatever the size of the powers. */
struct shared_norm {
    double p, largest, sum;
};

ROW_CODE void shared_add(shared_norm *all, double norm)
{
    if (norm > all->largest || std::isnan(norm)) {
        all->sum = 1 + (all->largest > 0 ? all->sum * nadir_power(all->largest / norm, all->p) : 0);
        all->largest = norm;
    } else if (norm > 0) {
        all->sum += nadir_power(norm / all->largest, all->p);
    }
}

ROW_CODE double shared_total(const shared_norm &all)
{
    return all.largest > 0 && std::isfinite(all.largest) ? all.largest * nadir_power(all.sum, 1 / all.p)
                                                         : all.largest;
}

/* All mass of every row at its smallest x; the norm of that. */
template <typename GROUP> ROW_CODE double group_settle(double p, const GROUP &group)
{
    shared_norm norm = {p, 0, 0};
    group.each([&](const auto &row, row_solution &to, double alpha, double) {
        const lp_part part = lp_settled(p, row, alpha);
        to = {0, 0, 0, INFINITY, part.gain};
        shared_add(&norm, part.norm);
    });
    return shared_total(norm);
}

/* p = 1 (threshold.c): entries of the largest keys go to the smallest x of their rows. */

/* A key, the mass / alpha of larger ones, and its own. */
struct l1_keys {
    double key, above, at;
};

/* The largest key that is smaller than this one; 0: none. */
template <typename GROUP> ROW_CODE l1_keys group_next_key(const GROUP &group, const l1_keys &last)
{
    l1_keys next = {0, last.above + last.at, 0};
    group.each([&](const auto &row, row_solution &, double alpha, double u) {
        row.each([&](double phat, double x, int64_t) {
            const double key = l1_key(u, x);
            if (key < last.key && key > 0 && key >= next.key) {
                next.at = (key == next.key ? next.at : 0) + phat / alpha;
                next.key = key;
            }
        });
    });
    return next;
}

template <typename GROUP> ROW_CODE l1_keys group_weigh(const GROUP &group, double key)
{
    l1_keys all = {key, 0, 0};
    group.each([&](const auto &row, row_solution &, double alpha, double u) {
        row.each([&](double phat, double x, int64_t) {
            const double other = l1_key(u, x);
            all.above += other > key ? phat / alpha : 0;
            all.at += other == key ? phat / alpha : 0;
        });
    });
    return all;
}

/* The key with which the budget is spent, and without which it is not; 0: there is none. One after another
 * from the largest on where they are few, otherwise bit by bit. */
template <typename GROUP> ROW_CODE l1_keys group_threshold(const GROUP &group, double budget)
{
    enum { FEW = 24 };
    l1_keys at = {INFINITY, 0, 0};
    for (int i = 0; i < FEW; i++) {
        at = group_next_key(group, at);
        if (!(at.key > 0) || at.above + at.at > budget) {
            return at;
        }
    }
    int64_t low = 0;
    int64_t high = bits_of_double(at.key);
    if (!(group_weigh(group, 0).above > budget)) {
        return {0, 0, 0};
    }
    while (high - low > 1) { /* less lies above `high`, and more above `low` */
        const int64_t middle = low + (high - low) / 2;
        if (group_weigh(group, double_of_bits(middle)).above > budget) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return group_weigh(group, double_of_bits(high));
}

/* Answers at a threshold; the mass / alpha that moves. */
template <typename GROUP> ROW_CODE double group_move(const GROUP &group, double threshold, double share)
{
    double all = 0;
    group.each([&](const auto &row, row_solution &to, double alpha, double u) {
        double moved = 0;
        double gain = 0;
        row.each([&](double phat, double x, int64_t) {
            const double part = l1_part(l1_key(u, x), x, threshold, share) * phat;
            moved += part;
            gain += part * x;
        });
        to = {threshold, threshold, share, u, gain};
        all += moved / alpha;
    });
    return all;
}

template <typename GROUP> ROW_CODE void group_solve_l1(const GROUP &group, double beta)
{
    const double budget = beta / 2;
    const l1_keys at = group_threshold(group, budget);
    double share = at.key > 0 && at.at > 0 ? fmin(fmax((budget - at.above) / at.at, 0.0), 1.0) : 0;
    for (int i = 0; i < 4; i++) { /* rounding must not leave the ball */
        const double moved = group_move(group, at.key, share);
        if (!(at.key > 0) || !(moved > budget)) {
            break;
        }
        share = fmax(share - 2 * (moved - budget) / at.at, 0.0);
    }
}

/* p = 2: omega of a row at its slope, 0 or more since x = 0 keeps its mass. The set of entries that stay
 * positive only shrinks; once it stays, omega is measured from close by, so that digits suffice. */
template <typename ROW> ROW_CODE double group_level(const ROW &row, double slope)
{
    double omega = row.mean();
    for (int turn = 0; turn < L2_TURNS && slope > 0; turn++) {
        const l2_sums all = l2_add(row, omega, slope);
        const double next = fmax(omega + (all.first / all.n + all.moved / (all.n * slope)), 0.0);
        const bool still = fabs(next - omega) <= 2 * DBL_EPSILON * next;
        omega = next;
        if (still) {
            break;
        }
    }
    return omega;
}

template <typename GROUP> ROW_CODE void group_solve_l2(const GROUP &group, double beta)
{
    if (group_settle(2, group) <= beta) {
        return;
    }
    const l2_step found = l2_find_step(beta, [&](l2_what what, double kappa) {
        double2 all = {0, 0};
        group.each([&](const auto &row, row_solution &to, double alpha, double u) {
            const double slope = alpha * (kappa * u);
            const double omega = group_level(row, slope);
            l2_sums sums = l2_add(row, omega, slope);
            if (what == FIT) { /* squares about the mean of what is kept: digits suffice there */
                const double mean = omega + sums.first / sums.n;
                sums.first = 0;
                sums.second = 0;
                row.each([&](double p, double x, int64_t) {
                    sums.second += p >= slope * (x - omega) ? (x - mean) * (x - mean) : 0;
                });
            }
            const double2 part = l2_part(sums, what, 1.0, alpha, u, slope);
            all.x += part.x;
            all.y += part.y;
            if (what == TOTAL) {
                to = {omega, omega, 0, kappa * u, part.x};
            }
        });
        return all;
    });
    if (!(found.kappa > 0)) {
        group.each([&](const auto &, row_solution &to, double, double) { to = {}; });
    }
}

/* Rows at kappa, from the last answers on; their norm. */
template <typename GROUP> ROW_CALL double group_solve_rows(double p, const GROUP &group, double kappa)
{
    shared_norm norm = {p, 0, 0};
    group.each([&](const auto &row, row_solution &to, double alpha, double u) {
        const double step = lp_row_step(p, kappa, u);
        lp_level level = {to.omega, to.upper, to.share};
        const lp_part part = lp_solve(p, row, alpha, step, &level);
        to = {level.omega, level.upper, level.share, level.share < 0 ? INFINITY : step, part.gain};
        shared_add(&norm, part.norm);
    });
    return shared_total(norm);
}

template <typename GROUP> ROW_CODE void group_solve_lp(double p, const GROUP &group, double beta)
{
    const auto norm_at = [&](double kappa) { return group_solve_rows(p, group, kappa); };
    double start = 0; /* the last step of a row of u = 1 */
    shared_norm settled = {p, 0, 0};
    group.each([&](const auto &row, row_solution &to, double alpha, double u) {
        start = u == 1 ? to.step : start;
        shared_add(&settled, lp_settled(p, row, alpha).norm);
    });
    if (!(shared_total(settled) > beta)) {
        (void)group_settle(p, group);
        return;
    }
    if (start > 0 && std::isfinite(start) && !std::isnan(lp_find_step(p, beta, start, norm_at))) {
        return;
    }
    if (std::isnan(lp_find_step(p, beta, p < 2 ? 2 * pow(beta, p - 1) : beta, norm_at))) {
        (void)group_settle(p, group);
    }
}

/* Which of them. */
enum group_norm { L1, L2, LP };

template <group_norm KIND, typename GROUP>
ROW_CODE void group_solve(double p, const GROUP &group, double beta)
{
    if constexpr (KIND == L1) {
        group_solve_l1(group, beta);
    } else if constexpr (KIND == L2) {
        group_solve_l2(group, beta);
    } else {
        group_solve_lp(p, group, beta);
    }
}

/* to(place) <- X of a row that moves. */
template <group_norm KIND, typename ROW>
ROW_CODE void group_write(double p, const ROW &row, double alpha, const row_solution &solution, double *to)
{
    if (KIND == L1) {
        (void)l1_write(row, solution.step, solution.omega, solution.share, to);
    } else if (KIND == L2 && std::isfinite(solution.step)) {
        const double slope = alpha * solution.step;
        row.each([&](double phat, double x, int64_t i) {
            to[i] = fmax(0.0, phat + slope * (solution.omega - x));
        });
    } else {
        lp_write(p, row, alpha, solution.step,
                 {solution.omega, solution.upper, std::isinf(solution.step) ? -1 : solution.share}, to);
    }
}

#endif
