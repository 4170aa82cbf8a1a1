/*
 * text_reader.h: reading text files line by line, and cutting lines into words and numbers.
 *
 * Lines end with LF, CRLF or the end of the file; the line given out has neither. The file is read in blocks
 * and never held whole. A line longer than NADIR_LINE_LIMIT is an error: no format has such lines.
 */
#ifndef NADIR_IO_TEXT_READER_H
#define NADIR_IO_TEXT_READER_H

#include "core/context.h"
#include "core/file.h"

#define NADIR_LINE_LIMIT ((size_t)1 << 28)

typedef struct nadir_text {
    nadir_context *context;
    nadir_input input;
    const char *path;
    char *buffer;
    size_t capacity;
    size_t start, end; /* the part of the buffer not given out yet */
    bool at_end;       /* the file has no more bytes */
    int64_t line;      /* number of the line given out last, from 1 */
    int64_t consumed;  /* bytes given out, for progress */
} nadir_text;

/* A part of a line, and the place in it. Never NUL-terminated. */
typedef struct nadir_cursor {
    const char *at;
    const char *end;
} nadir_cursor;

/* An all-zero struct is closed; nadir_text_close is always legal on it. path is kept, not copied; NULL:
 * standard input, which may be a pipe. */
nadir_status nadir_text_open(nadir_context *context, const char *path, nadir_text *text);
void nadir_text_close(nadir_text *text);

/* The next line, valid until the next call; *more is false at the end of the file. Reports progress. A NUL
 * byte in a line is an error (a binary file). A UTF-8 byte order mark at the start of the file is skipped. */
nadir_status nadir_text_line(nadir_text *text, nadir_cursor *line, bool *more);

/* The next line that is neither blank nor a comment, from its first character on that is no blank. */
nadir_status nadir_text_content(nadir_text *text, const char *comment, nadir_cursor *line, bool *more);

/* "FILE:LINE: sentence" as a NADIR_ERROR_FORMAT. */
nadir_status nadir_text_fail(nadir_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes the next line of the first bytes of a file, complete or not, as nadir_text_content gives it, a byte order
 * mark left out; false if there is none. */
bool nadir_cursor_take_content(nadir_cursor *rest, const char *comment, nadir_cursor *line);
/* Skips spaces and tabs; true if anything is left. */
bool nadir_cursor_skip_blanks(nadir_cursor *cursor);
/* Skips blanks, then the character if it is next; true if it was. */
bool nadir_cursor_take_char(nadir_cursor *cursor, char character);
/* Skips blanks, then takes everything up to the next blank or character of `stops` (a NUL-terminated list);
 * false if there is nothing. */
bool nadir_cursor_take_word(nadir_cursor *cursor, const char *stops, nadir_cursor *word);
/* Skips blanks, then takes a number; false, and nothing taken, if there is none or a letter or digit follows
 * it directly. */
bool nadir_cursor_take_integer(nadir_cursor *cursor, int64_t *value);
bool nadir_cursor_take_double(nadir_cursor *cursor, double *value);
/* A number or a quotient of two: 0.25 or 1/4. */
bool nadir_cursor_take_ratio(nadir_cursor *cursor, double *value);
/* Two of these as an interval, [0.1, 1/2]. */
bool nadir_cursor_take_interval(nadir_cursor *cursor, double *lower, double *upper);
/* The same for a cursor that must be one whole number. */
bool nadir_cursor_is_integer(nadir_cursor word, int64_t *value);
bool nadir_cursor_is_double(nadir_cursor word, double *value);
/* Whether the cursor's rest equals a text; with or without regard to case. */
bool nadir_cursor_equals(nadir_cursor word, const char *text);
bool nadir_cursor_equals_nocase(nadir_cursor word, const char *text);
/* Whether the cursor's rest begins with a text. */
bool nadir_cursor_starts(nadir_cursor cursor, const char *text);

/* For "%.*s" in messages: at most 60 bytes of a word. */
#define NADIR_WORD(word) (int)((word).end - (word).at > 60 ? 60 : (word).end - (word).at), (word).at

/* ---- UTF-8, strictly: neither zeros, nor surrogates, nor anything above U+10FFFF. ---- */

/* Writes a character and returns its length, 1 to 4; 0 when it is none. */
size_t nadir_utf8_encode(uint32_t character, char text[4]);

/* Takes the character at text[0 .. length) and returns its length; 0 when there is none. */
size_t nadir_utf8_decode(const char *text, size_t length, uint32_t *character);

/* Whether all of text[0 .. length) is made of characters. */
bool nadir_utf8_is_valid(const char *text, size_t length);

#endif
