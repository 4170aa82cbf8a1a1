/*
 * factor.cu: the LU factors of A = I - gamma M on the device, by cuSOLVER.
 *
 * A row after row is, as cuSOLVER reads it, A^T column after column: that is what is factored, and A x = b is
 * a solve with its transpose.
 */
#include "parts.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

enum { THREADS = 256 };

typedef struct lu {
    cuda_engine *engine;
    int64_t states;
    double *factors; /* [states * states] */
    int64_t *pivots; /* [states], with the status of a call behind them */
    double factor_bytes, pivot_bytes;
} lu;

/* A into place, row by row, and of each row |A(s, s)| and the sum of |A(s, t)|. */
static __global__ void fill(cuda_rows of, double gamma, double *A, double *diagonal, double *sums)
{
    __shared__ double parts[THREADS];
    const int64_t s = blockIdx.x;
    const int64_t n = of.states;
    double *row = A + s * n;
    double sum = 0;
    for (int64_t t = threadIdx.x; t < n; t += THREADS) {
        row[t] = of.dense != NULL ? -gamma * of.dense[s * n + t] : 0;
    }
    __syncthreads();
    for (int64_t i = of.dense != NULL ? 0 : of.starts[s] + threadIdx.x;
         of.dense == NULL && i < of.starts[s + 1]; i += THREADS) {
        row[of.columns[i]] = -gamma * of.values[i];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        row[s] += 1;
        diagonal[s] = fabs(row[s]);
    }
    __syncthreads();
    for (int64_t t = threadIdx.x; t < n; t += THREADS) {
        sum += fabs(row[t]);
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) {
            parts[threadIdx.x] += parts[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        sums[s] = parts[0];
    }
}

void cuda_release_factors(void *factors)
{
    lu *of = (lu *)factors;
    if (of != NULL) {
        cuda_give(of->engine, of->factor_bytes, of->factors);
        cuda_give(of->engine, of->pivot_bytes, of->pivots);
        free(of);
    }
}

/* What the rows tell; numbers: [2 * states] |A(s, s)| and sums. */
static void read_dominance(int64_t n, const double *numbers, nadir_device_dominance *found)
{
    for (int64_t s = 0; s < n; s++) {
        const double sum = numbers[n + s];
        if (!std::isfinite(sum)) {
            found->broken = s < found->broken ? s : found->broken;
            continue;
        }
        const double slack = 2 * numbers[s] - sum;
        found->norm = sum > found->norm ? sum : found->norm;
        found->slack = slack < found->slack ? slack : found->slack;
    }
}

static nadir_status fill_in(lu *of, nadir_context *context, const cuda_rows *rows, double gamma,
                            nadir_device_dominance *found)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = of->engine;
    const int64_t n = of->states;
    double *numbers = (double *)malloc((size_t)(2 * n) * sizeof *numbers);
    if (numbers == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    CUDA_CHECK(cuda_reserve(engine, context, 2 * n));
    fill<<<(unsigned)n, THREADS>>>(*rows, gamma, of->factors, engine->vectors, engine->vectors + n);
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(engine, context,
             cudaMemcpy(numbers, engine->vectors, (size_t)(2 * n) * sizeof *numbers, cudaMemcpyDeviceToHost));
    read_dominance(n, numbers, found);
cleanup:
    free(numbers);
    return status;
}

/* L and U in place of A. */
static nadir_status decompose(lu *of, nadir_context *context, int *info)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = of->engine;
    const int64_t n = of->states;
    size_t device_bytes = 0;
    size_t host_bytes = 0;
    void *device_room = NULL;
    void *host_room = NULL;
    int *result = (int *)(of->pivots + n);
    CUDA_LIBRARY(engine, context,
                 cusolverDnXgetrf_bufferSize(engine->solver, engine->parameters, n, n, CUDA_R_64F,
                                             of->factors, n, CUDA_R_64F, &device_bytes, &host_bytes));
    CUDA_CHECK(cuda_take(engine, context, "factoring", (double)device_bytes, &device_room));
    host_room = malloc(host_bytes + 1);
    if (host_room == NULL) {
        status = engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
        goto cleanup;
    }
    CUDA_LIBRARY(engine, context,
                 cusolverDnXgetrf(engine->solver, engine->parameters, n, n, CUDA_R_64F, of->factors, n,
                                  of->pivots, CUDA_R_64F, device_room, device_bytes, host_room, host_bytes,
                                  result));
    CUDA_TRY(engine, context, cudaMemcpy(info, result, sizeof *info, cudaMemcpyDeviceToHost));
cleanup:
    cuda_give(engine, (double)device_bytes, device_room);
    free(host_room);
    return status;
}

nadir_status cuda_factor(void *matrix, nadir_context *context, double gamma, void **factors,
                         nadir_device_dominance *dominance, int64_t *bytes)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = &((const cuda_matrix *)matrix)->of;
    cuda_engine *engine = rows->engine;
    const int64_t n = rows->states;
    int info = 0;
    lu *made = (lu *)calloc(1, sizeof *made);
    if (made == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    *factors = NULL;
    *dominance = {0, INFINITY, INT64_MAX, -1};
    made->engine = engine;
    made->states = n;
    made->factor_bytes = (double)(n * n) * sizeof(double);
    made->pivot_bytes = (double)(n + 1) * sizeof(int64_t);
    CUDA_CHECK(
        cuda_take(engine, context, "a dense factorisation", made->factor_bytes, (void **)&made->factors));
    CUDA_CHECK(
        cuda_take(engine, context, "a dense factorisation", made->pivot_bytes, (void **)&made->pivots));
    CUDA_CHECK(fill_in(made, context, rows, gamma, dominance));
    if (dominance->broken == INT64_MAX) {
        CUDA_CHECK(decompose(made, context, &info));
        dominance->singular = info > 0 ? info - 1 : -1;
    }
    *bytes = (int64_t)(made->factor_bytes + made->pivot_bytes);
    if (dominance->broken == INT64_MAX && info == 0) {
        *factors = made;
        made = NULL;
    }
cleanup:
    cuda_release_factors(made);
    return status;
}

nadir_status cuda_solve(void *factors, nadir_context *context, bool transposed, int64_t count,
                        const double *b, double *x)
{
    nadir_status status = NADIR_OK;
    lu *of = (lu *)factors;
    cuda_engine *engine = of->engine;
    const int64_t n = of->states;
    const int64_t most = ((int64_t)1 << 27) / n + 1; /* columns at once */
    const int64_t some = count < most ? count : most;
    int *result = (int *)(of->pivots + n);
    CUDA_CHECK(cuda_reserve(engine, context, n * some));
    for (int64_t j = 0; j < count; j += some) {
        const int64_t now = count - j < some ? count - j : some;
        const size_t bytes = (size_t)(n * now) * sizeof *x;
        CUDA_TRY(engine, context, cudaMemcpy(engine->vectors, b + j * n, bytes, cudaMemcpyDefault));
        CUDA_LIBRARY(engine, context,
                     cusolverDnXgetrs(engine->solver, engine->parameters,
                                      transposed ? CUBLAS_OP_N : CUBLAS_OP_T, n, now, CUDA_R_64F, of->factors,
                                      n, of->pivots, CUDA_R_64F, engine->vectors, n, result));
        CUDA_TRY(engine, context, cudaMemcpy(x + j * n, engine->vectors, bytes, cudaMemcpyDefault));
        CUDA_CHECK(engine->host->progress(context, CUDA_TASK, -1));
    }
cleanup:
    return status;
}
