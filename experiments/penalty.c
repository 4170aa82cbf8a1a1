/*
 * penalty.c: the penalty that each method finds against the number of states, all with the same budget; see
 * instance.h for the problems.
 *
 * Full: the same time for every method, and what counts is the best penalty known when it is over (a step
 * that ends later does not). What was found then depends on the speed of the machine: columns timed_. Quick:
 * numbers of kernels or steps instead, so that the data is the same on every run.
 */
#include "inside.h"
#include "instance.h"

#include <inttypes.h>
#include <math.h>

#define TIME 0.5 /* seconds for each method */

enum { RADII = 4, METHODS = 5, SIZES = 6, SEEDS = 5, QUICK_SIZES = 4, QUICK_SEEDS = 3 };

static const double radii[RADII] = {0.01, 0.1, 0.02, 0.005}; /* in the order of the sources */
static const char *const stems[RADII] = {"penalty-0.01", "penalty-0.1", "penalty-0.02", "penalty-0.005"};
static const int64_t sizes[SIZES] = {4, 8, 16, 32, 64, 128};
static const struct {
    const char *name;
    int64_t quick; /* kernels or steps */
} methods[METHODS] = {{"paper", 10000},
                      {"slsqp", 40},
                      {"slsqp-scaled", 40},
                      {"random-rank-one", 20000},
                      {"random-kernel", 2000}};

/* Mean and spread over the seeds. */
typedef struct spread {
    double sum, least, most;
} spread;

typedef struct results {
    int sizes, seeds;
    spread exact[RADII][SIZES];
    spread penalty[RADII][METHODS][SIZES];
    spread share[RADII][METHODS][SIZES];
    int nothing[RADII]; /* instances where SLSQP found less than a hundredth */
    bool certified;     /* all exact values are */
} results;

static void add(spread *to, int turn, double value)
{
    to->sum += value;
    to->least = turn == 0 ? value : fmin(to->least, value);
    to->most = turn == 0 ? value : fmax(to->most, value);
}

static double mean(const results *of, const spread *values)
{
    return values->sum / of->seeds;
}

/* One method on one instance, into the table and the results. */
static nadir_status run_method(experiment_instance *instance, results *into, int radius, int size, int turn,
                               int method, uint64_t seed, experiment_csv *csv)
{
    nadir_status status = NADIR_OK;
    const bool quick = instance->run->quick;
    const double exact = instance->exact.penalty;
    experiment_found found = {0};
    NADIR_CHECK(experiment_instance_find(instance, methods[method].name, quick ? INFINITY : TIME,
                                         quick ? methods[method].quick : INT64_MAX, &found));
    const nadir_trajectory_point known = experiment_found_at(&found, quick ? INFINITY : TIME);
    const double share = known.value / exact;
    add(&into->penalty[radius][method][size], turn, known.value);
    add(&into->share[radius][method][size], turn, share);
    into->nothing[radius] += method == 1 && share < 0.01;
    experiment_csv_number(csv, radii[radius]);
    experiment_csv_integer(csv, sizes[size]);
    experiment_csv_integer(csv, (int64_t)seed);
    experiment_csv_text(csv, methods[method].name);
    experiment_csv_number(csv, exact);
    experiment_csv_number(csv, known.value);
    experiment_csv_number(csv, share);
    experiment_csv_integer(csv, found.result.samples);
    experiment_csv_text(csv, found.result.stop_reason);
    experiment_csv_number(csv, found.result.seconds);
    experiment_csv_end_row(csv);
cleanup:
    experiment_found_free(instance, &found);
    return status;
}

