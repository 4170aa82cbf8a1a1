/*
 * lapack.c: backend lapack, dense LU with partial pivoting.
 *
 * A = I - gamma M row after row is, as LAPACK reads it, A^T column after column: that is what is factored, so
 * that nothing is transposed, and A x = b is a solve with its transpose. A sparse M is scattered into a dense
 * matrix.
 */
#include "core/context.h"
#include "linalg/threads.h"
#include "solve/backend.h"
#include "solve/direct_solver.h"

#include <cblas.h>
#include <lapack.h>
#include <math.h>
#include <string.h>

/* The square of the largest size still fits 32 bits, the integers of LAPACK. */
#define STATES_LIMIT 46340

/* From this size on dgetrf gets a second thread, and another one for each further multiple. Two threads
 * against one, on two idle cores: S=100 1.01, 150 0.85, 200 0.75, 300 0.67, 400 0.87, 1000 0.66, 2000 0.58;
 * but when other programs keep the cores busy threads wait for each other some milliseconds at a time, and
 * what is to be won below this size is 0.1 ms. */
#define STATES_PER_THREAD 256

/* From this many right-hand sides on a second thread pays for dgetrs (S=300, two cores): 1: 1.0, 4: 0.8, 8:
 * 0.7, 64: 0.55; on small systems 2: 1.8, 4: 1.4, 8: 1.0. */
#define THREADED_SIDES 8

/* Fewer right-hand sides than this are solved one by one: dtrsv beats dtrsm. Two of them, together against
 * one by one: S=300 46 us and 30 us, S=1000 460 us and 280 us; four: 62 us and 60 us, 590 us and 560 us. */
#define JOINT_SIDES 4

/* From this size on the factorisation goes in blocks of columns, between which it can be interrupted. */
#define BLOCKS_FROM   2500
#define BLOCK_COLUMNS 512

/* Right-hand sides of one call, whose count is an integer of LAPACK. */
#define SIDES_LIMIT (1 << 20)

typedef struct dense_lu {
    nadir_average *average;
    double gamma;
    double *factors;    /* [states * states] */
    lapack_int *pivots; /* [states] */
    bool ready;         /* the factors are those of the average */
    nadir_backend_statistics statistics;
} dense_lu;

/* Row s of A. */
static void fill_row(const nadir_matrix *matrix, double gamma, int64_t s, double *row,
                     nadir_dominance *dominance)
{
    const int64_t n = matrix->size;
    if (matrix->dense != NULL) {
        const double *from = matrix->dense + s * n;
        for (int64_t t = 0; t < n; t++) {
            row[t] = -gamma * from[t];
        }
    } else {
        memset(row, 0, (size_t)n * sizeof *row);
        for (int64_t i = matrix->starts[s]; i < matrix->starts[s + 1]; i++) {
            row[matrix->columns[i]] = -gamma * matrix->values[i];
        }
    }
    row[s] += 1;
    nadir_dominance_add(dominance, s, fabs(row[s]), cblas_dasum((blasint)n, row, 1));
}

static nadir_dominance fill(const nadir_context *context, dense_lu *lu)
{
    const nadir_matrix *matrix = &lu->average->matrix;
    const int64_t n = matrix->size;
    nadir_dominance dominance = NADIR_DOMINANCE_START;
#pragma omp parallel for num_threads(nadir_threads_for(context, n *n)) reduction(join : dominance)
    for (int64_t s = 0; s < n; s++) {
        fill_row(matrix, lu->gamma, s, lu->factors + s * n, &dominance);
    }
    return dominance;
}

static int factor_threads(const nadir_context *context, int64_t states)
{
    const int64_t useful = states / STATES_PER_THREAD + 1;
    return useful < context->threads ? (int)useful : (int)context->threads;
}

/* The maximum norm of A is the 1-norm of what LAPACK sees. */
static nadir_status estimate_condition(nadir_context *context, const dense_lu *lu, double norm)
{
    nadir_status status = NADIR_OK;
    const lapack_int n = (lapack_int)lu->average->states;
    double *work = NULL;
    lapack_int *integers = NULL;
    double reciprocal = 0;
    lapack_int info = 0;
    NADIR_NEW(context, work, 4 * (int64_t)n);
    NADIR_NEW(context, integers, n);
    LAPACK_dgecon("1", &n, lu->factors, &n, &norm, &reciprocal, work, integers, &info);
    NADIR_CHECK(nadir_direct_check_condition(context, n, reciprocal));
cleanup:
    NADIR_RELEASE(context, work, integers);
    return status;
}

/* Columns [first, first + columns) are factored; carries that over to the columns left and right of them. */
static void update_others(dense_lu *lu, lapack_int first, lapack_int columns)
{
    const lapack_int n = (lapack_int)lu->average->states;
    const lapack_int next = first + columns;
    const lapack_int rest = n - next;
    const lapack_int from = first + 1;
    const lapack_int one = 1;
    double *factors = lu->factors;
    LAPACK_dlaswp(&first, factors, &n, &from, &next, lu->pivots, &one);
    if (rest > 0) {
        double *right = factors + (int64_t)next * n;
        LAPACK_dlaswp(&rest, right, &n, &from, &next, lu->pivots, &one);
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, columns, rest, 1,
                    factors + (int64_t)first * n + first, n, right + first, n);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rest, rest, columns, -1,
                    factors + (int64_t)first * n + next, n, right + first, n, 1, right + next, n);
    }
}

