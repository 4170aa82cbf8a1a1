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
#include "linalg/threads.h"
#include "sets/lmo_internal.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* Changes of a level, and of the mass of a row, that are rounding. */
#define LEVEL_ROUNDING (8 * NADIR_ROUND_UNIT)
#define MASS_ROUNDING  (32 * NADIR_ROUND_UNIT)

/* Sums over the entries of a row about a level, d = x - omega. */
typedef struct l2_sums {
    double n;       /* positive entries: Phat - slope d >= 0 */
    double first;   /* sum of d over them */
    double second;  /* sum of d^2 */
    double moved;   /* m: sum of Phat over the others */
    double squares; /* Q: sum of Phat^2 over the others */
    double lost;    /* sum of Phat d over the others */
    double margin;  /* at most the smallest |Phat - slope d| */
} l2_sums;

/* Entries by fours, in the vector types of GCC and Clang: the order of the sums is the same on every
 * processor. Two fours at a time do not wait for each other. */
typedef double four __attribute__((vector_size(4 * sizeof(double))));
typedef int64_t four_mask __attribute__((vector_size(4 * sizeof(double))));

enum { FOUR = 4, LANES = 8 };

typedef struct four_sums {
    four n, first, second, moved, squares, lost, margin;
} four_sums;

/* An entry is positive, or at the edge of it, where Phat - slope d >= 0. */
#define ALWAYS static inline __attribute__((always_inline))
ALWAYS void add_four(four_sums *to, const double *phat, const double *x, double omega, double slope)
{
    four p;
    four d;
    memcpy(&p, phat, sizeof p);
    memcpy(&d, x, sizeof d);
    d -= omega;
    const four above = p - slope * d;
    const four_mask positive = above >= 0;
    const four_mask sign = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    const four distance = (four)((four_mask)above & sign);
    const four_mask nearer = distance < to->margin;
    const four one = {1, 1, 1, 1};
    const four kept = (four)((four_mask)d & positive);
    const four gone = (four)((four_mask)p & ~positive);
    to->n += (four)((four_mask)one & positive);
    to->first += kept;
    to->second += kept * d;
    to->moved += gone;
    to->squares += gone * gone;
    to->lost += gone * d;
    to->margin = (four)(((four_mask)distance & nearer) | ((four_mask)to->margin & ~nearer));
}

ALWAYS double join(const four *even, const four *odd)
{
    const four both = *even + *odd;
    return (both[0] + both[2]) + (both[1] + both[3]);
}

ALWAYS double join_least(const four *even, const four *odd)
{
    double least = INFINITY;
    for (int i = 0; i < FOUR; i++) {
        least = (*even)[i] < least ? (*even)[i] : least;
        least = (*odd)[i] < least ? (*odd)[i] : least;
    }
    return least;
}

/* The last lanes are filled with positive entries of d = 0, which only change the count. */
ALWAYS void add_all(const nadir_lmo_row_view *view, double omega, double slope, l2_sums *sums)
{
    const int64_t whole = view->count - view->count % LANES;
    const four far = {INFINITY, INFINITY, INFINITY, INFINITY};
    four_sums a = {.margin = far};
    four_sums b = {.margin = far};
    for (int64_t i = 0; i < whole; i += LANES) {
        add_four(&a, view->phat + i, view->x + i, omega, slope);
        add_four(&b, view->phat + i + FOUR, view->x + i + FOUR, omega, slope);
    }
    double filled = 0;
    if (whole < view->count) {
        double phat[LANES];
        double x[LANES];
        for (int64_t i = 0; i < LANES; i++) {
            phat[i] = whole + i < view->count ? view->phat[whole + i] : 1;
            x[i] = whole + i < view->count ? view->x[whole + i] : omega;
        }
        filled = (double)(whole + LANES - view->count);
        add_four(&a, phat, x, omega, slope);
        add_four(&b, phat + FOUR, x + FOUR, omega, slope);
    }
    *sums =
        (l2_sums){join(&a.n, &b.n) - filled,       join(&a.first, &b.first),     join(&a.second, &b.second),
                  join(&a.moved, &b.moved),        join(&a.squares, &b.squares), join(&a.lost, &b.lost),
                  join_least(&a.margin, &b.margin)};
}

