/*
 * kernel.h: a transition kernel as something that can be averaged over a policy and applied.
 *
 * A kernel has one row for each row of its model: the nominal row, or a row of its own, and from all of them
 * a multiple of one vector may be taken:
 *
 *     P(.|s, a) = (changed row or nominal row) - b(s, a) k
 *
 * Nothing outside this folder knows of what a kernel is made: others ask for products with its rows, or for
 * its average over a policy (average.h).
 */
#ifndef NADIR_KERNEL_KERNEL_H
#define NADIR_KERNEL_KERNEL_H

#include "model/model.h"

typedef struct nadir_kernel nadir_kernel;

/* Rows that differ from the nominal ones, as CSR. */
typedef struct nadir_changed_rows {
    int64_t count;
    const int64_t *rows;    /* [count] which rows, rising */
    const int64_t *starts;  /* [count + 1] */
    const int32_t *columns; /* [starts[count]] rising within a row */
    const double *values;   /* [starts[count]] of any sign */
} nadir_changed_rows;

/* The nominal kernel. Kernels keep their model alive; all arrays are copied. */
nadir_status nadir_kernel_create(nadir_context *context, nadir_model *model, nadir_kernel **kernel);
/* Nominal - b k^T; b: [rows], k: [states]. */
nadir_status nadir_kernel_create_rank_one(nadir_context *context, nadir_model *model, const double *b,
                                          const double *k, nadir_kernel **kernel);
/* Some, or all, rows changed. */
nadir_status nadir_kernel_create_changed(nadir_context *context, nadir_model *model,
                                         const nadir_changed_rows *changed, nadir_kernel **kernel);
void nadir_kernel_free(nadir_kernel *kernel);

const nadir_model *nadir_kernel_model(const nadir_kernel *kernel);

/* y[row] = sum over t of P(t|row) x[t], for every row; x: [states], y: [rows]. */
void nadir_kernel_multiply(const nadir_context *context, const nadir_kernel *kernel, const double *x,
                           double *y);

/* The same for rows first .. end - 1 alone and on the calling thread, into y[row - first]: for loops over
 * rows that do more than products. shift: nadir_kernel_shift(kernel, x), the same for all rows. */
double nadir_kernel_shift(const nadir_kernel *kernel, const double *x);
void nadir_kernel_multiply_rows(const nadir_kernel *kernel, const double *x, double shift, int64_t first,
                                int64_t end, double *y);

/* What holds for every row. Rounding is included: the exact numbers obey these limits. */
typedef struct nadir_kernel_size {
    double sum_low, sum_high; /* of sum over t of P(t|row): 1 up to rounding for a kernel that is one */
    double largest;           /* at least sum over t of |P(t|row)| */
    double rounding; /* a product of a row with x is computed with an error of at most this times max |x| */
} nadir_kernel_size;

/* O(entries). */
void nadir_kernel_measure(const nadir_context *context, const nadir_kernel *kernel, nadir_kernel_size *size);

/* The smallest entry of the kernel, which may be negative. O(entries), or O(rows * states) for b k^T. */
double nadir_kernel_minimum(const nadir_kernel *kernel);

#endif
