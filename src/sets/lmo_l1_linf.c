/*
 * lmo_l1_linf.c: the linear minimisation oracle of p = 1 and of p = infinity, whose solutions are vertices;
 * see lmo.h.
 */
#include "core/random.h"
#include "sets/lmo_internal.h"

#include <math.h>

/* ------------------------------------------------------------------------------------------- p = 1
 *
 * The linear minimisation oracle of p = 1.
 *
 * Mass m that moves from an entry to the row's smallest v costs 2 m / alpha of the budget and gains
 * w m (x - lowest): the entries of largest key u (x - lowest), u = alpha w / unit, move first, over all rows
 * of the group. The key up to which the budget beta / 2 lasts, the threshold, is found by partitions about
 * entries chosen at random, O(entries). All entries at the threshold give the same share, so that their order
 * does not matter. tau = threshold / 2 is the multiplier of sum |Delta| / alpha.
 */

/* An entry: its key, and the part of the budget that moving it takes. */
typedef struct candidate {
    double key, mass;
} candidate;

typedef struct key_threshold {
    double key;   /* 0: everything above the smallest v moves */
    double share; /* of the entries of this key */
} key_threshold;

/* Puts larger keys first, then equal ones. ends: of these two parts; masses: what each takes. */
static void partition(int64_t count, candidate *list, double key, int64_t ends[2], double masses[2])
{
    int64_t larger = 0;
    int64_t i = 0;
    int64_t smaller = count;
    masses[0] = 0;
    masses[1] = 0;
    while (i < smaller) {
        const candidate current = list[i];
        if (current.key > key) {
            list[i++] = list[larger];
            list[larger++] = current;
            masses[0] += current.mass;
        } else if (current.key < key) {
            list[i] = list[--smaller];
            list[smaller] = current;
        } else {
            masses[1] += current.mass;
            i++;
        }
    }
    ends[0] = larger;
    ends[1] = smaller;
}

static key_threshold find_threshold(int64_t count, candidate *list, double budget)
{
    nadir_random random;
    double least = 0; /* what lies above it takes more than the budget, if only by rounding */
    nadir_random_seed(&random, (uint64_t)count);
    while (count > 0) {
        const double key = list[nadir_random_below(&random, (uint64_t)count)].key;
        int64_t ends[2];
        double masses[2];
        partition(count, list, key, ends, masses);
        if (masses[0] > budget) {
            count = ends[0];
            least = key;
        } else if (masses[0] + masses[1] > budget) {
            return (key_threshold){key, (budget - masses[0]) / masses[1]};
        } else {
            budget -= masses[0] + masses[1];
            list += ends[1];
            count -= ends[1];
        }
    }
    return (key_threshold){least, 0};
}

void nadir_lmo_l1_row(const nadir_lmo_row_view *view, double scale, double threshold, double share,
                      nadir_lmo_solution *solution)
{
    if (view->low != NULL) {
        nadir_lmo_box_l1_row(view, scale, threshold, share, solution);
        return;
    }
    double level = 0;
    double moved = 0;
    double gain = 0;
    for (int64_t i = 0; i < view->count; i++) {
        const double rise = view->x[i];
        const double part = scale * rise > threshold ? 1 : rise > 0 && scale * rise == threshold ? share : 0;
        level = scale * rise > threshold ? level : fmax(level, rise);
        moved += part * view->phat[i];
        gain += part * view->phat[i] * rise;
    }
    solution->omega = level;
    solution->upper = level;
    solution->share = scale * level == threshold && level > 0 ? share : 0;
    solution->gain = gain;
    solution->norm = 2 * moved / view->alpha;
}

/* Where the candidates of each row start: one for each of its entries, key 0 for those that cannot move. */
static int64_t candidates_before(const nadir_lmo_group *group, int64_t row)
{
    return nadir_lmo_row_start(group->lmo, row) - nadir_lmo_row_start(group->lmo, group->first);
}

