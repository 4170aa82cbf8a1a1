/* csv_cells.c: cells, headers and rows of comma-separated tables; see csv_cells.h. */
#include "io/csv_cells.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LIST_LENGTH 512
#define WHOLE_LIMIT 9007199254740992.0 /* 2^53: whole numbers up to here are exact as doubles */

static bool is_blank(char character)
{
    return character == ' ' || character == '\t';
}

static nadir_cursor trimmed(const char *self, const char *end)
{
    while (self < end && is_blank(*self)) {
        self++;
    }
    while (end > self && is_blank(end[-1])) {
        end--;
    }
    return (nadir_cursor){self, end};
}

/* The comma or end that follows the closing quote of a cell that opens at `quote`; NULL if there is no such
 * quote, or more than blanks between the two. *closing is where the cell's content ends. */
static const char *after_quotes(const char *quote, const char *end, const char **closing)
{
    const char *self = quote + 1;
    while (self < end && (*self != '"' || (self + 1 < end && self[1] == '"'))) {
        self += *self == '"' ? 2 : 1;
    }
    if (self >= end) {
        return NULL;
    }
    *closing = self++;
    while (self < end && is_blank(*self)) {
        self++;
    }
    return self == end || *self == ',' ? self : NULL;
}

bool nadir_csv_next_cell(nadir_cursor *line, nadir_cursor *cell, bool *open)
{
    const char *self = line->at;
    const char *const end = line->end;
    if (self == NULL) {
        return false;
    }
    while (self < end && is_blank(*self)) {
        self++;
    }
    const char *closing;
    const bool quoted = self < end && *self == '"';
    const char *after = quoted ? after_quotes(self, end, &closing) : NULL;
    *open = quoted && after == NULL;
    if (after != NULL) {
        *cell = trimmed(self + 1, closing);
    } else {
        after = self;
        while (after < end && *after != ',') {
            after++;
        }
        *cell = trimmed(self, after);
    }
    line->at = after < end ? after + 1 : NULL;
    return true;
}

static nadir_status refuse_open(nadir_text *text, nadir_cursor cell)
{
    return nadir_text_fail(text,
                           "the quote of `%.*s` is not closed before the next comma or the end of the line",
                           NADIR_WORD(cell));
}

/* Appends "`word`", after a comma if it is not the first; long lists end in dots. */
static void append_name(char *list, size_t capacity, nadir_cursor word)
{
    const size_t used = strlen(list);
    if (capacity - used < 80) {
        if (used >= 3 && strcmp(list + used - 3, "...") != 0) {
            (void)snprintf(list + used, capacity - used, ", ...");
        }
        return;
    }
    (void)snprintf(list + used, capacity - used, "%s`%.*s`", used > 0 ? ", " : "", NADIR_WORD(word));
}

/* "`a`, `b` or `c`, ...": the columns that must be there, with a second name where they have one. */
static const char *required_names(int count, const nadir_csv_column *columns, char *list, size_t capacity)
{
    list[0] = '\0';
    for (int i = 0; i < count; i++) {
        const char *name = columns[i].names[0];
        const char *other = columns[i].names[1];
        if (!columns[i].optional) {
            append_name(list, capacity, (nadir_cursor){name, name + strlen(name)});
            const size_t used = strlen(list);
            (void)(other != NULL ? snprintf(list + used, capacity - used, " or `%s`", other) : 0);
        }
    }
    return list;
}

int nadir_csv_find_column(int count, const nadir_csv_column *columns, nadir_cursor cell, const char **called)
{
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < NADIR_CSV_NAMES && columns[i].names[k] != NULL; k++) {
            if (nadir_cursor_equals_nocase(cell, columns[i].names[k])) {
                *called = columns[i].names[k];
                return i;
            }
        }
    }
    return -1;
}

