/*
 * tilt.c: kernels with numbers of their own and lines in a value of the successor; see kernel.h.
 *
 * A product with a row that has the line l over the first states of the order is
 *
 *     sum over entries t of (P(t) - l(t) [t is among the first]) y[t]  +  sum over the first of l(t) y[t],
 *
 * whose last sum is read off the sums along the order (along.h). For the projections that such kernels come
 * from, P(t) is the nominal probability plus l(t), so that what is taken off here is what was put on there.
 */
#include "kernel/parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The arrays of the part that is not stored, as in the nominal kernel. */
static nadir_status make_spread(nadir_context *context, nadir_kernel *kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = kernel->model;
    nadir_tilt *tilt = &kernel->tilt;
    NADIR_NEW_ZERO(context, tilt->x, model->states);
    NADIR_NEW(context, tilt->order, model->states);
    NADIR_NEW_ZERO(context, tilt->omega, model->rows);
    NADIR_NEW_ZERO(context, tilt->slope, model->rows);
    NADIR_NEW_ZERO(context, tilt->length, model->rows);
    NADIR_NEW(context, tilt->extra, model->rows);
    NADIR_NEW_ZERO(context, tilt->amount, model->rows);
    NADIR_NEW(context, kernel->sums, 2 * model->states);
    NADIR_CHECK(nadir_along_reserve(context, model->states, &kernel->along));
    for (int64_t t = 0; t < model->states; t++) {
        tilt->order[t] = (int32_t)t;
    }
    memset(tilt->extra, 0xff, (size_t)model->rows * sizeof *tilt->extra); /* -1 */
cleanup:
    return status;
}

nadir_status nadir_kernel_create_tilted(nadir_context *context, nadir_model *model, bool spread,
                                        nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *made = NULL;
    const bool dense = model->dense != NULL;
    const int64_t entries = dense ? model->rows * model->states : model->nonzeros;
    NADIR_CHECK(nadir_kernel_create(context, model, &made));
    NADIR_NEW(context, made->tilt.values, entries);
    memcpy(made->tilt.values, dense ? model->dense : model->probabilities,
           (size_t)entries * sizeof *made->tilt.values);
    if (spread && !dense) {
        NADIR_CHECK(make_spread(context, made));
    }
    *kernel = made;
    made = NULL;
cleanup:
    nadir_kernel_free(made);
    return status;
}

nadir_tilt *nadir_kernel_tilt(nadir_kernel *kernel)
{
    return kernel->tilt.values != NULL ? &kernel->tilt : NULL;
}

void nadir_tilt_look(const nadir_kernel *kernel)
{
    nadir_along_fill(&kernel->along, kernel->tilt.order, kernel->tilt.x);
}

nadir_line nadir_tilt_line(const nadir_tilt *tilt, int64_t row)
{
    if (tilt->length[row] == 0) {
        return (nadir_line){0};
    }
    const double x_last = tilt->x[tilt->order[tilt->length[row] - 1]];
    return (nadir_line){
        .length = tilt->length[row],
        .last = fma(-tilt->slope[row], x_last, tilt->omega[row]),
        .slope = tilt->slope[row],
        .x_last = x_last,
    };
}

double nadir_tilt_product(const nadir_kernel *kernel, const nadir_kernel_vector *vector, int64_t row)
{
    const nadir_tilt *tilt = &kernel->tilt;
    const nadir_row part = nadir_kernel_row(kernel, row);
    const nadir_line line = nadir_tilt_line(tilt, row);
    const double *y = vector->x;
    const int32_t *place = kernel->along.place;
    double sum = 0;
    for (int64_t i = 0; i < part.count; i++) {
        const int32_t t = part.columns[i];
        const double off = place[t] < line.length ? nadir_line_at(&line, tilt->x[t]) : 0;
        sum += (part.values[i] - off) * y[t];
    }
    if (line.length > 0) {
        sum += line.last * vector->plain[line.length - 1] + line.slope * vector->weighted[line.length - 1];
    }
    return tilt->extra[row] >= 0 ? sum + tilt->amount[row] * y[tilt->extra[row]] : sum;
}

/* The size of what the line gives to all of its states and, in *own, to those that the row has itself. `size`
 * tells whether to count sizes: at most |last| + |slope| (x_last - x). */