static void list_row(const nadir_lmo_group *group, int64_t row, double *work, void *data)
{
    candidate *list = (candidate *)data + candidates_before(group, row);
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(group->lmo, row, work);
    const double share = nadir_lmo_group_weight(group, row);
    if (view.low != NULL) {
        const int64_t count = nadir_lmo_box_l1_pairs(&view, (double *)list);
        for (int64_t i = 0; i < count; i++) {
            list[i] = (candidate){share * list[i].key, list[i].mass / view.alpha};
        }
        return;
    }
    for (int64_t i = 0; i < view.count; i++) {
        list[i] = (candidate){share * view.x[i], view.phat[i] / view.alpha};
    }
}

static void solve_l1_row(const nadir_lmo_group *group, int64_t row, double *work, void *data)
{
    const key_threshold *found = data;
    nadir_lmo_solution *solution = &group->solutions[row - group->first];
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(group->lmo, row, work);
    const double share = nadir_lmo_group_weight(group, row);
    nadir_lmo_l1_row(&view, share, found->key, found->share, solution);
    solution->step = 2 * share / found->key;
}

/* One dense row alone: its entries from the end of the order on, as far as the budget lasts. */
static nadir_lmo_common solve_dense_row(const nadir_lmo_group *group)
{
    const nadir_value_order *order = group->lmo->order;
    const nadir_row row = nadir_model_row(group->lmo->model, group->first);
    const double base = nadir_lmo_row_base(group->lmo, &row);
    const double alpha = nadir_lmo_scale(group->lmo, group->first);
    const double budget = group->beta * alpha / 2;
    nadir_lmo_solution *solution = group->solutions;
    double moved = 0;
    *solution = (nadir_lmo_solution){0};
    int64_t end = order->states;
    while (end > 0 && order->sorted[end - 1] > base && moved < budget) {
        /* entries of equal x together */
        const double x = order->sorted[end - 1];
        double mass = 0;
        for (; end > 0 && order->sorted[end - 1] == x; end--) {
            mass += row.values[order->order[end - 1]];
        }
        if (moved + mass > budget) {
            solution->omega = x - base;
            solution->share = (budget - moved) / mass;
            solution->gain += (budget - moved) * (x - base);
            moved = budget; /* moved + (budget - moved) may round to another number */
        } else {
            solution->omega = end > 0 ? fmax(0, order->sorted[end - 1] - base) : 0;
            solution->gain += mass * (x - base);
            moved += mass;
        }
    }
    solution->upper = solution->omega;
    solution->norm = 2 * moved / alpha;
    const double key = moved < budget ? 0 : solution->omega;
    solution->step = 2 / key;
    return (nadir_lmo_common){2 / key, key / 2};
}

nadir_lmo_common nadir_lmo_l1(const nadir_lmo_group *group, double start)
{
    (void)start;
    if (group->end - group->first == 1 && group->lmo->model->dense != NULL && group->lmo->costs == NULL &&
        group->lmo->landing == 0) {
        return solve_dense_row(group);
    }
    candidate *list = (candidate *)group->scratch;
    const int64_t all = candidates_before(group, group->end);
    for (int64_t i = 0; i < all; i++) {
        list[i] = (candidate){0, 0};
    }
    nadir_lmo_group_run(group, list_row, list);
    int64_t count = 0;
    for (int64_t i = 0; i < all; i++) {
        list[count] = list[i];
        count += list[i].key > 0 && list[i].mass > 0;
    }
    key_threshold found = find_threshold(count, list, group->beta / 2);
    nadir_lmo_group_run(group, solve_l1_row, &found);
    return (nadir_lmo_common){2 / found.key, found.key / 2};
}

