/*
 * krylov.c: the matrix-free backend; see backend.h.
 *
 * A = I - gamma M is never factored, only applied. Each round is one run of BiCGSTAB on the residual, whose
 * result is taken when the residual computed anew, r = b - A x, is smaller than before. A round that did not
 * beat the square root of what the contraction
 *
 *     x <- b + gamma M x = x + r,     |r| shrinks by c = gamma |M| or more,
 *
 * would have made of as many products is followed by a stretch of the contraction: as many products, twice as
 * many after the next such round, and so on. (|M| is the largest row sum of |M|, which bounds M in the
 * maximum norm and M^T in the 1-norm.) So for c < 1 every solve ends after at most five times the products
 * that the contraction alone would need, and as a rule after far fewer.
 *
 * Rounding: r is known to about
 *
 *     level = eps (2 + sqrt(longest row)) (|b| + 2 |x|)
 *
 * where the roundings of tails, if the average has any, count as entries.
 *
 * A column has met rounding when a round failed below that level, or when a contraction did not contract. If
 * its residual is then at most ten times what was asked for, that is accepted; otherwise the answer is
 * NADIR_ERROR_NOT_CONVERGED, and x is as good as it gets. For c >= 1 there is no contraction to fall back on,
 * and a round that does not halve the residual ends the column the same way; likewise where the contraction
 * would need more than 10^7 products, for ever as good as.
 *
 * A guess that is worse than zero is dropped for zero. A solve gives the same bits for any number of threads
 * and of columns, if M is sparse; with a dense M, BLAS decides.
 */
#include "linalg/distributed.h"
#include "linalg/formulas.h"
#include "linalg/iterative.h"
#include "solve/backend.h"

#include "core/context.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define COLUMNS     NADIR_BICGSTAB_COLUMNS
#define CACHED      262144 /* numbers */
#define LONG_ROW    32     /* entries */
#define NEAR_ENOUGH 10

typedef struct krylov {
    nadir_average *average;
    double gamma;
    double rate;                /* c */
    double row_roots[2];        /* square root of the longest row of M and of M^T; 0: not known yet */
    double *work;               /* [NADIR_BICGSTAB_VECTORS * states * width] */
    int64_t width;              /* columns that there is memory for */
    nadir_linear_system system; /* A */
    nadir_backend_statistics statistics;
} krylov;

/* A right-hand side on its way. */
typedef struct krylov_column {
    int64_t index; /* among the caller's */
    const double *b;
    double *x;
    double b_norm;
    double residual; /* norm of b - A x */
    int64_t failures;
} krylov_column;

/* A block of right-hand sides; the residual vector of column j is at work + j * states. */
typedef struct krylov_block {
    nadir_context *context;
    krylov *self;
    bool transposed;
    nadir_norm norm;
    double goal;
    int64_t count; /* columns not done: columns[0..count) */
    krylov_column columns[COLUMNS];
    nadir_status status; /* of the columns that are done */
} krylov_block;

static nadir_status apply(nadir_context *context, void *user, bool transposed, int64_t count, const double *x,
                          double *y)
{
    krylov *self = user;
    self->statistics.iterations += count;
    return nadir_average_combine(context, self->average, transposed, count, 1, -self->gamma, x, y);
}

/* What depends on the values of the average. */
static void read_average(const nadir_context *context, krylov *self)
{
    const nadir_average *average = self->average;
    const double norm = average->b == NULL               ? average->norm
                        : average->device_matrix != NULL ? average->facts.norm
                                                         : nadir_matrix_norm(context, &average->matrix);
    self->rate = self->gamma * norm;
    self->row_roots[0] = 0;
    self->row_roots[1] = 0;
    self->statistics.factorings++;
}

static void destroy(nadir_context *context, void *backend)
{
    krylov *self = backend;
    if (self != NULL) {
        NADIR_RELEASE(context, self->work, self);
    }
}

static nadir_status setup(nadir_context *context, nadir_average *average, double gamma, void **backend)
{
    nadir_status status = NADIR_OK;
    krylov *self = NULL;
    const double start = nadir_clock_seconds();
    NADIR_NEW_ZERO(context, self, 1);
    self->average = average;
    self->gamma = gamma;
    self->system = (nadir_linear_system){
        .size = average->states,
        .first = average->exchange != NULL ? average->exchange->first : 0,
        .apply = apply,
        .user = self,
    };
    read_average(context, self);
    self->statistics.factor_seconds = nadir_clock_seconds() - start;
    *backend = self;
cleanup:
    return status;
}

