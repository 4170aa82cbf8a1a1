/* npy.c: the headers of NumPy arrays, read strictly and written, and whole .npy files; see npy.h. */
#include "io/npy.h"
#include "io/text_reader.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- Headers ----------------------------------------------------------------------------------------- */

/* NumPy itself refuses longer headers. */
#define HEADER_LIMIT 10000
/* Characters of a name. */
#define TEXT_LIMIT (1 << 20)

static const bool big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

/* What of a header was there already. */
enum { SEEN_DESCR = 1, SEEN_ORDER = 2, SEEN_SHAPE = 4, SEEN_ALL = 7 };

static nadir_status header_fail(const nadir_npy *npy, const char *what)
{
    return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: the NumPy header is wrong: %s", npy->source.name,
                      what);
}

static bool take_quoted(nadir_cursor *self, nadir_cursor *text)
{
    if (!nadir_cursor_skip_blanks(self) || (*self->at != '\'' && *self->at != '"')) {
        return false;
    }
    const char *start = self->at + 1;
    const char *close = memchr(start, *self->at, (size_t)(self->end - start));
    if (close == NULL) {
        return false;
    }
    *text = (nadir_cursor){start, close};
    self->at = close + 1;
    return true;
}

static nadir_status type_fail(const nadir_npy *npy, nadir_cursor descr)
{
    char shown[64];
    (void)snprintf(shown, sizeof shown, "%.*s", NADIR_WORD(descr));
    for (char *self = shown; *self != '\0'; self++) {
        if (*self < ' ' || *self > '~') {
            *self = '?';
        }
    }
    return nadir_fail(npy->context, NADIR_ERROR_FORMAT,
                      "%s: items of type '%s' are not read; expected truth values (b1), integers (i1 to i8, "
                      "u1 to u8), floats (f4, f8) or text (U, S) of up to %d characters",
                      npy->source.name, shown, TEXT_LIMIT);
}

/* descr = order kind digits */
static nadir_status parse_type(const nadir_npy *npy, nadir_cursor descr, nadir_npy_type *type)
{
    static const struct {
        char letter;
        nadir_npy_kind kind;
        int64_t least, most; /* bytes, or characters of a text */
    } kinds[] = {{'b', NADIR_NPY_BOOL, 1, 1},          {'i', NADIR_NPY_SIGNED, 1, 8},
                 {'u', NADIR_NPY_UNSIGNED, 1, 8},      {'f', NADIR_NPY_FLOAT, 4, 8},
                 {'U', NADIR_NPY_TEXT, 1, TEXT_LIMIT}, {'S', NADIR_NPY_BYTES, 1, TEXT_LIMIT}};
    int64_t size = 0;
    const bool formed = descr.end - descr.at >= 3 && strchr("<>|", descr.at[0]) != NULL &&
                        descr.at[0] != '\0' && descr.at[2] >= '0' && descr.at[2] <= '9' &&
                        nadir_cursor_is_integer((nadir_cursor){descr.at + 2, descr.end}, &size);
    for (size_t i = 0; formed && i < sizeof kinds / sizeof *kinds; i++) {
        const nadir_npy_kind kind = kinds[i].kind;
        const bool power = kind >= NADIR_NPY_TEXT || (size & (size - 1)) == 0;
        const bool ordered = kind != NADIR_NPY_BYTES && (size > 1 || kind == NADIR_NPY_TEXT);
        if (descr.at[1] == kinds[i].letter && size >= kinds[i].least && size <= kinds[i].most && power &&
            (!ordered || descr.at[0] != '|')) {
            *type = (nadir_npy_type){kind, kind == NADIR_NPY_TEXT ? 4 * size : size,
                                     ordered && (descr.at[0] == '>') != big_endian};
            return NADIR_OK;
        }
    }
    return type_fail(npy, descr);
}

/* A field, or bytes between fields: "'|V4'", which have no name. *item: its type. */
static nadir_status parse_field_type(const nadir_npy *npy, nadir_cursor descr, nadir_npy_type *item,
                                     bool *filling)
{
    *filling = nadir_cursor_starts(descr, "|V");
    if (!*filling) {
        return parse_type(npy, descr, item);
    }
    if (!nadir_cursor_is_integer((nadir_cursor){descr.at + 2, descr.end}, &item->item_bytes) ||
        item->item_bytes < 1 || item->item_bytes > TEXT_LIMIT) {
        return type_fail(npy, descr);
    }
    return NADIR_OK;
}

