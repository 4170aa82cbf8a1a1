/*
 * product.cu: the engine's own products with a sparse matrix, apart from transfers, beside a copy within the
 * device's memory.
 *
 *     bench_cuda_product [STATES [ENTRIES]]
 *
 * Columns are random, ENTRIES of them in each row. Bytes are those that a product cannot do without: entries
 * with their columns, starts, x and y once.
 */
#include "../parts.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

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

static double milliseconds(const std::function<void()> &work)
{
    enum { RUNS = 11 };
    std::vector<float> times;
    cudaEvent_t begun;
    cudaEvent_t ended;
    cudaEventCreate(&begun);
    cudaEventCreate(&ended);
    for (int i = 0; i <= RUNS; i++) {
        float time = 0;
        cudaEventRecord(begun);
        work();
        cudaEventRecord(ended);
        cudaEventSynchronize(ended);
        cudaEventElapsedTime(&time, begun, ended);
        if (i > 0) {
            times.push_back(time);
        }
    }
    std::sort(times.begin(), times.end());
    return times[RUNS / 2];
}

static __global__ void fill(int64_t n, int64_t entries, int64_t *starts, int32_t *columns, double *values)
{
    const int64_t row = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (row > n) {
        return;
    }
    starts[row] = row * entries;
    for (int64_t i = 0; i < entries && row < n; i++) {
        uint64_t z = (uint64_t)(row * entries + i) * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        columns[row * entries + i] = (int32_t)((z >> 11) % (uint64_t)n);
        values[row * entries + i] = 1.0 / (double)entries;
    }
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : 10000000;
    const int64_t entries = argc > 2 ? strtoll(argv[2], NULL, 10) : 20;
    const nadir_engine_host host = {fail, NULL};
    const nadir_communication *table = NULL;
    void *self = NULL;
    double *x;
    double *y;
    nadir_engine_entry.start(&host, NULL, "", &table, &self);
    cuda_matrix matrix = {};
    matrix.of.engine = (cuda_engine *)self;
    matrix.of.states = n;
    matrix.of.rows = n;
    matrix.of.entries = n * entries;
    if (cudaMalloc(&matrix.of.starts, (size_t)(n + 1) * sizeof(int64_t)) != cudaSuccess ||
        cudaMalloc(&matrix.of.columns, (size_t)(n * entries) * sizeof(int32_t)) != cudaSuccess ||
        cudaMalloc(&matrix.of.values, (size_t)(n * entries) * sizeof(double)) != cudaSuccess ||
        cudaMalloc(&x, (size_t)n * sizeof *x) != cudaSuccess ||
        cudaMalloc(&y, (size_t)n * sizeof *y) != cudaSuccess) {
        (void)fprintf(stderr, "no memory\n");
        return 6;
    }
    fill<<<cuda_blocks(n + 1, 256), 256>>>(n, entries, matrix.of.starts, matrix.of.columns, matrix.of.values);
    cudaMemset(x, 0, (size_t)n * sizeof *x);
    const double least = (double)(n * entries) * 12 + (double)n * 24;
    const double size = (double)(n * entries) * 4;
    const double copy = milliseconds([&] {
        cudaMemcpyAsync(matrix.of.values, matrix.of.values + n * entries / 2, (size_t)size,
                        cudaMemcpyDeviceToDevice);
    });
    const double rate = 2e-9 * size / copy;
    printf("copy %.3g GB: %.3f ms, %.4g TB/s\n", size * 1e-9, copy, rate);
    for (int transposed = 0; transposed < 2; transposed++) {
        cuda_apply(&matrix, NULL, transposed != 0, 1, 1, -0.95, x, y);
        const double time =
            milliseconds([&] { cuda_apply(&matrix, NULL, transposed != 0, 1, 1, -0.95, x, y); });
        printf("%s of %lld states, %lld entries a row: %.3f ms, %.4g TB/s, %.0f %% of the copy\n",
               transposed ? "transposed product" : "product", (long long)n, (long long)entries, time,
               least * 1e-9 / time, 100 * least * 1e-9 / time / rate);
    }
    const double turned = milliseconds([&] {
        cuda_rows_clear(&matrix.transpose);
        cuda_transpose(&matrix, NULL);
    });
    printf("transposition: %.3f ms\n", turned);
    return 0;
}
