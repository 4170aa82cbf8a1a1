/* batch.cu: many small systems, factored and solved together by cuBLAS. */
#include "parts.h"

nadir_status cuda_batch_solve(cuda_engine *engine, nadir_context *context, const cuda_batch *batch)
{
    nadir_status status = NADIR_OK;
    const int n = (int)batch->size;
    const int count = (int)batch->count;
    int wrong = 0;
    CUDA_LIBRARY(engine, context,
                 cublasDgetrfBatched(engine->blas, n, batch->A, n, batch->pivots, batch->singular, count));
    /* rows of A are columns of what cuBLAS sees */
    CUDA_LIBRARY(engine, context,
                 cublasDgetrsBatched(engine->blas, CUBLAS_OP_T, n, 1, (const double *const *)batch->A, n,
                                     batch->pivots, batch->x, n, &wrong, count));
cleanup:
    return status;
}
