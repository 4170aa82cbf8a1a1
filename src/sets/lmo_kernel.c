/*
 * lmo_kernel.c: the solutions of all rows as a kernel, X = Phat + Delta; see lmo.h. Support values and a tail
 * where what a row gives to other states is affine in x, explicit rows otherwise.
 */
#include "linalg/threads.h"
#include "model/kernel_device.h"
#include "sets/lmo_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ rows */

/* What states that are not nominal successors get in a row: an affine function of x over the first of the
 * order, and a number for one more. */
typedef struct row_tail {
    double omega, slope;
    int32_t length;
    int32_t extra; /* -1: none */
    double amount;
} row_tail;

static const row_tail no_tail = {.extra = -1};

/* One row that is written. */
typedef struct row_writer {
    const nadir_lmo *lmo;
    const nadir_lmo_solution *solution;
    nadir_row raw;
    const double *x; /* of the states; a row with costs: of its entries */
    bool own;        /* rewards on landing: values hold x of the entries, less base, at first */
    double alpha;
    double base;              /* the smallest allowed x */
    double *values;           /* [raw.count] */
    const double *low, *high; /* [raw.count] in a box; else NULL */
    const double *weight;     /* [raw.count]; NULL: all one */
} row_writer;

static bool allowed(const row_writer *self, int64_t i)
{
    return self->lmo->domain == NADIR_DOMAIN_SIMPLEX || self->raw.values[i] > 0;
}

static double x_of(const row_writer *self, int64_t i)
{
    return self->own ? self->values[i] : self->x[nadir_row_column(&self->raw, i)] - self->base;
}

/* p = 1: the first allowed entry of the smallest v takes what moves; if the row has none, the first state of
 * the order does. */
static row_tail write_l1(const row_writer *self)
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
    return (row_tail){.extra = order->order[self->own ? nadir_lmo_first_other(order, &self->raw) : 0],
                      .amount = moved};
}

/* p = infinity with rewards on landing */
static row_tail write_own_linf(const row_writer *self)
{
    const nadir_lmo_solution *solution = self->solution;
    const double r = fmin(self->alpha * solution->step, NADIR_LMO_RADIUS_MOST);
    const double part = solution->upper; /* at omega */
    for (int64_t i = 0; i < self->raw.count; i++) {
        const double d = x_of(self, i) - solution->omega;
        const double phat = self->raw.values[i];
        const double tied = part >= 0 ? part * r : part * fmin(r, phat);
        self->values[i] = allowed(self, i) ? fmax(0, phat + (d < 0 ? r : d > 0 ? -r : tied)) : 0;
    }
    if (!nadir_lmo_has_tail(self->lmo)) {
        return no_tail;
    }
    row_tail tail = {.omega = r, .length = solution->pivot, .extra = -1};
    const int32_t pivot = self->lmo->order->order[solution->pivot];
    if (solution->share > 0 && !nadir_lmo_lists(self->raw.count, self->raw.columns, pivot)) {
        tail.extra = pivot;
        tail.amount = solution->share;
    }
    return tail;
}

/* p = infinity */
static row_tail write_linf(const row_writer *self)
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
    row_tail tail = {.omega = r, .length = solution->pivot, .extra = -1};
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
static row_tail write_concentrated(const row_writer *self)
{
    const int64_t count = self->raw.count;
    const bool tail = nadir_lmo_has_tail(self->lmo);
    const int64_t length = tail ? nadir_value_order_count(self->lmo->order, self->base, DBL_TRUE_MIN) : 0;
    double takers = (double)length;
    double moved = 0;
    for (int64_t i = 0; i < count; i++) {
        takers += takes(self, i) && (!tail || self->own);
        takers -= tail && self->own && self->x[self->raw.columns[i]] <= self->base;
        moved += takes(self, i) ? 0 : self->raw.values[i];
    }
    for (int64_t i = 0; i < count; i++) {
        self->values[i] = takes(self, i) ? self->raw.values[i] + moved / takers : 0;
    }
    return tail ? (row_tail){.omega = moved / takers, .length = (int32_t)length, .extra = -1} : no_tail;
}

