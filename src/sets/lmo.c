/*
 * lmo.c: the linear minimisation oracle, min sum_r w_r X_r . v: the order of the states, the choice of the
 * norm's solver, and what all norms have in common; see lmo.h.
 */
#include "sets/lmo_internal.h"

#include "linalg/threads.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------------------------- order of the states */

/* A state with its value, as they are sorted. */
typedef struct nadir_placed_state {
    double x;
    int32_t state;
} placed_state;

static int compare_states(const void *left, const void *right)
{
    const placed_state *a = left;
    const placed_state *b = right;
    return a->x < b->x ? -1 : a->x > b->x ? 1 : a->state - b->state;
}

/* A compensated sum of positive numbers. */
typedef struct long_sum {
    double sum, lost;
} long_sum;

static void add(long_sum *to, double term)
{
    const double next = to->sum + term;
    const double part = next - to->sum;
    to->lost += (to->sum - (next - part)) + (term - part);
    to->sum = next;
}

/* With the gap g = x_i - x_(i-1):
 *     first_i = first_(i-1) + i g,    second_i = second_(i-1) + g (2 first_(i-1) + i g).
 * All terms are positive. */
static void fill_sums(nadir_value_order *order)
{
    long_sum first = {0, 0};
    long_sum second = {0, 0};
    order->first[0] = 0;
    order->second[0] = 0;
    for (int64_t i = 1; i < order->states; i++) {
        const double gap = order->sorted[i] - order->sorted[i - 1];
        const double all = (double)i * gap;
        add(&second, gap * (2 * order->first[i - 1] + all));
        add(&first, all);
        order->first[i] = first.sum + first.lost;
        order->second[i] = second.sum + second.lost;
    }
}

/* A number as the sum of two, the second below the rounding of the first: to about 2 u^2. */
typedef struct pair {
    double high, low;
} pair;

static pair pair_sum(double a, double b)
{
    const double sum = a + b;
    const double part = sum - a;
    return (pair){sum, (a - (sum - part)) + (b - part)};
}

static pair pair_add(pair a, pair b)
{
    const pair sum = pair_sum(a.high, b.high);
    return pair_sum(sum.high, sum.low + (a.low + b.low));
}

static pair pair_multiply(pair a, pair b)
{
    const double product = a.high * b.high;
    return pair_sum(product, fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high));
}

/* The same as pairs: the terms of some states are subtracted from these sums. */
static void fill_pairs(nadir_value_order *order)
{
    pair first = {0, 0};
    pair second = {0, 0};
    for (int64_t i = 0; i < order->states; i++) {
        const pair gap = i > 0 ? pair_sum(order->sorted[i], -order->sorted[i - 1]) : first;
        const pair all = pair_multiply((pair){(double)i, 0}, gap);
        second = pair_add(second, pair_multiply(gap, pair_add(pair_add(first, first), all)));
        first = pair_add(first, all);
        order->first[i] = first.high;
        order->first_low[i] = first.low;
        order->second[i] = second.high;
        order->second_low[i] = second.low;
    }
}

static nadir_status reserve(nadir_context *context, int64_t states, nadir_value_order *order)
{
    nadir_status status = NADIR_OK;
    const nadir_exchange *exchange = order->exchange;
    const bool unsorted = order->unsorted;
    const double spread = order->spread;
    if (order->states == states && order->x != NULL) {
        return NADIR_OK;
    }
    nadir_value_order_clear(context, order);
    order->exchange = exchange;
    order->unsorted = unsorted;
    order->spread = spread;
    NADIR_NEW(context, order->x, states);
    if (unsorted) {
        order->states = states;
        goto cleanup;
    }
    NADIR_NEW(context, order->order, states);
    NADIR_NEW(context, order->rank, states);
    NADIR_NEW(context, order->sorted, states);
    NADIR_NEW(context, order->first, states);
    NADIR_NEW(context, order->second, states);
    NADIR_NEW(context, order->list, states);
    if (spread > 0) {
        NADIR_NEW(context, order->first_low, states);
        NADIR_NEW(context, order->second_low, states);
    }
    order->states = states;
    for (int64_t i = 0; i < states; i++) {
        order->order[i] = (int32_t)i;
    }
cleanup:
    if (status != NADIR_OK) {
        nadir_value_order_clear(context, order);
    }
    return status;
}

/* Squares of smaller x would underflow; such a part of the range is far below the rounding of v. */
#define SMALLEST_X 1e-140

