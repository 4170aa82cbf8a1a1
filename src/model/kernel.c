/* kernel.c: kernels as objects, and products with their rows; see kernel.h. */
#include "model/kernel_device.h"
#include "model/kernel_internal.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

nadir_status nadir_kernel_create(nadir_context *context, nadir_model *model, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *made;
    NADIR_NEW_ZERO(context, made, 1);
    made->memory = nadir_memory_retain(context->memory);
    made->model = nadir_model_retain(model);
    *kernel = made;
cleanup:
    return status;
}

void nadir_kernel_free(nadir_kernel *kernel)
{
    if (kernel == NULL) {
        return;
    }
    nadir_memory *memory = kernel->memory;
    const nadir_perturbed *perturbed = &kernel->perturbed;
    void *const arrays[] = {kernel->b,         kernel->k,         kernel->starts,   kernel->columns,
                            kernel->values,    kernel->place,     kernel->sums,     kernel->positions,
                            perturbed->values, perturbed->x,      perturbed->order, perturbed->omega,
                            perturbed->slope,  perturbed->length, perturbed->extra, perturbed->amount,
                            perturbed->nominal};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        nadir_memory_release(memory, arrays[i]);
    }
    nadir_sorted_states_release(memory, &kernel->sorted);
    nadir_kernel_device_forget(kernel);
    nadir_model_free(kernel->model);
    nadir_memory_release(memory, kernel);
    nadir_memory_free(memory);
}

/* False, with the error kept, when a number is not finite. */
static bool all_finite(nadir_context *context, const char *what, int64_t count, const double *values)
{
    if (isfinite(nadir_vector_norm_1(count, values))) {
        return true;
    }
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            nadir_fail(context, NADIR_ERROR_ARGUMENT, "kernel: entry %lld of %s is %g", (long long)i, what,
                       values[i]);
            return false;
        }
    }
    return true;
}

nadir_status nadir_kernel_create_rank_one(nadir_context *context, nadir_model *model, const double *b,
                                          const double *k, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *made = NULL;
    if (!all_finite(context, "b", model->rows, b) || !all_finite(context, "k", model->states, k)) {
        return NADIR_ERROR_ARGUMENT;
    }
    NADIR_CHECK(nadir_kernel_create(context, model, &made));
    made->kind = NADIR_KERNEL_RANK_ONE;
    NADIR_NEW(context, made->b, model->rows);
    NADIR_NEW(context, made->k, nadir_model_width(model));
    memcpy(made->b, b, (size_t)model->rows * sizeof *b);
    memcpy(made->k, k, (size_t)model->states * sizeof *k);
    nadir_exchange_fill(model->exchange, made->k);
    *kernel = made;
    made = NULL;
cleanup:
    nadir_kernel_free(made);
    return status;
}

static nadir_status check_changed(nadir_context *context, const nadir_model *model,
                                  const nadir_changed_rows *changed)
{
    for (int64_t i = 0; i < changed->count; i++) {
        const int64_t row = changed->rows[i];
        if (row < 0 || row >= model->rows || (i > 0 && row <= changed->rows[i - 1]) ||
            changed->starts[i + 1] < changed->starts[i] || changed->starts[0] != 0) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "kernel: changed row %lld is row %lld of %lld; expected rising rows and starts",
                              (long long)i, (long long)row, (long long)model->rows);
        }
    }
    /* Only now is it sure that all starts are within the arrays. */
    for (int64_t i = 0; i < changed->count; i++) {
        for (int64_t j = changed->starts[i]; j < changed->starts[i + 1]; j++) {
            const int32_t column = changed->columns[j];
            const bool rises = j == changed->starts[i] || column > changed->columns[j - 1];
            if (column < 0 || column >= nadir_model_width(model) || !rises || !isfinite(changed->values[j])) {
                return nadir_fail(
                    context, NADIR_ERROR_ARGUMENT,
                    "kernel: row %lld: entry %g at %lld; expected a finite number and rising states",
                    (long long)changed->rows[i], changed->values[j], (long long)column);
            }
        }
    }
    return NADIR_OK;
}

