/* kernel_device.c: kernels and averages on the device of an engine; see kernel_device.h. */
#include "model/kernel_device.h"

#include "model/kernel_internal.h"

#include <math.h>

/* Perturbed kernels with fewer entries are averaged here in less time than a call takes. Tails may stand for
 * far more of them. */
#define TILTED_ENTRIES 65536
#define SPREAD_ENTRIES 4096

/* Products cannot fail for who asks for them, so their context is constant; a device's can, and keeps its
 * sentence there. */
static nadir_context *own(const nadir_context *context)
{
    return (nadir_context *)(uintptr_t)context;
}

/* Whether the device makes products with the rows of this kernel: its stored rows are those of the model. */
static bool stores_model_rows(const nadir_context *context, const nadir_kernel *kernel)
{
    return context->device != NULL && nadir_kernel_stores_nominal(kernel) && kernel->model->exchange == NULL;
}

bool nadir_kernel_device_averages(const nadir_context *context, const nadir_kernel *kernel)
{
    const nadir_model *model = kernel->model;
    const bool perturbed = kernel->kind == NADIR_KERNEL_PERTURBED;
    const int64_t least = kernel->perturbed.x != NULL ? SPREAD_ENTRIES : TILTED_ENTRIES;
    const bool worth = kernel->device_values != NULL || (model->dense == NULL && model->nonzeros >= least);
    return stores_model_rows(context, kernel) ||
           (context->device != NULL && perturbed && model->exchange == NULL && worth);
}

/* Where the numbers of a perturbed kernel are here. */
static nadir_device_perturbed numbers_of(const nadir_perturbed *perturbed)
{
    return (nadir_device_perturbed){
        .values = perturbed->values,
        .nominal = perturbed->nominal,
        .x = perturbed->x,
        .order = perturbed->order,
        .omega = perturbed->omega,
        .slope = perturbed->slope,
        .length = perturbed->length,
        .extra = perturbed->extra,
        .amount = perturbed->amount,
    };
}

void nadir_kernel_device_forget(nadir_kernel *kernel)
{
    if (kernel->device_values != NULL) {
        kernel->values_device->perturbed_free(kernel->device_values);
        kernel->device_values = NULL;
        kernel->away = false;
    }
}

nadir_status nadir_kernel_device_fetch(nadir_context *context, nadir_kernel *kernel)
{
    const nadir_device_perturbed to = numbers_of(&kernel->perturbed);
    if (kernel->away) {
        NADIR_TRY(kernel->values_device->perturbed_download(kernel->device_values, context, &to));
        kernel->away = false;
    }
    return NADIR_OK;
}

const void *nadir_kernel_device_values(const nadir_kernel *kernel)
{
    return kernel->device_values;
}

void nadir_kernel_device_adopt(const nadir_context *context, nadir_kernel *kernel, void *numbers)
{
    nadir_kernel_device_forget(kernel);
    kernel->values_device = context->device;
    kernel->device_values = numbers;
    kernel->away = true;
}

/* The numbers of a perturbed kernel on the device, brought there if need be. */
static nadir_status send_values(nadir_context *context, const nadir_kernel *kernel, const void **numbers)
{
    nadir_kernel *kept = (nadir_kernel *)(uintptr_t)kernel; /* what it is stays the same */
    const nadir_device_perturbed from = numbers_of(&kernel->perturbed);
    void *rows;
    void *made;
    if (kernel->device_values == NULL) {
        NADIR_TRY(nadir_kernel_device_rows(context, kernel->model, &rows));
        NADIR_TRY(context->device->perturbed_upload(rows, context, &from, &made));
        nadir_kernel_device_adopt(context, kept, made);
        kept->away = false;
    }
    *numbers = kernel->device_values;
    return NADIR_OK;
}

/* Another thread may do the same meanwhile. */
nadir_status nadir_kernel_device_rows(nadir_context *context, nadir_model *model, void **rows)
{
    const nadir_device *device = context->device;
    const nadir_device_rows from = {
        .states = model->states,
        .rows = model->rows,
        .state_rows = model->state_rows,
        .dense = model->dense,
        .starts = model->row_starts,
        .columns = model->columns,
        .values = model->probabilities,
    };
    void *made = NULL;
    void *expected = NULL;
    *rows = atomic_load(&model->device_rows);
    if (*rows != NULL) {
        return NADIR_OK;
    }
    const nadir_status status = device->rows_upload(context->device_self, context, &from, &made);
    if (status == NADIR_OK) {
        model->rows_device = device;
        *rows = made;
        if (!atomic_compare_exchange_strong(&model->device_rows, &expected, made)) {
            device->rows_free(made);
            *rows = expected;
        }
    }
    return status;
}

/* M on the device, of a kernel that it averages, with tails if it has any; the model's rows go there if they
 * are not there yet. The norm is that of both. */
static nadir_status average_on_device(nadir_context *context, const nadir_kernel *kernel,
                                      const nadir_policy *policy, nadir_average *average)
{
    void *rows;
    const void *numbers;
    NADIR_TRY(nadir_kernel_device_rows(context, kernel->model, &rows));
    if (kernel->kind != NADIR_KERNEL_PERTURBED) {
        NADIR_TRY(context->device->average(rows, context, policy->probabilities, &average->device_matrix,
                                           &average->facts));
    } else {
        NADIR_TRY(send_values(context, kernel, &numbers));
        NADIR_TRY(context->device->average_perturbed(rows, context, numbers, policy->probabilities,
                                                     &average->device_matrix, &average->facts));
    }
    average->device = context->device;
    average->sparse = kernel->model->dense == NULL;
    if (average->facts.tail.there) {
        average->tail = (nadir_offsupport_tail){.states = average->states,
                                                .norm = average->facts.norm,
                                                .terms = average->facts.tail.terms,
                                                .device = context->device,
                                                .device_matrix = average->device_matrix,
                                                .facts = average->facts.tail};
    }
    return NADIR_OK;
}