/* Of a table of transitions nothing but the probability is missing: moves that were seen. */
static bool looks_like_log(const nadir_csv_header *header)
{
    int missing = -1;
    int missed = 0;
    bool transitions = false;
    for (int i = 0; i < header->count; i++) {
        const char *name = header->columns[i].names[0]; /* NULL: not one of this table */
        const bool lacks = name != NULL && header->positions[i] < 0 && !header->columns[i].optional;
        missing = lacks ? i : missing;
        missed += lacks;
        transitions = transitions || (name != NULL && strcmp(name, "next_state") == 0);
    }
    return transitions && missed == 1 && strcmp(header->columns[missing].names[0], "probability") == 0;
}

/* unknown: the columns that the reader does not know, and that may be called otherwise; NULL: they may not. */
static nadir_status check_missing(nadir_text *text, const nadir_csv_header *header, nadir_cursor line,
                                  const char *unknown)
{
    char names[400];
    for (int i = 0; i < header->count; i++) {
        if (header->positions[i] >= 0 || header->columns[i].optional) {
            continue;
        }
        const size_t length = (size_t)(line.end - line.at);
        const bool other = header->width == 1 &&
                           (memchr(line.at, ';', length) != NULL || memchr(line.at, '\t', length) != NULL);
        const bool renamed = unknown != NULL && unknown[0] != '\0' && !other;
        return nadir_text_fail(
            text, "missing column `%s`; the header must name %s%s%s%s", header->columns[i].names[0],
            required_names(header->count, header->columns, names, sizeof names),
            other     ? ", with commas (not semicolons or tabs) between them"
            : renamed ? ", or say what they are called (--columns "
                        "state=NAME,action=NAME,...); not known: "
                      : "",
            renamed ? unknown : "", looks_like_log(header) ? "; for logged data: nadir fit" : "");
    }
    return NADIR_OK;
}

/* list: [LIST_LENGTH] the columns that the reader does not know. */
static nadir_status read_header(nadir_text *text, int count, const nadir_csv_column *columns, bool exact,
                                nadir_csv_header *header, char *list)
{
    list[0] = '\0';
    nadir_cursor line;
    bool more;
    *header = (nadir_csv_header){.columns = columns, .count = count};
    for (int i = 0; i < count; i++) {
        header->positions[i] = -1;
    }
    NADIR_TRY(nadir_text_content(text, "#", &line, &more));
    if (!more) {
        return nadir_fail(text->context, NADIR_ERROR_FORMAT,
                          "%s: the file holds no lines; expected a header with the columns %s", text->path,
                          required_names(count, columns, list, LIST_LENGTH));
    }
    if (memchr(line.at, '\r', (size_t)(line.end - line.at)) != NULL) {
        return nadir_text_fail(
            text, "lines end with CR alone; expected LF or CRLF, as editors and spreadsheets save");
    }
    nadir_cursor cell;
    bool open;
    for (nadir_cursor rest = line; nadir_csv_next_cell(&rest, &cell, &open); header->width++) {
        const char *called;
        if (open) {
            return refuse_open(text, cell);
        }
        const int column = nadir_csv_find_column(count, columns, cell, &called);
        const bool beside =
            nadir_cursor_equals(cell, "state_name") || nadir_cursor_equals(cell, "action_name");
        if (column < 0 && beside && !exact) { /* written beside numbers, for people */
            continue;
        }
        if (column < 0 && cell.at == cell.end) {
            nadir_log(text->context, NADIR_LOG_NOTICE, "%s: column %lld has no name: not used", text->path,
                      (long long)header->width + 1);
        } else if (column < 0) {
            append_name(list, LIST_LENGTH, cell);
        } else if (header->positions[column] >= 0) {
            return nadir_text_fail(text, "the header names column `%s` twice: `%s` and `%s`; take one out",
                                   columns[column].names[0], header->called[column], called);
        } else {
            header->positions[column] = header->width;
            header->called[column] = called;
            header->order[header->found++] = column;
        }
    }
    return check_missing(text, header, line, exact ? list : NULL);
}

