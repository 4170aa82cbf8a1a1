/* symmetric.c: small dense symmetric matrices, by LAPACK; see eigen.h. */
#include "linalg/eigen.h"

#include "core/round.h"
#include "linalg/threads.h"

#include <lapack.h>
#include <math.h>

bool nadir_symmetric_eigen(int size, double *matrix, double *values, double *work)
{
    const lapack_int n = size;
    const lapack_int length = NADIR_SYMMETRIC_WORK(n);
    lapack_int info = 0;
    double sum = 0;
    for (int i = 0; i < size * size; i++) {
        sum += matrix[i];
    }
    if (!isfinite(sum)) {
        return false;
    }
    const int before = nadir_blas_threads(1);
    LAPACK_dsyev("V", "L", &n, matrix, &n, values, work, &length, &info);
    nadir_blas_restore(before);
    return info == 0;
}

/* If M - e I has factors in floating point, then M - e I + dM is positive semidefinite with |dM|_2 <=
 * gamma_{n+1} / (1 - gamma_{n+1}) trace (see spectral_norm.c); its diagonal was rounded once. */
bool nadir_symmetric_is_positive(const nadir_context *context, int64_t size, double *matrix, double error)
{
    const lapack_int n = (lapack_int)size;
    const double unit = NADIR_ROUND_UNIT;
    lapack_int info = 0;
    double trace = 0;
    for (int64_t i = 0; i < size; i++) {
        trace += fabs(matrix[i * size + i]);
    }
    const double slack = (error + (double)(size + 8) * unit * trace) * (1 + 1e-9);
    if (!isfinite(slack)) {
        return false;
    }
    for (int64_t i = 0; i < size; i++) {
        matrix[i * size + i] -= slack;
    }
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, size * size * size));
    LAPACK_dpotrf("L", &n, matrix, &n, &info);
    nadir_blas_restore(before);
    double last = 0; /* what is not a number gets into it */
    for (int64_t i = 0; i < size; i++) {
        last += matrix[i * size + i];
    }
    return info == 0 && isfinite(last);
}
