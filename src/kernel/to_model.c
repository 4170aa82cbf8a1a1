/*
 * to_model.c: a kernel as the kernel of a model of its own; see kernel.h.
 *
 * Every row is written out, as CSR or, where that would take more memory, dense; nadir_model_finish checks
 * and normalises the rows and settles how they are kept.
 */
#include "kernel/gather.h"
#include "kernel/parts.h"

#include <string.h>

/* An entry below minus this is negative, not rounded: some fifty roundings of a probability. */
#define ROUNDING 1e-14

/* Of k: where it is not zero. */
typedef struct nonzeros {
    int64_t count;
    int32_t *states;
} nonzeros;

/* A row with all its entries; those that are negative, by rounding, are zero. */
static void gather_row(const nadir_kernel *kernel, const nonzeros *k, int64_t row, nadir_gather *gather)
{
    const nadir_row part = nadir_kernel_row(kernel, row);
    for (int64_t i = 0; i < part.count; i++) {
        nadir_gather_add(gather, nadir_row_column(&part, i), part.values[i]);
    }
    if (kernel->sums != NULL) {
        const nadir_tilt *tilt = &kernel->tilt;
        const nadir_line line = nadir_tilt_line(kernel, row);
        for (int64_t i = 0; i < line.length; i++) {
            const int32_t t = tilt->order[i];
            if (!gather->present[t]) {
                nadir_gather_add(gather, t, nadir_line_at(&line, tilt->x[t]));
            }
        }
        if (tilt->extra[row] >= 0) {
            nadir_gather_add(gather, tilt->extra[row], tilt->amount[row]);
        }
    }
    for (int64_t i = 0; i < k->count && kernel->b[row] != 0; i++) {
        nadir_gather_add(gather, k->states[i], -(kernel->b[row] * kernel->k[k->states[i]]));
    }
    for (int64_t i = 0; i < gather->count; i++) {
        double *sum = &gather->sums[gather->found[i]];
        *sum = *sum < 0 ? 0 : *sum;
    }
}

static nadir_status find_nonzeros(nadir_context *context, const nadir_kernel *kernel, nonzeros *k)
{
    nadir_status status = NADIR_OK;
    if (kernel->k != NULL) {
        NADIR_NEW(context, k->states, kernel->model->states);
        for (int64_t t = 0; t < kernel->model->states; t++) {
            k->states[k->count] = (int32_t)t;
            k->count += kernel->k[t] != 0;
        }
    }
cleanup:
    return status;
}

/* How many entries all rows have, at most. */
static double count_entries(const nadir_kernel *kernel, const nonzeros *k)
{
    const nadir_model *model = kernel->model;
    double entries = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        int64_t count = nadir_kernel_row(kernel, row).count;
        if (kernel->sums != NULL) {
            count += kernel->tilt.length[row] + (kernel->tilt.extra[row] >= 0);
        }
        count += kernel->b != NULL && kernel->b[row] != 0 ? k->count : 0;
        entries += (double)(count < model->states ? count : model->states);
    }
    return entries;
}

/* Room for the rows of `made`, in the form that takes less. */
static nadir_status make_room(nadir_context *context, double entries, nadir_model *made)
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

static nadir_status write_rows(nadir_context *context, const nadir_kernel *kernel, nadir_model *made)
{
    nadir_status status = NADIR_OK;
    nadir_gather gather = {0};
    nonzeros k = {0};
    NADIR_CHECK(nadir_gather_make(context, made->states, &gather));
    NADIR_CHECK(find_nonzeros(context, kernel, &k));
    if (kernel->sums != NULL) {
        nadir_tilt_look(kernel);
    }
    NADIR_CHECK(make_room(context, count_entries(kernel, &k), made));
    for (int64_t row = 0; row < made->rows; row++) {
        gather_row(kernel, &k, row, &gather);
        if (made->dense != NULL) {
            (void)nadir_gather_take(&gather, NULL, made->dense + row * made->states);
        } else {
            const int64_t start = made->row_starts[row];
            made->row_starts[row + 1] =
                start + nadir_gather_take(&gather, made->columns + start, made->probabilities + start);
        }
        if (row % 1024 == 0) {
            NADIR_CHECK(nadir_progress(context, "writing out the kernel", (double)row / (double)made->rows));
        }
    }
cleanup:
    nadir_gather_clear(context, &gather);
    nadir_release(context, k.states);
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
