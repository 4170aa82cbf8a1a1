/* prefix_sums.c: sums along an order of the states; see prefix_sums.h. */
#include "model/perturbed.h"

#include "linalg/threads.h"

#include <string.h>

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
    nadir_memory_release(memory, sorted->order);
    nadir_memory_release(memory, sorted->x);
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
