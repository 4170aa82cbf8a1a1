/* average_products.c: products with an average; see average.h. */
#include "linalg/distributed.h"
#include "linalg/matrix.h"
#include "linalg/threads.h"
#include "model/average.h"
#include "model/kernel.h"
#include "model/kernel_device.h"

#include <string.h>

void nadir_average_rewards(const nadir_model *model, const nadir_policy *policy, double *result)
{
    for (int64_t s = 0; s < model->states; s++) {
        double sum = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            sum += policy->probabilities[row] * model->shaped[row];
        }
        result[s] = sum;
    }
}

bool nadir_average_is_dense(const nadir_average *average)
{
    return average->device_matrix != NULL ? !average->sparse : average->matrix.dense != NULL;
}

int64_t nadir_average_row_length(const nadir_average *average)
{
    return average->device_matrix != NULL ? average->facts.longest
                                          : nadir_matrix_row_length(&average->matrix);
}

/* y <- y - left (right . x), for each column. */
static void subtract_rank_one(const nadir_context *context, int64_t n, const double *left,
                              const double *right, int64_t count, const double *x, double *y)
{
    for (int64_t j = 0; j < count; j++) {
        const double dot = nadir_blocks_dot(context, n, right, x + j * n);
        nadir_blocks_add(context, n, -dot, left, y + j * n);
    }
}

/* Whether products with M are to be made from its transpose, column after column. Rows that lead to states of
 * all processes ask for entries of x all over memory; of y a process has its part alone, which stays in its
 * cache, and x is read in order, where it stands. A product of a million states, 20 entries a row, takes each
 * of two processes 20 to 24 ms instead of 33 to 50. Threads would write to the same y. */
static bool by_columns(const nadir_context *context, const nadir_average *average)
{
    const nadir_exchange *exchange = average->exchange;
    return exchange != NULL && average->device_matrix == NULL && exchange->ghosts > exchange->count / 2 &&
           nadir_threads_for(context, average->matrix.starts[average->states]) == 1;
}

nadir_status nadir_average_prepare(nadir_context *context, nadir_average *average)
{
    nadir_average *owner = average->lender != NULL ? average->lender : average;
    const bool missing = owner->transpose.starts == NULL && owner->transposed_row == 0;
    const nadir_status status = missing && by_columns(context, owner)
                                    ? nadir_matrix_transpose(context, &owner->matrix, &owner->transpose)
                                    : NADIR_OK;
    return status == NADIR_ERROR_MEMORY ? NADIR_OK : status; /* products by rows will do */
}

/* Y = shift X + scale M X from the transpose of M; the same bits as from M. */
static void combine_by_columns(const nadir_average *average, const nadir_entries *transpose, int64_t count,
                               double shift, double scale, const double *x, double *y)
{
    const int64_t n = average->states;
    const nadir_matrix matrix = {average->matrix.width, NULL, transpose->starts, transpose->columns,
                                 transpose->values,     0};
    for (int64_t j = 0; j < count; j++) {
        const double *own = x + j * n;
        double *sums = y + j * n;
        nadir_exchange_piece pieces[NADIR_EXCHANGE_PIECES];
        const int many = nadir_exchange_pieces(average->exchange, own, pieces);
        int64_t column = 0;
        memset(sums, 0, (size_t)n * sizeof *sums);
        for (int i = 0; i < many; i++) {
            nadir_matrix_scatter(&matrix, column, pieces[i].count, pieces[i].values, sums);
            column += pieces[i].count;
        }
        for (int64_t s = 0; s < n; s++) {
            sums[s] = shift == 0 ? scale * sums[s] : shift * own[s] + scale * sums[s];
        }
    }
}

/* Y = shift X + scale M X where M has columns of other processes: one vector after the other. */
static void combine_distributed(const nadir_context *context, const nadir_average *average, int64_t count,
                                double shift, double scale, const double *x, double *y)
{
    const int64_t n = average->states;
    const nadir_average *owner = average->lender != NULL ? average->lender : average;
    if (owner->transpose.starts != NULL && by_columns(context, average)) {
        combine_by_columns(average, &owner->transpose, count, shift, scale, x, y);
        return;
    }
    for (int64_t j = 0; j < count; j++) {
        const double *extended = nadir_exchange_extend(average->exchange, x + j * n);
        nadir_matrix_combine(context, &average->matrix, 1, shift, scale, extended, y + j * n);
    }
}

/* Y = shift X + scale M^T X likewise: `transpose` has rows for columns of other processes, whose sums go
 * home. */
