/*
 * matrix.h: square matrices, dense or CSR, and products with several vectors at once.
 *
 * Several vectors lie one after another: column j of X is x[j * size .. (j + 1) * size). A matrix that is
 * wider than high, the rows that one process owns of a larger one (distributed.h), is multiplied with one vector
 * at a time.
 */
#ifndef NADIR_LINALG_MATRIX_H
#define NADIR_LINALG_MATRIX_H

#include "core/context.h"

/* A view; it owns nothing. Exactly one of dense and starts is not NULL. */
typedef struct nadir_matrix {
    int64_t size;           /* n */
    const double *dense;    /* [n * n] row after row */
    const int64_t *starts;  /* [n + 1] CSR */
    const int32_t *columns; /* [starts[n]] rising within a row */
    const double *values;   /* [starts[n]] */
    int64_t width;          /* CSR: columns, where there are more of them than rows; 0: n */
} nadir_matrix;

/* The entries of a CSR matrix, owned. A struct of zeros holds nothing. */
typedef struct nadir_entries {
    int64_t *starts;
    int32_t *columns;
    double *values;
} nadir_entries;

void nadir_entries_clear(nadir_context *context, nadir_entries *entries);

/* Y = shift X + scale M X for `count` vectors, in one pass: I - gamma M is as cheap as M. x and y do not
 * overlap. With M^T for a dense matrix; a CSR matrix is transposed first (nadir_matrix_transpose). */
void nadir_matrix_combine(const nadir_context *context, const nadir_matrix *matrix, int64_t count,
                          double shift, double scale, const double *x, double *y);
void nadir_matrix_combine_transposed(const nadir_context *context, const nadir_matrix *matrix, int64_t count,
                                     double shift, double scale, const double *x, double *y);

/* y <- y + M^T x of the rows [first, first + count) of a CSR matrix alone, x: [count]. Each y is summed in
 * the order of the rows: over all of them, with y = 0 at first, the same bits as the product with a
 * transpose. One thread. */
void nadir_matrix_scatter(const nadir_matrix *matrix, int64_t first, int64_t count, const double *x,
                          double *y);

/* The transpose of a CSR matrix, as many rows as that has columns; columns rise within its rows. */
nadir_status nadir_matrix_transpose(nadir_context *context, const nadir_matrix *matrix,
                                    nadir_entries *transpose);

/* The largest number of entries in a row: n when dense. */
int64_t nadir_matrix_row_length(const nadir_matrix *matrix);

/* Roundings of the sum over a row of so many entries in products with a sparse matrix. */
int64_t nadir_matrix_row_roundings(int64_t length);

/* max_s sum_t |M(s, t)|, over the rows of all processes */
double nadir_matrix_norm(const nadir_context *context, const nadir_matrix *matrix);

/* Proven, by a Cholesky factorisation: whatever differs from the matrix by at most `error` in the 2-norm is
 * positive semidefinite. matrix: [size * size] symmetric, its lower triangle, column after column; destroyed.
 * False says nothing. */
bool nadir_symmetric_is_positive(const nadir_context *context, int64_t size, double *matrix, double error);

/*
 * Threaded kernels on long vectors. None allocates.
 *
 * A vector is cut into blocks that depend on its length alone, and sums run over them in order: the result
 * has the same bits with one thread as with many. Sums and norms are over all entries of all processes, of
 * which this one has `count`.
 */

/* Whether all numbers are zero, of all processes. */
bool nadir_blocks_are_zero(const nadir_context *context, int64_t count, const double *x);

/* The norms in which errors are measured. */
typedef enum nadir_norm { NADIR_NORM_MAXIMUM, NADIR_NORM_ONE } nadir_norm;

/* A number that is not finite makes the norm not finite. */
double nadir_blocks_norm(const nadir_context *context, nadir_norm norm, int64_t count, const double *x);

double nadir_blocks_dot(const nadir_context *context, int64_t count, const double *x, const double *y);

/* y <- y + a x. */
void nadir_blocks_add(const nadir_context *context, int64_t count, double a, const double *x, double *y);

/* y <- x - y; returns the norm of the new y. */
double nadir_blocks_subtract_from(const nadir_context *context, nadir_norm norm, int64_t count,
                                  const double *x, double *y);

/* y <- a x. */
void nadir_blocks_scale(const nadir_context *context, int64_t count, double a, const double *x, double *y);

/* result[j] = vectors[j] . x for j < many. */
void nadir_blocks_dots(const nadir_context *context, int64_t count, int many, const double *const *vectors,
                       const double *x, double *result);

/* x <- x + the sum over j < many of factors[j] vectors[j], in one pass; returns x . x. */
double nadir_blocks_add_many(const nadir_context *context, int64_t count, int many,
                             const double *const *vectors, const double *factors, double *x);

/*
 * For kernels of one's own: runs `block` on consecutive pieces [first, end) of [0, count), many at once, and
 * combines what they write to result[0..3): the first by `combine`, the other two by summing. The pieces
 * depend on `count` alone, and what other processes have is combined last, in one message;
 * NADIR_COMBINE_NONE: there is nothing to combine. `vectors`: how many are read and written, to tell whether
 * threads pay.
 */
typedef enum nadir_combine { NADIR_COMBINE_SUM, NADIR_COMBINE_MAXIMUM, NADIR_COMBINE_NONE } nadir_combine;
typedef void (*nadir_block)(const void *arguments, int64_t first, int64_t end, double result[3]);

void nadir_blocks_run(const nadir_context *context, int64_t count, int vectors, nadir_block block,
                      const void *arguments, nadir_combine combine, double result[3]);

/* What a block computes of its piece, with the lanes that let a processor add several numbers at once. */
double nadir_block_dot(const double *x, const double *y, int64_t first, int64_t end);
double nadir_block_norm(nadir_norm norm, const double *x, int64_t first, int64_t end);

#endif
