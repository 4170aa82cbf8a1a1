/*
 * centred.cu: a linear step as an object, and its rows by column.
 *
 *     sums(t) = sum over rows with t of q^2 (z(t) - mean),    q = gamma y(s) alpha pi,
 *
 * which is what second_order_large.c multiplies by: the means row by row, then the sums column by column,
 * for which the rows of each column are listed once.
 */
#include "parts.h"
#include "row_rectangular.h"

#include <cmath>
#include <cstdlib>
#include <cub/device/device_radix_sort.cuh>

enum { THREADS = 256, WIDTH = 8 };

static nadir_status take(cuda_engine *engine, nadir_context *context, double bytes, void **block)
{
    return cuda_take(engine, context, "the rows of linear steps", bytes, block);
}

/* What norms other than 2 keep. */
static nadir_status open_norm(cuda_step *step, nadir_context *context)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = step->rows->engine;
    const size_t room_bytes = CUDA_THRESHOLD_ROOM * sizeof(double);
    const double level_bytes = (double)step->rows->rows * sizeof *step->levels;
    if (step->p == 1) {
        CUDA_CHECK(take(engine, context, (double)room_bytes, (void **)&step->room));
        step->found = (double *)malloc(room_bytes);
        if (step->found == NULL) {
            status = engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
        }
        goto cleanup;
    }
    CUDA_CHECK(take(engine, context, (double)step->rows->rows * sizeof(double), (void **)&step->norms));
    if (!std::isinf(step->p)) {
        CUDA_CHECK(take(engine, context, level_bytes, (void **)&step->levels));
        CUDA_TRY(engine, context, cudaMemset(step->levels, 0, (size_t)level_bytes));
    }
cleanup:
    return status;
}

/* What rectangular sets keep; for p = infinity it does not matter who shares. */
static bool is_rectangular(const nadir_device_ball *ball)
{
    return ball->shares != NADIR_DEVICE_ALL_ROWS && !std::isinf(ball->p);
}

static nadir_status open_rectangular(cuda_step *step, nadir_context *context)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = step->rows->engine;
    const double bytes = (double)step->rows->rows * sizeof *step->solutions;
    CUDA_CHECK(take(engine, context, (double)step->rows->states * sizeof(double), (void **)&step->gains));
    CUDA_CHECK(take(engine, context, bytes, (void **)&step->solutions));
    CUDA_TRY(engine, context, cudaMemset(step->solutions, 0, (size_t)bytes));
cleanup:
    return status;
}

/* What steps.cu and its neighbours make. */
static bool is_made(const cuda_rows *rows, const nadir_device_ball *ball)
{
    if (ball->shares != NADIR_DEVICE_ALL_ROWS) {
        return std::isinf(ball->p) || (rows->dense == NULL && !ball->simplex);
    }
    const bool plain = ball->p == 1 || ball->p == 2 || std::isinf(ball->p);
    return rows->dense != NULL || !ball->simplex || plain;
}

nadir_status cuda_step_open(void *kept, nadir_context *context, const nadir_device_ball *ball, void **step)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = (const cuda_rows *)kept;
    cuda_engine *engine = rows->engine;
    const size_t bytes = (size_t)rows->rows * sizeof(double);
    *step = NULL;
    if (!is_made(rows, ball)) {
        return NADIR_OK;
    }
    cuda_step *made = (cuda_step *)calloc(1, sizeof *made);
    if (made == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    made->rows = rows;
    made->gamma = ball->gamma;
    made->p = ball->p;
    made->simplex = ball->simplex;
    made->shares = ball->shares;
    CUDA_CHECK(take(engine, context, (double)bytes, (void **)&made->probabilities));
    CUDA_CHECK(take(engine, context, (double)bytes, (void **)&made->weights));
    CUDA_CHECK(take(engine, context, (double)rows->states * sizeof(double), (void **)&made->x));
    CUDA_CHECK(take(engine, context, (double)rows->states * sizeof(double), (void **)&made->d));
    CUDA_TRY(engine, context,
             cudaMemcpy(made->probabilities, ball->probabilities, bytes, cudaMemcpyHostToDevice));
    if (ball->scales != NULL) {
        CUDA_CHECK(take(engine, context, (double)bytes, (void **)&made->scales));
        CUDA_TRY(engine, context, cudaMemcpy(made->scales, ball->scales, bytes, cudaMemcpyHostToDevice));
    }
    if (is_rectangular(ball)) {
        CUDA_CHECK(open_rectangular(made, context));
    } else if (ball->p != 2) {
        CUDA_CHECK(open_norm(made, context));
    }
    if (ball->simplex && rows->dense == NULL) {
        CUDA_CHECK(cuda_spread_open(made, context));
    }
    *step = made;
    made = NULL;
cleanup:
    cuda_step_close(made);
    return status;
}

