/*
 * single.cu: whether factors in single precision, refined in double, are worth it.
 *
 *     bench_cuda_single [STATES [GAMMA]]
 *
 * A = I - gamma P, P nine tenths of a ring and one tenth of a dense random kernel: iterations without factors
 * are slow. For each precision: the factorisation, a solve, and how many steps x <- x + F^-1 (b - A x)
 * take the residual to where double precision leaves it. Then cuSOLVER's own solvers of that kind, which
 * factor anew for every call. Medians of several runs, timed with events of the device.
 */
#include "bench.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>
#include <vector>

/* Column after column, A^T as the engine has it. */
static __global__ void fill(int64_t n, double gamma, double *A)
{
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n * n) {
        const int64_t s = i / n;
        const int64_t t = i % n;
        uint64_t z = (uint64_t)i * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        const double p = 0.1 * 2 / (double)n * ((double)(z >> 11) * 0x1p-53) + (t == (s + 1) % n ? 0.9 : 0);
        A[i] = (s == t) - gamma * p;
    }
}

template <typename real> static __global__ void convert(int64_t n, const double *from, real *to)
{
    for (int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x; i < n; i += (int64_t)gridDim.x * 256) {
        to[i] = (real)from[i];
    }
}

template <typename real> static __global__ void add(int64_t n, const real *from, double *to)
{
    for (int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x; i < n; i += (int64_t)gridDim.x * 256) {
        to[i] += (double)from[i];
    }
}

typedef struct setting {
    int64_t n;
    const double *A; /* [n * n] */
    double *b, *x, *r;
    int64_t *pivots;
    int *info;
    cublasHandle_t blas;
    cusolverDnHandle_t solver;
    cusolverDnParams_t parameters;
} setting;

/* r <- b - A x; the largest of it. */
static double residual(const setting *at)
{
    const double one = 1;
    const double minus = -1;
    int place = 0;
    double value = 0;
    TRY(cudaMemcpy(at->r, at->b, (size_t)at->n * sizeof(double), cudaMemcpyDeviceToDevice));
    TRY(cublasDgemv_64(at->blas, CUBLAS_OP_T, at->n, at->n, &minus, at->A, at->n, at->x, 1, &one, at->r, 1));
    TRY(cublasIdamax(at->blas, (int)at->n, at->r, 1, &place));
    TRY(cudaMemcpy(&value, at->r + place - 1, sizeof value, cudaMemcpyDeviceToHost));
    return fabs(value);
}

template <typename real> static void measure(const setting *at, cudaDataType type, const char *name)
{
    const int64_t n = at->n;
    real *F;
    real *y;
    size_t device_bytes;
    size_t host_bytes;
    void *room;
    TRY(cudaMalloc(&F, (size_t)(n * n) * sizeof(real)));
    TRY(cudaMalloc(&y, (size_t)n * sizeof(real)));
    TRY(cusolverDnXgetrf_bufferSize(at->solver, at->parameters, n, n, type, F, n, type, &device_bytes,
                                    &host_bytes));
    TRY(cudaMalloc(&room, device_bytes));
    std::vector<char> host(host_bytes + 1);
    const auto copy = [&] { convert<real><<<4096, 256>>>(n * n, at->A, F); };
    const auto factor = [&] {
        TRY(cusolverDnXgetrf(at->solver, at->parameters, n, n, type, F, n, at->pivots, type, room,
                             device_bytes, host.data(), host_bytes, at->info));
    };
    const auto solve = [&] {
        TRY(cusolverDnXgetrs(at->solver, at->parameters, CUBLAS_OP_T, n, 1, type, F, n, at->pivots, type, y,
                             n, at->info));
    };
    printf("%s: getrf %.3f ms", name, milliseconds(3, copy, factor));
    convert<real><<<256, 256>>>(n, at->b, y);
    printf(", getrs %.3f ms; residual after steps:",
           milliseconds(
               5, [&] { convert<real><<<256, 256>>>(n, at->b, y); }, solve));
    TRY(cudaMemset(at->x, 0, (size_t)n * sizeof(double)));
    double left = residual(at);
    for (int step = 0; step < 8; step++) {
        const double before = left;
        convert<real><<<256, 256>>>(n, at->r, y);
        solve();
        add<real><<<256, 256>>>(n, y, at->x);
        left = residual(at);
        printf(" %.2g", left);
        if (!(left < before / 2)) {
            break;
        }
    }
    printf("\n");
    TRY(cudaFree(F));
    TRY(cudaFree(y));
    TRY(cudaFree(room));
}