/* p = 2, rows of all states on domain simplex. */
static inline __attribute__((always_inline)) void fill_full(const row_writer *self, double omega,
                                                            double slope)
{
    const double *restrict phat = self->raw.values;
    const double *x = self->x;
    double *restrict values = self->values;
    for (int64_t i = 0; self->own && i < self->raw.count; i++) { /* values are the costs */
        const double value = phat[i] + slope * (omega - values[i]);
        values[i] = value > 0 ? value : 0;
    }
    for (int64_t i = 0; !self->own && i < self->raw.count; i++) {
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

/* p = 2 with rewards on landing. The line ends at a state that the row does not list, and is a constant where
 * all of them have one x: its value at states that it lists, which is subtracted again, then is no larger. */
static row_tail own_tail(const row_writer *self, double omega, double slope)
{
    const nadir_value_order *order = self->lmo->order;
    int64_t length = nadir_value_order_count(order, self->base, omega);
    while (length > 0 && nadir_lmo_lists(self->raw.count, self->raw.columns, order->order[length - 1])) {
        length--;
    }
    if (length == 0) {
        return no_tail;
    }
    const double last = order->sorted[length - 1];
    if (order->sorted[nadir_lmo_first_other(order, &self->raw)] == last) {
        return (row_tail){
            .omega = slope * (omega - (last - self->base)), .length = (int32_t)length, .extra = -1};
    }
    return (row_tail){.omega = slope * fmax(omega + self->base, last),
                      .slope = slope,
                      .length = (int32_t)length,
                      .extra = -1};
}

/* p = 2 */
static row_tail write_l2(const row_writer *self)
{
    const double omega = self->solution->omega;
    const double slope = self->alpha * self->solution->step;
    if (self->raw.columns == NULL && self->lmo->domain == NADIR_DOMAIN_SIMPLEX) {
#if defined __x86_64__
        if (__builtin_cpu_supports("avx2")) {
            fill_full_wide(self, omega, slope);
            return no_tail;
        }
#endif
        fill_full(self, omega, slope);
        return no_tail;
    }
    /* zeros of a dense row are not successors on domain support */
    const double least = self->raw.columns == NULL && self->lmo->domain != NADIR_DOMAIN_SIMPLEX ? 0 : -1;
    for (int64_t i = 0; i < self->raw.count; i++) {
        const double phat = self->raw.values[i];
        const double value = phat + slope * (omega - x_of(self, i));
        self->values[i] = value > 0 && phat > least ? value : 0;
    }
    if (!nadir_lmo_has_tail(self->lmo)) {
        return no_tail;
    }
    if (self->own) {
        return own_tail(self, omega, slope);
    }
    const int64_t length = nadir_value_order_below(self->lmo->order, omega).count;
    return (row_tail){.omega = slope * omega, .slope = slope, .length = (int32_t)length, .extra = -1};
}

/* Other p: the tail is not affine; see gather_row. */
static row_tail write_lp(const row_writer *self)
{
    for (int64_t i = 0; i < self->raw.count; i++) {
        const double phat = self->raw.values[i];
        const double change = self->alpha * nadir_lmo_lp_displacement(self->lmo->p, self->solution,
                                                                      self->alpha, phat, x_of(self, i));
        self->values[i] = allowed(self, i) ? fmax(0, phat + change) : 0;
    }
    return no_tail;
}

static row_tail write_box(const row_writer *self)
{
    for (int64_t i = 0; i < self->raw.count; i++) {
        self->values[i] = x_of(self, i);
    }
    const nadir_lmo_row_view view = {.count = self->raw.count,
                                     .phat = self->raw.values,
                                     .x = self->values,
                                     .alpha = self->alpha,
                                     .low = self->low,
                                     .high = self->high,
                                     .weight = self->weight};
    nadir_lmo_box_write(self->lmo, self->solution, &view, self->values);
    return no_tail;
}

/* A solution of step > 0. */
static row_tail write_solution(const row_writer *self)
{
    const double p = self->lmo->p;
    if (self->low != NULL || self->weight != NULL) {
        return write_box(self);
    }
    if (isinf(p)) {
        return self->own ? write_own_linf(self) : write_linf(self);
    }
    if (p == 1) {
        return write_l1(self);
    }
    if (isinf(self->solution->step)) {
        return write_concentrated(self);
    }
    return p == 2 ? write_l2(self) : write_lp(self);
}

/* A row that is not nominal. values: [entries of the row] of its nominal successors; *base: its smallest
 * allowed x. */
static row_tail write_row(const nadir_lmo *lmo, int64_t row, const nadir_lmo_solution *solution,
                          double *values, double *base)
{
    row_writer self = {
        .lmo = lmo,
        .solution = solution,
        .raw = nadir_model_row(lmo->model, row),
        .x = lmo->order->x,
        .own = lmo->landing != 0,
        .alpha = nadir_lmo_scale(lmo, row),
        .values = values,
    };
    if (lmo->lower != NULL) {
        self.low = lmo->lower + lmo->model->row_starts[row];
        self.high = lmo->upper + lmo->model->row_starts[row];
    }
    if (lmo->weights != NULL) {
        self.weight = lmo->weights + nadir_lmo_row_start(lmo, row);
    }
    self.base =
        self.own ? nadir_lmo_own_costs(lmo, row, &self.raw, values) : nadir_lmo_row_base(lmo, &self.raw);
    *base = self.base;
    return write_solution(&self);
}

void nadir_lmo_row_write(const nadir_lmo *lmo, const nadir_lmo_row_view *view,
                         const nadir_lmo_solution *solution, double *X)
{
    const row_writer self = {
        .lmo = lmo,
        .solution = solution,
        .raw = {.count = view->count, .values = view->phat},
        .x = view->x,
        .alpha = view->alpha,
        .values = X,
        .low = view->low,
        .high = view->high,
        .weight = view->weight,
    };
    (void)write_solution(&self);
}

/* -------------------------------------------------------------------------------------- kernels */

void nadir_lmo_kernel_fill(const nadir_lmo *lmo, int64_t row, const nadir_lmo_solution *solution,
                           nadir_perturbed *perturbed)
{
    const bool nominal = !(solution->step > 0) || !(nadir_lmo_scale(lmo, row) > 0);
    if (nominal && perturbed->nominal[row]) {
        return;
    }
    perturbed->nominal[row] = nominal;
    row_tail tail = {.extra = -1};
    double base;
    if (!nominal) {
        tail = write_row(lmo, row, solution, perturbed->values + nadir_lmo_row_start(lmo, row), &base);
    }
    if (perturbed->x != NULL) {
        perturbed->omega[row] = tail.omega;
        perturbed->slope[row] = tail.slope;
        perturbed->length[row] = tail.length;
        perturbed->extra[row] = tail.extra;
        perturbed->amount[row] = tail.amount;
    }
}

nadir_status nadir_lmo_kernel_blank(nadir_context *context, const nadir_lmo *lmo, nadir_kernel **kernel,
                                    nadir_perturbed **perturbed)
{
    const size_t states = (size_t)lmo->model->states;
    nadir_kernel *made = NULL;
    *perturbed = *kernel != NULL ? nadir_kernel_perturbed(*kernel) : NULL;
    if (*perturbed == NULL || ((*perturbed)->x != NULL) != nadir_lmo_has_tail(lmo)) {
        NADIR_TRY(nadir_kernel_create_blank(context, lmo->model, nadir_lmo_has_tail(lmo), &made));
        nadir_kernel_free(*kernel);
        *kernel = made;
        *perturbed = nadir_kernel_perturbed(made);
    }
    if ((*perturbed)->x != NULL) {
        memcpy((*perturbed)->x, lmo->order->x, states * sizeof *(*perturbed)->x);
        memcpy((*perturbed)->order, lmo->order->order, states * sizeof *(*perturbed)->order);
    }
    return NADIR_OK;
}

static nadir_status make_perturbed(nadir_context *context, const nadir_lmo *lmo,
                                   const nadir_lmo_solution *solutions, nadir_kernel **kernel)
{
    const nadir_model *model = lmo->model;
    nadir_perturbed *perturbed;
    NADIR_TRY(nadir_lmo_kernel_blank(context, lmo, kernel, &perturbed));
    const int threads = nadir_threads_for(context, nadir_lmo_row_start(lmo, model->rows));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < model->rows; row++) {
        nadir_lmo_kernel_fill(lmo, row, &solutions[row], perturbed);
    }
    return NADIR_OK;
}

/* The entries of X in rising order. values: [entries of the row]. */
static void gather_row(const nadir_lmo *lmo, int64_t row, const nadir_lmo_solution *solution, double *values,
                       nadir_sparse_accumulator *to)
{
    const nadir_row raw = nadir_model_row(lmo->model, row);
    double base;
    const row_tail tail = write_row(lmo, row, solution, values, &base);
    const double alpha = nadir_lmo_scale(lmo, row);
    const double highest = solution->share > 0 ? solution->upper : solution->omega;
    const int64_t reached =
        isinf(solution->step) ? tail.length : nadir_value_order_count(lmo->order, base, highest);
    for (int64_t i = 0; i < raw.count; i++) {
        nadir_sparse_accumulator_add(to, raw.columns[i], values[i]);
    }
    for (int64_t i = 0; i < reached; i++) {
        const int32_t state = lmo->order->order[i];
        if (!to->present[state]) {
            const double x = lmo->order->sorted[i] - base;
            nadir_sparse_accumulator_add(
                to, state,
                tail.length > 0 ? tail.omega - tail.slope * x
                                : alpha * nadir_lmo_lp_displacement(lmo->p, solution, alpha, 0, x));
        }
    }
}

nadir_status nadir_row_list_make(nadir_context *context, int64_t rows, nadir_row_list *list)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(context, list->rows, rows);
    NADIR_NEW_ZERO(context, list->starts, rows + 1);
    list->made = (nadir_changed_rows){.rows = list->rows, .starts = list->starts};
cleanup:
    return status;
}

