/*
 * penalty_figure.c: the experiment `penalty`: the penalty that each method finds against the number of
 * states.
 *
 * Full: the same time for every method, and more for larger problems. Results depend on the speed of the
 * machine: columns timed_. Quick: fixed numbers of kernels or steps, so that the data is the same on every
 * run.
 */
#include "experiment.h"
#include "penalty.h"

#include <inttypes.h>
#include <math.h>

#define TIME 0.025 /* seconds for each method and state */

enum { SEEDS = 5, QUICK_SIZES = 4, QUICK_SEEDS = 3 };

static const char *const stems[PENALTY_RADII] = {"penalty-0.01", "penalty-0.1", "penalty-0.02",
                                                 "penalty-0.005"};

typedef struct results {
    int sizes, seeds;
    double seconds; /* for each method and state; infinity: numbers of kernels or steps instead */
    penalty_cell cells[PENALTY_RADII][PENALTY_SIZES];
} results;

/* --------------------------------------------------------------------------------------------- data */

static void write_found(experiment_csv *csv, int radius, int64_t states, uint64_t seed, double exact,
                        const penalty_found found[PENALTY_METHODS])
{
    for (int method = 0; method < PENALTY_METHODS; method++) {
        experiment_csv_number(csv, penalty_radii[radius]);
        experiment_csv_integer(csv, states);
        experiment_csv_integer(csv, (int64_t)seed);
        experiment_csv_text(csv, penalty_methods[method].name);
        experiment_csv_number(csv, exact);
        experiment_csv_number(csv, found[method].value);
        experiment_csv_number(csv, found[method].share);
        experiment_csv_integer(csv, found[method].samples);
        experiment_csv_text(csv, found[method].stop_reason);
        experiment_csv_number(csv, found[method].seconds);
        experiment_csv_end_row(csv);
    }
}

static nadir_status run_instance(experiment_run *run, results *into, int size, int turn, experiment_csv *csv)
{
    nadir_status status = NADIR_OK;
    const int64_t states = penalty_sizes[size];
    const uint64_t seed = run->seed + (uint64_t)turn;
    experiment_instance instance = {0};
    NADIR_CHECK(experiment_instance_open(run->context, states, seed, &instance));
    for (int radius = 0; radius < PENALTY_RADII; radius++) {
        penalty_found found[PENALTY_METHODS];
        NADIR_CHECK(experiment_progress(run, "S = %" PRId64 ", seed %d of %d, β = %g", states, turn + 1,
                                        into->seeds, penalty_radii[radius]));
        NADIR_CHECK(experiment_instance_set_radius(&instance, penalty_radii[radius]));
        NADIR_CHECK(
            penalty_cell_add(&instance, into->seconds * (double)states, &into->cells[radius][size], found));
        write_found(csv, radius, states, seed, instance.exact.penalty, found);
    }
cleanup:
    experiment_instance_close(&instance);
    return status;
}

static nadir_status run_all(experiment_run *run, results *into)
{
    experiment_csv csv;
    nadir_status status = experiment_csv_open(
        run, "penalties",
        run->quick ? "radius,states,seed,method,exact_penalty,penalty,share,samples,stopped_by,seconds"
                   : "radius,states,seed,method,exact_penalty,timed_penalty,timed_share,timed_samples,"
                     "timed_stopped_by,seconds",
        &csv);
    for (int size = 0; size < into->sizes && status == NADIR_OK; size++) {
        for (int turn = 0; turn < into->seeds && status == NADIR_OK; turn++) {
            status = run_instance(run, into, size, turn, &csv);
        }
    }
    if (status != NADIR_OK) {
        experiment_csv_drop(&csv);
        return status;
    }
    return experiment_csv_close(&csv);
}

static void write_spread(experiment_csv *csv, const penalty_spread *values)
{
    experiment_csv_number(csv, penalty_spread_mean(values));
    experiment_csv_number(csv, values->least);
    experiment_csv_number(csv, values->most);
}

