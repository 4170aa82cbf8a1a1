/*
 * random_guess.c: the best of random guesses against time: random vectors for the norm over the cone, as in
 * the text around the paper's figure, and random kernels for the penalty, as in its caption. Both have a
 * fixed number of samples, so that all data but the times is the same on every run.
 */
#include "experiment.h"
#include "instance.h"
#include "norm_matrices.h"

#include <inttypes.h>
#include <math.h>

enum { SIZES = 3 };

/* One curve: random guesses, and the method that they are compared with. */
typedef struct guess {
    int64_t size;
    double best;                    /* the maximum */
    nadir_trajectory_point *points; /* [count] */
    int64_t count;
    int64_t samples;
    double seconds; /* of all of them */
    double method_value, method_seconds;
} guess;

static const int64_t vector_sizes[SIZES] = {10, 50, 200};
static const int64_t kernel_sizes[SIZES] = {4, 8, 32};

static double last_value(const guess *guessed)
{
    return guessed->count > 0 ? guessed->points[guessed->count - 1].value : 0;
}

static nadir_status guess_vectors(experiment_run *run, int64_t n, guess *into)
{
    nadir_status status = NADIR_OK;
    double *matrix = NULL;
    nadir_cone_norm_settings settings;
    nadir_cone_norm_result result;
    NADIR_CHECK(experiment_progress(run, "random vectors, n = %" PRId64, n));
    NADIR_CHECK(experiment_matrix_create(run, n, run->seed, &matrix));
    NADIR_CHECK(experiment_matrix_norm(run, n, matrix, "power", 1, &result));
    into->best = result.value;
    NADIR_CHECK(experiment_matrix_norm(run, n, matrix, "paper", 1, &result));
    into->method_value = result.value;
    into->method_seconds = result.seconds_value;
    nadir_cone_norm_settings_default(&settings);
    settings.order = "random";
    settings.samples = run->quick ? 100000 : 1000000;
    settings.record = true;
    result = (nadir_cone_norm_result){.size = sizeof result};
    NADIR_CHECK(nadir_cone_norm(run->context, n, n, matrix, &settings, NULL, &result));
    into->size = n;
    into->points = result.points;
    into->count = result.points_count;
    into->samples = result.samples;
    into->seconds = result.seconds_value;
cleanup:
    experiment_matrix_free(run, matrix);
    return status;
}

static nadir_status guess_kernels(experiment_run *run, int64_t states, guess *into)
{
    nadir_status status = NADIR_OK;
    experiment_instance instance = {0};
    experiment_found found = {0};
    NADIR_CHECK(experiment_progress(run, "random kernels, S = %" PRId64, states));
    NADIR_CHECK(experiment_instance_open(run->context, states, run->seed, &instance));
    NADIR_CHECK(experiment_instance_set_radius(&instance, 0.01));
    into->best = instance.exact.penalty;
    NADIR_CHECK(experiment_instance_find(&instance, "paper", INFINITY, 10000, &found));
    into->method_value = found.result.penalty;
    into->method_seconds = found.result.seconds;
    experiment_found_free(&instance, &found);
    NADIR_CHECK(
        experiment_instance_find(&instance, "random-kernel", INFINITY, run->quick ? 10000 : 100000, &found));
    into->size = states;
    into->points = found.points;
    into->count = found.count;
    into->samples = found.result.samples;
    into->seconds = found.result.seconds;
    found.points = NULL;
cleanup:
    experiment_found_free(&instance, &found);
    experiment_instance_close(&instance);
    return status;
}

static nadir_status write_guesses(experiment_run *run, const char *stem, const char *header,
                                  const guess guesses[SIZES])
{
    experiment_csv csv;
    (void)experiment_csv_open(run, stem, header, &csv);
    for (int i = 0; i < SIZES; i++) {
        const guess *guessed = &guesses[i];
        for (int64_t j = 0; j < guessed->count; j++) {
            experiment_csv_integer(&csv, guessed->size);
            experiment_csv_integer(&csv, guessed->points[j].samples);
            experiment_csv_number(&csv, guessed->points[j].value);
            experiment_csv_number(&csv, guessed->points[j].value / guessed->best);
            experiment_csv_number(&csv, guessed->best);
            experiment_csv_number(&csv, guessed->method_value);
            experiment_csv_number(&csv, guessed->points[j].seconds);
            experiment_csv_number(&csv, guessed->method_seconds);
            experiment_csv_end_row(&csv);
        }
    }
    return experiment_csv_close(&csv);
}