/* descr = "[" { "(" name "," type [ "," ] ")" [ "," ] } "]" */
static nadir_status parse_records(nadir_npy *npy, nadir_cursor *self)
{
    nadir_npy_records *records = npy->records;
    nadir_npy_header *header = &npy->header;
    bool comma = true;
    header->type.kind = NADIR_NPY_RECORD;
    header->type.item_bytes = 0;
    records->count = 0;
    while (!nadir_cursor_take_char(self, ']')) {
        nadir_cursor name;
        nadir_cursor descr;
        nadir_npy_type item = {0};
        bool filling;
        if (!comma || !nadir_cursor_take_char(self, '(') || !take_quoted(self, &name) ||
            !nadir_cursor_take_char(self, ',') || !take_quoted(self, &descr)) {
            return header_fail(npy, "the fields of the records are no list of names and types");
        }
        (void)nadir_cursor_take_char(self, ',');
        if (!nadir_cursor_take_char(self, ')')) {
            return header_fail(npy, "a field of the records is an array of its own; expected plain numbers");
        }
        const nadir_status status = parse_field_type(npy, descr, &item, &filling);
        if (status != NADIR_OK) {
            return status;
        }
        if (!filling && records->count == NADIR_NPY_FIELDS) {
            return header_fail(npy, "the records have more than 16 fields");
        }
        if (!filling) {
            nadir_npy_field *field = &records->fields[records->count++];
            *field = (nadir_npy_field){{0}, item, header->type.item_bytes};
            (void)snprintf(field->name, sizeof field->name, "%.*s", NADIR_WORD(name));
        }
        header->type.item_bytes +=
            item.item_bytes; /* fits: the header has 10000 bytes, a type at most 2^22 */
        comma = nadir_cursor_take_char(self, ',');
    }
    return records->count == 0 ? header_fail(npy, "the records have no fields") : NADIR_OK;
}

/* shape = "(" [ number { "," number } [ "," ] ] ")", where one number alone needs its comma */
static nadir_status parse_shape(nadir_npy *npy, nadir_cursor *self)
{
    nadir_npy_header *header = &npy->header;
    bool comma = true;
    if (!nadir_cursor_take_char(self, '(')) {
        return header_fail(npy, "the shape is no tuple");
    }
    while (!nadir_cursor_take_char(self, ')')) {
        int64_t size;
        if (!comma || !nadir_cursor_take_integer(self, &size) || size < 0) {
            return header_fail(npy, "the shape is no tuple of numbers");
        }
        if (header->dimensions == NADIR_NPY_DIMENSIONS) {
            return header_fail(npy, "the array has more than 4 dimensions");
        }
        header->shape[header->dimensions++] = size;
        comma = nadir_cursor_take_char(self, ',');
    }
    if (header->dimensions == 1 && !comma) {
        return header_fail(npy, "the shape is no tuple");
    }
    bool empty = false;
    header->count = 1;
    for (int i = 0; i < header->dimensions; i++) { /* no part of the product may overflow either */
        const int64_t size = header->shape[i] > 0 ? header->shape[i] : 1;
        empty = empty || header->shape[i] == 0;
        if (__builtin_mul_overflow(header->count, size, &header->count)) {
            return header_fail(npy, "the shape has more items than can be counted");
        }
    }
    header->count = empty ? 0 : header->count;
    return NADIR_OK;
}

static nadir_status parse_value(nadir_npy *npy, nadir_cursor key, nadir_cursor *self, int *seen)
{
    int which = 0;
    nadir_status status = NADIR_OK;
    nadir_cursor word;
    if (nadir_cursor_equals(key, "descr")) {
        which = SEEN_DESCR;
        if (npy->records != NULL && nadir_cursor_take_char(self, '[')) {
            status = parse_records(npy, self);
        } else if (take_quoted(self, &word)) {
            status = parse_type(npy, word, &npy->header.type);
        } else {
            return header_fail(npy, "the array holds records; expected plain numbers or text");
        }
    } else if (nadir_cursor_equals(key, "fortran_order")) {
        which = SEEN_ORDER;
        nadir_cursor_take_word(self, ",}", &word);
        npy->header.fortran = nadir_cursor_equals(word, "True");
        if (!npy->header.fortran && !nadir_cursor_equals(word, "False")) {
            return header_fail(npy, "fortran_order is neither True nor False");
        }
    } else if (nadir_cursor_equals(key, "shape")) {
        which = SEEN_SHAPE;
        status = parse_shape(npy, self);
    }
    if (which == 0 || (*seen & which) != 0) {
        return header_fail(npy, "expected descr, fortran_order and shape, each once");
    }
    *seen |= which;
    return status;
}

