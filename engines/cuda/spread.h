/* spread.h: linear steps of sparse models on the domain simplex, and the order of the states that they need.
 */
#ifndef NADIR_ENGINES_CUDA_SPREAD_H
#define NADIR_ENGINES_CUDA_SPREAD_H

#include "parts.h"
#include "row_spread.h"

/* What such a step keeps on the device. A struct of zeros holds nothing. */
typedef struct cuda_spread {
    spread_order in;
    double *levels;  /* [rows] p = 2: omega of each row */
    int32_t *places; /* [states] 0, 1, ... */
    double *totals;  /* of pieces of the order */
    void *room;
    size_t room_bytes;
} cuda_spread;

/* sorted.cu. What was opened in part is closed, too. */
nadir_status cuda_sorted_open(cuda_engine *engine, nadir_context *context, int64_t states, double p,
                              cuda_spread *of);
void cuda_sorted_close(cuda_engine *engine, cuda_spread *of);
/* x: [states] on the device, from 0 on. */
nadir_status cuda_sorted_make(cuda_engine *engine, nadir_context *context, const double *x, cuda_spread *of);

#endif