/* What a picture is about. */
typedef struct theme {
    const char *stem;
    const char *title;
    const char *ylabel;
    const char *letter; /* of the size */
    const char *guess_style, *method_style;
    const char *method_label;
    const char *best;  /* the label of the maximum */
    const char *share; /* of what, in a sentence */
    int lowest;        /* of the axis of shares */
} theme;

static void print_blocks(FILE *script, const guess guesses[SIZES])
{
    for (int i = 0; i < SIZES; i++) {
        const guess *guessed = &guesses[i];
        fprintf(script, "$g%d << EOD\n", i);
        for (int64_t j = 0; j < guessed->count; j++) {
            fprintf(script, "%.9g %.9g\n", guessed->points[j].seconds,
                    100 * guessed->points[j].value / guessed->best);
        }
        fprintf(script, "%.9g %.9g\nEOD\n$m%d << EOD\n%.9g %.9g\nEOD\n", guessed->seconds,
                100 * last_value(guessed) / guessed->best, i, guessed->method_seconds,
                100 * guessed->method_value / guessed->best);
    }
}

/* The sizes have a mark of their own, the methods their colours. */
static nadir_status draw(experiment_run *run, const theme *about, const guess guesses[SIZES])
{
    static const int full[SIZES] = {7, 5, 9};
    static const int open[SIZES] = {6, 4, 8};
    const cli_style *guessed = cli_style_find(about->guess_style);
    experiment_plot plot;
    if (experiment_plot_open(run, about->stem, EXPERIMENT_WIDTH, EXPERIMENT_HEIGHT, &plot) != NADIR_OK) {
        return run->status;
    }
    fprintf(plot.script,
            "set title '%s'\nset logscale x\nset format x '%%.0s %%cs'\n"
            "set xlabel 'time'\nset ylabel '%s'\nset yrange [%d:105]\n" EXPERIMENT_KEY_BELOW,
            about->title, about->ylabel, about->lowest);
    print_blocks(plot.script, guesses);
    for (int i = 0; i < SIZES; i++) {
        fprintf(plot.script,
                "%s $g%d with steps linewidth 3 linecolor rgb '%s' notitle, $g%d every ::%" PRId64
                " with points pointsize 2 linewidth 2 pointtype %d linecolor rgb '%s' title '%s, %s = %d'",
                i == 0 ? "plot" : ",", i, guessed->colour, i, guesses[i].count, open[i], guessed->colour,
                guessed->label, about->letter, (int)guesses[i].size);
    }
    for (int i = 0; i < SIZES; i++) {
        fprintf(plot.script,
                ", $m%d with points pointsize 2 pointtype %d linecolor rgb '%s' title '%s, %s = %d'", i,
                full[i], cli_style_find(about->method_style)->colour, about->method_label, about->letter,
                (int)guesses[i].size);
    }
    fputs(", 100 with lines linewidth 2 ", plot.script);
    experiment_plot_line(&plot, "exact");
    fprintf(plot.script, "title '%s'\n", about->best);
    return experiment_plot_close(&plot);
}

/* The share found after this many samples. */
static double share_after(const guess *guessed, int64_t samples)
{
    double share = 0;
    for (int64_t i = 0; i < guessed->count && guessed->points[i].samples <= samples; i++) {
        share = guessed->points[i].value / guessed->best;
    }
    return share;
}

static void find(experiment_run *run, const char *subject, const char *paper, const theme *about,
                 const char *what, const guess guesses[SIZES], const char *why)
{
    char text[SIZES][96];
    for (int i = 0; i < SIZES; i++) {
        const guess *guessed = &guesses[i];
        (void)snprintf(text[i], sizeof text[i], "from %.3g to %.3g %% (%s = %d; %s: %.2g s)",
                       100 * share_after(guessed, guessed->samples / 100),
                       100 * share_after(guessed, guessed->samples), about->letter, (int)guessed->size,
                       about->method_label, guessed->method_seconds);
    }
    experiment_finding(run, subject, paper,
                       experiment_text(run, "from %" PRId64 " to %" PRId64 " %s the %s grows %s, %s, %s",
                                       guesses[0].samples / 100, guesses[0].samples, what, about->share,
                                       text[0], text[1], text[2]),
                       why);
}