nadir_status nadir_csv_read_header(nadir_text *text, int count, const nadir_csv_column *columns, bool exact,
                                   nadir_csv_header *header)
{
    char list[LIST_LENGTH];
    const nadir_status status = read_header(text, count, columns, exact, header, list);
    if (status != NADIR_OK || list[0] == '\0') {
        return status;
    }
    if (exact) {
        return nadir_text_fail(text,
                               "unknown columns: %s; take them out, or say what columns are called "
                               "(--columns state=NAME,action=NAME,...): others are then not used",
                               list);
    }
    nadir_log(text->context, NADIR_LOG_NOTICE, "%s: columns not used: %s", text->path, list);
    return NADIR_OK;
}

nadir_status nadir_csv_read_row(nadir_text *text, const nadir_csv_header *header,
                                nadir_cursor cells[NADIR_CSV_COLUMNS], bool *more)
{
    nadir_status status = NADIR_OK;
    nadir_cursor line;
    NADIR_CHECK(nadir_text_content(text, "#", &line, more));
    if (!*more) {
        return NADIR_OK;
    }
    for (int i = 0; i < header->count; i++) {
        cells[i] = (nadir_cursor){NULL, NULL};
    }
    nadir_cursor cell;
    int64_t width = 0;
    int next = 0;
    bool open;
    while (nadir_csv_next_cell(&line, &cell, &open)) {
        if (open) {
            return refuse_open(text, cell);
        }
        if (next < header->found && header->positions[header->order[next]] == width) {
            cells[header->order[next++]] = cell;
        }
        width++;
    }
    if (width != header->width) {
        status = nadir_text_fail(text, "%lld cell%s; expected %lld, one for each column of the header",
                                 (long long)width, width == 1 ? "" : "s", (long long)header->width);
    }
cleanup:
    return status;
}

bool nadir_csv_whole(nadir_cursor cell, int64_t *value)
{
    double real;
    if (nadir_cursor_is_integer(cell, value)) {
        return true;
    }
    if (nadir_cursor_is_double(cell, &real) && real >= -WHOLE_LIMIT && real <= WHOLE_LIMIT &&
        real == (double)(int64_t)real) {
        *value = (int64_t)real;
        return true;
    }
    return false;
}

nadir_status nadir_csv_integer(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                               int which, int64_t *value)
{
    return nadir_csv_whole(cells[which], value)
               ? NADIR_OK
               : nadir_text_fail(text, "`%s` is `%.*s`; expected a whole number", header->called[which],
                                 NADIR_WORD(cells[which]));
}

nadir_status nadir_csv_double(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                              int which, double *value)
{
    return nadir_cursor_is_double(cells[which], value)
               ? NADIR_OK
               : nadir_text_fail(text, "`%s` is `%.*s`; expected a number", header->called[which],
                                 NADIR_WORD(cells[which]));
}

nadir_status nadir_csv_label(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                             int which, nadir_words *words, int64_t *number)
{
    const char *called = header->called[which];
    const nadir_cursor cell = cells[which];
    double real;
    const bool numeric = nadir_cursor_is_double(cell, &real);
    const bool whole = nadir_csv_whole(cell, number);
    if (cell.at == cell.end || (numeric && !whole)) {
        return nadir_text_fail(text, "`%s` is `%.*s`; expected a whole number or a name", called,
                               NADIR_WORD(cell));
    }
    if (words->first == 0) {
        words->first = text->line;
        words->named = words->closed ? words->named : words->names.count > 0 || !whole;
    }
    if (whole == words->named) {
        return nadir_text_fail(
            text,
            "`%s` is `%.*s`, a %s, but line %lld has %s: all are whole numbers from 0, or all are "
            "names, which do not look like numbers",
            called, NADIR_WORD(cell), whole ? "number" : "name", (long long)words->first,
            whole ? "a name" : "a number");
    }
    if (whole) {
        return NADIR_OK;
    }
    const size_t length = (size_t)(cell.end - cell.at);
    if (!nadir_utf8_is_valid(cell.at, length)) {
        return nadir_text_fail(text, "the name in `%s` is not UTF-8; save the file in that encoding", called);
    }
    NADIR_TRY(nadir_words_number(text->context, words, cell.at, length, number));
    return *number >= 0 ? NADIR_OK
                        : nadir_text_fail(text, "`%s` is `%.*s`, which the data do not have", called,
                                          NADIR_WORD(cell));
}

