/* command_reproduce.c: nadir reproduce: the paper's tables and figures made anew, and a report on them. */
#include "gnuplot.h"
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The seed that the paper names. */
enum { PAPER_SEED = 42 };
enum { EXPERIMENTS_LIMIT = 32 };

static const char about[] =
    "Remakes the tables and figures of Kumar et al. (2025), Dual Formulation for Non-Rectangular L_p Robust\n"
    "Markov Decision Processes: each as CSV, SVG and PNG in a folder of its own, and DIR/report.html, one\n"
    "page that shows them with the settings, what the paper reports, what was measured, and why the two\n"
    "differ.\n"
    "\n"
    "An experiment that DIR holds already, for the same settings, seed, number of threads and engine, is\n"
    "not made again: a run that was interrupted goes on where it stopped when the same command is given\n"
    "again. DIR/NAME/SHA256SUMS lists what a finished experiment has written. The same seed gives the same\n"
    "CSV files, but for columns that depend on the speed of the machine: their names begin with 'seconds'\n"
    "or 'timed_'. DIR/findings.md holds the report's table of what the paper says and what was measured.\n"
    "Pictures need gnuplot, which is tried first.\n"
    "\n"
    "Examples:\n"
    "  nadir reproduce all --quick --out figures\n"
    "  nadir reproduce penalty-function --seed 7 --out figures\n"
    "\n"
    "Experiments:\n";

/* What became of one experiment. */
typedef struct outcome {
    const experiment *experiment;
    const char *state; /* "made", "kept", "interrupted", "failed" */
    double seconds;
    int files;
} outcome;

typedef struct reproduction {
    const char *name;
    const char *out;
    bool quick;
    bool drawable; /* gnuplot has been tried */
    outcome outcomes[EXPERIMENTS_LIMIT];
    int count;
    char report[EXPERIMENT_PATH];
} reproduction;

/* ---------------------------------------------------------------------------------------- reports */

static void print_outcome(const cli_run *run, const outcome *made)
{
    if (run->json) {
        return;
    }
    if (strcmp(made->state, "kept") == 0) {
        printf("%-18s kept: it stands there for these settings\n", made->experiment->name);
    } else if (strcmp(made->state, "made") == 0) {
        printf("%-18s made in %.3g s, %d files\n", made->experiment->name, made->seconds, made->files);
    } else {
        printf("%-18s %s\n", made->experiment->name, made->state);
    }
    (void)fflush(stdout);
}

static void print_json(const cli_run *run, const reproduction *all)
{
    cli_json json;
    cli_json_start(&json, stdout);
    cli_json_text(&json, "out", all->out);
    cli_json_text(&json, "report", all->report);
    cli_json_bool(&json, "quick", all->quick);
    cli_json_integer(&json, "seed", (int64_t)run->seed);
    cli_json_integer(&json, "threads", nadir_context_threads(run->context));
    cli_json_array(&json, "experiments");
    for (int i = 0; i < all->count; i++) {
        const outcome *made = &all->outcomes[i];
        cli_json_object(&json, NULL);
        cli_json_text(&json, "name", made->experiment->name);
        cli_json_text(&json, "state", made->state);
        cli_json_double(&json, "seconds", made->seconds);
        cli_json_integer(&json, "files", made->files);
        cli_json_object_end(&json);
    }
    cli_json_array_end(&json);
    cli_json_close(run, &json);
}

/* ---------------------------------------------------------------------------------------- running */

static nadir_status make_folder(cli_run *run, const char *path)
{
    struct stat facts;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &facts) == 0 && S_ISDIR(facts.st_mode))) {
        return NADIR_OK;
    }
    return cli_fail(run, NADIR_ERROR_IO, "%s: cannot make the folder: %s", path, strerror(errno));
}

/* Whether pictures of both kinds can be drawn there: said before long work, and once. */
static nadir_status try_gnuplot(cli_run *run, reproduction *all)
{
    static const char *const kinds[] = {"svg", "png"};
    nadir_status status = NADIR_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == NADIR_OK && !all->drawable; i++) {
        char path[EXPERIMENT_PATH];
        cli_gnuplot plot;
        (void)snprintf(path, sizeof path, "%s/trial.%s", all->out, kinds[i]);
        status = cli_gnuplot_open(run, path, 100, 100, 10, &plot);
        if (status == NADIR_OK) {
            fputs("plot x\n", plot.script);
            status = cli_gnuplot_close(run, &plot);
        }
        (void)unlink(path);
    }
    all->drawable = status == NADIR_OK;
    return status;
}

static nadir_status make(experiment_run *run, outcome *made)
{
    const double start = cli_clock();
    experiment_manifest_remove(run);
    experiment_sweep(run->folder);
    nadir_status status = experiment_progress(run, "begins");
    if (status == NADIR_OK) {
        status = experiment_section_open(run);
        status = status == NADIR_OK ? run->experiment->run(run) : status;
        status = experiment_section_close(run, status, cli_clock() - start);
    }
    if (status == NADIR_OK) {
        status = experiment_manifest_write(run);
    }
    made->seconds = cli_clock() - start;
    made->files = run->files_count;
    made->state = status == NADIR_OK ? "made" : status == NADIR_ERROR_INTERRUPTED ? "interrupted" : "failed";
    return status;
}

