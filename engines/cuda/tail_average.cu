/* tail_average.cu: off-support tails averaged over a policy on the device, and what is known of them. */
#include "offsupport_tail.h"
#include "reduce.h"
#include "sorted_states.h"

enum { THREADS = CUDA_REDUCE_THREADS, BLOCKS = 512, FOUND = 4 };

static const char *const what = "the lines of the policy's kernel";

void cuda_tail_free(cuda_tail *tail)
{
    if (tail != NULL) {
        cuda_pool_free(&tail->memory);
        cuda_pool_free(&tail->transpose_memory);
        cuda_rows_clear(&tail->transpose);
        free(tail);
    }
}

/* Along the order: x, and the rank of each state. */
static __global__ void sort_along(int64_t states, const double *x, const int32_t *order, double *sorted,
                                  int32_t *ranks)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < states) {
        sorted[i] = x[order[i]];
        ranks[order[i]] = (int32_t)i;
    }
}

static __global__ void count_segments(cuda_rows rows, cuda_tail_rows tails, const double *weights,
                                      int32_t *counts)
{
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s < rows.states) {
        int32_t count = 0;
        for (int64_t row = rows.state_rows[s]; row < rows.state_rows[s + 1]; row++) {
            count += weights[row] > 0 && tails.length[row] > 0;
        }
        counts[s] = count;
    }
}

static __global__ void fill_segments(cuda_rows rows, cuda_tail_rows tails, const double *weights,
                                     cuda_tail to)
{
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s < rows.states) {
        int64_t at = to.starts[s];
        for (int64_t row = rows.state_rows[s]; row < rows.state_rows[s + 1]; row++) {
            const double weight = weights[row];
            if (weight > 0 && tails.length[row] > 0) {
                const cuda_tail_segment line = cuda_tail_of_row(&tails, row);
                to.columns[at] = line.length - 1;
                to.last[at] = weight * line.last;
                to.slope[at] = weight * line.slope;
                at++;
            }
        }
    }
}

/* starts, and room for as many segments as there are. */
static nadir_status count_all(const cuda_rows *rows, nadir_context *context, const cuda_tail_rows *tails,
                              const double *weights, cuda_tail *tail)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    const int64_t n = rows->states;
    cuda_pool work = {engine, "averaging over the policy"};
    int32_t *counts = NULL;
    CUDA_CHECK(cuda_new(&work, context, n, &counts));
    count_segments<<<cuda_blocks(n, THREADS), THREADS>>>(*rows, *tails, weights, counts);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_starts(engine, context, n, counts, tail->starts));
    CUDA_CHECK(cuda_copy(engine, context, 1, tail->starts + n, &tail->count));
    CUDA_CHECK(cuda_new(&tail->memory, context, tail->count, &tail->columns));
    CUDA_CHECK(cuda_new(&tail->memory, context, tail->count, &tail->last));
    CUDA_CHECK(cuda_new(&tail->memory, context, tail->count, &tail->slope));
    CUDA_CHECK(cuda_tail_make_room(tail, context));
cleanup:
    cuda_pool_free(&work);
    return status;
}

nadir_status cuda_tail_make(const cuda_rows *rows, nadir_context *context, const cuda_perturbed *perturbed,
                            const double *weights, int32_t *ranks, cuda_tail_rows *tails, cuda_tail **tail)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    const int64_t n = rows->states;
    const unsigned blocks = cuda_blocks(n, THREADS);
    cuda_tail *made = NULL;
    CUDA_CHECK(cuda_object(engine, context, &made));
    made->engine = engine;
    made->states = n;
    made->memory = {engine, what};
    made->transpose_memory = {engine, what};
    CUDA_CHECK(cuda_new(&made->memory, context, n, &made->x));
    CUDA_CHECK(cuda_new(&made->memory, context, n, &made->order));
    CUDA_CHECK(cuda_new(&made->memory, context, n + 1, &made->starts));
    CUDA_CHECK(cuda_copy(engine, context, n, perturbed->order, made->order));
    sort_along<<<blocks, THREADS>>>(n, perturbed->x, made->order, made->x, ranks);
    CUDA_LAUNCHED(engine, context);
    *tails = {perturbed->omega,
              perturbed->slope,
              perturbed->amount,
              perturbed->length,
              perturbed->extra,
              perturbed->x,
              ranks,
              made->x};
    CUDA_CHECK(count_all(rows, context, tails, weights, made));
    fill_segments<<<blocks, THREADS>>>(*rows, *tails, weights, *made);
    CUDA_LAUNCHED(engine, context);
    *tail = made;
    made = NULL;