/* ------------------------------------------------------------------------------------ p = infinity
 *
 * The linear minimisation oracle of p = infinity.
 *
 * Rows are independent: with r = alpha beta every entry may rise by r and linf_fall by m = min(r, Phat). Entries
 * of lower rank than the pivot L rise, those of higher rank linf_fall, and the entry at L takes what is left:
 *
 *     r (allowed states before L)  <=  sum of m at and after L,    L the last rank with this.
 *
 * Ranks break ties. With g1 = x - omega except where an entry falls to zero, tau = sum w alpha |g1|_1 is the
 * multiplier of beta.
 */

/* A row with the ranks of its entries. */
typedef struct linf_row {
    nadir_lmo_row_view view;
    const double *rank; /* [count] */
    double r;
} linf_row;

static double linf_fall(const linf_row *row, int64_t i)
{
    return row->view.phat[i] < row->r ? row->view.phat[i] : row->r;
}

/* What rises before a rank, and what falls at and after it. */
static void sum_sides(const linf_row *row, double rank, double *up, double *down)
{
    double before = 0;
    double after = 0;
    for (int64_t i = 0; i < row->view.count; i++) {
        const bool rises = row->rank[i] < rank;
        before += rises ? 1 : 0;
        after += rises ? 0 : linf_fall(row, i);
    }
    *up = row->r * (row->view.off_support ? rank : before);
    *down = after;
}

