/*
 * capped.c: row problems of p = infinity; see rows.h.
 *
 * Each row stands alone: with r = alpha beta every entry may rise by r and fall by m = min(r, Phat). What
 * lies before a place L in the order rises, what lies after it falls, and the entry at L takes what is left:
 *
 *     r (allowed states before L)  <=  sum of m at and after L,    L the last place with this.
 *
 * Places break ties. With g1 = x - omega except where an entry falls to zero, tau = sum w alpha |g1|_1 is the
 * multiplier of beta.
 */
#include "adversary/rows/lmo_internal.h"

#include <math.h>

/* A row for this norm: x and places of its entries. */
typedef struct capped_row {
    nadir_lmo_row_view view;
    const double *place; /* [count] */
    double r;
} capped_row;

static double fall(const capped_row *row, int64_t i)
{
    return row->view.phat[i] < row->r ? row->view.phat[i] : row->r;
}

/* What rises before a place, and what falls at and after it. */
static void weigh(const capped_row *row, double place, double *up, double *down)
{
    double before = 0;
    double after = 0;
    for (int64_t i = 0; i < row->view.count; i++) {
        const bool rises = row->place[i] < place;
        before += rises ? 1 : 0;
        after += rises ? 0 : fall(row, i);
    }
    *up = row->r * (row->view.spread ? place : before);
    *down = after;
}

/* The last place of the order at which what rises before it is no more than what falls at and after it. */
static int64_t find_place(const capped_row *row, const nadir_value_order *order)
{
    int64_t low = 0;
    int64_t high = order->states;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        double up;
        double down;
        weigh(row, (double)middle, &up, &down);
        if (up <= down) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The same for a row of all states: from the end of the order on. */
static int64_t find_place_full(const capped_row *row, const nadir_value_order *order)
{
    double down = 0;
    int64_t place = order->states - 1;
    for (; place > 0; place--) {
        down += fall(row, order->order[place]);
        if (row->r * (double)place <= down) {
            break;
        }
    }
    return place;
}

/* What an answer is made of. */
typedef struct shifts {
    double up, lifted;    /* entries that rise, and the sum of omega - x over them */
    double down, lowered; /* what falls, and the sum of that times x - omega */
    double dropped;       /* that part of |g1|_1 */
    double largest;       /* change downwards */
} shifts;

static void finish(const capped_row *row, int64_t pivot, double omega, const shifts *sums,
                   nadir_lmo_solution *answer, double *size)
{
    answer->pivot = (int32_t)pivot;
    answer->omega = omega;
    answer->upper = omega;
    answer->share = sums->down - row->r * sums->up;
    answer->gain = row->r * sums->lifted + sums->lowered;
    const double largest = fmax(fmax(sums->largest, fabs(answer->share)), sums->up > 0 ? row->r : 0);
    answer->norm = largest / row->view.alpha;
    *size = sums->lifted + sums->dropped;
}

/* A row of all states: in the order, those before the pivot from its sums. */
static void find_answer_full(const nadir_value_order *order, const capped_row *row,
                             nadir_lmo_solution *answer, double *size)
{
    const int64_t pivot = find_place_full(row, order);
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
    finish(row, pivot, omega, &sums, answer, size);
}

static void find_answer(const nadir_value_order *order, const capped_row *row, nadir_lmo_solution *answer,
                        double *size)
{
    const int64_t pivot = find_place(row, order);
    const double omega = order->sorted[pivot] - row->view.base;
    const bool spread = row->view.spread;
    shifts sums = {.up = spread ? (double)pivot : 0, .lifted = spread ? order->first[pivot] : 0};
    for (int64_t i = 0; i < row->view.count; i++) {
        const double d = row->view.x[i] - omega;
        const double m = fall(row, i);
        if (row->place[i] > (double)pivot) {
            sums.down += m;
            sums.lowered += m * d;
            sums.dropped += row->view.phat[i] < row->r ? 0 : d;
            sums.largest = m > sums.largest ? m : sums.largest;
        } else if (row->place[i] < (double)pivot && !spread) {
            sums.up += 1;
            sums.lifted -= d;
        }
    }
    finish(row, pivot, omega, &sums, answer, size);
}

/* data: [end - first] |g1|_1 of each row. */
static void answer_row(const nadir_lmo_group *group, int64_t row, double *room, void *data)
{
    const nadir_lmo *rows = group->rows;
    const nadir_row raw = nadir_model_row(rows->model, row);
    double *place = room + 2 * raw.count;
    capped_row at = {.view = nadir_lmo_row_view_make(rows, row, room), .place = place};
    at.r = at.view.alpha * group->beta;
    nadir_lmo_solution *answer = &group->answers[row - group->first];
    double *size = (double *)data + (row - group->first);
    answer->step = group->beta;
    if (at.view.count == rows->order->states && rows->order->exchange == NULL) {
        find_answer_full(rows->order, &at, answer, size);
        return;
    }
    int64_t count = 0;
    for (int64_t i = 0; i < raw.count; i++) {
        place[count] = rows->order->rank[nadir_row_column(&raw, i)];
        count += rows->domain == NADIR_DOMAIN_SIMPLEX || raw.values[i] > 0;
    }
    find_answer(rows->order, &at, answer, size);
}

nadir_lmo_common nadir_lmo_linf(const nadir_lmo_group *group)
{
    double *sizes = group->scratch;
    double tau = 0;
    nadir_lmo_group_run(group, answer_row, sizes);
    for (int64_t row = group->first; row < group->end; row++) {
        const double share = nadir_lmo_group_weight(group, row);
        tau += share > 0 ? share * sizes[row - group->first] : 0;
    }
    return (nadir_lmo_common){group->beta, tau};
}
