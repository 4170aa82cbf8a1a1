/* threads.c: how many threads a piece of work gets; see threads.h. */
#include "linalg/threads.h"

#include <omp.h>

static int threads_for(const nadir_context *context, int64_t useful)
{
    return useful < context->threads ? (int)useful : (int)context->threads;
}

int nadir_threads_for(const nadir_context *context, int64_t work)
{
    return threads_for(context, work / NADIR_PARALLEL_WORK + 1);
}

int nadir_threads_for_blas(const nadir_context *context, int64_t work)
{
    return threads_for(context, work / NADIR_BLAS_WORK + 1);
}

bool nadir_progress_team(nadir_context *context, const char *task, double share, nadir_status *stopped)
{
    nadir_status seen;
#pragma omp atomic read
    seen = *stopped;
    if (seen == NADIR_OK && omp_get_thread_num() == 0) {
        seen = nadir_progress(context, task, share);
        if (seen != NADIR_OK) {
#pragma omp atomic write
            *stopped = seen;
        }
    }
    return seen == NADIR_OK;
}

/*
 * LLVM's OpenMP keeps the number of `parallel num_threads(1) if (0)`, which makes no region, for the next
 * region that there is. Were that one of BLAS, it would wait for ever for threads that never come: a region
 * of our own takes the number away.
 */
static void forget_left_over(void)
{
#if defined(__clang__)
#pragma omp parallel
    {
        __asm__ volatile("");
    }
#endif
}

int nadir_blas_threads(int threads)
{
    const int before = omp_get_max_threads();
    if (threads > 1) {
        forget_left_over();
    }
    omp_set_num_threads(threads);
    return before;
}

void nadir_blas_restore(int before)
{
    omp_set_num_threads(before);
}
