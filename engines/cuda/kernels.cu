/*
 * kernels.cu: the returns of many random kernels around M; see base/device.h.
 *
 * One thread draws one sample, with the processor's bits, and adds up Delta^pi while it draws: of a row x
 * with mean m it is pi alpha (x - m), whose squares sum to x.x - S m^2. Numbers of one place lie side by side
 * for all samples, so that threads write together. Then I - gamma P^pi is put where cuBLAS factors many at
 * once.
 */
#include "parts.h"

#define NADIR_DRAW static __device__ inline
#include "base/random_draw.h"

#include <cfloat>
#include <cstring>

enum { THREADS = 128 };
/* Numbers that a block of samples may take. */
#define ROOM ((int64_t)1 << 28)

/* What samples are drawn with, on the device. */
typedef struct sampling {
    int64_t n;
    double gamma, beta;
    uint64_t key;
    const int64_t *state_rows;
    const double *probabilities, *scales, *rewards, *initial;
} sampling;

/* Room for the samples of a block. */
typedef struct samples {
    int64_t count;
    double *delta;   /* [n * n * count] number j of sample i: j * count + i; not centred */
    double *means;   /* [n * count] what is to be taken from the numbers of each state */
    double *lengths; /* [count] beta / |Delta| */
    double *A;       /* [count * n * n] */
    double *x;       /* [count * n] R^pi, then v */
    double **A_of, **x_of;
    int *pivots; /* [count * n] */
    int *singular;
    double *returns; /* [count] */
} samples;

static __global__ void draw(const sampling of, const samples to, int64_t first)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t n = of.n;
    double square = 0;
    nadir_random random;
    if (i >= to.count) {
        return;
    }
    nadir_draw_seed(&random, of.key + (uint64_t)(first + i));
    for (int64_t s = 0; s < n; s++) {
        double *delta = to.delta + s * n * to.count + i;
        double taken = 0;
        for (int64_t t = 0; t < n; t++) {
            delta[t * to.count] = 0;
        }
        for (int64_t row = of.state_rows[s]; row < of.state_rows[s + 1]; row++) {
            const double scale = of.scales[row];
            const double weight = of.probabilities[row] * scale;
            double sum = 0;
            double squares = 0;
            for (int64_t t = 0; t < n && scale != 0; t++) {
                const double x = nadir_draw_normal(&random);
                sum += x;
                squares += x * x;
                delta[t * to.count] += weight * x;
            }
            square += squares - sum * sum / (double)n;
            taken += weight * (sum / (double)n);
        }
        to.means[s * to.count + i] = taken;
    }
    to.lengths[i] = square > 0 ? of.beta / sqrt(square) * (1 - 8 * DBL_EPSILON) : 0;
}

/* A <- I - gamma (M + length Delta^pi), a block of threads for each sample. */
static __global__ void fill(const sampling of, const samples to, const cuda_rows M)
{
    const int64_t i = blockIdx.x;
    const int64_t n = of.n;
    const double length = to.lengths[i];
    double *A = to.A + i * n * n;
    for (int64_t j = threadIdx.x; j < n * n; j += THREADS) {
        const double centred = to.delta[j * to.count + i] - to.means[j / n * to.count + i];
        const double entry = length * centred + (M.dense != NULL ? M.dense[j] : 0);
        A[j] = (j / n == j % n) - of.gamma * entry;
    }
    __syncthreads();
    for (int64_t s = threadIdx.x; s < n; s += THREADS) {
        for (int64_t entry = M.dense != NULL ? 0 : M.starts[s]; M.dense == NULL && entry < M.starts[s + 1];
             entry++) {
            A[s * n + M.columns[entry]] -= of.gamma * M.values[entry];
        }
        to.x[i * n + s] = of.rewards[s];
    }
    if (threadIdx.x == 0) {
        to.A_of[i] = A;
        to.x_of[i] = to.x + i * n;
    }
}

