/*
 * convergence.c: the best penalty of each method against time, on one problem of each size; see instance.h
 * for the problems.
 *
 * Every method has a fixed number of kernels or steps, so that only the column of seconds differs between
 * runs.
 */
#include "experiment.h"
#include "instance.h"

#include <inttypes.h>
#include <math.h>

#define RADIUS 0.01

enum { METHODS = 7 };

static const struct {
    const char *name;
    int64_t large, small; /* kernels or steps, at most, for more than 32 states and for fewer */
} methods[METHODS] = {
    {"auto", 10000, 10000},          {"paper", 10000, 10000},
    {"paper-reduced", 10000, 10000}, {"slsqp", 25, 100},
    {"slsqp-scaled", 25, 100},       {"random-rank-one", 300000, 50000},
    {"random-kernel", 10000, 3000},
};

typedef struct outcome {
    int64_t states;
    double exact;
    experiment_found found[METHODS];
} outcome;

static double share_of(const outcome *self, double penalty)
{
    return penalty / self->exact;
}

/* Seconds until 99 % of the penalty was found; infinity: never. */
static double time_to_99(const outcome *self, int method)
{
    const experiment_found *found = &self->found[method];
    for (int64_t i = 0; i < found->count; i++) {
        if (share_of(self, found->points[i].value) >= 0.99) {
            return found->points[i].seconds;
        }
    }
    return INFINITY;
}

static nadir_status write_trajectories(experiment_run *run, const outcome *self, const char *stem)
{
    experiment_csv csv;
    (void)experiment_csv_open(run, stem, "states,method,samples,penalty,share,seconds", &csv);
    for (int method = 0; method < METHODS; method++) {
        const experiment_found *found = &self->found[method];
        for (int64_t i = 0; i < found->count; i++) {
            experiment_csv_integer(&csv, self->states);
            experiment_csv_text(&csv, methods[method].name);
            experiment_csv_integer(&csv, found->points[i].samples);
            experiment_csv_number(&csv, found->points[i].value);
            experiment_csv_number(&csv, share_of(self, found->points[i].value));
            experiment_csv_number(&csv, found->points[i].seconds);
            experiment_csv_end_row(&csv);
        }
    }
    return experiment_csv_close(&csv);
}

/* The times that the picture begins and ends with. */
static void find_times(const outcome *self, double *first, double *last)
{
    *first = INFINITY;
    *last = 0;
    for (int method = 0; method < METHODS; method++) {
        const experiment_found *found = &self->found[method];
        *first = fmin(*first, found->count > 0 ? found->points[0].seconds : INFINITY);
        *last = fmax(*last, found->result.seconds);
    }
    *first = pow(10, floor(log10(fmax(*first, 1e-7))));
}

static nadir_status draw(experiment_run *run, const outcome *self, const char *stem)
{
    experiment_plot plot;
    double first;
    double last;
    find_times(self, &first, &last);
    if (experiment_plot_open(run, stem, EXPERIMENT_WIDTH, EXPERIMENT_HEIGHT, &plot) != NADIR_OK) {
        return run->status;
    }
    fprintf(plot.script,
            "set title 'Penalty found against time: S = %" PRId64 ", A = 8, γ = 0.9, β = 0.01'\n"
            "set logscale x\nset format x '%%.0s %%cs'\nset xrange [%.3g:%.3g]\nset yrange [0:105]\n"
            "set xlabel 'time since the nominal solution'\n"
            "set ylabel 'share of the exact penalty (%%)'\n" EXPERIMENT_KEY_BELOW,
            self->states, first, 1.3 * last);
    for (int method = 0; method < METHODS; method++) {
        const experiment_found *found = &self->found[method];
        fprintf(plot.script, "$m%d << EOD\n", method);
        for (int64_t i = 0; i < found->count; i++) {
            fprintf(plot.script, "%.9g %.9g\n", found->points[i].seconds,
                    100 * share_of(self, found->points[i].value));
        }
        fprintf(plot.script, "%.9g %.9g\nEOD\n", found->result.seconds,
                100 * share_of(self, found->result.penalty));
    }
    fputs("plot 100 with lines linewidth 2 ", plot.script);
    experiment_plot_line(&plot, "exact");
    experiment_plot_title(&plot, "exact");
    for (int method = 0; method < METHODS; method++) {
        fprintf(plot.script, ", $m%d with steps linewidth 2.5 ", method);
        experiment_plot_line(&plot, methods[method].name);
        fprintf(plot.script, "notitle, $m%d every ::%" PRId64 " with points pointsize 1.8 linewidth 2 ",
                method, self->found[method].count);
        experiment_plot_style(&plot, methods[method].name);
        experiment_plot_title(&plot, methods[method].name);
    }
    fputc('\n', plot.script);
    return experiment_plot_close(&plot);
}

