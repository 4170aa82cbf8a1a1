/*
 * rank_one.c: the smallest entry of a kernel nominal - b k^T.
 *
 * An entry of a row is at least least(row) - max over t of b(row) k(t), where no nominal entry of the row is
 * below least(row): 0, or what was found when the row was read for a kernel before. The row that
 * had the smallest of all in the kernel before, or may have it, goes first; then most rows are done before
 * they begin. In others, with the
 * states in order of k, entries are done as soon as the next least - b k is not below the smallest known.
 * Rows are read along the order of k where few entries are left, else from one end to the other. Entries that
 * a row does not store are -b k: the first state in the order that is not stored is the smallest of them.
 * Rounded sums and products rise with what they are made of, so that nothing is lost by rounding. For the
 * same reason b = f_s times a shape of at most top(s) gives every row of a state least(s) - f_s top(s) max(k,
 * 0).
 */
#include "model/rank_one.h"

#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "model/kernel_device.h"
#include "model/kernel_internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/*
 * The smallest entry of a kernel nominal - b k^T whose rows are distributed over
 * processes.
 *
 * Entries that a row does not store are -b k(t), smallest at the first state in the order of k, or against it
 * for b < 0, that the row does not have. One state more than the longest row has, from each end of that
 * order, is enough for all rows.
 */

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

