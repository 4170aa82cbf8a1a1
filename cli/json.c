/* json.c: writing one JSON object; see json.h. */
#include "json.h"

#include "nadir.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Length of the UTF-8 sequence at `at`, 0 when it is none (overlong forms and surrogates included). */
static size_t sequence_length(const unsigned char *at)
{
    if (at[0] < 0x80) {
        return 1;
    }
    size_t length = 0;
    uint32_t point = 0;
    if ((at[0] & 0xe0) == 0xc0) {
        length = 2;
        point = at[0] & 0x1fU;
    } else if ((at[0] & 0xf0) == 0xe0) {
        length = 3;
        point = at[0] & 0x0fU;
    } else if ((at[0] & 0xf8) == 0xf0) {
        length = 4;
        point = at[0] & 0x07U;
    }
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) { /* the closing NUL stops here too */
            return 0;
        }
        point = point << 6 | (at[i] & 0x3fU);
    }
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool bad = point < smallest[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff);
    return bad ? 0 : length;
}

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        const size_t length = sequence_length(at);
        if (length == 0) {
            fputs("\xEF\xBF\xBD", out); /* U+FFFD, the replacement character */
            at++;
        } else if (*at == '"' || *at == '\\') {
            fprintf(out, "\\%c", *at++);
        } else if (*at < 0x20 || *at == 0x7f) {
            fprintf(out, "\\u%04x", *at++);
        } else {
            fwrite(at, 1, length, out);
            at += length;
        }
    }
    fputc('"', out);
}

/* Comma, line, indentation and key before a value. */
static void lead(cli_json *json, const char *key)
{
    if (json->depth > 0) {
        fprintf(json->out, "%s\n%*s", json->first ? "" : ",", 2 * json->depth, "");
    }
    json->first = false;
    if (key != NULL) {
        put_text(json->out, key);
        fputs(": ", json->out);
    }
}

static void open_bracket(cli_json *json, const char *key, char bracket)
{
    lead(json, key);
    fputc(bracket, json->out);
    json->depth++;
    json->first = true;
}

static void close_bracket(cli_json *json, char bracket)
{
    json->depth--;
    if (!json->first) {
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    }
    fputc(bracket, json->out);
    json->first = false;
}

void cli_json_start(cli_json *json, FILE *out)
{
    *json = (cli_json){.out = out};
    open_bracket(json, NULL, '{');
}

void cli_json_end(cli_json *json)
{
    close_bracket(json, '}');
    fputc('\n', json->out);
}

void cli_json_object(cli_json *json, const char *key)
{
    open_bracket(json, key, '{');
}

void cli_json_object_end(cli_json *json)
{
    close_bracket(json, '}');
}

void cli_json_array(cli_json *json, const char *key)
{
    open_bracket(json, key, '[');
}

void cli_json_array_end(cli_json *json)
{
    close_bracket(json, ']');
}

void cli_json_integer(cli_json *json, const char *key, int64_t value)
{
    lead(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void cli_json_double(cli_json *json, const char *key, double value)
{
    char text[32];
    lead(json, key);
    (void)nadir_format_double(value, text);
    fputs(isfinite(value) ? text : "null", json->out);
}

void cli_json_norm(cli_json *json, const char *key, double value)
{
    if (isinf(value) || value == NADIR_NORM_CHI2) {
        cli_json_text(json, key, isinf(value) ? "inf" : "chi2");
    } else {
        cli_json_double(json, key, value);
    }
}

void cli_json_bool(cli_json *json, const char *key, bool value)
{
    lead(json, key);
    fputs(value ? "true" : "false", json->out);
}

void cli_json_text(cli_json *json, const char *key, const char *value)
{
    lead(json, key);
    if (value == NULL) {
        fputs("null", json->out);
    } else {
        put_text(json->out, value);
    }
}
