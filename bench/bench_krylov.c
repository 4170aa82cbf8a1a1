/*
 * bench_krylov.c: how many products the krylov backend needs, and what it spends beside them.
 *
 *     bench_krylov [quick]
 *
 * Solves D x and D^T x to a residual of 1e-10 |b| in the norm that bounds the error, uniform policy, b
 * uniform in [0, 1]. "Contraction" is what x <- b + gamma M x would need. Time is per product, and as a
 * multiple of the product alone, timed right before.
 */
#include "core/random.h"
#include "measure.h"
#include "solve/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESIDUAL 1e-10

/* A model under the uniform policy. */
typedef struct setting {
    nadir_context *context;
    nadir_model *model;
    nadir_kernel *kernel;
    nadir_policy *policy;
    nadir_average average;
    void *self;
    double *b; /* [8 * states] */
    double *x; /* [8 * states] */
    bool transposed;
    int64_t count;
    double residual;
} setting;

static void assemble(void *user)
{
    setting *at = user;
    nadir_average_clear(at->context, &at->average);
    bench_check(at->context, nadir_average_make(at->context, at->kernel, at->policy, &at->average));
}

static void make_setting(setting *made, const char *kind, const nadir_generate_settings *shape)
{
    *made = (setting){.context = bench_context(0), .count = 1};
    bench_check(made->context, nadir_model_generate(made->context, kind, shape, &made->model));
    bench_check(made->context, nadir_kernel_create(made->context, made->model, &made->kernel));
    bench_check(made->context, nadir_policy_create_uniform(made->context, made->model, &made->policy));
    assemble(made);
    const int64_t n = made->average.states;
    nadir_random random;
    nadir_random_seed(&random, 1);
    made->b = bench_new(8 * n, sizeof *made->b);
    made->x = bench_new(8 * n, sizeof *made->x);
    for (int64_t i = 0; i < 8 * n; i++) {
        made->b[i] = nadir_random_uniform(&random);
    }
}

static void clear_setting(setting *made)
{
    nadir_average_clear(made->context, &made->average);
    nadir_policy_free(made->policy);
    nadir_kernel_free(made->kernel);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
    free(made->b);
    free(made->x);
}

static void multiply(void *user)
{
    setting *at = user;
    bench_check(at->context, nadir_average_combine(at->context, &at->average, at->transposed, at->count, 1,
                                                   -0.9, at->b, at->x));
}

static void solve(void *user)
{
    setting *at = user;
    memset(at->x, 0, (size_t)(at->average.states * at->count) * sizeof *at->x);
    bench_check(at->context, nadir_backend_krylov.solve(at->context, at->self, at->transposed, at->count,
                                                        at->b, at->residual, at->x));
}

/* One row: products of D x or D^T x, alone and eight at once. */
static void print_row(setting *at, const char *name, double gamma, bool transposed)
{
    nadir_backend_statistics statistics;
    at->transposed = transposed;
    at->residual = RESIDUAL;
    if (transposed) { /* |b|_1 */
        at->residual *= (double)at->average.states / 2;
    }
    bench_check(at->context, nadir_backend_krylov.setup(at->context, &at->average, gamma, &at->self));
    (void)printf("| %s | %lld | %g | %s | %.0f |", name, (long long)at->average.states, gamma,
                 transposed ? "Dᵀx" : "D x", log(RESIDUAL) / log(gamma));
    for (at->count = 1; at->count <= 8; at->count *= 8) {
        int64_t before;
        nadir_backend_krylov.statistics(at->self, &statistics);
        before = statistics.iterations;
        const double product = bench_best(5, multiply, at) / (double)at->count;
        const double seconds = bench_best(1, solve, at);
        nadir_backend_krylov.statistics(at->self, &statistics);
        const double products = (double)(statistics.iterations - before);
        (void)printf(" %.0f | %.3f | %.2f |", products / (double)at->count, 1e3 * seconds / products,
                     seconds / products / product);
    }
    (void)printf("\n");
    nadir_backend_krylov.destroy(at->context, at->self);
}

static void print_rows(const char *kind, const nadir_generate_settings *shape)
{
    static const double gammas[] = {0.95, 0.99, 0.999, 0.9999};
    setting at;
    make_setting(&at, kind, shape);
    for (size_t i = 0; i < sizeof gammas / sizeof *gammas; i++) {
        print_row(&at, kind, gammas[i], false);
        print_row(&at, kind, gammas[i], true);
    }
    clear_setting(&at);
}

static void chains(bench_mode mode)
{
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    shape.states = mode.quick ? 100 : 1000;
    print_rows("riverswim", &shape);
}

static void grids(bench_mode mode)
{
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    shape.width = mode.quick ? 50 : 300;
    shape.height = shape.width;
    print_rows("gridworld", &shape);
}

static void garnets(bench_mode mode)
{
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    shape.states = mode.quick ? 10000 : 1000000;
    shape.actions = 4;
    shape.branch = 5;
    print_rows("garnet", &shape);
}

/* How fast a sparse model is read while it is averaged. */
static void assembly(bench_mode mode)
{
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    shape.states = mode.quick ? 10000 : 1000000;
    shape.actions = 4;
    shape.branch = 5;
    setting at;
    make_setting(&at, "garnet", &shape);
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(at.model, &view);
    const double seconds = bench_best(3, assemble, &at);
    (void)printf("\nAssembly of P^π, garnet of %lld states: %.1f ms, %.2f GB/s of the model's transitions\n",
                 (long long)view.states, 1e3 * seconds, 12e-9 * (double)view.nonzeros / seconds);
    clear_setting(&at);
}

int main(int count, char **words)
{
    const bool quick = count == 2 && strcmp(words[1], "quick") == 0;
    if (count > 1 && !quick) {
        (void)fprintf(stderr, "usage: bench_krylov [quick]\n");
        return 2;
    }
    (void)printf("### Products of the krylov backend\n\n");
    (void)printf("| model | states | γ | | contraction | products | ms each | / product |");
    (void)printf(" products, 8 at once | ms each | / product |\n");
    (void)printf("|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|\n");
    bench_section(chains, (bench_mode){.quick = quick});
    bench_section(grids, (bench_mode){.quick = quick});
    bench_section(garnets, (bench_mode){.quick = quick});
    bench_section(assembly, (bench_mode){.quick = quick});
    return 0;
}