static double distributed_row_minimum(const nadir_model *model, int64_t row, double b, const double *k,
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

/* nadir_rank_one_minimum with several processes. */
static nadir_status minimum_distributed(nadir_context *context, const nadir_model *model, const double *b,
                                        const double *k, double *minimum)
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
        smallest = fmin(smallest, distributed_row_minimum(model, row, b[row], extended, &ends[b[row] < 0]));
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

/* Entries of at most one, less b k, are known to this share of both sizes and of their changes. */
#define MARGIN (16 * DBL_EPSILON)

enum { FEW = 8 }; /* fewer than this share of a dense row: along the order */

typedef nadir_rank_one_entry placed;

/* Pairs of numbers, in vectors of the language as GCC and Clang extend it. */
typedef double pair __attribute__((vector_size(2 * sizeof(double))));
typedef int64_t pair_mask __attribute__((vector_size(2 * sizeof(double))));

typedef struct reading {
    const nadir_model *model;
    const double *b, *k;
    const placed *order; /* [states] k falling */
    double *least;       /* [rows]; NULL: 0 */
    pair most, fewest;   /* the ends of k, twice */
    /* b by states, its rows written when they are looked at; factors NULL: b is there */
    const double *factors, *shape, *top;
    double *rows;                /* [rows] b */
    nadir_rank_one_known *known; /* [states]; NULL: 0 at 0 */
} reading;

static int by_k(const void *left, const void *right)
{
    const placed *a = left;
    const placed *b = right;
    return a->k != b->k ? (a->k < b->k) - (a->k > b->k) : (a->state > b->state) - (a->state < b->state);
}

/* On a device. False: there is none, or no memory. */
static bool order_on_device(const nadir_context *context, int64_t n, const double *k, placed *order)
{
    int32_t *states =
        context->device != NULL ? nadir_memory_get(context->memory, (size_t)n, sizeof *states) : NULL;
    const bool done = states != NULL && nadir_kernel_device_order(context, n, k, states);
    for (int64_t i = 0; i < n && done; i++) {
        order[i] = (placed){k[states[i]], states[i]};
    }
    nadir_memory_release(context->memory, states);
    return done;
}

/* In a few passes where the order is nearly that of the kernel before. */
static void put_in_order(const nadir_context *context, nadir_rank_one_search *search, const double *k)
{
    const int64_t n = search->model->states;
    placed *order = search->order;
    int64_t moves = search->row >= 0 ? FEW * n : 0;
    for (int64_t i = 0; i < n; i++) {
        order[i].state = search->row >= 0 ? order[i].state : (int32_t)i;
        order[i].k = k[order[i].state];
    }
    for (int64_t i = 1; i < n && moves > 0; i++) {
        const placed here = order[i];
        int64_t to = i;
        for (; to > 0 && order[to - 1].k < here.k; to--) {
            order[to] = order[to - 1];
        }
        order[to] = here;
        moves -= i - to;
    }
    if (moves <= 0 && !order_on_device(context, n, k, order)) {
        qsort(order, (size_t)n, sizeof *order, by_k);
    }
}

/* Place i in the order of falling b k. */
static const placed *at_place(const reading *self, double b, int64_t i)
{
    return &self->order[b >= 0 ? i : self->model->states - 1 - i];
}

/* How many places have least - b k below `limit`. */
static int64_t count_below(const reading *self, double least, double b, double limit)
{
    int64_t low = 0;
    int64_t high = self->model->states;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (least - b * at_place(self, b, middle)->k < limit) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
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
        found[0] = smaller(found[0], row[t] - b * k[t]);
    }
    return smaller(smaller(found[0], found[1]), smaller(found[2], found[3]));
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
static double row_minimum(const reading *self, int64_t row, double best)
{
    const double b = self->b[row];
    const nadir_row part = nadir_model_row(self->model, row);
    if (part.columns == NULL && self->least != NULL && self->least[row] == 0) {
        self->least[row] = nadir_vector_smallest(part.count, part.values);
    }
    const int64_t below = count_below(self, self->least != NULL ? self->least[row] : 0, b, best);
    if (part.columns == NULL) {
        if (below > self->model->states / FEW) {
            return along_dense(part.values, b, self->model->states, self->k, best);
        }
        for (int64_t i = 0; i < below; i++) {
            const placed *place = at_place(self, b, i);
            best = smaller(best, part.values[place->state] - b * place->k);
        }
        return best;
    }
    for (int64_t i = 0; i < part.count; i++) {
        best = smaller(best, part.values[i] - b * self->k[part.columns[i]]);
    }
    for (int64_t i = 0; i < below; i++) {
        const placed *place = at_place(self, b, i);
        if (!is_stored(&part, place->state)) {
            return smaller(best, -(b * place->k));
        }
    }
    return best;
}

static inline pair pair_at(const double *x)
{
    return (pair){x[0], x[1]};
}

/* What no entry of a row of these b is below. */
static inline pair bound_pair(const reading *self, pair b, pair least)
{
    const pair_mask rises = b > 0;
    const pair edge = (pair)(((pair_mask)self->most & rises) | ((pair_mask)self->fewest & ~rises));
    return least - b * edge;
}

static double bound_of(const reading *self, int64_t row)
{
    const pair none = {0};
    const pair b = {self->b[row], 0};
    return bound_pair(self, b, self->least != NULL ? (pair){self->least[row], 0} : none)[0];
}

static int64_t lowest_row(const reading *self)
{
    int64_t lowest = 0;
    double known = bound_of(self, 0);
    for (int64_t row = 1; row < self->model->rows; row++) {
        const double here = bound_of(self, row);
        lowest = here < known ? row : lowest;
        known = here < known ? here : known;
    }
    return lowest;
}

/* The smallest entry, its row, and how many rows were read for it. */
typedef struct smallest {
    double entry;
    int64_t row;
    int64_t read;
} smallest;

/* A row whose bound is below what is known. */
static smallest look_at(const reading *self, int64_t row, smallest best)
{
    if (bound_of(self, row) < best.entry) {
        const double entry = row_minimum(self, row, best.entry);
        best.row = entry < best.entry ? row : best.row;
        best.entry = entry;
        best.read++;
    }
    return best;
}

/* Of rows first .. end - 1, from one that is known. */
static smallest look_through(const reading *self, int64_t first, int64_t end, smallest best)
{
    const pair none = {0};
    int64_t row = first;
    for (; row + 1 < end; row += 2) {
        const pair least = self->least != NULL ? pair_at(self->least + row) : none;
        const pair_mask below = bound_pair(self, pair_at(self->b + row), least) < best.entry;
        if ((below[0] | below[1]) != 0) {
            best = look_at(self, row, best);
            best = look_at(self, row + 1, best);
        }
    }
    return row < end ? look_at(self, row, best) : best;
}

static void write_state(const reading *self, int64_t s)
{
    const double factor = self->factors[s];
    for (int64_t row = self->model->state_rows[s]; row < self->model->state_rows[s + 1]; row++) {
        self->rows[row] = factor * self->shape[row];
    }
}

/* What is known of state s from now on. */
static nadir_rank_one_known note_state(const reading *self, int64_t s, double reach)
{
    nadir_rank_one_known known = {INFINITY, reach};
    for (int64_t row = self->model->state_rows[s]; row < self->model->state_rows[s + 1]; row++) {
        known.bound = smaller(self->least[row] - self->shape[row] * reach, known.bound);
    }
    return known;
}

/* Of the rows of states first .. end - 1. */
static smallest look_through_states(const reading *self, int64_t first, int64_t end, smallest best)
{
    const int64_t *state_rows = self->model->state_rows;
    const double most = fmax(self->most[0], 0);
    const double fewest = fmin(self->fewest[0], 0);
    for (int64_t s = first; s < end; s++) {
        const nadir_rank_one_known none = {0};
        const nadir_rank_one_known known = self->known != NULL ? self->known[s] : none;
        const double reach = self->factors[s] * (self->factors[s] > 0 ? most : fewest);
        const double margin = MARGIN * (2 + self->top[s] * (reach + known.reach));
        const double further = reach > known.reach ? reach - known.reach : 0;
        if (known.bound - self->top[s] * further - margin >= best.entry) {
            continue;
        }
        write_state(self, s);
        best = look_through(self, state_rows[s], state_rows[s + 1], best);
        if (self->known != NULL) {
            self->known[s] = note_state(self, s, reach);
        }
    }
    return best;
}

/* Share i of all rows. */
static smallest look_through_share(const reading *self, int64_t i, int64_t shares, smallest known)
{
    const int64_t n = self->factors != NULL ? self->model->states : self->model->rows;
    return (self->factors != NULL ? look_through_states : look_through)(self, n * i / shares,
                                                                        n * (i + 1) / shares, known);
}

/* The same by several threads. */
static smallest look_through_shares(const reading *self, int threads, smallest known)
{
    smallest best = known;
    int64_t read = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int i = 0; i < threads; i++) {
        const smallest found = look_through_share(self, i, threads, known);
#pragma omp critical(nadir_rank_one)
        {
            read += found.read;
            best = found.entry < best.entry || (found.entry == best.entry && found.row < best.row) ? found
                                                                                                   : best;
        }
    }
    best.read = read;
    return best;
}

