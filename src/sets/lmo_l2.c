/*
 * lmo_l2.c: the linear minimisation oracle of p = 2; see lmo.h.
 *
 *     X = max(0, Phat - alpha s d),   d = x - omega,   s = kappa u,   u = alpha w / unit
 *
 * Given the set I of entries that are positive (n of them, of mean and sum of squares V about it), with m and
 * Q the sum of Phat and of Phat^2 over the others, the mass and the norm are
 *
 *     alpha s (n omega - sum_I x) = m
 *     kappa^2 sum_r u_r^2 V_r + sum_r (m_r^2 / n_r + Q_r) / alpha_r^2 = beta^2
 *
 * which gives omega and kappa in closed form. One pass over the entries finds I at the last (omega, kappa),
 * and I gives the next pair, until I does not change. From the set of all entries on, I only shrinks, kappa
 * rises and omega falls: clipping an entry lowers omega, so that what was clipped stays so, and lowers the
 * norm at the same kappa. So a cold start always ends. A warm start may not, but when it does the solution is
 * the same. With the step given the same holds for omega alone.
 */
#include "sets/lmo_internal.h"

#include <float.h>
#include <math.h>

enum { WARM_LIMIT = 8, COLD_LIMIT = 2000 };

#define NO_CLIPPING 0.0 /* the slope at which no entry is clipped */

/* Over all states below omega, along the order, and over the row's own entries above it. */
static nadir_lmo_l2_sums sum_with_order(const nadir_lmo *lmo, const nadir_lmo_row_view *view, double omega,
                                        double slope)
{
    const nadir_value_order_sums below = nadir_value_order_below(lmo->order, omega);
    nadir_lmo_l2_sums sums = {.n = (double)below.count, .first = -below.first, .second = below.second};
    for (int64_t i = 0; i < view->count; i++) {
        const double d = view->x[i] - omega;
        if (d < 0) {
            continue;
        }
        if (view->phat[i] >= slope * d) {
            sums.n += 1;
            sums.first += d;
            sums.second += d * d;
        } else {
            sums.moved += view->phat[i];
            sums.squares += view->phat[i] * view->phat[i];
            sums.lost += view->phat[i] * d;
        }
    }
    return sums;
}

/* The sums of a row at omega and step of its solution, for the closed forms. */
typedef struct piece {
    double n, moved, squares;
    double change; /* of omega against the pass before; 0 when I is the same and the mass is right */
    double first, second, lost, margin; /* margin 0: not known */
} piece;
_Static_assert(sizeof(piece) == NADIR_LMO_PIECE_SIZE * sizeof(double), "a piece is an array of numbers");

/* The level at which the mass is right; omega: of the sums. */
static double next_level(const piece *sums, double omega, double slope)
{
    const double mean = sums->n > 0 ? omega + sums->first / sums->n : 0;
    return sums->moved > 0 ? mean + sums->moved / (sums->n * slope) : mean;
}

/* V, or a little more where rounding cancels it: kappa comes out too small, and the next pass measures from
 * a nearer level. */
static double variance_of(const piece *sums)
{
    const double variance = sums->n > 0 ? sums->second - sums->first * (sums->first / sums->n) : 0;
    return fmax(variance, nadir_round_error(8) * sums->second);
}

/* Stores the sums at solution->omega and the slope, alpha s; the solution gets gain and norm there. */
static void store_sums(const nadir_lmo_row_view *view, double slope, const nadir_lmo_l2_sums *sums,
                       piece *stored, nadir_lmo_solution *solution)
{
    const bool same =
        sums->n == stored->n && sums->moved == stored->moved && sums->squares == stored->squares;
    const double excess = fabs(slope * sums->first + sums->moved);
    stored->change = same && excess <= NADIR_LMO_MASS_ROUNDING ? 0 : fmax(stored->change, DBL_MIN);
    stored->n = sums->n;
    stored->moved = sums->moved;
    stored->squares = sums->squares;
    stored->first = sums->first;
    stored->second = sums->second;
    stored->lost = sums->lost;
    stored->margin = sums->margin;
    solution->gain = slope * sums->second + sums->lost;
    solution->norm = sqrt(slope * slope * sums->second + sums->squares) / view->alpha;
}

/* A pass over the entries of a row. */
static void sum_row(const nadir_lmo *lmo, const nadir_lmo_row_view *view, double slope, piece *stored,
                    nadir_lmo_solution *solution)
{
    const nadir_lmo_l2_sums sums = view->off_support ? sum_with_order(lmo, view, solution->omega, slope)
                                                     : nadir_lmo_l2_sum_row(view, solution->omega, slope);
    store_sums(view, slope, &sums, stored, solution);
}

