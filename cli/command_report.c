/* command_report.c: nadir report: one page about one problem. */
#include "files.h"
#include "input.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
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
    "Instead of a model it takes a log, as nadir fit does: the policy is then chosen on the data, with what "
    "they\n"
    "promise of its return, and the radius is the one that the data support. --successors all|seen|FILE is "
    "then\n"
    "that of nadir fit.\n"
    "\n"
    "What is not found within --time is left out: the page says so, and the exit status is 5.\n"
    "\n"
    "Examples:\n"
    "  nadir report model.npz --out report.html\n"
    "  nadir report model.npz --policy mine.csv --radius 0.3 --domain support --out report.html\n"
    "  nadir report model.npz --radius 0.1 --radii 0:0.5:21 --time 600 --out report.html\n"
    "  nadir report log.csv --discount 0.95 --out report.html";

typedef struct report_run {
    cli_input input;
    const char *path;
    const char *policy_word; /* as given; NULL: not */
    const char *radii_text;
    nadir_fit_settings fitting; /* of a log */
    bool is_log;
    nadir_fit_result data;
    nadir_fit_return_result promise; /* guarantee NULL: there is none */
    nadir_report_settings settings;
    char words[3][2 * CLI_WORDS_LENGTH];    /* of the settings: model with its options, policy, ball */
    char preparation[4 * CLI_WORDS_LENGTH]; /* of the settings */
    nadir_report_result result;
} report_run;

static void print_json(const cli_run *run, const report_run *report)
{
    const nadir_report_result *result = &report->result;
    cli_json json;
    cli_input_json_start(&json, &report->input);
    cli_json_text(&json, "output", report->path);
    cli_json_integer(&json, "bytes", result->bytes);
    if (report->is_log) {
        cli_json_double(&json, "confidence", report->data.confidence);
        cli_json_double(&json, "guaranteed",
                        report->promise.guarantee != NULL ? report->promise.guaranteed : NAN);
    }
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
    if (report->promise.guarantee != NULL) {
        cli_verdict_line("Guaranteed", "%s with confidence %s   estimated %s",
                         cli_short_down(report->promise.guaranteed, number[0]),
                         cli_short(report->promise.confidence, number[1]),
                         cli_short(report->promise.nominal_return, text));
    }
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
    cli_block_line("policy", "%s", report->input.policy_name);
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
    cli_files_read(&files, report->policy_word != NULL ? cli_policy_file(report->policy_word) : NULL);
    cli_files_read(&files, report->fitting.successors);
    cli_files_read_ball(&files, ball);
    cli_files_write(&files, report->path);
    const nadir_status status = cli_files_check(run, &files);
    return status == NADIR_OK ? cli_files_check_folders(run, &files) : status;
}

/* The last part of a path. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Appends to the words of a setting, as far as there is room. */
static void add(char *words, size_t size, const char *text)
{
    const size_t used = strlen(words);
    (void)snprintf(words + used, size - used, "%s", text);
}

/* ------------------------------------------------------------------------------------------- of a model */

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

/* The options of the ball, but for a radius that is a number. */
static bool add_ball(const cli_ball *ball, char words[CLI_WORDS_LENGTH])
{
    char norm[32];
    const char *const given[][2] = {
        {"--norm", isnan(ball->norm) ? NULL : cli_norm(ball->norm, norm)},
        {"--set", ball->set < 0 ? NULL : nadir_set_name((nadir_set)((int)NADIR_SET_NONRECT + ball->set))},
        {"--domain", ball->domain < 0
                         ? NULL
                         : nadir_domain_name((nadir_domain)((int)NADIR_DOMAIN_SIMPLEX + ball->domain))},
        {"--radius", ball->radii != NULL ? ball->radius_text : NULL},
        {"--scales", ball->scales_path},
    };
    bool room = true;
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        if (given[i][1] != NULL) {
            room = room && cli_words_add(words, given[i][0]) && cli_words_add(words, given[i][1]);
        }
    }
    return room;
}

/* What the commands on the page call things. Where there is no room the page does with its own words. */
static void take_words(const cli_run *run, const cli_ball *ball, const char *policy, report_run *report)
{
    if (!run->words.lost && cli_words_add(report->words[0], report->input.model_path) &&
        cli_words_add(report->words[1], policy) && add_ball(ball, report->words[2])) {
        add(report->words[0], sizeof report->words[0], run->words.of_model);
        report->settings.model_words = report->words[0] + 1; /* after a space */
        report->settings.policy_words = report->words[1] + 1;
        report->settings.ball_words = report->words[2];
    }
}

