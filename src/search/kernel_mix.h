/* kernel_mix.h: convex combinations of two kernels, and points of the line through them. */
#ifndef NADIR_SEARCH_KERNEL_MIX_H
#define NADIR_SEARCH_KERNEL_MIX_H

#include "model/kernel.h"

/* (1 - t) from + t to, both of this model; every row that differs from the nominal one is written out. Where
 * t is not in [0, 1] entries that rounding makes negative become zero. */
nadir_status nadir_kernel_mix(nadir_context *context, nadir_model *model, const nadir_kernel *from,
                              const nadir_kernel *to, double t, nadir_kernel **mixed);

#endif
