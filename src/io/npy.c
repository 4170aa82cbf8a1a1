/*
 * npy.c: NumPy arrays: headers, read strictly and written, and items, converted piece by piece to what the
 * caller wants, with its checks; see npy.h.
 */
#include "io/npy.h"
#include "io/text_reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
static nadir_status read_header(const nadir_npy *npy, void *buffer, size_t size)
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

nadir_status nadir_npy_open(nadir_context *context, const nadir_npy_source *source,
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
    NADIR_CHECK(read_header(npy, start, sizeof start));
    if (memcmp(start, "\x93NUMPY", 6) != 0) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_FORMAT,
                               "%s: is no NumPy array: it does not begin with NUMPY", source->name));
    }
    if (start[6] < 1 || start[6] > 3 || start[7] != 0) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_FORMAT,
                               "%s: NumPy format version %d.%d is not known; expected 1.0, 2.0 or 3.0",
                               source->name, start[6], start[7]));
    }
    const size_t size_bytes = start[6] == 1 ? 2 : 4;
    NADIR_CHECK(read_header(npy, size, size_bytes));
    const size_t length =
        (size_t)size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 | (size_t)size[3] << 24;
    if (length > HEADER_LIMIT) {
        NADIR_CHECK(header_fail(npy, "it is longer than 10000 bytes"));
    }
    NADIR_NEW(context, text, length + 1);
    NADIR_CHECK(read_header(npy, text, length));
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

/* ---- Numbers ----------------------------------------------------------------------------------------- */

#define PIECE       NADIR_NPY_PIECE
#define BLOCK_BYTES ((size_t)1 << 20)

struct nadir_npy_piece {
    unsigned char raw[PIECE * sizeof(double)];
    double doubles[PIECE];
    int64_t integers[PIECE];
};

/* Whether items could be converted. */
typedef enum conversion { FINE, TOO_LARGE, NOT_WHOLE } conversion;

static nadir_status items_fail(const nadir_npy *npy, int64_t item, const char *what)
{
    return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: item %lld %s", npy->source.name, (long long)item,
                      what);
}

/* Reads the bytes of the next items; in blocks, so that the source can report progress. */
static nadir_status read_bytes(nadir_npy *npy, void *into, int64_t items)
{
    const size_t size = (size_t)(items * npy->header.type.item_bytes);
    for (size_t done = 0; done < size;) {
        const size_t block = size - done < BLOCK_BYTES ? size - done : BLOCK_BYTES;
        size_t got;
        NADIR_TRY(npy->source.read(npy->source.user, (char *)into + done, block, &got));
        done += got;
        if (got < block) {
            return items_fail(npy, npy->taken + (int64_t)done / npy->header.type.item_bytes,
                              "is missing: the data end there");
        }
    }
    npy->taken += items;
    return NADIR_OK;
}

static nadir_status make_room(nadir_npy *npy)
{
    nadir_status status = NADIR_OK;
    if (npy->piece == NULL) {
        NADIR_NEW(npy->context, npy->piece, 1);
    }
cleanup:
    return status;
}

/* The bits of an item in this machine's byte order. */
static uint64_t load_bits(const nadir_npy_type *type, const unsigned char *item)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (type->item_bytes) { /* copies of a known size are single instructions */
    case 1:
        return item[0];
    case 2:
        memcpy(&two, item, sizeof two);
        return type->swapped ? __builtin_bswap16(two) : two;
    case 4:
        memcpy(&four, item, sizeof four);
        return type->swapped ? __builtin_bswap32(four) : four;
    default:
        memcpy(&eight, item, sizeof eight);
        return type->swapped ? __builtin_bswap64(eight) : eight;
    }
}

static double load_float(const nadir_npy_type *type, const unsigned char *item)
{
    const uint64_t bits = load_bits(type, item);
    const uint32_t low = (uint32_t)bits;
    float single;
    double value;
    memcpy(&single, &low, sizeof single);
    memcpy(&value, &bits, sizeof value);
    return type->item_bytes == sizeof single ? (double)single : value;
}

