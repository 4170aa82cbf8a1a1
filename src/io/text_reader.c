/* text_reader.c: lines, words, numbers and characters of text files; see text_reader.h. */
#include "io/text_reader.h"
#include "core/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BLOCK_BYTES ((size_t)1 << 18)

nadir_status nadir_text_open(nadir_context *context, const char *path, nadir_text *text)
{
    nadir_status status = NADIR_OK;
    *text = (nadir_text){.context = context, .input = NADIR_INPUT_CLOSED};
    NADIR_CHECK(path != NULL ? nadir_input_open(context, path, &text->input)
                             : nadir_input_standard(context, &text->input));
    text->path = text->input.path;
    NADIR_NEW(context, text->buffer, BLOCK_BYTES);
    text->capacity = BLOCK_BYTES;
    return NADIR_OK;
cleanup:
    nadir_text_close(text);
    return status;
}

void nadir_text_close(nadir_text *text)
{
    if (text->context != NULL) {
        nadir_input_close(&text->input);
        nadir_release(text->context, text->buffer);
    }
    *text = (nadir_text){0};
}

nadir_status nadir_text_fail(nadir_text *text, const char *format, ...)
{
    char sentence[640];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return nadir_fail(text->context, NADIR_ERROR_FORMAT, "%s:%lld: %s", text->path, (long long)text->line,
                      sentence);
}

/* Moves what is left to the front of the buffer, makes room and reads on. */
static nadir_status fill(nadir_text *text)
{
    nadir_status status = NADIR_OK;
    memmove(text->buffer, text->buffer + text->start, text->end - text->start);
    text->end -= text->start;
    text->start = 0;
    if (text->end == text->capacity) {
        if (text->capacity >= NADIR_LINE_LIMIT) {
            text->line++;
            return nadir_text_fail(text, "the line is longer than any format allows (%zu bytes)",
                                   NADIR_LINE_LIMIT);
        }
        NADIR_RESIZE(text->context, text->buffer, 2 * text->capacity);
        text->capacity *= 2;
    }
    size_t got;
    const size_t wanted = text->capacity - text->end;
    NADIR_CHECK(nadir_input_read(text->context, &text->input, text->buffer + text->end, wanted, &got));
    text->at_end = got < wanted;
    text->end += got;
    const double all = (double)text->input.bytes; /* 0: not known */
    NADIR_CHECK(nadir_progress(text->context, "reading", all > 0 ? (double)text->consumed / (all + 1) : -1));
cleanup:
    return status;
}

static void skip_byte_order_mark(nadir_text *text)
{
    if (text->end - text->start >= 3 && memcmp(text->buffer + text->start, "\xEF\xBB\xBF", 3) == 0) {
        text->start += 3;
    }
}

nadir_status nadir_text_line(nadir_text *text, nadir_cursor *line, bool *more)
{
    size_t searched = 0;
    const char *newline = NULL;
    for (;;) {
        const char *from = text->buffer + text->start;
        const size_t length = text->end - text->start;
        newline = length > searched ? memchr(from + searched, '\n', length - searched) : NULL;
        if (newline != NULL || text->at_end) {
            break;
        }
        searched = length;
        NADIR_TRY(fill(text));
        if (text->line == 0 && text->consumed == 0 && searched == 0) {
            skip_byte_order_mark(text);
        }
    }
    *more = text->end > text->start;
    if (!*more) {
        return NADIR_OK;
    }
    const char *from = text->buffer + text->start;
    const char *end = newline != NULL ? newline : text->buffer + text->end;
    const size_t taken = (size_t)(end - from) + (newline != NULL ? 1 : 0);
    text->start += taken;
    text->consumed += (int64_t)taken;
    text->line++;
    if (memchr(from, '\0', (size_t)(end - from)) != NULL) {
        return nadir_text_fail(
            text, "a zero byte in a text file; is this a binary file, or one in UTF-16? (save it as UTF-8)");
    }
    if (end > from && end[-1] == '\r') {
        end--;
    }
    *line = (nadir_cursor){from, end};
    return NADIR_OK;
}

static bool is_blank(char character)
{
    return character == ' ' || character == '\t';
}

bool nadir_cursor_skip_blanks(nadir_cursor *cursor)
{
    while (cursor->at < cursor->end && is_blank(*cursor->at)) {
        cursor->at++;
    }
    return cursor->at < cursor->end;
}

/* Whether anything but blanks is left, and no comment. */
static bool skip_to_content(nadir_cursor *line, const char *comment)
{
    return nadir_cursor_skip_blanks(line) && !nadir_cursor_starts(*line, comment);
}

nadir_status nadir_text_content(nadir_text *text, const char *comment, nadir_cursor *line, bool *more)
{
    do {
        NADIR_TRY(nadir_text_line(text, line, more));
    } while (*more && !skip_to_content(line, comment));
    return NADIR_OK;
}

static bool take_line(nadir_cursor *rest, nadir_cursor *line)
{
    if (nadir_cursor_starts(*rest, "\xEF\xBB\xBF")) {
        rest->at += 3;
    }
    const char *newline = memchr(rest->at, '\n', (size_t)(rest->end - rest->at));
    *line = (nadir_cursor){rest->at, newline != NULL ? newline : rest->end};
    rest->at = newline != NULL ? newline + 1 : rest->end;
    if (line->end > line->at && line->end[-1] == '\r') {
        line->end--;
    }
    return line->at < rest->at;
}

bool nadir_cursor_take_content(nadir_cursor *rest, const char *comment, nadir_cursor *line)
{
    bool more;
    do {
        more = take_line(rest, line);
    } while (more && !skip_to_content(line, comment));
    return more;
}

