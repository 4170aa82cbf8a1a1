/*
 * average.cu: M(s, t) = sum over a of pi(a|s) P(t|s, a) on the device.
 *
 * Rows are added in their order and every product is rounded before it is added, as on the processor: M has
 * the same bits there and here. A sparse M is made in two passes: one thread takes the rows of one state side
 * by side, the next column being the least that any of them has next; it counts the columns first, and
 * writes them when it is known where to. Of a perturbed kernel with a tail, entries that lie on the line of
 * their row are less by what it has there, and extra states are entries like others.
 */
#include "lines.h"
#include "parts.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

enum { THREADS = 256 };

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

/* In a row's head: its extra state was read. */
enum { EXTRA_READ = 1 << 30 };

/* The extra state of a row that was not read yet; INT32_MAX: there is none. */
template <bool SPREAD>
static __device__ int32_t next_extra(const cuda_tilt *of, int64_t row, const int32_t *heads)
{
    const int32_t extra = SPREAD ? of->extra[row] : -1;
    return extra >= 0 && (heads[row] & EXTRA_READ) == 0 ? extra : INT32_MAX;
}

/* The next column of a state; heads: [rows] how far each row was read. INT32_MAX: there is none. */
template <bool SPREAD>
static __device__ int32_t next_column(const cuda_rows *rows, const cuda_tilt *spread, int64_t first,
                                      int64_t end, const double *probabilities, const int32_t *heads)
{
    int32_t least = INT32_MAX;
    for (int64_t row = first; row < end; row++) {
        const int64_t at = rows->starts[row] + (heads[row] & ~EXTRA_READ);
        if (probabilities[row] > 0) {
            least = min(least, next_extra<SPREAD>(spread, row, heads));
            least = at < rows->starts[row + 1] ? min(least, rows->columns[at]) : least;
        }
    }
    return least;
}

/* The entry of a row in this column, if it comes next, is read; its value is 0 unless it is wanted. */
template <bool SPREAD>
static __device__ double take_entry(const cuda_rows *rows, const cuda_tilt *spread, int64_t row,
                                    int32_t column, bool wanted, int32_t *heads)
{
    const int64_t at = rows->starts[row] + (heads[row] & ~EXTRA_READ);
    double value = 0;
    if (at < rows->starts[row + 1] && rows->columns[at] == column) {
        heads[row]++;
        value = wanted ? rows->values[at] : 0;
        if (SPREAD && wanted) {
            const cuda_line line = cuda_line_of(spread, row);
            value = __dsub_rn(value, cuda_line_under(spread, &line, column));
        }
    } else if (next_extra<SPREAD>(spread, row, heads) == column) {
        heads[row] |= EXTRA_READ;
        value = spread->amount[row];
    }
    return value;
}

/* values NULL: counts, otherwise writes from to_starts[s] on. */
template <bool SPREAD>
static __global__ void average_sparse(cuda_rows rows, cuda_tilt spread, const double *probabilities,
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
        const int32_t column = next_column<SPREAD>(&rows, &spread, first, end, probabilities, heads);
        if (column == INT32_MAX) {
            break;
        }
        double sum = 0;
        for (int64_t row = first; row < end; row++) {
            const double weight = probabilities[row];
            if (weight > 0) {
                const double value =
                    take_entry<SPREAD>(&rows, &spread, row, column, to_values != NULL, heads);
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

/* sums[row] <- sum over t of |M(row, t)|, lengths[row] <- its entries; one warp for each row. */
static __global__ void measure_rows(cuda_rows rows, double *sums, double *lengths)
{
    const int64_t row = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows.rows) {
        return;
    }
    const int64_t start = rows.dense != NULL ? row * rows.states : rows.starts[row];
    const int64_t end = rows.dense != NULL ? start + rows.states : rows.starts[row + 1];
    const double *values = rows.dense != NULL ? rows.dense : rows.values;
    double sum = 0;
    for (int64_t i = start + lane; i < end; i += 32) {
        sum += fabs(values[i]);
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, step);
    }
    if (lane == 0) {
        sums[row] = sum;
        lengths[row] = (double)(end - start);
    }
}

/* A NaN stays. */
static __host__ __device__ double larger(double a, double b)
{
    return b > a || b != b ? b : a;
}

/* result[block] <- the largest of each of two arrays. */
static __global__ void find_largest(int64_t count, const double *x, const double *y, double *result)
{
    __shared__ double most[2][THREADS];
    double a = 0;
    double b = 0;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * THREADS) {
        a = larger(a, x[i]);
        b = larger(b, y[i]);
    }
    most[0][threadIdx.x] = a;
    most[1][threadIdx.x] = b;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) {
            for (int j = 0; j < 2; j++) {
                most[j][threadIdx.x] = larger(most[j][threadIdx.x], most[j][threadIdx.x + half]);
            }
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        result[2 * blockIdx.x] = most[0][0];
        result[2 * blockIdx.x + 1] = most[1][0];
    }
}

