/* kernel_device.h: kernels and averages on the device of an engine; see core/device.h. Where the context has
 * no device nothing is ever there. */
#ifndef NADIR_MODEL_KERNEL_DEVICE_H
#define NADIR_MODEL_KERNEL_DEVICE_H

#include "model/average.h"

/* Whether it makes its average: those, or perturbed kernels of sparse models that are large enough, or any
 * whose numbers are there already. */
bool nadir_kernel_device_averages(const nadir_context *context, const nadir_kernel *kernel);

/* The rows of a model on the device, made when first asked for. */
nadir_status nadir_kernel_device_rows(nadir_context *context, nadir_model *model, void **rows);

/* They are there alone: `numbers` becomes the kernel's. Until they were brought here the kernel can be
 * averaged, freed and written over, and nothing else. */
void nadir_kernel_device_adopt(const nadir_context *context, nadir_kernel *kernel, void *numbers);
nadir_status nadir_kernel_device_fetch(nadir_context *context, nadir_kernel *kernel);
void nadir_kernel_device_forget(nadir_kernel *kernel);
/* NULL: they are not there. */
const void *nadir_kernel_device_values(const nadir_kernel *kernel);

/* The same if there is memory; for want of it a kernel of other numbers than the model's comes here, and
 * *made is false. */
nadir_status nadir_kernel_device_average_if_memory(nadir_context *context, const nadir_kernel *kernel,
                                                   const nadir_policy *policy, nadir_average *average,
                                                   bool *made);

/* Y = shift X + scale (M + L) X, or transposed, of an average on the device. Where the device fails all
 * numbers are NaN: then the transposed product says why, the other one to the log. */
nadir_status nadir_kernel_device_combine(const nadir_context *context, const nadir_average *average,
                                         bool transposed, int64_t count, double shift, double scale,
                                         const double *x, double *y);

/* The smallest entry of nominal - b k^T, of a dense model. False as below. */
bool nadir_kernel_device_minimum(const nadir_context *context, const nadir_model *model, const double *b,
                                 const double *k, double *minimum);

/* Products of the model's rows with x, [states]; y: [rows]. False: there is no device, or it failed. */
bool nadir_kernel_device_multiply(const nadir_context *context, const nadir_kernel *kernel, const double *x,
                                  double *y);

#endif
