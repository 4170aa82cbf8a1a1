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
#include "adversary/rows/parts.h"

#include <float.h>
#include <math.h>

enum { WARM_LIMIT = 12, COLD_LIMIT = 2000 };

#define LEVEL_ROUNDING (4 * DBL_EPSILON)
#define MASS_ROUNDING  (16 * DBL_EPSILON)
#define COUNT_ALL      (-1.0) /* a slope at which no entry is clipped */

/* What a pass over the entries of a row finds. */
typedef struct quadratic_sums {
    double n;       /* positive entries */
    double first;   /* sum of d over them */
    double second;  /* sum of d^2 */
    double moved;   /* m: sum of Phat over the others */
    double squares; /* Q */
    double lost;    /* sum of Phat d over the others */
} quadratic_sums;

/* Of the entries that a row has itself; with `least` = 0 without those below omega, which are counted along
 * the order. Four sums at once, always in the same order. */
static quadratic_sums add_entries(const nadir_row_view *view, double omega, double slope, double least)
{
    enum { LANES = 4 };
    double n[LANES] = {0};
    double first[LANES] = {0};
    double second[LANES] = {0};
    double moved[LANES] = {0};
    double squares[LANES] = {0};
    double lost[LANES] = {0};
    const double *phat = view->phat;
    const double *x = view->x;
    for (int64_t i = 0; i < view->count; i += LANES) {
        const int64_t lanes = view->count - i < LANES ? view->count - i : LANES;
        for (int64_t lane = 0; lane < lanes; lane++) {
            const double d = x[i + lane] - omega;
            const bool positive = (phat[i + lane] - slope * d > 0) | (d < 0);
            const bool counted = positive & (d >= least);
            const double kept = counted ? d : 0;
            const double gone = positive ? 0 : phat[i + lane];
            n[lane] += counted ? 1 : 0;
            first[lane] += kept;
            second[lane] += kept * kept;
            moved[lane] += gone;
            squares[lane] += gone * gone;
            lost[lane] += gone * d;
        }
    }
    return (quadratic_sums){
        (n[0] + n[1]) + (n[2] + n[3]),
        (first[0] + first[1]) + (first[2] + first[3]),
        (second[0] + second[1]) + (second[2] + second[3]),
        (moved[0] + moved[1]) + (moved[2] + moved[3]),
        (squares[0] + squares[1]) + (squares[2] + squares[3]),
        (lost[0] + lost[1]) + (lost[2] + lost[3]),
    };
}

/* slope: alpha s. */
static quadratic_sums sum_row(const nadir_rows *rows, const nadir_row_view *view, double omega, double slope)
{
    quadratic_sums sums = add_entries(view, omega, slope, view->spread ? 0 : -INFINITY);
    if (view->spread) {
        const nadir_below below = nadir_order_below(rows->order, omega);
        sums.n += (double)below.count;
        sums.first -= below.first;
        sums.second += below.second;
    }
    return sums;
}

/* What a row brings into the closed forms. */
typedef struct piece {
    double n, moved, squares;
    double mean;     /* of x over I */
    double variance; /* V */
    double change;   /* of omega against the pass before; 0 when I is the same and the mass is right */
} piece;
_Static_assert(sizeof(piece) == NADIR_ROW_PIECE * sizeof(double), "a piece is an array of numbers");

static double level(const piece *at, double slope)
{
    return at->moved > 0 ? at->mean + at->moved / (at->n * slope) : at->mean;
}

/* A pass at answer->omega and the slope; the answer gets gain and norm of that point. Where V is lost in
 * rounding a little more is taken: kappa comes out too small, and the next pass measures from closer by. */
static void visit_row(const nadir_rows *rows, const nadir_row_view *view, double slope, piece *at,
                      nadir_row_answer *answer)
{
    const double omega = answer->omega;
    const quadratic_sums sums = sum_row(rows, view, omega, slope);
    const bool same = sums.n == at->n && sums.moved == at->moved && sums.squares == at->squares;
    const double excess = fabs(slope * sums.first + sums.moved);
    at->change = same && excess <= MASS_ROUNDING ? 0 : fmax(at->change, DBL_MIN);
    at->n = sums.n;
    at->moved = sums.moved;
    at->squares = sums.squares;
    at->mean = sums.n > 0 ? omega + sums.first / sums.n : 0;
    const double variance = sums.n > 0 ? sums.second - sums.first * (sums.first / sums.n) : 0;
    at->variance = fmax(variance, 4 * DBL_EPSILON * sums.second);
    answer->gain = slope * sums.second + sums.lost;
    answer->norm = sqrt(slope * slope * sums.second + sums.squares) / view->alpha;
}