static nadir_status run_instance(experiment_run *run, results *into, int size, int turn, experiment_csv *csv)
{
    nadir_status status = NADIR_OK;
    const uint64_t seed = run->seed + (uint64_t)turn;
    experiment_instance instance = {0};
    NADIR_CHECK(
        experiment_progress(run, "S = %" PRId64 ", seed %d of %d", sizes[size], turn + 1, into->seeds));
    NADIR_CHECK(experiment_instance_open(run, sizes[size], seed, &instance));
    for (int radius = 0; radius < RADII; radius++) {
        NADIR_CHECK(experiment_instance_set_radius(&instance, radii[radius]));
        into->certified = into->certified && instance.exact.certified;
        add(&into->exact[radius][size], turn, instance.exact.penalty);
        for (int method = 0; method < METHODS; method++) {
            NADIR_CHECK(run_method(&instance, into, radius, size, turn, method, seed, csv));
        }
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
    const nadir_status closed = experiment_csv_close(&csv);
    return status != NADIR_OK ? status : closed;
}

/* ------------------------------------------------------------------------------------------- pictures */

static void write_spread(experiment_csv *csv, const results *of, const spread *values)
{
    experiment_csv_number(csv, mean(of, values));
    experiment_csv_number(csv, values->least);
    experiment_csv_number(csv, values->most);
}

/* The data of one picture. */
static nadir_status write_summary(experiment_run *run, const results *of, int radius)
{
    experiment_csv csv;
    (void)experiment_csv_open(run, stems[radius],
                              run->quick ? "states,method,mean,least,most,share_mean,share_least,share_most"
                                         : "states,method,timed_mean,timed_least,timed_most,timed_share_mean,"
                                           "timed_share_least,timed_share_most",
                              &csv);
    for (int size = 0; size < of->sizes; size++) {
        const spread certain = {of->seeds, 1, 1};
        experiment_csv_integer(&csv, sizes[size]);
        experiment_csv_text(&csv, "exact");
        write_spread(&csv, of, &of->exact[radius][size]);
        write_spread(&csv, of, &certain);
        experiment_csv_end_row(&csv);
        for (int method = 0; method < METHODS; method++) {
            experiment_csv_integer(&csv, sizes[size]);
            experiment_csv_text(&csv, methods[method].name);
            write_spread(&csv, of, &of->penalty[radius][method][size]);
            write_spread(&csv, of, &of->share[radius][method][size]);
            experiment_csv_end_row(&csv);
        }
    }
    return experiment_csv_close(&csv);
}

/* Points beside each other where they would lie on each other. */
static void print_block(FILE *script, const results *of, const char *name, int place,
                        const spread values[SIZES], double unit)
{
    fprintf(script, "$%s << EOD\n", name);
    for (int size = 0; size < of->sizes; size++) {
        const spread *at = &values[size];
        fprintf(script, "%.6g %.9g %.9g %.9g\n", (double)sizes[size] * pow(1.035, place), unit * mean(of, at),
                unit * at->least, unit * at->most);
    }
    fputs("EOD\n", script);
}

static void print_axes(const experiment_plot *plot, const results *of)
{
    fprintf(plot->script,
            "set logscale x 2\nset xrange [%g:%g]\nset xlabel 'number of states S'\n" EXPERIMENT_KEY_BELOW
            "set xtics (",
            (double)sizes[0] / 1.2, (double)sizes[of->sizes - 1] * 1.3);
    for (int size = 0; size < of->sizes; size++) {
        fprintf(plot->script, "%s'%d' %d", size > 0 ? ", " : "", (int)sizes[size], (int)sizes[size]);
    }
    fputs(")\n", plot->script);
}

static const char *const block_names[METHODS] = {"paper", "slsqp", "scaled", "rankone", "kernel"};

static void print_methods(const experiment_plot *plot)
{
    for (int method = 0; method < METHODS; method++) {
        fprintf(plot->script, ", $%s using 1:2:3:4 with yerrorlines linewidth 2 ", block_names[method]);
        experiment_plot_style(plot, methods[method].name);
        experiment_plot_title(plot, methods[method].name);
    }
    fputc('\n', plot->script);
}

static nadir_status draw_penalty(experiment_run *run, const results *of, int radius)
{
    experiment_plot plot;
    if (experiment_plot_open(run, stems[radius], EXPERIMENT_WIDTH, EXPERIMENT_HEIGHT, &plot) != NADIR_OK) {
        return run->status;
    }
    fprintf(plot.script,
            "set title 'Penalty found: A = 8, γ = 0.9, β = %g; mean, least and most of %d seeds'\n"
            "set ylabel 'penalty J − J_U (units of reward)'\nset yrange [0:*]\nset offsets 0, 0, graph 0.05, "
            "0\n",
            radii[radius], of->seeds);
    print_axes(&plot, of);
    print_block(plot.script, of, "exact", 0, of->exact[radius], 1);
    for (int method = 0; method < METHODS; method++) {
        print_block(plot.script, of, block_names[method], method - 2, of->penalty[radius][method], 1);
    }
    fputs("plot $exact using 1:3:4 with filledcurves linecolor rgb '#e4e4e4' title 'exact, all seeds', "
          "$exact using 1:2 with lines linewidth 3 ",
          plot.script);
    experiment_plot_line(&plot, "exact");
    fputs("title 'exact, mean'", plot.script);
    print_methods(&plot);
    return experiment_plot_close(&plot);
}

static nadir_status draw_share(experiment_run *run, const results *of)
{
    experiment_plot plot;
    if (experiment_plot_open(run, "share-0.01", EXPERIMENT_WIDTH, EXPERIMENT_HEIGHT, &plot) != NADIR_OK) {
        return run->status;
    }
    fprintf(plot.script,
            "set title 'Share of the exact penalty, β = 0.01: mean, least and most of %d seeds'\n"
            "set ylabel 'share of the exact penalty (%%)'\nset yrange [0:105]\n",
            of->seeds);
    print_axes(&plot, of);
    for (int method = 0; method < METHODS; method++) {
        print_block(plot.script, of, block_names[method], method - 2, of->share[0][method], 100);
    }
    fputs("plot 100 with lines linewidth 3 ", plot.script);
    experiment_plot_line(&plot, "exact");
    experiment_plot_title(&plot, "exact");
    print_methods(&plot);
    return experiment_plot_close(&plot);
}

/* --------------------------------------------------------------------------------------------- report */

static void print_shares(experiment_run *run, const results *of)
{
    experiment_table(run, "Share of the exact penalty that was found, %: mean over seeds (least to most)",
                     "β|S|exact penalty, mean|Algorithms 1 and 2|SLSQP|SLSQP, scaled|random rank-one "
                     "kernels|random kernels");
    for (int radius = 0; radius < RADII; radius++) {
        for (int size = 0; size < of->sizes; size++) {
            char cells[METHODS][64];
            for (int method = 0; method < METHODS; method++) {
                const spread *share = &of->share[radius][method][size];
                (void)snprintf(cells[method], sizeof cells[method], "%.4g (%.3g to %.3g)",
                               100 * mean(of, share), 100 * share->least, 100 * share->most);
            }
            experiment_table_row(run, "%g|%" PRId64 "|%.6g|%s|%s|%s|%s|%s", radii[radius], sizes[size],
                                 mean(of, &of->exact[radius][size]), cells[0], cells[1], cells[2], cells[3],
                                 cells[4]);
        }
    }
    experiment_table_end(run);
}

/* The least and most of a mean share over the sizes, in percent. */
static void print_range(const results *of, int radius, int method, char text[32])
{
    double least = INFINITY;
    double most = 0;
    for (int size = 0; size < of->sizes; size++) {
        const double share = 100 * mean(of, &of->share[radius][method][size]);
        least = fmin(least, share);
        most = fmax(most, share);
    }
    if (most - least < 0.05) {
        (void)snprintf(text, 32, "%.3g %%", most);
    } else {
        (void)snprintf(text, 32, "%.3g to %.3g %%", least, most);
    }
}

static void find(experiment_run *run, const results *of, int radius)
{
    char ranges[METHODS][32];
    for (int method = 0; method < METHODS; method++) {
        print_range(of, radius, method, ranges[method]);
    }
    const char *subject = experiment_text(run, "Penalty against S, β = %g", radii[radius]);
    const char *ours = experiment_text(
        run,
        "of the exact penalty, %s: Algorithms 1 and 2 %s, SLSQP %s (nothing in %d of %d problems), scaled by "
        "β %s, random "
        "rank-one kernels %s, random kernels %s",
        run->quick ? "with fixed numbers of kernels and steps (quick)" : "in half a second each", ranges[0],
        ranges[1], of->nothing[radius], of->sizes * of->seeds, ranges[2], ranges[3], ranges[4]);
    experiment_finding(
        run, subject,
        radius == 3
            ? "Algorithm 1 far above both kinds of sampling; SLSQP \"can end up in local minima multiple "
              "times\""
            : "Algorithm 1 far above both kinds of sampling; SLSQP slightly better on average, but less "
              "reliable",
        ours,
        "Where its budget suffices Algorithm 1 has the exact value, which SLSQP cannot exceed; in units of β "
        "SLSQP "
        "gets there too. The paper's own program took diag(d)·P^π for D: its penalties are other numbers.");
}

static const char *const remarks[RADII] = {
    ("Grey: where the exact values of all seeds lie. Where their budget suffices, Algorithms 1 and 2 lie on "
     "the exact line."),
    "The same problems with β = 0.1.", "The same problems with β = 0.02.",
    "The same problems with β = 0.005: whiskers that reach 0 are problems where SLSQP ends at nothing."};

static nadir_status run_penalty(experiment_run *run)
{
    nadir_status status = NADIR_OK;
    results found = {.sizes = run->quick ? QUICK_SIZES : SIZES,
                     .seeds = run->quick ? QUICK_SEEDS : SEEDS,
                     .certified = true};
    NADIR_CHECK(run_all(run, &found));
    for (int radius = 0; radius < RADII; radius++) {
        NADIR_CHECK(write_summary(run, &found, radius));
        NADIR_CHECK(draw_penalty(run, &found, radius));
        experiment_show(run, stems[radius], radius, "%s", remarks[radius]);
    }
    NADIR_CHECK(draw_share(run, &found));
    experiment_show(run, "share-0.01", -1,
                    "The first picture again, each penalty divided by the exact one of its problem.");
    print_shares(run, &found);
    experiment_say(run, "The exact values are nadir's default, which takes less than a millisecond; %s.",
                   found.certified ? "all of them are certified" : "not all of them are certified");
    for (int radius = 0; radius < RADII; radius++) {
        find(run, &found, radius);
    }
cleanup:
    return status;
}

static const experiment_source sources[] = {
    {"Figures 4 and 14, section Experiments",
     "Performance of Robust Policy Evaluation methods with equal amount of time, with fixed action space A=8",
     "Algorithm 1 with Algorithm 2 performs significantly better than random kernels and random rank-one "
     "kernels; SLSQP performs slightly better on average but is less reliable. No numbers are printed."},
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
        "S = 4 to 128, 5 seeds, half a second for each method, counted from the nominal solution; what "
        "counts "
        "is the best penalty known when the time is over, so that it depends on the speed of the machine "
        "(columns timed_). Quick: S = 4 to 32, 3 seeds, and instead of time 20000 rank-one kernels, 2000 "
        "kernels, 40 evaluations of SLSQP, and Algorithm 1 to its end. The model of a seed is that of nadir "
        "generate random --states S --actions 8 --seed N.",
    .sources = sources,
    .run = run_penalty,
};