nadir_status nadir_kernel_create_changed(nadir_context *context, nadir_model *model,
                                         const nadir_changed_rows *changed, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *made = NULL;
    NADIR_CHECK(check_changed(context, model, changed));
    NADIR_CHECK(nadir_kernel_create(context, model, &made));
    const int64_t entries = changed->count > 0 ? changed->starts[changed->count] : 0;
    made->kind = NADIR_KERNEL_ROWS;
    made->changed = changed->count;
    NADIR_NEW(context, made->starts, changed->count + 1);
    NADIR_NEW(context, made->columns, entries);
    NADIR_NEW(context, made->values, entries);
    NADIR_NEW(context, made->place, model->rows);
    if (changed->count > 0) {
        memcpy(made->starts, changed->starts, (size_t)(changed->count + 1) * sizeof *made->starts);
    }
    if (entries > 0) {
        memcpy(made->columns, changed->columns, (size_t)entries * sizeof *made->columns);
        memcpy(made->values, changed->values, (size_t)entries * sizeof *made->values);
    }
    memset(made->place, 0xff, (size_t)model->rows * sizeof *made->place); /* -1 */
    for (int64_t i = 0; i < changed->count; i++) {
        made->place[changed->rows[i]] = i;
    }
    *kernel = made;
    made = NULL;
cleanup:
    nadir_kernel_free(made);
    return status;
}

bool nadir_kernel_rank_one(const nadir_kernel *kernel, const double **b, const double **k)
{
    *b = kernel->b;
    *k = kernel->k;
    return nadir_kernel_stores_nominal(kernel);
}

const nadir_model *nadir_kernel_model(const nadir_kernel *kernel)
{
    return kernel->model;
}

bool nadir_kernel_is_nominal(const nadir_kernel *kernel, int64_t row)
{
    switch (kernel->kind) {
    case NADIR_KERNEL_RANK_ONE:
        return kernel->b[row] == 0;
    case NADIR_KERNEL_ROWS:
        return kernel->place[row] < 0;
    case NADIR_KERNEL_PERTURBED:
        return kernel->perturbed.nominal[row];
    case NADIR_KERNEL_NOMINAL:
        break;
    }
    return true;
}

nadir_row nadir_kernel_row(const nadir_kernel *kernel, int64_t row)
{
    const nadir_model *model = kernel->model;
    const int64_t place = kernel->kind == NADIR_KERNEL_ROWS ? kernel->place[row] : -1;
    if (place < 0) {
        nadir_row part = nadir_model_row(model, row);
        if (kernel->kind == NADIR_KERNEL_PERTURBED && !kernel->perturbed.nominal[row]) {
            part.values = kernel->perturbed.values +
                          (model->dense != NULL ? row * model->states : model->row_starts[row]);
        }
        return part;
    }
    const int64_t start = kernel->starts[place];
    return (nadir_row){
        .count = kernel->starts[place + 1] - start,
        .columns = kernel->columns + start,
        .values = kernel->values + start,
    };
}

