/* run.c: what surrounds every subcommand: common options, context, messages, the end; see cli.h. */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

cli_option_group cli_common_options(cli_run *run, cli_option storage[CLI_COMMON_OPTIONS])
{
    const cli_option options[CLI_COMMON_OPTIONS] = {
        {"--json", CLI_FLAG, NULL, NULL, &run->json, "print one JSON object instead of text"},
        {"--verbose", CLI_FLAG, NULL, NULL, &run->verbose, "all digits, bounds, methods and times"},
        {"--quiet", CLI_FLAG, NULL, NULL, &run->quiet, "no warnings, notices or progress on stderr"},
        {"--help", CLI_FLAG, NULL, NULL, &run->help, "show this"},
        {"--help-all", CLI_FLAG, NULL, NULL, &run->help_all, "show all options"},
        CLI_RARE,
        {"--threads", CLI_INTEGER, "N", NULL, &run->threads, "use N threads (default: all processors)"},
        {"--seed", CLI_SEED, "N", NULL, &run->seed, "seed of everything random (default 0)"},
        {0},
    };
    memcpy(storage, options, sizeof options);
    return (cli_option_group){"Common options", storage, CLI_ABOUT_COMMAND};
}

/* Says what went wrong, on stderr and, if asked for, as the JSON object. */
static void report(const cli_run *run, nadir_status status, const char *sentence)
{
    fprintf(stderr, "nadir %s: %s\n", run->command, sentence);
    if (run->json && !run->answered) {
        cli_json json;
        cli_json_start(&json, stdout);
        cli_json_text(&json, "error", sentence);
        cli_json_text(&json, "status", nadir_status_name(status));
        cli_json_integer(&json, "exit_code", (int)status / 10);
        cli_json_close(run, &json);
    }
}

/* Whether a word is among the options. */
static bool is_given(int argc, char **argv, const char *word)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], word) == 0) {
            return true;
        }
    }
    return false;
}

bool cli_parse(cli_run *run, const cli_command *command, int argc, char **argv,
               const cli_option_group *groups, int wanted, const char *positionals[CLI_POSITIONALS],
               const char *about, int *exit)
{
    /* --help wins over anything else that is there or missing. */
    const bool all = is_given(argc, argv, "--help-all");
    if (all || is_given(argc, argv, "--help") || is_given(argc, argv, "-h")) {
        printf("Usage: nadir %s %s [OPTION]...\n%s\n", command->name, command->arguments, about);
        cli_options_help(groups, all);
        if (!all) {
            printf("\n'nadir %s --help-all' shows all options.\n", command->name);
        }
        *exit = CLI_EXIT_DONE;
        return false;
    }
    char reason[CLI_REASON_LENGTH];
    bool good =
        cli_options_parse(argc, argv, groups, command->arguments, wanted, positionals, &run->words, reason);
    if (good && run->threads > INT32_MAX) {
        (void)snprintf(reason, sizeof reason, "--threads: at most %d", INT32_MAX);
        good = false;
    }
    if (!good) {
        run->json = is_given(argc, argv, "--json"); /* it may stand after what is wrong */
        report(run, NADIR_ERROR_ARGUMENT, reason);
        fprintf(stderr, "Try 'nadir %s --help'.\n", command->name);
        *exit = CLI_EXIT_USAGE;
    }
    return good;
}

bool cli_wrong(const cli_run *run, const char *reason)
{
    report(run, NADIR_ERROR_ARGUMENT, reason);
    fprintf(stderr, "Try 'nadir %s --help'.\n", run->command);
    return false;
}

bool cli_needed(const cli_run *run, const char *option, bool given)
{
    char reason[CLI_REASON_LENGTH];
    (void)snprintf(reason, sizeof reason, "%s is needed", option);
    return given || cli_wrong(run, reason);
}

static void keep_warning(cli_run *run, const char *message)
{
    const size_t length = strlen(message) + 1;
    cli_warning *made = malloc(sizeof *made + length);
    if (made == NULL) { /* the message is still on stderr */
        return;
    }
    made->next = NULL;
    memcpy(made->text, message, length);
    *(run->warnings_last != NULL ? &run->warnings_last->next : &run->warnings) = made;
    run->warnings_last = made;
}

