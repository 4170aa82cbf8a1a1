/*
 * bench_processes.c: what two processes of one machine can gain at best on products with a sparse matrix.
 *
 *     bench_processes [quick]
 *
 * A matrix of a million rows with 20 entries a row, anywhere, is cut in as many parts as there are processes;
 * each of them multiplies its part with a vector that all can read. Nothing else is done: no messages, no
 * other vectors. All begin at once, and a product has taken as long as the slowest of them took, in time of
 * its processor: other programs may run. Of many products the fastest counts, and the median is printed
 * beside it. Two forms:
 *
 *     rows      y_s = sum over t of M(s, t) x_t, x being read all over: of all states
 *     columns   y_s += M(s, t) x_t for all t, x being read in order and y all over: of own states alone
 *
 * The engine uses the second form (model/average_products.c).
 */
#include "core/random.h"
#include "linalg/matrix.h"
#include "measure.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ENTRIES = 20, REPEATS = 60, MOST_PROCESSES = 2 };

/* What all processes see. */
typedef struct meeting {
    pthread_barrier_t barrier;
    double seconds[MOST_PROCESSES][REPEATS];
} meeting;

static void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("bench_processes");
        exit(1);
    }
    return memory;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The part of one process: `rows` rows of `each` entries in [0, width). */
static nadir_matrix make_part(nadir_context *context, uint64_t seed, int64_t rows, int64_t each,
                              int64_t width, nadir_entries *entries)
{
    nadir_random random;
    nadir_random_seed(&random, seed);
    nadir_memory *memory = context->memory; /* on huge pages, as the library's are */
    entries->starts = nadir_memory_get(memory, (size_t)rows + 1, sizeof *entries->starts);
    entries->columns = nadir_memory_get(memory, (size_t)(rows * each), sizeof *entries->columns);
    entries->values = nadir_memory_get(memory, (size_t)(rows * each), sizeof *entries->values);
    if (entries->starts == NULL || entries->columns == NULL || entries->values == NULL) {
        (void)fprintf(stderr, "bench_processes: out of memory\n");
        exit(1);
    }
    for (int64_t s = 0; s <= rows; s++) {
        entries->starts[s] = s * each;
    }
    for (int64_t i = 0; i < rows * each; i++) {
        const int64_t column = (int64_t)(nadir_random_uniform(&random) * (double)width);
        entries->columns[i] = (int32_t)(column < width ? column : width - 1);
        entries->values[i] = 1.0 / ENTRIES;
    }
    return (nadir_matrix){rows, NULL, entries->starts, entries->columns, entries->values, width};
}

/* One process of several. */
static void work(meeting *all, int rank, int processes, bool columns, int64_t states, const double *x)
{
    nadir_context *context = bench_context(1);
    const int64_t own = states / processes;
    nadir_entries entries = {0};
    const nadir_matrix part =
        columns ? make_part(context, (uint64_t)rank, states, ENTRIES / processes, own, &entries)
                : make_part(context, (uint64_t)rank, own, ENTRIES, states, &entries);
    double *y = nadir_memory_get(context->memory, (size_t)own, sizeof *y);
    double *copy = nadir_memory_get(context->memory, (size_t)states, sizeof *copy);
    if (y == NULL || copy == NULL) {
        (void)fprintf(stderr, "bench_processes: out of memory\n");
        exit(1);
    }
    memcpy(copy, x, (size_t)states * sizeof *copy);
    x = processes == 1 ? copy : x; /* one process reads its own memory, which has huge pages */
    for (int i = 0; i < REPEATS; i++) {
        (void)pthread_barrier_wait(&all->barrier);
        const double begun = seconds();
        if (columns) {
            memset(y, 0, (size_t)own * sizeof *y);
            nadir_matrix_scatter(&part, 0, states, x, y);
        } else {
            nadir_matrix_combine(context, &part, 1, 0, 1, x, y);
        }
        all->seconds[rank][i] = seconds() - begun;
    }
    nadir_memory_release(context->memory, y);
    nadir_memory_release(context->memory, copy);
    nadir_entries_clear(context, &entries);
    nadir_context_free(context);
}

static int rising(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* *best, *median: of the slowest process, over all products */
static void measure(int processes, bool columns, int64_t states, double *best, double *median)
{
    meeting *all = share(sizeof *all);
    double *x = share((size_t)states * sizeof *x);
    for (int64_t s = 0; s < states; s++) {
        x[s] = 1;
    }
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&all->barrier, &attributes, (unsigned)processes);
    (void)fflush(NULL);
    for (int rank = 0; rank < processes; rank++) {
        if (fork() == 0) {
            work(all, rank, processes, columns, states, x);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
    double slowest[REPEATS] = {0};
    for (int i = 0; i < REPEATS; i++) {
        for (int rank = 0; rank < processes; rank++) {
            slowest[i] = all->seconds[rank][i] > slowest[i] ? all->seconds[rank][i] : slowest[i];
        }
    }
    qsort(slowest, REPEATS, sizeof *slowest, rising);
    *best = slowest[0];
    *median = slowest[REPEATS / 2];
    pthread_barrier_destroy(&all->barrier);
    pthread_barrierattr_destroy(&attributes);
    (void)munmap(all, sizeof *all);
    (void)munmap(x, (size_t)states * sizeof *x);
}

int main(int count, char **words)
{
    const int64_t states = count > 1 && strcmp(words[1], "quick") == 0 ? 100000 : 1000000;
    printf("A product of %lld states, %d entries a row, ms (median), and how many times as fast on two "
           "processes\n\n| form | 1 process | 2 processes | ratio |\n|---|---:|---:|---:|\n",
           (long long)states, ENTRIES);
    for (int form = 0; form < 2; form++) {
        double best[2];
        double median[2];
        for (int processes = 1; processes <= 2; processes++) {
            measure(processes, form == 1, states, &best[processes - 1], &median[processes - 1]);
        }
        printf("| %s | %.1f (%.1f) | %.1f (%.1f) | %.2f |\n", form == 1 ? "columns" : "rows", 1e3 * best[0],
               1e3 * median[0], 1e3 * best[1], 1e3 * median[1], best[0] / best[1]);
    }
    return 0;
}
