/*
 * perturbed.c: kernels with numbers of their own and tails in a value of the successor; see kernel.h.
 *
 * A product with a row that has the line l over the first states of the order is
 *
 *     sum over entries t of (P(t) - l(t) [t is among the first]) y[t]  +  sum over the first of l(t) y[t],
 *
 * whose last sum is read off the prefix sums along the order. For the projections that such kernels
 * come from, P(t) is the nominal probability plus l(t), so that what is taken off here is what was put on
 * there.
 */
#include "model/perturbed.h"
#include "core/round.h"
#include "linalg/threads.h"
#include "model/kernel_device.h"
#include "model/kernel_internal.h"

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

/* Prefix sums along an order of the states. */

#define PIECES 64
#define LEAST  1024 /* states in a piece; fewer are not worth a second pass */

nadir_status nadir_sorted_states_reserve(nadir_context *context, int64_t states, nadir_sorted_states *sorted)
{
    nadir_status status = NADIR_OK;
    nadir_sorted_states made = {.states = states};
    NADIR_NEW(context, made.order, states);
    NADIR_NEW(context, made.x, states);
    *sorted = made;
    made = (nadir_sorted_states){0};
cleanup:
    nadir_sorted_states_release(context->memory, &made);
    return status;
}

void nadir_sorted_states_release(nadir_memory *memory, nadir_sorted_states *sorted)
{
    NADIR_MEMORY_RELEASE(memory, sorted->order, sorted->x);
    *sorted = (nadir_sorted_states){0};
}

void nadir_sorted_states_fill(const nadir_sorted_states *sorted, const int32_t *order, const double *x)
{
    memcpy(sorted->order, order, (size_t)sorted->states * sizeof *order);
    for (int64_t i = 0; i < sorted->states; i++) {
        sorted->x[i] = x[order[i]];
    }
}

static int64_t piece_length(int64_t states)
{
    const int64_t length = states / PIECES + 1;
    return length > LEAST ? length : LEAST;
}

double nadir_prefix_sums_roundings(int64_t states)
{
    const int64_t length = piece_length(states) < states ? piece_length(states) : states;
    const int64_t pieces = (states + length - 1) / length;
    /* Within a piece and over the pieces, for `plain` and again for `weighted`; and for each of them the
     * difference, the product and the additions that bring both together. */
    return 2 * (double)(length + pieces) + 12;
}

/* The sums of places first .. end - 1, as if the order began there. */
static void sum_piece(const nadir_sorted_states *sorted, const double *y, int64_t first, int64_t end,
                      nadir_prefix_sum *sums)
{
    nadir_prefix_sum sum = {0};
    double before = sorted->x[first];
    for (int64_t i = first; i < end; i++) {
        sum.weighted += (sorted->x[i] - before) * sum.plain;
        before = sorted->x[i];
        sum.plain += y != NULL ? y[sorted->order[i]] : 1;
        sums[i] = sum;
    }
}

/* Adds the sums `before`, which are those of a place whose value is less by `distance`. */
static inline void shift(double distance, nadir_prefix_sum before, nadir_prefix_sum *sum)
{
    sum->plain += before.plain;
    sum->weighted += before.weighted + distance * before.plain;
}

void nadir_prefix_sums_compute(const nadir_context *context, const nadir_sorted_states *sorted,
                               const double *y, nadir_prefix_sum *sums)
{
    const int64_t n = sorted->states;
    const int64_t length = piece_length(n);
    const int64_t pieces = (n + length - 1) / length;
    const int threads = nadir_threads_for(context, 2 * n);
    nadir_prefix_sum before[PIECES] = {{0}}; /* at the end of the piece before */
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t piece = 0; piece < pieces; piece++) {
        const int64_t first = piece * length;
        sum_piece(sorted, y, first, first + length < n ? first + length : n, sums);
    }
    for (int64_t piece = 1; piece < pieces; piece++) {
        const int64_t last = piece * length - 1;
        before[piece] = sums[last];
        if (piece > 1) {
            shift(sorted->x[last] - sorted->x[last - length], before[piece - 1], &before[piece]);
        }
    }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t piece = 1; piece < pieces; piece++) {
        const int64_t first = piece * length;
        for (int64_t i = first; i < first + length && i < n; i++) {
            shift(sorted->x[i] - sorted->x[first - 1], before[piece], &sums[i]);
        }
    }
}

/* weighted_j <- sum over i >= j in the piece of weighted_i, plain_j <- that of plain_i + weighted_i (x_i -
 * x_j).
 */
static void transpose_piece(const nadir_sorted_states *sorted, int64_t first, int64_t end,
                            nadir_prefix_sum *sums)
{
    nadir_prefix_sum sum = {0};
    double after = sorted->x[end - 1];
    for (int64_t j = end - 1; j >= first; j--) {
        sum.plain += (after - sorted->x[j]) * sum.weighted + sums[j].plain;
        sum.weighted += sums[j].weighted;
        after = sorted->x[j];
        sums[j] = sum;
    }
}

void nadir_prefix_sums_transposed(const nadir_context *context, const nadir_sorted_states *sorted,
                                  nadir_prefix_sum *sums, double *y)
{
    const int64_t n = sorted->states;
    const int64_t length = piece_length(n);
    const int64_t pieces = (n + length - 1) / length;
    const int threads = nadir_threads_for(context, 3 * n);
    nadir_prefix_sum after[PIECES] = {{0}}; /* at the start of the next piece */
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t piece = 0; piece < pieces; piece++) {
        const int64_t first = piece * length;
        transpose_piece(sorted, first, first + length < n ? first + length : n, sums);
    }
    for (int64_t piece = pieces - 2; piece >= 0; piece--) {
        const int64_t next = (piece + 1) * length;
        after[piece] = sums[next];
        if (piece < pieces - 2) {
            after[piece].plain += after[piece + 1].plain +
                                  (sorted->x[next + length] - sorted->x[next]) * after[piece + 1].weighted;
            after[piece].weighted += after[piece + 1].weighted;
        }
    }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t piece = 0; piece < pieces; piece++) {
        const int64_t next = (piece + 1) * length < n ? (piece + 1) * length : n;
        const double x = sorted->x[next < n ? next : n - 1];
        for (int64_t j = piece * length; j < next; j++) {
            y[sorted->order[j]] +=
                sums[j].plain + (after[piece].plain + (x - sorted->x[j]) * after[piece].weighted);
        }
    }
}

/* Tails of an average. */

void nadir_offsupport_tail_clear(nadir_context *context, nadir_offsupport_tail *tail)
{
    nadir_sorted_states_release(context->memory, &tail->sorted);
    nadir_entries_clear(context, &tail->last);
    nadir_entries_clear(context, &tail->extra);
    nadir_entries_clear(context, &tail->last_turned);
    nadir_entries_clear(context, &tail->slope_turned);
    nadir_entries_clear(context, &tail->extra_turned);
    NADIR_RELEASE(context, tail->slope, tail->turned_columns, tail->sums);
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
    const int64_t n = tail->device_matrix == NULL ? tail->states : 0;
    if (n > 0 && tail->extra_turned.starts == NULL) {
        NADIR_TRY(turn(context, tail));
    }
    for (int64_t j = 0; j < count && n > 0; j++) {
        if (tail->last.starts[n] > 0) {
            add_tail_transposed(context, tail, scale, x + j * n, y + j * n);
        }
        add_product(context, n, &tail->extra_turned, scale, x + j * n, y + j * n);
    }
    return NADIR_OK;
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
