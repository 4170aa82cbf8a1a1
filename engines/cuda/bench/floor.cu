/*
 * floor.cu: what the device can do, to compare the engine with: copies within its memory, and cuSOLVER's own
 * factorisation and solves of I - 0.9 P for a dense random P.
 *
 *     bench_cuda_floor [STATES]
 *
 * Medians of several runs, timed with events of the device.
 */
#include "bench.h"

#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>
#include <vector>

static __global__ void fill(int64_t n, double *A)
{
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n * n) {
        uint64_t z = (uint64_t)i * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        A[i] = -0.9 * 2 / (double)n * ((double)(z >> 11) * 0x1p-53) + (i / n == i % n ? 1.0 : 0.0);
    }
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : 8192;
    const size_t bytes = (size_t)(n * n) * sizeof(double);
    double *A;
    double *B;
    double *x;
    int64_t *pivots;
    int *info;
    size_t device_bytes;
    size_t host_bytes;
    void *room;
    const double one = 1;
    const double zero = 0;
    cusolverDnHandle_t solver;
    cusolverDnParams_t parameters;
    cublasHandle_t blas;
    TRY(cudaMalloc(&A, bytes));
    TRY(cudaMalloc(&B, bytes));
    TRY(cudaMalloc(&x, (size_t)(64 * n) * sizeof(double)));
    TRY(cudaMalloc(&pivots, (size_t)n * sizeof *pivots));
    TRY(cudaMalloc(&info, sizeof *info));
    TRY(cusolverDnCreate(&solver));
    TRY(cusolverDnCreateParams(&parameters));
    TRY(cublasCreate(&blas));
    fill<<<(unsigned)((n * n + 255) / 256), 256>>>(n, A);
    TRY(cudaMemset(x, 0, (size_t)(64 * n) * sizeof(double)));
    TRY(cusolverDnXgetrf_bufferSize(solver, parameters, n, n, CUDA_R_64F, B, n, CUDA_R_64F, &device_bytes,
                                    &host_bytes));
    TRY(cudaMalloc(&room, device_bytes));
    std::vector<char> host(host_bytes + 1);
    const auto copy = [&] { TRY(cudaMemcpyAsync(B, A, bytes, cudaMemcpyDeviceToDevice)); };
    const auto nothing = [] {};
    const double copied = milliseconds(9, nothing, copy);
    printf("copy of %.3g GB: %.4f ms, %.4g TB/s read and written\n", (double)bytes * 1e-9, copied,
           2e-9 * (double)bytes / copied);
    const auto factor = [&] {
        TRY(cusolverDnXgetrf(solver, parameters, n, n, CUDA_R_64F, B, n, pivots, CUDA_R_64F, room,
                             device_bytes, host.data(), host_bytes, info));
    };
    printf("getrf of %lld: %.4f ms\n", (long long)n, milliseconds(5, copy, factor));
    for (int64_t count : {1, 8, 64}) {
        for (int transposed = 0; transposed < 2; transposed++) {
            printf("getrs%s, %lld right-hand sides: %.4f ms\n", transposed ? " transposed" : "",
                   (long long)count, milliseconds(5, nothing, [&] {
                       TRY(cusolverDnXgetrs(solver, parameters, transposed ? CUBLAS_OP_T : CUBLAS_OP_N, n,
                                            count, CUDA_R_64F, B, n, pivots, CUDA_R_64F, x, n, info));
                   }));
        }
    }
    for (int transposed = 0; transposed < 2; transposed++) {
        printf("gemv%s: %.4f ms\n", transposed ? " transposed" : "", milliseconds(9, nothing, [&] {
                   TRY(cublasDgemv_64(blas, transposed ? CUBLAS_OP_T : CUBLAS_OP_N, n, n, &one, A, n, x, 1,
                                      &zero, x + n, 1));
               }));
    }
    return 0;
}
