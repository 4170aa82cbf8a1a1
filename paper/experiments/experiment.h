/*
 * experiment.h: what the experiments share: one file for each table or figure of the paper.
 *
 * An experiment is one `experiment` object in a file of its own, listed in registry.c. Its run function makes
 * data (CSV), pictures (SVG and PNG of the same name) and a section of the report, all through the functions
 * below, which put them into the experiment's own folder OUT/NAME and into its list of files:
 *
 *     csv -> plot -> show (figure of the report), say (paragraph), table, finding (paper, ours, why)
 *
 * When run returns NADIR_OK the list, with the digest of each file, is written to OUT/NAME/SHA256SUMS. An
 * experiment that has such a list for the same settings is not run again. A file is written completely or not
 * at all.
 *
 * The same settings, seed and number of threads give the same bytes in every CSV, except for columns that
 * depend on the speed of the machine: their names begin with `seconds` (a time) or with `timed_` (what was
 * found within a time). The text of the report may name times.
 *
 * Failures: return the status of what failed. The first failure of writing a CSV, a picture or the section is
 * kept, and returned by the call that closes it.
 */
#ifndef NADIR_PAPER_EXPERIMENT_H
#define NADIR_PAPER_EXPERIMENT_H

#include "cli.h"
#include "files.h"
#include "gnuplot.h"

typedef struct experiment_run experiment_run;

/* One figure or table of the paper. */
typedef struct experiment_source {
    const char *place;    /* "Figure 3, section Experiments"; NULL ends the list */
    const char *caption;  /* the paper's words, as plain text: readers search for them */
    const char *reported; /* what the paper reports there, one or two sentences */
} experiment_source;

typedef struct experiment {
    const char *name;  /* "penalty-function": of the folder and on the command line */
    const char *title; /* "The penalty function F(λ)" */
    const char *about; /* what is done and with which settings, both full and quick; plain text */
    const experiment_source *sources; /* at least one, closed by zeros */
    nadir_status (*run)(experiment_run *run);
} experiment;

/* All of them in the order of the report; NULL past the last. */
const experiment *experiment_at(int64_t index);
const experiment *experiment_find(const char *name);

enum { EXPERIMENT_FILES = 64, EXPERIMENT_PATH = 4096, EXPERIMENT_NAME = 64 };

/* What an experiment runs in. */
struct experiment_run {
    cli_run *cli;           /* for cli_fail, cli_warn and other functions of cli/ */
    nadir_context *context; /* its random stream is not touched: seed streams of your own from `seed` */
    const experiment *experiment;
    bool quick;
    uint64_t seed;                                 /* the user's; 42, as in the paper, by default */
    int64_t index;                                 /* of the experiment among those asked for, 0, 1, ... */
    int64_t count;                                 /* of those */
    const char *folder;                            /* OUT/NAME, which exists */
    char files[EXPERIMENT_FILES][EXPERIMENT_NAME]; /* written so far, for the list */
    int files_count;
    FILE *section;  /* HTML of the report's section, a temporary file; use the functions below */
    FILE *findings; /* rows of the table of findings */
    char *section_text, *findings_text; /* what they hold once closed */
    size_t section_length, findings_length;
    nadir_status status; /* of the first failure that was kept */
    char error[512];     /* and its message */
    uint64_t shown;      /* bit k: the k-th source has a picture; links lead to the first */
    const char *data;    /* stem of the CSV with the data of the next picture, where it is not its own */
    char texts[4][512];  /* of experiment_text, in turn */
    int texts_count;
};

/* Shows progress on a terminal: "[4/9] penalty-function: S = 100, seed 2 of 5". NADIR_ERROR_INTERRUPTED
 * when the user asked to stop. Long loops also call nadir_progress, themselves or in functions they call. */
