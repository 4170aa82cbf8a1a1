/* costs.c: the linear step over rows with costs of their own, and its bound; see costs.h. */
#include "adversary/rows/lmo_row_costs.h"

#include "adversary/difference/cost_parts.h"
#include "linalg/gstd.h"
#include "linalg/norm.h"
#include "linalg/threads.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

static nadir_status make_rooms(nadir_context *context, nadir_lmo_row_costs *costs)
{
    nadir_status status = NADIR_OK;
    const int64_t n = costs->model->states;
    NADIR_NEW_ZERO(context, costs->rooms, 1);
    nadir_cost_rooms *made = costs->rooms;
    made->threads = nadir_threads_for(context, costs->model->rows * n);
    NADIR_NEW_ZERO(context, made->rooms, made->threads);
    NADIR_NEW(context, made->numbers, 5 * n * made->threads);
    NADIR_NEW(context, made->places, 2 * n * made->threads);
    for (int i = 0; i < made->threads; i++) {
        double *numbers = made->numbers + 5 * n * i;
        int32_t *places = made->places + 2 * n * i;
        made->rooms[i] = (nadir_cost_room){
            .row = {.columns = places, .phat = numbers, .cost = numbers + n},
            .X = numbers + 2 * n,
            .other = numbers + 3 * n,
            .work = numbers + 4 * n,
            .places = places + n,
        };
    }
cleanup:
    return status;
}

nadir_status nadir_lmo_row_costs_make(nadir_context *context, const nadir_model *model,
                                      const nadir_uncertainty *set, nadir_lmo_row_costs *costs)
{
    nadir_status status = NADIR_OK;
    if (set->domain != NADIR_DOMAIN_SUPPORT && model->rows > NADIR_LMO_ROW_COSTS_LIMIT / model->states) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "the difference of two policies on domain %s writes out rows of the kernel: %lld rows "
            "of %lld states are more than %d entries; take domain support",
            nadir_domain_name(set->domain), (long long)model->rows, (long long)model->states,
            NADIR_LMO_ROW_COSTS_LIMIT);
    }
    costs->model = model;
    costs->set = set;
    NADIR_NEW(context, costs->a, model->rows);
    NADIR_NEW(context, costs->b, model->rows);
    NADIR_NEW(context, costs->x, model->states);
    NADIR_NEW(context, costs->y, model->states);
    NADIR_NEW_ZERO(context, costs->omega, model->rows);
    NADIR_NEW_ZERO(context, costs->step, model->rows);
    NADIR_NEW_ZERO(context, costs->norms, model->rows);
    NADIR_NEW(context, costs->rows, model->rows);
    NADIR_NEW(context, costs->starts, model->rows + 1);
    NADIR_CHECK(make_rooms(context, costs));
cleanup:
    return status;
}

void nadir_lmo_row_costs_clear(nadir_context *context, nadir_lmo_row_costs *costs)
{
    double *const numbers[] = {costs->a,     costs->b,    costs->x,     costs->y,
                               costs->omega, costs->step, costs->norms, costs->values};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        nadir_release(context, numbers[i]);
    }
    if (costs->rooms != NULL) {
        nadir_release(context, costs->rooms->rooms);
        nadir_release(context, costs->rooms->numbers);
        nadir_release(context, costs->rooms->places);
        nadir_release(context, costs->rooms);
    }
    nadir_release(context, costs->rows);
    nadir_release(context, costs->starts);
    nadir_release(context, costs->columns);
    *costs = (nadir_lmo_row_costs){0};
}

/* x <- v less its smallest; returns its range. */
static double from_smallest(int64_t count, const double *v, double *x, double *smallest)
{
    double low = INFINITY;
    double high = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        low = fmin(low, v[i]);
        high = fmax(high, v[i]);
    }
    for (int64_t i = 0; i < count; i++) {
        x[i] = v[i] - low;
    }
    *smallest = low;
    return high - low;
}

