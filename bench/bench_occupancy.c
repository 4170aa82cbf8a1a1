/*
 * bench_occupancy.c: the occupancy operator against the bare work it cannot do without.
 *
 *     bench_occupancy [quick] [alone]
 *
 * quick: small sizes; alone: everything on one thread, for machines that others keep busy.
 * Times are the best of several runs, those that are compared taken in turns; ratios are of one run of the
 * program. Memory is what the process holds at most while it works, over what the arrays of the model and of
 * P^pi take.
 */
#include "linalg/threads.h"
#include "measure.h"
#include "model/average.h"
#include "solve/occupancy.h"

#include <lapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAMMA   0.95
#define ACTIONS 8
#define RUNS    3 /* of what takes long */

/* A model with its nominal kernel and the uniform policy. */
typedef struct setting {
    nadir_context *context;
    nadir_model *model;
    nadir_model_data view;
    nadir_kernel *kernel;
    nadir_policy *policy;
    nadir_occupancy *occupancy;
    nadir_average average;
    double *x; /* [8 * states] */
    double *y; /* [8 * states] */
    int64_t count;
    int threads;     /* of the bare work */
    double resident; /* before the model was there */
} setting;

static setting make_setting(const char *kind, const nadir_generate_settings *shape, int32_t threads)
{
    setting made = {.context = bench_context(threads), .resident = bench_resident(), .count = 1};
    bench_check(made.context, nadir_model_generate(made.context, kind, shape, &made.model));
    nadir_model_data_default(&made.view);
    nadir_model_view(made.model, &made.view);
    bench_check(made.context, nadir_kernel_create(made.context, made.model, &made.kernel));
    bench_check(made.context, nadir_policy_create_uniform(made.context, made.model, &made.policy));
    made.x = bench_new(8 * made.view.states, sizeof *made.x);
    made.y = bench_new(8 * made.view.states, sizeof *made.y);
    for (int64_t i = 0; i < 8 * made.view.states; i++) {
        made.x[i] = (double)(i * 7919 % 1000) / 1000;
    }
    made.threads = nadir_context_threads(made.context);
    bench_reset_peak();
    return made;
}

static void clear_setting(setting *made)
{
    nadir_occupancy_free(made->context, made->occupancy);
    nadir_average_clear(made->context, &made->average);
    nadir_policy_free(made->policy);
    nadir_kernel_free(made->kernel);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
    free(made->x);
    free(made->y);
}

/* Bytes of the arrays of the model and of P^pi. */
static double least_bytes(const setting *at, int64_t average_entries)
{
    nadir_model_facts facts;
    memset(&facts, 0, sizeof facts);
    facts.size = sizeof facts;
    bench_check(at->context, nadir_model_facts_compute(at->context, at->model, &facts));
    const double average = at->view.dense != NULL ? 8.0 * (double)at->view.states * (double)at->view.states
                                                  : 12.0 * (double)average_entries;
    return (double)facts.bytes + average;
}

static double memory_ratio(const setting *at, double peak, int64_t average_entries)
{
    return (peak - at->resident) / least_bytes(at, average_entries);
}

/* ---------------------------------------------------------------------------------------------------------
 * Dense evaluation
 */

static void evaluate(void *user)
{
    setting *at = user;
    nadir_occupancy_free(at->context, at->occupancy);
    at->occupancy = NULL;
    bench_check(at->context, nadir_occupancy_create(at->context, at->kernel, at->policy, GAMMA, "lapack", 0,
                                                    &at->occupancy));
    nadir_average_rewards(at->model, at->policy, at->x);
    bench_check(at->context, nadir_occupancy_solve(at->context, at->occupancy, 1, at->x, at->y, NULL));
}

/* I - gamma P^pi in one pass over P. */
static void bare_matrix(const setting *at, double *matrix)
{
    const int64_t n = at->view.states;
    const double *probabilities = nadir_policy_probabilities(at->policy);
#pragma omp parallel for num_threads(at->threads) schedule(static)
    for (int64_t s = 0; s < n; s++) {
        double *sum = matrix + s * n;
        memset(sum, 0, (size_t)n * sizeof *sum);
        for (int64_t row = at->view.state_rows[s]; row < at->view.state_rows[s + 1]; row++) {
            const double weight = -GAMMA * probabilities[row];
            const double *from = at->view.dense + row * n;
            for (int64_t t = 0; t < n; t++) {
                sum[t] += weight * from[t];
            }
        }
        sum[s] += 1;
    }
}

static void bare_evaluate(void *user)
{
    const setting *at = user;
    const int64_t n = at->view.states;
    const double *probabilities = nadir_policy_probabilities(at->policy);
    double *matrix = malloc((size_t)(n * n) * sizeof *matrix);
    lapack_int *pivots = malloc((size_t)n * sizeof *pivots);
    if (matrix == NULL || pivots == NULL) {
        exit(6);
    }
    bare_matrix(at, matrix);
    for (int64_t s = 0; s < n; s++) {
        at->y[s] = 0;
        for (int64_t row = at->view.state_rows[s]; row < at->view.state_rows[s + 1]; row++) {
            at->y[s] += probabilities[row] * at->view.rewards[row];
        }
    }
    const lapack_int size = (lapack_int)n;
    const lapack_int one = 1;
    lapack_int info = 0;
    const int before = nadir_blas_threads(at->threads);
    LAPACK_dgetrf(&size, &size, matrix, &size, pivots, &info);
    LAPACK_dgetrs("T", &size, &one, matrix, &size, pivots, at->y, &size, &info);
    nadir_blas_restore(before);
    free(matrix);
    free(pivots);
}