static nadir_status parse_header(nadir_npy *npy, nadir_cursor run)
{
    int seen = 0;
    bool comma = true;
    if (!nadir_cursor_take_char(&run, '{')) {
        return header_fail(npy, "it is no dictionary");
    }
    while (!nadir_cursor_take_char(&run, '}')) {
        nadir_cursor key;
        if (!comma || !take_quoted(&run, &key) || !nadir_cursor_take_char(&run, ':')) {
            return header_fail(npy, "it is no dictionary");
        }
        const nadir_status status = parse_value(npy, key, &run, &seen);
        if (status != NADIR_OK) {
            return status;
        }
        comma = nadir_cursor_take_char(&run, ',');
    }
    if (seen != SEEN_ALL) {
        return header_fail(npy, "expected descr, fortran_order and shape, each once");
    }
    while (nadir_cursor_take_char(&run, '\n')) {
    }
    return run.at < run.end ? header_fail(npy, "something follows the dictionary") : NADIR_OK;
}

/* Exactly `size` bytes of the header. */
static nadir_status read_bytes(const nadir_npy *npy, void *buffer, size_t size)
{
    size_t got;
    const nadir_status status = npy->source.read(npy->source.user, buffer, size, &got);
    if (status == NADIR_OK && got < size) {
        return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: ends in the middle of the NumPy header",
                          npy->source.name);
    }
    return status;
}

static nadir_status check_size(const nadir_npy *npy)
{
    const nadir_npy_header *header = &npy->header;
    int64_t bytes;
    if (__builtin_mul_overflow(header->count, header->type.item_bytes, &bytes) ||
        bytes != npy->source.bytes - npy->header_bytes) {
        char shape[NADIR_NPY_SHAPE_LENGTH];
        return nadir_fail(npy->context, NADIR_ERROR_FORMAT,
                          "%s: the shape %s with items of %lld bytes does not fit the %lld bytes that are "
                          "there",
                          npy->source.name, nadir_npy_shape_text(header->dimensions, header->shape, shape),
                          (long long)header->type.item_bytes,
                          (long long)(npy->source.bytes - npy->header_bytes));
    }
    return NADIR_OK;
}

nadir_status nadir_npy_open(nadir_context *context, const nadir_npy_source *source, nadir_npy *npy)
{
    return nadir_npy_open_records(context, source, NULL, npy);
}

nadir_status nadir_npy_open_records(nadir_context *context, const nadir_npy_source *source,
                                    nadir_npy_records *records, nadir_npy *npy)
{
    nadir_status status = NADIR_OK;
    char *text = NULL;
    unsigned char start[8];
    unsigned char size[4] = {0};
    *npy = (nadir_npy){.context = context, .source = *source, .records = records};
    if (records != NULL) {
        records->count = 0;
    }
    NADIR_CHECK(read_bytes(npy, start, sizeof start));
    if (memcmp(start, "\x93NUMPY", 6) != 0) {
        status = nadir_fail(context, NADIR_ERROR_FORMAT,
                            "%s: is no NumPy array: it does not begin with NUMPY", source->name);
        goto cleanup;
    }
    if (start[6] < 1 || start[6] > 3 || start[7] != 0) {
        status = nadir_fail(context, NADIR_ERROR_FORMAT,
                            "%s: NumPy format version %d.%d is not known; expected 1.0, 2.0 or 3.0",
                            source->name, start[6], start[7]);
        goto cleanup;
    }
    const size_t size_bytes = start[6] == 1 ? 2 : 4;
    NADIR_CHECK(read_bytes(npy, size, size_bytes));
    const size_t length =
        (size_t)size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 | (size_t)size[3] << 24;
    if (length > HEADER_LIMIT) {
        status = header_fail(npy, "it is longer than 10000 bytes");
        goto cleanup;
    }
    NADIR_NEW(context, text, length + 1);
    NADIR_CHECK(read_bytes(npy, text, length));
    NADIR_CHECK(parse_header(npy, (nadir_cursor){text, text + length}));
    npy->header_bytes = (int64_t)(sizeof start + size_bytes + length);
    NADIR_CHECK(check_size(npy));
cleanup:
    nadir_release(context, text);
    return status;
}

void nadir_npy_close(nadir_npy *npy)
{
    if (npy->context != NULL) {
        nadir_release(npy->context, npy->piece);
    }
    *npy = (nadir_npy){0};
}

const char *nadir_npy_shape_text(int dimensions, const int64_t *shape, char text[NADIR_NPY_SHAPE_LENGTH])
{
    size_t used = 1;
    text[0] = '(';
    for (int i = 0; i < dimensions; i++) {
        const char *comma = i + 1 < dimensions ? ", " : dimensions == 1 ? "," : "";
        used += (size_t)snprintf(text + used, NADIR_NPY_SHAPE_LENGTH - used, "%lld%s", (long long)shape[i],
                                 comma);
    }
    text[used++] = ')';
    text[used] = '\0';
    return text;
}

