/*
 * low_rank_basis.c: many vectors in terms of few, by Gram and Schmidt, the longest remainder next; see
 * low_rank_basis.h.
 *
 * A step is X <- X - q t^T with t = X^T q as it was rounded: whatever t is, X was q t^T plus what X has
 * become, up to a rounding of the product and one of the difference. Both are at most u times the sum of
 * what is still to be taken away and of the remainder; so are the roundings of a combination.
 */
#include "linalg/low_rank_basis.h"

#include "core/round.h"
#include "linalg/threads.h"

#include <cblas.h>
#include <float.h>
#include <math.h>

enum { MOST = 12, SHARE = 3 }; /* vectors, and one in how many of them must be enough */

int nadir_low_rank_basis_limit(const nadir_context *context, int64_t count)
{
    if (context->communication->members > 1) {
        return 0;
    }
    return (int)(count / SHARE < 2 ? 0 : count / SHARE < MOST ? count / SHARE : MOST);
}

double nadir_low_rank_basis_rounding(int rank)
{
    return (rank + 2) * NADIR_ROUND_UNIT * (1 + 64 * DBL_EPSILON);
}

/* The index of the longest of the vectors whose squares are given, relative to what they were; -1: all are
 * done, -2: a number is not finite. */
static int64_t find_longest(int64_t length, int64_t count, const double *X, double tolerance,
                            const double *sizes, double *square)
{
    int64_t longest = -1;
    double most = tolerance * tolerance;
    for (int64_t j = 0; j < count; j++) {
        const double own_square = cblas_ddot((blasint)length, X + j * length, 1, X + j * length, 1);
        if (!isfinite(own_square)) {
            return -2;
        }
        if (own_square > most * sizes[j]) {
            longest = j;
            most = own_square / sizes[j];
            *square = own_square;
        }
    }
    return longest;
}

static int split(int64_t length, int64_t count, int limit, double tolerance, double *X, double *Q, double *T,
                 double *sizes)
{
    const blasint n = (blasint)length;
    for (int64_t j = 0; j < count; j++) {
        sizes[j] = cblas_ddot(n, X + j * length, 1, X + j * length, 1);
    }
    for (int rank = 0;; rank++) {
        double square = 0;
        const int64_t next = find_longest(length, count, X, tolerance, sizes, &square);
        if (next < 0) {
            return next == -1 ? rank : -1;
        }
        if (rank == limit) {
            return -1;
        }
        double *q = Q + rank * length;
        const double factor = 1 / sqrt(square);
        for (int64_t i = 0; i < length; i++) {
            q[i] = factor * X[next * length + i];
        }
        cblas_dgemv(CblasColMajor, CblasTrans, n, (blasint)count, 1, X, n, q, 1, 0, T + rank, limit);
        cblas_dger(CblasColMajor, n, (blasint)count, -1, q, 1, T + rank, limit, X, n);
    }
}

int nadir_low_rank_basis_split(const nadir_context *context, int64_t length, int64_t count, int limit,
                               double tolerance, double *X, double *Q, double *T, double *sizes)
{
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, length * count));
    const int rank = split(length, count, limit, tolerance, X, Q, T, sizes);
    nadir_blas_restore(before);
    return rank;
}

void nadir_low_rank_basis_combine(const nadir_context *context, int64_t length, int64_t count, int limit,
                                  int rank, const double *Y, const double *T, double *X)
{
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, length * count * (rank + 1)));
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (blasint)length, (blasint)count, rank, 1, Y,
                (blasint)length, T, limit, 0, X, (blasint)length);
    nadir_blas_restore(before);
}