static nadir_status refactor(nadir_context *context, void *backend)
{
    krylov *self = backend;
    const double start = nadir_clock_seconds();
    read_average(context, self);
    self->statistics.factor_seconds += nadir_clock_seconds() - start;
    return NADIR_OK;
}

/*
 * How many columns go in step. Each pass over the matrix then serves several, but their vectors push one
 * another out of the cache, which costs more as soon as they do not fit in it, unless rows are long. (Grid of
 * 300 x 300, 4 entries in a row: 0.69 ms for each product with eight columns in step, 0.47 ms with one.)
 */
static int64_t columns_in_step(const krylov *self, int64_t count)
{
    const nadir_matrix *matrix = &self->average->matrix;
    const int64_t n = matrix->size;
    if (self->average->exchange != NULL) { /* products are made one by one, and all processes must agree */
        return 1;
    }
    const bool dense = nadir_average_is_dense(self->average);
    const bool long_rows =
        dense || (matrix->starts != NULL ? matrix->starts[n] : self->average->facts.entries) / LONG_ROW >= n;
    int64_t columns = long_rows ? COLUMNS : CACHED / (NADIR_BICGSTAB_VECTORS * n);
    columns = columns < COLUMNS ? columns : COLUMNS;
    columns = columns > 1 ? columns : 1;
    return columns < count ? columns : count;
}

/* Work space for `width` columns at once. */
static nadir_status make_work(nadir_context *context, krylov *self, int64_t width)
{
    nadir_status status = NADIR_OK;
    if (width > self->width) {
        nadir_release(context, self->work);
        self->work = NULL;
        self->width = 0;
        NADIR_NEW(context, self->work, NADIR_BICGSTAB_VECTORS * self->average->states * width);
        self->width = width;
    }
cleanup:
    return status;
}

static double *residual_of(const krylov_block *block, int64_t j)
{
    return block->self->work + j * block->self->average->states;
}

/* eps (2 + sqrt(longest row)) (|b| + 2 |x|) */
static double rounding_level(const krylov_block *block, const krylov_column *column)
{
    krylov *self = block->self;
    const nadir_average *average = self->average;
    double *root = &self->row_roots[block->transposed];
    if (*root == 0) {
        const nadir_matrix transpose = {.size = average->states, .starts = average->transpose.starts};
        const bool other = block->transposed && transpose.starts != NULL;
        const int64_t longest =
            other ? nadir_matrix_row_length(&transpose) : nadir_average_row_length(average);
        *root = sqrt(nadir_allreduce_maximum(block->context, (double)longest) +
                     nadir_offsupport_tail_roundings(&average->tail, block->transposed));
    }
    const double x = nadir_blocks_norm(block->context, block->norm, average->states, column->x);
    return DBL_EPSILON * (2 + *root) * (column->b_norm + 2 * x);
}

/* r <- b - A x for one column; r: [states]. */
static nadir_status compute_residual(const krylov_block *block, krylov_column *column, double *r)
{
    krylov *self = block->self;
    const nadir_status status = apply(block->context, self, block->transposed, 1, column->x, r);
    if (status == NADIR_OK) {
        column->residual =
            nadir_blocks_subtract_from(block->context, block->norm, self->average->states, column->b, r);
    }
    return status;
}

/* The status of a column that is done, with the sentence kept where it failed. */
static nadir_status verdict(const krylov_block *block, const krylov_column *column)
{
    if (!isfinite(column->residual)) {
        return nadir_fail(block->context, NADIR_ERROR_NOT_CONVERGED,
                          "krylov: right-hand side %lld has entries that are not finite",
                          (long long)column->index);
    }
    if (column->residual > NEAR_ENOUGH * block->goal) {
        return nadir_fail(block->context, NADIR_ERROR_NOT_CONVERGED,
                          "krylov: the residual of right-hand side %lld stays at %.3g; %.3g was wanted, and "
                          "rounding allows about %.3g",
                          (long long)column->index, column->residual, block->goal,
                          rounding_level(block, column));
    }
    return NADIR_OK;
}

/* Takes column j, which is done, out of the block; the last one moves to its place. */
static void finish_column(krylov_block *block, int64_t j)
{
    if (block->status == NADIR_OK) {
        block->status = verdict(block, &block->columns[j]);
    }
    block->count--;
    if (j < block->count) {
        block->columns[j] = block->columns[block->count];
        memcpy(residual_of(block, j), residual_of(block, block->count),
               (size_t)block->self->average->states * sizeof(double));
    }
}

