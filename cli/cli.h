/*
 * cli.h: what the subcommands share.
 *
 * A subcommand is one file with one `cli_command`. Results go to stdout, everything else to stderr; with
 * --json stdout holds one JSON object and nothing else, an error object if the command failed.
 */
#ifndef NADIR_CLI_CLI_H
#define NADIR_CLI_CLI_H

#include "json.h"
#include "nadir.h"
#include "options.h"

/* Exit statuses beside those that follow from a nadir_status. */
enum { CLI_EXIT_DONE = 0, CLI_EXIT_USAGE = 2, CLI_EXIT_IO = 6 };

/* A list of warnings, in order. */
typedef struct cli_warning {
    struct cli_warning *next;
    char text[];
} cli_warning;

/* How much of the work is done: it only grows. */
typedef struct cli_bar {
    double share;       /* that is shown */
    bool whole;         /* shares that are told fill [first, last]; else each new task half of what is left */
    double first, last; /* the part of the bar that the work under way fills */
    double started;     /* cli_clock when the work of the whole began; 0: there is no whole */
    double base;        /* what of it was done then, by an earlier run */
    bool working;       /* a part that can grow was announced */
    double told;        /* the last share of the whole that is known, not guessed */
    double told_at;     /* cli_clock then */
    double step;        /* by how much it had grown */
    char task[64];      /* the last one */
} cli_bar;

/* One run of the command. */
typedef struct cli_run {
    const char *command; /* "info" */
    bool help, help_all;
    bool json;
    bool quiet;
    bool verbose;
    bool digests;    /* of model and policy are wanted, also without --json */
    cli_words words; /* options for the command to run next */
    int64_t threads;
    uint64_t seed;
    nadir_context *context;
    const char *engine_name;    /* --engine; NULL: none */
    const char *engine_options; /* --petsc */
    nadir_engine *engine;       /* NULL: none */
    cli_warning *warnings;      /* what the library said while it worked, for the JSON */
    cli_warning *warnings_last;
    double started; /* cli_clock of the first progress call */
    bool bar_shown; /* the terminal's last line is a progress bar */
    cli_bar bar;
    char headline[256]; /* shown instead of the task; empty: none */
    bool answered;      /* the JSON object is printed: a failure does not print another */
    char error[512];    /* of cli_fail */
    /* called with the progress of the work; NULL: nothing is */
    void (*meanwhile)(struct cli_run *run, void *user);
    void *meanwhile_user;
    nadir_status trouble; /* why a file that the command has written itself cannot be read; NADIR_OK: none */
} cli_run;

typedef struct cli_command {
    const char *name;
    const char *arguments; /* "MODEL", "IN OUT" */
    const char *summary;   /* one line for the list of commands */
    int (*main)(cli_run *run, int argc, char **argv);
} cli_command;

extern const cli_command cli_command_info;
extern const cli_command cli_command_convert;
extern const cli_command cli_command_generate;
extern const cli_command cli_command_fit;
extern const cli_command cli_command_solve;
extern const cli_command cli_command_evaluate;
extern const cli_command cli_command_verify;
extern const cli_command cli_command_optimize;
extern const cli_command cli_command_sweep;
extern const cli_command cli_command_radius;
extern const cli_command cli_command_gradient;
extern const cli_command cli_command_norm;
extern const cli_command cli_command_compare;
extern const cli_command cli_command_report;
extern const cli_command cli_command_reproduce; /* of paper/experiments/ */

/* --json, --verbose, --quiet, --threads, --seed, --help, --help-all, filling in the run. Lives as long as `storage`. */
enum { CLI_COMMON_OPTIONS = 9 };
cli_option_group cli_common_options(cli_run *run, cli_option storage[CLI_COMMON_OPTIONS]);

/* --policy FILE|uniform|optimal, and the policy that it names. */
cli_option cli_policy_option(const char **policy);
cli_option cli_policies_option(cli_list *policies); /* given as often as there are policies */
nadir_status cli_policy_get(cli_run *run, nadir_model *model, const char *policy, const char *backend,
                            nadir_policy **made);
/* The file that it names; NULL: it names none. */
const char *cli_policy_file(const char *policy);
cli_option cli_backend_option(const char **backend);

/* The methods: their names, in the order of nadir_method_name, as choices, and lines for --help. */
typedef struct cli_methods {
    char choices[512];
    char help[2048];
} cli_methods;
void cli_methods_list(cli_methods *methods, const char *introduction);
/* --method. Lives as long as `methods`. */
cli_option cli_method_option(cli_methods *methods, const char **method);

/* The domain of a model where none is asked for. */
nadir_domain cli_domain_of(const nadir_model_data *view);

/* The ball: options that name it, and the ball that they, or the model, describe. */
typedef struct cli_ball {
    const char *radius_value; /* what --help calls and says of --radius; NULL: of one ball */
    const char *radius_help;
    const char *radius_text; /* a number or a file */
    const char *scales_path;
    double norm;
    int set, domain;
    double radius; /* where the text is a number */
    double *radii; /* where it is a file */
    double *scales;
} cli_ball;
enum { CLI_BALL_OPTIONS = 7 };
/* Sets all but the help of the radius. */
cli_option_group cli_ball_options(cli_ball *ball, cli_option storage[CLI_BALL_OPTIONS]);
/* Reads the files, if any. */
nadir_status cli_ball_get(cli_run *run, const nadir_model *model, cli_ball *ball, nadir_ball *made);
void cli_ball_clear(cli_run *run, cli_ball *ball);