/* The last rank at which what rises before it is no more than what falls at and after it. */
static int64_t find_pivot(const linf_row *row, const nadir_value_order *order)
{
    int64_t low = 0;
    int64_t high = order->states;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        double up;
        double down;
        sum_sides(row, (double)middle, &up, &down);
        if (up <= down) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The same for a row of all states: from the end of the order on. */
static int64_t find_pivot_full(const linf_row *row, const nadir_value_order *order)
{
    double down = 0;
    int64_t rank = order->states - 1;
    for (; rank > 0; rank--) {
        down += linf_fall(row, order->order[rank]);
        if (row->r * (double)rank <= down) {
            break;
        }
    }
    return rank;
}

/* Sums over the entries that make up a solution. */
typedef struct shifts {
    double up, lifted;    /* entries that rise, and the sum of omega - x over them */
    double down, lowered; /* what falls, and the sum of that times x - omega */
    double dropped;       /* that part of |g1|_1 */
    double largest;       /* change downwards */
} shifts;

static void finish_linf(const linf_row *row, int64_t pivot, double omega, const shifts *sums,
                        nadir_lmo_solution *solution, double *size)
{
    solution->pivot = (int32_t)pivot;
    solution->omega = omega;
    solution->upper = omega;
    solution->share = sums->down - row->r * sums->up;
    solution->gain = row->r * sums->lifted + sums->lowered;
    const double largest = fmax(fmax(sums->largest, fabs(solution->share)), sums->up > 0 ? row->r : 0);
    solution->norm = largest / row->view.alpha;
    *size = sums->lifted + sums->dropped;
}

/* A row of all states: in the order, those before the pivot from its sums. */
static void solve_full_row(const nadir_value_order *order, const linf_row *row, nadir_lmo_solution *solution,
                           double *size)
{
    const int64_t pivot = find_pivot_full(row, order);
    const double omega = order->sorted[pivot];
    shifts sums = {.up = (double)pivot, .lifted = order->first[pivot]};
    for (int64_t k = pivot + 1; k < order->states; k++) {
        const double phat = row->view.phat[order->order[k]];
        const double d = order->sorted[k] - omega;
        const double m = phat < row->r ? phat : row->r;
        sums.down += m;
        sums.lowered += m * d;
        sums.dropped += phat < row->r ? 0 : d;
        sums.largest = m > sums.largest ? m : sums.largest;
    }
    finish_linf(row, pivot, omega, &sums, solution, size);
}

static void solve_listed_row(const nadir_value_order *order, const linf_row *row,
                             nadir_lmo_solution *solution, double *size)
{
    const int64_t pivot = find_pivot(row, order);
    const double omega = order->sorted[pivot] - row->view.base;
    const bool off_support = row->view.off_support;
    shifts sums = {.up = off_support ? (double)pivot : 0, .lifted = off_support ? order->first[pivot] : 0};
    for (int64_t i = 0; i < row->view.count; i++) {
        const double d = row->view.x[i] - omega;
        const double m = linf_fall(row, i);
        if (row->rank[i] > (double)pivot) {
            sums.down += m;
            sums.lowered += m * d;
            sums.dropped += row->view.phat[i] < row->r ? 0 : d;
            sums.largest = m > sums.largest ? m : sums.largest;
        } else if (row->rank[i] < (double)pivot && !off_support) {
            sums.up += 1;
            sums.lifted -= d;
        }
    }
    finish_linf(row, pivot, omega, &sums, solution, size);
}

/*
 * Rewards on landing: entries of the row by their own x, and the states that it does not list by their rank,
 * after the entries of equal x. At the level omega, the smallest with
 *
 *     r (allowed states at or below omega)  >=  sum of m above omega,
 *
 * those below rise, those above fall, and what is at omega takes what is left: the entries of the row there,
 * all of them by the same part of what they can, or one state that it does not list, the pivot.
 */

/* The smallest rank so that what rises is enough where the states of this and lower rank that the row does not
 * list, and its own entries of no larger x, rise. */
static int64_t find_other_pivot(const nadir_value_order *order, const linf_row *row)
{
    /* no more than 1 falls: 1 / r states that the row does not list are enough */
    const double enough = 1 / row->r + (double)(row->view.count + 1);
    int64_t low = 0;
    int64_t high = enough < (double)order->states - 1 ? (int64_t)enough : order->states - 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const double level = order->sorted[middle] - row->view.base;
        double rise = (double)(middle + 1);
        double down = 0;
        for (int64_t i = 0; i < row->view.count; i++) {
            const bool rises = row->view.x[i] <= level;
            rise += (rises ? 1 : 0) - (row->rank[i] <= (double)middle ? 1 : 0);
            down += rises ? 0 : linf_fall(row, i);
        }
        if (row->r * rise >= down) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The states of lower rank that the row does not list: how many, and the sum of omega - x. */
static shifts sum_others(const nadir_value_order *order, const linf_row *row, int64_t pivot, double omega)
{
    shifts sums = {0};
    if (pivot > 0) {
        const double rest = omega - (order->sorted[pivot - 1] - row->view.base);
        sums.up = (double)pivot;
        sums.lifted = order->first[pivot - 1] + (double)pivot * rest;
    }
    for (int64_t i = 0; i < row->view.count && pivot > 0; i++) {
        if (row->rank[i] < (double)pivot) {
            sums.up -= 1;
            sums.lifted -= omega - (order->sorted[(int64_t)row->rank[i]] - row->view.base);
        }
    }
    return sums;
}

/* list: [count] work space */
static void solve_own_row(const nadir_value_order *order, const linf_row *row, candidate *list,
                          nadir_lmo_solution *solution, double *size)
{
    const nadir_lmo_row_view *view = &row->view;
    const double r = row->r;
    const int64_t pivot = view->off_support ? find_other_pivot(order, row) : 0;
    const double others = sum_others(order, row, pivot, 0).up;
    for (int64_t i = 0; i < view->count; i++) {
        list[i] = (candidate){view->x[i], r + linf_fall(row, i)};
    }
    /* r (others + entries at or below omega) >= sum of m above it */
    double omega = find_threshold(view->count, list, r * (others + (double)view->count)).key;
    omega = pivot > 0 ? fmax(omega, order->sorted[pivot - 1] - view->base) : omega; /* rounding */
    const bool other = view->off_support && order->sorted[pivot] - view->base < omega;
    omega = other ? order->sorted[pivot] - view->base : omega;
    shifts sums = sum_others(order, row, pivot, omega);
    double tied = 0;    /* entries at omega, */
    double falls = 0;   /* by how much they can fall, */
    double deepest = 0; /* and one of them at most */
    for (int64_t i = 0; i < view->count; i++) {
        const double d = view->x[i] - omega;
        const double m = linf_fall(row, i);
        if (d > 0) {
            sums.down += m;
            sums.lowered += m * d;
            sums.dropped += view->phat[i] < r ? 0 : d;
            sums.largest = m > sums.largest ? m : sums.largest;
        } else {
            sums.up += d < 0 || other ? 1 : 0;
            sums.lifted -= d;
            tied += d < 0 ? 0 : 1;
            falls += d < 0 ? 0 : m;
            deepest = d < 0 ? deepest : fmax(deepest, m);
        }
    }
    const double left = sums.down - r * sums.up; /* at omega */
    const double part = tied == 0 ? 0 : left >= 0 ? fmin(1, left / (r * tied)) : fmax(-1, left / falls);
    *solution = (nadir_lmo_solution){
        .omega = omega,
        .upper = other       ? 1
                 : left == 0 ? 0
                             : part,
        .share = other ? fmax(0, fmin(r, left)) : 0,
        .step = solution->step,
        .pivot = (int32_t)pivot,
        .gain = r * sums.lifted + sums.lowered,
    };
    const double at_omega = other ? solution->share : fmax(part * r, -part * deepest);
    solution->norm = fmax(fmax(sums.largest, at_omega), sums.up > 0 ? r : 0) / view->alpha;
    *size = sums.lifted + sums.dropped;
}

/* data: [end - first] |g1|_1 of each row. */
static void solve_linf_row(const nadir_lmo_group *group, int64_t row, double *work, void *data)
{
    const nadir_lmo *lmo = group->lmo;
    const nadir_row raw = nadir_model_row(lmo->model, row);
    double *rank = work + 2 * raw.count;
    linf_row capped = {.view = nadir_lmo_row_view_make(lmo, row, work), .rank = rank};
    capped.r = capped.view.alpha * group->beta;
    nadir_lmo_solution *solution = &group->solutions[row - group->first];
    double *size = (double *)data + (row - group->first);
    solution->step = group->beta;
    if (capped.view.low != NULL) {
        nadir_lmo_box_linf_row(&capped.view, group->beta, solution, size);
        return;
    }
    if (lmo->landing != 0) {
        double *own = work + raw.count; /* ranks in the place of plain x */
        capped.r = fmin(capped.r, NADIR_LMO_RADIUS_MOST);
        capped.rank = own;
        for (int64_t i = 0; i < raw.count && capped.view.off_support; i++) {
            own[i] = lmo->order->rank[raw.columns[i]];
        }
        solve_own_row(lmo->order, &capped, (candidate *)(void *)rank, solution, size);
        return;
    }
    if (capped.view.count == lmo->order->states && lmo->order->exchange == NULL) {
        solve_full_row(lmo->order, &capped, solution, size);
        return;
    }
    int64_t count = 0;
    for (int64_t i = 0; i < raw.count; i++) {
        rank[count] = lmo->order->rank[nadir_row_column(&raw, i)];
        count += lmo->domain == NADIR_DOMAIN_SIMPLEX || raw.values[i] > 0;
    }
    solve_listed_row(lmo->order, &capped, solution, size);
}

nadir_lmo_common nadir_lmo_linf(const nadir_lmo_group *group, double start)
{
    (void)start;
    double *sizes = group->scratch;
    double tau = 0;
    nadir_lmo_group_run(group, solve_linf_row, sizes);
    for (int64_t row = group->first; row < group->end; row++) {
        const double weight = nadir_lmo_group_weight(group, row);
        tau += weight > 0 ? weight * sizes[row - group->first] : 0;
    }
    return (nadir_lmo_common){group->beta, tau};
}