/* threads 0: all. */
static void dense_row(int64_t states, int32_t threads, int runs)
{
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    shape.states = states;
    shape.actions = ACTIONS;
    setting at = make_setting("random", &shape, threads);
    double ours;
    double bare;
    evaluate(&at);
    const double memory = memory_ratio(&at, bench_resident_peak(), 0);
    bench_best_of(runs, evaluate, bare_evaluate, &at, &ours, &bare);
    (void)printf("| %lld | %d | %.4f | %.4f | %.2f | %.2f |\n", (long long)states, at.threads, ours, bare,
                 ours / bare, memory);
    clear_setting(&at);
}

static void dense(bench_mode mode)
{
    dense_row(mode.quick ? 300 : 1000, mode.threads, 15);
    dense_row(mode.quick ? 600 : 2000, mode.threads, 5);
}

/* ---------------------------------------------------------------------------------------------------------
 * Factorisation at a size where threads hardly pay
 */

typedef struct factoring {
    nadir_context *context;
    nadir_average *average;
    double *matrix; /* [states * states] */
    lapack_int *pivots;
} factoring;

static void factor(void *user)
{
    const factoring *at = user;
    void *self = NULL;
    bench_check(at->context, nadir_backend_lapack.setup(at->context, at->average, GAMMA, &self));
    nadir_backend_lapack.destroy(at->context, self);
}

static void bare_factor(void *user)
{
    const factoring *at = user;
    const int64_t n = at->average->states;
    const lapack_int size = (lapack_int)n;
    for (int64_t i = 0; i < n * n; i++) {
        at->matrix[i] = (i % (n + 1) == 0) - GAMMA * at->average->dense[i];
    }
    lapack_int info = 0;
    LAPACK_dgetrf(&size, &size, at->matrix, &size, at->pivots, &info);
}

static void factorisation(bench_mode mode)
{
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    shape.states = 300;
    shape.actions = ACTIONS;
    setting at = make_setting("random", &shape, 0);
    bench_check(at.context, nadir_average_make(at.context, at.kernel, at.policy, &at.average));
    const int most = nadir_context_threads(at.context);
    const int counts[2] = {1, most};
    double ours[2];
    double bare[2];
    factoring work = {.average = &at.average};
    work.matrix = bench_new(300 * 300, sizeof *work.matrix);
    work.pivots = bench_new(300, sizeof *work.pivots);
    for (int i = 0; i < 2; i++) {
        work.context = bench_context(counts[i]);
        const int before = nadir_blas_threads(counts[i]);
        bench_best_of(mode.quick ? 20 : 100, factor, bare_factor, &work, &ours[i], &bare[i]);
        nadir_blas_restore(before);
        nadir_context_free(work.context);
    }
    const double best[2] = {bare[0], bare[0] < bare[1] ? bare[0] : bare[1]};
    (void)printf("| threads allowed | nadir, ms | getrf, ms | nadir / best getrf with so many or fewer |\n");
    (void)printf("|---:|---:|---:|---:|\n");
    for (int i = 0; i < 2; i++) {
        (void)printf("| %d | %.2f | %.2f | %.2f |\n", counts[i], 1e3 * ours[i], 1e3 * bare[i],
                     ours[i] / best[i]);
    }
    free(work.matrix);
    free(work.pivots);
    clear_setting(&at);
}

/* ---------------------------------------------------------------------------------------------------------
 * Sparse models
 */

static void assemble(void *user)
{
    setting *at = user;
    nadir_average_clear(at->context, &at->average);
    bench_check(at->context, nadir_average_make(at->context, at->kernel, at->policy, &at->average));
}

static void refactor(void *user)
{
    setting *at = user;
    bench_check(at->context, nadir_occupancy_update(at->context, at->occupancy, at->kernel, at->policy));
}

static void solve(void *user)
{
    setting *at = user;
    bench_check(at->context,
                nadir_occupancy_solve(at->context, at->occupancy, at->count, at->x, at->y, NULL));
}

static void solve_transposed(void *user)
{
    setting *at = user;
    bench_check(at->context,
                nadir_occupancy_solve_transposed(at->context, at->occupancy, at->count, at->x, at->y, NULL));
}

static void multiply(void *user)
{
    setting *at = user;
    nadir_average_multiply(at->context, nadir_occupancy_average(at->occupancy), 1, at->x, at->y);
}

static void multiply_transposed(void *user)
{
    setting *at = user;
    bench_check(at->context, nadir_average_multiply_transposed(
                                 at->context, nadir_occupancy_average(at->occupancy), 1, at->x, at->y));
}

