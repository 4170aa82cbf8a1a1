/*
 * returns.cu: the returns of many policies of one model; see base/device.h.
 *
 * One block of threads puts I - gamma P^pi of a policy together from the rows of the model, which all blocks
 * read from the cache; cuBLAS factors and solves thousands of them at once; then a block for each policy
 * looks at its v with the rows themselves. A warp takes a state: its lanes share the columns, and add up what
 * they have in a fixed order.
 */
#include "parts.h"

#include <math_constants.h>

#include <cstring>

enum { THREADS = 256, LANES = 32, WARPS = THREADS / LANES };

/* States that a block keeps the values of, at most. */
enum { STATES = 1024 };

/* Numbers that a batch may take: 2 GiB. */
#define ROOM ((int64_t)1 << 28)

/* What policies are asked for, on the device. */
typedef struct question {
    double gamma;
    const double *rewards; /* [rows] */
    const double *initial; /* [states] */
} question;

/* Room for the policies of a batch. */
typedef struct answers {
    cuda_batch batch;
    double *A;             /* [count * states * states] */
    double *x;             /* [count * states] R^pi, then v */
    double *probabilities; /* [count * rows] */
    nadir_device_return *found;
} answers;

/* A <- I - gamma P^pi, x <- R^pi. */
static __global__ void put_together(const cuda_rows P, const question of, const answers to)
{
    const int64_t n = P.states;
    const int64_t i = blockIdx.x;
    const int lane = threadIdx.x % LANES;
    const double *pi = to.probabilities + i * P.rows;
    for (int64_t s = threadIdx.x / LANES; s < n; s += WARPS) {
        double *A = to.A + (i * n + s) * n;
        const int64_t first = P.state_rows[s];
        const int64_t end = P.state_rows[s + 1];
        for (int64_t t = lane; t < n; t += LANES) {
            double sum = 0;
            for (int64_t row = first; row < end && P.dense != NULL; row++) {
                sum += pi[row] > 0 ? pi[row] * P.dense[row * n + t] : 0;
            }
            A[t] = (t == s) - of.gamma * sum;
        }
        for (int64_t row = first; row < end && P.dense == NULL; row++) {
            __syncwarp(); /* what other lanes have written before may lie in the same place */
            for (int64_t entry = P.starts[row] + lane; entry < P.starts[row + 1]; entry += LANES) {
                A[P.columns[entry]] -= of.gamma * (pi[row] * P.values[entry]);
            }
        }
        if (lane == 0) {
            double reward = 0;
            for (int64_t row = first; row < end; row++) {
                reward += pi[row] * of.rewards[row];
            }
            to.x[i * n + s] = reward;
        }
    }
    if (threadIdx.x == 0) {
        to.batch.A[i] = to.A + i * n * n;
        to.batch.x[i] = to.x + i * n;
    }
}

/* The sum of what the lanes of a warp have, the same bits for all of them. */
static __device__ double add_lanes(double sum)
{
    for (int step = LANES / 2; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    return sum;
}

/* P(.|row) . v, by a warp. */
static __device__ double multiply_row(const cuda_rows &P, int64_t row, int lane, const double *v)
{
    double sum = 0;
    if (P.dense != NULL) {
        for (int64_t t = lane; t < P.states; t += LANES) {
            sum += P.dense[row * P.states + t] * v[t];
        }
    } else {
        for (int64_t entry = P.starts[row] + lane; entry < P.starts[row + 1]; entry += LANES) {
            sum += P.values[entry] * v[P.columns[entry]];
        }
    }
    return add_lanes(sum);
}

/* The lower, and the higher, of both; a NaN stays. */
static __device__ double lower(double a, double b)
{
    return b < a || b != b ? b : a;
}

static __device__ double higher(double a, double b)
{
    return b > a || b != b ? b : a;
}

/* What is found of each policy. */
static __global__ void look(const cuda_rows P, const question of, const answers to)
{
    __shared__ double v[STATES];
    __shared__ nadir_device_return parts[WARPS];
    const int64_t n = P.states;
    const int64_t i = blockIdx.x;
    const int lane = threadIdx.x % LANES;
    const int warp = threadIdx.x / LANES;
    const double *pi = to.probabilities + i * P.rows;
    nadir_device_return own = {0, CUDART_INF, -CUDART_INF, 0};
    for (int64_t s = threadIdx.x; s < n; s += THREADS) {
        v[s] = to.x[i * n + s];
        own.mean += of.initial[s] * v[s];
    }
    own.mean = add_lanes(own.mean);
    __syncthreads();
    for (int64_t s = warp; s < n; s += WARPS) { /* all lanes have the same numbers */
        double value = 0;
        for (int64_t row = P.state_rows[s]; row < P.state_rows[s + 1]; row++) {
            if (pi[row] > 0) {
                value += pi[row] * (of.rewards[row] + of.gamma * multiply_row(P, row, lane, v));
            }
        }
        own.lowest = lower(own.lowest, value - v[s]);
        own.highest = higher(own.highest, value - v[s]);
        own.largest = higher(own.largest, fabs(v[s]));
    }
    if (lane == 0) {
        parts[warp] = own;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < WARPS; k++) {
            own.mean += parts[k].mean;
            own.lowest = lower(own.lowest, parts[k].lowest);
            own.highest = higher(own.highest, parts[k].highest);
            own.largest = higher(own.largest, parts[k].largest);
        }
        own.mean = to.batch.singular[i] == 0 ? own.mean : CUDART_NAN;
        to.found[i] = own;
    }
}

