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
#include "kernel/remote.h"

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
    NADIR_NEW(context, kernel->sums, model->states);
    NADIR_NEW(context, kernel->spots, model->states);
    NADIR_CHECK(nadir_along_reserve(context, model->states, &kernel->along));
    for (int64_t t = 0; t < model->states; t++) {
        tilt->order[t] = (int32_t)t;
    }
    memset(tilt->extra, 0xff, (size_t)model->rows * sizeof *tilt->extra); /* -1 */
cleanup:
    return status;
}

nadir_status nadir_kernel_create_blank(nadir_context *context, nadir_model *model, bool spread,
                                       nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *made = NULL;
    const bool dense = model->dense != NULL;
    NADIR_CHECK(nadir_kernel_create(context, model, &made));
    NADIR_NEW(context, made->tilt.values, dense ? model->rows * model->states : model->nonzeros);
    NADIR_NEW(context, made->tilt.nominal, model->rows);
    for (int64_t row = 0; row < model->rows; row++) {
        made->tilt.nominal[row] = true;
    }
    if (spread && !dense) {
        NADIR_CHECK(make_spread(context, made));
    }
    *kernel = made;
    made = NULL;
cleanup:
    nadir_kernel_free(made);
    return status;
}

nadir_status nadir_kernel_create_tilted(nadir_context *context, nadir_model *model, bool spread,
                                        nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const bool dense = model->dense != NULL;
    const int64_t entries = dense ? model->rows * model->states : model->nonzeros;
    NADIR_CHECK(nadir_kernel_create_blank(context, model, spread, kernel));
    memcpy((*kernel)->tilt.values, dense ? model->dense : model->probabilities,
           (size_t)entries * sizeof *(*kernel)->tilt.values);
    memset((*kernel)->tilt.nominal, 0, (size_t)model->rows * sizeof *(*kernel)->tilt.nominal);
cleanup:
    return status;
}

nadir_tilt *nadir_kernel_tilt(nadir_kernel *kernel)
{
    nadir_remote_forget(kernel); /* who asks may write */
    return kernel->tilt.values != NULL ? &kernel->tilt : NULL;
}

void nadir_tilt_look(const nadir_kernel *kernel)
{
    const nadir_tilt *tilt = &kernel->tilt;
    nadir_along_fill(&kernel->along, tilt->order, tilt->x);
    for (int64_t i = 0; i < kernel->model->states; i++) {
        kernel->spots[tilt->order[i]] = (nadir_spot){kernel->along.x[i], i};
    }
}

nadir_line nadir_tilt_line(const nadir_kernel *kernel, int64_t row)
{
    const nadir_tilt *tilt = &kernel->tilt;
    if (tilt->length[row] == 0) {
        return (nadir_line){0};
    }
    const double x_last = kernel->along.x[tilt->length[row] - 1];
    return (nadir_line){
        .length = tilt->length[row],
        .last = tilt->omega[row] - tilt->slope[row] * x_last,
        .slope = tilt->slope[row],
        .x_last = x_last,
    };
}

double nadir_tilt_product(const nadir_kernel *kernel, const nadir_kernel_vector *vector, int64_t row)
{
    const nadir_tilt *tilt = &kernel->tilt;
    const nadir_row part = nadir_kernel_row(kernel, row);
    const nadir_line line = nadir_tilt_line(kernel, row);
    const double *y = vector->x;
    double sum = 0;
    for (int64_t i = 0; i < part.count && line.length == 0; i++) {
        sum += part.values[i] * y[part.columns[i]];
    }
    for (int64_t i = 0; i < part.count && line.length > 0; i++) {
        const int32_t t = part.columns[i];
        sum += (part.values[i] - nadir_line_under(&line, kernel->spots[t])) * y[t];
    }
    if (line.length > 0) {
        const nadir_along_sum along = vector->sums[line.length - 1];
        sum += line.last * along.plain + line.slope * along.weighted;
    }
    return tilt->extra[row] >= 0 ? sum + tilt->amount[row] * y[tilt->extra[row]] : sum;
}

/* What the line of a row gives to the states within its length: to all of them, and to those that the row has
 * itself; and the sizes of these, at most |last| + |slope| (x_last - x) each. */
typedef struct line_totals {
    double all, own;
    double all_size, own_size;
} line_totals;

static line_totals add_up_line(const nadir_kernel *kernel, const nadir_row *part, const nadir_line *line)
{
    const double length = (double)line->length;
    const nadir_line size = {line->length, fabs(line->last), fabs(line->slope), line->x_last};
    line_totals totals = {0};
    if (line->length > 0) {
        const double moment = kernel->sums[line->length - 1].weighted;
        for (int64_t i = 0; i < part->count; i++) {
            const nadir_spot spot = kernel->spots[part->columns[i]];
            totals.own += nadir_line_under(line, spot);
            totals.own_size += nadir_line_under(&size, spot);
        }
        totals.all = line->last * length + line->slope * moment;
        totals.all_size = size.last * length + size.slope * moment;
    }
    return totals;
}

nadir_row_size nadir_tilt_measure(const nadir_kernel *kernel, int64_t row)
{
    const nadir_tilt *tilt = &kernel->tilt;
    const nadir_row part = nadir_kernel_row(kernel, row);
    const nadir_line line = nadir_tilt_line(kernel, row);
    const line_totals totals = add_up_line(kernel, &part, &line);
    const bool one_sign = line.last * nadir_line_at(&line, kernel->along.x[0]) >= 0;
    const double others = one_sign ? fabs(totals.all - totals.own) : fabs(totals.all_size - totals.own_size);
    double values = 0;
    double sizes = 0;
    for (int64_t i = 0; i < part.count; i++) {
        values += part.values[i];
        sizes += fabs(part.values[i]);
    }
    double amount = 0;
    double more = 0; /* that the amount adds to the size of its entry */
    if (tilt->extra[row] >= 0) {
        const double below = nadir_line_under(&line, kernel->spots[tilt->extra[row]]);
        amount = tilt->amount[row];
        more = fabs(below + amount) - fabs(below);
    }
    /* A term (P - l) y has six roundings before it is summed; the sums along the order come with theirs, a
     * product and two additions. */
    const double unit = DBL_EPSILON / 2;
    const double rounding = unit * (((double)part.count + 10) * (sizes + totals.own_size + fabs(amount)) +
                                    (nadir_along_roundings(kernel->model->states) + 6) * totals.all_size);
    return (nadir_row_size){
        .sum = values - totals.own + totals.all + amount,
        .largest = sizes + others + more,
        .terms = sizes + totals.own_size + totals.all_size + fabs(amount),
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
    const nadir_line line = nadir_tilt_line(kernel, row);
    const int32_t extra = tilt->extra[row];
    int64_t zeros = kernel->model->states - line.length; /* states that get nothing */
    double smallest = line_minimum(kernel, &part, &line, extra);
    for (int64_t i = 0; i < part.count; i++) {
        smallest = part.values[i] < smallest ? part.values[i] : smallest;
        zeros -= kernel->spots[part.columns[i]].place >= line.length;
    }
    if (extra >= 0) {
        smallest = fmin(smallest, tilt->amount[row] + nadir_line_under(&line, kernel->spots[extra]));
        zeros -= kernel->spots[extra].place >= line.length;
    }
    return zeros > 0 ? fmin(smallest, 0) : smallest;
}