/* The goal, but not so small that a residual could not tell it from zero: a run towards it would not end. */
static double sensible_goal(const krylov_block *block, const krylov_column *column)
{
    const double least = NADIR_KRYLOV_LEAST_SHARE * rounding_level(block, column);
    return block->goal > least ? block->goal : least;
}

/* The products that the contraction needs from here; c < 1. */
static int64_t contraction_products(const krylov_block *block, const krylov_column *column)
{
    return nadir_contraction_products(sensible_goal(block, column), column->residual, block->self->rate);
}

/* The products that a run may take: those of the contraction, within limits. */
static int64_t run_limit(const krylov_block *block, const krylov_column *column)
{
    if (block->self->rate >= 1) {
        return NADIR_KRYLOV_MOST_PRODUCTS;
    }
    const int64_t products = contraction_products(block, column);
    return products < NADIR_KRYLOV_MOST_PRODUCTS ? products : NADIR_KRYLOV_MOST_PRODUCTS;
}

/* Up to `products` steps x <- x + r. *contracted: they did what they must, rounding aside. */
static nadir_status contract(const krylov_block *block, krylov_column *column, double *r, int64_t products,
                             bool *contracted)
{
    const int64_t n = block->self->average->states;
    const double start = column->residual;
    const double level = rounding_level(block, column);
    *contracted = true;
    for (int64_t done = 1; done <= products && *contracted && column->residual > block->goal; done++) {
        nadir_blocks_add(block->context, n, 1, r, column->x);
        NADIR_TRY(compute_residual(block, column, r));
        NADIR_TRY(nadir_residual_progress(block->context, start, column->residual, block->goal));
        *contracted = column->residual <= start * pow(block->self->rate, (double)done / 2) + level;
    }
    return NADIR_OK;
}

/* Column j made no headway in a run of `products`: contracts, and ends the column where that is no use. */
static nadir_status fall_back(krylov_block *block, int64_t j, int64_t products)
{
    krylov_column *column = &block->columns[j];
    const int64_t needed = block->self->rate < 1 ? contraction_products(block, column) : INT64_MAX;
    bool goes_on = needed <= NADIR_KRYLOV_MOST_CONTRACTION;
    if (goes_on) {
        const bool met_rounding = column->residual <= rounding_level(block, column);
        const int64_t doubled =
            (products > NADIR_KRYLOV_LEAST_PRODUCTS ? products : NADIR_KRYLOV_LEAST_PRODUCTS)
            << column->failures;
        column->failures += column->failures < NADIR_KRYLOV_MOST_DOUBLINGS;
        NADIR_TRY(contract(block, column, residual_of(block, j),
                           met_rounding       ? NADIR_KRYLOV_LAST_PRODUCTS
                           : doubled < needed ? doubled
                                              : needed,
                           &goes_on));
        goes_on = goes_on && !met_rounding;
    }
    if (!goes_on || column->residual <= block->goal) {
        finish_column(block, j);
    }
    return NADIR_OK;
}

/* What to do with column j after a run of `products` that took its residual from `before` to what it is. */
static nadir_status judge(krylov_block *block, int64_t j, double before, int64_t products)
{
    const double residual = block->columns[j].residual;
    const double rate = block->self->rate;
    const double enough = rate < 1 ? pow(rate, (double)products / 2) : 0.5;
    if (residual <= block->goal) {
        finish_column(block, j);
        return NADIR_OK;
    }
    /* the share of a denormal residual may be all of it */
    const bool headway = residual < before && residual <= enough * before;
    return headway ? NADIR_OK : fall_back(block, j, products);
}