/* k is in order; row `start` of b goes first. */
static double find_smallest(const nadir_context *context, nadir_rank_one_search *search, const reading *self,
                            int64_t start)
{
    const nadir_model *model = search->model;
    const smallest known = {row_minimum(self, start, INFINITY), start, 0};
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    /* most rows at first; later about as many as were read for the kernel before */
    const double share = search->read >= 0 ? (double)search->read / (double)model->rows : 1;
    const int threads = nadir_threads_for(context, (int64_t)(share * (double)entries));
    const smallest best =
        threads > 1 ? look_through_shares(self, threads, known) : look_through_share(self, 0, 1, known);
    search->row = best.row;
    search->read = best.read;
    return best.entry;
}

static reading begin_reading(const nadir_context *context, nadir_rank_one_search *search, const double *b,
                             const double *k)
{
    put_in_order(context, search, k);
    const double most = search->order[0].k;
    const double fewest = search->order[search->model->states - 1].k;
    return (reading){.model = search->model,
                     .b = b,
                     .k = k,
                     .order = search->order,
                     .least = search->least,
                     .most = {most, most},
                     .fewest = {fewest, fewest}};
}

nadir_status nadir_rank_one_minimum(nadir_context *context, nadir_rank_one_search *search, const double *b,
                                    const double *k, double *minimum)
{
    if (search->model->exchange != NULL) {
        return minimum_distributed(context, search->model, b, k, minimum);
    }
    const int64_t before = search->row;
    if (nadir_kernel_device_minimum(context, search->model, b, k, minimum)) {
        return NADIR_OK;
    }
    const reading run = begin_reading(context, search, b, k);
    *minimum = find_smallest(context, search, &run, before >= 0 ? before : lowest_row(&run));
    return NADIR_OK;
}

void nadir_rank_one_minimum_of_states(const nadir_context *context, nadir_rank_one_search *search,
                                      const double *factors, const double *shape, const double *top,
                                      double *b, const double *k, double *minimum)
{
    const nadir_model *model = search->model;
    const int64_t before = search->row;
    reading run = {.model = model, .factors = factors, .shape = shape, .rows = b};
    if (context->device != NULL && model->dense != NULL) {
        for (int64_t s = 0; s < model->states; s++) {
            write_state(&run, s);
        }
        if (nadir_kernel_device_minimum(context, model, b, k, minimum)) {
            return;
        }
    }
    run = begin_reading(context, search, b, k);
    run.factors = factors;
    run.shape = shape;
    run.top = top;
    run.rows = b;
    run.known = search->known;
    const int64_t first = before >= 0 ? nadir_model_row_state(model, before) : 0;
    for (int64_t s = first; s < (before >= 0 ? first + 1 : model->states); s++) {
        write_state(&run, s);
    }
    *minimum = find_smallest(context, search, &run, before >= 0 ? before : lowest_row(&run));
}

void nadir_rank_one_clear(nadir_context *context, nadir_rank_one_search *search)
{
    nadir_release(context, search->order);
    nadir_release(context, search->least);
    nadir_release(context, search->known);
    *search = (nadir_rank_one_search){0};
}

nadir_status nadir_rank_one_begin(nadir_context *context, const nadir_model *model, int64_t count,
                                  nadir_rank_one_search *search)
{
    nadir_status status = NADIR_OK;
    nadir_rank_one_search made = {.model = model, .row = -1, .read = -1};
    NADIR_NEW(context, made.order, model->states);
    if (model->dense != NULL && count > 1) {
        NADIR_NEW_ZERO(context, made.least, model->rows);
        NADIR_NEW_ZERO(context, made.known, model->states);
    }
    *search = made;
    made = (nadir_rank_one_search){0};
cleanup:
    nadir_rank_one_clear(context, &made);
    return status;
}