/* x = (v - min v) / range, range = max v - min v + spread; v: [own] */
static nadir_status scale_values(nadir_context *context, int64_t own, const double *v,
                                 nadir_value_order *order)
{
    double lowest = INFINITY; /* a process may have no states */
    double highest = -INFINITY;
    for (int64_t s = 0; s < own; s++) {
        if (!isfinite(v[s])) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "the value of state %lld is %g; expected a number", (long long)s, v[s]);
        }
        lowest = fmin(lowest, v[s]);
        highest = fmax(highest, v[s]);
    }
    if (order->exchange != NULL) {
        lowest = nadir_allreduce_minimum(context, lowest);
        highest = nadir_allreduce_maximum(context, highest);
    }
    const double range = highest - lowest + order->spread;
    if (!isfinite(range)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "values from %g to %g are too far apart; scale the rewards down", lowest, highest);
    }
    for (int64_t s = 0; s < own; s++) {
        const double x = range > 0 ? (v[s] - lowest) / range : 0;
        order->x[s] = x >= SMALLEST_X ? x : 0;
    }
    order->lowest = lowest;
    order->range = range;
    return NADIR_OK;
}

nadir_status nadir_value_order_make(nadir_context *context, int64_t own, const double *v,
                                    nadir_value_order *order)
{
    const int64_t states = own + (order->exchange != NULL ? order->exchange->ghosts : 0);
    NADIR_TRY(reserve(context, states, order));
    NADIR_TRY(scale_values(context, own, v, order));
    nadir_exchange_fill(order->exchange, order->x);
    if (order->unsorted) {
        return NADIR_OK;
    }
    placed_state *sorted = order->list;
    bool in_order = true; /* as it often is: the order hardly changes */
    for (int64_t i = 0; i < states; i++) {
        sorted[i] = (placed_state){order->x[order->order[i]], order->order[i]};
        in_order = in_order && (i == 0 || compare_states(&sorted[i - 1], &sorted[i]) < 0);
    }
    if (!in_order) {
        qsort(sorted, (size_t)states, sizeof *sorted, compare_states);
    }
    for (int64_t i = 0; i < states; i++) {
        order->order[i] = sorted[i].state;
        order->rank[sorted[i].state] = (int32_t)i;
        order->sorted[i] = sorted[i].x;
    }
    if (order->first_low != NULL) {
        fill_pairs(order);
    } else {
        fill_sums(order);
    }
    return NADIR_OK;
}

void nadir_value_order_clear(nadir_context *context, nadir_value_order *order)
{
    void *const arrays[] = {order->x,      order->order, order->rank,      order->sorted,    order->first,
                            order->second, order->list,  order->first_low, order->second_low};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        nadir_release(context, arrays[i]);
    }
    *order = (nadir_value_order){0};
}

static inline int64_t count_below(const nadir_value_order *order, double base, double omega)
{
    int64_t low = 0;
    int64_t high = order->states;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (order->sorted[middle] - base < omega) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int64_t nadir_value_order_count(const nadir_value_order *order, double base, double omega)
{
    return count_below(order, base, omega);
}

nadir_value_order_sums nadir_value_order_below(const nadir_value_order *order, double omega)
{
    const int64_t low = count_below(order, 0, omega);
    if (low == 0) {
        return (nadir_value_order_sums){0, 0, 0};
    }
    const double rest = omega - order->sorted[low - 1];
    const double all = (double)low * rest;
    const double first = order->first[low - 1];
    return (nadir_value_order_sums){low, first + all, order->second[low - 1] + rest * (2 * first + all)};
}

/* ---------------------------------------------------------------------------------------- the oracle */

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

int64_t nadir_lmo_first_other(const nadir_value_order *order, const nadir_row *row)
{
    int64_t i = 0; /* at most row->count are passed over */
    while (i < order->states && nadir_lmo_lists(row->count, row->columns, order->order[i])) {
        i++;
    }
    return i;
}

/* x <- plain + factor e, less the smallest, which is returned. Four entries at a time, in the vector types of GCC and
 * Clang. e is 0 where there is no reward. */
typedef double four __attribute__((vector_size(4 * sizeof(double))));
typedef int64_t four_mask __attribute__((vector_size(4 * sizeof(double))));
enum { FOUR = 4 };

static inline __attribute__((always_inline)) double all_costs(int64_t count, const double *plain,
                                                              const double *rewards, const double *g,
                                                              double own, double factor, double *x)
{
    four least = {INFINITY, INFINITY, INFINITY, INFINITY};
    int64_t i = 0;
    for (; i + FOUR <= count; i += FOUR) {
        four e;
        four shift;
        four cost;
        memcpy(&e, rewards + i, sizeof e);
        memcpy(&shift, g + i, sizeof shift);
        memcpy(&cost, plain + i, sizeof cost);
        e = e - own - shift;
        cost += factor * (four)((four_mask)e & (e == e)); /* NOLINT(misc-redundant-expression): NaN is not */
        memcpy(x + i, &cost, sizeof cost);
        const four_mask less = cost < least;
        least = (four)(((four_mask)cost & less) | ((four_mask)least & ~less));
    }
    double base = fmin(fmin(least[0], least[1]), fmin(least[2], least[3]));
    for (; i < count; i++) {
        const double e = rewards[i] - own - g[i];
        x[i] = plain[i] + factor * (isnan(e) ? 0 : e);
        base = x[i] < base ? x[i] : base;
    }
    for (i = 0; i < count; i++) {
        const double cost = x[i] - base;
        x[i] = cost >= SMALLEST_X ? cost : 0;
    }
    return base;
}

#if defined __x86_64__
__attribute__((target("avx2"))) static double all_costs_wide(int64_t count, const double *plain,
                                                             const double *rewards, const double *g,
                                                             double own, double factor, double *x)
{
    return all_costs(count, plain, rewards, g, own, factor, x);
}
#endif

static double dense_costs(int64_t count, const double *plain, const double *rewards, const double *g,
                          double own, double factor, double *x)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        return all_costs_wide(count, plain, rewards, g, own, factor, x);
    }
