/*
 * product.cu: the engine's own products with a sparse matrix, apart from transfers, beside a copy within the
 * device's memory.
 *
 *     bench_cuda_product [STATES [ENTRIES]]
 *
 * Columns are random, ENTRIES of them, at most 64, in each row. Bytes are counted in two ways: those that a
 * product cannot do without, entries with their columns, starts, x and y once; and those that it asks for, an
 * entry of x with every entry of the matrix. Both as a share of the rate of a copy of 2 GB within the device,
 * read and written. Two vectors at once count as two products.
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
        cudaMalloc(&x, 2 * (size_t)n * sizeof *x) != cudaSuccess ||
        cudaMalloc(&y, 2 * (size_t)n * sizeof *y) != cudaSuccess) {
        (void)fprintf(stderr, "no memory\n");
        return 6;
    }
    fill<<<cuda_blocks(n + 1, 256), 256>>>(n, entries, matrix.of.starts, matrix.of.columns, matrix.of.values,
                                           x);
    const double least = (double)(n * entries) * 12 + (double)n * 24;
    const double asked = (double)(n * entries) * 20 + (double)n * 24;
    const size_t size = (size_t)2 << 30;
    char *room;
    if (cudaMalloc(&room, 2 * size) != cudaSuccess) {
        (void)fprintf(stderr, "no memory\n");
        return 6;
    }
    cudaMemset(room, 1, 2 * size);
    const double copy =
        milliseconds([&] { cudaMemcpyAsync(room, room + size, size, cudaMemcpyDeviceToDevice); });
    const double rate = 2e-9 * (double)size / copy;
    printf("copy %.3g GB: %.3f ms, %.4g TB/s\n", (double)size * 1e-9, copy, rate);
    cudaFree(room);
    for (int transposed = 0; transposed < 2; transposed++) {
        for (int i = 0; i < 5; i++) { /* the matrix is taken apart after a few */
            cuda_apply(&matrix, NULL, transposed != 0, 1, 1, -0.95, x, y);
        }
        for (int vectors = 1; vectors <= 2; vectors++) {
            const double time = milliseconds([&] {
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
    const double turned = milliseconds([&] {
        cuda_rows_clear(&matrix.transpose);
        cuda_transpose(&matrix, NULL);
    });
    const double apart = milliseconds([&] {
        cuda_columns_clear(matrix.of.engine, &matrix.blocks[0]);
        cuda_columns_make(&matrix.of, NULL, &matrix.blocks[0]);
    });
    printf("transposition: %.3f ms, blocks of columns: %.3f ms\n", turned, apart);
    return 0;
}