nadir_status nadir_lmo_row_costs_set(nadir_context *context, nadir_lmo_row_costs *costs, double gamma,
                                     const double *d_a, const double *pi_a, const double *v_a,
                                     const double *d_b, const double *pi_b, const double *v_b)
{
    const nadir_model *model = costs->model;
    const double range_a = from_smallest(model->states, v_a, costs->x, &costs->x_min);
    const double range_b = from_smallest(model->states, v_b, costs->y, &costs->y_min);
    costs->scale = fmax(range_a, range_b);
    bool finite = isfinite(range_a) && isfinite(range_b);
    for (int64_t s = 0; s < model->states; s++) {
        costs->x[s] = costs->scale > 0 ? costs->x[s] / costs->scale : 0;
        costs->y[s] = costs->scale > 0 ? costs->y[s] / costs->scale : 0;
        finite = finite && isfinite(d_a[s]) && isfinite(d_b[s]);
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            costs->a[row] = gamma * d_a[s] * pi_a[row];
            costs->b[row] = gamma * d_b[s] * pi_b[row];
        }
    }
    return finite ? NADIR_OK
                  : nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                               "values or occupancies of a policy are beyond the range of numbers");
}

/* ------------------------------------------------------------------------------------------- rows */

bool nadir_cost_row_fill(const nadir_lmo_row_costs *costs, int64_t row, nadir_cost_room *room)
{
    nadir_cost_row *at = &room->row;
    const double a = costs->a[row];
    const double b = costs->b[row];
    at->alpha = nadir_uncertainty_scale(costs->set, row);
    if (!(at->alpha > 0)) {
        return false;
    }
    const nadir_row nominal = nadir_model_row(costs->model, row);
    at->count = 0;
    if (costs->set->domain == NADIR_DOMAIN_SUPPORT) {
        for (int64_t i = 0; i < nominal.count; i++) {
            at->columns[at->count] = (int32_t)nadir_row_column(&nominal, i);
            at->phat[at->count] = nominal.values[i];
            at->count += nominal.values[i] > 0;
        }
    } else {
        at->count = costs->model->states;
        memset(at->phat, 0, (size_t)at->count * sizeof *at->phat);
        for (int64_t i = 0; i < nominal.count; i++) {
            at->phat[nadir_row_column(&nominal, i)] = nominal.values[i];
        }
        for (int64_t t = 0; t < at->count; t++) {
            at->columns[t] = (int32_t)t;
        }
    }
    double lowest = INFINITY;
    at->largest = -INFINITY;
    for (int64_t i = 0; i < at->count; i++) {
        at->cost[i] = a * costs->x[at->columns[i]] - b * costs->y[at->columns[i]];
        lowest = fmin(lowest, at->cost[i]);
        at->largest = fmax(at->largest, at->cost[i]);
    }
    for (int64_t i = 0; i < at->count; i++) {
        at->cost[i] -= lowest;
    }
    at->largest -= lowest;
    return true;
}

bool nadir_cost_row_read(const nadir_lmo_row_costs *costs, int64_t row, nadir_cost_room *room)
{
    const bool matters = (costs->a[row] != 0 || costs->b[row] != 0) && costs->scale > 0;
    return matters && nadir_cost_row_fill(costs, row, room) && room->row.largest > 0;
}

nadir_cost_group nadir_cost_group_at(const nadir_lmo_row_costs *costs, int64_t row)
{
    const nadir_uncertainty *set = costs->set;
    const nadir_model *model = costs->model;
    if (set->set == NADIR_SET_NONRECT) {
        return (nadir_cost_group){0, model->rows, set->radius};
    }
    const int64_t state = nadir_model_row_state(model, row);
    const int64_t end = set->set == NADIR_SET_S ? model->state_rows[state + 1] : row + 1;
    return (nadir_cost_group){row, end, nadir_uncertainty_radius(set, state, row)};
}

/* ------------------------------------------------------------------------------------------- step */