#endif
    return all_costs(count, plain, rewards, g, own, factor, x);
}

double nadir_lmo_own_costs(const nadir_lmo *lmo, int64_t row, const nadir_row *raw, double *restrict x)
{
    const double *restrict plain = lmo->order->x;
    const double *restrict g = lmo->model->landing.g;
    const double *restrict rewards = raw->rewards;
    const double own = lmo->model->landing.base[row];
    const double range = lmo->order->range;
    /* e below the least normal number: the quotient overflows */
    const double factor = range > 0 ? fmax(-DBL_MAX, fmin(DBL_MAX, lmo->landing / range)) : 0;
    const bool all = lmo->domain == NADIR_DOMAIN_SIMPLEX;
    const int64_t other =
        nadir_lmo_has_tail(lmo) ? nadir_lmo_first_other(lmo->order, raw) : lmo->order->states;
    double base = other < lmo->order->states ? lmo->order->sorted[other] : INFINITY;
    prefetch_rows(lmo, raw);
    if (raw->columns == NULL && all) {
        return dense_costs(raw->count, plain, rewards, g, own, factor, x);
    }
    for (int64_t i = 0; i < raw->count; i++) {
        const int64_t t = nadir_row_column(raw, i);
        const double r = rewards[i];
        const double cost = plain[t] + (isnan(r) ? 0 : factor * (r - own - g[t]));
        x[i] = cost;
        base = (all || raw->values[i] > 0) && cost < base ? cost : base;
    }
    for (int64_t i = 0; i < raw->count; i++) {
        const double cost = x[i] - base;
        x[i] = fabs(cost) >= SMALLEST_X ? cost : 0;
    }
    return base;
}

void nadir_lmo_row_view_weigh(const double *weights, int64_t start, const nadir_row *raw, double *work,
                              nadir_lmo_row_view *view)
{
    view->weight = weights + start;
    view->scratch = work + 2 * raw->count;
    if (raw->columns == NULL) {
        double *gathered = work + 4 * raw->count;
        int64_t count = 0;
        for (int64_t i = 0; i < raw->count; i++) {
            gathered[count] = view->weight[i];
            count += raw->values[i] > 0;
        }
        view->weight = gathered;
    }
}

/* The bounds of a row of a box, and its weights. */
static inline void bound_view(const nadir_lmo *lmo, int64_t row, const nadir_row *raw, double *work,
                              nadir_lmo_row_view *view)
{
    if (lmo->lower != NULL) {
        view->low = lmo->lower + lmo->model->row_starts[row];
        view->high = lmo->upper + lmo->model->row_starts[row];
        view->scratch = work + 2 * view->count;
    }
    if (lmo->weights != NULL) {
        nadir_lmo_row_view_weigh(lmo->weights, nadir_lmo_row_start(lmo, row), raw, work, view);
    }
}

