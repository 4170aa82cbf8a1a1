/*
 * lmo_box.c: the linear minimisation oracle in a box, l <= X <= u; see lmo.h.
 *
 *     1 < p < inf   X = Phat + alpha change(omega - x), clipped to [l, u]. The mass rises with omega: Newton's method
 *                   within a bracket. Where the digits of omega do not suffice, solutions at both ends are mixed.
 *     p = 1         pairs of an entry that falls and one that rises, those of largest x_i - x_j first: as many as
 *                   the budget of lmo_l1_linf.c lasts. What is above omega falls to l, what is below `upper` rises to
 *                   u; a share of what is at omega falls, and what is at `upper` takes the rest.
 *     p = inf       every entry may rise by min(r, u - Phat) and fall by min(r, Phat - l): those below omega rise, those
 *                   above fall, and those at omega all rise or fall by one number, as far as they can: the smallest
 *                   change in every norm. r = infinity is the box alone.
 *
 * p = 2 has the closed forms of lmo_l2.c at a given set of clipped entries, where m and Q are now the sums of Phat - X
 * and of its square over these. But clipping at u raises omega: kappa is kept in a bracket, since the norm rises
 * with it. With weights of entries, n and the sums of d and d^2 count w^2 for an entry, and Q divides by it.
 */
#include "sets/lmo_internal.h"
#include "sets/lmo_lp_formulas.h"

#include <math.h>
#include <stdlib.h>

#define MASS_ROUNDING (32 * NADIR_ROUND_UNIT) /* of what moves, in a row; of beta^2 */
#define FAR_LEVEL     2.0                     /* above all x, which are at most 1 up to rounding */
#define AT_BOUND      1e-13                   /* an entry this near to a bound counts as there */
#define NO_STEP       1e-200                  /* a kappa at which hardly anything moves */

enum { LEVEL_LIMIT = 200, KAPPA_LIMIT = 200, GROWTH = 16, FEW = 6 };

/* ---- Writing ----------------------------------------------------------------------------------------- */

