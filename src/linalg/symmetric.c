/* symmetric.c: small dense symmetric matrices, by LAPACK; see symmetric.h. */
#include "linalg/symmetric.h"

#include "linalg/threads.h"

#include <lapack.h>
#include <math.h>

bool nadir_symmetric_eigen(int size, double *matrix, double *values, double *work)
{
    const lapack_int n = size;
    const lapack_int room = NADIR_SYMMETRIC_WORK(n);
    lapack_int info = 0;
    double sum = 0;
    for (int i = 0; i < size * size; i++) {
        sum += matrix[i];
    }
    if (!isfinite(sum)) {
        return false;
    }
    const int before = nadir_blas_threads(1);
    LAPACK_dsyev("V", "L", &n, matrix, &n, values, work, &room, &info);
    nadir_blas_restore(before);
    return info == 0;
}