bool nadir_cursor_take_char(nadir_cursor *cursor, char character)
{
    if (nadir_cursor_skip_blanks(cursor) && *cursor->at == character) {
        cursor->at++;
        return true;
    }
    return false;
}

bool nadir_cursor_take_word(nadir_cursor *cursor, const char *stops, nadir_cursor *word)
{
    nadir_cursor_skip_blanks(cursor);
    word->at = cursor->at;
    while (cursor->at < cursor->end && !is_blank(*cursor->at) && strchr(stops, *cursor->at) == NULL) {
        cursor->at++;
    }
    word->end = cursor->at;
    return word->end > word->at;
}

/* Whether a number that ended at `at` ended where a word ends. */
static bool ends_well(const char *self, const char *end)
{
    if (self == end) {
        return true;
    }
    const char next = *self;
    return !((next >= '0' && next <= '9') || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') ||
             next == '_' || next == '.');
}

/* Moves the cursor behind a number, if there is one (after not NULL). */
static bool take_number(nadir_cursor *cursor, const char *after)
{
    const bool taken = after != NULL && ends_well(after, cursor->end);
    cursor->at = taken ? after : cursor->at;
    return taken;
}

bool nadir_cursor_take_integer(nadir_cursor *cursor, int64_t *value)
{
    nadir_cursor_skip_blanks(cursor);
    return take_number(cursor, nadir_number_parse_int64(cursor->at, cursor->end, value));
}

bool nadir_cursor_take_double(nadir_cursor *cursor, double *value)
{
    nadir_cursor_skip_blanks(cursor);
    return take_number(cursor, nadir_number_parse_double(cursor->at, cursor->end, value));
}

bool nadir_cursor_take_ratio(nadir_cursor *cursor, double *value)
{
    nadir_cursor rest = *cursor;
    double ratio;
    if (!nadir_cursor_take_double(&rest, &ratio)) {
        return false;
    }
    if (rest.at < rest.end && *rest.at == '/') {
        double denominator;
        rest.at++;
        if (!nadir_cursor_take_double(&rest, &denominator) || denominator == 0) {
            return false;
        }
        ratio /= denominator;
    }
    *cursor = rest;
    *value = ratio;
    return true;
}

bool nadir_cursor_take_interval(nadir_cursor *cursor, double *lower, double *upper)
{
    nadir_cursor next = *cursor;
    const bool taken = nadir_cursor_take_char(&next, '[') && nadir_cursor_take_ratio(&next, lower) &&
                       nadir_cursor_take_char(&next, ',') && nadir_cursor_take_ratio(&next, upper) &&
                       nadir_cursor_take_char(&next, ']');
    *cursor = taken ? next : *cursor;
    return taken;
}

bool nadir_cursor_is_integer(nadir_cursor word, int64_t *value)
{
    return nadir_cursor_take_integer(&word, value) && !nadir_cursor_skip_blanks(&word);
}

bool nadir_cursor_is_double(nadir_cursor word, double *value)
{
    return nadir_cursor_take_double(&word, value) && !nadir_cursor_skip_blanks(&word);
}

bool nadir_cursor_equals(nadir_cursor word, const char *text)
{
    const size_t length = strlen(text);
    return (size_t)(word.end - word.at) == length && memcmp(word.at, text, length) == 0;
}

bool nadir_cursor_equals_nocase(nadir_cursor word, const char *text)
{
    const size_t length = strlen(text);
    return (size_t)(word.end - word.at) == length && strncasecmp(word.at, text, length) == 0;
}

bool nadir_cursor_starts(nadir_cursor cursor, const char *text)
{
    const size_t length = strlen(text);
    return (size_t)(cursor.end - cursor.at) >= length && memcmp(cursor.at, text, length) == 0;
}

/* ---- UTF-8 ------------------------------------------------------------------------------------------- */

static bool is_character(uint32_t value)
{
    return value != 0 && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
}

size_t nadir_utf8_encode(uint32_t character, char text[4])
{
    if (!is_character(character)) {
        return 0;
    }
    if (character < 0x80) {
        text[0] = (char)character;
        return 1;
    }
    const size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--) {
        text[i] = (char)(0x80 | (character & 0x3F));
        character >>= 6;
    }
    text[0] = (char)((0xF00U >> length & 0xFF) | character); /* as many ones as bytes, then a zero */
    return length;
}

size_t nadir_utf8_decode(const char *text, size_t length, uint32_t *character)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (length == 0) {
        return 0;
    }
    if (bytes[0] < 0x80) {
        *character = bytes[0];
        return is_character(*character) ? 1 : 0;
    }
    const size_t size = bytes[0] >= 0xF0 ? 4 : bytes[0] >= 0xE0 ? 3 : 2;
    if (bytes[0] < 0xC0 || bytes[0] >= 0xF8 || size > length) {
        return 0;
    }
    uint32_t value = bytes[0] & (0x7FU >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
            return 0;
        }
        value = value << 6 | (bytes[i] & 0x3F);
    }
    char shortest[4];
    if (nadir_utf8_encode(value, shortest) != size) { /* longer than need be, or no character */
        return 0;
    }
    *character = value;
    return size;
}

bool nadir_utf8_is_valid(const char *text, size_t length)
{
    uint32_t character;
    for (size_t index = 0; index < length;) {
        const size_t size = nadir_utf8_decode(text + index, length - index, &character);
        if (size == 0) {
            return false;
        }
        index += size;
    }
    return true;
}
