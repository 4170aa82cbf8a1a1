/*
 * perturbed.c: kernels with numbers of their own and tails in a value of the successor; see kernel.h.
 *
 * A product with a row that has the line l over the first states of the order is
 *
 *     sum over entries t of (P(t) - l(t) [t is among the first]) y[t]  +  sum over the first of l(t) y[t],
 *
 * whose last sum is read off the sums along the order (prefix_sums.h). For the projections that such kernels
 * come from, P(t) is the nominal probability plus l(t), so that what is taken off here is what was put on
 * there.
 */
#include "model/kernel_device.h"
#include "model/kernel_internal.h"

#include "core/round.h"

#include <math.h>
#include <string.h>

/* The arrays of the part that is not stored, as in the nominal kernel. */
static nadir_status make_tail(nadir_context *context, nadir_kernel *kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = kernel->model;
    nadir_perturbed *perturbed = &kernel->perturbed;
    NADIR_NEW_ZERO(context, perturbed->x, model->states);
    NADIR_NEW(context, perturbed->order, model->states);
    NADIR_NEW_ZERO(context, perturbed->omega, model->rows);
    NADIR_NEW_ZERO(context, perturbed->slope, model->rows);
    NADIR_NEW_ZERO(context, perturbed->length, model->rows);
    NADIR_NEW(context, perturbed->extra, model->rows);
    NADIR_NEW_ZERO(context, perturbed->amount, model->rows);
    NADIR_NEW(context, kernel->sums, model->states);
    NADIR_NEW(context, kernel->positions, model->states);
    NADIR_CHECK(nadir_sorted_states_reserve(context, model->states, &kernel->sorted));
    for (int64_t t = 0; t < model->states; t++) {
        perturbed->order[t] = (int32_t)t;
    }
    memset(perturbed->extra, 0xff, (size_t)model->rows * sizeof *perturbed->extra); /* -1 */
cleanup:
    return status;
}

nadir_status nadir_kernel_create_blank(nadir_context *context, nadir_model *model, bool with_tail,
                                       nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *made = NULL;
    const bool dense = model->dense != NULL;
    NADIR_CHECK(nadir_kernel_create(context, model, &made));
    made->kind = NADIR_KERNEL_PERTURBED;
    NADIR_NEW(context, made->perturbed.values, dense ? model->rows * model->states : model->nonzeros);
    NADIR_NEW(context, made->perturbed.nominal, model->rows);
    for (int64_t row = 0; row < model->rows; row++) {
        made->perturbed.nominal[row] = true;
    }
    if (with_tail && !dense) {
        NADIR_CHECK(make_tail(context, made));
    }
    *kernel = made;
    made = NULL;
cleanup:
    nadir_kernel_free(made);
    return status;
}

nadir_status nadir_kernel_create_perturbed(nadir_context *context, nadir_model *model, bool with_tail,
                                           nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const bool dense = model->dense != NULL;
    const int64_t entries = dense ? model->rows * model->states : model->nonzeros;
    NADIR_CHECK(nadir_kernel_create_blank(context, model, with_tail, kernel));
    memcpy((*kernel)->perturbed.values, dense ? model->dense : model->probabilities,
           (size_t)entries * sizeof *(*kernel)->perturbed.values);
    memset((*kernel)->perturbed.nominal, 0, (size_t)model->rows * sizeof *(*kernel)->perturbed.nominal);
cleanup:
    return status;
}

nadir_perturbed *nadir_kernel_perturbed(nadir_kernel *kernel)
{
    nadir_kernel_device_forget(kernel); /* who asks may write */
    return kernel->kind == NADIR_KERNEL_PERTURBED ? &kernel->perturbed : NULL;
}

void nadir_perturbed_update(const nadir_kernel *kernel)
{
    const nadir_perturbed *perturbed = &kernel->perturbed;
    nadir_sorted_states_fill(&kernel->sorted, perturbed->order, perturbed->x);
    for (int64_t i = 0; i < kernel->model->states; i++) {
        kernel->positions[perturbed->order[i]] = (nadir_state_position){kernel->sorted.x[i], i};
    }
}

nadir_row_tail nadir_perturbed_row_tail(const nadir_kernel *kernel, int64_t row)
{
    const nadir_perturbed *perturbed = &kernel->perturbed;
    if (perturbed->length[row] == 0) {
        return (nadir_row_tail){0};
    }
    const double x_last = kernel->sorted.x[perturbed->length[row] - 1];
    return (nadir_row_tail){
        .length = perturbed->length[row],
        .last = perturbed->omega[row] - perturbed->slope[row] * x_last,
        .slope = perturbed->slope[row],
        .x_last = x_last,
    };
}

