/* place.h: place.cu's part of base/device.h. For this folder alone. */
#ifndef NADIR_ENGINES_CUDA_PLACE_H
#define NADIR_ENGINES_CUDA_PLACE_H

#include "base/device.h"

nadir_status cuda_room_take(void *self, nadir_context *context, int64_t numbers, double **vectors);
void cuda_room_give(void *self, int64_t numbers, double *vectors);
nadir_status cuda_room_copy(void *self, nadir_context *context, int64_t count, const double *from,
                            double *to);
nadir_status cuda_room_dots(void *self, nadir_context *context, int64_t count, int many,
                            const double *vectors, const double *x, double *dots);
nadir_status cuda_room_add(void *self, nadir_context *context, int64_t count, int many, const double *vectors,
                           const double *factors, double *y);
nadir_status cuda_room_scale(void *self, nadir_context *context, int64_t count, double a, const double *x,
                             double *y);
nadir_status cuda_room_weigh(void *self, nadir_context *context, int64_t count, const double *w,
                             const double *x, double *y);
nadir_status cuda_room_rotate(void *self, nadir_context *context, int64_t count, int many, int kept,
                              const double *matrix, double *vectors);

/* Whether an address is one of the device. */
bool cuda_is_there(const double *x);

#endif
