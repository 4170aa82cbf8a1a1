/* lines_make.cu: lines averaged over a policy on the device, and what is known of them; see lines.h. */
#include "lines.h"

#include "reduce.h"

#include <cstdlib>

enum { THREADS = CUDA_REDUCE_THREADS, BLOCKS = 512, FOUND = 4 };

void cuda_lines_clear(cuda_lines *lines)
{
    if (lines == NULL) {
        return;
    }
    const double states = (double)lines->states;
    const double count = (double)lines->count;
    cuda_engine *engine = lines->engine;
    cuda_give(engine, states * sizeof(double), lines->x);
    cuda_give(engine, states * sizeof(int32_t), lines->order);
    cuda_give(engine, (states + 1) * sizeof(int64_t), lines->starts);
    cuda_give(engine, count * sizeof(int32_t), lines->columns);
    cuda_give(engine, count * sizeof(double), lines->last);
    cuda_give(engine, count * sizeof(double), lines->slope);
    cuda_give(engine, 2 * states * sizeof(double2), lines->sums);
    cuda_give(engine, cuda_lines_room(lines->states > lines->count ? lines->states : lines->count),
              lines->totals);
    cuda_rows_clear(&lines->turned);
    cuda_give(engine, count * sizeof(double), lines->turned_slope);
    cuda_give(engine, count * sizeof(int32_t), lines->turned_columns);
    free(lines);
}

static nadir_status take(cuda_lines *lines, nadir_context *context, double bytes, void **block)
{
    const nadir_status status =
        cuda_take(lines->engine, context, "the lines of the policy's kernel", bytes, block);
    lines->bytes += status == NADIR_OK ? bytes : 0;
    return status;
}

/* Along the order: x, and the place of each state. */
static __global__ void look_along(int64_t states, const double *x, const int32_t *order, double *along,
                                  int32_t *places)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < states) {
        along[i] = x[order[i]];
        places[order[i]] = (int32_t)i;
    }
}

static __global__ void count_lines(cuda_rows rows, cuda_tilt of, const double *weights, int32_t *counts)
{
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s < rows.states) {
        int32_t count = 0;
        for (int64_t row = rows.state_rows[s]; row < rows.state_rows[s + 1]; row++) {
            count += weights[row] > 0 && of.length[row] > 0;
        }
        counts[s] = count;
    }
}

static __global__ void fill_lines(cuda_rows rows, cuda_tilt of, const double *weights, cuda_lines to)
{
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s < rows.states) {
        int64_t at = to.starts[s];
        for (int64_t row = rows.state_rows[s]; row < rows.state_rows[s + 1]; row++) {
            const double weight = weights[row];
            if (weight > 0 && of.length[row] > 0) {
                const cuda_line line = cuda_line_of(&of, row);
                to.columns[at] = line.length - 1;
                to.last[at] = weight * line.last;
                to.slope[at] = weight * line.slope;
                at++;
            }
        }
    }
}

/* starts, and room for as many lines as there are. */
static nadir_status make_room(const cuda_rows *rows, nadir_context *context, const cuda_tilt *spread,
                              const double *weights, int32_t *counts, cuda_lines *lines)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    const int64_t n = rows->states;
    count_lines<<<cuda_blocks(n, THREADS), THREADS>>>(*rows, *spread, weights, counts);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_starts(engine, context, n, counts, lines->starts));
    CUDA_TRY(engine, context,
             cudaMemcpy(&lines->count, lines->starts + n, sizeof lines->count, cudaMemcpyDeviceToHost));
    CUDA_CHECK(take(lines, context, (double)lines->count * sizeof(int32_t), (void **)&lines->columns));
    CUDA_CHECK(take(lines, context, (double)lines->count * sizeof(double), (void **)&lines->last));
    CUDA_CHECK(take(lines, context, (double)lines->count * sizeof(double), (void **)&lines->slope));
    CUDA_CHECK(take(lines, context, 2 * (double)n * sizeof(double2), &lines->sums));
    CUDA_CHECK(take(lines, context, cuda_lines_room(n > lines->count ? n : lines->count), &lines->totals));
cleanup:
    return status;
}