static double line_total(const nadir_kernel *kernel, const nadir_row *part, const nadir_line *line, bool size,
                         double *own)
{
    const nadir_line used = {.last = size ? fabs(line->last) : line->last,
                             .slope = size ? fabs(line->slope) : line->slope,
                             .x_last = line->x_last};
    *own = 0;
    if (line->length == 0) {
        return 0;
    }
    for (int64_t i = 0; i < part->count; i++) {
        const int32_t t = part->columns[i];
        *own += kernel->along.place[t] < line->length ? nadir_line_at(&used, kernel->tilt.x[t]) : 0;
    }
    return used.last * (double)line->length +
           used.slope * kernel->sums[kernel->model->states + line->length - 1];
}

nadir_row_size nadir_tilt_measure(const nadir_kernel *kernel, int64_t row)
{
    const nadir_tilt *tilt = &kernel->tilt;
    const nadir_row part = nadir_kernel_row(kernel, row);
    const nadir_line line = nadir_tilt_line(tilt, row);
    double values = 0;
    double sizes = 0;
    for (int64_t i = 0; i < part.count; i++) {
        values += part.values[i];
        sizes += fabs(part.values[i]);
    }
    double own;
    double own_size;
    const double total = line_total(kernel, &part, &line, false, &own);
    const double total_size = line_total(kernel, &part, &line, true, &own_size);
    const bool one_sign = line.length == 0 || line.last * nadir_line_at(&line, tilt->x[tilt->order[0]]) >= 0;
    const double others = one_sign ? fabs(total - own) : fabs(total_size - own_size);
    double amount = 0;
    double more = 0; /* that the amount adds to the size of its entry */
    if (tilt->extra[row] >= 0) {
        const int32_t t = tilt->extra[row];
        const double below = kernel->along.place[t] < line.length ? nadir_line_at(&line, tilt->x[t]) : 0;
        amount = tilt->amount[row];
        more = fabs(below + amount) - fabs(below);
    }
    /* A term (P - l) y has six roundings before it is summed; the sums along the order come with theirs, a
     * product and two additions. */
    const double unit = DBL_EPSILON / 2;
    const double rounding = unit * (((double)part.count + 10) * (sizes + own_size + fabs(amount)) +
                                    (nadir_along_roundings(kernel->model->states) + 6) * total_size);
    return (nadir_row_size){
        .sum = values - own + total + amount,
        .largest = sizes + others + more,
        .terms = sizes + own_size + total_size + fabs(amount),
        .rounding = rounding * (1 + 1e-6),
    };
}

/* The smallest of the line at states that neither the row has nor the extra one is; infinity: there are none.
 * The line falls along the order, or rises: the first such state from the right end is it. */
static double line_minimum(const nadir_kernel *kernel, const nadir_row *part, const nadir_line *line,
                           int32_t extra)
{
    const nadir_tilt *tilt = &kernel->tilt;
    for (int64_t i = 0; i < line->length; i++) {
        const int32_t t = tilt->order[line->slope >= 0 ? line->length - 1 - i : i];
        if (t != extra && !nadir_row_has(part, t)) {
            return nadir_line_at(line, tilt->x[t]);
        }
    }
    return INFINITY;
}

double nadir_tilt_minimum(const nadir_kernel *kernel, int64_t row)
{
    const nadir_tilt *tilt = &kernel->tilt;
    const nadir_row part = nadir_kernel_row(kernel, row);
    const nadir_line line = nadir_tilt_line(tilt, row);
    const int32_t extra = tilt->extra[row];
    const int32_t *place = kernel->along.place;
    int64_t zeros = kernel->model->states - line.length; /* states that get nothing */
    double smallest = line_minimum(kernel, &part, &line, extra);
    for (int64_t i = 0; i < part.count; i++) {
        smallest = fmin(smallest, part.values[i]);
        zeros -= place[part.columns[i]] >= line.length;
    }
    if (extra >= 0) {
        const bool inside = place[extra] < line.length;
        smallest = fmin(smallest, tilt->amount[row] + (inside ? nadir_line_at(&line, tilt->x[extra]) : 0));
        zeros -= !inside;
    }
    return zeros > 0 ? fmin(smallest, 0) : smallest;
}