static void print_table(experiment_run *run, const outcome *self)
{
    experiment_table(
        run, experiment_text(run, "S = %" PRId64 "; the exact penalty is %.9g", self->states, self->exact),
        "method|penalty found|share, %|kernels or steps|seconds|seconds to 99 %|stopped by");
    for (int method = 0; method < METHODS; method++) {
        const nadir_baseline *result = &self->found[method].result;
        const double time = time_to_99(self, method);
        char reached[32] = "never";
        if (!isinf(time)) {
            (void)snprintf(reached, sizeof reached, "%.3g", time);
        }
        experiment_table_row(run, "%s|%.9g|%.4g|%" PRId64 "|%.3g|%s|%s",
                             cli_style_find(methods[method].name)->label, result->penalty,
                             100 * share_of(self, result->penalty), result->samples, result->seconds, reached,
                             result->stop_reason);
    }
    experiment_table_end(run);
}

static void find(experiment_run *run, const outcome *self)
{
    const double rank_one = 100 * share_of(self, self->found[5].result.penalty);
    const double kernel = 100 * share_of(self, self->found[6].result.penalty);
    experiment_finding(
        run, experiment_text(run, "Convergence, S = %" PRId64, self->states),
        "Algorithm 1 converges rapidly, SLSQP gradually approaches the same; random kernels improve slowly, "
        "logarithmically",
        experiment_text(run,
                        "Algorithm 1 has 99 %% after %.2g s and ends at %.6g %%, nadir after %.2g s; SLSQP "
                        "ends at %.3g %%, scaled %.3g %%, random rank-one kernels %.3g %%, random kernels "
                        "%.2g %%",
                        time_to_99(self, 1), 100 * share_of(self, self->found[1].result.penalty),
                        time_to_99(self, 0), 100 * share_of(self, self->found[3].result.penalty),
                        100 * share_of(self, self->found[4].result.penalty), rank_one, kernel),
        share_of(self, self->found[3].result.penalty) < 0.01
            ? "They agree on Algorithm 1 and on sampling. SLSQP depends on its start and its units: where "
              "k·v < 0 "
              "at first, b shrinks to nothing before k has turned, unless b is measured in units of β."
            : "They agree on the shapes of all curves; in units of β, which the paper does not try, SLSQP "
              "needs "
              "fewer steps.");
}

static nadir_status run_size(experiment_run *run, int64_t states, const char *stem, int source,
                             const char *remark)
{
    nadir_status status = NADIR_OK;
    outcome self = {.states = states};
    experiment_instance instance = {0};
    NADIR_CHECK(experiment_instance_open(run->context, states, run->seed, &instance));
    NADIR_CHECK(experiment_instance_set_radius(&instance, RADIUS));
    self.exact = instance.exact.penalty;
    for (int method = 0; method < METHODS; method++) {
        NADIR_CHECK(experiment_progress(run, "S = %" PRId64 ", %s", states, methods[method].name));
        NADIR_CHECK(experiment_instance_find(&instance, methods[method].name, INFINITY,
                                             states > 32 ? methods[method].large : methods[method].small,
                                             &self.found[method]));
    }
    NADIR_CHECK(write_trajectories(run, &self, stem));
    NADIR_CHECK(draw(run, &self, stem));
    experiment_show(run, stem, source, "%s", remark);
    print_table(run, &self);
    find(run, &self);
cleanup:
    for (int method = 0; method < METHODS; method++) {
        experiment_found_free(&instance, &self.found[method]);
    }
    experiment_instance_close(&instance);
    return status;
}

static nadir_status run_convergence(experiment_run *run)
{
    const nadir_status status = run_size(
        run, run->quick ? 32 : 128, "convergence", 0,
        "A mark stands where a method ends. All begin after the nominal solution, which they share.");
    return status != NADIR_OK
               ? status
               : run_size(run, 8, "convergence-8", 1,
                          "The paper's text says S = 8 where its caption says S = 128, so here "
                          "is the small problem as well.");
}

static const experiment_source sources[] = {
    {"Figure 5, section Experiments",
     "Convergence of Robust Policy Evaluation Methods, with fixed S=128,A=8.",
     "Algorithm 1 converges rapidly, SLSQP gradually approaches the same performance, random kernels improve "
     "slowly, logarithmically. No numbers are printed."},
    {"Figure 15, appendix", "Convergence of Robust Policy Evaluation Methods",
     "The same, \"for a fixed state space size (S=8)\"."},
    {0},
};

const experiment experiment_convergence = {
    .name = "convergence",
    .title = "Convergence against time",
    .about =
        "One random problem of the paper's kind (kernel uniform then normalised, normal rewards, random "
        "policy, uniform μ, γ = 0.9, A = 8, β = 0.01, p = 2, signs free), seed as given. Every method has a "
        "fixed number of kernels or steps, so that the data but for the times is the same on every run: "
        "Algorithms 1 and 2 run to 1e-9. Full: S = 128 (25 evaluations of SLSQP, 300000 rank-one kernels, "
        "10000 "
        "kernels) and S = 8 (100, 50000, 3000). Quick: S = 32 instead of 128, with the numbers of S = 8.",
    .sources = sources,
    .run = run_convergence,
};
