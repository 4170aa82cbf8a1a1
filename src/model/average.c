/*
 * average.c: averaging a kernel over a policy; see average.h.
 *
 * A sparse average merges the rows of positive probability of each state. A pass over the same rows with the
 * pattern known refills the values in place; where the kernel has tails it takes them off the entries that lie
 * on them.
 */
#include "model/average.h"

#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "model/kernel_device.h"
#include "model/kernel_internal.h"

#include <math.h>
#include <string.h>

void nadir_average_clear(nadir_context *context, nadir_average *average)
{
    nadir_release(context, average->dense);
    nadir_entries_clear(context, &average->entries);
    nadir_entries_clear(context, &average->transpose);
    NADIR_RELEASE(context, average->correction, average->active);
    nadir_offsupport_tail_clear(context, &average->tail);
    if (average->device_matrix != NULL && average->lender == NULL) {
        average->device->matrix_free(average->device_matrix);
    }
    *average = (nadir_average){0};
}

/* sum <- weight * row, or sum + weight * row if it is not the first, on all states. */
static void add_row(int64_t states, const nadir_row *row, double weight, bool first, double *restrict sum)
{
    const int64_t count = row->count;
    const double *values = row->values;
    if (row->columns == NULL) {
        nadir_vector_add(count, weight, values, first, sum);
        return;
    }
    if (first) {
        memset(sum, 0, (size_t)states * sizeof *sum);
    }
    for (int64_t i = 0; i < count; i++) {
        sum[row->columns[i]] += weight * values[i];
    }
}

/* Rows of the dense average, one for each state; returns the largest of their 1-norms, which cost little
 * while a row is still in the cache. */
static double fill_dense(const nadir_context *context, const nadir_kernel *kernel, const nadir_policy *policy,
                         double *dense)
{
    const nadir_model *model = kernel->model;
    const int64_t n = model->states;
    const int threads = nadir_threads_for(context, model->rows * n);
    double largest = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : largest)
    for (int64_t s = 0; s < n; s++) {
        double *sum = dense + s * n;
        bool first = true; /* every policy chooses something */
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            if (policy->probabilities[row] > 0) {
                const nadir_row part = nadir_kernel_row(kernel, row);
                add_row(n, &part, policy->probabilities[row], first, sum);
                first = false;
            }
        }
        const double norm = nadir_vector_norm_1(n, sum);
        largest = norm > largest ? norm : largest;
    }
    return largest;
}

/* How many entries the average of a state has at most. */
static int64_t count_most(const nadir_kernel *kernel, const nadir_policy *policy, int64_t state)
{
    const nadir_model *model = kernel->model;
    int64_t most = 0;
    for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
        most += policy->probabilities[row] > 0 ? nadir_kernel_row(kernel, row).count : 0;
    }
    return most < nadir_model_width(model) ? most : nadir_model_width(model);
}

/* Entries of a row in the making: columns rise. */
typedef struct partial_row {
    int64_t count;
    const int32_t *columns;
    const double *values;
} partial_row;

/* to <- left + weight * right, all columns rising; returns the length. What is written overlaps nothing.
 * Which side is next cannot be foreseen, so the loop steps without a branch on it. */
static int64_t merge(partial_row left, partial_row right, double weight, int32_t *columns, double *values)
{
    int64_t i = 0;
    int64_t j = 0;
    int64_t to = 0;
    while (i < left.count && j < right.count) {
        const int32_t a = left.columns[i];
        const int32_t b = right.columns[j];
        const int from_left = a <= b;
        const int from_right = b <= a;
        columns[to] = a < b ? a : b;
        values[to] = from_left * left.values[i] + from_right * (weight * right.values[j]);
        i += from_left;
        j += from_right;
        to++;
    }
    for (; i < left.count; i++, to++) {
        columns[to] = left.columns[i];
        values[to] = left.values[i];
    }
    for (; j < right.count; j++, to++) {
        columns[to] = right.columns[j];
        values[to] = weight * right.values[j];
    }
    return to;
}

/* Two lists, as long as the longest average of a state, between which rows are merged. */
typedef struct merge_buffers {
    int32_t *columns[2];
    double *values[2];
} merge_buffers;

/* The average of one state at (columns, values); returns its length. The rows are added one after another, as
 * when the values are refilled. */
