/* pairs.h: two vectors side by side are vectors of double2; what products do with their numbers. For this
 * folder alone. */
#ifndef NADIR_ENGINES_CUDA_PAIRS_H
#define NADIR_ENGINES_CUDA_PAIRS_H

#include <cuda_runtime.h>

static __device__ inline double2 operator*(double a, double2 b)
{
    return make_double2(a * b.x, a * b.y);
}

static __device__ inline double2 operator+(double2 a, double2 b)
{
    return make_double2(a.x + b.x, a.y + b.y);
}

#endif