/* Norm and longest row. */
static nadir_status measure(cuda_matrix *matrix, nadir_context *context, nadir_device_facts *facts)
{
    enum { PARTS = 128 };
    nadir_status status = NADIR_OK;
    const cuda_rows *of = &matrix->of;
    cuda_engine *engine = of->engine;
    double found[2 * PARTS];
    CUDA_CHECK(cuda_reserve(engine, context, 2 * of->rows));
    measure_rows<<<cuda_blocks(of->rows, THREADS / 32), THREADS>>>(*of, engine->vectors,
                                                                   engine->vectors + of->rows);
    find_largest<<<PARTS, THREADS>>>(of->rows, engine->vectors, engine->vectors + of->rows, engine->partials);
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(engine, context, cudaMemcpy(found, engine->partials, sizeof found, cudaMemcpyDeviceToHost));
    facts->norm = 0;
    matrix->longest = 0;
    for (int i = 0; i < PARTS; i++) {
        facts->norm = larger(facts->norm, found[2 * i]);
        matrix->longest =
            (int64_t)found[2 * i + 1] > matrix->longest ? (int64_t)found[2 * i + 1] : matrix->longest;
    }
    facts->entries = of->entries;
    facts->longest = matrix->longest;
    facts->bytes = (int64_t)of->bytes;
    facts->tail = {};
cleanup:
    return status;
}

static nadir_status make_dense(const cuda_rows *rows, nadir_context *context, const double *probabilities,
                               cuda_rows *made)
{
    nadir_status status = NADIR_OK;
    const int64_t n = rows->states;
    void *block = NULL;
    const dim3 grid((unsigned)n, (unsigned)(n / (4 * THREADS) + 1));
    CUDA_CHECK(cuda_take(rows->engine, context, "the matrix of the policy", (double)(n * n) * sizeof(double),
                         &block));
    made->engine = rows->engine;
    made->bytes = (double)(n * n) * sizeof(double);
    made->states = n;
    made->rows = n;
    made->entries = n * n;
    made->dense = (double *)block;
    average_dense<<<grid, THREADS>>>(n, rows->state_rows, rows->dense, probabilities, made->dense);
    CUDA_LAUNCHED(rows->engine, context);
cleanup:
    return status;
}