static void bare_multiply(void *user)
{
    const setting *at = user;
    const nadir_matrix matrix = nadir_occupancy_average(at->occupancy)->matrix;
    const double *x = at->x;
    double *y = at->y;
#pragma omp parallel for num_threads(at->threads) schedule(static)
    for (int64_t s = 0; s < matrix.size; s++) {
        double sum = 0;
        for (int64_t i = matrix.starts[s]; i < matrix.starts[s + 1]; i++) {
            sum += matrix.values[i] * x[matrix.columns[i]];
        }
        y[s] = sum;
    }
}

static void print_line(const char *what, double seconds, double bare)
{
    (void)printf("| %s | %.3f | %.2f |\n", what, 1e3 * seconds, seconds / bare);
}

/* Products and solves of an operator that stands. */
static void sparse_lines(setting *at, int runs)
{
    double bare;
    double plain;
    double transposed;
    double ignored;
    nadir_backend_statistics before;
    nadir_backend_statistics after;
    bench_best_of(runs, multiply, bare_multiply, at, &plain, &bare);
    bench_best_of(runs, multiply_transposed, bare_multiply, at, &transposed, &ignored);
    print_line("bare CSR product", bare, bare);
    print_line("product", plain, bare);
    print_line("transposed product", transposed, bare);
    print_line("assembly of P^π", bench_best(RUNS, assemble, at), bare);
    nadir_average_clear(at->context, &at->average);
    for (int way = 0; way < 2; way++) {
        nadir_occupancy_statistics(at->occupancy, &before);
        const double seconds = bench_best(RUNS, way == 0 ? solve : solve_transposed, at);
        nadir_occupancy_statistics(at->occupancy, &after);
        const int64_t products = (after.iterations - before.iterations) / RUNS;
        print_line(way == 0 ? "solve" : "transposed solve", seconds, bare);
        if (products > 0) {
            (void)printf("| … for each of its %lld products | %.3f | %.2f |\n", (long long)products,
                         1e3 * seconds / (double)products, seconds / (double)products / bare);
        }
    }
    at->count = 8;
    print_line("solve, 8 right-hand sides", bench_best(1, solve, at), bare);
    at->count = 1;
}

static void sparse(setting *at, const char *backend, int runs)
{
    (void)printf("%lld states, %lld transitions, backend %s, %d thread%s\n\n", (long long)at->view.states,
                 (long long)at->view.nonzeros, backend, at->threads, at->threads == 1 ? "" : "s");
    (void)printf("| | ms | / bare product |\n|---|---:|---:|\n");
    bench_check(at->context, nadir_occupancy_create(at->context, at->kernel, at->policy, GAMMA, backend, 0,
                                                    &at->occupancy));
    nadir_backend_statistics statistics;
    nadir_occupancy_statistics(at->occupancy, &statistics);
    const int64_t entries = nadir_occupancy_average(at->occupancy)->matrix.starts[at->view.states];
    const double factor_seconds = statistics.factor_seconds;
    solve(at);
    const double peak = bench_resident_peak();
    solve_transposed(at);
    const double peak_transposed = bench_resident_peak();
    sparse_lines(at, runs);
    const double refactor_seconds = bench_best(RUNS, refactor, at);
    (void)printf("\nset-up of the backend %.3f s, update for a policy with the same actions %.3f s; ",
                 factor_seconds, refactor_seconds);
    (void)printf("peak memory / (model + P^π) %.2f, with transposed solves %.2f\n",
                 memory_ratio(at, peak, entries), memory_ratio(at, peak_transposed, entries));
    clear_setting(at);
}

static void gridworld(bench_mode mode)
{
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    shape.width = mode.quick ? 60 : 300;
    shape.height = shape.width;
    setting at = make_setting("gridworld", &shape, mode.threads);
    sparse(&at, "klu", 50);
}

static void garnet(bench_mode mode)
{
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    shape.states = mode.quick ? 20000 : 1000000;
    shape.actions = 4;
    shape.branch = 5;
    setting at = make_setting("garnet", &shape, mode.threads);
    sparse(&at, "krylov", 10);
}

int main(int count, char **words)
{
    bench_mode mode = {0};
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "quick") == 0) {
            mode.quick = true;
        } else if (strcmp(words[i], "alone") == 0) {
            mode.threads = 1;
        } else {
            (void)fprintf(stderr, "usage: bench_occupancy [quick] [alone]\n");
            return 2;
        }
    }
    (void)printf("### Dense evaluation, %d actions\n\n", ACTIONS);
    (void)printf("| states | threads | nadir, s | one pass + getrf + getrs, s | ratio |");
    (void)printf(" peak memory / (model + P^π) |\n|---:|---:|---:|---:|---:|---:|\n");
    bench_section(dense, mode);
    if (mode.threads != 1) {
        (void)printf("\n### Factorisation, 300 states\n\n");
        bench_section(factorisation, mode);
    }
    (void)printf("\n### Gridworld\n\n");
    bench_section(gridworld, mode);
    (void)printf("\n### Garnet\n\n");
    bench_section(garnet, mode);
    return 0;
}
