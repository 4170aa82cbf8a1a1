/* parts.h: of what a kernel is made. For this folder alone. */
#ifndef NADIR_KERNEL_PARTS_H
#define NADIR_KERNEL_PARTS_H

#include "kernel/kernel.h"

struct nadir_kernel {
    nadir_memory *memory;
    nadir_model *model;
    double *b; /* [rows], NULL: no rank-one term */
    double *k; /* [states] */
    /* Changed rows; count 0: none. */
    int64_t changed;
    int64_t *starts;
    int32_t *columns;
    double *values;
    int64_t *place; /* [rows] where a row stands among the changed ones, -1: nominal; NULL: none changed */
};

/* The explicit part of a row: all but -b(s, a) k. */
nadir_row nadir_kernel_row(const nadir_kernel *kernel, int64_t row);

#endif