size_t nadir_npy_header_bytes(const char *type, int dimensions, const int64_t *shape,
                              char bytes[NADIR_NPY_HEADER_LENGTH])
{
    char shape_text[NADIR_NPY_SHAPE_LENGTH];
    size_t used = 10; /* magic, version, length */
    used +=
        (size_t)snprintf(bytes + used, NADIR_NPY_HEADER_LENGTH - used,
                         "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }", big_endian ? '>' : '<',
                         type, nadir_npy_shape_text(dimensions, shape, shape_text));
    const size_t total = (used + 1 + 63) / 64 * 64;
    memset(bytes + used, ' ', total - used - 1);
    bytes[total - 1] = '\n';
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = (char)((total - 10) & 0xFF);
    bytes[9] = (char)((total - 10) >> 8);
    return total;
}

/* ---- Files of numbers -------------------------------------------------------------------------------- */

static nadir_status read_file(void *user, void *buffer, size_t size, size_t *got)
{
    nadir_status status = NADIR_OK;
    nadir_npy_file *file = user;
    NADIR_CHECK(nadir_input_read(file->context, &file->input, buffer, size, got));
    file->done += (int64_t)*got;
    NADIR_CHECK(
        nadir_progress(file->context, "reading", (double)file->done / (double)(file->input.bytes + 1)));
cleanup:
    return status;
}

static bool skip_file(void *user, int64_t bytes)
{
    nadir_npy_file *file = user;
    file->done += bytes;
    return nadir_input_seek(file->context, &file->input, file->done) == NADIR_OK;
}

nadir_status nadir_npy_file_open(nadir_context *context, const char *path, nadir_npy_file *file,
                                 nadir_npy_source *source)
{
    *file = (nadir_npy_file){.context = context, .input = NADIR_INPUT_CLOSED};
    const nadir_status status = nadir_input_open(context, path, &file->input);
    *source = (nadir_npy_source){path, file->input.bytes, read_file, file, skip_file};
    return status;
}

bool nadir_npy_is_name(const char *path)
{
    const size_t length = strlen(path);
    return length >= 4 && strcasecmp(path + length - 4, ".npy") == 0;
}

nadir_status nadir_npy_recognises(nadir_context *context, const char *path, bool *is_npy)
{
    nadir_status status = NADIR_OK;
    nadir_input input = NADIR_INPUT_CLOSED;
    char head[6];
    size_t got;
    NADIR_CHECK(nadir_input_open(context, path, &input));
    NADIR_CHECK(nadir_input_read(context, &input, head, sizeof head, &got));
    *is_npy = got == sizeof head && memcmp(head, "\x93NUMPY", sizeof head) == 0;
cleanup:
    nadir_input_close(&input);
    return status;
}

nadir_status nadir_npy_read(nadir_context *context, const char *path, nadir_array *array)
{
    nadir_status status = NADIR_OK;
    nadir_npy npy = {0};
    double *values = NULL;
    nadir_npy_file file;
    nadir_npy_source source;
    NADIR_CHECK(nadir_npy_file_open(context, path, &file, &source));
    NADIR_CHECK(nadir_npy_open(context, &source, &npy));
    const nadir_npy_header *header = &npy.header;
    NADIR_NEW(context, values, header->count);
    NADIR_CHECK(nadir_npy_place(&npy, NULL, NULL, values));
    NADIR_CHECK(nadir_npy_finish(&npy));
    *array = (nadir_array){.dimensions = header->dimensions,
                           .count = header->count,
                           .values = values,
                           .integer = nadir_npy_is_integer(header)};
    memcpy(array->shape, header->shape, sizeof array->shape);
    values = NULL;
cleanup:
    nadir_release(context, values);
    nadir_npy_close(&npy);
    nadir_input_close(&file.input);
    return status;
}

nadir_status nadir_npy_write(nadir_context *context, const char *path, int dimensions, const int64_t *shape,
                             const double *values)
{
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    char header[NADIR_NPY_HEADER_LENGTH];
    size_t bytes = sizeof *values;
    for (int i = 0; i < dimensions; i++) {
        bytes *= (size_t)shape[i];
    }
    NADIR_CHECK(nadir_output_open(context, path, &output));
    nadir_output_write(&output, header, nadir_npy_header_bytes("f8", dimensions, shape, header));
    nadir_output_write(&output, values, bytes);
    NADIR_CHECK(nadir_output_commit(context, &output));
cleanup:
    nadir_output_close(context, &output);
    return status;
}
