/*
 * spectrum.c: eigenpairs of a dense symmetric matrix, by LAPACK; see eigen.h.
 *
 * All by dsyevd, whose work is matrix products once the tridiagonal form is there; a part by dsyevr, which
 * bisects and iterates inversely on that form and transforms back only what is wanted.
 */
#include "linalg/eigen.h"

#include "linalg/threads.h"

#include <lapack.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 64 }; /* the largest block that LAPACK uses here; dsyevr wants (block + 6) n of work */

/* Below so many LAPACK's threads wait for each other more than they work: an eigendecomposition is thousands
 * of products of a matrix with a vector, and on a busy machine each may cost a turn of the scheduler. */
enum { ALONE = 300 };

static int threads_of(const nadir_context *context, int64_t n)
{
    return n < ALONE ? 1 : nadir_threads_for(context, n * n * n);
}

nadir_status nadir_spectrum_open(nadir_context *context, int64_t size, int64_t capacity,
                                 nadir_spectrum *spectrum)
{
    nadir_status status = NADIR_OK;
    const bool all = capacity == size;
    *spectrum = (nadir_spectrum){.size = size, .capacity = capacity};
    /* of dsyevd: 1 + 6 n + 2 n^2 and 3 + 5 n; of dsyevr: 10 n, and 2 n more for its list of supports */
    spectrum->work_length = 1 + (BLOCK + 26) * size + (all ? 2 * size * size : 0);
    spectrum->iwork_length = 3 + 12 * size;
    NADIR_NEW(context, spectrum->values, size);
    NADIR_NEW(context, spectrum->vectors, size * capacity);
    NADIR_NEW(context, spectrum->work, spectrum->work_length);
    NADIR_NEW(context, spectrum->iwork, spectrum->iwork_length);
cleanup:
    return status;
}

void nadir_spectrum_close(nadir_context *context, nadir_spectrum *spectrum)
{
    nadir_release(context, spectrum->values);
    nadir_release(context, spectrum->vectors);
    nadir_release(context, spectrum->work);
    nadir_release(context, spectrum->iwork);
    *spectrum = (nadir_spectrum){0};
}

/* LAPACK's eigenvalues rise. */
static void reverse(nadir_spectrum *spectrum)
{
    const int64_t n = spectrum->size;
    for (int64_t i = 0, j = spectrum->count - 1; i < j; i++, j--) {
        const double value = spectrum->values[i];
        spectrum->values[i] = spectrum->values[j];
        spectrum->values[j] = value;
        for (int64_t k = 0; k < n; k++) {
            const double entry = spectrum->vectors[i * n + k];
            spectrum->vectors[i * n + k] = spectrum->vectors[j * n + k];
            spectrum->vectors[j * n + k] = entry;
        }
    }
}

static nadir_status finish(nadir_context *context, lapack_int info, nadir_spectrum *spectrum)
{
    if (info != 0) {
        return nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                          "the eigenvalues of a symmetric matrix of size %lld did not converge (%d)",
                          (long long)spectrum->size, (int)info);
    }
    reverse(spectrum);
    return NADIR_OK;
}

nadir_status nadir_spectrum_all(nadir_context *context, double *matrix, nadir_spectrum *spectrum)
{
    const lapack_int n = (lapack_int)spectrum->size;
    const lapack_int work = (lapack_int)spectrum->work_length;
    const lapack_int iwork = (lapack_int)spectrum->iwork_length;
    lapack_int info = 0;
    const int before = nadir_blas_threads(threads_of(context, n));
    LAPACK_dsyevd("V", "L", &n, matrix, &n, spectrum->values, spectrum->work, &work, spectrum->iwork, &iwork,
                  &info);
    nadir_blas_restore(before);
    spectrum->count = n;
    memcpy(spectrum->vectors, matrix, (size_t)n * (size_t)n * sizeof *matrix);
    return finish(context, info, spectrum);
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

/* The eigenvalues from place `first` on, rising from 1, or, where that is 0, those from `low` to `high`. */
static nadir_status part(nadir_context *context, double *matrix, lapack_int first, double low, double high,
                         nadir_spectrum *spectrum)
{
    const lapack_int n = (lapack_int)spectrum->size;
    const lapack_int work = (lapack_int)spectrum->work_length;
    const lapack_int iwork = (lapack_int)(spectrum->iwork_length - 2 * n);
    const double tolerance = 0; /* as well as LAPACK can */
    lapack_int *supports = spectrum->iwork + iwork;
    lapack_int found = 0;
    lapack_int info = 0;
    const int before = nadir_blas_threads(threads_of(context, n));
    LAPACK_dsyevr("V", first > 0 ? "I" : "V", "L", &n, matrix, &n, &low, &high, &first, &n, &tolerance,
                  &found, spectrum->values, spectrum->vectors, &n, supports, spectrum->work, &work,
                  spectrum->iwork, &iwork, &info);
    nadir_blas_restore(before);
    spectrum->count = found;
    return finish(context, info, spectrum);
}

nadir_status nadir_spectrum_leading(nadir_context *context, double *matrix, int64_t count,
                                    nadir_spectrum *spectrum)
{
    return part(context, matrix, (lapack_int)(spectrum->size - count + 1), 0, 0, spectrum);
}

nadir_status nadir_spectrum_above(nadir_context *context, double *matrix, double threshold,
                                  nadir_spectrum *spectrum)
{
    const double high = above_all(spectrum->size, matrix);
    if (!(high > threshold)) {
        spectrum->count = 0;
        return NADIR_OK;
    }
    return part(context, matrix, 0, threshold, high, spectrum);
}
