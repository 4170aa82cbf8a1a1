/* lmo.c: the linear minimisation oracle by norm, and what all norms have in common; see lmo.h. */
#include "sets/lmo_internal.h"

#include "linalg/prefetch.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <omp.h>

/* alpha beta below this leaves nothing of products with it: the rows stay nominal. */
#define SMALLEST_RADIUS (DBL_MIN / DBL_EPSILON)

/* Prefetches the values of the next rows: in a long vector each successor is far from the last. */
static void prefetch_rows(const nadir_lmo *lmo, const nadir_row *row)
{
    const nadir_model *model = lmo->model;
    if (row->columns != NULL) {
        const int64_t start = row->columns - model->columns;
        nadir_prefetch(lmo->order->x, model->columns, start, start + row->count,
                       nadir_prefetch_entries(lmo->order->states, model->row_starts[model->rows]));
    }
}

double nadir_lmo_row_base(const nadir_lmo *lmo, const nadir_row *row)
{
    if (lmo->domain == NADIR_DOMAIN_SIMPLEX) {
        return 0;
    }
    double base = 1;
    prefetch_rows(lmo, row);
    for (int64_t i = 0; i < row->count; i++) {
        const double x = lmo->order->x[nadir_row_column(row, i)];
        base = row->values[i] > 0 && x < base ? x : base;
    }
    return base;
}

/* work <- x of the successors of a sparse row, less the base, which is returned. The values of the next rows
 * are prefetched into the first cache: they arrive during the work between rows. */
static double copy_values(const nadir_lmo *lmo, const nadir_row *row, double *work)
{
    enum { DISTANCE = 24 };
    const double *x = lmo->order->x;
    const nadir_model *model = lmo->model;
    const int64_t left = model->row_starts[model->rows] - (row->columns - model->columns);
    const bool support = lmo->domain != NADIR_DOMAIN_SIMPLEX;
    double base = support ? 1 : 0;
    for (int64_t i = 0; i < row->count; i++) {
        const double value = x[row->columns[i]];
        const double allowed = support && row->values[i] > 0 ? value : 1;
        __builtin_prefetch(&x[row->columns[i + DISTANCE < left ? i + DISTANCE : i]]);
        work[i] = value;
        base = allowed < base ? allowed : base;
    }
    for (int64_t i = 0; i < row->count; i++) {
        work[i] -= base;
    }
    return base;
}

nadir_lmo_row_view nadir_lmo_row_view_make(const nadir_lmo *lmo, int64_t row, double *work)
{
    const nadir_row raw = nadir_model_row(lmo->model, row);
    const double *x = lmo->order->x;
    nadir_lmo_row_view view = {
        .count = raw.count,
        .phat = raw.values,
        .x = x,
        .alpha = nadir_lmo_scale(lmo, row),
    };
    if (raw.columns != NULL) {
        view.base = copy_values(lmo, &raw, work);
        view.x = work;
        view.off_support = nadir_lmo_has_tail(lmo);
        return view;
    }
    view.base = nadir_lmo_row_base(lmo, &raw);
    if (lmo->domain == NADIR_DOMAIN_SIMPLEX) {
        return view;
    }
    /* zeros of a dense row are not successors */
    double *phat = work + raw.count;
    view.count = 0;
    for (int64_t i = 0; i < raw.count; i++) {
        work[view.count] = x[i] - view.base;
        phat[view.count] = raw.values[i];
        view.count += raw.values[i] > 0;
    }
    view.x = work;
    view.phat = phat;
    return view;
}