nadir_status nadir_kernel_device_average_if_memory(nadir_context *context, const nadir_kernel *kernel,
                                                   const nadir_policy *policy, nadir_average *average,
                                                   bool *made)
{
    nadir_status status = average_on_device(context, kernel, policy, average);
    nadir_kernel *kept = (nadir_kernel *)(uintptr_t)kernel; /* what it is stays the same */
    *made = status != NADIR_ERROR_MEMORY || kernel->kind != NADIR_KERNEL_PERTURBED;
    if (!*made) {
        status = nadir_kernel_device_fetch(context, kept);
        if (status == NADIR_OK) {
            nadir_kernel_device_forget(kept);
        }
    }
    return status;
}

nadir_status nadir_kernel_device_combine(const nadir_context *context, const nadir_average *average,
                                         bool transposed, int64_t count, double shift, double scale,
                                         const double *x, double *y)
{
    const nadir_status status = average->device->matrix_combine(average->device_matrix, own(context),
                                                                transposed, count, shift, scale, x, y);
    if (status != NADIR_OK) {
        nadir_log(own(context), NADIR_LOG_WARNING, "%s", nadir_context_error(context));
        for (int64_t i = 0; i < average->states * count; i++) {
            y[i] = NAN;
        }
    }
    return status;
}

bool nadir_kernel_is_on_device(const nadir_context *context, const nadir_kernel *kernel)
{
    return stores_model_rows(context, kernel) && atomic_load(&kernel->model->device_rows) != NULL;
}

bool nadir_kernel_device_minimum(const nadir_context *context, const nadir_model *model, const double *b,
                                 const double *k, double *minimum)
{
    void *rows = context->device != NULL ? atomic_load(&model->device_rows) : NULL;
    return rows != NULL && model->dense != NULL &&
           context->device->rows_minimum(rows, own(context), b, k, minimum) == NADIR_OK;
}

bool nadir_kernel_device_multiply(const nadir_context *context, const nadir_kernel *kernel, const double *x,
                                  double *y)
{
    return nadir_kernel_is_on_device(context, kernel) &&
           context->device->rows_multiply(atomic_load(&kernel->model->device_rows), own(context), x, y) ==
               NADIR_OK;
}

/* The arrays of tails that are on the device alone. There are no extra states: M has them. */
static nadir_status fetch_tail(nadir_context *context, nadir_offsupport_tail *tail)
{
    nadir_status status = NADIR_OK;
    const int64_t n = tail->states;
    nadir_offsupport_tail made = {.states = n};
    if (tail->device_matrix == NULL || tail->last.starts != NULL) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_sorted_states_reserve(context, n, &made.sorted));
    NADIR_NEW(context, made.last.starts, n + 1);
    NADIR_NEW(context, made.last.columns, tail->facts.count);
    NADIR_NEW(context, made.last.values, tail->facts.count);
    NADIR_NEW(context, made.slope, tail->facts.count);
    NADIR_NEW_ZERO(context, made.extra.starts, n + 1);
    const nadir_device_tail to = {.x = made.sorted.x,
                                  .order = made.sorted.order,
                                  .starts = made.last.starts,
                                  .columns = made.last.columns,
                                  .last = made.last.values,
                                  .slope = made.slope};
    NADIR_CHECK(tail->device->tail_download(tail->device_matrix, context, &to));
    tail->sorted = made.sorted;
    tail->last = made.last;
    tail->slope = made.slope;
    tail->extra = made.extra;
    made = (nadir_offsupport_tail){0};
cleanup:
    nadir_offsupport_tail_clear(context, &made);
    return status;
}

nadir_status nadir_average_fetch(nadir_context *context, nadir_average *average)
{
    nadir_status status = NADIR_OK;
    nadir_average *owner = average->lender != NULL ? average->lender : average;
    const int64_t n = owner->states;
    nadir_entries entries = {0};
    double *dense = NULL;
    NADIR_CHECK(fetch_tail(context, &owner->tail));
    if (owner->device_matrix == NULL || owner->matrix.dense != NULL || owner->matrix.starts != NULL) {
        average->matrix = owner->matrix;
        return NADIR_OK;
    }
    if (owner->sparse) {
        NADIR_NEW(context, entries.starts, n + 1);
        NADIR_NEW(context, entries.columns, owner->facts.entries);
        NADIR_NEW(context, entries.values, owner->facts.entries);
    } else {
        NADIR_NEW(context, dense, n * n);
    }
    NADIR_CHECK(owner->device->matrix_download(owner->device_matrix, context, dense, entries.starts,
                                               entries.columns, entries.values));
    owner->dense = dense;
    owner->entries = entries;
    owner->matrix.dense = dense;
    owner->matrix.starts = entries.starts;
    owner->matrix.columns = entries.columns;
    owner->matrix.values = entries.values;
    average->matrix = owner->matrix;
    dense = NULL;
    entries = (nadir_entries){0};
cleanup:
    nadir_release(context, dense);
    nadir_entries_clear(context, &entries);
    return status;
}