/* dgetrf, column block by column block from the left. *info as there. */
static nadir_status factor_in_blocks(nadir_context *context, dense_lu *lu, lapack_int *info)
{
    const lapack_int n = (lapack_int)lu->average->states;
    for (lapack_int first = 0; first < n && *info == 0; first += BLOCK_COLUMNS) {
        const lapack_int columns = n - first < BLOCK_COLUMNS ? n - first : BLOCK_COLUMNS;
        const lapack_int rows = n - first;
        const double left = (double)rows / n;
        NADIR_TRY(nadir_progress(context, "factoring", 1 - left * left * left));
        LAPACK_dgetrf(&rows, &columns, lu->factors + (int64_t)first * n + first, &n, lu->pivots + first,
                      info);
        *info += *info > 0 ? first : 0;
        for (lapack_int i = first; i < first + columns; i++) {
            lu->pivots[i] += first;
        }
        update_others(lu, first, columns);
    }
    return NADIR_OK;
}

/* L and U in place of A. */
static nadir_status factor(nadir_context *context, dense_lu *lu)
{
    nadir_status status = NADIR_OK;
    const lapack_int n = (lapack_int)lu->average->states;
    lapack_int info = 0;
    const int before = nadir_blas_threads(factor_threads(context, n));
    if (n < BLOCKS_FROM) {
        LAPACK_dgetrf(&n, &n, lu->factors, &n, lu->pivots, &info);
    } else {
        status = factor_in_blocks(context, lu, &info);
    }
    nadir_blas_restore(before);
    return status == NADIR_OK && info > 0 ? nadir_direct_singular(context, info - 1) : status;
}

static nadir_status lapack_refactor(nadir_context *context, void *self)
{
    nadir_status status = NADIR_OK;
    dense_lu *lu = self;
    const double start = nadir_clock_seconds();
    const int64_t n = lu->average->states;
    lu->ready = false;
    NADIR_CHECK(nadir_average_fetch(context, lu->average));
    const nadir_dominance dominance = fill(context, lu);
    NADIR_CHECK(nadir_dominance_check(context, &dominance));
    NADIR_CHECK(factor(context, lu));
    if (!nadir_dominance_suffices(&dominance, n)) {
        NADIR_CHECK(estimate_condition(context, lu, dominance.norm));
    }
    lu->ready = true;
    lu->statistics.factorings++;
cleanup:
    lu->statistics.factor_seconds += nadir_clock_seconds() - start;
    return status;
}

static void lapack_destroy(nadir_context *context, void *self)
{
    dense_lu *lu = self;
    if (lu != NULL) {
        NADIR_RELEASE(context, lu->factors, lu->pivots, lu);
    }
}

static nadir_status lapack_setup(nadir_context *context, nadir_average *average, double gamma, void **self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = average->states;
    dense_lu *lu = NULL;
    if (n > STATES_LIMIT) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "backend lapack takes at most %d states, this model has %lld; choose klu or krylov",
                          STATES_LIMIT, (long long)n);
    }
    const int64_t bytes = n * n * (int64_t)sizeof *lu->factors + n * (int64_t)sizeof *lu->pivots;
    NADIR_CHECK(nadir_direct_check_memory(context, "lapack", (double)bytes));
    NADIR_NEW_ZERO(context, lu, 1);
    lu->average = average;
    lu->gamma = gamma;
    lu->statistics.bytes = bytes;
    NADIR_NEW(context, lu->factors, n * n);
    NADIR_NEW(context, lu->pivots, n);
    NADIR_CHECK(lapack_refactor(context, lu));
    *self = lu;
    lu = NULL;
cleanup:
    lapack_destroy(context, lu);
    return status;
}

static nadir_status lapack_solve(nadir_context *context, void *self, bool transposed, int64_t count,
                                 const double *b, double residual, double *x)
{
    (void)residual;
    dense_lu *lu = self;
    const lapack_int n = (lapack_int)lu->average->states;
    lapack_int info = 0;
    if (!lu->ready) {
        return nadir_fail(context, NADIR_ERROR_ILL_POSED, "backend lapack: the last factorisation failed");
    }
    memcpy(x, b, (size_t)(n * count) * sizeof *x);
    const int64_t joint = count < JOINT_SIDES ? 1 : SIDES_LIMIT;
    const int threads = count < THREADED_SIDES ? 1 : factor_threads(context, n);
    const int before = nadir_blas_threads(threads);
    for (int64_t done = 0; done < count; done += joint) {
        const lapack_int sides = (lapack_int)(count - done < joint ? count - done : joint);
        LAPACK_dgetrs(transposed ? "N" : "T", &n, &sides, lu->factors, &n, lu->pivots, x + done * n, &n,
                      &info);
    }
    nadir_blas_restore(before);
    lu->statistics.solves += count;
    return NADIR_OK;
}

static void lapack_statistics(const void *self, nadir_backend_statistics *statistics)
{
    const dense_lu *lu = self;
    *statistics = lu->statistics;
}

const nadir_backend nadir_backend_lapack = {
    .name = "lapack",
    .capabilities = NADIR_BACKEND_DENSE | NADIR_BACKEND_SPARSE | NADIR_BACKEND_DIRECT,
    .setup = lapack_setup,
    .refactor = lapack_refactor,
    .solve = lapack_solve,
    .statistics = lapack_statistics,
    .destroy = lapack_destroy,
};