void nadir_row_list_clear(nadir_context *context, nadir_row_list *list)
{
    nadir_release(context, list->rows);
    nadir_release(context, list->starts);
    nadir_release(context, list->columns);
    nadir_release(context, list->values);
    *list = (nadir_row_list){0};
}

nadir_status nadir_row_list_append(nadir_context *context, nadir_row_list *list, int64_t row, int64_t count,
                                   const int32_t *columns, const double *values)
{
    nadir_status status = NADIR_OK;
    int64_t rows = list->made.count;
    const int64_t start = list->starts[rows];
    NADIR_RESERVE(context, list->columns, start + count, list->columns_capacity);
    NADIR_RESERVE(context, list->values, start + count, list->values_capacity);
    if (list->columns != NULL && list->values != NULL) { /* otherwise all rows are empty */
        memcpy(list->columns + start, columns, (size_t)count * sizeof *columns);
        memcpy(list->values + start, values, (size_t)count * sizeof *values);
    }
    list->rows[rows++] = row;
    list->starts[rows] = start + count;
    list->made = (nadir_changed_rows){rows, list->rows, list->starts, list->columns, list->values};
cleanup:
    return status;
}

static nadir_status make_explicit(nadir_context *context, const nadir_lmo *lmo,
                                  const nadir_lmo_solution *solutions, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = lmo->model;
    nadir_row_list to = {0};
    nadir_sparse_accumulator entries = {0};
    double *values = NULL;
    int32_t *columns = NULL;
    nadir_kernel *made = NULL;
    NADIR_CHECK(nadir_row_list_make(context, model->rows, &to));
    NADIR_CHECK(nadir_sparse_accumulator_make(context, model->states, &entries));
    NADIR_NEW(context, columns, model->states);
    NADIR_NEW(context, values, model->states);
    for (int64_t row = 0; row < model->rows; row++) {
        if (solutions[row].step > 0 && nadir_lmo_scale(lmo, row) > 0) {
            gather_row(lmo, row, &solutions[row], values, &entries);
            const int64_t count = nadir_sparse_accumulator_take(&entries, columns, values);
            NADIR_CHECK(nadir_row_list_append(context, &to, row, count, columns, values));
        }
    }
    NADIR_CHECK(nadir_kernel_create_changed(context, lmo->model, &to.made, &made));
    nadir_kernel_free(*kernel);
    *kernel = made;
cleanup:
    nadir_row_list_clear(context, &to);
    nadir_sparse_accumulator_clear(context, &entries);
    nadir_release(context, values);
    nadir_release(context, columns);
    return status;
}