static nadir_status make_or_keep(cli_run *cli, reproduction *all, int index)
{
    outcome *made = &all->outcomes[index];
    char folder[EXPERIMENT_PATH];
    experiment_run *run = calloc(1, sizeof *run);
    if (run == NULL) {
        return cli_fail(cli, NADIR_ERROR_MEMORY, "no memory for the experiment");
    }
    *run = (experiment_run){.cli = cli,
                            .context = cli->context,
                            .experiment = made->experiment,
                            .quick = all->quick,
                            .seed = cli->seed,
                            .index = index,
                            .count = all->count,
                            .folder = folder};
    (void)snprintf(folder, sizeof folder, "%s/%s", all->out, made->experiment->name);
    nadir_status status = NADIR_OK;
    if (experiment_manifest_holds(run, true)) {
        made->state = "kept";
    } else {
        status = cli->trouble;
        status = status == NADIR_OK ? try_gnuplot(cli, all) : status;
        status = status == NADIR_OK ? make_folder(cli, folder) : status;
        status = status == NADIR_OK ? make(run, made) : status;
    }
    free(run);
    cli_progress_clear(cli);
    if (strcmp(made->state, "not begun") != 0) {
        print_outcome(cli, made);
    }
    return status;
}

/* The experiments asked for. */
static nadir_status choose(cli_run *run, reproduction *all)
{
    const experiment *which = experiment_find(all->name);
    if (which != NULL) {
        all->outcomes[all->count++] = (outcome){.experiment = which, .state = "not begun"};
        return NADIR_OK;
    }
    if (strcmp(all->name, "all") != 0) {
        return cli_fail(run, NADIR_ERROR_ARGUMENT,
                        "there is no experiment '%s'; 'nadir reproduce --help' lists them", all->name);
    }
    for (int64_t i = 0; (which = experiment_at(i)) != NULL && all->count < EXPERIMENTS_LIMIT; i++) {
        all->outcomes[all->count++] = (outcome){.experiment = which, .state = "not begun"};
    }
    return NADIR_OK;
}

static nadir_status reproduce(cli_run *run, reproduction *all)
{
    nadir_status status = choose(run, all);
    if (status == NADIR_OK && strlen(all->out) > EXPERIMENT_PATH / 2) {
        status = cli_fail(run, NADIR_ERROR_IO, "--out: this name is too long");
    }
    if (status == NADIR_OK) {
        status = make_folder(run, all->out);
    }
    if (status != NADIR_OK) {
        return status;
    }
    experiment_sweep(all->out);
    for (int i = 0; i < all->count && status == NADIR_OK; i++) {
        status = make_or_keep(run, all, i);
    }
    run->headline[0] = '\0';
    if (status != NADIR_OK && !all->drawable) { /* nothing was begun */
        (void)rmdir(all->out);                  /* unless something stands there */
        return status;
    }
    if (status == NADIR_ERROR_INTERRUPTED) {
        (void)cli_fail(run, status,
                       "interrupted; what is finished is kept in %s: the same command goes on from there",
                       all->out);
    }
    cli_obey_interrupt();
    char first[sizeof run->error]; /* of two failures */
    memcpy(first, run->error, sizeof first);
    const nadir_status written = experiment_report_write(run, all->out, all->report);
    if (status == NADIR_OK) {
        status = written;
    } else {
        memcpy(run->error, first, sizeof first);
    }
    if (status == NADIR_OK) {
        if (run->json) {
            print_json(run, all);
            run->answered = true;
        } else {
            printf("report: %s\n", all->report);
        }
    }
    return status;
}

/* The text of --help with the experiments. */
static void print_about(char text[8192])
{
    const experiment *which;
    size_t used = (size_t)snprintf(text, 8192, "%s", about);
    for (int64_t i = 0; (which = experiment_at(i)) != NULL && used < 8192; i++) {
        used += (size_t)snprintf(text + used, 8192 - used, "%s  %-18s %s", i > 0 ? "\n" : "", which->name,
                                 which->title);
    }
}

static int reproduce_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS];
    reproduction all = {0};
    char text[8192];
    int exit;
    int engine = 0;
    const cli_option own[] = {
        {"--out", CLI_TEXT, "DIR", NULL, &all.out, "the folder to write to; made if it is not there"},
        {"--quick", CLI_FLAG, NULL, NULL, &all.quick, "smaller and fewer instances: minutes for all of them"},
        {"--engine", CLI_CHOICE, NULL, "none|cuda", &engine,
         "none: everything on the processor (default); cuda: linear systems on an\n"
         "NVIDIA GPU (docs/gpu.md); times are the device's then"},
        {0},
    };
    cli_option common[CLI_COMMON_OPTIONS];
    const cli_option_group groups[] = {
        {.title = "Options", .options = own}, cli_common_options(run, common), {0}};
    for (int i = 0; i < CLI_COMMON_OPTIONS && common[i].name != NULL; i++) {
        if (strcmp(common[i].name, "--seed") == 0) {
            common[i].help = "seed of everything random (default 42, as in the paper)";
        }
    }
    run->seed = PAPER_SEED;
    print_about(text);
    if (!cli_parse(run, &cli_command_reproduce, argc, argv, groups, 1, positionals, text, &exit)) {
        return exit;
    }
    if (all.out == NULL) {
        (void)cli_needed(run, "--out DIR", false);
        return CLI_EXIT_USAGE;
    }
    all.name = positionals[0];
    run->engine_name = engine == 1 ? "cuda" : NULL;
    nadir_status status = cli_open(run);
    if (status == NADIR_OK) {
        status = reproduce(run, &all);
    }
    return cli_close(run, status);
}

const cli_command cli_command_reproduce = {
    .name = "reproduce",
    .arguments = "all|NAME",
    .summary = "the paper's tables and figures, and a report on what differs",
    .main = reproduce_main,
};
