/* rows.c: row problems by norm, and what they have in common; see rows.h. */
#include "adversary/rows/lmo_internal.h"

#include "linalg/prefetch.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <omp.h>

/* Of less, alpha beta, nothing would be left of products with it: the rows stay as they are. */
#define LEAST (DBL_MIN / DBL_EPSILON)

/* Values of rows to come: in a long vector each successor is far from the last. */
static void send_for_rows(const nadir_lmo *rows, const nadir_row *row)
{
    const nadir_model *model = rows->model;
    if (row->columns != NULL) {
        const int64_t start = row->columns - model->columns;
        nadir_prefetch(rows->order->x, model->columns, start, start + row->count,
                       nadir_prefetch_entries(rows->order->states, model->row_starts[model->rows]));
    }
}

double nadir_lmo_row_base(const nadir_lmo *rows, const nadir_row *row)
{
    if (rows->domain == NADIR_DOMAIN_SIMPLEX) {
        return 0;
    }
    double base = 1;
    send_for_rows(rows, row);
    for (int64_t i = 0; i < row->count; i++) {
        const double x = rows->order->x[nadir_row_column(row, i)];
        base = row->values[i] > 0 && x < base ? x : base;
    }
    return base;
}

/* The values of the successors of a sparse row, less the base, which is looked for on the way. Those of the
 * next rows are sent for into the first cache: there is work between rows, during which they come. */
static double take_values(const nadir_lmo *rows, const nadir_row *row, double *room)
{
    enum { SOON = 24 };
    const double *x = rows->order->x;
    const nadir_model *model = rows->model;
    const int64_t left = model->row_starts[model->rows] - (row->columns - model->columns);
    const bool support = rows->domain != NADIR_DOMAIN_SIMPLEX;
    double base = support ? 1 : 0;
    for (int64_t i = 0; i < row->count; i++) {
        const double here = x[row->columns[i]];
        const double allowed = support && row->values[i] > 0 ? here : 1;
        __builtin_prefetch(&x[row->columns[i + SOON < left ? i + SOON : i]]);
        room[i] = here;
        base = allowed < base ? allowed : base;
    }
    for (int64_t i = 0; i < row->count; i++) {
        room[i] -= base;
    }
    return base;
}

nadir_lmo_row_view nadir_lmo_row_view_make(const nadir_lmo *rows, int64_t row, double *room)
{
    const nadir_row raw = nadir_model_row(rows->model, row);
    const double *x = rows->order->x;
    nadir_lmo_row_view view = {
        .count = raw.count,
        .phat = raw.values,
        .x = x,
        .alpha = nadir_lmo_scale(rows, row),
    };
    if (raw.columns != NULL) {
        view.base = take_values(rows, &raw, room);
        view.x = room;
        view.spread = rows->domain == NADIR_DOMAIN_SIMPLEX;
        return view;
    }
    view.base = nadir_lmo_row_base(rows, &raw);
    if (rows->domain == NADIR_DOMAIN_SIMPLEX) {
        return view;
    }
    /* zeros of a dense row are no successors */
    double *phat = room + raw.count;
    view.count = 0;
    for (int64_t i = 0; i < raw.count; i++) {
        room[view.count] = x[i] - view.base;
        phat[view.count] = raw.values[i];
        view.count += raw.values[i] > 0;
    }
    view.x = room;
    view.phat = phat;
    return view;
}

nadir_lmo_concentrated nadir_lmo_concentrate(const nadir_lmo *rows, const nadir_lmo_row_view *view)
{
    const double p = rows->p;
    nadir_lmo_concentrated settled = {0};
    double largest = 0;
    for (int64_t i = 0; i < view->count; i++) {
        const bool lowest = view->x[i] <= 0;
        settled.count += lowest && !view->spread;
        settled.moved += lowest ? 0 : view->phat[i];
        settled.gain += view->phat[i] * view->x[i];
        largest = lowest ? largest : fmax(largest, view->phat[i]);
    }
    if (view->spread) {
        settled.count = (double)nadir_value_order_below(rows->order, DBL_TRUE_MIN).count; /* all of x = 0 */
    }
    if (settled.moved > 0) {
        const double lift = settled.moved / settled.count;
        largest = fmax(largest, lift);
        double sum = settled.count * nadir_power(lift / largest, p);
        for (int64_t i = 0; i < view->count; i++) {
            const bool lowest = view->x[i] <= 0;
            sum += lowest ? 0 : nadir_power(view->phat[i] / largest, p);
        }
        settled.norm = largest * nadir_power(sum, 1 / p) / view->alpha;
    }
    return settled;
}

static int64_t row_length(const nadir_model *model, int64_t row)
{
    return model->dense != NULL ? model->states : model->row_starts[row + 1] - model->row_starts[row];
}

static int64_t longest_row(const nadir_model *model, int64_t first, int64_t end)
{
    int64_t longest = 0;
    for (int64_t row = first; row < end; row++) {
        const int64_t length = row_length(model, row);
        longest = length > longest ? length : longest;
    }
    return longest;
}

