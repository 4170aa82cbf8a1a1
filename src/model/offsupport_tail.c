/* offsupport_tail.c: the part of an average that tails give; see offsupport_tail.h. */
#include "model/perturbed.h"

#include "linalg/threads.h"
#include "model/kernel_internal.h"

#include <string.h>

void nadir_offsupport_tail_clear(nadir_context *context, nadir_offsupport_tail *tail)
{
    nadir_sorted_states_release(context->memory, &tail->sorted);
    nadir_entries_clear(context, &tail->last);
    nadir_entries_clear(context, &tail->extra);
    nadir_entries_clear(context, &tail->last_turned);
    nadir_entries_clear(context, &tail->slope_turned);
    nadir_entries_clear(context, &tail->extra_turned);
    nadir_release(context, tail->slope);
    nadir_release(context, tail->turned_columns);
    nadir_release(context, tail->sums);
    *tail = (nadir_offsupport_tail){0};
}

/* starts: [states + 1] for tails and for extra states. */
static nadir_status count_parts(nadir_context *context, const nadir_kernel *kernel,
                                const nadir_policy *policy, nadir_offsupport_tail *tail)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = kernel->model;
    const nadir_perturbed *perturbed = &kernel->perturbed;
    NADIR_NEW_ZERO(context, tail->last.starts, model->states + 1);
    NADIR_NEW_ZERO(context, tail->extra.starts, model->states + 1);
    for (int64_t s = 0; s < model->states; s++) {
        int64_t stretches = 0;
        int64_t extras = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            stretches += policy->probabilities[row] > 0 && perturbed->length[row] > 0;
            extras += policy->probabilities[row] > 0 && perturbed->extra[row] >= 0;
        }
        tail->last.starts[s + 1] = tail->last.starts[s] + stretches;
        tail->extra.starts[s + 1] = tail->extra.starts[s] + extras;
    }
cleanup:
    return status;
}

static void fill_state(const nadir_kernel *kernel, const nadir_policy *policy, int64_t state,
                       const nadir_offsupport_tail *tail)
{
    const nadir_model *model = kernel->model;
    const nadir_perturbed *perturbed = &kernel->perturbed;
    int64_t line_to = tail->last.starts[state];
    int64_t extra_to = tail->extra.starts[state];
    for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
        const double weight = policy->probabilities[row];
        if (weight > 0 && perturbed->length[row] > 0) {
            const nadir_row_tail line = nadir_perturbed_row_tail(kernel, row);
            tail->last.columns[line_to] = perturbed->length[row] - 1;
            tail->last.values[line_to] = weight * line.last;
            tail->slope[line_to] = weight * line.slope;
            line_to++;
        }
        if (weight > 0 && perturbed->extra[row] >= 0) {
            tail->extra.columns[extra_to] = perturbed->extra[row];
            tail->extra.values[extra_to] = weight * perturbed->amount[row];
            extra_to++;
        }
    }
}

/* Everything but the arrays' sizes, and what all rows of a state come to. */
static void fill(const nadir_context *context, const nadir_kernel *kernel, const nadir_policy *policy,
                 nadir_offsupport_tail *tail)
{
    const nadir_model *model = kernel->model;
    const int threads = nadir_threads_for(context, model->nonzeros);
    double largest = 0;
    double most = 0;
    /* nadir_perturbed_measure wants the sums of ones */
    nadir_prefix_sums_compute(context, &kernel->sorted, NULL, kernel->sums);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : largest, most)
    for (int64_t s = 0; s < model->states; s++) {
        double norm = 0;
        double terms = 0;
        fill_state(kernel, policy, s, tail);
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
    tail->norm = largest;
    tail->terms = most;
}

nadir_status nadir_offsupport_tail_make(nadir_context *context, const nadir_kernel *kernel,
                                        const nadir_policy *policy, nadir_offsupport_tail *tail)
{
    nadir_status status = NADIR_OK;
    const int64_t n = kernel->model->states;
    nadir_offsupport_tail made = {.states = n};
    nadir_offsupport_tail_clear(context, tail);
    if (!nadir_kernel_has_tail(kernel)) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_sorted_states_reserve(context, n, &made.sorted));
    NADIR_CHECK(count_parts(context, kernel, policy, &made));
    NADIR_NEW(context, made.last.columns, made.last.starts[n]);
    NADIR_NEW(context, made.last.values, made.last.starts[n]);
    NADIR_NEW(context, made.slope, made.last.starts[n]);
    NADIR_NEW(context, made.extra.columns, made.extra.starts[n]);
    NADIR_NEW(context, made.extra.values, made.extra.starts[n]);
    NADIR_NEW(context, made.sums, n);
    nadir_sorted_states_fill(&made.sorted, kernel->perturbed.order, kernel->perturbed.x);
    fill(context, kernel, policy, &made);
    *tail = made;
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
static void add_tail(const nadir_context *context, const nadir_offsupport_tail *tail, double scale,
                     const double *x, double *y)
{
    const nadir_entries *last = &tail->last;
    const int threads = nadir_threads_for(context, 2 * last->starts[tail->states] + tail->states);
    nadir_prefix_sums_compute(context, &tail->sorted, x, tail->sums);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t s = 0; s < tail->states; s++) {
        double sum = 0;
        for (int64_t i = last->starts[s]; i < last->starts[s + 1]; i++) {
            const nadir_prefix_sum sorted = tail->sums[last->columns[i]];
            sum += last->values[i] * sorted.plain + tail->slope[i] * sorted.weighted;
        }
        y[s] += scale * sum;
    }
}

