/*
 * lmo_row_costs.c: the linear minimisation oracle with costs for each row, min sum_r c_r . X_r; see
 * lmo_row_costs.h.
 */
#include "sets/lmo_row_costs.h"

#include "linalg/gstd.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "sets/lmo_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ costs */

nadir_status nadir_lmo_row_costs_make(nadir_context *context, nadir_model *model,
                                      const nadir_uncertainty *set, nadir_lmo_row_costs *costs)
{
    nadir_status status = NADIR_OK;
    if (set->domain != NADIR_DOMAIN_SUPPORT && model->rows > NADIR_LMO_ROW_COSTS_LIMIT / model->states) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "rows of the kernel are written out on domain %s: %lld rows of %lld states are more than %d "
            "entries; take domain support",
            nadir_domain_name(set->domain), (long long)model->rows, (long long)model->states,
            NADIR_LMO_ROW_COSTS_LIMIT);
    }
    costs->model = model;
    costs->set = set;
    costs->order.states = model->states;
    NADIR_NEW_ZERO(context, costs->a, model->rows);
    NADIR_NEW_ZERO(context, costs->b, model->rows);
    NADIR_NEW_ZERO(context, costs->x, model->states);
    NADIR_NEW_ZERO(context, costs->y, model->states);
    NADIR_NEW(context, costs->weights, model->rows);
    NADIR_NEW_ZERO(context, costs->solutions, model->rows);
    NADIR_NEW(context, costs->columns, model->states);
    NADIR_CHECK(nadir_row_list_make(context, model->rows, &costs->changed));
    int64_t work = 5 * model->states;
    if (set->set != NADIR_SET_NONRECT) {
        const nadir_lmo oracle = nadir_lmo_row_costs_oracle(costs);
        for (int64_t s = 0; s < model->states; s++) {
            const int64_t most = nadir_lmo_work_size(&oracle, model->state_rows[s], model->state_rows[s + 1]);
            work = most > work ? most : work;
        }
    }
    NADIR_NEW(context, costs->work, work);
cleanup:
    return status;
}

void nadir_lmo_row_costs_clear(nadir_context *context, nadir_lmo_row_costs *costs)
{
    void *const arrays[] = {costs->a,       costs->b,         costs->x,       costs->y,
                            costs->weights, costs->solutions, costs->columns, costs->work};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        nadir_release(context, arrays[i]);
    }
    nadir_row_list_clear(context, &costs->changed);
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

/* The range of costs of every row that can move. */
static void weigh_rows(nadir_lmo_row_costs *costs)
{
    for (int64_t row = 0; row < costs->model->rows; row++) {
        const bool matters = costs->given != NULL || costs->a[row] != 0 || costs->b[row] != 0;
        costs->weights[row] = 0; /* for the view: costs as they are */
        if (matters && nadir_uncertainty_scale(costs->set, row) > 0) {
            const nadir_lmo_row_view view = nadir_lmo_row_costs_view(costs, row, costs->work);
            costs->weights[row] = nadir_vector_largest(view.count, view.x);
        }
    }
}

nadir_status nadir_lmo_row_costs_set(nadir_context *context, nadir_lmo_row_costs *costs, double gamma,
                                     double landing, const double *d_a, const double *pi_a, const double *v_a,
                                     const double *d_b, const double *pi_b, const double *v_b)
{
    const nadir_model *model = costs->model;
    const double range_a = subtract_smallest(model->states, v_a, costs->x);
    const double range_b = subtract_smallest(model->states, v_b, costs->y);
    costs->given = NULL;
    costs->scale = fmax(range_a, range_b);
    if (landing != 0) {
        costs->scale = fmax(costs->scale, fabs(landing) * nadir_landing_largest(model));
    }
    costs->landing = costs->scale > 0 ? landing / costs->scale : 0;
    costs->order.range = costs->scale;
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
    if (!finite) {
        return nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                          "values or occupancies of a policy are beyond the range of numbers");
    }
    weigh_rows(costs);
    return NADIR_OK;
}

nadir_status nadir_lmo_row_costs_give(nadir_context *context, nadir_lmo_row_costs *costs,
                                      const int64_t *starts, const double *given)
{
    const nadir_model *model = costs->model;
    costs->given = given;
    costs->starts = starts;
    costs->scale = 1; /* for the view: costs as they are */
    weigh_rows(costs);
    costs->scale = nadir_vector_largest(model->rows, costs->weights);
    if (!isfinite(costs->scale)) {
        return nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                          "values or occupancies of a policy are beyond the range of numbers");
    }
    costs->order.range = costs->scale;
    for (int64_t row = 0; costs->scale > 0 && row < model->rows; row++) {
        costs->weights[row] /= costs->scale;
    }
    return NADIR_OK;
}