nadir_status cuda_lines_make(const cuda_rows *rows, nadir_context *context, const cuda_numbers *numbers,
                             const double *weights, int32_t *places, cuda_tilt *spread, cuda_lines **lines)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = rows->engine;
    const int64_t n = rows->states;
    const unsigned blocks = cuda_blocks(n, THREADS);
    void *counts = NULL;
    cuda_lines *made = (cuda_lines *)calloc(1, sizeof *made);
    if (made == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    made->engine = engine;
    made->states = n;
    CUDA_CHECK(take(made, context, (double)n * sizeof(double), (void **)&made->x));
    CUDA_CHECK(take(made, context, (double)n * sizeof(int32_t), (void **)&made->order));
    CUDA_CHECK(take(made, context, (double)(n + 1) * sizeof(int64_t), (void **)&made->starts));
    CUDA_TRY(engine, context,
             cudaMemcpy(made->order, numbers->order, (size_t)n * sizeof(int32_t), cudaMemcpyDeviceToDevice));
    look_along<<<blocks, THREADS>>>(n, numbers->x, made->order, made->x, places);
    CUDA_LAUNCHED(engine, context);
    *spread = {numbers->omega, numbers->slope, numbers->amount, numbers->length,
               numbers->extra, numbers->x,     places,          made->x};
    CUDA_CHECK(cuda_take(engine, context, "averaging over the policy", (double)n * sizeof(int32_t), &counts));
    CUDA_CHECK(make_room(rows, context, spread, weights, (int32_t *)counts, made));
    fill_lines<<<blocks, THREADS>>>(*rows, *spread, weights, *made);
    CUDA_LAUNCHED(engine, context);
    *lines = made;
    made = NULL;
cleanup:
    cuda_give(engine, (double)n * sizeof(int32_t), counts);
    cuda_lines_clear(made);
    return status;
}

/* Sizes of a row; see nadir_perturbed_measure. */
typedef struct row_size {
    double largest, terms;
} row_size;

static __device__ row_size measure_row(const cuda_rows *rows, const cuda_tilt *of, const double *moments,
                                       int64_t row)
{
    const cuda_line line = cuda_line_of(of, row);
    const cuda_line size = {line.length, fabs(line.last), fabs(line.slope), line.x_last};
    double own = 0;
    double own_size = 0;
    double sizes = 0;
    for (int64_t i = rows->starts[row]; i < rows->starts[row + 1]; i++) {
        sizes += fabs(rows->values[i]);
        own += cuda_line_under(of, &line, rows->columns[i]);
        own_size += cuda_line_under(of, &size, rows->columns[i]);
    }
    const double moment = line.length > 0 ? moments[line.length - 1] : 0;
    const double all = line.last * line.length + line.slope * moment;
    const double all_size = size.last * line.length + size.slope * moment;
    const double first = line.last + line.slope * (line.x_last - of->along[0]);
    const double others = line.last * first >= 0 ? fabs(all - own) : fabs(all_size - own_size);
    double amount = 0;
    double more = 0; /* that the amount adds to the size of its entry */
    if (of->extra[row] >= 0) {
        const double below = cuda_line_under(of, &line, of->extra[row]);
        amount = of->amount[row];
        more = fabs(below + amount) - fabs(below);
    }
    return {sizes + others + more, sizes + own_size + all_size + fabs(amount)};
}

/* Each block leaves, of its states, the largest norm, terms and number of lines, and the sum of the lengths
 * of the longest. rows: with the numbers of the perturbed kernel. */
static __global__ void __launch_bounds__(THREADS)
    measure_states(cuda_rows rows, cuda_tilt of, const double *weights, const double *moments,
                   cuda_lines lines, double *partials)
{
    double found[FOUND] = {};
    for (int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x; s < rows.states;
         s += (int64_t)BLOCKS * THREADS) {
        double norm = 0;
        double terms = 0;
        int32_t longest = 0; /* shorter ones lie within it */
        for (int64_t row = rows.state_rows[s]; row < rows.state_rows[s + 1]; row++) {
            if (weights[row] > 0) {
                const row_size size = measure_row(&rows, &of, moments, row);
                norm += weights[row] * size.largest;
                terms += weights[row] * size.terms;
                longest = max(longest, of.length[row]);
            }
        }
        found[0] = cuda_join(true, found[0], norm);
        found[1] = cuda_join(true, found[1], terms);
        found[2] = cuda_join(true, found[2], (double)(lines.starts[s + 1] - lines.starts[s]));
        found[3] += longest;
    }
    for (int k = 0; k < FOUND; k++) {
        const double all = cuda_over_block(k < 3, found[k]);
        if (threadIdx.x == 0) {
            partials[k * BLOCKS + blockIdx.x] = all;
        }
    }
}