nadir_status nadir_lmo_kernel(nadir_context *context, const nadir_lmo *lmo,
                              const nadir_lmo_solution *solutions, nadir_kernel **kernel)
{
    const bool affine = lmo->p == 1 || lmo->p == 2 || isinf(lmo->p);
    return affine || !nadir_lmo_has_tail(lmo) ? make_perturbed(context, lmo, solutions, kernel)
                                              : make_explicit(context, lmo, solutions, kernel);
}

/* ---------------------------------------------------------------------------------- on a device */

/* The host handles fewer entries in the time of a few calls to the device. */
#define LEAST_ENTRIES 65536
#define LEAST_DENSE   1048576
/* Dense kernels that a search holds at a time, and one more. */
#define KERNELS 4

/* Whether the model is large enough for a device, and not distributed. */
static bool is_large(const nadir_model *model)
{
    return model->exchange == NULL &&
           (model->dense == NULL ? model->nonzeros >= LEAST_ENTRIES
                                 : model->rows >= (LEAST_DENSE - 1) / model->states + 1);
}

static bool has_memory(const nadir_context *context, const nadir_model *model)
{
    double taken;
    double left;
    context->device->memory(context->device_self, &taken, &left);
    return model->dense == NULL || KERNELS * 8.0 * (double)model->rows * (double)model->states <= left;
}

