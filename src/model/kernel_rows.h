/* kernel_rows.h: the rows of a kernel of any kind, entry by entry. */
#ifndef NADIR_MODEL_KERNEL_ROWS_H
#define NADIR_MODEL_KERNEL_ROWS_H

#include "model/kernel.h"

/* Of one kernel, which is kept, not retained, and must stay as it is. A struct of zeros is empty. */
typedef struct nadir_explicit {
    const nadir_kernel *kernel;
    nadir_sparse_accumulator accumulator;
    int32_t *columns;  /* [states] of the row that was asked for last */
    double *values;    /* [states] */
    int64_t k_count;   /* of k: how many entries are not zero, */
    int32_t *k_states; /* [k_count] and where */
} nadir_explicit;

nadir_status nadir_explicit_make(nadir_context *context, const nadir_kernel *kernel,
                                 nadir_explicit *explicit_rows);
void nadir_explicit_clear(nadir_context *context, nadir_explicit *explicit_rows);

/* How many entries a row has at most. */
int64_t nadir_explicit_bound(const nadir_explicit *explicit_rows, int64_t row);

/* The entries of a row that are not zero, which may be negative, by rising column (columns is never NULL);
 * valid until the next call. O(entries), and putting them in order. */
nadir_row nadir_explicit_row(nadir_explicit *explicit_rows, int64_t row);

/* The numbers of all states, [states], where the kernel has them as they are; NULL otherwise. */
const double *nadir_explicit_dense_row(const nadir_explicit *explicit_rows, int64_t row);

#endif
