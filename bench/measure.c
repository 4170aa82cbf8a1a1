/* measure.c: what the benchmarks share; see measure.h. */
#include "measure.h"

#include "core/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

nadir_context *bench_context(int32_t threads)
{
    nadir_context_settings settings;
    nadir_context_settings_default(&settings);
    settings.threads = threads;
    nadir_context *context = NULL;
    if (nadir_context_create(&settings, &context) != NADIR_OK) {
        (void)fprintf(stderr, "bench: out of memory\n");
        exit(6);
    }
    return context;
}

void bench_check(nadir_context *context, nadir_status status)
{
    if (status != NADIR_OK) {
        (void)fprintf(stderr, "bench: %s: %s\n", nadir_status_name(status), nadir_context_error(context));
        exit(1);
    }
}

void *bench_new(int64_t count, size_t size)
{
    void *block = calloc((size_t)count, size);
    if (block == NULL) {
        (void)fprintf(stderr, "bench: out of memory\n");
        exit(6);
    }
    return block;
}

static double seconds_of(bench_work work, void *user)
{
    const double start = nadir_clock_seconds();
    work(user);
    return nadir_clock_seconds() - start;
}

void bench_best_of(int runs, bench_work first, bench_work second, void *user, double *first_seconds,
                   double *second_seconds)
{
    *first_seconds = seconds_of(first, user);
    *second_seconds = seconds_of(second, user);
    for (int i = 1; i < runs; i++) {
        const double one = seconds_of(first, user);
        const double other = seconds_of(second, user);
        *first_seconds = one < *first_seconds ? one : *first_seconds;
        *second_seconds = other < *second_seconds ? other : *second_seconds;
    }
}

double bench_best(int runs, bench_work work, void *user)
{
    double best = seconds_of(work, user);
    for (int i = 1; i < runs; i++) {
        const double seconds = seconds_of(work, user);
        best = seconds < best ? seconds : best;
    }
    return best;
}

/* A line of /proc/self/status, in bytes. */
static double status_line(const char *key)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double bytes = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            bytes = strtod(line + strlen(key), NULL) * 1024;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return bytes;
}

double bench_resident(void)
{
    return status_line("VmRSS:");
}

double bench_resident_peak(void)
{
    return status_line("VmHWM:");
}

void bench_reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file != NULL) {
        (void)fputs("5", file);
        (void)fclose(file);
    }
}

void bench_section(void (*section)(bench_mode mode), bench_mode mode)
{
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        section(mode);
        (void)fflush(stdout);
        _exit(0);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        (void)fprintf(stderr, "bench: a section failed\n");
        exit(1);
    }
}