#if defined __x86_64__
/* The same code for processors with registers for four doubles. */
__attribute__((target("avx2"))) static void add_entries_wide(const nadir_lmo_row_view *view, double omega,
                                                             double slope, l2_sums *sums)
{
    add_all(view, omega, slope, sums);
}
/* And for those with registers for masks. */
__attribute__((target("avx512vl,avx512dq"))) static void
add_entries_masked(const nadir_lmo_row_view *view, double omega, double slope, l2_sums *sums)
{
    add_all(view, omega, slope, sums);
}
#endif

static l2_sums sum_entries(const nadir_lmo_row_view *view, double omega, double slope)
{
    l2_sums sums;
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
        add_entries_masked(view, omega, slope, &sums);
        return sums;
    }
    if (__builtin_cpu_supports("avx2")) {
        add_entries_wide(view, omega, slope, &sums);
        return sums;
    }
#endif
    add_all(view, omega, slope, &sums);
    return sums;
}

/* ------------------------------------------------------------------------------------ solutions */

enum { WARM_LIMIT = 8, COLD_LIMIT = 2000, RISES = 3 };

#define NO_CLIPPING 0.0 /* the slope at which no entry is clipped */
#define FAR_LEVEL   2.0 /* above all x, which are at most 1 up to rounding */

/* Up to so many entries are added one by one, and have no margin. */
#define SHORT 16

