/* report_section.c: the section of the report that an experiment writes while it runs; see experiment.h. */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void experiment_html(FILE *out, const char *text)
{
    for (const char *cursor = text; *cursor != '\0'; cursor++) {
        switch (*cursor) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*cursor, out);
        }
    }
}

/* Turns errno into the trouble of the run; a file that does not exist is none. */
static void note_trouble(cli_run *cli, const char *path, int error)
{
    if (error != 0 && error != ENOENT && error != ENOTDIR) {
        cli->trouble = cli_fail(cli, error == ENOMEM ? NADIR_ERROR_MEMORY : NADIR_ERROR_IO,
                                "%s: cannot be read: %s", path, strerror(error));
    }
}

/* The rest of the stream, with a zero at its end; NULL: failed, *error is errno. */
static char *read_all(int descriptor, size_t *length, int *error)
{
    enum { PIECE = 65536 };
    char *text = NULL;
    ssize_t got = 1;
    struct stat facts = {0};
    *length = 0;
    *error = fstat(descriptor, &facts) != 0 ? errno : 0;
    while (*error == 0 && got != 0) {
        char *grown = realloc(text, *length + PIECE + 1);
        if (grown == NULL) {
            *error = ENOMEM;
            break;
        }
        text = grown;
        got = read(descriptor, text + *length, PIECE);
        *error = got < 0 && errno != EINTR ? errno : 0;
        *length += got > 0 ? (size_t)got : 0;
        text[*length] = '\0';
    }
    if (*error == 0 && *length < (size_t)facts.st_size) {
        *error = EIO; /* it was truncated meanwhile */
    }
    if (*error != 0) {
        free(text);
        return NULL;
    }
    return text;
}

char *experiment_slurp(cli_run *cli, const char *path, size_t *length)
{
    int descriptor;
    int error = 0;
    char *text = NULL;
    do {
        descriptor = open(path, O_RDONLY | O_CLOEXEC);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor >= 0) {
        text = read_all(descriptor, length, &error);
        (void)close(descriptor);
    } else {
        error = errno;
    }
    note_trouble(cli, path, error);
    return text;
}

char *experiment_take(FILE *scratch, size_t *length)
{
    char *text = NULL;
    int error = fflush(scratch) != 0 ? errno : ferror(scratch) != 0 ? EIO : 0;
    if (error == 0 && lseek(fileno(scratch), 0, SEEK_SET) < 0) {
        error = errno;
    }
    if (error == 0) {
        text = read_all(fileno(scratch), length, &error);
    }
    (void)fclose(scratch);
    errno = error;
    return text;
}

nadir_status experiment_unreadable(cli_run *cli, const char *path)
{
    return cli->trouble != NADIR_OK ? cli->trouble
                                    : cli_fail(cli, NADIR_ERROR_IO, "%s: cannot be read", path);
}

const char *experiment_text(experiment_run *run, const char *format, ...)
{
    enum { TEXTS = sizeof run->texts / sizeof *run->texts };
    char *text = run->texts[run->texts_count++ % TEXTS];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof *run->texts, format, arguments);
    va_end(arguments);
    return text;
}

/* Formatted text, escaped. */
static void print_text(experiment_run *run, const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) {
        (void)experiment_keep(run, cli_fail(run->cli, NADIR_ERROR_MEMORY, "no memory for the report"));
        return;
    }
    experiment_html(run->section, text);
    free(text);
}

void experiment_say(experiment_run *run, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("<p>", run->section);
    print_text(run, format, arguments);
    fputs("</p>\n", run->section);
    va_end(arguments);
}

/* --------------------------------------------------------------------------------------------- figures */

/* The length of the mark at the cursor after which the name of an element follows, 0: none. In the report the
 * names of all pictures must differ. */
static size_t name_follows(const char *cursor)
{
    static const char *const marks[] = {"id=\"", "id='", "href=\"#", "href='#", "url(#"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (strncmp(cursor, marks[i], strlen(marks[i])) == 0) {
            return strlen(marks[i]);
        }
    }
    return 0;
}

/* The picture as part of the page: without the head of the file and gnuplot's own title, which browsers show
 * under the pointer. */
static void print_picture(FILE *out, const char *svg, const char *prefix)
{
    const char *cursor = strstr(svg, "<svg");
    for (cursor = cursor != NULL ? cursor : ""; *cursor != '\0';) {
        const char *title_end = strncmp(cursor, "<title>", 7) == 0 ? strstr(cursor, "</title>") : NULL;
        const size_t mark = name_follows(cursor);
        if (title_end != NULL) {
            cursor = title_end + 8;
        } else if (mark > 0) {
            fprintf(out, "%.*s%s-", (int)mark, cursor, prefix);
            cursor += mark;
        } else {
            fputc(*cursor++, out);
        }
    }
}

