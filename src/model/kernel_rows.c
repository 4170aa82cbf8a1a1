/* kernel_rows.c: the rows of a kernel of any kind, entry by entry; see kernel.h. */
#include "model/kernel.h"

#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "model/kernel_internal.h"
#include "model/landing.h"
#include "model/terminal.h"

#include <math.h>
#include <stdlib.h>

nadir_status nadir_explicit_make(nadir_context *context, const nadir_kernel *kernel,
                                 nadir_explicit *explicit_rows)
{
    nadir_status status = NADIR_OK;
    nadir_explicit made = {.kernel = kernel};
    const int64_t width = nadir_model_width(kernel->model);
    NADIR_NEW(context, made.columns, width);
    NADIR_NEW(context, made.values, width);
    if (kernel->kind == NADIR_KERNEL_RANK_ONE) {
        NADIR_NEW(context, made.k_states, kernel->model->states);
        for (int64_t t = 0; t < kernel->model->states; t++) {
            made.k_states[made.k_count] = (int32_t)t;
            made.k_count += kernel->k[t] != 0;
        }
    }
    NADIR_CHECK(nadir_sparse_accumulator_make(context, width, &made.accumulator));
    if (nadir_kernel_has_tail(kernel)) {
        nadir_perturbed_update(kernel);
    }
    *explicit_rows = made;
    made = (nadir_explicit){0};
cleanup:
    nadir_explicit_clear(context, &made);
    return status;
}

void nadir_explicit_clear(nadir_context *context, nadir_explicit *explicit_rows)
{
    nadir_sparse_accumulator_clear(context, &explicit_rows->accumulator);
    NADIR_RELEASE(context, explicit_rows->columns, explicit_rows->values, explicit_rows->k_states);
    *explicit_rows = (nadir_explicit){0};
}

/* Whether all entries of a row are stored as they are. */
static bool is_stored(const nadir_kernel *kernel, int64_t row)
{
    const nadir_perturbed *perturbed = &kernel->perturbed;
    return (kernel->kind != NADIR_KERNEL_RANK_ONE || kernel->b[row] == 0) &&
           (!nadir_kernel_has_tail(kernel) || (perturbed->length[row] == 0 && perturbed->extra[row] < 0));
}

int64_t nadir_explicit_bound(const nadir_explicit *explicit_rows, int64_t row)
{
    const nadir_kernel *kernel = explicit_rows->kernel;
    const int64_t states = nadir_model_width(kernel->model);
    int64_t count = nadir_kernel_row(kernel, row).count;
    if (!is_stored(kernel, row)) {
        count += explicit_rows->k_count;
        count += nadir_kernel_has_tail(kernel) ? (int64_t)kernel->perturbed.length[row] + 1 : 0;
    }
    return count < states ? count : states;
}

/* A row with all its entries. */
static void gather_row(const nadir_explicit *explicit_rows, int64_t row,
                       nadir_sparse_accumulator *accumulator)
{
    const nadir_kernel *kernel = explicit_rows->kernel;
    const nadir_row part = nadir_kernel_row(kernel, row);
    for (int64_t i = 0; i < part.count; i++) {
        nadir_sparse_accumulator_add(accumulator, nadir_row_column(&part, i), part.values[i]);
    }
    if (nadir_kernel_has_tail(kernel)) {
        const nadir_perturbed *perturbed = &kernel->perturbed;
        const nadir_row_tail line = nadir_perturbed_row_tail(kernel, row);
        for (int64_t i = 0; i < line.length; i++) {
            const int32_t t = perturbed->order[i];
            if (!accumulator->present[t]) {
                nadir_sparse_accumulator_add(accumulator, t, nadir_row_tail_value(&line, perturbed->x[t]));
            }
        }
        if (perturbed->extra[row] >= 0) {
            nadir_sparse_accumulator_add(accumulator, perturbed->extra[row], perturbed->amount[row]);
        }
    }
    for (int64_t i = 0; i < explicit_rows->k_count; i++) {
        const int32_t t = explicit_rows->k_states[i];
        nadir_sparse_accumulator_add(accumulator, t, -(kernel->b[row] * kernel->k[t]));
    }
}

