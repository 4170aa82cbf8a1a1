/*
 * vector.h: kernels on plain vectors. None allocates.
 *
 * Those that take a context are threaded. Their sums run over the same blocks in the same order whatever the
 * number of threads is, so that they give the same bits with one thread as with many.
 */
#ifndef NADIR_LINALG_VECTOR_H
#define NADIR_LINALG_VECTOR_H

#include "base/context.h"

/* Sum of x[0..count) with Neumaier's compensation: off by about one rounding of the result, whatever the
 * count, as long as the terms have one sign. */
double nadir_vector_sum(int64_t count, const double *x);

/* x <- x / divisor. */
void nadir_vector_divide(int64_t count, double divisor, double *x);

/* Whether all numbers are zero. */
bool nadir_vector_is_zero(int64_t count, const double *x);

/* The norms in which errors are measured. */
typedef enum nadir_norm { NADIR_NORM_MAXIMUM, NADIR_NORM_ONE } nadir_norm;

/* A number that is not finite makes the norm not finite. */
double nadir_vector_norm(const nadir_context *context, nadir_norm norm, int64_t count, const double *x);

double nadir_vector_dot(const nadir_context *context, int64_t count, const double *x, const double *y);

/* y <- y + a x. */
void nadir_vector_add(const nadir_context *context, int64_t count, double a, const double *x, double *y);

/* y <- x - y; returns the norm of the new y. */
double nadir_vector_subtract_from(const nadir_context *context, nadir_norm norm, int64_t count,
                                  const double *x, double *y);

/* y <- a x. */
void nadir_vector_scale(const nadir_context *context, int64_t count, double a, const double *x, double *y);

/* result[j] = vectors[j] . x for j < many. */
void nadir_vector_dots(const nadir_context *context, int64_t count, int many, const double *const *vectors,
                       const double *x, double *result);

/* x <- x + the sum over j < many of factors[j] vectors[j], in one pass; returns x . x. */
double nadir_vector_add_many(const nadir_context *context, int64_t count, int many,
                             const double *const *vectors, const double *factors, double *x);

/*
 * For kernels of one's own: runs `block` on consecutive pieces [first, end) of [0, count), many at once, and
 * combines what they write to result[0..3): the first by `combine`, the other two by summing. The pieces
 * depend on `count` alone. `vectors`: how many are read and written, to tell whether threads pay.
 */
typedef enum nadir_combine { NADIR_COMBINE_SUM, NADIR_COMBINE_MAXIMUM } nadir_combine;
typedef void (*nadir_vector_block)(const void *arguments, int64_t first, int64_t end, double result[3]);

void nadir_vector_blocks(const nadir_context *context, int64_t count, int vectors, nadir_vector_block block,
                         const void *arguments, nadir_combine combine, double result[3]);

/* What a block computes of its piece, with the lanes that let a processor add several numbers at once. */
double nadir_vector_block_dot(const double *x, const double *y, int64_t first, int64_t end);
double nadir_vector_block_norm(nadir_norm norm, const double *x, int64_t first, int64_t end);

#endif
