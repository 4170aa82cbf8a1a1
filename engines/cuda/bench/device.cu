/*
 * device.cu: what the engine's time is compared with, by itself, apart from transfers.
 *
 *     bench_cuda floor [STATES]
 *     bench_cuda product [STATES [ENTRIES]]
 *
 * floor: cuSOLVER's own factorisation and solves of I - 0.9 P for a dense random P. product: the engine's
 * products with a sparse matrix of random columns, ENTRIES of them, at most 64, in each row; docs/benchmarks.md
 * says how bytes are counted. Medians of several runs, timed with events of the device.
 */
#include "../engine.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        const int code_of_call = (int)(call);                                                                \
        if (code_of_call != 0) {                                                                             \
            (void)fprintf(stderr, "%s: %d\n", #call, code_of_call);                                          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/* The median of several runs; `before` is not counted. */
static double milliseconds(int runs, const std::function<void()> &before, const std::function<void()> &work)
{
    std::vector<float> times;
    cudaEvent_t begun;
    cudaEvent_t ended;
    TRY(cudaEventCreate(&begun));
    TRY(cudaEventCreate(&ended));
    for (int i = 0; i <= runs; i++) {
        float time = 0;
        before();
        TRY(cudaEventRecord(begun));
        work();
        TRY(cudaEventRecord(ended));
        TRY(cudaEventSynchronize(ended));
        TRY(cudaEventElapsedTime(&time, begun, ended));
        if (i > 0) { /* the first warms up */
            times.push_back(time);
        }
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

extern "C" const nadir_engine_table nadir_engine_entry;

static nadir_status fail(nadir_context *context, nadir_status status, const char *format, ...)
{
    (void)context;
    va_list values;
    va_start(values, format);
    (void)vfprintf(stderr, format, values);
    va_end(values);
    exit((int)status / 10);
}

static double measure(const std::function<void()> &work)
{
    return milliseconds(
        11, [] {}, work);
}

static __device__ uint64_t mix(uint64_t z)
{
    z *= 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    return (z ^ (z >> 27)) * 0x94d049bb133111ebu;
}

static __global__ void fill(int64_t n, int64_t entries, int64_t *starts, int32_t *columns, double *values,
                            double *x)
{
    const int64_t row = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (row > n) {
        return;
    }
    starts[row] = row * entries;
    if (row == n) {
        return;
    }
    for (int64_t i = row; i < 2 * n; i += n) {
        x[i] = (double)(mix((uint64_t)(i + n * entries)) >> 11) * 0x1p-53;
    }
    int32_t rising[64];
    for (int64_t i = 0; i < entries; i++) {
        const int32_t column = (int32_t)((mix((uint64_t)(row * entries + i)) >> 11) % (uint64_t)n);
        int64_t at = i;
        for (; at > 0 && rising[at - 1] > column; at--) {
            rising[at] = rising[at - 1];
        }
        rising[at] = column;
    }
    for (int64_t i = 0; i < entries; i++) {
        columns[row * entries + i] = rising[i];
        values[row * entries + i] = 1.0 / (double)entries;
    }
}

static __global__ void fill_dense(int64_t n, double *A)
{
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n * n) {
        A[i] = -0.9 * 2 / (double)n * ((double)(mix((uint64_t)i) >> 11) * 0x1p-53) +
               (i / n == i % n ? 1.0 : 0.0);
    }
}

/* cuSOLVER's factorisation and solves of I - 0.9 P. */
static void measure_floor(int64_t n)
{
    const size_t bytes = (size_t)(n * n) * sizeof(double);
    double *A;
    double *B;
    double *x;
    int64_t *pivots;
    int *info;
    size_t device_bytes;
    size_t host_bytes;
    void *room;
    cusolverDnHandle_t solver;
    cusolverDnParams_t parameters;
    TRY(cudaMalloc(&A, bytes));
    TRY(cudaMalloc(&B, bytes));
    TRY(cudaMalloc(&x, (size_t)n * sizeof(double)));
    TRY(cudaMalloc(&pivots, (size_t)n * sizeof *pivots));
    TRY(cudaMalloc(&info, sizeof *info));
    TRY(cusolverDnCreate(&solver));
    TRY(cusolverDnCreateParams(&parameters));
    fill_dense<<<(unsigned)((n * n + 255) / 256), 256>>>(n, A);
    TRY(cudaMemset(x, 0, (size_t)n * sizeof(double)));
    TRY(cusolverDnXgetrf_bufferSize(solver, parameters, n, n, CUDA_R_64F, B, n, CUDA_R_64F, &device_bytes,
                                    &host_bytes));
    TRY(cudaMalloc(&room, device_bytes));
    std::vector<char> host(host_bytes + 1);
    const auto copy = [&] { TRY(cudaMemcpyAsync(B, A, bytes, cudaMemcpyDeviceToDevice)); };
    const auto factor = [&] {
        TRY(cusolverDnXgetrf(solver, parameters, n, n, CUDA_R_64F, B, n, pivots, CUDA_R_64F, room,
                             device_bytes, host.data(), host_bytes, info));
    };
    printf("getrf of %lld: %.4f ms\n", (long long)n, milliseconds(5, copy, factor));
    for (int transposed = 0; transposed < 2; transposed++) {
        const double time = measure([&] {
            TRY(cusolverDnXgetrs(solver, parameters, transposed ? CUBLAS_OP_T : CUBLAS_OP_N, n, 1, CUDA_R_64F,
                                 B, n, pivots, CUDA_R_64F, x, n, info));
        });
        printf("getrs%s: %.4f ms\n", transposed ? " transposed" : "", time);
    }
}

/* The engine's products with a CSR matrix, beside a copy within the device's memory. */
static void measure_products(int64_t n, int64_t entries)
{
    const nadir_engine_host host = {fail, NULL};
    const nadir_communication *table = NULL;
    void *self = NULL;
    double *x;
    double *y;
    nadir_engine_entry.start(&host, NULL, "", &table, &self);
    cuda_matrix matrix = {};
    matrix.rows.engine = (cuda_engine *)self;
    matrix.rows.states = n;
    matrix.rows.rows = n;
    matrix.rows.entries = n * entries;
    TRY(cudaMalloc(&matrix.rows.starts, (size_t)(n + 1) * sizeof(int64_t)));
    TRY(cudaMalloc(&matrix.rows.columns, (size_t)(n * entries) * sizeof(int32_t)));
    TRY(cudaMalloc(&matrix.rows.values, (size_t)(n * entries) * sizeof(double)));
    TRY(cudaMalloc(&x, 2 * (size_t)n * sizeof *x));
    TRY(cudaMalloc(&y, 2 * (size_t)n * sizeof *y));
    fill<<<cuda_blocks(n + 1, 256), 256>>>(n, entries, matrix.rows.starts, matrix.rows.columns,
                                           matrix.rows.values, x);
    const double least = (double)(n * entries) * 12 + (double)n * 24;
    const double asked = (double)(n * entries) * 20 + (double)n * 24;
    const size_t size = (size_t)2 << 30;
    char *room;
    TRY(cudaMalloc(&room, 2 * size));
    TRY(cudaMemset(room, 1, 2 * size));
    const double copy = measure([&] { cudaMemcpyAsync(room, room + size, size, cudaMemcpyDeviceToDevice); });
    const double rate = 2e-9 * (double)size / copy;
    printf("copy %.3g GB: %.3f ms, %.4g TB/s\n", (double)size * 1e-9, copy, rate);
    cudaFree(room);
    for (int transposed = 0; transposed < 2; transposed++) {
        for (int i = 0; i < 5; i++) { /* the matrix is taken apart after a few */
            cuda_apply(&matrix, NULL, transposed != 0, 1, 1, -0.95, x, y);
        }
        for (int vectors = 1; vectors <= 2; vectors++) {
            const double time = measure([&] {
                (void)(vectors == 1 ? cuda_apply(&matrix, NULL, transposed != 0, 1, 1, -0.95, x, y)
                                    : cuda_apply_pair(&matrix, NULL, transposed != 0, 1, -0.95,
                                                      (const double2 *)x, (double2 *)y));
            });
            printf("%s of %lld states, %lld entries a row, %d vectors: %.3f ms; must be moved %.4g TB/s, "
                   "%.1f %% of the copy, asked for %.4g TB/s, %.1f %%\n",
                   transposed ? "transposed product" : "product", (long long)n, (long long)entries, vectors,
                   time, vectors * least * 1e-9 / time, 100 * vectors * least * 1e-9 / time / rate,
                   vectors * asked * 1e-9 / time, 100 * vectors * asked * 1e-9 / time / rate);
        }
    }
    const double turned = measure([&] {
        cuda_rows_clear(&matrix.transpose);
        cuda_transpose(&matrix, NULL);
    });
    const double apart = measure([&] {
        cuda_column_blocks_clear(matrix.rows.engine, &matrix.blocks[0]);
        cuda_column_blocks_make(&matrix.rows, NULL, &matrix.blocks[0]);
    });
    printf("transposition: %.3f ms, blocks of columns: %.3f ms\n", turned, apart);
}

int main(int argc, char **argv)
{
    const bool floor = argc > 1 && strcmp(argv[1], "floor") == 0;
    const int64_t states = argc > 2 ? strtoll(argv[2], NULL, 10) : floor ? 8192 : 10000000;
    if (floor) {
        measure_floor(states);
    } else {
        measure_products(states, argc > 3 ? strtoll(argv[3], NULL, 10) : 20);
    }
    return 0;
}