/* Room for the entries, once it is known how many there are. */
static nadir_status make_entries(const cuda_rows *rows, nadir_context *context, cuda_rows *made)
{
    nadir_status status = NADIR_OK;
    void *block = NULL;
    int64_t entries;
    CUDA_TRY(rows->engine, context,
             cudaMemcpy(&entries, made->starts + rows->states, sizeof entries, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cuda_take(rows->engine, context, "the matrix of the policy", (double)entries * sizeof(int32_t),
                         &block));
    made->columns = (int32_t *)block;
    made->bytes += (double)entries * sizeof(int32_t);
    CUDA_CHECK(cuda_take(rows->engine, context, "the matrix of the policy", (double)entries * sizeof(double),
                         &block));
    made->values = (double *)block;
    made->bytes += (double)entries * sizeof(double);
    made->entries = entries;
cleanup:
    return status;
}

/* spread: NULL unless the rows have lines. */
static void start_pass(const cuda_rows *rows, const cuda_tilt *spread, const double *probabilities,
                       int32_t *heads, const int64_t *to_starts, int32_t *counts, cuda_rows *to)
{
    const unsigned blocks = cuda_blocks(rows->states, THREADS);
    if (spread != NULL) {
        average_sparse<true><<<blocks, THREADS>>>(*rows, *spread, probabilities, heads, to_starts, counts,
                                                  to->columns, to->values);
    } else {
        average_sparse<false><<<blocks, THREADS>>>(*rows, cuda_tilt{}, probabilities, heads, to_starts,
                                                   counts, to->columns, to->values);
    }
}

static nadir_status make_sparse(const cuda_rows *rows, nadir_context *context, const cuda_tilt *spread,
                                const double *probabilities, cuda_rows *made)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    const int64_t n = rows->states;
    const double work = (double)(rows->rows + n) * sizeof(int32_t);
    const double bytes = (double)(n + 1) * sizeof(int64_t);
    void *room = NULL;
    void *block = NULL;
    CUDA_CHECK(cuda_take(engine, context, "averaging over the policy", work, &room));
    CUDA_CHECK(cuda_take(engine, context, "the matrix of the policy", bytes, &block));
    made->engine = engine;
    made->bytes = bytes;
    made->states = n;
    made->rows = n;
    made->starts = (int64_t *)block;
    {
        int32_t *heads = (int32_t *)room;
        int32_t *counts = heads + rows->rows;
        start_pass(rows, spread, probabilities, heads, NULL, counts, made);
        CUDA_LAUNCHED(engine, context);
        CUDA_CHECK(cuda_starts(engine, context, n, counts, made->starts));
        CUDA_CHECK(make_entries(rows, context, made));
        start_pass(rows, spread, probabilities, heads, made->starts, NULL, made);
        CUDA_LAUNCHED(engine, context);
    }
cleanup:
    cuda_give(engine, work, room);
    return status;
}

/* Room for the transposes of M and of its lines, one made after the other: where there is none the whole is
 * better averaged elsewhere. */
static nadir_status check_room(const cuda_matrix *matrix, nadir_context *context)
{
    const double n = (double)matrix->of.states;
    const double entries = (double)matrix->of.entries;
    const double lines = (double)matrix->lines->count;
    const double bytes = 12 * entries + 24 * (n + 1) + fmax(24 * entries, 56 * lines);
    nadir_status status = NADIR_OK;
    void *block = NULL;
    if (!cuda_fits(matrix->of.engine, bytes)) { /* blocks of columns may be dropped */
        status =
            cuda_take(matrix->of.engine, context, "the transpose of the matrix of the policy", bytes, &block);
        cuda_give(matrix->of.engine, bytes, block);
    }
    return status;
}

/* M + L of the numbers of a perturbed kernel with a tail, in the places of `rows`. */
static nadir_status make_lined(const cuda_rows *rows, nadir_context *context, const cuda_numbers *numbers,
                               const double *weights, cuda_matrix *made, nadir_device_facts *facts)
{
    nadir_status status = NADIR_OK;
    const double bytes = (double)rows->states * sizeof(int32_t);
    void *places = NULL;
    cuda_tilt spread;
    CUDA_CHECK(cuda_take(rows->engine, context, "averaging over the policy", bytes, &places));
    CUDA_CHECK(cuda_lines_make(rows, context, numbers, weights, (int32_t *)places, &spread, &made->lines));
    CUDA_CHECK(make_sparse(rows, context, &spread, weights, &made->of));
    CUDA_CHECK(check_room(made, context));
    CUDA_CHECK(measure(made, context, facts));
    CUDA_CHECK(cuda_lines_measure(made->lines, context, rows, &spread, weights, facts));
cleanup:
    cuda_give(rows->engine, bytes, places);
    return status;
}

