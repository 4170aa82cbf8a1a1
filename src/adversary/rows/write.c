/* write.c: the answer of a row problem as the numbers of a row; see rows.h. */
#include "adversary/rows/lmo_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const nadir_lmo_tail nothing_else = {.extra = -1};

/* Of one row: its entries, where they go, and what they are. */
typedef struct writing {
    const nadir_lmo *rows;
    const nadir_lmo_solution *answer;
    nadir_row raw;
    double alpha;
    double base;    /* what x is measured from */
    double *values; /* [raw.count] */
} writing;

static bool spreads(const writing *at)
{
    return at->raw.columns != NULL && at->rows->domain == NADIR_DOMAIN_SIMPLEX;
}

static bool allowed(const writing *at, int64_t i)
{
    return at->rows->domain == NADIR_DOMAIN_SIMPLEX || at->raw.values[i] > 0;
}

static double x_of(const writing *at, int64_t i)
{
    return at->rows->order->x[nadir_row_column(&at->raw, i)] - at->base;
}

/* p = 1: the first allowed entry of the smallest v takes what moves; with none, the state itself. */
static nadir_lmo_tail write_threshold(const writing *at)
{
    const nadir_lmo_solution *answer = at->answer;
    const nadir_value_order *order = at->rows->order;
    int64_t taker = -1;
    double moved = 0;
    for (int64_t i = 0; i < at->raw.count; i++) {
        const double x = x_of(at, i);
        const double phat = at->raw.values[i];
        const double part = x > answer->omega ? 1 : x == answer->omega ? answer->share : 0;
        at->values[i] = phat - part * phat;
        moved += part * phat;
        taker = taker < 0 && x == 0 && allowed(at, i) ? i : taker;
    }
    if (taker >= 0) {
        at->values[taker] += moved;
        return nothing_else;
    }
    return (nadir_lmo_tail){.extra = order->order[0], .amount = moved};
}

/* p = infinity, dense rows of domain simplex */
static nadir_lmo_tail write_capped_full(const writing *at)
{
    const int32_t *rank = at->rows->order->rank;
    const int32_t pivot = at->answer->pivot;
    const double r = at->alpha * at->answer->step;
    const double *phat = at->raw.values;
    double *restrict values = at->values;
    for (int64_t i = 0; i < at->raw.count; i++) {
        const double value = phat[i] + (rank[i] < pivot ? r : -r);
        values[i] = value > 0 ? value : 0;
    }
    const int32_t middle = at->rows->order->order[pivot];
    at->values[middle] = fmax(0, at->raw.values[middle] + at->answer->share);
    return nothing_else;
}

/* p = infinity */
static nadir_lmo_tail write_capped(const writing *at)
{
    const nadir_lmo_solution *answer = at->answer;
    const nadir_value_order *order = at->rows->order;
    const double r = at->alpha * answer->step;
    bool own_pivot = !spreads(at);
    for (int64_t i = 0; i < at->raw.count; i++) {
        const int32_t place = order->rank[nadir_row_column(&at->raw, i)];
        const double phat = at->raw.values[i];
        const double change = place < answer->pivot ? r : place > answer->pivot ? -r : answer->share;
        at->values[i] = allowed(at, i) ? fmax(0, phat + change) : 0;
        own_pivot = own_pivot || place == answer->pivot;
    }
    if (!spreads(at)) {
        return nothing_else;
    }
    nadir_lmo_tail rest = {.omega = r, .length = answer->pivot, .extra = -1};
    if (!own_pivot && answer->share > 0) {
        rest.extra = order->order[answer->pivot];
        rest.amount = answer->share;
    }
    return rest;
}

/* Of the smallest v that is allowed. */
static bool takes(const writing *at, int64_t i)
{
    return x_of(at, i) == 0 && allowed(at, i);
}

/* All mass at the smallest v. */
static nadir_lmo_tail write_settled(const writing *at)
{
    const int64_t count = at->raw.count;
    double takers = spreads(at) ? (double)nadir_value_order_below(at->rows->order, DBL_TRUE_MIN).count : 0;
    double moved = 0;
    for (int64_t i = 0; i < count; i++) {
        takers += takes(at, i) && !spreads(at);
        moved += takes(at, i) ? 0 : at->raw.values[i];
    }
    for (int64_t i = 0; i < count; i++) {
        at->values[i] = takes(at, i) ? at->raw.values[i] + moved / takers : 0;
    }
    return spreads(at) ? (nadir_lmo_tail){.omega = moved / takers, .length = (int32_t)takers, .extra = -1}
                       : nothing_else;
}

/* p = 2, dense rows of domain simplex. */
static inline __attribute__((always_inline)) void fill_full(const writing *at, double omega, double slope)
{
    const double *phat = at->raw.values;
    const double *x = at->rows->order->x;
    double *restrict values = at->values;
    for (int64_t i = 0; i < at->raw.count; i++) {
        const double value = phat[i] + slope * (omega - x[i]);
        values[i] = value > 0 ? value : 0;
    }
}

#if defined __x86_64__
/* The same, for processors that take four numbers at once. */
__attribute__((target("avx2"))) static void fill_full_wide(const writing *at, double omega, double slope)
{
    fill_full(at, omega, slope);
}
#endif

