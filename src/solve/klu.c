/*
 * klu.c: backend klu, sparse LU (KLU with the ordering AMD on the blocks of a block triangular form).
 *
 * The rows of A = I - gamma M are, as KLU reads them, the columns of A^T: that is what is factored, so that
 * nothing is transposed, and A x = b is a solve with its transpose.
 *
 * A matrix with dominant rows needs no pivoting in any symmetric order. KLU is made to keep it so: rows are
 * not scaled, and the diagonal stands first in its row, which makes the matching of the block triangular form
 * the diagonal. Then AMD's prediction of the fill holds as a bound.
 *
 * Against SuperLU 5.3 (docs/benchmarks.md, "Sparse LU"): faster on chains, bands and small or long grids,
 * slower on large square ones; it splits off strongly connected parts, and on failure returns instead of
 * ending the process.
 */
#include "core/context.h"
#include "linalg/threads.h"
#include "solve/backend.h"
#include "solve/direct_solver.h"

#include <klu.h>
#include <math.h>
#include <string.h>

/* A refactorisation keeps old pivots. If an entry of U outgrows A by more than this, new ones are sought. */
#define GROWTH_LIMIT 0.01

/* Right-hand sides of one call, whose count is an integer of KLU. */
#define SIDES_LIMIT (1 << 20)

typedef struct sparse_lu {
    const nadir_average *average;
    double gamma;
    /* A as CSR, the diagonal first in each row; the arrays of KLU are int */
    int *starts;    /* [states + 1] */
    int *columns;   /* [starts[states]] */
    double *values; /* [starts[states]] */
    klu_symbolic *symbolic;
    klu_numeric *numeric;
    klu_common common;
    bool ready; /* the factors are those of the average */
    nadir_backend_statistics statistics;
} sparse_lu;

static nadir_status refuse_size(nadir_context *context)
{
    return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                      "backend klu counts entries of the matrix and of its factors in 31 bits, and there are "
                      "more; choose krylov");
}

/* What KLU says after a call that failed. */
static nadir_status explain(nadir_context *context, const klu_common *common)
{
    switch (common->status) {
    case KLU_SINGULAR:
        return nadir_direct_singular(context, common->singular_col);
    case KLU_TOO_LARGE:
        return refuse_size(context);
    default:
        return nadir_fail(context, NADIR_ERROR_MEMORY, "out of memory in a sparse factorisation");
    }
}

/* The pattern of A: that of M and the diagonal. */
static nadir_status make_pattern(nadir_context *context, const nadir_matrix *matrix, int **starts,
                                 int **columns)
{
    nadir_status status = NADIR_OK;
    const int64_t n = matrix->size;
    int *made_starts = NULL;
    int *made_columns = NULL;
    if (matrix->starts[n] > INT32_MAX - n - 1) {
        return refuse_size(context);
    }
    NADIR_NEW(context, made_starts, n + 1);
    NADIR_NEW(context, made_columns, matrix->starts[n] + n);
    int to = 0;
    for (int64_t s = 0; s < n; s++) {
        made_starts[s] = to;
        made_columns[to++] = (int)s;
        for (int64_t i = matrix->starts[s]; i < matrix->starts[s + 1]; i++) {
            if (matrix->columns[i] != s) {
                made_columns[to++] = matrix->columns[i];
            }
        }
    }
    made_starts[n] = to;
    NADIR_RESIZE(context, made_columns, to);
    *starts = made_starts;
    *columns = made_columns;
    return NADIR_OK;
cleanup:
    NADIR_RELEASE(context, made_starts, made_columns);
    return status;
}

/* The values of row s. */
static void fill_row(const nadir_matrix *matrix, double gamma, int64_t s, double *values,
                     nadir_dominance *dominance)
{
    double diagonal = 1;
    double others = 0;
    int64_t to = 1;
    for (int64_t i = matrix->starts[s]; i < matrix->starts[s + 1]; i++) {
        const double value = -gamma * matrix->values[i];
        if (matrix->columns[i] == s) {
            diagonal += value;
        } else {
            values[to++] = value;
            others += fabs(value);
        }
    }
    values[0] = diagonal;
    nadir_dominance_add(dominance, s, fabs(diagonal), fabs(diagonal) + others);
}

