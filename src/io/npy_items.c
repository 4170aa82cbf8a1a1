/*
 * npy_items.c: the items of NumPy arrays, converted piece by piece; see npy.h.
 *
 * A piece goes through at most three steps: bytes put in this machine's order, integers widened to 64 bits,
 * and the conversion that the caller wants, with its checks.
 */
#include "io/npy.h"
#include "io/text_reader.h"

#include <math.h>
#include <string.h>

/* ---- Numbers ----------------------------------------------------------------------------------------- */

#define PIECE       NADIR_NPY_PIECE
#define BLOCK_BYTES ((size_t)1 << 20)

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
    nadir_status status = NADIR_OK;
    const size_t size = (size_t)(items * npy->header.item_bytes);
    for (size_t done = 0; done < size;) {
        const size_t block = size - done < BLOCK_BYTES ? size - done : BLOCK_BYTES;
        size_t got;
        NADIR_CHECK(npy->source.read(npy->source.user, (char *)into + done, block, &got));
        done += got;
        if (got < block) {
            return items_fail(npy, npy->taken + (int64_t)done / npy->header.item_bytes,
                              "is missing: the data end there");
        }
    }
    npy->taken += items;
cleanup:
    return status;
}

static void swap_bytes(int64_t count, int64_t size, unsigned char *raw)
{
    for (int64_t i = 0; i < count; i++) {
        unsigned char *item = raw + i * size;
        for (int64_t low = 0; low < size / 2; low++) {
            const unsigned char kept = item[low];
            item[low] = item[size - 1 - low];
            item[size - 1 - low] = kept;
        }
    }
}

/* Room for pieces: raw bytes, doubles and integers. */
static nadir_status make_room(nadir_npy *npy)
{
    nadir_status status = NADIR_OK;
    if (npy->raw == NULL) {
        NADIR_NEW(npy->context, npy->raw, PIECE * sizeof(double));
    }
    if (npy->doubles == NULL) {
        NADIR_NEW(npy->context, npy->doubles, PIECE);
    }
    if (npy->integers == NULL) {
        NADIR_NEW(npy->context, npy->integers, PIECE);
    }
cleanup:
    return status;
}

/* The next piece as it stands in the file, in this machine's byte order. */
static nadir_status read_piece(nadir_npy *npy, int64_t items)
{
    nadir_status status = NADIR_OK;
    const nadir_npy_header *header = &npy->header;
    NADIR_CHECK(make_room(npy));
    NADIR_CHECK(read_bytes(npy, npy->raw, items));
    if (header->swapped) {
        swap_bytes(items, header->item_bytes, npy->raw);
    }
cleanup:
    return status;
}

static int64_t load_signed(const unsigned char *raw, int64_t size)
{
    int8_t one;
    int16_t two;
    int32_t four;
    int64_t eight;
    switch (size) {
    case 1:
        memcpy(&one, raw, sizeof one);
        return one;
    case 2:
        memcpy(&two, raw, sizeof two);
        return two;
    case 4:
        memcpy(&four, raw, sizeof four);
        return four;
    default:
        memcpy(&eight, raw, sizeof eight);
        return eight;
    }
}

static uint64_t load_unsigned(const unsigned char *raw, int64_t size)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (size) {
    case 1:
        return raw[0];
    case 2:
        memcpy(&two, raw, sizeof two);
        return two;
    case 4:
        memcpy(&four, raw, sizeof four);
        return four;
    default:
        memcpy(&eight, raw, sizeof eight);
        return eight;
    }
}

/* Integers of any size to 64 bits; *bad is the first that does not fit. The switches on size inside are the
 * same for all items, so that compilers take them out of the loops. */
static conversion widen(const nadir_npy_header *header, int64_t count, const unsigned char *raw,
                        int64_t *into, int64_t *bad)
{
    const int64_t size = header->item_bytes;
    for (int64_t i = 0; header->kind == NADIR_NPY_SIGNED && i < count; i++) {
        into[i] = load_signed(raw + i * size, size);
    }
    for (int64_t i = 0; header->kind != NADIR_NPY_SIGNED && i < count; i++) {
        const uint64_t value = load_unsigned(raw + i * size, size);
        if (value > INT64_MAX) {
            *bad = i;
            return TOO_LARGE;
        }
        into[i] = (int64_t)value;
    }
    for (int64_t i = 0; header->kind == NADIR_NPY_BOOL && i < count; i++) {
        into[i] = into[i] != 0;
    }
    return FINE;
}

