/*
 * json.h: JSON files that hold one object, read member by member (RFC 8259, strictly).
 *
 * Why not a library: Jansson 2.14 is as strict, but makes a tree of 40 bytes for each number, outside the
 * memory that the context counts and limits; its values do not know their line; it rounds as the processor's
 * rounding mode says and keeps a hash seed for the process, from /dev/urandom. cJSON 1.7.15 takes the first of
 * two members of one name, 01, 1., 1e309 as infinity, any bytes in strings, and whatever follows the object.
 * Here numbers go straight into the caller's arrays, by number.h.
 */
#ifndef NADIR_IO_JSON_H
#define NADIR_IO_JSON_H

#include "core/context.h"

#define NADIR_JSON_NAME_LENGTH 64 /* bytes of a member's name, its end included; more is an error */

/* A file being read. */
typedef struct nadir_json {
    nadir_context *context;
    const char *path;
    char *text;           /* all of it */
    const char *at, *end; /* what is left */
    int64_t members;      /* names read so far */
    int depth;            /* of the object whose members are read; the file's is 0 */
    bool fresh;           /* no member of it was read yet */
    char name[NADIR_JSON_NAME_LENGTH];
} nadir_json;

typedef enum nadir_json_kind {
    NADIR_JSON_NULL,
    NADIR_JSON_BOOL,
    NADIR_JSON_NUMBER,
    NADIR_JSON_STRING,
    NADIR_JSON_ARRAY,
    NADIR_JSON_OBJECT,
    NADIR_JSON_NOTHING /* what comes next is no value */
} nadir_json_kind;

/* Reads a file of at most `limit` bytes and enters its object. path is kept, not copied; nadir_json_close is
 * legal afterwards in any case. */
nadir_status nadir_json_open(nadir_context *context, const char *path, int64_t limit, nadir_json *json);
/* The same of text[length] from nadir_allocate, which is the json's from then on; path is for messages. */
nadir_status nadir_json_open_text(nadir_context *context, const char *path, char *text, int64_t length,
                                  nadir_json *json);
void nadir_json_close(nadir_json *json);

/* The name of the next member into json->name. *more is false at the end of the object; that of the file must be the
 * end of the file. The value must be taken by one of the functions below before the next member. */
nadir_status nadir_json_next(nadir_json *json, bool *more);

/* What the value looks like from its first character. */
nadir_json_kind nadir_json_peek(nadir_json *json);

/* The value, where it is of this kind; NADIR_ERROR_FORMAT otherwise. */
nadir_status nadir_json_null(nadir_json *json);
nadir_status nadir_json_bool(nadir_json *json, bool *value);
nadir_status nadir_json_number(nadir_json *json, double *value); /* finite */
/* UTF-8 into into[capacity], closed by a zero; what is longer is an error. */
nadir_status nadir_json_string(nadir_json *json, size_t capacity, char *into);
/* An array of at most `capacity` finite numbers. */
nadir_status nadir_json_numbers(nadir_json *json, int64_t capacity, double *into, int64_t *count);
/* Enters a value that is an object: nadir_json_next gives its members, and after its end those of the object around
 * it. */
nadir_status nadir_json_enter(nadir_json *json);
/* An array of strings: *bits has bit i where words[i], [count <= 32], is among them. */
nadir_status nadir_json_words(nadir_json *json, int count, const char *const words[], unsigned *bits);
/* Any value. */
nadir_status nadir_json_skip(nadir_json *json);

/* "FILE:LINE: member `name`: sentence" as a NADIR_ERROR_FORMAT. */
nadir_status nadir_json_fail(const nadir_json *json, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
