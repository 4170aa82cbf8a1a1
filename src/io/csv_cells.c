/* csv_cells.c: cells, headers and rows of comma-separated tables; see csv_cells.h. */
#include "io/csv_cells.h"

#include "core/number.h"

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

bool nadir_csv_next_cell(nadir_cursor *line, nadir_cursor *cell)
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
    const char *after = self < end && *self == '"' ? after_quotes(self, end, &closing) : NULL;
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

/* The next line that is neither blank nor a comment. */
static nadir_status next_line(nadir_text *text, nadir_cursor *line, bool *more)
{
    nadir_status status = NADIR_OK;
    nadir_cursor peek;
    do {
        NADIR_CHECK(nadir_text_line(text, line, more));
        peek = *line;
    } while (*more && (!nadir_cursor_skip_blanks(&peek) || *peek.at == '#'));
cleanup:
    return status;
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

/* "`a`, `b` and so on": the columns that must be there. */
static const char *required_names(int count, const nadir_csv_column *columns, char *list, size_t capacity)
{
    list[0] = '\0';
    for (int i = 0; i < count; i++) {
        const char *name = columns[i].names[0];
        if (!columns[i].optional) {
            append_name(list, capacity, (nadir_cursor){name, name + strlen(name)});
        }
    }
    return list;
}

/* Which column a cell of the header names, and by which of its names; -1: none. */
static int find_column(int count, const nadir_csv_column *columns, nadir_cursor cell, const char **called)
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

static nadir_status check_missing(nadir_text *text, const nadir_csv_header *header, nadir_cursor line)
{
    char names[400];
    for (int i = 0; i < header->count; i++) {
        if (header->positions[i] >= 0 || header->columns[i].optional) {
            continue;
        }
        const size_t length = (size_t)(line.end - line.at);
        const bool other = header->width == 1 &&
                           (memchr(line.at, ';', length) != NULL || memchr(line.at, '\t', length) != NULL);
        return nadir_text_fail(text, "missing column `%s`; the header must name %s%s",
                               header->columns[i].names[0],
                               required_names(header->count, header->columns, names, sizeof names),
                               other ? ", with commas (not semicolons or tabs) between them" : "");
    }
    return NADIR_OK;
}

/* list: [LIST_LENGTH] the columns that the reader does not know. */
static nadir_status read_header(nadir_text *text, int count, const nadir_csv_column *columns,
                                nadir_csv_header *header, char *list)
{
    nadir_status status = NADIR_OK;
    list[0] = '\0';
    nadir_cursor line;
    bool more;
    *header = (nadir_csv_header){.columns = columns, .count = count};
    for (int i = 0; i < count; i++) {
        header->positions[i] = -1;
    }
    NADIR_CHECK(next_line(text, &line, &more));
    if (!more) {
        return nadir_fail(text->context, NADIR_ERROR_FORMAT,
                          "%s: the file holds no lines; expected a header with the columns %s", text->path,
                          required_names(count, columns, list, LIST_LENGTH));
    }
    nadir_cursor cell;
    for (nadir_cursor rest = line; nadir_csv_next_cell(&rest, &cell); header->width++) {
        const char *called;
        const int column = find_column(count, columns, cell, &called);
        if (column < 0) {
            append_name(list, LIST_LENGTH, cell);
        } else if (header->positions[column] >= 0) {
            return nadir_text_fail(text, "the header names column `%s` twice: `%s` and `%s`",
                                   columns[column].names[0], header->called[column], called);
        } else {
            header->positions[column] = header->width;
            header->called[column] = called;
            header->order[header->found++] = column;
        }
    }
    NADIR_CHECK(check_missing(text, header, line));
cleanup:
    return status;
}

nadir_status nadir_csv_read_header(nadir_text *text, int count, const nadir_csv_column *columns,
                                   nadir_csv_header *header)
{
    char list[LIST_LENGTH];
    const nadir_status status = read_header(text, count, columns, header, list);
    if (status == NADIR_OK && list[0] != '\0') {
        nadir_log(text->context, NADIR_LOG_NOTICE, "%s: columns not used: %s", text->path, list);
    }
    return status;
}

nadir_status nadir_csv_read_exact_header(nadir_text *text, int count, const nadir_csv_column *columns,
                                         nadir_csv_header *header)
{
    char list[LIST_LENGTH];
    const nadir_status status = read_header(text, count, columns, header, list);
    if (status == NADIR_OK && list[0] != '\0') {
        return nadir_text_fail(text, "unknown columns: %s; take them out, or name them as the format does",
                               list);
    }
    return status;
}

nadir_status nadir_csv_read_row(nadir_text *text, const nadir_csv_header *header,
                                nadir_cursor cells[NADIR_CSV_COLUMNS], bool *more)
{
    nadir_status status = NADIR_OK;
    nadir_cursor line;
    NADIR_CHECK(next_line(text, &line, more));
    if (!*more) {
        return NADIR_OK;
    }
    for (int i = 0; i < header->count; i++) {
        cells[i] = (nadir_cursor){NULL, NULL};
    }
    nadir_cursor cell;
    int64_t width = 0;
    int next = 0;
    while (nadir_csv_next_cell(&line, &cell)) {
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

static nadir_status number_fail(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                                int which, const char *expected)
{
    return nadir_text_fail(text, "`%s` is `%.*s`; expected %s", header->called[which],
                           NADIR_WORD(cells[which]), expected);
}

nadir_status nadir_csv_integer(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                               int which, int64_t *value)
{
    const nadir_cursor cell = cells[which];
    if (nadir_number_parse_int64(cell.at, cell.end, value) == cell.end && cell.at < cell.end) {
        return NADIR_OK;
    }
    double real;
    if (nadir_number_parse_double(cell.at, cell.end, &real) == cell.end && cell.at < cell.end &&
        real >= -WHOLE_LIMIT && real <= WHOLE_LIMIT && real == (double)(int64_t)real) {
        *value = (int64_t)real;
        return NADIR_OK;
    }
    return number_fail(text, header, cells, which, "a whole number");
}

nadir_status nadir_csv_double(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                              int which, double *value)
{
    const nadir_cursor cell = cells[which];
    if (nadir_number_parse_double(cell.at, cell.end, value) == cell.end && cell.at < cell.end) {
        return NADIR_OK;
    }
    return number_fail(text, header, cells, which, "a number");
}

/* Of two names that are the same the first counts. */
static nadir_status open_lookup(nadir_context *context, const nadir_names *names, nadir_lookup *lookup)
{
    nadir_status status = NADIR_OK;
    int64_t existing;
    *lookup = (nadir_lookup){.names = names};
    for (int64_t i = 0; i < names->count; i++) {
        NADIR_CHECK(nadir_name_index_add(context, &lookup->index, names, i, &existing));
    }
cleanup:
    return status;
}

/* The number that a cell gives; a number is never taken for a name. */
static nadir_status look_up(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                            int which, const nadir_lookup *lookup, int64_t *number)
{
    const nadir_cursor cell = cells[which];
    if (!nadir_cursor_is_integer(cell, number)) {
        *number = nadir_name_index_find(&lookup->index, lookup->names, cell.at, (size_t)(cell.end - cell.at));
        if (*number < 0) {
            return nadir_csv_integer(text, header, cells, which, number);
        }
    }
    return NADIR_OK;
}

nadir_status nadir_state_table_open(nadir_context *context, const char *path, const nadir_csv_column *columns,
                                    const nadir_names *state_names, const nadir_names *action_names,
                                    nadir_state_table *table)
{
    nadir_status status = NADIR_OK;
    table->number = 1;
    NADIR_CHECK(nadir_text_open(context, path, &table->text));
    NADIR_CHECK(open_lookup(context, state_names, &table->states));
    NADIR_CHECK(open_lookup(context, action_names, &table->actions));
    NADIR_CHECK(nadir_csv_read_header(&table->text, 3, columns, &table->header));
cleanup:
    return status;
}

nadir_status nadir_state_table_next(nadir_state_table *table, bool *more)
{
    nadir_status status = NADIR_OK;
    nadir_text *text = &table->text;
    const nadir_csv_header *header = &table->header;
    nadir_cursor cells[NADIR_CSV_COLUMNS] = {{NULL, NULL}};
    NADIR_CHECK(nadir_csv_read_row(text, header, cells, more));
    if (!*more) {
        return NADIR_OK;
    }
    NADIR_CHECK(look_up(text, header, cells, 0, &table->states, &table->state));
    if (header->positions[1] >= 0) {
        NADIR_CHECK(look_up(text, header, cells, 1, &table->actions, &table->action));
    }
    if (header->positions[2] >= 0) {
        NADIR_CHECK(nadir_csv_double(text, header, cells, 2, &table->number));
    }
cleanup:
    return status;
}

uint32_t nadir_state_table_line(const nadir_state_table *table)
{
    return table->text.line < UINT32_MAX ? (uint32_t)table->text.line : UINT32_MAX;
}

void nadir_state_table_close(nadir_context *context, nadir_state_table *table)
{
    nadir_name_index_clear(context, &table->states.index);
    nadir_name_index_clear(context, &table->actions.index);
    nadir_text_close(&table->text);
}