static int64_t merge_state(const nadir_kernel *kernel, const nadir_policy *policy, int64_t state,
                           const merge_buffers *buffers, int32_t *columns, double *values)
{
    const nadir_model *model = kernel->model;
    int64_t last = model->state_rows[state + 1] - 1;
    while (last > model->state_rows[state] && policy->probabilities[last] <= 0) {
        last--;
    }
    partial_row sum = {0};
    int side = 0;
    for (int64_t row = model->state_rows[state]; row <= last; row++) {
        if (policy->probabilities[row] > 0) {
            const nadir_row add = nadir_kernel_row(kernel, row);
            int32_t *to_columns = row < last ? buffers->columns[side] : columns;
            double *to_values = row < last ? buffers->values[side] : values;
            const int64_t count = merge(sum, (partial_row){add.count, add.columns, add.values},
                                        policy->probabilities[row], to_columns, to_values);
            sum = (partial_row){count, to_columns, to_values};
            side = 1 - side;
        }
    }
    return sum.count;
}

static nadir_status make_sparse(nadir_context *context, const nadir_kernel *kernel,
                                const nadir_policy *policy, nadir_entries *entries)
{
    nadir_status status = NADIR_OK;
    const int64_t n = kernel->model->states;
    int64_t longest = 0;
    int64_t most = 0;
    merge_buffers buffers = {0};
    nadir_entries made = {0};
    for (int64_t s = 0; s < n; s++) {
        const int64_t count = count_most(kernel, policy, s);
        most += count;
        longest = count > longest ? count : longest;
    }
    NADIR_NEW(context, buffers.columns[0], 2 * longest);
    NADIR_NEW(context, buffers.values[0], 2 * longest);
    buffers.columns[1] = buffers.columns[0] + longest;
    buffers.values[1] = buffers.values[0] + longest;
    NADIR_NEW(context, made.starts, n + 1);
    NADIR_NEW(context, made.columns, most);
    NADIR_NEW(context, made.values, most);
    made.starts[0] = 0;
    for (int64_t s = 0; s < n; s++) {
        const int64_t to = made.starts[s];
        made.starts[s + 1] =
            to + merge_state(kernel, policy, s, &buffers, made.columns + to, made.values + to);
    }
    if (made.starts[n] < most) {
        NADIR_RESIZE(context, made.columns, made.starts[n]);
        NADIR_RESIZE(context, made.values, made.starts[n]);
    }
    *entries = made;
    made = (nadir_entries){0};
cleanup:
    NADIR_RELEASE(context, buffers.columns[0], buffers.values[0]);
    nadir_entries_clear(context, &made);
    return status;
}

/* The entries of a row are added where they belong, [at, end). False when there is no place for one. */
static bool refill_row(const nadir_kernel *kernel, int64_t row, double weight, int64_t index, int64_t end,
                       const nadir_entries *entries)
{
    const nadir_row part = nadir_kernel_row(kernel, row);
    const bool has_tail = nadir_kernel_has_tail(kernel);
    const nadir_row_tail line = has_tail ? nadir_perturbed_row_tail(kernel, row) : (nadir_row_tail){0};
    for (int64_t i = 0; i < part.count; i++) {
        const int32_t column = part.columns[i];
        while (index < end && entries->columns[index] < column) {
            index++;
        }
        if (index == end || entries->columns[index] != column) {
            return false;
        }
        const double off = has_tail ? nadir_row_tail_at_state(&line, kernel->positions[column]) : 0;
        entries->values[index] += weight * (part.values[i] - off);
    }
    return true;
}

/* The values of a state anew, in the columns it has. False when these are not all that are needed or, if
 * `checked`, when one of them may be needless. */
static bool refill_state(const nadir_kernel *kernel, const nadir_policy *policy, int64_t state, bool checked,
                         const nadir_entries *entries)
{
    const nadir_model *model = kernel->model;
    const int64_t start = entries->starts[state];
    const int64_t end = entries->starts[state + 1];
    bool fits = true;
    memset(entries->values + start, 0, (size_t)(end - start) * sizeof *entries->values);
    for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1] && fits; row++) {
        const double weight = policy->probabilities[row];
        fits = weight <= 0 || refill_row(kernel, row, weight, start, end, entries);
    }
    for (int64_t i = start; i < end && checked; i++) {
        fits = fits && entries->values[i] != 0;
    }
    return fits;
}