static void show_message(void *user, nadir_log_level level, const char *message)
{
    cli_run *run = user;
    if (level == NADIR_LOG_WARNING) {
        keep_warning(run, message);
    }
    if (!run->quiet && level <= NADIR_LOG_NOTICE) {
        cli_progress_clear(run);
        fprintf(stderr, "nadir: %s%s\n", level == NADIR_LOG_WARNING ? "warning: " : "", message);
    }
}

void cli_warn(cli_run *run, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    show_message(run, NADIR_LOG_WARNING, message);
}

cli_option cli_engine_option(cli_run *run)
{
    return (cli_option){"--engine",
                        CLI_TEXT,
                        "NAME",
                        NULL,
                        &run->engine_name,
                        "petsc: the model is spread over the processes of 'mpirun -n N nadir ...'\n"
                        "(docs/scaling.md says what is possible then); cuda: linear systems and\n"
                        "products with the kernel on an NVIDIA GPU (docs/gpu.md); none: the\n"
                        "processor alone (default)"};
}

cli_option cli_engine_options_option(cli_run *run)
{
    return (cli_option){"--petsc",
                        CLI_TEXT,
                        "OPTIONS",
                        NULL,
                        &run->engine_options,
                        "options for PETSc, in one word: '-ksp_type gmres -log_view'"};
}

bool cli_speaks(const cli_run *run)
{
    return run->engine == NULL || nadir_engine_rank(run->engine) == 0;
}

/* All processes do the same; one of them prints. */
static nadir_status open_engine(cli_run *run)
{
    const nadir_status status = nadir_engine_open(run->context, run->engine_name, run->engine_options,
                                                  run->threads == 0, &run->engine);
    if (status == NADIR_OK && !cli_speaks(run) && freopen("/dev/null", "w", stdout) == NULL) {
        return cli_fail(run, NADIR_ERROR_IO, "standard output cannot be closed");
    }
    run->quiet = run->quiet || !cli_speaks(run);
    return status;
}

nadir_status cli_context_create(cli_run *run, nadir_context **context)
{
    nadir_context_settings settings;
    nadir_context_settings_default(&settings);
    settings.log = show_message;
    settings.log_user = run;
    settings.progress = cli_progress;
    settings.progress_user = run;
    settings.seed = run->seed;
    settings.threads = (int32_t)run->threads;
    return nadir_context_create(&settings, context);
}

nadir_status cli_open(cli_run *run)
{
    cli_catch_interrupts();
    const nadir_status status = cli_context_create(run, &run->context);
    const bool wanted = run->engine_name != NULL && strcmp(run->engine_name, "none") != 0;
    return status == NADIR_OK && wanted ? open_engine(run) : status;
}

nadir_status cli_fail(cli_run *run, nadir_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(run->error, sizeof run->error, format, arguments);
    va_end(arguments);
    return status;
}

int cli_close(cli_run *run, nadir_status status)
{
    cli_progress_clear(run);
    if (status != NADIR_OK) {
        const char *detail = run->context != NULL ? nadir_context_error(run->context) : "";
        const char *said = *run->error != '\0' ? run->error : detail;
        const char *sentence = *said != '\0' ? said : nadir_status_sentence(status);
        if (cli_speaks(run)) {
            report(run, status, sentence);
        } else { /* the first process says the same, unless this one fails alone */
            (void)snprintf(run->error, sizeof run->error, "%s", sentence);
        }
    }
    for (cli_warning *warning = run->warnings; warning != NULL;) {
        cli_warning *next = warning->next;
        free(warning);
        warning = next;
    }
    (void)fflush(stdout); /* the engine may end the process */
    nadir_engine_close(run->engine, (int)status / 10, run->error);
    nadir_context_free(run->context);
    return (int)status / 10;
}

bool cli_starts_json(cli_run *run)
{
    cli_progress_clear(run);
    run->answered = run->json;
    return run->json;
}

void cli_json_close(const cli_run *run, cli_json *json)
{
    cli_json_array(json, "warnings");
    for (const cli_warning *warning = run->warnings; warning != NULL; warning = warning->next) {
        cli_json_text(json, NULL, warning->text);
    }
    cli_json_array_end(json);
    cli_json_end(json);
}

const char *cli_number(double value, char text[32])
{
    (void)nadir_format_double(value, text);
    return text;
}