void cuda_step_close(void *self)
{
    cuda_step *step = (cuda_step *)self;
    if (step == NULL) {
        return;
    }
    const cuda_rows *rows = step->rows;
    cuda_engine *engine = rows->engine;
    const double bytes = (double)rows->rows * sizeof(double);
    cuda_spread_close(step);
    cuda_give(engine, bytes, step->probabilities);
    cuda_give(engine, bytes, step->weights);
    cuda_give(engine, bytes, step->scales);
    cuda_give(engine, bytes, step->norms);
    cuda_give(engine, (double)rows->rows * sizeof *step->levels, step->levels);
    cuda_give(engine, (double)rows->rows * sizeof *step->solutions, step->solutions);
    cuda_give(engine, (double)rows->states * sizeof(double), step->gains);
    cuda_give(engine, CUDA_THRESHOLD_ROOM * sizeof(double), step->room);
    free(step->found);
    cuda_give(engine, (double)rows->states * sizeof(double), step->x);
    cuda_give(engine, (double)rows->states * sizeof(double), step->d);
    cuda_give(engine, (double)(rows->states + 1) * sizeof(int64_t), step->column_starts);
    cuda_give(engine, (double)rows->entries * sizeof(int32_t), step->column_rows);
    cuda_give(engine, (double)rows->rows * sizeof(double2), step->pulls);
    free(step);
}

/* The row of each entry, and how many there are of each column. */
static __global__ void list_rows(cuda_rows of, int32_t *row_of, int32_t *counts)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row < of.rows) {
        for (int64_t i = of.starts[row]; i < of.starts[row + 1]; i++) {
            row_of[i] = of.values[i] > 0 ? (int32_t)row : ~(int32_t)row;
            atomicAdd(counts + of.columns[i], 1);
        }
    }
}

static nadir_status list_columns(cuda_step *step, nadir_context *context)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = step->rows;
    cuda_engine *engine = rows->engine;
    const double list_bytes = (double)rows->entries * sizeof(int32_t);
    const double count_bytes = (double)rows->states * sizeof(int32_t);
    int32_t *row_of = NULL;
    int32_t *keys = NULL;
    int32_t *counts = NULL;
    void *room = NULL;
    size_t room_bytes = 0;
    int bits = 1;
    while (bits < 31 && ((int64_t)1 << bits) < rows->states) {
        bits++;
    }
    CUDA_CHECK(take(engine, context, list_bytes, (void **)&row_of));
    CUDA_CHECK(take(engine, context, list_bytes, (void **)&keys));
    CUDA_CHECK(take(engine, context, count_bytes, (void **)&counts));
    CUDA_CHECK(take(engine, context, (double)rows->rows * sizeof(double2), (void **)&step->pulls));
    CUDA_CHECK(
        take(engine, context, (double)(rows->states + 1) * sizeof(int64_t), (void **)&step->column_starts));
    CUDA_CHECK(take(engine, context, list_bytes, (void **)&step->column_rows));
    CUDA_TRY(engine, context, cudaMemset(counts, 0, (size_t)count_bytes));
    list_rows<<<cuda_blocks(rows->rows, THREADS), THREADS>>>(*rows, row_of, counts);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_starts(engine, context, rows->states, counts, step->column_starts));
    CUDA_TRY(engine, context,
             cub::DeviceRadixSort::SortPairs(NULL, room_bytes, rows->columns, keys, row_of, step->column_rows,
                                             rows->entries, 0, bits));
    CUDA_CHECK(take(engine, context, (double)room_bytes, &room));
    CUDA_TRY(engine, context,
             cub::DeviceRadixSort::SortPairs(room, room_bytes, rows->columns, keys, row_of, step->column_rows,
                                             rows->entries, 0, bits));