static conversion load_integer(const nadir_npy_type *type, const unsigned char *item, int64_t *value)
{
    if (type->kind == NADIR_NPY_FLOAT) {
        const double limit = 9223372036854775808.0; /* 2^63 */
        const double real = load_float(type, item);
        const bool fits = real >= -limit && real < limit;
        if (!fits || real != trunc(real)) {
            return fits || isnan(real) ? NOT_WHOLE : TOO_LARGE;
        }
        *value = (int64_t)real;
        return FINE;
    }
    const uint64_t bits = load_bits(type, item);
    if (type->kind == NADIR_NPY_SIGNED) { /* the sign of a narrow item fills the upper bits */
        const uint64_t sign = UINT64_C(1) << (8 * type->item_bytes - 1);
        *value = (int64_t)((bits ^ sign) - sign);
        return FINE;
    }
    *value = type->kind == NADIR_NPY_BOOL ? bits != 0 : (int64_t)bits;
    return bits > INT64_MAX ? TOO_LARGE : FINE;
}

static conversion load_double(const nadir_npy_type *type, const unsigned char *item, double *value)
{
    if (type->kind == NADIR_NPY_FLOAT) {
        *value = load_float(type, item);
        return FINE;
    }
    int64_t whole;
    const conversion found = load_integer(type, item, &whole);
    *value = (double)whole;
    return found;
}

/* Items that are `stride` bytes apart as doubles or as integers; the other array is NULL. *bad is the first that
 * does not fit. The tests are the same for all items, so that they are predicted. */
static conversion convert(const nadir_npy_type *type, int64_t count, const unsigned char *items,
                          int64_t stride, double *doubles, int64_t *integers, int64_t *bad)
{
    conversion found = FINE;
    for (int64_t i = 0; i < count && found == FINE; i++) {
        found = doubles != NULL ? load_double(type, items + i * stride, &doubles[i])
                                : load_integer(type, items + i * stride, &integers[i]);
        *bad = i;
    }
    return found;
}

static nadir_status conversion_fail(const nadir_npy *npy, conversion found, int64_t item)
{
    return items_fail(npy, item,
                      found == NOT_WHOLE ? "is no whole number; expected integers"
                                         : "is out of range for an integer");
}

static nadir_status check_numbers(const nadir_npy *npy)
{
    if (npy->header.type.kind >= NADIR_NPY_TEXT) {
        return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: holds text; expected numbers",
                          npy->source.name);
    }
    return NADIR_OK;
}

/* Whether items need no conversion at all. */
static bool is_plain(const nadir_npy_type *type, nadir_npy_kind kind, size_t size)
{
    return type->kind == kind && type->item_bytes == (int64_t)size && !type->swapped;
}

/* The next items into doubles or integers, [count]; the other is NULL. */
static nadir_status read_numbers(nadir_npy *npy, int64_t count, double *doubles, int64_t *integers)
{
    const nadir_npy_type *type = &npy->header.type;
    NADIR_TRY(check_numbers(npy));
    if (is_plain(type, doubles != NULL ? NADIR_NPY_FLOAT : NADIR_NPY_SIGNED, 8)) {
        return read_bytes(npy, doubles != NULL ? (void *)doubles : (void *)integers, count);
    }
    NADIR_TRY(make_room(npy));
    for (int64_t done = 0; done < count; done += PIECE) {
        const int64_t first = npy->taken;
        const int64_t part = count - done < PIECE ? count - done : PIECE;
        int64_t bad = 0;
        NADIR_TRY(read_bytes(npy, npy->piece->raw, part));
        const conversion found =
            convert(type, part, npy->piece->raw, type->item_bytes, doubles != NULL ? doubles + done : NULL,
                    integers != NULL ? integers + done : NULL, &bad);
        if (found != FINE) {
            return conversion_fail(npy, found, first + bad);
        }
    }
    return NADIR_OK;
}

nadir_status nadir_npy_int64s(nadir_npy *npy, int64_t count, int64_t *into)
{
    return read_numbers(npy, count, NULL, into);
}

nadir_status nadir_npy_int32s(nadir_npy *npy, int64_t count, int32_t *into)
{
    NADIR_TRY(check_numbers(npy));
    if (is_plain(&npy->header.type, NADIR_NPY_SIGNED, sizeof *into)) {
        return read_bytes(npy, into, count);
    }
    NADIR_TRY(make_room(npy));
    for (int64_t done = 0; done < count; done += PIECE) {
        const int64_t first = npy->taken;
        const int64_t part = count - done < PIECE ? count - done : PIECE;
        const int64_t *integers = npy->piece->integers;
        NADIR_TRY(nadir_npy_int64s(npy, part, npy->piece->integers));
        for (int64_t i = 0; i < part; i++) {
            if (integers[i] < INT32_MIN || integers[i] > INT32_MAX) {
                return conversion_fail(npy, TOO_LARGE, first + i);
            }
            into[done + i] = (int32_t)integers[i];
        }
    }
    return NADIR_OK;
}

