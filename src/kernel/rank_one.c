/*
 * rank_one.c: the smallest entry of a kernel nominal - b k^T.
 *
 * Phat >= 0, so an entry is at least -b(row) k(t): with the states in order of k, and a small entry known, a
 * row is done as soon as the next -b k is not below it. The row with the largest of them all goes first; then
 * most rows are done before they begin, unless the kernel has no negative entry. Rows are read along the
 * order of k where few entries are left, else from one end to the other. Entries that a row does not store
 * are -b k: the first state in the order that is not stored is the smallest of them.
 */
#include "kernel/rank_one.h"

#include "linalg/threads.h"

#include <math.h>
#include <stdlib.h>

enum { FEW = 8 }; /* fewer than this share of a dense row: along the order */

typedef struct placed {
    double k;
    int32_t state;
} placed;

typedef struct search {
    const nadir_model *model;
    const double *b, *k;
    const placed *order; /* [states] k falling */
} search;

static int by_k(const void *left, const void *right)
{
    const placed *a = left;
    const placed *b = right;
    return a->k != b->k ? (a->k < b->k) - (a->k > b->k) : (a->state > b->state) - (a->state < b->state);
}

/* Place i in the order of falling b k. */
static const placed *at_place(const search *at, double b, int64_t i)
{
    return &at->order[b >= 0 ? i : at->model->states - 1 - i];
}

/* How many places have -b k below `limit`; the first one tells of most rows that there is none. */
static int64_t count_below(const search *at, double b, double limit)
{
    int64_t low = 0;
    int64_t high = -(b * at_place(at, b, 0)->k) < limit ? at->model->states : 0;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (-(b * at_place(at, b, middle)->k) < limit) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static double along_dense(const double *row, double b, int64_t states, const double *k, double best)
{
    double found[4] = {best, best, best, best};
    int64_t t = 0;
    for (; t + 4 <= states; t += 4) {
        for (int j = 0; j < 4; j++) {
            const double entry = row[t + j] - b * k[t + j];
            found[j] = entry < found[j] ? entry : found[j];
        }
    }
    for (; t < states; t++) {
        found[0] = fmin(found[0], row[t] - b * k[t]);
    }
    return fmin(fmin(found[0], found[1]), fmin(found[2], found[3]));
}

static bool is_stored(const nadir_row *row, int32_t state)
{
    int64_t low = 0;
    int64_t high = row->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (row->columns[middle] < state) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < row->count && row->columns[low] == state;
}

/* The smallest entry of a row, or `best` where none is smaller. */
static double row_minimum(const search *at, int64_t row, double best)
{
    const double b = at->b[row];
    const int64_t below = count_below(at, b, best);
    if (below == 0) {
        return best;
    }
    const nadir_row part = nadir_model_row(at->model, row);
    if (part.columns == NULL) {
        if (below > at->model->states / FEW) {
            return along_dense(part.values, b, at->model->states, at->k, best);
        }
        for (int64_t i = 0; i < below; i++) {
            const placed *place = at_place(at, b, i);
            best = fmin(best, part.values[place->state] - b * place->k);
        }
        return best;
    }
    for (int64_t i = 0; i < part.count; i++) {
        best = fmin(best, part.values[i] - b * at->k[part.columns[i]]);
    }
    for (int64_t i = 0; i < below; i++) {
        const placed *place = at_place(at, b, i);
        if (!is_stored(&part, place->state)) {
            return fmin(best, -(b * place->k));
        }
    }
    return best;
}

nadir_status nadir_rank_one_minimum(nadir_context *context, const nadir_model *model, const double *b,
                                    const double *k, double *minimum)
{
    nadir_status status = NADIR_OK;
    placed *order = NULL;
    int64_t strongest = 0;
    if (model->exchange != NULL) {
        return nadir_rank_one_minimum_spread(context, model, b, k, minimum);
    }
    NADIR_NEW(context, order, model->states);
    for (int64_t t = 0; t < model->states; t++) {
        order[t] = (placed){k[t], (int32_t)t};
    }
    qsort(order, (size_t)model->states, sizeof *order, by_k);
    for (int64_t row = 1; row < model->rows; row++) {
        strongest = fabs(b[row]) > fabs(b[strongest]) ? row : strongest;
    }
    const search at = {model, b, k, order};
    const double first = row_minimum(&at, strongest, INFINITY);
    double best = first;
    const int threads =
        nadir_threads_for(context, model->dense != NULL ? model->rows * model->states : model->nonzeros);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : best)
    for (int64_t row = 0; row < model->rows; row++) {
        best = row_minimum(&at, row, fmin(first, best)); /* a thread's own starts at infinity */
    }
    *minimum = best;
cleanup:
    nadir_release(context, order);
    return status;
}
