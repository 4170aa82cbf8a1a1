/*
 * average.cu: M(s, t) = sum over a of pi(a|s) P(t|s, a) on the device.
 *
 * Rows are added in their order and every product is rounded before it is added, as on the processor: M has
 * the same bits there and here. A sparse M is made in two passes: one thread takes the rows of one state side
 * by side, the next column being the least that any of them has next; it counts the columns first, and
 * writes them when it is known where to. Of a kernel with a tail, entries on states that the tail covers are less
 * by what it has there, and extra states are entries like others.
 */
#include "engine.h"
#include "offsupport_tail.h"
#include "reduce.h"

#include <cmath>

enum { THREADS = CUDA_REDUCE_THREADS };

/* One block for each state and stretch of columns. */
static __global__ void average_dense(int64_t states, const int64_t *state_rows, const double *dense,
                                     const double *probabilities, double *matrix)
{
    const int64_t s = blockIdx.x;
    const int64_t first = state_rows[s];
    const int64_t end = state_rows[s + 1];
    for (int64_t t = (int64_t)blockIdx.y * blockDim.x + threadIdx.x; t < states;
         t += (int64_t)gridDim.y * blockDim.x) {
        double sum = 0;
        for (int64_t row = first; row < end; row++) {
            const double weight = probabilities[row];
            if (weight > 0) {
                sum = __dadd_rn(sum, __dmul_rn(weight, dense[row * states + t]));
            }
        }
        matrix[s * states + t] = sum;
    }
}

enum { EXTRA_READ = 1 << 30 }; /* in a row's head: its extra state was read */

/* The extra state of a row that was not read yet; INT32_MAX: there is none. */
template <bool TAIL>
static __device__ int32_t next_extra(const cuda_tail_rows *tails, int64_t row, const int32_t *heads)
{
    const int32_t extra = TAIL ? tails->extra[row] : -1;
    return extra >= 0 && (heads[row] & EXTRA_READ) == 0 ? extra : INT32_MAX;
}

/* The next column of a state; heads: [rows] how far each row was read. INT32_MAX: there is none. */
template <bool TAIL>
static __device__ int32_t next_column(const cuda_rows *rows, const cuda_tail_rows *tails, int64_t first,
                                      int64_t end, const double *probabilities, const int32_t *heads)
{
    int32_t least = INT32_MAX;
    for (int64_t row = first; row < end; row++) {
        const int64_t at = rows->starts[row] + (heads[row] & ~EXTRA_READ);
        if (probabilities[row] > 0) {
            least = min(least, next_extra<TAIL>(tails, row, heads));
            least = at < rows->starts[row + 1] ? min(least, rows->columns[at]) : least;
        }
    }
    return least;
}

/* The entry of a row in this column, if it comes next, is read; its value is 0 unless it is wanted. */
template <bool TAIL>
static __device__ double take_entry(const cuda_rows *rows, const cuda_tail_rows *tails, int64_t row,
                                    int32_t column, bool wanted, int32_t *heads)
{
    const int64_t at = rows->starts[row] + (heads[row] & ~EXTRA_READ);
    double value = 0;
    if (at < rows->starts[row + 1] && rows->columns[at] == column) {
        heads[row]++;
        value = wanted ? rows->values[at] : 0;
        if (TAIL && wanted) {
            const cuda_tail_segment segment = cuda_tail_of_row(tails, row);
            value = __dsub_rn(value, cuda_tail_value(tails, &segment, column));
        }
    } else if (next_extra<TAIL>(tails, row, heads) == column) {
        heads[row] |= EXTRA_READ;
        value = tails->amount[row];
    }
    return value;
}

/* values NULL: counts, otherwise writes from to_starts[s] on. */
template <bool TAIL>
static __global__ void average_sparse(cuda_rows rows, cuda_tail_rows tails, const double *probabilities,
                                      int32_t *heads, const int64_t *to_starts, int32_t *counts,
                                      int32_t *to_columns, double *to_values)
{
    const int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= rows.states) {
        return;
    }
    const int64_t first = rows.state_rows[s];
    const int64_t end = rows.state_rows[s + 1];
    int64_t to = to_values != NULL ? to_starts[s] : 0;
    const int64_t begun = to;
    for (int64_t row = first; row < end; row++) {
        heads[row] = 0;
    }
    for (;;) {
        const int32_t column = next_column<TAIL>(&rows, &tails, first, end, probabilities, heads);
        if (column == INT32_MAX) {
            break;
        }
        double sum = 0;
        for (int64_t row = first; row < end; row++) {
            const double weight = probabilities[row];
            if (weight > 0) {
                const double value = take_entry<TAIL>(&rows, &tails, row, column, to_values != NULL, heads);
                sum = __dadd_rn(sum, __dmul_rn(weight, value));
            }
        }
        if (to_values != NULL) {
            to_columns[to] = column;
            to_values[to] = sum;
        }
        to++;
    }
    if (to_values == NULL) {
        counts[s] = (int32_t)(to - begun);
    }
}

/* Each block leaves the largest sum over t of |M(row, t)|, and the most entries, of its rows; one warp for
 * each row. */
