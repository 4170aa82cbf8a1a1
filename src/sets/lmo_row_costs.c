/*
 * lmo_row_costs.c: the linear minimisation oracle with costs for each row, min sum_r c_r . X_r; see
 * lmo_row_costs.h.
 */
#include "sets/lmo_row_costs.h"

#include "core/round.h"
#include "linalg/gstd.h"
#include "linalg/root.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ----------------------------------------------------------------------------------- common step
 *
 * The common step of rows that share a radius.
 *
 * The distance N(step) = (sum over the rows of (|Delta| / alpha)^p)^(1/p) rises with the step, from 0 to
 * where all mass is cheapest; the step sought has N = radius. N is about a power of the step as long as
 * nothing is at its border: false position in logarithms. Where N jumps (p = 1) both sides of the jump are
 * mixed, which by convexity of norms does not leave the ball.
 */

/* N within this of the radius, relatively, is good enough. */
#define TOLERANCE 1e-14

static double distance_at(const nadir_lmo_row_costs *costs, const nadir_lmo_cost_group *group, double step)
{
    const nadir_lmo_cost_works *works = costs->works;
    const int threads = group->end - group->first > 1 ? works->threads : 1;
    const int64_t count = group->end - group->first;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; part++) {
        nadir_lmo_cost_work *work = &works->each[part];
        const int64_t end = group->first + (part + 1) * count / threads;
        for (int64_t row = group->first + part * count / threads; row < end; row++) {
            double omega;
            costs->norms[row] = !nadir_lmo_cost_row_read_active(costs, row, work)
                                    ? 0
                                    : nadir_lmo_cost_row_solve(&work->row, costs->set->p, step, work->indices,
                                                               work->X, work->work, &omega);
        }
    }
    return nadir_norm_short(count, costs->norms + group->first, costs->set->p);
}

/* The largest alpha cost of the group: 1 / step is of this size. */
static double largest_cost(const nadir_lmo_row_costs *costs, const nadir_lmo_cost_group *group)
{
    nadir_lmo_cost_work *work = &costs->works->each[0];
    double largest = 0;
    for (int64_t row = group->first; row < group->end; row++) {
        if (nadir_lmo_cost_row_read_active(costs, row, work)) {
            largest = fmax(largest, work->row.alpha * work->row.largest);
        }
    }
    return largest;
}

/* Domains simplex and support, p < inf. */
static nadir_lmo_cost_step solve_step(const nadir_lmo_row_costs *costs, const nadir_lmo_cost_group *group)
{
    const double radius = group->radius * NADIR_LMO_COST_INSIDE;
    const double largest = largest_cost(costs, group);
    if (!(largest > 0) || !(radius > 0)) {
        return (nadir_lmo_cost_step){0};
    }
    double high = 1 / largest;
    double low = 0;
    double below = 0;
    double above = distance_at(costs, group, high);
    for (int unchanged = 0; above < radius && unchanged < 3;) {
        low = high;
        below = above;
        high *= 64;
        above = isfinite(high) ? distance_at(costs, group, high) : below;
        unchanged = above > below * (1 + TOLERANCE) ? 0 : unchanged + 1;
    }
    if (above <= radius) { /* the constraint is inactive: take a multiplier of nearly 0 */
        const double far = high * 1e12;
        const bool fits = isfinite(far) && distance_at(costs, group, far) <= radius;
        return (nadir_lmo_cost_step){.low = fits             ? far
                                            : isfinite(high) ? high
                                                             : low,
                                     .high = far,
                                     .active = false};
    }
    if (low == 0) {
        low = high;
        while ((below = distance_at(costs, group, low)) > radius && low > 0) {
            high = low;
            above = below;
            low /= 64;
        }
    }
    nadir_bracket bracket = {low, high};
    for (int i = 0;
         i < 200 && below < radius * (1 - TOLERANCE) && bracket.high > nadir_round_up(bracket.low, 2); i++) {
        const bool halve = i % 3 == 2 || !(below > 0);
        const double middle = nadir_bracket_power(&bracket, below, above, radius, halve);
        if (!nadir_bracket_contains(&bracket, middle)) {
            break;
        }
        const double distance = distance_at(costs, group, middle);
        nadir_bracket_narrow(&bracket, middle, distance <= radius);
        *(distance <= radius ? &below : &above) = distance;
    }
    const double share = below < radius * (1 - TOLERANCE) ? (radius - below) / (above - below) : 0;
    return (nadir_lmo_cost_step){bracket.low, bracket.high, share, true};
}

/* ---------------------------------------------------------------------------- costs of the rows */