static void combine_distributed_transposed(const nadir_context *context, const nadir_average *owner,
                                           const nadir_matrix *transpose, int64_t count, double shift,
                                           double scale, const double *x, double *y)
{
    const nadir_exchange *exchange = owner->exchange;
    const int64_t n = owner->states;
    for (int64_t j = 0; j < count; j++) {
        double *sums = nadir_exchange_buffer(exchange);
        nadir_matrix_combine(context, transpose, 1, 0, scale, x + j * n, sums);
        for (int64_t s = 0; s < n; s++) {
            y[j * n + s] = shift * x[j * n + s] + sums[s];
        }
        exchange->table->add(exchange->table->self, exchange->plan, sums + n, y + j * n);
    }
}

/* Y = shift X + scale M^T X. */
static nadir_status combine_transposed(nadir_context *context, nadir_average *average, int64_t count,
                                       double shift, double scale, const double *x, double *y)
{
    nadir_average *owner = average->lender != NULL ? average->lender : average;
    const nadir_entries *entries = &owner->transpose;
    if (owner->device_matrix != NULL) {
        return nadir_kernel_device_combine(context, owner, true, count, shift, scale, x, y);
    }
    if (owner->dense != NULL) {
        nadir_matrix_combine_transposed(context, &owner->matrix, count, shift, scale, x, y);
        return NADIR_OK;
    }
    if (entries->starts == NULL) {
        NADIR_TRY(nadir_matrix_transpose(context, &owner->matrix, &owner->transpose));
    }
    const int64_t rows = owner->exchange != NULL ? owner->matrix.width : owner->states;
    const nadir_matrix transpose = {rows, NULL, entries->starts, entries->columns, entries->values, 0};
    if (owner->exchange != NULL) {
        combine_distributed_transposed(context, owner, &transpose, count, shift, scale, x, y);
    } else {
        nadir_matrix_combine(context, &transpose, count, shift, scale, x, y);
    }
    return NADIR_OK;
}

nadir_status nadir_average_product(const nadir_context *context, const nadir_average *average, bool whole,
                                   int64_t count, double shift, double scale, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    if (average->device_matrix != NULL) {
        status = nadir_kernel_device_combine(context, average, false, count, shift, scale, x, y);
    } else if (average->exchange != NULL) {
        combine_distributed(context, average, count, shift, scale, x, y);
    } else {
        nadir_matrix_combine(context, &average->matrix, count, shift, scale, x, y);
    }
    nadir_offsupport_tail_add(context, &average->tail, count, scale, x, y);
    if (whole && average->b != NULL) {
        subtract_rank_one(context, average->states, average->b, average->k, count, x, y);
    }
    return status;
}

nadir_status nadir_average_product_transposed(nadir_context *context, nadir_average *average, bool whole,
                                              int64_t count, double shift, double scale, const double *x,
                                              double *y)
{
    NADIR_TRY(combine_transposed(context, average, count, shift, scale, x, y));
    NADIR_TRY(nadir_offsupport_tail_add_transposed(context, &average->tail, count, scale, x, y));
    if (whole && average->b != NULL) {
        subtract_rank_one(context, average->states, average->k, average->b, count, x, y);
    }
    return NADIR_OK;
}

void nadir_average_forget_transpose(nadir_context *context, nadir_average *average)
{
    if (average->transpose.starts != NULL) {
        const nadir_matrix transpose = {.size = average->exchange != NULL ? average->matrix.width
                                                                          : average->states,
                                        .starts = average->transpose.starts};
        average->transposed_row = nadir_matrix_row_length(&transpose) + 1;
        nadir_entries_clear(context, &average->transpose);
    }
}

/* The most entries in a row of M^T. With several processes each has a part of every row: at most as many as
 * their longest together, and an addition for each of them. */
static int64_t longest_transposed(const nadir_context *context, const nadir_average *owner)
{
    const bool distributed = owner->exchange != NULL;
    const nadir_matrix transpose = {.size = distributed ? owner->matrix.width : owner->states,
                                    .starts = owner->transpose.starts};
    int64_t known;
    if (owner->device_matrix != NULL && owner->device->matrix_longest_column(owner->device_matrix, &known)) {
        return known;
    }
    if (transpose.starts == NULL && owner->transposed_row == 0) {
        return distributed ? owner->exchange->total : owner->states;
    }
    const int64_t longest =
        transpose.starts != NULL ? nadir_matrix_row_length(&transpose) : owner->transposed_row - 1;
    return distributed ? (int64_t)nadir_allreduce_sum(context, (double)(longest + 1)) : longest;
}

