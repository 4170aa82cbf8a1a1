/* cone.c: the scaled matrix, its Gram matrix, and candidates from single eigenvectors; see cone.h. */
#include "cone/cone.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

static nadir_status check(nadir_context *context, int64_t rows, int64_t columns, const double *matrix)
{
    if (rows < 1 || columns < 1 || columns > NADIR_SPECTRUM_LARGEST || rows > INT32_MAX) {
        return nadir_fail(
            context, NADIR_ERROR_ARGUMENT,
            "a matrix of %lld rows and %lld columns; expected at least one of each, and no more "
            "than %d columns",
            (long long)rows, (long long)columns, NADIR_SPECTRUM_LARGEST);
    }
    for (int64_t i = 0; i < rows * columns; i++) {
        if (!isfinite(matrix[i])) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "row %lld, column %lld of the matrix is %g; expected finite numbers",
                              (long long)(i / columns), (long long)(i % columns), matrix[i]);
        }
    }
    return NADIR_OK;
}

/* K = B^T B. The rounding of its sums of m products is at most gamma_m |B|^T |B|, in the 2-norm gamma_m
 * |B|_F^2. The 1e-290 added covers products that underflow. */
static void make_gram(const nadir_context *context, nadir_cone *cone)
{
    const int64_t n = cone->columns;
    const blasint size = (blasint)n;
    const double m = (double)cone->rows;
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, cone->rows * n * n));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, size, (blasint)cone->rows, 1, cone->B, size, 0,
                cone->K, size);
    nadir_blas_restore(before);
    double trace = 0;
    for (int64_t j = 0; j < n; j++) {
        trace += cone->K[j * n + j];
        for (int64_t i = j + 1; i < n; i++) {
            cone->K[i * n + j] = cone->K[j * n + i];
        }
    }
    cone->trace = trace * (1 + 2 * (m + (double)n) * UNIT);
    cone->error = (m + 2) * UNIT * 1.01 * cone->trace + 1e-290;
}

nadir_status nadir_cone_open(nadir_context *context, int64_t rows, int64_t columns, const double *matrix,
                             nadir_cone *cone)
{
    nadir_status status = NADIR_OK;
    *cone = (nadir_cone){.rows = rows, .columns = columns};
    NADIR_CHECK(check(context, rows, columns, matrix));
    NADIR_NEW(context, cone->B, rows * columns);
    NADIR_NEW(context, cone->K, columns * columns);
    NADIR_NEW(context, cone->work, columns * columns);
    (void)frexp(nadir_vector_largest(rows * columns, matrix), &cone->exponent);
    for (int64_t i = 0; i < rows * columns; i++) {
        cone->B[i] = ldexp(matrix[i], -cone->exponent);
    }
    make_gram(context, cone);
cleanup:
    return status;
}

void nadir_cone_close(nadir_context *context, nadir_cone *cone)
{
    nadir_release(context, cone->B);
    nadir_release(context, cone->K);
    nadir_release(context, cone->work);
    *cone = (nadir_cone){0};
}

nadir_status nadir_cone_spectrum(nadir_context *context, const nadir_cone *cone, int64_t count,
                                 nadir_spectrum *spectrum)
{
    const int64_t n = cone->columns;
    memcpy(cone->work, cone->K, (size_t)(n * n) * sizeof *cone->K);
    return nadir_spectrum_find(context, n, cone->work, count, 0, spectrum);
}

void nadir_cone_multiply(const nadir_context *context, const nadir_cone *cone, int64_t count, const double *x,
                         double *y)
{
    const blasint n = (blasint)cone->columns;
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, count * n * n));
    if (count == 1) {
        cblas_dsymv(CblasColMajor, CblasLower, n, 1, cone->K, n, x, 1, 0, y, 1);
    } else {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, (blasint)count, n, 1, cone->K, n, x, n, 0,
                    y, n);
    }
    nadir_blas_restore(before);
}

double nadir_cone_value(const nadir_context *context, const nadir_cone *cone, const double *x, double *work)
{
    const blasint m = (blasint)cone->rows;
    const blasint n = (blasint)cone->columns;
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, (int64_t)m * n));
    cblas_dgemv(CblasRowMajor, CblasNoTrans, m, n, 1, cone->B, n, x, 1, 0, work, 1);
    const double value = cblas_dnrm2(m, work, 1) / cblas_dnrm2(n, x, 1);
    nadir_blas_restore(before);
    return value;
}

double nadir_cone_positive(int64_t n, double sign, const double *v, double *u)
{
    double square = 0;
    for (int64_t i = 0; i < n; i++) {
        const double entry = sign * v[i];
        u[i] = entry > 0 ? entry : 0;
        square += u[i] * u[i];
    }
    const double length = sqrt(square);
    if (length > 0) {
        nadir_vector_divide(n, length, u);
    } else {
        memset(u, 0, (size_t)n * sizeof *u);
    }
    return length;
}

double nadir_cone_longer(int64_t n, const double *v, double *u)
{
    double square[2] = {0};
    for (int64_t i = 0; i < n; i++) {
        square[v[i] < 0] += v[i] * v[i];
    }
    return nadir_cone_positive(n, square[1] > square[0] ? -1 : 1, v, u);
}

void nadir_cone_zero(const nadir_cone *cone, const nadir_spectrum *spectrum, double *x)
{
    (void)nadir_cone_longer(cone->columns, spectrum->vectors, x);
}

nadir_status nadir_cone_first(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                              double *x)
{
    nadir_status status = NADIR_OK;
    const int64_t n = cone->columns;
    double *U = NULL;
    double *KU = cone->work;
    double best = -1;
    NADIR_NEW(context, U, n * n);
    for (int64_t i = 0; i < n; i++) {
        (void)nadir_cone_longer(n, spectrum->vectors + i * n, U + i * n);
    }
    nadir_cone_multiply(context, cone, n, U, KU);
    for (int64_t i = 0; i < n; i++) {
        const double square = cblas_ddot((blasint)n, U + i * n, 1, KU + i * n, 1);
        if (square > best) {
            best = square;
            memcpy(x, U + i * n, (size_t)n * sizeof *x);
        }
    }
cleanup:
    nadir_release(context, U);
    return status;
}

/* <v_i, u_i> is the length of the longer part of v_i. */
void nadir_cone_scored(const nadir_cone *cone, const nadir_spectrum *spectrum, nadir_cone_score score,
                       double *x)
{
    const int64_t n = cone->columns;
    int64_t j = 0;
    double best = -1;
    for (int64_t i = 0; i < spectrum->count; i++) {
        const double length = nadir_cone_longer(n, spectrum->vectors + i * n, x);
        const double scored =
            spectrum->values[i] * (score == NADIR_CONE_SCORE_SQUARED ? length * length : length);
        if (scored > best) {
            best = scored;
            j = i;
        }
    }
    (void)nadir_cone_longer(n, spectrum->vectors + j * n, x);
}
