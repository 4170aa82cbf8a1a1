/* lines.c: the part of an average that a perturbed kernel with a tail gives to states without an entry; see lines.h. */
#include "kernel/offsupport_tail.h"

#include "kernel/kernel_internal.h"
#include "linalg/threads.h"

#include <string.h>

void nadir_offsupport_tail_clear(nadir_context *context, nadir_offsupport_tail *lines)
{
    nadir_sorted_states_release(context->memory, &lines->sorted);
    nadir_entries_clear(context, &lines->last);
    nadir_entries_clear(context, &lines->extra);
    nadir_entries_clear(context, &lines->last_turned);
    nadir_entries_clear(context, &lines->slope_turned);
    nadir_entries_clear(context, &lines->extra_turned);
    nadir_release(context, lines->slope);
    nadir_release(context, lines->turned_columns);
    nadir_release(context, lines->sums);
    *lines = (nadir_offsupport_tail){0};
}

/* starts: [states + 1] for lines and for extra states. */
static nadir_status count_parts(nadir_context *context, const nadir_kernel *kernel,
                                const nadir_policy *policy, nadir_offsupport_tail *lines)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = kernel->model;
    const nadir_perturbed *perturbed = &kernel->perturbed;
    NADIR_NEW_ZERO(context, lines->last.starts, model->states + 1);
    NADIR_NEW_ZERO(context, lines->extra.starts, model->states + 1);
    for (int64_t s = 0; s < model->states; s++) {
        int64_t stretches = 0;
        int64_t extras = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            stretches += policy->probabilities[row] > 0 && perturbed->length[row] > 0;
            extras += policy->probabilities[row] > 0 && perturbed->extra[row] >= 0;
        }
        lines->last.starts[s + 1] = lines->last.starts[s] + stretches;
        lines->extra.starts[s + 1] = lines->extra.starts[s] + extras;
    }
cleanup:
    return status;
}

static void fill_state(const nadir_kernel *kernel, const nadir_policy *policy, int64_t state,
                       const nadir_offsupport_tail *lines)
{
    const nadir_model *model = kernel->model;
    const nadir_perturbed *perturbed = &kernel->perturbed;
    int64_t line_to = lines->last.starts[state];
    int64_t extra_to = lines->extra.starts[state];
    for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
        const double weight = policy->probabilities[row];
        if (weight > 0 && perturbed->length[row] > 0) {
            const nadir_row_tail line = nadir_perturbed_row_tail(kernel, row);
            lines->last.columns[line_to] = perturbed->length[row] - 1;
            lines->last.values[line_to] = weight * line.last;
            lines->slope[line_to] = weight * line.slope;
            line_to++;
        }
        if (weight > 0 && perturbed->extra[row] >= 0) {
            lines->extra.columns[extra_to] = perturbed->extra[row];
            lines->extra.values[extra_to] = weight * perturbed->amount[row];
            extra_to++;
        }
    }
}

/* Everything but the arrays' sizes, and what all rows of a state come to. */
static void fill(const nadir_context *context, const nadir_kernel *kernel, const nadir_policy *policy,
                 nadir_offsupport_tail *lines)
{
    const nadir_model *model = kernel->model;
    const int threads = nadir_threads_for(context, model->nonzeros);
    double largest = 0;
    double most = 0;
    /* nadir_perturbed_measure wants the sums of ones */
    nadir_prefix_sums_compute(context, &kernel->along, NULL, kernel->sums);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : largest, most)
    for (int64_t s = 0; s < model->states; s++) {
        double norm = 0;
        double terms = 0;
        fill_state(kernel, policy, s, lines);
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            if (policy->probabilities[row] > 0) {
                const nadir_row_size size = nadir_perturbed_measure(kernel, row);
                norm += policy->probabilities[row] * size.largest;
                terms += policy->probabilities[row] * size.terms;
            }
        }
        largest = norm > largest ? norm : largest;
        most = terms > most ? terms : most;
    }
    lines->norm = largest;
    lines->terms = most;
}

