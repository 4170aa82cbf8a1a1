/* volumes_figure.c: the experiment `volumes`: how much of a rectangular set the ball inside it fills. */
#include "experiment.h"
#include "volumes.h"

#include <math.h>

static const experiment_source sources[] = {
    {"Proposition of the section Method",
     "Let U_2^sa and U_2^s denote the smallest sa-rectangular and s-rectangular sets, respectively, that "
     "contain U_2. Then vol(U_2) / vol(U_2^sa) = O(c_sa^(-SA)), and vol(U_2) / vol(U_2^s) = O(c_s^(-S)).",
     "Only the order, with constants c_sa, c_s > 1; the proof takes a cube of S A dimensions and finds "
     "2^(-SA). No figure, no numbers."},
    {0},
};

static const nadir_set sets[] = {NADIR_SET_SA, NADIR_SET_S};

/* ------------------------------------------------------------------------------------------ formulas */

static const int64_t state_counts[] = {2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100};
static const int64_t action_counts[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32};
enum {
    STATE_COUNTS = sizeof state_counts / sizeof *state_counts,
    ACTION_COUNTS = sizeof action_counts / sizeof *action_counts
};

/* -log10 of the ratio; with set s and one action as with sa, NaN where both are one point. */
static double digits(nadir_set set, int64_t states, int64_t actions)
{
    return -volumes_log_ratio(set, states, actions) / log(10);
}

static nadir_status write_formulas(experiment_run *run)
{
    experiment_csv csv;
    (void)experiment_csv_open(run, "volumes",
                              "states,actions,set,dimension,log10_ratio,log10_two_to_minus_rows", &csv);
    for (int i = 0; i < STATE_COUNTS; i++) {
        for (int j = 0; j < ACTION_COUNTS; j++) {
            for (int k = 0; k < 2; k++) {
                const int64_t states = state_counts[i];
                const int64_t actions = action_counts[j];
                experiment_csv_integer(&csv, states);
                experiment_csv_integer(&csv, actions);
                experiment_csv_text(&csv, nadir_set_name(sets[k]));
                experiment_csv_integer(&csv, states * actions * (states - 1));
                experiment_csv_number(&csv, -digits(sets[k], states, actions));
                experiment_csv_number(&csv, -(double)(states * actions) * log10(2));
                experiment_csv_end_row(&csv);
            }
        }
    }
    return experiment_csv_close(&csv);
}

/* A block of data for each curve of a panel: x, then sa and s for small and large, then the paper's order. */
static void write_panel(FILE *script, const char *name, bool against_states, int64_t small, int64_t large)
{
    const int count = against_states ? STATE_COUNTS : ACTION_COUNTS;
    fprintf(script, "$%s << EOD\n", name);
    for (int i = 0; i < count; i++) {
        const int64_t x = against_states ? state_counts[i] : action_counts[i];
        fprintf(script, "%lld", (long long)x);
        for (int k = 0; k < 4; k++) {
            const int64_t other = k < 2 ? small : large;
            const int64_t states = against_states ? x : other;
            const int64_t actions = against_states ? other : x;
            fprintf(script, " %.17g", digits(sets[k % 2], states, actions));
        }
        fprintf(script, " %.17g\n", (double)(x * large) * log10(2));
    }
    fputs("EOD\n", script);
}

static void plot_panel(const experiment_plot *plot, const char *name, const char *what, int small, int large)
{
    for (int k = 0; k < 4; k++) {
        const char *set = nadir_set_name(sets[k % 2]);
        fprintf(plot->script, "%s $%s using 1:%d with linespoints linewidth 2 pointsize %s ",
                k == 0 ? "plot" : ",", name, k + 2, k < 2 ? "0" : "0.9");
        experiment_plot_style(plot, set);
        fprintf(plot->script, "title '%s, %s = %d'", cli_style_find(set)->label, what, k < 2 ? small : large);
    }
    fprintf(plot->script, ", $%s using 1:6 with lines linewidth 2 dashtype 2 linecolor rgb '%s' ", name,
            cli_style_find("reference")->colour);
    fprintf(plot->script, "title 'paper: 2^−SA, %s = %d'\n", what, large);
}