/* ---- Numbers of states or rows ---- */

/* A table with a number for each state, or each state and action. */
typedef struct table {
    nadir_text text;
    nadir_csv_header header;
    nadir_csv_column columns[5]; /* as given, and the names beside the numbers of states and actions */
    const nadir_names *names[2]; /* of states and actions, with the way back to their numbers */
    nadir_name_index indices[2];
} table;

nadir_status nadir_state_numbers_fail(const nadir_state_numbers *self, int64_t state, int64_t row,
                                      int64_t line, const char *format, ...)
{
    char place[NADIR_LABEL_LENGTH];
    char colon[32] = "";
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (line > 0) {
        (void)snprintf(colon, sizeof colon, ":%lld", (long long)line);
    }
    return nadir_fail(self->context, self->failure, "%s%s: %s: %s", self->path, colon,
                      nadir_model_label(self->model, state, row, place), sentence);
}

static nadir_status open_table(const nadir_state_numbers *self, const nadir_csv_column *columns, table *made)
{
    static const nadir_csv_column beside[] = {{{"state_name"}, true}, {{"action_name"}, true}};
    int64_t existing; /* of two names that are the same the first counts */
    memcpy(made->columns, columns, 3 * sizeof *columns);
    memcpy(made->columns + 3, beside, sizeof beside);
    made->names[0] = &self->model->state_names;
    made->names[1] = &self->model->action_names;
    NADIR_TRY(nadir_text_open(self->context, self->path, &made->text));
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < made->names[k]->count; i++) {
            NADIR_TRY(nadir_name_index_add(self->context, &made->indices[k], made->names[k], i, &existing));
        }
    }
    return nadir_csv_read_header(&made->text, 5, made->columns, false, &made->header);
}

/* Whether a cell has this name: as it is given out, or written with its quotes twice and without blanks around it. */
static bool is_called(nadir_cursor cell, const char *name)
{
    name += strspn(name, " \t");
    for (const char *at = cell.at; at < cell.end; at++, name++) {
        at += *at == '"' && at + 1 < cell.end && at[1] == '"';
        if (*at != *name) {
            return false;
        }
    }
    return name[strspn(name, " \t")] == '\0';
}

/* The number of the name that stands beside a number in a file; -1: the model has no such name. */
static int64_t find_name(const table *from, int which, nadir_cursor name, int64_t beside)
{
    const nadir_names *names = from->names[which];
    if (beside >= 0 && beside < names->count && is_called(name, nadir_names_get(names, beside))) {
        return beside; /* of names that come twice, this one */
    }
    int64_t found =
        nadir_name_index_find(&from->indices[which], names, name.at, (size_t)(name.end - name.at));
    const bool quoted = memchr(name.at, '"', (size_t)(name.end - name.at)) != NULL;
    for (int64_t i = 0; found < 0 && quoted && i < names->count; i++) {
        found = is_called(name, nadir_names_get(names, i)) ? i : -1;
    }
    return found;
}

/* The state or action that a line gives, 0 without the column; a number in this column is never taken for a name.
 * Where model and file have names, the name beside the number counts: another log numbers them otherwise. */
static nadir_status look_up(table *from, const nadir_cursor *cells, int which, int64_t *number)
{
    const nadir_names *names = from->names[which];
    const nadir_cursor beside = cells[which + 3];
    nadir_cursor cell = cells[which];
    int column = which;
    *number = 0;
    if (from->header.positions[which] < 0) {
        return NADIR_OK;
    }
    if (nadir_cursor_is_integer(cell, number)) {
        if (names->count == 0 || beside.at == beside.end) {
            return NADIR_OK;
        }
        cell = beside;
        column = which + 3;
        *number = find_name(from, which, beside, *number);
    } else {
        *number = nadir_name_index_find(&from->indices[which], names, cell.at, (size_t)(cell.end - cell.at));
        if (*number < 0 && (names->count == 0 || nadir_csv_whole(cell, number))) {
            return nadir_csv_integer(&from->text, &from->header, cells, which, number);
        }
    }
    if (*number >= 0) {
        return NADIR_OK;
    }
    char list[LIST_LENGTH] = "";
    for (int64_t i = 0; i < names->count && i < 8; i++) {
        const char *name = nadir_names_get(names, i);
        append_name(list, sizeof list, (nadir_cursor){name, name + strlen(name)});
    }
    return nadir_text_fail(&from->text, "`%s` is `%.*s`, which the model does not have; it has %s%s",
                           from->header.called[column], NADIR_WORD(cell), list,
                           names->count > 8 ? ", ..." : "");
}

