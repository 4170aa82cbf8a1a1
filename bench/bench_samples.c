/*
 * bench_samples.c: random policies and random kernels, and the returns of given policies, on the device of an
 * engine or here.
 *
 *     bench_samples ENGINE|here policies COUNT
 *     bench_samples ENGINE|here kernels STATES COUNT
 *     bench_samples ENGINE|here returns dense|sparse STATES COUNT
 *
 * policies: those of the experiment `geometry`: moments, and densities along ten pairs of axes. kernels: the
 * baseline random-kernel on a dense random model with 8 actions. returns: of random policies of a model with
 * 4 actions, all at once, and some of them one by one. The second of two runs counts.
 */
#include "base/clock.h"
#include "geometry.h"
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VIEWS = 10, ALONE = 200 };

static void run_policies(nadir_context *context, int64_t count)
{
    geometry_model model;
    geometry_moments moments;
    geometry_view *views = bench_new(VIEWS, sizeof *views);
    nadir_random random = geometry_stream(42, -1);
    geometry_model_make(42, &model);
    for (int i = 0; i < 2; i++) {
        const double begun = nadir_clock_seconds();
        bench_check(context, geometry_moments_compute(context, &model, 42, count, &moments));
        const double added = nadir_clock_seconds();
        for (int v = 0; v < VIEWS; v++) {
            geometry_axes_draw(&random, 2, views[v].axes[0]);
            geometry_view_range(&model, moments.mean, &views[v]);
        }
        const double drawn = nadir_clock_seconds();
        bench_check(context, geometry_views_fill(context, &model, 42, count, moments.mean, VIEWS, views));
        const double counted = nadir_clock_seconds();
        if (i == 1) {
            printf("%lld policies: moments %.4f s, densities of %d views %.4f s; largest variance %.17g\n",
                   (long long)count, added - begun, VIEWS, counted - drawn, moments.variances[0]);
        }
    }
    free(views);
}

static void run_kernels(nadir_context *context, int64_t states, int64_t count)
{
    const double radius = 0.01;
    nadir_generate_settings shape;
    nadir_baseline_settings settings;
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_ball ball;
    nadir_generate_settings_default(&shape);
    shape.states = states;
    shape.actions = 8;
    shape.seed = 42;
    nadir_ball_default(&ball);
    ball.domain = NADIR_DOMAIN_FREE;
    ball.norm = 2;
    ball.radius = &radius;
    ball.radius_count = 1;
    nadir_baseline_settings_default(&settings);
    settings.method = "random-kernel";
    settings.seconds = INFINITY;
    settings.samples = count;
    bench_check(context, nadir_model_generate(context, "random", &shape, &model));
    bench_check(context, nadir_policy_create_uniform(context, model, &policy));
    for (int i = 0; i < 2; i++) {
        nadir_solver *solver = NULL;
        nadir_baseline found = {.size = sizeof found};
        bench_check(context, nadir_solver_create(context, model, policy, NULL, &solver));
        bench_check(context, nadir_solver_baseline(context, solver, &ball, &settings, &found, NULL, NULL));
        if (i == 1) {
            printf("%lld kernels of %lld states: %.4f s; penalty %.17g\n", (long long)count,
                   (long long)states, found.seconds, found.penalty);
        }
        nadir_solver_free(solver);
    }
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* Seconds for each of the first policies, with a solver of its own; *off: how far the returns differ. */
static double one_by_one(nadir_context *context, nadir_model *model, int64_t rows, int64_t count,
                         const double *probabilities, const double *returns, double *off)
{
    const double begun = nadir_clock_seconds();
    *off = 0;
    for (int64_t i = 0; i < count; i++) {
        nadir_policy *policy = NULL;
        nadir_solver *solver = NULL;
        nadir_nominal nominal = {.size = sizeof nominal};
        bench_check(context, nadir_policy_create(context, model, probabilities + i * rows, &policy));
        bench_check(context, nadir_solver_create(context, model, policy, NULL, &solver));
        bench_check(context, nadir_solver_nominal(context, solver, &nominal));
        *off = fmax(*off, fabs(returns[i] - nominal.nominal_return));
        nadir_solver_free(solver);
        nadir_policy_free(policy);
    }
    return (nadir_clock_seconds() - begun) / (double)count;
}

static void run_returns(nadir_context *context, bool dense, int64_t states, int64_t count)
{
    nadir_generate_settings shape;
    nadir_model *model = NULL;
    nadir_random random;
    nadir_generate_settings_default(&shape);
    shape.states = states;
    shape.actions = 4;
    shape.seed = 42;
    bench_check(context, nadir_model_generate(context, dense ? "random" : "garnet", &shape, &model));
    const int64_t rows = 4 * states;
    double *probabilities = bench_new(count * rows, sizeof *probabilities);
    double *returns = bench_new(count, sizeof *returns);
    double *errors = bench_new(count, sizeof *errors);
    nadir_random_seed(&random, 42);
    for (int64_t state = 0; state < count * states; state++) {
        double *pi = probabilities + 4 * state;
        double sum = 0;
        for (int a = 0; a < 4; a++) {
            pi[a] = nadir_random_uniform(&random);
            sum += pi[a];
        }
        for (int a = 0; a < 4; a++) {
            pi[a] /= sum;
        }
    }
    for (int i = 0; i < 2; i++) {
        const double begun = nadir_clock_seconds();
        bench_check(context, nadir_returns(context, model, count, probabilities, NULL, returns, errors));
        const double seconds = nadir_clock_seconds() - begun;
        double error = 0;
        double off = 0;
        for (int64_t j = 0; j < count; j++) {
            error = fmax(error, errors[j]);
        }
        const double alone =
            one_by_one(context, model, rows, count < ALONE ? count : ALONE, probabilities, returns, &off);
        if (i == 1) {
            printf("%lld policies of %lld states: %.4f s, %.3g us each, one by one %.3g; largest error %.2g, "
                   "apart by %.2g\n",
                   (long long)count, (long long)states, seconds, 1e6 * seconds / (double)count, 1e6 * alone,
                   error, off);
        }
    }
    free(probabilities);
    free(returns);
    free(errors);
    nadir_model_free(model);
}

int main(int argc, char **argv)
{
    const bool policies = argc == 4 && strcmp(argv[2], "policies") == 0;
    const bool kernels = argc == 5 && strcmp(argv[2], "kernels") == 0;
    const bool returns = argc == 6 && strcmp(argv[2], "returns") == 0;
    if (!policies && !kernels && !returns) {
        fprintf(stderr, "usage: bench_samples ENGINE|here policies COUNT | kernels STATES COUNT | returns "
                        "dense|sparse STATES COUNT\n");
        return 2;
    }
    nadir_context *context = bench_context(0);
    nadir_engine *engine = NULL;
    if (strcmp(argv[1], "here") != 0) {
        bench_check(context, nadir_engine_open(context, argv[1], NULL, false, &engine));
    }
    if (policies) {
        run_policies(context, strtoll(argv[3], NULL, 10));
    } else if (returns) {
        run_returns(context, strcmp(argv[3], "dense") == 0, strtoll(argv[4], NULL, 10),
                    strtoll(argv[5], NULL, 10));
    } else {
        run_kernels(context, strtoll(argv[3], NULL, 10), strtoll(argv[4], NULL, 10));
    }
    nadir_engine_close(engine, 0, "");
    nadir_context_free(context);
    return 0;
}