nadir_status nadir_offsupport_tail_make(nadir_context *context, const nadir_kernel *kernel,
                                        const nadir_policy *policy, nadir_offsupport_tail *lines)
{
    nadir_status status = NADIR_OK;
    const int64_t n = kernel->model->states;
    nadir_offsupport_tail made = {.states = n};
    nadir_offsupport_tail_clear(context, lines);
    if (kernel->sums == NULL) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_sorted_states_reserve(context, n, &made.along));
    NADIR_CHECK(count_parts(context, kernel, policy, &made));
    NADIR_NEW(context, made.last.columns, made.last.starts[n]);
    NADIR_NEW(context, made.last.values, made.last.starts[n]);
    NADIR_NEW(context, made.slope, made.last.starts[n]);
    NADIR_NEW(context, made.extra.columns, made.extra.starts[n]);
    NADIR_NEW(context, made.extra.values, made.extra.starts[n]);
    NADIR_NEW(context, made.sums, n);
    nadir_sorted_states_fill(&made.along, kernel->perturbed.order, kernel->perturbed.x);
    fill(context, kernel, policy, &made);
    *lines = made;
    made = (nadir_offsupport_tail){0};
cleanup:
    nadir_offsupport_tail_clear(context, &made);
    return status;
}

/* y += scale E x, E with the rows of `entries`. */
static void add_product(const nadir_context *context, int64_t states, const nadir_entries *entries,
                        double scale, const double *x, double *y)
{
    const int64_t count = entries->starts[states];
    if (count == 0) {
        return;
    }
    const int threads = nadir_threads_for(context, count + states);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t s = 0; s < states; s++) {
        double sum = 0;
        for (int64_t i = entries->starts[s]; i < entries->starts[s + 1]; i++) {
            sum += entries->values[i] * x[entries->columns[i]];
        }
        y[s] += scale * sum;
    }
}

/* One vector. */
static void add_lines(const nadir_context *context, const nadir_offsupport_tail *lines, double scale,
                      const double *x, double *y)
{
    const nadir_entries *last = &lines->last;
    const int threads = nadir_threads_for(context, 2 * last->starts[lines->states] + lines->states);
    nadir_prefix_sums_compute(context, &lines->sorted, x, lines->sums);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t s = 0; s < lines->states; s++) {
        double sum = 0;
        for (int64_t i = last->starts[s]; i < last->starts[s + 1]; i++) {
            const nadir_prefix_sum along = lines->sums[last->columns[i]];
            sum += last->values[i] * along.plain + lines->slope[i] * along.weighted;
        }
        y[s] += scale * sum;
    }
}

void nadir_offsupport_tail_add(const nadir_context *context, const nadir_offsupport_tail *lines,
                               int64_t count, double scale, const double *x, double *y)
{
    const int64_t n = lines->states;
    for (int64_t j = 0; j < count && n > 0 && lines->remote == NULL; j++) {
        if (lines->last.starts[n] > 0) {
            add_lines(context, lines, scale, x + j * n, y + j * n);
        }
        add_product(context, n, &lines->extra, scale, x + j * n, y + j * n);
    }
}

static nadir_matrix view(int64_t states, const nadir_entries *entries, const double *values)
{
    return (nadir_matrix){states, NULL, entries->starts, entries->columns, values, 0};
}

/* What products with the transpose use. */
static nadir_status turn(nadir_context *context, nadir_offsupport_tail *lines)
{
    nadir_status status = NADIR_OK;
    const int64_t n = lines->states;
    const nadir_matrix last = view(n, &lines->last, lines->last.values);
    const nadir_matrix slope = view(n, &lines->last, lines->slope);
    const nadir_matrix extra = view(n, &lines->extra, lines->extra.values);
    nadir_entries_clear(context, &lines->last_turned); /* an earlier try may have left some */
    nadir_entries_clear(context, &lines->slope_turned);
    nadir_release(context, lines->turned_columns);
    lines->turned_columns = NULL;
    NADIR_CHECK(nadir_matrix_transpose(context, &last, &lines->last_turned));
    NADIR_CHECK(nadir_matrix_transpose(context, &slope, &lines->slope_turned));
    NADIR_NEW(context, lines->turned_columns, last.starts[n]);
    for (int64_t column = 0; column < n; column++) {
        for (int64_t i = lines->last_turned.starts[column]; i < lines->last_turned.starts[column + 1]; i++) {
            lines->turned_columns[i] = (int32_t)column;
        }
    }
    NADIR_CHECK(nadir_matrix_transpose(context, &extra, &lines->extra_turned));
cleanup:
    return status;
}