static bool refill_sparse(const nadir_context *context, const nadir_kernel *kernel,
                          const nadir_policy *policy, bool checked, const nadir_entries *entries)
{
    const int threads = nadir_threads_for(context, kernel->model->nonzeros);
    bool fits = true;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(&& : fits)
    for (int64_t s = 0; s < kernel->model->states; s++) {
        fits = fits && refill_state(kernel, policy, s, checked, entries);
    }
    return fits;
}

/* b^pi and k. */
static nadir_status make_correction(nadir_context *context, const nadir_kernel *kernel,
                                    const nadir_policy *policy, nadir_average *average)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = kernel->model;
    const int64_t n = model->states;
    if (kernel->kind != NADIR_KERNEL_RANK_ONE) {
        nadir_release(context, average->correction);
        average->correction = NULL;
        average->b = NULL;
        average->k = NULL;
        return NADIR_OK;
    }
    if (average->correction == NULL) {
        NADIR_NEW(context, average->correction, n + nadir_model_width(model));
    }
    double *b = average->correction;
    for (int64_t s = 0; s < n; s++) {
        b[s] = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            b[s] += policy->probabilities[row] * kernel->b[row];
        }
    }
    memcpy(b + n, kernel->k, (size_t)nadir_model_width(model) * sizeof *b);
    average->b = b;
    average->k = b + n;
cleanup:
    return status;
}

/* sum_t |M(s, t) - b(s) k(t)| for one state; k_norm = |k|_1. Where M has no entry the term is |b(s) k(t)|. */
static double row_norm(const nadir_average *average, double k_norm, int64_t state)
{
    const nadir_matrix *matrix = &average->matrix;
    const bool dense = matrix->dense != NULL;
    const int64_t count = dense ? matrix->size : matrix->starts[state + 1] - matrix->starts[state];
    const double *values = dense ? matrix->dense + state * count : matrix->values + matrix->starts[state];
    const int32_t *columns = dense ? NULL : matrix->columns + matrix->starts[state];
    double sum = 0;
    double rest = fabs(average->b[state]) * k_norm;
    for (int64_t i = 0; i < count; i++) {
        const double change = average->b[state] * average->k[dense ? i : columns[i]];
        sum += fabs(values[i] - change);
        rest -= fabs(change);
    }
    return rest > 0 ? sum + rest : sum;
}

/* max_s sum_t |P^pi(s, t)| */
static double norm_of(const nadir_context *context, const nadir_average *average)
{
    const int64_t n = average->states;
    const nadir_matrix *matrix = &average->matrix;
    if (average->tail.states > 0) {
        return average->tail.norm;
    }
    if (average->b == NULL) {
        return nadir_matrix_norm(context, matrix);
    }
    const int threads = nadir_threads_for(context, matrix->dense != NULL ? n * n : matrix->starts[n]);
    const double k_norm = nadir_global_norm_1(context, n, average->k);
    double largest = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : largest)
    for (int64_t s = 0; s < n; s++) {
        const double norm = row_norm(average, k_norm, s);
        largest = norm > largest ? norm : largest;
    }
    return nadir_allreduce_maximum(context, largest);
}

/* The matrix, and the norm of P^pi; `norm` is that of M, negative: not known. */
static void set_view(const nadir_context *context, double norm, nadir_average *average)
{
    average->matrix = (nadir_matrix){
        .size = average->states,
        .dense = average->dense,
        .starts = average->entries.starts,
        .columns = average->entries.columns,
        .values = average->entries.values,
        .width = average->exchange != NULL ? average->states + average->exchange->ghosts : 0,
    };
    average->norm = norm >= 0 && average->b == NULL ? norm : norm_of(context, average);
}

/* What M is to the model's rows. */
static void note_kind(const nadir_kernel *kernel, nadir_average *average)
{
    average->changed = kernel->kind == NADIR_KERNEL_ROWS;
    average->nominal = nadir_kernel_stores_nominal(kernel);
}

/* The rows of positive probability, to tell whether a pattern is still the same. */
static bool note_active(const nadir_policy *policy, bool *active)
{
    bool same = true;
    for (int64_t row = 0; row < policy->rows; row++) {
        same = same && active[row] == (policy->probabilities[row] > 0);
        active[row] = policy->probabilities[row] > 0;
    }
    return same;
}

