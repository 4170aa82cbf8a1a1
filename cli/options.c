/* options.c: parsing and showing options; see options.h. */
#include "options.h"
#include "nadir.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options given so far, so that twice is noticed; no command has as many. */
enum { OPTIONS_LIMIT = 64 };

typedef struct parse_state {
    const cli_option_group *groups;
    cli_words *words;
    char *reason; /* [CLI_REASON_LENGTH] what is wrong */
    const cli_option *given[OPTIONS_LIMIT];
    int given_count;
} parse_state;

/* Keeps what is wrong; false, so that one can write `return refuse(...)`. */
static bool refuse(const parse_state *parse, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(const parse_state *parse, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(parse->reason, CLI_REASON_LENGTH, format, arguments);
    va_end(arguments);
    return false;
}

/* The option called name[0..length), or NULL, and what it is about. */
static const cli_option *find(const cli_option_group *groups, const char *name, size_t length,
                              cli_about *about)
{
    for (; groups->options != NULL; groups++) {
        for (const cli_option *option = groups->options; option->name != NULL; option++) {
            if (strncmp(option->name, name, length) == 0 && option->name[length] == '\0') {
                *about = groups->about;
                return option;
            }
        }
    }
    return NULL;
}

/* Edit distance of two short words (Levenshtein), by one row of the table. */
static size_t distance(const char *a, size_t a_length, const char *b)
{
    size_t row[64];
    const size_t b_length = strlen(b);
    if (b_length >= 64) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= b_length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            const size_t shorter = row[j] < row[j - 1] ? row[j] : row[j - 1];
            diagonal = row[j];
            row[j] = replaced < shorter + 1 ? replaced : shorter + 1;
        }
    }
    return row[b_length];
}

const char *cli_options_nearest(const char *word, size_t length, int count, const char *const *names)
{
    const char *nearest = NULL;
    const size_t dashes = strspn(word, "-"); /* which all options have */
    size_t best =
        (length - (dashes < length ? dashes : 0)) / 2 + 1; /* more than half of it may not be wrong */
    for (int i = 0; i < count && length < 64; i++) {
        const size_t far = distance(word, length, names[i]);
        if (far < best) {
            best = far;
            nearest = names[i];
        }
    }
    return nearest;
}

static bool refuse_unknown(const parse_state *parse, const char *word, size_t length)
{
    const char *names[2 * OPTIONS_LIMIT];
    int count = 0;
    for (const cli_option_group *group = parse->groups; group->options != NULL; group++) {
        for (const cli_option *option = group->options; option->name != NULL && count < 2 * OPTIONS_LIMIT;
             option++) {
            names[count++] = option->name;
        }
    }
    const char *nearest = cli_options_nearest(word, length, count, names);
    if (nearest != NULL) {
        return refuse(parse, "unknown option %.*s; did you mean %s?", (int)length, word, nearest);
    }
    return refuse(parse, "unknown option %.*s", (int)length, word);
}

bool cli_words_add(char text[CLI_WORDS_LENGTH], const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,%@";
    const bool quoted = word[strspn(word, plain)] != '\0' || *word == '\0';
    const size_t used = strlen(text);
    if (strchr(word, '\'') != NULL || used + strlen(word) + 4 > CLI_WORDS_LENGTH) {
        return false;
    }
    (void)snprintf(text + used, CLI_WORDS_LENGTH - used, quoted ? " '%s'" : " %s", word);
    return true;
}

/* Keeps the words argv[first..last] of an option that another command takes as well. */
static void keep_words(cli_words *words, cli_about about, char **argv, int first, int last)
{
    for (int i = first; i <= last && about != CLI_ABOUT_COMMAND; i++) {
        words->lost |= !cli_words_add(about == CLI_ABOUT_MODEL ? words->of_model : words->of_ball, argv[i]);
    }
}

/* The place of `value` in "a|b|c", or -1. */
static int choice(const char *choices, const char *value)
{
    const size_t length = strlen(value);
    int place = 0;
    for (const char *self = choices; self != NULL; place++) {
        const char *bar = strchr(self, '|');
        const size_t here = bar != NULL ? (size_t)(bar - self) : strlen(self);
        if (here == length && strncmp(self, value, length) == 0) {
            return place;
        }
        self = bar != NULL ? bar + 1 : NULL;
    }
    return -1;
}

/* The choice of "a|b|c" that is nearest to `value`, or NULL. */
static const char *meant_choice(const char *choices, const char *value, char nearest[64])
{
    char words[256];
    const char *names[16];
    int count = 0;
    if ((size_t)snprintf(words, sizeof words, "%s", choices) >= sizeof words) {
        return NULL;
    }
    for (char *self = words; self != NULL && count < 16;) {
        char *bar = strchr(self, '|');
        names[count++] = self;
        if (bar != NULL) {
            *bar++ = '\0';
        }
        self = bar;
    }
    const char *found = cli_options_nearest(value, strlen(value), count, names);
    (void)snprintf(nearest, 64, "%s", found != NULL ? found : "");
    return found != NULL ? nearest : NULL;
}

/* Digits only: strtoull would take blanks and signs. */
static bool whole_number(const char *value, uint64_t *number)
{
    if (*value == '\0' || strspn(value, "0123456789") != strlen(value)) {
        return false;
    }
    errno = 0;
    *number = strtoull(value, NULL, 10);
    return errno == 0;
}

/* The command never leaves the C locale, so strtod reads a decimal point. */
bool cli_options_number(const char *value, double *number)
{
    char *end;
    if (*value == '\0' || strspn(value, "+-.0123456789eEinftyINFTY") != strlen(value)) {
        return false;
    }
    *number = strtod(value, &end);
    return *end == '\0' && !isnan(*number);
}