/* Rows with a tail: over all states below omega, along the order, and over the row's own entries above it. */
static l2_sums sum_at(const nadir_lmo *lmo, const nadir_lmo_row_view *view, double omega, double slope)
{
    if (!view->off_support && view->count > SHORT) {
        return sum_entries(view, omega, slope);
    }
    l2_sums sums = {0};
    const bool counted = view->off_support && view->plain == NULL; /* own entries below omega */
    if (view->off_support) {
        const nadir_value_order_sums below = nadir_lmo_tail_below(lmo, view, omega);
        sums = (l2_sums){.n = (double)below.count, .first = -below.first, .second = below.second};
    }
    for (int64_t i = 0; i < view->count; i++) {
        const double d = view->x[i] - omega;
        if (counted && d < 0) {
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
    l2_sums sums;
    double change; /* of omega against the pass before; 0 when I is the same and the mass is right */
} piece;
_Static_assert(sizeof(piece) == NADIR_LMO_PIECE_SIZE * sizeof(double), "a piece is an array of numbers");

/* The level at which the mass is right; omega: of the sums. */
static double next_level(const l2_sums *sums, double omega, double slope)
{
    const double mean = sums->n > 0 ? omega + sums->first / sums->n : 0;
    return sums->moved > 0 ? mean + sums->moved / (sums->n * slope) : mean;
}

/* V, or a little more where rounding cancels it: kappa comes out too small, and the next pass measures from
 * a nearer level. */
static double variance_of(const l2_sums *sums)
{
    const double variance = sums->n > 0 ? sums->second - sums->first * (sums->first / sums->n) : 0;
    return fmax(variance, nadir_round_error(8) * sums->second);
}

/* By how much the mass is off. */
static double mass_error(const l2_sums *sums, double slope)
{
    return fabs(slope * sums->first + sums->moved);
}

/* Phat . x - X . x, and |Delta|_2. */
static double gain_of(const l2_sums *sums, double slope)
{
    return slope * sums->second + sums->lost;
}

static double norm_of(const l2_sums *sums, double slope)
{
    return sqrt(slope * slope * sums->second + sums->squares);
}

/* Stores the sums at solution->omega and the slope, alpha s; the solution gets gain and norm there. */
static void store_sums(double alpha, double slope, const l2_sums *sums, piece *stored,
                       nadir_lmo_solution *solution)
{
    const bool same = sums->n == stored->sums.n && sums->moved == stored->sums.moved &&
                      sums->squares == stored->sums.squares;
    const bool exact = same && mass_error(sums, slope) <= MASS_ROUNDING;
    stored->change = exact ? 0 : fmax(stored->change, DBL_MIN);
    stored->sums = *sums;
    solution->gain = gain_of(sums, slope);
    solution->norm = norm_of(sums, slope) / alpha;
}

/*
 * The sums at solution->omega and the slope without a pass, where I cannot have changed since the last one,
 * at omega and slope `other`: since x lies in [0, 1], no Phat - slope d has changed by more than
 * |slope' - slope| max |d| + slope' |omega' - omega|.
 */
static bool move_sums(double alpha, double omega, double other, double slope, piece *stored,
                      nadir_lmo_solution *solution)
{
    const double fall = solution->omega - omega;
    const double reach = fmax(fabs(omega), fabs(1 - omega));
    const double moved = fabs(slope - other) * reach + slope * fabs(fall);
    const double rounding = nadir_round_error(32) * (1 + slope * (reach + fabs(fall)));
    if (!(moved + rounding < stored->sums.margin)) {
        return false;
    }
    l2_sums sums = stored->sums;
    sums.first -= sums.n * fall;
    sums.second -= fall * (2 * stored->sums.first - sums.n * fall);
    sums.lost -= fall * sums.moved;
    sums.margin = sums.margin - moved - rounding;
    store_sums(alpha, slope, &sums, stored, solution);
    return true;
}

/* Whether every state is allowed in every row, with one x for all rows. */
static bool has_all_states(const nadir_lmo *lmo)
{
    return lmo->domain == NADIR_DOMAIN_SIMPLEX && lmo->costs == NULL && lmo->landing == 0;
}

/* The mean over the entries of a row, of this sum, and all states that it does not list, which are measured
 * from a level above all. */
__attribute__((noinline)) static double mean_with_others(const nadir_lmo *lmo, const nadir_lmo_row_view *view,
                                                         double sum)
{
    const nadir_value_order_sums others = nadir_lmo_others_below(lmo, view, FAR_LEVEL);
    return (sum + ((double)others.count * FAR_LEVEL - others.first)) / (double)(view->count + others.count);
}

/* The mean over all allowed states: omega of the solution that clips nothing, and an upper bound on any
 * other. The nominal successors and all states below it contain the set I of every solution. */
static double start_level(const nadir_lmo *lmo, const nadir_lmo_row_view *view)
{
    if (has_all_states(lmo)) {
        const int64_t last = lmo->order->states - 1;
        return lmo->order->sorted[last] - lmo->order->first[last] / (double)lmo->order->states;
    }
    double sum = 0;
    for (int64_t i = 0; i < view->count; i++) {
        sum += view->x[i];
    }
    return view->off_support ? mean_with_others(lmo, view, sum) : sum / (double)view->count;
}

/* Newton steps to the level at which the mass of a row is right at this slope, from *omega; returns the sums
 * there. The mass is convex in omega: from the second on, levels fall to the root, but for rounding. */
static l2_sums solve_level(const nadir_lmo *lmo, const nadir_lmo_row_view *view, double slope, double *omega)
{
    int rises = 0; /* a level near 0 falls too far by the rounding of the one before */
    l2_sums sums = sum_at(lmo, view, *omega, slope);
    if (!(sums.n > 0)) {
        *omega = start_level(lmo, view);
        sums = sum_at(lmo, view, *omega, slope);
    }
    for (int i = 0; i < COLD_LIMIT && mass_error(&sums, slope) > MASS_ROUNDING && rises <= RISES; i++) {
        const double next = next_level(&sums, *omega, slope);
        rises += !(next < *omega);
        *omega = next;
        sums = sum_at(lmo, view, next, slope);
    }
    return sums;
}

void nadir_lmo_l2_row(const nadir_lmo *lmo, const nadir_lmo_row_view *view, nadir_lmo_solution *solution)
{
    if (nadir_lmo_row_view_is_boxed(view)) {
        nadir_lmo_box_row(lmo, view, solution);
        return;
    }
    const double slope = view->alpha * solution->step;
    const l2_sums sums = solve_level(lmo, view, slope, &solution->omega);
    solution->gain = gain_of(&sums, slope);
    solution->norm = norm_of(&sums, slope) / view->alpha;
    solution->upper = solution->omega;
    solution->share = 0;
}

/* One pass over the rows of a group. */
typedef struct group_pass {
    double kappa;
    bool started; /* pieces hold the sums of the pass before */
    bool cold;    /* not started: from all entries, rather than from the solutions */
    l2_sums all;  /* cold: over all states, for rows that have them all */
} group_pass;

/* Over all states about start_level, nothing clipped. */
static l2_sums sum_states(const nadir_lmo *lmo, double omega)
{
    l2_sums sums = {.n = (double)lmo->order->states};
    for (int64_t s = 0; s < lmo->order->states; s++) {
        const double d = lmo->order->x[s] - omega;
        sums.first += d;
        sums.second += d * d;
    }
    return sums;
}

static void update_row(const nadir_lmo_group *group, const group_pass *pass, int64_t row, double *work)
{
    const nadir_lmo *lmo = group->lmo;
    piece *stored = (piece *)group->scratch + (row - group->first);
    nadir_lmo_solution *solution = &group->solutions[row - group->first];
    const double alpha = nadir_lmo_scale(lmo, row);
    const double omega = solution->omega; /* of the pass before, and its slope */
    const double other = alpha * solution->step;
    solution->step = pass->kappa * nadir_lmo_group_weight(group, row);
    solution->share = 0;
    double slope = alpha * solution->step;
    if (pass->started) {
        solution->omega = next_level(&stored->sums, omega, slope);
        solution->upper = solution->omega;
        stored->change = fabs(solution->omega - omega);
        if (move_sums(alpha, omega, other, slope, stored, solution)) {
            return;
        }
    }
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(lmo, row, work);
    if (!pass->started) {
        *stored = (piece){.change = INFINITY};
        solution->omega = pass->cold ? start_level(lmo, &view) : solution->omega;
        slope = pass->cold ? NO_CLIPPING : slope;
    }
    solution->upper = solution->omega;
    if (pass->cold && !pass->started && has_all_states(lmo) && view.count == lmo->order->states) {
        store_sums(alpha, slope, &pass->all, stored, solution);
        return;
    }
    const l2_sums sums = sum_at(lmo, &view, solution->omega, slope);
    store_sums(alpha, slope, &sums, stored, solution);
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
        const l2_sums *sums = &pieces[row - group->first].sums;
        if (!(sums->n > 0)) {
            empty = 1;
            break;
        }
        const double alpha = nadir_lmo_scale(group->lmo, row);
        *variance += u * u * variance_of(sums);
        if (sums->moved > 0) {
            const double moved = sums->moved / alpha;
            spent += moved * moved / sums->n + sums->squares / alpha / alpha;
        }
        *change = fmax(*change, pieces[row - group->first].change);
    }
    *variance = nadir_lmo_group_sum(group, *variance);
    *change = nadir_lmo_group_largest(group, *change);
    *left = group->beta * group->beta - nadir_lmo_group_sum(group, spent);
    return nadir_lmo_group_largest(group, empty) == 0 && *left > 0 && *variance > 0;
}

/* Over the rows that can move. */
static void update_rows(const nadir_lmo_group *group, const group_pass *pass)
{
    if (group->threads == 1) {
        for (int64_t i = 0; i < group->moving_count; i++) {
            update_row(group, pass, group->moving[i], group->work);
        }
        return;
    }
#pragma omp parallel for num_threads(group->threads) schedule(dynamic, 64)
    for (int64_t i = 0; i < group->moving_count; i++) {
        update_row(group, pass, group->moving[i], group->work + group->work_each * omp_get_thread_num());
    }
}

/* Passes until no set changes; false when that does not happen, or the closed forms have no solution. */
static bool iterate(const nadir_lmo_group *group, group_pass *pass, int limit)
{
    double variance;
    double left;
    double change;
    double last_kappa = INFINITY;
    for (int i = 0; i < limit; i++) {
        update_rows(group, pass);
        if (!add_pieces(group, &variance, &left, &change)) {
            return false;
        }
        const double excess = fabs(pass->kappa * pass->kappa * variance - left);
        const bool exact = change == 0 && excess <= MASS_ROUNDING * group->beta * group->beta;
        const bool still =
            change <= LEVEL_ROUNDING && fabs(pass->kappa - last_kappa) <= LEVEL_ROUNDING * last_kappa;
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

/* Rounding has kept the passes from their end. It may have carried kappa past the solution, where sets of two entries that are
 * nearly equal lose one of them: by bisection then. The norm rises with kappa, so that the low end is inside. */
static void solve_by_bisection(const nadir_lmo_group *group, group_pass *pass)
{
    enum { HALVINGS = 200 };
    double low = 0;
    double high = pass->kappa;
    nadir_lmo_group_run(group, solve_at_kappa, pass);
    if (!(nadir_lmo_group_norm(group) > group->beta * (1 + MASS_ROUNDING))) {
        return;
    }
    for (int i = 0; i < HALVINGS && high - low > LEVEL_ROUNDING * high; i++) {
        pass->kappa = low + (high - low) / 2;
        nadir_lmo_group_run(group, solve_at_kappa, pass);
        *(nadir_lmo_group_norm(group) > group->beta ? &high : &low) = pass->kappa;
    }
    pass->kappa = low;
    nadir_lmo_group_run(group, solve_at_kappa, pass);
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
    if (has_all_states(group->lmo)) {
        pass.all = sum_states(group->lmo, start_level(group->lmo, &all));
    }
    if (!iterate(group, &pass, COLD_LIMIT)) {
        solve_by_bisection(group, &pass);
    }
    return (nadir_lmo_common){pass.kappa, 1 / (2 * pass.kappa)};
}

/* ---------------------------------------------------------- all rows with nothing stored for a row
 *
 * The linear minimisation oracle with nothing stored for a row.
 *
 * With the closed forms of lmo_l2.c: at a given kappa each row is solved, from the set of all entries on,
 * whose level, the mean, is above the solution: levels fall to it. With the sets I of that kappa,
 *
 *     kappa'^2 sum_r u_r^2 V_r = beta^2 - sum_r (m_r^2 / n_r + Q_r) / alpha_r^2
 *
 * gives the next kappa, until it does not change. Since I shrinks as kappa grows, and the norm at a kappa is
 * less than with the I of a smaller one, kappa rises from 0 to its limit; from a warm start it mostly does
 * too, sooner. Solving a row in every pass takes less time than reading and writing its sums.
 */

/* States are split into so many parts, whatever the threads: sums do not depend on their number. */
enum { PARTS = 64 };
enum { STREAMED_WARM_LIMIT = 8, STREAMED_COLD_LIMIT = 100 };
/* beta^2 below this would underflow. */
#define SMALLEST_SQUARE (DBL_MIN / DBL_EPSILON)

bool nadir_lmo_streamed_applies(const nadir_lmo *lmo)
{
    return lmo->p == 2 && lmo->domain == NADIR_DOMAIN_SUPPORT && lmo->model->dense == NULL &&
           lmo->lower == NULL && lmo->weights == NULL;
}

/* Sums of a pass, over the rows of a part or all of them. */
typedef struct totals {
    double variance; /* sum of u^2 V */
    double spent;    /* sum of (m^2 / n + Q) / alpha^2 */
    double gain;     /* sum of w gain, in units of x */
    double square;   /* sum of (|Delta| / alpha)^2 */
    double failed;   /* 1: a row was not solved */
} totals;

typedef struct stream {
    const nadir_lmo *lmo;
    const nadir_lmo_weights *weights;
    nadir_lmo_streamed solution;
    double inverse; /* 1 / solution.unit */
    int threads;
    double *work; /* [threads * each] */
    int64_t each;
} stream;

static void add_row(const stream *self, int64_t row, double weight, double *work, totals *to)
{
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(self->lmo, row, work);
    const double alpha = view.alpha;
    const double u = alpha * weight * self->inverse;
    if (!(u > 0)) {
        return;
    }
    const double step = self->solution.kappa * u;
    const double slope = alpha * step;
    double omega = start_level(self->lmo, &view);
    const l2_sums sums = solve_level(self->lmo, &view, slope, &omega);
    to->variance += u * u * variance_of(&sums);
    to->gain += weight * gain_of(&sums, slope);
    to->square += step * step * sums.second;
    if (sums.moved > 0) {
        const double moved = sums.moved / alpha;
        const double squares = sums.squares / alpha / alpha;
        to->spent += moved * moved / sums.n + squares;
        to->square += squares;
    }
    if (!(sums.n > 0 && mass_error(&sums, slope) <= (double)(view.count + 4) * MASS_ROUNDING)) {
        to->failed = 1;
    }
}

static totals add_part(const stream *self, int part, double *work)
{
    const nadir_model *model = self->lmo->model;
    const int64_t end = model->states * (part + 1) / PARTS;
    totals all = {0};
    for (int64_t s = model->states * part / PARTS; s < end; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double weight = nadir_lmo_weight(self->weights, s, row);
            if (weight > 0) {
                add_row(self, row, weight, work, &all);
            }
        }
    }
    return all;
}

static totals add_rows(const nadir_context *global, const stream *self)
{
    totals parts[PARTS];
    totals all = {0};
#pragma omp parallel for num_threads(self->threads) schedule(dynamic, 1)
    for (int part = 0; part < PARTS; part++) {
        parts[part] = add_part(self, part, self->work + self->each * omp_get_thread_num());
    }
    for (int part = 0; part < PARTS; part++) {
        all.variance += parts[part].variance;
        all.spent += parts[part].spent;
        all.gain += parts[part].gain;
        all.square += parts[part].square;
        all.failed = fmax(all.failed, parts[part].failed);
    }
    if (global != NULL) {
        all.variance = nadir_allreduce_sum(global, all.variance);
        all.spent = nadir_allreduce_sum(global, all.spent);
        all.gain = nadir_allreduce_sum(global, all.gain);
        all.square = nadir_allreduce_sum(global, all.square);
        all.failed = nadir_allreduce_maximum(global, all.failed);
    }
    return all;
}

/* Passes from solution.kappa on until it does not change. *found: false when that does not happen, or the
 * closed form has no solution. */
static nadir_status iterate_streamed(nadir_context *context, stream *self, double beta, int limit,
                                     totals *all, bool *found)
{
    const nadir_context *global = self->lmo->model->exchange != NULL ? context : NULL;
    double last_kappa = 0;
    *found = false;
    for (int i = 0; i < limit && !*found; i++) {
        const double kappa = self->solution.kappa;
        *all = add_rows(global, self);
        NADIR_TRY(nadir_progress(context, "solving row problems", -1));
        const double left = beta * beta - all->spent;
        if (all->failed > 0 || !(left > 0 && all->variance > 0)) {
            break;
        }
        const bool exact = fabs(kappa * kappa * all->variance - left) <= MASS_ROUNDING * beta * beta;
        const bool still = fabs(kappa - last_kappa) <= LEVEL_ROUNDING * last_kappa;
        *found = kappa > 0 && (exact || still);
        last_kappa = kappa;
        self->solution.kappa = *found ? kappa : sqrt(left / all->variance);
    }
    return NADIR_OK;
}

/* The largest alpha w. */
static double find_unit(const nadir_lmo *lmo, const nadir_lmo_weights *weights)
{
    const nadir_model *model = lmo->model;
    double unit = 0;
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double reach = nadir_lmo_scale(lmo, row) * nadir_lmo_weight(weights, s, row);
            unit = reach > unit ? reach : unit;
        }
    }
    return unit;
}

