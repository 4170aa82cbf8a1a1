/*
 * lu.cu: the LU factors of A = I - gamma M on the device, by cuSOLVER.
 *
 * A row after row is, as cuSOLVER reads it, A^T column after column: that is what is factored, and A x = b is
 * a solve with its transpose.
 */
#include "engine.h"
#include "reduce.h"

#include <cmath>

enum { THREADS = CUDA_REDUCE_THREADS };

typedef struct lu {
    cuda_engine *engine;
    int64_t states;
    double *factors; /* [states * states] */
    int64_t *pivots; /* [states], with the status of a call behind them */
    cuda_pool memory;
} lu;

/* A into place, row by row, and of each row |A(s, s)| and the sum of |A(s, t)|. */
static __global__ void __launch_bounds__(THREADS)
    fill(cuda_rows rows, double gamma, double *A, double *diagonal, double *sums)
{
    const int64_t s = blockIdx.x;
    const int64_t n = rows.states;
    double *row = A + s * n;
    double sum = 0;
    for (int64_t t = threadIdx.x; t < n; t += THREADS) {
        row[t] = rows.dense != NULL ? -gamma * rows.dense[s * n + t] : 0;
    }
    __syncthreads();
    for (int64_t i = rows.dense != NULL ? 0 : rows.starts[s] + threadIdx.x;
         rows.dense == NULL && i < rows.starts[s + 1]; i += THREADS) {
        row[rows.columns[i]] = -gamma * rows.values[i];
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
    cuda_leave(false, sum, sums);
}

static void free_factors(void *factors)
{
    if (factors != NULL) {
        cuda_pool_free(&((lu *)factors)->memory);
        free(factors);
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

static nadir_status fill_in(lu *self, nadir_context *context, const cuda_rows *rows, double gamma,
                            nadir_device_dominance *found)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = self->engine;
    const int64_t n = self->states;
    double *numbers = (double *)malloc((size_t)(2 * n) * sizeof *numbers);
    if (numbers == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    CUDA_CHECK(cuda_reserve(engine, context, 2 * n));
    fill<<<(unsigned)n, THREADS>>>(*rows, gamma, self->factors, engine->workspace, engine->workspace + n);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_copy(engine, context, 2 * n, engine->workspace, numbers));
    read_dominance(n, numbers, found);
cleanup:
    free(numbers);
    return status;
}

/* L and U in place of A. */
static nadir_status decompose(lu *self, nadir_context *context, int *info)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = self->engine;
    const int64_t n = self->states;
    size_t device_bytes = 0;
    size_t host_bytes = 0;
    char *device_room = NULL;
    void *host_room = NULL;
    cuda_pool work = {engine, "factoring"};
    int *result = (int *)(self->pivots + n);
    CUDA_LIBRARY(engine, context,
                 cusolverDnXgetrf_bufferSize(engine->solver, engine->parameters, n, n, CUDA_R_64F,
                                             self->factors, n, CUDA_R_64F, &device_bytes, &host_bytes));
    CUDA_CHECK(cuda_new(&work, context, (int64_t)device_bytes, &device_room));
    host_room = malloc(host_bytes + 1);
    if (host_room == NULL) {
        status = engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
        goto cleanup;
    }
    CUDA_LIBRARY(engine, context,
                 cusolverDnXgetrf(engine->solver, engine->parameters, n, n, CUDA_R_64F, self->factors, n,
                                  self->pivots, CUDA_R_64F, device_room, device_bytes, host_room, host_bytes,
                                  result));
    CUDA_CHECK(cuda_copy(engine, context, 1, result, info));
cleanup:
    cuda_pool_free(&work);
    free(host_room);
    return status;
}

static nadir_status factor(void *matrix, nadir_context *context, double gamma, void **factors,
                           nadir_device_dominance *dominance, int64_t *bytes)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = &((const cuda_matrix *)matrix)->rows;
    cuda_engine *engine = rows->engine;
    const int64_t n = rows->states;
    int info = 0;
    lu *made = NULL;
    *factors = NULL;
    *dominance = {0, INFINITY, INT64_MAX, -1};
    CUDA_CHECK(cuda_object(engine, context, &made));
    made->engine = engine;
    made->states = n;
    made->memory = {engine, "a dense factorisation"};
    CUDA_CHECK(cuda_new(&made->memory, context, n * n, &made->factors));
    CUDA_CHECK(cuda_new(&made->memory, context, n + 1, &made->pivots));
    CUDA_CHECK(fill_in(made, context, rows, gamma, dominance));
    if (dominance->broken == INT64_MAX) {
        CUDA_CHECK(decompose(made, context, &info));
        dominance->singular = info > 0 ? info - 1 : -1;
    }
    *bytes = (int64_t)made->memory.bytes;
    if (dominance->broken == INT64_MAX && info == 0) {
        *factors = made;
        made = NULL;
    }
cleanup:
    free_factors(made);
    return status;
}

static nadir_status solve(void *factors, nadir_context *context, bool transposed, int64_t count,
                          const double *b, double *x)
{
    nadir_status status = NADIR_OK;
    lu *self = (lu *)factors;
    cuda_engine *engine = self->engine;
    const int64_t n = self->states;
    const int64_t most = ((int64_t)1 << 27) / n + 1; /* columns at once */
    const int64_t some = count < most ? count : most;
    int *result = (int *)(self->pivots + n);
    CUDA_CHECK(cuda_reserve(engine, context, n * some));
    for (int64_t j = 0; j < count; j += some) {
        const int64_t now = count - j < some ? count - j : some;
        CUDA_CHECK(cuda_copy(engine, context, n * now, b + j * n, engine->workspace));
        CUDA_LIBRARY(engine, context,
                     cusolverDnXgetrs(engine->solver, engine->parameters,
                                      transposed ? CUBLAS_OP_N : CUBLAS_OP_T, n, now, CUDA_R_64F,
                                      self->factors, n, self->pivots, CUDA_R_64F, engine->workspace, n,
                                      result));
        CUDA_CHECK(cuda_copy(engine, context, n * now, engine->workspace, x + j * n));
        CUDA_CHECK(engine->host->progress(context, CUDA_TASK, -1));
    }
cleanup:
    return status;
}

void cuda_lu_enter(nadir_device *table)
{
    table->lu_factor = factor;
    table->lu_solve = solve;
    table->lu_free = free_factors;
}