static inline double clip(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* X of an entry at a level, 1 < p < infinity. */
static double entry_at(double p, double step, double omega, double phat, double low, double high,
                       double alpha, double x)
{
    const double g = omega - x;
    if (p == 2) {
        return clip(phat + alpha * step * g, low, high);
    }
    const double change = alpha * nadir_lp_change(p, step, fabs(g));
    return clip(g < 0 ? phat - change : phat + change, low, high);
}

/* alpha of an entry, in steps: alpha w^2. */
static inline double reach_at(const nadir_lmo_row_view *view, int64_t i)
{
    return view->weight != NULL ? view->alpha * view->weight[i] * view->weight[i] : view->alpha;
}

static inline double low_at(const nadir_lmo_row_view *view, int64_t i)
{
    return nadir_lmo_row_view_low(view, i);
}

static inline double high_at(const nadir_lmo_row_view *view, int64_t i)
{
    return nadir_lmo_row_view_high(view, i);
}

/* How far an entry can go from Phat within r. */
static double rise_of(const nadir_lmo_row_view *view, int64_t i, double r)
{
    return fmin(fmax(high_at(view, i) - view->phat[i], 0), r);
}

static double fall_of(const nadir_lmo_row_view *view, int64_t i, double r)
{
    return fmin(fmax(view->phat[i] - low_at(view, i), 0), r);
}

static void write_l1(const nadir_lmo_solution *solution, const nadir_lmo_row_view *view, double *X)
{
    double given = 0;
    double room = 0; /* at the level that takes the rest */
    for (int64_t i = 0; i < view->count; i++) {
        const double x = view->x[i];
        const double part = x > solution->omega ? 1 : x == solution->omega ? solution->share : 0;
        given += part * fall_of(view, i, 1);
        given -= x < solution->upper ? rise_of(view, i, 1) : 0;
        room += x == solution->upper ? rise_of(view, i, 1) : 0;
    }
    const double rest = room > 0 ? clip(given / room, 0, 1) : 0;
    for (int64_t i = 0; i < view->count; i++) {
        const double x = view->x[i];
        const double falls = x > solution->omega ? 1 : x == solution->omega ? solution->share : 0;
        const double rises = x < solution->upper ? 1 : x == solution->upper ? rest : 0;
        X[i] = clip(view->phat[i] - falls * fall_of(view, i, 1) + rises * rise_of(view, i, 1),
                    low_at(view, i), high_at(view, i));
    }
}

static void write_linf(const nadir_lmo_solution *solution, double r, const nadir_lmo_row_view *view,
                       double *X)
{
    for (int64_t i = 0; i < view->count; i++) {
        const double x = view->x[i];
        const double wanted = x < solution->omega ? r : x > solution->omega ? -r : solution->upper;
        X[i] = clip(view->phat[i] + clip(wanted, -fall_of(view, i, r), rise_of(view, i, r)), low_at(view, i),
                    high_at(view, i));
    }
}

void nadir_lmo_box_write(const nadir_lmo *lmo, const nadir_lmo_solution *solution,
                         const nadir_lmo_row_view *view, double *X)
{
    const double p = lmo->p;
    const double share = solution->share;
    if (p == 1) {
        write_l1(solution, view, X);
        return;
    }
    if (isinf(p) || isinf(solution->step)) {
        write_linf(solution, view->alpha * solution->step, view, X);
        return;
    }
    for (int64_t i = 0; i < view->count; i++) {
        const double low = low_at(view, i);
        const double high = high_at(view, i);
        const double reach = reach_at(view, i);
        const double x = view->x[i];
        double value = entry_at(p, solution->step, solution->omega, view->phat[i], low, high, reach, x);
        if (share > 0) {
            const double other =
                entry_at(p, solution->step, solution->upper, view->phat[i], low, high, reach, x);
            value = clip((1 - share) * value + share * other, low, high);
        }
        X[i] = value;
    }
}

/* gain and norm of the solution, from its X. */
static void measure(const nadir_lmo *lmo, const nadir_lmo_row_view *view, nadir_lmo_solution *solution)
{
    double *change = view->scratch;
    nadir_lmo_box_write(lmo, solution, view, change);
    double gain = 0;
    for (int64_t i = 0; i < view->count; i++) {
        change[i] -= view->phat[i];
        gain -= change[i] * (view->x[i] - solution->omega);
        /* an entry of weight 0 does not change */
        change[i] /= change[i] != 0 && view->weight != NULL ? view->alpha * view->weight[i] : view->alpha;
    }
    solution->gain = fmax(gain, 0);
    solution->norm = nadir_norm_short(view->count, change, lmo->p);
}

/* ---- p = 1 and p = infinity -------------------------------------------------------------------------- */

/* An entry in the order of x. */
typedef struct ranked {
    double x;
    int64_t place;
} ranked;
_Static_assert(sizeof(ranked) == 2 * sizeof(double), "a list of entries is an array of numbers");

static int compare(const void *left, const void *right)
{
    const ranked *a = left;
    const ranked *b = right;
    return a->x < b->x ? -1 : a->x > b->x ? 1 : (a->place > b->place) - (a->place < b->place);
}

static const ranked *sort_entries(const nadir_lmo_row_view *view)
{
    ranked *list = (ranked *)(void *)view->scratch;
    for (int64_t i = 0; i < view->count; i++) {
        list[i] = (ranked){view->x[i], i};
    }
    qsort(list, (size_t)view->count, sizeof *list, compare);
    return list;
}

/* The next pair that moves: the largest entry that can still fall, and the smallest that can rise. */
typedef struct pairing {
    const nadir_lmo_row_view *view;
    const ranked *list;
    int64_t from, to;
    double left, room; /* of these two */
} pairing;

static double fall_at(const pairing *self, int64_t i)
{
    const int64_t place = self->list[i].place;
    return fall_of(self->view, place, 1);
}

static double rise_at(const pairing *self, int64_t i)
{
    const int64_t place = self->list[i].place;
    return rise_of(self->view, place, 1);
}

static pairing start_pairs(const nadir_lmo_row_view *view)
{
    pairing self = {.view = view, .list = sort_entries(view), .from = view->count - 1};
    self.left = fall_at(&self, self.from);
    self.room = rise_at(&self, self.to);
    return self;
}

/* Goes on to a pair with a rise and mass that moves; false: there is none. */
static bool find_pair(pairing *self, double *rise, double *mass)
{
    while (self->from > self->to && self->list[self->from].x > self->list[self->to].x) {
        if (!(self->left > 0)) {
            self->left = fall_at(self, --self->from);
        } else if (!(self->room > 0)) {
            self->room = rise_at(self, ++self->to);
        } else {
            *rise = self->list[self->from].x - self->list[self->to].x;
            *mass = fmin(self->left, self->room);
            return true;
        }
    }
    return false;
}

static void take_pair(pairing *self, double mass)
{
    self->left -= mass;
    self->room -= mass;
}

int64_t nadir_lmo_box_l1_pairs(const nadir_lmo_row_view *view, double *pairs)
{
    int64_t count = 0;
    double rise;
    double mass;
    for (pairing next = start_pairs(view); find_pair(&next, &rise, &mass); take_pair(&next, mass)) {
        pairs[2 * count] = rise;
        pairs[2 * count + 1] = mass;
        count++;
    }
    return count;
}

void nadir_lmo_box_l1_row(const nadir_lmo_row_view *view, double scale, double threshold, double share,
                          nadir_lmo_solution *solution)
{
    double rise;
    double mass;
    double tied = 0;
    double moved = 0;
    double gain = 0;
    double above = 0;
    double at = 0;
    pairing next = start_pairs(view);
    for (pairing all = next; find_pair(&all, &rise, &mass) && scale * rise >= threshold;
         take_pair(&all, mass)) {
        tied += scale * rise == threshold ? mass : 0;
    }
    for (double left = share * tied; find_pair(&next, &rise, &mass); take_pair(&next, mass)) {
        mass = scale * rise > threshold ? mass : scale * rise == threshold ? fmin(mass, left) : 0;
        if (!(mass > 0)) {
            break;
        }
        left -= scale * rise > threshold ? 0 : mass;
        moved += mass;
        gain += mass * rise;
    }
    solution->omega = next.list[next.from].x; /* of what is left */
    solution->upper = next.list[next.to].x;
    for (int64_t i = 0; i < view->count; i++) {
        const double falls = fall_of(view, i, 1);
        above += view->x[i] > solution->omega ? falls : 0;
        at += view->x[i] == solution->omega ? falls : 0;
    }
    solution->share = at > 0 ? clip((moved - above) / at, 0, 1) : 0;
    solution->gain = gain;
    solution->norm = 2 * moved / view->alpha;
}

/* The smallest level at which what is there or below can rise by as much as what is above can fall. */
static double find_pivot(const nadir_lmo_row_view *view, double r)
{
    const ranked *list = sort_entries(view);
    double up = 0;
    double down = 0;
    for (int64_t i = 0; i < view->count; i++) {
        down += fall_of(view, i, r);
    }
    for (int64_t i = 0; i < view->count; i++) {
        const int64_t place = list[i].place;
        up += rise_of(view, place, r);
        down -= fall_of(view, place, r);
        if (up >= down && (i + 1 == view->count || list[i + 1].x > list[i].x)) {
            return list[i].x;
        }
    }
    return view->count > 0 ? list[view->count - 1].x : 0;
}

/* The t with sum of min(t, room) = amount over the entries at a level; sum of room >= amount > 0. rising: the room
 * to rise, else to fall. Rises to it, since the sum is concave. */
static double fill_level(const nadir_lmo_row_view *view, double r, double omega, bool rising, double amount)
{
    double t = 0;
    for (int64_t tries = 0; tries <= view->count; tries++) {
        double sum = 0;
        double open = 0;
        for (int64_t i = 0; i < view->count; i++) {
            if (view->x[i] == omega) {
                const double room = rising ? rise_of(view, i, r) : fall_of(view, i, r);
                sum += fmin(t, room);
                open += room > t ? 1 : 0;
            }
        }
        if (!(open > 0 && amount > sum)) {
            break;
        }
        t += (amount - sum) / open;
    }
    return t;
}

/* omega, and the change of what is at it, which is `upper`. Returns |g1|_1. */
static double balance(const nadir_lmo_row_view *view, double r, nadir_lmo_solution *solution)
{
    const double omega = find_pivot(view, r);
    double left = 0; /* what falls, less what rises */
    double size = 0;
    for (int64_t i = 0; i < view->count; i++) {
        const double rise = rise_of(view, i, r);
        const double fall = fall_of(view, i, r);
        const double d = view->x[i] - omega;
        left += d > 0 ? fall : d < 0 ? -rise : 0;
        size += d > 0 && fall >= r ? d : d < 0 && rise >= r ? -d : 0;
    }
    solution->omega = omega;
    solution->share = 0;
    solution->upper =
        left > 0 ? fill_level(view, r, omega, true, left) : -fill_level(view, r, omega, false, -left);
    return size;
}

void nadir_lmo_box_linf_row(const nadir_lmo_row_view *view, double radius, nadir_lmo_solution *solution,
                            double *size)
{
    const nadir_lmo lmo = {.p = INFINITY};
    solution->step = radius;
    *size = balance(view, view->alpha * radius, solution);
    measure(&lmo, view, solution);
}

void nadir_lmo_box_concentrate(const nadir_lmo *lmo, const nadir_lmo_row_view *view,
                               nadir_lmo_solution *solution)
{
    *solution = (nadir_lmo_solution){.step = INFINITY};
    if (lmo->p == 1) {
        nadir_lmo_box_l1_row(view, 1, 0, 0, solution);
        return;
    }
    (void)balance(view, INFINITY, solution);
    measure(lmo, view, solution);
}

/* ---- 1 < p < infinity -------------------------------------------------------------------------------- */

/* Sums over the entries of a row at a level, d = x - omega; with weights w^2 of each. */
typedef struct box_sums {
    double n, first, second; /* of entries that are not clipped: how many, sums of d and of d^2 */
    double moved, squares;   /* sums of Phat - X and of its square (over w^2) over the others, */
    double lost;             /* and of Phat - X times d */
    double excess, rate;     /* sum of X - Phat, and its derivative in omega */
    double size; /* what rounding of the excess is measured against: sum of |X - Phat|; p = 2: 1 */
} box_sums;

static box_sums sum_square(const nadir_lmo_row_view *view, double step, double omega)
{
    box_sums sums = {0};
    for (int64_t i = 0; i < view->count; i++) {
        const double d = view->x[i] - omega;
        const double phat = view->phat[i];
        const double low = low_at(view, i);
        const double high = high_at(view, i);
        const double square = view->weight != NULL ? view->weight[i] * view->weight[i] : 1;
        const double free = phat - step * reach_at(view, i) * d;
        if (free >= low && free <= high) {
            sums.n += square;
            sums.first += square * d;
            sums.second += square * d * d;
        } else {
            const double gone = phat - (free < low ? low : high);
            sums.moved += gone;
            sums.squares += gone * gone / square;
            sums.lost += gone * d;
        }
    }
    sums.size = 1; /* mass is right to a rounding of the row */
    sums.excess = -(step * view->alpha * sums.first + sums.moved);
    sums.rate = step * view->alpha * sums.n;
    return sums;
}

static box_sums sum_power(double p, const nadir_lmo_row_view *view, double step, double omega)
{
    box_sums sums = {0};
    for (int64_t i = 0; i < view->count; i++) {
        const double low = low_at(view, i);
        const double high = high_at(view, i);
        const double X = entry_at(p, step, omega, view->phat[i], low, high, view->alpha, view->x[i]);
        const double change = X - view->phat[i];
        const double d = fabs(view->x[i] - omega);
        sums.excess += change;
        sums.size += fabs(change);
        sums.rate += X > low && X < high && d > 0 ? fabs(change) / d / (p - 1) : 0;
    }
    return sums;
}

static box_sums sum_at(double p, const nadir_lmo_row_view *view, double step, double omega)
{
    return p == 2 ? sum_square(view, step, omega) : sum_power(p, view, step, omega);
}

/* omega, upper and share at the solution's step; returns the sums at omega. */
static box_sums find_level(double p, const nadir_lmo_row_view *view, nadir_lmo_solution *solution)
{
    double low = 0;
    double high = FAR_LEVEL;
    double above = INFINITY; /* the excess at high */
    double width = INFINITY; /* some tries ago */
    double omega = solution->omega;
    box_sums sums = {0};
    if (!(omega > low && omega < high)) {
        omega = nadir_vector_sum(view->count, view->x) / (double)view->count;
    }
    solution->share = 0;
    for (int i = 0; i < LEVEL_LIMIT; i++) {
        sums = sum_at(p, view, solution->step, omega);
        if (fabs(sums.excess) <= MASS_ROUNDING * sums.size) {
            solution->omega = omega;
            solution->upper = omega;
            return sums;
        }
        *(sums.excess < 0 ? &low : &high) = omega;
        above = sums.excess < 0 ? above : sums.excess;
        const double middle = low + (high - low) / 2;
        if (!(middle > low && middle < high)) {
            break;
        }
        bool slow = false;
        if (i % 3 == 2) {
            slow = high - low > width / 2;
            width = high - low;
        }
        const double newton = sums.rate > 0 ? omega - sums.excess / sums.rate : NAN;
        omega = !slow && newton > low && newton < high ? newton : middle;
    }
    above = isfinite(above) ? above
                            : sum_at(p, view, solution->step, high).excess; /* an end that was never tried */
    sums = sum_at(p, view, solution->step, low);
    solution->omega = low;
    solution->upper = high;
    solution->share = sums.excess < 0 ? sums.excess / (sums.excess - above) : 0;
    return sums;
}

void nadir_lmo_box_row(const nadir_lmo *lmo, const nadir_lmo_row_view *view, nadir_lmo_solution *solution)
{
    (void)find_level(lmo->p, view, solution);
    measure(lmo, view, solution);
}

/* ---- Rows that share a budget, p = 2 ----------------------------------------------------------------- */

/* What a row adds to the closed form. */
typedef struct box_piece {
    double variance; /* u^2 V of what is not clipped */
    double spent;    /* the square of what does not depend on kappa */
} box_piece;
_Static_assert(sizeof(box_piece) <= NADIR_LMO_PIECE_SIZE * sizeof(double), "a piece is an array of numbers");

static void solve_row(const nadir_lmo_group *group, int64_t row, double *work, void *data)
{
    const double kappa = *(const double *)data;
    const nadir_lmo *lmo = group->lmo;
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(lmo, row, work);
    nadir_lmo_solution *solution = &group->solutions[row - group->first];
    box_piece *piece = (box_piece *)(void *)group->scratch + (row - group->first);
    const double u = nadir_lmo_group_weight(group, row);
    solution->step = kappa * u;
    const box_sums sums = find_level(2, &view, solution);
    const double slope = view.alpha * solution->step;
    const double variance = sums.n > 0 ? sums.second - sums.first * (sums.first / sums.n) : 0;
    const double moved = sums.moved / view.alpha;
    *piece = (box_piece){.variance = u * u * fmax(variance, nadir_round_error(8) * sums.second),
                         .spent = sums.squares / view.alpha / view.alpha +
                                  (sums.n > 0 ? moved * moved / sums.n : 0)};
    if (solution->share > 0) {
        measure(lmo, &view, solution);
        return;
    }
    solution->gain = fmax(slope * sums.second + sums.lost, 0);
    solution->norm = sqrt(slope * slope * sums.second + sums.squares) / view.alpha;
}

/* sqrt((beta^2 - spent) / variance) of the pieces; NaN: there is no such number. */
static double next_kappa(const nadir_lmo_group *group)
{
    const box_piece *pieces = (const box_piece *)(const void *)group->scratch;
    double variance = 0;
    double spent = 0;
    for (int64_t i = 0; i < group->moving_count; i++) {
        variance += pieces[group->moving[i] - group->first].variance;
        spent += pieces[group->moving[i] - group->first].spent;
    }
    const double left = group->beta * group->beta - spent;
    return left > 0 && variance > 0 ? sqrt(left / variance) : NAN;
}

/* The kappa of norm = beta, from below, from a guess; solutions are those of it. False: so many tries stayed within the
 * budget; *kappa is the largest of them. */
static bool find_kappa(const nadir_lmo_group *group, double guess, int tries, double *kappa)
{
    const double beta = group->beta;
    double low = 0;
    double high = INFINITY;
    *kappa = guess;
    for (int i = 0; i < KAPPA_LIMIT; i++) {
        nadir_lmo_group_run(group, solve_row, kappa);
        const double norm = nadir_lmo_group_norm(group);
        if (fabs(norm - beta) <= MASS_ROUNDING / 2 * beta) {
            return true;
        }
        *(norm < beta ? &low : &high) = *kappa;
        if (isinf(high) && i >= tries) {
            return false;
        }
        const double closed = next_kappa(group);
        const double other = isinf(high) ? GROWTH * low : low > 0 ? sqrt(low) * sqrt(high) : high / GROWTH;
        const double next = closed > low && closed < high && i % 8 != 7 ? closed : other;
        if (!(next > low && next < high)) {
            break;
        }
        *kappa = next;
    }
    *kappa = low;
    nadir_lmo_group_run(group, solve_row, kappa);
    return true;
}

/* Whether the budget lasts for everything takes sorting all rows: it is asked where steps do not use it up. */
nadir_lmo_common nadir_lmo_box_l2(const nadir_lmo_group *group, double start)
{
    double kappa;
    if (!find_kappa(group, start > 0 ? start : NO_STEP, FEW, &kappa)) {
        if (nadir_lmo_group_is_inactive(group)) {
            return (nadir_lmo_common){INFINITY, 0};
        }
        (void)find_kappa(group, kappa, NADIR_LP_BRACKET_LIMIT, &kappa);
    }
    return kappa > 0 ? (nadir_lmo_common){kappa, 1 / (2 * kappa)} : (nadir_lmo_common){0, 0};
}

/* ---- Levels of given rows ---------------------------------------------------------------------------------- */

double nadir_lmo_box_level(int64_t count, const double *g, const double *X, const double *lower,
                           const double *upper)
{
    double sum = 0;
    double inside = 0;
    double low = -INFINITY; /* of what is at u, which should cost no more than omega, */
    double high = INFINITY; /* and of what is at l */
    for (int64_t i = 0; i < count; i++) {
        const bool falls = X[i] - lower[i] > AT_BOUND;
        const bool rises = upper[i] - X[i] > AT_BOUND;
        sum += falls && rises ? g[i] : 0;
        inside += falls && rises ? 1 : 0;
        low = falls && !rises && g[i] > low ? g[i] : low;
        high = rises && !falls && g[i] < high ? g[i] : high;
    }
    return inside > 0       ? sum / inside
           : !isfinite(low) ? (isfinite(high) ? high : 0)
                            : (isfinite(high) ? low / 2 + high / 2 : low);
}
