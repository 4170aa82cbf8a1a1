/*
 * bench_samples.c: random policies and random kernels, on the device of an engine or here.
 *
 *     bench_samples ENGINE|here policies COUNT
 *     bench_samples ENGINE|here kernels STATES COUNT
 *
 * policies: those of the experiment `geometry`: moments, and densities along ten pairs of axes. kernels: the
 * baseline random-kernel on a dense random model with 8 actions. The second of two runs counts.
 */
#include "base/clock.h"
#include "geometry.h"
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VIEWS = 10 };

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

int main(int argc, char **argv)
{
    const bool policies = argc == 4 && strcmp(argv[2], "policies") == 0;
    const bool kernels = argc == 5 && strcmp(argv[2], "kernels") == 0;
    if (!policies && !kernels) {
        fprintf(stderr, "usage: bench_samples ENGINE|here policies COUNT | kernels STATES COUNT\n");
        return 2;
    }
    nadir_context *context = bench_context(0);
    nadir_engine *engine = NULL;
    if (strcmp(argv[1], "here") != 0) {
        bench_check(context, nadir_engine_open(context, argv[1], NULL, false, &engine));
    }
    if (policies) {
        run_policies(context, strtoll(argv[3], NULL, 10));
    } else {
        run_kernels(context, strtoll(argv[3], NULL, 10), strtoll(argv[4], NULL, 10));
    }
    nadir_engine_close(engine, 0, "");
    nadir_context_free(context);
    return 0;
}