static nadir_status run_vectors(experiment_run *run)
{
    static const theme about = {"random-vectors",
                                "Random vectors for max ‖Ax‖ over x ≥ 0, ‖x‖ ≤ 1, against time",
                                "share of the maximum (%)",
                                "n",
                                "random",
                                "spectral",
                                "Algorithm 2",
                                "the maximum",
                                "share of the maximum",
                                50};
    nadir_status status = NADIR_OK;
    guess guesses[SIZES] = {0};
    for (int i = 0; i < SIZES; i++) {
        NADIR_CHECK(guess_vectors(run, vector_sizes[i], &guesses[i]));
    }
    NADIR_CHECK(write_guesses(run, about.stem,
                              "n,samples,value,share,maximum,spectral,seconds,seconds_spectral", guesses));
    NADIR_CHECK(draw(run, &about, guesses));
    experiment_show(
        run, about.stem, 0,
        "Random vectors, as the text around the figure has it. A full mark shows when Algorithm 2 was "
        "done, and with what.");
    find(run, "Random vectors against time", "random guessing \"takes exponentially long time to converge\"",
         &about, "vectors", guesses,
         "They agree that it is slow: a hundred times the vectors add a few points, fewer for larger n; that "
         "the "
         "time is exponential in n this does not show.");
cleanup:
    for (int i = 0; i < SIZES; i++) {
        nadir_trajectory_free(run->context, guesses[i].points);
    }
    return status;
}

static nadir_status run_kernels(experiment_run *run)
{
    static const theme about = {"random-kernels",
                                "Random kernels for the penalty, against time: A = 8, γ = 0.9, β = 0.01",
                                "share of the exact penalty (%)",
                                "S",
                                "random-kernel",
                                "paper",
                                "Algorithm 1",
                                "exact",
                                "share of the exact penalty",
                                0};
    nadir_status status = NADIR_OK;
    guess guesses[SIZES] = {0};
    for (int i = 0; i < SIZES; i++) {
        NADIR_CHECK(guess_kernels(run, kernel_sizes[i], &guesses[i]));
    }
    NADIR_CHECK(write_guesses(run, about.stem,
                              "states,samples,penalty,share,exact,paper,seconds,seconds_paper", guesses));
    NADIR_CHECK(draw(run, &about, guesses));
    experiment_show(run, about.stem, 0,
                    "Random kernels, as the caption has it. A full mark shows when Algorithm 1 was "
                    "done, and with what.");
    find(run, "Random kernels against time",
         "random kernels take exponentially long; Algorithm 1 found the optimal value in 0.14 s", &about,
         "kernels", guesses,
         "They agree, as far as they can be compared: the paper does not say for which S its 0.14 s are, nor "
         "with how many kernels.");
cleanup:
    for (int i = 0; i < SIZES; i++) {
        nadir_trajectory_free(run->context, guesses[i].points);
    }
    return status;
}

static nadir_status run_random_guess(experiment_run *run)
{
    const nadir_status status = run_vectors(run);
    return status != NADIR_OK ? status : run_kernels(run);
}

static const experiment_source sources[] = {
    {"Figure 7, appendix",
     "Random Kernel Guess takes exponentially long time to converge. While Algorithm 1 only took 0.14 sec to "
     "find the optimal value.",
     "Random guessing improves ever more slowly; the sizes are not printed."},
    {0},
};

const experiment experiment_random_guess = {
    .name = "random-guess",
    .title = "Random guessing against time",
    .about =
        "The text around the figure speaks of random vectors for max ‖Ax‖, its caption of random kernels: "
        "here are both. Vectors: A = randn(n, n) of NumPy's legacy generator, n = 10, 50, 200, a million "
        "vectors (quick: 100000). Kernels: random problems of the paper's kind, A = 8, γ = 0.9, β = 0.01, "
        "S = 4, 8, 32, 100000 kernels (quick: 10000).",
    .sources = sources,
    .run = run_random_guess,
};
