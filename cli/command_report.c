/* command_report.c: nadir report: one page about one problem. */
#include "files.h"
#include "input.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char about[] =
    "One page for people about a model: the worst return of a policy as the model gets worse, beside that "
    "of\n"
    "the policy that does best in the worst case; who does the damage, where the two policies differ, what "
    "is\n"
    "assumed, what is proven, and the commands that print each number again. The page is one HTML file that\n"
    "fetches nothing, prints well, and has a slider for the radius.\n"
    "\n"
    "The radius in question is --radius, else the model's own, else 0.1 as an example.\n"
    "\n"
    "What is not found within --time is left out: the page says so, and the exit status is 5.\n"
    "\n"
    "Examples:\n"
    "  nadir report model.npz --out report.html\n"
    "  nadir report model.npz --policy mine.csv --radius 0.3 --domain support --out report.html\n"
    "  nadir report model.npz --radius 0.1 --radii 0:0.5:21 --time 600 --out report.html";

typedef struct report_run {
    cli_input input;
    const char *path;
    const char *policy;
    const char *radii_text;
    nadir_report_settings settings;
    char words[3][2 * CLI_WORDS_LENGTH]; /* of the settings: model with its options, policy, ball */
    nadir_report_result result;
} report_run;

static void print_json(const cli_run *run, const report_run *report)
{
    const nadir_report_result *result = &report->result;
    cli_json json;
    cli_input_json_start(&json, &report->input);
    cli_json_text(&json, "output", report->path);
    cli_json_integer(&json, "bytes", result->bytes);
    cli_json_double(&json, "radius", result->radius);
    cli_json_double(&json, "nominal_return", result->nominal_return);
    cli_json_double(&json, "robust_return", result->robust_return);
    cli_json_double(&json, "lower_bound", result->lower_bound);
    cli_json_bool(&json, "certified", result->certified);
    cli_json_double(&json, "optimum_nominal_return", result->optimum_nominal_return);
    cli_json_double(&json, "optimum_robust_return", result->optimum_robust_return);
    cli_json_double(&json, "optimum_lower_bound", result->optimum_lower_bound);
    cli_json_double(&json, "optimality_upper_bound", result->optimality_upper_bound);
    cli_json_bool(&json, "optimum_certified", result->optimum_certified);
    cli_json_integer(&json, "radii", result->radii);
    cli_json_integer(&json, "radii_proven", result->proven);
    cli_json_integer(&json, "left_out", result->left_out);
    cli_json_bool(&json, "time_ran_out", result->time_ran_out);
    cli_input_json(&json, &report->input);
    cli_json_object(&json, "seconds");
    cli_json_double(&json, "load", report->input.load_seconds);
    cli_json_double(&json, "total", report->input.total_seconds);
    cli_json_object_end(&json);
    cli_json_close(run, &json);
}

/* What is guaranteed of a worst return. */
static const char *say_floor(bool certified, double found, double bound, char text[64])
{
    char number[32];
    (void)snprintf(text, 64, "%s%s", certified ? "" : "at least ",
                   certified ? cli_short(found, number) : cli_short_down(bound, number));
    return text;
}

static void print_text(const report_run *report)
{
    const nadir_report_result *result = &report->result;
    char text[64];
    char number[2][32];
    cli_verdict_line("Report", "%s", report->path);
    if (!isnan(result->robust_return)) {
        cli_verdict_line("Worst case", "%s at radius %s   nominal %s",
                         say_floor(result->certified, result->robust_return, result->lower_bound, text),
                         cli_short(result->radius, number[0]), cli_short(result->nominal_return, number[1]));
    }
    if (!isnan(result->optimum_robust_return)) {
        cli_verdict_line("Robust", "%s   nominal %s",
                         say_floor(result->optimum_certified, result->optimum_robust_return,
                                   result->optimum_lower_bound, text),
                         cli_short(result->optimum_nominal_return, number[0]));
    }
    cli_block_line("policy", "%s", report->policy);
    cli_input_start(&report->input);
    cli_block_line("radii", "%" PRId64 ", proven at %" PRId64, result->radii, result->proven);
    if (result->left_out > 0) {
        cli_block_line("left out", "%" PRId64 " things, which the page names%s", result->left_out,
                       result->time_ran_out ? "; --time SECONDS gives more time" : "");
    }
}

static nadir_status check_files(cli_run *run, const nadir_read_settings *reading, const cli_ball *ball,
                                const report_run *report)
{
    cli_files files = {0};
    cli_files_read_model(&files, report->input.model_path, reading);
    cli_files_read(&files, cli_policy_file(report->policy));
    cli_files_read_ball(&files, ball);
    cli_files_write(&files, report->path);
    const nadir_status status = cli_files_check(run, &files);
    return status == NADIR_OK ? cli_files_check_folders(run, &files) : status;
}

/* The ball, whose radius may be missing. */
static nadir_status get_ball(cli_run *run, const nadir_model *model, cli_ball *asked, nadir_ball *ball)
{
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    const bool named = asked->radius_text != NULL || view.radius_count > 0;
    asked->radius_text = named ? asked->radius_text : "0.1";
    const nadir_status status = cli_ball_get(run, model, asked, ball);
    ball->radius = named ? ball->radius : NULL;
    return status;
}