static __global__ void add_returns(const sampling of, const samples to)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    double sum = 0;
    if (i < to.count) {
        for (int64_t s = 0; s < of.n; s++) {
            sum += of.initial[s] * to.x[i * of.n + s];
        }
        to.returns[i] = to.singular[i] == 0 ? sum : NAN;
    }
}

/* Numbers that a sample takes. */
static int64_t numbers_each(int64_t n)
{
    return 2 * n * n + 2 * n + 4 + n / 2 + 2;
}

/* What a block of samples works with, cut from `room`. */
static samples cut(int64_t n, int64_t count, double *room)
{
    samples made;
    made.count = count;
    made.delta = room;
    made.means = made.delta + n * n * count;
    made.lengths = made.means + n * count;
    made.A = made.lengths + count;
    made.x = made.A + n * n * count;
    made.returns = made.x + n * count;
    made.A_of = (double **)(made.returns + count);
    made.x_of = made.A_of + count;
    made.singular = (int *)(made.x_of + count);
    made.pivots = made.singular + count;
    return made;
}

/* The caller's vectors to the device; room: [2 * rows + 3 * states + 1]. */
static nadir_status send(cuda_engine *engine, nadir_context *context, const nadir_device_kernels *kernels,
                         int64_t n, double *room, sampling *to)
{
    nadir_status status = NADIR_OK;
    const struct {
        const void *from;
        int64_t count;
        const void **to;
    } arrays[] = {
        {kernels->probabilities, kernels->rows, (const void **)&to->probabilities},
        {kernels->scales, kernels->rows, (const void **)&to->scales},
        {kernels->rewards, n, (const void **)&to->rewards},
        {kernels->initial, n, (const void **)&to->initial},
        {kernels->state_rows, n + 1, (const void **)&to->state_rows},
    };
    to->n = n;
    to->gamma = kernels->gamma;
    to->beta = kernels->beta;
    to->key = kernels->key;
    for (const auto &array : arrays) {
        *array.to = room;
        CUDA_TRY(engine, context,
                 cudaMemcpy(room, array.from, (size_t)array.count * sizeof(double), cudaMemcpyHostToDevice));
        room += array.count;
    }
cleanup:
    return status;
}

/* Some samples: all of them together. */
static nadir_status judge(cuda_engine *engine, nadir_context *context, const cuda_rows *M, const sampling *of,
                          const samples *to, int64_t first)
{
    nadir_status status = NADIR_OK;
    const cuda_batch batch = {of->n, to->count, to->A_of, to->x_of, to->pivots, to->singular};
    const unsigned blocks = cuda_blocks(to->count, THREADS);
    draw<<<blocks, THREADS>>>(*of, *to, first);
    fill<<<(unsigned)to->count, THREADS>>>(*of, *to, *M);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_batch_solve(engine, context, &batch));
    add_returns<<<blocks, THREADS>>>(*of, *to);
    CUDA_LAUNCHED(engine, context);
cleanup:
    return status;
}

nadir_status cuda_kernels(void *matrix, nadir_context *context, const nadir_device_kernels *kernels,
                          int64_t first, int64_t count, double *returns)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *M = &((const cuda_matrix *)matrix)->of;
    cuda_engine *engine = M->engine;
    const int64_t n = M->states;
    const int64_t shared = 2 * kernels->rows + 3 * n + 1;
    const int64_t fit = ROOM / numbers_each(n) + 1;
    const int64_t most = count < fit ? count : fit;
    sampling of;
    CUDA_CHECK(cuda_reserve(engine, context, shared + most * numbers_each(n)));
    CUDA_CHECK(send(engine, context, kernels, n, engine->vectors, &of));
    for (int64_t done = 0; done < count; done += most) {
        const int64_t now = count - done < most ? count - done : most;
        const samples to = cut(n, now, engine->vectors + shared);
        CUDA_CHECK(judge(engine, context, M, &of, &to, first + done));
        CUDA_TRY(
            engine, context,
            cudaMemcpy(returns + done, to.returns, (size_t)now * sizeof *returns, cudaMemcpyDeviceToHost));
        CUDA_CHECK(engine->host->progress(context, CUDA_TASK, -1));
    }
cleanup:
    return status;
}
