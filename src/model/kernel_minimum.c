/*
 * kernel_minimum.c: the smallest entry of a kernel of rank one; see kernel.h.
 *
 * Entries of nominal - b k^T that a row does not store are -b k(t), smallest at the first state that the row
 * does not have, in falling order of k, or in rising order for b < 0. One state more than the longest row has,
 * from each end of that order, is enough for all rows.
 *
 * No entry of a row is below its smallest nominal one less the largest b k. The row where that bound is lowest
 * goes first: then most rows are done before they begin. A dense row is read from that end of the order
 * on, until its smallest entry less the next b k is not below what is known. Rounded products and differences rise with what
 * they are made of, so that nothing is lost by rounding.
 */
#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "model/kernel_device.h"
#include "model/kernel_internal.h"

#include <math.h>
#include <string.h>

/* States at each end of the order that are enough for most rows of a dense model; others are read whole. */
enum { DENSE_END = 64 };

/* One end of the order of k: its states, from the end on, with their k and the columns that stand for them
 * here; -1: none does. */
typedef struct end_states {
    int64_t count;
    nadir_indexed *top;
    int64_t *columns;
} end_states;

/* nominal - b k^T. */
typedef struct rank_one {
    const nadir_model *model;
    const double *b;    /* [rows] */
    const double *k;    /* [states] and ghosts */
    end_states ends[2]; /* of the largest k, for b >= 0; and of the smallest */
} rank_one;

static nadir_status find_end(nadir_context *context, const rank_one *self, double sign, int64_t wanted,
                             nadir_indexed *values, end_states *end)
{
    nadir_status status = NADIR_OK;
    const nadir_communication *table = context->communication;
    const nadir_model *model = self->model;
    NADIR_NEW(context, end->top, wanted);
    NADIR_NEW(context, end->columns, wanted);
    for (int64_t t = 0; t < model->states; t++) {
        values[t] = (nadir_indexed){sign * self->k[t], nadir_model_first(model) + t};
    }
    NADIR_CHECK(table->top(table->self, context, model->states, values, wanted, end->top, &end->count));
    for (int64_t i = 0; i < end->count; i++) {
        const int64_t place = end->top[i].place;
        end->columns[i] = model->exchange != NULL ? nadir_exchange_column(model->exchange, place) : place;
        end->top[i].value *= sign;
    }
cleanup:
    return status;
}

/* The smallest entry of a dense row, or `best` where none is smaller. */
static double dense_minimum(const rank_one *self, int64_t row, const end_states *end, double best)
{
    const double b = self->b[row];
    const double *values = self->model->dense + row * self->model->states;
    const double least = nadir_model_row_minimum(self->model, row);
    for (int64_t i = 0; i < end->count; i++) {
        const double change = b * end->top[i].value;
        if (least - change >= best) {
            return best;
        }
        best = fmin(best, values[end->top[i].place] - change);
    }
    for (int64_t t = 0; t < self->model->states; t++) {
        best = fmin(best, values[t] - b * self->k[t]);
    }
    return best;
}

static double row_minimum(const rank_one *self, int64_t row, double best)
{
    const double b = self->b[row];
    const nadir_row part = nadir_model_row(self->model, row);
    const end_states *end = &self->ends[b < 0];
    if (part.columns == NULL) {
        return dense_minimum(self, row, end, best);
    }
    for (int64_t i = 0; i < part.count; i++) {
        best = fmin(best, part.values[i] - b * self->k[part.columns[i]]);
    }
    for (int64_t i = 0; i < end->count; i++) {
        if (end->columns[i] < 0 || !nadir_row_has(&part, end->columns[i])) {
            return fmin(best, 0 - b * end->top[i].value);
        }
    }
    return best;
}

/* No entry of the row is below. */
static double row_bound(const rank_one *self, int64_t row)
{
    const double b = self->b[row];
    return nadir_model_row_minimum(self->model, row) - b * self->ends[b < 0].top[0].value;
}

/* Over the rows of this process. */
static double smallest_entry(const nadir_context *context, const rank_one *self)
{
    const int64_t rows = self->model->rows;
    const int threads = nadir_threads_for(context, 4 * rows);
    int64_t first = 0;
    double lowest = INFINITY;
    for (int64_t row = 0; row < rows; row++) {
        const double bound = row_bound(self, row);
        first = bound < lowest ? row : first;
        lowest = bound < lowest ? bound : lowest;
    }
    const double known = rows > 0 ? row_minimum(self, first, INFINITY) : INFINITY;
    double smallest = known;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : smallest) if (threads > 1)
    for (int64_t row = 0; row < rows; row++) {
        const double best = fmin(known, smallest);
        smallest = row_bound(self, row) < best ? row_minimum(self, row, best) : smallest;
    }
    return smallest;
}

nadir_status nadir_rank_one_minimum(nadir_context *context, const nadir_model *model, const double *b,
                                    const double *k, double *minimum)
{
    nadir_status status = NADIR_OK;
    rank_one self = {.model = model, .b = b, .k = k};
    nadir_indexed *values = NULL;
    double *extended = NULL;
    int64_t longest = model->dense != NULL ? DENSE_END : 0;
    if (nadir_kernel_device_minimum(context, model, b, k, minimum)) {
        return NADIR_OK;
    }
    if (model->exchange != NULL) {
        NADIR_NEW(context, extended, nadir_model_width(model));
        memcpy(extended, k, (size_t)model->states * sizeof *k);
        nadir_exchange_fill(model->exchange, extended);
        self.k = extended;
    }
    for (int64_t row = 0; row < model->rows && model->dense == NULL; row++) {
        const int64_t length = model->row_starts[row + 1] - model->row_starts[row];
        longest = length > longest ? length : longest;
    }
    longest = (int64_t)nadir_allreduce_maximum(context, (double)longest);
    NADIR_NEW(context, values, model->states);
    NADIR_CHECK(find_end(context, &self, 1, longest + 1, values, &self.ends[0]));
    NADIR_CHECK(find_end(context, &self, -1, longest + 1, values, &self.ends[1]));
    *minimum = nadir_allreduce_minimum(context, smallest_entry(context, &self));
cleanup:
    for (int side = 0; side < 2; side++) {
        NADIR_RELEASE(context, self.ends[side].top, self.ends[side].columns);
    }
    NADIR_RELEASE(context, values, extended);
    return status;
}