static void write_quadratic_full(const writing *at, double omega, double slope)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        fill_full_wide(at, omega, slope);
        return;
    }
#endif
    fill_full(at, omega, slope);
}

/* p = 2 */
static nadir_lmo_tail write_quadratic(const writing *at)
{
    const double omega = at->answer->omega;
    const double slope = at->alpha * at->answer->step;
    const double *phat = at->raw.values;
    if (at->raw.columns == NULL && at->rows->domain == NADIR_DOMAIN_SIMPLEX) {
        write_quadratic_full(at, omega, slope);
        return nothing_else;
    }
    if (at->raw.columns == NULL) {
        const double *x = at->rows->order->x;
        const double base = at->base;
        double *restrict values = at->values;
        for (int64_t i = 0; i < at->raw.count; i++) {
            const double value = phat[i] + slope * (omega - (x[i] - base));
            const double kept = value > 0 ? value : 0;
            values[i] = phat[i] > 0 ? kept : 0;
        }
        return nothing_else;
    }
    for (int64_t i = 0; i < at->raw.count; i++) {
        const double value = phat[i] + slope * (omega - x_of(at, i));
        at->values[i] = value > 0 ? value : 0;
    }
    if (!spreads(at)) {
        return nothing_else;
    }
    const int64_t length = nadir_value_order_below(at->rows->order, omega).count;
    return (nadir_lmo_tail){.omega = slope * omega, .slope = slope, .length = (int32_t)length, .extra = -1};
}

/* Other p: what other states get is no line; see nadir_lmo_tail_value. */
static nadir_lmo_tail write_power(const writing *at)
{
    for (int64_t i = 0; i < at->raw.count; i++) {
        const double phat = at->raw.values[i];
        const double change =
            at->alpha * nadir_lmo_lp_displacement(at->rows->p, at->answer, at->alpha, phat, x_of(at, i));
        at->values[i] = allowed(at, i) ? fmax(0, phat + change) : 0;
    }
    return nothing_else;
}

nadir_lmo_tail nadir_lmo_write_row(const nadir_lmo *rows, int64_t row, const nadir_lmo_solution *answer,
                                   double *values)
{
    writing at = {
        .rows = rows,
        .answer = answer,
        .raw = nadir_model_row(rows->model, row),
        .alpha = nadir_lmo_scale(rows, row),
        .values = values,
    };
    if (!(answer->step > 0) || !(at.alpha > 0)) {
        memcpy(values, at.raw.values, (size_t)at.raw.count * sizeof *values);
        return nothing_else;
    }
    at.base = nadir_lmo_row_base(rows, &at.raw);
    if (isinf(rows->p)) {
        const bool full = at.raw.columns == NULL && rows->domain == NADIR_DOMAIN_SIMPLEX;
        return full ? write_capped_full(&at) : write_capped(&at);
    }
    if (rows->p == 1) {
        return write_threshold(&at);
    }
    if (isinf(answer->step)) {
        return write_settled(&at);
    }
    return rows->p == 2 ? write_quadratic(&at) : write_power(&at);
}

int64_t nadir_lmo_tail_count(const nadir_lmo *rows, int64_t row, const nadir_lmo_solution *answer,
                             const nadir_lmo_tail *rest)
{
    const bool moves = answer->step > 0 && nadir_lmo_scale(rows, row) > 0;
    const bool spread = rows->model->dense == NULL && rows->domain == NADIR_DOMAIN_SIMPLEX;
    if (!moves || !spread || rows->p == 1 || rows->p == 2 || isinf(rows->p) || isinf(answer->step)) {
        return rest->length;
    }
    return nadir_value_order_below(rows->order, answer->share > 0 ? answer->upper : answer->omega).count;
}

double nadir_lmo_tail_value(const nadir_lmo *rows, int64_t row, const nadir_lmo_solution *answer,
                            const nadir_lmo_tail *rest, int64_t place)
{
    const double x = rows->order->sorted[place];
    if (rest->length > 0) {
        return rest->omega - rest->slope * x;
    }
    const double alpha = nadir_lmo_scale(rows, row);
    return alpha * nadir_lmo_lp_displacement(rows->p, answer, alpha, 0, x);
}

void nadir_lmo_write_dense(const nadir_lmo *rows, int64_t row, const nadir_lmo_solution *answer, double *room,
                           double *X)
{
    const nadir_row raw = nadir_model_row(rows->model, row);
    double *values = room;
    const nadir_lmo_tail rest = nadir_lmo_write_row(rows, row, answer, values);
    const int64_t count = nadir_lmo_tail_count(rows, row, answer, &rest);
    memset(X, 0, (size_t)rows->model->states * sizeof *X);
    for (int64_t i = 0; i < count; i++) {
        X[rows->order->order[i]] = nadir_lmo_tail_value(rows, row, answer, &rest, i);
    }
    if (rest.extra >= 0) {
        X[rest.extra] += rest.amount;
    }
    for (int64_t i = 0; i < raw.count; i++) {
        X[nadir_row_column(&raw, i)] = values[i];
    }
}
