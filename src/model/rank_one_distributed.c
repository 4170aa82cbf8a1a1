/*
 * rank_one_distributed.c: the smallest entry of a kernel nominal - b k^T whose rows are distributed over
 * processes.
 *
 * Entries that a row does not store are -b k(t), smallest at the first state in the order of k, or against it
 * for b < 0, that the row does not have. One state more than the longest row has, from each end of that
 * order, is enough for all rows.
 */
#include "model/rank_one.h"

#include "linalg/distributed.h"
#include "model/kernel_internal.h"

#include <math.h>

/* The ends of the order of k: where sign * k is largest, with the columns that stand for these states here;
 * -1: none does. */
typedef struct end_states {
    int64_t count;
    nadir_indexed *top;
    int64_t *columns;
} end_states;

static nadir_status find_ends(nadir_context *context, const nadir_model *model, const double *k, double sign,
                              int64_t wanted, nadir_indexed *values, end_states *ends)
{
    nadir_status status = NADIR_OK;
    const nadir_communication *table = context->communication;
    NADIR_NEW(context, ends->top, wanted);
    NADIR_NEW(context, ends->columns, wanted);
    for (int64_t t = 0; t < model->states; t++) {
        values[t] = (nadir_indexed){sign * k[t], nadir_model_first(model) + t};
    }
    NADIR_CHECK(table->top(table->self, context, model->states, values, wanted, ends->top, &ends->count));
    for (int64_t i = 0; i < ends->count; i++) {
        ends->columns[i] = nadir_exchange_column(model->exchange, ends->top[i].place);
        ends->top[i].value *= sign;
    }
cleanup:
    return status;
}

static double row_minimum(const nadir_model *model, int64_t row, double b, const double *k,
                          const end_states *ends)
{
    const nadir_row part = nadir_model_row(model, row);
    double smallest = INFINITY;
    for (int64_t i = 0; i < part.count; i++) {
        smallest = fmin(smallest, part.values[i] - b * k[part.columns[i]]);
    }
    for (int64_t i = 0; i < ends->count; i++) {
        if (ends->columns[i] < 0 || !nadir_row_has(&part, ends->columns[i])) {
            return fmin(smallest, -(b * ends->top[i].value));
        }
    }
    return smallest;
}

nadir_status nadir_rank_one_minimum_distributed(nadir_context *context, const nadir_model *model,
                                                const double *b, const double *k, double *minimum)
{
    nadir_status status = NADIR_OK;
    end_states ends[2] = {{0}};
    nadir_indexed *values = NULL;
    double *extended = NULL;
    double smallest = INFINITY;
    int64_t longest = 0;
    NADIR_NEW(context, values, model->states);
    NADIR_NEW(context, extended, nadir_model_width(model));
    for (int64_t t = 0; t < model->states; t++) {
        extended[t] = k[t];
    }
    nadir_exchange_fill(model->exchange, extended);
    for (int64_t row = 0; row < model->rows; row++) {
        const int64_t length = nadir_model_row(model, row).count;
        longest = length > longest ? length : longest;
    }
    const int64_t wanted = (int64_t)nadir_allreduce_maximum(context, (double)longest) + 1;
    NADIR_CHECK(find_ends(context, model, k, 1, wanted, values, &ends[0]));
    NADIR_CHECK(find_ends(context, model, k, -1, wanted, values, &ends[1]));
    for (int64_t row = 0; row < model->rows; row++) {
        smallest = fmin(smallest, row_minimum(model, row, b[row], extended, &ends[b[row] < 0]));
    }
    *minimum = nadir_allreduce_minimum(context, smallest);
cleanup:
    for (int side = 0; side < 2; side++) {
        nadir_release(context, ends[side].top);
        nadir_release(context, ends[side].columns);
    }
    nadir_release(context, values);
    nadir_release(context, extended);
    return status;
}
