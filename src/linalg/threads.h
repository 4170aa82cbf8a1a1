/*
 * threads.h: how many threads a piece of work gets.
 *
 * Our loops and the BLAS share one OpenMP pool. Small work runs on one thread: waking the others costs more
 * than they bring.
 */
#ifndef NADIR_LINALG_THREADS_H
#define NADIR_LINALG_THREADS_H

#include "core/context.h"

#include <stdint.h>

/* Below this many multiplications a second thread does not pay. */
#define NADIR_PARALLEL_WORK 50000

/* The same for BLAS, which makes several in the time that our loops take for one. */
#define NADIR_BLAS_WORK 200000

/* For `num_threads(...)` of a loop that makes about `work` multiplications. */
int nadir_threads_for(const nadir_context *context, int64_t work);

/* For nadir_blas_threads around such a product. */
int nadir_threads_for_blas(const nadir_context *context, int64_t work);

/* nadir_progress for the body of a parallel loop: only the thread that started the team asks, every thread
 * gets its answer. false: the rest of the loop is to be skipped. *stopped: of all threads, NADIR_OK at first,
 * and then what the function returns that runs the loop. */
bool nadir_progress_team(nadir_context *context, const char *task, double share, nadir_status *stopped);

/* Around calls of BLAS and LAPACK: they use this many threads of the pool until `restore`. Returns what
 * restore wants. Only the calling thread is affected. */
int nadir_blas_threads(int threads);
void nadir_blas_restore(int before);

/*
 * Sending for entries of a long vector before a sparse loop wants them.
 *
 * A row of a sparse matrix reads x at places that lie anywhere. Once x is longer than the second cache, a
 * processor that waits for them finds some ten at a time under way; asked for this early, and into the second
 * cache, there are several times as many (a million states, 20 successors of a state: 1.9 instead of 2.6 ns
 * for each entry of a solve). Shorter vectors are near enough as they are.
 */

enum {
    NADIR_PREFETCH_DISTANCE = 512,    /* entries */
    NADIR_PREFETCH_MINIMUM = 1 << 18, /* numbers of x from which on that pays */
};

/* Entries up to which there is something to send for: all of them, or none where x is short. */
static inline int64_t nadir_prefetch_entries(int64_t states, int64_t entries)
{
    return states > NADIR_PREFETCH_MINIMUM ? entries : 0;
}

/* Entries [first, end) of columns are about to be read: sends for those NADIR_PREFETCH_DISTANCE later, if
 * there are. entries: as by nadir_prefetch_entries. */
static inline void nadir_prefetch(const double *x, const int32_t *columns, int64_t first, int64_t end,
                                  int64_t entries)
{
    if (end + NADIR_PREFETCH_DISTANCE <= entries) {
        for (int64_t i = first + NADIR_PREFETCH_DISTANCE; i < end + NADIR_PREFETCH_DISTANCE; i++) {
            __builtin_prefetch(x + columns[i], 0, 2);
        }
    }
}

#endif
