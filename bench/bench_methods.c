/*
 * bench_methods.c: methods by name on the setting of the paper's experiments: random kernel, normal rewards,
 * 128 states, 8 actions, discount 0.9, radius 0.01.
 *
 *     bench_methods [quick] [alone]
 *
 * First those that converge, to the same tolerance: how far from the exact penalty they end, and how many
 * times longer than the default they take. Then all of them, each with the same time. quick: 32 states and
 * less time; alone: one thread.
 */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct subject {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_solver *solver;
    nadir_ball ball;
} subject;

static const double radius = 0.01;

static subject prepare(nadir_context *context, int64_t states)
{
    subject made = {.context = context};
    nadir_generate_settings settings;
    nadir_generate_settings_default(&settings);
    settings.states = states;
    settings.actions = 8;
    settings.discount = 0.9;
    settings.seed = 1;
    bench_check(context, nadir_model_generate(context, "random", &settings, &made.model));
    bench_check(context, nadir_policy_create_uniform(context, made.model, &made.policy));
    bench_check(context, nadir_solver_create(context, made.model, made.policy, NULL, &made.solver));
    nadir_ball_default(&made.ball);
    made.ball.set = NADIR_SET_NONRECT;
    made.ball.domain = NADIR_DOMAIN_FREE;
    made.ball.norm = 2;
    made.ball.radius = &radius;
    made.ball.radius_count = 1;
    return made;
}

static void clear(subject *on)
{
    nadir_solver_free(on->solver);
    nadir_policy_free(on->policy);
    nadir_model_free(on->model);
}

/* The fastest of so many runs. */
static nadir_baseline run(const subject *on, const char *method, double seconds, int runs)
{
    nadir_baseline best = {.seconds = INFINITY};
    nadir_baseline_settings settings;
    nadir_baseline_settings_default(&settings);
    settings.method = method;
    settings.seconds = seconds;
    settings.samples = INT64_MAX;
    for (int i = 0; i < runs; i++) {
        nadir_baseline result = {.size = sizeof result};
        bench_check(on->context, nadir_solver_baseline(on->context, on->solver, &on->ball, &settings, &result,
                                                       NULL, NULL));
        best = result.seconds < best.seconds ? result : best;
    }
    return best;
}

static void compare_converging(const subject *on, double exact)
{
    static const char *const methods[] = {"auto",          "newton",        "bisect",
                                          "best-response", "paper-reduced", "paper"};
    double first = 0;
    (void)printf("| method | penalty | relative difference | steps | seconds | / auto |\n"
                 "|---|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const nadir_baseline result =
            run(on, methods[i], INFINITY, strcmp(methods[i], "paper") == 0 ? 1 : 20);
        first = i == 0 ? result.seconds : first;
        (void)printf("| `%s` | %.12g | %.1e | %lld | %.2g | %.3g |\n", methods[i], result.penalty,
                     fabs(result.penalty / exact - 1), (long long)result.samples, result.seconds,
                     result.seconds / first);
        (void)fflush(stdout);
    }
}

static void compare_all(const subject *on, double exact, double seconds)
{
    const char *name;
    (void)printf(
        "\n%g seconds each\n\n| method | penalty | %% of the exact one | samples or steps | stopped by |\n"
        "|---|---:|---:|---:|---|\n",
        seconds);
    for (int64_t i = 0; (name = nadir_method_name(i)) != NULL; i++) {
        const nadir_baseline result = run(on, name, seconds, 1);
        (void)printf("| `%s` | %.9g | %.2f | %lld | %s |\n", name, result.penalty,
                     100 * result.penalty / exact, (long long)result.samples, result.stop_reason);
        (void)fflush(stdout);
    }
}

int main(int count, char **words)
{
    bool quick = false;
    int32_t threads = 0;
    for (int i = 1; i < count; i++) {
        quick = quick || strcmp(words[i], "quick") == 0;
        threads = strcmp(words[i], "alone") == 0 ? 1 : threads;
    }
    nadir_context *context = bench_context(threads);
    subject on = prepare(context, quick ? 32 : 128);
    nadir_robust exact = {.size = sizeof exact};
    bench_check(context, nadir_solver_robust(context, on.solver, &on.ball, NULL, &exact, NULL));
    (void)printf("### Methods by name\n\nthe exact penalty is %.12g, %s\n\n", exact.penalty,
                 exact.certified ? "certified" : "not certified");
    compare_converging(&on, exact.penalty);
    compare_all(&on, exact.penalty, quick ? 1 : 10);
    clear(&on);
    nadir_context_free(context);
    return 0;
}
