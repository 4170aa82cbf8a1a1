/*
 * bench_landing.c: what rewards paid on landing cost, next to the same rewards averaged into rows.
 *
 *     bench_landing [quick]
 *
 * quick: fewer runs. One thread. Models of `nadir generate`, uniform policy, rewards of transitions standard normal.
 * Each pays three times: averaged (frozen), of the form R(s, a) + g(s') (separable), and as drawn (general).
 * Milliseconds are those of an evaluation with its proofs, from nothing, the best of several runs; "/ frozen" are
 * ratios of one run of the program.
 */
#include "core/random.h"
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FROZEN, SEPARABLE, GENERAL, KINDS };

typedef struct question {
    const char *name, *generator;
    int64_t states, actions, branch;
    nadir_set set;
    nadir_domain domain;
    double norm, radius;
    int runs;
} question;

/* The generated model with rewards of transitions. */
static nadir_model *make_model(nadir_context *context, const question *asked, int kind)
{
    nadir_generate_settings shape;
    nadir_model *plain = NULL;
    nadir_model *made = NULL;
    nadir_generate_settings_default(&shape);
    shape.states = asked->states;
    shape.actions = asked->actions;
    shape.branch = asked->branch;
    shape.discount = 0.95;
    bench_check(context, nadir_model_generate(context, asked->generator, &shape, &plain));
    nadir_model_data data;
    nadir_model_data_default(&data);
    nadir_model_view(plain, &data);
    const int64_t count = data.dense != NULL ? data.rows * data.states : data.nonzeros;
    double *rewards = bench_new(count, sizeof *rewards);
    nadir_random random;
    nadir_random_seed(&random, 2);
    for (int64_t i = 0; i < count; i++) {
        const int64_t successor = data.dense != NULL ? i % data.states : data.columns[i];
        const double drawn = nadir_random_normal(&random);
        rewards[i] = kind == SEPARABLE ? sin((double)successor) : drawn;
    }
    data.transition_rewards = rewards;
    data.frozen_rewards = kind == FROZEN;
    bench_check(context, nadir_model_create(context, &data, &made));
    free(rewards);
    nadir_model_free(plain);
    return made;
}

/* Seconds of one evaluation. */
static double evaluate(nadir_context *context, const question *asked, nadir_model *model,
                       nadir_policy *policy, bool *certified)
{
    nadir_robust result = {.size = sizeof result};
    nadir_solver *solver = NULL;
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.set = asked->set;
    ball.domain = asked->domain;
    ball.norm = asked->norm;
    ball.radius = &asked->radius;
    ball.radius_count = 1;
    bench_check(context, nadir_solver_create(context, model, policy, NULL, &solver));
    bench_check(context, nadir_solver_robust(context, solver, &ball, NULL, &result, NULL));
    nadir_solver_free(solver);
    *certified = result.certified;
    return result.seconds_nominal + result.seconds_robust + result.seconds_certify;
}

static void measure(nadir_context *context, const question *asked, int runs)
{
    nadir_model *models[KINDS];
    nadir_policy *policies[KINDS];
    double seconds[KINDS] = {INFINITY, INFINITY, INFINITY};
    bool certified[KINDS] = {false, false, false};
    for (int kind = 0; kind < KINDS; kind++) {
        models[kind] = make_model(context, asked, kind);
        bench_check(context, nadir_policy_create_uniform(context, models[kind], &policies[kind]));
    }
    for (int i = 0; i < runs; i++) {
        for (int kind = 0; kind < KINDS; kind++) { /* in turns */
            seconds[kind] =
                fmin(seconds[kind], evaluate(context, asked, models[kind], policies[kind], &certified[kind]));
        }
    }
    (void)printf("| %s | %s, p = %g, %s, %g | %.3g | %.2f | %.2f | %s, %s |\n", asked->name,
                 nadir_set_name(asked->set), asked->norm, nadir_domain_name(asked->domain), asked->radius,
                 1e3 * seconds[FROZEN], seconds[SEPARABLE] / seconds[FROZEN],
                 seconds[GENERAL] / seconds[FROZEN], certified[FROZEN] ? "yes" : "no",
                 certified[GENERAL] ? "yes" : "no");
    (void)fflush(stdout);
    for (int kind = 0; kind < KINDS; kind++) {
        nadir_policy_free(policies[kind]);
        nadir_model_free(models[kind]);
    }
}

int main(int argc, char **argv)
{
    static const char dense[] = "dense, 60 states";
    static const char larger[] = "dense, 300 states";
    static const char sparse[] = "garnet, 400 states";
    static const char large[] = "garnet, 10000 states";
    const question asked[] = {
        {dense, "random", 60, 3, 0, NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 0.1, 100},
        {dense, "random", 60, 3, 0, NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, 2, 0.02, 100},
        {dense, "random", 60, 3, 0, NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, INFINITY, 0.02, 100},
        {dense, "random", 60, 3, 0, NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 1, 0.1, 20},
        {dense, "random", 60, 3, 0, NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.1, 20},
        {larger, "random", 300, 3, 0, NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 0.1, 20},
        {sparse, "garnet", 400, 4, 5, NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 0.05, 5},
        {sparse, "garnet", 400, 4, 5, NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, 0.05, 10},
        {sparse, "garnet", 400, 4, 5, NADIR_SET_SA, NADIR_DOMAIN_SUPPORT, 1, 0.02, 20},
        {large, "garnet", 10000, 4, 5, NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, 0.05, 4},
    };
    const bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    nadir_context *context = bench_context(1);
    (void)printf(
        "| model | set | frozen, ms | separable / frozen | general / frozen | certified: frozen, general |\n"
        "|---|---|---:|---:|---:|---|\n");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        measure(context, &asked[i], quick ? 2 : asked[i].runs);
    }
    nadir_context_free(context);
    return 0;
}