/* Four sums at once: one alone would wait for every addition. Always in the same order. */
static double dense_product(int64_t count, const double *values, const double *x)
{
    double sums[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (int j = 0; j < 4; j++) {
            sums[j] += values[i + j] * x[i + j];
        }
    }
    for (; i < count; i++) {
        sums[0] += values[i] * x[i];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static double sparse_product(int64_t count, const int32_t *columns, const double *values, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += values[i] * x[columns[i]];
    }
    return sum;
}

static double row_product(const nadir_row *row, const double *x)
{
    return row->columns == NULL ? dense_product(row->count, row->values, x)
                                : sparse_product(row->count, row->columns, row->values, x);
}

nadir_kernel_vector nadir_kernel_prepare(const nadir_context *context, const nadir_kernel *kernel,
                                         const double *x)
{
    const int64_t states = kernel->model->states;
    nadir_kernel_vector vector = {.x = nadir_exchange_extend(kernel->model->exchange, x)};
    if (kernel->kind == NADIR_KERNEL_RANK_ONE) {
        double error;
        vector.shift = nadir_global_dot(context, states, kernel->k, x, &error);
    }
    if (nadir_kernel_has_tail(kernel)) {
        nadir_perturbed_update(kernel);
        nadir_prefix_sums_compute(context, &kernel->sorted, x, kernel->sums);
        vector.sums = kernel->sums;
    }
    return vector;
}

void nadir_kernel_multiply_rows(const nadir_kernel *kernel, const nadir_kernel_vector *vector, int64_t first,
                                int64_t end, double *y)
{
    const nadir_model *model = kernel->model;
    const double *x = vector->x;
    if (nadir_kernel_has_tail(kernel)) {
        for (int64_t row = first; row < end; row++) {
            y[row - first] = nadir_perturbed_product(kernel, vector, row);
        }
        return;
    }
    if (model->dense == NULL &&
        (kernel->kind == NADIR_KERNEL_NOMINAL || kernel->kind == NADIR_KERNEL_PERTURBED)) {
        const nadir_perturbed *perturbed = &kernel->perturbed;
        const int64_t ahead =
            nadir_prefetch_entries(nadir_model_width(model), model->row_starts[model->rows]);
        for (int64_t row = first; row < end; row++) {
            const bool own = perturbed->values != NULL && !perturbed->nominal[row];
            const double *values = own ? perturbed->values : model->probabilities;
            const int64_t start = model->row_starts[row];
            nadir_prefetch(x, model->columns, start, model->row_starts[row + 1], ahead);
            y[row - first] =
                sparse_product(model->row_starts[row + 1] - start, model->columns + start, values + start, x);
        }
        return;
    }
    for (int64_t row = first; row < end; row++) {
        const nadir_row part = nadir_kernel_row(kernel, row);
        y[row - first] = row_product(&part, x) -
                         (kernel->kind == NADIR_KERNEL_RANK_ONE ? kernel->b[row] * vector->shift : 0);
    }
}

/* Multiplications of a product with all rows. */
static int64_t work_of(const nadir_kernel *kernel)
{
    const nadir_model *model = kernel->model;
    return model->dense != NULL ? model->rows * model->states : model->nonzeros;
}

void nadir_kernel_multiply(const nadir_context *context, const nadir_kernel *kernel, const double *x,
                           double *y)
{
    enum { BLOCK = 64 };
    const int64_t rows = kernel->model->rows;
    const nadir_kernel_vector vector = nadir_kernel_prepare(context, kernel, x);
    const int threads = nadir_threads_for(context, work_of(kernel));
    if (nadir_kernel_device_multiply(context, kernel, x, y)) {
        for (int64_t row = 0; row < rows && kernel->kind == NADIR_KERNEL_RANK_ONE; row++) {
            y[row] -= kernel->b[row] * vector.shift;
        }
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t first = 0; first < rows; first += BLOCK) {
        const int64_t end = first + BLOCK < rows ? first + BLOCK : rows;
        nadir_kernel_multiply_rows(kernel, &vector, first, end, y + first);
    }
}

/* Sum of the entries and of their sizes. */
static void measure_row(const nadir_row *row, double *sum, double *size)
{
    double plus = 0;
    double minus = 0;
    if (row->count > 0 && nadir_vector_smallest(row->count, row->values) >= 0) {
        *size = nadir_vector_norm_1(row->count, row->values);
        *sum = *size;
        return;
    }
    for (int64_t i = 0; i < row->count; i++) {
        plus += row->values[i] > 0 ? row->values[i] : 0;
        minus -= row->values[i] < 0 ? row->values[i] : 0;
    }
    *sum = plus - minus;
    *size = plus + minus;
}

/* Rows of the form entries - b k; k_sum and k_size: what k adds up to, and its sizes. */
static nadir_row_size measure_stored(const nadir_kernel *kernel, int64_t row, double k_sum, double k_size)
{
    const nadir_row part = nadir_kernel_row(kernel, row);
    const double b = kernel->kind == NADIR_KERNEL_RANK_ONE ? kernel->b[row] : 0;
    const double k_terms = (double)nadir_model_total(kernel->model) + 4;
    const double unit = NADIR_ROUND_UNIT;
    double sum;
    double all;
    measure_row(&part, &sum, &all);
    const double off = unit * (((double)part.count + 4) * all + k_terms * fabs(b) * k_size);
    return (nadir_row_size){
        .sum = sum - b * k_sum,
        .largest = all + fabs(b) * k_size,
        .terms = all + fabs(b) * k_size,
        .rounding = off * (1 + 1e-6),
    };
}

void nadir_kernel_measure(const nadir_context *context, const nadir_kernel *kernel, nadir_kernel_size *size)
{
    const nadir_model *model = kernel->model;
    double k_sum = 0;
    double k_size = 0;
    for (int64_t t = 0; t < model->states && kernel->kind == NADIR_KERNEL_RANK_ONE; t++) {
        k_sum += kernel->k[t];
        k_size += fabs(kernel->k[t]);
    }
    k_sum = kernel->kind == NADIR_KERNEL_RANK_ONE ? nadir_allreduce_sum(context, k_sum) : 0;
    k_size = kernel->kind == NADIR_KERNEL_RANK_ONE ? nadir_allreduce_sum(context, k_size) : 0;
    const bool has_tail = nadir_kernel_has_tail(kernel);
    if (has_tail) {
        (void)nadir_kernel_prepare(context, kernel, NULL);
    }
    double low = -INFINITY; /* of minus the sum */
    double high = -INFINITY;
    double largest = 0;
    double rounding = 0;
    int64_t nominal = 0;
    const int threads =
        kernel->kind == NADIR_KERNEL_NOMINAL ? 1 : nadir_threads_for(context, work_of(kernel));
#pragma omp parallel for num_threads(threads) schedule(static) \
    reduction(max : low, high, largest, rounding) reduction(+ : nominal) if (threads > 1)
    for (int64_t row = 0; row < model->rows; row++) {
        if (nadir_kernel_is_nominal(kernel, row)) {
            nominal++;
            continue;
        }
        const nadir_row_size one =
            has_tail ? nadir_perturbed_measure(kernel, row) : measure_stored(kernel, row, k_sum, k_size);
        low = fmax(low, one.rounding - one.sum);
        high = fmax(high, one.sum + one.rounding);
        largest = fmax(largest, one.largest + one.rounding);
        rounding = fmax(rounding, one.rounding);
    }
    if (nominal > 0) {
        low = fmax(low, -model->limits.sum_low);
        high = fmax(high, model->limits.sum_high);
        largest = fmax(largest, model->limits.sum_high);
        rounding = fmax(rounding, model->limits.rounding);
    }
    *size = (nadir_kernel_size){
        .sum_low = -nadir_allreduce_maximum(context, low),
        .sum_high = nadir_allreduce_maximum(context, high),
        .largest = nadir_allreduce_maximum(context, largest),
        .rounding = nadir_allreduce_maximum(context, rounding),
    };
}

static double stored_minimum(const nadir_kernel *kernel, int64_t row)
{
    const nadir_row part = nadir_kernel_row(kernel, row);
    const double smallest = part.count > 0 ? nadir_vector_smallest(part.count, part.values) : INFINITY;
    return part.count < nadir_model_total(kernel->model) ? fmin(smallest, 0) : smallest;
}

nadir_status nadir_kernel_minimum(nadir_context *context, const nadir_kernel *kernel, double *minimum)
{
    const nadir_model *model = kernel->model;
    const bool has_tail = nadir_kernel_has_tail(kernel);
    const int threads =
        nadir_threads_for(context, model->dense != NULL ? model->rows * model->states : model->nonzeros);
    double smallest = INFINITY;
    if (kernel->kind == NADIR_KERNEL_RANK_ONE) {
        return nadir_rank_one_minimum(context, model, kernel->b, kernel->k, minimum);
    }
    if (has_tail) {
        nadir_perturbed_update(kernel);
    }
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : smallest) if (threads > 1)
    for (int64_t row = 0; row < model->rows; row++) {
        const double one = nadir_kernel_is_nominal(kernel, row) ? nadir_model_row_minimum(model, row)
                           : has_tail                           ? nadir_perturbed_minimum(kernel, row)
                                                                : stored_minimum(kernel, row);
        smallest = one < smallest ? one : smallest;
    }
    *minimum = nadir_allreduce_minimum(context, smallest);
    return NADIR_OK;
}
