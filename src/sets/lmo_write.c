/* lmo_write.c: the solution of a row as the numbers of the row; see lmo.h. */
#include "sets/lmo_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const nadir_lmo_tail no_tail = {.extra = -1};

/* One row that is written. */
typedef struct row_writer {
    const nadir_lmo *lmo;
    const nadir_lmo_solution *solution;
    nadir_row raw;
    double alpha;
    double base;    /* the smallest allowed x */
    double *values; /* [raw.count] */
} row_writer;

static bool allowed(const row_writer *self, int64_t i)
{
    return self->lmo->domain == NADIR_DOMAIN_SIMPLEX || self->raw.values[i] > 0;
}

static double x_of(const row_writer *self, int64_t i)
{
    return self->lmo->order->x[nadir_row_column(&self->raw, i)] - self->base;
}

/* p = 1: the first allowed entry of the smallest v takes what moves; if the row has none, the first state of
 * the order does. */
static nadir_lmo_tail write_l1(const row_writer *self)
{
    const nadir_lmo_solution *solution = self->solution;
    const nadir_value_order *order = self->lmo->order;
    int64_t taker = -1;
    double moved = 0;
    for (int64_t i = 0; i < self->raw.count; i++) {
        const double x = x_of(self, i);
        const double phat = self->raw.values[i];
        const double part = x > solution->omega ? 1 : x == solution->omega ? solution->share : 0;
        self->values[i] = phat - part * phat;
        moved += part * phat;
        taker = taker < 0 && x == 0 && allowed(self, i) ? i : taker;
    }
    if (taker >= 0) {
        self->values[taker] += moved;
        return no_tail;
    }
    return (nadir_lmo_tail){.extra = order->order[0], .amount = moved};
}

/* p = infinity, dense rows of domain simplex */
static nadir_lmo_tail write_linf_full(const row_writer *self)
{
    const int32_t *rank = self->lmo->order->rank;
    const int32_t pivot = self->solution->pivot;
    const double r = self->alpha * self->solution->step;
    const double *phat = self->raw.values;
    double *restrict values = self->values;
    for (int64_t i = 0; i < self->raw.count; i++) {
        const double value = phat[i] + (rank[i] < pivot ? r : -r);
        values[i] = value > 0 ? value : 0;
    }
    const int32_t middle = self->lmo->order->order[pivot];
    self->values[middle] = fmax(0, self->raw.values[middle] + self->solution->share);
    return no_tail;
}

/* p = infinity */
static nadir_lmo_tail write_linf(const row_writer *self)
{
    const nadir_lmo_solution *solution = self->solution;
    const nadir_value_order *order = self->lmo->order;
    const double r = self->alpha * solution->step;
    bool own_pivot = !nadir_lmo_has_tail(self->lmo);
    for (int64_t i = 0; i < self->raw.count; i++) {
        const int32_t rank = order->rank[nadir_row_column(&self->raw, i)];
        const double phat = self->raw.values[i];
        const double change = rank < solution->pivot ? r : rank > solution->pivot ? -r : solution->share;
        self->values[i] = allowed(self, i) ? fmax(0, phat + change) : 0;
        own_pivot = own_pivot || rank == solution->pivot;
    }
    if (!nadir_lmo_has_tail(self->lmo)) {
        return no_tail;
    }
    nadir_lmo_tail tail = {.omega = r, .length = solution->pivot, .extra = -1};
    if (!own_pivot && solution->share > 0) {
        tail.extra = order->order[solution->pivot];
        tail.amount = solution->share;
    }
    return tail;
}

/* Whether the entry has the smallest allowed v. */
static bool takes(const row_writer *self, int64_t i)
{
    return x_of(self, i) == 0 && allowed(self, i);
}

/* All mass at the smallest v. */
static nadir_lmo_tail write_concentrated(const row_writer *self)
{
    const int64_t count = self->raw.count;
    double takers = nadir_lmo_has_tail(self->lmo)
                        ? (double)nadir_value_order_below(self->lmo->order, DBL_TRUE_MIN).count
                        : 0;
    double moved = 0;
    for (int64_t i = 0; i < count; i++) {
        takers += takes(self, i) && !nadir_lmo_has_tail(self->lmo);
        moved += takes(self, i) ? 0 : self->raw.values[i];
    }
    for (int64_t i = 0; i < count; i++) {
        self->values[i] = takes(self, i) ? self->raw.values[i] + moved / takers : 0;
    }
    return nadir_lmo_has_tail(self->lmo)
               ? (nadir_lmo_tail){.omega = moved / takers, .length = (int32_t)takers, .extra = -1}
               : no_tail;
}

/* p = 2, dense rows of domain simplex. */
static inline __attribute__((always_inline)) void fill_full(const row_writer *self, double omega,
                                                            double slope)
{
    const double *phat = self->raw.values;
    const double *x = self->lmo->order->x;
    double *restrict values = self->values;
    for (int64_t i = 0; i < self->raw.count; i++) {
        const double value = phat[i] + slope * (omega - x[i]);
        values[i] = value > 0 ? value : 0;
    }
}

#if defined __x86_64__
/* The same code for processors with registers for four doubles. */
__attribute__((target("avx2"))) static void fill_full_wide(const row_writer *self, double omega, double slope)
{
    fill_full(self, omega, slope);
}
#endif

