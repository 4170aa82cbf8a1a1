/* vec.c: long vectors here or on a device; see vec.h. */
#include "linalg/vec.h"

#include "core/device.h"
#include "linalg/matrix.h"
#include "linalg/threads.h"

#include <cblas.h>
#include <string.h>

_Static_assert((int)NADIR_VEC_BATCH <= (int)NADIR_DEVICE_MOST_VECTORS, "a device takes as many");

/* Entries of all vectors that are rotated at a time. */
enum { CHUNK = 128 };

nadir_vec nadir_vec_host(nadir_context *context)
{
    return (nadir_vec){.context = context};
}

nadir_vec nadir_vec_device(nadir_context *context)
{
    return (nadir_vec){.context = context, .device = context->device};
}

nadir_status nadir_vec_allocate(const nadir_vec *vec, int64_t numbers, double **vectors)
{
    nadir_status status = NADIR_OK;
    double *made = NULL;
    if (vec->device != NULL) {
        return vec->device->vec_alloc(vec->context->device_self, vec->context, numbers, vectors);
    }
    NADIR_NEW_ZERO(vec->context, made, numbers);
    *vectors = made;
cleanup:
    return status;
}

void nadir_vec_release(const nadir_vec *vec, int64_t numbers, double *vectors)
{
    if (vec->device == NULL) {
        nadir_release(vec->context, vectors);
    } else if (vectors != NULL) {
        vec->device->vec_free(vec->context->device_self, numbers, vectors);
    }
}

nadir_status nadir_vec_copy(const nadir_vec *vec, int64_t count, const double *from, double *to)
{
    if (vec->device != NULL) {
        return vec->device->vec_copy(vec->context->device_self, vec->context, count, from, to);
    }
    memcpy(to, from, (size_t)count * sizeof *to);
    return NADIR_OK;
}

nadir_status nadir_vec_scale(const nadir_vec *vec, int64_t count, double a, const double *x, double *y)
{
    if (vec->device != NULL) {
        return vec->device->vec_scale(vec->context->device_self, vec->context, count, a, x, y);
    }
    nadir_blocks_scale(vec->context, count, a, x, y);
    return NADIR_OK;
}

nadir_status nadir_vec_multiply(const nadir_vec *vec, int64_t count, const double *w, const double *x,
                                double *y)
{
    if (vec->device != NULL) {
        return vec->device->vec_weigh(vec->context->device_self, vec->context, count, w, x, y);
    }
    const int threads = nadir_threads_for(vec->context, count);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        y[i] = w[i] * x[i];
    }
    return NADIR_OK;
}

/* As matrix.h takes them. */
static void point(int64_t count, int many, const double *vectors, const double **pointers)
{
    for (int j = 0; j < many; j++) {
        pointers[j] = vectors + j * count;
    }
}

nadir_status nadir_vec_dots(const nadir_vec *vec, int64_t count, int many, const double *vectors,
                            const double *x, double *dots)
{
    const double *pointers[NADIR_VEC_BATCH];
    if (vec->device != NULL) {
        return vec->device->vec_dots(vec->context->device_self, vec->context, count, many, vectors, x, dots);
    }
    point(count, many, vectors, pointers);
    nadir_blocks_dots(vec->context, count, many, pointers, x, dots);
    return NADIR_OK;
}

nadir_status nadir_vec_add_many(const nadir_vec *vec, int64_t count, int many, const double *vectors,
                                const double *factors, double *y)
{
    const double *pointers[NADIR_VEC_BATCH];
    if (vec->device != NULL) {
        return vec->device->vec_add(vec->context->device_self, vec->context, count, many, vectors, factors,
                                    y);
    }
    point(count, many, vectors, pointers);
    (void)nadir_blocks_add_many(vec->context, count, many, pointers, factors, y);
    return NADIR_OK;
}

/* The entries [first, first + length) of all vectors. */
static void rotate_chunk(int64_t count, int many, int kept, const double *matrix, int64_t first,
                         int64_t length, double *vectors)
{
    double sums[NADIR_VEC_BATCH][CHUNK];
    for (int j = 0; j < kept; j++) {
        memset(sums[j], 0, sizeof sums[j]);
        for (int i = 0; i < many; i++) {
            cblas_daxpy((blasint)length, matrix[j * many + i], vectors + i * count + first, 1, sums[j], 1);
        }
    }
    for (int j = 0; j < kept; j++) {
        memcpy(vectors + j * count + first, sums[j], (size_t)length * sizeof *vectors);
    }
}

nadir_status nadir_vec_rotate(const nadir_vec *vec, int64_t count, int many, int kept, const double *matrix,
                              double *vectors)
{
    if (vec->device != NULL) {
        return vec->device->vec_rotate(vec->context->device_self, vec->context, count, many, kept, matrix,
                                       vectors);
    }
    for (int64_t first = 0; first < count; first += CHUNK) {
        rotate_chunk(count, many, kept, matrix, first, first + CHUNK < count ? CHUNK : count - first,
                     vectors);
    }
    return NADIR_OK;
}