nadir_status nadir_average_make(nadir_context *context, const nadir_kernel *kernel,
                                const nadir_policy *policy, nadir_average *average)
{
    nadir_status status = NADIR_OK;
    double norm = -1;
    nadir_average made = {.states = kernel->model->states, .exchange = kernel->model->exchange};
    bool on_device = nadir_kernel_device_averages(context, kernel);
    note_kind(kernel, &made);
    NADIR_NEW_ZERO(context, made.active, kernel->model->rows);
    (void)note_active(policy, made.active);
    if (on_device) {
        NADIR_CHECK(nadir_kernel_device_average_if_memory(context, kernel, policy, &made, &on_device));
    }
    if (on_device) {
        norm = made.facts.norm;
    } else if (kernel->model->dense != NULL) {
        NADIR_NEW(context, made.dense, made.states * made.states);
        norm = fill_dense(context, kernel, policy, made.dense);
    } else {
        NADIR_CHECK(make_sparse(context, kernel, policy, &made.entries));
    }
    if (nadir_kernel_has_tail(kernel) && made.device_matrix == NULL) {
        nadir_perturbed_update(kernel);
        (void)refill_sparse(context, kernel, policy, false, &made.entries); /* it has this very pattern */
        NADIR_CHECK(nadir_offsupport_tail_make(context, kernel, policy, &made.tail));
    }
    NADIR_CHECK(make_correction(context, kernel, policy, &made));
    if (made.b != NULL) { /* the norm needs the numbers */
        NADIR_CHECK(nadir_average_fetch(context, &made));
    }
    set_view(context, norm, &made);
    *average = made;
    made = (nadir_average){0};
cleanup:
    nadir_average_clear(context, &made);
    return status;
}

nadir_status nadir_average_remake(nadir_context *context, const nadir_kernel *kernel,
                                  const nadir_policy *policy, nadir_average *average, bool *same_pattern)
{
    nadir_status status = NADIR_OK;
    double norm = -1;
    const bool same_rows = note_active(policy, average->active);
    if (average->device_matrix != NULL || nadir_kernel_device_averages(context, kernel)) {
        *same_pattern = false;
    } else if (average->dense != NULL) {
        norm = fill_dense(context, kernel, policy, average->dense);
        *same_pattern = true;
    } else {
        const bool checked = average->changed || kernel->kind == NADIR_KERNEL_ROWS;
        nadir_entries_clear(context, &average->transpose);
        average->transposed_row = 0;
        if (nadir_kernel_has_tail(kernel)) {
            nadir_perturbed_update(kernel);
        }
        *same_pattern = same_rows && refill_sparse(context, kernel, policy, checked, &average->entries);
        *same_pattern = nadir_allreduce_and(context, *same_pattern);
    }
    if (!*same_pattern) {
        nadir_average_clear(context, average);
        return nadir_average_make(context, kernel, policy, average);
    }
    note_kind(kernel, average);
    NADIR_CHECK(nadir_offsupport_tail_make(context, kernel, policy, &average->tail));
    NADIR_CHECK(make_correction(context, kernel, policy, average));
    set_view(context, norm, average);
cleanup:
    if (status != NADIR_OK) {
        nadir_average_clear(context, average);
    }
    return status;
}

nadir_status nadir_average_borrow(nadir_context *context, nadir_average *lender, const nadir_kernel *kernel,
                                  const nadir_policy *policy, nadir_average *average, bool *borrowed)
{
    nadir_status status = NADIR_OK;
    nadir_average made = {
        .states = lender->states, .matrix = lender->matrix, .exchange = lender->exchange, .lender = lender};
    made.device = lender->device;
    made.device_matrix = lender->device_matrix;
    made.sparse = lender->sparse;
    made.facts = lender->facts;
    note_kind(kernel, &made);
    *borrowed = made.nominal && lender->nominal;
    if (*borrowed) {
        NADIR_CHECK(make_correction(context, kernel, policy, &made));
        if (made.b != NULL) {
            NADIR_CHECK(nadir_average_fetch(context, &made));
        }
        made.norm = made.b == NULL && made.device_matrix != NULL ? made.facts.norm : norm_of(context, &made);
        *average = made;
    }
cleanup:
    if (status != NADIR_OK) {
        nadir_release(context, made.correction);
    }
    return status;
}
