/*
 * bench_optimum.c: the nominal optimum beside plain value iteration.
 *
 *     bench_optimum [quick]
 *
 * Both read the same kernel with the same threads. Value iteration is v <- Tv and nothing else, written here;
 * it stops when |Tv - v| is below 1e-9 of the largest value, in every state. The last but one column is that
 * residual of the values handed out, measured here for both; the last what is proven of the optimum of every
 * state.
 */
#include "core/context.h"
#include "linalg/threads.h"
#include "measure.h"
#include "model/kernel.h"
#include "solve/nominal_optimum.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-9

typedef struct setting {
    nadir_context *context;
    nadir_model *model;
    nadir_model_data view;
    nadir_kernel *kernel;
    double *v;     /* [states] */
    double *value; /* [states] */
    double *q;     /* [rows] */
} setting;

static setting make_setting(const char *kind, const nadir_generate_settings *shape)
{
    setting at = {.context = bench_context(0)};
    bench_check(at.context, nadir_model_generate(at.context, kind, shape, &at.model));
    bench_check(at.context, nadir_kernel_create(at.context, at.model, &at.kernel));
    nadir_model_data_default(&at.view);
    nadir_model_view(at.model, &at.view);
    at.v = bench_new(at.view.states, sizeof *at.v);
    at.value = bench_new(at.view.states, sizeof *at.value);
    at.q = bench_new(at.view.rows, sizeof *at.q);
    return at;
}

static void clear_setting(setting *at)
{
    free(at->v);
    free(at->value);
    free(at->q);
    nadir_kernel_free(at->kernel);
    nadir_model_free(at->model);
    nadir_context_free(at->context);
}

/* value <- Tv; returns max |Tv - v|, and in *scale max |Tv|. */
static double sweep(const setting *at, double *scale)
{
    const nadir_model_data *view = &at->view;
    const int threads = nadir_threads_for(at->context, view->rows);
    double moved = 0;
    double largest = 0;
    nadir_kernel_multiply(at->context, at->kernel, at->v, at->q);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : moved, largest)
    for (int64_t s = 0; s < view->states; s++) {
        double best = -INFINITY;
        for (int64_t row = view->state_rows[s]; row < view->state_rows[s + 1]; row++) {
            best = fmax(best, view->rewards[row] + view->discount * at->q[row]);
        }
        moved = fmax(moved, fabs(best - at->v[s]));
        largest = fmax(largest, fabs(best));
        at->value[s] = best;
    }
    *scale = largest;
    return moved;
}

static void print_row(const setting *at, const char *name, const char *method, const char *work,
                      double seconds, double bound)
{
    double scale;
    const double residual = sweep(at, &scale);
    printf("| %s, discount %g | %s | %s | %.3f | %.1e | %.1e |\n", name, at->view.discount, method, work,
           seconds, residual / scale, bound / scale);
    (void)fflush(stdout);
}

static double run_values(setting *at, const char *name)
{
    char work[64];
    double scale = 0;
    double moved = INFINITY;
    int64_t sweeps = 0;
    const double begun = nadir_clock_seconds();
    while (moved > TOLERANCE * scale) {
        moved = sweep(at, &scale);
        double *swap = at->v;
        at->v = at->value;
        at->value = swap;
        sweeps++;
    }
    const double seconds = nadir_clock_seconds() - begun;
    (void)snprintf(work, sizeof work, "%lld sweeps", (long long)sweeps);
    const double gamma = at->view.discount;
    print_row(at, name, "value iteration", work, seconds, gamma * moved / (1 - gamma));
    return seconds;
}

static double run_optimum(setting *at, const char *name, const char *backend)
{
    char work[128];
    nadir_optimum_settings settings;
    nadir_optimum_settings_default(&settings);
    settings.backend = backend;
    settings.tolerance = TOLERANCE;
    nadir_policy *policy = NULL;
    nadir_optimum_result result;
    bench_check(at->context, nadir_optimum_warm_started(at->context, at->kernel, at->view.discount, &settings,
                                                        NULL, NULL, NULL, at->v, &policy, &result));
    (void)snprintf(work, sizeof work, "%lld sweeps, %lld policies, %lld products", (long long)result.sweeps,
                   (long long)result.iterations, (long long)result.products);
    print_row(at, name, result.backend != NULL ? result.backend : "none", work, result.seconds,
              result.upper_bound - result.lower_bound);
    nadir_policy_free(policy);
    return result.seconds;
}

/* backends: NULL at the end. */
static void compare(const char *name, const char *kind, const nadir_generate_settings *shape,
                    const char *const *backends)
{
    setting at = make_setting(kind, shape);
    for (; *backends != NULL; backends++) {
        (void)run_optimum(&at, name, *backends);
    }
    memset(at.v, 0, (size_t)at.view.states * sizeof *at.v);
    (void)run_values(&at, name);
    clear_setting(&at);
}

int main(int argc, char **argv)
{
    const bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    static const double discounts[] = {0.95, 0.99};
    static const char *const iterative[] = {"krylov", NULL};
    static const char *const dense[] = {"lapack", "krylov", NULL};
    static const char *const sparse[] = {"klu", "krylov", NULL};
    printf("| model | method | work | seconds | residual / scale | bounds / scale |\n"
           "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof discounts / sizeof *discounts; i++) {
        nadir_generate_settings shape;
        nadir_generate_settings_default(&shape);
        shape.discount = discounts[i];
        shape.actions = 10;
        shape.states = quick ? 10000 : 100000;
        compare(quick ? "garnet S=10000, A=10" : "garnet S=100000, A=10", "garnet", &shape, iterative);
        shape.states = quick ? 300 : 1000;
        compare(quick ? "dense S=300, A=10" : "dense S=1000, A=10", "random", &shape, dense);
        nadir_generate_settings_default(&shape);
        shape.discount = discounts[i];
        shape.width = shape.height = quick ? 50 : 200;
        compare(quick ? "gridworld 50 x 50" : "gridworld 200 x 200", "gridworld", &shape, sparse);
    }
    return 0;
}
