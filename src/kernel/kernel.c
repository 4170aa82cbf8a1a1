/* kernel.c: kernels as objects, and products with their rows; see kernel.h. */
#include "kernel/parts.h"

#include "linalg/threads.h"

#include <cblas.h>
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
    void *const arrays[] = {kernel->b,       kernel->k,      kernel->starts,
                            kernel->columns, kernel->values, kernel->place};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        nadir_memory_release(memory, arrays[i]);
    }
    nadir_model_free(kernel->model);
    nadir_memory_release(memory, kernel);
    nadir_memory_free(memory);
}

/* False, with the error kept, when a number is not finite. */
static bool all_finite(nadir_context *context, const char *what, int64_t count, const double *values)
{
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
    NADIR_NEW(context, made->b, model->rows);
    NADIR_NEW(context, made->k, model->states);
    memcpy(made->b, b, (size_t)model->rows * sizeof *b);
    memcpy(made->k, k, (size_t)model->states * sizeof *k);
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
            if (column < 0 || column >= model->states || !rises || !isfinite(changed->values[j])) {
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

const nadir_model *nadir_kernel_model(const nadir_kernel *kernel)
{
    return kernel->model;
}

nadir_row nadir_kernel_row(const nadir_kernel *kernel, int64_t row)
{
    const int64_t place = kernel->place != NULL ? kernel->place[row] : -1;
    if (place < 0) {
        return nadir_model_row(kernel->model, row);
    }
    const int64_t start = kernel->starts[place];
    return (nadir_row){
        .count = kernel->starts[place + 1] - start,
        .columns = kernel->columns + start,
        .values = kernel->values + start,
    };
}

static double row_product(const nadir_row *row, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < row->count; i++) {
        sum += row->values[i] * x[nadir_row_column(row, i)];
    }
    return sum;
}

void nadir_kernel_multiply(const nadir_context *context, const nadir_kernel *kernel, const double *x,
                           double *y)
{
    const nadir_model *model = kernel->model;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    const int threads = nadir_threads_for(context, entries);
    const int before = nadir_blas_threads(nadir_threads_for(context, model->states));
    const double shift = kernel->k != NULL ? cblas_ddot((blasint)model->states, kernel->k, 1, x, 1) : 0;
    nadir_blas_restore(before);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row part = nadir_kernel_row(kernel, row);
        y[row] = row_product(&part, x) - (kernel->b != NULL ? kernel->b[row] * shift : 0);
    }
}

/* The smallest entry of one row. Where an entry is not stored it is 0 - b k. */
static double row_minimum(const nadir_kernel *kernel, int64_t row)
{
    const nadir_row part = nadir_kernel_row(kernel, row);
    const int64_t states = kernel->model->states;
    double smallest = part.count < states && kernel->k == NULL ? 0 : INFINITY;
    int64_t next = 0;
    for (int64_t t = 0; t < states && kernel->k != NULL; t++) {
        const bool stored = next < part.count && nadir_row_column(&part, next) == t;
        const double entry = (stored ? part.values[next] : 0) - kernel->b[row] * kernel->k[t];
        next += stored;
        smallest = fmin(smallest, entry);
    }
    for (int64_t i = 0; i < part.count && kernel->k == NULL; i++) {
        smallest = fmin(smallest, part.values[i]);
    }
    return smallest;
}

double nadir_kernel_minimum(const nadir_kernel *kernel)
{
    double smallest = INFINITY;
    for (int64_t row = 0; row < kernel->model->rows; row++) {
        smallest = fmin(smallest, row_minimum(kernel, row));
    }
    return smallest;
}