void nadir_lmo_row_costs_begin(nadir_lmo_row_costs *costs)
{
    costs->changed = (nadir_changed_rows){.rows = costs->rows, .starts = costs->starts};
    costs->starts[0] = 0;
    costs->gain = 0;
    costs->tau = 0;
}

nadir_status nadir_lmo_row_costs_append(nadir_context *context, nadir_lmo_row_costs *costs, int64_t row,
                                        const nadir_cost_room *room)
{
    nadir_status status = NADIR_OK;
    const nadir_cost_row *at = &room->row;
    int64_t entries = costs->starts[costs->changed.count];
    NADIR_RESERVE(context, costs->columns, entries + at->count, costs->columns_capacity);
    NADIR_RESERVE(context, costs->values, entries + at->count, costs->values_capacity);
    double gain = 0;
    for (int64_t i = 0; i < at->count; i++) {
        costs->columns[entries] = at->columns[i];
        costs->values[entries] = room->X[i];
        entries += room->X[i] != 0;
        gain += (at->phat[i] - room->X[i]) * at->cost[i];
    }
    costs->gain += gain * costs->scale;
    costs->rows[costs->changed.count++] = row;
    costs->starts[costs->changed.count] = entries;
    costs->changed.rows = costs->rows;
    costs->changed.starts = costs->starts;
    costs->changed.columns = costs->columns;
    costs->changed.values = costs->values;
cleanup:
    return status;
}

/* Rows of a group whose common step is known. */
static nadir_status write_group(nadir_context *context, nadir_lmo_row_costs *costs,
                                const nadir_cost_group *group, const nadir_cost_shared *shared,
                                nadir_cost_room *room)
{
    nadir_status status = NADIR_OK;
    const double p = costs->set->p;
    for (int64_t row = group->first; row < group->end; row++) {
        const double radius = group->radius * nadir_uncertainty_scale(costs->set, row);
        const double step = isinf(p) ? radius : shared->low;
        costs->step[row] = 0;
        costs->norms[row] = 0;
        if (!(step > 0) || !nadir_cost_row_read(costs, row, room)) {
            continue;
        }
        costs->step[row] = step;
        costs->norms[row] =
            nadir_cost_row_answer(&room->row, p, step, room->places, room->X, room->work, &costs->omega[row]);
        if (shared->share > 0) {
            double omega;
            (void)nadir_cost_row_answer(&room->row, p, shared->high, room->places, room->other, room->work,
                                        &omega);
            for (int64_t i = 0; i < room->row.count; i++) {
                room->X[i] += shared->share * (room->other[i] - room->X[i]);
            }
            costs->norms[row] = nadir_cost_row_norm(&room->row, p, room->X, room->work);
        }
        NADIR_CHECK(nadir_lmo_row_costs_append(context, costs, row, room));
    }
cleanup:
    return status;
}

/* Free domain: X = Phat - alpha t u_q(c), with t for each row by Hölder's equality. */
static nadir_status write_free(nadir_context *context, nadir_lmo_row_costs *costs,
                               const nadir_cost_group *group, nadir_cost_room *room)
{
    nadir_status status = NADIR_OK;
    const double q = costs->set->q;
    const int64_t many = group->end - group->first;
    double *t = costs->norms + group->first;
    double norm;
    nadir_gstd spread;
    for (int64_t row = group->first; row < group->end; row++) {
        costs->norms[row] = 0;
        if (group->radius > 0 && nadir_cost_row_read(costs, row, room)) {
            NADIR_CHECK(nadir_gstd_compute(context, 0, room->row.count, room->row.cost, q, room->work, NULL,
                                           &spread));
            costs->norms[row] = room->row.alpha * spread.sigma;
        }
    }
    NADIR_CHECK(nadir_norm_dual(context, 0, many, t, q, t, &norm));
    for (int64_t row = group->first; row < group->end; row++) {
        costs->step[row] = 0;
        costs->norms[row] *= group->radius * (1 - 32 * DBL_EPSILON);
        if (!(group->radius > 0) || !nadir_cost_row_read(costs, row, room)) {
            continue;
        }
        NADIR_CHECK(nadir_gstd_compute(context, 0, room->row.count, room->row.cost, q, room->work,
                                       room->other, &spread));
        costs->omega[row] = spread.omega;
        costs->step[row] = 1;
        for (int64_t i = 0; i < room->row.count; i++) {
            room->X[i] = room->row.phat[i] - room->row.alpha * costs->norms[row] * room->other[i];
        }
        NADIR_CHECK(nadir_lmo_row_costs_append(context, costs, row, room));
    }
    if (costs->set->set == NADIR_SET_NONRECT && costs->set->p == 2) {
        costs->tau = norm * costs->scale / (2 * group->radius);
    }
cleanup:
    return status;
}