nadir_status nadir_lmo_streamed_solve(nadir_context *context, const nadir_lmo *lmo,
                                      const nadir_lmo_weights *weights, double beta, double start,
                                      nadir_lmo_streamed *streamed, nadir_lmo_budget *budget, bool *found)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = lmo->model;
    const double range = lmo->order->range;
    const double within = beta * NADIR_LMO_INSIDE;
    totals all;
    stream self = {.lmo = lmo,
                   .weights = weights,
                   .each = nadir_lmo_longest_row(lmo, 0, model->rows),
                   .threads = nadir_threads_for(context, 4 * model->row_starts[model->rows])};
    double unit = find_unit(lmo, weights);
    unit = model->exchange != NULL ? nadir_allreduce_maximum(context, unit) : unit;
    *found = false;
    if (!(unit >= DBL_MIN && range > 0 && within * within > SMALLEST_SQUARE)) {
        goto cleanup;
    }
    NADIR_NEW(context, self.work, self.threads * self.each);
    self.solution = (nadir_lmo_streamed){.kappa = start * unit, .unit = unit};
    self.inverse = 1 / unit;
    if (start > 0 && isfinite(self.solution.kappa)) {
        NADIR_CHECK(iterate_streamed(context, &self, within, STREAMED_WARM_LIMIT, &all, found));
    }
    if (!*found) {
        self.solution.kappa = 0;
        NADIR_CHECK(iterate_streamed(context, &self, within, STREAMED_COLD_LIMIT, &all, found));
    }
    if (*found) {
        *streamed = self.solution;
        *budget = (nadir_lmo_budget){.tau = range * unit / (2 * streamed->kappa),
                                     .step = streamed->kappa / unit,
                                     .gain = all.gain * range,
                                     .norm = sqrt(all.square)};
    }
