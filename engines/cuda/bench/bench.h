/* bench.h: what the programs of this folder share: calls that must not fail, and times of the device. */
#ifndef NADIR_ENGINES_CUDA_BENCH_H
#define NADIR_ENGINES_CUDA_BENCH_H

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
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

#endif
