/* command_verify.c: nadir verify: a saved worst kernel and its bounds, checked again without searching. */
#include "input.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>

static const char about[] =
    "Checks the files that nadir evaluate wrote against the model and the policy, without searching: that "
    "no\n"
    "byte of them changed, that they are about this model and this policy, that the kernel lies in its "
    "ball,\n"
    "what its return is, and that no kernel of the ball does worse, by the proof that the witness names.\n"
    "Without a witness: the kernel alone. Says what holds and what fails; exit status 8 if anything fails.\n"
    "\n"
    "--discount, --initial, --costs, --frozen-rewards, --unseen and the like must be given as they were to "
    "nadir\n"
    "evaluate.\n"
    "\n"
    "Examples:\n"
    "  nadir evaluate model.npz --policy uniform --radius 0.1 --kernel worst.npz --witness worst.json\n"
    "  nadir verify model.npz --policy uniform --kernel worst.npz --witness worst.json";

typedef struct verify_report {
    cli_input input;
    nadir_verify_settings settings;
    bool other_files;
    nadir_verify_result result;
} verify_report;

static void print_checks(cli_json *json, const nadir_verification *made)
{
    const nadir_verify_check *check;
    cli_json_array(json, "checks");
    for (int64_t i = 0; (check = nadir_verification_check(made, i)) != NULL; i++) {
        cli_json_object(json, NULL);
        cli_json_text(json, "name", check->name);
        cli_json_bool(json, "holds", check->holds);
        cli_json_text(json, "detail", check->detail);
        cli_json_object_end(json);
    }
    cli_json_array_end(json);
}

static void print_json(const cli_run *run, const verify_report *report, const nadir_verification *made)
{
    const nadir_verify_result *result = &report->result;
    cli_json json;
    cli_input_json_start(&json, &report->input);
    cli_json_text(&json, "kernel", report->settings.kernel);
    cli_json_text(&json, "witness", report->settings.witness);
    cli_json_bool(&json, "verified", result->verified);
    print_checks(&json, made);
    cli_json_text(&json, "set", nadir_set_name(result->set));
    cli_json_norm(&json, "norm", result->norm);
    cli_json_double(&json, "radius", result->radius);
    cli_json_text(&json, "domain", nadir_domain_name(result->domain));
    cli_json_bool(&json, "optimistic", result->optimistic);
    cli_json_bool(&json, "scaled", result->scaled);
    cli_json_double(&json, "nominal_return", result->nominal_return);
    cli_json_double(&json, "return_low", result->return_low);
    cli_json_double(&json, "return_high", result->return_high);
    cli_json_double(&json, "lower_bound", result->optimistic ? result->return_low : result->bound_proven);
    cli_json_double(&json, "upper_bound", result->optimistic ? result->bound_proven : result->return_high);
    cli_json_text(&json, "certificate", result->certificate);
    cli_input_json(&json, &report->input);
    cli_json_close(run, &json);
}

static void print_text(const cli_run *run, const verify_report *report, const nadir_verification *made)
{
    const nadir_verify_check *check;
    const nadir_verify_result *result = &report->result;
    const bool good = result->verified;
    char number[2][32];
    char text[160];
    cli_verdict_line(good ? "Verified" : "NOT VERIFIED", "%s%s%s   the kernel of %s returns %s",
                     cli_emphasis_start(good ? CLI_GOOD : CLI_BAD), good ? "all holds" : "see what fails",
                     cli_emphasis_start(CLI_PLAIN), report->settings.kernel,
                     cli_short(result->return_low, number[0]));
    if (good && report->settings.witness != NULL && isfinite(result->bound_proven)) {
        cli_verdict_line(
            "Proven", "no kernel of the ball returns %s than %s", result->optimistic ? "more" : "less",
            (result->optimistic ? cli_short_up : cli_short_down)(result->bound_proven, number[1]));
    }
    cli_block_line("policy", "%s", report->input.policy_name);
    if (!isnan(result->radius)) {
        cli_block_line(
            "ball", "%s%s%s", cli_ball_words(result->radius, result->norm, result->set, result->domain, text),
            result->scaled ? "; rows with scales" : "", result->optimistic ? "; the best case" : "");
    }
    cli_rewards_text(&report->input.rewards, result->domain, "rewards   ");
    int64_t holds = 0;
    int64_t all = 0;
    for (; (check = nadir_verification_check(made, all)) != NULL; all++) {
        holds += check->holds;
        if (!check->holds || run->verbose) {
            printf("  %s: %s\n", check->holds ? "holds" : "fails", check->detail);
        }
    }
    cli_block_line("checks", "%" PRId64 " of %" PRId64 " hold", holds, all);
    if (report->settings.witness == NULL) {
        cli_block_line("witness", "none was given: nothing is known of other kernels of the ball");
    }
}

static nadir_status verify(cli_run *run, const nadir_read_settings *reading, verify_report *report)
{
    nadir_context *context = run->context;
    cli_input *input = &report->input;
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_verification *made = NULL;
    if (!report->other_files) {
        report->settings.model_file = input->model_path;
        report->settings.policy_file = cli_policy_file(input->policy_name);
    }
    nadir_status status = cli_input_read(run, reading, input, &model);
    if (status == NADIR_OK) {
        status = cli_input_policy(run, model, input->policy_name, report->settings.backend,
                                  input->policy_digest, &policy);
    }
    if (status == NADIR_OK) {
        status = nadir_verify(context, model, policy, &report->settings, &report->result, &made);
    }
    if (made != NULL) {
        cli_input_end(input);
        if (cli_starts_json(run)) {
            print_json(run, report, made);
        } else {
            print_text(run, report, made);
        }
    }
    nadir_verification_free(made);
    nadir_policy_free(policy);
    cli_input_close(input, model);
    return status;
}

static int verify_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS];
    nadir_read_settings reading;
    nadir_read_settings_default(&reading);
    verify_report report = {.result.size = sizeof report.result};
    nadir_verify_settings_default(&report.settings);
    const cli_option own[] = {
        cli_policy_option(&report.input.policy_name),
        {"--kernel", CLI_TEXT, "FILE", NULL, &report.settings.kernel,
         "the kernel, .npz, as nadir evaluate wrote it"},
        {"--witness", CLI_TEXT, "FILE", NULL, &report.settings.witness,
         "the numbers that prove its bounds (default: the kernel alone)"},
        {"--other-files", CLI_FLAG, NULL, NULL, &report.other_files,
         "model and policy may be in other files than those of the evaluation, as\n"
         "long as their numbers are the same"},
        cli_backend_option(&report.settings.backend),
        {0},
    };
    int exit;
    if (!cli_parse_model_command(run, &cli_command_verify, argc, argv, own, NULL, 1, positionals, about,
                                 &reading, &exit)) {
        return exit;
    }
    if (!cli_needed(run, "--policy FILE|uniform|optimal", report.input.policy_name != NULL) ||
        !cli_needed(run, "--kernel FILE", report.settings.kernel != NULL)) {
        return CLI_EXIT_USAGE;
    }
    report.input.model_path = positionals[0];
    nadir_status status = cli_open(run);
    if (status == NADIR_OK) {
        status = verify(run, &reading, &report);
    }
    return cli_close(run, status);
}

const cli_command cli_command_verify = {
    .name = "verify",
    .arguments = "MODEL",
    .summary = "a saved worst kernel and its bounds, checked again without searching",
    .main = verify_main,
};