static int64_t entries_of(const nadir_model *model, int64_t first, int64_t end)
{
    return model->dense != NULL ? (end - first) * model->states
                                : model->row_starts[end] - model->row_starts[first];
}

int64_t nadir_lmo_scratch_size(const nadir_lmo *rows, int64_t first, int64_t end)
{
    if (rows->p == 1) {
        return 2 * entries_of(rows->model, first, end);
    }
    return (rows->p == 2 ? NADIR_LMO_PIECE_SIZE : 1) * (end - first);
}

int64_t nadir_lmo_work_size(const nadir_lmo *rows, int64_t first, int64_t end)
{
    return 3 * longest_row(rows->model, first, end) + nadir_lmo_scratch_size(rows, first, end) +
           (end - first);
}

/* Whether the work on a row is still wanted. */
static bool goes_on(const nadir_lmo_group *group)
{
    return group->context == NULL ||
           nadir_progress_team(group->context, "solving row problems", -1, group->stopped);
}

void nadir_lmo_group_run(const nadir_lmo_group *group, nadir_lmo_row_work work, void *data)
{
    if (group->threads == 1) {
        for (int64_t i = 0; i < group->moving_count && goes_on(group); i++) {
            work(group, group->moving[i], group->room, data);
        }
        return;
    }
#pragma omp parallel num_threads(group->threads)
    {
        double *room = group->room + group->room_each * omp_get_thread_num();
#pragma omp for schedule(dynamic, 64)
        for (int64_t i = 0; i < group->moving_count; i++) {
            if (goes_on(group)) {
                work(group, group->moving[i], room, data);
            }
        }
    }
}

static double step_of_price(const nadir_lmo *rows, double reach, double price)
{
    const double p = rows->p;
    const double ratio = reach / price / p; /* p = 1: as it is */
    if (p <= 2 || (ratio >= DBL_MIN && ratio <= DBL_MAX)) {
        return p <= 2 ? ratio : nadir_power(ratio, 1 / (p - 1));
    }
    /* prices of large powers are beyond all numbers, their roots are not */
    return nadir_power(reach / p, 1 / (p - 1)) / nadir_power(price, 1 / (p - 1));
}

void nadir_lmo_solution_concentrate(const nadir_lmo *rows, const nadir_lmo_row_view *view,
                                    nadir_lmo_solution *answer)
{
    const nadir_lmo_concentrated settled = nadir_lmo_concentrate(rows, view);
    *answer = (nadir_lmo_solution){.step = INFINITY, .gain = settled.gain, .norm = settled.norm};
}

void nadir_lmo_penalized(const nadir_lmo *rows, int64_t row, double weight, double price, double *room,
                         nadir_lmo_solution *answer)
{
    const double range = rows->order->range;
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(rows, row, room);
    const double step = step_of_price(rows, view.alpha * weight * range, price);
    if (!(view.alpha * weight * range > 0) || step <= 0) {
        *answer = (nadir_lmo_solution){0};
        return;
    }
    answer->step = step;
    if (isinf(step)) {
        nadir_lmo_solution_concentrate(rows, &view, answer);
    } else if (rows->p == 1) {
        nadir_lmo_l1_row(&view, 1, 2 / step, 0, answer);
    } else if (rows->p == 2) {
        nadir_lmo_l2_row(rows, &view, answer);
    } else {
        nadir_lmo_lp_row(rows, &view, answer);
    }
    answer->gain *= range;
}

/* Each row that can move at its smallest v. */
static void settle_row(const nadir_lmo_group *group, int64_t row, double *room, void *data)
{
    nadir_lmo_solution *settled = data;
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(group->rows, row, room);
    nadir_lmo_solution_concentrate(group->rows, &view, &settled[row - group->first]);
}