typedef cusolverStatus_t size_function(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double *,
                                       cusolver_int_t, cusolver_int_t *, double *, cusolver_int_t, double *,
                                       cusolver_int_t, void *, size_t *);
typedef cusolverStatus_t solve_function(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double *,
                                        cusolver_int_t, cusolver_int_t *, double *, cusolver_int_t, double *,
                                        cusolver_int_t, void *, size_t, cusolver_int_t *, cusolver_int_t *);

static void measure_ready(const setting *at, const char *name, size_function *size, solve_function *solve)
{
    const cusolver_int_t n = (cusolver_int_t)at->n;
    double *copy;
    size_t bytes;
    void *room;
    cusolver_int_t steps = 0;
    TRY(cudaMalloc(&copy, (size_t)(at->n * at->n) * sizeof(double)));
    TRY(size(at->solver, n, 1, copy, n, (cusolver_int_t *)at->pivots, at->b, n, at->x, n, NULL, &bytes));
    TRY(cudaMalloc(&room, bytes));
    const double time = milliseconds(
        3,
        [&] {
            TRY(cudaMemcpy(copy, at->A, (size_t)(at->n * at->n) * sizeof(double), cudaMemcpyDeviceToDevice));
        },
        [&] {
            TRY(solve(at->solver, n, 1, copy, n, (cusolver_int_t *)at->pivots, at->b, n, at->x, n, room,
                      bytes, &steps, at->info));
        });
    printf("%s: %.3f ms for one right-hand side, %d steps\n", name, time, (int)steps);
    TRY(cudaFree(copy));
    TRY(cudaFree(room));
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : 8192;
    const double gamma = argc > 2 ? strtod(argv[2], NULL) : 0.999;
    setting at = {};
    double *A;
    at.n = n;
    TRY(cudaMalloc(&A, (size_t)(n * n) * sizeof(double)));
    TRY(cudaMalloc(&at.b, (size_t)(3 * n) * sizeof(double)));
    at.A = A;
    at.x = at.b + n;
    at.r = at.x + n;
    TRY(cudaMalloc(&at.pivots, (size_t)n * sizeof *at.pivots));
    TRY(cudaMalloc(&at.info, sizeof *at.info));
    TRY(cusolverDnCreate(&at.solver));
    TRY(cusolverDnCreateParams(&at.parameters));
    TRY(cublasCreate(&at.blas));
    fill<<<(unsigned)((n * n + 255) / 256), 256>>>(n, gamma, A);
    std::vector<double> b((size_t)n);
    for (int64_t i = 0; i < n; i++) {
        b[(size_t)i] = cos((double)i);
    }
    TRY(cudaMemcpy(at.b, b.data(), (size_t)n * sizeof(double), cudaMemcpyHostToDevice));
    printf("S = %lld, gamma = %g\n", (long long)n, gamma);
    measure<double>(&at, CUDA_R_64F, "double");
    measure<float>(&at, CUDA_R_32F, "single");
    TRY(cusolverDnSetMathMode(at.solver, CUSOLVER_FP32_EMULATED_BF16X9_MATH));
    measure<float>(&at, CUDA_R_32F, "single, emulated by bfloat16");
    TRY(cusolverDnSetMathMode(at.solver, CUSOLVER_DEFAULT_MATH));
    measure_ready(&at, "cuSOLVER's DSgesv (single)", cusolverDnDSgesv_bufferSize, cusolverDnDSgesv);
    measure_ready(&at, "cuSOLVER's DXgesv (TF32)", cusolverDnDXgesv_bufferSize, cusolverDnDXgesv);
    return 0;
}
