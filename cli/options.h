/*
 * options.h: the options of a subcommand: one table that is both parsed and shown by --help.
 *
 * A command lists groups of options, each option with the variable it fills in.
 */
#ifndef NADIR_CLI_OPTIONS_H
#define NADIR_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum cli_option_kind {
    CLI_FLAG,    /* bool *: true when given */
    CLI_TEXT,    /* const char ** */
    CLI_LIST,    /* cli_list *: may be given again and again */
    CLI_INTEGER, /* int64_t *: a whole number, 0 or more */
    CLI_SEED,    /* uint64_t * */
    CLI_NUMBER,  /* double *: also inf */
    CLI_NORM,    /* double *: also inf, and chi2 */
    CLI_CHOICE,  /* int *: place in `choices` */
    CLI_NAME     /* const char **: one of `choices` */
} cli_option_kind;

/* The values of an option in the order in which they were given. */
enum { CLI_LIST_LENGTH = 64 };
typedef struct cli_list {
    int count;
    const char *values[CLI_LIST_LENGTH];
} cli_list;

typedef struct cli_option {
    const char *name; /* "--discount"; NULL ends a group */
    cli_option_kind kind;
    const char *value;   /* how --help calls the value: "GAMMA"; NULL: by its choices */
    const char *choices; /* CLI_CHOICE, CLI_NAME: "auto|sas|ass" */
    void *target;
    const char *help; /* one or more lines */
} cli_option;

/* An entry of a table: the options after it are shown by --help-all alone. */
#define CLI_RARE                                                                                             \
    {                                                                                                        \
        "", CLI_FLAG, NULL, NULL, NULL, NULL                                                                 \
    }

/* What an option is about, where another command takes it as well. */
typedef enum cli_about { CLI_ABOUT_COMMAND, CLI_ABOUT_MODEL, CLI_ABOUT_BALL } cli_about;

typedef struct cli_option_group {
    const char *title; /* "Options of the model" */
    const cli_option *options;
    cli_about about;
} cli_option_group;

/* The options of the model and of the ball as they were given, each word after a space and quoted for the
 * shell. */
enum { CLI_WORDS_LENGTH = 512 };
typedef struct cli_words {
    char of_model[CLI_WORDS_LENGTH];
    char of_ball[CLI_WORDS_LENGTH];
    bool lost; /* there was no room */
} cli_words;
/* Appends " word"; false: no room. */
bool cli_words_add(char text[CLI_WORDS_LENGTH], const char *word);

enum { CLI_POSITIONALS = 4, CLI_REASON_LENGTH = 512 };

/*
 * Parses argv[0..argc) into the targets and up to `wanted` positionals. Returns false, with the reason
 * given, on wrong usage: unknown option (the nearest known one is suggested), option given twice (unless it
 * is a list) or too often, missing or malformed value, wrong number of positionals.
 */
bool cli_options_parse(int argc, char **argv, const cli_option_group *groups, const char *positional_names,
                       int wanted, const char *positionals[CLI_POSITIONALS], cli_words *words,
                       char reason[CLI_REASON_LENGTH]);

/* The one of names[0..count) that is nearest to a mistyped word, or NULL. */
const char *cli_options_nearest(const char *word, size_t length, int count, const char *const *names);

/* Whether the text is a number (also inf), and which. */
bool cli_options_number(const char *value, double *number);

/* The options part of --help, on stdout; all: also the rare ones. */
void cli_options_help(const cli_option_group *groups, bool all);

#endif