nadir_lmo_row_view nadir_lmo_row_costs_view(const nadir_lmo_row_costs *costs, int64_t row, double *work)
{
    const nadir_row nominal = nadir_model_row(costs->model, row);
    const bool support = costs->set->domain == NADIR_DOMAIN_SUPPORT;
    const double a = costs->a[row];
    const double b = costs->b[row];
    const double weight = costs->weights[row] > 0 ? costs->weights[row] : 1;
    double *phat = work + (support ? nominal.count : costs->model->states);
    double lowest = INFINITY;
    int64_t count = 0;
    if (!support) {
        count = costs->model->states;
        memset(phat, 0, (size_t)count * sizeof *phat);
        for (int64_t t = 0; t < count; t++) {
            work[t] = a * costs->x[t] - b * costs->y[t];
            lowest = fmin(lowest, work[t]);
        }
    }
    for (int64_t i = 0; i < nominal.count; i++) {
        const int64_t t = nadir_row_column(&nominal, i);
        if (!support) {
            phat[t] = nominal.values[i];
        } else if (nominal.values[i] > 0) {
            work[count] = a * costs->x[t] - b * costs->y[t];
            lowest = fmin(lowest, work[count]);
            phat[count++] = nominal.values[i];
        }
    }
    if (costs->given != NULL) {
        for (int64_t i = 0; i < count; i++) {
            work[i] = costs->given[costs->starts[row] + i] / costs->scale;
        }
        lowest = nadir_vector_smallest(count, work);
    } else if (costs->landing != 0) {
        nadir_landing_add(costs->model, row, (a - b) * costs->landing, support, work);
        lowest = nadir_vector_smallest(count, work);
    }
    for (int64_t i = 0; i < count; i++) {
        work[i] = (work[i] - lowest) / weight;
    }
    nadir_lmo_row_view view = {
        .count = count,
        .phat = phat,
        .x = work,
        .alpha = nadir_uncertainty_scale(costs->set, row),
        .low = costs->set->lower != NULL ? costs->set->lower + costs->model->row_starts[row] : NULL,
        .high = costs->set->lower != NULL ? costs->set->upper + costs->model->row_starts[row] : NULL,
        .scratch = work + 2 * count,
    };
    if (costs->set->weights != NULL) {
        nadir_lmo_row_view_weigh(costs->set->weights,
                                 nominal.columns != NULL ? costs->model->row_starts[row]
                                                         : row * costs->model->states,
                                 &nominal, work, &view);
    }
    return view;
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
    costs->changed.made.count = 0;
    costs->gain = 0;
    costs->tau = 0;
}

void nadir_lmo_row_costs_columns(const nadir_lmo_row_costs *costs, int64_t row, int32_t *columns)
{
    const nadir_row nominal = nadir_model_row(costs->model, row);
    const bool support = costs->set->domain == NADIR_DOMAIN_SUPPORT;
    int64_t count = 0;
    for (int64_t i = 0; i < (support ? nominal.count : costs->model->states); i++) {
        columns[count] = (int32_t)(support ? nadir_row_column(&nominal, i) : i);
        count += !support || nominal.values[i] > 0;
    }
}

nadir_status nadir_lmo_row_costs_append(nadir_context *context, nadir_lmo_row_costs *costs, int64_t row,
                                        const nadir_lmo_row_view *view, double *X)
{
    const double weight = costs->weights[row] > 0 ? costs->weights[row] : 1;
    int64_t count = 0;
    double gain = 0;
    nadir_lmo_row_costs_columns(costs, row, costs->columns);
    for (int64_t i = 0; i < view->count; i++) {
        gain += (view->phat[i] - X[i]) * view->x[i];
        costs->columns[count] = costs->columns[i];
        X[count] = X[i];
        count += X[i] != 0;
    }
    costs->gain += gain * weight * costs->scale;
    return nadir_row_list_append(context, &costs->changed, row, count, costs->columns, X);
}

/* An entry of a row in the order of costs. */
typedef struct ranked {
    double cost;
    int64_t place;
} ranked;

static int compare_costs(const void *a, const void *b)
{
    const ranked *i = a;
    const ranked *j = b;
    return i->cost < j->cost ? -1 : i->cost > j->cost ? 1 : (i->place > j->place) - (i->place < j->place);
}

/* p = infinity: as much as the radius, and the box, allow is taken from every entry and given to the cheapest. */
static void solve_linf(const nadir_lmo_row_view *view, double radius, ranked *order,
                       nadir_lmo_solution *solution, double *X)
{
    double left = 0; /* mass to give away */
    for (int64_t i = 0; i < view->count; i++) {
        const double taken = fmin(fmax(view->phat[i] - (view->low != NULL ? view->low[i] : 0), 0), radius);
        order[i] = (ranked){view->x[i], i};
        X[i] = view->phat[i] - taken;
        left += taken;
    }
    qsort(order, (size_t)view->count, sizeof *order, compare_costs);
    for (int64_t i = 0; i < view->count && left > 0; i++) {
        const int64_t t = order[i].place;
        const double most = view->high != NULL ? fmax(view->high[t] - X[t], 0) : INFINITY;
        const double given = fmin(fmin(left, view->phat[t] - X[t] + radius), most);
        X[t] += given;
        left -= given;
        solution->omega = view->x[t];
    }
}