/* work: [5 * count] */
__attribute__((noinline)) static nadir_lmo_row_view make_own_view(const nadir_lmo *lmo, int64_t row,
                                                                  double *work)
{
    const nadir_row raw = nadir_model_row(lmo->model, row);
    nadir_lmo_row_view view = {
        .count = raw.count,
        .phat = raw.values,
        .x = work,
        .base = nadir_lmo_own_costs(lmo, row, &raw, work),
        .off_support = nadir_lmo_has_tail(lmo),
        .alpha = nadir_lmo_scale(lmo, row),
    };
    bound_view(lmo, row, &raw, work, &view);
    double *second = work + raw.count;
    if (view.off_support) {
        view.plain = second;
        view.columns = raw.columns;
        for (int64_t i = 0; i < raw.count; i++) {
            second[i] = lmo->order->x[raw.columns[i]];
        }
    } else if (raw.columns == NULL && lmo->domain != NADIR_DOMAIN_SIMPLEX) {
        view.phat = second;
        view.count = 0;
        for (int64_t i = 0; i < raw.count; i++) { /* zeros of a dense row are not successors */
            work[view.count] = work[i];
            second[view.count] = raw.values[i];
            view.count += raw.values[i] > 0;
        }
    }
    return view;
}

nadir_value_order_sums nadir_lmo_others_below(const nadir_lmo *lmo, const nadir_lmo_row_view *view,
                                              double omega)
{
    const nadir_value_order *order = lmo->order;
    const int64_t all = nadir_value_order_count(order, view->base, omega);
    if (all == 0) {
        return (nadir_value_order_sums){0, 0, 0};
    }
    const double last = order->sorted[all - 1];
    pair first = {order->first[all - 1], order->first_low[all - 1]};
    pair second = {order->second[all - 1], order->second_low[all - 1]};
    int64_t count = all;
    for (int64_t i = 0; i < view->count; i++) {
        if (view->plain[i] - view->base < omega) {
            const pair gap = pair_sum(view->plain[i], -last);
            const pair square = pair_multiply(gap, gap);
            first = pair_add(first, gap);
            second = pair_add(second, (pair){-square.high, -square.low});
            count--;
        }
    }
    const double rest = omega - (last - view->base);
    const double each = (double)count * rest;
    const double gaps = count > 0 ? fmax(0, first.high) : 0;
    const double squares = count > 0 ? fmax(0, second.high) : 0;
    return (nadir_value_order_sums){count, gaps + each, squares + rest * (2 * gaps + each)};
}

nadir_lmo_row_view nadir_lmo_row_view_make(const nadir_lmo *lmo, int64_t row, double *work)
{
    if (lmo->costs != NULL) {
        return nadir_lmo_row_costs_view(lmo->costs, row, work);
    }
    if (lmo->landing != 0) { /* a function of its own: the usual case takes fewer registers */
        return make_own_view(lmo, row, work);
    }
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
        bound_view(lmo, row, &raw, work, &view);
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
    bound_view(lmo, row, &raw, work, &view);
    return view;
}