/* The data of one picture. */
static nadir_status write_summary(experiment_run *run, const results *self, int radius)
{
    experiment_csv csv;
    (void)experiment_csv_open(run, stems[radius],
                              run->quick ? "states,method,exact_mean,exact_least,exact_most,mean,least,most,"
                                           "share_mean,share_least,share_most"
                                         : "states,method,exact_mean,exact_least,exact_most,timed_mean,"
                                           "timed_least,timed_most,timed_share_mean,timed_share_least,"
                                           "timed_share_most",
                              &csv);
    for (int size = 0; size < self->sizes; size++) {
        const penalty_cell *cell = &self->cells[radius][size];
        for (int method = 0; method < PENALTY_METHODS; method++) {
            experiment_csv_integer(&csv, penalty_sizes[size]);
            experiment_csv_text(&csv, penalty_methods[method].name);
            write_spread(&csv, &cell->exact);
            write_spread(&csv, &cell->value[method]);
            write_spread(&csv, &cell->share[method]);
            experiment_csv_end_row(&csv);
        }
    }
    return experiment_csv_close(&csv);
}

/* ------------------------------------------------------------------------------------------- pictures */

/* A row of a block; points that would coincide are drawn side by side. */
static void print_point(FILE *script, int size, int place, const penalty_spread *values, double unit)
{
    fprintf(script, "%.6g %.9g %.9g %.9g\n", (double)penalty_sizes[size] * pow(1.035, place),
            unit * penalty_spread_mean(values), unit * values->least, unit * values->most);
}

/* Blocks $exact and $m0, $m1, … of one radius: penalties, or shares in percent. */
static void print_blocks(FILE *script, const results *self, int radius, bool share)
{
    const penalty_cell *cells = self->cells[radius];
    fputs("$exact << EOD\n", script);
    for (int size = 0; size < self->sizes; size++) {
        print_point(script, size, 0, &cells[size].exact, 1);
    }
    fputs("EOD\n", script);
    for (int method = 0; method < PENALTY_METHODS; method++) {
        fprintf(script, "$m%d << EOD\n", method);
        for (int size = 0; size < self->sizes; size++) {
            print_point(script, size, method - 2,
                        share ? &cells[size].share[method] : &cells[size].value[method], share ? 100 : 1);
        }
        fputs("EOD\n", script);
    }
}

static void print_axes(const experiment_plot *plot, const results *self)
{
    fprintf(plot->script,
            "set logscale x 2\nset xrange [%g:%g]\nset xlabel 'number of states S'\n" EXPERIMENT_KEY_BELOW
            "set xtics (",
            (double)penalty_sizes[0] / 1.2, (double)penalty_sizes[self->sizes - 1] * 1.3);
    for (int size = 0; size < self->sizes; size++) {
        fprintf(plot->script, "%s'%d' %d", size > 0 ? ", " : "", (int)penalty_sizes[size],
                (int)penalty_sizes[size]);
    }
    fputs(")\n", plot->script);
}

static void print_methods(const experiment_plot *plot)
{
    for (int method = 0; method < PENALTY_METHODS; method++) {
        fprintf(plot->script, ", $m%d using 1:2:3:4 with yerrorlines linewidth 2 ", method);
        experiment_plot_style(plot, penalty_methods[method].name);
        experiment_plot_title(plot, penalty_methods[method].name);
    }
    fputc('\n', plot->script);
}

/* The budget of every method, for the titles. */
static const char *budget_of(const results *self)
{
    return isinf(self->seconds) ? "fixed numbers of steps" : "25 ms for each state";
}

static nadir_status draw_penalty(experiment_run *run, const results *self, int radius)
{
    experiment_plot plot;
    if (experiment_plot_open(run, stems[radius], EXPERIMENT_WIDTH, EXPERIMENT_HEIGHT, &plot) != NADIR_OK) {
        return run->status;
    }
    fprintf(plot.script,
            "set title 'Penalty found, β = %g: %s; mean and range of %d seeds'\n"
            "set ylabel 'penalty J − J_U (units of reward)'\nset yrange [0:*]\nset offsets 0, 0, graph 0.05, "
            "0\n",
            penalty_radii[radius], budget_of(self), self->seeds);
    print_axes(&plot, self);
    print_blocks(plot.script, self, radius, false);
    fputs("plot $exact using 1:3:4 with filledcurves linecolor rgb '#e4e4e4' title 'exact, all seeds', "
          "$exact using 1:2 with lines linewidth 4 ",
          plot.script);
    experiment_plot_line(&plot, "exact");
    fputs("title 'exact, mean'", plot.script);
    print_methods(&plot);
    return experiment_plot_close(&plot);
}