static const char *append(cli_list *list, const char *value)
{
    if (list->count == CLI_LIST_LENGTH) {
        return "at most 64 of them";
    }
    list->values[list->count++] = value;
    return *value != '\0' ? NULL : "something";
}

/* Stores the value; returns what was expected, or NULL when all is well. */
static const char *store(const cli_option *option, const char *value)
{
    uint64_t whole;
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)option->target = true;
        return NULL;
    case CLI_TEXT:
        *(const char **)option->target = value;
        return *value != '\0' ? NULL : "something";
    case CLI_LIST:
        return append(option->target, value);
    case CLI_INTEGER:
        if (!whole_number(value, &whole) || whole > INT64_MAX) {
            return "a whole number, 0 or more";
        }
        *(int64_t *)option->target = (int64_t)whole;
        return NULL;
    case CLI_SEED:
        return whole_number(value, option->target) ? NULL : "a whole number, 0 or more";
    case CLI_NUMBER:
        return cli_options_number(value, option->target) ? NULL : "a number";
    case CLI_NORM:
        if (strcmp(value, "chi2") == 0) {
            *(double *)option->target = NADIR_NORM_CHI2;
            return NULL;
        }
        return cli_options_number(value, option->target) && *(double *)option->target >= 1
                   ? NULL
                   : "a number from 1 to inf, or chi2";
    case CLI_CHOICE:
        *(int *)option->target = choice(option->choices, value);
        return *(int *)option->target >= 0 ? NULL : option->choices;
    case CLI_NAME:
        *(const char **)option->target = value;
        return choice(option->choices, value) >= 0 ? NULL : option->choices;
    }
    return "nothing";
}

static bool note_given(parse_state *parse, const cli_option *option)
{
    for (int i = 0; i < parse->given_count && option->kind != CLI_LIST; i++) {
        if (parse->given[i] == option) {
            return refuse(parse, "%s is given twice", option->name);
        }
    }
    if (parse->given_count < OPTIONS_LIMIT) {
        parse->given[parse->given_count++] = option;
    }
    return true;
}

/* One option at argv[*at], with its value in the same word after '=' or in the next one. */
static bool take_option(parse_state *parse, int argc, char **argv, int *self)
{
    const char *word = argv[*self];
    const char *equals = strchr(word, '=');
    const size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const int first = *self;
    char nearest[64];
    cli_about about;
    const cli_option *option = find(parse->groups, word, length, &about);
    if (option == NULL) {
        return refuse_unknown(parse, word, length);
    }
    if (!note_given(parse, option)) {
        return false;
    }
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (option->kind == CLI_FLAG && value != NULL) {
        return refuse(parse, "%s takes no value", option->name);
    }
    if (option->kind != CLI_FLAG && value == NULL) {
        if (*self + 1 >= argc) {
            return refuse(parse, "%s needs a value: %s", option->name,
                          option->choices != NULL ? option->choices : option->value);
        }
        value = argv[++*self];
    }
    const char *expected = store(option, value);
    const char *meant =
        expected != NULL && option->choices != NULL ? meant_choice(option->choices, value, nearest) : NULL;
    if (meant != NULL) {
        return refuse(parse, "%s: '%s' given, expected %s; did you mean %s?", option->name, value, expected,
                      meant);
    }
    if (expected != NULL) {
        return refuse(parse, "%s: '%s' given, expected %s", option->name, value, expected);
    }
    keep_words(parse->words, about, argv, first, *self);
    return true;
}

bool cli_options_parse(int argc, char **argv, const cli_option_group *groups, const char *positional_names,
                       int wanted, const char *positionals[CLI_POSITIONALS], cli_words *words,
                       char reason[CLI_REASON_LENGTH])
{
    parse_state state = {.groups = groups, .words = words, .reason = reason};
    int found = 0;
    bool only_positionals = false;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!only_positionals && strcmp(word, "--") == 0) {
            only_positionals = true;
        } else if (!only_positionals && word[0] == '-' && word[1] != '\0') {
            if (!take_option(&state, argc, argv, &i)) {
                return false;
            }
        } else if (found < wanted) {
            positionals[found++] = word;
        } else {
            return refuse(&state, "unexpected argument '%s'", word);
        }
    }
    if (found < wanted) {
        return refuse(&state, "expected %s", positional_names);
    }
    return true;
}

/* The help text of an option, its lines aligned after the first column. */
static void print_lines(const char *help, int column)
{
    for (const char *self = help; self != NULL;) {
        const char *newline = strchr(self, '\n');
        const int length = newline != NULL ? (int)(newline - self) : (int)strlen(self);
        printf("%.*s\n", length, self);
        self = newline != NULL ? newline + 1 : NULL;
        if (self != NULL) {
            printf("%*s", column, "");
        }
    }
}

void cli_options_help(const cli_option_group *groups, bool all)
{
    enum { COLUMN = 28 };
    for (; groups->options != NULL; groups++) {
        printf("\n%s:\n", groups->title);
        for (const cli_option *option = groups->options; option->name != NULL; option++) {
            if (*option->name == '\0') {
                if (!all) {
                    break;
                }
                continue;
            }
            const char *value = option->value != NULL ? option->value : option->choices;
            const int length =
                printf("  %s%s%s", option->name, value != NULL ? " " : "", value != NULL ? value : "");
            if (length >= COLUMN) {
                printf("\n%*s", COLUMN, "");
            } else {
                printf("%*s", COLUMN - length, "");
            }
            print_lines(option->help, COLUMN);
        }
    }
}