/* The last part of a path. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* What the commands on the page call things. false: too long, and the page does with its own words. */
static bool take_words(const cli_run *run, const cli_ball *ball, report_run *report)
{
    char(*words)[2 * CLI_WORDS_LENGTH] = report->words;
    for (int i = 0; i < 3; i++) {
        words[i][0] = '\0';
    }
    if (run->words.lost || !cli_words_add(words[0], report->input.model_path) ||
        !cli_words_add(words[1], report->policy)) {
        return false;
    }
    const size_t used = strlen(words[0]);
    (void)snprintf(words[0] + used, sizeof words[0] - used, "%s", run->words.of_model);
    char norm[32];
    if (!isnan(ball->norm) &&
        (!cli_words_add(words[2], "--norm") || !cli_words_add(words[2], cli_number(ball->norm, norm)))) {
        return false;
    }
    if (ball->set >= 0 &&
        (!cli_words_add(words[2], "--set") ||
         !cli_words_add(words[2], nadir_set_name((nadir_set)(NADIR_SET_NONRECT + ball->set))))) {
        return false;
    }
    if (ball->domain >= 0 &&
        (!cli_words_add(words[2], "--domain") ||
         !cli_words_add(words[2], nadir_domain_name((nadir_domain)(NADIR_DOMAIN_SIMPLEX + ball->domain))))) {
        return false;
    }
    if (ball->radii != NULL &&
        (!cli_words_add(words[2], "--radius") || !cli_words_add(words[2], ball->radius_text))) {
        return false;
    }
    if (ball->scales_path != NULL &&
        (!cli_words_add(words[2], "--scales") || !cli_words_add(words[2], ball->scales_path))) {
        return false;
    }
    report->settings.model_words = words[0] + 1; /* after a space */
    report->settings.policy_words = words[1] + 1;
    report->settings.ball_words = words[2];
    return true;
}

static nadir_status write_report(cli_run *run, nadir_model *model, cli_ball *asked, report_run *report)
{
    nadir_policy *policy = NULL;
    nadir_ball ball;
    nadir_report_settings *settings = &report->settings;
    nadir_status status = get_ball(run, model, asked, &ball);
    if (status == NADIR_OK) {
        status = cli_input_policy(run, model, report->policy, NULL, report->input.policy_digest, &policy);
    }
    if (status == NADIR_OK) {
        settings->policy = policy;
        settings->policy_name = name_of(report->policy);
        settings->title = name_of(report->input.model_path);
        (void)take_words(run, asked, report);
        cli_progress_part(run, 0, 1);
        status = nadir_report_write(run->context, model, &ball, settings, report->path, &report->result);
    }
    nadir_policy_free(policy);
    return status;
}

static nadir_status make_report(cli_run *run, const nadir_read_settings *reading, cli_ball *asked,
                                report_run *report)
{
    nadir_model *model = NULL;
    nadir_status status = check_files(run, reading, asked, report);
    if (status == NADIR_OK && report->radii_text != NULL) {
        cli_radii radii;
        status = cli_radii_parse(run, "--radii", report->radii_text, &radii);
        report->settings.radii_first = radii.first;
        report->settings.radii_last = radii.last;
        report->settings.radii_count = radii.count;
    }
    if (status == NADIR_OK) {
        status = cli_input_read(run, reading, &report->input, &model);
    }
    if (status == NADIR_OK) {
        status = write_report(run, model, asked, report);
    }
    if (status == NADIR_OK) {
        cli_input_end(&report->input);
        if (cli_starts_json(run)) {
            print_json(run, report);
        } else {
            print_text(report);
        }
        if (report->result.time_ran_out) {
            status = cli_fail(run, NADIR_ERROR_NOT_CONVERGED,
                              "the time was up: the page says what is left out; --time "
                              "SECONDS gives more");
        }
    }
    cli_ball_clear(run, asked);
    cli_input_close(&report->input, model);
    return status;
}

static int report_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS] = {NULL};
    nadir_read_settings reading;
    nadir_read_settings_default(&reading);
    cli_ball ball = {0};
    report_run report = {.policy = "optimal", .result.size = sizeof report.result};
    nadir_report_settings_default(&report.settings);
    const cli_option own[] = {
        {"--out", CLI_TEXT, "PAGE", NULL, &report.path, "where to write the page: a file called .html"},
        cli_policy_option(&report.policy),
        {"--radii", CLI_TEXT, "LO:HI:N", NULL, &report.radii_text,
         "the radii of the curve: the first, the last, and how many there are, at\n"
         "most 101 (default: 11 from 0 to twice the radius)"},
        {"--time", CLI_NUMBER, "SECONDS", NULL, &report.settings.time_limit,
         "how long it may take, about (default 60; inf: until all is found)"},
        {0},
    };
    int exit;
    if (!cli_parse_model_command(run, &cli_command_report, argc, argv, own, &ball, 1, positionals, about,
                                 &reading, &exit)) {
        return exit;
    }
    report.input.model_path = positionals[0];
    report.input.policy_name = report.policy;
    if (!cli_needed(run, "--out PAGE", report.path != NULL)) {
        return CLI_EXIT_USAGE;
    }
    nadir_status status = cli_open(run);
    if (status == NADIR_OK) {
        status = make_report(run, &reading, &ball, &report);
    }
    return cli_close(run, status);
}

const cli_command cli_command_report = {
    .name = "report",
    .arguments = "MODEL",
    .summary = "one page for people: risk curve, attack, robust policy, what is proven",
    .main = report_main,
};