static nadir_status write_of_model(cli_run *run, nadir_model *model, cli_ball *asked, report_run *report)
{
    nadir_policy *policy = NULL;
    nadir_ball ball;
    nadir_report_settings *settings = &report->settings;
    const char *word = report->policy_word != NULL ? report->policy_word : "optimal";
    nadir_status status = get_ball(run, model, asked, &ball);
    if (status == NADIR_OK) {
        report->input.policy_name = word;
        status = cli_input_policy(run, model, word, NULL, report->input.policy_digest, &policy);
    }
    if (status == NADIR_OK) {
        settings->policy = policy;
        settings->policy_name = strcmp(word, "optimal") == 0   ? NULL
                                : strcmp(word, "uniform") == 0 ? "the uniform policy"
                                                               : name_of(word);
        take_words(run, asked, word, report);
        status = nadir_report_write(run->context, model, &ball, settings, report->path, &report->result);
    }
    nadir_policy_free(policy);
    return status;
}

/* --------------------------------------------------------------------------------------------- of a log */

/* The policy of one's own, or the one that is chosen on the data, and what they promise of it. *probabilities: [rows],
 * owned; NULL: there is no promise, and no policy of one's own. */
static nadir_status find_promise(cli_run *run, report_run *report, double **probabilities)
{
    nadir_context *context = NULL; /* of its own, as nadir fit has it: draws use up the random stream */
    nadir_fit *fit = NULL;
    nadir_policy *given = NULL;
    nadir_policy *chosen = NULL;
    nadir_status status = cli_context_create(run, &context);
    if (status == NADIR_OK) {
        status = nadir_fit_read(context, report->input.model_path, &report->fitting, &fit);
    }
    const bool promises = status == NADIR_OK && strcmp(nadir_fit_promised(fit), "kernel") != 0;
    if (status == NADIR_OK && report->policy_word != NULL && strcmp(report->policy_word, "optimal") == 0 &&
        promises) {
        status = cli_fail(
            run, NADIR_ERROR_UNSUPPORTED,
            "--policy optimal is made from the same data: leave it out, and a policy is chosen on them");
    }
    if (status == NADIR_OK && report->policy_word != NULL) {
        nadir_model *nominal = nadir_fit_nominal(fit);
        status = strcmp(report->policy_word, "uniform") == 0
                     ? nadir_policy_create_uniform(context, nominal, &given)
                     : nadir_policy_read_columns(context, nominal, report->policy_word,
                                                 report->fitting.columns, &given);
    }
    if (status == NADIR_OK && promises) {
        status = nadir_fit_return(context, fit, given, &report->promise, &chosen, NULL);
    }
    const nadir_policy *policy = chosen != NULL ? chosen : given;
    if (status == NADIR_OK && policy != NULL) {
        nadir_model_data view;
        nadir_model_data_default(&view);
        nadir_model_view(nadir_fit_nominal(fit), &view);
        const size_t bytes = (size_t)view.rows * sizeof **probabilities;
        *probabilities = malloc(bytes);
        if (*probabilities == NULL) {
            status = NADIR_ERROR_MEMORY;
        } else {
            memcpy(*probabilities, nadir_policy_probabilities(policy), bytes);
        }
    }
    if (status != NADIR_OK && run->error[0] == '\0' && context != NULL) {
        (void)cli_fail(run, status, "%s", nadir_context_error(context));
    }
    nadir_policy_free(given);
    nadir_policy_free(chosen);
    nadir_fit_free(fit);
    nadir_context_free(context);
    return status;
}

/* The model whose ball holds the true kernel, its scales made for the policy. */
static nadir_status find_ball(cli_run *run, const cli_ball *asked, report_run *report,
                              const double *probabilities, nadir_model **model)
{
    nadir_fit *fit = NULL;
    nadir_policy *policy = NULL;
    nadir_fit_settings settings = report->fitting;
    settings.guarantee = "kernel";
    settings.norm = isnan(asked->norm) ? settings.norm : asked->norm;
    settings.set = asked->set >= 0 ? (nadir_set)((int)NADIR_SET_NONRECT + asked->set) : settings.set;
    nadir_status status = nadir_fit_read(run->context, report->input.model_path, &settings, &fit);
    if (status == NADIR_OK && probabilities != NULL) {
        status = nadir_policy_create(run->context, nadir_fit_nominal(fit), probabilities, &policy);
    }
    if (status == NADIR_OK) {
        status = nadir_fit_model(run->context, fit, policy, &report->data, model);
    }
    nadir_policy_free(policy);
    nadir_fit_free(fit);
    return status;
}