/* Many radii in one option, LO:HI:N: `count` radii, evenly spaced, both ends included. */
typedef struct cli_radii {
    double first, last;
    int64_t count;
} cli_radii;

/* The radii that the text names; complains about the option if it does not. */
nadir_status cli_radii_parse(cli_run *run, const char *option, const char *text, cli_radii *radii);
double cli_radii_get(const cli_radii *radii, int64_t place);

/* Parses; on wrong usage or --help the exit status is in *exit and the result is false. `about` is the text
 * between the usage line and the options. */
bool cli_parse(cli_run *run, const cli_command *command, int argc, char **argv,
               const cli_option_group *groups, int wanted, const char *positionals[CLI_POSITIONALS],
               const char *about, int *exit);
/* The same for a command that reads a model: its own options, those that fill in `reading` (--discount,
 * --initial, --rewards, --unseen, ...), which holds the defaults, those of the ball (unless NULL), the common ones. */
bool cli_parse_model_command(cli_run *run, const cli_command *command, int argc, char **argv,
                             const cli_option *own, cli_ball *ball, int wanted,
                             const char *positionals[CLI_POSITIONALS], const char *about,
                             nadir_read_settings *reading, int *exit);
/* The same with options for a log in the place of a model; of_log: NULL: none. */
bool cli_parse_model_and_log(cli_run *run, const cli_command *command, int argc, char **argv,
                             const cli_option *own, const cli_option *of_log, cli_ball *ball, int wanted,
                             const char *positionals[CLI_POSITIONALS], const char *about,
                             nadir_read_settings *reading, int *exit);

/* How rewards are paid: options, and what is printed of them. */
enum { CLI_REWARDS_OPTIONS = 2 };
typedef struct cli_rewards {
    nadir_reward_kind kind;
    nadir_unseen unseen;
    double unseen_value;
    double error; /* nadir_model_unseen_error */
} cli_rewards;
/* --frozen-rewards, --unseen: two options; *unseen: the text of the second. */
void cli_rewards_options(bool *frozen, const char **unseen, cli_option storage[CLI_REWARDS_OPTIONS]);
/* What the text says (NULL: nothing); complains if it says nothing known, or beside frozen rewards. */
bool cli_unseen_parse(const cli_run *run, bool frozen, const char *text, nadir_unseen *unseen, double *value);
cli_rewards cli_rewards_get(const nadir_model *model);
/* One line, behind a label, where rewards are paid on landing and kernels of the domain (NADIR_DOMAIN_UNSAID: some) may have
 * new transitions; else nothing. */
void cli_rewards_text(const cli_rewards *rewards, nadir_domain domain, const char *label);
/* "rewards", "unseen" and, where they say something, "unseen_value" and "unseen_error" */
void cli_rewards_json(cli_json *json, const cli_rewards *rewards);

/* Whether an option that the command cannot do without was given; complains if not. */
bool cli_needed(const cli_run *run, const char *option, bool given);
/* Complains about options that do not go together; false. */
bool cli_wrong(const cli_run *run, const char *reason);

/* --engine and --petsc, for commands that run on many processes; the second option of the two. */
cli_option cli_engine_option(cli_run *run);
cli_option cli_engine_options_option(cli_run *run);
/* Whether this is the process that prints and writes. */
bool cli_speaks(const cli_run *run);

/* A context like that of the run: its random stream is at the start. */
nadir_status cli_context_create(cli_run *run, nadir_context **context);
/* Makes the context, with messages and progress going to stderr, and opens the engine, if one was asked for:
 * then only its first process prints. */
nadir_status cli_open(cli_run *run);
/* Keeps the sentence for cli_close and returns `status`: for what the command itself refuses. */
nadir_status cli_fail(cli_run *run, nadir_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Says what went wrong (on stderr, and as the JSON object), frees the run, returns the exit status. */
int cli_close(cli_run *run, nadir_status status);

/* Writes the model and prints what was written: sizes, digest, and where the model came from ("input": FILE).
 */
nadir_status cli_write_model(cli_run *run, const nadir_model *model, const char *path,
                             const nadir_write_settings *settings, const char *origin_key,
                             const char *origin);

/* A warning of the command itself, as if the library had said it. */
void cli_warn(cli_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Clears the progress bar; whether the result is to be printed as JSON, which no error object follows. */
bool cli_starts_json(cli_run *run);
/* "warnings": [...], and the end of the outermost object. */
void cli_json_close(const cli_run *run, cli_json *json);
/* A double as in JSON, for tables; `text` is returned. */
const char *cli_number(double value, char text[32]);

/* Seconds on the monotonic clock. */
double cli_clock(void);

/* Progress on a terminal; nonzero when the user asked to stop. A nadir_progress_function. */
int cli_progress(void *user, const char *task, double share);
/* The work that follows fills this part of the bar, whatever was told before; with a whole in parts the time left is
 * shown. first = last: the bar stays there. */
void cli_progress_part(cli_run *run, double first, double last);
/* Removes the bar, if there is one. */
void cli_progress_clear(cli_run *run);
/* From now on Ctrl-C and SIGTERM ask the library to stop; another one a second later kills. */
void cli_catch_interrupts(void);
/* The interrupted work has stopped: from now on further work, such as writing results, is not interrupted. */
void cli_obey_interrupt(void);

#endif