static bool is_listed(const experiment_run *run, const char *stem, const char *ending)
{
    char name[2 * EXPERIMENT_NAME];
    (void)snprintf(name, sizeof name, "%s%s", stem, ending);
    for (int i = 0; i < run->files_count; i++) {
        if (strcmp(run->files[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void print_links(experiment_run *run, const char *stem)
{
    static const char *const endings[] = {".csv", ".svg", ".png"};
    fputs("<span class=\"files\">", run->section);
    if (run->data != NULL && is_listed(run, run->data, ".csv")) {
        fprintf(run->section, " <a href=\"%s/%s.csv\">%s.csv</a>", run->experiment->name, run->data,
                run->data);
    }
    run->data = NULL;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (is_listed(run, stem, endings[i])) {
            fprintf(run->section, " <a href=\"%s/%s%s\">%s%s</a>", run->experiment->name, stem, endings[i],
                    stem, endings[i]);
        }
    }
    fputs("</span>", run->section);
}

void experiment_show(experiment_run *run, const char *stem, int source, const char *format, ...)
{
    char path[EXPERIMENT_PATH];
    char prefix[2 * EXPERIMENT_NAME];
    size_t length;
    FILE *out = run->section;
    (void)snprintf(prefix, sizeof prefix, "%s-%s", run->experiment->name, stem);
    if (experiment_file(run, stem, ".svg", path) != NADIR_OK) {
        return;
    }
    char *svg = experiment_slurp(run->cli, path, &length);
    if (svg == NULL) {
        (void)experiment_keep(run, experiment_unreadable(run->cli, path));
        return;
    }
    fprintf(out, "<figure id=\"%s\">\n", prefix);
    if (source >= 0 && (run->shown >> source & 1) == 0) {
        fprintf(out, "<span id=\"%s-source-%d\"></span>", run->experiment->name, source);
        run->shown |= UINT64_C(1) << source;
    }
    fputs("<div class=\"picture\">", out);
    print_picture(out, svg, prefix);
    fputs("</div>\n<figcaption>", out);
    if (source >= 0) {
        const experiment_source *figure = &run->experiment->sources[source];
        fputs("<b>", out);
        experiment_html(out, figure->place);
        fputs(":</b> <q>", out);
        experiment_html(out, figure->caption);
        fputs("</q> ", out);
    }
    va_list arguments;
    va_start(arguments, format);
    print_text(run, format, arguments);
    va_end(arguments);
    print_links(run, stem);
    fputs("</figcaption>\n</figure>\n", out);
    free(svg);
}

/* ---------------------------------------------------------------------------------------------- tables */

/* Whether a cell is a number, with a unit or without. */
static bool is_number(const char *cell, size_t length)
{
    const size_t digits = strspn(cell, "0123456789");
    const size_t sign = strcspn(cell, "0123456789");
    return length > 0 && (digits > 0 || (sign <= 3 && sign < length && strchr("-+<~", *cell) != NULL));
}

/* A row of cells between '|'. */
static void print_row(FILE *out, const char *text, const char *kind)
{
    fputs("<tr>", out);
    for (const char *cursor = text; cursor != NULL;) {
        const size_t length = strcspn(cursor, "|");
        fprintf(out, "<%s%s>", kind, is_number(cursor, length) ? " class=\"number\"" : "");
        for (size_t i = 0; i < length; i++) {
            const char one[2] = {cursor[i], '\0'};
            experiment_html(out, one);
        }
        fprintf(out, "</%s>", kind);
        cursor = cursor[length] == '|' ? cursor + length + 1 : NULL;
    }
    fputs("</tr>\n", out);
}

void experiment_table(experiment_run *run, const char *caption, const char *head)
{
    fputs("<div class=\"wide\"><table>\n<caption>", run->section);
    experiment_html(run->section, caption);
    fputs("</caption>\n<thead>", run->section);
    print_row(run->section, head, "th");
    fputs("</thead>\n<tbody>\n", run->section);
}

void experiment_table_row(experiment_run *run, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    const int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        (void)experiment_keep(run, cli_fail(run->cli, NADIR_ERROR_MEMORY, "no memory for the report"));
        return;
    }
    print_row(run->section, text, "td");
    free(text);
}

void experiment_table_end(experiment_run *run)
{
    fputs("</tbody>\n</table></div>\n", run->section);
}

void experiment_finding(experiment_run *run, const char *subject, const char *paper, const char *ours,
                        const char *why)
{
    const char *const cells[] = {subject, paper, ours, why};
    fputs("<tr>", run->findings);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        fputs("<td>", run->findings);
        experiment_html(run->findings, cells[i]);
        fputs("</td>", run->findings);
    }
    fputs("</tr>\n", run->findings);
}