static void write_l2_full(const row_writer *self, double omega, double slope)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        fill_full_wide(self, omega, slope);
        return;
    }
#endif
    fill_full(self, omega, slope);
}

/* p = 2 */
static nadir_lmo_tail write_l2(const row_writer *self)
{
    const double omega = self->solution->omega;
    const double slope = self->alpha * self->solution->step;
    const double *phat = self->raw.values;
    if (self->raw.columns == NULL && self->lmo->domain == NADIR_DOMAIN_SIMPLEX) {
        write_l2_full(self, omega, slope);
        return no_tail;
    }
    if (self->raw.columns == NULL) {
        const double *x = self->lmo->order->x;
        const double base = self->base;
        double *restrict values = self->values;
        for (int64_t i = 0; i < self->raw.count; i++) {
            const double value = phat[i] + slope * (omega - (x[i] - base));
            const double kept = value > 0 ? value : 0;
            values[i] = phat[i] > 0 ? kept : 0;
        }
        return no_tail;
    }
    for (int64_t i = 0; i < self->raw.count; i++) {
        const double value = phat[i] + slope * (omega - x_of(self, i));
        self->values[i] = value > 0 ? value : 0;
    }
    if (!nadir_lmo_has_tail(self->lmo)) {
        return no_tail;
    }
    const int64_t length = nadir_value_order_below(self->lmo->order, omega).count;
    return (nadir_lmo_tail){.omega = slope * omega, .slope = slope, .length = (int32_t)length, .extra = -1};
}

/* Other p: the tail is not affine; see nadir_lmo_tail_value. */
static nadir_lmo_tail write_lp(const row_writer *self)
{
    for (int64_t i = 0; i < self->raw.count; i++) {
        const double phat = self->raw.values[i];
        const double change = self->alpha * nadir_lmo_lp_displacement(self->lmo->p, self->solution,
                                                                      self->alpha, phat, x_of(self, i));
        self->values[i] = allowed(self, i) ? fmax(0, phat + change) : 0;
    }
    return no_tail;
}

nadir_lmo_tail nadir_lmo_write_row(const nadir_lmo *lmo, int64_t row, const nadir_lmo_solution *solution,
                                   double *values)
{
    row_writer self = {
        .lmo = lmo,
        .solution = solution,
        .raw = nadir_model_row(lmo->model, row),
        .alpha = nadir_lmo_scale(lmo, row),
        .values = values,
    };
    if (!(solution->step > 0) || !(self.alpha > 0)) {
        memcpy(values, self.raw.values, (size_t)self.raw.count * sizeof *values);
        return no_tail;
    }
    self.base = nadir_lmo_row_base(lmo, &self.raw);
    if (isinf(lmo->p)) {
        const bool full = self.raw.columns == NULL && lmo->domain == NADIR_DOMAIN_SIMPLEX;
        return full ? write_linf_full(&self) : write_linf(&self);
    }
    if (lmo->p == 1) {
        return write_l1(&self);
    }
    if (isinf(solution->step)) {
        return write_concentrated(&self);
    }
    return lmo->p == 2 ? write_l2(&self) : write_lp(&self);
}

int64_t nadir_lmo_tail_count(const nadir_lmo *lmo, int64_t row, const nadir_lmo_solution *solution,
                             const nadir_lmo_tail *tail)
{
    const bool moves = solution->step > 0 && nadir_lmo_scale(lmo, row) > 0;
    if (!moves || !nadir_lmo_has_tail(lmo) || lmo->p == 1 || lmo->p == 2 || isinf(lmo->p) ||
        isinf(solution->step)) {
        return tail->length;
    }
    return nadir_value_order_below(lmo->order, solution->share > 0 ? solution->upper : solution->omega).count;
}

double nadir_lmo_tail_value(const nadir_lmo *lmo, int64_t row, const nadir_lmo_solution *solution,
                            const nadir_lmo_tail *tail, int64_t rank)
{
    const double x = lmo->order->sorted[rank];
    if (tail->length > 0) {
        return tail->omega - tail->slope * x;
    }
    const double alpha = nadir_lmo_scale(lmo, row);
    return alpha * nadir_lmo_lp_displacement(lmo->p, solution, alpha, 0, x);
}

void nadir_lmo_write_dense(const nadir_lmo *lmo, int64_t row, const nadir_lmo_solution *solution,
                           double *work, double *X)
{
    const nadir_row raw = nadir_model_row(lmo->model, row);
    double *values = work;
    const nadir_lmo_tail tail = nadir_lmo_write_row(lmo, row, solution, values);
    const int64_t count = nadir_lmo_tail_count(lmo, row, solution, &tail);
    memset(X, 0, (size_t)lmo->model->states * sizeof *X);
    for (int64_t i = 0; i < count; i++) {
        X[lmo->order->order[i]] = nadir_lmo_tail_value(lmo, row, solution, &tail, i);
    }
    if (tail.extra >= 0) {
        X[tail.extra] += tail.amount;
    }
    for (int64_t i = 0; i < raw.count; i++) {
        X[nadir_row_column(&raw, i)] = values[i];
    }
}
