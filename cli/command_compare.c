/* command_compare.c: nadir compare: every method on the same problem, with the same time. */
#include "compare.h"
#include "files.h"
#include "gnuplot.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char about[] =
    "Runs every method for the worst kernel of a ball on the same problem, each with the same time, and\n"
    "tells what they find: the penalty, its share of the exact one (where that is not certified: of the one\n"
    "that evaluate finds), the time to 99 % of that, and how many kernels were tried or steps taken. The\n"
    "nominal solution, which all of them begin with, is not counted.\n"
    "The domain is free unless --domain says otherwise: most of the methods know no other. Those that do "
    "not\n"
    "know the ball, or take no model of this size, are left out, with a warning.\n"
    "\n"
    "A method that is slow to take a step stops after the step, not within.\n"
    "\n"
    "Examples:\n"
    "  nadir compare model.npz --policy uniform --radius 0.01 --time 10\n"
    "  nadir compare model.npz --policy uniform --radius 0.01 --time 10 --methods auto,paper,slsqp \\\n"
    "      --csv trajectories.csv --plot compare.svg";

double cli_compare_share(const cli_comparison *comparison, double penalty)
{
    const double exact = fabs(comparison->exact.penalty);
    return exact > 0 ? fabs(penalty) / exact : NAN;
}

double cli_compare_time(const cli_comparison *comparison, const cli_compared *compared, double share)
{
    for (int64_t i = 0; i < compared->count; i++) {
        if (cli_compare_share(comparison, compared->points[i].value) >= share) {
            return compared->points[i].seconds;
        }
    }
    return INFINITY;
}

/* ---------------------------------------------------------------------------------------- reports */

static void print_json(const cli_run *run, const cli_comparison *comparison)
{
    const nadir_robust *exact = &comparison->exact;
    cli_json json;
    cli_input_json_start(&json, &comparison->input);
    cli_json_double(&json, "nominal_return", exact->nominal_return);
    cli_json_double(&json, "exact_penalty", exact->certified ? exact->penalty : NAN);
    cli_json_double(&json, "reference_penalty", exact->penalty);
    cli_json_bool(&json, "certified", exact->certified);
    cli_json_text(&json, "set", nadir_set_name(exact->set));
    cli_json_norm(&json, "norm", exact->norm);
    cli_json_double(&json, "radius", exact->radius);
    cli_json_text(&json, "domain", nadir_domain_name(exact->domain));
    cli_json_double(&json, "time", comparison->budget.seconds);
    cli_json_array(&json, "methods");
    for (int i = 0; i < comparison->count; i++) {
        const cli_compared *compared = &comparison->compared[i];
        cli_json_object(&json, NULL);
        cli_json_text(&json, "method", compared->name);
        cli_json_double(&json, "penalty", compared->result.penalty);
        cli_json_double(&json, "share", cli_compare_share(comparison, compared->result.penalty));
        cli_json_double(&json, "seconds", compared->result.seconds);
        cli_json_double(&json, "seconds_to_99", cli_compare_time(comparison, compared, 0.99));
        cli_json_integer(&json, "samples", compared->result.samples);
        cli_json_text(&json, "stop_reason", compared->result.stop_reason);
        cli_json_object_end(&json);
    }
    cli_json_array_end(&json);
    cli_input_json(&json, &comparison->input);
    cli_json_close(run, &json);
}

static void print_text(const cli_run *run, const cli_comparison *comparison)
{
    const nadir_robust *exact = &comparison->exact;
    const char *(*print)(double, char *) = run->verbose ? cli_number : cli_short;
    const int width = run->verbose ? 22 : 12;
    char number[32];
    char text[160];
    char proven[96];
    cli_verdict_line("Penalty", "%s   %s   %s", print(exact->penalty, number),
                     exact->certified ? "exact" : "the largest found by evaluate",
                     cli_proven(exact->certified, exact->certificate, proven));
    cli_block_line("policy", "%s", comparison->input.policy_name);
    cli_block_line("ball", "%s", cli_ball_words(exact->radius, exact->norm, exact->set, exact->domain, text));
    cli_rewards_text(&comparison->input.rewards, exact->domain, "rewards   ");
    putchar('\n');
    printf("  %-24s %-*s %9s %11s %11s %10s  %s\n", "method", width, "penalty", "share", "to 99 %", "seconds",
           "samples", "stopped by");
    for (int i = 0; i < comparison->count; i++) {
        const cli_compared *compared = &comparison->compared[i];
        const double time = cli_compare_time(comparison, compared, 0.99);
        const double share = cli_compare_share(comparison, compared->result.penalty);
        char reached[16] = "never";
        char part[16] = "-";
        if (!isinf(time)) {
            (void)snprintf(reached, sizeof reached, "%.3g s", time);
        }
        if (!isnan(share)) {
            (void)snprintf(part, sizeof part, "%.2f %%", 100 * share);
        }
        printf("  %-24s %-*s %9s %11s %11.3g %10" PRId64 "  %s\n", compared->name, width,
               print(compared->result.penalty, number), part, reached, compared->result.seconds,
               compared->result.samples, compared->result.stop_reason);
    }
}

