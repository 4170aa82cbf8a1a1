/*
 * bench_device.c: evaluation on the device of an engine, beside the processor's.
 *
 *     bench_device ENGINE dense STATES ACTIONS [here] [BACKEND]
 *     bench_device ENGINE sparse STATES [support] [BACKEND]
 *     bench_device ENGINE leak TIMES
 *
 * dense: a certified value on the free domain, non-rectangular, p = 2; `here`: the same without the device.
 * sparse: a garnet of 4 actions and 5 successors. leak: so many evaluations, and what memory they left.
 * Then products and solves alone, one and 32 at once, and 50 radii at once.
 * Models are made here and go to the device once, apart from the evaluation. The second of two evaluations
 * counts: the first one warms up libraries.
 */
#include "core/context.h"
#include "measure.h"
#include "model/kernel.h"
#include "model/model.h"
#include "solve/occupancy.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 32, RADII = 50 };

/* splitmix64: each row has numbers of its own, whoever makes it. */
static double uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static nadir_model *make_dense(nadir_context *context, int64_t states, int64_t actions)
{
    const int64_t rows = states * actions;
    nadir_model_data data;
    nadir_model *model = NULL;
    double *dense = malloc((size_t)(rows * states) * sizeof *dense);
    double *rewards = bench_new(rows, sizeof *rewards);
    int64_t *state_rows = bench_new(states + 1, sizeof *state_rows);
#pragma omp parallel for
    for (int64_t row = 0; row < rows; row++) {
        uint64_t random = (uint64_t)row * 1000003u;
        double sum = 0;
        rewards[row] = uniform(&random);
        for (int64_t t = 0; t < states; t++) {
            dense[row * states + t] = uniform(&random);
            sum += dense[row * states + t];
        }
        for (int64_t t = 0; t < states; t++) {
            dense[row * states + t] /= sum;
        }
    }
    for (int64_t s = 0; s <= states; s++) {
        state_rows[s] = s * actions;
    }
    nadir_model_data_default(&data);
    data.states = states;
    data.rows = rows;
    data.state_rows = state_rows;
    data.dense = dense;
    data.rewards = rewards;
    data.discount = 0.9;
    bench_check(context, nadir_model_create(context, &data, &model));
    free(dense);
    free(rewards);
    free(state_rows);
    return model;
}

static nadir_model *make_sparse(nadir_context *context, int64_t states)
{
    nadir_generate_settings shape;
    nadir_model *model = NULL;
    nadir_generate_settings_default(&shape);
    shape.states = states;
    shape.actions = 4;
    shape.branch = 5;
    shape.discount = 0.95;
    shape.seed = 1;
    bench_check(context, nadir_model_generate(context, "garnet", &shape, &model));
    return model;
}

/* One evaluation from nothing but the model. */
static double evaluate(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                       nadir_domain domain, double radius, const char *backend, bool loud)
{
    nadir_solver_settings settings;
    nadir_solver_settings_default(&settings);
    settings.backend = backend;
    nadir_solver *solver = NULL;
    nadir_ball ball;
    nadir_nominal nominal = {.size = sizeof nominal};
    nadir_robust robust = {.size = sizeof robust};
    nadir_ball_default(&ball);
    ball.set = NADIR_SET_NONRECT;
    ball.domain = domain;
    ball.norm = 2;
    ball.radius = &radius;
    ball.radius_count = 1;
    const double begun = nadir_clock_seconds();
    bench_check(context, nadir_solver_create(context, model, policy, &settings, &solver));
    const double factored = nadir_clock_seconds();
    bench_check(context, nadir_solver_nominal(context, solver, &nominal));
    const double solved = nadir_clock_seconds();
    bench_check(context, nadir_solver_robust(context, solver, &ball, NULL, &robust, NULL));
    const double ended = nadir_clock_seconds();
    if (loud) {
        printf("backend %s: average and factors %.4f, v, d and check %.4f, robust and bounds %.4f (bounds "
               "%.4f), all %.4f s\n"
               "  J %.17g, J_U %.17g, bounds %.17g %.17g, %s, %s, %lld solves\n",
               nominal.backend, factored - begun, solved - factored, ended - solved, robust.seconds_certify,
               ended - begun, nominal.nominal_return, robust.robust_return, robust.lower_bound,
               robust.upper_bound, robust.certified ? "certified" : "not certified", robust.certificate,
               (long long)robust.solves);
    }
    nadir_solver_free(solver);
    return ended - begun;
}