double nadir_lmo_group_norm(const nadir_lmo_group *group)
{
    const double p = group->rows->p;
    double largest = 0;
    for (int64_t i = 0; i < group->moving_count; i++) {
        const double norm = group->answers[group->moving[i] - group->first].norm;
        largest = norm > largest ? norm : largest;
    }
    largest = nadir_lmo_group_largest(group, largest);
    if (isinf(p) || largest <= 0 || !isfinite(largest)) {
        return largest;
    }
    double sum = 0;
    double lost = 0;
    for (int64_t i = 0; i < group->moving_count; i++) {
        const double norm = group->answers[group->moving[i] - group->first].norm;
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
    nadir_lmo_group_run(group, settle_row, group->answers);
}

bool nadir_lmo_group_is_inactive(const nadir_lmo_group *group)
{
    enum { FEW = 8 };                                     /* rows that mostly show it already */
    const int64_t looks = group->whole != NULL ? 0 : FEW; /* processes must agree */
    for (int64_t i = 0; i < group->moving_count && i < looks; i++) {
        settle_row(group, group->moving[i], group->room, group->answers);
        if (group->answers[group->moving[i] - group->first].norm > group->beta) {
            return false;
        }
    }
    nadir_lmo_group_concentrate(group);
    return nadir_lmo_group_norm(group) <= group->beta;
}

/* The step of a row of alpha w = unit over that of a row of alpha w = 1. */
static double unit_factor(const nadir_lmo *rows, double unit)
{
    return rows->p <= 2 ? unit : nadir_power(unit, 1 / (rows->p - 1));
}

static nadir_lmo_common solve_group(const nadir_lmo_group *group, double start)
{
    const double p = group->rows->p;
    return p == 1     ? nadir_lmo_l1(group)
           : p == 2   ? nadir_lmo_l2(group, start)
           : isinf(p) ? nadir_lmo_linf(group)
                      : nadir_lmo_lp(group, start);
}

/* The rows that can move; the answers of others are none. */
static void list_moving(nadir_lmo_group *group, bool moves)
{
    group->moving_count = 0;
    for (int64_t row = group->first; row < group->end; row++) {
        nadir_lmo_solution *answer = &group->answers[row - group->first];
        if (moves && nadir_lmo_group_weight(group, row) > 0) {
            group->moving[group->moving_count++] = row;
        } else if (answer->step != 0 || answer->omega != 0 || answer->norm != 0) {
            *answer = (nadir_lmo_solution){0};
        }
    }
}

static void share_budget(nadir_lmo_group *group, nadir_lmo_budget *budget)
{
    const nadir_lmo *rows = group->rows;
    const int64_t count = group->end - group->first;
    const double range = rows->order->range;
    double start = 0; /* the step of a row of alpha w = unit */
    double alpha = 0;
    for (int64_t i = 0; i < count; i++) {
        const double reach = nadir_lmo_scale(rows, group->first + i) * group->weights[i];
        alpha = reach > 0 ? fmax(alpha, nadir_lmo_scale(rows, group->first + i)) : alpha;
        if (reach > group->unit) {
            start = group->answers[i].step;
            group->unit = reach;
        }
    }
    if (group->whole != NULL) { /* the step of whoever has the largest */
        const double own = group->unit;
        group->unit = nadir_allreduce_maximum(group->whole, own);
        alpha = nadir_allreduce_maximum(group->whole, alpha);
        start = nadir_allreduce_maximum(group->whole, own == group->unit && isfinite(start) ? start : 0);
    }
    const bool moves = group->unit > 0 && range > 0 && group->beta * alpha > LEAST;
    list_moving(group, moves);
    if (!moves) {
        *budget = (nadir_lmo_budget){.step = INFINITY};
        return;
    }
    const double factor = unit_factor(rows, group->unit);
    const nadir_lmo_common common = solve_group(group, isfinite(start) ? start : 0);
    budget->step = common.step / factor;
    budget->tau = common.tau * range * group->unit;
    budget->gain = 0;
    for (int64_t i = 0; i < group->moving_count; i++) {
        const int64_t place = group->moving[i] - group->first;
        group->answers[place].gain *= range;
        budget->gain += group->weights[place] * group->answers[place].gain;
    }
    budget->gain = nadir_lmo_group_sum(group, budget->gain);
    budget->norm = nadir_lmo_group_norm(group);
}

void nadir_lmo_solve(const nadir_lmo *rows, int64_t first, int64_t end, const double *weights, double beta,
                     double *room, nadir_lmo_solution *answers, nadir_lmo_budget *budget)
{
    const int64_t each = 3 * longest_row(rows->model, first, end);
    nadir_lmo_group group = {
        .rows = rows,
        .first = first,
        .end = end,
        .weights = weights,
        .beta = beta * NADIR_LMO_INSIDE,
        .threads = 1,
        .room = room,
        .room_each = each,
        .scratch = room + each,
        .moving = (int64_t *)(void *)(room + each + nadir_lmo_scratch_size(rows, first, end)),
        .answers = answers,
    };
    share_budget(&group, budget);
}

nadir_status nadir_lmo_solve_all(nadir_context *context, const nadir_lmo *rows, const double *weights,
                                 double beta, nadir_lmo_solution *answers, nadir_lmo_budget *budget)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = rows->model;
    const int64_t each = 3 * longest_row(model, 0, model->rows);
    nadir_lmo_group group = {
        .rows = rows,
        .end = model->rows,
        .weights = weights,
        .beta = beta * NADIR_LMO_INSIDE,
        .threads = nadir_threads_for(context, 4 * entries_of(model, 0, model->rows)),
        .room_each = each,
        .answers = answers,
        .whole = model->exchange != NULL ? context : NULL,
        .stopped = &status,
    };
    if (rows->p != 1 && rows->p != 2 &&
        !isinf(rows->p)) { /* rows that may take as long as there are states */
        group.context = context;
    }
    NADIR_NEW(context, group.room, group.threads * each);
    NADIR_NEW(context, group.scratch, nadir_lmo_scratch_size(rows, 0, model->rows));
    NADIR_NEW(context, group.moving, model->rows);
    share_budget(&group, budget);
    if (status != NADIR_OK) {
        goto cleanup;
    }
    NADIR_CHECK(nadir_progress(context, "solving row problems", -1));
cleanup:
    nadir_release(context, group.room);
    nadir_release(context, group.scratch);
    nadir_release(context, group.moving);
    return status;
}
