/*
 * place.h: long vectors where the work on them is done: here, by the kernels of blocks.h, or on the device of
 * an engine (base/device.h), where they stay from one call to the next and only scalars come back.
 *
 * Vectors of a place on a device are addresses that nothing here may read or write; calls of the device that
 * say so take them. All vectors of a call but those that are copied are of its place.
 */
#ifndef NADIR_LINALG_PLACE_H
#define NADIR_LINALG_PLACE_H

#include "base/context.h"

typedef struct nadir_place {
    nadir_context *context;
    const struct nadir_device *device; /* NULL: here */
} nadir_place;

/* The most vectors that are taken together. */
enum { NADIR_PLACE_TOGETHER = 64 };

nadir_place nadir_place_here(nadir_context *context);
/* On the device of the context, which has one. */
nadir_place nadir_place_there(nadir_context *context);

/* Vectors one after another, `numbers` zeros in all. NADIR_ERROR_MEMORY: there is no room for them, which on
 * a device is a reason to do the work here. */
nadir_status nadir_place_take(const nadir_place *place, int64_t numbers, double **vectors);
void nadir_place_give(const nadir_place *place, int64_t numbers, double *vectors);

/* From memory to the place, back, or within it; the two, [count], do not overlap. */
nadir_status nadir_place_copy(const nadir_place *place, int64_t count, const double *from, double *to);

nadir_status nadir_place_dot(const nadir_place *place, int64_t count, const double *x, const double *y,
                             double *dot);
/* y <- y + a x. */
nadir_status nadir_place_add(const nadir_place *place, int64_t count, double a, const double *x, double *y);
/* y <- a x, and y <- w x entry by entry; y may be x. */
nadir_status nadir_place_scale(const nadir_place *place, int64_t count, double a, const double *x, double *y);
nadir_status nadir_place_weigh(const nadir_place *place, int64_t count, const double *w, const double *x,
                               double *y);

/* Of `many` vectors, one after another: dots[j] <- vectors[j] . x; y <- y + the sum of factors[j] vectors[j].
 */
nadir_status nadir_place_dots(const nadir_place *place, int64_t count, int many, const double *vectors,
                              const double *x, double *dots);
nadir_status nadir_place_add_many(const nadir_place *place, int64_t count, int many, const double *vectors,
                                  const double *factors, double *y);
/* The first `kept` of them <- the sums over i of matrix[j * many + i] vectors[i], j < kept. */
nadir_status nadir_place_rotate(const nadir_place *place, int64_t count, int many, int kept,
                                const double *matrix, double *vectors);

#endif
