/* vectors.h: vectors.cu's part of base/device.h. For this folder alone. */
#ifndef NADIR_ENGINES_CUDA_VECTORS_H
#define NADIR_ENGINES_CUDA_VECTORS_H

#include "base/device.h"

nadir_status cuda_vector_keep(void *self, nadir_context *context, int64_t count, const double *x,
                              void **vector);
void cuda_vector_drop(void *vector);
nadir_status cuda_vector_ranks(void *vector, nadir_context *context, int64_t count, const int64_t *ranks,
                               double *values);
nadir_status cuda_vector_powers(void *vector, nadir_context *context, const nadir_device_power_terms *at,
                                double *sums, double *powers);

#endif
