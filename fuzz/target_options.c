/*
 * target_options.c: the option parser of the command. The input is its arguments, one on each line.
 */
#include "fuzz.h"

#include "options.h"

#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    fuzz_require(text != NULL, "there is memory for the arguments");
    memcpy(text, bytes, size);
    text[size] = '\0';
    char *arguments[ARGUMENTS];
    int count = 0;
    char *rest = text;
    for (char *word = strsep(&rest, "\n"); word != NULL && count < ARGUMENTS; word = strsep(&rest, "\n")) {
        arguments[count++] = word;
    }

    bool flag = false;
    const char *path = NULL;
    cli_list list = {0};
    int64_t number = 0;
    uint64_t seed = 0;
    double real = 0;
    int choice = 0;
    const cli_option options[] = {
        {"--flag", CLI_FLAG, NULL, NULL, &flag, "a flag"},
        {"--path", CLI_TEXT, "FILE", NULL, &path, "a text"},
        {"--policy", CLI_LIST, "POLICY", NULL, &list, "a list"},
        {"--count", CLI_INTEGER, "N", NULL, &number, "a whole number"},
        {"--seed", CLI_SEED, "N", NULL, &seed, "a seed"},
        {"--radius", CLI_NUMBER, "X", NULL, &real, "a number"},
        {"--layout", CLI_CHOICE, NULL, "auto|sas|ass", &choice, "a choice"},
        {NULL, CLI_FLAG, NULL, NULL, NULL, NULL},
    };
    const cli_option_group groups[] = {{.title = "Options", .options = options}, {.title = NULL}};
    const char *positionals[CLI_POSITIONALS] = {NULL};
    char reason[CLI_REASON_LENGTH] = "";
    cli_words words = {0};
    if (cli_options_parse(count, arguments, groups, "IN OUT", 2, positionals, &words, reason)) {
        fuzz_require(positionals[0] != NULL && positionals[1] != NULL, "what was wanted is there");
        fuzz_require(number >= 0 && choice >= 0 && choice < 3, "values are in their ranges");
    } else {
        fuzz_require(reason[0] != '\0' && strlen(reason) < CLI_REASON_LENGTH, "who refuses says why");
    }
    free(text);
    return 0;
}