static nadir_lmo_concentrated measure_concentrated(const nadir_lmo *lmo, const nadir_lmo_row_view *view)
{
    const double p = lmo->p;
    nadir_lmo_concentrated made = {0};
    double largest = 0;
    for (int64_t i = 0; i < view->count; i++) {
        const bool lowest = view->x[i] <= 0;
        made.count += lowest && !view->off_support;
        made.moved += lowest ? 0 : view->phat[i];
        made.gain += view->phat[i] * view->x[i];
        largest = lowest ? largest : fmax(largest, view->phat[i]);
    }
    if (view->off_support) {
        made.count = (double)nadir_value_order_below(lmo->order, DBL_TRUE_MIN).count; /* all of x = 0 */
    }
    if (made.moved > 0) {
        const double lift = made.moved / made.count;
        largest = fmax(largest, lift);
        double sum = made.count * nadir_power(lift / largest, p);
        for (int64_t i = 0; i < view->count; i++) {
            const bool lowest = view->x[i] <= 0;
            sum += lowest ? 0 : nadir_power(view->phat[i] / largest, p);
        }
        made.norm = largest * nadir_power(sum, 1 / p) / view->alpha;
    }
    return made;
}

int64_t nadir_lmo_longest_row(const nadir_model *model, int64_t first, int64_t end)
{
    int64_t longest = 0;
    for (int64_t row = first; row < end; row++) {
        const int64_t length = nadir_lmo_row_start(model, row + 1) - nadir_lmo_row_start(model, row);
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Doubles of scratch for rows first .. end - 1, without the list of those that move. */
static int64_t scratch_size(const nadir_lmo *lmo, int64_t first, int64_t end)
{
    if (lmo->p == 1) {
        return 2 * (nadir_lmo_row_start(lmo->model, end) - nadir_lmo_row_start(lmo->model, first));
    }
    return (lmo->p == 2 ? NADIR_LMO_PIECE_SIZE : 1) * (end - first);
}

int64_t nadir_lmo_work_size(const nadir_lmo *lmo, int64_t first, int64_t end)
{
    return 3 * nadir_lmo_longest_row(lmo->model, first, end) + scratch_size(lmo, first, end) + (end - first);
}

/* Whether nobody has asked to stop. */
static bool continues(const nadir_lmo_group *group)
{
    return group->context == NULL ||
           nadir_progress_team(group->context, "solving row problems", -1, group->stopped);
}

void nadir_lmo_group_run(const nadir_lmo_group *group, nadir_lmo_row_work function, void *data)
{
    if (group->threads == 1) {
        for (int64_t i = 0; i < group->moving_count && continues(group); i++) {
            function(group, group->moving[i], group->work, data);
        }
        return;
    }
#pragma omp parallel num_threads(group->threads)
    {
        double *work = group->work + group->work_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 64)
        for (int64_t i = 0; i < group->moving_count; i++) {
            if (continues(group)) {
                function(group, group->moving[i], work, data);
            }
        }
    }
}

static double step_of_price(const nadir_lmo *lmo, double reach, double price)
{
    const double p = lmo->p;
    const double ratio = reach / price / p; /* p = 1: as it is */
    if (p <= 2 || (ratio >= DBL_MIN && ratio <= DBL_MAX)) {
        return p <= 2 ? ratio : nadir_power(ratio, 1 / (p - 1));
    }
    /* the powers overflow or underflow, their roots do not */
    return nadir_power(reach / p, 1 / (p - 1)) / nadir_power(price, 1 / (p - 1));
}

void nadir_lmo_solution_concentrate(const nadir_lmo *lmo, const nadir_lmo_row_view *view,
                                    nadir_lmo_solution *solution)
{
    const nadir_lmo_concentrated made = measure_concentrated(lmo, view);
    *solution = (nadir_lmo_solution){.step = INFINITY, .gain = made.gain, .norm = made.norm};
}

void nadir_lmo_solve_penalized(const nadir_lmo *lmo, int64_t row, double weight, double price, double *work,
                               nadir_lmo_solution *solution)
{
    const double range = lmo->order->range;
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(lmo, row, work);
    const double step = step_of_price(lmo, view.alpha * weight * range, price);
    if (!(view.alpha * weight * range > 0) || step <= 0) {
        *solution = (nadir_lmo_solution){0};
        return;
    }
    solution->step = step;
    if (isinf(step)) {
        nadir_lmo_solution_concentrate(lmo, &view, solution);
    } else if (lmo->p == 1) {
        nadir_lmo_l1_row(&view, 1, 2 / step, 0, solution);
    } else if (lmo->p == 2) {
        nadir_lmo_l2_row(lmo, &view, solution);
    } else {
        nadir_lmo_lp_row(lmo, &view, solution);
    }
    solution->gain *= range;
}

/* All mass of a row at its smallest v. */
static void concentrate_row(const nadir_lmo_group *group, int64_t row, double *work, void *data)
{
    nadir_lmo_solution *solutions = data;
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(group->lmo, row, work);
    nadir_lmo_solution_concentrate(group->lmo, &view, &solutions[row - group->first]);
}

double nadir_lmo_group_norm(const nadir_lmo_group *group)
{
    const double p = group->lmo->p;
    double largest = 0;
    for (int64_t i = 0; i < group->moving_count; i++) {
        const double norm = group->solutions[group->moving[i] - group->first].norm;
        largest = norm > largest ? norm : largest;
    }
    largest = nadir_lmo_group_largest(group, largest);
    if (isinf(p) || largest <= 0 || !isfinite(largest)) {
        return largest;
    }
    double sum = 0;
    double lost = 0;
    for (int64_t i = 0; i < group->moving_count; i++) {
        const double norm = group->solutions[group->moving[i] - group->first].norm;
        if (norm == 0) {
            continue;
        }
        const double term = nadir_power(norm / largest, p);
        const double next = sum + term;
        lost += sum >= term ? (sum - next) + term : (term - next) + sum;
        sum = next;
    }
    return largest * nadir_power(nadir_lmo_group_sum(group, sum + lost), 1 / p);
}

void nadir_lmo_group_concentrate(const nadir_lmo_group *group)
{
    nadir_lmo_group_run(group, concentrate_row, group->solutions);
}

bool nadir_lmo_group_is_inactive(const nadir_lmo_group *group)
{
    enum { SAMPLE = 8 }; /* a row that leaves the ball alone is mostly among these */
    const int64_t sample = group->global != NULL ? 0 : SAMPLE; /* processes must agree */
    for (int64_t i = 0; i < group->moving_count && i < sample; i++) {
        concentrate_row(group, group->moving[i], group->work, group->solutions);
        if (group->solutions[group->moving[i] - group->first].norm > group->beta) {
            return false;
        }
    }
    nadir_lmo_group_concentrate(group);
    return nadir_lmo_group_norm(group) <= group->beta;
}

/* The step of a row of alpha w = unit over that of a row of alpha w = 1. */
static double unit_factor(const nadir_lmo *lmo, double unit)
{
    return lmo->p <= 2 ? unit : nadir_power(unit, 1 / (lmo->p - 1));
}

static nadir_lmo_common solve_by_norm(const nadir_lmo_group *group, double start)
{
    const double p = group->lmo->p;
    return p == 1     ? nadir_lmo_l1(group)
           : p == 2   ? nadir_lmo_l2(group, start)
           : isinf(p) ? nadir_lmo_linf(group)
                      : nadir_lmo_lp(group, start);
}

/* Lists the rows that can move; clears the solutions of the others. */
static void list_moving(nadir_lmo_group *group, bool moves)
{
    group->moving_count = 0;
    for (int64_t row = group->first; row < group->end; row++) {
        nadir_lmo_solution *solution = &group->solutions[row - group->first];
        if (moves && nadir_lmo_group_weight(group, row) > 0) {
            group->moving[group->moving_count++] = row;
        } else if (solution->step != 0 || solution->omega != 0 || solution->norm != 0) {
            *solution = (nadir_lmo_solution){0};
        }
    }
}

static void share_budget(nadir_lmo_group *group, nadir_lmo_budget *budget)
{
    const nadir_lmo *lmo = group->lmo;
    const int64_t count = group->end - group->first;
    const double range = lmo->order->range;
    double start = 0; /* the step of a row of alpha w = unit */
    double alpha = 0;
    for (int64_t i = 0; i < count; i++) {
        const double reach = nadir_lmo_scale(lmo, group->first + i) * group->weights[i];
        alpha = reach > 0 ? fmax(alpha, nadir_lmo_scale(lmo, group->first + i)) : alpha;
        if (reach > group->unit) {
            start = group->solutions[i].step;
            group->unit = reach;
        }
    }
    if (group->global != NULL) { /* the step of the process that has the largest */
        const double own = group->unit;
        group->unit = nadir_allreduce_maximum(group->global, own);
        alpha = nadir_allreduce_maximum(group->global, alpha);
        start = nadir_allreduce_maximum(group->global, own == group->unit && isfinite(start) ? start : 0);
    }
    const bool moves = group->unit > 0 && range > 0 && group->beta * alpha > SMALLEST_RADIUS;
    list_moving(group, moves);
    if (!moves) {
        *budget = (nadir_lmo_budget){.step = INFINITY};
        return;
    }
    const double factor = unit_factor(lmo, group->unit);
    const nadir_lmo_common common = solve_by_norm(group, isfinite(start) ? start : 0);
    budget->step = common.step / factor;
    budget->tau = common.tau * range * group->unit;
    budget->gain = 0;
    for (int64_t i = 0; i < group->moving_count; i++) {
        const int64_t place = group->moving[i] - group->first;
        group->solutions[place].gain *= range;
        budget->gain += group->weights[place] * group->solutions[place].gain;
    }
    budget->gain = nadir_lmo_group_sum(group, budget->gain);
    budget->norm = nadir_lmo_group_norm(group);
}

void nadir_lmo_solve(const nadir_lmo *lmo, int64_t first, int64_t end, const double *weights, double beta,
                     double *work, nadir_lmo_solution *solutions, nadir_lmo_budget *budget)
{
    const int64_t each = 3 * nadir_lmo_longest_row(lmo->model, first, end);
    nadir_lmo_group group = {
        .lmo = lmo,
        .first = first,
        .end = end,
        .weights = weights,
        .beta = beta * NADIR_LMO_INSIDE,
        .threads = 1,
        .work = work,
        .work_each = each,
        .scratch = work + each,
        .moving = (int64_t *)(void *)(work + each + scratch_size(lmo, first, end)),
        .solutions = solutions,
    };
    share_budget(&group, budget);
}

nadir_status nadir_lmo_solve_all(nadir_context *context, const nadir_lmo *lmo, const double *weights,
                                 double beta, nadir_lmo_solution *solutions, nadir_lmo_budget *budget)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = lmo->model;
    const int64_t each = 3 * nadir_lmo_longest_row(model, 0, model->rows);
    nadir_lmo_group group = {
        .lmo = lmo,
        .end = model->rows,
        .weights = weights,
        .beta = beta * NADIR_LMO_INSIDE,
        .threads = nadir_threads_for(context, 4 * nadir_lmo_row_start(model, model->rows)),
        .work_each = each,
        .solutions = solutions,
        .global = model->exchange != NULL ? context : NULL,
        .stopped = &status,
    };
    if (lmo->p != 1 && lmo->p != 2 && !isinf(lmo->p)) { /* a row may take time in proportion to the states */
        group.context = context;
    }
    NADIR_NEW(context, group.work, group.threads * each);
    NADIR_NEW(context, group.scratch, scratch_size(lmo, 0, model->rows));
    NADIR_NEW(context, group.moving, model->rows);
    share_budget(&group, budget);
    if (status != NADIR_OK) {
        goto cleanup;
    }
    NADIR_CHECK(nadir_progress(context, "solving row problems", -1));
cleanup:
    nadir_release(context, group.work);
    nadir_release(context, group.scratch);
    nadir_release(context, group.moving);
    return status;
}

nadir_status nadir_lmo_solve_weighted(nadir_context *context, const nadir_lmo *lmo,
                                      const nadir_lmo_weights *weights, double beta,
                                      nadir_lmo_solution *solutions, nadir_lmo_budget *budget)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = lmo->model;
    double *each = NULL;
    NADIR_NEW(context, each, model->rows);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            each[row] = nadir_lmo_weight(weights, s, row);
        }
    }
    NADIR_CHECK(nadir_lmo_solve_all(context, lmo, each, beta, solutions, budget));
cleanup:
    nadir_release(context, each);
    return status;
}
