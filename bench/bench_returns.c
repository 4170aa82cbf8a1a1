/*
 * bench_returns.c: the returns of given policies, on the device of an engine or here.
 *
 *     bench_returns ENGINE|here dense|sparse STATES COUNT
 *
 * Random policies of a model with 4 actions, all at once, and some of them one by one. The second of two runs
 * counts.
 */
#include "core/context.h"
#include "core/random.h"
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALONE = 200 };

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
    if (argc != 5) {
        fprintf(stderr, "usage: bench_returns ENGINE|here dense|sparse STATES COUNT\n");
        return 2;
    }
    nadir_context *context = bench_context(0);
    nadir_engine *engine = NULL;
    if (strcmp(argv[1], "here") != 0) {
        bench_check(context, nadir_engine_open(context, argv[1], NULL, false, &engine));
    }
    run_returns(context, strcmp(argv[2], "dense") == 0, strtoll(argv[3], NULL, 10),
                strtoll(argv[4], NULL, 10));
    nadir_engine_close(engine, 0, "");
    nadir_context_free(context);
    return 0;
}