double nadir_perturbed_product(const nadir_kernel *kernel, const nadir_kernel_vector *vector, int64_t row)
{
    const nadir_perturbed *perturbed = &kernel->perturbed;
    const nadir_row part = nadir_kernel_row(kernel, row);
    const nadir_row_tail line = nadir_perturbed_row_tail(kernel, row);
    const double *y = vector->x;
    double sum = 0;
    for (int64_t i = 0; i < part.count && line.length == 0; i++) {
        sum += part.values[i] * y[part.columns[i]];
    }
    for (int64_t i = 0; i < part.count && line.length > 0; i++) {
        const int32_t t = part.columns[i];
        sum += (part.values[i] - nadir_row_tail_at_state(&line, kernel->positions[t])) * y[t];
    }
    if (line.length > 0) {
        const nadir_prefix_sum sorted = vector->sums[line.length - 1];
        sum += line.last * sorted.plain + line.slope * sorted.weighted;
    }
    return perturbed->extra[row] >= 0 ? sum + perturbed->amount[row] * y[perturbed->extra[row]] : sum;
}

/* What the tail of a row gives to the states within its length: to all of them, and to those that the row has
 * itself; and the sizes of these, at most |last| + |slope| (x_last - x) each. */
typedef struct line_totals {
    double all, own;
    double all_size, own_size;
} line_totals;

static line_totals add_up_line(const nadir_kernel *kernel, const nadir_row *part, const nadir_row_tail *line)
{
    const double length = (double)line->length;
    const nadir_row_tail size = {line->length, fabs(line->last), fabs(line->slope), line->x_last};
    line_totals totals = {0};
    if (line->length > 0) {
        const double moment = kernel->sums[line->length - 1].weighted;
        for (int64_t i = 0; i < part->count; i++) {
            const nadir_state_position position = kernel->positions[part->columns[i]];
            totals.own += nadir_row_tail_at_state(line, position);
            totals.own_size += nadir_row_tail_at_state(&size, position);
        }
        totals.all = line->last * length + line->slope * moment;
        totals.all_size = size.last * length + size.slope * moment;
    }
    return totals;
}

nadir_row_size nadir_perturbed_measure(const nadir_kernel *kernel, int64_t row)
{
    const nadir_perturbed *perturbed = &kernel->perturbed;
    const nadir_row part = nadir_kernel_row(kernel, row);
    const nadir_row_tail line = nadir_perturbed_row_tail(kernel, row);
    const line_totals totals = add_up_line(kernel, &part, &line);
    const bool one_sign = line.last * nadir_row_tail_value(&line, kernel->sorted.x[0]) >= 0;
    const double others = one_sign ? fabs(totals.all - totals.own) : fabs(totals.all_size - totals.own_size);
    double values = 0;
    double sizes = 0;
    for (int64_t i = 0; i < part.count; i++) {
        values += part.values[i];
        sizes += fabs(part.values[i]);
    }
    double amount = 0;
    double more = 0; /* that the amount adds to the size of its entry */
    if (perturbed->extra[row] >= 0) {
        const double below = nadir_row_tail_at_state(&line, kernel->positions[perturbed->extra[row]]);
        amount = perturbed->amount[row];
        more = fabs(below + amount) - fabs(below);
    }
    /* A term (P - l) y has six roundings before it is summed; the sums along the order come with theirs, a
     * product and two additions. */
    const double unit = NADIR_ROUND_UNIT;
    const double rounding =
        unit * (((double)part.count + 10) * (sizes + totals.own_size + fabs(amount)) +
                (nadir_prefix_sums_roundings(kernel->model->states) + 6) * totals.all_size);
    return (nadir_row_size){
        .sum = values - totals.own + totals.all + amount,
        .largest = sizes + others + more,
        .terms = sizes + totals.own_size + totals.all_size + fabs(amount),
        .rounding = rounding * (1 + 1e-6),
    };
}

/* The smallest of the line at states that neither the row has nor the extra one is; infinity: there are none.
 * The line falls along the order, or rises: the first such state from the right end is it. */
static double line_minimum(const nadir_kernel *kernel, const nadir_row *part, const nadir_row_tail *line,
                           int32_t extra)
{
    const nadir_perturbed *perturbed = &kernel->perturbed;
    for (int64_t i = 0; i < line->length; i++) {
        const int32_t t = perturbed->order[line->slope >= 0 ? line->length - 1 - i : i];
        if (t != extra && !nadir_row_has(part, t)) {
            return nadir_row_tail_value(line, perturbed->x[t]);
        }
    }
    return INFINITY;
}

double nadir_perturbed_minimum(const nadir_kernel *kernel, int64_t row)
{
    const nadir_perturbed *perturbed = &kernel->perturbed;
    const nadir_row part = nadir_kernel_row(kernel, row);
    const nadir_row_tail line = nadir_perturbed_row_tail(kernel, row);
    const int32_t extra = perturbed->extra[row];
    int64_t zeros = kernel->model->states - line.length; /* states that get nothing */
    double smallest = line_minimum(kernel, &part, &line, extra);
    for (int64_t i = 0; i < part.count; i++) {
        smallest = part.values[i] < smallest ? part.values[i] : smallest;
        zeros -= kernel->positions[part.columns[i]].place >= line.length;
    }
    if (extra >= 0) {
        smallest =
            fmin(smallest, perturbed->amount[row] + nadir_row_tail_at_state(&line, kernel->positions[extra]));
        zeros -= kernel->positions[extra].place >= line.length;
    }
    return zeros > 0 ? fmin(smallest, 0) : smallest;
}
