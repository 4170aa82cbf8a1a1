/* command_solve.c: nadir solve: the ordinary optimum of a model. */
#include "files.h"
#include "horizon.h"
#include "input.h"
#include "verdict.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "The best policy for the kernel as it stands, with no uncertainty, and its return. The policy is\n"
    "deterministic; --out writes it as CSV, or as .npy if the name ends so.\n"
    "\n"
    "The optimum lies between the bounds, whatever the rounding; the policy does at least as well as the "
    "lower\n"
    "one. When the limit of iterations is reached the best policy so far is written, and the exit status is "
    "5.\n"
    "\n"
    "Examples:\n"
    "  nadir solve model.npz\n"
    "  nadir solve model.npz --out policy.csv";

typedef struct solve_report {
    cli_input input; /* its policy is the file to write; NULL: none */
    nadir_optimum_result result;
    int64_t horizon; /* -1: none */
} solve_report;

static void print_json(const cli_run *run, const solve_report *report)
{
    const nadir_optimum_result *result = &report->result;
    cli_json json;
    cli_input_json_start(&json, &report->input);
    cli_json_double(&json, "nominal_optimum", result->nominal_optimum);
    cli_json_double(&json, "lower_bound", result->lower_bound);
    cli_json_double(&json, "upper_bound", result->upper_bound);
    cli_json_double(&json, "gap", result->upper_bound - result->lower_bound);
    cli_json_text(&json, "stop_reason", result->stop_reason);
    cli_json_double(&json, "residual", result->residual);
    cli_json_integer(&json, "iterations", result->iterations);
    cli_json_integer(&json, "sweeps", result->sweeps);
    cli_json_integer(&json, "solves", result->solves);
    cli_json_integer(&json, "products", result->products);
    cli_json_text(&json, "backend", result->backend);
    if (report->horizon > 0) {
        cli_json_integer(&json, "horizon", report->horizon);
    }
    cli_input_json(&json, &report->input);
    cli_json_object(&json, "seconds");
    cli_json_double(&json, "load", report->input.load_seconds);
    cli_json_double(&json, "solve", result->seconds);
    cli_json_double(&json, "total", report->input.total_seconds);
    cli_json_object_end(&json);
    cli_json_close(run, &json);
}

static void print_text(const cli_run *run, const nadir_model *model, const nadir_policy *policy,
                       const solve_report *report)
{
    const nadir_optimum_result *result = &report->result;
    char number[32];
    char further[CLI_WORDS_LENGTH + 96] = " --policy optimal --radius 0.1";
    char path[CLI_WORDS_LENGTH] = "";
    if (report->input.policy_name != NULL && cli_words_add(path, report->input.policy_name)) {
        (void)snprintf(further, sizeof further, " --policy%s --radius 0.1", path);
    }
    if (report->horizon > 0) {
        const size_t used = strlen(further);
        (void)snprintf(further + used, sizeof further - used, " --horizon %" PRId64, report->horizon);
    }
    cli_verdict_line("Optimum", "%s   without uncertainty", cli_short(result->nominal_optimum, number));
    if (report->input.view.discount < 1 ||
        report->horizon > 0) { /* else a ball of this radius may hold kernels that never end */
        cli_next(run, "evaluate", report->input.model_path, false, further);
    }
    if (report->input.policy_name != NULL) {
        cli_block_line("policy", "written to %s", report->input.policy_name);
    } else {
        cli_policy_head(model, policy);
    }
    if (!run->verbose) {
        return;
    }
    putchar('\n');
    printf("  optimum        %s\n", cli_number(result->nominal_optimum, number));
    printf("  lower bound    %s\n", cli_number(result->lower_bound, number));
    printf("  upper bound    %s\n", cli_number(result->upper_bound, number));
    printf("  iterations     %" PRId64 ", %" PRId64 " sweeps over all rows (%s)\n", result->iterations,
           result->sweeps, result->stop_reason);
    printf("  backend        %s\n", result->backend != NULL ? result->backend : "none was needed");
    printf("  seconds        %.3g\n", result->seconds);
}

/* Policy and numbers of a search that ended, at the optimum or at the limit. policy NULL: it is written. */
static nadir_status report_result(cli_run *run, const nadir_model *model, const nadir_policy *policy,
                                  solve_report *report)
{
    cli_input *input = &report->input;
    nadir_status status = input->policy_name != NULL && policy != NULL
                              ? nadir_policy_write(run->context, model, policy, input->policy_name)
                              : NADIR_OK;
    if (status == NADIR_OK && policy != NULL) {
        status = cli_policy_digest(run, policy, input->policy_digest);
    }
    if (status == NADIR_OK) {
        cli_input_end(input);
        if (cli_starts_json(run)) {
            print_json(run, report);
        } else {
            print_text(run, model, policy, report);
        }
    }
    return status;
}

