/*
 * bench_data.c: how fast logged data are read, and how much memory it takes.
 *
 *     bench_data [ROWS]        10000000 unless said otherwise
 *
 * Random walks: four actions in each state, five successors each, with rewards. Rates are in rows per second
 * of CPU time, which another program on the machine does not change much; memory is the most that the context
 * had in use, and does not depend on the number of rows. The counts are compared with those kept while the
 * log was made. Files are made under $TMPDIR and removed.
 */
#include "core/random.h"
#include "io/format.h"
#include "io/npy.h"
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ACTIONS    4
#define SUCCESSORS 5

typedef enum form { ARRAY, RECORDS, TEXT, EPISODES, FORMS } form;

static const char *const titles[FORMS] = {
    [ARRAY] = "npy, (N, 4) floats of 8 bytes",
    [RECORDS] = "npy, records of 3 integers of 4 bytes and a float of 8",
    [TEXT] = "CSV, transitions",
    [EPISODES] = "CSV, trajectories of 100 steps",
};

/* One row of a log. */
typedef struct step {
    int32_t state, action, successor;
    double reward;
} step;

/* A log that can be made again and again. */
typedef struct walk {
    nadir_random random;
    int64_t states;
    int64_t done;
    int32_t state;
} walk;

static walk start_walk(int64_t states)
{
    walk at = {.states = states};
    nadir_random_seed(&at.random, 1);
    return at;
}

/* Successor k of a row is a fixed state that looks random. */
static step next_step(walk *at)
{
    const uint64_t bits = nadir_random_next(&at->random);
    const int32_t action = (int32_t)(bits % ACTIONS);
    const uint64_t k = (bits >> 8) % SUCCESSORS;
    const uint64_t mixed = ((uint64_t)at->state * ACTIONS + (uint64_t)action) * SUCCESSORS + k;
    const int32_t successor = (int32_t)((mixed * 0x9E3779B97F4A7C15U >> 20) % (uint64_t)at->states);
    const step made = {at->state, action, successor, (double)(bits >> 56) / 4};
    at->state = successor;
    at->done++;
    return made;
}

static void put(FILE *file, const void *bytes, size_t size)
{
    if (fwrite(bytes, 1, size, file) != size) {
        perror("bench_data");
        exit(6);
    }
}

static void put_header(FILE *file, form which, int64_t rows)
{
    char header[NADIR_NPY_HEADER_LENGTH];
    if (which == ARRAY) {
        const size_t size = nadir_npy_header_bytes("f8", 2, (const int64_t[]){rows, 4}, header);
        put(file, header, size);
    } else if (which == RECORDS) {
        char bytes[266] = "\x93NUMPY\x01\x00\x00\x01"; /* a header of 256 bytes follows */
        memset(bytes + 10, ' ', 256);
        const int used = snprintf(header, sizeof header,
                                  "{'descr': [('state', '<i4'), ('action', '<i4'), ('next_state', '<i4'), "
                                  "('reward', '<f8')], 'fortran_order': False, 'shape': (%lld,), }",
                                  (long long)rows);
        memcpy(bytes + 10, header, (size_t)used);
        put(file, bytes, sizeof bytes);
    } else {
        (void)fputs(which == TEXT ? "idstatefrom,idaction,idstateto,reward\n"
                                  : "episode,step,state,action,next_state,reward\n",
                    file);
    }
}

static void put_step(FILE *file, form which, int64_t number, const step *at)
{
    const double numbers[] = {at->state, at->action, at->successor, at->reward};
    switch (which) {
    case ARRAY:
        put(file, numbers, sizeof numbers);
        break;
    case RECORDS:
        put(file, &at->state, 12);
        put(file, &at->reward, 8);
        break;
    case TEXT:
        (void)fprintf(file, "%d,%d,%d,%g\n", at->state, at->action, at->successor, at->reward);
        break;
    default:
        (void)fprintf(file, "%lld,%lld,%d,%d,%d,%g\n", (long long)(number / 100), (long long)(number % 100),
                      at->state, at->action, at->successor, at->reward);
        break;
    }
}

static double write_log(const char *path, form which, int64_t states, int64_t rows)
{
    double rewards = 0;
    walk at = start_walk(states);
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        perror(path);
        exit(6);
    }
    put_header(file, which, rows);
    for (int64_t i = 0; i < rows; i++) {
        const step made = next_step(&at);
        put_step(file, which, i, &made);
        rewards += made.reward;
    }
    if (fclose(file) != 0) {
        perror(path);
        exit(6);
    }
    return rewards;
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One line of the table. */
static void measure(form which, int64_t states, int64_t rows)
{
    const char *path = which <= RECORDS ? "log.npy" : "log.csv";
    const double rewards = write_log(path, which, states, rows);
    nadir_context *context = bench_context(1);
    nadir_data data;
    const double start = cpu_seconds();
    bench_check(context, nadir_data_read(context, path, NULL, &data));
    const double seconds = cpu_seconds() - start;
    const nadir_counts *counts = data.counts;
    double sum = 0;
    for (int64_t i = 0; i < counts->nonzeros; i++) {
        sum += counts->reward_sums[i];
    }
    if (counts->total != (double)rows || sum != rewards) { /* rewards are fourths: sums are exact */
        (void)fprintf(stderr, "bench_data: %s: not what was written\n", titles[which]);
        exit(1);
    }
    (void)printf("| %s | %lld | %lld | %.2f | %.1f | %.1f |\n", titles[which], (long long)rows,
                 (long long)counts->nonzeros, seconds, (double)rows / seconds / 1e6,
                 (double)nadir_context_memory_peak(context) / 1e6);
    (void)fflush(stdout);
    nadir_data_clear(context, &data);
    nadir_context_free(context);
    (void)unlink(path);
}

int main(int count, char **words)
{
    const long long rows = count > 1 ? strtoll(words[1], NULL, 10) : 10000000;
    if (rows < 1000 || rows > 10000000000) {
        (void)fprintf(stderr, "usage: bench_data [ROWS]   1000 to 10000000000\n");
        return 2;
    }
    char folder[4096];
    const char *parent = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/nadir-bench.XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
        perror(folder);
        return 6;
    }
    (void)printf("| data | rows | different transitions | CPU s | 10⁶ rows/s | peak memory, MB |\n");
    (void)printf("|---|---:|---:|---:|---:|---:|\n");
    for (int which = 0; which < FORMS; which++) {
        measure((form)which, 100, rows / 10);
        measure((form)which, 100, rows);
        measure((form)which, 100000, rows);
    }
    (void)rmdir(folder);
    return 0;
}