nadir_status nadir_lmo_row_costs_solve(nadir_context *context, nadir_lmo_row_costs *costs)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = costs->set;
    nadir_lmo_row_costs_begin(costs);
    for (int64_t row = 0; row < costs->model->rows;) {
        const nadir_cost_group group = nadir_cost_group_at(costs, row);
        nadir_cost_shared shared = {0};
        row = group.end;
        if (set->domain == NADIR_DOMAIN_FREE) {
            NADIR_CHECK(write_free(context, costs, &group, &costs->rooms->rooms[0]));
            continue;
        }
        if (!isinf(set->p)) {
            shared = nadir_cost_group_solve(costs, &group);
        }
        NADIR_CHECK(write_group(context, costs, &group, &shared, &costs->rooms->rooms[0]));
        if (set->set == NADIR_SET_NONRECT && set->p == 2 && shared.active) {
            costs->tau = costs->scale / (2 * shared.low);
        }
    }
    costs->gain = fmax(costs->gain, 0);
cleanup:
    return status;
}

/* ------------------------------------------------------------------------------------------ bound */

/* What rounding of the costs of a row can hide: each is off by 4 roundings of its terms, x and y by one each
 * besides, and |Delta|_1 <= 2, or n^(1/q) radius on the free domain. */
static double hidden(const nadir_lmo_row_costs *costs, int64_t row, double moved)
{
    return 8 * UNIT * (fabs(costs->a[row]) + fabs(costs->b[row])) * moved;
}

nadir_status nadir_lmo_row_costs_bound(nadir_context *context, const nadir_lmo_row_costs *costs, double *gain)
{
    nadir_status status = NADIR_OK;
    double *slopes = NULL;
    const nadir_uncertainty *set = costs->set;
    const bool free_domain = set->domain == NADIR_DOMAIN_FREE;
    double sum = 0;
    NADIR_NEW(context, slopes, costs->model->rows);
    nadir_cost_room *room = &costs->rooms->rooms[0];
    for (int64_t next = 0; next < costs->model->rows;) {
        const nadir_cost_group group = nadir_cost_group_at(costs, next);
        next = group.end;
        for (int64_t row = group.first; row < group.end; row++) {
            const double alpha = nadir_uncertainty_scale(set, row);
            const double length = pow((double)costs->model->states, 1 / set->q) * alpha * group.radius;
            double fixed = 0;
            slopes[row] = 0;
            if (alpha > 0) {
                sum += hidden(costs, row, free_domain ? length : fmin(2, length));
            }
            if (nadir_cost_row_read(costs, row, room)) {
                /* a row that has no step was not solved: its whole range goes with the distance */
                nadir_cost_row_bound(&room->row, set->p, set->q, free_domain || !(costs->step[row] > 0),
                                     costs->omega[row], costs->step[row], room->work, &fixed, &slopes[row]);
                slopes[row] *= alpha;
            }
            sum += fixed;
        }
        sum += group.radius * nadir_norm_short(group.end - group.first, slopes + group.first, set->q);
    }
    /* sums over rows of numbers that are not negative; radii of kernels that membership forgives */
    *gain = sum * costs->scale * (1 + 4 * UNIT * (double)(costs->model->rows + 32));
cleanup:
    nadir_release(context, slopes);
    return status;
}