/* numbers: NULL, or those of a perturbed kernel with a tail, whose values `rows` have. */
static nadir_status average(const cuda_rows *rows, nadir_context *context, const cuda_numbers *numbers,
                            const double *probabilities, void **result, nadir_device_facts *facts)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    double *weights = NULL;
    cuda_matrix *made = (cuda_matrix *)calloc(1, sizeof *made);
    if (made == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    CUDA_CHECK(
        cuda_take(engine, context, "the policy", (double)rows->rows * sizeof(double), (void **)&weights));
    CUDA_TRY(
        engine, context,
        cudaMemcpy(weights, probabilities, (size_t)rows->rows * sizeof *weights, cudaMemcpyHostToDevice));
    if (numbers != NULL) {
        CUDA_CHECK(make_lined(rows, context, numbers, weights, made, facts));
    } else {
        CUDA_CHECK(rows->dense != NULL ? make_dense(rows, context, weights, &made->of)
                                       : make_sparse(rows, context, NULL, weights, &made->of));
        CUDA_CHECK(measure(made, context, facts));
    }
    *result = made;
    made = NULL;
cleanup:
    cuda_give(engine, (double)rows->rows * sizeof(double), weights);
    cuda_release(made);
    return status;
}

nadir_status cuda_average(void *kept, nadir_context *context, const double *probabilities, void **matrix,
                          nadir_device_facts *facts)
{
    return average((const cuda_rows *)kept, context, NULL, probabilities, matrix, facts);
}

nadir_status cuda_average_values(void *kept, nadir_context *context, const void *values,
                                 const double *probabilities, void **matrix, nadir_device_facts *facts)
{
    const cuda_numbers *numbers = (const cuda_numbers *)values;
    cuda_rows rows = *(const cuda_rows *)kept; /* a view, which owns nothing */
    *(rows.dense != NULL ? &rows.dense : &rows.values) = numbers->values;
    return average(&rows, context, numbers->omega != NULL ? numbers : NULL, probabilities, matrix, facts);
}

nadir_status cuda_upload(void *self, nadir_context *context, const nadir_device_rows *rows, void **result,
                         nadir_device_facts *facts)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = (cuda_engine *)self;
    cuda_matrix *made = (cuda_matrix *)calloc(1, sizeof *made);
    if (made == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    CUDA_CHECK(cuda_rows_copy(engine, context, rows, &made->of));
    CUDA_CHECK(measure(made, context, facts));
    *result = made;
    made = NULL;
cleanup:
    cuda_release(made);
    return status;
}

void cuda_release(void *matrix)
{
    cuda_matrix *of = (cuda_matrix *)matrix;
    if (of != NULL) {
        cuda_columns_clear(of->of.engine, &of->blocks[0]);
        cuda_columns_clear(of->of.engine, &of->blocks[1]);
        cuda_rows_clear(&of->transpose);
        cuda_rows_clear(&of->of);
        cuda_lines_clear(of->lines);
        free(of);
    }
}

nadir_status cuda_fetch(void *matrix, nadir_context *context, double *dense, int64_t *starts,
                        int32_t *columns, double *values)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *of = &((const cuda_matrix *)matrix)->of;
    const size_t entries = (size_t)of->entries;
    if (of->dense != NULL) {
        CUDA_TRY(of->engine, context,
                 cudaMemcpy(dense, of->dense, entries * sizeof *dense, cudaMemcpyDeviceToHost));
        goto cleanup;
    }
    CUDA_TRY(of->engine, context,
             cudaMemcpy(starts, of->starts, (size_t)(of->rows + 1) * sizeof *starts, cudaMemcpyDeviceToHost));
    CUDA_TRY(of->engine, context,
             cudaMemcpy(columns, of->columns, entries * sizeof *columns, cudaMemcpyDeviceToHost));
    CUDA_TRY(of->engine, context,
             cudaMemcpy(values, of->values, entries * sizeof *values, cudaMemcpyDeviceToHost));
cleanup:
    return status;
}