static __global__ void __launch_bounds__(THREADS) measure_rows(cuda_rows rows, double *partials)
{
    const int lane = threadIdx.x % 32;
    double norm = 0;
    double longest = 0;
    for (int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / 32; row < rows.rows;
         row += (int64_t)CUDA_PARTIALS * THREADS / 32) {
        const int64_t start = rows.dense != NULL ? row * rows.states : rows.starts[row];
        const int64_t end = rows.dense != NULL ? start + rows.states : rows.starts[row + 1];
        const double *values = rows.dense != NULL ? rows.dense : rows.values;
        double sum = 0;
        for (int64_t i = start + lane; i < end; i += 32) {
            sum += fabs(values[i]);
        }
        norm = cuda_larger(norm, cuda_over_warp(sum));
        longest = fmax(longest, (double)(end - start));
    }
    cuda_leave(true, norm, partials);
    cuda_leave(true, longest, partials + CUDA_PARTIALS);
}

/* Norm and longest row. */
static nadir_status measure(const cuda_rows *rows, nadir_context *context, nadir_device_facts *facts)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    double found[2 * CUDA_PARTIALS];
    measure_rows<<<CUDA_PARTIALS, THREADS>>>(*rows, engine->partials);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_copy(engine, context, 2 * CUDA_PARTIALS, engine->partials, found));
    *facts = {
        .norm = 0, .entries = rows->entries, .longest = 0, .bytes = (int64_t)rows->memory.bytes, .tail = {}};
    for (int i = 0; i < CUDA_PARTIALS; i++) {
        facts->norm = cuda_larger(facts->norm, found[i]);
        facts->longest = (int64_t)fmax((double)facts->longest, found[CUDA_PARTIALS + i]);
    }
cleanup:
    return status;
}

static nadir_status make_dense(const cuda_rows *rows, nadir_context *context, const double *probabilities,
                               cuda_rows *made)
{
    nadir_status status = NADIR_OK;
    const int64_t n = rows->states;
    const dim3 grid((unsigned)n, (unsigned)(n / (4 * THREADS) + 1));
    CUDA_CHECK(cuda_new(&made->memory, context, n * n, &made->dense));
    made->entries = n * n;
    average_dense<<<grid, THREADS>>>(n, rows->state_rows, rows->dense, probabilities, made->dense);
    CUDA_LAUNCHED(rows->engine, context);
cleanup:
    return status;
}

/* tails: NULL unless the rows have some. */
static void start_pass(const cuda_rows *rows, const cuda_tail_rows *tails, const double *probabilities,
                       int32_t *heads, const int64_t *to_starts, int32_t *counts, cuda_rows *to)
{
    const unsigned blocks = cuda_blocks(rows->states, THREADS);
    if (tails != NULL) {
        average_sparse<true><<<blocks, THREADS>>>(*rows, *tails, probabilities, heads, to_starts, counts,
                                                  to->columns, to->values);
    } else {
        average_sparse<false><<<blocks, THREADS>>>(*rows, cuda_tail_rows{}, probabilities, heads, to_starts,
                                                   counts, to->columns, to->values);
    }
}

static nadir_status make_sparse(const cuda_rows *rows, nadir_context *context, const cuda_tail_rows *tails,
                                const double *probabilities, cuda_rows *made)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    const int64_t n = rows->states;
    cuda_pool work = {engine, "averaging over the policy"};
    int32_t *heads = NULL;
    int32_t *counts = NULL;
    CUDA_CHECK(cuda_new(&work, context, rows->rows, &heads));
    CUDA_CHECK(cuda_new(&work, context, n, &counts));
    CUDA_CHECK(cuda_new(&made->memory, context, n + 1, &made->starts));
    start_pass(rows, tails, probabilities, heads, NULL, counts, made);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_starts(engine, context, n, counts, made->starts));
    CUDA_CHECK(cuda_copy(engine, context, 1, made->starts + n, &made->entries));
    CUDA_CHECK(cuda_new(&made->memory, context, made->entries, &made->columns));
    CUDA_CHECK(cuda_new(&made->memory, context, made->entries, &made->values));
    start_pass(rows, tails, probabilities, heads, made->starts, NULL, made);
    CUDA_LAUNCHED(engine, context);
cleanup:
    cuda_pool_free(&work);
    return status;
}

/* Room for the transposes of M and of its tail, one made after the other: where there is none the whole is
 * better averaged elsewhere. */
static nadir_status check_memory(const cuda_matrix *matrix, nadir_context *context)
{
    const double n = (double)matrix->rows.states;
    const double entries = (double)matrix->rows.entries;
    const double bytes = 12 * entries + 24 * (n + 1) + fmax(24 * entries, 56 * (double)matrix->tail->count);
    nadir_status status = NADIR_OK;
    cuda_pool pool = {matrix->rows.engine, "the transpose of the matrix of the policy"};
    void *whole = NULL;
    if (!cuda_fits(matrix->rows.engine, bytes)) { /* column blocks may be dropped */
        status = cuda_take(&pool, context, bytes, &whole);
        cuda_pool_free(&pool);
    }
    return status;
}