static nadir_status draw_share(experiment_run *run, const results *self)
{
    experiment_plot plot;
    if (experiment_plot_open(run, "share-0.01", EXPERIMENT_WIDTH, EXPERIMENT_HEIGHT, &plot) != NADIR_OK) {
        return run->status;
    }
    fprintf(plot.script,
            "set title 'Share found, β = 0.01: %s; mean and range of %d seeds'\n"
            "set ylabel 'share of the exact penalty (%%)'\nset yrange [0:105]\n",
            budget_of(self), self->seeds);
    print_axes(&plot, self);
    print_blocks(plot.script, self, 0, true);
    fputs("plot 100 with lines linewidth 4 ", plot.script);
    experiment_plot_line(&plot, "exact");
    experiment_plot_title(&plot, "exact");
    print_methods(&plot);
    return experiment_plot_close(&plot);
}

/* --------------------------------------------------------------------------------------------- report */

static void print_shares(experiment_run *run, const results *self)
{
    experiment_table(run, "Share of the exact penalty that was found, %: mean over seeds (least to most)",
                     "β|S|exact penalty, mean|Algorithms 1 and 2|SLSQP|SLSQP, scaled|random rank-one "
                     "kernels|random kernels");
    for (int radius = 0; radius < PENALTY_RADII; radius++) {
        for (int size = 0; size < self->sizes; size++) {
            const penalty_cell *cell = &self->cells[radius][size];
            char cells[PENALTY_METHODS][64];
            for (int method = 0; method < PENALTY_METHODS; method++) {
                const penalty_spread *share = &cell->share[method];
                (void)snprintf(cells[method], sizeof cells[method], "%.4g (%.3g to %.3g)",
                               100 * penalty_spread_mean(share), 100 * share->least, 100 * share->most);
            }
            experiment_table_row(run, "%g|%" PRId64 "|%.6g|%s|%s|%s|%s|%s", penalty_radii[radius],
                                 penalty_sizes[size], penalty_spread_mean(&cell->exact), cells[0], cells[1],
                                 cells[2], cells[3], cells[4]);
        }
    }
    experiment_table_end(run);
}

/* The mean share of the smallest and of the largest problems, in percent. */
static void print_range(const results *self, int radius, int method, char text[64])
{
    const penalty_cell *cells = self->cells[radius];
    const double first = 100 * penalty_spread_mean(&cells[0].share[method]);
    const double last = 100 * penalty_spread_mean(&cells[self->sizes - 1].share[method]);
    (void)snprintf(text, 64, "%.3g and %.3g %%", first, last);
}

static void find(experiment_run *run, const results *self, int radius)
{
    char ranges[PENALTY_METHODS][64];
    int64_t nothing = 0;
    for (int method = 0; method < PENALTY_METHODS; method++) {
        print_range(self, radius, method, ranges[method]);
    }
    for (int size = 0; size < self->sizes; size++) {
        nothing += self->cells[radius][size].nothing[1];
    }
    const char *subject = experiment_text(run, "Penalty against S, β = %g", penalty_radii[radius]);
    const char *ours = experiment_text(
        run,
        "of the exact penalty at S = %" PRId64 " and %" PRId64 ", %s: Algorithms 1 and 2 %s; SLSQP %s "
        "(nothing in %" PRId64 " of %d problems of all sizes); in units of β %s; random rank-one kernels %s; "
        "random kernels %s",
        penalty_sizes[0], penalty_sizes[self->sizes - 1], budget_of(self), ranges[0], ranges[1], nothing,
        self->sizes * self->seeds, ranges[2], ranges[3], ranges[4]);
    experiment_finding(
        run, subject,
        radius == 3
            ? "Algorithm 1 far above both kinds of sampling; SLSQP \"can end up in local minima multiple "
              "times\""
            : "Algorithm 1 far above both kinds of sampling; SLSQP slightly better on average, but less "
              "reliable",
        ours,
        radius == 0
            ? "Where its budget suffices Algorithm 1 has the exact value, which nothing can exceed; the "
              "paper's stops at a tolerance of 0.001, a tenth of the penalty, which may be why SLSQP came "
              "out "
              "better there. Its program took diag(d)·P^π for D: its penalties are other numbers."
            : experiment_text(run,
                              "They agree that Algorithm 1 is far above sampling and that SLSQP is not "
                              "robust: from about half of its starts b shrinks to nothing, unless it is "
                              "measured in units of β%s.",
                              isinf(self->seconds) ? "" : "; for large S a step of it outlasts its time"));
}