cleanup:
    cuda_tail_free(made);
    return status;
}

/* Sizes of a row; see nadir_perturbed_measure. */
typedef struct row_size {
    double largest, terms;
} row_size;

static __device__ row_size measure_row(const cuda_rows *rows, const cuda_tail_rows *tails,
                                       const double *moments, int64_t row)
{
    const cuda_tail_segment line = cuda_tail_of_row(tails, row);
    const cuda_tail_segment size = {line.length, fabs(line.last), fabs(line.slope), line.x_last};
    double own = 0;
    double own_size = 0;
    double sizes = 0;
    for (int64_t i = rows->starts[row]; i < rows->starts[row + 1]; i++) {
        sizes += fabs(rows->values[i]);
        own += cuda_tail_value(tails, &line, rows->columns[i]);
        own_size += cuda_tail_value(tails, &size, rows->columns[i]);
    }
    const double moment = line.length > 0 ? moments[line.length - 1] : 0;
    const double all = line.last * line.length + line.slope * moment;
    const double all_size = size.last * line.length + size.slope * moment;
    const double first = line.last + line.slope * (line.x_last - tails->sorted[0]);
    const double others = line.last * first >= 0 ? fabs(all - own) : fabs(all_size - own_size);
    double amount = 0;
    double more = 0; /* that the amount adds to the size of its entry */
    if (tails->extra[row] >= 0) {
        const double below = cuda_tail_value(tails, &line, tails->extra[row]);
        amount = tails->amount[row];
        more = fabs(below + amount) - fabs(below);
    }
    return {sizes + others + more, sizes + own_size + all_size + fabs(amount)};
}

/* Each block leaves, of its states, the largest norm, terms and number of segments, and the sum of the lengths
 * of the longest. rows: with the numbers of the perturbed kernel. */
static __global__ void __launch_bounds__(THREADS)
    measure_states(cuda_rows rows, cuda_tail_rows tails, const double *weights, const double *moments,
                   cuda_tail tail, double *partials)
{
    double found[FOUND] = {};
    for (int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x; s < rows.states;
         s += (int64_t)BLOCKS * THREADS) {
        double norm = 0;
        double terms = 0;
        int32_t longest = 0; /* shorter ones lie within it */
        for (int64_t row = rows.state_rows[s]; row < rows.state_rows[s + 1]; row++) {
            if (weights[row] > 0) {
                const row_size size = measure_row(&rows, &tails, moments, row);
                norm += weights[row] * size.largest;
                terms += weights[row] * size.terms;
                longest = max(longest, tails.length[row]);
            }
        }
        found[0] = cuda_join(true, found[0], norm);
        found[1] = cuda_join(true, found[1], terms);
        found[2] = cuda_join(true, found[2], (double)(tail.starts[s + 1] - tail.starts[s]));
        found[3] += longest;
    }
    for (int k = 0; k < FOUND; k++) {
        cuda_leave(k < 3, found[k], partials + k * BLOCKS);
    }
}

