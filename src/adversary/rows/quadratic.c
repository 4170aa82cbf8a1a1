/*
 * quadratic.c: row problems of p = 2; see rows.h.
 *
 *     X = max(0, Phat - alpha s d),   d = x - omega,   s = kappa u,   u = alpha w / unit
 *
 * Given the set I of entries that are positive (n of them, of mean and sum of squares V about it), with m and
 * Q the sum of Phat and of Phat^2 over the others, the mass and the norm are
 *
 *     alpha s (n omega - sum_I x) = m,    kappa^2 sum_r u_r^2 V_r + sum_r (m_r^2 / n_r + Q_r) / alpha_r^2 =
 * beta^2
 *
 * which gives omega and kappa in closed form. One pass over the entries finds I at the last (omega, kappa)
 * and makes new ones of it, until I stays. From the set of all entries on I only shrinks, kappa rises and
 * omega falls: clipping an entry lowers omega, so that what was clipped stays so, and lowers the norm at the
 * same kappa. So a start from there always ends. A start from an old answer may not, but when it does the
 * answer is the same. With the step given the same holds for omega alone.
 */
#include "adversary/rows/lmo_internal.h"

#include <float.h>
#include <math.h>

enum { WARM_LIMIT = 8, COLD_LIMIT = 2000 };

#define COUNT_ALL 0.0 /* the slope at which no entry is clipped */

