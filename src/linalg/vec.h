/*
 * vec.h: long vectors where the work on them is done: here, by the kernels of matrix.h, or on the device of
 * an engine (core/device.h), where they stay from one call to the next and only scalars come back.
 *
 * Vectors on a device are addresses that nothing here may read or write; calls of the device that
 * say so take them. All vectors of a call but those that are copied are of its space.
 */
#ifndef NADIR_LINALG_VEC_H
#define NADIR_LINALG_VEC_H

#include "core/context.h"

typedef struct nadir_vec {
    nadir_context *context;
    const struct nadir_device *device; /* NULL: here */
} nadir_vec;

/* The most vectors that are taken together. */
enum { NADIR_VEC_BATCH = 64 };

nadir_vec nadir_vec_host(nadir_context *context);
/* On the device of the context, which has one. */
nadir_vec nadir_vec_device(nadir_context *context);

/* Vectors one after another, `numbers` zeros in all. NADIR_ERROR_MEMORY: there is no memory for them, which
 * on a device is a reason to do the work here. */
nadir_status nadir_vec_allocate(const nadir_vec *vec, int64_t numbers, double **vectors);
void nadir_vec_release(const nadir_vec *vec, int64_t numbers, double *vectors);

/* From memory to the space, back, or within it; the two, [count], do not overlap. */
nadir_status nadir_vec_copy(const nadir_vec *vec, int64_t count, const double *from, double *to);

/* y <- a x, and y <- w x entry by entry; y may be x. */
nadir_status nadir_vec_scale(const nadir_vec *vec, int64_t count, double a, const double *x, double *y);
nadir_status nadir_vec_multiply(const nadir_vec *vec, int64_t count, const double *w, const double *x,
                                double *y);

/* Of `many` vectors, one after another: dots[j] <- vectors[j] . x; y <- y + the sum of factors[j] vectors[j].
 */
nadir_status nadir_vec_dots(const nadir_vec *vec, int64_t count, int many, const double *vectors,
                            const double *x, double *dots);
nadir_status nadir_vec_add_many(const nadir_vec *vec, int64_t count, int many, const double *vectors,
                                const double *factors, double *y);
/* The first `kept` of them <- the sums over i of matrix[j * many + i] vectors[i], j < kept. */
nadir_status nadir_vec_rotate(const nadir_vec *vec, int64_t count, int many, int kept, const double *matrix,
                              double *vectors);

#endif