static void load_floats(const nadir_npy_header *header, int64_t count, const unsigned char *raw, double *into)
{
    if (header->item_bytes == sizeof(double)) {
        memcpy(into, raw, (size_t)count * sizeof *into);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, raw + i * (int64_t)sizeof value, sizeof value);
        into[i] = (double)value;
    }
}

/* Floats to integers; *bad is the first that is none. */
static conversion round_floats(int64_t count, const double *from, int64_t *into, int64_t *bad)
{
    const double limit = 9223372036854775808.0; /* 2^63 */
    for (int64_t i = 0; i < count; i++) {
        const bool fits = from[i] >= -limit && from[i] < limit;
        if (!fits || from[i] != trunc(from[i])) {
            *bad = i;
            return fits || isnan(from[i]) ? NOT_WHOLE : TOO_LARGE;
        }
        into[i] = (int64_t)from[i];
    }
    return FINE;
}

static nadir_status conversion_fail(const nadir_npy *npy, conversion found, int64_t item)
{
    return items_fail(npy, item,
                      found == NOT_WHOLE ? "is no whole number; expected integers"
                                         : "is out of range for an integer");
}

static nadir_status check_numbers(const nadir_npy *npy)
{
    if (npy->header.kind >= NADIR_NPY_TEXT) {
        return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: holds text; expected numbers",
                          npy->source.name);
    }
    return NADIR_OK;
}

/* Numbers of any type, `count` <= PIECE of them in npy->raw; *bad is the first that does not fit. */
static conversion to_doubles(nadir_npy *npy, const nadir_npy_header *type, int64_t count, double *into,
                             int64_t *bad)
{
    if (type->kind == NADIR_NPY_FLOAT) {
        load_floats(type, count, npy->raw, into);
        return FINE;
    }
    const conversion found = widen(type, count, npy->raw, npy->integers, bad);
    for (int64_t i = 0; found == FINE && i < count; i++) {
        into[i] = (double)npy->integers[i];
    }
    return found;
}

static conversion to_integers(nadir_npy *npy, const nadir_npy_header *type, int64_t count, int64_t *into,
                              int64_t *bad)
{
    if (type->kind != NADIR_NPY_FLOAT) {
        return widen(type, count, npy->raw, into, bad);
    }
    load_floats(type, count, npy->raw, npy->doubles);
    return round_floats(count, npy->doubles, into, bad);
}

/* The next `count` <= PIECE items as doubles or as integers; the other array is NULL. */
static nadir_status convert_piece(nadir_npy *npy, int64_t count, double *doubles, int64_t *integers)
{
    nadir_status status = NADIR_OK;
    const int64_t first = npy->taken;
    int64_t bad = 0;
    NADIR_CHECK(read_piece(npy, count));
    const conversion found = doubles != NULL ? to_doubles(npy, &npy->header, count, doubles, &bad)
                                             : to_integers(npy, &npy->header, count, integers, &bad);
    status = found == FINE ? NADIR_OK : conversion_fail(npy, found, first + bad);
cleanup:
    return status;
}

/* Whether items need no conversion at all. */
static bool is_plain(const nadir_npy *npy, nadir_npy_kind kind, size_t size)
{
    return npy->header.kind == kind && npy->header.item_bytes == (int64_t)size && !npy->header.swapped;
}

/* doubles or integers: [count]; the other is NULL. */
static nadir_status read_numbers(nadir_npy *npy, int64_t count, double *doubles, int64_t *integers)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(check_numbers(npy));
    if (is_plain(npy, doubles != NULL ? NADIR_NPY_FLOAT : NADIR_NPY_SIGNED, 8)) {
        return read_bytes(npy, doubles != NULL ? (void *)doubles : (void *)integers, count);
    }
    for (int64_t done = 0; done < count; done += PIECE) {
        NADIR_CHECK(convert_piece(npy, count - done < PIECE ? count - done : PIECE,
                                  doubles != NULL ? doubles + done : NULL,
                                  integers != NULL ? integers + done : NULL));
    }
cleanup:
    return status;
}

nadir_status nadir_npy_doubles(nadir_npy *npy, int64_t count, double *into)
{
    return read_numbers(npy, count, into, NULL);
}

nadir_status nadir_npy_int64s(nadir_npy *npy, int64_t count, int64_t *into)
{
    return read_numbers(npy, count, NULL, into);
}

