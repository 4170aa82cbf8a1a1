/* explicit.h: the rows of a kernel of any kind, entry by entry. */
#ifndef NADIR_KERNEL_EXPLICIT_H
#define NADIR_KERNEL_EXPLICIT_H

#include "kernel/kernel.h"

/* The entries of a row that are not zero, which may be negative, by rising column; returns their number.
 * columns, values: [states] each, all of which may be overwritten. O(states), or O(entries) where the row is
 * stored as it is. */
int64_t nadir_kernel_row_explicit(const nadir_kernel *kernel, int64_t row, int32_t *columns, double *values);

#endif