nadir_status nadir_npy_skip(nadir_npy *npy, int64_t count)
{
    NADIR_TRY(check_numbers(npy)); /* a piece has room for numbers */
    if (count >= PIECE && npy->source.skip != NULL &&
        npy->source.skip(npy->source.user, count * npy->header.type.item_bytes)) {
        npy->taken += count;
        return NADIR_OK;
    }
    NADIR_TRY(make_room(npy));
    for (int64_t left = count; left > 0; left -= PIECE) {
        NADIR_TRY(read_bytes(npy, npy->piece->raw, left < PIECE ? left : PIECE));
    }
    return NADIR_OK;
}

/* The axes of an array from the one that runs fastest in the file to the slowest. */
typedef struct file_order {
    int axes;
    int64_t sizes[NADIR_NPY_DIMENSIONS];
    int64_t strides[NADIR_NPY_DIMENSIONS]; /* in memory */
} file_order;

/* Where item `index`, counted in the order of the file, goes. */
static int64_t place_of(const file_order *order, int64_t index)
{
    int64_t place = 0;
    for (int i = 0; i < order->axes; i++) {
        place += index % order->sizes[i] * order->strides[i];
        index /= order->sizes[i];
    }
    return place;
}

/* Whether file and memory have the same order. */
static bool is_contiguous(const file_order *order)
{
    int64_t expected = 1;
    for (int i = 0; i < order->axes; i++) {
        if (order->sizes[i] != 1 && order->strides[i] != expected) {
            return false;
        }
        expected *= order->sizes[i];
    }
    return true;
}

/* The next `count` items, of which the first is number `first` of the slice; run by run of the fastest axis. */
static nadir_status place_items(nadir_npy *npy, const file_order *order, int64_t first, int64_t count,
                                double *into)
{
    NADIR_TRY(make_room(npy));
    for (int64_t done = 0; done < count; done += PIECE) {
        const int64_t part = count - done < PIECE ? count - done : PIECE;
        const double *items = npy->piece->doubles;
        NADIR_TRY(read_numbers(npy, part, npy->piece->doubles, NULL));
        for (int64_t i = 0; i < part;) {
            const int64_t index = first + done + i;
            const int64_t run_left = order->sizes[0] - index % order->sizes[0];
            const int64_t run = part - i < run_left ? part - i : run_left;
            double *to = into + place_of(order, index);
            for (int64_t k = 0; k < run; k++) {
                to[k * order->strides[0]] = items[i + k];
            }
            i += run;
        }
    }
    return NADIR_OK;
}

nadir_status nadir_npy_place(nadir_npy *npy, const nadir_npy_slice *slice, const int64_t *strides,
                             double *into)
{
    nadir_npy_header kept = npy->header;
    file_order order = {.axes = kept.dimensions};
    int64_t block = kept.count; /* items of the slice that stand side by side */
    int64_t before = 0;         /* items that are passed over before each block, and after it */
    int64_t after = 0;
    int64_t blocks = 1;
    if (slice != NULL && kept.count > 0 && slice->count < kept.shape[slice->axis]) {
        int64_t inner = 1;
        for (int i = 0; i < kept.dimensions; i++) {
            const bool faster = kept.fortran ? i < slice->axis : i > slice->axis;
            inner *= faster ? kept.shape[i] : 1;
        }
        const int64_t size = kept.shape[slice->axis];
        blocks = kept.count / (inner * size);
        block = inner * slice->count;
        before = inner * slice->first;
        after = inner * (size - slice->first - slice->count);
        kept.shape[slice->axis] = slice->count;
    }
    int64_t c_stride = 1;
    for (int axis = kept.dimensions - 1; axis >= 0; axis--) {
        const int place = kept.fortran ? axis : kept.dimensions - 1 - axis;
        order.sizes[place] = kept.shape[axis];
        order.strides[place] = strides != NULL ? strides[axis] : c_stride;
        c_stride *= kept.shape[axis];
    }
    const bool contiguous = is_contiguous(&order);
    for (int64_t i = 0; i < blocks && block > 0; i++) {
        NADIR_TRY(nadir_npy_skip(npy, i > 0 ? after + before : before));
        NADIR_TRY(contiguous ? read_numbers(npy, block, into + i * block, NULL)
                             : place_items(npy, &order, i * block, block, into));
    }
    return NADIR_OK;
}

