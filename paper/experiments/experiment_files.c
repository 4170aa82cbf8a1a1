/* experiment_files.c: file names of an experiment, its data as CSV, and its progress; see experiment.h. */
#include "report.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

nadir_status experiment_keep(experiment_run *run, nadir_status status)
{
    if (run->status == NADIR_OK && status != NADIR_OK) {
        run->status = status;
        (void)snprintf(run->error, sizeof run->error, "%s", run->cli->error);
    }
    return status;
}

nadir_status experiment_progress(experiment_run *run, const char *format, ...)
{
    cli_run *cli = run->cli;
    char detail[128];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    (void)snprintf(cli->headline, sizeof cli->headline, "[%" PRId64 "/%" PRId64 "] %s: %s", run->index + 1,
                   run->count, run->experiment->name, detail);
    return cli_progress(cli, "working", -1) == 0 ? NADIR_OK
                                                 : cli_fail(cli, NADIR_ERROR_INTERRUPTED, "interrupted");
}

nadir_status experiment_file(experiment_run *run, const char *stem, const char *ending,
                             char path[EXPERIMENT_PATH])
{
    char name[2 * EXPERIMENT_NAME];
    const int length = snprintf(name, sizeof name, "%s%s", stem, ending);
    const int whole = snprintf(path, EXPERIMENT_PATH, "%s/%s", run->folder, name);
    if (length >= EXPERIMENT_NAME || whole >= EXPERIMENT_PATH) {
        return experiment_keep(
            run, cli_fail(run->cli, NADIR_ERROR_IO, "%s/%s: this name is too long", run->folder, name));
    }
    for (int i = 0; i < run->files_count; i++) {
        if (strcmp(run->files[i], name) == 0) {
            return NADIR_OK;
        }
    }
    if (run->files_count == EXPERIMENT_FILES) {
        return experiment_keep(run,
                               cli_fail(run->cli, NADIR_ERROR_UNSUPPORTED,
                                        "%s: an experiment has at most %d files", path, EXPERIMENT_FILES));
    }
    memcpy(run->files[run->files_count++], name, (size_t)length + 1);
    return NADIR_OK;
}

/* Whether a name is "….PID-N.tmp" of a process that no longer runs. */
static bool is_orphan(const char *name)
{
    const size_t length = strlen(name);
    size_t cursor = length < 4 ? 0 : length - 4;
    size_t digits = 0;
    if (strcmp(name + cursor, ".tmp") != 0) {
        return false;
    }
    while (cursor > 0 && strchr("0123456789-", name[cursor - 1]) != NULL) {
        cursor--;
        digits++;
    }
    char *end;
    const long process = strtol(name + cursor, &end, 10);
    return digits > 0 && cursor > 0 && name[cursor - 1] == '.' && *end == '-' && process > 0 &&
           process < INT32_MAX && kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

void experiment_sweep(const char *folder)
{
    DIR *in = opendir(folder);
    const struct dirent *entry;
    while (in != NULL && (entry = readdir(in)) != NULL) {
        if (is_orphan(entry->d_name)) {
            (void)unlinkat(dirfd(in), entry->d_name, 0);
        }
    }
    if (in != NULL) {
        (void)closedir(in);
    }
}

/* ------------------------------------------------------------------------------------------------- data */

nadir_status experiment_csv_open(experiment_run *run, const char *stem, const char *header,
                                 experiment_csv *csv)
{
    csv->run = run;
    csv->columns = 1;
    csv->cells = 0;
    csv->wrong = false;
    csv->output.out = NULL;
    nadir_status status = experiment_file(run, stem, ".csv", csv->path);
    if (status == NADIR_OK) {
        status = experiment_keep(run, cli_output_open(run->cli, csv->path, &csv->output));
    }
    if (status == NADIR_OK) {
        fprintf(csv->output.out, "%s\n", header);
    }
    for (const char *cursor = header; *cursor != '\0'; cursor++) {
        csv->columns += *cursor == ',';
    }
    return status;
}

/* The file for the next cell; NULL after a failure. */
static FILE *next_cell(experiment_csv *csv)
{
    FILE *out = csv->output.out;
    if (out != NULL && csv->cells > 0) {
        fputc(',', out);
    }
    csv->cells++;
    return out;
}

void experiment_csv_text(experiment_csv *csv, const char *text)
{
    FILE *out = next_cell(csv);
    if (out == NULL) {
        return;
    }
    if (strpbrk(text, ",\"\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (const char *cursor = text; *cursor != '\0'; cursor++) {
        fputs(*cursor == '"' ? "\"" : "", out);
        fputc(*cursor, out);
    }
    fputc('"', out);
}

void experiment_csv_integer(experiment_csv *csv, int64_t value)
{
    FILE *out = next_cell(csv);
    if (out != NULL) {
        fprintf(out, "%" PRId64, value);
    }
}

void experiment_csv_number(experiment_csv *csv, double value)
{
    FILE *out = next_cell(csv);
    char text[32];
    if (out != NULL && isfinite(value)) {
        fputs(cli_number(value, text), out);
    }
}

void experiment_csv_end_row(experiment_csv *csv)
{
    csv->wrong |= csv->cells != csv->columns;
    csv->cells = 0;
    if (csv->output.out != NULL) {
        fputc('\n', csv->output.out);
    }
}

nadir_status experiment_csv_close(experiment_csv *csv)
{
    experiment_run *run = csv->run;
    if (csv->output.out == NULL) {
        return run->status;
    }
    if (csv->wrong || csv->cells != 0) {
        cli_output_drop(&csv->output);
        return experiment_keep(run,
                               cli_fail(run->cli, NADIR_ERROR_FORMAT,
                                        "%s: a row has another number of cells than the header", csv->path));
    }
    return experiment_keep(run, cli_output_close(run->cli, &csv->output));
}

void experiment_csv_drop(experiment_csv *csv)
{
    if (csv->output.out != NULL) {
        cli_output_drop(&csv->output);
    }
}