/*
 * The sums at solution->omega and the slope without a pass, where I cannot have changed since the last one,
 * at omega and slope `other`: since x lies in [0, 1], no Phat - slope d has changed by more than
 * |slope' - slope| max |d| + slope' |omega' - omega|.
 */
static bool move_sums(const nadir_lmo_row_view *view, double omega, double other, double slope, piece *stored,
                      nadir_lmo_solution *solution)
{
    const double fall = solution->omega - omega;
    const double reach = fmax(fabs(omega), fabs(1 - omega));
    const double moved = fabs(slope - other) * reach + slope * fabs(fall);
    const double rounding = nadir_round_error(32) * (1 + slope * (reach + fabs(fall)));
    if (!(moved + rounding < stored->margin)) {
        return false;
    }
    const nadir_lmo_l2_sums sums = {.n = stored->n,
                                    .first = stored->first - stored->n * fall,
                                    .second = stored->second - fall * (2 * stored->first - stored->n * fall),
                                    .moved = stored->moved,
                                    .squares = stored->squares,
                                    .lost = stored->lost - fall * stored->moved,
                                    .margin = stored->margin - moved - rounding};
    store_sums(view, slope, &sums, stored, solution);
    return true;
}

/* The mean over all allowed states: omega of the solution that clips nothing, and an upper bound on any
 * other. The nominal successors and all states below it contain the set I of every solution. */
static double start_level(const nadir_lmo *lmo, const nadir_lmo_row_view *view)
{
    if (lmo->domain == NADIR_DOMAIN_SIMPLEX) {
        const int64_t last = lmo->order->states - 1;
        return lmo->order->sorted[last] - lmo->order->first[last] / (double)lmo->order->states;
    }
    double sum = 0;
    for (int64_t i = 0; i < view->count; i++) {
        sum += view->x[i];
    }
    return sum / (double)view->count;
}

void nadir_lmo_l2_row(const nadir_lmo *lmo, const nadir_lmo_row_view *view, nadir_lmo_solution *solution)
{
    const double slope = view->alpha * solution->step;
    piece sums = {.change = INFINITY};
    sum_row(lmo, view, slope, &sums, solution);
    if (!(sums.n > 0)) {
        solution->omega = start_level(lmo, view);
        sum_row(lmo, view, NO_CLIPPING, &sums, solution);
    }
    /* The mass is convex in omega: from the second on, levels fall to the root. */
    for (int i = 0; i < COLD_LIMIT; i++) {
        const double next = next_level(&sums, solution->omega, slope);
        const bool falls = next < solution->omega;
        sums.change = fabs(next - solution->omega);
        solution->omega = next;
        sum_row(lmo, view, slope, &sums, solution);
        if (sums.change == 0 || (i > 1 && !falls)) {
            break;
        }
    }
    solution->upper = solution->omega;
    solution->share = 0;
}

/* One pass over the rows of a group. */
typedef struct group_pass {
    double kappa;
    bool started;          /* pieces hold the sums of the pass before */
    bool cold;             /* not started: from all entries, rather than from the solutions */
    nadir_lmo_l2_sums all; /* cold: over all states, for rows that have them all */
} group_pass;

/* Over all states about start_level, nothing clipped. */
static nadir_lmo_l2_sums sum_states(const nadir_lmo *lmo, double omega)
{
    nadir_lmo_l2_sums sums = {.n = (double)lmo->order->states};
    for (int64_t s = 0; s < lmo->order->states; s++) {
        const double d = lmo->order->x[s] - omega;
        sums.first += d;
        sums.second += d * d;
    }
    return sums;
}