nadir_status cuda_tail_measure(cuda_tail *tail, nadir_context *context, const cuda_rows *rows,
                               const cuda_tail_rows *tails, const double *weights, nadir_device_facts *facts)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = tail->engine;
    double parts[FOUND * BLOCKS];
    double found[FOUND] = {};
    CUDA_CHECK(cuda_reserve(engine, context, tail->states));
    CUDA_CHECK(cuda_moments(engine, context, tail->states, tail->x, engine->workspace, NULL));
    measure_states<<<BLOCKS, THREADS>>>(*rows, *tails, weights, engine->workspace, *tail, engine->partials);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_copy(engine, context, FOUND * BLOCKS, engine->partials, parts));
    for (int i = 0; i < FOUND * BLOCKS; i++) {
        double *all = &found[i / BLOCKS];
        *all = i / BLOCKS < 3 ? cuda_larger(*all, parts[i]) : *all + parts[i];
    }
    facts->norm = found[0];
    facts->bytes += (int64_t)tail->memory.bytes;
    facts->tail = {.there = true, .count = tail->count, .written = (int64_t)found[3], .terms = found[1]};
    tail->most = (int64_t)found[2];
cleanup:
    return status;
}

static __global__ void number_segments(int64_t count, double *numbers)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        numbers[i] = (double)i;
    }
}

/* transpose.values are numbers of segments, and become their `last`. */
static __global__ void gather_segments(cuda_tail tail)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < tail.count) {
        const int64_t line = (int64_t)tail.transpose.values[i];
        tail.transpose.values[i] = tail.last[line];
        tail.transpose_slope[i] = tail.slope[line];
        tail.transpose_columns[i] = tail.columns[line];
    }
}

nadir_status cuda_tail_transpose(cuda_tail *tail, nadir_context *context)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = tail->engine;
    const unsigned blocks = cuda_blocks(tail->count, THREADS);
    cuda_pool work = {engine, "transposing the matrix of the policy"};
    double *numbers = NULL;
    cuda_matrix view = {}; /* of places by state */
    cuda_pool_free(&tail->transpose_memory);
    CUDA_CHECK(cuda_new(&tail->transpose_memory, context, tail->count, &tail->transpose_slope));
    CUDA_CHECK(cuda_new(&tail->transpose_memory, context, tail->count, &tail->transpose_columns));
    CUDA_CHECK(cuda_new(&work, context, tail->count, &numbers));
    number_segments<<<blocks, THREADS>>>(tail->count, numbers);
    CUDA_LAUNCHED(engine, context);
    view.rows.engine = engine;
    view.rows.states = tail->states;
    view.rows.rows = tail->states;
    view.rows.entries = tail->count;
    view.rows.starts = tail->starts;
    view.rows.columns = tail->columns;
    view.rows.values = numbers;
    CUDA_CHECK(cuda_transpose(&view, context));
    tail->transpose = view.transpose;
    gather_segments<<<blocks, THREADS>>>(*tail);
    CUDA_LAUNCHED(engine, context);
cleanup:
    cuda_pool_free(&work);
    return status;
}

static nadir_status download(const void *matrix, nadir_context *context, const nadir_device_tail *to)
{
    nadir_status status = NADIR_OK;
    const cuda_tail *tail = ((const cuda_matrix *)matrix)->tail;
    CUDA_CHECK(cuda_copy(tail->engine, context, tail->states, tail->x, to->x));
    CUDA_CHECK(cuda_copy(tail->engine, context, tail->states, tail->order, to->order));
    CUDA_CHECK(cuda_copy(tail->engine, context, tail->states + 1, tail->starts, to->starts));
    CUDA_CHECK(cuda_copy(tail->engine, context, tail->count, tail->columns, to->columns));
    CUDA_CHECK(cuda_copy(tail->engine, context, tail->count, tail->last, to->last));
    CUDA_CHECK(cuda_copy(tail->engine, context, tail->count, tail->slope, to->slope));
cleanup:
    return status;
}

void cuda_tail_enter(nadir_device *table)
{
    table->tail_download = download;
    table->tail_roundings = cuda_tail_roundings;
}