double nadir_average_roundings(const nadir_context *context, const nadir_average *average, bool transposed)
{
    const nadir_average *owner = average->lender != NULL ? average->lender : average;
    const int64_t total = average->exchange != NULL ? average->exchange->total : average->states;
    const bool by_rows = average->exchange == NULL && owner->device_matrix == NULL && owner->dense == NULL;
    const int64_t length =
        transposed ? longest_transposed(context, owner) : nadir_average_row_length(average);
    const int64_t own = by_rows ? nadir_matrix_row_roundings(length) : length;
    const double longest = transposed ? (double)own : nadir_allreduce_maximum(context, (double)own);
    const int64_t corrected = average->b != NULL ? total : 0; /* a sum over all states */
    return longest + (double)(corrected + 4) + nadir_offsupport_tail_roundings(&average->tail, transposed);
}

double nadir_average_terms(const nadir_average *average)
{
    if (average->tail.states > 0) {
        return average->tail.terms;
    }
    return average->norm + (average->b != NULL ? 2 : 0); /* beside a nominal M, |b k^T| is at most |P| + 1 */
}

/* An average with its tails written out, for those who need a matrix; see average.h. */

/* The entries of one state: M, then its tails over their stretches, then the extra states. */
static void gather_state(const nadir_average *average, int64_t state, nadir_sparse_accumulator *accumulator)
{
    const nadir_offsupport_tail *tail = &average->tail;
    const nadir_sorted_states *sorted = &tail->sorted;
    const nadir_matrix *matrix = &average->matrix;
    for (int64_t i = matrix->starts[state]; i < matrix->starts[state + 1]; i++) {
        nadir_sparse_accumulator_add(accumulator, matrix->columns[i], matrix->values[i]);
    }
    for (int64_t i = tail->last.starts[state]; i < tail->last.starts[state + 1]; i++) {
        const int64_t end = tail->last.columns[i];
        for (int64_t j = 0; j <= end; j++) {
            const double amount = tail->last.values[i] + tail->slope[i] * (sorted->x[end] - sorted->x[j]);
            nadir_sparse_accumulator_add(accumulator, sorted->order[j], amount);
        }
    }
    for (int64_t i = tail->extra.starts[state]; i < tail->extra.starts[state + 1]; i++) {
        nadir_sparse_accumulator_add(accumulator, tail->extra.columns[i], tail->extra.values[i]);
    }
}

static nadir_status write_out(nadir_context *context, const nadir_average *average, nadir_entries *entries)
{
    nadir_status status = NADIR_OK;
    const int64_t n = average->states;
    const int64_t most = average->matrix.starts[n] + nadir_offsupport_tail_entries(&average->tail);
    nadir_sparse_accumulator accumulator = {0};
    NADIR_CHECK(nadir_sparse_accumulator_make(context, n, &accumulator));
    NADIR_NEW(context, entries->starts, n + 1);
    NADIR_NEW(context, entries->columns, most);
    NADIR_NEW(context, entries->values, most);
    entries->starts[0] = 0;
    for (int64_t s = 0; s < n; s++) {
        const int64_t start = entries->starts[s];
        gather_state(average, s, &accumulator);
        entries->starts[s + 1] = start + nadir_sparse_accumulator_take(&accumulator, entries->columns + start,
                                                                       entries->values + start);
        NADIR_CHECK(s % 1024 == 0 ? nadir_progress(context, "writing out the kernel", (double)s / (double)n)
                                  : NADIR_OK);
    }
    NADIR_RESIZE(context, entries->columns, entries->starts[n]);
    NADIR_RESIZE(context, entries->values, entries->starts[n]);
cleanup:
    nadir_sparse_accumulator_clear(context, &accumulator);
    return status;
}

nadir_status nadir_average_expand(nadir_context *context, nadir_average *average)
{
    nadir_status status = NADIR_OK;
    nadir_entries entries = {0};
    if (average->tail.states == 0) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_average_fetch(context, average));
    NADIR_CHECK(write_out(context, average, &entries));
    if (average->device_matrix != NULL) {
        average->device->matrix_free(average->device_matrix);
        average->device_matrix = NULL;
    }
    nadir_entries_clear(context, &average->transpose);
    average->transposed_row = 0;
    nadir_entries_clear(context, &average->entries);
    nadir_offsupport_tail_clear(context, &average->tail);
    average->entries = entries;
    average->changed = true;
    average->matrix.starts = entries.starts;
    average->matrix.columns = entries.columns;
    average->matrix.values = entries.values;
    average->norm = nadir_matrix_norm(context, &average->matrix);
    entries = (nadir_entries){0};
cleanup:
    nadir_entries_clear(context, &entries);
    return status;
}