nadir_status nadir_npy_int32s(nadir_npy *npy, int64_t count, int32_t *into)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(check_numbers(npy));
    if (is_plain(npy, NADIR_NPY_SIGNED, sizeof *into)) {
        return read_bytes(npy, into, count);
    }
    NADIR_CHECK(make_room(npy));
    for (int64_t done = 0; done < count; done += PIECE) {
        const int64_t first = npy->taken;
        const int64_t piece = count - done < PIECE ? count - done : PIECE;
        NADIR_CHECK(convert_piece(npy, piece, NULL, npy->integers));
        for (int64_t i = 0; i < piece; i++) {
            if (npy->integers[i] < INT32_MIN || npy->integers[i] > INT32_MAX) {
                return conversion_fail(npy, TOO_LARGE, first + i);
            }
            into[done + i] = (int32_t)npy->integers[i];
        }
    }
cleanup:
    return status;
}

nadir_status nadir_npy_skip(nadir_npy *npy, int64_t count)
{
    nadir_status status = NADIR_OK;
    if (count >= PIECE && npy->source.skip != NULL &&
        npy->source.skip(npy->source.user, count * npy->header.item_bytes)) {
        npy->taken += count;
        return NADIR_OK;
    }
    for (int64_t left = count; left > 0; left -= PIECE) {
        NADIR_CHECK(read_piece(npy, left < PIECE ? left : PIECE));
    }
cleanup:
    return status;
}

/* The axes of an array from the one that runs fastest in the file to the slowest. */
typedef struct odometer {
    int axes;
    int64_t sizes[NADIR_NPY_DIMENSIONS];
    int64_t strides[NADIR_NPY_DIMENSIONS];
    int64_t at[NADIR_NPY_DIMENSIONS];
    int64_t offset;
} odometer;

static odometer start_odometer(const nadir_npy_header *header, const int64_t *strides)
{
    odometer meter = {.axes = header->dimensions};
    for (int i = 0; i < header->dimensions; i++) {
        const int axis = header->fortran ? i : header->dimensions - 1 - i;
        meter.sizes[i] = header->shape[axis];
        meter.strides[i] = strides[axis];
    }
    return meter;
}

/* Whether file and memory have the same order. */
static bool is_contiguous(const odometer *meter)
{
    int64_t expected = 1;
    for (int i = 0; i < meter->axes; i++) {
        if (meter->sizes[i] != 1 && meter->strides[i] != expected) {
            return false;
        }
        expected *= meter->sizes[i];
    }
    return true;
}

/* Moves on by one run of the fastest axis. */
static void carry(odometer *meter)
{
    for (int i = 0; i + 1 < meter->axes && meter->at[i] == meter->sizes[i]; i++) {
        meter->offset += meter->strides[i + 1] - meter->at[i] * meter->strides[i];
        meter->at[i] = 0;
        meter->at[i + 1]++;
    }
}

/* The next `count` items to where the odometer stands. */
static nadir_status place_items(nadir_npy *npy, odometer *meter, int64_t count, double *into)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(make_room(npy));
    for (int64_t left = count; left > 0; left -= PIECE) {
        const int64_t piece = left < PIECE ? left : PIECE;
        NADIR_CHECK(nadir_npy_doubles(npy, piece, npy->doubles));
        for (int64_t i = 0; i < piece;) {
            const int64_t run_left = meter->sizes[0] - meter->at[0];
            const int64_t run = piece - i < run_left ? piece - i : run_left;
            for (int64_t k = 0; k < run; k++) {
                into[meter->offset + k * meter->strides[0]] = npy->doubles[i + k];
            }
            meter->at[0] += run;
            meter->offset += run * meter->strides[0];
            i += run;
            carry(meter);
        }
    }
cleanup:
    return status;
}

nadir_status nadir_npy_place(nadir_npy *npy, const nadir_npy_slice *slice,
                             const int64_t strides[NADIR_NPY_DIMENSIONS], double *into)
{
    nadir_status status = NADIR_OK;
    nadir_npy_header kept = npy->header;
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
    odometer meter = start_odometer(&kept, strides);
    const bool contiguous = is_contiguous(&meter);
    for (int64_t i = 0; i < blocks && block > 0; i++) {
        NADIR_CHECK(nadir_npy_skip(npy, i > 0 ? after + before : before));
        NADIR_CHECK(contiguous ? nadir_npy_doubles(npy, block, into + i * block)
                               : place_items(npy, &meter, block, into));
    }
cleanup:
    return status;
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

/* Items that do not stand side by side, put there. */
static void gather(int64_t count, int64_t size, const unsigned char *items, int64_t stride,
                   unsigned char *raw)
{
    switch (size) { /* copies of a known size are single instructions */
    case 1:
        for (int64_t i = 0; i < count; i++) {
            raw[i] = items[i * stride];
        }
        break;
    case 2:
        for (int64_t i = 0; i < count; i++) {
            memcpy(raw + 2 * i, items + i * stride, 2);
        }
        break;
    case 4:
        for (int64_t i = 0; i < count; i++) {
            memcpy(raw + 4 * i, items + i * stride, 4);
        }
        break;
    default:
        for (int64_t i = 0; i < count; i++) {
            memcpy(raw + 8 * i, items + i * stride, 8);
        }
        break;
    }
}

/* The items of a field in npy->raw, in this machine's byte order; *type: what they are. */
static nadir_status take_field(nadir_npy *npy, const nadir_npy_field *field, int64_t count,
                               const unsigned char *items, int64_t stride, nadir_npy_header *type)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(make_room(npy));
    *type = (nadir_npy_header){.kind = field->kind, .item_bytes = field->item_bytes};
    gather(count, field->item_bytes, items, stride, npy->raw);
    if (field->swapped) {
        swap_bytes(count, field->item_bytes, npy->raw);
    }
cleanup:
    return status;
}