cleanup:
    nadir_release(context, self.work);
    return status;
}

/* work: as long as the row. */
static void write_streamed_row(const stream *self, int64_t row, double weight, double *work,
                               const nadir_perturbed *perturbed)
{
    const nadir_model *model = self->lmo->model;
    const double alpha = nadir_lmo_scale(self->lmo, row);
    const double slope = alpha * (self->solution.kappa * (alpha * weight * self->inverse));
    perturbed->nominal[row] = !(slope > 0);
    if (perturbed->nominal[row]) {
        return;
    }
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(self->lmo, row, work);
    double *values = perturbed->values + model->row_starts[row];
    double omega = start_level(self->lmo, &view);
    (void)solve_level(self->lmo, &view, slope, &omega);
    for (int64_t i = 0; i < view.count; i++) {
        const double value = view.phat[i] + slope * (omega - view.x[i]);
        values[i] = value > 0 ? value : 0;
    }
}

nadir_status nadir_lmo_streamed_kernel(nadir_context *context, const nadir_lmo *lmo,
                                       const nadir_lmo_weights *weights, const nadir_lmo_streamed *streamed,
                                       nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = lmo->model;
    nadir_perturbed *perturbed;
    stream self = {.lmo = lmo,
                   .weights = weights,
                   .solution = *streamed,
                   .inverse = 1 / streamed->unit,
                   .each = nadir_lmo_longest_row(lmo, 0, model->rows),
                   .threads = nadir_threads_for(context, 2 * model->row_starts[model->rows])};
    NADIR_NEW(context, self.work, self.threads * self.each);
    NADIR_CHECK(nadir_lmo_kernel_blank(context, lmo, kernel, &perturbed));
#pragma omp parallel for num_threads(self.threads) schedule(static)
    for (int64_t s = 0; s < model->states; s++) {
        double *work = self.work + self.each * omp_get_thread_num();
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            write_streamed_row(&self, row, nadir_lmo_weight(weights, s, row), work, perturbed);
        }
    }
cleanup:
    nadir_release(context, self.work);
    return status;
}