/* Where the number of a line goes; -1: nowhere, or to another process. */
static nadir_status find_place(const nadir_state_numbers *self, table *from, int64_t state, int64_t action,
                               int64_t *place)
{
    const nadir_model *model = self->model;
    const int64_t total = nadir_model_total(model);
    nadir_text *text = &from->text;
    *place = -1;
    if (state < 0 || state >= total) {
        (void)nadir_text_fail(text, "state %lld is not in the model; states are 0 to %lld", (long long)state,
                              (long long)total - 1);
        return self->failure;
    }
    state -= nadir_model_first(model);
    if (state < 0 || state >= model->states) {
        return NADIR_OK;
    }
    *place = self->by_row ? nadir_model_find_row(model, state, action) : state;
    if (*place < 0 && self->failure == NADIR_ERROR_POLICY && nadir_model_is_end(model, state)) {
        return NADIR_OK; /* nothing is decided there */
    }
    if (*place < 0) {
        const char *name = nadir_names_get(&model->action_names, action);
        return nadir_state_numbers_fail(self, state, -1, text->line, "there is no action %lld%s%s%s",
                                        (long long)action, name != NULL ? " (" : "", name != NULL ? name : "",
                                        name != NULL ? ")" : "");
    }
    const uint32_t before = self->lines[*place];
    if (before != 0 && from->header.columns[1].names[0] == NULL) {
        return nadir_text_fail(text, "state %lld was given already in line %u", (long long)state, before);
    }
    return before == 0 ? NADIR_OK
                       : nadir_state_numbers_fail(self, state, self->by_row ? *place : -1, text->line,
                                                  "was given already in line %u", before);
}

nadir_status nadir_state_numbers_read(nadir_state_numbers *self, const nadir_csv_column columns[3])
{
    nadir_status status = NADIR_OK;
    table from = {.names = {NULL}};
    nadir_cursor cells[NADIR_CSV_COLUMNS] = {{NULL, NULL}};
    bool more;
    NADIR_CHECK(open_table(self, columns, &from));
    self->by_row = from.header.positions[1] >= 0;
    NADIR_NEW_ZERO(self->context, self->numbers, self->by_row ? self->model->rows : self->model->states);
    NADIR_NEW_ZERO(self->context, self->lines, self->by_row ? self->model->rows : self->model->states);
    NADIR_CHECK(nadir_csv_read_row(&from.text, &from.header, cells, &more));
    while (more) {
        int64_t state;
        int64_t action;
        int64_t place;
        double number = 1;
        NADIR_CHECK(look_up(&from, cells, 0, &state));
        NADIR_CHECK(look_up(&from, cells, 1, &action));
        if (from.header.positions[2] >= 0) {
            NADIR_CHECK(nadir_csv_double(&from.text, &from.header, cells, 2, &number));
        }
        NADIR_CHECK(find_place(self, &from, state, action, &place));
        if (place >= 0) {
            self->numbers[place] = number;
            self->lines[place] = from.text.line < UINT32_MAX ? (uint32_t)from.text.line : UINT32_MAX;
        }
        NADIR_CHECK(nadir_csv_read_row(&from.text, &from.header, cells, &more));
    }
cleanup:
    nadir_name_index_clear(self->context, &from.indices[0]);
    nadir_name_index_clear(self->context, &from.indices[1]);
    nadir_text_close(&from.text);
    return status;
}
