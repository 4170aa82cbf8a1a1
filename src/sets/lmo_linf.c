/*
 * lmo_linf.c: the linear minimisation oracle of p = infinity; see lmo.h.
 *
 * Rows are independent: with r = alpha beta every entry may rise by r and fall by m = min(r, Phat). Entries
 * of lower rank than the pivot L rise, those of higher rank fall, and the entry at L takes what is left:
 *
 *     r (allowed states before L)  <=  sum of m at and after L,    L the last rank with this.
 *
 * Ranks break ties. With g1 = x - omega except where an entry falls to zero, tau = sum w alpha |g1|_1 is the
 * multiplier of beta.
 */
#include "sets/lmo_internal.h"

#include <math.h>

/* A row with the ranks of its entries. */
typedef struct linf_row {
    nadir_lmo_row_view view;
    const double *rank; /* [count] */
    double r;
} linf_row;

static double fall(const linf_row *row, int64_t i)
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
        after += rises ? 0 : fall(row, i);
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
        down += fall(row, order->order[rank]);
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

static void finish(const linf_row *row, int64_t pivot, double omega, const shifts *sums,
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
    finish(row, pivot, omega, &sums, solution, size);
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
        const double m = fall(row, i);
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
    finish(row, pivot, omega, &sums, solution, size);
}

/* data: [end - first] |g1|_1 of each row. */
static void solve_row(const nadir_lmo_group *group, int64_t row, double *work, void *data)
{
    const nadir_lmo *lmo = group->lmo;
    const nadir_row raw = nadir_model_row(lmo->model, row);
    double *rank = work + 2 * raw.count;
    linf_row capped = {.view = nadir_lmo_row_view_make(lmo, row, work), .rank = rank};
    capped.r = capped.view.alpha * group->beta;
    nadir_lmo_solution *solution = &group->solutions[row - group->first];
    double *size = (double *)data + (row - group->first);
    solution->step = group->beta;
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

nadir_lmo_common nadir_lmo_linf(const nadir_lmo_group *group)
{
    double *sizes = group->scratch;
    double tau = 0;
    nadir_lmo_group_run(group, solve_row, sizes);
    for (int64_t row = group->first; row < group->end; row++) {
        const double weight = nadir_lmo_group_weight(group, row);
        tau += weight > 0 ? weight * sizes[row - group->first] : 0;
    }
    return (nadir_lmo_common){group->beta, tau};
}
