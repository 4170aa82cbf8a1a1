/* kernel_rows.c: the rows of a kernel of any kind, entry by entry; see kernel_rows.h. */
#include "model/kernel.h"

#include "model/kernel_internal.h"

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
    nadir_release(context, explicit_rows->columns);
    nadir_release(context, explicit_rows->values);
    nadir_release(context, explicit_rows->k_states);
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
