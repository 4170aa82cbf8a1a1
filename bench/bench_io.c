/*
 * bench_io.c: how fast models are read and written, and how much memory reading takes.
 *
 *     bench_io [TRANSITIONS]        10000000 unless said otherwise
 *
 * The model is sparse and random: two actions in each state, five successors each, numbers that need all
 * their digits. Times are of warm files (the best of three reads); writing includes the wait for the disk.
 * Memory is the most that was in use while reading, as a multiple of what the arrays of the model take. What
 * was read is compared with what was written, bit by bit. Files are made under $TMPDIR and removed.
 */
#include "core/context.h"
#include "core/random.h"
#include "nadir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ACTIONS    2
#define SUCCESSORS 5
#define READS      3

typedef struct bench_format {
    const char *title;
    const char *file;
    const char *rewards; /* a second file; NULL: none */
    bool compress;
} bench_format;

static const bench_format formats[] = {
    {"npz, stored", "stored.npz", NULL, false},
    {"npz, deflated", "deflated.npz", NULL, true},
    {"PETSc binary", "model.P.bin", "model.g.bin", false},
    {"CSV", "model.csv", NULL, false},
};

static void *get(size_t count, size_t size)
{
    void *block = calloc(count, size);
    if (block == NULL) {
        (void)fprintf(stderr, "bench_io: out of memory\n");
        exit(6);
    }
    return block;
}

static void check(nadir_context *context, nadir_status status)
{
    if (status != NADIR_OK) {
        (void)fprintf(stderr, "bench_io: %s\n", nadir_context_error(context));
        exit(1);
    }
}

static nadir_context *new_context(void)
{
    nadir_context *context = NULL;
    if (nadir_context_create(NULL, &context) != NADIR_OK) {
        (void)fprintf(stderr, "bench_io: out of memory\n");
        exit(6);
    }
    return context;
}

/* Successors of a row: one in each of SUCCESSORS parts of the states, so that they rise. */
static void make_row(nadir_random *random, int64_t states, int32_t *columns, double *probabilities)
{
    double sum = 0;
    for (int64_t k = 0; k < SUCCESSORS; k++) {
        const int64_t first = k * states / SUCCESSORS;
        const int64_t end = (k + 1) * states / SUCCESSORS;
        columns[k] = (int32_t)(first + (int64_t)nadir_random_below(random, (uint64_t)(end - first)));
        probabilities[k] = nadir_random_exponential(random) + 1e-6;
        sum += probabilities[k];
    }
    for (int64_t k = 0; k < SUCCESSORS; k++) {
        probabilities[k] /= sum;
    }
}

static nadir_model *make_model(nadir_context *context, int64_t states)
{
    const int64_t rows = states * ACTIONS;
    int64_t *state_rows = get((size_t)states + 1, sizeof *state_rows);
    int64_t *row_starts = get((size_t)rows + 1, sizeof *row_starts);
    int32_t *columns = get((size_t)rows * SUCCESSORS, sizeof *columns);
    double *probabilities = get((size_t)rows * SUCCESSORS, sizeof *probabilities);
    double *rewards = get((size_t)rows, sizeof *rewards);
    nadir_random random;
    nadir_random_seed(&random, 1);
    for (int64_t row = 0; row < rows; row++) {
        make_row(&random, states, columns + row * SUCCESSORS, probabilities + row * SUCCESSORS);
        rewards[row] = nadir_random_uniform(&random);
        row_starts[row + 1] = (row + 1) * SUCCESSORS;
    }
    for (int64_t s = 0; s <= states; s++) {
        state_rows[s] = s * ACTIONS;
    }
    nadir_model_data data;
    nadir_model_data_default(&data);
    data.states = states;
    data.rows = rows;
    data.state_rows = state_rows;
    data.row_starts = row_starts;
    data.columns = columns;
    data.probabilities = probabilities;
    data.rewards = rewards;
    nadir_model *model = NULL;
    check(context, nadir_model_create(context, &data, &model));
    free(state_rows);
    free(row_starts);
    free(columns);
    free(probabilities);
    free(rewards);
    return model;
}