static nadir_dominance fill(const nadir_context *context, sparse_lu *lu)
{
    const nadir_matrix *matrix = &lu->average->matrix;
    const int64_t n = matrix->size;
    nadir_dominance dominance = NADIR_DOMINANCE_START;
#pragma omp parallel for num_threads(nadir_threads_for(context, lu->starts[n])) reduction(join : dominance)
    for (int64_t s = 0; s < n; s++) {
        fill_row(matrix, lu->gamma, s, lu->values + lu->starts[s], &dominance);
    }
    return dominance;
}

static void set_parameters(klu_common *common)
{
    klu_defaults(common);
    common->scale = -1; /* none, and no check of arrays that we made */
}

/* KLU allocates initmem_amd times the predicted entries, an index and a value each. */
static void read_fill(const klu_symbolic *symbolic, const klu_common *common, nadir_fill *fill)
{
    const double entry = sizeof(double) + sizeof(int);
    const double n = symbolic->n;
    fill->entries = symbolic->lnz + symbolic->unz;
    fill->flops = symbolic->est_flops;
    fill->bytes = entry * (common->initmem_amd * fill->entries + symbolic->nzoff + 8 * n);
}

nadir_status nadir_klu_predict(nadir_context *context, const nadir_matrix *matrix, nadir_fill *fill)
{
    nadir_status status = NADIR_OK;
    int *starts = NULL;
    int *columns = NULL;
    klu_common common;
    set_parameters(&common);
    NADIR_CHECK(make_pattern(context, matrix, &starts, &columns));
    klu_symbolic *symbolic = klu_analyze((int)matrix->size, starts, columns, &common);
    if (symbolic == NULL) {
        status = explain(context, &common);
        goto cleanup;
    }
    read_fill(symbolic, &common, fill);
    klu_free_symbolic(&symbolic, &common);
cleanup:
    NADIR_RELEASE(context, starts, columns);
    return status;
}

static nadir_status factor(nadir_context *context, sparse_lu *lu)
{
    if (lu->numeric != NULL) {
        klu_free_numeric(&lu->numeric, &lu->common);
    }
    lu->numeric = klu_factor(lu->starts, lu->columns, lu->values, lu->symbolic, &lu->common);
    return lu->numeric != NULL ? NADIR_OK : explain(context, &lu->common);
}

/* New numbers into the old pattern of the factors; false: the old pivots do not suit. klu_refactor does not
 * look at the pivots of blocks of one state, klu_rcond does. */
static bool reuse_pivots(sparse_lu *lu)
{
    return lu->numeric != NULL &&
           klu_refactor(lu->starts, lu->columns, lu->values, lu->symbolic, lu->numeric, &lu->common) &&
           klu_rcond(lu->symbolic, lu->numeric, &lu->common) && lu->common.rcond > 0 &&
           klu_rgrowth(lu->starts, lu->columns, lu->values, lu->symbolic, lu->numeric, &lu->common) &&
           lu->common.rgrowth >= GROWTH_LIMIT;
}

static nadir_status klu_backend_refactor(nadir_context *context, void *self)
{
    nadir_status status = NADIR_OK;
    sparse_lu *lu = self;
    const double start = nadir_clock_seconds();
    lu->ready = false;
    const nadir_dominance dominance = fill(context, lu);
    NADIR_CHECK(nadir_dominance_check(context, &dominance));
    if (!reuse_pivots(lu)) {
        NADIR_CHECK(factor(context, lu));
    }
    if (!nadir_dominance_suffices(&dominance, lu->average->states)) {
        if (!klu_condest(lu->starts, lu->values, lu->symbolic, lu->numeric, &lu->common)) {
            NADIR_CHECK(explain(context, &lu->common));
        }
        NADIR_CHECK(nadir_direct_check_condition(context, lu->average->states, 1 / lu->common.condest));
    }
    lu->ready = true;
    lu->statistics.factorings++;
cleanup:
    lu->statistics.factor_seconds += nadir_clock_seconds() - start;
    return status;
}

