/* threads.c: how many threads a piece of work gets; see threads.h. */
#include "linalg/threads.h"

#include <omp.h>

int nadir_threads_for(const nadir_context *context, int64_t work)
{
    const int64_t useful = work / NADIR_PARALLEL_WORK + 1;
    return useful < context->threads ? (int)useful : (int)context->threads;
}

int nadir_blas_threads(int threads)
{
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    return before;
}

void nadir_blas_restore(int before)
{
    omp_set_num_threads(before);
}