/* The commands that make model and policy. */
static void take_fit_words(const cli_run *run, const cli_ball *asked, bool promised, report_run *report)
{
    char log[CLI_WORDS_LENGTH] = "";
    char ball[CLI_WORDS_LENGTH] = "";
    char given[CLI_WORDS_LENGTH] = "";
    const size_t size = sizeof report->preparation;
    report->settings.model_words = "model.npz";
    report->settings.policy_words = promised ? "policy.csv" : "optimal";
    report->settings.ball_words = "";
    if (run->words.lost || !cli_words_add(log, report->input.model_path) || !add_ball(asked, ball) ||
        (report->policy_word != NULL &&
         !(cli_words_add(given, "--policy") && cli_words_add(given, report->policy_word)))) {
        return;
    }
    const char *const lines[] = {"nadir fit", log, run->words.of_model, given, " --policy-out policy.csv\n"};
    for (size_t i = 0; promised && i < sizeof lines / sizeof lines[0]; i++) {
        add(report->preparation, size, lines[i]);
    }
    const char *const last[] = {"nadir fit",
                                log,
                                run->words.of_model,
                                ball,
                                promised ? " --policy policy.csv" : "",
                                " --guarantee kernel --out model.npz"};
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++) {
        add(report->preparation, size, last[i]);
    }
    report->settings.preparation = report->preparation;
}

static nadir_status write_of_log(cli_run *run, const cli_ball *asked, report_run *report, nadir_model **model)
{
    nadir_report_settings *settings = &report->settings;
    double *probabilities = NULL;
    nadir_policy *policy = NULL;
    if (asked->radius_text != NULL || asked->scales_path != NULL || asked->domain >= 0) {
        return cli_fail(run, NADIR_ERROR_UNSUPPORTED, "%s: of a log the data tell; leave it out%s",
                        asked->radius_text != NULL   ? "--radius"
                        : asked->scales_path != NULL ? "--scales"
                                                     : "--domain",
                        asked->domain >= 0 ? ", or take --successors" : "");
    }
    if (isnan(report->fitting.discount)) {
        return cli_fail(run, NADIR_ERROR_ARGUMENT, "--discount GAMMA is needed: a log has none");
    }
    nadir_status status = find_promise(run, report, &probabilities);
    if (status == NADIR_OK) {
        status = find_ball(run, asked, report, probabilities, model);
    }
    if (status == NADIR_OK && probabilities != NULL) {
        status = nadir_policy_create(run->context, *model, probabilities, &policy);
    }
    if (status == NADIR_OK) {
        const bool own = report->policy_word != NULL;
        report->input.policy_name = own              ? report->policy_word
                                    : policy != NULL ? "chosen on the data"
                                                     : "optimal";
        nadir_model_view(*model, &report->input.view);
        report->input.rewards = cli_rewards_get(*model);
        (void)cli_start_words(*model, report->input.start);
        settings->policy = policy;
        settings->policy_name = own              ? name_of(report->policy_word)
                                : policy != NULL ? "the policy chosen on the data"
                                                 : NULL;
        settings->data = &report->data;
        settings->promise = report->promise.guarantee != NULL ? &report->promise : NULL;
        take_fit_words(run, asked, policy != NULL, report);
        status = nadir_report_write(run->context, *model, NULL, settings, report->path, &report->result);
    }
    if (status == NADIR_OK) {
        status = cli_model_digest(run, *model, report->input.model_digest.text);
    }
    free(probabilities);
    nadir_policy_free(policy);
    return status;
}

/* -------------------------------------------------------------------------------------------- whichever */

/* Whether a file that is no model is a log. */
static bool is_log(cli_run *run, const report_run *report)
{
    nadir_context *context = NULL;
    nadir_fit *fit = NULL;
    const nadir_status status =
        cli_context_create(run, &context) == NADIR_OK
            ? nadir_fit_read(context, report->input.model_path, &report->fitting, &fit)
            : NADIR_ERROR_MEMORY;
    nadir_fit_free(fit);
    nadir_context_free(context);
    return status == NADIR_OK;
}