/* ---------------------------------------------------------------------------------------- running */

/* Whether a name is in the list; an empty list contains all. */
static bool is_asked_for(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *self = list; self != NULL;) {
        if (strncmp(self, name, length) == 0 && (self[length] == ',' || self[length] == '\0')) {
            return true;
        }
        self = strchr(self, ',');
        self = self != NULL ? self + 1 : NULL;
    }
    return list == NULL;
}

/* Every word of the list is a method. */
static nadir_status check_list(cli_run *run, const char *list)
{
    for (const char *self = list; self != NULL;) {
        const size_t length = strcspn(self, ",");
        const char *name = NULL;
        for (int64_t i = 0; (name = nadir_method_name(i)) != NULL; i++) {
            if (strlen(name) == length && strncmp(name, self, length) == 0) {
                break;
            }
        }
        if (name == NULL) {
            cli_methods methods;
            cli_methods_list(&methods, "");
            return cli_fail(run, NADIR_ERROR_ARGUMENT, "--methods: there is no method '%.*s'; they are %s",
                            (int)length, self, methods.choices);
        }
        self = self[length] == ',' ? self + length + 1 : NULL;
    }
    return NADIR_OK;
}

/* Methods that do not support this ball or this size are left out, unless they were named. */
static nadir_status compare_all(cli_run *run, nadir_solver *solver, const nadir_ball *ball,
                                cli_comparison *comparison)
{
    const char *name;
    char left_out[256] = "";
    for (int64_t i = 0; (name = nadir_method_name(i)) != NULL && comparison->count < CLI_COMPARE_METHODS;
         i++) {
        if (!is_asked_for(comparison->methods, name)) {
            continue;
        }
        cli_compared *compared = &comparison->compared[comparison->count];
        *compared = (cli_compared){.name = name, .result.size = sizeof compared->result};
        comparison->budget.method = name;
        const nadir_status status =
            nadir_solver_baseline(run->context, solver, ball, &comparison->budget, &compared->result,
                                  &compared->points, &compared->count);
        if ((status == NADIR_ERROR_UNSUPPORTED || status == NADIR_ERROR_MEMORY) &&
            comparison->methods == NULL) {
            const size_t used = strlen(left_out);
            (void)snprintf(left_out + used, sizeof left_out - used, " %s", name);
            continue;
        }
        if (status != NADIR_OK) {
            return status;
        }
        comparison->count++;
    }
    if (left_out[0] != '\0') {
        cli_warn(run, "left out, as they do not know this ball or take no model of this size:%s", left_out);
    }
    return NADIR_OK;
}

static nadir_status solve(cli_run *run, nadir_model *model, const cli_setup *setup, const nadir_ball *ball,
                          cli_comparison *comparison)
{
    cli_input *input = &comparison->input;
    nadir_solver *solver = NULL;
    nadir_status status =
        cli_input_solver(run, model, input->policy_name, &setup->solver, input->policy_digest, &solver);
    if (status == NADIR_OK) {
        status = nadir_solver_robust(run->context, solver, ball, &setup->robust, &comparison->exact, NULL);
    }
    if (status == NADIR_OK) {
        status = compare_all(run, solver, ball, comparison);
    }
    nadir_solver_free(solver);
    return status;
}