static void klu_backend_destroy(nadir_context *context, void *self)
{
    sparse_lu *lu = self;
    if (lu != NULL) {
        if (lu->numeric != NULL) {
            klu_free_numeric(&lu->numeric, &lu->common);
        }
        if (lu->symbolic != NULL) {
            klu_free_symbolic(&lu->symbolic, &lu->common);
        }
        NADIR_RELEASE(context, lu->starts, lu->columns, lu->values, lu);
    }
}

/* Orders the pattern, and refuses factors that would not fit. */
static nadir_status analyse(nadir_context *context, sparse_lu *lu)
{
    const double start = nadir_clock_seconds();
    lu->symbolic = klu_analyze((int)lu->average->states, lu->starts, lu->columns, &lu->common);
    lu->statistics.factor_seconds += nadir_clock_seconds() - start;
    if (lu->symbolic == NULL) {
        return explain(context, &lu->common);
    }
    nadir_fill fill;
    read_fill(lu->symbolic, &lu->common, &fill);
    return nadir_direct_check_memory(context, "klu", fill.bytes);
}

static nadir_status klu_backend_setup(nadir_context *context, nadir_average *average, double gamma,
                                      void **self)
{
    nadir_status status = NADIR_OK;
    sparse_lu *lu = NULL;
    if (nadir_average_is_dense(average)) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "backend klu takes sparse models only; choose lapack or krylov");
    }
    NADIR_CHECK(nadir_average_fetch(context, average));
    NADIR_NEW_ZERO(context, lu, 1);
    lu->average = average;
    lu->gamma = gamma;
    set_parameters(&lu->common);
    NADIR_CHECK(make_pattern(context, &average->matrix, &lu->starts, &lu->columns));
    NADIR_NEW(context, lu->values, lu->starts[average->states]);
    NADIR_CHECK(analyse(context, lu));
    NADIR_CHECK(klu_backend_refactor(context, lu));
    *self = lu;
    lu = NULL;
cleanup:
    klu_backend_destroy(context, lu);
    return status;
}

static nadir_status klu_backend_solve(nadir_context *context, void *self, bool transposed, int64_t count,
                                      const double *b, double residual, double *x)
{
    (void)residual;
    sparse_lu *lu = self;
    const int n = (int)lu->average->states;
    if (!lu->ready) {
        return nadir_fail(context, NADIR_ERROR_ILL_POSED, "backend klu: the last factorisation failed");
    }
    memcpy(x, b, (size_t)(n * count) * sizeof *x);
    for (int64_t done = 0; done < count; done += SIDES_LIMIT) {
        const int sides = (int)(count - done < SIDES_LIMIT ? count - done : SIDES_LIMIT);
        if (transposed) {
            klu_solve(lu->symbolic, lu->numeric, n, sides, x + done * n, &lu->common);
        } else {
            klu_tsolve(lu->symbolic, lu->numeric, n, sides, x + done * n, &lu->common);
        }
    }
    lu->statistics.solves += count;
    return NADIR_OK;
}

static void klu_backend_statistics(const void *self, nadir_backend_statistics *statistics)
{
    const sparse_lu *lu = self;
    const int64_t n = lu->average->states;
    const int64_t pattern = (n + 1 + lu->starts[n]) * (int64_t)sizeof(int);
    *statistics = lu->statistics;
    statistics->bytes = (int64_t)lu->common.memusage + pattern + lu->starts[n] * (int64_t)sizeof *lu->values;
}

const nadir_backend nadir_backend_klu = {
    .name = "klu",
    .capabilities = NADIR_BACKEND_SPARSE | NADIR_BACKEND_DIRECT,
    .setup = klu_backend_setup,
    .refactor = klu_backend_refactor,
    .solve = klu_backend_solve,
    .statistics = klu_backend_statistics,
    .destroy = klu_backend_destroy,
};