static nadir_status field_fail(const nadir_npy *npy, const nadir_npy_field *field, conversion found,
                               int64_t record)
{
    return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: record %lld: `%s` is %s", npy->source.name,
                      (long long)record, field->name,
                      found == NOT_WHOLE ? "no whole number" : "out of range for an integer");
}

nadir_status nadir_npy_field_doubles(nadir_npy *npy, const nadir_npy_field *field, int64_t first,
                                     int64_t count, const unsigned char *items, int64_t stride, double *into)
{
    nadir_status status = NADIR_OK;
    nadir_npy_header type;
    int64_t bad = 0;
    NADIR_CHECK(take_field(npy, field, count, items, stride, &type));
    const conversion found = to_doubles(npy, &type, count, into, &bad);
    status = found == FINE ? NADIR_OK : field_fail(npy, field, found, first + bad);
cleanup:
    return status;
}

nadir_status nadir_npy_field_int64s(nadir_npy *npy, const nadir_npy_field *field, int64_t first,
                                    int64_t count, const unsigned char *items, int64_t stride, int64_t *into)
{
    nadir_status status = NADIR_OK;
    nadir_npy_header type;
    int64_t bad = 0;
    NADIR_CHECK(take_field(npy, field, count, items, stride, &type));
    const conversion found = to_integers(npy, &type, count, into, &bad);
    status = found == FINE ? NADIR_OK : field_fail(npy, field, found, first + bad);
cleanup:
    return status;
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

static uint32_t load_character(const nadir_npy *npy, const unsigned char *raw)
{
    uint32_t character;
    memcpy(&character, raw, sizeof character);
    return npy->header.swapped ? __builtin_bswap32(character) : character;
}

/* The characters of an item, without the padding. */
static size_t text_length(const nadir_npy *npy, const unsigned char *raw, size_t width)
{
    size_t length = (size_t)npy->header.item_bytes / width;
    while (length > 0) {
        const unsigned char *last = raw + (length - 1) * width;
        if (width == 1 ? *last != 0 : load_character(npy, last) != 0) {
            break;
        }
        length--;
    }
    return length;
}

/* One item of UTF-32 to UTF-8 in text, which has as many bytes; *used is its length. */
static nadir_status encode(const nadir_npy *npy, const unsigned char *raw, char *text, size_t *used)
{
    const size_t length = text_length(npy, raw, 4);
    *used = 0;
    for (size_t i = 0; i < length; i++) {
        const size_t bytes = nadir_utf8_encode(load_character(npy, raw + 4 * i), text + *used);
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
    const size_t size = (size_t)npy->header.item_bytes;
    if (npy->header.kind < NADIR_NPY_TEXT) {
        return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: holds numbers; expected text",
                          npy->source.name);
    }
    NADIR_NEW(npy->context, raw, size);
    NADIR_NEW(npy->context, text, size);
    for (npy->taken = 0; npy->taken < npy->header.count; npy->taken++) {
        size_t used;
        NADIR_CHECK(npy->source.read(npy->source.user, raw, size, &used));
        if (used < size) {
            status = text_fail(npy, "is missing: the data end there");
            goto cleanup;
        }
        if (npy->header.kind == NADIR_NPY_TEXT) {
            NADIR_CHECK(encode(npy, raw, text, &used));
        } else {
            used = text_length(npy, raw, 1);
            memcpy(text, raw, used);
        }
        if (!nadir_utf8_is_valid(text, used)) {
            status = text_fail(npy, "is not UTF-8, or has a zero inside");
            goto cleanup;
        }
        NADIR_CHECK(nadir_names_add(npy->context, names, text, used));
    }
cleanup:
    nadir_release(npy->context, raw);
    nadir_release(npy->context, text);
    return status;
}