/* One run of BiCGSTAB on all columns, and the judgement. */
static nadir_status run_round(krylov_block *block)
{
    nadir_context *context = block->context;
    krylov *self = block->self;
    const int64_t n = self->average->states;
    const int64_t count = block->count;
    double *trial = self->work + count * n;
    nadir_bicgstab_column runs[COLUMNS];
    krylov_column ordered[COLUMNS];
    double before[COLUMNS];
    int64_t products[COLUMNS];
    for (int64_t j = 0; j < count; j++) {
        runs[j] = (nadir_bicgstab_column){.residual = block->columns[j].residual,
                                          .goal = NADIR_KRYLOV_GOAL_SHARE *
                                                  sensible_goal(block, &block->columns[j]),
                                          .limit = run_limit(block, &block->columns[j])};
    }
    NADIR_TRY(nadir_bicgstab_run(context, &self->system, block->transposed, count, runs, self->work));
    for (int64_t j = 0; j < count; j++) {
        const int64_t slot = runs[j].slot;
        ordered[slot] = block->columns[j];
        before[slot] = runs[j].residual;
        products[slot] = runs[j].products;
        /* trial = x + residual * correction */
        memcpy(trial + slot * n, ordered[slot].x, (size_t)n * sizeof(double));
        nadir_blocks_add(context, n, runs[j].residual, self->work + slot * n, trial + slot * n);
    }
    memcpy(block->columns, ordered, (size_t)count * sizeof *ordered);
    NADIR_TRY(apply(context, self, block->transposed, count, trial, self->work));
    for (int64_t j = 0; j < count; j++) {
        krylov_column *column = &block->columns[j];
        double *r = residual_of(block, j);
        const double residual = nadir_blocks_subtract_from(context, block->norm, n, column->b, r);
        if (residual < before[j]) {
            column->residual = residual;
            memcpy(column->x, trial + j * n, (size_t)n * sizeof(double));
        } else {
            NADIR_TRY(compute_residual(block, column, r));
        }
    }
    for (int64_t j = count - 1; j >= 0; j--) {
        NADIR_TRY(judge(block, j, before[j], products[j]));
    }
    return NADIR_OK;
}

/* Residuals of the guesses; those that are good enough are done, those that are worse than zero are zero. */
static nadir_status start_block(krylov_block *block, int64_t count, const double *b, double *x)
{
    nadir_context *context = block->context;
    const int64_t n = block->self->average->states;
    const size_t bytes = (size_t)n * sizeof(double);
    block->count = count;
    for (int64_t j = 0; j < count; j++) {
        krylov_column *column = &block->columns[j];
        double *r = residual_of(block, j);
        column->b = b + j * n;
        column->x = x + j * n;
        column->b_norm = nadir_blocks_norm(context, block->norm, n, column->b);
        column->residual = INFINITY;
        if (!nadir_blocks_are_zero(context, n, column->x)) {
            NADIR_TRY(compute_residual(block, column, r));
        }
        if (!(column->residual <= column->b_norm)) {
            memset(column->x, 0, bytes);
            memcpy(r, column->b, bytes);
            column->residual = column->b_norm;
        }
    }
    for (int64_t j = count - 1; j >= 0; j--) {
        const double residual = block->columns[j].residual;
        if (residual <= block->goal || !isfinite(residual)) {
            finish_column(block, j);
        }
    }
    return NADIR_OK;
}

static nadir_status solve(nadir_context *context, void *backend, bool transposed, int64_t count,
                          const double *b, double residual, double *x)
{
    nadir_status status = NADIR_OK;
    krylov *self = backend;
    const int64_t n = self->average->states;
    krylov_block block = {.context = context,
                          .self = self,
                          .transposed = transposed,
                          .norm = nadir_residual_norm(transposed),
                          .goal = residual};
    const int64_t width = columns_in_step(self, count);
    NADIR_CHECK(nadir_average_prepare(context, self->average));
    NADIR_CHECK(make_work(context, self, width));
    for (int64_t j = 0; j < count; j += width) {
        const int64_t some = count - j < width ? count - j : width;
        for (int64_t i = 0; i < some; i++) {
            block.columns[i] = (krylov_column){.index = j + i};
        }
        NADIR_CHECK(start_block(&block, some, b + j * n, x + j * n));
        while (block.count > 0) {
            NADIR_CHECK(run_round(&block));
        }
        self->statistics.solves += some;
    }
    status = block.status;
cleanup:
    return status;
}

/* The transpose that the average keeps is there for this backend's sake. */
static void statistics(const void *backend, nadir_backend_statistics *result)
{
    const krylov *self = backend;
    const nadir_average *average = self->average;
    const int64_t n = average->states;
    const bool transposed = average->transpose.starts != NULL;
    const int64_t vectors = NADIR_BICGSTAB_VECTORS * self->width + transposed;
    const int64_t entry = (int64_t)(sizeof *average->transpose.columns + sizeof *average->transpose.values);
    *result = self->statistics;
    result->bytes = (int64_t)sizeof *self + vectors * n * (int64_t)sizeof(double) +
                    (transposed ? average->transpose.starts[n] * entry : 0);
}

const nadir_backend nadir_backend_krylov = {
    .name = "krylov",
    .capabilities = NADIR_BACKEND_DENSE | NADIR_BACKEND_SPARSE | NADIR_BACKEND_DISTRIBUTED,
    .setup = setup,
    .refactor = refactor,
    .solve = solve,
    .statistics = statistics,
    .destroy = destroy,
};
