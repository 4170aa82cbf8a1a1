/*
 * bench_robust.c: what robust evaluation adds to nominal evaluation.
 *
 *     bench_robust [quick] [alone]
 *
 * quick: fewer runs; alone: everything on one thread, for machines that others keep busy.
 * Nominal: P^pi assembled and factored, v. Robust: the worst kernel of the non-rectangular L_2 ball on the
 * free domain and its return, given v and d; proofs are not part of it. Times are the best of several runs,
 * taken in turns; ratios are of one run of the program.
 */
#include "adversary/free/spectral.h"
#include "kernel/average.h"
#include "measure.h"
#include "nominal/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAMMA     0.9
#define ACTIONS   8
#define TOLERANCE 1e-9
#define LIMIT     10000
#define RADII     50

typedef struct setting {
    nadir_context *context;
    nadir_model *model;
    nadir_kernel *kernel;
    nadir_policy *policy;
    nadir_occupancy *occupancy;
    nadir_value value;
    nadir_uncertainty uncertainty;
    nadir_problem problem;
    double *R; /* [states] */
    double *v; /* [states] */
    int64_t count;
    const double *radii; /* [count] */
    nadir_attack attacks[RADII];
} setting;

static void nominal(void *user)
{
    setting *at = user;
    nadir_occupancy_free(at->context, at->occupancy);
    at->occupancy = NULL;
    bench_check(at->context,
                nadir_occupancy_create(at->context, at->kernel, at->policy, GAMMA, NULL, 0, &at->occupancy));
    nadir_average_rewards(at->model, at->policy, at->R);
    bench_check(at->context, nadir_occupancy_solve(at->context, at->occupancy, 1, at->R, at->v, NULL));
    at->problem.occupancy = at->occupancy;
}

static void robust(void *user)
{
    setting *at = user;
    for (int64_t i = 0; i < at->count; i++) {
        nadir_attack_clear(at->context, &at->attacks[i]);
    }
    bench_check(at->context, nadir_spectral_solve(at->context, &at->problem, NADIR_SPECTRAL_NEWTON, TOLERANCE,
                                                  LIMIT, at->count, at->radii, at->attacks));
}

static void make_problem(setting *at)
{
    const double radius = 1;
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.domain = NADIR_DOMAIN_FREE;
    ball.radius = &radius;
    ball.radius_count = 1;
    bench_check(at->context,
                nadir_uncertainty_make(at->context, at->model, at->policy, &ball, &at->uncertainty));
    bench_check(at->context,
                nadir_value_solve(at->context, at->kernel, at->policy, at->occupancy, &at->value));
    at->problem = (nadir_problem){.model = at->model,
                                  .kernel = at->kernel,
                                  .policy = at->policy,
                                  .occupancy = at->occupancy,
                                  .uncertainty = &at->uncertainty,
                                  .states = at->model->states,
                                  .rows = at->model->rows,
                                  .gamma = GAMMA,
                                  .sign = 1,
                                  .rewards = at->model->rewards,
                                  .R = at->R,
                                  .mu = at->model->initial,
                                  .v = at->value.v,
                                  .d = at->value.d,
                                  .J = at->value.J,
                                  .v_error = at->value.v_error,
                                  .d_error = at->value.d_error,
                                  .J_error = at->value.J_error};
}

/* Random probabilities, uniform before they are normalised: the states differ in W. */
static void make_policy(setting *made)
{
    double *probabilities = bench_new(made->model->rows, sizeof *probabilities);
    nadir_random random;
    nadir_random_seed(&random, 1);
    for (int64_t s = 0; s < made->model->states; s++) {
        double *first = probabilities + s * ACTIONS;
        double sum = 0;
        for (int a = 0; a < ACTIONS; a++) {
            first[a] = nadir_random_uniform(&random);
            sum += first[a];
        }
        for (int a = 0; a < ACTIONS; a++) {
            first[a] /= sum;
        }
    }
    bench_check(made->context, nadir_policy_create(made->context, made->model, probabilities, &made->policy));
    free(probabilities);
}

static void make_setting(setting *made, int64_t states, int32_t threads)
{
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    shape.states = states;
    shape.actions = ACTIONS;
    memset(made, 0, sizeof *made);
    made->context = bench_context(threads);
    bench_check(made->context, nadir_model_generate(made->context, "random", &shape, &made->model));
    bench_check(made->context, nadir_kernel_create(made->context, made->model, &made->kernel));
    make_policy(made);
    made->R = bench_new(states, sizeof *made->R);
    made->v = bench_new(states, sizeof *made->v);
    nominal(made);
    make_problem(made);
}

static void clear_setting(setting *made)
{
    for (int64_t i = 0; i < RADII; i++) {
        nadir_attack_clear(made->context, &made->attacks[i]);
    }
    nadir_uncertainty_clear(made->context, &made->uncertainty);
    nadir_value_clear(made->context, &made->value);
    nadir_occupancy_free(made->context, made->occupancy);
    nadir_policy_free(made->policy);
    nadir_kernel_free(made->kernel);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
    free(made->R);
    free(made->v);
}

/* Right-hand sides that one robust evaluation solves for. */
static int64_t count_solves(setting *at)
{
    nadir_backend_statistics before;
    nadir_backend_statistics after;
    nadir_occupancy_statistics(at->occupancy, &before);
    robust(at);
    nadir_occupancy_statistics(at->occupancy, &after);
    return after.solves - before.solves;
}

static void dense_rows(int64_t states, int32_t threads, int runs)
{
    double many[RADII];
    for (int i = 0; i < RADII; i++) {
        many[i] = 0.002 * (i + 1);
    }
    const double ones[2] = {0.01, 0.1};
    setting at;
    make_setting(&at, states, threads);
    double one = 0;
    for (int i = 0; i < 3; i++) {
        double first;
        double second;
        at.count = i < 2 ? 1 : RADII;
        at.radii = i < 2 ? &ones[i] : many;
        const int64_t solves = count_solves(&at);
        bench_best_of(runs, nominal, robust, &at, &first, &second);
        (void)printf("| %lld | %s | %lld | %.3f | %.3f | %.3f |", (long long)states,
                     i == 0   ? "0.01"
                     : i == 1 ? "0.1"
                              : "50 up to 0.1",
                     (long long)solves, 1e3 * first, 1e3 * second, (first + second) / first);
        if (i < 2) {
            (void)printf(" |\n");
            one = first + second;
        } else {
            (void)printf(" %.2f |\n", (first + second) / one);
        }
    }
    clear_setting(&at);
}

static void dense(bench_mode mode)
{
    dense_rows(128, mode.threads, mode.quick ? 50 : 1000);
    dense_rows(1000, mode.threads, mode.quick ? 3 : 20);
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
            (void)fprintf(stderr, "usage: bench_robust [quick] [alone]\n");
            return 2;
        }
    }
    (void)printf("### Robust evaluation, dense, %d actions, L_2 ball, free domain\n\n", ACTIONS);
    (void)printf("| states | radius | solves | nominal, ms | robust, ms | (nominal + robust) / nominal |");
    (void)printf(" / one radius |\n|---:|---:|---:|---:|---:|---:|---:|\n");
    bench_section(dense, mode);
    return 0;
}