nadir_row nadir_explicit_row(nadir_explicit *explicit_rows, int64_t row)
{
    int32_t *columns = explicit_rows->columns;
    double *values = explicit_rows->values;
    nadir_row from = nadir_kernel_row(explicit_rows->kernel, row);
    if (!is_stored(explicit_rows->kernel, row)) {
        gather_row(explicit_rows, row, &explicit_rows->accumulator);
        const int64_t all = nadir_sparse_accumulator_take(&explicit_rows->accumulator, columns, values);
        from = (nadir_row){.count = all, .columns = columns, .values = values};
    }
    int64_t count = 0;
    for (int64_t i = 0; i < from.count; i++) {
        columns[count] = (int32_t)nadir_row_column(&from, i);
        values[count] = from.values[i];
        count += values[count] != 0;
    }
    return (nadir_row){.count = count, .columns = columns, .values = values};
}

const double *nadir_explicit_dense_row(const nadir_explicit *explicit_rows, int64_t row)
{
    const nadir_row stored = nadir_kernel_row(explicit_rows->kernel, row);
    return stored.columns == NULL && is_stored(explicit_rows->kernel, row) ? stored.values : NULL;
}

const double *nadir_kernel_on_support(const nadir_kernel *kernel, int64_t row)
{
    const nadir_row stored = nadir_kernel_row(kernel, row);
    const nadir_row nominal = nadir_model_row(kernel->model, row);
    const bool same = stored.columns != NULL && stored.columns == nominal.columns;
    return same && is_stored(kernel, row) ? stored.values : NULL;
}

/* Sparse accumulators. */

/* Rows with more than one entry in this many states are put in order by looking at all states. */
#define CROWDED 16

nadir_status nadir_sparse_accumulator_make(nadir_context *context, int64_t states,
                                           nadir_sparse_accumulator *accumulator)
{
    nadir_status status = NADIR_OK;
    nadir_sparse_accumulator made = {.states = states};
    NADIR_NEW_ZERO(context, made.sums, states);
    NADIR_NEW_ZERO(context, made.present, states);
    NADIR_NEW(context, made.found, states);
    *accumulator = made;
    made = (nadir_sparse_accumulator){0};
cleanup:
    nadir_sparse_accumulator_clear(context, &made);
    return status;
}

void nadir_sparse_accumulator_clear(nadir_context *context, nadir_sparse_accumulator *accumulator)
{
    NADIR_RELEASE(context, accumulator->sums, accumulator->present, accumulator->found);
    *accumulator = (nadir_sparse_accumulator){0};
}