static __global__ void join_blocks(double *partials)
{
    for (int k = 0; k < FOUND; k++) {
        const double all = cuda_over_blocks(k < 3, BLOCKS, partials + k * BLOCKS);
        if (threadIdx.x == 0) {
            partials[k * BLOCKS] = all;
        }
    }
}

nadir_status cuda_lines_measure(cuda_lines *lines, nadir_context *context, const cuda_rows *rows,
                                const cuda_tilt *spread, const double *weights, nadir_device_facts *facts)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = lines->engine;
    double found[FOUND];
    CUDA_CHECK(cuda_reserve(engine, context, lines->states));
    CUDA_CHECK(cuda_lines_moments(lines, context, engine->vectors));
    measure_states<<<BLOCKS, THREADS>>>(*rows, *spread, weights, engine->vectors, *lines, engine->partials);
    join_blocks<<<1, THREADS>>>(engine->partials);
    CUDA_LAUNCHED(engine, context);
    for (int k = 0; k < FOUND; k++) {
        CUDA_TRY(engine, context,
                 cudaMemcpy(&found[k], engine->partials + k * BLOCKS, sizeof *found, cudaMemcpyDeviceToHost));
    }
    facts->norm = found[0];
    facts->bytes += (int64_t)lines->bytes;
    facts->tail.there = true;
    facts->tail.terms = found[1];
    facts->tail.written = (int64_t)found[3];
    facts->tail.count = lines->count;
    lines->most = (int64_t)found[2];
cleanup:
    return status;
}

static __global__ void number_lines(int64_t count, double *numbers)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        numbers[i] = (double)i;
    }
}

/* turned.values are numbers of lines, and become their `last`. */
static __global__ void follow_lines(cuda_lines of)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < of.count) {
        const int64_t line = (int64_t)of.turned.values[i];
        of.turned.values[i] = of.last[line];
        of.turned_slope[i] = of.slope[line];
        of.turned_columns[i] = of.columns[line];
    }
}

nadir_status cuda_lines_turn(cuda_lines *lines, nadir_context *context)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = lines->engine;
    const unsigned blocks = cuda_blocks(lines->count, THREADS);
    const double bytes = (double)lines->count * sizeof(double);
    double *numbers = NULL;
    cuda_matrix view = {};             /* of places by state */
    if (lines->turned_slope == NULL) { /* an earlier try may have come so far */
        CUDA_CHECK(cuda_take(engine, context, "the lines of the policy's kernel", bytes,
                             (void **)&lines->turned_slope));
    }
    if (lines->turned_columns == NULL) {
        CUDA_CHECK(cuda_take(engine, context, "the lines of the policy's kernel", bytes / 2,
                             (void **)&lines->turned_columns));
    }
    CUDA_CHECK(cuda_take(engine, context, "transposing the matrix of the policy", bytes, (void **)&numbers));
    number_lines<<<blocks, THREADS>>>(lines->count, numbers);
    CUDA_LAUNCHED(engine, context);
    view.of.engine = engine;
    view.of.states = lines->states;
    view.of.rows = lines->states;
    view.of.entries = lines->count;
    view.of.starts = lines->starts;
    view.of.columns = lines->columns;
    view.of.values = numbers;
    CUDA_CHECK(cuda_transpose(&view, context));
    lines->turned = view.transpose;
    follow_lines<<<blocks, THREADS>>>(*lines);
    CUDA_LAUNCHED(engine, context);
cleanup:
    cuda_give(engine, bytes, numbers);
    return status;
}

nadir_status cuda_fetch_lines(const void *matrix, nadir_context *context, const nadir_device_tail *to)
{
    nadir_status status = NADIR_OK;
    const cuda_lines *of = ((const cuda_matrix *)matrix)->lines;
    const size_t n = (size_t)of->states;
    const size_t count = (size_t)of->count;
    const struct {
        void *to;
        const void *from;
        size_t bytes;
    } arrays[] = {
        {to->x, of->x, n * sizeof *to->x},
        {to->order, of->order, n * sizeof *to->order},
        {to->starts, of->starts, (n + 1) * sizeof *to->starts},
        {to->columns, of->columns, count * sizeof *to->columns},
        {to->last, of->last, count * sizeof *to->last},
        {to->slope, of->slope, count * sizeof *to->slope},
    };
    for (const auto &array : arrays) {
        CUDA_TRY(of->engine, context, cudaMemcpy(array.to, array.from, array.bytes, cudaMemcpyDeviceToHost));
    }
cleanup:
    return status;
}