cleanup:
    cuda_give(engine, list_bytes, row_of);
    cuda_give(engine, list_bytes, keys);
    cuda_give(engine, count_bytes, counts);
    cuda_give(engine, (double)room_bytes, room);
    if (status != NADIR_OK) { /* the next call begins anew */
        cuda_give(engine, (double)rows->rows * sizeof(double2), step->pulls);
        cuda_give(engine, (double)(rows->states + 1) * sizeof(int64_t), step->column_starts);
        cuda_give(engine, list_bytes, step->column_rows);
        step->pulls = NULL;
        step->column_starts = NULL;
        step->column_rows = NULL;
    }
    return status;
}

/* pulls(row) <- q, 0 */
static __global__ void weigh_rows(int64_t states, const int64_t *state_rows, double gamma,
                                  const double *probabilities, const double *scales, const double *y,
                                  double2 *pulls)
{
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s < states) {
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            const double alpha = scales != NULL ? scales[row] : 1;
            pulls[row] = make_double2(gamma * y[s] * alpha * probabilities[row], 0);
        }
    }
}

/* pulls(row) <- q^2, q^2 mean; a row of one successor cannot move. */
static __global__ void take_means(cuda_rows of, const double *z, double2 *pulls)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= of.rows) {
        return;
    }
    double sum = 0;
    double count = 0;
    for (int64_t i = of.starts[row]; i < of.starts[row + 1]; i++) {
        const bool allowed = of.values[i] > 0;
        sum += allowed ? __ldg(z + of.columns[i]) : 0;
        count += allowed ? 1 : 0;
    }
    const double q = pulls[row].x;
    const double square = count > 1 ? q * q : 0;
    pulls[row] = make_double2(square, count > 1 ? square * (sum / count) : 0);
}

static __global__ void add_columns(int64_t states, const int64_t *starts, const int32_t *rows,
                                   const double2 *pulls, const double *z, double *sums)
{
    const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t t = thread / WIDTH;
    double sum = 0;
    if (t < states) {
        for (int64_t i = starts[t] + thread % WIDTH; i < starts[t + 1]; i += WIDTH) {
            const int32_t row = __ldcs(rows + i);
            if (row >= 0) {
                const double2 pull = __ldg(pulls + row);
                sum += pull.x * z[t] - pull.y;
            }
        }
    }
    for (int step = WIDTH / 2; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, step, WIDTH);
    }
    if (t < states && thread % WIDTH == 0) {
        sums[t] = sum;
    }
}

nadir_status cuda_step_centred(void *self, nadir_context *context, const double *y, const double *z,
                               double *sums)
{
    nadir_status status = NADIR_OK;
    cuda_step *step = (cuda_step *)self;
    const cuda_rows *rows = step->rows;
    cuda_engine *engine = rows->engine;
    const int64_t n = rows->states;
    const size_t bytes = (size_t)n * sizeof(double);
    if (rows->rows > INT32_MAX || rows->entries > UINT32_MAX) {
        return engine->host->fail(context, NADIR_ERROR_UNSUPPORTED,
                                  "the device lists the columns of up to 2^31 rows and 2^32 entries");
    }
    if (step->simplex || rows->dense != NULL) {
        return engine->host->fail(context, NADIR_ERROR_UNSUPPORTED,
                                  "the device centres rows of sparse models on the domain support");
    }
    if (step->column_rows == NULL) {
        CUDA_CHECK(list_columns(step, context));
    }
    CUDA_CHECK(cuda_reserve(engine, context, 3 * n));
    {
        double *there = engine->vectors;
        CUDA_TRY(engine, context, cudaMemcpy(there, y, bytes, cudaMemcpyDefault));
        CUDA_TRY(engine, context, cudaMemcpy(there + n, z, bytes, cudaMemcpyDefault));
        weigh_rows<<<cuda_blocks(n, THREADS), THREADS>>>(
            n, rows->state_rows, step->gamma, step->probabilities, step->scales, there, step->pulls);
        take_means<<<cuda_blocks(rows->rows, THREADS), THREADS>>>(*rows, there + n, step->pulls);
        add_columns<<<cuda_blocks(n * WIDTH, THREADS), THREADS>>>(n, step->column_starts, step->column_rows,
                                                                  step->pulls, there + n, there + 2 * n);
        CUDA_LAUNCHED(engine, context);
        CUDA_TRY(engine, context, cudaMemcpy(sums, there + 2 * n, bytes, cudaMemcpyDefault));
    }
cleanup:
    return status;
}