static int by_number(const void *left, const void *right)
{
    const int32_t a = *(const int32_t *)left;
    const int32_t b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

/* Puts the states found in rising order. */
static void sort(const nadir_sparse_accumulator *accumulator)
{
    if (accumulator->count <= accumulator->states / CROWDED) {
        qsort(accumulator->found, (size_t)accumulator->count, sizeof *accumulator->found, by_number);
        return;
    }
    int64_t to = 0;
    for (int64_t t = 0; to < accumulator->count; t++) {
        if (accumulator->present[t]) {
            accumulator->found[to++] = (int32_t)t;
        }
    }
}

int64_t nadir_sparse_accumulator_take(nadir_sparse_accumulator *accumulator, int32_t *columns, double *values)
{
    const int64_t count = accumulator->count;
    sort(accumulator);
    for (int64_t i = 0; i < count; i++) {
        const int32_t t = accumulator->found[i];
        columns[i] = t;
        values[i] = accumulator->sums[t];
        accumulator->sums[t] = 0;
        accumulator->present[t] = false;
    }
    accumulator->count = 0;
    return count;
}

/* What the rows of one kernel do to an average more than those of another; see
 * kernel.h. */

/* States are taken in so many parts, whatever the threads: sums come out the same. */
enum { PARTS = 64 };

typedef struct moving {
    const nadir_kernel *from, *to;
    nadir_kernel_vector x_from, x_to;
    const double *d, *pi;
    int64_t ahead; /* see nadir_prefetch */
} moving;

/* The difference entry by entry, where both rows are stored on the successors of the model. */
static double stored_difference(const moving *self, int64_t row, const double *from, const double *to)
{
    const nadir_model *model = self->to->model;
    const int64_t start = model->row_starts[row];
    const int64_t count = model->row_starts[row + 1] - start;
    const int32_t *columns = model->columns + start;
    const double *x = self->x_to.x;
    double sum = 0;
    nadir_prefetch(x, model->columns, start, start + count, self->ahead);
    for (int64_t i = 0; i < count; i++) {
        sum += (to[i] - from[i]) * x[columns[i]];
    }
    return sum;
}

static double row_difference(const moving *self, int64_t row)
{
    const double *from = nadir_kernel_on_support(self->from, row);
    const double *to = nadir_kernel_on_support(self->to, row);
    if (from != NULL && to != NULL) {
        return from == to ? 0 : stored_difference(self, row, from, to);
    }
    double before;
    double after;
    nadir_kernel_multiply_rows(self->from, &self->x_from, row, row + 1, &before);
    nadir_kernel_multiply_rows(self->to, &self->x_to, row, row + 1, &after);
    return after - before;
}

static double add_part(const moving *self, int64_t first, int64_t end)
{
    const nadir_model *model = self->to->model;
    double sum = 0;
    for (int64_t s = first; s < end; s++) {
        double state = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1] && self->d[s] > 0; row++) {
            state += self->pi[row] != 0 ? self->pi[row] * row_difference(self, row) : 0;
        }
        sum += self->d[s] > 0 ? self->d[s] * state : 0;
    }
    return sum;
}

double nadir_kernel_difference_product(const nadir_context *context, const nadir_kernel *from,
                                       const nadir_kernel *to, const double *d, const double *pi,
                                       const double *x)
{
    const nadir_model *model = to->model;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    const int threads = nadir_threads_for(context, 2 * entries);
    const nadir_kernel_vector x_from = nadir_kernel_prepare(context, from, x);
    const moving run = {
        .from = from,
        .to = to,
        .x_from = x_from,
        .x_to = nadir_kernel_prepare(context, to, x),
        .d = d,
        .pi = pi,
        .ahead = model->dense != NULL
                     ? 0
                     : nadir_prefetch_entries(nadir_model_width(model), model->row_starts[model->rows]),
    };
    double parts[PARTS];
    double sum = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int part = 0; part < PARTS; part++) {
        parts[part] = add_part(&run, model->states * part / PARTS, model->states * (part + 1) / PARTS);
    }
    for (int part = 0; part < PARTS; part++) {
        sum += parts[part];
    }
    return nadir_allreduce_sum(context, sum);
}

/*
 * a kernel as the kernel of a model of its own; see kernel.h.
 *
 * Every row is written out, as CSR or, where that would take more memory, dense; nadir_model_finish checks
 * and normalises the rows and settles how they are kept. Rewards paid on landing go along: those that are given,
 * and what was assumed for the other successors, so that the new model pays what the kernel does.
 */

/* An entry below minus this is negative, not rounded: some fifty roundings of a probability. */
#define ROUNDING 1e-14

/* How many entries all rows have, at most. */
static double count_entries(const nadir_explicit *rows)
{
    double entries = 0;
    for (int64_t row = 0; row < rows->kernel->model->rows; row++) {
        entries += (double)nadir_explicit_bound(rows, row);
    }
    return entries;
}