/* Numbers that a policy takes. */
static int64_t numbers_each(const cuda_rows *P)
{
    const int64_t n = P->states;
    const int64_t found = sizeof(nadir_device_return) / sizeof(double);
    return n * n + n + P->rows + found + 2 + (n + 2) / 2;
}

/* What a batch of policies works with, cut from `room`. */
static answers cut(const cuda_rows *P, int64_t count, double *room)
{
    const int64_t n = P->states;
    answers made;
    made.A = room;
    made.x = made.A + count * n * n;
    made.probabilities = made.x + count * n;
    made.found = (nadir_device_return *)(made.probabilities + count * P->rows);
    made.batch.size = n;
    made.batch.count = count;
    made.batch.A = (double **)(made.found + count);
    made.batch.x = made.batch.A + count;
    made.batch.singular = (int *)(made.batch.x + count);
    made.batch.pivots = made.batch.singular + count;
    return made;
}

/* How many policies are taken at once: as many as fit, one if need be. */
static int64_t fitting(const cuda_engine *engine, int64_t shared, int64_t each, int64_t count)
{
    int64_t most = ROOM / each + 1 < count ? ROOM / each + 1 : count;
    while (most > 1 &&
           !cuda_fits(engine, (double)(shared + most * each - engine->capacity) * (double)sizeof(double))) {
        most = (most + 1) / 2;
    }
    return most;
}

static nadir_status evaluate(const cuda_rows *P, nadir_context *context, const question *of,
                             const answers *to, const double *probabilities, nadir_device_return *found)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = P->engine;
    const unsigned blocks = (unsigned)to->batch.count;
    CUDA_TRY(engine, context,
             cudaMemcpy(to->probabilities, probabilities,
                        (size_t)(to->batch.count * P->rows) * sizeof *probabilities, cudaMemcpyHostToDevice));
    put_together<<<blocks, THREADS>>>(*P, *of, *to);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_batch_solve(engine, context, &to->batch));
    look<<<blocks, THREADS>>>(*P, *of, *to);
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(engine, context,
             cudaMemcpy(found, to->found, (size_t)to->batch.count * sizeof *found, cudaMemcpyDeviceToHost));
cleanup:
    return status;
}

nadir_status cuda_returns(void *kept, nadir_context *context, const nadir_device_returns *returns,
                          int64_t count, const double *probabilities, nadir_device_return *found)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *P = (const cuda_rows *)kept;
    cuda_engine *engine = P->engine;
    const int64_t shared = P->rows + P->states;
    const int64_t each = numbers_each(P);
    const int64_t most = fitting(engine, shared, each, count);
    question of;
    if (P->states > STATES) {
        return engine->host->fail(context, NADIR_ERROR_UNSUPPORTED,
                                  "batches of policies are for models of at most %d states", STATES);
    }
    CUDA_CHECK(cuda_reserve(engine, context, shared + most * each));
    of.gamma = returns->gamma;
    of.rewards = engine->vectors;
    of.initial = engine->vectors + P->rows;
    CUDA_TRY(engine, context,
             cudaMemcpy(engine->vectors, returns->rewards, (size_t)P->rows * sizeof(double),
                        cudaMemcpyHostToDevice));
    CUDA_TRY(engine, context,
             cudaMemcpy(engine->vectors + P->rows, returns->initial, (size_t)P->states * sizeof(double),
                        cudaMemcpyHostToDevice));
    for (int64_t done = 0; done < count; done += most) {
        const answers to = cut(P, count - done < most ? count - done : most, engine->vectors + shared);
        CUDA_CHECK(evaluate(P, context, &of, &to, probabilities + done * P->rows, found + done));
        CUDA_CHECK(engine->host->progress(context, CUDA_TASK, -1));
    }
cleanup:
    return status;
}
