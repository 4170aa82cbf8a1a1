/*
 * spectrum.c: eigenpairs of a dense symmetric matrix, by LAPACK; see cone.h.
 *
 * By dsyevr, which transforms back from the tridiagonal form only what is wanted.
 */
#include "cone/cone.h"

#include <cblas.h>
#include <lapack.h>
#include <math.h>

enum { BLOCK = 64 }; /* the largest block that LAPACK uses here; dsyevr wants (block + 6) n of work */

/* Below so many LAPACK's threads wait for each other more than they work: an eigendecomposition is thousands
 * of products of a matrix with a vector, and on a busy machine each may cost a turn of the scheduler. */
enum { ALONE = 300 };

static int threads_of(const nadir_context *context, int64_t n)
{
    return n < ALONE ? 1 : nadir_threads_for(context, n * n * n);
}

void nadir_spectrum_close(nadir_context *context, nadir_spectrum *spectrum)
{
    nadir_release(context, spectrum->values);
    nadir_release(context, spectrum->vectors);
    *spectrum = (nadir_spectrum){0};
}

/* LAPACK's eigenvalues rise. */
static void reverse(int64_t n, const nadir_spectrum *spectrum)
{
    for (int64_t i = 0, j = spectrum->count - 1; i < j; i++, j--) {
        const double value = spectrum->values[i];
        spectrum->values[i] = spectrum->values[j];
        spectrum->values[j] = value;
        cblas_dswap((blasint)n, spectrum->vectors + i * n, 1, spectrum->vectors + j * n, 1);
    }
}

/* Above every eigenvalue: the Frobenius norm and a little. */
static double above_all(int64_t n, const double *matrix)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) {
            sum += (i == j ? 1 : 2) * matrix[j * n + i] * matrix[j * n + i];
        }
    }
    return 1.01 * sqrt(sum);
}

nadir_status nadir_spectrum_find(nadir_context *context, int64_t size, double *matrix, int64_t count,
                                 double threshold, nadir_spectrum *spectrum)
{
    nadir_status status = NADIR_OK;
    const lapack_int n = (lapack_int)size;
    const lapack_int first = (lapack_int)(size - count + 1);
    const lapack_int work_length = (BLOCK + 26) * n;
    const lapack_int iwork_length = 10 * n;
    const double tolerance = 0; /* as well as LAPACK can */
    const double high = count > 0 ? 0 : above_all(size, matrix);
    lapack_int found = 0;
    lapack_int info = 0;
    double *work = NULL;
    lapack_int *iwork = NULL;
    nadir_spectrum_close(context, spectrum);
    if (count == 0 && !(high > threshold)) {
        return NADIR_OK;
    }
    NADIR_NEW(context, spectrum->values, size);
    NADIR_NEW(context, spectrum->vectors, size * (count > 0 ? count : size));
    NADIR_NEW(context, work, work_length);
    NADIR_NEW(context, iwork, iwork_length + 2 * n); /* and the list of supports */
    const int before = nadir_blas_threads(threads_of(context, n));
    LAPACK_dsyevr("V", count > 0 ? "I" : "V", "L", &n, matrix, &n, &threshold, &high, &first, &n, &tolerance,
                  &found, spectrum->values, spectrum->vectors, &n, iwork + iwork_length, work, &work_length,
                  iwork, &iwork_length, &info);
    nadir_blas_restore(before);
    spectrum->count = found;
    reverse(size, spectrum);
    if (info != 0) {
        status = nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                            "the eigenvalues of a symmetric matrix of size %lld did not converge (%d)",
                            (long long)size, (int)info);
    }
cleanup:
    nadir_release(context, work);
    nadir_release(context, iwork);
    return status;
}
