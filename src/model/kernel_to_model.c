/*
 * kernel_to_model.c: a kernel as the kernel of a model of its own; see kernel.h.
 *
 * Every row is written out, as CSR or, where that would take more memory, dense; nadir_model_finish checks
 * and normalises the rows and settles how they are kept.
 */
#include "model/kernel.h"
#include "model/kernel_internal.h"

#include <string.h>

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

/* Room for the rows of `made`, in the form that takes less. */
static nadir_status allocate_rows(nadir_context *context, double entries, nadir_model *made)
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
cleanup:
    return status;
}

/* A row of `made`; entries that are negative, by rounding, are zero. */
static void write_row(const nadir_row *from, int64_t row, nadir_model *made)
{
    const int64_t start = made->dense == NULL ? made->row_starts[row] : row * made->states;
    for (int64_t i = 0; i < from->count; i++) {
        const double value = from->values[i] < 0 ? 0 : from->values[i];
        if (made->dense != NULL) {
            made->dense[start + from->columns[i]] = value;
        } else {
            made->columns[start + i] = from->columns[i];
            made->probabilities[start + i] = value;
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
    NADIR_CHECK(allocate_rows(context, count_entries(&rows), made));
    for (int64_t row = 0; row < made->rows; row++) {
        const nadir_row from = nadir_explicit_row(&rows, row);
        write_row(&from, row, made);
        if (row % 1024 == 0) {
            NADIR_CHECK(nadir_progress(context, "writing out the kernel", (double)row / (double)made->rows));
        }
    }
cleanup:
    nadir_explicit_clear(context, &rows);
    return status;
}

/* A copy of an array of `count` elements; NULL stays NULL. */
#define COPY(context, to, from, count)                                                                       \
    do {                                                                                                     \
        if ((from) != NULL) {                                                                                \
            NADIR_NEW(context, to, count);                                                                   \
            memcpy(to, from, (size_t)(count) * sizeof *(to));                                                \
        }                                                                                                    \
    } while (0)

static nadir_status copy_names(nadir_context *context, const nadir_names *from, nadir_names *into)
{
    nadir_status status = NADIR_OK;
    for (int64_t i = 0; i < from->count; i++) {
        const char *name = nadir_names_get(from, i);
        NADIR_CHECK(nadir_names_add(context, into, name, strlen(name)));
    }
cleanup:
    return status;
}

/* Everything but the rows. */
static nadir_status copy_rest(nadir_context *context, const nadir_model *model, nadir_model *made)
{
    nadir_status status = NADIR_OK;
    made->states = model->states;
    made->rows = model->rows;
    made->discount = model->discount;
    made->norm = model->norm;
    made->set = model->set;
    made->domain = model->domain;
    COPY(context, made->state_rows, model->state_rows, model->states + 1);
    COPY(context, made->row_actions, model->row_actions, model->rows);
    COPY(context, made->rewards, model->rewards, model->rows);
    COPY(context, made->initial, model->initial, model->states);
    COPY(context, made->scales, model->scales, model->rows);
    COPY(context, made->radius, model->radius, model->radius_count);
    made->radius_count = model->radius_count;
    NADIR_CHECK(copy_names(context, &model->state_names, &made->state_names));
    NADIR_CHECK(copy_names(context, &model->action_names, &made->action_names));
cleanup:
    return status;
}

nadir_status nadir_kernel_to_model(nadir_context *context, const nadir_kernel *kernel, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_model *made = NULL;
    const nadir_source source = {.path = "kernel"};
    const double smallest = nadir_kernel_minimum(context, kernel);
    if (smallest < -ROUNDING) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "the kernel has an entry of %g: a model needs probabilities, 0 or more; the domains "
            "simplex and support have no such kernels",
            smallest);
    }
    NADIR_CHECK(nadir_model_start(context, &made));
    NADIR_CHECK(copy_rest(context, kernel->model, made));
    NADIR_CHECK(write_rows(context, kernel, made));
    NADIR_CHECK(nadir_model_finish(context, made, &source));
    *model = made;
    made = NULL;
cleanup:
    nadir_model_free(made);
    return status;
}