/* M + L of a kernel with a tail, whose values `rows` have. */
static nadir_status make_with_tail(const cuda_rows *rows, nadir_context *context,
                                   const cuda_perturbed *perturbed, const double *weights, cuda_matrix *made,
                                   nadir_device_facts *facts)
{
    nadir_status status = NADIR_OK;
    cuda_pool work = {rows->engine, "averaging over the policy"};
    int32_t *ranks = NULL;
    cuda_tail_rows tails;
    CUDA_CHECK(cuda_new(&work, context, rows->states, &ranks));
    CUDA_CHECK(cuda_tail_make(rows, context, perturbed, weights, ranks, &tails, &made->tail));
    CUDA_CHECK(make_sparse(rows, context, &tails, weights, &made->rows));
    CUDA_CHECK(check_memory(made, context));
    CUDA_CHECK(measure(&made->rows, context, facts));
    CUDA_CHECK(cuda_tail_measure(made->tail, context, rows, &tails, weights, facts));
cleanup:
    cuda_pool_free(&work);
    return status;
}

static void free_matrix(void *self)
{
    cuda_matrix *matrix = (cuda_matrix *)self;
    if (matrix != NULL) {
        cuda_column_blocks_clear(matrix->rows.engine, &matrix->blocks[0]);
        cuda_column_blocks_clear(matrix->rows.engine, &matrix->blocks[1]);
        cuda_rows_clear(&matrix->transpose);
        cuda_rows_clear(&matrix->rows);
        cuda_tail_free(matrix->tail);
        free(matrix);
    }
}

/* perturbed: NULL, or a kernel with a tail, whose values `rows` have. */
static nadir_status average(const cuda_rows *rows, nadir_context *context, const cuda_perturbed *perturbed,
                            const double *probabilities, void **matrix, nadir_device_facts *facts)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    cuda_pool work = {engine, "the policy"};
    double *weights = NULL;
    cuda_matrix *made = NULL;
    CUDA_CHECK(cuda_object(engine, context, &made));
    made->rows.engine = engine;
    made->rows.states = rows->states;
    made->rows.rows = rows->states;
    made->rows.memory = {engine, "the matrix of the policy"};
    CUDA_CHECK(cuda_new(&work, context, rows->rows, &weights));
    CUDA_CHECK(cuda_copy(engine, context, rows->rows, probabilities, weights));
    if (perturbed != NULL) {
        CUDA_CHECK(make_with_tail(rows, context, perturbed, weights, made, facts));
    } else {
        CUDA_CHECK(rows->dense != NULL ? make_dense(rows, context, weights, &made->rows)
                                       : make_sparse(rows, context, NULL, weights, &made->rows));
        CUDA_CHECK(measure(&made->rows, context, facts));
    }
    *matrix = made;
    made = NULL;
cleanup:
    cuda_pool_free(&work);
    free_matrix(made);
    return status;
}

static nadir_status average_nominal(void *rows, nadir_context *context, const double *probabilities,
                                    void **matrix, nadir_device_facts *facts)
{
    return average((const cuda_rows *)rows, context, NULL, probabilities, matrix, facts);
}

static nadir_status average_perturbed(void *self, nadir_context *context, const void *perturbed,
                                      const double *probabilities, void **matrix, nadir_device_facts *facts)
{
    const cuda_perturbed *kernel = (const cuda_perturbed *)perturbed;
    cuda_rows rows = *(const cuda_rows *)self; /* a view, which owns nothing */
    *(rows.dense != NULL ? &rows.dense : &rows.values) = kernel->values;
    return average(&rows, context, kernel->omega != NULL ? kernel : NULL, probabilities, matrix, facts);
}

static nadir_status upload(void *self, nadir_context *context, const nadir_device_rows *rows, void **matrix,
                           nadir_device_facts *facts)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    cuda_matrix *made = NULL;
    CUDA_CHECK(cuda_object(engine, context, &made));
    CUDA_CHECK(cuda_rows_copy(engine, context, rows, &made->rows));
    CUDA_CHECK(measure(&made->rows, context, facts));
    *matrix = made;
    made = NULL;
cleanup:
    free_matrix(made);
    return status;
}

static nadir_status download(void *self, nadir_context *context, double *dense, int64_t *starts,
                             int32_t *columns, double *values)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = &((const cuda_matrix *)self)->rows;
    if (rows->dense != NULL) {
        return cuda_copy(rows->engine, context, rows->entries, rows->dense, dense);
    }
    CUDA_CHECK(cuda_copy(rows->engine, context, rows->rows + 1, rows->starts, starts));
    CUDA_CHECK(cuda_copy(rows->engine, context, rows->entries, rows->columns, columns));
    CUDA_CHECK(cuda_copy(rows->engine, context, rows->entries, rows->values, values));
cleanup:
    return status;
}

void cuda_average_enter(nadir_device *table)
{
    table->average = average_nominal;
    table->average_perturbed = average_perturbed;
    table->matrix_upload = upload;
    table->matrix_download = download;
    table->matrix_free = free_matrix;
}