int64_t nadir_lmo_longest_row(const nadir_lmo *lmo, int64_t first, int64_t end)
{
    int64_t longest = 0;
    for (int64_t row = first; row < end; row++) {
        const int64_t length = nadir_lmo_row_start(lmo, row + 1) - nadir_lmo_row_start(lmo, row);
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Doubles of scratch for rows first .. end - 1, without the list of those that move. */
static int64_t scratch_size(const nadir_lmo *lmo, int64_t first, int64_t end)
{
    if (lmo->p == 1) {
        return 2 * (nadir_lmo_row_start(lmo, end) - nadir_lmo_row_start(lmo, first));
    }
    return (lmo->p == 2 ? NADIR_LMO_PIECE_SIZE : 1) * (end - first);
}

int64_t nadir_lmo_work_size(const nadir_lmo *lmo, int64_t first, int64_t end)
{
    return NADIR_LMO_ROW_WORK * nadir_lmo_longest_row(lmo, first, end) + scratch_size(lmo, first, end) +
           (end - first);
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
    if (nadir_lmo_row_view_is_boxed(view)) {
        nadir_lmo_box_concentrate(lmo, view, solution);
        return;
    }
    const double p = lmo->p;
    double count = 0; /* of states of smallest x */
    double moved = 0; /* mass that comes from others */
    double largest = 0;
    *solution = (nadir_lmo_solution){.step = INFINITY};
    for (int64_t i = 0; i < view->count; i++) {
        const bool lowest = view->x[i] <= 0;
        count += lowest && (!view->off_support || view->plain != NULL);
        moved += lowest ? 0 : view->phat[i];
        solution->gain += view->phat[i] * view->x[i];
        largest = lowest ? largest : fmax(largest, view->phat[i]);
    }
    if (view->off_support) {
        count += (double)nadir_lmo_tail_below(lmo, view, DBL_TRUE_MIN).count; /* all of x = 0 */
    }
    if (moved > 0) {
        const double lift = moved / count;
        largest = fmax(largest, lift);
        double sum = count * nadir_power(lift / largest, p);
        for (int64_t i = 0; i < view->count; i++) {
            sum += view->x[i] <= 0 ? 0 : nadir_power(view->phat[i] / largest, p);
        }
        solution->norm = largest * nadir_power(sum, 1 / p) / view->alpha;
    }
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

static nadir_lmo_norm_solver solver_of(const nadir_lmo *lmo)
{
    const double p = lmo->p;
    const nadir_lmo_norm_solver square =
        lmo->lower != NULL || lmo->weights != NULL ? nadir_lmo_box_l2 : nadir_lmo_l2;
    return p == 1 ? nadir_lmo_l1 : p == 2 ? square : isinf(p) ? nadir_lmo_linf : nadir_lmo_lp;
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

/* Finds the unit and the rows that can move. Whether any can; *start: the step of a row of alpha w = unit. */
static bool begin(nadir_lmo_group *group, double *start)
{
    const nadir_lmo *lmo = group->lmo;
    const int64_t count = group->end - group->first;
    double alpha = 0;
    *start = 0;
    for (int64_t i = 0; i < count; i++) {
        const double reach = nadir_lmo_scale(lmo, group->first + i) * group->weights[i];
        alpha = reach > 0 ? fmax(alpha, nadir_lmo_scale(lmo, group->first + i)) : alpha;
        if (reach > group->unit) {
            *start = group->solutions[i].step;
            group->unit = reach;
        }
    }
    *start = isfinite(*start) ? *start : 0;
    if (group->global != NULL) { /* the step of the process that has the largest */
        const double own = group->unit;
        group->unit = nadir_allreduce_maximum(group->global, own);
        alpha = nadir_allreduce_maximum(group->global, alpha);
        *start = nadir_allreduce_maximum(group->global, own == group->unit ? *start : 0);
    }
    const bool moves = group->unit > 0 && lmo->order->range > 0 && group->beta * alpha > SMALLEST_RADIUS;
    list_moving(group, moves);
    return moves;
}

/* Gains in units of v, and what the rows have in common. */
static void finish(const nadir_lmo_group *group, const nadir_lmo_common *common, nadir_lmo_budget *budget)
{
    const double range = group->lmo->order->range;
    budget->step = common->step / unit_factor(group->lmo, group->unit);
    budget->tau = common->tau * range * group->unit;
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
    const int64_t each = NADIR_LMO_ROW_WORK * nadir_lmo_longest_row(lmo, first, end);
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
    double start;
    *budget = (nadir_lmo_budget){.step = INFINITY};
    if (begin(&group, &start)) {
        const nadir_lmo_common common = solver_of(lmo)(&group, start);
        finish(&group, &common, budget);
    }
}

nadir_status nadir_lmo_solve_all(nadir_context *context, const nadir_lmo *lmo, const double *weights,
                                 double beta, nadir_lmo_solution *solutions, nadir_lmo_budget *budget)
{
    nadir_status status = NADIR_OK;
    double start;
    const nadir_model *model = lmo->model;
    const int64_t each = NADIR_LMO_ROW_WORK * nadir_lmo_longest_row(lmo, 0, model->rows);
    nadir_lmo_group group = {
        .lmo = lmo,
        .end = model->rows,
        .weights = weights,
        .beta = beta * NADIR_LMO_INSIDE,
        .threads = nadir_threads_for(context, 4 * nadir_lmo_row_start(lmo, model->rows)),
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
    *budget = (nadir_lmo_budget){.step = INFINITY};
    if (begin(&group, &start)) {
        const nadir_lmo_common common = solver_of(lmo)(&group, start);
        finish(&group, &common, budget);
    }
    NADIR_CHECK(status);
    NADIR_CHECK(nadir_progress(context, "solving row problems", -1));
cleanup:
    nadir_release(context, group.work);
    nadir_release(context, group.scratch);
    nadir_release(context, group.moving);
    return status;
}

void nadir_lmo_weights_fill(const nadir_model *model, const nadir_lmo_weights *weights, double *each)
{
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            each[row] = nadir_lmo_weight(weights, s, row);
        }
    }
}