static nadir_status draw_formulas(experiment_run *run)
{
    experiment_plot plot;
    const nadir_status status = experiment_plot_open(run, "volumes", 1200, 740, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    write_panel(plot.script, "states", true, 1, 8);
    write_panel(plot.script, "actions", false, 2, 10);
    experiment_plot_tens(&plot, 'y', -1, 6, 1);
    fputs("set multiplot layout 1,2 margins 0.1,0.985,0.4,0.86 spacing 0.08,0 title 'Volume of the ball, "
          "over that of the rectangular set "
          "around it'\n"
          "set key at graph 0.5,-0.36 center top maxrows 5 samplen 3\n"
          "set logscale xy\nset grid xtics ytics\n"
          "set ylabel '−log₁₀ (ball / set), decimal places' offset 0.3,0\n"
          "set yrange [0.03:1e6]\n"
          "set title 'against the number of states'\nset xlabel 'states S'\n"
          "set xtics (2,5,10,20,50,100)\nset xrange [1.9:105]\n",
          plot.script);
    plot_panel(&plot, "states", "A", 1, 8);
    fputs("set title 'against the number of actions'\nset xlabel 'actions A'\nunset ylabel\n"
          "set xtics (1,2,4,8,16,32)\nset xrange [0.95:34]\n",
          plot.script);
    plot_panel(&plot, "actions", "S", 2, 10);
    fputs("unset multiplot\n", plot.script);
    return experiment_plot_close(&plot);
}

/* --------------------------------------------------------------------------------------- Monte Carlo */

typedef struct trial {
    int64_t states, actions;
    double exact;
    int64_t inside;
    double estimate, error; /* one standard error, as the exact ratio has it */
    nadir_set set;
    int place; /* in the picture: the same for both sets */
} trial;

enum { TRIALS = 40, FEW = 25 };

/* All small instances of which at least FEW of the samples should fall into the ball. */
static int list_trials(int64_t samples, trial trials[TRIALS])
{
    int count = 0;
    int place = -1;
    for (int64_t states = 2; states <= 6; states++) {
        for (int64_t actions = 1; actions <= 8; actions++) {
            bool first = true;
            for (int k = 0; k < 2 && count < TRIALS; k++) {
                const double exact = exp(volumes_log_ratio(sets[k], states, actions));
                if (exact * (double)samples < FEW || (actions == 1 && k > 0)) {
                    continue;
                }
                place += first;
                first = false;
                trials[count++] = (trial){
                    .states = states, .actions = actions, .set = sets[k], .exact = exact, .place = place};
            }
        }
    }
    return count;
}

static nadir_status run_trials(experiment_run *run, int64_t samples, int count, trial trials[TRIALS])
{
    experiment_csv csv;
    for (int i = 0; i < count; i++) {
        trial *tried = &trials[i];
        nadir_status status = experiment_progress(run, "Monte Carlo, S = %lld, A = %lld",
                                                  (long long)tried->states, (long long)tried->actions);
        if (status == NADIR_OK) {
            status = volumes_count(run->context, tried->set, tried->states, tried->actions,
                                   run->seed + (uint64_t)i, samples, &tried->inside);
        }
        if (status != NADIR_OK) {
            return status;
        }
        tried->estimate = (double)tried->inside / (double)samples;
        tried->error = sqrt(tried->exact * (1 - tried->exact) / (double)samples);
    }
    (void)experiment_csv_open(run, "monte-carlo",
                              "states,actions,set,dimension,exact,samples,inside,estimate,standard_error",
                              &csv);
    for (int i = 0; i < count; i++) {
        const trial *tried = &trials[i];
        experiment_csv_integer(&csv, tried->states);
        experiment_csv_integer(&csv, tried->actions);
        experiment_csv_text(&csv, nadir_set_name(tried->set));
        experiment_csv_integer(&csv, tried->states * tried->actions * (tried->states - 1));
        experiment_csv_number(&csv, tried->exact);
        experiment_csv_integer(&csv, samples);
        experiment_csv_integer(&csv, tried->inside);
        experiment_csv_number(&csv, tried->estimate);
        experiment_csv_number(&csv, tried->error);
        experiment_csv_end_row(&csv);
    }
    return experiment_csv_close(&csv);
}

static nadir_status draw_trials(experiment_run *run, int count, const trial trials[TRIALS])
{
    experiment_plot plot;
    const nadir_status status = experiment_plot_open(run, "monte-carlo", 1100, 660, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    for (int k = 0; k < 2; k++) {
        fprintf(plot.script, "$set%d << EOD\n", k);
        for (int i = 0; i < count; i++) {
            if (trials[i].set == sets[k]) {
                fprintf(plot.script, "%d %.17g %.17g %.17g\n", trials[i].place, trials[i].exact,
                        trials[i].estimate, 2 * trials[i].error);
            }
        }
        fputs("EOD\n", plot.script);
    }
    experiment_plot_tens(&plot, 'y', -5, 0, 1);
    fputs("set logscale y\nset xlabel 'states × actions'\n"
          "set title 'Volume of the ball, over that of the rectangular set around it'\n"
          "set ylabel 'volume of ball / volume of set'\n" EXPERIMENT_KEY_BELOW
          "set bmargin 11\nset xtics rotate by "
          "90 right (",
          plot.script);
    for (int i = 0; i < count; i++) {
        fprintf(plot.script, "%s'%lld × %lld' %d", i > 0 ? "," : "", (long long)trials[i].states,
                (long long)trials[i].actions, trials[i].place);
    }
    fprintf(plot.script, ")\nset grid xtics\nset xrange [-0.7:%d.7]\n", trials[count - 1].place);
    for (int k = 0; k < 2; k++) {
        fprintf(plot.script,
                "%s $set%d using 1:2 with points pointsize 2.4 linewidth 2 pointtype %d "
                "linecolor rgb '%s' title '%s: formula'",
                k == 0 ? "plot" : ",", k, k == 0 ? 6 : 8, cli_style_find(nadir_set_name(sets[k]))->colour,
                cli_style_find(nadir_set_name(sets[k]))->label);
        fprintf(plot.script,
                ", $set%d using 1:3:4 with yerrorbars pointsize 0.8 linewidth 2 pointtype %d "
                "linecolor rgb 'black' %s",
                k, k == 0 ? 7 : 9, k == 0 ? "notitle" : "title 'Monte Carlo, ± 2 standard errors'");
    }
    fputs("\n", plot.script);
    return experiment_plot_close(&plot);
}

/* --------------------------------------------------------------------------------------------- report */

static void tell(experiment_run *run, int64_t samples, int count, const trial trials[TRIALS])
{
    double furthest = 0;
    for (int i = 0; i < count; i++) {
        furthest = fmax(furthest, fabs(trials[i].estimate - trials[i].exact) / trials[i].error);
    }
    experiment_show(run, "volumes", 0,
                    "The higher, the less of the set the ball fills. All curves bend upwards from the "
                    "paper's order, which is a straight line on this scale.");
    experiment_show(run, "monte-carlo", -1,
                    "%lld kernels drawn uniformly from each rectangular set; shown are all small instances "
                    "where at least %d should fall into the ball. The furthest estimate is %.1f standard "
                    "errors off.",
                    (long long)samples, FEW, furthest);
    experiment_table(run, "Volume of the ball over volume of the smallest set around it",
                     "states|actions|dimensions|sa-rectangular|s-rectangular|paper's order 2^−SA");
    static const int64_t examples[][2] = {{2, 1}, {2, 2}, {3, 2}, {5, 2}, {10, 4}, {30, 8}, {100, 8}};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const int64_t states = examples[i][0];
        const int64_t actions = examples[i][1];
        const int64_t dimension = states * actions * (states - 1);
        experiment_table_row(run, "%lld|%lld|%lld|10^−%.4g|10^−%.4g|10^−%.4g", (long long)states,
                             (long long)actions, (long long)dimension, digits(NADIR_SET_SA, states, actions),
                             digits(NADIR_SET_S, states, actions), (double)(states * actions) * log10(2));
    }
    experiment_table_end(run);
    experiment_finding(
        run, "vol(U_2) / vol(U_2^sa)", "O(c_sa^−SA), from the proof O(2^−SA)",
        experiment_text(run,
                        "10^−%.4g at S = 10, A = 4 (2^−SA is 10^−%.4g); Monte Carlo agrees to %.1f "
                        "standard errors in %d small cases",
                        digits(NADIR_SET_SA, 10, 4), 40 * log10(2), furthest, count),
        "The claim holds and is far from tight: a row that sums to one moves in S − 1 dimensions, not in "
        "one, "
        "so that the ratio falls faster than every c^−SA.");
    experiment_finding(run, "vol(U_2) / vol(U_2^s)", "O(c_s^−S)",
                       experiment_text(run, "10^−%.4g at S = 10, A = 4; 10^−%.4g at S = 30, A = 8",
                                       digits(NADIR_SET_S, 10, 4), digits(NADIR_SET_S, 30, 8)),
                       "The claim holds; the proof counts A dimensions for a state where there are "
                       "A (S − 1), and its (c_A r)^S should be (c_A r^A)^S, which changes no order.");
}

static nadir_status run_volumes(experiment_run *run)
{
    const int64_t samples = run->quick ? 100000 : 1000000;
    trial trials[TRIALS];
    const int count = list_trials(samples, trials);
    nadir_status status = write_formulas(run);
    status = status == NADIR_OK ? draw_formulas(run) : status;
    status = status == NADIR_OK ? run_trials(run, samples, count, trials) : status;
    status = status == NADIR_OK ? draw_trials(run, count, trials) : status;
    if (status == NADIR_OK) {
        tell(run, samples, count, trials);
    }
    return status;
}

const experiment experiment_volumes = {
    .name = "volumes",
    .title = "Volumes of rectangular sets around the ball",
    .about = "The ratio of the volume of the non-rectangular L_2 ball to those of the smallest s- and "
             "sa-rectangular sets around it, exactly, from the volumes of balls: a row that sums to one has "
             "S − 1 dimensions, and the radius cancels. For small instances also by drawing kernels "
             "uniformly from the rectangular set and counting those in the ball (1 000 000 each; quick: "
             "100 000).",
    .sources = sources,
    .run = run_volumes,
};