/* Room for the rows of `made`, in the form that takes less; lands: with rewards of transitions. */
static nadir_status allocate_rows(nadir_context *context, double entries, bool lands, nadir_model *made)
{
    nadir_status status = NADIR_OK;
    const double all = (double)made->rows * (double)made->states;
    const double entry = sizeof *made->columns + sizeof *made->probabilities;
    if (entries * entry >= all * sizeof *made->dense) {
        NADIR_NEW_ZERO(context, made->dense, made->rows * made->states);
    } else {
        NADIR_NEW(context, made->row_starts, made->rows + 1);
        NADIR_NEW(context, made->columns, entries);
        NADIR_NEW(context, made->probabilities, entries);
        made->row_starts[0] = 0;
    }
    if (lands) {
        NADIR_NEW(context, made->transition_rewards, made->dense != NULL ? all : entries);
        for (int64_t i = 0; made->dense != NULL && i < made->rows * made->states; i++) {
            made->transition_rewards[i] = NAN;
        }
    }
cleanup:
    return status;
}

/* What landing on a successor pays; *place: where to look in the nominal row, for successors that rise. */
static double landing_reward(const nadir_model *model, int64_t row, int32_t column, int64_t *place)
{
    const nadir_row nominal = nadir_model_row(model, row);
    const bool given = nadir_row_seek(&nominal, column, place) && !isnan(nominal.rewards[*place]);
    return given ? nominal.rewards[*place] : nadir_landing_unseen(model, row, column);
}

/* A row of `made`, and what its successors pay; entries that are negative, by rounding, are zero. */
static void write_row(const nadir_model *model, const nadir_row *from, int64_t row, nadir_model *made)
{
    const int64_t start = made->dense == NULL ? made->row_starts[row] : row * made->states;
    int64_t place = 0;
    for (int64_t i = 0; i < from->count; i++) {
        const double value = from->values[i] < 0 ? 0 : from->values[i];
        const int64_t to = start + (made->dense != NULL ? from->columns[i] : i);
        if (made->dense != NULL) {
            made->dense[to] = value;
        } else {
            made->columns[to] = from->columns[i];
            made->probabilities[to] = value;
        }
        if (made->transition_rewards != NULL) {
            made->transition_rewards[to] = landing_reward(model, row, from->columns[i], &place);
        }
    }
    if (made->dense == NULL) {
        made->row_starts[row + 1] = start + from->count;
    }
}

static nadir_status write_rows(nadir_context *context, const nadir_kernel *kernel, nadir_model *made)
{
    nadir_status status = NADIR_OK;
    nadir_explicit rows = {0};
    NADIR_CHECK(nadir_explicit_make(context, kernel, &rows));
    NADIR_CHECK(
        allocate_rows(context, count_entries(&rows), kernel->model->transition_rewards != NULL, made));
    for (int64_t row = 0; row < made->rows; row++) {
        const nadir_row from = nadir_explicit_row(&rows, row);
        write_row(kernel->model, &from, row, made);
        if (row % 1024 == 0) {
            NADIR_CHECK(nadir_progress(context, "writing out the kernel", (double)row / (double)made->rows));
        }
    }
cleanup:
    nadir_explicit_clear(context, &rows);
    return status;
}

nadir_status nadir_kernel_to_model(nadir_context *context, const nadir_kernel *kernel, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_model *made = NULL;
    const nadir_source source = {.path = "kernel"};
    double smallest;
    NADIR_CHECK(nadir_terminal_refuse(context, kernel->model, "a model of a kernel"));
    NADIR_CHECK(nadir_kernel_minimum(context, kernel, &smallest));
    if (smallest < -ROUNDING) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "the kernel has an entry of %g: a model needs probabilities, 0 or more; the domains "
            "simplex and support have no such kernels",
            smallest);
    }
    NADIR_CHECK(nadir_model_start(context, &made));
    NADIR_CHECK(nadir_model_copy_frame(context, kernel->model, made));
    NADIR_CHECK(write_rows(context, kernel, made));
    NADIR_CHECK(nadir_model_finish(context, made, &source));
    *model = made;
    made = NULL;
cleanup:
    nadir_model_free(made);
    return status;
}