nadir_status experiment_progress(experiment_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* OUT/NAME/stem + ending into path, and into the list of files. For files that the functions below do not
 * write; write those with cli_output or a function of the library. */
nadir_status experiment_file(experiment_run *run, const char *stem, const char *ending,
                             char path[EXPERIMENT_PATH]);

/* The paper's random instance: rows of P uniform and normalised, R normal, mu uniform, and a policy that is
 * uniform and normalised. The caller frees both. */
nadir_status experiment_setting(experiment_run *run, int64_t states, int64_t actions, double discount,
                                uint64_t seed, nadir_model **model, nadir_policy **policy);

/* ------------------------------------------------------------------------------------------------- data */

typedef struct experiment_csv {
    experiment_run *run;
    cli_output output;
    char path[EXPERIMENT_PATH];
    int columns; /* of the header */
    int cells;   /* of the row so far */
    bool wrong;  /* some row did not have as many cells as the header */
} experiment_csv;

/* OUT/NAME/stem.csv; header: "states,method,penalty,seconds". After a failure the functions below do nothing
 * and experiment_csv_close returns it, so that the status returned here need not be checked. */
nadir_status experiment_csv_open(experiment_run *run, const char *stem, const char *header,
                                 experiment_csv *csv);
/* Cells of a row, from left to right. A number is the shortest text that reads back to the same bits; what is
 * not finite is an empty cell. Text is quoted where it must be. */
void experiment_csv_text(experiment_csv *csv, const char *text);
void experiment_csv_integer(experiment_csv *csv, int64_t value);
void experiment_csv_number(experiment_csv *csv, double value);
void experiment_csv_end_row(experiment_csv *csv);
nadir_status experiment_csv_close(experiment_csv *csv);
/* Leaves no file; for `cleanup:`. Does nothing after close, and for a struct of zeros. */
void experiment_csv_drop(experiment_csv *csv);

/* --------------------------------------------------------------------------------------------- pictures */

/* Sizes that go well with the report; the font is 16 points. */
enum { EXPERIMENT_WIDTH = 1000, EXPERIMENT_HEIGHT = 600 };

/* For scripts with long labels: the legend below the plot, which then has the whole width. */
#define EXPERIMENT_KEY_BELOW                                                                                 \
    "set key at screen 0.52,0.01 center bottom vertical Left reverse maxrows 3 samplen 1.6 width -3 "        \
    "spacing "                                                                                               \
    "1.1 font ',14'\nset bmargin 7.6\nset micro\n"

typedef struct experiment_plot {
    experiment_run *run;
    FILE *script; /* write commands of gnuplot to this: data as $name << EOD ... EOD, then plot */
    char *text;
    size_t length;
    int width, height;
    char stem[EXPERIMENT_NAME];
} experiment_plot;

/* A picture of width x height points. The script begins with the look that all share: border left and below,
 * ticks outside, light grid, legend to the right of the plot; `set` what is to differ. Text is UTF-8 and not
 * "enhanced": write λ, not {/Symbol l}. Keep the SVG below about 1 MB: it becomes part of the report (`with
 * image` is a picture inside it). */
nadir_status experiment_plot_open(experiment_run *run, const char *stem, int width, int height,
                                  experiment_plot *plot);
/* Draws OUT/NAME/stem.svg and stem.png. */
nadir_status experiment_plot_close(experiment_plot *plot);
/* Draws if `status`, that of the data, is NADIR_OK; otherwise drops the picture. Returns the first failure.
 * */
nadir_status experiment_plot_finish(experiment_plot *plot, nadir_status status);
/* Draws nothing; for `cleanup:`. Does nothing after close, and for a struct of zeros. */
void experiment_plot_drop(experiment_plot *plot);

/* Tics of a logarithmic axis, 'x' or 'y': 0.1, 1, 10, … 10⁴, one every `step` powers of ten. */
void experiment_plot_tens(const experiment_plot *plot, char axis, int first, int last, int step);

/* "linecolor rgb '#0072b2' dashtype 1" of a method, set or part, for `with lines`, and with "pointtype 5" for
 * `with points` and `with linespoints`: see cli/gnuplot.c, which has room for more. */
void experiment_plot_line(const experiment_plot *plot, const char *name);
void experiment_plot_style(const experiment_plot *plot, const char *name);
/* "title 'Algorithms 1 and 2'": the label of it. */
void experiment_plot_title(const experiment_plot *plot, const char *name);

/* --------------------------------------------------------------------------------------------- report */

/* All texts are plain; they are escaped for HTML here. The section begins with the sources and `about` of the
 * experiment. */

/* A paragraph. */
void experiment_say(experiment_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The picture stem.svg, which has been drawn, with the number-th source (0, 1, ...; negative: none of the
 * paper's) and a sentence on what is to be seen. Also links to stem.csv where that is in the list, and to
 * run->data, which it clears. */
void experiment_show(experiment_run *run, const char *stem, int source, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A table: cells of a row are separated by '|' in one text, as is the head. Numbers are aligned to the
 * right. */
void experiment_table(experiment_run *run, const char *caption, const char *head);
void experiment_table_row(experiment_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
void experiment_table_end(experiment_run *run);

/* A row of the table "paper says / we measure / why they differ", which stands at the end of the section and,
 * for all experiments together, at the head of the report. why: one sentence, also where they agree.
 */
void experiment_finding(experiment_run *run, const char *subject, const char *paper, const char *ours,
                        const char *why);
/* Text for the above made like printf; it lives until the fourth call from now. */
const char *experiment_text(experiment_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