/* One vector. In each column there are as many lines as chance has it, so the loop runs over the lines. */
static void add_lines_transposed(const nadir_context *context, const nadir_offsupport_tail *lines,
                                 double scale, const double *x, double *y)
{
    const int64_t n = lines->states;
    const nadir_entries *turned = &lines->last_turned;
    const int32_t *columns = lines->turned_columns;
    const double *slope = lines->slope_turned.values;
    nadir_prefix_sum *sums = lines->sums;
    const int shares = nadir_threads_for(context, 2 * turned->starts[n] + n);
#pragma omp parallel for num_threads(shares) schedule(static, 1) if (shares > 1)
    for (int share = 0; share < shares; share++) {
        const int64_t first = n * share / shares;
        const int64_t end = n * (share + 1) / shares;
        memset(sums + first, 0, (size_t)(end - first) * sizeof *sums);
        for (int64_t i = turned->starts[first]; i < turned->starts[end]; i++) {
            const double value = scale * x[turned->columns[i]];
            sums[columns[i]].plain += turned->values[i] * value;
            sums[columns[i]].weighted += slope[i] * value;
        }
    }
    nadir_prefix_sums_transposed(context, &lines->sorted, sums, y);
}

nadir_status nadir_offsupport_tail_add_transposed(nadir_context *context, nadir_offsupport_tail *lines,
                                                  int64_t count, double scale, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const int64_t n = lines->remote == NULL ? lines->states : 0;
    if (n > 0 && lines->extra_turned.starts == NULL) {
        NADIR_CHECK(turn(context, lines));
    }
    for (int64_t j = 0; j < count && n > 0; j++) {
        if (lines->last.starts[n] > 0) {
            add_lines_transposed(context, lines, scale, x + j * n, y + j * n);
        }
        add_product(context, n, &lines->extra_turned, scale, x + j * n, y + j * n);
    }
cleanup:
    return status;
}

int64_t nadir_offsupport_tail_entries(const nadir_offsupport_tail *lines)
{
    if (lines->remote != NULL) {
        return lines->facts.written;
    }
    int64_t entries = lines->states > 0 ? lines->extra.starts[lines->states] : 0;
    for (int64_t s = 0; s < lines->states; s++) {
        int64_t longest = 0; /* shorter ones lie within it */
        for (int64_t i = lines->last.starts[s]; i < lines->last.starts[s + 1]; i++) {
            const int64_t length = lines->last.columns[i] + 1;
            longest = length > longest ? length : longest;
        }
        entries += longest;
    }
    return entries;
}

/* The most entries in a row of it. */
static int64_t row_length(int64_t states, const nadir_entries *entries)
{
    const nadir_matrix matrix = {.size = states, .starts = entries->starts};
    return entries->starts != NULL ? nadir_matrix_row_length(&matrix) : 0;
}

double nadir_offsupport_tail_roundings(const nadir_offsupport_tail *lines, bool transposed)
{
    const int64_t n = lines->states;
    if (n == 0) {
        return 0;
    }
    if (lines->remote != NULL) {
        return lines->device->lines_roundings(lines->remote, transposed);
    }
    const int64_t terms = row_length(n, transposed ? &lines->last_turned : &lines->last) +
                          row_length(n, transposed ? &lines->extra_turned : &lines->extra);
    return nadir_prefix_sums_roundings(n) + (double)terms + 8;
}
