/*
 * lmo_l1.c: the linear minimisation oracle of p = 1; see lmo.h.
 *
 * Mass m that moves from an entry to the row's smallest v costs 2 m / alpha of the budget and gains
 * w m (x - lowest): the entries of largest key u (x - lowest), u = alpha w / unit, move first, over all rows
 * of the group. The key up to which the budget beta / 2 lasts, the threshold, is found by partitions about
 * entries chosen at random, O(entries). All entries at the threshold give the same share, so that their order
 * does not matter. tau = threshold / 2 is the multiplier of sum |Delta| / alpha.
 */
#include "sets/lmo_internal.h"

#include "core/random.h"

#include <math.h>

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
    nadir_random_seed(&random, (uint64_t)count);
    while (count > 0) {
        const double key = list[nadir_random_below(&random, (uint64_t)count)].key;
        int64_t ends[2];
        double masses[2];
        partition(count, list, key, ends, masses);
        if (masses[0] > budget) {
            count = ends[0];
        } else if (masses[0] + masses[1] > budget) {
            return (key_threshold){key, (budget - masses[0]) / masses[1]};
        } else {
            budget -= masses[0] + masses[1];
            list += ends[1];
            count -= ends[1];
        }
    }
    return (key_threshold){0, 0};
}

void nadir_lmo_l1_row(const nadir_lmo_row_view *view, double scale, double threshold, double share,
                      nadir_lmo_solution *solution)
{
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
    const nadir_model *model = group->lmo->model;
    return nadir_lmo_row_start(model, row) - nadir_lmo_row_start(model, group->first);
}

static void list_row(const nadir_lmo_group *group, int64_t row, double *work, void *data)
{
    candidate *list = (candidate *)data + candidates_before(group, row);
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(group->lmo, row, work);
    const double share = nadir_lmo_group_weight(group, row);
    for (int64_t i = 0; i < view.count; i++) {
        list[i] = (candidate){share * view.x[i], view.phat[i] / view.alpha};
    }
}

static void solve_row(const nadir_lmo_group *group, int64_t row, double *work, void *data)
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

nadir_lmo_common nadir_lmo_l1(const nadir_lmo_group *group)
{
    if (group->end - group->first == 1 && group->lmo->model->dense != NULL) {
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
    nadir_lmo_group_run(group, solve_row, &found);
    return (nadir_lmo_common){2 / found.key, found.key / 2};
}