static nadir_status check_files(cli_run *run, const nadir_read_settings *reading, const cli_ball *ball,
                                const cli_comparison *comparison)
{
    cli_files files = {0};
    cli_files_read_model(&files, comparison->input.model_path, reading);
    cli_files_read(&files, cli_policy_file(comparison->input.policy_name));
    cli_files_read_ball(&files, ball);
    cli_files_write(&files, comparison->csv_path);
    cli_files_write(&files, comparison->plot_path);
    const nadir_status status = cli_files_check(run, &files);
    return status == NADIR_OK ? cli_gnuplot_check(run, comparison->plot_path) : status;
}

static nadir_status compare(cli_run *run, cli_setup *setup, cli_comparison *comparison)
{
    cli_ball *asked = &setup->ball;
    nadir_model *model = NULL;
    nadir_ball ball;
    nadir_status status = check_list(run, comparison->methods);
    if (status == NADIR_OK) {
        status = check_files(run, &setup->reading, asked, comparison);
    }
    if (status == NADIR_OK) {
        status = cli_input_read(run, &setup->reading, &comparison->input, &model);
    }
    if (status == NADIR_OK) {
        status = cli_ball_get(run, model, asked, &ball);
    }
    if (status == NADIR_OK) {
        ball.domain = asked->domain >= 0 ? ball.domain : NADIR_DOMAIN_FREE;
        status = solve(run, model, setup, &ball, comparison);
    }
    if (status == NADIR_OK && comparison->csv_path != NULL) {
        status = cli_compare_write(run, comparison);
    }
    if (status == NADIR_OK && comparison->plot_path != NULL) {
        status = cli_compare_draw(run, comparison);
    }
    if (status == NADIR_OK) {
        cli_input_end(&comparison->input);
        if (cli_starts_json(run)) {
            print_json(run, comparison);
        } else {
            print_text(run, comparison);
        }
    }
    for (int i = 0; i < comparison->count; i++) {
        nadir_trajectory_free(run->context, comparison->compared[i].points);
    }
    cli_ball_clear(run, asked);
    cli_input_close(&comparison->input, model);
    return status;
}

static int compare_main(cli_run *run, int argc, char **argv)
{
    cli_setup setup = {0};
    cli_comparison comparison = {.exact.size = sizeof comparison.exact};
    int exit;
    cli_setup_default(&setup);
    nadir_baseline_settings_default(&comparison.budget);
    comparison.budget.seconds = NAN;
    comparison.budget.samples = INT64_MAX;
    cli_methods methods;
    cli_methods_list(&methods, "which ones, between commas (default: all that know the ball):");
    const cli_option own[] = {
        cli_policy_option(&comparison.input.policy_name),
        {"--time", CLI_NUMBER, "SECONDS", NULL, &comparison.budget.seconds,
         "what each method may take; inf where --samples is to decide"},
        {"--methods", CLI_TEXT, "LIST", NULL, &comparison.methods, methods.help},
        {"--samples", CLI_INTEGER, "N", NULL, &comparison.budget.samples,
         "and no more than N kernels or steps each (default: any number)"},
        {"--tolerance", CLI_NUMBER, "EPS", NULL, &comparison.budget.tolerance,
         "of the methods that converge, relative to the penalty (default 1e-9)"},
        {"--optimistic", CLI_FLAG, NULL, NULL, &comparison.budget.optimistic,
         "the best case instead of the worst"},
        {"--csv", CLI_TEXT, "FILE", NULL, &comparison.csv_path, "write what each method knew by when"},
        {"--plot", CLI_TEXT, "FILE", NULL, &comparison.plot_path, "draw that: .svg or .png (needs gnuplot)"},
        cli_backend_option(&setup.solver.backend),
        {0},
    };
    if (!cli_setup_parse(run, &cli_command_compare, argc, argv, own, about, &setup, &comparison.input,
                         &exit)) {
        return exit;
    }
    if (!cli_needed(run, "--policy FILE|uniform|optimal", comparison.input.policy_name != NULL) ||
        !cli_needed(run, "--time SECONDS", !isnan(comparison.budget.seconds))) {
        return CLI_EXIT_USAGE;
    }
    setup.robust.optimistic = comparison.budget.optimistic;
    nadir_status status = cli_open(run);
    if (status == NADIR_OK) {
        status = compare(run, &setup, &comparison);
    }
    return cli_close(run, status);
}

const cli_command cli_command_compare = {
    .name = "compare",
    .arguments = "MODEL",
    .summary = "every method for the worst kernel on the same problem, with the same time",
    .main = compare_main,
};