/* The best policies by time step. */
static nadir_status solve_horizon(cli_run *run, const nadir_read_settings *reading, solve_report *report)
{
    nadir_model *model = NULL;
    nadir_policy **policies = calloc((size_t)report->horizon, sizeof(nadir_policy *));
    nadir_status status =
        policies == NULL ? NADIR_ERROR_MEMORY : cli_input_read(run, reading, &report->input, &model);
    if (status == NADIR_OK) {
        status = nadir_horizon_optimum(run->context, model, report->horizon, policies, &report->result);
    }
    if (status == NADIR_OK) {
        status = nadir_policy_write_steps(run->context, model, report->horizon,
                                          (const nadir_policy *const *)policies, report->input.policy_name);
    }
    if (status == NADIR_OK) {
        status = report_result(run, model, NULL, report);
    }
    cli_policies_free(policies, report->horizon);
    cli_input_close(&report->input, model);
    return status;
}

static nadir_status solve(cli_run *run, const nadir_read_settings *reading,
                          const nadir_optimum_settings *settings, solve_report *report)
{
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_status status = cli_input_read(run, reading, &report->input, &model);
    if (status == NADIR_OK) {
        status = nadir_optimum(run->context, model, settings, &policy, &report->result);
    }
    if (policy != NULL) {
        char reached[512];
        (void)snprintf(reached, sizeof reached, "%s", nadir_context_error(run->context));
        const nadir_status told = report_result(run, model, policy, report);
        if (told != NADIR_OK) {
            status = told;
        } else if (status != NADIR_OK) {
            (void)cli_fail(run, status, "%s", reached);
        }
    }
    nadir_policy_free(policy);
    cli_input_close(&report->input, model);
    return status;
}

static int solve_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS];
    nadir_read_settings reading;
    nadir_optimum_settings settings;
    nadir_read_settings_default(&reading);
    nadir_optimum_settings_default(&settings);
    solve_report report = {.result.size = sizeof report.result, .horizon = -1};
    const cli_option own[] = {
        {"--out", CLI_TEXT, "POLICY", NULL, &report.input.policy_name,
         "where to write the policy (default: the first states are printed)"},
        CLI_RARE,
        {"--tolerance", CLI_NUMBER, "EPS", NULL, &settings.tolerance,
         "how well the optimum of every state is to be known, relative to the\n"
         "largest (default 1e-9)"},
        {"--iterations", CLI_INTEGER, "N", NULL, &settings.iterations_limit,
         "policies that may be tried (default 10000)"},
        {"--horizon", CLI_INTEGER, "H", NULL, &report.horizon,
         "the best policies for H steps, one for each, by backward induction, written\n"
         "as .npy (H, S, A); --discount may be 1"},
        cli_backend_option(&settings.backend),
        {0},
    };
    int exit;
    if (!cli_parse_model_command(run, &cli_command_solve, argc, argv, own, NULL, 1, positionals, about,
                                 &reading, &exit)) {
        return exit;
    }
    static const char *const infinite[] = {"--backend", NULL};
    const bool used[] = {settings.backend != NULL};
    if (!cli_horizon_check(run, report.horizon, infinite, used) ||
        (report.horizon > 0 && !cli_needed(run, "--out POLICY.npy", report.input.policy_name != NULL))) {
        return CLI_EXIT_USAGE;
    }
    report.input.model_path = positionals[0];
    cli_files files = {0};
    cli_files_read_model(&files, positionals[0], &reading);
    cli_files_write(&files, report.input.policy_name);
    nadir_status status = cli_files_check(run, &files);
    if (status == NADIR_OK) {
        status = cli_open(run);
    }
    if (status == NADIR_OK) {
        reading.total = !(report.horizon > 0);
        status = report.horizon > 0 ? solve_horizon(run, &reading, &report)
                                    : solve(run, &reading, &settings, &report);
    }
    return cli_close(run, status);
}

const cli_command cli_command_solve = {
    .name = "solve",
    .arguments = "MODEL",
    .summary = "the ordinary optimum: the best policy without uncertainty",
    .main = solve_main,
};
