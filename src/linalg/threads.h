/*
 * threads.h: how many threads a piece of work gets.
 *
 * Our loops and the BLAS share one OpenMP pool. Small work runs on one thread: waking the others costs more
 * than they bring.
 */
#ifndef NADIR_LINALG_THREADS_H
#define NADIR_LINALG_THREADS_H

#include "core/context.h"

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

#endif
