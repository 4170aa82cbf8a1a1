/* report_text.c: text and numbers of a page; see report.h. Names come from files: nothing in them is markup. */
#include "io/report.h"

#include "core/number.h"
#include "io/text_reader.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { DIGITS = 5, NAME = 60 };
#define REPLACEMENT "\xEF\xBF\xBD"

/* One character of *text, which moves on; what is none, or would control the page, becomes U+FFFD. */
static const char *take(const char **text, size_t *length)
{
    uint32_t character = 0;
    *length = nadir_utf8_decode(*text, strnlen(*text, 4), &character);
    const char *at = *text;
    *text += *length > 0 ? *length : 1;
    const bool moves =
        (character >= 0x202a && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
    if (*length == 0 || character < 0x20 || (character >= 0x7f && character < 0xa0) || moves) {
        *length = strlen(REPLACEMENT);
        return REPLACEMENT;
    }
    return at;
}

/* The next character of *text, escaped. */
static void put_next(nadir_output *output, const char **text)
{
    size_t length;
    const char *at = take(text, &length);
    const char *escaped = length > 1   ? NULL
                          : *at == '&' ? "&amp;"
                          : *at == '<' ? "&lt;"
                          : *at == '>' ? "&gt;"
                          : *at == '"' ? "&quot;"
                                       : NULL;
    nadir_output_write(output, escaped != NULL ? escaped : at, escaped != NULL ? strlen(escaped) : length);
}

void nadir_report_text(nadir_output *output, const char *text, int64_t limit)
{
    for (int64_t i = 0; *text != '\0' && i < limit; i++) {
        put_next(output, &text);
    }
    nadir_output_text(output, *text != '\0' ? "…" : "");
}

void nadir_report_line(nadir_output *output, const char *text, int64_t bytes)
{
    for (const char *end = text + bytes; text < end;) {
        put_next(output, &text);
    }
}

void nadir_report_json_text(nadir_output *output, const char *text)
{
    nadir_output_text(output, "\"");
    while (*text != '\0') {
        size_t length;
        const char *at = take(&text, &length);
        if (length == 1 && strchr("\"\\<>&", *at) != NULL) {
            nadir_output_format(output, "\\u%04x", (unsigned)*at);
        } else {
            nadir_output_write(output, at, length);
        }
    }
    nadir_output_text(output, "\"");
}

const char *nadir_report_short(double value, int side, char text[32])
{
    const double size = fabs(value);
    const int digits = size >= 99999.5 && size < 999999.5 ? DIGITS + 1 : DIGITS;
    double shown = value;
    (void)snprintf(text, 32, "%.*g", digits, value);
    if (isfinite(value) && value != 0 && side != 0) {
        (void)nadir_number_parse_double(text, text + strlen(text), &shown);
        if ((shown - value) * side < 0) {
            (void)snprintf(text, 32, "%.*g", digits, shown + side * pow(10, floor(log10(size)) - digits + 1));
        }
    }
    return text;
}

static void put_short(nadir_output *output, double value, int side)
{
    char text[32];
    (void)nadir_report_short(value, side, text);
    if (*text == '-') {
        nadir_output_format(output, "−%s", text + 1); /* a minus sign, which does not break */
    } else {
        nadir_output_text(output, text);
    }
}

void nadir_report_number(nadir_output *output, double value, int side)
{
    nadir_output_text(output, "<b>");
    put_short(output, value, side);
    nadir_output_text(output, "</b>");
}

void nadir_report_cell(nadir_output *output, double value, int side)
{
    if (!isfinite(value)) {
        nadir_output_format(output, "<td class=\"n\" data-v=\"\">%s</td>", isnan(value) ? "–" : "none");
        return;
    }
    nadir_output_text(output, "<td class=\"n\" data-v=\"");
    nadir_output_double(output, value);
    nadir_output_text(output, "\">");
    put_short(output, value, side);
    nadir_output_text(output, "</td>");
}

const char *nadir_report_percent(double share, char text[32])
{
    const double percent = 100 * share;
    (void)snprintf(text, 32, fabs(percent) >= 99.5 ? "%.0f %%" : "%.2g %%", percent);
    return text;
}

static void put_name(nadir_output *output, const char *name, const char *kind, int64_t number)
{
    nadir_output_text(output, "<bdi>");
    if (name != NULL) {
        nadir_report_text(output, name, NAME);
    } else {
        nadir_output_format(output, "%s %" PRId64, kind, number);
    }
    nadir_output_text(output, "</bdi>");
}

void nadir_report_state(const nadir_report *report, int64_t state, nadir_output *output)
{
    if (state >= 0) {
        put_name(output, nadir_model_state_name(report->model, state), "state", state);
    }
}

/* The state of a row. */
static int64_t find_state(const nadir_report *report, int64_t row)
{
    int64_t low = 0;
    int64_t high = report->view.states;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (report->view.state_rows[middle] <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

void nadir_report_action(const nadir_report *report, int64_t row, nadir_output *output)
{
    const int64_t number = report->view.row_actions != NULL
                               ? report->view.row_actions[row]
                               : row - report->view.state_rows[find_state(report, row)];
    put_name(output, nadir_model_action_name(report->model, row), "action", number);
}

void nadir_report_policy_name(const nadir_report *report, nadir_output *output)
{
    nadir_output_text(output, "<bdi class=\"policy\">");
    nadir_report_text(output, report->settings.policy_name, NAME);
    nadir_output_text(output, "</bdi>");
}