static void update_row(const nadir_lmo_group *group, int64_t row, double *work, void *data)
{
    const group_pass *pass = data;
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(group->lmo, row, work);
    piece *stored = (piece *)group->scratch + (row - group->first);
    nadir_lmo_solution *solution = &group->solutions[row - group->first];
    const double omega = solution->omega; /* of the pass before, and its slope */
    const double other = view.alpha * solution->step;
    solution->step = pass->kappa * nadir_lmo_group_weight(group, row);
    solution->share = 0;
    double slope = view.alpha * solution->step;
    if (pass->started) {
        const double next = next_level(stored, omega, slope);
        stored->change = fabs(next - solution->omega);
        solution->omega = next;
    } else {
        *stored = (piece){.change = INFINITY};
        solution->omega = pass->cold ? start_level(group->lmo, &view) : solution->omega;
        slope = pass->cold ? NO_CLIPPING : slope;
    }
    solution->upper = solution->omega;
    const bool full = group->lmo->domain == NADIR_DOMAIN_SIMPLEX && view.count == group->lmo->order->states;
    if (pass->cold && !pass->started && full) {
        store_sums(&view, slope, &pass->all, stored, solution);
        return;
    }
    if (pass->started && move_sums(&view, omega, other, slope, stored, solution)) {
        return;
    }
    sum_row(group->lmo, &view, slope, stored, solution);
}

/* sum_r u_r^2 V_r, the rest of beta^2, and the largest change of a level. False: kappa has no closed form. */
static bool add_pieces(const nadir_lmo_group *group, double *variance, double *left, double *change)
{
    const piece *pieces = (const piece *)group->scratch;
    double spent = 0;
    double empty = 0; /* rows without an entry that is positive */
    *variance = 0;
    *change = 0;
    for (int64_t i = 0; i < group->moving_count; i++) {
        const int64_t row = group->moving[i];
        const double u = nadir_lmo_group_weight(group, row);
        const piece *sums = &pieces[row - group->first];
        if (!(sums->n > 0)) {
            empty = 1;
            break;
        }
        const double alpha = nadir_lmo_scale(group->lmo, row);
        const double moved = sums->moved / alpha;
        *variance += u * u * variance_of(sums);
        spent += moved * moved / sums->n + sums->squares / alpha / alpha;
        *change = fmax(*change, sums->change);
    }
    *variance = nadir_lmo_group_sum(group, *variance);
    *change = nadir_lmo_group_largest(group, *change);
    *left = group->beta * group->beta - nadir_lmo_group_sum(group, spent);
    return nadir_lmo_group_largest(group, empty) == 0 && *left > 0 && *variance > 0;
}

/* Passes until no set changes; false when that does not happen, or the closed forms have no solution. */
static bool iterate(const nadir_lmo_group *group, group_pass *pass, int limit)
{
    double variance;
    double left;
    double change;
    double last_kappa = INFINITY;
    for (int i = 0; i < limit; i++) {
        nadir_lmo_group_run(group, update_row, pass);
        if (!add_pieces(group, &variance, &left, &change)) {
            return false;
        }
        const double excess = fabs(pass->kappa * pass->kappa * variance - left);
        const bool exact = change == 0 && excess <= NADIR_LMO_MASS_ROUNDING * group->beta * group->beta;
        const bool still = change <= NADIR_LMO_LEVEL_ROUNDING &&
                           fabs(pass->kappa - last_kappa) <= NADIR_LMO_LEVEL_ROUNDING * last_kappa;
        if (pass->started && (exact || still)) {
            return true;
        }
        last_kappa = pass->kappa;
        pass->kappa = sqrt(left / variance);
        pass->started = true;
    }
    return false;
}

static void solve_at_kappa(const nadir_lmo_group *group, int64_t row, double *work, void *data)
{
    const group_pass *pass = data;
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(group->lmo, row, work);
    nadir_lmo_solution *solution = &group->solutions[row - group->first];
    solution->step = pass->kappa * nadir_lmo_group_weight(group, row);
    nadir_lmo_l2_row(group->lmo, &view, solution);
}

nadir_lmo_common nadir_lmo_l2(const nadir_lmo_group *group, double start)
{
    group_pass pass = {.kappa = start};
    if (start > 0 && iterate(group, &pass, WARM_LIMIT)) {
        return (nadir_lmo_common){pass.kappa, 1 / (2 * pass.kappa)};
    }
    if (nadir_lmo_group_is_inactive(group)) {
        return (nadir_lmo_common){INFINITY, 0};
    }
    const nadir_lmo_row_view all = {0};
    pass = (group_pass){.cold = true};
    if (group->lmo->domain == NADIR_DOMAIN_SIMPLEX) {
        pass.all = sum_states(group->lmo, start_level(group->lmo, &all));
    }
    if (!iterate(group, &pass, COLD_LIMIT)) {
        /* only rounding keeps the passes from their end; kappa is at or below the solution */
        nadir_lmo_group_run(group, solve_at_kappa, &pass);
    }
    return (nadir_lmo_common){pass.kappa, 1 / (2 * pass.kappa)};
}
