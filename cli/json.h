/*
 * json.h: writing one JSON object to stdout.
 *
 * Written by hand because the usual libraries print doubles with too many digits or in the process locale,
 * and refuse or misprint non-finite ones: here a double has the fewest of 15 to 17 digits that read back to
 * the same bits, and a non-finite one is null. Text that is not UTF-8 has its bad bytes replaced.
 */
#ifndef NADIR_CLI_JSON_H
#define NADIR_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_json {
    FILE *out;
    int depth;
    bool first; /* nothing yet in the innermost object or array */
} cli_json;

/* Opens the outermost object. */
void cli_json_start(cli_json *json, FILE *out);
/* Closes it. */
void cli_json_end(cli_json *json);

/* key: NULL inside an array. */
void cli_json_object(cli_json *json, const char *key);
void cli_json_object_end(cli_json *json);
void cli_json_array(cli_json *json, const char *key);
void cli_json_array_end(cli_json *json);
void cli_json_integer(cli_json *json, const char *key, int64_t value);
void cli_json_double(cli_json *json, const char *key, double value);
/* A number that may be infinite: then it is "inf". */
void cli_json_norm(cli_json *json, const char *key, double value);
void cli_json_bool(cli_json *json, const char *key, bool value);
/* NULL gives null. */
void cli_json_text(cli_json *json, const char *key, const char *value);

#endif
