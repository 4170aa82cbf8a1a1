/*
 * bench_norm.c: max |A x| over x >= 0, |x| <= 1 for A = randn(n, n) of NumPy's legacy generator, seed 42: the
 * paper's table, and what it costs beside one symmetric eigendecomposition.
 *
 *     bench_norm [--bounds] [LARGEST]
 *
 * Seconds are the best of several runs, taken in turns; the last ratio is that of processor time, of all
 * threads: on a busy machine, with OMP_NUM_THREADS=1, it says more than the clock.
 */
#include "core/context.h"
#include "experiments/numpy_random.h"
#include "linalg/threads.h"
#include "measure.h"

#include <lapack.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct trial {
    nadir_context *context;
    int64_t n;
    double *A;
    nadir_cone_norm_settings settings;
    nadir_cone_norm_result result;
} trial;

static void run_norm(void *user)
{
    trial *at = user;
    bench_check(at->context,
                nadir_cone_norm(at->context, at->n, at->n, at->A, &at->settings, NULL, &at->result));
}

/* All eigenvectors of A + A^T, by LAPACK's divide and conquer, with the threads that the library would use.
 */
static void run_eigen(void *user)
{
    const trial *at = user;
    const lapack_int n = (lapack_int)at->n;
    const lapack_int work_length = 1 + 6 * n + 2 * n * n;
    const lapack_int iwork_length = 3 + 5 * n;
    double *matrix = bench_new(at->n * at->n, sizeof *matrix);
    double *values = bench_new(at->n, sizeof *values);
    double *work = bench_new(work_length, sizeof *work);
    lapack_int *iwork = bench_new(iwork_length, sizeof *iwork);
    lapack_int info = 0;
    for (int64_t i = 0; i < at->n; i++) {
        for (int64_t j = 0; j < at->n; j++) {
            matrix[i * at->n + j] = at->A[i * at->n + j] + at->A[j * at->n + i];
        }
    }
    const int before = nadir_blas_threads(nadir_threads_for(at->context, at->n * at->n * at->n));
    LAPACK_dsyevd("V", "L", &n, matrix, &n, values, work, &work_length, iwork, &iwork_length, &info);
    nadir_blas_restore(before);
    free(matrix);
    free(values);
    free(work);
    free(iwork);
}

/* The least of several runs. */
typedef struct cost {
    double seconds;
    double processor;
} cost;

static void measure(bench_work work, trial *at, cost *least)
{
    const double seconds = nadir_clock_seconds();
    const clock_t processor = clock();
    work(at);
    least->processor = fmin(least->processor, (double)(clock() - processor) / CLOCKS_PER_SEC);
    least->seconds = fmin(least->seconds, nadir_clock_seconds() - seconds);
}

static double value_of(trial *at, const char *order)
{
    at->settings.order = order;
    run_norm(at);
    return at->result.value;
}

static void table_row(nadir_context *context, int64_t n, bool bounds)
{
    static const char *const orders[] = {"0", "1", "paper", "2", "3"};
    trial at = {.context = context, .n = n, .result.size = sizeof at.result};
    nadir_numpy_random random;
    nadir_numpy_random_seed(&random, 42);
    at.A = bench_new(n * n, sizeof *at.A);
    for (int64_t i = 0; i < n * n; i++) {
        at.A[i] = nadir_numpy_random_normal(&random);
    }
    nadir_cone_norm_settings_default(&at.settings);
    (void)printf("| %lld |", (long long)n);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        (void)printf(" %.4f |", value_of(&at, orders[i]));
        (void)fflush(stdout);
    }
    const double order_3 = at.result.seconds_value;
    cost power = {INFINITY, INFINITY};
    cost eigen = power;
    at.settings.order = NULL;
    for (int i = 0; i < (n < 400 ? 40 : 8); i++) {
        measure(run_norm, &at, &power);
        measure(run_eigen, &at, &eigen);
    }
    (void)printf(" %.6f | %.4f | %.4f |", at.result.value, at.result.first_bound, at.result.zero_bound);
    if (bounds) {
        at.settings.bounds = true;
        run_norm(&at);
        (void)printf(" %.6f | %lld | %.2g |", at.result.dual_bound, (long long)at.result.iterations,
                     at.result.seconds_bounds);
    }
    (void)printf(" %.2g | %.2g | %.2g | %.2f | %.2f |\n", order_3, eigen.seconds, power.seconds,
                 power.seconds / eigen.seconds, power.processor / eigen.processor);
    (void)fflush(stdout);
    free(at.A);
}

int main(int count, char **words)
{
    static const int64_t sizes[] = {10, 20, 50, 100, 200, 300, 500, 1000};
    nadir_context *context = bench_context(0);
    const bool bounds = count > 1 && strcmp(words[1], "--bounds") == 0;
    const char *last = count > 1 + bounds ? words[1 + bounds] : "1000";
    const long largest = strtol(last, NULL, 10);
    (void)printf("### The norm over the nonnegative cone\n\n"
                 "| n | order 0 | order 1 | paper | order 2 | order 3 | power | first bound | zero bound |%s "
                 "seconds, order 3 | eigendecomposition | power | ratio | of processor time "
                 "|\n|---:|---:|---:|---:|---:|---:|---:"
                 "|---:|---:|%s---:|---:|---:|---:|---:|\n",
                 bounds ? " dual bound | iterations | seconds |" : "", bounds ? "---:|---:|---:|" : "");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= largest; i++) {
        table_row(context, sizes[i], bounds);
    }
    nadir_context_free(context);
    return 0;
}