nadir_status nadir_lmo_device_open(nadir_context *context, const nadir_lmo *lmo, nadir_device_budget shares,
                                   double gamma, const double *probabilities, nadir_lmo_device *oracle)
{
    const nadir_device *device = context->device;
    const nadir_device_ball ball = {.gamma = gamma,
                                    .p = lmo->p,
                                    .simplex = lmo->domain == NADIR_DOMAIN_SIMPLEX,
                                    .shares = shares,
                                    .probabilities = probabilities,
                                    .scales = lmo->scales};
    void *model_rows = NULL;
    *oracle = (nadir_lmo_device){
        .device = device, .model = lmo->model, .p = lmo->p, .off_support = nadir_lmo_has_tail(lmo)};
    if (device == NULL || lmo->landing != 0 || lmo->lower != NULL || lmo->weights != NULL ||
        !is_large(lmo->model) || !has_memory(context, lmo->model)) {
        return NADIR_OK;
    }
    nadir_status status = nadir_kernel_device_rows(context, lmo->model, &model_rows);
    if (status == NADIR_OK) {
        status = device->lmo_create(model_rows, context, &ball, &oracle->step);
    }
    return status == NADIR_ERROR_MEMORY ? NADIR_OK : status;
}

void nadir_lmo_device_close(nadir_lmo_device *oracle)
{
    if (oracle->step != NULL) {
        oracle->device->lmo_free(oracle->step);
        oracle->step = NULL;
    }
}

nadir_status nadir_lmo_device_solve(nadir_context *context, const nadir_lmo_device *oracle,
                                    const nadir_value_order *order, const double *d, double beta,
                                    nadir_lmo_budget *budget, bool *found)
{
    nadir_device_lmo_result answer = {0};
    *found = false;
    if (order->range > 0) {
        NADIR_TRY(
            oracle->device->lmo_solve(oracle->step, context, beta * NADIR_LMO_INSIDE, order->x, d, &answer));
    }
    *found = answer.found;
    if (*found) {
        *budget = (nadir_lmo_budget){
            .tau = order->range * answer.unit * answer.tau,
            .step =
                answer.step / (oracle->p <= 2 ? answer.unit : nadir_power(answer.unit, 1 / (oracle->p - 1))),
            .gain = answer.gain * order->range,
            .norm = answer.norm,
        };
    }
    return nadir_progress(context, "solving row problems", -1);
}

nadir_status nadir_lmo_device_gains(nadir_context *context, const nadir_lmo_device *oracle,
                                    const nadir_value_order *order, double *gains)
{
    NADIR_TRY(oracle->device->lmo_gains(oracle->step, context, gains));
    for (int64_t s = 0; s < oracle->model->states; s++) {
        gains[s] *= order->range;
    }
    return NADIR_OK;
}

nadir_status nadir_lmo_device_kernel(nadir_context *context, const nadir_lmo_device *oracle,
                                     nadir_kernel **kernel)
{
    nadir_kernel *made = NULL;
    void *numbers = NULL;
    nadir_perturbed *perturbed = *kernel != NULL ? nadir_kernel_perturbed(*kernel) : NULL;
    if (perturbed == NULL || (perturbed->x != NULL) != oracle->off_support) {
        NADIR_TRY(nadir_kernel_create_blank(context, oracle->model, oracle->off_support, &made));
        nadir_kernel_free(*kernel);
        *kernel = made;
    }
    NADIR_TRY(oracle->device->lmo_kernel(oracle->step, context, &numbers));
    nadir_kernel_device_adopt(context, *kernel, numbers);
    return !nadir_kernel_device_averages(context, *kernel) ? nadir_kernel_device_fetch(context, *kernel)
                                                           : NADIR_OK;
}

nadir_status nadir_lmo_device_slack(nadir_context *context, const nadir_lmo_device *oracle,
                                    const nadir_kernel *kernel, double range, double tau, double *slack,
                                    bool *done)
{
    const void *numbers = oracle->step != NULL ? nadir_kernel_device_values(kernel) : NULL;
    *done = numbers != NULL && oracle->p == 2;
    return *done ? oracle->device->lmo_slack(oracle->step, context, numbers, range, tau, slack) : NADIR_OK;
}

nadir_status nadir_lmo_device_centred(nadir_context *context, const nadir_lmo_device *oracle, const double *y,
                                      const double *z, double *sums)
{
    return oracle->device->lmo_centred_product(oracle->step, context, y, z, sums);
}