/* Products with M and M^T from and to this memory, and a solve. */
static void measure_parts(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                          const char *backend)
{
    const int64_t n = model->states;
    nadir_kernel *kernel = NULL;
    nadir_occupancy *occupancy = NULL;
    double *x = bench_new(n, sizeof *x);
    double *y = bench_new(n, sizeof *y);
    double *many = bench_new((int64_t)2 * MANY * n, sizeof *many);
    for (int64_t i = 0; i < n; i++) {
        x[i] = 1.0 / (double)(i + 1);
    }
    bench_check(context, nadir_kernel_create(context, model, &kernel));
    double at = nadir_clock_seconds();
    bench_check(context,
                nadir_occupancy_create(context, kernel, policy, model->discount, backend, 0, &occupancy));
    printf("  operator %.5f s", nadir_clock_seconds() - at);
    at = nadir_clock_seconds();
    nadir_average_multiply(context, nadir_occupancy_average(occupancy), 1, x, y);
    printf(", M x %.5f", nadir_clock_seconds() - at);
    for (int i = 0; i < 2; i++) {
        at = nadir_clock_seconds();
        bench_check(context,
                    nadir_average_multiply_transposed(context, nadir_occupancy_average(occupancy), 1, x, y));
        printf(", M^T x %.5f", nadir_clock_seconds() - at);
    }
    at = nadir_clock_seconds();
    bench_check(context, nadir_occupancy_solve(context, occupancy, 1, x, y, NULL));
    printf(", solve %.5f", nadir_clock_seconds() - at);
    at = nadir_clock_seconds();
    bench_check(context, nadir_occupancy_solve_transposed(context, occupancy, 1, x, y, NULL));
    printf(", transposed %.5f", nadir_clock_seconds() - at);
    for (int64_t i = 0; i < MANY * n; i++) {
        many[i] = cos((double)i);
    }
    for (int i = 0; i < 2; i++) {
        at = nadir_clock_seconds();
        bench_check(context, nadir_occupancy_solve(context, occupancy, MANY, many, many + MANY * n, NULL));
        printf(", %d solves %.5f", MANY, nadir_clock_seconds() - at);
    }
    printf("\n");
    free(many);
    nadir_occupancy_free(context, occupancy);
    nadir_kernel_free(kernel);
    free(x);
    free(y);
}

/* Many radii, from nothing but the model. */
static void measure_radii(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                          double radius, const char *backend)
{
    nadir_robust results[RADII];
    double factors[RADII];
    nadir_solver_settings settings;
    nadir_solver *solver = NULL;
    nadir_nominal nominal = {.size = sizeof nominal};
    nadir_ball ball;
    nadir_solver_settings_default(&settings);
    settings.backend = backend;
    nadir_ball_default(&ball);
    ball.domain = NADIR_DOMAIN_FREE;
    ball.norm = 2;
    ball.radius = &radius;
    ball.radius_count = 1;
    for (int i = 0; i < RADII; i++) {
        factors[i] = (double)(i + 1) / RADII;
        results[i] = (nadir_robust){.size = sizeof results[i]};
    }
    bench_check(context, nadir_solver_create(context, model, policy, &settings, &solver));
    bench_check(context, nadir_solver_nominal(context, solver, &nominal));
    const double begun = nadir_clock_seconds();
    bench_check(context, nadir_solver_robust_many(context, solver, &ball, NULL, RADII, factors, results));
    const double seconds = nadir_clock_seconds() - begun;
    int certified = 0;
    for (int i = 0; i < RADII; i++) {
        certified += results[i].certified;
    }
    printf("  %d radii %.5f s, %d certified, J_U of the last %.17g\n", RADII, seconds, certified,
           results[RADII - 1].robust_return);
    nadir_solver_free(solver);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: bench_device ENGINE dense STATES ACTIONS [here] | sparse STATES [support] | "
                        "leak TIMES\n");
        return 2;
    }
    nadir_context *context = bench_context(0);
    nadir_engine *engine = NULL;
    nadir_policy *policy = NULL;
    const int64_t number = strtoll(argv[3], NULL, 10);
    const bool leak = strcmp(argv[2], "leak") == 0;
    const bool dense = strcmp(argv[2], "dense") == 0;
    bool here = false;
    bool support = false;
    const char *backend = NULL;
    for (int i = dense ? 5 : 4; i < argc; i++) {
        const bool one = strcmp(argv[i], "here") == 0;
        const bool other = strcmp(argv[i], "support") == 0;
        here = here || one;
        support = support || other;
        backend = one || other ? backend : argv[i];
    }
    double at = nadir_clock_seconds();
    nadir_model *model = dense  ? make_dense(context, number, strtoll(argv[4], NULL, 10))
                         : leak ? make_dense(context, 64, 3)
                                : make_sparse(context, number);
    printf("model of %lld states: %.2f s\n", (long long)model->states, nadir_clock_seconds() - at);
    bench_check(context, nadir_policy_create_uniform(context, model, &policy));
    if (!here) {
        bench_check(context, nadir_engine_open(context, argv[1], NULL, false, &engine));
    }
    const double radius = dense || leak ? 0.01 : 0.1;
    const nadir_domain domain = support ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_FREE;
    for (int64_t i = 0; i < (leak ? number : 2); i++) {
        const double resident = bench_resident();
        const double seconds = evaluate(context, model, policy, domain, radius, backend, !leak);
        if (leak && (i == 10 || i + 1 == number)) {
            printf("evaluation %lld: %.0f bytes resident here, %.5f s\n", (long long)i, resident, seconds);
        }
    }
    if (!support && !leak) {
        measure_parts(context, model, policy, backend);
        measure_radii(context, model, policy, radius, backend);
    }
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_engine_close(engine, 0, "");
    nadir_context_free(context);
    return 0;
}