static const char *const remarks[PENALTY_RADII] = {
    ("Grey: where the exact values of all seeds lie. Where their budget suffices, Algorithms 1 and 2 lie on "
     "the exact line. The appendix shows the same as Figure 14: \"Performance of Robust Policy Evaluation "
     "methods with equal amount of time.\""),
    "The same problems with β = 0.1.", "The same problems with β = 0.02.",
    "The same problems with β = 0.005: whiskers that reach 0 are problems where SLSQP ends at nothing."};

static bool all_certified(const results *self)
{
    for (int radius = 0; radius < PENALTY_RADII; radius++) {
        for (int size = 0; size < self->sizes; size++) {
            if (self->cells[radius][size].uncertified) {
                return false;
            }
        }
    }
    return true;
}

static nadir_status run_penalty(experiment_run *run)
{
    nadir_status status = NADIR_OK;
    results found = {.sizes = run->quick ? QUICK_SIZES : PENALTY_SIZES,
                     .seeds = run->quick ? QUICK_SEEDS : SEEDS,
                     .seconds = run->quick ? INFINITY : TIME};
    NADIR_CHECK(run_all(run, &found));
    for (int radius = 0; radius < PENALTY_RADII; radius++) {
        NADIR_CHECK(write_summary(run, &found, radius));
        NADIR_CHECK(draw_penalty(run, &found, radius));
        experiment_show(run, stems[radius], radius == 0 ? 0 : radius + 1, "%s", remarks[radius]);
    }
    NADIR_CHECK(draw_share(run, &found));
    run->data = stems[0];
    experiment_show(run, "share-0.01", -1,
                    "The first picture again, each penalty divided by the exact one of its problem.");
    print_shares(run, &found);
    experiment_say(run, "The exact values are nadir's default, which takes less than a millisecond; %s.",
                   all_certified(&found) ? "all of them are certified" : "not all of them are certified");
    for (int radius = 0; radius < PENALTY_RADII; radius++) {
        find(run, &found, radius);
    }
cleanup:
    return status;
}

static const experiment_source sources[] = {
    {"Figure 4, section Experiments",
     "Performance of Robust Policy Evaluation methods with equal amount of time, with fixed action space A=8",
     "Algorithm 1 with Algorithm 2 performs significantly better than random kernels and random rank-one "
     "kernels; SLSQP performs slightly better on average but is less reliable. No numbers are printed."},
    {"Figure 14, appendix", "Performance of Robust Policy Evaluation methods with equal amount of time.",
     "The same; the text gives β = 0.01."},
    {"Figure 16, appendix", "β=0.1, A=8", "The same comparison; no numbers are printed."},
    {"Figure 17, appendix", "β=0.02, A=8", "The same comparison; no numbers are printed."},
    {"Figure 18, appendix", "β=0.005, A=8",
     "SLSQP is not robust for this problem and can end up in local minima multiple times."},
    {0},
};

const experiment experiment_penalty = {
    .name = "penalty",
    .title = "The penalty that each method finds, against the number of states",
    .about =
        "Random problems of the paper's kind (kernel uniform then normalised, normal rewards, random policy, "
        "uniform μ, γ = 0.9, A = 8), p = 2, rows that sum to one and signs free, as the paper has it. Full: "
        "S = 4 to 128, 5 seeds, the same time for each method, 25 ms for each state (0.1 s at S = 4, 3.2 s "
        "at "
        "S = 128), counted from the nominal solution; what "
        "counts "
        "is the best penalty known when the time is over, so that it depends on the speed of the machine "
        "(columns timed_). Quick: S = 4 to 32, 3 seeds, and instead of time 10000 rank-one kernels, 1000 "
        "kernels, 20 evaluations of SLSQP, and Algorithm 1 to its end. The model of a seed is that of nadir "
        "generate random --states S --actions 8 --seed N.",
    .sources = sources,
    .run = run_penalty,
};
