/* measure.h: what the benchmarks share: contexts, timing, memory. Anything that fails ends the program. */
#ifndef NADIR_BENCH_MEASURE_H
#define NADIR_BENCH_MEASURE_H

#include "nadir.h"

/* threads 0: as many as the library would take. */
nadir_context *bench_context(int32_t threads);

void bench_check(nadir_context *context, nadir_status status);

/* An array of zeros; to be freed with free(). */
void *bench_new(int64_t count, size_t size);

typedef void (*bench_work)(void *user);

/* Seconds of the fastest of so many runs of two pieces of work, taken in turns, so that whatever else goes
 * on in the machine hits both. */
void bench_best_of(int runs, bench_work first, bench_work second, void *user, double *first_seconds,
                   double *second_seconds);

/* Seconds of the fastest of so many runs. */
double bench_best(int runs, bench_work work, void *user);

/* Bytes this process has in memory now, and the most since the peak was last reset (Linux; else 0). */
double bench_resident(void);
double bench_resident_peak(void);
void bench_reset_peak(void);

typedef struct bench_mode {
    bool quick;      /* small sizes */
    int32_t threads; /* 0: all */
} bench_mode;

/* Runs `section` in a process of its own, so that its memory is its own. */
void bench_section(void (*section)(bench_mode mode), bench_mode mode);

#endif