static nadir_status make_works(nadir_context *context, nadir_lmo_row_costs *costs)
{
    nadir_status status = NADIR_OK;
    const int64_t n = costs->model->states;
    NADIR_NEW_ZERO(context, costs->works, 1);
    nadir_lmo_cost_works *made = costs->works;
    made->threads = nadir_threads_for(context, costs->model->rows * n);
    NADIR_NEW_ZERO(context, made->each, made->threads);
    NADIR_NEW(context, made->numbers, 5 * n * made->threads);
    NADIR_NEW(context, made->indices, 2 * n * made->threads);
    for (int i = 0; i < made->threads; i++) {
        double *numbers = made->numbers + 5 * n * i;
        int32_t *indices = made->indices + 2 * n * i;
        made->each[i] = (nadir_lmo_cost_work){
            .row = {.columns = indices, .phat = numbers, .cost = numbers + n},
            .X = numbers + 2 * n,
            .second = numbers + 3 * n,
            .work = numbers + 4 * n,
            .indices = indices + n,
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
    NADIR_CHECK(make_works(context, costs));
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
    if (costs->works != NULL) {
        nadir_release(context, costs->works->each);
        nadir_release(context, costs->works->numbers);
        nadir_release(context, costs->works->indices);
        nadir_release(context, costs->works);
    }
    nadir_release(context, costs->rows);
    nadir_release(context, costs->starts);
    nadir_release(context, costs->columns);
    *costs = (nadir_lmo_row_costs){0};
}

/* x <- v - min v; returns max v - min v. */
static double subtract_smallest(int64_t count, const double *v, double *x)
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
    return high - low;
}

nadir_status nadir_lmo_row_costs_set(nadir_context *context, nadir_lmo_row_costs *costs, double gamma,
                                     const double *d_a, const double *pi_a, const double *v_a,
                                     const double *d_b, const double *pi_b, const double *v_b)
{
    const nadir_model *model = costs->model;
    const double range_a = subtract_smallest(model->states, v_a, costs->x);
    const double range_b = subtract_smallest(model->states, v_b, costs->y);
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

bool nadir_lmo_cost_row_read(const nadir_lmo_row_costs *costs, int64_t row, nadir_lmo_cost_work *work)
{
    nadir_lmo_cost_row *self = &work->row;
    const double a = costs->a[row];
    const double b = costs->b[row];
    self->alpha = nadir_uncertainty_scale(costs->set, row);
    if (!(self->alpha > 0)) {
        return false;
    }
    const nadir_row nominal = nadir_model_row(costs->model, row);
    self->count = 0;
    if (costs->set->domain == NADIR_DOMAIN_SUPPORT) {
        for (int64_t i = 0; i < nominal.count; i++) {
            self->columns[self->count] = (int32_t)nadir_row_column(&nominal, i);
            self->phat[self->count] = nominal.values[i];
            self->count += nominal.values[i] > 0;
        }
    } else {
        self->count = costs->model->states;
        memset(self->phat, 0, (size_t)self->count * sizeof *self->phat);
        for (int64_t i = 0; i < nominal.count; i++) {
            self->phat[nadir_row_column(&nominal, i)] = nominal.values[i];
        }
        for (int64_t t = 0; t < self->count; t++) {
            self->columns[t] = (int32_t)t;
        }
    }
    double lowest = INFINITY;
    self->largest = -INFINITY;
    for (int64_t i = 0; i < self->count; i++) {
        self->cost[i] = a * costs->x[self->columns[i]] - b * costs->y[self->columns[i]];
        lowest = fmin(lowest, self->cost[i]);
        self->largest = fmax(self->largest, self->cost[i]);
    }
    for (int64_t i = 0; i < self->count; i++) {
        self->cost[i] -= lowest;
    }
    self->largest -= lowest;
    return true;
}

bool nadir_lmo_cost_row_read_active(const nadir_lmo_row_costs *costs, int64_t row, nadir_lmo_cost_work *work)
{
    const bool matters = (costs->a[row] != 0 || costs->b[row] != 0) && costs->scale > 0;
    return matters && nadir_lmo_cost_row_read(costs, row, work) && work->row.largest > 0;
}

nadir_lmo_cost_group nadir_lmo_cost_group_from(const nadir_lmo_row_costs *costs, int64_t row)
{
    const nadir_uncertainty *set = costs->set;
    const nadir_model *model = costs->model;
    if (set->set == NADIR_SET_NONRECT) {
        return (nadir_lmo_cost_group){0, model->rows, set->radius};
    }
    const int64_t state = nadir_model_row_state(model, row);
    const int64_t end = set->set == NADIR_SET_S ? model->state_rows[state + 1] : row + 1;
    return (nadir_lmo_cost_group){row, end, nadir_uncertainty_radius(set, state, row)};
}

/* ------------------------------------------------------------------------------------------ solve */

void nadir_lmo_row_costs_begin(nadir_lmo_row_costs *costs)
{
    costs->changed = (nadir_changed_rows){.rows = costs->rows, .starts = costs->starts};
    costs->starts[0] = 0;
    costs->gain = 0;
    costs->tau = 0;
}

nadir_status nadir_lmo_row_costs_append(nadir_context *context, nadir_lmo_row_costs *costs, int64_t row,
                                        const nadir_lmo_cost_work *work)
{
    nadir_status status = NADIR_OK;
    const nadir_lmo_cost_row *self = &work->row;
    int64_t entries = costs->starts[costs->changed.count];
    NADIR_RESERVE(context, costs->columns, entries + self->count, costs->columns_capacity);
    NADIR_RESERVE(context, costs->values, entries + self->count, costs->values_capacity);
    double gain = 0;
    for (int64_t i = 0; i < self->count; i++) {
        costs->columns[entries] = self->columns[i];
        costs->values[entries] = work->X[i];
        entries += work->X[i] != 0;
        gain += (self->phat[i] - work->X[i]) * self->cost[i];
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

/* Rows of a group whose common step is known; where N jumps, mixtures of both sides. */
static nadir_status solve_group(nadir_context *context, nadir_lmo_row_costs *costs,
                                const nadir_lmo_cost_group *group, const nadir_lmo_cost_step *shared,
                                nadir_lmo_cost_work *work)
{
    nadir_status status = NADIR_OK;
    const double p = costs->set->p;
    for (int64_t row = group->first; row < group->end; row++) {
        const double radius = group->radius * nadir_uncertainty_scale(costs->set, row);
        const double step = isinf(p) ? radius : shared->low;
        costs->step[row] = 0;
        costs->norms[row] = 0;
        if (!(step > 0) || !nadir_lmo_cost_row_read_active(costs, row, work)) {
            continue;
        }
        costs->step[row] = step;
        costs->norms[row] = nadir_lmo_cost_row_solve(&work->row, p, step, work->indices, work->X, work->work,
                                                     &costs->omega[row]);
        if (shared->share > 0) {
            double omega;
            (void)nadir_lmo_cost_row_solve(&work->row, p, shared->high, work->indices, work->second,
                                           work->work, &omega);
            for (int64_t i = 0; i < work->row.count; i++) {
                work->X[i] += shared->share * (work->second[i] - work->X[i]);
            }
            costs->norms[row] = nadir_lmo_cost_row_norm(&work->row, p, work->X, work->work);
        }
        NADIR_CHECK(nadir_lmo_row_costs_append(context, costs, row, work));
    }
cleanup:
    return status;
}

/* Free domain: X = Phat - alpha t u_q(c), with t for each row by Hölder's equality. */
static nadir_status solve_free(nadir_context *context, nadir_lmo_row_costs *costs,
                               const nadir_lmo_cost_group *group, nadir_lmo_cost_work *work)
{
    nadir_status status = NADIR_OK;
    const double q = costs->set->q;
    const int64_t count = group->end - group->first;
    double *t = costs->norms + group->first;
    double norm;
    nadir_gstd gstd;
    for (int64_t row = group->first; row < group->end; row++) {
        costs->norms[row] = 0;
        if (group->radius > 0 && nadir_lmo_cost_row_read_active(costs, row, work)) {
            NADIR_CHECK(
                nadir_gstd_compute(context, 0, work->row.count, work->row.cost, q, work->work, NULL, &gstd));
            costs->norms[row] = work->row.alpha * gstd.sigma;
        }
    }
    NADIR_CHECK(nadir_norm_dual(context, 0, count, t, q, t, &norm));
    for (int64_t row = group->first; row < group->end; row++) {
        costs->step[row] = 0;
        costs->norms[row] *= group->radius * NADIR_LMO_COST_INSIDE;
        if (!(group->radius > 0) || !nadir_lmo_cost_row_read_active(costs, row, work)) {
            continue;
        }
        NADIR_CHECK(nadir_gstd_compute(context, 0, work->row.count, work->row.cost, q, work->work,
                                       work->second, &gstd));
        costs->omega[row] = gstd.omega;
        costs->step[row] = 1;
        for (int64_t i = 0; i < work->row.count; i++) {
            work->X[i] = work->row.phat[i] - work->row.alpha * costs->norms[row] * work->second[i];
        }
        NADIR_CHECK(nadir_lmo_row_costs_append(context, costs, row, work));
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
        const nadir_lmo_cost_group group = nadir_lmo_cost_group_from(costs, row);
        nadir_lmo_cost_step shared = {0};
        row = group.end;
        if (set->domain == NADIR_DOMAIN_FREE) {
            NADIR_CHECK(solve_free(context, costs, &group, &costs->works->each[0]));
            continue;
        }
        if (!isinf(set->p)) {
            shared = solve_step(costs, &group);
        }
        NADIR_CHECK(solve_group(context, costs, &group, &shared, &costs->works->each[0]));
        if (set->set == NADIR_SET_NONRECT && set->p == 2 && shared.active) {
            costs->tau = costs->scale / (2 * shared.low);
        }
    }
    costs->gain = fmax(costs->gain, 0);
cleanup:
    return status;
}