void nadir_offsupport_tail_add(const nadir_context *context, const nadir_offsupport_tail *tail, int64_t count,
                               double scale, const double *x, double *y)
{
    const int64_t n = tail->states;
    for (int64_t j = 0; j < count && n > 0 && tail->device_matrix == NULL; j++) {
        if (tail->last.starts[n] > 0) {
            add_tail(context, tail, scale, x + j * n, y + j * n);
        }
        add_product(context, n, &tail->extra, scale, x + j * n, y + j * n);
    }
}

static nadir_matrix view(int64_t states, const nadir_entries *entries, const double *values)
{
    return (nadir_matrix){states, NULL, entries->starts, entries->columns, values, 0};
}

/* What products with the transpose use. */
static nadir_status turn(nadir_context *context, nadir_offsupport_tail *tail)
{
    nadir_status status = NADIR_OK;
    const int64_t n = tail->states;
    const nadir_matrix last = view(n, &tail->last, tail->last.values);
    const nadir_matrix slope = view(n, &tail->last, tail->slope);
    const nadir_matrix extra = view(n, &tail->extra, tail->extra.values);
    nadir_entries_clear(context, &tail->last_turned); /* an earlier try may have left some */
    nadir_entries_clear(context, &tail->slope_turned);
    nadir_release(context, tail->turned_columns);
    tail->turned_columns = NULL;
    NADIR_CHECK(nadir_matrix_transpose(context, &last, &tail->last_turned));
    NADIR_CHECK(nadir_matrix_transpose(context, &slope, &tail->slope_turned));
    NADIR_NEW(context, tail->turned_columns, last.starts[n]);
    for (int64_t column = 0; column < n; column++) {
        for (int64_t i = tail->last_turned.starts[column]; i < tail->last_turned.starts[column + 1]; i++) {
            tail->turned_columns[i] = (int32_t)column;
        }
    }
    NADIR_CHECK(nadir_matrix_transpose(context, &extra, &tail->extra_turned));
cleanup:
    return status;
}

/* One vector. In each column there are as many tails as chance has it, so the loop runs over the tails. */
static void add_tail_transposed(const nadir_context *context, const nadir_offsupport_tail *tail, double scale,
                                const double *x, double *y)
{
    const int64_t n = tail->states;
    const nadir_entries *turned = &tail->last_turned;
    const int32_t *columns = tail->turned_columns;
    const double *slope = tail->slope_turned.values;
    nadir_prefix_sum *sums = tail->sums;
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
    nadir_prefix_sums_transposed(context, &tail->sorted, sums, y);
}

nadir_status nadir_offsupport_tail_add_transposed(nadir_context *context, nadir_offsupport_tail *tail,
                                                  int64_t count, double scale, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const int64_t n = tail->device_matrix == NULL ? tail->states : 0;
    if (n > 0 && tail->extra_turned.starts == NULL) {
        NADIR_CHECK(turn(context, tail));
    }
    for (int64_t j = 0; j < count && n > 0; j++) {
        if (tail->last.starts[n] > 0) {
            add_tail_transposed(context, tail, scale, x + j * n, y + j * n);
        }
        add_product(context, n, &tail->extra_turned, scale, x + j * n, y + j * n);
    }
cleanup:
    return status;
}

int64_t nadir_offsupport_tail_entries(const nadir_offsupport_tail *tail)
{
    if (tail->device_matrix != NULL) {
        return tail->facts.written;
    }
    int64_t entries = tail->states > 0 ? tail->extra.starts[tail->states] : 0;
    for (int64_t s = 0; s < tail->states; s++) {
        int64_t longest = 0; /* shorter ones lie within it */
        for (int64_t i = tail->last.starts[s]; i < tail->last.starts[s + 1]; i++) {
            const int64_t length = tail->last.columns[i] + 1;
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

double nadir_offsupport_tail_roundings(const nadir_offsupport_tail *tail, bool transposed)
{
    const int64_t n = tail->states;
    if (n == 0) {
        return 0;
    }
    if (tail->device_matrix != NULL) {
        return tail->device->tail_roundings(tail->device_matrix, transposed);
    }
    const int64_t terms = row_length(n, transposed ? &tail->last_turned : &tail->last) +
                          row_length(n, transposed ? &tail->extra_turned : &tail->extra);
    return nadir_prefix_sums_roundings(n) + (double)terms + 8;
}
