/*
 * bench_draws.c: returns of one policy under 10000 kernels of the posterior, beside evaluations of the nominal one.
 *
 *     bench_draws [--states N] [--branch N] [--visits N] [--draws N] [--threads N] [--discount G]
 *
 * Data of a garnet of 4 actions, every row visited as often, successors known; the policy is the nominal optimum. One
 * evaluation: a solver of the model and the policy made with each backend, and its nominal return. Seconds are processor
 * time of all threads, and the clock's. Variates: the gamma variates of the same rows alone.
 */
#include "measure.h"
#include "truths.h"

#include "core/context.h"
#include "fit/radii.h"
#include "fit/returns.h"
#include "fit/variates.h"
#include "model/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double processor_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Mean processor time of an evaluation; 0: the backend refuses. */
static double time_evaluation(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                              const char *backend)
{
    const double begun = processor_seconds();
    int runs = 0;
    nadir_solver_settings settings;
    nadir_solver_settings_default(&settings);
    settings.backend = backend;
    while (runs < 10 || processor_seconds() - begun < 0.3) {
        nadir_solver *solver = NULL;
        nadir_nominal nominal = {.size = sizeof nominal};
        if (nadir_solver_create(context, model, policy, &settings, &solver) != NADIR_OK) {
            return 0;
        }
        bench_check(context, nadir_solver_nominal(context, solver, &nominal));
        nadir_solver_free(solver);
        runs++;
    }
    return (processor_seconds() - begun) / runs;
}

static double time_variates(const nadir_fit *fit, const nadir_policy *policy, int64_t draws)
{
    const nadir_evidence *evidence = &fit->evidence;
    nadir_random random;
    double sum = 0;
    const double begun = processor_seconds();
    nadir_random_seed(&random, 1);
    for (int64_t k = 0; k < draws; k++) {
        for (int64_t row = 0; row < evidence->rows; row++) {
            for (int64_t i = evidence->row_starts[row];
                 policy->probabilities[row] > 0 && i < evidence->row_starts[row + 1]; i++) {
                sum += nadir_gamma_variate(&random, evidence->counts[i] + evidence->each[row]);
            }
        }
    }
    return sum > 0 ? processor_seconds() - begun : 0;
}

int main(int argc, char **argv)
{
    const char *const names[] = {"--states", "--branch", "--visits", "--draws", "--threads", "--discount"};
    double values[] = {1000, 5, 30, 10000, 1, 0.95};
    for (int i = 1; i + 1 < argc; i += 2) {
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            values[k] = strcmp(argv[i], names[k]) == 0 ? strtod(argv[i + 1], NULL) : values[k];
        }
    }
    nadir_context *context = bench_context((int32_t)values[4]);
    nadir_generate_settings kind;
    nadir_model *truth = NULL;
    nadir_random random;
    nadir_generate_settings_default(&kind);
    kind.states = (int64_t)values[0];
    kind.actions = 4;
    kind.branch = (int64_t)values[1];
    kind.discount = values[5];
    bench_check(context, nadir_model_generate(context, "garnet", &kind, &truth));
    bench_tally self = bench_tally_make(truth);
    nadir_random_seed(&random, 1);
    bench_tally_fill(&self, &random, BENCH_EVEN, (int64_t)values[2], NULL);
    nadir_fit *fit = bench_tally_fit(context, &self, false, 0.95);

    nadir_return_problem problem;
    nadir_return_measure measure;
    nadir_policy *policy = NULL;
    const int64_t draws = (int64_t)values[3];
    double *returns = bench_new(draws, sizeof *returns);
    bench_check(context, nadir_return_problem_make(context, fit, &problem));
    bench_check(context, nadir_return_measure_make(context, &problem, &measure));
    bench_check(context, nadir_return_nominal(context, &problem, &policy));
    bench_check(context, nadir_return_measure_take(context, &problem, policy, &measure));

    const char *const backends[] = {"auto", "lapack", "klu", "krylov"};
    double evaluation[4];
    for (int i = 0; i < 4; i++) {
        evaluation[i] = time_evaluation(context, nadir_fit_nominal(fit), policy, backends[i]);
    }
    const nadir_return_draws asked = {.count = draws, .seed = 3, .tolerance = 1e-3};
    const double clock = nadir_clock_seconds();
    const double begun = processor_seconds();
    bench_check(context, nadir_return_draw(context, &problem, policy, &measure, &asked, returns));
    const double seconds = processor_seconds() - begun;
    const double wall = nadir_clock_seconds() - clock;
    double mean = 0;
    for (int64_t k = 0; k < draws; k++) {
        mean += returns[k] / (double)draws;
    }
    (void)printf(
        "%lld states, %lld draws of mean %.6g (nominal %.6g): %.3g s of processor time, %.3g s of the "
        "clock; variates alone %.3g s\n",
        (long long)values[0], (long long)draws, mean, measure.J, seconds, wall,
        time_variates(fit, policy, draws));
    for (int i = 0; i < 4; i++) {
        (void)printf("  evaluation, %-6s  %.4g ms; the draws take as long as %.0f of them\n", backends[i],
                     1e3 * evaluation[i], seconds / evaluation[i]);
    }
    free(returns);
    nadir_policy_free(policy);
    nadir_return_measure_clear(context, &measure);
    nadir_return_problem_clear(context, &problem);
    nadir_fit_free(fit);
    bench_tally_clear(&self);
    nadir_model_free(truth);
    nadir_context_free(context);
    return 0;
}