static bool same_bits(const nadir_model *a, const nadir_model *b)
{
    nadir_model_data x;
    nadir_model_data y;
    nadir_model_data_default(&x);
    nadir_model_data_default(&y);
    nadir_model_view(a, &x);
    nadir_model_view(b, &y);
    return x.states == y.states && x.rows == y.rows && x.nonzeros == y.nonzeros && y.columns != NULL &&
           y.rewards != NULL &&
           memcmp(x.row_starts, y.row_starts, (size_t)(x.rows + 1) * sizeof *x.row_starts) == 0 &&
           memcmp(x.columns, y.columns, (size_t)x.nonzeros * sizeof *x.columns) == 0 &&
           memcmp(x.probabilities, y.probabilities, (size_t)x.nonzeros * sizeof *x.probabilities) == 0 &&
           memcmp(x.rewards, y.rewards, (size_t)x.rows * sizeof *x.rewards) == 0;
}

/* Bytes of the arrays: kernel, first rows of states, rewards, initial distribution. */
static double csr_bytes(const nadir_model *model)
{
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    return (double)view.nonzeros * (4 + 8) + (double)view.rows * (8 + 8) + (double)view.states * (8 + 8);
}

static double megabytes(const char *path)
{
    struct stat facts;
    return path != NULL && stat(path, &facts) == 0 ? (double)facts.st_size / 1e6 : 0;
}

/* One row of the table; the files are in the working directory. */
static void measure(nadir_context *context, const nadir_model *model, const bench_format *format)
{
    nadir_write_settings write;
    nadir_write_settings_default(&write);
    write.compress = format->compress;
    double start = nadir_clock_seconds();
    check(context, nadir_model_write(context, model, format->file, &write));
    const double write_seconds = nadir_clock_seconds() - start;

    nadir_read_settings settings;
    nadir_read_settings_default(&settings);
    settings.rewards = format->rewards;
    double best = 0;
    size_t peak = 0;
    for (int i = 0; i < READS; i++) {
        nadir_context *fresh = new_context();
        nadir_model *copy = NULL;
        start = nadir_clock_seconds();
        check(fresh, nadir_model_read(fresh, format->file, &settings, &copy));
        const double seconds = nadir_clock_seconds() - start;
        best = i == 0 || seconds < best ? seconds : best;
        peak = nadir_context_memory_peak(fresh);
        if (!same_bits(model, copy)) {
            (void)fprintf(stderr, "bench_io: %s: not what was written\n", format->file);
            exit(1);
        }
        nadir_model_free(copy);
        nadir_context_free(fresh);
    }
    const double size = megabytes(format->file) + megabytes(format->rewards);
    (void)printf("| %s | %.1f | %.2f | %.2f | %.0f | %.2f |\n", format->title, size, write_seconds, best,
                 size / best, (double)peak / csr_bytes(model));
    (void)fflush(stdout);
}

/* Makes a folder for the files and goes there. */
static void enter_folder(char *folder, size_t capacity)
{
    const char *parent = getenv("TMPDIR");
    (void)snprintf(folder, capacity, "%s/nadir-bench.XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
        perror(folder);
        exit(6);
    }
}

int main(int count, char **words)
{
    const long long wanted = count > 1 ? strtoll(words[1], NULL, 10) : 10000000;
    if (wanted < 100 || wanted > 1000000000) {
        (void)fprintf(stderr, "usage: bench_io [TRANSITIONS]   100 to 1000000000\n");
        return 2;
    }
    char folder[4096];
    enter_folder(folder, sizeof folder);
    nadir_context *context = new_context();
    nadir_model *model = make_model(context, wanted / (ACTIONS * SUCCESSORS));
    (void)printf("%lld transitions, %.1f MB as CSR\n\n", wanted, csr_bytes(model) / 1e6);
    (void)printf("| format | file, MB | write, s | read, s | read, MB/s | peak memory / CSR |\n");
    (void)printf("|---|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        measure(context, model, &formats[i]);
        (void)unlink(formats[i].file);
        if (formats[i].rewards != NULL) {
            (void)unlink(formats[i].rewards);
        }
    }
    nadir_model_free(model);
    nadir_context_free(context);
    (void)rmdir(folder);
    return 0;
}
