/* command_norm.c: nadir norm: the norm of a matrix over the nonnegative cone. */
#include "files.h"

#include <inttypes.h>
#include <string.h>

static const char about[] =
    "max |A x|_2 over x >= 0, |x|_2 <= 1 for the matrix A of a .npy file: a value that some x attains, and "
    "an\n"
    "upper bound that holds whatever the rounding.\n"
    "\n"
    "Examples:\n"
    "  nadir norm matrix.npy --bounds\n"
    "  nadir norm matrix.npy --order random --samples 1000000 --time 60 --csv trajectory.csv";

typedef struct norm_report {
    const char *path;
    const char *csv_path; /* NULL: none */
    int64_t rows, columns;
    nadir_cone_norm_result result;
} norm_report;

static void print_json(const cli_run *run, const norm_report *report)
{
    const nadir_cone_norm_result *result = &report->result;
    cli_json json;
    cli_json_start(&json, stdout);
    cli_json_text(&json, "matrix", report->path);
    cli_json_integer(&json, "rows", report->rows);
    cli_json_integer(&json, "n", report->columns);
    cli_json_text(&json, "order", result->order);
    cli_json_double(&json, "value", result->value);
    cli_json_double(&json, "upper_bound", result->upper_bound);
    cli_json_double(&json, "gap", result->upper_bound - result->value);
    cli_json_double(&json, "zero_order_bound", result->zero_bound);
    cli_json_double(&json, "first_order_bound", result->first_bound);
    cli_json_double(&json, "dual_bound", result->dual_bound);
    cli_json_integer(&json, "iterations", result->iterations);
    cli_json_integer(&json, "support", result->support);
    cli_json_integer(&json, "samples", result->samples);
    cli_json_double(&json, "seconds", result->seconds_value);
    cli_json_double(&json, "seconds_bounds", result->seconds_bounds);
    cli_json_close(run, &json);
}

static void print_text(const norm_report *report, bool dual)
{
    const nadir_cone_norm_result *result = &report->result;
    char number[32];
    printf("%s: %" PRId64 " rows, %" PRId64 " columns, order %s\n", report->path, report->rows,
           report->columns, result->order);
    printf("  value          %s\n", cli_number(result->value, number));
    printf("  upper bound    %s\n", cli_number(result->upper_bound, number));
    printf("  gap            %.3g\n", result->upper_bound - result->value);
    printf("  zero order     %s\n", cli_number(result->zero_bound, number));
    printf("  first order    %s\n", cli_number(result->first_bound, number));
    if (dual) {
        printf("  dual           %s, %" PRId64 " iterations\n", cli_number(result->dual_bound, number),
               result->iterations);
    }
    if (result->samples > 0) {
        printf("  samples        %" PRId64 "\n", result->samples);
    }
    printf("  support        %" PRId64 " of %" PRId64 " entries\n", result->support, report->columns);
    printf("  seconds        %.3g, bounds %.3g\n", result->seconds_value, result->seconds_bounds);
}

/* What the search knew by when. */
static nadir_status write_points(cli_run *run, const char *path, const nadir_cone_norm_result *result)
{
    cli_output output;
    const nadir_status status = cli_output_open(run, path, &output);
    if (status != NADIR_OK) {
        return status;
    }
    fputs("seconds,samples,value\n", output.out);
    for (int64_t i = 0; i < result->points_count; i++) {
        const nadir_trajectory_point *point = &result->points[i];
        char seconds[32];
        char value[32];
        fprintf(output.out, "%s,%" PRId64 ",%s\n", cli_number(point->seconds, seconds), point->samples,
                cli_number(point->value, value));
    }
    return cli_output_close(run, &output);
}

static nadir_status find(cli_run *run, const nadir_cone_norm_settings *settings, norm_report *report)
{
    double *matrix = NULL;
    nadir_status status =
        nadir_numbers_read_matrix(run->context, report->path, &matrix, &report->rows, &report->columns);
    if (status == NADIR_OK) {
        status = nadir_cone_norm(run->context, report->rows, report->columns, matrix, settings, NULL,
                                 &report->result);
    }
    if (status == NADIR_OK && report->csv_path != NULL) {
        status = write_points(run, report->csv_path, &report->result);
    }
    if (matrix != NULL) {
        nadir_numbers_free(run->context, matrix);
        nadir_trajectory_free(run->context, report->result.points);
    }
    return status;
}

static int norm_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS];
    norm_report report = {.result.size = sizeof report.result};
    nadir_cone_norm_settings settings;
    nadir_cone_norm_settings_default(&settings);
    cli_option common[CLI_COMMON_OPTIONS];
    const cli_option own[] = {
        {"--order", CLI_NAME, NULL, "power|0|1|2|3|paper|random|slsqp", &settings.order,
         "0: the positive part of the leading eigenvector of A^T A\n"
         "1: the best of the positive parts of all eigenvectors\n"
         "2, 3: the best positive part of any combination of the two or three\n"
         "leading ones, exactly\n"
         "paper: Algorithm 2 of the paper as printed\n"
         "power: projected power iterations from many starts (default)\n"
         "random: the best of random points\n"
         "slsqp: sequential quadratic programming from a random point (NLopt)"},
        {"--bounds", CLI_FLAG, NULL, NULL, &settings.bounds,
         "also the dual bound, min over N >= 0 of the largest eigenvalue of\n"
         "A^T A + N: by far the best, and many times the work"},
        {"--tolerance", CLI_NUMBER, "EPS", NULL, &settings.tolerance,
         "of the dual bound, relative to the value, and of slsqp (default 1e-6)"},
        {"--iterations", CLI_INTEGER, "N", NULL, &settings.iterations_limit,
         "of the dual bound (default 1000); whatever was reached is a bound"},
        {"--samples", CLI_INTEGER, "N", NULL, &settings.samples,
         "random, slsqp: how many points (default 10000)"},
        {"--time", CLI_NUMBER, "SECONDS", NULL, &settings.seconds,
         "random, slsqp: for how long at most (default: any time)"},
        {"--csv", CLI_TEXT, "FILE", NULL, &report.csv_path, "random, slsqp: write what was known by when"},
        {0},
    };
    const cli_option_group groups[] = {
        {.title = "Options", .options = own}, cli_common_options(run, common), {0}};
    int exit;
    if (!cli_parse(run, &cli_command_norm, argc, argv, groups, 1, positionals, about, &exit)) {
        return exit;
    }
    const bool samples = settings.order != NULL &&
                         (strcmp(settings.order, "random") == 0 || strcmp(settings.order, "slsqp") == 0);
    if (report.csv_path != NULL && !samples) {
        (void)cli_wrong(run,
                        "--csv is for --order random and slsqp: the others find their value all at once");
        return CLI_EXIT_USAGE;
    }
    settings.record = report.csv_path != NULL;
    report.path = positionals[0];
    cli_files files = {0};
    cli_files_read(&files, report.path);
    cli_files_write(&files, report.csv_path);
    nadir_status status = cli_files_check(run, &files);
    if (status == NADIR_OK) {
        status = cli_open(run);
    }
    if (status == NADIR_OK) {
        status = find(run, &settings, &report);
    }
    if (status == NADIR_OK) {
        if (cli_starts_json(run)) {
            print_json(run, &report);
        } else {
            print_text(&report, settings.bounds);
        }
    }
    return cli_close(run, status);
}

const cli_command cli_command_norm = {
    .name = "norm",
    .arguments = "MATRIX.npy",
    .summary = "max |A x| over x >= 0, |x| <= 1: the problem inside the paper's evaluation",
    .main = norm_main,
};