/* Free domain: X = Phat - alpha t u_q(c), with t for each row by Hölder's equality. */
static nadir_status solve_free(nadir_context *context, nadir_lmo_row_costs *costs,
                               const nadir_lmo_cost_group *group)
{
    nadir_status status = NADIR_OK;
    const double q = costs->set->q;
    const int64_t n = costs->model->states;
    double *u = costs->work + 2 * n;
    double *X = costs->work + 3 * n;
    double *t = NULL;
    double norm;
    nadir_gstd gstd;
    NADIR_NEW_ZERO(context, t, group->end - group->first);
    for (int64_t row = group->first; row < group->end; row++) {
        if (group->radius > 0 && costs->weights[row] > 0) {
            const nadir_lmo_row_view view = nadir_lmo_row_costs_view(costs, row, costs->work);
            NADIR_CHECK(nadir_gstd_compute(context, 0, n, view.x, q, u, NULL, &gstd));
            t[row - group->first] = view.alpha * costs->weights[row] * gstd.sigma;
        }
    }
    NADIR_CHECK(nadir_norm_dual(context, 0, group->end - group->first, t, q, t, &norm));
    for (int64_t row = group->first; row < group->end; row++) {
        if (group->radius > 0 && costs->weights[row] > 0) {
            const nadir_lmo_row_view view = nadir_lmo_row_costs_view(costs, row, costs->work);
            const double moved = view.alpha * t[row - group->first] * group->radius * NADIR_LMO_INSIDE;
            NADIR_CHECK(nadir_gstd_compute(context, 0, n, view.x, q, X, u, &gstd));
            costs->solutions[row].omega = gstd.omega;
            for (int64_t i = 0; i < n; i++) {
                X[i] = view.phat[i] - moved * u[i];
            }
            NADIR_CHECK(nadir_lmo_row_costs_append(context, costs, row, &view, X));
        }
    }
    if (costs->set->set == NADIR_SET_NONRECT && costs->set->p == 2) {
        costs->tau = norm * costs->scale / (2 * group->radius);
    }
cleanup:
    nadir_release(context, t);
    return status;
}

/* The solutions of all rows, from the oracle; p = infinity: their steps alone. */
static nadir_status solve_rows(nadir_context *context, nadir_lmo_row_costs *costs)
{
    const nadir_uncertainty *set = costs->set;
    const nadir_lmo oracle = nadir_lmo_row_costs_oracle(costs);
    nadir_lmo_budget budget;
    if (set->set == NADIR_SET_NONRECT) {
        NADIR_TRY(
            nadir_lmo_solve_all(context, &oracle, costs->weights, set->radius, costs->solutions, &budget));
        costs->tau = set->p == 2 ? budget.tau : 0;
        return NADIR_OK;
    }
    for (int64_t row = 0; row < costs->model->rows;) {
        const nadir_lmo_cost_group group = nadir_lmo_cost_group_from(costs, row);
        if (isinf(set->p)) {
            for (; row < group.end; row++) {
                costs->solutions[row].step = costs->weights[row] > 0 ? group.radius * NADIR_LMO_INSIDE : 0;
            }
        } else {
            nadir_lmo_solve(&oracle, row, group.end, costs->weights + row, group.radius, costs->work,
                            costs->solutions + row, &budget);
        }
        row = group.end;
    }
    return NADIR_OK;
}

nadir_status nadir_lmo_row_costs_solve(nadir_context *context, nadir_lmo_row_costs *costs)
{
    nadir_status status = NADIR_OK;
    const int64_t rows = costs->model->rows;
    const nadir_lmo oracle = nadir_lmo_row_costs_oracle(costs);
    double *X = costs->work + 4 * costs->model->states;
    nadir_lmo_row_costs_begin(costs);
    memset(costs->solutions, 0, (size_t)rows * sizeof *costs->solutions);
    if (costs->set->domain == NADIR_DOMAIN_FREE) {
        for (int64_t row = 0; row < rows;) {
            const nadir_lmo_cost_group group = nadir_lmo_cost_group_from(costs, row);
            NADIR_CHECK(solve_free(context, costs, &group));
            row = group.end;
        }
        goto cleanup;
    }
    NADIR_CHECK(solve_rows(context, costs));
    for (int64_t row = 0; row < rows; row++) {
        nadir_lmo_solution *solution = &costs->solutions[row];
        if (!(solution->step > 0)) {
            continue;
        }
        const nadir_lmo_row_view view = nadir_lmo_row_costs_view(costs, row, costs->work);
        if (isinf(oracle.p)) {
            solve_linf(&view, view.alpha * solution->step,
                       (ranked *)(void *)(costs->work + 2 * costs->model->states), solution, X);
        } else {
            nadir_lmo_row_write(&oracle, &view, solution, X);
        }
        NADIR_CHECK(nadir_lmo_row_costs_append(context, costs, row, &view, X));
    }
cleanup:
    costs->gain = fmax(costs->gain, 0);
    return status;
}
