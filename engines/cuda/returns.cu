/*
 * returns.cu: the returns of many policies of one model; see core/device.h.
 *
 * One block of threads puts I - gamma P^pi of a policy together from the rows of the model, which all blocks
 * read from the cache; cuBLAS factors and solves thousands of them at once; then a block for each policy
 * looks at its v with the rows themselves. A warp takes a state: its lanes share the columns, and add up what
 * they have in a fixed order.
 */
#include "engine.h"
#include "reduce.h"

#include <math_constants.h>

enum { THREADS = 256, LANES = 32, WARPS = THREADS / LANES };

enum { STATES = 1024 }; /* that a block keeps the values of, at most */
/* Numbers that a batch may take: 2 GiB. */
#define ROOM ((int64_t)1 << 28)

/* What the returns are made of, on the device. */
typedef struct discounted {
    double gamma;
    const double *rewards; /* [rows] */
    const double *initial; /* [states] */
} discounted;

/* A batch of policies. */
typedef struct batch {
    int64_t count;
    double *A;             /* [count * states * states] row after row; then the factors */
    double *x;             /* [count * states] R^pi, then v */
    double *probabilities; /* [count * rows] */
    double **A_of, **x_of; /* [count] those of each policy */
    int *pivots;           /* [count * states] */
    int *singular;         /* [count] 0: it is not, and x is the solution */
    nadir_device_return *found;
} batch;

/* A <- I - gamma P^pi, x <- R^pi. */
static __global__ void assemble(const cuda_rows P, const discounted model, const batch to)
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
            A[t] = (t == s) - model.gamma * sum;
        }
        for (int64_t row = first; row < end && P.dense == NULL; row++) {
            __syncwarp(); /* what other lanes have written before may lie in the same place */
            for (int64_t entry = P.starts[row] + lane; entry < P.starts[row + 1]; entry += LANES) {
                A[P.columns[entry]] -= model.gamma * (pi[row] * P.values[entry]);
            }
        }
        if (lane == 0) {
            double reward = 0;
            for (int64_t row = first; row < end; row++) {
                reward += pi[row] * model.rewards[row];
            }
            to.x[i * n + s] = reward;
        }
    }
    if (threadIdx.x == 0) {
        to.A_of[i] = to.A + i * n * n;
        to.x_of[i] = to.x + i * n;
    }
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
    return cuda_over_warp(sum);
}

/* The lower of both; a NaN stays. */
static __device__ double lower(double a, double b)
{
    return b < a || b != b ? b : a;
}

/* What is found of each policy. */
static __global__ void evaluate(const cuda_rows P, const discounted model, const batch to)
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
        own.mean += model.initial[s] * v[s];
    }
    own.mean = cuda_over_warp(own.mean);
    __syncthreads();
    for (int64_t s = warp; s < n; s += WARPS) { /* all lanes have the same numbers */
        double value = 0;
        for (int64_t row = P.state_rows[s]; row < P.state_rows[s + 1]; row++) {
            if (pi[row] > 0) {
                value += pi[row] * (model.rewards[row] + model.gamma * multiply_row(P, row, lane, v));
            }
        }
        own.lowest = lower(own.lowest, value - v[s]);
        own.highest = cuda_larger(own.highest, value - v[s]);
        own.largest = cuda_larger(own.largest, fabs(v[s]));
    }
    if (lane == 0) {
        parts[warp] = own;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < WARPS; k++) {
            own.mean += parts[k].mean;
            own.lowest = lower(own.lowest, parts[k].lowest);
            own.highest = cuda_larger(own.highest, parts[k].highest);
            own.largest = cuda_larger(own.largest, parts[k].largest);
        }
        own.mean = to.singular[i] == 0 ? own.mean : CUDART_NAN;
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

/* The arrays of a batch in the workspace. */
static batch lay_out(const cuda_rows *P, int64_t count, double *room)
{
    const int64_t n = P->states;
    batch made;
    made.count = count;
    made.A = room;
    made.x = made.A + count * n * n;
    made.probabilities = made.x + count * n;
    made.found = (nadir_device_return *)(made.probabilities + count * P->rows);
    made.A_of = (double **)(made.found + count);
    made.x_of = made.A_of + count;
    made.singular = (int *)(made.x_of + count);
    made.pivots = made.singular + count;
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

static nadir_status run_batch(const cuda_rows *P, nadir_context *context, const discounted *model,
                              const batch *to, const double *probabilities, nadir_device_return *found)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = P->engine;
    const int count = (int)to->count;
    const int n = (int)P->states;
    int wrong = 0;
    CUDA_CHECK(cuda_copy(engine, context, count * P->rows, probabilities, to->probabilities));
    assemble<<<(unsigned)count, THREADS>>>(*P, *model, *to);
    CUDA_LAUNCHED(engine, context);
    CUDA_LIBRARY(engine, context,
                 cublasDgetrfBatched(engine->blas, n, to->A_of, n, to->pivots, to->singular, count));
    /* rows of A are columns of what cuBLAS sees */
    CUDA_LIBRARY(engine, context,
                 cublasDgetrsBatched(engine->blas, CUBLAS_OP_T, n, 1, (const double *const *)to->A_of, n,
                                     to->pivots, to->x_of, n, &wrong, count));
    evaluate<<<(unsigned)count, THREADS>>>(*P, *model, *to);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_copy(engine, context, count, to->found, found));
cleanup:
    return status;
}

static nadir_status policy_returns(void *self, nadir_context *context, const nadir_device_returns *returns,
                                   int64_t count, const double *probabilities, nadir_device_return *found)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *P = (const cuda_rows *)self;
    cuda_engine *engine = P->engine;
    const int64_t shared = P->rows + P->states;
    const int64_t each = numbers_each(P);
    const int64_t most = fitting(engine, shared, each, count);
    discounted model;
    if (P->states > STATES) {
        return engine->host->fail(context, NADIR_ERROR_UNSUPPORTED,
                                  "batches of policies are for models of at most %d states", STATES);
    }
    CUDA_CHECK(cuda_reserve(engine, context, shared + most * each));
    model = {returns->gamma, engine->workspace, engine->workspace + P->rows};
    CUDA_CHECK(cuda_copy(engine, context, P->rows, returns->rewards, engine->workspace));
    CUDA_CHECK(cuda_copy(engine, context, P->states, returns->initial, engine->workspace + P->rows));
    for (int64_t done = 0; done < count; done += most) {
        const batch to = lay_out(P, count - done < most ? count - done : most, engine->workspace + shared);
        CUDA_CHECK(run_batch(P, context, &model, &to, probabilities + done * P->rows, found + done));
        CUDA_CHECK(engine->host->progress(context, CUDA_TASK, -1));
    }
cleanup:
    return status;
}

void cuda_returns_enter(nadir_device *table)
{
    table->policy_returns = policy_returns;
}
