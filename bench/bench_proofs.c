/*
 * bench_proofs.c: up to which radius the worst valid kernel of a non-rectangular L_2 ball is proven to be the
 * worst.
 *
 *     bench_proofs [FILE...]
 *
 * FILEs: further models that bring their discount and rewards with them. The largest certified radius is
 * found by doubling and halving, to two digits: everything tried below it was certified, what was tried above
 * was not.
 */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* *seconds: of search and proof together. */
static bool is_certified(nadir_context *context, nadir_solver *solver, nadir_domain domain, double radius,
                         double *seconds)
{
    nadir_robust result = {.size = sizeof result};
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.set = NADIR_SET_NONRECT;
    ball.domain = domain;
    ball.norm = 2;
    ball.radius = &radius;
    ball.radius_count = 1;
    bench_check(context, nadir_solver_robust(context, solver, &ball, NULL, &result, NULL));
    *seconds = result.seconds_robust + result.seconds_certify;
    return result.certified;
}

static double largest_certified(nadir_context *context, nadir_solver *solver, nadir_domain domain,
                                double *seconds)
{
    double low = 0;
    double high = 0.01;
    double ignored;
    while (high < 8 && is_certified(context, solver, domain, high, seconds)) {
        low = high;
        high *= 2;
    }
    while (high - low > 0.01 * high && high > 1e-6) {
        const double middle = low > 0 ? 0.5 * (low + high) : 0.5 * high;
        if (is_certified(context, solver, domain, middle, &ignored)) {
            low = middle;
            *seconds = ignored;
        } else {
            high = middle;
        }
    }
    return low;
}

static void table_row(nadir_context *context, nadir_model *model, const char *name, bool optimal)
{
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    nadir_optimum_result optimum = {.size = sizeof optimum};
    if (optimal) {
        bench_check(context, nadir_optimum(context, model, NULL, &policy, &optimum));
    } else {
        bench_check(context, nadir_policy_create_uniform(context, model, &policy));
    }
    bench_check(context, nadir_solver_create(context, model, policy, NULL, &solver));
    double times[2] = {0};
    const double support = largest_certified(context, solver, NADIR_DOMAIN_SUPPORT, &times[0]);
    const double simplex = largest_certified(context, solver, NADIR_DOMAIN_SIMPLEX, &times[1]);
    (void)printf("| %s | %s | %.2g | %.2g | %.2g | %.2g |\n", name, optimal ? "optimal" : "uniform", support,
                 simplex, times[0], times[1]);
    (void)fflush(stdout);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
}

static void table_rows(nadir_context *context, nadir_model *model, const char *name)
{
    table_row(context, model, name, false);
    table_row(context, model, name, true);
    nadir_model_free(model);
}

static void generated(nadir_context *context, const char *kind, const char *name, int64_t states,
                      int64_t actions, int64_t branch)
{
    nadir_generate_settings shape;
    nadir_model *model = NULL;
    nadir_generate_settings_default(&shape);
    shape.states = states;
    shape.actions = actions;
    shape.branch = branch;
    bench_check(context, nadir_model_generate(context, kind, &shape, &model));
    table_rows(context, model, name);
}

int main(int count, char **words)
{
    nadir_context *context = bench_context(0);
    (void)printf("### Largest certified radius\n\n| model | policy | support | simplex | seconds, support | "
                 "seconds, simplex |\n|---|---|---:|---:|---:|---:|\n");
    generated(context, "machine", "machine replacement", 0, 0, 0);
    generated(context, "riverswim", "RiverSwim", 0, 0, 0);
    generated(context, "random", "dense random, S = 60, A = 8", 60, 8, 0);
    generated(context, "garnet", "garnet, S = 100, A = 4, 5 successors", 100, 4, 5);
    generated(context, "garnet", "garnet, S = 1000, A = 4, 5 successors", 1000, 4, 5);
    for (int i = 1; i < count; i++) {
        nadir_model *model = NULL;
        const char *slash = strrchr(words[i], '/');
        bench_check(context, nadir_model_read(context, words[i], NULL, &model));
        table_rows(context, model, slash != NULL ? slash + 1 : words[i]);
    }
    nadir_context_free(context);
    return 0;
}