static nadir_status read_and_write(cli_run *run, const nadir_read_settings *reading, cli_ball *asked,
                                   report_run *report, nadir_model **model)
{
    report->settings.title = name_of(report->input.model_path);
    nadir_status status = cli_input_read(run, reading, &report->input, model);
    const bool by_word = report->fitting.successors != NULL && reading->successors == NULL; /* all, seen */
    if (status == NADIR_OK && (report->fitting.columns != NULL || by_word || report->fitting.ragged ||
                               !isnan(report->fitting.confidence))) {
        status = cli_fail(run, NADIR_ERROR_UNSUPPORTED, "%s for a log; %s is a model",
                          by_word ? "--successors all|seen is" : "--columns, --ragged and --confidence are",
                          report->input.model_path);
    }
    if (status == NADIR_OK) {
        return write_of_model(run, *model, asked, report);
    }
    nadir_fit_settings standard;
    nadir_fit_settings_default(&standard);
    report->fitting.confidence =
        isnan(report->fitting.confidence) ? standard.confidence : report->fitting.confidence;
    report->is_log = *model == NULL && status == NADIR_ERROR_FORMAT && is_log(run, report);
    return report->is_log ? write_of_log(run, asked, report, model) : status;
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
    cli_progress_part(run, 0, 1);
    if (status == NADIR_OK) {
        status = read_and_write(run, reading, asked, report, &model);
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
                              "the time was up: the page says what is left out; --time SECONDS gives more");
        }
    }
    cli_ball_clear(run, asked);
    cli_input_close(&report->input, model);
    return status;
}

/* A log is read with the words for a model that mean the same. Of a log, --successors may also be a word. */
static void take_reading(nadir_read_settings *reading, nadir_fit_settings *fitting)
{
    fitting->successors = reading->successors;
    if (reading->successors != NULL &&
        (strcmp(reading->successors, "all") == 0 || strcmp(reading->successors, "seen") == 0)) {
        reading->successors = NULL;
    }
    fitting->discount = reading->discount;
    fitting->initial = reading->initial;
    fitting->costs = reading->costs;
    fitting->frozen_rewards = reading->frozen_rewards;
    fitting->unseen = reading->unseen;
    fitting->unseen_value = reading->unseen_value;
}

static int report_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS] = {NULL};
    nadir_read_settings reading;
    nadir_read_settings_default(&reading);
    cli_ball ball = {0};
    report_run report = {.data.size = sizeof report.data,
                         .promise.size = sizeof report.promise,
                         .result.size = sizeof report.result};
    nadir_fit_settings *fitting = &report.fitting;
    nadir_fit_settings_default(fitting);
    fitting->confidence = NAN;
    nadir_report_settings_default(&report.settings);
    const cli_option own[] = {
        {"--out", CLI_TEXT, "PAGE", NULL, &report.path, "where to write the page: a file called .html"},
        {"--policy", CLI_TEXT, "POLICY", NULL, &report.policy_word,
         "a file (.csv or .npy), uniform, or optimal: the best one for the nominal\n"
         "kernel (default: optimal; of a log: chosen on the data)"},
        {"--radii", CLI_TEXT, "LO:HI:N", NULL, &report.radii_text,
         "the radii of the curve: the first, the last, and how many there are, at\n"
         "most 101 (default: 11 from 0 to twice the radius)"},
        {"--time", CLI_NUMBER, "SECONDS", NULL, &report.settings.time_limit,
         "how long it may take, about (default 60; inf: until all is found)"},
        {0},
    };
    const cli_option of_log[] = {
        {"--confidence", CLI_NUMBER, "C", NULL, &fitting->confidence,
         "of what the data promise, 0 < C < 1 (default 0.95)"},
        {"--columns", CLI_TEXT, "state=NAME,...", NULL, &fitting->columns,
         "what columns are called, as for nadir fit"},
        {"--ragged", CLI_FLAG, NULL, NULL, &fitting->ragged,
         "each state has the actions up to the largest seen there"},
        {0},
    };
    int exit;
    if (!cli_parse_model_and_log(run, &cli_command_report, argc, argv, own, of_log, &ball, 1, positionals,
                                 about, &reading, &exit)) {
        return exit;
    }
    report.input.model_path = positionals[0];
    take_reading(&reading, fitting);
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
    .arguments = "MODEL|LOG",
    .summary = "one page for people: risk curve, attack, robust policy, what is proven",
    .main = report_main,
};