/* The mean over all allowed states: omega of the answer that clips nothing, and above that of any other. The
 * set of all nominal successors and of what lies below it contains every answer's. */
static double start_level(const nadir_rows *rows, const nadir_row_view *view)
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

void nadir_rows_quadratic_row(const nadir_rows *rows, const nadir_row_view *view, nadir_row_answer *answer)
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
        const double next = level(&at, slope);
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
    bool started; /* pieces hold the sets of the pass before */
    bool cold;    /* not started: from all entries, rather than from the answers */
} pass;

static void visit(const nadir_row_group *group, int64_t row, double *room, void *data)
{
    const pass *now = data;
    const nadir_row_view view = nadir_row_view_make(group->rows, row, room);
    piece *at = (piece *)group->scratch + (row - group->first);
    nadir_row_answer *answer = &group->answers[row - group->first];
    answer->step = now->kappa * nadir_row_group_share(group, row);
    answer->share = 0;
    double slope = view.alpha * answer->step;
    if (now->started) {
        const double next = level(at, slope);
        at->change = fabs(next - answer->omega);
        answer->omega = next;
    } else {
        *at = (piece){.change = INFINITY};
        answer->omega = now->cold ? start_level(group->rows, &view) : answer->omega;
        slope = now->cold ? COUNT_ALL : slope;
    }
    answer->upper = answer->omega;
    visit_row(group->rows, &view, slope, at, answer);
}

/* sum_r u_r^2 V_r, the rest of beta^2, and the largest change of a level. */
static bool add_pieces(const nadir_row_group *group, double *variance, double *left, double *change)
{
    const piece *pieces = (const piece *)group->scratch;
    double spent = 0;
    *variance = 0;
    *change = 0;
    for (int64_t row = group->first; row < group->end; row++) {
        const double share = nadir_row_group_share(group, row);
        if (!(share > 0)) {
            continue;
        }
        const piece *at = &pieces[row - group->first];
        if (!(at->n > 0)) {
            return false;
        }
        const double alpha = nadir_rows_scale(group->rows, row);
        const double moved = at->moved / alpha;
        *variance += share * share * at->variance;
        spent += moved * moved / at->n + at->squares / alpha / alpha;
        *change = fmax(*change, at->change);
    }
    *left = group->beta * group->beta - spent;
    return *left > 0 && *variance > 0;
}

/* Passes until no set changes; false when that does not happen, or the closed forms have no answer. */
static bool iterate(const nadir_row_group *group, pass *now, int limit)
{
    double variance;
    double left;
    double change;
    double before = INFINITY;
    for (int i = 0; i < limit; i++) {
        nadir_row_group_run(group, visit, now);
        if (!add_pieces(group, &variance, &left, &change)) {
            return false;
        }
        const double excess = fabs(now->kappa * now->kappa * variance - left);
        const bool exact = change == 0 && excess <= MASS_ROUNDING * group->beta * group->beta;
        const bool still = change <= LEVEL_ROUNDING && fabs(now->kappa - before) <= LEVEL_ROUNDING * before;
        if (now->started && (exact || still)) {
            return true;
        }
        before = now->kappa;
        now->kappa = sqrt(left / variance);
        now->started = true;
    }
    return false;
}

static void visit_fixed(const nadir_row_group *group, int64_t row, double *room, void *data)
{
    const pass *now = data;
    const nadir_row_view view = nadir_row_view_make(group->rows, row, room);
    nadir_row_answer *answer = &group->answers[row - group->first];
    answer->step = now->kappa * nadir_row_group_share(group, row);
    nadir_rows_quadratic_row(group->rows, &view, answer);
}

nadir_row_common nadir_rows_quadratic(const nadir_row_group *group, double start)
{
    pass now = {.kappa = start};
    if (start > 0 && iterate(group, &now, WARM_LIMIT)) {
        return (nadir_row_common){now.kappa, 1 / (2 * now.kappa)};
    }
    nadir_row_group_settle(group);
    if (nadir_row_group_norm(group) <= group->beta) {
        return (nadir_row_common){INFINITY, 0};
    }
    now = (pass){.cold = true};
    if (!iterate(group, &now, COLD_LIMIT)) {
        /* Only rounding keeps the passes from their end; kappa is at or below the answer. */
        nadir_row_group_run(group, visit_fixed, &now);
    }
    return (nadir_row_common){now.kappa, 1 / (2 * now.kappa)};
}
