/* along.c: sums along an order of the states; see along.h. */
#include "kernel/along.h"

#include "linalg/threads.h"

#include <string.h>

#define PIECES 64
#define LEAST  1024 /* states in a piece; fewer are not worth a second pass */

nadir_status nadir_along_reserve(nadir_context *context, int64_t states, nadir_along *along)
{
    nadir_status status = NADIR_OK;
    nadir_along made = {.states = states};
    NADIR_NEW(context, made.order, states);
    NADIR_NEW(context, made.x, states);
    NADIR_NEW(context, made.place, states);
    *along = made;
    made = (nadir_along){0};
cleanup:
    nadir_along_release(context->memory, &made);
    return status;
}

void nadir_along_release(nadir_memory *memory, nadir_along *along)
{
    nadir_memory_release(memory, along->order);
    nadir_memory_release(memory, along->x);
    nadir_memory_release(memory, along->place);
    *along = (nadir_along){0};
}

void nadir_along_fill(const nadir_along *along, const int32_t *order, const double *x)
{
    memcpy(along->order, order, (size_t)along->states * sizeof *order);
    for (int64_t i = 0; i < along->states; i++) {
        along->x[i] = x[order[i]];
        along->place[order[i]] = (int32_t)i;
    }
}

static int64_t piece_length(int64_t states)
{
    const int64_t length = states / PIECES + 1;
    return length > LEAST ? length : LEAST;
}

double nadir_along_roundings(int64_t states)
{
    const int64_t length = piece_length(states) < states ? piece_length(states) : states;
    const int64_t pieces = (states + length - 1) / length;
    /* Within a piece and over the pieces, for `plain` and again for `weighted`; and for each of them the
     * difference, the product and the additions that bring both together. */
    return 2 * (double)(length + pieces) + 12;
}

/* The sums of places first .. end - 1, as if the order began there. */
static void sum_piece(const nadir_along *along, const double *y, int64_t first, int64_t end, double *plain,
                      double *weighted)
{
    double sum = 0;
    double moment = 0;
    double before = along->x[first];
    for (int64_t i = first; i < end; i++) {
        moment += (along->x[i] - before) * sum;
        before = along->x[i];
        sum += y != NULL ? y[along->order[i]] : 1;
        plain[i] = sum;
        weighted[i] = moment;
    }
}

/* Adds what stands before a piece: `sum` and `moment` at a place with value x. */
static void shift_piece(const nadir_along *along, int64_t first, int64_t end, double x, double sum,
                        double moment, double *plain, double *weighted)
{
    for (int64_t i = first; i < end; i++) {
        plain[i] += sum;
        weighted[i] += moment + (along->x[i] - x) * sum;
    }
}

void nadir_along_sums(const nadir_context *context, const nadir_along *along, const double *y, double *plain,
                      double *weighted)
{
    const int64_t n = along->states;
    const int64_t length = piece_length(n);
    const int64_t pieces = (n + length - 1) / length;
    const int threads = nadir_threads_for(context, 2 * n);
    double sums[PIECES] = {0}; /* at the end of the piece before */
    double moments[PIECES] = {0};
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t piece = 0; piece < pieces; piece++) {
        const int64_t first = piece * length;
        sum_piece(along, y, first, first + length < n ? first + length : n, plain, weighted);
    }
    for (int64_t piece = 1; piece < pieces; piece++) {
        const int64_t last = piece * length - 1;
        const double x = piece > 1 ? along->x[last - length] : 0;
        sums[piece] = sums[piece - 1] + plain[last];
        moments[piece] = moments[piece - 1] + weighted[last];
        moments[piece] += piece > 1 ? (along->x[last] - x) * sums[piece - 1] : 0;
    }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t piece = 1; piece < pieces; piece++) {
        const int64_t first = piece * length;
        shift_piece(along, first, first + length < n ? first + length : n, along->x[first - 1], sums[piece],
                    moments[piece], plain, weighted);
    }
}

/* slope[j] <- sum over i >= j in the piece of slope[i], last[j] <- that of last[i] + slope[i] (x_i - x_j). */
static void spread_piece(const nadir_along *along, int64_t first, int64_t end, double *last, double *slope)
{
    double sum = 0;
    double amount = 0;
    double after = along->x[end - 1];
    for (int64_t j = end - 1; j >= first; j--) {
        amount += (after - along->x[j]) * sum;
        after = along->x[j];
        amount += last[j];
        sum += slope[j];
        last[j] = amount;
        slope[j] = sum;
    }
}

void nadir_along_spread(const nadir_context *context, const nadir_along *along, double *last, double *slope,
                        double *y)
{
    const int64_t n = along->states;
    const int64_t length = piece_length(n);
    const int64_t pieces = (n + length - 1) / length;
    const int threads = nadir_threads_for(context, 3 * n);
    double sums[PIECES + 1] = {0}; /* at the start of a piece */
    double amounts[PIECES + 1] = {0};
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t piece = 0; piece < pieces; piece++) {
        const int64_t first = piece * length;
        spread_piece(along, first, first + length < n ? first + length : n, last, slope);
    }
    for (int64_t piece = pieces - 1; piece >= 0; piece--) {
        const int64_t first = piece * length;
        sums[piece] = slope[first] + sums[piece + 1];
        amounts[piece] = last[first] + amounts[piece + 1];
        amounts[piece] +=
            piece + 1 < pieces ? (along->x[first + length] - along->x[first]) * sums[piece + 1] : 0;
    }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t piece = 0; piece < pieces; piece++) {
        const int64_t first = piece * length;
        const int64_t end = first + length < n ? first + length : n;
        const double after = end < n ? along->x[end] : 0;
        for (int64_t j = first; j < end; j++) {
            const double more = end < n ? amounts[piece + 1] + (after - along->x[j]) * sums[piece + 1] : 0;
            y[along->order[j]] += last[j] + more;
        }
    }
}