nadir_status nadir_npy_finish(nadir_npy *npy)
{
    char more;
    size_t got;
    const nadir_status status = npy->source.read(npy->source.user, &more, 1, &got);
    if (status == NADIR_OK && got > 0) {
        return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: holds more data than it declares",
                          npy->source.name);
    }
    return status;
}

nadir_status nadir_npy_field_numbers(nadir_npy *npy, const nadir_npy_field *field, int64_t first,
                                     int64_t count, const unsigned char *items, int64_t stride,
                                     double *doubles, int64_t *integers)
{
    int64_t bad = 0;
    const conversion found = convert(&field->type, count, items, stride, doubles, integers, &bad);
    if (found == FINE) {
        return NADIR_OK;
    }
    const int64_t record = first + bad;
    return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: record %lld: `%s` is %s", npy->source.name,
                      (long long)record, field->name,
                      found == NOT_WHOLE ? "no whole number" : "out of range for an integer");
}

/* ---- Text -------------------------------------------------------------------------------------------- */

/*
 * Items have a fixed length and are padded with zeros: characters of four bytes (UTF-32), or bytes, which
 * must then be UTF-8.
 */

static nadir_status text_fail(const nadir_npy *npy, const char *what)
{
    return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: text %lld %s", npy->source.name,
                      (long long)npy->taken, what);
}

/* The characters of an item, without the padding. */
static size_t text_length(const nadir_npy *npy, const unsigned char *raw, size_t width)
{
    size_t bytes = (size_t)npy->header.type.item_bytes;
    while (bytes > 0 && raw[bytes - 1] == 0) {
        bytes--;
    }
    return (bytes + width - 1) / width;
}

/* One item of UTF-32 to UTF-8 in text, which has as many bytes; *used is its length. */
static nadir_status encode(const nadir_npy *npy, const unsigned char *raw, char *text, size_t *used)
{
    const nadir_npy_type type = {NADIR_NPY_UNSIGNED, 4, npy->header.type.swapped};
    const size_t length = text_length(npy, raw, 4);
    *used = 0;
    for (size_t i = 0; i < length; i++) {
        const size_t bytes = nadir_utf8_encode((uint32_t)load_bits(&type, raw + 4 * i), text + *used);
        if (bytes == 0) {
            return text_fail(npy, "holds something that is no character");
        }
        *used += bytes;
    }
    return NADIR_OK;
}

nadir_status nadir_npy_names(nadir_npy *npy, nadir_names *names)
{
    nadir_status status = NADIR_OK;
    unsigned char *raw = NULL;
    char *text = NULL;
    const size_t size = (size_t)npy->header.type.item_bytes;
    if (npy->header.type.kind < NADIR_NPY_TEXT) {
        return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: holds numbers; expected text",
                          npy->source.name);
    }
    NADIR_NEW(npy->context, raw, size);
    NADIR_NEW(npy->context, text, size);
    for (npy->taken = 0; npy->taken < npy->header.count; npy->taken++) {
        size_t used;
        NADIR_CHECK(npy->source.read(npy->source.user, raw, size, &used));
        if (used < size) {
            NADIR_CHECK(text_fail(npy, "is missing: the data end there"));
        }
        if (npy->header.type.kind == NADIR_NPY_TEXT) {
            NADIR_CHECK(encode(npy, raw, text, &used));
        } else {
            used = text_length(npy, raw, 1);
            memcpy(text, raw, used);
        }
        if (!nadir_utf8_is_valid(text, used)) {
            NADIR_CHECK(text_fail(npy, "is not UTF-8, or has a zero inside"));
        }
        NADIR_CHECK(nadir_names_add(npy->context, names, text, used));
    }
cleanup:
    NADIR_RELEASE(npy->context, raw, text);
    return status;
}