/* Of all states below omega, along the order, and of the entries that the row has above it. */
static nadir_lmo_l2_sums add_order(const nadir_lmo *rows, const nadir_lmo_row_view *view, double omega,
                                   double slope)
{
    const nadir_value_order_sums below = nadir_value_order_below(rows->order, omega);
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

/* What a row brings into the closed forms: sums at the omega and the step of its answer. */
typedef struct piece {
    double n, moved, squares;
    double change; /* of omega against the pass before; 0 when I is the same and the mass is right */
    double first, second, lost, margin; /* margin 0: not known */
} piece;
_Static_assert(sizeof(piece) == NADIR_LMO_PIECE_SIZE * sizeof(double), "a piece is an array of numbers");

/* The level at which the mass is right; omega: of the sums. */
static double level(const piece *at, double omega, double slope)
{
    const double mean = at->n > 0 ? omega + at->first / at->n : 0;
    return at->moved > 0 ? mean + at->moved / (at->n * slope) : mean;
}

/* V. Where it is lost in rounding a little more is taken: kappa comes out too small, and the next pass
 * measures from closer by. */
static double variance_of(const piece *at)
{
    const double variance = at->n > 0 ? at->second - at->first * (at->first / at->n) : 0;
    return fmax(variance, 4 * DBL_EPSILON * at->second);
}

/* What comes of the sums at answer->omega and the slope, alpha s; the answer gets gain and norm of that
 * point. */
static void take_sums(const nadir_lmo_row_view *view, double slope, const nadir_lmo_l2_sums *sums, piece *at,
                      nadir_lmo_solution *answer)
{
    const bool same = sums->n == at->n && sums->moved == at->moved && sums->squares == at->squares;
    const double excess = fabs(slope * sums->first + sums->moved);
    at->change = same && excess <= NADIR_LMO_MASS_ROUNDING ? 0 : fmax(at->change, DBL_MIN);
    at->n = sums->n;
    at->moved = sums->moved;
    at->squares = sums->squares;
    at->first = sums->first;
    at->second = sums->second;
    at->lost = sums->lost;
    at->margin = sums->margin;
    answer->gain = slope * sums->second + sums->lost;
    answer->norm = sqrt(slope * slope * sums->second + sums->squares) / view->alpha;
}

/* A pass over the entries of a row. */
static void visit_row(const nadir_lmo *rows, const nadir_lmo_row_view *view, double slope, piece *at,
                      nadir_lmo_solution *answer)
{
    const nadir_lmo_l2_sums sums = view->spread ? add_order(rows, view, answer->omega, slope)
                                                : nadir_lmo_l2_sum_row(view, answer->omega, slope);
    take_sums(view, slope, &sums, at, answer);
}

/*
 * The sums at answer->omega and the slope without a pass, where I cannot have changed since the last one, at
 * omega and another slope: no
 * Phat - slope d has changed by more than |slope' - slope| max |d| + slope' |omega' - omega|, x being in [0,
 * 1].
 */
static bool move_sums(const nadir_lmo_row_view *view, double omega, double other, double slope, piece *at,
                      nadir_lmo_solution *answer)
{
    const double fall = answer->omega - omega;
    const double reach = fmax(fabs(omega), fabs(1 - omega));
    const double moved = fabs(slope - other) * reach + slope * fabs(fall);
    const double rounding = 16 * DBL_EPSILON * (1 + slope * (reach + fabs(fall)));
    if (!(moved + rounding < at->margin)) {
        return false;
    }
    const nadir_lmo_l2_sums sums = {.n = at->n,
                                    .first = at->first - at->n * fall,
                                    .second = at->second - fall * (2 * at->first - at->n * fall),
                                    .moved = at->moved,
                                    .squares = at->squares,
                                    .lost = at->lost - fall * at->moved,
                                    .margin = at->margin - moved - rounding};
    take_sums(view, slope, &sums, at, answer);
    return true;
}

/* The mean over all allowed states: omega of the answer that clips nothing, and above that of any other. The
 * set of all nominal successors and of what lies below it contains every answer's. */
static double start_level(const nadir_lmo *rows, const nadir_lmo_row_view *view)
{
    if (rows->domain == NADIR_DOMAIN_SIMPLEX) {
        const int64_t last = rows->order->states - 1;
        return rows->order->sorted[last] - rows->order->first[last] / (double)rows->order->states;
    }
    double sum = 0;
    for (int64_t i = 0; i < view->count; i++) {
        sum += view->x[i];
    }
    return sum / (double)view->count;
}

void nadir_lmo_l2_row(const nadir_lmo *rows, const nadir_lmo_row_view *view, nadir_lmo_solution *answer)
{
    const double slope = view->alpha * answer->step;
    piece at = {.change = INFINITY};
    visit_row(rows, view, slope, &at, answer);
    if (!(at.n > 0)) {
        answer->omega = start_level(rows, view);
        visit_row(rows, view, COUNT_ALL, &at, answer);
    }
    /* The mass is convex in omega: from the second on, levels fall to the root. */
    for (int i = 0; i < COLD_LIMIT; i++) {
        const double next = level(&at, answer->omega, slope);
        const bool falls = next < answer->omega;
        at.change = fabs(next - answer->omega);
        answer->omega = next;
        visit_row(rows, view, slope, &at, answer);
        if (at.change == 0 || (i > 1 && !falls)) {
            break;
        }
    }
    answer->upper = answer->omega;
    answer->share = 0;
}

/* One pass over the rows of a group. */
typedef struct pass {
    double kappa;
    bool started;          /* pieces hold the sets of the pass before */
    bool cold;             /* not started: from all entries, rather than from the answers */
    nadir_lmo_l2_sums all; /* cold: of all states, which are those of every row that has them all */
} pass;

/* About start_level, nothing clipped. */
static nadir_lmo_l2_sums add_states(const nadir_lmo *rows, double omega)
{
    nadir_lmo_l2_sums sums = {.n = (double)rows->order->states};
    for (int64_t s = 0; s < rows->order->states; s++) {
        const double d = rows->order->x[s] - omega;
        sums.first += d;
        sums.second += d * d;
    }
    return sums;
}

static void visit(const nadir_lmo_group *group, int64_t row, double *room, void *data)
{
    const pass *now = data;
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(group->rows, row, room);
    piece *at = (piece *)group->scratch + (row - group->first);
    nadir_lmo_solution *answer = &group->answers[row - group->first];
    const double omega = answer->omega; /* of the pass before, and its slope */
    const double other = view.alpha * answer->step;
    answer->step = now->kappa * nadir_lmo_group_weight(group, row);
    answer->share = 0;
    double slope = view.alpha * answer->step;
    if (now->started) {
        const double next = level(at, omega, slope);
        at->change = fabs(next - answer->omega);
        answer->omega = next;
    } else {
        *at = (piece){.change = INFINITY};
        answer->omega = now->cold ? start_level(group->rows, &view) : answer->omega;
        slope = now->cold ? COUNT_ALL : slope;
    }
    answer->upper = answer->omega;
    const bool full = group->rows->domain == NADIR_DOMAIN_SIMPLEX && view.count == group->rows->order->states;
    if (now->cold && !now->started && full) {
        take_sums(&view, slope, &now->all, at, answer);
        return;
    }
    if (now->started && move_sums(&view, omega, other, slope, at, answer)) {
        return;
    }
    visit_row(group->rows, &view, slope, at, answer);
}

/* sum_r u_r^2 V_r, the rest of beta^2, and the largest change of a level. */
static bool add_pieces(const nadir_lmo_group *group, double *variance, double *left, double *change)
{
    const piece *pieces = (const piece *)group->scratch;
    double spent = 0;
    double empty = 0; /* rows without an entry that is positive */
    *variance = 0;
    *change = 0;
    for (int64_t i = 0; i < group->moving_count; i++) {
        const int64_t row = group->moving[i];
        const double share = nadir_lmo_group_weight(group, row);
        const piece *at = &pieces[row - group->first];
        if (!(at->n > 0)) {
            empty = 1;
            break;
        }
        const double alpha = nadir_lmo_scale(group->rows, row);
        const double moved = at->moved / alpha;
        *variance += share * share * variance_of(at);
        spent += moved * moved / at->n + at->squares / alpha / alpha;
        *change = fmax(*change, at->change);
    }
    *variance = nadir_lmo_group_sum(group, *variance);
    *change = nadir_lmo_group_largest(group, *change);
    *left = group->beta * group->beta - nadir_lmo_group_sum(group, spent);
    return nadir_lmo_group_largest(group, empty) == 0 && *left > 0 && *variance > 0;
}

/* Passes until no set changes; false when that does not happen, or the closed forms have no answer. */
static bool iterate(const nadir_lmo_group *group, pass *now, int limit)
{
    double variance;
    double left;
    double change;
    double before = INFINITY;
    for (int i = 0; i < limit; i++) {
        nadir_lmo_group_run(group, visit, now);
        if (!add_pieces(group, &variance, &left, &change)) {
            return false;
        }
        const double excess = fabs(now->kappa * now->kappa * variance - left);
        const bool exact = change == 0 && excess <= NADIR_LMO_MASS_ROUNDING * group->beta * group->beta;
        const bool still = change <= NADIR_LMO_LEVEL_ROUNDING &&
                           fabs(now->kappa - before) <= NADIR_LMO_LEVEL_ROUNDING * before;
        if (now->started && (exact || still)) {
            return true;
        }
        before = now->kappa;
        now->kappa = sqrt(left / variance);
        now->started = true;
    }
    return false;
}

static void visit_fixed(const nadir_lmo_group *group, int64_t row, double *room, void *data)
{
    const pass *now = data;
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(group->rows, row, room);
    nadir_lmo_solution *answer = &group->answers[row - group->first];
    answer->step = now->kappa * nadir_lmo_group_weight(group, row);
    nadir_lmo_l2_row(group->rows, &view, answer);
}

nadir_lmo_common nadir_lmo_l2(const nadir_lmo_group *group, double start)
{
    pass now = {.kappa = start};
    if (start > 0 && iterate(group, &now, WARM_LIMIT)) {
        return (nadir_lmo_common){now.kappa, 1 / (2 * now.kappa)};
    }
    if (nadir_lmo_group_is_inactive(group)) {
        return (nadir_lmo_common){INFINITY, 0};
    }
    const nadir_lmo_row_view all = {0};
    now = (pass){.cold = true};
    if (group->rows->domain == NADIR_DOMAIN_SIMPLEX) {
        now.all = add_states(group->rows, start_level(group->rows, &all));
    }
    if (!iterate(group, &now, COLD_LIMIT)) {
        /* Only rounding keeps the passes from their end; kappa is at or below the answer. */
        nadir_lmo_group_run(group, visit_fixed, &now);
    }
    return (nadir_lmo_common){now.kappa, 1 / (2 * now.kappa)};
}
